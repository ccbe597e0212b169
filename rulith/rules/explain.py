"""Explanations: why an atom holds, what keeps another from holding, what contradicts.

Reads an Engine and never changes it. Computations are redone from the premises of the
stored support, so the closure carries no cost for them.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from typing import TypeVar

from rulith.base.errors import Refused
from rulith.base.limits import DEPENDENCIES_MAX, HINT_WORK_MAX
from rulith.rules import builtins, safety
from rulith.rules.bodies import Join
from rulith.rules.engine import Engine
from rulith.rules.heads import RuleHead
from rulith.rules.proofs import Computation, FunctionalConflict, Lack, Missing, Node, Support
from rulith.rules.relations import Key, Relation, Row, Shape
from rulith.rules.terms import BLANKS, Atom, Literal, Scalar, is_variable, scalar_text

Fact = tuple[Relation, Key]
T = TypeVar("T")

_ENVIRONMENTS_MAX = 64   # partial matches why_not follows per rule; beyond it the nearest are kept
_MATCHES_MAX = 256       # facts why_not tries per literal and partial match
_GUESSES_MAX = 8         # the same for a partial match that lacks something already: it is no longer told which facts belong to it


def atom_of(engine: Engine, relation: Relation, key: Key) -> Atom:
    of = engine.values.of
    return Atom(relation.sign[0], tuple([(name, of[value]) for name, value in zip(relation.names, key)]), relation.sign[1])


def atoms_of(engine: Engine, relation: Relation, keys: list[Key]) -> list[Atom]:
    """Many atoms of one relation; thousands appear at once, so nothing is looked up twice."""
    of, names, (predicate, negated) = engine.values.of, relation.names, relation.sign
    if len(names) == 2:
        first, second = names
        return [Atom(predicate, ((first, of[a]), (second, of[b])), negated) for a, b in keys]
    return [Atom(predicate, tuple([(name, of[value]) for name, value in zip(names, key)]), negated) for key in keys]


def fact_of(engine: Engine, atom: Atom) -> Fact | None:
    """Where an atom lies, if it is there."""
    relation = engine.relations.find((atom.predicate, atom.negated), tuple([name for name, _ in atom.args]))
    if relation is None:
        return None
    key = tuple([engine.values.find(value) for _, value in atom.args])
    return (relation, key) if engine.present(relation, key) else None


def premise(engine: Engine, shape: Shape, row: Row) -> Fact:
    """The fact behind a shape's row."""
    if len(row) == len(shape.names):
        assert shape.exact is not None
        return shape.exact, row
    return engine.relations.numbered[row[-2]], row[-1]


def premises(engine: Engine, relation: Relation, key: Key) -> list[Fact]:
    """The facts that the stored support cites, in body order; none for a base fact."""
    support = relation.rows[key]
    if support is None:
        return []
    head = engine.heads[support[0]]
    found = []
    for join in head.body.joins:
        shape, row = head.shapes[join.index], support[join.slot]
        if len(row) == len(shape.names):  # type: ignore[union-attr]
            found.append((shape.exact, row))  # type: ignore[union-attr]
        else:
            found.append((engine.relations.numbered[row[-2]], row[-1]))
    return found  # type: ignore[return-value]


def citing(engine: Engine, relation: Relation, key: Key) -> Iterator[Fact]:
    """The derived facts whose stored support cites this fact."""
    for head, part in _readers(engine, relation):
        shape = head.shapes[part.index]
        assert shape is not None
        row = shape.row(relation, key)
        for found in engine.citers(head, part.slot).get(row, ()):
            support = head.relation.rows.get(found)
            if support is not None and support[0] == head.number and support[part.slot] == row:
                yield head.relation, found


def _readers(engine: Engine, relation: Relation) -> list[tuple[RuleHead, Join]]:
    """The rule heads that join this relation's facts. After a rollback nobody has sorted them by stratum yet."""
    if not engine.stale:
        return [use for joined, _ in engine.uses_of(relation).values() for use in joined]  # type: ignore[misc]
    found = []
    for head in engine.heads.values():
        for join in head.body.joins:
            shape = head.shapes[join.index]
            if shape is not None and shape.sign == relation.sign and set(shape.names) <= set(relation.names):
                found.append((head, join))
    return found


def support_of(engine: Engine, relation: Relation, key: Key) -> Support | None:
    if relation.rows[key] is None:
        return None
    return _support(engine, relation, key, tuple([atom_of(engine, *fact) for fact in premises(engine, relation, key)]))


