"""What a person at a terminal sees: words as they come and never twice, one moving line, no control characters.

Source  the design, "Agent Runtime", and the style's rule on text from elsewhere
"""

from __future__ import annotations

import asyncio
import io

import pytest

from rulith.base.clock import ManualClock
from rulith.runtime import chat as chat_module
from rulith.runtime.chat import LineEditing, LoopThread, chat
from rulith.runtime.terminal import ProgressLine, TerminalView, showable

REPLY = [("round", {"round": 1}), ("model-delta", {"text": "Hello "}), ("model-delta", {"text": "there."}), ("model-usage", {}),
         ("propose", {"say": "Hello there.", "calls": 0})]
CALL = ("tool-call", {"cmd": "OpenCase", "input": {"caseType": "exploration"}})
RESULT = ("tool-result", {"cmd": "OpenCase", "accepted": True, "output": {"accepted": True}})


class Screen:
    """Both streams of a run in the order they were written, and what is left of a line that is written over."""

    def __init__(self, *, streams=True, quiet=False, moves=False):
        self.out, self.err = io.StringIO(), io.StringIO()
        self.view = TerminalView(None if quiet else self.news, ProgressLine(self.err, ManualClock(), lambda: 40) if moves else None,
                                 self.out if streams else None)

    def news(self, text):
        self.err.write(text + "\n")

    def tell(self, *events):
        for type_, fields in events:
            self.view(type_, **fields)


@pytest.mark.parametrize("text, shown", [
    ("plain", "plain"), ("two\nlines", "two\nlines"), ("\x1b[2Jgone", "\\x1b[2Jgone"), ("a\rb", "a\\rb"), ("tab\there", "tab    here"),
    ("‮backwards", "\\u202ebackwards"), ("bell\x07", "bell\\x07"), ("ü 😀", "ü 😀"),
])
def test_text_from_elsewhere_cannot_move_the_cursor(text, shown):
    assert showable(text) == shown


def test_words_appear_as_they_come_and_only_once():
    screen = Screen()
    screen.tell(*REPLY)
    assert screen.out.getvalue() == "Hello there."
    assert screen.view.rest("Hello there.") == "" and screen.out.getvalue() == "Hello there.\n"
    assert screen.err.getvalue() == ""


def test_what_follows_the_words_is_still_to_be_shown():
    screen = Screen()
    screen.tell(*REPLY)
    assert screen.view.rest("Hello there.\n! The limit of 1 rounds was reached.") == "! The limit of 1 rounds was reached."


def test_where_nothing_streams_the_whole_text_is_shown_at_the_end():
    screen = Screen(streams=False)
    screen.tell(*REPLY)
    assert (screen.out.getvalue(), screen.view.rest("Hello there.")) == ("", "Hello there.")


def test_words_and_news_do_not_share_a_line():
    screen = Screen()
    screen.tell(("round", {"round": 1}), ("model-delta", {"text": "I open it."}), ("propose", {"say": "I open it.", "calls": 1}), CALL, RESULT,
                ("round", {"round": 2}), ("model-delta", {"text": "Done."}))
    assert screen.out.getvalue() == "I open it.\nDone." and screen.err.getvalue() == "  → OpenCase exploration\n  ← accepted\n"
    assert screen.view.rest("Done.") == ""


def test_words_before_calls_are_news_where_nothing_streams():
    screen = Screen(streams=False)
    screen.tell(("propose", {"say": "I open it.", "calls": 1}), CALL)
    assert screen.err.getvalue() == "  I open it.\n  → OpenCase exploration\n"


def test_a_hostile_reply_reaches_the_terminal_as_letters():
    screen = Screen()
    screen.tell(("model-delta", {"text": "\x1b]0;owned\x07"}), ("error", {"message": "\x1b[2J"}))
    assert "\x1b" not in screen.out.getvalue() + screen.err.getvalue()


def test_a_quiet_run_shows_words_and_no_news():
    screen = Screen(quiet=True)
    screen.tell(*REPLY, CALL, RESULT, ("error", {"message": "x"}))
    assert screen.err.getvalue() == "" and screen.out.getvalue().startswith("Hello there.")


