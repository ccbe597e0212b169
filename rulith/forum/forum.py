"""The forum: who acts, how they stand, and what every act leaves behind.

One door for MCP, the person's API and the supervisor. Promises: an act is whole and durable
when it returns, or refused with nothing changed; the events of one act are in one commit
with it; whoever waits hears of them only then. Decides nothing that council/ decides.

Units   times are RFC 3339 stamps
Source  the council surface, §§2-7
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Mapping
from typing import Protocol

from rulith.base.clock import Clock
from rulith.base.errors import Refused
from rulith.base.ids import random_bytes
from rulith.council import keys
from rulith.council.seeds import BY_KEY, PROFILES, TAGS, Tag
from rulith.council.shapes import PERSON, PERSON_ROLE, Actor, Room, Standing, Thread
from rulith.council.times import told
from rulith.council.wake import is_waiting, is_wakeable
from rulith.forum.access import Access
from rulith.forum.arguments import check_letters, json_list, whole
from rulith.forum.beside import AsideFolder, Beside, Looks
from rulith.forum.copies import Copies
from rulith.forum.files import Excerpt
from rulith.forum.house import House
from rulith.forum.live import LiveKeys
from rulith.forum.looking import Looking
from rulith.forum.presence import Presence
from rulith.forum.reading import Reading
from rulith.forum.threads import Threads
from rulith.forum.waiting import Bus, Waiting
from rulith.store.council_db import CouncilDb


class Folder(Protocol):
    """What a project's folder offers; see files.py. Each raises Refused."""

    path: str
    def is_readable(self) -> bool: ...
    def remote(self) -> str | None: ...
    def read(self, path: str, start: int | None = None, end: int | None = None) -> Excerpt: ...
    def excerpt(self, path: str, start: int | None, end: int | None) -> tuple[str, str]: ...
    def list(self, path: str = "", depth: int = 2) -> tuple[list[str], bool]: ...
    def diff(self, base: str | None, path: str | None) -> str: ...
    def state(self) -> tuple[str | None, bool]: ...
    def status(self) -> dict: ...
    def write_record(self, name: str, text: str) -> str: ...


