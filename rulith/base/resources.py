"""Files that ship inside the .pyz: contract bundles, examples, the page.

Inside the archive they lie under the package; in a checkout the two folders that
people edit, `protocol/` and `examples/`, lie beside it. Only importlib.resources
finds either (a path made from __file__ does not exist in a zip).
"""

from __future__ import annotations

from importlib import resources
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable     # Python 3.10 keeps it elsewhere

_BESIDE = ("protocol", "examples")


def shipped(*parts: str) -> Traversable:
    """The shipped file or folder at `parts`, e.g. shipped("protocol", "mcp-contract.json").

    Raises FileNotFoundError naming it when this build lacks it: never a default.
    """
    package = resources.files("rulith")
    inside = package.joinpath(*parts)
    if inside.is_file() or inside.is_dir():
        return inside
    if parts[0] in _BESIDE:
        beside = package.joinpath("..", *parts)
        if beside.is_file() or beside.is_dir():
            return beside
    raise FileNotFoundError(f"this build of rulith lacks {'/'.join(parts)}")


def shipped_text(*parts: str) -> str:
    return shipped(*parts).read_text(encoding="utf-8")


def shipped_bytes(*parts: str) -> bytes:
    return shipped(*parts).read_bytes()
