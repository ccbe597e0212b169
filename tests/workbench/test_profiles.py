"""Profiles through the page's HTTP: made, attached, given a model or a key, carried without secrets, removed; and what is refused.

Source  the workbench surface, "Manager HTTP", "Attaching a profile", "Model settings", "Supervision" (orphans)
"""

import asyncio
import hashlib
import json
import os
import subprocess
import sys

import pytest

from rulith.base.errors import Refused
from rulith.disk.model_settings import agent_credentials, agent_env
from rulith.disk.portable_profile import export_profile, import_profile
from rulith.disk.profiles import agent_secrets, create_profile, list_profiles, role_env, worker_secrets, write_role_env
from rulith.disk.runfile import write_runfile
from rulith.net.messages import Response, json_response
from rulith.net.server import serve
from rulith.procs.identity import process_stamp

from tests.workbench.scripted_bench import AGENT, CONNECTION
from tests.workbench.test_page_http import play

MODEL = {"url": "https://models.example/v1", "name": "some-model", "key": "sk-secret-one", "clearKey": False, "thinking": "standard",
         "toolsAsText": False, "maxOutputTokens": 6000}
TOKEN, KEY, OTHER_KEY = "rlt_agt_second", "rlt_key_second", "rlt_key_third"
OWNERS = {TOKEN: {"agentId": "agent_two", "agentName": "Second"},
          KEY: {"agentId": "agent_two", "agentName": "Second", "connectionId": "conn_two", "connectionName": "Second's Worker"},
          OTHER_KEY: {"agentId": "agent_two", "agentName": "Second", "connectionId": "conn_three", "connectionName": "Another line"},
          "rlt_agt_scripted": {"agentId": AGENT, "agentName": "Assistant"},
          "rlt_key_scripted": {"agentId": AGENT, "agentName": "Assistant", "connectionId": CONNECTION, "connectionName": "Assistant's Worker"}}
BY_HASH = {hashlib.sha256(secret.encode()).hexdigest(): row for secret, row in OWNERS.items()}


def whose(request):
    found = BY_HASH.get(request.query["hash"])
    return (200, found) if found else (404, {"ok": False, "errorCode": "credential_unknown", "teaching": "This opens nothing."})


def acting(stage, script):
    """The scene with a gateway that knows the credentials of OWNERS."""
    async def scene(stage):
        stage.gateway.answers["whose"] = whose
        return await script(stage)
    return play(stage, scene)


async def row_of(stage, instance_id):
    return next(row for row in (await stage.page.get("/api/state"))["instances"] if row["id"] == instance_id)


async def made(stage, name="Second", mode="local_agent"):
    status, answer = await stage.page.post("/api/profiles/create", {"name": name, "mode": mode})
    assert status == 200, answer
    return answer["instance"]


async def refused(stage, path, body):
    status, answer = await stage.page.post(path, body)
    assert not answer["ok"] and answer["happened"] and answer["next"]
    return status, answer["errorCode"]


# made and attached

def test_a_new_profile_starts_nothing_until_it_is_attached(stage):
    async def script(stage):
        row = await made(stage)
        assert (row["attached"], row["worker"]["state"], row["model"]["source"]) == (False, "stopped", "default")
        assert await refused(stage, f"/i/{row['id']}/worker", {"operation": "start"}) == (409, "profile_unattached")
        assert await refused(stage, f"/i/{row['id']}/agent", {"operation": "start"}) == (409, "profile_unattached")
        assert len(stage.spawn.of("worker")) == 1
        status, answer = await stage.page.post(f"/i/{row['id']}/profile/attach", {"token": TOKEN, "key": KEY, "expected": row["revision"]})
        assert status == 200 and (answer["agentId"], answer["connectionId"]) == ("agent_two", "conn_two")
        assert TOKEN not in json.dumps(answer) and KEY not in json.dumps(answer)
        worker = await stage.spawn.wait_for("worker", 2)
        assert (worker.env["RULITH_CONNECTION"], worker.env["RULITH_CONNECTION_KEY"]) == ("conn_two", KEY)
        assert worker.env["RULITH_WORKER_ROOT"].endswith("workspace") and TOKEN not in worker.env.values()
        profile = stage.bench.instances[row["id"]].profile
        assert agent_secrets(profile).load() == {"RULITH_TOKEN": TOKEN} and KEY not in stage.home.registry.read_text()
        again = await row_of(stage, row["id"])
        assert again["attached"] and again["revision"] != row["revision"]
        assert not any(secret in str(asked.target) for asked in stage.gateway.asked for secret in (TOKEN, KEY))
    acting(stage, script)


