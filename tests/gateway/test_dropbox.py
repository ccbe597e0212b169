"""A Worker that no network reaches: the hop over a folder. The duties are the hop's own (§§3-7, 9) and docs/worker.md's.

At most one execution of each call is read off the adapters' own log.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import shutil
from pathlib import Path

import pytest

from rulith.base.clock import SystemClock
from rulith.base.errors import Refused
from rulith.board.operations import CLAIMED, DONE, FAILED, NEEDS_PERSON
from rulith.gateway.dropbox import boxes_of
from rulith.work.signals import ParentGone, StopAsked
from tests.gateway.air import AirWorker, Killed, ManualClock, payload
from tests.gateway.conftest import ORDER, action_call

BY = {"kind": "person", "by": "owner", "signInAgeS": 1}
JOB = ("read_input", "write_output", "verify_output")


async def turns(world, count=2):
    """The gateway's end looks into the box, as its own loop does; what it was refused is returned."""
    codes = []
    for _ in range(count):
        for box in world.gateway.boxes:
            try:
                await box.turn()
            except Refused as refused:
                codes.append(refused.code)
    return codes


def calls(world):
    (state,) = world.gateway.authority.agents.values()
    return [each for each in state.operations.operations.values() if each.invocation]


def states(world):
    return [each.state for each in calls(world)]


def owner_of(world):
    """A person with a passphrase, and what such a person may do about calls."""
    record = {"n": 1, "r": 8, "p": 1, "salt": "00" * 16, "hash": "00" * 32}
    world.gateway.authority.command_registry({"kind": "set_passphrase", "record": record, "authority": {"kind": "setup_code"}})
    return world.gateway.console._people


def at_rest(world):
    """The boxes are looked into when a story says so."""
    for task in world.gateway._carrying:
        task.cancel()


async def ask(world, host, root, action="read_input"):
    """Apply an Action, once the last outcome was heard; the gateway's end then puts it into the box."""
    await host.call("QueryBoard")
    await asyncio.wait_for(host.call("ApplyAction", action_call(action, root)), 30)
    return await turns(world)


@pytest.fixture
def air(play, tmp_path):
    """Run story(world, worker, host, root) over a drop box at tmp/stick; the Worker has the line and the Case is open."""
    box = tmp_path / "stick"
    box.mkdir()

    def run(story, **settings):
        async def whole(world):
            at_rest(world)
            (world.profile.workspace / "runtime" / "input.json").write_text(json.dumps(ORDER))
            worker = AirWorker(world, box, tmp_path / "air")
            await worker.round()
            await turns(world)
            host = world.host()
            await host.initialize()
            root = (await world.open_case(host))["root"]
            await story(world, worker, host, root)

        play(whole, dropboxes={"": str(box)}, holdMs=50, **settings)

    return run


# -- the job ---------------------------------------------------------------------------


def test_a_case_is_done_over_a_folder(air):
    async def story(world, worker, host, root):
        for action in JOB:
            await ask(world, host, root, action)
            assert states(world)[-1] == CLAIMED          # the claim is durable before the file is written
            await worker.round()
            await turns(world)
        assert states(world) == [DONE, DONE, DONE]
        assert len(worker.ran) == len(set(worker.ran)) == 3
        assert world.gateway.line.line(worker.connection)["state"] == "online"
        await worker.round()
        await turns(world)
        assert payload(worker.receipts_files()[-1])["reports"] == []         # answered and done with
        assert len(worker.work_files()) <= 4 and len(worker.receipts_files()) <= 4

    air(story)


def test_both_ends_fall_silent_when_there_is_nothing_to_say(air):
    async def story(world, worker, host, root):
        await ask(world, host, root)
        running = worker.open()
        for _ in range(3):
            await running._round()
            await turns(world)
        before = [each.name for each in (*worker.work_files(), *worker.receipts_files())]
        for _ in range(5):
            await running._round()
            await turns(world)
        assert [each.name for each in (*worker.work_files(), *worker.receipts_files())] == before
        worker.close()

    air(story)


# -- what travels ----------------------------------------------------------------------


