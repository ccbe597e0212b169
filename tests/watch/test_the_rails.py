"""When a watcher starts a command, and when it does not. Duty: the council surface, "Watcher"; no clock, no process, no socket here."""

from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from rulith.base.limits import WATCH_KINDS_MAX, WATCH_PENDING_MAX, WATCH_THREADS_MAX
from rulith.watching import core
from rulith.watching.core import (
    GATHER_S,
    HOUR_S,
    TABLE,
    Ceiling,
    EndRun,
    Exit,
    Gather,
    IllegalStep,
    KeyRefused,
    Moved,
    Quiet,
    Rails,
    RunOver,
    Settle,
    Settled,
    Start,
    State,
    Stopped,
    Tell,
    Wait,
    Watch,
)

EVENTS = (Moved, Quiet, RunOver, Settled, KeyRefused, Stopped)
AT = {"now_s": 100.0, "wall_s": 1_790_000_000.0}


def moved(*threads: int) -> Moved:
    return Moved(threads, tuple((each, "message.created") for each in threads))


def run_of(watch: Watch, *threads: int, **at) -> list:
    """From waiting to the next start."""
    watch.step(moved(*threads), **{**AT, **at})
    return watch.step(Quiet(), **{**AT, **at})


# --- the table ----------------------------------------------------------------------------


def test_every_pair_of_state_and_event_is_in_the_table_or_cannot_be():
    """A timer belongs to the state that armed it, and only a run ends."""
    impossible = {(State.WAITING, Quiet), (State.WAITING, Settled), (State.WAITING, RunOver), (State.GATHERING, Settled), (State.GATHERING, RunOver),
                  (State.RUNNING, Quiet), (State.RUNNING, Settled), (State.SETTLING, Quiet), (State.SETTLING, RunOver)}
    assert {(state, event) for state in State for event in EVENTS} - set(TABLE) == impossible
    with pytest.raises(IllegalStep, match="RunOver while waiting; legal: KeyRefused, Moved, Stopped"):
        Watch(Rails(True)).step(RunOver(), **AT)


def test_a_wake_up_is_gathered_then_run_then_settled_then_waited_for_again():
    watch = Watch(Rails(True))
    assert watch.begin() == [Wait()]
    assert watch.step(moved(7), **AT) == [Gather(GATHER_S)]
    assert watch.step(Quiet(), **AT) == [Start((7,), (AT["wall_s"],))]
    assert watch.step(RunOver(), **AT) == [Settle(2.0)]
    assert watch.step(Settled(), **AT) == [Wait()]


def test_nothing_moved_is_no_wake_up():
    """An empty work list means that there is nothing to do."""
    watch = Watch(Rails(True))
    assert watch.step(Moved(()), **AT) == [] and watch.state is State.WAITING


def test_a_burst_is_one_wake_up_and_ends_by_silence_or_after_the_settling_time():
    watch = Watch(Rails(True, settle_s=1.0))
    assert watch.step(moved(1), now_s=10.0, wall_s=0) == [Gather(GATHER_S)]
    assert watch.step(moved(2), now_s=10.2, wall_s=0) == [Gather(GATHER_S)]
    assert watch.step(moved(1, 3), now_s=10.9, wall_s=0) == [Gather(pytest.approx(0.1))]
    assert watch.step(moved(4), now_s=11.5, wall_s=0) == [Gather(0.0)]
    assert watch.step(Quiet(), now_s=11.5, wall_s=0) == [Start((1, 2, 3, 4), (0,))]


def test_what_moves_during_a_run_or_its_pause_is_one_wake_up_afterwards():
    watch = Watch(Rails(True))
    run_of(watch, 1)
    assert [watch.step(moved(each), **AT) for each in (5, 5, 6)] == [[], [], []]
    assert watch.step(RunOver(), **AT) == [Settle(2.0)] and watch.step(moved(8), **AT) == []
    assert watch.step(Settled(), **AT) == [Start((5, 6, 8), (AT["wall_s"],) * 2)]


def test_once_is_one_wake_up_and_without_a_command_it_is_told():
    watch = Watch(Rails(True, once=True))
    run_of(watch, 1)
    watch.step(moved(2), **AT)
    assert watch.step(RunOver(), **AT) == [Exit(0)] and watch.step(Settled(), **AT) == []
    for once in (False, True):
        assert run_of(Watch(Rails(False, once)), 4) == [Tell((4,), ((4, "message.created"),)), Exit(0)]


@pytest.mark.parametrize("event, status", [(KeyRefused(), 4), (Stopped(143), 143), (Stopped(0), 0)])
def test_a_refused_key_and_a_signal_end_the_run_and_everything(event, status):
    watch = Watch(Rails(True))
    assert watch.step(event, **AT) == [Exit(status)]
    for steps, acts in ((1, [Exit(status)]), (2, [EndRun(), Exit(status)]), (3, [Exit(status)])):
        watch = Watch(Rails(True))
        for each in (moved(1), Quiet(), RunOver())[:steps]:
            watch.step(each, **AT)
        assert watch.step(event, **AT) == acts and watch.state is State.ENDED
        assert [watch.step(late, **AT) for late in (moved(1), Quiet(), RunOver(), Settled(), KeyRefused(), Stopped(1))] == [[]] * 6