def test_a_program_elsewhere_gets_a_worker_and_is_asked_for_no_token_and_no_model(stage):
    async def script(stage):
        row = await made(stage, mode="existing_client")
        assert (row["model"]["source"], row["model"]["ready"]) == ("external", True)
        at = f"/i/{row['id']}"
        assert (await stage.page.post(f"{at}/profile/attach", {"key": KEY, "expected": row["revision"]}))[0] == 200
        await stage.spawn.wait_for("worker", 2)
        assert await refused(stage, f"{at}/agent", {"operation": "start"}) == (409, "agent_elsewhere")
        assert await refused(stage, f"{at}/demo", {"caseType": "verified_calculation", "jobId": None}) == (409, "agent_elsewhere")
        assert await refused(stage, f"{at}/model", MODEL) == (400, "model_external")
        assert await refused(stage, stage.at("model/copy"), {"from": row["id"], "expected": (await row_of(stage, stage.profile.id))["revision"]}) == (400, "model_external")
        assert agent_secrets(stage.bench.instances[row["id"]].profile).load() == {}
    acting(stage, script)


def test_credentials_are_held_against_the_gateways_word(stage):
    async def script(stage):
        row = await made(stage)
        path, shown = f"/i/{row['id']}/profile/attach", {"expected": row["revision"]}
        for given, expected in (({"token": TOKEN, "key": TOKEN}, (400, "credential_kind")), ({"token": KEY, "key": KEY}, (400, "credential_kind")),
                                ({"key": KEY}, (400, "credential_kind")), ({"token": 5, "key": KEY}, (400, "credential_kind")),
                                ({"token": "rlt_agt_nobody", "key": KEY}, (400, "gateway_refused")),
                                ({"token": "rlt_agt_scripted", "key": KEY}, (409, "credential_elsewhere")),
                                ({"token": "rlt_agt_scripted", "key": "rlt_key_scripted"}, (409, "profile_agent_taken"))):
            status, answer = await stage.page.post(path, {**given, **shown})
            assert (status, answer["errorCode"]) == expected, (given, answer)
            assert not any(secret in json.dumps(answer) for secret in given.values() if isinstance(secret, str))
        assert await refused(stage, path, {"token": TOKEN, "key": KEY, "expected": "0" * 16}) == (409, "profile_moved")
        profile = stage.bench.instances[row["id"]].profile
        assert not profile.is_attached and agent_secrets(profile).load() == {} == worker_secrets(profile).load()
    acting(stage, script)


def test_an_attached_profile_keeps_its_agent_and_takes_new_credentials_of_it(stage):
    async def script(stage):
        row = await row_of(stage, stage.profile.id)
        assert await refused(stage, stage.at("profile/attach"), {"token": TOKEN, "key": KEY, "expected": row["revision"]}) == (409, "credential_elsewhere")
        status, _ = await stage.page.post(stage.at("profile/attach"), {"token": "rlt_agt_scripted", "key": "rlt_key_scripted", "expected": row["revision"]})
        assert status == 200
        await stage.spawn.wait_for("worker", 2)              # it reads its key anew
    acting(stage, script)


def test_a_replaced_key_is_of_the_same_connection_and_reaches_the_worker(stage):
    async def script(stage):
        body = {"key": "rlt_key_scripted", "expectedAgentId": AGENT, "expectedConnectionId": CONNECTION}
        assert await refused(stage, stage.at("profile/key"), {**body, "expectedAgentId": "agent_two"}) == (409, "profile_moved")
        assert await refused(stage, stage.at("profile/key"), {**body, "key": OTHER_KEY}) == (409, "credential_elsewhere")
        stage.spawn.of("worker")[0].child.exit(3, "the key was rejected")
        await stage.until(lambda: stage.instance.worker.state.value == "needs_setup")
        worker_secrets(stage.profile).update({"RULITH_CONNECTION_KEY": "rlt_key_old"})
        assert (await stage.page.post(stage.at("profile/key"), body)) == (200, {"ok": True, "keyConfigured": True})
        worker = await stage.spawn.wait_for("worker", 2)
        assert worker.env["RULITH_CONNECTION_KEY"] == "rlt_key_scripted"
    acting(stage, script)


