"""A batch of very many steps runs beside the loop: its Agent waits, everybody else goes on, and a replay is the same.

Duty: design §4, budgets: a batch above 20,000 steps delays nobody else's ping by more than 200 ms.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import pytest

from rulith.base.clock import SystemClock
from rulith.base.errors import Refused
from rulith.base.limits import LOOP_STEPS_MAX
from rulith.disk.home import Home
from rulith.gateway.authority import Authority
from rulith.gateway.service import open_gateway
from rulith.rules.engine import Postponed
from rulith.rules.program import Program
from rulith.rules.terms import Atom, Literal, Rule
from rulith.store.ledger import Ledger

ROOT = Path(__file__).resolve().parents[2]
EDGES = 160           # a chain: some 13,000 paths, found in some 26,000 steps and more
REACH = [{"op": "add_axiom", "id": "reach", "when": [{"predicate": "edge", "args": {"a": "?x", "b": "?y"}}],
          "then": [{"predicate": "path", "args": {"a": "?x", "b": "?y"}}]},
         {"op": "add_axiom", "id": "further", "when": [{"predicate": "path", "args": {"a": "?x", "b": "?y"}}, {"predicate": "edge", "args": {"a": "?y", "b": "?z"}}],
          "then": [{"predicate": "path", "args": {"a": "?x", "b": "?z"}}]}]
CHAIN = [{"op": "assert_fact", "predicate": "edge", "args": {"a": n, "b": n + 1}} for n in range(EDGES)]


@pytest.fixture
def crowd(tmp_path):
    """Run an async story(home, gateway, port, agents) over a home with three Agents."""
    made = subprocess.run([sys.executable, str(ROOT / "benchmarks" / "gateway_home.py"), str(tmp_path / "home"), "3"],
                          capture_output=True, text=True, check=True, timeout=120)
    agents, home = json.loads(made.stdout), Home(tmp_path / "home")

    def run(story):
        async def main():
            gateway = open_gateway(home, SystemClock(), {})
            port = (await gateway.listen("127.0.0.1", 0)).port
            try:
                await story(gateway, port, agents)
            finally:
                await gateway.close()
            return None

        asyncio.run(asyncio.wait_for(main(), 60))
        ledger = Ledger.open(home.ledger, SystemClock())
        try:
            assert ledger.verify() == []
            return Authority(ledger, SystemClock())      # every row again, on one thread; each digest is compared
        finally:
            ledger.close()

    return run


async def hosts_of(kit, port, agents):
    found = [kit.Host(port, each["token"]) for each in agents]
    for host in found:
        await host.initialize()
    return found


def test_everybody_else_is_served_while_it_runs_and_its_own_agent_waits(crowd, kit):
    closures = {}

    async def story(gateway, port, agents):
        slow, *others = await hosts_of(kit, port, agents)
        assert (await slow.call("OpenCase", {"caseType": "exploration"}))["accepted"]
        for host in others:
            assert (await host.call("OpenCase", {"caseType": "exploration"}))["accepted"]
        order = []
        state = gateway.authority.agents[agents[0]["id"]]

        async def batch():
            answer = await slow.call("ApplyBatch", {"operations": [*REACH, *CHAIN]})
            order.append("batch")
            return answer

        async def look():
            while state.busy is None:
                await asyncio.sleep(0)
            seen = await slow.call("QueryBoard")
            order.append("look")
            return seen

        async def go_on(host):
            pings = writes = 0
            while state.busy is None:
                await asyncio.sleep(0)
            while state.busy is not None:
                assert (await host.rpc("ping")).status == 200
                pings += 1
                written = await host.call("ApplyBatch", {"operations": [{"op": "assert_fact", "predicate": "note", "args": {"n": writes}}]})
                assert written["accepted"], written
                writes += 1
            return pings

        running = asyncio.ensure_future(batch())
        looking = asyncio.ensure_future(look())
        assert all(count >= 2 for count in await asyncio.gather(*map(go_on, others)))
        answer, seen = await running, await looking
        assert answer["accepted"], answer
        assert set(order) == {"batch", "look"} and seen["accepted"]
        board = state.board
        assert board.state.program.derived_count == EDGES * (EDGES + 1) // 2
        assert seen["view"]["cases"]["directory"], "it was answered after the batch, from the whole Board"
        closures[agents[0]["id"]] = board.closure_digest()

    authority = crowd(story)
    for agent_id, closure in closures.items():
        assert authority.agents[agent_id].board.closure_digest() == closure


def test_nobody_looks_at_a_board_half_done(crowd, kit):
    async def story(gateway, port, agents):
        slow, *_ = await hosts_of(kit, port, agents)
        await slow.call("OpenCase", {"caseType": "exploration"})
        state = gateway.authority.agents[agents[0]["id"]]
        running = asyncio.ensure_future(slow.call("ApplyBatch", {"operations": [*REACH, *CHAIN]}))
        while state.busy is None:
            await asyncio.sleep(0)
        with pytest.raises(Refused) as refusal:
            state.board.closure_digest()
        assert refusal.value.code == "board_at_work"
        with pytest.raises(Refused):
            gateway.authority.command_operation(agents[0]["id"], {"kind": "acknowledge", "session": "x"})
        await gateway.authority.rested()
        assert state.busy is None and (await running)["accepted"]

    crowd(story)


def test_a_batch_that_is_refused_beside_the_loop_changes_nothing(crowd, kit):
    async def story(gateway, port, agents):
        slow, *_ = await hosts_of(kit, port, agents)
        await slow.call("OpenCase", {"caseType": "exploration"})
        board = gateway.authority.agents[agents[0]["id"]].board
        before = board.closure_digest()
        operations = [*REACH, *CHAIN, {"op": "apply_action", "action": "there.is.none"}]
        answer = await slow.call("ApplyBatch", {"operations": operations})
        assert answer["accepted"] is False, answer
        assert board.closure_digest() == before and not board.state.program.derived_count

    crowd(story)


def test_a_caller_that_goes_away_takes_its_change_with_it(crowd, kit):
    async def story(gateway, port, agents):
        slow, other, _ = await hosts_of(kit, port, agents)
        opened = (await slow.call("OpenCase", {"caseType": "exploration"}))["result"]
        agent_id = agents[0]["id"]
        command = {"kind": "apply_batch", "operations": [*REACH, *CHAIN], "focus": [opened["caseId"]]}
        running = asyncio.ensure_future(gateway.authority.run_board(agent_id, command))
        state = gateway.authority.agents[agent_id]
        while state.busy is None:
            await asyncio.sleep(0)
        running.cancel()
        await asyncio.wait([running])
        await gateway.authority.rested()
        for _ in range(3):
            await asyncio.sleep(0)
        assert gateway.authority.agents[agent_id].board.state.program.derived_count == 0
        assert (await slow.call("QueryBoard"))["accepted"] and (await other.rpc("ping")).status == 200

    crowd(story)


def test_patience_ends_at_the_same_step_and_leaves_no_trace():
    program = Program()
    with program.transaction() as tx:
        for each in REACH:
            literals = [[Literal.of(one["predicate"], one["args"]) for one in each[part]] for part in ("when", "then")]
            tx.add_rule(Rule(each["id"], each["id"], tuple(literals[0]), tuple(literals[1])))
    before = (program.closure_digest(), program.steps, program.base_count)
    program.pause_after = LOOP_STEPS_MAX
    with pytest.raises(Postponed), program.transaction() as tx:
        for row in CHAIN:
            tx.assert_fact(Atom.of("edge", row["args"]))
    assert (program.closure_digest(), program.steps, program.base_count) == before
    program.pause_after = None
    with program.transaction() as tx:
        for row in CHAIN:
            tx.assert_fact(Atom.of("edge", row["args"]))
    assert program.steps > LOOP_STEPS_MAX and program.derived_count == EDGES * (EDGES + 1) // 2


def test_who_looks_at_all_boards_is_answered_at_last_where_the_work_never_ends(crowd, kit, monkeypatch):
    monkeypatch.setattr("rulith.gateway.authority.RESTED_S", 0.05)

    async def story(gateway, port, agents):
        state = gateway.authority.agents[agents[0]["id"]]
        state.busy = asyncio.get_running_loop().create_future()
        page = await kit.http(port, "GET", "/console/")
        assert page.status == 503 and page.json()["errorCode"] == "board_at_work", page.body
        state.busy.set_result(None)
        state.busy = None
        assert (await kit.http(port, "GET", "/console/")).status == 200

    crowd(story)
