"""The Constitution in law: what is forbidden, what a person decides first, and what an operation rests on.

Source: protocol/constitution.schema.json, docs/constitution.md.
"""

import copy
import json
from pathlib import Path

import pytest

from rulith.base.canonical import digest
from rulith.base.errors import Refused
from rulith.board.board import Board
from rulith.board.constitution import check_constitution, is_covered, merged_decision, read_constitution
from rulith.board.rests import shares
from rulith.board.shapes import Policy, Source, ToolLock

EXAMPLES = Path(__file__).parents[2] / "protocol" / "examples" / "constitution"
PIN = "a" * 64
ID = "acme.pay."


def literal(predicate, **args):
    return {"predicate": predicate, "args": args}


def action(name, **members):
    return {"id": name, "description": name, **members}


def pay() -> dict:
    """Salaries come from a database; a mail leaves through another Source; a Board Action notes what it likes."""
    person, root = {"person": "string"}, {"predicate": "case_key", "args": {"root": "?root", "name": "person", "value": "?person"}}
    return {
        "format": "rulith-capability/1", "id": "acme.pay", "version": "1.0.0", "title": "Pay",
        "vocabulary": {"defines": [
            {"id": ID + "salary", "as": "salary", "args": {**person, "amount": "number"}, "sources": ["db"]},
            {"id": ID + "yearly", "as": "yearly", "args": {**person, "amount": "number"}},
            {"id": ID + "opening", "as": "opening", "args": {**person, "text": "string"}, "sources": ["file"]},
            {"id": ID + "noted", "as": "noted", "args": {**person, "what": "string"}},
            {"id": ID + "rich", "as": "rich", "args": person},
            {"id": ID + "mailed", "as": "mailed", "args": person},
        ], "imports": [{"id": "case_key", "as": "case_key"}]},
        "rules": [{"id": "yearly", "when": [literal("salary", person="?p", amount="?a"), literal("mul", left="?a", right=12, result="?y")],
                   "then": [literal("yearly", person="?p", amount="?y")]},
                  {"id": "by_note", "when": [literal("noted", person="?p", what="rich")], "then": [literal("rich", person="?p")]},
                  {"id": "by_pay", "when": [literal("yearly", person="?p", amount="?y"), literal("gt", left="?y", right=1000)],
                   "then": [literal("rich", person="?p")]}],
        "acceptance": [{"id": "told", "when": [root, literal("mailed", person="?person")]}],
        "actions": [
            action("read_salary", tool="acme.salary@1", kind="read", source_types=["db"], params=person, preconditions=[root],
                   returns=[{"predicate": "salary", "args": {"person": "$person", "amount": "$amount"}}]),
            action("read_opening", tool="acme.opening@1", kind="read", source_types=["file"], params=person, preconditions=[root],
                   returns=[{"predicate": "opening", "args": {"person": "$person", "text": "$text"}}]),
            action("mail", tool="acme.mail@1", kind="run", source_types=["http"], params={**person, "text": "string"}, preconditions=[root],
                   effects=[literal("mailed", person="?person")], returns=[]),
            action("mail_rich", tool="acme.mail_rich@1", kind="run", source_types=["http"], params=person,
                   preconditions=[root, literal("rich", person="?person")], effects=[literal("mailed", person="?person")], returns=[],
                   decision={"kind": "a person reads it", "people": 1, "expires_s": 3600}),
            action("mail_note", tool="acme.mail_note@1", kind="run", source_types=["http"], params={**person, "what": "string"},
                   preconditions=[root, literal("noted", person="?person", what="?what")], effects=[literal("mailed", person="?person")], returns=[]),
            action("note_pay", params={**person, "amount": "number"},
                   preconditions=[root, literal("salary", person="?person", amount="?amount")],
                   effects=[literal("noted", person="?person", what="?amount")]),
        ],
        "case_types": {"pay": {"title": "Pay", "business_key": person, "floor": "asserted", "agent_rules": "rules_and_actions",
                               "task": [{"node": "told", "goal": "it is told", "acceptance": "told"}]}},
    }


