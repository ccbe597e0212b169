"""The same Tools where the system opens nothing relative to a folder: by path, every link refused, what was opened compared.

Duty: design §7, "on every OS". That folders are held on Windows is that system's to show; here the way by path is played.
"""

import asyncio
import json
import os

import pytest

from rulith.adapters import beneath, beneath_plain
from rulith.adapters.outcomes import Call, Executed, Failed
from rulith.adapters.sources import Source
from rulith.base.errors import Refused
from rulith.wire.manifest import BUILTINS
from tests.adapters.test_workspace_walks import Desk

POSIX = pytest.mark.skipif(os.name == "nt", reason="links, pipes and modes of POSIX")


@pytest.fixture
def desk(tmp_path, monkeypatch):
    monkeypatch.setattr(beneath, "HAS_HANDLES", False)
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "a.txt").write_text("secret")
    return Desk(tmp_path)


def test_every_tool_does_the_same_by_path(desk, monkeypatch):
    desk.put("sub/a.txt", "needle\n")
    desk.put("sub/deep/b.json", '{"needle": 1}')
    desk.put("c.bin", b"\0")
    calls = [
        ("list", {}), ("list", {"path": "sub"}), ("count", {"recursive": True}), ("count", {"path": "sub"}), ("search", {"query": "needle"}),
        ("read_text", {"path": "sub/a.txt"}), ("read_json", {"path": "sub/deep/b.json"}), ("hash", {"path": "c.bin"}),
        ("write_text", {"path": "new/x/a.txt", "text": "x"}), ("write_text", {"path": "sub/a.txt", "text": "needle\n"}), ("write_json", {"path": "j.json", "value": [1]}),
        ("read_text", {"path": "none"}), ("read_text", {"path": "sub"}), ("list", {"path": "c.bin"}), ("write_text", {"path": "sub", "text": "x"}),
    ]
    by_path = [desk.run(name, **arguments) for name, arguments in calls]
    monkeypatch.setattr(beneath, "HAS_HANDLES", True)
    for (name, arguments), outcome in zip(calls[5:], by_path[5:]):
        assert desk.run(name, **arguments) == outcome, name
    assert all(isinstance(outcome, Executed) for outcome in by_path[:11]) and all(isinstance(outcome, Failed) for outcome in by_path[11:])
    assert [len(outcome.rows) for outcome in by_path[:5]] == [2, 2, 1, 1, 2]
    assert (desk.root / "new" / "x" / "a.txt").read_text() == "x" and sorted(os.listdir(desk.root / "sub")) == ["a.txt", "deep"]


@POSIX
@pytest.mark.parametrize("operation, arguments", [
    ("read_text", {}), ("read_json", {}), ("hash", {}), ("list", {}), ("count", {}), ("search", {"query": "x"}), ("write_text", {"text": "x"}), ("write_json", {"value": 1}),
])
def test_any_link_is_refused_even_one_that_stays_inside(desk, tmp_path, operation, arguments):
    desk.put("real/a.txt", "x")
    (desk.root / "out").symlink_to(tmp_path / "outside")
    (desk.root / "inside").symlink_to("real")
    (desk.root / "a.txt").symlink_to("real/a.txt")
    folders = operation in ("list", "count", "search")
    for path in ("out", "inside") if folders else ("out/a.txt", "inside/a.txt", "a.txt"):
        outcome = desk.run(operation, path=path, **arguments)
        assert isinstance(outcome, Failed) and ("link" in outcome.reason or "not a regular file" in outcome.reason), outcome
    assert (tmp_path / "outside" / "a.txt").read_text() == "secret" and os.listdir(tmp_path / "outside") == ["a.txt"]


@POSIX
def test_links_are_passed_over_by_a_walk(desk, tmp_path):
    desk.put("a.txt", "needle")
    (desk.root / "out").symlink_to(tmp_path / "outside")
    assert desk.row("count", recursive=True)["file_count"] == 1
    assert [match["path"] for match in desk.search("e")["matches"]] == ["a.txt"]
    assert [row["entry_type"] for row in json.loads(desk.run("list").text)["entries"]] == ["file", "symlink"]


@POSIX
def test_a_root_that_became_a_link_after_it_was_judged_is_refused(desk, tmp_path):
    desk.put("a.txt", "x")
    os.rename(desk.root, tmp_path / "moved")
    desk.root.symlink_to(tmp_path / "outside")
    for opened in (lambda: beneath_plain.open_file(str(desk.root), ["a.txt"]), lambda: beneath_plain.open_folder(str(desk.root), [])):
        with pytest.raises(Exception, match="does not exist or is not a folder"), opened():
            pass


@POSIX
def test_a_file_that_changed_between_look_and_open_is_refused(desk, tmp_path, monkeypatch):
    """A link put there in that moment: what was opened is compared with what was looked at."""
    desk.put("a.txt", "x")
    real = os.lstat

    def swapped(path, *arguments, **settings):
        seen = real(path, *arguments, **settings)
        if str(path).endswith("a.txt"):
            os.unlink(path)
            os.symlink(tmp_path / "outside" / "a.txt", path)
        return seen

    monkeypatch.setattr(beneath_plain.os, "lstat", swapped)
    outcome = desk.run("read_text", path="a.txt")
    assert isinstance(outcome, Failed) and "changed while it was opened" in outcome.reason


