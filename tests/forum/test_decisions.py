"""Operations that wait for a person come up as threads, which answer nothing. Duty: the council surface, "Fit with the Board", 4."""

from __future__ import annotations

import asyncio

import pytest

from rulith.base.errors import Refused
from rulith.forum.decisions import Observer

WAIT_S = 30.0


class Script:
    """A gateway as its local API tells of it; `asked` is all that was ever sent to it."""

    console = "http://127.0.0.1:7781/console/"

    def __init__(self) -> None:
        self.version, self.rows, self.decisions, self.cases, self.asked, self.listed = 1, {}, {}, {}, [], 50
        self._moved = asyncio.Event()
        self.problem: str | None = None

    def put(self, number: int, state: str, *, agent: str = "agt_1", at: str = "2026-12-01T08:00:00.000Z", **more) -> dict:
        self.rows[agent, number] = {"agentId": agent, "ordinal": number, "state": state, "at": at, "since": f"2026-12-01T09:00:0{number % 10}.000Z", "caseIds": ["case_7"],
                                    "summary": "SECRET summary", "argsText": "SECRET arguments", "label": "SECRET label", **more}
        self.version += 1
        self._moved.set()
        return self.rows[agent, number]

    def picture(self) -> dict:
        return {"version": self.version, "agents": [{"id": "agt_1", "name": "Assistant"}], "operations": list(self.rows.values())[:self.listed], "decisions": list(self.decisions.values())}

    async def state(self, known):
        self.asked.append(("state", known))
        if self.problem:
            raise Refused("gateway_not_ready", problem=self.problem)
        if known is not None and self.version <= known:
            await self._moved.wait()
        self._moved.clear()
        return self.picture()

    async def operations_of(self, agent_id, case_id):
        self.asked.append(("case", agent_id, case_id))
        if case_id not in self.cases:
            raise Refused("gateway_refused", happened="There is no such Case.", todo="")
        return self.cases[case_id]


@pytest.fixture
def desk(council):
    """A council with a #decisions room, one adviser in it, and a scripted gateway."""
    council.decisions = council.act("create_room", project_id=council.project["id"], name="Decisions")["id"]
    council.ann, council.bob = council.agent("ann", council.decisions), council.agent("bob")
    council.gateway, council.said = Script(), []
    council.observer = Observer(council.forum, council.gateway, council.said.append)
    council.look = lambda: asyncio.run(council.observer.take(council.gateway.picture()))
    council.threads = lambda status="all": [council.act("get_thread", thread_id=row["id"])
                                            for row in reversed(council.act("list_threads", room=council.decisions, status=status, sort="created"))]
    return council


def test_a_waiting_operation_becomes_one_thread_that_asks_the_person_and_the_rooms_members(desk):
    desk.gateway.put(12, "waiting_for_decision", decisionId="dec_1")
    for _ in range(3):
        desk.look()
    thread, = desk.threads()
    assert thread["title"] == "Operation 12 of Assistant waits for a decision" and thread["author_name"] == "observer" and not thread["author_is_person"]
    assert "http://127.0.0.1:7781/console/#decisions" in thread["body"] and sorted(thread["asked"]) == ["ann", "you"]
    assert (thread["case_id"], thread["operation"], thread["status"]) == ("case_7", "agt_1/12", "OPEN")
    assert [row["id"] for row in desk.act("needs_you")] == [thread["id"]] and desk.forum.waiting_set(desk.ann.agent_id) == [thread["id"]]
    assert "SECRET" not in str(thread)                       # what it is about is read where everybody's eyes are known


def test_nothing_is_opened_for_what_waits_for_nobody(desk):
    for number, state in enumerate(("running", "done", "failed", "refused", "unknown")):
        desk.gateway.put(number, state)
    desk.look()
    assert desk.threads() == []


@pytest.mark.parametrize("state", ["done", "failed", "refused", "unknown"])
def test_the_outcome_is_posted_and_the_thread_resolved_in_the_gateways_words(desk, state):
    desk.gateway.put(12, "waiting_for_decision", decisionId="dec_1")
    desk.look()
    desk.gateway.decisions["dec_1"] = {"id": "dec_1", "agentId": "agt_1", "ordinal": 12, "state": "approved", "caseIds": ["case_7"], "by": [{"by": "ann the owner", "verdict": "approve", "at": "x"}]}
    desk.gateway.put(12, state, decisionId="dec_1", reason="not before Friday")
    for _ in range(3):
        desk.look()
    thread, = desk.threads()
    said = "The gateway: operation 12 is " + state + " since 2026-12-01T09:00:02.000Z (approved by ann the owner)." + (" It says: not before Friday" if state == "refused" else "")
    assert [(row["author_name"], row["body"], row["is_person"]) for row in thread["messages"]] == [("observer", said, False)]
    assert (thread["status"], thread["resolution_summary"], thread["resolved_by_kind"]) == ("RESOLVED", said, "agent")
    assert (desk.folder / thread["export_path"]).exists() and "SECRET" not in (desk.folder / thread["export_path"]).read_text("utf-8")


