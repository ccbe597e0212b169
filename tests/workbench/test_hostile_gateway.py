"""A gateway elsewhere that means harm, or is none: what it says is judged before anything rests on it, and the workbench goes on."""

from __future__ import annotations

import asyncio
import json

import pytest

from rulith.disk.home import Home
from rulith.disk.profiles import list_profiles
from rulith.workbench import account as account_module
from rulith.workbench import gateway_link
from tests.workbench.scripted_account import AGENT, Elsewhere, Life

STORY_S = 100
CODE = {"device_code": "rld_x", "user_code": "CODE-0009", "expires_in": 60, "interval": 0}
CONTEXT = {"deviceId": "device_1", "account": {"id": "acc_1", "name": "ada"}, "agents": [AGENT], "expiresAt": "2027-01-01T00:00:00.000Z"}
PAIR = {"agentId": AGENT["id"], "agentName": "Far Agent", "connectionId": "conn_far", "key": "rlt_key_0", "token": "rlt_agt_0"}
HUGE = 10**400


@pytest.fixture
def play(tmp_path, monkeypatch):
    """Run story(gateway, one): a workbench that signs in there, none of whose tasks may fail."""
    monkeypatch.setattr(account_module, "PAUSE_S_MIN", 0.02)
    monkeypatch.setattr(gateway_link, "RETRY_S", (0.02,))

    def run(story) -> None:
        async def told() -> None:
            failed: list[dict] = []
            asyncio.get_running_loop().set_exception_handler(lambda loop, context: failed.append(context))
            gateway = await Elsewhere().open()
            try:
                async with Life(Home(tmp_path / "home").prepare(), gateway.url) as one:
                    await story(gateway, one)
            finally:
                await gateway.server.close(0)
            assert failed == []
        asyncio.run(asyncio.wait_for(told(), STORY_S))
    return run


def test_a_code_that_is_none_is_no_answer(play) -> None:
    odd = [{"user_code": code} for code in ("", "<b>hi</b>", "A" * 65, "A\nB", "\ud800", "../..", 7)]
    odd += [{"device_code": code} for code in ("", "a b", "a\r\nb", "\ud800", "é", "x" * 5000)] + [{"interval": "5"}, {"expires_in": True}, {"expires_in": None}]

    async def story(gateway, one) -> None:
        for each in odd:
            gateway.said = {"/device_authorization": (200, CODE | each)}
            status, told = await one.post("start", name="Laptop")
            assert (status, told["errorCode"], one.account.file.state) == (503, "account_silent", "none"), each
        gateway.said = {"/register": (201, {"client_id": "\ud800"})}
        assert (await one.post("start", name="Laptop"))[1]["errorCode"] == "account_silent"
        gateway.said = {}
        await one.sign_in(gateway)
    play(story)


def test_times_without_end_and_pages_elsewhere_are_put_right(play) -> None:
    odd = [{"expires_in": HUGE}, {"expires_in": -HUGE}, {"interval": HUGE}, {"interval": -HUGE}]
    odd += [{"verification_uri_complete": page} for page in ("http://[", "//evil.example", "javascript:alert(1)", "\ud800", 7, "http://evil.example/#<b>")]

    async def story(gateway, one) -> None:
        for page in ("{}.evil.example/", "{}@evil.example/", "{}/console/#access/\n<b>", "{}\\@evil.example/", "{}/" + "a" * 4096):
            odd.append({"verification_uri_complete": page.format(gateway.url)})
        for each in odd:
            gateway.said = {"/device_authorization": (200, CODE | each)}
            status, told = await one.post("start", name="Laptop")
            assert status == 200 and told["account"]["consoleUrl"] == f"{gateway.url}/console/#access/CODE-0009", each
            one.account.look()
            asked = gateway.count("/token")
            await one.until(lambda: gateway.count("/token") > asked)
            await one.post("forget")
    play(story)


def test_a_token_and_names_that_are_none_are_not_kept(play) -> None:
    async def story(gateway, one) -> None:
        code = (await one.post("start", name="Laptop"))[1]["account"]["code"]
        for token in ("rlt_dev_\r\nx: y", "rlt_dev_é", "rlt_dev_\ud800", "rlt_dev_" + "x" * 5000):
            gateway.said = {"/token": (200, {"access_token": token})}
            await one.post("refresh")
            assert one.account.file.state == "pending" and one.account.row()["error"], token
        gateway.said = {}
        gateway.approved.add(code)
        one.account.look()
        await one.until(lambda: one.account.is_linked)
        odd = [{"deviceId": "a b"}, {"account": {"id": "\ud800", "name": "x"}}, {"account": {"id": "x" * 5000, "name": "x"}}, {"agents": [{"id": "a\nb", "name": "x"}]},
               {"agents": [{"id": "a", "name": 7}]}, {"agents": {}}, {"expiresAt": "soon"}]
        for each in odd:
            gateway.said = {"/local-devices/context": (200, CONTEXT | each)}
            told = (await one.post("refresh"))[1]["account"]
            assert told["state"] == "linked" and told["agents"] == [AGENT] and told["error"], each
        gateway.said = {"/local-devices/context": (200, CONTEXT | {"agents": [{"id": AGENT["id"], "name": "<b>\x00\u202e" + "x" * 500}], "account": {"id": "acc_1", "name": "\ud800"}})}
        told = (await one.post("refresh"))[1]["account"]
        assert told["error"] == "" and told["account"]["name"] == "�" and told["agents"][0]["name"] == ("<b>��" + "x" * 500)[:200]
    play(story)


