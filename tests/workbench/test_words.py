"""Each state that the page can be told has words of its own: none is shown as a program calls it, none in the colour of what nobody knows.

Source  the workbench surface, "Screens", "Turn results"
"""

from __future__ import annotations

import re

import pytest

from rulith.runtime import outcome
from rulith.runtime.answers import Kind
from rulith.wire import result_validators
from rulith.workbench.runs import WAITING
from rulith.workbench.supervision import Is
from tests.conftest import ROOT

TEXT = (ROOT / "rulith" / "ui_static" / "words.js").read_text("utf-8")
OPERATIONS = {"running", "waiting_for_decision", "done", "failed", "refused", "unknown", "needs_person"}
# How a turn of a conversation may end, and how it is before.
TURNS = {"queued", "running", "stopping", "conversation", "completed", "void", "stopped", "waiting", "blocked", "model-error", "error", "user-stopped", "not-started", "interrupted"}
CODES = {outcome.COMPLETED, outcome.ERROR, outcome.USAGE, outcome.REJECTED, outcome.REPLACED, outcome.NOTHING_TO_DO, outcome.WAITING, outcome.STUCK, outcome.REFUSED,
         outcome.UNREACHABLE, outcome.OVERLAPPING, outcome.INTERRUPTED, outcome.TERMINATED}


def keys_of(table: str) -> set[str]:
    found = re.search(rf"^const {table} = \{{(.*?)\n?\}};", TEXT, re.MULTILINE | re.DOTALL)
    assert found, table
    return set(re.findall(r'(?:^|[{,])\s*"?([a-z0-9_-]+)"?: (?=[\["])', found[1], re.MULTILINE))


@pytest.mark.parametrize(("table", "states"), [
    ("ROLE", {each.value for each in Is} | {"unreachable"}),
    ("OPERATION", OPERATIONS | {"not_sent", "shown_earlier", Kind.NOT_EXECUTED.value, Kind.UNOBSERVED.value}),
    ("TURN", TURNS), ("EXIT", {str(code) for code in CODES}), ("CASE", {"running", "paused"}), ("DISPOSITION", {"completed"})])
def test_every_state_has_its_words(table, states):
    assert keys_of(table) >= states


def test_those_states_are_all_there_are():
    """Of an operation the contract says so; of a turn, whoever ends one."""
    listed = re.search(r"must be one of (\['running', 'waiting_for_decision'[^\]]*\])", (ROOT / "rulith" / "wire" / f"{result_validators.__name__.rpartition('.')[2]}.py").read_text("utf-8"))
    assert set(re.findall(r"'(\w+)'", listed[1])) == OPERATIONS >= set(WAITING)
    ends = set()
    for name in ("turns", "service"):
        text = (ROOT / "rulith" / "runtime" / f"{name}.py").read_text("utf-8")
        ends |= set(re.findall(r'(?:_end|_finish)\((?:job, )?"([a-z-]+)"', text)) | set(re.findall(r'outcome, note = "([a-z-]+)"', text)) | set(re.findall(r'return "([a-z-]+)"', text))
    elsewhere = {"no-case", "archived", "pending", "idle"}        # of a one-shot, which nobody talks to; answers to an act on a conversation
    assert len(ends) > 9 and ends - elsewhere <= TURNS, ends
