"""The workbench's HTTP on real sockets, with a scripted gateway and scripted roles."""

import asyncio
import json

import pytest

from rulith.disk.example import FIRST_ORDER, lay_out
from rulith.disk.profiles import agent_secrets
from rulith.disk.runfile import remove_runfile, write_runfile
from rulith.workbench.calculation import input_path

from tests.workbench.scripted_bench import AGENT, CASE, CONNECTION, GRANT, INPUT, KEY, Page, closed_board, head


def play(stage, script, *, up=True):
    async def scene():
        async with stage:
            if up:
                await stage.up()
            return await asyncio.wait_for(script(stage), 60)
    return asyncio.run(scene())


# who gets in

DATA_ROUTES = [("GET", "/api/state"), ("GET", "/events"), ("GET", "/i/inst-000000000000/state"), ("GET", "/i/inst-000000000000/case"),
               ("POST", "/i/inst-000000000000/demo"), ("POST", "/i/inst-000000000000/model"), ("GET", "/nothing")]


def test_every_data_route_is_closed_to_the_cookie_alone(stage):
    async def script(stage):
        stage.page.token = ""
        return [(await stage.page.ask(method, path, {} if method == "POST" else None)).status for method, path in DATA_ROUTES]
    assert set(play(stage, script)) == {401}


def test_a_stranger_gets_no_shell_no_file_and_no_console(stage):
    async def script(stage):
        stranger = Page(stage.client, stage.page.origin)
        return [(await stranger.ask("GET", path)).status for path in ("/", "/ui/app.js", "/ui/index.html", "/console/", f"/?k={KEY}x")]
    assert set(play(stage, script)) == {401}


def test_a_stranger_is_told_what_to_open(stage):
    async def script(stage):
        return (await Page(stage.client, stage.page.origin).ask("GET", "/")).text()
    assert "rulith start" in play(stage, script)


def test_the_shell_holds_nothing_of_this_home(stage):
    async def script(stage):
        return (await stage.page.ask("GET", "/")).text()
    shell = play(stage, script)
    assert KEY not in shell and "Assistant" not in shell and "inst-" not in shell


def test_a_foreign_host_or_origin_is_refused_before_anything_else(stage):
    async def script(stage):
        return [(await stage.page.ask("GET", "/api/state", origin=origin)).status for origin in ("http://evil.example", "null")]
    assert play(stage, script) == [403, 403]


def test_a_post_of_another_origin_is_refused_even_with_the_token(stage):
    async def script(stage):
        return (await stage.page.ask("POST", stage.at("demo"), {"caseType": "x", "jobId": None}, origin="http://127.0.0.1:1")).status
    assert play(stage, script) == 403


def test_an_oversized_body_is_refused_unread(stage):
    async def script(stage):
        return (await stage.page.ask("POST", stage.at("model"), b'"' + b"x" * 70_000 + b'"')).status
    assert play(stage, script) == 413


@pytest.mark.parametrize(("body", "code"), [
    (b"[]", "body_not_object"), (b"{", "bad_json"), (b'{"operation":"stop","operation":"start"}', "bad_json"),
    (b'{"operation":"stop","extra":1}', "body_field"), (b"{}", "body_field"),
])
def test_a_body_that_is_not_exactly_what_the_route_takes_is_refused_by_name(stage, body, code):
    async def script(stage):
        answer = await stage.page.ask("POST", stage.at("worker"), body)
        return answer.status, json.loads(answer.body)["errorCode"]
    assert play(stage, script) == (400, code)


def test_a_form_post_is_refused_because_any_page_can_send_one(stage):
    async def script(stage):
        return (await stage.page.ask("POST", stage.at("worker"), b'{"operation":"stop"}', content_type="text/plain")).status
    assert play(stage, script) == 400


