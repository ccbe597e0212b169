"""The Constitution (`rulith-constitution/1`): what no Action of this gateway may do, and what a person decides first.

Its rules read one proposed operation (WORDS) and nothing else: no Board, no clock. They
conclude `forbidden(action, reason)`, `needs_decision(action, kind)`, or predicates of their
own. Deny wins, and what cannot be evaluated within its budget is denied. The reader finds
every error of a file at once, each with its place, and runs the file's own examples.

Refuses to know: where a proposal comes from, who may install a file.
Source  protocol/constitution.schema.json.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from rulith.base.canonical import digest
from rulith.base.errors import Refused
from rulith.base.limits import RULE_BODY_MAX
from rulith.board.file_shapes import NAME, VERSION, WHOLE, Problem, ShapeReader, listing, not_for_what_was_misread
from rulith.board.shapes import TIERS
from rulith.board.words import BUILTINS
from rulith.rules.program import Limits, Program, Tx
from rulith.rules.safety import check_rule, misnamed
from rulith.rules.terms import Atom, Literal, Rule, Scalar, is_variable, normalise

FORMAT = "rulith-constitution/1"
MEMBERS = "format version title summary rules examples"
BOARD_KIND = "board"                  # what `proposed` says of an Action that no Worker runs; its tool is ""
OPS = ("ApplyAction", "ApplyBatch")   # how an Action is asked for
KINDS = ("read", "write", "run", BOARD_KIND)
# what a rule may read -> its argument names
WORDS = {
    "proposed": ("op", "action", "tool", "kind"),
    "proposed_arg": ("name", "value"),
    "proposed_source": ("source",),
    "rests_on": ("premise", "source", "tier"),
    "case": ("type", "root"),
    "agent": ("id",),
}
FORBIDDEN, NEEDS_DECISION, RESTS_ON = "forbidden", "needs_decision", "rests_on"
VERDICTS = {FORBIDDEN: ("action", "reason"), NEEDS_DECISION: ("action", "kind")}
# (word, argument) -> the values it can have; another one in a rule would wait for ever, and guard nothing
CLOSED = {("proposed", "op"): OPS, ("proposed", "kind"): KINDS, ("rests_on", "tier"): TIERS}
TWO_PEOPLE = "two_people"             # the kind of decision that two persons make
KIND_MAX = 200
RESTS_MAX = 5_000                     # premises of one proposal
LIMITS = Limits(facts=RESTS_MAX + 500, derived=20_000, rules=1_000, body=RULE_BODY_MAX, bindings=50_000, rounds=1_000, steps=500_000)


@dataclass(frozen=True)
class Rest:
    """One premise that a proposal rests on. `source` is "" where no Source said it."""

    premise: str
    source: str
    tier: str


@dataclass(frozen=True)
class Proposal:
    """One operation before it is admitted, and again before it is dispatched."""

    op: str
    action: str
    tool: str
    kind: str
    args: Mapping[str, Scalar]
    source: str
    rests: tuple[Rest, ...]
    case_type: str
    root: str
    agent: str

    def facts(self) -> Iterator[Atom]:
        yield Atom.of("proposed", {"op": self.op, "action": constant(self.action), "tool": self.tool, "kind": self.kind})
        for name, value in self.args.items():
            yield Atom.of("proposed_arg", {"name": constant(name), "value": constant(value)})
        if self.source:
            yield Atom.of("proposed_source", {"source": self.source})
        for rest in self.rests:
            yield Atom.of(RESTS_ON, {"premise": constant(rest.premise), "source": rest.source, "tier": rest.tier})
        yield Atom.of("case", {"type": self.case_type, "root": self.root})
        yield Atom.of("agent", {"id": self.agent})


@dataclass(frozen=True)
class Constitution:
    """One immutable file, named by the digest of its canonical JSON."""

    version: str
    title: str
    summary: str
    digest: str
    rules: tuple[Rule, ...]
    examples: tuple[Mapping, ...] = ()
    document: Mapping = field(default_factory=dict)

    @property
    def reads_rests(self) -> bool:
        return any(literal.predicate == RESTS_ON for rule in self.rules for literal in rule.when)


def constant(value: Scalar) -> Scalar:
    """The value as a fact may hold it: a text that reads as a variable gets a ' in front."""
    return f"'{value}" if is_variable(value) else value


