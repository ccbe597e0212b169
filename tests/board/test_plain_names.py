"""Names that people see beside acts: what one may hold, and what is left of a name that a program gave itself."""

import pytest

from rulith.board.names import is_plain_name, plain_name


@pytest.mark.parametrize("name", ["Ann", "Jürgen O'Neill-Łoś", "確認 係", "R&D (night), no. 2", "عائشة", "a\u0301nn", "x" * 64])
def test_a_name_of_letters_digits_marks_and_punctuation_is_plain(name):
    assert is_plain_name(name, 64) and plain_name(name, 64, "somebody") == name


@pytest.mark.parametrize("name", ["<img src=x>", "a+b", "a\u202eb", "a\u200db", "a\u00a0b", "☃", " a", "", "x" * 65, "\ud800", None])
def test_other_names_are_not(name):
    assert not is_plain_name(name, 64)


@pytest.mark.parametrize("given, kept", [("<b>Host</b>", "b Host /b"), ("a\u202e  b", "a b"), ("<>", "An MCP host"), ("y" * 70, "y" * 59)])
def test_a_program_s_own_name_is_kept_as_far_as_it_can_be(given, kept):
    assert plain_name(given, 59, "An MCP host") == kept and is_plain_name(kept, 64)
