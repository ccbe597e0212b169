"""The rows of the Agent surface, one test each, over real HTTP; every request also one byte at a time.

Which test holds which row is listed in surface_rows.json, together with those of other files.

Source  the MCP surface, §§1-8, 12.
"""

from __future__ import annotations

import asyncio
import json

import pytest

from rulith import VERSION
from rulith.wire.mcp_streams import STREAMS_KEPT_MAX
from rulith.wire.results import validate_result

REQUIRED = {"package": "rulith", "version": VERSION, "install": f"rulith.pyz {VERSION}"}
NO_ARTIFACT = {"ref": "art_" + "0" * 32}
FACT = {"operations": [{"op": "assert_fact", "predicate": "p", "args": {"n": 1}}]}


@pytest.fixture(params=[False, True], ids=["whole", "byte by byte"])
def drip(request) -> bool:
    return request.param


@pytest.fixture
def tell(play, drip):
    """Run a story(world, host) with a host that has shaken hands."""

    def run(story, **settings):
        async def whole(world):
            host = world.host(drip=drip)
            await host.initialize()
            await story(world, host)
        play(whole, **settings)

    return run


async def held(world, host, kit):
    """A call that a Worker has claimed and the gateway has stopped holding: (worker, row, root)."""
    worker = world.worker()
    await worker.poll()
    case = await world.open_case(host)
    answer = await host.call("ApplyAction", kit.action_call("read_input", case["root"]))
    assert answer["state"] == "running"
    row = (await worker.rows_until())[0]
    assert (await worker.claim(row))["accepted"]
    return worker, row, case["root"]


async def settle(worker, row, kit):
    assert (await worker.report(row, ok=True, result="", facts=kit.facts_for(row["tool"])))["accepted"]


def initialize(date="2025-11-25", experimental=None) -> dict:
    return {"jsonrpc": "2.0", "id": "open", "method": "initialize", "params": {
        "protocolVersion": date, "capabilities": {"experimental": experimental or {}}, "clientInfo": {"name": "x", "version": "1"}}}


V3 = {"rulith/v3": {"heldCalls": 1}}


# --- §1 transport and identity


def test_there_is_one_path_and_every_other_is_404_at_once(play, kit):
    async def story(world):
        for path in ("/.well-known/oauth-nothing", "/.well-known/mcp.json", "/mcp/more", "/sse", "/messages"):
            for method in ("GET", "POST"):
                assert (await kit.http(world.port, method, path, {}, b"" if method == "POST" else None)).status in (404, 405)

    play(story)


def test_post_get_and_delete_are_the_methods(tell, kit):
    async def story(world, host):
        for method in ("PUT", "PATCH", "OPTIONS", "HEAD"):
            answer = await kit.http(world.port, method, "/mcp", host.headers())
            assert answer.status == 405 and answer.headers["allow"] == "GET, POST, DELETE"

    tell(story)


def test_a_token_in_a_url_is_none(tell, kit):
    async def story(world, host):
        for query in (f"?access_token={world.token}", f"?token={world.token}"):
            assert (await kit.http(world.port, "POST", "/mcp" + query, {"content-type": "application/json"}, b"{}")).status == 401

    tell(story)


def test_the_session_id_is_on_every_answer_and_in_no_body(tell):
    async def story(world, host):
        noted = await host.post({"jsonrpc": "2.0", "method": "notifications/roots/list_changed"})
        streamed = await host.post(host.asking("OpenCase", {"caseType": "exploration"}, id="s"))
        refused = (await host.rpc("no/method"), await host.call_raw("NoTool", {}), await host.resume("9.9"))
        for answer in (await host.rpc("ping"), await host.rpc("tools/list"), await host.call_raw("QueryBoard", {}), noted, streamed, *refused):
            assert answer.headers["mcp-session-id"] == host.session and host.session.encode() not in answer.body

    tell(story)


def test_an_unknown_session_is_404_and_a_missing_one_400(tell):
    async def story(world, host):
        for session, status, code in ((None, 400, -32000), ("mcps_never", 404, -32001)):
            host.session = session
            answer = await host.rpc("ping", id="u")
            assert answer.status == status and answer.json()["id"] == "u" and answer.json()["error"]["code"] == code

    tell(story)


