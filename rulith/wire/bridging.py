"""What a bridge between stdio and HTTP does with each message: pure, bytes in and bytes out.

Reads a host's lines, says how each goes out, and what of the answer goes back as lines. A
request is always answered, by an error of the bridge's own where nothing else came. On the
way back it tells the host of the channel: that what moves in the council arrives by itself.

Source  the council surface, "Bridge and channel"; MCP, all dates
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from rulith.base.errors import Refused
from rulith.base.json_text import read_json
from rulith.base.limits import COUNCIL_BODY_BYTES_MAX
from rulith.wire import jsonrpc
from rulith.wire.jsonrpc import PARSE_ERROR, SERVER_ERROR
from rulith.wire.mcp_http import JSON
from rulith.wire.mcp_outbound import STATELESS, header_text, headers_of, said
from rulith.wire.mcp_stateless import VERSION_KEY

CHANNEL = "claude/channel"
INSTRUCTIONS = ("Activity in the council arrives by itself as channel messages. When one comes, read that thread with get_thread and act if it needs you. "
                "Do not poll, and do not loop on wait_for_updates.")
CANCELLED = "notifications/cancelled"
KINDS_TOLD_MAX = 8
_NO_WORD = re.compile(r"[^A-Za-z0-9_]+", re.ASCII)


@dataclass(frozen=True)
class Line:
    """One line of the host: what to POST, and whose answers it awaits.

    awaited    the ids of its requests
    cancelled  the id that it says is waited for no more
    headers    the protocol's own, without the key
    """

    body: bytes
    awaited: tuple[object, ...] = ()
    is_batch: bool = False
    cancelled: object = None
    headers: Mapping[str, str] | None = None


class Cutter:
    """Lines from any slices; one that is too long is thrown away and told."""

    def __init__(self, bytes_max: int = COUNCIL_BODY_BYTES_MAX) -> None:
        self._held, self._most, self._is_skipping = bytearray(), bytes_max, False

    def receive(self, data: bytes) -> list[bytes | None]:
        """The lines that `data` ends, without blank ones; None for one that is too long."""
        found: list[bytes | None] = []
        while data:
            head, newline, data = data.partition(b"\n")
            if not self._is_skipping:
                self._held += head
            if len(self._held) > self._most:
                self._held.clear()
                self._is_skipping = True
                found.append(None)
            if newline:
                if self._held.strip():
                    found.append(bytes(self._held).strip())
                self._held, self._is_skipping = bytearray(), False
        return found

    def finish(self) -> list[bytes | None]:
        """The last line, which nothing ended."""
        return self.receive(b"\n")


def read_line(line: bytes | None, agreed: str | None) -> Line | bytes:
    """A line as it goes out, or the answer to one that cannot. `agreed` is the date of the handshake, once there was one."""
    if line is None:
        return told(jsonrpc.error(None, PARSE_ERROR, f"One message has at most {COUNCIL_BODY_BYTES_MAX} bytes."))
    try:
        sent = read_json(line, "the line")
    except Refused as refusal:
        asked = jsonrpc.read_loosely(line)
        return told(jsonrpc.error_of(refusal, asked.id if asked is not None else None))
    is_batch = isinstance(sent, list)
    messages = [each for each in (sent if isinstance(sent, list) else [sent]) if isinstance(each, dict)]
    awaited = tuple(each.get("id") for each in messages if "method" in each and "id" in each)
    first = messages[0] if len(messages) == 1 and not is_batch else {}
    params = first.get("params")
    params = params if isinstance(params, dict) else {}
    cancelled = params.get("requestId") if first.get("method") == CANCELLED and "id" not in first else None
    return Line(line, awaited, is_batch, cancelled, _headers(first, params, agreed))


def _headers(message: Mapping, params: Mapping, agreed: str | None) -> dict[str, str]:
    meta = params.get("_meta")
    stated = meta.get(VERSION_KEY) if isinstance(meta, dict) else None
    if isinstance(stated, str):
        return {**headers_of(message, STATELESS, None, {}), "mcp-protocol-version": header_text(stated[:100])}
    return headers_of(message, None if message.get("method") == "initialize" else agreed, None, {})


# -- the way back --------------------------------------------------------------------------


def told(message: object) -> bytes:
    return jsonrpc.encode(message) + b"\n"  # type: ignore[arg-type]


def failed(line: Line, words: str, code: int = SERVER_ERROR) -> bytes:
    """The bridge's own answer to all that the line awaits; nothing where it awaits nothing."""
    errors = [jsonrpc.error(each if jsonrpc.is_id(each) else None, code, words) for each in line.awaited]  # type: ignore[arg-type]
    if not errors:
        return b""
    return told(errors) if line.is_batch else told(errors[0])


