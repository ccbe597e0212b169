"""The sixteen checks of an action row, in order: each failure leaves the row unclaimed, naming its cause."""

import json

import pytest

from rulith.adapters.sources import Source
from rulith.base.errors import Refused
from rulith.base.json_text import compact_json
from rulith.wire.digests import request_digest_of_row
from rulith.wire.grant import expected_grant, sign_grant
from rulith.wire.manifest import builtin_tools, read_manifest
from rulith.work.checks import Bench, judge_row

KEY, CONNECTION, ME, GENERATION = "public-test-only", "conn_1", "wkr_checks_1", 7
RETURNS = [{"predicate": "acme.order", "args": {"total": "$total"}}]
TOOLS = {tool.id: tool for tool in builtin_tools("read")} | read_manifest(json.dumps({"format": "rulith-worker-tools/1", "tools": {
    "acme.order@1": {"adapter": "run", "sourceTypes": ["file", "compute"], "entry": "order.py", "kind": "read",
                     "params": {"id": "string", "n": "number?", "deep": "json?", "yes": "boolean?"}, "returns": RETURNS},
    "acme.sum@1": {"adapter": "run", "sourceTypes": [], "entry": "sum.py", "params": {}},
    "acme.web@1": {"adapter": "http", "sourceTypes": ["http"], "entry": "x", "kind": "read", "params": {}},
    "acme.rows@1": {"adapter": "db-query", "sourceTypes": ["db"], "entry": "SELECT 1"},
}}))
SOURCES = {
    "orders": Source("orders", "file", "/nowhere"),
    "calc": Source("calc", "compute", ""),
    "shop": Source("shop", "http", "https://shop.example"),
    "base": Source("base", "db", "postgres://"),
}
POLICY = {"inlineBytes": 8192, "readBytes": 65536, "objectBytes": 8388608, "totalBytes": 268435456, "temporaryRetentionMs": 86400000}


def bench(**changes):
    settings = dict(connection_id=CONNECTION, key=KEY, worker_id=ME, tools=TOOLS, find_source=SOURCES.get,
                    compile=lambda call: call, is_live=lambda: True, generation=GENERATION)
    return Bench(**{**settings, **changes})


def row_of(tool="acme.order@1", args=None, source="orders", spec=None, signed=None, key=KEY, **changes):
    it = TOOLS[tool]
    stated = {"name": "look", "kind": it.kind, "impl": "worker-tool", "params": dict(it.params), "exec": tool,
              "sourceTypes": list(it.source_types), "returns": [dict(row) for row in it.returns], **(spec or {})}
    stated = {name: value for name, value in stated.items() if value is not ...}
    args = {"id": "o-1"} if args is None else args
    row = {
        "workType": "action", "work": "inv_1", "tool": "look", "boardId": "agent_1", "toolContractId": tool,
        "sourceRecordId": source, "connectionId": CONNECTION, "toolDigest": it.digest,
        "args": args if isinstance(args, str) else compact_json({**args, "source": source} if source else args),
        "target": "leaf", "toolSpec": compact_json(stated),
        "sourceUpload": {"sourceRecordId": source, "permission": "granted", "upload": True, "refusal": None},
        "artifactPolicy": dict(POLICY),
    }
    row.update({name: value for name, value in changes.items() if value is not ...})
    for name, value in changes.items():
        if value is ...:
            row.pop(name, None)
    if "executionGrant" not in changes:
        try:
            expect = expected_grant(row, connection_id=CONNECTION, worker_id=ME, worker_generation=GENERATION,
                                    request_digest=request_digest_of_row(row))
            for name, value in (signed or {}).items():
                object.__setattr__(expect, name, value)
            row["executionGrant"] = sign_grant(expect, key)
        except (KeyError, TypeError, AttributeError, Refused):
            row["executionGrant"] = "P.S"        # a row too broken to sign; it fails before the grant is looked at
    return row


def without(name):
    row = row_of()
    del row[name]
    return row


def code_of(row, **changes):
    with pytest.raises(Refused) as caught:
        judge_row(row, bench(**changes))
    return caught.value.code


def test_a_good_row_is_cleared_with_what_was_dispatched():
    cleared = judge_row(row_of(), bench())
    assert (cleared.invocation, cleared.action, cleared.tool.id) == ("inv_1", "look", "acme.order@1")
    assert (cleared.worker_id, cleared.generation, cleared.source_record) == (ME, GENERATION, "orders")
    assert list(cleared.returns) == RETURNS and cleared.is_read
    call = cleared.runnable
    assert call.arguments == {"id": "o-1"} and call.source is SOURCES["orders"]


