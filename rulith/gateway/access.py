"""Access for programs elsewhere: they ask, an owner says which Agent they speak for, they get its token.

Two ways to ask: an authorization request of a browser (code with PKCE), and a device code
that a person reads out. Sans-IO, in memory: a restart forgets what was asked, and whoever
asked asks again. A client is what it registered, signed into its own id, so that nobody
can fill a store by registering. No token is made before it is fetched, and each is told
once; what is granted is one Agent's token, or to a workbench elsewhere a device's.

Units   seconds of the wall clock
Source  RFC 6749, RFC 7591, RFC 7636 (S256 only), RFC 8252, RFC 8628, RFC 8707
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from rulith.base.errors import Refused

SCOPE, DEVICE_SCOPE = "agent", "device"       # speak for one Agent; a computer's workbench signs in (access_devices.py)
REQUEST_S, CODE_S, POLL_S = 600, 60, 5
REQUESTS_MAX = 100
NAME_MAX, URI_MAX, URIS_MAX, STATE_MAX = 64, 512, 8, 1_024
DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code"
LOOPBACK = ("127.0.0.1", "localhost", "::1")
NEVER = ("javascript", "data", "file", "blob", "about", "vbscript", "ws", "wss", "ftp")
_CHALLENGE = re.compile(r"[A-Za-z0-9_-]{43}")
_VERIFIER = re.compile(r"[A-Za-z0-9._~-]{43,128}")
USER_CODE_LETTERS = 8


class OAuthError(Exception):
    """`code` is one of the RFC's; `words` say what to do about it."""

    def __init__(self, code: str, words: str, status: int = 400) -> None:
        super().__init__(words)
        self.code = code
        self.words = words
        self.status = status


@dataclass
class Asked:
    """One request that an owner answers."""

    id: str
    client_id: str
    name: str
    asked_s: float
    redirect: str = ""               # empty: a device
    state: str | None = None
    challenge: str = ""
    device_code: str = ""
    user_code: str = ""
    scope: str = SCOPE
    verdict: str = ""                # "", "approved", "denied"
    agent_id: str = ""               # the Agent it becomes; empty: a new one
    by: dict = field(default_factory=dict)
    code: str = ""
    code_s: float = 0.0
    polled_s: float = 0.0
    peer: str = ""                   # the address that asked
    interval_s: float = POLL_S


