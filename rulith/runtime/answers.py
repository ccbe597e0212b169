"""What a tool call came to, read from its answer and never guessed.

Seven kinds. Accepted, refused and not-executed are the Board's own words; held says who
is being waited for; lost says that no answer arrived although the call may have run;
unsent that nothing left this machine; unobserved that a read failed and nothing changed.

Source  the MCP surface, "Result envelope of a tool call" and "Control and failure answers".
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from enum import Enum

from rulith.base.errors import Refused
from rulith.base.json_text import read_json
from rulith.runtime.strip import SETTLED, UNRESOLVED, Entry, Key, read_strip
from rulith.wire.contract import mcp_contract

SURFACE = mcp_contract().namespace
TOOLS = mcp_contract().tool_names


class Kind(Enum):
    ACCEPTED = "accepted"
    REFUSED = "refused"
    NOT_EXECUTED = "not_executed"
    HELD = "held"
    LOST = "lost"
    UNSENT = "unsent"
    UNOBSERVED = "unobserved"


@dataclass(frozen=True)
class Focused:
    case_id: str
    root: str


@dataclass(frozen=True)
class Answer:
    """One call's answer.

    body      the one JSON object for the model; it holds no host metadata
    ordinal   the operation's number where progress named it; never shown to a model
    focused   the focus membership the answer reported, None where it reported none
    own       which strip entry is this call's, where waiting for it has found that out
    before    the operations known when it was sent, where waiting for it has noted them
    has_strip whether it carried a strip of which every entry could be read
    """

    tool: str
    kind: Kind
    body: dict
    ordinal: int | None = None
    focused: tuple[Focused, ...] | None = None
    affected: tuple[str, ...] | None = None
    operations: tuple[Entry, ...] = field(default=(), repr=False)
    own: Key | None = None
    has_strip: bool = False
    before: frozenset[Key] = field(default=frozenset(), repr=False)

    @property
    def text(self) -> str:
        return compact(self.body)

    @property
    def code(self) -> str:
        value = self.body.get("errorCode")
        return value if isinstance(value, str) else ""

    @property
    def teaching(self) -> str:
        value = self.body.get("teaching")
        return value if isinstance(value, str) else ""

    @property
    def state(self) -> str:
        value = self.body.get("state")
        return value if isinstance(value, str) else ""

    @property
    def result(self) -> dict:
        value = self.body.get("result")
        return value if isinstance(value, dict) else {}

    @property
    def view(self) -> dict:
        """The newest position the answer carries."""
        for name in ("currentView", "view", "payload"):
            value = self.body.get(name)
            if isinstance(value, dict):
                return value
        return {}

    @property
    def is_error(self) -> bool:
        return self.kind not in (Kind.ACCEPTED, Kind.HELD)

    @property
    def delivers(self) -> bool:
        """Whether the Board counts an outcome as shown to this session by this answer."""
        own = self.kind in (Kind.ACCEPTED, Kind.REFUSED) and self.tool != "QueryBoard"
        return own or any(entry.has_result or entry.is_withheld for entry in self.operations)


def compact(value: object) -> str:
    """`value` as one line of JSON; a lone surrogate, which has no UTF-8, becomes U+FFFD."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


@dataclass(frozen=True)
class Meta:
    agent_id: str
    focused: tuple[Focused, ...]
    affected: tuple[str, ...] | None
    operations: object


def read_meta(result: dict) -> Meta | None:
    """The host metadata of a result, or None when there is none that can be read."""
    meta = result.get("_meta")
    own = meta.get(SURFACE) if isinstance(meta, dict) else None
    if not isinstance(own, dict) or not isinstance(own.get("agentId"), str) or not own["agentId"]:
        return None
    rows = own.get("focusedRoots")
    if not isinstance(rows, list):
        return None
    focused = []
    for row in rows:
        if not isinstance(row, dict) or not isinstance(row.get("caseId"), str) or not isinstance(row.get("root"), str):
            return None
        focused.append(Focused(row["caseId"], row["root"]))
    affected = own.get("affectedCases")
    listed = tuple(case for case in affected if isinstance(case, str)) if isinstance(affected, list) else None
    return Meta(own["agentId"], tuple(focused), listed, own.get("operations"))


@dataclass(frozen=True)
class Unreadable:
    """The answer cannot be taken. `code` is what the model is told; `problem` goes to the log."""

    code: str
    problem: str


