"""The table of a lasting role: every pair is either in it or named here as impossible."""

import itertools

import pytest

from rulith.workbench.supervision import PAUSES_S, TABLE, Do, IllegalStep, Is, On, pause_s, step, what_ended

GONE = (Is.STOPPED, Is.RESTARTING, Is.NEEDS_SETUP, Is.FAILED)          # no process
IMPOSSIBLE = (
    {(state, event) for state in GONE for event in (On.READY, On.ENDED, On.REFUSED, On.GAVE_UP, On.NOT_STARTED)}   # nobody to say it
    | {(state, On.DUE) for state in Is if state is not Is.RESTARTING}                                             # no timer runs
    | {(Is.ONLINE, On.NOT_STARTED), (Is.STOPPING, On.NOT_STARTED)}                                                # it has a process, or its end is told as an end
)


@pytest.mark.parametrize(("state", "event"), list(itertools.product(Is, On)))
def test_every_pair_is_decided(state, event):
    assert ((state, event) in TABLE) != ((state, event) in IMPOSSIBLE)


def test_an_impossible_pair_is_loud_and_names_what_is_legal():
    with pytest.raises(IllegalStep, match="DUE while online; legal: .*READY"):
        step(Is.ONLINE, On.DUE)


def test_a_role_that_ends_by_itself_is_started_again_after_a_pause():
    assert step(Is.ONLINE, On.ENDED) == (Is.RESTARTING, (Do.PAUSE,))
    assert step(Is.RESTARTING, On.DUE) == (Is.STARTING, (Do.SPAWN,))


def test_the_pauses_grow_and_stay_at_the_longest():
    assert [pause_s(n) for n in (1, 2, 3, 4, 5, 99)] == [*PAUSES_S, PAUSES_S[-1], PAUSES_S[-1]]


def test_a_rejected_credential_is_not_tried_again():
    assert what_ended(3, 1, refused=(2, 3), patient=False) is On.REFUSED
    assert step(Is.ONLINE, On.REFUSED) == (Is.NEEDS_SETUP, ())


def test_after_the_last_pause_an_impatient_role_is_left_alone_and_a_patient_one_is_not():
    assert what_ended(1, len(PAUSES_S), refused=(), patient=False) is On.ENDED
    assert what_ended(1, len(PAUSES_S) + 1, refused=(), patient=False) is On.GAVE_UP
    assert what_ended(1, 99, refused=(), patient=True) is On.ENDED


def test_being_ready_after_being_asked_to_stop_does_not_count():
    assert step(Is.STOPPING, On.READY) == (Is.STOPPING, ())
