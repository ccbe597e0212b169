"""Content that stays at a Worker: registered, permitted, brought piece by piece, checked. Duty: the Worker hop, §§9, 15; the MCP surface, §4.6."""

from __future__ import annotations

import asyncio
import base64
import json

import pytest

from rulith.base.limits import CHUNK_BYTES
from rulith.board.rests import rests_of
from rulith.wire.artifacts import held_of
from rulith.wire.contract import validate
from rulith.wire.results import validate_result
from tests.gateway.documents import ACTION, READER, SOURCE, TYPE, Owner, area_of

DOCUMENT = ("Zürich, 1. Dezember\n" * 9_000).encode()         # over two chunks, letters of two bytes
HELD = held_of("mat_" + "a" * 32, "text/plain", DOCUMENT)
CHUNKS = [DOCUMENT[at:at + CHUNK_BYTES] for at in range(0, len(DOCUMENT), CHUNK_BYTES)]
PROTOCOL = "rulith-worker-material/1"


class Scene:
    def __init__(self, world, kit) -> None:
        self.world, self.kit = world, kit
        self.host, self.worker = world.host(), world.worker()

    async def set_up(self, *, local: bool | None = None, off: bool | None = True, profile: dict | None = None) -> Scene:
        self.owner = await Owner(self.world, self.kit).set_up()
        self.worker.tools = [*self.worker.tools, READER.descriptor()]
        await self.worker.poll()
        await self.owner.documents(area_of(self.world))
        if local is not None or off is not None:
            await self.owner.permit(local=bool(local), off=bool(off))
        await self.host.initialize()
        opened = await self.host.call("OpenCase", {"caseType": TYPE, "businessKey": {"material": HELD.custody_id}})
        self.root = opened["result"]["root"]
        return self

    async def claimed(self) -> dict:
        """The Action asked for, and its row claimed."""
        self.asked = asyncio.ensure_future(self.host.call("ApplyAction", {"action": ACTION, "args": {"source": SOURCE}, "target": self.root}))
        row = (await self.worker.rows_until())[0]
        assert (await self.worker.claim(row))["accepted"]
        return row

    async def post(self, route: str, body: dict, **headers):
        worker = self.worker
        rows = {"x-rulith-connection": worker.connection, "x-rulith-connection-key": worker.key, "content-type": "application/json",
                "x-rulith-worker": worker.id, "x-rulith-worker-generation": str(worker.generation), **headers}
        return await self.kit.http(self.world.port, "POST", f"/work/artifact/{route}", rows, json.dumps(body).encode())

    async def register(self, row: dict, **changes) -> dict:
        return (await self.post("register", {**HELD.registration(row["executionGrant"]), **changes})).json()

    async def told(self) -> str:
        """A reference that the Action's result gave."""
        row = await self.claimed()
        ref = (await self.register(row))["ref"]
        assert (await self.worker.report(row, ok=True, result="", artifacts=[{"ref": ref}]))["accepted"]
        result = (await self.asked)["result"]
        validate_result("actionOutcome", result)
        assert result["artifacts"] == [{"ref": ref, "mediaType": "text/plain", "totalBytes": len(DOCUMENT), "digest": HELD.digest}]
        return ref

    async def delivery(self) -> dict:
        while (found := (await self.post("delivery", self.said("PollDelivery", waitMillis=2_000))).json()["delivery"]) is None:
            pass
        validate("materialDelivery", found)
        return found

    def said(self, kind: str, **more) -> dict:
        return {"protocol": PROTOCOL, "kind": kind, **self.worker.identity(), **more}

    async def bring(self, delivery: dict, **changes) -> dict:
        first = delivery["firstChunk"]
        chunks = CHUNKS[first:first + delivery["chunkCount"]]
        rows = [{"index": first + place, "bytes": base64.b64encode(chunk).decode()} for place, chunk in enumerate(chunks)]
        body = self.said("DeliverChunks", requestId=delivery["requestId"], ref=delivery["ref"], firstChunk=first, chunks=rows)
        return (await self.post("delivery/result", {**body, **changes})).json()

    async def read(self, **arguments) -> dict:
        """One ReadArtifact whose pieces are brought."""
        asked = asyncio.ensure_future(self.host.call("ReadArtifact", arguments))
        assert (await self.bring(await self.delivery()))["accepted"]
        body = await asked
        validate_result("artifactResult", body)
        return body["result"]