def _support(engine: Engine, relation: Relation, key: Key, atoms: tuple[Atom, ...]) -> Support:
    """The support of a derived fact whose premises are at hand."""
    stored = relation.rows[key]
    head = engine.heads[stored[0]]  # type: ignore[index]
    if not head.body.computes:
        return Support(head.rule.id, atoms, (), None)
    computed = _computations(engine, head, stored)  # type: ignore[arg-type]
    return Support(head.rule.id, atoms, computed, next((c.text() for c in computed if not c.exact), None))


def _computations(engine: Engine, head: RuleHead, stored: tuple) -> tuple[Computation, ...]:
    bound: dict[int, Scalar] = {-1 - n: value for n, value in enumerate(head.body.constants)}
    of = engine.values.of
    for join in head.body.joins:
        row = stored[join.slot]
        bound.update((term, of[row[place]]) for place, term in enumerate(join.terms))
    found = []
    for guard in head.body.guards:
        if guard.result is None:
            continue
        operands = tuple([bound[term] for term in guard.terms])
        result = builtins.compute(guard.name, operands)
        assert result is not None
        bound.setdefault(guard.result, result)
        names = builtins.ARITHMETIC[guard.name]
        exact = builtins.is_exact(guard.name, operands, result)
        found.append(Computation(guard.name, tuple(zip(names, operands)), result, exact))
    return tuple(found)


def rule_of(engine: Engine, relation: Relation, key: Key) -> str | None:
    """The id of the rule whose support is stored; None for a base fact."""
    stored = relation.rows[key]
    return None if stored is None else engine.heads[stored[0]].rule.id


def tree(engine: Engine, fact: Fact, depth_max: int, nodes_max: int) -> Node:
    """The proof of a fact, cut at `depth_max` rules deep and after `nodes_max` nodes.

    What is proved twice at one depth is built once and shared, while all its nodes still fit.
    The cycle collector rests meanwhile: a proof has no cycles, and is dropped before it is old.
    """
    collecting = gc.isenabled()
    gc.disable()
    try:
        return _tree(engine, fact, depth_max, nodes_max)
    finally:
        if collecting:
            gc.enable()


def _tree(engine: Engine, fact: Fact, depth_max: int, nodes_max: int) -> Node:
    count = 1
    done: list[Node] = []
    built: dict[tuple[Fact, int], tuple[Node, int]] = {}       # and how many nodes lie below
    work: list[tuple] = [(fact, 0)]
    while work:
        step = work.pop()
        if len(step) == 2:
            known = built.get(step)
            if known is not None and count + known[1] <= nodes_max:
                done.append(known[0])
                count += known[1]
                continue
            (relation, key), depth = step
            if relation.rows[key] is None:
                done.append(Node(atom_of(engine, relation, key), None))
                continue
            below = premises(engine, relation, key)
            if below and (depth >= depth_max or count + len(below) > nodes_max):
                done.append(Node(atom_of(engine, relation, key), support_of(engine, relation, key), (), True))
                continue
            work.append((step, count, len(below)))
            count += len(below)
            depth += 1
            work.extend([(lower, depth) for lower in reversed(below)])
            continue
        at, before, width = step
        relation, key = at[0]
        children: tuple[Node, ...] = ()
        if width:
            children = tuple(done[-width:])
            del done[-width:]
        node = Node(atom_of(engine, relation, key), _support(engine, relation, key, tuple([child.atom for child in children])), children)
        built[at] = node, count - before
        done.append(node)
    return done[0]


def fold(engine: Engine, fact: Fact, memo: dict[Fact, T], leaf: Callable[[Atom], T],
         conclude: Callable[[str, list[T], str | None, Callable[[], Atom]], T]) -> T:
    """Compute a value over the proof of a fact, each fact once; asserted facts are leaves.

    conclude   takes the rule's id, the premises' values in body order, the text of a
               computation that rounded (or None), and the atom's maker
    memo       values of facts already visited; the caller's, to be emptied when supports move
    """
    work: list[tuple[Fact, list[Fact] | None]] = [(fact, None)]
    while work:
        current, below = work[-1]
        if current in memo:
            work.pop()
            continue
        relation, key = current
        stored = None if key in relation.base else relation.rows[key]
        if stored is None:
            memo[current] = leaf(atom_of(engine, relation, key))
            work.pop()
            continue
        if below is None:
            below = premises(engine, relation, key)
            unknown = [(lower, None) for lower in below if lower not in memo]
            if unknown:
                work[-1] = current, below
                work.extend(unknown)
                continue
        head = engine.heads[stored[0]]
        rounded = None
        if head.body.computes:
            rounded = next((c.text() for c in _computations(engine, head, stored) if not c.exact), None)
        memo[current] = conclude(head.rule.id, [memo[lower] for lower in below], rounded,
                                 lambda at=current: atom_of(engine, *at))
        work.pop()
    return memo[fact]


