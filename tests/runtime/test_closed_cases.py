"""Which Cases a turn is said to have closed. Source  the workbench surface, "Turn results"."""

from __future__ import annotations

from rulith.runtime.answers import Answer, Focused, Kind
from rulith.runtime.cases import CaseBook

IDS = {f"root_{name}": f"case_{name}" for name in "abc"}


def close(book, root, disposition=None, kind=Kind.ACCEPTED, focused=()):
    asked = {"root": root, **({"disposition": disposition} if disposition else {})}
    said = Answer("CloseCase", kind, {"result": {}}, focused=tuple(Focused(IDS[each], each) for each in focused))
    return [change.kind for change in book.take(said, asked)]


def test_only_what_this_turn_closed_is_listed_each_with_its_disposition():
    book = CaseBook()
    everything = tuple(Focused(case_id, root) for root, case_id in IDS.items())
    book.take(Answer("OpenCase", Kind.ACCEPTED, {}, focused=everything), {})
    assert close(book, "root_a", focused=("root_b", "root_c"))[-1] == "case-closed"
    assert close(book, "root_b", "cancelled", kind=Kind.REFUSED, focused=("root_b", "root_c")) == []
    assert close(book, "root_b", "cancelled", focused=("root_c",))[-1] == "case-closed"
    book.take(Answer("QueryBoard", Kind.ACCEPTED, {}, focused=()), {})          # the third one merely leaves focus
    assert book.closed == [{"caseId": "case_a", "root": "root_a", "disposition": "completed"}, {"caseId": "case_b", "root": "root_b", "disposition": "cancelled"}]
    assert book.focus == []
    book.begin_turn()
    assert book.closed == []
