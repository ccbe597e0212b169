"""A project's folder behind its jail: what of it may be seen, and the one place that is written.

A path is taken to its end, links and all, and judged there: inside the root, and neither
its way nor its name is one of those nobody reads. What was judged is then opened name by
name, following no link, so nothing that changes meanwhile leads elsewhere. A range of a
long file is read in a stream. Decides nothing about who may ask.

Units   lines count from 1, both ends included; sizes in bytes
Source  the council surface, "Files, git, search", "Decision record"
"""

from __future__ import annotations

import os
import re
import sys
import unicodedata
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from rulith.adapters.beneath import open_folder
from rulith.adapters.entries import shown
from rulith.base.errors import Refused
from rulith.base.paths import NAMES_MAX, PATH_BYTES_MAX, problem_of_name
from rulith.disk.atomic import write_refusal
from rulith.forum.diff import Git

READ_BYTES_MAX = 524_288         # of one answer
SCANNED_BYTES_MAX = 64 * 2**20   # of a file of which some lines are asked
LISTED_MAX = 2_000
DEPTH, DEPTH_MAX = 2, 6
RECORDS = (".rivendell", "threads")
_CHUNK_BYTES = 65_536
_RECORD_NAME = re.compile(r"[0-9]{4,19}-[a-z0-9-]{1,60}\.md")

FOLDERS = (".git", "node_modules", "target", "dist", "build", ".next", ".venv", "venv", "__pycache__", ".mypy_cache", ".pytest_cache", ".gradle", "Pods",
           ".terraform")
NAMES = (".netrc", ".npmrc", ".pypirc", "id_rsa", "id_ed25519", "id_ecdsa", "credentials", "secrets.yaml", "secrets.yml", "serviceaccount.json")
EXTENSIONS = ("pem", "key", "p12", "pfx", "keystore", "jks", "asc", "gpg")
_FOLDERS, _NAMES, _EXTENSIONS = ({each.casefold() for each in known} for known in (FOLDERS, NAMES, EXTENSIONS))
_SHORT_GIT = re.compile(r"git~[0-9]+")


@dataclass(frozen=True)
class Excerpt:
    """Lines `start` to `end` of the `total` of the file at `path` within the folder."""

    path: str
    start: int
    end: int
    total: int
    text: str


