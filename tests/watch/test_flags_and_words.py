"""Flags, environment, what a command is told, and how an answer is judged. Duty: the council surface, "Watcher", "Errors"."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rulith.base.errors import Refused
from rulith.base.limits import INTEGER_MAX, WATCH_PENDING_MAX
from rulith.watching.settings import read_settings
from rulith.watching.starts import keep_starts, read_starts
from rulith.watching.worklist import environment, filled, happened, moved
from rulith.wire.council_client import judge, socket_url, tool_call

KEY = {"RIVENDELL_KEY": "rvd_abcdefghijkm_secret"}


def refusal(call, *args, **named) -> Refused:
    with pytest.raises(Refused) as caught:
        call(*args, **named)
    return caught.value


# --- flags --------------------------------------------------------------------------------


def test_the_defaults_are_those_of_the_surface():
    found = read_settings([], KEY)
    assert (found.url, found.wait_s, found.settle_s, found.limit_s, found.ceiling) == ("http://127.0.0.1:8787/mcp", 900, 2.0, 1200.0, 40)
    assert not (found.report or found.ws or found.once or found.command or found.starts) and found.run_key == found.key == KEY["RIVENDELL_KEY"]


def test_flags_come_before_the_command_and_win_over_the_environment():
    env = {**KEY, "RIVENDELL_URL": "http://127.0.0.1:1/mcp", "RIVENDELL_RUN_KEY": "rvdlive_other"}
    found = read_settings(["--key", "k2", "--url=http://localhost:2/mcp", "--wait", "7", "--settle=0.5", "--limit", "1.5", "--ceiling", "0", "--starts", "f",
                           "--report", "--ws", "--once", "--", "cmd", "--key", "{prompt}"], env)
    assert (found.key, found.run_key, found.url, found.wait_s, found.settle_s, found.limit_s, found.ceiling) == ("k2", "rvdlive_other", "http://localhost:2/mcp", 7, 0.5, 1.5, 0)
    assert found.report and found.ws and found.once and str(found.starts) == "f" and found.command == ("cmd", "--key", "{prompt}")
    assert "k2" not in repr(found) and "rvdlive" not in repr(found)


def test_capabilities_need_no_key():
    assert read_settings(["--capabilities"], {}) is None


@pytest.mark.parametrize("argv, code", [
    (["--nosuch"], "option_unknown"), (["--once=yes"], "option_unknown"), (["--key"], "option_value"), (["--wait", "--", "x"], "option_value"),
    (["cmd"], "option_usage"), (["-x"], "option_usage"), (["--"], "option_usage"), (["--", " "], "option_usage"), (["--wait", "0"], "option_usage"),
    (["--wait", "1.5"], "option_usage"), (["--wait", "3601"], "option_usage"), (["--limit", "0"], "option_usage"), (["--limit", "1e9"], "option_usage"),
    (["--settle", "-1"], "option_usage"), (["--ceiling", "٣"], "option_usage"), (["--ceiling", "nan"], "option_usage"), (["--wait", ""], "option_usage"),
    (["--key", "two words"], "watch_key_form"), (["--key", "k\r\nx: y"], "watch_key_form"), (["--key", "schlüssel"], "watch_key_form"),
    (["--url", "ftp://x/mcp"], "watch_url"), (["--url", "http://example.com/mcp"], "watch_url"), (["--url", "http://127.0.0.1:x/mcp"], "watch_url"),
    (["--url", "http://me:secret@127.0.0.1/mcp"], "watch_url"), (["--url", "http:///mcp"], "watch_url"), (["--url", "http://127.0.0.1/mcp?k=1"], "watch_url"),
])
def test_what_does_not_fit_is_refused_by_name_without_a_secret(argv, code):
    told = refusal(read_settings, argv, KEY)
    assert told.code == code and "secret" not in told.teaching and "two words" not in told.teaching


def test_a_key_is_needed_and_https_may_leave_this_machine():
    assert refusal(read_settings, [], {"RIVENDELL_KEY": "  "}).code == "watch_key_missing"
    assert refusal(read_settings, [], {**KEY, "RIVENDELL_RUN_KEY": "a b"}).code == "watch_key_form"
    assert read_settings(["--url", "https://council.example/mcp"], KEY).url == "https://council.example/mcp"


@pytest.mark.parametrize("url, socket", [("http://127.0.0.1:8787/mcp", "ws://127.0.0.1:8787/ws"), ("https://c.example/a/mcp/", "wss://c.example/a/ws"),
                                         ("http://[::1]:9", "ws://[::1]:9/ws")])
def test_the_sockets_address_is_derived(url, socket):
    assert socket_url(url) == socket


# --- the work list ------------------------------------------------------------------------


def event(thread: object, kind: object, actor: object) -> dict:
    return {"thread_id": thread, "kind": kind, "actor_agent_id": actor}


def test_needs_you_is_the_work_list_and_an_empty_one_means_nothing_to_do():
    rows = [event(1, "message.created", 9)]
    assert moved({"needs_you": [3, 1, 3], "events": rows}, 5).threads == (3, 1)
    assert moved({"needs_you": [3, 1], "events": rows}, 5).kinds == ((1, "message.created"),)
    assert moved({"needs_you": [], "events": rows}, 5).threads == ()


def test_without_needs_you_own_and_bookkeeping_events_are_ignored():
    rows = [event(4, "message.created", 5), event(2, "thread.claimed", 9), event(2, "agent.joined", 9), event(8, "thread.status", None), event(3, "message.edited", 9),
            event(8, "thread.created", 9), event(None, "project.updated", 9), event("7", "message.created", 9)]
    assert moved({"events": rows}, 5).threads == (8, 3)
    assert moved({"events": rows}, None).threads == (4, 8, 3)


JSON = st.recursive(st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8), lambda below: st.lists(below, max_size=4)
                    | st.dictionaries(st.sampled_from(["needs_you", "events", "thread_id", "kind", "actor_agent_id", "x"]), below, max_size=5), max_leaves=30)


@given(st.dictionaries(st.sampled_from(["needs_you", "events", "next_cursor"]), JSON, max_size=3))
@settings(max_examples=200, deadline=None)
def test_whatever_a_council_says_only_whole_numbers_become_threads(answer):
    found = moved(answer, 5)
    assert len(found.threads) <= WATCH_PENDING_MAX and all(type(each) is int and 0 <= each <= INTEGER_MAX for each in found.threads)
    assert all(thread in found.threads and kind.isascii() for thread, kind in found.kinds)


# --- what a command is told ---------------------------------------------------------------


def test_templates_are_filled_in_every_argument_and_once():
    words = filled(["{threads}", "see {list}: {prompt}", "{mcp_config} {THREADS}", "{{threads}}", ""], (1, 2))
    assert words[0] == "1,2" and words[2:] == ["{mcp_config} {THREADS}", "{1,2}", ""]
    assert words[1].startswith("see #1, #2: ") and "#1, #2" in words[1][12:] and "get_thread" in words[1] and "stop" in words[1]


def test_a_command_gets_the_key_that_is_meant_for_it():
    found = environment({"PATH": "/bin", "RIVENDELL_KEY": "mine", "RIVENDELL_RUN_KEY": "its", "RIVENDELL_AGENT": "3", "RULITH_LOCAL_EVENTS": "stdio"},
                        url="http://u/mcp", key="its", threads=(4, 9))
    assert found == {"PATH": "/bin", "RIVENDELL_AGENT": "3", "RIVENDELL_KEY": "its", "RIVENDELL_URL": "http://u/mcp", "RIVENDELL_THREADS": "4,9"}


def test_what_happened_is_told_by_thread():
    text = happened((4, 9), [(4, "message.created"), (4, "thread.mentioned")])
    assert "Threads needing you: #4, #9" in text and "#4  message.created, thread.mentioned" in text and "#9  waiting" in text


# --- how an answer is judged --------------------------------------------------------------


def answer(result: dict, id: int = 1) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": id, "result": result}).encode()


def test_a_tools_object_is_read_from_its_structure_or_its_text_or_a_stream():
    assert json.loads(tool_call(1, "whoami", {})) == {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "whoami", "arguments": {}}}
    text = {"content": [{"type": "text", "text": '{"a": 1}'}]}
    assert judge(200, "application/json; charset=utf-8", answer(text), 1) == {"a": 1}
    assert judge(200, "application/json", answer({**text, "structuredContent": {"b": 2}}), 1) == {"b": 2}
    stream = b'data: {"jsonrpc":"2.0","method":"notifications/progress","params":{}}\n\n' + b"data: " + answer(text) + b"\n\n"
    assert judge(200, "text/event-stream", stream, 1) == {"a": 1}


@pytest.mark.parametrize("status, kind, body, code", [
    (401, "application/json", b"{}", "watch_key_refused"), (500, "text/plain", b"", "watch_answer"), (200, "text/html", b"<html>", "watch_answer"),
    (200, "", b"", "watch_answer"), (200, "application/json", b"{", "watch_answer"), (200, "application/json", b"[]", "watch_answer"),
    (200, "application/json", answer({}, 2), "watch_answer"), (200, "application/json", answer({}), "watch_answer"),
    (200, "application/json", answer({"content": [{"text": "[1]"}]}), "watch_answer"), (200, "application/json", answer({"content": [{"text": "x"}]}), "watch_answer"),
    (200, "application/json", answer({"isError": True, "content": [{"text": "forbidden: This agent was revoked."}]}), "watch_said"),
    (200, "application/json", json.dumps({"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "no"}}).encode(), "watch_said"),
    (200, "text/event-stream", b"data: x\n\n", "watch_answer"), (200, "text/event-stream", b"", "watch_answer"),
])
def test_each_other_answer_is_a_refusal_and_a_refused_key_one_of_its_own(status, kind, body, code):
    assert refusal(judge, status, kind, body, 1).code == code


BODIES = st.binary(max_size=60) | st.builds(lambda value: json.dumps({"jsonrpc": "2.0", "id": 1, "result": value}).encode(), JSON | st.fixed_dictionaries(
    {}, optional={"content": JSON | st.lists(st.fixed_dictionaries({"text": st.text(max_size=9)}), max_size=2), "structuredContent": JSON, "isError": st.booleans() | JSON}))


@given(st.sampled_from([200, 200, 200, 202, 301, 401, 503]), st.sampled_from(["application/json", "text/event-stream", "TEXT/EVENT-STREAM; x", "", "text/html"]), BODIES, st.booleans())
@settings(max_examples=300, deadline=None)
def test_whatever_comes_is_an_object_or_a_refusal(status, kind, body, as_event):
    try:
        found = judge(status, kind, b"data: " + body + b"\n\n" if as_event else body, 1)
    except Refused as refusal:
        assert refusal.code in ("watch_key_refused", "watch_said", "watch_answer") and (refusal.code == "watch_key_refused") == (status == 401)
    else:
        assert isinstance(found, dict) and status == 200


# --- the kept starts ----------------------------------------------------------------------


def test_kept_starts_come_back_and_a_file_that_cannot_be_read_is_no_permission(tmp_path):
    place = tmp_path / "starts.json"
    assert read_starts(place) == ()
    keep_starts(place, (1.5, 2.0))
    assert read_starts(place) == (1.5, 2.0)
    for content in (b"", b"[]", b'{"starts": 1}', b'{"starts": ["x"]}', b'{"starts": [true]}', b'{"starts": [1e999]}', b"\xff", b"[" * 100_000):
        place.write_bytes(content)
        assert refusal(read_starts, place).code == "watch_starts_unusable"
    assert refusal(keep_starts, tmp_path / "none" / "starts.json", (1.0,)).code == "write_failed"