# contradictions and functional dependencies

def contradictions(engine: Engine) -> Iterator[tuple[Fact, Fact]]:
    """Pairs of a positive and a negative fact with the same arguments."""
    for sign in sorted(engine.relations.by_sign):
        if not sign[1]:
            continue
        for relation, key in engine.relations.in_order(sign):
            positive = engine.relations.find((sign[0], False), relation.names)
            if positive is not None and key in positive.rows:
                yield (positive, key), (relation, key)


def dependencies(engine: Engine) -> list[tuple[str, tuple[str, ...]]]:
    """What `functional_dependency(predicate, key)` facts declare, each once."""
    found: dict[tuple[str, tuple[str, ...]], None] = {}
    for relation, key in engine.relations.in_order(("functional_dependency", False)):
        arguments = dict(zip(relation.names, (engine.values.of[value] for value in key)))
        predicate, names = arguments.get("predicate"), arguments.get("key")
        if isinstance(predicate, str) and isinstance(names, str):
            parts = sorted({part.strip(BLANKS) for part in names.split(",")} - {""})
            if parts:
                found[predicate, tuple(parts)] = None
    return list(found)


def check_dependencies(engine: Engine) -> None:
    """Raises Refused resource_limit where more are declared than a Board can judge each time it is read."""
    declared = sum([len(relation.rows) for relation in engine.relations.by_sign.get(("functional_dependency", False), {}).values()])
    if declared > DEPENDENCIES_MAX:
        raise Refused("resource_limit", what="the number of functional dependencies", value=declared, limit=DEPENDENCIES_MAX)


def functional_groups(engine: Engine) -> Iterator[tuple[str, tuple[str, ...], tuple[int, ...], list[Fact]]]:
    """Groups of more than one fact of a predicate that agree on a declared key."""
    for predicate, names in dependencies(engine):
        groups: dict[tuple, list[Fact]] = {}
        family = engine.relations.by_sign.get((predicate, False), {}).values()
        places = {relation: [relation.names.index(name) for name in names] for relation in family if relation.named.issuperset(names)}
        for relation, key in engine.relations.in_order((predicate, False)) if places else ():
            if relation in places:
                groups.setdefault(tuple([key[place] for place in places[relation]]), []).append((relation, key))
        for at, facts in groups.items():
            if len(facts) > 1:
                yield predicate, names, at, facts


def functional_conflicts(engine: Engine) -> list[FunctionalConflict]:
    of = engine.values.of
    return [
        FunctionalConflict(predicate, names, tuple((name, of[value]) for name, value in zip(names, at)),
                           tuple(atom_of(engine, *fact) for fact in facts))
        for predicate, names, at, facts in functional_groups(engine)
    ]


