"""Replay equals execution: random command sequences, folded again, also under other hash seeds."""

import hashlib
import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rulith.base.canonical import canonical_text, digest
from rulith.base.errors import Refused
from tests.board.conftest import SOURCE_NAME, example_capability

P = "rulith.verified_calculation."
ROOT = Path(__file__).parents[2]


def operations(rng):
    """One random batch operation; many are refused, which is part of the point."""
    number = rng.randrange(4)
    return rng.choice([
        {"op": "assert_fact", "predicate": rng.choice("pqr"), "args": {"n": number}},
        {"op": "assert_fact", "id": f"F{number}", "predicate": rng.choice("pqr"), "args": {"n": number, "t": f"x{number}"}, "negated": rng.random() < .3},
        {"op": "add_axiom", "id": f"R{number}", "when": [{"predicate": rng.choice("pqr"), "args": {"n": "?n"}}],
         "then": [{"predicate": rng.choice("stu"), "args": {"n": "?n"}}]},
        {"op": "add_axiom", "when": [{"predicate": rng.choice("pqs"), "args": {"n": "?n"}}, {"predicate": rng.choice("rtu"), "args": {"n": "?n"}, "naf": True}],
         "then": [{"predicate": rng.choice("uvw"), "args": {"n": "?n"}}]},
        {"op": "retract_node", "nodeId": rng.choice(["F", "R", "G", "A"]) + str(number)},
        {"op": "revise_fact", "nodeId": f"F{number}", "predicate": "q", "args": {"n": number + 1}},
        {"op": "declare_goal", "id": f"G{number}", "desired": [{"predicate": rng.choice("stuv"), "args": {"n": "?n"}}]},
        {"op": "define_action", "id": f"A{number}", "action": f"act{number}", "preconditions": [{"predicate": "p", "args": {"n": "?n"}}],
         "effects": [{"predicate": "p", "args": {"n": "?n"}, "negated": True}, {"predicate": "r", "args": {"n": "?n"}}]},
        {"op": "apply_action", "action": f"act{number}"},
        {"op": "derive_aggregate", "id": f"T{number}", "kind": rng.choice(["sum", "count", "max"]), "source": {"predicate": rng.choice("pqs"), "valueArg": "n"},
         "into": {"predicate": "total", "valueArg": "v"}},
        {"op": "assert_fact", "predicate": P + "total", "args": {"job_id": "x", "cents": 1}},
    ])


def release(number: int) -> dict:
    """The example with live totals over what it concludes, under one of three versions."""
    document = example_capability()
    document["vocabulary"]["defines"].append({"id": P + "turnover", "as": "turnover", "args": {"cents": "integer"}})
    document["aggregates"] = [{"kind": ["sum", "max", "count"][number], "source": {"predicate": "total", "valueArg": "cents"},
                               "into": {"predicate": "turnover", "valueArg": "cents"}}]
    return {**document, "version": f"2.{number}.0"}


def constitution(number: int) -> dict:
    """No rule, one that forbids what rests on the Source, or one that forbids an Agent's own Actions."""
    heads = [{"predicate": "forbidden", "args": {"action": "?a", "reason": "no"}}]
    rules = [[], [{"predicate": "rests_on", "args": {"source": SOURCE_NAME}}, {"predicate": "proposed", "args": {"action": "?a", "kind": "write"}}],
             [{"predicate": "proposed", "args": {"action": "?a", "op": "ApplyBatch"}}]][number]
    return {"format": "rulith-constitution/1", "version": f"1.{number}.0", "title": "Law",
            "rules": [{"id": "law", "label": "law", "when": rules, "then": heads}] if rules else []}


