"""The mcp adapter with a server as a child: dates, budgets, what is a failure and what is unknown, and how it ends."""

import asyncio
import json
import os
import signal
import sys
import time
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from rulith.adapters.hands import Hands
from rulith.adapters.mcp_link import Budget, Cut
from rulith.adapters.mcp_stdio import command_of
from rulith.adapters.outbound import Outbound
from rulith.adapters.outcomes import Call, Executed, Failed, Withheld
from rulith.adapters.sources import Source
from rulith.adapters.territory import Territory
from rulith.base.clock import ManualClock
from rulith.base.errors import Refused
from rulith.procs.orphans import adopt_orphans
from rulith.wire.manifest import BUILTINS, read_tool

FAR = str(Path(__file__).with_name("far_mcp.py"))
BOUND_S = 100
POSIX = pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
ALL = ["2025-06-18", "2025-11-25", "2026-07-28"]


class Desk:
    """One Worker's hands, and a Source whose server behaves as `settings` say."""

    def __init__(self, folder: Path, ambient=None, **vault):
        self.root, self.log = folder / "root", folder / "log"
        self.root.mkdir(exist_ok=True)
        (folder / "home").mkdir(exist_ok=True)
        self.outbound = Outbound({})
        self.hands = Hands(Territory(str(self.root), str(folder / "home")), os.environ if ambient is None else ambient, outbound=self.outbound)
        self.vault = vault

    def source(self, name="far", **settings):
        launch = json.dumps({"log": str(self.log), **settings})
        return Source(name, "mcp", "vault", {"type": "mcp", "transport": "stdio", "command": sys.executable, "args": [FAR, launch], **self.vault})

    def compile(self, source, entry, arguments=None, fence=None):
        if entry == "discover":
            made = BUILTINS["rulith.mcp.discover@1"]
        else:
            members = {"adapter": "mcp", "sourceTypes": ["mcp"], "entry": entry, "params": {name: "json" for name in arguments or {}}}
            made = read_tool("acme.far@1", {**members, **({"fence": fence} if fence else {})})
        return self.hands.compile(Call("inv_1", "key", made, arguments or {}, source, inline_bytes=65_536))

    async def call(self, source, entry, arguments=None, **fence):
        return await self.compile(source, entry, arguments, fence).run()

    def methods(self):
        return [json.loads(line).get("method") for line in self.log.read_text("utf-8").splitlines()] if self.log.exists() else []

    def session(self, name="far"):
        return self.outbound.sessions._open.get(name)


@pytest.fixture(autouse=True)
def _impatient(monkeypatch):
    """A server that will not leave is waited for less long than in earnest."""
    monkeypatch.setattr("rulith.adapters.mcp_stdio.CLOSE_S", 0.4)
    monkeypatch.setattr("rulith.adapters.mcp_stdio.TERMINATE_S", 0.4)


@pytest.fixture
def desk(tmp_path):
    return Desk(tmp_path)


def play(story):
    return asyncio.run(asyncio.wait_for(story, BOUND_S))


@asynccontextmanager
async def closing(desk):
    try:
        yield desk
    finally:
        await desk.hands.close()


def once(desk, entry, arguments=None, fence=None, **settings):
    """One call on a fresh server, which is ended afterwards."""

    async def story():
        async with closing(desk):
            return await desk.call(desk.source(**settings), entry, arguments, **(fence or {}))

    return play(story())


# -- dates -----------------------------------------------------------------------------


@pytest.mark.parametrize("dates, settings, agreed", [
    (["2026-07-28"], {}, "2026-07-28"), (ALL, {}, "2026-07-28"), (["2025-11-25"], {}, "2025-11-25"), (["2025-06-18"], {}, "2025-06-18"),
    (["2025-06-18"], {"strict": True}, "2025-06-18"),
    (["2026-07-28"], {"slow": 1.6}, "2026-07-28"), (["2025-11-25"], {"slow": 1.6}, "2025-11-25"),
    (["2025-11-25"], {"silent": ["server/discover"]}, "2025-11-25"), (["2025-11-25"], {"deadly": ["server/discover"]}, "2025-11-25"),
])
def test_a_session_speaks_the_newest_date_of_both(desk, dates, settings, agreed, monkeypatch):
    if "slow" in settings or "silent" in settings:
        monkeypatch.setattr("rulith.adapters.mcp_session.PROBE_S", 1.0)

    async def story():
        async with closing(desk):
            outcome = await desk.call(desk.source(dates=dates, **settings), "rows", {"n": 7})
            return outcome, desk.session()

    outcome, session = play(story())
    assert session is not None and session.link.date == agreed, outcome
    assert outcome == Executed('{"rows":[{"n":7}]}', unreadable="mcp_execution_unknown", literal=True)
    assert ("initialize" in desk.methods()) is (agreed != "2026-07-28" or "slow" in settings)
    assert ("notifications/initialized" in desk.methods()) is (agreed != "2026-07-28")


