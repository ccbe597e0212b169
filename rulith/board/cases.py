"""Cases: opening, holding, certifying and closing acceptance roots on one Board.

A root is certified when every leaf's acceptance is derived by law alone, at or above the
contract's floor, undisputed, with nothing pending. The same business key never has two
Cases live or completed. A closed Case takes its own words and its local facts and rules
with it; what was true at the close is kept in `closing`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from rulith.base.canonical import digest
from rulith.base.clock import seconds_of, stamp
from rulith.base.errors import Refused
from rulith.board.capability import CASE_TYPE, a_type, type_fits
from rulith.board.evidence import evidence
from rulith.board.law_proofs import Derivation, FirstFound, agents_reach, derivation
from rulith.board.proofs import fact_node, proof_tree
from rulith.board.release import CaseType, Release
from rulith.board.shapes import TIER_RANK, Mint
from rulith.board.state import ATTESTED, CLOSED, EXPLORATION, LAW, NO_ATTEMPTS, NO_HOLDS, PAUSED, RUNNING, BoardState, Case, Fact
from rulith.board.terminal import check_terminal
from rulith.board.words import (ACCEPTANCE, ACCEPTANCE_MET, CASE_CONTEXT, CASE_KEY, EXPLORATION_COMPLETED, GOAL_NODE,
                                ROOT, SUBGOAL_OF)
from rulith.rules.terms import BLANKS, Atom, Scalar, is_variable, normalise

DISPOSITIONS = ("completed", "cancelled", "failed", "abandoned", "superseded")
HOLDS = ("operator", "policy")
VOCABULARY_ROWS_MAX, VOCABULARY_BYTES_MAX = 32, 4_096
HISTORY_FACTS_MAX = 2_000       # facts kept of one closed Case
REASON_MAX = 500
KEY_TEXT_MAX = 256              # a business key names a thing; it is listed in every view
CLOSINGS_KEPT = 8               # latest closed Cases whose details stay in memory; a receipt holds them for good
BECAUSE = " because of "        # in what a leaf lacks: the premise that limits it follows
OPEN_CASES_MAX = 1_000          # per Board; each open Case takes part in every closure


def leaf_atom(root: str, node: str) -> Atom:
    return Atom.of(ACCEPTANCE_MET, {"node": f"{root}/{node}"})


# --- opening ---------------------------------------------------------------------------


def read_business_key(case_type: CaseType, given: object) -> dict[str, Scalar]:
    """The key as the contract names and types it, normalised. Raises Refused bad_business_key."""
    expected = ", ".join(f"{name}: {kind}" for name, kind in case_type.business_key.items())

    def bad(problem: str) -> Refused:
        return Refused("bad_business_key", case_type=case_type.id, problem=problem, expected=expected)

    if not isinstance(given, Mapping):
        raise bad("it is missing" if given is None else "it is not an object of named values")
    missing = [name for name in case_type.business_key if name not in given]
    strange = [str(name) for name in given if name not in case_type.business_key]
    if missing or strange:
        raise bad("; ".join([*(f"{name} is missing" for name in missing), *(f"{name} is not part of it" for name in strange)]))
    key = {}
    for name, kind in case_type.business_key.items():
        value = given[name]
        if not type_fits(value, kind) or (kind == "string" and not isinstance(value, str)):
            raise bad(f"{name} is not {a_type(kind)}")
        if isinstance(value, str) and (is_variable(value) or not value.strip(BLANKS)):
            raise bad(f"{name} is {value!r}, which names nothing")
        if isinstance(value, str) and len(value) > KEY_TEXT_MAX:
            raise bad(f"{name} is longer than {KEY_TEXT_MAX} characters")
        key[name] = normalise(value, f"businessKey.{name}")
    return key


def open_case(state: BoardState, command: Mapping, at: str, draw: Mint) -> dict:
    wanted, given = command["caseType"], command.get("businessKey")
    if not isinstance(wanted, str) or not CASE_TYPE.fullmatch(wanted):
        raise Refused("bad_command", problem=f"caseType {wanted!r} is not a Case Type's name")
    if wanted == EXPLORATION:
        if given is not None:
            raise Refused("bad_command", problem="An exploration has no business key")
        return _new_case(state, None, None, at, draw)
    case_type = state.case_types.get(wanted)
    if case_type is None:
        raise Refused("unknown_case_type", case_type=wanted, known=", ".join([*state.case_types, EXPLORATION]))
    key = read_business_key(case_type, given)
    latest = state.keys.get((wanted, digest(key)))
    if latest is not None:
        case = state.cases[latest]
        if case.status != CLOSED:
            return focus_case(state, latest)
        if case.disposition == "completed":
            raise Refused("case_closed", case=case.case_id, disposition=case.disposition)
    _check_no_upgrade(state, case_type.capability)
    return _new_case(state, case_type, key, at, draw)


def open_cases(state: BoardState, capability: str) -> list[str]:
    """The open Cases under a Capability's Release in force."""
    return [case.case_id for case in state.cases.values()
            if case.status != CLOSED and case.release is not None and case.release["id"] == capability]


