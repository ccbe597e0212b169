"""`rulith capability draft`: law proposed from Cases that took the same path. Duty: issue "Receipts"."""

from __future__ import annotations

import copy
import json

import pytest

from rulith.base.errors import Refused
from rulith.board.capability_check import check_capability
from rulith.board.draft import draft
from rulith.commands import capability
from rulith.commands.capability_draft import proposed
from rulith.gateway.signing import Signer
from tests.receipts.office import SEED, Office, fact, literal, orders_capability, paid_order
from tests.receipts.test_verify import sums_capability


@pytest.fixture(scope="module")
def two() -> tuple[dict, dict]:
    office, first = paid_order()
    return first, paid_order(office, "A-2", 4000)[1]


def sound(document: dict):
    release, problems = check_capability(document)
    assert not problems, [each.text() for each in problems]
    return release


def saved(tmp_path, *documents: dict) -> list[str]:
    paths = []
    for number, document in enumerate(documents):
        paths.append(str(tmp_path / f"{number}.json"))
        (tmp_path / f"{number}.json").write_text(json.dumps(document))
    return paths


def test_two_cases_of_one_path_become_a_sound_capability_with_their_replay_as_examples(two):
    found = draft(two, "acme.drafted")
    release = sound(found)
    assert list(release.actions) == ["acme.drafted.read", "acme.drafted.check", "acme.drafted.pay"]
    assert found["case_types"]["order_draft"]["drive"] == ["read", "check", "pay"]
    assert [each["title"].startswith("replay of case_") for each in found["examples"]] == [True, True]
    assert {"predicate": "share", "args": {"order": "A-1", "part": 500}} in found["examples"][0]["follows"]
    assert release.actions["acme.drafted.pay"].decision == {"kind": "approve the payment", "people": 2, "expiresS": 604800}


def test_the_draft_does_the_same_job_again(two):
    """Installed beside nothing else, the same Case closes certified under it."""
    capability = draft(two, "acme.drafted")
    office = Office(capability)
    office.people("ann", "bob")
    case = office.open("order_draft", order="A-7")
    office.act(case, "acme.drafted.read", fact("acme.drafted.line", order="A-7", item="nut", cents=2000), order="A-7")
    office.say(case, "acme.drafted.approved", order="A-7")
    office.batch(case, {"op": "assert_fact", "predicate": "acme.drafted.blocked", "args": {"order": "A-7", "why": "fraud"}, "negated": True})
    office.board("apply_action", action="acme.drafted.check", args={}, focus=[case["caseId"]])
    ordinal = office.ask(case, "acme.drafted.pay", order="A-7")
    office.approve(ordinal, "ann", "bob")
    office.run(ordinal)
    assert office.close(case)["case"]["certified"]


def test_rules_that_an_absence_asks_for_come_along_and_unused_ones_stay(two):
    """`held` concluded nothing here, and `clear` means nothing without it."""
    capability = orders_capability()
    capability["rules"].append({"id": "unused", "when": [literal("line", order="?o"), literal("gt", left=1, right=2)], "then": [literal("large", order="?o")]})
    capability["vocabulary"]["defines"].append({"id": "acme.orders.other", "as": "other", "args": {"order": "string"}})
    capability["rules"].append({"id": "elsewhere", "when": [literal("line", order="?o")], "then": [literal("other", order="?o")]})
    names = [row["id"] for row in draft([paid_order(Office(capability))[1]], "acme.drafted")["rules"]]
    assert {"large", "held", "blocked", "share", "clear", "unused"} == set(names) and "elsewhere" not in names


def test_totals_are_drafted_as_totals():
    office = Office(sums_capability())
    case = office.open("sums", batch="A")
    office.act(case, "acme.sums.read", *[fact("acme.sums.line", batch="A", item=f"i{n}", cents=10 * n) for n in range(1, 4)], batch="A")
    found = draft([office.close(case)], "acme.drafted")
    sound(found)
    assert [row["id"] for row in found["aggregates"]] == ["total", "most"]
    assert {"predicate": "total", "args": {"batch": "A", "cents": 60}} in found["examples"][0]["follows"]


def explored(office: Office, name: str, limit: int = 2, extra: bool = False) -> dict:
    case = office.open("exploration")
    office.batch(case, {"op": "assert_fact", "predicate": "score", "args": {"who": name, "points": 3}},
                 {"op": "define_action", "action": "greet", "label": "Greet whoever scored.", "preconditions": [literal("score", who=name)], "effects": [literal("greeted", who=name)]},
                 {"op": "add_axiom", "label": "enough is good", "when": [literal("score", who=name, points="?p"), literal("gt", left="?p", right=limit)],
                  "then": [literal("good", who=name)]},
                 {"op": "declare_goal", "label": "it is good", "desired": [literal("good", who=name)]})
    if extra:
        office.board("apply_action", action="greet", args={}, focus=[case["caseId"]])
    return office.close(case)


