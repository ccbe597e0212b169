"""What a reader needs to derive a Case's conclusions again: rules in force beyond its own Release, and what bears on absences.

A proof tree shows what is there. Where a rule asks that something is *not* there, where a
total was taken over all of a group, where a proof is cut, and where something might stand
against a conclusion, the answer rests on facts that stand in no tree: those that could bear
on just that question. They are found by following the rules backwards from it, so that the
facts of other work on the same Board stay out of the receipt.

Never decides anything. `omitted` says that there were too many to carry.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from rulith.base.errors import Refused
from rulith.board.law_proofs import agents_reach, law_program
from rulith.board.proofs import fact_node
from rulith.board.state import BoardState, RuleInfo
from rulith.board.words import ACCEPTANCE_MET
from rulith.rules import builtins
from rulith.rules.program import Program
from rulith.rules.safety import joins
from rulith.rules.terms import Atom, Literal, Scalar, is_variable

QUESTIONS_MAX = 2_000       # patterns followed for one Case
FACTS_MAX = 2_000           # facts carried beside those of the trees
BINDINGS_MAX = 2_000        # of one rule body under one question


class _TooMuch(Exception):
    """More bears on it than a receipt carries."""


def nodes_of(trees: Iterable[Mapping]) -> Iterator[Mapping]:
    """Every node of these proof trees, roots first."""
    waiting = list(reversed(list(trees)))
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(reversed(node["premises"]))


def evidence(state: BoardState, conclusions: Sequence[Mapping], own: str) -> dict:
    """{rules, releases, world}: see the module; to be taken while the Case's own words and rules still stand.

    own   the id of the Case's Capability, or ""
    """
    facts: dict[Atom, None] = {}
    used = {node["by"]["id"] for node in nodes_of(conclusions) if node["by"]["kind"] == "rule"}
    omitted = False
    try:
        for search in _searches(state):
            for node in nodes_of(conclusions):
                search.ask_of(node)
            search.run()
            facts.update(search.facts)
            used.update(search.rules)
    except (_TooMuch, Refused):
        omitted = True
    infos = [info for rule_id, info in state.rules.items() if rule_id in used]
    releases = [state.releases[name] for name in dict.fromkeys([own, *(info.capability for info in infos if info.law)]) if name]
    return {"rules": [_rule(state, info) for info in infos if not info.law],
            "releases": [{"id": each.id, "version": each.version, "digest": each.digest, "capability": each.document} for each in releases],
            "world": {"facts": [] if omitted else [fact_node(state, state.strongest(atom)) for atom in facts], "omitted": omitted}}


def _searches(state: BoardState) -> Iterator[_Search]:
    """Over all that holds; and where an Agent's rules reach, over what the law alone concludes, which is what certifies."""
    yield _Search(state, state.program, list(state.rules.values()))
    if agents_reach(state, ACCEPTANCE_MET):
        yield _Search(state, law_program(state, ACCEPTANCE_MET).program, [info for info in state.rules.values() if info.law])


def _rule(state: BoardState, info: RuleInfo) -> dict:
    rule = info.rule
    found = {"id": rule.id, "label": rule.label, "when": [each.json() for each in rule.when], "then": [each.json() for each in rule.then],
             "case": info.case_id, "at": info.at}
    if info.aggregate:
        definition = {name: value for name, value in state.aggregates[info.aggregate].definition.items() if name not in ("op", "id", "label")}
        found["aggregate"] = {"id": info.aggregate, **definition}
    return found


