"""importlib.metadata of the bundled packages: names, versions, entry points.

Apart from `packed`, because importing importlib.metadata takes longer than all the rest of
a short command, and only keyring asks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import metadata

from rulith.base.packed import PackedPath


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


class PackedDistribution(metadata.Distribution):
    """What one `*.dist-info` folder of the archive tells."""

    def __init__(self, folder: PackedPath) -> None:
        self._folder = folder

    def read_text(self, filename: str) -> str | None:
        wanted = self._folder.joinpath(filename)
        return wanted.read_text() if wanted.is_file() else None

    def locate_file(self, path: str) -> PackedPath:
        return self._folder.joinpath("..", str(path))


def distributions(source, name: str | None) -> Iterator[PackedDistribution]:
    """Those whose project name is `name`, however it is spelled; all of them for None."""
    for folder in PackedPath(source, "").iterdir():
        project, dash, rest = folder.name.partition("-")
        if dash and rest.endswith(".dist-info") and (name is None or _normal(project) == _normal(name)):
            yield PackedDistribution(folder)