@pytest.mark.parametrize(("line", "fields", "status"), [
    ("POST {at}worker", {"content-type": "text/plain"}, 400), ("POST {at}worker", {"content-type": None}, 400),
    ("POST {at}materials", {"content-type": "multipart/form-data; boundary=x"}, 400), ("POST {at}worker", {"content-type": "application/jsonp"}, 400),
    ("PUT {at}worker", {}, 404), ("DELETE /api/state", {}, 404), ("PATCH /events", {}, 404), ("GET /api/state", {"content-type": "text/plain"}, 400),
    ("POST {at}worker", {"host": "evil.example"}, 403), ("POST {at}worker", {"origin": "http://evil.example"}, 403),
    ("POST {at}worker", {"origin": "null"}, 403), ("POST {at}worker", {"sec-fetch-site": "cross-site"}, 403), ("POST {at}worker", {"x-rulith-manager": "wrong"}, 401),
    ("POST /api/token", {"host": "evil.example"}, 403), ("POST /ui/app.js", {"cookie": None}, 401), ("POST /console/api/decide", {"cookie": None}, 401),
])
def test_a_head_that_may_not_act_is_answered_before_its_body_is_read(stage, line, fields, status):
    async def script(stage):
        method, target = line.format(at=stage.at("")).split(" ")
        rows = {"host": stage.page.origin.partition("//")[2], "origin": stage.page.origin, "cookie": stage.page.cookie,
                "x-rulith-manager": stage.page.token, "content-type": "application/json", "content-length": "40"}
        allowed = stage.api.head_check(head("POST", stage.at("worker"), **rows))
        refused = stage.api.head_check(head(method, target, **{**rows, **fields}))
        return allowed, refused and refused.status
    assert play(stage, script) == (None, status)


def test_every_answer_carries_the_policy_that_keeps_the_page_to_itself(stage):
    async def script(stage):
        return [(await stage.page.ask("GET", path)).headers for path in ("/", "/ui/app.js", "/ui/theme.css")]
    for headers in play(stage, script):
        policy = headers.get("content-security-policy")
        assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy and "unsafe" not in policy
        assert headers.get("x-content-type-options") == "nosniff" and headers.get("referrer-policy") == "no-referrer"


def test_unknown_routes_and_instances_are_named(stage):
    async def script(stage):
        return [(await stage.page.get(path))["errorCode"] for path in ("/api/none", "/i/inst-ffffffffffff/state", "/i/../state")]
    assert play(stage, script) == ["route_unknown", "instance_unknown", "route_unknown"]


# what the page reads

def test_the_snapshot_shows_the_agent_and_says_that_no_model_is_configured(stage):
    async def script(stage):
        return await stage.page.get("/api/state")
    snapshot = play(stage, script)
    (instance,) = snapshot["instances"]
    assert (instance["name"], instance["worker"]["state"], instance["agent"]["state"]) == ("Assistant", "online", "idle")
    assert instance["model"]["configured"] is False
    assert snapshot["gateway"]["state"] == "online"


def test_no_secret_is_in_any_answer_or_row(stage):
    async def script(stage):
        gateway = stage.spawn.of("gateway")[0].child
        gateway.tell({"type": "setup-code", "code": "ABCD2345"})
        agent_secrets(stage.profile).update({"RULITH_MODEL_KEY": "sk-very-secret"})
        texts = [json.dumps(await stage.page.get(path)) for path in ("/api/state", stage.at("state"), stage.at("demo"), stage.at("activity"))]
        return texts, json.dumps(stage.bench.feed.rows())
    texts, rows = play(stage, script)
    for secret in ("rlt_agt_", "rlt_key_", GRANT, "sk-very-secret", KEY):
        assert all(secret not in text for text in (*texts, rows))
    assert "ABCD2345" in texts[0] and "ABCD2345" not in rows


