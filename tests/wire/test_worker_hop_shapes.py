"""Closed shapes of the Worker hop. Duty: protocol/worker-contract.json; the Worker hop, §§2, 4, 5."""

from __future__ import annotations

import json

import pytest

from rulith.base.errors import Refused
from rulith.wire import worker_hop
from rulith.wire.contract import WORKER_BUNDLE, load_bundle, validate, worker_surface
from rulith.wire.worker_hop import StatedIdentity

VECTORS = json.loads(load_bundle(WORKER_BUNDLE).files["protocol/worker/vectors.json"])
ME, GRANT = "wkr_0123456789", "UA.Uw"
WHO = {"workerId": ME, "workerGeneration": 3}
DIGEST = "sha256:" + "a" * 64

POLL = {"kind": "Poll", "workerId": ME, "tools": []}
CLAIM = {"kind": "ClaimWork", "workType": "action", "id": "inv_1", **WHO, "executionGrant": GRANT}
REPORT = {"kind": "ReportWork", "workType": "action", "id": "inv_1", **WHO, "executionGrant": GRANT}
GOOD = [
    POLL, POLL | {"workerGeneration": 3}, CLAIM,
    {"kind": "ClaimWork", "workType": "verification", "id": "v", **WHO},
    REPORT | {"ok": True, "result": "done"}, REPORT | {"ok": True}, REPORT | {"ok": False, "result": "", "reason": "no"},
    REPORT | {"ok": True, "result": "", "facts": [{"predicate": "a.b", "args": {"x": 1, "y": True, "z": "t"}}]},
    REPORT | {"ok": True, "result": "", "artifacts": [{"ref": "art_" + "a" * 32}], "completionStage": "terminal"},
    REPORT | {"undeliverable": "mcp_execution_unknown"},
    {"kind": "ReportWork", "workType": "verification", "id": "v", **WHO, "outcome": "satisfied", "tier": "attested"},
    {"kind": "ReportWork", "workType": "evidence", **WHO, "material": "m", "source": "s",
     "facts": [{"predicate": "a", "args": {}}], "exhibit": {"target": "tool:acme.x@1", "item": "s", "digest": "sha256:" + "0" * 16}},
    {"kind": "ReportWork", "workType": "review", **WHO, "tool": "t", "norm": "n", "invocation": "i", "requestDigest": DIGEST,
     "expectedPolicyFingerprint": DIGEST, "verdict": "uncertain", "reason": "", "citedClause": "", "feature": ""},
    {"kind": "RenewLease", **WHO}, {"kind": "ReleaseLease", **WHO},
]
BAD = [
    ("retired member", POLL | {"caseId": "case_1"}, "caseId"),
    ("retired revision", REPORT | {"ok": True, "caseRevision": 1}, "caseRevision"),
    ("unknown member", POLL | {"inputs": 1}, "inputs"),
    ("unknown kind", {"kind": "ListWork", "workerId": ME}, "kind"),
    ("no kind", {"workerId": ME}, "kind"),
    ("no tools", {"kind": "Poll", "workerId": ME}, "tools"),
    ("bad instance", POLL | {"workerId": "me"}, "workerId"),
    ("generation 0", POLL | {"workerGeneration": 0}, "workerGeneration"),
    ("generation true", POLL | {"workerGeneration": True}, "workerGeneration"),
    ("generation 2^53", POLL | {"workerGeneration": 2**53}, "workerGeneration"),
    ("generation 3.0", POLL | {"workerGeneration": 3.0}, "workerGeneration"),
    ("claim without grant", {k: v for k, v in CLAIM.items() if k != "executionGrant"}, "executionGrant"),
    ("verification claim with grant", CLAIM | {"workType": "verification"}, "executionGrant"),
    ("review is not claimed", CLAIM | {"workType": "review"}, "workType"),
    ("renewal without generation", {"kind": "RenewLease", "workerId": ME}, "workerGeneration"),
    ("report without outcome", REPORT, "ok"),
    ("success with a reason", REPORT | {"ok": True, "reason": "x"}, "reason"),
    ("failure with facts", REPORT | {"ok": False, "facts": [{"predicate": "a", "args": {}}]}, "facts"),
    ("empty facts", REPORT | {"ok": True, "facts": []}, "facts"),
    ("a null in a fact", REPORT | {"ok": True, "facts": [{"predicate": "a", "args": {"x": None}}]}, "/facts/0/args/x"),
    ("a source in a fact", REPORT | {"ok": True, "facts": [{"predicate": "a", "args": {}, "source": "s"}]}, "source"),
    ("undeliverable with outcome", REPORT | {"undeliverable": "x", "ok": True}, "ok"),
    ("undeliverable of another form", REPORT | {"undeliverable": "X-1"}, "undeliverable"),
    ("an input adoption of another form", GOOD[0] | {"inputAdoption": "yes"}, "inputAdoption"),
    ("a guessed verdict", GOOD[12] | {"verdict": "true"}, "verdict"),
    ("a review without digest", {k: v for k, v in GOOD[12].items() if k != "requestDigest"}, "requestDigest"),
    ("evidence without source", {k: v for k, v in GOOD[11].items() if k != "source"}, "source"),
    ("verification with ok", GOOD[10] | {"ok": True}, "ok"),
    ("unknown work type", REPORT | {"workType": "art"}, "workType"),
]


