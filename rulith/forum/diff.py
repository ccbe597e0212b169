"""What git tells of a project's folder, where its repository is not trusted.

Nothing that the repository names is run: no hook, no diff driver, no text conversion, no
filter, no pager, no monitor, no fetch of what a partial clone lacks. Nothing outside the
folder is shown: a working tree that the repository's settings place elsewhere, a
repository that does not know of this folder, or one that takes its objects from another
place, is none. Only commits are compared, so an
object of a name nobody reads cannot be asked for by its number. Changes nothing but the
times of files that git keeps in its index.

Units   sizes in bytes, *_s seconds
Source  the council surface, "Files, git, search"
"""

from __future__ import annotations

import codecs
import os
import re
import shutil
from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

from rulith.adapters.environment import child_environment
from rulith.base.errors import Refused
from rulith.procs.short import Answer, answer_of

DIFF_BYTES_MAX = 409_600
GIT_S = 15.0
BIG_BYTES = 32 * 2**20           # a longer file is told as binary, and not taken into memory
ALTERNATES_BYTES_MAX = 65_536
_BASE = re.compile(r"[A-Za-z0-9._/~^@{}][A-Za-z0-9._/~^@{}-]{0,199}")
_SMALL_BYTES_MAX, _NAMES_BYTES_MAX = 8_192, 1_048_576
_DRIVERS_MAX = 500
_SEEN = "rulith.seen"
_QUIET = ("--no-pager", "-c", "core.fsmonitor=false", "-c", f"core.hooksPath={os.devnull}", "-c", "core.untrackedCache=false",
          "-c", f"core.bigFileThreshold={BIG_BYTES}", "-c", "diff.context=3", "-c", "diff.interHunkContext=0")
_AS_TEXT = ("--no-color", "--no-ext-diff", "--no-textconv", "--relative", "--submodule=short", "--ignore-submodules=dirty", "--src-prefix=a/",
            "--dst-prefix=b/", "-O/dev/null", "-l400")
_ENV = {"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": "none", "GIT_PAGER": "cat", "LC_ALL": "C"}


class Git:
    """root   the project's folder, every link followed"""

    def __init__(self, root: str) -> None:
        self._root = root

    def status(self) -> dict:
        """{is_repo, branch, head, dirty}; a branch that is not checked out by name, and a commit before the first one, are None."""
        try:
            env = self._environment()
            branch = self._run(("symbolic-ref", "--short", "--quiet", "HEAD"), env, _SMALL_BYTES_MAX).stdout.decode("utf-8", "replace").strip()
            branch = "".join(letter if letter.isprintable() else "\ufffd" for letter in branch)
            told = self._run(("status", "--porcelain", "--ignore-submodules=dirty", "--", "."), env, _SMALL_BYTES_MAX)
        except Refused:
            return {"is_repo": False, "branch": None, "head": None, "dirty": False}
        try:
            head = self._commit("HEAD", env)
        except Refused:
            head = None
        return {"is_repo": True, "branch": branch or None, "head": head, "dirty": bool(told.stdout.strip())}

    def remote(self) -> str | None:
        """Where the repository was cloned from, without what lets one in."""
        try:
            told = self._run(("config", "--get", "remote.origin.url"), self._environment(), _SMALL_BYTES_MAX)
        except Refused:
            return None
        return without_credentials(told.stdout.decode("utf-8", "replace").strip()) or None

    def diff(self, base: str | None, names: Sequence[str], *, left_out: Sequence[str]) -> str:
        """The stat and the body of what changed since `base`, or since the index, below `names`.

        left_out   patterns of what is not shown
        Raises Refused: council_invalid, council_no_git.
        """
        env = self._environment()
        against = self._against(base, env) if base is not None else ()
        where = ("--", f":(literal){'/'.join(names)}" if names else ".", *left_out)
        stat = self._run(("diff", *_AS_TEXT, "--stat=200", *against, *where), env, DIFF_BYTES_MAX)
        body = self._run(("diff", *_AS_TEXT, *against, *where), env, DIFF_BYTES_MAX)
        for told in (stat, body):
            if told.timed_out or (told.status != 0 and not told.is_cut):
                raise Refused("council_no_git", problem=f"git took more than {GIT_S:.0f} seconds" if told.timed_out else "git could not tell it")
        return _cut(stat.stdout + b"\n" + body.stdout) if body.stdout or stat.stdout else ""

    # --- asking --------------------------------------------------------------------------

    def _run(self, arguments: Sequence[str], env: Mapping[str, str], bytes_max: int) -> Answer:
        program = shutil.which("git")
        if program is None or not os.path.isabs(program):
            raise Refused("council_no_git", problem="there is no git on this machine")
        try:
            return answer_of([program, *_QUIET, *arguments], cwd=self._root, env=env, timeout_s=GIT_S, stdout_bytes_max=bytes_max)
        except Refused as refusal:
            raise Refused("council_no_git", problem=refusal.happened) from None

    def _environment(self) -> dict[str, str]:
        """The variables for git here: none of the caller's own for it, and every filter that any settings name emptied.

        Raises Refused council_no_git where the folder is in no repository that may be asked.
        """
        env = child_environment(os.environ, passed=(), added={**_ENV, **_settings([(_SEEN, "1")])})
        told = self._run(("config", "--list", "--includes", "--name-only", "-z"), env, _NAMES_BYTES_MAX)
        names = [name.decode("utf-8", "surrogateescape") for name in told.stdout.split(b"\0")]
        if told.status != 0 or _SEEN not in names:
            raise Refused("council_no_git", problem="this git does not take settings from its environment, or the repository's cannot be read")
        drivers = sorted({name.rpartition(".")[0] for name in names if name.lower().startswith("filter.") and name.count(".") > 1})
        if len(drivers) > _DRIVERS_MAX:
            raise Refused("council_no_git", problem=f"the repository names more than {_DRIVERS_MAX} filters")
        env.update(_settings([(f"{driver}.{part}", value) for driver in drivers
                              for part, value in (("clean", ""), ("smudge", ""), ("process", ""), ("required", "false"))]))
        self._check_place(env)
        return env

    def _check_place(self, env: Mapping[str, str]) -> None:
        """The working tree holds this folder, and its repository lies in it or names it. Raises Refused council_no_git."""
        told = self._run(("rev-parse", "--show-toplevel", "--absolute-git-dir", "--git-common-dir"), env, _SMALL_BYTES_MAX)
        lines = os.fsdecode(told.stdout).splitlines()
        if told.status != 0 or len(lines) != 3:
            raise Refused("council_no_git", problem="the project folder is in no git repository")
        top, kept, shared = (os.path.realpath(os.path.join(self._root, line)) for line in lines)
        if not _holds(top, self._root):
            raise Refused("council_no_git", problem="the repository's working tree lies elsewhere")
        if not _keeps_its_objects(shared, top):
            raise Refused("council_no_git", problem="the repository takes its objects from another place")
        if (_holds(top, kept) and _holds(top, shared)) or _names_back(kept, top) or (not _holds(top, kept) and self._run(("config", "--get", "core.worktree"), env, _SMALL_BYTES_MAX).status == 0):
            return
        raise Refused("council_no_git", problem="the repository lies elsewhere and does not know of the project folder")

    def _against(self, base: str, env: Mapping[str, str]) -> tuple[str, ...]:
        """The commit or the two commits that `base` names, by number."""
        if not _BASE.fullmatch(base):
            raise Refused("council_invalid", problem="base is no name of a commit")
        dots = "..." if "..." in base else ".."
        if dots not in base:
            return (self._commit(base, env),)
        first, _, second = base.partition(dots)
        return (dots.join(self._commit(each or "HEAD", env) for each in (first, second)),)

    def _commit(self, name: str, env: Mapping[str, str]) -> str:
        told = self._run(("rev-parse", "--verify", "--quiet", name + "^{commit}"), env, _SMALL_BYTES_MAX)
        found = told.stdout.decode("ascii", "replace").strip()
        if told.status != 0 or not re.fullmatch(r"[0-9a-f]{40,64}", found):
            raise Refused("council_invalid", problem=f"there is no commit {name[:80]}")
        return found


