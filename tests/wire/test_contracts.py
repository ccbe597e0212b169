"""The bundles and the compiled validators. Duty: design D12; the MCP surface, §§3, 4, 6, 7."""

from __future__ import annotations

import json

import pytest

from rulith.base.codes import CODES
from rulith.base.errors import Refused
from rulith.base.limits import INTEGER_MAX, STRIP_ROWS_MAX, TOOLS_MAX
from rulith.base.resources import shipped_bytes, shipped_text
from rulith.board.words import BOARD_WORDS, BUILTINS, IMPORTABLE
from rulith.wire import contract, contract_validators, result_validators
from rulith.wire.contract import (
    MCP_BUNDLE, WORKER_BUNDLE, check_arguments, load_bundle, mcp_contract, read_bundle, validate, wire_code, worker_surface,
)
from rulith.wire.results import validate_result


def refusal(act, *words) -> Refused:
    with pytest.raises(Refused) as refused:
        act(*words)
    return refused.value


# -- bundles ------------------------------------------------------------------------------


def test_the_surface_has_its_six_tools_in_order():
    assert mcp_contract().tool_names == ("OpenCase", "ApplyBatch", "ApplyAction", "CloseCase", "QueryBoard", "ReadArtifact")
    assert mcp_contract().namespace == "rulith/v3"
    for tool in mcp_contract().tools:
        row = tool.listing()
        assert row["inputSchema"]["type"] == "object" and "draft-07" in row["inputSchema"]["$schema"]
        assert 40 <= len(row["description"]) <= 600
        row["inputSchema"].clear()
        assert tool.input_schema, "a listing is a copy"


def test_no_host_owned_name_can_reach_a_tool():
    surface = mcp_contract().surface
    hidden = {*surface["retiredArguments"], *surface["hostOwnedArguments"]}
    for tool in mcp_contract().tools:
        branches = tool.input_schema.get("oneOf", [tool.input_schema])
        assert not hidden & {name for branch in branches for name in branch["properties"]}


@pytest.mark.parametrize("file", [MCP_BUNDLE, WORKER_BUNDLE])
def test_a_bundle_carries_the_files_of_protocol_byte_for_byte(file):
    for path, text in load_bundle(file).files.items():
        if path.removeprefix("protocol/") in ("codes.json", "board-words.json"):
            assert shipped_text(*path.split("/")) == text
    assert len(load_bundle(WORKER_BUNDLE).files) == 3


@pytest.mark.parametrize(
    "damage",
    [
        lambda bundle: bundle.update(schema="other"),
        lambda bundle: bundle.pop("files"),
        lambda bundle: bundle["files"][0].update(content=bundle["files"][0]["content"] + " "),
        lambda bundle: bundle["files"][0].update(sha256="0" * 64),
        lambda bundle: bundle["files"][0].update(gitBlobOid="0" * 40),
        lambda bundle: bundle["files"].append(bundle["files"][0]),
    ],
)
def test_a_damaged_bundle_is_an_error_and_never_a_default(damage):
    bundle = json.loads(shipped_bytes("protocol", MCP_BUNDLE))
    damage(bundle)
    assert refusal(read_bundle, MCP_BUNDLE, json.dumps(bundle).encode()).code == "contract_damaged"
    assert refusal(read_bundle, MCP_BUNDLE, b"{").code == "contract_damaged"


def test_a_missing_bundle_is_an_error_and_never_a_default(monkeypatch):
    def absent(*_parts):
        raise FileNotFoundError

    monkeypatch.setattr(contract, "shipped_bytes", absent)
    load_bundle.cache_clear()
    try:
        assert refusal(load_bundle, MCP_BUNDLE).code == "contract_missing"
    finally:
        load_bundle.cache_clear()


def test_a_bundle_without_a_file_says_which():
    bundle = load_bundle(WORKER_BUNDLE)
    assert "protocol/none.json" in refusal(bundle.json, "protocol/none.json").teaching


