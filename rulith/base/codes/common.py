"""Refusal codes that more than one room uses."""

CODES: dict[str, tuple[str, str]] = {
    "bad_command": ("{problem}", "Correct the named field and send the command again."),
    "not_built": ("{what} is not part of this release.", "{instead}"),
    "grant_mismatch": (
        "The execution grant does not fit the call: {problem}.",
        "Run nothing; the gateway offers the call again under a fresh grant.",
    ),
    "number_out_of_range": (
        "{where} holds {literal}, which is outside the exact range of ±9007199254740991 or not finite.",
        "Send identifiers as text, and amounts as whole numbers inside the range.",
    ),
    "not_canonical": (
        "{where} has no canonical form: {problem}.",
        "Use text without lone surrogates, finite numbers, and string keys.",
    ),
    "gateway_not_started": (
        "The gateway of this home could not be started: {problem}.",
        "Look at logs/gateway.log in the home, then try again; nothing was done.",
    ),
    "demo_folder": ("The folder {path} cannot be used for the demo: {problem}.", "Name another folder, or move that one away."),
    "order_refused": (
        "The order is refused: the field {field} {problem}.",
        "Correct input.json and run the job again; nothing was read, derived or written.",
    ),
    "resource_limit": (
        "{what} is {value}, over the limit of {limit}.",
        "Split the work into smaller pieces; nothing was changed.",
    ),
}
