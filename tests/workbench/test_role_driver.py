"""The driver of a role: what it does about each end, with scripted processes."""

import asyncio

from rulith.base.clock import ManualClock
from rulith.base.errors import Refused
from rulith.workbench.roles import Role, last_line
from rulith.workbench.supervision import STABLE_S, Is

from tests.workbench.scripted_bench import ScriptedChild


class Scene:
    def __init__(self, **settings):
        self.children: list[ScriptedChild] = []
        self.events: list[dict] = []
        self.changes = 0
        self.clock = ManualClock()
        self.refusal = None
        self.role = Role("worker", self.launch, self.clock, ready_on=("up",), on_event=self.events.append, on_change=self.change, **settings)

    def change(self):
        self.changes += 1

    async def launch(self, on_event):
        if self.refusal:
            raise self.refusal
        self.children.append(ScriptedChild(100 + len(self.children), on_event))
        return self.children[-1]

    async def turn(self, condition):
        async def wait():
            while not condition():
                await asyncio.sleep(0)
        await asyncio.wait_for(wait(), 30)

    def types(self):
        return [event["type"] for event in self.events]


def play(script, **settings):
    async def scene():
        await script(Scene(**settings))
    asyncio.run(scene())


async def _online(scene, count=1):
    await scene.turn(lambda: len(scene.children) >= count)
    scene.children[-1].tell({"type": "up"})
    assert scene.role.state is Is.ONLINE


def test_it_is_online_only_once_it_says_so():
    async def script(scene):
        scene.role.start()
        await scene.turn(lambda: scene.role.child is not None)
        assert scene.role.state is Is.STARTING
        await _online(scene)
    play(script)


def test_a_crash_is_told_with_its_last_words_and_followed_by_a_new_start():
    async def script(scene):
        scene.role.start()
        await _online(scene)
        scene.children[0].exit(1, "first\nthe adapter folder is gone\n")
        await scene.turn(lambda: scene.role.state is Is.RESTARTING)
        assert scene.role.detail == "the adapter folder is gone"
        assert scene.role.row()["retryAt"]
        await scene.turn(lambda: len(scene.children) == 2)       # 250 ms of the loop's own clock
        assert scene.types()[:4] == ["spawn", "up", "exit", "restart-wait"]
    play(script)


def test_a_kill_is_told_as_its_signal():
    async def script(scene):
        scene.role.start()
        await _online(scene)
        scene.children[0].exit(-9)
        await scene.turn(lambda: "exit" in scene.types())
        told = next(event for event in scene.events if event["type"] == "exit")
        assert (told["signal"], told["wanted"]) == (9, False)
        await scene.role.close(1)
    play(script)


def test_a_wanted_end_is_no_crash():
    async def script(scene):
        scene.role.start()
        await _online(scene)
        scene.role.stop()
        await scene.turn(lambda: scene.role.state is Is.STOPPED)
        assert scene.children[0].asked_to_stop and scene.role.failures == 0
    play(script)


def test_stop_during_the_pause_drops_the_next_start():
    async def script(scene):
        scene.role.start()
        await _online(scene)
        scene.children[0].exit(1)
        await scene.turn(lambda: scene.role.state is Is.RESTARTING)
        scene.role.stop()
        assert scene.role.state is Is.STOPPED and scene.role.retry_at is None
    play(script)


def test_a_stop_while_its_process_is_being_made_ends_it():
    async def script(scene):
        made = asyncio.Event()
        launch = scene.role._launch

        async def slow(on_event):
            await made.wait()
            return await launch(on_event)
        scene.role._launch = slow
        scene.role.start()
        scene.role.stop()
        assert scene.role.state is Is.STOPPING and scene.children == []
        made.set()
        await scene.turn(lambda: scene.role.state is Is.STOPPED)
        assert scene.children[0].asked_to_stop and len(scene.children) == 1
    play(script)


def test_a_minute_of_steady_work_makes_the_next_crash_the_first():
    async def script(scene):
        scene.role.start()
        await _online(scene)
        scene.role.failures = 3
        scene.clock.advance(STABLE_S)
        scene.children[0].exit(1)
        await scene.turn(lambda: scene.role.state is Is.RESTARTING)
        assert scene.role.failures == 1
        scene.role.stop()
    play(script)


def test_a_refused_credential_waits_for_the_person():
    async def script(scene):
        scene.role.start()
        await _online(scene)
        scene.children[0].exit(3, "the key is not accepted")
        await scene.turn(lambda: scene.role.state is Is.NEEDS_SETUP)
        assert scene.role.detail == "the key is not accepted"
        scene.role.start()
        await scene.turn(lambda: len(scene.children) == 2)
        await scene.role.close(1)
    play(script, refused=(3,))


def test_a_process_that_cannot_be_made_says_why():
    async def script(scene):
        scene.refusal = Refused("write_failed", path="/x", problem="no")
        scene.role.start()
        await scene.turn(lambda: scene.role.state is Is.FAILED)
        assert "/x" in scene.role.detail
    play(script)


def test_a_restart_is_a_stop_and_a_start():
    async def script(scene):
        scene.role.start()
        await _online(scene)
        scene.role.restart()
        await scene.turn(lambda: len(scene.children) == 2)
        assert scene.children[0].asked_to_stop and scene.role.state is Is.STARTING
        await scene.role.close(1)
        assert scene.role.state is Is.STOPPED
    play(script)


def test_the_last_line_is_where_the_refusal_stands():
    assert last_line("Traceback\n  …\nError: no such key\n\n") == "Error: no such key"
    assert last_line("") == ""