def sources() -> list[Source]:
    def source(name, kind, *attests):
        return Source.of({"name": name, "type": kind, "access": "/", "connectionId": "conn_1", "tier": "attested", "attests": [ID + each for each in attests]})

    return [source("payroll", "db", "salary"), source("folder", "file", "opening"), source("mail", "http")]


def policy() -> Policy:
    tools = [each["tool"] for each in pay()["actions"] if "tool" in each]
    locks = {("conn_1", tool): ToolLock("conn_1", tool, PIN, {"id": tool, "digest": PIN}) for tool in tools}
    return Policy(tuple(sources()), locks, {"conn_1": {tool: PIN for tool in tools}}, 1)


PAYROLL_STAYS = {
    "id": "payroll_stays", "label": "nothing resting on the payroll may reach the mail Source",
    "when": [literal("proposed", action="?action"), literal("proposed_source", source="mail"), literal("rests_on", source="payroll")],
    "then": [literal("forbidden", action="?action", reason="it rests on the payroll")]}


def constitution(*rules, **members) -> dict:
    return {"format": "rulith-constitution/1", "version": "1.0.0", "title": "Law", "rules": list(rules), **members}


class Office:
    """A Board under the pay Capability, with what its Sources tell."""

    def __init__(self, new_play, *rules):
        self.play = new_play(pay())
        self.play.policy = policy()
        if rules:
            self.govern(*rules)

    def govern(self, *rules, **members):
        document = constitution(*rules, **members)
        return self.play.run("install_constitution", constitution=document, digest=digest(document))

    def open(self, person="ann"):
        return self.play.run("open_case", caseType="pay", businessKey={"person": person})

    def plan(self, case, name, source="mail", **args):
        given = {**args, "source": source} if source else args
        return self.play.board.plan_action(ID + name, given, case["root"], self.play.policy, focus=[case["caseId"]])

    def read(self, case, name, source, predicate, **values):
        plan = self.plan(case, name, source)
        facts = [{"predicate": ID + predicate, "args": {"person": plan.args["person"], **values}}]
        return self.play.receipt(plan, facts, source=next(each for each in sources() if each.name == source))

    def salary(self, case, amount=5000):
        return self.read(case, "read_salary", "payroll", "salary", amount=amount)

    def opening(self, case, text="the weather is fine"):
        return self.read(case, "read_opening", "folder", "opening", text=text)

    def note(self, case, op="apply_action", **args):
        if op == "apply_batch":
            return self.play.batch(case, {"op": "apply_action", "action": ID + "note_pay", "args": args})
        return self.play.run("apply_action", action=ID + "note_pay", args=args, focus=[case["caseId"]])

    def forbids(self, case, name, reason="", **args):
        with pytest.raises(Refused) as refused:
            self.plan(case, name, **args)
        assert refused.value.code == "governance_rejected" and reason in refused.value.facts["reason"], refused.value
        return refused.value


@pytest.fixture
def office(new_play):
    return Office(new_play, PAYROLL_STAYS)


@pytest.fixture
def lawless(new_play):
    return Office(new_play)


# --- the file --------------------------------------------------------------------------


@pytest.mark.parametrize("path", sorted(EXAMPLES.iterdir()), ids=lambda path: path.stem)
def test_the_shipped_examples_are_sound_and_named_by_their_canonical_digest(path):
    document = json.loads(path.read_text("utf-8"))
    found, problems = check_constitution(document)
    assert problems == [] and found.digest == digest(document) and found.examples


def example() -> dict:
    return json.loads((EXAMPLES / "two-people-for-writes.json").read_text("utf-8"))


