"""`rulith start` and `rulith stop` as processes: one copy per home, children that end with it, nothing left behind."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import re
import signal
import socket
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from rulith.base.clock import SystemClock
from rulith.base.errors import Refused
from rulith.commands import stop
from rulith.disk.atomic import write_json
from rulith.disk.home import Home
from rulith.disk.model_settings import write_default
from rulith.disk.profiles import DEFAULTS, list_profiles
from rulith.host import Options, _has_display, _listen, _redirect_file, read_options
from rulith.procs.identity import is_running, process_stamp

ROOT = Path(__file__).resolve().parents[2]
WAIT_S = 30
pytestmark = [pytest.mark.timeout(120), pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")]


def command(*words, **environ):
    env = {name: value for name, value in os.environ.items() if not name.startswith("RULITH_")}
    return {"args": [sys.executable, "-m", "rulith", *words], "cwd": ROOT, "env": {**env, **environ}, "text": True}


def rulith(*words, **environ):
    return subprocess.run(**command(*words, **environ), capture_output=True, timeout=WAIT_S)


def until(condition):
    """Wait for what another process does; bounded."""
    clock, pause = SystemClock(), threading.Event()
    deadline = clock.monotonic_s() + WAIT_S
    while not (found := condition()):
        assert clock.monotonic_s() < deadline, "it did not happen in time"
        pause.wait(0.02)
    return found


def children_of(home):
    try:
        return json.loads((Path(home) / "run" / "workbench.json").read_text())["children"]
    except (OSError, ValueError):
        return []


class Started:
    def __init__(self, home, *words):
        self.home = Path(home)
        self.process = subprocess.Popen(**command("start", "--home", str(home), "--no-browser", *words),
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.address, self.first = "", self.process.stdout.readline().strip()
        for line in self.process.stdout:
            if found := re.search(r"http://127\.0\.0\.1:(\d+)/\?k=([0-9a-f]{32})$", line.strip()):
                self.address, self.port = found[0], int(found[1])
                break

    def children(self):
        return children_of(self.home)

    def all_roles(self, count=2):
        """The gateway's and the Worker's pids, and those of further roles, once all run."""
        return until(lambda: len(self.children()) == count and [child["pid"] for child in self.children()])

    def start_agent(self):
        """As the page's button does, once the Agent may start."""
        head = {"content-type": "application/json", "origin": self.address.partition("/?")[0]}

        def post(path, body, key):
            link = http.client.HTTPConnection("127.0.0.1", self.port, timeout=WAIT_S)
            try:
                link.request("POST", path, json.dumps(body), {**head, "x-rulith-manager": key})
                return json.loads(link.getresponse().read())
            finally:
                link.close()
        token = post("/api/token", {}, self.address.partition("k=")[2])["token"]
        (profile,) = list_profiles(Home(self.home))
        assert post(f"/i/{profile.id}/agent", {"operation": "start"}, token)["ok"]

    def end(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        out, err = self.process.communicate(timeout=WAIT_S)
        return self.process.returncode, err


@pytest.fixture
def home(tmp_path):
    return tmp_path / "home with a blank and ü"


@pytest.fixture
def started(home):
    made = Started(home)
    yield made
    if made.process.poll() is None:
        made.end()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_children_and_then_itself_with_0(home, number):
    started = Started(home)
    pids = started.all_roles()
    status, err = started.end(number)
    assert (status, "Traceback" in err) == (0, False)
    assert not any(is_running(pid) for pid in pids)
    assert not list((home / "run").iterdir())
    assert not (home / "workbench" / "workbench.lock").exists()


def test_what_is_printed_is_where_to_go(started, home):
    key, rest = started.address.rpartition("k=")[2], started.process.stdout.readline()
    assert started.first == "Rulith" and re.fullmatch(r"[0-9a-f]{32}", key) and rest.strip() == f"Home: {home}"
    started.end()
    again = Started(home)
    try:
        assert again.address.rpartition("k=")[2] != key
    finally:
        assert again.end()[0] == 0


def test_a_second_copy_is_refused_naming_the_pid_and_what_to_do(started, home):
    started.all_roles()
    second = rulith("start", "--home", str(home), "--no-browser")
    assert second.returncode == 1
    assert str(started.process.pid) in second.stderr and "rulith stop" in second.stderr and f":{started.port}" in second.stderr
    assert started.address not in second.stderr           # the key is nobody else's


def test_a_killed_workbench_takes_its_children_along_and_the_next_one_starts(home):
    """Its council and an Agent for conversations too; the killed Agent's lock and port hold up no later one."""
    council = Home(home).prepare().council
    council.mkdir()
    (council / "council.db").touch(0o600)             # this home has used its council
    write_default(Home(home).workbench / DEFAULTS, {"url": "http://127.0.0.1:9/v1", "name": "nobody", "maxOutputTokens": "600"})
    first = Started(home)
    first.all_roles(3)
    first.start_agent()
    pids = first.all_roles(4)
    until(lambda: (home / "run" / "council.json").exists())
    first.process.kill()
    first.process.communicate(timeout=WAIT_S)
    until(lambda: not any(is_running(pid) for pid in pids))
    second = Started(home)
    try:
        second.all_roles(3)
        second.start_agent()
        assert not set(second.all_roles(4)) & set(pids)
        assert council.joinpath("council.db").stat().st_size
    finally:
        assert second.end()[0] == 0
    assert not list((home / "run").iterdir())


def test_of_two_that_start_at_once_one_serves_the_home_and_the_other_says_who_does(home):
    both = [subprocess.Popen(**command("start", "--home", str(home), "--no-browser"), stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(2)]
    try:
        lost = until(lambda: next((each for each in both if each.poll() is not None), None))
        (won,) = [each for each in both if each is not lost]
        out, err = lost.communicate(timeout=WAIT_S)
        assert (lost.returncode, out) == (1, "") and str(won.pid) in err and "Traceback" not in err
        until(lambda: [child["role"] for child in children_of(home)] == ["gateway", "worker"])
    finally:
        for each in both:
            each.send_signal(signal.SIGTERM)
            each.communicate(timeout=WAIT_S)
    assert won.returncode == 0 and len(list_profiles(Home(home))) == 1


@pytest.mark.parametrize("text", ["{", '{"format":"other","instances":[]}'])
def test_a_list_of_profiles_that_cannot_be_read_is_named_and_starts_nothing(home, text):
    registry = Home(home).prepare().registry
    registry.write_text(text)
    refused = rulith("start", "--home", str(home), "--no-browser")
    assert (refused.returncode, refused.stdout) == (1, "") and str(registry) in refused.stderr and "Traceback" not in refused.stderr
    assert registry.read_text() == text and not (home / "gateway" / "ledger.db").exists() and not list((home / "run").iterdir())


def test_stop_ends_all_that_the_home_started(started, home):
    pids = started.all_roles()
    stopped = rulith("stop", "--home", str(home))
    assert (stopped.returncode, stopped.stderr) == (0, "")
    assert started.process.wait(WAIT_S) == 0
    assert not any(is_running(pid) for pid in pids)
    again = rulith("stop", "--home", str(home))
    assert again.returncode == 0 and "Nothing" in again.stdout


def test_stop_says_what_still_runs_when_it_does_not_end(tmp_path, monkeypatch, capsys):
    home = Home(tmp_path / "home").prepare()
    deaf = subprocess.Popen([sys.executable, "-c", "import signal; signal.signal(15, signal.SIG_IGN); print(1, flush=True); signal.pause()"],
                            stdout=subprocess.PIPE)
    deaf.stdout.readline()
    try:
        row = {"role": "worker", "pid": deaf.pid, **process_stamp(deaf.pid)}
        write_json(home.run / "workbench.json", {"pid": 2**22 + 1, "children": [row]})
        monkeypatch.setattr(stop, "WAIT_S", 0.2)
        assert stop.main(["--home", str(home.path)]) == 1
        assert f"worker (process {deaf.pid})" in capsys.readouterr().err
    finally:
        deaf.kill()
        deaf.communicate()


def test_stop_ends_a_gateway_that_is_still_starting(tmp_path):
    """Past bug: it said that nothing runs, and the gateway answered a moment later. Here the fold of its ledger takes as long as we like."""
    home = Home(tmp_path / "home").prepare()
    code = ("import sys; from rulith.commands import gateway; gateway.open_gateway = lambda *given: sys.stdin.read(); "
            f"gateway.main(['--home', {str(home.path)!r}])")
    gateway = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, env=command()["env"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    try:
        until(home.gateway_starting_json.exists)
        assert gateway.poll() is None and not home.gateway_json.exists()
        stopped = rulith("stop", "--home", str(home.path))
        assert "Ended everything" in stopped.stdout and gateway.wait(WAIT_S) != 0
    finally:
        gateway.kill()
        gateway.communicate()


def test_a_gateway_that_answers_is_not_starting_any_more(tmp_path):
    home = Home(tmp_path / "home").prepare()
    gateway = subprocess.Popen(**command("gateway", "--home", str(home.path)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        until(lambda: home.gateway_json.exists() and not home.gateway_starting_json.exists())
        gateway.send_signal(signal.SIGTERM)
        gateway.communicate(timeout=WAIT_S)
        assert not list(home.run.iterdir())
    finally:
        gateway.kill()
        gateway.communicate()


def test_a_gateway_that_could_not_open_its_ledger_is_not_starting_any_more(tmp_path):
    home = Home(tmp_path / "home").prepare()
    home.gateway_settings.write_text("{")
    assert rulith("gateway", "--home", str(home.path)).returncode != 0
    assert not home.gateway_starting_json.exists()


def test_stop_leaves_a_process_alone_that_only_has_the_pid(tmp_path):
    home = Home(tmp_path / "home").prepare()
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        row = {"role": "worker", "pid": other.pid, **process_stamp(other.pid), "startTicks": "1"}
        write_json(home.run / "workbench.json", {"pid": 2**22 + 1, "children": [row]})
        assert stop.main(["--home", str(home.path)]) == 0
        assert other.poll() is None


def test_stop_of_a_home_that_is_not_there_makes_none(tmp_path):
    assert rulith("stop", "--home", str(tmp_path / "none")).returncode == 0
    assert not (tmp_path / "none").exists()


def test_two_homes_run_side_by_side_on_two_ports(started, tmp_path):
    other = Started(tmp_path / "other")
    try:
        assert other.port != started.port
        assert not set(other.all_roles()) & set(started.all_roles())
    finally:
        assert other.end()[0] == 0


def test_a_port_that_was_asked_for_and_is_taken_is_refused(home):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        refused = rulith("start", "--home", str(home), "--no-browser", "--port", str(port))
    assert refused.returncode == 1 and str(port) in refused.stderr
    assert not list((home / "run").iterdir())


def test_where_every_usual_port_is_taken_any_free_one_serves(monkeypatch):
    class Api:
        head_check = None

        async def handle(self, request):
            raise AssertionError("nobody asks")

    async def scene(first, second):
        monkeypatch.setattr("rulith.host.DEFAULT_PORT", first)
        monkeypatch.setattr("rulith.host.PORTS_TRIED", 1)
        server = await _listen(Api(), None)
        assert server.port not in (0, first, second)
        await server.close(0)
        with pytest.raises(Refused) as refusal:
            await _listen(Api(), second)
        assert refusal.value.code == "port_in_use"
    with socket.create_server(("127.0.0.1", 0)) as one, socket.create_server(("127.0.0.1", 0)) as two:
        asyncio.run(scene(one.getsockname()[1], two.getsockname()[1]))


@pytest.mark.parametrize("words", [["--nonsense"], ["--port"], ["--port", "0"], ["--port", "70000"], ["--port", "x"], ["--home"], ["stray"], ["--legacy"],
                                   ["--config", "x"], ["--role", "agent"]])
def test_a_wrong_option_is_named_before_any_file_is_touched(tmp_path, words):
    refused = rulith("start", *words, RULITH_HOME=str(tmp_path / "home"))
    assert refused.returncode == 2 and "--help" in refused.stderr or "65535" in refused.stderr
    assert not (tmp_path / "home").exists()


@pytest.mark.parametrize(("address", "said"), [("http://gateway.example", "plain text"), ("gateway.example", "no address of a gateway")])
def test_an_address_that_is_no_gateways_is_refused_before_any_file(home, address, said):
    refused = rulith("start", "--home", str(home), "--gateway", address)
    assert refused.returncode == 2 and said in refused.stderr
    assert not home.exists()


def test_the_home_and_what_lies_in_it_are_the_owners_alone(started, home):
    started.all_roles()
    folders = [home, home / "workbench", home / "run", home / "logs", home / "gateway"]
    assert {stat.S_IMODE(folder.stat().st_mode) for folder in folders} == {0o700}
    files = [path for path in home.rglob("*") if path.is_file() and "workspace" not in path.parts]
    assert files and {oct(stat.S_IMODE(path.stat().st_mode) & 0o077) for path in files} == {"0o0"}


def test_no_credential_stands_in_a_command_line_an_environment_or_a_log(started, home):
    pids = started.all_roles()
    secrets = [value for path in home.rglob("*.secrets.json") for value in json.loads(path.read_text()).values() if value.startswith("rlt_")]
    assert len(secrets) == 3
    seen = "".join(path.read_text(errors="replace") for path in (home / "logs").iterdir()) + (home / "run" / "workbench.json").read_text()
    for pid in pids:
        for name in ("cmdline", "environ"):
            try:
                seen += Path(f"/proc/{pid}/{name}").read_text(errors="replace")
            except OSError:
                continue                              # the kernel does not even let us look
    assert not [secret for secret in secrets if secret in seen]
    assert started.address.partition("k=")[2] not in seen


def test_the_browser_is_led_by_a_file_that_only_its_owner_reads(tmp_path):
    home = Home(tmp_path / "home").prepare()
    path = _redirect_file(home, "http://127.0.0.1:7780/?t=ticket")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert "url=http://127.0.0.1:7780/?t=ticket" in path.read_text()


def test_without_a_display_no_browser_takes_the_terminal():
    if sys.platform.startswith("linux"):
        assert not _has_display({}) and _has_display({"WAYLAND_DISPLAY": "wayland-0"})


def test_options_stand_over_the_environment():
    assert read_options(["--port=8000", "--no-browser", "--home", "/x"], {"RULITH_MANAGER_PORT": "9000"}) == Options("/x", 8000, browser=False)
    assert read_options([], {"RULITH_MANAGER_PORT": "9000"}) == Options(port=9000)
    with pytest.raises(Refused) as refusal:
        read_options([], {"RULITH_MANAGER_PORT": "high"})
    assert "RULITH_MANAGER_PORT" in str(refusal.value)


def test_a_key_that_is_none_is_refused_before_any_file_is_touched(tmp_path):
    refused = rulith("start", "--no-browser", RULITH_HOME=str(tmp_path / "home"), RULITH_MANAGER_KEY="short")
    assert refused.returncode == 2 and "RULITH_MANAGER_KEY" in refused.stderr
    assert not (tmp_path / "home").exists()
