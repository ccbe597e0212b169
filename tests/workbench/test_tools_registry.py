"""The MCP Registry on the page, against one on loopback: what is listed, what may be used, what a form comes to.

Source  the workbench surface, "Registry" (§15)
"""

import asyncio
import json

import pytest

from rulith.base.clock import ManualClock
from rulith.base.errors import Refused
from rulith.net.client import HttpClient
from rulith.net.messages import Response, json_response
from rulith.workbench.tools_registry import BASE, DOWNLOADS, GOOD_S, Registry, filled, options

from tests.workbench.scripted_registry import ScriptedRegistry, entry

NPM = {"registryType": "npm", "identifier": "@example/echo", "version": "1.0.0", "transport": {"type": "stdio"}}


def play(script, entries=()):
    async def scene():
        async with ScriptedRegistry() as there:
            there.entries = list(entries)
            client = HttpClient(environ={})
            clock = ManualClock()
            try:
                return await asyncio.wait_for(script(Registry(client, clock, there.url, f"{there.url}/downloads/"), there, clock), 60)
            finally:
                await client.close()
    return asyncio.run(scene())


async def refused(asking):
    with pytest.raises(Refused) as caught:
        await asking
    return caught.value


def test_the_addresses_are_the_public_ones_unless_somebody_says_otherwise():
    assert (BASE, DOWNLOADS) == ("https://registry.modelcontextprotocol.io", "https://api.npmjs.org/downloads/point/last-month/")


def test_a_search_asks_for_the_newest_four_and_goes_on_where_it_ended():
    rows = [entry(f"io.example/echo{number}", packages=[NPM], repository={"url": "javascript:alert(1)"}, websiteUrl="https://example.org/") for number in range(6)]

    async def script(registry, there, clock):
        first = await registry.search("echo")
        return first, await registry.search("echo", first["nextCursor"]), there.asked
    first, second, asked = play(script, [*rows, {"server": {"name": "no slash", "version": "1"}}, entry("io.other/x")])
    assert [row["name"] for row in first["servers"]] == [f"io.example/echo{number}" for number in range(4)]
    assert [row["name"] for row in second["servers"]] == ["io.example/echo4", "io.example/echo5"] and second["nextCursor"] is None
    assert asked[0].path == "/v0.1/servers" and dict(asked[0].query) == {"version": "latest", "limit": "4", "search": "echo"}
    assert "authorization" not in asked[0].headers and "cookie" not in asked[0].headers
    row = first["servers"][0]
    assert row["website"] == "https://example.org/" and "repository" not in row and row["formats"] == ["npm stdio"] and row["status"] == "active"


def test_an_answer_is_kept_five_minutes_and_read_anew_for_a_preparation():
    async def script(registry, there, clock):
        await registry.search("a")
        await registry.search("a")
        kept = len(there.asked)
        clock.advance(GOOD_S + 1)
        await registry.search("a")
        return kept, len(there.asked)
    assert play(script) == (1, 2)


@pytest.mark.parametrize(("answer", "code"), [
    (json_response(503, {}), "mcp_registry_answer"), (json_response(302, {}), "mcp_registry_answer"), (Response(200, [], b"<html>"), "mcp_registry_answer"),
    (json_response(200, []), "mcp_registry_answer"), (json_response(200, {"servers": "x"}), "mcp_registry_answer"), (Response(200, [], b"x" * (2 * 2**20 + 1)), "mcp_registry_offline"),
])
def test_an_answer_that_is_none_is_refused(answer, code):
    async def script(registry, there, clock):
        there.answers["v0.1"] = answer
        return (await refused(registry.search("a"))).code
    assert play(script) == code


def test_an_offline_registry_is_told_as_such():
    async def script(registry, there, clock):
        await there.server.close(0)
        problem = await refused(registry.search("a"))
        return problem.code, problem.teaching, await registry.downloads("@example/echo")
    code, words, count = play(script)
    assert code == "mcp_registry_offline" and "What is saved works without it" in words and count == {"available": False}


def test_a_search_that_is_too_long_asks_nobody():
    async def script(registry, there, clock):
        codes = [(await refused(registry.search("a" * 151))).code, (await refused(registry.search("a", "c" * 1001))).code, (await refused(registry.detail("no slash", "1"))).code]
        return codes, there.asked
    assert play(script) == (["mcp_registry_query"] * 3, [])


def test_downloads_are_a_number_or_not_available():
    async def script(registry, there, clock):
        known = await registry.downloads("@example/echo")
        there.answers["downloads"] = json_response(200, {"downloads": "many"})
        return known, await registry.downloads("@example/echo"), await registry.downloads("../../x")
    assert play(script) == ({"available": True, "monthly": 12345}, {"available": False}, {"available": False})


