"""Whole runs: exit statuses, the result object, locks, the door as a process.

Source  the design, exit codes of the Agent; the MCP surface, "Exit codes".
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
from contextlib import contextmanager
from pathlib import Path

import pytest

from rulith.base.clock import SystemClock
from rulith.disk.locks import take_lock
from rulith.runtime.options import Options
from rulith.runtime.run import AgentRun, Told, run_to_end
from tests.runtime.calculation_board import CASE, KEY, CalculationBoard
from tests.runtime.scripted_gateway import SILENT, TOKEN, Raw, Say, ScriptedGateway, connection_replaced, strip_row
from tests.runtime.scripted_model import ScriptedModel, Whole
from tests.runtime.test_turns import HONEST, OPEN, READ, WRITE

REPOSITORY = Path(__file__).resolve().parents[2]
JOB = Options("Calculate calc-001.", case_type="verified_calculation", business_key=KEY)


@pytest.fixture
def run_job(heard, in_loop):
    """Run one-shot against a script; returns the result."""

    def run(answer, options=JOB, env=None, *, replies=None, token=TOKEN, before=None, told=None):
        async def whole():
            async with ScriptedGateway(answer) as gateway, ScriptedModel(replies or []) as model:
                if before:
                    before(gateway)
                environ = {"RULITH_URL": gateway.url, "RULITH_TOKEN": token, "RULITH_HOST_WAIT_MS": "0", **(env or {})}
                if replies is not None:
                    environ["RULITH_MODEL_URL"] = model.url
                agent = AgentRun(options, environ, Told(heard.emit, heard.log.append), clock=SystemClock())
                return await run_to_end(agent)
        return in_loop(whole())

    return run


def steps_of(*calls):
    return [list(step) for step in calls]


def held_up(state: str) -> CalculationBoard:
    """A Board that takes no Case, since an earlier call of this Agent is not over."""
    board = CalculationBoard()
    board.open_refusals.append(Say({"accepted": False, "requestExecuted": False, "tool": "OpenCase", "errorCode": "operation_running",
                                    "teaching": "wait", "view": {}, "operations": [strip_row("ApplyAction", state)]}, is_error=True))
    return board


MODEL_ENDS = [
    ("completed", HONEST, CalculationBoard, 0, "completed"),
    ("void", [[OPEN], [("CloseCase", {"root": "root_" + "2" * 24, "disposition": "abandoned", "reason": "x"})]], CalculationBoard, 12, "void"),
    ("no case", ["no"], CalculationBoard, 1, "no_case"),
    ("held up by an earlier call", [[OPEN], "It waits."], lambda: held_up("needs_person"), 11, "waiting"),
    ("held up for a while", [[OPEN], "It runs."], lambda: held_up("running"), 1, "no_case"),
    ("closed before", [[OPEN], "It is done already."], lambda: CalculationBoard(closed_before=True), 10, "nothing_to_do"),
    ("left open", [[OPEN], "stop", "stop"], CalculationBoard, 12, "stopped"),
    ("waits for a decision", [[OPEN], [READ], [WRITE], "wait"],
     lambda: CalculationBoard(outcomes={"write_output": ("waiting_for_decision", "approve")}), 11, "waiting"),
    ("empty reply", [[OPEN], ""], CalculationBoard, 1, "model_error"),
    ("service error", [Whole(500, b"no")], CalculationBoard, 1, "error"),
]


@pytest.mark.parametrize("replies, board, status, outcome", [row[1:] for row in MODEL_ENDS], ids=[row[0] for row in MODEL_ENDS])
def test_a_one_shot_by_a_model_ends_with_its_status(run_job, replies, board, status, outcome):
    result = run_job(board(), Options("Calculate calc-001."), replies=[list(step) if isinstance(step, list) else step for step in replies])
    assert (result.exit, result.outcome) == (status, outcome)
    assert result.message


def test_the_result_of_a_model_run_lists_what_was_applied(run_job):
    document = run_job(CalculationBoard(), Options("go"), replies=steps_of(*HONEST)).document()
    assert [step["state"] for step in document["steps"]] == ["done"] * 3
    assert document["caseId"] == CASE and document["closedCases"][0]["disposition"] == "completed"


def test_a_budget_that_is_spent_ends_a_run_as_stuck_with_its_case_named(run_job):
    result = run_job(CalculationBoard(), Options("go", budget="rounds=2,per=run"), replies=steps_of(*HONEST))
    document = result.document()
    assert (document["exit"], document["outcome"], document["errorCode"], document["caseId"]) == (12, "stuck", "budget_spent", CASE)
    assert "budget of 2 rounds per run" in document["message"] and len(document["steps"]) == 1


def test_a_model_that_fails_later_leaves_the_case_named(run_job):
    document = run_job(CalculationBoard(), Options("go"), replies=[[OPEN], Whole(500, b"no")]).document()
    assert (document["exit"], document["caseId"], document["errorCode"]) == (1, CASE, "model_refused")


@pytest.mark.parametrize("status, make", [
    (3, {"token": "wrong"}),
    (1, {"before": lambda gateway: gateway.initialize_result.update({"protocolVersion": "2024-01-01"})}),
    (14, {"env": {"RULITH_URL": "http://127.0.0.1:9"}}),
    (2, {"env": {"RULITH_URL": "nonsense"}}),
    (2, {"options": Options("go", driver="board")}),
    (2, {"options": Options()}),
])
def test_what_keeps_a_run_from_starting_has_its_own_status(run_job, status, make):
    result = run_job(CalculationBoard(), **make)
    assert (result.exit, result.outcome) == (status, "error")
    assert result.document()["errorCode"]


def test_a_takeover_mid_run_ends_with_status_4_and_what_was_done(run_job):
    board = CalculationBoard()

    def answer(call):
        return Raw(409, connection_replaced()) if "read_input" in board.done and call.tool == "ApplyAction" else board(call)

    result = run_job(answer)
    assert (result.exit, result.case_id) == (4, CASE)
    assert len(result.steps) == 1


def test_the_board_driver_is_chosen_without_a_model_and_named_in_the_document(run_job):
    document = run_job(CalculationBoard()).document()
    assert (document["exit"], document["caseType"], document["businessKey"]) == (0, "verified_calculation", KEY)


def test_a_held_lock_ends_a_run_before_it_connects(run_job, tmp_path):
    lock = tmp_path / "agent.lock"
    seen = {}

    def before(gateway):
        seen["gateway"] = gateway

    with take_lock(lock, "agent"):
        result = run_job(CalculationBoard(), env={"RULITH_AGENT_LOCK": str(lock)}, before=before)
    assert (result.exit, result.document()["errorCode"]) == (15, "agent_overlaps")
    assert str(os.getpid()) in result.message
    assert seen["gateway"].methods == []


def test_a_run_gives_its_lock_back(run_job, tmp_path):
    lock = tmp_path / "agent.lock"
    assert run_job(CalculationBoard(), env={"RULITH_AGENT_LOCK": str(lock)}).exit == 0
    take_lock(lock, "agent").release()


# the door as a process

@contextmanager
def gateway_in_thread(answer):
    """A scripted gateway beside this test's own thread."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    gateway = ScriptedGateway(answer)
    asyncio.run_coroutine_threadsafe(gateway.__aenter__(), loop).result(10)
    try:
        yield gateway
    finally:
        asyncio.run_coroutine_threadsafe(gateway.__aexit__(), loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        loop.close()


def door_environment(**more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("RULITH_", "ANTHROPIC_"))}
    return {**kept, "PYTHONPATH": str(REPOSITORY), **more}


