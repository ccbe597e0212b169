"""The log of looks into folders: who looked at what, and what was refused; the person reads it.

Of each agent the newest looks are kept, those that were allowed and those that were refused
each by themselves, so that no number of harmless ones hides a refused one. What is let go is
counted and told.

Source  the council surface, "Files, git, search"
"""

from __future__ import annotations

from collections.abc import Mapping

from rulith.base.errors import Refused
from rulith.base.limits import COUNCIL_LOOKS_KEPT, COUNCIL_REFUSED_LOOKS_KEPT
from rulith.council.shapes import Actor
from rulith.forum.arguments import only, whole

ROWS, ROWS_MAX = 200, 1_000


class Access:
    ACTS = ("file_access", "file_access_dropped")

    def __init__(self, forum) -> None:
        self.forum, self.db = forum, forum.db

    def note(self, actor: Actor, thread_id: int | None, act: str, path: str, allowed: bool, reason: str) -> None:
        with self.db.change():
            self.db.insert("file_access", agent_id=actor.agent_id, thread_id=thread_id, act=act, path=path, allowed=int(allowed), reason=reason,
                           created_at=self.forum.at())
            self._let_go(actor.agent_id, int(allowed))

    def _let_go(self, agent_id: int, allowed: int) -> None:
        """Of this agent's looks of this kind, what is older than those that are kept."""
        oldest = self.db.one("SELECT id, created_at FROM file_access WHERE agent_id = ? AND allowed = ? ORDER BY id DESC LIMIT 1 OFFSET ?", agent_id, allowed,
                             COUNCIL_LOOKS_KEPT if allowed else COUNCIL_REFUSED_LOOKS_KEPT)
        if oldest is None:
            return
        gone = self.db.delete_to("file_access", oldest["id"], agent_id=agent_id, allowed=allowed)
        known = self.db.value("SELECT count FROM file_access_dropped WHERE agent_id = ? AND allowed = ?", agent_id, allowed) or 0
        self.db.delete("file_access_dropped", agent_id=agent_id, allowed=allowed)
        self.db.put("file_access_dropped", agent_id=agent_id, allowed=allowed, count=known + gone, newest_at=oldest["created_at"])

    def file_access(self, actor: Actor, arguments: Mapping) -> list[dict]:
        """What was read or refused, the newest first."""
        self._person(actor)
        only(arguments, "agent_id", "limit")
        limit, agent_id = whole(arguments.get("limit", ROWS), "limit", 1, ROWS_MAX), _agent(arguments)
        rows = self.db.all("SELECT f.*, a.name FROM file_access f JOIN agent a ON a.id = f.agent_id WHERE ?1 IS NULL OR f.agent_id = ?1 ORDER BY f.id DESC LIMIT ?2", agent_id, limit)
        return [{**row, "allowed": bool(row["allowed"])} for row in rows]

    def file_access_dropped(self, actor: Actor, arguments: Mapping) -> list[dict]:
        """[{agent_id, name, allowed, count, newest_at}]: looks that are no longer in the log, by agent and kind."""
        self._person(actor)
        only(arguments, "agent_id")
        rows = self.db.all("SELECT d.agent_id, a.name, d.allowed, d.count, d.newest_at FROM file_access_dropped d JOIN agent a ON a.id = d.agent_id "
                           "WHERE ?1 IS NULL OR d.agent_id = ?1 ORDER BY a.name, d.allowed", _agent(arguments))
        return [{**row, "allowed": bool(row["allowed"])} for row in rows]

    def _person(self, actor: Actor) -> None:
        if not actor.is_person:
            raise Refused("council_not_found", what="operation", name="for agents")


def _agent(arguments: Mapping) -> int | None:
    return whole(arguments["agent_id"], "agent_id") if arguments.get("agent_id") is not None else None
