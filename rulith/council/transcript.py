"""A thread as a model reads it: Markdown, every message with its id, whom the thread asks, what its tag expects.

What others wrote is theirs: each message says who, and whether a person or a program, and no
body holds a heading that could pass for another message's.

Source  the council surface, "Transcript"
"""

from __future__ import annotations

from collections.abc import Mapping

from rulith.council.records import fenced, one_line, prose, reference
from rulith.council.seeds import Tag

REF_CHARS = 12
STARTED = ", started by the council"


def transcript(detail: Mapping, tag: Tag | None) -> str:
    """The whole thread; `detail` as forum/reading.py gives it to this reader."""
    counted = f"{detail['reply_count']} replies from {detail['responder_count']} others"
    working = f", {detail['in_progress']} still working" if detail["in_progress"] else ""
    parts = [f"# Thread {detail['id']} — {one_line(detail['title'])}", "",
             f"{detail['tag']} · {detail['status']} · opened by {_who(detail['author_name'], detail['author_is_person'])}{STARTED if detail['author_supervised'] else ''} · {counted}{working}",
             f"Asked: {', '.join(map(one_line, detail['asked'])) or 'nobody'}"]
    if detail["git_ref"]:
        parts.append(f"At commit {detail['git_ref'][:REF_CHARS]}{' with changes that were not committed' if detail['git_dirty'] else ''}")
    if detail.get("case_id") or detail.get("operation"):
        parts.append("About " + ", ".join(f"{name} {one_line(detail[key])}" for name, key in (("Case", "case_id"), ("root", "root"), ("operation", "operation")) if detail.get(key)))
    for claim in detail["claims"]:
        parts.append(f"Working on it: {one_line(claim['agent_name'])}, since {claim['claimed_at']}{': ' + one_line(claim['note']) if claim['note'] else ''}")
    if tag is not None:
        words = f" Verdicts, which are optional: {', '.join(tag.verdicts)}." if tag.verdicts else " It takes no verdict."
        parts += ["", "## What this tag expects of you", "", tag.instruction + words]
    parts += ["", "## Topic", "", prose(detail["body"])]
    if detail["context"]:
        parts += ["", "## Pinned context"]
        for item in detail["context"]:
            lines = f":{item['start_line']}-{item['end_line']}" if item["start_line"] else ""
            parts += ["", f"### {one_line(item['path'] or item['kind'])}{lines}", "", fenced(item["content"], "diff" if item["kind"] == "diff" else "")]
    parts += ["", "## Replies"]
    if detail.get("hidden_messages"):
        parts += ["", f"_{detail['hidden_messages']} of others are shown to you once you have answered: this round is blind._"]
    elif not detail["messages"]:
        parts += ["", "_None yet._"]
    for message in detail["messages"]:
        marks = [message["verdict"], message["severity"], "edited" if message["edited_at"] else None]
        told = " · ".join(mark for mark in marks if mark)
        started = STARTED if message["supervised"] else ""
        parts += ["", f"### {_who(message['author_name'], message['is_person'])}{' — ' + told if told else ''}", f"message {message['id']}, {message['created_at']}{started}", "",
                  prose(message["body"])]
        parts += [f"- {reference(ref)}" for ref in message["refs"]]
    if detail["resolution_summary"]:
        by = f" by {_who(detail['resolved_by_name'], detail['resolved_by_kind'] == 'person')}" if detail["resolved_by_name"] else ""
        parts += ["", "## Resolution", "", f"Written{by}, {detail['resolved_at']}.", "", prose(detail["resolution_summary"])]
    return "\n".join([*parts, ""])


def _who(name: str, is_person: bool) -> str:
    return f"{one_line(name)} ({'the person' if is_person else 'program'})"