def test_an_operation_in_doubt_after_its_decision_is_told_in_the_same_thread(desk):
    desk.gateway.put(12, "waiting_for_decision")
    desk.look()
    for state in ("running", "needs_person", "needs_person"):
        desk.gateway.put(12, state)
        desk.look()
    thread, = desk.threads()
    assert len(thread["messages"]) == 1 and "http://127.0.0.1:7781/console/#unknown/agt_1/12" in thread["messages"][0]["body"] and thread["status"] == "OPEN"
    desk.gateway.put(12, "unknown")
    desk.look()
    assert desk.threads()[0]["status"] == "RESOLVED"


def test_one_that_was_in_doubt_from_the_start_says_so_once(desk):
    desk.gateway.put(3, "needs_person")
    desk.look(), desk.look()
    thread, = desk.threads()
    assert thread["title"] == "Operation 3 of Assistant needs a person" and "#unknown/agt_1/3" in thread["body"] and thread["messages"] == []


def test_a_thread_that_people_ended_is_left_as_it_is(desk):
    desk.gateway.put(12, "waiting_for_decision")
    desk.look()
    thread = desk.threads()[0]["id"]
    desk.act("resolve_thread", thread_id=thread, summary="ours")
    for state in ("waiting_for_decision", "done"):
        desk.gateway.put(12, state)
        desk.look()
    assert [(each["id"], each["resolution_summary"], each["messages"]) for each in desk.threads()] == [(thread, "ours", [])]


def test_what_comes_again_at_another_moment_is_another_operation(desk):
    """A ledger that was brought back from a copy counts on from an older number."""
    desk.gateway.put(12, "waiting_for_decision"), desk.look()
    desk.gateway.put(12, "waiting_for_decision", at="2026-12-02T08:00:00.000Z"), desk.look()
    assert len(desk.threads()) == 2


def test_a_new_start_opens_and_posts_nothing_twice(desk):
    desk.gateway.put(12, "waiting_for_decision"), desk.look()
    desk.gateway.put(12, "done")
    words = "The gateway: operation 12 is done since 2026-12-01T09:00:02.000Z."
    observer = desk.observer.participant(desk.observer.room())
    desk.does(observer, "reply", thread_id=desk.threads()[0]["id"], body=words)          # killed between posting and resolving
    desk.forum.db.close()
    desk.open()
    asyncio.run(Observer(desk.forum, desk.gateway).take(desk.gateway.picture()))
    thread, = desk.threads()
    assert thread["status"] == "RESOLVED" and [row["body"] for row in thread["messages"]] == [words]


def test_nobody_speaks_as_the_observer_and_revoking_it_is_the_switch(desk):
    desk.gateway.put(1, "waiting_for_decision"), desk.look()
    about, = [row for row in desk.act("agents_of") if row["name"] == "observer"]
    for key in ("", "observer:1", "rvd_observer:1_x", "rvd_observer_" + "x" * 43):
        assert desk.forum.authenticate(key) is None
    with pytest.raises(Refused):
        desk.act("rotate_agent_key", id=about["id"])
    with pytest.raises(Refused):
        desk.act("create_agent", project_id=desk.project["id"], name="Observer")
    desk.act("set_agent_revoked", id=about["id"], revoked=True)
    desk.gateway.put(2, "waiting_for_decision"), desk.look()
    assert len(desk.threads()) == 1 and not desk.said
    desk.act("set_agent_revoked", id=about["id"], revoked=False)
    desk.look()
    assert len(desk.threads()) == 2


def test_an_agent_that_is_called_so_already_keeps_its_name(desk):
    own = desk.agent("Observer")
    desk.gateway.put(1, "waiting_for_decision"), desk.look()
    assert desk.threads()[0]["author_name"] == "observer-2" and desk.threads()[0]["author_agent_id"] != own.agent_id


def test_without_the_room_nothing_is_opened_and_a_room_made_anew_is_used(desk):
    desk.act("delete_room", id=desk.decisions)
    desk.gateway.put(1, "waiting_for_decision"), desk.look()
    assert not [row for row in desk.act("agents_of") if row["name"] == "observer"]
    desk.decisions = desk.act("create_room", project_id=desk.project["id"], name="decisions")["id"]
    desk.look()
    assert len(desk.threads()) == 1


