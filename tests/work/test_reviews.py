"""The reviewer: one fixed request in a process without a vault, literal verdicts, no more often than allowed. Duty: the Worker hop, §16; style §11."""

from __future__ import annotations

import asyncio
import json
import os

import pytest

from rulith.adapters.outcomes import Executed, Failed
from rulith.base.errors import Refused
from rulith.net.server import Response, serve
from rulith.wire.contract import validate
from rulith.wire.lease import Moment
from rulith.work.reviewer import MAX_TOKENS, Reviewer, read_verdict
from rulith.work.reviews import Reviews, write_review

ME = "wkr_test_0000"
ROW = {"workType": "review", "work": "rev_1", "tool": "acme.ship@1", "norm": "shipping", "invocation": "inv_1", "requestDigest": "sha256:" + "a" * 64,
       "expectedPolicyFingerprint": "sha256:" + "b" * 64, "caseFile": {"rendered": "ship 7 boxes", "more": 1}, "further": True}
ASKER = Reviewer("http://127.0.0.1:1/v1", "m", "model-key", 20.0, 20.0)


def cleared(reviews=None, row=ROW, at=100.0):
    return (reviews or Reviews(ASKER)).judge(row, ME, 7, Moment(at, 1_000.0 + at))


def code_of(reviews, row=ROW, at=100.0):
    with pytest.raises(Refused) as caught:
        cleared(reviews, row, at)
    return caught.value.code


@pytest.mark.parametrize("said, verdict", [
    ({"verdict": "allow"}, "allow"), ({"verdict": "block", "citedClause": "2"}, "block"), ({"verdict": "not_applicable", "citedClause": "1"}, "not_applicable"),
    ({"verdict": "not_applicable"}, "uncertain"), ({"verdict": "not_applicable", "citedClause": " "}, "uncertain"), ({"verdict": "ALLOW"}, "uncertain"), ({"verdict": True}, "uncertain"),
    ({"verdict": "allow it"}, "uncertain"), ({}, "uncertain"), ([], "uncertain"), (None, "uncertain"), ("allow", "uncertain"), ({"verdict": ["allow"]}, "uncertain"),
    ({"verdict": "uncertain", "reason": "hm"}, "uncertain"),
])
def test_only_a_literal_verdict_counts(said, verdict):
    found = read_verdict(said)
    assert found["verdict"] == verdict and set(found) == {"verdict", "reason", "citedClause", "feature"} and all(isinstance(each, str) for each in found.values())


@pytest.mark.parametrize("outcome", [Executed('{"verdict":"allow","reason":"fine","citedClause":"","feature":""}'), Executed("no json"), Failed("x")])
def test_a_report_repeats_what_was_asked_and_nothing_guessed(outcome):
    report = write_review(cleared(), outcome).operation
    validate("reportWork", report)
    assert report["verdict"] == ("allow" if isinstance(outcome, Executed) and "allow" in outcome.text else "uncertain")
    assert {name: report[name] for name in ("requestDigest", "expectedPolicyFingerprint", "invocation")} == {name: ROW[name] for name in ("requestDigest", "expectedPolicyFingerprint", "invocation")}


def test_a_review_needs_a_reviewer_and_a_whole_row():
    assert code_of(Reviews(None)) == "reviewer_absent"
    assert code_of(Reviews(ASKER), {**ROW, "requestDigest": "sha256:guess"}) == "row_malformed"


def test_what_was_accepted_is_not_asked_again_until_it_runs_out():
    """§16: deduplicated until the accepted report's expiresAt, remembered only after acceptance."""
    reviews = Reviews(ASKER)
    first = cleared(reviews, at=100)
    assert cleared(reviews, at=130).invocation == "rev_1"          # its report was not accepted
    reviews.remember(first, {"payload": {"expiresAt": 1_200_000}})
    assert code_of(reviews, at=160) == "reviewed_already"
    assert cleared(reviews, {**ROW, "requestDigest": "sha256:" + "c" * 64}, at=161) and cleared(reviews, at=201)


def test_the_model_is_asked_no_more_often_than_allowed():
    reviews = Reviews(ASKER)
    cleared(reviews, at=100)
    assert code_of(reviews, at=119) == "review_too_soon" and cleared(reviews, at=120)


ANSWER = {"verdict": "block", "reason": "too many", "citedClause": "§2", "feature": "7 boxes"}


@pytest.mark.parametrize("status, content, verdict", [
    (200, json.dumps(ANSWER), "block"), (200, "```json\n" + json.dumps(ANSWER) + "\n```", "block"), (200, "I think it is fine.", "uncertain"), (500, "", "uncertain"), (200, None, "uncertain"),
])
def test_one_fixed_request_is_posted_by_a_process_that_holds_no_other_key(status, content, verdict, tmp_path):
    """The child process gets the model's key on its stdin, and nothing of the Worker in its environment."""
    async def main():
        seen = []

        async def answer(request):
            seen.append((request.path, json.loads(request.body), dict(request.headers.items())))
            return Response(status, {"content-type": "application/json"}, json.dumps({"choices": [{"message": {"content": content}}]}).encode())

        server = await serve(answer, "127.0.0.1", 0)
        try:
            asker = Reviewer(f"http://127.0.0.1:{server.port}/v1", "some-model", "model-key", 20.0)
            ambient = {**os.environ, "RULITH_CONNECTION_KEY": "worker-key", "RULITH_SECRETS_FILE": str(tmp_path / "vault"), "OPENAI_API_KEY": "other"}
            outcome = await asker.ask("ship 7 boxes", ambient).run()
        finally:
            await server.close()
        ((path, body, headers),) = seen
        assert path == "/v1/chat/completions" and headers["authorization"] == "Bearer model-key"
        assert (body["temperature"], body["max_tokens"], body["model"]) == (0, MAX_TOKENS, "some-model") and body["messages"][1] == {"role": "user", "content": "ship 7 boxes"}
        assert write_review(cleared(), outcome).operation["verdict"] == verdict

    asyncio.run(asyncio.wait_for(main(), 60))


def test_a_model_that_is_not_there_is_uncertain():
    async def main():
        outcome = await Reviewer("http://127.0.0.1:1/v1", "m", "", 5.0).ask("x", dict(os.environ)).run()
        assert write_review(cleared(), outcome).operation["verdict"] == "uncertain"

    asyncio.run(asyncio.wait_for(main(), 60))
