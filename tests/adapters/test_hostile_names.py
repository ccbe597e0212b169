"""Hostile names: Windows devices and streams, trailing dots and blanks, UNC, drives, NUL, overlong, letters that some systems join
or pass over. Judged as text, so every system refuses the same ones; and refused before a claim by whatever takes a path.

Duty: the Worker hop, "Built-in Tools", Refused; design §7. The corpus is tests/corpus/names.json.
"""

import asyncio
import json
import ntpath
import os
import random
from pathlib import Path

import pytest

from rulith.adapters.hands import Hands
from rulith.adapters.outcomes import Call, Failed
from rulith.adapters.sources import Source
from rulith.adapters.territory import Territory
from rulith.base.errors import Refused
from rulith.base.paths import relative_components
from rulith.wire.manifest import BUILTINS, read_tool

CORPUS = json.loads((Path(__file__).parents[1] / "corpus" / "names.json").read_text("utf-8"))
HOSTILE = [(row["path"], row["refused"]) for row in CORPUS["hostile"]]
ARGUMENTS = {"search": {"query": "x"}, "write_text": {"text": "x"}, "write_json": {"value": 1}}
WORKSPACE = [tool for tool in BUILTINS.values() if tool.adapter == "workspace"]


def ids(value):
    return json.dumps(value)[:40]


@pytest.fixture
def desk(tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs-secret").mkdir()
    (tmp_path / "docs-secret" / "x").write_text("outside")
    return Hands(Territory(str(tmp_path / "worker"), str(tmp_path / "home"), writes=True), {}), Source("docs", "file", str(tmp_path / "docs"))


def call(desk, tool, path):
    hands, source = desk
    return hands.compile(Call("inv", "key", tool, {"path": path, **ARGUMENTS.get(tool.entry, {})}, source))


@pytest.mark.parametrize("path, why", HOSTILE, ids=ids)
def test_a_hostile_path_is_refused_with_its_reason(path, why):
    with pytest.raises(Refused) as caught:
        relative_components(path, where="Source 'docs'")
    assert caught.value.code == "path_refused" and why in caught.value.facts["problem"]


@pytest.mark.parametrize("path", CORPUS["plain"], ids=ids)
def test_a_plain_path_is_taken_whatever_its_script(path):
    names = relative_components(path, where="Source 'docs'")
    assert names and not {"", ".", ".."} & set(names)


PIECES = ["a", ".", "..", "/", "//", "\\", ":", " ", "\0", "\u00e9", "e\u0301", "\u200c", "\u200d", "con", "NUL", "~", "?", "\ud800", "\u202e", "x" * 100, "\U0001f600", "-", "\n"]


def test_what_is_taken_stays_below_and_is_taken_again_as_the_same(tmp_path):
    """Whatever pieces a path is made of: refused, or a way down that any system reads alike."""
    rng = random.Random(20261201)
    taken = 0
    for _ in range(20_000):
        path = "".join(rng.choice(PIECES) for _ in range(rng.randrange(1, 7)))
        try:
            names = relative_components(path, where="Source 'docs'")
        except Refused as refused:
            assert refused.code == "path_refused"
            continue
        taken += 1
        place = os.path.normpath(os.path.join(tmp_path, *names))
        assert place == os.path.join(tmp_path, *names).rstrip("/") and not any(set(name) <= set(". ") for name in names)
        assert relative_components("/".join(names), where="Source 'docs'") == names
        assert all(ntpath.basename(name) == name and not ntpath.splitdrive(name)[0] for name in names)
    assert 1_000 < taken < 19_000, "both ways came up"


def test_every_tool_that_takes_a_path_refuses_each_before_a_claim(desk, tmp_path):
    before = sorted(tmp_path.rglob("*"))
    for path, _ in HOSTILE:
        for tool in WORKSPACE:
            with pytest.raises(Refused) as caught:
                call(desk, tool, path)
            assert caught.value.code == "path_refused", (tool.id, path)
    assert sorted(tmp_path.rglob("*")) == before


def test_a_program_of_such_a_name_is_no_manifest_entry():
    for path, _ in HOSTILE:
        with pytest.raises(Refused) as caught:
            read_tool("acme.it@1", {"adapter": "run", "sourceTypes": [], "entry": path})
        assert caught.value.code == "tool_manifest_invalid" and "'entry'" in caught.value.teaching, path


def test_a_refusal_shows_the_path_in_letters_that_show():
    for path, _ in HOSTILE:
        with pytest.raises(Refused) as caught:
            relative_components(path, where="Source 'docs'")
        assert "\n" not in caught.value.teaching and "\x1b" not in caught.value.teaching and caught.value.teaching.encode("utf-8", "strict")


def test_a_folder_whose_name_only_begins_alike_is_out_of_reach(desk, tmp_path):
    """The prefix sibling: `docs` is the Source, `docs-secret` stands beside it."""
    with pytest.raises(Refused):
        call(desk, BUILTINS["rulith.workspace.read_text@1"], "../docs-secret/x")
    if os.name == "posix":
        for target in ("../docs-secret", str(tmp_path / "docs-secret"), "../docs/../docs-secret"):
            link = tmp_path / "docs" / "link"
            link.symlink_to(target)
            for operation, path in (("read_text", "link/x"), ("hash", "link/x"), ("list", "link"), ("count", "link"), ("search", "link"), ("write_text", "link/y")):
                outcome = asyncio.run(call(desk, BUILTINS[f"rulith.workspace.{operation}@1"], path).run())
                assert isinstance(outcome, Failed) and "link" in outcome.reason and str(tmp_path) not in outcome.reason, operation
            link.unlink()
    assert os.listdir(tmp_path / "docs-secret") == ["x"]


@pytest.mark.skipif(os.name == "nt", reason="a file system that tells the two spellings apart")
def test_of_a_normalisation_pair_only_the_composed_name_can_be_asked_for(desk, tmp_path):
    (tmp_path / "docs" / "caf\u00e9").write_text("composed")
    (tmp_path / "docs" / "cafe\u0301").write_text("in parts")
    read = BUILTINS["rulith.workspace.read_text@1"]
    assert asyncio.run(call(desk, read, "caf\u00e9").run()).rows[0]["text"] == "composed"
    with pytest.raises(Refused):
        call(desk, read, "cafe\u0301")


@pytest.mark.skipif(os.name == "nt", reason="links need a right on Windows")
def test_a_way_through_more_folders_than_handles_is_refused_and_no_handle_is_left(desk, tmp_path):
    """Links that lead down and up again would hold a handle for each folder."""
    deep = tmp_path / "docs"
    for _ in range(100):
        deep = deep / "d"
    os.makedirs(deep)
    (tmp_path / "docs" / "down").symlink_to("/".join(["d"] * 100))
    (deep / "more").mkdir()
    (deep / "again").symlink_to("/".join(["more", *[".."] * 101, "down"]))
    before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    read = BUILTINS["rulith.workspace.list@1"]
    assert not isinstance(asyncio.run(call(desk, read, "down/again").run()), Failed)
    outcome = asyncio.run(call(desk, read, "down/" + "/".join(["d"] * 60)).run())
    assert isinstance(outcome, Failed)
    os.makedirs(deep / "/".join(["d"] * 60))
    assert "more than 128 folders" in asyncio.run(call(desk, read, "down/" + "/".join(["d"] * 60)).run()).reason
    assert not before or len(os.listdir("/proc/self/fd")) == before
