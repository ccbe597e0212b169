"""Add files, attach them, and read them on this machine, over the workbench's HTTP. Duty: the workbench surface, §14."""

import asyncio
import base64
import json

import pytest

from rulith.base.errors import Refused
from rulith.disk.materials import Materials, area_of
from rulith.workbench.supervision import Is
from tests.workbench.test_page_http import play

FILE = {"name": "minutes.txt", "mediaType": "text/plain", "bytes": base64.b64encode(b"the minutes").decode()}
MESSAGE = {"requestId": "request-000000001", "sessionKey": "chat"}
TICKET = {"ticket": "mlt_" + "a" * 43, "ref": "art_" + "1" * 32, "modelDestination": "http://127.0.0.1:8080/v1"}


def test_a_file_is_added_listed_and_attached_and_no_answer_holds_its_bytes(stage):
    async def script(stage):
        before = await stage.page.get(stage.at("materials"))
        status, added = await stage.page.post(stage.at("materials"), FILE)
        listed = await stage.page.get(stage.at("materials"))
        _, attached = await stage.page.post(stage.at("materials/submit"), {**MESSAGE, "attachments": [added["material"]["id"]]})
        again = await stage.page.post(stage.at("materials/submit"), {**MESSAGE, "sessionKey": "other", "attachments": [added["material"]["id"]]})
        return before, status, added, listed, attached, again
    before, status, added, listed, attached, again = play(stage, script)
    assert before["materials"] == [] and status == 200 and added["material"]["id"].startswith("ui_") and listed["materials"] == [added["material"]]
    (row,) = attached["submissionReceipt"]["attachments"]
    assert row["id"].startswith("mat_") and row["digest"] == added["material"]["digest"] and "Secret" not in json.dumps(attached)
    assert "minutes" not in json.dumps(added).replace("minutes.txt", "") and (again[0], again[1]["errorCode"]) == (409, "material_submission_mismatch")


STORE = {"RULITH_MATERIALS_ROOT", "RULITH_MATERIALS_PROFILE", "RULITH_MATERIALS_OWNER", "RULITH_MATERIALS_AGENT_FINGERPRINT"}


def test_the_worker_has_its_store_before_the_first_file_comes(stage):
    async def script(stage):
        worker = await stage.spawn.wait_for("worker")
        worker.child.tell({"type": "up"})
        await stage.page.post(stage.at("materials"), FILE)
        return worker.env, len(stage.spawn.of("worker"))
    env, count = play(stage, script)
    assert set(env) >= STORE and count == 1


def test_a_worker_whose_store_could_not_be_made_starts_anew_with_the_first_file(stage, monkeypatch):
    def full(*_):
        raise Refused("disk_full", path="the store")

    async def script(stage):
        first = await stage.spawn.wait_for("worker")
        first.child.tell({"type": "up"})
        refused = await stage.page.post(stage.at("materials"), FILE)
        monkeypatch.undo()
        await stage.page.post(stage.at("materials"), FILE)
        second = await stage.spawn.wait_for("worker", 2)
        return first.env, refused, second.env
    monkeypatch.setattr(Materials, "create", full)
    first, (_, refused), second = play(stage, script)
    assert not set(first) & STORE and refused["errorCode"] == "disk_full" and set(second) >= STORE


def test_another_model_is_told_to_the_worker_that_lets_files_go_to_the_one_before(stage):
    async def script(stage):
        model = {"name": "m", "key": "", "clearKey": False}
        first = await stage.spawn.wait_for("worker")
        first.child.tell({"type": "up"})
        await stage.page.post(stage.at("model"), {**model, "url": "http://127.0.0.1:8080/v1"})      # none before: no file was meant for one
        stage.bench.reload_worker(next(iter(stage.bench.instances.values())))
        second = await stage.spawn.wait_for("worker", 2)
        second.child.tell({"type": "up"})
        await stage.page.post(stage.at("model"), {**model, "url": "http://127.0.0.1:8081/v1"})
        third = await stage.spawn.wait_for("worker", 3)
        return [each.env["RULITH_MATERIALS_MODEL_DESTINATION"] for each in (first, second, third)]
    found = play(stage, script)
    assert found == ["", "http://127.0.0.1:8080/v1", "http://127.0.0.1:8081/v1"]


