"""Execution grants: a signed statement that one Worker may run one dispatched call.

The token is `P.S`: P the payload as base64url without padding, S the HMAC-SHA256 of the
text P under the Connection key. The Worker holds the same key, so a good signature tells
the gateway nothing about what it dispatched; it compares with its own record too. The
version follows from what is bound: 2, or 3 with a selected material, or 4 with the address
of an HTTP Source; none binds both.

Source  protocol/worker-contract.json, "grant"; vectors in protocol/worker/vectors.json.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields

from rulith.base.canonical import digest
from rulith.base.errors import Refused
from rulith.base.json_text import compact_json, read_json
from rulith.base.limits import INTEGER_MAX

VERSION = 2
EXTRAS = {3: "materialBindingDigest", 4: "sourceBindingDigest"}      # the one member that a version adds
GRANT_CHARS_MAX = 8_192          # a full payload with long ids stays under 2 KiB
_BASE64URL = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)
_DIGEST = re.compile(r"sha256:[a-f0-9]{64}", re.ASCII)
_MAY_BE_EMPTY = frozenset({"sourceRecordId"})


@dataclass(frozen=True)
class Grant:
    """The payload of one grant. Field names are the wire's, in the order they are signed."""

    boardId: str
    invocationId: str
    actionId: str
    toolContractId: str
    sourceRecordId: str
    connectionId: str
    workerId: str
    workerGeneration: int
    adapterDigest: str
    requestDigest: str
    materialBindingDigest: str = ""      # of version 3 alone
    sourceBindingDigest: str = ""        # of version 4 alone

    def __post_init__(self) -> None:
        assert not (self.materialBindingDigest and self.sourceBindingDigest), "no version binds both"

    @property
    def version(self) -> int:
        return next((version for version, name in EXTRAS.items() if getattr(self, name)), VERSION)

    def payload(self) -> dict[str, object]:
        return {name: getattr(self, name) for name in _members(self.version)}


_BASE = ("version", *(row.name for row in fields(Grant) if row.name not in EXTRAS.values()))


def _members(version: int) -> tuple[str, ...]:
    return (*_BASE, EXTRAS[version]) if version in EXTRAS else _BASE


def _part(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode("ascii")


def _bytes_of(part: str, name: str) -> bytes:
    if not _BASE64URL.fullmatch(part) or len(part) % 4 == 1:
        raise Refused("grant_unreadable", problem=f"its {name} is not base64url without padding")
    try:
        data = base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))
    except (binascii.Error, ValueError):
        raise Refused("grant_unreadable", problem=f"its {name} is not base64url without padding") from None
    if _part(data) != part:  # spare bits of the last letter: two spellings of one signature
        raise Refused("grant_unreadable", problem=f"its {name} is not the shortest base64url of its bytes")
    return data


def _signature(payload_part: str, key: str) -> bytes:
    return hmac.new(key.encode("utf-8"), payload_part.encode("ascii"), hashlib.sha256).digest()


def sign_grant(grant: Grant, key: str) -> str:
    """The token for `grant` under the Connection key."""
    payload_part = _part(compact_json(grant.payload()).encode("utf-8"))
    return payload_part + "." + _part(_signature(payload_part, key))


def _field_problem(name: str, value: object) -> str | None:
    if name == "workerGeneration":
        good = isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= INTEGER_MAX
        return None if good else "is not a generation"
    if not isinstance(value, str):
        return "is not text"
    if not value and name not in _MAY_BE_EMPTY:
        return "is empty"
    if name in ("adapterDigest", "requestDigest", *EXTRAS.values()) and not _DIGEST.fullmatch(value):
        return "is not a sha256 digest"
    return None


def read_grant(token: str, key: str) -> Grant:
    """Check the signature of `token` and read its payload; matching it is verify_grant()'s part.

    Raises Refused: grant_unreadable, grant_signature.
    """
    payload_part, signature = _parts(token)
    if not hmac.compare_digest(signature, _signature(payload_part, key)):
        raise Refused("grant_signature")
    return _payload(payload_part)


def read_claims(token: str) -> Grant:
    """What `token` says, its signature left unchecked: for an auditor without the Connection key.

    Raises Refused grant_unreadable.
    """
    return _payload(_parts(token)[0])


def _parts(token: str) -> tuple[str, bytes]:
    """The payload's text and the signature's bytes."""
    if not isinstance(token, str) or len(token) > GRANT_CHARS_MAX or not token.isascii():
        raise Refused("grant_unreadable", problem="it is not a short ASCII text")
    parts = token.split(".")
    if len(parts) != 2 or not all(parts):
        raise Refused("grant_unreadable", problem="it does not have exactly two parts")
    _bytes_of(parts[0], "payload")       # unreadable comes before badly signed
    return parts[0], _bytes_of(parts[1], "signature")


def _payload(payload_part: str) -> Grant:
    payload_bytes = _bytes_of(payload_part, "payload")
    try:
        payload = read_json(payload_bytes, "the payload of the grant")
    except Refused as problem:
        raise Refused("grant_unreadable", problem=problem.happened) from None
    if not isinstance(payload, dict):
        raise Refused("grant_unreadable", problem="its payload is not an object")
    version = payload.get("version")
    if not isinstance(version, int) or isinstance(version, bool) or version not in (VERSION, *EXTRAS):
        raise Refused("grant_unreadable", problem=f"its version is none of {VERSION}, {', '.join(map(str, EXTRAS))}")
    members = _members(version)
    if set(payload) != set(members):
        wrong = ", ".join(sorted(set(payload) ^ set(members)))
        raise Refused("grant_unreadable", problem=f"its members differ from the contract's in {wrong[:200]}")
    for name in members[1:]:
        if problem := _field_problem(name, payload[name]):
            raise Refused("grant_unreadable", problem=f"{name} {problem}")
    return Grant(**{name: payload[name] for name in members[1:]})


def verify_grant(token: str, *, key: str | None, expect: Grant) -> Grant:
    """Read `token` and match every field against what the caller knows by itself.

    key   None leaves the signature unchecked: for an auditor without the Connection key
    Raises Refused: grant_unreadable, grant_signature, grant_not_ours (naming the first field that differs).
    """
    grant = read_grant(token, key) if key is not None else read_claims(token)
    for name in ("version", *(row.name for row in fields(Grant))):
        if getattr(grant, name) != getattr(expect, name):
            raise Refused("grant_not_ours", field=name)
    return grant


def expected_grant(
    row: Mapping[str, object], *, connection_id: str, worker_id: str, worker_generation: int, request_digest: str
) -> Grant:
    """What the grant of an action row must say: the row, and what this process is by itself.

    Raises Refused bad_command where the row binds both a material and an address, which no grant can.
    """
    material, binding = row.get("materialInput"), row.get("sourceBinding")
    if material is not None and binding is not None:
        raise Refused("bad_command", problem="The row has both `materialInput` and `sourceBinding`, which no grant binds together.",
                      place="/materialInput")
    return Grant(
        boardId=row["boardId"], invocationId=row["work"], actionId=row["tool"],
        toolContractId=row["toolContractId"], sourceRecordId=row["sourceRecordId"],
        connectionId=connection_id, workerId=worker_id, workerGeneration=worker_generation,
        adapterDigest="sha256:" + str(row["toolDigest"]), requestDigest=request_digest,
        materialBindingDigest=material["bindingDigest"] if isinstance(material, Mapping) else "",
        sourceBindingDigest=digest(binding) if binding is not None else "",
    )
