"""The gate of the page: who may open the shell, and who may read or change anything.

Three proofs, each weaker than the next is wide:
  key or ticket   printed by `start`, or written into the redirect file; opens the page and leaves a cookie
  cookie          alone it opens the empty shell and nothing else; other programs on this computer may
                  see it, since browsers send cookies to every port of a host
  token           held in the page's memory, got by a same-origin exchange; every data route wants it

Pure: request heads in, a refusal or nothing out. Reads no clock but the one it is given.

Units   *_s seconds on the monotonic clock
Source  the workbench surface, "gate"; RFC 6454 (origin), RFC 6265 (cookies)
"""

from __future__ import annotations

import hmac
import re
from collections import OrderedDict
from collections.abc import Callable

from rulith.base.clock import Clock
from rulith.base.errors import Refused
from rulith.net.messages import Request

TOKEN_HEADER = "x-rulith-manager"
KEY_PATTERN = re.compile(r"[A-Za-z0-9_-]{16,128}", re.ASCII)
LOOPBACK_HOST = re.compile(r"(127\.0\.0\.1|localhost|\[::1\])(:[0-9]{1,5})?", re.ASCII | re.IGNORECASE)
TICKET_LIFE_S = 300.0        # a slow browser start on a loaded machine, not an evening
SEATS_MAX = 64               # pages and tabs; the oldest give way


class Gate:
    """Keys, tickets, cookies and tokens of one run of the workbench."""

    def __init__(self, key: str, mint: Callable[[str], str], clock: Clock) -> None:
        if not KEY_PATTERN.fullmatch(key):
            raise Refused("workbench_key")
        self.key = key
        self._mint = mint
        self._clock = clock
        self._tickets: OrderedDict[str, float] = OrderedDict()
        self._cookies: OrderedDict[str, None] = OrderedDict()
        self._tokens: OrderedDict[str, None] = OrderedDict()
        self.cookie_name = "rulith-page"

    def listen_on(self, port: int) -> None:
        """Cookies know no port, so two workbenches of one computer need two names."""
        self.cookie_name = f"rulith-page-{port}"

    # handing out

    def ticket(self) -> str:
        """A one-use way in, for the redirect file that the browser is opened on."""
        made = self._mint("")
        _keep(self._tickets, made, self._clock.monotonic_s() + TICKET_LIFE_S)
        return made

    def _take_ticket(self, ticket: str) -> bool:
        ends_s = self._tickets.pop(ticket, None)
        return ends_s is not None and self._clock.monotonic_s() < ends_s

    def seat(self, request: Request) -> str | None:
        """The `set-cookie` of a page opened by key or ticket; None when it brings neither."""
        query = request.query
        if not (self.is_key(query.get("k", "")) or self._take_ticket(query.get("t", ""))):
            return None
        cookie = self._mint("")
        _keep(self._cookies, cookie, None)
        return f"{self.cookie_name}={cookie}; Path=/; HttpOnly; SameSite=Strict"

    def token(self) -> str:
        """A fresh token, for whoever `check_taker` let by."""
        made = self._mint("")
        _keep(self._tokens, made, None)
        return made

    # checking

    def is_key(self, text: str) -> bool:
        return hmac.compare_digest(text.encode(), self.key.encode())

    def has_cookie(self, request: Request) -> bool:
        return any(name == self.cookie_name and value in self._cookies for name, value in cookies_of(request))

    def has_token(self, request: Request) -> bool:
        return (request.headers.get(TOKEN_HEADER) or "") in self._tokens

    def check_place(self, request: Request) -> None:
        """The request is for this computer and comes from our own page or from no page.

        Raises Refused host_not_loopback, origin_foreign.
        """
        hosts = request.headers.getall("host")
        if len(hosts) != 1 or not LOOPBACK_HOST.fullmatch(hosts[0]):
            raise Refused("host_not_loopback", host=", ".join(hosts)[:100])
        origin = request.headers.get("origin")
        if origin is not None and origin.lower() != f"http://{hosts[0].lower()}":
            raise Refused("origin_foreign", origin=origin[:100])

    def check_asker(self, request: Request) -> None:
        """No other site's page caused it: browsers say so themselves. Raises Refused origin_foreign."""
        site = request.headers.get("sec-fetch-site")
        if site is not None and site not in ("same-origin", "none"):
            raise Refused("origin_foreign", origin=request.headers.get("origin") or site)

    def check_taker(self, request: Request) -> None:
        """It is a page that holds our cookie, or whoever sends the printed key itself. Raises Refused page_locked, origin_foreign."""
        if not self.is_key(request.headers.get(TOKEN_HEADER) or ""):
            if not self.has_cookie(request):
                raise Refused("page_locked")
            if request.headers.get("origin") is None:
                raise Refused("origin_foreign", origin="none")    # a browser always names it on a POST

    def check_token(self, request: Request) -> None:
        """Raises Refused token_unknown."""
        if not self.has_token(request):
            raise Refused("token_unknown")


def cookies_of(request: Request) -> list[tuple[str, str]]:
    """The request's cookies in order, as (name, value)."""
    pairs = (part.strip().partition("=") for field in request.headers.getall("cookie") for part in field.split(";"))
    return [(name.strip(), value.strip()) for name, mark, value in pairs if mark]


def _keep(table: OrderedDict, entry: str, value: object) -> None:
    table[entry] = value
    while len(table) > SEATS_MAX:
        table.popitem(last=False)
