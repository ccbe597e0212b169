"""write_text and write_json: the whole file or nothing, through no link, over nothing but a regular file.

Duty: the Worker hop, "Built-in Tools", Writes.
"""

import asyncio
import errno
import hashlib
import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from rulith.adapters import beneath
from rulith.adapters.hands import Hands
from rulith.adapters.outcomes import Call, Executed, Failed, Withheld
from rulith.adapters.sources import Source
from rulith.adapters.territory import Territory
from rulith.base.errors import Refused
from rulith.wire.manifest import BUILTINS
from tests.conftest import ROOT

POSIX = pytest.mark.skipif(os.name == "nt", reason="links, pipes and modes of POSIX")


class Desk:
    def __init__(self, folder):
        self.root = folder / "docs"
        self.root.mkdir(exist_ok=True)
        self.outside = folder / "outside"
        self.outside.mkdir(exist_ok=True)
        self.hands = Hands(Territory(str(folder / "worker"), str(folder / "home"), writes=True), {})

    def compile(self, operation, **arguments):
        call = Call("inv", "key", BUILTINS[f"rulith.workspace.{operation}@1"], arguments, Source("docs", "file", str(self.root)))
        return self.hands.compile(call)

    def run(self, operation, **arguments):
        return asyncio.run(self.compile(operation, **arguments).run())

    def refused(self, operation, **arguments):
        """The reason; and nothing was left behind anywhere."""
        before = self.everything()
        outcome = self.run(operation, **arguments)
        assert isinstance(outcome, Failed) and self.everything() == before
        return outcome.reason

    def everything(self):
        return sorted((str(path), path.read_bytes() if path.is_file() else None) for top in (self.root, self.outside) for path in top.rglob("*"))


@pytest.fixture
def desk(tmp_path):
    return Desk(tmp_path)


def test_a_text_is_written_whole_and_told_by_its_digest(desk):
    outcome = desk.run("write_text", path="a.txt", text="é\n")
    content = "é\n".encode()
    assert (desk.root / "a.txt").read_bytes() == content
    row = {"source": "docs", "path": "a.txt", "digest": hashlib.sha256(content).hexdigest()}
    assert outcome == Executed(json.dumps(row, separators=(",", ":")), (row,))
    assert os.listdir(desk.root) == ["a.txt"]


def test_parents_are_made(desk):
    assert isinstance(desk.run("write_text", path="a/b/c.txt", text="x"), Executed)
    assert (desk.root / "a" / "b" / "c.txt").read_text() == "x"


@POSIX
def test_every_folder_that_gets_a_new_name_is_flushed(desk, monkeypatch):
    """A power cut after the receipt takes neither the file nor the folders that were made for it."""
    flushed, real = [], os.fsync

    def counted(handle):
        flushed.append(os.fstat(handle).st_ino)
        real(handle)

    monkeypatch.setattr(beneath.os, "fsync", counted)
    desk.run("write_text", path="a/b/c.txt", text="x")
    assert flushed == [place.stat().st_ino for place in (desk.root, desk.root / "a", desk.root / "a/b/c.txt", desk.root / "a/b")]


@POSIX
def test_a_file_that_was_there_is_replaced_and_keeps_its_permissions(desk):
    (desk.root / "a.txt").write_text("a much longer text than the new one")
    os.chmod(desk.root / "a.txt", 0o640)
    os.link(desk.root / "a.txt", desk.outside / "same.txt")
    desk.run("write_text", path="a.txt", text="new")
    assert (desk.root / "a.txt").read_text() == "new" and stat.S_IMODE((desk.root / "a.txt").stat().st_mode) == 0o640
    assert (desk.outside / "same.txt").read_text().startswith("a much"), "the name is replaced, not what else has that file"


@pytest.mark.parametrize("value, text", [
    ({"b": 1, "a": [1.0, 2.5, 1e21, 1e-7, -0.0], "é": {}, "c": []}, '{\n  "b": 1,\n  "a": [\n    1,\n    2.5,\n    1e+21,\n    1e-7,\n    0\n  ],\n  "é": {},\n  "c": []\n}\n'),
    ("x\u2028\"\x01", '"x\u2028\\"\\u0001"\n'), (None, "null\n"), (True, "true\n"), ([[1]], "[\n  [\n    1\n  ]\n]\n"),
])
def test_json_is_written_with_two_blanks_and_a_line_feed(desk, value, text):
    outcome = desk.run("write_json", path="a.json", value=value)
    assert (desk.root / "a.json").read_bytes() == text.encode()
    assert outcome.rows[0]["digest"] == hashlib.sha256(text.encode()).hexdigest()


def test_json_deep_and_plain_reads_back_as_it_was(desk):
    value = {"rows": [{"n": n, "text": "x" * n, "deep": [[{"k": [n / 7]}]]} for n in range(50)]}
    desk.run("write_json", path="a.json", value=value)
    assert json.loads((desk.root / "a.json").read_text("utf-8")) == value
    assert (desk.root / "a.json").read_text("utf-8") == json.dumps(value, indent=2).replace(".0\n", "\n").replace(".0,", ",") + "\n"


def test_content_of_exactly_the_limit_is_written_and_one_byte_more_is_not(desk):
    assert isinstance(desk.run("write_text", path="a", text="x" * 262_144), Executed)
    assert "larger than 262144" in desk.refused("write_text", path="b", text="x" * 262_145)
    assert "larger than 262144" in desk.refused("write_json", path="b", value="x" * 262_142)
    assert "larger than 262144" in desk.refused("write_text", path="b", text="é" * 131_073)


