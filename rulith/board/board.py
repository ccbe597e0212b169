"""The Board of one Agent: the law that every command of its Cases goes through.

Runs a command whole or refuses it and is as before; answers reads without changing
anything. What each command means lives in the modules beside this one: cases.py, batch.py,
actions.py, gates.py, views.py, proofs.py.

Refuses to know: who the Agent is beyond its id, what a Worker is, when "now" is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from sys import intern

from rulith.base.canonical import canonical_text, digest, sha256_hex
from rulith.base.errors import Refused
from rulith.base.limits import VIEW_BYTES_WRITE_MAX, VIEW_NODES_QUERY_MAX, VIEW_NODES_WRITE_MAX
from rulith.board import actions, attempts, cases, disclosure, proofs, receipts
from rulith.board.batch import Batch, refresh_aggregates
from rulith.board.capability_check import law_rules, read_release
from rulith.board.constitution import read_constitution
from rulith.board.direct import direct_actions
from rulith.board.gaps import nearest, rule_of_leaf, suppliers, total_lacks
from rulith.board.gates import reported_facts
from rulith.board.machine import Machine, members
from rulith.board.operations import Operation
from rulith.board.profiles import Profile, withheld_ordinals
from rulith.board.release import Release
from rulith.board.reports import land_report
from rulith.board.rests import may_be_read
from rulith.board.shapes import BoardPlan, ExternalPlan, Mint, Policy, Source, weaker
from rulith.board.state import ATTESTED, CLOSED, BoardState, Case, Fact, RuleInfo
from rulith.board.totals import rule_of
from rulith.board.views import Viewer, case_about
from rulith.board.words import ACCEPTANCE_MET
from rulith.rules.proofs import Missing
from rulith.rules.terms import Atom, read_literal

HISTORY_ROWS_DEFAULT = 500
WHY_DEPTH = 8
_RECONCILED = {"happened": (attempts.DONE, "happened"), "did_not": (attempts.FAILED, "did not happen"),
               "cannot_tell": (attempts.UNKNOWN, "cannot be told")}
CHANGED_MAX = 500     # node ids an Outcome names; a view shows no more


_ROOT = re.compile(r"root_[0-9a-f]{24}", re.ASCII)


class _Tried(Exception):
    """Raised to take back what was only tried."""

    def __init__(self, result: dict) -> None:
        self.result = result


class _Whole:
    """The block of one command: all of it on Program and journal alike, or nothing."""

    __slots__ = ("_board", "_transaction")

    def __init__(self, board: Board) -> None:
        self._board = board

    def __enter__(self) -> None:
        self._transaction = self._board.state.program.transaction()
        self._board.state.tx = self._transaction.__enter__()
        self._board.journal.open()

    def __exit__(self, kind: type[BaseException] | None, problem: BaseException | None, trace: object) -> None:
        board, state = self._board, self._board.state
        try:
            self._transaction.__exit__(kind, problem, trace)
        except BaseException:
            kind = BaseException
            raise
        finally:
            board.journal.__exit__(kind, problem, trace)
            state.tx = None
            if kind is not None:
                state.discard()
        if kind is None:
            board._settle()


class Board(Machine):
    """One Agent's Board; see the package docstring for the commands.

    recall   Case id -> {"leaves", "conclusions", "facts"} of a Case whose close is long past, or None; asked by reads only
    """

    COMMANDS = {
        "install_capability": ("_install_capability", *members("capability digest")),
        "install_constitution": ("_install_constitution", *members("constitution digest")),
        "open_case": ("_open_case", *members("caseType", "businessKey")),
        "focus_case": ("_focus_case", *members("caseId")),
        "pause_case": ("_pause_case", *members("caseId hold", "by reason")),
        "lift_hold": ("_lift_hold", *members("caseId hold", "by reason")),
        "apply_batch": ("_apply_batch", *members("operations focus")),
        "apply_action": ("_apply_action", *members("action focus", "args target")),
        "record_receipt": ("_record_receipt", *members(
            "ordinal plan ok facts resultDigest requestDigest workerId workerGeneration source", "reason result artifacts")),
        "record_report": ("_record_report", *members("order caseId facts returns args source tier told")),
        "record_refusal": ("_record_refusal", *members("ordinal plan reason")),
        "record_reconciliation": ("_record_reconciliation", *members("ordinal plan outcome by reason")),
        "close_case": ("_close_case", *members("root", "disposition reason obligations by")),
    }

    def __init__(self, agent_id: str, recall: Callable[[str], Mapping | None] = lambda case_id: None) -> None:
        super().__init__()
        self.agent_id = agent_id
        self._recall = recall
        self._closed = ""                  # digest of what was true of the Case that the running command closed
        self.state = BoardState(agent_id, self.journal)
        self.viewer = Viewer(self.state)

    # --- running a command -------------------------------------------------------------

    def _whole(self) -> _Whole:
        self._closed = ""
        return _Whole(self)

    def _settle(self) -> None:
        """A command was accepted: move the caches, and note what it touched."""
        state = self.state
        others = list(state.changes.others)
        moved, gone = state.commit()
        for atom in moved[:CHANGED_MAX]:
            self._touch_node(state.node_id(atom))
        for name in others[:CHANGED_MAX]:
            self._touch_node(name)
        for atom in (*moved, *gone):      # a leaf that came to be met, or ceased to be, moves its Case
            if atom.predicate == ACCEPTANCE_MET:
                case_id = self.case_of_root(str(atom.arguments["node"]))
                if case_id is not None:
                    self._touch_case(case_id)

    def _row_extra(self) -> dict:
        """What replay must find again: the closure, and where a Case closed, all that its receipt will state of it."""
        extra = {"closure": self.state.program.closure_digest()}
        return {**extra, "proofs": self._closed} if self._closed else extra

    def _touch_focus(self, focus: Sequence[str]) -> None:
        """The Cases a write was made under."""
        for case_id in focus:
            if self.state.cases[case_id].status != CLOSED:
                self._touch_case(case_id)

    # --- commands ----------------------------------------------------------------------

    def _install_capability(self, command: Mapping, at: str, draw: Mint) -> dict:
        # members in canonical order, as the ledger will give them back, so that no order but that one can matter
        state, release = self.state, read_release(json.loads(canonical_text(command["capability"])))
        if command["digest"] != release.digest:
            raise Refused("release_conflict", capability=release.id, problem=f"its digest is {release.digest}, not {command['digest']}")
        previous, answer = state.releases.get(release.id), {"id": release.id, "version": release.version, "digest": release.digest}
        if release.id in state.next:
            self.journal.drop(state.next, release.id)
        if previous is not None and previous.digest == release.digest:
            self._rebuild_law()
            return {**answer, "opens": list(release.case_types)}
        self._check_clashes(release)
        waits = cases.open_cases(state, release.id)
        if waits:            # an open Case stays on the Release that it opened with
            self.journal.put(state.next, release.id, release)
            self._rebuild_law()
            self._no_agent_writes_it(release)
            return {**answer, "opens": [], "waits": waits}
        self._put_in_force(release, at)
        return {**answer, "opens": list(release.case_types)}

    def _put_in_force(self, release: Release, at: str) -> None:
        """Let the Release take the place of the one before, of which no Case is open."""
        state = self.state
        if release.id in state.releases:
            self._remove_release(state.releases[release.id])
        rules = law_rules(release)
        for rule in rules:
            state.put_rule(RuleInfo(rule, True, release.digest, release.id, at=at))
        for row in release.aggregates:
            state.put_rule(RuleInfo(rule_of(row), True, release.digest, release.id, total=True, at=at))
        self.journal.put(state.releases, release.id, release)
        self.journal.set(state, "generation", state.generation + 1)
        self._rebuild_law()
        self._no_agent_writes_it(release)
        state.close_rules()

    def _rebuild_law(self) -> None:
        state = self.state
        for name, empty in (("protected", {}), ("actions", {}), ("case_types", {}), ("live", ()), ("summed", {})):
            self.journal.set(state, name, empty)
        state.rebuild_law()

    def try_install(self, document: Mapping) -> dict:
        """What installing this Capability now would answer; nothing is changed. Raises Refused as the command would."""
        command = {"capability": document, "digest": digest(document)}
        try:
            with self._whole():
                raise _Tried(self._install_capability(command, "", lambda prefix: prefix))
        except _Tried as tried:
            return tried.result

    def _remove_release(self, release: Release) -> None:
        state = self.state
        for rule_id in [*(rule.id for rule in law_rules(release)), *(row.id for row in release.aggregates)]:
            state.drop_rule(rule_id)
        self.journal.drop(state.releases, release.id)

    def _check_clashes(self, release: Release) -> None:
        for other in (*self.state.releases.values(), *self.state.next.values()):
            if other.id == release.id:
                continue
            shared = sorted(set(release.case_types) & set(other.case_types))
            if shared:
                raise Refused("release_conflict", capability=release.id, problem=f"{other.id} has the Case Type {shared[0]} too")
            if release.id.startswith(other.id + ".") or other.id.startswith(release.id + "."):
                raise Refused("release_conflict", capability=release.id, problem=f"its id overlaps that of {other.id}")

    def _no_agent_writes_it(self, release) -> None:
        """What becomes protected must not already stand on an Agent's word or rule."""
        protected = release.protected
        for fact in self.state.facts.values():
            if fact.origin == "asserted" and fact.atom.predicate in protected:
                raise Refused("release_conflict", capability=release.id, problem=f"the Agent has asserted {fact.atom.text()} ({fact.id})")
            if protected.get(fact.atom.predicate) == "pin" and fact.by.get("direct"):
                raise Refused("release_conflict", capability=release.id, problem=f"a direct Action has reported {fact.atom.text()} ({fact.id})")
        for info in self.state.rules.values():
            if not info.law and any(head.predicate in protected for head in info.rule.then):
                raise Refused("release_conflict", capability=release.id, problem=f"the Agent's rule {info.rule.id} concludes its predicates")
        for each in self.state.agent_actions.values():
            if any(effect.predicate in protected for effect in each.spec.effects):
                raise Refused("release_conflict", capability=release.id, problem=f"the Agent's Action {each.id} writes its predicates")

    def _install_constitution(self, command: Mapping, at: str, draw: Mint) -> dict:
        found = read_constitution(json.loads(canonical_text(command["constitution"])))
        if command["digest"] != found.digest:
            raise Refused("constitution_not_as_shown")
        self.journal.set(self.state, "constitution", found)
        return {"version": found.version, "digest": found.digest}

    def _open_case(self, command: Mapping, at: str, draw: Mint) -> dict:
        for release in [*self.state.next.values()]:      # what waited for the last Case of the one before
            if not cases.open_cases(self.state, release.id):
                self.journal.drop(self.state.next, release.id)
                self._put_in_force(release, at)
        result = cases.open_case(self.state, command, at, draw)
        if result["opened"]:
            self.state.close_rules()
        self._touch_case(result["caseId"])
        return result

    def _focus_case(self, command: Mapping, at: str, draw: Mint) -> dict:
        return cases.focus_case(self.state, command["caseId"])

    def _pause_case(self, command: Mapping, at: str, draw: Mint) -> dict:
        result = cases.hold_case(self.state, command, at, lift=False)
        self._touch_case(result["caseId"])
        return result

    def _lift_hold(self, command: Mapping, at: str, draw: Mint) -> dict:
        result = cases.hold_case(self.state, command, at, lift=True)
        self._touch_case(result["caseId"])
        return result

    def _apply_batch(self, command: Mapping, at: str, draw: Mint) -> dict:
        result = Batch(self.state, command["focus"], at, draw).run(command["operations"])
        self._touch_focus(command["focus"])
        return result

    def _apply_action(self, command: Mapping, at: str, draw: Mint) -> dict:
        result = actions.apply_board_action(self.state, command, at, draw)
        refresh_aggregates(self.state, [])
        self._touch_focus(command["focus"])
        return result

    def _record_receipt(self, command: Mapping, at: str, draw: Mint) -> dict:
        plan, state = command["plan"], self.state
        case = cases.find_case(state, plan["caseIds"][0])
        self._touch_focus(plan["caseIds"])
        if not command["ok"]:
            if command["facts"]:
                raise Refused("ingest_rejected", problem="a failed call reports no facts")
            attempts.remember(state, plan, attempts.FAILED, command.get("reason") or "no reason was given", at)
            return {"action": plan["action"], "done": True, "status": "failed", "ok": False, "nodeIds": []}
        source = Source.of(command["source"]) if command["source"] else None
        if (source.name if source else "") != plan["sourceRecordId"]:
            raise Refused("ingest_rejected", problem="it is judged against another Source than it was dispatched against")
        landed = reported_facts(state, plan, command["facts"], source)
        # names that every receipt repeats, and every fact keeps, are held once
        action, tool, record, connection, worker = map(intern, (
            plan["action"], plan["tool"], plan["sourceRecordId"], plan["connectionId"], command["workerId"]))
        by = {"kind": "receipt", "operation": action, "tool": tool, "source": record, "connection": connection,
              "ordinal": command["ordinal"], "at": at, "resultDigest": command["resultDigest"],
              "requestDigest": command["requestDigest"], "worker": worker, "generation": command["workerGeneration"]}
        rests = plan.get("restsOn", ())
        by.update(_carried(rests))
        if not plan["release"]:
            by["direct"] = True
        made = []
        for atom, tier in landed:
            fact = Fact(draw("f_"), atom, ATTESTED, tier, case.case_id, False, by, at)
            state.add_fact(fact)
            made.append(fact.id)
        tier = weaker("attested", source.tier if source else "attested")
        made += actions.bring_about(
            state, plan["effects"], tier=tier, case=case, at=at, draw=draw, local=False,
            by={"kind": "action", "action": action, "ordinal": command["ordinal"], "at": at, "resultDigest": command["resultDigest"],
                **_carried([*rests, *([[record, tier]] if record else ())])})
        if command.get("artifacts"):
            may_be_read(state, [*rests, *([[record, tier]] if record else ())])
        attempts.remember(state, plan, attempts.DONE, "it took effect and was recorded", at)
        self._settle_closure()
        return {"action": plan["action"], "done": True, "status": "confirmed", "ok": True, "nodeIds": made}

    def _record_report(self, command: Mapping, at: str, draw: Mint) -> dict:
        result = land_report(self.state, command, at, draw)
        self._touch_case(command["caseId"])
        self._settle_closure()
        return result

    def _record_refusal(self, command: Mapping, at: str, draw: Mint) -> dict:
        """A person said no, or nobody said yes in time: nothing ran."""
        plan = command["plan"]
        self._touch_focus(plan["caseIds"])
        attempts.remember(self.state, plan, attempts.REFUSED, command["reason"], at)
        return {"action": plan["action"], "done": True, "status": "refused", "ok": False}

    def _record_reconciliation(self, command: Mapping, at: str, draw: Mint) -> dict:
        plan, outcome = command["plan"], command["outcome"]
        case = cases.find_case(self.state, plan["caseIds"][0])
        self._touch_focus(plan["caseIds"])
        answer = {"action": plan["action"], "done": True, "nodeIds": []}
        if outcome in _RECONCILED:
            ended, said = _RECONCILED[outcome]
            attempts.remember(self.state, plan, ended, f"a person says it {said}: {command['reason']}", at)
        if outcome == "did_not":
            return {**answer, "status": "failed", "ok": False}
        if outcome == "cannot_tell":
            return {**answer, "status": "unknown"}
        if outcome != "happened":
            raise Refused("bad_command", problem=f"{outcome!r} is not an outcome a person can state")
        made = actions.bring_about(
            self.state, plan["effects"], tier="attested", case=case, at=at, draw=draw, local=False,
            by={"kind": "action", "action": plan["action"], "ordinal": command["ordinal"], "at": at,
                "reconciledBy": command["by"], "reason": command["reason"], **_carried(plan.get("restsOn", ()))})
        self._settle_closure()
        return {**answer, "status": "confirmed", "ok": True, "nodeIds": made}

    def _settle_closure(self) -> None:
        self.state.close_rules()
        refresh_aggregates(self.state, [])

    def _close_case(self, command: Mapping, at: str, draw: Mint) -> dict:
        result = cases.close_case(self.state, command, at, draw)
        self._closed = receipts.closing_digest(self.state.cases[result["caseId"]])
        refresh_aggregates(self.state, [])
        self._touch_case(result["caseId"])
        return result

    # --- reads -------------------------------------------------------------------------

    def plan_action(self, action: str, args: Mapping | None, target: str | None, policy: Policy, *,
                    focus: Sequence[str], at: str = "") -> BoardPlan | ExternalPlan:
        """The one way to apply this Action at that moment; the same call again checks it again. Raises Refused with why not.

        at  judges deadlines; without it none has passed
        """
        sight = self.viewer.sight(policy.profile)
        try:
            return actions.plan(self.state, action, args, target, policy, focus, at, sight)
        except Refused as refusal:
            if refusal.code != "governance_rejected":      # the others tell what this Agent may see and no more
                raise
            raise disclosure.shielded(self.state, sight, refusal) from None

    def view(self, profile: Profile | None, focus: Sequence[str], policy: Policy, *, nodes_max: int = VIEW_NODES_WRITE_MAX,
             bytes_max: int | None = VIEW_BYTES_WRITE_MAX, first: Sequence[str] = (),
             directory_max: int | None = None, at: str = "") -> dict:
        """The Board View for these focused Case ids; `first` is Outcome.changed, shown before everything else; `at` judges deadlines."""
        return self.viewer.view(profile, focus, policy, nodes_max=nodes_max, bytes_max=bytes_max, first=first,
                                directory_max=directory_max, at=at)

    def query(self, profile: Profile | None, focus: Sequence[str], policy: Policy, arguments: Mapping, *,
              nodes_max: int = VIEW_NODES_QUERY_MAX, at: str = "") -> dict:
        """The view that QueryBoard's arguments ask for; a Case's history where `include` says so."""
        if arguments.get("include") == ["caseHistory"]:
            root = arguments["selector"]["roots"][0]
            history = self.case_history(root, profile=profile, limit=arguments.get("limit", HISTORY_ROWS_DEFAULT),
                                        offset=arguments.get("historyOffset", 0), version=arguments.get("historyVersion"))
            return {"caseHistory": history}
        return self.viewer.query(profile, focus, policy, arguments, nodes_max=nodes_max, at=at)

    def check_sight(self, profile: Profile | None, command: Mapping) -> None:
        """Raises Refused where a command of an Agent reaches for what its Profile hides; what it may not see is unknown to it."""
        disclosure.check(self.state, self.viewer.sight(profile), command)

    def shielded(self, profile: Profile | None, refusal: Refused, policy: Policy = Policy()) -> Refused:
        """The refusal of a command without what the Profile hides; a direct Action in a batch is told by its right name."""
        sight, found = self.viewer.sight(profile), direct_actions(self.state, policy).get(str(refusal.facts.get("action")))
        if refusal.code == "unknown_action" and found is not None and (sight is None or sight.action(found.spec)):
            return Refused("board_action", action=found.spec.id, is_kind="run by a Worker, so it cannot be part of a batch",
                           instead="Apply it by itself with ApplyAction.")
        return disclosure.shielded(self.state, self.viewer.sight(profile), refusal)

    def shown_result(self, profile: Profile | None, result: dict) -> dict:
        """What a command answered without what the Profile hides."""
        return disclosure.shown_result(self.state, self.viewer.sight(profile), result)

    def withheld(self, profile: Profile | None, operations: Sequence[Operation]) -> frozenset[int]:
        """The ordinals whose outcome the Profile withholds now."""
        return withheld_ordinals(self.viewer.sight(profile), operations)

    def visible_cases(self, profile: Profile | None, case_ids: Sequence[str]) -> list[str]:
        sight = self.viewer.sight(profile)
        return [each for each in case_ids if sight is None or sight.case_id(each)]

    def case_detail(self, case_id: str, policy: Policy = Policy(), profile: Profile | None = None, *,
                    nodes_max: int = VIEW_NODES_QUERY_MAX) -> dict:
        case = self.state.cases.get(case_id)
        closing = self._closing(case) if case is not None and case.status == CLOSED else None
        return self.viewer.case_detail(case_id, policy, profile, nodes_max, closing)

    def _closing(self, case: Case) -> Mapping | None:
        """What was true at a Case's close, from memory or from where it was put down for good."""
        if case.status != CLOSED:
            return None
        return case.closing if case.closing is not None else self._recall(case.case_id)

    def proof(self, node: str | Mapping, case_id: str | None = None, profile: Profile | None = None) -> dict:
        """The proof tree of a node id or an atom, of closed Cases too. Raises Refused not_found.

        case_id  the Case it was seen in; without it, only the latest closed Cases and the one the id names are searched
        profile  as an Agent under it may read the proof: what it hides stands there as withheld
        """
        tree, sight = self._proof(node, case_id), self.viewer.sight(profile)
        shown = tree if sight is None else sight.proof(tree)
        if shown is None:
            raise Refused("not_found", what="fact", name=node if isinstance(node, str) else tree["id"])
        return shown

    def _proof(self, node: str | Mapping, case_id: str | None) -> dict:
        atom = self._atom(node)
        if atom is not None and self.state.program.holds(atom):
            case_id = self.case_of_root(str(atom.arguments["node"])) if atom.predicate == ACCEPTANCE_MET else None
            if case_id is not None:
                return cases.acceptance_proof(self.state, self.state.cases[case_id], atom)
            return proofs.proof_tree(self.state, atom)
        wanted = node if isinstance(node, str) else "derived:" + atom.identity()
        named = _ROOT.search(wanted)
        for each in dict.fromkeys([case_id, self.state.roots.get(named.group()) if named else None, *reversed(self.state.kept_closings)]):
            closing = self._closing(self.state.cases[each]) if each in self.state.cases else None
            for tree in closing["conclusions"] if closing is not None else ():
                found = _find(tree, wanted)
                if found is not None:
                    return found
        raise Refused("not_found", what="fact", name=node if isinstance(node, str) else atom.text())

    def _atom(self, node: str | Mapping) -> Atom | None:
        return self.state.atom_of(node) if isinstance(node, str) else read_literal(node, "the atom").atom()

    def why_not(self, atom: Mapping, policy: Policy = Policy()) -> dict:
        """{text, holds, lacks, via?}: the nearest rules that could conclude it, what each lacks, which Actions could supply it."""
        literal = read_literal(atom, "the atom")
        holds = next(iter(self.state.program.solve([literal], limit=1)), None) is not None
        lacks = [] if holds else total_lacks(self.state, literal) or self.state.program.why_not(literal, WHY_DEPTH, rule_of_leaf(self.state, literal))
        answer = {"text": literal.text(), "holds": holds, "lacks": [_lack(lack) for lack in lacks]}
        if not holds:
            answer["via"], _ = suppliers(self.state, nearest(lacks) or [Missing(literal, "absent")], policy)
        return answer

    def case(self, case_id: str) -> Case:
        return cases.find_case(self.state, case_id)

    def case_of_fact(self, fact_id: str) -> str | None:
        """The Case a stated fact was written under, or None where the Board holds no such fact."""
        fact = self.state.facts.get(fact_id)
        return fact.case_id if fact is not None else None

    def case_of_root(self, root: str) -> str | None:
        """The Case id of a root or of one of its task nodes, or None."""
        return self.state.roots.get(root.partition("/")[0])

    def has_case(self, case_id: object) -> bool:
        return case_id in self.state.cases

    def cases(self, newest: int | None = None, *, live: bool | None = None) -> list[dict]:
        """Every Case or the newest ones, oldest first: directory row, when it opened and closed, certified, Release.

        live  True: those that are not closed; False: those that are
        """
        wanted = (case for case in reversed(self.state.cases.values()) if live is None or (case.status != CLOSED) == live)
        found = list(islice(wanted, newest))
        return [case_about(case) for case in reversed(found)]

    def count_cases(self) -> tuple[int, int]:
        """How many Cases are live, and how many closed."""
        closed = sum(case.status == CLOSED for case in self.state.cases.values())
        return len(self.state.cases) - closed, closed

    def attempts(self, case_id: str) -> list[dict]:
        """What was tried in a live Case and is not repeated by rule, the latest last: {action, args, state, reason, at}."""
        return attempts.listed(self.case(case_id))

    def receipt_facts(self, case_id: str) -> dict:
        """The Board's part of the Terminal Receipt of a Case that has just closed; see receipts.py."""
        return receipts.receipt_facts(self.state, self.case(case_id))

    def is_certified(self, case_id: str) -> bool:
        case = self.case(case_id)
        return case.certified if case.status == CLOSED else cases.is_certified(cases.leaves(self.state, case))

    def drive(self, case_id: str) -> list[str]:
        case_type = self.state.case_types.get(self.case(case_id).type)
        return list(case_type.drive) if case_type is not None else []

    def releases(self) -> list[dict]:
        return [{"id": release.id, "version": release.version, "digest": release.digest, "title": release.title,
                 "caseTypes": list(release.case_types)} for release in self.state.releases.values()]

    @property
    def revision(self) -> int:
        return self.state.revision

    def closure_digest(self) -> str:
        return self.state.program.closure_digest()

    def case_history(self, root: str, *, profile: Profile | None = None, limit: int = HISTORY_ROWS_DEFAULT, offset: int = 0, version: str | None = None) -> dict:
        """What a Case held when it closed, by pages. Raises Refused stale_revision for another history's version."""
        case_id = self.state.roots.get(root)
        case = self.state.cases.get(case_id) if case_id is not None else None
        sight = self.viewer.sight(profile)
        closing = self._closing(case) if case is not None and (sight is None or sight.case(case)) else None
        if closing is None:
            return {"root": root, "status": "unavailable"}
        facts = closing["facts"] if sight is None else sight.closed_facts(closing)
        current = "history:" + sha256_hex(digest({"case": case.case_id, "closedAt": case.closed_at,
                                                  "facts": [fact["id"] for fact in facts]}).encode())
        if (version is not None and version != current) or (offset and version is None):
            raise Refused("stale_revision", what="the history of this Case")
        page = facts[offset:offset + limit]
        found = {"root": root, "caseId": case.case_id, "status": "available", "asOf": "case_close",
                 "disposition": case.disposition, "certified": case.certified, "facts": list(page),
                 "truncated": offset + len(page) < len(facts), "historyVersion": current}
        if found["truncated"]:
            found["nextOffset"] = offset + len(page)
        return found


def _carried(rests: Sequence[Sequence[str]]) -> dict:
    """The member of `by` that says which Sources the fact rests on beside its own; see rests.py."""
    found = sorted({tuple(each) for each in rests})
    return {"restsOn": [list(each) for each in found]} if found else {}


def _find(tree: Mapping, node_id: str) -> dict | None:
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if node["id"] == node_id:
            return dict(node)
        waiting.extend(node["premises"])
    return None


def _lack(lack) -> dict:
    bindings = dict(lack.bindings)
    found = {"rule": lack.rule_id, "label": lack.label, "head": lack.head.under(bindings).text(),
             "satisfied": [literal.text() for literal in lack.satisfied],
             "missing": [{"text": each.literal.text(), "reason": each.reason, **({"operands": dict(each.operands)} if each.operands else {})}
                         for each in lack.missing]}
    if lack.below:
        found["below"] = [_lack(each) for each in lack.below]
    return found
