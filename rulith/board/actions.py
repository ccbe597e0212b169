"""Actions: which are ready, how they bind, what they bring about.

An Action is applicable when its preconditions bind every argument in exactly one way for
the Case it is meant for. A Board Action settles at once; an external one becomes an
ExternalPlan whose bytes are then approved, granted and digested unchanged.

Refuses to know: whether a decision was made, whether a Worker answered.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from rulith.base.canonical import canonical_text, number_text
from rulith.base.errors import Refused
from rulith.board.attempts import DONE, attempt
from rulith.board.capability import DECISION_EXPIRES_S, type_of
from rulith.board.cases import case_of_root, check_in_time, check_running, matching_atoms, writable_cases
from rulith.board.constitution import BOARD_KIND, Proposal, Rest, judge, merged_decision
from rulith.board.direct import Direct, direct_actions, permits_direct
from rulith.board.profiles import Sight
from rulith.board.proofs import proof_tree
from rulith.board.release import ActionSpec
from rulith.board.rests import MATCHES_MAX, rests_of, sources_of
from rulith.board.shapes import BoardPlan, ExternalPlan, Policy, Source, ToolLock, args_text, weaker
from rulith.board.state import ASSERTED, EFFECT, BoardState, Case, Fact
from rulith.rules.safety import bound_variables, joins
from rulith.rules.terms import Atom, Literal, Scalar, normalise

CANDIDATES_SHOWN = 4
BINDINGS_MAX = 50          # more ways than this are all "ambiguous"
KNOWN_SHOWN = 20
WHY_MAX = 200
ROOT = "?root"
PROFILE_NEXT = "An owner edits the Profile in the Console under Agents."


@dataclass(frozen=True)
class Candidate:
    """One way to bind an Action for one Case."""

    case: Case
    args: Mapping[str, Scalar]
    bindings: Mapping[str, Scalar]


# --- naming ----------------------------------------------------------------------------


def find_action(state: BoardState, name: object, policy: Policy | None = None, sight: Sight | None = None) -> ActionSpec:
    """A Capability's Action by its full id, one an Agent defined by name or node id, or a direct one. What is hidden is unknown."""
    spec = state.actions.get(name) if isinstance(name, str) else None
    if spec is not None and (sight is None or sight.action(spec)):
        return spec
    for each in state.agent_actions.values():
        if name in (each.id, each.spec.id):
            if sight is not None and not sight.literals((*each.spec.preconditions, *each.spec.effects)):
                raise Refused("not_authorized", act=f"Applying {name}", needs="a predicate that this Agent's Profile does not list", instead=PROFILE_NEXT)
            return each.spec
    direct = direct_actions(state, policy) if policy is not None else {}
    one = direct.get(name) if isinstance(name, str) else None
    if one is not None and (sight is None or sight.action(one.spec)):
        if one.problem:
            raise Refused("needs_setup", action=name, problem=one.problem)
        return one.spec
    known = [*(each.id for each in state.actions.values() if sight is None or sight.action(each)), *(each.spec.id for each in state.agent_actions.values()),
             *(name for name, each in direct.items() if sight is None or sight.action(each.spec))]
    raise Refused("unknown_action", action=name, known=", ".join(known[:KNOWN_SHOWN]) or "none is defined")


def is_agents_own(state: BoardState, spec: ActionSpec) -> bool:
    return state.actions.get(spec.id) is not spec


def target_cases(state: BoardState, spec: ActionSpec, target: object, focus: Sequence[str], at: str, sight: Sight | None = None) -> list[Case]:
    """The Cases an Action may be bound for: the target's own, else the running ones in focus.

    A Capability's Action is applied under its own Case Types only, an Agent's under the Case it was defined in.
    """
    if target and sight is not None and not sight.case(case_of_root(state, target)):
        raise Refused("not_found", what="root", name=target)
    found = [check_in_time(check_running(case_of_root(state, target)), at)] if target else writable_cases(state, focus, at)
    own = [case for case in found if _belongs(state, spec, case)]
    if not own:
        raise Refused("not_permitted", what=spec.id, why=f"{found[-1].root} is no Case it belongs to",
                      instead="Open or focus a Case of its own Case Types.")
    return own


