"""What the build takes out of sources: prose, and nothing else."""

from __future__ import annotations

import json
import shutil
import subprocess
import tokenize
from pathlib import Path

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


def parser() -> str:
    """A node that brings the parser: the suites' own, or the system's."""
    own = Path(__file__).resolve().parents[2] / ".conformance" / "node_modules" / ".bin" / "node"
    found = str(own) if own.exists() else shutil.which("node")
    return found or pytest.skip("no node here; .ci/run installs it")


def differing(before: Path, after: Path) -> dict:
    done = subprocess.run([parser(), "--expose-internals", str(Path(__file__).with_name("page_tokens.mjs")), str(before), str(after)],
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_scripts_of_the_page_lose_their_comments_and_no_token(sources, pyz, tmp_path):
    before = sources / "rulith" / "ui_static"
    build_pyz.unpack(pyz, tmp_path / "out")
    after = tmp_path / "out" / "rulith" / "ui_static"
    told = differing(before, after)
    assert told["read"] > 50 and not told["other"]
    weight = {folder: sum(path.stat().st_size for path in folder.rglob("*.js")) for folder in (before, after)}
    assert weight[after] < 0.95 * weight[before]
    for path in before.rglob("*.css"):
        assert (after / path.relative_to(before)).read_text("utf-8").split() == uncommented(path.read_text("utf-8")).split()


def uncommented(style: str) -> str:
    """A style sheet with a blank for each comment, told letter by letter."""
    kept, at, text = [], 0, ""
    while at < len(style):
        if not text and style.startswith("/*", at):
            kept.append(" ")
            at = style.index("*/", at) + 2
            continue
        text = "" if text == style[at] else text or style[at] * (style[at] in "\"'")
        kept.append(style[at])
        at += 1
    return "".join(kept)


def test_what_only_looks_like_a_comment_stays(tmp_path):
    script = """/** prose */
import "./a.js"; // why
const url = "https://a//b", one = 'it // is', two = `x // ${url} /* kept */
// kept
`, three = url.split(/[/]\\/\\/"/), four = 8 / 2; /* gone */ // gone
const five = url.replace( /\\/\\*.*'/g, "/*") // gone
/* more
   prose */ export { url, one, two, three, four, five };
"""
    small = build_pyz.bare(script.encode(), "x.js").decode()
    assert small.count("kept") == script.count("kept") and "gone" not in small and "prose" not in small and "why" not in small
    for folder, text in (("before", script), ("after", small), ("other", small.replace("// kept", ""))):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "x.js").write_text(text, "utf-8")
    assert differing(tmp_path / "before", tmp_path / "after") == {"read": 1, "other": []}
    assert differing(tmp_path / "before", tmp_path / "other")["other"] == ["x.js"]
    assert build_pyz.bare(b'a::after { content: "/*"; } /* gone\n */\n', "x.css") == b'a::after { content: "/*"; }\n\n'
    assert build_pyz.bare(b"// a text", "x.txt") == b"// a text"
