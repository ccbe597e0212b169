"""Cases by page, facts by page, and one Case at two moments, for whoever only reads.

A moment is a row of the Agent's ledger that moved the Case. What was true then is found by
folding that Agent's rows again, up to there, on a Board of its own and in a thread of its
own; one such fold runs at a time, and nobody waits for it but who asked.

Source  the design's rules on the device grant (§5) and on replay (D7).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import TypeVar

from rulith.base.errors import Refused
from rulith.base.limits import CASE_PAGE_ROWS_MAX, FACT_PAGE_ROWS_MAX, MOMENT_FACTS_MAX, MOMENT_ROWS_MAX, MOMENTS_LISTED_MAX
from rulith.board.board import Board
from rulith.board.proofs import fact_node, rule_by, statement
from rulith.board.shapes import TIERS
from rulith.board.state import CLOSED, DERIVED_PREFIX, BoardState, Case
from rulith.board.views import case_about, case_title
from rulith.gateway.authority import BOARD, AgentState, Authority
from rulith.rules.terms import Atom

SCANNED_AT_ONCE = 4_000          # atoms or Cases looked at before the loop may do something else
FOLDED_AT_ONCE = 100             # rows
NEAR_ROWS = 100                  # rows of other work between two of a Case that are read rather than skipped
CLOSE = "close_case"
T = TypeVar("T")
TOLD = ("action", "ordinal", "disposition", "hold", "outcome")     # of a command, beside its kind


class CaseReads:
    """`find` gives (agent id, its state) of a query; see LocalApi."""

    def __init__(self, authority: Authority, find: Callable[[dict[str, str]], tuple[str, AgentState]]) -> None:
        self.authority = authority
        self._find = find
        self._one_fold = asyncio.Lock()
        self.routes = {"cases": self.cases, "facts": self.facts, "moments": self.moments, "between": self.between}

    # --- Cases -------------------------------------------------------------------------

    async def cases(self, query: dict[str, str]) -> dict:
        """{rows, total, found, next}: the Agent's Cases that hold `text` in key, type, title, state or id, the newest first, from place `from` on."""
        _, state = self._find(query)
        held, text = state.names.state, query.get("text", "").casefold().strip()
        start, limit = _whole(query, "from", 0), min(_whole(query, "limit", 50) or 50, CASE_PAGE_ROWS_MAX)
        every = list(held.cases.values())
        found: list[Case] = []
        async for case in _gently(reversed(every), lambda: None):
            if not text or text in _words(held, case):
                found.append(case)
        rows = [{"agentId": state.agent_id, **case_about(case), **case_title(held, case), "receipt": case.case_id in state.receipts} for case in found[start:start + limit]]
        return {"rows": rows, "total": len(every), "found": len(found), "next": start + limit if len(found) > start + limit else None}

    # --- facts -------------------------------------------------------------------------

    async def facts(self, query: dict[str, str]) -> dict:
        """{rows, total, found, next}: what a Case's Board holds, each with its tier, who stands behind it and whether it is of this Case, the newest first.

        text  must stand in the fact or in the name of its Source;  tier  exactly that one
        """
        _, state = self._find(query)
        case, tier = state.board.case(query.get("case", "")), query.get("tier", "")
        if tier and tier not in TIERS:
            raise Refused("bad_command", problem=f"tier is one of {', '.join(TIERS)}, not {tier[:40]!r}")
        text, start = query.get("text", "").casefold().strip(), _whole(query, "from", 0)
        limit = min(_whole(query, "limit", 200) or 200, FACT_PAGE_ROWS_MAX)
        if case.status == CLOSED:
            every = state.board.case_detail(case.case_id)["facts"]
            found = [row for row in every if (not tier or row["tier"] == tier) and (not text or text in _said(row["text"], row.get("by")))]
            rows = found[start:start + limit]
        else:
            held, every = state.board.state, list(state.board.state.shown)
            found = [atom async for atom in _gently(reversed(every), lambda: state.board) if (not text or text in _said(atom.text(), _by(held, atom))) and (not tier or held.ground(atom).tier == tier)]
            now = state.board.state            # whatever went meanwhile is told as it last stood
            page, known = found[start:start + limit], {}
            rows = [{**row, "own": _rests_on(now, atom, case.case_id, known)} for atom, row in ((atom, _node(now, atom)) for atom in page) if row is not None]
        return {"rows": rows, "total": len(every), "found": len(found), "next": start + limit if len(found) > start + limit else None}

    def grounded(self, state: AgentState, case_id: str, rows: list[dict]) -> list[dict]:
        """Rows of a view with who stands behind each, and whether it is of this Case: stated under it, or resting on what is."""
        held, known = state.board.state, {}
        atoms = ((row, held.atom_of(row["id"]) if "predicate" in row else None) for row in rows)
        return [{**row, **(_node(held, atom) or {}), "own": _rests_on(held, atom, case_id, known)} if atom is not None else row for row, atom in atoms]

    # --- two moments -------------------------------------------------------------------

    async def moments(self, query: dict[str, str]) -> dict:
        """{rows, total}: the rows of the ledger that moved a Case, the newest first, its opening always: {seq, at, kind, and what its command names}."""
        agent_id, state = self._find(query)
        case = state.board.case(query.get("case", ""))
        rows = self._moments(agent_id, state, case)
        newest = rows[1:][1 - MOMENTS_LISTED_MAX:]
        return {"rows": [*newest[::-1], *rows[:1]], "total": max(len(rows), len(state.case_rows.get(case.case_id)))}

    def _moments(self, agent_id: str, state: AgentState, case: Case) -> list[dict]:
        """The oldest first; where there are very many, the opening and the newest."""
        document = self.authority.receipt_document(agent_id, case.case_id)
        if document is not None:
            return [_moment(row["seq"], row["at"], row["body"]) for row in document["rows"] if row["kind"] == BOARD]
        seqs, found, rows, at = sorted(state.case_rows.get(case.case_id)), [], iter(()), 0
        for seq in [*seqs[:1], *seqs[1:][-2 * MOMENTS_LISTED_MAX:]]:
            if at == 0 or seq - at > NEAR_ROWS:
                rows = self.authority.rows(agent_id, seq - 1)      # looked up anew rather than read up to
            row = next(row for row in rows if row.seq == seq)
            at = seq
            if row.kind == BOARD:
                found.append(_moment(row.seq, row.at, row.body))
        return found

    async def between(self, query: dict[str, str]) -> dict:
        """{from, to, added, removed, changed, leaves, cut}: what differs of a Case between two of its moments.

        Each moment is what was true after its row; that of the row that closed it is what was true at the close.
        Raises Refused: unknown_moment, moment_too_far.
        """
        agent_id, state = self._find(query)
        case = state.board.case(query.get("case", ""))
        rows = {row["seq"]: row for row in self._moments(agent_id, state, case)}
        wanted = []
        for name in ("from", "to"):
            seq = _whole(query, name, 0)
            if seq not in rows:
                raise Refused("unknown_moment", case=case.case_id, seq=seq)
            wanted.append(rows[seq])
        wanted.sort(key=lambda row: row["seq"])
        if wanted[1]["seq"] > MOMENT_ROWS_MAX:
            raise Refused("moment_too_far", rows=wanted[1]["seq"], most=MOMENT_ROWS_MAX)
        async with self._one_fold:
            then, later = await self._as_they_stood(agent_id, case.case_id, [row["seq"] - (row["kind"] == CLOSE) for row in wanted])
        return {"from": wanted[0], "to": wanted[1], **_differences(then["facts"], later["facts"]),
                "leaves": _leaves(then["leaves"], later["leaves"]), "cut": then["cut"] or later["cut"]}

    async def _as_they_stood(self, agent_id: str, case_id: str, seqs: list[int]) -> list[dict]:
        board, found = Board(agent_id), []
        rows = self.authority.rows(agent_id)
        waiting: list = []
        done = 0
        for seq in seqs:
            while done < seq:
                waiting = [row for row in islice(rows, min(FOLDED_AT_ONCE, seq - done))]
                if not waiting:
                    raise Refused("unknown_moment", case=case_id, seq=seq)
                done = waiting[-1].seq
                await asyncio.to_thread(_fold, board, waiting)
            found.append(await asyncio.to_thread(_snapshot, board, case_id))
        return found


