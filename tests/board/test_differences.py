"""What a person reads before a Release or a Tool is accepted. Duty: design §5, "a readable diff"."""

from __future__ import annotations

import copy
import json

import pytest

from rulith.base.canonical import canonical_text
from rulith.base.resources import shipped_text
from rulith.board.differences import capability_changes, changes_text, descriptor_changes, literal_text


@pytest.fixture
def document() -> dict:
    return json.loads(shipped_text("examples", "verified-calculation", "capability.json"))


def changed(before: dict, **how) -> dict:
    after = copy.deepcopy(before)
    for path, value in how.items():
        *steps, last = path.split("__")
        place = after
        for step in steps:
            place = place[int(step)] if isinstance(place, list) else place[step]
        if value is None:
            del place[last]
        else:
            place[int(last) if isinstance(place, list) else last] = value
    return after


def summary(before, after) -> list[tuple[str, str, str]]:
    return [(each.part, each.name, each.change) for each in capability_changes(before, after)]


def test_a_document_does_not_differ_from_what_the_ledger_gives_back(document):
    """Canonical order is not the file's order, and nobody should read that as a change."""
    assert capability_changes(json.loads(canonical_text(document)), document) == []


def test_without_a_release_before_everything_is_new(document):
    rows = summary(None, document)
    assert {change for _, _, change in rows} == {"added"}
    assert ("rule", "total", "added") in rows and ("action", "write_output", "added") in rows
    assert ("Case Type", "approved_calculation", "added") in rows and ("pin", "subtotal", "added") in rows


@pytest.mark.parametrize(
    ("how", "row"),
    [
        ({"version": "1.0.1"}, ("version", "", "changed")),
        ({"terms": None}, ("terms", "", "removed")),
        ({"rules__1__when__2__predicate": "sub"}, ("rule", "total", "changed")),
        ({"rules__1__label": "other words"}, ("rule", "total", "changed")),
        ({"actions__2__decision": None}, ("action", "write_approved_output", "changed")),
        ({"actions__0__source_types": ["file", "db"]}, ("action", "read_input", "changed")),
        ({"actions__1__tool": "acme.other@1"}, ("action", "write_output", "changed")),
        ({"acceptance__1__when__3__args__total_cents": "?other"}, ("acceptance", "read_back", "changed")),
        ({"case_types__verified_calculation__floor": "asserted"}, ("Case Type", "verified_calculation", "changed")),
        ({"case_types__approved_calculation": None}, ("Case Type", "approved_calculation", "removed")),
        ({"vocabulary__defines__0__sources": ["file", "http"]}, ("predicate", "rulith.verified_calculation.input", "changed")),
        ({"vocabulary__imports__0__as": "the_root"}, ("import", "root", "changed")),
        ({"pins": ["subtotal"]}, ("pin", "total", "removed")),
        ({"examples__0__never": []}, ("example", "seven at 12.99 and 5.00 shipping", "changed")),
    ],
)
def test_each_change_is_named_by_its_part_and_item(document, how, row):
    assert summary(document, changed(document, **how)) == [row]


def test_a_changed_item_shows_both_lines_and_what_stayed(document):
    after = changed(document, rules__1__when__2__predicate="sub")
    lines = capability_changes(document, after)[0].lines
    assert ("-", "when add(left=?subtotal, result=?cents, right=?shipping)") in lines
    assert ("+", "when sub(left=?subtotal, result=?cents, right=?shipping)") in lines
    assert (" ", "label total = subtotal + shipping") in lines
    text = "\n".join(changes_text(capability_changes(document, after)))
    assert text.startswith("rule total: changed\n") and "\n  + when sub(" in text


def test_a_dropped_decision_is_a_line_of_its_own(document):
    lines = capability_changes(document, changed(document, actions__2__decision=None))[0].lines
    assert [text for sign, text in lines if sign == "-"] == ["decision expires_s=604800, kind=approve the totals before they are written, people=1"]


def test_the_text_true_is_no_boolean(document):
    assert literal_text({"predicate": "p", "args": {"b": True, "a": "true", "c": "?x"}, "naf": True}) == 'absent p(a="true", b=true, c=?x)'


@pytest.mark.parametrize("trick", ["a\nrule x: added", "a\x1b[2K\rb", "a\u202eb"])
def test_no_text_of_a_file_passes_for_another_line(document, trick):
    """A terminal that obeys what it prints would show another diff than the one that is installed."""
    after = changed(document, rules__1__label=trick, case_types__verified_calculation__title=trick, title=trick)
    for line in changes_text(capability_changes(document, after)):
        assert line.isprintable()


def test_a_tool_descriptor_is_compared_by_what_it_takes_and_gives():
    before = {"id": "acme.read@1", "digest": "a" * 64, "kind": "read", "sourceTypes": ["file"], "params": {"job_id": "string"},
              "returns": [{"predicate": "acme.input", "args": {"x": "$x"}}]}
    after = {**before, "digest": "b" * 64, "kind": "write", "params": {"job_id": "string", "force": "boolean?"}}
    assert descriptor_changes(before, after) == [
        ("-", "kind read"), ("+", "kind write"), (" ", "Source types file"), ("+", "takes force: boolean?"),
        (" ", "takes job_id: string"), (" ", "returns acme.input(x=$x)")]
    assert {sign for sign, _ in descriptor_changes(before, before)} == {" "}
    assert {sign for sign, _ in descriptor_changes(None, before)} == {"+"}