def test_a_batch_that_comes_back_or_comes_late_changes_nothing(air, tmp_path):
    async def story(world, worker, host, root):
        old = tmp_path / "old"
        for action in JOB[:2]:
            await ask(world, host, root, action)
            shutil.copytree(worker.box, old / action)
            await worker.round()
            await turns(world)
        shutil.copytree(worker.box, old / "last")
        for kept in ("write_output", "read_input", "last", "read_input"):
            shutil.rmtree(worker.box / worker.connection)
            shutil.copytree(old / kept / worker.connection, worker.box / worker.connection)
            await worker.round()
            await turns(world)
        assert len(worker.ran) == 2 and states(world) == [DONE, DONE]
        assert "dropbox_file_old" in worker.codes()
        await ask(world, host, root, "verify_output")
        await worker.round()
        await turns(world)
        assert states(world) == [DONE, DONE, DONE] and len(worker.ran) == 3

    air(story)


def test_an_emptied_box_is_filled_again_by_both_ends(air):
    async def story(world, worker, host, root):
        await ask(world, host, root)
        running = worker.open()
        for lost in range(3):
            shutil.rmtree(worker.box / worker.connection)
            await turns(world)
            await running._round()
        shutil.rmtree(worker.box / worker.connection)
        await running._round()
        await turns(world)
        assert states(world) == [DONE] and len(worker.ran) == 1
        worker.close()

    air(story)


def test_a_torn_copy_is_passed_over_for_the_last_good_one(air):
    async def story(world, worker, host, root):
        await ask(world, host, root)
        good = worker.work_files()[-1]
        for number, torn in enumerate((b"", good.read_bytes()[:-1], good.read_bytes()[:60], good.read_bytes() + b" ", good.read_bytes()), 50):
            (good.parent / f"{number:016d}.work").write_bytes(torn)          # the last one is whole, and another number's
        await worker.round()
        assert len(worker.ran) == 1 and "dropbox_file_passed_over" in worker.codes()
        newest = worker.receipts_files()[-1]
        instance = newest.name.split(".")[0]
        (newest.parent / f"{instance}.{99:016d}.receipts").write_bytes(newest.read_bytes()[:100])
        await turns(world)
        assert states(world) == [DONE]
        await ask(world, host, root, "write_output")     # numbered above whatever lies there
        await worker.round()
        await turns(world)
        assert states(world) == [DONE, DONE]

    air(story)


@pytest.mark.parametrize("hostile", ["reflected", "forged", "link", "pipe", "huge", "folder", "deep"])
def test_what_others_put_into_the_box_is_not_believed(air, hostile, tmp_path):
    async def story(world, worker, host, root):
        await ask(world, host, root)
        into, good = worker.work_files()[-1].parent, worker.work_files()[-1].read_bytes()
        name = into / f"{10**15:016d}.work"
        if hostile == "reflected":
            name.write_bytes(worker.receipts_files()[-1].read_bytes())
        elif hostile == "forged":
            head, body = good.split(b"\n", 1)
            name.write_bytes(head + b"\n" + body.replace(b'"rows":[', b'"rows":[ '))
        elif hostile == "link":
            os.symlink("/etc/hostname", name)
        elif hostile == "pipe":
            os.mkfifo(name)
        elif hostile == "huge":
            with open(name, "wb") as file:
                file.truncate(2**30)
        elif hostile == "folder":
            name.mkdir()
        else:
            name.write_bytes(good.split(b"\n")[0] + b"\n" + b"[" * 100_000)
        await worker.round()
        await turns(world)
        assert states(world) == [DONE] and len(worker.ran) == 1

    air(story)


def test_a_box_full_of_names_or_made_of_links_is_refused_and_said(air, tmp_path):
    async def story(world, worker, host, root):
        await ask(world, host, root)
        folder = worker.work_files()[-1].parent
        for number in range(1_001):
            (folder / f"x{number}").touch()
        await worker.round()
        assert worker.ran == [] and "dropbox_folder_refused" in worker.codes()
        shutil.rmtree(folder)
        (tmp_path / "elsewhere").mkdir()
        os.symlink(tmp_path / "elsewhere", folder)
        assert "dropbox_folder_refused" in await turns(world) and not list((tmp_path / "elsewhere").iterdir())
        folder.unlink()
        await turns(world)
        await worker.round()
        assert len(worker.ran) == 1

    air(story)