def test_the_law_and_the_contract_have_one_list_of_board_words():
    words = mcp_contract().board_words
    assert {row["predicate"] for row in words["words"]} == BOARD_WORDS
    assert {row["predicate"]: tuple(row["args"]) for row in words["words"] if row["import"]} == IMPORTABLE
    assert frozenset(words["builtins"]) == BUILTINS


def test_engine_labels_map_to_wire_codes():
    table = mcp_contract()
    assert set(table.labels.values()) <= table.codes
    engine = {code for code in CODES if code.isupper()}
    assert engine <= set(table.labels), f"no wire code for {sorted(engine - set(table.labels))}"
    assert wire_code("JOIN_EXPLOSION") == "resource_limit" and wire_code("case_closed") == "case_closed"


def test_states_and_limits_agree_with_the_code():
    surface = mcp_contract().surface
    assert set(surface["operationStates"]) == {*surface["unresolvedStates"], *surface["settledStates"]}
    assert surface["bounds"]["stripRows"] == STRIP_ROWS_MAX
    assert worker_surface()["toolsMax"] == TOOLS_MAX


# -- the three habits of the schema library that are replaced ------------------------------


def test_patterns_are_ascii_full_matches():
    """A search would take a trailing line end and other scripts' digits."""
    good = {"ref": "art_" + "0" * 32}
    check_arguments("ReadArtifact", good)
    for ref in ("art_" + "0" * 32 + "\n", "x art_" + "0" * 32, "art_" + "٣" * 32, "art_" + "0" * 31 + "０"):
        assert refusal(check_arguments, "ReadArtifact", {"ref": ref}).facts["place"] == "/ref"
    assert refusal(validate, "lease", lease(expiresAt="2026-09-07T00:0٣:00Z")).facts["place"] == "/expiresAt"


def lease(**change) -> dict:
    return {"workerId": "wkr_fixture_1", "workerGeneration": 7, "serverTime": "2026-09-07T00:00:00Z",
            "expiresAt": "2026-09-07T00:01:00Z", "heartbeatAfterMs": 10_000} | change


@pytest.mark.parametrize("value", [1.0, True, False, "1", 2**53, 2**60, -(2**53), None, 1e300, float("nan")])
def test_an_integer_is_a_json_integer_in_range(value):
    assert refusal(validate, "lease", lease(workerGeneration=value)).facts["place"] == "/workerGeneration"
    assert refusal(check_arguments, "QueryBoard", {"limit": value}).facts["place"] == "/limit"


@pytest.mark.parametrize("value", [2**53, 2**60, 1e300, float("inf"), float("nan"), 9007199254740992.0])
def test_a_number_is_exact(value):
    batch = {"operations": [{"op": "assert_fact", "predicate": "p", "args": {"n": value}}]}
    assert refusal(check_arguments, "ApplyBatch", batch).facts["place"] == "/operations/0/args/n"


@pytest.mark.parametrize("value", [0, INTEGER_MAX, -INTEGER_MAX, 1.5, 1.0, 1e-300, True, "text", ""])
def test_scalars_pass(value):
    check_arguments("ApplyBatch", {"operations": [{"op": "assert_fact", "predicate": "p", "args": {"n": value}}]})


def test_a_boolean_is_no_number_and_one_is_no_true():
    window = {"ref": "art_" + "0" * 32, "mediaType": "text/plain", "encoding": "utf8", "data": "", "offset": 0,
              "nextOffset": None, "totalBytes": 0, "complete": True, "truncated": False}
    validate_result("artifactWindow", window)
    for change in ({"complete": 1}, {"truncated": 0}, {"offset": False}, {"totalBytes": True}):
        refusal(validate_result, "artifactWindow", window | change)


def test_the_compiled_code_does_not_depend_on_the_library():
    for module in (contract_validators, result_validators):
        assert not any("fastjsonschema" in str(value) for value in vars(module).values())


# -- tool arguments -----------------------------------------------------------------------

