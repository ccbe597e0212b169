"""Live aggregates: always what a recomputation gives, with proof and tier, and never silent about an overflow.

Source: design §4, "Aggregates"; docs/capability.md, "Aggregates".
"""

import copy
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rulith.base.canonical import canonical_text, digest
from rulith.base.errors import Refused
from rulith.base.limits import INTEGER_MAX
from rulith.board.capability_check import check_capability
from rulith.board.differences import capability_changes
from rulith.board.rests import rests_of
from rulith.board.shapes import Policy, Source, ToolLock
from rulith.board.totals import folded
from rulith.rules.terms import Atom

ID = "acme.orders."


def literal(predicate, **args):
    return {"predicate": predicate, "args": args}


def orders(**changes) -> dict:
    """Lines of orders: summed per order, counted, and the sums summed again."""
    line, per_order = {"order": "string", "line": "string", "amount": "number", "kind": "string"}, {"order": "string", "amount": "number"}
    root = {"predicate": "case_key", "args": {"root": "?root", "name": "order", "value": "?order"}}

    def total(name, kind, source, into, **members):
        source_arg = {"valueArg": "amount"} if kind != "count" else {}
        return {"id": name, "label": f"{kind} of {source}", "kind": kind, "source": {"predicate": source, **source_arg},
                "into": {"predicate": into, "valueArg": "amount"}, **members}

    document = {
        "format": "rulith-capability/1", "id": "acme.orders", "version": "1.0.0", "title": "Orders",
        "vocabulary": {"defines": [
            {"id": ID + "line", "as": "line", "args": line, "sources": ["file"]},
            {"id": ID + "agreed", "as": "agreed", "args": per_order},
            *({"id": ID + name, "as": name, "args": per_order} for name in ("subtotal", "goods", "fees", "most", "least", "mean")),
            {"id": ID + "grand", "as": "grand", "args": {"amount": "number"}},
            {"id": ID + "orders", "as": "orders", "args": {"amount": "integer"}},
            {"id": ID + "large", "as": "large", "args": {"order": "string"}},
        ], "imports": [{"id": "case_key", "as": "case_key"}]},
        "rules": [{"id": "large", "when": [literal("subtotal", order="?o", amount="?a"), literal("gt", left="?a", right=100)], "then": [literal("large", order="?o")]}],
        "acceptance": [{"id": "agreed", "when": [root, literal("subtotal", order="?order", amount="?a"), literal("agreed", order="?order", amount="?a")]}],
        "actions": [
            {"id": "read", "description": "read", "tool": "acme.read@1", "kind": "read", "source_types": ["file"], "params": {"order": "string"},
             "preconditions": [root], "returns": [{"predicate": "line", "args": {"order": "$order", "line": "$line", "amount": "$amount", "kind": "$kind"}}]},
            {"id": "drop", "description": "drop", "params": {"order": "string", "line": "string"},
             "preconditions": [root, literal("line", order="?order", line="?line", amount="?amount", kind="?kind")],
             "effects": [{**literal("line", order="?order", line="?line", amount="?amount", kind="?kind"), "negated": True}]},
        ],
        "aggregates": [
            total("grand", "sum", "subtotal", "grand"),
            total("subtotal", "sum", "line", "subtotal", group_by="order"),
            total("goods", "sum", "line", "goods", group_by="order", where={"arg": "kind", "equals": "good"}),
            total("fees", "count", "line", "fees", group_by="order", where={"arg": "kind", "equals": "fee"}),
            total("most", "max", "line", "most", group_by="order"), total("least", "min", "line", "least", group_by="order"),
            total("mean", "avg", "line", "mean", group_by="order"),
            total("orders", "count", "subtotal", "orders"),
        ],
        "case_types": {"order": {"title": "Order", "business_key": {"order": "string"}, "floor": "attested", "agent_rules": "rules_and_actions",
                                 "task": [{"node": "agreed", "goal": "the total is agreed", "acceptance": "agreed"}]}},
        "examples": [{"title": "two lines", "given": [literal("line", order="a", line="1", amount=3, kind="good"), literal("line", order="a", line="2", amount=4, kind="fee")],
                      "follows": [literal("subtotal", order="a", amount=7), literal("fees", order="a", amount=1), literal("grand", amount=7), literal("mean", order="a", amount=3.5)],
                      "never": [literal("large", order="a")]}],
    }
    return {**document, **changes}


