"""Refusal codes of `rulith board` as a server: its arguments, its Boards, its tasks, its file."""

CODES: dict[str, tuple[str, str]] = {
    # arguments
    "ARGUMENTS_INVALID": ("{where} {problem}.", "Send the shape shown as `correct`. Nothing was applied."),
    "LOCALE_UNSUPPORTED": (
        "This Board answers in English only, and {locale!r} was asked for.",
        "Leave `locale` out, or send \"en\". Nothing was applied.",
    ),
    # Boards
    "SPACE_NOT_FOUND": ("There is no Board {space!r}.", "{instead} Nothing was applied."),
    "SPACE_AMBIGUOUS": ("There are {count} Boards, and none was named.", "Give `spaceId` one of: {known}. Nothing was applied."),
    "SPACE_ID_TAKEN": ("There is a Board {space!r} already.", "Choose another `id`, or work on that one. Nothing was made."),
    # tasks and actions by name
    "TASK_SHAPE": (
        "{where} {problem}.",
        "Write {{\"root\": \"invoice\", \"leaves\": [{{\"node\": \"total\", \"acceptance\": "
        "{{\"predicate\": \"grand\", \"args\": {{\"value\": \"?v\"}}}}}}]}}. Nothing was applied.",
    ),
    "TASK_TAKEN": (
        "{node!r} belongs to a task that was declared before.",
        "Declare a task under another root with nodes of its own; a committed task is not rewritten. Nothing was applied.",
    ),
    "TASK_UNKNOWN": ("No task {root!r} was declared on this Board.", "{instead} Nothing was applied."),
    "TASK_CLOSED": ("Task {root!r} was completed at {at}.", "Declare a new task for further work. Nothing was applied."),
    "TASK_NOT_COMPLETE": (
        "Task {root!r} may not be completed: {problem}.",
        "Close each of these gates with facts, rules and a recorded result, then complete it. Nothing was applied.",
    ),
    "ACTION_UNKNOWN": ("No action {action!r} is declared on this Board.", "{instead} Nothing was applied."),
    "ACTION_BINDINGS": (
        "{action!r} can be bound in more than one way: {bindings}.",
        "Give `args` the values that leave one way, such as {example}. Nothing was applied.",
    ),
    "ACTION_BLOCKED": ("{action!r} is not applicable: {problem}.", "{instead} Nothing was applied."),
    # the file and the process
    "outcome_unknown": (
        "The Board's file could not be written ({problem}), so whether this was kept is not known.",
        "Read the Board with get_logic_context before you send it again.",
    ),
    "board_fold_differs": (
        "Row {seq} of {path} gives another state now than when it was written: {problem}.",
        "Open the file with the release that wrote it, or start with a new file; nothing in it was changed.",
    ),
    "limit_malformed": ("{name} is {value!r}, which is no whole number from 1 to {most}.", "Correct it, or leave it unset."),
    "program_malformed": ("{path} is no program file: {problem}.", "{instead}"),
}