def test_an_equal_body_under_another_session_is_a_new_call(tell):
    async def story(world, host):
        first = await host.call_raw("OpenCase", {"caseType": "exploration"}, id="same")
        await host.initialize()
        await host.call("QueryBoard")
        second = await host.call_raw("OpenCase", {"caseType": "exploration"}, id="same")
        assert first.json()["id"] == second.json()["id"] and first.json() != second.json()
        assert len(await host.ping()) == 2

    tell(story)


def test_an_answer_is_json_or_a_stream_as_the_client_can_read(tell):
    async def story(world, host):
        asked = host.asking("OpenCase", {"caseType": "exploration"}, id="a")
        assert (await host.post(asked)).headers["content-type"].startswith("text/event-stream")
        only_json = await host.post({**asked, "id": "b"}, accept="application/json")
        assert only_json.headers["content-type"] == "application/json"
        no_token = await host.call_raw("OpenCase", {"caseType": "exploration"})
        assert no_token.headers["content-type"] == "application/json"

    tell(story)


def test_a_body_over_the_limit_is_refused_before_it_is_read(tell):
    async def story(world, host):
        host.drip = False
        answer = await host.post(b"[" * (1024 * 1024 + 1))
        assert answer.status == 413 and await host.ping() == []

    tell(story)


# --- §1.1 handshake


def test_the_handshake_declares_held_calls_and_nothing_more(tell):
    async def story(world, host):
        result = (await host.post(initialize(experimental=V3))).json()["result"]
        assert result["capabilities"] == {"tools": {}, "experimental": V3} and result["protocolVersion"] == "2025-11-25"
        assert set(result["serverInfo"]) >= {"name", "version"}
        meta = result["_meta"]["rulith/v3"]
        assert set(meta) == {"agentId", "focusedRoots", "operations"} and meta["operations"] == []

    tell(story)


def test_initialized_is_accepted_with_202(tell):
    async def story(world, host):
        answer = await host.post({"jsonrpc": "2.0", "method": "notifications/initialized"})
        assert answer.status == 202 and answer.body == b""

    tell(story)


def test_another_declaration_is_incompatible_and_replaces_nothing(tell):
    async def story(world, host):
        for experimental in [{"rulith/v1": {}}, {"rulith/v2": {"heldCalls": 1}}, {"rulith/v3": {}}, {"rulith/v3": {"heldCalls": True}}]:
            answer = await host.post(initialize(experimental=experimental))
            assert answer.status == 400 and "mcp-session-id" not in answer.headers
            body = answer.json()
            assert body["id"] == "open" and body["error"]["code"] == -32000
            assert body["error"]["data"] == {"reason": "incompatible_client", "requiredClient": REQUIRED}
            assert (await host.rpc("ping")).status == 200

    tell(story)


def test_another_date_is_an_unsupported_protocol(tell):
    async def story(world, host):
        for date, experimental in [("2024-11-05", None), ("2026-07-28", None), ("2025-06-18", V3), ("2025-03-26", None)]:
            answer = await host.post(initialize(date, experimental))
            assert answer.status == 400 and "mcp-session-id" not in answer.headers
            assert answer.json()["error"]["data"] == {"reason": "unsupported_protocol", "requiredClient": REQUIRED}
            assert (await host.rpc("ping")).status == 200

    tell(story)


def test_an_unknown_token_is_401_with_what_it_needs(tell):
    async def story(world, host):
        host.token = "rlt_agt_" + "x" * 43
        answer = await host.post(initialize())
        body = answer.json()
        assert answer.status == 401 and body["id"] is None and body["jsonrpc"] == "2.0" and body["teaching"]
        assert body["error"]["code"] == -32000 and body["error"]["data"] == {
            "reason": "unauthenticated", "teaching": body["teaching"], "requiredClient": REQUIRED}

    tell(story)


# --- §1.2 methods


