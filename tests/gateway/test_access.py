"""Programs elsewhere ask for access; an owner answers; each fetches one Agent's token, once."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest

from rulith.base.errors import Refused
from rulith.gateway.access import DEVICE_GRANT, REQUESTS_MAX, Access, OAuthError, Told

CALLBACK = "http://localhost:5555/callback"
VERIFIER = "v" * 43
CHALLENGE = base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).rstrip(b"=").decode()
BY = {"kind": "person", "by": "owner"}


class Desk:
    """The core with counted secrets and a clock by hand."""

    def __init__(self) -> None:
        self.count, self.now = 0, 1_000.0
        self.core = Access(b"k" * 32, self.mint, lambda: f"ABCD{self.count:04d}")
        self.client = self.core.register({"client_name": "Host", "redirect_uris": [CALLBACK, "cursor://x/y"]})["client_id"]

    def mint(self, prefix: str) -> str:
        self.count += 1
        return f"{prefix}{self.count}"

    def ask(self, **changes: str):
        given = {"client_id": self.client, "response_type": "code", "redirect_uri": CALLBACK, "code_challenge": CHALLENGE,
                 "code_challenge_method": "S256", "state": "s 1&", **changes}
        return self.core.ask_by_browser({name: value for name, value in given.items() if value is not None}, "http://g/mcp", self.now)

    def approved(self) -> str:
        location = self.core.answer(self.ask().id, "", BY, self.now)
        query = parse_qs(urlsplit(location).query)
        assert location.startswith(CALLBACK) and query["state"] == ["s 1&"]
        return query["code"][0]

    def fetch(self, **given: str):
        return self.core.fetch({"client_id": self.client, **given}, "http://g/mcp", self.now)


def code_of(story) -> str:
    with pytest.raises(OAuthError) as wrong:
        story()
    return wrong.value.code


@pytest.mark.parametrize("uri", [
    "http://evil.example/cb", "javascript:alert(1)", "data:text/html,x", "https:///nohost", "http://localhost/x#f", "https://u@h/x", "", "x" * 600,
    "http://localhost:99999/", "no scheme", "HTTP://localhost/x y", 7, None, "https://h/\u00e9"])
def test_a_redirect_that_could_leak_a_code_is_not_registered(uri: object) -> None:
    assert code_of(lambda: Desk().core.register({"redirect_uris": [uri]})) == "invalid_redirect_uri"


@pytest.mark.parametrize("document", [None, [], "x", {"client_name": ""}, {"client_name": "a" * 65}, {"client_name": "a\nb"}, {"client_name": 1},
                                      {"token_endpoint_auth_method": "client_secret_basic"}])
def test_metadata_that_is_no_client_is_refused(document: object) -> None:
    assert code_of(lambda: Desk().core.register(document)) == "invalid_client_metadata"


def test_a_client_id_is_worth_what_was_signed_into_it() -> None:
    desk = Desk()
    for forged in ("rlc_x.y", "", "rlc_", desk.client[:-1] + ("A" if desk.client[-1] != "A" else "B"), "rlc_" + "a" * 40 + desk.client[desk.client.index("."):]):
        assert code_of(lambda forged=forged: desk.ask(client_id=forged)) == "invalid_client"
    assert Access(b"another key" * 3, desk.mint, lambda: "X").register({})["client_id"] != desk.client


def test_a_redirect_that_was_not_registered_is_told_on_no_redirect() -> None:
    desk = Desk()
    for uri in ("http://localhost:5555/other", "https://localhost:5555/callback", "http://127.0.0.1:5555/callback", "http://localhost.evil/callback", "http://x@localhost:1/callback"):
        assert code_of(lambda uri=uri: desk.ask(redirect_uri=uri)) == "invalid_request"
    assert desk.ask(redirect_uri="http://localhost:61234/callback").redirect == "http://localhost:61234/callback"     # another port of loopback


@pytest.mark.parametrize("changes", [{"response_type": "token"}, {"code_challenge_method": "plain"}, {"code_challenge": "short"}, {"code_challenge": None},
                                     {"scope": "admin"}, {"resource": "https://other/api"}, {"state": "x" * 2000}])
def test_a_wrong_request_goes_back_by_its_redirect(changes: dict) -> None:
    with pytest.raises(Told) as told:
        Desk().ask(**changes)
    query = parse_qs(urlsplit(told.value.location).query)
    assert told.value.location.startswith(CALLBACK) and query["error"] and "code" not in query


def test_a_code_is_fetched_once_with_its_verifier_by_its_client() -> None:
    desk = Desk()
    code = desk.approved()
    found = desk.fetch(grant_type="authorization_code", code=code, code_verifier=VERIFIER, redirect_uri=CALLBACK)
    assert found.by == BY and found.agent_id == ""
    assert code_of(lambda: desk.fetch(grant_type="authorization_code", code=code, code_verifier=VERIFIER)) == "invalid_grant"


@pytest.mark.parametrize("changes", [{"code_verifier": "w" * 43}, {"code_verifier": "short"}, {"code_verifier": ""}, {"redirect_uri": "http://localhost:1/callback"},
                                     {"client_id": "other"}])
def test_a_code_that_does_not_fit_is_used_up(changes: dict) -> None:
    desk = Desk()
    code = desk.approved()
    right = {"grant_type": "authorization_code", "code": code, "code_verifier": VERIFIER, "redirect_uri": CALLBACK}
    assert code_of(lambda: desk.fetch(**{**right, **changes})) == "invalid_grant"
    assert code_of(lambda: desk.fetch(**right)) == "invalid_grant"


def test_a_code_ends_after_a_minute_and_a_request_after_ten() -> None:
    desk = Desk()
    code = desk.approved()
    desk.now += 61
    assert code_of(lambda: desk.fetch(grant_type="authorization_code", code=code, code_verifier=VERIFIER)) == "invalid_grant"
    asked = desk.ask()
    desk.now += 601
    assert desk.core.waiting(desk.now) == []
    with pytest.raises(Refused):
        desk.core.answer(asked.id, "", BY, desk.now)


def test_a_device_waits_is_slowed_and_fetches_once() -> None:
    desk = Desk()
    asked = desk.core.ask_by_device({"client_id": desk.client}, "http://g/mcp", desk.now)
    poll = lambda **more: desk.fetch(grant_type=DEVICE_GRANT, device_code=asked.device_code, **more)  # noqa: E731
    assert desk.core.waiting(desk.now) == []                    # it shows to whoever has its code, and to nobody else
    assert code_of(poll) == "authorization_pending" and code_of(poll) == "slow_down"
    desk.now += 11
    assert code_of(poll) == "authorization_pending"
    assert code_of(lambda: poll(client_id="other")) == "expired_token"
    typed = asked.user_code[:4].lower() + " - " + asked.user_code[4:]
    assert desk.core.by_user_code(typed, desk.now) is asked
    assert desk.core.answer(asked.id, "agent_1", BY, desk.now) == ""
    assert poll().agent_id == "agent_1" and code_of(poll) == "expired_token"


def test_a_device_that_is_denied_hears_it_once() -> None:
    desk = Desk()
    asked = desk.core.ask_by_device({"client_id": desk.client}, "http://g/mcp", desk.now)
    desk.core.answer(asked.id, None, BY, desk.now)
    with pytest.raises(Refused):
        desk.core.answer(asked.id, "", BY, desk.now)            # an answer stands
    poll = lambda: desk.fetch(grant_type=DEVICE_GRANT, device_code=asked.device_code)  # noqa: E731
    assert code_of(poll) == "access_denied" and code_of(poll) == "expired_token"


def test_requests_are_bounded() -> None:
    desk = Desk()
    for _ in range(REQUESTS_MAX + 50):
        desk.ask()
    assert len(desk.core.waiting(desk.now)) == REQUESTS_MAX


def test_whoever_asks_most_loses_its_own_first() -> None:
    desk = Desk()
    asked = desk.core.ask_by_device({"client_id": desk.client}, "http://g/mcp", desk.now, "192.0.2.1")
    for _ in range(REQUESTS_MAX + 50):
        desk.core.ask_by_device({"client_id": desk.client}, "http://g/mcp", desk.now, "192.0.2.66")
    assert desk.core.by_user_code(asked.user_code, desk.now) is asked


# --- over HTTP, with the person's own page ---------------------------------------------


class Person:
    """An owner at the Console, by its API."""

    def __init__(self, kit, world) -> None:
        self.kit, self.world, self.rows = kit, world, {}

    async def post(self, route: str, body: dict):
        rows = {"content-type": "application/json", **self.rows}
        return await self.kit.http(self.world.port, "POST", f"/console/api/{route}", rows, json.dumps(body).encode())

    async def sign_in(self) -> Person:
        answer = await self.post("setup", {"code": self.world.gateway.setup_code, "passphrase": "correct horse battery"})
        assert answer.status == 200, answer.body
        self.rows = {"cookie": answer.headers["set-cookie"].partition(";")[0], "x-rulith-console": answer.json()["token"]}
        return self

    async def get(self, route: str):
        return (await self.kit.http(self.world.port, "GET", f"/console/api/{route}", self.rows)).json()


def form(fields: dict) -> tuple[dict, bytes]:
    return {"content-type": "application/x-www-form-urlencoded"}, urlencode(fields).encode()


def test_an_mcp_host_finds_asks_and_speaks_for_a_new_agent(play, kit) -> None:
    async def story(world) -> None:
        person = await Person(kit, world).sign_in()
        unknown = await kit.http(world.port, "POST", "/mcp", {"content-type": "application/json"}, b"{}")
        metadata = urlsplit(re.search(r'resource_metadata="([^"]+)"', unknown.headers["www-authenticate"])[1]).path
        resource = (await kit.http(world.port, "GET", metadata)).json()
        assert resource["resource"] == f"http://127.0.0.1:{world.port}/mcp"
        server = (await kit.http(world.port, "GET", "/.well-known/oauth-authorization-server")).json()
        assert server["issuer"] in resource["authorization_servers"] and server["code_challenge_methods_supported"] == ["S256"]
        body = json.dumps({"client_name": "Claude Code", "redirect_uris": [CALLBACK]}).encode()
        client = await kit.http(world.port, "POST", "/register", {"content-type": "application/json"}, body)
        assert client.status == 201 and client.headers["access-control-allow-origin"] == "*"
        asking = {"client_id": client.json()["client_id"], "response_type": "code", "redirect_uri": CALLBACK, "code_challenge": CHALLENGE,
                  "code_challenge_method": "S256", "state": "x", "resource": resource["resource"]}
        page = await kit.http(world.port, "GET", "/authorize?" + urlencode(asking))
        assert page.status == 302 and page.headers["location"].startswith("/console/#access/")
        rows = (await person.get("access"))["access"]
        assert [row["name"] for row in rows] == ["Claude Code"] and rows[0]["redirect"] == CALLBACK
        done = (await person.post("access-answer", {"id": rows[0]["id"], "verdict": "approve"})).json()
        code = parse_qs(urlsplit(done["result"]["location"]).query)["code"][0]
        before = len(world.gateway.authority.agents)
        token = await kit.http(world.port, "POST", "/token", *form({"grant_type": "authorization_code", "code": code, "code_verifier": VERIFIER,
                                                                    "client_id": asking["client_id"], "redirect_uri": CALLBACK}))
        assert token.status == 200 and token.headers["cache-control"] == "no-store" and token.json()["token_type"] == "Bearer"
        assert len(world.gateway.authority.agents) == before + 1
        host = world.host(declares=False)
        host.token = token.json()["access_token"]
        await host.initialize()
        assert (await world.open_case(host))["root"]
        again = await kit.http(world.port, "POST", "/token", *form({"grant_type": "authorization_code", "code": code, "code_verifier": VERIFIER, "client_id": asking["client_id"]}))
        assert again.status == 400 and again.json()["error"] == "invalid_grant"
    play(story)


def test_a_headless_program_asks_by_a_code_and_takes_over_an_agent_that_was_chosen(play, kit) -> None:
    async def story(world) -> None:
        person = await Person(kit, world).sign_in()
        client = (await kit.http(world.port, "POST", "/register", {"content-type": "application/json"}, b'{"client_name":"cron"}')).json()["client_id"]
        asked = (await kit.http(world.port, "POST", "/device_authorization", *form({"client_id": client}))).json()
        assert asked["interval"] == 5 and asked["expires_in"] == 600 and re.fullmatch(r"[A-Z2-9]{4}-[A-Z2-9]{4}", asked["user_code"])
        fetch = form({"grant_type": DEVICE_GRANT, "device_code": asked["device_code"], "client_id": client})
        assert (await kit.http(world.port, "POST", "/token", *fetch)).json()["error"] == "authorization_pending"
        assert (await person.get("access"))["access"] == []
        assert (await person.get("access-code?code=WRONGONE"))["errorCode"] == "access_unknown"
        shown = (await person.get("access-code?code=" + asked["user_code"].lower()))["asked"]
        assert shown["name"] == "cron"
        assert (await person.post("access-answer", {"id": shown["id"], "verdict": "approve", "agentId": "agent_none"})).json()["errorCode"] == "unknown_agent"
        old, agent = world.token, next(iter(world.gateway.authority.agents))
        assert (await person.post("access-answer", {"id": shown["id"], "verdict": "approve", "agentId": agent})).status == 200
        assert (await kit.http(world.port, "POST", "/mcp", {"authorization": f"Bearer {old}", "content-type": "application/json"}, b"{}")).status != 401
        token = (await kit.http(world.port, "POST", "/token", *fetch)).json()["access_token"]
        host = world.host()
        assert host.token == token          # the profile of this home was handed it too
        await host.initialize()
        assert (await kit.http(world.port, "POST", "/mcp", {"authorization": f"Bearer {old}", "content-type": "application/json"}, b"{}")).status == 401
    play(story)


def test_nobody_but_an_owner_answers(play, kit) -> None:
    async def story(world) -> None:
        person = await Person(kit, world).sign_in()
        client = (await kit.http(world.port, "POST", "/register", {"content-type": "application/json"}, b"{}")).json()["client_id"]
        asked = (await kit.http(world.port, "POST", "/device_authorization", *form({"client_id": client}))).json()
        shown = (await person.get("access-code?code=" + asked["user_code"]))["asked"]
        body = json.dumps({"id": shown["id"], "verdict": "approve"}).encode()
        plain = {"content-type": "application/json"}
        for rows in ({}, {"authorization": f"Bearer {world.token}"}, {"authorization": f"Bearer {world.device}"}, {"cookie": person.rows["cookie"]},
                     {**person.rows, "origin": "https://evil.example"}, {**person.rows, "x-rulith-console": "guess"}):
            answer = await kit.http(world.port, "POST", "/console/api/access-answer", {**plain, **rows}, body)
            assert answer.status in (401, 403), (rows, answer.body)
        fetch = form({"grant_type": DEVICE_GRANT, "device_code": asked["device_code"], "client_id": client})
        assert (await kit.http(world.port, "POST", "/token", *fetch)).json()["error"] == "authorization_pending"
    play(story)


@pytest.mark.parametrize(("method", "path", "rows", "body", "status"), [
    ("GET", "/token", {}, None, 405), ("POST", "/authorize", {}, b"", 405), ("POST", "/token", {"content-type": "application/json"}, b"{}", 400),
    ("POST", "/token", {"content-type": "application/x-www-form-urlencoded"}, b"grant_type=password", 400),
    ("POST", "/token", {"content-type": "application/x-www-form-urlencoded"}, b"a=1&a=2", 400),
    ("POST", "/token", {"content-type": "application/x-www-form-urlencoded"}, b"\xff\xfe=%ff", 400),
    ("POST", "/token", {"content-type": "application/x-www-form-urlencoded"}, b"grant_type=authorization_code&code=%C3%A9", 400),
    ("POST", "/device_authorization", {"content-type": "application/x-www-form-urlencoded"}, b"client_id=none", 401),
    ("POST", "/register", {}, b"not json", 400), ("POST", "/register", {}, b"", 400), ("GET", "/authorize", {}, None, 401),
    ("GET", "/authorize?client_id=x", {"origin": "https://evil.example"}, None, 403)])
def test_what_is_no_request_is_refused_in_the_words_of_the_standard(play, kit, method, path, rows, body, status) -> None:
    async def story(world) -> None:
        answer = await kit.http(world.port, method, path, rows, body)
        assert answer.status == status and set(answer.json()) == {"error", "error_description"}, answer.body
    play(story)
