"""`rulith capability from-document`: a model drafts, the checker judges; and the checker by itself.

Source  the workbench surface, "Document assistant"
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from rulith.base.errors import Refused
from rulith.board.authoring import SourceDocument, check_draft, is_ready, proposal_digest
from rulith.board.capability_check import check_capability
from rulith.commands import capability, capability_document
from rulith.disk.home import Home
from rulith.disk.profiles import create_profile, write_role_env
from tests.conftest import ROOT
from tests.workbench.draft_model import DOCUMENT, DraftModel, draft

pytestmark = pytest.mark.timeout(120)
SOURCE = SourceDocument("travel.md", DOCUMENT.encode())


def without(part, name):
    found = draft()
    del found[part][name]
    return found


def cited(**changes):
    found = draft()
    found["citations"][0] = {**found["citations"][0], **changes}
    return found


# the law


def test_a_sound_draft_says_how_much_was_looked_at_and_where_each_citation_stands():
    checked = check_draft(draft(), SOURCE)
    report = checked.report
    assert (report["compiled"], report["examples"]["passed"], report["citations"]["verified"], report["externalActions"]) == (True, 2, 2, [])
    assert [DOCUMENT[place["start"]:place["end"]] for place in checked.places] == [row["quote"] for row in draft()["citations"]]
    assert [place["line"] for place in checked.places] == [3, 4]
    assert check_capability(checked.capability)[1] == [] and is_ready(draft(), report)
    assert not is_ready(draft(questions=["which trips?"]), report)


@pytest.mark.parametrize(("wrong", "place", "problem"), [
    (draft(program=[]), "program.id", "missing"),
    (draft(extra=1), "extra", "unknown"),
    (without("program", "rules") | {"citations": []}, "citations", None),
    (cited(quote="A trip of more than 900 EUR"), "citations[0]", "not in the document"),
    (cited(line=4), "citations[0]", "line 3, not on line 4"),
    (cited(line=10**9), "citations[0]", "line is none"),
    (cited(line=True), "citations[0]", "line is none"),
    (cited(quote="EUR", line=None), "citations[0]", "several places"),
    (cited(quote="  \n "), "citations[0]", "exact words"),
    (cited(quote=7), "citations[0]", "exact words"),
    (cited(of="rules/other"), "citations[0]", "no part of this draft"),
    (cited(of=["rules/dear"]), "citations[0]", "no part of this draft"),
    (cited(start=4), "citations[0]", "of, line, quote"),
    (draft(citations=[]), "program.rules/dear", "no citation"),
    (draft(citations="x"), "citations", "not a list"),
    (draft(examples=[]), "examples", None),
    (draft(examples=[{"title": "says nothing", "given": []}]), "examples[0]", "neither"),
    (draft(examples=[{**draft()["examples"][0], "follows": draft()["examples"][1]["follows"]}]), "examples[0]", "does not follow"),
    (draft(questions="none"), "questions", "list"),
    (draft(notes=["x" * 3000]), "notes", "list"),
    (draft(caseContracts={"Trip": 1}), "caseContracts", ""),
    ({**draft(), "program": {**draft()["program"], "case_types": {}}}, "program.case_types", "caseContracts"),
    ([], "the draft", "not an object"), (None, "the draft", ""), ("x", "the draft", ""),
])
def test_what_is_wrong_with_a_draft_is_told_by_its_place_in_it(wrong, place, problem):
    checked = check_draft(wrong, SOURCE)
    assert not checked.is_sound
    report = checked.report
    rows = [*report["compileErrors"], *report["examples"]["problems"], *report["citations"]["problems"]]
    if problem is not None:
        assert [row for row in rows if row["place"].startswith(place) and problem in row["problem"]], rows


def test_the_proposal_digest_is_of_four_members_in_their_order():
    """sha256 of compact JSON of program, caseContracts, citations, examples; what is missing is null."""
    import hashlib
    text = '{"program":{"a":"ü"},"caseContracts":null,"citations":null,"examples":[]}'
    assert proposal_digest({"examples": [], "program": {"a": "ü"}, "notes": ["x"]}) == "sha256:" + hashlib.sha256(text.encode()).hexdigest()
    assert proposal_digest(draft()) == proposal_digest(draft(questions=["?"], notes=[])) != proposal_digest(cited(line=None))


def test_a_quote_over_line_ends_is_found_whatever_ends_the_lines():
    windows = SourceDocument("travel.md", DOCUMENT.replace("\n", "\r\n").encode())
    quote = "of the department.\nUp to 800 EUR"
    assert windows.place(quote, 3) == SOURCE.place(quote, 3) != SOURCE.place(quote, 4)
    assert windows.digest != SOURCE.digest


@pytest.mark.parametrize(("name", "content", "code"), [
    ("travel.pdf", b"text", "document_name"), ("a/b.md", b"text", "document_name"), (7, b"text", "document_name"), ("x\u202e.md", b"text", "document_name"),
    ("travel.md", b"x" * 262_145, "document_too_large"), ("travel.md", b" \n", "document_empty"), ("travel.md", b"", "document_empty"),
    ("travel.md", b"\xff\xfe\x00a", "document_not_text"), ("travel.md", b"line\nwith \x00", "document_not_text"), ("t.TXT", b"\x1b[31mred", "document_not_text")])
def test_what_is_no_small_plain_text_is_no_document(name, content, code):
    with pytest.raises(Refused) as refused:
        SourceDocument(name, content)
    assert refused.value.code == code


# the command


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    document = tmp_path / "travel.md"
    document.write_text(DOCUMENT)
    monkeypatch.setenv("RULITH_HOME", str(tmp_path / "home"))
    for name in ("RULITH_MODEL", "RULITH_MODEL_URL", "RULITH_BUDGET"):
        monkeypatch.delenv(name, raising=False)

    def go(model, *words):
        if model is not None:
            monkeypatch.setenv("RULITH_MODEL_URL", model.url)
            monkeypatch.setenv("RULITH_MODEL", "scripted")
        status = capability.main(["from-document", str(document), *words])
        said = capsys.readouterr()
        return status, said.out, said.err
    return go


@pytest.mark.parametrize(("replies", "takes_tools"), [
    ([cited(line=4), draft()], True), ([cited(line=4), draft()], False), ([f"Here it is:\n```json\n{json.dumps(draft())}\n```"], True)])
def test_a_draft_is_corrected_until_it_is_sound_by_native_tools_tools_in_words_or_none(run, replies, takes_tools):
    with DraftModel(*replies, takes_tools=takes_tools) as model:
        status, out, _ = run(model)
        told = json.dumps(model.requests[-1]["messages"])
    assert status == 0 and check_capability(json.loads(out))[1] == []
    assert len(model.requests) == len(replies)
    assert len(replies) == 1 or "begin on line 3, not on line 4" in told
    assert "3| A trip of more than 800 EUR" in told                      # a line of the document is never anything else


def test_questions_stay_questions_and_nothing_is_printed(run):
    with DraftModel(draft(questions=["Is a trip on foot one too?"])) as model:
        assert run(model)[0:2] == (1, "")
        status, out, _ = run(model, "--json")
    answer = json.loads(out)
    assert (status, answer["state"], answer["capability"], answer["draft"]["questions"]) == (1, "questions", None, ["Is a trip on foot one too?"])


def test_rounds_are_bounded_and_the_last_errors_are_told(run):
    with DraftModel(draft(examples=[])) as model:
        status, out, err = run(model, "--rounds", "3")
    assert (status, out, len(model.requests)) == (1, "", 3) and "After 3 rounds the draft is not sound" in err


@pytest.mark.parametrize(("replies", "code"), [(["I cannot do that."], "authoring_no_draft"), (["{"], "authoring_no_draft"), (['{"program": {"a": 1, "a": 2}}'], "authoring_no_draft"), (["[" * 9000], "authoring_no_draft"),
                                               (["{" + '"program":{"x":' * 3000 + "}"], "authoring_no_draft")])
def test_a_model_that_cannot_write_a_draft_is_said_to_be_one(run, replies, code):
    with DraftModel(*replies) as model:
        status, out, _ = run(model, "--json")
    assert (status, json.loads(out)["errorCode"], len(model.requests)) == (1, code, 2)


def test_a_reply_that_was_cut_off_is_no_draft(run):
    with DraftModel(draft()) as model:
        model.finish = "length"
        status, out, _ = run(model, "--json")
    assert (status, json.loads(out)["errorCode"]) == (1, "authoring_reply_cut")


def test_a_check_that_does_not_come_to_an_end_is_given_up(run, monkeypatch):
    import threading
    held = threading.Event()
    monkeypatch.setattr(capability_document, "check_draft", lambda *_: held.wait(60))
    monkeypatch.setattr(capability_document, "DRAFT_CHECK_S", 0.01)
    with DraftModel(draft()) as model:
        status, out, _ = run(model, "--json")
    held.set()
    assert (status, json.loads(out)["errorCode"]) == (1, "authoring_check_slow")


def test_no_model_and_wrong_words_are_told_before_anything_is_asked(run):
    assert json.loads(run(None, "--json")[1])["errorCode"] == "authoring_no_model"
    for words in (("more.md",), ("--rounds", "0"), ("--rounds", "13"), ("--rounds", "x"), ("--what",), ("--rounds",)):
        assert run(None, *words)[0] == 2


def test_a_profile_lends_its_model_and_its_budget(run, tmp_path):
    profile = create_profile(Home(tmp_path / "home").prepare(), "Assistant", agent_id="agent_one", agent_name="Assistant", connection_id="conn_one")
    with DraftModel(draft()) as model:
        write_role_env(profile, "agent", {"RULITH_MODEL_URL": model.url, "RULITH_MODEL": "scripted", "RULITH_BUDGET": "tokens=100,per=run"})
        status, out, _ = run(None, "--json")
        assert (status, json.loads(out)["errorCode"], model.requests) == (1, "budget_spent", [])
        write_role_env(profile, "agent", {"RULITH_BUDGET": None})
        assert run(None, "--profile", "Assistant")[0] == 0


def test_a_drafting_process_ends_with_whoever_started_it(tmp_path):
    """The workbench may be killed: the end of its pipe is all that its child hears of that."""
    document = tmp_path / "travel.md"
    document.write_text(DOCUMENT)
    with DraftModel() as model:
        model.go.clear()
        child = subprocess.Popen([sys.executable, "-m", "rulith", "capability"], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                 env={**os.environ, "RULITH_LOCAL_EVENTS": "stdio"})
        env = {"RULITH_MODEL_URL": model.url, "RULITH_MODEL": "scripted"}
        child.stdin.write(json.dumps({"protocol": "rulith-local-settings/1", "env": env, "args": ["from-document", str(document)]}).encode() + b"\n")
        child.stdin.flush()
        assert model.asked.wait(60)
        out, _ = child.communicate(timeout=60)               # closes its stdin, and nothing else
        assert child.returncode == 1 and b'"state":"stopped"' in out
