"""The command line's first word. Duty: design §10 and the exit codes of §6."""

from __future__ import annotations

import os
import subprocess
import sys
import types
from pathlib import Path

import pytest

from rulith import __main__ as entry
from rulith.base.errors import Mismatch, Refused, Unknown
from rulith.commands import usage

ROOT = Path(__file__).resolve().parents[2]


def door(monkeypatch: pytest.MonkeyPatch, word: str, act) -> list:
    """Put a door in place of the verb's own; the list collects what it was called with."""
    called: list = []
    module = types.ModuleType(entry.DOORS[word])
    module.main = lambda argv: called.append(argv) or act(argv)
    monkeypatch.setitem(sys.modules, entry.DOORS[word], module)
    return called


def test_a_verb_gets_its_own_words(monkeypatch):
    called = door(monkeypatch, "agent", lambda argv: 12)
    assert entry.main(["agent", "--driver", "board", "close", "it"]) == 12
    assert called == [["--driver", "board", "close", "it"]]


@pytest.mark.parametrize(("argv", "passed"), [([], []), (["--home", "x"], ["--home", "x"]), (["start", "--no-browser"], ["--no-browser"])])
def test_no_verb_means_start(monkeypatch, argv, passed):
    called = door(monkeypatch, "start", lambda argv: 0)
    assert entry.main(argv) == 0 and called == [passed]


def test_help_of_every_verb_opens_no_door(monkeypatch, capsys):
    for word in entry.DOORS:
        called = door(monkeypatch, word, lambda argv: 1)
        for argv in ([word, "--help"], [word, "-h"], [word, "x", "--help"], ["help", word]):
            assert entry.main(argv) == 0
        assert not called
        assert capsys.readouterr().out.startswith(f"rulith {'start' if word == 'setup' else word}")


def test_the_overview_names_every_verb(capsys):
    for argv in (["--help"], ["-h"], ["help"]):
        assert entry.main(argv) == 0
        out = capsys.readouterr().out
        assert all(f"\n  {word} " in out for word in entry.DOORS if word != "setup")
    assert set(usage.VERBS) == set(entry.DOORS)


def test_help_of_a_watched_command_is_that_command_s(monkeypatch):
    called = door(monkeypatch, "watch", lambda argv: 0)
    assert entry.main(["watch", "--", "make", "--help"]) == 0 and called == [["--", "make", "--help"]]


@pytest.mark.parametrize("argv", [["strat"], ["strat", "--help"], ["help", "strat"], ["Agent"], ["\x1b[31m"], ["x" * 5000]])
def test_a_wrong_word_is_named_and_ends_2(argv, capsys):
    assert entry.main(argv) == 2
    told = capsys.readouterr().err
    assert "has no verb" in told and "agent" in told and len(told) < 500 and "\x1b" not in told


def test_a_wrong_word_touches_no_file(tmp_path):
    env = {"PATH": os.defpath, "HOME": str(tmp_path), "RULITH_HOME": str(tmp_path / "home"), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run([sys.executable, "-m", "rulith", "strat"], cwd=ROOT, env=env, capture_output=True, text=True)
    assert done.returncode == 2 and list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("word", ["council", "watch", "bridge", "board"])
def test_a_verb_of_a_later_release_says_what_to_do_instead(word, capsys):
    if (ROOT / "rulith" / "commands" / f"{word}.py").exists():
        pytest.skip(f"{word} is built")
    assert entry.main([word, "serve"]) == 2
    told = capsys.readouterr().err
    assert f"`rulith {word}` is not part of this release." in told and usage.INSTEAD[word] in told


def test_a_door_that_is_broken_is_a_bug_and_loud(monkeypatch):
    """Only the door itself may be absent; a module that it needs is not excused."""
    def broken(_argv):
        raise ModuleNotFoundError("No module named 'h11'", name="h11")

    door(monkeypatch, "doctor", broken)
    with pytest.raises(ModuleNotFoundError):
        entry.main(["doctor"])


@pytest.mark.parametrize(
    ("problem", "status", "told"),
    [
        (Refused("bad_command", problem="The port is taken."), 1, "The port is taken."),
        (Unknown("response_lost", "the stream ended"), 1, "response_lost"),
        (Mismatch("the gateway speaks another contract"), 1, "another contract"),
        (KeyboardInterrupt(), 130, ""), (BrokenPipeError(), 1, ""),
    ],
)
def test_bad_news_is_a_sentence_and_never_a_traceback(monkeypatch, capsys, problem, status, told):
    def fail(_argv):
        raise problem

    door(monkeypatch, "verify", fail)
    monkeypatch.setattr(sys, "stdout", sys.stdout)
    assert entry.main(["verify", "x"]) == status
    err = capsys.readouterr().err
    assert told in err and "Traceback" not in err


def test_a_bug_stays_loud(monkeypatch):
    def bug(_argv):
        raise KeyError("x")

    door(monkeypatch, "verify", bug)
    with pytest.raises(KeyError):
        entry.main(["verify"])


def test_the_version_is_told_in_words_and_as_json(capsys):
    assert entry.main(["version"]) == 0 and "a checkout" in capsys.readouterr().out
    assert entry.main(["--version"]) == 0 and capsys.readouterr().out.startswith("rulith ")
    assert entry.main(["version", "--yaml"]) == 2


def test_an_old_interpreter_gets_one_line(tmp_path):
    """The file must parse there; the oldest at hand stand for all."""
    found = [path for pattern in ("2.7*", "3.6*", "3.7*", "3.8*", "3.9*")
             for path in sorted(Path.home().glob(f".pyenv/versions/{pattern}/bin/python"))]
    if not found:
        pytest.skip("no old interpreter on this machine")
    for python in found:
        done = subprocess.run([str(python), str(ROOT / "rulith" / "__main__.py")], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 1 and done.stderr.startswith("rulith needs Python 3.10 or newer; this is "), done.stderr
        assert done.stderr.count("\n") == 1