def test_the_setup_code_is_gone_once_a_passphrase_exists(stage):
    async def script(stage):
        stage.spawn.of("gateway")[0].child.tell({"type": "setup-code", "code": "ABCD2345"})
        before = (await stage.page.get("/api/state"))["console"]["setupCode"]
        stage.gateway.show({**stage.gateway.state, "version": 2, "passphraseSet": True})
        await stage.until(lambda: stage.bench.setup_code is None)
        return before, (await stage.page.get("/api/state"))["console"]["setupCode"]
    assert play(stage, script) == ("ABCD2345", None)


def test_the_board_of_an_agent_holds_that_agents_rows_only(stage):
    async def script(stage):
        state = closed_board()
        state["cases"].append({**state["cases"][0], "agentId": "agent_other", "caseId": "case_other"})
        stage.gateway.show(state)
        await stage.until(lambda: bool(stage.instance.board["cases"]))
        return await stage.page.get(stage.at("state"))
    board = play(stage, script)
    assert [row["caseId"] for row in board["cases"]] == [CASE]
    assert board["connection"]["id"] == CONNECTION


def test_cases_that_a_change_does_not_list_stand_as_they_were(stage):
    async def script(stage):
        stage.gateway.show({**closed_board(), "version": 2})
        await stage.until(lambda: bool(stage.instance.board["cases"]))
        stage.gateway.show({**closed_board(), "version": 3, "cases": [], "casesOf": ["agent_other"], "passphraseSet": True})
        await stage.until(lambda: stage.instance.board["passphraseSet"])
        return stage.instance.board, [request.query.get("cases") for request in stage.gateway.asked if request.path == "/local/wait"]
    board, asked = play(stage, script)
    assert [row["caseId"] for row in board["cases"]] == [CASE]
    assert set(asked) == {"moved"}


def test_reads_go_to_the_gateway_with_the_device_grant_and_this_agent(stage):
    async def script(stage):
        stage.gateway.answers["proof"] = (200, {"id": "f_1", "text": "total", "n": 9593})
        answer = await stage.page.get(stage.at("proof?id=f_1&agent=agent_other&path=/x"))
        return answer, stage.gateway.asked[-1].query
    answer, query = play(stage, script)
    assert answer == {"id": "f_1", "text": "total", "n": 9593}       # nothing added: receipts are signed as they stand
    assert query == {"agent": AGENT, "id": "f_1"}


@pytest.mark.parametrize(("asked", "told"), [
    ("cases?text=calc&from=50&limit=20&show=all", {"text": "calc", "from": "50", "limit": "20"}),
    ("facts?case=case_x&text=a%20b&tier=attested&from=0&limit=9&as=agent", {"case": "case_x", "text": "a b", "tier": "attested", "from": "0", "limit": "9"}),
    ("moments?case=case_x&limit=9", {"case": "case_x"}), ("between?case=case_x&from=1&to=9&agent=agent_other", {"case": "case_x", "from": "1", "to": "9"}),
])
def test_each_read_of_a_case_passes_its_own_questions_alone(stage, asked, told):
    async def script(stage):
        stage.gateway.answers[asked.partition("?")[0]] = (200, {"rows": []})
        return await stage.page.get(stage.at(asked)), stage.gateway.asked[-1].query
    assert play(stage, script) == ({"rows": []}, {"agent": AGENT, **told})


def test_a_refusal_of_the_gateway_is_told_in_its_own_words(stage):
    async def script(stage):
        stage.gateway.answers["case"] = (404, {"ok": False, "errorCode": "unknown_case", "teaching": "There is no Case case_x."})
        return await stage.page.get(stage.at("case?case=case_x"))
    answer = play(stage, script)
    assert (answer["errorCode"], answer["happened"]) == ("gateway_refused", "There is no Case case_x.")


def test_before_the_gateway_answers_the_page_is_told_to_wait(stage):
    async def script(stage):
        await stage.page.open()
        answer = await stage.page.ask("GET", stage.at("state"))
        return answer.status, json.loads(answer.body)["errorCode"], (await stage.page.get("/api/state"))["gateway"]["state"]
    assert play(stage, script, up=False) == (503, "gateway_not_ready", "starting")