def test_a_box_that_is_gone_is_waited_for(air, tmp_path):
    async def story(world, worker, host, root):
        os.rename(worker.box, tmp_path / "pulled")
        assert "dropbox_missing" in await ask(world, host, root)
        await worker.round()
        assert "dropbox_missing" in worker.codes()
        os.rename(tmp_path / "pulled", worker.box)
        await turns(world)
        await worker.round()
        await turns(world)
        assert states(world) == [DONE]

    air(story)


def test_another_key_reads_nothing(air):
    async def story(world, worker, host, root):
        await ask(world, host, root)
        worker.key = "rlt_key_of_somebody_else"
        await worker.round()
        assert worker.ran == [] and "dropbox_file_passed_over" in worker.codes()
        assert any("signature" in str(facts.get("reason")) for _, facts in worker.told)

    air(story)


# -- the fence -------------------------------------------------------------------------


def test_two_workers_on_one_folder_run_each_call_once(air, tmp_path):
    async def story(world, first, host, root):
        second = AirWorker(world, first.box, tmp_path / "second")
        await second.round()
        assert "worker_lease_held" in await turns(world)
        await ask(world, host, root)
        await second.round()
        assert second.ran == [] and "worker_lease_held" in second.codes()
        await first.round()
        await turns(world)
        assert states(world) == [DONE] and len(first.ran) == 1 and second.ran == []

    air(story)


def test_one_journal_serves_one_worker(air):
    async def story(world, worker, host, root):
        worker.open()
        with pytest.raises(Refused) as caught:
            AirWorker(world, worker.box, worker.home).open()
        assert caught.value.code == "dropbox_journal_held"
        worker.close()

    air(story)


def test_a_worker_on_the_network_does_not_take_the_line_of_a_drop_box(air):
    async def story(world, worker, host, root):
        await ask(world, host, root)
        online = world.worker()
        assert (await online.poll())["errorCode"] == "worker_lease_held"
        world.gateway.line._held.clear()                     # however long nobody looked
        assert (await online.poll())["errorCode"] == "worker_lease_held"
        await worker.round()
        await turns(world)
        assert states(world) == [DONE]

    air(story)


def test_a_worker_on_the_network_that_holds_the_line_goes_on_until_it_leaves(play, tmp_path):
    (tmp_path / "stick").mkdir()

    async def story(world):
        at_rest(world)
        online = world.worker()
        world.gateway.line._carried = {}                     # before the drop box was set up
        assert (await online.poll())["accepted"]
        (box,) = world.gateway.boxes
        world.gateway.line.carry(online.connection, box.is_holder, box.isolable_in_s)
        air = AirWorker(world, tmp_path / "stick", tmp_path / "air")
        await air.round()
        assert "worker_lease_held" in await turns(world) and (await online.poll())["accepted"]
        await online.release()
        online.generation = None
        assert (await online.poll())["errorCode"] == "worker_lease_held"
        await turns(world)
        assert world.gateway.line.line(online.connection)["workerId"] == payload(air.receipts_files()[-1])["workerId"]

    play(story, dropboxes={"": str(tmp_path / "stick")})


def test_a_line_is_isolated_only_once_nothing_that_is_out_may_start(air, tmp_path):
    async def story(world, first, host, root):
        people = owner_of(world)
        await ask(world, host, root)
        with pytest.raises(Refused) as caught:
            people.isolate(first.connection, BY)
        assert caught.value.code == "worker_not_isolated"
        clock = ManualClock(first.clock.wall_s() + 10_000)
        world.gateway.authority.clock = clock                # past startBefore and what the clocks may differ
        people.isolate(first.connection, BY)
        await world.gateway.authority.settled()
        assert states(world) == [NEEDS_PERSON]
        second = AirWorker(world, first.box, tmp_path / "second", clock=clock)
        await second.round()
        await turns(world)
        await second.round()
        assert second.ran == []                              # a person settles it; nobody else runs it
        first.clock = clock
        await first.round()
        assert first.ran == []                               # it learned of the isolation, or that it is too late
        await turns(world)
        assert states(world) == [NEEDS_PERSON]

    air(story, dropboxWindowMs=60_000)


