"""Real processes: pipes, signals, files and sockets.

Duty: `rulith board` is persistent with --db, refuses a second process on one file by name,
survives kill -9 and leaves no process behind.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import sqlite3
import subprocess
import sys
import urllib.error
import urllib.request

import pytest

from tests.board_server.conftest import ENVELOPE, INVOICE, ROOT, WAIT_S

GONE_S = 20.0                # what should not be waited for takes longer, on a busy machine too
NODES = [{"op": "assert_fact", "predicate": "e", "args": {"a": n}} for n in range(300)]


def slow(number):
    """Rules that join all with all and conclude nothing: 4,000,000 steps of the budget's 5,000,000, and others for each `number`."""
    pair = [{"predicate": "e", "args": {"a": "?x"}}, {"predicate": "e", "args": {"a": "?y"}}]
    return [{"op": "add_axiom", "when": [*pair, {"predicate": "lt", "args": {"left": "?y", "right": -1 - number * 45 - each}}],
             "then": [{"predicate": "q", "args": {"a": "?x"}}]} for each in range(45)]


def fact(n):
    return {"op": "assert_fact", "id": f"F{n}", "predicate": "p", "args": {"n": n}}


# --- stdio ---------------------------------------------------------------------------------


def test_the_end_of_stdin_is_the_end(start):
    process = start()
    assert process.call("list_spaces")["content"][0]["text"] == "no spaces"
    assert process.end() == 0


CLIENT = """import subprocess, sys
process = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
process.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\\n')
process.stdin.flush()
process.stdout.readline()   # it is up: how long a loaded machine takes to start it is not asked here
print(process.pid, flush=True)
process.wait()
"""


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="only Linux tells when a process that is no child of ours ends")
def test_a_client_that_is_killed_leaves_no_process_behind():
    """Kill -9 gives the client no chance to say goodbye; the pipe's end says it."""
    client = subprocess.Popen([sys.executable, "-c", CLIENT, sys.executable, "-m", "rulith", "board"], cwd=ROOT, stdout=subprocess.PIPE)
    try:
        server = os.pidfd_open(int(client.stdout.readline()))
    finally:
        client.kill()
        client.wait(WAIT_S)
        client.stdout.close()
    try:
        assert select.select([server], [], [], GONE_S)[0], "the server outlives its client"
    finally:
        os.close(server)


def test_it_ends_in_time_though_a_board_is_still_computing(start):
    process = start()
    process.call("update_working_memory", operations=NODES)
    for number in range(100):                               # half a minute of work on a quiet machine
        process.write("tools/call", {"name": "update_working_memory", "arguments": {"operations": slow(number)}, "_meta": ENVELOPE})
    process.send("ping")
    while "content" in process.read()["result"]:
        pass                                                # the ping was answered: all of it was read, and most of it waits
    process.popen.stdin.close()
    assert process.popen.wait(GONE_S) == 0


def test_it_ends_though_its_answers_are_not_read(start):
    """They fill the pipe many times over."""
    process = start()
    for _ in range(100):
        process.write("tools/list")
    process.popen.stdin.close()
    assert process.popen.wait(GONE_S) == 0


def test_a_client_that_reads_nothing_is_not_read_for_ever(start):
    process = start()
    pipe = process.popen.stdin.fileno()
    os.set_blocking(pipe, False)
    written = 0
    while select.select([], [pipe], [], 3.0)[1]:
        written += os.write(pipe, b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n' * 400)
        assert written < 4 * 2**20, "what it answers lies in memory"
    process.popen.stdout.close()
    process.popen.stdin.close()
    assert process.popen.wait(GONE_S) == 0


@pytest.mark.skipif(sys.platform != "linux", reason="it makes the pipe small")
def test_pipes_that_do_not_wait_are_waited_for():
    """A host may hand over ends that answer "try again"."""
    import fcntl                                                # no Windows has it

    (stdin, ours), (theirs, stdout) = os.pipe(), os.pipe()
    os.set_blocking(stdin, False)
    os.set_blocking(stdout, False)
    fcntl.fcntl(stdout, fcntl.F_SETPIPE_SZ, 4096)               # an answer is longer
    process = subprocess.Popen([sys.executable, "-m", "rulith", "board"], cwd=ROOT, stdin=stdin, stdout=stdout)
    os.close(stdin)
    os.close(stdout)
    try:
        with open(theirs, "rb") as answers, open(ours, "wb") as asks:
            for number in range(2):
                asks.write(b'{"jsonrpc":"2.0","id":%d,"method":"tools/list"}\n' % number)
                asks.flush()
                assert json.loads(answers.readline())["id"] == number
            asks.close()
            assert process.wait(GONE_S) == 0
    finally:
        process.kill()
        process.wait(WAIT_S)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="POSIX descriptors")
