"""How one call on this machine can end, and what it was given to start with.

Executed  the adapter says it worked
Failed    the adapter itself says it did not
Withheld  it ran, and its outcome is unknown or cannot be told; never reported as failed
Referred  it worked, and its result is an object that stays on this machine, told by reference
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from rulith.adapters.sources import Source
from rulith.wire.artifacts import Held
from rulith.wire.manifest import Tool

REASON_BYTES_MAX = 2_048         # a reason is read by a person; more belongs in the Tool's own log
OBJECT_BYTES_DEFAULT = 2**20     # what one output may hold where no policy says otherwise


@dataclass(frozen=True)
class Executed:
    """`text` is the result; `rows` are for the facts, None when they are read from the text.

    brief       a shorter result that says the same when the facts carry the rest
    unreadable  the code where the contract's facts cannot be read from it: then the effect is unknown
    confirmed   the far side said in its own words that the write is complete
    literal     the text is not ours to judge: it may begin with `error:` and is no failure
    """

    text: str
    rows: tuple[Mapping[str, object], ...] | None = None
    brief: str | None = None
    unreadable: str = ""
    confirmed: bool = False
    literal: bool = False


@dataclass(frozen=True)
class Failed:
    reason: str


@dataclass(frozen=True)
class Withheld:
    """`why` is for the person at this machine; it never travels."""

    code: str
    why: str = ""


@dataclass(frozen=True)
class Referred:
    held: Held


Outcome = Executed | Failed | Withheld | Referred


@dataclass(frozen=True)
class Call:
    """One cleared call: what an adapter may know of it. `arguments` never hold the Source."""

    invocation: str
    execution_key: str
    tool: Tool
    arguments: Mapping[str, object] = field(repr=False)
    source: Source | None = None
    inline_bytes: int = 8_192
    object_bytes: int = OBJECT_BYTES_DEFAULT


def cut_text(text: str, bytes_max: int) -> str:
    """The end of `text` within `bytes_max` UTF-8 bytes, whole letters only: errors name themselves last."""
    raw = text.encode("utf-8", "backslashreplace")
    if len(raw) <= bytes_max:
        return raw.decode("utf-8")
    return "…" + raw[-(bytes_max - 3) :].decode("utf-8", "ignore")