class Disputes:
    """Which facts rest on a contradiction or a functional conflict, at one revision."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.revision = engine.revision
        self.known: dict[Fact, bool] = {}
        for pair in contradictions(engine):
            self.known.update(dict.fromkeys(pair, True))
        for *_, facts in functional_groups(engine):
            self.known.update(dict.fromkeys(facts, True))
        self.any = bool(self.known)

    def covers(self, fact: Fact) -> bool:
        """Follow the stored support; the graph has no cycles."""
        if not self.any:
            return False
        work = [fact]
        while work:
            current = work[-1]
            if current in self.known:
                work.pop()
                continue
            below = premises(self.engine, *current)
            unknown = [lower for lower in below if lower not in self.known]
            if any(self.known.get(lower) for lower in below):
                self.known[current] = True
            elif unknown:
                work.extend(unknown)
            else:
                self.known[current] = False
        return self.known[fact]


# what is lacking

class _Attempt:
    """A partial match of one rule: what is bound, what holds, what does not."""

    __slots__ = ("bound", "satisfied", "missing")

    def __init__(self, bound: dict[str, Scalar], satisfied: tuple, missing: tuple) -> None:
        self.bound = bound
        self.satisfied = satisfied
        self.missing = missing


class Effort:
    """How much may still be looked at: rules, and partial matches of their bodies. Counted, so that the same question finds the same."""

    __slots__ = ("left",)

    def __init__(self, left: int = HINT_WORK_MAX) -> None:
        self.left = left

    @property
    def is_spent(self) -> bool:
        return self.left <= 0


def why_not(engine: Engine, pattern: Literal, depth: int, rule_id: str | None = None, effort: Effort | None = None) -> list[Lack]:
    """For every rule that could conclude `pattern`, or that one: what holds and what lacks, nearest rule first.

    Where the effort ends, rules not looked at are left out.
    """
    return sorted(lacks(engine, pattern, depth, rule_id, effort or Effort()), key=lambda lack: len(lack.missing))


def lacks(engine: Engine, pattern: Literal, depth: int, rule_id: str | None, effort: Effort) -> Iterator[Lack]:
    """The same one by one, in order of the rules."""
    for head in engine.heads_of((pattern.predicate, pattern.negated)):
        if effort.is_spent:
            return
        effort.left -= 1
        bound = _unify(head.head, pattern) if rule_id in (None, head.rule.id) else None
        if bound is not None:
            lack = _lack(engine, head, bound, depth, effort)
            if lack is not None:
                yield lack


def _unify(head: Literal, pattern: Literal) -> dict[str, Scalar] | None:
    """Values that the pattern's constants give the head's variables; None where the two cannot meet.

    The pattern may name fewer arguments than the head, never more. Its own variables are
    free: they put no value anywhere, and equal ones must only not meet different constants.
    """
    if (head.predicate, head.negated) != (pattern.predicate, pattern.negated):
        return None
    bound: dict[str, Scalar] = {}
    free: dict[str, Scalar] = {}
    for name, wanted in pattern.args:
        term = head.get(name)
        if term is None:
            return None
        if is_variable(wanted):
            if not is_variable(term) and not builtins.same(free.setdefault(wanted, term), term):  # type: ignore[arg-type]
                return None
        elif is_variable(term):
            if not builtins.same(bound.setdefault(term, wanted), wanted):  # type: ignore[arg-type]
                return None
        elif not builtins.same(term, wanted):
            return None
    return bound


def _lack(engine: Engine, head: RuleHead, bound: dict[str, Scalar], depth: int, effort: Effort) -> Lack | None:
    body = head.rule.when
    order, stuck = safety.matching_order(body)
    attempts = [_Attempt(bound, (), ())]
    for index in order:
        literal = body[index]
        following: list[_Attempt] = []
        for attempt in attempts:
            following.extend(_step(engine, literal, attempt))
        effort.left -= len(following)
        following.sort(key=lambda attempt: len(attempt.missing))
        attempts = following[:1 if effort.is_spent else _ENVIRONMENTS_MAX]
    best = attempts[0]
    never = tuple(Missing(body[index].under(best.bound), "no_result") for index in stuck)
    missing = best.missing + never
    if not missing:
        return None
    below: tuple[Lack, ...] = ()
    if depth > 1:
        below = tuple(lack for lost in missing if lost.reason == "absent" for lack in why_not(engine, lost.literal, depth - 1, None, effort))
    return Lack(head.rule.id, head.rule.label, head.head.under(best.bound), tuple(best.bound.items()),
                best.satisfied, missing, below)


def _step(engine: Engine, literal: Literal, attempt: _Attempt) -> Iterator[_Attempt]:
    """The attempt carried over one literal: each match, or one attempt that lacks it."""
    ground = literal.under(attempt.bound)
    if literal.predicate in builtins.BUILTINS:
        yield _builtin(literal, ground, attempt)
        return
    if literal.naf:
        if ground.is_ground() and _first_match(engine, ground) is not None:
            yield _Attempt(attempt.bound, attempt.satisfied, (*attempt.missing, Missing(ground, "present")))
        else:
            yield _Attempt(attempt.bound, (*attempt.satisfied, ground), attempt.missing)
        return
    matched = False
    most = _GUESSES_MAX if attempt.missing else _MATCHES_MAX
    for count, values in enumerate(_matches(engine, ground)):
        if count >= most:
            break
        matched = True
        bound = {**attempt.bound, **values}
        yield _Attempt(bound, (*attempt.satisfied, literal.under(bound)), attempt.missing)
    if not matched or ground.variables():
        yield _Attempt(attempt.bound, attempt.satisfied, (*attempt.missing, Missing(ground, "absent")))


def _builtin(literal: Literal, ground: Literal, attempt: _Attempt) -> _Attempt:
    arithmetic = literal.predicate in builtins.ARITHMETIC
    slots = builtins.ARITHMETIC[literal.predicate] if arithmetic else builtins.COMPARISONS[literal.predicate]
    operands = tuple((name, ground.get(name)) for name in slots)
    values = tuple(value for _, value in operands)
    if any(value is None for value in values):
        return _Attempt(attempt.bound, attempt.satisfied, (*attempt.missing, Missing(ground, "no_result")))
    if any(is_variable(value) for value in values):
        return attempt      # undecided: what would bind it is missing already
    if not arithmetic:
        holds = builtins.compare(literal.predicate, values)  # type: ignore[arg-type]
        reason, bound = None if holds else "comparison_false", attempt.bound
    else:
        reason, bound = _computed(literal, ground, values, attempt.bound)  # type: ignore[arg-type]
    if reason is None:
        return _Attempt(bound, (*attempt.satisfied, literal.under(bound)), attempt.missing)
    return _Attempt(bound, attempt.satisfied, (*attempt.missing, Missing(ground, reason, operands)))  # type: ignore[arg-type]


def _computed(literal: Literal, ground: Literal, values: tuple[Scalar, ...],
              bound: dict[str, Scalar]) -> tuple[str | None, dict[str, Scalar]]:
    name = literal.predicate
    result = builtins.quiet_concat(*values) if name == "concat" else builtins.compute(name, values)
    if result is None:
        return ("arithmetic_exact" if builtins.left_exact_range(name, values) else "no_result"), bound
    wanted = ground.get("result")
    if wanted is None:
        return "no_result", bound
    if is_variable(wanted):
        return None, {**bound, wanted: result}  # type: ignore[dict-item]
    return (None if builtins.same(wanted, result) else "result_differs"), bound


def _matches(engine: Engine, ground: Literal) -> Iterator[dict[str, Scalar]]:
    """The bindings that facts give the literal's remaining variables, in order of appearance."""
    for _, _, found in _matched(engine, ground):
        yield found


