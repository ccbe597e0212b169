"""The person's Console: sign-in, decisions, reconciliation, isolation; and its page.

Promises: every act needs a sign-in at most 15 minutes old, proven by a cookie and a token
that only the page's memory holds; no bearer token of an Agent, a Worker or the device is
looked at here; no passphrase is kept or logged. The page runs under a policy without
inline script or style.

Source  the design's rules on the person's authority (§5).
"""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import Callable
from http.cookies import CookieError, SimpleCookie

from rulith.base.errors import Refused, Unknown
from rulith.base.json_text import read_json
from rulith.base.limits import LOCAL_API_BODY_BYTES_MAX, REQUEST_BODY_BYTES_MAX, SIGN_IN_FRESH_S
from rulith.base.resources import shipped_bytes
from rulith.gateway.authority import Authority
from rulith.gateway.console_admin import BODIES as ADMIN_ROUTES, UPLOADS, ConsoleAdmin
from rulith.gateway.console_cases import BODIES as CASE_BODIES, READS as CASE_READS, ConsoleCases
from rulith.gateway.local_api import LocalApi, refused
from rulith.gateway.mcp import is_foreign_host, is_foreign_page
from rulith.gateway.passphrase import SignIn, SignIns, hash_passphrase, matches
from rulith.gateway.people import People
from rulith.net.messages import Request, Response, json_response