#  what is changed                                                          where it is reported
MUTATIONS = [
    (lambda d: d.update(extra=1), "extra"),
    (lambda d: d.update(format="rulith-constitution/2"), "format"),
    (lambda d: d.pop("format"), "format"),
    (lambda d: d.update(version="1"), "version"),
    (lambda d: d.update(title=""), "title"),
    (lambda d: d.update(rules={}), "rules"),
    (lambda d: d["rules"].append(7), "rules[2]"),
    (lambda d: d["rules"].append(dict(d["rules"][0])), "rules[2].id"),
    (lambda d: d["rules"][0].pop("label"), "rules[0].label"),
    (lambda d: d["rules"][0].update(id="Write"), "rules[0].id"),
    (lambda d: d["rules"][0].update(surprise=1), "rules[0].surprise"),
    (lambda d: d["rules"][0]["when"].clear(), "rules[0].when"),
    (lambda d: d["rules"][0]["then"].clear(), "rules[0].then"),
    (lambda d: d["rules"][0]["when"][0].update(predicate="propsed"), "rules[0].when[0].predicate"),
    (lambda d: d["rules"][0]["when"][0]["args"].update(colour="?c"), "rules[0].when[0].args.colour"),
    (lambda d: d["rules"][0]["when"][0]["args"].update(kind="wirte"), "rules[0].when[0].args.kind"),
    (lambda d: d["rules"][0]["when"][0]["args"].update(op="apply"), "rules[0].when[0].args.op"),
    (lambda d: d["rules"][1]["when"][2]["args"].update(tier="firm"), "rules[1].when[2].args.tier"),
    (lambda d: d["rules"][0]["when"][0].update(negated=True), "rules[0].when[0].negated"),
    (lambda d: d["rules"][0]["when"].append(literal("gt", left=1, rigth=2)), "rules[0].when[1]"),
    (lambda d: d["rules"][0]["when"].append(literal("gt", left="?x", right=2)), "rules[0]"),
    (lambda d: d["rules"][0]["when"].append({"predicate": "forbidden", "args": {"action": "?action"}, "naf": True}) or
     d["rules"][0]["then"].append(literal("forbidden", action="?action", reason="r")), "rules"),
    (lambda d: d["rules"][0]["then"][0].update(predicate="proposed"), "rules[0].then[0].predicate"),
    (lambda d: d["rules"][0]["then"][0].update(predicate="Odd"), "rules[0].then[0].predicate"),
    (lambda d: d["rules"][0]["then"][0].update(negated=True), "rules[0].then[0].negated"),
    (lambda d: d["rules"][0]["then"][0].update(naf=True), "rules[0].then[0].naf"),
    (lambda d: d["rules"][0]["then"][0]["args"].pop("kind"), "rules[0].then[0].args"),
    (lambda d: d["rules"][0]["then"].append(literal("of_our_own", pRemise="x")), "rules[0].then[1].args"),
    (lambda d: d["rules"][0]["then"][0]["args"].update(kind=" "), "rules[0].then[0].args.kind"),
    (lambda d: d["rules"][1]["then"][0]["args"].update(reason="x" * 201), "rules[1].then[0].args.reason"),
    (lambda d: d["rules"][1]["then"][0]["args"].update(reason="safe\u202egnp.exe"), "rules[1].then[0].args.reason"),
    (lambda d: d["rules"][0]["then"][0]["args"].update(kind="two\u200bpeople"), "rules[0].then[0].args.kind"),
    (lambda d: d["rules"][0].update(label="a\u0007"), "rules[0].label"),
    (lambda d: d.update(title="a\u2066b"), "title"),
    (lambda d: d["rules"][1]["then"][0]["args"].update(reason="?nothing"), "rules[1]"),
    (lambda d: d["rules"][0]["then"][0]["args"].update(kind=None), "rules[0].then[0]"),
    (lambda d: d["rules"][0]["when"][0].update(args=7), "rules[0].when[0]"),
    (lambda d: d["examples"][0].pop("title"), "examples[0].title"),
    (lambda d: d["examples"][0]["given"][0].update(predicate="salary"), "examples[0].given[0].predicate"),
    (lambda d: d["examples"][0]["given"][0]["args"].pop("tool"), "examples[0].given[0].args"),
    (lambda d: d["examples"][0]["given"][0]["args"].update(tool="?t"), "examples[0].given[0]"),
    (lambda d: d["examples"][0]["follows"][0].update(predicate="allowed"), "examples[0].follows[0].predicate"),
    (lambda d: d["examples"][0]["follows"][0]["args"].update(kind="another"), "examples[0] (a write is held for a person)"),
    (lambda d: d["examples"][0]["never"][0].update(predicate="needs_decision"), "examples[0] (a write is held for a person)"),
]


