"""explain_fact in its three modes: why a fact holds, why it does not, and what would change that.

Source  the reasoning board, "Explain".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from rulith.base.errors import Refused
from rulith.board.space import tiers, whys
from rulith.board.space.actions import trial_mint
from rulith.board.space.nodes import DERIVED_PREFIX, BatchOptions, read_derived_id, shown_refs
from rulith.board.space.operations import run as run_batch
from rulith.board.space.space import Space
from rulith.gateway.board_answers import proof_data, proof_lines
from rulith.rules.terms import Atom, Literal, read_literal

INSTANCES = 3       # proofs shown for a pattern that holds in several ways
LISTED = 20


def explain(space: Space, args: Mapping[str, Any]) -> tuple[str, dict]:
    """(text, data). Raises ARGUMENTS_INVALID, NODE_NOT_FOUND, NODE_NOT_FACT, ATOM_ABSENT, and what `operations` refuse."""
    mode = args.get("mode", "why")
    if mode != "what_if" and args.get("operations"):
        raise Refused("ARGUMENTS_INVALID", where="`operations`", problem="belongs to mode what_if")
    if ("factNodeId" in args) == ("fact" in args):
        raise Refused("ARGUMENTS_INVALID", where="`factNodeId` and `fact`", problem="are alternatives; give exactly one")
    if mode == "why":
        return _why(space, args)
    wanted = _wanted(space, args)
    if mode == "why_not":
        return _why_not(space, wanted)
    if args.get("operations"):
        return _after(space, wanted, args["operations"])
    found = whys.what_if(space, wanted)
    return whys.what_if_text(found), whys.what_if_json(found)


def _wanted(space: Space, args: Mapping[str, Any]) -> Literal:
    """The fact meant. A `derived:` id names one even while it does not hold."""
    if "fact" in args:
        found = read_literal(args["fact"], "fact")
        if found.naf:
            raise Refused("ARGUMENTS_INVALID", where="`fact`", problem="has naf, and names no fact")
        return found
    node_id = args["factNodeId"]
    atom = read_derived_id(node_id)
    return whys.pattern_of(space, node_id) if atom is None else Literal(atom.predicate, atom.args, atom.negated)


def _holders(space: Space, wanted: Literal) -> Iterator[Atom]:
    """The facts a question is about: the very one, else those that have all it names."""
    return space.holders(wanted) if space.held(wanted) else space.program.matching(wanted)


def _holds(space: Space, wanted: Literal) -> bool:
    return next(_holders(space, wanted), None) is not None


# --- why -----------------------------------------------------------------------------------


def _why(space: Space, args: Mapping[str, Any]) -> tuple[str, dict]:
    node_id = args.get("factNodeId")
    if node_id is not None and not node_id.startswith(DERIVED_PREFIX) and isinstance(space.node(node_id).semantic, Atom):
        proofs = [space.explain_node(node_id)]
        more = False
    else:
        wanted = _wanted(space, args)
        atoms = list(islice(_holders(space, wanted), INSTANCES + 1))
        if not atoms:
            raise Refused("ATOM_ABSENT", atom=wanted.text())
        proofs, more = [space.explain(atom) for atom in atoms[:INSTANCES]], len(atoms) > INSTANCES
    lines, rows = [], []
    for proof in proofs:
        lines += proof_lines(proof)
        ground = tiers.grounding(space, proof.atom) if space.program.holds(proof.atom) else None
        row = proof_data(proof)
        if ground is not None:
            lines.append(f"grounding: {ground.weakest}" + (f", by {shown_refs(ground.witnesses, 5)}" if ground.witnesses else ""))
            row["grounding"] = ground.json()
        rows.append(row)
    if more:
        lines.append("... it holds in more ways; name one of them")
    return "\n".join(lines), rows[0] if len(rows) == 1 else {"proofs": rows, "more": more}


# --- what if -------------------------------------------------------------------------------


def _after(space: Space, wanted: Literal, operations: object) -> tuple[str, dict]:
    """Would it hold after these operations? They are tried as the batch they would be, and taken back."""
    held = _holds(space, wanted)
    with space.trial(space.updated_at, trial_mint(space)) as change:
        run_batch(change, operations, BatchOptions())
        added, removed = change.derived_changes()
        would_hold, goals = _holds(space, wanted), space.satisfied_goals()
    lines = [f"{wanted.text()} {'holds' if held else 'does not hold'} now and {'would hold' if would_hold else 'would not hold'} after them",
             f"would derive: {_shown(added)}", f"would lose: {_shown(removed)}",
             f"goals that would hold: {shown_refs(goals, LISTED) or 'none'}", "nothing was written"]
    data = {"atom": wanted.json(), "holds": held, "wouldHold": would_hold, "newDerivedAtoms": [atom.json() for atom in added],
            "lostDerivedAtoms": [atom.json() for atom in removed], "wouldSatisfyGoals": list(goals)}
    return "\n".join(lines), data


def _shown(atoms: Sequence[Atom]) -> str:
    return shown_refs([atom.text() for atom in atoms], LISTED) if atoms else "none"


# --- why not -------------------------------------------------------------------------------


def _why_not(space: Space, wanted: Literal) -> tuple[str, dict]:
    found = whys.why_not(space, wanted)
    text, data = whys.why_not_text(found), whys.why_not_json(found)
    if not found.holds:
        alike = list(islice(space.program.matching(Literal(wanted.predicate, (), wanted.negated)), INSTANCES))
        if alike:
            text += f"\n  what holds of {wanted.predicate}: {_shown(alike)}"
            data["alike"] = [atom.json() for atom in alike]
    return text, data
