"""The door of the workbench: options in, one loopback page out, every child ended at the end.

Prepares the home, holds its workbench lock, copies the running file, serves the page, starts
the roles. Deciding happens below; nothing here knows a route.

Exit  0 ended by SIGINT, SIGTERM or `rulith stop`; 1 refused; 2 wrong options, no file touched.
"""

from __future__ import annotations

import asyncio
import functools
import html
import os
import signal
import sys
import webbrowser
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rulith.base.clock import SystemClock
from rulith.base.errors import Refused
from rulith.base.ids import mint, mint_token
from rulith.disk.archive import kept_archive
from rulith.disk.atomic import write_whole
from rulith.disk.home import Home, find_home
from rulith.disk.locks import HeldLock, take_lock
from rulith.disk.runfile import read_live, remove_runfile
from rulith.net.server import Server, serve
from rulith.procs.archive import interpreter
from rulith.procs.roles import RoleProcess
from rulith.workbench.account_calls import gateway_origin
from rulith.workbench.api import Api
from rulith.workbench.bench import Workbench
from rulith.workbench.gate import Gate
from rulith.workbench.pages import Pages
from rulith.workbench.roles import Child, Event

HOST = "127.0.0.1"
DEFAULT_PORT = 7780
PORTS_TRIED = 20             # the next free ones; after them any free one
EXIT_REFUSED, EXIT_USAGE = 1, 2


@dataclass(frozen=True)
class Options:
    home: str | None = None
    port: int | None = None
    gateway: str = ""
    insecure: bool = False
    browser: bool = True


def read_options(argv: Sequence[str], environ: Mapping[str, str]) -> Options:
    """The options of the command line over the environment's. Raises Refused: option_unknown, option_value, port_not_a_number, gateway_address, gateway_plain_http."""
    given: dict[str, object] = {}
    words = list(argv)
    while words:
        name, joined, value = words.pop(0).partition("=")
        if name == "--no-browser" and not joined:
            given["browser"] = False
        elif name == "--insecure-http" and not joined:
            given["insecure"] = True
        elif name in ("--home", "--port", "--gateway"):
            if not joined:
                if not words or words[0].startswith("--"):
                    raise Refused("option_value", verb="start", option=name)
                value = words.pop(0)
            given[name[2:]] = _port("--port", value) if name == "--port" else value
        else:
            raise Refused("option_unknown", verb="start", option=name[:60])
    if "port" not in given and environ.get("RULITH_MANAGER_PORT"):
        given["port"] = _port("RULITH_MANAGER_PORT", environ["RULITH_MANAGER_PORT"])
    if "gateway" in given:
        given["gateway"] = gateway_origin(str(given["gateway"]), insecure=bool(given.get("insecure")))
    return Options(**given)  # type: ignore[arg-type]


def _port(where: str, text: str) -> int:
    if not (text.isascii() and text.isdigit() and 1 <= int(text) <= 65_535):
        raise Refused("port_not_a_number", where=where, value=text[:40])
    return int(text)


def main(argv: Sequence[str]) -> int:
    environ = os.environ
    try:
        options = read_options(argv, environ)
        gate = Gate(environ.get("RULITH_MANAGER_KEY") or mint(""), mint_token, SystemClock())
    except Refused as refusal:
        sys.stderr.write(refusal.teaching + "\n")
        return EXIT_USAGE
    try:
        interpreter()                    # without one no role starts; better said here than on the page
        home = find_home(options.home, environ).prepare()
        with _only_workbench(home):
            return asyncio.run(_run(home, options, gate, environ))
    except Refused as refusal:
        sys.stderr.write(refusal.teaching + "\n")
        return EXIT_REFUSED


def _only_workbench(home: Home) -> HeldLock:
    """This home's workbench lock. Raises Refused workbench_running, or what the lock itself says."""
    try:
        return take_lock(home.workbench / "workbench.lock", "workbench")
    except Refused as refusal:
        if refusal.code != "lock_held":
            raise
        live = read_live(home.run / "workbench.json") or {}
        where = f", at {live['url']}" if live.get("url") else ""
        raise Refused("workbench_running", home=home.path, pid=refusal.facts["pid"], where=where) from None


async def _listen(api: Api, port: int | None) -> Server:
    """The asked-for port or none; else the default one, those after it, any free one. Raises Refused port_in_use."""
    candidates = [port] if port is not None else [*range(DEFAULT_PORT, DEFAULT_PORT + PORTS_TRIED), 0]
    for candidate in candidates:
        try:
            return await serve(api.handle, HOST, candidate, head_check=api.head_check)
        except Refused as refusal:
            if refusal.code != "port_in_use" or candidate == candidates[-1]:
                raise
    raise AssertionError("port 0 is always tried last")


def _spawner(archive: Path | None):
    async def spawn(role: str, *, env: Mapping[str, str], args: list[str], log_path: Path,
                    on_event: Callable[[Event], None]) -> Child:
        return await RoleProcess.spawn(role, env=env, args=args, archive=archive, log_path=log_path, on_event=on_event)
    return spawn


async def _run(home: Home, options: Options, gate: Gate, environ: Mapping[str, str]) -> int:
    ended = asyncio.Event()
    _on_signals(ended)
    bench = Workbench(home, SystemClock(), _spawner(kept_archive(home)), environ=environ, gateway=options.gateway)
    server = await _listen(Api(bench, gate, Pages()), options.port)
    gate.listen_on(server.port)
    origin = f"http://{HOST}:{server.port}"
    redirect: Path | None = None
    try:
        bench.begin(origin)
        address = f"{origin}/?k={gate.key}"
        print(f"Rulith\nWorkbench: {address}\nHome: {home.path}", flush=True)
        if options.browser and _has_display(environ):
            redirect = _redirect_file(home, f"{origin}/?t={gate.ticket()}")
            asyncio.get_running_loop().run_in_executor(None, functools.partial(webbrowser.open, redirect.as_uri()))
        await ended.wait()
        print("Ending what was started here.", file=sys.stderr, flush=True)
    finally:
        await bench.close()
        await server.close(drain_s=1.0)
        if redirect is not None:
            redirect.unlink(missing_ok=True)
        remove_runfile(home.run / "workbench.json")
    return 0


def _on_signals(ended: asyncio.Event) -> None:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        try:
            loop.add_signal_handler(number, ended.set)
        except NotImplementedError:                 # Windows: handlers run between turns of the loop
            signal.signal(number, lambda *_: loop.call_soon_threadsafe(ended.set))


def _has_display(environ: Mapping[str, str]) -> bool:
    """Whether a browser could show itself: without a display, a text browser would take the terminal."""
    if sys.platform in ("win32", "darwin"):
        return True
    return bool(environ.get("DISPLAY") or environ.get("WAYLAND_DISPLAY"))


def _redirect_file(home: Home, address: str) -> Path:
    """A 0600 page that leads to `address`, so that no key stands in a browser's command line."""
    path = home.run / f"open-{mint('', 16)}.html"
    target = html.escape(address, quote=True)
    text = (f'<!doctype html><meta charset="utf-8"><title>Rulith</title><meta http-equiv="refresh" content="0;url={target}">'
            f'<p><a href="{target}">Open the workbench</a>. This address works once.</p>')
    write_whole(path, text.encode())
    return path