@pytest.mark.parametrize("change,place", MUTATIONS, ids=[place for _, place in MUTATIONS])
def test_a_broken_file_names_the_place(change, place):
    document = example()
    change(document)
    found, problems = check_constitution(document)
    assert found is None and place in [each.place for each in problems], [each.text() for each in problems]


def test_every_error_is_found_at_once():
    document = example()
    for change, _ in (MUTATIONS[0], MUTATIONS[13], MUTATIONS[26], MUTATIONS[38]):
        change(document)
    with pytest.raises(Refused) as refused:
        read_constitution(document)
    assert refused.value.code == "constitution_invalid" and refused.value.facts["count"] == 4
    for place in ("extra", "rules[0].when[0].predicate", "rules[0].then[0].args", "examples[0].given[0].predicate"):
        assert f"{place}: " in refused.value.facts["listing"]


@pytest.mark.parametrize("document", [None, 7, "text", [], {}, {"rules": [[[]]]}, {"rules": [{"then": [{"predicate": []}]}], "examples": [3]}])
def test_what_is_no_constitution_is_said_to_be_none(document):
    found, problems = check_constitution(document)
    assert found is None and problems


# --- verdicts --------------------------------------------------------------------------


def test_without_a_constitution_nothing_is_forbidden(lawless):
    case = lawless.open()
    lawless.salary(case)
    assert lawless.plan(case, "mail", text="you earn 5000").decision is None


def test_a_forbidden_action_names_reason_and_rule(office):
    case = office.open()
    office.salary(case)
    refused = office.forbids(case, "mail_rich", "it rests on the payroll")
    assert refused.facts["rule"] == "payroll_stays" and "payroll_stays" in refused.teaching


def test_what_it_allows_goes_on(office):
    case = office.open()
    office.opening(case)
    assert office.plan(case, "mail", text="the weather is fine").args["text"] == "the weather is fine"
    assert office.plan(case, "read_salary", "payroll").source_record_id == "payroll"


def asks(kind, *, rule="asks", of="mail"):
    return {"id": rule, "label": rule, "when": [literal("proposed", action=ID + of)], "then": [literal("needs_decision", action=ID + of, kind=kind)]}


def test_a_decision_is_added_to_an_action_that_asks_for_none(new_play):
    office = Office(new_play, asks("read it"))
    plan = office.plan(office.open(), "mail", text="hello")
    assert plan.decision == {"kind": "read it", "kinds": ["read it"], "people": 1, "expiresS": 7 * 86_400}
    assert plan.record()["decision"] == plan.decision


def test_decisions_are_merged_kinds_in_order_most_people_least_time(new_play):
    office = Office(new_play, asks("two_people", of="mail_rich"), asks("look twice", rule="again", of="mail_rich"))
    case = office.open()
    office.play.batch(case, {"op": "assert_fact", "predicate": ID + "noted", "args": {"person": "ann", "what": "rich"}})
    assert office.plan(case, "mail_rich").decision == {
        "kind": "a person reads it, two_people, look twice", "kinds": ["a person reads it", "two_people", "look twice"], "people": 2, "expiresS": 3600}


def test_deny_wins_over_a_decision(new_play):
    office = Office(new_play, asks("read it"), {**PAYROLL_STAYS, "when": [literal("proposed", action="?action")]})
    office.forbids(office.open(), "mail", text="hello")


