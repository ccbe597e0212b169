"""The feed: every row after the one a reader names, or the word that some are gone."""

import asyncio
import json

from rulith.base.clock import ManualClock
from rulith.base.limits import FEED_ROWS_KEPT, FEED_ROWS_MAX
from rulith.workbench.feed import Feed


def parsed(chunk: bytes) -> list[dict]:
    return [json.loads(line[6:]) for line in chunk.decode().splitlines() if line.startswith("data: ")]


async def first(feed: Feed, after: int, count: int) -> list[dict]:
    rows: list[dict] = []
    async for chunk in feed.stream(after):
        rows += parsed(chunk)
        if len(rows) >= count:
            return rows
    return rows


def filled(count: int) -> Feed:
    feed = Feed(ManualClock())
    for number in range(count):
        feed.put("tick", instance="inst-1" if number % 2 else "inst-2", number=number)
    return feed


def test_rows_are_numbered_without_a_hole():
    assert [row["sequence"] for row in filled(5).rows()] == [1, 2, 3, 4, 5]


def test_a_reader_gets_a_greeting_and_then_what_came_after_its_last_row():
    rows = asyncio.run(first(filled(5), 3, 3))
    assert (rows[0]["type"], rows[0]["from"], rows[0]["gap"]) == ("hello", 3, False)
    assert [row["sequence"] for row in rows[1:]] == [4, 5]


def test_a_reader_of_an_earlier_run_is_told_of_the_gap():
    rows = asyncio.run(first(filled(2), 40, 1))
    assert (rows[0]["gap"], rows[0]["from"]) == (True, 2)


def test_a_reader_who_slept_past_the_kept_rows_is_told_of_the_gap():
    feed = filled(FEED_ROWS_MAX + 1)
    assert len(feed.rows()) == FEED_ROWS_KEPT
    assert asyncio.run(first(feed, 1, 1))[0]["gap"]


def test_a_reader_slower_than_rows_are_let_go_is_told_of_the_gap():
    """Past bug: the stream went on behind the hole as if nothing were missing."""
    async def scene():
        feed = filled(1)
        stream = feed.stream(0)
        read = [*parsed(await anext(stream)), *parsed(await anext(stream))]
        for _ in range(FEED_ROWS_MAX + 1):
            feed.put("tick")
        read += parsed(await anext(stream))
        feed.put("next")
        return [*read, *parsed(await anext(stream))]
    hello, first, again, after = asyncio.run(scene())
    assert (hello["gap"], first["sequence"]) == (False, 1)
    assert (again["type"], again["gap"], again["from"]) == ("hello", True, FEED_ROWS_MAX + 2)
    assert after["sequence"] == again["from"] + 1


def test_a_row_put_while_a_reader_waits_reaches_it():
    async def scene():
        feed = filled(0)
        reading = asyncio.ensure_future(first(feed, 0, 2))
        await asyncio.sleep(0)
        feed.put("late")
        return await asyncio.wait_for(reading, 30)
    assert [row["type"] for row in asyncio.run(scene())] == ["hello", "late"]


def test_closing_ends_every_reader():
    async def scene():
        feed = filled(1)
        reading = asyncio.ensure_future(first(feed, 0, 99))
        await asyncio.sleep(0)
        feed.close()
        return await asyncio.wait_for(reading, 30)
    assert [row["type"] for row in asyncio.run(scene())] == ["hello", "tick"]


def test_a_reader_that_is_ended_in_the_moment_of_a_new_row_ends():
    """Past bug: on Python 3.10 and 3.11 the wait forgot the cancellation, and the stream went on for nobody."""
    async def scene():
        feed = filled(0)
        reading = asyncio.ensure_future(first(feed, 0, 99))
        await turns(3)
        feed.put("late")
        reading.cancel()
        await turns(9)
        return reading.cancelled()

    async def turns(count):
        for _ in range(count):
            await asyncio.sleep(0)
    assert asyncio.run(scene())


def test_rows_of_one_instance_can_be_picked_out():
    assert {row["instanceId"] for row in filled(6).rows(instance="inst-1")} == {"inst-1"}


def test_text_that_holds_line_ends_stays_one_event():
    feed = filled(0)
    feed.put("log", line="one\r\ntwo\n\ndata: three")
    rows = asyncio.run(first(feed, 0, 2))
    assert rows[1]["line"] == "one\r\ntwo\n\ndata: three"


def test_a_reader_that_asks_to_be_let_go_gets_the_rows_there_are_and_the_end():
    """Duty: the stream's fallback where streams are cut: the same events in an answer that ends."""
    async def scene(feed, after, wait_s):
        return [row async for chunk in feed.stream(after, wait_s) for row in parsed(chunk)]

    async def late():
        feed = filled(1)
        reading = asyncio.ensure_future(scene(feed, 1, 30))
        await asyncio.sleep(0)
        feed.put("late")
        return await asyncio.wait_for(reading, 30)
    assert [row["type"] for row in asyncio.run(scene(filled(2), 1, 10))] == ["hello", "tick"]
    assert [row["type"] for row in asyncio.run(scene(filled(2), 2, 0))] == ["hello"]
    assert [row["type"] for row in asyncio.run(scene(filled(2), 2, 0.01))] == ["hello"]
    assert [row["type"] for row in asyncio.run(late())] == ["hello", "late"]