def _belongs(state: BoardState, spec: ActionSpec, case: Case) -> bool:
    if spec.direct:
        return permits_direct(state, case)
    if spec.release:
        return case.release is not None and case.release["digest"] == spec.release
    return any(each.spec is spec and each.case_id == case.case_id for each in state.agent_actions.values())


# --- binding ---------------------------------------------------------------------------


def read_args(spec: ActionSpec, given: object) -> tuple[dict[str, Scalar], str | None]:
    """The stated arguments, normalised, and the Source named beside them."""
    expected = ", ".join(f"{name}: {kind}" for name, kind in spec.params.items()) or "no argument"
    if spec.source_types:
        expected += ", and `source`"
    if not isinstance(given, Mapping):
        raise Refused("invalid_params", action=spec.id, problem="they are not an object", expected=expected)
    args: dict[str, Scalar] = {}
    source = None
    for name, value in given.items():
        if name == "source":
            if not isinstance(value, str) or not value:
                raise Refused("invalid_params", action=spec.id, problem="source is not a name", expected=expected)
            source = value
            continue
        kind = spec.params.get(name)
        if kind is None and not is_agents_own_param(spec, name):
            raise Refused("invalid_params", action=spec.id, problem=f"{name} is unknown", expected=expected)
        args[name] = normalise(value, f"{spec.id}.{name}")
        if kind is not None and not _fits(value, kind):
            raise Refused("invalid_params", action=spec.id, problem=f"{name} is not a {kind.rstrip('?')}", expected=expected)
    return args, source


def is_agents_own_param(spec: ActionSpec, name: str) -> bool:
    """An Action defined in a batch has no parameter list: its preconditions' variables are its slots."""
    return not spec.release and any(f"?{name}" in literal.variables() for literal in spec.preconditions)


def _fits(value: object, kind: str) -> bool:
    plain = kind.rstrip("?")
    return type_of(value) == plain or (plain == "number" and type_of(value) == "string" and type_of(normalise(value)) == "number")


def candidates(state: BoardState, spec: ActionSpec, cases: Sequence[Case], args: Mapping[str, Scalar]) -> list[Candidate]:
    """Every distinct way to bind `spec` for these Cases under the stated arguments, at most BINDINGS_MAX."""
    given = {f"?{name}": value for name, value in args.items()}
    names = list(spec.params) if spec.release or spec.direct else sorted(
        {variable[1:] for literal in spec.preconditions for variable in literal.variables()} - {ROOT[1:]})
    found, seen = [], set()
    for case in cases:
        for bindings in state.program.solve(spec.preconditions, {ROOT: case.root, **given}, limit=BINDINGS_MAX):
            values = {name: bindings[f"?{name}"] for name in names if f"?{name}" in bindings}
            if any(name not in values for name in spec.required_params):
                continue
            effects = tuple(literal.under(bindings).text() for literal in spec.effects)
            key = (case.root, canonical_text(values), effects)
            if key not in seen:
                seen.add(key)
                found.append(Candidate(case, values, bindings))
        if len(found) >= BINDINGS_MAX or not any(ROOT in literal.variables() for literal in spec.preconditions):
            break       # an Action that names no root binds the same way for every Case
    return found


def unmet(state: BoardState, spec: ActionSpec, case: Case, args: Mapping[str, Scalar], sight: Sight | None = None) -> str:
    """Why `spec` does not bind for `case`: the first precondition, as written, that leaves no way. No value that `sight` hides is in it."""
    given: dict[str, Scalar] = {ROOT: case.root, **{f"?{name}": value for name, value in args.items()}}
    body: list[Literal] = []
    for literal in [*(each for each in spec.preconditions if joins(each)),
                    *(each for each in spec.preconditions if not joins(each))]:
        best = next(iter(state.program.solve(body, given, limit=1)), given) if body else given
        body.append(literal)
        if next(iter(state.program.solve(body, given, limit=1)), None) is None:
            if sight is not None:
                return _unmet_seen(literal, body[:-1], best, given, sight)
            shown = literal.under(best)
            if literal.naf:
                there = next(matching_atoms(state, Literal(shown.predicate, shown.args, shown.negated)), None)
                return f"{there.text() if there is not None else shown.text()} holds already"
            return f"{shown.text()} does not hold"
    missing = [name for name in spec.required_params if name not in args]
    return f"{', '.join(missing)} is bound by no precondition and was not given" if missing else "its arguments fit no fact"


