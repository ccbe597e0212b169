"""`rulith capability`: from a first draft to an installed Release. Duty: design §5 and §10."""

from __future__ import annotations

import contextlib
import json
import os
import re
import select
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from rulith.base.canonical import digest
from rulith.base.clock import SystemClock
from rulith.base.errors import Refused
from rulith.base.resources import shipped_text
from rulith.commands import capability
from rulith.commands.capability_draft import proposed
from rulith.disk.home import Home
from rulith.disk.runfile import read_live
from rulith.store.ledger import Ledger

ROOT = Path(__file__).resolve().parents[2]
PASSPHRASE = "correct horse battery"
STORY_S = 60.0


def their_own(**changes) -> dict:
    text = shipped_text("examples", "verified-calculation", "capability.json").replace("rulith.verified_calculation", "acme.taxed")
    document = json.loads(text.replace('"verified_calculation"', '"taxed"').replace('"approved_calculation"', '"approved_taxed"'))
    return {**document, **changes}


def written(folder: Path, document: object, name: str = "mine.json") -> str:
    path = folder / name
    path.write_text(document if isinstance(document, str) else json.dumps(document, indent=1, ensure_ascii=False), encoding="utf-8")
    return str(path)


# --- check and test --------------------------------------------------------------------


def test_the_shipped_examples_are_sound(capsys):
    for path in (ROOT / "examples" / "verified-calculation" / "capability.json", *(ROOT / "protocol" / "examples" / "capability").iterdir()):
        assert capability.main(["check", str(path)]) == 0, capsys.readouterr().out
        assert capability.main(["test", str(path)]) == 0
        assert digest(json.loads(path.read_text("utf-8"))) in capsys.readouterr().out


def test_counts_agree_with_their_nouns(tmp_path, capsys):
    assert capability.main(["check", written(tmp_path, their_own())]) == 0
    assert "2 rules, 4 Actions, 2 Case Types, " in capsys.readouterr().out
    document = their_own()
    document["examples"] = document["examples"][:1]
    assert capability.main(["check", written(tmp_path, document)]) == 0
    assert ", 1 example that holds." in capsys.readouterr().out


def test_letters_that_do_not_show_are_told_at_their_line(tmp_path, capsys):
    path = written(tmp_path, their_own(title="safe\u202egnp.exe\u0007\u200b"))
    assert capability.main(["check", path]) == 1
    line = next(number for number, text in enumerate(Path(path).read_text("utf-8").splitlines(), 1) if "gnp" in text)
    assert f"{path}:{line}: title: its letter 5 is U+202E, which does not show" in capsys.readouterr().out


