"""`rulith verify`, the second implementation: what holds together, every way to alter it, and who is left to trust.

Duty: issue "Receipts", done when: one altered byte is found and named; so is a forger who
changes a fact and recomputes every digest and link.
"""

from __future__ import annotations

import ast
import copy
import itertools
import json
import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rulith.base.canonical import canonical_bytes, canonical_text, digest, sha256_hex
from rulith.base.errors import Refused
from rulith.commands import verify
from rulith.gateway.signing import Signer
from rulith.rules import builtins
from rulith.rules.terms import normalise
from rulith.wire.digests import result_digest
from rulith.wire.receipt_rules import computed, read
from rulith.wire.terminal_receipt import CLOSING, check_document
from tests.receipts.office import AGENT, KEY, SEED, Office, fact, literal, orders_capability, paid_order

ROOT = Path(__file__).resolve().parents[2]
PARTS = ("terminal_receipt.py", "receipt_rules.py")       # what checks a document; the rule language, evaluated a second time
OURS = Signer(SEED).public_hex
STRANGER = Signer("22" * 32)


@pytest.fixture(scope="module")
def paid() -> dict:
    return paid_order()[1]


@pytest.fixture
def document(paid) -> dict:
    return copy.deepcopy(paid)


def places(document: dict, key: str | None = None) -> list[str]:
    return [problem.place for problem in check_document(document, key).problems]


# --- what it is made of ----------------------------------------------------------------