def unprotected() -> dict:
    """The same, with lines that an Agent may state itself."""
    document = orders()
    document["actions"] = [{**document["actions"][1], "id": "drop"}]
    document["case_types"]["order"]["floor"] = "asserted"
    return document


class Book:
    def __init__(self, new_play, document) -> None:
        self.play = new_play(document)
        self.play.policy = Policy()
        self.case = self.play.run("open_case", caseType="order", businessKey={"order": "a"})

    def add(self, *lines, **options):
        return self.play.batch(self.case, *({"op": "assert_fact", "id": f"l{line}-{order}", "predicate": ID + "line",
                                             "args": {"order": order, "line": line, "amount": amount, "kind": options.get("kind", "good")}}
                                            for order, line, amount in lines))

    def drop(self, *names):
        return self.play.batch(self.case, *({"op": "retract_node", "nodeId": name} for name in names))

    def shown(self, name) -> list:
        return sorted(tuple(value for _, value in sorted(atom.args, key=lambda each: each[0] == "amount")) for atom in self.play.board.state.program.facts(ID + name))

    def proof(self, name, **args):
        return self.play.board.proof({"predicate": ID + name, "args": args})


@pytest.fixture
def book(new_play):
    return Book(new_play, unprotected())


# --- what follows ----------------------------------------------------------------------


def test_totals_come_and_go_with_their_members(book):
    book.add(("a", "1", 3), ("a", "2", 4), ("b", "1", 10))
    assert book.shown("subtotal") == [("a", 7), ("b", 10)] and book.shown("grand") == [(17,)] and book.shown("orders") == [(2,)]
    book.add(("a", "3", 100))
    assert book.shown("subtotal") == [("a", 107), ("b", 10)] and book.shown("grand") == [(117,)] and book.shown("large") == [("a",)]
    book.drop("l3-a", "l1-b")
    assert book.shown("subtotal") == [("a", 7)] and book.shown("grand") == [(7,)] and book.shown("large") == [] and book.shown("orders") == [(1,)]
    book.drop("l1-a", "l2-a")
    assert all(book.shown(name) == [] for name in ("subtotal", "grand", "orders", "mean", "most"))


def test_filters_kinds_and_groups(book):
    book.add(("a", "1", 3), ("a", "2", 4))
    book.add(("a", "3", 20), ("b", "1", 1), kind="fee")
    assert book.shown("goods") == [("a", 7)] and book.shown("fees") == [("a", 1), ("b", 1)]
    assert book.shown("most") == [("a", 20), ("b", 1)] and book.shown("least") == [("a", 3), ("b", 1)] and book.shown("mean") == [("a", 9), ("b", 1)]


def test_the_proof_names_the_row_and_every_member(book):
    book.add(("a", "1", 3), ("a", "2", 4))
    tree = book.proof("grand", amount=7)
    assert tree["by"] == {"kind": "rule", "id": "acme.orders@1.0.0/aggregate/grand", "label": "sum of subtotal", "law": True,
                          "release": digest(unprotected())}
    assert tree["computed"] == [{"op": "sum", "members": 1, "result": 7}]
    below = tree["premises"][0]
    assert below["by"]["id"] == "acme.orders@1.0.0/aggregate/subtotal" and [each["id"] for each in below["premises"]] == ["l1-a", "l2-a"]
    assert tree["tier"] == "asserted" and below["premises"][0].get("witness") and tree["id"] == "derived:" + ID + "grand|amount:7"
    assert book.play.board.proof(tree["id"])["text"] == tree["text"]


def test_an_operation_that_rests_on_a_total_rests_on_its_members(book):
    book.add(("a", "1", 3), ("a", "2", 4))
    state = book.play.board.state
    found = rests_of(state, state.cases[book.case["caseId"]], [Atom.of(ID + "grand", {"amount": 7})], {})
    assert {each.premise for each in found} == {fact.atom.text() for fact in state.facts.values() if fact.atom.predicate == ID + "line"}


