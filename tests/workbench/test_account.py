"""A workbench signs in at a gateway elsewhere, sets an Agent of it up and signs out; killed between any two steps, it goes on."""

from __future__ import annotations

import asyncio
import json
import os

import pytest

from rulith.base.clock import SystemClock
from rulith.base.errors import Refused
from rulith.disk import atomic
from rulith.disk.home import Home
from rulith.disk.materials import worker_materials
from rulith.disk.profiles import agent_secrets, create_profile, device_secrets, list_profiles, update_profile, worker_secrets
from rulith.gateway.service import open_gateway
from rulith.net.client import HttpClient
from rulith.runtime.local_home import LocalHome
from rulith.work.settings import work_url
from rulith.workbench import account as account_module
from rulith.workbench.account_calls import gateway_origin
from rulith.workbench.bench import Workbench
from tests.workbench.scripted_account import AGENT, Elsewhere, Life

STORY_S = 100


@pytest.fixture
def play(tmp_path, monkeypatch):
    """Run story(gateway, life), where life() is one run of the workbench of one home."""
    monkeypatch.setattr(account_module, "PAUSE_S_MIN", 0.02)

    def run(story, where: str | None = None) -> None:
        async def told() -> None:
            gateway, home = await Elsewhere().open(), Home(tmp_path / "home").prepare()
            try:
                await story(gateway, lambda at=gateway.url: Life(home, at))
            finally:
                await gateway.server.close(0)
        asyncio.run(asyncio.wait_for(told(), STORY_S))
    return run


async def to_the_end(gateway: Elsewhere, life: Life) -> None:
    """From whatever is written down: signed in, the Agent set up and its Worker at work, signed out."""
    if life.account.file.state == "none" and not gateway.revoked:
        await life.sign_in(gateway)
    gateway.approved |= {life.account.file.row.get("code", "")}
    await life.until(lambda: life.account.file.state in ("linked", "revoked", "none"))
    if life.account.is_linked and "revokeRequestId" not in life.account.file.row:
        status, told = await life.attach()
        assert status == 200, told
        worker = await life.spawn.wait_for("worker")
        assert worker.env["RULITH_CONNECTION_KEY"] in gateway.given.values() and worker.env["RULITH_WORK_URL"] == gateway.url + "/work"
    if life.account.file.state != "none":
        status, told = await life.post("signout")
        assert (status, told["state"]) == (200, "signed_out"), told


def test_it_signs_in_sets_an_agent_up_and_signs_out(play) -> None:
    async def story(gateway, life) -> None:
        async with life() as one:
            assert one.account.row()["state"] == "none" and one.bench.gateway_row()["state"] == "signed_out" and one.spawn.of("gateway") == []
            status, told = await one.post("start", name="Laptop")
            row = told["account"]
            assert (status, row["state"], row["code"], row["consoleUrl"]) == (200, "pending", "CODE-0001", f"{gateway.url}/console/#access/CODE-0001")
            assert "deviceCode" not in json.dumps(told) and "rld_" not in json.dumps(told)
            assert (await one.post("start", name="Laptop"))[1]["account"]["code"] == "CODE-0001"          # the same again
            await one.sign_in(gateway)
            row = one.account.row()
            assert row["account"] == gateway.account and row["agents"] == [AGENT] and "code" not in row and "rlt_dev" not in json.dumps(row)
            assert not {"deviceCode", "code", "clientId"} & set(json.loads((one.home.workbench / "device.json").read_text()))
            assert (one.home.workbench / "device.json").stat().st_mode & 0o777 == 0o600
            assert (await one.post("start", name="Laptop"))[1]["errorCode"] == "account_signed_in"
            assert (await one.post("forget"))[1]["errorCode"] == "account_signed_in"
            await one.until(lambda: one.bench.gateway_row()["state"] == "online")
            status, told = await one.attach()
            assert status == 200 and one.instance.name == "Far Agent" and one.instance.profile.origin == gateway.url
            again = await one.attach()                                                # its answer was lost: nothing is made twice
            assert again[1]["instanceId"] == told["instanceId"] and len(gateway.given) == 1
            assert agent_secrets(one.instance.profile).load()["RULITH_TOKEN"] == "rlt_agt_0"
            assert (await one.page.post("/i/" + one.instance.id + "/demo", {"caseType": "verified_calculation", "jobId": None}))[1]["errorCode"] == "worker_not_online"
            worker = await one.spawn.wait_for("worker")
            worker.child.tell({"type": "up"})
            files = worker_materials(one.instance.profile)
            assert files["RULITH_MATERIALS_OWNER"]
            status, told = await one.post("signout")
            assert (await one.page.get(f"/i/{one.instance.id}/worker-tools/state"))["ok"]              # what it was is still looked at
            assert told["state"] == "signed_out" and told["cleared"] == ["Far Agent"] and worker.child.asked_to_stop
            assert one.account.row()["state"] == "none" and not (one.home.workbench / "device.json").exists()
            assert agent_secrets(one.instance.profile).load() == {} and worker_secrets(one.instance.profile).load() == {}
            assert one.instance.profile.agent_id == "" and (one.instance.profile.workspace / "runtime" / "input.json").exists()
            assert (await one.post("signout"))[1]["errorCode"] == "account_none"
            gateway.revoked.clear()
            await one.sign_in(gateway)                                                # and in again: its profile is found again
            assert (await one.attach())[0] == 200 and len(one.bench.instances) == 1 and worker_materials(one.instance.profile) == files
    play(story)


