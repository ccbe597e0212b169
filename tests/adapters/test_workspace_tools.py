"""list, read_text, read_json on real folders, and what every look below a folder refuses."""

import asyncio
import json
import os

import pytest

from rulith.adapters import beneath
from rulith.adapters.beneath import open_file
from rulith.adapters.hands import Hands
from rulith.adapters.outcomes import Call, Executed, Failed
from rulith.adapters.sources import Source
from rulith.adapters.territory import Territory
from rulith.base.canonical import sha256_hex
from rulith.base.errors import Refused
from rulith.wire.manifest import BUILTINS

POSIX = pytest.mark.skipif(os.name == "nt", reason="links, pipes and modes of POSIX")


class Desk:
    def __init__(self, folder):
        self.root = folder / "docs"
        self.root.mkdir()
        (folder / "secret.txt").write_text("outside")
        (folder / "worker").mkdir()
        territory = Territory(str(folder / "worker"), str(folder / "home"), guarded=(("the Source vault", str(folder / "worker-secrets.json")),))
        self.hands = Hands(territory, {})
        self.source = Source("docs", "file", str(self.root))

    def compile(self, operation, inline_bytes=8192, source=..., **arguments):
        tool = BUILTINS[f"rulith.workspace.{operation}@1"]
        return self.hands.compile(Call("inv", "key", tool, arguments, self.source if source is ... else source, inline_bytes))

    def run(self, operation, **arguments):
        return asyncio.run(self.compile(operation, **arguments).run())


@pytest.fixture
def desk(tmp_path):
    return Desk(tmp_path)


def test_a_text_file_is_read_with_its_digest(desk):
    (desk.root / "sub").mkdir()
    (desk.root / "sub" / "note.txt").write_bytes("é\n".encode())
    outcome = desk.run("read_text", path="sub/note.txt")
    row = {"source": "docs", "path": "sub/note.txt", "digest": sha256_hex("é\n".encode()), "text": "é\n"}
    assert outcome.rows == (row,) and json.loads(outcome.text) == row
    assert "text" not in json.loads(outcome.brief)


def test_a_json_file_is_read_as_its_text(desk):
    (desk.root / "a.json").write_text('{"a": 1.0}')
    assert desk.run("read_json", path="a.json").rows[0]["json"] == '{"a": 1.0}'


@pytest.mark.parametrize("content, said", [
    (b"{", "not one well-formed JSON"), (b'{"a":1,"a":2}', "'a'"), (b"", "not one well-formed JSON"), (b"\xff", "not UTF-8"),
])
def test_a_file_that_is_no_json_is_a_failure_naming_it(desk, content, said):
    (desk.root / "a.json").write_bytes(content)
    outcome = desk.run("read_json", path="a.json")
    assert isinstance(outcome, Failed) and said in outcome.reason and "a.json" in outcome.reason


@pytest.mark.parametrize("content, said", [
    (b"a\0b", "NUL"), (b"\xc3\x28", "not UTF-8"), (b"x" * 262_145, "larger than 262144"),
])
def test_what_is_no_bounded_text_is_refused(desk, content, said):
    (desk.root / "a.txt").write_bytes(content)
    outcome = desk.run("read_text", path="a.txt")
    assert isinstance(outcome, Failed) and said in outcome.reason


def test_a_text_of_exactly_the_limit_is_read(desk):
    (desk.root / "a.txt").write_bytes(b"x" * 262_144)
    assert len(desk.run("read_text", path="a.txt").rows[0]["text"]) == 262_144


@pytest.mark.parametrize("path", [
    "../secret.txt", "sub/../../secret.txt", "..", "/etc/passwd", "\\etc\\passwd", "C:/secret.txt", "c:secret.txt", "//host/share",
    "\\\\host\\share", "a\\b.txt", "a.txt:stream", "con", "NUL.txt", "sub/com1", "LPT\u00b2.log", "a.txt.", "a.txt ", "a\0b", "a\nb", "x" * 300,
    "a*b", "a?", "a|b", "\ud800",
])
def test_a_hostile_path_is_refused_before_a_claim_and_never_touches_a_file(desk, path):
    for operation in ("read_text", "list"):
        with pytest.raises(Refused) as caught:
            desk.compile(operation, path=path)
        assert caught.value.code == "path_refused"


@pytest.mark.parametrize("path", ["", ".", "./", "/"[:0]])
def test_a_file_operation_needs_a_file_and_list_takes_the_root(desk, path):
    with pytest.raises(Refused):
        desk.compile("read_text", path=path)
    assert isinstance(desk.run("list", path=path), Executed)
    assert isinstance(desk.run("list"), Executed)


@pytest.mark.parametrize("path", ["./a.txt", "sub//../a.txt"[:4] + "/b.txt", "sub/./b.txt"])
def test_dots_and_repeated_slashes_mean_nothing(desk, path):
    (desk.root / "sub").mkdir()
    (desk.root / "a.txt").write_text("a")
    (desk.root / "sub" / "b.txt").write_text("b")
    assert isinstance(desk.run("read_text", path=path), Executed)


@POSIX
@pytest.mark.parametrize("target", ["../secret.txt", "sub/../../secret.txt", "ABSOLUTE", "/etc/passwd"])
def test_a_link_leading_outside_is_refused(desk, tmp_path, target):
    (desk.root / "sub").mkdir()
    (desk.root / "link.txt").symlink_to(str(tmp_path / "secret.txt") if target == "ABSOLUTE" else target)
    outcome = desk.run("read_text", path="link.txt")
    assert isinstance(outcome, Failed) and "leads outside" in outcome.reason and str(tmp_path) not in outcome.reason


