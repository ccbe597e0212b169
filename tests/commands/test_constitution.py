"""`rulith constitution`: check, compare, and put in force at a terminal. Duty: design §5 and §10."""

from __future__ import annotations

import json
import os
import re
import select
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from rulith.base.canonical import digest
from rulith.base.clock import SystemClock
from rulith.commands import constitution

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = sorted((ROOT / "protocol" / "examples" / "constitution").iterdir())
PASSPHRASE = "correct horse battery"
STORY_S = 60.0


def law(**changes) -> dict:
    return {**json.loads(EXAMPLES[0].read_text("utf-8")), **changes}


def written(folder: Path, document: object) -> str:
    path = folder / "law.json"
    path.write_text(document if isinstance(document, str) else json.dumps(document, indent=1, ensure_ascii=False), encoding="utf-8")
    return str(path)


def test_the_shipped_examples_are_sound(capsys):
    for path in EXAMPLES:
        assert constitution.main(["check", str(path)]) == 0
        assert digest(json.loads(path.read_text("utf-8"))) in capsys.readouterr().out


def test_every_error_comes_at_once_with_its_line(tmp_path, capsys):
    document = law(surprise=1)
    document["rules"][0]["when"][0]["predicate"] = "nowhere"
    document["rules"][0]["then"][0]["args"]["colour"] = "red"
    path = written(tmp_path, document)
    assert constitution.main(["check", path]) == 1
    lines, text = capsys.readouterr().out.splitlines(), Path(path).read_text("utf-8").splitlines()
    assert lines[0] == f"{path} has 3 errors:" and len(lines) == 4
    for place, quoted in (("rules[0].when[0].predicate", "nowhere"), ("surprise", "")):
        line = next(each for each in lines if f": {place}: " in each)
        assert quoted in text[int(line.removeprefix(path + ":").partition(":")[0]) - 1]
    assert constitution.main(["check", path, "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert told["sound"] is False and len(told["problems"]) == 3 and {"place", "problem", "line"} == set(told["problems"][0])


def test_a_sound_file_says_so_in_json(tmp_path, capsys):
    assert constitution.main(["check", written(tmp_path, law()), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["sound"] and told["constitution"] == {"version": "1.0.0", "title": law()["title"], "digest": digest(law())}


@pytest.mark.parametrize("text", ["", "{", "[]", "7", '{"format": 1, "format": 2}', "\x00"])
def test_what_is_no_constitution_is_said_to_be_none(tmp_path, capsys, text):
    for verb in ("check", "diff"):
        assert constitution.main([verb, written(tmp_path, text), "--home", str(tmp_path / "none")]) == 1
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("words", [[], ["check"], ["check", "a", "b"], ["test", "a"], ["check", "--yaml", "a"], ["diff", "a", "--home"], ["install", "a", "--json"]])
def test_wrong_words_end_2_and_touch_nothing(words, capsys):
    assert constitution.main(words) == 2
    assert "rulith constitution" in capsys.readouterr().err


def clean() -> dict[str, str]:
    return {**{name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}, "HOME": "/nonexistent", "PYTHONPATH": str(ROOT), "TERM": "dumb"}


def on_terminal(words: list[str], answers: list[tuple[str, str]]) -> tuple[int, str]:
    """Run on a terminal of its own, typing each answer when its prompt shows."""
    pty = pytest.importorskip("pty")
    pid, handle = pty.fork()
    if pid == 0:
        os.execve(sys.executable, [sys.executable, "-m", "rulith", "constitution", *words], clean())
    clock, told, mark, waiting = SystemClock(), "", 0, list(answers)
    deadline = clock.monotonic_s() + STORY_S
    while clock.monotonic_s() < deadline:
        if select.select([handle], [], [], 1.0)[0]:
            try:
                data = os.read(handle, 65_536)
            except OSError:          # Linux says so when the other end closes
                break
            if not data:
                break
            told += data.decode("utf-8", "replace")
        if waiting and re.search(waiting[0][0], told[mark:]):
            mark = len(told)
            os.write(handle, waiting.pop(0)[1].encode())
    else:
        os.kill(pid, 9)
    _, status = os.waitpid(pid, 0)
    os.close(handle)
    assert not waiting, (waiting, told)
    return os.waitstatus_to_exitcode(status), told.replace("\r\n", "\n")


@pytest.mark.skipif(os.name != "posix", reason="needs a pseudo terminal")
def test_a_person_puts_it_in_force_at_the_terminal(tmp_path):
    home, path = tmp_path / "home", written(tmp_path, law())
    done = subprocess.run([sys.executable, "-m", "rulith", "constitution", "install", path, "--home", str(home)], env=clean(),
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=STORY_S)
    assert done.returncode == 1 and "is no terminal" in done.stderr and not home.exists()
    running = subprocess.Popen([sys.executable, "-m", "rulith", "gateway", "--home", str(home), "--listen", "127.0.0.1:0"], env=clean(),
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    try:
        url = running.stdout.readline().split()[1]
        running.stdout.readline()
        body = json.dumps({"code": running.stdout.readline().rpartition(" ")[2].strip(), "passphrase": PASSPHRASE}).encode()
        urllib.request.urlopen(urllib.request.Request(f"{url}/console/api/setup", data=body, headers={"content-type": "application/json"}), timeout=30).close()
        words, sign_in = ["install", path, "--home", str(home)], ("passphrase: $", PASSPHRASE + "\n")
        status, told = on_terminal(words, [sign_in, ("Type yes: $", "no\n")])
        assert status == 1 and "Nothing was installed." in told and "rule payroll_stays: added" in told and PASSPHRASE not in told
        status, told = on_terminal(words, [sign_in, ("Type yes: $", "yes\n")])
        assert status == 0 and "Constitution 1.0.0 is in force" in told
        status, told = on_terminal(words, [sign_in])
        assert status == 0 and "nothing differs" in told
        document = law(version="1.1.0")
        document["rules"][0]["label"] = "another label"
        written(tmp_path, document)
        done = subprocess.run([sys.executable, "-m", "rulith", "constitution", "diff", path, "--home", str(home)], env=clean(),
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=STORY_S)
        assert done.returncode == 0 and "Constitution 1.0.0 → 1.1.0" in done.stdout and "+ label another label" in done.stdout
    finally:
        running.terminate()
        running.wait(30)
        running.stdout.close()
