"""The last look at a Case that closes as completed: is it certified under exactly what it opened with?

The acceptances are derived by law before this; here the words, the key and the contract they
rest on are held against the opening once more. Each check has a code of its own. No Agent,
Worker or person can make one fail: what fails here was written past the law, so nothing closes.

Source  the MCP surface, "Error codes" (terminal certification).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rulith.base.canonical import digest
from rulith.base.errors import Refused
from rulith.board.release import CaseType
from rulith.board.shapes import TIER_RANK
from rulith.board.state import LAW, BoardState, Case
from rulith.board.words import ACCEPTANCE, ACCEPTANCE_MET, CASE_KEY, EXPLORATION_COMPLETED
from rulith.rules.terms import Atom


def check_terminal(state: BoardState, case: Case, case_type: CaseType | None, words: Sequence[Atom], conclusions: Sequence[Mapping]) -> None:
    """Raises Refused with the code of the first check that fails.

    case_type    the contract in force for its type; None for an exploration
    words        what law wrote when it opened
    conclusions  the proof trees it is certified on
    """
    if case_type is not None and case_type.contract != case.contract:
        raise Refused("bad_case_closure", root=case.root, problem="its contract is not the one in force")
    _check_opening(state, case, [word for word in words if word.predicate not in (ACCEPTANCE, CASE_KEY)])
    if case_type is not None:
        if state.program.holds(Atom.of(EXPLORATION_COMPLETED, {"case_id": case.case_id})):
            raise Refused("case_terminal_disposition_mismatch", root=case.root, problem="the Board says already that it was completed, as an exploration")
        _check_key(state, case)
        missing = [word.text() for word in words if word.predicate == ACCEPTANCE and not state.program.holds(word)]
        if missing:
            raise Refused("case_acceptance_missing", root=case.root, problem=f"{missing[0]} no longer holds")
        _check_acceptances(state, case, case_type, conclusions)
    _check_evidence(state, case, conclusions)


def _check_opening(state: BoardState, case: Case, words: Sequence[Atom]) -> None:
    for word in words:
        fact = state.strongest(word)
        if fact is None or not state.program.holds(word):
            raise Refused("case_opening_missing", root=case.root, problem=f"{word.text()} no longer holds")
        if fact.origin != LAW or fact.tier != "verified":
            raise Refused("case_opening_not_trusted", root=case.root, problem=f"{word.text()} was not written by law")


def _check_key(state: BoardState, case: Case) -> None:
    key: dict = {}
    for fact in state.facts_of(case.case_id):
        args = dict(fact.atom.args)
        if fact.atom.predicate != CASE_KEY or args.get("root") != case.root:
            continue
        if key.setdefault(args["name"], args["value"]) != args["value"]:
            raise Refused("case_business_key_ambiguous", root=case.root, problem=f"its business key names {args['name']} twice")
    if digest(key) != case.key_digest:
        raise Refused("case_acceptance_key_mismatch", root=case.root, problem="its business key is not the one it opened with")


def _check_acceptances(state: BoardState, case: Case, case_type: CaseType, conclusions: Sequence[Mapping]) -> None:
    for task in case_type.task:
        node = f"{case.root}/{task.node}"
        proof = next((each for each in conclusions if each["predicate"] == ACCEPTANCE_MET and each["args"].get("node") == node), None)
        if proof is None or proof["by"].get("law") is not True:
            raise Refused("case_acceptance_not_derived", root=case.root, problem=f"the acceptance of {node} is not derived by law")
        if TIER_RANK[proof["tier"]] > TIER_RANK[case_type.floor]:
            raise Refused("case_acceptance_floor_too_weak", root=case.root, problem=f"the acceptance of {node} is only {proof['tier']}")


def _check_evidence(state: BoardState, case: Case, conclusions: Sequence[Mapping]) -> None:
    waiting = list(conclusions)
    while waiting:
        node = waiting.pop()
        waiting.extend(node["premises"])
        fact = state.facts.get(node["id"])
        if fact is not None and fact.local and fact.case_id != case.case_id:
            raise Refused("case_evidence_not_local", root=case.root, problem=f"{node['text']} belongs to {fact.case_id} alone")
