"""What the build takes out of sources: prose, and nothing else."""

from __future__ import annotations

import tokenize

import pytest

import build_pyz

SOURCE = '''#!/usr/bin/env python
# -*- coding: utf-8 -*-
"""Module prose,
two lines."""  # and a note
import os  # why

X = "# not a comment"; Y = """
# neither is this
"""


class C:
    """Prose é"""; z = 1

    def f(self, a=1):  # note
        \'\'\'More
        prose.\'\'\'
        # a comment line
        return f"{a}#" + 'it''s'

    async def g(self): "prose"
'''


def test_prose_goes_and_every_line_stays_where_it_was():
    small = build_pyz.slim(SOURCE.encode(), "it").decode()
    assert small.count("\n") == SOURCE.count("\n")
    for gone in ("rose", "why", "note", "a comment line"):
        assert gone not in small
    for kept in ("#!/usr/bin/env python", "coding: utf-8", "# not a comment", "# neither is this", "z = 1", '#" +'):
        assert kept in small
    space: dict = {}
    exec(compile(small, "it", "exec"), space)
    assert space["C"]().f(2) == "2#its" and space["C"].__doc__ == ""
    line = next(number for number, text in enumerate(SOURCE.split("\n"), 1) if "return" in text)
    assert small.split("\n")[line - 1].strip().startswith("return")


def test_line_ends_of_another_system_become_ours():
    assert build_pyz.slim(b'"""p"""\r\nx = 1\r\n', "it") == b'""\nx = 1\n'


@pytest.mark.parametrize("source", [b"", b"x = 1", b'def f():\n    """only prose"""\n', b"\n\n# only a comment\n", b"#!sh\n#two\n#three\n"])
def test_small_sources(source):
    compile(build_pyz.slim(source, "it"), "it", "exec")


def test_a_result_that_is_another_program_stops_the_build(monkeypatch):
    wrong = tokenize.TokenInfo(tokenize.COMMENT, "#", (3, 5), (3, 9), "")
    monkeypatch.setattr(build_pyz.tokenize, "generate_tokens", lambda _readline: [wrong])
    with pytest.raises(SystemExit):
        build_pyz.slim(b"x = 1\ny = 2\nz = x + y\n", "it")


TYPED = '''from __future__ import annotations
from dataclasses import dataclass


@dataclass
class Row:
    name: str
    size: int = 3

    def grown(self, by: int = 1, *more: dict[str, int], flag: bool, **rest: object) -> dict[str, list[int]]:
        total: int = self.size + by
        unset: int
        self.kept: list[int] = [total]
        return {"é": self.kept}


async def wait(x: "a -> b" = 1) -> (
        int):
    return x
'''


def test_types_of_functions_go_and_fields_of_classes_stay():
    small = build_pyz.slim(TYPED.encode(), "it", untyped=True).decode()
    assert small.count("\n") == TYPED.count("\n")
    assert "def grown(self, by = 1, *more, flag, **rest):" in small and "total = self.size + by" in small
    assert "name: str" in small and "size: int = 3" in small and "unset: int" in small
    space: dict = {}
    exec(compile(small, "it", "exec"), space)
    assert space["Row"]("a").grown(2, flag=True) == {"é": [5]}
