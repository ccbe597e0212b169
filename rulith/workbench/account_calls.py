"""What a workbench asks of a gateway elsewhere: the device code of RFC 8628, and the calls of a device.

JSON or a form out, one JSON object back; no Origin, no query, no redirect. Tells apart an
answer that is no (`Said`, with the gateway's code) from none (`Silent`).

Units   *_s seconds
Source  RFC 7591, RFC 8628; docs/gateway.md, "Workbenches elsewhere"
"""

from __future__ import annotations

import json
import re
from urllib.parse import urlencode, urlsplit

from rulith.base.clock import seconds_of
from rulith.base.errors import Refused
from rulith.net.client import HttpClient, NetFailed

TIMEOUT_S = 15.0
ANSWER_BYTES_MAX = 262_144
DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code"
SCOPE = "device"
LOOPBACK = ("127.0.0.1", "::1", "localhost")
JSON, FORM = "application/json", "application/x-www-form-urlencoded"
NAME_CHARS_MAX = 200
SECRETS = ("device_code", "pairingId", "computer")      # of what is sent, beside the token


class Silent(Exception):
    """No usable answer: nothing is known, and nothing changes by it."""


class Said(Exception):
    """The gateway's no."""

    def __init__(self, status: int, code: str, words: str) -> None:
        super().__init__(words)
        self.status, self.code, self.words = status, code, words


def gateway_origin(text: str, *, insecure: bool) -> str:
    """The origin that `--gateway` names. Raises Refused: gateway_address, gateway_plain_http."""
    try:
        parts = urlsplit(text.strip())
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        parts, port = urlsplit(""), ""
    is_origin = parts.scheme in ("http", "https") and parts.hostname and parts.username is None and parts.path in ("", "/")
    if not is_origin or parts.query or parts.fragment:
        raise Refused("gateway_address", address=text.rpartition("@")[2][:120])
    host = f"[{parts.hostname}]" if ":" in str(parts.hostname) else parts.hostname
    origin = f"{parts.scheme}://{host}{port}"
    if parts.scheme == "http" and parts.hostname not in LOOPBACK and not insecure:
        raise Refused("gateway_plain_http", origin=origin)
    return origin


class AccountCalls:
    """Asked at one origin; each raises Silent or Said."""

    def __init__(self, client: HttpClient, origin: str) -> None:
        self.origin = origin
        self._client = client

    async def register(self, name: str) -> str:
        """The client id that stands for this computer's name."""
        return text_of(await self._ask("POST", "/register", JSON, {"client_name": name, "redirect_uris": []}), "client_id")

    async def ask_code(self, client_id: str) -> dict:
        """`device_code`, `user_code`, `verification_uri_complete`, `expires_in`, `interval`."""
        return await self._ask("POST", "/device_authorization", FORM, {"client_id": client_id, "scope": SCOPE})

    async def fetch_token(self, client_id: str, device_code: str) -> str:
        token = text_of(await self._ask("POST", "/token", FORM, {"grant_type": DEVICE_GRANT, "device_code": device_code, "client_id": client_id}), "access_token")
        if not token.startswith("rlt_dev_"):
            raise Silent("the gateway gave a token of another kind")
        return token

    async def context(self, token: str) -> dict:
        """`deviceId`, `account {id, name}`, `agents [{id, name}]`, `expiresAt`."""
        found = await self._ask("GET", "/local-devices/context", "", None, token)
        account, agents = found.get("account"), found.get("agents")
        rows = agents if isinstance(agents, list) else [None]
        if not all(isinstance(each, dict) for each in (account, *rows)):
            raise Silent("the gateway's answer names no account and Agents")
        expires_at = text_of(found, "expiresAt")
        try:
            seconds_of(expires_at)
        except ValueError:
            raise Silent("the gateway's answer has no expiresAt") from None
        return {"deviceId": text_of(found, "deviceId"), "account": _named(account), "agents": [_named(each) for each in rows], "expiresAt": expires_at}

    async def pair(self, token: str, computer: str, pairing_id: str, agent_id: str, client_mode: str, replace: bool) -> dict:
        """`connectionId`, `agentName`, `key`, and for a local Agent `token`; checked to be of this very pairing."""
        found = await self._ask("POST", "/local-devices/pair", JSON, {"computer": computer, "pairingId": pairing_id, "agentId": agent_id, "clientMode": client_mode,
                                                                      "replaceAgentToken": replace}, token)
        is_local = client_mode == "local_agent"
        fits = found.get("pairingId") == pairing_id and found.get("agentId") == agent_id and text_of(found, "key").startswith("rlt_key_")
        if not fits or (is_local and not text_of(found, "token").startswith("rlt_agt_")):
            raise Silent("the gateway's answer is of another pairing")
        return {"agentName": _name(found, "agentName"), **{name: text_of(found, name) for name in ("connectionId", "key", *(("token",) if is_local else ()))}}

    async def revoke(self, token: str, request_id: str) -> bool:
        """Whether it was signed out already."""
        try:
            return bool((await self._ask("POST", "/local-devices/revoke", JSON, {"requestId": request_id}, token)).get("alreadyRevoked"))
        except Said as said:
            if said.code in ("device_unknown", "device_revoked", "device_expired"):
                return True                     # it opens nothing there any more
            raise

    async def _ask(self, method: str, path: str, kind: str, body: dict | None, token: str = "") -> dict:
        raw = b"" if body is None else urlencode(body).encode() if kind == FORM else json.dumps(body).encode()
        headers = {"accept": JSON, **({"content-type": kind} if kind else {}), **({"authorization": f"Bearer {token}"} if token else {})}
        try:
            answer = await self._client.request(method, self.origin + path, headers, raw, timeout_s=TIMEOUT_S, body_bytes_max=ANSWER_BYTES_MAX)
        except NetFailed as problem:
            raise Silent(problem.detail) from None
        except Refused as problem:
            raise Silent(problem.teaching) from None
        try:
            value = json.loads(answer.body)
        except (ValueError, RecursionError):
            value = None
        if answer.status in (200, 201) and isinstance(value, dict):
            return value
        found = value if isinstance(value, dict) else {}
        code, words = found.get("errorCode") or found.get("error"), found.get("teaching") or found.get("error_description")
        told = _plain(words, [token, *(str((body or {}).get(name, "")) for name in SECRETS)]) or f"it answered {answer.status}"
        if 400 <= answer.status < 500 and answer.status != 429:
            raise Said(answer.status, code if isinstance(code, str) else "", told)
        raise Silent(told)


def _plain(words: object, secrets: list[str]) -> str:
    """Words of another, cut, and never with what was shown to it."""
    text = words if isinstance(words, str) else ""
    for secret in filter(None, secrets):
        text = text.replace(secret, "…")
    return text[:500]


def text_of(found: dict, name: str, pattern: str = r"[!-~]{1,4096}") -> str:
    """A word, an id or a credential. Raises Silent."""
    value = found.get(name)
    if not isinstance(value, str) or not re.fullmatch(pattern, value):
        raise Silent(f"the gateway's answer has no {name}")
    return value


def _name(found: dict, name: str) -> str:
    """A name that people read, with a mark for each letter that does not show."""
    value = found.get(name)
    if not isinstance(value, str) or not value:
        raise Silent(f"the gateway's answer has no {name}")
    return "".join(letter if letter.isprintable() else "�" for letter in value[:NAME_CHARS_MAX])


def _named(row: dict) -> dict[str, str]:
    return {"id": text_of(row, "id"), "name": _name(row, "name")}