class Access:
    """mint(prefix) draws a secret; mint_user_code() one that a person can read out; key signs client ids."""

    def __init__(self, key: bytes, mint: Callable[[str], str], mint_user_code: Callable[[], str]) -> None:
        self._key = key
        self._mint = mint
        self._mint_user_code = mint_user_code
        self._asked: dict[str, Asked] = {}

    # --- clients -----------------------------------------------------------------------

    def register(self, document: object) -> dict:
        """RFC 7591: the client's metadata, with the id that says the same, signed. Raises OAuthError."""
        if not isinstance(document, dict):
            raise OAuthError("invalid_client_metadata", "The body is one JSON object.")
        name, uris = document.get("client_name", "An MCP host"), document.get("redirect_uris", [])
        if not isinstance(name, str) or not name.strip() or len(name) > NAME_MAX or not name.isprintable():
            raise OAuthError("invalid_client_metadata", f"client_name has 1 to {NAME_MAX} printable characters.")
        if not isinstance(uris, list) or len(uris) > URIS_MAX:
            raise OAuthError("invalid_redirect_uri", f"redirect_uris is a list of at most {URIS_MAX}.")
        for uri in uris:
            _check_redirect(uri)
        if document.get("token_endpoint_auth_method", "none") != "none":
            raise OAuthError("invalid_client_metadata", "Clients are public here: token_endpoint_auth_method is none.")
        payload = _b64(json.dumps({"n": name.strip(), "r": uris}, separators=(",", ":"), sort_keys=True).encode())
        return {"client_id": f"rlc_{payload}.{self._sign(payload)}", "client_name": name.strip(), "redirect_uris": uris,
                "grant_types": ["authorization_code", DEVICE_GRANT], "response_types": ["code"], "token_endpoint_auth_method": "none",
                "scope": SCOPE}

    def _sign(self, payload: str) -> str:
        return _b64(hmac.new(self._key, b"client " + payload.encode(), hashlib.sha256).digest()[:18])

    def _client(self, client_id: str | None) -> tuple[str, list[str]]:
        """(name, redirect URIs) of an id that was registered here. Raises OAuthError invalid_client."""
        payload, _, signature = (client_id or "").removeprefix("rlc_").partition(".")
        if not (client_id or "").startswith("rlc_") or not hmac.compare_digest(self._sign(payload).encode(), signature.encode()):
            raise OAuthError("invalid_client", "This client_id was not registered at this gateway; register again.", 401)
        found = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
        return found["n"], found["r"]

    # --- asking ------------------------------------------------------------------------

    def ask_by_browser(self, given: dict[str, str], resource: str, now_s: float, peer: str = "") -> Asked:
        """An authorization request. Raises OAuthError; what it raises before the redirect is known good is told on the page."""
        name, uris = self._client(given.get("client_id"))
        redirect = given.get("redirect_uri", uris[0] if len(uris) == 1 else "")
        if not any(_fits(redirect, uri) for uri in uris):
            raise OAuthError("invalid_request", "redirect_uri is none of those that this client registered.")
        try:
            if given.get("response_type") != "code":
                raise OAuthError("unsupported_response_type", "Only response_type=code is served.")
            if given.get("code_challenge_method") != "S256" or not _CHALLENGE.fullmatch(given.get("code_challenge", "")):
                raise OAuthError("invalid_request", "PKCE is needed: code_challenge with code_challenge_method=S256.")
            if len(given.get("state", "")) > STATE_MAX:
                raise OAuthError("invalid_request", f"state has at most {STATE_MAX} characters.")
            _check_scope(given.get("scope"))
            _check_resource(given.get("resource"), resource)
        except OAuthError as wrong:
            raise Told(_with_query(redirect, {"error": wrong.code, "error_description": wrong.words, **_state(given.get("state"))})) from None
        return self._keep(Asked(self._mint("rla_"), given["client_id"], name, now_s, redirect, given.get("state"), given["code_challenge"], peer=peer), now_s)

    def ask_by_device(self, given: dict[str, str], resource: str, now_s: float, peer: str = "") -> Asked:
        name, _ = self._client(given.get("client_id"))
        scope = given.get("scope") or SCOPE
        if scope != DEVICE_SCOPE:
            _check_scope(scope)
        _check_resource(given.get("resource"), resource)
        taken = {each.user_code for each in self._asked.values()}
        user_code = self._mint_user_code()
        while user_code in taken:
            user_code = self._mint_user_code()
        return self._keep(Asked(self._mint("rla_"), given["client_id"], name, now_s, device_code=self._mint("rld_"), user_code=user_code,
                                scope=scope, peer=peer), now_s)

    def _keep(self, asked: Asked, now_s: float) -> Asked:
        self._expire(now_s)
        if len(self._asked) >= REQUESTS_MAX:            # whoever asked most loses its first
            most, _ = Counter(each.peer for each in self._asked.values()).most_common(1)[0]
            del self._asked[next(each.id for each in self._asked.values() if each.peer == most)]
        self._asked[asked.id] = asked
        return asked

    def _expire(self, now_s: float) -> None:
        for each in [each for each in self._asked.values() if not 0 <= now_s - each.asked_s < REQUEST_S]:
            del self._asked[each.id]

    # --- answering ---------------------------------------------------------------------

    def waiting(self, now_s: float) -> list[Asked]:
        """Browser requests that nobody answered. A device's shows only to whoever has its code."""
        self._expire(now_s)
        return [each for each in self._asked.values() if each.redirect and not each.verdict]

    def by_user_code(self, typed: str, now_s: float) -> Asked:
        """Raises Refused access_unknown."""
        self._expire(now_s)
        plain = re.sub(r"[^A-Z0-9]", "", typed.upper())
        found = next((each for each in self._asked.values() if each.user_code and hmac.compare_digest(each.user_code, plain) and not each.verdict), None)
        if found is None:
            raise Refused("access_unknown")
        return found

    def answer(self, request_id: str, agent_id: str | None, by: dict, now_s: float) -> str:
        """Approve for `agent_id` ("" makes a new Agent) or deny (None). Where the browser goes next, or "".

        Raises Refused access_unknown.
        """
        self._expire(now_s)
        asked = self._asked.get(request_id)
        if asked is None or asked.verdict:
            raise Refused("access_unknown")
        asked.verdict, asked.agent_id, asked.by = ("denied", "", by) if agent_id is None else ("approved", agent_id, by)
        if not asked.redirect:
            return ""
        if agent_id is None:
            del self._asked[request_id]
            return _with_query(asked.redirect, {"error": "access_denied", **_state(asked.state)})
        asked.code, asked.code_s = self._mint("rlo_"), now_s
        return _with_query(asked.redirect, {"code": asked.code, **_state(asked.state)})

    # --- fetching ----------------------------------------------------------------------

    def fetch(self, given: dict[str, str], resource: str, now_s: float) -> Asked:
        """The approved request whose token is due now; it is forgotten. Raises OAuthError."""
        self._expire(now_s)
        kind = given.get("grant_type")
        if kind == "authorization_code":
            found = self._by_code(given, now_s)
        elif kind == DEVICE_GRANT:
            found = self._by_device(given, now_s)
        else:
            raise OAuthError("unsupported_grant_type", f"Use authorization_code or {DEVICE_GRANT}.")
        _check_resource(given.get("resource"), resource)
        del self._asked[found.id]
        return found

    def _by_code(self, given: dict[str, str], now_s: float) -> Asked:
        code, verifier = given.get("code", ""), given.get("code_verifier", "")
        found = next((each for each in self._asked.values() if each.code and hmac.compare_digest(each.code, code)), None) if code.isascii() else None
        wrong = OAuthError("invalid_grant", "The code is unknown, used, too old, or of another client; ask again.")
        if found is None:
            raise wrong
        challenge = _b64(hashlib.sha256(verifier.encode("utf-8", "replace")).digest())
        fits = (_VERIFIER.fullmatch(verifier) and hmac.compare_digest(challenge, found.challenge) and given.get("client_id") == found.client_id
                and given.get("redirect_uri", found.redirect) == found.redirect and now_s - found.code_s < CODE_S)
        if not fits:
            del self._asked[found.id]           # a code is tried once
            raise wrong
        return found

    def _by_device(self, given: dict[str, str], now_s: float) -> Asked:
        code = given.get("device_code", "")
        found = next((each for each in self._asked.values() if each.device_code and hmac.compare_digest(each.device_code, code)), None) if code.isascii() else None
        if found is None or given.get("client_id") != found.client_id:
            raise OAuthError("expired_token", "The device code is unknown or too old; ask for another one.")
        if found.verdict == "denied":
            del self._asked[found.id]
            raise OAuthError("access_denied", "An owner of the gateway said no.")
        if found.verdict != "approved":
            early = now_s - found.polled_s < found.interval_s
            found.polled_s = now_s
            if early:
                found.interval_s += POLL_S
                raise OAuthError("slow_down", f"Ask every {int(found.interval_s)} s.")
            raise OAuthError("authorization_pending", "An owner has not answered yet.")
        return found