class Forum:
    """folder   (path of a project) -> what is in it; None where nothing may be read"""

    def __init__(self, db: CouncilDb, clock: Clock, *, folder: Callable[[str], Folder]) -> None:
        self.db, self.clock, self._folder = db, clock, folder
        self._looks: Looks | None = None
        self.beside = Beside(lambda looks: setattr(self, "_looks", looks))
        self.bus = Bus()
        self.live = LiveKeys(clock)
        self.shut: set[int] = set()                        # agents whose revoking could not be written: no key of theirs opens in this life
        self.presence = Presence(clock, lambda: self.bus.fire(PERSON.agent_id))
        self.agent_changed: Callable[[int], None] = lambda agent_id: None      # its credentials ended, or what starts it is another
        self._acts: dict[str, Callable[[Actor, Mapping], object]] = {}
        self.reading, self._access = Reading(self), Access(self)
        for part in (House(self), Threads(self), self.reading, Looking(self), self._access, Copies(self)):
            self.take_acts(part)
        self.waiting = Waiting(self)
        self._seed()

    # --- acting --------------------------------------------------------------------------

    def take_acts(self, part) -> None:
        """From now on `run` finds the acts of this part too."""
        self._acts.update({name: getattr(part, name) for name in part.ACTS})

    def run(self, actor: Actor, name: str, arguments: Mapping) -> object:
        """One act by name. Raises Refused with nothing changed."""
        act = self._acts.get(name)
        if act is None:
            raise Refused("council_not_found", what="operation", name=repr(name[:60]))
        if actor.is_watcher and name != "list_tags":          # of which its whoami tells
            raise Refused("council_watcher")
        check_letters(arguments)
        return act(self.present(actor), arguments)

    async def act(self, actor: Actor, name: str, arguments: Mapping) -> object:
        """As `run`, with looks into folders beside the loop. Raises Refused council_busy too."""
        return await self.beside.play(lambda: self.run(actor, name, arguments), None if actor.is_person else actor.agent_id)

    def folder(self, path: str) -> Folder:
        """The folder of a project; what it refuses is told by its methods where the looks are beside the loop."""
        looks = self._looks
        return self._folder(path) if looks is None else AsideFolder(looks, path, lambda: self._folder(path))  # type: ignore[return-value]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._acts)

    def at(self) -> str:
        return told(self.clock.wall_s())

    def changed(self) -> None:
        """A change is durable: whoever waits looks again."""
        if self._looks is not None:
            self._looks.is_spent = True
        self.bus.fire()

    # --- who acts ------------------------------------------------------------------------

    def authenticate(self, header: str | None) -> Actor | None:
        """Whom a key names; None for one that is malformed, unknown or revoked."""
        key = keys.bearer(header)
        if key.startswith(keys.LIVE):
            found = self.live.find(key)
            row = self.db.one("SELECT * FROM agent WHERE id = ? AND created_at = ? AND revoked_at IS NULL", *found[:2]) if found else None
            return self.actor(row, supervised=True, is_watcher=found[2]) if row is not None and not self.is_revoked(row) else None
        key_id = keys.key_id_of(key)
        row = self.db.one("SELECT * FROM agent WHERE key_id = ? AND revoked_at IS NULL", key_id) if key_id else None
        if row is None or self.is_revoked(row) or row["role"] == PERSON_ROLE or not hmac.compare_digest(row["key_hash"], keys.key_hash(key)):
            return None
        return self.actor(row)

    def mint_live(self, agent_id: int, *, is_watcher: bool = False) -> str:
        """A credential for runs of this agent, or for what waits to start them. Raises Refused: council_not_found, council_revoked."""
        row = self.agent(agent_id)
        if self.is_revoked(row):
            raise Refused("council_revoked")
        return self.live.mint((row["id"], row["created_at"], is_watcher), random_bytes(keys.SECRET_BYTES))

    def is_revoked(self, row: Mapping) -> bool:
        return row["revoked_at"] is not None or row["id"] in self.shut

    @staticmethod
    def actor(row: Mapping, *, supervised: bool = False, is_watcher: bool = False) -> Actor:
        return Actor(row["id"], row["name"], row["project_id"], row["created_at"], row["role"] == PERSON_ROLE, supervised, is_watcher)

    def present(self, actor: Actor) -> Actor:
        """The actor as they are now. Raises Refused council_revoked for one who no longer is."""
        if not actor.agent_id:
            return actor                    # the person before any project has them
        row = self.db.one("SELECT * FROM agent WHERE id = ? AND created_at = ?", actor.agent_id, actor.created_at)
        if row is None or self.is_revoked(row):
            raise Refused("council_revoked")
        return self.actor(row, supervised=actor.supervised, is_watcher=actor.is_watcher)

    def person_of(self, project_id: int) -> Actor:
        """The person as a participant of this project."""
        row = self.db.one("SELECT * FROM agent WHERE project_id = ? AND role = ?", project_id, PERSON_ROLE)
        if row is None:
            raise Refused("council_not_found", what="project", name=project_id)
        return self.actor(row)

    # --- what is there -------------------------------------------------------------------

    def project(self, project_id: object) -> dict:
        return self._found("project", project_id)

    def agent(self, agent_id: object) -> dict:
        return self._found("agent", agent_id)

    def room_row(self, room_id: object) -> dict:
        return self._found("room", room_id)

    def thread_row(self, thread_id: object) -> dict:
        return self._found("thread", thread_id)

    def message_row(self, message_id: object) -> dict:
        return self._found("message", message_id)

    def _found(self, table: str, key: object) -> dict:
        number = whole(key, f"{table} id")
        row = self.db.one(f"SELECT * FROM {table} WHERE id = ?", number)
        if row is None:
            raise absent(table, number)
        return row

    def room(self, room_id: object) -> Room:
        return room_of(self.room_row(room_id))

    def tag(self, key: str) -> Tag | None:
        return BY_KEY.get(str(key).upper())

    def members(self, room_id: int) -> dict[int, str]:
        """Agent id -> name of the room's members that were not revoked."""
        rows = self.db.all("SELECT a.id, a.name FROM agent a JOIN room_member m ON m.agent_id = a.id "
                           "WHERE m.room_id = ? AND a.revoked_at IS NULL ORDER BY a.id", room_id)
        return {row["id"]: row["name"] for row in rows}

    def rooms_of(self, agent_id: int) -> list[int]:
        return [row["room_id"] for row in self.db.all("SELECT room_id FROM room_member WHERE agent_id = ? ORDER BY room_id", agent_id)]

    def is_member(self, room_id: int, agent_id: int) -> bool:
        return self.db.value("SELECT 1 FROM room_member WHERE room_id = ? AND agent_id = ?", room_id, agent_id) is not None

    def thread(self, actor: Actor, thread_id: object) -> tuple[dict, Thread, Room]:
        """A thread of the actor's rooms. Raises Refused council_not_found: of another room's it says no more than of one that is not there."""
        row = self.thread_row(thread_id)
        if not actor.is_person and not self.is_member(row["room_id"], actor.agent_id):
            raise absent("thread", row["id"])
        return row, thread_of(row), self.room(row["room_id"])

    def message(self, actor: Actor, message_id: object) -> tuple[dict, dict, Thread, Room]:
        """A message of the actor's rooms, and its thread. Raises Refused council_not_found, as `thread` does."""
        message = self.message_row(message_id)
        try:
            return message, *self.thread(actor, message["thread_id"])
        except Refused:
            raise absent("message", message["id"]) from None

    def standing(self, agent_id: int, thread: Thread) -> Standing:
        row = self.db.one(
            "SELECT (SELECT count(*) FROM room_member WHERE room_id = ?1 AND agent_id = ?2) AS member, "
            "(SELECT count(*) FROM thread_mention WHERE thread_id = ?3 AND agent_id = ?2) AS mentioned, "
            "(SELECT count(*) FROM message WHERE thread_id = ?3 AND agent_id = ?2) AS own, "
            "(SELECT count(*) FROM message WHERE thread_id = ?3) AS total, "
            "(SELECT spent_usd FROM room WHERE id = ?1) AS spent, "
            "(SELECT agent_id FROM message WHERE thread_id = ?3 ORDER BY id DESC LIMIT 1) AS newest", thread.room_id, agent_id, thread.id)
        return Standing(bool(row["member"]), bool(row["mentioned"]) or thread.author_id == agent_id, row["own"], row["total"], row["spent"],
                        row["newest"] or thread.author_id)

    def reading_room(self, actor: Actor, named: object) -> Room:
        return self.reading.room(actor, named)

    def detail(self, thread_id: int) -> dict:
        return self.reading.detail(thread_id)

    def rows_of(self, actor: Actor, thread_id: int) -> list[dict]:
        return self.reading.rows_of(actor, thread_id)

    def note_access(self, actor: Actor, thread_id: int | None, act: str, path: str, allowed: bool, reason: str) -> None:
        """Write down that a file was read, or why not."""
        if self._looks is not None and not self._looks.is_news():
            return
        self._access.note(actor, thread_id, act, path, allowed, reason)

    # --- whom it needs -------------------------------------------------------------------

    def is_wakeable(self, agent_id: int, thread_id: int) -> bool:
        row = self.db.one("SELECT * FROM thread WHERE id = ?", thread_id)
        if row is None:
            return False
        thread = thread_of(row)
        return is_wakeable(thread, self.room(thread.room_id), self.standing(agent_id, thread))

    def waiting_set(self, agent_id: int) -> list[int]:
        """The threads that wait for this agent, ascending."""
        rows = self.db.all(
            "SELECT t.id, t.room_id, t.author_agent_id, t.title, t.tag, t.status, t.blind, "
            "(SELECT count(*) FROM message WHERE thread_id = t.id AND agent_id = ?1) AS own, (SELECT count(*) FROM message WHERE thread_id = t.id) AS total, "
            "coalesce((SELECT agent_id FROM message WHERE thread_id = t.id ORDER BY id DESC LIMIT 1), t.author_agent_id) AS newest "
            "FROM thread t JOIN room_member m ON m.room_id = t.room_id AND m.agent_id = ?1 LEFT JOIN thread_mention a ON a.thread_id = t.id AND a.agent_id = ?1 "
            "WHERE t.status IN ('OPEN', 'BLOCKED') AND (a.agent_id IS NOT NULL OR t.author_agent_id = ?1) ORDER BY t.id", agent_id)
        rooms = {row["id"]: row for row in self.db.all("SELECT r.* FROM room r JOIN room_member m ON m.room_id = r.id WHERE m.agent_id = ?", agent_id)}
        return [row["id"] for row in rows
                if is_waiting(thread_of(row), room_of(rooms[row["room_id"]]),
                              Standing(True, True, row["own"], row["total"], rooms[row["room_id"]]["spent_usd"], row["newest"]), agent_id)]

    # --- seeds ---------------------------------------------------------------------------

    def _seed(self) -> None:
        with self.db.change():
            for sort, tag in enumerate(TAGS):
                self.db.put("tag", key=tag.key, label="", color="", instruction="", verdict_options="[]", expects_replies=1, sort=sort, builtin=1)
                self.db.update("tag", tag.key, by="key", label=tag.label, color=tag.color, instruction=tag.instruction,
                               verdict_options=json_list(tag.verdicts), expects_replies=int(tag.expects_replies), sort=sort)
            for each in PROFILES:
                self.db.put("profile", key=each.key, label=each.label, icon=each.icon, launch_cmd=each.command, launch_args=json_list(each.arguments),
                            mcp_install_mode=each.install, builtin=1)
                self.db.update("profile", each.key, by="key", label=each.label, icon=each.icon, mcp_install_mode=each.install)
        House(self).repair()
        Threads(self).finish_records()


def absent(what: str, number: int) -> Refused:
    return Refused("council_not_found", what=what, name=number)


def room_of(row: Mapping) -> Room:
    return Room(row["id"], row["project_id"], row["name"], bool(row["paused"]), row["max_replies_per_agent"], row["max_thread_messages"],
                row["cost_cap_usd"], row["response_timeout_secs"])


def thread_of(row: Mapping) -> Thread:
    return Thread(row["id"], row["room_id"], row["author_agent_id"], row["title"], row["tag"], row["status"], bool(row["blind"]))
