"""Verification and evidence orders: a person asks, a Worker answers, law judges. Duty: the Worker hop, §§4, 5.3, 16; design §5, "What a Worker may say"."""

from __future__ import annotations

import json

import pytest

from rulith.base.canonical import digest
from rulith.wire.contract import validate
from rulith.wire.terminal_receipt import check_document
from tests.gateway.documents import Owner

P = "rulith.verified_calculation."
SOURCE, TOOL = "verified-calculation-local", P + "read_input@1"
ORDER = {"job_id": "calc-001", "unit_price_cents": 1299, "quantity": 7, "shipping_cents": 500}
CLAIM = {"predicate": P + "input", "args": ORDER}


class Scene:
    def __init__(self, world, kit) -> None:
        self.world, self.kit = world, kit
        self.host, self.worker = world.host(), world.worker()

    async def set_up(self) -> Scene:
        self.owner = await Owner(self.world, self.kit).set_up()
        await self.worker.poll()
        await self.host.initialize()
        self.case = await self.world.open_case(self.host)
        return self

    @property
    def about(self) -> dict:
        return {"agentId": self.world.profile.agent_id, "caseId": self.case["caseId"], "source": SOURCE, "toolId": TOOL}

    async def verify(self, claim: dict = CLAIM, **changes) -> dict:
        """Ask, and the row that comes of it."""
        self.order = (await self.owner.act("order-verification", **{**self.about, "claim": json.dumps(claim), **changes}))["result"]["id"]
        (row,) = await self.worker.rows_until()
        validate("verificationRow", row)
        return row

    async def gather(self, material: str = "orders") -> dict:
        self.order = (await self.owner.act("order-evidence", **self.about, material=material))["result"]["id"]
        (row,) = await self.worker.rows_until()
        validate("evidenceRow", row)
        return row

    async def claim(self, row: dict) -> dict:
        return (await self.worker.raw({"kind": "ClaimWork", "workType": "verification", "id": row["work"], **self.worker.identity()})).json()

    async def report(self, row: dict, **said) -> dict:
        operation = {"kind": "ReportWork", "workType": row["workType"], **self.worker.identity(), **({"id": row["work"]} if row["workType"] == "verification" else
                     {"material": row["material"], "source": row["source"]}), **said}
        return (await self.worker.raw({name: value for name, value in operation.items() if value is not None})).json()

    async def state(self) -> dict:
        answer = await self.kit.http(self.world.port, "GET", f"/console/api/orders?agent={self.world.profile.agent_id}", self.owner.headers)
        return next(row for row in answer.json()["orders"] if row["id"] == self.order)

    def facts(self) -> list[tuple[dict, str, dict]]:
        state = self.world.gateway.authority.agents[self.world.profile.agent_id].board.state
        return [(dict(fact.atom.args), fact.tier, dict(fact.by)) for fact in state.facts.values() if fact.atom.predicate.startswith(P)]


@pytest.fixture
def tell(play, kit):
    def run(story, **settings):
        async def main(world):
            await story(await Scene(world, kit).set_up())
            assert world.gateway.authority.ledger.verify() == []
        play(main, **{"pollHoldMs": 200, **settings})
    return run


def test_a_satisfied_claim_lands_as_that_fact_and_the_proof_names_its_source(tell):
    async def story(scene):
        row = await scene.verify()
        assert (row["channel"], row["source"], row["claim"]) == (scene.worker.connection, SOURCE, CLAIM)
        assert (await scene.claim(row))["accepted"] and (await scene.claim(row))["accepted"]        # asked again by its claimer
        said = {"outcome": "satisfied", "tier": "attested", "evidenceRefs": ["worker:x"], "facts": [CLAIM]}
        assert (await scene.report(row, **said))["accepted"] and (await scene.report(row, **said))["accepted"]       # the same again
        assert (await scene.report(row, outcome="not_satisfied"))["errorCode"] == "already_reported"
        ((args, tier, by),) = scene.facts()
        assert (args, tier) == (ORDER, "attested") and by["source"] == SOURCE and by["tool"] == TOOL and by["order"] == scene.order and by["askedBy"] == "owner"
        assert (await scene.state())["state"] == "satisfied"
        view = (await scene.host.call("QueryBoard", {"include": ["nodes"], "selector": {"roots": [scene.case["root"]]}}))["view"]
        assert any(node.get("predicate") == P + "total" and node["tier"] == "attested" for node in view["nodes"])     # what follows from it
        closed = await scene.host.call("CloseCase", {"root": scene.case["root"], "disposition": "cancelled", "reason": "enough"})
        assert closed["accepted"]
        document = scene.world.gateway.authority.receipt_document(scene.world.profile.agent_id, scene.case["caseId"])
        assert check_document(json.loads(json.dumps(document))).problems == []
        forged = json.loads(json.dumps(document))
        for fact in forged["facts"]:
            fact["tier"] = "verified" if fact["predicate"] == P + "input" else fact["tier"]
        assert check_document(forged).problems

    tell(story)


