"""The table of the council's rows names tests that exist, and no test of the rule files stands outside it."""

from __future__ import annotations

import ast
import json
from functools import cache

from tests.conftest import ROOT

TABLE = json.loads((ROOT / "tests" / "forum" / "council_rows.json").read_text("utf-8"))
# sections of the surface that this room holds so far
SECTIONS = {"1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14", "15", "16", "17", "18", "19", "20", "21", "22", "first"}
ACTS = {"open", "reply", "edit message", "edit topic", "claim", "set status", "resolve", "read"}


@cache
def names_in(path: str) -> set[str]:
    file = ROOT / "tests" / path
    tree = ast.parse(file.read_text("utf-8")) if file.exists() else ast.Module([], [])
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")}


def test_every_row_has_a_test_that_exists():
    absent = {row: [test for test in about["tests"] if test.partition("::")[2] not in names_in(test.partition("::")[0])] or "no test"
              for row, about in TABLE["rows"].items()
              if not about["tests"] or any(test.partition("::")[2] not in names_in(test.partition("::")[0]) for test in about["tests"])}
    assert not absent
    assert all(about["is"].endswith(".") for about in TABLE["rows"].values())


def test_every_section_and_every_act_of_the_rules_has_its_row():
    assert {row.partition(".")[0] for row in TABLE["rows"]} >= SECTIONS
    assert ACTS <= {row.partition(".")[2] for row in TABLE["rows"] if row.startswith("5.")}


def test_every_test_of_the_rule_files_stands_in_the_table():
    named = {test for about in TABLE["rows"].values() for test in about["tests"]}
    for path in ("forum/test_rows_of_the_rules.py", "forum/test_the_persons_house.py", "forum/test_api.py", "forum/test_council_role.py",
                 "forum/test_keep_awake.py", "forum/test_awake_rules.py", "forum/test_whole_chain.py", "forum/test_many_waiting.py",
                 "watch/test_flags_and_words.py", "watch/test_watching.py", "watch/test_listening.py", "watch/test_watch_process.py", "watch/test_the_rails.py",
                 "watch/test_with_the_council.py", "browser/test_council.py", "forum/test_mcp.py", "forum/test_mcp_waiting.py", "forum/test_mcp_tools.py", "forum/test_mcp_life.py"):
        assert {f"{path}::{name}" for name in names_in(path)} <= named, path
