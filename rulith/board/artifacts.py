"""Artifacts of one Agent: references to objects that stay at a Worker, and what is needed to check their bytes.

An object is registered by the Worker that runs the call it belongs to; its reference can be
read once that call's receipt named it, and by its Agent alone. The bytes are never here.
Only the newest are remembered; the reference of an older one leads nowhere any more.

Refuses to know: who may read what (gateway/artifacts.py), where the bytes are.
Source  the Worker hop, §§9 and 15; the MCP surface, §4.6
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from rulith.base.errors import Refused
from rulith.base.limits import ARTIFACTS_KEPT, CHUNK_BYTES, KEPT_BYTES_MAX
from rulith.board.machine import Machine, members
from rulith.board.shapes import Mint

_MEMBERS = "ref ordinal connectionId sourceRecordId custodyId mediaType encoding totalBytes digest chunkDigests caseIds"
_HEX = len("sha256:")


@dataclass(frozen=True)
class Artifact:
    ref: str
    ordinal: int
    connection_id: str
    source: str
    custody_id: str
    media_type: str
    encoding: str
    total_bytes: int
    digest: str
    chunks: bytes                # 32 bytes for each chunk
    case_ids: tuple[str, ...]
    told: bool = False           # a receipt named it

    def record(self) -> dict:
        """As a receipt's digest covers it."""
        return {"ref": self.ref, "mediaType": self.media_type, "totalBytes": self.total_bytes, "digest": self.digest}

    def registered(self) -> dict:
        """As its registration is confirmed."""
        return {**self.record(), "encoding": self.encoding}

    def digests(self, first: int, count: int) -> list[str]:
        return ["sha256:" + self.chunks[at * 32:at * 32 + 32].hex() for at in range(first, min(first + count, len(self.chunks) // 32))]


class Artifacts(Machine):
    """Commands:
        register {ref, ordinal, connectionId, sourceRecordId, custodyId, mediaType, encoding, totalBytes, digest, chunkDigests, caseIds} -> {ref}
        tell {ordinal, refs}      the receipt of that call named these
    """

    COMMANDS = {"register": ("_register", *members(_MEMBERS)), "tell": ("_tell", *members("ordinal refs"))}

    def __init__(self) -> None:
        super().__init__()
        self.artifacts: dict[str, Artifact] = {}

    def _register(self, command: Mapping, at: str, draw: Mint) -> dict:
        total, digests = command["totalBytes"], command["chunkDigests"]
        if total > KEPT_BYTES_MAX or len(digests) != -(-total // CHUNK_BYTES):
            raise Refused("artifact_registration_invalid", problem=f"{total} bytes are {-(-total // CHUNK_BYTES)} chunks, {len(digests)} are named, and {KEPT_BYTES_MAX} bytes are the most")
        if len(digests) == 1 and digests[0] != command["digest"]:
            raise Refused("artifact_registration_invalid", problem="its only chunk has another digest than the whole")
        fresh = Artifact(command["ref"], command["ordinal"], command["connectionId"], command["sourceRecordId"], command["custodyId"], command["mediaType"],
                         command["encoding"], total, command["digest"], b"".join(bytes.fromhex(each[_HEX:]) for each in digests), tuple(command["caseIds"]))
        self.journal.put(self.artifacts, fresh.ref, fresh)
        for ref in list(self.artifacts)[:-ARTIFACTS_KEPT]:
            self.journal.drop(self.artifacts, ref)
        return {"ref": fresh.ref}

    def _tell(self, command: Mapping, at: str, draw: Mint) -> dict:
        for ref in command["refs"]:
            self.journal.put(self.artifacts, ref, replace(self.artifacts[ref], told=True))
        return {"refs": list(command["refs"])}

    # --- reads -------------------------------------------------------------------------

    def known(self, ordinal: int, custody_id: str) -> Artifact | None:
        """What this call registered under that name before."""
        return next((each for each in reversed(self.artifacts.values()) if (each.ordinal, each.custody_id) == (ordinal, custody_id)), None)

    def of_call(self, ordinal: int, connection_id: str, ref: str) -> Artifact:
        """An object that this very call registered. Raises Refused artifact_unavailable."""
        found = self.artifacts.get(ref)
        if found is None or (found.ordinal, found.connection_id) != (ordinal, connection_id):
            raise Refused("artifact_unavailable", ref=ref)
        return found
