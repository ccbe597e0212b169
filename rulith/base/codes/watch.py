"""What a watcher of the council is refused, and what it refuses."""

CODES = {
    "watch_key_missing": ("The watcher has no key to the council.", "Set RIVENDELL_KEY, or give --key; the agent's page shows one when it is created or its key is rotated."),
    "watch_key_form": ("What {name} holds is no key.", "Copy it again, whole and without blanks."),
    "watch_url": ("The address {url!r} cannot be used: {problem}.", "Give the council's /mcp address with --url or RIVENDELL_URL; the page shows it."),
    "watch_key_refused": ("The council does not know this key; it was rotated or revoked, or belongs to another council.", "Get the agent's key anew; nothing was started."),
    "watch_unreachable": ("The council at {url} cannot be reached: {problem}.", "Start it, or correct --url."),
    "watch_answer": ("The council answered with something else than expected: {problem}.", "Check that the address is a council's."),
    "watch_said": ("The council refused: {words}.", "Do what it says, then start this again."),
    "watch_command": ("The command {command!r} was not found, or may not be run.", "Give the path of a program after `--`; nothing was started."),
    "watch_starts_unusable": ("The starts of the last hour cannot be read from {path}: {problem}.", "Remove the file to begin a new count; nothing was started."),
}