def judge(constitution: Constitution, proposal: Proposal) -> tuple[str, ...]:
    """The kinds of decision this proposal needs, in the order of the rules. Raises Refused governance_rejected."""
    try:
        if len(proposal.rests) > RESTS_MAX:
            raise Refused("resource_limit", what="the number of its premises", value=len(proposal.rests), limit=RESTS_MAX)
        found = _verdicts(constitution.rules, proposal.facts(), proposal.action)
    except Refused as refusal:
        raise Refused("governance_rejected", action=proposal.action, rule="none",
                      reason=f"it could not be evaluated ({refusal.happened.rstrip('.')})") from refusal
    for verdict, said, rule_id in found:
        if verdict == FORBIDDEN:
            raise Refused("governance_rejected", action=proposal.action, reason=said, rule=rule_id)
    return tuple(dict.fromkeys(said for _, said, _ in found))


def merged_decision(own: Mapping | None, kinds: tuple[str, ...], expires_s: int) -> Mapping | None:
    """What a Capability asks for and what the Constitution adds, as one requirement.

    Kinds in order, the most people, the shortest time. `kinds` lists them where there is more to it than `kind`.
    """
    if not kinds:
        return own
    asked = list(dict.fromkeys([*(decision_kinds(own)), *kinds]))
    people = max(own["people"] if own else 1, 2 if TWO_PEOPLE in asked else 1)
    return {"kind": ", ".join(asked)[:KIND_MAX], "kinds": asked, "people": people, "expiresS": own["expiresS"] if own else expires_s}


def decision_kinds(decision: Mapping | None) -> list[str]:
    return list(decision.get("kinds") or [decision["kind"]]) if decision else []


def is_covered(needed: Mapping | None, made: Mapping | None) -> bool:
    """Whether the decision that was asked for then is all that is needed now."""
    if needed is None:
        return True
    return made is not None and set(decision_kinds(needed)) <= set(decision_kinds(made)) and needed["people"] <= made["people"]


def _verdicts(rules: tuple[Rule, ...], facts: Iterator[Atom], action: str) -> list[tuple[str, str, str]]:
    """(verdict, reason or kind, rule) about this action, in the order of the rules."""
    program = Program(LIMITS)
    with program.transaction() as tx:
        _load(tx, rules, facts)
    order = {rule.id: place for place, rule in enumerate(rules)}
    found = []
    for verdict, (_, said) in VERDICTS.items():
        for atom in program.facts(verdict):
            if atom.arguments["action"] == normalise(constant(action)):
                support = program.support(atom)
                found.append((verdict, str(atom.arguments[said]), support.rule_id if support is not None else "none"))
    return sorted(found, key=lambda each: order.get(each[2], -1))


def _load(tx: Tx, rules: tuple[Rule, ...], facts: Iterator[Atom]) -> None:
    for rule in rules:
        tx.add_rule(rule)
    for atom in facts:
        tx.assert_fact(atom)
    tx.close()


# --- reading a file --------------------------------------------------------------------


def check_constitution(document: object) -> tuple[Constitution | None, list[Problem]]:
    """The Constitution this file makes, or None, and every error found, each with its place."""
    reader = _Reader(document)
    found = reader.read()
    problems = reader.problems
    if found is None:
        return None, problems
    problems += not_for_what_was_misread(list(_engine_problems(found)), problems)
    if not problems:
        problems += _failing_examples(found)
    return (found if not problems else None), problems


def read_constitution(document: object) -> Constitution:
    """Raises Refused constitution_invalid listing every error."""
    found, problems = check_constitution(document)
    if found is None:
        raise Refused("constitution_invalid", count=len(problems), listing=listing(problems))
    return found