PREFIX, API = "/console/", "/console/api/"
COOKIE, TOKEN_HEADER = "rulith_console", "x-rulith-console"
PERSON = "owner"                 # one passphrase, one person; named in rows and receipts
CSP = ("default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
       "base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
# address under /console/ -> (place under ui_static, media type); nothing else is served
FILES = {"": ("console/index.html", "text/html; charset=utf-8"), "index.html": ("console/index.html", "text/html; charset=utf-8"),
         "console.js": ("console/console.js", "text/javascript; charset=utf-8"),
         "views.js": ("console/views.js", "text/javascript; charset=utf-8"),
         "admin.js": ("console/admin.js", "text/javascript; charset=utf-8"),
         "cases.js": ("console/cases.js", "text/javascript; charset=utf-8"),
         "setup.js": ("console/setup.js", "text/javascript; charset=utf-8"),
         "console.css": ("console/console.css", "text/css; charset=utf-8"),
         "icon.svg": ("icon.svg", "image/svg+xml")}

# route -> its body's members (text each, unless named in _WHOLE)
BODIES = {"setup": ("code", "passphrase"), "sign-in": ("passphrase",), "sign-out": (),
          "decide": ("id", "verdict", "argumentDigest", "reason?"), "reconcile": ("agentId", "ordinal", "outcome", "reason"),
          "isolate": ("connectionId",), **CASE_BODIES}
_WHOLE = ("ordinal",)


class Console:
    """Serves /console/ and /console/api/*.

    setup_code   asked while no passphrase exists: () -> the code of this run, or None
    """

    def __init__(self, authority: Authority, people: People, local: LocalApi, admin: ConsoleAdmin, cases: ConsoleCases, *,
                 setup_code: Callable[[], str | None]) -> None:
        self.authority = authority
        self._admin = admin
        self._cases = cases
        self._people = people
        self._local = local
        self._setup_code = setup_code
        self._sign_ins = SignIns(authority.clock)
        self._one_guess = asyncio.Lock()     # guesses are tried one after another, so that the pause counts for all

    def head_check(self, request: Request) -> Response | None:
        if is_foreign_page(request) or is_foreign_host(request):
            teaching = "Pages of another origin may not act here."
            return json_response(403, {"ok": False, "errorCode": "not_authorized", "teaching": teaching})
        is_upload = request.path.removeprefix(API) in UPLOADS
        request.body_bytes_max = REQUEST_BODY_BYTES_MAX if is_upload else LOCAL_API_BODY_BYTES_MAX
        return None

    async def handle(self, request: Request) -> Response:
        if not request.path.startswith(API):
            return self._file(request)
        route = request.path[len(API):]
        try:
            if route == "state" and request.method == "GET":
                answer = await self._state(request)
            elif route == "admin" and request.method == "GET":
                answer = self._administration(request)
            elif route in CASE_READS and request.method == "GET":
                answer = await self._read_cases(route, request)
            elif (route in BODIES or route in ADMIN_ROUTES) and request.method == "POST":
                answer = await self._act(route, request)
            else:
                return json_response(404, {"ok": False, "errorCode": "not_found", "teaching": "There is no such address here."})
        except Refused as refusal:
            answer = refused(refusal)
            answer.status = {"sign_in_required": 401, "sign_in_paused": 429}.get(refusal.code, answer.status)
        except Unknown as unknown:
            return _unavailable(unknown)
        try:
            await self.authority.settled()
        except Unknown as unknown:
            return _unavailable(unknown)
        return answer

    def _file(self, request: Request) -> Response:
        found = FILES.get(request.path[len(PREFIX):])
        if request.method not in ("GET", "HEAD") or found is None:
            return json_response(404, {"ok": False, "errorCode": "not_found", "teaching": "There is no such page here."})
        name, content_type = found
        headers = [("content-type", content_type), ("content-security-policy", CSP), ("cache-control", "no-store"),
                   ("x-content-type-options", "nosniff"), ("referrer-policy", "no-referrer"), ("x-frame-options", "DENY")]
        return Response(200, headers, shipped_bytes("ui_static", *name.split("/")))

    # --- sign-in -----------------------------------------------------------------------

    def _cookie(self, request: Request) -> str | None:
        try:
            found = SimpleCookie(request.headers.get("cookie") or "").get(COOKIE)
        except CookieError:
            return None
        return found.value if found is not None else None

    async def _state(self, request: Request) -> Response:
        """What the page may know: without a sign-in only whether a passphrase exists."""
        body: dict = {"ok": True, "passphraseSet": self.authority.registry.passphrase is not None, "signedIn": False}
        sign_in = self._sign_ins.find(self._cookie(request))
        if sign_in is not None:
            body.update(signedIn=True, token=sign_in.token, freshForS=int(self._sign_ins.fresh_for_s(sign_in)), **self._shown())
        return _no_store(body)

    def _shown(self) -> dict:
        state = self._local.snapshot()
        waiting = [row for row in state["operations"] if row["state"] == "needs_person"]
        return {"version": state["version"], "now": self.authority.now(), "decisions": state["decisions"],
                "needsPerson": waiting, "agents": state["agents"],
                "connections": [{**row, "leaseLeftS": self._people.lease_left_s(row["id"])} for row in state["connections"]]}

    def _administration(self, request: Request) -> Response:
        """What the sections of administration draw; for the cookie of a fresh sign-in only."""
        self._check_reader(request)
        return _no_store({"ok": True, "admin": self._admin.overview(f"http://{request.headers.get('host')}")})

    def _check_reader(self, request: Request) -> None:
        if self._sign_ins.find(self._cookie(request)) is None:
            raise Refused("sign_in_required", minutes=int(SIGN_IN_FRESH_S // 60))

    async def _read_cases(self, route: str, request: Request) -> Response:
        """What the pages of Cases draw; for the cookie of a fresh sign-in only. A receipt comes bare, to be saved as it is."""
        self._check_reader(request)
        found = await self._cases.read(route, request.query)
        return _no_store(found if route == "receipt" else {"ok": True, "now": self.authority.now(), **found})

    async def _administer(self, route: str, request: Request) -> Response:
        by = self._by(request)
        result = await self._admin.run(route, request.body, by)
        await self.authority.settled()
        return _no_store({"ok": True, "result": result, "admin": self._admin.overview(f"http://{request.headers.get('host')}")})

    def _by(self, request: Request) -> dict:
        """The statement of a fresh sign-in, as the Registry judges it. Raises Refused sign_in_required."""
        sign_in = self._sign_ins.check(self._cookie(request), request.headers.get(TOKEN_HEADER))
        return {"kind": "person", "by": PERSON, "signInAgeS": self.authority.clock.monotonic_s() - sign_in.at_s}

    async def _act(self, route: str, request: Request) -> Response:
        self.authority.check_writable()
        if route in ADMIN_ROUTES:
            return await self._administer(route, request)
        fields = _fields(route, request)
        if route == "setup":
            return await self._setup(fields)
        if route == "sign-in":
            return await self._sign_in(fields)
        if route == "sign-out":
            self._sign_ins.close(self._cookie(request))
            return _no_store({"ok": True}, [("set-cookie", f"{COOKIE}=; Path={PREFIX}; HttpOnly; SameSite=Strict; Max-Age=0")])
        by = self._by(request)
        if route == "decide":
            result = self._people.decide(fields["id"], fields["verdict"], fields["argumentDigest"], fields["reason"].strip(), by)
        elif route == "reconcile":
            result = self._people.reconcile(fields["agentId"], fields["ordinal"], fields["outcome"], fields["reason"].strip(), by)
        elif route in CASE_BODIES:
            result = self._cases.run(route, fields, by)
        else:
            result = self._people.isolate(fields["connectionId"], by)
        await self.authority.settled()
        return _no_store({"ok": True, "result": result, **self._shown()})

    async def _setup(self, fields: dict) -> Response:
        """Choose the passphrase, once, with the code that only this run's owner saw."""
        if self.authority.registry.passphrase is not None:
            raise Refused("passphrase_already_set")
        async with self._one_guess:
            self._sign_ins.check_may_try()
            code = self._setup_code()
            given = fields["code"].strip().upper()
            if code is None or not hmac.compare_digest(given.encode("utf-8"), code.encode("utf-8")):
                self._sign_ins.failed()
                raise Refused("setup_code_wrong")
            record = await asyncio.to_thread(hash_passphrase, fields["passphrase"])
        self.authority.command_registry({"kind": "set_passphrase", "record": record,
                                         "authority": {"kind": "setup_code", "by": PERSON}})
        await self.authority.settled()
        return self._opened(self._sign_ins.open())

    async def _sign_in(self, fields: dict) -> Response:
        record = self.authority.registry.passphrase
        if record is None:
            raise Refused("passphrase_not_set")
        async with self._one_guess:
            self._sign_ins.check_may_try()
            if not await asyncio.to_thread(matches, fields["passphrase"], record):
                self._sign_ins.failed()
                raise Refused("passphrase_wrong")
        return self._opened(self._sign_ins.open())

    def _opened(self, sign_in: SignIn) -> Response:
        body = {"ok": True, "signedIn": True, "passphraseSet": True, "token": sign_in.token,
                "freshForS": int(self._sign_ins.fresh_for_s(sign_in)), **self._shown()}
        cookie = f"{COOKIE}={sign_in.cookie}; Path={PREFIX}; HttpOnly; SameSite=Strict"
        return _no_store(body, [("set-cookie", cookie)])


def _unavailable(unknown: Unknown) -> Response:
    return json_response(503, {"ok": False, "errorCode": "store_unavailable", "teaching": str(unknown)})


def _no_store(body: dict, headers: list[tuple[str, str]] | None = None) -> Response:
    return json_response(200, body, [("cache-control", "no-store"), *(headers or [])])


def _fields(route: str, request: Request) -> dict:
    """The body's members, each text (or a whole number where it counts). Raises Refused bad_command, bad_json."""
    body = read_json(request.body or b"{}", "the body")
    if not isinstance(body, dict):
        raise Refused("bad_command", problem="The body is one JSON object")
    names = [name.rstrip("?") for name in BODIES[route]]
    if unknown := sorted(set(body) - set(names)):
        raise Refused("bad_command", problem=f"The member {unknown[0][:80]!r} is not one of {', '.join(names) or 'none'}")
    fields: dict = {}
    for name in BODIES[route]:
        plain = name.rstrip("?")
        value = body.get(plain, "" if name.endswith("?") else None)
        kind = int if plain in _WHOLE else str
        if type(value) is not kind:
            raise Refused("bad_command", problem=f"{plain} must be {'a whole number' if kind is int else 'text'}")
        fields[plain] = value
    return fields
