"""What `rulith doctor` says of the council: its process, its file, its projects' folders. Looks and changes nothing."""

from __future__ import annotations

import asyncio
import json
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from rulith.base.errors import Refused
from rulith.base.plain_text import counted
from rulith.disk.home import Home
from rulith.disk.runfile import read_live
from rulith.net.client import HttpClient, NetFailed
from rulith.store.council_file import check_council

OK, NOTE, WRONG = "ok", "note", "wrong"
ASK_S = 60.0
Told = tuple[str, str, str]          # name, state, text


def look_at_council(home: Home) -> Iterator[Told]:
    """Each thing to say, in order."""
    place, live = home.council / "council.db", read_live(home.council_json)
    if live is None and not place.exists():
        yield "council", OK, "not used yet; its page, or `rulith council serve`, makes it"
        return
    yield from _rights(place)
    if live is not None:
        yield from asyncio.run(_ask(live))
        return
    yield "council", OK, "not running"
    try:
        events = check_council(place, aside=False)
        yield "council file", OK, f"{counted(events, 'event')}, checked whole"
    except Refused as refusal:
        yield "council file", WRONG, refusal.teaching


def _rights(place: Path) -> Iterator[Told]:
    for path in (place, place.with_name(place.name + "-wal")):
        if os.name == "posix" and path.exists() and stat.S_IMODE(path.stat().st_mode) & 0o077:
            yield "council file", WRONG, f"others can read {path} (mode {stat.S_IMODE(path.stat().st_mode):04o}), which holds what is said in every room; chmod go= it"


async def _ask(live: Mapping) -> list[Told]:
    client = HttpClient(environ={})
    try:
        projects, agents, needs = [await _told(client, live, name) for name in ("list_projects", "awake_status", "needs_you")]
    except (NetFailed, ValueError, LookupError, TypeError, RecursionError) as problem:
        said = problem.detail if isinstance(problem, NetFailed) else str(problem)
        return [("council", WRONG, f"process {live['pid']}, {live.get('url')}, does not answer: {said}. See logs/council.log.")]
    finally:
        await client.close()
    found: list[Told] = [("council", OK, f"process {live['pid']}, {live.get('url')}, {counted(len(projects), 'project')}")]
    found += [("project", NOTE, f"{row['name']}: its folder {row['folder_path']} is not there; nobody opens a thread in it")
              for row in projects if not os.path.isdir(row["folder_path"])]
    found += [("awake", NOTE, f"{row.get('name', row.get('agent_id'))}: {row['trouble']}") for row in agents if row.get("trouble")]
    if needs:
        found.append(("threads", NOTE, f"{counted(len(needs), 'thread')} of the council {'waits' if len(needs) == 1 else 'wait'} for you"))
    return found


async def _told(client: HttpClient, live: Mapping, name: str) -> list:
    answer = await client.request("POST", f"http://127.0.0.1:{live['port']}/api/{name}", {"authorization": f"Bearer {live['key']}"}, b"{}", timeout_s=ASK_S)
    told = json.loads(answer.body)
    if answer.status == 404:
        return []                     # a council without a supervisor keeps nobody awake
    if answer.status != 200:
        raise ValueError(told["teaching"])
    return told["result"]