@pytest.mark.parametrize("changes, code", [
    ({"bytes": "!"}, "material_bytes_invalid"), ({"bytes": 7}, "material_bytes_invalid"), ({"bytes": FILE["bytes"] + "\n"}, "material_bytes_not_canonical"), ({"bytes": ""}, "material_empty"),
    ({"bytes": "A" * 11_300_000}, "material_too_large"), ({"name": "../x"}, "material_name_path"), ({"mediaType": 7}, "material_media_type_invalid"),
    ({"modelDestination": "https://elsewhere"}, "material_destination_changed"), ({"more": 1}, "body_field"),
])
def test_what_is_no_file_is_refused_and_nothing_is_kept(stage, changes, code):
    async def script(stage):
        _, body = await stage.page.post(stage.at("materials"), {**FILE, **changes})
        return body, (await stage.page.get(stage.at("materials")))["materials"]
    body, kept = play(stage, script)
    assert (body["errorCode"], kept) == (code, [])


def test_a_store_that_is_not_ours_is_a_500(stage):
    async def script(stage):
        await stage.page.post(stage.at("materials"), FILE)
        profile = next(iter(stage.bench.instances.values())).profile
        (area_of(profile) / "store.json").write_text("{}")
        answer = await stage.page.ask("GET", stage.at("materials"))
        return answer.status, json.loads(answer.body)["errorCode"]
    assert play(stage, script) == (500, "materials_store_migration_required")


def test_a_read_on_this_machine_takes_a_key_that_no_page_has_and_tells_no_page(stage):
    async def script(stage):
        worker = (await stage.spawn.wait_for("worker")).child
        worker.tell({"type": "up"})
        asked: list[dict] = []

        def answer(**fields):
            asked.append(fields)
            worker.tell({"type": "material-read", "id": fields["id"], "ok": True, "result": {"data": "the minutes"}})

        worker.read_material = answer
        key = stage.api.deliveries.key
        good = await stage.page.ask("POST", stage.at("materials/deliver"), TICKET, x_rulith_material=key)
        bad = [(await stage.page.ask("POST", stage.at("materials/deliver"), TICKET, x_rulith_material=each)).status for each in (None, "x", stage.page.token)]
        activity = await stage.page.get(stage.at("activity"))
        return good, bad, asked, activity
    good, bad, asked, activity = play(stage, script)
    assert json.loads(good.body)["result"] == {"data": "the minutes"} and bad == [401, 401, 401]
    assert asked[0]["ticket"] == TICKET["ticket"] and asked[0]["modelDestination"] == TICKET["modelDestination"]
    assert "the minutes" not in json.dumps(activity)


def test_a_read_that_the_worker_refuses_or_cannot_do_says_so(stage):
    async def script(stage):
        key, found = stage.api.deliveries.key, []
        worker = (await stage.spawn.wait_for("worker")).child
        worker.tell({"type": "up"})
        worker.read_material = lambda **fields: worker.tell({"type": "material-read", "id": fields["id"], "ok": False, "errorCode": "material_local_only", "teaching": "Only here."})
        found.append(await stage.page.ask("POST", stage.at("materials/deliver"), TICKET, x_rulith_material=key))
        worker.exit(0)
        instance = next(iter(stage.bench.instances.values()))
        while instance.worker.state is Is.ONLINE:
            await asyncio.sleep(0)
        found.append(await stage.page.ask("POST", stage.at("materials/deliver"), TICKET, x_rulith_material=key))
        return [(each.status, json.loads(each.body)["errorCode"]) for each in found]
    assert play(stage, script) == [(400, "material_delivery_refused"), (503, "material_custodian_offline")]
