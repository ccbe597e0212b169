"""A Worker that keeps objects: what is told by reference, registered and delivered. Duty: the Worker hop, §§9, 12, 15."""

from __future__ import annotations

import asyncio
import base64
import json
from dataclasses import replace

import pytest

from rulith.adapters.hands import Hands
from rulith.adapters.material import Shelf
from rulith.adapters.outcomes import Call, Executed, Failed, Referred
from rulith.adapters.sources import Source
from rulith.adapters.territory import Territory
from rulith.base.clock import SystemClock
from rulith.base.errors import Refused
from rulith.base.json_text import compact_json
from rulith.disk.materials import Belonging, Materials
from rulith.disk.submissions import submit
from rulith.net.client import HttpClient
from rulith.net.server import Response, serve
from rulith.wire.artifacts import held_of
from rulith.wire.contract import validate
from rulith.wire.manifest import BUILTINS
from rulith.work.checks import Cleared
from rulith.work.keeping import Custodian, LocalReads
from rulith.work.receipts import write_kept, write_receipt
from rulith.work.signals import Keep, KeptCame, ToKeep

READER = BUILTINS["rulith.materials.read@1"]
MINE = Belonging("a" * 64, "b" * 64, "c" * 64)
AT = "2026-12-01T00:00:00.000Z"
ME = "wkr_test_0000"
REF = "art_" + "1" * 32


@pytest.fixture
def shelf(tmp_path):
    Materials.create(tmp_path / "materials", MINE, AT)
    return Shelf(tmp_path / "materials", MINE, lambda: AT)


def added(shelf, data=b"the document", attached=True, **more):
    store = shelf.open()
    record = store.add("a.txt", "text/plain", data, "utf8", **{"destination": "", "local_only": False, "at": AT, **more})
    if attached:
        submit(store, "agent", request_id="r" * 16 + record.id[4:20], session_key="s", handles=[record.handle], destination=record.destination)
    return record


def runnable(shelf, material, access=None, tmp=None):
    source = Source("attached", "file", str(access or shelf.root))
    hands = Hands(Territory(str(shelf.root.parent), str(shelf.root.parent / "home")), {}, shelf=shelf)
    return hands.compile(Call("inv_1", "key", READER, {"material": material}, source))


# -- the Tool --------------------------------------------------------------------------


def test_a_submitted_file_is_told_by_reference_and_any_other_is_not_found(shelf):
    """§15: the selector must have been submitted; the pin is the published one."""
    record, other = added(shelf), added(shelf, attached=False)
    assert asyncio.run(runnable(shelf, record.selector).run()) == Referred(held_of(record.id, "text/plain", b"the document"))
    for material in (other.selector, "mat_" + "0" * 32, "../x", record.handle):
        outcome = asyncio.run(runnable(shelf, material).run())
        assert isinstance(outcome, Failed) and "no submitted file" in outcome.reason
    assert (READER.params, READER.returns, READER.kind) == ({"material": "string"}, (), "read")


def test_a_damaged_file_fails_and_says_so(shelf):
    record = added(shelf)
    (shelf.root / "objects" / record.id / "chunks" / "000000.bin").write_bytes(b"other bytes!")
    assert "not as it was stored" in asyncio.run(runnable(shelf, record.selector).run()).reason


@pytest.mark.parametrize("change, code", [({}, None), ({"digest": "sha256:" + "0" * 64}, "material_digest_mismatch"), ({"totalBytes": 1}, "material_digest_mismatch"),
                                          ({"selector": "mat_" + "0" * 32}, "material_not_found"), ({"custodyId": "mat_" + "0" * 32}, "material_not_found")])
def test_a_selected_material_must_still_be_what_was_selected(shelf, change, code):
    """§6, check 15."""
    record = added(shelf)
    selected = {"selector": record.selector, "digest": record.digest, "custodyId": record.id, "totalBytes": record.total_bytes, **change}
    if code is None:
        shelf.check_selected(selected)
        return
    with pytest.raises(Refused) as caught:
        shelf.check_selected(selected)
    assert caught.value.code == code


@pytest.mark.parametrize("access", ["..", "objects", "."])
def test_only_the_area_itself_is_its_source(shelf, access):
    """Not a folder around it, and none inside."""
    if access == ".":
        assert runnable(shelf, "mat_" + "0" * 32, shelf.root / ".")
        return
    with pytest.raises(Refused) as caught:
        runnable(shelf, "mat_" + "0" * 32, shelf.root / access)
    assert caught.value.code == "adapter_refused"


def test_without_a_store_the_tool_is_refused(shelf):
    hands = Hands(Territory(str(shelf.root), str(shelf.root / "home")), {})
    with pytest.raises(Refused) as caught:
        hands.compile(Call("inv_1", "key", READER, {"material": "x"}, Source("attached", "file", str(shelf.root))))
    assert caught.value.code == "adapter_refused"


