"""Artifacts: objects that stay at a Worker and are read by reference, window by window.

An object is chunks of 64 KiB, each with its digest, and a digest of the whole. Both ends
and the machine of the Agent cut windows by the one function here, so a window is the same
bytes whichever way it came. Pure: takes chunks and gives text.

Units   offsets and sizes count the object's own bytes
Source  protocol/worker/schema.json, "material…"; the MCP surface, §4.6; the Worker hop, §15
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rulith.base.canonical import sha256_hex
from rulith.base.errors import Refused
from rulith.base.limits import CHUNK_BYTES

PROTOCOL = "rulith-worker-material/1"
LOCAL_PROTOCOL = "rulith-local-delivery/1"
LOCAL_META = "rulith/local-delivery/v1"
LOCAL_HEADER, CUSTODIAN_HEADER = "x-rulith-local-delivery", "x-rulith-local-custodian"
WORK_PATH = "/work"              # the others lie below it
REGISTER_PATH, DELIVERY_PATH = "/work/artifact/register", "/work/artifact/delivery"
RESULT_PATH, CLAIM_PATH = "/work/artifact/delivery/result", "/work/artifact/claim"
CUSTODY = {"durable": True, "acknowledged": "rulith-worker-custody/1"}
TRIMMING = "utf8-code-point/1"
UTF8, BASE64 = "utf8", "base64"
GRANTED, DENIED, ABSENT = "granted", "denied", "absent"
UNAVAILABLE = ("material_missing", "material_corrupt", "material_unreadable", "material_permission_withdrawn")


def digest_of(data: bytes) -> str:
    return "sha256:" + sha256_hex(data)


def chunk_count(total_bytes: int) -> int:
    return -(-total_bytes // CHUNK_BYTES)


def encoding_of(media_type: str, data: bytes) -> str:
    """utf8 for a text media type whose bytes are UTF-8 without NUL, else base64."""
    kind = media_type.partition(";")[0].strip().lower()
    textual = kind.startswith("text/") or kind in ("application/json", "application/xml", "application/yaml", "application/toml") or kind.endswith(("+json", "+xml"))
    if not textual or b"\0" in data:
        return BASE64
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return BASE64
    return UTF8


@dataclass(frozen=True)
class Held:
    """One stored object as its custodian describes it; the bytes are chunks of CHUNK_BYTES."""

    custody_id: str
    media_type: str
    encoding: str
    total_bytes: int
    digest: str
    chunk_digests: tuple[str, ...]

    def registration(self, grant: str) -> dict[str, object]:
        """The body of /work/artifact/register."""
        return {"protocol": PROTOCOL, "executionGrant": grant, "custodyId": self.custody_id, "mediaType": self.media_type, "encoding": self.encoding,
                "totalBytes": self.total_bytes, "digest": self.digest, "chunkBytes": CHUNK_BYTES, "chunkDigests": list(self.chunk_digests), "custody": CUSTODY}


def held_of(custody_id: str, media_type: str, data: bytes) -> Held:
    pieces = [data[at:at + CHUNK_BYTES] for at in range(0, len(data), CHUNK_BYTES)]
    return Held(custody_id, media_type, encoding_of(media_type, data), len(data), digest_of(data), tuple(map(digest_of, pieces)))


def reach(total_bytes: int, offset: int, size: int) -> tuple[int, int]:
    """(first chunk, how many) that hold the bytes from `offset`, at most `size` of them."""
    first = offset // CHUNK_BYTES
    end = min(total_bytes, offset + size)
    return first, max(1, chunk_count(end) - first)


def check_chunks(chunks: Sequence[bytes], digests: Sequence[str], total_bytes: int, first: int, what: str) -> None:
    """Every chunk is whole and as registered; `digests` are those of these very chunks. Raises Refused material_integrity_failed."""
    good = len(chunks) == len(digests)
    for place, (chunk, digest) in enumerate(zip(chunks, digests)):
        wanted = min(CHUNK_BYTES, total_bytes - (first + place) * CHUNK_BYTES)
        good = good and len(chunk) == wanted and digest_of(chunk) == digest
    if not good:
        raise Refused("material_integrity_failed", ref=what)


def cut_window(ref: str, held: Mapping[str, object], offset: int, size: int, first: int, chunks: Sequence[bytes]) -> dict[str, object]:
    """The nine members of one window: from `offset`, at most `size` bytes, a text ending on a whole character.

    held   {mediaType, encoding, totalBytes}; chunks   checked ones, `first` being the place of the first
    Raises Refused: material_offset_split_code_point, material_window_empty, material_encoding_unverifiable.
    """
    total, start = held["totalBytes"], first * CHUNK_BYTES
    assert isinstance(total, int)
    data = b"".join(chunks)[offset - start:offset - start + size]
    if held["encoding"] == UTF8:
        text = _text(data, offset, size, is_last=offset + len(data) >= total)
        data = text.encode("utf-8")
    else:
        text = base64.b64encode(data).decode("ascii")
    end = offset + len(data)
    complete = end >= total
    return {"ref": ref, "mediaType": held["mediaType"], "encoding": held["encoding"], "data": text, "offset": offset,
            "nextOffset": None if complete else end, "totalBytes": total, "complete": complete, "truncated": not complete}


def _text(data: bytes, offset: int, size: int, *, is_last: bool) -> str:
    if data and data[0] & 0xC0 == 0x80:
        raise Refused("material_offset_split_code_point", offset=offset)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as problem:
        if is_last or problem.reason != "unexpected end of data":
            raise Refused("material_encoding_unverifiable", offset=offset) from None
        whole = data[:problem.start]
    if not whole:
        raise Refused("material_window_empty", size=size, offset=offset)
    return whole.decode("utf-8")


def base64_bytes(text: object, bytes_max: int) -> bytes | None:
    """The bytes of standard base64 in its one canonical writing; None for anything else or more than `bytes_max`."""
    if not isinstance(text, str) or len(text) > -(-bytes_max // 3) * 4:
        return None
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
    return data if len(data) <= bytes_max and base64.b64encode(data).decode("ascii") == text else None