def code_lines(path: Path) -> int:
    """Lines that are neither blank, nor a comment, nor a docstring."""
    text = path.read_text("utf-8")
    told: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.FunctionDef, ast.ClassDef)) and ast.get_docstring(node):
            told |= set(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    return sum(bool(line.strip()) and not line.strip().startswith("#") and number not in told for number, line in enumerate(text.splitlines(), 1))


def test_the_verifier_is_small_enough_to_be_read():
    """What checks a document takes under 250 lines, and the rule language that it asks about 125 more."""
    sizes = [code_lines(ROOT / "rulith" / "wire" / name) for name in PARTS]
    assert sizes[0] < 250 and sizes[1] < 130, sizes


def test_it_imports_nothing_of_what_it_checks():
    allowed = {"base", "wire"}
    waiting, seen = [f"rulith.wire.{name[:-3]}" for name in PARTS], set()
    while waiting:
        module = waiting.pop()
        path = ROOT / (module.replace(".", "/") + ".py")
        if module in seen or not path.exists():
            continue
        seen.add(module)
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            names = [node.module] if isinstance(node, ast.ImportFrom) and node.module else [each.name for each in node.names] if isinstance(node, ast.Import) else []
            for name in (name for name in names if name.startswith("rulith.")):
                assert name.split(".")[1] in allowed, (module, name)
                waiting.append(name)
    assert "rulith.wire.receipt_rules" in seen and "rulith.base.canonical" in seen


NUMBERS = [0, 1, -1, 2, 3, 7, -7, 0.5, -0.5, 1 / 3, 0.1, 0.2, 2**53 - 1, -(2**53 - 1), 2**52 + 0.5, 1e308, 5e-324, 1e-200, 9, 2.25, 1100, 1101, "a", "12", "007"]


def engines(op: str, operands: tuple) -> tuple | None:
    try:
        value = builtins.compute(op, operands)
    except Refused:
        return None
    return None if value is None else (read(value), builtins.is_exact(op, operands, value))


def test_both_implementations_compute_alike():
    """Differential: the edge values against each other, then at random."""
    values, chance = [normalise(each) for each in NUMBERS], random.Random(7)
    for op, names in builtins.ARITHMETIC.items():
        for operands in itertools.product(values, repeat=len(names)):
            assert computed(op, *map(read, operands)) == engines(op, operands), (op, operands)
        for _ in range(150):
            operands = tuple(normalise(chance.choice([chance.randint(-20, 20), chance.uniform(-9, 9), chance.randint(-(2**53), 2**53) // 2, round(chance.uniform(-5, 5), 1)]))
                             for _ in names)
            assert computed(op, *map(read, operands)) == engines(op, operands), (op, operands)


# --- what holds together ---------------------------------------------------------------


def test_a_whole_job_with_absences_opposites_and_two_people_holds_together(document):
    verdict = check_document(document, KEY)
    assert verdict.problems == [] and verdict.key == OURS and not verdict.notes
    assert verdict.counts["decisions"] == 1 and verdict.counts["requests"] == 2 and verdict.counts["conclusions"] >= 5
    said = {who: list(premises) for who, premises in verdict.rests.items()}
    assert any(who.startswith("reported by acme.read@1 from the Source books") and "acme.orders.line" in premises[0] for who, premises in said.items())
    assert said["asserted by the Agent"] == ["not acme.orders.blocked(order=A-1, why=fraud) [asserted]"]


def test_only_what_bears_on_an_absence_is_carried():
    """Other work on the same Board is nobody's business; the line and the approval of this order are what `held` depends on."""
    office = Office(orders_capability())
    paid_order(office, "B-9")
    _, document = paid_order(office)
    assert check_document(document, KEY).problems == []
    carried = [each["text"] for each in document["world"]["facts"]]
    assert "acme.orders.approved(order=A-1)" in carried and not [text for text in carried if "B-9" in text]
    assert "B-9" not in json.dumps([document[name] for name in document if name not in ("between", "digests")])


def test_live_totals_are_taken_again_over_their_whole_group():
    office, capability = None, sums_capability()
    office = Office(capability)
    case = office.open("sums", batch="A")
    office.act(case, "acme.sums.read", *[fact("acme.sums.line", batch="A", item=f"i{n}", cents=cents) for n, cents in enumerate((10, 20, 0.1, 0.2))], batch="A")
    document = office.close(case)
    assert check_document(document, KEY).problems == []
    assert [leaf["tier"] for leaf in document["leaves"]] == ["approximate"]      # 0.1 + 0.2 rounded
    for change in (lambda node: node["premises"].pop(), lambda node: node["computed"][0].update(members=5), lambda node: node["computed"][0].update(result=31)):
        forgery = copy.deepcopy(document)
        change(next(node for node in walk(forgery) if node["predicate"] == "acme.sums.total"))
        assert any(place.startswith("proof of acme.sums.total") for place in places(forged(forgery)))


def test_an_exploration_says_so_and_its_own_rules_are_judged_too(tmp_path, capsys):
    office = Office(orders_capability())
    case = office.open("exploration")
    office.batch(case, {"op": "assert_fact", "predicate": "p", "args": {"x": 1, "y": 2}}, {"op": "assert_fact", "predicate": "p", "args": {"x": 2, "y": 3}},
                 {"op": "add_axiom", "id": "r1", "when": [literal("p", x="?x", y="?y"), literal("q", x="?x", naf=True)], "then": [literal("r", x="?x")]},
                 {"op": "derive_aggregate", "source": {"predicate": "p", "valueArg": "y"}, "into": {"predicate": "t", "valueArg": "sum"}},
                 {"op": "declare_goal", "id": "g", "desired": [literal("r", x=1), literal("t", sum="?s")]})
    document = office.close(case)
    assert check_document(document).problems == [] and document["case"]["exploratory"] is True
    path = tmp_path / "r.json"
    path.write_text(json.dumps(document))
    assert verify.main([str(path)]) == 0 and "exploratory" in capsys.readouterr().out
    document["rules"][0]["then"][0]["args"]["x"] = 7
    assert "rule r1" in places(forged(document))


def test_what_an_earlier_case_brought_comes_with_its_row():
    office = Office(orders_capability())
    first = office.open("order", order="A-1")
    office.act(first, "acme.orders.read", fact("acme.orders.line", order="A-1", item="bolt", cents=900), order="A-1")
    case = office.open("exploration")
    office.batch(case, {"op": "add_axiom", "id": "r1", "when": [literal("acme.orders.line", order="?o")], "then": [literal("seen", order="?o")]},
                 {"op": "declare_goal", "id": "g", "desired": [literal("seen", order="A-1")]})
    document = office.close(case)
    assert check_document(document).problems == [] and len(document["borrowed"]) == 1
    document["borrowed"][0]["body"]["command"]["facts"][0]["args"]["cents"] = 1
    assert places(document)[0] == f"row {document['borrowed'][0]['seq']}"


# --- one altered byte ------------------------------------------------------------------


def leaves_of(value, path=()):
    if isinstance(value, dict):
        for name, each in value.items():
            yield from leaves_of(each, (*path, name))
    elif isinstance(value, list):
        for index, each in enumerate(value):
            yield from leaves_of(each, (*path, index))
    else:
        yield path


def put(document: dict, path: tuple, change) -> None:
    place = document
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = change(place[path[-1]])


def other(value):
    return value + "x" if isinstance(value, str) else (not value) if isinstance(value, bool) else 7 if value is None else value + 1


def test_a_value_altered_in_any_region_is_found_and_its_region_is_named(paid):
    """Every member of the document, and inside it a seeded choice of its values."""
    chance = random.Random(20)
    regions: dict[str, list[tuple]] = {}
    for path in leaves_of(paid):
        regions.setdefault(path[0], []).append(path)
    assert set(regions) >= set(paid) - {"skipped", "borrowed", "rules"}
    for name, paths in regions.items():
        for path in chance.sample(paths, min(7, len(paths))):
            document = copy.deepcopy(paid)
            put(document, path, other)
            found = places(document)
            wanted = {"rows": "row", "between": "row", "signature": "signature", "digests": path[1] if len(path) > 1 else "", "format": "the document"}.get(name, name)
            assert any(place.startswith(wanted) for place in found), (path, found)


def test_one_altered_byte_is_found(paid):
    """Of the file as it is written; a byte that breaks the JSON makes it unreadable, which is found as well."""
    content, chance = canonical_bytes(paid), random.Random(21)
    for place in chance.sample(range(len(content)), 70):
        changed = bytearray(content)
        changed[place] ^= 1 << chance.randrange(7)
        try:
            document = json.loads(bytes(changed))
        except ValueError:
            continue
        assert canonical_text(document) == content.decode() or check_document(document).problems, place


# --- a forger who recomputes -----------------------------------------------------------


def walk(document: dict):
    waiting = list(document["conclusions"])
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(node["premises"])


def forged(document: dict, signer: Signer = STRANGER) -> dict:
    """Every digest and every link made right again, and signed by somebody."""
    found = copy.deepcopy({name: value for name, value in document.items() if name not in ("signature", "digests")})
    own = {operation["ordinal"]: operation for operation in found["operations"]}
    for row in found["rows"]:
        command = row["body"]["command"]
        for each in command.get("commands", [command]):
            if each["kind"] == "record_receipt":
                told = result_digest(ok=each["ok"], result=each.get("result"), reason=each.get("reason"), facts=each["facts"])
                before, each["resultDigest"] = each["resultDigest"], told
                if "identity" in own.get(each["ordinal"], ()):
                    own[each["ordinal"]]["resultDigest"] = own[each["ordinal"]]["identity"]["resultDigest"] = told
                for node in (*found["facts"], *found["world"]["facts"], *walk(found)):
                    if node["by"].get("resultDigest") == before:
                        node["by"]["resultDigest"] = told
            if each["kind"] == "close_case":
                row["body"]["proofs"] = digest({name: found[name] for name in CLOSING})
                row["body"]["result"] = digest({name: found["case"][name] for name in ("caseId", "root", "disposition", "certified")})
    before = None
    for row in sorted([*found["rows"], *found["between"]], key=lambda each: each["seq"]):
        prev = before["hash"] if before and before["seq"] + 1 == row["seq"] else row.get("prev", "")
        if "prev" in row:
            row["prev"] = prev
        body = row["body"] if isinstance(row["body"], str) else sha256_hex(canonical_bytes(row["body"]))
        row["hash"] = sha256_hex(canonical_bytes([found["agentId"], row["seq"], row["at"], row["kind"], body, prev]))
        before = row
    if found["release"]:
        found["release"]["digest"] = digest(found["release"]["capability"])
    found["digests"] = {name: digest(value) for name, value in found.items()}
    return signer.sign_document(found)


def test_the_harness_forges_nothing_where_nothing_was_changed(document):
    assert places(forged(document), KEY) == []


def each_line(document: dict):
    rows = [command for row in document["rows"] for command in (row["body"]["command"],) if command["kind"] == "record_receipt"]
    nodes = [node for node in (*document["facts"], *document["world"]["facts"], *walk(document)) if node["predicate"] == "acme.orders.line"]
    return [*(each for command in rows for each in command["facts"]), *nodes]


def _everywhere(document: dict) -> None:
    for each in each_line(document):
        each["args"]["cents"] = 1800


def _only_shown(document: dict) -> None:
    for each in (*document["facts"], *document["world"]["facts"], *walk(document)):
        if each["predicate"] == "acme.orders.line":
            each["args"]["cents"] = 1800


def _the(document: dict, predicate: str) -> list[dict]:
    return [node for node in (*document["facts"], *document["world"]["facts"], *walk(document)) if node["predicate"] == f"acme.orders.{predicate}"]


def _of_all(predicate: str, change):
    def run(document: dict) -> None:
        for node in _the(document, predicate):
            change(node)
    return run


def _drop(predicate: str):
    def run(document: dict) -> None:
        for part in (document["facts"], document["world"]["facts"]):
            part[:] = [each for each in part if each["predicate"] != f"acme.orders.{predicate}"]
    return run


def _opposite(document: dict) -> None:
    node = next(each for each in document["facts"] if each["predicate"] == "acme.orders.blocked")
    document["world"]["facts"].append({**{name: value for name, value in node.items() if name != "negated"}, "id": "f_other"})


def _agents(document: dict) -> None:
    _of_all("line", lambda node: node["by"].update(kind="agent"))(document)


# what is changed -> a place that must be named although every digest, link and signature fits
FORGERIES = {
    "a premise, in the proof and among the facts, not in its row": (_only_shown, "fact acme.orders.line"),
    "a premise, in its row too, so that a sum is wrong": (_everywhere, "proof of acme.orders.share"),
    "a conclusion": (_of_all("share", lambda node: node["args"].update(part=501)), "proof of acme.orders.share"),
    "a tier": (_of_all("clear", lambda node: node.update(tier="verified")), "proof of acme.orders.clear"),
    "a premise's tier": (_of_all("line", lambda node: node.update(tier="verified")), "fact acme.orders.line"),
    "which Source said it": (_of_all("line", lambda node: node["by"].update(source="other")), "fact acme.orders.line"),
    "that an Agent said it": (_agents, "fact acme.orders.line"),
    "a word of the gateway": (lambda d: [node["args"].update(value="A-2") for node in (*d["facts"], *walk(d)) if node["predicate"] == "case_key"], "fact case_key"),
    "a fact that the gateway is said to have set": (_of_all("checked", lambda node: node.update(by={"kind": "law", "what": "case opened"})), "fact acme.orders.checked"),
    "an approval taken away, so that an absence no longer holds": (_drop("approved"), "proof of acme.orders.clear"),
    "what a Board Action is said to have done": (_of_all("checked", lambda node: node["by"].update(action="acme.orders.read")), "fact acme.orders.checked"),
    "an effect that the Action does not have": (lambda d: [node["by"].update(action="acme.orders.check", at=next(
        each["by"]["at"] for each in d["facts"] if each["by"].get("action") == "acme.orders.check")) or node["by"].pop("ordinal", None)
        for node in _the(d, "paid")], "fact acme.orders.paid"),
    "an opposite that holds as well": (_opposite, "proof of not acme.orders.blocked"),
    "a rule of the Capability": (lambda d: d["release"]["capability"]["rules"][3]["when"][1]["args"].update(right=4), "proof of acme.orders.share"),
    "a rule left out": (lambda d: d["release"]["capability"]["rules"].pop(3), "proof of acme.orders.share"),
    "a computation as it is shown": (lambda d: [node["computed"][0].update(result=501) for node in walk(d) if node.get("computed")], "proof of acme.orders.share"),
    "how a fact is written": (_of_all("line", lambda node: node.update(text="acme.orders.line(cents=9, item=bolt, order=A-1)")), "fact f_"),
    "another rule named": (_of_all("share", lambda node: node["by"].update(id="acme.orders@1.0.0/large")), "proof of acme.orders.share"),
    "a premise left out of a step": (lambda d: [node["premises"].pop() for node in walk(d) if node["predicate"] == "acme.orders.clear"], "proof of acme.orders.clear"),
    "the proof of a goal left out": (lambda d: d["conclusions"].pop(), "goal root_"),
    "a goal left out": (lambda d: (d["leaves"].pop(), d["conclusions"].pop()), "leaves"),
    "what the Case is about": (lambda d: d["case"]["businessKey"].update(order="A-2"), "case.businessKey"),
    "who closed it": (lambda d: d["case"].update(closedBy="eve"), "case.closedBy"),
    "what was asked for": (lambda d: [each.update(argsText=each["argsText"].replace("A-1", "A-2")) for each in d["operations"] if "argsText" in each], "operation "),
    "which Worker ran it": (lambda d: [each["identity"].update(workerId="wkr_2") for each in d["operations"] if "identity" in each], "operation "),
    "which Tool definition ran": (lambda d: [each["identity"].update(adapterDigest="sha256:" + "b" * 64) for each in d["operations"] if "identity" in each], "operation "),
    "a generation in the dispatch": (lambda d: [each["dispatch"].update(generation=2) for each in d["operations"] if "dispatch" in each], "operation "),
    "one of two approvals": (lambda d: d["decisions"][0]["by"].pop(), "decision "),
    "the same person twice": (lambda d: d["decisions"][0]["by"][1].update(by="ann"), "decision "),
    "an approval after its time": (lambda d: d["decisions"][0]["by"][1].update(at="2099-01-01T00:00:00.000Z"), "decision "),
    "how many people it takes": (lambda d: d["decisions"][0].update(people=1), "decision "),
    "the decision itself": (lambda d: d["decisions"].clear(), "decision "),
    "a row left out": (lambda d: d["rows"].pop(1), "operation "),
    "the contract's digest": (lambda d: d["case"].update(contract="sha256:" + "0" * 64), "case.contract"),
}


@pytest.mark.parametrize("what", FORGERIES)
def test_a_forger_who_recomputes_every_digest_link_and_signature_is_found_by_what_contradicts(document, what):
    change, place = FORGERIES[what]
    change(document)
    found = places(forged(document))
    assert any(each.startswith(place) for each in found), found


def resigned(document: dict) -> dict:
    """Digests and signature made right, the links left as they are."""
    unsigned = {name: value for name, value in document.items() if name not in ("signature", "digests")}
    return STRANGER.sign_document({**unsigned, "digests": {name: digest(value) for name, value in unsigned.items()}})


def _asked(document: dict) -> dict:
    """The last call that a Worker answered."""
    return next(each for each in reversed(document["operations"]) if "identity" in each)


def _told(document: dict) -> dict:
    """The command of the row that records it."""
    return next(row["body"]["command"] for row in document["rows"] if row["body"]["command"].get("ordinal") == _asked(document)["ordinal"])


def _uncertified(document: dict) -> None:
    document["leaves"][0].update(met=False)
    document["case"].update(certified=False)


def _other_argument_digest(document: dict) -> None:
    for each in (_asked(document), _told(document)["plan"], *document["decisions"]):
        each["argumentDigest"] = "sha256:" + "0" * 64


# Each breaks what one check alone looks at: (what is changed, the place, the words).
ALONE = {
    "all rows between": (lambda d: d["between"].clear(), "row ", "left out"),
    "rows between, and said to be skipped": (lambda d: (d["between"].clear(), d.update(skipped=[
        {"after": one["seq"], "before": two["seq"]} for one, two in itertools.pairwise(d["rows"])])), "row ", "left out"),
    "the Release": (lambda d: d.update(release=None), "release", "names no Release"),
    "its version": (lambda d: d["release"].update(version="9.0.0"), "release.version", "should be"),
    "a goal that is not met, and a completed Case": (_uncertified, "case.certified", "without being certified"),
    "a call that no row records": (lambda d: d["operations"].append({**_asked(d), "ordinal": 99}), "operation 99", "no row records"),
    "a call that ran, and is not told of": (lambda d: d["operations"].remove(_asked(d)), "operation ", "not among the operations"),
    "what a decision is bound to, everywhere": (_other_argument_digest, "operation ", "should be"),
    "the Release that a call ran under": (lambda d: _told(d)["plan"].update(release="sha256:" + "0" * 64), "release", "another Release"),
    "the request's digest": (lambda d: _asked(d).update(requestDigest="sha256:" + "0" * 64), "operation ", "should be"),
    "the request's digest at the dispatch": (lambda d: _asked(d)["dispatch"].update(requestDigest="sha256:" + "0" * 64), "operation ", "should be"),
    "which Worker the row tells of": (lambda d: _told(d).update(workerId="wkr_2"), "the row of operation ", "should be"),
    "how a call ended": (lambda d: _asked(d).update(outcome="failed"), "operation ", "should be"),
    "who read a premise, in the tree alone": (lambda d: next(
        node for node in walk(d) if node["by"]["kind"] == "receipt")["by"].update(worker="wkr_2"), "proof of acme.orders.line", "should be"),
    "how a conclusion is written": (_of_all("share", lambda node: node.update(text="acme.orders.share(order=A-2)")), "proof of acme.orders.share", "should be"),
    "what held after the close": (lambda d: d.update(closure="0" * 64), "closure", "should be"),
    "proofs, and not the row that vouches for them": (lambda d: d["world"]["facts"].pop(), "proofs", "should be"),
    "the tier that a goal states": (lambda d: d["leaves"][0].update(tier="verified"), "proof of acceptance_met", "floor"),
}


@pytest.mark.parametrize("what", ALONE)
def test_what_only_one_check_can_see_is_seen_and_said(document, what):
    change, place, words = ALONE[what]
    change(document)
    found = check_document(resigned(document)).problems
    assert any(each.place.startswith(place) and words in each.text for each in found), found


def test_a_row_made_anew_is_contradicted_by_the_row_after_it():
    office = Office(orders_capability())
    case = office.open("exploration")
    for number in range(3):
        office.say(case, "p", x=number)
    document = office.close(case, "abandoned")
    row, after = next((one, two) for one, two in itertools.pairwise(document["rows"]) if two["seq"] == one["seq"] + 1)
    row["at"] = row["at"][:-2] + "9Z"
    row["hash"] = sha256_hex(canonical_bytes([AGENT, row["seq"], row["at"], row["kind"], sha256_hex(canonical_bytes(row["body"])), row["prev"]]))
    found = check_document(resigned(document)).problems
    assert any(each.place == f"row {after['seq']}" and "does not follow" in each.text for each in found), found


def test_a_proof_below_the_floor_of_its_contract_certifies_nothing(document):
    kind = document["release"]["capability"]["case_types"]["order"]
    kind["floor"] = "verified"
    document["case"]["contract"] = digest(kind)
    found = check_document(forged(document)).problems
    assert any(each.place.startswith("proof of acceptance_met") and "floor" in each.text for each in found), found


def test_a_story_told_anew_throughout_shows_the_connection_key_and_the_signer(document, tmp_path, capsys):
    """Consistent in every part, it contradicts nothing: only the keys tell, and without them the tool says that none is pinned."""
    _everywhere(document)
    for node in _the(document, "share"):
        node["args"]["part"] = 600
        node["text"] = node["text"].replace("500", "600")
        if "computed" in node:
            node["computed"][0].update(left=1800, result=600)
    for node in _the(document, "line"):
        node["text"] = node["text"].replace("1500", "1800")
    for each in (*document["operations"], *(row["body"]["command"]["plan"] for row in document["rows"] if row["body"]["command"]["kind"] == "record_receipt")):
        each.get("dispatch", {}).update(grant=each["dispatch"]["grant"].partition(".")[0] + ".AAAA") if "dispatch" in each else None
    story = forged(document)
    path = tmp_path / "story.json"
    path.write_text(json.dumps(story))
    assert places(story) == []
    assert any("grant" in place for place in places(story, KEY))
    assert verify.main([str(path), "--key", OURS]) == 1
    told = capsys.readouterr().out
    assert "NOT the key that was given" in told
    verify.main([str(path), "--json"])
    assert json.loads(capsys.readouterr().out)["signature"] == {"key": STRANGER.public_hex, "pinned": False}


@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_no_edit_survives_the_pinned_key_and_none_is_hidden_by_recomputing(paid, data):
    """Any value of facts, proofs, rules, rows or decisions; all digests and links recomputed; the signature is kept, or an attacker's own."""
    regions = [path for path in leaves_of(paid) if path[0] in ("facts", "conclusions", "release", "rows", "decisions", "operations", "case", "world", "leaves")]
    document = copy.deepcopy(paid)
    put(document, data.draw(st.sampled_from(regions)), other)
    unsigned = forged(document)
    kept = {**unsigned, "signature": paid["signature"]}
    assert canonical_text(unsigned["digests"]) == canonical_text(paid["digests"]) or "signature" in places(kept)
    assert check_document(unsigned).key == STRANGER.public_hex != OURS


def test_a_key_that_is_not_the_connections_names_the_grants(document):
    assert places(document, KEY) == []
    found = places(document, "rlt_key_of_another")
    assert found and all(place.endswith(".dispatch.grant") for place in found)


@pytest.mark.parametrize("written", ["{key}\n", "RULITH_CONNECTION_KEY={key}\n", '{{"RULITH_CONNECTION_KEY": "{key}"}}', "export RULITH_CONNECTION_KEY={key}\nRULITH_CONNECTION=c\n"])
def test_the_connection_key_is_read_from_what_a_worker_keeps(document, tmp_path, capsys, written):
    receipt, key = tmp_path / "r.json", tmp_path / "key"
    receipt.write_text(json.dumps(document))
    key.write_text(written.format(key=KEY))
    assert verify.main([str(receipt), "--key", OURS, "--connection-key", str(key), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["grants"] == "by key" and told["signature"]["pinned"] and told["unproved"] == []


# --- how it is said --------------------------------------------------------------------


def test_it_says_who_signed_who_approved_and_on_whom_each_premise_rests(document, tmp_path, capsys):
    path = tmp_path / "r.json"
    path.write_text(json.dumps(document, indent=2))
    assert verify.main([str(path)]) == 0
    told = capsys.readouterr().out
    for words in ("holds together", "not pinned", "ann approved, bob approved", "(2 people)", "from the Source books", "asserted by the Agent", "derived again"):
        assert words in told, words


def sums_capability() -> dict:
    key = literal("case_key", root="?root", name="batch", value="?b")
    defines = {"line": {"batch": "string", "item": "string", "cents": "number"}, "total": {"batch": "string", "cents": "number"},
               "most": {"batch": "string", "cents": "number"}, "fine": {"batch": "string"}}
    totals = {"total": "sum", "most": "max"}
    return {
        "format": "rulith-capability/1", "id": "acme.sums", "version": "1.0.0", "title": "Sums",
        "vocabulary": {"defines": [{"id": f"acme.sums.{name}", "as": name, "args": args, **({"sources": ["file"]} if name == "line" else {})}
                                   for name, args in defines.items()], "imports": [{"id": "case_key", "as": "case_key"}]},
        "pins": ["fine"],
        "rules": [{"id": "fine", "when": [literal("total", batch="?b", cents="?c"), literal("most", batch="?b", cents="?m"), literal("gte", left="?c", right="?m")],
                   "then": [literal("fine", batch="?b")]}],
        "aggregates": [{"id": name, "kind": kind, "source": {"predicate": "line", "valueArg": "cents"}, "into": {"predicate": name, "valueArg": "cents"},
                        "group_by": "batch"} for name, kind in totals.items()],
        "acceptance": [{"id": "fine", "when": [key, literal("fine", batch="?b")]}],
        "actions": [{"id": "read", "description": "Read.", "tool": "acme.read@1", "kind": "read", "source_types": ["file"], "params": {"batch": "string"},
                     "preconditions": [key, literal("eq", left="?b", right="?batch")], "effects": [],
                     "returns": [{"predicate": "line", "args": {"batch": "$batch", "item": "$item", "cents": "$cents"}}]}],
        "case_types": {"sums": {"title": "Sums", "business_key": {"batch": "string"}, "floor": "approximate",
                                "task": [{"node": "fine", "goal": "it is fine", "acceptance": "fine"}]}},
        "examples": []}


def test_the_constitution_in_force_and_what_it_added_are_in_the_receipt(tmp_path, capsys):
    """The Capability asks two people for the payment; the Constitution adds its own kind to every write."""
    constitution = json.loads((ROOT / "protocol" / "examples" / "constitution" / "two-people-for-writes.json").read_text("utf-8"))
    document = paid_order(Office(orders_capability(), constitution=constitution))[1]
    assert check_document(document, KEY).problems == []
    assert document["constitution"]["digest"] == digest(constitution) and document["constitution"]["document"] == constitution
    needed = next(each["decision"] for each in document["operations"] if "decision" in each)
    assert needed["people"] == 2 and "approve the payment" in needed["kind"] and "approve this write" in needed["kind"]
    path = tmp_path / "r.json"
    path.write_text(json.dumps(document))
    assert verify.main([str(path)]) == 0
    told = capsys.readouterr().out
    assert "Constitution 1.0.0" in told and "approve this write" in told
    document["constitution"]["document"]["rules"].pop()
    assert "constitution.digest" in places(forged(document))


@pytest.mark.parametrize("name", ["release", "case", "rows", "operations", "conclusions", "decisions", "digests", "signature", "constitution", "releases", "closure"])
@pytest.mark.parametrize("other", ["a text", 7, [1], {"x": 1}, True])
def test_a_part_of_another_kind_is_named_and_not_tripped_over(document, name, other):
    assert check_document({**document, name: other}).problems


def test_an_absence_that_only_the_agents_rule_spoils_is_judged_by_the_law_alone():
    """The law's `mid` is kept away by an Agent's rule, so that only the law's own world shows why `clear` is certified."""
    capability = orders_capability()
    capability["case_types"]["order"]["task"] = capability["case_types"]["order"]["task"][:1]
    capability["vocabulary"]["defines"] += [{"id": f"acme.orders.{name}", "as": name, "args": {"order": "string"}} for name in ("mid", "lifted", "noted")]
    capability["rules"] += [
        {"id": "mid", "when": [literal("line", order="?o"), literal("lifted", order="?o", naf=True)], "then": [literal("mid", order="?o")]},
        {"id": "spoiled", "when": [literal("mid", order="?o"), literal("noted", order="?o", naf=True)], "then": [literal("held", order="?o")]}]
    office = Office(capability)
    case = office.open("order", order="A-1")
    office.act(case, "acme.orders.read", fact("acme.orders.line", order="A-1", item="bolt", cents=10), order="A-1")
    office.batch(case, {"op": "assert_fact", "predicate": "acme.orders.blocked", "args": {"order": "A-1", "why": "fraud"}, "negated": True},
                 {"op": "assert_fact", "predicate": "acme.orders.noted", "args": {"order": "A-1"}},
                 {"op": "add_axiom", "id": "mine", "when": [literal("acme.orders.line", order="?o")], "then": [literal("acme.orders.lifted", order="?o")]})
    office.board("apply_action", action="acme.orders.check", args={}, focus=[case["caseId"]])
    document = office.close(case)
    assert document["case"]["certified"] and check_document(document, KEY).problems == []
    assert "acme.orders.noted(order=A-1)" in [each["text"] for each in document["world"]["facts"]]


def test_a_row_that_minted_no_case_is_named(document):
    for row in document["rows"]:
        if "minted" in row["body"]:
            row["body"]["minted"] = ["x"]
    assert any(place == "case" for place in places(document))


SHAPES = [None, True, 0, -1, 1.5, "x", "?x", [], {}, [1], {"a": 1}, "rule", {"kind": "rule"}, 2**53]


def every_place(value, path=()):
    if path:
        yield path
    for name, each in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from every_place(each, (*path, name))


def test_a_receipt_of_another_shape_is_named_and_never_raises(paid):
    """Members replaced by anything or taken away, one to three at a time, seeded."""
    chance, known = random.Random(22), list(every_place(paid))
    for _ in range(60):
        document = copy.deepcopy(paid)
        for path in chance.sample(known, chance.randint(1, 3)):
            place = document
            try:
                for step in path[:-1]:
                    place = place[step]
                if chance.random() < 0.3:
                    del place[path[-1]]
                else:
                    place[path[-1]] = chance.choice(SHAPES)
            except (KeyError, IndexError, TypeError):
                continue          # an earlier change took that place away
        assert canonical_text(document) == canonical_text(paid) or check_document(document).problems
