"""`agent --serve` over real HTTP: the gate, the routes, one turn at a time, and what is left on the disk.

Source  the MCP surface, "HTTP service" and "History files"; the workbench surface, "Agent task endpoint"
"""

from __future__ import annotations

import asyncio
import json
import socket
from contextlib import asynccontextmanager

import pytest

from rulith.base.clock import SystemClock
from rulith.disk.conversations import Conversations
from rulith.net.client import HttpClient
from rulith.runtime.options import Options
from rulith.runtime.run import AgentRun, Told, serve_to_end
from tests.runtime.calculation_board import CASE, KEY, ROOT, CalculationBoard
from tests.runtime.scripted_gateway import AGENT, TOKEN, Raw, Say, ScriptedGateway, connection_replaced
from tests.runtime.scripted_model import ScriptedModel, Whole
from tests.runtime.test_turns import HONEST, OPEN, READ

SERVE_KEY = "0123456789abcdef0123456789abcdef"
PROOF = "a" * 64
FILE = {"id": "mat_" + "1" * 32, "name": "order.txt", "mediaType": "text/plain", "totalBytes": 12}
WAIT_S = 60.0


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Served:
    """A running service and what its callers need."""

    def __init__(self, run, url, gateway, model, heard):
        self.run, self.url, self.gateway, self.model, self.heard = run, url, gateway, model, heard
        self.http = HttpClient(SystemClock(), environ={})
        self.ended: asyncio.Future = None

    async def ask(self, method: str, path: str, body=None, *, key=SERVE_KEY, headers=None, raw=None):
        if "host" in (headers or {}):
            return await self._as_host(method, path, headers["host"])
        rows = {"content-type": "application/json", **({"x-rulith-serve": key} if key else {}), **(headers or {})}
        data = raw if raw is not None else b"" if body is None else json.dumps(body).encode()
        answer = await self.http.request(method, self.url + path, {name: value for name, value in rows.items() if value is not None}, data, timeout_s=WAIT_S)
        return answer.status, json.loads(answer.body) if answer.body else None

    async def _as_host(self, method: str, path: str, host: str):
        """A request that names another host than where it goes, as a rebound name would."""
        reader, writer = await asyncio.open_connection("127.0.0.1", int(self.url.rpartition(":")[2]))
        writer.write(f"{method} {path} HTTP/1.1\r\nhost: {host}\r\nx-rulith-serve: {SERVE_KEY}\r\nconnection: close\r\n\r\n".encode())
        head, _, answer = (await asyncio.wait_for(reader.read(), WAIT_S)).partition(b"\r\n\r\n")
        writer.close()
        return int(head.split()[1]), json.loads(answer)

    async def task(self, text="hello", **members):
        return await self.ask("POST", "/task", {"text": text, **members})

    async def runs(self):
        return (await self.ask("GET", "/runs"))[1]

    async def done(self, task_id: str) -> dict:
        """The record of a task, once it has ended."""
        return await self.until(lambda: next((row for row in self.run._service.document()["runs"] if row["id"] == task_id), None))

    async def until(self, found):
        deadline = asyncio.get_running_loop().time() + WAIT_S
        while not (value := found()):
            assert asyncio.get_running_loop().time() < deadline, "never happened"
            await asyncio.sleep(0.005)
        return value

    async def say(self, text="hello", **members) -> dict:
        status, receipt = await self.task(text, **members)
        assert status == 202, receipt
        return await self.done(receipt["id"])


@pytest.fixture
def serving(heard):
    @asynccontextmanager
    async def start(replies=(), answer=None, *, env=None, options=Options(serve=True), token=TOKEN, before=None, expect_ready=True):
        async with ScriptedGateway(answer or CalculationBoard()) as gateway, ScriptedModel(replies if callable(replies) else list(replies)) as model:
            if before:
                before(gateway)
            environ = {"RULITH_URL": gateway.url, "RULITH_TOKEN": token, "RULITH_HOST_WAIT_MS": "0", "RULITH_MODEL_URL": model.url,
                       "RULITH_SERVE_PORT": str(free_port()), "RULITH_SERVE_KEY": SERVE_KEY, **(env or {})}
            run = AgentRun(options, environ, Told(heard.emit, heard.log.append), clock=SystemClock())
            ready = asyncio.get_running_loop().create_future()
            work = asyncio.ensure_future(serve_to_end(run, lambda address: ready.done() or ready.set_result(address)))
            await asyncio.wait([ready, work], timeout=WAIT_S, return_when=asyncio.FIRST_COMPLETED)
            url = f"http://127.0.0.1:{environ['RULITH_SERVE_PORT']}"
            served = Served(run, url, gateway, model, heard)
            served.ended = work
            if expect_ready:
                assert ready.done(), work.result()
                assert ready.result().startswith(url)
            try:
                yield served
                assert model.refused == []
            finally:
                run.stop_serving()
                await asyncio.wait_for(work, WAIT_S)
                await served.http.close()
    return start


@pytest.fixture
def through(in_loop, serving):
    """Run `story(served)` against a service."""

    def go(story, *args, **kwargs):
        async def whole():
            async with serving(*args, **kwargs) as served:
                return await story(served)
        return in_loop(whole())
    return go