@pytest.mark.parametrize("outcome", ["not_satisfied", "error"])
def test_what_is_not_satisfied_lands_nothing(tell, outcome):
    async def story(scene):
        row = await scene.verify()
        await scene.claim(row)
        assert (await scene.report(row, outcome=outcome, reason="another price"))["accepted"]
        assert scene.facts() == [] and (await scene.state())["state"] == outcome and (await scene.state())["reason"] == "another price"

    tell(story)


HOSTILE = {
    "a fact the tool does not return": {"predicate": P + "total", "args": {"job_id": "calc-001", "cents": 1}}, "a Board word": {"predicate": "acceptance_met", "args": {"node": "n"}},
    "another argument": {"predicate": P + "input", "args": {**ORDER, "paid": True}}, "one too few": {"predicate": P + "input", "args": {"job_id": "calc-001"}},
    "about another job": {"predicate": P + "input", "args": {**ORDER, "job_id": "calc-002"}}, "a variable": {"predicate": P + "input", "args": {**ORDER, "job_id": "?x"}},
    "another type": {"predicate": P + "input", "args": {**ORDER, "quantity": "seven"}},
}


@pytest.mark.parametrize("what", HOSTILE)
def test_a_forged_fact_beside_a_yes_lands_nothing_at_all(tell, what):
    """Not even the claim: an answer is taken whole or not."""
    async def story(scene):
        row = await scene.verify()
        await scene.claim(row)
        assert (await scene.report(row, outcome="satisfied", tier="verified", facts=[HOSTILE[what]]))["errorCode"] == "ingest_rejected"
        assert scene.facts() == [] and (await scene.state())["state"] == "error" and "refused" in (await scene.state())["reason"]
        assert (await scene.report(row, outcome="satisfied"))["errorCode"] == "already_reported"

    tell(story)


@pytest.mark.parametrize("what", HOSTILE)
def test_forged_evidence_lands_nothing(tell, what):
    async def story(scene):
        if what == "about another job":        # evidence may tell of every job that its Source holds
            return
        row = await scene.gather()
        assert (await scene.report(row, facts=[CLAIM, HOSTILE[what]]))["errorCode"] == "ingest_rejected"
        assert scene.facts() == [] and (await scene.state())["state"] == "error"

    tell(story)


@pytest.mark.parametrize("stated, owner, tier", [("verified", "attested", "attested"), ("attested", "perceived", "perceived"), ("perceived", "attested", "perceived"), ("verified", "verified", "attested")])
def test_a_tier_is_the_weakest_of_what_the_worker_and_the_owner_say_and_never_above_attested(tell, stated, owner, tier):
    async def story(scene):
        source = scene.world.gateway.authority.registry.sources[SOURCE]
        await scene.owner.act("source-edit", **{**source.record(), "tier": owner}, replaces=digest(source.record()))
        row = await scene.verify()
        await scene.claim(row)
        assert (await scene.report(row, outcome="satisfied", tier=stated))["accepted"]
        assert [each for _, each, _ in scene.facts()] == [tier]

    tell(story)


def test_evidence_lands_what_the_source_may_attest_and_names_what_it_was_read_from(tell):
    async def story(scene):
        row = await scene.gather()
        assert row["tool"] == TOOL and "claim" not in row
        for said, code in (({"source": None, "facts": [CLAIM]}, "report_evidence.source_required"), ({"source": "elsewhere", "facts": [CLAIM]}, "report_evidence.source_mismatch"),
                           ({"material": "invoices", "facts": [CLAIM]}, "no_work")):
            assert (await scene.report(row, **said))["errorCode"] == code
        exhibit = {"target": f"tool:{TOOL}", "item": SOURCE, "digest": "sha256:" + "a" * 16}
        assert (await scene.report(row, facts=[CLAIM], exhibit=exhibit))["accepted"] and (await scene.report(row, facts=[CLAIM], exhibit=exhibit))["accepted"]
        assert (await scene.report(row, facts=[CLAIM]))["errorCode"] == "already_reported"
        ((args, tier, by),) = scene.facts()
        assert (args, tier, by["operation"]) == (ORDER, "attested", f"evidence {scene.order}") and (await scene.state())["state"] == "answered"

    tell(story)


def test_evidence_of_another_tool_than_was_asked_is_refused(tell):
    async def story(scene):
        row = await scene.gather()
        exhibit = {"target": "tool:acme.other@1", "item": SOURCE, "digest": "sha256:" + "a" * 16}
        assert (await scene.report(row, facts=[CLAIM], exhibit=exhibit))["errorCode"] == "ingest_rejected" and scene.facts() == []

    tell(story)


