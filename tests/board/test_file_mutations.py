"""Broken files, systematically: whatever the schema rejects, the reader names, with a place and a line of the file.

Every value of the shipped files is taken away, replaced by one of another kind, and given an
unknown neighbour. Source: protocol/*.schema.json; docs/capability.md and docs/constitution.md.
"""

import copy
import json
from pathlib import Path

import pytest

from rulith.base.errors import Refused
from rulith.base.json_places import Places
from rulith.board.capability_check import check_capability
from rulith.board.constitution import check_constitution
from rulith.wire.files import validate_file

ROOT = Path(__file__).parents[2]
FILES = [("capability", ROOT / "examples" / "verified-calculation" / "capability.json"),
         *(("capability", path) for path in sorted((ROOT / "protocol" / "examples" / "capability").iterdir())),
         *(("constitution", path) for path in sorted((ROOT / "protocol" / "examples" / "constitution").iterdir()))]
CHECK = {"capability": check_capability, "constitution": check_constitution}
OTHERS = [None, 7, -1, 1.5, True, "", "?x", "Upper Case", [], {}, [[]], {"x": 1}]


def places(value, path=()):
    """Every member and item below `value`, as paths."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in items:
        yield (*path, key)
        yield from places(each, (*path, key))


def owner_of(document, path):
    for key in path[:-1]:
        document = document[key]
    return document


def mutations(document):
    """(what was done, the broken document), a good third of all there are, always the same ones."""
    paths = list(places(document))
    for number, path in enumerate(paths):
        for kind in range(3):
            if (number + kind) % 3:
                continue
            broken = copy.deepcopy(document)
            owner = owner_of(broken, path)
            if kind == 0:
                del owner[path[-1]]
                yield f"without {path}", broken
            elif kind == 1:
                other = OTHERS[number % len(OTHERS)]
                owner[path[-1]] = other
                yield f"{path} = {other!r}", broken
            elif isinstance(owner[path[-1]], dict):
                owner[path[-1]]["surprise_member"] = 1
                yield f"more in {path}", broken


def rejected_by_the_schema(name, document) -> bool:
    try:
        validate_file(name, document)
    except Refused:
        return True
    return False


@pytest.mark.parametrize("name,path", FILES, ids=[path.name if name == "constitution" else path.parent.name + path.stem for name, path in FILES])
def test_what_the_schema_rejects_the_reader_names_with_place_and_line(name, path):
    document = json.loads(path.read_text("utf-8"))
    document.pop("examples", None)
    broken = 0
    for what, mutated in mutations(document):
        found, problems = CHECK[name](mutated)
        assert (found is None) == bool(problems), what
        if rejected_by_the_schema(name, mutated):
            broken += 1
            assert problems, f"the schema rejects it, the reader takes it: {what}"
        text = json.dumps(mutated, indent=1)
        lines = Places(text)
        for each in problems:
            assert each.place and each.problem and 1 <= lines.line_of(each.place) <= text.count("\n") + 1, what
    assert broken > 20


@pytest.mark.parametrize("name,path", FILES, ids=[str(number) for number, _ in enumerate(FILES)])
def test_the_line_of_an_unknown_member_is_the_line_it_stands_on(name, path):
    document = json.loads(path.read_text("utf-8"))
    for number, place in enumerate(places(document)):
        owner = owner_of(document, place)
        if not isinstance(owner[place[-1]], dict) or "examples" in place or "args" in place or number % 2:
            continue
        broken = copy.deepcopy(document)
        owner_of(broken, place)[place[-1]]["surprise_member"] = {"unknown": "here"}
        text = json.dumps(broken, indent=1)
        told = [(each, Places(text).line_of(each.place)) for each in CHECK[name](broken)[1]]
        assert any("surprise_member" in text.splitlines()[line - 1] for _, line in told), (place, [each.text() for each, _ in told])


@pytest.mark.parametrize("change,place", [
    (lambda each: each.update(pins=[*each["pins"], each["pins"][0]]), "pins["),
    (lambda each: each["actions"][0].update(returns=each["actions"][0]["returns"] * 33), "actions[0].returns"),
    (lambda each: each["case_types"]["verified_calculation"].update(drive=["read_input", "read_input"]), "case_types.verified_calculation.drive"),
    (lambda each: each["actions"][0].update(source_types=["file", "file"]), "actions[0].source_types"),
    (lambda each: each["examples"][0].update(title=1.5), "examples[0].title"),
])
def test_lists_keep_the_bounds_of_the_schema(change, place):
    document = json.loads(FILES[0][1].read_text("utf-8"))
    change(document)
    assert rejected_by_the_schema("capability", document)
    assert any(each.place.startswith(place) for each in check_capability(document)[1]), check_capability(document)[1]


@pytest.mark.parametrize("args", [{}, "acme.orders.line", None])
def test_a_total_by_group_of_a_predicate_without_arguments_is_named(args):
    document = {"format": "rulith-capability/1", "id": "acme.sums", "version": "1.0.0", "title": "Sums", "vocabulary": {"defines": [
        {"id": "acme.sums.line", "as": "line", "args": args}, {"id": "acme.sums.lines", "as": "lines", "args": {"order": "string", "n": "number"}}]},
        "aggregates": [{"kind": "count", "source": {"predicate": "line"}, "into": {"predicate": "lines", "valueArg": "n"}, "group_by": "order"}]}
    assert check_capability(document)[1]


def test_a_long_name_is_not_told_in_full_for_every_row_that_misses_it():
    long = "a" * 200_000
    document = {"format": "rulith-capability/1", "id": "acme.sums", "version": "1.0.0", "title": "Sums", "vocabulary": {"defines": [
        {"id": "acme.sums.line", "as": "line", "args": {"x": "string", long: "string"}}]},
        "aggregates": [{"kind": "count", "source": {"predicate": "line"}, "into": {"predicate": "line", "valueArg": "y"}, "group_by": "z"}] * 500}
    problems = check_capability(document)[1]
    assert len(problems) > 500 and sum(len(each.text()) for each in problems) < 5_000_000


@pytest.mark.parametrize("name", CHECK)
def test_a_member_without_a_name_has_a_place(name):
    assert all(each.place and each.problem for each in CHECK[name]({"": 1})[1])