# the gate

@pytest.mark.parametrize("method, path, how, status", [
    ("GET", "/runs", {"key": None}, 403), ("GET", "/runs", {"key": "wrong"}, 403), ("GET", f"/runs?k={SERVE_KEY}", {"key": None}, 200),
    ("GET", f"/runs?k={SERVE_KEY}", {"key": "wrong"}, 403), ("GET", "/runs?k=wrong", {"key": None}, 403),
    ("GET", "/runs", {"headers": {"origin": "http://evil.example"}}, 403), ("GET", "/runs", {"headers": {"origin": "http://127.0.0.1:7780"}}, 200),
    ("GET", "/runs", {"headers": {"origin": "http://localhost"}}, 200), ("GET", "/runs", {"headers": {"origin": "null"}}, 403),
    ("GET", "/runs", {"headers": {"host": "evil.example"}}, 403), ("GET", "/runs", {"headers": {"host": "127.0.0.1.evil.example:7799"}}, 403),
    ("GET", "/runs", {"headers": {"host": "localhost:7799"}}, 200), ("POST", "/task", {"key": None}, 403),
    ("POST", f"/conversation/archive?k={SERVE_KEY}", {"key": None}, 403), ("POST", f"/turn/stop?k={SERVE_KEY}", {"key": None}, 403),
    ("GET", "/", {}, 404), ("GET", "/task", {}, 404), ("POST", "/runs", {}, 404), ("DELETE", "/task", {}, 404), ("GET", "/nothing", {"key": None}, 403),
])
def test_only_this_machine_and_only_with_the_key(through, method, path, how, status):
    async def story(served):
        found, body = await served.ask(method, path, **how)
        assert found == status, body
        if status >= 400:
            assert body["ok"] is False and body["errorCode"] == {403: "serve_gate", 404: "serve_route"}[status]
            assert SERVE_KEY not in json.dumps(body)
    through(story)


@pytest.mark.parametrize("headers, raw, status", [
    ({"content-type": "text/plain"}, b'{"text": "x"}', 403), ({"content-type": None}, b'{"text": "x"}', 403), ({}, b"{", 403), ({}, b"", 403),
    ({}, b'{"text": "a", "text": "b"}', 403), ({}, b'{"text": "x", "businessKey": {"n": NaN}}', 403), ({}, b"\xff", 403),
    ({}, b'{"text": "' + b"x" * 70_000 + b'"}', 403), ({"content-type": "application/json; charset=utf-8"}, b'{"text": "x"}', 202),
])
def test_a_body_that_is_not_one_small_json_object_is_not_taken(through, headers, raw, status):
    async def story(served):
        found, body = await served.ask("POST", "/task", headers=headers, raw=raw)
        assert found == status, body
        assert status == 202 or body["errorCode"] == "serve_body"
    through(story, ["hi"])


WRONG_TASKS = [
    ({}, "text"), ({"text": " "}, "text"), ({"text": 3}, "text"), ({"text": "x", "sessionKey": "k" * 129}, "sessionKey"),
    ({"text": "x", "sessionKey": ""}, "sessionKey"), ({"text": "x", "sessionKey": None}, "sessionKey"), ({"text": "x", "sesionKey": "k"}, "sesionKey"),
    ({"text": "x", "caseType": "Bad Type"}, "caseType"), ({"text": "x", "caseType": 3}, "caseType"), ({"text": "x", "caseType": ""}, "caseType"),
    ({"text": "x", "businessKey": {}}, "businessKey"), ({"text": "x", "businessKey": []}, "businessKey"), ({"text": "x", "businessKey": {"a": None}}, "'a'"),
    ({"text": "x", "caseId": "c" * 257}, "caseId"), ({"text": "x", "caseId": 1}, "caseId"), ({"text": "x", "requestId": "short"}, "requestId"),
    ({"text": "x", "requestId": "a" * 101}, "requestId"), ({"text": "x", "requestId": "blank blank blank blank"}, "requestId"),
    ({"text": "x", "requestId": None}, "requestId"), ({"text": "x", "attachments": {}}, "attachments"),
    ({"text": "x", "attachments": [FILE]}, "x-rulith-material-task-proof"), ([], "object"), ("x", "object"),
]


@pytest.mark.parametrize("body, named", WRONG_TASKS)
def test_a_wrong_task_is_refused_by_the_member_that_is_wrong(through, body, named):
    async def story(served):
        status, answer = await served.ask("POST", "/task", body)
        assert (status, answer["errorCode"]) == (400, "task_refused") and named in answer["teaching"]
        assert (await served.runs())["runs"] == []
    through(story)


@pytest.mark.parametrize("files, proof", [
    ([FILE] * 9, PROOF), ([FILE, FILE], PROOF), ([{**FILE, "id": "mat_x"}], PROOF), ([{**FILE, "totalBytes": 0}], PROOF), ([{**FILE, "totalBytes": True}], PROOF),
    ([{**FILE, "path": "/etc/passwd"}], PROOF), ([{"id": FILE["id"]}], PROOF), (["x"], PROOF), ([{**FILE, "digest": "x"}], PROOF), ([FILE], "xyz"), ([], PROOF),
])
def test_attachments_are_metadata_with_a_proof(through, files, proof):
    async def story(served):
        status, answer = await served.ask("POST", "/task", {"text": "x", "attachments": files}, headers={"x-rulith-material-task-proof": proof})
        assert (status, answer["errorCode"]) == (400, "task_refused")
    through(story)


