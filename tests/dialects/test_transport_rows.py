"""The table of the model transports' rows: each is a sentence with tests that exist."""

from __future__ import annotations

import ast
import json
from functools import cache

from tests.conftest import ROOT

TABLE = ROOT / "tests" / "dialects" / "transport_rows.json"
SECTIONS = {"14": 13, "12": 1, "d6": 3, "q": 5}


@cache
def names_in(path: str) -> frozenset[str]:
    tree = ast.parse((ROOT / "tests" / path).read_text("utf-8"))
    return frozenset(node.name for node in tree.body if isinstance(node, ast.FunctionDef))


def test_every_row_of_the_model_transports_is_a_sentence_with_tests_that_exist():
    rows = json.loads(TABLE.read_text("utf-8"))["rows"]
    for id_, row in rows.items():
        assert row["is"].endswith(".") and row["tests"], id_
        absent = [test for test in row["tests"] if test.split("::")[1] not in names_in(test.split("::")[0])]
        assert not absent, f"{id_}: {absent}"
    assert {section: sum(id_.startswith(f"{section}.") for id_ in rows) for section in SECTIONS} == SECTIONS