@pytest.mark.parametrize(("body", "code"), [
    ({"name": "Assistant", "mode": "local_agent"}, "profile_exists"), ({"name": "../x", "mode": "local_agent"}, "profile_name"), ({"name": 5, "mode": "local_agent"}, "profile_name"),
    ({"name": "x", "mode": "other"}, "profile_mode"), ({"name": "x", "mode": ["local_agent"]}, "profile_mode"), ({"name": "x"}, "body_field"), ({"name": "x", "mode": "local_agent", "agentId": "a"}, "body_field")])
def test_what_cannot_be_made_is_refused_by_name(stage, body, code):
    async def script(stage):
        assert await refused(stage, "/api/profiles/create", body) == (400, code)
        assert [each.name for each in list_profiles(stage.home)] == ["Assistant"]
    play(stage, script)


def test_the_number_of_profiles_is_bounded(stage, monkeypatch):
    monkeypatch.setattr("rulith.disk.profiles.PROFILES_MAX", 1)
    async def script(stage):
        assert await refused(stage, "/api/profiles/create", {"name": "x", "mode": "local_agent"}) == (400, "resource_limit")
    play(stage, script)


def test_two_pages_that_attach_at_once_end_at_one_agent(stage):
    async def script(stage):
        row = await made(stage)
        body = {"token": TOKEN, "expected": row["revision"]}
        answers = await asyncio.gather(*(stage.page.post(f"/i/{row['id']}/profile/attach", {**body, "key": key}) for key in (KEY, OTHER_KEY)))
        assert sorted(status for status, _ in answers) == [200, 409]
        profile = stage.bench.instances[row["id"]].profile
        assert worker_secrets(profile).load() == {"RULITH_CONNECTION": profile.connection_id, "RULITH_CONNECTION_KEY": {"conn_two": KEY, "conn_three": OTHER_KEY}[profile.connection_id]}
    acting(stage, script)


def test_a_key_that_is_replaced_starts_no_worker_that_a_person_stopped(stage):
    async def script(stage):
        assert (await stage.page.post(stage.at("worker"), {"operation": "stop"}))[0] == 200
        await stage.until(lambda: stage.instance.worker.state.value == "stopped")
        body = {"key": "rlt_key_scripted", "expectedAgentId": AGENT, "expectedConnectionId": CONNECTION}
        assert (await stage.page.post(stage.at("profile/key"), body))[0] == 200
        assert stage.instance.worker.state.value == "stopped" and len(stage.spawn.of("worker")) == 1
    acting(stage, script)


def test_an_attachment_that_was_cut_short_after_its_row_is_made_whole_by_the_next(stage, monkeypatch):
    """Identity is written before credentials: what is missing then is credentials of a known Agent, never one Agent's under another's name."""
    async def script(stage):
        row, writes = await made(stage), []

        def cut(path, *args, **named):
            writes.append(path)
            raise Refused("write_failed", path=str(path), problem="Input/output error")
        with monkeypatch.context() as patched:
            patched.setattr("rulith.disk.vault.write_whole", cut)
            assert await refused(stage, f"/i/{row['id']}/profile/attach", {"token": TOKEN, "key": KEY, "expected": row["revision"]}) == (400, "write_failed")
        assert len(writes) == 1
        again = await row_of(stage, row["id"])
        profile = next(each for each in list_profiles(stage.home) if each.id == row["id"])
        assert profile.agent_id == "agent_two" and worker_secrets(profile).load() == {} and len(stage.spawn.of("worker")) == 1
        assert (await stage.page.post(f"/i/{row['id']}/profile/attach", {"token": TOKEN, "key": KEY, "expected": again["revision"]}))[0] == 200
        await stage.spawn.wait_for("worker", 2)
    acting(stage, script)


# renamed and removed

def test_a_renamed_profile_keeps_everything_else_and_a_stale_page_renames_nothing(stage):
    async def script(stage):
        row = await row_of(stage, stage.profile.id)
        assert (await stage.page.post(stage.at("profile/rename"), {"name": "Night audit", "expected": row["revision"]}))[0] == 200
        assert await refused(stage, stage.at("profile/rename"), {"name": "Late", "expected": row["revision"]}) == (409, "profile_moved")
        again = await row_of(stage, stage.profile.id)
        assert (again["name"], again["agentId"], again["worker"]["pid"]) == ("Night audit", AGENT, row["worker"]["pid"])
    play(stage, script)