def test_the_moving_line_is_wiped_before_anything_else_is_written():
    screen = Screen(moves=True)
    screen.tell(("round", {"round": 1}))
    assert screen.err.getvalue() == "\r  … asking the model"
    screen.tell(CALL)
    lines = screen.err.getvalue().split("\r")
    assert lines[2].strip() == "" and "  → OpenCase exploration\n" in screen.err.getvalue() and lines[-1] == "  … OpenCase"
    screen.tell(RESULT)
    assert screen.err.getvalue().rpartition("\r")[2] == "  ← accepted\n"
    screen.tell(("round", {"round": 2}), ("model-delta", {"text": "x"}))
    assert screen.err.getvalue().rpartition("\r")[2] == ""


def test_the_moving_line_counts_seconds_and_fits_the_screen():
    async def story():
        clock, out = ManualClock(), io.StringIO()
        line = ProgressLine(out, clock, lambda: 24)
        line.show("asking the model for a very long time")
        clock.advance(7)
        line._tick()
        line.clear()
        return out.getvalue().split("\r")
    shown = asyncio.run(story())
    assert all(len(each) <= 23 for each in shown)
    out = io.StringIO()
    line = ProgressLine(out, clock := ManualClock(), lambda: 80)
    line.show("x")
    clock.advance(7)
    line._tick()
    assert out.getvalue().endswith("  … x · 7 s")


# the prompt

def talk(lines, turn=None, **more):
    said: list[str] = []
    given = iter(lines)

    async def echo(words):
        return words.upper()

    def read(prompt):
        try:
            return next(given)
        except StopIteration:
            raise EOFError from None
    with LoopThread() as thread:
        chat(turn or echo, thread, read=read, write=said.append, **more)
    return said[1:]


def test_commands_are_answered_here_and_never_sent():
    said = talk(["/help", "/nothing", "hello", "/quit", "never"])
    assert "/quit" in said[0] and "no command /nothing" in said[1] and said[2:] == ["HELLO"]


@pytest.mark.parametrize("line", ["/etc/passwd is what?", "/2", "a /quit"])
def test_what_only_looks_like_a_command_is_said(line):
    assert talk([line])[0] == line.upper()


def test_a_turn_that_ctrl_c_ended_without_a_word_does_not_end_the_chat():
    async def turn(words):
        if words == "stop":
            raise asyncio.CancelledError
        return words

    assert talk(["stop", "go on"], turn) == ["! The turn was stopped.", "go on", ""]


def test_what_is_on_the_screen_already_is_not_written_again():
    assert talk(["hello"], rest=lambda text: "") == [""]


class FakeReadline:
    def __init__(self, problem=None):
        self.read, self.written, self.length, self.problem = [], [], 0, problem

    def set_history_length(self, number):
        self.length = number

    def read_history_file(self, path):
        self.read.append(path)
        if self.problem:
            raise self.problem

    def write_history_file(self, path):
        self.written.append(path)
        if self.problem:
            raise self.problem


def test_typed_lines_are_kept_for_their_user_alone(tmp_path, monkeypatch):
    fake = FakeReadline()
    monkeypatch.setattr(chat_module, "readline", fake)
    with LineEditing(tmp_path / "chat-history"):
        pass
    assert fake.written == [str(tmp_path / "chat-history")] and fake.length == 500
    assert (tmp_path / "chat-history").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("problem", [OSError(13, "no"), FileNotFoundError(2, "no")])
def test_a_chat_goes_on_without_its_earlier_lines(tmp_path, monkeypatch, problem):
    monkeypatch.setattr(chat_module, "readline", FakeReadline(problem))
    with LineEditing(tmp_path / "nowhere" / "chat-history"):
        pass
    monkeypatch.setattr(chat_module, "readline", None)
    with LineEditing(tmp_path / "chat-history"):
        pass
    assert not (tmp_path / "chat-history").exists()
