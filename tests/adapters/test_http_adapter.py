"""The http adapter against a real server: where it goes, what it sends, and what each answer means (the Worker contract, "http")."""

import asyncio
import socket

import pytest

from rulith.adapters.hands import Hands
from rulith.adapters.outbound import Outbound
from rulith.adapters.outcomes import Call, Executed, Failed, Withheld
from rulith.adapters.sources import Source
from rulith.adapters.territory import Territory
from rulith.base.errors import Refused
from rulith.wire.manifest import read_tool
from tests.adapters.far_server import CUT, HANG, answer, far_server

BOUND_S = 100
HALF = answer(200, b"whole")[:-3]
DONE = {"stage": "terminal", "statuses": [200, 201], "json": {"field": "state", "equals": "stored"}}


def tool(**members):
    return read_tool("acme.web@1", {"adapter": "http", "sourceTypes": ["http"], "entry": "orders/{id}", "params": {"id": "string"}, **members})


def write(**members):
    return tool(entry="orders", kind="write", params={"id": "string", "lines": "json?"}, **members)


def compiled(made, url, arguments, environ=None, **secrets):
    hands = Hands(Territory("/nowhere", "/nowhere/home"), {}, outbound=Outbound(environ or {}))
    source = Source("shop", "http", url, {"url": url, **secrets})
    return hands.compile(Call("inv_1", "key", made, arguments, source))


def play(script, made, arguments, *, base="", **secrets):
    """One call against a server that follows `script`; the outcome and what the server saw."""

    async def run():
        async with far_server(script) as far:
            return await compiled(made, far.url + base, arguments, **secrets).run(), far

    return asyncio.run(asyncio.wait_for(run(), BOUND_S))


def one(body=b"{}", status=200, **more):
    return lambda request: answer(status, body, **more)


# -- what is sent ----------------------------------------------------------------------


def test_an_argument_of_the_path_is_encoded_and_the_rest_is_the_query():
    made = tool(kind="read", params={"id": "string", "from": "number", "all": "boolean", "tags": "json"})
    outcome, far = play(one({"rows": []}), made, {"id": "a b/ü", "from": 7, "all": True, "tags": {"k": [1]}}, base="/v1/")
    assert outcome == Executed('HTTP 200: {"rows": []}')
    assert (far.seen[0].method, far.seen[0].target) == (
        "GET", "/v1/orders/a%20b%2F%C3%BC?from=7&all=true&tags=%7B%22k%22%3A%5B1%5D%7D")
    assert far.seen[0].body == b"" and "authorization" not in far.seen[0].headers


@pytest.mark.parametrize("base, entry, target", [
    ("", "orders", "/orders"), ("/v1", "orders", "/v1/orders"), ("/v1/", "orders", "/v1/orders"), ("/v1", "/orders", "/orders"),
    ("/v1", "orders?open=yes", "/v1/orders?open=yes&id=7"), ("", "a/é", "/a/%C3%A9"), ("", "a%20b", "/a%20b"),
])
def test_the_path_lies_below_the_sources_url(base, entry, target):
    outcome, far = play(one(), tool(entry=entry, kind="read"), {"id": "7"}, base=base)
    assert isinstance(outcome, Executed) and far.seen[0].target == target + ("" if "id=" in target else "?id=7")


def test_a_write_sends_the_rest_as_json_with_the_vaults_headers_and_token():
    outcome, far = play(one(), write(), {"id": "é", "lines": [1, 2.5]}, headers={"X-Shop": "north"}, token="tok-123")
    seen = far.seen[0]
    assert outcome == Executed("HTTP 200: {}", unreadable="http_write_facts_unavailable")
    assert seen.method == "POST" and seen.json == {"id": "é", "lines": [1, 2.5]}
    assert seen.headers["authorization"] == "Bearer tok-123" and seen.headers["x-shop"] == "north"
    assert seen.headers["content-type"] == "application/json"


def test_an_authorization_header_of_the_vault_wins_over_its_token():
    _, far = play(one(), write(), {"id": "1"}, headers={"Authorization": "Basic abc"}, token="tok-123")
    assert far.seen[0].headers["authorization"] == "Basic abc"


@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"])
def test_the_fence_chooses_the_method(method):
    outcome, far = play(lambda request: answer(200, b"" if request.method == "HEAD" else b"{}"),
                        tool(kind="write", fence={"method": method}), {"id": "7"})
    assert far.seen[0].method == method and isinstance(outcome, Executed)
    assert far.seen[0].body == (b"{}" if method in ("POST", "PUT", "PATCH") else b"")