def test_a_removed_profile_ends_its_roles_and_leaves_its_folder(stage):
    async def script(stage):
        directory = stage.profile.directory
        assert await refused(stage, stage.at("profile/forget"), {"name": "Other"}) == (400, "profile_whole")
        assert stage.instance.worker.state.value == "online"
        instance = stage.instance
        instance.busy = True
        assert await refused(stage, stage.at("profile/forget"), {"name": "Assistant"}) == (409, "profile_busy")
        instance.busy = False
        assert await stage.page.post(stage.at("profile/forget"), {"name": "Assistant"}) == (200, {"ok": True, "directory": str(directory)})
        assert stage.spawn.of("worker")[0].child.asked_to_stop and directory.is_dir()
        assert (await stage.page.get("/api/state"))["instances"] == [] and list_profiles(stage.home) == []
        assert await refused(stage, stage.at("worker"), {"operation": "start"}) == (404, "instance_unknown")
        stage.spawn.of("worker")[0].child.tell({"type": "reported"})        # a late word of it disturbs nobody
    play(stage, script)


# models

def test_the_default_serves_who_has_no_model_and_its_key_goes_to_no_profile(stage):
    async def script(stage):
        assert (await stage.page.post("/api/profiles/default-model", MODEL))[0] == 200
        state = await stage.page.get("/api/state")
        row = state["instances"][0]
        assert (row["model"]["source"], row["model"]["name"], row["model"]["ready"], state["modelDefault"]["keyConfigured"]) == ("default", "some-model", True, True)
        assert MODEL["key"] not in json.dumps(state)
        assert await refused(stage, stage.at("model"), {**MODEL, "key": "", "source": "custom", "expected": row["revision"]}) == (400, "model_field")
        assert (await stage.page.post(stage.at("model"), {**MODEL, "key": "sk-own", "name": "own", "source": "custom", "expected": row["revision"]}))[0] == 200
        assert await refused(stage, stage.at("model"), {"source": "default", "expected": row["revision"]}) == (409, "profile_moved")
        profile = stage.instance.profile
        assert agent_env(profile)["RULITH_MODEL"] == "own" and agent_credentials(profile)["RULITH_MODEL_KEY"] == "sk-own"
        own = await row_of(stage, stage.profile.id)
        assert await refused(stage, stage.at("model"), {"source": "default", "url": "x", "expected": own["revision"]}) == (400, "body_field")
        assert (await stage.page.post(stage.at("model"), {"source": "default", "expected": own["revision"]}))[0] == 200
        assert agent_credentials(stage.instance.profile)["RULITH_MODEL_KEY"] == MODEL["key"]
        assert "RULITH_MODEL_KEY" not in agent_secrets(stage.profile).load() and "RULITH_MODEL_URL" not in role_env(stage.profile, "agent")
        assert await refused(stage, stage.at("model"), {**MODEL, "source": "other"}) == (400, "model_source")
    play(stage, script)


def test_left_out_thinking_and_tokens_keep_what_they_were(stage):
    async def script(stage):
        url = "https://models.example/v1/chat/completions"
        await stage.page.post(stage.at("model"), {**MODEL, "url": url, "thinking": "disabled", "toolsAsText": True, "maxOutputTokens": 900})
        assert (await stage.page.post(stage.at("model"), {"url": url, "name": "two", "key": "", "clearKey": False}))[0] == 200
        model = (await row_of(stage, stage.profile.id))["model"]
        assert (model["name"], model["thinking"], model["toolsAsText"], model["maxOutputTokens"], model["keyConfigured"]) == ("two", "disabled", True, 900, True)
    play(stage, script)


