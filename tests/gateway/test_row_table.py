"""The table of surface rows names tests that exist."""

from __future__ import annotations

import ast
import json
from functools import cache

from tests.conftest import ROOT

TABLE = ROOT / "tests" / "gateway" / "surface_rows.json"
HOP = ROOT / "tests" / "gateway" / "hop_rows.json"


@cache
def names_in(path: str) -> set[str]:
    tree = ast.parse((ROOT / "tests" / path).read_text("utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")}


def test_every_row_of_the_surface_has_its_test():
    rows = json.loads(TABLE.read_text("utf-8"))["rows"]
    absent = {row: test for row, test in rows.items() if test.split("::")[1] not in names_in(test.split("::")[0])}
    assert not absent
    assert {row.split(" ")[0].split(".")[0] for row in rows} == {"1", "2", "3", "4", "5", "6", "7", "8", "12", "15"}


def test_every_row_of_the_worker_hop_has_its_test():
    rows = json.loads(HOP.read_text("utf-8"))["rows"]
    absent = {row: test for row, test in rows.items() if test.split("::")[1] not in names_in(test.split("::")[0])}
    assert not absent
    assert {row.split(" ")[0].split(".")[0] for row in rows} >= {"2", "3", "4", "5", "6", "7", "8", "9", "11", "17", "18", "19", "20"}


def test_every_test_of_the_hops_faults_stands_in_the_table():
    named = {test.split("::")[1] for test in json.loads(HOP.read_text("utf-8"))["rows"].values()}
    assert names_in("gateway/test_hop_faults.py") - named <= {"test_an_undisturbed_job_is_done_and_each_call_ran_once"}


def test_every_test_of_the_row_files_stands_in_the_table():
    named = {test.split("::")[1] for test in json.loads(TABLE.read_text("utf-8"))["rows"].values()}
    assert names_in("gateway/test_surface_rows.py") <= named
