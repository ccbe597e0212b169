"""MCP server sessions: who is connected, which session of an Agent counts, what may be replayed.

Decides what a request on a session may do: initialize or be refused, run, be answered again,
or hear that another session took over. Never talks to a socket, a Board or a clock; ids are
minted by the caller. One Agent has one effective session; the newest successful `initialize`
takes over.

Units   none; every bound is a count.
Source  protocol/mcp-contract.json; the MCP surface, §§1, 2, 6.4 and 8.1.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

from rulith.base.limits import INTEGER_MAX
from rulith.wire.mcp_streams import AnswerStream, AnswerStreams

CURRENT = "2025-11-25"
SERVED = (CURRENT, "2025-06-18")       # the older one for tools-only hosts, which declare nothing
SURFACE = "rulith/v3"
DECLARATION = {"heldCalls": 1}
FAMILY = "rulith/"

PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS = -32700, -32600, -32601, -32602
REFUSED_HERE = -32000                  # the surface's own refusals; `data.reason` says which
SESSION_UNKNOWN = -32001

CALLS_KEPT_MAX = 64                    # answers a session can repeat; a client has one call in flight
CALLS_REMEMBERED_MAX = 10_000          # ids of forgotten calls: none of them runs a second time
REPLACED_KEPT_MAX = 16                 # replaced sessions that still hear why, per Agent
CLIENT_NAME_CHARS_MAX = 200
_TAKEN_OVER = "Another connection of this Agent took over."


class Rejected(Exception):
    """One request answered with an HTTP status and a JSON-RPC error instead of a result."""

    def __init__(self, status: int, code: int, message: str, *, request_id: object = None, data: dict | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.body = error_body(request_id, code, message, data)


def error_body(request_id: object, code: int, message: str, data: dict | None = None) -> dict:
    error: dict = {"code": code, "message": message}
    if data is not None:
        error["data"] = data
    return {"jsonrpc": "2.0", "id": request_id, "error": error}


def result_body(request_id: object, result: dict) -> dict:
    return {"jsonrpc": "2.0", "id": request_id, "result": result}


def progress_body(token: object, progress: int, ordinal: int) -> dict:
    return {"jsonrpc": "2.0", "method": "notifications/progress",
            "params": {"progressToken": token, "progress": progress, "_meta": {SURFACE: {"ordinal": ordinal}}}}


def call_key(request_id: object) -> tuple[str, object]:
    """A JSON-RPC id as compared here: by type and value, so 1 is not "1"."""
    return type(request_id).__name__, request_id


@dataclass
class Call:
    """One tools/call of a session; its answer can be repeated once it ran."""

    request_id: object
    asked: int = 0                  # the hash of what was asked under this id
    ordinal: int | None = None
    tool: str = ""
    answer: dict | None = None      # the result member, as last given
    profile: object = None          # what its Agent could see when that was written
    delivers: tuple[int, ...] = ()  # ordinals whose outcome this answer carries
    cancelled: bool = False         # by its client: what it delivers counts for nothing
    running: bool = False
    problem: Exception | None = None    # instead of an answer
    custodian: str = ""             # the Connection whose Worker its machine can reach
    waiter: object = None           # whatever the caller parks retransmissions on while it runs


class OldIds:
    """Ids of calls: whole numbers that ascend as stretches, so that a client that counts costs two numbers; all others by hash.

    Past CALLS_REMEMBERED_MAX of a kind the oldest are let go.
    """

    def __init__(self) -> None:
        self._firsts, self._lasts = array("q"), array("q")
        self._others: dict[int, None] = {}

    def add(self, request_id: object) -> None:
        newest = self._lasts[-1] if self._lasts else -INTEGER_MAX
        if type(request_id) is not int or not newest < request_id <= INTEGER_MAX:
            self._others[hash(call_key(request_id))] = None
        elif request_id == newest + 1 and self._lasts:
            self._lasts[-1] = request_id
        else:
            self._firsts.append(request_id)
            self._lasts.append(request_id)
        if len(self._others) > CALLS_REMEMBERED_MAX:
            del self._others[next(iter(self._others))]
        if len(self._lasts) > CALLS_REMEMBERED_MAX:
            del self._firsts[0], self._lasts[0]

    def __contains__(self, request_id: object) -> bool:
        if type(request_id) is int:
            place = bisect_right(self._firsts, request_id) - 1
            if place >= 0 and request_id <= self._lasts[place]:
                return True
        return hash(call_key(request_id)) in self._others

    def __len__(self) -> int:
        return len(self._lasts) + len(self._others)


@dataclass
class Session:
    id: str
    agent_id: str
    protocol_version: str
    declares_surface: bool
    client: str
    replaced: bool = False
    focus: dict[str, str] = field(default_factory=dict)          # root -> caseId, oldest first
    calls: OrderedDict[tuple[str, object], Call] = field(default_factory=OrderedDict)
    streams: AnswerStreams = field(default_factory=AnswerStreams)
    forgotten: OldIds = field(default_factory=OldIds)  # of the calls whose answers are gone

    def focused_roots(self) -> list[dict]:
        return [{"caseId": case_id, "root": root} for root, case_id in self.focus.items()]

    def replace(self) -> None:
        """Another session took over; of the calls only their ordinals are of use from here on."""
        self.replaced = True
        self.streams = AnswerStreams()
        for call in self.calls.values():
            call.answer = None

    def begin(self, request_id: object, asked: int = 0) -> Call:
        """Record a new call; the oldest answered ones are forgotten past the bound."""
        call = self.calls[call_key(request_id)] = Call(request_id, asked)
        while len(self.calls) > CALLS_KEPT_MAX:
            oldest = next(iter(self.calls))
            if self.calls[oldest].answer is None:       # it still runs, or was never answered
                oldest = next((key for key, kept in self.calls.items() if kept.answer is not None), None)
                if oldest is None:
                    break
            self.forgotten.add(self.calls.pop(oldest).request_id)
        return call

    def known(self, request_id: object) -> Call | None:
        return self.calls.get(call_key(request_id))

    def is_forgotten(self, request_id: object) -> bool:
        """Whether a call of this id was answered so long ago that the answer is gone."""
        return request_id in self.forgotten


def declared(params: dict) -> dict[str, object]:
    """The `rulith/*` declarations of an initialize; empty for an ordinary tools-only host."""
    capabilities = params.get("capabilities")
    experimental = capabilities.get("experimental") if isinstance(capabilities, dict) else None
    if not isinstance(experimental, dict):
        return {}
    return {name: shape for name, shape in experimental.items() if name.startswith(FAMILY)}


def _is_exact_declaration(shape: object) -> bool:
    return isinstance(shape, dict) and set(shape) == set(DECLARATION) and type(shape["heldCalls"]) is int \
        and shape["heldCalls"] == DECLARATION["heldCalls"]


def check_initialize(params: object, request_id: object, required_client: dict | None) -> tuple[str, bool, str]:
    """(protocol date, declares the surface, client name) of an acceptable initialize.

    Raises Rejected: -32602 for a malformed one, `incompatible_client` for another edition of
    this surface, `unsupported_protocol` for another date. A declaration is never authority.
    """
    if not isinstance(params, dict) or not isinstance(params.get("protocolVersion"), str):
        raise Rejected(400, INVALID_PARAMS, "initialize needs params with a protocolVersion text.", request_id=request_id)

    def refuse(reason: str, message: str) -> Rejected:
        data: dict = {"reason": reason}
        if required_client is not None:
            data["requiredClient"] = required_client
        return Rejected(400, REFUSED_HERE, message, request_id=request_id, data=data)

    found = declared(params)
    if found and (set(found) != {SURFACE} or not _is_exact_declaration(found[SURFACE])):
        raise refuse("incompatible_client",
                     f"This gateway serves {SURFACE} with {{heldCalls: 1}}; the client declares {', '.join(sorted(found))}.")
    date = params["protocolVersion"]
    served = (CURRENT,) if found else SERVED
    if date not in served:
        raise refuse("unsupported_protocol", f"This gateway speaks MCP {' and '.join(served)}; the client asked for {date[:40]!r}.")
    info = params.get("clientInfo")
    name = info.get("name") if isinstance(info, dict) else None
    return date, bool(found), name[:CLIENT_NAME_CHARS_MAX] if isinstance(name, str) else ""


class Sessions:
    """All sessions of a gateway; per Agent at most one is effective."""

    def __init__(self) -> None:
        self._by_id: dict[str, Session] = {}
        self._effective: dict[str, Session] = {}
        self._replaced: dict[str, list[Session]] = {}

    def open(self, agent_id: str, params: object, request_id: object, *, mint: Callable[[], str],
             required_client: dict | None = None) -> tuple[Session, Session | None]:
        """The new effective session and the one it replaced. Raises Rejected and changes nothing."""
        date, declares, client = check_initialize(params, request_id, required_client)
        session = Session(mint(), agent_id, date, declares, client)
        before = self._effective.get(agent_id)
        if before is not None:
            before.replace()
            kept = self._replaced.setdefault(agent_id, [])
            kept.append(before)
            for forgotten in kept[:-REPLACED_KEPT_MAX]:
                self._by_id.pop(forgotten.id, None)
            del kept[:-REPLACED_KEPT_MAX]
        self._effective[agent_id] = session
        self._by_id[session.id] = session
        return session, before

    def effective(self, agent_id: str) -> Session | None:
        return self._effective.get(agent_id)

    def is_of(self, agent_id: str, session_id: str) -> bool:
        session = self._by_id.get(session_id)
        return session is not None and session.agent_id == agent_id

    def find(self, agent_id: str, session_id: str | None, request_id: object) -> Session:
        """The session a request names, replaced or not. Raises Rejected 400 (none named) or 404 (not this Agent's)."""
        if session_id is None:
            raise Rejected(400, REFUSED_HERE, "Send the mcp-session-id that initialize answered with.",
                           request_id=request_id, data={"reason": "session_required"})
        session = self._by_id.get(session_id)
        if session is None or session.agent_id != agent_id:
            raise Rejected(404, SESSION_UNKNOWN, "This session is unknown or ended; initialize again.", request_id=request_id)
        return session

    def resumed(self, session: Session, cursor: str | None) -> list[tuple[AnswerStream, int]]:
        """What a GET after `cursor` reads. Raises Rejected: 409 (replaced), 405 (no cursor), 400 (nothing follows it)."""
        if session.replaced:
            raise Rejected(409, REFUSED_HERE, _TAKEN_OVER, data={"reason": "connection_replaced"})
        if cursor is None:
            raise Rejected(405, REFUSED_HERE, "GET resumes a cut stream; send its last-event-id.")
        found = session.streams.after(cursor)
        if not found:
            raise Rejected(400, REFUSED_HERE, f"No stream of this session goes on after {cursor[:40]!r}; read `operations` instead.",
                           data={"reason": "cursor_unknown"})
        return found

    def check_current(self, session: Session, request_id: object) -> None:
        """Raise Rejected 409 connection_replaced when another session took over.

        A retransmission of a call that was admitted hears its ordinal, never that nothing ran.
        """
        if not session.replaced:
            return
        call = session.known(request_id)
        if call is not None and call.ordinal is not None:
            data: dict = {"reason": "connection_replaced", "ordinal": call.ordinal}
        else:
            data = {"reason": "connection_replaced", "requestExecuted": False}
        raise Rejected(409, REFUSED_HERE, _TAKEN_OVER, request_id=request_id, data=data)

    def end(self, session: Session) -> None:
        """Forget a session; a replaced one may be ended too."""
        self._by_id.pop(session.id, None)
        if self._effective.get(session.agent_id) is session:
            del self._effective[session.agent_id]
        kept = self._replaced.get(session.agent_id, [])
        if session in kept:
            kept.remove(session)


def replaced_error(request_id: object, ordinal: int) -> dict:
    """What a call still held hears when its session is replaced; the operation goes on."""
    return error_body(request_id, REFUSED_HERE, "Another connection of this Agent took over; the operation goes on.",
                      {"reason": "connection_replaced", "ordinal": ordinal})


def initialize_result(session: Session, server_info: dict, meta: dict) -> dict:
    return {"protocolVersion": session.protocol_version,
            "capabilities": {"tools": {}, "experimental": {SURFACE: dict(DECLARATION)}},
            "serverInfo": server_info, "_meta": {SURFACE: meta}}