def door(*argv: str, tmp_path: Path, text: str = "", **environ: str) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-X", "utf8", "-m", "rulith", "agent", *argv], cwd=tmp_path, input=text, text=True, capture_output=True,
                          env=door_environment(RULITH_HOME=str(tmp_path / "home"), **environ), timeout=60)


ARGUMENTS = ("--case-type", "verified_calculation", "--business-key", json.dumps(KEY))


def test_json_prints_exactly_one_object_on_stdout(tmp_path):
    with gateway_in_thread(CalculationBoard()) as gateway:
        done = door(*ARGUMENTS, "--json", "go", tmp_path=tmp_path, RULITH_URL=gateway.url, RULITH_TOKEN=TOKEN)
    document = json.loads(done.stdout)
    assert (done.returncode, document["outcome"], document["exit"], document["caseId"]) == (0, "completed", 0, CASE)
    assert "ApplyAction" in done.stderr and TOKEN not in done.stdout + done.stderr


def test_what_a_model_says_instead_of_opening_a_case_is_told(tmp_path):
    """A task is to end with a Case closed; one that is answered in words is no error without an answer."""
    with gateway_in_thread(CalculationBoard()) as gateway, model_in_thread(["Good morning.\x1b[2J"]) as model:
        done = door("--quiet", "Say good morning.", tmp_path=tmp_path, RULITH_URL=gateway.url, RULITH_TOKEN=TOKEN, RULITH_MODEL_URL=model.url)
    assert (done.returncode, done.stdout) == (1, "Good morning.\\x1b[2J\n")
    assert "opened no Case" in done.stderr and "chat" in done.stderr


