"""The door of the council: settings and options in, one listening council or a copy of its file, exit status out.

Reads its settings like every role, mints the key of this run, writes run/council.json once
it answers, tells its parent, and ends cleanly on a stop, on the parent's death and on
SIGTERM or SIGINT.

Exit  0 stopped, 1 refused, 2 wrong options, 4 the council's file is damaged or newer, 130 SIGINT, 143 SIGTERM.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import traceback
from collections.abc import Sequence

from rulith.base.clock import SystemClock
from rulith.base.errors import Refused
from rulith.base.ids import mint_token
from rulith.commands.council_copies import keep_backup, restore_backup
from rulith.disk.home import Home, find_home
from rulith.disk.runfile import remove_runfile, write_runfile
from rulith.forum.decisions import HomeGateway, Observer
from rulith.forum.service import PORTS, Council, open_council
from rulith.forum.staying import watcher_argv
from rulith.procs.child import Settings, emit, expect_end, read_settings

EXIT_REFUSED, EXIT_USAGE, EXIT_FILE = 1, 2, 4
FILE_LOST = ("council_damaged", "council_newer", "store_corrupt")


class _Parser(argparse.ArgumentParser):
    def error(self, message: str):
        raise Refused("option_usage", verb="council", problem=message)


def _options(argv: Sequence[str]) -> argparse.Namespace:
    """Raises Refused option_usage."""
    parser = _Parser(prog="rulith council", add_help=False, allow_abbrev=False)
    parser.add_argument("word", choices=("serve", "backup", "restore"))
    parser.add_argument("file", nargs="?")
    parser.add_argument("--home")
    parser.add_argument("--port", type=int)
    options = parser.parse_args(argv)
    if options.port is not None and not 0 <= options.port <= 65_535:
        raise Refused("option_usage", verb="council", problem=f"{options.port} is no port")
    if (options.word == "serve") != (options.file is None) or (options.port is not None and options.word != "serve"):
        raise Refused("option_usage", verb="council", problem="it is `serve`, with --port or without, or `backup FILE`, or `restore FILE`")
    return options


def main(argv: Sequence[str]) -> int:
    settings = read_settings()
    try:
        options = _options([*argv, *settings.args])
        home = find_home(options.home, settings)
        if options.word != "serve":
            return (keep_backup if options.word == "backup" else restore_backup)(home, options.file)
        return asyncio.run(_serve(home, PORTS if options.port is None else (options.port,), settings))
    except Refused as refusal:
        emit("error", code=refusal.code, teaching=refusal.teaching)
        print(refusal.teaching, file=sys.stderr)
        return EXIT_USAGE if refusal.code == "option_usage" else EXIT_FILE if refusal.code in FILE_LOST else EXIT_REFUSED


async def _serve(home: Home, ports: tuple[int, ...], settings: Settings) -> int:
    council = open_council(home, SystemClock(), mint_token("rvp_"), watcher=watcher_argv())
    ended = expect_end()
    try:
        url = await council.listen(ports)
        write_runfile(home.council_json, url=url, port=council.port, key=council.key)
        emit("listening", url=url, port=council.port)
        observing = asyncio.ensure_future(_observe(council, home))
        if not settings.attached:
            print(f"Council: {url}\nThe key of its person's API: {home.council_json}", flush=True)
        try:
            return await ended
        finally:
            observing.cancel()
            await asyncio.gather(observing, return_exceptions=True)
    finally:
        remove_runfile(home.council_json)
        await council.close()


async def _observe(council: Council, home: Home) -> None:
    """Watch for operations that wait for a person. A bug in it is loud and ends it alone."""
    gateway = HomeGateway(home)
    try:
        await Observer(council.forum, gateway, lambda words: print(words, file=sys.stderr, flush=True)).run()
    except Exception as bug:
        traceback.print_exception(type(bug), bug, bug.__traceback__, file=sys.stderr)
    finally:
        await gateway.close()