@pytest.mark.parametrize("row, code, named", [
    (lambda: row_of(caseId="case_1"), "row_retired_member", "caseId"),
    (lambda: row_of(caseRevision=4), "row_retired_member", "caseRevision"),
    (lambda: row_of(invocationId="inv_1"), "row_shadow_member", "invocationId"),
    (lambda: row_of(actionId="look"), "row_shadow_member", "actionId"),
    (lambda: row_of(grant="x.y"), "row_shadow_member", "grant"),
    (lambda: row_of(sourcePermissions=[]), "row_shadow_member", "sourcePermissions"),
    (lambda: row_of(artifactPolicies=[]), "row_shadow_member", "artifactPolicies"),
    (lambda: row_of(surprise=1), "row_malformed", "surprise"),
    *[((lambda name=name: without(name)), "row_malformed", name) for name in (
        "work", "tool", "boardId", "toolContractId", "sourceRecordId", "connectionId", "toolDigest", "args", "target",
        "toolSpec", "sourceUpload", "artifactPolicy")],
    (lambda: row_of(work=""), "row_malformed", "work"),
    (lambda: row_of(boardId=3), "row_malformed", "boardId"),
    (lambda: row_of(target=None), "row_malformed", "target"),
    (lambda: row_of(toolDigest="A" * 64), "row_malformed", "toolDigest"),
    (lambda: row_of(toolDigest="a" * 63), "row_malformed", "toolDigest"),
    (lambda: row_of(toolDigest="sha256:" + "a" * 64), "row_malformed", "toolDigest"),
    (lambda: row_of(args=""), "row_malformed", "args"),
    (lambda: row_of(args="[]"), "row_malformed", "args"),
    (lambda: row_of(args="7"), "row_malformed", "args"),
    (lambda: row_of(args="null"), "row_malformed", "args"),
    (lambda: row_of(args='{"id":"a","id":"b","source":"orders"}'), "row_malformed", "args"),
    (lambda: row_of(args='{"id":NaN}'), "row_malformed", "args"),
    (lambda: row_of(executionGrant=""), "row_malformed", "executionGrant"),
    (lambda: row_of(sourceUpload={"sourceRecordId": "orders", "permission": "maybe", "upload": True}), "row_malformed", "sourceUpload"),
    (lambda: row_of(sourceUpload={"sourceRecordId": "orders", "permission": "granted", "upload": 1}), "row_malformed", "sourceUpload"),
    (lambda: row_of(sourceUpload={"sourceRecordId": "orders", "permission": "granted", "upload": True, "refusal": ""}), "row_malformed", "sourceUpload"),
    (lambda: row_of(sourceUpload={"sourceRecordId": "orders", "permission": "granted", "upload": True, "more": 1}), "row_malformed", "sourceUpload"),
    (lambda: row_of(artifactPolicy={**POLICY, "inlineBytes": 0}), "row_malformed", "artifactPolicy"),
    (lambda: row_of(artifactPolicy={**POLICY, "inlineBytes": 2**53}), "row_malformed", "artifactPolicy"),
    (lambda: row_of(artifactPolicy={**POLICY, "inlineBytes": True}), "row_malformed", "artifactPolicy"),
    (lambda: row_of(artifactPolicy={"inlineBytes": 1}), "row_malformed", "artifactPolicy"),
])
def test_check_1_the_closed_shape_names_the_member(row, code, named):
    with pytest.raises(Refused) as caught:
        judge_row(row(), bench())
    assert caught.value.code == code and named in caught.value.teaching


