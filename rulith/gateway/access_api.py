"""The addresses of access: metadata, registration, authorization, device codes, tokens; and what the Console does.

    /.well-known/oauth-protected-resource[/mcp]     which server says who may use /mcp
    /.well-known/oauth-authorization-server[/mcp]   where that server is asked
    POST /register  GET /authorize  POST /device_authorization  POST /token

Source  RFC 8414, RFC 9728; access.py names the rest
"""

from __future__ import annotations

from urllib.parse import parse_qsl

from rulith.base.clock import Clock, stamp
from rulith.base.errors import Refused, Unknown
from rulith.base.ids import mint_setup_code, mint_token
from rulith.base.json_text import read_json
from rulith.base.limits import LOCAL_API_BODY_BYTES_MAX
from rulith.board.names import plain_name
from rulith.gateway.access import DEVICE_GRANT, DEVICE_SCOPE, POLL_S, REQUEST_S, SCOPE, Access, Asked, OAuthError, Told
from rulith.gateway.access_devices import Devices
from rulith.gateway.administration import NAME_CHARS_MAX, Administration
from rulith.net.loopback import is_foreign_page
from rulith.net.messages import Request, Response, json_response

RESOURCE, SERVER = "/.well-known/oauth-protected-resource", "/.well-known/oauth-authorization-server"
METHODS = {RESOURCE: "GET", RESOURCE + "/mcp": "GET", SERVER: "GET", SERVER + "/mcp": "GET", "/register": "POST",
           "/authorize": "GET", "/device_authorization": "POST", "/token": "POST"}
PAGE = "/console/#access"
FORM = "application/x-www-form-urlencoded"
PUBLIC = (RESOURCE, RESOURCE + "/mcp", SERVER, SERVER + "/mcp", "/register", "/token", "/device_authorization")   # a host in a browser may read these


