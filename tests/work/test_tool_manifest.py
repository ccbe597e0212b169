"""`rulith-worker-tools/1`: what it accepts, what it refuses by entry and member, and the pins."""

import json

import pytest

from rulith.base.errors import Refused
from rulith.base.limits import TOOLS_MAX
from rulith.base.resources import shipped_text
from rulith.wire.manifest import BUILTINS, builtin_tools, pin_of, read_descriptors, read_manifest

RUN = {"adapter": "run", "sourceTypes": ["file"], "entry": "adapters/a.py"}
HTTP = {"adapter": "http", "sourceTypes": ["http"], "entry": "orders/{id}", "params": {"id": "string"}}
NOTE = {"adapter": "http", "sourceTypes": ["http"], "entry": "notes/{name}", "params": {"name": "string", "body": "string"},
        "fence": {"textWrite": {"target": "name", "text": "body"}}}
DB = {"adapter": "db-query", "sourceTypes": ["db"], "entry": "SELECT 1"}
ROW = {"predicate": "acme.thing", "args": {"id": "$id"}}

PINS = {
    "rulith.workspace.list@1": "e66ce0387c343d9d7aeff683977e980e0664cb11b2dfda49092a5a58ad29b27b",
    "rulith.workspace.count@1": "124c07af84f51b8e269602a99138d2fbcb469aa03564cb5660c62c08fa7ec5d9",
    "rulith.workspace.search@1": "98fd70212067ab79adaf0e396089939da1a4d9cf945842333ee41fbdbc9011c0",
    "rulith.workspace.read_text@1": "83dbfa3b027f4ea81ad602655fc3cb7e0b6b36edb9ffc35e998ad4eea924f635",
    "rulith.workspace.read_json@1": "e888b95d0e50a9f924a0ea300907bad74601f50c548b571bc59b9a587df92111",
    "rulith.workspace.hash@1": "e1db248c31fd4f1eb638b227bda7046546c291e2d00d0748eb7580240d192b8b",
    "rulith.workspace.write_text@1": "55fa5db6a65d88b69e262eceaafd3f47f02b13ff00507eafb801192d32cc40da",
    "rulith.workspace.write_json@1": "0efca0ee8ba32da13648648ac57c30566500f47a72cd892b2be048e0614c8b37",
    "rulith.mcp.discover@1": "85b8b3b4edd3e92baf997de6a0c9a19aa87eb7dcb60d74416e270d2f900456f3",
    "rulith.materials.read@1": "d2eb63bbb9216729e7e67fdc3fd842e14181a6d770269636d3e2b20ec88dacf1",
}


def manifest(members, tool="acme.tool@1"):
    return json.dumps({"format": "rulith-worker-tools/1", "tools": {tool: members}})


def only(members, tool="acme.tool@1"):
    return read_manifest(manifest(members, tool))[tool]


def refused(members, tool="acme.tool@1"):
    with pytest.raises(Refused) as caught:
        read_manifest(manifest(members, tool))
    return caught.value


def test_the_built_in_pins_are_the_published_ones():
    assert {tool.id: tool.digest for tool in BUILTINS.values()} == PINS


def test_the_pin_covers_every_member_as_written():
    assert pin_of({"adapter": "run", "entry": "ship-adapter.mjs", "sourceTypes": ["file"]}) == (
        "f7de696b6e817bbee02f6b520ba66c21283f7f7d0f8476abd35b5f5e3f47a235"
    )
    plain = only(RUN).digest
    for more in ({"env": {"pass": []}}, {"kind": "run"}, {"params": {}}, {"returns": []}, {"tier": "attested"}, {"fence": {}}):
        assert only({**RUN, **more}).digest != plain
    assert only(dict(reversed(RUN.items()))).digest == plain


def test_the_example_manifest_is_read_whole():
    tools = read_manifest(shipped_text("examples", "verified-calculation", "worker-tools.json"))
    assert [tool.kind for tool in tools.values()] == ["read", "write", "read"]
    assert all(tool.env_pass == () and tool.returns for tool in tools.values())


