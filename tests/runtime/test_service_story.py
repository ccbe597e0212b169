"""Seeded stories of the service: tasks, stops, archives, faults, ends and kills, beside a plain record of what must hold.

Whatever happens, every accepted task begins at most once and ends exactly once, turns never
overlap and keep their order, a request made twice is one task, an archived conversation
begins nothing, and the disk says the same as the service.

Source  the MCP surface, "HTTP service" and "History files"
"""

from __future__ import annotations

import asyncio
import random
import shutil
from types import SimpleNamespace

import pytest

from rulith.base.clock import ManualClock
from rulith.base.errors import Refused
from rulith.disk.conversations import Conversations
from rulith.runtime.calls import Pins
from rulith.runtime.cases import CaseBook, KnownCase
from rulith.runtime.events import nobody
from rulith.runtime.service import Service, ServiceLimits, Talk
from rulith.runtime.tasks import Task
from rulith.runtime.turns import TurnResult
from rulith.runtime.unread import OutcomeBook

SEEDS = range(30)
STEPS = 60
OWNER = {"origin": "o", "accountId": "", "agentId": "agent_1"}
ANSWERS = ["text", "text", "text", "model fails", "fault", "open case", "long"]
KEYS = ["a", "b", "c", "d", "e"]
SLOTS = 3


