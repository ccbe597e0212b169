"""Paths for the built-in workspace Tools, judged as the Worker will judge them.

A Worker leaves a call with such a path unclaimed, and its Agent would wait until a person
withdraws it. So it is refused when it is asked for, and a model can ask again at once. The
Worker's own judgement stands beside this one.
"""

from __future__ import annotations

from rulith.base.errors import Refused
from rulith.base.paths import relative_components
from rulith.board.shapes import ExternalPlan
from rulith.wire.manifest import BUILTINS

_OF_FOLDERS = ("list", "count", "search")        # these may be asked of the Source's folder itself


def check_path(plan: ExternalPlan) -> None:
    """Raises Refused invalid_params."""
    tool, path = BUILTINS.get(plan.tool), plan.args.get("path")
    if tool is None or tool.adapter != "workspace" or not isinstance(path, str):
        return
    try:
        names = relative_components(path, where="the Source")
        problem = "" if names or tool.entry in _OF_FOLDERS else "it names no file"
    except Refused as refused:
        problem = str(refused.facts["problem"])
    if problem:
        raise Refused("invalid_params", action=plan.action, problem=f"of path, {problem}", expected="as path plain names with / between them, below the Source's folder")