def test_quiet_says_nothing_on_the_way(tmp_path):
    with gateway_in_thread(CalculationBoard()) as gateway:
        done = door(*ARGUMENTS, "--quiet", "go", tmp_path=tmp_path, RULITH_URL=gateway.url, RULITH_TOKEN=TOKEN)
    assert (done.returncode, done.stderr) == (0, "")
    assert CASE in done.stdout


@pytest.mark.parametrize("argv", [("--nope",), ("--driver", "both"), ("--business-key", "x")])
def test_a_wrong_word_exits_2_before_any_file_is_made(tmp_path, argv):
    done = door(*argv, tmp_path=tmp_path)
    assert done.returncode == 2 and done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("argv", [("--serve",), ("--shadow", "--case-type", "verified_calculation", "x")])
def test_what_needs_a_model_is_refused_without_one(tmp_path, argv):
    done = door(*argv, tmp_path=tmp_path)
    assert done.returncode == 2
    assert "No model is configured" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_help_needs_nothing(tmp_path):
    done = door("--help", tmp_path=tmp_path)
    assert done.returncode == 0 and "--business-key" in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_a_foreign_address_never_gets_the_home_s_token(tmp_path):
    done = door(*ARGUMENTS, "go", tmp_path=tmp_path, RULITH_URL="http://127.0.0.1:9")
    assert done.returncode == 1 and "RULITH_TOKEN" in done.stderr


def test_a_parent_gets_events_and_a_last_one_with_the_status(tmp_path):
    """Stdio mode: settings arrive on the first line, stdout carries events and nothing else."""
    with gateway_in_thread(CalculationBoard()) as gateway:
        child = subprocess.Popen([sys.executable, "-X", "utf8", "-m", "rulith", "agent"], cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, text=True, env=door_environment(RULITH_LOCAL_EVENTS="stdio"))
        settings = {"protocol": "rulith-local-settings/1", "args": [*ARGUMENTS, "--json", "go"],
                    "env": {"RULITH_URL": gateway.url, "RULITH_TOKEN": TOKEN, "RULITH_HOME": str(tmp_path)}}
        child.stdin.write(json.dumps(settings) + "\n")
        child.stdin.flush()
        out = child.stdout.read()
        child.wait(30)
        child.stdin.close()
        child.stderr.close()
    events = [json.loads(line)["event"] for line in out.splitlines()]
    assert child.returncode == 0
    assert {"start", "case-open", "tool-call", "tool-result", "action-outcome", "case-closed", "end"} <= {event["type"] for event in events}
    assert (events[-1]["type"], events[-1]["outcome"], events[-1]["exit"], events[-1]["caseId"]) == ("end", "completed", 0, CASE)
    assert TOKEN not in out


