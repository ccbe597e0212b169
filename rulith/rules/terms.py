"""Terms, atoms, literals, rules: the words of the rule language.

Decides what a scalar is, when two atoms are the same, and how JSON becomes a rule.
Knows nothing of evaluation (program.py) or of which predicates a Board reserves.

Identity is typed: True is not 1, "5x" is not 5, and 1 is 1.0. Argument order never matters.
Numbers are binary64; whole numbers inside ±(2^53-1) are kept as int. An integer literal
beyond that is refused, never rounded; a float beyond it (1e308) can be stated and compared,
but nothing is computed from it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Union

from rulith.base.canonical import canonical_text, number_text
from rulith.base.errors import Refused
from rulith.base.limits import ARGUMENTS_MAX, INTEGER_MAX, STRING_BYTES_MAX

Scalar = Union[str, bool, int, float]
Arguments = tuple[tuple[str, Scalar], ...]

# What counts as blank, fixed here: a later Python may know more of it, and folds again what this one accepted.
BLANKS = "\t\n\v\f\r\x1c\x1d\x1e\x1f \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:e[+-][0-9]+)?", re.ASCII)


def is_variable(value: object) -> bool:
    """A string starting with `?` that names something; `?` and `? ` are constants."""
    return isinstance(value, str) and value[:1] == "?" and value[1:].strip(BLANKS) != ""


def _same_arguments(left: Arguments, right: Arguments) -> bool:
    """Equal names and values, where True is not 1."""
    return left == right and all([(a.__class__ is bool) == (b.__class__ is bool) for (_, a), (_, b) in zip(left, right)])


def scalar_text(value: Scalar) -> str:
    """How a value prints inside an atom: numbers as JSON prints them, text as it stands."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else number_text(value)


def _arguments_text(args: Arguments) -> str:
    return ", ".join(f"{name}={scalar_text(value)}" for name, value in args)


def _escaped(part: str) -> str:
    return part.replace("\\", "\\\\").replace("|", "\\|").replace(":", "\\:")


class Atom:
    """A ground statement: predicate, sign, named arguments in ascending order of name.

    Nobody sets a member later. That is not enforced: one closing may make thousands, and a
    frozen dataclass that hashed itself when first asked took three times as long to make.
    """

    __slots__ = ("predicate", "args", "negated", "_hash")

    def __init__(self, predicate: str, args: Arguments, negated: bool = False) -> None:
        self.predicate = predicate
        self.args = args
        self.negated = negated
        self._hash = hash((predicate, args))     # 1 and True share a hash; __eq__ tells them apart

    @staticmethod
    def of(predicate: str, args: Mapping[str, object] | None = None, negated: bool = False) -> Atom:
        """An atom from loose values: normalised, its arguments in order. Refuses ATOM_INVALID."""
        return Atom(predicate, read_arguments(args, predicate), negated)

    @property
    def arguments(self) -> dict[str, Scalar]:
        return dict(self.args)

    def __eq__(self, other: object) -> bool:
        return (isinstance(other, Atom) and self.predicate == other.predicate and self.negated == other.negated
                and _same_arguments(self.args, other.args))

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return f"Atom(predicate={self.predicate!r}, args={self.args!r}, negated={self.negated!r})"

    def text(self) -> str:
        """`p(a=1, b=x)`, `not p()`."""
        return f"{'not ' if self.negated else ''}{self.predicate}({_arguments_text(self.args)})"

    def identity(self) -> str:
        """One text per atom: `[not:]p|a:1|b:"x"`, names escaped so that no two atoms share it."""
        parts = "|".join(f"{_escaped(name)}:{canonical_text(value)}" for name, value in self.args)
        return f"{'not:' if self.negated else ''}{_escaped(self.predicate)}|{parts}"

    def json(self) -> dict[str, Any]:
        found: dict[str, Any] = {"predicate": self.predicate, "args": dict(self.args)}
        return {**found, "negated": True} if self.negated else found

    def opposite(self) -> Atom:
        return Atom(self.predicate, self.args, not self.negated)


