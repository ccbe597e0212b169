"""Run files: where a live process says who it is and where it answers.

Written whole once it answers, removed at its stop. A reader believes one only while the
process that wrote it is not proven gone: after a crash the file stays and means nothing.

Source  the design's `run/gateway.json` (§6, §10)
"""

from __future__ import annotations

import os
from pathlib import Path

from rulith.base.errors import Refused
from rulith.disk.atomic import make_folder, read_json, write_json
from rulith.procs.identity import is_proven_gone, process_stamp


def write_runfile(path: Path, **facts: object) -> None:
    """Say that this process answers, e.g. with url= and port=."""
    make_folder(path.parent)
    write_json(path, {"pid": os.getpid(), **process_stamp(), **facts})


def read_live(path: Path) -> dict[str, object] | None:
    """What the run file says, or None when there is none or its process is proven gone."""
    try:
        record = read_json(path)
    except Refused:
        return None                      # none, or torn: nobody answers there
    if not isinstance(record, dict) or not isinstance(record.get("pid"), int):
        return None
    return None if is_proven_gone(record["pid"], record) else record


def remove_runfile(path: Path) -> None:
    """Take our own run file away; another process's stays."""
    try:
        record = read_json(path)
    except Refused:
        return
    if isinstance(record, dict) and record.get("pid") == os.getpid():
        try:
            path.unlink()
        except FileNotFoundError:
            pass