def _settings(rows: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Settings as git takes them from its environment, whatever letters their names hold."""
    found = {"GIT_CONFIG_COUNT": str(len(rows))}
    for number, (name, value) in enumerate(rows):
        found |= {f"GIT_CONFIG_KEY_{number}": name, f"GIT_CONFIG_VALUE_{number}": value}
    return found


def _holds(outer: str, inner: str) -> bool:
    return inner == outer or inner.startswith(outer if outer.endswith(os.sep) else outer + os.sep)


def _keeps_its_objects(shared: str, top: str) -> bool:
    """Whether the objects lie in the repository, or are borrowed from below the same working tree: whoever asks for a number sees no other's."""
    objects = os.path.join(shared, "objects")
    within = lambda path: any(_holds(each, os.path.realpath(path)) for each in (shared, top))
    try:
        if not within(objects):
            return False
        for folder in (objects, os.path.join(objects, "pack"), os.path.join(objects, "info")):
            if os.path.isdir(folder):
                with os.scandir(folder) as entries:
                    if not all(within(each.path) for each in entries if each.is_symlink()):
                        return False
        borrowed = os.path.join(objects, "info", "alternates")
        if not os.path.lexists(borrowed):
            return True
        with open(borrowed, "rb") as file:
            told = os.fsdecode(file.read(ALTERNATES_BYTES_MAX + 1))
        lines = [line.strip() for line in told.splitlines() if line.strip() and not line.startswith("#")]
        return len(told) <= ALTERNATES_BYTES_MAX and all(not line.startswith('"') and within(os.path.join(objects, line)) for line in lines)
    except (OSError, ValueError):
        return False


def _names_back(kept: str, top: str) -> bool:
    """Whether the place of a linked working tree says that this is the tree."""
    try:
        with open(os.path.join(kept, "gitdir"), "rb") as file:
            told = os.fsdecode(file.read(4_096)).strip()
    except OSError:
        return False
    return os.path.realpath(told) == os.path.join(top, ".git")


def without_credentials(url: str) -> str:
    """The address of a repository without a name's password, and for the web without the name too."""
    if not url.isprintable() or len(url) > 1_000:
        return ""
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    if not parts.scheme or "@" not in parts.netloc:
        return url
    who, _, host = parts.netloc.rpartition("@")
    kept = "" if parts.scheme.lower() in ("http", "https") else who.partition(":")[0] + "@"
    return parts._replace(netloc=kept + host).geturl()


def _cut(told: bytes) -> str:
    """As text, cut between two letters where it is longer than may be shown."""
    text = codecs.getincrementaldecoder("utf-8")("replace").decode(told[:DIFF_BYTES_MAX], final=len(told) <= DIFF_BYTES_MAX).replace("\0", "\ufffd")
    if len(told) <= DIFF_BYTES_MAX:
        return text
    return f"{text}\n[cut after {DIFF_BYTES_MAX} bytes; name a path to see less of it, whole]\n"