def test_a_text_that_could_not_be_read_back_is_refused(desk):
    assert "NUL" in desk.refused("write_text", path="a", text="a\0b")


@POSIX
def test_what_is_there_and_no_regular_file_stays(desk):
    (desk.root / "folder").mkdir()
    os.mkfifo(desk.root / "pipe")
    (desk.outside / "secret").write_text("old")
    (desk.root / "link").symlink_to(desk.outside / "secret")
    (desk.root / "dangling").symlink_to(desk.outside / "new")
    for path in ("folder", "pipe", "link", "dangling"):
        assert "not a regular file" in desk.refused("write_text", path=path, text="x")


@POSIX
def test_no_link_is_passed_even_one_that_stays_inside(desk):
    (desk.root / "real").mkdir()
    (desk.root / "inside").symlink_to("real")
    (desk.root / "out").symlink_to(desk.outside)
    for path in ("inside/a", "out/a", "inside/new/a"):
        assert "passes a link" in desk.refused("write_text", path=path, text="x")


def test_a_file_is_no_folder(desk):
    (desk.root / "a").write_text("x")
    assert "is not a folder" in desk.refused("write_text", path="a/b", text="x")


@POSIX
@pytest.mark.parametrize("number, said", [(errno.ENOSPC, "the disk is full"), (errno.EDQUOT, "the disk is full"), (errno.EROFS, "read-only"), (errno.EIO, "cannot be used")])
@pytest.mark.parametrize("call", ["fsync", "rename"])
def test_a_disk_that_takes_no_more_leaves_the_old_file_and_no_other(desk, monkeypatch, call, number, said):
    (desk.root / "a").write_text("old")

    def full(*_, **__):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(beneath.os, call, full)
    assert said in desk.refused("write_text", path="a", text="new")


@POSIX
def test_a_write_whose_name_may_not_be_on_the_disk_is_unknown_and_never_failed(desk, monkeypatch):
    """The second flush is the folder's: after the new file took the name."""
    calls, real = [], os.fsync

    def second_fails(handle):
        calls.append(handle)
        if len(calls) == 2:
            raise OSError(errno.EIO, "io")
        real(handle)

    monkeypatch.setattr(beneath.os, "fsync", second_fails)
    assert desk.run("write_text", path="a", text="new") == Withheld("workspace_write_not_flushed")


@POSIX
def test_a_folder_that_was_moved_away_meanwhile_makes_the_write_unknown(desk, monkeypatch):
    """The file was written into the folder that was opened; that it stands at the path nobody can say."""
    real = os.rename

    def moved(*arguments, **settings):
        real(*arguments, **settings)
        real(desk.root / "sub", desk.outside / "sub")

    monkeypatch.setattr(beneath.os, "rename", moved)
    assert desk.run("write_text", path="sub/a", text="new") == Withheld("workspace_folder_moved")


@POSIX
@pytest.mark.parametrize("there", ["link", "folder", "nothing"])
def test_a_root_that_was_swapped_after_it_was_judged_is_not_written_to(desk, there):
    call = desk.compile("write_text", path="a", text="x")
    os.rename(desk.root, desk.root.with_name("moved"))
    if there == "link":
        desk.root.symlink_to(desk.outside)
    elif there == "folder":
        desk.root.mkdir()
    outcome = asyncio.run(call.run())
    assert isinstance(outcome, Executed) == (there == "folder"), "another folder at the judged path is the Source's folder now"
    assert os.listdir(desk.outside) == [] and os.listdir(desk.root.with_name("moved")) == []


@pytest.mark.parametrize("path", ["", ".", "../x", "/x", "a/../../x", "con", "a:b", "a.", "C:x"])
def test_a_path_that_names_no_file_below_is_refused_before_a_claim(desk, path):
    with pytest.raises(Refused) as caught:
        desk.compile("write_text", path=path, text="x")
    assert caught.value.code == "path_refused"


def test_two_writers_of_one_file_leave_one_of_the_two(desk):
    async def both():
        return await asyncio.gather(*(desk.compile("write_text", path="a/b", text=str(n) * 100_000).run() for n in range(8)))

    assert all(isinstance(outcome, Executed) for outcome in asyncio.run(both()))
    content = (desk.root / "a" / "b").read_text()
    assert len(content) == 100_000 and len(set(content)) == 1 and os.listdir(desk.root / "a") == ["b"]


KILLED = """import asyncio, sys
from tests.adapters.test_workspace_writes import Desk, Path
desk = Desk(Path(sys.argv[1]))
print("begun", flush=True)
while True:
    for letter in "ab":
        desk.run("write_text", path="a.txt", text=letter * 200_000)
"""


@POSIX
def test_a_worker_that_is_killed_leaves_the_old_file_or_the_new_one(desk):
    desk.run("write_text", path="a.txt", text="a" * 200_000)
    for _ in range(3):
        writing = subprocess.Popen([sys.executable, "-c", KILLED, str(desk.root.parent)], cwd=ROOT, stdout=subprocess.PIPE)
        assert writing.stdout.readline() == b"begun\n"
        for _ in range(20):
            (desk.root / "a.txt").read_bytes()
        writing.kill()
        writing.communicate()
        content = (desk.root / "a.txt").read_text()
        assert len(content) == 200_000 and content in ("a" * 200_000, "b" * 200_000)
    assert all(name == "a.txt" or name.startswith(".rulith-") for name in os.listdir(desk.root))
