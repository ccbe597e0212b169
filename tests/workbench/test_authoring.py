"""Document to Capability over real HTTP, with the real process that drafts and a scripted model service.

Source  the workbench surface, "Document assistant"
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import signal
import sys

import pytest

from rulith.base.limits import DRAFT_JOBS_MAX
from rulith.board.capability_check import check_capability
from rulith.disk.authoring import DraftFolder, area_of, node_of
from rulith.disk.profiles import write_role_env
from rulith.procs.roles import RoleProcess
from tests.workbench.draft_model import DOCUMENT, DraftModel, draft
from tests.workbench.scripted_bench import Stage

pytestmark = [pytest.mark.timeout(120)]
REQUEST = "request-0000000001"


def run(tmp_path, model, work, **env):
    """`work(desk)` with a workbench whose drafting process is real; everything else is scripted."""
    async def go():
        stage = Stage(tmp_path)
        write_role_env(stage.profile, "agent", {"RULITH_MODEL_URL": model.url, "RULITH_MODEL": "scripted", **env})
        async with stage:
            await work(await Desk(stage, model).open())
    asyncio.run(go())


class Desk:
    def __init__(self, stage, model) -> None:
        self.stage, self.model = stage, model
        self.given: list[dict] = []

    async def open(self):
        scripted = self.stage.bench.spawn

        async def spawn(role, **given):
            if role != "capability":
                return await scripted(role, **given)
            self.given.append(given)
            self.child = await RoleProcess.spawn(role, **given)
            return self.child
        self.stage.bench.spawn = spawn
        await self.stage.up()
        return self

    async def post(self, path, **body):
        return await self.stage.page.post(self.stage.at(path), body)

    async def start(self, request_id=REQUEST, text=DOCUMENT, name="travel.md", **changes):
        data = text if isinstance(text, bytes) else text.encode()
        body = {"requestId": request_id, "name": name, "bytes": base64.b64encode(data).decode(), "modelDestination": self.model.url, **changes}
        return await self.post("authoring", **body)

    async def drafts(self):
        return (await self.stage.page.get(self.stage.at("authoring")))["drafts"]

    async def done(self, state):
        """The newest draft once it is no longer being written; it has come to `state`."""
        await self.stage.until(lambda: not self.stage.api.authoring._jobs)
        row = (await self.drafts())[0]
        assert row["state"] == state, row
        return row

    async def review(self, row, result=""):
        return await self.stage.page.get(self.stage.at("authoring/review") + f"?id={row['id']}" + (f"&result={result}" if result else ""))

    async def save(self, row, seen):
        return await self.post("authoring/save", id=row["id"], resultId=seen["resultId"], proposalDigest=seen["proposalDigest"])

    def folder(self, row):
        return area_of(self.stage.profile) / row["id"]


async def code(answer):
    status, body = await answer
    assert status >= 400, body
    return body["errorCode"]


def test_from_a_document_to_a_saved_capability(tmp_path):
    wrong = draft(examples=[{**draft()["examples"][0], "follows": draft()["examples"][1]["follows"]}])

    async def work(desk):
        status, answer = await desk.start()
        assert status == 200 and answer["draft"]["state"] == "writing"
        row = await desk.done("ready")
        seen = await desk.review(row)
        assert seen["document"]["text"] == DOCUMENT and seen["ready"] and [place["line"] for place in seen["places"]] == [3, 4]
        assert len(seen["availableResults"]) == row["results"] == 2 and seen["draft"] == draft()
        first = await desk.review(row, "result-01")
        assert not first["ready"] and "does not follow" in first["report"]["examples"]["problems"][0]["problem"]
        assert await code(desk.save(row, first)) == "authoring_not_ready"
        assert await code(desk.post("authoring/save", id=row["id"], resultId="result-02", proposalDigest=first["proposalDigest"])) == "authoring_stale"
        saved = (await desk.save(row, seen))[1]["saved"]
        assert (await desk.save(row, seen))[1]["saved"] == saved                      # a lost answer is answered again
        found = json.loads(open(saved["path"], encoding="utf-8").read())
        assert check_capability(found)[1] == [] and found["id"] == "acme.travel"
        assert os.name == "nt" or os.stat(saved["path"]).st_mode & 0o777 == 0o600
        assert (await desk.review(row))["savedEntryCurrent"] is True
        with open(saved["path"], "a", encoding="utf-8") as file:
            file.write(" ")
        assert (await desk.review(row))["savedEntryCurrent"] is False
        # what the process was given, and what left: the model's settings, the document, nothing else
        env = desk.given[0]["env"]
        assert not {"RULITH_TOKEN", "RULITH_CONNECTION_KEY", "RULITH_URL"} & set(env) and env["RULITH_MODEL"] == "scripted"
        assert "rlt_" not in json.dumps(desk.model.requests)
        assert (await desk.post("authoring/remove", id=row["id"]))[0] == 200
        assert await desk.drafts() == [] and os.path.exists(saved["path"])
    with DraftModel(wrong, draft()) as model:
        run(tmp_path, model, work)


def test_a_lost_answer_begins_nothing_twice_and_one_draft_is_written_at_a_time(tmp_path):
    async def work(desk):
        desk.model.go.clear()
        first = (await desk.start())[1]["draft"]
        assert (await desk.start())[1]["draft"]["id"] == first["id"]
        assert await code(desk.start("request-0000000002")) == "authoring_busy"
        assert await code(desk.post("authoring/remove", id=first["id"])) == "authoring_busy"
        desk.model.go.set()
        await desk.done("ready")
        assert (await desk.start())[1]["draft"]["state"] == "ready" and len(desk.model.requests) == len(desk.given) == 1
    with DraftModel() as model:
        run(tmp_path, model, work)


def test_questions_keep_it_from_being_saved_until_the_person_answers_them(tmp_path):
    async def work(desk):
        await desk.start()
        row = await desk.done("questions")
        seen = await desk.review(row)
        assert seen["draft"]["questions"] == ["Is 800 EUR itself free?"] and seen["lacking"] == "questions are open"
        assert await code(desk.save(row, seen)) == "authoring_not_ready"
        again = {"requestId": "request-0000000002", "id": row["id"], "resultId": seen["resultId"], "modelDestination": desk.model.url}
        assert await code(desk.post("authoring/again", **again, answers=7)) == "authoring_request"
        assert await code(desk.post("authoring/again", **again, answers="x" * 40_000)) == "authoring_request"
        assert (await desk.post("authoring/again", **again, answers="Yes, it is free."))[0] == 200
        row = await desk.done("ready")
        told = json.dumps(desk.model.requests[-1]["messages"])
        assert "Yes, it is free." in told and "An earlier draft" in told and (await desk.save(row, await desk.review(row)))[0] == 200
    with DraftModel(draft(questions=["Is 800 EUR itself free?"]), draft()) as model:
        run(tmp_path, model, work)


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_a_process_that_is_killed_leaves_what_was_checked(tmp_path):
    wrong = draft(examples=[])

    async def work(desk):
        desk.model.replies_held_from = 1
        await desk.start()
        await desk.stage.until(lambda: len(desk.model.requests) == 2)
        assert (await desk.review((await desk.drafts())[0]))["lacking"]              # the first draft is readable meanwhile
        os.kill(desk.child.pid, signal.SIGKILL)
        row = await desk.done("interrupted")
        assert row["results"] == 1 and "ended with" in row["problem"]
        assert not (await desk.review(row))["ready"]
        desk.model.replies_held_from = 99
        await desk.start("request-0000000002")
        assert (await desk.done("ready"))["id"] != row["id"]
    with DraftModel(wrong, draft()) as model:
        run(tmp_path, model, work)


def test_a_person_stops_it_and_a_workbench_that_ends_takes_it_along(tmp_path):
    async def work(desk):
        desk.model.go.clear()
        first = (await desk.start())[1]["draft"]
        await desk.stage.until(desk.model.asked.is_set)
        assert await code(desk.post("authoring/stop", id="node_" + "0" * 32)) == "authoring_not_running"
        assert (await desk.post("authoring/stop", id=first["id"]))[0] == 200
        await desk.done("stopped")
        await desk.start("request-0000000002")
        desk.folder_left, desk_of["desk"] = area_of(desk.stage.profile), desk
    desk_of: dict = {}
    with DraftModel() as model:
        run(tmp_path, model, work)
        assert desk_of["desk"].child.status is not None

    async def later(desk):
        assert sorted(row["state"] for row in await desk.drafts()) == ["interrupted", "stopped"]
    # the same home again
    with DraftModel() as model:
        async def go():
            stage = Stage.__new__(Stage)
            before = desk_of["desk"].stage
            stage.home, stage.environ, stage.profile = before.home, {}, before.profile
            async with stage:
                await later(await Desk(stage, model).open())
        asyncio.run(go())


def test_a_draft_of_an_earlier_text_says_that_the_document_changed(tmp_path):
    async def work(desk):
        await desk.start()
        row = await desk.done("ready")
        assert (await desk.review(row))["documentChanged"] is False
        await desk.start("request-0000000002", DOCUMENT.replace("Travel", "Journey"))
        await desk.stage.until(lambda: not desk.stage.api.authoring._jobs)
        assert (await desk.review(row))["documentChanged"] is True
        assert [(await desk.review(each))["documentChanged"] for each in await desk.drafts() if each["id"] != row["id"]] == [False]
    with DraftModel() as model:
        run(tmp_path, model, work)


def test_what_lies_on_the_disk_and_changed_is_not_used(tmp_path):
    async def work(desk):
        await desk.start()
        row = await desk.done("ready")
        seen, folder = await desk.review(row), desk.folder(row)
        for name in ("document", "result-01.json"):
            kept = (folder / name).read_bytes()
            (folder / name).write_bytes(kept.replace(b"800", b"900"))
            assert (await desk.review(row))["errorCode"] == "authoring_changed"
            assert await code(desk.save(row, seen)) == "authoring_changed"
            (folder / name).write_bytes(kept)
        rows = json.loads((folder / "results.json").read_text())
        (folder / "results.json").write_text(json.dumps([{**rows[0], "resultId": "../job"}]))
        assert (await desk.review(row))["errorCode"] == "authoring_changed"
        (folder / "results.json").write_text("[")
        assert [each["state"] for each in await desk.drafts()] == ["damaged"]
        (folder / "job.json").write_text("{}")
        assert (await desk.review(row))["errorCode"] == "authoring_changed"
        assert (await desk.post("authoring/remove", id=row["id"]))[0] == 200 and await desk.drafts() == []
        for wrong in ("", "../..", "node_" + "0" * 32, "node_0"):
            assert (await desk.stage.page.get(desk.stage.at("authoring/review") + f"?id={wrong}"))["errorCode"] == "authoring_unknown"
    with DraftModel() as model:
        run(tmp_path, model, work)


def test_documents_and_requests_that_are_none_are_refused_and_start_nothing(tmp_path):
    async def work(desk):
        for name, text, wanted in (("travel.md", b"\xff\xfe", "document_not_text"), ("travel.md", b"MZ\x00\x01", "document_not_text"), ("travel.exe", "text", "document_name"),
                                   ("../travel.md", "text", "document_name"), ("travel.md", b"x" * 262_145, "document_too_large"), ("travel.md", "", "document_empty")):
            assert await code(desk.start(name=name, text=text)) == wanted
        assert await code(desk.start(bytes="%")) == "authoring_request"
        assert await code(desk.start("short")) == "authoring_request"
        assert await code(desk.start(modelDestination="https://elsewhere.example/v1")) == "material_destination_changed"
        assert await code(desk.post("authoring", name="a.md")) == "body_field"
        for number in range(DRAFT_JOBS_MAX):
            DraftFolder(area_of(desk.stage.profile) / node_of(str(number), "x")).begin({"state": "ready"}, b"text")
        assert await code(desk.start()) == "authoring_full"
        write_role_env(desk.stage.profile, "agent", {"RULITH_MODEL_URL": None, "RULITH_MODEL": None})
        for each in area_of(desk.stage.profile).iterdir():
            DraftFolder(each).remove()
        assert await code(desk.start(modelDestination="")) == "authoring_model"
        assert desk.given == [] and desk.model.requests == []
    with DraftModel() as model:
        run(tmp_path, model, work)


def test_a_model_that_cannot_is_said_to_be_one(tmp_path):
    async def work(desk):
        await desk.start()
        row = await desk.done("failed")
        assert "without a draft that could be read" in row["problem"] and not (await desk.review(row))["ready"]
    with DraftModel("I am a small model.") as model:
        run(tmp_path, model, work)
