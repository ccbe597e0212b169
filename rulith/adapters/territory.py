"""Which folders a Source may open, judged with every link resolved.

A Source is what an Agent may see; the Tool Manifest, the vaults and the home decide what
it may do. So a folder that contains one of those, or lies in the home outside the
profile's own areas, is refused: when the Worker starts and again before each claim.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from rulith.adapters.sources import Source
from rulith.base.errors import Refused


def _is_within(path: str, folder: str) -> bool:
    """Whether `path` is `folder` or lies below it; both already resolved.

    By their names, and by what the system says they are: a disk that tells no upper case from
    lower, or composed letters from decomposed ones, has many names for one folder.
    """
    named, above = os.path.normcase(path), os.path.normcase(folder)
    if named == above or named.startswith(above.rstrip(os.sep) + os.sep):
        return True
    wanted = _identity(folder)
    while wanted is not None:
        if _identity(path) == wanted:
            return True
        parent = os.path.dirname(path)
        if parent == path:
            break
        path = parent
    return False


def _identity(path: str) -> tuple[int, int] | None:
    """What tells this file or folder from every other; None when it is not there, or its disk has no such thing."""
    try:
        seen = os.stat(path)
    except (OSError, ValueError):
        return None
    return (seen.st_dev, seen.st_ino) if seen.st_ino else None


@dataclass(frozen=True)
class Territory:
    """The folders and files around one Worker.

    root         the Worker root: where adapters lie and relative accesses start
    home         the home of this installation
    own          folders of the home that belong to this profile's Sources
    guarded      (what it is, where) of each file that no Source may contain
    executables  adapter files, guarded too once workspace Tools may write
    lent         by the name of an MCP service: what of the home it alone may name
    """

    root: str
    home: str
    own: tuple[str, ...] = ()
    guarded: tuple[tuple[str, str], ...] = ()
    executables: tuple[str, ...] = ()
    writes: bool = False
    lent: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def folder_of(self, source: Source) -> str:
        """The resolved folder of a file Source. Raises Refused source_root_refused."""
        if not source.access:
            raise self._no(source, "it names no folder")
        if "\0" in source.access:
            raise self._no(source, "its name holds a control character")
        folder = os.path.realpath(os.path.join(self.root, source.access))
        self._judge(source, folder)
        return folder

    def _no(self, source: Source, problem: str) -> Refused:
        return Refused("source_root_refused", source=source.name, problem=problem)

    def _judge(self, source: Source, folder: str) -> None:
        for what, path in self.guarded:
            if _is_within(os.path.realpath(path), folder):
                raise self._no(source, f"it contains {what}")
        home = os.path.realpath(self.home)
        if _is_within(home, folder):
            raise self._no(source, "it contains the home of this installation")
        own = (*self.own, *self.lent.get(source.name, ()))
        if _is_within(folder, home) and not any(_is_within(folder, os.path.realpath(each)) for each in own):
            raise self._no(source, "it lies in the home of this installation")
        if not self.writes:
            return
        root = os.path.realpath(self.root)
        if _is_within(root, folder) or _is_within(folder, root):
            raise self._no(source, "workspace Tools may write, and it overlaps the Worker root")
        for path in self.executables:
            if _is_within(os.path.realpath(path), folder):
                raise self._no(source, "workspace Tools may write, and it contains an adapter")
