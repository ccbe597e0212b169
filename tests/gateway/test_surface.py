"""The Agent surface over real sockets: handshake, gates, holding, delivery, takeover, bad input."""

from __future__ import annotations

import asyncio
import json

import pytest

from rulith.wire.results import validate_result


async def connected(world, **kinds):
    host = world.host(**kinds)
    await host.initialize()
    return host


# --- handshake


def test_metadata_travels_beside_the_answers_and_never_inside(play):
    async def story(world):
        host = world.host()
        result = await host.initialize()
        meta = result["_meta"]["rulith/v3"]
        validate_result("hostMetadata", meta)
        assert meta["agentId"] == world.profile.agent_id and meta["focusedRoots"] == [] and meta["operations"] == []
        answer = await host.call_raw("OpenCase", {"caseType": "exploration"})
        meta = answer.json()["result"]["_meta"]["rulith/v3"]
        validate_result("hostMetadata", meta)
        assert len(meta["focusedRoots"]) == 1 and meta["affectedCases"] == [meta["focusedRoots"][0]["caseId"]]
        text = answer.json()["result"]["content"][0]["text"]
        assert world.profile.agent_id not in text and host.session not in text and "ordinal" not in text

    play(story)


@pytest.mark.parametrize("date", ["2025-11-25", "2025-06-18"])
def test_a_tools_only_host_is_served_without_a_version_header(play, date):
    """Real hosts declare nothing, speak either date, and one never sends the header."""
    async def story(world):
        host = world.host(declares=False, date=date, header=False)
        result = await host.initialize()
        assert result["protocolVersion"] == date
        assert len((await host.rpc("tools/list")).json()["result"]["tools"]) == 6
        assert (await host.rpc("ping")).json()["result"] is not None
        assert (await host.call("QueryBoard"))["accepted"]
        assert (await host.call("OpenCase", {"caseType": "exploration"}))["accepted"]

    play(story)


def test_another_era_is_answered_at_once(play, kit):
    """A stateless probe falls back to initialize on -32601; an unknown date is a clean error."""
    async def story(world):
        host = world.host()
        probe = await host.post({"jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": {}}, **{"mcp-protocol-version": "2026-07-28"})
        assert probe.json()["error"]["code"] == -32601 and probe.json()["id"] == 1
        call = await host.post({"jsonrpc": "2.0", "id": 2, "method": "tools/list"}, **{"mcp-protocol-version": "2026-07-28"})
        assert call.status == 400 and call.json()["error"]["data"]["reason"] == "unsupported_protocol"
        resume = await kit.http(world.port, "GET", "/mcp", host.headers())
        assert resume.status == 405 and "POST" in resume.headers["allow"]

    play(story)


@pytest.mark.parametrize("token", [None, "", "rlt_agt_wrong", "device", "connection"])
def test_only_an_agents_token_opens_the_surface_and_the_body_is_not_read_first(play, kit, token):
    async def story(world):
        given = {"device": world.device, "connection": world.worker().key}.get(token, token)
        headers = {"content-type": "application/json"}
        if given is not None:
            headers["authorization"] = f"Bearer {given}"
        answer = await kit.http(world.port, "POST", "/mcp", headers, b"\xff not json")
        assert answer.status == 401
        body = answer.json()
        assert body["id"] is None and body["error"]["data"]["reason"] == "unauthenticated"

    play(story)