@POSIX
def test_a_folder_that_is_a_link_leading_outside_is_refused(desk, tmp_path):
    (desk.root / "up").symlink_to("..")
    assert isinstance(desk.run("read_text", path="up/secret.txt"), Failed)
    assert isinstance(desk.run("list", path="up"), Failed)


@POSIX
def test_a_link_inside_is_followed(desk):
    (desk.root / "sub").mkdir()
    (desk.root / "real.txt").write_text("real")
    (desk.root / "sub" / "link.txt").symlink_to("../real.txt")
    (desk.root / "again").symlink_to("sub")
    assert desk.run("read_text", path="again/link.txt").rows[0]["text"] == "real"


@POSIX
def test_links_in_a_circle_end(desk):
    (desk.root / "a").symlink_to("b")
    (desk.root / "b").symlink_to("a")
    assert "more than 40 links" in desk.run("read_text", path="a").reason


@POSIX
def test_a_pipe_and_a_device_are_no_files_and_hold_nothing_up(desk):
    os.mkfifo(desk.root / "pipe")
    assert "not a regular file" in desk.run("read_text", path="pipe").reason
    (desk.root / "sub").mkdir()
    assert "not a regular file" in desk.run("read_text", path="sub").reason


@POSIX
def test_what_is_no_regular_file_is_not_even_opened(desk, monkeypatch):
    """To open a pipe lets its writer go on, and to open some devices is to act."""
    os.mkfifo(desk.root / "pipe")
    opened, real = [], os.open

    def seen(name, *arguments, **settings):
        opened.append(name)
        return real(name, *arguments, **settings)

    monkeypatch.setattr(beneath.os, "open", seen)
    for operation in ("read_text", "read_json", "hash"):
        assert "not a regular file" in desk.run(operation, path="pipe").reason
    assert opened and "pipe" not in opened


def test_what_does_not_exist_is_named_without_the_root(desk):
    outcome = desk.run("read_text", path="sub/none.txt")
    assert outcome.reason.startswith("sub/none.txt does not exist") and str(desk.root) not in outcome.reason


@POSIX
def test_a_listing_names_every_kind_of_entry_in_order(desk):
    (desk.root / "b").mkdir()
    (desk.root / "a.txt").write_text("abc")
    (desk.root / "c").symlink_to("a.txt")
    os.mkfifo(desk.root / "d")
    outcome = desk.run("list")
    assert json.loads(outcome.text) == {"truncated": False, "entries": [
        {"source": "docs", "path": "a.txt", "entry_type": "file", "size": 3}, {"source": "docs", "path": "b", "entry_type": "directory"},
        {"source": "docs", "path": "c", "entry_type": "symlink"}, {"source": "docs", "path": "d", "entry_type": "other"},
    ]}
    assert [row["path"] for row in outcome.rows] == ["a.txt", "b", "c", "d"]


def test_paths_of_a_listing_start_at_the_root_and_can_be_read_as_they_are(desk):
    (desk.root / "sub").mkdir()
    (desk.root / "sub" / "a.txt").write_text("a")
    (row,) = desk.run("list", path="sub").rows
    assert isinstance(desk.run("read_text", path=row["path"]), Executed)


def test_a_listing_stops_at_five_hundred_entries_or_a_quarter_of_the_budget(desk):
    for number in range(505):
        (desk.root / f"{number:04}").write_text("")
    wide = desk.run("list", inline_bytes=1_000_000)
    assert len(wide.rows) == 500 and json.loads(wide.text)["truncated"] is True
    narrow = desk.run("list", inline_bytes=8192)
    assert 0 < len(narrow.rows) < 50 and json.loads(narrow.text)["truncated"] is True
    assert len(json.dumps(narrow.rows, separators=(",", ":")).encode()) <= 2048
    for number in range(500, 505):
        (desk.root / f"{number:04}").unlink()
    assert json.loads(desk.run("list", inline_bytes=1_000_000).text)["truncated"] is False


@POSIX
def test_a_name_that_is_no_text_is_shown_and_does_not_break_the_listing(desk):
    try:
        os.close(os.open(os.fsencode(desk.root) + b"/\xff\xfe", os.O_CREAT | os.O_WRONLY))
    except OSError:
        pytest.skip("this file system takes no such name")
    (row,) = desk.run("list").rows
    assert row["entry_type"] == "other" and json.dumps(row).isascii()


def test_a_workspace_tool_without_a_source_is_refused(desk):
    with pytest.raises(Refused) as caught:
        desk.compile("list", source=None)
    assert caught.value.code == "source_free_refused"


@pytest.mark.parametrize("access", ["", "nowhere", "\0"])
def test_a_source_without_a_folder_is_refused(desk, access):
    with pytest.raises(Refused) as caught:
        desk.compile("list", source=Source("docs", "file", access))
    assert caught.value.code == "source_root_refused"


def test_a_file_that_is_not_there_is_workspace_refused(desk):
    with pytest.raises(Refused) as caught, open_file(str(desk.root), ["none.txt"]):
        pass
    assert caught.value.code == "workspace_refused" and str(desk.root) not in caught.value.teaching
