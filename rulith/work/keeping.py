"""Objects that stay here: kept, registered under their call's grant, and delivered piece by piece when asked.

The half that waits. A registration says the same thing each time it is sent, so it is sent
again where its answer is lost. Deliveries run beside the one line of work: a read of a
reference waits for no Tool. Every piece is checked against its digest when it is read, and
again by whoever gets it.

Units   *_s seconds
Source  the Worker hop, §§9 and 15
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator, Callable, Mapping

from rulith.adapters.material import Shelf
from rulith.base.errors import Refused
from rulith.base.json_text import compact_json, read_json
from rulith.base.limits import DELIVERY_S, WINDOW_BYTES_MAX
from rulith.net.client import HttpClient, NetFailed
from rulith.wire.artifacts import (WORK_PATH, CLAIM_PATH, DELIVERY_PATH, GRANTED, PROTOCOL, REGISTER_PATH, RESULT_PATH, Held, check_chunks, cut_window, reach)
from rulith.wire.contract import validate
from rulith.wire.worker_hop import request_headers
from rulith.work.replies import Accepted, Denied, Rejected, Reply, Silent, judge_reply
from rulith.work.signals import Keep, KeptCame

REGISTER_WAITS_S = (1.0, 4.0)
REGISTER_TIMEOUT_S, CLAIM_TIMEOUT_S = 30.0, 35.0
WAIT_MS = 20_000
READS_MAX = 16                   # local reads at once; the host waits 20 s for each and asks no more
WITHOUT_LEASE_S = 1.0            # until the line may be ours again
AGAIN_S, AGAIN_MAX_S = 1.0, 8.0
_REASONS = {"material_not_found": "material_missing", "material_bytes_unavailable": "material_unreadable", "material_chunk_corrupt": "material_corrupt",
            "material_digest_mismatch": "material_corrupt", "material_local_only": "material_permission_withdrawn"}


class Custodian:
    """What one Worker does with the objects that it keeps. `identity` gives the generation of the lease held now, or None."""

    def __init__(self, client: HttpClient, work_url: str, connection_id: str, key: str, worker_id: str, shelf: Shelf, *,
                 identity: Callable[[], int | None], tell: Callable[[str, Mapping[str, object]], None]) -> None:
        self._client = client
        self._work_url = work_url
        self._connection_id, self._key, self._worker_id = connection_id, key, worker_id
        self._shelf = shelf
        self._identity = identity
        self._tell = tell

    async def _post(self, path: str, body: Mapping[str, object], generation: int, timeout_s: float) -> Reply:
        headers = request_headers(connection_id=self._connection_id, key=self._key, worker_id=self._worker_id, generation=generation)
        try:
            answer = await self._client.request("POST", self._work_url + path.removeprefix(WORK_PATH), headers, compact_json(body).encode("utf-8"), timeout_s=timeout_s)
        except NetFailed as failed:
            return Silent(failed.detail)
        except Refused as refused:
            return Silent(refused.happened)
        return judge_reply(answer.status, answer.body)

    # --- keeping -----------------------------------------------------------------------

    async def keep(self, deed: Keep) -> KeptCame:
        """Keep what is not kept yet, and have the gateway give it a reference."""
        held = deed.kept.held
        if held is None:
            try:
                held = await asyncio.to_thread(self._shelf.keep, _media_type(deed.kept.text), deed.kept.text.encode("utf-8"))
            except (Refused, UnicodeEncodeError, OSError) as problem:
                return KeptCame(code="material_custody_unavailable", why=str(problem)[:400])
        for wait_s in (*REGISTER_WAITS_S, None):
            reply = await self._post(REGISTER_PATH, held.registration(deed.grant), deed.generation, REGISTER_TIMEOUT_S)
            if isinstance(reply, Rejected):
                return KeptCame(rejected=reply)
            if isinstance(reply, Denied):
                return KeptCame(code=reply.code or "artifact_registration_unknown", why=reply.teaching or f"the gateway answered {reply.status}")
            if isinstance(reply, Accepted):
                return _confirmed(held, reply.body)
            if wait_s is None:
                break
            await asyncio.sleep(wait_s)
        return KeptCame(code="artifact_registration_unknown", why=reply.why)

    # --- delivering --------------------------------------------------------------------

    async def serve(self) -> None:
        """Bring the pieces that the gateway asks for, until cancelled."""
        again_s = AGAIN_S
        while True:
            generation = self._identity()
            if generation is None:
                await asyncio.sleep(WITHOUT_LEASE_S)
                continue
            poll = {"protocol": PROTOCOL, "kind": "PollDelivery", "workerId": self._worker_id, "workerGeneration": generation, "waitMillis": WAIT_MS}
            reply = await self._post(DELIVERY_PATH, poll, generation, WAIT_MS / 1000 + DELIVERY_S)
            delivery = reply.body.get("delivery") if isinstance(reply, Accepted) else None
            if not isinstance(reply, Accepted):
                await asyncio.sleep(again_s)       # the loop of work meets the same gateway and says what is wrong
                again_s = min(again_s * 2, AGAIN_MAX_S)
                continue
            again_s = AGAIN_S
            if delivery is not None:
                await self._deliver(delivery, generation)

    async def _deliver(self, delivery: object, generation: int) -> None:
        said = {"protocol": PROTOCOL, "workerId": self._worker_id, "workerGeneration": generation}
        try:
            validate("materialDelivery", delivery)
            assert isinstance(delivery, dict)
            said["requestId"] = delivery["requestId"]
            answer = await asyncio.to_thread(self._brought, delivery)
        except Refused as refused:
            self._tell("material", {"what": "delivery", "code": refused.code, "reason": refused.happened})
            if "requestId" not in said:
                return
            answer = {"kind": "DeliverUnavailable", "reason": _REASONS.get(refused.code, "material_unreadable")}
        except OSError as problem:
            self._tell("material", {"what": "delivery", "code": "material_unreadable", "reason": problem.strerror or "the disk"})
            answer = {"kind": "DeliverUnavailable", "reason": "material_unreadable"}
        await self._post(RESULT_PATH, {**said, **answer}, generation, DELIVERY_S)      # unanswered: the read asks again

    def _brought(self, delivery: Mapping) -> dict[str, object]:
        if delivery["sourceMaterial"]["proxy"] != GRANTED:
            raise Refused("material_local_only", id=delivery["custodyId"])
        first, digests = delivery["firstChunk"], delivery["chunkDigests"]
        if len(digests) != delivery["chunkCount"]:
            raise Refused("delivery_malformed", problem="the chunks and their digests differ in number")
        chunks = self._shelf.chunks(delivery["custodyId"], first, digests, proxied=True)
        return {"kind": "DeliverChunks", "ref": delivery["ref"], "firstChunk": first,
                "chunks": [{"index": first + place, "bytes": base64.b64encode(chunk).decode("ascii")} for place, chunk in enumerate(chunks)]}

    # --- local reads -------------------------------------------------------------------

    async def read_local(self, ticket: object, destination: object) -> dict[str, object]:
        """The window behind a ticket, for the model at `destination`. Raises Refused: material_…, local_…"""
        if not isinstance(ticket, str) or not ticket:
            raise Refused("local_ticket_missing")
        if not isinstance(destination, str) or not destination:
            raise Refused("material_destination_unstated")
        if self._shelf.destination and destination != self._shelf.destination:
            raise Refused("material_destination_mismatch", destination=destination[:200], known=self._shelf.destination)
        generation = self._identity()
        if generation is None:
            raise Refused("worker_lease_lost")
        claim = {"protocol": PROTOCOL, "kind": "ClaimLocalRead", "workerId": self._worker_id, "workerGeneration": generation, "ticket": ticket}
        reply = await self._post(CLAIM_PATH, claim, generation, CLAIM_TIMEOUT_S)
        if isinstance(reply, Denied):
            raise Refused("material_delivery_refused", problem=reply.teaching or reply.code or reply.status)
        if not isinstance(reply, Accepted):
            raise Refused("material_delivery_unavailable", problem=reply.why if isinstance(reply, Silent) else "the gateway does not accept this Worker's credential")
        return await asyncio.to_thread(self._window, reply.body, destination)

    def _window(self, claimed: Mapping, destination: str) -> dict[str, object]:
        body = {name: value for name, value in claimed.items() if name != "accepted"}
        if "modelDisclosure" not in body:
            raise Refused("local_claim_disclosure_unstated")
        try:
            validate("materialClaimed", body)
            first, count = reach(body["totalBytes"], body["offset"], body["maximumLength"])
            if (first, count) != (body["firstChunk"], len(body["chunkDigests"])) or body["offset"] >= body["totalBytes"]:
                raise Refused("bad_command", problem="Its chunks are not those of its window")
        except Refused as refused:
            raise Refused("local_claim_malformed", problem=refused.happened.rstrip(".")) from None
        self._shelf.check_disclosure(body["custodyId"], destination, allowed=body["modelDisclosure"] == GRANTED)
        chunks = self._shelf.chunks(body["custodyId"], first, body["chunkDigests"], proxied=False)
        check_chunks(chunks, body["chunkDigests"], body["totalBytes"], first, body["ref"])
        return cut_window(body["ref"], body, body["offset"], min(body["maximumLength"], WINDOW_BYTES_MAX), first, chunks)


class LocalReads:
    """Reads of kept material that the parent asks for: each answered by one `material-read` event with the same id."""

    def __init__(self, custodian: Custodian | None, emit: Callable[..., None]) -> None:
        self.tasks: set[asyncio.Task[None]] = set()
        self._custodian, self._emit = custodian, emit

    async def sorted(self, controls: AsyncIterator[Mapping[str, object]]) -> AsyncIterator[str]:
        """The parent's other words; a read is begun and passes."""
        async for control in controls:
            if control.get("operation") != "read":
                yield str(control["operation"])
            elif len(self.tasks) < READS_MAX:
                task = asyncio.ensure_future(self._read(control))
                self.tasks.add(task)
                task.add_done_callback(self.tasks.discard)

    async def _read(self, control: Mapping[str, object]) -> None:
        try:
            if self._custodian is None:
                raise Refused("material_identity_unconfirmed")
            result = await self._custodian.read_local(control.get("ticket"), control.get("modelDestination"))
        except Refused as refused:
            self._emit("material-read", id=control.get("id"), ok=False, errorCode=refused.code, teaching=refused.teaching)
        else:
            self._emit("material-read", id=control.get("id"), ok=True, result=result)


def _media_type(text: str) -> str:
    try:
        read_json(text, "the result")
    except Refused:
        return "text/plain"
    return "application/json"


def _confirmed(held: Held, body: Mapping) -> KeptCame:
    """The gateway's record must be ours, member by member."""
    payload = body.get("payload")
    found = payload if isinstance(payload, dict) and "ref" in payload else {name: value for name, value in body.items() if name != "accepted"}
    mine = {"mediaType": held.media_type, "encoding": held.encoding, "totalBytes": held.total_bytes, "digest": held.digest}
    try:
        validate("materialRegistered", found)
    except Refused as refused:
        return KeptCame(code="artifact_registration_unconfirmed", why=refused.happened)
    if {name: found[name] for name in mine} != mine:
        return KeptCame(code="artifact_registration_unconfirmed", why="the gateway's record says something else of this object")
    return KeptCame(ref=found["ref"])
