"""Shipped files read out of the packed part of the archive, for importlib.resources.

`rulith/__main__.py` installs the importer and hands it here as `source`: it has `archive`,
`index` (every shipped path, "/" between parts) and `read(path)`. Nothing is written to disk.
A list of certificates lies there as DER, which takes a quarter less, and is told as PEM.

Units   bytes
Source  importlib.resources.abc.Traversable and TraversableResources, of which only what
        Python 3.10 to 3.15 call is here: subclassing them would cost their import
"""

from __future__ import annotations

import base64
import io
import posixpath
from collections.abc import Iterator

_DER_SEQUENCE = 0x30
_PEM_COLUMNS = 64


def pem_text(content: bytes) -> bytes:
    """The certificates of `content`, DER after DER, as PEM. Raises ValueError when they are cut."""
    at, found = 0, []
    while at < len(content):
        if content[at] != _DER_SEQUENCE or not 0x81 <= content[at + 1] <= 0x84:
            raise ValueError(f"no certificate begins at byte {at}")
        head = 2 + (content[at + 1] & 0x7F)
        end = at + head + int.from_bytes(content[at + 2:at + head], "big")
        if end > len(content):
            raise ValueError(f"the certificate at byte {at} is cut")
        text = base64.b64encode(content[at:end])
        rows = [text[column:column + _PEM_COLUMNS] for column in range(0, len(text), _PEM_COLUMNS)]
        found += [b"-----BEGIN CERTIFICATE-----", *rows, b"-----END CERTIFICATE-----"]
        at = end
    return b"\n".join(found) + b"\n"


class PackedPath:
    """One file or folder of the archive; `inside` is its path there, "" the whole of it."""

    def __init__(self, source, inside: str) -> None:
        self._source, self._inside = source, inside

    @property
    def name(self) -> str:
        return posixpath.basename(self._inside)

    def __str__(self) -> str:
        return posixpath.join(self._source.archive, self._inside)

    def __repr__(self) -> str:
        return f"PackedPath({str(self)!r})"

    def joinpath(self, *parts: str) -> PackedPath:
        inside = posixpath.normpath(posixpath.join(self._inside, *parts))
        return PackedPath(self._source, "" if inside == "." else inside)

    def __truediv__(self, part: str) -> PackedPath:
        return self.joinpath(part)

    def is_file(self) -> bool:
        return self._inside in self._source.index

    def is_dir(self) -> bool:
        below = self._inside + "/"
        return not self._inside or any(path.startswith(below) for path in self._source.index)

    def iterdir(self) -> Iterator[PackedPath]:
        """What lies in this folder, in the order of the index. Raises NotADirectoryError."""
        if not self.is_dir():
            raise NotADirectoryError(str(self))
        below = self._inside + "/" if self._inside else ""
        names = dict.fromkeys(path[len(below):].partition("/")[0] for path in self._source.index if path.startswith(below))
        return iter([PackedPath(self._source, below + name) for name in names])

    def read_bytes(self) -> bytes:
        if not self.is_file():
            raise (IsADirectoryError if self.is_dir() else FileNotFoundError)(str(self))
        return self._source.read(self._inside)

    def read_text(self, encoding: str | None = None, errors: str | None = None) -> str:
        return io.TextIOWrapper(io.BytesIO(self.read_bytes()), encoding or "utf-8", errors).read()

    def open(self, mode: str = "r", *words: object, **options: object) -> io.IOBase:
        """Open for reading; nothing in an archive can be written."""
        if mode not in ("r", "rb", "rt"):
            raise ValueError(f"a shipped file can only be read, not opened for {mode!r}")
        content = io.BytesIO(self.read_bytes())
        return content if mode == "rb" else io.TextIOWrapper(content, *words, **options)


class PackedReader:
    """The resource reader of one packed package."""

    def __init__(self, source, package: str) -> None:
        self._folder = PackedPath(source, package.replace(".", "/"))

    def files(self) -> PackedPath:
        return self._folder

    def open_resource(self, resource: str) -> io.IOBase:
        return self._folder.joinpath(resource).open("rb")

    def resource_path(self, resource: str) -> str:
        raise FileNotFoundError(resource)        # no shipped file has a path of its own

    def is_resource(self, name: str) -> bool:
        return self._folder.joinpath(name).is_file()

    def contents(self) -> Iterator[str]:
        return (entry.name for entry in self._folder.iterdir())
