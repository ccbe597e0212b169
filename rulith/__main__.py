"""The verbs: each word of the command line leads to one door. Exit codes; nothing else.

The top of this file parses under Python 2 and 3.6 too, so that an old interpreter gets
one line instead of a syntax error; keep annotations and f-strings out of it. The build
also puts this very file at the root of the archive, where Python starts it.
"""

import sys

if sys.version_info < (3, 10):
    sys.exit("rulith needs Python 3.10 or newer; this is %d.%d." % sys.version_info[:2])


def _code_folder(archive):
    """Where compiled modules of a content-addressed copy are kept: beside it. None for any other archive.

    The copy's name is the digest of its bytes, so what is kept never goes stale.
    """
    import os

    folder, name = os.path.split(os.path.abspath(archive))
    stem = name[:64]
    if name != stem + ".pyz" or len(stem) != 64 or stem.strip("0123456789abcdef") or sys.flags.optimize:
        return None
    return os.path.join(folder, stem + "." + sys.implementation.cache_tag)


def _load_fast():
    """Let modules be read from the archive once instead of twice, and compiled once per copy.

    zipimport compiles a whole source only to answer get_filename(); this answers from the
    directory it already holds. Outside an archive there is nothing to do.
    """
    import marshal
    import os
    import zipimport
    from importlib.util import MAGIC_NUMBER

    archive = getattr(getattr(__spec__, "loader", None), "archive", None)
    if archive is None:
        return
    folder = _code_folder(archive)

    def keep(path, code):
        spare = "%s.%d" % (path, os.getpid())
        try:
            if not os.path.isdir(folder):
                os.mkdir(folder, 0o700)
            with open(spare, "wb") as file:
                file.write(MAGIC_NUMBER + marshal.dumps(code))
            os.replace(spare, path)
        except OSError:
            pass  # a home that cannot be written is no reason not to run

    class SourceImporter(zipimport.zipimporter):
        def get_filename(self, name):
            inside = self.prefix + name.rpartition(".")[2]
            return archive + os.sep + inside + (os.sep + "__init__.py" if self.is_package(name) else ".py")

        def get_code(self, name):
            if folder is None:
                return super().get_code(name)
            path = os.path.join(folder, name + ".pyc")
            try:
                with open(path, "rb") as file:
                    kept = file.read()
                if kept.startswith(MAGIC_NUMBER):
                    return marshal.loads(kept[len(MAGIC_NUMBER) :])
            except (OSError, ValueError, EOFError, TypeError):
                pass  # absent, or cut by a crash: the source is always there
            code = super().get_code(name)
            if not sys.dont_write_bytecode:
                keep(path, code)
            return code

    def hook(path):
        if path == archive or path.startswith(archive + os.sep):
            return SourceImporter(path)
        raise ImportError(path)

    sys.path_hooks.insert(0, hook)
    for path in list(sys.path_importer_cache):
        if path == archive or path.startswith(archive + os.sep):
            del sys.path_importer_cache[path]


try:
    _load_fast()
except (AttributeError, ImportError, TypeError):
    pass  # the stock importer is slower and as good

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


def _print_no_more():
    """Send what is still to be printed nowhere, so that the interpreter's last flush finds no second error."""
    import os

    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (AttributeError, OSError, ValueError):
        sys.stdout = None  # closed, or no file of the system


if __name__ == "__main__":
    sys.exit(main())
