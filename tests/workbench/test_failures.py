"""What goes wrong around a workbench: its list, its profiles' folders, the disk, the clock. Nothing is half saved, nothing made anew in silence.

Source  the workbench surface, "Files", "Supervision"; our decision on folders that are not there
"""

import errno
import json
import os
import shutil

import pytest

from rulith.base.clock import SystemClock
from rulith.base.errors import Refused
from rulith.disk.example import FIRST_ORDER
from rulith.disk.model_settings import own_model
from rulith.disk.profiles import agent_secrets, create_profile, worker_secrets
from rulith.local.roles import agent_settings, worker_settings
from rulith.net.messages import Response
from rulith.net.server import serve

from tests.workbench.scripted_bench import AGENT, CONNECTION
from tests.workbench.test_page_http import play
from tests.workbench.test_profiles import GOOD, MODEL, refused, row_of, whose

FILE = {"name": "a.txt", "mediaType": "text/plain", "bytes": "YQ=="}


def contents(home):
    """Every file that a person could miss, with its bytes."""
    return {str(path.relative_to(home.path)): path.read_bytes() for path in sorted(home.path.rglob("*"))
            if path.is_file() and not {"run", "logs"} & set(path.relative_to(home.path).parts[:1])}


async def opened(stage):
    """The page of a workbench whose gateway answers, whatever its Worker does."""
    gateway = await stage.spawn.wait_for("gateway")
    gateway.child.tell({"type": "listening", "url": stage.gateway_url})
    await stage.page.open()
    await stage.until(lambda: stage.instance.board is not None)


# a profile's folder

def moved_away(folder):
    folder.rename(folder.with_name("kept"))


def a_link(folder):
    folder.rename(folder.with_name("kept"))
    folder.symlink_to(folder.with_name("kept"))


def a_file(folder):
    folder.rename(folder.with_name("kept"))
    folder.write_text("")


@pytest.mark.parametrize("harm", [moved_away, a_link, a_file])
def test_a_folder_that_is_not_there_is_named_and_not_made_anew(stage, harm):
    """A past bug: saving a model made an empty folder in the place of one that was away, and its Worker began without a key."""
    folder, kept = stage.profile.directory, stage.profile.directory.with_name("kept")
    other = create_profile(stage.home, "Other", agent_id="agent_two", connection_id="conn_two")
    worker_secrets(other).update({"RULITH_CONNECTION": "conn_two", "RULITH_CONNECTION_KEY": "rlt_key_two"})
    harm(folder)

    async def script(stage):
        await opened(stage)
        await stage.spawn.wait_for("worker")                             # the other one's
        before = contents(stage.home)
        row = await row_of(stage, stage.profile.id)
        assert str(folder) in row["blocked"]
        for path, body in (("model", MODEL), ("worker", {"operation": "start"}), ("agent", {"operation": "start"}), ("draft", {"sessionKey": "new", "text": "x"}),
                           ("materials", FILE), ("worker-tools/workspace", {"mode": "off", "revision": "x"}), ("demo", {"caseType": "verified_calculation", "jobId": None}),
                           ("profile/rename", {"name": "x", "expected": row["revision"]})):
            assert await refused(stage, stage.at(path), body) == (409, "profile_folder"), path
        assert json.loads((await stage.page.ask("GET", stage.at("profile/export"))).body)["errorCode"] == "profile_folder"
        assert [call.env["RULITH_CONNECTION"] for call in stage.spawn.of("worker")] == ["conn_two"] and contents(stage.home) == before
        for start in (worker_settings, agent_settings):
            with pytest.raises(Refused) as refusal:
                start(stage.home, stage.profile, "http://127.0.0.1:1")
            assert refusal.value.code == "profile_folder"
        if harm is not moved_away:
            folder.unlink()
        kept.rename(folder)                                          # put back, it works without a restart
        assert (await row_of(stage, stage.profile.id))["blocked"] == ""
        assert (await stage.page.post(stage.at("worker"), {"operation": "start"}))[0] == 200
        assert (await stage.spawn.wait_for("worker", 2)).env["RULITH_CONNECTION"] == CONNECTION
    play(stage, script, up=False)


def test_a_folder_that_goes_while_its_worker_runs_is_not_made_anew_by_the_next_start(stage):
    async def script(stage):
        stage.profile.directory.rename(stage.home.path / "away")
        stage.spawn.of("worker")[0].child.exit(1)
        await stage.until(lambda: stage.instance.worker.state.value == "failed")
        assert str(stage.profile.directory) in stage.instance.worker.detail and not stage.profile.directory.exists()
    play(stage, script)


def test_a_profile_whose_folder_is_gone_can_be_stopped_and_taken_off_the_list(stage):
    async def script(stage):
        shutil.rmtree(stage.profile.directory)
        assert (await stage.page.post(stage.at("worker"), {"operation": "stop"}))[0] == 200
        assert (await stage.page.post(stage.at("profile/forget"), {"name": "Assistant"}))[0] == 200
        assert not stage.profile.directory.exists()
    play(stage, script)