class ProjectFolder:
    """path   with every link followed. Raises Refused council_invalid for one that is not whole."""

    def __init__(self, path: str) -> None:
        whole = os.path.expanduser(path)
        if not os.path.isabs(whole) or "\0" in path:
            raise Refused("council_invalid", problem=f"{path[:200]!r} is no whole path of a folder")
        self.path = os.path.realpath(whole)
        self._git = Git(self.path)

    def is_readable(self) -> bool:
        return os.path.isdir(self.path) and os.access(self.path, os.R_OK | os.X_OK)

    # --- the jail ------------------------------------------------------------------------

    def inside(self, path: str) -> tuple[str, ...]:
        """The names from the root to where `path` leads, which need not exist. Raises Refused: council_path, council_invalid."""
        asked = path.strip()
        if "\0" in asked:
            raise _forbidden(asked, "it holds a zero byte")
        if len(asked.encode("utf-8", "surrogatepass")) > PATH_BYTES_MAX:
            raise Refused("council_invalid", problem=f"the path is longer than {PATH_BYTES_MAX} bytes")
        try:
            place = os.path.realpath(os.path.join(self.path, asked))
        except (OSError, ValueError):
            raise _forbidden(asked, "it leads nowhere") from None
        names = self._below(place)
        if names is None or len(names) > NAMES_MAX:
            raise _forbidden(asked, "it lies outside the project folder")
        # The way that was asked for is judged like the place it leads to: a link by a refused name tells of what it hides.
        typed = self._below(os.path.normpath(os.path.join(self.path, asked))) or ()
        for name, is_last in (*_last_told(typed), *_last_told(names)):
            problem = problem_of(name, is_last)
            if problem:
                raise _forbidden(asked, problem)
        return names

    def _below(self, place: str) -> tuple[str, ...] | None:
        """The names of `place` from the root down; None when it is not below."""
        if place == self.path:
            return ()
        root = self.path if self.path.endswith(os.sep) else self.path + os.sep
        return tuple(place[len(root):].split(os.sep)) if place.startswith(root) else None

    # --- reading -------------------------------------------------------------------------

    def read(self, path: str, start: int | None = None, end: int | None = None) -> Excerpt:
        """Lines of a text file; clamped to those it has. Raises Refused: council_path, council_invalid, council_too_large."""
        names = self.inside(path)
        if not names:
            raise Refused("council_invalid", problem="the project folder is no file")
        try:
            with open_folder(self.path, names[:-1], follow=False) as folder, folder.file(names[-1]) as handle:
                return _excerpt(_printable(shown(names)), handle, start, end)
        except Refused as refusal:
            raise refusal if refusal.code.startswith("council_") else _in_our_words(refusal) from None
        except OSError as problem:
            raise Refused("council_invalid", problem=f"{_printable(shown(names))[:500]} cannot be read ({problem.strerror})") from None

    def excerpt(self, path: str, start: int | None, end: int | None) -> tuple[str, str]:
        """(path within the folder, its lines)."""
        found = self.read(path, start, end)
        return found.path, found.text

    def list(self, path: str = "", depth: int = DEPTH) -> tuple[list[str], bool]:
        """(paths within the folder, those of folders ending in `/`; whether there are more). The refused are left out, no link is followed."""
        top = self.inside(path)
        found: list[str] = []
        ahead: deque[tuple[str, ...]] = deque([top])
        while ahead:
            names = ahead.popleft()
            for name, is_folder in self._entries(names, asked=names == top):
                if len(found) == LISTED_MAX:
                    return sorted(found), True
                below = (*names, name)
                found.append(_printable(shown(below)) + ("/" if is_folder else ""))
                if is_folder and len(below) - len(top) < min(max(depth, 1), DEPTH_MAX):
                    ahead.append(below)
        return sorted(found), False

    def _entries(self, names: tuple[str, ...], *, asked: bool) -> Iterator[tuple[str, bool]]:
        try:
            with open_folder(self.path, names, follow=False) as folder:
                entries = folder.entries()
        except Refused as refusal:
            if asked:
                raise _in_our_words(refusal) from None
            return                           # one that may not be opened, or went away meanwhile, is told without what it holds
        for entry in entries:
            is_folder = entry.kind == "directory"
            if not problem_of(entry.name, is_last=True):
                yield entry.name, is_folder

    # --- git -----------------------------------------------------------------------------

    def remote(self) -> str | None:
        return self._git.remote()

    def state(self) -> tuple[str | None, bool]:
        """(the commit that is checked out, whether the working tree differs from it)."""
        told = self._git.status()
        return told["head"], told["dirty"]

    def status(self) -> dict:
        """{is_repo, branch, head, dirty}."""
        return self._git.status()

    def diff(self, base: str | None, path: str | None) -> str:
        """Changes of the working tree; empty where there are none. Raises Refused: council_invalid, council_path."""
        return self._git.diff(base, self.inside(path or ""), left_out=LEFT_OUT)

    # --- writing -------------------------------------------------------------------------

    def write_record(self, name: str, text: str) -> str:
        """Write a decision record whole, or leave what was there; its path within the folder.

        Raises Refused: council_invalid, write_failed, disk_full.
        """
        if not _RECORD_NAME.fullmatch(name):
            raise Refused("council_invalid", problem=f"{name[:80]!r} is no name of a decision record")
        inside = "/".join((*RECORDS, name))
        try:
            with open_folder(self.path, RECORDS, follow=False, make=True) as folder:
                folder.replace(name, text.encode("utf-8"))
        except Refused as refusal:
            raise _in_our_words(refusal) from None
        except OSError as problem:
            raise write_refusal(inside, problem) from None
        return inside