class Told(OAuthError):
    """An error that goes back to the client by its own redirect."""

    def __init__(self, location: str) -> None:
        super().__init__("invalid_request", "See the redirect.")
        self.location = location


def _b64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _state(state: str | None) -> dict[str, str]:
    return {} if state is None else {"state": state}


def _with_query(uri: str, more: dict[str, str]) -> str:
    parts = urlsplit(uri)
    return urlunsplit(parts._replace(query=urlencode([*parse_qsl(parts.query, keep_blank_values=True), *more.items()])))


def _check_redirect(uri: object) -> None:
    wrong = OAuthError("invalid_redirect_uri", "A redirect URI is https, http on loopback, or a scheme of the program's own; it has no fragment and no user.")
    if not isinstance(uri, str) or not 1 <= len(uri) <= URI_MAX or not uri.isascii() or not uri.isprintable() or " " in uri:
        raise wrong
    try:
        parts = urlsplit(uri)
        _ = parts.port
    except ValueError:
        raise wrong from None
    if parts.fragment or "#" in uri or parts.username is not None or not re.fullmatch(r"[a-z][a-z0-9+.-]*", parts.scheme):
        raise wrong
    if parts.scheme in NEVER or (parts.scheme == "http" and parts.hostname not in LOOPBACK) or (parts.scheme == "https" and not parts.hostname):
        raise wrong


def _fits(asked: str, registered: str) -> bool:
    """Equal, or equal but for the port where the registered one is on loopback (RFC 8252, 7.3)."""
    if asked == registered:
        return True
    try:
        ours, theirs = urlsplit(registered), urlsplit(asked)
        _ = theirs.port
    except ValueError:
        return False
    return (ours.scheme == theirs.scheme == "http" and ours.hostname in LOOPBACK and ours.hostname == theirs.hostname
            and theirs.username is None and (ours.path, ours.query) == (theirs.path, theirs.query) and not theirs.fragment)


def _check_scope(scope: str | None) -> None:
    if scope and set(scope.split()) - {SCOPE}:
        raise OAuthError("invalid_scope", f"The scope is {SCOPE}; a device may ask for {DEVICE_SCOPE}.")


def _check_resource(asked: str | None, resource: str) -> None:
    """RFC 8707: what is asked for is this gateway's /mcp, under whatever of its names."""
    if asked is None:
        return
    try:
        path = urlsplit(asked).path
    except ValueError:
        path = "?"
    if asked.rstrip("/") != resource and path not in ("", "/", "/mcp", "/mcp/"):
        raise OAuthError("invalid_target", f"The resource here is {resource}.")
