"""A deterministic state machine whose accepted commands become ledger rows.

Runs one command at a time: all of it or nothing. State lives in plain dictionaries that
are changed through a Journal, so a refusal restores content *and* order. Ids come from
outside at the first run and from the row at replay.

Refuses to know: clocks, randomness, storage, who is asking beyond what the command says.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager

from rulith.base.canonical import digest, spelled
from rulith.base.errors import Refused
from rulith.board.shapes import Mint, Outcome

_ABSENT = object()

_KIND = frozenset({"kind"})

ID_DIGITS = 24     # hex digits after the prefix; 96 random bits do not collide on one machine


class Journal:
    """Undo for dictionaries and attributes: what was written since `open` is taken back if the block raises."""

    def __init__(self) -> None:
        self._undo: list[tuple] | None = None      # (function, its arguments …), newest last
        self._saved: set[int] = set()

    def open(self) -> Journal:
        """Use it in a `with`."""
        assert self._undo is None, "one command at a time"
        self._undo, self._saved = [], set()
        return self

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, problem: object, trace: object) -> None:
        undo, self._undo = self._undo, None
        if kind is not None:
            for step, *arguments in reversed(undo or ()):
                step(*arguments)

    def put(self, mapping: dict, key: object, value: object) -> None:
        if self._undo is not None and id(mapping) not in self._saved:
            before = mapping.get(key, _ABSENT)
            self._undo.append((mapping.pop, key, None) if before is _ABSENT else (mapping.__setitem__, key, before))
        mapping[key] = value

    def drop(self, mapping: dict, key: object) -> None:
        """Remove a key; the whole dictionary is kept once per command, since putting a key back would lose its place."""
        if self._undo is not None and id(mapping) not in self._saved:
            before = dict(mapping)
            self._saved.add(id(mapping))

            def restore() -> None:
                mapping.clear()
                mapping.update(before)

            self._undo.append((restore,))
        del mapping[key]

    def forget(self, mapping: dict, key: object) -> None:
        """Remove a key of a dictionary whose order nobody reads; taken back, it stands at the end."""
        if self._undo is not None:
            self._undo.append((mapping.__setitem__, key, mapping[key]))
        del mapping[key]

    def set(self, owner: object, name: str, value: object) -> None:
        if self._undo is not None:
            self._undo.append((setattr, owner, name, getattr(owner, name)))
        setattr(owner, name, value)


class Machine:
    """Runs commands by `kind`; `COMMANDS` maps a kind to (method name, required members, optional members)."""

    COMMANDS: Mapping[str, tuple[str, frozenset[str], frozenset[str]]] = {}

    def __init__(self) -> None:
        self.journal = Journal()
        self._affected: dict[str, None] = {}
        self._changed: dict[str, None] = {}

    # --- the two doors -----------------------------------------------------------------

    def execute(self, command: dict, *, at: str, mint: Mint) -> Outcome:
        """Run `command` whole, or raise Refused with the state as it was."""
        minted: list[str] = []

        def draw(prefix: str) -> str:
            fresh = mint(prefix)[:len(prefix) + ID_DIGITS]
            minted.append(fresh)
            return fresh

        self._affected, self._changed = {}, {}
        with self._whole():
            result = self._run(command, at, draw)
        row = {"command": command, "at": at, "minted": minted, "result": digest(result), **self._row_extra()}
        return Outcome(spelled(row), result, list(self._affected), list(self._changed))

    def replay(self, row: dict) -> Outcome:
        """Re-execute a row with its own ids; the result must be the recorded one."""
        recorded = iter(row["minted"])
        outcome = self.execute(row["command"], at=row["at"], mint=lambda prefix: next(recorded))
        assert outcome.row == row, f"replay of {row['command'].get('kind')} at {row['at']} gives another result"
        return outcome

    # --- what a machine fills in -------------------------------------------------------

    def _whole(self) -> AbstractContextManager[None]:
        return self.journal.open()

    def _row_extra(self) -> dict:
        return {}

    def _run(self, command: dict, at: str, draw: Mint) -> dict:
        kind = command.get("kind") if isinstance(command, dict) else None
        if kind == "several":
            expect_members(command, "several", frozenset({"commands"}), frozenset())
            return {"results": [self._run(each, at, draw) for each in command["commands"]]}
        if not isinstance(kind, str) or kind not in self.COMMANDS:
            raise Refused("bad_command", problem=f"The command kind {kind!r} does not exist")
        name, required, optional = self.COMMANDS[kind]
        expect_members(command, kind, required, optional)
        return getattr(self, name)(command, at, draw)

    def _touch_case(self, case_id: str) -> None:
        self._affected[case_id] = None

    def _touch_node(self, node_id: str) -> None:
        self._changed[node_id] = None


def expect_members(value: Mapping, where: str, required: frozenset[str], optional: frozenset[str]) -> None:
    """Refuse a closed object that lacks a member or has one nobody reads; `kind` is always one."""
    names = value.keys()
    if required <= names and names - required <= optional | _KIND:
        return
    missing = [name for name in sorted(required) if name not in value]
    if missing:
        raise Refused("bad_command", problem=f"{where} lacks {', '.join(missing)}")
    strange = sorted(str(name) for name in value if name not in required and name not in optional and name != "kind")
    if strange:
        raise Refused("bad_command", problem=f"{where} has the unknown member {', '.join(strange)}")


def members(required: str, optional: str = "") -> tuple[frozenset[str], frozenset[str]]:
    """Two blank-separated lists as the sets `COMMANDS` rows want."""
    return frozenset(required.split()), frozenset(optional.split())
