"""docs/board.md is followed as a new user would: its commands are run, its tables are those of the code."""

from __future__ import annotations

import ast
import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from rulith.base import limits
from rulith.base.codes import board, board_server, space, space_calls
from rulith.board.space.calls import CALLS
from rulith.board.space.reading import OPERATIONS
from rulith.gateway.board_programs import play, read_programs
from rulith.gateway.board_tools import MODES, TOOLS
from rulith.rules.program import Limits

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples" / "invoice"
PAGE = (ROOT / "docs" / "board.md").read_text("utf-8")
PROGRAMS = sorted(path for path in EXAMPLES.glob("*.json") if path.name != "conversation.json")
CUT = " …"      # ends a line that goes on; alone, lines that are left out


def under(heading: str) -> str:
    found = re.search(rf"^#+ {re.escape(heading)}\n(.*?)(?=^#+ |\Z)", PAGE, re.MULTILINE | re.DOTALL)
    assert found, heading
    return found[1]


def first_cells(heading: str) -> list[str]:
    """What stands in backticks in the first column of the tables under a heading."""
    cells = [line.split("|")[1] for line in re.sub(r"^\|.*\n(?=\|-)", "", under(heading), flags=re.MULTILINE).splitlines() if line.startswith("| `")]
    return [name for cell in cells for name in re.findall(r"`(\w+)`", cell)]


# --- what is shown runs --------------------------------------------------------------------


def commands() -> list[tuple[str, list[str]]]:
    """Every command that is shown, and the lines that are shown of its output."""
    found = []
    for block in re.findall(r"```console\n(.*?)```", PAGE, re.DOTALL):
        first, *lines = block.splitlines()
        found.append((first.removeprefix("$ "), lines))
    return found


def first_that_differs(shown: list[str], printed: list[str]) -> str | None:
    """The first line that is shown and was not printed at its place."""
    place, may_skip = 0, False
    for line in shown:
        if line == CUT:
            may_skip = True
            continue
        fits = [at for at in range(place, len(printed) if may_skip else min(place + 1, len(printed)))
                if printed[at] == line or (line.endswith(CUT) and printed[at].startswith(line.removesuffix(CUT)))]
        if not fits:
            return line
        place, may_skip = fits[0] + 1, False
    return None if may_skip or place == len(printed) else printed[place]


@pytest.mark.parametrize(("command", "shown"), commands(), ids=[command for command, _ in commands()])
def test_a_command_prints_what_is_shown(tmp_path: Path, command: str, shown: list[str]) -> None:
    shutil.copytree(EXAMPLES, tmp_path / "examples" / "invoice")
    words = shlex.split(command)
    words = [sys.executable, *words[1:]] if words[0] == "python3" else words
    at = words.index("rulith.pyz")
    words[at - 1:at + 1] = [sys.executable, "-m", "rulith"]
    ran = subprocess.run(words, cwd=tmp_path, env={"PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1", "PYTHONUTF8": "1"},
                         stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8", timeout=60)
    assert ran.returncode == 0, ran.stderr
    assert first_that_differs(shown, ran.stdout.splitlines()) is None


def test_the_walk_is_all_there() -> None:
    assert [shlex.split(command)[-1].rpartition("/")[2] for command, _ in commands()] == ["total.json", "payable.json", "board"]


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.name)
def test_a_program_file_comes_out_as_it_expects_and_is_shown(path: Path) -> None:
    for program in read_programs(str(path)):
        run = play(str(path), program, Limits())
        assert run.differences == []
        shown = [json.loads(block) for block in re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)]
        assert {name: value for name, value in program.items() if name != "expect"} in shown


def test_the_answer_names_the_missing_premise() -> None:
    (program,) = read_programs(str(EXAMPLES / "payable.json"))
    refused, why_not = play("payable.json", program, Limits()).found["steps"][1:3]
    assert refused["error"]["label"] == "EVIDENCE_UNRESOLVED"
    (rule,) = why_not["result"]["rules"]
    assert [lack["atom"]["predicate"] for lack in rule["lacks"]] == ["approved"]


# --- tables --------------------------------------------------------------------------------


def test_every_operation_mode_and_call_is_listed() -> None:
    assert sorted(first_cells("Operations")) == sorted(OPERATIONS)
    assert set(CALLS) <= set(first_cells("Asking")) and set(first_cells("Asking")) == {*CALLS, *MODES}
    assert f"the {len(TOOLS)} tools" in PAGE


def test_every_error_code_is_listed_and_no_other() -> None:
    shared = {"number_out_of_range", "resource_limit", "internal"}
    law = {code for code in board.CODES if code.isupper()} - {"RULE_ID_TAKEN", "RULE_NOT_FOUND"}       # of the engine's own face
    known = law | set(space.CODES) | set(space_calls.CODES) | set(board_server.CODES) | shared
    elsewhere = {"board_fold_differs", "limit_malformed", "program_malformed"}      # they end the process before it serves
    told = first_cells("Error codes")
    assert len(told) == len(set(told))
    assert set(told) == known - elsewhere
    assert all(f"`{code}`" in under("Error codes") for code in elsewhere)


def test_every_warning_is_listed() -> None:
    codes: set[str] = set()
    for name in ("operations", "critique"):
        for node in ast.walk(ast.parse((ROOT / "rulith" / "board" / "space" / f"{name}.py").read_text("utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and re.fullmatch(r"[A-Z]{4,}_[A-Z_]+", node.value):
                codes.add(node.value)
    codes -= {*space.CODES, *board.CODES}
    assert codes and all(f"`{code}`" in under("Operations") for code in codes), codes


def test_the_limits_of_a_reasoning_board_are_those_in_force() -> None:
    text = under("Limits")
    for value in (limits.SPACE_OPERATIONS_MAX, limits.AGGREGATE_GROUPS_MAX, limits.EXPLAIN_NODES_MAX, limits.SPACE_NODES_MAX,
                  limits.SPACE_EVIDENCE_MAX, limits.PLAN_STEPS_MAX, limits.PLAN_DEPTH_MAX, limits.PLAN_BEAM_MAX,
                  limits.SOLVE_VARIABLES_MAX, limits.SOLVE_NODES_MAX, limits.TASK_LEAVES_MAX, limits.SPACES_MAX):
        assert f"{value:,}" in text, value
    assert f"{limits.EXPLAIN_DEPTH_MAX} deep" in text