def test_a_probe_of_the_stateless_date_gets_a_protocol_error_at_once(tell):
    async def story(world, host):
        for probe in ["server/discover", "tools/list", "subscriptions/listen"]:
            host.session = None
            meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}
            answer = await host.post({"jsonrpc": "2.0", "id": 1, "method": probe, "params": {"_meta": meta}},
                                     **{"mcp-protocol-version": "2026-07-28", "mcp-method": probe})
            assert answer.status in (200, 400) and answer.json()["id"] == 1
            assert answer.json()["error"]["code"] == (-32601 if probe == "server/discover" else -32000)

    tell(story)


def test_a_get_of_the_oldest_transport_is_405(play, kit, drip):
    """A host that looks for the two-path transport of 2024-11-05 hears so without a session."""
    async def story(world):
        headers = {"authorization": f"Bearer {world.token}", "accept": "text/event-stream", "mcp-protocol-version": "2024-11-05"}
        answer = await kit.http(world.port, "GET", "/mcp", headers, drip=drip)
        assert answer.status == 405 and answer.json()["error"]["code"] == -32000

    play(story)


def test_a_ping_reads_no_board_changes_no_focus_and_delivers_no_result(tell, kit):
    async def story(world, host):
        worker, row, root = await held(world, host, kit)
        await settle(worker, row, kit)
        for _ in range(2):
            result = (await host.rpc("ping")).json()["result"]
            assert set(result) == {"_meta"}
            meta = result["_meta"]["rulith/v3"]
            assert set(meta) == {"agentId", "focusedRoots", "operations"} and meta["focusedRoots"][0]["root"] == root
            assert all(set(entry) <= {"ordinal", "tool", "label", "state", "stage", "at", "since"} for entry in meta["operations"])
        assert (await host.call("CloseCase", {"root": root}))["errorCode"] == "previous_result_undelivered"

    tell(story, holdMs=50, pollHoldMs=50)


def test_any_other_notification_is_202(tell):
    async def story(world, host):
        for method in ("notifications/roots/list_changed", "notifications/made/up"):
            assert (await host.post({"jsonrpc": "2.0", "method": method})).status == 202

    tell(story)


def test_a_get_replays_the_events_after_the_cursor(tell):
    async def story(world, host):
        whole = await host.post(host.asking("OpenCase", {"caseType": "exploration"}, id="a"))
        opening, progress, answer = whole.event_ids()
        rest = await host.resume(opening)
        assert rest.status == 200 and rest.headers["content-type"] == "text/event-stream" and rest.headers["mcp-session-id"] == host.session
        assert rest.event_ids() == [progress, answer] and rest.events() == whole.events()
        assert (await host.resume(progress)).events() == whole.events()[-1:]

    tell(story)


def test_a_cut_stream_is_gone_on_with_while_the_call_is_held(tell, kit):
    async def story(world, host):
        worker = world.worker()
        await worker.poll()
        case = await world.open_case(host)
        cursor = await host.cut(host.asking("ApplyAction", kit.action_call("read_input", case["root"]), id="held"), events=2)
        rest = asyncio.ensure_future(host.resume(cursor))
        row = (await worker.rows_until())[0]
        await worker.claim(row)
        await settle(worker, row, kit)
        answer = (await rest).events()[-1]
        assert answer["id"] == "held" and kit.text_of(answer, "ApplyAction")["result"]["status"] == "confirmed"
        assert (await host.call("ApplyBatch", FACT))["accepted"], "the resumed stream delivered the outcome"

    tell(story)


def test_a_cut_stream_that_nobody_resumes_has_delivered_nothing(tell, kit):
    async def story(world, host):
        worker = world.worker()
        await worker.poll()
        case = await world.open_case(host)
        cursor = await host.cut(host.asking("ApplyAction", kit.action_call("read_input", case["root"]), id="held"), events=2)
        row = (await worker.rows_until())[0]
        await worker.claim(row)
        await settle(worker, row, kit)
        assert (await host.call("ApplyBatch", FACT))["errorCode"] == "previous_result_undelivered"
        late = (await host.resume(cursor)).events()[-1]
        assert late["id"] == "held" and kit.text_of(late)["accepted"], "it can still be read"

    tell(story)