def test_the_model_hears_the_names_of_files_and_nobody_hears_the_proof(through, tmp_path):
    async def story(served):
        status, receipt = await served.ask("POST", "/task", {"text": "read it", "attachments": [FILE]}, headers={"x-rulith-material-task-proof": PROOF})
        assert status == 202
        await served.done(receipt["id"])
        assert "order.txt (text/plain, 12 bytes, mat_" in served.model.words()
        told = json.dumps([served.model.requests, served.heard.events, await served.runs()], default=str)
        assert PROOF not in told
    through(story, ["I see its name."], env={"RULITH_CONVERSATION_DIR": str(tmp_path / "c")})
    assert not any(PROOF.encode() in path.read_bytes() for path in (tmp_path / "c").rglob("*") if path.is_file())


# tasks

def test_a_task_is_answered_and_leaves_a_record(through):
    async def story(served):
        status, receipt = await served.task("hello", sessionKey="s1")
        assert status == 202 and receipt["ok"] and receipt["sessionKey"] == "s1" and receipt["teaching"]
        record = await served.done(receipt["id"])
        assert (record["outcome"], record["note"], record["text"], record["board"]) == ("conversation", "Hi there.", "hello", AGENT)
        assert record["at"] <= record["startedAt"] <= record["endedAt"]
        document = await served.runs()
        assert document["ok"] and document["agentId"] == AGENT and document["url"] == served.url
        assert (document["concurrency"], document["slotsMax"], document["sessions"]) == (1, 64, 1)
        assert (document["running"], document["runningAll"], document["queued"]) == (None, [], [])
        assert [row["id"] for row in document["runs"]] == [receipt["id"]]
    through(story, ["Hi there."])


def test_a_greeting_sends_nothing_to_the_board(through):
    async def story(served):
        await served.say()
        assert served.gateway.methods == ["initialize", "notifications/initialized", "tools/list"]
    through(story, ["Hi."])


def test_a_whole_job_in_a_conversation_names_its_closed_case(through):
    async def story(served):
        record = await served.say("calculate")
        assert record["closedCases"] == [{"caseId": CASE, "root": ROOT, "disposition": "completed"}] and record["caseId"] == CASE
        assert "activeCaseId" not in record
    through(story, [*[list(step) for step in HONEST], "It is done."])


def test_an_open_case_is_named_as_active(through):
    async def story(served):
        record = await served.say("open it")
        assert (record["activeCaseId"], record["activeCaseIds"]) == (CASE, [CASE])
    through(story, [[OPEN], "It is open."])


def test_a_task_s_own_case_type_and_key_bind_the_model(through):
    async def story(served):
        await served.say("go", caseType="verified_calculation", businessKey=KEY)
        await served.say("go", sessionKey="other")
        assert served.gateway.sent("OpenCase") == [{"caseType": "verified_calculation", "businessKey": KEY}, {"caseType": "exploration"}]
    through(story, [[("OpenCase", {"caseType": "other"})], "x", [("OpenCase", {})], "y"])


def test_a_case_that_the_person_names_is_focused_first(through):
    async def story(served):
        await served.say("go on", caseId=CASE)
        assert served.gateway.sent("OpenCase") == [{"caseId": CASE}] and f"put the Case {CASE} into focus" in served.model.words()
    through(story, ["ok"])


def test_the_case_of_the_command_line_is_for_the_first_turn_only(through):
    async def story(served):
        await served.say("go on")
        await served.say("and now?")
        assert served.gateway.sent("OpenCase") == [{"caseId": CASE}]
    through(story, ["ok", "ok"], options=Options(serve=True, case_id=CASE))


def test_conversations_have_their_own_transcripts_and_cases(through):
    async def story(served):
        await served.say("open it", sessionKey="a")
        record = await served.say("what is open?", sessionKey="b")
        assert "activeCaseId" not in record and CASE not in served.model.words() and "open it" not in served.model.words()
        record = await served.say("and here?", sessionKey="a")
        assert record["activeCaseId"] == CASE and "open it" in served.model.words() and CASE in served.model.words()
    through(story, [[OPEN], "open", "nothing", "still open"])


def test_one_turn_at_a_time_in_the_order_they_came(through):
    order = []

    async def story(served):
        receipts = [(await served.task(f"number {number}", sessionKey="ab"[number % 2]))[1] for number in range(6)]
        for receipt in receipts:
            await served.done(receipt["id"])
        assert order == [f"number {number}" for number in range(6)]
        starts = [fields["task"] for fields in served.heard.of("task-start")]
        assert starts == [receipt["id"] for receipt in receipts]
        for done, start in zip(served.heard.of("task-done"), served.heard.of("task-start")):
            assert done["task"] == start["task"]

    def reply(body):
        order.append(body["messages"][-1]["content"].split("\n")[0])
        return "ok"
    through(story, reply)