@pytest.fixture
def tell(play, kit):
    def run(story, **setup):
        async def main(world):
            scene = await Scene(world, kit).set_up(**setup)
            await story(scene)
        play(main, pollHoldMs=200)
    return run


def test_a_document_is_read_window_by_window_through_the_gateway(tell):
    """Windows end on whole letters, follow each other without a gap, and are the document."""
    async def story(scene):
        ref = await scene.told()
        told, offset = "", 0
        while offset is not None:
            window = await scene.read(ref=ref, offset=offset)
            assert window["offset"] == offset and window["complete"] == (window["nextOffset"] is None) and window["truncated"] != window["complete"]
            told, offset = told + window["data"], window["nextOffset"]
        assert told.encode() == DOCUMENT
        strip = (await scene.host.call("QueryBoard"))["operations"]
        assert strip[0]["tool"] == "ReadArtifact" and strip[0]["state"] == "done" and "result" not in strip[0] and strip[0]["label"] == f"ReadArtifact {ref}"
        assert all("Zürich" not in json.dumps(row.body) for row in scene.world.gateway.authority.ledger.rows())      # no byte is kept
        assert scene.world.gateway.authority.ledger.verify() == []

    tell(story)


@pytest.mark.parametrize("arguments, code", [
    ({"offset": len(DOCUMENT)}, "artifact_offset"), ({"maxBytes": 65_537}, "artifact_budget"), ({"ref": "art_" + "0" * 32}, "artifact_unavailable"),
])
def test_what_cannot_be_read_is_refused_before_anybody_is_asked(tell, arguments, code):
    async def story(scene):
        body = await scene.host.call("ReadArtifact", {"ref": await scene.told(), **arguments})
        assert body["errorCode"] == code and body["requestExecuted"] is False and "view" not in body
        assert (await scene.post("delivery", scene.said("PollDelivery", waitMillis=0))).json()["delivery"] is None

    tell(story)


@pytest.mark.parametrize("arguments, code", [({"offset": 2}, "material_offset_split_code_point"), ({"offset": 1, "maxBytes": 1}, "material_window_empty")])
def test_a_window_that_cuts_a_letter_is_refused(tell, arguments, code):
    async def story(scene):
        ref = await scene.told()
        asked = asyncio.ensure_future(scene.host.call("ReadArtifact", {"ref": ref, **arguments}))
        await scene.bring(await scene.delivery())
        assert (await asked)["errorCode"] == code

    tell(story)


def test_a_reference_counts_only_once_its_receipt_is_in(tell):
    """Registered, but named by no receipt: nobody can read it; a receipt that names another's is refused whole."""
    async def story(scene):
        row = await scene.claimed()
        ref = (await scene.register(row))["ref"]
        assert scene.world.gateway.authority.agents[scene.world.profile.agent_id].artifacts.artifacts[ref].told is False
        refused = await scene.worker.report(row, ok=True, result="", artifacts=[{"ref": "art_" + "b" * 32}])
        assert refused["errorCode"] == "artifact_unavailable"
        repeated = await scene.worker.report(row, ok=True, result="", artifacts=[{"ref": ref}, {"ref": ref}])
        assert repeated["errorCode"] == "artifact_reference_repeated"
        assert (await scene.worker.report(row, ok=False, reason="changed my mind"))["accepted"]
        await scene.asked
        assert (await scene.host.call("ReadArtifact", {"ref": ref}))["errorCode"] == "artifact_unavailable"

    tell(story)


