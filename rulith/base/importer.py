"""Modules and files out of the packed part of the archive; compiled code kept beside a copy named by its digest.

`packed/index` names each group of files and, under it, its files with their sizes in the
order in which they lie, end to end, in the entry `packed/<group>`: inflated by the zip, or
a bzip2 stream, which is a sixth smaller and slower, so what starts first is none. A file of
the group "." is an entry of the zip like any other: this one, because `rulith/__main__.py`
runs its text before anything can be imported.

It refuses to look anywhere else, and is quiet about a home that cannot be written.

Source  importlib.abc.MetaPathFinder, InspectLoader and ResourceLoader
"""

from __future__ import annotations

import marshal
import os
import sys
from importlib import import_module
from importlib.machinery import PathFinder, SourceFileLoader
from importlib.util import MAGIC_NUMBER, spec_from_loader

GROUPS_MAX = 64     # inflated at a time while imports run; all there are


def code_folder(archive: str) -> str | None:
    """Where compiled modules of a content-addressed copy are kept: beside it. None for any other archive.

    The copy's name is the digest of its bytes, so what is kept never goes stale.
    """
    folder, name = os.path.split(os.path.abspath(archive))
    stem = name[:64]
    if name != stem + ".pyz" or len(stem) != 64 or stem.strip("0123456789abcdef") or sys.flags.optimize:
        return None
    return os.path.join(folder, f"{stem}.{sys.implementation.cache_tag}")


def places(listed: str) -> dict[str, tuple[str, int, int]]:
    """Path -> (group, first byte, size) of an index."""
    found, group, at = {}, "", 0
    for line in listed.splitlines():
        size, blank, path = line.partition(" ")
        if blank:
            found[path] = (group, at, int(size))
            at += int(size)
        else:
            group, at = line, 0
    return found


def expander(entries):
    """What turns a bzip2 stream into its content: Python's own, or ours where this Python was built without."""
    try:
        from _bz2 import BZ2Decompressor
    except ImportError:
        place = os.path.join(entries.archive, "rulith", "base", "bunzip.py")
        space = {"__name__": "rulith.base.bunzip", "__file__": place}
        exec(compile(entries.get_data(place), place, "exec"), space)
        return space["decompress"]
    return lambda data: BZ2Decompressor().decompress(data)


class Packed:
    """Finder for sys.meta_path, and the loader of every module it finds."""

    exec_module = SourceFileLoader.exec_module

    def __init__(self, entries, listed: str) -> None:
        """`entries` is the loader of the archive's own start, which reads entries of the zip."""
        self.archive, self.index = entries.archive, places(listed)
        self._entries, self._root = entries, entries.archive + os.sep
        self._folder = code_folder(entries.archive)
        self._texts: dict[str, bytes] = {}
        self._texts_max = GROUPS_MAX

    def read(self, path: str) -> bytes:
        group, at, size = self.index[path]
        if group == ".":
            return self._entries.get_data(self._root + path.replace("/", os.sep))
        text = self._texts.get(group)
        if text is None:
            text = self._entries.get_data(self._root + os.path.join("packed", group))
            if text.startswith(b"BZh"):
                text = expander(self._entries)(text)
            if len(self._texts) >= self._texts_max:
                self._texts.clear()
            self._texts[group] = text
        data = text[at:at + size]
        return import_module("rulith.base.packed").pem_text(data) if path.endswith(".pem") else data

    def forget_texts(self) -> None:
        """Imports are done: keep no more than the group that was read last."""
        self._texts.clear()
        self._texts_max = 1

    def inflated(self) -> list[str]:
        return sorted(self._texts)

    # -- finding

    def _path(self, name: str) -> tuple[str, bool] | None:
        """(path inside, whether it is a package) of a module; None when it does not lie here."""
        inside = name.replace(".", "/")
        for path, is_package in ((f"{inside}/__init__.py", True), (f"{inside}.py", False)):
            if path in self.index:
                return path, is_package
        return None

    def _known(self, name: str) -> tuple[str, bool]:
        found = self._path(name)
        if found is None:
            raise ImportError(f"the archive holds no module {name!r}", name=name)
        return found

    def find_spec(self, name, path=None, target=None):
        if path is not None and self._root + name.rpartition(".")[0].replace(".", os.sep) not in path:
            return None     # a package of the same name from elsewhere keeps to itself
        return spec_from_loader(name, self) if self._path(name) else None

    def find_distributions(self, context=None):
        if self.archive not in getattr(context, "path", sys.path):
            return iter(())
        return import_module("rulith.base.packed_metadata").distributions(self, getattr(context, "name", None))

    def invalidate_caches(self) -> None:
        """Nothing to do: the archive does not change under a process."""

    # -- loading

    def create_module(self, spec) -> None:
        return None

    def is_package(self, name: str) -> bool:
        return self._known(name)[1]

    def get_filename(self, name: str) -> str:
        return self._root + self._known(name)[0].replace("/", os.sep)

    def get_source(self, name: str) -> str:
        return self.read(self._known(name)[0]).decode("utf-8")

    def get_data(self, path: str) -> bytes:
        path = os.fspath(path)
        inside = path[len(self._root):].replace(os.sep, "/") if path.startswith(self._root) else ""
        if inside not in self.index:
            raise FileNotFoundError(path)
        return self.read(inside)

    def get_resource_reader(self, name: str):
        return import_module("rulith.base.packed").PackedReader(self, name) if self.is_package(name) else None

    def get_code(self, name: str):
        kept = os.path.join(self._folder, name + ".pyc") if self._folder else os.devnull
        try:
            with open(kept, "rb") as file:
                content = file.read()
            if content.startswith(MAGIC_NUMBER):
                return marshal.loads(content[len(MAGIC_NUMBER):])
        except (OSError, ValueError, EOFError, TypeError):
            pass  # absent, or cut by a crash: the source is always there
        code = compile(self.read(self._known(name)[0]), self.get_filename(name), "exec", dont_inherit=True)
        if self._folder and not sys.dont_write_bytecode:
            self._keep(kept, code)
        return code

    def _keep(self, path: str, code) -> None:
        spare = f"{path}.{os.getpid()}"
        try:
            if not os.path.isdir(self._folder):
                os.mkdir(self._folder, 0o700)
            with open(spare, "wb") as file:
                file.write(MAGIC_NUMBER + marshal.dumps(code))
            os.replace(spare, path)
        except OSError:
            pass  # a home that cannot be written is no reason not to run


def install(entries, listed: str) -> Packed:
    """Put the importer where the archive stands on sys.path: behind built-in and frozen modules, before all else."""
    packed = Packed(entries, listed)
    at = sys.meta_path.index(PathFinder) if PathFinder in sys.meta_path else len(sys.meta_path)
    sys.meta_path.insert(at, packed)
    return packed
