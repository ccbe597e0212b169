"""Capability files: every error at once with its place, examples run, and what a Release protects."""

import copy
import json

import pytest

from rulith.base.canonical import digest
from rulith.base.errors import Refused
from rulith.board.capability_check import check_capability, read_release


@pytest.fixture
def document(play):
    return copy.deepcopy(dict(play.board.state.releases["rulith.verified_calculation"].document))


def places(document):
    return [problem.place for problem in check_capability(document)[1]]


def test_the_example_is_sound_and_named_by_its_canonical_digest(document):
    release, problems = check_capability(document)
    assert problems == [] and release.digest == digest(document)
    reordered = json.loads(json.dumps(dict(reversed(document.items()))))
    assert read_release(reordered).digest == release.digest


def test_a_file_without_format_reads_as_version_one(document):
    del document["format"]
    assert check_capability(document)[1] == []


@pytest.mark.parametrize("name, said", [("A B", "is named by 2 to 64 of"), ("exploration", "is the Board's own")])
def test_a_case_type_that_cannot_be_named_so_is_told_why(document, name, said):
    document["case_types"][name] = document["case_types"]["verified_calculation"]
    assert any(problem.place == f"case_types.{name}" and said in problem.problem for problem in check_capability(document)[1])


def test_every_error_is_found_at_once_with_its_place(document):
    document["extra"] = 1
    document["pins"].append("nothing")
    document["rules"][0]["when"][0]["args"]["colour"] = "?c"
    document["rules"][1]["then"][0]["predicate"] = "case_key"
    document["acceptance"][0]["when"].pop(0)
    document["actions"][0]["returns"][0]["args"].pop("quantity")
    document["actions"][1]["effects"][0]["args"]["job_id"] = "?unbound"
    document["case_types"]["verified_calculation"]["drive"].append("fly")
    document["case_types"]["verified_calculation"]["task"][0]["acceptance"] = "none"
    found = places(document)
    for place in ("extra", "pins[2]", "rules[0].when[0].args.colour", "rules[1].then[0].predicate",
                  "acceptance[0].when", "actions[0].returns[0].args", "actions[1].effects[0]",
                  "case_types.verified_calculation.drive[3]", "case_types.verified_calculation.task[0].acceptance"):
        assert place in found
    with pytest.raises(Refused) as refused:
        read_release(document)
    assert refused.value.code == "capability_invalid" and refused.value.facts["count"] == len(found)


UNSEEN = "safe\u202egnp.exe\u0007\u200b"


@pytest.mark.parametrize("place, put", [
    ("title", lambda d, words: d.update(title=words)), ("summary", lambda d, words: d.update(summary=words)),
    ("rules[0].label", lambda d, words: d["rules"][0].update(label=words)), ("acceptance[0].label", lambda d, words: d["acceptance"][0].update(label=words)),
    ("actions[0].description", lambda d, words: d["actions"][0].update(description=words)),
    ("actions[2].decision.kind", lambda d, words: d["actions"][2]["decision"].update(kind=words)),
    ("case_types.verified_calculation.title", lambda d, words: d["case_types"]["verified_calculation"].update(title=words)),
    ("case_types.verified_calculation.task[0].goal", lambda d, words: d["case_types"]["verified_calculation"]["task"][0].update(goal=words)),
    ("vocabulary.defines[0].args.quantity.unit", lambda d, words: d["vocabulary"]["defines"][0]["args"].update(quantity={"type": "integer", "unit": words})),
    ("examples[0].title", lambda d, words: d["examples"][0].update(title=words)),
])
def test_words_that_people_read_hold_nothing_that_does_not_show(document, place, put):
    put(document, UNSEEN)
    assert f"{place}: its letter 5 is U+202E, which does not show" in [each.text() for each in check_capability(document)[1]]
    put(document, "Prüfung “α” – 確認 №1 naïve")
    assert place not in places(document)


@pytest.mark.parametrize("letter", ["\n", "\t", "\x7f", "\u0085", "\u200d", "\u2066", "\u2028", "\ufeff", "\U000e0041"])
def test_no_control_or_format_letter_stands_in_a_title(document, letter):
    document["title"] = f"a{letter}b"
    assert [each.text() for each in check_capability(document)[1]] == [f"title: its letter 2 is U+{ord(letter):04X}, which does not show"]


@pytest.mark.parametrize("member", ["title", "business_key", "floor", "task"])
def test_a_member_that_a_case_type_lacks_is_told_once(document, member):
    document["case_types"]["verified_calculation"].pop(member)
    assert [each.text() for each in check_capability(document)[1]] == [f"case_types.verified_calculation.{member}: it is missing"]


