"""`rulith explain`: trees with visible cuts, and every premise under whoever said it."""

from __future__ import annotations

import json

import pytest

from rulith.commands import explain
from tests.receipts.office import Office, literal, orders_capability, paid_order


@pytest.fixture(scope="module")
def paid(tmp_path_factory) -> str:
    path = tmp_path_factory.mktemp("explain") / "r.json"
    path.write_text(json.dumps(paid_order()[1]))
    return str(path)


def told(capsys, *words: str) -> str:
    assert explain.main(words) == 0
    return capsys.readouterr().out


def test_a_tree_shows_rules_sums_speakers_and_the_weakest_premise(paid, capsys):
    shown = told(capsys, paid)
    for words in ("by the rule “nothing holds it”", "1500 ÷ 3 = 500, exactly", "reported by acme.read@1 from the Source books", "← weakest premise",
                  "waited for: approve the payment (2)", "decided acme.orders.pay: approve the payment (2 people): ann approved, bob approved", "as shown above"):
        assert words in shown, words


def test_every_premise_stands_under_whoever_said_it(paid, capsys):
    rests = told(capsys, paid).split("What it rests on:")[1]
    assert "asserted by the Agent\n    not acme.orders.blocked(order=A-1, why=fraud) [asserted]" in rests
    assert "effect of acme.orders.pay, resting on the Source books\n    acme.orders.paid(order=A-1) [attested]" in rests


def test_a_cut_is_said(paid, capsys):
    shown = told(capsys, paid, "--depth=1")
    assert "… 1 premise below, not shown" in shown and "acme.orders.line(" not in shown.split("What it rests on:")[0]


def test_a_long_tree_says_how_much_is_left_out(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(explain, "LINES_MAX", 5)
    monkeypatch.setattr(explain, "SPEAKER_LINES_MAX", 1)
    office = Office(orders_capability())
    case = office.open("exploration")
    office.batch(case, *({"op": "assert_fact", "predicate": "p", "args": {"x": number}} for number in range(12)),
                 {"op": "add_axiom", "id": "r", "when": [literal("p", x=number) for number in range(12)], "then": [literal("all", of=12)]},
                 {"op": "declare_goal", "desired": [literal("all", of=12)]})
    path = tmp_path / "r.json"
    path.write_text(json.dumps(office.close(case)))
    shown = told(capsys, str(path))
    assert "8 more lines of this proof, not shown" in shown and "… 11 more, not shown" in shown and "exploratory" in shown


@pytest.mark.parametrize("words", [["a", "--depth"], ["a", "--depth", "0"], ["a", "--depth=x"], ["a", "--depth", "65"]])
def test_a_depth_is_a_small_whole_number(words, capsys):
    assert explain.main(words) == 2
    assert "--help" in capsys.readouterr().err