def test_a_receipt_after_the_isolation_is_fenced_and_moves_nothing(air):
    async def story(world, worker, host, root):
        people = owner_of(world)
        await ask(world, host, root)
        await worker.round()                                 # ran; the stick is still on its way
        world.gateway.authority.clock = ManualClock(worker.clock.wall_s() + 10_000)
        people.isolate(worker.connection, BY)
        await turns(world)
        assert states(world) == [NEEDS_PERSON]
        await worker.round()
        assert "worker_fenced" in worker.codes()
        await turns(world)
        await worker.round()
        assert len(worker.ran) == 1 and world.gateway.line.line(worker.connection)["state"] == "online"      # under the next generation
        assert payload(worker.work_files()[-1])["workerGeneration"] == 3

    air(story, dropboxWindowMs=60_000)


@pytest.mark.parametrize("set_back", [False, True])
def test_a_call_that_may_not_start_any_more_is_reported_as_not_run(air, set_back):
    async def story(world, worker, host, root):
        now = worker.clock.wall_s()
        worker.clock = ManualClock(now + 100)
        await ask(world, host, root)
        if set_back:                                         # it has seen the later time once; setting it back does not help
            worker.open()
            worker.journal.box.now_s(now + 100)
            worker.journal.keep_state(worker.journal.box)
            worker.close()
            worker.clock = ManualClock(now - 10_000)
        await worker.round()
        assert worker.ran == [] and "dropbox_too_late" in worker.codes()
        await turns(world)
        assert states(world) == [FAILED] and "dropbox_too_late" in calls(world)[0].summary

    air(story, dropboxWindowMs=60_000)


@pytest.mark.parametrize("how", ["copied", "restored"])
def test_a_journal_that_is_not_where_it_was_written_is_not_believed(air, tmp_path, how):
    """A memory that was copied or brought back from a backup does not know what has run since."""
    async def story(world, worker, host, root):
        shutil.copytree(worker.home, tmp_path / "backup")
        await ask(world, host, root)
        await worker.round()
        if how == "restored":
            os.rename(worker.home, tmp_path / "lost")
            shutil.copytree(tmp_path / "backup", worker.home)
            other = worker
        else:
            other = AirWorker(world, worker.box, tmp_path / "backup")
        before = len(worker.ran)
        await other.round()
        assert len(worker.ran) == before == 1 and (other is worker or other.ran == [])
        assert "dropbox_journal_moved" in other.codes()
        await turns(world)
        assert states(world) == [DONE]                       # what the first one said is still there

    air(story)


# -- dying and full disks --------------------------------------------------------------


class Steps:
    """Every durable step of the Worker's end, counted; dies at one of them, before or after it took place."""

    def __init__(self, monkeypatch, targets):
        self.count, self.die_at, self.after, self.on = 0, None, False, False
        for owner, name in targets:
            monkeypatch.setattr(owner, name, self.wrapped(getattr(owner, name)))

    def wrapped(self, real):
        def step(*args, **named):
            self.count += self.on
            dies = self.on and self.count == self.die_at
            if dies and not self.after:
                raise Killed
            found = real(*args, **named)
            if dies:
                raise Killed
            return found

        return step


def worker_steps(monkeypatch):
    from rulith.disk import dropfolder
    from rulith.work import box_journal, dropbox
    return Steps(monkeypatch, [(box_journal.Journal, "keep"), (box_journal.Journal, "keep_state"), (dropfolder.DropFolder, "write"),
                               (dropbox, "write_receipt")])