GOOD = [
    ("OpenCase", {"caseType": "exploration"}), ("OpenCase", {"caseType": "a1", "businessKey": {"job_id": "x", "n": 1, "b": True}}),
    ("OpenCase", {"caseId": "case_1"}),
    ("ApplyAction", {"action": "a.b", "args": {"source": "s"}, "target": "root_1"}),
    ("CloseCase", {"root": "r"}), ("CloseCase", {"root": "r", "disposition": "failed", "reason": "no"}),
    ("QueryBoard", {}), ("QueryBoard", {"include": ["cases"]}), ("QueryBoard", {"include": [], "limit": 0}),
    ("QueryBoard", {"include": ["nodes", "gaps", "taskStatus"], "selector": {"roots": ["r"]}, "limit": 1000}),
    ("QueryBoard", {"include": ["caseHistory"], "selector": {"roots": ["r"]}, "historyOffset": 0}),
    ("QueryBoard", {"include": ["caseHistory"], "selector": {"roots": ["r"]}, "historyOffset": 9,
                    "historyVersion": "history:" + "a" * 64}),
    ("ReadArtifact", {"ref": "art_" + "a" * 32, "offset": 0, "maxBytes": 1}),
]


@pytest.mark.parametrize(("tool", "arguments"), GOOD, ids=range(len(GOOD)))
def test_arguments_of_the_contract_pass(tool, arguments):
    check_arguments(tool, arguments)


BAD = [
    ("OpenCase", {}, "exactly one of caseType, caseId"),
    ("OpenCase", {"caseType": "exploration", "caseId": "case_1"}, "exactly one of caseType, caseId"),
    ("OpenCase", {"caseType": "X"}, "/caseType"), ("OpenCase", {"caseType": "exploration", "root": "r"}, "root"),
    ("OpenCase", {"caseId": ""}, "/caseId"), ("OpenCase", {"caseType": "exploration", "businessKey": {"a": [1]}}, "/businessKey/a"),
    ("OpenCase", {"caseId": "case_1", "businessKey": {}}, "businessKey"), ("OpenCase", [], "object"), ("OpenCase", None, "object"),
    ("ApplyBatch", {"operations": []}, "/operations"), ("ApplyBatch", {}, "operations"),
    ("ApplyBatch", {"operations": [{"op": "record_result", "label": "x"}]}, "/operations/0/op"),
    ("ApplyBatch", {"operations": [{"op": "declare_hypothesis", "predicate": "x"}]}, "/operations/0/op"),
    ("ApplyBatch", {"operations": [{"predicate": "x"}]}, "/operations/0/op"),
    ("ApplyBatch", {"operations": [{"op": "assert_fact", "predicate": "p", "naf": True}]}, "naf"),
    ("ApplyBatch", {"operations": [{"op": "assert_fact", "predicate": "p", "source": "s"}]}, "source"),
    ("ApplyBatch", {"operations": [{"op": "add_axiom", "when": [], "then": [{"predicate": "p", "naf": True}]}]}, "/operations/0/then/0"),
    ("ApplyBatch", {"operations": [{"op": "assert_fact", "predicate": "p", "args": {"x": {"y": 1}}}]}, "/operations/0/args/x"),
    ("ApplyBatch", {"operations": [{"op": "retract_node", "nodeId": "n"}, 7]}, "/operations/1"),
    ("ApplyAction", {"args": {}}, "action"), ("ApplyAction", {"action": "a", "args": {"x": None}}, "/args/x"),
    ("ApplyAction", {"action": "a", "requestId": "r"}, "requestId"), ("ApplyAction", {"action": "a", "target": ""}, "/target"),
    ("CloseCase", {"root": "r", "disposition": "done"}, "/disposition"), ("CloseCase", {"root": "r", "reason": ""}, "/reason"),
    ("QueryBoard", {"include": ["gaps"]}, "/selector/roots"), ("QueryBoard", {"include": "gaps"}, "/include"),
    ("QueryBoard", {"selector": {"roots": []}}, "/selector/roots"), ("QueryBoard", {"limit": 1001}, "/limit"),
    ("QueryBoard", {"include": ["caseHistory"]}, "/selector/roots"),
    ("QueryBoard", {"include": ["caseHistory", "cases"], "selector": {"roots": ["r"]}}, "/include"),
    ("QueryBoard", {"include": ["caseHistory"], "selector": {"roots": ["r"]}, "historyOffset": 1}, "/historyVersion"),
    ("QueryBoard", {"include": ["caseHistory"], "selector": {"roots": ["r"]}, "limit": 0}, "/limit"),
    ("QueryBoard", {"historyOffset": 0}, "/historyOffset"), ("QueryBoard", {"audienceProfile": "agent"}, "audienceProfile"),
    ("ReadArtifact", {"ref": "art_x"}, "/ref"), ("ReadArtifact", {"ref": "art_" + "a" * 32, "maxBytes": 0}, "/maxBytes"),
]