def _unmet_seen(literal: Literal, before: Sequence[Literal], best: Mapping, given: Mapping, sight: Sight) -> str:
    if not sight.predicate(literal.predicate):
        return "what it lacks is withheld from this Agent"
    known = {**given, **shown_bindings(before, best, sight)}
    return f"{literal.under(known).text()} {'is not so' if literal.naf else 'does not hold'}"


def shown_bindings(body: Sequence[Literal], bindings: Mapping[str, Scalar], sight: Sight) -> dict[str, Scalar]:
    """The bindings that a visible fact shows."""
    found: dict[str, Scalar] = {}
    for literal in body:
        if joins(literal) and any(map(sight.fact, sight.state.program.matching(literal.under(bindings)))):
            found.update((variable, bindings[variable]) for variable in literal.variables() if variable in bindings)
    return found


def choose(state: BoardState, spec: ActionSpec, target: object, focus: Sequence[str], args: Mapping[str, Scalar], at: str,
           sight: Sight | None = None) -> Candidate:
    cases = target_cases(state, spec, target, focus, at, sight)
    found = candidates(state, spec, cases, args)
    if len(found) == 1:
        return found[0]
    if found:
        raise Refused("ambiguous_action", action=spec.id, count=f"{len(found)} or more" if len(found) >= BINDINGS_MAX else len(found))
    raise Refused("precondition_not_met", action=spec.id, problem=unmet(state, spec, cases[0], args, sight))


# --- Sources and Tools -----------------------------------------------------------------


def tool_problem(spec: ActionSpec, connection_id: str, policy: Policy) -> str | None:
    """Why this Connection cannot run the Action's Tool, or None."""
    lock = policy.locks.get((connection_id, spec.tool))
    if lock is None:
        return f"{spec.tool} is not locked on the Connection"
    problem = descriptor_problem(spec, lock)
    if problem is not None:
        return problem
    advertised = policy.live.get(connection_id)
    if advertised is not None and advertised.get(spec.tool) != lock.digest:
        return (f"the Worker on the line does not offer {spec.tool}" if spec.tool not in advertised
                else f"the Worker on the line offers another {spec.tool} than the locked one")
    return None


def descriptor_problem(spec: ActionSpec, lock: ToolLock) -> str | None:
    """Where the locked Tool's own declaration and the Action's differ."""
    descriptor = lock.descriptor
    if descriptor.get("kind") not in (None, spec.kind):
        return f"{spec.tool} is a {descriptor['kind']} Tool and the Action says {spec.kind}"
    if "params" in descriptor and dict(descriptor["params"]) != dict(spec.params):
        return f"{spec.tool} takes other arguments than the Action"
    if "returns" in descriptor and not all(_returned(row, descriptor["returns"]) for row in spec.returns):
        return f"{spec.tool} returns other rows than the Action"
    if "sourceTypes" in descriptor and not set(spec.source_types) <= set(descriptor["sourceTypes"]):
        return f"{spec.tool} accepts other Source types than the Action"
    return None


def _returned(row: Mapping, declared: Sequence[Mapping]) -> bool:
    return any(each["predicate"] == row["predicate"] and dict(each["args"]) == dict(row["args"]) for each in declared)


def usable_sources(spec: ActionSpec, policy: Policy) -> list[Source]:
    """Sources of an accepted type that may attest every returned predicate and whose Connection can run the Tool."""
    return [source for source in policy.sources
            if _takes(spec, source)
            and all(source.may_attest(row["predicate"]) for row in spec.returns)
            and tool_problem(spec, source.connection_id, policy) is None]


def _takes(spec: ActionSpec, source: Source) -> bool:
    """Whether it is of an accepted type. A direct Action that returns content alone takes a Source that attests nothing."""
    return source.type in spec.source_types and not (spec.direct and not spec.returns and source.attests)


