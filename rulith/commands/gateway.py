"""The door of the gateway: settings and options in, one listening authority, exit status out.

Reads its settings like every role (from the parent's first line, or the environment),
writes run/gateway.json once it answers, tells its parent, and ends cleanly on a stop, on
the parent's death and on SIGTERM or SIGINT.

`backup FILE` and `restore FILE` are in gateway_copies.py.

Exit  0 stopped, 1 refused, 2 wrong options, 4 the ledger is lost or damaged, 130 SIGINT, 143 SIGTERM.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import re
import sys
from collections.abc import Mapping, Sequence

from rulith.base.clock import SystemClock
from rulith.base.errors import Refused
from rulith.commands.gateway_address import Addresses, listen, read_addresses
from rulith.commands.gateway_copies import keep_backup, restore_backup
from rulith.disk.home import Home, find_home
from rulith.disk.ledger_place import named_home
from rulith.disk.runfile import read_live, remove_runfile, write_runfile
from rulith.gateway.service import Gateway, open_gateway
from rulith.procs.child import Settings, emit, expect_end, read_settings

EXIT_REFUSED, EXIT_USAGE, EXIT_LEDGER = 1, 2, 4
WRONG_OPTIONS = ("store_scheme", "listen_malformed", "listen_needs_tls", "tls_pair_needed", "option_usage", "dropbox_connection")
LEDGER_LOST = ("ledger_damaged", "ledger_missing", "ledger_unfoldable", "backup_unusable")
CONNECTION_ID = re.compile(r"[A-Za-z0-9_-]{1,128}", re.ASCII)
KEEPING = {"backup": keep_backup, "restore": restore_backup}
# A gateway holds much and makes few cycles: looking for them more rarely halves the longest waits.
COLLECTOR = (20_000, 20, 50)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str):
        self.exit(EXIT_USAGE, f"{message}. `rulith gateway --help` names the options.\n")


def _options(argv: Sequence[str]) -> argparse.Namespace:
    parser = _Parser(prog="rulith gateway", add_help=False, allow_abbrev=False)
    parser.add_argument("--home")
    parser.add_argument("--listen")
    for name in ("--store", "--tls-cert", "--tls-key"):
        parser.add_argument(name)
    parser.add_argument("--dropbox", action="append", default=[])
    parser.add_argument("words", nargs="*")
    return parser.parse_args(argv)


def _check_words(options: argparse.Namespace) -> None:
    if options.words and (len(options.words) != 2 or options.words[0] not in KEEPING):
        problem = f"{options.words[0][:40]!r} is not {' FILE or '.join(KEEPING)} FILE"
        raise Refused("option_usage", verb="gateway", problem=problem)


def main(argv: Sequence[str]) -> int:
    settings = read_settings()
    options = _options([*argv, *settings.args])
    try:
        _check_words(options)
        addresses = read_addresses(options.listen, options.tls_cert, options.tls_key)
        home = find_home(options.home, settings)
        home = home if options.store is None else named_home(home, options.store)
        if options.words:
            return KEEPING[options.words[0]](home, options.words[1])
        return asyncio.run(_run(home, addresses, settings, _boxes(options.dropbox)))
    except Refused as refusal:
        emit("error", code=refusal.code, teaching=refusal.teaching)
        print(refusal.teaching, file=sys.stderr)
        return EXIT_USAGE if refusal.code in WRONG_OPTIONS else EXIT_LEDGER if refusal.code in LEDGER_LOST else EXIT_REFUSED


def _boxes(words: Sequence[str]) -> dict[str, str]:
    """Folders by Connection id, of `CONNECTION=DIR`; of `DIR` alone under the name \"\"."""
    found = {}
    for word in words:
        name, equals, folder = word.partition("=")
        named = bool(equals) and CONNECTION_ID.fullmatch(name) is not None
        found[name if named else ""] = folder if named else word
    return found


async def _run(home: Home, addresses: Addresses, settings: Settings, boxes: Mapping[str, str] | None = None) -> int:
    running = read_live(home.gateway_json)
    if running is not None:
        raise Refused("gateway_running", home=home.path, pid=running["pid"], url=running.get("url", "unknown address"))
    gc.set_threshold(*COLLECTOR)
    home.prepare()
    write_runfile(home.gateway_starting_json)
    try:
        gateway = open_gateway(home, SystemClock(), settings, boxes)
    except BaseException:
        remove_runfile(home.gateway_starting_json)
        raise
    ended = expect_end()
    try:
        server, url, elsewhere = await listen(gateway, addresses)
        write_runfile(home.gateway_json, url=url, port=server.port)
        remove_runfile(home.gateway_starting_json)
        _announce(gateway, url, server.port, elsewhere, settings)
        return await ended
    finally:
        remove_runfile(home.gateway_starting_json)
        remove_runfile(home.gateway_json)
        await gateway.close()


def _announce(gateway: Gateway, url: str, port: int, elsewhere: str, settings: Settings) -> None:
    if gateway.genesis:
        emit("genesis")
    emit("listening", url=url, port=port)
    code = gateway.setup_code
    if code is not None:
        emit("setup-code", code=code)
    if not settings.attached:
        print(f"Gateway: {url}\nConsole: {url}/console/")
        if elsewhere:
            print(f"Over TLS: {elsewhere}")
        if code is not None:
            print(f"Setup code for the approval passphrase: {code}")
        sys.stdout.flush()