@pytest.mark.parametrize("row, code", [
    # 2: the Connection
    (lambda: row_of(connectionId="conn_2"), "row_other_connection"),
    # 3: the dispatched contract, and the Tool
    (lambda: row_of(toolSpec="not json"), "tool_spec_malformed"),
    (lambda: row_of(toolSpec="[]"), "tool_spec_malformed"),
    (lambda: row_of(spec={"impl": "builtin"}), "tool_spec_malformed"),
    (lambda: row_of(spec={"impl": ...}), "tool_spec_malformed"),
    (lambda: row_of(spec={"exec": "acme.order@2"}), "tool_spec_malformed"),
    (lambda: row_of(spec={"sourceTypes": ...}), "tool_spec_malformed"),
    (lambda: row_of(spec={"sourceTypes": "file"}), "tool_spec_malformed"),
    (lambda: row_of(spec={"source": "orders"}), "tool_spec_malformed"),
    (lambda: row_of(spec={"returns": [{"predicate": "p"}]}), "tool_spec_malformed"),
    (lambda: row_of(spec={"returns": [{"predicate": "acme.order", "args": {"total": "total"}}]}), "tool_spec_malformed"),
    (lambda: row_of(toolContractId="acme.gone@1", spec={"exec": "acme.gone@1"}), "tool_not_installed"),
    # 4: the pin
    (lambda: row_of(toolDigest="a" * 64), "tool_pin_mismatch"),
    # 5: Source-free
    (lambda: row_of("acme.sum@1", {}, source="orders"), "source_free_has_source"),
    (lambda: row_of("acme.sum@1", '{"source":""}', source=""), "source_free_has_source"),
    (lambda: row_of("acme.sum@1", '{"source":null}', source=""), "source_free_has_source"),
    # 6: exactly one Source, stated twice alike
    (lambda: row_of(args='{"id":"o-1","source":"orders"}', source=""), "source_selection_required"),
    (lambda: row_of(args='{"id":"o-1"}'), "source_selection_required"),
    (lambda: row_of(args='{"id":"o-1","source":"calc"}'), "source_selection_required"),
    (lambda: row_of(args='{"id":"o-1","source":null}'), "source_selection_required"),
    # 7: granted, and of an accepted type
    (lambda: row_of(source="unheard_of"), "source_type_mismatch"),
    (lambda: row_of(source="shop"), "source_type_mismatch"),
    (lambda: row_of(source="orders", spec={"sourceTypes": ["compute"]}), "source_type_mismatch"),
    (lambda: row_of(source="", spec={"sourceTypes": []}), "source_type_mismatch"),
    # 9 and 10: the arguments
    (lambda: row_of(spec={"params": {"id": "string", "source": "string"}}), "tool_spec_malformed"),
    (lambda: row_of("acme.rows@1", '{"sql":"x","source":"base"}', source="base", spec={"params": {"sql": "string"}}), "argument_reserved"),
    (lambda: row_of(args={}), "argument_refused"),
    (lambda: row_of(args={"id": 7}), "argument_refused"),
    (lambda: row_of(args={"id": None}), "argument_refused"),
    (lambda: row_of(args={"id": "o", "more": 1}), "argument_refused"),
    (lambda: row_of(args={"id": "o", "n": True}), "argument_refused"),
    (lambda: row_of(args={"id": "o", "n": "1"}), "argument_refused"),
    (lambda: row_of(args={"id": "o", "yes": 1}), "argument_refused"),
    (lambda: row_of(args={"id": "o", "n": None}), "argument_refused"),
])
def test_checks_2_to_10_refuse_in_their_own_words(row, code):
    assert code_of(row()) == code


def test_json_and_optional_arguments_are_taken_as_they_are():
    for deep in (None, [1, {"a": None}], "text", False):
        assert judge_row(row_of(args={"id": "o", "deep": deep}), bench()).runnable.arguments["deep"] == deep


def test_check_8_and_11_what_the_adapter_refuses_is_not_claimed():
    def refuse(call):
        raise Refused("adapter_refused", tool=call.tool.id, problem="the file is gone")

    assert code_of(row_of(), compile=refuse) == "adapter_refused"


def test_check_13_a_lapsed_lease_stops_before_the_grant_is_looked_at():
    assert code_of(row_of(executionGrant="bad"), is_live=lambda: False) == "worker_lease_lost"


@pytest.mark.parametrize("signed", [
    {"workerId": "wkr_another_1"}, {"connectionId": "conn_2"}, {"workerGeneration": 6}, {"workerGeneration": 8}, {"boardId": "agent_2"},
    {"invocationId": "inv_2"}, {"actionId": "other"}, {"toolContractId": "acme.order@2"}, {"sourceRecordId": "calc"},
    {"adapterDigest": "sha256:" + "a" * 64}, {"requestDigest": "sha256:" + "b" * 64},
])
def test_check_14_a_grant_that_says_anything_else_is_not_ours(signed):
    assert code_of(row_of(signed=signed)) == "grant_not_ours"


@pytest.mark.parametrize("spoil, code", [
    (lambda token: token.split(".")[0], "grant_unreadable"),
    (lambda token: token + ".x", "grant_unreadable"),
    (lambda token: token[:-1] + ("A" if token[-1] != "A" else "B"), None),
    (lambda token: "!" + token[1:], "grant_unreadable"),
])
def test_check_14_a_grant_that_cannot_be_read_or_was_tampered_with(spoil, code):
    row = row_of()
    row["executionGrant"] = spoil(row["executionGrant"])
    assert code_of(row) in ((code,) if code else ("grant_unreadable", "grant_signature"))