def test_a_copied_model_is_the_one_in_effect_with_its_key_even_an_empty_one(stage):
    async def script(stage):
        await stage.page.post("/api/profiles/default-model", MODEL)
        other = await made(stage)
        row = await row_of(stage, stage.profile.id)
        status, answer = await stage.page.post(stage.at("model/copy"), {"from": other["id"], "expected": row["revision"]})
        assert (status, answer) == (200, {"ok": True, "modelService": MODEL["url"], "model": "some-model", "modelKeyCopied": True})
        assert (await row_of(stage, stage.profile.id))["model"]["source"] == "custom" and agent_secrets(stage.profile).load()["RULITH_MODEL_KEY"] == MODEL["key"]
        await stage.page.post(f"/i/{other['id']}/model", {**MODEL, "url": "http://127.0.0.1:9/v1", "key": ""})
        row = await row_of(stage, stage.profile.id)
        _, answer = await stage.page.post(stage.at("model/copy"), {"from": other["id"], "expected": row["revision"]})
        assert answer["modelKeyCopied"] is False and "RULITH_MODEL_KEY" not in agent_secrets(stage.profile).load()
        assert await refused(stage, stage.at("model/copy"), {"from": "inst-none", "expected": ""}) == (409, "profile_moved")
    play(stage, script)


class Service:
    """A model service on loopback that answers what the test says."""

    def __init__(self, **answers):
        self.answers, self.asked = answers, []

    async def handle(self, request):
        self.asked.append((request.method, request.path, json.loads(request.body) if request.body else None, request.headers.get("authorization")))
        if request.path.endswith("/models"):
            return json_response(*self.answers.get("models", (404, {})))
        answer = self.answers["chat"]
        return answer(self.asked[-1][2]) if callable(answer) else answer


