"""What a run tells while it goes: one event per thing that happened, to whoever listens.

Types and fields are those of the surface's event list. A sink decides what to show;
nothing that runs depends on anybody listening. Inputs and outputs are display copies,
cut at a bound.

Source  the MCP surface, "HTTP service", event types
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Protocol

from rulith.runtime.surface import flat

SHOWN_BYTES_MAX = 32_768
SHOWN_FIRST = "previous_result_undelivered"      # a refusal that is none: its answer delivers what an earlier call came to


class Sink(Protocol):
    def __call__(self, type_: str, **fields: object) -> None: ...


def nobody(type_: str, **fields: object) -> None:
    """The sink of a run without listeners."""


def fan_out(*sinks: Sink) -> Sink:
    def tell(type_: str, **fields: object) -> None:
        for sink in sinks:
            sink(type_, **fields)
    return tell


def shown(value: object) -> object:
    """A display copy: the value itself, or its JSON text cut on a character boundary."""
    if 2 * len(json.dumps(value)) <= SHOWN_BYTES_MAX:        # the encoder that indents is ten times slower
        return value
    text = json.dumps(value, ensure_ascii=False, indent=1)
    data = text.encode("utf-8", "replace")
    if len(data) <= SHOWN_BYTES_MAX:
        return value
    return {"text": data[:SHOWN_BYTES_MAX].decode("utf-8", "ignore"), "truncated": True, "totalBytes": len(data)}


_STAGES = {"at_worker": " (it runs there)", "not_dispatched": " (no Worker has taken it yet)"}


class TerminalLines:
    """Events as short lines for a person, on stderr."""

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write = write

    def __call__(self, type_: str, **fields: object) -> None:
        line = self._line(type_, fields)
        if line:
            self._write(line)

    def _line(self, type_: str, fields: dict) -> str:
        if fields.get("cmd") == "QueryBoard" and (type_ == "tool-call" or fields.get("accepted")):
            return ""                                        # a read that worked is no news
        if type_ == "tool-call":
            return f"  → {_call_words(str(fields['cmd']), fields['input'])}"
        if type_ == "tool-result":
            return f"  ← {_result_words(fields)}"
        if type_ == "held-call":
            return f"  … waiting for the Worker: {flat(fields.get('label', ''), 160)}{_STAGES.get(fields.get('stage'), '')}; " \
                   f"at most {fields['atMostS']:g} s in all"
        if type_ == "propose" and fields.get("calls"):       # the last words of a turn are its result
            return f"  {flat(fields['say'], 400)}"
        if type_ == "case-open":
            return f"  Case {fields['caseId']} is in focus"
        if type_ == "case-closed":
            return f"  Case {fields['caseId']} is closed: {fields['disposition']}"
        if type_ in ("loss", "model-error", "blocked", "error", "model-wait"):
            return f"  ! {fields.get('message', type_)}"
        if type_ == "model-card" and fields.get("new"):
            return f"  (this model service {flat(fields['new']['words'], 200)})"
        if type_ == "shadow":
            return f"  review: {'; '.join(flat(each, 240) for each in fields['findings']) or flat(fields.get('message') or fields['state'], 240)}"
        if type_ in ("task-start", "task-done"):
            return f"  {'▸' if type_ == 'task-start' else '▪'} {fields['task']} {flat(fields.get('outcome') or fields.get('text', ''), 120)}"
        if type_ == "compact":
            return "  (older messages of this conversation were condensed)"
        return ""


def _call_words(tool: str, arguments: object) -> str:
    if not isinstance(arguments, dict):
        return tool
    if tool == "ApplyAction":
        given = arguments.get("args") if isinstance(arguments.get("args"), dict) else {}
        words = ", ".join(f"{name}={value}" for name, value in given.items())
        return flat(f"{tool} {arguments.get('action', '')}({words})", 300)
    named = arguments.get("caseType") or arguments.get("caseId") or arguments.get("root") or arguments.get("ref") or ""
    return flat(f"{tool} {named}", 200).strip()


def _result_words(fields: dict) -> str:
    output = fields.get("output")
    body = output if isinstance(output, dict) else {}
    if fields.get("code") == SHOWN_FIRST:
        return f"shown an earlier outcome first{_earlier(body)}"
    if fields.get("transportFailed"):
        return f"no answer ({body.get('errorCode')})"
    if fields.get("held"):
        return str(body.get("state", "held"))
    if fields.get("accepted"):
        result = body.get("result") if isinstance(body.get("result"), dict) else {}
        status = result.get("status") or "accepted"
        return f"the Case is {status}" if fields.get("cmd") == "OpenCase" and status != "accepted" else str(status)
    return flat(f"refused: {body.get('errorCode', '')} {body.get('teaching', '')}", 400)


def _earlier(body: dict) -> str:
    """Which outcome the answer showed, in the strip's own words."""
    rows = body.get("operations") if isinstance(body.get("operations"), list) else []
    shown_row = next((row for row in rows if isinstance(row, dict) and isinstance(row.get("result"), dict)), None)
    return flat(f": {shown_row.get('label', '')} {shown_row.get('state', '')}", 300) if shown_row is not None else ""
