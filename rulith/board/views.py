"""Views: the bounded picture of a Board that an answer carries.

What changed comes first, then the newest facts, until the node or byte bound is met;
goals are kept longest. Parts that did not change since the last view are not computed
again: each part knows the predicates it reads.

Source  the MCP surface, "Board View".
"""

from __future__ import annotations

import operator
from collections import deque
from collections.abc import Mapping, Sequence
from itertools import chain, islice

from rulith.base.errors import Refused
from rulith.base.json_text import escaped, text_encoder
from rulith.base.limits import VIEW_NODES_QUERY_MAX
from rulith.board.actions import action_row, direct_row
from rulith.board.attempts import by_action
from rulith.board.batch import rule_permission
from rulith.board.cases import BECAUSE, is_certified, leaves
from rulith.board.direct import direct_actions, permits_direct
from rulith.board.gaps import case_gaps
from rulith.board.profiles import WITHHELD, Profile, Sight
from rulith.board.release import ActionSpec
from rulith.board.shapes import Policy
from rulith.board.state import CLOSED, DERIVED, PAUSED, RUNNING, BoardState, Case, Goal, Shown
from rulith.board.words import ACCEPTANCE_MET
from rulith.rules.terms import Atom

DIRECTORY_ROWS_MAX = 50       # newest Cases listed; QueryBoard takes a limit of its own
DIRECTORY_ROWS_BOUNDED = 8    # in a view with a byte bound
ACTIONS_MAX = 64
GOALS_MAX = 40
FIXED_BYTES = 120             # total, truncated and the brackets of nodes
# Shares of a byte bound. Actions beyond theirs are name-only, up to the second share; other rows are left out.
ACTIONS_SHARE, NAMES_SHARE, GAPS_SHARE, LEAVES_SHARE, DIRECTORY_SHARE = 0.3, 0.08, 0.3, 0.12, 0.1
NODE_BYTES_MIN = 100          # no node is smaller
NODES_KEPT = 1_000            # rendered nodes that are remembered: more than any view shows
NODES_SKIPPED_MAX = 8         # nodes too large for what is left, before the search for smaller ones ends
NO_BOUND = float("inf")
TRUNCATED = ',"truncated":true'
NODES_ESCAPED, TOTAL_ESCAPED, TRUNCATED_ESCAPED = map(escaped, ('"nodes":[', '"total":', TRUNCATED))

_NO_GAPS: list[dict] = []
_dumps = text_encoder()


class View(dict):
    """A view that knows its own JSON text, `escaped` as well; whoever changes a member copies it into a plain dict first."""

    __slots__ = ("escaped", "text")


