"""Text from elsewhere, fit for a terminal and a page: what does not show as itself is shown as its escape.

A control character can move the cursor over a line already printed, a direction mark can
reorder the letters of one; neither may decide what a person reads.
"""

from __future__ import annotations


def counted(number: int, one: str, many: str = "") -> str:
    """`1 rule`, `2 rules`; `many` where it is not `one` with an s."""
    return f"{number} {one if number == 1 else many or one + 's'}"


def plain(text: str) -> str:
    """`text` with every letter that does not show as itself written as an escape; one line stays one line."""
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() else letter.encode("unicode_escape").decode("ascii") for letter in text)