@dataclass(frozen=True)
class Back:
    """line  for the host, or nothing; agreed  the date that a handshake settled on; is_answer  whether the host waits no more"""

    line: bytes
    is_answer: bool
    agreed: str | None = None


def whole(line: Line, status: int, content_type: str, body: bytes) -> Back:
    """What a complete answer over HTTP comes to."""
    if not body.strip() and 200 <= status < 300:
        return Back(failed(line, "The council gave no answer."), True)
    kind = content_type.partition(";")[0].strip().lower()
    try:
        answer = read_json(body, "its answer") if kind == JSON else None
    except Refused:
        answer = None
    if not isinstance(answer, (dict, list)):
        return Back(failed(line, f"The council answered HTTP {status} with something that is no JSON-RPC."), True)
    if isinstance(answer, dict) and answer.get("id") is None and isinstance(answer.get("error"), dict):
        code, words = answer["error"].get("code"), said(answer["error"].get("message") or f"HTTP {status}")
        return Back(failed(line, words, code if isinstance(code, int) and not isinstance(code, bool) else SERVER_ERROR), True)
    if status >= 300 and not _answers(answer, line):
        return Back(failed(line, f"The council answered HTTP {status}."), True)
    if line.awaited and not _answers(answer, line):
        return Back(failed(line, "The council answered something else than the request."), True)
    return part(line, answer, body)


def streamed(line: Line, data: str) -> Back:
    """What one event of a streamed answer comes to. Raises Refused bad_json, number_out_of_range."""
    return part(line, read_json(data, "an event of its answer"), data.encode("utf-8", "replace"))


def part(line: Line, message: object, text: bytes) -> Back:
    """One message of the council on its way to the host."""
    is_answer = _answers(message, line)
    result = message.get("result") if isinstance(message, dict) else None
    if is_answer and isinstance(result, dict) and "protocolVersion" in result and "serverInfo" in result:
        agreed = result["protocolVersion"]
        return Back(told({**message, "result": with_channel(result)}), True, agreed if isinstance(agreed, str) else None)  # type: ignore[dict-item]
    # JSON has line ends between its tokens only, where a blank does as well.
    return Back(text.strip().replace(b"\r", b" ").replace(b"\n", b" ") + b"\n", is_answer)


def _answers(message: object, line: Line) -> bool:
    if isinstance(message, list):
        return line.is_batch
    return isinstance(message, dict) and "method" not in message and any(jsonrpc.same_id(message.get("id"), each) for each in line.awaited)


# -- the channel ---------------------------------------------------------------------------


def with_channel(result: Mapping) -> dict[str, object]:
    """An initialize result that says what this bridge adds."""
    capabilities = result.get("capabilities")
    capabilities = dict(capabilities) if isinstance(capabilities, dict) else {}
    experimental = capabilities.get("experimental")
    capabilities["experimental"] = {**(experimental if isinstance(experimental, dict) else {}), CHANNEL: {}}
    words = result.get("instructions")
    return {**result, "capabilities": capabilities, "instructions": f"{words}\n\n{INSTRUCTIONS}" if isinstance(words, str) and words else INSTRUCTIONS}


def pushes(answer: Mapping, own_id: int | None) -> list[bytes]:
    """A notification for each thread that a wait says needs the agent."""
    needs, events = answer.get("needs_you"), answer.get("events")
    threads = [each for each in needs if isinstance(each, int) and not isinstance(each, bool)] if isinstance(needs, list) else []
    rows = [each for each in events if isinstance(each, dict)] if isinstance(events, list) else []
    return [_push(each, [str(row.get("kind"))[:60] for row in rows if row.get("thread_id") == each and (own_id is None or row.get("actor_agent_id") != own_id)])
            for each in dict.fromkeys(threads)]


def _push(thread_id: int, kinds: Iterable[str]) -> bytes:
    happened = list(dict.fromkeys(_NO_WORD.sub("_", kind.replace(".", "_")) for kind in kinds))[:KINDS_TOLD_MAX]
    words = ", ".join(each.replace("_", " ") for each in happened) or "it waits for you"
    return told(jsonrpc.notification("notifications/claude/channel", {
        "content": f"Thread #{thread_id} of the council needs you ({words}). Read it with get_thread({thread_id}) and act if it asks something of you.",
        "meta": {"thread": str(thread_id), "kind": happened[0] if happened else "waiting"}}))