def test_the_cursor_of_an_ended_stream_brings_the_streams_begun_since(tell):
    """A client keeps one cursor a session, so the next call's stream is found by the last call's end."""
    async def story(world, host):
        last = (await host.post(host.asking("OpenCase", {"caseType": "exploration"}, id="a"))).event_ids()[-1]
        await host.cut(host.asking("ApplyBatch", FACT, id="b"), events=1)
        found = (await host.resume(last)).events()
        assert found[-1]["id"] == "b" and all(event.get("id") != "a" for event in found)

    tell(story)


def test_a_cursor_with_nothing_behind_it_is_refused_and_no_session_is_lost(tell):
    async def story(world, host):
        last = (await host.post(host.asking("OpenCase", {"caseType": "exploration"}, id="a"))).event_ids()[-1]
        for cursor in (last, "99.1", "1.99", "", "x", "1", "-1.2", "١.١"):
            answer = await host.resume(cursor.encode().decode("latin-1"))
            assert answer.status == 400 and answer.json()["error"]["data"] == {"reason": "cursor_unknown"}
        assert (await host.rpc("ping")).status == 200

    tell(story)


def test_so_many_ended_streams_are_kept_and_no_more(tell):
    async def story(world, host):
        host.drip = False
        first = await host.post(host.asking("OpenCase", {"caseType": "exploration"}, id=0))
        for number in range(1, STREAMS_KEPT_MAX + 1):
            await host.post(host.asking("ApplyBatch", {"operations": []}, id=number))
        assert (await host.resume(first.event_ids()[0])).status == 400
        assert (await host.resume("2.1")).status == 200

    tell(story)


def test_a_get_without_a_cursor_is_405_and_of_an_unknown_session_404(tell):
    async def story(world, host):
        assert (await host.resume(None)).status == 405
        host.session = "mcps_never"
        answer = await host.resume("1.1")
        assert answer.status == 404 and answer.json()["id"] is None
        host.session = None
        assert (await host.resume("1.1")).status == 400

    tell(story)


def test_a_get_acknowledges_nothing(tell, kit):
    async def story(world, host):
        opened = await host.post(host.asking("OpenCase", {"caseType": "exploration"}, id="a"))
        await host.resume(opened.event_ids()[0])
        await host.post({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "a"}})
        assert (await host.call("ApplyBatch", FACT))["errorCode"] == "previous_result_undelivered"

    tell(story)


def test_an_older_client_gets_no_event_without_a_message(play, drip):
    async def story(world):
        host = world.host(declares=False, date="2025-06-18", drip=drip)
        await host.initialize()
        answer = await host.post(host.asking("OpenCase", {"caseType": "exploration"}, id="a"))
        assert len(answer.event_ids()) == len(answer.events()) == 2

    play(story)


def test_delete_ends_the_session_with_204(tell, kit):
    async def story(world, host):
        answer = await kit.http(world.port, "DELETE", "/mcp", host.headers(), drip=host.drip)
        assert answer.status == 204 and answer.body == b""
        assert (await host.rpc("ping")).status == 404

    tell(story)


def test_an_unknown_method_is_32601(tell):
    async def story(world, host):
        for method in ("resources/list", "prompts/list", "completion/complete", "tools/Call"):
            assert (await host.rpc(method, id=3)).json()["error"]["code"] == -32601

    tell(story)


# --- §3 and §4 result forms


def test_the_same_refusal_comes_again_for_the_same_call(tell):
    async def story(world, host):
        first = await host.call_raw("OpenCase", {}, id="r")
        await host.call("OpenCase", {"caseType": "exploration"})
        assert (await host.call_raw("OpenCase", {}, id="r")).json() == first.json()
        assert len(await host.ping()) == 1

    tell(story)


