"""An empty Poll looks for work and then waits for news of it, with nothing in between that news could fall into."""

from __future__ import annotations

import asyncio


def test_a_call_admitted_while_a_commit_is_under_way_reaches_the_waiting_poll(play, kit):
    """The Agent's call commits while the Worker's Poll is being answered; the Poll must hear of it, not sleep its hold out."""

    async def story(world):
        host, worker = world.host(), world.worker()
        await host.initialize()
        case = await world.open_case(host)
        await worker.poll()
        authority = world.gateway.authority
        looked = []
        settle, wait = authority.settled, authority.wait_change

        async def watched_settle():
            looked.append("settled")
            await settle()

        async def watched_wait(topics, timeout_s):
            looked.append("waits")
            return await wait(topics, timeout_s)

        authority.settled, authority.wait_change = watched_settle, watched_wait
        polling = asyncio.ensure_future(worker.rows())
        while "waits" not in looked:
            await asyncio.sleep(0)
        assert looked == ["waits"]      # to settle first would give the news a moment to pass unheard
        asked = asyncio.ensure_future(host.call("ApplyAction", kit.action_call("read_input", case["root"])))
        row = (await polling)[0]
        assert (await worker.claim(row))["accepted"]
        assert (await worker.report(row, ok=True, result="done", facts=kit.facts_for(row["tool"])))["accepted"]
        assert (await asked)["accepted"]

    play(story, pollHoldMs=20_000)


def test_a_removed_agent_leaves_its_connection_without_work(play):
    async def story(world):
        worker = world.worker()
        await worker.poll()
        connection = world.profile.connection_id
        agent_id = world.gateway.authority.registry.connection(connection)["agentId"]
        del world.gateway.authority.agents[agent_id]
        assert await worker.poll() and await worker.rows() == []

    play(story, pollHoldMs=50)


def test_a_wait_for_a_change_ends_though_the_change_comes_in_the_same_moment(play):
    """Past bug: on Python 3.10 and 3.11 the cancellation was lost, and a request went on after its caller had left."""

    async def story(world):
        authority = world.gateway.authority
        waiting = asyncio.ensure_future(authority.wait_change(("a topic",), 60.0))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        authority.touched("a topic")
        waiting.cancel()
        await asyncio.wait([waiting], timeout=30)
        assert waiting.cancelled()

    play(story)