@POSIX
def test_a_full_disk_leaves_the_old_file_and_no_other(desk, monkeypatch):
    desk.put("a.txt", "old")

    def full(*_):
        raise OSError(28, "full")

    monkeypatch.setattr(beneath_plain.os, "fsync", full)
    outcome = desk.run("write_text", path="a.txt", text="new")
    assert isinstance(outcome, Failed) and "disk is full" in outcome.reason
    assert os.listdir(desk.root) == ["a.txt"] and (desk.root / "a.txt").read_text() == "old"


def test_a_folder_over_the_bound_is_refused(desk, monkeypatch):
    for number in range(4):
        desk.put(str(number))
    with beneath.open_folder(os.path.realpath(desk.root), []) as folder:
        assert [entry.name for entry in folder.entries(first=2)] == ["0", "1"]
        with pytest.raises(Exception, match="more than 3 entries"):
            folder.entries(most=3)


@pytest.mark.skipif(not hasattr(os, "O_PATH"), reason="plays a system without it, such as macOS")
def test_without_handles_for_passing_through_the_same_is_opened_and_the_same_refused(tmp_path, monkeypatch):
    (tmp_path / "outside").mkdir()
    desk = Desk(tmp_path)
    desk.put("sub/a.txt", "needle")
    (desk.root / "out").symlink_to(tmp_path / "outside")
    (desk.root / "inside").symlink_to("sub")
    look = desk.hands.compile(Call("inv", "key", BUILTINS["rulith.workspace.read_text@1"], {"path": "sub/a.txt"}, Source("docs", "file", str(desk.root))))
    monkeypatch.setattr(beneath, "_PASS", beneath._PASS & ~os.O_PATH)
    monkeypatch.delattr(os, "O_PATH")
    assert desk.row("read_text", path="inside/a.txt")["text"] == "needle" and desk.row("count", recursive=True)["file_count"] == 1
    assert isinstance(desk.run("write_text", path="new/b.txt", text="x"), Executed) and len(desk.search("needle")["matches"]) == 1
    for path in ("out/a", "out"):
        assert isinstance(desk.run("read_text", path=path), Failed) and isinstance(desk.run("write_text", path=path + "/b", text="x"), Failed)
    os.rename(desk.root, tmp_path / "moved")
    desk.root.symlink_to(tmp_path / "moved")
    assert isinstance(asyncio.run(look.run()), Failed), "the root became a link after it was judged"
    desk.root.unlink()
    (tmp_path / "elsewhere").symlink_to(tmp_path)
    with pytest.raises(Refused, match="moved"), beneath.open_folder(str(tmp_path / "elsewhere" / "moved"), []):
        pass
    assert os.listdir(tmp_path / "outside") == []


class Kernel:
    """Windows' own calls, as far as they are used, with what they were asked."""

    def __init__(self, handle):
        self.asked, self.open = [], 0
        self.CreateFileW, self.CloseHandle = Kernel.Call(self._create), Kernel.Call(self._close)
        self._handle = handle

    class Call:
        def __init__(self, deed):
            self.deed = deed

        def __call__(self, *arguments):
            return self.deed(*arguments)

    def _create(self, path, access, share, *rest):
        self.asked.append((path, access, share, rest))
        self.open += self._handle is not None
        return self._handle

    def _close(self, handle):
        self.open -= 1


@POSIX
def test_on_windows_each_folder_on_the_way_is_held_without_the_right_to_delete_it(desk, monkeypatch):
    """Played: the sharing that is asked for lets others read and write, not rename or delete, and all is let go in the end."""
    desk.put("a/b/c.txt", "x")
    kernel = Kernel(42)
    monkeypatch.setattr(beneath_plain, "sys", type("Sys", (), {"platform": "win32"}))
    monkeypatch.setattr(beneath_plain.ctypes, "WinDLL", lambda *_, **__: kernel, raising=False)
    assert desk.row("read_text", path="a/b/c.txt")["text"] == "x"
    root = str(desk.root)
    assert [path for path, *_ in kernel.asked] == [root, f"{root}/a", f"{root}/a/b"] and kernel.open == 0
    share_delete, reparse_point, backup = 0x4, 0x200000, 0x2000000
    assert all(not share & share_delete and rest[2] == reparse_point | backup for _, _, share, rest in kernel.asked)


@POSIX
def test_on_windows_a_folder_that_cannot_be_held_is_refused(desk, monkeypatch):
    desk.put("a/b.txt", "x")
    monkeypatch.setattr(beneath_plain, "sys", type("Sys", (), {"platform": "win32"}))
    monkeypatch.setattr(beneath_plain.ctypes, "WinDLL", lambda *_, **__: Kernel(beneath_plain._NO_HANDLE), raising=False)
    monkeypatch.setattr(beneath_plain.ctypes, "get_last_error", lambda: 5, raising=False)
    monkeypatch.setattr(beneath_plain.ctypes, "WinError", lambda code: PermissionError(13, "denied"), raising=False)
    assert isinstance(desk.run("read_text", path="a/b.txt"), Failed)