def test_a_failed_task_is_recorded_and_the_service_goes_on(through):
    async def story(served):
        assert (await served.say("one"))["outcome"] == "model-error"
        assert (await served.say("two"))["note"] == "Here again."
        assert (await served.say("three"))["outcome"] == "model-error"
    through(story, [Whole(500, {"error": {"message": "overloaded"}}), "Here again.", ""])


def test_a_fault_of_the_program_ends_one_turn_and_is_told_without_its_details(through, monkeypatch, capsys):
    async def story(served):
        def broken(*_, **__):
            raise RuntimeError("secret detail")
        monkeypatch.setattr("rulith.runtime.turns.Turns.run", broken)
        record = await served.say("one")
        monkeypatch.undo()
        assert record["outcome"] == "error" and "secret" not in json.dumps(await served.runs())
        assert (await served.say("two"))["outcome"] == "conversation"
    through(story, ["fine"])
    assert "secret detail" in capsys.readouterr().err


def test_a_task_on_the_command_line_is_the_first_message(through):
    async def story(served):
        record = await served.until(lambda: next(iter(served.run._service.document()["runs"]), None))
        assert (record["text"], record["note"]) == ("do this first", "done")
    through(story, ["done"], options=Options("do this first", serve=True))


# events

async def read_events(served, wanted: int, path="/runs?stream=1", headers=None) -> list[dict]:
    """The first `wanted` events of a stream, read as they come."""
    found: list[dict] = []
    async with served.http.stream("GET", served.url + path, {"x-rulith-serve": SERVE_KEY, **(headers or {})}, b"", timeout_s=WAIT_S) as answer:
        assert answer.status == 200 and answer.headers.get("content-type") == "text/event-stream"
        text = ""
        async for chunk in answer:
            *whole, text = (text + chunk.decode()).split("\n\n")
            found += [json.loads(each.removeprefix("data: ")) for each in whole if each.startswith("data: ")]
            if len(found) >= wanted:
                break
    return found


@pytest.mark.parametrize("path, headers", [("/runs?stream=1", {}), ("/runs", {"accept": "text/event-stream"})])
def test_a_stream_begins_with_what_was_told_and_names_conversation_and_task(through, path, headers):
    async def story(served):
        record = await served.say("hello", sessionKey="s")
        events = await read_events(served, 10, path, headers)
        assert [event["type"] for event in events] == ["start", "task-queued", "slot-open", "task-start", "user", "round", "model-usage", "propose", "segment-end", "task-done"]
        assert all(event["t"].endswith("Z") and event["board"] == AGENT for event in events)
        assert all((event["session"], event["task"]) == ("s", record["id"]) for event in events[1:])
        assert events[4]["text"] == "hello"
    through(story, ["Hi."])


def test_what_happens_on_the_board_is_told_as_it_happens(through):
    board = CalculationBoard()
    ref = "art_" + "0" * 32

    def answer(call):
        if call.tool == "ReadArtifact":
            return Say({"accepted": True, "operations": [], "result": {"ref": ref, "mediaType": "text/plain", "encoding": "utf8", "data": "secret bytes",
                                                                       "offset": 0, "nextOffset": None, "totalBytes": 12, "complete": True, "truncated": False}}, focused=board.focused)
        return Raw(500, b"no") if call.tool == "QueryBoard" else board(call)

    async def story(served):
        await served.say("look", sessionKey="a")
        await served.say("open it", sessionKey="a")
        assert served.heard.of("focus")[-1]["cases"] == [{"caseId": CASE, "root": ROOT, "status": "running"}]
        (read,) = served.heard.of("artifact-read")
        assert (read["ref"], read["totalBytes"], read["complete"]) == (ref, 12, True) and "data" not in read
        assert served.heard.of("board-observation-unavailable")[0]["session"] == "a"
    through(story, [[("QueryBoard", {})], "It cannot be read.", [OPEN, ("ReadArtifact", {"ref": ref})], "Done."], answer)


def test_a_change_of_contract_ends_a_turn_as_blocked_and_not_the_service(through):
    def refuse(gateway):
        gateway.initialize_result = {"protocolVersion": "2024-01-01"}

    async def story(served):
        def gone(call):
            refuse(served.gateway)
            return Raw(404, b"")
        served.gateway.answer = gone
        record = await served.say("open it")
        assert record["outcome"] == "blocked" and served.heard.of("blocked")[0]["message"] in record["note"]
        assert (await served.say("hello", sessionKey="b"))["outcome"] == "conversation"
    through(story, [[OPEN], "hi"])


def test_a_listener_who_comes_late_is_told_how_much_it_missed(through):
    async def story(served):
        for number in range(2_600):
            served.run._service.journal.put("round", round=number)
        events = await read_events(served, 1_501)
        assert events[0]["type"] == "round" and events[-1]["round"] == 2_599
        assert len(events) <= 2_001
    through(story)


# asked twice

REQUEST = "request-id-0123456789"