KILLED_AT = ("device.json", "registry.json", "worker.secrets.json", "agent.secrets.json")


def test_killed_before_any_of_its_writes_it_goes_on_and_nothing_is_made_twice(play, monkeypatch) -> None:
    class Killed(Exception):
        pass

    real, left = os.replace, [0]

    def replace(source, target) -> None:
        if os.path.basename(target) in KILLED_AT and left[0] > 0:
            left[0] -= 1
            if left[0] == 0:
                raise Killed
        real(source, target)
    monkeypatch.setattr(atomic.os, "replace", replace)

    async def story(gateway, life) -> None:
        writes = 0
        while True:
            writes += 1
            gateway.approved, gateway.revoked, gateway.given = set(), set(), {}
            left[0] = writes
            async with life() as one:
                one.bench._task_done = one.bench._tasks.discard
                doing = asyncio.ensure_future(to_the_end(gateway, one))
                while not doing.done() and left[0]:
                    await asyncio.sleep(0.005)
                if killed := not left[0]:
                    doing.cancel()
                await asyncio.wait([doing])
                assert killed or doing.result() is None
            left[0] = 0
            if not killed:
                break
            async with life() as two:
                await to_the_end(gateway, two)
                assert two.account.row()["state"] == "none" and len(gateway.given) <= 1 and len(two.bench.instances) <= 1
                for instance in list(two.bench.instances.values()):
                    assert agent_secrets(instance.profile).load() == {} and not instance.profile.agent_id and not instance.profile.pairing
                    await two.bench.forget(instance)
        assert writes > 11
    play(story)


def test_no_answer_changes_nothing_and_is_said(play, monkeypatch) -> None:
    monkeypatch.setattr(account_module, "STALE_AFTER", 0)

    async def story(gateway, life) -> None:
        silent = (502, {"teaching": "bad gateway"})
        async with life() as one:
            for path in ("/register", "/device_authorization"):
                gateway.said = {path: silent}
                status, told = await one.post("start", name="Laptop")
                assert (status, told["errorCode"]) == (503, "account_silent") and one.account.file.state == "none"
            gateway.said = {"/token": silent, "/local-devices/context": silent}
            code = (await one.post("start", name="Laptop"))[1]["account"]["code"]
            gateway.approved.add(code)
            await one.until(lambda: gateway.count("/token") > 1 and bool(one.account.row()["error"]))
            assert one.account.file.state == "pending"
            del gateway.said["/token"]
            await one.until(lambda: one.account.file.state == "approved")
            gateway.said = {}
            one.account.look()
            await one.until(lambda: one.account.is_linked)
            gateway.said = {"/local-devices/context": silent}
            status, told = await one.post("refresh")
            assert status == 200 and told["account"]["state"] == "linked" and told["account"]["agents"] == [AGENT]
            assert told["account"]["error"] == "bad gateway" and told["account"]["stale"]
            gateway.said = {"/local-devices/context": (200, {"deviceId": 7})}                      # an answer that is none
            assert (await one.post("refresh"))[1]["account"]["state"] == "linked"
    play(story)