@dataclass(frozen=True, eq=False, slots=True)
class Literal:
    """An atom of a rule: arguments may be variables; `naf` asks that nothing matches it."""

    predicate: str
    args: Arguments
    negated: bool = False
    naf: bool = False

    @staticmethod
    def of(predicate: str, args: Mapping[str, object] | None = None, negated: bool = False, naf: bool = False) -> Literal:
        return Literal(predicate, read_arguments(args, predicate), negated, naf)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.args)

    def variables(self) -> list[str]:
        """The variables in it, each once, `?` included, in order of argument name."""
        return list(dict.fromkeys(value for _, value in self.args if is_variable(value)))

    def get(self, name: str) -> Scalar | None:
        return next((value for key, value in self.args if key == name), None)

    def is_ground(self) -> bool:
        return not self.variables()

    def under(self, bindings: Mapping[str, Scalar]) -> Literal:
        """The literal with every bound variable replaced."""
        args = tuple((n, bindings.get(v, v) if is_variable(v) else v) for n, v in self.args)
        return Literal(self.predicate, args, self.negated, self.naf)

    def atom(self) -> Atom:
        return Atom(self.predicate, self.args, self.negated)

    def __eq__(self, other: object) -> bool:
        return (isinstance(other, Literal) and self.predicate == other.predicate and self.negated == other.negated
                and self.naf == other.naf and _same_arguments(self.args, other.args))

    def __hash__(self) -> int:
        return hash((self.predicate, self.args))

    def text(self) -> str:
        mark = ("naf " if self.naf else "") + ("not " if self.negated else "")
        return f"{mark}{self.predicate}({_arguments_text(self.args)})"

    def json(self) -> dict[str, Any]:
        found: dict[str, Any] = {"predicate": self.predicate, "args": dict(self.args)}
        if self.negated:
            found["negated"] = True
        return {**found, "naf": True} if self.naf else found


@dataclass(frozen=True, slots=True)
class Rule:
    """`then` follows whenever all of `when` holds. `id` is unique in a Program, `label` is for people."""

    id: str
    label: str
    when: tuple[Literal, ...]
    then: tuple[Literal, ...]

    def text(self) -> str:
        body = " AND ".join(literal.text() for literal in self.when) or "nothing"
        heads = ", ".join(literal.text() for literal in self.then) or "nothing"
        return f"IF {body} THEN {heads}"

    def same_content(self, other: Rule) -> bool:
        """Equal up to the order of literals; a renamed variable makes a rule new."""
        return _bag(self.when) == _bag(other.when) and _bag(self.then) == _bag(other.then)


def _bag(literals: Iterable[Literal]) -> list[str]:
    return sorted(canonical_text(literal.json()) for literal in literals)


def normalise(value: object, where: str = "an argument") -> Scalar:
    """The one form of a scalar: "5" is 5, 5.0 is 5, -0.0 is 0; "007" and "5.0" stay text.

    A string becomes a number only when it is that number's canonical print and lies in
    the exact range. Raises Refused ATOM_INVALID (not a scalar), number_out_of_range,
    resource_limit (a text too long).
    """
    if isinstance(value, str):
        if value[:1] in _FIRST and len(value) < 26 and _NUMBER.fullmatch(value):
            return _number_or_text(value)
        return _bounded_text(value, where)
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        if -INTEGER_MAX <= value <= INTEGER_MAX:
            return int(value)
        raise Refused("number_out_of_range", where=where, literal=_shown(value))
    if isinstance(value, float):
        if not math.isfinite(value):
            raise Refused("number_out_of_range", where=where, literal=_shown(value))
        whole = value.is_integer() and -INTEGER_MAX <= value <= INTEGER_MAX
        return int(value) if whole else float(value)
    kind = "null" if value is None else type(value).__name__
    raise Refused("ATOM_INVALID", where=where, problem=f"its value is {kind}, not text, a number, true or false")


_FIRST = frozenset("-0123456789")


def _shown(number: int | float) -> str:
    if isinstance(number, int) and number.bit_length() > 256:
        return f"an integer of {number.bit_length()} bits"
    return str(number)


def _bounded_text(value: str, where: str) -> str:
    if value.isascii():
        size = len(value)
    else:
        try:
            size = len(value.encode("utf-8"))
        except UnicodeEncodeError:
            raise Refused("ATOM_INVALID", where=where, problem="its text holds a lone surrogate") from None
    if size > STRING_BYTES_MAX:
        raise Refused("resource_limit", what=f"the text of {where}", value=f"{size} bytes", limit=STRING_BYTES_MAX)
    return str(value)


