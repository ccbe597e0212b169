"""The Worker's door: settings to a running loop to an exit status.

Reads what this Worker may do (the Tool Manifest, the Source vault), says it on the
terminal, and serves one Connection until it is told to stop: over the line, or with
--dropbox over a folder. 0 normal stop, 2 configuration, 3 credential rejected, 1 anything
unforeseen.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path

from rulith import VERSION
from rulith.adapters.hands import Hands
from rulith.adapters.material import Shelf
from rulith.adapters.shared_vault import unread_members
from rulith.adapters.sources import Sources, read_vault
from rulith.base.clock import SystemClock, stamp
from rulith.base.errors import Refused
from rulith.base.ids import mint
from rulith.base.limits import SETTINGS_BYTES_MAX
from rulith.disk.atomic import read_bounded
from rulith.disk.mcp_services import Service, entries_of, joined, lent_of, read_services, whole_set
from rulith.disk.vault import Vault
from rulith.net.client import HttpClient
from rulith.procs.blank import blank_variables
from rulith.procs.child import emit, read_settings as settings_of_parent, watch_controls, watch_parent
from rulith.wire.manifest import Tool
from rulith.work.box_journal import Journal
from rulith.work import prober, reviewer
from rulith.work.core import Worker
from rulith.work.driver import Driver, Line, catch_signals, watch_stop
from rulith.work.keeping import Custodian, LocalReads
from rulith.work.dropbox import BoxWorker
from rulith.work.options import Options, read_options, with_box
from rulith.work.replies import flat, is_newer
from rulith.work.settings import Settings, read_settings

EXIT_CONFIGURATION = 2
LINE_CHARS_MAX = 2_000           # of one value on the terminal; peers' names are quoted there
CREDENTIALS = ("RULITH_CONNECTION_KEY", "RULITH_REVIEWER_KEY")


def _say(text: str) -> None:
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def _installed(settings: Settings, services: Mapping[str, Service]) -> dict[str, Tool]:
    """Every Tool of this Worker: the built-in ones, the Manifest's, the services'. Where none was named there need be none; a reviewer goes on without a bad one."""
    try:
        content = None
        if settings.tools_file.exists():
            content = read_bounded(settings.tools_file, SETTINGS_BYTES_MAX)
        elif settings.is_tools_file_named:
            raise Refused("tool_manifest_missing", file=settings.tools_file)
        return whole_set(settings.workspace_mode, content, str(settings.tools_file), services, materials=settings.materials is not None)
    except Refused as refused:
        if settings.reviewer is None:
            raise
        _say(f"{refused.teaching} This Worker reviews, and serves no Tool.")
        return {}


def _teller(settings: Settings):
    """Where events go: to the parent, to stdout as JSON lines when asked, and in words to stderr."""

    def tell(kind: str, facts: Mapping[str, object]) -> None:
        emit(kind, **facts)
        if settings.jsonl:
            sys.stdout.write(json.dumps({"type": kind, **facts}) + "\n")
            sys.stdout.flush()
        if kind == "error" and facts.get("what") == "credential":
            _say(_rejected(facts))
            return
        shown = " ".join(f"{name}={flat(str(value), LINE_CHARS_MAX)}" for name, value in facts.items() if value not in (None, ""))
        _say(f"worker {kind}: {shown}")

    return tell


def _rejected(facts: Mapping[str, object]) -> str:
    if facts.get("code") == "agent_not_found":
        lines = ["The gateway knows no Agent for this Connection any more; pair this Worker again."]
    else:
        lines = ["The gateway does not accept this Connection's credential; set its current key and start the Worker again."]
    if facts.get("detail"):
        lines.append(f"The gateway says: {facts['detail']!r}")
    wanted = facts.get("wanted")
    if isinstance(wanted, str) and is_newer(wanted, VERSION):
        lines.append(f"It asks for rulith.pyz {wanted}; this is {VERSION}.")
    return "\n".join(lines)


def _banner(settings: Settings, tools: Mapping[str, Tool], place: str) -> None:
    _say(f"rulith worker {VERSION} for Connection {settings.connection_id} at {place}")
    if not settings.tools_file.exists():
        _say(f"  no Tool Manifest at {settings.tools_file}: built-in Tools only")
    for tool in tools.values():
        _say(f"  {tool.kind:5} {tool.id}  [{', '.join(tool.source_types) or 'no Source'}]")


def _hands(settings: Settings, tools: Mapping[str, Tool], services: Mapping[str, Service], shelf: Shelf | None = None) -> Hands:
    executables = tuple(str(settings.root / tool.entry) for tool in tools.values() if tool.adapter == "run")
    return Hands(settings.territory(executables, lent_of(services, settings.services_file)), dict(os.environ), settings.run_timeout_s, shelf=shelf)


def _sources(settings: Settings, services: Mapping[str, Service]) -> Sources:
    """What this machine's vaults say. Members of the shared one that nobody reads are named, never shown."""
    found: list[dict[str, dict[str, object]]] = []
    for what, file in (("Source vault", settings.vault_file), ("environment vault", settings.shared_vault_file)):
        content = None if file is None else Vault(file).read()
        found.append(read_vault(content, what) if content else {})
    for name, entry in found[1].items():
        if unread := unread_members(entry):
            _say(f"worker: the environment vault's entry {name!r} holds {', '.join(unread)}, which is not used from there")
    return Sources(joined("Source", found[0], entries_of(services)), found[1])


