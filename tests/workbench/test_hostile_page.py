"""Every route of the page under hostile heads, bodies and questions: each gets a refusal by its code, and nothing moves.

Routes come from the API's own tables, and the members of a body from what each route says it takes.

Duty: the design, §8 (Host, Origin, content-type and method before any body); the workbench surface, "Manager HTTP", "Security"
"""

import asyncio
import json

import pytest

from rulith.base.codes import CODES
from rulith.disk.materials import model_destination
from rulith.workbench.api import READS

from tests.workbench.scripted_bench import Page, head
from tests.workbench.test_page_http import play

HUGE = "x" * 60_000
DEEP = b'{"a":' * 200 + b"1" + b"}" * 200
BODIES = [b"", b"null", b"[]", b"7", b'"x"', b"{", b"\xff\xfe", b'{"a":NaN}', b'{"a":1,"a":2}', DEEP, b"{}", b'{"unknown":1}', b'{"__proto__":{}}']
WRONG = [None, True, 1.5, 10**15, "", "x", HUGE, "\0../..", "\udcff", "😀" * 500, [], ["x"] * 3000, {}, {"a": {"b": None}}]
KINDS = [7, [], {"a": []}]
RIGHT_AS_WELL = [("files", [])]
QUESTIONS = ["", "\0", "../../x", HUGE[:8000], "-1", "😀", "a b"]
# What an empty object asks for in earnest: it is no hostile body there.
EMPTY_IS_A_WISH = {"demo/stop", "mcp-services/install", "/api/settings/doctor", "/api/account/refresh", "/api/account/signout", "/api/account/forget"}
# And what is right as it stands, among the wrong ones.
RIGHT = {"conversation/archive": ("archived", True), "/api/settings/steps": ("away", True), "/api/settings/doctor": ("repair", True)}
# Reads that ask the network; their own tests refuse what is asked of them.
ABROAD = {"mcp-services/search", "mcp-services/detail", "mcp-services/downloads"}


def posts(stage):
    """(path, name) of every route that is told something."""
    api = stage.api
    return [*((stage.at(name), name) for name in api._posts if name != "materials/deliver"),
            *((f"/api/profiles/{name}", f"/api/profiles/{name}") for name in api.profiles.home_posts),
            *((f"/api/account/{name}", f"/api/account/{name}") for name in api.account.posts),
            *((f"/api/settings{name}", f"/api/settings{name}") for name in api.settings.posts), ("/council/role", "/council/role")]


def gets(stage):
    api = stage.api
    names = [name for name in {**api._gets, **dict.fromkeys(READS)} if name not in ABROAD]
    return [*map(stage.at, names), "/api/state", "/events", "/api/settings", "/api/settings/log"]


def state_of(stage):
    """What a hostile request must leave as it is: each file of the home by its bytes, but for locks, and what runs."""
    files = {str(each.relative_to(stage.home.path)): each.read_bytes() for each in stage.home.path.rglob("*") if each.is_file() and each.suffix not in (".lock", ".log")}
    return {**files, "processes": len(stage.spawn.calls), "rows": stage.bench.feed.sequence}


def moved(before, stage):
    """The names of what is another now."""
    after = state_of(stage)
    return {name for name in {**before, **after} if before.get(name) != after.get(name)}


def judged(answer, what):
    """Its code. Whatever it is, it is one JSON object that names a code we teach."""
    assert dict(answer.headers.items() if hasattr(answer.headers, "items") else answer.headers)["content-type"] == "application/json", (what, answer.status, answer.body[:200])
    said = json.loads(answer.body)
    assert 400 <= answer.status < 500 or answer.status in (502, 503), (what, answer.status, said)
    assert said["ok"] is False and said["errorCode"] in CODES and said["teaching"] and said["happened"], (what, said)
    return said["errorCode"]


async def members_of(stage, path):
    """The names that a route takes, as its own refusal tells them."""
    said = json.loads((await stage.page.ask("POST", path, {"unknown": 1})).body)
    assert said["errorCode"] == "body_field", (path, said)
    return [name for name in said["facts"]["fields"].split(", ") if name not in ("none", "")]