def read_answer(tool: str, result: dict, *, agent_id: str, ordinal: int | None) -> Answer | Unreadable:
    """The answer in a `tools/call` result, by the client's acceptance rules."""
    body = _decoded(result)
    if body is None:
        return Unreadable("upstream_unavailable", "its text is not one JSON object")
    meta = read_meta(result)
    if body.get("accepted") is True and result.get("isError") is True:
        return Unreadable("mcp_envelope_inconsistent", "it is accepted and an error at once")
    strip = read_strip(body.get("operations"))
    kind = _query_kind(body, meta, strip, agent_id) if tool == "QueryBoard" else _kind(tool, body)
    if kind is None:
        return Unreadable("upstream_unavailable", "it has none of the forms of an answer")
    return Answer(tool, kind, body, ordinal, None if meta is None else meta.focused,
                  None if meta is None else meta.affected, tuple(strip or ()), has_strip=strip is not None)


def recorded_answer(tool: str, recorded: object) -> dict | None:
    """The object inside a strip entry's `result`, when it passes the rules of an answer itself."""
    if not isinstance(recorded, dict):
        return None
    body = _decoded(recorded)
    if body is None or (body.get("accepted") is True and recorded.get("isError") is True):
        return None
    return body if _kind(tool, body) in (Kind.ACCEPTED, Kind.REFUSED) else None


def kind_of(tool: str, body: dict) -> Kind:
    """The kind of an object that recorded_answer() returned."""
    kind = _kind(tool, body)
    assert kind is not None
    return kind


def _decoded(result: dict) -> dict | None:
    content = result.get("content")
    texts = [item.get("text") for item in content if isinstance(item, dict) and item.get("type") == "text"] \
        if isinstance(content, list) else []
    if len(texts) != 1 or not isinstance(texts[0], str):
        return None
    try:
        body = read_json(texts[0], "the answer's text")
    except Refused:
        return None
    return body if isinstance(body, dict) else None


def _kind(tool: str, body: dict) -> Kind | None:
    accepted = body.get("accepted")
    if body.get("requestExecuted") is False:
        return Kind.NOT_EXECUTED
    if "accepted" not in body and isinstance(body.get("operations"), list) and "errorCode" not in body:
        state = body.get("state")
        withheld = state in SETTLED and body.get("contentWithheld") is True
        return Kind.HELD if state in UNRESOLVED or withheld else None
    if isinstance(body.get("errorCode"), str):
        return Kind.REFUSED
    if tool == "ReadArtifact":
        reference = body.get("result")
        named = isinstance(reference, dict) and isinstance(reference.get("ref"), str) and reference["ref"]
        return Kind.ACCEPTED if accepted is True and named else None
    if isinstance(accepted, bool):
        return Kind.ACCEPTED if accepted else Kind.REFUSED
    return None


def _query_kind(body: dict, meta: Meta | None, strip: list[Entry] | None, agent_id: str) -> Kind | None:
    if meta is None or meta.agent_id != agent_id or strip is None:
        return None
    if body.get("accepted") is True:
        return Kind.ACCEPTED if isinstance(body.get("view"), dict) else None
    return Kind.REFUSED if isinstance(body.get("errorCode"), str) else None


# Answers made here, where no answer came or nothing was sent.

_LOOK = ("It may or may not have run. Look for it in `operations` of the next answer before deciding anything, "
         "and do not repeat it blindly.")
_ADMITTED = "The Board had admitted it; its outcome will show in `operations`. Do not repeat it."


def lost(tool: str, code: str, ordinal: int | None) -> Answer:
    """The answer of a call whose own answer did not arrive: no claim about what happened."""
    seen = _ADMITTED if ordinal is not None else _LOOK
    body = {"errorCode": code, "teaching": f"The answer to this call was lost in transport ({code}). {seen}"}
    return Answer(tool, Kind.LOST, body, ordinal)


def unsent(tool: str, code: str, teaching: str) -> Answer:
    """The answer of a call that never left."""
    return Answer(tool, Kind.UNSENT, {"accepted": False, "requestExecuted": False, "tool": tool,
                                      "errorCode": code, "teaching": teaching})


def unobserved(problem: str) -> Answer:
    return Answer("QueryBoard", Kind.UNOBSERVED, {
        "accepted": False, "errorCode": "board_observation_unavailable",
        "teaching": f"The Board could not be read ({problem}). Nothing else changed; read again when you need it."})