def test_open_case_takes_exactly_one_of_its_two_forms(tell):
    async def story(world, host):
        for arguments in [{}, {"caseType": "exploration", "caseId": "case_x"}, {"caseType": "exploration", "root": "r"}, {"caseType": "exploration", "caseId": ""},
                                       {"caseType": "exploration", "expectedBoardSharedEpoch": 1}, {"caseType": "exploration", "admission": {}}]:
            body = await host.call("OpenCase", arguments)
            assert body["errorCode"] == "bad_command" and body["requestExecuted"] is False and body["tool"] == "OpenCase"
            for name in set(arguments) - {"caseType", "caseId"}:
                assert name in body["teaching"]

    tell(story)


def test_focusing_a_running_case_writes_nothing_to_the_board(tell):
    async def story(world, host):
        case = (await host.call("OpenCase", {"caseType": "exploration"}))["result"]
        await host.initialize()
        await host.call("QueryBoard")
        answer = await host.call_raw("OpenCase", {"caseId": case["caseId"]})
        meta = answer.json()["result"]["_meta"]["rulith/v3"]
        assert meta["focusedRoots"] == [{"caseId": case["caseId"], "root": case["root"]}] and meta["affectedCases"] == []
        assert (await host.call("OpenCase", {"caseId": "case_never"}))["errorCode"] == "unknown_case"

    tell(story)


def test_a_batch_is_atomic(tell):
    async def story(world, host):
        root = (await host.call("OpenCase", {"caseType": "exploration"}))["result"]["root"]
        good, bad = FACT["operations"][0], {"op": "retract_node", "nodeId": "never"}
        assert (await host.call("ApplyBatch", {"operations": [good, bad]}))["accepted"] is False
        view = (await host.call("QueryBoard", {"include": ["nodes"], "selector": {"roots": [root]}}))["view"]
        assert view["nodes"] == [] and view["total"] == 0

    tell(story)


def test_a_disposition_other_than_completed_needs_a_reason(tell):
    async def story(world, host):
        root = (await host.call("OpenCase", {"caseType": "exploration"}))["result"]["root"]
        assert (await host.call("CloseCase", {"root": root, "disposition": "cancelled"}))["errorCode"] == "bad_command"
        assert (await host.call("CloseCase", {"root": root}))["errorCode"] == "case_not_certified"
        assert (await host.call("CloseCase", {"root": root, "disposition": "cancelled", "reason": "enough"}))["accepted"]

    tell(story)


def test_a_query_of_another_shape_is_refused_with_a_view(tell):
    async def story(world, host):
        for arguments in [
    {"include": ["gaps"]}, {"include": ["nodes"], "selector": {"roots": []}}, {"limit": 1001}, {"limit": -1}, {"limit": 1.5},
    {"include": ["caseHistory", "cases"], "selector": {"roots": ["r"]}}, {"include": ["caseHistory"], "selector": {"roots": ["r", "s"]}},
    {"include": ["caseHistory"], "selector": {"roots": ["r"]}, "limit": 0}, {"historyOffset": 0},
    {"include": ["caseHistory"], "selector": {"roots": ["r"]}, "historyOffset": 1}, {"historyVersion": "history:x"}, {"queryContext": {}},
]:
            body = await host.call("QueryBoard", arguments)
            assert body["errorCode"] == "bad_command" and body["requestExecuted"] is False and "view" in body and "tool" not in body

    tell(story)


def test_a_query_is_never_an_operation_and_runs_beside_one(tell, kit):
    async def story(world, host):
        await held(world, host, kit)
        before = await host.ping()
        answer = await host.post(host.asking("QueryBoard", {}, id="q"))
        assert [set(event) for event in answer.events()] == [{"jsonrpc", "id", "result"}]      # no progress
        assert kit.text_of(answer.events()[0], "QueryBoard")["observation"] == {"consistency": "committed"}
        assert await host.ping() == before

    tell(story, holdMs=50, pollHoldMs=50)


