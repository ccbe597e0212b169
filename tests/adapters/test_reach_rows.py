"""The table of rows for the Manifest, HTTP, databases and MCP names tests that exist."""

import json

from tests.conftest import ROOT
from tests.gateway.test_row_table import names_in


def test_every_row_of_what_reaches_out_has_its_test():
    rows = json.loads((ROOT / "tests" / "adapters" / "reach_rows.json").read_text("utf-8"))["rows"]
    absent = {row: test for row, test in rows.items() if test.split("::")[1] not in names_in(test.split("::")[0])}
    assert not absent
    assert {row.split(" ")[0] for row in rows} == {"6.8", "8.4", "9", "10", "11", "13.1", "13.3", "13.4", "19"}
