"""Attempts: how each external Action that was tried in a Case ended, so that no rule repeats it.

One entry per Action and canonical arguments, the Source not counted: the same effect by
another channel is the same attempt. An entry says and forbids nothing else; whoever can
judge the words may apply the Action again. A refusal by law alone is no attempt, for law
judges afresh every time. Entries go when their Case closes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace

from rulith.base.canonical import canonical_text
from rulith.board.names import one_line
from rulith.board.state import CLOSED, BoardState, Case

DONE, FAILED, REFUSED, UNKNOWN = "done", "failed", "refused", "unknown"
KEPT_MAX = 1_000      # per Case; the oldest is forgotten first
REASON_MAX = 200      # what a view shows of it


def key_of(action: str, args: Mapping) -> str:
    """What makes two attempts the same one."""
    return canonical_text([action, {name: value for name, value in args.items() if name != "source"}])


def remember(state: BoardState, plan: Mapping, ended: str, reason: str, at: str) -> None:
    """Keep how the planned Action ended, beside the Case it was planned for."""
    case = state.cases[plan["caseIds"][0]]
    if case.status == CLOSED:
        return
    kept = dict(case.attempts)
    key = key_of(plan["action"], plan["args"])
    kept.pop(key, None)
    kept[key] = {"state": ended, "reason": _one_line(reason), "at": at}
    if len(kept) > KEPT_MAX:
        del kept[next(iter(kept))]
    state.put_case(replace(case, attempts=kept))


def attempt(case: Case, action: str, args: Mapping) -> Mapping | None:
    """{state, reason, at} of the latest attempt of this Action with these arguments, or None."""
    return case.attempts.get(key_of(action, args)) if case.attempts else None


def by_action(case: Case) -> dict[str, tuple[tuple[str, Mapping], ...]]:
    """Action -> its attempts in the Case; equal values mean that nothing new was tried with it."""
    found: dict[str, tuple[tuple[str, Mapping], ...]] = {}
    for key, ended in case.attempts.items():
        action = json.loads(key)[0]
        found[action] = (*found.get(action, ()), (key, ended))
    return found


def listed(case: Case) -> list[dict]:
    """Every attempt of the Case: {action, args, state, reason, at}, oldest first."""
    found = []
    for key, ended in case.attempts.items():
        action, args = json.loads(key)
        found.append({"action": action, "args": args, **ended})
    return found


def _one_line(text: str) -> str:
    return one_line(text)[:REASON_MAX]