class Viewer:
    """Composes views of one Board."""

    def __init__(self, state: BoardState) -> None:
        self.state = state
        self._sights: dict[Profile, Sight] = {}
        self._rendered: deque[Shown] = deque()    # those that hold their node, the longest so first
        self._last_fixed: tuple | None = None     # (mark, parts, (view without nodes, its JSON text, size))
        self._last_quick: tuple | None = None     # (what the parts can depend on, the same)

    def sight(self, profile: Profile | None) -> Sight | None:
        """What this Profile shows of the Board; None where there is none, so everything."""
        if profile is None:
            return None
        found = self._sights.get(profile)
        if found is None:
            self._sights.clear()
            found = self._sights[profile] = Sight(self.state, profile)
        return found

    # --- the view ----------------------------------------------------------------------

    def view(self, profile: Profile | None, focus: Sequence[str], policy: Policy, *, nodes_max: int, bytes_max: int | None,
             first: Sequence[str] = (), directory_max: int | None = None, at: str = "") -> View:
        state, sight = self.state, self.sight(profile)
        cases = [state.cases[case_id] for case_id in focus if case_id in state.cases and (sight is None or sight.case_id(case_id))]
        live = [case for case in cases if case.status in (RUNNING, PAUSED)]
        expired = tuple(case.case_id for case in live if case.is_expired(at))
        fixed, fixed_text, fixed_escaped, size = self._fixed(profile, cases, live, policy, directory_max, bytes_max, expired)
        left = None if bytes_max is None else bytes_max - FIXED_BYTES - size
        nodes, texts, quoted, total = self._choose(profile, live, nodes_max, left, first)
        view = View(fixed)
        view["nodes"], view["total"] = nodes, total
        cut = len(nodes) < total
        if cut:
            view["truncated"] = True
        view.text = f'{fixed_text},"nodes":[{",".join(texts)}],"total":{total}{TRUNCATED if cut else ""}}}'
        view.escaped = f'{fixed_escaped},{NODES_ESCAPED}{",".join(quoted)}],{TOTAL_ESCAPED}{total}{TRUNCATED_ESCAPED if cut else ""}}}'
        return view

    def _fixed(self, profile: Profile | None, cases: Sequence[Case], live: Sequence[Case], policy: Policy,
               directory_max: int | None, bytes_max: int | None, expired: tuple[str, ...]) -> tuple[dict, str, str, int]:
        """Everything but the nodes, its JSON text without the last bracket, that escaped, and its size; the very same ones while none of its parts changed."""
        state = self.state
        quick = (profile, directory_max, bytes_max, expired, tuple(state.next), policy.version, state.case_version, state.generation, state.rules_version,
                 state.watched_version, [case.case_id for case in cases])
        if profile is None and self._last_quick is not None and self._last_quick[0] == quick and not any(case.is_exploration for case in live):
            return self._last_quick[1]
        found = self._fixed_parts(profile, cases, live, policy, directory_max, bytes_max, expired)
        self._last_quick = (quick, found)
        return found

    def _fixed_parts(self, profile: Profile | None, cases: Sequence[Case], live: Sequence[Case], policy: Policy,
                     directory_max: int | None, bytes_max: int | None, expired: tuple[str, ...]) -> tuple[dict, str, str, int]:
        rows = [self._leaves(case) for case in live]
        gaps = [self._gaps(case, leaf_rows, policy, self.sight(profile)) for case, leaf_rows in zip(live, rows)]
        actions = self._actions(live, policy, profile, expired)
        parts = (*cases, *rows, *gaps, *actions)
        mark = (profile, directory_max, bytes_max, expired, tuple(self.state.next), self.state.case_version, self.state.generation, len(parts))
        known = self._last_fixed
        if known is not None and known[0] == mark and all(map(operator.is_, known[1], parts)):
            return known[2]
        if directory_max is None:
            directory_max = DIRECTORY_ROWS_MAX if bytes_max is None else DIRECTORY_ROWS_BOUNDED
        status = {case.root: self._status(_relabelled(leaf_rows, self.state, self.sight(profile)), bytes_max, LEAVES_SHARE / len(live)) for case, leaf_rows in zip(live, rows)}
        directory = self.directory(directory_max, profile)
        listed = len(directory["directory"])
        directory["directory"] = _within(directory["directory"], bytes_max, DIRECTORY_SHARE)
        if len(directory["directory"]) < listed:
            directory["truncated"] = True
        view = {
            "position": self._position(live, expired),
            "roots": [_root_row(case, case.case_id in expired) for case in cases],
            "cases": directory,
            "gaps": _within([gap for each in gaps for gap in each], bytes_max, GAPS_SHARE),
            "actions": _actions_within(actions, bytes_max),
            "taskStatus": status,
        }
        text = _dumps(view)
        found = (view, text[:-1], escaped(text[:-1]), len(text.encode()))
        self._last_fixed = (mark, parts, found)
        return found

    def _status(self, rows: list[dict], bytes_max: int | None, share: float) -> dict:
        """The verdict of one root; leaves that are open come first where not all fit."""
        leaves = [{name: value for name, value in row.items() if name != "lacks"} for row in rows]
        shown = _within(leaves, bytes_max, share)
        if len(shown) < len(leaves):
            shown = _within(sorted(leaves, key=lambda row: row["met"]), bytes_max, share)
            return {"certified": is_certified(rows), "leaves": shown, "leavesTotal": len(leaves)}
        return {"certified": is_certified(rows), "leaves": shown}

    def query(self, profile: Profile | None, focus: Sequence[str], policy: Policy, arguments: Mapping, *, nodes_max: int, at: str = "") -> dict:
        """The view a QueryBoard asks for: the directory alone, or parts of the selected roots.

        Roots that are missing, deleted or not visible are listed alike as unavailable.
        """
        state, sight, include = self.state, self.sight(profile), arguments.get("include")
        wanted = (arguments.get("selector") or {}).get("roots")
        chosen = list(focus) if wanted is None else [state.roots[root] for root in wanted
                                                     if root in state.roots and (sight is None or sight.case_id(state.roots[root]))]
        view = dict(self.view(profile, chosen, policy, nodes_max=nodes_max if include and "nodes" in include else 0,
                              bytes_max=None, directory_max=min(nodes_max or DIRECTORY_ROWS_MAX, VIEW_NODES_QUERY_MAX), at=at))
        for member, parts in (("nodes", ("nodes", "total", "truncated")), ("gaps", ("gaps",)), ("taskStatus", ("taskStatus",)),
                              ("cases", ("cases",))):
            if include is None and member == "nodes" or include is not None and member not in include:
                for part in parts:
                    view.pop(part, None)
        if include is not None and "cases" in include and wanted is None:
            view.pop("actions", None)
        if wanted is None and sight is not None:
            chosen = [case_id for case_id in chosen if sight.case_id(case_id)]
        if wanted is not None:
            known = {state.cases[case_id].root for case_id in chosen}
            missing = [root for root in wanted if root not in known]
            if missing:
                view["unavailableRoots"] = missing
        return view

    def _position(self, live: Sequence[Case], expired: Sequence[str]) -> dict:
        permissions = [rule_permission(self.state, case) for case in live]
        rules: object = {"none": "not_permitted"}
        for wanted in ("rules_and_actions", "rules_only"):
            if wanted in permissions:
                rules = wanted
                break
        late = live and len(expired) == len(live)
        draining = any(case.release is not None and case.release["id"] in self.state.next for case in live)
        return {"writes": {"paused": "cases_expired"} if late else "open", "newCases": {"closed": "not_accepting"} if draining else "open", "rules": rules}

    def directory(self, limit: int, profile: Profile | None = None) -> dict:
        cases, sight = self.state.cases, self.sight(profile)
        total = len(cases) if sight is None else sum(map(sight.case, cases.values()))
        shown = (case for case in reversed(cases.values()) if sight is None or sight.case(case))
        chosen = [case.row() for case in islice(shown, limit)]
        found: dict = {"directory": chosen, "total": total}
        if len(chosen) < total:
            found["truncated"] = True
        return found

    # --- parts that are cached by what they read ---------------------------------------

    def _leaves(self, case: Case) -> list[dict]:
        return self.state.cached(("leaves", case.case_id), self._read_by_leaves(case), lambda: leaves(self.state, case))

    def _gaps(self, case: Case, rows: list[dict], policy: Policy, sight: Sight | None = None) -> list[dict]:
        if all(row["met"] for row in rows):
            return _NO_GAPS
        if sight is not None:
            return case_gaps(self.state, case, _relabelled(rows, self.state, sight), policy, sight)
        needs = (*self._read_by_leaves(case), policy.version)
        return self.state.cached(("gaps", case.case_id), needs, lambda: case_gaps(self.state, case, rows, policy))

    def _read_by_leaves(self, case: Case) -> tuple:
        """What leaves and gaps of a live Case depend on: of the Case itself only what never changes while it lives."""
        state = self.state
        if case.is_exploration:
            return state.revision, state.rules_version
        return state.versions_of(state.depends((ACCEPTANCE_MET,))), state.rules_version

    def _actions(self, live: Sequence[Case], policy: Policy, profile: Profile | None, expired: Sequence[str] = ()) -> list[dict]:
        running = tuple(case for case in live if case.status == RUNNING and case.case_id not in expired)
        paused = bool(live) and not running and any(case.case_id not in expired for case in live)
        # Of a running Case a row depends on what never changes while it runs, and on what was tried with this Action.
        ids = tuple(case.case_id for case in running)
        tried = [self.state.cached(("tried", case.case_id), (case,), lambda case=case: by_action(case)) if case.attempts else {}
                 for case in running]
        found, sight = [], self.sight(profile)
        for spec in self._offered(live):
            if sight is not None:
                if sight.action(spec):
                    found.append(action_row(self.state, spec, running, paused, bool(expired), policy, sight))
                if len(found) == ACTIONS_MAX:
                    break
                continue
            read = tuple(literal.predicate for literal in spec.preconditions)
            needs = (spec, ids, tuple(each.get(spec.id) for each in tried), paused, bool(expired), self.state.versions_of(read), policy.version)
            found.append(self.state.cached(("action", spec.id), needs,
                                           lambda spec=spec: action_row(self.state, spec, running, paused, bool(expired), policy)))
            if len(found) == ACTIONS_MAX:
                break
        if any(permits_direct(self.state, case) for case in live):
            found += [direct_row(self.state, each, running, paused, bool(expired), policy) for each in direct_actions(self.state, policy).values()
                      if sight is None or sight.action(each.spec)][:ACTIONS_MAX - len(found)]
        return found

    def _offered(self, live: Sequence[Case]) -> list[ActionSpec]:
        """The Actions of the focused Cases' Capabilities, those to drive first, then the Agent's own."""
        found: dict[str, ActionSpec] = {}
        for case in live:
            case_type = self.state.case_types.get(case.type)
            if case_type is None:
                continue
            for name in case_type.drive:
                found[name] = self.state.actions[name]
            for name, spec in self.state.releases[case_type.capability].actions.items():
                found.setdefault(name, spec)
        for each in self.state.agent_actions.values():
            found.setdefault(each.spec.id, each.spec)
        return list(found.values())

    # --- nodes -------------------------------------------------------------------------

    def _render(self, shown: Shown) -> None:
        """The node of a visible atom, its JSON text and its size in bytes, as they are in this epoch."""
        state, atom = self.state, shown.atom
        fact = state.strongest(atom)
        disputed = bool(state.disputable) and state.disputed(atom)
        stand = (disputed, fact) if fact is not None else (disputed, state.ground(atom).tier, state.concluded_by(atom))
        shown.epoch = state.epoch
        if shown.node is not None and shown.stand == stand:
            return
        node = {"id": state.node_id(atom), "kind": "finding" if atom.predicate == "finding" else "fact",
                "text": atom.text(), "predicate": atom.predicate, "args": dict(atom.args)}
        if atom.negated:
            node["negated"] = True
        if fact is not None:
            node["origin"], node["tier"] = fact.origin, fact.tier
            if fact.by.get("source"):
                node["source"] = fact.by["source"]
        else:
            node["origin"], node["tier"], node["by"] = DERIVED, *stand[1:]
        if disputed:
            node["disputed"] = True
        text = _dumps(node)
        if shown.node is None:
            self._rendered.append(shown)
            if len(self._rendered) > NODES_KEPT:
                self._rendered.popleft().forget()
        shown.node, shown.text, shown.escaped, shown.stand = node, text, escaped(text), stand
        shown.size = (len(text) if text.isascii() else len(text.encode())) + 1

    def goal_node(self, goal: Goal) -> dict:
        return {"id": goal.id, "kind": "goal", "text": " AND ".join(literal.text() for literal in goal.desired),
                "label": goal.label, "origin": "asserted", "case": goal.case_id}

    def _choose(self, profile: Profile | None, live: Sequence[Case], nodes_max: int, left: int | None,
                first: Sequence[str]) -> tuple[list[dict], list[str], list[str], int]:
        """The nodes that fit, their JSON texts, those escaped, and how many there are."""
        state, sight = self.state, self.sight(profile)
        in_focus = {case.case_id for case in live}
        goals = [goal for goal in state.goals.values() if goal.case_id in in_focus] if state.goals else []
        if sight is not None:
            goals = [goal for goal in goals if sight.literals(goal.desired)]
        total = len(goals) + (len(state.shown) if sight is None else sight.count(state.shown))
        left = NO_BOUND if left is None else left
        chosen: list[dict] = []
        texts: list[str] = []
        quoted: list[str] = []
        for goal in goals[:min(GOALS_MAX, nodes_max)]:
            node = self.goal_node(goal)
            text = _dumps(node)
            size = len(text.encode()) + 1
            if size > left:
                continue
            chosen.append(node)
            texts.append(text)
            quoted.append(escaped(text))
            left -= size
        changed = self._changed(first)
        epoch, skipped, room = state.epoch, 0, nodes_max - len(chosen)
        picked: list[Shown] = []
        others = reversed(state.shown.items())
        if changed:
            others = chain([(atom, state.shown[atom]) for atom in changed], (each for each in others if each[0] not in changed))
        for atom, shown in others if room > 0 else ():
            if sight is not None and not sight.fact(atom):
                continue
            if shown is None:
                shown = state.shown[atom] = Shown(atom)
            if shown.epoch != epoch:
                self._render(shown)
            size = shown.size
            if size > left:
                skipped += 1
                if skipped > NODES_SKIPPED_MAX or left < NODE_BYTES_MIN:
                    break
                continue
            left -= size
            picked.append(shown)
            if len(picked) == room:
                break
        chosen += [shown.node for shown in picked]
        texts += [shown.text for shown in picked]
        quoted += [shown.escaped for shown in picked]
        return chosen, texts, quoted, total

    def _changed(self, first: Sequence[str]) -> dict[Atom, None]:
        """The visible ones among these node ids, each once, unless the order of change shows them first anyway."""
        shown = self.state.shown
        if len(first) == 1 and shown:
            held = self.state.by_atom.get(next(reversed(shown)))
            if held is not None and held[0] == first[0]:
                return {}
        found: dict[Atom, None] = {}
        for node_id in first:
            atom = self.state.atom_of(node_id)
            if atom is not None and atom in shown:
                found[atom] = None
        return found

    # --- one Case in full --------------------------------------------------------------

    def case_detail(self, case_id: str, policy: Policy, profile: Profile | None = None,
                    nodes_max: int = VIEW_NODES_QUERY_MAX, closing: Mapping | None = None) -> dict:
        """{case, tree, gaps, facts, actions}: as it stands, or as it stood at the close."""
        state = self.state
        case = state.cases.get(case_id)
        sight = self.sight(profile)
        if case is None or (sight is not None and not sight.case(case)):
            raise Refused("unknown_case", case=case_id)
        about = case_about(case)
        if case.status == CLOSED:
            closing = closing or {"leaves": (), "facts": (), "conclusions": ()}
            facts, trees = list(closing["facts"]), list(closing["conclusions"])
            if sight is not None:
                facts, trees = sight.closed_facts(closing), [shown for each in trees if (shown := sight.proof(each)) is not None]
            return {"case": about, "tree": _relabelled([dict(row) for row in closing["leaves"]], state, sight), "gaps": [],
                    "facts": facts, "actions": [], "conclusions": trees}
        rows = self._leaves(case)
        gaps = self._gaps(case, rows, policy, sight)
        rows = _relabelled(rows, state, sight)
        by_node = {gap["node"]: gap for gap in reversed(gaps)}
        tree = [{**row, "gap": by_node[row["node"]]} if row["node"] in by_node else dict(row) for row in rows]
        nodes, *_ = self._choose(profile, [case], nodes_max, None, ())
        about["certified"] = is_certified(rows)
        return {"case": about, "tree": tree, "gaps": gaps, "facts": nodes, "actions": self._actions([case], policy, profile)}


