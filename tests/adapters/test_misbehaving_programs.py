"""Programs that will not end, flood, multiply or hide: each call ends, tells the truth, and nothing of it is left.

Duty: the Worker hop, "run"; design §7, children.
"""

import asyncio
import json
import os
import sys

import pytest

from rulith.adapters import run as run_adapter
from rulith.adapters.outcomes import Executed, Failed, Withheld
from rulith.adapters.run import judge_end
from rulith.procs.children import Finished, run_command
from rulith.procs.spawned import Spawned
from rulith.procs.trees import descendants
from tests.adapters.test_run_adapter import Desk

POSIX = pytest.mark.skipif(os.name == "nt", reason="signals and pipes of POSIX")
LINUX = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="what left its parents is found on Linux alone")
ENDED = Withheld("adapter_ended_midway")


@pytest.fixture
def desk(tmp_path):
    before = set(descendants(os.getpid()))
    yield Desk(tmp_path)
    assert set(descendants(os.getpid())) <= before, "nothing that it started is left, and no zombie"


BOMB = """import os, time
{leave}
for _ in range(8):
    if os.fork() == 0:
        {leave}
time.sleep(600)
"""


@LINUX
@pytest.mark.parametrize("leave", ["pass", "os.getpgid(0) != os.getpid() and os.setsid()"], ids=["in its group", "leaving it each time"])
@pytest.mark.parametrize("kind", ["read", "run"])
def test_a_fork_bomb_is_ended_at_the_number_of_processes(desk, monkeypatch, leave, kind):
    monkeypatch.setattr(run_adapter, "PROCESSES_MAX", 20)
    outcome = desk.run(BOMB.format(leave=leave), kind=kind, timeout_s=60.0)
    assert outcome == (ENDED if kind == "run" else Failed("The adapter was ended because it was more than 20 processes at once."))


@LINUX
def test_a_bomb_that_outlives_its_first_process_is_ended_too(desk):
    """The leader ends at once; what it left goes on forking while it is looked for."""
    body = "import os, time\nif os.fork() == 0:\n    os.setsid()\n    for _ in range(5000):\n        if os.fork():\n            time.sleep(0.001)\n            os._exit(0)\n    time.sleep(600)\nprint('done')\n"
    assert desk.run(body) == Executed("done")


@LINUX
def test_as_many_processes_as_allowed_are_let_be(desk, monkeypatch):
    monkeypatch.setattr(run_adapter, "PROCESSES_MAX", 12)
    body = "import subprocess, sys\nkids = [subprocess.Popen([sys.executable, '-S', '-c', 'import time; time.sleep(0.5)']) for _ in range(10)]\n[kid.wait() for kid in kids]\nprint('done')\n"
    assert desk.run(body) == Executed("done")


@POSIX
@pytest.mark.parametrize("ignored", ["SIGTERM", "SIGINT", "SIGHUP", "SIGPIPE"])
def test_a_program_that_ignores_signals_is_ended_all_the_same(desk, ignored):
    assert desk.run(f"import signal, time\nsignal.signal(signal.{ignored}, signal.SIG_IGN)\nwhile True: time.sleep(1)", timeout_s=0.5) == ENDED


@POSIX
def test_a_program_that_stops_itself_is_ended(desk):
    assert desk.run("import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)", timeout_s=1.0) == ENDED


@pytest.mark.parametrize("body, outcome", [
    ("import sys\nwhile True: sys.stdout.write('x' * 65536)", Withheld("adapter_output_exceeds_object_budget")),
    ("import os\nwhile True: os.write(1, b'x' * 65536); os.write(2, b'y' * 65536)", Withheld("adapter_output_exceeds_object_budget")),
])
def test_a_flood_ends_its_program_and_is_not_kept(desk, body, outcome):
    assert desk.run(body, timeout_s=60.0) == outcome


def test_a_flood_of_errors_is_kept_to_its_end(desk):
    outcome = desk.run("import os, sys\nfor _ in range(300): os.write(2, b'y' * 65536)\nsys.exit('the cause')", kind="read", timeout_s=60.0)
    assert isinstance(outcome, Failed) and outcome.reason.endswith("the cause") and len(outcome.reason.encode()) <= 2048


def test_a_flood_of_errors_beside_a_result_leaves_the_result(desk):
    assert desk.run("import os\nfor _ in range(300): os.write(2, b'y' * 65536)\nprint('done')", timeout_s=60.0) == Executed("done")


