"""What each method of MCP is answered with, in every date. Calls of tools are mcp_tools.py's.

Four dates open with `initialize`, and need not: nothing is remembered between requests. In
2026-07-28 a request says its date for itself, and what that date left out is not served.

Source  the council surface, "HTTP and MCP transport", "Prompts, resources, stream"; MCP 2026-07-28
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from rulith import VERSION
from rulith.base.errors import Refused
from rulith.council import advice, prompts
from rulith.council.kinds import number_of, words_of
from rulith.council.shapes import Actor
from rulith.council.tools import TOOLS
from rulith.council.transcript import transcript
from rulith.forum.forum import Forum
from rulith.wire import jsonrpc, mcp_stateless
from rulith.wire.jsonrpc import INVALID_PARAMS, METHOD_NOT_FOUND
from rulith.wire.mcp_server import Rejected
from rulith.wire.mcp_stateless import HeaderValues, rejection

OPENED = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
DEFAULT = "2025-06-18"                       # the counter-offer to any other date
SERVED = (mcp_stateless.DATE, *OPENED)
INFO = {"name": "rivendell", "version": VERSION}
CAPABILITIES = {"tools": {"listChanged": False}, "prompts": {"listChanged": False}, "resources": {"listChanged": False, "subscribe": True}, "logging": {}}
LIST_TTL_MS = 3_600_000                      # tools and prompts never change while the council runs
_KEPT_MS = {"tools/list": LIST_TTL_MS, "prompts/list": LIST_TTL_MS, "resources/templates/list": LIST_TTL_MS, "server/discover": 0,
            "resources/list": 0, "resources/read": 0}


class Methods:
    def __init__(self, forum: Forum) -> None:
        self.forum = forum
        self._both: dict[str, Callable[[Actor, Mapping], dict]] = {
            "tools/list": lambda actor, params: {"tools": list(TOOLS)}, "prompts/list": lambda actor, params: {"prompts": prompts.listed()},
            "prompts/get": self._prompt, "resources/list": self._resources, "resources/read": self._read,
            "resources/templates/list": lambda actor, params: {"resourceTemplates": [prompts.TEMPLATE]}}
        self._opened = {"initialize": self._initialize, **dict.fromkeys(("ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"), _nothing)}
        self._stateless = {"server/discover": self._discover}

    def is_stateless(self, request: jsonrpc.Request, headers: HeaderValues) -> bool:
        """Whether a request is of 2026-07-28, and whole. Raises Rejected where it is of that date and is not, or of no date that is known."""
        stated = headers(mcp_stateless.VERSION_HEADER)
        if list(stated) == [mcp_stateless.DATE] or request.method == "server/discover" or mcp_stateless.has_envelope(request.params):
            mcp_stateless.check_envelope(request.id, request.method, request.params, headers, SERVED)
            return True
        if request.method != "initialize" and stated and stated[0] not in OPENED:
            raise mcp_stateless.unsupported(request.id, stated[0], SERVED)
        return False

    def result(self, actor: Actor, request: jsonrpc.Request, stateless: bool) -> dict:
        """Raises Rejected."""
        answer = self._both.get(request.method) or (self._stateless if stateless else self._opened).get(request.method)
        if answer is None:
            raise self._rejected(request, stateless, METHOD_NOT_FOUND, f"The method {request.method[:80]!r} is not served.")
        if request.params.get("cursor") is not None and request.method.endswith("/list"):
            raise self._rejected(request, stateless, INVALID_PARAMS, "There is one page; send no cursor.")
        try:
            return self.dressed(request.method, answer(actor, request.params), stateless)
        except Refused as refusal:
            raise self._rejected(request, stateless, number_of(refusal), words_of(refusal)) from None

    def tool_of(self, request: jsonrpc.Request, stateless: bool) -> str:
        """The name of the tool that tools/call runs, known or not. Raises Rejected."""
        name = request.params.get("name")
        if not isinstance(name, str):
            raise self._rejected(request, stateless, INVALID_PARAMS, "tools/call needs the name of a tool.")
        return name

    @staticmethod
    def dressed(method: str, result: dict, stateless: bool) -> dict:
        return mcp_stateless.complete(result, INFO, ttl_ms=_KEPT_MS.get(method)) if stateless else result

    @staticmethod
    def _rejected(request: jsonrpc.Request, stateless: bool, code: int, words: str) -> Rejected:
        return rejection(request.id, code, words) if stateless else Rejected(200, code, words, request_id=request.id)

    # --- methods -------------------------------------------------------------------------

    def _initialize(self, actor: Actor, params: Mapping) -> dict:
        asked = params.get("protocolVersion")
        return {"protocolVersion": asked if asked in OPENED else DEFAULT, "capabilities": CAPABILITIES, "serverInfo": INFO, "instructions": self._instructions(actor)}

    def _discover(self, actor: Actor, params: Mapping) -> dict:
        return {"supportedVersions": list(SERVED), "capabilities": CAPABILITIES, "instructions": self._instructions(actor)}

    def _instructions(self, actor: Actor) -> str:
        return advice.instructions(actor.name, self.forum.project(actor.project_id)["name"], actor.supervised)

    def _prompt(self, actor: Actor, params: Mapping) -> dict:
        tag, arguments = self.forum.tag(str(params.get("name"))), params.get("arguments")
        if tag is None:
            raise Refused("council_not_found", what="prompt", name=repr(str(params.get("name"))[:60]))
        thread_id = arguments.get("thread_id") if isinstance(arguments, Mapping) else None
        return prompts.answer_to(tag, None if thread_id is None else str(thread_id))

    def _resources(self, actor: Actor, params: Mapping) -> dict:
        rows = self.forum.run(actor, "list_threads", {"mentions_me": False, "limit": prompts.RESOURCES_MAX})
        return {"resources": [prompts.resource(row) for row in rows]}

    def _read(self, actor: Actor, params: Mapping) -> dict:
        uri = params.get("uri")
        thread_id = prompts.thread_of(uri)
        if thread_id is None:
            raise Refused("council_invalid", problem=f"{str(uri)[:80]!r} is no address of a thread, such as {prompts.uri_of(1)}")
        detail = self.forum.run(actor, "get_thread", {"thread_id": thread_id})
        return {"contents": [{"uri": uri, "mimeType": prompts.MARKDOWN, "text": transcript(detail, self.forum.tag(detail["tag"]))}]}


def _nothing(actor: Actor, params: Mapping) -> dict:
    return {}