@pytest.mark.parametrize("date", ALL)
def test_a_date_of_the_vault_is_the_only_one_that_is_spoken(tmp_path, date):
    desk = Desk(tmp_path, protocol=date)
    assert isinstance(once(desk, "rows", {}, dates=[date] if date == "2026-07-28" else ALL), Executed)
    assert desk.methods()[0] == ("server/discover" if date == "2026-07-28" else "initialize")
    other = {"2025-06-18": ["2025-11-25"], "2025-11-25": ["2025-06-18"], "2026-07-28": ["2025-11-25"]}[date]
    outcome = once(desk, "rows", {}, dates=other)
    assert isinstance(outcome, Failed) and date in outcome.reason


def test_a_date_that_was_chosen_is_waited_for(tmp_path, monkeypatch):
    monkeypatch.setattr("rulith.adapters.mcp_session.PROBE_S", 0.2)
    desk = Desk(tmp_path, protocol="2026-07-28")
    assert isinstance(once(desk, "rows", {}, dates=["2026-07-28"], slow=1), Executed) and "initialize" not in desk.methods()


@pytest.mark.parametrize("settings", [{"dates": ["2024-11-05"]}, {"dates": ["2026-01-01"], "strict": True}, {"silent": ["initialize"]}])
def test_a_server_of_no_common_date_is_a_failure_before_anything_was_called(tmp_path, settings):
    desk = Desk(tmp_path, timeoutMs=2_000 if "silent" in settings else 30_000)
    outcome = once(desk, "rows", {}, **settings)
    assert isinstance(outcome, Failed) and "tools/call" not in desk.methods()


# -- what an answer means --------------------------------------------------------------


def test_structured_content_comes_first_and_other_content_is_named(desk):
    assert once(desk, "text").text == "error: not mine to judge\n[image: image/png]\nheld"
    assert once(desk, "nothing").text == "(no output)"


def test_what_the_server_says_it_did_not_do_has_failed(desk):
    assert once(desk, "fails") == Failed("no such order")
    assert once(desk, "error") == Failed("The server refused the call: the depot is closed (error -32000)")
    assert isinstance(once(desk, "asks"), Failed)
    assert isinstance(once(desk, "nothing", wrong=True), Failed)


@pytest.mark.parametrize("entry, words", [
    ("dies", "status 7 (it said on stderr: cannot reach the depot)"), ("sleeps", "did not answer within 1.5 s"), ("floods", "more than 1048576 bytes"),
    ("garbled", "cannot be read"), ("huge", "more than 1048576 bytes"), ("task", "'task'"),
])
def test_after_the_call_was_sent_only_an_answer_tells(desk, entry, words):
    """Whatever the Tool's kind: an unknown effect is never reported as failed, and the session is dropped."""

    async def story():
        async with closing(desk):
            source = desk.source(tools=[entry, "rows"])
            await desk.call(source, "rows")          # the session is open: only the call itself takes its time
            outcome = await desk.call(source, entry, None, **({"timeoutMs": 1_500} if entry == "sleeps" else {}))
            return outcome, desk.session()

    outcome, session = play(story())
    assert isinstance(outcome, Withheld) and outcome.code == "mcp_execution_unknown" and words in outcome.why
    assert session is None and desk.methods().count("tools/call") == 2


def test_a_call_for_which_no_time_is_left_is_not_sent(desk):
    async def story():
        async with closing(desk):
            await desk.call(desk.source(), "rows")
            session = desk.session()
            clock = ManualClock()
            budget = Budget(clock, 1_000, 2**20)
            clock.advance(1)
            with pytest.raises(Cut) as caught:
                await session.ask("tools/call", budget, {"name": "rows", "arguments": {}})
            return caught.value

    assert not play(story()).sent and desk.methods().count("tools/call") == 1


