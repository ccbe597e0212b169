"""The run adapter: one local program, one JSON argument, one answer on stdout.

The program is a file below the Worker root, started with this process's own interpreter,
without a shell, in a process group of its own, with the environment of
adapters/environment.py. It is ended as a tree when its time is over. A non-zero exit is
the program's own *failed*; output over the budget is *withheld*, because what it did
stands and cannot be told. So is the end of a `write` or `run` program that did not end by
itself: it may have acted before it was cut short, and nobody may call that a failure.

Source  protocol/worker-contract.json, "run".
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass

from rulith.adapters.beneath import open_file
from rulith.adapters.environment import child_environment
from rulith.adapters.outcomes import REASON_BYTES_MAX, Call, Executed, Failed, Outcome, Withheld, cut_text
from rulith.adapters.territory import Territory
from rulith.base.errors import Refused
from rulith.base.paths import relative_components
from rulith.procs.archive import interpreter
from rulith.procs.children import Finished, run_command

TIMEOUT_DEFAULT_S = 60.0
# One argument: Linux takes 128 KiB of it, a whole Windows command line 32 KiB.
ARGUMENT_BYTES_MAX = 30_000 if os.name == "nt" else 120_000
PROCESSES_MAX = 512              # of one program at once: room for any build, none for a fork bomb
STDERR_BYTES_MAX = 65_536        # read to its end so that the tail is known, kept only this far
OVER_BUDGET = "adapter_output_exceeds_object_budget"
CUT_SHORT = "adapter_ended_midway"


@dataclass(frozen=True)
class Program:
    """One compiled run: the command line and the environment, ready to start."""

    call: Call
    command: tuple[str, ...]
    root: str
    environment: Mapping[str, str]
    timeout_s: float

    async def run(self) -> Outcome:
        """Start it and wait for its end; cancelling ends it as a tree."""
        try:
            ended = await run_command(
                self.command, cwd=self.root, env=self.environment, timeout_s=self.timeout_s,
                stdout_bytes_max=self.call.object_bytes, stderr_bytes_max=STDERR_BYTES_MAX,
                ends_orphans=True, processes_max=PROCESSES_MAX,
            )  # fmt: skip
        except Refused as refused:
            return Failed(f"The adapter was not started: {refused.facts.get('problem', refused.code)}.")
        return judge_end(ended, self.timeout_s, acts=self.call.tool.kind != "read")


def judge_end(ended: Finished, timeout_s: float, *, acts: bool = False) -> Outcome:
    """What the program's end means.

    acts  it changes something, so cut short its effect is unknown: withheld, as it is over the output budget
    """
    if ended.stdout_overflow:
        return Withheld(OVER_BUDGET)
    if acts and (ended.timed_out or ended.crowded or ended.status < 0):
        return Withheld(CUT_SHORT)
    said = cut_text(ended.stderr_tail.decode("utf-8", "replace").strip(), REASON_BYTES_MAX)
    if ended.timed_out:
        return Failed(f"The adapter was ended after {timeout_s:g} s without a result.")
    if ended.crowded:
        return Failed(f"The adapter was ended because it was more than {PROCESSES_MAX} processes at once.")
    if ended.status < 0:
        return Failed(said or f"The adapter was ended by signal {-ended.status}.")
    if ended.status != 0:
        return Failed(said or f"The adapter ended with status {ended.status} and said nothing.")
    return Executed(ended.stdout.decode("utf-8", "replace").strip() or "(no output)")


def _added(call: Call, access: str) -> dict[str, str]:
    added = {"RULITH_INVOCATION_ID": call.invocation, "RULITH_EXECUTION_KEY": call.execution_key}
    if call.source is not None:
        added["RULITH_SOURCE_ACCESS"] = access
        added["RULITH_SOURCE_TYPE"] = call.source.type
    return added


def compile_program(
    call: Call, territory: Territory, ambient: Mapping[str, str], timeout_s: float = TIMEOUT_DEFAULT_S
) -> Program:
    """Judge the program file, the Source's folder and the argument before anything is claimed.

    Raises Refused: adapter_refused, source_root_refused, path_refused, python_unknown.
    """
    tool = call.tool
    names = relative_components(tool.entry, where=f"Tool {tool.id!r}")
    try:
        with open_file(os.path.realpath(territory.root), names):
            pass
    except Refused as refused:
        problem = refused.happened.rstrip(".").replace("the Source's folder", "the Worker root")
        raise Refused("adapter_refused", tool=tool.id, problem=problem) from None
    access = ""
    if call.source is not None:
        access = territory.folder_of(call.source) if call.source.type == "file" else call.source.access
    argument = json.dumps(call.arguments, separators=(",", ":"), allow_nan=False)
    if len(argument) > ARGUMENT_BYTES_MAX:
        raise Refused("resource_limit", what=f"the argument of Tool {tool.id!r}", value=len(argument), limit=ARGUMENT_BYTES_MAX)
    command = (interpreter(), os.path.join(territory.root, *names), argument)
    environment = child_environment(ambient, passed=tool.env_pass, added=_added(call, access))
    return Program(call, command, territory.root, environment, timeout_s)
