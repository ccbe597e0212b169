"""What an Action that cannot run yet is said to lack: the one thing that its owner does next."""

from __future__ import annotations

import pytest

from rulith.board.actions import setup_problem
from rulith.board.release import ActionSpec
from rulith.board.shapes import Policy, Source, ToolLock

COUNTED, PLACED, TOOL = "acme.counted", "acme.placed", "acme.count@1"
SPEC = ActionSpec(id="acme.count", description="", params={}, preconditions=(), effects=(), tool=TOOL, kind="read", source_types=("file",),
                  returns=({"predicate": COUNTED, "args": {}}, {"predicate": PLACED, "args": {}}))
LOCK = ToolLock("mine", TOOL, "0" * 64, {"kind": "read"})


def place(name: str, connection: str, *attests: str) -> Source:
    return Source(name, "file", "/srv", connection, "attested", attests)


@pytest.mark.parametrize("sources, locks, live, said", [
    ((), (LOCK,), {}, "no Source of type file is bound"),
    ((place("a", "other", "*"),), (), {}, f"{TOOL} is not locked on the Connection"),
    ((place("a", "other", "*"),), (LOCK,), {}, f"no Source of type file is bound to the Connection where {TOOL} is locked"),
    ((place("a", "other", "*"), place("b", "mine", COUNTED)), (LOCK,), {}, f"Source b may not attest {PLACED}"),
    ((place("a", "other", "*"), place("b", "mine", "*")), (LOCK,), {"mine": {}}, f"the Worker on the line does not offer {TOOL}"),
    ((place("a", "other", "*"), place("b", "mine", "*")), (LOCK,), {}, None),
], ids=["no Source", "no lock", "Source elsewhere", "may not attest", "not offered", "ready"])
def test_the_problem_named_is_the_one_that_stands_in_the_way(sources, locks, live, said):
    assert setup_problem(SPEC, Policy(sources, {(lock.connection_id, lock.tool_id): lock for lock in locks}, live)) == said
