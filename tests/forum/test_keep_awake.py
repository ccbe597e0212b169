"""Keep awake over watchers that a test plays: when one is started, with what, what its end means, what is left. Duty: the council surface, "Supervisor", "Keys and credentials"."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import sqlite3
import stat
import sys
from pathlib import Path

import pytest

from rulith.base.errors import Refused
from rulith.council.awake import CEILING_EXIT
from rulith.council.shapes import PERSON
from rulith.forum.supervisor import Supervisor
from rulith.procs.identity import process_stamp
from rulith.watching.core import EXIT_CEILING
from rulith.watching.settings import read_settings

STORY_S = 60.0
posix = pytest.mark.skipif(os.name != "posix", reason="a login shell and modes of POSIX")


class Played:
    """A watcher that a test ends. It ends by itself at the word to stop unless it is deaf."""

    def __init__(self, role: str, **about) -> None:
        assert role == "watch"
        self.args, self.env, self.environ, self.cwd, self.hear = (about[name] for name in ("args", "env", "environ", "cwd", "on_event"))
        self.pid, self.words, self.was_killed, self.is_deaf = 2**22 + 7, "", False, False      # above every pid that Linux gives out here
        self._over: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    def ends(self, status: int, words: str = "") -> None:
        self.words = words
        if not self._over.done():
            self._over.set_result(status)

    @property
    def is_over(self) -> bool:
        return self._over.done()

    def control(self, operation: str) -> None:
        assert operation == "stop"
        if not self.is_deaf:
            self.ends(0)

    def last_words(self) -> str:
        return self.words

    def says(self, state: str, **facts) -> None:
        self.hear({"type": "watch", "state": state, **facts})

    async def wait(self) -> int:
        return await asyncio.shield(self._over)

    async def kill(self) -> int:
        self.was_killed = True
        self.ends(-9)
        return await self.wait()


class Play:
    """A supervisor, the watchers that it started, and an agent that it may start."""

    def __init__(self, council, **about) -> None:
        self.council, self.started, self.problem, self.tries = council, [], None, 0
        self._news = asyncio.Event()
        self.folder = council.folder.parent / "awake"
        environ = {"PATH": os.environ.get("PATH", "")}
        self.supervisor = Supervisor(council.forum, self.folder, council.folder.parent, council.clock, launch=self._launch,
                                     **{"environ": environ, "again_s": 0.0, **about})
        profile = council.act("upsert_profile", key="mine", launch_cmd=sys.executable, launch_args=["-c", "1", "{threads}", "{mcp_url}", "{agent_name}", "{cwd}"])
        self.agent = council.agent("ann").agent_id
        council.act("update_agent", id=self.agent, profile_id=profile["id"])

    async def _launch(self, role: str, **about) -> Played:
        self.tries += 1
        if self.problem is not None:
            raise self.problem
        assert not [each for each in self.started if not each.is_over], "two watchers of one agent"
        self.started.append(Played(role, **about))
        self._news.set()
        return self.started[-1]

    async def watcher(self, number: int) -> Played:
        """The one that was started as the so-manieth."""
        while len(self.started) < number:
            self._news.clear()
            await self._news.wait()
        await self.so(lambda: any(row["pgid"] for row in self.ledger()))
        return self.started[number - 1]

    async def so(self, is_so) -> None:
        with self.council.forum.bus.subscribe(PERSON.agent_id) as subscription:
            while not is_so():
                await subscription.changed(0.02)

    async def is_off(self) -> dict:
        await self.so(lambda: not self.status()["awake"])
        return self.status()

    def ledger(self) -> list[dict]:
        file = self.folder / "running.json"
        return json.loads(file.read_text()) if file.exists() else []

    def awake(self, awake: bool = True, **about) -> dict:
        return self.council.act("set_agent_awake", id=self.agent, awake=awake, **about)

    def status(self) -> dict:
        return self.council.act("awake_status", id=self.agent)[0]

    def refused(self, name: str = "set_agent_awake", **about) -> str:
        with pytest.raises(Refused) as refusal:
            self.council.act(name, **{"id": self.agent, **about})
        return refusal.value.code


def play(council, story, **about) -> None:
    async def run() -> None:
        made = Play(council, **about)
        await made.supervisor.begin("http://127.0.0.1:8787/mcp")
        try:
            await story(made)
        finally:
            await made.supervisor.close()
        assert not made.ledger() and not list(made.folder.glob("mcp-*.json"))
    asyncio.run(asyncio.wait_for(run(), STORY_S))


def test_an_agent_kept_awake_has_a_watcher_with_credentials_of_its_own(council):
    async def story(made: Play):
        assert made.status()["state"] == "stopped" and made.awake()["state"] == "starting"
        watcher = await made.watcher(1)
        here, told = council.forum.project(1)["folder_path"], made.supervisor.starts_file(made.agent)
        assert watcher.args == ["--url", "http://127.0.0.1:8787/mcp", "--wait", "900", "--limit", "1200", "--ceiling", "40", "--starts", str(told), "--report", "--",
                                sys.executable, "-c", "1", "{threads}", "http://127.0.0.1:8787/mcp", "ann", here]
        assert watcher.cwd == Path(here) and watcher.env["RIVENDELL_AGENT"] == str(made.agent) and watcher.env["RIVENDELL_URL"] == "http://127.0.0.1:8787/mcp"
        waits, runs = (council.forum.authenticate(watcher.env[name]) for name in ("RIVENDELL_KEY", "RIVENDELL_RUN_KEY"))
        assert (waits.agent_id, waits.supervised, waits.is_watcher) == (made.agent, True, True)
        assert (runs.agent_id, runs.supervised, runs.is_watcher) == (made.agent, True, False) and watcher.env["RIVENDELL_RUN_KEY"].startswith("rvdlive_")
        assert not any(watcher.env[name] in " ".join(watcher.args) for name in ("RIVENDELL_KEY", "RIVENDELL_RUN_KEY"))
        assert made.awake() == made.status() and len(made.started) == 1                    # twice the same wish is one wish
        watcher.says("waiting", agent="ann")
        assert (made.status()["state"], made.status()["watching"], made.status()["last_run_at"]) == ("awake", True, None)
        before = council.forum.presence.revision
        watcher.says("running", threads=[3, 4])
        assert made.status()["running"] and made.status()["threads"] == [3, 4] and made.status()["last_run_at"]
        assert council.forum.presence.revision > before                                     # whoever looks at the page is told
        assert not [event for event in council.events() if "awake" in json.dumps(event["payload"])]
        made.awake(False)
        assert council.forum.authenticate(watcher.env["RIVENDELL_KEY"]) is None is council.forum.authenticate(watcher.env["RIVENDELL_RUN_KEY"])
        assert made.status()["state"] == "stopped" and not made.status()["awake"]
        await made.so(lambda: not made.ledger())
    play(council, story)


def test_what_waits_says_nothing(council):
    actor = council.forum.authenticate(council.forum.mint_live(council.agent("ann").agent_id, is_watcher=True))
    council.agent("bob")
    assert council.does(actor, "list_tags")
    for name, arguments in (("reply", {"thread_id": council.opens(), "body": "b"}), ("get_thread", {"thread_id": 1}), ("claim_thread", {"thread_id": 1})):
        with pytest.raises(Refused) as refusal:
            council.does(actor, name, **arguments)
        assert refusal.value.code == "council_watcher"


def test_what_cannot_be_kept_awake_is_refused_and_the_status_says_why(council, tmp_path, monkeypatch):
    async def story(made: Play):
        person = council.act("agents_of")[0]["id"]
        assert made.refused(id=person) == "council_person" and made.refused(id=999) == "council_not_found" and made.refused(awake="on") == "council_invalid"
        assert made.refused(extra=1) == "council_invalid" == made.refused("awake_status", extra=1)
        for code, profile in (("council_launch", {"launch_cmd": ""}), ("council_grants", {"launch_cmd": "claude", "launch_args": ["--yolo"]}),
                              ("council_no_program", {"launch_cmd": "./no-such"}), ("council_no_program", {"launch_cmd": "no-such-program"})):
            council.act("upsert_profile", key="mine", **profile)
            await asyncio.wait([made.supervisor.programs.ask_shell()])
            assert made.refused() == code
            assert bool(made.status()["why_not"]) == (code in ("council_launch", "council_grants"))
        council.act("upsert_profile", key="mine", launch_cmd=sys.executable)
        council.act("set_agent_revoked", id=made.agent)
        assert made.refused() == "council_revoked"
        with pytest.raises(Refused) as refusal:
            council.does(council.agent("eve"), "set_agent_awake", id=made.agent, awake=True)
        assert refusal.value.code == "council_not_found" and not made.started
        council.act("set_agent_revoked", id=made.agent, revoked=False)
        monkeypatch.setattr("rulith.forum.supervisor.COUNCIL_AWAKE_MAX", 0)
        assert made.refused() == "council_awake_cap"
        monkeypatch.undo()
        council.folder.rename(tmp_path / "elsewhere")
        assert made.refused() == "council_folder_unreadable"
        (tmp_path / "elsewhere").rename(council.folder)
    play(council, story)


@pytest.mark.parametrize("how", ["off", "revoke", "delete", "delete the project", "close"])
def test_what_ends_it_ends_the_watcher_and_both_credentials_at_once(council, how):
    async def story(made: Play):
        made.awake()
        watcher = await made.watcher(1)
        watcher.is_deaf = True
        if how == "off":
            made.awake(False)
        elif how == "revoke":
            council.act("set_agent_revoked", id=made.agent)
        elif how == "delete":
            council.act("delete_agent", id=made.agent)
        elif how == "delete the project":
            council.act("delete_project", id=1)
        else:
            await made.supervisor.close()
            assert watcher.was_killed and council.forum.agent(made.agent)["awake"] == 1        # the switch stays for the next start
        if how != "close":
            assert council.forum.authenticate(watcher.env["RIVENDELL_RUN_KEY"]) is None
        await made.so(lambda: watcher.was_killed and not made.ledger())
        assert council.forum.authenticate(watcher.env["RIVENDELL_RUN_KEY"]) is None is council.forum.authenticate(watcher.env["RIVENDELL_KEY"])
        assert len(made.started) == 1
    play(council, story)


def test_who_is_revoked_on_a_full_disk_is_no_longer_kept_awake(council, monkeypatch):
    async def story(made: Play):
        made.awake()
        watcher = await made.watcher(1)
        with monkeypatch.context() as full:
            full.setattr(council.forum.db, "update", _full)
            with pytest.raises(Refused) as refusal:
                council.act("set_agent_revoked", id=made.agent)
            assert refusal.value.code == "council_revoked_for_now"
        await made.so(lambda: watcher.is_over and not made.ledger())
        assert made.status()["state"] == "stopped" and made.refused() == "council_revoked" and len(made.started) == 1
        assert council.forum.authenticate(council.keys["ann"]) is None
        council.forum.db.close()
        council.open()
        assert council.forum.authenticate(council.keys["ann"])                    # as it was said
    play(council, story)


def _full(*_, **__):
    raise sqlite3.OperationalError("database or disk is full")


@pytest.mark.parametrize("act", ["delete_agent", "delete_project"])
def test_the_count_of_starts_goes_with_its_agent(council, act):
    async def story(made: Play):
        made.awake()
        watcher, counted = await made.watcher(1), made.supervisor.starts_file(made.agent)
        watcher.is_deaf = True
        council.act(act, id=made.agent if act == "delete_agent" else 1)
        counted.write_text('{"starts": []}')                     # the watcher's last word, as it is ended
        await made.so(lambda: watcher.was_killed and not counted.exists())
        assert not list(made.folder.glob("starts-*.json"))
    play(council, story)


def test_counts_of_agents_that_are_gone_are_taken_away_at_the_next_begin(council):
    made = Play(council)
    asleep = council.agent("bob").agent_id
    council.act("set_agent_revoked", id=asleep)
    made.folder.mkdir()
    for name in (f"starts-{made.agent}.json", f"starts-{asleep}.json", "starts-999.json", "starts-other.json"):
        (made.folder / name).write_text('{"starts": []}')

    async def run():
        await made.supervisor.begin("http://127.0.0.1:8787/mcp")
        council.act("delete_agent", id=asleep)
        await made.supervisor.close()
    asyncio.run(run())
    assert sorted(file.name for file in made.folder.glob("starts-*")) == sorted((f"starts-{made.agent}.json", "starts-other.json"))


def test_another_key_another_profile_and_another_folder_start_it_anew(council, tmp_path):
    async def story(made: Play):
        made.awake()
        first = await made.watcher(1)
        council.act("rotate_agent_key", id=made.agent)
        second = await made.watcher(2)
        assert council.forum.authenticate(first.env["RIVENDELL_KEY"]) is None and council.forum.authenticate(second.env["RIVENDELL_KEY"]).agent_id == made.agent
        council.act("upsert_profile", key="mine", launch_cmd=sys.executable, launch_args=["other.py"])
        third = await made.watcher(3)
        assert third.args[-2:] == [sys.executable, "other.py"]
        (tmp_path / "new").mkdir()
        council.act("update_project", id=1, folder_path=str(tmp_path / "new"))
        assert (await made.watcher(4)).cwd == tmp_path / "new"
        council.act("update_agent", id=made.agent, name="anna", color="red")
        council.act("update_project", id=1, name="Other")
        assert len(made.started) == 4 and made.status()["awake"]
        council.act("update_agent", id=made.agent, profile_id=None)                              # nothing is left to start
        assert "no launch profile" in (await made.is_off())["trouble"]
    play(council, story)


def test_three_quick_ends_switch_it_off_with_the_last_words(council):
    async def story(made: Play):
        made.awake()
        for number in (1, 2, 3):
            (await made.watcher(number)).ends(1, f"first\nno model {number}\n\n")
        status = await made.is_off()
        assert (status["state"], status["trouble"], len(made.started)) == ("stopped", "no model 3", 3)
        made.awake()
        assert made.status()["trouble"] == ""
        for number in (4, 5):
            (await made.watcher(number)).ends(0)
        sixth = await made.watcher(6)
        council.clock.advance(20.0)
        sixth.ends(0)                                                                            # a longer life: the count begins anew
        for number in (7, 8):
            (await made.watcher(number)).ends(-9)
        await made.watcher(9)
        assert made.status()["awake"]
        made.started[8].ends(7)
        assert "status 7" in (await made.is_off())["trouble"]
    play(council, story)


def test_too_many_starts_in_an_hour_switch_it_off_and_only_the_person_begins_a_new_count(council):
    async def story(made: Play):
        made.awake()
        watcher, file = await made.watcher(1), made.supervisor.starts_file(made.agent)
        now_s = council.clock.wall_s()
        file.write_text(json.dumps({"starts": [now_s - 3_700] + [now_s - 5] * 40}))
        assert (made.status()["starts_last_hour"], made.status()["starts_per_hour_max"], made.status()["run_limit_s"]) == (40, 40, 1_200)
        watcher.ends(5)                                                                          # an end by itself keeps the count
        (await made.watcher(2)).ends(3, "40 starts in an hour, something loops")
        assert file.exists() and (await made.is_off())["trouble"] == "40 starts in an hour, something loops"
        made.awake()
        assert not file.exists() and made.status()["starts_last_hour"] == 0
        file.write_text("[")
        assert made.status()["starts_last_hour"] == 0
    play(council, story)


@posix
def test_a_program_that_reads_a_file_finds_its_credential_there_and_nobody_else_does(council):
    async def story(made: Play):
        council.act("upsert_profile", key="mine", launch_cmd=sys.executable, launch_args=["{mcp_config}"], mcp_install_mode="config_file_flag")
        made.awake()
        watcher = await made.watcher(1)
        file = made.folder / f"mcp-{made.agent}.json"
        assert watcher.args[-1] == str(file) and stat.S_IMODE(file.stat().st_mode) == 0o600 == stat.S_IMODE((made.folder / "running.json").stat().st_mode)
        about = json.loads(file.read_text())["mcpServers"]["rivendell"]
        assert about == {"type": "http", "url": "http://127.0.0.1:8787/mcp", "headers": {"Authorization": f"Bearer {watcher.env['RIVENDELL_RUN_KEY']}"}}
        assert watcher.env["RIVENDELL_RUN_KEY"] not in (made.folder / "running.json").read_text()
        watcher.ends(1)
        await made.watcher(2)
        made.awake(False)
        await made.so(lambda: not file.exists())
    play(council, story)


def test_a_start_of_the_council_starts_those_that_are_awake_and_a_watcher_that_cannot_be_made_says_so(council):
    async def story(made: Play):
        council.act("set_awake", id=made.agent, awake=True)
        await made.supervisor.close()
        await made.supervisor.begin("http://127.0.0.1:8788/mcp")
        assert "http://127.0.0.1:8788/mcp" in (await made.watcher(1)).args
        made.problem = Refused("role_not_started", role="watch", problem="no more processes")
        made.started[0].ends(1)
        assert "no more processes" in (await made.is_off())["trouble"] and made.tries == 3         # such a thing may pass: three ends in a row, as any other
        made.problem = None
        made.awake()
        await made.watcher(2)
    play(council, story)


def test_what_cannot_be_written_down_is_not_started(council, monkeypatch):
    async def story(made: Play):
        def full(*about, **named):
            raise Refused("disk_full", path="running.json")
        monkeypatch.setattr("rulith.forum.supervisor.write_json", full)
        made.awake()
        status = await made.is_off()
        assert "running.json" in status["trouble"] and not made.started and status["state"] == "stopped"
        assert not council.forum.live._known
        monkeypatch.undo()
    play(council, story)


def test_credentials_of_a_living_watcher_do_not_run_out(council, monkeypatch):
    async def story(made: Play):
        monkeypatch.setattr("rulith.forum.keeping.TOUCH_S", 0.0)
        made.awake()
        watcher = await made.watcher(1)
        for _ in range(4):
            council.clock.advance(5 * 3_600.0)
            digests = len(council.forum.live._known)
            await made.so(lambda: all(last == council.clock.wall_s() for _, last in council.forum.live._known.values()))
            assert digests == 2
        assert council.forum.authenticate(watcher.env["RIVENDELL_KEY"]).is_watcher
    play(council, story)


@posix
@pytest.mark.parametrize("said, found", [("echo hello; PATH=/of/the/shell:relative:$PATH", True), ("exit 3", False), ("sleep 100 & kill -9 $$", False)])
def test_the_login_shell_is_asked_once_for_its_path(council, tmp_path, said, found):
    count, shell = tmp_path / "count", tmp_path / "shell"
    shell.write_text(f"#!/bin/sh\necho asked >> {shlex.quote(str(count))}\n{said}\n[ \"$1\" = -lc ] && eval \"$2\"\n")
    shell.chmod(0o755)
    environ = {"PATH": f"/of/ours:{os.environ['PATH']}", "SHELL": str(shell)}

    async def story(made: Play):
        assert not count.exists()
        made.awake()
        watcher = await made.watcher(1)
        path = watcher.environ["PATH"].split(":")
        assert path[0] == "/of/ours" and ("/of/the/shell" in path) == found and "relative" not in path and {"/usr/local/bin", "/opt/homebrew/bin"} <= set(path)
        made.awake(False), made.awake()
        await made.watcher(2)
        assert count.read_text().splitlines() == ["asked"]
    play(council, story, environ=environ)


def test_a_ledger_that_says_nothing_readable_is_put_away(council):
    async def story(made: Play):
        await made.supervisor.close()
        for text in ("", "{}", "[1, null, {}, {\"mark\": 7}, {\"mark\": \"\", \"pgid\": 1}]", "[" * 5_000):
            (made.folder / "running.json").write_text(text)
            (made.folder / "mcp-7.json").write_text("{}")
            await made.supervisor.begin("http://127.0.0.1:1/mcp")
            assert not made.ledger() and not (made.folder / "mcp-7.json").exists()
        stamp = process_stamp()
        (made.folder / "running.json").write_text(json.dumps([{"mark": "f" * 32, "pgid": os.getpid(), **stamp}, {"mark": "f" * 32, "pgid": os.getppid(), **stamp, "startTicks": str(stamp.get("startTicks", "")) + "7"}]))
        await made.supervisor.begin("http://127.0.0.1:1/mcp")                                    # never this process, never one whose start is another
    play(council, story)


def test_a_log_that_has_grown_long_begins_anew_between_runs(council, monkeypatch):
    async def story(made: Play):
        monkeypatch.setattr("rulith.forum.supervisor.LOG_BYTES_MAX", 10)
        made.awake()
        watcher, log = await made.watcher(1), made.supervisor.log_file(made.agent)
        watcher.says("waiting")                                                                  # there is none yet
        with open(log, "ab", buffering=0) as appended:
            appended.write(b"0123456789")
            watcher.says("running", threads=[1]), watcher.says("waiting")
            assert log.stat().st_size == 10
            appended.write(b"more")
            watcher.says("waiting")
            appended.write(b"next")
        assert log.read_bytes() == b"next"
    play(council, story)


def test_the_switch_thrown_often_ends_as_it_was_thrown_last_and_never_with_two_watchers(council):
    async def story(made: Play):
        made.awake()
        await made.watcher(1)
        for turn in range(41):
            made.awake(turn % 2 == 0)
            if turn % 5 == 0:
                await asyncio.sleep(0)
            if turn % 7 == 0:
                council.act("rotate_agent_key", id=made.agent)
        await made.so(lambda: len([each for each in made.started if not each.is_over]) == 1 and len(made.ledger()) == 1)
        assert made.status()["awake"] and len(council.forum.live._known) == 2
        made.awake(False)
        await made.so(lambda: not made.ledger())
        assert not council.forum.live._known and all(each.is_over for each in made.started)
    play(council, story)


def test_a_council_that_ends_starts_nobody_any_more(council):
    async def story(made: Play):
        ending = asyncio.ensure_future(made.supervisor.close())
        await asyncio.sleep(0)
        assert made.awake()["state"] == "stopped"                                                # kept for the next start
        await ending
        assert not made.started and council.forum.agent(made.agent)["awake"] == 1
    play(council, story)


def test_a_watcher_reads_what_it_is_started_with_and_both_mean_the_same_end(council):
    assert EXIT_CEILING == CEILING_EXIT

    async def story(made: Play):
        made.awake()
        watcher = await made.watcher(1)
        read = read_settings(watcher.args, watcher.env)
        assert (read.url, read.key, read.run_key) == (watcher.env["RIVENDELL_URL"], watcher.env["RIVENDELL_KEY"], watcher.env["RIVENDELL_RUN_KEY"])
        assert (read.wait_s, read.limit_s, read.ceiling, read.starts, read.report) == (900, 1_200, 40, made.supervisor.starts_file(made.agent), True)
        assert read.command[0] == sys.executable
    play(council, story)


def test_a_switch_that_cannot_be_written_is_off_all_the_same_and_says_so(council, monkeypatch):
    async def story(made: Play):
        made.awake()
        watcher, run = await made.watcher(1), council.forum.run

        def full(actor, name, arguments):
            if name == "set_awake":
                raise Refused("disk_full", path="council.db")
            return run(actor, name, arguments)
        monkeypatch.setattr(council.forum, "run", full)
        watcher.ends(3)
        await made.so(lambda: made.status()["trouble"])
        status = made.status()
        assert status["awake"] and status["state"] == "stopped" and "something loops" in status["trouble"] and "council.db" in status["trouble"]
        assert made.refused(awake=False) == "disk_full"
        monkeypatch.undo()
        assert made.awake()["state"] == "starting"
        await made.watcher(2)
    play(council, story)
