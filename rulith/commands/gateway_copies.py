"""`rulith gateway backup FILE` and `restore FILE`.

A backup is asked of the running gateway, or taken from the closed ledger where none runs.
A restore needs the gateway to be stopped.

Exit  0 done; refusals are told by the door that called (gateway.py).
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

from rulith.base.clock import SystemClock
from rulith.base.errors import Refused
from rulith.base.plain_text import counted, plain
from rulith.disk.home import Home
from rulith.disk.runfile import read_live
from rulith.gateway.copies import back_up_closed, restore
from rulith.gateway.first_start import check_ledger_file
from rulith.local.gateway import LocalGateway, find_gateway
from rulith.net.client import HttpClient
from rulith.store.checks import take_over

BACKUP_S = 3_600.0


def keep_backup(home: Home, name: str) -> int:
    """Copy the ledger to the new file `name`, and say its digest."""
    target = Path(name).absolute()
    if target.exists():
        raise Refused("write_failed", path=str(target), problem="something stands there already")
    live = read_live(home.gateway_json)
    if live is None:
        check_ledger_file(home)
        if not home.ledger.exists():
            raise Refused("file_unusable", path=str(home.ledger), problem="this home has no ledger yet")
        told = back_up_closed(home, target, SystemClock())
    else:
        told = asyncio.run(_ask(home, live, target))
    _say(f"Backup   {target}", f"Digest   {told['digest']}", f"Rows     {told['rows']}, {told['bytes']} bytes",
         "It holds no secret in clear: keys and tokens stand in it as hashes. Keep gateway/secrets beside it for the signing key.")
    return 0


async def _ask(home: Home, live: Mapping, target: Path) -> dict:
    """The backup made by the gateway that runs. Raises Refused backup_not_made, naming its process."""
    client = HttpClient()
    try:
        gateway = find_gateway(home)
        if gateway is None:
            raise Refused("gateway_not_ready", problem="it does not say where it answers")
        told = await _made(gateway, client)
    except Refused as refusal:
        raise Refused("backup_not_made", pid=live["pid"], url=live.get("url", "unknown address"),
                      problem=refusal.happened.rstrip(".")) from None
    finally:
        await client.close()
    copy = Path(told["file"])
    if copy.parent != home.gateway:
        raise Refused("backup_not_made", pid=live["pid"], url=live.get("url"), problem="it keeps its ledger in another home")
    take_over(copy, target, told["digest"])
    return told


async def _made(gateway: LocalGateway, client: HttpClient) -> dict:
    return await gateway.read(client, "backup", method="POST", timeout_s=BACKUP_S)


def restore_backup(home: Home, name: str) -> int:
    """Put the ledger of the file `name` in place of the home's, and say what that means."""
    told = asyncio.run(restore(home, Path(name).absolute(), SystemClock()))
    _say(f"Restored {home.ledger}", f"From     {name}, {told['digest']}", f"Rows     {told['rows']}, the last of {told['until']}")
    if told["kept"]:
        _say(f"Kept     {home.ledger.parent / told['kept']}, the ledger that stood there")
    _say(f"Keys     new ones for {counted(told['connections'], 'Connection')}; no Worker of before can act",
         *(f"         the profile {each} has been given its own" for each in told["profiles"]),
         "         a Worker elsewhere gets its key in the Console: Connections, new key")
    for label in told["calls"]:
        _say(f"Doubt    {label}: it may have run since the backup; a person settles it in the Console")
    _say(f"What was done after {told['until']} is not known to this ledger; tokens and sign-ins that were withdrawn since then count again.")
    return 0


def _say(*lines: str) -> None:
    for line in lines:
        print(plain(line))