@pytest.mark.parametrize("how", ["late", "taken back", "taken back as it answers"])
def test_an_exchange_has_let_the_link_go_before_anybody_goes_on(how):
    """The next one begins on the same link, and what the last one puts back at its end would be the next one's."""

    async def story():
        ended, seen = [], []
        answers = asyncio.get_running_loop().create_future()

        async def exchange():
            try:
                await answers
            finally:
                ended.append(how)

        async def caller():
            try:
                await Budget(ManualClock(), 60_000, 2**20).within(exchange(), 0.0 if how == "late" else None)
            finally:
                seen.extend(ended)

        waiting = asyncio.ensure_future(caller())
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        if how != "late":
            if "answers" in how:
                answers.set_result(None)
            waiting.cancel()
        with pytest.raises(Cut if how == "late" else asyncio.CancelledError):
            await waiting
        assert seen == [how]

    play(story())


def test_noise_on_stdout_is_passed_over_and_shown_when_something_goes_wrong(desk):
    async def story():
        async with closing(desk):
            source = desk.source()
            heard = await desk.call(source, "noise")
            return heard, await desk.call(source, "dies")

    heard, died = play(story())
    assert heard.text == "after the noise"
    assert "beside the protocol: Loading model… {\"looks\": \"like json\"}" in died.why


def test_a_server_that_asks_us_is_answered_and_offered_nothing(desk):
    pong, refusal = json.loads(once(desk, "pings").text)
    assert pong == {"jsonrpc": "2.0", "id": "s1", "result": {}} and refusal["id"] == "s2" and refusal["error"]["code"] == -32601


def test_the_child_sees_the_basics_and_its_own_variables(tmp_path):
    ambient = {"PATH": os.environ["PATH"], "RULITH_CONNECTION_KEY": "secret", "API_TOKEN": "t", "EDITOR": "vi", "LANG": "C.UTF-8"}
    desk = Desk(tmp_path, ambient, env={"DEPOT_TOKEN": "depot"})
    seen = json.loads(once(desk, "env").text)
    seen["env"].pop("LC_CTYPE", None)
    assert seen["env"] == {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "DEPOT_TOKEN": "depot"}
    assert os.path.realpath(seen["cwd"]) == os.path.realpath(desk.root)


# -- Tools and pages -------------------------------------------------------------------


def test_discovery_reads_every_page_and_gives_one_row_per_tool(desk):
    outcome = once(desk, "discover", tools=[f"t{n}" for n in range(20)], page=3)
    assert [row["tool_name"] for row in outcome.rows] == [f"t{n}" for n in range(20)]
    assert set(outcome.rows[0]) == {"source", "tool_name", "description", "input_schema_json"}
    assert len(outcome.rows[0]["description"]) == 1_000 and outcome.rows[0]["input_schema_json"] == '{"type":"object"}'
    assert json.loads(outcome.brief) == {"tools": 20, "truncated": False} and desk.methods().count("tools/list") == 7


def test_discovery_stops_at_200_tools_or_what_a_receipt_holds_and_says_so(desk):
    async def story(count):
        async with closing(desk):
            made = BUILTINS["rulith.mcp.discover@1"]
            call = Call("inv", "key", made, {}, desk.source(tools=[f"t{n}" for n in range(count)], page=90), inline_bytes=2**22 if count > 200 else 9_000)
            return await desk.hands.compile(call).run()

    many, tight = play(story(250)), play(story(20))
    assert len(many.rows) == 200 and json.loads(many.brief)["truncated"] is True
    assert 0 < len(tight.rows) < 20 and json.loads(tight.text)["truncated"] is True


@pytest.mark.parametrize("settings, words", [
    ({"page": 3, "circles": True}, "same page"), ({"list": {"tools": [{"name": ""}]}}, "usable name"), ({"list": {"tools": {}}}, "list of tools"),
    ({"list": {"tools": [], "nextCursor": 7}}, "list of tools"), ({"silent": ["tools/list"]}, "did not answer within 2 s"),
    ({"deadly": ["tools/list"]}, "ended with status 1"),
])
def test_a_list_that_cannot_be_read_is_a_plain_failure(tmp_path, settings, words):
    desk = Desk(tmp_path, timeoutMs=2_000 if "silent" in settings else 30_000)
    for entry in ("discover", "rows"):
        outcome = once(desk, entry, **settings)
        assert isinstance(outcome, Failed) and words in outcome.reason
    assert "tools/call" not in desk.methods()