class AccessApi:
    """Serves METHODS, and the Console's questions about who asks."""

    def __init__(self, administration: Administration, devices: Devices, clock: Clock, key: bytes) -> None:
        self._administration = administration
        self.devices = devices
        self._clock = clock
        self._access = Access(key, mint_token, mint_setup_code)

    def head_check(self, request: Request) -> Response | None:
        method = METHODS[request.path]
        if request.method == "OPTIONS" and request.path in PUBLIC:
            return Response(204, _open_to_pages([("allow", f"{method}, OPTIONS")]))
        if request.path not in PUBLIC and is_foreign_page(request):
            return _error(OAuthError("invalid_request", "Pages of another origin may not ask here.", 403))
        if request.method != method:
            answer = _error(OAuthError("invalid_request", f"This address is asked with {method}.", 405))
            answer.headers.append(("allow", method))
            return answer
        request.body_bytes_max = LOCAL_API_BODY_BYTES_MAX
        return None

    async def handle(self, request: Request) -> Response:
        try:
            answer = await self._answer(request)
        except Told as told:
            return Response(302, [("location", told.location), ("cache-control", "no-store")])
        except OAuthError as wrong:
            answer = _error(wrong)
        except Refused as refusal:
            answer = _error(OAuthError("invalid_request", refusal.teaching))
        except Unknown as unknown:
            answer = _error(OAuthError("temporarily_unavailable", str(unknown), 503))
        if request.path in PUBLIC:
            answer.headers = _open_to_pages(answer.headers)
        return answer

    async def _answer(self, request: Request) -> Response:
        base, now_s = request.origin, self._clock.wall_s()
        if request.path.startswith(RESOURCE):
            return _json({"resource": base + "/mcp", "authorization_servers": [base], "bearer_methods_supported": ["header"],
                          "scopes_supported": [SCOPE], "resource_name": "rulith gateway"})
        if request.path.startswith(SERVER):
            return _json({"issuer": base, "authorization_endpoint": base + "/authorize", "token_endpoint": base + "/token",
                          "registration_endpoint": base + "/register", "device_authorization_endpoint": base + "/device_authorization",
                          "response_types_supported": ["code"], "grant_types_supported": ["authorization_code", DEVICE_GRANT],
                          "code_challenge_methods_supported": ["S256"], "token_endpoint_auth_methods_supported": ["none"],
                          "scopes_supported": [SCOPE, DEVICE_SCOPE]})
        if request.path == "/register":
            return _json(self._access.register(read_json(request.body or b"null", "the body")), 201)
        if request.path == "/authorize":
            asked = self._access.ask_by_browser(request.query, base + "/mcp", now_s, request.peer)
            return Response(302, [("location", f"{PAGE}/{asked.id}"), ("cache-control", "no-store")])
        given = _form(request)
        if request.path == "/device_authorization":
            asked = self._access.ask_by_device(given, base + "/mcp", now_s, request.peer)
            code = f"{asked.user_code[:4]}-{asked.user_code[4:]}"
            return _json({"device_code": asked.device_code, "user_code": code, "verification_uri": base + PAGE,
                          "verification_uri_complete": f"{base}{PAGE}/{code}", "expires_in": REQUEST_S, "interval": POLL_S})
        if given.get("grant_type") == DEVICE_GRANT and (token := await self.devices.token(given.get("client_id", ""), given.get("device_code", ""), REQUEST_S)):
            return _device_token(token)             # its answer was lost
        found = self._access.fetch(given, base + "/mcp", now_s)
        if found.scope == DEVICE_SCOPE:
            return _device_token(await self.devices.let_in(found.client_id, found.device_code, found.name, found.by))
        return _json({"access_token": await self._grant(found), "token_type": "Bearer", "scope": SCOPE})

    async def _grant(self, asked: Asked) -> str:
        """The token of the Agent that an owner chose, made now: a new Agent's, or a new one in place of the old."""
        if asked.agent_id:
            return (await self._administration.rotate_agent(asked.agent_id, asked.by))["token"]
        taken = {each["name"].casefold() for each in self._administration.authority.registry.agents.values()}
        plain = plain_name(asked.name, NAME_CHARS_MAX - 5, "An MCP host")
        name = next(each for each in (plain, *(f"{plain} {number}" for number in range(2, 10_000))) if each.casefold() not in taken)
        return (await self._administration.create_agent(name, asked.by))["token"]

    # --- the Console's half ------------------------------------------------------------

    def listed(self) -> list[dict]:
        return [self._row(each) for each in self._access.waiting(self._clock.wall_s())]

    def find(self, user_code: str) -> dict:
        return self._row(self._access.by_user_code(user_code, self._clock.wall_s()))

    def answer(self, request_id: str, verdict: str, agent_id: str, by: dict) -> dict:
        """Raises Refused: access_unknown, unknown_agent, bad_command."""
        if verdict not in ("approve", "deny"):
            raise Refused("bad_command", problem="verdict is approve or deny")
        if agent_id:
            self._administration.authority.registry.agent(agent_id)
        location = self._access.answer(request_id, agent_id if verdict == "approve" else None, by, self._clock.wall_s())
        return {"verdict": verdict, **({"location": location} if location else {})}

    def _row(self, asked: Asked) -> dict:
        return {"id": asked.id, "name": asked.name, "askedAt": stamp(asked.asked_s), "expiresAt": stamp(asked.asked_s + REQUEST_S),
                "redirect": asked.redirect, "userCode": asked.user_code, "scope": asked.scope}


def _device_token(token: str) -> Response:
    return _json({"access_token": token, "token_type": "Bearer", "scope": DEVICE_SCOPE})


def _form(request: Request) -> dict[str, str]:
    """The form's fields. Raises OAuthError where one comes twice."""
    if (request.headers.get("content-type") or "").partition(";")[0].strip().lower() != FORM:
        raise OAuthError("invalid_request", f"The body is {FORM}.")
    try:
        pairs = parse_qsl(request.body.decode("utf-8"), keep_blank_values=True, max_num_fields=40)
    except ValueError:
        raise OAuthError("invalid_request", "The body is no form.") from None
    if len({name for name, _ in pairs}) < len(pairs):
        raise OAuthError("invalid_request", "A field comes twice.")
    return dict(pairs)


def _json(body: dict, status: int = 200) -> Response:
    return json_response(status, body, [("cache-control", "no-store")])


def _error(wrong: OAuthError) -> Response:
    return json_response(wrong.status, {"error": wrong.code, "error_description": wrong.words}, [("cache-control", "no-store")])


def _open_to_pages(headers) -> list[tuple[str, str]]:
    """Metadata, registration and tokens hold nothing that a cookie could add, so a host in a browser may read them."""
    return [*headers, ("access-control-allow-origin", "*"), ("access-control-allow-methods", "GET, POST"),
            ("access-control-allow-headers", "content-type, mcp-protocol-version")]
