"""A message that meets an Agent which takes none for now: sent once more to the process that comes after, and never otherwise.

Duty: the workbench surface, §5.1 ("A 503 during a reload is resent once after it; changed identity 409")
"""

import asyncio
import json

import pytest

from rulith.disk.profiles import update_profile
from rulith.net.messages import json_response
from rulith.net.server import serve
from rulith.workbench import talk_api

from tests.workbench.test_page_http import play

MODEL = {"url": "http://127.0.0.1:9/v1", "name": "m", "key": "", "clearKey": False}
MESSAGE = {"requestId": "r" * 32, "sessionKey": "orders", "text": "pay"}
DRAINING = (503, {"ok": False, "errorCode": "serve_draining", "teaching": "The Agent takes no message: it is ending."})
TAKEN = (202, {"ok": True, "id": "t1", "sessionKey": "orders"})


class Service:
    """What an Agent answers to messages, one answer for each, the last one again; None cuts the connection."""

    def __init__(self, *answers) -> None:
        self.answers = list(answers)
        self.asked: list[dict] = []
        self.came = asyncio.Event()

    async def handle(self, request):
        self.asked.append(json.loads(request.body))
        self.came.set()
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if answer is None:
            raise ConnectionAbortedError
        return json_response(*answer)


class Reloads:
    """An Agent that runs, and serves as the first of `services`; each reload of it serves as the next."""

    def __init__(self, stage, *services) -> None:
        self.stage, self.services, self.count = stage, services, 0

    async def __aenter__(self):
        self.servers = [await serve(each.handle, on_bug=lambda bug: None) for each in self.services]
        assert (await self.stage.page.post(self.stage.at("model"), MODEL))[0] == 200
        assert (await self.stage.page.post(self.stage.at("agent"), {"operation": "start"}))[0] == 200
        await self.comes()
        return self

    async def __aexit__(self, *problem) -> None:
        for each in self.servers:
            await each.close(0)

    def begin(self) -> None:
        self.stage.instance.talker.role.restart()

    async def comes(self) -> None:
        """The process that was started last says where it serves."""
        self.count += 1
        (await self.stage.spawn.wait_for("agent", self.count)).child.tell({"type": "serving", "url": f"http://127.0.0.1:{self.servers[self.count - 1].port}"})


def send(stage):
    return asyncio.create_task(stage.page.post(stage.at("task"), MESSAGE))


def test_a_message_that_met_a_reload_is_sent_once_more_after_it(stage):
    async def script(stage):
        before, after = Service(DRAINING), Service(TAKEN)
        async with Reloads(stage, before, after) as reload:
            sending = send(stage)
            await before.came.wait()
            reload.begin()
            await reload.comes()
            status, answer = await sending
        assert (status, answer["id"], len(before.asked)) == (202, "t1", 1) and after.asked == before.asked == [MESSAGE]
    play(stage, script)


def test_one_that_comes_in_the_middle_of_a_reload_waits_for_its_end(stage):
    async def script(stage):
        before, after = Service(TAKEN), Service(TAKEN)
        async with Reloads(stage, before, after) as reload:
            reload.begin()
            sending = send(stage)
            await stage.until(lambda: stage.instance.talker._waiting)
            await reload.comes()
            status, _ = await sending
        return status, len(before.asked), len(after.asked)
    assert play(stage, script) == (202, 0, 1)


@pytest.mark.parametrize("again", [DRAINING, None])
def test_it_is_not_sent_a_third_time(stage, again):
    async def script(stage):
        before, after = Service(DRAINING), Service(again)
        async with Reloads(stage, before, after) as reload:
            sending = send(stage)
            await before.came.wait()
            reload.begin()
            await reload.comes()
            status, answer = await sending
        assert (len(before.asked), len(after.asked)) == (1, 1)
        return status, answer["errorCode"]
    assert play(stage, script) == ((503, "serve_draining") if again else (409, "agent_not_ready"))


def test_a_lost_answer_is_never_sent_again(stage):
    """Nobody knows whether it was taken: the person sends the same request, which runs once."""
    async def script(stage):
        only = Service(None)
        async with Reloads(stage, only):
            status, answer = await send(stage)
        return status, answer["errorCode"], len(only.asked)
    assert play(stage, script) == (409, "agent_not_ready", 1)


def test_another_agent_or_line_in_the_same_profile_gets_no_message_of_the_one_before(stage):
    async def script(stage):
        before, after = Service(DRAINING), Service(TAKEN)
        async with Reloads(stage, before, after) as reload:
            sending = send(stage)
            await before.came.wait()
            stage.bench.take(update_profile(stage.home, stage.profile.id, connectionId="conn_other"))
            reload.begin()
            await reload.comes()
            status, answer = await sending
        return status, answer["errorCode"], len(after.asked)
    assert play(stage, script) == (409, "material_owner_changed", 0)


def test_an_agent_that_does_not_come_back_is_told_of_and_the_draft_is_kept(stage):
    async def script(stage):
        before = Service(DRAINING)
        async with Reloads(stage, before):
            await stage.page.post(stage.at("draft"), {**{name: MESSAGE[name] for name in ("requestId", "sessionKey", "text")}})
            sending = send(stage)
            await before.came.wait()
            stage.spawn.of("agent")[0].child.exit(3, "its token was rejected")
            status, answer = await sending
            return status, answer["errorCode"], len(before.asked), (await stage.page.get(stage.at("drafts")))["drafts"][0]["text"]
    assert play(stage, script) == (409, "agent_not_ready", 1, "pay")


def test_a_reload_that_never_ends_is_waited_for_so_long_and_no_longer(stage, monkeypatch):
    monkeypatch.setattr(talk_api, "RELOAD_WAIT_S", 0.2)

    async def script(stage):
        before = Service(DRAINING)
        async with Reloads(stage, before):
            status, answer = await send(stage)
        return status, answer["errorCode"], len(before.asked)
    assert play(stage, script) == (409, "agent_not_ready", 1)
