"""The table of the workbench's rows: every route, state, label, refusal and failure case has a test that exists, or says why it is none of ours.

Keys begin with the section of the surface, with "routes" or with "failures".
"""

from __future__ import annotations

import ast
import json
from functools import cache

from rulith.workbench.account_api import PREFIX as ACCOUNT
from rulith.workbench.api import COUNCIL_ROLE, READS
from rulith.workbench.profiles import PREFIX as PROFILES
from rulith.workbench.settings import PREFIX as SETTINGS
from tests.conftest import ROOT
from tests.workbench.test_page_http import play

TABLE = ROOT / "tests" / "workbench" / "workbench_rows.json"
SECTIONS = {*map(str, range(1, 21)), "5.1", "5.2", "routes", "failures"}
WHOLE = ("test_failures.py", "test_models.py", "test_role_driver.py", "test_runs.py", "test_start_and_stop.py", "test_supervision.py")


def pairs_once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    assert len(found) == len(pairs), "a row is written twice"
    return found


ROWS: dict[str, list[str] | dict[str, str]] = json.loads(TABLE.read_text("utf-8"), object_pairs_hook=pairs_once)["rows"]
NAMED = [test for row in ROWS.values() if isinstance(row, list) for test in row]


@cache
def names_in(path: str) -> frozenset[str]:
    tree = ast.parse((ROOT / "tests" / path).read_text("utf-8"))
    return frozenset(node.name for node in tree.body if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"))


def test_every_row_has_tests_that_exist_or_the_reason_why_it_is_none_of_ours():
    for key, row in ROWS.items():
        if isinstance(row, dict):
            assert set(row) == {"not"} and row["not"], key
        else:
            absent = [test for test in row if test.partition("::")[2] not in names_in(test.partition("::")[0])]
            assert row and not absent, f"{key}: {absent}"


def test_every_section_has_its_rows():
    assert {key.split(" ")[0] for key in ROWS} == SECTIONS


def test_every_route_that_is_served_has_its_row(stage):
    async def served(stage):
        api = stage.api
        posts = {"/i/<id>/": api._posts, PROFILES: api.profiles.home_posts, SETTINGS: api.settings.posts, ACCOUNT: api.account.posts, COUNCIL_ROLE: [""]}
        return {f"GET /i/<id>/{name}" for name in {**api._gets, **READS}} | {f"POST {where}{name}" for where, names in posts.items() for name in names}
    told = {key.removeprefix("routes ") for key in ROWS if key.startswith("routes ")}
    assert play(stage, served, up=False) - told == set()


def test_every_test_of_the_files_about_roles_and_failures_stands_in_a_row():
    for name in WHOLE:
        path = f"workbench/{name}"
        left = {f"{path}::{each}" for each in names_in(path)} - set(NAMED)
        assert not left, sorted(left)
