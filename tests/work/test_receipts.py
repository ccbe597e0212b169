"""What is told of a call that ran: the inline budget, the fact mapping, the undeliverable codes."""

import json

import pytest

from rulith.adapters.outcomes import Executed, Failed, Withheld
from rulith.base.json_text import compact_json
from rulith.wire.manifest import read_manifest
from rulith.work.checks import Cleared
from rulith.work.receipts import upload_refusal, write_not_recorded, write_receipt

RETURNS = ({"predicate": "acme.row", "args": {"id": "$id", "n": "$count"}}, {"predicate": "acme.seen", "args": {}})
TOOL = read_manifest(json.dumps({"format": "rulith-worker-tools/1", "tools": {
    "acme.tool@1": {"adapter": "run", "sourceTypes": ["file"], "entry": "a.py"},
}}))["acme.tool@1"]
GRANTED = {"sourceRecordId": "docs", "permission": "granted", "upload": True, "refusal": None}


def cleared(returns=(), is_read=True, upload=GRANTED, inline_bytes=8192, record="docs"):
    return Cleared("inv_1", "act", TOOL, "P.S", "wkr_receipt_1", 3, returns, is_read, record, upload, inline_bytes, None)


def write(outcome, **settings):
    return write_receipt(cleared(**settings), outcome).operation


def test_an_executed_call_is_reported_under_its_own_identity():
    assert write(Executed("done")) == {
        "kind": "ReportWork", "workType": "action", "id": "inv_1", "ok": True, "result": "done",
        "workerId": "wkr_receipt_1", "workerGeneration": 3, "executionGrant": "P.S",
    }


def test_a_failed_call_says_why_and_carries_an_empty_result():
    report = write(Failed("no such order"))
    assert (report["ok"], report["result"], report["reason"]) == (False, "", "no such order") and "facts" not in report


def test_every_returns_row_times_every_result_row_gives_one_fact():
    text = '{"rows":[{"id":"a","count":1,"more":[1]},{"id":"b","count":2.5}]}'
    assert write(Executed(text), returns=RETURNS)["facts"] == [
        {"predicate": "acme.row", "args": {"id": "a", "n": 1}}, {"predicate": "acme.seen", "args": {}},
        {"predicate": "acme.row", "args": {"id": "b", "n": 2.5}}, {"predicate": "acme.seen", "args": {}},
    ]


def test_a_status_line_before_the_rows_is_dropped():
    assert len(write(Executed('HTTP 200: {"rows":[{"id":"a","count":1}]}'), returns=RETURNS)["facts"]) == 2


def test_no_rows_are_no_facts_and_a_success():
    report = write(Executed('{"rows":[]}'), returns=RETURNS)
    assert report["ok"] is True and "facts" not in report


def test_without_returns_any_output_is_legal():
    assert write(Executed("anything at all"))["ok"] is True


@pytest.mark.parametrize("text, said", [
    ('{"rows":[{"id":"a"}]}', "column count of the output is missing"),
    ('{"rows":[{"id":"a","count":null}]}', "column count of the output is not a text"),
    ('{"rows":[{"id":"a","count":{}}]}', "column count"),
    ('{"rows":[{"id":["a"],"count":1}]}', "column id"),
    ('{"rows":["a"]}', "a row of the output is not an object"),
    ('{"rows":{}}', "not {rows"),
    ('[]', "not {rows"),
    ("(no output)", "not one well-formed JSON"),
    ('{"rows":[{"id":"a","count":NaN}]}', "NaN"),
    ('{"rows":[{"id":"a","id":"b","count":1}]}', "'id'"),
])
def test_output_that_yields_no_facts_is_a_failure_naming_the_column(text, said):
    report = write(Executed(text), returns=RETURNS)
    assert report["ok"] is False and said in report["reason"]


def test_text_that_begins_with_error_is_a_failure():
    report = write(Executed("error: the till is closed"))
    assert report["ok"] is False and report["reason"] == "error: the till is closed"


def test_the_budget_counts_the_bytes_of_result_reason_and_facts():
    text = "é" * 100
    size = len(compact_json({"result": text, "reason": "", "facts": []}).encode())
    assert write(Executed(text), inline_bytes=size)["ok"] is True
    assert write(Executed(text), inline_bytes=size - 1)["ok"] is False


