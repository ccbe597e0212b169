"""The repairs that `rulith doctor --repair` makes: only what cannot lose anything.

Taken away are run files whose process is proven gone, and spare files of writes that were
cut short: a write that was finished has its target's name. Secrets, ledgers, locks and
settings are never touched; what is wrong with them needs a person.

Units   spare files younger than SPARE_AGE_S may belong to a write under way
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from rulith.base.clock import Clock
from rulith.base.errors import Refused
from rulith.disk.atomic import read_json
from rulith.disk.home import Home
from rulith.procs.identity import is_proven_gone

SPARE_AGE_S = 600.0
_SPARE = re.compile(r".+\.[0-9a-f]{16}\.tmp")


def leftovers(home: Home, clock: Clock) -> Iterator[tuple[Path, str]]:
    """(file, what it is) of everything in this home that a repair would take away."""
    for path in sorted(home.run.glob("*.json")) if home.run.is_dir() else ():
        try:
            record = read_json(path)
        except Refused:
            record = None
        if isinstance(record, dict) and isinstance(record.get("pid"), int) and is_proven_gone(record["pid"], record):
            yield path, f"names process {record['pid']}, which is gone"
    own = [home.path, home.workbench, home.instances, *_folders(home.instances), home.gateway, home.secrets, home.council, home.run, home.bin]
    for path in (each for folder in own for each in sorted(folder.glob("*.tmp"))):     # a workspace is the person's, not looked into
        if _SPARE.fullmatch(path.name) and not path.is_symlink() and path.is_file() \
                and clock.wall_s() - path.stat().st_mtime > SPARE_AGE_S:
            yield path, "is what a write that was cut short left behind"


def _folders(parent: Path) -> list[Path]:
    return sorted(each for each in parent.iterdir() if each.is_dir() and not each.is_symlink()) if parent.is_dir() else []


def take_away(path: Path) -> str:
    """What came of removing it, in words."""
    try:
        path.unlink(missing_ok=True)
    except OSError as problem:
        return f"could not be removed: {problem.strerror or problem}"
    return "removed"
