"""The door of `rulith board`: the reasoning board for any MCP host, over stdio or loopback HTTP.

    rulith board [--db FILE] [--http PORT]     serve; over stdio the end of stdin is the end
    rulith board run FILE... [--json]          run program files and print what comes of them

Exit  serving: 0 the client left, 1 refused, 2 wrong words, 130 SIGINT, 143 SIGTERM;
      run: 0 as expected, or nothing was, 1 otherwise, 2 a bad file or wrong words.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rulith.base.clock import SystemClock
from rulith.base.errors import Refused
from rulith.gateway import board_programs
from rulith.gateway.board_http import HOST, PATH, BoardHttp
from rulith.gateway.board_server import BoardHost
from rulith.gateway.board_stdio import serve_stdio
from rulith.net.stdio import Stdio, until_ended
from rulith.rules.program import Limits

EXIT_OK, EXIT_ERROR, EXIT_USAGE = 0, 1, 2
DB_VARIABLES = ("RULITH_DB", "RULITH_CORE_DB")      # where no --db is given
#  environment variable -> the limit it sets, for this server only
LIMIT_VARIABLES = {
    "RULITH_MAX_FACTS": "facts", "RULITH_MAX_DERIVED_FACTS": "derived", "RULITH_MAX_RULES": "rules", "RULITH_MAX_RULE_BODY": "body",
    "RULITH_MAX_JOIN_BINDINGS": "bindings", "RULITH_MAX_CLOSURE_ITERATIONS": "rounds", "RULITH_MAX_CLOSURE_STEPS": "steps",
}
LIMIT_MOST = 10**9


@dataclass(frozen=True)
class Options:
    files: tuple[str, ...] | None = None     # None: serve
    db: str | None = None
    port: int | None = None
    as_json: bool = False


def read_options(argv: Sequence[str]) -> Options:
    """Raises Refused: option_unknown, option_value, option_usage."""
    words, plain_words, db, port, as_json = list(argv), [], None, None, False
    while words:
        name, joined, value = words.pop(0).partition("=")
        if name == "--json" and not joined:
            as_json = True
        elif name in ("--db", "--http"):
            if not joined:
                if not words:
                    raise Refused("option_value", verb="board", option=name)
                value = words.pop(0)
            if name == "--db":
                db = value
            elif value.isascii() and value.isdigit() and int(value) <= 65_535:
                port = int(value)
            else:
                raise Refused("option_usage", verb="board", problem=f"--http takes a port from 0 to 65535, not {value[:40]!r}")
        elif name.startswith("-") and len(name) > 1:
            raise Refused("option_unknown", verb="board", option=name[:60])
        else:
            plain_words.append(name + joined + value)
    if not plain_words:
        if as_json:
            raise Refused("option_usage", verb="board", problem="--json belongs to `run`")
        return Options(None, db, port)
    if plain_words[0] != "run" or len(plain_words) < 2:
        raise Refused("option_usage", verb="board", problem="it serves, or it takes `run` and at least one FILE")
    if db is not None or port is not None:
        raise Refused("option_usage", verb="board", problem="`run` keeps nothing and serves nobody; it has no --db and no --http")
    return Options(tuple(plain_words[1:]), None, None, as_json)


def read_limits(environ: Mapping[str, str]) -> Limits:
    """The limits in force. Raises Refused limit_malformed."""
    given = {}
    for variable, name in LIMIT_VARIABLES.items():
        value = environ.get(variable)
        if value is None or value == "":
            continue
        if not value.isascii() or not value.isdigit() or not 1 <= int(value[:12]) <= LIMIT_MOST or len(value) > 10:
            raise Refused("limit_malformed", name=variable, value=value[:40], most=LIMIT_MOST)
        given[name] = int(value)
    return replace(Limits(), **given)


def main(argv: Sequence[str]) -> int:
    try:
        options = read_options(argv)
        limits = read_limits(os.environ)
    except Refused as refusal:
        sys.stderr.write(refusal.teaching + "\n")
        return EXIT_USAGE
    if options.files is not None:
        return board_programs.run_files(options.files, limits, as_json=options.as_json)
    if options.port is None and sys.stdin is not None and sys.stdin.isatty():
        sys.stderr.write("This speaks MCP on stdin and stdout, for a host that starts it (docs/board-hosts.md); --http PORT serves HTTP.\n")
    db = options.db or next((os.environ[name] for name in DB_VARIABLES if os.environ.get(name)), None)
    try:
        status, is_closed = asyncio.run(_serve(BoardHost(SystemClock(), Path(db) if db else None, limits), options.port))
    except Refused as refusal:
        sys.stderr.write(refusal.teaching + "\n")
        return EXIT_ERROR
    if not is_closed:
        # A call is still computing and nobody waits for it; what was committed is safe.
        sys.stderr.flush()
        os._exit(status)
    return status


async def _serve(host: BoardHost, port: int | None) -> tuple[int, bool]:
    """(exit status, whether the Boards were closed in time)."""
    try:
        await host.open()
        stdio = Stdio() if port is None else None
        status = await until_ended(asyncio.ensure_future(_serve_http(host, port) if stdio is None else serve_stdio(host, stdio)))
    except BaseException:
        await host.close()
        raise
    is_closed = await host.close()
    if stdio is not None:
        await stdio.flush()         # the call at hand may have been answered just now
    return status, is_closed


async def _serve_http(host: BoardHost, port: int) -> None:
    board = BoardHttp(host)
    server = await board.listen(port)
    print(f"Board: http://{HOST}:{server.port}{PATH}", flush=True)
    try:
        await asyncio.get_running_loop().create_future()
    finally:
        board.end_streams()
        await server.close(drain_s=0.5)
