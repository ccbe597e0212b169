"""The Boards behind one thread: tools are called here, whatever transport they came by.

Promises: a tool call is answered after its change is committed, in the order of asking;
reading the wire never waits for a Board, so a ping is answered while one computes; every
failure is an answer with an errorCode. Decides nothing about a tool: board_calls.py does.

Source  the design's rules on ledgers (D5); the published error contract.
"""

from __future__ import annotations

import asyncio
import sys
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from rulith import VERSION
from rulith.base.clock import Clock
from rulith.base.errors import Refused
from rulith.gateway import board_answers, board_calls, board_tools
from rulith.gateway.board_acts import ACTS
from rulith.gateway.board_store import BoardBroken, Boards
from rulith.gateway.board_tools import LOCALE
from rulith.rules.program import Limits
from rulith.store.ledger import Ledger
from rulith.wire.mcp_tools import Call, ToolsServer

SERVER_INFO = {"name": "rulith", "title": "rulith board", "version": VERSION}
CLOSE_S = 1.0       # how long the call at hand may still take once the client has gone


def tools_server() -> ToolsServer:
    """Who answers on the wire, and with which tools."""
    return ToolsServer(SERVER_INFO, board_tools.listing(), board_tools.INSTRUCTIONS,
                       {"rulith/board": {"locales": [LOCALE], "formats": list(board_tools.FORMATS)}})


class BoardHost:
    """Owns the thread that owns the Boards."""

    def __init__(self, clock: Clock, db: Path | None = None, limits: Limits = Limits()) -> None:
        self._clock = clock
        self._db = db
        self._limits = limits
        self._thread = ThreadPoolExecutor(1, "board")
        self._boards: Boards | None = None
        self._broken: Refused | None = None

    async def open(self) -> None:
        """Take the file; whoever holds it already is named. Folding it goes on behind the first calls.

        Raises Refused ledger_in_use, ledger_unreadable, ledger_newer, ledger_broken.
        """
        self._boards = await self._run(self._open)
        self._thread.submit(self._fold)

    def _open(self) -> Boards:
        ledger = None if self._db is None else Ledger.open(self._db, self._clock, check=False)
        return Boards(ledger, self._clock, ACTS, self._limits)

    def _fold(self) -> None:
        assert self._boards is not None
        try:
            self._boards.fold()
        except BoardBroken as broken:
            self._broken = broken.refusal
        except Refused as refusal:
            self._broken = refusal
        if self._broken is not None:
            print(self._broken.teaching, file=sys.stderr, flush=True)

    async def _run(self, act: Callable, *args: object):
        return await asyncio.get_running_loop().run_in_executor(self._thread, act, *args)

    async def call(self, call: Call) -> dict:
        """The result of one tool call; a refusal is a result too."""
        return await self._run(self._call, call)

    def _call(self, call: Call) -> dict:
        tool = board_tools.BY_NAME[call.name]
        assert self._boards is not None
        try:
            if call.refused is not None:
                raise call.refused
            if self._broken is not None:
                raise self._broken
            return board_calls.run(self._boards, tool, call.arguments)
        except Refused as refusal:
            return board_answers.refused(tool, refusal, call.arguments)
        except BoardBroken as broken:       # the file could not be written, and not be folded again either
            self._broken = broken.refusal
            return board_answers.refused(tool, broken.refusal, call.arguments)
        except Exception as bug:
            # One call's bug ends that call: the host keeps its other Boards, and the change was taken back.
            traceback.print_exception(type(bug), bug, bug.__traceback__, file=sys.stderr)
            return board_answers.failed(tool)

    async def close(self) -> bool:
        """Wait a moment for the call at hand, then let the file go; False where it takes longer."""
        if self._boards is None:
            self._thread.shutdown(wait=False)
            return True
        closing = asyncio.ensure_future(self._run(self._boards.close))
        done, _ = await asyncio.wait({closing}, timeout=CLOSE_S)
        self._thread.shutdown(wait=False, cancel_futures=True)
        return bool(done)