def test_a_verdict_about_another_action_is_none(new_play):
    office = Office(new_play, {"id": "other", "label": "other", "when": [literal("proposed")], "then": [literal("forbidden", action="acme.other", reason="no")]})
    assert office.plan(office.open(), "mail", text="hello")


def test_every_word_of_a_proposal_can_be_read(new_play):
    office = Office(new_play, {
        "id": "all", "label": "all", "then": [literal("forbidden", action="?action", reason="?who")],
        "when": [literal("proposed", op="ApplyAction", action="?action", tool="acme.mail@1", kind="run"),
                 literal("proposed_arg", name="text", value="hello"), literal("proposed_source", source="mail"),
                 literal("rests_on", premise="the argument text", source="", tier="asserted"), literal("case", type="pay", root="?root"),
                 literal("agent", id="agt_1"), literal("concat", left="root ", right="?root", result="?who")]})
    case = office.open()
    office.forbids(case, "mail", f"root {case['root']}", text="hello")


def test_a_text_that_reads_as_a_variable_is_a_text_like_any_other(new_play):
    says = {"id": "says", "label": "says", "when": [literal("proposed", action="?action"), literal("proposed_arg", name="text", value="?text")],
            "then": [literal("needs_decision", action="?action", kind="?text")]}
    office = Office(new_play, says)
    assert office.plan(office.open(), "mail", text="?why").decision["kind"] == "'?why"


def test_a_cover_is_the_same_kinds_and_as_many_people():
    one, two = {"kind": "a", "people": 1, "expiresS": 9}, merged_decision({"kind": "a", "people": 1, "expiresS": 9}, ("two_people",), 7)
    assert is_covered(None, None) and is_covered(None, one) and is_covered(one, one) and is_covered(one, two)
    assert not is_covered(one, None) and not is_covered(two, one) and not is_covered({**one, "people": 2}, one)


# --- fail closed -----------------------------------------------------------------------


def test_an_evaluation_that_fails_forbids(new_play):
    """concat over a fraction is an error of the engine."""
    office = Office(new_play, {
        "id": "odd", "label": "odd", "then": [literal("odd", text="?t")],
        "when": [literal("rests_on", premise="the argument text"), literal("proposed_arg", value="?v"), literal("div", left=7, right=2, result="?half"),
                 literal("concat", left="?half", right="?v", result="?t")]})
    refused = office.forbids(office.open(), "mail", "it could not be evaluated", text="hello")
    assert refused.facts["rule"] == "none"


def test_an_exhausted_budget_forbids(new_play):
    pairs = [literal("rests_on", premise=f"?p{n}") for n in range(4)]
    office = Office(new_play, {"id": "wide", "label": "wide", "when": pairs, "then": [literal("wide", a="?p0", b="?p1", c="?p2", d="?p3")]})
    case = office.open()
    assert office.plan(case, "mail", text="hello")
    office.play.batch(case, *({"op": "assert_fact", "predicate": ID + "noted", "args": {"person": "ann", "what": f"w{n}"}} for n in range(40)))
    office.play.batch(case, {"op": "add_axiom", "id": "many", "when": [literal(ID + "noted", person="?p", what="?w")], "then": [literal(ID + "rich", person="?p")]})
    office.forbids(case, "mail_rich", "it could not be evaluated")


def test_more_premises_than_are_judged_forbid(new_play, monkeypatch):
    office = Office(new_play, PAYROLL_STAYS)
    case = office.open()
    office.opening(case)
    monkeypatch.setattr("rulith.board.constitution.RESTS_MAX", 1)
    office.forbids(case, "mail", "it could not be evaluated", text="the weather is fine")


def test_beyond_the_matches_that_are_followed_everything_told_counts(office, monkeypatch):
    case = office.open()
    office.salary(case)
    assert office.plan(case, "mail", text="hello")
    monkeypatch.setattr("rulith.board.rests.MATCHES_MAX", 0)
    office.play.batch(case, {"op": "assert_fact", "predicate": ID + "noted", "args": {"person": "ann", "what": "rich"}})
    office.forbids(case, "mail_rich")


