"""Board words: predicates that only law writes, and the names the engine keeps for itself.

One closed list. An Agent may read them in rule bodies and preconditions; it may never
assert, conclude, produce or aggregate into one, and neither may a Worker report one.
"""

from __future__ import annotations

ROOT = "root"                            # root(node)
CASE_CONTEXT = "case_context"            # case_context(root, case_type, case_id)
CASE_KEY = "case_key"                    # case_key(root, name, value): one row per business-key name
GOAL_NODE = "goal_node"                  # goal_node(node)
SUBGOAL_OF = "subgoal_of"                # subgoal_of(child, parent)
ACCEPTANCE = "acceptance"                # acceptance(node, test)
ACCEPTANCE_MET = "acceptance_met"        # acceptance_met(node)
EXPLORATION_COMPLETED = "rulith.exploration.completed"   # (case_id)

# argument names of the words a Capability may import
IMPORTABLE = {
    ROOT: ("node",),
    CASE_CONTEXT: ("root", "case_type", "case_id"),
    CASE_KEY: ("root", "name", "value"),
    GOAL_NODE: ("node",),
    SUBGOAL_OF: ("child", "parent"),
    ACCEPTANCE: ("node", "test"),
    ACCEPTANCE_MET: ("node",),
    EXPLORATION_COMPLETED: ("case_id",),
}

BOARD_WORDS = frozenset(IMPORTABLE) | frozenset({
    "acceptance_floor", "test_result", "slot_met", "constraint", "constraint_met", "constraint_scope",
    "constraint_tier", "required_floor", "required_coverage", "drive_budget", "current_phase",
    "committed_acceptance", "committed_constraint", "committed_goal", "committed_subgoal", "committed_phase",
    "committed_coverage", "committed_drive_budget", "committed_derivation", "amendment_result",
    "approval_result", "permission_granted", "revocation_result", "certified",
})

FUNCTIONAL_DEPENDENCY = "functional_dependency"   # anyone may declare one over a predicate they may write

BUILTINS = frozenset((
    "eq neq lt lte gt gte between contains add sub mul div mod idiv imod pow min max neg abs sign sqrt ln exp concat"
).split())


AGGREGATE_PREFIX = "rulith.aggregate."      # partial folds of an aggregate; nobody states one
PREFIXES = ("rulith.exploration.", AGGREGATE_PREFIX)


def is_board_word(predicate: str) -> bool:
    return predicate in BOARD_WORDS or predicate.startswith(PREFIXES)