def test_the_start_over_the_ceiling_ends_3_and_none_is_no_ceiling():
    starts = [AT["wall_s"] - HOUR_S + 1 + each for each in range(3)]
    assert run_of(Watch(Rails(True, ceiling=3), starts), 1) == [Ceiling(3), Exit(3)]
    assert isinstance(run_of(Watch(Rails(True, ceiling=4), starts), 1)[0], Start)
    assert isinstance(run_of(Watch(Rails(True, ceiling=0), starts * 50), 1)[0], Start)
    later = AT["wall_s"] + 1.5                          # one of them is older than an hour by now
    assert run_of(Watch(Rails(True, ceiling=3), starts), 1, wall_s=later) == [Start((1,), (*starts[1:], later))]


def test_starts_from_the_future_of_a_clock_that_was_set_back_count_for_an_hour():
    now = AT["wall_s"]
    assert core.recent([now - HOUR_S, now - 1, now + 1, now + HOUR_S - 1, now + 86_400], now) == (now - 1, now + 1, now + HOUR_S - 1)


def test_what_is_kept_and_told_is_bounded():
    watch = Watch(Rails(True))
    flood = Moved(tuple(range(WATCH_PENDING_MAX + 50)), tuple((0, f"k{each}") for each in range(WATCH_KINDS_MAX + 50)))
    watch.step(flood, **AT)
    told = []
    while not watch.state is State.WAITING:
        [start] = watch.step(Quiet() if watch.state is State.GATHERING else Settled(), **AT)
        if isinstance(start, Start):
            assert len(start.threads) <= WATCH_THREADS_MAX
            told += start.threads
            watch.step(RunOver(), **AT)
        if len(told) == 40 * WATCH_THREADS_MAX:
            break
    assert told == list(range(WATCH_PENDING_MAX))


# --- any order of events ------------------------------------------------------------------


class AnyOrder(RuleBasedStateMachine):
    """A watcher in a world of its own, beside a plain account of what moved, what was started and when."""

    @initialize(ceiling=st.integers(0, 5), settle_s=st.sampled_from([0.0, 0.1, 2.0, 30.0]), once=st.booleans())
    def begin(self, ceiling, settle_s, once):
        self.rails = Rails(True, once and ceiling == 0, settle_s, ceiling)
        self.now_s, self.timer, self.running, self.exit = 1_000.0, None, False, None
        self.owed: set[int] = set()
        self.moved_at_s: dict[int, float] = {}
        self.starts: list[float] = []
        self.kept: tuple[float, ...] = ()
        self.settled_s = 0.0
        self.watch = Watch(self.rails)
        self.do(self.watch.begin())

    def do(self, acts) -> None:
        assert self.exit is None or not acts
        for act in acts:
            if isinstance(act, (Gather, Settle)):
                assert act.delay_s >= 0
                self.timer = (self.now_s + act.delay_s, Quiet() if isinstance(act, Gather) else Settled())
            elif isinstance(act, Start):
                assert not self.running and self.timer is None, "one run at a time, after its pause"
                assert self.now_s >= self.settled_s
                assert set(act.threads) <= self.owed and len(set(act.threads)) == len(act.threads) > 0, "nothing starts for what did not move since"
                self.running, self.kept = True, act.starts
                self.owed -= set(act.threads)
                self.starts.append(self.now_s)
                assert act.starts[-1] == self.now_s
            elif isinstance(act, Exit):
                self.exit = act.status

    def step(self, event) -> None:
        self.do(self.watch.step(event, now_s=self.now_s, wall_s=self.now_s))

    @rule(threads=st.lists(st.integers(1, 6), max_size=4))
    def others_move(self, threads):
        self.owed |= set(threads)
        self.step(moved(*threads))

    @rule(seconds=st.sampled_from([0.05, 0.2, 0.31, 1.0, 2.5, 40.0, 900.0, 3_599.0]))
    def time_passes(self, seconds):
        until = self.now_s + seconds
        while self.timer is not None and self.timer[0] <= until:
            self.now_s, event = self.timer
            self.timer = None
            self.step(event)
        self.now_s = until

    @precondition(lambda self: self.running and self.exit is None)
    @rule()
    def the_run_ends(self):
        self.running, self.settled_s = False, self.now_s + self.rails.settle_s
        self.step(RunOver())
        if self.rails.once:
            assert self.exit == 0

    @rule()
    def the_watcher_dies_or_ended_and_is_started_again(self):
        """Its warden ends the run; the council tells what waits; the starts were kept."""
        self.timer, self.running, self.settled_s, self.exit = None, False, 0.0, None
        self.watch = Watch(self.rails, self.kept)
        self.do(self.watch.begin())
        self.step(moved(*self.owed))

    @invariant()
    def no_hour_has_more_starts_than_the_ceiling(self):
        if getattr(self, "rails", None) and self.rails.ceiling:
            for first in self.starts:
                assert sum(first <= each < first + HOUR_S for each in self.starts) <= self.rails.ceiling

    @invariant()
    def what_is_owed_is_on_its_way(self):
        """Never idle with work: a timer or a run will come back to it."""
        if getattr(self, "rails", None) and self.owed and self.exit is None:
            assert self.timer is not None or self.running

    def teardown(self):
        for _ in range(40):
            if getattr(self, "rails", None) is None or self.exit is not None or not self.owed:
                return
            if self.running:
                self.the_run_ends()
            elif self.timer is not None:
                self.time_passes(31.0)
        raise AssertionError("what moved was never handed to a run")


TestAnyOrder = AnyOrder.TestCase
TestAnyOrder.settings = settings(max_examples=120, stateful_step_count=40, deadline=None)
