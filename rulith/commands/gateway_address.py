"""Where `rulith gateway` listens: plain on loopback, always; over TLS at --listen where a certificate is given.

Roles of this home, the page and `/local` use the loopback address; whoever is elsewhere
uses the other one, which serves neither `/local` nor `/metrics`.
"""

from __future__ import annotations

import ipaddress
import ssl
from typing import NamedTuple

from rulith.base.errors import Refused
from rulith.gateway.service import Gateway
from rulith.net.server import Server
from rulith.net.tls import server_context

DEFAULT_HOST, DEFAULT_PORT = "127.0.0.1", 7781
PORTS_TRIED = 20                 # the next free one after the default, so that two homes run side by side


class Addresses(NamedTuple):
    """port None: the default one or the next free."""

    host: str
    port: int | None
    tls: tuple[str, int, ssl.SSLContext] | None


def read_addresses(listen: str | None, cert: str | None, key: str | None) -> Addresses:
    """Raises Refused: listen_malformed, listen_needs_tls, tls_pair_needed, tls_files_unusable."""
    if bool(cert) != bool(key):
        given, lacking = ("--tls-cert", "--tls-key") if cert else ("--tls-key", "--tls-cert")
        raise Refused("tls_pair_needed", given=given, lacking=lacking)
    if cert and listen is None:
        raise Refused("tls_pair_needed", given="--tls-cert", lacking="--listen HOST:PORT")
    host, port = (DEFAULT_HOST, None) if listen is None else _split(listen)
    if cert:
        return Addresses(DEFAULT_HOST, None, (host, port or 0, server_context(cert, key or "")))
    if not _is_loopback(host):
        raise Refused("listen_needs_tls", host=host[:80])
    return Addresses(host, port, None)


def _split(text: str) -> tuple[str, int]:
    host, found, port = text.rpartition(":")
    host = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    if not found or not host or not port.isascii() or not port.isdigit() or int(port) > 65_535:
        raise Refused("listen_malformed", listen=text[:80])
    return host, int(port)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


async def listen(gateway: Gateway, addresses: Addresses) -> tuple[Server, str, str]:
    """(the loopback server, its URL, the URL over TLS or empty)."""
    elsewhere = ""
    if addresses.tls is not None:
        host, port, context = addresses.tls
        elsewhere = _url("https", host, (await gateway.listen(host, port, tls=context)).port)
    server = await _plain(gateway, addresses.host, addresses.port)
    return server, _url("http", addresses.host, server.port), elsewhere


async def _plain(gateway: Gateway, host: str, port: int | None) -> Server:
    """The asked-for port, or the default one and those after it, or any free one."""
    if port is not None:
        return await gateway.listen(host, port)
    for candidate in range(DEFAULT_PORT, DEFAULT_PORT + PORTS_TRIED):
        try:
            return await gateway.listen(host, candidate)
        except Refused as refusal:
            if refusal.code != "port_in_use":
                raise
    return await gateway.listen(host, 0)


def _url(scheme: str, host: str, port: int) -> str:
    return f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}"