def test_beyond_the_facts_that_are_compared_everything_told_counts(office, monkeypatch):
    case = office.open()
    office.salary(case)
    assert office.plan(case, "mail", text="hello")
    monkeypatch.setattr("rulith.board.rests.FACTS_MAX", 1)
    office.forbids(case, "mail", text="hello")


def test_a_refused_command_leaves_what_is_known_of_sources(office):
    case = office.open()
    office.salary(case)
    state = office.play.board.state
    before = (dict(state.sourced), dict(state.told))
    with pytest.raises(Refused):
        office.play.run("several", commands=[
            {"kind": "close_case", "root": case["root"], "disposition": "cancelled", "reason": "x", "obligations": []},
            {"kind": "focus_case", "caseId": "nothing"}])
    assert (dict(state.sourced), dict(state.told)) == before == ({ID + "salary": 1}, {})


# --- what an operation rests on --------------------------------------------------------


def test_a_conclusion_rests_on_every_proof_it_has_and_not_only_the_stored_one(office):
    """`rich` follows from the Agent's note first; the payroll is behind it all the same."""
    case = office.open()
    office.play.batch(case, {"op": "assert_fact", "predicate": ID + "noted", "args": {"person": "ann", "what": "rich"}})
    assert office.plan(case, "mail_rich")
    office.salary(case)
    office.forbids(case, "mail_rich")


def test_a_value_that_the_model_typed_counts_as_told(office):
    case = office.open()
    office.salary(case, 5000)
    for text in ("5000", "Ann earns 5000 a month", "ANN: 60000"):
        office.forbids(case, "mail", text=text)
    for text in ("15000", "50001 things", "nothing of it"):
        assert office.plan(case, "mail", text=text)


def test_a_value_of_a_text_counts_as_part_of_it(new_play):
    stays = copy.deepcopy(PAYROLL_STAYS)
    stays["when"][2]["args"]["source"] = "folder"
    office = Office(new_play, stays)
    case = office.open()
    office.opening(case, "Bob was let go on Monday")
    office.forbids(case, "mail", text="bob was let go")
    office.forbids(case, "mail", text="Monday")
    assert office.plan(case, "mail", text="Tuesday")


def test_a_business_key_that_was_there_before_is_no_telling(office):
    case = office.open("ann")
    office.salary(case)
    assert office.plan(case, "mail", text="hello ann")


def test_a_business_key_that_a_source_told_first_is_told(office):
    """A Case opened under a salary launders nothing."""
    office.salary(office.open("ann"), 5000)
    second = office.open("5000")
    office.forbids(second, "mail", text="5000")


def test_an_assertion_of_the_model_is_looked_up_like_an_argument(office):
    case = office.open()
    office.salary(case, 5000)
    office.play.batch(case, {"op": "assert_fact", "predicate": ID + "noted", "args": {"person": "ann", "what": "it is 5000"}})
    office.forbids(case, "mail_note")


@pytest.mark.parametrize("way", ["rule", "rule over a fact", "action"])
def test_a_value_that_the_model_wrote_into_a_rule_or_an_action_is_looked_up_too(office, way):
    case = office.open()
    office.salary(case, 5000)
    head = literal(ID + "noted", person="ann", what="it is 5000")
    if way == "action":
        office.play.batch(case, {"op": "define_action", "action": "jot", "effects": [head]}, {"op": "apply_action", "action": "jot"})
    else:
        body = [literal("hint")] if way == "rule over a fact" else []
        office.play.batch(case, {"op": "assert_fact", "predicate": "hint"}, {"op": "add_axiom", "when": body, "then": [head]})
    office.forbids(case, "mail_note")