@pytest.mark.parametrize("upload, code", [
    (GRANTED, "materials_not_configured"),
    ({**GRANTED, "permission": "denied"}, "source_off_machine_denied"),
    ({**GRANTED, "permission": "absent"}, "source_permission_required"),
    ({**GRANTED, "sourceRecordId": "other"}, "source_permission_required"),
    ({**GRANTED, "upload": False}, "source_permission_required"),
    ({**GRANTED, "refusal": "too_much_today"}, "source_permission_required"),
    ({**GRANTED, "upload": False, "refusal": "too_much_today"}, "too_much_today"),
    ({**GRANTED, "upload": False, "refusal": "Not A Code!"}, "result_delivery_unavailable"),
])
def test_a_result_over_the_budget_is_withheld_by_permission_first(upload, code):
    effect = write(Executed("x" * 200), upload=upload, inline_bytes=100, is_read=False)
    assert effect["undeliverable"] == code and not {"ok", "result", "reason", "facts"} & set(effect)
    read = write(Executed("x" * 200), upload=upload, inline_bytes=100, is_read=True)
    assert read["ok"] is False and read["reason"] == f"result_not_delivered: {code}"


def test_source_free_work_may_upload_nothing():
    assert upload_refusal("", {**GRANTED, "sourceRecordId": ""}) == "source_permission_required"
    assert upload_refusal("docs", GRANTED) is None


def test_facts_over_the_budget_have_their_own_code():
    rows = compact_json({"rows": [{"id": "a" * 50, "count": n} for n in range(20)]})
    effect = write(Executed(rows), returns=RETURNS, inline_bytes=500, is_read=False)
    assert effect["undeliverable"] == "required_facts_exceed_inline_budget"
    read = write(Executed(rows), returns=RETURNS, inline_bytes=500, is_read=True)
    assert read["reason"].startswith("result_too_large: required_facts_exceed_inline_budget")


def test_a_brief_stands_for_the_text_only_when_the_facts_carry_it():
    outcome = Executed("x" * 200, ({"id": "a", "count": 1},), brief="short")
    assert write(outcome, returns=RETURNS, inline_bytes=300)["result"] == "short"
    assert "undeliverable" in write(outcome, inline_bytes=100, is_read=False)


def test_a_failure_whose_detail_does_not_fit_stays_a_failure():
    report = write(Failed("x" * 500), inline_bytes=200)
    assert report["ok"] is False and report["reason"] == "failure_detail_not_delivered: materials_not_configured"


def test_a_reason_is_bounded_and_keeps_its_end():
    report = write(Failed("é" * 5000 + " the cause"))
    assert len(report["reason"].encode()) <= 2048 and report["reason"].endswith("the cause")


def test_a_withheld_outcome_is_undeliverable_whatever_the_kind():
    for is_read in (True, False):
        assert write(Withheld("adapter_output_exceeds_object_budget"), is_read=is_read)["undeliverable"] == "adapter_output_exceeds_object_budget"
    assert write(Withheld("Weird Code"))["undeliverable"] == "result_delivery_unavailable"


def test_the_receipt_after_a_refused_ingest_of_a_read_is_a_failure_in_the_gateways_words():
    report = write_not_recorded(cleared(), "acme.row.n is 'x', which is not a number.").operation
    assert report["ok"] is False and report["id"] == "inv_1"
    assert report["reason"].startswith("result_not_recorded: ingest_rejected") and "acme.row.n is 'x'" in report["reason"]


def test_the_receipt_after_a_refused_ingest_of_what_may_have_acted_is_no_failure():
    report = write_not_recorded(cleared(is_read=False), "acme.row.n is 'x'").operation
    assert report["undeliverable"] == "result_not_recorded" and "ok" not in report


def test_output_that_cannot_be_read_fails_a_read_and_leaves_an_act_unknown():
    assert write(Executed("no json"), returns=RETURNS)["ok"] is False
    assert write(Executed("no json"), returns=RETURNS, is_read=False)["undeliverable"] == "result_unreadable"
    assert write(Executed("error: no paper"), returns=RETURNS, is_read=False)["reason"] == "error: no paper"
