"""The council's file before it is opened, and copies of it: the check, the backup, the way back.

A damaged file is evidence: it is looked at without a change, and a copy is put aside. A copy
that is brought back never overwrites: the file that stood there is kept under another name.

Source  the design's rules on files (D5)
"""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

from rulith.base.clock import Clock, stamp
from rulith.base.errors import Refused
from rulith.base.ids import mint
from rulith.disk.atomic import sync_folder, write_refusal
from rulith.disk.locks import KernelLock
from rulith.store.checks import copy_file, file_digest, is_passing, kept_aside, words_of_damage
from rulith.store.council_schema import APPLICATION_ID, NEWEST
from rulith.store.failures import council_failed

_ENDS = ("", "-wal", "-shm")


def check_council(path: Path, *, aside: bool = True) -> int:
    """Refuse a file that is no whole council; one that is absent or empty is left to whoever opens it. The number of its events.

    Raises Refused: council_damaged, council_newer; StoreFailed for what is no damage.
    """
    try:
        if not path.stat().st_size:
            return 0
    except FileNotFoundError:
        return 0
    except OSError as problem:
        raise write_refusal(path, problem) from None
    problem, events = _look(path)
    if problem:
        raise Refused("council_damaged", path=str(path), problem=problem, aside=kept_aside(path) if aside else "no copy was made")
    return events


def _look(path: Path) -> tuple[str, int]:
    """(what is wrong, or nothing; how many events there are)."""
    db = None
    try:
        db = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, isolation_level=None)
        tables = {name for (name,) in db.execute("SELECT name FROM sqlite_schema")}
        if "migration" not in tables:
            return ("it is another program's database" if tables else ""), 0
        if db.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
            return "it is another program's database", 0
        found = db.execute("SELECT coalesce(max(number), 0) FROM migration").fetchone()[0]
        if found > NEWEST:
            raise Refused("council_newer", path=str(path), found=found, known=NEWEST)
        said = [text for (text,) in db.execute("PRAGMA quick_check(1)") if text != "ok"]
        said += [f"a row of {row[0]} names one of {row[2]} that is not there" for row in db.execute("PRAGMA foreign_key_check").fetchmany(1)]
        return (words_of_damage(said[0]) if said else ""), db.execute("SELECT count(*) FROM event").fetchone()[0]
    except sqlite3.Error as problem:
        if is_passing(problem):
            raise council_failed(problem) from None
        return words_of_damage(str(problem)), 0
    finally:
        if db is not None:
            db.close()


def told_of(copy: Path) -> dict:
    """{file, digest, bytes} of a finished copy."""
    return {"file": str(copy), "digest": f"sha256:{file_digest(copy)}", "bytes": copy.stat().st_size}


def restore_council(path: Path, backup: Path, clock: Clock) -> dict:
    """Put the copy in place of the council's file; {digest, bytes, events, kept}: the name of the file that stood there, or None.

    Raises Refused: council_in_use, council_damaged, council_newer, file_unusable, write_failed, disk_full.
    """
    lock = KernelLock(path.with_name(path.name + ".lock"))
    if not lock.take():
        raise Refused("council_in_use", path=str(path), pid=lock.holder_pid() or "unknown")
    fresh = path.with_name(f"restore-{mint('', 16)}.db")
    try:
        if not backup.is_file() or not backup.stat().st_size:
            raise Refused("file_unusable", path=str(backup), problem="it is no copy of a council")
        copy_file(backup, fresh)
        events = check_council(fresh, aside=False)
        told, kept = told_of(fresh), None
        if path.exists():
            kept = f"{path.name}.before-{stamp(clock.wall_s()).replace(':', '')}"
            for end in _ENDS:
                if path.with_name(path.name + end).exists():
                    os.replace(path.with_name(path.name + end), path.with_name(kept + end))
        os.replace(fresh, path)
        sync_folder(path.parent)
        return {**told, "events": events, "kept": kept}
    except OSError as problem:
        raise write_refusal(path, problem) from None
    finally:
        for end in _ENDS:
            fresh.with_name(fresh.name + end).unlink(missing_ok=True)
        lock.release()
