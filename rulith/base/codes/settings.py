"""Refusal codes of the page's settings: budgets, logs, the check of this home, its backup."""

CODES: dict[str, tuple[str, str]] = {
    "budget_field": ("{field} {problem}.", "Correct it; nothing was changed."),
    "budget_moved": ("The limits were changed since this page read them; they are {words}.", "Save again if yours are to stand instead; nothing was changed."),
    "budget_prices": ("A limit in money needs prices, and {problem}.", "Write the table that the manual shows under \"What a model may use\", or leave the money empty; nothing was changed."),
    "home_settings_unreadable": ("The settings of this home cannot be read: {path}: {problem}.", "Mend the file, or move it away; until then no Agent starts, since nothing would limit it."),
    "log_unknown": ("There is no log {name!r} in this home.", "Choose one that the page lists."),
    "backup_name": ("A backup cannot be called {name!r}.", "Use 1 to 80 letters, digits, dots, dashes and underscores, beginning with a letter or digit."),
    "verb_unanswered": ("`rulith {verb}` gave no answer: {problem}.", "Run it in a terminal; the page's own work goes on."),
    "gateway_elsewhere": ("The gateway was not started by this workbench.", "Restart it where it was started."),
    "settings_operation": ("The settings know no operation {operation!r}.", "Send one that the manual lists."),
}
