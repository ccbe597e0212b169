"""What a model is told of a conversation that an earlier process held: statements, marked as history.

Only what was said, and how turns ended. Nothing of it is a result of the Board, and no
file's content is here.

Source  the MCP surface, "History files"
"""

from __future__ import annotations

from collections.abc import Sequence

from rulith.base.limits import RESTORED_CHARS_MAX

_OPENING = ("[History of this conversation, from before this program was started. These are statements of that time, not results of the "
            "Board; QueryBoard shows how things are.]")
_CLOSING = "[End of the history.]"
_SAID_CHARS_MAX = 2_000


def restored_words(turns: Sequence[dict]) -> str:
    """The newest turns that fit, oldest first; empty where there are none."""
    parts: list[str] = []
    room = RESTORED_CHARS_MAX
    for turn in reversed(turns):
        text = _turn_words(turn)
        if len(text) > room:
            break
        room -= len(text)
        parts.append(text)
    return "\n".join([_OPENING, *reversed(parts), _CLOSING]) if parts else ""


def _turn_words(turn: dict) -> str:
    files = "; ".join(str(row.get("name", "")) for row in turn.get("attachments") or [] if isinstance(row, dict))
    lines = [f"The person: {_cut(turn['text'])}" + (f" (attached: {_cut(files)})" if files else "")]
    lines += [f"You: {_cut(reply['text'])}" for reply in (turn.get("replies") or [])[-3:]]
    cases = [str(each) for each in turn.get("caseIds") or []]
    if cases:
        lines.append(f"(That turn worked on {', '.join(cases[:8])}.)")
    outcome = turn.get("outcome")
    if outcome not in ("", None, "conversation"):
        lines.append(f"(That turn ended: {outcome}.)")
    return "\n".join(lines)


def _cut(text: str) -> str:
    return text if len(text) <= _SAID_CHARS_MAX else text[:_SAID_CHARS_MAX - 1] + "…"
