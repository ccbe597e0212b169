"""The chat on a real terminal: Ctrl-C stops a turn and not the program; at the prompt it only explains."""

from __future__ import annotations

import asyncio
import os
import select
import socket
import subprocess
import sys
import threading
import time

import pytest

from rulith.runtime.chat import LoopThread, chat
from tests.runtime.calculation_board import CalculationBoard
from tests.runtime.scripted_gateway import SILENT, TOKEN
from tests.runtime.test_run import door_environment, gateway_in_thread, model_in_thread
from tests.runtime.test_turns import OPEN

pty = pytest.importorskip("pty")
fcntl = pytest.importorskip("fcntl")
termios = pytest.importorskip("termios")


def _own_terminal() -> None:
    """In the child: its stdin is its controlling terminal, so that Ctrl-C reaches it."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


class Terminal:
    """A program on a pseudo-terminal, read until it has said something."""

    def __init__(self, argv, env, cwd):
        self.master, slave = pty.openpty()
        self.child = subprocess.Popen(argv, stdin=slave, stdout=slave, stderr=slave, env=env, cwd=cwd, start_new_session=True,
                                      preexec_fn=_own_terminal)
        os.close(slave)
        self.seen = self.everything = ""

    def wait_for(self, words: str, timeout_s: float = 90.0, *, pressing: str = "") -> None:
        """Read until `words`; `pressing` a key meanwhile: a signal that comes just before Python waits for a line waits for a key."""
        deadline = time.monotonic() + timeout_s
        while words not in self.seen:
            left = deadline - time.monotonic()
            assert left > 0, f"never said {words!r}:\n{self.seen}"
            if pressing and not select.select([self.master], [], [], 1.0)[0]:
                self.type(pressing)
                continue
            if select.select([self.master], [], [], left)[0]:
                try:
                    came = os.read(self.master, 65_536).decode("utf-8", "replace")
                    self.seen, self.everything = self.seen + came, self.everything + came
                except OSError:
                    break
        assert words in self.seen, self.seen
        self.seen = self.seen.split(words, 1)[1]

    def type(self, text: str) -> None:
        os.write(self.master, text.encode())

    def close(self) -> int:
        status = self.child.wait(90)
        while select.select([self.master], [], [], 0)[0]:
            try:
                self.everything += os.read(self.master, 65_536).decode("utf-8", "replace")
            except OSError:
                break                        # all of it was read, and the other end is gone
        os.close(self.master)
        return status


def test_ctrl_c_stops_a_turn_and_the_chat_goes_on(tmp_path):
    board = CalculationBoard()
    reached = threading.Event()

    def answer(call):
        if call.tool == "QueryBoard":
            reached.set()
            return SILENT
        return board(call)

    with gateway_in_thread(answer) as gateway, model_in_thread([[OPEN], [("QueryBoard", {})], "I was stopped."]) as model:
        terminal = Terminal([sys.executable, "-X", "utf8", "-m", "rulith", "agent", "--quiet"], door_environment(
            RULITH_URL=gateway.url, RULITH_TOKEN=TOKEN, RULITH_MODEL_URL=model.url, RULITH_HOME=str(tmp_path), TERM="dumb"), tmp_path)
        terminal.wait_for("you> ")
        terminal.type("\x03")
        terminal.wait_for("/quit or Ctrl-D", pressing="\x03")
        terminal.wait_for("you> ")
        terminal.type("open it and look\n")
        assert reached.wait(90)
        terminal.type("\x03")
        terminal.wait_for("The turn was stopped.")
        terminal.wait_for("you> ")
        terminal.type("and now?\n")
        terminal.wait_for("I was stopped.")
        terminal.wait_for("you> ")
        terminal.type("\x04")
        assert terminal.close() == 0
        assert model.refused == []


def test_ctrl_c_before_the_chat_has_begun_ends_it_without_a_traceback(tmp_path):
    """A gateway that takes the connection and says nothing: whoever gives up ends with 130."""
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        silent.settimeout(90)
        terminal = Terminal([sys.executable, "-X", "utf8", "-m", "rulith", "agent"], door_environment(
            RULITH_URL=f"http://127.0.0.1:{silent.getsockname()[1]}", RULITH_TOKEN=TOKEN, RULITH_MODEL_URL="http://127.0.0.1:9/v1",
            RULITH_HOME=str(tmp_path), TERM="dumb"), tmp_path)
        connection, _ = silent.accept()
        terminal.type("\x03")
        assert terminal.close() == 130
        connection.close()
    assert "Traceback" not in terminal.everything


def test_sigterm_ends_a_chat_in_the_middle_of_a_turn(tmp_path):
    reached = threading.Event()

    def answer(call):
        reached.set()
        return SILENT

    with gateway_in_thread(answer) as gateway, model_in_thread([[OPEN]]) as model:
        terminal = Terminal([sys.executable, "-X", "utf8", "-m", "rulith", "agent"], door_environment(
            RULITH_URL=gateway.url, RULITH_TOKEN=TOKEN, RULITH_MODEL_URL=model.url, RULITH_HOME=str(tmp_path), TERM="dumb"), tmp_path)
        terminal.wait_for("you> ")
        terminal.type("open it\n")
        assert reached.wait(90)
        terminal.child.terminate()
        assert terminal.close() == 143
        assert "Traceback" not in terminal.everything and "destroyed" not in terminal.everything, terminal.everything
        assert gateway.deleted == ["s1"] and "Outcome not read: OpenCase" in terminal.everything


def test_a_chat_on_a_terminal_streams_remembers_and_forgets_nothing(tmp_path):
    """Words come once though they stream; the arrow keys bring back a line of an earlier chat."""
    home = tmp_path / "home"
    home.mkdir()
    for number in range(2):
        with gateway_in_thread(CalculationBoard()) as gateway, model_in_thread([f"Reply number {number}."]) as model:
            terminal = Terminal([sys.executable, "-X", "utf8", "-m", "rulith", "agent"], door_environment(
                RULITH_URL=gateway.url, RULITH_TOKEN=TOKEN, RULITH_MODEL_URL=model.url, RULITH_HOME=str(home), TERM="xterm", COLUMNS="80"), tmp_path)
            terminal.wait_for("you> ")
            terminal.type("\x1b[A\n" if number else "what I typed first\n")
            terminal.wait_for(f"Reply number {number}.")
            terminal.wait_for("you> ")
            terminal.type("\x04")
            assert terminal.close() == 0
            assert terminal.everything.count(f"Reply number {number}.") == 1 and "what I typed first" in model.words()
    assert (home / "chat-history").stat().st_mode & 0o077 == 0


def test_the_chat_ends_with_its_input_and_asks_nothing_for_empty_lines():
    lines = iter(["", "  ", "hello", "/quit", "never"])
    said: list[str] = []

    async def turn(words: str) -> str:
        await asyncio.sleep(0)
        return words.upper()

    with LoopThread() as thread:
        chat(turn, thread, read=lambda prompt: next(lines), write=said.append)
    assert said[1:] == ["HELLO"]


def test_ctrl_c_pressed_twice_at_the_prompt_ends_nothing():
    """Past bug: the second one met the words about the first, and ended the chat with 130."""
    pressed = iter([KeyboardInterrupt, KeyboardInterrupt, "/quit"])
    hints = iter([KeyboardInterrupt, None, None])
    said: list[str] = []

    def read(prompt: str) -> str:
        line = next(pressed)
        if line is KeyboardInterrupt:
            raise line
        return line

    def write(text: str) -> None:
        if "Ctrl-D ends" in text and next(hints) is not None:
            raise KeyboardInterrupt
        said.append(text)

    async def turn(words: str) -> str:
        return ""

    with LoopThread() as thread:
        chat(turn, thread, read=read, write=write)
    assert said[1:] == ["\n/quit or Ctrl-D ends the chat."] * 2


def test_an_exception_of_a_turn_ends_the_chat():
    async def turn(words: str) -> str:
        raise ValueError(words)

    with LoopThread() as thread, pytest.raises(ValueError):
        chat(turn, thread, read=lambda prompt: "x", write=lambda text: None)
