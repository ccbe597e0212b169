"""Answers of every shape: whatever a gateway sends, the Agent reads it or calls it lost, and stands.

Seeded mutations of honest answers go through everything that reads one: the reader, the book
of Cases, the outcomes, the teaching, the row of a result. Source  our decision.
"""

from __future__ import annotations

import copy
import json
import random

import pytest

from rulith.runtime.actions import applied
from rulith.runtime.answers import Answer, Unreadable, read_answer, recorded_answer
from rulith.runtime.cases import CaseBook
from rulith.runtime.strip import read_state_form
from rulith.runtime.teaching import Lessons
from rulith.runtime.unread import OutcomeBook
from tests.runtime.calculation_board import DRIVE, SOURCE, CalculationBoard
from tests.runtime.scripted_gateway import AGENT, result_of, state_row, strip_row

ODD = (None, True, False, 0, -1, 3.5, "", "x", "\ud800", [], [None], [[]], {}, {"": {}}, [{}], 9007199254740993, "running", "done")


def honest() -> list[tuple[str, dict, dict]]:
    """(tool, arguments, result) of a few calls of the demo."""
    from tests.runtime.scripted_gateway import Arrived
    board, found = CalculationBoard(), []
    for tool, arguments in [("OpenCase", {"caseType": "verified_calculation"}), ("QueryBoard", {"include": ["nodes"]}),
                            ("ApplyAction", {"action": DRIVE[0], "args": {"source": SOURCE}}), ("ApplyBatch", {}), ("CloseCase", {"root": "r"})]:
        found.append((tool, arguments, result_of(board(Arrived(tool, arguments, "s", "u", None)))))
    held = {"state": "running", "operations": [strip_row("ApplyAction", "running", stage="at_worker")], "view": {}}
    found.append(("ApplyAction", {"action": "x"}, {"content": [{"type": "text", "text": json.dumps(held)}],
                                                   "_meta": {"rulith/v3": {"agentId": AGENT, "focusedRoots": []}}}))
    return found


def mutated(value: object, rng: random.Random) -> object:
    """`value` with one of its parts replaced, dropped or doubled."""
    value = copy.deepcopy(value)
    parent, at = None, None
    here = value
    while isinstance(here, (dict, list)) and here and (parent is None or rng.random() < 0.85):
        parent, at = here, rng.choice(list(here) if isinstance(here, dict) else range(len(here)))
        here = parent[at]
    if parent is None:
        return rng.choice(ODD)
    act = rng.randrange(4)
    if act == 0 and isinstance(parent, dict):
        del parent[at]
    elif act == 1 and isinstance(parent, list):
        parent.append(copy.deepcopy(here))
    else:
        parent[at] = rng.choice(ODD)
    return value


@pytest.mark.parametrize("seed", range(40))
def test_whatever_an_answer_holds_it_is_read_or_lost(seed):
    rng = random.Random(seed)
    book, cases, lessons = OutcomeBook(), CaseBook(), Lessons()
    read = 0
    for _ in range(60):
        tool, arguments, result = rng.choice(honest())
        body = json.loads(result["content"][0]["text"])
        for _ in range(rng.randrange(1, 4)):
            body = mutated(body, rng)
        result["content"][0]["text"] = json.dumps(body)
        if rng.random() < 0.3:
            result = mutated(result, rng)
        if not isinstance(result, dict):
            continue
        answer = read_answer(tool, result, agent_id=AGENT, ordinal=None)
        recorded_answer(tool, result)
        if isinstance(answer, Unreadable):
            continue
        read += 1
        answer, _ = book.conversation(rng.choice("ab")).take(answer, arguments, frozenset())
        cases.take(answer, arguments)
        applied(answer, arguments)
        told = {**answer.body, "changes": lessons.changes(answer, arguments)}
        assert isinstance(json.loads(json.dumps(told)), dict) and isinstance(answer.text, str) and isinstance(answer, Answer)
        answer.text.encode()
        for conversation in (book.conversation("a"), book.conversation("b")):
            conversation.gate()
            json.dumps([conversation.rows(), conversation.labels(), conversation.left()])
        if rng.random() < 0.2:
            book.conversation("a").replied()
    assert read > 5


@pytest.mark.parametrize("seed", range(20))
def test_whatever_a_state_form_holds_it_is_rows_or_nothing(seed):
    rng = random.Random(seed)
    for _ in range(50):
        rows = read_state_form(mutated([state_row(1, "ApplyAction", "running"), state_row(2, "OpenCase", "done")], rng))
        assert rows is None or all(isinstance(row.ordinal, int) for row in rows)
