"""The table of rows for built-in Tools, run programs and Sources names tests that exist."""

import json

from tests.conftest import ROOT
from tests.gateway.test_row_table import names_in


def test_every_row_of_tools_programs_and_sources_has_its_test():
    rows = json.loads((ROOT / "tests" / "adapters" / "adapter_rows.json").read_text("utf-8"))["rows"]
    absent = {row: test for row, test in rows.items() if test.split("::")[1] not in names_in(test.split("::")[0])}
    assert not absent
    assert {row.split(" ")[0] for row in rows} == {"8.4", "12", "13.2", "14"}
