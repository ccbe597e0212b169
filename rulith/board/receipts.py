"""Terminal Receipts: what the Board states of a closed Case, and the check of such a document.

`receipt_facts` is the law's part of a receipt. `check_receipt` needs no ledger and no
network: it recomputes the hash chain of the rows, the Release's digest, and derives every
conclusion again from the receipt's own premises and rules.

Refuses to know: signatures (they are over `signed_bytes`, made and checked elsewhere).
Source  format `rulith-terminal-receipt/1`.
"""

from __future__ import annotations

from collections.abc import Mapping

from rulith.base.canonical import canonical_bytes, digest, sha256_hex
from rulith.base.errors import Refused
from rulith.board.cases import words_of
from rulith.board.capability_check import law_rules, read_release
from rulith.board.release import Release
from rulith.board.shapes import TIER_RANK
from rulith.board.state import CLOSED, BoardState, Case
from rulith.board.views import case_about
from rulith.rules.program import Program
from rulith.rules.terms import Atom

FORMAT = "rulith-terminal-receipt/1"
PROBLEMS_MAX = 50


def receipt_facts(state: BoardState, case: Case) -> dict:
    """{case, release, leaves, conclusions, facts, closure} of a Case that has just closed. Raises Refused not_found of any other."""
    if case.status != CLOSED or case.closing is None:
        raise Refused("not_found", what="closed Case", name=case.case_id)
    about = case_about(case)
    about.pop("holds")
    about.pop("release")
    if case.is_exploration:
        about["exploratory"] = True
    release = None
    if case.release is not None:
        # a Release is only replaced once none of its Cases is open, and the receipt is written at the close
        installed = state.releases.get(case.release["id"])
        held = installed is not None and installed.digest == case.release["digest"]
        release = {**case.release, "capability": installed.document if held else None}
    return {"case": about, "release": release, "leaves": [dict(row) for row in case.closing["leaves"]], "conclusions": list(case.closing["conclusions"]),
            "facts": list(case.closing["facts"]), "closure": state.program.closure_digest()}


def signed_bytes(document: Mapping) -> bytes:
    """The exact bytes a receipt's signature covers: everything but the signature."""
    return canonical_bytes({name: value for name, value in document.items() if name != "signature"})


def check_receipt(document: object) -> list[str]:
    """Everything unsound about a receipt, in words; an empty list means its contents bear each other out."""
    problems: list[str] = []
    if not isinstance(document, Mapping) or document.get("format") != FORMAT:
        return [f"it is no {FORMAT} document"]
    try:
        _check_rows(document, problems)
        release = _check_release(document, problems)
        _check_case(document, problems)
        if release is not None:
            _check_conclusions(document, release, problems)
    except (KeyError, TypeError, AttributeError, IndexError) as error:
        problems.append(f"it lacks a member every receipt has, or has one of another shape ({error!r})")
    except Refused as refusal:
        problems.append(refusal.happened)
    return problems[:PROBLEMS_MAX]


def row_hash(row: Mapping) -> str:
    """The chain hash of one ledger row."""
    body = sha256_hex(canonical_bytes(row["body"]))
    return sha256_hex(canonical_bytes([row["chain"], row["seq"], row["at"], row["kind"], body, row["prev"]]))


def _check_rows(document: Mapping, problems: list[str]) -> None:
    hashes = {row["seq"]: row["hash"] for row in document["between"]}
    for row in document["rows"]:
        if row["chain"] != document["agentId"]:
            problems.append(f"row {row['seq']} belongs to another chain")
        if row_hash(row) != row["hash"]:
            problems.append(f"row {row['seq']} does not hash to what it says")
        hashes[row["seq"]] = row["hash"]
    for row in document["rows"]:
        before = hashes.get(row["seq"] - 1)
        if before is not None and before != row["prev"]:
            problems.append(f"row {row['seq']} does not follow row {row['seq'] - 1}")
    first, last = min(hashes, default=0), max(hashes, default=-1)
    absent = [seq for seq in range(first, last + 1) if seq not in hashes]
    if absent:
        problems.append(f"rows {absent[:5]} between the first and the last are left out")


def _check_release(document: Mapping, problems: list[str]) -> Release | None:
    stated = document["release"]
    if stated is None:
        if not document["case"].get("exploratory"):
            problems.append("a Case that is no exploration names no Release")
        return None
    if digest(stated["capability"]) != stated["digest"]:
        problems.append("the Capability does not have the digest the Case was opened with")
    return read_release(stated["capability"])


def _check_case(document: Mapping, problems: list[str]) -> None:
    case, flat = document["case"], _commands(document["rows"])
    opened = [each for each in flat if each["kind"] == "open_case" and each.get("caseType") == case["caseType"]]
    closed = [each for each in flat if each["kind"] == "close_case" and each.get("root") == case["root"]]
    if not opened:
        problems.append("no row opens the Case")
    if not closed:
        problems.append("no row closes the Case")
    elif (closed[-1].get("disposition") or "completed") != case["disposition"]:
        problems.append("the closing row states another disposition")
    if case["disposition"] == "completed" and not case["certified"]:
        problems.append("it is completed without being certified")


