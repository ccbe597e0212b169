"""Orders and reviews by a real Worker process: its Manifest's Tools answer a person, its reviewer looks at what waits. Duty: the Worker hop, §16."""

from __future__ import annotations

import asyncio
import json

from rulith.base.resources import shipped_text
from rulith.disk.profiles import worker_secrets
from rulith.net.server import Response, serve
from rulith.procs.roles import RoleProcess
from tests.gateway.documents import Owner
from tests.gateway.test_document_journey import until

P = "rulith.verified_calculation."
SOURCE = "orders"
ORDER = {"job_id": "calc-001", "unit_price_cents": 1299, "quantity": 7, "shipping_cents": 500}
RETURNS = [{"predicate": P + "input", "args": {name: f"${name}" for name in ORDER}}]
TOOLS = {
    "acme.check@1": {"adapter": "run", "entry": "check.py", "kind": "read", "sourceTypes": ["file"], "params": {"job_id": "string", "unit_price_cents": "number", "quantity": "number", "shipping_cents": "number"},
                     "returns": RETURNS, "env": {"pass": []}, "handles": {"verification": [P + "input"]}},
    "acme.gather@1": {"adapter": "run", "entry": "gather.py", "kind": "read", "sourceTypes": ["file"], "params": {}, "returns": RETURNS, "env": {"pass": []}, "handles": {"evidence": ["orders"]}},
}
DEMO = json.loads(shipped_text("examples", "verified-calculation", "worker-tools.json"))["tools"]      # for the write that waits; never run here
LOOK = "import json, os\nheld = json.load(open(os.path.join(os.environ['RULITH_SOURCE_ACCESS'], 'order.json')))\n"
CHECK = LOOK + "import sys\nasked = json.loads(sys.argv[1])\nprint(json.dumps({'outcome': 'satisfied' if asked == held else 'not_satisfied', 'reason': 'compared with the file'}))\n"
GATHER = LOOK + "print(json.dumps({'rows': [held]}))\n"


async def ended(scene, order_id: str) -> dict:
    """The order once it is no longer open."""
    world, owner, kit = scene
    row: dict = {}

    def is_over() -> bool:
        orders = world.gateway.authority.agents[world.profile.agent_id].orders.orders
        row.update(orders[order_id].row())
        return row["state"] not in ("open", "claimed")

    await until(is_over)
    return row


def test_a_person_has_a_fact_verified_and_gathered_and_a_model_looks_at_the_write(play, kit, tmp_path):
    async def story(world):
        asked = []

        async def model(request):
            asked.append(json.loads(request.body)["messages"][1]["content"])
            verdict = {"verdict": "block", "reason": "the total is high", "citedClause": "§1", "feature": "9593"}
            return Response(200, {"content-type": "application/json"}, json.dumps({"choices": [{"message": {"content": json.dumps(verdict)}}]}).encode())

        service = await serve(model, "127.0.0.1", 0)
        (tmp_path / "data").mkdir()
        (tmp_path / "data" / "order.json").write_text(json.dumps(ORDER))
        (tmp_path / "check.py").write_text(CHECK)
        (tmp_path / "gather.py").write_text(GATHER)
        (tmp_path / "worker-tools.json").write_text(json.dumps({"format": "rulith-worker-tools/1", "tools": {**DEMO, **TOOLS}}))
        owner, host, connection = await Owner(world, kit).set_up(), world.host(), world.profile.connection_id
        secrets = worker_secrets(world.profile).load()
        role = await RoleProcess.spawn("worker", cwd=tmp_path, env={
            "RULITH_CONNECTION": secrets["RULITH_CONNECTION"], "RULITH_CONNECTION_KEY": secrets["RULITH_CONNECTION_KEY"], "RULITH_HOME": str(world.home.path),
            "RULITH_WORK_URL": f"http://127.0.0.1:{world.port}/work", "RULITH_REVIEWER_URL": f"http://127.0.0.1:{service.port}/v1", "RULITH_REVIEWER_MODEL": "m",
            "RULITH_REVIEWER_KEY": "model-key", "RULITH_REVIEW_MIN_INTERVAL_MS": "0"})
        try:
            await until(lambda: len(world.gateway.line.advertised(connection)) > 5)
            for tool in (row for row in world.gateway.line.advertised(connection) if row["id"] in TOOLS):
                await owner.act("tool-lock", connectionId=connection, toolId=tool["id"], digest=tool["digest"], replaces="")
            await owner.act("source-add", connectionId=connection, name=SOURCE, type="file", access=str(tmp_path / "data"), tier="attested", attests=[P + "input"])
            await host.initialize()
            case = await world.open_case(host, "approved_calculation")
            about, scene = {"agentId": world.profile.agent_id, "caseId": case["caseId"], "source": SOURCE}, (world, owner, kit)
            wrong = json.dumps({"predicate": P + "input", "args": {**ORDER, "quantity": 8}})
            denied = await owner.act("order-verification", **about, toolId="acme.check@1", claim=wrong)
            row = await ended(scene, denied["result"]["id"])
            assert (row["state"], row["reason"]) == ("not_satisfied", "compared with the file")
            gathered = await owner.act("order-evidence", **about, toolId="acme.gather@1", material="orders")
            assert (await ended(scene, gathered["result"]["id"]))["state"] == "answered"
            sure = await owner.act("order-verification", **about, toolId="acme.check@1", claim=json.dumps({"predicate": P + "input", "args": ORDER}))
            assert (await ended(scene, sure["result"]["id"]))["state"] == "satisfied"
            facts = world.gateway.authority.agents[world.profile.agent_id].board.state.facts.values()
            told = {fact.by["operation"].split()[0]: (fact.by["source"], fact.tier) for fact in facts if fact.atom.predicate == P + "input"}
            assert told == {"evidence": (SOURCE, "attested"), "verification": (SOURCE, "attested")}
            held = await host.call("ApplyAction", {**kit.action_call("write_approved_output", case["root"])})
            assert held.get("state") == "waiting_for_decision", {name: held.get(name) for name in ("errorCode", "teaching")}
            await until(lambda: any(each.get("reviews") for each in world.gateway.authority.registry.decisions.values()))
            (decision,) = world.gateway.authority.registry.decisions.values()
            assert decision["reviews"][0]["verdict"] == "block" and decision["state"] == "pending" and '"total_cents":9593' in asked[0]
        finally:
            await role.stop()
            await service.close()

    play(lambda world: asyncio.wait_for(story(world), 110), pollHoldMs=500, holdMs=40_000, reviews=True)
