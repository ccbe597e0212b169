"""Drop-box files as bytes: what is read is what was sealed, and nothing else is. docs/worker.md, "A Worker that no network reaches"."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings, strategies as st

from rulith.base.errors import Refused
from rulith.wire.dropbox import ReceiptsFile, WorkFile, read_receipts, read_work, receipts_name, seal, work_name

KEY, CONNECTION, ME = "rlt_key_public-test-only", "conn_1", "wkr_dropbox_1"
WORK = WorkFile(CONNECTION, 7, "2026-12-01T00:00:00.000Z", ME, 3, [{"name": "a", "type": "file"}],
                [{"row": {"work": "inv_1"}, "startBefore": "2026-12-04T00:00:00.000Z"}], {"inv_0": {"accepted": True, "of": "sha256:0"}}, 5)
RECEIPTS = ReceiptsFile(CONNECTION, 9, "2026-12-01T00:00:00.000Z", ME, None, [{"id": "t@1"}], [{"kind": "ReportWork", "id": "inv_0"}], 7)


def read_back(content, name=None, key=KEY, connection=CONNECTION):
    return read_work(content, name or work_name(WORK.sequence), key=key, connection_id=connection)


def code_of(read, *given, **named):
    with pytest.raises(Refused) as caught:
        read(*given, **named)
    return caught.value.code


def test_what_was_sealed_is_read():
    assert read_back(seal(WORK, KEY)) == WORK
    assert read_receipts(seal(RECEIPTS, KEY), receipts_name(ME, 9), key=KEY, connection_id=CONNECTION) == RECEIPTS
    assert seal(WORK, KEY) == seal(WORK, KEY)


def test_another_key_and_the_other_direction_are_nobodys():
    assert code_of(read_back, seal(WORK, KEY + "x")) == "dropbox_file_signature"
    assert code_of(read_back, seal(RECEIPTS, KEY)) == "dropbox_file_unreadable"
    turned = seal(RECEIPTS, KEY).replace(b" receipts ", b" work ", 1)
    assert code_of(read_back, turned) == "dropbox_file_signature"


def test_another_name_and_another_connection_are_refused():
    for name in (work_name(8), "x", receipts_name(ME, 7), "7.work"):
        assert code_of(read_back, seal(WORK, KEY), name) == "dropbox_file_unreadable"
    assert code_of(read_back, seal(WORK, KEY), connection="conn_2") == "dropbox_file_unreadable"


@pytest.mark.parametrize("change", [
    {"sequence": 0}, {"sequence": True}, {"sequence": "7"}, {"at": "yesterday"}, {"at": None}, {"worker_id": "me"},
    {"worker_id": 3}, {"generation": -1}, {"generation": None}, {"sources": {}}, {"rows": None}, {"rows": [1]}, {"rows": [{"row": {}}]},
    {"rows": [{"row": [], "startBefore": "2026-12-04T00:00:00.000Z"}]}, {"rows": [{"row": {}, "startBefore": "soon"}]},
    {"rows": [WORK.rows[0]] * 257}, {"answers": []}, {"answers": {"inv": 1}}, {"seen": -1}, {"seen": 1.5},
])
def test_a_signed_file_of_another_shape_is_refused(change):
    file = replace(WORK, **change)
    name = work_name(file.sequence if isinstance(file.sequence, int) else 7)
    assert code_of(read_back, seal(file, KEY), name) == "dropbox_file_unreadable"


def test_a_number_outside_the_exact_range_is_refused():
    assert code_of(read_back, seal(replace(WORK, sequence=2**53), KEY), work_name(2**53)) == "number_out_of_range"


def test_members_that_are_missing_or_more_are_refused():
    class Odd(WorkFile):
        def payload(self):
            row = super().payload()
            row.pop("seen")
            return row | {"more": 1}

    assert code_of(read_back, seal(Odd(**WORK.__dict__), KEY)) == "dropbox_file_unreadable"


SEALED = seal(WORK, KEY)


@settings(max_examples=300, deadline=None)
@given(st.integers(0, len(SEALED) - 1), st.one_of(st.binary(max_size=3), st.just(None)))
def test_any_other_bytes_are_refused_and_nothing_else_happens(place, put):
    changed = SEALED[:place] if put is None else SEALED[:place] + put + SEALED[place + len(put):]
    if changed != SEALED:
        with pytest.raises(Refused):
            read_back(changed)


def test_the_names_sort_as_the_numbers_do():
    numbers = [1, 2, 10, 99, 100, 2**53 - 1]
    assert sorted(work_name(each) for each in reversed(numbers)) == [work_name(each) for each in numbers]


def test_nothing_of_the_key_stands_in_a_file_or_a_repr():
    assert KEY.encode() not in seal(WORK, KEY) and "inv_1" not in repr(WORK) and json.loads(seal(WORK, KEY).split(b"\n", 1)[1])["sequence"] == 7