@pytest.mark.parametrize("mode, gone", [
    ("read", {"rulith.workspace.write_text@1", "rulith.workspace.write_json@1"}),
    ("read-write", set()),
    ("off", {tool for tool in PINS if tool.startswith("rulith.workspace.")}),
])
def test_the_workspace_mode_takes_its_tools_away(mode, gone):
    assert {tool.id for tool in builtin_tools(mode, materials=True)} == set(PINS) - gone
    assert {tool.id for tool in builtin_tools(mode)} == set(PINS) - gone - {"rulith.materials.read@1"}      # only where materials are kept


@pytest.mark.parametrize("members, kind", [
    (RUN, "run"), (DB, "read"), ({**DB, "adapter": "db-exec-fenced"}, "write"),
    ({"adapter": "mcp", "sourceTypes": ["mcp"], "entry": "search"}, "read"),
    (HTTP, "write"), ({**HTTP, "fence": {"method": "GET"}}, "read"), ({**HTTP, "fence": {"method": "HEAD"}}, "read"),
    ({**HTTP, "fence": {"method": "PUT"}}, "write"), ({**HTTP, "kind": "read"}, "read"),
    ({"adapter": "workspace", "sourceTypes": ["file"], "entry": "list"}, "read"),
    ({"adapter": "workspace", "sourceTypes": ["file"], "entry": "write_text"}, "write"),
])
def test_the_kind_follows_from_the_adapter_where_it_is_not_stated(members, kind):
    assert only(members).kind == kind


def test_a_tool_on_a_built_in_implementation_has_its_params_and_returns():
    tool = only({"adapter": "workspace", "sourceTypes": ["file"], "entry": "read_text"})
    assert tool.params == {"path": "string"} and tool.returns == BUILTINS["rulith.workspace.read_text@1"].returns


