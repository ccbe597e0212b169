"""A gateway that answers and cannot commit: said after the first try, waited for within a bound, then exit 14."""

from __future__ import annotations

import pytest

from rulith.base.errors import Refused
from rulith.runtime.answers import Kind
from rulith.runtime.outcome import UNREACHABLE, exit_of
from rulith.base.limits import STORE_WAIT_S
from tests.runtime.scripted_gateway import Held, Raw, Say, state_row, strip_row

WORDS = "The ledger could not be written: the disk is full. Free some space."
REFUSED = {"accepted": False, "requestExecuted": False, "tool": "OpenCase", "errorCode": "store_unavailable",
           "teaching": WORDS, "view": {}, "operations": []}
OPENED = {"accepted": True, "result": {"caseId": "case_a", "root": "root_a", "status": "running"}, "view": {}, "operations": []}
DATA = {"reason": "store_unavailable", "teaching": WORDS}


def sick(id_: object = None) -> Raw:
    return Raw(503, {"jsonrpc": "2.0", "id": id_, "error": {"code": -32603, "message": "not durable", "data": DATA}})


class Gateway:
    """Answers calls from a list and is sick for so many pings."""

    def __init__(self, *answers, pings: int) -> None:
        self.answers, self.sick_pings = list(answers), pings

    def __call__(self, call):
        given = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return given(call) if callable(given) else given

    def ping(self):
        self.sick_pings -= 1
        return sick() if self.sick_pings >= 0 else None


@pytest.fixture
def call(line_to, in_loop, heard):
    """What one call comes to: (answer or the refusal that ended it, the gateway)."""

    def run(gateway, tool="OpenCase"):
        def before(server):
            server.ping = lambda: gateway.ping()
            server.state_form = lambda: [state_row(7, "ApplyAction", "running")] if tool == "ApplyAction" else []

        async def whole():
            async with line_to(gateway, wait_s=600.0, before=before) as (server, line):
                try:
                    return await line.call(tool, {}), server
                except Refused as refusal:
                    return refusal, server
        return in_loop(whole())

    return run


def said(heard) -> list[str]:
    return [fields["message"] for fields in heard.of("error")]


ALWAYS = 10_000


@pytest.mark.parametrize("first", [Say(REFUSED, is_error=True), lambda call: sick(call.id),
                                   Held((), error={"code": -32603, "message": "not durable", "data": DATA})])
def test_a_store_that_stays_full_ends_the_run_as_unreachable_in_its_words(call, heard, first):
    refusal, server = call(Gateway(first, pings=ALWAYS))
    assert isinstance(refusal, Refused) and refusal.code == "gateway_cannot_commit" and exit_of(refusal) == UNREACHABLE
    assert WORDS.rstrip(".") in str(refusal)
    assert len(said(heard)) == 1 and WORDS in said(heard)[0] and f"{STORE_WAIT_S:g} s" in said(heard)[0]
    assert len(server.calls) == 1, "nothing is sent again while it cannot be kept"
    assert server.methods.count("ping") <= STORE_WAIT_S / 2 + 1 and server.methods.count("initialize") == 1


def test_what_was_not_executed_is_asked_again_once_the_store_is_well(call, heard):
    answer, server = call(Gateway(Say(REFUSED, is_error=True), Say(OPENED), pings=3))
    assert answer.kind is Kind.ACCEPTED and len(server.calls) == 2
    assert len(said(heard)) == 1 and any("again" in line for line in heard.log)


def test_what_may_have_run_is_never_asked_again(call, heard):
    answer, server = call(Gateway(lambda call: sick(call.id), Say(OPENED), pings=3))
    assert answer.kind is Kind.LOST and len(server.calls) == 1
    assert len(said(heard)) == 1


def test_a_read_is_asked_again_once_the_store_is_well(call):
    read = Say({"accepted": True, "view": {}, "observation": {"consistency": "committed"}, "operations": []})
    answer, server = call(Gateway(lambda call: sick(call.id), read, pings=1), "QueryBoard")
    assert answer.kind is Kind.ACCEPTED and len(server.calls) == 2


def test_a_held_call_whose_outcome_cannot_be_kept_is_waited_for_no_longer_than_the_bound(call, heard):
    running = Say({"state": "running", "teaching": WORDS, "view": {}, "operations": [strip_row("ApplyAction", "running")]})
    refusal, server = call(Gateway(Held((7,), running), pings=ALWAYS), "ApplyAction")
    assert isinstance(refusal, Refused) and refusal.code == "gateway_cannot_commit"
    assert len(said(heard)) == 1