@pytest.mark.parametrize("kept", [False, True])
def test_a_request_made_twice_is_one_task(through, tmp_path, kept):
    async def story(served):
        status, first = await served.task("hello", requestId=REQUEST)
        status, again = await served.task("hello", requestId=REQUEST)
        assert status == 202 and again["duplicate"] is True and again["id"] == first["id"] and again["sessionKey"] == first["sessionKey"]
        await served.done(first["id"])
        status, again = await served.task("hello", requestId=REQUEST)
        assert (status, again["state"]) == (202, "finished")
        assert len(served.model.requests) == 1
        status, refused = await served.task("something else", requestId=REQUEST)
        assert (status, refused["errorCode"]) == (409, "request_conflict")
    through(story, ["once"], env={"RULITH_CONVERSATION_DIR": str(tmp_path / "c")} if kept else {})


def test_a_request_id_alone_names_its_conversation(through):
    async def story(served):
        _, receipt = await served.task("hello", requestId=REQUEST)
        assert receipt["sessionKey"].startswith("ctx-") and len(receipt["sessionKey"]) == 36
        _, other = await served.task("hello")
        assert other["sessionKey"].startswith("ctx-") and other["sessionKey"] != receipt["sessionKey"]
    through(story, lambda body: "ok")


# slots

def test_the_conversation_idle_the_longest_gives_way_and_its_case_is_written_down(through):
    async def story(served):
        await served.say("open it", sessionKey="a")
        await served.say("hello", sessionKey="b")
        await served.say("hello", sessionKey="c")
        detached = next(row for row in (await served.runs())["runs"] if row["id"].startswith("detached-"))
        assert (detached["sessionKey"], detached["pendingCaseId"]) == ("a", CASE)
        assert served.heard.of("session-detached")[0]["pendingCaseId"] == CASE and (await served.runs())["sessions"] == 2
        assert served.gateway.sent("CloseCase") == []
    through(story, [[OPEN], "open", "hi", "hi"], env={"RULITH_SERVE_SLOTS_MAX": "2"})


def test_where_all_conversations_have_work_another_one_waits(through):
    gate = asyncio.Event()

    async def story(served):
        await served.task("one", sessionKey="a")
        await served.until(lambda: served.model.requests)
        assert (await served.task("two", sessionKey="b"))[0] == 202
        status, refused = await served.task("three", sessionKey="c")
        assert (status, refused["errorCode"]) == (429, "slots_busy")
        status, receipt = await served.task("four", sessionKey="a")
        assert status == 202
        gate.set()
        await served.done(receipt["id"])
        assert (await served.task("three", sessionKey="c"))[0] == 202
    slow(through, gate, story, env={"RULITH_SERVE_SLOTS_MAX": "2"})


def slow(through, gate, story, replies=lambda body: "ok", **more):
    """A service whose model answers only once `gate` is open."""

    async def whole(served):
        handle = served.model._handle
        original = served.model.replies

        async def waiting(request):
            served.model.requests.append(json.loads(request.body))
            await asyncio.wait_for(gate.wait(), WAIT_S)
            served.model.requests.pop()
            return await handle(request)
        served.model._server._shared.handler = waiting
        assert original
        try:
            return await story(served)
        finally:
            gate.set()
    return through(whole, replies, **more)


def test_a_queue_has_an_end(through, monkeypatch):
    gate = asyncio.Event()
    monkeypatch.setattr("rulith.runtime.service.TASKS_QUEUED_MAX", 2)

    async def story(served):
        await served.task("one", sessionKey="a")
        await served.until(lambda: served.model.requests)
        assert [(await served.task("more", sessionKey="a"))[0] for _ in range(3)] == [202, 202, 429]
        assert (await served.task("more", sessionKey="b"))[1]["errorCode"] == "queue_full"
    slow(through, gate, story)


@pytest.mark.parametrize("kept", [False, True])
def test_an_outcome_outlives_the_slot_of_its_conversation(through, tmp_path, kept):
    """What a conversation has not read is named when it comes back, though its transcript is gone."""
    board = CalculationBoard(outcomes={"read_input": ("running", "")})

    async def story(served):
        await served.say("read it", sessionKey="a")
        await served.say("hello", sessionKey="b")
        assert served.heard.of("slot-evicted")
        await served.say("and?", sessionKey="a")
        assert f"ApplyAction {READ[1]['action']}" in served.model.words().rpartition("Still without")[2]
    through(story, [[OPEN], [READ], "It runs.", "hi", "Still."], board,
            env={"RULITH_SERVE_SLOTS_MAX": "1", **(keep(tmp_path) if kept else {})})


def test_the_records_are_bounded(through):
    async def story(served):
        for number in range(5):
            await served.say(f"number {number}")
        assert [row["text"] for row in (await served.runs())["runs"]] == ["number 4", "number 3"]
    through(story, lambda body: "ok", env={"RULITH_SERVE_RUNS": "2"})


# stopping

def test_stopping_a_turn_aborts_the_model_and_keeps_the_conversation(through):
    gate = asyncio.Event()

    async def story(served):
        _, receipt = await served.task("one", sessionKey="a")
        await served.until(lambda: served.model.requests)
        status, stopped = await served.ask("POST", "/turn/stop", {"sessionKey": "a", "id": receipt["id"]})
        assert (status, stopped["state"]) == (200, "stopping")
        assert (await served.done(receipt["id"]))["outcome"] == "user-stopped"
        assert (await served.ask("POST", "/turn/stop", {"sessionKey": "a"}))[1]["state"] == "idle"
        gate.set()
        assert (await served.say("two", sessionKey="a"))["outcome"] == "conversation"
    slow(through, gate, story)