def test_explorations_become_rules_over_what_differed_between_them():
    """Whoever it was about is the business key of the draft."""
    office = Office(orders_capability())
    found = draft([explored(office, "ann", extra=True), explored(office, "bob", extra=True)], "acme.scores")
    sound(found)
    assert found["case_types"]["exploration_draft"]["business_key"] == {"who": "string"}
    assert found["rules"][0]["then"] == [{"predicate": "good", "args": {"who": "?who"}}]
    assert found["acceptance"][0]["when"][0] == {"predicate": "case_key", "args": {"root": "?root", "name": "who", "value": "?who"}}
    assert found["actions"][0]["id"] == "greet" and found["pins"] == ["good"]
    assert [each["given"][0]["args"]["who"] for each in found["examples"]] == ["ann", "bob"]


def test_a_tool_that_was_used_without_a_capability_becomes_an_action_bound_to_the_key():
    """What its Source told stays the Source's to say."""
    tool = {"id": "shop.count@1", "kind": "read", "sourceTypes": ["file"], "params": {"sku": "string"},
            "returns": [{"predicate": "stock", "args": {"sku": "$sku", "units": "$units"}}]}
    office = Office(tools=(tool,))
    documents = []
    for sku in ("bolt", "nut"):
        case = office.open("exploration")
        office.batch(case, {"op": "add_axiom", "label": "few", "when": [literal("stock", sku=sku, units="?n"), literal("lt", left="?n", right=100)], "then": [literal("order", sku=sku)]},
                     {"op": "declare_goal", "label": "it is known", "desired": [literal("order", sku=sku)]})
        office.act(case, "shop.count", fact("stock", sku=sku, units=7), sku=sku)
        documents.append(office.close(case))
    found = draft(documents, "acme.stock")
    release = sound(found)
    assert release.actions["acme.stock.count"].tool == "shop.count@1"
    assert found["actions"][0]["preconditions"] == [{"predicate": "case_key", "args": {"root": "?root", "name": "sku", "value": "?sku"}}]
    assert release.predicates["acme.stock.stock"].sources == ("file",) and release.protected["acme.stock.stock"] == "source"
    assert found["case_types"]["exploration_draft"]["drive"] == ["count"]


def test_other_paths_are_refused_with_their_first_difference(two):
    office = Office(orders_capability())
    with pytest.raises(Refused) as refused:
        draft([explored(office, "ann"), explored(office, "bob", limit=1)], "acme.scores")
    assert refused.value.code == "draft_paths_differ" and "enough is good" in refused.value.happened
    with pytest.raises(Refused) as refused:
        draft([explored(office, "ann"), explored(office, "bob", extra=True)], "acme.scores")
    assert "the Action greet" in refused.value.happened
    with pytest.raises(Refused) as refused:
        draft([two[0], explored(office, "ann")], "acme.scores")
    assert "step 1" in refused.value.happened and "Case Type order" in refused.value.happened


def test_a_case_that_did_not_end_well_shows_no_path():
    office = Office(orders_capability())
    document = office.close(office.open("order", order="A-1"), "cancelled")
    with pytest.raises(Refused) as refused:
        draft([document], "acme.drafted")
    assert refused.value.code == "draft_case_unusable"


def test_the_command_prints_a_file_that_check_accepts(two, tmp_path, capsys):
    assert capability.main(["draft", *saved(tmp_path, *two), "--id=acme.drafted"]) == 0
    path = tmp_path / "draft.json"
    path.write_text(capsys.readouterr().out)
    assert capability.main(["check", str(path)]) == 0 and "acme.drafted 0.1.0" in capsys.readouterr().out
    assert capability.main(["test", str(path)]) == 0 and capsys.readouterr().out.count("holds") == 2


def test_an_altered_receipt_is_no_model(two, tmp_path, capsys):
    changed = copy.deepcopy(two[0])
    changed["facts"][0]["tier"] = "verified"
    unsigned = {name: value for name, value in changed.items() if name != "signature"}
    words = saved(tmp_path, Signer(SEED).sign_document(unsigned))
    with pytest.raises(Refused) as refused:
        proposed(words, None, None)
    assert refused.value.code == "draft_receipt_altered"
    assert capability.main(["draft", *words]) == 1 and "does not hold together" in capsys.readouterr().err


def test_what_is_no_receipt_and_no_case_is_refused(tmp_path, capsys):
    (tmp_path / "x.json").write_text("{}")
    assert capability.main(["draft", str(tmp_path / "x.json")]) == 1 and "no Terminal Receipt" in capsys.readouterr().err
    assert capability.main(["draft", "case_0123456789", "--home", str(tmp_path / "none")]) == 1 and "no gateway yet" in capsys.readouterr().err
    assert capability.main(["draft", str(tmp_path / "absent.json")]) == 1