class _Reader(ShapeReader):
    def read(self) -> Constitution | None:
        document = self._object(self.document, WHOLE, MEMBERS, "format version title rules")
        if not document:
            return None
        if document.get("format", FORMAT) != FORMAT:
            self.bad("format", f"{document['format']!r} is not {FORMAT}")
        try:
            named = digest(dict(document))
        except Refused as refusal:
            self.bad(WHOLE, refusal.happened)
            return None
        self.own = self._concluded(document)
        rules = tuple(self._rules(document))
        examples = tuple(self._example(row, f"examples[{index}]") for index, row in enumerate(self._list(document, "examples", "")))
        return Constitution(self._text(document, "version", "", VERSION), self._text(document, "title", ""),
                            self._text(document, "summary", "", optional=True), named, rules, examples, dict(document))

    def _concluded(self, document: Mapping) -> set[str]:
        """Predicates that some rule concludes; bodies may read these and the words."""
        rules = document.get("rules")
        heads = [head for row in (rules if isinstance(rules, list) else ()) if isinstance(row, Mapping) and isinstance(row.get("then"), list)
                 for head in row["then"] if isinstance(head, Mapping)]
        return {head["predicate"] for head in heads if isinstance(head.get("predicate"), str)}

    def _rules(self, document: Mapping) -> Iterator[Rule]:
        seen: set[str] = set()
        for index, row in enumerate(self._list(document, "rules", "")):
            place = f"rules[{index}]"
            row = self._object(row, place, "id label when then", "id label when then")
            rule_id = self._text(row, "id", f"{place}.", NAME)
            if rule_id:
                self._unique(rule_id, seen, f"{place}.id")
            label = self._text(row, "label", f"{place}.") if "label" in row else ""
            when = self._literals(row, "when", f"{place}.", self._body)
            then = self._literals(row, "then", f"{place}.", self._head)
            for member in ("when", "then"):
                if isinstance(row.get(member), list) and not row[member]:
                    self.bad(f"{place}.{member}", "it is empty")
            yield Rule(rule_id or f"rule {index + 1}", label or rule_id, when, then)

    def _example(self, row: object, place: str) -> Mapping:
        row = self._object(row, place, "title given follows never", "title given")
        return {"title": self._text(row, "title", f"{place}.", optional=True), "place": place,
                "given": self._literals(row, "given", f"{place}.", self._given),
                "follows": self._literals(row, "follows", f"{place}.", self._expected),
                "never": self._literals(row, "never", f"{place}.", self._expected)}

    def _literals(self, owner: Mapping, member: str, place: str, check) -> tuple[Literal, ...]:
        found = []
        for index, row in enumerate(self._list(owner, member, place)):
            here = f"{place}{member}[{index}]"
            literal = self._read_literal(row, here)
            if literal is None:
                continue
            odd = [name for name in literal.names if not NAME.fullmatch(name)]
            if odd:
                self.bad(f"{here}.args", f"the argument name {odd[0]!r} is not lower case letters, digits and _")
            elif check(literal, here):
                found.append(literal)
        return tuple(found)

    def _body(self, literal: Literal, place: str) -> bool:
        if literal.predicate in BUILTINS:
            wrong = misnamed(literal)
            if wrong:
                self.bad(place, wrong)
            return True
        if literal.negated:
            self.bad(f"{place}.negated", "nothing concludes the opposite of a predicate here; use `naf` for what must be absent")
            return False
        if literal.predicate not in WORDS and literal.predicate not in self.own:
            self.bad(f"{place}.predicate", f"{literal.predicate!r} is no word of a proposal ({', '.join(WORDS)}), and no rule concludes it")
            return False
        return self._arguments(literal, place)

    def _head(self, literal: Literal, place: str) -> bool:
        if literal.predicate in WORDS or literal.predicate in BUILTINS:
            self.bad(f"{place}.predicate", f"{literal.predicate!r} is given with the proposal and is never concluded")
            return False
        if not NAME.fullmatch(literal.predicate):
            self.bad(f"{place}.predicate", f"{literal.predicate!r} is not lower case letters, digits and _")
            return False
        for member in ("negated", "naf"):
            if getattr(literal, member):
                self.bad(f"{place}.{member}", "a conclusion is plain")
        wanted = VERDICTS.get(literal.predicate)
        if wanted is not None and set(literal.names) != set(wanted):
            self.bad(f"{place}.args", f"{literal.predicate} takes exactly {' and '.join(wanted)}")
            return False
        said = literal.get(wanted[1]) if wanted is not None else None
        if isinstance(said, str) and not is_variable(said) and not 0 < len(said.strip()) <= KIND_MAX:
            self.bad(f"{place}.args.{wanted[1]}", f"it is empty, or longer than {KIND_MAX} characters")
        if isinstance(said, str):
            self._seen(said, f"{place}.args.{wanted[1]}")
        return True

    def _given(self, literal: Literal, place: str) -> bool:
        if literal.predicate not in WORDS:
            self.bad(f"{place}.predicate", f"{literal.predicate!r} is no word of a proposal ({', '.join(WORDS)})")
            return False
        missing = [name for name in WORDS[literal.predicate] if name not in literal.names]
        if missing:
            self.bad(f"{place}.args", f"{', '.join(missing)} is missing")
        return self._ground(literal, place) and self._arguments(literal, place)

    def _expected(self, literal: Literal, place: str) -> bool:
        if literal.predicate not in self.own and literal.predicate not in VERDICTS:
            self.bad(f"{place}.predicate", f"no rule concludes {literal.predicate!r}")
            return False
        return self._ground(literal, place) and self._arguments(literal, place)

    def _ground(self, literal: Literal, place: str) -> bool:
        plain = not (literal.variables() or literal.naf or literal.negated)
        if not plain:
            self.bad(place, "an example states plain facts, without variables, `naf` or `negated`")
        return plain

    def _arguments(self, literal: Literal, place: str) -> bool:
        names = WORDS.get(literal.predicate) or VERDICTS.get(literal.predicate)
        sound = True
        for name, value in literal.args:
            if names is not None and name not in names:
                self.bad(f"{place}.args.{name}", f"{literal.predicate} has no argument of that name ({', '.join(names)})")
                sound = False
            choices = CLOSED.get((literal.predicate, name))
            if choices is not None and not is_variable(value) and value not in choices:
                self.bad(f"{place}.args.{name}", f"{value!r} is none of {', '.join(choices)}")
                sound = False
        return sound


