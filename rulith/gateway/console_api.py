"""The person's Console: its routes, who may use each, and its page.

Promises: every act needs a sign-in at most 15 minutes old in a role that may do it, proven
by a cookie and a token that only the page's memory holds; no bearer token of an Agent, a
Worker or the device is looked at here; no passphrase is kept or logged. The page runs
under a policy without inline script or style.

Source  the design's rules on the person's authority (§5); docs/console-api.md lists ROUTES.
"""

from __future__ import annotations

from collections.abc import Callable
from http.cookies import CookieError, SimpleCookie

from rulith.base.errors import Refused, Unknown
from rulith.base.json_text import read_json
from rulith.base.limits import LOCAL_API_BODY_BYTES_MAX, REQUEST_BODY_BYTES_MAX, SIGN_IN_FRESH_S
from rulith.base.resources import shipped_bytes
from rulith.board.people import ONESELF, OPERATOR, OWNER, VIEWER, judge_person
from rulith.gateway.access_api import AccessApi
from rulith.gateway.authority import Authority
from rulith.gateway.console_admin import BODIES as ADMIN_ROUTES, UPLOADS, ConsoleAdmin
from rulith.gateway.console_cases import BODIES as CASE_BODIES, READS as CASE_READS, ConsoleCases
from rulith.gateway.console_people import BODIES as PEOPLE_BODIES, DOORS, OWN, ConsolePeople
from rulith.gateway.console_reads import READS as MORE_READS, ConsoleReads
from rulith.gateway.local_api import LocalApi, refused
from rulith.gateway.orders import BODIES as ORDER_BODIES, WorkOrders
from rulith.gateway.mcp import is_foreign_host, is_foreign_page
from rulith.gateway.passphrase import SignIn
from rulith.gateway.people import People
from rulith.net.messages import Request, Response, json_response