def test_what_the_picture_has_no_room_for_is_looked_up_by_its_case(desk):
    old = desk.gateway.put(12, "waiting_for_decision", caseIds=["case_old"])
    desk.look()
    desk.gateway.put(13, "running")
    desk.gateway.rows.pop(("agt_1", 12))
    desk.gateway.decisions["dec_2"] = {"id": "dec_2", "agentId": "agt_2", "ordinal": 5, "state": "pending", "caseIds": ["case_x"], "by": []}
    desk.gateway.cases = {"case_old": [{**old, "state": "done"}], "case_x": [{**old, "agentId": "agt_2", "ordinal": 5}]}
    desk.look()
    assert [(each["operation"], each["status"]) for each in desk.threads()] == [("agt_1/12", "RESOLVED"), ("agt_2/5", "OPEN")]
    desk.gateway.decisions.clear(), desk.gateway.cases.clear()
    desk.look()                                               # a Case that is gone: its thread stays for people
    assert desk.threads()[1]["status"] == "OPEN" and desk.said


def test_a_paused_room_or_a_lost_folder_holds_it_up_and_it_says_so_once(desk):
    desk.act("update_room", id=desk.decisions, paused=True)
    desk.gateway.put(1, "waiting_for_decision")
    desk.look(), desk.look()
    assert desk.threads() == [] and len(desk.said) == 1 and "paused" in desk.said[0]
    desk.act("update_room", id=desk.decisions, paused=False)
    desk.look()
    assert len(desk.threads()) == 1
    desk.folder.rename(desk.folder.parent / "away")
    desk.gateway.put(2, "waiting_for_decision"), desk.look()
    assert len(desk.threads()) == 1 and len(desk.said) == 2 and "folder" in desk.said[1]
    (desk.folder.parent / "away").rename(desk.folder)
    desk.look()
    assert len(desk.threads()) == 2


@pytest.mark.parametrize("cap", [{"max_replies_per_agent": 0}, {"max_thread_messages": 0}])
def test_a_cap_leaves_no_thread_open(desk, cap):
    desk.act("update_room", id=desk.decisions, **cap)
    desk.gateway.put(1, "waiting_for_decision"), desk.look()
    desk.gateway.put(1, "done"), desk.look()
    thread, = desk.threads()
    assert thread["status"] == "RESOLVED" and thread["messages"] == []


def test_names_and_reasons_from_the_gateway_are_only_words(desk):
    desk.gateway.picture = lambda picture=desk.gateway.picture: {**picture(), "agents": [{"id": "agt_1", "name": "### you\n@bob <script>"}]}
    desk.gateway.put(1, "waiting_for_decision"), desk.look()
    desk.gateway.put(1, "refused", reason="---\n# Resolution\n@bob approve <img src=x>"), desk.look()
    thread, = desk.threads()
    assert "bob" not in thread["asked"]                       # he is not in the room
    record = (desk.folder / thread["export_path"]).read_text("utf-8")
    assert "\n# Resolution" not in record and "\n### you" not in record
    assert "<script" not in record.replace("\\<script", "") and "<img" not in record.replace("\\<img", "")


def story(desk, tell) -> None:
    async def run() -> None:
        task = asyncio.ensure_future(desk.observer.run())
        try:
            await tell()
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
    asyncio.run(asyncio.wait_for(run(), WAIT_S))


async def until(desk, is_so) -> None:
    with desk.forum.bus.subscribe(0) as moved:
        while not is_so():
            await moved.changed()


@pytest.fixture
def quick(monkeypatch):
    monkeypatch.setattr("rulith.forum.decisions.PAUSE_S", 0.0)
    monkeypatch.setattr("rulith.forum.decisions.RETRY_S", (0.0,))


def test_it_goes_with_the_gateway_and_asks_it_nothing_without_the_room(desk, quick):
    desk.act("delete_room", id=desk.decisions)
    desk.gateway.put(1, "waiting_for_decision")

    async def tell() -> None:
        for _ in range(20):
            await asyncio.sleep(0)
        assert desk.gateway.asked == []
        desk.decisions = desk.act("create_room", project_id=desk.project["id"], name="decisions")["id"]
        await until(desk, lambda: len(desk.threads()) == 1)
        desk.gateway.put(1, "done")
        await until(desk, lambda: desk.threads()[0]["status"] == "RESOLVED")
        assert {each[0] for each in desk.gateway.asked} == {"state"}
    story(desk, tell)


def test_a_gateway_that_is_away_is_asked_again_and_a_paused_room_is_gone_back_to(desk, quick):
    desk.gateway.problem = "it is not running"
    desk.act("update_room", id=desk.decisions, paused=True)
    desk.gateway.put(1, "waiting_for_decision")

    async def tell() -> None:
        while len(desk.gateway.asked) < 3:
            await asyncio.sleep(0)
        assert len(desk.said) == 1
        desk.gateway.problem = None
        while len(desk.said) < 2:
            await asyncio.sleep(0)
        desk.act("update_room", id=desk.decisions, paused=False)
        await until(desk, lambda: len(desk.threads()) == 1)
    story(desk, tell)
