"""The run adapter on real programs: what they are given, how they end, and that nothing of them is left."""

import asyncio
import json
import os
import signal
import sys
from pathlib import Path

import pytest

from rulith.adapters.outcomes import Call, Executed, Failed, Withheld
from rulith.adapters.run import compile_program, judge_end
from rulith.adapters.sources import Source
from rulith.adapters.territory import Territory
from rulith.base.errors import Refused
from rulith.procs.children import Finished
from rulith.wire.manifest import read_tool

BOUND_S = 100


class Desk:
    """A Worker root with one program in it."""

    def __init__(self, folder: Path):
        self.root = folder / "root"
        (self.root / "adapters").mkdir(parents=True)
        (folder / "home").mkdir()
        self.territory = Territory(str(self.root), str(folder / "home"), guarded=(("the Tool Manifest", str(self.root / "worker-tools.json")),))

    def tool(self, body, **members):
        (self.root / "adapters" / "it.py").write_text(body)
        return read_tool("test.it@1", {"adapter": "run", "sourceTypes": ["file"], "entry": "adapters/it.py", "env": {"pass": []}, **members})

    def program(self, body, arguments=None, source=None, object_bytes=65536, timeout_s=20.0, ambient=None, **members):
        call = Call("inv_1", "rulith-execution/1:abc", self.tool(body, **members), arguments or {}, source, 8192, object_bytes)
        return compile_program(call, self.territory, os.environ if ambient is None else ambient, timeout_s)

    def run(self, body, **settings):
        return asyncio.run(asyncio.wait_for(self.program(body, **settings).run(), BOUND_S))


@pytest.fixture
def desk(tmp_path):
    return Desk(tmp_path)


def test_the_program_gets_one_json_argument_without_the_source_in_the_worker_root(desk):
    outcome = desk.run("import json, os, sys\nprint(json.dumps([sys.argv[1:], os.getcwd(), sys.executable]))", arguments={"b": "é", "a": [1.5, None]})
    argv, folder, interpreter = json.loads(outcome.text)
    assert [json.loads(word) for word in argv] == [{"b": "é", "a": [1.5, None]}]
    assert os.path.realpath(folder) == os.path.realpath(desk.root) and interpreter == sys.executable


def test_the_program_sees_the_call_the_source_and_the_basics(desk):
    folder = desk.root / "data"
    folder.mkdir()
    ambient = {"PATH": os.environ["PATH"], "RULITH_CONNECTION_KEY": "secret", "RULITH_CASE_ID": "case_1", "EDITOR": "vi"}
    outcome = desk.run("import json, os\nprint(json.dumps(dict(os.environ)))", source=Source("docs", "file", "data"), ambient=ambient)
    seen = json.loads(outcome.text)
    seen.pop("LC_CTYPE", None)           # the interpreter's own coercion of a bare C locale
    assert seen == {
        "PATH": os.environ["PATH"], "RULITH_INVOCATION_ID": "inv_1", "RULITH_EXECUTION_KEY": "rulith-execution/1:abc",
        "RULITH_SOURCE_ACCESS": os.path.realpath(folder), "RULITH_SOURCE_TYPE": "file",
    }


def test_a_source_free_program_has_no_access_and_no_type(desk):
    outcome = desk.run("import json, os\nprint(json.dumps([n for n in os.environ if n.startswith('RULITH_')]))", sourceTypes=[])
    assert sorted(json.loads(outcome.text)) == ["RULITH_EXECUTION_KEY", "RULITH_INVOCATION_ID"]


def test_a_db_sources_access_is_its_dsn(desk):
    outcome = desk.run("import os\nprint(os.environ['RULITH_SOURCE_ACCESS'])", source=Source("it", "compute", "dsn://x"), sourceTypes=["compute"])
    assert outcome == Executed("dsn://x")


@pytest.mark.parametrize("body, outcome", [
    ("print('done')", Executed("done")),
    ("pass", Executed("(no output)")),
    ("import sys; sys.exit('no such order')", Failed("no such order")),
    ("import sys; sys.stderr.write('noise'); print('done')", Executed("done")),
    ("import sys; sys.exit(3)", Failed("The adapter ended with status 3 and said nothing.")),
    ("import sys; sys.stdout.buffer.write(b'\\xff\\xfeok')", Executed("\ufffd\ufffdok")),
])
def test_the_end_of_the_program_is_the_outcome(desk, body, outcome):
    assert desk.run(body) == outcome


def test_a_traceback_names_the_error_and_no_command_line(desk):
    outcome = desk.run("raise RuntimeError('x' * 100000 + ' the cause')", arguments={"secret_looking": "value"})
    assert isinstance(outcome, Failed) and outcome.reason.endswith("the cause") and len(outcome.reason.encode()) <= 2048


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
def test_a_program_ended_by_a_signal_failed():
    assert judge_end(Finished(-signal.SIGSEGV, b"half", False, b"", False), 60) == Failed("The adapter was ended by signal 11.")


