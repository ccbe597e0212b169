"""Refusal codes of the reasoning board (`rulith board`): its operations, gates and aggregates."""

CODES: dict[str, tuple[str, str]] = {
    "board_busy": ("Board {board} is in the middle of a change.", "Send the next one when it has been answered."),
    # shape of operations
    "OP_MISSING": (
        "{where} has no `op`{guess}.",
        "Write {{\"op\": \"assert_fact\", \"predicate\": \"p\", \"args\": {{...}}}}; the operations are {known}. Nothing was applied.",
    ),
    "OP_UNKNOWN": ("{where} asks for {op}, which is no operation.", "Use one of {known}. Nothing was applied."),
    "OP_INVALID": ("{where}: {problem}.", "Correct that member. Nothing was applied."),
    "GOAL_EMPTY": (
        "{where} desires nothing.",
        "Give `desired` at least one atom, such as [{{\"predicate\": \"total\", \"args\": {{\"value\": \"?v\"}}}}]. Nothing was applied.",
    ),
    "PLACEHOLDER_VALUE": (
        "{where} has the value {value!r}, which stands for a value and is none.",
        "Give the real value, or a variable such as ?x where any value will do. Nothing was applied.",
    ),
    "PROVENANCE_FORGED": (
        "{where} imitates what only the board writes: {what}.",
        "Ids starting with derived: and summaries starting with {reserved} are the board's own. Nothing was applied.",
    ),
    "NODE_ID_REQUIRED": ("{where} names no node.", "Give `nodeId` the id of a node that the board lists. Nothing was applied."),
    "NODE_ID_TAKEN": (
        "The id {id!r} is in use.",
        "Leave `id` out, choose another, or retract that node in the same batch. Nothing was applied.",
    ),
    "NODE_NOT_FOUND": ("There is no node {id!r} on this board.", "Use an id that the board lists. Nothing was applied."),
    "NODE_NOT_FACT": ("{id!r} is no fact but a node of type {type}.", "Name a fact, or read the node in the context."),
    "NODE_NOT_ACTION": ("{id!r} is no action that can be applied: {problem}.", "Name an action that the board lists. Nothing was applied."),
    # gates
    "FINDING_NOT_DERIVED": (
        "A result may not rest on a claimed finding: {findings}.",
        "Retract it and let a rule conclude `finding` from facts; then record the result. Nothing was applied.",
    ),
    "EVIDENCE_UNRESOLVED": (
        "Result {label!r} cites {refs}, which no usable node (other than a result) carries.",
        "Cite ids of facts, rules or goals that the board lists now. Nothing was applied.",
    ),
    "ATTESTED_PREDICATE": (
        "{where} would produce {predicate}, which {owner}.",
        "Read it in rule bodies and preconditions instead{hint}. Nothing was applied.",
    ),
    "BASELINE_PROTECTED": (
        "{where} would touch {target}, which is committed by {marker}.",
        "Ask for an amendment ({amendment}) and retract it in the batch that makes the change. Nothing was applied.",
    ),
    "RESERVED_LABEL": (
        "{where} uses the label {label!r}, which belongs to the host's own ledger.",
        "Use a label that does not start with memory_event:, and leave such entries alone. Nothing was applied.",
    ),
    # aggregates
    "AGGREGATE_KIND": ("{where} asks for {kind!r}.", "`kind` is one of sum, count, min, max, avg. Nothing was applied."),
    "AGGREGATE_SHAPE": (
        "{where}: {problem}.",
        "Write {{\"op\": \"derive_aggregate\", \"kind\": \"sum\", \"source\": {{\"predicate\": \"line\", \"valueArg\": \"amount\"}}, "
        "\"into\": {{\"predicate\": \"total\", \"valueArg\": \"value\"}}}}. Nothing was applied.",
    ),
    "AGGREGATE_VALUE_ARG": ("{where}: {kind} needs `source.valueArg`.", "Name the argument that holds the number. Nothing was applied."),
    "AGGREGATE_INTO_FINDING": (
        "{where} would conclude `finding`, and an aggregate concludes none.",
        "Aggregate into another predicate and let a rule read it. Nothing was applied.",
    ),
    "AGGREGATE_EMPTY": ("{where} has nothing to take: {problem}.", "Assert or derive the source facts first. Nothing was applied."),
    "AGGREGATE_NON_NUMERIC": ("{where}: {atom} has no number in {arg}.", "Every member's value is a number. Nothing was applied."),
    "AGGREGATE_WHERE_ARG": ("{where}: {problem}.", "`where` is {{\"arg\": name, \"equals\": value}} over an argument of the source. Nothing was applied."),
    "AGGREGATE_GROUP_ARG": ("{where}: {problem}.", "`group_by` names one argument of the source facts. Nothing was applied."),
    "AGGREGATE_GROUP_PARTIAL": ("{where}: {atom} has no argument {arg}.", "Group by an argument that every member has. Nothing was applied."),
    "AGGREGATE_SOURCE_CONFLICT": (
        "{where}: the facts of {predicate} disagree on a functional dependency ({example}).",
        "Retract or revise the wrong one first. Nothing was applied.",
    ),
}