def test_an_action_s_arguments_have_the_units_of_what_they_are_bound_to(play, document):
    state, write = play.board.state, "rulith.verified_calculation.write_output"
    assert state.argument_units(write) == {"subtotal_cents": "cents", "total_cents": "cents"}
    assert state.argument_units("nothing") == {} == state.argument_units("rulith.verified_calculation.read_input")
    document["actions"][1]["params"]["total_cents"] = {"type": "number", "unit": "euro cents"}
    problems = check_capability(document)[1]
    assert problems == [], "a parameter may name its own unit"


#  what is changed                                                        where it is reported
MUTATIONS = [
    (lambda d: d.update(id="Verified"), "id"),
    (lambda d: d.update(version="1"), "version"),
    (lambda d: d.update(format="rulith-capability/2"), "format"),
    (lambda d: d.pop("title"), "title"),
    (lambda d: d["vocabulary"]["defines"][0].update(id="other.input"), "vocabulary.defines[0].id"),
    (lambda d: d["vocabulary"]["defines"][0].update({"as": "mul"}), "vocabulary.defines[0].as"),
    (lambda d: d["vocabulary"]["defines"][0].update({"as": "total"}), "vocabulary.defines[2].as"),
    (lambda d: d["vocabulary"]["defines"][0]["args"].update(x="text"), "vocabulary.defines[0].args.x"),
    (lambda d: d["vocabulary"]["defines"][0]["args"].update(x={"type": "number", "units": "m"}), "vocabulary.defines[0].args.x.units"),
    (lambda d: d["vocabulary"]["defines"][0].update(sources=["disk"]), "vocabulary.defines[0].sources[0]"),
    (lambda d: d["vocabulary"]["imports"].append({"id": "made_up", "as": "made_up"}), "vocabulary.imports[3].id"),
    (lambda d: d["rules"].append(dict(d["rules"][0])), "rules[2].id"),
    (lambda d: d["rules"][0]["then"].clear(), "rules[0].then"),
    (lambda d: d["rules"][0]["then"][0]["args"].pop("cents"), "rules[0].then[0].args"),
    (lambda d: d["rules"][0]["when"][0]["args"].update(quantity=True), "rules[0].when[0].args.quantity"),
    (lambda d: d["rules"][0]["when"].pop(0), "rules[0]"),
    (lambda d: d["rules"][0]["when"].append({"predicate": "total", "args": {"job_id": "?job_id"}, "naf": True}), "rules"),
    (lambda d: d["actions"][0].update(kind="delete"), "actions[0].kind"),
    (lambda d: d["actions"][0].update(tool="read_input"), "actions[0].tool"),
    (lambda d: d["actions"][0]["params"].update(source="string"), "actions[0].params.source"),
    (lambda d: d["actions"][0]["returns"][0].update(predicate="total"), "actions[0].returns[0].args"),
    (lambda d: d["actions"][0]["returns"][0]["args"].update(quantity="7"), "actions[0].returns[0].args.quantity"),
    (lambda d: d["actions"][0].update(source_types=["db"]), "actions[0].returns[0].predicate"),
    (lambda d: d["actions"][0].pop("tool"), "actions[0].kind"),
    (lambda d: d["actions"][2]["decision"].update(people=0), "actions[2].decision.people"),
    (lambda d: d["actions"][2]["decision"].update(people=True), "actions[2].decision.people"),
    (lambda d: d["actions"][2]["decision"].update(expires_s=0), "actions[2].decision.expires_s"),
    (lambda d: d["actions"][1]["effects"].append({"predicate": "total", "args": {"job_id": "?job_id", "cents": 1}}), "pins"),
    (lambda d: d["case_types"].update(exploration=d["case_types"]["verified_calculation"]), "case_types.exploration"),
    (lambda d: d["case_types"]["verified_calculation"].update(floor="gold"), "case_types.verified_calculation.floor"),
    (lambda d: d["case_types"]["verified_calculation"].update(agent_rules="all"), "case_types.verified_calculation.agent_rules"),
    (lambda d: d["case_types"]["verified_calculation"].update(business_key={}), "case_types.verified_calculation.business_key"),
    (lambda d: d["case_types"]["verified_calculation"]["task"].clear(), "case_types.verified_calculation.task"),
    (lambda d: d["aggregates"].append({"into": "total"}), "aggregates[0].source"),
    (lambda d: d["examples"][0]["follows"].append({"predicate": "total", "args": {"job_id": "calc-001", "cents": 1}}), "examples[0] (seven at 12.99 and 5.00 shipping)"),
    (lambda d: d["examples"][0]["never"].append({"predicate": "total", "args": {"job_id": "calc-001"}}), "examples[0] (seven at 12.99 and 5.00 shipping)"),
]