@pytest.mark.parametrize("harm", [lambda vault: vault.write_text("{"), lambda vault: vault.chmod(0o644)])
def test_a_vault_that_cannot_be_used_is_named_and_its_role_waits(stage, harm):
    vault = worker_secrets(stage.profile).path
    before = vault.read_bytes()
    harm(vault)

    async def script(stage):
        await opened(stage)
        await stage.until(lambda: stage.instance.worker.state.value == "failed")
        assert str(vault) in stage.instance.worker.detail and "rlt_key" not in stage.instance.worker.detail and not stage.spawn.of("worker")
        vault.write_bytes(before)
        vault.chmod(0o600)
        assert (await stage.page.post(stage.at("worker"), {"operation": "start"}))[0] == 200
        await stage.spawn.wait_for("worker")
    play(stage, script, up=False)


def test_one_profiles_damaged_settings_leave_the_homes_settings_open(stage):
    """A past bug: the page of settings was refused for every Agent."""
    stage.profile.settings_path.write_text("{")

    async def script(stage):
        await opened(stage)
        answer = await stage.page.get("/api/settings")
        assert answer["ok"] and str(stage.profile.settings_path) in answer["problem"] and answer["places"]
    play(stage, script, up=False)


# the disk

def without_room(home, monkeypatch, number):
    """No new file below the home from now on: a full disk, or one that became read-only."""
    real = os.open

    def opening(path, flags, *args, **named):
        if flags & os.O_CREAT and str(path).startswith(str(home.path)) and "/run/" not in str(path):
            raise OSError(number, os.strerror(number))
        return real(path, flags, *args, **named)
    monkeypatch.setattr(os, "open", opening)


@pytest.mark.parametrize(("number", "code"), [(errno.ENOSPC, "disk_full"), (errno.EROFS, "write_failed")])
def test_whatever_is_saved_on_a_full_or_read_only_disk_is_refused_whole(stage, monkeypatch, number, code):
    async def script(stage):
        stage.gateway.answers["whose"] = whose
        row, before = await row_of(stage, stage.profile.id), contents(stage.home)
        tools = await stage.page.get(stage.at("worker-tools/state"))
        expected = {"expected": row["revision"]}
        with monkeypatch.context() as patched:
            without_room(stage.home, patched, number)
            for path, body in ((stage.at("model"), MODEL), (stage.at("model"), {"source": "default", **expected}), (stage.at("profile/rename"), {"name": "x", **expected}),
                               (stage.at("profile/attach"), {"token": "rlt_agt_scripted", "key": "rlt_key_scripted", **expected}),
                               (stage.at("profile/key"), {"key": "rlt_key_scripted", "expectedAgentId": AGENT, "expectedConnectionId": CONNECTION}),
                               (stage.at("draft"), {"sessionKey": "new", "text": "x"}), (stage.at("materials"), FILE),
                               (stage.at("worker-tools/workspace"), {"mode": "read", "revision": tools["revision"]}),
                               (stage.at("demo/input"), {"values": FIRST_ORDER, "replaces": None}),
                               (stage.at("conversation/archive"), {"sessionKey": "ctx-1", "archived": True}),
                               ("/api/profiles/create", {"name": "x", "mode": "local_agent"}), ("/api/profiles/import", {"document": GOOD}),
                               ("/api/profiles/default-model", MODEL), ("/api/settings/steps", {"away": True}),
                               ("/api/settings/budget", {"profile": None, "rounds": "5", "tokens": "", "money": "", "per": "run", "maxRounds": ""}),
                               (stage.at("profile/forget"), {"name": "Assistant"})):
                status, answer = await stage.page.post(path, body)
                assert (answer.get("errorCode"), status) == ("history_unusable" if "archive" in path else code, 400), (path, status, answer)
                assert answer["next"] and str(stage.home.path) in answer["happened"]
            assert contents(stage.home) == before
            assert (await row_of(stage, stage.profile.id))["model"]["configured"] is False
        assert (await stage.page.post(stage.at("model"), MODEL))[0] == 200          # with room again
    play(stage, script)


@pytest.mark.parametrize("cut_at", [1, 2, 3])
def test_a_model_whose_saving_is_cut_short_never_pairs_a_key_with_another_service(stage, monkeypatch, cut_at):
    """A past bug: the new key was kept before its address, so the next start gave it to the old service."""
    async def script(stage):
        assert (await stage.page.post(stage.at("model"), MODEL))[0] == 200
        real, writes = os.replace, []

        def replacing(source, target, **named):
            if str(target).startswith(str(stage.profile.directory)) and str(target).endswith(".json"):
                writes.append(target)
                if len(writes) >= cut_at:
                    raise OSError(errno.EIO, os.strerror(errno.EIO))
            return real(source, target, **named)
        other = {**MODEL, "url": "https://other.example/v1", "key": "sk-secret-two"}
        with monkeypatch.context() as patched:
            patched.setattr(os, "replace", replacing)
            assert await refused(stage, stage.at("model"), other) == (400, "write_failed")
        kept = own_model(stage.instance.profile)
        assert kept.get("url") is None or (kept["url"], kept["key"]) == (MODEL["url"], MODEL["key"])
        assert (await stage.page.post(stage.at("model"), other))[0] == 200
        assert own_model(stage.instance.profile)["key"] == "sk-secret-two"
    play(stage, script)


