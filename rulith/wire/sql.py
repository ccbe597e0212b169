"""The one statement of a database Tool: what it may be, and where its parameters stand.

Reads SQL only as far as it must: quoted text, dollar-quoted text and comments are passed
over, the rest is looked at for placeholders, a second statement and the first word. Never
puts a value into the text: a placeholder becomes a number, and its value travels beside it.

Source  protocol/worker-contract.json, "database"
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

READS = ("select",)
CONSTRUCTIVE = ("create", "insert", "update", "select")

# What holds text of its own. A quote that never ends matches nothing here and is caught as a stray.
_OPAQUE = re.compile(
    r"(?<![A-Za-z0-9_$])[eE]'(?:[^'\\]|\\.|'')*'"        # a string with escapes
    r"|'(?:[^']|'')*'"
    r'|"(?:[^"]|"")*"'
    r"|`[^`]*`"
    r"|(?<![A-Za-z0-9_$])\$(?P<tag>[A-Za-z_][A-Za-z0-9_]*|)\$.*?\$(?P=tag)\$"
    r"|--[^\r\n]*"
    r"|/\*.*?\*/",
    re.DOTALL,
)
_STRAY = re.compile(r"['\"`]|/\*|\*/")
_PLACEHOLDER = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_DECLARED = ("string", "number", "boolean")


class BadStatement(ValueError):
    """The statement cannot be a Tool's; its text says why."""


@dataclass(frozen=True)
class Statement:
    """One statement in pieces: `pieces[0] {uses[0]} pieces[1] {uses[1]} …`.

    verb   its first word, in lower case
    names  the distinct parameters in the order of their numbers, from 1
    """

    verb: str
    pieces: tuple[str, ...]
    uses: tuple[str, ...]
    names: tuple[str, ...]

    def written(self, mark: str) -> str:
        """The text for a driver: `mark` and the parameter's number where a placeholder stood."""
        text = self.pieces[0]
        for name, piece in zip(self.uses, self.pieces[1:]):
            text += f"{mark}{self.names.index(name) + 1}{piece}"
        return text


def read_statement(text: str, params: Mapping[str, str], verbs: tuple[str, ...]) -> Statement:
    """`text` as the statement of a Tool with these parameters, whose first word is one of `verbs`.

    Raises BadStatement.
    """
    pieces, uses, bare = [""], [], ""

    def take_bare(part: str) -> None:
        nonlocal bare
        if stray := _STRAY.search(part):
            raise BadStatement(f"{stray[0]} begins or ends something that has no other end")
        bare += part
        last = 0
        for found in _PLACEHOLDER.finditer(part):
            pieces[-1] += part[last : found.start()]
            uses.append(_checked(found[1], params))
            pieces.append("")
            last = found.end()
        pieces[-1] += part[last:]

    end = 0
    for held in _OPAQUE.finditer(text):
        take_bare(text[end : held.start()])
        pieces[-1] += _opaque(held[0], params)
        bare += " " if held[0].startswith(("--", "/*")) else "''"
        end = held.end()
    take_bare(text[end:])
    _check_bare(bare)
    word = _WORD.match(bare.lstrip())
    verb = word[0].lower() if word else ""
    if verb not in verbs:
        raise BadStatement(_not_allowed(verb, verbs))
    return Statement(verb, tuple(pieces), tuple(uses), tuple(dict.fromkeys(uses)))


def _checked(name: str, params: Mapping[str, str]) -> str:
    declared = params.get(name)
    if declared is None:
        raise BadStatement(f"{{{name}}} is not a declared parameter")
    if declared not in _DECLARED:
        raise BadStatement(f"{{{name}}} is declared {declared}; a placeholder needs {', '.join(_DECLARED[:-1])} or {_DECLARED[-1]}")
    return name


def _opaque(held: str, params: Mapping[str, str]) -> str:
    """Quoted text and comments as they stand."""
    if held.startswith("/*") and "/*" in held[2:]:
        raise BadStatement("a comment inside a comment reads differently in different databases")
    if not held.startswith(("--", "/*")):
        for found in _PLACEHOLDER.finditer(held):
            if found[1] in params:
                raise BadStatement(f"{{{found[1]}}} stands inside quotes, where it would be text and not a value")
    return held


def _check_bare(bare: str) -> None:
    _, semicolon, rest = bare.partition(";")
    if semicolon and rest.strip():
        raise BadStatement("it holds more than one statement")
    if "\0" in bare:
        raise BadStatement("it holds a NUL")
    left = _PLACEHOLDER.sub("", bare)
    if "{" in left or "}" in left:
        raise BadStatement("a brace outside quotes must be a placeholder like {name}")


def _not_allowed(verb: str, verbs: tuple[str, ...]) -> str:
    named = f"it begins with {verb[:40]}" if verb else "it does not begin with a word"
    if verbs == READS:
        return f"{named}; a db-query begins with SELECT"
    return f"{named}, which needs the clearance sql:destructive, and no Worker gives it; begin with {', '.join(verbs)}"
