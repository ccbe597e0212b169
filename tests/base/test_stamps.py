"""Stamps: the text of a moment, and the next one of a chain whose clock stands still."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rulith.base.clock import just_after, seconds_of, stamp

MILLIS = st.integers(0, 4_102_444_800_000)


@given(MILLIS)
def test_the_stamp_just_after_is_one_millisecond_later(at_ms: int) -> None:
    text = stamp((at_ms + 0.5) / 1000)
    assert just_after(text) == stamp((at_ms + 1.5) / 1000)
    assert round((seconds_of(just_after(text)) - seconds_of(text)) * 1000) == 1 and just_after(text) > text


@given(st.lists(MILLIS, min_size=1, max_size=8))
def test_a_remembered_stamp_is_the_one_of_its_own_moment(moments: list[int]) -> None:
    once = [stamp((at_ms + 0.5) / 1000) for at_ms in moments]
    assert [round(seconds_of(text) * 1000) for text in once] == moments
