"""The engine, the naive evaluator, the proof checker and the corpus checker can only be wrong independently.

Duty: the Board is done when "the naive evaluator, the checker and the engine share no code".
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NAIVE, PROOFS, CORPUS = "tests/rules/naive.py", "tests/rules/checker.py", "tests/space/comparing.py"
EVALUATOR_LINES_MAX = 150


def imported(path: Path) -> set[str]:
    """The modules a file names in an import, wherever it stands."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            found.add(node.module)
    return found


@pytest.mark.parametrize("path", [NAIVE, PROOFS, CORPUS])
def test_a_referee_imports_nothing_but_the_standard_library(path):
    assert {name.partition(".")[0] for name in imported(ROOT / path)} <= set(sys.stdlib_module_names)
    assert not {"importlib", "runpy"} & imported(ROOT / path)


@pytest.mark.parametrize("package", ["rules", "board"])
def test_the_engine_imports_nothing_of_the_tests(package):
    for path in (ROOT / "rulith" / package).rglob("*.py"):
        assert not [name for name in imported(path) if name.partition(".")[0] == "tests"], path


def test_the_book_beside_a_board_brings_no_second_evaluator_and_no_engine():
    assert imported(ROOT / "tests/space/told.py") == {"__future__", "tests.rules"}
    assert imported(ROOT / "tests/space/checker.py") == {"__future__", "tests.rules.checker"}


def test_no_line_of_one_stands_in_another():
    """Nothing was copied either: no two long lines are the same."""
    lines = {}
    for path in (NAIVE, PROOFS, *(str(p.relative_to(ROOT)) for p in (ROOT / "rulith" / "rules").glob("*.py"))):
        for line in {line.strip() for line in (ROOT / path).read_text("utf-8").splitlines() if len(line.strip()) > 40}:
            lines.setdefault(line, set()).add("engine" if path.startswith("rulith") else path)
    assert {line: where for line, where in lines.items() if len(where) > 1} == {}


def test_the_naive_evaluator_stays_small():
    assert len((ROOT / NAIVE).read_text("utf-8").splitlines()) <= EVALUATOR_LINES_MAX