PREFIX, API = "/console/", "/console/api/"
COOKIE, TOKEN_HEADER = "rulith_console", "x-rulith-console"
CSP = ("default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
       "base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
# address under /console/ -> (place under ui_static, media type); nothing else is served
_SCRIPTS = ("console", "views", "admin", "cases", "setup", "sources", "constitution", "lists", "access", "people", "places", "release", "proof", "unknown", "orders", "embed")
FILES = {"": ("console/index.html", "text/html; charset=utf-8"), "index.html": ("console/index.html", "text/html; charset=utf-8"),
         **{f"{name}.js": (f"console/{name}.js", "text/javascript; charset=utf-8") for name in _SCRIPTS},
         "console.css": ("console/console.css", "text/css; charset=utf-8"), "icon.svg": ("icon.svg", "image/svg+xml")}

# route -> its body's members (text each, unless named in _WHOLE); a question mark marks what may be left out
ACTS = {"decide": ("id", "verdict", "argumentDigest", "reason?"), "reconcile": ("agentId", "ordinal", "outcome", "reason", "argumentDigest"),
        "isolate": ("connectionId",)}
ACCESS = {"access-answer": ("id", "verdict", "agentId?"), "device-end": ("id",)}
BODIES = {**DOORS, "sign-out": (), **OWN, **ACTS, **CASE_BODIES, **PEOPLE_BODIES, **ACCESS, **ORDER_BODIES}
READS = ("admin", "people", "access", "access-code", "orders", *CASE_READS, *MORE_READS)
ANYBODY = ""
# (method, route) -> the weakest role that may use it; law judges every act again
ROUTES: dict[tuple[str, str], str] = {
    ("GET", "state"): ANYBODY, **{("GET", route): VIEWER for route in READS},
    **{("POST", route): ANYBODY for route in (*DOORS, "sign-out")}, **{("POST", route): ONESELF for route in OWN},
    **{("POST", route): OPERATOR for route in (*ACTS, *CASE_BODIES, *ORDER_BODIES)},
    **{("POST", route): OWNER for route in (*ADMIN_ROUTES, *PEOPLE_BODIES, *ACCESS)},
}
STATUSES = {"sign_in_required": 401, "sign_in_paused": 429, "role_too_low": 403}
_WHOLE = ("ordinal",)


class Console:
    """Serves /console/ and /console/api/*.

    setup_code   asked while nobody can sign in: () -> the code of this run, or None
    """

    def __init__(self, authority: Authority, people: People, local: LocalApi, admin: ConsoleAdmin, cases: ConsoleCases,
                 access: AccessApi, orders: WorkOrders, *, setup_code: Callable[[], str | None]) -> None:
        self.authority = authority
        self._admin = admin
        self._access = access
        self.orders = orders
        self._cases = cases
        self._people = people
        self._local = local
        self._reads = ConsoleReads(authority)
        self.persons = ConsolePeople(authority, setup_code=setup_code)

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
        if (request.method, route) not in ROUTES:
            return json_response(404, {"ok": False, "errorCode": "not_found", "teaching": "There is no such address here."})
        try:
            answer = await (self._read(route, request) if request.method == "GET" else self._act(route, request))
        except Refused as refusal:
            answer = refused(refusal)
            answer.status = STATUSES.get(refusal.code, answer.status)
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

    async def _read(self, route: str, request: Request) -> Response:
        """What a page draws; for the cookie of a sign-in only, but for whether there is one to be made."""
        reader = self.persons.reader(self._cookie(request))
        if route == "state":
            return _no_store(self._whether_set_up() if reader is None else self._state(reader))
        if reader is None:
            raise Refused("sign_in_required", minutes=int(SIGN_IN_FRESH_S // 60))
        if route == "admin":
            return _no_store({"ok": True, "admin": self._overview(request)})
        if route == "people":
            return _no_store({"ok": True, "now": self.authority.now(), "people": self.persons.listed()})
        if route == "orders":
            return _no_store({"ok": True, "now": self.authority.now(), **self.orders.page(request.query.get("agent", ""))})
        if route == "access":
            return _no_store({"ok": True, "now": self.authority.now(), **self._asking()})
        if route == "access-code":
            return _no_store({"ok": True, "now": self.authority.now(), "asked": self._access.find(request.query.get("code", ""))})
        if route in MORE_READS:
            more = {"admin": self._overview(request)} if route == "source-flow" else {}      # it is drawn among the Sources
            return _no_store({"ok": True, "now": self.authority.now(), **more, **await self._reads.read(route, request.query)})
        found = await self._cases.read(route, request.query)      # a receipt comes bare, to be saved as it is
        return _no_store(found if route == "receipt" else {"ok": True, "now": self.authority.now(), **found})

    def _whether_set_up(self) -> dict:
        """All that the page may know without a sign-in."""
        registry = self.authority.registry
        return {"ok": True, "passphraseSet": registry.is_set_up(), "nameNeeded": registry.is_name_needed(), "signedIn": False}

    def _state(self, sign_in: SignIn) -> dict:
        person = self.authority.registry.people[sign_in.name]
        return {**self._whether_set_up(), "signedIn": True, "token": sign_in.token,
                "freshForS": int(self.persons.sign_ins.fresh_for_s(sign_in)), "person": {"name": person["name"], "role": person["role"]},
                **self._shown()}

    def _asking(self) -> dict:
        return {"access": self._access.listed(), "devices": self._access.devices.listed(), "agents": self._agents()}

    def _agents(self) -> list[dict]:
        return [{"id": each["id"], "name": each["name"]} for each in self.authority.registry.agents.values()]

    def _overview(self, request: Request) -> dict:
        return self._admin.overview(request.origin)

    def _shown(self) -> dict:
        """What every page of a signed-in person draws: what waits, and who is there."""
        registry = self.authority.registry
        self._local.expire_decisions()
        able = sum(each["role"] in (OPERATOR, OWNER) and bool(each["record"]) for each in registry.people.values())
        return {"version": self.authority.version, "now": self.authority.now(), "decisions": self._local.decisions(), "ableToDecide": able,
                "needsPerson": self._reads.waiting(), "agents": self._agents(),
                "connections": [{**self._local.connection(each), "leaseLeftS": self._people.lease_left_s(each["id"])}
                                for each in registry.connections.values()]}

    async def _act(self, route: str, request: Request) -> Response:
        self.authority.check_writable()
        cookie = self._cookie(request)
        if route in DOORS:
            return self._opened(await self.persons.enter(route, _fields(route, request)))
        if route == "sign-out":
            self.persons.sign_ins.close(cookie)
            return _no_store({"ok": True}, [("set-cookie", f"{COOKIE}=; Path={PREFIX}; HttpOnly; SameSite=Strict; Max-Age=0")])
        by = self.persons.by(cookie, request.headers.get(TOKEN_HEADER))
        judge_person(route, ROUTES["POST", route], by, self.authority.registry.people)
        more: dict = {}
        if route in ADMIN_ROUTES:
            result = await self._admin.run(route, request.body, by)
        elif route in OWN:
            result = await self.persons.change_passphrase(_fields(route, request), by, cookie)
        elif route == "device-end":
            result = await self._access.devices.end(_fields(route, request)["id"], by)
        else:
            result = self._run(route, _fields(route, request), by)
        await self.authority.settled()
        if route in ADMIN_ROUTES:
            more = {"admin": self._overview(request)}
        elif route in PEOPLE_BODIES:
            more = {"people": self.persons.listed()}
        elif route in ACCESS:
            more = self._asking()
        elif route not in OWN:
            more = self._shown()
        return _no_store({"ok": True, "result": result, **more})

    def _run(self, route: str, fields: dict, by: dict) -> dict:
        if route in PEOPLE_BODIES:
            return self.persons.run(route, fields, by)
        if route in ACCESS:
            return self._access.answer(fields["id"], fields["verdict"], fields["agentId"], by)
        if route in ORDER_BODIES:
            return self.orders.run(route, fields, by)
        if route in CASE_BODIES:
            return self._cases.run(route, fields, by)
        if route == "decide":
            return self._people.decide(fields["id"], fields["verdict"], fields["argumentDigest"], fields["reason"].strip(), by)
        if route == "reconcile":
            return self._people.reconcile(fields["agentId"], fields["ordinal"], fields["outcome"], fields["reason"].strip(),
                                          fields["argumentDigest"], by)
        return self._people.isolate(fields["connectionId"], by)

    def _opened(self, sign_in: SignIn) -> Response:
        cookie = f"{COOKIE}={sign_in.cookie}; Path={PREFIX}; HttpOnly; SameSite=Strict"
        return _no_store(self._state(sign_in), [("set-cookie", cookie)])


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