def _premises(conclusions: list, problems: list[str]) -> tuple[dict[Atom, Mapping], list[Mapping]]:
    """The leaves of all proof trees by atom, and every derived node."""
    leaves: dict[Atom, Mapping] = {}
    derived = []
    waiting = list(conclusions)
    while waiting:
        node = waiting.pop()
        if node.get("cut"):
            problems.append(f"the proof of {node['text']} is cut short")
        if node["by"]["kind"] == "rule":
            derived.append(node)
            waiting.extend(node["premises"])
            weakest = max((TIER_RANK[each["tier"]] for each in node["premises"]), default=0)
            if TIER_RANK[node["tier"]] < weakest:
                problems.append(f"{node['text']} claims to be stronger than its weakest premise")
        else:
            leaves[Atom.of(node["predicate"], node["args"], node.get("negated", False))] = node
    return leaves, derived


def _check_premises(document: Mapping, release: Release, leaves: Mapping[Atom, Mapping], problems: list[str]) -> None:
    """Every premise must be one of the Case's own words, or stand in a row that the chain holds."""
    case = document["case"]
    words = set(words_of(release, root=case["root"], case_type=case["caseType"], case_id=case["caseId"],
                         business_key=case.get("businessKey") or {}))
    facts = {fact["id"] for fact in document["facts"]}
    said = _said(document["rows"])
    said_actions = {command["action"] for command in _commands(document["rows"]) if command["kind"] == "apply_action"}
    for atom, node in leaves.items():
        kind = node["by"]["kind"]
        if node["id"] not in facts:
            problems.append(f"premise {atom.text()} is not among the facts")
        if kind == "law":
            if atom not in words:
                problems.append(f"premise {atom.text()} is no word of this Case")
        elif kind == "agent":
            # an Agent's word is its own; only what it said under this very Case stands in these rows
            if node["by"].get("case") == case["caseId"] and atom not in said.get(None, ()):
                problems.append(f"premise {atom.text()} stands in no row of the receipt")
        elif "ordinal" in node["by"] and atom not in said.get(node["by"]["ordinal"], ()):
            problems.append(f"premise {atom.text()} stands in no row of the receipt")
        elif "ordinal" not in node["by"] and node["by"].get("action") not in said_actions:
            problems.append(f"premise {atom.text()} was brought about by no Action of the receipt")


def _said(rows: list) -> dict[int | None, set[Atom]]:
    """What the rows say was reported or brought about, by ordinal; under None, what the Agent asserted."""
    found: dict[int | None, set[Atom]] = {}
    for command in _commands(rows):
        if command["kind"] in ("record_receipt", "record_reconciliation"):
            happened = command.get("ok") or command.get("outcome") == "happened"
            stated = [*command.get("facts", ()), *command["plan"]["effects"]] if happened else ()
            found.setdefault(command["ordinal"], set()).update(_atom(each) for each in stated)
        elif command["kind"] == "apply_batch":
            found.setdefault(None, set()).update(
                _atom(each) for each in command["operations"] if each.get("op") in ("assert_fact", "revise_fact"))
    return found


def _atom(stated: Mapping) -> Atom:
    return Atom.of(stated["predicate"], stated.get("args"), stated.get("negated", False))


def _commands(rows: list) -> list[Mapping]:
    """The Board commands of the rows, those of compound rows one by one."""
    commands = [row["body"]["command"] for row in rows if row["kind"] == "board"]
    return [each for command in commands for each in (command["commands"] if command["kind"] == "several" else [command])]


def _check_conclusions(document: Mapping, release: Release, problems: list[str]) -> None:
    leaves, derived = _premises(document["conclusions"], problems)
    _check_premises(document, release, leaves, problems)
    program = Program()
    with program.transaction() as tx:
        for rule in law_rules(release):
            tx.add_rule(rule)
        for atom in leaves:
            tx.assert_fact(atom)
        tx.close()
    for node in derived:
        if not program.holds(Atom.of(node["predicate"], node["args"], node.get("negated", False))):
            problems.append(f"{node['text']} does not follow from the premises by the Release's rules")
    if document["case"]["certified"]:
        case_type = release.case_types[document["case"]["caseType"]]
        shown = {node["args"].get("node") for node in document["conclusions"] if node["predicate"] == "acceptance_met"}
        for task in case_type.task:
            if f"{document['case']['root']}/{task.node}" not in shown:
                problems.append(f"the acceptance of {task.node} is not proved")
        for node in document["conclusions"]:
            if TIER_RANK[node["tier"]] > TIER_RANK[case_type.floor]:
                problems.append(f"{node['text']} is below the contract's floor")