def setup_problem(spec: ActionSpec, policy: Policy) -> str | None:
    """What keeps every Source or Connection from serving this Action, or None."""
    if not spec.source_types:
        connections = list(dict.fromkeys(connection for connection, tool in policy.locks if tool == spec.tool))
        problems = [tool_problem(spec, connection, policy) for connection in connections]
        return None if None in problems else (problems[0] if problems else f"{spec.tool} is locked on no Connection")
    if usable_sources(spec, policy):
        return None
    typed = [source for source in policy.sources if _takes(spec, source)]
    if not typed:
        return f"no Source of type {' or '.join(spec.source_types)} is bound"
    for source in typed:
        if tool_problem(spec, source.connection_id, policy) is None:
            return f"Source {source.name} may not attest {', '.join(row['predicate'] for row in spec.returns if not source.may_attest(row['predicate']))}"
    locked = {connection for connection, tool in policy.locks if tool == spec.tool}
    near = next((source for source in typed if source.connection_id in locked), None)   # the nearest to serving: a lock there, and something else amiss
    if near is None and locked:
        return f"no Source of type {' or '.join(spec.source_types)} is bound to the Connection where {spec.tool} is locked"
    return tool_problem(spec, (near or typed[0]).connection_id, policy)


def select_source(spec: ActionSpec, name: str | None, policy: Policy) -> Source | None:
    usable = usable_sources(spec, policy)
    names = ", ".join(source.name for source in usable)
    if not spec.source_types:
        if name is not None:
            raise Refused("invalid_params", action=spec.id, problem="it takes no Source", expected="no `source`")
        problem = setup_problem(spec, policy)
        if problem is not None:
            raise Refused("needs_setup", action=spec.id, problem=problem)
        return None
    if not usable:
        raise Refused("needs_setup", action=spec.id, problem=setup_problem(spec, policy))
    if name is None:
        raise Refused("source_needed", action=spec.id, sources=names)
    found = policy.source(name)
    if found is None or found not in usable:
        got = "not bound here" if found is None else f"of type {found.type}, or may not serve it"
        raise Refused("source_wrong_type", action=spec.id, accepts=" or ".join(spec.source_types), source=name, got=got, sources=names)
    return found


# --- planning --------------------------------------------------------------------------


def plan(state: BoardState, action: object, args: object, target: object, policy: Policy,
         focus: Sequence[str], at: str, sight: Sight | None = None) -> BoardPlan | ExternalPlan:
    """The one way this Action may be applied now. Raises Refused where there is none or more than one.

    sight  what the Agent may see: an Action that it hides is unknown, and no refusal tells what it hides
    """
    spec = find_action(state, action, policy, sight)
    stated, source_name = read_args(spec, args if args is not None else {})
    if not spec.is_external:
        if source_name is not None:
            raise Refused("invalid_params", action=spec.id, problem="it is a Board Action and takes no Source", expected="no `source`")
        chosen = choose(state, spec, target, focus, stated, at, sight)
        if sight is not None and is_agents_own(state, spec) and not all(map(sight.fact, premise_atoms(state, spec, chosen))):
            raise Refused("precondition_not_met", action=spec.id, problem="what it would rest on is withheld from this Agent")
        return BoardPlan(spec.id, chosen.args, chosen.case.root, (chosen.case.case_id,))
    chosen = choose(state, spec, target, focus, stated, at, sight)
    source = select_source(spec, source_name, policy)
    rests = rests_of(state, chosen.case, premise_atoms(state, spec, chosen), typed_arguments(spec, chosen))
    kinds = govern(state, spec, chosen, rests, op="ApplyAction", source=source.name if source is not None else "")
    served = {name: _served(value, spec.params[name]) for name, value in chosen.args.items()}
    if source is not None:
        served["source"] = source.name
    connection = source.connection_id if source is not None else next(
        name for name, tool in policy.locks if tool == spec.tool and tool_problem(spec, name, policy) is None)
    lock = policy.locks[connection, spec.tool]
    return ExternalPlan(
        action=spec.id, tool=spec.tool, kind=spec.kind, args=served, args_text=args_text(served),
        target=chosen.case.root, tool_spec_text=tool_spec_text(spec), source_record_id=source.name if source else "",
        connection_id=connection, tool_digest=lock.digest, decision=merged_decision(spec.decision, kinds, DECISION_EXPIRES_S),
        premises=tuple(premises(state, spec, chosen)), case_ids=(chosen.case.case_id,), returns=spec.returns,
        effects=tuple(literal.under(chosen.bindings).json() for literal in spec.effects), release=spec.release,
        worker_online=policy.live.get(connection, {}).get(spec.tool) == lock.digest, rests_on=tuple(sources_of(rests)))


