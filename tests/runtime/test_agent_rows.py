"""The table of the Agent's rows: each has tests that exist, and the row files hold no test without a row."""

from __future__ import annotations

import ast
import json
from functools import cache

from tests.conftest import ROOT

TABLE = ROOT / "tests" / "runtime" / "agent_rows.json"
ROW_FILES = ("runtime/test_waiting.py", "runtime/test_unread.py", "runtime/test_real_gateway.py", "wire/test_replies_three_ways.py",
             "simulator/test_one_connection.py")


@cache
def names_in(path: str) -> frozenset[str]:
    tree = ast.parse((ROOT / "tests" / path).read_text("utf-8"))
    return frozenset(node.name for node in tree.body if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"))


def rows() -> dict[str, dict]:
    return json.loads(TABLE.read_text("utf-8"))["rows"]


def test_every_row_of_the_agents_side_is_a_sentence_with_tests_that_exist():
    for id_, row in rows().items():
        assert row["is"].endswith(".") and row["tests"], id_
        absent = [test for test in row["tests"] if test.split("::")[1] not in names_in(test.split("::")[0])]
        assert not absent, f"{id_}: {absent}"


def test_every_section_has_its_rows():
    sections = {"8.1": 6, "8.2": 20, "9": 17, "10": 9, "11": 12, "12": 3}
    found = list(rows())
    for section, count in sections.items():
        own = [id_ for id_ in found if id_.startswith(section) and not id_[len(section):][:1].isdigit()]
        assert len(own) >= count, f"{section} has {len(own)} rows"


def test_every_test_of_the_row_files_stands_in_the_table():
    named = {test for row in rows().values() for test in row["tests"]}
    for path in ROW_FILES:
        assert not [name for name in names_in(path) if f"{path}::{name}" not in named], path
