"""Which network addresses the name of a Source may stand for, asked after the name was resolved.

A Source names a place; whoever answers for that name in the DNS must not make it another
one. A name never stands for this machine, its neighbours on the wire or a group; and what
was public at first never turns private while the Worker runs. An address that the owner
wrote himself is that address.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable

NAT64 = ipaddress.ip_network("64:ff9b::/96")
_Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def _bare(text: str) -> _Address | None:
    """The address as its host sees it: without a zone, and as IPv4 where IPv6 only wraps it."""
    try:
        address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return None
    if isinstance(address, ipaddress.IPv6Address):
        wrapped = address.ipv4_mapped or address.sixtofour
        if wrapped is None and address in NAT64:
            wrapped = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
        return wrapped or address
    return address


def kind_of(text: str) -> str:
    """`own` (this machine), `near` (link-local, a group, nobody), `private` or `public`."""
    address = _bare(text)
    if address is None or address.is_unspecified or address.is_link_local or address.is_multicast:
        return "near"
    if address.is_loopback:
        return "own"
    if isinstance(address, ipaddress.IPv4Address) and address.is_reserved:
        return "near"
    return "public" if address.is_global else "private"


class AddressBook:
    """The rule for each host name, and what the name stood for when it was first used."""

    def __init__(self) -> None:
        self._first: dict[str, str] = {}

    def rule(self, host: str) -> Callable[[str], bool]:
        """Whether a connection to `host` may go to an address; a name is remembered by the first that may."""
        host = host.lower().rstrip(".")
        literal = _bare(host.strip("[]"))
        if literal is not None:
            return lambda address: _bare(address) == literal
        if host == "localhost" or host.endswith(".localhost"):
            return lambda address: kind_of(address) == "own"

        def allows(address: str) -> bool:
            kind = kind_of(address)
            if kind not in ("private", "public"):
                return False
            first = self._first.setdefault(host, kind)
            return not (first == "public" and kind == "private")

        return allows


def is_own(host: str) -> bool:
    """Whether `host` names this machine, so that nothing crosses a wire."""
    host = host.lower().strip("[]")
    return host == "localhost" or host.endswith(".localhost") or kind_of(host) == "own"