@pytest.mark.parametrize("mutate, place", MUTATIONS, ids=[place for _, place in MUTATIONS])
def test_each_kind_of_error_names_its_place(document, mutate, place):
    mutate(document)
    assert place in places(document)


@pytest.mark.parametrize("value", [None, [], "text", 7, {}, {"id": {}}, {"vocabulary": []}, {"rules": {}, "actions": 5, "examples": [None]},
                                   {"id": "a.b", "version": "1.0.0", "title": "t", "vocabulary": {"defines": [None, {"id": 5}]},
                                    "case_types": {"x y": None}, "rules": [{"when": [{"predicate": 5}]}], "acceptance": [[]]}])
def test_no_shape_of_nonsense_is_read_or_crashes_the_reader(value):
    release, problems = check_capability(value)
    assert release is None and problems


# --- installing ------------------------------------------------------------------------


def test_installing_the_same_release_again_changes_nothing(play, document):
    before = play.board.state.generation
    play.run("install_capability", capability=document, digest=digest(document))
    assert play.board.state.generation == before


def test_an_upgrade_waits_until_no_case_of_the_old_release_is_open(play, document):
    case = play.open()
    document["version"] = "1.0.1"
    answer = play.run("install_capability", capability=document, digest=digest(document))
    assert answer["waits"] == [case["caseId"]] and answer["opens"] == [] and play.board.releases()[0]["version"] == "1.0.0"
    play.run("close_case", root=case["root"], disposition="abandoned", reason="upgrade")
    assert play.open("calc-002")["opened"] and play.board.releases()[0]["version"] == "1.0.1"
    assert play.refold().closure_digest() == play.board.closure_digest()


def test_a_digest_that_is_not_the_files_is_refused(play, document):
    with pytest.raises(Refused) as refused:
        play.run("install_capability", capability=document, digest="sha256:" + "0" * 64)
    assert refused.value.code == "release_conflict"


def test_two_capabilities_do_not_share_a_case_type_or_a_namespace(play, document):
    text = json.dumps(document).replace("rulith.verified_calculation", "demo.other")
    other = json.loads(text)
    with pytest.raises(Refused) as refused:
        play.run("install_capability", capability=other, digest=digest(other))
    assert refused.value.code == "release_conflict" and "Case Type" in refused.value.teaching
    other["case_types"] = {"third": other["case_types"]["verified_calculation"]}
    for literal in (each for action in other["actions"] for each in action["preconditions"] if each["predicate"] == "case_context"):
        literal["args"]["case_type"] = "third"
    play.run("install_capability", capability=other, digest=digest(other))
    case = play.run("open_case", caseType="third", businessKey={"job_id": "x"})
    assert case["drive"][0] == "demo.other.read_input"


def test_a_capability_is_not_installed_over_what_an_agent_already_claims(play, document):
    case = play.explore()
    play.batch(case, {"op": "assert_fact", "predicate": "demo.other.total", "args": {"job_id": "x", "cents": 1}})
    other = json.loads(json.dumps(document).replace("rulith.verified_calculation", "demo.other"))
    other["case_types"] = {}
    with pytest.raises(Refused) as refused:
        play.run("install_capability", capability=other, digest=digest(other))
    assert refused.value.code == "release_conflict" and "asserted" in refused.value.teaching


def test_an_action_that_waits_for_a_case_type_nobody_can_open_is_an_error(document):
    """Renaming a Case Type and forgetting one precondition would leave that Action blocked for ever, without a word."""
    document["case_types"] = {"mine": document["case_types"]["verified_calculation"]}
    _, problems = check_capability(document)
    assert [each.place for each in problems] == ["actions[1].preconditions[0].args.case_type", "actions[2].preconditions[0].args.case_type"]
    assert "'verified_calculation' is no Case Type of this file (mine)" in problems[0].problem
    document["case_types"] = {}
    assert check_capability(document)[1] == []        # a file without Case Types serves those of others


def test_a_failed_example_says_what_follows_instead(document):
    document["examples"][0]["follows"][1]["args"]["cents"] = 9594
    _, problems = check_capability(document)
    assert "total(cents=9594, job_id=calc-001) does not follow; of that predicate there is rulith.verified_calculation.total(cents=9593, job_id=calc-001)" in problems[0].problem
