"""`rulith capability check|test|diff|install FILE`, `draft CASE…`, `from-document FILE`: a Capability file from first draft to installed Release.

`check` and `test` need nothing but the file. `diff` reads what is installed from the gateway
of the home. `install` asks for the approval passphrase on this terminal, never as an
argument, shows what would change, and installs only after a typed yes.

Exit  0 sound, shown or installed; 1 errors found, refused, or no; 2 wrong words, no file touched.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from rulith.base.plain_text import counted
from rulith.board.capability_check import check_capability
from rulith.board.release import Release
from rulith.commands.capability_document import from_document_door
from rulith.commands.capability_draft import draft_door
from rulith.commands.capability_install import install, show_difference
from rulith.disk.home import find_home
from rulith.local.documents import EXIT_ERRORS, EXIT_OK, File, Options, problem_lines, run_door, tell, tell_json
from rulith.procs.child import read_settings


def main(argv: Sequence[str]) -> int:
    if argv[:1] == ["from-document"] or not argv and os.environ.get("RULITH_LOCAL_EVENTS") == "stdio":
        settings = read_settings()           # the workbench says on stdin what to draft from
        return from_document_door([*argv, *settings.args][1:], settings)
    if argv[:1] == ["draft"]:
        return draft_door(argv[1:])
    return run_door("capability", argv, check_capability, DO)


def _about(release: Release) -> dict:
    return {"id": release.id, "version": release.version, "title": release.title, "digest": release.digest}


def check(options: Options, file: File) -> int:
    release = file.found
    if options.as_json:
        tell_json({"file": file.path, "sound": release is not None, "problems": list(file.problems),
                   **({"release": _about(release)} if release else {})})
    elif release is None:
        tell(problem_lines(file))
    else:
        counts = ", ".join((counted(len(release.rules), "rule"), counted(len(release.actions), "Action"), counted(len(release.case_types), "Case Type"),
                            counted(len(release.examples), "example that holds", "examples that hold")))
        tell([f"{file.path} is sound: {release.id} {release.version}, {counts}.", f"Its digest is {release.digest}."])
    return EXIT_OK if release is not None else EXIT_ERRORS


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
        tell_json({"file": file.path, "sound": file.found is not None, "examples": rows, "problems": unsound})
    elif unsound:
        tell(problem_lines(file) + ["Its examples were not run."])
    elif not titles:
        tell([f"{file.path} has no examples; write some under `examples`: given facts, what follows, what never does."])
    else:
        for number, title in enumerate(titles):
            tell([f"{'FAILS' if failed[number] else 'holds'}  {title}", *(f"         {problem}" for problem in failed[number])])
    return EXIT_OK if file.found is not None else EXIT_ERRORS


def diff(options: Options, file: File) -> int:
    if file.found is None:
        return check(options, file)
    return show_difference(find_home(options.home, os.environ), file.document, _about(file.found), as_json=options.as_json)


def install_file(options: Options, file: File) -> int:
    if file.found is None:
        return check(options, file)
    return install(find_home(options.home, os.environ), file.text, _about(file.found))


DO = {"check": check, "test": test, "diff": diff, "install": install_file}