class Story:
    """One seed's world: a folder, the service of now, and what is known of every task."""

    def __init__(self, seed: int, folder) -> None:
        self.draw = random.Random(seed)
        self.seed, self.folder, self.lives = seed, folder, 0
        self.clock = ManualClock()
        self.accepted: dict[str, str] = {}           # task -> conversation
        self.requests: dict[str, tuple[str, str]] = {}   # request id -> task, text
        self.began: list[str] = []
        self.ended: dict[str, str] = {}
        self.archived: set[str] = set()
        self.running = 0
        self.answer: asyncio.Future | None = None
        self.live = None
        self.broken: list[str] = []

    def check(self, holds: bool, what: str) -> None:
        """For what happens inside the service, which would take an exception for a fault of a turn."""
        if not holds:
            self.broken.append(what)

    # the service and its scripted turns

    def open(self) -> None:
        self.clock.advance(1)
        self.line = SimpleNamespace(session=SimpleNamespace(agent_id="agent_1"), book=CaseBook(), foreign=frozenset())
        outcomes = OutcomeBook()
        self.store = Conversations.open(self.folder, OWNER, clock=self.clock)
        self.service = Service(self.line, self._talk, outcomes, Pins(), clock=self.clock, emit=self._told, model_service="m",
                               limits=ServiceLimits(1_000, SLOTS))
        self.service.keep_in(self.store)
        self.live = asyncio.ensure_future(self.service.run())

    def _talk(self, unread) -> Talk:
        server = SimpleNamespace(pins=None, is_stopping=None, steps=[])
        return Talk(SimpleNamespace(run=self._turn, focus=None), server, unread)

    async def _turn(self, words, policy) -> TurnResult:
        self.check(self.running == 0, "two turns at once")
        self.running += 1
        service = self.service
        service.emit("round", round=1)
        self.answer = asyncio.get_running_loop().create_future()
        try:
            what = await self.answer
        except asyncio.CancelledError:
            return TurnResult("user-stopped", "", "The turn was stopped.")
        finally:
            self.running -= 1
        if what == "model fails":
            raise Refused("model_refused", address="m", status=500, said="no")
        if what == "fault":
            raise RuntimeError("a fault of this story")
        if what == "replaced":
            raise Refused("connection_replaced")
        if what == "open case":
            root = f"root_{len(self.began)}"
            self.line.book.known[root] = KnownCase(f"case_{len(self.began)}", root, "running")
            self.line.book.focus.append(root)
        service.emit("propose", say="x" * (20_000 if what == "long" else 5), calls=0)
        return TurnResult("conversation", "said")

    def _told(self, type_, **fields) -> None:
        if type_ == "task-start":
            key = self.accepted[fields["task"]]
            self.check(fields["task"] not in self.began, "begun twice")
            self.check(key not in self.archived, "an archived conversation began a turn")
            self.began.append(fields["task"])
        elif type_ == "task-done":
            self.check(fields["task"] not in self.ended, "ended twice")
            self.ended[fields["task"]] = fields["outcome"]
        elif type_ == "conversation-archived":
            under_way = [task for task, key in self.accepted.items() if key == fields["session"] and task not in self.ended]
            self.check(not (fields["archived"] and under_way), "archived under a turn")
            (self.archived.add if fields["archived"] else self.archived.discard)(fields["session"])

    # what happens

    async def settle(self) -> None:
        for _ in range(6):
            await asyncio.sleep(0)

    async def step(self) -> None:
        what = self.draw.choices([self.submit, self.reply, self.stop, self.archive, self.restart, self.kill, self.replaced],
                                 [10, 9, 2, 2, 1, 1, 0.4])[0]
        self.clock.advance(self.draw.random())
        await what()
        await self.settle()

    async def submit(self) -> None:
        key = self.draw.choice(KEYS)
        number = self.draw.randrange(12)
        request = f"request-number-{number:04d}" if self.draw.random() < 0.4 else ""
        text = f"text {number}" if self.draw.random() < 0.9 else "another text"
        try:
            receipt = self.service.submit(Task(text, f"k{number}" if request else key, request_id=request))
        except Refused as refusal:
            known = self.requests.get(request)
            expected = {"slots_busy", "conversation_archived", "serve_draining"}
            if known is not None:
                expected = {"request_interrupted"} if known[1] == text else {"request_conflict"}
            assert refusal.code in expected, (refusal.code, request, known)
            return
        if request in self.requests:
            assert receipt["duplicate"] and (receipt["id"], text) == self.requests[request]
            assert self.ended.get(receipt["id"]) != "interrupted", "a task that was interrupted is not the same request again"
            return
        assert "duplicate" not in receipt and receipt["id"] not in self.accepted
        self.accepted[receipt["id"]] = receipt["sessionKey"]
        assert len({key for task, key in self.accepted.items() if task not in self.ended}) <= SLOTS, "more conversations than slots"
        if request:
            self.requests[request] = (receipt["id"], text)

    async def reply(self) -> None:
        if self.answer is not None and not self.answer.done():
            self.answer.set_result(self.draw.choice(ANSWERS))

    async def replaced(self) -> None:
        if self.answer is not None and not self.answer.done():
            self.answer.set_result("replaced")
            await asyncio.wait_for(self.live, 30)
            assert self.service.problem.code == "connection_replaced"
            self.service.close()
            self.open()

    async def stop(self) -> None:
        key = self.draw.choice([*KEYS, *list(self.accepted.values())[-3:]])
        named = [task for task, of in self.accepted.items() if of == key and task not in self.ended]
        self.service.stop_turn(key, self.draw.choice(named) if named and self.draw.random() < 0.5 else "")

    async def archive(self) -> None:
        self.service.archive(self.draw.choice(KEYS), self.draw.random() < 0.5)

    async def restart(self) -> None:
        under_way = [task for task in self.began if task not in self.ended]
        is_answered = self.answer is not None and self.answer.done()
        self.service.end()
        await asyncio.wait_for(self.live, 30)
        assert is_answered or [self.ended[task] for task in under_way] == ["interrupted"] * len(under_way)
        self.service.close()
        assert set(self.accepted) == set(self.ended), "a task without an end"
        self.open()

    async def kill(self) -> None:
        """What the disk holds at this moment is all that is left."""
        self.lives += 1
        left = self.folder.with_name(f"life-{self.lives}")
        shutil.copytree(self.folder, left, ignore=shutil.ignore_patterns("*.lock"))
        unfinished = [task for task in self.accepted if task not in self.ended]
        await self.abandon()
        self.folder = left
        for task in [each for each in self.ended if each in unfinished]:
            del self.ended[task]                     # ended only in a life that never was
        self.archived = set()
        self.open()
        self.archived = {key for key in set(self.accepted.values()) | set(KEYS) if self.store.is_archived(key)}
        for task in unfinished:
            assert self.store.turn(task)["state"] in ("interrupted", "finished")
            self.ended[task] = "interrupted"

    async def abandon(self) -> None:
        told, self.service._told = self.service._told, nobody
        self.service.end()
        await asyncio.wait_for(self.live, 30)
        self.service.close()
        assert told

    async def finish(self) -> None:
        """Let everything end, and compare with the disk."""
        for _ in range(len(self.accepted) + 5):
            await self.reply()
            await self.settle()
        await self.restart()
        for task, key in self.accepted.items():
            turn = self.store.turn(task)
            assert (turn["state"], turn["sessionKey"]) == ("interrupted" if self.ended[task] == "interrupted" else "finished", key), task
        order = list(self.accepted)
        assert [task for task in self.began] == sorted(self.began, key=order.index), "not in the order they came"
        assert set(self.began) | {task for task, how in self.ended.items() if how in ("not-started", "interrupted")} == set(self.accepted)
        self.service.end()
        await asyncio.wait_for(self.live, 30)
        self.service.close()


@pytest.mark.parametrize("seed", SEEDS)
def test_every_accepted_task_begins_at_most_once_and_ends_exactly_once(seed, tmp_path, capsys):
    async def whole():
        story = Story(seed, tmp_path / "life-0")
        story.open()
        for _ in range(STEPS):
            await story.step()
        await story.finish()
        return story
    story = asyncio.run(asyncio.wait_for(whole(), 60))
    assert story.broken == [] and len(story.accepted) > 5


def test_a_service_that_is_cancelled_ends_its_turn_and_itself(tmp_path):
    """A closing event loop cancels everything: that is no stop of a turn, after which the next one would begin."""
    async def whole():
        story = Story(0, tmp_path / "life-0")
        story.open()
        receipts = [story.service.submit(Task(text, "a")) for text in ("one", "two")]
        story.accepted.update((receipt["id"], "a") for receipt in receipts)
        await story.settle()
        assert story.running == 1
        story.live.cancel()
        await asyncio.wait([story.live], timeout=30)
        assert story.live.cancelled() and story.running == 0
        assert [story.ended[receipt["id"]] for receipt in receipts] == ["interrupted", "not-started"]
        story.service.close()
    asyncio.run(asyncio.wait_for(whole(), 30))