def _number_or_text(text: str) -> Scalar:
    number = float(text)
    if not math.isfinite(number) or abs(number) > INTEGER_MAX or number_text(number) != text:
        return text
    return int(number) if number.is_integer() else number


def read_arguments(args: Mapping[str, object] | None, where: str) -> Arguments:
    """JSON arguments, normalised and in order of name. Raises Refused: ATOM_INVALID, resource_limit."""
    if args is None:
        return ()
    if not isinstance(args, Mapping):
        raise Refused("ATOM_INVALID", where=where, problem="`args` is not an object of named values")
    if len(args) > ARGUMENTS_MAX:
        raise Refused("resource_limit", what=f"the number of arguments of {where}", value=len(args), limit=ARGUMENTS_MAX)
    for name in args:
        if not isinstance(name, str):
            raise Refused("ATOM_INVALID", where=where, problem=f"the argument name {name!r} is not text")
        _bounded_text(name, f"an argument name of {where}")
    return tuple((name, normalise(args[name], f"{where}.{name}")) for name in sorted(args))


def _read_predicate(obj: Mapping[str, object], where: str) -> str:
    predicate = obj.get("predicate")
    if not isinstance(predicate, str) or predicate == "":
        raise Refused("ATOM_INVALID", where=where, problem="`predicate` is not a non-empty text")
    return _bounded_text(predicate, f"the predicate of {where}")


def _read_flag(obj: Mapping[str, object], name: str, where: str) -> bool:
    flag = obj.get(name)
    if flag is None:
        return False
    if not isinstance(flag, bool):
        raise Refused("ATOM_INVALID", where=where, problem=f"`{name}` is neither true nor false")
    return flag


def read_literal(obj: object, where: str = "a literal") -> Literal:
    """`{predicate, args?, negated?, naf?}` as a Literal. Raises Refused ATOM_INVALID naming the member."""
    if not isinstance(obj, Mapping):
        raise Refused("ATOM_INVALID", where=where, problem="it is not an object with a predicate")
    for member in obj:
        if member not in ("predicate", "args", "negated", "naf"):
            raise Refused("ATOM_INVALID", where=where, problem=f"the member {member!r} is unknown")
    predicate = _read_predicate(obj, where)
    args = read_arguments(obj.get("args"), f"{where} {predicate}")  # type: ignore[arg-type]
    return Literal(predicate, args, _read_flag(obj, "negated", where), _read_flag(obj, "naf", where))


def read_atom(obj: object, where: str = "a fact") -> Atom:
    """A ground `{predicate, args?, negated?}`. Raises Refused ATOM_INVALID for a variable or a naf."""
    literal = read_literal(obj, where)
    if literal.naf:
        raise Refused("ATOM_INVALID", where=where, problem="`naf` belongs to rule bodies, a fact states something")
    for name, value in literal.args:
        if is_variable(value):
            problem = f"{name}={value} is a variable; a fact names values"
            raise Refused("ATOM_INVALID", where=where, problem=problem)
    return literal.atom()


def read_literals(obj: object, where: str) -> tuple[Literal, ...]:
    if not isinstance(obj, (list, tuple)):
        raise Refused("ATOM_INVALID", where=where, problem="it is not a list of literals")
    return tuple(read_literal(item, f"{where}[{index}]") for index, item in enumerate(obj))


def read_rule(obj: object, where: str = "a rule") -> Rule:
    """`{id, label?, when, then}` as a Rule; the label defaults to the id. Raises Refused ATOM_INVALID."""
    if not isinstance(obj, Mapping):
        raise Refused("ATOM_INVALID", where=where, problem="it is not an object with `id`, `when` and `then`")
    rule_id = obj.get("id")
    if not isinstance(rule_id, str) or rule_id == "":
        raise Refused("ATOM_INVALID", where=where, problem="`id` is not a non-empty text")
    label = obj.get("label", rule_id)
    if not isinstance(label, str):
        raise Refused("ATOM_INVALID", where=f"{where} {rule_id}", problem="`label` is not a text")
    when = read_literals(obj.get("when"), f"{where} {rule_id}, `when`")
    then = read_literals(obj.get("then"), f"{where} {rule_id}, `then`")
    return Rule(rule_id, label, when, then)
