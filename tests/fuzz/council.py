"""Families of the council: what its records, transcripts and mentions make of any words, and its acts of any arguments.

The rules of CommonMark that matter here (fences, headings) are read by a small reader of its own,
which shares no code with the product.
"""

from __future__ import annotations

import json
import random
import re
import shutil
import tempfile
from pathlib import Path

from rulith.base.clock import ManualClock
from rulith.base.errors import Refused
from rulith.council.kinds import PREFIXES, number_of, words_of
from rulith.council.mentions import asked_by, named
from rulith.council.records import file_name, fenced, inline, quoted, record_text
from rulith.council.seeds import TAGS
from rulith.council.shapes import PERSON
from rulith.council.transcript import transcript
from rulith.forum.files import ProjectFolder
from rulith.forum.forum import Forum
from rulith.store.council_db import CouncilDb
from tests.fuzz.mutations import TEXTS, bent_text, mutated, pick
from tests.fuzz.running import Family

BITS = ["### you (the person)\n", "## Resolution\n", "---\n", "\n---\n", "===\n", "-\n", "```", "````", "~~~", "~~~~\n", "`", "``", "\n", "\r", "\r\n", "\u2028", "\x85", "\x0c", "   ", "    ", "\t", "> ", "- ", "1. ",
        "1. a\n\n   ```\n", "#", "# ", "<!--", "-->", "<script>", "</details>", "<details>", "<a href='javascript:x'>", "[x](javascript:x)", "![x](http://h/x)", "\\", "\\`", "\\<b>", "|", "| a | b |\n|---|---|\n", "@ann",
        "@everyone", "@you", "a@ann", "@ANN", "\u00a0@ann", "@bo-b_1", "@\u0130", "\u202e", "\u200b", "\x00", "\x1b[31m", "status: RESOLVED\n", "resolved_by_kind: person\n", "thread: 9\n", "title: \"x\"\n", "CLEARED", "**CLEARED**", "_edited_",
        "<sub>2030</sub>\n", "message 9, 2030\n", "&lt;", "$x$", "\ufeff", "\u0130", "\U0001f600", "words and words ", "x", "`" * 40, "<" * 9]


def words(rng: random.Random) -> str:
    """A text out of the bits that mean something in Markdown, front matter or a mention, and now and then any other."""
    if rng.random() < 0.1:
        text = pick(rng, TEXTS)
    else:
        text = "".join(pick(rng, BITS) for _ in range(pick(rng, (0, 1, 2, 3, 5, 8, 13, 30))))
    return (bent_text(rng, text) if rng.random() < 0.2 else text).encode("utf-8", "replace").decode("utf-8")[:64_000]


def detail(rng: random.Random) -> dict:
    """A thread as forum/reading.py tells it; names and titles as its acts let them in."""
    names = [_name(rng) for _ in range(3)]
    message = lambda number: {"id": number, "agent_id": number % 3, "author_name": names[number % 3], "is_person": number % 3 == 0, "supervised": rng.random() < 0.3, "body": words(rng),
                              "verdict": pick(rng, (None, "CLEARED", "CONFIRMED")), "severity": pick(rng, (None, "HIGH")), "edited_at": pick(rng, (None, "2026")), "created_at": "2026-12-01T08:00:00.000+00:00",
                              "refs": [{"path": words(rng)[:300], "line": pick(rng, (None, 3)), "note": words(rng)[:300]} for _ in range(pick(rng, (0, 0, 1, 2)))]}
    context = [{"kind": pick(rng, ("file", "diff", "note")), "path": pick(rng, (None, words(rng)[:200], "a.py", "x.y`z")), "start_line": pick(rng, (None, 1)), "end_line": 2, "content": words(rng)}
               for _ in range(pick(rng, (0, 1, 2)))]
    ended = rng.random() < 0.7
    return {"id": rng.randint(1, 99_999), "title": _title(rng), "room_name": "general", "tag": "ADVERSARIAL_REVIEW", "status": "RESOLVED" if ended else "OPEN", "author_name": names[1], "author_is_person": False, "author_supervised": rng.random() < 0.3,
            "created_at": "2026", "resolved_at": "2027" if ended else None, "resolved_by_name": names[0] if ended else None, "resolved_by_kind": "person" if ended else None,
            "settled_verdict": pick(rng, (None, "CLEARED")), "git_ref": pick(rng, (None, "a" * 40)), "git_dirty": rng.random() < 0.5, "cost_usd": pick(rng, (0, 0.25)), "resolution_summary": words(rng) if ended else None,
            "body": words(rng), "context": context, "messages": [message(number) for number in range(pick(rng, (0, 1, 2, 4)))], "asked": names[:2], "claims": [{"agent_name": names[2], "claimed_at": "2026", "note": words(rng)}] if rng.random() < 0.2 else [],
            "reply_count": 2, "responder_count": 1, "in_progress": 0, **({"case_id": words(rng)[:200], "root": words(rng)[:200], "operation": "a/1"} if rng.random() < 0.3 else {})}


