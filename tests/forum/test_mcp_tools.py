"""The sixteen tools as their callers hear them, over HTTP. Duty: the council surface, "Tools", "Errors"."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys

import pytest

from rulith.council.kinds import PREFIXES
from rulith.council.tools import TOOLS
from rulith.forum import staying
from rulith.forum.staying import Staying, watcher_argv
from rulith.procs.short import shell_line
from tests.forum.test_mcp import program

WATCHER = "import json, sys; open(sys.argv[1], 'a').write('asked\\n'); print(json.dumps({told})); sys.exit({status})"
HOSTILE = [None, 7, "x", [], {"strange": 1}, {"thread_id": None}, {"thread_id": {}}, {"thread_id": "../1"}, {"thread_id": -1}, {"thread_id": 1.5},
           {"thread_id": True}, {"path": "a\0b"}, {"path": 7}, {"query": ""}, {"cursor": "x"}, {"cursor": -1}, {"timeout_s": "x", "cursor": 0},
           {"limit": 0}, {"depth": 99}, {"room": {}}, {"title": "t" * 100_000, "body": "b", "tag": "FYI"}]


def first_number(text: str) -> int:
    return int(next(word for word in text.split() if word.isdigit()))


def test_whoami_tells_who_and_where_and_what_each_tag_takes(served, tmp_path):
    async def story(talk):
        agent = await program(talk)
        await talk.does("update_room", id=1, paused=True, purpose="all of it")
        told = json.loads(await agent.says("whoami"))
        assert set(told) == {"agent_id", "name", "project", "project_folder", "rooms", "tags", "staying_in_touch"}
        assert (told["agent_id"], told["name"], told["project"], told["project_folder"]) == (2, "ann", "Shop", str((tmp_path / "project").resolve()))
        assert told["rooms"] == [{"room_id": 1, "name": "general", "purpose": "all of it", "paused": True}]
        assert all(set(tag) == {"tag", "label", "expects", "verdicts", "verdict_required", "expects_replies"} and tag["verdict_required"] is False for tag in told["tags"])
        assert len(told["tags"]) == 8 and (await agent.call("whoami"))["structuredContent"] == told
        assert set(told["staying_in_touch"]) == {"available", "why", "instead"} and told["staying_in_touch"]["available"] is False
        assert (await agent.call("whoami", strange=1))["structuredContent"]["errorCode"] == "council_invalid"
    served(story)


def test_threads_agents_and_finds_are_lists_of_rows(served):
    async def story(talk):
        ann = await program(talk)
        thread = (await talk.does("create_thread", room=1, title="A needle", body="@ann ?", tag="PERF"))["thread_id"]
        for name, arguments, keys in (("list_threads", {}, {"id", "title", "room_name", "in_progress", "cost_usd", "last_reply_at"}),
                                      ("list_agents", {"room": "#GENERAL"}, {"agent_id", "name", "is_you", "kind", "note", "active"}),
                                      ("search", {"query": "needle"}, {"kind", "ref_id", "room_id", "thread_id", "title", "excerpt"})):
            result = await ann.call(name, **arguments)
            rows = json.loads(result["content"][0]["text"])
            assert result["structuredContent"] == {"rows": rows} and keys <= set(rows[0]), name
        (row,) = json.loads(await ann.says("list_threads", status="OPEN", tag="PERF", sort="activity", limit=1, room=1))
        assert (row["id"], row["status"], row["reply_count"]) == (thread, "OPEN", 0)
        assert await ann.says("list_threads", status="resolved") == "[]"
    served(story)


def test_an_answered_act_begins_with_its_number_and_tells_rows_to_a_program(served):
    async def story(talk):
        ann, bob = await program(talk, "ann9"), await program(talk, "bob")
        for _ in range(3):
            await talk.does("create_thread", room=1, title="t", body="b", tag="FYI")
        call = {"title": "Is 7 safe?", "body": "@bob, is it?", "tag": "SECURITY_REVIEW", "client_ref": "job-1", "mentions": ["1"]}
        opened = await ann.call("create_thread", **call)
        thread = first_number(opened["content"][0]["text"])
        assert thread == 4 == opened["structuredContent"]["thread_id"] and "bob" in opened["content"][0]["text"] and "you" in opened["content"][0]["text"]
        again = await ann.call("create_thread", **call)
        assert first_number(again["content"][0]["text"]) == thread and again["structuredContent"]["opened"] is False
        assert "nobody" in await ann.says("create_thread", title="t", body="b", tag="FYI")
        said = await bob.call("reply", thread_id=str(thread), body="@everyone it is", verdict="refuted", severity="low", refs=[{"path": "a.py", "line": 3, "note": "here"}],
                              tokens_in=1, tokens_out=2, cost_usd=0.25)
        assert first_number(said["content"][0]["text"]) == said["structuredContent"]["message_id"] == 1 and "thread 4" in said["content"][0]["text"]
        assert said["structuredContent"]["rows"] == [{"thread_id": thread, "status": "OPEN", "record_digest": "", "client_ref": "job-1", "verdict_by": "bob", "verdict": "CLEARED"}]
        for who, name, arguments, words in ((bob, "edit_reply", {"message_id": "1", "body": "it is not", "verdict": "CONFIRMED"}, ["Message 1", "replaced"]),
                                            (bob, "claim_thread", {"thread_id": thread, "note": "looking"}, ["thread 4"]),
                                            (ann, "update_thread", {"thread_id": thread, "body": "b"}, ["thread 4", "replaced"]),
                                            (ann, "set_thread_status", {"thread_id": thread, "status": "BLOCKED"}, ["Thread 4", "BLOCKED"]),
                                            (ann, "resolve_thread", {"thread_id": thread, "summary": "no"}, ["RESOLVED", ".rivendell/threads/0004-is-7-safe.md"])):
            result = await who.call(name, **arguments)
            assert not result["isError"] and all(word in result["content"][0]["text"] for word in words), result
            assert result["structuredContent"]["rows"][0]["thread_id"] == thread
        assert re.fullmatch("sha256:[0-9a-f]{64}", result["structuredContent"]["record_digest"])
        found = await ann.call("get_thread", thread_id=thread)
        assert found["structuredContent"]["rows"][0] == {"thread_id": thread, "status": "RESOLVED", "record_digest": result["structuredContent"]["record_digest"],
                                                         "client_ref": "job-1", "verdict_by": "bob", "verdict": "CONFIRMED"}
        text = found["content"][0]["text"]
        assert all(each["structuredContent"]["text"] == each["content"][0]["text"] for each in (opened, said, result, found))     # some hosts show nothing else
        assert text.startswith("# Thread 4 — Is 7 safe?") and "message 1," in text and "## Resolution" in text and "optional" in text and "Asked: " in text
    served(story)


def test_a_record_that_cannot_be_written_is_told_with_the_act(served, tmp_path):
    async def story(talk):
        agent = await program(talk)
        await agent.says("create_thread", title="t", body="b", tag="FYI")
        (tmp_path / "project" / ".rivendell").write_text("no folder")
        text = await agent.says("resolve_thread", thread_id=1, summary="s")
        assert "RESOLVED" in text and "could not be written" in text
    served(story)


def test_files_and_differences_are_told_as_text(served, tmp_path):
    project = tmp_path / "project"
    (project / "src").mkdir()
    (project / "src" / "a.py").write_text("one\ntwo\nthree\n")
    (project / ".env").write_text("SECRET=1")

    async def story(talk):
        agent = await program(talk)
        assert await agent.says("read_file", path="src/a.py") == "src/a.py (lines 1-3 of 3)\n\none\ntwo\nthree"
        assert await agent.says("read_file", path="src/a.py", start_line=2, end_line=99) == "src/a.py (lines 2-3 of 3)\n\ntwo\nthree"
        assert await agent.says("list_files") == "src/\nsrc/a.py" and await agent.says("list_files", depth=1) == "src/"
        assert "structuredContent" not in await agent.call("list_files")
        for path in (".env", "../x", ".git/config", "/etc/passwd"):
            result = await agent.call("read_file", path=path)
            assert result["isError"] and result["content"][0]["text"].startswith("forbidden: ") and "SECRET" not in str(result)
        assert (await agent.call("git_diff"))["structuredContent"]["errorCode"] == "council_no_git"
        for words in (["init", "-q"], ["add", "src"], ["-c", "user.name=t", "-c", "user.email=t@example.test", "commit", "-qm", "c"]):
            subprocess.run(["git", "-C", str(project), *words], check=True, timeout=60)
        assert "no changes" in await agent.says("git_diff")
        (project / "src" / "a.py").write_text("one\ntwo\n")
        assert "-three" in await agent.says("git_diff")
        (project / "empty").mkdir()
        assert "nothing" in await agent.says("list_files", path="empty")
        log = [(row["act"], row["path"], row["allowed"]) for row in await talk.does("file_access")]
        assert ("read", ".env", False) in log and ("diff", "", True) in log and ("list", "empty", True) in log
    served(story)


def test_every_failure_of_a_tool_is_a_result_that_says_why(served):
    async def story(talk):
        agent = await program(talk)
        other = await program(talk, "bob")
        await talk.does("create_thread", room=1, title="t", body="b", tag="FYI")
        await talk.does("update_room", id=1, max_replies_per_agent=0)
        await other.says("create_thread", title="mine", body="b", tag="FYI")
        for name, arguments, words, code in (
                ("nope", {}, "not found: ", "council_not_found"), ("get_thread", {"thread_id": 99}, "not found: ", "council_not_found"),
                ("reply", {"thread_id": 1, "body": "b"}, "forbidden: ", "council_not_asked"), ("reply", {"thread_id": 1}, "invalid request: ", "council_invalid"),
                ("list_threads", {"status": "odd"}, "invalid request: ", "council_invalid"), ("search", {"query": " "}, "invalid request: ", "council_invalid")):
            result = await agent.call(name, **arguments)
            assert result["isError"] is True and result["content"][0]["text"].startswith(words) and result["structuredContent"] == {"errorCode": code, "text": result["content"][0]["text"]}, result
        result = await other.call("reply", thread_id=2, body="b")
        assert result["content"][0]["text"].startswith("limit reached: ") and "cap" in result["content"][0]["text"]
    served(story)


def test_no_argument_however_odd_is_answered_by_anything_but_a_result(served):
    async def story(talk):
        agent = await program(talk)
        await agent.says("create_thread", title="t", body="b", tag="FYI")
        batch = [{"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {"name": name, "arguments": odd}}
                 for number, (name, odd) in enumerate((tool["name"], odd) for tool in TOOLS if tool["name"] != "wait_for_updates" for odd in HOSTILE)]
        waits = [{"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {"name": "wait_for_updates", "arguments": odd}} for number, odd in enumerate(HOSTILE[1:18])
                 if not isinstance(odd, list)]
        for start in range(0, len(batch), 60):
            for told in (await agent.send(batch[start:start + 60])).json():
                text = told["result"]["content"][0]["text"]
                assert text.startswith(tuple(PREFIXES.values())) if told["result"]["isError"] else text, told
                assert "failed to answer" not in text, batch[told["id"]]
        assert (await agent.call("get_thread", thread_id=10**30))["structuredContent"]["errorCode"] == "council_invalid"
        assert (await agent.call("search", query="\ud800"))["structuredContent"]["errorCode"] == "council_invalid"
        for told in (await agent.send(waits)).json():
            assert told["result"]["isError"] and told["result"]["structuredContent"]["errorCode"] == "council_invalid", told
    served(story)


def test_a_bug_in_one_act_ends_that_call_alone_and_shows_nothing_of_itself(served, capsys):
    async def story(talk):
        agent = await program(talk)

        def broken(actor, arguments):
            raise RuntimeError("a secret of the house")

        talk.council.forum._acts["list_agents"] = broken
        answer = await agent.send({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "list_agents"}})
        assert answer.status == 200 and answer.json()["result"]["isError"] and b"secret" not in answer.body
        assert await agent.says("list_threads") == "[]"
    served(story)
    assert "a secret of the house" in capsys.readouterr().err


# --- being woken -------------------------------------------------------------------------


def asked_of(tmp_path, told: dict, status: int = 0) -> list[str]:
    return [sys.executable, "-c", WATCHER.format(told=told, status=status), str(tmp_path / "asked")]


def test_a_watcher_that_can_wait_on_the_socket_is_told_as_an_absolute_command_and_asked_once(tmp_path):
    argv = asked_of(tmp_path, {"ws": True, "once": True})

    async def story():
        those = Staying(argv)
        return await asyncio.gather(*(those.in_touch() for _ in range(5)), those.in_touch())

    first, *others = asyncio.run(story())
    assert all(each == first for each in others) and (tmp_path / "asked").read_text() == "asked\n"
    assert set(first) == {"available", "command", "needs", "how", "after_it_reports", "if_it_fails"} and first["available"] is True
    assert first["command"] == shell_line([*argv, "--ws", "--once"]) and first["command"].startswith(("/", "'/", '"', sys.executable[:2]))
    assert "RIVENDELL_KEY" in first["needs"] and "background" in first["how"]


@pytest.mark.parametrize("argv", [None, ["/no/such/program"], [sys.executable, "-c", "print('[]')"], [sys.executable, "-c", "print('{')"], [sys.executable, "-c", "print('[' * 4000)"]])
def test_where_no_watcher_answers_the_reason_is_told_and_what_to_do_instead(argv):
    told = asyncio.run(Staying(argv).in_touch())
    assert told["available"] is False and told["why"] and "wait_for_updates" in told["instead"]


@pytest.mark.parametrize(("told", "status"), [({"ws": False, "once": True}, 0), ({"ws": True}, 0), ({"ws": 1, "once": True}, 0), ({"ws": True, "once": True}, 1)])
def test_a_watcher_that_cannot_is_not_recommended(tmp_path, told, status):
    assert not staying.can_wait(asked_of(tmp_path, told, status))


def test_the_watcher_is_this_same_program_by_absolute_paths():
    argv = watcher_argv()
    assert argv is not None and argv[0] == sys.executable and argv[-1] == "watch"
    done = subprocess.run([*argv[:-1], "version"], capture_output=True, timeout=60, cwd="/")
    assert done.returncode == 0 and b"rulith" in done.stdout.lower()
