"""The verbs: each word of the command line leads to one door. Exit codes; nothing else.

The top of this file parses under Python 2 and 3.6 too, so that an old interpreter gets
one line instead of a syntax error; keep annotations and f-strings out of it. The build
also puts this very file at the root of the archive, where Python starts it.
"""

import sys

if sys.version_info < (3, 10):
    sys.exit("rulith needs Python 3.10 or newer; this is %d.%d." % sys.version_info[:2])


def _unpack():
    """Install the importer that reads packed/ in the archive, and return it; None outside one.

    It lies there as text, because nothing can be imported before it: rulith/base/importer.py.
    """
    import os

    entries = getattr(__spec__, "loader", None)
    if getattr(entries, "archive", None) is None:
        return None
    place = os.path.join(entries.archive, "rulith", "base", "importer.py")
    try:
        listed = entries.get_data(os.path.join(entries.archive, "packed", "index"))
    except OSError:
        return None  # a zip of the plain files: the stock importer is slower and as good
    space = {"__name__": "rulith.base.importer", "__file__": place}
    exec(compile(entries.get_data(place), place, "exec"), space)
    return space["install"](entries, listed.decode("utf-8"))


_PACKED = _unpack()

# The word on the command line and the door it opens; every door has main(argv) -> exit code.
DOORS = {
    "start": "rulith.host",
    "setup": "rulith.host",
    "agent": "rulith.agent",
    "worker": "rulith.worker",
}
for _word in (
    "gateway board council watch bridge demo capability constitution explain verify doctor version stop"
).split():
    DOORS[_word] = "rulith.commands." + _word

EXIT_ERROR, EXIT_USAGE, EXIT_INTERRUPTED = 1, 2, 130


def _wants_help(argv):
    words = argv[: argv.index("--")] if "--" in argv else argv
    return "-h" in words or "--help" in words


def _open(word, argv):
    """Call the door that `word` names; say so when this release does not have it."""
    from importlib import import_module

    from rulith.base.errors import Refused

    try:
        door = import_module(DOORS[word])
    except ModuleNotFoundError as missing:
        if missing.name != DOORS[word]:
            raise
        usage = import_module("rulith.commands.usage")
        refusal = Refused("not_built", what="`rulith %s`" % word, instead=usage.INSTEAD.get(word, usage.INSTEAD[""]))
        sys.stderr.write(refusal.teaching + "\n")
        return EXIT_USAGE
    if _PACKED is not None:
        _PACKED.forget_texts()
    return door.main(argv)


def _dispatch(argv):
    if argv and argv[0] in ("-V", "--version"):
        argv = ["version"] + argv[1:]
    named = bool(argv) and not argv[0].startswith("-")
    word = argv[0] if named else "start"
    if word in DOORS and not _wants_help(argv):
        return _open(word, argv[1:] if named else argv)

    from importlib import import_module

    usage = import_module("rulith.commands.usage")
    if named and word == "help":
        named = argv[1:] != []
        word = argv[1] if named else "start"
    if word not in DOORS:
        sys.stderr.write(usage.wrong_word(word, DOORS) + "\n")
        return EXIT_USAGE
    sys.stdout.write(usage.of_verb(word) if named else usage.overview())
    return 0


def main(argv=None):
    """Run one command line and return its exit code; bad news is a sentence, never a traceback."""
    _fill_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # a console that lacks a letter still gets the line
    try:
        status = _dispatch(list(sys.argv[1:] if argv is None else argv))
        if sys.stdout is not None:
            sys.stdout.flush()
        return status
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except BrokenPipeError:  # the reader of our output left; there is nobody to tell
        _print_no_more()
        return EXIT_ERROR
    except OSError as problem:
        # Errors of the system are told where they enter; this one came where none was foreseen.
        _print_no_more()
        place = "" if problem.filename is None else " (%s)" % problem.filename
        sys.stderr.write("The system refused: %s%s. What was committed stays; mend that and run it again.\n"
                         % (problem.strerror or problem, place))
        return EXIT_ERROR
    except Exception as problem:
        # Only the three kinds of bad news end here; anything else is a bug and stays loud.
        from rulith.base.errors import Mismatch, Refused, Unknown

        if not isinstance(problem, (Refused, Unknown, Mismatch)):
            raise
        if getattr(problem, "code", "") == "output_lost":
            _print_no_more()
        sys.stderr.write("%s\n" % problem)
        return EXIT_ERROR


def _fill_closed_streams():
    """Open what a parent closed of the three streams, or the next file, a ledger say, would stand in its place."""
    import os

    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest number that is free


def _print_no_more():
    """Send what is still to be printed nowhere, so that the interpreter's last flush finds no second error."""
    import os

    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (AttributeError, OSError, ValueError):
        sys.stdout = None  # closed, or no file of the system


if __name__ == "__main__":
    sys.exit(main())