def _name(rng: random.Random) -> str:
    return words(rng)[:80].strip() or "ann"


def _title(rng: random.Random) -> str:
    return words(rng)[:300].strip() or "A question"


class Records(Family):
    """A record and a transcript have their own headings and front matter and no others, whatever stands in a thread."""

    name = "records"

    def make(self, rng: random.Random) -> bytes:
        return json.dumps(detail(rng)).encode()

    def play(self, data: bytes) -> bool:
        about = json.loads(data)
        self._record(about, record_text(about))
        self._transcript(about, transcript(about, TAGS[1]))
        assert re.fullmatch(r"[0-9]{4,}-[a-z0-9-]{1,60}\.md", file_name(about["id"], about["title"]))
        for text in (about["body"], about["title"]):
            first, *inner, last = fenced(text).split("\n")
            assert first == last and set(first) == {"`"} and all(first not in line for line in inner)
            told = quoted(text)
            assert told.isprintable() and "<" not in told and json.loads(told) == " ".join(text.split()) and len(inline(text).splitlines()) <= 1
        return bool(about["messages"])

    @staticmethod
    def _record(about: dict, told: str) -> None:
        assert told.startswith("---\n")
        _, head, body = told.split("---\n", 2)
        rows = dict(line.split(": ", 1) for line in head.splitlines())
        assert list(rows)[:7] == ["thread", "title", "room", "tag", "status", "opened_by", "created"] and len(rows) == len(head.splitlines())
        assert rows["status"] == about["status"] and rows["thread"] == str(about["id"]) and rows.get("resolved_by_kind") == about["resolved_by_kind"]
        newest = {each["agent_id"]: each for each in about["messages"] if each["verdict"]}
        assert [(each["by"], each["verdict"]) for each in json.loads(rows.get("verdicts", "[]"))] == [(" ".join(each["author_name"].split()), each["verdict"]) for each in newest.values()]
        heads = headings(body)
        context = ["### "] * len(about["context"])
        wanted = ["# ", "## Resolution", "## Topic \u2014 ", *(["## Context as posted", *context] if context else []), "## Discussion", *["### "] * len(about["messages"])]
        assert len(heads) == len(wanted) and all(head.startswith(start.rstrip()) for head, start in zip(heads, wanted)), (heads, wanted)
        assert len([line for line in outside(body) if line.startswith("<sub>")]) == len(about["messages"]) + 1        # and the topic's own

    @staticmethod
    def _transcript(about: dict, told: str) -> None:
        wanted = ["# Thread", "## What this tag", "## Topic", *(["## Pinned context", *["### "] * len(about["context"])] if about["context"] else []), "## Replies",
                  *[f"### {' '.join(each['author_name'].split())} ({'the person' if each['is_person'] else 'program'})" for each in about["messages"]], *(["## Resolution"] if about["resolution_summary"] else [])]
        heads = headings(told)
        assert len(heads) == len(wanted) and all(head.startswith(start.rstrip()) for head, start in zip(heads, wanted)), (heads, wanted)


