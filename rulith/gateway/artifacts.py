"""Content that stays at a Worker: its registration, and the reads of it by the Agent whose call it belongs to.

Promises: a reference is given only for a call that its registrar has claimed; it is read by
that Agent alone, and only while an owner lets content of its Source go that way, which is
judged when it is asked for and again before a byte leaves; every piece is checked against
its registered digest. The gateway keeps no byte. Two ways: pieces brought by the Worker
through this gateway, or a ticket, used once, for a read on the Worker's own machine.

Units   *_s seconds
Source  the MCP surface, §4.6; the Worker hop, §15
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field

from rulith.base.errors import Refused
from rulith.base.ids import mint, mint_token
from rulith.base.limits import CHUNK_BYTES, DELIVERIES_WAITING_MAX, DELIVERY_S, INLINE_BYTES_MAX, TICKET_S, TICKETS_MAX
from rulith.board.artifacts import Artifact
from rulith.board.operations import CLAIMED, NEEDS_PERSON
from rulith.gateway.authority import Authority
from rulith.net.link import within
from rulith.wire.artifacts import (ABSENT, CLAIM_PATH, DENIED, GRANTED, LOCAL_META, LOCAL_PROTOCOL, PROTOCOL, TRIMMING, base64_bytes, check_chunks,
                                   cut_window, reach)

READ_BYTES_MAX = INLINE_BYTES_MAX       # of one window; also what is read where the call names no size


@dataclass(eq=False)
class Read:
    """One read that waits for its pieces."""

    agent_id: str
    artifact: Artifact
    first: int
    count: int
    deadline_s: float
    request_id: str = field(default_factory=lambda: mint("mdr_"))
    offered: bool = False
    brought: asyncio.Future = field(default_factory=lambda: asyncio.get_running_loop().create_future())


@dataclass(frozen=True)
class Ticket:
    agent_id: str
    ref: str
    offset: int
    size: int
    expires_s: float


class ArtifactDesk:
    def __init__(self, authority: Authority) -> None:
        self.authority = authority
        self._reads: dict[str, list[Read]] = {}        # Connection -> those that wait
        self._tickets: dict[str, Ticket] = {}

    # --- permission --------------------------------------------------------------------

    def permissions(self, agent_id: str, source: str) -> dict[str, str]:
        """{register, proxy, localRead} of a Source's content for an Agent: granted, denied or absent each."""
        row = self.authority.registry.delivery(agent_id, source) if source else None
        if row is None:
            return dict.fromkeys(("register", "proxy", "localRead"), ABSENT)
        said = {"register": row["localRead"] or row["offMachine"], "proxy": row["offMachine"], "localRead": row["localRead"]}
        return {name: GRANTED if value else DENIED for name, value in said.items()}

    def check_permission(self, agent_id: str, source: str, way: str) -> None:
        """Raises Refused source_material_absent, source_material_denied."""
        said = self.permissions(agent_id, source)[way]
        if said != GRANTED:
            raise Refused("source_material_denied" if said == DENIED else "source_material_absent", source=source)

    def _check(self, artifact: Artifact, agent_id: str, way: str) -> None:
        """Raises Refused source_material_absent, source_material_denied."""
        self.check_permission(agent_id, artifact.source, way)

    def _find(self, agent_id: str, ref: str) -> Artifact:
        """What this Agent may read under `ref` now; what is hidden is refused as if it were not there."""
        state, profile = self.authority.agents[agent_id], self.authority.profile(agent_id)
        found = state.artifacts.artifacts.get(ref)
        sight = state.names.viewer.sight(profile)
        source = self.authority.registry.sources.get(found.source) if found is not None else None
        hidden = found is not None and sight is not None and not (sight.source(found.source) and all(map(sight.case_id, found.case_ids)))
        if found is None or not found.told or hidden or source is None or source.connection_id != found.connection_id:
            raise Refused("artifact_unavailable", ref=ref)
        return found

    # --- registering -------------------------------------------------------------------

    def register(self, holder, operation, fence_generation: int, body: Mapping) -> Artifact:
        """Give an object of a claimed call its reference; the same object again gets the same one. Staged, not yet durable.

        holder, operation   who registers, and the call; their grant has been checked
        Raises Refused: not_claimer, worker_fenced, source_material_…, artifact_digest_mismatch, artifact_registration_invalid.
        """
        if operation.state not in (CLAIMED, NEEDS_PERSON):
            raise Refused("not_claimer")
        if fence_generation > holder.generation or operation.state == NEEDS_PERSON:
            raise Refused("worker_fenced")
        agent_id = self.authority.registry.connection(holder.connection_id)["agentId"]
        artifacts, record = self.authority.agents[agent_id].artifacts, operation.plan["sourceRecordId"]
        self.check_permission(agent_id, record, "register")
        known = artifacts.known(operation.ordinal, body["custodyId"])
        if known is not None:
            same = {**known.registered(), "chunkDigests": known.digests(0, len(body["chunkDigests"]))}
            if any(same[name] != body[name] for name in ("mediaType", "encoding", "totalBytes", "digest", "chunkDigests")):
                raise Refused("artifact_digest_mismatch", custody=body["custodyId"])
            return known
        ref = mint("art_")
        self.authority.command_artifact(agent_id, {
            "kind": "register", "ref": ref, "ordinal": operation.ordinal, "connectionId": holder.connection_id, "sourceRecordId": record,
            "caseIds": list(operation.case_ids), **{name: body[name] for name in ("custodyId", "mediaType", "encoding", "totalBytes", "digest", "chunkDigests")}})
        return artifacts.artifacts[ref]

    # --- reading -----------------------------------------------------------------------

    async def read(self, agent_id: str, arguments: Mapping, custodian: str) -> tuple[dict, dict | None, tuple[str, ...]]:
        """(the window or {ref}, the `_meta` of a local delivery or None, the Cases of it) for one ReadArtifact.

        custodian   the Connection whose Worker the Agent's machine can reach, or ""
        Raises Refused: artifact_unavailable, artifact_offset, artifact_budget, source_material_…, material_….
        """
        ref, offset, size = arguments["ref"], arguments.get("offset", 0), arguments.get("maxBytes", READ_BYTES_MAX)
        artifact = self._find(agent_id, ref)
        if size > READ_BYTES_MAX:
            raise Refused("artifact_budget", wanted=size, limit=READ_BYTES_MAX)
        if offset >= artifact.total_bytes:
            raise Refused("artifact_offset", offset=offset, total=artifact.total_bytes, ref=ref)
        if custodian == artifact.connection_id and self.permissions(agent_id, artifact.source)["localRead"] == GRANTED:
            return {"ref": ref}, {LOCAL_META: self._ticket(agent_id, artifact, offset, size)}, artifact.case_ids
        self._check(artifact, agent_id, "proxy")
        first, count = reach(artifact.total_bytes, offset, size)
        chunks = await self._fetched(agent_id, artifact, first, count)
        self._check(self._find(agent_id, ref), agent_id, "proxy")       # what was narrowed meanwhile holds
        held = {"mediaType": artifact.media_type, "encoding": artifact.encoding, "totalBytes": artifact.total_bytes}
        return cut_window(ref, held, offset, size, first, chunks), None, artifact.case_ids

    async def _fetched(self, agent_id: str, artifact: Artifact, first: int, count: int) -> list[bytes]:
        waiting = self._reads.setdefault(artifact.connection_id, [])
        live, _ = self.authority.live_tools()
        if artifact.connection_id not in live or len(waiting) >= DELIVERIES_WAITING_MAX:
            raise Refused("material_custodian_offline", ref=artifact.ref, seconds=0)
        read = Read(agent_id, artifact, first, count, self.authority.clock.monotonic_s() + DELIVERY_S)
        waiting.append(read)
        self.authority.touched(_topic(artifact.connection_id))
        try:
            return await within(DELIVERY_S, read.brought)
        except asyncio.TimeoutError:
            raise Refused("material_custodian_offline", ref=artifact.ref, seconds=int(DELIVERY_S)) from None
        finally:
            waiting.remove(read)

    def close(self) -> None:
        """The gateway ends: nobody will bring what is waited for."""
        for read in (each for reads in self._reads.values() for each in reads if not each.brought.done()):
            read.brought.set_exception(Refused("material_custodian_offline", ref=read.artifact.ref, seconds=0))

    # --- deliveries --------------------------------------------------------------------

    async def next_delivery(self, connection_id: str, wait_s: float, is_gone) -> dict | None:
        """The next read that waits for this Connection's Worker, or None when none came in time. `is_gone` ends the wait."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + wait_s
        while True:
            for read in self._reads.get(connection_id, ()):
                if not read.offered and not read.brought.done():
                    read.offered = True
                    return self._asked(read)
            left = deadline - loop.time()
            if left <= 0 or self.authority.closing or is_gone():
                return None
            await self.authority.wait_change((_topic(connection_id), connection_id), left)

    def _asked(self, read: Read) -> dict:
        artifact, said = read.artifact, self.permissions(read.agent_id, read.artifact.source)
        last = min(CHUNK_BYTES, artifact.total_bytes - (read.first + read.count - 1) * CHUNK_BYTES)
        left_ms = round((read.deadline_s - self.authority.clock.monotonic_s()) * 1000)
        return {"requestId": read.request_id, "ref": artifact.ref, "custodyId": artifact.custody_id, "chunkBytes": CHUNK_BYTES, "firstChunk": read.first,
                "chunkCount": read.count, "lastChunkBytes": last, "digest": artifact.digest, "chunkDigests": artifact.digests(read.first, read.count),
                "deadlineMillis": max(1, min(left_ms, round(DELIVERY_S * 1000))),
                "sourceMaterial": {"sourceRecordId": artifact.source, **said,
                                   "refusal": None if said["proxy"] == GRANTED else f"source_material_{said['proxy']}"}}

    def brought(self, connection_id: str, body: Mapping) -> None:
        """Take the pieces of one read, or hear that there are none. Raises Refused delivery_unknown, delivery_malformed, material_integrity_failed."""
        read = next((each for each in self._reads.get(connection_id, ()) if each.request_id == body["requestId"] and each.offered), None)
        if read is None or read.brought.done():
            raise Refused("delivery_unknown", request=body["requestId"])
        if body["kind"] == "DeliverUnavailable":
            read.brought.set_exception(Refused("material_unavailable", ref=read.artifact.ref, reason=body["reason"]))
            return
        try:
            read.brought.set_result(_pieces(read, body))
        except Refused as refused:
            read.brought.set_exception(Refused("material_integrity_failed", ref=read.artifact.ref))
            raise refused

    # --- local reads -------------------------------------------------------------------

    def _ticket(self, agent_id: str, artifact: Artifact, offset: int, size: int) -> dict:
        now_s = self.authority.clock.monotonic_s()
        for old in [each for each, known in self._tickets.items() if known.expires_s <= now_s]:
            del self._tickets[old]
        while len(self._tickets) >= TICKETS_MAX:
            del self._tickets[next(iter(self._tickets))]
        ticket = mint_token("mlt_")
        self._tickets[ticket] = Ticket(agent_id, artifact.ref, offset, size, now_s + TICKET_S)
        return {"protocol": LOCAL_PROTOCOL, "ticket": ticket, "ref": artifact.ref, "custodyId": artifact.custody_id, "claimPath": CLAIM_PATH,
                "expiresInMillis": round(TICKET_S * 1000)}

    def claim(self, connection_id: str, token: str) -> dict:
        """What a ticket stands for, once. Raises Refused local_ticket_invalid, source_material_…"""
        ticket = self._tickets.get(token)
        artifact = None
        if ticket is not None and ticket.agent_id in self.authority.agents and ticket.expires_s > self.authority.clock.monotonic_s():
            try:
                artifact = self._find(ticket.agent_id, ticket.ref)
            except Refused:
                pass
        if ticket is None or artifact is None or artifact.connection_id != connection_id:
            raise Refused("local_ticket_invalid")
        del self._tickets[token]
        self._check(artifact, ticket.agent_id, "localRead")
        first, count = reach(artifact.total_bytes, ticket.offset, ticket.size)
        return {"protocol": PROTOCOL, "ref": artifact.ref, "custodyId": artifact.custody_id, "mediaType": artifact.media_type, "encoding": artifact.encoding,
                "totalBytes": artifact.total_bytes, "digest": artifact.digest, "chunkBytes": CHUNK_BYTES, "firstChunk": first,
                "chunkDigests": artifact.digests(first, count), "offset": ticket.offset, "maximumLength": ticket.size, "trimming": TRIMMING,
                "modelDisclosure": self.permissions(ticket.agent_id, artifact.source)["proxy"]}


def _pieces(read: Read, body: Mapping) -> list[bytes]:
    chunks = [base64_bytes(each["bytes"], CHUNK_BYTES) for each in body["chunks"]]
    places = [each["index"] for each in body["chunks"]]
    if (body["ref"] != read.artifact.ref or body["firstChunk"] != read.first or places != list(range(read.first, read.first + read.count))
            or any(each is None for each in chunks)):
        raise Refused("delivery_malformed", problem="these are not the chunks that were asked for, in order and as base64")
    check_chunks(chunks, read.artifact.digests(read.first, read.count), read.artifact.total_bytes, read.first, read.artifact.ref)
    return chunks


def _topic(connection_id: str) -> str:
    return f"{connection_id}/materials"