def _check_no_upgrade(state: BoardState, capability: str) -> None:
    """Raises Refused board_draining while a newer Release waits for the open Cases of this one."""
    waiting = state.next.get(capability)
    if waiting is not None:
        raise Refused("board_draining", instead="Close those first; then new Cases open under the new Release.", problem=(
            f"{capability} {waiting.version} waits for the open Cases of {state.releases[capability].version}: {', '.join(open_cases(state, capability)[:10])}"))


def _new_case(state: BoardState, case_type: CaseType | None, key: dict | None, at: str, draw: Mint) -> dict:
    if sum(case.status != CLOSED for case in state.cases.values()) >= OPEN_CASES_MAX:
        raise Refused("case_admission_refused", case_type=case_type.id if case_type else EXPLORATION,
                      problem=f"{OPEN_CASES_MAX} Cases of this Board are open")
    case_id, root = draw("case_"), draw("root_")
    key_digest = digest(key) if key is not None else ""
    release = state.releases[case_type.capability] if case_type is not None else None
    deadline = stamp(seconds_of(at) + case_type.deadline_s + 0.0005) if case_type is not None and case_type.deadline_s else ""
    case = Case(case_id, root, case_type.id if case_type else EXPLORATION, key, key_digest,
                {"id": release.id, "version": release.version, "digest": release.digest} if release else None,
                case_type.contract if case_type else "", state.generation, at, deadline)
    journal = state.journal
    state.put_case(case)
    journal.put(state.roots, root, case_id)
    if case_type is not None:
        journal.put(state.keys, (case_type.id, key_digest), case_id)
    for atom in case_words(release, case):
        state.add_fact(Fact(draw("f_"), atom, LAW, "verified", case_id, False, {"kind": "law", "what": "case opened"}, at))
    answer = {"caseId": case_id, "root": root, "status": RUNNING, "caseType": case.type, **({"deadline": deadline} if deadline else {})}
    if case_type is not None:
        answer["businessKey"] = dict(key)
        answer["taskNodes"] = [{"node": f"{root}/{task.node}", "goal": task.goal} for task in case_type.task]
        answer.update(vocabulary(state, case_type))
    return {**answer, "drive": list(case_type.drive) if case_type else [], "opened": True}


def case_words(release: Release | None, case: Case) -> list[Atom]:
    """The Board words that say a Case is open; law facts of tier verified."""
    return words_of(release, root=case.root, case_type=case.type, case_id=case.case_id, business_key=case.business_key or {})


def words_of(release: Release | None, *, root: str, case_type: str, case_id: str, business_key: Mapping) -> list[Atom]:
    words = [Atom.of(ROOT, {"node": root}),
             Atom.of(CASE_CONTEXT, {"root": root, "case_type": case_type, "case_id": case_id})]
    for name, value in business_key.items():
        words.append(Atom.of(CASE_KEY, {"root": root, "name": name, "value": value}))
    for task in release.case_types[case_type].task if release is not None else ():
        node = f"{root}/{task.node}"
        words += [Atom.of(GOAL_NODE, {"node": node}), Atom.of(SUBGOAL_OF, {"child": node, "parent": root}),
                  Atom.of(ACCEPTANCE, {"node": node, "test": release.test_name(task.acceptance)})]
    return words