def test_the_same_object_again_gets_the_same_reference_and_another_under_its_name_none(tell):
    async def story(scene):
        row = await scene.claimed()
        first = await scene.register(row)
        validate("materialRegistered", {name: value for name, value in first.items() if name != "accepted"})
        assert await scene.register(row) == first
        other = held_of(HELD.custody_id, "text/plain", b"other bytes")
        assert (await scene.register(row, **{name: value for name, value in other.registration("").items() if name != "executionGrant"}))["errorCode"] == "artifact_digest_mismatch"
        assert (await scene.register(row, totalBytes=3 * CHUNK_BYTES + 1, custodyId="res_" + "c" * 32))["errorCode"] == "artifact_registration_invalid"
        scene.asked.cancel()

    tell(story)


@pytest.mark.parametrize("setup, code", [({"off": None}, "source_material_absent"), ({"off": False}, "source_material_denied")])
def test_without_an_owners_word_nothing_is_registered(tell, setup, code):
    """§14: attaching grants neither reading nor delivery; a missing row refuses."""
    async def story(scene):
        row = await scene.claimed()
        assert row["sourceUpload"] == {"sourceRecordId": SOURCE, "permission": code.rpartition("_")[2], "upload": False}
        assert (await scene.register(row))["errorCode"] == code
        scene.asked.cancel()

    tell(story, **setup)


def test_a_word_taken_back_while_the_pieces_are_under_way_holds(tell):
    async def story(scene):
        ref = await scene.told()
        asked = asyncio.ensure_future(scene.host.call("ReadArtifact", {"ref": ref}))
        delivery = await scene.delivery()
        assert delivery["sourceMaterial"] == {"sourceRecordId": SOURCE, "register": "granted", "proxy": "granted", "localRead": "denied", "refusal": None}
        await scene.owner.permit(local=True, off=False)
        await scene.bring(delivery)
        assert (await asked)["errorCode"] == "source_material_denied"

    tell(story)


def test_a_profile_that_hides_the_source_hides_its_content_as_if_it_were_not_there(tell):
    async def story(scene):
        ref = await scene.told()
        registry = scene.world.gateway.authority.registry
        scene.world.gateway.authority.command_registry({"kind": "set_profile", "id": scene.world.profile.agent_id, "profile": {"sources": []},
                                                        "authority": {"kind": "person", "by": "owner", "signInAgeS": 1}})
        assert registry.profile(scene.world.profile.agent_id).sources == frozenset() or registry.profile(scene.world.profile.agent_id).sources == ()
        assert (await scene.host.call("ReadArtifact", {"ref": ref}))["errorCode"] == "artifact_unavailable"

    tell(story)


@pytest.mark.parametrize("spoil", ["other bytes", "one too few", "another place", "not base64", "another ref"])
def test_pieces_that_are_not_the_registered_ones_reach_nobody(tell, spoil):
    """A Worker, or who sits between, delivers something else: the read fails and shows nothing of it."""
    async def story(scene):
        ref = await scene.told()
        asked = asyncio.ensure_future(scene.host.call("ReadArtifact", {"ref": ref}))
        delivery = await scene.delivery()
        good = [base64.b64encode(chunk).decode() for chunk in CHUNKS[:delivery["chunkCount"]]]
        rows = [{"index": place, "bytes": text} for place, text in enumerate(good)]
        changes = {"other bytes": {"chunks": [{"index": 0, "bytes": base64.b64encode(b"x" * CHUNK_BYTES).decode()}]}, "one too few": {"chunks": []},
                   "another place": {"chunks": [{"index": 1, "bytes": good[0]}]}, "not base64": {"chunks": [{"index": 0, "bytes": good[0][:-2] + "=\n"}]},
                   "another ref": {"ref": "art_" + "e" * 32, "chunks": rows}}[spoil]
        refused = await scene.bring(delivery, **changes)
        assert refused["accepted"] is False and refused["errorCode"] in ("delivery_malformed", "material_integrity_failed", "bad_command")
        if refused["errorCode"] == "bad_command":
            assert (await scene.bring(delivery))["accepted"]        # never took it; the right ones still count
            assert (await asked)["accepted"]
        else:
            assert (await asked)["errorCode"] == "material_integrity_failed"
            assert (await scene.bring(delivery))["errorCode"] == "delivery_unknown"

    tell(story)


