"""What the doors for people's files share: words of the command line, a file read with all its errors, lines on the terminal.

Exit  0 sound, shown or installed; 1 errors found, refused, or no; 2 wrong words, no file touched.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rulith.base.errors import Refused
from rulith.base.json_places import Places
from rulith.base.json_text import read_json
from rulith.base.limits import CAPABILITY_BYTES_MAX
from rulith.base.plain_text import plain
from rulith.disk.atomic import read_bounded

EXIT_OK, EXIT_ERRORS, EXIT_USAGE = 0, 1, 2


@dataclass(frozen=True)
class Options:
    verb: str
    file: str
    home: str | None = None
    as_json: bool = False


@dataclass(frozen=True)
class File:
    """A file as it was read. `found` is what it makes, None where `problems` are not empty."""

    path: str
    text: str
    document: Mapping
    found: Any
    problems: tuple[dict, ...]


Check = Callable[[object], tuple[Any, Sequence[Any]]]     # a parsed file -> (what it makes or None, problems with place and problem)


def read_options(door: str, verbs: Sequence[str], argv: Sequence[str]) -> Options:
    """Raises Refused: option_unknown, option_value, option_usage."""
    words, plain_words, home, as_json = list(argv), [], None, False
    while words:
        name, joined, value = words.pop(0).partition("=")
        if name == "--json" and not joined:
            as_json = True
        elif name == "--home":
            if not joined and not words:
                raise Refused("option_value", verb=door, option=name)
            home = value if joined else words.pop(0)
        elif name.startswith("-") and len(name) > 1:
            raise Refused("option_unknown", verb=door, option=name[:60])
        else:
            plain_words.append(name + joined + value)
    if not plain_words or plain_words[0] not in verbs:
        said = f"it does {', '.join(verbs)}" + (f", not {plain_words[0][:40]!r}" if plain_words else "")
        raise Refused("option_usage", verb=door, problem=said)
    if len(plain_words) != 2:
        raise Refused("option_usage", verb=door, problem=f"{plain_words[0]} takes one FILE, not {len(plain_words) - 1}")
    if as_json and plain_words[0] == "install":
        raise Refused("option_usage", verb=door, problem="install talks with a person and has no --json")
    return Options(plain_words[0], plain_words[1], home, as_json)


def read_file(path: str, check: Check) -> File:
    """The file with everything that is wrong with it. Raises Refused: file_unusable, file_too_large."""
    content = read_bounded(path, CAPABILITY_BYTES_MAX)
    try:
        document = read_json(content, path)
    except Refused as refusal:
        return File(path, "", {}, None, ({"place": "the file", "problem": refusal.happened, "line": refusal.facts.get("line", 1)},))
    text = content.decode("utf-8")
    found, problems = check(document)
    places = Places(text)
    rows = tuple({"place": each.place, "problem": each.problem, "line": places.line_of(each.place)} for each in problems)
    return File(path, text, document if isinstance(document, dict) else {}, found, rows)


def run_door(door: str, argv: Sequence[str], check: Check, do: Mapping[str, Callable[[Options, File], int]]) -> int:
    """One run of a door whose verbs are those of `do`."""
    try:
        options = read_options(door, tuple(do), argv)
    except Refused as refusal:
        sys.stderr.write(refusal.teaching + "\n")
        return EXIT_USAGE
    try:
        if options.verb == "install" and not sys.stdin.isatty():
            raise Refused("terminal_needed", verb=f"{door} install")
        return do[options.verb](options, read_file(options.file, check))
    except Refused as refusal:
        if options.as_json:
            print(json.dumps({"file": options.file, "sound": False, "errorCode": refusal.code, "teaching": refusal.teaching}, ensure_ascii=False))
        else:
            sys.stderr.write(refusal.teaching + "\n")
        return EXIT_ERRORS
    except EOFError:                         # Ctrl-D at a question is a no
        sys.stderr.write("\nNo answer came; nothing was installed.\n")
        return EXIT_ERRORS


def problem_lines(file: File) -> list[str]:
    count = len(file.problems)
    return [f"{file.path} has {count} error{'' if count == 1 else 's'}:",
            *(f"{file.path}:{each['line']}: {each['place']}: {each['problem']}" for each in file.problems)]


def shown_changes(changes: Iterable[Mapping]) -> Iterable[str]:
    """The changes that the gateway answers, as lines of a terminal."""
    for change in changes:
        yield f"{change['part']} {change['name']}: {change['change']}" if change["name"] else f"{change['part']}: {change['change']}"
        yield from (f"  {sign} {line}" for sign, line in change["lines"])


def is_yes(question: str) -> bool:
    return input(question).strip().lower() == "yes"


def tell(lines: Iterable[str]) -> None:
    for line in lines:
        for part in line.split("\n"):        # a listing inside a message keeps its lines
            print(plain(part), flush=True)


def tell_json(answer: Mapping) -> None:
    print(json.dumps(answer, ensure_ascii=False))