def vocabulary(state: BoardState, case_type: CaseType) -> dict:
    """The Capability's predicate signatures, cut to what OpenCase may carry."""
    signatures, size = [], 0
    for spec in state.releases[case_type.capability].predicates.values():
        text = spec.signature()
        size += len(text.encode("utf-8"))
        if len(signatures) == VOCABULARY_ROWS_MAX or size > VOCABULARY_BYTES_MAX:
            return {"vocabulary": signatures, "vocabularyTruncated": True}
        signatures.append(text)
    return {"vocabulary": signatures}


# --- focus and holds -------------------------------------------------------------------


def find_case(state: BoardState, case_id: object) -> Case:
    case = state.cases.get(case_id) if isinstance(case_id, str) else None
    if case is None:
        raise Refused("unknown_case", case=case_id)
    return case


def case_of_root(state: BoardState, root: object) -> Case:
    """The Case of a root or of one of its task nodes."""
    name = root.partition("/")[0] if isinstance(root, str) else root
    case_id = state.roots.get(name) if isinstance(name, str) else None
    if case_id is None:
        raise Refused("not_found", what="root", name=root)
    return state.cases[case_id]


def check_in_time(case: Case, at: str) -> Case:
    """Raises Refused board_draining for a Case past its deadline."""
    if case.is_expired(at):
        raise Refused("board_draining", problem=f"{case.case_id} is past its deadline of {case.deadline}",
                      instead="Close it, as completed where it is certified, else with another disposition and a reason. New work needs another Case.")
    return case


def check_running(case: Case) -> Case:
    if case.status == CLOSED:
        raise Refused("case_closed", case=case.case_id, disposition=case.disposition)
    if case.status == PAUSED:
        raise Refused("case_paused", case=case.case_id, holds=" and ".join(map(_hold_text, case.holds.items())))
    return case


def focus_case(state: BoardState, case_id: object) -> dict:
    case = check_running(find_case(state, case_id))
    case_type = state.case_types.get(case.type)
    answer = {"caseId": case.case_id, "root": case.root, "status": case.status, "caseType": case.type}
    if case.deadline:
        answer["deadline"] = case.deadline
    if case.business_key:
        answer["businessKey"] = dict(case.business_key)
    return {**answer, "drive": list(case_type.drive) if case_type else [], "opened": False}


def _hold_text(hold: tuple[str, Mapping]) -> str:
    name, said = hold
    return f"{name} ({said['reason']})" if "reason" in said else name


def hold_case(state: BoardState, command: Mapping, at: str, *, lift: bool) -> dict:
    case, hold = find_case(state, command["caseId"]), command["hold"]
    if hold not in HOLDS:
        raise Refused("bad_command", problem=f"A hold is one of {', '.join(HOLDS)}, not {hold!r}")
    if case.status == CLOSED:
        raise Refused("case_closed", case=case.case_id, disposition=case.disposition)
    if hold in case.holds and not lift:
        raise Refused("case_hold_stands", case=case.case_id, hold=hold)
    if hold not in case.holds and lift:
        raise Refused("case_not_held", case=case.case_id, hold=hold)
    said = {name: command[name][:REASON_MAX] for name in ("by", "reason") if command.get(name)}
    holds = {name: case.holds[name] for name in case.holds if name != hold} if lift else {**case.holds, hold: {**said, "at": at}}
    state.put_case(replace(case, holds=holds or NO_HOLDS, status=PAUSED if holds else RUNNING))
    return {"caseId": case.case_id, "status": PAUSED if holds else RUNNING}


def writable_cases(state: BoardState, focus: Sequence[str], at: str) -> list[Case]:
    """The focused Cases a write may belong to. Raises Refused when there is none, naming why."""
    found = [find_case(state, case_id) for case_id in focus]
    running = [case for case in found if case.status == RUNNING]
    if not running:
        paused = next((case for case in found if case.status == PAUSED), None)
        if paused is not None:
            check_running(paused)
        raise Refused("no_acceptance_root")
    in_time = [case for case in running if not case.is_expired(at)]
    if not in_time:
        check_in_time(running[-1], at)
    return in_time


# --- certification ---------------------------------------------------------------------


def leaves(state: BoardState, case: Case) -> list[dict]:
    """One row per leaf: {node, goal, met, tier?, lacks?}; `lacks` says why a derived leaf does not count."""
    if case.is_exploration:
        return [_goal_leaf(state, goal) for goal in state.goals.values() if goal.case_id == case.case_id]
    case_type = state.case_types[case.type]
    return [_task_leaf(state, case, case_type, task) for task in case_type.task]