def test_check_14_a_grant_signed_with_another_key():
    assert code_of(row_of(key="another key")) == "grant_signature"


BINDING = {"version": "rulith-http-source-binding/1", "sourceRecordId": "orders", "connectionId": CONNECTION, "access": "https://shop.example"}
MATERIAL = {"selector": "mat_" + "a" * 32, "digest": "sha256:" + "b" * 64, "custodyId": "c.1", "totalBytes": 5, "deviceId": "dev_1",
            "bindingDigest": "sha256:" + "c" * 64}


def test_check_14_a_bound_address_wants_the_grant_that_binds_it():
    assert judge_row(row_of(sourceBinding=BINDING), bench()).invocation == "inv_1"
    row = row_of()
    row["sourceBinding"] = BINDING                       # signed without
    assert code_of(row) == "grant_not_ours"
    row = row_of(sourceBinding=BINDING)
    del row["sourceBinding"]
    assert code_of(row) == "grant_not_ours"
    row = row_of(sourceBinding=BINDING)
    row["sourceBinding"] = {**BINDING, "access": "https://other.example"}
    assert code_of(row) == "grant_not_ours"
    for other in ({"sourceRecordId": "calc"}, {"connectionId": "conn_2"}):
        assert code_of(row_of(sourceBinding={**BINDING, **other})) == "row_malformed"
    for wrong in ({"version": "2"}, {"access": "ftp://x"}, {"more": 1}):
        assert code_of(row_of(sourceBinding={**BINDING, **wrong})) == "row_malformed"


def test_check_15_a_selected_material_is_judged_last_and_needs_its_own_grant():
    judged = []
    cleared = judge_row(row_of(materialInput=MATERIAL), bench(check_material=judged.append))
    assert cleared.invocation == "inv_1" and judged == [MATERIAL]
    assert code_of(row_of(materialInput=MATERIAL)) == "material_not_kept"
    row = row_of()
    row["materialInput"] = MATERIAL
    assert code_of(row, check_material=judged.append) == "grant_not_ours" and len(judged) == 1
    assert code_of(row_of(materialInput={**MATERIAL, "totalBytes": 8 * 2**20 + 1})) == "row_malformed"
    assert code_of(row_of(materialInput=MATERIAL, sourceBinding=BINDING)) == "bad_command"


def test_the_same_arguments_with_other_blanks_are_another_request():
    row = row_of()
    row["args"] = row["args"].replace(":", ": ")
    assert code_of(row) == "grant_not_ours"


def test_the_first_failing_check_is_the_one_that_is_named():
    row = row_of(caseId="x", connectionId="conn_2", toolDigest="a" * 64)
    assert code_of(row) == "row_retired_member"
    del row["caseId"]
    assert code_of(row) == "row_other_connection"
    row["connectionId"] = CONNECTION
    assert code_of(row) == "tool_pin_mismatch"


def test_the_published_row_is_cleared_by_its_published_grant():
    """The vector of the hop: a read_text row with blanks around its arguments."""
    spec = '{"name":"read_note","kind":"read","impl":"worker-tool","params":{"path":"string"},"exec":"rulith.workspace.read_text@1","sourceTypes":["file"],"returns":[]}'
    pin = TOOLS["rulith.workspace.read_text@1"].digest
    row = {
        "workType": "action", "work": "inv_read_note", "tool": "read_note", "boardId": "board-action-row",
        "toolContractId": "rulith.workspace.read_text@1", "sourceRecordId": "docs-a", "connectionId": "connection-action-row",
        "toolDigest": pin, "args": ' {"path":"note.txt", "source":"docs-a"} ', "target": "", "toolSpec": spec,
        "sourceUpload": {"sourceRecordId": "docs-a", "permission": "granted", "upload": True}, "artifactPolicy": POLICY,
    }
    digest = request_digest_of_row(row)
    assert digest == "sha256:5017af6cb2dbf57934c2500067a9654d6e88d498d001945a96c074c4cdd12694"
    key = "public-test-only-action-row-key"
    row["executionGrant"] = sign_grant(expected_grant(row, connection_id="connection-action-row", worker_id="wkr_action_row_fixture",
                                                      worker_generation=7, request_digest=digest), key)
    cleared = judge_row(row, bench(connection_id="connection-action-row", key=key, worker_id="wkr_action_row_fixture",
                                   find_source=lambda name: Source(name, "file", "/x")))
    assert cleared.runnable.arguments == {"path": "note.txt"}
    assert cleared.runnable.execution_key == "rulith-execution/1:aac235d7fe7073a50e462ec1779b5577df09cfe8094e5fb0a5f344f37990f48e"