async def _serve_box(settings: Settings, options: Options, tools: Mapping[str, Tool], services: Mapping[str, Service], sources: Sources) -> int:
    """The same Tools and checks over a folder; what was started is remembered in the home."""
    assert options.dropbox is not None
    hands = _hands(settings, tools, services)
    tell = _teller(settings)
    journal = Journal(settings.home.prepare().path / "worker" / settings.connection_id, settings.connection_id, lambda: mint("wkr_"))
    worker = BoxWorker(
        journal=journal, box=options.dropbox, key=settings.key, tools=tools, advertised=[tool.descriptor() for tool in tools.values()],
        sources=sources, compile=hands.compile, inspect=hands.inspect, clock=SystemClock(), tell=tell,
    )  # fmt: skip
    tell("up", {"workerId": journal.box.worker_id, "connection": settings.connection_id, "dropbox": str(options.dropbox)})
    watching = asyncio.ensure_future(watch_stop(worker, watch_parent()))
    catch_signals(worker)
    try:
        return await worker.run(once=options.once)
    finally:
        watching.cancel()
        await hands.close()
        journal.close()


async def _serve(settings: Settings, env: Mapping[str, str], tools: Mapping[str, Tool], services: Mapping[str, Service], sources: Sources) -> int:
    worker_id = mint("wkr_")
    tell = _teller(settings)
    clock = SystemClock()
    kept = settings.materials
    shelf = None if kept is None else Shelf(kept.root, kept.belongs, lambda: stamp(clock.wall_s()), kept.destination)
    hands = _hands(settings, tools, services, shelf)
    core = Worker(
        worker_id=worker_id, connection_id=settings.connection_id, key=settings.key, tools=tools,
        advertised=[tool.descriptor() for tool in tools.values()], sources=sources, compile=hands.compile,
        inspect=hands.inspect, keeps=shelf is not None, check_material=shelf and shelf.check_selected, reviewer=settings.reviewer,
    )  # fmt: skip
    client = HttpClient(clock, environ=env)
    who = (client, settings.work_url, settings.connection_id, settings.key, worker_id)
    custodian = None if shelf is None else Custodian(*who, shelf, identity=lambda: driver.generation(), tell=tell)
    driver = Driver(core, Line(*who), clock, tell, custodian)
    tell("up", {"workerId": worker_id, "connection": settings.connection_id, "tools": list(tools)})
    reads = LocalReads(custodian, emit)
    beside = [asyncio.ensure_future(watch_stop(driver, reads.sorted(watch_controls())))]
    if custodian is not None:
        beside.append(asyncio.ensure_future(custodian.serve()))
    catch_signals(driver)
    try:
        return await driver.run()
    finally:
        for task in (*beside, *reads.tasks):
            task.cancel()
        await client.close()
        await hands.close()


def main(argv: list[str]) -> int:
    """Serve until told to stop; the exit status."""
    if argv == [reviewer.ARGUMENT]:      # started by a Worker for one review; not for people
        return reviewer.main()
    try:
        options = read_options(argv)
        env = settings_of_parent()
        if env.args[:1] == (prober.ARGUMENT,):      # started by the workbench for one look at a server
            return prober.main(env, env.args[1])
        settings = with_box(read_settings(env, Path.cwd()), options)
        blank_variables(CREDENTIALS)
        services = read_services(settings.services_file)
        tools = _installed(settings, services)
        sources = _sources(settings, services)
        _banner(settings, tools, str(options.dropbox or settings.work_url))
        if options.dropbox is not None:
            return asyncio.run(_serve_box(settings, options, tools, services, sources))
    except Refused as refused:
        emit("availability", state="needs setup", code=refused.code, reason=refused.teaching)
        _say(refused.teaching)
        return EXIT_CONFIGURATION
    return asyncio.run(_serve(settings, env, tools, services, sources))
