"""The person's side over HTTP: each act as `POST /api/<name>`, JSON in and out, behind the key of this run.

    request     authorization: Bearer <key>, a JSON object of the act's arguments (nothing is {})
    answer      {"ok": true, "result": …}, or {"ok": false, "errorCode", "teaching", "text"} with a status of 400 and up

Whoever holds the key is the person; an agent's key is none. Decides nothing.

Units   timeout_s is whole seconds
Source  the council surface, "The person's side"
"""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import Mapping, Sequence

from rulith.base.errors import Refused
from rulith.base.json_text import read_json
from rulith.base.limits import COUNCIL_BODY_BYTES_MAX
from rulith.council import keys
from rulith.council.kinds import FORBIDDEN, INVALID, LIMIT, NOT_FOUND, number_of, words_of
from rulith.council.shapes import PERSON
from rulith.forum.arguments import only, whole
from rulith.forum.forum import Forum
from rulith.forum.staying import own_argv
from rulith.net.messages import Request, Response, json_response

PREFIX = "/api/"
KEPT_OPEN_S, KEPT_OPEN_MAX_S = 25, 60
NO_STORE = [("cache-control", "no-store")]
STATUSES = {NOT_FOUND: 404, FORBIDDEN: 403, INVALID: 400, LIMIT: 409}
OWN_STATUSES = {"council_key": 401, "council_foreign": 403, "bad_json": 400, "number_out_of_range": 400}

# the name that a person's program says -> the forum's, where the agents' tool of that name is another act
FORUM_NAMES = {"list_agents": "agents_of"}
NOT_HERE = frozenset({"agents_of", "set_awake"})
DEFAULTS = {"list_threads": {"limit": 200}, "search": {"limit": 40}}


class PersonApi:
    """url   where the council answers, without a path; set once it listens"""

    def __init__(self, forum: Forum, key: str) -> None:
        self.forum, self.url = forum, ""
        self._key = key.encode()
        self._acts = {"server_info": self._server_info, "create_agent": self._with_config, "rotate_agent_key": self._with_config}

    def head_check(self, request: Request) -> Response | None:
        """401 without the key, then 405 for what is no POST."""
        if not hmac.compare_digest(keys.bearer(request.headers.get("authorization")).encode("utf-8", "replace"), self._key):
            return refused(Refused("council_key"))
        if request.method != "POST":
            return refused(Refused("council_invalid", problem="acts are asked for with POST"), 405, [("allow", "POST")])
        request.body_bytes_max = COUNCIL_BODY_BYTES_MAX
        return None

    async def handle(self, request: Request) -> Response:
        name = request.path[len(PREFIX):]
        try:
            arguments = read_json(request.body, "the request body") if request.body.strip() else {}
            if not isinstance(arguments, dict):
                raise Refused("council_invalid", problem="the request body is no object of arguments")
            result = await self._wait(arguments) if name == "wait_for_changes" else await self._do(name, arguments)
        except Refused as refusal:
            return refused(refusal)
        return json_response(200, {"ok": True, "result": result}, NO_STORE)

    async def _do(self, name: str, arguments: Mapping) -> object:
        own = self._acts.get(name)
        if own is not None:
            return own(name, arguments)
        if name in NOT_HERE:
            raise Refused("council_not_found", what="operation", name=repr(name))
        return await self.forum.act(PERSON, FORUM_NAMES.get(name, name), {**DEFAULTS.get(name, {}), **arguments})

    def _server_info(self, name: str, arguments: Mapping) -> dict:
        only(arguments)
        return {"url": self.url, "mcp_url": f"{self.url}/mcp", "listening": True}

    def _with_config(self, name: str, arguments: Mapping) -> object:
        """The one time that a key is told, with what to paste where."""
        made = self.forum.run(PERSON, name, arguments)
        return {**made, **ways_in(f"{self.url}/mcp", made["api_key"], own_argv("bridge") or ["rulith", "bridge"])}

    async def _wait(self, arguments: Mapping) -> dict:
        """{next_cursor, events, connections}: events after `cursor`, or none once time is up or the list of connections has moved on from `connections`."""
        only(arguments, "cursor", "connections", "timeout_s")
        forum, loop = self.forum, asyncio.get_running_loop()
        deadline = loop.time() + min(whole(arguments.get("timeout_s", KEPT_OPEN_S), "timeout_s", 0), KEPT_OPEN_MAX_S)
        known = whole(arguments.get("connections", forum.presence.revision), "connections", 0)
        with forum.bus.subscribe(PERSON.agent_id) as subscription:
            cursor = arguments.get("cursor", forum.db.latest_seq())
            while True:
                found = forum.run(PERSON, "events_since", {"cursor": cursor})
                found["connections"] = forum.presence.revision
                left = deadline - loop.time()
                if found["events"] or known != forum.presence.revision or left <= 0 or not await subscription.changed(left):
                    return found


def ways_in(mcp_url: str, key: str, bridge: Sequence[str]) -> dict:
    """Ready configuration for a program that is to speak as this agent: over HTTP, by Claude's command line, through the bridge."""
    header = f"Bearer {key}"
    return {
        "mcp_json": {"mcpServers": {"rivendell": {"type": "http", "url": mcp_url, "headers": {"Authorization": header}}}},
        "claude_cli": f'claude mcp add --transport http rivendell {mcp_url} --header "Authorization: {header}"',
        "shim_json": {"mcpServers": {"rivendell": {"command": bridge[0], "args": list(bridge[1:]), "env": {"RIVENDELL_URL": mcp_url, "RIVENDELL_KEY": key}}}},
    }


def refused(refusal: Refused, status: int | None = None, headers: list[tuple[str, str]] | None = None) -> Response:
    status = status or OWN_STATUSES.get(refusal.code) or STATUSES.get(number_of(refusal), 503)
    told = {"ok": False, "errorCode": refusal.code, "teaching": refusal.teaching, "text": words_of(refusal)}
    return json_response(status, told, [*NO_STORE, *(headers or ())])
