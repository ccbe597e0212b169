"""`agent --serve` of the built file on a real home: whole jobs, kills, restarts, and two programs at once.

Source  the MCP surface, "HTTP service" and "History files"; the design, "Cron"
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.product.kept_home import end, running_home, wait
from tests.product.scripted_models import HonestModel, ScriptedEndpoint

KEY = "0123456789abcdef0123456789abcdef"
JOB = {"caseType": "verified_calculation", "businessKey": {"job_id": "calc-001"}}
REQUEST = "request-0123456789"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Served:
    def __init__(self, process: subprocess.Popen, port: int) -> None:
        self.process, self.url = process, f"http://127.0.0.1:{port}"

    def ask(self, method: str, path: str, body: object = None) -> tuple[int, dict]:
        request = urllib.request.Request(self.url + path, None if body is None else json.dumps(body).encode(),
                                         {"content-type": "application/json", "x-rulith-serve": KEY}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=20) as answer:
                return answer.status, json.loads(answer.read())
        except urllib.error.HTTPError as refused:
            return refused.code, json.loads(refused.read())

    def task(self, text: str, **members: object) -> tuple[int, dict]:
        return self.ask("POST", "/task", {"text": text, "sessionKey": "orders", **members})

    def record(self, task_id: str) -> dict:
        return wait(lambda: next((row for row in self.ask("GET", "/runs")[1]["runs"] if row["id"] == task_id), None), "the end of the turn")


@contextmanager
def serving(product, home, model: ScriptedEndpoint, scratch: Path, **more: str) -> Iterator[Served]:
    """`agent --serve` for the only profile of `home`."""
    port = free_port()
    env = {"PATH": os.environ["PATH"], "RULITH_HOME": str(home.path), "RULITH_MODEL_URL": model.url("openai"), "RULITH_MODEL": "scripted",
           "RULITH_MAX_ROUNDS": "20", "RULITH_SERVE_PORT": str(port), "RULITH_SERVE_KEY": KEY, **more}
    log = open(scratch / "agent.log", "ab")
    process = subprocess.Popen(product.command("agent", "--serve"), cwd=scratch, env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    served = Served(process, port)

    def is_ready() -> bool:
        assert process.poll() is None, (scratch / "agent.log").read_text("utf-8")
        try:
            return bool(served.ask("GET", "/runs")[1].get("agentId"))
        except OSError:
            return False
    try:
        wait(is_ready, "the service to listen")
        yield served
    finally:
        if process.poll() is None:
            end(process)
        log.close()


def test_a_served_job_is_done_once_and_its_conversation_outlives_the_service(product, output, tmp_path: Path) -> None:
    with running_home(product, tmp_path) as home, ScriptedEndpoint(HonestModel("calc-001")) as model:
        with serving(product, home, model, tmp_path) as served:
            status, receipt = served.task("Calculate calc-001.", requestId=REQUEST, **JOB)
            assert status == 202, receipt
            record = served.record(receipt["id"])
            assert record["outcome"] == "conversation" and [row["disposition"] for row in record["closedCases"]] == ["completed"], record
            assert home.writes() == 1 and output(home.folder)["total_cents"] == 9593
            overlap = product.run("agent", "--quiet", "--case-type", "verified_calculation", "--business-key", '{"job_id":"calc-001"}', "again",
                                  cwd=tmp_path, env={"RULITH_HOME": str(home.path)})
            assert overlap.status == 15, overlap
            served.process.send_signal(signal.SIGTERM)
            assert served.process.wait(30) == 143
        asked = len(model.requests)
        with serving(product, home, model, tmp_path) as served:
            status, again = served.task("Calculate calc-001.", requestId=REQUEST, **JOB)
            assert (status, again["duplicate"], again["state"], again["id"]) == (202, True, "finished", receipt["id"])
            assert len(model.requests) == asked
            _, receipt = served.task("What did you do?")
            served.record(receipt["id"])
            words = json.dumps(model.requests[-1][2])
            assert "History of this conversation" in words and "Calculate calc-001." in words
            assert home.writes() == 1
            served.process.send_signal(signal.SIGINT)
            assert served.process.wait(30) == 130
        said = (tmp_path / "agent.log").read_text("utf-8")
        assert KEY not in said and home.secrets("agent")["RULITH_TOKEN"] not in said and "Traceback" not in said, said


def test_a_service_killed_in_a_turn_runs_it_never_again(product, tmp_path: Path) -> None:
    """kill -9 while the model thinks: the turn is interrupted, its request is refused, the conversation goes on."""
    asked, may_answer = threading.Event(), threading.Event()

    def brain(seen):
        asked.set()
        if "slowly" in " ".join(seen.words[-1:]):
            may_answer.wait(60)
        return "Here I am."

    with running_home(product, tmp_path, worker=False) as home, ScriptedEndpoint(brain) as model:
        try:
            with serving(product, home, model, tmp_path) as served:
                assert served.task("Think slowly.", requestId=REQUEST)[0] == 202
                assert asked.wait(30)
                served.process.kill()
                served.process.wait(20)
            may_answer.set()
            with serving(product, home, model, tmp_path) as served:
                status, refused = served.task("Think slowly.", requestId=REQUEST)
                assert (status, refused["errorCode"], refused["state"]) == (409, "request_interrupted", "interrupted")
                _, receipt = served.task("Are you there?")
                assert served.record(receipt["id"])["note"] == "Here I am."
        finally:
            may_answer.set()


def test_two_runs_of_one_key_at_once_leave_one_case(product, output, tmp_path: Path) -> None:
    """Two programs with one token ask for the same job at the same moment; one is replaced, and there is one Case and one write."""
    with running_home(product, tmp_path) as home:
        env = {"PATH": os.environ["PATH"], "RULITH_URL": home.url, "RULITH_TOKEN": home.secrets("agent")["RULITH_TOKEN"], "RULITH_HOME": str(tmp_path / "none")}
        words = ("agent", "--quiet", "--driver", "board", "--case-type", "verified_calculation", "--business-key", '{"job_id":"calc-001"}', "go")
        for _ in range(2):
            both = [subprocess.Popen(product.command(*words), cwd=tmp_path, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                     stderr=subprocess.STDOUT) for _ in range(2)]
            ends = [(process.communicate(timeout=90)[0].decode(), process.returncode) for process in both]
            assert all(status in (0, 4, 10, 12) for _, status in ends), ends
        last = product.run(*words, cwd=tmp_path, env=env)
        assert last.status in (0, 10), last
        assert home.writes() == 1 and output(home.folder)["total_cents"] == 9593
        console = home.console(tmp_path)
        live, closed = (console.ask(f"cases?show={show}")["caseList"]["rows"] for show in ("live", "closed"))
        assert (len(live), len(closed)) == (0, 1), (live, closed)


@pytest.mark.parametrize("how, status", [("stop", 0), ("eof", 0)])
def test_a_parent_ends_a_service_with_0(product, tmp_path: Path, how: str, status: int) -> None:
    """Stdio mode: settings come on the first line, and the key that a parent chose is said nowhere."""
    with running_home(product, tmp_path, worker=False) as home, ScriptedEndpoint(lambda seen: "Hello.") as model:
        port = free_port()
        env = {"RULITH_URL": home.url, "RULITH_TOKEN": home.secrets("agent")["RULITH_TOKEN"], "RULITH_HOME": str(home.path),
               "RULITH_MODEL_URL": model.url("openai"), "RULITH_SERVE_PORT": str(port), "RULITH_SERVE_KEY": KEY}
        with open(tmp_path / "agent.log", "wb") as log:
            child = subprocess.Popen(product.command("agent"), cwd=tmp_path, env={"PATH": os.environ["PATH"], "RULITH_LOCAL_EVENTS": "stdio"},
                                     stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True)
            child.stdin.write(json.dumps({"protocol": "rulith-local-settings/1", "args": ["--serve"], "env": env}) + "\n")
            child.stdin.flush()
            served = Served(child, port)
            first = json.loads(child.stdout.readline())["event"]
            assert first["type"] == "start" and first["agentId"]
            _, receipt = wait(lambda: (lambda answer: answer if answer[0] == 202 else None)(served.task("hello")), "the service to take a task")
            assert served.record(receipt["id"])["note"] == "Hello."
            if how == "stop":
                child.stdin.write('{"protocol":"rulith-local-control","operation":"stop"}\n')
                child.stdin.flush()
            else:
                child.stdin.close()
            events = [json.loads(line)["event"] for line in child.stdout]
            assert child.wait(30) == status
            child.stdout.close()
            if how == "stop":
                child.stdin.close()
        assert events[-1]["type"] == "end" and events[-1]["exit"] == status
        assert {"task-queued", "task-start", "task-done"} <= {event["type"] for event in events}
        assert KEY not in json.dumps(events) + (tmp_path / "agent.log").read_text("utf-8")


def test_a_second_look_and_a_budget_hold_on_a_real_board(product, tmp_path: Path) -> None:
    """A model leaves its Case open; the reviewer's doubt becomes an assertion there; then the day's budget is spent."""
    def brain(seen):
        if "review the work of another program" in seen.system:
            return "FINDING: the order was never read"
        return [("OpenCase", {"caseType": "verified_calculation", "businessKey": {"job_id": "calc-001"}})] if not seen.results else "I stop here."

    with running_home(product, tmp_path, worker=False) as home, ScriptedEndpoint(brain) as model:
        env = {"RULITH_HOME": str(home.path), "RULITH_MODEL_URL": model.url("openai"), "RULITH_MODEL": "scripted", "RULITH_BUDGET": "rounds=6"}
        words = ("agent", "--json", "--shadow", "--case-type", "verified_calculation", "--business-key", '{"job_id":"calc-001"}', "Calculate calc-001.")
        first = product.run(*words, cwd=tmp_path, env=env)
        result = json.loads(first.out)
        assert (first.status, result["outcome"], result["shadow"]) == (12, "stopped", {"state": "findings", "findings": ["the order was never read"]}), first
        facts = json.dumps(home.console(tmp_path).ask(f"case?agent={home.state()['agents'][0]['id']}&case={result['caseId']}"))
        assert "shadow_finding" in facts and "the order was never read" in facts
        second = product.run(*words, cwd=tmp_path, env=env)
        result = json.loads(second.out)
        assert (second.status, result["outcome"], result.get("errorCode")) == (12, "stuck", "budget_spent"), second
        assert json.loads((home.instance / "agent-budget.json").read_text("utf-8"))["used"]["rounds"] == 6 and len(model.requests) == 6
