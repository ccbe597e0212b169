"""A Worker's half of MCP towards a server that somebody else wrote, in every date it speaks.

Builds the requests, reads what is not ours to trust, and says what an answer means for the
one call that waits. Two dates shake hands (`initialize`, perhaps a session); the newest says
with every request who asks and in which date. Offers no sampling, no elicitation, no roots.
Never opens anything and never waits.

Source  MCP 2025-06-18, 2025-11-25, 2026-07-28; protocol/worker-contract.json, "mcp"
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from rulith.base.json_text import compact_json
from rulith.wire import jsonrpc
from rulith.wire.jsonrpc import Message, Request, RequestId, Response
from rulith.wire.mcp_stateless import (
    CAPABILITIES_KEY,
    METHOD_HEADER,
    NAME_HEADER,
    NAMED_BY,
    UNSUPPORTED_VERSION,
    VERSION_HEADER,
    VERSION_KEY,
)

STATELESS = "2026-07-28"
HANDSHAKES = ("2025-11-25", "2025-06-18")
DATES = (STATELESS, *HANDSHAKES)
CLIENT_KEY = "io.modelcontextprotocol/clientInfo"
SESSION_HEADER = "mcp-session-id"
PARAM_HEADER = "mcp-param-"
PARAM_MARK = "x-mcp-header"      # in an input schema: this argument is repeated as a header
# What the vault may not set on an MCP address: the protocol's own.
OWN_HEADERS = ("accept", "content-type", SESSION_HEADER, VERSION_HEADER, "last-event-id", METHOD_HEADER, NAME_HEADER)
TOOLS_MAX = 200                  # of one server; more is reported, not read
PAGES_MAX = 200                  # a page may be empty and still name the next
NAME_CHARS_MAX, DESCRIPTION_CHARS_MAX, SAID_CHARS_MAX = 256, 1_000, 600
_HEADER_TEXT = re.compile(r"[\x20-\x7e]*")
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}")


class BadPeer(Exception):
    """The server said something that this protocol does not have; its text says what."""


# -- what is sent --------------------------------------------------------------------------


def _client(version: str) -> dict[str, object]:
    return {"name": "rulith-worker", "version": version}


def request(date: str, request_id: RequestId, method: str, version: str, params: Mapping[str, object] | None = None) -> dict[str, object]:
    """One request as `date` wants it."""
    stated = dict(params or {})
    if date == STATELESS:
        stated["_meta"] = {VERSION_KEY: STATELESS, CLIENT_KEY: _client(version), CAPABILITIES_KEY: {}}
    return jsonrpc.request(request_id, method, stated)


def initialize(request_id: RequestId, date: str, version: str) -> dict[str, object]:
    return jsonrpc.request(request_id, "initialize", {
        "protocolVersion": date, "capabilities": {}, "clientInfo": _client(version),
    })  # fmt: skip


def headers_of(message: Mapping[str, object], date: str | None, session_id: str | None, mirrored: Mapping[str, str]) -> dict[str, str]:
    """The protocol's own headers of one POST. `date` is None until a handshake named it."""
    headers = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
    if date is not None:
        headers[VERSION_HEADER] = date
    if session_id is not None:
        headers[SESSION_HEADER] = session_id
    method, params = message.get("method"), message.get("params")
    if date == STATELESS and isinstance(method, str):
        headers[METHOD_HEADER] = method
        name = params.get(NAMED_BY.get(method, "")) if isinstance(params, dict) else None
        if isinstance(name, str):
            headers[NAME_HEADER] = header_text(name)
        headers |= mirrored
    return headers


def header_text(value: str) -> str:
    """A value as a header may carry it: as it stands, or wrapped where it could be read as something else."""
    plain = _HEADER_TEXT.fullmatch(value) and value == value.strip(" ") and not value.startswith("=?base64?")
    return value if plain else f"=?base64?{base64.b64encode(value.encode('utf-8', 'replace')).decode()}?="


# -- what comes back -----------------------------------------------------------------------


def reply_to(message: Request) -> dict[str, object]:
    """The answer to a server that asks us: alive, and nothing else."""
    if message.method == "ping":
        return jsonrpc.result(message.id, {})
    return jsonrpc.error(message.id, jsonrpc.METHOD_NOT_FOUND, "This client offers no such capability.")


def sort_out(messages: Sequence[Message], awaited: RequestId) -> tuple[Response | None, list[dict[str, object]]]:
    """The awaited answer, if it is among them, and what to say to the server's own requests."""
    found, replies = None, []
    for message in messages:
        if isinstance(message, Request):
            replies.append(reply_to(message))
        elif isinstance(message, Response) and found is None and jsonrpc.same_id(message.id, awaited):
            found = message
    return found, replies


def said(text: object) -> str:
    """A peer's words for a person: one line, bounded."""
    words = " ".join(str(text).split())
    return words if len(words) <= SAID_CHARS_MAX else words[: SAID_CHARS_MAX - 1] + "…"


def error_text(error: Mapping[str, object]) -> str:
    """A JSON-RPC error in one line."""
    return said(f"{error.get('message') or 'no message'} (error {error.get('code')})")


def stated_dates(response: Response) -> list[str]:
    """The dates that a discovery, or a refusal of one, names; empty when it names none."""
    if response.result is not None:
        dates: object = response.result.get("supportedVersions")
    else:
        data = (response.error or {}).get("data")
        dates = data.get("supported") if (response.error or {}).get("code") == UNSUPPORTED_VERSION and isinstance(data, dict) else None
    return [date for date in dates if isinstance(date, str)] if isinstance(dates, list) else []


