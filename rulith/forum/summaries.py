"""What a list says of each thread, in one query however long the list is.

    waits_for_person   the person was asked, or opened it and was answered, and another spoke last
    in_progress        agents that said they are at it, lately, and have posted nothing there yet

Decides nothing about who may see which.

Units   times are RFC 3339 stamps, which sort as the moments do
Source  the council surface, "Data model"
"""

from __future__ import annotations

from collections.abc import Sequence

from rulith.council.times import moment
from rulith.store.council_db import CouncilDb

TOLD = ("id", "room_id", "room_name", "title", "tag", "status", "author_agent_id", "author_name", "author_icon", "author_color", "reply_count",
        "responder_count", "in_progress", "cost_usd", "git_ref", "created_at", "updated_at", "resolved_at", "last_reply_at")
_LAST = "coalesce((SELECT created_at FROM message WHERE thread_id = t.id ORDER BY id DESC LIMIT 1), t.created_at)"
# How the rows stand, and how the threads are chosen by the least that has to be read of each; each ends with the id, so that equals stand in one order.
ORDERS = {
    "last_reply": ("coalesce(last_reply_at, created_at) DESC, id DESC", f"{_LAST} DESC, t.id DESC"),
    "created": ("created_at DESC, id DESC", "t.created_at DESC, t.id DESC"),
    "activity": ("reply_count DESC, updated_at DESC, id DESC", "(SELECT count(*) FROM message WHERE thread_id = t.id) DESC, t.updated_at DESC, t.id DESC"),
    "longest_waiting": ("coalesce(last_reply_at, created_at), id", f"{_LAST}, t.id"),
}
WAITS = "waits_for_person"
_SHORT = ("t.id, t.room_id, t.title, t.tag, t.status, t.author_agent_id, t.git_ref, t.created_at, t.updated_at, t.resolved_at, t.case_id, t.operation, t.client_ref, "
          "t.blind")
_QUERY = (
    "SELECT *, newest_agent_id IS NOT person_id AND status IN ('OPEN', 'BLOCKED') AND (asks_person OR (author_agent_id IS person_id AND reply_count > 0)) "
    "AS waits_for_person FROM (SELECT {columns}, r.name AS room_name, r.project_id, r.response_timeout_secs, a.name AS author_name, p.icon AS author_icon, "
    "a.color AS author_color, h.id AS person_id, "
    "(SELECT count(*) FROM message WHERE thread_id = t.id) AS reply_count, "
    "(SELECT count(DISTINCT agent_id) FROM message WHERE thread_id = t.id AND agent_id != t.author_agent_id) AS responder_count, "
    "(SELECT coalesce(sum(cost_usd), 0) FROM message WHERE thread_id = t.id) AS cost_usd, "
    "(SELECT created_at FROM message WHERE thread_id = t.id ORDER BY id DESC LIMIT 1) AS last_reply_at, "
    "coalesce((SELECT agent_id FROM message WHERE thread_id = t.id ORDER BY id DESC LIMIT 1), t.author_agent_id) AS newest_agent_id, "
    "EXISTS (SELECT 1 FROM thread_mention WHERE thread_id = t.id AND agent_id = h.id) AS asks_person, "
    "(SELECT group_concat(c.claimed_at) FROM thread_claim c JOIN agent k ON k.id = c.agent_id WHERE c.thread_id = t.id AND k.revoked_at IS NULL "
    "AND NOT EXISTS (SELECT 1 FROM message WHERE thread_id = t.id AND agent_id = c.agent_id)) AS claimed "
    "FROM thread t JOIN room r ON r.id = t.room_id JOIN agent a ON a.id = t.author_agent_id LEFT JOIN profile p ON p.id = a.profile_id "
    "LEFT JOIN agent h ON h.project_id = r.project_id AND h.role = 'HUMAN' WHERE {where})")
_CHOSEN = "t.id IN (SELECT t.id FROM thread t JOIN room r ON r.id = t.room_id LEFT JOIN agent h ON h.project_id = r.project_id AND h.role = 'HUMAN' WHERE {where} ORDER BY {order} LIMIT ?)"
_WAITING = ("t.status IN ('OPEN', 'BLOCKED') AND coalesce((SELECT agent_id FROM message WHERE thread_id = t.id ORDER BY id DESC LIMIT 1), t.author_agent_id) IS NOT h.id "
            "AND (EXISTS (SELECT 1 FROM thread_mention WHERE thread_id = t.id AND agent_id = h.id) "
            "OR (t.author_agent_id IS h.id AND EXISTS (SELECT 1 FROM message WHERE thread_id = t.id)))")
CONCERNS = "(t.author_agent_id = coalesce(?, h.id) OR EXISTS (SELECT 1 FROM thread_mention WHERE thread_id = t.id AND agent_id = coalesce(?, h.id)))"
OWN = "t.author_agent_id = coalesce(?, h.id)"


def summaries(db: CouncilDb, at: str, where: Sequence[tuple[str, Sequence[object]]], *, order: str, limit: int = -1, only_waiting: bool = False) -> list[dict]:
    """The threads for which each condition holds, in that order. `limit` -1 is no limit."""
    stand, choose = ORDERS[order]
    conditions = [condition for condition, _ in where] + ([_WAITING] if only_waiting else [])
    query = _QUERY.format(columns=_SHORT, where=_CHOSEN.format(where=" AND ".join(conditions), order=choose))
    rows = db.all(f"{query} ORDER BY {stand}", *(value for _, values in where for value in values), limit)
    return [_counted(row, at) for row in rows]


def whole(db: CouncilDb, at: str, thread_id: int) -> dict | None:
    """All that is kept of one thread itself, and its summary."""
    row = db.one(_QUERY.format(columns="t.*", where="t.id = ?"), thread_id)
    return _counted(row, at) if row is not None else None


def among(column: str, values: Sequence[object]) -> tuple[str, Sequence[object]]:
    """The condition that a column holds one of these."""
    return f"{column} IN ({', '.join('?' * len(values))})", values


def _counted(row: dict, at: str) -> dict:
    """The row with what depends on the moment of reading."""
    since_s = moment(at) - row.pop("response_timeout_secs")
    row["in_progress"] = sum(moment(each) >= since_s for each in (row.pop("claimed") or "").split(",") if each)
    row[WAITS] = bool(row[WAITS])
    for inner in ("person_id", "asks_person", "newest_agent_id"):
        del row[inner]
    return row