@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_what_it_opens_takes_the_place_of_no_closed_stream(tmp_path, closed):
    words = [sys.executable, "-m", "rulith", "board", "--db", str(tmp_path / "b.db")]
    found = subprocess.run(["sh", "-c", f'exec "$@" {closed}', "sh", *words], cwd=ROOT, input=b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n', capture_output=True, timeout=WAIT_S)
    assert (found.returncode, found.stderr) == (0, b"")
    with sqlite3.connect(tmp_path / "b.db") as ledger:
        assert ledger.execute("pragma integrity_check").fetchall() == [("ok",)]


def test_a_ping_does_not_wait_for_a_board(start):
    process = start()
    process.call("update_working_memory", operations=NODES)
    *calls, ping = process.send_together(*(("tools/call", {"name": "update_working_memory", "arguments": {"operations": slow(number)}, "_meta": ENVELOPE})
                                           for number in range(4)), ("ping", {}))
    answered = [process.read()["id"] for _ in range(5)]
    assert [each for each in answered if each != ping] == calls and answered[-1] != ping


def test_a_cancelled_call_is_not_answered_and_one_that_waits_is_not_run(start):
    process = start()
    process.call("update_working_memory", operations=NODES)
    numbers = [process.write("tools/call", {"name": "update_working_memory", "arguments": {"operations": work}, "_meta": ENVELOPE})
               for work in (slow(0)[:10], [fact(1)])]       # all in one write: a busy machine can not come between call and cancellation
    for number in numbers:
        process.popen.stdin.write(json.dumps({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}}).encode() + b"\n")
    last = process.ask("get_logic_context", format="json")
    answer = process.read()
    assert answer["id"] == last and answer["result"]["structuredContent"]["stats"]["facts"] == len(NODES)


def test_nothing_but_protocol_leaves_through_stdout(start):
    process = start()
    process.popen.stdin.write(b"\n{\n\xff\n[]\n")
    process.send("nonsense")
    codes = [process.read()["error"]["code"] for _ in range(4)]
    assert codes == [-32700, -32700, -32600, -32601]
    assert process.end() == 0 and process.popen.stdout.read() == b"" and process.popen.stderr.read() == b""


def test_a_listen_stream_is_acknowledged_and_ends_with_the_process(start):
    process = start()
    number = process.send("subscriptions/listen", {"notifications": {"toolsListChanged": True}, "_meta": ENVELOPE})
    assert process.read()["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"] == number
    assert process.end() == 0
    assert json.loads(process.popen.stdout.readline())["id"] == number


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_ends_it(start, number, status):
    process = start()
    process.call("list_spaces")
    process.popen.send_signal(number)
    assert process.popen.wait(WAIT_S) == status


# --- the file ------------------------------------------------------------------------------


def test_what_was_answered_survives_kill_9(start, tmp_path):
    db = str(tmp_path / "board.db")
    told = -1
    for _ in range(3):
        process = start("--db", db)
        for _ in range(7):
            told += 1
            assert not process.call("update_working_memory", operations=[fact(told)])["isError"]
        process.ask("update_working_memory", operations=[fact(f"lost{told}")])      # may or may not be kept
        process.popen.kill()
        process.popen.wait(WAIT_S)
    process = start("--db", db)
    found = process.call("get_logic_context", format="json")["structuredContent"]["facts"]
    assert {f"F{n}" for n in range(told + 1)} <= {row["nodeId"] for row in found}


def test_a_second_process_on_one_file_is_refused_by_name(start, tmp_path):
    db = str(tmp_path / "board.db")
    first = start("--db", db)
    first.call("update_working_memory", operations=INVOICE)
    second = start("--db", db)
    assert second.popen.wait(WAIT_S) == 1
    told = second.popen.stderr.read().decode()
    assert db in told and str(first.popen.pid) in told
    assert first.call("get_logic_context")["isError"] is False
    assert first.end() == 0
    assert "grand(value=10093)" in start("--db", db).call("get_logic_context")["content"][0]["text"]


def test_the_file_may_be_named_by_the_environment(start, tmp_path):
    db = str(tmp_path / "board.db")
    process = start(env={"RULITH_DB": db})
    process.call("update_working_memory", operations=INVOICE)
    assert process.end() == 0 and os.path.exists(db)