@pytest.mark.parametrize("operation", GOOD, ids=range(len(GOOD)))
def test_an_operation_of_the_contract_is_read(operation):
    assert worker_hop.read_operation({"operation": operation}) == operation


def test_a_poll_may_say_what_inputs_it_adopts():
    """An X row of the hop's §4: taken, and of no effect here."""
    asked = GOOD[0] | {"inputAdoption": {"version": 2}}
    assert worker_hop.read_operation({"operation": asked}) == asked


@pytest.mark.parametrize(("_name", "operation", "place"), BAD, ids=[name for name, _, _ in BAD])
def test_an_operation_of_another_form_is_refused_naming_the_member(_name, operation, place):
    with pytest.raises(Refused) as refused:
        worker_hop.read_operation({"operation": operation})
    assert refused.value.code == "bad_command" and place in refused.value.teaching


@pytest.mark.parametrize("body", [None, [], {}, {"operation": []}, {"operation": POLL, "more": 1}, POLL])
def test_the_body_has_exactly_one_member(body):
    with pytest.raises(Refused):
        worker_hop.read_operation(body)


def test_what_we_write_is_what_we_read():
    for operation in (
        worker_hop.poll(ME, [], None), worker_hop.poll(ME, [], 3),
        worker_hop.claim("action", "inv_1", worker_id=ME, generation=3, grant=GRANT),
        worker_hop.claim("verification", "v", worker_id=ME, generation=3, grant=None),
        worker_hop.report_action("inv_1", worker_id=ME, generation=3, grant=GRANT, ok=True, result="r", facts=[]),
        worker_hop.report_action("inv_1", worker_id=ME, generation=3, grant=GRANT, ok=False, reason="no", facts=[{"x": 1}]),
        worker_hop.report_undeliverable("inv_1", worker_id=ME, generation=3, grant=GRANT, code="http_write_transport_unknown"),
        worker_hop.renew(ME, 3), worker_hop.release(ME, 3),
    ):
        assert worker_hop.read_operation({"operation": operation}) == operation


# -- headers ------------------------------------------------------------------------------


@pytest.mark.parametrize("text", VECTORS["generations"]["good"])
def test_a_generation_header_is_decimal(text):
    assert worker_hop.read_generation(text) == int(text)


@pytest.mark.parametrize("text", VECTORS["generations"]["refused"])
def test_a_generation_header_of_another_form_is_refused(text):
    with pytest.raises(Refused):
        worker_hop.read_generation(text)


def identity(**headers: list[str]) -> StatedIdentity:
    sent = {worker_hop.WORKER_HEADER: headers.get("worker", []), worker_hop.GENERATION_HEADER: headers.get("generation", [])}
    return worker_hop.read_identity(lambda name: sent[name])


def test_header_identity_is_read_once_and_whole():
    assert identity(worker=[ME], generation=["3"]) == StatedIdentity(ME, 3)
    assert identity(worker=[ME]) == StatedIdentity(ME, None)
    assert identity() == StatedIdentity(None, None)
    for wrong in ({"worker": [ME, ME]}, {"worker": [ME], "generation": ["3", "3"]}, {"generation": ["3"]},
                  {"worker": ["me"]}, {"worker": [""]}, {"worker": [ME], "generation": [""]}):
        with pytest.raises(Refused):
            identity(**wrong)


def test_headers_and_body_state_the_same_identity():
    worker_hop.check_identity(StatedIdentity(ME, None), POLL)
    worker_hop.check_identity(StatedIdentity(ME, 3), CLAIM)
    for stated, operation in [
        (StatedIdentity(None, None), POLL), (StatedIdentity(ME, 3), POLL), (StatedIdentity(ME, None), CLAIM),
        (StatedIdentity(ME, 4), CLAIM), (StatedIdentity("wkr_another_one", 3), CLAIM),
    ]:
        with pytest.raises(Refused):
            worker_hop.check_identity(stated, operation)