def test_no_body_of_any_shape_moves_anything_or_goes_without_a_code(stage, capfd):
    async def script(stage):
        before = state_of(stage)
        for path, name in posts(stage):
            for body in BODIES:
                if name in EMPTY_IS_A_WISH and body in (b"", b"{}"):
                    continue
                judged(await stage.page.ask("POST", path, body), (path, body[:40]))
            assert moved(before, stage) == set(), path
        return len(posts(stage))
    assert play(stage, script) > 35
    assert "Traceback" not in "".join(capfd.readouterr())


def rightly(stage, name, route, revision):
    """A member as it is when nothing is wrong with it, so that only its neighbour can be refused."""
    tells = {"mode": {"/api/profiles/create": "local_agent", "worker-tools/workspace": "read"}.get(route, "stdio"), "revision": revision, "expected": stage.instance.row()["revision"],
             "requestId": "r" * 32, "modelDestination": model_destination(stage.profile), "bytes": "aGk=", "url": "http://127.0.0.1:9/v1", "maxOutputTokens": 1024, "source": "custom",
             "thinking": "standard", "per": "day", "mediaType": "text/plain", "attachments": ["ui_" + "0" * 32], "from": stage.profile.id, "name": "fs", "args": [], "command": "true",
             "definition": {"id": "local.x@1", "kind": "read"}, "id": "local.x@1", "tools": [{"name": "a", "kind": "read"}], "businessKey": {"a": 1}, "replaces": None, "cwd": None, "profile": None,
             **dict.fromkeys(("rounds", "tokens", "money", "maxRounds", "answers", "resultId"), ""), **dict.fromkeys(("clearKey", "toolsAsText", "archived"), False),
             **dict.fromkeys(("values", "env", "target"), {}), "isNew": True, "files": [], "clearSecrets": []}
    return tells.get(name, "x")


def test_no_member_of_a_wrong_kind_moves_anything_or_goes_without_a_code(stage, capfd):
    """All members wrong alike; then each one wrong beside right ones, so that none hides behind another."""
    async def script(stage):
        before, revision = state_of(stage), (await stage.page.get(stage.at("worker-tools/state")))["revision"]
        for path, route in posts(stage):
            names = await members_of(stage, path)
            tries = [dict.fromkeys(names, wrong) for wrong in WRONG]
            for name in names if len(names) > 1 else ():
                right = {each: rightly(stage, each, route, revision) for each in names}
                tries += [{**right, name: wrong} for wrong in KINDS if wrong != right[name] and (name, wrong) not in RIGHT_AS_WELL]
            for given in tries if names else ():
                if RIGHT.get(route) in given.items():
                    continue
                said = await stage.page.ask("POST", path, json.dumps(given, ensure_ascii=True).encode())
                judged(said, (path, {name: str(value)[:40] for name, value in given.items()}))
            assert moved(before, stage) == set(), path
    play(stage, script)
    assert "Traceback" not in "".join(capfd.readouterr())


def test_no_question_of_any_shape_moves_anything_or_breaks_an_answer(stage, capfd):
    names = ("id", "case", "session", "text", "before", "offset", "archived", "name", "from", "to", "limit", "atom", "tier", "result", "after", "wait")

    async def script(stage):
        from urllib.parse import quote
        stage.gateway.answers = {name: (404, {"ok": False, "errorCode": "case_unknown", "teaching": "There is no such Case."}) for name in READS}
        before = state_of(stage)
        for path in gets(stage):
            for question in QUESTIONS:
                query = "&".join(f"{name}={quote(question)}" for name in names)
                if path == "/events":
                    query = f"after={quote(question)}&wait=0"
                answer = await stage.page.ask("GET", f"{path}?{query}" if len(query) < 30_000 else f"{path}?text={quote(question)}")
                assert answer.status != 500 and answer.status < 504, (path, question[:20], answer.status, answer.body[:100])
                if answer.status >= 400:
                    said = json.loads(answer.body)
                    assert said["ok"] is False and said["errorCode"] and said["teaching"], (path, question[:20], said)
        assert moved(before, stage) == set()
    play(stage, script)
    assert "Traceback" not in "".join(capfd.readouterr())


HEADS = [({"host": "evil.example"}, "host_not_loopback"), ({"host": None}, "host_not_loopback"), ({"origin": "http://evil.example"}, "origin_foreign"),
         ({"origin": "null"}, "origin_foreign"), ({"sec-fetch-site": "cross-site"}, "origin_foreign"), ({"x-rulith-manager": None}, "token_unknown"),
         ({"x-rulith-manager": "guess"}, "token_unknown"), ({"content-type": "text/plain"}, "body_not_object"), ({"content-type": None}, "body_not_object"),
         ({"content-length": str(13 * 2**20)}, "request_too_large")]