async def _rows(stage, after, wanted):
    """Rows of the feed after `after` until one of type `wanted`, as the page reads them."""
    rows = []
    fields = {"x-rulith-manager": stage.page.token}
    async with stage.client.stream("GET", f"{stage.page.origin}/events?after={after}", fields) as answer:
        text = ""
        async for chunk in answer:
            text += chunk.decode()
            *events, text = text.split("\n\n")
            for event in events:
                rows += [json.loads(line[6:]) for line in event.splitlines() if line.startswith("data: ")]
            if any(row["type"] == wanted for row in rows):
                return rows


def test_the_feed_goes_on_after_the_row_the_page_names(stage):
    async def script(stage):
        first = await _rows(stage, 0, "up")
        after = first[-1]["sequence"]
        stage.spawn.of("worker")[0].child.tell({"type": "claimed", "tool": "read_input@1"})
        return first, await _rows(stage, after, "claimed")
    first, later = play(stage, script)
    assert first[0]["type"] == "hello" and first[0]["gap"] is False
    assert all(row["sequence"] > first[-1]["sequence"] for row in later[1:])


def test_a_change_of_the_board_is_told_once_per_version(stage):
    async def script(stage):
        seen = stage.bench.feed.sequence
        stage.gateway.show(closed_board())
        await stage.until(lambda: bool(stage.instance.board["cases"]))
        return [row for row in stage.bench.feed.rows(seen) if row.get("what") == "board"]
    rows = play(stage, script)
    assert len(rows) == 1 and rows[0]["version"] == 7


# the calculation

ORDER = {"job_id": "calc-002", "unit_price_cents": 1299, "quantity": 7, "shipping_cents": 500}


def test_the_input_is_shown_with_the_digest_that_replacing_it_needs(stage):
    lay_out(stage.profile.workspace)
    async def script(stage):
        shown = (await stage.page.get(stage.at("demo")))["input"]
        stale = await stage.page.post(stage.at("demo/input"), {"values": ORDER, "replaces": "0" * 64})
        done = await stage.page.post(stage.at("demo/input"), {"values": ORDER, "replaces": shown["digest"]})
        return shown, stale, done
    shown, stale, done = play(stage, script)
    assert shown["values"] == FIRST_ORDER
    assert (stale[0], stale[1]["errorCode"]) == (409, "input_changed")
    assert done[0] == 200 and json.loads(input_path(stage.profile.workspace).read_text()) == ORDER


def test_an_input_that_appeared_meanwhile_is_not_written_over(stage):
    lay_out(stage.profile.workspace)
    async def script(stage):
        return await stage.page.post(stage.at("demo/input"), {"values": ORDER, "replaces": None})
    status, answer = play(stage, script)
    assert (status, answer["errorCode"]) == (409, "input_changed")
    assert json.loads(input_path(stage.profile.workspace).read_text()) == FIRST_ORDER


@pytest.mark.parametrize(("change", "field"), [
    ({"quantity": "7"}, "quantity"), ({"quantity": 7.0}, "quantity"), ({"quantity": -1}, "quantity"), ({"quantity": True}, "quantity"),
    ({"job_id": " "}, "job_id"), ({"extra": 1}, "extra"),
])
def test_a_wrong_number_is_refused_by_its_field_and_the_file_stays(stage, change, field):
    lay_out(stage.profile.workspace)
    before = input_path(stage.profile.workspace).read_bytes()
    async def script(stage):
        shown = (await stage.page.get(stage.at("demo")))["input"]
        return await stage.page.post(stage.at("demo/input"), {"values": {**ORDER, **change}, "replaces": shown["digest"]})
    status, answer = play(stage, script)
    assert (status, answer["errorCode"], answer["facts"]["field"]) == (400, "order_refused", field)
    assert input_path(stage.profile.workspace).read_bytes() == before


