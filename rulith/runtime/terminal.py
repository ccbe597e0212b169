"""The terminal of a run: what stays in the scroll, the one line that does not, and the model's words as they come.

News goes to stderr, words to stdout; where either is no terminal nothing is rewritten and
nothing comes twice. Text from elsewhere cannot move the cursor.

Units   *_s seconds
"""

from __future__ import annotations

import asyncio
import shutil
import threading
from collections.abc import Callable
from typing import TextIO

from rulith.base.clock import Clock
from rulith.base.plain_text import plain
from rulith.runtime.events import TerminalLines
from rulith.runtime.surface import flat

TICK_S = 1.0


def showable(text: str) -> str:
    """Text for a terminal: line by line, with every other control shown as its escape."""
    return "\n".join(plain(line.replace("\t", "    ")) for line in text.split("\n"))


class ProgressLine:
    """One line on `out` that is written over: what is waited for, and for how long by now."""

    def __init__(self, out: TextIO, clock: Clock, width: Callable[[], int] = lambda: shutil.get_terminal_size().columns) -> None:
        self._out = out
        self._clock = clock
        self._width = width
        self._words = ""
        self._since_s = 0.0
        self._shown = 0                      # columns to be wiped
        self._timer: asyncio.TimerHandle | None = None

    def show(self, words: str) -> None:
        """Wait for `words` from now on; empty for nothing."""
        self.clear()
        self._words, self._since_s = words, self._clock.monotonic_s()
        if words:
            self._tick()

    def clear(self) -> None:
        """Give the line back before anything else is written."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._shown:
            self._out.write("\r" + " " * self._shown + "\r")
            self._out.flush()
            self._shown = 0

    def again(self) -> None:
        """Show it anew after other lines."""
        if self._words and not self._shown:
            self._tick()

    def _tick(self) -> None:
        waited_s = int(self._clock.monotonic_s() - self._since_s)
        line = f"  … {self._words}" + (f" · {waited_s} s" if waited_s else "")
        line = line[:max(self._width() - 1, 10)]
        self._out.write("\r" + line.ljust(self._shown))
        self._out.flush()
        self._shown = max(len(line), self._shown)
        try:
            self._timer = asyncio.get_running_loop().call_later(TICK_S, self._tick)
        except RuntimeError:
            self._timer = None               # told from outside a loop: it stands as it is


class TerminalView:
    """The sink of a run on a terminal.

    news      lines about what happens; None for a quiet run
    progress  the line that is written over; None where stderr is no terminal
    words     where the model's text goes as it comes; None to show it whole at the end
    """

    def __init__(self, news: Callable[[str], None] | None, progress: ProgressLine | None, words: TextIO | None) -> None:
        self._lines = TerminalLines(self._line)
        self._news = news
        self._progress = progress
        self._words = words
        self._streamed = ""                  # the text of the reply that is coming, as far as it was shown
        self._lock = threading.Lock()

    def __call__(self, type_: str, **fields: object) -> None:
        with self._lock:
            if type_ == "model-delta":
                self._delta(str(fields.get("text", "")))
                return
            if type_ == "round":
                self._end_words()
            if type_ != "propose" or not self._streamed:     # else its words stand there already
                self._lines(type_, **fields)
            if self._progress is not None:
                waiting = _waiting_for(type_, fields)
                if waiting is not None:
                    self._progress.show(waiting)
                else:
                    self._progress.again()

    def log(self, text: str) -> None:
        """A line that is no event."""
        with self._lock:
            self._line(text)

    def rest(self, text: str) -> str:
        """What of a turn's text was not shown yet; its line is ended."""
        with self._lock:
            if self._progress is not None:
                self._progress.show("")
            streamed, self._streamed = self._streamed, ""
            if streamed and self._words is not None:
                if not streamed.endswith("\n"):
                    self._words.write("\n")
                    self._words.flush()
                if text.startswith(streamed.strip()):
                    return text[len(streamed.strip()):].strip("\n")
            return text

    def _delta(self, text: str) -> None:
        if self._words is None or not text:
            return
        if self._progress is not None:
            self._progress.show("")
        self._words.write(showable(text))
        self._words.flush()
        self._streamed += text

    def _end_words(self) -> None:
        """The next reply begins on a line of its own."""
        if self._streamed and self._words is not None and not self._streamed.endswith("\n"):
            self._words.write("\n")
            self._words.flush()
        self._streamed = ""

    def _line(self, text: str) -> None:
        if self._news is None:
            return
        if self._progress is not None:
            self._progress.clear()
        if self._streamed and self._words is not None and not self._streamed.endswith("\n"):
            self._words.write("\n")
            self._words.flush()
            self._streamed += "\n"
        self._news(showable(text))


def _waiting_for(type_: str, fields: dict) -> str | None:
    """What a run waits for after this event; None where the event changes nothing of that."""
    if type_ == "round":
        return "asking the model" + (f", round {fields['round']}" if fields.get("round") != 1 else "")
    if type_ == "tool-call":
        return flat(f"{fields.get('cmd', '')}", 80)
    if type_ == "held-call":
        return f"waiting for {flat(fields.get('label', ''), 80)}"
    if type_ in ("tool-result", "segment-end", "end", "model-error", "blocked"):
        return ""
    return None
