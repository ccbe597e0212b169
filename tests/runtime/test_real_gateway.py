"""The tables of the Agent's side against the real gateway, over sockets: once as they are, once byte by byte.

The same rows stand against a scripted gateway in test_session.py, test_waiting.py and
test_unread.py. Source  the MCP surface, "Takeover", "Client view of each failure", "Waiting for
a held call", "Several conversations on one session".
"""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager

import pytest

from rulith.base.clock import SystemClock
from rulith.base.errors import Refused
from rulith.dialects.transcript import ProposedCall
from rulith.net.client import HttpClient
from rulith.runtime.answers import Kind
from rulith.runtime.calls import CallServer, Pins
from rulith.runtime.line import BoardLine
from rulith.runtime.session import Reach
from rulith.runtime.teaching import NOTHING
from rulith.runtime.unread import OutcomeBook
from tests.conformance.with_token import Way
from tests.gateway.conftest import action_call, facts_for, play  # noqa: F401  a fixture

OPEN = {"caseType": "verified_calculation", "businessKey": {"job_id": "calc-001"}}
NOTE = {"operations": [{"op": "assert_fact", "predicate": "note", "args": {"x": 1}}]}
QUICK = {"holdMs": 60, "pollHoldMs": 60, "leaseMs": 60_000}


class Dripping(Way):
    """Each byte of an answer by itself."""

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65_536):
            for at in range(len(data)):
                writer.write(data[at:at + 1])
                await asyncio.sleep(0)
        writer.close()


@pytest.fixture(params=[Way, Dripping], ids=["whole", "byte by byte"])
def tell(play, request):  # noqa: F811
    """Run `story(world, way, connect)`; `async with connect() as line` is an Agent's program behind the way."""

    def run(story, **settings):
        async def whole(world):
            async with request.param(world.port) as way:
                @asynccontextmanager
                async def connect(wait_s: float = 20.0, timeout_s: float = 20.0, book: OutcomeBook | None = None):
                    http = HttpClient(SystemClock(), environ={})
                    line = BoardLine(http, Reach(way.url.removesuffix("/mcp"), world.token, timeout_s, wait_s), clock=SystemClock(),
                                     emit=lambda *a, **k: None, log=lambda text: None, poll_s=0.05)
                    try:
                        await line.open()
                        yield line
                    finally:
                        await line.close()
                        await http.close()
                await story(world, way, connect)
        play(whole, **{**QUICK, **settings})

    return run


async def settle(world, worker, row) -> None:
    assert (await worker.report(row, ok=True, result="done", facts=facts_for(row["tool"])))["accepted"]


def operations(world):
    (agent,) = [each for each in world.gateway.authority.agents.values()]
    return agent.operations


def test_a_call_that_settles_after_the_hold_is_answered_by_its_recorded_result(tell):
    async def story(world, way, connect):
        worker = world.worker()
        await worker.poll()
        async with connect() as line:
            root = (await line.call("OpenCase", OPEN)).result["root"]
            call = asyncio.ensure_future(line.call("ApplyAction", action_call("read_input", root)))
            row = (await worker.rows_until())[0]
            await worker.claim(row)
            asked = line.session._requests
            while line.session._requests == asked:      # past the hold: the Agent pings now
                await asyncio.sleep(0.005)
            await settle(world, worker, row)
            answer = await call
            assert answer.kind is Kind.ACCEPTED and answer.result["status"] == "confirmed"
            assert "currentView" in answer.body and "result" not in answer.body["operations"][0]
            assert answer.own == ("ApplyAction", answer.operations[0].label, answer.operations[0].at)
            assert (await line.call("ApplyBatch", NOTE)).kind is Kind.ACCEPTED, "the read delivered it"

    tell(story)


def test_a_person_s_turn_is_handed_over_at_once(tell):
    """The claimer is superseded while the call is held."""
    async def story(world, way, connect):
        worker = world.worker()
        await worker.poll()
        async with connect() as line:
            root = (await line.call("OpenCase", OPEN)).result["root"]
            call = asyncio.ensure_future(line.call("ApplyAction", action_call("read_input", root)))
            await worker.claim((await worker.rows_until())[0])
            await worker.release()
            answer = await call
            assert answer.kind is Kind.HELD and answer.state == "needs_person" and "accepted" not in answer.body
            again = await line.call("ApplyAction", action_call("read_input", root))
            assert (again.kind, again.code) == (Kind.NOT_EXECUTED, "operation_running")

    tell(story)


def test_a_takeover_under_a_held_call_ends_the_program_and_the_work_goes_on(tell):
    async def story(world, way, connect):
        worker = world.worker()
        await worker.poll()
        book = OutcomeBook()
        async with connect() as line:
            server = CallServer(line, Pins(), book.conversation("a"), emit=lambda *a, **k: None)
            root = (await line.call("OpenCase", OPEN)).result["root"]
            call = asyncio.ensure_future(server.serve([ProposedCall("c1", "ApplyAction", action_call("read_input", root))]))
            row = (await worker.rows_until())[0]
            await worker.claim(row)
            await world.host().initialize()
            with pytest.raises(Refused) as refused:
                await call
            assert refused.value.code == "connection_replaced"
        await settle(world, worker, row)
        assert operations(world).operation(2).state == "done" and len(book.conversation("a").left()) == 1
        async with connect() as line:                   # the next program: its restored outcome comes before any write
            again = OutcomeBook()
            again.conversation("a").restore(book.kept()["a"])
            server = CallServer(line, Pins(), again.conversation("a"), emit=lambda *a, **k: None)
            served = await server.serve([ProposedCall("c1", "OpenCase", OPEN)])
            assert "previous_result_undelivered" in served.results[0].text and '"state":"done"' in served.results[0].text
            served = await server.serve([ProposedCall("c2", "OpenCase", OPEN)])
            assert '"accepted":true' in served.results[0].text

    tell(story)


