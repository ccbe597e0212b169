"""The decision record of a resolved thread: Markdown with a front matter, in which no content can break out of its place.

Pure: the thread's detail in, a file name and its text out.

Source  the council surface, "Decision record"
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

SLUG_CHARS_MAX = 60
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})", re.MULTILINE)
_HEADING, _UNDERLINE = re.compile(r" {0,3}#"), re.compile(r" {0,3}(-+|=+)[ \t]*")
_MARKS = re.compile(r"[\\`*_\[\]<>&~]")
_TAG = re.compile(r"(?<!\\)(\\*)<(?=[A-Za-z/!?])")
_BREAKS = re.compile("\r\n|[\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")      # where some reader begins a new line
_SPAN = re.compile(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)|[^`]+|`+")     # code with its backticks as group 1, or what is none
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
    """A text as a value of the front matter: one line, in quotes, every letter that does not show as its number, and `<` too: a page that knows no front matter shows it."""
    told = json.dumps(one_line(text), ensure_ascii=False).replace("<", "\\u003c")
    return "".join(letter if letter.isprintable() else json.dumps(letter)[1:-1] for letter in told)


def inline(text: str) -> str:
    """A title, a name or a note on one line, in which nothing is markup."""
    return _MARKS.sub(r"\\\g<0>", one_line(text))


def prose(text: str, *, is_page: bool = False) -> str:
    """Prose as it was written, its headings two levels down and its open fence closed, so that what follows stays what it is.

    is_page  it is for a page too: no tag begins outside code, so none hides or holds what follows
    """
    lines, told, fence = [], [], ""          # told: the numbers of the lines that are no code
    for line in _BREAKS.sub("\n", text).split("\n"):
        mark = _FENCE.match(line)
        if fence:
            if mark and mark[1][0] == fence[0] and len(mark[1]) >= len(fence) and not line.strip(" \t").strip(fence[0]):
                fence = ""
        elif mark and not (mark[1][0] == "`" and "`" in line[mark.end():]):
            fence = mark[1]
            line = line.lstrip(" ").replace("|", " ")      # indented in a list, it would end with the item; with bars, some readers see a table
        else:
            told.append(len(lines))
            if _HEADING.match(line):
                line = "###" + line.lstrip(" ")
            elif _UNDERLINE.fullmatch(line):
                line = "\\" + line.lstrip()
        lines.append(line)
    if is_page:
        spans = all(_is_closed(lines[number]) for number in told)
        for number in told:
            lines[number] = _untagged(lines[number], spans)
    return "\n".join([*lines, fence] if fence else lines)


def _untagged(line: str, spans: bool) -> str:
    """The line without a tag that begins in it; `spans`: what stands between equal backticks is code and stays."""
    if not spans:
        return _TAG.sub(_escaped, line)
    return "".join(each[0] if each[1] else _TAG.sub(_escaped, each[0]) for each in _SPAN.finditer(line))


def _escaped(found: re.Match) -> str:
    return found[0] if len(found[1]) % 2 else f"{found[1]}\\<"


def _is_closed(line: str) -> bool:
    """Whether every reader finds the same code between the backticks of this line, whatever lines surround it."""
    return "`" not in line or ("|" not in line and "\\" not in line and all(each[1] or "`" not in each[0] for each in _SPAN.finditer(line)))


def record_text(detail: Mapping) -> str:
    """The whole record of a thread's detail; see forum/reading.py for its members."""
    head = [("thread", detail["id"]), ("title", quoted(detail["title"])), ("room", detail["room_name"]), ("tag", detail["tag"]), ("status", detail["status"]),
            ("opened_by", quoted(detail["author_name"])), ("created", detail["created_at"])]
    if detail.get("resolved_at"):
        head += [("resolved", detail["resolved_at"]), ("resolved_by", quoted(detail["resolved_by_name"] or "")), ("resolved_by_kind", detail["resolved_by_kind"])]
    if detail.get("settled_verdict"):
        head.append(("verdict", detail["settled_verdict"]))
    verdicts = _verdicts(detail["messages"])
    if verdicts:
        head.append(("verdicts", f"[{', '.join(verdicts)}]"))
    head += [(name, quoted(detail[name])) for name in ("case_id", "root", "operation") if detail.get(name)]
    if detail.get("git_ref"):
        head.append(("git_ref", detail["git_ref"]))
    if detail.get("git_dirty"):
        head.append(("git_dirty", "true"))
    if detail.get("cost_usd"):
        head.append(("cost_usd", f"{detail['cost_usd']:.4f}"))
    parts = ["---", *(f"{name}: {value}" for name, value in head), "---", "", f"# {inline(detail['title'])}", "", "## Resolution", "",
             prose(detail.get("resolution_summary") or "", is_page=True), "", f"## Topic — {inline(detail['author_name'])} ({detail['tag']})", "",
             f"<sub>{detail['created_at']} · {_kind(detail['author_is_person'], detail['author_supervised'])}</sub>", "", prose(detail["body"], is_page=True)]
    if detail["context"]:
        parts += ["", "## Context as posted"]
        for item in detail["context"]:
            lines = f":{item['start_line']}-{item['end_line']}" if item.get("start_line") else ""
            language = "diff" if item["kind"] == "diff" else _extension(item.get("path"))
            parts += ["", f"### {inline(item.get('path') or item['kind'])}{lines}", "", fenced(item["content"], language)]
    parts += ["", "## Discussion"]
    if not detail["messages"]:
        parts += ["", "_No replies._"]
    for message in detail["messages"]:
        marks = [f"**{message['verdict']}**" if message["verdict"] else "", message["severity"] or "", "_edited_" if message["edited_at"] else ""]
        told = " · ".join(mark for mark in marks if mark)
        parts += ["", f"### {inline(message['author_name'])}{' — ' + told if told else ''}", "", f"<sub>{message['created_at']} · {_kind(message['is_person'], message['supervised'])}</sub>", "",
                  prose(message["body"], is_page=True)]
        if message["refs"]:
            parts += ["", "References:", "", *(f"- {reference(ref)}" for ref in message["refs"])]
    return "\n".join([*parts, "", "---", "", f"_{_TAIL}_", ""])


def _kind(is_person: bool, supervised: bool) -> str:
    return "a person" if is_person else "a program, started by the council" if supervised else "a program"


def _verdicts(messages: Sequence[Mapping]) -> list[str]:
    """The newest verdict of each participant, for programs: they read the front matter alone, which no content can reach."""
    newest = {each["agent_id"]: each for each in messages if each["verdict"]}
    return [f'{{"by": {quoted(each["author_name"])}, "kind": "{"person" if each["is_person"] else "agent"}", "verdict": {quoted(each["verdict"])}}}' for each in newest.values()]


def reference(ref: Mapping) -> str:
    """`path:line` and its note, on one line."""
    place = one_line(str(ref["path"])).replace("`", "'") + (f":{ref['line']}" if ref.get("line") else "")
    return f"`{place}`" + (f" {inline(ref['note'])}" if ref.get("note") else "")


def _extension(path: str | None) -> str:
    tail = (path or "").rpartition("/")[2].rpartition(".")
    return tail[2] if tail[1] and tail[2].isascii() and tail[2].isalnum() else ""