def test_stopping_during_a_call_lets_it_end_and_sends_nothing_more(through):
    entered, gate = asyncio.Event(), asyncio.Event()
    board = CalculationBoard()

    async def story(served):
        original = served.gateway._call

        async def held(request, message):
            if message["params"]["name"] == "OpenCase":
                entered.set()
                await asyncio.wait_for(gate.wait(), WAIT_S)
            return await original(request, message)
        served.gateway._call = held
        _, receipt = await served.task("go", sessionKey="a")
        await asyncio.wait_for(entered.wait(), WAIT_S)
        assert (await served.ask("POST", "/turn/stop", {"sessionKey": "a"}))[1]["state"] == "stopping"
        gate.set()
        record = await served.done(receipt["id"])
        assert record["outcome"] == "user-stopped" and record["activeCaseId"] == CASE
        assert [call.tool for call in served.gateway.calls] == ["OpenCase"] and len(served.model.requests) == 1
        assert (await served.say("and now?", sessionKey="a"))["outcome"] == "conversation"
        results = [message["content"] for message in served.model.requests[-1]["messages"] if message["role"] == "tool"]
        assert CASE in results[0] and "turn_stopped" in results[1]
    through(story, [[OPEN, READ], "It is open."], board)


def test_a_task_that_waits_can_be_taken_back(through):
    gate = asyncio.Event()

    async def story(served):
        await served.task("one", sessionKey="a")
        await served.until(lambda: served.model.requests)
        _, second = await served.task("two", sessionKey="a")
        assert (await served.ask("POST", "/turn/stop", {"sessionKey": "a", "id": second["id"]}))[1]["state"] == "stopped"
        record = await served.done(second["id"])
        assert (record["outcome"], record["startedAt"]) == ("not-started", None)
    slow(through, gate, story)


@pytest.mark.parametrize("path, body", [("/turn/stop", {}), ("/turn/stop", {"sessionKey": 3}), ("/turn/stop", {"sessionKey": "a", "id": 3}),
                                        ("/turn/stop", {"sessionKey": "a", "more": 1}), ("/turn/stop", []),
                                        ("/conversation/archive", {"sessionKey": "a"}), ("/conversation/archive", {"sessionKey": "a", "archived": "yes"}),
                                        ("/conversation/archive", {"archived": True}), ("/conversation/archive", {"sessionKey": "k" * 129, "archived": True})])
def test_a_wrong_word_about_a_conversation_is_refused(through, path, body):
    async def story(served):
        status, answer = await served.ask("POST", path, body)
        assert (status, answer["errorCode"]) == (400, "task_refused")
    through(story)


def test_a_long_body_stops_nothing(through):
    async def story(served):
        assert (await served.ask("POST", "/turn/stop", raw=b'{"sessionKey": "' + b"x" * 5_000 + b'"}'))[0] == 403
    through(story)


# the archive

@pytest.mark.parametrize("kept", [False, True])
def test_an_archived_conversation_takes_no_message_until_it_is_back(through, tmp_path, kept):
    async def story(served):
        await served.say("open it", sessionKey="a")
        assert (await served.ask("POST", "/conversation/archive", {"sessionKey": "a", "archived": True}))[1] == {
            "ok": True, "sessionKey": "a", "archived": True, "state": "archived"}
        status, refused = await served.task("more", sessionKey="a")
        assert (status, refused["errorCode"]) == (409, "conversation_archived")
        assert (await served.ask("POST", "/conversation/archive", {"sessionKey": "a", "archived": False}))[1]["state"] == "active"
        assert (await served.task("more", sessionKey="a"))[0] == 202
        assert served.gateway.sent("CloseCase") == []
    through(story, [[OPEN], "open", "again"], env={"RULITH_CONVERSATION_DIR": str(tmp_path / "c")} if kept else {})


def test_archiving_waits_for_the_turn_under_way(through):
    gate = asyncio.Event()

    async def story(served):
        _, receipt = await served.task("one", sessionKey="a")
        await served.until(lambda: served.model.requests)
        assert (await served.ask("POST", "/conversation/archive", {"sessionKey": "b", "archived": True}))[1]["state"] == "archived"
        assert "task" not in served.heard.of("conversation-archived").pop()      # it is not about the turn under way
        assert (await served.ask("POST", "/conversation/archive", {"sessionKey": "a", "archived": True}))[1]["state"] == "pending"
        assert (await served.task("two", sessionKey="a"))[0] == 409
        gate.set()
        assert (await served.done(receipt["id"]))["outcome"] == "conversation"
        await served.until(lambda: [each for each in served.heard.of("conversation-archived") if each["session"] == "a"])
        assert (await served.task("two", sessionKey="a"))[0] == 409
    slow(through, gate, story)


# ends

def ended(served):
    return asyncio.wait_for(asyncio.shield(served.ended), WAIT_S)