def test_a_page_of_another_origin_is_not_served(play, kit):
    async def story(world):
        host = world.host()
        for origin, status in (("http://evil.example", 403), ("null", 403), ("http://localhost:1234", 200), (f"http://127.0.0.1:{world.port}", 200)):
            answer = await host.post({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25"}}, origin=origin)
            assert answer.status == status, origin

    play(story)


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"null", b"1", b"\xff\xfe", b'{"jsonrpc":"2.0"}', b'{"jsonrpc":"1.0","id":1,"method":"ping"}',
                                  b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', b'{"jsonrpc":"2.0","id":true,"method":"ping"}',
                                  b'{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}', b'{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}',
                                  b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', b"[" * 5000])
def test_a_malformed_body_gets_a_json_rpc_error_and_changes_nothing(play, body):
    async def story(world):
        host = await connected(world)
        answer = await host.post(body)
        assert answer.status == 400 and answer.json()["error"]["code"] in (-32700, -32600)
        assert await host.ping() == []

    play(story)


def test_sessions_are_needed_known_and_ended(play, kit):
    async def story(world):
        host = await connected(world)
        session, host.session = host.session, None
        assert (await host.rpc("ping")).status == 400
        host.session = "mcps_unknown"
        assert (await host.rpc("ping")).status == 404
        host.session = session
        assert (await host.rpc("nonsense/method", id=9)).json() == {"jsonrpc": "2.0", "id": 9, "error": {
            "code": -32601, "message": "The method 'nonsense/method' is not served."}}
        assert (await kit.http(world.port, "DELETE", "/mcp", host.headers())).status == 204
        assert (await host.rpc("ping")).status == 404

    play(story)


# --- shape and gates


@pytest.mark.parametrize("tool, arguments", [
    ("OpenCase", {}), ("OpenCase", {"caseType": "exploration", "caseId": "c"}), ("OpenCase", {"caseType": "Bad Type"}),
    ("OpenCase", {"caseType": "exploration", "expectedRevision": 1}), ("ApplyBatch", {"operations": []}),
    ("ApplyBatch", {"operations": [{"op": "record_result", "label": "x"}]}), ("ApplyAction", {"action": ""}),
    ("CloseCase", {"root": "r", "disposition": "won"}), ("QueryBoard", {"include": ["nodes"]}),
    ("QueryBoard", {"include": ["secrets"]}), ("QueryBoard", {"limit": True}), ("ApplyAction", {"action": "a", "args": {"x": [1]}}),
])
def test_a_call_of_the_wrong_shape_is_refused_unexecuted_and_takes_no_ordinal(play, tool, arguments):
    async def story(world):
        host = await connected(world)
        body = await host.call(tool, arguments)
        assert body["errorCode"] == "bad_command" and body["requestExecuted"] is False
        assert await host.ping() == []

    play(story)


@pytest.mark.parametrize("literal", ["9007199254740992", "-9007199254740993", "1e400", "123456789012345678901234567890"])
def test_a_number_outside_the_exact_domain_is_refused_not_rounded(play, literal):
    async def story(world):
        host = await connected(world)
        text = ('{"jsonrpc":"2.0","id":"n","method":"tools/call","params":{"name":"ApplyBatch","arguments":{"operations":['
                '{"op":"assert_fact","predicate":"p","args":{"x":' + literal + "}}]}}}")
        answer = await host.post(text.encode())
        body = json.loads(answer.json()["result"]["content"][0]["text"])
        assert answer.json()["id"] == "n" and body["errorCode"] == "bad_command" and literal[:20] in body["teaching"]
        again = await host.post(text.encode())
        assert again.json() == answer.json()

    play(story)


def test_an_unknown_tool_is_a_protocol_error(play):
    async def story(world):
        host = await connected(world)
        answer = await host.call_raw("ReadOperation", {})
        assert answer.json()["error"]["code"] == -32602

    play(story)


def test_a_refused_command_is_an_operation_and_changes_no_board(play):
    async def story(world):
        host = await connected(world)
        body = await host.call("OpenCase", {"caseType": "no_such_type"})
        assert body["accepted"] is False and "requestExecuted" not in body
        assert body["operations"][0]["state"] == "refused" and body["operations"][0]["reason"]
        assert (await host.ping())[0]["state"] == "refused"
        asserted = await host.call("ApplyBatch", {"operations": [{"op": "assert_fact", "predicate": "p"}]})
        assert asserted["errorCode"] == "no_acceptance_root"
        missing = await host.call("ReadArtifact", {"ref": "art_" + "0" * 32})
        assert missing["errorCode"] == "artifact_unavailable" and "view" not in missing

    play(story)


def test_an_agent_may_not_state_what_only_law_or_a_source_may(play, kit):
    """A model that asserts the totals, the acceptance or the input itself gets a refusal and the Case stays open."""
    async def story(world):
        host = await connected(world)
        case = await world.open_case(host)
        for predicate, args in ((kit.PREFIX + "total", {"job_id": "calc-001", "cents": 1}), (kit.PREFIX + "input", dict(kit.ORDER)),
                                ("acceptance_met", {"node": case["taskNodes"][0]["node"]}), (kit.PREFIX + "output", {**kit.TOTALS, "sha256": "x"})):
            body = await host.call("ApplyBatch", {"operations": [{"op": "assert_fact", "predicate": predicate, "args": args}]})
            assert body["accepted"] is False, predicate
        closed = await host.call("CloseCase", {"root": case["root"]})
        assert closed["errorCode"] == "case_not_certified"
        assert (await world.local("state")).json()["cases"][0]["status"] == "running"

    play(story)


def test_a_running_operation_blocks_writes_and_artifact_reads_but_not_looking(play, kit):
    async def story(world):
        host, worker = await connected(world), world.worker()
        await worker.poll()
        case = await world.open_case(host)
        held = await host.call("ApplyAction", kit.action_call("read_input", case["root"]))
        assert held["state"] == "running" and held["operations"][0]["stage"] == "not_dispatched"
        for tool, arguments in (("OpenCase", {"caseType": "exploration"}), ("CloseCase", {"root": case["root"]}),
                                ("ReadArtifact", {"ref": "art_" + "0" * 32}),
                                ("ApplyBatch", {"operations": [{"op": "retract_node", "nodeId": "x"}]})):
            body = await host.call(tool, arguments)
            assert body["errorCode"] == "operation_running" and body["requestExecuted"] is False
        seen = await host.call("QueryBoard", {"include": ["nodes", "gaps", "taskStatus"], "selector": {"roots": [case["root"], "root_unknown"]}})
        assert seen["accepted"] and seen["view"]["unavailableRoots"] == ["root_unknown"]
        assert len(await host.ping()) == 2

    play(story, holdMs=50, pollHoldMs=50)


def test_a_result_that_came_while_nobody_held_is_delivered_before_the_next_write(play, kit):
    """Settled after the hold bound: any next write on the session shows it and is not run."""
    async def story(world):
        host, worker = await connected(world), world.worker()
        await worker.poll()
        case = await world.open_case(host)
        assert (await host.call("ApplyAction", kit.action_call("read_input", case["root"])))["state"] == "running"
        row = (await worker.rows_until())[0]
        await worker.claim(row)
        await worker.report(row, ok=True, result="", facts=kit.facts_for(row["tool"]))
        refused = await host.call("ApplyAction", kit.action_call("write_output", case["root"]))
        assert refused["errorCode"] == "previous_result_undelivered" and refused["requestExecuted"] is False
        shown = json.loads(refused["operations"][0]["result"]["content"][0]["text"])
        assert shown["result"]["status"] == "confirmed" and "view" in shown
        assert "result" not in (await host.call("QueryBoard"))["operations"][0]      # that request acknowledged it
        assert (await host.call("ApplyAction", kit.action_call("write_output", case["root"])))["state"] == "running"

    play(story, holdMs=50, pollHoldMs=200)


def test_a_read_delivers_an_outcome_and_the_next_request_acknowledges_it(play, kit):
    async def story(world):
        host, worker = await connected(world), world.worker()
        await worker.poll()
        case = await world.open_case(host)
        assert (await host.call("ApplyAction", kit.action_call("read_input", case["root"])))["state"] == "running"
        row = (await worker.rows_until())[0]
        await worker.claim(row)
        await worker.report(row, ok=True, result="", facts=kit.facts_for(row["tool"]))
        first = await host.call("QueryBoard")
        assert "result" in first["operations"][0] and "summary" not in first["operations"][0]
        await host.ping()
        assert "summary" in (await host.call("QueryBoard"))["operations"][0]

    play(story, holdMs=50, pollHoldMs=200)


def test_a_cancelled_call_is_delivered_again(play, kit):
    """Cancelling voids the delivery, never the operation."""
    async def story(world):
        host = await connected(world)
        await host.call_raw("OpenCase", {"caseType": "exploration"}, id="u1")
        await host.post({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "u1"}})
        refused = await host.call("OpenCase", {"caseType": "exploration"})
        assert refused["errorCode"] == "previous_result_undelivered"
        assert json.loads(refused["operations"][0]["result"]["content"][0]["text"])["result"]["opened"] is True
        assert (await host.call("OpenCase", {"caseType": "exploration"}))["accepted"]

    play(story)


def test_cancelling_a_read_or_an_unknown_call_is_ignored(play):
    async def story(world):
        host = await connected(world)
        await host.call("OpenCase", {"caseType": "exploration"})
        await host.call_raw("QueryBoard", {}, id="q")
        for request_id in ("q", "never", None, {}):
            answer = await host.post({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": request_id}})
            assert answer.status == 202
        assert (await host.call("OpenCase", {"caseType": "exploration"}))["accepted"]

    play(story)


def test_the_same_call_again_gets_the_same_answer_and_runs_once(play):
    async def story(world):
        host = await connected(world)
        first = await host.call_raw("OpenCase", {"caseType": "exploration"}, id=7)
        again = await host.call_raw("OpenCase", {"caseType": "exploration"}, id=7)
        assert again.json() == first.json()
        other = await host.call_raw("OpenCase", {"caseType": "exploration"}, id="7")
        assert other.json()["id"] == "7" and other.json()["result"] != first.json()["result"]
        assert len(await host.ping()) == 2

    play(story)


def test_another_call_under_the_same_id_is_refused_and_hears_no_others_answer(play):
    """An id names one call of its session; answering a second one with the first one's outcome would be a lie."""
    async def story(world):
        host = await connected(world)
        first = await host.call_raw("OpenCase", {"caseType": "exploration"}, id=7)
        assert first.json()["result"]
        note = {"operations": [{"op": "assert_fact", "predicate": "note", "args": {"n": 1}}]}
        for tool, arguments in (("ApplyBatch", note), ("OpenCase", {"caseType": "verified_calculation"}), ("QueryBoard", {})):
            answer = await host.call_raw(tool, arguments, id=7)
            error = answer.json()["error"]
            assert (answer.status, answer.json()["id"], error["code"], error["data"]) == (200, 7, -32600, {"requestExecuted": False})
        inexact = await host.post(b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"ApplyBatch","arguments":{"n":9007199254740993}}}')
        assert inexact.json()["error"]["code"] == -32600
        again = await host.call_raw("OpenCase", {"caseType": "exploration"}, id=7)
        assert again.json() == first.json() and len(await host.ping()) == 1

    play(story)


def test_a_resent_held_call_waits_for_the_one_outcome(play, kit):
    async def story(world):
        host, worker = await connected(world), world.worker()
        await worker.poll()
        case = await world.open_case(host)
        call = kit.action_call("read_input", case["root"])
        both = asyncio.gather(host.call_raw("ApplyAction", call, id="u"), host.call_raw("ApplyAction", call, id="u"))
        row = (await worker.rows_until())[0]
        await worker.claim(row)
        await worker.report(row, ok=True, result="", facts=kit.facts_for(row["tool"]))
        first, second = await both
        assert first.json() == second.json() and first.json()["result"]["content"]
        assert len(await host.ping()) == 2

    play(story)


# --- progress and takeover


def test_progress_comes_right_after_admission_and_the_answer_ends_the_stream(play, kit):
    async def story(world):
        host, worker = await connected(world), world.worker()
        await worker.poll()
        case = await world.open_case(host)
        asked = asyncio.ensure_future(host.call_raw("ApplyAction", kit.action_call("read_input", case["root"]), progress="progress_u1", id="u1"))
        row = (await worker.rows_until())[0]
        await worker.claim(row)
        await worker.report(row, ok=True, result="", facts=kit.facts_for(row["tool"]))
        answer = await asked
        assert answer.headers["content-type"].startswith("text/event-stream") and answer.headers["mcp-session-id"] == host.session
        progress, result = answer.events()
        assert progress == {"jsonrpc": "2.0", "method": "notifications/progress", "params": {
            "progressToken": "progress_u1", "progress": 1, "_meta": {"rulith/v3": {"ordinal": 2}}}}
        assert result["id"] == "u1" and kit.text_of(result, "ApplyAction")["accepted"]
        refused = await host.call_raw("OpenCase", {}, progress="p")
        assert len(refused.events()) == 1        # nothing was admitted, so there is no progress

    play(story)


def test_a_takeover_ends_the_held_call_with_its_ordinal_and_the_work_goes_on(play, kit):
    async def story(world):
        host, worker = await connected(world), world.worker()
        await worker.poll()
        case = await world.open_case(host)
        call = kit.action_call("read_input", case["root"])
        streamed = asyncio.ensure_future(host.call_raw("ApplyAction", call, progress="p", id="held"))
        row = (await worker.rows_until())[0]
        await worker.claim(row)
        second = await connected(world)
        ended = (await streamed).events()[-1]
        assert ended["error"]["code"] == -32000
        assert ended["error"]["data"] == {"reason": "connection_replaced", "ordinal": 2}
        late = await host.rpc("ping", id="late")
        assert late.status == 409 and late.json()["error"]["data"] == {"reason": "connection_replaced", "requestExecuted": False}
        resent = await host.call_raw("ApplyAction", call, id="held")
        assert resent.status == 409 and resent.json()["error"]["data"] == {"reason": "connection_replaced", "ordinal": 2}
        assert (await worker.report(row, ok=True, result="", facts=kit.facts_for(row["tool"])))["accepted"]
        assert (await second.ping())[0]["state"] == "done"
        refused = await second.call("OpenCase", {"caseType": "exploration"})
        assert refused["errorCode"] == "previous_result_undelivered"

    play(story)


def test_focus_is_additive_and_an_accepted_close_removes(play):
    async def story(world):
        host = await connected(world)
        first = await host.call("OpenCase", {"caseType": "exploration"})
        second = await host.call("OpenCase", {"caseType": "exploration"})
        roots = [row["root"] for row in second["view"]["roots"]]
        assert roots == [first["result"]["root"], second["result"]["root"]]
        closed = await host.call("CloseCase", {"root": roots[0], "disposition": "cancelled", "reason": "not wanted"})
        assert [row["root"] for row in closed["view"]["roots"]] == roots[1:]
        again = await host.call("OpenCase", {"caseId": first["result"]["caseId"]})
        assert again["errorCode"] == "case_closed"
        fresh = await connected(world)
        assert (await fresh.call("QueryBoard"))["view"]["roots"] == []

    play(story)


def test_a_closed_business_key_is_refused_and_a_live_one_is_focused(play):
    async def story(world):
        host = await connected(world)
        case = await world.open_case(host)
        again = await world.open_case(host)
        assert again["caseId"] == case["caseId"] and again["opened"] is False
        await host.call("CloseCase", {"root": case["root"], "disposition": "abandoned", "reason": "start over"})
        fresh = await world.open_case(host)
        assert fresh["caseId"] != case["caseId"] and fresh["opened"] is True

    play(story)


def test_case_history_is_read_by_pages_of_one_version(play):
    async def story(world):
        host = await connected(world)
        opened = (await host.call("OpenCase", {"caseType": "exploration"}))["result"]
        facts = [{"op": "assert_fact", "predicate": "p", "args": {"n": n}} for n in range(5)]
        assert (await host.call("ApplyBatch", {"operations": facts}))["accepted"]
        await host.call("CloseCase", {"root": opened["root"], "disposition": "cancelled", "reason": "seen enough"})
        ask = {"include": ["caseHistory"], "selector": {"roots": [opened["root"]]}, "limit": 3}
        page = (await host.call("QueryBoard", ask))["view"]["caseHistory"]
        assert page["status"] == "available" and page["truncated"] and len(page["facts"]) == 3
        rest = (await host.call("QueryBoard", {**ask, "historyOffset": page["nextOffset"], "historyVersion": page["historyVersion"]}))["view"]["caseHistory"]
        assert rest["facts"] and not rest["truncated"]
        stale = await host.call("QueryBoard", {**ask, "historyOffset": 1, "historyVersion": "history:" + "0" * 64})
        assert stale["errorCode"] == "stale_revision"

    play(story)


@pytest.mark.parametrize("request_id", ['"\\ud800"', "9007199254740993", "1" + "0" * 400, "NaN"])
def test_an_id_that_cannot_be_echoed_is_a_bad_request_beside_an_inexact_number_too(play, request_id):
    async def story(world):
        host = world.host()
        await host.initialize()
        call = '{"jsonrpc":"2.0","id":ID,"method":"tools/call","params":{"name":"QueryBoard","arguments":{"limit":1e400}}}'
        answer = await host.post(call.replace("ID", request_id).encode())
        assert answer.status == 400 and answer.json()["error"]["code"] == -32700 and answer.json()["id"] is None

    play(story)
