"""Computers elsewhere whose workbench signs in here: what they ask with the token that an owner's approval gave.

    GET  /local-devices/context     who it is here, and which Agents there are
    POST /local-devices/pair        a Connection for one Agent, and where it asks for it a token
    POST /local-devices/revoke      it signs itself out

Promises: no secret is kept. A token is derived from the device code, a key and an Agent's
token from the pairing's id, so a lost answer is given again to whoever holds what it was
asked with; what was replaced since is never given back. A device decides nothing.

Source  the workbench surface, "Account sign-in", "Attaching a profile"; RFC 8628.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re

from rulith.base.canonical import sha256_hex
from rulith.base.clock import seconds_of
from rulith.base.errors import Refused, Unknown
from rulith.base.ids import mint
from rulith.base.json_text import read_json
from rulith.base.limits import DEVICE_IDLE_S, LOCAL_API_BODY_BYTES_MAX, WORKER_LINES_MAX
from rulith.board.devices import ITSELF
from rulith.board.names import plain_name
from rulith.gateway.administration import NAME_CHARS_MAX, Administration
from rulith.gateway.authority import GATEWAY_CHAIN, token_hash
from rulith.gateway.local_api import refused
from rulith.gateway.mcp import bearer
from rulith.net.loopback import is_foreign_page
from rulith.net.messages import Request, Response, json_response

PREFIX = "/local-devices/"
METHODS = {"context": "GET", "pair": "POST", "revoke": "POST"}
TOKEN, AGENT_TOKEN, KEY = "rlt_dev_", "rlt_agt_", "rlt_key_"
GATEWAY = {"kind": "gateway"}
STATUSES = {"device_unknown": 401, "device_revoked": 401, "device_expired": 401, "pairing_conflict": 409, "runtime_credential_exists": 409,
            "agent_out_of_scope": 403}
_PAIRING = re.compile(r"[0-9a-f]{64}")


class Devices:
    """Serves METHODS under PREFIX; `key` derives what it hands out."""

    def __init__(self, administration: Administration, key: bytes) -> None:
        self._administration = administration
        self._authority = administration.authority
        self._key = key
        self._account_id = ""

    # --- coming in ---------------------------------------------------------------------

    async def token(self, client_id: str, device_code: str, fresh_s: float) -> str | None:
        """The token that this code was given within the last `fresh_s` seconds, once more; None where it was given none."""
        token = self._token(client_id, device_code)
        try:
            device = self._authority.registry.device_of(token_hash(token), self._authority.now())
        except Refused:
            return None
        if seconds_of(self._authority.now()) - seconds_of(device["at"]) >= fresh_s:
            return None
        await self._authority.settled()
        return token

    async def let_in(self, client_id: str, device_code: str, name: str, by: dict) -> str:
        """The token of a new device; `by` is the owner's sign-in. Raises Refused as law does."""
        token = self._token(client_id, device_code)
        self._authority.command_registry({"kind": "add_device", "id": mint("device_", 24), "name": plain_name(name, NAME_CHARS_MAX, "A computer"),
                                          "hash": token_hash(token), "authority": by})
        await self._authority.settled()
        return token

    def _token(self, client_id: str, device_code: str) -> str:
        return TOKEN + self._derived("device", client_id, device_code)

    def _derived(self, *parts: str) -> str:
        digest = hmac.new(self._key, "\n".join(parts).encode(), hashlib.sha256).digest()
        return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()

    # --- its calls ---------------------------------------------------------------------

    def head_check(self, request: Request) -> Response | None:
        route = request.path.removeprefix(PREFIX)
        if route not in METHODS:
            return json_response(404, {"ok": False, "errorCode": "not_found", "teaching": "There is no such address here."})
        if request.method != METHODS[route]:
            return json_response(405, {"ok": False, "errorCode": "bad_command", "teaching": f"This address is asked with {METHODS[route]}."}, [("allow", METHODS[route])])
        if is_foreign_page(request):
            return _refused(Refused("device_unknown"))
        try:
            self._device(request)
        except Refused as refusal:
            if route != "revoke" or refusal.code == "device_unknown":
                return _refused(refusal)
        request.body_bytes_max = LOCAL_API_BODY_BYTES_MAX
        return None

    async def handle(self, request: Request) -> Response:
        route = request.path.removeprefix(PREFIX)
        try:
            if route == "revoke":
                answer = await self._revoke(request)
            else:
                device = self._device(request)
                answer = await self._pair(device, request) if route == "pair" else self._context(device)
            await self._authority.settled()
        except Refused as refusal:
            return _refused(refusal)
        except Unknown as unknown:
            return json_response(503, {"ok": False, "errorCode": "store_unavailable", "teaching": str(unknown)})
        return json_response(200, {"ok": True, **answer}, [("cache-control", "no-store")])

    def _device(self, request: Request) -> dict:
        """Raises Refused: device_unknown, device_revoked, device_expired."""
        return self._authority.registry.device_of(token_hash(bearer(request) or ""), self._authority.now())

    def _context(self, device: dict) -> dict:
        """Who it is here. A device in use does not run out."""
        registry, now_s = self._authority.registry, seconds_of(self._authority.now())
        if seconds_of(device["expiresAt"]) - now_s < DEVICE_IDLE_S * 2 / 3 and not self._authority.turns.is_sick:
            self._authority.command_registry({"kind": "see_device", "id": device["id"], "authority": GATEWAY})
            device = registry.device(device["id"])
        return {"deviceId": device["id"], "name": device["name"], "account": {"id": self._account(), "name": device["by"]}, "expiresAt": device["expiresAt"],
                "agents": [{"id": each["id"], "name": each["name"]} for each in registry.agents.values()]}

    def _account(self) -> str:
        """Which ledger this is, whatever address it answers at."""
        if not self._account_id:
            first = next(iter(self._authority.ledger.rows(GATEWAY_CHAIN)))
            self._account_id = f"acc_{first.hash[:24]}"
        return self._account_id

    async def _pair(self, device: dict, request: Request) -> dict:
        given = _members(request, {"computer": str, "pairingId": str, "agentId": str, "clientMode": str, "replaceAgentToken": bool})
        registry, pairing, agent_id = self._authority.registry, given["pairingId"], given["agentId"]
        if not _PAIRING.fullmatch(pairing) or not _PAIRING.fullmatch(given["computer"]):
            raise Refused("bad_command", problem="pairingId and computer are 64 hex digits each")
        if given["clientMode"] not in ("local_agent", "existing_agent"):
            raise Refused("bad_command", problem="clientMode is local_agent or existing_agent")
        if agent_id not in registry.agents:
            raise Refused("agent_out_of_scope", agent=agent_id[:80])
        self._authority.check_writable()
        agent, connection_id = registry.agents[agent_id], self._connection_of(device, given["computer"], agent_id)
        known, told = registry.connections.get(connection_id), sha256_hex(pairing.encode())
        is_same = known is not None and known["pairing"] == told
        turn = 1 if known is None else known["turn"] + (not is_same)          # so that an earlier pairing never brings back what it gave
        key = KEY + self._derived("key", connection_id, str(turn), pairing)
        token = AGENT_TOKEN + self._derived("token", connection_id, str(turn), pairing) if given["clientMode"] == "local_agent" else ""
        gives = (token_hash(key), token_hash(token) if token else "")
        already = is_same and known["keyHash"] == gives[0] and gives[1] in ("", agent["tokenHash"])
        if not already:
            await self._give(device, agent, connection_id, told, gives, given["replaceAgentToken"])
        await self._authority.settled()
        self._administration.keep_key(connection_id, key)
        return {"pairingId": pairing, "agentId": agent_id, "agentName": agent["name"], "connectionId": connection_id, "state": "approved",
                "alreadyApproved": already, "key": key, **({"token": token} if token else {})}

    def _connection_of(self, device: dict, computer: str, agent_id: str) -> str:
        """The one Connection of a computer for an Agent: the same after it signed out by itself, another one after an owner signed it out."""
        registry = self._authority.registry
        for parts in ((computer, agent_id), (computer, agent_id, device["id"])):
            connection_id = "conn_" + sha256_hex(self._derived("connection", *parts).encode())[:24]
            known = registry.connections.get(connection_id)
            before = None if known is None else registry.devices.get(known["device"])
            if known is None or (before is not None and before.get("endedBy", ITSELF) == ITSELF):
                break
        return connection_id

    async def _give(self, device: dict, agent: dict, connection_id: str, pairing: str, gives: tuple[str, str], replaces: bool) -> None:
        registry = self._authority.registry
        known = registry.connections.get(connection_id)
        if known is None and len(registry.connections) >= WORKER_LINES_MAX:
            raise Refused("resource_limit", what="the number of Connections", value=WORKER_LINES_MAX + 1, limit=WORKER_LINES_MAX)
        taken = {each["name"].casefold() for each in registry.connections.values()}
        plain = plain_name(f"{device['name']}, {agent['name']}", NAME_CHARS_MAX - 5, "A computer")
        name = next(each for each in (plain, *(f"{plain} {number}" for number in range(2, 10_000))) if each.casefold() not in taken)
        self._authority.command_registry({"kind": "pair_device", "id": device["id"], "agentId": agent["id"], "connectionId": connection_id, "name": name,
                                          "pairing": pairing, "keyHash": gives[0], "tokenHash": gives[1], "replaces": replaces, "authority": GATEWAY})
        await self._administration.let_go([connection_id] if known else [], [agent["id"]] if gives[1] else [], "its computer was paired anew")

    async def _revoke(self, request: Request) -> dict:
        request_id = _members(request, {"requestId": str})["requestId"]
        try:
            device = self._device(request)
        except Refused as refusal:
            if refusal.code not in ("device_revoked", "device_expired"):
                raise
            return {"state": "revoked", "alreadyRevoked": True, "requestId": request_id}
        await self._end({"kind": "leave_device", "id": device["id"], "authority": GATEWAY}, "its computer signed out")
        return {"state": "revoked", "alreadyRevoked": False, "requestId": request_id}

    # --- the Console's half ------------------------------------------------------------

    def listed(self) -> list[dict]:
        """No hash of a token is in it."""
        return [{name: row[name] for name in ("id", "name", "by", "at", "expiresAt", "endedAt", "endedBy") if name in row}
                for row in self._authority.registry.devices.values()]

    async def end(self, device_id: str, by: dict) -> dict:
        """An owner signs a computer out: what its pairings gave stops working with it."""
        return await self._end({"kind": "end_device", "id": device_id, "authority": by}, "an owner signed its computer out")

    async def _end(self, command: dict, why: str) -> dict:
        result = self._authority.command_registry(command).result
        await self._administration.let_go(result["connections"], result["agents"], why)
        for connection_id in result["connections"]:
            self._administration.keep_key(connection_id, None)
        return {"id": result["id"]}


def _members(request: Request, kinds: dict[str, type]) -> dict:
    """The body's members, exactly these. Raises Refused: bad_json, bad_command."""
    body = read_json(request.body or b"{}", "the body")
    if not isinstance(body, dict) or set(body) != set(kinds) or any(type(body[name]) is not kind for name, kind in kinds.items()):
        raise Refused("bad_command", problem=f"The body is one JSON object with {', '.join(kinds)}")
    return body


def _refused(refusal: Refused) -> Response:
    answer = refused(refusal)
    answer.status = STATUSES.get(refusal.code, answer.status)
    return answer