def test_a_view_shows_totals_as_derived(book):
    book.add(("a", "1", 3))
    nodes = book.play.view(book.case, bytes_max=None)["nodes"]
    node = next(each for each in nodes if each["predicate"] == ID + "subtotal")
    assert node["origin"] == "derived" and node["by"] == "acme.orders@1.0.0/aggregate/subtotal" and node["tier"] == "asserted"


def test_a_rounded_total_is_approximate_and_says_so(book):
    book.add(("a", "1", 0.1), ("a", "2", 0.2))
    tree = book.proof("subtotal", order="a", amount=0.1 + 0.2)
    assert tree["computed"] == [{"op": "sum", "members": 2, "result": 0.1 + 0.2, "rounded": True}]
    book.add(("b", "1", 0.25), ("b", "2", 0.5))
    assert "rounded" not in book.proof("subtotal", order="b", amount=0.75)["computed"][0]


def test_tiers_follow_the_weakest_member(new_play):
    """The lines of a Source are attested; a weaker one among them is the witness."""
    play = new_play(orders())
    made = {tier: Source.of({"name": tier, "type": "file", "access": "/", "connectionId": "conn_1", "tier": tier, "attests": ["*"]}) for tier in ("attested", "perceived")}
    play.policy = Policy(tuple(made.values()), {("conn_1", "acme.read@1"): ToolLock("conn_1", "acme.read@1", "a" * 64, {"id": "acme.read@1"})}, {"conn_1": {"acme.read@1": "a" * 64}}, 1)
    case = play.run("open_case", caseType="order", businessKey={"order": "a"})

    def read(tier, line, amount):
        plan = play.board.plan_action(ID + "read", {"source": tier}, case["root"], play.policy, focus=[case["caseId"]])
        play.receipt(plan, [{"predicate": ID + "line", "args": {"order": "a", "line": line, "amount": amount, "kind": "good"}}], source=made[tier])

    read("attested", "1", 3)
    assert play.board.proof({"predicate": ID + "subtotal", "args": {"order": "a", "amount": 3}})["tier"] == "attested"
    read("perceived", "2", 4)
    tree = play.board.proof({"predicate": ID + "grand", "args": {"amount": 7}})
    assert tree["tier"] == "perceived" and tree["premises"][0]["premises"][1]["witness"]
    read("attested", "2", 4)
    assert play.board.proof({"predicate": ID + "grand", "args": {"amount": 7}})["tier"] == "attested"
    play.run("apply_action", action=ID + "drop", args={"line": "2"}, focus=[case["caseId"]])
    assert play.holds(ID + "subtotal", order="a", amount=3)
    with pytest.raises(Refused) as refused:
        play.batch(case, {"op": "assert_fact", "predicate": ID + "subtotal", "args": {"order": "a", "amount": 9}})
    assert refused.value.code == "attested_predicate"
    assert play.refold().closure_digest() == play.board.closure_digest()


def test_what_an_agent_derived_over_a_total_is_pinned_and_withdrawn_when_the_total_moves(book):
    book.add(("a", "1", 3), ("b", "1", 4))
    pin = {"op": "derive_aggregate", "id": "pinned", "kind": "max", "source": {"predicate": ID + "subtotal", "valueArg": "amount"}, "into": {"predicate": "largest", "valueArg": "amount"}}
    book.play.batch(book.case, pin)
    assert book.play.holds("largest", amount=4)
    answer = book.add(("c", "1", 1))
    assert not book.play.holds("largest", amount=4) and "aggregate pinned was withdrawn" in answer["warnings"][0]
    book.play.batch(book.case, pin)
    answer = book.drop("l1-a")
    assert not book.play.holds("largest", amount=4) and "aggregate pinned was withdrawn" in answer["warnings"][0]
    assert book.play.refold().closure_digest() == book.play.board.closure_digest()


# --- no exact place --------------------------------------------------------------------


def gap(book):
    return book.play.view(book.case, bytes_max=None)["gaps"][0]