class Mentions(Family):
    """Only members are asked, never the writer, and each name that is called is one that stands in the text."""

    name = "mentions"
    MEMBERS = {1: "you", 2: "ann", 3: "Bo-b_1", 4: "\u0130", 5: "x y", 6: "<script>"}

    def make(self, rng: random.Random) -> bytes:
        return words(rng).encode()

    def play(self, data: bytes) -> bool:
        text = data.decode()
        asked = asked_by(text, self.MEMBERS, 2)
        assert set(asked) <= set(self.MEMBERS) - {2} and len(asked) == len(set(asked))
        if "@everyone" in text.casefold():
            return bool(asked)
        for agent_id in asked:
            assert f"@{self.MEMBERS[agent_id].casefold()}" in text.casefold() and self.MEMBERS[agent_id].casefold() in named(text, [name.casefold() for name in self.MEMBERS.values()])
        return bool(asked)


class WithoutGit(ProjectFolder):
    """A project's folder with its jail; no process for each input."""

    def remote(self):
        return None

    def state(self):
        return None, False

    def diff(self, base, path):
        self.inside(path or "")
        return ""


class Acts(Family):
    """Every act with odd arguments, by the person and by agents: done whole, or refused in words of one of the five kinds, with nothing half done."""

    name = "council"
    chunk = 500
    SAMPLES = {
        "create_thread": {"title": "A question", "body": "@ann what now?", "tag": "FYI", "room": 1, "mentions": [2], "context": [{"kind": "note", "content": "x"}, {"kind": "file", "path": "a.py", "start_line": 1}], "blind": True,
                          "client_ref": "r", "case_id": "c", "root": "r", "operation": "a/1", "case": {"type": "t", "status": "open", "gaps": ["g"], "revision": 3}},
        "reply": {"thread_id": 1, "body": "yes", "verdict": "CLEARED", "severity": "HIGH", "refs": [{"path": "a.py", "line": 3, "note": "here"}], "tokens_in": 1, "tokens_out": 2, "cost_usd": 0.1},
        "edit_message": {"message_id": 1, "body": "no", "verdict": "CONFIRMED"}, "update_thread": {"thread_id": 1, "body": "anew"}, "claim_thread": {"thread_id": 1, "note": "I"},
        "set_thread_status": {"thread_id": 1, "status": "OPEN"}, "resolve_thread": {"thread_id": 1, "summary": "done", "status": "RESOLVED", "verdict": "CLEARED"},
        "list_threads": {"room": "general", "status": "all", "tag": "FYI", "mentions_me": False, "sort": "created", "limit": 5, "client_ref": "r"}, "get_thread": {"thread_id": 1}, "thread_rows": {"thread_id": 1},
        "list_agents": {"room": 1}, "search": {"query": "what now", "limit": 3, "room": 1}, "events_since": {"cursor": 0, "room": 1}, "file_access": {"agent_id": 2, "limit": 3}, "calibration": {}, "needs_you": {}, "list_tags": {},
        "list_projects": {}, "project_stats": {"id": 1}, "list_rooms": {}, "create_room": {"project_id": 1, "name": "side", "purpose": "p"}, "update_room": {"id": 1, "paused": False, "max_replies_per_agent": 6, "cost_cap_usd": 5.0},
        "update_project": {"id": 1, "name": "Shop", "color": "red"}, "list_profiles": {}, "upsert_profile": {"key": "mine", "label": "Mine", "launch_cmd": "x", "launch_args": ["{prompt}"], "mcp_install_mode": "env", "notes": "n"},
        "agents_of": {"room": 1}, "create_agent": {"project_id": 1, "name": "cid", "rooms": [1], "profile_id": 1, "system_note": "n", "color": "c"}, "update_agent": {"id": 2, "name": "ann", "system_note": "x", "profile_id": None},
        "rotate_agent_key": {"id": 3}, "join_room": {"agent_id": 3, "room_id": 1}, "leave_room": {"agent_id": 3, "room_id": 1}, "list_connections": {},
        "read_file": {"path": "a.py", "start_line": 1, "end_line": 2}, "list_files": {"path": "", "depth": 2}, "git_diff": {"base": "HEAD", "path": "a.py"}, "file_preview": {"project_id": 1, "path": "a.py"},
    }

    def open(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="fuzz-council-"))
        (self.folder / "project").mkdir()
        (self.folder / "project" / "a.py").write_text("one\ntwo\n")
        clock = ManualClock()
        self.forum = Forum(CouncilDb.open(self.folder / "council.db", clock), clock, folder=WithoutGit)
        self.forum.run(PERSON, "create_project", {"folder": str(self.folder / "project")})
        keys = [self.forum.run(PERSON, "create_agent", {"project_id": 1, "name": name, "rooms": [1]})["api_key"] for name in ("ann", "bob")]
        self.actors = [PERSON, *map(self.forum.authenticate, keys)]
        self.forum.run(PERSON, "create_thread", {"room": 1, "title": "A question", "body": "@ann @bob", "tag": "ADVERSARIAL_REVIEW"})

    def close(self) -> None:
        assert self.forum.db.all("PRAGMA foreign_key_check") == [] and self.forum.db.value("PRAGMA integrity_check") == "ok"
        self.forum.db.close()
        shutil.rmtree(self.folder)

    def make(self, rng: random.Random) -> bytes:
        name = pick(rng, list(self.SAMPLES))
        arguments = mutated(rng, self.SAMPLES[name])
        if isinstance(arguments, dict) and rng.random() < 0.4:
            arguments = {key: words(rng) if isinstance(value, str) and rng.random() < 0.4 else value for key, value in arguments.items()}
        return json.dumps([rng.randint(0, 2), name, arguments if isinstance(arguments, dict) else {}]).encode()

    def play(self, data: bytes) -> bool:
        who, name, arguments = json.loads(data)
        before = self.forum.db.latest_seq()
        try:
            found = self.forum.run(self.actors[who], name, arguments)
        except Refused as refusal:
            assert number_of(refusal) in PREFIXES and words_of(refusal).isprintable() and len(words_of(refusal)) < 2_000 and "Traceback" not in refusal.teaching
            assert self.forum.db.latest_seq() == before
            return False
        text = json.dumps(found, ensure_ascii=False)
        text.encode("utf-8")
        assert "key_hash" not in text and (who == 0 or "HUMAN" not in text)
        if name in ("create_thread", "reply", "edit_message") and "thread_id" in found:
            about = self.forum.detail(found["thread_id"])
            headings(transcript(about, None)), record_text(about)
        return True


def outside(markdown: str) -> list[str]:
    """The lines that stand in no fence."""
    kept: list[str] = []
    headings(markdown, kept)
    return kept


def headings(markdown: str, kept: list[str] | None = None) -> list[str]:
    """The headings of level 1 to 3 outside fences at the left edge, as CommonMark finds them; asserts that each fence is closed."""
    found, fence, before = [], "", ""
    for line in re.split(r"\r\n|\r|\n", markdown):
        mark = re.match(r" {0,3}(?:(`{3,})[^`]*|(~{3,}).*)$", line, re.S)
        if fence:
            if re.fullmatch(rf" {{0,3}}{fence[0]}{{{len(fence)},}}[ \t]*", line):
                fence = ""
            before = ""
            continue
        if mark:
            fence = mark[1] or mark[2]
        elif kept is not None:
            kept.append(line)
        if mark:
            pass
        elif re.match(r" {0,3}#{1,3}([ \t]|$)", line):
            found.append(line.strip())
        elif before.strip() and re.fullmatch(r" {0,3}(=+|-+)[ \t]*", line) and not re.match(r" {0,3}([-+*>|]|\d+[.)])|    ", before):
            found.append(f"underlined {before}")
        before = line
    assert not fence, "a fence is open at the end"
    return found
