"""One of a thing and several of it."""

import pytest

from rulith.base.plain_text import counted


@pytest.mark.parametrize("number, words", [(0, "0 rules"), (1, "1 rule"), (2, "2 rules")])
def test_a_number_agrees_with_its_noun(number, words):
    assert counted(number, "rule") == words


def test_a_plural_of_its_own_is_used():
    assert (counted(1, "person", "people"), counted(3, "person", "people")) == ("1 person", "3 people")