def test_an_overflow_that_leaves_the_goal_open_names_rule_and_operands(book):
    book.add(("a", "1", INTEGER_MAX), ("a", "2", 1))
    assert book.shown("subtotal") == [] and book.shown("fees") == [] and book.shown("most") == [("a", INTEGER_MAX)]
    found = gap(book)
    assert found["kind"] == "arithmetic_exact" and found["rule"] == "acme.orders@1.0.0/aggregate/subtotal" and found["ruleLabel"] == "sum of line"
    assert found["operands"] == {"op": "add", "left": 1, "right": INTEGER_MAX} and "refuses rather than rounds" in found["text"]
    why = book.play.board.why_not({"predicate": ID + "subtotal", "args": {"order": "a", "amount": "?a"}})
    assert why["lacks"][0]["missing"][0]["reason"] == "arithmetic_exact"
    book.add(("a", "3", -5))        # the sum has an exact place again, whatever a partial one would be
    assert book.shown("subtotal") == [("a", INTEGER_MAX - 4)]
    assert gap(book)["kind"] != "arithmetic_exact"


def test_a_total_over_a_failed_total_leads_down_to_it(new_play):
    document = unprotected()
    document["acceptance"][0]["when"][1] = literal("grand", amount="?a")
    book = Book(new_play, document)
    book.add(("a", "1", INTEGER_MAX), ("a", "2", 1))
    assert gap(book)["kind"] == "arithmetic_exact" and gap(book)["operands"] == {"op": "add", "left": 1, "right": INTEGER_MAX}
    assert gap(book)["rule"] == "acme.orders@1.0.0/aggregate/subtotal"


def test_without_a_member_the_gap_asks_for_one(book):
    found = gap(book)
    assert found["kind"] == "leaf_gap" and ID + "line(" in found["missing"][0]


def test_a_member_without_a_number_makes_no_total(book):
    book.play.batch(book.case, {"op": "assert_fact", "predicate": ID + "line", "args": {"order": "a", "line": "1", "amount": "much", "kind": "good"}})
    assert book.shown("subtotal") == []
    assert ID + "line(" in gap(book)["text"] or "much" in gap(book)["text"]
    assert book.shown("fees") == []


# --- certification ---------------------------------------------------------------------


def agree(book, amount):
    return book.play.batch(book.case, {"op": "assert_fact", "predicate": ID + "agreed", "args": {"order": "a", "amount": amount}})


def certified(book):
    return book.play.board.is_certified(book.case["caseId"])


def test_a_case_is_certified_by_a_total_and_closes_with_its_proof(book):
    book.add(("a", "1", 3), ("a", "2", 4))
    agree(book, 7)
    assert certified(book)
    book.add(("a", "3", 1))
    assert not certified(book)
    book.drop("l3-a")
    assert book.play.run("close_case", root=book.case["root"], obligations=[])["certified"]
    tree = book.play.board.case_detail(book.case["caseId"])["conclusions"][0]
    text = [each["text"] for each in tree["premises"]]
    assert f"{ID}subtotal(amount=7, order=a)" in text
    assert book.play.refold().closure_digest() == book.play.board.closure_digest()


def test_lines_that_an_agents_rule_concludes_do_not_count_for_the_law(book):
    book.add(("a", "1", 3))
    agree(book, 7)
    book.play.batch(book.case, {"op": "add_axiom", "id": "more", "when": [literal("hint", order="?o", more="?m")],
                                "then": [literal(ID + "line", order="?o", line="9", amount="?m", kind="good")]},
                    {"op": "assert_fact", "predicate": "hint", "args": {"order": "a", "more": 4}})
    assert book.shown("subtotal") == [("a", 7)]
    assert not certified(book)                     # by law alone the total is 3
    agree(book, 3)
    assert book.shown("subtotal") == [("a", 7)] and certified(book)         # by law alone, and so says the proof
    leaf = book.play.board.proof({"predicate": "acceptance_met", "args": {"node": f"{book.case['root']}/agreed"}})
    assert f"{ID}subtotal(amount=3, order=a)" in [each["text"] for each in leaf["premises"]]
    book.play.batch(book.case, {"op": "retract_node", "nodeId": "more"})
    assert book.shown("subtotal") == [("a", 3)] and certified(book)


def test_a_contradicted_member_certifies_nothing(book):
    book.add(("a", "1", 3), ("a", "2", 4))
    agree(book, 7)
    assert certified(book)
    book.play.batch(book.case, {"op": "assert_fact", "predicate": ID + "line", "args": {"order": "a", "line": "2", "amount": 4, "kind": "good"}, "negated": True})
    assert not certified(book)
    node = next(each for each in book.play.view(book.case, bytes_max=None)["nodes"] if each["predicate"] == ID + "subtotal")
    assert node["disputed"]


