"""What became of one ApplyAction, in one word and the Board's own words.

Source  the MCP surface, "ApplyAction"
"""

from __future__ import annotations

from rulith.runtime.answers import Answer, Kind
from rulith.runtime.strip import Entry
from rulith.runtime.surface import flat

# The public outcomes; any other combination is none.
_PUBLIC = {
    ("confirmed", True): "done",
    ("failed", False): "failed",
    ("refused", False): "refused",
    ("unknown", None): "unknown",
}


def applied(answer: Answer, arguments: dict) -> tuple[Entry | None, dict]:
    """The call's own strip entry, and its row for a result document."""
    own = next((entry for entry in answer.operations if entry.tool == "ApplyAction"), None)
    args = arguments.get("args")
    row: dict = {"action": str(arguments.get("action", "")), "args": args if isinstance(args, dict) else {}}
    row["state"] = state_of(answer)
    words = _words_of(answer, own)
    if words:
        row["summary"] = words
    if answer.code:
        row["errorCode"] = answer.code
    return own, row


def state_of(answer: Answer) -> str:
    """One word for what the call came to; `unknown` wherever the answer does not say."""
    if answer.kind is Kind.UNSENT:
        return "unsent"
    if answer.kind in (Kind.NOT_EXECUTED, Kind.REFUSED):
        return "refused"
    if answer.kind is Kind.HELD:
        return answer.state if answer.state != "unlisted" else "unknown"
    if answer.kind is not Kind.ACCEPTED:
        return "unknown"
    status, ok = answer.result.get("status"), answer.result.get("ok")
    is_public = answer.result.get("done") is True and isinstance(status, str) and (ok is None or isinstance(ok, bool))
    return _PUBLIC.get((status, ok), "unknown") if is_public else "unknown"


def _words_of(answer: Answer, own: Entry | None) -> str:
    if answer.kind in (Kind.NOT_EXECUTED, Kind.REFUSED):
        return f"{flat(answer.teaching)} ({answer.code})"
    said = answer.body.get("reason") or answer.body.get("summary") or (own.words if own else "")
    return flat(said)
