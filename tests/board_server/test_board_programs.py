"""`rulith board run`: program files in, outcomes in the same format out, exit status by agreement.

Duty: the board corpus' format; one way to write rules as files, test them in a shell and
compare engines.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from rulith.board.space.expectations import compare, same, state_differences
from rulith.gateway import board_programs
from rulith.rules.program import Limits
from tests.board_server.conftest import INVOICE, ROOT

CORPUS = ROOT / "tests" / "corpus" / "board"
PROGRAM = {"id": "invoice", "title": "An invoice", "batches": [{"operations": INVOICE}, {"call": "explain_fact", "args": {"factNodeId": "L1"}}]}


def run(capsys, *paths, as_json=False, limits=Limits()):
    """(status, stdout, stderr)"""
    status = board_programs.run_files([str(path) for path in paths], limits, as_json=as_json)
    out = capsys.readouterr()
    return status, out.out, out.err


def written(tmp_path: Path, value, name="p.json") -> Path:
    path = tmp_path / name
    path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    return path


def test_a_program_without_expectation_is_run_and_shown(capsys, tmp_path):
    status, out, _ = run(capsys, written(tmp_path, PROGRAM))
    lines = out.splitlines()
    assert status == 0 and lines[0].endswith("p.json: invoice (An invoice)") and len(lines) == 4
    step = json.loads(lines[1].removeprefix("  step 0 "))
    assert step["status"] == "accepted" and ["grand", {"value": 10093}, "+", "derived"] in step["state"]["facts"]
    assert json.loads(lines[2].removeprefix("  step 1 "))["result"]["marker"] == "asserted"
    assert json.loads(lines[3].removeprefix("  final ")) == step["state"]


def test_what_json_prints_is_a_program_file_that_expects_it(capsys, tmp_path):
    status, out, _ = run(capsys, written(tmp_path, PROGRAM), as_json=True)
    row = json.loads(out)[0]
    assert status == 0 and row["asExpected"] is None and row["batches"] == PROGRAM["batches"]
    status, out, _ = run(capsys, written(tmp_path, out, "again.json"), as_json=True)
    assert status == 0 and json.loads(out)[0]["asExpected"] is True


@pytest.mark.parametrize("change", [
    lambda expect: expect["final"]["facts"].pop(), lambda expect: expect["final"]["facts"].append(["p", {}, "+", "asserted"]),
    lambda expect: expect["final"]["facts"][0].__setitem__(3, "effect"), lambda expect: expect["steps"][0].update(status="rejected"),
    lambda expect: expect["final"]["axioms"].append("R9"), lambda expect: expect["steps"][1]["result"].update(marker="derived"),
    lambda expect: expect["final"].update(goals=[{"id": "G", "satisfied": True}]), lambda expect: expect["steps"][0]["state"]["facts"].clear(),
])
def test_any_difference_that_counts_is_one(capsys, tmp_path, change):
    expect = json.loads(run(capsys, written(tmp_path, PROGRAM), as_json=True)[1])[0]["expect"]
    change(expect)
    status, out, _ = run(capsys, written(tmp_path, {**PROGRAM, "expect": expect}))
    assert status == 1 and "differs at" in out
    found = json.loads(run(capsys, written(tmp_path, {**PROGRAM, "expect": expect}), as_json=True)[1])[0]
    assert found["asExpected"] is False and found["differences"]


@pytest.mark.parametrize("change", [
    lambda expect: expect["final"].pop("vocabulary"), lambda expect: expect["steps"][0].update(warnings=[[0, "X"]]),
    lambda expect: expect["final"]["facts"].reverse(), lambda expect: expect["steps"].pop(), lambda expect: expect.pop("final"),
    lambda expect: expect["final"].pop("facts"),
])
def test_advice_order_and_what_is_not_stated_judge_nothing(capsys, tmp_path, change):
    expect = json.loads(run(capsys, written(tmp_path, PROGRAM), as_json=True)[1])[0]["expect"]
    change(expect)
    assert run(capsys, written(tmp_path, {**PROGRAM, "expect": expect}))[0] == 0


def test_the_corpus_agrees_as_files(capsys):
    """All of it is played in tests/space; here a part, through the door that people use."""
    files = [CORPUS / name for name in ("goals.json", "solver.json", "trusted-gates.json", "wire-schema.json", "compilation.json")]
    status, out, _ = run(capsys, *files)
    assert status == 0 and out.count("  as expected\n") == sum(len(json.loads(path.read_text())) for path in files)


def test_a_step_that_a_schema_refuses_ends_the_judging(capsys, tmp_path):
    program = {"id": "w", "batches": [{"operations": [{"op": "assert_fact", "predicate": "p", "args": {"x": None}}]}],
               "expect": {"steps": [{"status": "accepted", "wire": "schema"}], "final": {"facts": [["p", {"x": None}, "+", "asserted"]]}}}
    assert run(capsys, written(tmp_path, program))[0] == 0


def test_lists_and_lines_of_programs_are_read_alike(capsys, tmp_path):
    two = [{**PROGRAM, "id": name} for name in ("a", "b")]
    as_list = run(capsys, written(tmp_path, two, "p.json"))[1]
    as_lines = run(capsys, written(tmp_path, "\n".join(map(json.dumps, two)) + "\n", "p.json"))[1]
    assert as_list == as_lines and as_list.count("p.json: ") == 2


BAD = [
    "", "{", "7", '{"id": "x"}', '[{"batches": {}}]', '{"batches": [7]}', '{"batches": [{}]}', '{"batches": [{"operations": [], "call": "x"}]}',
    '{"batches": [], "expect": []}', '{"batches": [], "expect": {"steps": [1]}}', '{"batches": [], "limits": {"seconds": 5}}',
    '{"batches": [], "limits": {"max_closure_iterations": 0}}', '{"batches": [{"operations": [], "options": {"source": "root"}}]}',
    '{"batches": [{"operations": [], "options": {"attestedPredicates": [1]}}]}', '{"batches": [{"operations": [], "options": {"trustTier": "gold"}}]}',
    '{"batches": [{"operations": [], "options": {"attestedDerivations": [{}]}}]}', "[" * 100_000,
]


@pytest.mark.parametrize("text", BAD, ids=range(len(BAD)))
def test_a_bad_file_runs_nothing(capsys, tmp_path, text):
    good, bad = written(tmp_path, PROGRAM, "good.json"), written(tmp_path, text, "bad.json")
    status, out, err = run(capsys, good, bad)
    assert status == 2 and out == "" and "bad.json" in err and "Write {" in err and err.count("\n") == 1


def test_a_missing_or_unreadable_file_runs_nothing(capsys, tmp_path):
    assert run(capsys, tmp_path / "none.json")[0] == 2 and run(capsys, tmp_path)[0] == 2
    (tmp_path / "latin.json").write_bytes(b'{"id": "\xe4"}')
    assert run(capsys, tmp_path / "latin.json")[0] == 2


def test_a_refused_batch_is_an_outcome_and_leaves_the_board_alone(capsys, tmp_path):
    program = {"id": "r", "batches": [{"operations": INVOICE}, {"operations": [INVOICE[0], {"op": "drop"}]}, {"call": "nonsense"}]}
    row = json.loads(run(capsys, written(tmp_path, program), as_json=True)[1])[0]
    assert [step["status"] for step in row["expect"]["steps"]] == ["accepted", "rejected", "rejected"]
    assert [step["error"]["label"] for step in row["expect"]["steps"][1:]] == ["OP_UNKNOWN", "CALL_UNKNOWN"]
    assert "state" not in row["expect"]["steps"][1]


def test_limits_come_from_the_file_or_the_environment(capsys, tmp_path):
    count = {"op": "add_axiom", "when": [{"predicate": "n", "args": {"v": "?v"}}, {"predicate": "add", "args": {"left": "?v", "right": 1, "result": "?m"}},
                                         {"predicate": "lt", "args": {"left": "?m", "right": 50}}], "then": [{"predicate": "n", "args": {"v": "?m"}}]}
    program = {"id": "l", "batches": [{"operations": [{"op": "assert_fact", "predicate": "n", "args": {"v": 0}}, count]}]}
    label = lambda **more: json.loads(run(capsys, written(tmp_path, program | more.pop("extra", {})), as_json=True, **more)[1])[0]["expect"]["steps"][0]  # noqa: E731
    assert label()["status"] == "accepted"
    assert label(extra={"limits": {"max_closure_iterations": 10}})["error"]["label"] == "CLOSURE_DIVERGED"
    assert label(limits=Limits(rounds=10))["error"]["label"] == "CLOSURE_DIVERGED"


def test_the_same_file_gives_the_same_bytes_whatever_the_hash_seed():
    """Generated ids are null, and nothing depends on the order of a set."""
    outs = {subprocess.run([sys.executable, "-m", "rulith", "board", "run", str(CORPUS / "actions.json")], cwd=ROOT, check=True, capture_output=True,
                           env=os.environ | {"PYTHONHASHSEED": seed}).stdout for seed in ("1", "2")}
    assert len(outs) == 1 and "\ue000" not in outs.pop().decode()


# --- comparing -----------------------------------------------------------------------------


@pytest.mark.parametrize(("one", "other", "equal"), [
    (2, 2.0, True), (-0.0, 0, True), (1, True, False), ("1", 1, False), (0.1 + 0.2, 0.3, True), (1.0, 1.000001, False),
    ([1, 2], [2, 1], False), ({"a": 1}, {"a": 1.0}, True), ({"a": 1}, {"a": 1, "b": None}, False), (None, None, True), (2**53 - 1, 2**53 - 2, False),
])
def test_values_compare_by_type_and_number(one, other, equal):
    assert same(one, other) is equal


def test_rows_are_sets_and_each_counts():
    row = ["p", {"x": 1}, "+", "asserted"]
    assert state_differences({"facts": [row, row]}, {"facts": [row]}, "s")[0].json() == {"where": "s.facts", "wanted": [row], "got": []}
    assert state_differences({"facts": [row]}, {"facts": [[*row, "disputed"]]}, "s")


def test_a_wrong_status_hides_what_follows():
    steps = [{"status": "accepted", "state": {"facts": []}}]
    found = compare([{"operations": []}], {"steps": [{"status": "rejected", "error": {"label": "X"}}], "final": {"facts": [1]}}, {"steps": steps, "final": {"facts": []}})
    assert [each.where for each in found] == ["steps[0].status"]


def test_a_program_file_beyond_its_size_is_a_bad_file(capsys, tmp_path, monkeypatch):
    path = written(tmp_path, PROGRAM)
    monkeypatch.setattr(board_programs, "PROGRAM_BYTES_MAX", path.stat().st_size)
    assert run(capsys, path)[0] == 0
    monkeypatch.setattr(board_programs, "PROGRAM_BYTES_MAX", path.stat().st_size - 1)
    assert run(capsys, path)[0] == 2