def test_a_missing_field_is_named(stage):
    async def script(stage):
        return await stage.page.post(stage.at("demo/input"), {"values": {"job_id": "calc-9"}, "replaces": None})
    assert play(stage, script)[1]["facts"]["field"] == "unit_price_cents"


def test_the_button_starts_the_agent_by_rule_with_its_token_and_no_model(stage):
    lay_out(stage.profile.workspace)
    agent_secrets(stage.profile).update({"RULITH_MODEL_KEY": "sk-very-secret"})
    async def script(stage):
        status, answer = await stage.page.post(stage.at("demo"), {"caseType": "verified_calculation", "jobId": None})
        call = stage.spawn.of("agent")[0]
        return status, answer, call
    status, answer, call = play(stage, script)
    assert status == 200 and answer["run"]["jobId"] == "calc-001"
    assert call.args[:2] == ["--driver", "board"] and call.args[call.args.index("--business-key") + 1] == '{"job_id":"calc-001"}'
    assert call.env["RULITH_TOKEN"] == "rlt_agt_scripted"
    assert not any("MODEL" in name or "CONNECTION" in name for name in call.env)
    assert not any("rlt_" in word for word in call.args)


def test_a_run_is_told_step_by_step_and_ends_with_its_exit(stage):
    lay_out(stage.profile.workspace)
    async def script(stage):
        await stage.page.post(stage.at("demo"), {"caseType": "verified_calculation", "jobId": None})
        child = stage.spawn.of("agent")[0].child
        busy = await stage.page.post(stage.at("demo"), {"caseType": "verified_calculation", "jobId": None})
        child.tell({"type": "case-open", "caseId": CASE})
        child.tell({"type": "tool-call", "callId": "c1", "cmd": "ApplyAction", "input": {"action": "x.read_input"}})
        child.tell({"type": "tool-result", "callId": "c1", "cmd": "ApplyAction", "accepted": True, "output": {}})
        child.tell({"type": "end", "outcome": "completed", "exit": 0, "message": "Done."})
        child.exit(0)
        await stage.until(lambda: not stage.instance.busy)
        return busy, (await stage.page.get(stage.at("demo")))["runs"]
    busy, (run,) = play(stage, script)
    assert (busy[0], busy[1]["errorCode"]) == (409, "run_under_way")
    assert (run["exit"], run["caseId"], [step["state"] for step in run["steps"]]) == (0, CASE, ["done"])


def test_a_job_closed_for_other_numbers_is_refused_before_anything_starts(stage):
    lay_out(stage.profile.workspace)
    async def script(stage):
        stage.gateway.show(closed_board())
        stage.gateway.answers["case"] = (200, {"facts": [{"predicate": INPUT, "args": {**FIRST_ORDER, "quantity": 8}}]})
        status, answer = await stage.page.post(stage.at("demo"), {"caseType": "verified_calculation", "jobId": None})
        return status, answer, stage.spawn.of("agent"), (await stage.page.get("/api/state"))["instances"][0]["agent"]["state"]
    status, answer, started, state = play(stage, script)
    assert (status, answer["errorCode"]) == (409, "job_closed_otherwise")
    assert CASE in answer["teaching"] and "quantity 8, now 7" in answer["teaching"]
    assert not started and state == "idle"


def test_without_its_worker_or_with_a_broken_input_nothing_starts(stage):
    lay_out(stage.profile.workspace)
    async def script(stage):
        await stage.page.post(stage.at("worker"), {"operation": "stop"})
        await stage.until(lambda: stage.instance.worker.state.value == "stopped")
        first = await stage.page.post(stage.at("demo"), {"caseType": "verified_calculation", "jobId": None})
        input_path(stage.profile.workspace).write_text('{"job_id": "calc-001"')
        second = await stage.page.post(stage.at("demo"), {"caseType": "verified_calculation", "jobId": None})
        third = await stage.page.post(stage.at("demo"), {"caseType": "anything", "jobId": None})
        return [each[1]["errorCode"] for each in (first, second, third)], stage.spawn.of("agent")
    assert play(stage, script) == (["worker_not_online", "order_refused", "case_type_unknown"], [])