@pytest.mark.parametrize(("tool", "arguments", "named"), BAD, ids=range(len(BAD)))
def test_other_arguments_are_refused_naming_the_place(tool, arguments, named):
    refused = refusal(check_arguments, tool, arguments)
    assert refused.code == "bad_command" and named in refused.teaching


def test_a_refusal_names_the_same_member_on_every_run():
    assert "a, b, c" in refusal(check_arguments, "CloseCase", {"root": "r", "c": 1, "b": 1, "a": 1}).teaching


def test_a_huge_key_is_not_echoed_whole():
    assert len(refusal(check_arguments, "OpenCase", {"caseType": "exploration", "x" * 100_000: 1}).teaching) < 500


# -- what the surface answers --------------------------------------------------------------

NOW = "2026-10-03T08:00:00.001Z"
ENTRY = {"tool": "ApplyAction", "label": "ApplyAction demo.ship", "state": "running", "stage": "at_worker", "at": NOW, "since": NOW}
RESULT = {"content": [{"type": "text", "text": "{}"}], "isError": False}
VIEW = {"position": {"writes": "open", "newCases": "open", "rules": {"none": "not_permitted"}}}


def entry(**change) -> dict:
    return {name: value for name, value in (ENTRY | change).items() if value is not None}


@pytest.mark.parametrize(
    "good",
    [
        entry(), entry(stage="not_dispatched"), entry(stage=None), entry(state="waiting_for_decision", stage=None, decision="approve"),
        entry(state="needs_person", stage=None), entry(state="done", stage=None, summary="s"),
        entry(state="done", stage=None, result=RESULT), entry(state="failed", stage=None, contentWithheld=True),
        entry(state="refused", stage=None, reason="r", summary="s"), entry(state="refused", stage=None, contentWithheld=True),
        entry(tool="ReadArtifact", state="done", stage=None, summary="s"),
    ],
)
def test_a_strip_entry_of_the_contract_passes(good):
    validate_result("stripEntry", good)


@pytest.mark.parametrize(
    "bad",
    [
        entry(tool="QueryBoard"), entry(state="lost"), entry(label=""), entry(label="x" * 201), entry(ordinal=7), entry(at="now"),
        entry(at="2026-10-03T08:00:00+00:00"), entry(decision="d"), entry(reason="r"), entry(summary="s"), entry(result=RESULT),
        entry(contentWithheld=True), entry(state="done"), entry(state="done", stage=None),
        entry(state="done", stage=None, summary="s", result=RESULT), entry(state="done", stage=None, summary="s", reason="r"),
        entry(state="done", stage=None, contentWithheld=True, summary="s"), entry(state="done", stage=None, contentWithheld=False),
        entry(state="refused", stage=None, summary="s"), entry(state="waiting_for_decision", stage=None),
        entry(tool="ReadArtifact", state="done", stage=None, result=RESULT),
        entry(state="done", stage=None, result=RESULT | {"_meta": {}}),
    ],
)
def test_a_strip_entry_of_another_form_does_not(bad):
    refusal(validate_result, "stripEntry", bad)


def test_the_strip_and_the_state_form_hold_seven():
    validate_result("strip", [ENTRY] * 7)
    refusal(validate_result, "strip", [ENTRY] * 8)
    row = {name: ENTRY[name] for name in ("tool", "label", "state", "stage", "at", "since")} | {"ordinal": 7}
    validate_result("stateForm", [row] * 7)
    for change in ({"ordinal": 0}, {"ordinal": True}, {"summary": "s"}, {"state": "done"}):
        refusal(validate_result, "stateForm", [row | change])