# --- refused ---------------------------------------------------------------------------


def test_an_agent_cannot_close_a_circle_through_a_total(book):
    before = book.play.board.closure_digest()
    with pytest.raises(Refused) as refused:
        book.play.batch(book.case, {"op": "add_axiom", "when": [literal(ID + "subtotal", order="?o", amount="?a")],
                                    "then": [literal(ID + "line", order="?o", line="sum", amount="?a", kind="good")]})
    assert refused.value.code == "NOT_STRATIFIABLE" and book.play.board.closure_digest() == before
    book.add(("a", "1", 3))
    assert book.shown("subtotal") == [("a", 3)]


@pytest.mark.parametrize("operation", [
    {"op": "assert_fact", "predicate": ID + "subtotal", "args": {"order": "a", "amount": 1}},
    {"op": "add_axiom", "when": [], "then": [literal(ID + "grand", amount=1)]},
    {"op": "define_action", "action": "cheat", "effects": [literal(ID + "grand", amount=1)]},
    {"op": "derive_aggregate", "source": {"predicate": ID + "line", "valueArg": "amount"}, "into": {"predicate": ID + "grand", "valueArg": "amount"}},
    {"op": "retract_node", "nodeId": "acme.orders@1.0.0/aggregate/subtotal"},
    {"op": "retract_node", "nodeId": "derived:" + ID + "grand|amount:3"},
])
def test_nobody_writes_a_total(book, operation):
    book.add(("a", "1", 3))
    with pytest.raises(Refused) as refused:
        book.play.batch(book.case, operation)
    assert refused.value.code in ("attested_predicate", "goalpost_moved")
    assert book.shown("grand") == [(3,)]


def test_more_members_than_a_proof_holds_refuse_the_batch(book, monkeypatch):
    monkeypatch.setattr("rulith.board.totals.MEMBERS_MAX", 3)
    book.add(("a", "1", 1), ("a", "2", 1), ("a", "3", 1))
    with pytest.raises(Refused) as refused:
        book.add(("a", "4", 1))
    assert refused.value.code == "resource_limit" and book.shown("subtotal") == [("a", 3)]
    monkeypatch.setattr("rulith.board.totals.GROUPS_MAX", 1)
    with pytest.raises(Refused):
        book.add(("b", "1", 1))
    assert book.shown("grand") == [(3,)]


def test_a_refused_batch_leaves_the_totals_as_they_were(book):
    book.add(("a", "1", 1))
    before = (dict(book.play.board.state.totals), book.play.board.closure_digest())
    with pytest.raises(Refused):
        book.play.batch(book.case, {"op": "assert_fact", "predicate": ID + "line", "args": {"order": "a", "line": "2", "amount": 5, "kind": "good"}},
                        {"op": "retract_node", "nodeId": "nothing"})
    assert (dict(book.play.board.state.totals), book.play.board.closure_digest()) == before
    book.add(("a", "2", 2))
    assert book.shown("grand") == [(3,)]


def test_another_release_takes_its_totals_with_it(book):
    book.add(("a", "1", 3))
    book.play.run("close_case", root=book.case["root"], disposition="cancelled", reason="upgrade", obligations=[])
    document = {**unprotected(), "version": "2.0.0"}
    document["aggregates"] = [row for row in document["aggregates"] if row["id"] == "subtotal"]
    del document["examples"]
    book.play.run("install_capability", capability=document, digest=digest(document))
    assert book.shown("subtotal") == [("a", 3)] and book.shown("grand") == []
    assert book.proof("subtotal", order="a", amount=3)["by"]["id"] == "acme.orders@2.0.0/aggregate/subtotal"
    assert book.play.refold().closure_digest() == book.play.board.closure_digest()


# --- the file --------------------------------------------------------------------------


