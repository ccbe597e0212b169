"""Tools for models without tools: the same six schemas in the system prompt, calls as text.

A reply that is exactly one JSON object `{"tool": …, "input": {…}}`, fenced or not, is a
call; every other reply is text. The transcript is rendered as plain user and assistant
messages, so a conversation can change to this form half-way.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace

from rulith.base.errors import Refused
from rulith.dialects.arguments import read_object
from rulith.dialects.schemas import for_provider
from rulith.dialects.transcript import (
    CallIds, Entry, ModelEntry, ProposedCall, Reply, ResultsEntry, UserEntry, safe_name,
)

_FENCE = re.compile(r"```[a-zA-Z]*\s*\n(.*?)\n?\s*```", re.DOTALL)
_RULE = (
    "You can use the tools below. To use one, answer with exactly one JSON object and nothing else: "
    '{"tool": "<name>", "input": {…}}. One tool per answer; its result arrives in the next message. '
    "Any other answer is text for the person you work for."
)
# Wordings of real servers: "does not support tools", "'tools' is not supported with this model",
# "tool choice requires --enable-auto-tool-choice", "Unrecognized request argument supplied: tools".
_SUBJECT = re.compile(r"\b(tools?|tool[ _-](use|choice|calling|calls?)|functions?|function[ _-]call(ing|s)?)\b", re.I)
_DENIAL = re.compile(
    r"(do(es)?n['’]?t|do(es)? not|not|cannot|can['’]?t|no)\s+(yet\s+|currently\s+)?(be\s+)?(support|available|enabled|allowed)"
    r"|unsupported|not[ _]supported|unrecogni[sz]ed (request )?(argument|parameter|field)"
    r"|unknown (argument|parameter|field)|requires --enable-auto-tool-choice", re.I)
_ABOUT_A_MESSAGE = re.compile(r"tool_call_id|preceding message|invalid schema|role ['\"]tool['\"]", re.I)


def says_tools_unsupported(status: int, text: str) -> bool:
    """Whether an HTTP answer of the provider means: this model takes no tools."""
    return (status == 400 and bool(_SUBJECT.search(text)) and bool(_DENIAL.search(text))
            and not _ABOUT_A_MESSAGE.search(text))


def system_with_tools(system: str, tools: Sequence[dict]) -> str:
    rows = "\n".join(
        json.dumps({"tool": tool["name"], "description": tool["description"], "input": for_provider(tool["inputSchema"])},
                   ensure_ascii=False)
        for tool in tools)
    return f"{system}\n\n{_RULE}\n\n{rows}"


def as_plain(entries: Sequence[Entry]) -> list[Entry]:
    """`entries` with calls and results spelled out as text."""
    plain: list[Entry] = []
    for entry in entries:
        if isinstance(entry, UserEntry):
            plain.append(entry)
        elif isinstance(entry, ModelEntry):
            spoken = [entry.text] if entry.text.strip() else []
            spoken += [json.dumps({"tool": safe_name(call.name), "input": json.loads(call.replayed)}, ensure_ascii=False)
                       for call in entry.calls]
            plain.append(ModelEntry("\n".join(spoken), carry=entry.carry))
        else:
            plain.append(UserEntry("\n\n".join(f"Result of {safe_name(row.tool)}:\n{row.text}" for row in entry.results)))
    return plain


def may_be_call(text: str) -> bool:
    """Whether a reply that begins like this could still be a call: it is not shown while it comes in."""
    return text.lstrip()[:1] in ("", "{", "`")


def as_words(entries: Sequence[Entry]) -> list[Entry]:
    """`entries` as plain words, without anything that a provider could find wrong in calls, results or reasoning."""
    return [ModelEntry(entry.text) if isinstance(entry, ModelEntry) else entry for entry in as_plain(entries)]


def read_call(reply: Reply, ids: CallIds, *, max_tokens: int | None = None) -> Reply:
    """`reply` with its text read as a call where it is exactly one. A call that reached the output limit may have been cut."""
    if reply.stop != "said" or reply.calls:
        return reply
    text = reply.text.strip()
    fenced = _FENCE.fullmatch(text)
    candidate = fenced.group(1).strip() if fenced else text
    call = _call(candidate, ids) if candidate.startswith("{") and candidate.endswith("}") else None
    if call is None:
        return reply
    if max_tokens is not None and reply.usage.output_tokens is not None and reply.usage.output_tokens >= max_tokens:
        return replace(reply, stop="truncated", habits=reply.habits | {"calls_cut"})
    return replace(reply, text="", calls=(call,))


def _call(candidate: str, ids: CallIds) -> ProposedCall | None:
    try:
        form = json.loads(candidate)
    except (ValueError, RecursionError):
        return None
    if not isinstance(form, dict) or set(form) != {"tool", "input"} or not isinstance(form["tool"], str):
        return None
    name = form["tool"]
    try:
        arguments = read_object(candidate, name)["input"]
        if not isinstance(arguments, dict):
            raise Refused("bad_tool_arguments", tool=name, problem="their `input` is not an object")
    except Refused as refusal:
        return ProposedCall(ids.mint(), name, None, refusal)
    return ProposedCall(ids.mint(), name, arguments, replayed=json.dumps(arguments, ensure_ascii=False))