@pytest.mark.parametrize("members, member", [
    ({**RUN, "adapter": "shell"}, "adapter"),
    ({"sourceTypes": [], "entry": "a"}, "adapter"),
    ({**RUN, "adapter": ["run"]}, "adapter"),
    ({"adapter": "run", "entry": "a"}, "sourceTypes"),
    ({**RUN, "sourceTypes": "file"}, "sourceTypes"),
    ({**RUN, "sourceTypes": ["disk"]}, "sourceTypes"),
    ({**RUN, "sourceTypes": ["file", "file"]}, "sourceTypes"),
    ({**RUN, "sourceTypes": ["db"]}, "sourceTypes"),
    ({**RUN, "sourceTypes": [["file"]]}, "sourceTypes"),
    ({**RUN, "entry": ""}, "entry"),
    ({**RUN, "entry": "  "}, "entry"),
    ({**RUN, "entry": 7}, "entry"),
    ({**RUN, "entry": "/bin/sh"}, "entry"),
    ({**RUN, "entry": "../a.py"}, "entry"),
    ({**RUN, "entry": "a/../../b.py"}, "entry"),
    ({**RUN, "entry": "C:\\a.py"}, "entry"),
    ({**RUN, "entry": "C:a.py"}, "entry"),
    ({**RUN, "entry": "\\\\host\\share\\a.py"}, "entry"),
    ({**RUN, "entry": "a\\b.py"}, "entry"),
    ({**RUN, "entry": "nul"}, "entry"),
    ({**RUN, "entry": "COM1.py"}, "entry"),
    ({**RUN, "entry": "a.py:stream"}, "entry"),
    ({**RUN, "entry": "a.py."}, "entry"),
    ({**RUN, "entry": "a\nb.py"}, "entry"),
    ({**RUN, "entry": "."}, "entry"),
    ({**HTTP, "entry": "https://else.example/"}, "entry"),
    ({**HTTP, "entry": "//else.example/"}, "entry"),
    ({**HTTP, "entry": "orders/{nobody}"}, "entry"),
    ({**HTTP, "params": {"id": "string?"}}, "entry"),
    ({**HTTP, "params": {"id": "json"}}, "entry"),
    ({**HTTP, "entry": "orders\\{id}"}, "entry"),
    ({**HTTP, "entry": "HTTPS:orders"}, "entry"),
    ({**DB, "entry": "DELETE FROM t"}, "entry"),
    ({**DB, "entry": "UPDATE t SET a = 1"}, "entry"),
    ({**DB, "entry": "SELECT 1; SELECT 2"}, "entry"),
    ({**DB, "entry": "SELECT {nobody}"}, "entry"),
    ({**DB, "entry": "SELECT {id}", "params": {"id": "json"}}, "entry"),
    ({**DB, "entry": "SELECT {id}", "params": {"id": "string?"}}, "entry"),
    ({**DB, "adapter": "db-exec-fenced", "entry": "TRUNCATE t"}, "entry"),
    ({**NOTE, "entry": "notes/{name}/body"}, "entry"),
    ({**NOTE, "entry": "notes/{body}/{name}"}, "entry"),
    ({"adapter": "workspace", "sourceTypes": ["file"], "entry": "delete"}, "entry"),
    ({**RUN, "kind": "delete"}, "kind"),
    ({**RUN, "kind": None}, "kind"),
    ({**DB, "kind": "write"}, "kind"),
    ({**DB, "adapter": "db-exec-fenced", "kind": "read"}, "kind"),
    ({**RUN, "params": []}, "params"),
    ({**RUN, "params": {"Id": "string"}}, "params"),
    ({**RUN, "params": {"id": "text"}}, "params"),
    ({**RUN, "params": {"id": "string??"}}, "params"),
    ({**RUN, "params": {"id": ["string"]}}, "params"),
    ({**RUN, "params": {"source": "string"}}, "params"),
    ({**DB, "params": {"sql": "string"}}, "params"),
    ({**RUN, "returns": {}}, "returns"),
    ({**RUN, "returns": [ROW] * 33}, "returns"),
    ({**RUN, "returns": [{"predicate": "acme.thing"}]}, "returns"),
    ({**RUN, "returns": [{**ROW, "tier": "verified"}]}, "returns"),
    ({**RUN, "returns": [{"predicate": "thing", "args": {}}]}, "returns"),
    ({**RUN, "returns": [{"predicate": "Acme.thing", "args": {}}]}, "returns"),
    ({**RUN, "returns": [{"predicate": "acme.thing", "args": {"Id": "$id"}}]}, "returns"),
    ({**RUN, "returns": [{"predicate": "acme.thing", "args": {"id": "id"}}]}, "returns"),
    ({**RUN, "returns": [{"predicate": "acme.thing", "args": {"id": "$i-d"}}]}, "returns"),
    ({**RUN, "fence": []}, "fence"),
    ({**RUN, "fence": {"timeoutMs": 1000}}, "fence"),
    ({**HTTP, "fence": {"method": "BREW"}}, "fence"),
    ({**HTTP, "fence": {"timeoutMs": 99}}, "fence"),
    ({**HTTP, "fence": {"timeoutMs": 300001}}, "fence"),
    ({**HTTP, "fence": {"timeoutMs": 1000.0}}, "fence"),
    ({**HTTP, "fence": {"maxResponseBytes": 1048577}}, "fence"),
    ({**HTTP, "fence": {"redirects": True}}, "fence"),
    ({**HTTP, "kind": "read", "fence": {"method": "POST"}}, "fence"),
    ({**HTTP, "kind": "read", "fence": {"method": "GET", "completion": {"stage": "terminal", "statuses": [200], "json": {"field": "a", "equals": 1}}}}, "fence"),
    ({**HTTP, "fence": {"completion": {"stage": "terminal", "statuses": [202], "json": {"field": "a", "equals": 1}}}}, "fence"),
    ({**HTTP, "fence": {"completion": {"stage": "done", "statuses": [200], "json": {"field": "a", "equals": 1}}}}, "fence"),
    ({**HTTP, "fence": {"completion": {"stage": "terminal", "statuses": [200], "json": {"field": "a", "equals": ""}}}}, "fence"),
    ({**HTTP, "fence": {"completion": {"stage": "terminal", "statuses": [], "json": {"field": "a", "equals": 1}}}}, "fence"),
    ({**HTTP, "fence": {"completion": {"stage": "terminal", "statuses": [200, 200], "json": {"field": "a", "equals": 1}}}}, "fence"),
    ({**HTTP, "fence": {"completion": {"stage": "terminal", "statuses": [200.0], "json": {"field": "a", "equals": 1}}}}, "fence"),
    ({**HTTP, "fence": {"completion": {"stage": "terminal", "statuses": [200], "json": {"field": "a.b", "equals": 1}}}}, "fence"),
    ({**HTTP, "fence": {"completion": {"stage": "terminal", "statuses": [200], "json": {"field": "a", "equals": "x" * 129}}}}, "fence"),
    ({**HTTP, "fence": {"completion": {"stage": "terminal", "statuses": [200], "json": {"field": "a", "equals": None}}}}, "fence"),
    ({**HTTP, "fence": {"completion": {"stage": "terminal", "statuses": [200]}}}, "fence"),
    ({**NOTE, "fence": {"textWrite": {"target": "name", "text": "name"}}}, "fence"),
    ({**NOTE, "fence": {"textWrite": {"target": "name"}}}, "fence"),
    ({**NOTE, "fence": {"textWrite": []}}, "fence"),
    ({**NOTE, "fence": {**NOTE["fence"], "method": "POST"}}, "fence"),
    ({**NOTE, "kind": "read"}, "fence"),
    ({"adapter": "mcp", "sourceTypes": ["mcp"], "entry": "a", "fence": {"timeoutMs": 30001}}, "fence"),
    ({"adapter": "mcp", "sourceTypes": ["mcp"], "entry": "a", "fence": {"method": "GET"}}, "fence"),
    ({**HTTP, "env": {"pass": []}}, "env"),
    ({**RUN, "env": {}}, "env"),
    ({**RUN, "env": {"pass": ["A"], "set": {}}}, "env"),
    ({**RUN, "env": {"pass": ["A-B"]}}, "env"),
    ({**RUN, "env": {"pass": "A"}}, "env"),
    ({**RUN, "handles": {"review": ["a"]}}, "handles"),
    ({**RUN, "handles": {"evidence": []}}, "handles"),
    ({**RUN, "handles": {"evidence": [1]}}, "handles"),
    ({**RUN, "tier": "certain"}, "tier"),
    ({**RUN, "source": "orders"}, "source"),
    ({**RUN, "command": "sh"}, "command"),
    ({"adapter": "workspace", "sourceTypes": ["file"], "entry": "list", "kind": "read"}, "kind"),
    ({"adapter": "workspace", "sourceTypes": ["file"], "entry": "list", "params": {}}, "params"),
    ({"adapter": "mcp", "sourceTypes": ["mcp"], "entry": "discover", "returns": []}, "returns"),
])
def test_a_refusal_names_the_tool_and_the_member(members, member):
    refusal = refused(members)
    assert refusal.code == "tool_manifest_invalid"
    assert "'acme.tool@1'" in refusal.facts["where"] and f"'{member}'" in refusal.facts["where"]