def agreed_date(result: Mapping[str, object]) -> str:
    """The date that an initialize result settles on. Raises BadPeer where it is none of ours."""
    date = result.get("protocolVersion")
    if date not in HANDSHAKES:
        raise BadPeer(f"it speaks MCP {str(date)[:20]!r}, and this Worker {', '.join(DATES)}")
    return str(date)


@dataclass(frozen=True)
class Offered:
    """A Tool as the server offers it; `mirrored` maps a header's name to the place of its argument."""

    name: str
    description: str
    schema: Mapping[str, object] = field(repr=False)
    mirrored: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def headers(self, arguments: Mapping[str, object]) -> dict[str, str]:
        """The headers that repeat this call's arguments; an argument that is not given has none."""
        headers = {}
        for name, place in self.mirrored.items():
            value: object = arguments
            for step in place:
                value = value.get(step) if isinstance(value, Mapping) else None
            if isinstance(value, (str, bool, int, float)):
                headers[PARAM_HEADER + name] = header_text(value if isinstance(value, str) else compact_json(value))
        return headers


def read_page(result: Mapping[str, object]) -> tuple[list[Offered], str | None]:
    """The Tools of one page, and the cursor of the next. Raises BadPeer."""
    rows, cursor = result.get("tools"), result.get("nextCursor")
    if not isinstance(rows, list) or not (cursor is None or isinstance(cursor, str)):
        raise BadPeer("its tools/list holds no list of tools")
    found = []
    for row in rows:
        if not isinstance(row, dict) or not isinstance(row.get("name"), str) or not 1 <= len(row["name"]) <= NAME_CHARS_MAX:
            raise BadPeer("its tools/list holds a tool without a usable name")
        schema = row.get("inputSchema")
        schema = schema if isinstance(schema, dict) else {}
        description = row.get("description")
        description = description if isinstance(description, str) else ""
        mirrored = _mirrored(schema)
        if mirrored is not None:
            found.append(Offered(row["name"], description[:DESCRIPTION_CHARS_MAX], schema, mirrored))
    return found, cursor or None


def _mirrored(schema: Mapping[str, object]) -> dict[str, tuple[str, ...]] | None:
    """Header -> place of the argument it repeats; None where a mark is not lawful, and with it the Tool."""
    found: dict[str, tuple[str, ...]] = {}
    for place, row in _positions(schema):
        if PARAM_MARK not in row:
            continue
        mark = row[PARAM_MARK]
        lawful = place and isinstance(mark, str) and _HEADER_NAME.fullmatch(mark) and row.get("type") in ("string", "integer", "boolean")
        if not lawful or str(mark).lower() in found:
            return None
        assert place is not None
        found[str(mark).lower()] = place
    return found


def _positions(schema: Mapping[str, object]) -> Iterator[tuple[tuple[str, ...] | None, Mapping[str, object]]]:
    """Every schema within `schema`, with its place where only `properties` lead to it, else None."""
    waiting: list[tuple[tuple[str, ...] | None, object]] = [((), schema)]
    while waiting:
        place, row = waiting.pop()
        if isinstance(row, list):
            waiting += [(None, each) for each in row]
        if not isinstance(row, dict):
            continue
        yield place, row
        for word, below in row.items():
            if word == "properties" and isinstance(below, dict):
                waiting += [(None if place is None else (*place, name), each) for name, each in below.items()]
            elif word in ("$defs", "definitions", "patternProperties", "dependentSchemas") and isinstance(below, dict):
                waiting += [(None, each) for each in below.values()]
            elif word not in ("default", "examples", "const", "enum") and isinstance(below, (dict, list)):
                waiting.append((None, below))


@dataclass(frozen=True)
class Told:
    """The Tool worked; `text` is what it says, its structured content first."""

    text: str


@dataclass(frozen=True)
class Denied:
    """The server itself says that the Tool did not do it."""

    reason: str


def judge_call(response: Response) -> Told | Denied:
    """What an answer to tools/call says. Raises BadPeer where it cannot be told."""
    if response.error is not None:
        return Denied(f"The server refused the call: {error_text(response.error)}")
    result = response.result
    assert result is not None
    kind = result.get("resultType", "complete")
    if kind == "input_required":
        return Denied("The Tool asks for input in the middle of its work, which no Worker gives.")
    if kind != "complete":
        raise BadPeer(f"its result is of the kind {str(kind)[:40]!r}")
    content, structured = result.get("content", []), result.get("structuredContent")
    if not isinstance(content, list) or not (structured is None or isinstance(structured, dict)):
        raise BadPeer("its result holds no content")
    text = "\n".join(filter(None, map(_block, content)))
    if result.get("isError") is True:
        return Denied(text or (compact_json(structured) if structured else "The Tool reports an error and says nothing about it."))
    return Told(compact_json(structured) if structured is not None else text or "(no output)")


def _block(block: object) -> str:
    """One content block as text; what is no text is named."""
    if not isinstance(block, dict):
        return ""
    if block.get("type") == "text":
        return block["text"] if isinstance(block.get("text"), str) else ""
    held = block.get("resource")
    if isinstance(held, dict) and isinstance(held.get("text"), str):
        return held["text"]
    return f"[{said(block.get('type'))[:40]}: {said(block.get('mimeType') or block.get('uri') or 'not text')[:80]}]"