def test_a_text_write_puts_plain_text_at_its_target():
    made = tool(entry="notes/{name}", params={"name": "string", "body": "string"}, fence={"textWrite": {"target": "name", "text": "body"}})
    outcome, far = play(one(status=201), made, {"name": "note.txt", "body": "grüße\n"})
    assert isinstance(outcome, Executed)
    assert (far.seen[0].method, far.seen[0].target, far.seen[0].body) == ("PUT", "/notes/note.txt", "grüße\n".encode())
    assert far.seen[0].headers["content-type"] == "text/plain; charset=utf-8"


@pytest.mark.parametrize("arguments", [{"name": "a/b", "body": ""}, {"name": ".hidden", "body": ""}, {"name": "x" * 129, "body": ""},
                                       {"name": "a b", "body": ""}, {"name": "a", "body": "x" * 16_385}, {"name": "a", "body": "\ud800"}])
def test_a_text_write_with_another_target_or_too_much_text_is_refused(arguments):
    made = tool(entry="notes/{name}", params={"name": "string", "body": "string"}, fence={"textWrite": {"target": "name", "text": "body"}})
    with pytest.raises(Refused) as caught:
        compiled(made, "http://127.0.0.1:1", arguments)
    assert caught.value.code == "argument_refused"


@pytest.mark.parametrize("value", ["..", ".", "../admin", "a/../b", "..\\admin", "a/..", "", "\ud800"])
def test_an_argument_that_would_lead_to_another_path_is_refused(value):
    with pytest.raises(Refused) as caught:
        compiled(tool(kind="read"), "http://127.0.0.1:1/v1", {"id": value})
    assert caught.value.code == "argument_refused"


def test_a_path_that_climbs_and_an_address_of_any_length_are_refused():
    with pytest.raises(Refused) as caught:
        compiled(tool(entry="a/../b", kind="read"), "http://127.0.0.1:1", {"id": "1"})
    assert caught.value.code == "adapter_refused"
    with pytest.raises(Refused) as caught:
        compiled(tool(kind="read"), "http://127.0.0.1:1", {"id": "x" * 9_000})
    assert caught.value.code == "resource_limit"


@pytest.mark.parametrize("url, secrets, problem", [
    ("", {}, "no address"), ("vault", {}, "no address"), ("ftp://shop.example", {}, "neither http"),
    ("https://u:p@shop.example", {}, "user name"), ("https://shop.example/?a=1", {}, "query"), ("https://shop.example/#a", {}, "fragment"),
    ("https://shop.example:port", {}, "cannot be read"), ("https://", {}, "neither http"), ("https://shop.example/a b", {}, "%-encoded"),
    ("https://shöp.example/", {}, "%-encoded"),
    ("https://shop.example", {"allowHosts": ["other.example"]}, "allowHosts"), ("https://shop.example", {"allowHosts": "shop.example"}, "allowHosts"),
    ("https://shop.example", {"headers": {"Host": "x"}}, "header host"), ("https://shop.example", {"headers": {"a b": "x"}}, "header name"),
    ("https://shop.example", {"headers": {"X": "a\r\nb"}}, "header x"), ("https://shop.example", {"headers": {"X": 7}}, "header x"),
    ("https://shop.example", {"headers": []}, "headers must"), ("https://shop.example", {"headers": {"X": "1", "x": "2"}}, "twice"),
    ("https://shop.example", {"token": "two words"}, "token"), ("http://shop.example", {"token": "t"}, "plain text"),
    ("http://shop.example", {"headers": {"X-Key": "k"}}, "plain text"), ("https://shop.example", {"dsn": "x"}, "'dsn'"),
])
def test_a_source_that_cannot_be_reached_safely_is_refused_by_member(url, secrets, problem):
    with pytest.raises(Refused) as caught:
        compiled(tool(kind="read"), url, {"id": "1"}, **secrets)
    assert caught.value.code == "source_unusable" and problem in caught.value.facts["problem"]


def test_an_unreadable_certificate_file_is_said_before_the_claim():
    with pytest.raises(Refused) as caught:
        compiled(tool(kind="read"), "https://shop.example", {"id": "1"}, environ={"RULITH_CA_FILE": "/nowhere.pem"})
    assert caught.value.code == "ca_file_unreadable"


