"""Opening, arguing and resolving: each act with its checks, its rows and its events in one transaction.

Source  the council surface, "Rules", "Events", "Tools"
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rulith.base.canonical import sha256_hex
from rulith.base.errors import Refused
from rulith.council import checks
from rulith.council.cases import case_note
from rulith.council.mentions import asked_by
from rulith.council.records import file_name, record_text
from rulith.council.shapes import OPEN, RESOLVED, Actor, Room, Standing, Thread
from rulith.forum.arguments import flag, given, json_list, only, optional, text, whole
from rulith.forum.files import RECORDS

CONTEXT_MAX, REFS_MAX, MENTIONS_MAX = 40, 60, 100
CONTEXT_CHARS_MAX = 600_000
COST_DIGITS = 9                  # so that ten times a tenth is one
REF_CHARS_MAX, NOTE_CHARS_MAX, KEY_CHARS_MAX = 1_000, 500, 200
KINDS = ("file", "diff", "note")
WRITING = "writing:"                 # before a digest: the record of it is on its way to the disk


@dataclass(frozen=True)
class Plan:
    """A decision record that is to be written."""

    folder: str
    name: str
    content: str
    path: str
    digest: str


class Threads:
    ACTS = ("create_thread", "reply", "edit_message", "update_thread", "claim_thread", "set_thread_status", "resolve_thread")

    def __init__(self, forum) -> None:
        self.forum, self.db = forum, forum.db

    # --- opening -------------------------------------------------------------------------

    def create_thread(self, actor: Actor, arguments: Mapping) -> dict:
        only(arguments, "room", "title", "body", "tag", "mentions", "include_diff", "context", "blind", "case_id", "root", "operation", "case", "client_ref")
        room = self.forum.reading_room(actor, arguments.get("room"))
        actor = self.forum.person_of(room.project_id) if actor.is_person else actor
        client_ref = optional(arguments, "client_ref", chars_max=KEY_CHARS_MAX)
        known = self.db.one("SELECT id FROM thread WHERE author_agent_id = ? AND client_ref = ?", actor.agent_id, client_ref) if client_ref else None
        if known is not None:
            return {"thread_id": known["id"], "opened": False, "asked": self._asked(known["id"])}
        title, body, tag_key = (text(arguments, name, chars_max=checks.BODY_CHARS_MAX) for name in ("title", "body", "tag"))
        title = checks.one_title(title)
        tag, folder = self.forum.tag(tag_key), self.forum.folder(self.forum.project(room.project_id)["folder_path"])
        standing = Standing(self.forum.is_member(room.id, actor.agent_id), True)
        checks.check_open(actor, room, standing, title, tag, tag_key, folder_readable=folder.is_readable())
        asked = self._mentioned(room, actor, arguments.get("mentions"), body)
        about = {name: optional(arguments, name, chars_max=KEY_CHARS_MAX) or None for name in ("case_id", "root", "operation")}
        context = [*self._about(about, arguments.get("case")), *self._context(actor, folder, arguments)]
        ref, dirty = folder.state()
        at = self.forum.at()
        with self.db.change():
            thread_id = self.db.insert(
                "thread", room_id=room.id, author_agent_id=actor.agent_id, title=title, body=body, tag=tag.key, status=OPEN, git_ref=ref,
                git_dirty=int(dirty), blind=int(flag(arguments, "blind", False)), client_ref=client_ref, supervised=int(actor.supervised), created_at=at, updated_at=at,
                **about)
            for item in context:
                self.db.insert("thread_context", thread_id=thread_id, **item)
            for agent_id in asked:
                self.db.put("thread_mention", thread_id=thread_id, agent_id=agent_id)
            self.db.index("thread", thread_id, thread_id, room.id, f"{title}\n{body}")
            self.db.event("thread.created", at, room=room.id, thread=thread_id, actor=actor.agent_id, title=title.strip(), tag=tag.key)
        self.forum.changed()
        return {"thread_id": thread_id, "opened": True, "asked": self._asked(thread_id)}

    def _about(self, about: Mapping, case: object) -> list[dict]:
        """The note on the Case that a thread is about, as its opener saw it."""
        if about["case_id"] is None:
            if case is not None or about["root"] is not None:
                raise Refused("council_invalid", problem="case and root are told without case_id")
            return []
        note = case_note(about["case_id"], about["root"], about["operation"], case)
        return [{"kind": "note", "path": None, "start_line": None, "end_line": None, "content": note}]

    def _mentioned(self, room: Room, actor: Actor, mentions: object, body: str) -> list[int]:
        members = self.forum.members(room.id)
        if mentions is not None and (not isinstance(mentions, list) or len(mentions) > MENTIONS_MAX):
            raise Refused("council_invalid", problem="mentions is no list of agent ids")
        found = dict.fromkeys(whole(each, "a mention") for each in mentions or ())
        for agent_id in found:
            if agent_id not in members:
                raise Refused("council_not_found", what=f"member of #{room.name} with the id", name=agent_id)
        found.update(dict.fromkeys(asked_by(body, members, actor.agent_id)))
        found.pop(actor.agent_id, None)
        return list(found)

    def _context(self, actor: Actor, folder, arguments: Mapping) -> list[dict]:
        """The rows to pin: excerpts and diffs as they are now."""
        items, found, size = arguments.get("context") or [], [], 0
        if not isinstance(items, list) or len(items) > CONTEXT_MAX:
            raise Refused("council_invalid", problem=f"context is no list of at most {CONTEXT_MAX} items")
        for item in items:
            if not isinstance(item, Mapping) or item.get("kind") not in KINDS:
                raise Refused("council_invalid", problem="an item of context has no kind of file, diff or note")
            only(item, "kind", "path", "start_line", "end_line", "content")
            found.append(self._pinned(actor, folder, item))
        if flag(arguments, "include_diff", False) and not any(row["kind"] == "diff" for row in found):
            diff = self._diff(actor, folder, None)
            if diff.strip():
                found.append({"kind": "diff", "path": None, "start_line": None, "end_line": None, "content": diff})
        size = sum(len(row["content"]) for row in found)
        if size > CONTEXT_CHARS_MAX:
            raise Refused("council_invalid", problem=f"the pinned context has {size} characters, more than {CONTEXT_CHARS_MAX}")
        return found

    def _pinned(self, actor: Actor, folder, item: Mapping) -> dict:
        kind, path = item["kind"], optional(item, "path", chars_max=4_096)
        start, end = (whole(item[name], name) if item.get(name) is not None else None for name in ("start_line", "end_line"))
        content = optional(item, "content", chars_max=CONTEXT_CHARS_MAX)
        if kind == "note":
            return {"kind": kind, "path": path, "start_line": None, "end_line": None, "content": content or ""}
        if kind == "diff":
            return {"kind": kind, "path": path, "start_line": None, "end_line": None, "content": content if content is not None else self._diff(actor, folder, path)}
        if not path:
            raise Refused("council_invalid", problem="a file of context has no path")
        try:
            inside, excerpt = folder.excerpt(path, start, end)
            self.forum.note_access(actor, None, "pin", path, True, "")
        except Refused as refusal:
            inside, excerpt = path, f"[not pinned: {refusal.happened}]"
            self.forum.note_access(actor, None, "pin", path, False, refusal.happened)
        return {"kind": kind, "path": inside, "start_line": start, "end_line": end, "content": excerpt}

    def _diff(self, actor: Actor, folder, path: str | None) -> str:
        """What changed now, which may be nothing, or why it cannot be told."""
        try:
            found = folder.diff(None, path)
        except Refused as refusal:
            self.forum.note_access(actor, None, "pin", path or "", False, refusal.happened)
            return f"[not pinned: {refusal.happened}]"
        self.forum.note_access(actor, None, "pin", path or "", True, "")
        return found

    # --- arguing -------------------------------------------------------------------------

    def reply(self, actor: Actor, arguments: Mapping) -> dict:
        only(arguments, "thread_id", "body", "verdict", "severity", "refs", "tokens_in", "tokens_out", "cost_usd")
        body = text(arguments, "body", "", chars_max=10 * checks.BODY_CHARS_MAX)
        checks.check_words(body, "body", checks.BODY_CHARS_MAX)
        row, thread, room = self.forum.thread(actor, given(arguments, "thread_id"))
        actor = self._in(actor, room)
        words = checks.read_reply(actor, room, thread, self.forum.standing(actor.agent_id, thread), self.forum.tag(thread.tag),
                                  body=body, verdict=arguments.get("verdict"), severity=arguments.get("severity"))
        refs = _refs(arguments.get("refs"))
        tokens_in, tokens_out, cost = checks.check_cost(*(arguments.get(name) for name in ("tokens_in", "tokens_out", "cost_usd")))
        at = self.forum.at()
        with self.db.change():
            called = self._call(thread, room, actor, body, at)
            message_id = self.db.insert("message", thread_id=thread.id, agent_id=actor.agent_id, body=words.body, verdict=words.verdict, severity=words.severity,
                                        refs=json_list(refs), tokens_in=tokens_in, tokens_out=tokens_out, cost_usd=cost, supervised=int(actor.supervised), created_at=at)
            self.db.update("thread", thread.id, updated_at=at)
            if cost:
                self.db.update("room", room.id, spent_usd=round(self.forum.room_row(room.id)["spent_usd"] + cost, COST_DIGITS))
            self.db.delete("thread_claim", thread_id=thread.id, agent_id=actor.agent_id)
            self.db.index("message", message_id, thread.id, room.id, words.body)
            self.db.event("message.created", at, room=room.id, thread=thread.id, actor=actor.agent_id, message_id=message_id, verdict=words.verdict,
                          severity=words.severity, status=thread.status, supervised=actor.supervised)
        self.forum.changed()
        return {"message_id": message_id, "thread_id": thread.id, "called": called}

    def edit_message(self, actor: Actor, arguments: Mapping) -> dict:
        only(arguments, "message_id", "body", "verdict", "severity", "refs")
        body = text(arguments, "body", "", chars_max=10 * checks.BODY_CHARS_MAX)
        checks.check_words(body, "body", checks.BODY_CHARS_MAX)
        before, row, thread, room = self.forum.message(actor, given(arguments, "message_id"))
        actor = self._in(actor, room)
        words = checks.read_edit(actor, room, thread, self.forum.standing(actor.agent_id, thread), self.forum.tag(thread.tag), author_id=before["agent_id"],
                                 body=body, verdict=arguments.get("verdict"), severity=arguments.get("severity"))
        refs, at = _refs(arguments.get("refs")), self.forum.at()
        with self.db.change():
            called = self._call(thread, room, actor, body, at)
            self.db.update("message", before["id"], body=words.body, verdict=words.verdict, severity=words.severity, refs=json_list(refs), edited_at=at)
            self.db.update("thread", thread.id, updated_at=at)
            self.db.index("message", before["id"], thread.id, room.id, words.body)
            plan, digest = self._plan_again(row, thread)
            self.db.event("message.edited", at, room=room.id, thread=thread.id, actor=actor.agent_id, message_id=before["id"],
                          body_changed=before["body"] != words.body, previous_verdict=before["verdict"], previous_severity=before["severity"],
                          verdict=words.verdict, severity=words.severity, **digest)
        self.forum.changed()
        record = self._write(row, plan) if plan else {}
        return {"message_id": before["id"], "thread_id": thread.id, "called": called, **record}

    def update_thread(self, actor: Actor, arguments: Mapping) -> dict:
        only(arguments, "thread_id", "body")
        body = text(arguments, "body", "", chars_max=10 * checks.BODY_CHARS_MAX)
        row, thread, room = self.forum.thread(actor, given(arguments, "thread_id"))
        actor = self._in(actor, room)
        checks.check_edit_topic(actor, room, thread, self.forum.standing(actor.agent_id, thread), self._opener(row), body)
        at = self.forum.at()
        with self.db.change():
            called = self._call(thread, room, actor, body, at)
            self.db.update("thread", thread.id, body=body, updated_at=at)
            self.db.index("thread", thread.id, thread.id, room.id, f"{row['title']}\n{body}")
            plan, digest = self._plan_again(row, thread)
            self.db.event("thread.updated", at, room=room.id, thread=thread.id, actor=actor.agent_id, **digest)
        self.forum.changed()
        record = self._write(row, plan) if plan else {}
        return {"thread_id": thread.id, "called": called, **record}

    def claim_thread(self, actor: Actor, arguments: Mapping) -> dict:
        only(arguments, "thread_id", "note")
        row, thread, room = self.forum.thread(actor, given(arguments, "thread_id"))
        actor, note = self._in(actor, room), optional(arguments, "note", chars_max=NOTE_CHARS_MAX) or ""
        checks.check_claim(actor, room, thread, self.forum.standing(actor.agent_id, thread))
        at = self.forum.at()
        with self.db.change():
            self.db.delete("thread_claim", thread_id=thread.id, agent_id=actor.agent_id)
            self.db.insert("thread_claim", thread_id=thread.id, agent_id=actor.agent_id, note=note, claimed_at=at)
            self.db.event("thread.claimed", at, room=room.id, thread=thread.id, actor=actor.agent_id, note=note, supervised=actor.supervised)
        self.forum.changed()
        return {"thread_id": thread.id}

    # --- ending --------------------------------------------------------------------------

    def set_thread_status(self, actor: Actor, arguments: Mapping) -> dict:
        only(arguments, "thread_id", "status")
        row, thread, room = self.forum.thread(actor, given(arguments, "thread_id"))
        actor = self._in(actor, room)
        status = checks.check_status(actor, room, thread, self.forum.standing(actor.agent_id, thread), self._opener(row), given(arguments, "status"))
        at = self.forum.at()
        with self.db.change():
            self.db.update("thread", thread.id, status=status, updated_at=at)
            self.db.event("thread.status", at, room=room.id, thread=thread.id, actor=actor.agent_id, status=status)
        self.forum.changed()
        return {"thread_id": thread.id, "status": status}

    def resolve_thread(self, actor: Actor, arguments: Mapping) -> dict:
        """`verdict` is what the question came to, in a word of its tag: answers that said otherwise are counted as overturned."""
        only(arguments, "thread_id", "summary", "status", "verdict")
        row, thread, room = self.forum.thread(actor, given(arguments, "thread_id"))
        actor, summary = self._in(actor, room), text(arguments, "summary", "", chars_max=10 * checks.BODY_CHARS_MAX)
        status = checks.check_resolve(actor, room, thread, self.forum.standing(actor.agent_id, thread), self._opener(row), arguments.get("status"), summary)
        verdict, at = checks.read_verdict(self.forum.tag(thread.tag), arguments.get("verdict")), self.forum.at()
        with self.db.change():
            self.db.update("thread", thread.id, status=status, resolution_summary=summary, resolved_at=at, resolved_by=actor.agent_id, updated_at=at,
                           settled_verdict=verdict)
            plan = self._plan(thread.id) if status == RESOLVED else None
            self.db.event("thread.resolved", at, room=room.id, thread=thread.id, actor=actor.agent_id, status=status,
                          export_path=plan.path if plan else row["export_path"], record_digest=plan.digest if plan else None)
        self.forum.changed()
        record = self._write(row, plan) if plan else {}
        return {"thread_id": thread.id, "status": status, **record}

    # --- records -------------------------------------------------------------------------

    def _plan(self, thread_id: int) -> Plan:
        """What the decision record is to hold now, noted in the transaction that made it so. A record never tells of what was not kept."""
        detail = self.forum.detail(thread_id)
        name, content = file_name(thread_id, detail["title"]), record_text(detail)
        plan = Plan(self.forum.project(detail["project_id"])["folder_path"], name, content, "/".join((*RECORDS, name)), "sha256:" + sha256_hex(content.encode("utf-8")))
        self.db.update("thread", thread_id, export_path=plan.path, record_digest=WRITING + plan.digest)
        return plan

    def _plan_again(self, before: Mapping, thread: Thread) -> tuple[Plan | None, dict]:
        """The record anew of a thread that ended with one, and what the event of its change says of it."""
        plan = self._plan(thread.id) if before["export_path"] and thread.is_terminal else None
        return plan, ({"record_digest": plan.digest} if plan else {})

    def _write(self, before: Mapping, plan: Plan) -> dict:
        """Write what was planned, and note how it went: {export_path, record_digest} or {record_problem}."""
        try:
            path = self.forum.folder(plan.folder).write_record(plan.name, plan.content)
            found, told = {"export_path": path, "record_digest": plan.digest}, {"export_path": path, "record_digest": plan.digest}
        except Refused as refusal:
            found, told = {"export_path": before["export_path"], "record_digest": before["record_digest"]}, {"record_problem": _unwritten(refusal)}
        try:
            with self.db.change():
                self.db.update("thread", before["id"], **found)
                if "record_problem" in told:
                    self.db.event("thread.updated", self.forum.at(), room=before["room_id"], thread=before["id"])
            self.forum.changed()
        except Refused:
            pass                              # what was resolved is kept; the next start finds the mark and writes the record again
        return told

    def finish_records(self) -> None:
        """Write the records that an earlier process was about to write when it ended."""
        for row in self.db.all("SELECT * FROM thread WHERE record_digest LIKE ?", WRITING + "%"):
            with self.db.change():
                plan = self._plan(row["id"])
            self._write({**row, "export_path": None, "record_digest": None}, plan)

    # --- shared --------------------------------------------------------------------------

    def _in(self, actor: Actor, room: Room) -> Actor:
        """The person speaks in each project as its own participant."""
        return self.forum.person_of(room.project_id) if actor.is_person else actor

    def _call(self, thread: Thread, room: Room, actor: Actor, body: str, at: str) -> list[str]:
        """Whom the text asks for the first time; their names."""
        members, called = self.forum.members(room.id), []
        for agent_id in asked_by(body, members, actor.agent_id):
            if agent_id != thread.author_id and self.db.put("thread_mention", thread_id=thread.id, agent_id=agent_id):
                called.append(members[agent_id])
        if called:
            self.db.event("thread.mentioned", at, room=room.id, thread=thread.id, actor=actor.agent_id, called=called)
        return called

    def _opener(self, row: Mapping) -> str:
        return self.forum.agent(row["author_agent_id"])["name"]

    def _asked(self, thread_id: int) -> list[str]:
        rows = self.db.all("SELECT a.name FROM thread_mention m JOIN agent a ON a.id = m.agent_id WHERE m.thread_id = ? ORDER BY a.id", thread_id)
        return [row["name"] for row in rows]


def _unwritten(refusal: Refused) -> str:
    """Why a record is not there, and that its thread ended all the same."""
    return Refused("council_record", problem=str(refusal.facts.get("problem") or refusal.happened).rstrip(".")).teaching


def _refs(refs: object) -> Sequence[dict]:
    """[{path, line?, note?}] as they are stored."""
    if refs is None:
        return []
    if not isinstance(refs, list) or len(refs) > REFS_MAX:
        raise Refused("council_invalid", problem=f"refs is no list of at most {REFS_MAX} places")
    found = []
    for ref in refs:
        if not isinstance(ref, Mapping):
            raise Refused("council_invalid", problem="a place in refs is no object")
        only(ref, "path", "line", "note")
        place: dict = {"path": text(ref, "path", chars_max=REF_CHARS_MAX)}
        if ref.get("line") is not None:
            place["line"] = whole(ref["line"], "line")
        if ref.get("note") is not None:
            place["note"] = text(ref, "note", chars_max=NOTE_CHARS_MAX)
        found.append(place)
    return found