def _task_leaf(state: BoardState, case: Case, case_type: CaseType, task) -> dict:
    atom = leaf_atom(case.root, task.node)
    row = {"node": f"{case.root}/{task.node}", "goal": task.goal, "met": False}
    if not state.program.is_derived(atom):
        return row
    proof = certifying(state, case_type, atom)
    ground = proof.ground(atom) if proof is not None else state.ground(atom)
    row["tier"] = ground.tier
    if proof is None and state.disputed(atom):
        row["lacks"] = "what it rests on is contradicted by another fact"
    elif proof is None and (not ground.law_only or agents_reach(state, atom.predicate)):
        row["lacks"] = "its derivation uses a rule of the Agent, and only the Capability's own rules count"
    elif TIER_RANK[ground.tier] > TIER_RANK[case_type.floor]:
        row["lacks"] = (f"it is derived, but only {ground.tier}{BECAUSE}{ground.witness.text()}; "
                        f"the contract's floor is {case_type.floor}")
    else:
        row["met"] = True
    return row


def certifying(state: BoardState, case_type: CaseType, atom: Atom) -> Derivation | FirstFound | None:
    """The derivation by law alone that a certification of this acceptance stands on; the first found where it is enough."""
    first = FirstFound(state)
    ground = first.ground(atom)
    enough = ground.law_only and TIER_RANK[ground.tier] <= TIER_RANK[case_type.floor] and not state.disputed(atom)
    return first if enough and not agents_reach(state, atom.predicate) else derivation(state, atom)


def acceptance_proof(state: BoardState, case: Case, atom: Atom) -> dict:
    """The proof tree of a leaf's acceptance: the one it is certified on, or else the stored one."""
    case_type = state.case_types.get(case.type)
    proof = certifying(state, case_type, atom) if case_type is not None else None
    return proof_tree(state, atom, proof)


def _goal_leaf(state: BoardState, goal) -> dict:
    row = {"node": goal.id, "goal": goal.label, "met": False}
    tiers, sealed = [], True
    for literal in goal.desired:
        atom = next(matching_atoms(state, literal, exact=literal.is_ground()), None)
        if atom is None:
            return row
        fact = state.strongest(atom)
        sealed = sealed and fact is not None and fact.origin == "asserted"
        tiers.append(state.ground(atom).tier)
    row["tier"] = max(tiers, key=lambda tier: TIER_RANK[tier])
    if sealed:
        row["lacks"] = "it is held by bare assertions alone; derive it from facts"
    else:
        row["met"] = True
    return row


def matching_atoms(state: BoardState, literal, *, exact: bool = False):
    """Usable atoms that fit a pattern: equal when `exact`, else every named argument agrees."""
    if exact:
        atom = literal.atom()
        if state.program.holds(atom):
            yield atom
        return
    yield from state.program.matching(literal)


def is_certified(rows: Sequence[Mapping]) -> bool:
    return bool(rows) and all(row["met"] for row in rows)


# --- closing ---------------------------------------------------------------------------


def close_case(state: BoardState, command: Mapping, at: str, draw: Mint) -> dict:
    case = case_of_root(state, command["root"])
    disposition, reason = command.get("disposition") or "completed", command.get("reason") or ""
    if case.status == CLOSED:
        raise Refused("case_closed", case=case.case_id, disposition=case.disposition)
    if command["root"] != case.root:
        raise Refused("bad_command", problem=f"{command['root']} is a node of {case.root}; only a root closes")
    if not command.get("by"):
        check_running(case)        # a hold stands in the Agent's way, not in that of the people who may lift it
    if disposition not in DISPOSITIONS:
        raise Refused("bad_command", problem=f"A disposition is one of {', '.join(DISPOSITIONS)}, not {disposition!r}")
    if command.get("obligations"):
        raise Refused("case_busy", case=case.case_id, obligations=", ".join(command["obligations"]))
    rows = leaves(state, case)
    certified = is_certified(rows)
    if disposition == "completed" and not certified:
        raise Refused("case_not_certified", root=case.root, problem=uncertified_text(case, rows))
    if disposition != "completed" and not (isinstance(reason, str) and reason.strip(BLANKS)):
        raise Refused("bad_command", problem=f"Closing as {disposition} needs a reason")
    if case.is_exploration and certified:
        state.add_fact(Fact(draw("f_"), Atom.of(EXPLORATION_COMPLETED, {"case_id": case.case_id}), LAW, "verified",
                            case.case_id, False, {"kind": "law", "what": "every goal of the exploration is met"}, at))
    state.close_rules()
    closing = closing_record(state, case, rows)
    if disposition == "completed":
        release = state.releases[case.release["id"]] if case.release else None
        check_terminal(state, case, state.case_types.get(case.type), case_words(release, case), closing["conclusions"])
    closed = replace(case, status=CLOSED, holds=NO_HOLDS, attempts=NO_ATTEMPTS, disposition=disposition, reason=str(reason)[:REASON_MAX],
                     closed_at=at, closed_by=command.get("by", ""), certified=certified, closing=closing)
    state.put_case(closed)
    _keep_closing(state, closed)
    _take_away(state, closed)
    return {"caseId": case.case_id, "root": case.root, "disposition": disposition, "certified": certified}


