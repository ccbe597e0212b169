"""What a command of an Agent may reach for under its Profile, and what its answer may tell.

Checked before a command runs, so that a row never depends on a Profile and folds the same
without one. What is hidden is refused in the words that would be used were it not there.
"""

from __future__ import annotations

from collections.abc import Mapping

from rulith.base.errors import Refused
from rulith.board.cases import find_case
from rulith.board.profiles import Sight, named_predicates
from rulith.board.state import EXPLORATION, BoardState

PROFILE_NEXT = "An owner edits the Profile in the Console under Agents."
_HELD_BACK = "the reason is withheld from this Agent"
# code -> the facts of its text that may quote what is hidden
_TELLING = {
    "precondition_not_met": ("problem",), "case_not_certified": ("problem",), "governance_rejected": ("reason",), "aggregate_refused": ("problem",),
    "ambiguous_action": ("count",), "needs_setup": ("problem",), "source_needed": ("sources",), "source_wrong_type": ("sources", "got"), "unknown_action": ("known",),
    "unknown_case_type": ("known",), "CONCAT_OPERAND": ("operand",), "CLOSURE_DIVERGED": ("predicates",), "JOIN_EXPLOSION": ("literal",),
    "case_acceptance_missing": ("problem",), "case_evidence_not_local": ("problem",), "case_opening_missing": ("problem",), "case_opening_not_trusted": ("problem",)}


def check(state: BoardState, sight: Sight | None, command: Mapping) -> None:
    """Raises Refused unknown_case, unknown_case_type, not_found, not_authorized."""
    if sight is None:
        return
    kind = command["kind"]
    if kind == "focus_case" and not sight.case_id(command["caseId"]):
        raise Refused("unknown_case", case=command["caseId"])
    if kind == "open_case" and not sight.case_type(command["caseType"]):
        known = [name for name in (*state.case_types, EXPLORATION) if sight.case_type(name)]
        raise Refused("unknown_case_type", case_type=command["caseType"], known=", ".join(known) or "none is open to this Agent")
    if kind == "close_case" and isinstance(command["root"], str):
        case_id = state.roots.get(command["root"].partition("/")[0])
        if case_id is not None and not sight.case(find_case(state, case_id)):
            raise Refused("not_found", what="root", name=command["root"])
    if kind == "apply_batch":
        _check_batch(state, sight, command["operations"])


def _check_batch(state: BoardState, sight: Sight, operations: object) -> None:
    for place, operation in enumerate(operations if isinstance(operations, list) else ()):
        if not isinstance(operation, Mapping):
            continue
        hidden = next((name for name in named_predicates(operation) if not sight.predicate(name)), None)
        if hidden is not None:
            raise Refused("not_authorized", act=f"Naming {hidden[:120]} (operation {place + 1})", needs="a Profile that lists it", instead=PROFILE_NEXT)
        if operation.get("op") == "apply_action" and sight.profile.hides_facts:
            raise Refused("not_authorized", act=f"Applying an Action inside a batch (operation {place + 1})", needs="a Profile that hides no fact",
                          instead="Apply it by itself with ApplyAction.")
        node = operation.get("nodeId")
        atom = state.atom_of(node) if isinstance(node, str) else None
        if atom is not None and not sight.fact(atom):
            raise Refused("not_found", what="node", name=node)


def shielded(state: BoardState, sight: Sight | None, refusal: Refused) -> Refused:
    """The same refusal, with nothing in it that Board facts could have put there."""
    if sight is None or not sight.profile.hides_facts or refusal.code not in _TELLING:
        return refusal
    return Refused(refusal.code, **{**refusal.facts, **dict.fromkeys(_TELLING[refusal.code], _HELD_BACK)})


def shown_result(state: BoardState, sight: Sight | None, result: dict) -> dict:
    """What a command answered, without names and warnings that the Profile hides."""
    if sight is None:
        return result
    found = dict(result)
    if "vocabulary" in found:
        found["vocabulary"] = [each for each in found["vocabulary"] if sight.predicate(each.partition("(")[0])]
    if "drive" in found:
        found["drive"] = [each for each in found["drive"] if each not in state.actions or sight.action(state.actions[each])]
    if "nodeIds" in found:
        atoms = [(each, state.atom_of(each)) for each in found["nodeIds"]]
        found["nodeIds"] = [each for each, atom in atoms if atom is None or sight.fact(atom)]
    if "warnings" in found and sight.profile.hides_facts:
        found["warnings"] = [each.partition(" holds already as ")[0] + " holds already; nothing was added" if " holds already as " in each else each
                             for each in found["warnings"]]
    return found
