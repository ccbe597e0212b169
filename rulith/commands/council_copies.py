"""`rulith council backup FILE` and `restore FILE`.

A backup is asked of the running council, or taken from the closed file where none runs. A
restore needs the council to be stopped.

Exit  0 done; refusals are told by the door that called (council.py).
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path

from rulith.base.clock import SystemClock
from rulith.base.errors import Refused
from rulith.base.plain_text import counted, plain
from rulith.disk.atomic import make_folder
from rulith.disk.home import Home
from rulith.disk.runfile import read_live
from rulith.net.client import HttpClient, NetFailed
from rulith.store.checks import take_over
from rulith.store.council_db import CouncilDb
from rulith.store.council_file import restore_council, told_of

BACKUP_S = 3_600.0


def keep_backup(home: Home, name: str) -> int:
    """Copy the council's file to the new file `name`, and say its digest."""
    target, place = Path(name).absolute(), home.council / "council.db"
    if target.exists():
        raise Refused("write_failed", path=str(target), problem="something stands there already")
    live = read_live(home.council_json)
    if live is None:
        if not place.exists():
            raise Refused("file_unusable", path=str(place), problem="this home has no council yet")
        db = CouncilDb.open(place, SystemClock())
        try:
            db.copy_to(target)
        finally:
            db.close()
        told = told_of(target)
    else:
        told = asyncio.run(_ask(live))
        copy = Path(told["file"])
        if copy.parent != home.council:
            raise Refused("council_backup", pid=live["pid"], url=live.get("url"), problem="it keeps its file in another home")
        take_over(copy, target, told["digest"])
    _say(f"Backup   {target}", f"Digest   {told['digest']}", f"Size     {told['bytes']} bytes",
         "It holds every thread, and of keys only digests. Records are in the projects' own folders.")
    return 0


async def _ask(live: Mapping) -> dict:
    """The backup made by the council that runs. Raises Refused council_backup, naming its process."""
    client = HttpClient(environ={})
    try:
        answer = await client.request("POST", f"http://127.0.0.1:{live.get('port')}/api/backup", {"authorization": f"Bearer {live.get('key')}"}, b"{}", timeout_s=BACKUP_S)
        told = json.loads(answer.body)
        if answer.status == 200:
            return told["result"]
        problem = str(told["teaching"])
    except NetFailed as silence:
        problem = silence.detail
    except (ValueError, LookupError, TypeError, RecursionError):
        problem = "its answer cannot be read"
    finally:
        await client.close()
    raise Refused("council_backup", pid=live["pid"], url=live.get("url", "unknown address"), problem=problem.rstrip("."))


def restore_backup(home: Home, name: str) -> int:
    """Put the copy `name` in place of the home's council, and say what that means."""
    live = read_live(home.council_json)
    if live is not None:
        raise Refused("council_in_use", path=str(home.council / "council.db"), pid=live["pid"])
    home.prepare()
    make_folder(home.council)
    told = restore_council(home.council / "council.db", Path(name).absolute(), SystemClock())
    _say(f"Restored {home.council / 'council.db'}", f"From     {name}, {told['digest']}, {counted(told['events'], 'event')}")
    if told["kept"]:
        _say(f"Kept     {home.council / told['kept']}, the file that stood there")
    _say("Keys that were revoked or turned after the copy was taken count again as they were then.")
    return 0


def _say(*lines: str) -> None:
    for line in lines:
        print(plain(line))