def test_the_directory_lists_newest_first_cases_out_of_focus_and_closed_ones(tell):
    async def story(world, host):
        first = (await host.call("OpenCase", {"caseType": "exploration"}))["result"]
        await host.call("CloseCase", {"root": first["root"], "disposition": "failed", "reason": "a try"})
        second = (await host.call("OpenCase", {"caseType": "exploration"}))["result"]
        await host.initialize()
        cases = (await host.call("QueryBoard"))["view"]["cases"]
        assert [(row["caseId"], row["status"]) for row in cases["directory"]] == [(second["caseId"], "running"), (first["caseId"], "closed")]
        cut = (await host.call("QueryBoard", {"include": ["cases"], "limit": 1}))["view"]["cases"]
        assert cut["total"] == 2 and cut["truncated"] is True and len(cut["directory"]) == 1

    tell(story)


def test_an_artifact_read_of_another_shape_is_refused_without_a_view(tell):
    async def story(world, host):
        for arguments in [{}, {"ref": "art_x"}, {"ref": "ART_" + "0" * 32}, {**NO_ARTIFACT, "offset": -1}, {**NO_ARTIFACT, "maxBytes": 0}]:
            body = await host.call("ReadArtifact", arguments)
            assert body["errorCode"] == "bad_command" and body["requestExecuted"] is False and "view" not in body

    tell(story)


def test_an_unreadable_artifact_is_refused_and_writes_nothing(tell):
    async def story(world, host):
        body = await host.call("ReadArtifact", NO_ARTIFACT)
        assert body["errorCode"] == "artifact_unavailable" and body["accepted"] is False and "view" not in body
        assert (await host.call("QueryBoard"))["view"]["cases"]["total"] == 0 and await host.ping() == []

    tell(story)


# --- §5 the view


def test_a_position_names_one_reason_for_each_of_its_three_members(tell):
    async def story(world, host):
        view = (await host.call("QueryBoard"))["view"]
        validate_result("view", view)
        assert view["position"] == {"writes": "open", "newCases": "open", "rules": {"none": "not_permitted"}}
        opened = (await host.call("OpenCase", {"caseType": "exploration"}))["view"]
        assert opened["position"]["rules"] == "rules_and_actions"

    tell(story)


def test_missing_and_invisible_roots_are_unavailable_alike(tell):
    async def story(world, host):
        root = (await host.call("OpenCase", {"caseType": "exploration"}))["result"]["root"]
        view = (await host.call("QueryBoard", {"include": ["nodes"], "selector": {"roots": ["root_b", root, "root_a"]}, "limit": 0}))["view"]
        assert view["unavailableRoots"] == ["root_b", "root_a"] and [row["root"] for row in view["roots"]] == [root]

    tell(story)


# --- §6 operations


def test_a_strip_has_the_five_latest_newest_first(tell):
    async def story(world, host):
        host.drip = False
        for _ in range(7):
            body = await host.call("OpenCase", {"caseType": "exploration"})
        assert len(body["operations"]) == 5
        moments = [entry["at"] for entry in body["operations"]]
        assert moments == sorted(moments, reverse=True) and len(set(moments)) == 5
        assert all(set(entry) == {"tool", "label", "state", "at", "since", "summary"} for entry in body["operations"])

    tell(story)


def test_the_held_answer_has_the_members_of_its_example(tell, kit):
    """§6.7: held, settled later, read back, acknowledged by the next request."""
    async def story(world, host):
        worker = world.worker()
        await worker.poll()
        case = await world.open_case(host)
        stream = (await host.post(host.asking("ApplyAction", kit.action_call("read_input", case["root"]), id="u1", progress="progress_u1"))).events()
        assert stream[0]["params"]["progressToken"] == "progress_u1" and stream[0]["params"]["_meta"] == {"rulith/v3": {"ordinal": 2}}
        told = kit.text_of(stream[-1], "ApplyAction")
        assert set(told) == {"state", "teaching", "operations", "view"} and told["state"] == "running"
        own = told["operations"][0]
        assert set(own) == {"tool", "label", "state", "stage", "at", "since"} and own["stage"] == "not_dispatched"
        row = (await worker.rows_until())[0]
        await worker.claim(row)
        assert (await host.ping())[0]["stage"] == "at_worker"
        await settle(worker, row, kit)
        first = await host.ping()
        assert first[0]["ordinal"] == 2 and first[0]["state"] == "done" and first[0]["at"] == own["at"] and first[0]["label"] == own["label"]
        entry = (await host.call("QueryBoard"))["operations"][0]
        recorded = json.loads(entry["result"]["content"][0]["text"])
        assert set(recorded) == {"accepted", "result", "view"} and recorded["result"] == {
            "action": kit.action_call("read_input", "")["action"], "done": True, "status": "confirmed", "ok": True}
        assert (await host.call("ApplyBatch", FACT))["accepted"]

    tell(story, holdMs=50, pollHoldMs=200)