def uncertified_text(case: Case, rows: Sequence[Mapping]) -> str:
    if not rows:
        return "it has no goal yet; declare one with declare_goal"
    texts = [f"{row['node']} ({row['goal']}) is not met" + (f": {row['lacks']}" if "lacks" in row else "")
             for row in rows if not row["met"]]
    return "; ".join(texts)


def closing_record(state: BoardState, case: Case, rows: Sequence[Mapping]) -> dict:
    """What was true at the close: leaves, their proofs, the facts those rest on, and what it takes to derive them again."""
    conclusions = []
    for row in rows:
        if case.is_exploration:
            goal = state.goals[row["node"]]
            atoms = [next(matching_atoms(state, literal, exact=literal.is_ground()), None) for literal in goal.desired]
        else:
            atoms = [leaf_atom(case.root, row["node"].partition("/")[2])]
        conclusions += [acceptance_proof(state, case, atom) if atom.predicate == ACCEPTANCE_MET else proof_tree(state, atom)
                        for atom in atoms if atom is not None and state.program.holds(atom)]
    facts, seen = [], set()
    waiting = list(reversed(conclusions))
    while waiting:
        node = waiting.pop()
        waiting.extend(reversed(node["premises"]))
        if node["id"] not in seen:
            seen.add(node["id"])
            facts.append({name: value for name, value in node.items() if name not in ("premises", "computed")})
    for fact in state.facts_of(case.case_id):
        if fact.origin != LAW and fact.id not in seen:
            seen.add(fact.id)
            facts.append(fact_node(state, fact))
    return {"leaves": [dict(row) for row in rows], "conclusions": conclusions, "facts": facts[:HISTORY_FACTS_MAX],
            "truncated": len(facts) > HISTORY_FACTS_MAX, **evidence(state, conclusions, case.release["id"] if case.release else "")}


def _keep_closing(state: BoardState, case: Case) -> None:
    """Hold the details of this close, and let go of the oldest that are held."""
    kept = (*state.kept_closings, case.case_id)
    for case_id in kept[:-CLOSINGS_KEPT]:
        state.put_case(replace(state.cases[case_id], closing=None))
    state.journal.set(state, "kept_closings", kept[-CLOSINGS_KEPT:])
    for part in ("leaves", "gaps", "tried"):
        state.reads.pop((part, case.case_id), None)


def _take_away(state: BoardState, case: Case) -> None:
    """Remove the Case's own words, an exploration's facts, and every rule the Agent added under it.

    What Sources attested under a Case that did not complete goes too, so that the next Case
    of the same key looks again; what its Actions brought about stays, since it happened.
    """
    for rule_id in [rule_id for rule_id, info in state.rules.items() if info.case_id == case.case_id]:
        state.drop_rule(rule_id)
    for fact in state.facts_of(case.case_id):
        if fact.origin == LAW or fact.local or (fact.origin == ATTESTED and case.disposition != "completed"):
            state.remove_fact(fact.id)
    for book in (state.goals, state.agent_actions, state.aggregates):
        for key in [key for key, each in book.items() if each.case_id == case.case_id]:
            state.journal.drop(book, key)
            state.changes.others[key] = None
    state.close_rules()
