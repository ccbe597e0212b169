"""A chat on the terminal: one line in, one turn, its text out.

The event loop runs in a thread of its own, so that connections and children stay looked
after while the person thinks; the terminal belongs to the main thread. Ctrl-C stops a
turn, not the program; at the prompt it asks for /quit. The end of input ends the chat.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import os
import re
import sys
import threading
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import TypeVar

from rulith.base.limits import CHAT_HISTORY_LINES_MAX
from rulith.runtime.terminal import showable

try:
    import readline
except ImportError:                          # Windows: its console edits lines by itself
    readline = None  # type: ignore[assignment]

T = TypeVar("T")
QUIT_WORDS = ("/quit", "/exit")
HELP = """/quit, /exit   end the chat; a Case that is open stays as it is
/help          this list
Ctrl-C         stop the turn under way; the chat goes on
Ctrl-D         as /quit"""
_COMMAND = re.compile(r"/[a-z]+", re.ASCII)
CANCEL_GRACE_S = 30.0


class LoopThread:
    """An event loop in a thread, asked from the thread that owns the terminal."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="loop", daemon=True)

    def __enter__(self) -> LoopThread:
        self._thread.start()
        return self

    def __exit__(self, *problem: object) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def ask(self, coroutine: Coroutine[object, object, T]) -> T:
        """Its result; Ctrl-C cancels it and waits for how it takes that. Raises KeyboardInterrupt where that ended it without one."""
        future = asyncio.run_coroutine_threadsafe(_keep_result(coroutine), self._loop)
        while True:
            try:
                return future.result()
            except KeyboardInterrupt:
                self._loop.call_soon_threadsafe(_cancel_inner, self._loop)
            except concurrent.futures.CancelledError:
                raise KeyboardInterrupt from None
            except SystemExit:                   # SIGTERM: nobody waits for how the turn takes it
                self._loop.call_soon_threadsafe(_cancel_inner, self._loop)
                raise


class _Turn(asyncio.Task):
    """Marks the tasks that Ctrl-C may cancel."""


async def _keep_result(coroutine: Coroutine[object, object, T]) -> T:
    task = _Turn(coroutine, loop=asyncio.get_running_loop())
    return await task


def _cancel_inner(loop: asyncio.AbstractEventLoop) -> None:
    for task in asyncio.all_tasks(loop):
        if isinstance(task, _Turn):
            task.cancel()


class LineEditing:
    """Editing at the prompt, and the lines of earlier chats, where the platform has them.

    path   where typed lines are kept, for their user alone; None keeps them for this chat
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._began = 0

    def __enter__(self) -> LineEditing:
        if readline is None:
            return self
        readline.set_history_length(CHAT_HISTORY_LINES_MAX)
        if self._path is not None:
            try:
                readline.read_history_file(str(self._path))
            except OSError:
                pass                         # the first chat, or a file that cannot be read: it begins empty
        return self

    def __exit__(self, *problem: object) -> None:
        if readline is None or self._path is None:
            return
        try:
            os.close(os.open(self._path, os.O_WRONLY | os.O_CREAT, 0o600))
            readline.write_history_file(str(self._path))
        except OSError:
            pass                             # typed lines are a comfort, not a record


def chat(turn: Callable[[str], Coroutine[object, object, str]], thread: LoopThread, *, read: Callable[[str], str] = input,
         write: Callable[[str], None] = print, rest: Callable[[str], str] = str, history: Path | None = None) -> None:
    """Ask for lines and run one turn for each until the input ends.

    turn   what a line leads to; returns the text to show. Its exceptions pass through.
    rest   what of that text is not on the screen yet
    """
    if sys.stdin is not None and sys.stdin.isatty():
        with LineEditing(history):
            _chat(turn, thread, read, write, rest)
    else:
        _chat(turn, thread, read, write, rest)


def _chat(turn: Callable[[str], Coroutine[object, object, str]], thread: LoopThread, read: Callable[[str], str],
          write: Callable[[str], None], rest: Callable[[str], str]) -> None:
    write("Type what you want done; /help lists the commands, /quit or the end of input ends the chat.")
    interrupted = False
    while True:
        try:
            if interrupted:                      # said in here: pressed twice, it ends nothing either
                write("\n/quit or Ctrl-D ends the chat.")
                interrupted = False
            line = read("you> ").strip()
        except EOFError:
            write("")
            return
        except KeyboardInterrupt:
            interrupted = True
            continue
        if line in QUIT_WORDS:
            return
        if _COMMAND.fullmatch(line):
            write(HELP if line == "/help" else f"There is no command {line}; /help lists them.")
        elif line:
            try:
                left = rest(thread.ask(turn(line)))
            except KeyboardInterrupt:
                left = rest("! The turn was stopped.")
            if left:
                write(showable(left))