@pytest.mark.parametrize(("error", "words"), [("access_denied", "said no"), ("expired_token", "ran out")])
def test_a_code_that_came_to_nothing_is_forgotten_with_its_reason(play, error, words) -> None:
    async def story(gateway, life) -> None:
        async with life() as one:
            gateway.said = {"/token": (400, {"error": error, "error_description": "x"})}
            assert (await one.post("start", name="Laptop"))[0] == 200
            await one.until(lambda: one.account.file.state == "none")
            assert words in one.account.row()["teaching"] and not (one.home.workbench / "device.json").exists()
            gateway.said = {}
            await one.sign_in(gateway)
    play(story)


def test_another_name_or_a_code_that_ran_out_asks_for_another_code(play) -> None:
    async def story(gateway, life) -> None:
        async with life() as one:
            assert (await one.post("start", name="Laptop"))[1]["account"]["code"] == "CODE-0001"
            assert (await one.post("start", name="Desk"))[1]["account"]["code"] == "CODE-0002"
            one.account.file.row["codeExpiresAt"] = "2020-01-01T00:00:00.000Z"
            assert (await one.post("start", name="Desk"))[1]["account"]["code"] == "CODE-0003"
            for name in ("", " ", "x" * 65, "a\nb", 7):
                assert (await one.post("start", name=name))[1]["errorCode"] == "account_name"
            assert (await one.post("forget"))[1]["revoke"] == "not_issued" and one.account.file.state == "none"
    play(story)


@pytest.mark.parametrize("said", [(404, {}), (400, {"error": "invalid_scope", "error_description": "no such scope"})])
def test_a_gateway_without_such_a_sign_in_is_named(play, said) -> None:
    async def story(gateway, life) -> None:
        async with life() as one:
            gateway.said = {"/device_authorization": said}
            assert (await one.post("start", name="Laptop"))[1]["errorCode"] == "account_refused" and one.account.file.state == "none"
    play(story)


def test_a_page_of_another_origin_is_not_led_to(play) -> None:
    async def story(gateway, life) -> None:
        async with life() as one:
            gateway.said = {"/device_authorization": (200, {"device_code": "rld_x", "user_code": "CODE-0009", "expires_in": 60, "interval": 5,
                                                            "verification_uri_complete": "https://evil.example/console/"})}
            assert (await one.post("start", name="Laptop"))[1]["account"]["consoleUrl"] == f"{gateway.url}/console/#access/CODE-0009"
    play(story)


LINKED = {"state": "linked", "token": "t", "deviceId": "d", "account": {"id": "a", "name": "n"}, "agents": [], "expiresAt": "2027-01-01T00:00:00Z"}
PENDING = {"state": "pending", "name": "n", "clientId": "c", "deviceCode": "d", "code": "e", "codeExpiresAt": "2027-01-01T00:00:00Z", "intervalS": 5}
DAMAGED = [PENDING | each for each in ({"codeExpiresAt": "soon"}, {"intervalS": 10**400}, {"intervalS": -1}, {"origin": 7})]
DAMAGED += [LINKED | each for each in ({"expiresAt": None}, {"account": {"id": "a"}}, {"agents": [{"id": "x"}]}, {"signOut": "x"}, {"endedWhy": 7}, {"agents": {}})]


async def at_work(one: Life, gateway: Elsewhere):
    """Signed in, one Agent set up, its Worker up."""
    await one.sign_in(gateway)
    assert (await one.attach())[0] == 200
    worker = await one.spawn.wait_for("worker")
    worker.child.tell({"type": "up"})
    return worker


