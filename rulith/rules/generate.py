"""Rules as Python source: one function per rule shape and starting point.

A function starts from rows that changed (a *delta* of one literal), from facts to find
new proofs for, or from nothing, and joins the remaining literals by hash indexes in an
order chosen here; builtins are inlined at the first place where their inputs are bound.

Modes   derive  store each new head fact with its support
        kill    report head facts whose stored support is exactly this match
        find    store one support for each given head fact, if there is any
        solve   collect distinct bindings, literals in written order

Every function returns its number of join steps. Limits count a literal's matches within
one call, the starting literal excepted (a plain scan falls under the fact limits).
Source text depends on nothing but the shape, so it is compiled once per process.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rulith.base.limits import INTEGER_MAX, TEXT_WORK_MAX
from rulith.rules import builtins
from rulith.rules.bodies import Body, Guard, Join

# CPython refuses more than 20 nested blocks; deeper joins continue in another generator.
_LOOPS_MAX = 12
_COMPILED_MAX = 4_096
_TEXT_COUNTERS = 1_000     # above the slots of joins


class Explosion(Exception):
    """A literal matched more often than the limit allows."""

    def __init__(self, index: int) -> None:
        super().__init__(index)
        self.index = index


class TextExplosion(Explosion):
    """A literal made or searched more text than the limit allows."""


@dataclass(frozen=True, slots=True)
class Access:
    """What the code wants of literal `index`: all rows, or an index by `positions`.

    kind   "rows" (a dict of rows), "get" (an index's lookup), "has" (an index's buckets)
    """

    index: int
    kind: str
    positions: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Task:
    """One function to write.

    start     a Join or Guard whose rows drive it, "head" for given head facts, None for nothing
    wide      literals whose rows are projections of wider facts
    recursive literals of the head's own stratum: scanned by copy, joined late where the choice is free
    """

    mode: str
    body: Body
    head: tuple[int, ...]
    start: Join | Guard | str | None
    wide: frozenset[int]
    recursive: frozenset[int] = frozenset()
    given: int = 0


    def shape(self) -> tuple:
        """What the source depends on; tasks of one shape share their function."""
        start = self.start.index if isinstance(self.start, (Join, Guard)) else self.start
        return (self.mode, start, self.head, self.wide, self.recursive, self.given, self.body.structure())


def write(task: Task) -> tuple[str, list[Access]]:
    """The source of `run(delta, rows, out, R, limit, values, constants, accesses)` and its accesses."""
    writer = _Writer(task)
    return writer.text(), writer.accesses


_functions: dict[tuple, tuple[Callable, list[Access]]] = {}
_compiled: dict[str, Callable] = {}


def function_of(task: Task) -> tuple[Callable, list[Access]]:
    """The function for a task, written once per shape and process."""
    shape = task.shape()
    found = _functions.get(shape)
    if found is None:
        if len(_functions) >= _COMPILED_MAX:
            _functions.clear()
        source, accesses = write(task)
        found = _functions[shape] = compiled(source), accesses
    return found


def compiled(source: str) -> Callable:
    """The function `run` that `source` defines; equal sources share it."""
    found = _compiled.get(source)
    if found is None:
        if len(_compiled) >= _COMPILED_MAX:
            _compiled.clear()
        namespace: dict[str, object] = dict(_GLOBALS)
        exec(compile(source, "<rule>", "exec"), namespace)  # noqa: S102 - our own text, no outside names in it
        found = _compiled[source] = namespace["run"]  # type: ignore[assignment]
    return found


_GLOBALS: dict[str, object] = {
    "Explosion": Explosion, "TextExplosion": TextExplosion, "concat": builtins.concat, "quiet_concat": builtins.quiet_concat,
    "int_class": int, "str_class": str,
    **{f"b_{name}": function for name, function in builtins.BINARY_FUNCTIONS.items()},
    **{f"b_{name}": function for name, function in builtins.UNARY_FUNCTIONS.items()},
}
_EXACT_OPERATORS = {"add": "+", "sub": "-", "mul": "*"}
_ORDERS = {"lt": "<", "lte": "<=", "gt": ">", "gte": ">="}


class _Writer:
    def __init__(self, task: Task) -> None:
        self.task = task
        self.body = task.body
        self.accesses: list[Access] = []
        self.bound: set[int] = set(range(task.given))
        self.premises: list[int] = []
        self.waiting = list(task.body.guards)
        self.functions: list[list[str]] = []
        self.lines: list[str] = []
        self.depth = 0            # loops open in the current function
        self.counters: list[str] = []
        self.scanned = False      # has the first, uncounted literal been joined?

    # text
    def line(self, text: str) -> None:
        self.lines.append("  " * (self.depth + 1) + text)

    def name(self, term: int) -> str:
        return f"v{term}" if term >= 0 else f"c{-1 - term}"

    def access(self, access: Access) -> str:
        if access not in self.accesses:
            self.accesses.append(access)
        return f"a{self.accesses.index(access)}"

    def text(self) -> str:
        self._start()
        rest = [join for join in self.body.joins if join is not self.task.start]
        self._ready_guards(final=not rest)
        while rest:
            join = rest[0] if self.task.mode == "solve" else min(rest, key=self._cost)
            rest.remove(join)
            self._join(join)
            self._ready_guards(final=not rest)
        self._sink()
        self._finish_loops()
        return self._assemble()

    def _assemble(self) -> str:
        """All stage generators, then the function that drives them."""
        stages = len(self.functions)
        self.functions.append(self.lines)
        out = ["def run(delta, rows, out, R, limit, values, constants, accesses):"]
        count = len(self.body.constants)
        if count:
            out.append(f" {''.join(f'c{k}, ' for k in range(count))} = constants")
        if self.accesses:
            out.append(f" {''.join(f'a{k}, ' for k in range(len(self.accesses)))} = accesses")
        out += [" N = values.numbers", " V = values.of", " ids = values.ids", " add = values.add"]
        if self.task.mode == "derive":
            out.append(" put = rows.setdefault")
        out.append(" steps = [0]")
        for place, lines in enumerate(self.functions):
            last = place == stages
            if stages:
                out.append(f" def stage{place}(source):")
            else:
                out.append(" source = delta")
            counters = sorted({word for text in lines for word in _counters(text)})
            indent = "  " if stages else ""
            if counters:
                out.append(f" {indent}{' = '.join(counters)} = 0")
            out += [indent + text[1:] for text in lines]
            total = " + ".join(counters) or "0"
            if stages:
                out.append(f" {indent}steps[0] += {total}")
            else:
                out.append(f" return {total}")
        if stages:
            chain = "delta"
            for place in range(stages):
                chain = f"stage{place}({chain})"
            out.append(f" stage{stages}({chain})")
            out.append(" return steps[0]")
        return "\n".join(out) + "\n"

    # starting points
    def _start(self) -> None:
        start = self.task.start
        if start is None:
            given = "".join(f"v{n}, " for n in range(self.task.given))
            self._open(f"for {given or '_'} in source:")
        elif start == "head":
            self._open("for h in source:")
            self._take("h", self.task.head, wide=False)
            if self.task.mode == "find":
                self.line("if h in rows: continue")
        else:
            row = f"e{start.slot}" if isinstance(start, Join) else "e0"
            self._open(f"for {row} in source:")
            if isinstance(start, Join):
                self.premises.append(start.slot)
            self._take(row, start.terms, wide=start.index in self.task.wide)

    def _open(self, text: str) -> None:
        self.line(text)
        self.depth += 1

    def _take(self, row: str, terms: Sequence[int], wide: bool, known: Sequence[int] = ()) -> None:
        """Bind variables from `row` and check what is bound; positions in `known` agree already."""
        fresh = len(terms) > 0 and not known and not wide
        if fresh and len(set(terms)) == len(terms) and all(t >= 0 and t not in self.bound for t in terms):
            self.line("".join(f"v{t}, " for t in terms) + f"= {row}")
            self.bound.update(terms)
            return
        for position, term in enumerate(terms):
            if position in known:
                continue
            if term >= 0 and term not in self.bound:
                self.line(f"v{term} = {row}[{position}]")
                self.bound.add(term)
            else:
                self.line(f"if {row}[{position}] != {self.name(term)}: continue")

    # joins
    def _cost(self, join: Join) -> tuple:
        """Most selective first: fully bound, then most bound; a recursive predicate after others."""
        known = sum(1 for term in join.terms if term < 0 or term in self.bound)
        free = len(join.terms) - known
        return (free > 0, known == 0, join.index in self.task.recursive, -known, free, join.slot)

    def _join(self, join: Join) -> None:
        wide = join.index in self.task.wide
        known = tuple(p for p, term in enumerate(join.terms) if term < 0 or term in self.bound)
        row = f"e{join.slot}"
        counted = self.scanned or self.task.start is not None
        self.scanned = True
        self.premises.append(join.slot)
        if len(known) == len(join.terms) and not wide:
            rows = self.access(Access(join.index, "rows"))
            self.line(f"{row} = ({''.join(self.name(t) + ', ' for t in join.terms)})")
            self.line(f"if {row} not in {rows}: continue")
            return
        if not known and not wide:
            self.line(f"b{join.slot} = {self.access(Access(join.index, 'rows'))}")
        else:
            get = self.access(Access(join.index, "get", known))
            self.line(f"b{join.slot} = {get}({self._key([join.terms[p] for p in known])})")
            self.line(f"if b{join.slot} is None: continue")
        if len(known) == len(join.terms):
            self.line(f"for {row} in b{join.slot}: break")
            return
        if counted:
            self.line(f"n{join.slot} += len(b{join.slot})")
            self.line(f"if n{join.slot} > limit: raise Explosion({join.index})")
        if self.depth >= _LOOPS_MAX:
            self._next_stage(join)
        scan = not known and not wide and self.task.mode in ("derive", "find") and join.index in self.task.recursive
        self._open(f"for {row} in {f'tuple(b{join.slot})' if scan else f'b{join.slot}'}:")
        self._take(row, join.terms, wide, known)

    def _key(self, terms: Sequence[int]) -> str:
        if len(terms) == 1:
            return self.name(terms[0])
        return "(" + "".join(self.name(term) + ", " for term in terms) + ")"

    def _next_stage(self, join: Join) -> None:
        """Close this function as a generator and go on in the next, carrying all that is bound."""
        carried = [f"v{n}" for n in sorted(self.bound)] + [f"e{s}" for s in self.premises if s != join.slot]
        carried.append(f"b{join.slot}")
        if self.task.start == "head":
            carried.append("h")
        names = "".join(name + ", " for name in carried)
        self.line(f"yield ({names})")
        self.functions.append(self.lines)
        self.lines, self.depth = [], 0
        self._open(f"for {names} in source:")
        if self.task.mode == "find":
            self.line("if h in rows: continue")

    # guards
    def _ready_guards(self, final: bool) -> None:
        while True:
            ready = [guard for guard in self.waiting if guard.needs <= self.bound and (final or not guard.may_refuse)]
            if not ready:
                return
            guard = min(ready, key=lambda g: g.may_refuse)
            self.waiting.remove(guard)
            self._guard(guard)

    def _guard(self, guard: Guard) -> None:
        if guard.name == "naf":
            if self.task.mode != "kill":
                self._naf(guard)
        elif guard.result is not None:
            self._arithmetic(guard)
        else:
            self._comparison(guard)

    def _naf(self, guard: Guard) -> None:
        if guard.index in self.task.wide:
            positions = tuple(range(len(guard.terms)))
            has = self.access(Access(guard.index, "has", positions))
            self.line(f"if {self._key(guard.terms)} in {has}: continue")
        else:
            rows = self.access(Access(guard.index, "rows"))
            self.line(f"if ({''.join(self.name(t) + ', ' for t in guard.terms)}) in {rows}: continue")

    def _comparison(self, guard: Guard) -> None:
        names = [self.name(term) for term in guard.terms]
        if guard.name in ("eq", "neq"):
            self.line(f"if {names[0]} {'!=' if guard.name == 'eq' else '=='} {names[1]}: continue")
        elif guard.name == "contains":
            self.line(f"l = V[{names[0]}]; r = V[{names[1]}]")
            self.line("if l.__class__ is not str_class or r.__class__ is not str_class: continue")
            self._text_work(guard, "(len(l) + len(r)) >> 6")
            self.line("if r not in l: continue")
        elif guard.name == "between":
            self.line(f"m = N[{names[0]}]; l = N[{names[1]}]; r = N[{names[2]}]")
            self.line("if m is None or l is None or r is None or not l <= m <= r: continue")
        else:
            self.line(f"l = N[{names[0]}]; r = N[{names[1]}]")
            self.line(f"if l is None or r is None or not l {_ORDERS[guard.name]} r: continue")

    def _text_work(self, guard: Guard, work: str) -> None:
        """Count work that grows with the length of texts, in join steps."""
        counter = f"n{_TEXT_COUNTERS + guard.index}"
        self.line(f"{counter} += {work}")
        self.line(f"if {counter} > {TEXT_WORK_MAX}: raise TextExplosion({guard.index})")

    def _arithmetic(self, guard: Guard) -> None:
        names = [self.name(term) for term in guard.terms]
        operator = _EXACT_OPERATORS.get(guard.name)
        if guard.name == "concat":
            # What never derived anything must not refuse a batch now: kill looks past other guards.
            word = "quiet_concat" if self.task.mode == "kill" else "concat"
            self.line(f"t = {word}(V[{names[0]}], V[{names[1]}])")
            if self.task.mode == "kill":
                self.line("if t is None: continue")
            self._text_work(guard, "len(t) >> 4 if t.__class__ is str_class else 0")
        elif len(names) == 1:
            self.line(f"l = N[{names[0]}]")
            self.line("if l is None: continue")
            self.line(f"t = b_{guard.name}(l)")
            self.line("if t is None: continue")
        else:
            self.line(f"l = N[{names[0]}]; r = N[{names[1]}]")
            self.line("if l is None or r is None: continue")
            if operator:
                self.line("if l.__class__ is int_class and r.__class__ is int_class:")
                self.line(f"  t = l {operator} r")
                self.line(f"  if not -{INTEGER_MAX} <= t <= {INTEGER_MAX}: continue")
                self.line("else:")
                self.line(f"  t = b_{guard.name}(l, r)")
                self.line("  if t is None: continue")
            else:
                self.line(f"t = b_{guard.name}(l, r)")
                self.line("if t is None: continue")
        result = guard.result
        assert result is not None
        if result >= 0 and result not in self.bound:
            self.line(f"v{result} = ids.get(t)")
            self.line(f"if v{result} is None: v{result} = add(t)")
            self.bound.add(result)
        else:
            self.line(f"if ids.get(t) != {self.name(result)}: continue")

    # ends
    def _support(self) -> str:
        return "(" + ", ".join(["R", *(f"e{join.slot}" for join in self.body.joins)]) + ",)"

    def _head(self) -> str:
        return "(" + "".join(self.name(term) + ", " for term in self.task.head) + ")"

    def _sink(self) -> None:
        mode = self.task.mode
        if mode == "find":
            self.line(f"rows[h] = {self._support()}; out(h)")
            return
        self.line(f"h = {self._head()}")
        if mode == "kill":
            self.line("s = rows.get(h)")
            self.line(f"if s is not None and s == {self._support()}: out(h)")
        elif mode == "derive":
            self.line(f"s = {self._support()}")
            self.line("if put(h, s) is s: out(h)")
        else:
            self.line("if h not in rows:")
            self.line("  rows[h] = None")
            if not self.functions:
                counters = sorted({word for text in self.lines for word in _counters(text)})
                self.line(f"  if len(rows) >= out: return {' + '.join(counters) or '0'}")
            else:
                self.line("  if len(rows) >= out: return")

    def _finish_loops(self) -> None:
        """In find mode one proof is enough: leave all loops of this head fact."""
        if self.task.mode != "find":
            return
        while self.depth > 1:
            self.line("break")
            self.depth -= 1
            if self.depth > 1:
                self.line("else: continue")


def _counters(text: str) -> list[str]:
    """The counter that a line adds to."""
    word = text.strip().split(" ", 1)[0]
    return [word] if word[:1] == "n" and word[1:].isdigit() else []