def _engine_problems(found: Constitution) -> Iterator[Problem]:
    sound = []
    for index, rule in enumerate(found.rules):
        try:
            check_rule(rule)
            if len(rule.when) > LIMITS.body or len(rule.then) > LIMITS.body:
                raise Refused("resource_limit", what="the number of literals of one list", value=max(len(rule.when), len(rule.then)), limit=LIMITS.body)
            sound.append(rule)
        except Refused as refusal:
            yield Problem(f"rules[{index}]", refusal.happened)
    if len({rule.id for rule in sound}) == len(sound):        # a name used twice has been told
        try:
            with Program(LIMITS).transaction() as tx:
                _load(tx, tuple(sound), iter(()))
        except Refused as refusal:
            yield Problem("rules", refusal.happened)


def _failing_examples(found: Constitution) -> Iterator[Problem]:
    for example in found.examples:
        where = f"{example['place']} ({example['title']})"
        program = Program(LIMITS)
        try:
            with program.transaction() as tx:
                _load(tx, found.rules, (literal.atom() for literal in example["given"]))
        except Refused as refusal:
            yield Problem(where, refusal.happened)
            continue
        for literal in example["follows"]:
            if next(program.matching(literal), None) is None:
                instead = ", ".join(atom.text() for atom, _ in zip(program.facts(literal.predicate), range(3)))
                yield Problem(where, f"{literal.text()} does not follow; of that predicate there is {instead or 'nothing'}")
        for literal in example["never"]:
            if next(program.matching(literal), None) is not None:
                yield Problem(where, f"{literal.text()} follows, and must not")
