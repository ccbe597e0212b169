"""What the adapters that reach out share in one process: the clock, addresses once seen, open sessions."""

from __future__ import annotations

import os
import ssl
from collections.abc import Mapping
from urllib.parse import urlsplit

from rulith.adapters.addresses import AddressBook
from rulith.adapters.mcp_session import Sessions
from rulith.base.clock import Clock, SystemClock
from rulith.net.client import HttpClient
from rulith.net.tls import client_context

URL_CHARS_MAX = 8_000            # what servers commonly take of one request line


class Outbound:
    """Belongs to one event loop."""

    url_chars_max = URL_CHARS_MAX

    def __init__(self, environ: Mapping[str, str] | None = None, clock: Clock | None = None) -> None:
        self.environ = os.environ if environ is None else environ
        self.clock = clock or SystemClock()
        self.addresses = AddressBook()
        self.sessions = Sessions()
        self._tls: ssl.SSLContext | None = None

    def trusted(self, url: str) -> ssl.SSLContext | None:
        """The roots for an https address, read once; none for another. Raises Refused ca_file_unreadable."""
        if not url.startswith("https:"):
            return None
        if self._tls is None:
            self._tls = client_context(self.environ)
        return self._tls

    def client(self, url: str) -> HttpClient:
        """A client for the one place of `url`; whoever asks for it closes it. Raises Refused ca_file_unreadable."""
        rule = self.addresses.rule(urlsplit(url).hostname or "")
        return HttpClient(self.clock, environ=self.environ, allow_address=rule, tls=self.trusted(url))

    async def close(self) -> None:
        """End every session, and the servers that this process started."""
        await self.sessions.close()