def test_a_file_that_is_none_of_ours_is_refused_with_its_reason(start, tmp_path):
    other = tmp_path / "notes.txt"
    other.write_text("not a ledger\n" * 100)
    process = start("--db", str(other))
    assert process.popen.wait(WAIT_S) == 1 and str(other).encode() in process.popen.stderr.read()
    assert other.read_text().startswith("not a ledger")


def test_a_file_that_leads_elsewhere_is_told_with_every_call(start, tmp_path):
    db = str(tmp_path / "board.db")
    process = start("--db", db)
    for n in range(3):
        process.call("update_working_memory", operations=[fact(n)])
    assert process.end() == 0
    with sqlite3.connect(db) as file:       # somebody with a tool of their own; the ledger itself never changes a row
        for (trigger,) in file.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            file.execute(f"DROP TRIGGER {trigger}")
        file.execute("UPDATE row SET body = replace(body, '\"n\":1', '\"n\":7')")
    file.close()
    again = start("--db", db)
    for _ in range(2):
        result = again.call("get_logic_context")
        assert result["isError"] and result["structuredContent"]["errorCode"] in ("ledger_broken", "board_fold_differs")
    assert again.end() == 0 and db.encode() in again.popen.stderr.read()


def test_a_limit_that_is_no_number_is_refused_by_name(start):
    process = start(env={"RULITH_MAX_FACTS": "many"})
    assert process.popen.wait(WAIT_S) == 2 and b"RULITH_MAX_FACTS" in process.popen.stderr.read()


# --- words ---------------------------------------------------------------------------------


@pytest.mark.parametrize("words", [["--db"], ["--http"], ["--http", "x"], ["--http", "70000"], ["--port", "1"], ["serve"], ["run"],
                                   ["--json"], ["run", "x", "--db", "y"]])
def test_wrong_words_are_told_before_a_file_is_touched(start, words):
    process = start(*words)
    assert process.popen.wait(WAIT_S) == 2 and process.popen.stderr.read().count(b"\n") == 1


# --- HTTP ----------------------------------------------------------------------------------


