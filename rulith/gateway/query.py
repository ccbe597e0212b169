"""QueryBoard: which part of the Board a read asked for.

Reads only. Without `include` the answer is the bounded Case directory with the focused
Cases' Actions; selected roots that are missing or not visible are named, not explained.

Source  the MCP surface, §§4.5 and 5.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rulith.base.errors import Refused
from rulith.base.limits import VIEW_NODES_QUERY_MAX
from rulith.board.board import Board
from rulith.board.shapes import Policy

LIMBS = {"nodes": ("nodes", "total", "truncated"), "gaps": ("gaps",), "taskStatus": ("taskStatus",), "cases": ("cases",)}
ALWAYS = ("position", "roots", "actions")


def query_view(board: Board, arguments: Mapping, focus: Sequence[str], policy: Policy) -> dict:
    """The view of one QueryBoard whose shape the contract has checked. Raises Refused stale_revision."""
    include = arguments.get("include")
    roots = arguments.get("selector", {}).get("roots")
    limit = arguments.get("limit", VIEW_NODES_QUERY_MAX)
    if include is not None and "caseHistory" in include:
        return _history(board, roots[0], arguments, limit)
    wanted = {"cases"} if not include else set(include)
    case_ids, missing = (list(focus), []) if roots is None else _cases(board, roots)
    whole = board.view(None, case_ids, policy, nodes_max=limit if "nodes" in wanted else 0, bytes_max=None, directory_max=limit)
    shown = [*ALWAYS, *(member for limb in LIMBS if limb in wanted for member in LIMBS[limb])]
    view = {name: whole[name] for name in shown if name in whole}
    if missing:
        view["unavailableRoots"] = missing
    return view


def _cases(board: Board, roots: Sequence[str]) -> tuple[list[str], list[str]]:
    """Case ids of the selected roots, and the roots that name none; each once."""
    case_ids: dict[str, None] = {}
    missing: dict[str, None] = {}
    for root in roots:
        try:
            case = board.case_by_root(root)
        except Refused:
            missing[root] = None
            continue
        if case.root == root:
            case_ids[case.case_id] = None
        else:
            missing[root] = None        # a node of a Case is not its root
    return list(case_ids), list(missing)


def _history(board: Board, root: str, arguments: Mapping, limit: int) -> dict:
    history = board.case_history(root, limit=limit, offset=arguments.get("historyOffset", 0), version=arguments.get("historyVersion"))
    view = board.view(None, [], Policy(), nodes_max=0, bytes_max=None, directory_max=0)
    return {"position": view["position"], "roots": [], "caseHistory": history}