# -- what becomes of a result ----------------------------------------------------------

GRANTED = {"sourceRecordId": "docs", "permission": "granted", "upload": True}


def cleared(upload=GRANTED, keeps=True, is_read=True, object_bytes=2**20, returns=()):
    return Cleared("inv_1", "act", READER, "P.S", ME, 7, tuple(returns), is_read, "docs", upload, 8_192, None, object_bytes, keeps)


BIG = Executed("x" * 9_000)


def test_a_result_within_the_inline_budget_is_inline_whatever_the_permission():
    receipt = write_receipt(cleared({"sourceRecordId": "docs", "permission": "denied", "upload": False}), Executed("x" * 8_000))
    assert receipt.operation["result"] == "x" * 8_000 and receipt.landed_as == "executed"


def test_a_larger_one_becomes_an_object_and_its_receipt_a_reference():
    kept = write_receipt(cleared(), BIG)
    assert kept == ToKeep("x" * 9_000, None, ())
    receipt = write_kept(cleared(), kept, KeptCame(ref=REF))
    validate("reportWork", receipt.operation)
    assert receipt.operation["artifacts"] == [{"ref": REF}] and receipt.operation["result"] == "" and receipt.operation["ok"] is True


@pytest.mark.parametrize("more, code", [
    ({"upload": {"sourceRecordId": "docs", "permission": "absent", "upload": False}}, "source_permission_required"),
    ({"upload": {"sourceRecordId": "docs", "permission": "denied", "upload": False}}, "source_off_machine_denied"),
    ({"upload": {"sourceRecordId": "docs", "permission": "denied", "upload": False}, "object_bytes": 1}, "source_off_machine_denied"),
    ({"keeps": False}, "materials_not_configured"), ({"object_bytes": 8_999}, "artifact_object_limit"),
])
@pytest.mark.parametrize("is_read", [True, False])
def test_one_that_may_not_is_said_of_a_read_and_left_to_a_person_otherwise(more, code, is_read):
    """§5.2: permission is judged before size."""
    for outcome in (BIG, Referred(held_of("mat_" + "a" * 32, "text/plain", b"x" * 9_000))):
        receipt = write_receipt(cleared(is_read=is_read, **more), outcome)
        if is_read:
            assert receipt.operation["ok"] is False and receipt.operation["reason"] == f"result_not_delivered: {code}"
        else:
            assert receipt.operation["undeliverable"] == code


def test_the_facts_of_a_kept_result_travel_with_its_reference_and_alone_fit_inline():
    returns = [{"predicate": "acme.x", "args": {"n": "$n"}}]
    kept = write_receipt(cleared(returns=returns), Executed("x" * 9_000, rows=({"n": 1},)))
    assert write_kept(cleared(), kept, KeptCame(ref=REF)).operation["facts"] == [{"predicate": "acme.x", "args": {"n": 1}}]
    many = write_receipt(cleared(returns=returns), Executed("x", rows=tuple({"n": n} for n in range(400))))
    assert many.operation["reason"].startswith("result_too_large: required_facts_exceed_inline_budget")


@pytest.mark.parametrize("code", ["material_custody_unavailable", "artifact_registration_unknown", "artifact_registration_unconfirmed", "source_material_denied"])
def test_an_object_without_a_reference_is_not_delivered(code):
    kept = write_receipt(cleared(), BIG)
    assert write_kept(cleared(), kept, KeptCame(code=code)).operation["reason"] == f"result_not_delivered: {code}"
    assert write_kept(cleared(is_read=False), kept, KeptCame(code=code)).operation["undeliverable"] == code


# -- the exchange ----------------------------------------------------------------------