# the Agent for conversations

async def talking(stage, url="http://127.0.0.1:9"):
    """It was started and says that it serves at `url`."""
    assert (await stage.page.post(stage.at("model"), {**MODEL, "url": "http://127.0.0.1:9/v1"}))[0] == 200
    assert (await stage.page.post(stage.at("agent"), {"operation": "start"}))[0] == 200
    agent = await stage.spawn.wait_for("agent")
    agent.child.tell({"type": "serving", "url": url})
    return agent


def test_an_agent_that_does_not_answer_is_said_to_be_one_and_is_not_asked_twice(stage):
    async def script(stage):
        asked = []

        async def cut(request):
            asked.append(request.path)
            return Response(200, [], b"no object")
        server = await serve(cut)
        try:
            await talking(stage, f"http://127.0.0.1:{server.port}")
            task = {"requestId": "request-0000000001", "text": "hello"}
            assert await refused(stage, stage.at("task"), task) == (409, "agent_not_ready") and asked == ["/task"]
        finally:
            await server.close(0)
        assert await refused(stage, stage.at("task"), task) == (409, "agent_not_ready")
    play(stage, script)


def test_each_process_of_an_agent_has_a_key_and_a_port_of_its_own(stage):
    async def script(stage):
        first = await talking(stage)
        first.child.exit(1)
        second = await stage.spawn.wait_for("agent", 2)
        for name in ("RULITH_SERVE_KEY", "RULITH_SERVE_PORT"):
            assert first.env[name] != second.env[name]
        state = json.dumps(await stage.page.get("/api/state")) + json.dumps(stage.bench.feed.rows())
        assert len(second.env["RULITH_SERVE_KEY"]) == 32 and second.env["RULITH_SERVE_KEY"] not in state
    play(stage, script)


@pytest.mark.parametrize("code", [2, 3, 4, 5, 15])
def test_an_end_that_a_new_try_cannot_mend_waits_for_the_person(stage, code):
    async def script(stage):
        agent = await talking(stage)
        agent.child.exit(code, "why it ended")
        await stage.until(lambda: stage.instance.talker.role.state.value == "needs_setup")
        assert stage.instance.talker.row()["detail"] == "why it ended" and len(stage.spawn.of("agent")) == 1
        assert (await stage.page.post(stage.at("agent"), {"operation": "start"}))[0] == 200
        await stage.spawn.wait_for("agent", 2)
    play(stage, script)


# stale saves

def test_a_default_model_that_another_page_changed_is_not_written_over(stage):
    async def script(stage):
        shown = (await stage.page.get("/api/state"))["modelDefault"]["revision"]
        assert (await stage.page.post("/api/profiles/default-model", {**MODEL, "expected": shown}))[0] == 200
        assert await refused(stage, "/api/profiles/default-model", {**MODEL, "name": "late", "expected": shown}) == (409, "default_moved")
        model = (await stage.page.get("/api/state"))["modelDefault"]
        assert model["name"] == MODEL["name"] and model["revision"] != shown and MODEL["key"] not in json.dumps(model)
        assert (await stage.page.post("/api/profiles/default-model", {**MODEL, "key": "sk-another", "expected": model["revision"]}))[0] == 200
    play(stage, script)


# the clock

class Jumping(SystemClock):
    """A clock whose wall can be set by somebody."""

    jump_s = 0.0

    def wall_s(self):
        return super().wall_s() + self.jump_s


@pytest.mark.parametrize("jump_s", [-86_400.0, 86_400.0 * 400])
def test_a_wall_clock_that_jumps_ends_nothing_and_delays_nothing(stage, monkeypatch, jump_s):
    clock = Jumping()
    monkeypatch.setattr("tests.workbench.scripted_bench.SystemClock", lambda: clock)

    async def script(stage):
        (row,) = (await stage.page.get("/api/state"))["instances"]
        before = stage.bench.feed.sequence
        clock.jump_s = jump_s
        stage.spawn.of("worker")[0].child.exit(1)
        (await stage.spawn.wait_for("worker", 2)).child.tell({"type": "up"})
        assert (await stage.page.post(stage.at("profile/rename"), {"name": "Later", "expected": row["revision"]}))[0] == 200
        rows = [each for each in stage.bench.feed.rows(instance=stage.profile.id) if each["sequence"] > before]
        assert [each["sequence"] for each in rows] == sorted(each["sequence"] for each in rows) and rows
        assert json.loads((stage.home.run / "workbench.json").read_text())["pid"] == os.getpid()
        assert (await row_of(stage, stage.profile.id))["worker"]["state"] == "online"
    play(stage, script)