def _fold(board: Board, rows: list) -> None:
    """A row that no longer gives what it gave is a bug of this release, told as such by whoever asked for the ledger's check."""
    for row in rows:
        if row.kind == BOARD:
            try:
                board.replay(row.body)
            except Exception as problem:       # as at a start: a refusal, another result, or a row that cannot be read
                raise Refused("ledger_unfoldable", seq=row.seq, chain=row.chain, path="the ledger", problem=(str(problem) or type(problem).__name__)[:200]) from problem


def _snapshot(board: Board, case_id: str) -> dict:
    """{facts: {text: node}, leaves, cut}: what is stated under the Case, and what rests on that."""
    state, facts, rests = board.state, {}, {}
    for atom in state.shown:
        if len(facts) >= MOMENT_FACTS_MAX:
            break
        if _rests_on(state, atom, case_id, rests):
            node = _node(state, atom)
            facts[("not " if atom.negated else "") + node["text"]] = node
    leaves = [{name: row[name] for name in ("node", "goal", "met", "tier") if name in row} for row in board.case_detail(case_id, nodes_max=1)["tree"]]
    return {"facts": facts, "leaves": leaves, "cut": len(facts) >= MOMENT_FACTS_MAX}


def _rests_on(state: BoardState, atom: Atom, case_id: str, known: dict[Atom, bool]) -> bool:
    """Whether a Case stated it, or its proof has a premise that the Case stated."""
    waiting = [atom]
    while waiting:
        each = waiting[-1]
        if each not in known and any(state.facts[fact_id].case_id == case_id for fact_id in state.by_atom.get(each, ())):
            known[each] = True
        if each in known:
            waiting.pop()
            continue
        support = state.support(each)
        premises = support.premises if support is not None else ()
        open_ones = [premise for premise in premises if premise not in known]      # proofs are well-founded, so this ends
        if open_ones and not any(known.get(premise) for premise in premises):
            waiting += open_ones
        else:
            known[each] = any(known.get(premise) for premise in premises)
    return known[atom]