def post(url, body, **headers):
    """(status, headers, body) of one POST."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    found = {"content-type": "application/json", "accept": "application/json, text/event-stream", **{k.replace("_", "-"): v for k, v in headers.items()}}
    request = urllib.request.Request(url, data, {name: value for name, value in found.items() if value is not None}, method=headers.pop("method", "POST"))
    try:
        with urllib.request.urlopen(request, timeout=WAIT_S) as answer:
            return answer.status, answer.headers, answer.read()
    except urllib.error.HTTPError as refused:
        return refused.code, refused.headers, refused.read()


def message(method, params=None, id=1):
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": params or {}}


OPEN = message("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}})


def test_a_session_is_opened_used_and_ended(http):
    status, headers, body = post(http, OPEN)
    session = headers["mcp-session-id"]
    assert status == 200 and json.loads(body)["result"]["protocolVersion"] == "2025-06-18"
    assert post(http, {"jsonrpc": "2.0", "method": "notifications/initialized"}, mcp_session_id=session)[0] == 202
    status, _, body = post(http, message("tools/list"), mcp_session_id=session)         # no protocol header, as some clients do
    assert status == 200 and len(json.loads(body)["result"]["tools"]) == 17
    assert post(http, message("tools/list"), mcp_session_id=session, mcp_protocol_version="2025-06-18")[0] == 200
    assert post(http, message("tools/list"))[0] == 400
    assert post(http, message("tools/list"), mcp_session_id="other")[0] == 404
    status, _, body = post(http, message("tools/list"), mcp_session_id=session, mcp_protocol_version="2024-11-05")
    assert status == 400 and json.loads(body)["error"]["code"] == -32022
    request = urllib.request.Request(http, headers={"mcp-session-id": session}, method="DELETE")
    assert urllib.request.urlopen(request, timeout=WAIT_S).status == 204
    assert post(http, message("tools/list"), mcp_session_id=session)[0] == 404


def test_every_session_sees_the_same_boards(http):
    sessions = [post(http, OPEN)[1]["mcp-session-id"] for _ in range(2)]
    call = message("tools/call", {"name": "update_working_memory", "arguments": {"operations": INVOICE}})
    assert post(http, call, mcp_session_id=sessions[0])[0] == 200
    body = post(http, message("tools/call", {"name": "get_logic_context", "arguments": {}}), mcp_session_id=sessions[1])[2]
    assert "grand(value=10093)" in json.loads(body)["result"]["content"][0]["text"]


STATELESS = {"mcp_protocol_version": "2026-07-28", "mcp_method": "tools/call", "mcp_name": "list_spaces"}


def test_a_stateless_call_needs_no_session_and_its_errors_have_their_status(http):
    call = message("tools/call", {"name": "list_spaces", "arguments": {}, "_meta": ENVELOPE})
    status, headers, body = post(http, call, **STATELESS)
    assert status == 200 and "mcp-session-id" not in headers and json.loads(body)["result"]["resultType"] == "complete"
    assert post(http, call, **{**STATELESS, "mcp_name": "solve"})[0] == 400
    assert post(http, message("prompts/list", {"_meta": ENVELOPE}), mcp_protocol_version="2026-07-28", mcp_method="prompts/list")[0] == 404


def test_an_answer_is_a_stream_where_nothing_else_is_taken(http):
    call = message("tools/call", {"name": "list_spaces", "arguments": {}, "_meta": ENVELOPE})
    status, headers, body = post(http, call, **STATELESS, accept="text/event-stream")
    assert status == 200 and headers["content-type"] == "text/event-stream"
    assert body.startswith(b"event: message\ndata: {") and body.endswith(b"\n\n")


def test_a_listen_stream_stays_open_until_the_server_goes(http):
    host, port = http.removeprefix("http://").removesuffix("/mcp").split(":")
    body = json.dumps(message("subscriptions/listen", {"notifications": {}, "_meta": ENVELOPE})).encode()
    with socket.create_connection((host, int(port)), timeout=WAIT_S) as link:
        link.sendall(b"POST /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\naccept: text/event-stream\r\n"
                     b"mcp-protocol-version: 2026-07-28\r\nmcp-method: subscriptions/listen\r\ncontent-length: %d\r\n\r\n" % len(body) + body)
        seen = b""
        while b"acknowledged" not in seen:
            seen += link.recv(4096)
        link.settimeout(0.3)
        with pytest.raises(TimeoutError):
            link.recv(4096)


REFUSED = [
    ({"origin": "http://evil.example"}, 403), ({"origin": "null"}, 403), ({"host": "evil.example"}, 421), ({"content-type": "text/plain"}, 415),
    ({"accept": "text/html"}, 406), ({"accept": "application/json;q=0"}, 406),
]


@pytest.mark.parametrize(("headers", "status"), REFUSED)
def test_strangers_and_browsers_are_refused_before_their_body_is_read(http, headers, status):
    found = post(http, OPEN, **headers)
    assert found[0] == status and "mcp-session-id" not in found[1]


@pytest.mark.parametrize("headers", [{"origin": "http://localhost:3000"}, {"accept": None}, {"accept": "*/*"}, {"host": "localhost:1"}])
def test_programs_of_this_machine_are_served(http, headers):
    assert post(http, OPEN, **headers)[0] == 200


def test_other_methods_and_addresses_are_answered_at_once(http):
    for path, method, status in (("", "GET", 405), ("", "PUT", 405), ("/../.well-known/oauth-authorization-server", "GET", 404)):
        url = http + path if path == "" else http.removesuffix("/mcp") + "/.well-known/oauth-protected-resource"
        with pytest.raises(urllib.error.HTTPError) as caught:
            urllib.request.urlopen(urllib.request.Request(url, method=method), timeout=WAIT_S)
        assert caught.value.code == status


def test_a_number_without_an_exact_place_refuses_the_call_it_came_in(http):
    session = post(http, OPEN)[1]["mcp-session-id"]
    body = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"update_working_memory","arguments":{"operations":[{"op":"assert_fact","predicate":"p","args":{"n":9007199254740993}}]}}}'
    status, _, answer = post(http, body, mcp_session_id=session)
    result = json.loads(answer)["result"]
    assert status == 200 and result["isError"] and result["structuredContent"]["errorCode"] == "number_out_of_range"


def test_bad_bodies_are_answered(http):
    assert post(http, b"{")[0] == 400 and post(http, [OPEN])[0] == 400 and post(http, b"\xff")[0] == 400
    assert post(http, {"jsonrpc": "2.0", "id": 1, "result": {}})[0] == 202


def test_a_port_in_use_is_told(http, start):
    port = http.removesuffix("/mcp").rpartition(":")[2]
    process = start("--http", port)
    assert process.popen.wait(WAIT_S) == 1 and port.encode() in process.popen.stderr.read()