def test_a_program_over_its_time_is_ended_and_only_a_read_has_failed(desk):
    """What acts may have acted before it was cut short; calling that failed would invite a second act."""
    body = "import time; print('begun', flush=True); time.sleep(60)"
    assert desk.run(body, timeout_s=0.5, kind="read") == Failed("The adapter was ended after 0.5 s without a result.")
    for kind in ("write", "run"):
        assert desk.run(body, timeout_s=0.5, kind=kind) == Withheld("adapter_ended_midway")


def test_output_over_the_object_budget_is_withheld_and_never_failed(desk):
    assert desk.run("print('x' * 5000)", object_bytes=1000) == Withheld("adapter_output_exceeds_object_budget")
    assert desk.run("import sys; print('x' * 5000); sys.exit(1)", object_bytes=1000) == Withheld("adapter_output_exceeds_object_budget")
    assert desk.run("print('x' * 999)", object_bytes=1000) == Executed("x" * 999)


FAMILY = """import os, subprocess, sys, time
mark = {mark!r}
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], start_new_session={away})
with open(mark + ".part", "w") as file:
    file.write(f"{{os.getpid()}} {{child.pid}}")
os.replace(mark + ".part", mark)
time.sleep(60)
"""


def is_running(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] not in ("Z", "X")
    except OSError:
        return False


async def gone(pids):
    while any(is_running(pid) for pid in pids):
        await asyncio.sleep(0.01)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
@pytest.mark.parametrize("away", [False, True])
def test_a_cancelled_call_ends_its_whole_tree_even_what_left_its_group(desk, tmp_path, away):
    mark = tmp_path / "pids"
    program = desk.program(FAMILY.format(mark=str(mark), away=away))

    async def play():
        task = asyncio.ensure_future(program.run())
        while not mark.exists():
            await asyncio.sleep(0.01)
        pids = [int(pid) for pid in mark.read_text().split()]
        assert all(is_running(pid) for pid in pids)
        task.cancel()
        await asyncio.wait([task])
        assert task.cancelled()
        await asyncio.wait_for(gone(pids), 60)

    asyncio.run(asyncio.wait_for(play(), BOUND_S))


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_a_program_over_its_time_takes_its_children_with_it(desk, tmp_path):
    mark = tmp_path / "pids"

    async def play():
        for timeout_s in (0.7, 5.0, 50.0):       # longer where the machine is so busy that it had not begun by then
            assert isinstance(await desk.program(FAMILY.format(mark=str(mark), away=False), timeout_s=timeout_s).run(), Withheld)
            if mark.exists():
                break
        await asyncio.wait_for(gone([int(pid) for pid in mark.read_text().split()]), 60)

    asyncio.run(asyncio.wait_for(play(), BOUND_S))


def refused(desk, **settings):
    with pytest.raises(Refused) as caught:
        desk.program("pass", **settings)
    return caught.value


def test_a_missing_program_is_refused_before_a_claim(desk):
    tool = desk.tool("pass")
    (desk.root / "adapters" / "it.py").unlink()
    with pytest.raises(Refused) as caught:
        compile_program(Call("inv", "key", tool, {}), desk.territory, {})
    assert caught.value.code == "adapter_refused" and "adapters/it.py does not exist" in caught.value.teaching
    assert str(desk.root) not in caught.value.teaching


@pytest.mark.skipif(os.name == "nt", reason="links need a right on Windows")
def test_a_program_that_is_a_link_leading_out_is_refused(desk, tmp_path):
    tool = desk.tool("pass")
    outside = tmp_path / "outside.py"
    outside.write_text("print('outside')")
    (desk.root / "adapters" / "it.py").unlink()
    (desk.root / "adapters" / "it.py").symlink_to(outside)
    with pytest.raises(Refused) as caught:
        compile_program(Call("inv", "key", tool, {}), desk.territory, {})
    assert caught.value.code == "adapter_refused" and "leads outside" in caught.value.teaching


def test_an_argument_no_command_line_can_carry_is_refused_before_a_claim(desk):
    assert refused(desk, arguments={"text": "x" * 200_000}).code == "resource_limit"


def test_a_source_folder_that_holds_the_manifest_is_refused(desk):
    assert refused(desk, source=Source("docs", "file", ".")).code == "source_root_refused"


def test_a_program_that_was_not_started_failed_without_a_command_line(desk):
    program = desk.program("pass")
    object.__setattr__(program, "command", (str(desk.root / "no-interpreter"), "secret-argument"))
    outcome = asyncio.run(program.run())
    assert isinstance(outcome, Failed) and "secret-argument" not in outcome.reason