@pytest.mark.parametrize(("said", "state"), [
    ((401, {"errorCode": "device_revoked", "teaching": "Ada signed it out."}), "revoked"), ((401, {"errorCode": "device_expired"}), "expired"),
    ((401, {}), "unusable"), ((403, {"errorCode": "anything"}), "unusable"), ((404, {"errorCode": "device_not_found"}), "unusable"),
    ((200, {"deviceId": "device_1", "account": {"id": "acc_2", "name": "eve"}, "agents": [AGENT], "expiresAt": "2027-01-01T00:00:00Z"}), "unusable"),
    ((200, {"deviceId": "device_2", "account": {"id": "acc_1", "name": "ada"}, "agents": [AGENT], "expiresAt": "2027-01-01T00:00:00Z"}), "unusable")])
def test_a_sign_in_that_ended_ends_its_roles_and_is_not_tried_again(play, said, state) -> None:
    async def story(gateway, life) -> None:
        async with life() as one:
            worker = await at_work(one, gateway)
            gateway.said = {"/local-devices/context": said}
            told = (await one.post("refresh"))[1]["account"]
            assert told["state"] == state and told["teaching"] and worker.child.asked_to_stop and one.bench.gateway_row()["state"] == "signed_out"
            asked = gateway.count("/local-devices/context")
            assert (await one.post("start", name="Laptop"))[1]["errorCode"] == "account_ended"
            assert (await one.page.post(f"/i/{one.instance.id}/worker", {"operation": "start"}))[1]["errorCode"] == "account_needed"
            one.account.look()
        async with life() as two:
            assert two.account.row()["state"] == state and two.spawn.calls == []
            assert gateway.count("/local-devices/context") == asked
            gateway.said = {"/local-devices/revoke": (503, {})}
            status, told = await two.post("forget")
            assert (told["state"], told["revoke"], told["cleared"]) == ("none", "unconfirmed", ["Far Agent"]) and worker_secrets(two.instance.profile).load() == {}
    play(story)


def test_the_gateways_no_to_a_read_is_asked_about_at_once(play) -> None:
    async def story(gateway, life) -> None:
        async with life() as one:
            worker = await at_work(one, gateway)
            gateway.revoked |= gateway.approved                                       # an owner signs it out: the next read is refused
            await one.until(lambda: one.account.file.state == "revoked" and worker.child.asked_to_stop)
    play(story)


def test_an_agent_that_left_the_list_is_stopped_and_does_not_start(play) -> None:
    async def story(gateway, life) -> None:
        async with life() as one:
            worker = await at_work(one, gateway)
            gateway.agents = [{"id": "agent_new", "name": "New"}]
            told = (await one.post("refresh"))[1]
            assert (told["addedAgents"], told["removedAgents"]) == (["agent_new"], [AGENT["id"]])
            await one.until(lambda: worker.child.asked_to_stop)
            assert (await one.page.post(f"/i/{one.instance.id}/worker", {"operation": "start"}))[1]["errorCode"] == "agent_not_listed"
            assert (await one.attach())[1]["errorCode"] == "agent_not_listed"
            gateway.agents = [AGENT]
            await one.until(lambda: one.instance.worker.state.value == "stopped")
            await one.post("refresh")
            await one.spawn.wait_for("worker", 2)                                     # back again
            gateway.agents = []
            assert (await one.post("refresh"))[1]["account"]["agents"] == []          # none is an answer too
    play(story)


def test_signing_out_says_which_step_did_not_succeed_and_goes_on_with_the_same_request(play, monkeypatch) -> None:
    async def story(gateway, life) -> None:
        async with life() as one:
            worker = await at_work(one, gateway)
            role, real = one.instance.worker, one.instance.worker.close

            async def stays(grace_s: float) -> None:
                pass
            role.close = stays
            status, told = await one.post("signout")
            assert (told["state"], told["step"], told["running"]) == ("incomplete", "stop", ["the Worker of Far Agent"]) and gateway.count("/local-devices/revoke") == 0
            assert told["account"]["signOut"]["step"] == "stop" and told["account"]["state"] == "linked" and "Far Agent" in told["account"]["stopWarning"]
            role.close = real
            gateway.said = {"/local-devices/revoke": (503, {})}
            status, told = await one.post("signout")
            assert (told["state"], told["step"]) == ("incomplete", "revoke") and worker.child.asked_to_stop
            first = gateway.last("/local-devices/revoke")
        gateway.said = {}
        async with life() as two:
            assert two.account.row()["signOut"]["step"] == "revoke"
            gateway.revoked |= gateway.approved                                       # it had arrived, and its answer was lost
            two.account.file.row["state"] = "linked"
            status, told = await two.post("signout")
            assert (told["state"], told["alreadyRevoked"]) == ("signed_out", True) and gateway.last("/local-devices/revoke") == first
    play(story)