# -- what an answer means --------------------------------------------------------------


@pytest.mark.parametrize("status", [301, 302, 307, 400, 401, 404, 409, 429, 500, 503])
def test_any_other_status_is_a_failure_in_its_own_number(status):
    elsewhere = {"location": "http://127.0.0.1:1/elsewhere"}
    for made in (tool(kind="read"), tool(kind="write")):
        outcome, far = play(one(b"secret detail", status, **elsewhere), made, {"id": "1"})
        assert outcome == Failed(f"HTTP {status}") and len(far.seen) == 1


@pytest.mark.parametrize("status", [202, 303, 502, 504])
def test_a_write_whose_answer_says_nothing_of_its_end_is_unknown(status):
    outcome, far = play(one(status=status), write(), {"id": "1"})
    assert isinstance(outcome, Withheld) and outcome.code == "http_write_terminal_unconfirmed" and len(far.seen) == 1
    outcome, _ = play(one(status=status), tool(kind="read"), {"id": "1"})
    assert outcome == (Executed("HTTP 202: {}") if status == 202 else Failed(f"HTTP {status}"))


@pytest.mark.parametrize("said", [CUT, HALF, b"not http at all\r\n\r\n",
                                  answer(200, b"x" * 16_385), HANG])
def test_a_write_without_an_answer_is_unknown_and_a_read_has_failed(said):
    outcome, far = play(lambda request: said, write(fence={"timeoutMs": 1000}), {"id": "1"})
    assert isinstance(outcome, Withheld) and outcome.code == "http_write_transport_unknown" and outcome.why
    assert len(far.seen) == 1                     # never sent again
    outcome, _ = play(lambda r: said, tool(kind="read", fence={"method": "GET", "timeoutMs": 1000}), {"id": "1"})
    assert isinstance(outcome, Failed)


def test_a_write_that_was_never_sent_has_failed():
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{closed.getsockname()[1]}"
        outcome = asyncio.run(compiled(write(), url, {"id": "1"}).run())
    assert isinstance(outcome, Failed) and "nothing was sent" in outcome.reason


def test_the_limit_of_the_fence_holds():
    made = tool(kind="read", fence={"method": "GET", "maxResponseBytes": 10})
    assert isinstance(play(one(b"x" * 10), made, {"id": "1"})[0], Executed)
    assert isinstance(play(one(b"x" * 11), made, {"id": "1"})[0], Failed)


@pytest.mark.parametrize("body, status, confirmed", [
    ({"state": "stored"}, 200, True), ({"state": "stored", "more": 1}, 201, True), ({"state": "queued"}, 200, False),
    ({}, 200, False), ([], 200, False), (b"stored", 200, False), (b"", 200, False), ({"state": "stored"}, 202, False),
    ({"state": "stored"}, 409, False), ({"state": "stored"}, 500, False), ({"state": "stored"}, 302, False),
])
def test_a_completion_is_confirmed_by_status_and_marker_or_unknown(body, status, confirmed):
    outcome, _ = play(one(body, status), write(fence={"completion": DONE}), {"id": "1"})
    if confirmed:
        assert isinstance(outcome, Executed) and outcome.confirmed and outcome.unreadable == "http_write_facts_unavailable"
    else:
        assert isinstance(outcome, Withheld) and outcome.code == "http_write_terminal_unconfirmed"


@pytest.mark.parametrize("equals, found, same", [(True, True, True), (True, 1, False), (1, True, False), (1, 1.0, True), ("1", 1, False), (0, False, False)])
def test_a_marker_is_compared_with_its_kind(equals, found, same):
    completion = {**DONE, "json": {"field": "state", "equals": equals}}
    outcome, _ = play(one({"state": found}), write(fence={"completion": completion}), {"id": "1"})
    assert isinstance(outcome, Executed) is same


def test_each_call_has_a_connection_of_its_own():
    async def run():
        async with far_server(one()) as far:
            for number in range(3):
                await compiled(write(), far.url, {"id": str(number)}).run()
            return far.connections

    assert asyncio.run(run()) == 3


def test_a_proxy_of_the_environment_is_not_asked():
    outcome, far = play(one(), tool(kind="read"), {"id": "1"}, environ={"HTTP_PROXY": "http://127.0.0.1:1"})
    assert isinstance(outcome, Executed) and len(far.seen) == 1
