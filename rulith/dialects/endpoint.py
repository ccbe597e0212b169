"""Which dialect a model address speaks, and how a request to it is dressed.

The path decides: `…/chat/completions` is OpenAI's, `…/messages` Anthropic's; an empty
path and `…/v1` are completed to the first. Anything else is refused rather than guessed.
"""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit, urlunsplit

from rulith.base.errors import Refused

OPENAI = "openai"
ANTHROPIC = "anthropic"
ANTHROPIC_VERSION = "2023-06-01"
_LOOPBACK = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True)
class Endpoint:
    """A model service: where, and in which dialect. The key is kept out of every printed form."""

    url: str
    wire: str

    @property
    def shown(self) -> str:
        """The address without user, query or fragment."""
        parts = urlsplit(self.url)
        host = parts.hostname or ""
        host = f"[{host}]" if ":" in host else host
        return urlunsplit((parts.scheme, host + (f":{parts.port}" if parts.port else ""), parts.path, "", ""))

    @property
    def is_loopback(self) -> bool:
        return urlsplit(self.url).hostname in _LOOPBACK

    def headers(self, key: str | None) -> dict[str, str]:
        dressed = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
        if self.wire == ANTHROPIC:
            dressed["anthropic-version"] = ANTHROPIC_VERSION
            if key:
                dressed["x-api-key"] = key
        elif key:
            dressed["authorization"] = f"Bearer {key}"
        return dressed


def endpoint_of(address: str) -> Endpoint:
    """The endpoint at `address`. Raises Refused model_address naming what is wrong with it."""
    try:
        parts = urlsplit(address.strip())
        port_is_number = parts.port is None or parts.port >= 0
    except ValueError:
        port_is_number, parts = False, urlsplit("")
    if not port_is_number or parts.scheme not in ("http", "https") or not parts.hostname:
        raise Refused("model_address", address=_shown(address), problem="it is not an http or https address")
    path = parts.path.rstrip("/")
    if path.endswith("/messages"):
        return Endpoint(urlunsplit(parts._replace(path=path, fragment="")), ANTHROPIC)
    if path == "":
        path = "/v1/chat/completions"
    elif path.endswith("/v1"):
        path += "/chat/completions"
    elif not path.endswith("/chat/completions"):
        raise Refused("model_address", address=_shown(address), problem=f"its path {path!r} names no known dialect")
    return Endpoint(urlunsplit(parts._replace(path=path, fragment="")), OPENAI)


def _shown(address: str) -> str:
    """No user, password or query in a message."""
    return address.split("?")[0].split("@")[-1][:200]