def test_a_worker_that_cannot_deliver_says_why_and_one_that_is_away_is_named(tell):
    async def story(scene):
        ref = await scene.told()
        asked = asyncio.ensure_future(scene.host.call("ReadArtifact", {"ref": ref}))
        delivery = await scene.delivery()
        body = scene.said("DeliverUnavailable", requestId=delivery["requestId"], reason="material_corrupt")
        assert (await scene.post("delivery/result", body)).json()["accepted"]
        assert (await asked)["errorCode"] == "material_unavailable"
        await scene.worker.release()
        assert (await scene.host.call("ReadArtifact", {"ref": ref}))["errorCode"] == "material_custodian_offline"

    tell(story)


def test_another_instance_registers_delivers_and_claims_nothing(tell):
    async def story(scene):
        row = await scene.claimed()
        wrong = {"x-rulith-worker-generation": str(scene.worker.generation + 1)}
        assert (await scene.post("register", HELD.registration(row["executionGrant"]), **wrong)).json()["errorCode"] == "not_claimer"
        forged = HELD.registration(row["executionGrant"][:-2] + "AA")
        assert (await scene.post("register", forged)).json()["errorCode"] in ("grant_signature", "grant_unreadable")
        assert (await scene.post("delivery", {**scene.said("PollDelivery"), "workerGeneration": 99}, **{"x-rulith-worker-generation": "99"})).json()["errorCode"].startswith("worker_lease_")
        assert (await scene.post("delivery", scene.said("PollDelivery"), **wrong)).status == 400
        assert (await scene.post("claim", scene.said("ClaimLocalRead", ticket="mlt_" + "a" * 43))).json()["errorCode"] == "local_ticket_invalid"
        for route in ("register", "delivery", "delivery/result", "claim"):
            assert (await scene.post(route, {"protocol": PROTOCOL, "kind": "x"})).status == 400
            assert (await scene.kit.http(scene.world.port, "POST", f"/work/artifact/{route}", {}, b"{}")).status == 401
        scene.asked.cancel()

    tell(story)


LOCAL = {"x-rulith-local-delivery": "rulith-local-delivery/1"}


async def asked_locally(scene, ref: str, custodian: str, **arguments) -> tuple[dict, dict | None]:
    answer = await scene.host.post(scene.host.asking("ReadArtifact", {"ref": ref, **arguments}, id=f"local-{custodian}-{len(arguments)}", progress=None),
                                   **LOCAL, **{"x-rulith-local-custodian": custodian})
    result = answer.json()["result"]
    return json.loads(result["content"][0]["text"]), result["_meta"].get("rulith/local-delivery/v1")


def test_a_ticket_is_claimed_once_by_the_custodian_and_carries_no_byte(tell):
    async def story(scene):
        ref = await scene.told()
        body, local = await asked_locally(scene, ref, scene.worker.connection)
        validate_result("artifactTicketResult", body)
        assert local["ref"] == ref and local["claimPath"] == "/work/artifact/claim" and local["expiresInMillis"] <= 15_000
        claimed = (await scene.post("claim", scene.said("ClaimLocalRead", ticket=local["ticket"]))).json()
        validate("materialClaimed", {name: value for name, value in claimed.items() if name != "accepted"})
        assert claimed["modelDisclosure"] == "denied" and claimed["digest"] == HELD.digest and claimed["maximumLength"] == 65_536
        assert (await scene.post("claim", scene.said("ClaimLocalRead", ticket=local["ticket"]))).json()["errorCode"] == "local_ticket_invalid"
        assert (await scene.host.call("ReadArtifact", {"ref": ref}))["errorCode"] == "source_material_denied"       # without its own machine: through the gateway
        assert (await asked_locally(scene, ref, "conn_other"))[0]["errorCode"] == "source_material_denied"

    tell(story, local=True, off=False)