#  what is changed                                                                        where it is reported
BROKEN = [
    (lambda rows: rows[1].update(kind="median"), "aggregates[1].kind"),
    (lambda rows: rows[1].update(surprise=1), "aggregates[1].surprise"),
    (lambda rows: rows[1].pop("into"), "aggregates[1].into"),
    (lambda rows: rows[1]["source"].update(predicate="lines"), "aggregates[1].source.predicate"),
    (lambda rows: rows[1]["source"].update(predicate="case_key"), "aggregates[1].source.predicate"),
    (lambda rows: rows[1]["source"].update(valueArg="kind"), "aggregates[1].source.valueArg"),
    (lambda rows: rows[1]["source"].pop("valueArg"), "aggregates[1].source.valueArg"),
    (lambda rows: rows[1]["into"].update(valueArg="order"), "aggregates[1].into.valueArg"),
    (lambda rows: rows[1].update(group_by="line"), "aggregates[1].into.predicate"),
    (lambda rows: rows[1].update(group_by="nothing"), "aggregates[1].group_by"),
    (lambda rows: rows[1].pop("group_by"), "aggregates[1].into.predicate"),
    (lambda rows: rows[1].update(group_by="amount"), "aggregates[1].group_by"),
    (lambda rows: rows[2]["where"].update(arg="sort"), "aggregates[2].where.arg"),
    (lambda rows: rows[2]["where"].update(equals=7.5, arg="line"), None),
    (lambda rows: rows[2]["where"].update(equals=True), "aggregates[2].where.equals"),
    (lambda rows: rows[2]["where"].update(equals=None), "aggregates[2].where.equals"),
    (lambda rows: rows[2]["where"].update(equals="?kind"), "aggregates[2].where.equals"),
    (lambda rows: rows[2]["into"].update(predicate="subtotal"), "aggregates[2].into.predicate"),
    (lambda rows: rows[1]["into"].update(predicate="large"), "aggregates[1].into.valueArg"),
    (lambda rows: rows[3].update(id="goods"), "aggregates[3].id"),
    (lambda rows: rows[7].update(kind="avg", source={"predicate": "subtotal", "valueArg": "amount"}), "aggregates[7].into.valueArg"),
    (lambda rows: rows.append(7), "aggregates[8]"),
    (lambda rows: rows[0]["source"].update(predicate="grand"), "aggregates"),
]


@pytest.mark.parametrize("change,place", BROKEN, ids=[str(index) for index, _ in enumerate(BROKEN)])
def test_a_broken_row_names_its_place(change, place):
    document = orders()
    change(document["aggregates"])
    release, problems = check_capability(document)
    if place is None:
        assert problems == []
    else:
        assert release is None and place in [each.place for each in problems], [each.text() for each in problems]


def test_a_rule_or_an_action_that_concludes_a_total_is_refused():
    document = orders()
    document["rules"].append({"id": "cheat", "when": [literal("line", order="?o", line="?l", amount="?a", kind="?k")], "then": [literal("subtotal", order="?o", amount="?a")]})
    document["actions"][1]["effects"].append(literal("grand", amount=1))
    places = [each.place for each in check_capability(document)[1]]
    assert "aggregates[1].into.predicate" in places and "aggregates[0].into.predicate" in places


def test_the_examples_are_run_over_totals():
    document = orders()
    document["examples"][0]["follows"][0]["args"]["amount"] = 8
    problems = check_capability(document)[1]
    assert len(problems) == 1 and "subtotal(amount=8, order=a) does not follow; of that predicate there is acme.orders.subtotal(amount=7, order=a)" in problems[0].problem


# --- always equal to a recomputation ---------------------------------------------------


@pytest.mark.parametrize("kind,values,answer", [
    ("sum", [1, 2, 3], (6, True)), ("sum", [INTEGER_MAX, 1, -1], (INTEGER_MAX, True)), ("sum", [INTEGER_MAX, 1], (None, False)),
    ("sum", [0.1, 0.2], (0.1 + 0.2, False)), ("sum", [0.5, 0.5], (1, True)), ("sum", [1e300, 1], (None, False)), ("avg", [1, 2], (1.5, True)),
    ("avg", [1, 1, 2], (4 / 3, False)), ("avg", [0.25, 0.75], (0.5, True)), ("min", [3, -1.5], (-1.5, True)), ("max", [3, -1.5], (3, True)), ("avg", [7], (7, True)),
])
def test_one_fold(kind, values, answer):
    assert folded(kind, values) == answer