def test_two_sessions_that_received_an_outcome_have_acknowledged_it(tell, kit):
    async def story(world, host):
        worker, row, root = await held(world, host, kit)
        await settle(worker, row, kit)
        assert "result" in (await host.call("QueryBoard"))["operations"][0]
        await host.initialize()
        assert "result" in (await host.call("QueryBoard"))["operations"][0]
        await host.initialize()
        assert "summary" in (await host.call("QueryBoard"))["operations"][0]

    tell(story, holdMs=50, pollHoldMs=50)


def test_a_notification_acknowledges_nothing(tell):
    async def story(world, host):
        await host.call_raw("OpenCase", {"caseType": "exploration"}, id="u")
        await host.post({"jsonrpc": "2.0", "method": "notifications/roots/list_changed"})
        await host.post({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "u"}})
        assert (await host.call("OpenCase", {"caseType": "exploration"}))["errorCode"] == "previous_result_undelivered"

    tell(story)


@pytest.mark.parametrize("method", ["ping", "tools/list", "tools/call"])
def test_any_other_request_of_the_session_acknowledges(tell, method):
    async def story(world, host):
        await host.call_raw("OpenCase", {"caseType": "exploration"}, id="u")
        await host.rpc(method, {"name": "QueryBoard", "arguments": {}} if method == "tools/call" else {})
        await host.post({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "u"}})
        assert (await host.call("OpenCase", {"caseType": "exploration"}))["accepted"], "what is acknowledged stays so"

    tell(story)


def test_a_cancelled_held_call_goes_on_and_is_delivered_again(tell, kit):
    async def story(world, host):
        worker = world.worker()
        await worker.poll()
        case = await world.open_case(host)
        call = asyncio.ensure_future(host.call_raw("ApplyAction", kit.action_call("read_input", case["root"]), id="h"))
        row = (await worker.rows_until())[0]
        await host.post({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "h"}})
        await worker.claim(row)
        await settle(worker, row, kit)
        assert kit.text_of((await call).json())["accepted"]
        assert (await host.call("ApplyBatch", FACT))["errorCode"] == "previous_result_undelivered"
        assert (await host.call("ApplyBatch", FACT))["accepted"]

    tell(story)


def test_cancelling_a_refusal_that_was_not_executed_is_ignored(tell):
    async def story(world, host):
        await host.call("OpenCase", {"caseType": "exploration"})
        await host.call_raw("OpenCase", {}, id="refused")
        await host.post({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "refused"}})
        assert (await host.call("OpenCase", {"caseType": "exploration"}))["accepted"]

    tell(story)


def test_progress_grows_while_a_call_is_held(tell, kit, monkeypatch):
    async def story(world, host):
        await world.worker().poll()
        case = await world.open_case(host)
        answer = await host.post(host.asking("ApplyAction", kit.action_call("read_input", case["root"]), id="h", progress=7))
        *progress, last = answer.events()
        steps = [event["params"]["progress"] for event in progress]
        assert len(steps) >= 2 and steps[-1] > 2 and steps == sorted(set(steps)) and {event["params"]["progressToken"] for event in progress} == {7}
        assert all(event["params"]["_meta"] == {"rulith/v3": {"ordinal": 2}} for event in progress)
        assert kit.text_of(last)["state"] == "running"

    monkeypatch.setattr("rulith.gateway.mcp.PROGRESS_EVERY_S", 0.03)
    tell(story, holdMs=300, pollHoldMs=50)