def test_what_an_action_brings_about_carries_its_sources(new_play):
    office = Office(new_play)
    case = office.open()
    office.salary(case)
    made = office.note(case)["nodeIds"][0]
    assert office.play.board.state.facts[made].by["restsOn"] == [["payroll", "attested"]]
    office.govern(PAYROLL_STAYS)
    office.forbids(case, "mail_note")


def test_what_a_source_told_stays_told_when_its_fact_is_gone(office):
    case = office.open()
    office.salary(case, 4321)
    office.play.run("close_case", root=case["root"], disposition="cancelled", reason="not now", obligations=[])
    again = office.open()
    assert not office.play.holds(ID + "salary", person="ann")
    office.forbids(again, "mail", text="4321")
    assert office.play.refold().state.told == office.play.board.state.told


def test_beyond_what_is_remembered_one_by_one_a_source_counts_for_every_word(office, monkeypatch):
    monkeypatch.setattr("rulith.board.state.TOLD_MAX", 0)
    case = office.open()
    office.salary(case, 4321)
    office.play.run("close_case", root=case["root"], disposition="cancelled", reason="not now", obligations=[])
    assert list(office.play.board.state.told) == [None]
    office.forbids(office.open(), "mail", text="hello")


def test_what_a_worker_reports_rests_on_what_its_call_rested_on(new_play):
    office = Office(new_play)
    case = office.open()
    office.salary(case, 5000)
    plan = office.plan(case, "mail", text="5000")
    assert plan.record()["restsOn"] == [["payroll", "attested"]]
    office.play.receipt(plan, [], source=next(each for each in sources() if each.name == "mail"))
    mailed = next(fact for fact in office.play.board.state.facts.values() if fact.atom.predicate == ID + "mailed")
    assert mailed.by["restsOn"] == [["mail", "attested"], ["payroll", "attested"]]


@pytest.mark.parametrize("left,right,answer", [
    (5000, 5000, True), (5000, 5000.0, True), (True, True, False), (1, True, False), ("a", "a", True), ("Ann", "ANN", True), (12, "12 apples", False),
    (123, "room 123", True), (123, "1234", False), ("ann", "joanna", False), ("ann", "(ann)", True), ("ann lee", "to Ann Lee!", True), (7, 8, False),
    ("", "x", False), ("-5", "x -5 y", False), (2.5, "2.5 kg", True), (2.5, "12.5 kg", False),
])
def test_when_two_values_share(left, right, answer):
    assert shares(left, right) is answer and shares(right, left) is answer


# --- hostile ---------------------------------------------------------------------------


def test_an_agent_that_states_the_words_of_a_proposal_changes_nothing(office):
    case = office.open()
    office.salary(case)
    words = ["forbidden", "needs_decision", "proposed", "proposed_arg", "proposed_source", "rests_on", "case", "agent", "allowed"]
    office.play.batch(case, *({"op": "assert_fact", "predicate": word, "args": {"action": ID + "mail", "source": "folder"}} for word in words))
    office.play.batch(case, {"op": "add_axiom", "when": [literal("proposed", action="?a")], "then": [{"predicate": "forbidden", "args": {"action": "?a"}, "negated": True}]})
    office.forbids(case, "mail_rich")
    assert office.plan(case, "mail", text="hello")


NO_NOTES = {"id": "no_notes", "label": "no notes", "when": [literal("proposed", action="?action", kind="board", tool=""), literal("case", type="pay")],
            "then": [literal("forbidden", action="?action", reason="notes are not taken")]}


@pytest.mark.parametrize("op", ["apply_action", "apply_batch"])
def test_a_board_action_is_judged_in_a_call_and_in_a_batch(new_play, op):
    office = Office(new_play, NO_NOTES)
    case = office.open()
    office.salary(case)
    before = office.play.board.closure_digest()
    with pytest.raises(Refused) as refused:
        office.note(case, op)
    assert refused.value.code == "governance_rejected" and office.play.board.closure_digest() == before