def _differences(then: Mapping[str, dict], later: Mapping[str, dict]) -> dict:
    """What came, what went, and what is the same statement with another value, tier or ground."""
    gone = {text: node for text, node in then.items() if text not in later}
    new = {text: node for text, node in later.items() if text not in then}
    changed = [{"before": node, "after": later[text]} for text, node in then.items()
               if text in later and (node["tier"], _ground(node)) != (later[text]["tier"], _ground(later[text]))]
    by_shape: dict[tuple, list[str]] = {}
    for text, node in new.items():
        for shape in _shapes(node):
            by_shape.setdefault(shape, []).append(text)
    for text, node in list(gone.items()):
        partner = next((found[0] for shape in _shapes(node) if len(found := [each for each in by_shape.get(shape, ()) if each in new]) == 1), None)
        if partner is not None:
            changed.append({"before": gone.pop(text), "after": new.pop(partner)})
    return {"added": list(new.values()), "removed": list(gone.values()), "changed": changed}


def _shapes(node: Mapping) -> Iterator[tuple]:
    """A statement with one of its values left open, each in turn; what has one value alone has none that says what it is about."""
    args = node["args"]
    for name in args if len(args) > 1 else ():
        yield (node["predicate"], node.get("negated", False), name, tuple((other, type(value), value) for other, value in args.items() if other != name))


def _ground(node: Mapping) -> tuple:
    by = node["by"]
    return by["kind"], by.get("id"), by.get("ordinal"), by.get("source")


def _leaves(then: list[dict], later: list[dict]) -> list[dict]:
    """Each leaf as it stood at both moments."""
    before = {row["node"]: row for row in then}
    return [{"node": row["node"], "goal": row["goal"], "before": before.get(row["node"]), "after": row} for row in later]


def _node(state: BoardState, atom: Atom) -> dict | None:
    """One statement with its tier and who or what stands behind it; None where it no longer holds."""
    fact = state.strongest(atom)
    if fact is not None:
        return fact_node(state, fact)
    rule_id = state.concluded_by(atom)
    if rule_id is None:
        return None
    return {**statement(atom), "id": DERIVED_PREFIX + atom.identity(), "tier": state.ground(atom).tier, "by": rule_by(state, rule_id)}


def _by(state: BoardState, atom: Atom) -> Mapping | None:
    fact = state.strongest(atom)
    return fact.by if fact is not None else None


def _said(text: str, by: Mapping | None) -> str:
    return f"{text} {(by or {}).get('source') or ''}".casefold()


def _moment(seq: int, at: str, body: Mapping) -> dict:
    command = body["command"]
    return {"seq": seq, "at": at, "kind": command["kind"], **{name: command[name] for name in TOLD if command.get(name)},
            **({"action": command["plan"]["action"]} if isinstance(command.get("plan"), Mapping) else {})}


def _words(state: BoardState, case: Case) -> str:
    about = case_title(state, case).values()
    return " ".join([*map(str, (case.business_key or {}).values()), case.type, *about, case.status, case.disposition or "", case.case_id]).casefold()


async def _gently(every: Iterable[T], look: Callable[[], object]) -> AsyncIterator[T]:
    """The same one by one, with the loop free now and then; after each pause `look` says whether one may go on."""
    for count, each in enumerate(every, 1):
        yield each
        if count % SCANNED_AT_ONCE == 0:
            await asyncio.sleep(0)
            look()


def _whole(query: Mapping[str, str], name: str, default: int) -> int:
    text = query.get(name, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 16 else default