def test_stopping_a_run_asks_the_agent_and_says_so(stage):
    lay_out(stage.profile.workspace)
    async def script(stage):
        nothing = await stage.page.post(stage.at("demo/stop"), {})
        await stage.page.post(stage.at("demo"), {"caseType": "verified_calculation", "jobId": None})
        await stage.page.post(stage.at("demo/stop"), {})
        await stage.until(lambda: not stage.instance.busy)
        return nothing[1]["errorCode"], stage.spawn.of("agent")[0].child.asked_to_stop
    assert play(stage, script) == ("run_not_running", True)


# roles

def test_each_role_gets_its_own_credentials_and_no_others(stage):
    async def script(stage):
        return stage.spawn.of("gateway")[0], stage.spawn.of("worker")[0]
    gateway, worker = play(stage, script)
    assert not any("rlt_" in value for value in gateway.env.values())
    assert worker.env["RULITH_CONNECTION_KEY"] == "rlt_key_scripted" and "rlt_agt_" not in str(worker.env)
    assert worker.env["RULITH_WORK_URL"].endswith("/work")
    assert "rlt_" not in str(worker.args) + str(gateway.args)


def test_a_gateway_that_dies_is_started_again_where_it_was_and_the_page_is_told(stage):
    async def script(stage):
        first = stage.spawn.of("gateway")[0]
        first.child.exit(-9, "Killed")
        await stage.until(lambda: stage.bench.gateway.state.value == "restarting")
        told = await stage.page.get("/api/state")
        second = await stage.spawn.wait_for("gateway", 2)
        second.child.tell({"type": "listening", "url": stage.gateway_url, "port": stage.gateway_server.port})
        await stage.until(lambda: stage.bench.gateway_row()["state"] == "online")
        return told["gateway"], second.args
    told, args = play(stage, script)
    assert (told["state"], told["detail"]) == ("restarting", "It was ended by signal 9.")
    assert args[args.index("--listen") + 1].startswith("127.0.0.1:")


def test_a_worker_that_crashes_is_shown_and_started_again(stage):
    async def script(stage):
        stage.spawn.of("worker")[0].child.exit(1, "disk gone")
        await stage.spawn.wait_for("worker", 2)
        rows = (await stage.page.get(stage.at("activity")))["rows"]
        return [row["type"] for row in rows], next(row for row in rows if row["type"] == "exit")
    types, exit_row = play(stage, script)
    assert {"spawn", "up", "exit", "restart-wait"} <= set(types) and exit_row["code"] == 1


def test_a_worker_whose_key_is_rejected_waits_for_the_person(stage):
    async def script(stage):
        stage.spawn.of("worker")[0].child.exit(3, "The gateway does not accept this Connection's credential.")
        await stage.until(lambda: stage.instance.worker.state.value == "needs_setup")
        return (await stage.page.get("/api/state"))["instances"][0]["worker"]
    worker = play(stage, script)
    assert worker["state"] == "needs_setup" and "credential" in worker["detail"]


# the Console, passed through

def test_the_console_is_passed_through_without_our_token_or_cookie(stage):
    async def script(stage):
        answer = await stage.page.ask("POST", "/console/api/sign-in", {"passphrase": "secret words"}, authorization="Bearer rlt_dev_x",
                                      cookie=f"{stage.page.cookie}; rulith_console=abc", x_rulith_console="token")
        return answer, stage.gateway.asked[-1]
    answer, seen = play(stage, script)
    assert answer.body == b'console:{"passphrase": "secret words"}'
    assert "rulith_console=s" in answer.headers.get("set-cookie")
    assert seen.headers.get("cookie") == "rulith_console=abc" and seen.headers.get("x-rulith-console") == "token"
    assert "x-rulith-manager" not in seen.headers and "authorization" not in seen.headers
    assert seen.headers.get("origin") == f"http://{seen.headers.get('host')}"