@pytest.mark.parametrize("die_at, after", [(step, bool(step % 2) is odd) for step in range(1, 13) for odd in ((True,) if step < 9 else (True, False))])
def test_a_worker_killed_at_any_step_leaves_one_execution_and_an_end(air, monkeypatch, die_at, after):
    async def story(world, worker, host, root):
        steps = worker_steps(monkeypatch)
        steps.die_at, steps.after = die_at, after
        await ask(world, host, root, "read_input")
        killed = 0
        for _ in range(5):
            steps.on = True
            try:
                await worker.round()
            except Killed:
                killed += 1
            steps.on = False
            await turns(world)
        assert killed == 1 and len(worker.ran) <= 1
        (state,) = states(world)
        assert state in (DONE, NEEDS_PERSON) and (state == DONE) <= (len(worker.ran) == 1)
        if state == NEEDS_PERSON:
            assert "execution_interrupted" in calls(world)[0].reason

    air(story)


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("name", ["_keep", "_write", "_next", "_dispatch"])
def test_a_gateway_killed_at_any_step_leaves_one_execution_and_an_end(air, name, after):
    async def story(world, worker, host, root):
        (box,) = world.gateway.boxes
        real, hit = getattr(box, name), []

        def dying(*args):
            if not after:
                hit.append(1)
                raise Killed
            found = real(*args)
            hit.append(1)
            if asyncio.iscoroutine(found):
                async def then():
                    await found
                    raise Killed
                return then()
            raise Killed

        setattr(box, name, dying)
        await asyncio.wait_for(host.call("ApplyAction", action_call("read_input", root)), 30)
        await worker.round()
        for _ in range(3):
            try:
                await box.turn()
            except (Killed, Refused):
                break
        assert hit
        await world.stop()
        await world.start()
        at_rest(world)
        for _ in range(3):
            await turns(world)
            await worker.round()
        await turns(world)
        assert states(world) == [DONE] and len(worker.ran) == 1

    air(story)


def test_the_gateways_own_memory_may_be_lost(air):
    async def story(world, worker, host, root):
        await ask(world, host, root)
        await worker.round()
        await world.stop()
        shutil.rmtree(world.home.gateway / "dropbox")
        await world.start()
        at_rest(world)
        await turns(world)
        assert states(world) == [DONE]
        host = world.host()
        await host.initialize()
        await ask(world, host, root, "write_output")
        await worker.round()
        await turns(world)
        assert states(world) == [DONE, DONE] and len(worker.ran) == 2

    air(story)


def test_a_disk_that_cannot_keep_the_journal_starts_nothing(air, monkeypatch):
    async def story(world, worker, host, root):
        from rulith.work import box_journal
        real, full = box_journal.Journal.keep, [True]

        def keep(self, call):
            if full[0]:
                raise Refused("disk_full", path="journal")
            real(self, call)

        monkeypatch.setattr(box_journal.Journal, "keep", keep)
        await ask(world, host, root)
        await worker.round()
        assert worker.ran == [] and "disk_full" in worker.codes()
        full[0] = False
        await worker.round()
        await turns(world)
        assert len(worker.ran) == 1 and states(world) == [DONE]

    air(story)


def test_a_full_box_is_written_to_again(air, monkeypatch):
    async def story(world, worker, host, root):
        from rulith.disk import dropfolder
        real, full = dropfolder.DropFolder.write, [True]

        def write(self, name, content):
            if full[0]:
                raise Refused("disk_full", path=name)
            real(self, name, content)

        await ask(world, host, root)
        monkeypatch.setattr(dropfolder.DropFolder, "write", write)
        running = worker.open()
        await running._round()
        await running._round()
        assert len(worker.ran) == 1 and worker.codes().count("disk_full") == 1
        full[0] = False
        await running._round()
        await turns(world)
        assert states(world) == [DONE] and len(worker.ran) == 1
        worker.close()

    air(story)


# -- what is reported ------------------------------------------------------------------


def test_a_call_that_may_not_run_here_fails_with_the_reason(air):
    async def story(world, worker, host, root):
        await ask(world, host, root)
        (world.profile.workspace / "adapters" / "read_input.py").unlink()
        await worker.round()
        await turns(world)
        assert worker.ran == [] and states(world) == [FAILED]
        assert "not_run: adapter_refused" in calls(world)[0].summary

    air(story)


@pytest.mark.parametrize("action, state, said", [
    ("read_input", FAILED, "result_not_recorded: ingest_rejected"), ("write_output", NEEDS_PERSON, "its receipt was refused"),
])
def test_a_success_the_board_will_not_take_is_told_once_more_as_what_it_is(air, action, state, said):
    async def story(world, worker, host, root):
        if action != "read_input":
            await ask(world, host, root)
            await worker.round()
            await turns(world)

        class Lying:
            def __init__(self, runnable):
                self.runnable = runnable

            async def run(self):
                from rulith.adapters.outcomes import Executed
                outcome = await self.runnable.run()
                return Executed(outcome.text.replace("calc-001", "calc-666"))

        worker.wrap = lambda runnable, call: Lying(runnable)
        await ask(world, host, root, action)
        for _ in range(3):
            await worker.round()
            await turns(world)
        last = calls(world)[-1]
        assert last.state == state and said in last.summary + last.reason
        assert "ingest_rejected" in worker.codes() and len(worker.ran) == len(set(worker.ran))

    air(story)


