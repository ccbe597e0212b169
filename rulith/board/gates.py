"""Gates: what an Agent may write, and what a Worker may say.

An Agent writes only predicates that nobody else answers for: no Board word, nothing a
Capability pins to its rules, nothing a Source attests, nothing an external Action brings
about. A Worker reports exactly the rows its Tool was dispatched to return, from the Source
it was dispatched against. Anything else is refused before the Board moves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rulith.base.errors import Refused
from rulith.board.capability import a_type, type_fits, type_of
from rulith.board.names import check_literals
from rulith.board.shapes import Source, weaker
from rulith.board.state import BoardState
from rulith.board.words import BUILTINS, FUNCTIONAL_DEPENDENCY, is_board_word
from rulith.rules.safety import misnamed
from rulith.rules.terms import Atom, Literal, Scalar, is_variable, normalise, read_literal

OWNERS = {
    "pin": ("the rules of {capability} alone conclude", "those rules, from what Sources attest"),
    "source": ("only a Source of {capability} attests", "applying the Action that reads it"),
    "action": ("only a settled Action of {capability} brings about", "applying that Action"),
}
FACTS_PER_RECEIPT_MAX = 1_000
SHOWN_CHARS_MAX = 80             # of a reported value, in a refusal
# Rows of these built-in Tools, under whatever id a Manifest serves them: each path lies below the one asked for.
LOOKING_BELOW = frozenset(("rulith.workspace.list@1", "rulith.workspace.search@1", "rulith.worker.dir_entry", "rulith.worker.text_match"))

PLACEHOLDERS = frozenset("string number boolean integer int float double object array".split())


def check_writable(state: BoardState, predicate: str, where: str, args: Mapping[str, Scalar] | None = None) -> None:
    """Refuse attested_predicate when an Agent may not write `predicate`, whatever the sign."""
    if predicate in BUILTINS:
        raise Refused("BUILTIN_RESERVED", predicate=predicate, use=f"written by {where}")
    if is_board_word(predicate):
        raise Refused("attested_predicate", where=where, predicate=predicate, owner="the Board alone writes",
                      how="what truly happens to a Case")
    held = state.protected.get(predicate)
    if held is not None:
        owner, how = OWNERS[held[0]]
        raise Refused("attested_predicate", where=where, predicate=predicate,
                      owner=owner.format(capability=held[1]), how=how)
    if predicate == FUNCTIONAL_DEPENDENCY and args is not None:
        subject = args.get("predicate")
        if isinstance(subject, str) and not is_variable(subject):
            check_writable(state, subject, f"{where} (its dependency)")
        elif subject is not None:
            raise Refused("attested_predicate", where=where, predicate=predicate,
                          owner="an Agent declares only for a predicate named outright", how="naming that predicate")


def read_agent_fact(state: BoardState, operation: Mapping, where: str) -> Atom:
    """The atom an Agent may assert, from `{predicate, args?, negated?}`."""
    literal = read_literal({name: operation[name] for name in ("predicate", "args", "negated") if name in operation}, where)
    for name, value in literal.args:
        if is_variable(value):
            raise Refused("variable_in_fact", where=f"{where} {literal.predicate}.{name}", value=value)
    check_literals([literal], where, state.protected)
    atom = literal.atom()
    check_writable(state, atom.predicate, where, dict(atom.args))
    return atom


def check_heads(state: BoardState, heads: Sequence[Literal], where: str) -> None:
    for head in heads:
        check_writable(state, head.predicate, where, dict(head.args))


def check_builtins(body: Sequence[Literal], name: str, *, action: bool = False) -> None:
    """Refuse a builtin under other argument names than its own: it would never hold, and nobody would hear why."""
    wrong = [problem for literal in body if literal.predicate in BUILTINS and (problem := misnamed(literal))]
    if wrong:
        raise Refused("ACTION_UNSAFE" if action else "RULE_UNSAFE", rule=name, problems="; ".join(wrong), violations=wrong)


def check_placeholders(literals: Sequence[Literal], where: str) -> None:
    """A goal that asks for `string` asks for nothing."""
    for literal in literals:
        for name, value in literal.args:
            if isinstance(value, str) and not is_variable(value) and (value.lower() in PLACEHOLDERS or "|" in value):
                raise Refused("placeholder_value", where=f"{where} {literal.predicate}.{name}", value=value)


# --- what a Worker may say -------------------------------------------------------------


def reported_facts(state: BoardState, plan: Mapping, facts: object, source: Source | None) -> list[tuple[Atom, str]]:
    """The atoms a receipt may land, each once and with its tier; or Refused ingest_rejected, and none lands.

    state   for the argument types the vocabulary declares
    plan    the dispatched plan's record; its `returns` rows are all a Worker may say
    facts   as reported: [{predicate, args, source?}]; a stated tier is a member nobody accepts
    """
    if not isinstance(facts, (list, tuple)):
        raise Refused("ingest_rejected", problem="its facts are not a list")
    if len(facts) > FACTS_PER_RECEIPT_MAX:
        raise Refused("ingest_rejected", problem=f"it reports {len(facts)} facts, more than {FACTS_PER_RECEIPT_MAX}")
    return list(dict.fromkeys(_reported(state, plan, fact, source, f"fact {index + 1}") for index, fact in enumerate(facts)))


def _reported(state: BoardState, plan: Mapping, fact: object, source: Source | None, where: str) -> tuple[Atom, str]:
    if not isinstance(fact, Mapping):
        raise Refused("ingest_rejected", problem=f"{where} is not an object")
    strange = sorted(set(fact) - {"predicate", "args", "source"})
    if strange:
        raise Refused("ingest_rejected", problem=f"{where} has the member {', '.join(map(str, strange))}, which no Worker states")
    predicate, args = fact.get("predicate"), fact.get("args", {})
    if not isinstance(predicate, str) or not isinstance(args, Mapping):
        raise Refused("ingest_rejected", problem=f"{where} has no predicate or no named arguments")
    where = f"{where}: {_cut(predicate)}"
    if is_board_word(predicate) or predicate in BUILTINS:
        raise Refused("ingest_rejected", problem=f"{where} is a word that the Board alone writes")
    held = state.protected.get(predicate)      # by a Release that came while the Tool ran, too
    if held is not None and (held[0] == "pin" or not plan["release"]):
        raise Refused("ingest_rejected", problem=f"{where} is a predicate of {held[1]}, and this Action is none of its own that may report it")
    row = next((row for row in plan["returns"] if row["predicate"] == predicate and set(row["args"]) == set(args)), None)
    if row is None:
        raise Refused("ingest_rejected", problem=f"{where} {_unlike(plan, predicate, args)}")
    stated = fact.get("source")
    if stated is not None and stated != plan["sourceRecordId"]:
        raise Refused("ingest_rejected", problem=f"{where} names Source {_shown(stated)}, and the call was dispatched against {plan['sourceRecordId']!r}")
    if source is not None and not source.may_attest(predicate):
        raise Refused("ingest_rejected", problem=f"Source {source.name!r} may not attest {predicate}")
    defined = state.defined(predicate)
    if source is not None and defined is not None and defined.sources and source.type not in defined.sources:
        raise Refused("ingest_rejected", problem=f"a {source.type} Source such as {source.name!r} may not attest {predicate}")
    values, types = {}, state.argument_types(predicate)
    for name in sorted(args):
        try:
            values[name] = normalise(args[name], f"{where}.{name}")
        except Refused as refusal:
            raise Refused("ingest_rejected", problem=refusal.happened.rstrip(".")) from refusal
        if is_variable(values[name]):
            raise Refused("ingest_rejected", problem=f"{where}.{name} is {_shown(values[name])}, which reads as a variable")
        if name in types and not type_fits(values[name], types[name]):
            raise Refused("ingest_rejected", problem=f"{where}.{name} is {_shown(values[name])}, which is not {a_type(types[name])}")
        _same_as_asked(plan, predicate, row["args"][name][1:], values[name], f"{where}.{name}")
    tier = weaker("attested", source.tier if source is not None else "attested")
    return Atom.of(predicate, values), tier


def _unlike(plan: Mapping, predicate: str, args: Mapping) -> str:
    """How a stated row differs from those the Tool returns."""
    wanted = [row["args"] for row in plan["returns"] if row["predicate"] == predicate]
    if not wanted:
        return f"is no predicate that {plan['tool']} returns"
    lacking, strange = sorted(set(wanted[0]) - set(args)), sorted(map(str, set(args) - set(wanted[0])))
    parts = [f"lacks {', '.join(lacking)}"] if lacking else []
    parts += [f"has {_cut(', '.join(strange))}"] if strange else []
    return f"{' and '.join(parts)}, and {plan['tool']} returns it with {', '.join(wanted[0])}"


def _cut(text: str) -> str:
    return text if len(text) <= SHOWN_CHARS_MAX else text[:SHOWN_CHARS_MAX] + "…"


def _shown(value: object) -> str:
    """A reported value, fit to be quoted in a refusal."""
    return _cut(repr(value))


def _same_as_asked(plan: Mapping, predicate: str, column: str, value: Scalar, where: str) -> None:
    """A column named like an argument of the call repeats that argument: a grant for one job says nothing of another."""
    if column == "source":
        if value != normalise(plan["sourceRecordId"], where):
            raise Refused("ingest_rejected", problem=f"{where} is {_shown(value)}, and the call was dispatched against Source {plan['sourceRecordId']!r}")
        return
    if column in plan["args"]:
        asked = normalise(plan["args"][column], where)
        if column == "path" and not LOOKING_BELOW.isdisjoint((plan["tool"], predicate)):
            if not lies_below(value, asked):
                raise Refused("ingest_rejected", problem=f"{where} is {_shown(value)}, and the call asked below {_shown(asked)}")
            return
        if type_of(asked) != type_of(value) or asked != value:
            raise Refused("ingest_rejected", problem=f"{where} is {_shown(value)}, and the call was given {_shown(asked)}")


def lies_below(path: Scalar, folder: Scalar) -> bool:
    """Whether one plain path lies below another, both from the Source's folder."""
    if not isinstance(path, str) or not isinstance(folder, str):
        return False
    names, above = ([name for name in text.split("/") if name not in ("", ".")] for text in (path, folder))
    return ".." not in names and len(names) > len(above) and names[: len(above)] == above