def test_an_outcome_that_a_gone_program_left_is_delivered_before_the_next_write(tell):
    async def story(world, way, connect):
        async with connect() as line:
            await line.call("OpenCase", OPEN)
        async with connect() as line:
            first = await line.call("OpenCase", OPEN)
            assert (first.kind, first.code) == (Kind.NOT_EXECUTED, "previous_result_undelivered")
            assert first.operations[0].has_result
            assert (await line.call("OpenCase", OPEN)).kind is Kind.ACCEPTED

    tell(story)


def test_a_restart_under_a_held_call_loses_its_answer_and_not_its_outcome(tell):
    async def story(world, way, connect):
        worker = world.worker()
        await worker.poll()
        async with connect() as line:
            root = (await line.call("OpenCase", OPEN)).result["root"]
            call = asyncio.ensure_future(line.call("ApplyAction", action_call("read_input", root)))
            row = (await worker.rows_until())[0]
            await worker.claim(row)
            await world.stop()
            await world.start()
            way.port = worker.port = world.port
            await settle(world, worker, row)
            answer = await call
            if answer.kind is Kind.LOST:                # no progress had named it yet: the next strip does
                answer = await line.call("QueryBoard", {})
            assert answer.operations[0].label.startswith("ApplyAction") and answer.operations[0].state == "done"
            assert len(operations(world).listed("9999")) == 2, "nothing was sent twice"

    tell(story, holdMs=2_000)


def test_a_cut_answer_is_lost_once_and_found_by_the_next_read(tell):
    async def story(world, way, connect):
        async with connect() as line:
            await line.call("OpenCase", OPEN)
            passed, way.answer = way.answer, lambda data: False
            real = way._pass_on

            async def cut(reader, writer):
                await reader.read(1)
                writer.close()
            way._pass_on = cut
            line.session._http._pool.clear()            # the next request takes a new connection
            book = OutcomeBook()
            conversation, before = book.conversation("a"), line.session.known
            lost = asyncio.ensure_future(line.call("ApplyBatch", NOTE))
            while not operations(world).unresolved() and len(operations(world).listed("9999")) < 2 and not lost.done():
                await asyncio.sleep(0.005)
            way._pass_on, way.answer = real, passed
            answer = await lost
            assert answer.kind is Kind.LOST and "may or may not have run" in answer.teaching and "unknown" not in answer.teaching
            conversation.take(answer, NOTE, before)
            read = await line.call("QueryBoard", {})
            _, showed_earlier = conversation.take(read, {}, line.session.known)
            assert showed_earlier and conversation.left() == ["ApplyBatch (done)"]
            assert len(operations(world).listed("9999")) == 2

    tell(story)


def test_two_conversations_are_each_shown_their_own_outcome(tell):
    async def story(world, way, connect):
        worker = world.worker()
        await worker.poll()
        async with connect(wait_s=0) as line:           # nobody waits: the outcome comes while nobody looks
            book = OutcomeBook()
            a, b = (CallServer(line, Pins(), book.conversation(key), emit=lambda *a, **k: None) for key in "ab")
            root = (await line.call("OpenCase", OPEN)).result["root"]
            held = await a.serve([ProposedCall("c1", "ApplyAction", action_call("read_input", root))])
            assert '"state":"running"' in held.results[0].text
            book.conversation("a").replied()
            row = (await worker.rows_until())[0]
            await worker.claim(row)
            await settle(world, worker, row)
            seen = await b.serve([ProposedCall("c1", "QueryBoard", {})])
            assert "confirmed" in seen.results[0].text
            await b.serve([ProposedCall("c2", "QueryBoard", {})])        # acknowledged: the Board tells a summary from here on
            gated = await a.serve([ProposedCall("c2", "ApplyBatch", NOTE)])
            assert "previous_result_undelivered" in gated.results[0].text and "confirmed" in gated.results[0].text
            assert len(operations(world).listed("9999")) == 2, "the gated write was not sent"
            book.conversation("a").replied()
            sent = await a.serve([ProposedCall("c3", "ApplyBatch", NOTE)])
            assert '"accepted":true' in sent.results[0].text

    tell(story)


def test_a_ping_after_the_model_s_reply_acknowledges_what_it_was_given(tell):
    async def story(world, way, connect):
        async with connect() as line:
            await line.call("OpenCase", OPEN)
            assert operations(world).operation(1).acknowledged_at == ""
            await line.acknowledge()
            assert operations(world).operation(1).acknowledged_at
        async with connect() as line:
            assert (await line.call("OpenCase", OPEN)).kind is Kind.ACCEPTED

    tell(story)


def test_a_model_is_told_what_its_write_changed_and_that_a_second_one_changed_nothing(tell):
    async def story(world, way, connect):
        async with connect() as line:
            server = CallServer(line, Pins(), OutcomeBook().conversation("a"), emit=lambda *a, **k: None)

            async def changes(tool: str, arguments: dict) -> list[str] | None:
                return json.loads((await server.serve([ProposedCall("c", tool, arguments)])).results[0].text).get("changes")

            assert await changes("OpenCase", OPEN) is None
            assert await changes("ApplyBatch", NOTE) == ["new: note(x=1) [asserted]"]
            assert await changes("ApplyBatch", NOTE) == [NOTHING]

    tell(story)