@pytest.mark.parametrize("changes, code", [
    ({"source": "nowhere"}, "unknown_source"), ({"toolId": "acme.none@1"}, "not_found"), ({"toolId": P + "write_output@1"}, "order_unanswerable"),
    ({"claim": json.dumps({"predicate": P + "total", "args": {"job_id": "x", "cents": 1}})}, "order_unanswerable"), ({"claim": "{"}, "bad_json"), ({"claim": "[]"}, "bad_command"),
    ({"claim": json.dumps({**CLAIM, "tier": "verified"})}, "bad_command"), ({"caseId": "case_x"}, "unknown_case"), ({"agentId": "agent_x"}, "unknown_agent"),
])
def test_only_what_a_source_can_answer_is_asked(tell, changes, code):
    async def story(scene):
        answer = await scene.owner._post("order-verification", {**scene.about, "claim": json.dumps(CLAIM), **changes}, scene.owner.headers)
        assert answer.json()["errorCode"] == code
        assert scene.world.gateway.authority.agents[scene.world.profile.agent_id].orders.orders == {}

    tell(story)


def test_the_same_is_asked_once_at_a_time_and_an_order_can_be_taken_back(tell):
    async def story(scene):
        row = await scene.verify()
        again = await scene.owner._post("order-verification", {**scene.about, "claim": json.dumps(CLAIM)}, scene.owner.headers)
        assert again.json()["errorCode"] == "order_asked_already"
        about = {"agentId": scene.world.profile.agent_id, "orderId": scene.order}
        assert (await scene.owner._post("order-withdraw", {**about, "reason": " "}, scene.owner.headers)).json()["errorCode"] == "reason_required"
        await scene.owner.act("order-withdraw", **about, reason="not needed")
        assert (await scene.claim(row))["errorCode"] == "not_dispatchable" and (await scene.report(row, outcome="satisfied"))["errorCode"] == "already_reported"
        orders = scene.world.gateway.authority.agents[scene.world.profile.agent_id].orders
        for number in range(32):
            scene.world.gateway.authority.command_order(scene.world.profile.agent_id, {
                "kind": "ask", "orderKind": "evidence", "caseId": scene.case["caseId"], "connectionId": "c", "source": SOURCE, "tool": TOOL, "toolDigest": "d",
                "returns": [], "by": "owner", "material": f"m{number}"})
        assert len(orders.open()) == 32
        assert (await scene.owner._post("order-evidence", {**scene.about, "material": "more"}, scene.owner.headers)).json()["errorCode"] == "orders_open"

    tell(story)


def test_a_read_whose_worker_left_is_asked_of_the_next(tell):
    """A verification is a read: it is never in doubt, and the first one's late word counts for nothing."""
    async def story(scene):
        row, first = await scene.verify(), scene.worker
        await scene.claim(row)
        await first.release()
        scene.worker = second = scene.world.worker()
        (again,) = await second.rows_until()
        assert again["work"] == row["work"]
        scene.worker = first
        assert (await scene.report(row, outcome="satisfied"))["errorCode"] == "worker_fenced" and scene.facts() == []
        scene.worker = second
        assert (await scene.report(row, outcome="satisfied"))["errorCode"] == "not_claimer"
        await scene.claim(row)
        assert (await scene.report(row, outcome="satisfied"))["accepted"] and len(scene.facts()) == 1

    tell(story)


def test_a_holder_that_leaves_a_row_is_not_offered_it_again_at_once(tell):
    async def story(scene):
        await scene.verify()
        assert await scene.worker.rows() == []          # held, and nothing to do: no poll after poll

    tell(story)


def test_another_connection_and_a_closed_case_get_nothing(tell):
    async def story(scene):
        row = await scene.verify()
        await scene.claim(row)
        closed = await scene.host.call("CloseCase", {"root": scene.case["root"], "disposition": "cancelled", "reason": "x"})
        assert closed["accepted"]
        assert (await scene.report(row, outcome="satisfied"))["errorCode"] == "ingest_rejected" and scene.facts() == []
        answer = await scene.owner._post("order-evidence", {**scene.about, "material": "m"}, scene.owner.headers)
        assert answer.json()["errorCode"] == "case_closed"
        scene.worker.connection, other = "conn_other", scene.worker.connection
        assert (await scene.worker.raw({"kind": "ClaimWork", "workType": "verification", "id": row["work"], **scene.worker.identity()})).status == 401
        scene.worker.connection = other
        assert (await scene.claim({"work": "ord_none"}))["errorCode"] == "no_work"

    tell(story)


def test_a_restart_remembers_what_was_asked(play, kit):
    async def story(world):
        scene = await Scene(world, kit).set_up()
        row = await scene.verify()
        await scene.claim(row)
        await world.stop()
        await world.start()
        scene.worker.port = world.port
        assert (await scene.report(row, outcome="satisfied"))["accepted"] and len(scene.facts()) == 1

    play(story, pollHoldMs=200)
