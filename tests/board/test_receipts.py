"""Terminal Receipts: a document that proves itself, and every way it could lie."""

import copy
import json

import pytest

from rulith.base.canonical import canonical_bytes, sha256_hex
from rulith.board.receipts import check_receipt, row_hash, signed_bytes

P = "rulith.verified_calculation."


def chain(play):
    """The play's rows as a ledger would keep them."""
    rows, prev = [], "0" * 64
    for seq, body in enumerate(play.rows, 1):
        row = {"chain": "agt_1", "seq": seq, "at": body["at"], "kind": "board", "body": body, "prev": prev}
        row["hash"] = prev = row_hash(row)
        rows.append(row)
    return rows


@pytest.fixture
def document(play):
    other = play.open("calc-900")
    case = play.whole()
    play.batch(other, {"op": "assert_fact", "predicate": "note"})
    play.run("close_case", root=case["root"])
    rows = chain(play)
    own = [row for row in rows if row["seq"] != 7]
    between = [{"seq": row["seq"], "hash": row["hash"]} for row in rows if row["seq"] == 7]
    ordinals = [row["body"]["command"]["ordinal"] for row in rows if row["body"]["command"]["kind"] == "record_receipt"]
    return json.loads(json.dumps({
        "format": "rulith-terminal-receipt/1", "agentId": "agt_1", **play.board.receipt_facts(case["caseId"]),
        "operations": [{"ordinal": ordinal, "resultDigest": "sha256:" + "b" * 64} for ordinal in ordinals], "decisions": [],
        "rows": own, "between": between}))


def test_a_sound_receipt_has_no_problem(document):
    assert check_receipt(document) == []


def test_the_hash_of_a_row_is_the_ledgers(document):
    row = document["rows"][0]
    body = sha256_hex(canonical_bytes(row["body"]))
    assert row["hash"] == sha256_hex(canonical_bytes([row["chain"], row["seq"], row["at"], row["kind"], body, row["prev"]]))


def test_the_signature_covers_everything_but_itself(document):
    assert signed_bytes({**document, "signature": {"value": "x"}}) == signed_bytes(document)


def total_node(document):
    return next(node for node in nodes(document) if node["predicate"] == P + "total")


def nodes(document):
    waiting = list(document["conclusions"])
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(node["premises"])


LIES = {
    "a row changed": lambda d: d["rows"][3]["body"]["command"].update(ordinal=77),
    "a row left out": lambda d: d["rows"].pop(3),
    "a row of another chain": lambda d: d["rows"][3].update(chain="agt_2"),
    "the Capability changed": lambda d: d["release"]["capability"].update(title="Other"),
    "a rule changed and its digest too": lambda d: d["release"]["capability"]["rules"].pop(1),
    "the total changed": lambda d: total_node(d)["args"].update(cents=9594),
    "the total stronger than its premise": lambda d: total_node(d).update(tier="verified"),
    "a premise that is no fact of the Case": lambda d: d.update(facts=[]),
    "a premise no row reported": lambda d: [node["args"].update(quantity=8) for node in nodes(d) if node["predicate"] == P + "input"],
    "a premise of another receipt": lambda d: [node["by"].update(ordinal=99) for node in nodes(d) if node["predicate"] == P + "input"],
    "a word of another Case": lambda d: [node["args"].update(value="calc-002") for node in nodes(d) if node["predicate"] == "case_key"],
    "the acceptance of one leaf missing": lambda d: d["conclusions"].pop(),
    "a proof cut short": lambda d: d["conclusions"][0].update(cut=True),
    "another disposition": lambda d: d["case"].update(disposition="cancelled"),
    "completed without certification": lambda d: d["case"].update(certified=False),
    "no opening row": lambda d: d["rows"].__delitem__(slice(0, 4)),
    "a member missing": lambda d: d.pop("conclusions"),
    "another format": lambda d: d.update(format="rulith-terminal-receipt/2"),
}


@pytest.mark.parametrize("lie", LIES.values(), ids=LIES.keys())
def test_a_receipt_that_lies_is_found_out(document, lie):
    changed = copy.deepcopy(document)
    lie(changed)
    assert check_receipt(changed)


@pytest.mark.parametrize("value", [None, [], "x", {}, {"format": "rulith-terminal-receipt/1"}])
def test_nonsense_is_named_not_raised(value):
    assert check_receipt(value)


def test_an_exploration_says_that_it_is_one(play):
    case = play.explore()
    play.run("close_case", root=case["root"], disposition="abandoned", reason="enough")
    facts = play.board.receipt_facts(case["caseId"])
    assert facts["case"]["exploratory"] is True and facts["release"] is None


def test_an_open_case_has_no_receipt(play):
    from rulith.base.errors import Refused
    case = play.open()
    with pytest.raises(Refused):
        play.board.receipt_facts(case["caseId"])


def test_a_case_may_rest_on_what_an_earlier_case_brought(play):
    """The order was read under another Case of the same Board; this one is proved by that receipt's row."""
    first = play.open(case_type="approved_calculation")
    play.read(first)
    play.write(first, "write_approved_output")
    play.verify(first)
    play.run("close_case", root=first["root"])
    case = play.open()
    play.run("close_case", root=case["root"])
    document = {"format": "rulith-terminal-receipt/1", "agentId": "agt_1", **play.board.receipt_facts(case["caseId"]),
                "operations": [], "decisions": [], "rows": chain(play), "between": []}
    assert check_receipt(json.loads(json.dumps(document))) == []