def test_a_tool_that_the_server_does_not_offer_is_not_called(desk):
    outcome = once(desk, "missing")
    assert isinstance(outcome, Failed) and "offers no tool 'missing'" in outcome.reason and "tools/call" not in desk.methods()


# -- sessions --------------------------------------------------------------------------


def test_one_session_per_source_serves_every_call_until_its_configuration_changes(desk):
    async def story():
        async with closing(desk):
            await asyncio.gather(*(desk.call(desk.source(), "rows", {"n": n}) for n in range(5)))
            first = desk.session()
            await desk.call(desk.source("other"), "rows")
            kept = desk.session() is first
            await desk.call(desk.source(page=7), "rows")
            return first, kept, desk.session(), desk.session("other")

    first, kept, second, other = play(story())
    assert kept and first is not second and not first.link.is_open and other is not second
    assert desk.methods().count("initialize") == 3


def test_a_server_that_ended_between_calls_is_started_again(desk):
    async def story():
        async with closing(desk):
            await desk.call(desk.source(), "rows")
            desk.session().link.kill()
            await desk.session().link._child.exited
            return await desk.call(desk.source(), "rows", {"n": 2})

    assert isinstance(play(story()), Executed)


@POSIX
def test_a_server_that_writes_without_being_asked_is_ended_at_once(desk):
    async def story():
        async with closing(desk):
            outcome = await desk.call(desk.source(tools=["chatters"]), "chatters")
            child = desk.session().link._child
            status = await child.exited
            return outcome, status, await desk.call(desk.source(tools=["chatters", "rows"]), "rows")

    outcome, status, after = play(story())
    assert outcome.text == "done" and status == -signal.SIGKILL and isinstance(after, Executed)


def test_a_command_that_cannot_be_started_is_a_failure_that_names_it(tmp_path):
    desk = Desk(tmp_path, command="no-such-program-here")
    outcome = once(desk, "rows")
    assert isinstance(outcome, Failed) and "no-such-program-here was not started" in outcome.reason


# -- the end of a child ----------------------------------------------------------------