def test_a_pairing_that_was_refused_stays_and_one_that_was_overtaken_begins_anew(play) -> None:
    async def story(gateway, life) -> None:
        async with life() as one:
            await one.sign_in(gateway)
            gateway.said = {"/local-devices/pair": (409, {"errorCode": "runtime_credential_exists", "teaching": "It has a token."})}
            status, told = await one.attach(replaceAgentToken=False)
            assert (status, told["errorCode"]) == (409, "pairing_refused") and "It has a token." in told["teaching"]
            row = one.instance.row()
            assert row["pairing"]["lastError"]["code"] == "runtime_credential_exists" and not row["attached"] and "pairingId" not in json.dumps(row)
            assert (await one.page.post(f"/i/{one.instance.id}/worker", {"operation": "start"}))[1]["errorCode"] == "profile_pairing"
            first = gateway.last("/local-devices/pair")["pairingId"]
            gateway.said = {"/local-devices/pair": (503, {})}
            assert (await one.attach())[1]["errorCode"] == "pairing_silent" and gateway.last("/local-devices/pair")["pairingId"] == first
            gateway.said = {"/local-devices/pair": (409, {"errorCode": "pairing_conflict"})}
            assert (await one.attach())[1]["errorCode"] == "pairing_refused"
            assert (await one.attach(mode="existing_client"))[1]["errorCode"] == "pairing_held"
            gateway.said = {"/local-devices/pair": (200, {"pairingId": "other", "agentId": AGENT["id"], "key": "rlt_key_x", "token": "rlt_agt_x"})}
            assert (await one.attach())[1]["errorCode"] == "pairing_silent" and gateway.last("/local-devices/pair")["pairingId"] != first
            gateway.said = {}
            assert (await one.post("cancel", instanceId=one.instance.id))[0] == 200 and one.instance.profile.pairing is None
            assert (await one.attach(instanceId=one.instance.id))[0] == 200 and one.instance.profile.is_attached
            assert (await one.attach(mode="nonsense"))[1]["errorCode"] == "profile_mode"
    play(story)


def test_a_program_elsewhere_gets_a_connection_and_no_token(play) -> None:
    async def story(gateway, life) -> None:
        async with life() as one:
            await one.sign_in(gateway)
            assert (await one.attach(mode="existing_client"))[0] == 200 and gateway.last("/local-devices/pair")["clientMode"] == "existing_agent"
            assert agent_secrets(one.instance.profile).load() == {} and worker_secrets(one.instance.profile).load()["RULITH_CONNECTION"] == "conn_far"
    play(story)


def test_a_pairing_whose_agent_is_written_down_is_collected_and_not_given_up(play) -> None:
    async def story(gateway, life) -> None:
        async with life() as one:
            await one.sign_in(gateway)
            gateway.said = {"/local-devices/pair": (503, {})}
            await one.attach()
            one.bench.take(update_profile(one.home, one.instance.id, agentId=AGENT["id"]))     # killed after its identity
            assert (await one.post("cancel", instanceId=one.instance.id))[1]["errorCode"] == "pairing_collect"
            gateway.said = {}
            assert (await one.attach())[0] == 200 and agent_secrets(one.instance.profile).load()["RULITH_TOKEN"]
    play(story)