def steps(play, rng, count):
    """`count` random commands on one Board; refusals must leave no trace at all."""
    cases = []
    for _ in range(count):
        before = fingerprint(play.board)
        try:
            what = rng.randrange(12)
            if what == 0:
                cases.append(play.open(f"job-{rng.randrange(3)}"))
            elif what == 1:
                cases.append(play.explore())
            elif what == 2 and cases:
                disposition = rng.choice(["completed", "abandoned", "cancelled"])
                play.run("close_case", root=rng.choice(cases)["root"], disposition=disposition, reason="random")
            elif what == 3 and cases:
                rng.choice([play.read, play.write, play.verify])(rng.choice(cases))
            elif what == 4 and cases:
                play.run(rng.choice(["pause_case", "lift_hold"]), caseId=rng.choice(cases)["caseId"], hold=rng.choice(["operator", "policy"]))
            elif what == 10:
                document = constitution(rng.randrange(3))
                play.run("install_constitution", constitution=document, digest=digest(document))
            elif what == 11:
                document = release(rng.randrange(3))
                play.run("install_capability", capability=document, digest=digest(document))
            elif cases:
                play.batch(rng.sample(cases, min(len(cases), 2)), *(operations(rng) for _ in range(rng.randint(1, 3))))
        except Refused:
            assert fingerprint(play.board) == before
    return cases


def fingerprint(board) -> str:
    """Everything lasting a Board holds, with its order."""
    state = board.state
    parts = [board.closure_digest(), state.revision, state.generation, [fact.id for fact in sorted(state.facts.values(), key=lambda fact: fact.seq)], state.last_seq, list(state.rules), list(state.goals),
             list(state.agent_actions), list(state.aggregates), [case.row() for case in state.cases.values()], list(state.roots),
             [atom.text() for atom in state.shown], sorted([atom.text(), list(ids)] for atom, ids in state.by_atom.items()),
             sorted(state.versions.items()), [release.digest for release in (*state.releases.values(), *state.next.values())],
             state.constitution.digest if state.constitution else "", sorted([atom.text(), support.rule_id] for atom, support in state.totals.items()),
             sorted([str(value), sorted(told.items())] for value, told in state.told.items()), sorted(state.sourced.items())]
    return hashlib.sha256(canonical_text(parts).encode()).hexdigest()


def whole_picture(play) -> str:
    focus = list(play.board.state.cases)
    view = play.board.view(None, focus, play.policy, nodes_max=500, bytes_max=None)
    details = [play.board.case_detail(case_id) for case_id in focus]
    return canonical_text({"view": view, "details": details, "state": fingerprint(play.board)})


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_a_fold_of_the_rows_is_the_board(new_play_factory, seed):
    play = new_play_factory()
    steps(play, random.Random(seed), 25)
    again = play.refold()
    assert fingerprint(again) == fingerprint(play.board)
    focus = list(play.board.state.cases)
    assert again.view(None, focus, play.policy) == play.board.view(None, focus, play.policy)


@pytest.fixture(scope="module")
def new_play_factory():
    sys.path.insert(0, str(Path(__file__).parent))
    try:
        import conftest as board_conftest
    finally:
        sys.path.pop(0)
    return board_conftest.Play


def test_the_same_commands_give_the_same_bytes_under_every_hash_seed():
    """Law never iterates an unordered set: three processes, three hash seeds, one picture."""
    script = ("import sys, random; sys.path[:0] = [sys.argv[1], sys.argv[2]]\n"
              "import conftest, test_replay\n"
              "import hashlib\n"
              "for seed in range(6):\n"
              "    play = conftest.Play(); test_replay.steps(play, random.Random(seed), 40)\n"
              "    print(hashlib.sha256((test_replay.whole_picture(play) + str(play.rows)).encode()).hexdigest())\n")
    pictures = set()
    for seed in ("0", "1", "4242"):
        done = subprocess.run([sys.executable, "-c", script, str(ROOT), str(Path(__file__).parent)], capture_output=True, text=True,
                              env={**os.environ, "PYTHONHASHSEED": seed}, timeout=120)
        assert done.returncode == 0, done.stderr
        pictures.add(done.stdout)
    assert len(pictures) == 1


def test_a_row_that_was_tampered_with_does_not_fold(play):
    case = play.open()
    play.read(case)
    row = play.rows[-1]
    row["command"] = json.loads(json.dumps(row["command"]).replace("1299", "1298"))
    with pytest.raises(AssertionError):
        play.refold()