@pytest.mark.parametrize("tool", ["Acme.tool@1", "acme.tool", "acme.tool@0", "acme.tool@01", "a@1", "acme tool@1", "acme.tool@1x", "acmé.tool@1"])
def test_an_id_that_reads_wrong_is_refused(tool):
    assert refused(RUN, tool).code == "tool_manifest_invalid"


def test_an_id_of_a_built_in_tool_cannot_be_taken():
    assert refused(RUN, "rulith.workspace.list@1").code == "tool_manifest_builtin"


def test_one_predicate_is_handled_by_one_tool():
    tools = {name: {**RUN, "handles": {"verification": ["acme.paid"]}} for name in ("acme.first@1", "acme.second@1")}
    with pytest.raises(Refused) as caught:
        read_manifest(json.dumps({"format": "rulith-worker-tools/1", "tools": tools}))
    assert "acme.second@1" in caught.value.facts["where"] and "acme.first@1" in caught.value.facts["problem"]


@pytest.mark.parametrize("text", [
    "", "[]", "{", '{"format":"rulith-worker-tools/1"}', '{"format":"rulith-worker-tools/2","tools":{}}',
    '{"format":"rulith-worker-tools/1","tools":[]}', '{"format":"rulith-worker-tools/1","tools":{},"more":1}',
    '{"format":"rulith-worker-tools/1","tools":{"a.b@1":{},"a.b@1":{}}}', b"\xff",
])
def test_a_document_that_is_no_manifest_is_refused_naming_the_file(text):
    with pytest.raises(Refused) as caught:
        read_manifest(text, "some/worker-tools.json")
    assert caught.value.code == "tool_manifest_unreadable" and "some/worker-tools.json" in caught.value.teaching


