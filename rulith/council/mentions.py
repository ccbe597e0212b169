"""Whom a text asks: `@name` at its start or after what is no letter or digit.

A name is read as a member has it: one of letters, digits, `-` and `_` as a whole word, any
other up to its end, the longest first. E-mail addresses and words that name nobody stay
prose. `@everyone` asks all other members.

Source  the council surface, "Mentions"
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

EVERYONE = "everyone"
_AT = re.compile(r"(?<![^\W_])@")
_WORD = re.compile(r"[\w-]+")


def named(text: str, odd: Iterable[str] = ()) -> list[str]:
    """The names a text calls, folded, each once, in order.

    odd   folded names that are no words by themselves
    """
    folded, longest = text.casefold(), sorted(odd, key=len, reverse=True)
    found: dict[str, None] = {}
    for match in _AT.finditer(folded):
        at = match.end()
        whole = next((name for name in longest if folded.startswith(name, at) and not _WORD.match(folded, at + len(name))), None)
        word = _WORD.match(folded, at)
        if whole or word:
            found[whole or word[0]] = None      # type: ignore[index]
    return list(found)


def asked_by(text: str, members: Mapping[int, str], writer_id: int) -> list[int]:
    """The ids of the room's members (id -> name) that `text` asks, its writer left out, in the order of their first call."""
    by_name = {name.casefold(): agent_id for agent_id, name in members.items()}
    found: dict[int, None] = {}
    for name in named(text, [name for name in by_name if not _WORD.fullmatch(name)]):
        ids = members if name == EVERYONE else [by_name[name]] if name in by_name else []
        found.update((agent_id, None) for agent_id in ids if agent_id != writer_id)
    return list(found)
