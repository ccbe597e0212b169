"""Program files: batches written down, run on an empty Board each, their outcome printed in the same format.

A file holds one program, a list of them, or one a line. Nothing of it is kept. The same
file gives the same bytes every time: moments and ids are fixed, and a generated id is null.

Source  the board corpus, "Scenario".
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any, TextIO

from rulith.base.errors import Refused
from rulith.base.json_text import compact_json
from rulith.base.limits import PROGRAM_BYTES_MAX
from rulith.board.space import outcome
from rulith.board.space.calls import Calls
from rulith.board.space.expectations import Difference, compare
from rulith.board.space.gates import read_contracts
from rulith.board.space.nodes import BatchOptions
from rulith.board.space.space import Space
from rulith.board.space.tiers import read_tier
from rulith.disk.atomic import read_bounded
from rulith.rules.program import Limits

EXIT_AS_EXPECTED, EXIT_DIFFERENT, EXIT_BAD_FILE = 0, 1, 2
AT = "2000-01-01T00:00:00.000Z"         # no program may depend on when it is run
GENERATED = "\ue000"                    # begins every generated id: a private-use letter that no file needs
_SHAPE = ('Write {"id": "p1", "batches": [{"operations": [...]}, {"call": "explain_fact", "args": {...}}], "expect": {...}}, '
          "a list of these, or one a line.")
_LEVELS = {"max_closure_iterations": "rounds", "max_join_bindings": "bindings"}
DIFFERENCES_SHOWN = 20


@dataclass(frozen=True)
class Run:
    """A program and what came of it. `differences` is None where the file expects nothing."""

    path: str
    program: Mapping[str, Any]
    found: Mapping[str, Any]
    differences: list[Difference] | None

    def json(self) -> dict[str, Any]:
        """The program with this outcome as its `expect`: a program file again."""
        row = {**self.program, "expect": self.found, "file": self.path, "asExpected": None}
        if self.differences is not None:
            row.update(asExpected=not self.differences, differences=[each.json() for each in self.differences])
        return row


def run_files(paths: Sequence[str], limits: Limits, *, as_json: bool, out: TextIO | None = None) -> int:
    """Run every program of every file; the exit status."""
    out = out or sys.stdout
    try:
        programs = [(path, program) for path in paths for program in read_programs(path)]
    except Refused as refusal:
        sys.stderr.write(refusal.teaching + "\n")
        return EXIT_BAD_FILE
    status, rows = EXIT_AS_EXPECTED, 0
    if as_json:
        out.write("[")
    for path, program in programs:
        run = play(path, program, limits)
        if run.differences:
            status = EXIT_DIFFERENT
        if as_json:
            out.write((",\n" if rows else "\n") + compact_json(run.json()))
        else:
            out.writelines(line + "\n" for line in lines_of(run))
        rows += 1
    if as_json:
        out.write("\n]\n")
    return status


# --- reading -----------------------------------------------------------------------------


def read_programs(path: str) -> list[Mapping[str, Any]]:
    """The programs of one file. Raises Refused file_unusable, file_too_large, program_malformed."""
    try:
        text = read_bounded(path, PROGRAM_BYTES_MAX).decode("utf-8")
    except UnicodeDecodeError as problem:
        raise _malformed(path, f"byte {problem.start} is not UTF-8") from None
    value = _parse(path, text)
    programs = value if isinstance(value, list) else [value]
    for place, program in enumerate(programs):
        _check(path, f"program {place}", program)
    return programs


def _parse(path: str, text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as problem:
        lines = [line for line in text.splitlines() if line.strip()]
        try:
            if len(lines) > 1:
                return [json.loads(line) for line in lines]
        except (ValueError, RecursionError):
            pass        # it is no file of lines either; the first complaint is the better one
        raise _malformed(path, f"it is not JSON ({problem})") from None


def _check(path: str, where: str, program: Any) -> None:
    if not isinstance(program, Mapping):
        raise _malformed(path, f"{where} is no object")
    where = f"{where} ({program['id']})" if isinstance(program.get("id"), str) else where
    batches, expect = program.get("batches"), program.get("expect", {})
    if not isinstance(batches, list):
        raise _malformed(path, f"{where} has no list `batches`")
    for number, batch in enumerate(batches):
        if not isinstance(batch, Mapping) or ("operations" in batch) == ("call" in batch):
            raise _malformed(path, f"{where}: batches[{number}] is neither {{operations}} nor {{call, args}}")
        _options(path, f"{where}: batches[{number}]", batch)
    if not isinstance(expect, Mapping) or not isinstance(expect.get("steps", []), list) or not isinstance(expect.get("final", {}), Mapping):
        raise _malformed(path, f"{where}: `expect` is not {{steps, final}}")
    if not all(isinstance(step, Mapping) for step in expect.get("steps", ())):
        raise _malformed(path, f"{where}: a step of `expect` is no object")
    _limits(path, where, program, Limits())


def _malformed(path: str, problem: str) -> Refused:
    return Refused("program_malformed", path=path, problem=problem, instead=_SHAPE)


def _options(path: str, where: str, batch: Mapping) -> BatchOptions:
    given = batch.get("options", {})
    if not isinstance(given, Mapping):
        raise _malformed(path, f"{where}: `options` is no object")
    source, created_by = given.get("source"), given.get("createdBy", "agent")
    attested, tier = given.get("attestedPredicates", ()), given.get("trustTier")
    if source not in (None, "model", "system") or created_by not in ("user", "agent", "tool", "system"):
        raise _malformed(path, f"{where}: `options` has a `source` or `createdBy` that there is not")
    if not isinstance(attested, (list, tuple)) or not all(isinstance(each, str) for each in attested):
        raise _malformed(path, f"{where}: `attestedPredicates` is no list of names")
    try:
        contracts = read_contracts(given.get("attestedDerivations", ()))
        tier = None if tier is None else read_tier(tier)
    except Refused as refusal:
        raise _malformed(path, f"{where}: {refusal.happened}") from None
    if "options" not in batch:
        return BatchOptions()
    return BatchOptions(source, created_by, tier, frozenset(attested), contracts)


def _limits(path: str, where: str, program: Mapping, limits: Limits) -> Limits:
    given = program.get("limits", {})
    if not isinstance(given, Mapping):
        raise _malformed(path, f"{where}: `limits` is no object")
    for name, value in given.items():
        if name not in _LEVELS or isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise _malformed(path, f"{where}: `limits` has {', '.join(_LEVELS)}, each a whole number from 1")
    return replace(limits, **{_LEVELS[name]: value for name, value in given.items()})


# --- running -----------------------------------------------------------------------------


def play(path: str, program: Mapping[str, Any], limits: Limits) -> Run:
    """Run one program on an empty Board."""
    numbers = count(1)
    made: set[str] = set()

    def mint(prefix: str) -> str:
        found = f"{GENERATED}{prefix}{next(numbers)}"
        made.add(found)
        return found

    name = str(program.get("id", ""))
    space = Space(name or "program", str(program.get("title", "")), limits=_limits(path, name, program, limits), at=AT)
    calls = Calls(space, at=AT, mint=mint)
    steps, before = [], outcome.state(space)
    for batch in program["batches"]:
        step = _batch(space, batch, _options(path, name, batch), mint) if "operations" in batch else calls.outcome(batch["call"], batch.get("args"))
        after = outcome.state(space)
        if after != before:
            step["state"] = before = after
        steps.append(step)
    found = _without_ids({"steps": steps, "final": before}, made)
    expect = program.get("expect")
    return Run(path, program, found, None if expect is None else compare(program["batches"], expect, found))


def _batch(space: Space, batch: Mapping, options: BatchOptions, mint: Any) -> dict[str, Any]:
    try:
        return outcome.accepted(space.apply(batch["operations"], options, at=AT, mint=mint))
    except Refused as refused:
        return outcome.rejected(refused)


def _without_ids(value: Any, made: set[str]) -> Any:
    """The same data with null for every generated id."""
    if isinstance(value, str):
        return None if value in made else value.replace(GENERATED, "")
    if isinstance(value, Mapping):
        return {name: _without_ids(item, made) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_without_ids(item, made) for item in value]
    return value


# --- printing ----------------------------------------------------------------------------


def lines_of(run: Run) -> Iterator[str]:
    """One line a batch, one at the end, and what differs."""
    title = run.program.get("title")
    yield f"{run.path}: {run.program.get('id', 'program')}{f' ({title})' if title else ''}"
    for number, step in enumerate(run.found["steps"]):
        yield f"  step {number} {compact_json(step)}"
    yield f"  final {compact_json(run.found['final'])}"
    if run.differences is None:
        return
    if not run.differences:
        yield "  as expected"
    for each in run.differences[:DIFFERENCES_SHOWN]:
        yield f"  differs at {each.where}: wanted {compact_json(each.wanted)}, got {compact_json(each.got)}"
    if len(run.differences) > DIFFERENCES_SHOWN:
        yield f"  ... and {len(run.differences) - DIFFERENCES_SHOWN} more differences"
