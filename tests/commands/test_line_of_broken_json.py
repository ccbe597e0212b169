"""A file that is no JSON is shown at the line where it breaks."""

from __future__ import annotations

import pytest

from rulith.board.capability_check import check_capability
from rulith.local.documents import read_file


@pytest.mark.parametrize("text, line", [('{\n "id": "a.b",\n [1,2\n', 3), ("", 1), ('{"id": 1e999}', 1), ("\n\n{]", 3)])
def test_a_broken_file_is_shown_at_its_line(tmp_path, text, line):
    path = tmp_path / "broken.json"
    path.write_text(text)
    (problem,) = read_file(str(path), check_capability).problems
    assert (problem["place"], problem["line"]) == ("the file", line)