def _served(value: Scalar, kind: str) -> Scalar:
    """A value as its parameter's type wants it: a text that looked like a number is text again."""
    if kind.rstrip("?") == "string" and type_of(value) == "number":
        return number_text(value)
    if type_of(value) != kind.rstrip("?"):
        raise Refused("invalid_params", action="the Action", problem=f"{value!r} is not a {kind.rstrip('?')}", expected=kind)
    return value


def tool_spec_text(spec: ActionSpec) -> str:
    return canonical_text({
        "name": spec.id, "kind": spec.kind, "impl": "worker-tool", "params": dict(spec.params), "exec": spec.tool,
        "sourceTypes": sorted(spec.source_types), "returns": [dict(row) for row in spec.returns]})


def premise_atoms(state: BoardState, spec: ActionSpec, chosen: Candidate, *, first: bool = False) -> list[Atom]:
    """The facts the bound preconditions match, in written order; `first`, only one of each."""
    found: dict[Atom, None] = {}
    for literal in spec.preconditions:
        if joins(literal):
            matches = matching_atoms(state, literal.under(chosen.bindings))
            found.update(dict.fromkeys(islice(matches, 1 if first else MATCHES_MAX)))
    return list(found)


def premises(state: BoardState, spec: ActionSpec, chosen: Candidate) -> list[dict]:
    return [proof_tree(state, atom, depth_max=8, nodes_max=100) for atom in premise_atoms(state, spec, chosen, first=True)]


# --- the Constitution ------------------------------------------------------------------


def typed_arguments(spec: ActionSpec, chosen: Candidate) -> dict[str, Scalar]:
    """The arguments that no precondition binds: whoever applies the Action says them."""
    bound = bound_variables(spec.preconditions)
    return {name: value for name, value in chosen.args.items() if f"?{name}" not in bound}


def govern(state: BoardState, spec: ActionSpec, chosen: Candidate, rests: tuple[Rest, ...], *, op: str, source: str = "") -> tuple[str, ...]:
    """The kinds of decision that the Constitution adds. Raises Refused governance_rejected where it forbids."""
    if state.constitution is None:
        return ()
    return judge(state.constitution, Proposal(
        op=op, action=spec.id, tool=spec.tool, kind=spec.kind if spec.is_external else BOARD_KIND, args=chosen.args, source=source,
        rests=rests if state.constitution.reads_rests else (), case_type=chosen.case.type, root=chosen.case.root, agent=state.agent_id))


# --- effects ---------------------------------------------------------------------------


def bring_about(state: BoardState, effects: Sequence[Atom | Mapping], *, tier: str, case: Case, by: Mapping, at: str,
                draw, local: bool) -> list[str]:
    """Produce positive effects, consume negated ones; the ids of facts produced. Base facts only are consumed."""
    made = []
    for effect in effects:
        atom = effect if isinstance(effect, Atom) else Atom.of(effect["predicate"], effect["args"], effect.get("negated", False))
        if atom.negated:
            for fact_id in state.by_atom.get(atom.opposite(), ()):
                state.remove_fact(fact_id)
        elif atom not in state.by_atom:
            fact = Fact(draw("f_"), atom, EFFECT, tier, case.case_id, local, by, at)
            state.add_fact(fact)
            made.append(fact.id)
    return made


def apply_board_action(state: BoardState, command: Mapping, at: str, draw, op: str = "ApplyAction") -> dict:
    """Settle a Board Action at once. An Agent's own Action makes assertions, never more."""
    spec = find_action(state, command["action"])
    if spec.is_external:
        raise Refused("board_action", action=spec.id, is_kind="run by a Worker, so it cannot be part of a batch",
                      instead="Apply it by itself with ApplyAction.")
    stated, _ = read_args(spec, command.get("args") or {})
    chosen = choose(state, spec, command.get("target"), command["focus"], stated, at)
    matched = premise_atoms(state, spec, chosen)
    rests = rests_of(state, chosen.case, matched, typed_arguments(spec, chosen))
    kinds = govern(state, spec, chosen, rests, op=op)
    if kinds:
        raise Refused("governance_rejected", action=spec.id, rule="needs_decision",
                      reason=f"a person decides it first ({', '.join(kinds)}), and a Board Action settles at once")
    tier = ASSERTED if is_agents_own(state, spec) else "attested"
    for atom in premise_atoms(state, spec, chosen, first=True):
        tier = weaker(tier, state.ground(atom).tier)
    carried = sources_of(rests)
    atoms = [literal.under(chosen.bindings).atom() for literal in spec.effects]
    by = {"kind": "action", "action": spec.id, "at": at, **({"restsOn": carried} if carried else {})}
    made = bring_about(state, atoms, tier=tier, case=chosen.case, by=by, at=at, draw=draw, local=chosen.case.is_exploration)
    state.close_rules()
    return {"action": spec.id, "done": True, "status": "confirmed", "ok": True, "nodeIds": made}