class _Search:
    """Questions asked backwards through the rules; `facts` are what was found to bear on them, `rules` what could conclude them."""

    def __init__(self, state: BoardState, program: Program, rules: Sequence[RuleInfo]) -> None:
        self.state, self.program = state, program
        self.facts: dict[Atom, None] = {}
        self.rules: dict[str, None] = {}
        self._asked: set[Literal] = set()
        self._waiting: list[Literal] = []
        self._heads: dict[tuple[str, bool], list[tuple[RuleInfo, Literal]]] = {}
        for info in rules:
            for head in info.rule.then:
                self._heads.setdefault((head.predicate, head.negated), []).append((info, head))

    def ask_of(self, node: Mapping) -> None:
        """What one step of a proof leaves open: its absences, the whole of its group, what stands against it, what was cut."""
        atom = Atom.of(node["predicate"], node["args"], node.get("negated", False))
        if self.state.disputable or (atom.predicate, not atom.negated) in self._heads:
            self._ask(Literal(atom.predicate, atom.args, not atom.negated))
        if node.get("cut"):
            self._ask(Literal(atom.predicate, atom.args, atom.negated))
        info = self.state.rules.get(node["by"]["id"]) if node["by"]["kind"] == "rule" else None
        if info is None:
            return
        for head in info.rule.then:
            given = _unified(head, atom.arguments) if (head.predicate, head.negated) == (atom.predicate, atom.negated) else None
            if given is not None and any(each.naf for each in info.rule.when):
                self._absences(info, given)
            if given is not None and info.total:
                self._ask_body(info, given)      # all of its group, which is what a total is taken over
        if info.aggregate:
            self._whole(self.state.aggregates[info.aggregate].definition)

    def _whole(self, definition: Mapping) -> None:
        where = definition.get("where")
        self._ask(Literal.of(definition["source"]["predicate"], {where["arg"]: where["equals"]} if where else {}))

    def _absences(self, info: RuleInfo, given: Mapping[str, Scalar]) -> None:
        body = [literal for literal in info.rule.when if not literal.naf]
        for bindings in self._solutions(body, given):
            for literal in info.rule.when:
                if literal.naf and literal.predicate not in builtins.BUILTINS:
                    self._ask(Literal(literal.predicate, literal.under(bindings).args, literal.negated))

    def _solutions(self, body: Sequence[Literal], given: Mapping[str, Scalar]) -> list[dict[str, Scalar]]:
        found = list(self.program.solve(body, given, limit=BINDINGS_MAX)) if body else [dict(given)]
        if len(found) >= BINDINGS_MAX:
            raise _TooMuch
        return found

    def _ask(self, pattern: Literal) -> None:
        names: dict[str, str] = {}
        plain = tuple((name, names.setdefault(value, f"?{len(names)}") if is_variable(value) else value) for name, value in pattern.args)
        question = Literal(pattern.predicate, plain, pattern.negated)     # the same question under any names of its variables
        if question in self._asked:
            return
        if len(self._asked) >= QUESTIONS_MAX:
            raise _TooMuch
        self._asked.add(question)
        self._waiting.append(question)

    def run(self) -> None:
        while self._waiting:
            self._answer(self._waiting.pop())

    def _answer(self, question: Literal) -> None:
        for atom in self.program.matching(question):
            if atom in self.state.by_atom:
                self.facts[atom] = None
                if len(self.facts) > FACTS_MAX:
                    raise _TooMuch
        asked = {name: value for name, value in question.args if not is_variable(value)}
        for info, head in self._heads.get((question.predicate, question.negated), ()):
            given = _unified(head, asked)
            if given is not None:
                self.rules[info.rule.id] = None
                self._ask_body(info, given)

    def _ask_body(self, info: RuleInfo, given: Mapping[str, Scalar]) -> None:
        """Each joined literal under all that the ones before it found; absences under all of them."""
        before: list[Literal] = []
        for literal in (each for each in info.rule.when if joins(each)):
            for bindings in self._solutions(before, given):
                self._ask(literal.under(bindings))
            before.append(literal)
        if any(each.naf for each in info.rule.when):
            self._absences(info, given)
        if info.aggregate:
            self._whole(self.state.aggregates[info.aggregate].definition)


def _unified(head: Literal, known: Mapping[str, Scalar]) -> dict[str, Scalar] | None:
    """The head's variables as these values bind them, or None where they cannot be the head's."""
    found: dict[str, Scalar] = {}
    for name, term in head.args:
        if name not in known:
            continue
        value = found.setdefault(term, known[name]) if is_variable(term) else term
        if not builtins.same(value, known[name]):
            return None
    return found if set(known) <= set(head.names) else None