@pytest.mark.parametrize("how, status", [("stop", 143), ("eof", 143), (signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_run_ends_cleanly_however_it_is_told_to(tmp_path, how, status):
    """The held call is not waited for, the session is ended, nothing is left running."""
    board = CalculationBoard()
    reached = threading.Event()

    def answer(call):
        if call.tool == "ApplyAction":
            reached.set()
            return SILENT
        return board(call)

    with gateway_in_thread(answer) as gateway:
        child = subprocess.Popen([sys.executable, "-X", "utf8", "-m", "rulith", "agent"], cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, text=True, env=door_environment(RULITH_LOCAL_EVENTS="stdio"))
        child.stdin.write(json.dumps({"protocol": "rulith-local-settings/1", "args": [*ARGUMENTS, "go"], "env": {
            "RULITH_URL": gateway.url, "RULITH_TOKEN": TOKEN, "RULITH_HOME": str(tmp_path)}}) + "\n")
        child.stdin.flush()
        assert reached.wait(30)
        if how == "stop":
            child.stdin.write('{"protocol":"rulith-local-control","operation":"stop"}\n')
            child.stdin.flush()
        elif how == "eof":
            child.stdin.close()
        else:
            child.send_signal(how)
        out = child.stdout.read()
        assert child.wait(30) == status
        for pipe in (child.stdin, child.stderr):
            pipe.close()
        assert gateway.deleted == ["s1"]
        assert "notifications/cancelled" not in gateway.methods
    last = json.loads(out.splitlines()[-1])["event"]
    assert (last["exit"], last["outcome"], last["caseId"]) == (status, "stopped", CASE)


# a chat

def test_a_chat_without_a_model_says_how_to_configure_one(tmp_path):
    done = door(tmp_path=tmp_path, RULITH_URL="http://127.0.0.1:9", RULITH_TOKEN="t")
    assert done.returncode == 2
    assert "RULITH_MODEL_URL" in done.stderr and "--driver board" in done.stderr


@contextmanager
def model_in_thread(replies):
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    model = ScriptedModel(replies)
    asyncio.run_coroutine_threadsafe(model.__aenter__(), loop).result(10)
    try:
        yield model
    finally:
        asyncio.run_coroutine_threadsafe(model.__aexit__(), loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        loop.close()


def test_a_chat_answers_line_by_line_and_ends_0_with_its_input(tmp_path):
    with gateway_in_thread(CalculationBoard()) as gateway, model_in_thread(["Hello.", [OPEN], "The Case is open."]) as model:
        done = door(tmp_path=tmp_path, text="hi\nopen it\n", RULITH_URL=gateway.url, RULITH_TOKEN=TOKEN, RULITH_MODEL_URL=model.url)
    assert done.returncode == 0, done.stderr
    assert done.stdout.index("Hello.") < done.stdout.index("The Case is open.")
    assert gateway.methods[-1] == "DELETE"


def test_a_chat_survives_an_error_of_the_model_service(tmp_path):
    with gateway_in_thread(CalculationBoard()) as gateway, model_in_thread([Whole(500, b"overloaded"), "Here again."]) as model:
        done = door(tmp_path=tmp_path, text="hi\nhi\n/quit\n", RULITH_URL=gateway.url, RULITH_TOKEN=TOKEN, RULITH_MODEL_URL=model.url)
    assert done.returncode == 0
    assert "HTTP 500" in done.stdout and "Here again." in done.stdout


def test_a_model_service_that_is_not_there_ends_with_status_14(run_job):
    result = run_job(CalculationBoard(), Options("go"), env={"RULITH_MODEL_URL": "http://127.0.0.1:9"})
    assert (result.exit, result.document()["errorCode"]) == (14, "model_unreachable")


@pytest.mark.parametrize("answer, status, code", [
    (Raw(503, b"starting"), 14, "gateway_unreachable"), (Raw(500, b"oops"), 1, "surface_answer"), (Raw(404, b"no"), 1, "surface_answer"),
    (Raw(200, b"<html>", {"content-type": "text/html"}), 1, "surface_answer"), (Raw(200, {"jsonrpc": "2.0", "id": 5, "result": {}}), 1, "surface_answer")])
def test_a_gateway_that_answers_something_else_is_told_apart_from_none(run_job, answer, status, code):
    def before(gateway):
        gateway.initialize = answer

    result = run_job(CalculationBoard(), before=before)
    assert (result.exit, result.document()["errorCode"]) == (status, code)
