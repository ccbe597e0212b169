"""The council's prompts, one for each tag, and its resources, one for each thread: names, addresses and words.

Source  the council surface, "Prompts, resources, stream"
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from rulith.council.records import one_line
from rulith.council.seeds import TAGS, Tag

RESOURCES_MAX = 100
MARKDOWN = "text/markdown"
TEMPLATE = {"uriTemplate": "rivendell://thread/{id}", "name": "thread", "description": "One thread in full.", "mimeType": MARKDOWN}
_URI = re.compile(r"rivendell://thread/([0-9]{1,18})")


def listed() -> list[dict]:
    return [{"name": tag.key.lower(), "title": tag.label, "description": f"Answer a thread tagged {tag.key}.",
             "arguments": [{"name": "thread_id", "description": "The thread to answer.", "required": True}]} for tag in TAGS]


def answer_to(tag: Tag, thread_id: str | None) -> dict:
    """One message of the user: what the tag expects, then what to do."""
    named = one_line(thread_id).strip()[:20] if thread_id else "<thread id>"
    words = f" A verdict is optional: {', '.join(tag.verdicts)}." if tag.verdicts else " It takes no verdict."
    text = f"{tag.instruction}\n\nRead it with get_thread({named}) first and post one reply.{words}"
    return {"description": tag.label, "messages": [{"role": "user", "content": {"type": "text", "text": text}}]}


def uri_of(thread_id: int) -> str:
    return f"rivendell://thread/{thread_id}"


def thread_of(uri: object) -> int | None:
    """The thread that an address names; None for any other address."""
    match = _URI.fullmatch(uri) if isinstance(uri, str) else None
    return int(match[1]) if match else None


def resource(row: Mapping) -> dict:
    """A thread in a list of resources; `row` is its summary."""
    return {"uri": uri_of(row["id"]), "name": f"#{row['id']} {one_line(row['title'])}", "description": f"{row['tag']} · {row['status']}", "mimeType": MARKDOWN}
