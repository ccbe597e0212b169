"""What an entry of the Source vault may say about a far place: its address, its headers, its token.

A credential crosses TLS or stays on this machine. Refusals name the Source and the member,
never a value.

Source  protocol/worker-contract.json, "sources"
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from rulith.adapters.addresses import is_own
from rulith.adapters.sources import Source
from rulith.base.errors import Refused

VAULT = "vault"                  # a granted address that says: only the Worker's vault knows where
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}", re.ASCII)
FRAMING = ("host", "content-length", "transfer-encoding", "connection", "upgrade", "te", "trailer", "expect",
           "proxy-authorization", "accept-encoding")


def unusable(source: Source, problem: str) -> Refused:
    return Refused("source_unusable", source=source.name, problem=problem)


def check_members(source: Source, known: Sequence[str]) -> None:
    """Refuse what the vault says about this Source that nobody would read. A grant alone has no members."""
    for member in source.secrets:
        if member not in known:
            raise unusable(source, f"its vault entry holds {member[:40]!r}, which means nothing for its type")


@dataclass(frozen=True)
class Place:
    """An http or https address and what to say there. `url` has no query, no fragment and no credential."""

    url: str
    host: str
    origin: str
    headers: Mapping[str, str] = field(repr=False)


def place_of(source: Source, forbidden: Sequence[str] = ()) -> Place:
    """Where an http address of `source` leads. Raises Refused source_unusable."""
    url = source.access.strip()
    if not url or url == VAULT:
        raise unusable(source, "no address is known for it on this machine; give it a url in the Source vault")
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        raise unusable(source, "its url cannot be read") from None
    if parts.scheme not in ("http", "https") or not host:
        raise unusable(source, "its url begins with neither http:// nor https://")
    if parts.username is not None or parts.password is not None:
        raise unusable(source, "its url holds a user name; credentials belong into headers or token")
    if parts.query or parts.fragment or "#" in url or "?" in url:
        raise unusable(source, "its url holds a query or a fragment")
    if not url.isascii() or not url.isprintable() or " " in url or "\\" in url:
        raise unusable(source, "its url holds characters to be %-encoded")
    headers = _headers(source, (*FRAMING, *forbidden))
    if headers and parts.scheme == "http" and not is_own(host):
        raise unusable(source, "its credentials would cross the network in plain text; use https")
    shown = f"[{host}]" if ":" in host else host
    origin = f"{parts.scheme}://{shown}" + ("" if port is None else f":{port}")
    return Place(url, host, origin, headers)


def _headers(source: Source, forbidden: Sequence[str]) -> dict[str, str]:
    rows = source.secrets.get("headers", {})
    if not isinstance(rows, Mapping):
        raise unusable(source, "headers must be an object of name to text")
    headers: dict[str, str] = {}
    for name, value in rows.items():
        if not _TOKEN.fullmatch(name) or name.lower() in headers:
            raise unusable(source, f"{name[:60]!r} is no header name, or is given twice")
        if name.lower() in forbidden:
            raise unusable(source, f"the header {name.lower()} is not the vault's to set")
        if not isinstance(value, str) or not value.isascii() or not value.isprintable():
            raise unusable(source, f"the header {name.lower()} must be printable ASCII text")
        headers[name.lower()] = value
    token = source.secrets.get("token")
    if token is not None:
        if not isinstance(token, str) or not token.isascii() or not token.isprintable() or not token.strip() or " " in token:
            raise unusable(source, "token must be printable ASCII text without blanks")
        headers.setdefault("authorization", f"Bearer {token}")
    return headers
