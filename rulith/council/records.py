"""The decision record of a resolved thread: Markdown with a front matter, in which no content can break out of its place.

Pure: the thread's detail in, a file name and its text out.

Source  the council surface, "Decision record"
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

SLUG_CHARS_MAX = 60
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})", re.MULTILINE)
_HEADING, _UNDERLINE = re.compile(r" {0,3}#"), re.compile(r" {0,3}(-+|=+)[ \t]*")
_TAIL = "Written by the council of rulith. The threads of this folder are decisions as they were taken; nothing here approves an operation."


def slug(title: str) -> str:
    """The title as a part of a file's name."""
    kept = "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in title.lower())
    return re.sub("-+", "-", kept).strip("-")[:SLUG_CHARS_MAX].strip("-") or "thread"


def file_name(thread_id: int, title: str) -> str:
    return f"{thread_id:04d}-{slug(title)}.md"


def fenced(content: str, language: str = "") -> str:
    """`content` between fences longer than any in it."""
    longest = max((len(mark) for mark in re.findall("`+", content)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{content}{'' if content.endswith(chr(10)) else chr(10)}{fence}"


def one_line(text: str) -> str:
    return " ".join(text.split())


def quoted(text: str) -> str:
    """A text as a value of the front matter: one line, in quotes."""
    return json.dumps(one_line(text), ensure_ascii=False)


def prose(text: str) -> str:
    """Prose as it was written, its headings two levels down and its open fence closed, so that what follows stays what it is."""
    lines, fence = [], ""
    for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n"):
        mark = _FENCE.match(line)
        if fence:
            if mark and mark[1][0] == fence[0] and len(mark[1]) >= len(fence) and not line.strip().strip(fence[0]):
                fence = ""
        elif mark:
            fence = mark[1]
        elif _HEADING.match(line):
            line = "###" + line.lstrip(" ")
        elif _UNDERLINE.fullmatch(line):
            line = "\\" + line.lstrip()
        lines.append(line)
    return "\n".join([*lines, fence] if fence else lines)


def record_text(detail: Mapping) -> str:
    """The whole record of a thread's detail; see forum/reading.py for its members."""
    head = [("thread", detail["id"]), ("title", quoted(detail["title"])), ("room", detail["room_name"]), ("tag", detail["tag"]), ("status", detail["status"]),
            ("opened_by", quoted(detail["author_name"])), ("created", detail["created_at"])]
    if detail.get("resolved_at"):
        head += [("resolved", detail["resolved_at"]), ("resolved_by", quoted(detail["resolved_by_name"] or "")), ("resolved_by_kind", detail["resolved_by_kind"])]
    if detail.get("settled_verdict"):
        head.append(("verdict", detail["settled_verdict"]))
    if detail.get("git_ref"):
        head.append(("git_ref", detail["git_ref"]))
    if detail.get("git_dirty"):
        head.append(("git_dirty", "true"))
    if detail.get("cost_usd"):
        head.append(("cost_usd", f"{detail['cost_usd']:.4f}"))
    parts = ["---", *(f"{name}: {value}" for name, value in head), "---", "", f"# {one_line(detail['title'])}", "", "## Resolution", "",
             prose(detail.get("resolution_summary") or ""), "", f"## Topic — {one_line(detail['author_name'])} ({detail['tag']})", "", prose(detail["body"])]
    if detail["context"]:
        parts += ["", "## Context as posted"]
        for item in detail["context"]:
            lines = f":{item['start_line']}-{item['end_line']}" if item.get("start_line") else ""
            language = "diff" if item["kind"] == "diff" else _extension(item.get("path"))
            parts += ["", f"### {one_line(item.get('path') or item['kind'])}{lines}", "", fenced(item["content"], language)]
    parts += ["", "## Discussion"]
    if not detail["messages"]:
        parts += ["", "_No replies._"]
    for message in detail["messages"]:
        marks = [f"**{message['verdict']}**" if message["verdict"] else "", message["severity"] or "", "_edited_" if message["edited_at"] else ""]
        told = " · ".join(mark for mark in marks if mark)
        parts += ["", f"### {one_line(message['author_name'])}{' — ' + told if told else ''}", "", f"<sub>{message['created_at']}</sub>", "", prose(message["body"])]
        if message["refs"]:
            parts += ["", "References:", "", *(f"- {reference(ref)}" for ref in message["refs"])]
    return "\n".join([*parts, "", "---", "", f"_{_TAIL}_", ""])


def reference(ref: Mapping) -> str:
    """`path:line` and its note, on one line."""
    place = one_line(str(ref["path"])).replace("`", "'") + (f":{ref['line']}" if ref.get("line") else "")
    return f"`{place}`" + (f" {one_line(ref['note'])}" if ref.get("note") else "")


def _extension(path: str | None) -> str:
    tail = (path or "").rpartition("/")[2].rpartition(".")
    return tail[2] if tail[1] and tail[2].isascii() and tail[2].isalnum() else ""