AMOUNTS = st.one_of(st.integers(-50, 50), st.sampled_from([INTEGER_MAX, -INTEGER_MAX, INTEGER_MAX - 1, 0.5, 2.25, "many"]))
STEPS = st.lists(st.one_of(st.tuples(st.just("add"), st.sampled_from("ab"), st.sampled_from("123"), AMOUNTS, st.sampled_from(["good", "fee"])),
                           st.tuples(st.just("drop"), st.integers(0, 9))), min_size=1, max_size=12)


def recomputed(lines: dict) -> dict:
    """What the rows should conclude, worked out from nothing: {predicate: {group: value}}."""
    found: dict = {name: {} for name in ("subtotal", "goods", "fees", "most", "least", "mean", "grand", "orders")}
    for order in {each[0] for each in lines.values()}:
        own = [each for each in lines.values() if each[0] == order]
        for name, kept in (("subtotal", own), ("goods", [each for each in own if each[3] == "good"]), ("most", own), ("least", own), ("mean", own)):
            values = [each[2] for each in kept]
            if not values or not all(isinstance(value, (int, float)) for value in values):
                continue
            exact = sum(map(Fraction, values))
            value = {"most": max(values), "least": min(values), "mean": exact / len(values)}.get(name, exact)
            partial, leaves = 0, False
            for each in sorted(kept, key=lambda each: canonical_text({"amount": each[2], "kind": each[3], "line": each[1], "order": each[0]})):
                partial += each[2]
                leaves = leaves or abs(partial) > INTEGER_MAX
            fractional = name in ("subtotal", "goods", "mean") and not all(isinstance(each, int) for each in values)
            if fractional:
                value = partial / len(values) if name == "mean" else partial
            lost = fractional and value == 0 != exact          # rounded to nothing
            if abs(value) <= INTEGER_MAX and not (fractional and leaves) and not lost:
                found[name][order] = value
        fees = [each for each in own if each[3] == "fee"]
        if fees:
            found["fees"][order] = len(fees)
    subtotals = list(found["subtotal"].values())
    if subtotals:
        found["orders"][None] = len(subtotals)
        if abs(sum(subtotals)) <= INTEGER_MAX:
            found["grand"][None] = sum(subtotals)
    return found


@given(STEPS)
@settings(max_examples=60, deadline=None, derandomize=True)
def test_totals_equal_a_recomputation_whatever_comes_and_goes(new_play_of, steps):
    book = Book(new_play_of, unprotected())
    lines: dict = {}
    for step in steps:
        if step[0] == "add":
            _, order, line, amount, kind = step
            name = book.add((order, f"{line}{len(lines)}{len(book.play.rows)}", amount), kind=kind)["nodeIds"][0]
            lines[name] = (order, book.play.board.state.facts[name].atom.arguments["line"], amount, kind)
        elif lines:
            name = sorted(lines)[step[1] % len(lines)]
            book.drop(name)
            del lines[name]
        wanted = recomputed(lines)
        for predicate, groups in wanted.items():
            shown = {(row[0] if len(row) == 2 else None): row[-1] for row in book.shown(predicate)}
            assert {group: float(value) for group, value in shown.items()} == {group: float(value) for group, value in groups.items()}, predicate
    folded_again = book.play.refold()
    assert folded_again.closure_digest() == book.play.board.closure_digest()
    assert folded_again.state.totals == book.play.board.state.totals and folded_again.state.failing == book.play.board.state.failing


@pytest.fixture(scope="module")
def new_play_of():
    import importlib.util
    from pathlib import Path

    spec = importlib.util.spec_from_file_location("play_of_totals", Path(__file__).with_name("conftest.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Play


def test_a_changed_row_shows_in_the_difference():
    after = orders()
    after["aggregates"][1]["kind"] = "max"
    changes = [each for each in capability_changes(orders(), after)]
    assert [(each.part, each.name, each.change) for each in changes] == [("aggregate", "subtotal", "changed")]
    assert ("-", "kind sum") in changes[0].lines and ("+", "kind max") in changes[0].lines


def test_the_document_is_not_changed_by_its_reader():
    document = orders()
    before = copy.deepcopy(document)
    check_capability(document)
    assert document == before
