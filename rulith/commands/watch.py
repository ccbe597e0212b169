"""The door of `rulith watch`: waits for the council without a model, and starts a command when it calls.

    rulith watch [flags] [-- COMMAND...]     without a command it prints what happened and ends

Exit  0 done or stopped by its parent, 1 refused, 2 wrong options or no key, 3 too many starts in an hour, 4 the council does not know the key,
      130 SIGINT, 143 SIGTERM.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Sequence

from rulith.base.clock import SystemClock
from rulith.base.errors import Refused
from rulith.procs.blank import blank_variables
from rulith.procs.child import Settings, emit, end_with_parent, expect_end, read_settings
from rulith.procs.warden import WORD, keep_one
from rulith.watching.core import EXIT_DONE, EXIT_KEY
from rulith.watching.settings import CAPABILITIES, WatchSettings
from rulith.watching.settings import read_settings as read_flags
from rulith.watching.watcher import EXIT_REFUSED, Watcher, complain, print_line, state_line

EXIT_USAGE = 2
USAGE = ("option_unknown", "option_value", "option_usage", "watch_key_missing", "watch_key_form", "watch_url")
SECRETS = ("RIVENDELL_KEY", "RIVENDELL_RUN_KEY")


def main(argv: Sequence[str]) -> int:
    if list(argv) == [WORD]:
        return keep_one()
    settings = read_settings()
    if settings.attached:
        end_with_parent()
    blank_variables(SECRETS)
    try:
        flags = read_flags([*argv, *settings.args], settings)
        if flags is None:
            print_line(json.dumps({name: True for name in CAPABILITIES}, separators=(",", ":")))
            return EXIT_DONE
        return asyncio.run(_watch(flags, settings))
    except Refused as refusal:
        emit("error", code=refusal.code, teaching=refusal.teaching)
        print(refusal.teaching, file=sys.stderr)
        return EXIT_USAGE if refusal.code in USAGE else EXIT_KEY if refusal.code == "watch_key_refused" else EXIT_REFUSED


async def _watch(flags: WatchSettings, settings: Settings) -> int:
    clock = SystemClock()

    def report(state: str, **facts: object) -> None:
        emit("watch", state=state, **facts)
        if flags.report and not settings.attached:
            print_line(state_line(state, clock.wall_s(), **facts))

    watcher = Watcher(flags, settings, clock, report=report, say=complain, tell=print_line)
    return await watcher.watch(expect_end())