def test_every_route_judges_a_head_before_its_body(stage):
    async def script(stage):
        rows = {"host": stage.page.origin.partition("//")[2], "origin": stage.page.origin, "cookie": stage.page.cookie,
                "x-rulith-manager": stage.page.token, "content-type": "application/json", "content-length": "40"}

        def said(method, path, **fields):
            answer = stage.api.head_check(head(method, path, **{**rows, **fields}))
            return answer and judged(answer, (method, path, fields))
        for path, _ in posts(stage):
            assert said("POST", path) is None, path
            for method in ("PUT", "DELETE", "PATCH", "OPTIONS", "BREW"):
                assert said(method, path) == "route_unknown"
            for fields, code in HEADS:
                assert said("POST", path, **fields) == code, (path, fields)
        for path in gets(stage):
            if not any(path == told for told, _ in posts(stage)):
                assert said("POST", path) == "route_unknown", path
            for fields, code in HEADS[:7]:
                assert said("GET", path, **{**fields, "content-length": None}) == code, (path, fields)
        for path in ("/", "/favicon.ico", "/ui/app.js", "/nothing", stage.at("nothing"), "/api/profiles/nothing", "/api/settings/nothing"):
            assert said("POST", path) == "route_unknown", path
    play(stage, script)


@pytest.mark.parametrize(("fields", "status"), [({"x-rulith-manager": "w" * 32, "cookie": None}, 401), ({"cookie": None}, 401), ({"origin": None}, 403),
                                                ({"origin": "http://evil.example"}, 403), ({"sec-fetch-site": "cross-site"}, 403)])
def test_who_may_not_have_a_token_is_told_so_before_its_body_is_read(stage, fields, status):
    async def script(stage):
        rows = {"host": stage.page.origin.partition("//")[2], "origin": stage.page.origin, "cookie": stage.page.cookie, "content-length": "9"}
        answer = stage.api.head_check(head("POST", "/api/token", **{**rows, **fields}))
        return answer and answer.status, stage.api.head_check(head("POST", "/api/token", **rows))
    assert play(stage, script) == (status, None)


def test_a_stranger_changes_nothing_by_any_route(stage):
    async def script(stage):
        before, stranger = state_of(stage), Page(stage.client, stage.page.origin)
        codes = {judged(await stranger.ask("POST", path, {"operation": "stop", "name": "x"}), path) for path, _ in posts(stage)}
        assert moved(before, stage) == set()
        return codes
    assert play(stage, script) == {"token_unknown"}


def test_on_the_wire_a_refused_head_is_answered_though_its_body_never_comes(stage):
    async def script(stage):
        async def answered(line, rows):
            reader, writer = await asyncio.open_connection("127.0.0.1", stage.server.port)
            writer.write((line + "\r\n" + "".join(f"{name}: {value}\r\n" for name, value in rows.items() if value is not None) + "\r\n{").encode())
            told, _, body = (await asyncio.wait_for(reader.read(), 30)).partition(b"\r\n\r\n")      # until it closes
            writer.close()
            assert b"\r\nconnection: close" in told, line
            return json.loads(body)["errorCode"]
        host = stage.page.origin.partition("//")[2]
        rows = {"host": host, "origin": stage.page.origin, "cookie": stage.page.cookie, "x-rulith-manager": stage.page.token, "content-type": "application/json", "content-length": "40"}
        for fields, code in HEADS:
            if fields.get("host", host) is not None:             # without a Host it is no HTTP/1.1 at all
                assert await answered(f"POST {stage.at('worker')} HTTP/1.1", rows | fields) == code, fields
        for framed in ({}, {"content-length": None, "transfer-encoding": "chunked"}):
            assert await answered("PUT /api/state HTTP/1.1", rows | framed) == "route_unknown"
            assert await answered("POST /api/token HTTP/1.1", rows | framed | {"x-rulith-manager": None, "cookie": None}) == "page_locked"
            assert await answered("POST /console/api/decide HTTP/1.1", rows | framed | {"cookie": None}) == "page_locked"
    play(stage, script)
