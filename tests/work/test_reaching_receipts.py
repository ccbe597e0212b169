"""Receipts of Tools that reach out: a stage that was confirmed, facts that cannot be read, a server's own words."""

import json

import pytest

from rulith.adapters.outcomes import Executed, Withheld
from rulith.wire.manifest import read_tool
from rulith.wire.worker_hop import read_operation
from rulith.work.checks import Cleared
from rulith.work.receipts import write_receipt

RETURNS = ({"predicate": "acme.row", "args": {"id": "$id"}},)
TOOL = read_tool("acme.far@1", {"adapter": "mcp", "sourceTypes": ["mcp"], "entry": "act"})
UPLOAD = {"sourceRecordId": "far", "permission": "absent", "upload": False}


def write(outcome, *, returns=(), is_read=False):
    receipt = write_receipt(Cleared("inv_1", "act", TOOL, "P.S", "wkr_receipt_1", 3, returns, is_read, "far", UPLOAD, 8_192, None), outcome)
    read_operation({"operation": receipt.operation})        # the contract takes it
    return receipt


def test_a_confirmed_write_says_its_stage():
    """`completionStage` goes with a success that the far side confirmed, and with nothing else."""
    assert write(Executed("HTTP 201: {}", confirmed=True)).operation["completionStage"] == "terminal"
    assert "completionStage" not in write(Executed("HTTP 201: {}")).operation
    assert "completionStage" not in write(Withheld("http_write_terminal_unconfirmed")).operation


@pytest.mark.parametrize("text", ["(no output)", '{"rows":[{}]}', '{"rows":[{"id":null}]}', '{"rows":[{"id":[1]}]}', '{"result":"12"}', "HTTP 200: <html>"])
@pytest.mark.parametrize("code", ["http_write_facts_unavailable", "mcp_execution_unknown"])
def test_facts_that_cannot_be_read_are_unknown_under_the_adapters_code(text, code):
    """It was sent and answered, and what it did stands: never failed, also where the Tool calls itself a read."""
    for is_read in (False, True):
        receipt = write(Executed(text, unreadable=code), returns=RETURNS, is_read=is_read)
        assert receipt.operation["undeliverable"] == code and receipt.landed_as == "undeliverable" and receipt.why
    assert write(Executed(text, unreadable=code)).landed_as == "executed"       # nothing was to be read


def test_a_servers_text_that_begins_with_error_is_no_failure():
    """Adapter text that begins `error:` has failed, but what an MCP server says is its own."""
    assert write(Executed("error: as quoted", literal=True)).operation["result"] == "error: as quoted"
    assert write(Executed("error: as quoted")).landed_as == "failed"


def test_why_an_outcome_is_unknown_stays_on_this_machine():
    receipt = write(Withheld("mcp_execution_unknown", "it said on stderr: a password"))
    assert receipt.why == "it said on stderr: a password" and "password" not in json.dumps(receipt.operation)
