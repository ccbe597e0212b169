"""The Boards of one `rulith board`: Spaces by id, and the ledger they are a fold of.

Promises: what changes a Space is a committed row before anyone hears of it; opening the
file runs the rows again, with the moments and ids they were first given, and each must
lead to the state it led to then. A change that could not be committed is taken back by
folding again. One thread owns all of this. Decides nothing about what a call means:
board_acts.py does.

Source  the design's rules on ledgers (D5, D7).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from rulith.base.clock import Clock, stamp
from rulith.base.errors import Refused
from rulith.base.ids import mint
from rulith.base.limits import SPACE_LABEL_BYTES_MAX, SPACE_SCOPES_MAX, SPACES_MAX
from rulith.board.space.space import Space
from rulith.rules.program import Limits
from rulith.store.ledger import Ledger
from rulith.store.memory import MemoryLedger

CHAIN = "board"
FORMAT = "rulith-board/1"       # of a row's body; the rule semantics are part of it
MINTED_DIGITS = 10              # of a node id: 40 random bits tell a Board's entries apart and stay readable


class BoardBroken(Exception):
    """The fold failed; the file is not served. `refusal` says which row and why."""

    def __init__(self, refusal: Refused) -> None:
        super().__init__(str(refusal))
        self.refusal = refusal


@dataclass
class Moment:
    """When a change happens and which ids it draws: fresh ones in a first run, the recorded ones in a replay."""

    at: str
    minted: list[str] = field(default_factory=list)
    recorded: list[str] | None = None

    def mint(self, prefix: str) -> str:
        if self.recorded is None:
            found = mint(prefix, MINTED_DIGITS)
        elif len(self.minted) < len(self.recorded):
            found = self.recorded[len(self.minted)]
        else:
            raise IndexError("it drew more ids than were recorded")
        self.minted.append(found)
        return found


#  (boards, space, args, moment) -> (result, whether anything changed); a Refused leaves all as it was
Act = Callable[["Boards", "Space", Mapping[str, Any], Moment], tuple[Any, bool]]


class Boards:
    """All Spaces, in order of their making.

    ledger  None keeps nothing: the Boards last as long as the process
    acts    what may change a Space, by name; rows name them
    limits  in force from now on; a row says so where they are not those of before
    """

    def __init__(self, ledger: Ledger | MemoryLedger | None, clock: Clock, acts: Mapping[str, Act], limits: Limits = Limits()) -> None:
        self.spaces: dict[str, Space] = {}
        self.limits = limits
        self._ledger = ledger
        self._clock = clock
        self._acts = acts

    # --- making and changing ---------------------------------------------------------------

    def make(self, args: Mapping[str, Any]) -> tuple[Space, Any]:
        """A new Space, committed, and what it was seeded with. args: id?, title?, scopes?, seedFromSpaceId?. Raises Refused."""
        return self._commit([self._make(args, self._now())])[0]

    def change(self, space_id: str, call: str, args: Mapping[str, Any], *, make: bool = False) -> Any:
        """Run an act on a Space and commit it; with `make`, the Space is made in the same commit. Raises Refused."""
        rows = []
        try:
            if make:
                rows.append(self._make({"id": space_id}, self._now()))
            rows.append(self._run(space_id, call, args, self._now()))
        except BaseException:
            if make and rows:
                del self.spaces[space_id]
            raise
        return self._commit(rows)[-1]

    def _now(self) -> Moment:
        return Moment(stamp(self._clock.wall_s()))

    def _make(self, args: Mapping[str, Any], moment: Moment) -> tuple[Any, dict | None, str]:
        for name in ("id", "title"):
            if len(args.get(name) or "") > SPACE_LABEL_BYTES_MAX:
                raise Refused("resource_limit", what=f"the {name} of a Board", value=len(args[name]), limit=SPACE_LABEL_BYTES_MAX)
        if len(args.get("scopes") or ()) > SPACE_SCOPES_MAX or any(len(scope) > SPACE_LABEL_BYTES_MAX for scope in args.get("scopes") or ()):
            raise Refused("resource_limit", what="what `scopes` holds", value="more", limit=f"{SPACE_SCOPES_MAX} names of {SPACE_LABEL_BYTES_MAX}")
        space_id = args.get("id") or moment.mint("board_")
        if space_id in self.spaces:
            raise Refused("SPACE_ID_TAKEN", space=space_id)
        if len(self.spaces) >= SPACES_MAX:
            raise Refused("resource_limit", what="the number of Boards", value=len(self.spaces) + 1, limit=SPACES_MAX)
        space = Space(space_id, args.get("title") or space_id, args.get("scopes") or (), self.limits, at=moment.at)
        self.spaces[space_id] = space
        try:
            seeded, row, _ = self._run(space_id, "create_space", args, moment)
        except BaseException:
            del self.spaces[space_id]
            raise
        return (space, seeded), row, moment.at

    def _run(self, space_id: str, call: str, args: Mapping[str, Any], moment: Moment) -> tuple[Any, dict | None, str]:
        space = self.spaces[space_id]
        result, is_changed = self._acts[call](self, space, args, moment)
        row = None
        if is_changed and self._ledger is not None:
            row = {"format": FORMAT, "space": space_id, "call": call, "args": dict(args), "minted": moment.minted,
                   "digest": space.program.closure_digest()}
        return result, row, moment.at

    def _commit(self, steps: list[tuple[Any, dict | None, str]]) -> list[Any]:
        """Make the steps durable together. After a failure the Boards are what the file holds."""
        results = [result for result, _, _ in steps]
        rows = [(row, at) for _, row, at in steps if row is not None]
        if self._ledger is None or not rows:
            return results
        try:
            for row, at in rows:
                self._ledger.append(CHAIN, "call", row, at)
            self._ledger.commit()
        except Refused as problem:
            self._ledger.discard()
            self.fold()
            raise Refused("outcome_unknown", problem=problem.happened.rstrip(".")) from None
        return results

    # --- the fold --------------------------------------------------------------------------

    def fold(self) -> None:
        """Rebuild every Space from the ledger. Raises BoardBroken."""
        self.spaces.clear()
        if self._ledger is None:
            return
        wanted, self.limits = self.limits, Limits()
        for row in self._ledger.rows(CHAIN):
            try:
                self._replay(row.kind, row.body, row.at)
            except (Refused, LookupError, TypeError, ValueError) as problem:
                path = getattr(self._ledger, "path", "the ledger")
                told = problem.happened.rstrip(".") if isinstance(problem, Refused) else str(problem)
                raise BoardBroken(Refused("board_fold_differs", seq=row.seq, path=path, problem=told)) from None
        if wanted != self.limits:
            self._ledger.append(CHAIN, "limits", {"format": FORMAT, "limits": asdict(wanted)}, self._now().at)
            self._ledger.commit()
            self._set_limits(wanted)

    def _set_limits(self, limits: Limits) -> None:
        self.limits = limits
        for space in self.spaces.values():
            space.limits = space.program.limits = limits

    def _replay(self, kind: str, body: Mapping[str, Any], at: str) -> None:
        if body.get("format") != FORMAT:
            raise ValueError(f"it has the format {body.get('format')!r}, and this release reads {FORMAT}")
        if kind == "limits":
            self._set_limits(Limits(**body["limits"]))
            return
        moment = Moment(at, recorded=body["minted"])
        if body["call"] == "create_space":
            self._make(body["args"], moment)
        else:
            self._run(body["space"], body["call"], body["args"], moment)
        if moment.minted != body["minted"]:
            raise ValueError("it drew fewer ids than were recorded")
        if self.spaces[body["space"]].program.closure_digest() != body["digest"]:
            raise ValueError("what follows from it is different")

    def close(self) -> None:
        if self._ledger is not None:
            self._ledger.close()