def test_a_box_for_a_connection_that_is_none_is_refused_by_name(play, tmp_path):
    with pytest.raises(Refused) as caught:
        play(lambda world: None, dropboxes={"conn_nobody": str(tmp_path)})
    assert caught.value.code == "dropbox_connection"


def test_a_folder_for_one_of_two_connections_is_asked_for_by_id_and_name():
    """Past bug: only ids were listed, and nobody knows whose is which."""
    two = {"conn_b": {"name": "Night shift's Worker"}, "conn_a": {"name": "Ada's Worker"}}
    with pytest.raises(Refused) as caught:
        boxes_of({"": "/media/stick"}, two)
    assert caught.value.code == "dropbox_connection"
    assert "A folder without a name" in caught.value.teaching and "There is: conn_a (Ada's Worker), conn_b (Night shift's Worker)." in caught.value.teaching
    assert boxes_of({"": "/media/stick"}, {"conn_a": two["conn_a"]}) == {"conn_a": Path("/media/stick")}
    assert boxes_of({"conn_b": "/media/stick"}, two) == {"conn_b": Path("/media/stick")}


@pytest.mark.parametrize("settings", [{"dropboxes": []}, {"dropboxes": {"": "relative"}}, {"dropboxes": {"": 1}}, {"dropboxWindowMs": 0}])
def test_settings_of_a_box_that_make_no_sense_are_refused(play, settings):
    with pytest.raises(Refused) as caught:
        play(lambda world: None, **settings)
    assert caught.value.code == "settings_malformed"


def test_a_worker_whose_tools_the_gateway_cannot_read_still_gets_its_receipts_in(air):
    async def story(world, worker, host, root):
        await ask(world, host, root)
        running = worker.open()
        running._advertised = [{"id": "no tool"}]
        await running._round()
        worker.close()
        await turns(world)
        assert states(world) == [DONE]
        await worker.round()                                 # and with Tools that can be read it goes on
        await turns(world)
        await ask(world, host, root, "write_output")
        await worker.round()
        await turns(world)
        assert states(world) == [DONE, DONE]

    air(story)


def test_a_connection_without_a_key_here_is_said_and_serves_nothing(air):
    async def story(world, worker, host, root):
        (box,) = world.gateway.boxes
        box._key = lambda: None
        assert await ask(world, host, root) == ["dropbox_key_missing"] * 2
        await worker.round()
        assert worker.ran == []

    air(story)


@pytest.mark.parametrize("name, content", [("instance.json", b"{}"), ("instance.json", b"[1]"), ("calls/x.json", b'{"a": 1}'), ("calls/x.json", b"7")])
def test_a_journal_that_cannot_be_read_starts_no_worker(air, name, content):
    """What it does not say might have run: nothing is guessed."""
    async def story(world, worker, host, root):
        (worker.home / name).write_bytes(content)
        with pytest.raises(Refused) as caught:
            worker.open()
        assert caught.value.code == "dropbox_journal_unreadable"

    air(story)


class Held:
    """An adapter that runs until it is let go, or ended."""

    def __init__(self, runnable):
        self.runnable, self.begun, self.go = runnable, asyncio.Event(), asyncio.Event()

    async def run(self):
        self.begun.set()
        await self.go.wait()
        return await self.runnable.run()


@pytest.mark.parametrize("end, state, said", [(StopAsked(), DONE, ""), (ParentGone(), NEEDS_PERSON, "execution_interrupted")])
def test_a_stop_lets_the_call_end_and_a_vanished_parent_leaves_it_unknown(air, end, state, said):
    async def story(world, worker, host, root):
        held = []
        worker.wrap = lambda runnable, call: held.append(Held(runnable)) or held[0]
        await ask(world, host, root)
        running = worker.open()
        task = asyncio.ensure_future(running.run())
        while not held:
            await asyncio.sleep(0.01)
        await asyncio.wait_for(held[0].begun.wait(), 20)
        running.put(end)
        held[0].go.set()
        assert await asyncio.wait_for(task, 20) == 0
        worker.close()
        await worker.round()
        await turns(world)
        assert states(world) == [state] and said in calls(world)[0].reason
        assert len(held) == 1

    air(story)


