"""Which proxy, if any, stands before a destination: HTTP_PROXY, HTTPS_PROXY, NO_PROXY.

Names in lower case win, as everywhere. Loopback is never proxied: what we start on
this machine must not be reached by way of another.
"""

from __future__ import annotations

import base64
import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from rulith.base.errors import Refused


@dataclass(frozen=True)
class Proxy:
    """An HTTP proxy; `authorization` is the field's value or empty."""

    host: str
    port: int
    authorization: str = ""

    def __repr__(self) -> str:
        return f"Proxy({self.host}:{self.port})"     # the credential stays out of logs


def is_loopback(host: str) -> bool:
    if host.lower() == "localhost" or host.lower().endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _excludes(entry: str, host: str, port: int) -> bool:
    """Whether one NO_PROXY entry names `host`: a suffix, an address, a network, `*`, any with a port."""
    if entry == "*":
        return True
    try:
        return ipaddress.ip_address(host) in ipaddress.ip_network(entry, strict=False)
    except ValueError:
        pass                                          # not addresses: compare as names
    name, colon, wanted_port = entry.rpartition(":")
    if colon and wanted_port.isdigit():
        if int(wanted_port) != port:
            return False
        entry = name
    entry = entry.lower().lstrip("*").lstrip(".").strip("[]")
    host = host.lower()
    return bool(entry) and (host == entry or host.endswith("." + entry))


def proxy_for(environ: Mapping[str, str], scheme: str, host: str, port: int) -> Proxy | None:
    """The proxy for `scheme`://`host`:`port`, or None. Raises Refused proxy_unusable."""
    if is_loopback(host):
        return None
    setting = f"{scheme.upper()}_PROXY"
    text = environ.get(setting.lower()) or environ.get(setting) or ""
    if not text:
        return None
    bypass = environ.get("no_proxy") or environ.get("NO_PROXY") or ""
    if any(_excludes(entry.strip(), host, port) for entry in bypass.split(",") if entry.strip()):
        return None
    shown = text.rpartition("@")[2]                   # never the credential
    try:
        parts = urlsplit(text if "//" in text else "//" + text, "http")
        proxy_port = parts.port or 80
    except ValueError as problem:
        raise Refused("proxy_unusable", setting=setting, proxy=shown, problem=problem) from None
    if parts.scheme != "http":
        raise Refused("proxy_unusable", setting=setting, proxy=shown, problem=f"{parts.scheme} proxies are not spoken")
    if not parts.hostname:
        raise Refused("proxy_unusable", setting=setting, proxy=shown, problem="it names no host")
    authorization = ""
    if parts.username is not None:
        pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        authorization = "Basic " + base64.b64encode(pair.encode()).decode()
    return Proxy(parts.hostname, proxy_port, authorization)
