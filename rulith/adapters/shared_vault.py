"""The environment vault: credentials that several Workers of a machine share, each for one address.

An entry serves a granted Source that has no entry in the Worker's own vault. It is used only
where it was made for what was granted: the same type and the same address, so that a grant
that names another place is never sent the credential. It never says what to start. Pure.

Source  protocol/worker-contract.json, "sources"
"""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import parse_qs, urlsplit

TAKEN = ("token", "headers", "dsn")
_SAYS_WHERE, _LAUNCHES = ("url", "access"), ("command", "args", "cwd")
_ELSEWHERE = frozenset("host hostaddr port dbname database service servicefile".split())    # a query of these leads to another database
_POSTGRES_PORT = 5432


def unread_members(entry: Mapping[str, object]) -> list[str]:
    """Members that are neither taken nor compared."""
    return sorted(set(entry) - {"type", *TAKEN, *_SAYS_WHERE, *_LAUNCHES})


def mismatch_of(entry: Mapping[str, object], kind: object, address: str) -> str | None:
    """What keeps this entry from the Source granted as `kind` at `address`: type, address or launch; None where it fits."""
    if any(member in entry for member in _LAUNCHES):
        return "launch"
    if entry.get("type") != kind:
        return "type"
    stated = [entry[member] for member in _SAYS_WHERE if member in entry]
    if not address or any(each != address for each in stated):
        return "address"
    dsn = entry.get("dsn")
    if dsn is None:
        return None if stated else "address"
    return None if isinstance(dsn, str) and _database(dsn) is not None and _database(dsn) == _database(address) else "address"


def _database(dsn: str) -> tuple[str, str, int, str] | None:
    """Which database a DSN names: scheme, host, port and name, without who asks; None where that cannot be told."""
    try:
        parts = urlsplit(dsn)
        port = parts.port or _POSTGRES_PORT
        asked = parse_qs(parts.query, keep_blank_values=True)
    except ValueError:
        return None
    if not parts.scheme or parts.fragment or not _ELSEWHERE.isdisjoint(map(str.lower, asked)):
        return None
    scheme = "postgresql" if parts.scheme == "postgres" else parts.scheme
    return scheme, parts.hostname or "", port, parts.path