def problem_of(name: str, is_last: bool) -> str | None:
    """Why nobody goes through a folder of this name, or reads the file that a path ends in."""
    bare = _bare(name)
    if bare in _FOLDERS or _SHORT_GIT.fullmatch(bare):
        return f"{name[:60]} is not looked into"
    if is_last and (bare in _NAMES or bare.startswith(".env") or (bare.rpartition(".")[2] in _EXTENSIONS and "." in bare)):
        return f"{name[:60]} may hold a secret"
    if sys.platform == "win32":
        return problem_of_name(name)
    return None


def _bare(name: str) -> str:
    """The name as the most generous disk compares it: no case, no letters that do not show, no stream, no dots or blanks at its end."""
    seen = "".join(letter for letter in unicodedata.normalize("NFKC", name) if unicodedata.category(letter) != "Cf")
    return seen.partition(":")[0].rstrip(". ").casefold()


def _left_out() -> tuple[str, ...]:
    """What git leaves out, as its own patterns: folders anywhere with all below them, files by name and by extension."""
    names = (*(f"{each}/**" for each in FOLDERS), *FOLDERS, ".env*", *NAMES, *(f"*.{each}" for each in EXTENSIONS))
    return tuple(f":(exclude,icase,glob)**/{each}" for each in names)


LEFT_OUT = _left_out()


def _last_told(names: tuple[str, ...]) -> Iterator[tuple[str, bool]]:
    return ((name, number == len(names)) for number, name in enumerate(names, 1))


def _excerpt(path: str, handle: int, start: int | None, end: int | None) -> Excerpt:
    first = max(start or 1, 1)
    last = None if end is None else max(end, first)
    limit = READ_BYTES_MAX if start is None and end is None else SCANNED_BYTES_MAX
    kept: list[bytes] = []
    total, size, before = 0, 0, b""
    for total, line in enumerate(_lines(path, handle, limit), 1):
        if total < first:
            before = line
        elif last is None or total <= last:
            kept.append(line.removesuffix(b"\r"))
            size += len(line) + 1
            if size > READ_BYTES_MAX + 1:
                raise Refused("council_too_large", path=path, limit=READ_BYTES_MAX)
    if not kept:                             # asked for what is behind its end: its last line
        kept, first = [before.removesuffix(b"\r")[:READ_BYTES_MAX]], max(total, 1)
    return Excerpt(path, first, first + len(kept) - 1, total, b"\n".join(kept).decode("utf-8", "replace"))


def _lines(path: str, handle: int, bytes_max: int) -> Iterator[bytes]:
    """The lines of an open file, each no longer than tells that it is too long. Raises Refused: council_too_large, council_invalid."""
    line = bytearray()
    while chunk := os.read(handle, _CHUNK_BYTES):
        bytes_max -= len(chunk)
        if bytes_max < 0:
            raise Refused("council_too_large", path=path, limit=READ_BYTES_MAX)
        if b"\0" in chunk:
            raise Refused("council_invalid", problem=f"{path} is binary")
        *ended, rest = chunk.split(b"\n")
        for part in ended:
            line += part
            yield bytes(line)
            line.clear()
        line += rest
        del line[READ_BYTES_MAX + 2:]
    if line:
        yield bytes(line)


def _printable(path: str) -> str:
    """A path that stays on its line."""
    return "".join(letter if letter.isprintable() else letter.encode("unicode_escape").decode() for letter in path)


def _forbidden(path: str, problem: str) -> Refused:
    return Refused("council_path", path=repr(path[:120]), problem=_printable(problem))


def _in_our_words(refusal: Refused) -> Refused:
    problem = str(refusal.facts.get("problem") or refusal.happened)
    return Refused("council_invalid", problem=_printable(problem.replace("the Source's folder", "the project folder"))[:500])
