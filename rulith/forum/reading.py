"""What may be read: lists, details, search. Nothing here changes a thing, but the log of files.

Source  the council surface, "Data model", "Tools", "Files, git, search"
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from rulith.base.errors import Refused
from rulith.council.cases import thread_rows
from rulith.council.shapes import FILTERS, TERMINAL, Actor, Room
from rulith.forum.arguments import flag, given, only, optional, text, whole
from rulith.forum.summaries import CONCERNS, OWN, TOLD, among, summaries
from rulith.forum.summaries import whole as summary_of

LIMIT, LIMIT_MAX = 50, 200
SEARCH, SEARCH_MAX = 20, 100
EVENTS_MAX = 200
CLIENT_REF_CHARS_MAX = 200

SORTS = ("last_reply", "created", "activity")


class Reading:
    ACTS = ("list_threads", "get_thread", "thread_rows", "list_agents", "list_tags", "list_connections", "search", "events_since", "needs_you", "calibration")

    def __init__(self, forum) -> None:
        self.forum, self.db = forum, forum.db

    # --- threads -------------------------------------------------------------------------

    def list_threads(self, actor: Actor, arguments: Mapping) -> list[dict]:
        only(arguments, "room", "status", "tag", "mentions_me", "sort", "limit", "client_ref")
        rooms = self.rooms(actor, arguments.get("room"))
        reference = optional(arguments, "client_ref", chars_max=CLIENT_REF_CHARS_MAX)
        wanted = str(arguments.get("status") or ("all" if reference else "open"))
        statuses = FILTERS.get(wanted.lower()) or FILTERS.get(wanted.upper())
        if statuses is None:
            raise Refused("council_invalid", problem=f"{wanted[:40]!r} is no filter; it is one of {', '.join(FILTERS)}")
        sort = str(arguments.get("sort") or "last_reply")
        if sort not in SORTS:
            raise Refused("council_invalid", problem=f"threads are sorted by {', '.join(SORTS)}")
        tag = arguments.get("tag")
        if tag is not None and self.forum.tag(tag) is None:
            raise Refused("council_not_found", what="tag", name=repr(str(tag)[:60]))
        limit, me = whole(arguments.get("limit", LIMIT), "limit", 1, LIMIT_MAX), None if actor.is_person else actor.agent_id
        where = [among("t.room_id", rooms), among("t.status", statuses)]
        where += [("t.tag = ?", (str(tag).upper(),))] if tag is not None else []
        where += [(CONCERNS, (me, me))] if flag(arguments, "mentions_me", not actor.is_person) else []
        where += [("t.client_ref = ?", (reference,)), (OWN, (me,))] if reference else []
        found = summaries(self.db, self.forum.at(), where, order=sort, limit=limit)
        more = ("waits_for_person", "case_id", "operation") if actor.is_person else ()
        return [{**{name: row[name] for name in (*TOLD, *more)}, **({"thread_id": row["id"], "client_ref": reference} if reference else {})} for row in found]

    def get_thread(self, actor: Actor, arguments: Mapping) -> dict:
        """The whole thread as this actor may see it."""
        only(arguments, "thread_id")
        _, thread, _ = self.forum.thread(actor, given(arguments, "thread_id"))
        detail = self.detail(thread.id)
        if detail["blind_now"]:
            shown = [each for each in detail["messages"] if not self.is_hidden(actor, thread.id, each["agent_id"])]
            if len(shown) < len(detail["messages"]):
                detail["hidden_messages"] = len(detail["messages"]) - len(shown)
                detail["messages"] = shown
        return detail

    def thread_rows(self, actor: Actor, arguments: Mapping) -> dict:
        """{rows}: verdicts and state of a thread, or of the one that the actor opened under a `client_ref`; none where there is none."""
        only(arguments, "thread_id", "client_ref")
        if arguments.get("client_ref") is None:
            self.get_thread(actor, {"thread_id": arguments.get("thread_id")})
            return {"rows": self.rows_of(actor, whole(arguments["thread_id"], "thread_id"))}
        reference = text(arguments, "client_ref", chars_max=CLIENT_REF_CHARS_MAX)
        authors = "SELECT id FROM agent WHERE role = 'HUMAN'" if actor.is_person else "SELECT ?2"
        found = self.db.all(f"SELECT id, room_id FROM thread WHERE client_ref = ?1 AND author_agent_id IN ({authors}) ORDER BY id", *(
            (reference,) if actor.is_person else (reference, actor.agent_id)))
        return {"rows": [row for each in found if actor.is_person or self.forum.is_member(each["room_id"], actor.agent_id) for row in self.rows_of(actor, each["id"])]}

    def rows_of(self, actor: Actor, thread_id: int) -> list[dict]:
        """What of a thread facts are made of: each program's or person's newest verdict, as far as the actor may see it."""
        verdicts = self.db.all(
            "SELECT m.agent_id, a.name, m.verdict FROM message m JOIN agent a ON a.id = m.agent_id WHERE m.thread_id = ?1 AND m.verdict IS NOT NULL "
            "AND m.id = (SELECT max(id) FROM message WHERE thread_id = ?1 AND agent_id = m.agent_id AND verdict IS NOT NULL) ORDER BY m.id", thread_id)
        return thread_rows(self.forum.thread_row(thread_id), [(each["name"], each["verdict"]) for each in verdicts
                                                             if not self.is_hidden(actor, thread_id, each["agent_id"])])

    def is_hidden(self, actor: Actor, thread_id: int, author_id: int) -> bool:
        """Whether a blind round keeps this author's words from the actor: both were asked, and the actor has not answered."""
        if actor.is_person or author_id == actor.agent_id:
            return False
        return self.db.value(
            "SELECT 1 FROM thread t JOIN thread_mention me ON me.thread_id = t.id AND me.agent_id = ?2 "
            "JOIN thread_mention other ON other.thread_id = t.id AND other.agent_id = ?3 WHERE t.id = ?1 AND t.blind AND t.status IN ('OPEN', 'BLOCKED') "
            "AND NOT EXISTS (SELECT 1 FROM message WHERE thread_id = ?1 AND agent_id = ?2)", thread_id, actor.agent_id, author_id) is not None

    def detail(self, thread_id: int) -> dict:
        """Everything that is kept of a thread."""
        row = summary_of(self.db, self.forum.at(), thread_id)
        if row is None:
            raise Refused("council_not_found", what="thread", name=thread_id)
        found = {name: value for name, value in row.items() if name not in ("client_ref", "supervised")}
        found["git_dirty"], found["blind"] = bool(row["git_dirty"]), bool(row["blind"])
        found["context"] = self.db.all("SELECT kind, path, start_line, end_line, content FROM thread_context WHERE thread_id = ? ORDER BY id", thread_id)
        asked = self.db.all("SELECT a.id, a.name FROM thread_mention m JOIN agent a ON a.id = m.agent_id WHERE m.thread_id = ? ORDER BY a.id", thread_id)
        found["mentions"], found["asked"] = [each["id"] for each in asked], [each["name"] for each in asked]
        found["claims"] = self.db.all("SELECT c.agent_id, a.name AS agent_name, a.color, p.icon, c.note, c.claimed_at FROM thread_claim c JOIN agent a ON a.id = c.agent_id "
                                      "LEFT JOIN profile p ON p.id = a.profile_id WHERE c.thread_id = ? ORDER BY c.claimed_at", thread_id)
        messages = self.db.all("SELECT m.*, a.name AS author_name, a.color AS author_color, a.role, p.icon AS author_icon FROM message m JOIN agent a ON a.id = m.agent_id "
                               "LEFT JOIN profile p ON p.id = a.profile_id WHERE m.thread_id = ? ORDER BY m.id", thread_id)
        found["messages"] = [{**{name: value for name, value in each.items() if name != "role"}, "refs": json.loads(each["refs"]),
                              "is_person": each["role"] == "HUMAN", "supervised": bool(each["supervised"])} for each in messages]
        ended_by = self.db.one("SELECT name, role FROM agent WHERE id = ?", row["resolved_by"]) if row["resolved_by"] else None
        found["resolved_by_name"] = ended_by["name"] if ended_by else None
        found["resolved_by_kind"] = None if ended_by is None else "person" if ended_by["role"] == "HUMAN" else "agent"
        found["author_supervised"] = bool(row["supervised"])
        found["author_is_person"] = self.db.value("SELECT role FROM agent WHERE id = ?", row["author_agent_id"]) == "HUMAN"
        waiting_for = [each for each in found["mentions"] if not any(message["agent_id"] == each for message in found["messages"])]
        found["blind_now"] = found["blind"] and row["status"] not in TERMINAL and bool(waiting_for)
        return found

    # --- rooms and people ----------------------------------------------------------------

    def rooms(self, actor: Actor, room: object = None) -> list[int]:
        """The ids of the rooms an act reads: the one that is named, or all that the actor is in."""
        if room is not None:
            return [self.room(actor, room).id]
        if actor.is_person:
            return [row["id"] for row in self.db.all("SELECT id FROM room ORDER BY id")]
        return self.forum.rooms_of(actor.agent_id)

    def room(self, actor: Actor, named: object) -> Room:
        """The room that an argument names by id or name, of those the actor is in; the only one where none is named."""
        mine = self.rooms(actor)
        if named is None:
            if len(mine) == 1:
                return self.forum.room(mine[0])
            raise Refused("council_invalid", problem="you are in several rooms, so `room` says which" if mine else "you are in no room")
        word = str(named).strip().lstrip("#").lower()
        if word in map(str, mine):            # an id before a name: a room may be called by a number
            return self.forum.room(int(word))
        for room in map(self.forum.room, mine):
            if word == room.name:
                return room
        raise Refused("council_not_found", what="room", name=repr(word[:60]))

    def list_agents(self, actor: Actor, arguments: Mapping) -> list[dict]:
        """Who is in the actor's rooms: the person first, then by name. No ranks, no roles."""
        only(arguments, "room")
        rooms = self.rooms(actor, arguments.get("room"))
        if not rooms:
            return []
        rows = self.db.all("SELECT DISTINCT a.id, a.name, a.role, a.system_note, a.revoked_at, p.label FROM agent a JOIN room_member m ON m.agent_id = a.id "
                           f"LEFT JOIN profile p ON p.id = a.profile_id WHERE m.room_id IN ({', '.join('?' * len(rooms))})", *rooms)
        rows.sort(key=lambda row: (row["role"] != "HUMAN", row["name"].casefold()))
        return [{"agent_id": row["id"], "name": row["name"], "is_you": row["id"] == actor.agent_id, "is_person": row["role"] == "HUMAN",
                 "kind": "person" if row["role"] == "HUMAN" else row["label"] or "agent", "note": row["system_note"],
                 "active": row["revoked_at"] is None and self.forum.presence.of(row["id"]) is not None} for row in rows]

    def list_tags(self, actor: Actor, arguments: Mapping) -> list[dict]:
        only(arguments)
        rows = self.db.all("SELECT * FROM tag ORDER BY sort")
        return [{"tag": row["key"], "label": row["label"], "color": row["color"], "expects": row["instruction"], "verdicts": json.loads(row["verdict_options"]),
                 "verdict_required": False, "expects_replies": bool(row["expects_replies"])} for row in rows]

    def list_connections(self, actor: Actor, arguments: Mapping) -> list[dict]:
        """Who is connected or was heard from lately: those who are connected first, then by name."""
        self._person(actor)
        only(arguments)
        found, marks = self.forum.presence.listed(), {}
        for row in self.db.all("SELECT m.agent_id, r.name FROM room_member m JOIN room r ON r.id = m.room_id ORDER BY r.name"):
            marks.setdefault(row["agent_id"], []).append(row["name"])
        rows = [self.db.one("SELECT a.id AS agent_id, a.name, a.color, p.icon, p.label AS profile_label, a.project_id, o.name AS project_name, "
                            "o.color AS project_color, o.folder_path FROM agent a JOIN project o ON o.id = a.project_id "
                            "LEFT JOIN profile p ON p.id = a.profile_id WHERE a.id = ? AND a.role != 'HUMAN'", agent_id) for agent_id in found]
        told = [{**row, "rooms": marks.get(row["agent_id"], []), **found[row["agent_id"]]} for row in rows if row is not None]
        return sorted(told, key=lambda row: (not row["connections"], row["name"].casefold()))

    # --- looking things up ---------------------------------------------------------------

    def search(self, actor: Actor, arguments: Mapping) -> list[dict]:
        only(arguments, "query", "limit", "room")
        limit = whole(arguments.get("limit", SEARCH), "limit", 1, SEARCH_MAX)
        found = self.db.search(text(arguments, "query", chars_max=500), self.rooms(actor, arguments.get("room")), limit)
        return [row for row in found if row["kind"] != "message" or not self.is_hidden(actor, row["thread_id"], self.forum.message_row(row["ref_id"])["agent_id"])]

    def events_since(self, actor: Actor, arguments: Mapping) -> dict:
        """The person's feed: {next_cursor, events}."""
        only(arguments, "cursor", "room")
        self._person(actor)
        cursor, latest = whole(arguments.get("cursor", 0), "cursor", 0), self.db.latest_seq()
        events = self.db.events_after(min(cursor, latest), EVENTS_MAX)
        room = whole(arguments["room"], "room") if arguments.get("room") is not None else None
        return {"next_cursor": events[-1]["seq"] if events else min(cursor, latest), "events": [each for each in events if room in (None, each["room_id"])]}

    def needs_you(self, actor: Actor, arguments: Mapping) -> list[dict]:
        """The threads that wait for the person, the longest waiting first."""
        self._person(actor)
        only(arguments)
        rows = summaries(self.db, self.forum.at(), [among("t.status", ("OPEN", "BLOCKED"))], order="longest_waiting", only_waiting=True)
        return [{name: row[name] for name in (*TOLD, "case_id", "operation")} for row in rows]

    def calibration(self, actor: Actor, arguments: Mapping) -> list[dict]:
        """Per agent and tag: verdicts given in threads that came to one, and how many were overturned by it."""
        self._person(actor)
        only(arguments)
        rows = self.db.all(
            "SELECT m.agent_id, a.name, t.tag, t.settled_verdict, m.verdict FROM thread t JOIN message m ON m.thread_id = t.id JOIN agent a ON a.id = m.agent_id "
            "WHERE t.settled_verdict IS NOT NULL AND m.verdict IS NOT NULL AND a.role != 'HUMAN' AND m.id = (SELECT max(id) FROM message "
            "WHERE thread_id = t.id AND agent_id = m.agent_id AND verdict IS NOT NULL) ORDER BY a.name, t.tag")
        found: dict[tuple[int, str], dict] = {}
        for row in rows:
            about = found.setdefault((row["agent_id"], row["tag"]), {"agent_id": row["agent_id"], "name": row["name"], "tag": row["tag"], "verdicts": 0, "overturned": 0})
            about["verdicts"] += 1
            about["overturned"] += row["verdict"] != row["settled_verdict"]
        return list(found.values())

    def _person(self, actor: Actor) -> None:
        if not actor.is_person:
            raise Refused("council_not_found", what="operation", name="for agents")

