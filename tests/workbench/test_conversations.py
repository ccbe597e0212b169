"""A person talks to an Agent through the workbench: real processes, a scripted model service.

Source  the workbench surface, "Conversations", "Agent task endpoint"; the design, D11
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import urllib.error
import urllib.request

import pytest

from rulith.base.clock import SystemClock
from rulith.disk.locks import take_lock
from tests.workbench.talk_model import HOSTILE, TalkModel
from tests.workbench.test_start_and_stop import command

pytestmark = [pytest.mark.timeout(240), pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")]
WAIT_S = 60


def until(condition):
    clock, pause = SystemClock(), threading.Event()
    deadline = clock.monotonic_s() + WAIT_S
    while not (found := condition()):
        assert clock.monotonic_s() < deadline, "it did not happen in time"
        pause.wait(0.05)
    return found


def _bytes(body):
    """As a browser writes JSON: letters as they are, half a surrogate pair escaped."""
    return json.dumps(body, ensure_ascii=False).encode("utf-8", "backslashreplace")


class Desk:
    """`rulith start` of a home, asked as a page asks it."""

    def __init__(self, home) -> None:
        self.home = home
        self.process = subprocess.Popen(**command("start", "--home", str(home), "--no-browser"), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        found = next(match for line in self.process.stdout if (match := re.search(r"(http://127\.0\.0\.1:\d+)/\?k=(\S+)", line)))
        self.origin, key = found[1], found[2]
        self.token = key
        self.token = self.ask("POST", "/api/token", {})[1]["token"]
        self.id = until(lambda: self.ask("GET", "/api/state")[1]["instances"])[0]["id"]

    def ask(self, method, path, body=None):
        request = urllib.request.Request(self.origin + path, None if body is None else _bytes(body), method=method,
                                         headers={"content-type": "application/json", "x-rulith-manager": self.token, "origin": self.origin})
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return answer.status, json.loads(answer.read())
        except urllib.error.HTTPError as refused:
            return refused.code, json.loads(refused.read())

    def get(self, path):
        return self.ask("GET", f"/i/{self.id}/{path}")[1]

    def post(self, path, body):
        return self.ask("POST", f"/i/{self.id}/{path}", body)

    def talk(self):
        return self.ask("GET", "/api/state")[1]["instances"][0]["agent"]["talk"]

    def start_agent(self, model):
        assert self.post("model", {"url": model.url, "name": "scripted", "key": "", "clearKey": False, "thinking": "standard", "toolsAsText": False, "maxOutputTokens": 1000})[0] == 200
        until(lambda: self.ask("GET", "/api/state")[1]["gateway"]["state"] == "online")
        status, answer = self.post("agent", {"operation": "start"})
        assert status == 200, answer
        until(lambda: self.talk()["state"] == "online")

    def turns(self, session="orders"):
        return self.get(f"conversation?session={session}")["turns"]

    def ended(self, number=0):
        return until(lambda: [turn for turn in self.turns() if turn["state"] == "ended"][number:])[0]

    def send(self, text, request_id, **more):
        return self.post("task", {"requestId": request_id, "sessionKey": "orders", "text": text, **more})

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.stdout.close()
        return self.process.wait(60)


@pytest.fixture
def desk(tmp_path):
    made = Desk(tmp_path / "home")
    yield made
    if made.process.poll() is None:
        assert made.end() == 0


def test_a_message_is_answered_with_its_calls_and_is_there_after_a_restart(desk):
    with TalkModel() as model:
        desk.start_agent(model)
        status, receipt = desk.send("job calc-talk", "request-0000000001")
        assert status == 202 and receipt["sessionKey"] == "orders"
        turn = desk.ended()
        said = [part["text"] for part in turn["parts"] if part["kind"] == "said"]
        steps = [(part["label"], part["state"]) for part in turn["parts"] if part["kind"] == "step"]
        assert (turn["outcome"], turn["problem"], said) == ("conversation", "", ["The Case is open."])
        assert ("OpenCase verified_calculation", "done") in steps
        assert turn["caseId"] in turn["parts"][0]["output"]
        again = desk.send("job calc-talk", "request-0000000001")
        assert again[1]["duplicate"] is True and len(model.requests) == 2
        assert desk.send("another text", "request-0000000001")[1]["errorCode"] == "request_conflict"
        assert desk.send("hello", "request-0000000002")[0] == 202
        second = desk.ended(1)
        assert HOSTILE in second["parts"][0]["text"]
        assert [(row["sessionKey"], row["title"], row["turns"]) for row in desk.get("conversations")["conversations"]] == [("orders", "job calc-talk", 2)]
        assert desk.post("demo", {"caseType": "verified_calculation", "jobId": None})[1]["errorCode"] == "agent_started"
        assert desk.end() == 0
        later = Desk(desk.home)
        try:
            assert [turn["text"] for turn in later.turns()] == ["job calc-talk", "hello"]
            assert later.turns()[1]["parts"] == [{"n": 1, "kind": "said", "text": second["parts"][0]["text"]}]
            assert later.send("more", "request-0000000003")[1]["errorCode"] == "agent_not_ready"
        finally:
            assert later.end() == 0


def test_a_turn_is_stopped_and_a_refusing_model_is_told_in_its_words(desk):
    with TalkModel() as model:
        desk.start_agent(model)
        assert desk.send("slow question", "request-0000000001")[0] == 202
        until(lambda: any("one moment" in str(part.get("text")) for turn in desk.turns() for part in turn["parts"]))
        assert desk.post("turn/stop", {"sessionKey": "orders"})[1]["state"] == "stopping"
        assert desk.ended()["outcome"] == "user-stopped"
        assert desk.post("turn/stop", {"sessionKey": "orders"})[1]["state"] == "idle"
        desk.send("refuse me", "request-0000000002")
        refused = desk.ended(1)
        assert refused["outcome"] == "model-error" and "this key opens nothing" in refused["problem"]
        assert desk.post("conversation/archive", {"sessionKey": "orders", "archived": True})[1]["state"] == "archived"
        assert desk.get("conversations")["conversations"][0]["archived"] is True
        assert desk.post("agent", {"operation": "stop"})[0] == 200
        until(lambda: desk.talk()["state"] == "stopped")


def test_a_killed_agent_leaves_its_turn_interrupted_and_is_started_again(desk):
    with TalkModel() as model:
        desk.start_agent(model)
        desk.send("slow question", "request-0000000001")
        until(lambda: any(turn["state"] == "running" for turn in desk.turns()))
        pid = desk.talk()["pid"]
        os.kill(pid, signal.SIGKILL)
        assert desk.ended()["outcome"] == "interrupted"
        until(lambda: desk.talk()["state"] == "online" and desk.talk()["pid"] != pid)
        model.go.set()
        assert desk.send("slow question", "request-0000000001")[1]["errorCode"] == "request_interrupted"
        assert desk.send("hello", "request-0000000002")[0] == 202
        assert desk.ended(1)["outcome"] == "conversation"


def test_without_a_model_the_agent_is_not_started_and_says_what_is_missing(desk):
    status, answer = desk.post("agent", {"operation": "start"})
    assert (status, answer["errorCode"]) == (409, "agent_not_ready") and "no model is configured" in answer["happened"]
    assert desk.post("agent", {"operation": "dance"})[1]["errorCode"] == "agent_operation"
    assert desk.send("hello", "request-0000000001")[1]["errorCode"] == "agent_not_ready"
    assert desk.post("task", {"text": "no request id"})[1]["errorCode"] == "body_field"
    assert desk.get("conversations") == {"ok": True, "conversations": [], "total": 0, "offset": 0, "hasMore": False}


def test_while_another_run_holds_the_agent_it_is_not_started_and_says_which(desk):
    with TalkModel() as model:
        desk.start_agent(model)
        desk.post("agent", {"operation": "stop"})
        until(lambda: desk.talk()["state"] == "stopped")
        lock = take_lock(desk.home / "workbench" / "instances" / desk.id / "agent.lock", "agent")
        try:
            status, answer = desk.post("agent", {"operation": "start"})
            assert (status, answer["errorCode"]) == (409, "agent_not_ready") and str(os.getpid()) in answer["happened"]
            assert str(os.getpid()) in desk.ask("GET", "/api/state")[1]["instances"][0]["agent"]["held"]
        finally:
            lock.release()


def test_new_model_settings_are_taken_up_after_the_turn_and_a_new_service_is_confirmed(desk):
    with TalkModel() as model, TalkModel() as other:
        desk.start_agent(model)
        desk.send("slow question", "request-0000000001")
        until(lambda: any(turn["state"] == "running" for turn in desk.turns()))
        pid = desk.talk()["pid"]
        settings = {"url": other.url, "name": "scripted", "key": "", "clearKey": False, "thinking": "standard", "toolsAsText": False, "maxOutputTokens": 1000}
        assert desk.post("model", settings)[0] == 200 and desk.talk()["pid"] == pid
        model.go.set()
        assert desk.ended()["outcome"] == "conversation"
        until(lambda: desk.talk()["state"] == "online" and desk.talk()["pid"] != pid)
        status, refused = desk.send("hello", "request-0000000002")
        assert (status, refused["errorCode"], refused["facts"]["state"]) == (409, "model_confirmation", "model-confirmation")
        assert desk.send("hello", "request-0000000002", historyModelDestination=refused["facts"]["modelService"])[0] == 202
        assert desk.ended(1)["outcome"] == "conversation" and len(other.requests) == 1
        assert desk.post("model", {**settings, "url": "", "name": ""})[0] == 200       # without a model nobody answers
        until(lambda: desk.talk()["state"] == "stopped")


def test_files_go_with_a_message_by_name_once_for_each_request(desk):
    with TalkModel() as model:
        desk.start_agent(model)
        material = desk.post("materials", {"name": "order.txt", "mediaType": "text/plain", "bytes": "c2V2ZW4="})[1]["material"]
        first = desk.post("task", {"requestId": "request-0000000001", "text": "read it", "attachments": [material["id"]]})
        assert first[0] == 202 and first[1]["sessionKey"].startswith("ctx-")
        until(lambda: [turn for turn in desk.turns(first[1]["sessionKey"]) if turn["state"] == "ended"])
        told = model.requests[0]["messages"][-1]["content"]
        assert "order.txt (text/plain, 5 bytes, mat_" in told and "rulith.materials.read" in told and "seven" not in told
        again = desk.post("task", {"requestId": "request-0000000001", "text": "read it", "attachments": [material["id"]]})
        assert again[1]["duplicate"] is True and again[1]["id"] == first[1]["id"]
        other = desk.post("task", {"requestId": "request-0000000002", "text": "read it", "attachments": ["ui_" + "0" * 32]})
        assert other[0] >= 400 and other[1]["errorCode"].startswith("material_")


def test_odd_and_large_requests_are_refused_by_name_and_the_longest_message_passes(desk):
    with TalkModel() as model:
        desk.start_agent(model)
        odd = [("task", {"requestId": 5, "text": "x"}), ("task", {"requestId": "request-0000000001", "text": " "}),
               ("turn/stop", {"sessionKey": 7}), ("turn/stop", {"sessionKey": "s" * 200}), ("conversation/archive", {"sessionKey": "s", "archived": 1})]
        assert [desk.post(*each)[1]["errorCode"] for each in odd] == ["task_refused"] * 5
        assert desk.post("task", {"requestId": "request-0000000002", "text": "a", "attachments": "no"})[0] >= 400
        assert desk.post("task", {"requestId": "request-0000000002", "text": "a", "attachments": {"a": 1}})[0] >= 400
        assert desk.post("task", {"requestId": "request-0000000002", "text": "\ud800"})[0] == 400
        assert desk.get("conversation")["turns"] == desk.get("conversation?session=%00%ff")["turns"] == []
        assert desk.send("\u6f22" * 20_000, "request-0000000003")[0] == 202          # as much as the page's field takes
        assert len(desk.ended()["text"]) == 8_000 and desk.talk()["state"] == "online"


def test_drafts_are_kept_by_the_host_and_gone_with_the_message_that_they_became(desk):
    """The design, §8; every member of a draft is looked at."""
    file = {"id": "ui_" + "0" * 32, "name": "a.txt"}
    odd = [{"sessionKey": "", "text": "x"}, {"sessionKey": "s", "text": 5}, {"sessionKey": "s", "text": "x" * 20_001}, {"sessionKey": "s", "text": "x", "files": [5]},
           {"sessionKey": "s", "text": "x", "files": [file] * 9}, {"sessionKey": "s", "text": "x", "target": {"other": "1"}}, {"sessionKey": "s", "text": "x", "target": {"caseId": 5}}]
    assert [desk.post("draft", each)[1]["errorCode"] for each in odd] == ["draft_field"] * len(odd)
    whole = {"sessionKey": "orders", "text": "half a", "requestId": "request-0000000001", "files": [file], "target": {"caseId": "case_1"}}
    assert desk.post("draft", {**whole, "tab": "t1"})[0] == 200
    assert desk.get("draft?session=orders")["draft"] == whole == desk.get("drafts")["drafts"][0]
    assert desk.get("draft?session=other")["draft"] is None
    assert desk.post("draft", {"sessionKey": "other", "text": "half a letter \ud83d"})[0] == 400 and desk.get("draft?session=other")["draft"] is None
    with TalkModel() as model:
        desk.start_agent(model)
        desk.post("draft", {**whole, "files": [], "target": {}})
        assert desk.send("half a", "request-0000000002")[0] == 202 and desk.get("draft?session=orders")["draft"] is not None      # another request
        assert desk.send("half a", "request-0000000001")[0] == 202 and desk.get("drafts")["drafts"] == []
        desk.post("draft", {"sessionKey": "orders", "text": "x"})
        desk.post("draft", {"sessionKey": "orders", "text": ""})
        assert desk.get("drafts")["drafts"] == []
        desk.ended(1)
        assert [each["sessionKey"] for each in desk.get("conversations/search?text=HALF")["found"]] == ["orders", "orders"]
        assert desk.get("conversations/search?text=")["errorCode"] == desk.get("conversation?session=orders&before=x")["errorCode"] == "talk_query"
        assert desk.get("conversations?archived=maybe")["errorCode"] == desk.get("conversations?offset=-1")["errorCode"] == "talk_query"
        # a file without words is asked about by its name
        made = desk.post("materials", {"name": "order.txt", "mediaType": "text/plain", "bytes": "b25l"})[1]["material"]
        until(lambda: desk.talk()["state"] == "online")
        sent = until(lambda: (found := desk.post("task", {"requestId": "request-0000000003", "sessionKey": "files", "text": " ", "attachments": [made["id"]]}))[0] == 202 and found)
        row = until(lambda: [turn for turn in desk.turns("files") if turn["id"] == sent[1]["id"] and turn["state"] == "ended"])[0]
        assert "order.txt (text/plain, 3 bytes" in row["text"] and row["attachments"][0]["name"] == "order.txt"
        # without an Agent it is put away here
        desk.post("agent", {"operation": "stop"})
        until(lambda: desk.talk()["state"] == "stopped")
        assert desk.post("conversation/archive", {"sessionKey": "orders", "archived": True})[1]["state"] == "archived"
        assert [row["sessionKey"] for row in desk.get("conversations?archived=true")["conversations"]] == ["orders"]
        assert desk.post("conversation/archive", {"sessionKey": "orders", "archived": False})[1]["state"] == "active"
        assert desk.post("conversation/archive", {"sessionKey": "orders", "archived": 1})[1]["errorCode"] == "task_refused"
