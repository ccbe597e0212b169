"""Engine labels that no tool of the Agent surface can provoke, and the codes that stand for them in the one table."""

from __future__ import annotations

import pytest

from rulith.base.errors import Refused
from rulith.wire.contract import wire_code
from tests.space.short import board, tell

FINDING = {"op": "assert_fact", "id": "F1", "predicate": "finding", "args": {"k": "leak"}}


@pytest.mark.parametrize("operations, label, code", [
    ([FINDING, {"op": "record_result", "id": "RS", "label": "done", "evidenceRefs": []}], "FINDING_NOT_DERIVED", "derivation_gate"),
    ([{"op": "record_result", "id": "RS", "label": "done", "evidenceRefs": ["nope"]}], "EVIDENCE_UNRESOLVED", "evidence_reference"),
])
def test_a_label_of_the_reasoning_board_has_its_code(operations, label, code):
    with pytest.raises(Refused) as refused:
        tell(board(), *operations)
    assert refused.value.code == label and wire_code(label) == code
