"""What the council refuses to read of a project's folder."""

CODES = {
    "council_path": ("{path} is not read: {problem}.", "Name another place within the project folder; what may hold a secret is left to the person."),
    "council_too_large": ("{path} is longer than {limit} bytes, or the lines asked for are.", "Ask for fewer of its lines, by their numbers."),
    "council_no_git": ("There is no difference to show: {problem}.", "Pin the files themselves, or ask the person whether the folder is a git repository."),
}