def test_a_rule_may_tell_the_two_ways_apart(new_play):
    office = Office(new_play, {**NO_NOTES, "when": [literal("proposed", action="?action", op="ApplyBatch")]})
    case = office.open()
    office.salary(case)
    with pytest.raises(Refused):
        office.note(case, "apply_batch")
    assert office.note(case)["ok"]


def test_a_board_action_that_needs_a_decision_is_refused(new_play):
    office = Office(new_play, asks("think", of="note_pay"))
    case = office.open()
    office.salary(case)
    with pytest.raises(Refused) as refused:
        office.note(case)
    assert refused.value.code == "governance_rejected" and "think" in refused.value.facts["reason"]


def test_an_action_of_the_agents_own_is_judged_too(new_play):
    office = Office(new_play, {"id": "own", "label": "own", "when": [literal("proposed", action="?action", kind="board"), literal("case", type="exploration")],
                               "then": [literal("forbidden", action="?action", reason="no")]})
    case = office.play.explore()
    office.play.batch(case, {"op": "define_action", "action": "copy", "effects": [literal("copied")]})
    for operation in ("apply_action", "apply_batch"):
        with pytest.raises(Refused) as refused:
            if operation == "apply_batch":
                office.play.batch(case, {"op": "apply_action", "action": "copy"})
            else:
                office.play.run("apply_action", action="copy", focus=[case["caseId"]])
        assert refused.value.code == "governance_rejected"


def test_a_direct_action_is_judged_by_what_its_arguments_share(office):
    """A Tool that is locked without a Capability is no way around: what it is given is the model's word."""
    case = office.open()
    office.salary(case, 5000)
    known = policy()
    tool = {"id": "acme.post@1", "digest": PIN, "kind": "read", "sourceTypes": ["http"], "params": {"text": "string"},
            "returns": [{"predicate": "posted", "args": {"text": "$text"}}]}
    mail = Source.of({**sources()[2].record(), "attests": ["posted"]})
    office.play.policy = Policy((*sources()[:2], mail), {**known.locks, ("conn_1", "acme.post@1"): ToolLock("conn_1", "acme.post@1", PIN, tool)},
                                {"conn_1": {**known.live["conn_1"], "acme.post@1": PIN}}, 2)

    def post(text):
        return office.play.board.plan_action("acme.post", {"text": text, "source": "mail"}, case["root"], office.play.policy, focus=[case["caseId"]])

    assert post("hello").tool == "acme.post@1"
    with pytest.raises(Refused) as refused:
        post("Ann: 5000")
    assert refused.value.code == "governance_rejected" and refused.value.facts["rule"] == "payroll_stays"


def test_what_was_planned_before_is_judged_by_what_is_in_force_now(new_play):
    """The gateway plans again before it dispatches; here the second plan."""
    office = Office(new_play)
    case = office.open()
    office.salary(case)
    first = office.plan(case, "mail_rich")
    office.govern(PAYROLL_STAYS)
    office.forbids(case, "mail_rich")
    office.govern(asks("two_people", of="mail_rich"), version="1.0.1")
    assert not is_covered(office.plan(case, "mail_rich").decision, first.decision)


# --- installing ------------------------------------------------------------------------


def test_another_text_than_the_digest_names_is_refused(lawless):
    document = constitution(PAYROLL_STAYS)
    with pytest.raises(Refused) as refused:
        lawless.play.run("install_constitution", constitution=document, digest="sha256:" + "0" * 64)
    assert refused.value.code == "constitution_not_as_shown" and lawless.play.board.state.constitution is None


def test_rows_under_a_constitution_fold_to_the_same_board(office):
    case = office.open()
    office.salary(case)
    office.note(case)
    office.govern(NO_NOTES, version="2.0.0")
    folded: Board = office.play.refold()
    assert folded.closure_digest() == office.play.board.closure_digest()
    assert folded.state.constitution.digest == office.play.board.state.constitution.digest
    assert {key: fact.by for key, fact in folded.state.facts.items()} == {key: fact.by for key, fact in office.play.board.state.facts.items()}
