"""What counts as a blank, a twin or a letter without a shape is the same under every Python.

Duty: design D5, a row that was accepted is folded again under every later Python; CI runs this on each.
"""

from __future__ import annotations

from hashlib import sha256

import pytest

from rulith.base.errors import Refused
from rulith.board.names import check_words, normal_form, one_line, resembles
from rulith.rules.terms import BLANKS, is_variable

LETTERS = [chr(code) for code in (*range(0x3400), *range(0xA000, 0xAC00), *range(0xF900, 0x10800), *range(0x1D000, 0x1D800), *range(0xE0000, 0xE0200))]
BORN_LATER = "\ua7dc\U00016e40\U0001e922\u1c90\u2c2f\U00010570"       # capitals of Unicode 16, 11, 9, 11, 14 and 14


def judged(letter: str) -> str:
    """All that law asks about a letter, as one line."""
    try:
        check_words(f"a{letter}b", "a label")
        seen = "seen"
    except Refused:
        seen = "unseen"
    blank = not is_variable(f"?{letter}")
    return f"{seen} {blank} {resembles(letter)!a} {normal_form('NFC', f'e{letter}')!a} {one_line(letter)!a}"


def test_every_letter_is_judged_as_ever():
    found = sha256("\n".join(map(judged, LETTERS)).encode()).hexdigest()
    assert found == "780ca56bbef26b77e6df5eb156fc80fabe55e17a2364c39d4c66d12ca9dc8edf"


def test_a_blank_is_what_python_strips_today():
    assert [letter for letter in map(chr, range(0x110000)) if letter.isspace() and letter not in BLANKS] == []
    assert all(letter.isspace() for letter in BLANKS)


@pytest.mark.parametrize("letter", BORN_LATER)
def test_a_letter_newer_than_the_tables_stands_as_it_is(letter):
    assert resembles(letter) == letter and normal_form("NFKC", letter) == letter


def test_letters_newer_than_the_tables_join_no_others():
    """A pair that only Unicode 16 composes (Python 3.14) is two letters for ever."""
    pair = "\U0001611e\U00016129"
    assert normal_form("NFC", pair) == pair
    assert normal_form("NFC", f"e\u0301{pair}e\u0301") == f"\u00e9{pair}\u00e9"