def reply(text):
    return json_response(200, {"choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}]})


def tried(stage, service, **changes):
    async def script(stage):
        server = await serve(service.handle)
        try:
            body = {**MODEL, "url": f"http://127.0.0.1:{server.port}/v1", **changes}
            return await stage.page.post(stage.at("model/test"), body)
        finally:
            await server.close(0)
    return play(stage, script)


def test_a_test_says_what_the_endpoint_answered_and_saves_nothing(stage):
    service = Service(chat=reply("I am ready."), models=(200, {"data": [{"id": "some-model"}, {"id": "other"}, {"id": 5}]}))
    status, answer = tried(stage, service)
    assert status == 200
    assert {**answer["answer"], "ms": 0} == {"status": 200, "said": "I am ready.", "problem": "", "wants": [], "ms": 0, "models": ["some-model", "other"], "isListed": True}
    assert service.asked[0][3] == f"Bearer {MODEL['key']}" and "stream" not in service.asked[0][2]
    assert agent_secrets(stage.profile).load() == {"RULITH_TOKEN": "rlt_agt_scripted"} and role_env(stage.profile, "agent") == {}


def test_a_service_that_repeats_the_key_is_not_repeated(stage):
    service = Service(chat=json_response(401, {"error": {"message": f"the key {MODEL['key']} opens nothing"}}))
    answer = tried(stage, service)[1]["answer"]
    assert (answer["status"], answer["problem"], answer["models"], answer["isListed"]) == (401, "the key … opens nothing", None, None)


def test_a_test_follows_what_a_refusal_wants(stage):
    def chat(body):
        if "max_tokens" in body:
            return json_response(400, {"error": {"message": "Unsupported parameter: max_tokens. Use max_completion_tokens instead."}})
        return reply("ready")
    answer = tried(stage, Service(chat=chat))[1]["answer"]
    assert (answer["status"], answer["said"]) == (200, "ready") and "max_completion_tokens" in answer["wants"][0]


def test_a_service_that_streams_all_the_same_is_understood(stage):
    rows = [{"choices": [{"delta": {"content": "I am "}}]}, {"choices": [{"delta": {"content": "ready."}, "finish_reason": "stop"}]}]
    body = "".join(f"data: {json.dumps(row)}\n\n" for row in rows).encode()
    answer = tried(stage, Service(chat=Response(200, [("content-type", "text/event-stream")], body + b"data: [DONE]\n\n")))[1]["answer"]
    assert (answer["said"], answer["problem"]) == ("I am ready.", "")
    cut = tried(stage, Service(chat=Response(200, [], body[:30])))[1]["answer"]
    assert cut["problem"] and not cut["said"]


@pytest.mark.parametrize(("chat", "status", "words"), [
    (Response(200, [("content-type", "text/html")], b"<h1>hello</h1>"), 200, "JSON"), (Response(502, [], b""), 502, "no reason"),
    (json_response(200, []), 200, ""), (Response(500, [], b"\xff\xfe" * 3000), 500, "")])
def test_odd_answers_are_told_and_bounded(stage, chat, status, words):
    answer = tried(stage, Service(chat=chat))[1]["answer"]
    assert answer["status"] == status and answer["problem"] and words in answer["problem"] and len(answer["problem"]) <= 300 and not answer["said"]


def test_nobody_at_the_address_is_told_as_such(stage):
    async def script(stage):
        return await stage.page.post("/api/profiles/test-model", {**MODEL, "url": "http://127.0.0.1:9/v1"})
    status, answer = play(stage, script)
    assert status == 200 and answer["answer"]["status"] == 0 and answer["answer"]["problem"] and answer["answer"]["models"] is None


def test_a_test_of_nothing_and_an_unknown_route_are_refused(stage):
    async def script(stage):
        assert await refused(stage, "/api/profiles/test-model", {**MODEL, "url": "", "name": "", "key": ""}) == (400, "model_field")
        assert await refused(stage, "/api/profiles/other", {}) == (404, "route_unknown")
        assert (await stage.page.ask("GET", "/api/profiles/create")).status == 404
    play(stage, script)


# carried

def test_a_saved_profile_holds_no_secret_and_comes_back_whole(stage):
    profile = stage.profile
    manifest = {"format": "rulith-worker-tools/1", "tools": {"local.echo@1": {"adapter": "run", "sourceTypes": ["file"], "kind": "read", "entry": "echo.py", "params": {}, "returns": []}}}
    (profile.workspace / "worker-tools.json").write_text(json.dumps(manifest))

    async def script(stage):
        await stage.page.post(stage.at("model"), MODEL)
        document = (await stage.page.get(stage.at("profile/export")))["document"]
        text = json.dumps(document)
        assert not any(secret in text for secret in (MODEL["key"], "rlt_agt_scripted", "rlt_key_scripted", str(stage.home.path)))
        assert document["secretsToEnter"] == ["the model's API key"] and document["tools"]["tools"].keys() == {"local.echo@1"}
        status, answer = await stage.page.post("/api/profiles/import", {"document": document})
        assert status == 200 and answer["instance"]["name"] == "Assistant 2" and answer["instance"]["attached"] is False
        assert (answer["instance"]["model"]["name"], answer["instance"]["model"]["keyConfigured"]) == ("some-model", False)
        assert any("API key" in note for note in answer["notes"]) and any("locked" in note for note in answer["notes"])
        made = stage.bench.instances[answer["instance"]["id"]].profile
        assert json.loads((made.workspace / "worker-tools.json").read_text()) == document["tools"] and role_env(made, "worker")["RULITH_WORKER_ROOT"] == str(made.workspace)
    play(stage, script)


def test_tools_that_hold_a_secret_are_left_out_and_named(stage):
    manifest = {"format": "rulith-worker-tools/1", "tools": {"local.echo@1": {"adapter": "run", "sourceTypes": ["file"], "kind": "read", "entry": "rlt_key_scripted.py", "params": {}, "returns": []}}}
    (stage.profile.workspace / "worker-tools.json").write_text(json.dumps(manifest))
    document = export_profile(stage.profile)
    assert document["tools"] is None and document["leftOut"] == ["the Tools"] and "rlt_key_scripted" not in json.dumps(document)
    assert any("the Tools" in note for note in import_profile(stage.home, document)[1])


GOOD = {"format": "rulith-profile/1", "name": "Carried", "mode": "local_agent", "model": None, "settings": {"agent": {}, "worker": {}}, "tools": None, "secretsToEnter": [], "leftOut": []}


@pytest.mark.parametrize("change", [
    {"format": "other"}, {"mode": "other"}, {"settings": None}, {"settings": {"agent": {}}}, {"settings": {"agent": {"RULITH_URL": "http://x"}, "worker": {}}},
    {"settings": {"agent": {}, "worker": {"RULITH_WORKER_ROOT": "/"}}}, {"settings": {"agent": {"RULITH_BUDGET": 5}, "worker": {}}},
    {"settings": {"agent": {"RULITH_BUDGET": "x" * 5000}, "worker": {}}}, {"model": {"key": "sk"}}, {"model": []}, {"secretsToEnter": "x"}, {"leftOut": [5]}, {"extra": 1}])
def test_a_document_that_says_more_than_a_profile_is_refused_and_makes_nothing(stage, change):
    with pytest.raises(Refused) as refusal:
        import_profile(stage.home, {**GOOD, **change})
    assert refusal.value.code == "profile_document" and len(list_profiles(stage.home)) == 1


def test_odd_documents_are_refused_and_make_nothing(stage):
    for document in (None, [], "x", {k: v for k, v in GOOD.items() if k != "tools"}):
        with pytest.raises(Refused) as refusal:
            import_profile(stage.home, document)
        assert refusal.value.code == "profile_document"
    for document, code in (({**GOOD, "name": "../x"}, "profile_name"), ({**GOOD, "name": ["x"]}, "profile_name"), ({**GOOD, "tools": {"tools": 5}}, "tool_manifest_unreadable")):
        with pytest.raises(Refused) as refusal:
            import_profile(stage.home, document)
        assert refusal.value.code == code
    assert len(list_profiles(stage.home)) == 1


# damage

def test_a_list_of_profiles_damaged_while_it_runs_is_named_and_what_runs_goes_on(stage):
    async def script(stage):
        row, before = await row_of(stage, stage.profile.id), stage.home.registry.read_bytes()
        stage.home.registry.write_text('{"format":"other"}')
        for path, body in (("/api/profiles/create", {"name": "x", "mode": "local_agent"}), (stage.at("profile/rename"), {"name": "x", "expected": row["revision"]})):
            assert await refused(stage, path, body) == (400, "profiles_unreadable")
        gateway = stage.spawn.of("gateway")[0]
        gateway.child.tell({"type": "listening", "url": stage.gateway_url})          # it reads the list again
        state = await stage.page.get("/api/state")
        assert str(stage.home.registry) in state["profilesProblem"] and state["instances"][0]["worker"]["state"] == "online"
        assert stage.home.registry.read_text() == '{"format":"other"}'
        stage.home.registry.write_bytes(before)
        gateway.child.tell({"type": "listening", "url": stage.gateway_url})
        assert (await stage.page.get("/api/state"))["profilesProblem"] == ""
    play(stage, script)


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written_is_named(stage):
    async def script(stage):
        stage.profile.directory.chmod(0o500)
        try:
            return await stage.page.post(stage.at("model"), MODEL)
        finally:
            stage.profile.directory.chmod(0o700)
    status, answer = play(stage, script)
    assert status == 400 and answer["errorCode"] == "write_failed" and str(stage.profile.directory) in answer["happened"]


def test_a_full_or_read_only_disk_is_named_and_nothing_is_half_saved(stage, monkeypatch):
    def full(path, *_args, **_named):
        raise Refused("disk_full", path=str(path))
    monkeypatch.setattr("rulith.disk.vault.write_whole", full)
    async def script(stage):
        return await stage.page.post(stage.at("model"), MODEL), await row_of(stage, stage.profile.id)
    (status, answer), row = play(stage, script)
    assert (status, answer["errorCode"]) == (400, "disk_full") and row["model"]["configured"] is False


def test_a_profile_whose_settings_cannot_be_read_says_so_and_harms_no_other(stage):
    other = create_profile(stage.home, "Other", agent_id="agent_two", connection_id="conn_two")
    other.settings_path.write_text("{")
    async def script(stage):
        return await row_of(stage, other.id), await row_of(stage, stage.profile.id)
    damaged, sound = play(stage, script)
    assert damaged["model"]["ready"] is False and "local.json" in damaged["model"]["reason"] and sound["worker"]["state"] == "online"


@pytest.mark.parametrize("setting", ["RULITH_WORKER_ROOT", "RULITH_TOOLS_FILE", "RULITH_SECRETS_FILE"])
def test_a_worker_that_would_work_in_the_home_of_others_is_not_started_and_its_page_opens(stage, setting):
    (stage.profile.directory / "own").symlink_to(stage.home.path / "gateway")
    async def script(stage):
        row = await row_of(stage, stage.profile.id)
        assert setting in row["blocked"] and not stage.spawn.of("worker")
        assert await refused(stage, stage.at("worker"), {"operation": "start"}) == (400, "profile_path")
        write_role_env(stage.profile, "worker", {setting: str(stage.profile.directory / "fine")})
        assert (await row_of(stage, stage.profile.id))["blocked"] == ""
        assert (await stage.page.post(stage.at("worker"), {"operation": "start"}))[0] == 200

    async def scene(stage):
        gateway = await stage.spawn.wait_for("gateway")
        gateway.child.tell({"type": "listening", "url": stage.gateway_url})
        await stage.page.open()
        await script(stage)
    write_role_env(stage.profile, "worker", {setting: str(stage.profile.directory / "own" / "x")})        # by a link that looks like its own
    play(stage, scene, up=False)


def test_a_worker_refused_at_an_address_that_the_gateway_has_left_tries_the_new_one(stage):
    """A past bug: another home's gateway took the port of a killed one and refused its Worker, for good."""
    async def script(stage):
        stage.spawn.of("worker")[0].child.exit(3, "not this gateway's key")
        await stage.until(lambda: stage.instance.worker.state.value == "needs_setup")
        gateway = stage.spawn.of("gateway")[0]
        gateway.child.tell({"type": "listening", "url": stage.gateway_url})
        assert len(stage.spawn.of("worker")) == 1                    # the same one would say the same
        gateway.child.tell({"type": "listening", "url": stage.gateway_url.replace("127.0.0.1", "localhost")})
        worker = await stage.spawn.wait_for("worker", 2)
        assert worker.env["RULITH_WORK_URL"].startswith("http://localhost")
    play(stage, script)


def test_a_worker_that_outlived_a_killed_workbench_is_named_and_nothing_starts_beside_it(stage):
    left = subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE)
    row = {"role": "worker", "pid": left.pid, "instanceId": stage.profile.id, **process_stamp(left.pid)}
    gone = {"role": "agent", "pid": 2 ** 22 + 1, "instanceId": stage.profile.id}
    write_runfile(stage.home.run / "workbench.json", url="http://127.0.0.1:1", children=[row, gone, "odd", {"role": "gateway", "pid": left.pid}])

    async def script(stage):
        gateway = await stage.spawn.wait_for("gateway")
        gateway.child.tell({"type": "listening", "url": stage.gateway_url})
        await stage.page.open()
        shown = await row_of(stage, stage.profile.id)
        assert shown["orphaned"] == [{"role": "worker", "pid": left.pid}] and not stage.spawn.of("worker")
        for path, body in (("worker", {"operation": "start"}), ("demo", {"caseType": "verified_calculation", "jobId": None}), ("profile/forget", {"name": "Assistant"})):
            assert await refused(stage, stage.at(path), body) == (409, "profile_orphaned")
        assert left.pid in [each["pid"] for each in json.loads((stage.home.run / "workbench.json").read_text())["children"]]
        left.stdin.close()
        await asyncio.to_thread(left.wait, 30)
        await stage.spawn.wait_for("worker")
        assert (await row_of(stage, stage.profile.id))["orphaned"] == []
    try:
        play(stage, script, up=False)
    finally:
        left.kill()
        left.wait(30)


@pytest.mark.parametrize("path, body", [("create", {"name": "Once", "mode": "local_agent"}), ("import", {"document": None})])
def test_a_request_whose_answer_was_lost_makes_one_profile_however_often_it_comes(stage, path, body):
    """Twice at once and once more later; another request, and one whose profile was removed, make another."""
    async def script(stage):
        if path == "import":
            body["document"] = (await stage.page.get(stage.at("profile/export")))["document"]
        sent = {**body, "requestId": "r" * 32}
        answers = [*await asyncio.gather(*(stage.page.post(f"/api/profiles/{path}", sent) for _ in range(2))), await stage.page.post(f"/api/profiles/{path}", sent)]
        assert [status for status, _ in answers] == [200] * 3 and answers[0][1] == answers[1][1] == answers[2][1]
        row = answers[0][1]["instance"]
        assert len(stage.bench.instances) == 2
        another = {**sent, "requestId": "s" * 32, **({"name": "Another"} if path == "create" else {})}
        assert (await stage.page.post(f"/api/profiles/{path}", another))[1]["instance"]["id"] != row["id"]
        assert (await stage.page.post(f"/i/{row['id']}/profile/forget", {"name": row["name"]}))[0] == 200
        assert (await stage.page.post(f"/api/profiles/{path}", sent))[1]["instance"]["id"] != row["id"]
        assert await refused(stage, f"/api/profiles/{path}", {**sent, "requestId": "short"}) == (400, "profile_request")
    play(stage, script)