def test_a_takeover_ends_the_service_and_names_what_was_never_started(through, tmp_path):
    def answer(call):
        return Raw(409, connection_replaced(call.id))

    async def story(served):
        receipts = [(await served.task(text, sessionKey="a", requestId=f"request-number-{text}-x"))[1] for text in ("one", "two")]
        result = await ended(served)
        assert (result.exit, result.document()["errorCode"]) == (4, "connection_replaced")
        records = {row["id"]: row for row in served.run._service.document()["runs"]}
        assert records[receipts[0]["id"]]["outcome"] == "error"
        assert records[receipts[1]["id"]]["outcome"] == "not-started" and "never started" in records[receipts[1]["id"]]["note"]
        assert served.gateway.sent("OpenCase") == [{"caseType": "verified_calculation", "businessKey": KEY}]
    through(story, [[OPEN]], answer, env={"RULITH_CONVERSATION_DIR": str(tmp_path / "c")})


def test_a_credential_rejected_while_serving_ends_3(through):
    def answer(call):
        return Raw(401, {"jsonrpc": "2.0", "id": None, "error": {"code": -32000, "message": "no", "data": {"reason": "unauthenticated"}}})

    async def story(served):
        await served.task("one")
        assert (await ended(served)).exit == 3
    through(story, [[OPEN]], answer)


@pytest.mark.parametrize("status, make", [
    (3, {"token": "wrong"}), (2, {"options": Options(serve=True, driver="board", case_type="verified_calculation")}),
    (2, {"env": {"RULITH_MODEL_URL": ""}}), (2, {"env": {"RULITH_SERVE_KEY": "short"}}), (14, {"env": {"RULITH_URL": "http://127.0.0.1:9"}}),
    (2, {"env": {"RULITH_CONVERSATION_DIR": "c", "RULITH_CONVERSATION_OWNER": "{}"}}),
])
def test_what_keeps_a_service_from_starting_has_its_own_status(through, status, make):
    async def story(served):
        result = await ended(served)
        assert result.exit == status, result.message
    through(story, expect_ready=False, **make)


def test_a_port_in_use_is_refused(through):
    async def story(served):
        result = await ended(served)
        assert (result.exit, result.document()["errorCode"]) == (1, "port_in_use")
        assert served.gateway.methods == []
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        through(story, expect_ready=False, env={"RULITH_SERVE_PORT": str(taken.getsockname()[1])})


def test_a_service_that_is_told_to_end_leaves_its_turn_where_it_is(through):
    gate = asyncio.Event()

    async def story(served):
        receipts = [(await served.task(text, sessionKey="a"))[1] for text in ("one", "two")]
        await served.until(lambda: served.model.requests)
        served.run.stop_serving()
        result = await ended(served)
        assert (result.exit, result.outcome) == (0, "stopped")
        records = {row["id"]: row["outcome"] for row in served.run._service.document()["runs"]}
        assert [records[receipt["id"]] for receipt in receipts] == ["interrupted", "not-started"]
        assert served.gateway.deleted == ["s1"]
    slow(through, gate, story)


def test_a_service_that_drains_takes_no_task(through):
    async def story(served):
        served.run._service._draining = "the gateway does not accept its token"
        status, refused = await served.task("one")
        assert (status, refused["errorCode"]) == (503, "serve_draining") and "does not accept its token" in refused["teaching"]
        served.run._service._draining = ""
    through(story)


# what is kept

def keep(tmp_path) -> dict[str, str]:
    return {"RULITH_CONVERSATION_DIR": str(tmp_path / "c"), "RULITH_CONVERSATION_OWNER": json.dumps(
        {"origin": "http://gateway", "accountId": "acc", "agentId": AGENT})}


OWNER = {"origin": "http://gateway", "accountId": "acc", "agentId": AGENT}


def kept_turns(tmp_path, key="a") -> list[dict]:
    store = Conversations.open(tmp_path / "c", OWNER, clock=SystemClock())
    try:
        return store.turns_of(key)
    finally:
        store.close()


def test_a_saved_turn_holds_what_was_said_and_no_tool_result(through, tmp_path):
    async def story(served):
        await served.say("open it", sessionKey="a", requestId=REQUEST)
    through(story, [[OPEN], "The Case is open."], env=keep(tmp_path))
    (turn,) = kept_turns(tmp_path)
    assert (turn["state"], turn["outcome"], turn["text"], turn["caseIds"]) == ("finished", "conversation", "open it", [CASE])
    assert [reply["text"] for reply in turn["replies"]] == ["The Case is open."]
    assert turn["usage"] == {"calls": 2, "durationMs": turn["usage"]["durationMs"], "inputTokens": 6, "outputTokens": 4, "unknownUsageCalls": 0}
    everything = "".join(path.read_text() for path in (tmp_path / "c").rglob("*.json"))
    assert "position" not in everything and TOKEN not in everything and "s1" not in everything.replace('"sessionKey": "a"', "")