def test_the_console_keeps_its_own_policy(stage):
    async def script(stage):
        return (await stage.page.ask("GET", "/console/")).headers.getall("content-security-policy")
    assert play(stage, script) == ["default-src 'none'"]


def test_nothing_but_the_console_is_passed_through(stage):
    async def script(stage):
        return [(await stage.page.ask("GET", path)).status for path in ("/console/../local/state", "/console/%2e%2e/local/state", "/console/..%5clocal")]
    assert play(stage, script) == [404, 404, 404]


def test_a_page_of_another_origin_cannot_act_in_the_console(stage):
    async def script(stage):
        asked = len(stage.gateway.asked)
        answer = await stage.page.ask("POST", "/console/api/decide", {}, origin="http://evil.example")
        return answer.status, [each for each in stage.gateway.asked[asked:] if each.path.startswith("/console")]
    assert play(stage, script) == (403, [])


def test_with_no_gateway_the_console_says_so(stage):
    async def script(stage):
        await stage.page.open()
        answer = await stage.page.ask("GET", "/console/")
        return answer.status, answer.text()
    status, text = play(stage, script, up=False)
    assert status == 503 and "not running yet" in text


def test_going_on_with_a_case_needs_its_own_job_in_the_input(stage):
    lay_out(stage.profile.workspace)
    async def script(stage):
        other = await stage.page.post(stage.at("demo"), {"caseType": "approved_calculation", "jobId": "calc-777"})
        own = await stage.page.post(stage.at("demo"), {"caseType": "approved_calculation", "jobId": "calc-001"})
        return other, own[0]
    other, own = play(stage, script)
    assert (other[0], other[1]["errorCode"], own) == (409, "job_not_in_input", 200)


def test_a_gateway_that_somebody_else_started_meanwhile_is_used(stage):
    async def script(stage):
        write_runfile(stage.home.gateway_json, url=stage.gateway_url, port=stage.gateway_server.port)
        stage.spawn.of("gateway")[0].child.exit(1, "A gateway of this home runs already.")
        await stage.until(lambda: stage.bench.gateway_row()["owned"] is False and stage.bench.gateway_row()["state"] == "online")
        remove_runfile(stage.home.gateway_json)
        return len(stage.spawn.of("gateway"))
    assert play(stage, script) == 1


def test_a_worker_that_waits_for_the_line_of_one_before_it_says_so(stage):
    async def script(stage):
        worker = stage.spawn.of("worker")[0].child
        worker.tell({"type": "availability", "state": "offline", "code": "worker_lease_held"})
        held = (await stage.page.get("/api/state"))["instances"][0]["worker"]["lineHeld"]
        worker.tell({"type": "availability", "state": "online"})
        return held, (await stage.page.get("/api/state"))["instances"][0]["worker"]["lineHeld"]
    assert play(stage, script) == (True, False)


@pytest.mark.parametrize("answer", [(200, []), (500, "no object"), (200, "text")])
def test_an_answer_of_the_gateway_that_is_no_object_is_told_as_that(stage, answer):
    async def script(stage):
        stage.gateway.answers["case"] = answer
        found = await stage.page.ask("GET", stage.at("case?case=case_x"))
        return found.status, json.loads(found.body)["errorCode"]
    assert play(stage, script) == (502, "gateway_answer")


def test_a_worker_is_started_and_stopped_and_nothing_else(stage):
    async def script(stage):
        return (await stage.page.post(stage.at("worker"), {"operation": "reload"}))[1]["errorCode"]
    assert play(stage, script) == "worker_operation"
