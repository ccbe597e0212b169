"""Names an Agent gives: made of letters that show, and no twin of a word that law answers for.

A letter without a shape can make two names of one look; a blank, a capital or a wide letter
can make a claim read like a Board word. Both are refused, with the letter named. The tables
are fixed (the ranges here, Unicode 3.2 for likeness), because a row that was accepted is
folded again under every later Python.

Knows nothing of scripts: names in any script are free.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from itertools import groupby

from rulith.base.errors import Refused
from rulith.board.words import BUILTINS, is_board_word
from rulith.rules.terms import BLANKS, Literal

# controls, format and direction marks, joiners, fillers, variation selectors, tags, surrogates, private use
_SHAPELESS = (
    "\u0000-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u2800\u3164"
    "\ud800-\udfff\ue000-\uf8ff\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff\U000f0000-\U0010ffff")
_WIDE_BLANKS = "\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000"
_UNSEEN_IN_NAMES = re.compile(f"[{_SHAPELESS}{_WIDE_BLANKS} ]")
_UNSEEN_IN_WORDS = re.compile(f"[{_SHAPELESS}{_WIDE_BLANKS}]")
_fixed = unicodedata.ucd_3_2_0


def resembles(name: str) -> str:
    """What `name` reads like at a glance: compatibility forms resolved, capitals and blanks around it gone."""
    if name.isascii():
        return name.lower().strip(BLANKS)
    folded = "".join([letter if _is_new(letter) else letter.casefold() for letter in normal_form("NFKC", name)])
    return normal_form("NFKC", folded).strip(BLANKS)


def normal_form(form: str, text: str) -> str:
    """`text` normalised as Unicode 3.2 would; letters that are newer stand as they are and join no others."""
    if text.isascii():
        return text
    return "".join(["".join(run) if new else _fixed.normalize(form, "".join(run)) for new, run in groupby(text, _is_new)])


def _is_new(letter: str) -> bool:
    return _fixed.category(letter) == "Cn"


def one_line(text: str) -> str:
    """`text` with a blank for each letter that does not show."""
    return _UNSEEN_IN_WORDS.sub(" ", text)


def unseen_in(text: str) -> str:
    """What is wrong with the first letter of `text` that does not show, a line break among them; empty where all do."""
    found = _UNSEEN_IN_WORDS.search(text)
    return "" if found is None else _told(found)


def _told(found: re.Match[str]) -> str:
    return f"its letter {found.start() + 1} is U+{ord(found[0]):04X}, which does not show"


def is_plain_name(name: object, chars_max: int) -> bool:
    """Whether a person, an Agent or a Connection can be called so: letters, digits, marks and punctuation, with blanks between.

    Symbols (< > = + $ and their like) are of no name. What Unicode 3.2 does not know yet may stand.
    """
    return isinstance(name, str) and 0 < len(name) <= chars_max and name == name.strip(BLANKS) and all(map(_is_of_names, name))


def plain_name(given: str, chars_max: int, otherwise: str) -> str:
    """What of a name given elsewhere can be one here."""
    kept = "".join(letter if _is_of_names(letter) else " " for letter in given)
    return " ".join(kept.split())[:chars_max].strip() or otherwise


def _is_of_names(letter: str) -> bool:
    return letter == " " or (not _UNSEEN_IN_WORDS.match(letter) and (_fixed.category(letter)[0] in "LNMP" or _is_new(letter)))


def check_name(name: str, what: str) -> None:
    """Raises Refused not_permitted where a letter of `name` does not show. `what` names it in the refusal."""
    _check_seen(name, what, _UNSEEN_IN_NAMES)


def check_words(text: str, what: str) -> None:
    """The same for words that people read, a label or an Action's name: blanks between them are part of it."""
    _check_seen(text, what, _UNSEEN_IN_WORDS)
    if text != text.strip(BLANKS):
        raise Refused("not_permitted", what=f"{what} {ascii(text[:60])}", why="it begins or ends with a blank", instead="Leave the blank out.")


def _check_seen(name: str, what: str, unseen: re.Pattern[str]) -> None:
    found = None if name.isascii() and name.isidentifier() else unseen.search(name)
    if found is not None:
        raise Refused("not_permitted", what=f"{what} {ascii(name[:60])}", why=_told(found),
                      instead="Write it in letters that show; use _ or . between words.")


def check_predicate(name: str, where: str, protected: Iterable[str]) -> None:
    """Raises Refused not_permitted for letters that do not show, and for a twin of a word that others answer for."""
    check_name(name, f"{where}: the predicate")
    like = resembles(name)
    if like == name:
        return
    if is_board_word(like) or like in BUILTINS or any(like == resembles(word) for word in protected if word != name):
        raise Refused("not_permitted", what=f"{where}: the predicate {ascii(name[:60])}", why=f"it reads like {like}, which is another word",
                      instead=f"Write {like} where that is meant, else choose a name of your own.")


def check_literals(literals: Iterable[Literal], where: str, protected: Mapping[str, object]) -> None:
    """The same for every predicate and argument name of these literals."""
    for literal in literals:
        check_predicate(literal.predicate, where, protected)
        for name, _ in literal.args:
            check_name(name, f"{where}: the argument")