def _is_alive(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
@pytest.mark.parametrize("settings", [{}, {"stubborn": True}])
def test_a_closed_session_leaves_no_process(desk, tmp_path, settings):
    pids = tmp_path / "pids"
    assert isinstance(once(desk, "rows", child=str(pids), **settings), Executed)
    server, child = map(int, pids.read_text().split())
    for _ in range(1_500):
        if not _is_alive(child):
            break                            # a signal takes a moment
        time.sleep(0.02)
    assert not _is_alive(server) and not _is_alive(child)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
@pytest.mark.parametrize("settings", [{}, {"stubborn": True}])
def test_a_worker_that_takes_orphans_over_keeps_no_zombie_of_a_server(desk, tmp_path, settings):
    """Past bug: what a server left behind became the Worker's own after its first run of a program, and nobody took its status."""
    assert adopt_orphans()
    pids, gone = tmp_path / "pids", tmp_path / "daemon"

    async def story():
        async with closing(desk):
            source = desk.source(child=str(pids), daemons=str(gone), **settings)
            assert isinstance(await desk.call(source, "rows"), Executed)
            while not (gone.exists() and gone.read_text() and not _is_alive(int(gone.read_text()))):
                await asyncio.sleep(0.01)
            assert isinstance(await desk.call(source, "rows"), Executed)
            assert not Path(f"/proc/{gone.read_text()}").exists()

    play(story())
    assert [pid for pid in pids.read_text().split() if Path(f"/proc/{pid}").exists()] == []


@POSIX
def test_a_call_that_is_taken_back_ends_its_server(desk, tmp_path):
    pids = tmp_path / "pids"

    async def story():
        task = asyncio.ensure_future(desk.call(desk.source(child=str(pids)), "sleeps"))
        while "tools/call" not in desk.methods():
            await asyncio.sleep(0.02)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return desk.session()

    assert play(story()) is None
    with pytest.raises(ProcessLookupError):
        os.kill(int(pids.read_text().split()[0]), signal.SIGCONT)


# -- before the claim ------------------------------------------------------------------


@pytest.mark.parametrize("vault, problem", [
    ({"transport": "pipe"}, "transport"), ({"transport": None}, "transport"), ({"command": ""}, "command"), ({"command": None}, "command"),
    ({"args": "a b"}, "args"), ({"args": ["a\0b"]}, "args"), ({"env": []}, "env"), ({"env": {"A": 7}}, "env"), ({"env": {"A=B": "x"}}, "env"),
    ({"env": {"Rulith_Key": "x"}}, "names of our own"), ({"cwd": "nowhere"}, "cwd"), ({"protocol": "2024-11-05"}, "protocol"),
    ({"timeoutMs": 30_001}, "timeoutMs"), ({"timeoutMs": 0}, "timeoutMs"), ({"timeoutMs": True}, "timeoutMs"), ({"maxResponseBytes": 2**20 + 1}, "maxResponseBytes"),
    ({"url": "https://h"}, "'url'"), ({"shell": True}, "'shell'"),
])
def test_a_server_that_cannot_be_started_as_it_is_described_is_refused_by_member(desk, vault, problem):
    desk.vault = vault
    with pytest.raises(Refused) as caught:
        desk.compile(desk.source(), "rows")
    assert caught.value.code == "source_unusable" and problem in caught.value.facts["problem"]


@pytest.mark.parametrize("place", ["home", "home/gateway", "."])
def test_a_server_may_not_be_pointed_at_the_home(desk, tmp_path, place):
    """The design, §7: an MCP path that contains, equals or lies in the home is refused."""
    (tmp_path / "home" / "gateway").mkdir()
    folder, near = str(tmp_path / place), os.path.relpath(tmp_path / place, desk.root)
    (desk.root / "link").symlink_to(folder)
    for vault in ({"cwd": folder}, {"cwd": near}, {"args": [FAR, folder]}, {"args": [FAR, near]}, {"args": [FAR, f"--root={folder}"]},
                  {"args": [FAR, f"--root={near}"]}, {"args": ["link"]}, {"env": {"ROOT": folder}}, {"env": {"ROOT": near}}):
        desk.vault = vault
        with pytest.raises(Refused) as caught:
            desk.compile(desk.source(), "rows")
        assert caught.value.code == "source_root_refused"
    desk.vault = {"args": [FAR, "-y", "runtime", "@scope/server", "x" * 9_000, ""], "env": {"WORDS": "plain"}}
    desk.compile(desk.source(), "rows")


def test_another_type_of_source_is_refused(desk):
    with pytest.raises(Refused) as caught:
        desk.compile(Source("s", "file", str(desk.root)), "rows")
    assert caught.value.code == "source_unusable"


@pytest.mark.parametrize("found, arguments, words", [
    ("C:\\node\\npx.cmd", ["-y", "a b", "C:\\data"], ("C:\\node\\npx.cmd", "-y", "a b", "C:\\data")),
    ("C:\\py\\python.exe", ["a&b", "100%"], ("C:\\py\\python.exe", "a&b", "100%")),
    (None, ["x"], ("npx", "x")),
    ("C:\\node\\npx.CMD", ["a&calc"], None), ("C:\\x.bat", ['"'], None), ("C:\\x.bat", ["%PATH%"], None), ("C:\\x.bat", ["a\nb"], None),
    ("C:\\x.bat", ["a^b"], None), ("C:\\x.bat", ["!x!"], None),
])
def test_on_windows_a_command_file_is_found_and_gets_plain_arguments_only(found, arguments, words):
    if words is None:
        with pytest.raises(ValueError) as caught:
            command_of("npx", arguments, lambda name: found, is_windows=True)
        assert "argument number 1" in str(caught.value)          # it may be a credential
    else:
        assert command_of("npx", arguments, lambda name: found, is_windows=True) == words
    assert command_of("npx", ["a&b"], lambda name: found, is_windows=False) == ("npx", "a&b")


def test_a_tool_that_returns_the_whole_answer_repeats_what_it_was_asked_with(desk):
    """The column `$answer` (our decision): a server that tells no rows can still state a fact, all that it said beside the call's own arguments."""
    returns = [{"predicate": "acme.far.told", "args": {"path": "$path", "source": "$source", "answer": "$answer"}}]
    made = read_tool("acme.far@1", {"adapter": "mcp", "sourceTypes": ["mcp"], "entry": "noise", "params": {"path": "string"}, "returns": returns})

    async def story():
        async with closing(desk):
            return await desk.hands.compile(Call("inv_1", "key", made, {"path": "a"}, desk.source(), inline_bytes=65_536)).run()

    outcome = play(story())
    assert outcome.rows == ({"path": "a", "source": "far", "answer": "after the noise"},) and outcome.brief
