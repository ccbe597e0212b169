"""What a vocabulary declares as `integer` is whole: in examples, in business keys, and in what a Worker reports."""

from __future__ import annotations

import copy
import json

import pytest

from rulith.base.errors import Refused
from rulith.base.resources import shipped_text
from rulith.board.capability_check import check_capability, read_release
from rulith.board.cases import read_business_key

P = "rulith.verified_calculation."
GOOD = {"job_id": "calc-001", "unit_price_cents": 1299, "quantity": 7, "shipping_cents": 500}


@pytest.fixture
def document() -> dict:
    return copy.deepcopy(json.loads(shipped_text("examples", "verified-calculation", "capability.json")))


def problems(document: dict) -> list[str]:
    return [each.text() for each in check_capability(document)[1]]


@pytest.mark.parametrize(("name", "value"), [("unit_price_cents", 1299.5), ("quantity", 6.5), ("shipping_cents", 0.1)])
def test_a_fraction_of_a_cent_or_a_piece_is_no_order(play, name, value):
    plan = play.plan(play.open(), "read_input")
    with pytest.raises(Refused, match=f"{P}input.{name} is {value}, which is not an integer") as refused:
        play.receipt(plan, [{"predicate": P + "input", "args": {**GOOD, name: value}}])
    assert refused.value.code == "ingest_rejected"


def test_a_whole_number_written_as_a_fraction_is_the_whole_number(play):
    plan = play.plan(play.open(), "read_input")
    play.receipt(plan, [{"predicate": P + "input", "args": {**GOOD, "quantity": 7.0}}])
    assert play.holds(P + "total", job_id="calc-001", cents=9593)


def test_an_example_that_states_a_fraction_is_named(document):
    document["examples"][0]["given"][0]["args"]["quantity"] = 6.5
    assert problems(document) == ["examples[0].given[0].args.quantity: 6.5 is not an integer"]


def test_an_example_from_which_a_fraction_follows_is_named(document):
    document["rules"][0]["when"][1] = {"predicate": "div", "args": {"left": "?price", "right": 2, "result": "?cents"}}
    document["examples"] = [{"given": document["examples"][0]["given"]}]
    (problem, *_) = problems(document)
    assert "subtotal.cents" in problem and "649.5, which is not an integer" in problem


def test_a_business_key_of_an_integer_takes_no_fraction(document):
    document["vocabulary"]["defines"].append({"id": P + "page", "as": "page", "args": {"number": "integer"}})
    document["case_types"]["verified_calculation"]["business_key"] = {"job_id": "string", "page": "integer"}
    case_type = read_release(document).case_types["verified_calculation"]
    assert read_business_key(case_type, {"job_id": "a", "page": 3}) == {"job_id": "a", "page": 3}
    assert type(read_business_key(case_type, {"job_id": "a", "page": 3.0})["page"]) is int
    for value in (1.5, "3", True, float("inf"), float("nan"), 2**60):
        with pytest.raises(Refused):
            read_business_key(case_type, {"job_id": "a", "page": value})


def test_a_parameter_is_a_number_as_its_tool_takes_it(document):
    document["actions"][1]["params"]["total_cents"] = "integer"
    assert any("actions[1].params.total_cents" in problem and "integer" in problem for problem in problems(document))


def test_the_shipped_examples_count_in_whole_cents(document):
    types = {name: kind if isinstance(kind, str) else kind["type"]
             for row in document["vocabulary"]["defines"] for name, kind in row["args"].items()}
    assert {name for name, kind in types.items() if kind == "integer"} == {
        "unit_price_cents", "quantity", "shipping_cents", "cents", "subtotal_cents", "total_cents"}
    assert "number" not in types.values()