def test_an_agent_of_one_gateway_does_not_start_at_another(play) -> None:
    async def story(gateway, life) -> None:
        async with life() as one:
            await at_work(one, gateway)
        async with life("") as home:                                                  # the home's own gateway
            status, told = await home.page.post(f"/i/{home.instance.id}/worker", {"operation": "start"})
            assert told["errorCode"] == "gateway_not_ready" and f"--gateway {gateway.url}" in home.bench.blocked(home.instance)
            assert home.account.row()["state"] == "linked" and not home.account.row()["isHere"] and gateway.url not in home.bench.link.url
            assert (await home.post("start", name="x"))[1]["errorCode"] == "account_local"
        async with life("http://127.0.0.1:9") as other:
            with pytest.raises(Refused) as refused:
                other.account.check_profile(other.instance.profile)
            assert refused.value.code == "profile_other_gateway" and refused.value.teaching == other.bench.blocked(other.instance)
            assert f"--gateway {gateway.url}" in refused.value.teaching
            assert (await other.post("start", name="x"))[1]["errorCode"] == "account_signed_in" and other.bench.link.grant == ""
            assert (await other.post("signout"))[1]["state"] == "signed_out" and len(gateway.revoked) == 1      # where it was signed in
        async with life() as again:
            gateway.account, gateway.device_id = {"id": "acc_2", "name": "eve"}, "device_9"
            await again.sign_in(gateway)
            again.bench.take(update_profile(again.home, again.instance.id, origin=gateway.url, accountId="acc_1", agentId=AGENT["id"], connectionId="conn_far"))
            assert (await again.page.post(f"/i/{again.instance.id}/worker", {"operation": "start"}))[1]["errorCode"] == "profile_other_account"
    play(story)


@pytest.mark.parametrize("content", [b"{", b"[]", b'{"format":"other","state":"linked"}', b'{"format":"rulith-local-device/1","state":"linked","origin":"http://x"}',
                                     b'{"format":"rulith-local-device/1","state":"pending","origin":"x","name":"n","clientId":"c","deviceCode":"d","code":"e","codeExpiresAt":"f","intervalS":"1"}',
                                     *(json.dumps({"format": "rulith-local-device/1", "origin": "http://x", **each}).encode() for each in DAMAGED)])
def test_a_sign_in_that_cannot_be_read_is_said_and_only_forgotten_by_a_person(play, content) -> None:
    async def story(gateway, life) -> None:
        async with life() as one:
            home = one.home
        place = home.workbench / "device.json"
        place.write_bytes(content)
        place.chmod(0o600)
        async with life() as one:
            assert one.account.row()["state"] == "unreadable" and str(place) in one.account.row()["teaching"]
            with pytest.raises(Refused) as refused:
                one.account.file.keep("linked", {})
            assert refused.value.code == "device_unreadable"
            assert (await one.post("start", name="Laptop"))[1]["errorCode"] == "account_ended" and place.read_bytes() == content
            assert (await one.post("forget"))[1]["revoke"] == "unreadable" and not place.exists()
            await one.sign_in(gateway)
    play(story)


def test_the_console_is_opened_at_its_own_place(play) -> None:
    async def story(gateway, life) -> None:
        async with life() as one:
            led = await one.page.ask("GET", "/console/")
            assert (led.status, led.headers.get("location")) == (302, gateway.url + "/console/")
            assert json.loads((await one.page.ask("GET", "/console/api/state")).body)["errorCode"] == "console_elsewhere"
    play(story)


@pytest.mark.parametrize(("text", "insecure", "origin"), [
    ("https://Gateway.example/", False, "https://gateway.example"), ("http://127.0.0.1:7781", False, "http://127.0.0.1:7781"), ("https://[::1]:8443", False, "https://[::1]:8443"),
    ("http://gateway.example:80", True, "http://gateway.example:80"), ("http://gateway.example", False, "gateway_plain_http"), ("ftp://x", False, "gateway_address"),
    ("gateway.example", False, "gateway_address"), ("https://u@h", False, "gateway_address"), ("https://h/path", False, "gateway_address"), ("https://h?x=1", False, "gateway_address"),
    ("https://h:99999", False, "gateway_address"), ("", False, "gateway_address")])
def test_an_address_of_a_gateway_is_an_origin_over_tls_or_on_this_computer(text, insecure, origin) -> None:
    try:
        found = gateway_origin(text, insecure=insecure)
    except Refused as refusal:
        found = refusal.code
    assert found == origin