def test_the_worker_s_own_headers_read_back():
    headers = worker_hop.request_headers(connection_id="c", key="k", worker_id=ME, generation=3)
    assert worker_hop.read_identity(lambda name: [headers[name]] if name in headers else []) == StatedIdentity(ME, 3)
    assert worker_hop.request_headers(connection_id="c", key="k") == {"x-rulith-connection": "c", "x-rulith-connection-key": "k"}
    named = worker_surface()["headers"]
    assert set(headers) - {"content-type"} == set(named.values())


# -- rows ---------------------------------------------------------------------------------

SPEC = {"name": "read_note", "kind": "read", "impl": "worker-tool", "params": {"path": "string"},
        "exec": "rulith.workspace.read_text@1", "sourceTypes": ["file"], "returns": []}
ROW = {
    "workType": "action", "work": "inv_1", "tool": "acme.read_note", "boardId": "b", "toolContractId": SPEC["exec"],
    "sourceRecordId": "docs", "connectionId": "conn_1", "toolDigest": "a" * 64, "executionGrant": GRANT,
    "args": '{"path":"n","source":"docs"}', "target": "", "toolSpec": json.dumps(SPEC),
    "sourceUpload": {"sourceRecordId": "docs", "permission": "absent", "upload": False},
    "artifactPolicy": {"inlineBytes": 8192, "readBytes": 65536, "objectBytes": 8388608, "totalBytes": 268435456,
                       "temporaryRetentionMs": 86400000},
}


def test_a_whole_action_row_is_accepted():
    validate("workerActionRow", ROW)
    assert worker_hop.read_args(ROW["args"])["source"] == "docs"
    assert worker_hop.read_tool_spec(ROW) == SPEC


@pytest.mark.parametrize("missing", ROW)
def test_each_of_the_fourteen_members_is_mandatory(missing):
    with pytest.raises(Refused) as refused:
        validate("workerActionRow", {name: value for name, value in ROW.items() if name != missing})
    assert missing in refused.value.teaching


@pytest.mark.parametrize(
    "change",
    [
        {"caseId": "c"}, {"caseRevision": 1}, {"invocationId": "i"}, {"actionId": "a"}, {"grant": "g"},
        {"sourcePermissions": {}}, {"artifactPolicies": {}}, {"other": 1}, {"work": ""}, {"tool": 3}, {"sourceRecordId": None},
        {"toolDigest": "A" * 64}, {"toolDigest": "sha256:" + "a" * 64}, {"args": ""}, {"args": "[]"}, {"args": "3"},
        {"args": "{"}, {"args": '{"a":1,"a":2}'}, {"args": {"path": "n"}}, {"toolSpec": "[]"}, {"toolSpec": "{}"},
        {"toolSpec": json.dumps(SPEC | {"impl": "other"})}, {"toolSpec": json.dumps(SPEC | {"exec": "acme.other@1"})},
        {"toolSpec": json.dumps({k: v for k, v in SPEC.items() if k != "sourceTypes"})},
        {"toolSpec": json.dumps(SPEC | {"sourceTypes": "file"})}, {"toolSpec": json.dumps(SPEC | {"source": "docs"})},
        {"sourceUpload": {"sourceRecordId": "docs", "permission": "maybe", "upload": False}},
        {"sourceUpload": {"sourceRecordId": "docs", "permission": "absent", "upload": "no"}},
        {"sourceUpload": {"sourceRecordId": "docs", "permission": "denied", "upload": False, "refusal": ""}},
        {"artifactPolicy": ROW["artifactPolicy"] | {"inlineBytes": 0}},
        {"artifactPolicy": ROW["artifactPolicy"] | {"inlineBytes": 8192.0}},
        {"artifactPolicy": ROW["artifactPolicy"] | {"extra": 1}},
    ],
)
def test_a_row_of_another_form_is_left(change):
    row = ROW | change
    with pytest.raises(Refused) as refused:
        validate("workerActionRow", row)
        worker_hop.read_args(row["args"])
        worker_hop.read_tool_spec(row)
    assert refused.value.code == "bad_command"


def test_verbs_and_work_types_are_the_contract_s():
    assert list(worker_hop.ROW_ORDER) == worker_surface()["workTypes"]
    assert list(worker_hop.OPERATIONS) == worker_surface()["kinds"]


@pytest.mark.parametrize("row", VECTORS["uploads"], ids=range(len(VECTORS["uploads"])))
def test_the_upload_rule_is_the_contract_s(row):
    validate("sourceUpload", row["sourceUpload"])
    if row.get("admitted"):
        worker_hop.check_upload(row["row"], row["sourceUpload"])
        return
    with pytest.raises(Refused) as refused:
        worker_hop.check_upload(row["row"], row["sourceUpload"])
    assert row["refused"] in (refused.value.code, refused.value.facts.get("reason"))