def matching(engine: Engine, literal: Literal) -> Iterator[Atom]:
    """The facts that a literal matches, in order of appearance; those that are leaving are not among them."""
    for shape, row, _ in _matched(engine, literal):
        fact = premise(engine, shape, row)
        if engine.present(*fact):
            yield atom_of(engine, *fact)


def _matched(engine: Engine, ground: Literal) -> Iterator[tuple[Shape, Row, dict[str, Scalar]]]:
    """The rows that a literal matches, and what they give its variables."""
    shape = engine.relations.shape((ground.predicate, ground.negated), ground.names)
    known: list[int] = []
    places: list[int] = []
    for place, (_, value) in enumerate(ground.args):
        if not is_variable(value):
            number = engine.values.find(value)
            if number is None:
                return
            places.append(place)
            known.append(number)
    at = known[0] if len(known) == 1 else tuple(known)
    bucket = shape.index(tuple(places)).buckets.get(at)
    first: dict[str, int] = {}      # variable -> where it stands first
    again: list[tuple[int, int]] = []
    for place, (_, value) in enumerate(ground.args):
        if is_variable(value) and first.setdefault(value, place) != place:  # type: ignore[arg-type]
            again.append((first[value], place))  # type: ignore[index]
    of = engine.values.of
    for row in bucket or ():
        if again and any([row[place] != row[other] for place, other in again]):
            continue
        yield shape, row, {name: of[row[place]] for name, place in first.items()}


def _first_match(engine: Engine, ground: Literal) -> dict[str, Scalar] | None:
    return next(_matches(engine, ground), None)


def lack_text(lack: Lack) -> str:
    """One line for people: the rule and what it lacks."""
    parts = []
    for lost in lack.missing:
        shown = ", ".join(f"{name}={scalar_text(value)}" for name, value in lost.operands)
        if lost.reason == "arithmetic_exact":
            parts.append(f"{lost.literal.predicate}({shown}) leaves the exact range ±9007199254740991")
        elif lost.reason == "present":
            parts.append(f"{lost.literal.text()} fails: there is such a fact")
        elif lost.reason == "comparison_false":
            parts.append(f"{lost.literal.text()} is false")
        elif lost.reason == "absent":
            parts.append(f"no fact {lost.literal.text()}")
        else:
            parts.append(f"{lost.literal.text()} has no such result")
    return f"rule {lack.label}: " + "; ".join(parts)