def test_host_metadata_is_closed():
    good = {"agentId": "agent_1", "focusedRoots": [{"caseId": "c", "root": "r"}], "affectedCases": ["c"], "operations": []}
    validate_result("hostMetadata", good)
    for change in ({"agentId": ""}, {"sessionId": "s"}, {"affectedCases": ["c", "c"]}, {"focusedRoots": ["r"]}):
        refusal(validate_result, "hostMetadata", good | change)


def test_a_pre_execution_refusal_has_a_view_only_where_one_belongs():
    good = {"accepted": False, "requestExecuted": False, "tool": "ApplyBatch", "errorCode": "operation_running", "teaching": "t",
            "operations": [ENTRY], "view": VIEW}
    without = {name: value for name, value in good.items() if name != "view"}
    validate_result("preExecutionRefusal", good)
    validate_result("preExecutionRefusal", without | {"tool": "ReadArtifact"})
    validate_result("preExecutionRefusal", without | {"errorCode": "not_authorized"})
    for bad in (without, good | {"tool": "ReadArtifact"}, good | {"errorCode": "not_authorized"}, good | {"tool": "QueryBoard"},
                good | {"accepted": True}, good | {"requestExecuted": 0}, good | {"more": 1}):
        refusal(validate_result, "preExecutionRefusal", bad)


def test_a_held_answer_never_says_accepted():
    validate_result("heldCallResult", {"state": "running", "operations": [], "view": {}, "teaching": "t"})
    validate_result("heldCallResult", {"state": "unknown", "operations": [], "contentWithheld": True})
    for bad in ({"state": "done", "operations": []}, {"state": "running", "operations": [], "contentWithheld": True},
                {"state": "running", "operations": [], "accepted": True}):
        refusal(validate_result, "heldCallResult", bad)


def test_a_board_reading_is_committed_or_says_why_not():
    good = {"accepted": True, "operations": [], "view": VIEW, "observation": {"consistency": "committed"}}
    no = {"accepted": False, "operations": [], "errorCode": "stale_revision", "teaching": "t", "requestExecuted": False, "view": {}}
    closed = {"accepted": False, "operations": [], "errorCode": "audience_profile_denied", "teaching": "t"}
    for value in (good, no, closed):
        validate_result("queryBoardResult", value)
    for bad in (good | {"requestExecuted": False}, {k: v for k, v in good.items() if k != "observation"}, closed | {"view": {}},
                {k: v for k, v in no.items() if k != "view"}):
        refusal(validate_result, "queryBoardResult", bad)


@pytest.mark.parametrize(
    ("row", "good"),
    [
        ({"action": "a", "status": "ready"}, True), ({"action": "a"}, True), ({"action": "a", "status": "ready", "waits": ["decision"]}, True),
        ({"action": "a", "status": "blocked", "reason": "rule", "why": "w"}, True),
        ({"action": "a", "status": "blocked", "reason": "case_paused"}, True),
        ({"action": "a", "status": "ready", "reason": "rule"}, False), ({"action": "a", "status": "ready", "waits": []}, False),
        ({"action": "a", "status": "blocked"}, False), ({"action": "a", "status": "blocked", "reason": "rule", "waits": ["decision"]}, False),
        ({"action": "a", "status": "blocked", "reason": "law_lock", "why": "w"}, False),
        ({"action": "a", "status": "ready", "available": True}, False),
    ],
)
def test_an_action_row_says_ready_or_why_not(row, good):
    if good:
        validate_result("actionRow", row)
    else:
        refusal(validate_result, "actionRow", row)


@pytest.mark.parametrize(
    ("status", "ok", "good"),
    [("confirmed", True, True), ("failed", False, True), ("refused", False, True), ("unknown", None, True),
     ("confirmed", False, False), ("failed", True, False), ("unknown", False, False), ("confirmed", None, False)],
)
def test_a_settled_action_has_one_public_outcome(status, ok, good):
    outcome = {"action": "a", "done": True, "status": status} | ({} if ok is None else {"ok": ok})
    if good:
        validate_result("actionOutcome", outcome)
    else:
        refusal(validate_result, "actionOutcome", outcome)