def test_a_run_from_cron_goes_to_the_gateway_that_its_profile_is_of(play) -> None:
    async def story(gateway, life) -> None:
        async with life() as one:
            await one.sign_in(gateway)
            await one.attach()
        gateway.state["connections"] = [{"id": "conn_far", "line": {"state": "online"}}]        # a Worker is at work somewhere
        client = HttpClient(environ={})
        local = LocalHome(one.home, client, log=lambda words: None)
        found = await local.prepare(None, {})
        await local.end()
        assert (found["RULITH_URL"], found["RULITH_TOKEN"]) == (gateway.url, "rlt_agt_0") and not one.home.ledger.exists()
        assert json.loads(found["RULITH_CONVERSATION_OWNER"]) == {"origin": gateway.url, "accountId": "acc_1", "agentId": ""}
        (one.home.workbench / "device.json").unlink()
        with pytest.raises(Refused) as refused:
            await LocalHome(one.home, client, log=lambda words: None).prepare(None, {})
        assert refused.value.code == "account_needed" and gateway.url in refused.value.teaching
        await client.close()
    play(story)


def test_the_homes_own_first_agent_takes_no_profile_of_another_gateway(tmp_path) -> None:
    home = Home(tmp_path / "home").prepare()
    device_secrets(home).update({"computer": "c" * 64})
    create_profile(home, "Not attached")
    used = create_profile(home, "Used", agent_id="agent_used", connection_id="conn_used")
    agent_secrets(update_profile(home, used.id, origin="https://far", accountId="a")).update({"RULITH_TOKEN": "rlt_agt_far"})
    far = create_profile(home, "Assistant", pairing={"pairingId": "p", "agentId": "agent_far"}, target={"origin": "https://far", "accountId": "a", "agentId": "agent_far"})

    async def story() -> None:
        await open_gateway(home, SystemClock(), {}).close()
    asyncio.run(story())
    after = {each.name: each for each in list_profiles(home)}
    assert set(after) == {"Not attached", "Used", "Assistant", "Assistant 2"} and after["Assistant"] == far and after["Assistant 2"].is_attached and not after["Assistant 2"].origin


def test_plain_http_that_a_person_agreed_to_is_told_to_the_roles(tmp_path) -> None:
    assert work_url({"RULITH_WORK_URL": "http://far.example/work", "RULITH_INSECURE_HTTP": "1"}, Home(tmp_path)) == "http://far.example/work"
    for origin, args in (("http://far.example", ["--insecure-http"]), ("http://127.0.0.1:1", []), ("https://far.example", []), ("", [])):
        async def story(origin=origin) -> list[str]:
            return Workbench(Home(tmp_path / "home").prepare(), SystemClock(), None, environ={}, gateway=origin).plain_args
        assert asyncio.run(story()) == args


def test_what_the_workbench_trusts_its_roles_trust(tmp_path, monkeypatch) -> None:
    async def story() -> None:
        gateway = await Elsewhere().open()
        async with Life(Home(tmp_path / "home").prepare(), gateway.url, {"RULITH_CA_FILE": "/far/root.pem"}) as one:
            assert (await at_work(one, gateway)).env["RULITH_CA_FILE"] == "/far/root.pem"
            order = {"caseType": "verified_calculation", "jobId": None}
            assert (await one.page.post(f"/i/{one.instance.id}/demo", order))[0] == 200
            assert (await one.spawn.wait_for("agent")).env["RULITH_CA_FILE"] == "/far/root.pem"
        await gateway.server.close(0)
    monkeypatch.setattr(account_module, "PAUSE_S_MIN", 0.02)
    asyncio.run(asyncio.wait_for(story(), STORY_S))


def test_a_gateway_that_is_gone_for_good_is_forgotten_once_it_could_not_be_told(play) -> None:
    async def story(gateway, life) -> None:
        async with life() as one:
            await at_work(one, gateway)
            gateway.said = {"/local-devices/revoke": (503, {})}
            assert (await one.post("forget"))[1]["errorCode"] == "account_signed_in"
            assert (await one.post("signout"))[1]["step"] == "revoke"
            status, told = await one.post("forget")
            assert (status, told["revoke"], told["account"]["state"]) == (200, "unconfirmed", "none") and worker_secrets(one.instance.profile).load() == {}
    play(story)
