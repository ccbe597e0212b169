"""The door of `rulith bridge`: the council for a host that starts programs and speaks MCP over stdio.

    rulith bridge        RIVENDELL_URL and RIVENDELL_KEY say where, and as whom

Exit  0 the host left, 2 wrong words or settings, 130 SIGINT, 143 SIGTERM.
"""

from __future__ import annotations

import asyncio
import os
import re
import sys
from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

from rulith.base.errors import Refused
from rulith.base.limits import BRIDGE_DRAIN_S
from rulith.forum.bridge import Bridge
from rulith.net.client import HttpClient
from rulith.net.proxies import is_loopback
from rulith.net.stdio import Stdio, until_ended
from rulith.procs.blank import blank_variables

EXIT_USAGE = 2
URL, KEY = "RIVENDELL_URL", "RIVENDELL_KEY"
_KEY = re.compile(r"[!-~]{1,200}", re.ASCII)


def read_settings(argv: Sequence[str], environ: Mapping[str, str]) -> tuple[str, str]:
    """(address, key). Raises Refused: option_usage, bridge_setting."""
    if argv:
        raise Refused("option_usage", verb="bridge", problem=f"it takes no words; {URL} and {KEY} say where and as whom")
    url, key = environ.get(URL, "").strip(), environ.get(KEY, "").strip()
    for name, value in ((URL, url), (KEY, key)):
        if not value:
            raise Refused("bridge_setting", name=name, problem="it is not set")
    if not _KEY.fullmatch(key):
        raise Refused("bridge_setting", name=KEY, problem="it holds what no key has, such as a blank")
    try:
        parts = urlsplit(url)
        is_address = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.username is None and not parts.query and not parts.fragment and parts.port != 0
    except ValueError:
        is_address = False
    if not is_address:
        raise Refused("bridge_setting", name=URL, problem="it is no plain http or https address")
    if parts.scheme == "http" and not is_loopback(parts.hostname or ""):
        raise Refused("bridge_setting", name=URL, problem="the key would leave this machine in plain text; use https")
    return url, key


def main(argv: Sequence[str]) -> int:
    try:
        url, key = read_settings(argv, os.environ)
    except Refused as refusal:
        sys.stderr.write(refusal.teaching + "\n")
        return EXIT_USAGE
    blank_variables([KEY])
    return asyncio.run(_serve(url, key))


async def _serve(url: str, key: str) -> int:
    stdio, client = Stdio(), HttpClient()
    bridge = Bridge(client, url, key, write=stdio.write, say=_say)
    try:
        return await until_ended(asyncio.ensure_future(_talk(bridge, stdio)))
    finally:
        await bridge.close()
        await stdio.flush()
        await client.close()


async def _talk(bridge: Bridge, stdio: Stdio) -> None:
    """Carry what the host says, until it has left."""
    async def read() -> None:
        async for data in stdio.pieces():
            bridge.receive(data)
        bridge.finish()
        await bridge.wait_answered(BRIDGE_DRAIN_S)

    bridge.start()
    ends = [asyncio.ensure_future(read()), asyncio.ensure_future(bridge.host_left.wait())]
    try:
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for each in ends:
            each.cancel()
        await asyncio.wait(ends)


def _say(words: str) -> None:
    try:
        sys.stderr.write(f"rulith bridge: {words}\n")
        sys.stderr.flush()
    except OSError:
        pass                            # nobody looks