def test_a_word_that_is_no_case_id_is_told_what_one_looks_like(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert capability.main(["draft", "case_nope"]) == 1
    told = capsys.readouterr().err
    assert "case_nope is neither a file here nor a Case id." in told and "Case ids look like case_" in told
    with pytest.raises(Refused) as refused:
        proposed(["case_nope"], None, None)
    assert refused.value.code == "draft_word_unknown"


def test_every_error_comes_at_once_with_its_line(tmp_path, capsys):
    document = their_own()
    document["rules"][0]["when"][0]["predicate"] = "nowhere"
    document["actions"][1]["kind"] = "push"
    document["case_types"]["taxed"]["drive"].append("nothing")
    document["surprise"] = 1
    path = written(tmp_path, document)
    assert capability.main(["check", path]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"{path} has {len(lines) - 1} errors:" and len(lines) == 5
    text = Path(path).read_text("utf-8").splitlines()
    for place, quoted in (("rules[0].when[0].predicate", "nowhere"), ("actions[1].kind", "push"), ("case_types.taxed.drive[3]", "nothing"), ("surprise", "")):
        line = next(each for each in lines if f": {place}: " in each)
        number = int(line.removeprefix(path + ":").partition(":")[0])
        assert quoted in text[number - 1], line
    assert capability.main(["check", path, "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert told["sound"] is False and len(told["problems"]) == 4 and {"place", "problem", "line"} == set(told["problems"][0])


@pytest.mark.parametrize("text", ["", "{", "[]", "7", '{"id": 1, "id": 2}', '{"id": 9007199254740993}', "\x00", '{"id":"\\ud800"}'])
def test_what_is_no_capability_is_said_to_be_none(tmp_path, capsys, text):
    path = written(tmp_path, text)
    for verb in ("check", "test", "diff"):
        assert capability.main([verb, path, "--home", str(tmp_path / "none")]) == 1
        assert "Traceback" not in capsys.readouterr().err
    assert not (tmp_path / "none").exists()


def test_bytes_that_are_no_text_and_files_that_are_none(tmp_path, capsys):
    (tmp_path / "x").write_bytes(b"\xff\xfe")
    assert capability.main(["check", str(tmp_path / "x")]) == 1 and "not UTF-8" in capsys.readouterr().out
    for path in (str(tmp_path), str(tmp_path / "absent")):
        assert capability.main(["check", path]) == 1 and "cannot be used" in capsys.readouterr().err
        assert capability.main(["check", path, "--json"]) == 1 and json.loads(capsys.readouterr().out)["errorCode"] == "file_unusable"
    (tmp_path / "large").write_bytes(b" " * 600_000)
    assert capability.main(["check", str(tmp_path / "large")]) == 1 and "over 524288 bytes" in capsys.readouterr().err


def test_a_changed_rule_fails_the_example_that_says_otherwise(tmp_path, capsys):
    document = their_own()
    document["rules"][1]["when"][2]["predicate"] = "sub"
    path = written(tmp_path, document)
    assert capability.main(["test", path]) == 1
    told = capsys.readouterr().out.splitlines()
    assert told[0] == "FAILS  seven at 12.99 and 5.00 shipping" and "total(cents=9593, job_id=calc-001) does not follow; of that predicate there is acme.taxed.total(cents=8593" in told[1]
    assert told[-1].startswith("holds  ")
    assert capability.main(["test", path, "--json"]) == 1
    rows = json.loads(capsys.readouterr().out)["examples"]
    assert [row["holds"] for row in rows] == [False, True] and rows[0]["problems"]


def test_a_file_without_examples_says_where_they_would_go(tmp_path, capsys):
    assert capability.main(["test", written(tmp_path, their_own(examples=[]))]) == 0
    assert "has no examples" in capsys.readouterr().out


def test_an_unsound_file_runs_no_example(tmp_path, capsys):
    document = their_own(pins=["nothing"])
    assert capability.main(["test", written(tmp_path, document)]) == 1
    assert "Its examples were not run." in capsys.readouterr().out
    assert capability.main(["test", written(tmp_path, document), "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert told["problems"] and not any(row["holds"] for row in told["examples"])


def test_no_text_of_a_file_moves_the_terminal(tmp_path, capsys):
    document = their_own(title="x\x1b[2K", surprise="y")
    document["rules"][0]["when"][0]["predicate"] = "no\x1b[1Awhere\u202e"
    document["examples"][0]["title"] = "z\x1b[31m"
    for verb in ("check", "test"):
        capability.main([verb, written(tmp_path, document)])
        told = capsys.readouterr().out
        assert "\x1b" not in told and "\u202e" not in told


@pytest.mark.parametrize("words", [[], ["check"], ["check", "a", "b"], ["chekc", "a"], ["check", "--yaml", "a"], ["diff", "a", "--home"],
                                   ["draft"], ["draft", "a", "--id", "no"], ["install", "a", "--json"], ["--json"]])
def test_wrong_words_end_2_and_touch_nothing(words, capsys):
    assert capability.main(words) == 2
    assert len(capsys.readouterr().err) > 20


# --- with a gateway --------------------------------------------------------------------


def clean() -> dict[str, str]:
    return {**{name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}, "HOME": "/nonexistent", "PYTHONPATH": str(ROOT), "TERM": "dumb"}


@contextlib.contextmanager
def gateway(home: Path) -> Iterator[tuple[str, str]]:
    """A real gateway of this home: its address and what it printed."""
    running = subprocess.Popen([sys.executable, "-m", "rulith", "gateway", "--home", str(home), "--listen", "127.0.0.1:0"], env=clean(),
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    try:
        first = running.stdout.readline()
        second = running.stdout.readline()
        code = "" if (home / "chosen").exists() else running.stdout.readline().rpartition(" ")[2].strip()
        assert first and second
        yield first.split()[1], code
    finally:
        running.terminate()
        running.wait(30)
        running.stdout.close()


def choose_passphrase(url: str, code: str, home: Path) -> None:
    body = json.dumps({"code": code, "passphrase": PASSPHRASE}).encode()
    request = urllib.request.Request(f"{url}/console/api/setup", data=body, headers={"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=30) as answer:
        assert answer.status == 200
    (home / "chosen").touch()


def add_person(url: str, name: str) -> None:
    """An owner invites, and the invited person chooses their own passphrase."""
    def post(route: str, body: dict, **headers: str):
        request = urllib.request.Request(f"{url}/console/api/{route}", data=json.dumps(body).encode(), headers={"content-type": "application/json", **headers})
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.loads(answer.read()), answer.headers.get("set-cookie", "").partition(";")[0]

    signed, cookie = post("sign-in", {"passphrase": PASSPHRASE})
    found, _ = post("person-invite", {"name": name, "role": "operator"}, **{"cookie": cookie, "x-rulith-console": signed["token"]})
    post("accept", {"name": name, "code": found["result"]["code"], "passphrase": f"{name} has another one"})


def run(*words: str) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-m", "rulith", "capability", *words], env=clean(), stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=STORY_S)


def on_terminal(words: list[str], answers: list[tuple[str, str]]) -> tuple[int, str]:
    """Run on a terminal of its own, typing each answer when its prompt shows."""
    pty = pytest.importorskip("pty")
    pid, handle = pty.fork()
    if pid == 0:
        os.execve(sys.executable, [sys.executable, "-m", "rulith", "capability", *words], clean())
    clock, told, mark = SystemClock(), "", 0
    deadline = clock.monotonic_s() + STORY_S
    waiting = list(answers)
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


def rows(home: Path) -> list[str]:
    """The kinds of the gateway chain's commands; only while no gateway runs."""
    ledger = Ledger.open(Home(home).ledger, SystemClock())
    try:
        return [row.body["command"]["kind"] for row in ledger.rows("gateway") if row.kind == "registry"]
    finally:
        ledger.close()


posix = pytest.mark.skipif(os.name != "posix", reason="needs a pseudo terminal")


def test_install_and_diff_want_a_home_that_has_a_gateway(tmp_path):
    path = written(tmp_path, their_own())
    done = run("diff", path, "--home", str(tmp_path / "none"))
    assert done.returncode == 1 and "has no gateway yet" in done.stderr and "rulith start" in done.stderr
    assert not (tmp_path / "none").exists()


def test_install_without_a_terminal_is_refused_before_anything(tmp_path):
    """A passphrase is typed by a person, never piped in or given as a word."""
    path = written(tmp_path, their_own())
    done = run("install", path, "--home", str(tmp_path / "none"))
    assert done.returncode == 1 and "is no terminal" in done.stderr and not (tmp_path / "none").exists()


@posix
def test_a_person_installs_at_the_terminal_and_the_gateway_keeps_the_row(tmp_path):
    home, path = tmp_path / "home", written(tmp_path, their_own())
    with gateway(home) as (url, code):
        status, told = on_terminal(["install", path, "--home", str(home)], [])
        assert status == 1 and "Nobody has chosen the approval passphrase" in told and f"{url}/console/" in told and "setup code" in told
        choose_passphrase(url, code, home)
        prompt = "passphrase: $"
        status, told = on_terminal(["install", path, "--home", str(home)], [(prompt, "wrong\n"), (prompt, PASSPHRASE + "\n"), ("Type yes: $", "no\n")])
        assert status == 1 and "Nothing was installed." in told and PASSPHRASE not in told and "rule total: added" in told
        status, told = on_terminal(["install", path, "--home", str(home)], [(prompt, PASSPHRASE + "\n"), ("Type yes: $", "yes\n")])
        assert status == 0 and "Installed acme.taxed 1.0.0." in told
        assert "read_input (for Assistant): acme.taxed.read_input@1 is not locked" in told and f"{url}/console/#tools" in told
        status, told = on_terminal(["install", path, "--home", str(home)], [(prompt, PASSPHRASE + "\n")])
        assert status == 0 and "nothing differs" in told
        add_person(url, "ann")
        name = "Your name on this gateway: $"
        status, told = on_terminal(["install", path, "--home", str(home)], [(name, "owner\n"), (prompt, PASSPHRASE + "\n")])
        assert status == 0 and "nothing differs" in told
        status, told = on_terminal(["install", path, "--home", str(home)], [(name, "ann\n"), (prompt, "ann has another one\n")])
        assert status == 1 and "ann is operator" in told and "the act ‘capability check’ needs the role owner" in told
        status, told = on_terminal(["install", path, "--home", str(home)], [(name, "ann\n"), (prompt, "a\n"), (prompt, "b\n"), (prompt, "c\n")])
        assert status == 1 and "not the passphrase of that person" in told
        done = run("diff", path, "--home", str(home), "--json")
        assert done.returncode == 0 and json.loads(done.stdout)["changes"] == []
        newer = their_own(version="1.1.0")
        newer["rules"][1]["label"] = "other words"
        done = run("diff", written(tmp_path, newer, "newer.json"), "--home", str(home))
        assert done.returncode == 0 and "acme.taxed 1.0.0 → 1.1.0" in done.stdout and "  + label other words" in done.stdout
        assert read_live(Home(home).gateway_json)["url"] == url                    # the live one was used, and left running
    assert rows(home).count("install_release") == 1 and "set_passphrase" in rows(home)


@posix
def test_where_no_gateway_runs_one_is_started_for_the_run(tmp_path):
    home = tmp_path / "home"
    with gateway(home) as (url, code):
        choose_passphrase(url, code, home)
    path = written(tmp_path, their_own())
    status, told = on_terminal(["install", path, "--home", str(home)], [("passphrase: $", PASSPHRASE + "\n"), ("Type yes: $", "YES\n")])
    assert status == 0 and "Installed acme.taxed 1.0.0." in told
    assert read_live(Home(home).gateway_json) is None
    done = run("diff", path, "--home", str(home))
    assert done.returncode == 0 and "nothing differs" in done.stdout and read_live(Home(home).gateway_json) is None
    assert rows(home).count("install_release") == 1


@posix
def test_ctrl_c_at_the_passphrase_ends_it_and_what_it_started(tmp_path):
    home = tmp_path / "home"
    with gateway(home) as (url, code):
        choose_passphrase(url, code, home)
    path = written(tmp_path, their_own())
    status, told = on_terminal(["install", path, "--home", str(home)], [("passphrase: $", "\x03")])
    assert status == 130 and "Traceback" not in told and read_live(Home(home).gateway_json) is None
    status, told = on_terminal(["install", path, "--home", str(home)], [("passphrase: $", PASSPHRASE + "\n"), ("Type yes: $", "\x03")])
    assert status == 130 and "Traceback" not in told and rows(home).count("install_release") == 0


@posix
def test_what_the_boards_would_refuse_is_told_before_the_question(tmp_path):
    home = tmp_path / "home"
    with gateway(home) as (url, code):
        choose_passphrase(url, code, home)
        clash = json.loads(shipped_text("examples", "verified-calculation", "capability.json").replace("rulith.verified_calculation", "acme.copy"))
        status, told = on_terminal(["install", written(tmp_path, clash), "--home", str(home)], [("passphrase: $", PASSPHRASE + "\n")])
        assert status == 1 and "It cannot be installed now:" in told and "Case Type" in told
