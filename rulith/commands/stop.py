"""`rulith stop`: end what this home started, and nothing else.

A process counts only while its stamp proves that it is the one that was written down. The
workbench is asked first and ends its own children; what is left of them is asked next.

Exit  0 everything has ended (or nothing ran), 1 something still runs, 2 wrong options.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Mapping, Sequence

from rulith.base.clock import SystemClock
from rulith.base.errors import Refused
from rulith.disk.atomic import read_json
from rulith.disk.home import Home, find_home
from rulith.disk.runfile import read_live
from rulith.procs.identity import is_proven_gone

WAIT_S = 30.0                # a Worker may finish a Tool first
POLL_S = 0.05
EXIT_LEFT, EXIT_USAGE = 1, 2
Process = Mapping[str, object]


def read_home(argv: Sequence[str]) -> str | None:
    """The `--home` of the command line. Raises Refused: option_unknown, option_value."""
    words = list(argv)
    home: str | None = None
    while words:
        name, joined, value = words.pop(0).partition("=")
        if name != "--home":
            raise Refused("option_unknown", verb="stop", option=name[:60])
        if not joined and not words:
            raise Refused("option_value", verb="stop", option=name)
        home = value if joined else words.pop(0)
    return home


def main(argv: Sequence[str]) -> int:
    try:
        option = read_home(argv)
    except Refused as refusal:
        sys.stderr.write(refusal.teaching + "\n")
        return EXIT_USAGE
    home = find_home(option, os.environ)
    groups = running(home)
    if not any(groups):
        print(Refused("nothing_running", home=home.path).happened)
        return 0
    for group in groups:
        left = end(group)
        if left:
            names = ", ".join(f"{row.get('role')} (process {row['pid']})" for row in left)
            sys.stderr.write(Refused("stop_unfinished", seconds=int(WAIT_S), left=names).teaching + "\n")
            return EXIT_LEFT
    print(f"Ended everything that the home {home.path} had started.")
    return 0


def running(home: Home) -> list[list[Process]]:
    """What runs, in the order in which it is asked: the workbench, its Agents and Workers and the council, the gateway."""
    bench = read_live(home.run / "workbench.json")
    record = bench or _left_behind(home)
    children = [row for row in (record or {}).get("children", []) if isinstance(row, dict) and is_ours(row)]
    gateways = [row for row in children if row.get("role") == "gateway"]
    for alone in (read_live(home.gateway_json), read_live(home.gateway_starting_json)):
        if alone is not None and all(row["pid"] != alone["pid"] for row in gateways):
            gateways.append({**alone, "role": "gateway"})
    council = read_live(home.council_json)
    if council is not None and all(row["pid"] != council["pid"] for row in children):
        children.append({**council, "role": "council"})
    return [[{**bench, "role": "workbench"}] if bench else [],
            [row for row in children if row.get("role") != "gateway"], gateways]


def _left_behind(home: Home) -> dict | None:
    """What a workbench that is gone had written down of its children."""
    try:
        record = read_json(home.run / "workbench.json")
    except Refused:
        return None
    return record if isinstance(record, dict) else None


def is_ours(row: Process) -> bool:
    """Whether the process written down in `row` still runs."""
    return isinstance(row.get("pid"), int) and not is_proven_gone(row["pid"], dict(row))


def end(group: list[Process]) -> list[Process]:
    """Ask each to end and wait; what still runs after that."""
    for row in group:
        if is_ours(row):
            try:
                os.kill(row["pid"], signal.SIGTERM)
            except ProcessLookupError:
                pass                                   # it ended just now
    clock, pause = SystemClock(), threading.Event()
    deadline = clock.monotonic_s() + WAIT_S
    left = [row for row in group if is_ours(row)]
    while left and clock.monotonic_s() < deadline:
        pause.wait(POLL_S)
        left = [row for row in left if is_ours(row)]
    return left
