"""`rulith capability check|test|diff|install FILE`: a Capability file from first draft to installed Release.

`check` and `test` need nothing but the file. `diff` reads what is installed from the gateway
of the home. `install` asks for the approval passphrase on this terminal, never as an
argument, shows what would change, and installs only after a typed yes.

Exit  0 sound, shown or installed; 1 errors found, refused, or no; 2 wrong words, no file touched.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from rulith.base.errors import Refused
from rulith.base.json_places import Places
from rulith.base.json_text import read_json
from rulith.base.limits import CAPABILITY_BYTES_MAX
from rulith.base.plain_text import plain
from rulith.board.capability_check import check_capability
from rulith.board.release import Release
from rulith.commands.capability_install import install, show_difference
from rulith.disk.atomic import read_bounded
from rulith.disk.home import find_home

EXIT_OK, EXIT_ERRORS, EXIT_USAGE = 0, 1, 2
VERBS = ("check", "test", "diff", "install")


@dataclass(frozen=True)
class Options:
    verb: str
    file: str
    home: str | None = None
    as_json: bool = False


@dataclass(frozen=True)
class File:
    """A Capability file as it was read. `release` is None where `problems` are not empty."""

    path: str
    text: str
    document: Mapping
    release: Release | None
    problems: tuple[dict, ...]


def read_options(argv: Sequence[str]) -> Options:
    """Raises Refused: option_unknown, option_value, option_usage, not_built."""
    words, plain_words, home, as_json = list(argv), [], None, False
    while words:
        name, joined, value = words.pop(0).partition("=")
        if name == "--json" and not joined:
            as_json = True
        elif name == "--home":
            if not joined and not words:
                raise Refused("option_value", verb="capability", option=name)
            home = value if joined else words.pop(0)
        elif name.startswith("-") and len(name) > 1:
            raise Refused("option_unknown", verb="capability", option=name[:60])
        else:
            plain_words.append(name + joined + value)
    if plain_words[:1] == ["draft"]:
        raise Refused("not_built", what="`rulith capability draft`", instead="Copy examples/verified-calculation/capability.json and change it.")
    if not plain_words or plain_words[0] not in VERBS:
        said = f"it does {', '.join(VERBS)}" + (f", not {plain_words[0][:40]!r}" if plain_words else "")
        raise Refused("option_usage", verb="capability", problem=said)
    if len(plain_words) != 2:
        raise Refused("option_usage", verb="capability", problem=f"{plain_words[0]} takes one FILE, not {len(plain_words) - 1}")
    if as_json and plain_words[0] == "install":
        raise Refused("option_usage", verb="capability", problem="install talks with a person and has no --json")
    return Options(plain_words[0], plain_words[1], home, as_json)


def read_file(path: str) -> File:
    """The file with everything that is wrong with it. Raises Refused: file_unusable, file_too_large."""
    content = read_bounded(path, CAPABILITY_BYTES_MAX)
    try:
        document = read_json(content, path)
    except Refused as refusal:
        return File(path, "", {}, None, ({"place": "the file", "problem": refusal.happened, "line": 1},))
    text = content.decode("utf-8")
    release, problems = check_capability(document)
    places = Places(text)
    rows = tuple({"place": each.place, "problem": each.problem, "line": places.line_of(each.place)} for each in problems)
    return File(path, text, document if isinstance(document, dict) else {}, release, rows)


def main(argv: Sequence[str]) -> int:
    try:
        options = read_options(argv)
    except Refused as refusal:
        sys.stderr.write(refusal.teaching + "\n")
        return EXIT_USAGE
    try:
        if options.verb == "install" and not sys.stdin.isatty():
            raise Refused("terminal_needed", verb="capability install")
        return DO[options.verb](options, read_file(options.file))
    except Refused as refusal:
        if options.as_json:
            print(json.dumps({"file": options.file, "sound": False, "errorCode": refusal.code, "teaching": refusal.teaching}, ensure_ascii=False))
        else:
            sys.stderr.write(refusal.teaching + "\n")
        return EXIT_ERRORS
    except EOFError:                         # Ctrl-D at a question is a no
        sys.stderr.write("\nNo answer came; nothing was installed.\n")
        return EXIT_ERRORS


def _problem_lines(file: File) -> list[str]:
    count = len(file.problems)
    return [f"{file.path} has {count} error{'' if count == 1 else 's'}:",
            *(f"{file.path}:{each['line']}: {each['place']}: {each['problem']}" for each in file.problems)]


def _tell(lines: list[str]) -> None:
    for line in lines:
        for part in line.split("\n"):        # a listing inside a message keeps its lines
            print(plain(part))


def _about(release: Release) -> dict:
    return {"id": release.id, "version": release.version, "title": release.title, "digest": release.digest}


def check(options: Options, file: File) -> int:
    if options.as_json:
        print(json.dumps({"file": file.path, "sound": file.release is not None, "problems": list(file.problems),
                          **({"release": _about(file.release)} if file.release else {})}, ensure_ascii=False))
    elif file.release is None:
        _tell(_problem_lines(file))
    else:
        release = file.release
        counts = f"{len(release.rules)} rules, {len(release.actions)} Actions, {len(release.case_types)} Case Types, {len(release.examples)} examples that hold"
        _tell([f"{file.path} is sound: {release.id} {release.version}, {counts}.", f"Its digest is {release.digest}."])
    return EXIT_OK if file.release is not None else EXIT_ERRORS


def test(options: Options, file: File) -> int:
    """The file's own examples, one by one; a file that cannot be read as rules has none to run."""
    examples = file.document.get("examples")
    titles = [str(row.get("title", f"example {number}")) if isinstance(row, dict) else f"example {number}"
              for number, row in enumerate(examples if isinstance(examples, list) else (), 1)]
    unsound = [each for each in file.problems if " (" not in each["place"] or not each["place"].startswith("examples[")]
    failed = {number: [each["problem"] for each in file.problems if each["place"].startswith(f"examples[{number}] ")]
              for number in range(len(titles))}
    if options.as_json:
        rows = [{"title": title, "holds": not unsound and not failed[number], "problems": failed[number]} for number, title in enumerate(titles)]
        print(json.dumps({"file": file.path, "sound": file.release is not None, "examples": rows, "problems": unsound}, ensure_ascii=False))
    elif unsound:
        _tell(_problem_lines(file) + ["Its examples were not run."])
    elif not titles:
        _tell([f"{file.path} has no examples; write some under `examples`: given facts, what follows, what never does."])
    else:
        for number, title in enumerate(titles):
            _tell([f"{'FAILS' if failed[number] else 'holds'}  {title}", *(f"         {problem}" for problem in failed[number])])
    return EXIT_OK if file.release is not None else EXIT_ERRORS


def diff(options: Options, file: File) -> int:
    if file.release is None:
        return check(options, file)
    return show_difference(find_home(options.home, os.environ), file.document, _about(file.release), as_json=options.as_json)


def install_file(options: Options, file: File) -> int:
    if file.release is None:
        return check(options, file)
    return install(find_home(options.home, os.environ), file.text, _about(file.release))


DO: dict[str, Callable[[Options, File], int]] = {"check": check, "test": test, "diff": diff, "install": install_file}
