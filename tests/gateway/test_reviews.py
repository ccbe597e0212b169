"""Reviews: a model's word beside a decision, which decides nothing. Duty: the Worker hop, §§4, 5.3, 16; design §1: the person authorizes."""

from __future__ import annotations

import pytest

from rulith.wire.contract import validate
from tests.gateway.documents import Owner


class Scene:
    """An approved calculation whose write waits for a person."""

    def __init__(self, world, kit) -> None:
        self.world, self.kit, self.host, self.worker = world, kit, world.host(), world.worker()

    async def set_up(self) -> Scene:
        self.owner = await Owner(self.world, self.kit).set_up()
        await self.worker.poll()
        await self.host.initialize()
        case = await self.world.open_case(self.host, "approved_calculation")
        await self.world.act(self.host, self.worker, "read_input", case["root"])
        held = await self.host.call("ApplyAction", self.kit.action_call("write_approved_output", case["root"]))
        assert held["state"] == "waiting_for_decision"
        (self.row,) = await self.worker.rows_until()
        validate("reviewRow", self.row)
        return self

    def report(self, **changes) -> dict:
        row, self_ = self.row, self.worker
        return {"kind": "ReportWork", "workType": "review", **self_.identity(), **{name: row[name] for name in ("tool", "norm", "invocation", "requestDigest", "expectedPolicyFingerprint")},
                "verdict": "block", "reason": "too dear\n", "citedClause": "§2", "feature": "95.93", **changes}

    async def say(self, **changes) -> dict:
        return (await self.worker.raw(self.report(**changes))).json()

    @property
    def decision(self) -> dict:
        return next(iter(self.world.gateway.authority.registry.decisions.values()))

    async def decide(self, verdict: str) -> None:
        await self.owner.act("decide", id=self.decision["id"], verdict=verdict, argumentDigest=self.decision["argumentDigest"], reason="looked at it")


@pytest.fixture
def tell(play, kit):
    def run(story):
        async def main(world):
            await story(await Scene(world, kit).set_up())
            assert world.gateway.authority.ledger.verify() == []
        play(main, pollHoldMs=200, reviews=True)
    return run


def test_a_verdict_stands_beside_the_decision_and_decides_nothing(tell):
    async def story(scene):
        answer = await scene.say()
        assert answer["accepted"] and answer["payload"]["expiresAt"] > 1_700_000_000_000
        assert await scene.say() == answer                                  # sent again
        assert (await scene.say(verdict="allow"))["errorCode"] == "already_reported"
        (review,) = scene.decision["reviews"]
        assert (review["verdict"], review["reason"], review["connectionId"]) == ("block", "too dear ", scene.worker.connection) and scene.decision["state"] == "pending"
        assert (await scene.host.ping())[0]["state"] == "waiting_for_decision" and await scene.worker.rows() == []      # neither ready nor refused
        await scene.decide("approve")                                       # the person's word, against the model's
        (row,) = await scene.worker.rows_until()
        assert row["workType"] == "action"

    tell(story)


def test_an_allow_lets_nothing_run(tell):
    async def story(scene):
        assert (await scene.say(verdict="allow"))["accepted"]
        assert await scene.worker.rows() == [] and (await scene.host.ping())[0]["state"] == "waiting_for_decision"
        await scene.decide("reject")
        assert (await scene.host.ping())[0]["state"] == "refused"

    tell(story)


@pytest.mark.parametrize("changes, code", [
    ({"requestDigest": "sha256:" + "0" * 64}, "review_not_asked"), ({"expectedPolicyFingerprint": "sha256:" + "0" * 64}, "review_not_asked"), ({"norm": "another"}, "review_not_asked"),
    ({"tool": "acme.x@1"}, "review_not_asked"), ({"invocation": "inv_x"}, "no_work"), ({"verdict": "yes"}, "bad_command"), ({"requestDigest": "guess"}, "bad_command"),
    ({"workerGeneration": 99}, "bad_command"), ({"approved": True}, "bad_command"),
])
def test_no_digest_a_guess_or_an_unknown_verdict_is_refused(tell, changes, code):
    async def story(scene):
        headers = {"x-rulith-connection": scene.worker.connection, "x-rulith-connection-key": scene.worker.key, "content-type": "application/json",
                   "x-rulith-worker": scene.worker.id, "x-rulith-worker-generation": str(scene.worker.generation)}
        answer = (await scene.worker.raw(scene.report(**changes), headers)).json()
        assert answer["errorCode"] == code and "reviews" not in scene.decision

    tell(story)


def test_a_reviewer_is_shown_the_call_and_the_norm_and_no_fact_of_the_board(tell):
    async def story(scene):
        shown = scene.row["caseFile"]["rendered"]
        assert '"total_cents":9593' in shown and scene.decision["kind"] in shown and "unit_price" not in shown and "1299" not in shown

    tell(story)


def test_a_row_that_its_holder_leaves_is_not_offered_again_at_once(tell):
    async def story(scene):
        assert await scene.worker.rows() == []

    tell(story)


def test_a_late_word_on_a_decided_call_is_no_work(tell):
    async def story(scene):
        await scene.decide("reject")
        assert (await scene.say())["errorCode"] == "no_work"
        await scene.worker.release()
        assert (await scene.say())["errorCode"] in ("worker_lease_lost", "worker_lease_superseded", "worker_lease_expired")

    tell(story)


def test_a_gateway_asks_for_reviews_only_where_its_settings_say_so(play, kit):
    async def story(world):
        host, worker = world.host(), world.worker()
        await worker.poll()
        await host.initialize()
        case = await world.open_case(host, "approved_calculation")
        await world.act(host, worker, "read_input", case["root"])
        assert (await host.call("ApplyAction", kit.action_call("write_approved_output", case["root"])))["state"] == "waiting_for_decision"
        assert await worker.rows() == []

    play(story, pollHoldMs=200)