class Gateway:
    """Answers the material routes by script and keeps what came."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, dict, dict]] = []
        self.script: dict[str, list] = {}
        self.moved, self.over = asyncio.Event(), asyncio.Event()

    async def __aenter__(self):
        self.server = await serve(self._answer, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *_):
        self.over.set()
        await self.server.close()

    async def _answer(self, request):
        body, route = json.loads(request.body), request.path.removeprefix("/work/artifact/")
        self.calls.append((route, body, dict(request.headers.items())))
        self.moved.set()
        if not self.script.get(route):
            await self.over.wait()           # a held poll; the test ends it
            return Response(503, {}, b"{}")
        status, answer = self.script[route].pop(0)
        return Response(status, {"content-type": "application/json"}, compact_json(answer).encode())

    async def until(self, condition):
        async def wait():
            while not condition():
                self.moved.clear()
                await self.moved.wait()
        await asyncio.wait_for(wait(), 60)

    def custodian(self, shelf, told=None) -> Custodian:
        self.client = HttpClient(SystemClock())
        return Custodian(self.client, f"http://127.0.0.1:{self.server.port}/work", "conn", "key", ME, shelf, identity=lambda: 7,
                         tell=lambda kind, facts: (told if told is not None else []).append((kind, facts)))


def play(story):
    async def main():
        async with Gateway() as gateway:
            await story(gateway)
            await gateway.client.close()

    asyncio.run(asyncio.wait_for(main(), 100))


def registered(data=b"x" * 9_000, media="text/plain"):
    held = held_of("res_x", media, data)
    return {"accepted": True, "ref": REF, "mediaType": media, "encoding": held.encoding, "totalBytes": held.total_bytes, "digest": held.digest}


def test_a_registration_is_sent_again_until_it_is_answered_and_says_the_same(shelf, monkeypatch):
    monkeypatch.setattr("rulith.work.keeping.REGISTER_WAITS_S", (0.01, 0.01))

    async def story(gateway):
        gateway.script["register"] = [(500, {}), (200, {"unclear": True}), (200, registered())]
        assert await gateway.custodian(shelf).keep(Keep(ToKeep("x" * 9_000, None, ()), "P.S", 7)) == KeptCame(ref=REF)
        bodies = [body for _, body, _ in gateway.calls]
        assert bodies[0] == bodies[1] == bodies[2] and bodies[0]["custodyId"].startswith("res_")
        validate("materialRegister", bodies[0])
        _, _, headers = gateway.calls[0]
        assert (headers["x-rulith-worker"], headers["x-rulith-worker-generation"]) == (ME, "7")
        assert shelf.open().record(bodies[0]["custodyId"]).origin == "execution"

    play(story)


@pytest.mark.parametrize("answers, code", [
    ([(500, {})] * 3, "artifact_registration_unknown"), ([(200, {"accepted": False, "errorCode": "source_material_absent"})], "source_material_absent"),
    ([(200, {**registered(), "totalBytes": 1})], "artifact_registration_unconfirmed"), ([(200, {"accepted": True})], "artifact_registration_unconfirmed"),
    ([(200, {"accepted": True, "payload": {name: value for name, value in registered().items() if name != "accepted"}})], ""),
])
def test_any_difference_is_unconfirmed_and_no_answer_unknown(shelf, monkeypatch, answers, code):
    monkeypatch.setattr("rulith.work.keeping.REGISTER_WAITS_S", (0.01, 0.01))

    async def story(gateway):
        gateway.script["register"] = list(answers)
        assert (await gateway.custodian(shelf).keep(Keep(ToKeep("x" * 9_000, None, ()), "P.S", 7))).code == code

    play(story)


def test_a_rejected_credential_ends_the_registration(shelf):
    async def story(gateway):
        gateway.script["register"] = [(401, {})]
        assert (await gateway.custodian(shelf).keep(Keep(ToKeep("x" * 9_000, None, ()), "P.S", 7))).rejected is not None

    play(story)


def test_a_store_that_takes_nothing_is_said_and_nothing_is_registered(shelf):
    (shelf.root / "store.json").write_text("{}")

    async def story(gateway):
        came = await gateway.custodian(shelf).keep(Keep(ToKeep("x", None, ()), "P.S", 7))
        assert came.code == "material_custody_unavailable" and gateway.calls == []

    play(story)


def wanted(record, **changes) -> dict:
    said = {"sourceRecordId": "docs", "register": "granted", "proxy": "granted", "localRead": "absent", "refusal": None}
    return {"requestId": "mdr_" + "1" * 32, "ref": REF, "custodyId": record.id, "chunkBytes": 65_536, "firstChunk": 0, "chunkCount": 1, "digest": record.digest,
            "chunkDigests": list(record.chunks), "deadlineMillis": 1_000, "sourceMaterial": {**said, **changes.pop("sourceMaterial", {})}, **changes}


@pytest.mark.parametrize("change, reason", [
    ({}, None), ({"custodyId": "mat_" + "0" * 32}, "material_missing"), ({"chunkDigests": ["sha256:" + "0" * 64]}, "material_corrupt"),
    ({"sourceMaterial": {"proxy": "denied", "refusal": "source_material_denied"}}, "material_permission_withdrawn"), ({"custodyId": "..x"}, None),
])
def test_pieces_are_brought_or_refused_with_the_reason(shelf, change, reason):
    """A custody id is a name of the store; anything else finds nothing."""
    async def story(gateway):
        record = added(shelf)
        gateway.script = {"delivery": [(200, {"accepted": True, "delivery": None}), (200, {"accepted": True, "delivery": wanted(record, **change)})],
                          "delivery/result": [(200, {"accepted": True})]}
        serving = asyncio.ensure_future(gateway.custodian(shelf).serve())
        await gateway.until(lambda: len(gateway.calls) >= 3)
        serving.cancel()
        route, body, _ = gateway.calls[2]
        if change.get("custodyId") == "..x":
            assert route == "delivery"                  # no shape of the contract: not answered, the next poll follows
            return
        validate("materialResult", body)
        assert route == "delivery/result" and body.get("reason") == reason
        if reason is None:
            assert base64.b64decode(body["chunks"][0]["bytes"]) == b"the document"

    play(story)


def test_what_an_operator_keeps_for_this_machine_is_never_proxied(shelf):
    async def story(gateway):
        record = added(shelf, local_only=True, destination="http://127.0.0.1:1/")
        gateway.script = {"delivery": [(200, {"accepted": True, "delivery": wanted(record)})], "delivery/result": [(200, {"accepted": True})]}
        serving = asyncio.ensure_future(gateway.custodian(shelf).serve())
        await gateway.until(lambda: len(gateway.calls) >= 2)
        serving.cancel()
        assert gateway.calls[1][1]["reason"] == "material_permission_withdrawn"

    play(story)


# -- local reads -----------------------------------------------------------------------

HERE, REMOTE = "http://127.0.0.1:8080/v1", "https://api.example.com"


def claimed(record, **changes) -> dict:
    return {"accepted": True, "protocol": "rulith-worker-material/1", "ref": REF, "custodyId": record.id, "mediaType": "text/plain", "encoding": "utf8",
            "totalBytes": record.total_bytes, "digest": record.digest, "chunkBytes": 65_536, "firstChunk": 0, "chunkDigests": list(record.chunks), "offset": 4,
            "maximumLength": 100, "trimming": "utf8-code-point/1", "modelDisclosure": "denied", **changes}


@pytest.mark.parametrize("destination, changes, code", [
    (HERE, {}, None), (REMOTE, {}, "material_local_only"), (REMOTE, {"modelDisclosure": "granted"}, "material_disclosure_refused"), ("", {}, "material_destination_unstated"),
    (HERE, {"modelDisclosure": None}, "local_claim_disclosure_unstated"), (HERE, {"offset": 12}, "local_claim_malformed"), (HERE, {"chunkBytes": 1}, "local_claim_malformed"),
    (HERE, {"custodyId": "mat_" + "0" * 32}, "material_not_found"), (HERE, {"chunkDigests": ["sha256:" + "0" * 64]}, "material_digest_mismatch"),
])
def test_a_ticket_is_read_on_this_machine_under_the_rules_of_disclosure(shelf, destination, changes, code):
    async def story(gateway):
        answer = claimed(added(shelf), **changes)
        gateway.script["claim"] = [(200, {name: value for name, value in answer.items() if value is not None})]
        read = gateway.custodian(shelf).read_local("mlt_" + "a" * 43, destination)
        if code is None:
            window = await read
            assert window["data"] == "document" and window["complete"] is True and window["offset"] == 4
            return
        with pytest.raises(Refused) as caught:
            await read
        assert caught.value.code == code

    play(story)


def test_a_read_for_another_model_than_the_profiles_is_refused_before_the_ticket_is_used(shelf):
    async def story(gateway):
        custodian = gateway.custodian(replace(shelf, destination=HERE))
        with pytest.raises(Refused) as caught:
            await custodian.read_local("mlt_" + "a" * 43, "http://127.0.0.1:9999/v1")
        assert caught.value.code == "material_destination_mismatch" and gateway.calls == []

    play(story)


def test_a_claim_that_is_refused_or_unanswered_is_told_apart(shelf):
    async def story(gateway):
        gateway.script["claim"] = [(200, {"accepted": False, "errorCode": "local_ticket_invalid", "teaching": "used"}), (500, {})]
        custodian = gateway.custodian(shelf)
        for code in ("material_delivery_refused", "material_delivery_unavailable"):
            with pytest.raises(Refused) as caught:
                await custodian.read_local("mlt_" + "a" * 43, HERE)
            assert caught.value.code == code
        with pytest.raises(Refused) as caught:
            await custodian.read_local(None, HERE)
        assert caught.value.code == "local_ticket_missing"

    play(story)


def test_the_parents_reads_are_answered_by_id_and_its_other_words_pass(shelf):
    async def main():
        said: list[dict] = []

        async def controls():
            yield {"operation": "read", "id": "1", "ticket": "mlt_x", "modelDestination": HERE}
            yield {"operation": "stop"}

        reads = LocalReads(None, lambda kind, **facts: said.append({"type": kind, **facts}))
        assert [word async for word in reads.sorted(controls())] == ["stop"]
        await asyncio.wait(reads.tasks)
        assert said[0]["type"] == "material-read" and (said[0]["id"], said[0]["ok"], said[0]["errorCode"]) == ("1", False, "material_identity_unconfirmed")

    asyncio.run(asyncio.wait_for(main(), 60))
