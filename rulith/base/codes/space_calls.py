"""Refusal codes of what is asked of a reasoning board besides batches: actions, plans, solutions, compilation."""

CODES: dict[str, tuple[str, str]] = {
    "STALE_REVISION": (
        "The board has moved: its revision is {now}, not {expected}.",
        "Read it again, simulate the action again, and pin the revision you saw. Nothing was applied.",
    ),
    "ACTION_AMBIGUOUS": (
        "{count} actions are named {name!r}: {ids}.",
        "Name one by its id. Nothing was applied.",
    ),
    "PLAN_INVALID": (
        "{problem}.",
        "Give `actionNodeIds` as a list of action ids in the order of application, and bounds as whole numbers. Nothing was applied.",
    ),
    "SOLVE_EMPTY_NAME": ("A variable has no name.", "Give each variable a name, such as {{\"name\": \"x\", \"domain\": [1, 2]}}. Nothing was changed."),
    "SOLVE_DUPLICATE_VARIABLE": ("The variable {name!r} occurs twice.", "Name each variable once. Nothing was changed."),
    "SOLVE_SHAPE": (
        "{where}: {problem}.",
        "Write {{\"variables\": [{{\"name\": \"x\", \"domain\": [1, 2, 3]}}]}}. Nothing was changed.",
    ),
    "CERTIFICATE_INVALID": (
        "The certificate cannot be read: {problem}.",
        "Give {{\"kind\": \"plan\", \"actionNodeIds\": [...]}} or {{\"kind\": \"assignment\", \"facts\": [{{\"predicate\": ..., \"args\": ...}}]}}.",
    ),
    "NOT_COMPILABLE": (
        "{what} lies outside what can be compiled: {problem}.",
        "Compiled are positive literals, naf, comparisons and sum, count, min, max, without recursion. Leave it to the board's own closure.",
    ),
    "CAPSULE_INVALID": ("The capsule cannot be read: {problem}.", "Give what distilling a board returned, unchanged."),
    "CALL_INVALID": ("{call}: {problem}.", "Correct that member. Nothing was changed."),
    "CALL_UNKNOWN": ("There is no call {call!r}.", "The calls are {known}."),
}
