"""Who may talk to a server on loopback: programs of this machine, and pages that it served itself.

A browser sends the page's Origin, and the name in Host that the page used: a page of
another origin, or a name rebound to this address, is told apart before a body is read.
Programs send no Origin. Over TLS the certificate
answers for the name, so there a page is our own when its origin is the name it asked.
"""

from __future__ import annotations

from rulith.net.messages import Request

LOOPBACK_NAMES = ("127.0.0.1", "localhost", "[::1]")


def is_foreign_page(request: Request) -> bool:
    """Whether a browser page of another origin sent this."""
    origin = request.headers.get("origin")
    if origin is None:
        return False
    if request.secure:
        return origin.lower() != f"https://{request.headers.get('host') or ''}".lower()
    scheme, found, rest = origin.partition("://")
    return not found or scheme not in ("http", "https") or _name_of(rest) not in LOOPBACK_NAMES


def is_foreign_host(request: Request) -> bool:
    """Whether the request was sent in plain text to a name that is not this machine's own."""
    return not request.secure and _name_of(request.headers.get("host") or "") not in LOOPBACK_NAMES


def _name_of(authority: str) -> str:
    """The host of HOST[:PORT]."""
    if authority.startswith("[") and authority.endswith("]"):
        return authority
    return (authority.rpartition(":")[0] or authority).lower()
