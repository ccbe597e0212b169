"""The whole check of a Capability file: shape, engine, examples; and its rules as law runs them.

`check_capability` reports, `read_release` refuses. Both run the file's examples in an
empty Program, so a Release that contradicts its own examples is never installed.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from rulith.base.errors import Refused
from rulith.board.capability import CapabilityReader, a_type, type_fits
from rulith.board.file_shapes import Problem, listing, not_for_what_was_misread
from rulith.board.release import Acceptance, Release
from rulith.board.totals import in_order, rule_of, settle
from rulith.board.words import ACCEPTANCE, ACCEPTANCE_MET, CASE_CONTEXT, SUBGOAL_OF
from rulith.rules.program import Program
from rulith.rules.safety import check_action, check_rule
from rulith.rules.terms import Literal, Rule, is_variable

SIMILAR_SHOWN = 3        # what an example's facts lead to instead
NODE, ROOT_VARIABLE = "?rulith_node", "?root"


def acceptance_rule_id(release: Release, acceptance_id: str) -> str:
    return f"{release.name}/acceptance/{acceptance_id}"


def acceptance_rule(release: Release, acceptance: Acceptance) -> Rule:
    """The law rule that concludes acceptance_met(node) for every task node with this test."""
    test = release.test_name(acceptance.id)
    when = (Literal.of(ACCEPTANCE, {"node": NODE, "test": test}),
            Literal.of(SUBGOAL_OF, {"child": NODE, "parent": ROOT_VARIABLE}),
            *acceptance.when)
    return Rule(acceptance_rule_id(release, acceptance.id), acceptance.label, when,
                (Literal.of(ACCEPTANCE_MET, {"node": NODE}),))


def law_rules(release: Release) -> list[Rule]:
    """Everything a Release adds to a Program, in file order."""
    return [*release.rules, *(acceptance_rule(release, each) for each in release.acceptance.values())]


def check_capability(document: object) -> tuple[Release | None, list[Problem]]:
    """The Release this file makes, or None, and every error found, each with its place."""
    reader = CapabilityReader(document)
    release = reader.read()
    problems = reader.problems
    if release is None:
        return None, problems
    problems += not_for_what_was_misread(_engine_problems(release), problems)
    _check_case_types_named(release, problems)
    if not problems:
        _run_examples(release, problems)
    return (release if not problems else None), problems


def read_release(document: object) -> Release:
    """The Release, or Refused capability_invalid listing every error."""
    release, problems = check_capability(document)
    if release is None or problems:
        raise Refused("capability_invalid", count=len(problems), listing=listing(problems))
    return release


def _engine_problems(release: Release) -> list[Problem]:
    problems: list[Problem] = []
    places = {rule.id: f"rules[{index}]" for index, rule in enumerate(release.rules)}
    for index, acceptance in enumerate(release.acceptance):
        places[acceptance_rule_id(release, acceptance)] = f"acceptance[{index}]"
    sound = []
    for rule in law_rules(release):
        try:
            check_rule(rule)
            sound.append(rule)
        except Refused as refusal:
            problems.append(Problem(places[rule.id], refusal.happened))
    for index, action in enumerate(release.actions.values()):
        try:
            given = tuple(Literal.of("params", {name: f"?{name}" for name in action.params}) for _ in (0,) if action.params)
            check_action(action.id, (*given, *action.preconditions), action.effects)
        except Refused as refusal:
            problems.append(Problem(f"actions[{index}]", refusal.happened))
    try:
        in_order(release.aggregates, [*release.rules, *map(rule_of, release.aggregates)])
    except Refused as refusal:
        problems.append(Problem("aggregates", refusal.happened))
        return problems
    try:
        program = Program()
        with program.transaction() as tx:
            for rule in sound:
                tx.add_rule(rule)
            tx.close()
    except Refused as refusal:
        problems.append(Problem("rules", refusal.happened))
    return problems


def _check_case_types_named(release: Release, problems: list[Problem]) -> None:
    """A literal that waits for a Case Type nobody can open would keep its rule or Action silent for ever.

    A file without Case Types is made for those of others, so it may name any.
    """
    if not release.case_types:
        return
    places = [(f"rules[{index}].when", rule.when) for index, rule in enumerate(release.rules)]
    places += [(f"acceptance[{index}].when", each.when) for index, each in enumerate(release.acceptance.values())]
    places += [(f"actions[{index}].preconditions", each.preconditions) for index, each in enumerate(release.actions.values())]
    for place, literals in places:
        for index, literal in enumerate(literals):
            named = dict(literal.args).get("case_type") if literal.predicate == CASE_CONTEXT and not literal.naf else None
            if named is not None and not is_variable(named) and named not in release.case_types:
                problems.append(Problem(f"{place}[{index}].args.case_type", f"{named!r} is no Case Type of this file ({', '.join(release.case_types)})"))


def _misfits(release: Release, program: Program) -> Iterator[str]:
    """Values of an example's facts that do not fit the types its vocabulary declares."""
    for full, spec in release.predicates.items():
        for atom in program.facts(full):
            for name, value in atom.args:
                if not type_fits(value, spec.args[name]):
                    yield f"{full}.{name} is {value!r}, which is not {a_type(spec.args[name])}"


def _run_examples(release: Release, problems: list[Problem]) -> None:
    rows = in_order(release.aggregates, [*release.rules, *map(rule_of, release.aggregates)])
    for example in release.examples:
        where = f"{example['place']} ({example['title']})"
        program = Program()
        try:
            with program.transaction() as tx:
                for rule in release.rules:
                    tx.add_rule(rule)
                for literal in example["given"]:
                    tx.assert_fact(literal.atom())
                settle(program, tx, rows)
            for literal in example["follows"]:
                if next(program.solve([literal], limit=1), None) is None:
                    instead = [atom.text() for atom in islice(program.facts(literal.predicate), SIMILAR_SHOWN)]
                    problems.append(Problem(where, f"{literal.text()} does not follow; of that predicate there is {', '.join(instead) or 'nothing'}"))
            for literal in example["never"]:
                if next(program.solve([literal], limit=1), None) is not None:
                    problems.append(Problem(where, f"{literal.text()} follows, and must not"))
            problems += [Problem(where, problem) for problem in islice(_misfits(release, program), SIMILAR_SHOWN)]
        except Refused as refusal:
            problems.append(Problem(where, refusal.happened))
