"""The conversations of one Agent on this disk: what was said, what was answered, how it ended.

One file per turn, replaced whole; one writer. Accepted means on the disk. A turn that was
queued or running when its program ended is `interrupted` at the next start and never run
again. Nothing is dropped or repaired: what is damaged, doubled, misplaced or another
Agent's refuses the whole store and stays as it is. Tool results, reasoning, credentials and
session ids are never given to it.

Units   sizes in bytes
Source  the MCP surface, "History files"; the workbench surface, "Conversations"
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from rulith.base.clock import Clock, stamp
from rulith.base.errors import Refused
from rulith.base.limits import (
    HISTORY_ACTIVE_BYTES_MAX, HISTORY_ACTIVE_TURNS_MAX, HISTORY_FILE_BYTES_MAX, HISTORY_RESERVED_BYTES,
)
from rulith.disk.atomic import make_folder, read_bounded, write_whole
from rulith.disk.locks import HeldLock, take_lock

FORMAT_OLD, FORMAT, FORMAT_UNREAD = "rulith-conversations/1", "rulith-conversations/2", "rulith-unread-outcomes/1"
QUEUED, RUNNING, FINISHED, INTERRUPTED = "queued", "running", "finished", "interrupted"
UNFINISHED = (QUEUED, RUNNING)
OWNER = ("origin", "accountId", "agentId")
UNREAD_ROWS_MAX = 64
TURN_SUFFIX, SESSION_SUFFIX = ".turn.json", ".session.json"
_TEXTS = ("id", "sessionKey", "text", "at", "state")


@dataclass
class TurnRow:
    """What is kept in memory of a turn."""

    id: str
    session_key: str
    at: str
    state: str
    size: int
    request_id: str
    model_service: str           # whose model answered it


def owner_digest(owner: Mapping[str, str]) -> str:
    parts = json.dumps([owner[name] for name in OWNER], ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(parts.encode()).hexdigest()


def _name(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


class Conversations:
    """Made by `open`. Every method that writes has written when it returns.

    Raises Refused history_full where a bound is met, disk_full and write_failed where the disk says no.
    """

    def __init__(self, folder: Path, owner: dict[str, str], lock: HeldLock, clock: Clock) -> None:
        self._folder = folder
        self._owner = owner
        self._lock = lock
        self._clock = clock
        self._rows: dict[str, TurnRow] = {}
        self._requests: dict[str, str] = {}
        self._archived: set[str] = set()
        self.unread: dict[str, list[dict]] = {}      # by session key, as it was read at the start

    @classmethod
    def open(cls, folder: Path | str, owner: Mapping[str, str], *, clock: Clock) -> Conversations:
        """The store of `owner` ({origin, accountId, agentId}) below `folder`. Raises Refused history_unusable."""
        old = make_folder(folder) / f"{owner_digest(owner)}.json"
        place = old.with_name(f"{old.name}.d")
        try:
            lock = take_lock(f"{old}.lock", "history")
        except Refused as refusal:
            raise Refused("history_unusable", path=str(old), problem=refusal.happened.rstrip(".")) from None
        self = cls(place, {name: owner[name] for name in OWNER}, lock, clock)
        try:
            self._begin(old)
            self._load()
        except BaseException as problem:
            lock.release()
            if isinstance(problem, Refused) and problem.code != "history_unusable":
                raise Refused("history_unusable", path=str(place), problem=problem.happened.rstrip(".")) from None
            raise
        return self

    def close(self) -> None:
        self._lock.release()

    # what is there

    def turn(self, turn_id: str) -> dict:
        """One turn, as it lies on the disk."""
        return self._read(self._folder / (_name(turn_id) + TURN_SUFFIX))

    def row(self, turn_id: str) -> TurnRow:
        return self._rows[turn_id]

    def of_request(self, request_id: str) -> dict | None:
        """The turn that was accepted for `request_id`."""
        found = self._requests.get(request_id)
        return None if found is None else self.turn(found)

    def turns_of(self, session_key: str) -> list[dict]:
        """All turns of one conversation, oldest first."""
        return [self.turn(row.id) for row in self.rows_of(session_key)]

    def rows_of(self, session_key: str) -> list[TurnRow]:
        return sorted((row for row in self._rows.values() if row.session_key == session_key), key=lambda row: (row.at, row.id))

    def session_keys(self) -> list[str]:
        """Each conversation once, the one with the newest turn first."""
        newest = sorted(self._rows.values(), key=lambda row: (row.at, row.id), reverse=True)
        return list(dict.fromkeys(row.session_key for row in newest))

    def is_archived(self, session_key: str) -> bool:
        return session_key in self._archived

    # changing it

    def accept(self, turn: Mapping[str, object]) -> None:
        """Keep a new turn. Raises Refused history_full."""
        assert turn["id"] not in self._rows and not self.is_archived(str(turn["sessionKey"]))
        active = [row for row in self._rows.values() if row.session_key not in self._archived]
        reserved = HISTORY_RESERVED_BYTES * (1 + sum(row.state in UNFINISHED for row in active))
        if len(active) >= HISTORY_ACTIVE_TURNS_MAX or sum(row.size for row in active) + reserved > HISTORY_ACTIVE_BYTES_MAX:
            raise Refused("history_full", turns=HISTORY_ACTIVE_TURNS_MAX, megabytes=HISTORY_ACTIVE_BYTES_MAX >> 20)
        self._write_turn(dict(turn))

    def change(self, turn_id: str, **members: object) -> dict:
        """Replace members of a turn; the turn as it is now."""
        turn = {**self.turn(turn_id), **members}
        self._write_turn(turn)
        return turn

    def archive(self, session_key: str, archived: bool) -> None:
        """Put a conversation away, or take it back. Its turns stay where they are."""
        self._write(self._folder / (_name(session_key) + SESSION_SUFFIX), {"sessionKey": session_key, "archived": archived})
        (self._archived.add if archived else self._archived.discard)(session_key)

    def keep_unread(self, by_session: Mapping[str, Iterable[Mapping[str, object]]]) -> None:
        """Remember which outcomes no model has read, by conversation; conversations without any go."""
        kept = {key: [dict(row) for row in rows][-UNREAD_ROWS_MAX:] for key, rows in by_session.items()}
        kept = {key: rows for key, rows in kept.items() if rows}
        if kept != self.unread:
            self._write(self._folder / "_unread-outcomes.json", {"format": FORMAT_UNREAD, "owner": self._owner, "conversations": kept})
            self.unread = kept

    # reading all of it

    def _begin(self, old: Path) -> None:
        """The switch point of this store: made anew, imported from the older single file, or read."""
        complete = self._folder / "_complete.json"
        if complete.exists():
            self._check_owner(self._read(complete), FORMAT, complete)
            return
        if old.exists():
            content = read_bounded(old, HISTORY_ACTIVE_BYTES_MAX)
            value = _object(content, old)
            self._check_owner(value, FORMAT_OLD, old)
            turns = value.get("turns")
            if not isinstance(turns, list):
                raise _unusable(old, "it has no list of turns")
            make_folder(self._folder)
            for turn in turns:
                _check_turn(turn, old)
                self._write(self._folder / (_name(turn["id"]) + TURN_SUFFIX), turn)
            source, count = hashlib.sha256(content).hexdigest(), len(turns)
        else:
            if any(self._folder.glob(f"*{TURN_SUFFIX}")):
                raise _unusable(self._folder, "it holds turns and no _complete.json")
            make_folder(self._folder)
            source, count = "", 0
        self._write(complete, {"format": FORMAT, "owner": self._owner, "sourceSha256": source, "migratedTurns": count})

    def _load(self) -> None:
        for path in sorted(self._folder.iterdir()):
            if path.name.endswith(SESSION_SUFFIX):
                value = self._read(path)
                key = value.get("sessionKey")
                if not isinstance(key, str) or not isinstance(value.get("archived"), bool) or path.name != _name(key) + SESSION_SUFFIX:
                    raise _unusable(path, "it is not the record of the conversation that its name says")
                if value["archived"]:
                    self._archived.add(key)
            elif path.name.endswith(TURN_SUFFIX):
                self._load_turn(path)
            elif path.name == "_unread-outcomes.json":
                self._load_unread(path)
            elif path.name.endswith(".tmp"):
                path.unlink(missing_ok=True)         # of a write that never took its name

    def _load_turn(self, path: Path) -> None:
        turn = self._read(path)
        _check_turn(turn, path)
        if path.name != _name(turn["id"]) + TURN_SUFFIX:
            raise _unusable(path, "it is not the turn that its name says")
        if turn["state"] in UNFINISHED:
            turn = {**turn, "state": INTERRUPTED, "outcome": "interrupted", "endedAt": stamp(self._clock.wall_s()),
                    "note": "The program ended before this turn did. It was not run again."}
            self._write_turn(turn)
            return
        self._remember(turn, path.stat().st_size, path)

    def _load_unread(self, path: Path) -> None:
        value = self._read(path)
        self._check_owner(value, FORMAT_UNREAD, path)
        found = value.get("conversations")
        if not isinstance(found, dict) or not all(isinstance(rows, list) and all(isinstance(row, dict) for row in rows)
                                                  for rows in found.values()):
            raise _unusable(path, "its rows cannot be read")
        self.unread = found

    def _check_owner(self, value: dict, wanted: str, path: Path) -> None:
        if value.get("format") != wanted:
            raise _unusable(path, f"its format is not {wanted}")
        if value.get("owner") != self._owner:
            raise _unusable(path, "it belongs to another Agent")

    def _remember(self, turn: dict, size: int, path: Path) -> None:
        request_id = turn.get("requestId") or ""
        if self._requests.get(request_id, turn["id"]) != turn["id"]:
            raise _unusable(path, "a second turn has its request id")
        self._rows[turn["id"]] = TurnRow(turn["id"], turn["sessionKey"], turn["at"], turn["state"], size, request_id, str(turn.get("modelService") or ""))
        if request_id:
            self._requests[request_id] = turn["id"]

    # files

    def _read(self, path: Path) -> dict:
        return _object(read_bounded(path, HISTORY_FILE_BYTES_MAX), path)

    def _write(self, path: Path, value: dict) -> int:
        content = (json.dumps(value, ensure_ascii=True, indent=1) + "\n").encode()
        if len(content) > HISTORY_FILE_BYTES_MAX:
            raise Refused("history_full", turns=HISTORY_ACTIVE_TURNS_MAX, megabytes=HISTORY_FILE_BYTES_MAX >> 20)
        write_whole(path, content)
        return len(content)

    def _write_turn(self, turn: dict) -> None:
        path = self._folder / (_name(turn["id"]) + TURN_SUFFIX)
        self._remember(turn, self._write(path, turn), path)


def _unusable(path: Path, problem: str) -> Refused:
    return Refused("history_unusable", path=str(path), problem=problem)


def _object(content: bytes, path: Path) -> dict:
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        raise _unusable(path, "it is not JSON") from None
    if not isinstance(value, dict):
        raise _unusable(path, "it is not one JSON object")
    return value


def _check_turn(turn: object, path: Path) -> None:
    """Raises Refused history_unusable where `turn` has not the shape of one."""
    if not isinstance(turn, dict) or not all(isinstance(turn.get(name), str) for name in _TEXTS) or not turn["id"]:
        raise _unusable(path, "a turn has no id, conversation, text, time or state")
    replies = turn.get("replies", [])
    if not isinstance(replies, list) or not all(isinstance(each, dict) and isinstance(each.get("text"), str) for each in replies):
        raise _unusable(path, "a turn's replies cannot be read")
    if turn["state"] not in (QUEUED, RUNNING, FINISHED, INTERRUPTED):
        raise _unusable(path, f"a turn is in the unknown state {turn['state'][:40]!r}")
    if not isinstance(turn.get("requestId") or "", str):
        raise _unusable(path, "a turn's request id is no text")