REMOTE = {"type": "streamable-http", "url": "https://mcp.example/mcp", "headers": [{"name": "X-Key", "isRequired": True, "isSecret": True}]}
UNUSED = [
    {**NPM, "registryType": "pypi"}, {**NPM, "transport": {"type": "sse"}}, {**NPM, "version": "latest"}, {**NPM, "version": "^1.0.0"}, {**NPM, "identifier": "../x"},
    {**NPM, "runtimeHint": "bunx"}, {**NPM, "registryBaseUrl": "https://elsewhere.example"}, {**NPM, "runtimeArguments": [{"type": "named", "name": "--require"}]},
    *({**NPM, "environmentVariables": [{"name": name}]} for name in ("PATH", "NODE_OPTIONS", "LD_PRELOAD", "DYLD_X", "RULITH_TOKEN", "A B")),
    {**NPM, "environmentVariables": [{"name": "A", "value": "{b}", "variables": {"b": {}}}]}, {**NPM, "environmentVariables": [{"name": "A"}] * 2},
    {**NPM, "environmentVariables": [{"name": f"A{number}"} for number in range(65)]}, {**NPM, "packageArguments": [{"type": "named", "name": "x; rm"}]},
    {**NPM, "packageArguments": [{"type": "odd"}]},
]
UNUSED_REMOTES = [{**REMOTE, "type": "sse"}, {**REMOTE, "url": "http://mcp.example/"}, {**REMOTE, "url": "https://u@mcp.example/"}, {**REMOTE, "url": "https://{host}/"},
                  {**REMOTE, "url": "https://mcp.example/?a=1"}, *({**REMOTE, "headers": [{"name": name}]} for name in ("Host", "Cookie", "Origin", "Mcp-Session-Id", "a b"))]


@pytest.mark.parametrize("row", UNUSED, ids=lambda row: json.dumps(row)[:60])
def test_a_package_that_is_not_used_says_why_and_asks_for_nothing(row):
    (option,) = options({"packages": [row]})
    assert option["unsupported"] and option["fields"] == []


@pytest.mark.parametrize("row", UNUSED_REMOTES, ids=lambda row: json.dumps(row)[:60])
def test_an_address_that_is_not_used_says_why(row):
    (option,) = options({"remotes": [row]})
    assert option["unsupported"] and not option["fields"]


FULL = {**NPM, "environmentVariables": [{"name": "KEY", "isRequired": True, "isSecret": True}, {"name": "MODE", "choices": ["a", "b"], "default": "a"}, {"name": "FIXED", "value": "1"}],
        "packageArguments": [{"type": "named", "name": "--dir", "isRepeated": True}, {"type": "named", "name": "--fast", "format": "boolean"},
                             {"type": "positional", "valueHint": "count", "format": "number"}]}


def test_a_form_comes_to_literal_words_in_order():
    (option,) = options({"packages": [FULL]})
    assert [(field["id"], field["required"], field["secret"]) for field in option["fields"]] == [
        ("env:KEY", True, True), ("env:MODE", False, False), ("env:FIXED", False, False), ("arg:0", False, False), ("arg:1", False, False), ("arg:2", True, False)]
    come_to = filled(option, {"env:KEY": "$(x) `y`", "arg:0": ["/a b", "/c"], "arg:1": "true", "arg:2": "7"})
    assert come_to == {"env": {"KEY": "$(x) `y`", "MODE": "a", "FIXED": "1"}, "headers": {}, "args": ["--dir", "/a b", "--dir", "/c", "--fast", "7"]}


@pytest.mark.parametrize("values", [{}, {"env:KEY": 1}, {"env:KEY": "k", "arg:2": "x"}, {"env:KEY": "k", "arg:2": "1", "env:MODE": "c"}, {"env:KEY": ["a", "b"], "arg:2": "1"},
                                    {"env:KEY": "k", "arg:2": "1", "env:OTHER": "x"}, {"env:KEY": "k", "arg:2": "1", "arg:1": "yes"}, {"env:KEY": "k\0", "arg:2": "1"}, []])
def test_a_form_with_a_wrong_value_is_refused_by_name(values):
    with pytest.raises(Refused) as caught:
        filled(options({"packages": [FULL]})[0], values)
    assert caught.value.code == "mcp_service_field"


def test_what_changed_or_went_away_since_it_was_looked_at_is_not_used():
    async def script(registry, there, clock):
        seen = await registry.detail("io.example/echo", "1.0.0")
        form = {"serverName": "io.example/echo", "version": "1.0.0", "optionId": "package.0", "reviewToken": seen["reviewToken"], "values": {}}
        option, package, _ = await registry.prepare(form)
        absent = await refused(registry.prepare({**form, "optionId": "package.7"}))
        there.entries = [entry(packages=[{**NPM, "identifier": "@example/other"}])]
        changed = await refused(registry.prepare(form))
        there.entries = [entry(status="deprecated", packages=[NPM])]
        inactive = await refused(registry.prepare(form))
        there.entries = []
        return option["id"], str(package), package.mcp_name, absent.code, changed.code, inactive.code, (await refused(registry.prepare(form))).code
    assert play(script, [entry(packages=[NPM])]) == ("package.0", "@example/echo@1.0.0", "io.example/echo", "mcp_registry_changed", "mcp_registry_changed",
                                                     "mcp_registry_changed", "mcp_registry_answer")