def test_what_a_pairing_gives_is_judged_before_it_is_written(play) -> None:
    async def story(gateway, one) -> None:
        await one.sign_in(gateway)
        for each in ({"key": "rlt_key_\0"}, {"token": "rlt_agt_a b"}, {"connectionId": "conn\nX=1"}, {"connectionId": "\ud800"}, {"agentId": "agent_other"}, {"key": ["rlt_key_"]}):
            gateway.said = {"/local-devices/pair": lambda request, each=each: (200, {"pairingId": json.loads(request.body)["pairingId"], **PAIR, **each})}
            status, told = await one.attach()
            (profile,) = list_profiles(one.home)
            assert (status, told["errorCode"], profile.agent_id) == (503, "pairing_silent", ""), each
        gateway.said = {}
        assert (await one.attach())[0] == 200
    play(story)


def test_a_secret_that_it_says_back_is_shown_nowhere(play) -> None:
    def echo(request):
        return 400, {"error": "odd", "errorCode": "odd", "teaching": f"No: {request.body.decode()} {request.headers.get('authorization')}"}

    async def story(gateway, one) -> None:
        gateway.said = {"/token": echo}
        await one.post("start", name="Laptop")
        await one.until(lambda: one.account.file.state == "none")
        assert "No: " in one.account.row()["teaching"] and "rld_" not in one.account.row()["teaching"]
        gateway.said = {}
        await one.sign_in(gateway)
        gateway.said = {"/local-devices/pair": echo}
        status, told = await one.attach()
        asked = gateway.last("/local-devices/pair")
        state = json.dumps([told, await one.page.get("/api/state")])
        assert told["errorCode"] == "pairing_refused" and not [each for each in (asked["pairingId"], asked["computer"], "rlt_dev_") if each in state]
    play(story)


def test_a_state_that_is_none_is_silence_and_the_next_one_is_read(play) -> None:
    good = Elsewhere().state
    odd = [good | each for each in ({"agents": 7}, {"version": None}, {"version": {}}, {"cases": {"agentId": 1}}, {"cases": [7]}, {"connections": 7}, {"operations": [None]},
                                    {"decisions": "x"}, {"casesTotal": 7}, {"agents": [7]})]
    odd += [{"agents": []}, {"version": 1, "agents": []}, {"version": 7}]

    async def story(gateway, one) -> None:
        await one.sign_in(gateway)
        assert (await one.attach())[0] == 200
        await one.until(lambda: one.bench.gateway_row()["state"] == "online")
        for each in odd:
            gateway.said = {"/local/state": (200, each), "/local/wait": (200, each)}
            await one.until(lambda: one.bench.gateway_row()["state"] == "unreachable")
            gateway.said = {}
            await one.until(lambda: one.bench.gateway_row()["state"] == "online")
        gateway.said = {"/local/state": (200, {**good, "version": 2, "casesOf": [], "cases": [{}]}), "/local/wait": (200, {**good, "version": 3, "casesOf": []})}
        await one.until(lambda: (one.bench.link.state or {}).get("version") == 3)
        gateway.said = {"/local/wait": (200, {**good, "version": 4, "casesOf": 7})}
        await one.until(lambda: one.bench.gateway_row()["state"] == "unreachable")
    play(story)


@pytest.mark.parametrize("answer", [lambda state: state, lambda state: {"version": state["version"]}])
def test_a_gateway_that_never_waits_is_not_asked_without_a_pause(play, monkeypatch, answer) -> None:
    monkeypatch.setattr(gateway_link, "PAUSE_S", 3600.0)

    async def story(gateway, one) -> None:
        gateway.said = {"/local/wait": (200, answer(gateway.state))}
        await one.sign_in(gateway)
        await one.until(lambda: gateway.count("/local/wait") > 0)
        for _ in range(20):
            await one.page.get("/api/state")
        assert gateway.count("/local/wait") == 1
    play(story)
