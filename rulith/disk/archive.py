"""The running file's copy: children run from a content-addressed path that nobody overwrites.

Replacing an archive under a running process breaks its later imports; a copy named by its
hash is never written twice with other bytes.

Source  the design's D8
"""

from __future__ import annotations

from pathlib import Path

from rulith.base.canonical import sha256_hex
from rulith.base.errors import Refused
from rulith.base.limits import ARCHIVE_BYTES_MAX
from rulith.disk.atomic import make_folder, read_bounded, write_whole
from rulith.disk.home import Home
from rulith.procs.archive import running_archive


def kept_archive(home: Home) -> Path | None:
    """The running archive's copy at `<home>/bin/<sha256>.pyz`, made when absent; None in a checkout.

    Raises Refused: archive_unreadable, write_failed, disk_full.
    """
    source = running_archive()
    if source is None:
        return None
    try:
        content = read_bounded(source, ARCHIVE_BYTES_MAX)
    except Refused as problem:
        raise Refused("archive_unreadable", path=str(source), problem=problem.happened) from None
    copy = make_folder(home.bin) / f"{sha256_hex(content)}.pyz"
    if copy == source:
        return copy
    try:
        whole = read_bounded(copy, ARCHIVE_BYTES_MAX) == content
    except Refused:
        whole = False                     # absent, or not what it should be
    if not whole:
        write_whole(copy, content)
    return copy