def test_a_conversation_goes_on_after_a_restart_as_history(through, tmp_path):
    async def first(served):
        await served.say("my name is Ada", sessionKey="a")

    async def second(served):
        await served.say("who am I?", sessionKey="a", historyModelDestination=served.model.url)
        words = served.model.words()
        assert "worked on" not in words
        assert "History of this conversation" in words and "The person: my name is Ada" in words and "You: Hello Ada." in words
        assert words.index("Ada") < words.index("who am I?") and served.gateway.calls == []
        assert served.heard.of("user")[-1]["text"] == "who am I?"
        await served.say("and again?", sessionKey="a", historyModelDestination=served.model.url)
        assert served.model.words().count("History of this conversation") == 1
    through(first, ["Hello Ada."], env=keep(tmp_path))
    through(second, ["Ada.", "Ada."], env=keep(tmp_path))


def test_an_interrupted_request_is_not_run_again(through, tmp_path):
    gate = asyncio.Event()

    async def first(served):
        await served.task("one", sessionKey="a", requestId=REQUEST)
        await served.until(lambda: served.model.requests)

    async def second(served):
        status, refused = await served.task("one", sessionKey="a", requestId=REQUEST)
        assert (status, refused["errorCode"], refused["state"]) == (409, "request_interrupted", "interrupted")
        assert served.model.requests == []
    slow(through, gate, first, env=keep(tmp_path))
    assert kept_turns(tmp_path)[0]["state"] == "interrupted"
    through(second, env=keep(tmp_path))


def test_another_model_service_hears_the_earlier_turns_only_when_the_person_says_so(through, tmp_path):
    async def first(served):
        await served.say("a secret", sessionKey="a")

    async def second(served):
        status, refused = await served.task("go on", sessionKey="a")
        assert (status, refused["errorCode"], refused["state"]) == (409, "model_confirmation", "model-confirmation")
        assert refused["modelService"] == served.model.url
        assert (await served.task("go on", sessionKey="a", historyModelDestination="http://elsewhere"))[0] == 409
        record = await served.say("go on", sessionKey="a", historyModelDestination=served.model.url)
        assert record["outcome"] == "conversation" and "a secret" in served.model.words()
    through(first, ["ok"], env=keep(tmp_path))
    through(second, ["ok"], env=keep(tmp_path))


def test_a_store_of_another_agent_ends_5(through, tmp_path):
    async def story(served):
        result = await ended(served)
        assert (result.exit, result.document()["errorCode"]) == (5, "history_unusable")
    owner = json.dumps({**OWNER, "agentId": "agent_2"})
    through(story, expect_ready=False, env={**keep(tmp_path), "RULITH_CONVERSATION_OWNER": owner})


def test_a_damaged_store_ends_5_and_says_what_to_do(through, tmp_path):
    async def first(served):
        await served.say("one", sessionKey="a")

    async def second(served):
        result = await ended(served)
        assert result.exit == 5 and "Nothing was changed" in result.message and path.name in result.message
        assert served.model.requests == []
    through(first, ["ok"], env=keep(tmp_path))
    (path,) = (tmp_path / "c").rglob("*.turn.json")
    path.write_text("{")
    through(second, expect_ready=False, env=keep(tmp_path))


def test_what_cannot_be_kept_is_not_accepted(through, tmp_path, monkeypatch):
    async def story(served):
        monkeypatch.setattr("rulith.disk.conversations.HISTORY_ACTIVE_TURNS_MAX", 0)
        status, refused = await served.task("one", sessionKey="a")
        assert (status, refused["errorCode"]) == (507, "history_full")
        assert (await served.runs())["queued"] == [] and served.model.requests == []
    through(story, env=keep(tmp_path))


def test_a_disk_that_fails_during_a_turn_ends_the_service_5(through, tmp_path, monkeypatch):
    gate = asyncio.Event()

    async def story(served):
        receipts = [(await served.task(text, sessionKey="a"))[1] for text in ("one", "three")]
        await served.until(lambda: served.model.requests)

        def full(*_, **__):
            raise OSError(28, "No space left on device")
        monkeypatch.setattr("rulith.disk.atomic.os.replace", full)
        status, refused = await served.task("two", sessionKey="a")
        assert (status, refused["errorCode"]) == (507, "disk_full")
        _, third = receipts
        status, refused = await served.ask("POST", "/turn/stop", {"sessionKey": "a", "id": third["id"]})
        assert (status, refused["errorCode"]) == (507, "history_unusable")
        gate.set()
        result = await ended(served)
        monkeypatch.undo()
        assert result.exit == 5
    slow(through, gate, story, env=keep(tmp_path))


def test_an_outcome_that_no_model_read_is_told_after_a_restart(through, tmp_path):
    """A call still running at the end is kept by label, and the next message of its conversation names it."""
    board = CalculationBoard(outcomes={"read_input": ("running", "")})

    async def first(served):
        await served.say("read it", sessionKey="a")

    async def second(served):
        await served.say("and?", sessionKey="a", historyModelDestination=served.model.url)
        assert f"ApplyAction {READ[1]['action']}" in served.model.words().rpartition("Still without")[2]
    through(first, [[OPEN], [READ], "It runs."], board, env=keep(tmp_path))
    rows = json.loads(next((tmp_path / "c").rglob("_unread-outcomes.json")).read_text())["conversations"]["a"]
    assert rows[0]["state"] == "running" and set(rows[0]) <= {"tool", "label", "at", "state", "withheld", "unread"}
    through(second, ["Still running."], CalculationBoard(), env=keep(tmp_path))