# -- any order of it all ---------------------------------------------------------------


class Trips:
    """A seeded life of one box: two Workers with sticks of their own, copies that come back, deaths, restarts, isolations."""

    def __init__(self, seed, world, workers, steps, host, root, scratch):
        self.dice, self.world, self.workers, self.steps = random.Random(seed), world, workers, steps
        self.host, self.root, self.scratch = host, root, scratch
        self.kept, self.people = [], owner_of(world)
        self.clock = Shifted()
        for each in workers:
            each.clock = self.clock

    async def play(self, count):
        acts = [self.apply, self.look, self.look, self.look, self.turn, self.turn, self.keep, self.bring_back, self.tear, self.restart, self.wait, self.isolate]
        for _ in range(count):
            await self.dice.choice(acts)()

    async def apply(self):
        if not calls(self.world) or calls(self.world)[-1].is_settled:
            await self.host.call("QueryBoard")
            await self.host.call("ApplyAction", action_call("read_input", self.root))

    async def look(self):
        worker = self.dice.choice(self.workers)
        if self.dice.random() < 0.4:
            self.steps.count, self.steps.die_at, self.steps.after = 0, self.dice.randrange(1, 9), self.dice.random() < 0.5
        self.steps.on = True
        try:
            await worker.round()
        except Killed:
            pass
        self.steps.on, self.steps.die_at = False, None

    async def turn(self):
        await turns(self.world, 1)

    async def keep(self):
        self.kept.append(self.scratch / f"kept-{len(self.kept)}")
        shutil.copytree(self.workers[0].box, self.kept[-1])

    async def bring_back(self):
        if self.kept:
            box, old = self.workers[0].box, self.dice.choice(self.kept)
            if self.dice.random() < 0.5:
                shutil.rmtree(box)
            shutil.copytree(old, box, dirs_exist_ok=True)

    async def tear(self):
        files = [each for each in self.workers[0].box.rglob("*") if each.is_file()]
        if files:
            torn = self.dice.choice(files)
            torn.write_bytes(torn.read_bytes()[: self.dice.randrange(500)])

    async def restart(self):
        await self.world.stop()
        await self.world.start()
        at_rest(self.world)
        self.world.gateway.authority.clock = self.clock
        self.people = self.world.gateway.console._people
        self.host = self.world.host()
        await self.host.initialize()

    async def wait(self):
        self.clock.by_s += self.dice.choice([10, 100, 1_000])
        self.world.gateway.authority.clock = self.clock

    async def isolate(self):
        try:
            self.people.isolate(self.workers[0].connection, BY)
            await self.world.gateway.authority.settled()
        except Refused as refused:
            assert refused.code == "worker_not_isolated"

    async def settle(self):
        """Whole sticks from now on; the calls that are out end, or time passes and a person is asked."""
        for _ in range(4):
            for worker in self.workers:
                await worker.round()
                await self.turn()
        if calls(self.world) and not (calls(self.world)[-1].is_settled or states(self.world)[-1] == NEEDS_PERSON):
            self.clock.by_s += 10_000
            self.world.gateway.authority.clock = self.clock
            await self.isolate()


class Shifted(SystemClock):
    by_s = 0.0

    def wall_s(self):
        return super().wall_s() + self.by_s

    def monotonic_s(self):
        return super().monotonic_s() + self.by_s


@pytest.mark.parametrize("seed", range(3))
def test_any_order_of_trips_deaths_and_copies_leaves_one_execution(air, monkeypatch, tmp_path, seed):
    async def story(world, first, host, root):
        second = AirWorker(world, first.box, tmp_path / "second")
        trips = Trips(seed, world, [first, second], worker_steps(monkeypatch), host, root, tmp_path)
        await trips.play(60)
        await trips.settle()
        ran = first.ran + second.ran
        assert len(ran) == len(set(ran)), f"seed {seed}"
        for each in calls(world):
            assert each.is_settled or each.state == NEEDS_PERSON, (seed, each.state)
            assert each.state != DONE or each.invocation in ran, seed
            assert each.state != FAILED or each.invocation not in ran, seed

    air(story, dropboxWindowMs=60_000)
