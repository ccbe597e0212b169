"""`rulith constitution check|diff|install FILE`: what no Action of a gateway may do, from first draft to in force.

`check` needs nothing but the file. `diff` reads what is in force at the gateway of the home.
`install` asks for the approval passphrase on this terminal, never as an argument, shows what
would change, and puts the file in force after a typed yes, bound to the digests shown.

Exit  0 sound, shown or installed; 1 errors found, refused, or no; 2 wrong words, no file touched.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from rulith.base.errors import Refused
from rulith.base.plain_text import counted
from rulith.board.constitution import check_constitution
from rulith.board.differences import changes_text, constitution_changes
from rulith.disk.home import find_home
from rulith.local.console import ConsoleSession
from rulith.local.documents import (EXIT_ERRORS, EXIT_OK, File, Options, is_yes, problem_lines, run_door, shown_changes, tell,
                                    tell_json)
from rulith.local.visit import GatewayVisit


def main(argv: Sequence[str]) -> int:
    return run_door("constitution", argv, check_constitution, DO)


def _about(file: File) -> dict:
    return {"version": file.found.version, "title": file.found.title, "digest": file.found.digest}


def check(options: Options, file: File) -> int:
    if options.as_json:
        tell_json({"file": file.path, "sound": file.found is not None, "problems": list(file.problems),
                   **({"constitution": _about(file)} if file.found else {})})
    elif file.found is None:
        tell(problem_lines(file))
    else:
        found = file.found
        tell([f"{file.path} is sound: Constitution {found.version}, {counted(len(found.rules), 'rule')}, {counted(len(found.examples), 'example that holds', 'examples that hold')}.",
              f"Its digest is {found.digest}."])
    return EXIT_OK if file.found is not None else EXIT_ERRORS


def diff(options: Options, file: File) -> int:
    if file.found is None:
        return check(options, file)
    with GatewayVisit(find_home(options.home, os.environ)) as visit:
        before = visit.document("constitution", "constitution_not_installed")
    changes = constitution_changes(before["document"] if before else None, file.document)
    if options.as_json:
        tell_json({"constitution": _about(file), "installed": {name: before[name] for name in ("version", "digest")} if before else None,
                   "changes": [each.json() for each in changes]})
    else:
        tell([_heading(_about(file), before), *(_same(_about(file), before) or changes_text(changes))])
    return EXIT_OK


def _heading(about: Mapping, before: Mapping | None) -> str:
    if before is None:
        return f"Constitution {about['version']}; none is in force yet"
    moved = f"{before['version']} → " if before["digest"] != about["digest"] else ""
    return f"Constitution {moved}{about['version']}"


def _same(about: Mapping, before: Mapping | None) -> list[str]:
    return ["This very Constitution is in force; nothing differs."] if before and before["digest"] == about["digest"] else []


def install(options: Options, file: File) -> int:
    """Sign in, show, ask, put in force."""
    if file.found is None:
        return check(options, file)
    with GatewayVisit(find_home(options.home, os.environ)) as visit:
        return visit.signed_in(lambda console: _show_and_install(visit, console, file))


def _show_and_install(visit: GatewayVisit, console: ConsoleSession, file: File) -> int:
    about = _about(file)
    found = visit.asked(console, "constitution-check", {"text": file.text})["result"]
    if found["problems"]:        # the gateway is of another release than this file's check
        raise Refused("constitution_invalid", count=len(found["problems"]), listing="\n".join(f"{each['place']}: {each['problem']}" for each in found["problems"]))
    before = found["installed"]
    tell([_heading(about, before), *(_same(about, before) or shown_changes(found["changes"]))])
    if _same(about, before):
        return EXIT_OK
    if not is_yes(f"\nPut Constitution {about['version']} in force for every Agent of this gateway? Type yes: "):
        tell(["Nothing was installed."])
        return EXIT_ERRORS
    visit.asked(console, "constitution-install", {"text": file.text, "digest": about["digest"], "replaces": before["digest"] if before else ""})
    tell([f"Constitution {about['version']} is in force: every Action is judged by it from now on, those that wait included."])
    return EXIT_OK


DO = {"check": check, "diff": diff, "install": install}
