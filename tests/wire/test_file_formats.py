"""Shapes of Capability and Constitution files. Duty: protocol/*.schema.json and its worked examples."""

from __future__ import annotations

import copy
import json

import pytest

from rulith.base.errors import Refused
from rulith.base.json_text import read_json
from rulith.base.resources import shipped, shipped_bytes
from rulith.board.capability_check import check_capability
from rulith.wire.files import validate_file

CAPABILITY = read_json(shipped_bytes("examples", "verified-calculation", "capability.json"), "the example")
CONSTITUTION = read_json(
    shipped_bytes("protocol", "examples", "constitution", "two-people-for-writes.json"), "the example")


def test_every_worked_example_is_valid():
    validate_file("capability", CAPABILITY)
    for kind in ("capability", "constitution"):
        folder = shipped("protocol", "examples", kind)
        examples = sorted(entry.name for entry in folder.iterdir())
        assert examples
        for name in examples:
            validate_file(kind, read_json(folder.joinpath(name).read_bytes(), name))


def test_the_worked_capabilities_pass_the_whole_check():
    """Shape is not enough: rules are safe, words exist, and each file's own examples hold."""
    folder = shipped("protocol", "examples", "capability")
    for document in (CAPABILITY, *(read_json(entry.read_bytes(), entry.name) for entry in folder.iterdir())):
        _, problems = check_capability(document)
        assert not problems, "\n".join(problem.text() for problem in problems)


@pytest.mark.parametrize("place", ["/pins/0", "/rules/0/then", "/actions/0/kind", "/version", "extra"])
def test_what_the_shape_refuses_the_whole_check_refuses_too(place):
    damaged = copy.deepcopy(CAPABILITY)
    CAPABILITY_DAMAGE[place](damaged)
    assert check_capability(damaged)[1]


def test_a_file_without_format_is_read_as_version_1():
    without = copy.deepcopy(CAPABILITY)
    del without["format"]
    validate_file("capability", without)


CAPABILITY_DAMAGE = {
    "/format": lambda c: c.update(format="rulith-capability/2"),
    "extra": lambda c: c.update(extra=1),
    "/id": lambda c: c.update(id="Rulith"),
    "/version": lambda c: c.update(version="1.0"),
    "title": lambda c: c.pop("title"),
    "/vocabulary/defines/0/args/job_id": lambda c: c["vocabulary"]["defines"][0]["args"].update(job_id="text"),
    "/vocabulary/defines/1/id": lambda c: c["vocabulary"]["defines"][1].update(id="subtotal"),
    "/vocabulary/imports/0/as": lambda c: c["vocabulary"]["imports"][0].update({"as": "Root"}),
    "/pins/0": lambda c: c["pins"].__setitem__(0, 3),
    "/rules/0/then": lambda c: c["rules"][0].update(then=[]),
    "/rules/0/when/0": lambda c: c["rules"][0]["when"][0].update(source="x"),
    "/rules/0/when/1/args/left": lambda c: c["rules"][0]["when"][1]["args"].update(left=[1]),
    "/rules/1/then/0": lambda c: c["rules"][1]["then"][0].update(naf=True),
    "when": lambda c: c["acceptance"][0].pop("when"),
    "/actions/0/kind": lambda c: c["actions"][0].update(kind="delete"),
    "returns": lambda c: c["actions"][0].pop("returns"),
    "/actions/0/returns/0/args/job_id": lambda c: c["actions"][0]["returns"][0]["args"].update(job_id="job_id"),
    "/actions/1/params/source": lambda c: c["actions"][1]["params"].update(source="string"),
    "/actions/2/decision/people": lambda c: c["actions"][2]["decision"].update(people=0),
    "/case_types/verified_calculation/floor": lambda c: c["case_types"]["verified_calculation"].update(floor="sure"),
    "/case_types/verified_calculation/task": lambda c: c["case_types"]["verified_calculation"].update(task=[]),
    "/case_types/verified_calculation/business_key": lambda c: c["case_types"]["verified_calculation"].update(business_key={}),
    "/case_types/exploration": lambda c: c["case_types"].update(exploration={}),
    "/examples/0": lambda c: c["examples"][0].pop("given"),
    "/examples/0/follows/0/args/cents": lambda c: c["examples"][0]["follows"][0]["args"].update(cents=2**60),
}


@pytest.mark.parametrize("place", CAPABILITY_DAMAGE)
def test_a_damaged_capability_is_refused_by_name_and_place(place):
    damaged = copy.deepcopy(CAPABILITY)
    CAPABILITY_DAMAGE[place](damaged)
    with pytest.raises(Refused) as refused:
        validate_file("capability", damaged)
    assert place in refused.value.teaching


def test_an_action_without_a_tool_runs_on_the_board_only():
    board_action = {"id": "note", "description": "d", "effects": [{"predicate": "write_settled", "args": {"job_id": "?job_id"}}]}
    with_board_action = copy.deepcopy(CAPABILITY)
    with_board_action["actions"].append(board_action)
    validate_file("capability", with_board_action)
    board_action["decision"] = {"kind": "k"}
    with pytest.raises(Refused):
        validate_file("capability", with_board_action)


CONSTITUTION_DAMAGE = {
    "format": lambda c: c.pop("format"),
    "rules": lambda c: c.pop("rules"),
    "/rules/0/label": lambda c: c["rules"][0].update(label=""),
    "/rules/0/when": lambda c: c["rules"][0].update(when=[]),
    "/rules/1/then/0/args": lambda c: c["rules"][1]["then"][0]["args"].pop("reason"),
    "/rules/0/then/0": lambda c: c["rules"][0]["then"][0].update(predicate="proposed"),
    "negated": lambda c: c["rules"][0]["then"][0].update(negated=True),
}


@pytest.mark.parametrize("place", CONSTITUTION_DAMAGE)
def test_a_damaged_constitution_is_refused_by_name_and_place(place):
    damaged = copy.deepcopy(CONSTITUTION)
    CONSTITUTION_DAMAGE[place](damaged)
    with pytest.raises(Refused) as refused:
        validate_file("constitution", damaged)
    assert place in refused.value.teaching


def test_a_refusal_does_not_change_what_it_read():
    before = json.dumps(CAPABILITY)
    validate_file("capability", CAPABILITY)
    assert json.dumps(CAPABILITY) == before