@pytest.mark.parametrize("closing", ["os.close(1)", "os.close(1); os.close(2)", "os.close(0); os.close(1); os.close(2)", "sys.stdout.close()"])
def test_a_program_that_closes_its_output_early_is_waited_for(desk, closing):
    """What it does after that belongs to the call: its end is its exit, not the end of its output."""
    mark = desk.root / "late"
    body = f"import os, sys, time\nprint('said', flush=True)\n{closing}\ntime.sleep(0.3)\nopen({str(mark)!r}, 'w').close()\nos._exit(0)"
    assert desk.run(body) == Executed("said") and mark.exists()


@POSIX
def test_a_program_that_closes_its_output_and_stays_is_ended_in_time(desk):
    assert desk.run("import os, time\nos.close(1); os.close(2)\ntime.sleep(600)", timeout_s=0.5) == ENDED


@POSIX
def test_a_child_that_holds_the_output_open_delays_nothing(desk):
    body = "import subprocess, sys\nsubprocess.Popen([sys.executable, '-S', '-c', 'import time; time.sleep(600)'])\nprint('done')"
    assert desk.run(body, timeout_s=60.0) == Executed("done")


@POSIX
def test_a_child_that_floods_after_its_parent_ended_is_ended(desk):
    body = "import os\nif os.fork() == 0:\n    while True: os.write(1, b'x' * 4096)\nos._exit(0)"
    outcome = desk.run(body, timeout_s=60.0, object_bytes=2**20)
    assert outcome == Withheld("adapter_output_exceeds_object_budget") or (isinstance(outcome, Executed) and set(outcome.text) <= set("x(no output)"))


@LINUX
@pytest.mark.parametrize("ends", ["os._exit(0)", "os._exit(3)", "os.kill(os.getpid(), 9)", "time.sleep(600)"])
def test_a_grandchild_that_detached_ends_with_its_program(desk, ends):
    """It calls setsid, gives up both parents and closes what it inherited."""
    body = f"""import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for fd in range(3):
            os.close(fd)
        time.sleep(600)
    os._exit(0)
os.wait()
{ends}
"""
    outcome = desk.run(body, timeout_s=1.5 if "sleep" in ends else 60.0, kind="read")
    assert outcome == Executed("(no output)") if ends == "os._exit(0)" else isinstance(outcome, Failed)


@pytest.mark.parametrize("text", ["$(touch pwned)", "`id`", "; exit 3", "a' \"b\\", "%PATH%", "--help", "-", "\n", "é\u2028\U0001f600", "&|<>^"])
def test_an_argument_reaches_the_program_letter_for_letter(desk, text):
    outcome = desk.run("import json, sys\nsys.stdout.buffer.write(json.dumps([json.loads(sys.argv[1])['text'], len(sys.argv)]).encode())", arguments={"text": text})
    assert outcome == Executed(json.dumps([text, 2])) and not (desk.root / "pwned").exists()


def test_a_crowd_is_an_end_from_outside():
    ended = Finished(-9, b"", False, b"", False, True)
    assert judge_end(ended, 60, acts=True) == ENDED and isinstance(judge_end(ended, 60), Failed)


@LINUX
def test_another_process_of_ours_and_what_it_starts_meanwhile_is_no_part_of_a_command():
    """A server that the Worker keeps may start helpers while a program runs."""
    async def play():
        helper = "import subprocess, sys, time\nsys.stdin.readline()\nkid = subprocess.Popen([sys.executable, '-S', '-c', 'import time; time.sleep(600)'])\nprint(kid.pid, flush=True)\nsys.stdin.readline()\nkid.kill(); kid.wait()"
        said: asyncio.Queue[bytes] = asyncio.Queue()
        server = await Spawned.start([sys.executable, "-c", helper], on_output=lambda fd, data: said.put_nowait(data), has_stdin=True)
        running = asyncio.ensure_future(run_command([sys.executable, "-c", "import sys, time; time.sleep(1.0); print('whole')"], ends_orphans=True, processes_max=1))
        await asyncio.sleep(0)
        server.write(b"go\n")
        kid = int(await asyncio.wait_for(said.get(), 60))
        assert (await running).stdout.strip() == b"whole"
        assert os.path.exists(f"/proc/{kid}")
        server.write(b"end\n")
        await asyncio.wait_for(server.exited, 60)
        server.close()

    asyncio.run(asyncio.wait_for(play(), 110))
