"""A chat on the terminal: one line in, one turn, its text out.

The event loop runs in a thread of its own, so that connections and children stay looked
after while the person thinks; the terminal belongs to the main thread. Ctrl-C stops a
turn, not the program; at the prompt it asks for /quit. The end of input ends the chat.
"""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Callable, Coroutine
from typing import TypeVar

T = TypeVar("T")
QUIT_WORDS = ("/quit", "/exit")
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
        """Its result; Ctrl-C cancels it and waits for how it takes that."""
        future = asyncio.run_coroutine_threadsafe(_keep_result(coroutine), self._loop)
        while True:
            try:
                return future.result()
            except KeyboardInterrupt:
                self._loop.call_soon_threadsafe(_cancel_inner, self._loop)


class _Turn(asyncio.Task):
    """Marks the tasks that Ctrl-C may cancel."""


async def _keep_result(coroutine: Coroutine[object, object, T]) -> T:
    task = _Turn(coroutine, loop=asyncio.get_running_loop())
    return await task


def _cancel_inner(loop: asyncio.AbstractEventLoop) -> None:
    for task in asyncio.all_tasks(loop):
        if isinstance(task, _Turn):
            task.cancel()


def use_line_editing() -> None:
    """History and editing at the prompt, where the platform has them."""
    try:
        import readline  # noqa: F401  # importing it is what switches it on
    except ImportError:
        return


def chat(turn: Callable[[str], Coroutine[object, object, str]], thread: LoopThread, *,
         read: Callable[[str], str] = input, write: Callable[[str], None] = print) -> None:
    """Ask for lines and run one turn for each until the input ends.

    turn   what a line leads to; returns the text to show. Its exceptions pass through.
    """
    if sys.stdin is not None and sys.stdin.isatty():
        use_line_editing()
    write("Type what you want done; /quit or the end of input ends the chat.")
    while True:
        try:
            line = read("you> ").strip()
        except EOFError:
            write("")
            return
        except KeyboardInterrupt:
            write("\n/quit or Ctrl-D ends the chat.")
            continue
        if line in QUIT_WORDS:
            return
        if line:
            write(thread.ask(turn(line)))