def test_without_a_token_there_is_no_progress(tell, kit):
    async def story(world, host):
        await world.worker().poll()
        case = await world.open_case(host)
        answer = await host.call_raw("ApplyAction", kit.action_call("read_input", case["root"]))
        assert answer.headers["content-type"] == "application/json" and kit.text_of(answer.json())["state"] == "running"

    tell(story, holdMs=50, pollHoldMs=50)


def test_a_call_is_held_for_fifty_seconds_unless_the_settings_say_otherwise(tmp_path):
    from rulith.gateway.settings import read_settings
    assert read_settings(tmp_path / "none").hold_s == 50.0


# --- §8.1 takeover


def test_a_new_request_on_a_replaced_session_is_409_and_was_not_executed(tell):
    async def story(world, host):
        old = host.session
        await host.initialize()
        host.session = old
        for method in ("ping", "tools/list"):
            answer = await host.rpc(method, id="x")
            assert answer.status == 409 and answer.json()["id"] == "x"
            assert answer.headers["mcp-session-id"] == old
            assert answer.json()["error"]["code"] == -32000
            assert answer.json()["error"]["data"] == {"reason": "connection_replaced", "requestExecuted": False}

    tell(story)


def test_a_resume_on_a_replaced_session_is_409_without_an_id(tell):
    async def story(world, host):
        opened = await host.post(host.asking("OpenCase", {"caseType": "exploration"}, id="a"))
        old = host.session
        await host.initialize()
        host.session = old
        answer = await host.resume(opened.event_ids()[0])
        assert answer.status == 409 and answer.json()["id"] is None
        assert answer.json()["error"]["code"] == -32000 and answer.json()["error"]["data"] == {"reason": "connection_replaced"}

    tell(story)


def test_a_resumed_stream_ends_with_the_takeover_too(tell, kit):
    async def story(world, host):
        await world.worker().poll()
        case = await world.open_case(host)
        cursor = await host.cut(host.asking("ApplyAction", kit.action_call("read_input", case["root"]), id="held"), events=2)
        session = world.gateway.surface.sessions.effective(world.profile.agent_id)
        ((stream, _),) = session.streams.after(cursor)
        while stream.readers:               # until the gateway has seen the cut
            await asyncio.sleep(0)
        rest = asyncio.ensure_future(host.resume(cursor))
        while not stream.readers:
            await asyncio.sleep(0)
        await world.host().initialize()
        ended = (await rest).events()[-1]
        assert ended["id"] == "held" and ended["error"]["data"] == {"reason": "connection_replaced", "ordinal": 2}

    tell(story)


# --- §12 numbers


def test_the_exact_domain_is_checked_on_the_text(tell):
    async def story(world, host):
        for literal, accepted in [
    ("9007199254740991", True), ("-9007199254740991", True), ("9007199254740992", False), ("1e16", False), ("9007199254740993.0", False),
    ("1e309", False), ("-1e309", False), ("1e-400", False), ("0e-400", True), ("0.1", True), ("NaN", False), ("Infinity", False), ("1e15", True),
]:
            await host.call("OpenCase", {"caseType": "exploration"})
            text = ('{"jsonrpc":"2.0","id":"n' + literal + '","method":"tools/call","params":{"name":"ApplyBatch","arguments":{"operations":['
                    '{"op":"assert_fact","predicate":"p","args":{"x":' + literal + "}}]}}}")
            answer = await host.post(text.encode())
            body = json.loads(answer.json()["result"]["content"][0]["text"])
            assert body["accepted"] is accepted
            if not accepted:
                assert body["errorCode"] == "bad_command" and literal[:20] in body["teaching"]

    tell(story)


def test_digits_in_texts_and_truth_values_are_no_numbers(tell):
    async def story(world, host):
        await host.call("OpenCase", {"caseType": "exploration"})
        facts = [{"op": "assert_fact", "predicate": "p", "args": {"a": "99999999999999999999", "b": "007", "c": "5", "d": True}}]
        body = await host.call("ApplyBatch", {"operations": facts})
        assert body["view"]["nodes"][0]["args"] == {"a": "99999999999999999999", "b": "007", "c": 5, "d": True}
        assert (await host.call("QueryBoard", {"limit": True}))["errorCode"] == "bad_command"

    tell(story)
