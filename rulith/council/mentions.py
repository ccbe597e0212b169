"""Whom a text asks: `@name` at its start or after what is no letter or digit.

E-mail addresses and words that name nobody stay prose. `@everyone` asks all other members.

Source  the council surface, "Mentions"
"""

from __future__ import annotations

import re
from collections.abc import Mapping

EVERYONE = "everyone"
_MENTION = re.compile(r"(?<![^\W_])@([\w-]+)")


def named(text: str) -> list[str]:
    """The names a text calls, folded, each once, in order."""
    return list(dict.fromkeys(match[1].casefold() for match in _MENTION.finditer(text)))


def asked_by(text: str, members: Mapping[int, str], writer_id: int) -> list[int]:
    """The ids of the room's members (id -> name) that `text` asks, its writer left out, in the order of their first call."""
    by_name = {name.casefold(): agent_id for agent_id, name in members.items()}
    found: dict[int, None] = {}
    for name in named(text):
        ids = members if name == EVERYONE else [by_name[name]] if name in by_name else []
        found.update((agent_id, None) for agent_id in ids if agent_id != writer_id)
    return list(found)