def _root_row(case: Case, expired: bool) -> dict:
    row = {"caseId": case.case_id, "root": case.root, "status": case.status, "caseType": case.type}
    if case.deadline and case.status != CLOSED:
        row["deadline"] = case.deadline
    return {**row, "expired": True} if expired else row


def _within(rows: list[dict], bytes_max: int | None, share: float) -> list[dict]:
    """The rows, from the first, that fit into a share of the bound."""
    if bytes_max is None:
        return rows
    left, found = bytes_max * share, []
    for row in rows:
        left -= len(_dumps(row).encode()) + 1
        if left < 0:
            break
        found.append(row)
    return found


def _actions_within(rows: list[dict], bytes_max: int | None) -> list[dict]:
    """Full rows as far as they fit, then name-only ones as far as those fit."""
    full = _within(rows, bytes_max, ACTIONS_SHARE)
    names = [{name: row[name] for name in ("action", "status", "reason", "waits", "candidateCount") if name in row}
             for row in rows[len(full):]]
    return full + _within(names, bytes_max, NAMES_SHARE)


def case_title(state: BoardState, case: Case) -> dict:
    """Its Case Type's title, for people; nothing where no installed Capability has that type any more."""
    known = state.case_types.get(case.type)
    return {"title": known.title} if known is not None else {}


def case_about(case: Case) -> dict:
    """A Case as lists and receipts tell it: the directory row and when, why and how it opened and closed."""
    return {**case.row(), **({"deadline": case.deadline} if case.deadline else {}), "openedAt": case.opened_at, "closedAt": case.closed_at or None, "certified": case.certified,
            "disposition": case.disposition or None, "reason": case.reason or None, "closedBy": case.closed_by or None,
            "holds": [{"hold": name, **said} for name, said in case.holds.items()],
            "release": dict(case.release) if case.release else None}


def _relabelled(rows: list[dict], state: BoardState, sight: Sight | None) -> list[dict]:
    """Leaf rows without the words of what is hidden: goals that name it, and the reason that quotes a premise."""
    if sight is None or not sight.profile.hides_facts:
        return rows
    found = []
    for row in rows:
        goal = state.goals.get(row["node"])
        row = {**row, "lacks": row["lacks"].partition(BECAUSE)[0]} if "lacks" in row else row
        found.append({**row, "goal": WITHHELD} if goal is not None and not sight.literals(goal.desired) else row)
    return found