# --- rows of the view ------------------------------------------------------------------


def action_row(state: BoardState, spec: ActionSpec, running: Sequence[Case], paused: bool, expired: bool, policy: Policy,
               sight: Sight | None = None) -> dict:
    """One row of the view's `actions`: readiness now, candidates for the focused Cases."""
    cases = [case for case in running if _belongs(state, spec, case)]
    sources = [source.name for source in usable_sources(spec, policy)] if spec.is_external else []
    found = candidates(state, spec, cases, {}) if cases else []
    problem = setup_problem(spec, policy) if spec.is_external else None
    row: dict = {"action": spec.id, "status": "ready"}
    if paused:
        row.update(status="blocked", reason="case_paused")
    elif problem is not None:
        row.update(status="blocked", reason="needs_setup", needs=problem[:WHY_MAX])
    elif not found and not (spec.direct and cases):
        why = unmet(state, spec, cases[0], {}, sight) if cases else "its Case is past its deadline" if expired else "no running Case is in focus"
        row.update(status="blocked", reason="rule", why=why[:WHY_MAX])
    else:
        waits = ["decision"] if spec.decision else []
        if spec.is_external and not any(_is_online(spec, source, policy) for source in policy.sources) and spec.source_types:
            waits.append("worker_offline")
        if waits:
            row["waits"] = waits
    candidate_rows = _candidates_shown(spec, found, sight) if sight is not None else [_candidate_row(spec, each) for each in found[:CANDIDATES_SHOWN]]
    row.update(description=spec.description, params=dict(spec.params), sources=sources,
               candidates=candidate_rows[:CANDIDATES_SHOWN], candidateCount=len(found) if sight is None else len(candidate_rows))
    if spec.decision:
        row["decision"] = spec.decision["kind"]
    return row


def direct_row(state: BoardState, direct: Direct, running: Sequence[Case], paused: bool, expired: bool, policy: Policy) -> dict:
    if direct.problem:
        return {"action": direct.spec.id, "status": "blocked", "reason": "duplicate_name", "description": direct.spec.description}
    return action_row(state, direct.spec, running, paused, expired, policy)


def _candidate_row(spec: ActionSpec, candidate: Candidate) -> dict:
    """One way to apply an Action now, and how it ended where the Case tried just this before."""
    args = {name: _served(value, spec.params[name]) for name, value in candidate.args.items()} \
        if spec.release else dict(candidate.args)
    found = {"args": args, "target": candidate.case.root}
    tried = attempt(candidate.case, spec.id, args)
    return {**found, "tried": dict(tried)} if tried is not None else found


def _candidates_shown(spec: ActionSpec, found: Sequence[Candidate], sight: Sight) -> list[dict]:
    """Each way once, of its arguments those that a visible fact shows; law binds the others."""
    rows: dict[str, dict] = {}
    for each in found:
        known = shown_bindings(spec.preconditions, each.bindings, sight)
        row = _candidate_row(spec, each)
        args = {name: value for name, value in row["args"].items() if f"?{name}" in known}
        if args != row["args"]:
            row = {**row, "args": args, "withheld": True}
        if row.get("tried", {}).get("state", DONE) != DONE:        # whose words these are, no Profile says
            row["tried"] = {**row["tried"], "reason": "withheld from this Agent"}
        rows.setdefault(canonical_text(row), row)
    return list(rows.values())


def _is_online(spec: ActionSpec, source: Source, policy: Policy) -> bool:
    lock = policy.locks.get((source.connection_id, spec.tool))
    return lock is not None and source.type in spec.source_types and \
        policy.live.get(source.connection_id, {}).get(spec.tool) == lock.digest