def test_what_the_model_says_after_a_reference_rests_on_its_source(tell):
    """The flow rules of the Constitution see what a model may have read, though no fact says it."""
    async def story(scene):
        await scene.told()
        state = scene.world.gateway.authority.agents[scene.world.profile.agent_id].board.state
        assert state.told[None] == {SOURCE: ("attested", state.told[None][SOURCE][1])}
        case = next(iter(state.cases.values()))
        assert SOURCE in {rest.source for rest in rests_of(state, case, [], {"text": "words that no fact holds"})}
        assert SOURCE not in {rest.source for rest in rests_of(state, case, [], {})}       # where the model says nothing, nothing of it can pass

    tell(story)


def test_a_gateway_that_ends_answers_the_read_that_waits(play, kit):
    async def story(world):
        scene = await Scene(world, kit).set_up()
        ref = await scene.told()
        asked = asyncio.ensure_future(scene.host.call_raw("ReadArtifact", {"ref": ref}))
        await scene.delivery()
        await asyncio.wait_for(world.stop(), 10)
        answer = await asyncio.gather(asked, return_exceptions=True)
        assert isinstance(answer[0], Exception) or answer[0].status in (200, 503)
        await world.start()

    play(story, pollHoldMs=200)


def test_a_restart_knows_the_reference_and_the_owners_word(play, kit):
    async def story(world):
        scene = await Scene(world, kit).set_up()
        ref = await scene.told()
        await world.stop()
        await world.start()
        agent = world.profile.agent_id
        assert world.gateway.authority.agents[agent].artifacts.artifacts[ref].told
        assert world.gateway.authority.registry.delivery(agent, SOURCE)["offMachine"] is True
        scene.host, scene.worker.port = world.host(), world.port
        await scene.host.initialize()
        await scene.worker.poll()
        assert (await scene.read(ref=ref))["totalBytes"] == len(DOCUMENT)

    play(story, pollHoldMs=200)


ODD = [None, True, -1, 0, 1.5, 2**53, "", "x", "\ud800", "a" * 300, [], [None], {}, {"a": 1}, "sha256:" + "0" * 64, "mlt_" + "a" * 43, "../../x"]


def test_no_odd_body_of_these_routes_is_a_fault_of_the_gateway(tell):
    """Each member in turn replaced or left out, and one nobody knows: refused by name, never a 500, and nothing is moved by it."""
    async def story(scene):
        row = await scene.claimed()
        before = len(list(scene.world.gateway.authority.ledger.rows()))
        bodies = {"register": HELD.registration(row["executionGrant"]), "delivery": scene.said("PollDelivery", waitMillis=0),
                  "delivery/result": scene.said("DeliverChunks", requestId="mdr_" + "0" * 32, ref="art_" + "0" * 32, firstChunk=0, chunks=[{"index": 0, "bytes": "YQ=="}]),
                  "claim": scene.said("ClaimLocalRead", ticket="mlt_" + "b" * 43)}
        for place, (route, body) in enumerate(bodies.items()):
            for turn, name in enumerate((*body, "unknown")):
                odd = ODD[(3 * place + 5 * turn) % len(ODD)]
                without = {key: value for key, value in body.items() if key != name}
                for changed in ({**without, name: odd}, *([without] if name in body else [])):
                    answer = await scene.post(route, changed)
                    assert answer.status in (200, 400), (route, name, odd, answer.body)
                    assert answer.json()["accepted"] is False or (route == "delivery" and name == "waitMillis"), (route, name, odd)
        assert len(list(scene.world.gateway.authority.ledger.rows())) == before
        scene.asked.cancel()

    tell(story)
