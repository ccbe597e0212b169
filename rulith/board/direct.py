"""Direct Actions: a locked Tool that says what it takes and returns is an Action without a Capability.

Its name is the Tool's id without the version. A read is ready once a Source that may attest
what it returns is bound; `write` and `run` wait for a person, unless the owner waived that
for this very lock. A Tool that an installed Capability's Action uses is reached through that
Action alone, and what a Capability, a rule of it or the Board answers for is returned by no
direct Action. The reader of added files returns no fact at all. An Agent may apply one where its Case leaves Actions to it.

Source  the design's rules on Direct Actions (§5).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rulith.board.capability import DECISION_EXPIRES_S
from rulith.board.release import ActionSpec
from rulith.board.shapes import Policy, ToolLock
from rulith.board.state import BoardState, Case
from rulith.board.words import BUILTINS, is_board_word

DECISION_KIND = "direct_action"
READER = "rulith.materials.read@1"       # answers by reference: it returns content and no fact
READS = "Reads an attached file by its id (mat_…); the answer holds a reference that ReadArtifact opens."


@dataclass(frozen=True)
class Direct:
    """One direct Action; `problem` says why its name leads to none."""

    spec: ActionSpec
    problem: str = ""


def name_of(tool_id: str) -> str:
    return tool_id.rpartition("@")[0] or tool_id


def unfit(state: BoardState, lock: ToolLock) -> str | None:
    """Why a locked Tool is no direct Action of this Board, or None."""
    descriptor = lock.descriptor
    returns = [row["predicate"] for row in descriptor.get("returns", ())]
    if "params" not in descriptor or not returns and lock.tool_id != READER:
        return "it does not say what it takes and returns"
    for release in (*state.releases.values(), *state.next.values()):
        user = next((each.id for each in release.actions.values() if each.tool == lock.tool_id), None)
        if user is not None:
            return f"the Action {user} uses it"
    owned = next((name for name in returns if is_board_word(name) or name in BUILTINS or name in state.protected), None)
    if owned is not None:
        return f"it returns {owned}, which is a Capability's or the Board's own"
    for row in descriptor["returns"]:
        defined = state.defined(row["predicate"])
        if defined is not None and set(defined.args) != set(row["args"]):
            return f"it returns {row['predicate']} with other arguments than its Capability says"
        if defined is not None and defined.sources and not set(descriptor.get("sourceTypes", ())) & set(defined.sources):
            return f"none of its Source types may attest {row['predicate']}"
    if any(kind.startswith("json") for kind in descriptor["params"].values()):
        return "it takes a json value, which no Action states"
    return None


def spec_of(lock: ToolLock, waived: bool) -> ActionSpec:
    descriptor = lock.descriptor
    kind = descriptor.get("kind", "run")
    decision = None if kind == "read" or waived else {"kind": DECISION_KIND, "people": 1, "expiresS": DECISION_EXPIRES_S}
    description = READS if lock.tool_id == READER else f"{kind} by the locked Tool {lock.tool_id}"
    return ActionSpec(
        name_of(lock.tool_id), description, dict(descriptor["params"]), (), (), lock.tool_id, kind,
        tuple(descriptor.get("sourceTypes", ())), tuple({"predicate": row["predicate"], "args": dict(row["args"])} for row in descriptor["returns"]),
        decision, direct=True)


def direct_actions(state: BoardState, policy: Policy) -> Mapping[str, Direct]:
    """The direct Actions of this Board by name, in order of name."""
    if not policy.locks:
        return {}
    return state.cached("direct", (policy.version, state.generation, state.rules_version, tuple(each.digest for each in state.next.values())), lambda: _made(state, policy))


def _made(state: BoardState, policy: Policy) -> dict[str, Direct]:
    locks: dict[str, list[ToolLock]] = {}
    for lock in policy.locks.values():
        if unfit(state, lock) is None:
            locks.setdefault(name_of(lock.tool_id), []).append(lock)
    taken = {*state.actions, *(each.spec.id for each in state.agent_actions.values())}
    found = {}
    for name in sorted(locks):
        same = {(lock.tool_id, lock.digest) for lock in locks[name]}
        clash = "another Action has this name" if name in taken else "several locked Tools go by this name" if len(same) > 1 else ""
        found[name] = Direct(spec_of(locks[name][0], all(lock.waived for lock in locks[name])), clash)
    return found


def permits_direct(state: BoardState, case: Case) -> bool:
    """Whether a Case leaves Actions to its Agent."""
    return case.is_exploration or (case.type in state.case_types and state.case_types[case.type].agent_rules == "rules_and_actions")