def test_empty_returns_and_a_row_without_arguments_are_legal():
    assert only({**RUN, "returns": []}).returns == ()
    assert only({**RUN, "returns": [{"predicate": "acme.done", "args": {}}]}).returns[0]["args"] == {}


def test_a_descriptor_is_complete_and_sorted():
    descriptor = only({**RUN, "sourceTypes": ["http", "file", "compute"]}).descriptor()
    assert list(descriptor) == ["id", "digest", "sourceTypes", "kind", "params", "returns"]
    assert descriptor["sourceTypes"] == ["compute", "file", "http"] and descriptor["params"] == {} and descriptor["returns"] == []


def test_a_database_tool_says_its_adapter_and_a_text_write_what_it_sends():
    """Newer bundles of the contract, "descriptor"."""
    assert only(DB).descriptor()["adapter"] == "db-query"
    told = only(NOTE).descriptor()
    assert (told["adapter"], told["entry"], told["fence"]) == ("http", "notes/{name}", NOTE["fence"])
    assert "adapter" not in only(HTTP).descriptor()
    assert read_descriptors([only(DB).descriptor(), {**told, "id": "acme.note@1"}])[1]["entry"] == "notes/{name}"


# -- the other side --------------------------------------------------------------------


def test_descriptors_come_back_as_they_went():
    rows = [tool.descriptor() for tool in BUILTINS.values()]
    assert read_descriptors(rows) == rows
    assert read_descriptors([]) == []


def test_what_a_descriptor_leaves_out_is_filled_and_never_missing():
    (row,) = read_descriptors([{"id": "acme.tool@1", "digest": "a" * 64, "kind": "run", "returns": [{"predicate": "acme.done"}]}])
    assert row["sourceTypes"] == [] and row["params"] == {} and row["returns"] == [{"args": {}, "predicate": "acme.done"}]


@pytest.mark.parametrize("spoil, code", [
    (lambda row: [row, row], "tool_manifest_repeats_id"),
    (lambda row: [{**row, "id": f"acme.t{n}@1"} for n in range(TOOLS_MAX + 1)], "too_many_tools"),
    (lambda row: [{**row, "digest": "A" * 64}], "tool_descriptor_invalid"),
    (lambda row: [{**row, "id": "Acme"}], "tool_descriptor_invalid"),
    (lambda row: [{**row, "sourceTypes": ["disk"]}], "tool_descriptor_invalid"),
    (lambda row: [{**row, "kind": "delete"}], "tool_descriptor_invalid"),
    (lambda row: [{**row, "params": {"id": "text"}}], "tool_descriptor_invalid"),
    (lambda row: ["acme.tool@1"], "tool_descriptor_invalid"),
    (lambda row: {"tools": []}, "tool_descriptor_invalid"),
    (lambda row: [{**row, "adapter": "shell"}], "tool_descriptor_invalid"),
    (lambda row: [{**row, "sourceTypes": ["db"]}], "tool_descriptor_invalid"),
    (lambda row: [{**row, "sourceTypes": ["db"], "adapter": "db-query", "kind": "write"}], "tool_descriptor_invalid"),
    (lambda row: [{**row, "sourceTypes": ["db"], "adapter": "db-exec-fenced", "kind": "read"}], "tool_descriptor_invalid"),
])
def test_a_tool_list_that_is_wrong_is_refused(spoil, code):
    with pytest.raises(Refused) as caught:
        read_descriptors(spoil(only(RUN).descriptor()))
    assert caught.value.code == code
