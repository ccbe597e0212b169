"""count, search and hash on real folders: exact within their limits, and saying so where a limit cut them.

Duty: the Worker hop, "Built-in Tools".
"""

import asyncio
import hashlib
import json
import os
import threading

import pytest

from rulith.adapters import beneath, workspace, workspace_walks
from rulith.adapters.hands import Hands
from rulith.adapters.outcomes import Call, Failed, Withheld
from rulith.adapters.sources import Source
from rulith.adapters.territory import Territory
from rulith.wire.manifest import BUILTINS

POSIX = pytest.mark.skipif(os.name == "nt", reason="links, pipes and modes of POSIX")


class Desk:
    def __init__(self, folder):
        self.root = folder / "docs"
        self.root.mkdir()
        self.hands = Hands(Territory(str(folder / "worker"), str(folder / "home")), {})

    def put(self, path, content=b""):
        place = self.root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content if isinstance(content, bytes) else content.encode())

    def run(self, operation, inline_bytes=65_536, **arguments):
        call = Call("inv", "key", BUILTINS[f"rulith.workspace.{operation}@1"], arguments, Source("docs", "file", str(self.root)), inline_bytes)
        return asyncio.run(self.hands.compile(call).run())

    def row(self, operation, **arguments):
        (row,) = self.run(operation, **arguments).rows
        return row

    def search(self, query, **arguments):
        return json.loads(self.run("search", query=query, **arguments).text)

    def deep(self, count):
        return "/".join(f"d{number}" for number in range(count))


@pytest.fixture
def desk(tmp_path):
    return Desk(tmp_path)


def digest_of(*lines):
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


# --- count


def test_a_count_names_files_and_folders_and_digests_their_sorted_names(desk):
    for path in ("b.txt", "a/c.txt", "a/z.txt", "Z"):
        desk.put(path)
    assert desk.row("count", recursive=True) == {
        "source": "docs", "path": "", "recursive": True, "file_count": 4, "directory_count": 1,
        "digest": digest_of("d:a", "f:Z", "f:a/c.txt", "f:a/z.txt", "f:b.txt"),
    }
    assert desk.row("count") == {
        "source": "docs", "path": "", "recursive": False, "file_count": 2, "directory_count": 1, "digest": digest_of("d:a", "f:Z", "f:b.txt"),
    }


def test_a_count_of_a_folder_names_its_files_from_that_folder(desk):
    desk.put("sub/a")
    assert desk.row("count", path="sub/") == {
        "source": "docs", "path": "sub/", "recursive": False, "file_count": 1, "directory_count": 0, "digest": digest_of("f:a"),
    }
    assert desk.row("count", path="sub", recursive=False)["recursive"] is False


def test_an_empty_folder_has_the_digest_of_nothing(desk):
    assert desk.row("count", recursive=True)["digest"] == hashlib.sha256(b"").hexdigest()


def test_names_are_sorted_as_canonical_json_sorts_keys(desk):
    desk.put("\uff01")
    desk.put("\U0001f600")
    assert desk.row("count")["digest"] == digest_of("f:\U0001f600", "f:\uff01")


@POSIX
def test_links_and_pipes_are_not_counted(desk):
    desk.put("a")
    (desk.root / "link").symlink_to("a")
    (desk.root / "up").symlink_to("..")
    os.mkfifo(desk.root / "pipe")
    row = desk.row("count", recursive=True)
    assert (row["file_count"], row["directory_count"], row["digest"]) == (1, 0, digest_of("f:a"))


def test_a_count_over_its_limit_is_refused_and_never_partial(desk, monkeypatch):
    monkeypatch.setattr(workspace_walks, "COUNTED_MAX", 5)
    for number in range(3):
        desk.put(f"a/{number}")
    desk.put("b")
    assert desk.row("count", recursive=True)["file_count"] == 4
    desk.put("c")
    outcome = desk.run("count", recursive=True)
    assert isinstance(outcome, Failed) and "more than 5 entries" in outcome.reason


def test_the_limits_are_the_contracts():
    named = ("COUNTED_MAX", "DEPTH_MAX", "QUERY_CHARS_MAX", "MATCHES_MAX", "FILES_MAX", "TEXT_CHARS_MAX")
    assert [getattr(workspace_walks, name) for name in named] == [10_000, 8, 200, 100, 500, 300]


def test_a_count_reaches_eight_names_deep_and_refuses_the_ninth(desk):
    desk.put(desk.deep(7) + "/file")
    assert desk.row("count", recursive=True)["file_count"] == 1
    desk.put(desk.deep(8) + "/file")
    outcome = desk.run("count", recursive=True)
    assert isinstance(outcome, Failed) and "more than 8 names deep" in outcome.reason
    assert desk.row("count", path="d0", recursive=True)["file_count"] == 2


# --- search


def test_each_line_that_holds_the_query_is_told_with_its_place(desk):
    desk.put("b.txt", "one\r\ntwo needle, needle\r\n\n  needle")
    desk.put("a/deep.txt", "needle")
    desk.put("c.txt", "Needle")
    outcome = desk.run("search", query="needle")
    rows = [
        {"source": "docs", "path": "b.txt", "line": 2, "column": 5, "text": "two needle, needle"},
        {"source": "docs", "path": "b.txt", "line": 4, "column": 3, "text": "  needle"},
        {"source": "docs", "path": "a/deep.txt", "line": 1, "column": 1, "text": "needle"},
    ]
    assert json.loads(outcome.text) == {"matches": rows, "truncated": False, "filesSearched": 3} and list(outcome.rows) == rows


def test_a_search_below_a_folder_tells_paths_that_can_be_read_as_they_are(desk):
    desk.put("sub/a.txt", "x")
    desk.put("b.txt", "x")
    (match,) = desk.search("x", path="./sub")["matches"]
    assert match["path"] == "sub/a.txt" and desk.row("read_text", path=match["path"])["text"] == "x"


@pytest.mark.parametrize("content", [b"needle\0", b"\xffneedle", b"needle" + b" " * 262_144])
def test_what_is_no_bounded_text_is_passed_over(desk, content):
    desk.put("a", content)
    desk.put("b", "needle")
    found = desk.search("needle")
    assert [match["path"] for match in found["matches"]] == ["b"] and found["filesSearched"] == 1 and "partial" not in found


@POSIX
def test_links_are_passed_over_wherever_they_lead(desk, tmp_path):
    (tmp_path / "secret.txt").write_text("needle")
    desk.put("real/a.txt", "needle")
    (desk.root / "out").symlink_to(tmp_path)
    (desk.root / "file").symlink_to(tmp_path / "secret.txt")
    (desk.root / "twice").symlink_to("real")
    assert [match["path"] for match in desk.search("needle")["matches"]] == ["real/a.txt"]


def test_a_hundred_matches_are_told_and_the_rest_is_owned_up_to(desk):
    desk.put("a", "x\n" * 100)
    found = desk.search("x", inline_bytes=10**6)
    assert len(found["matches"]) == 100 and found["truncated"] is False
    desk.put("b", "x")
    found = desk.search("x", inline_bytes=10**6)
    assert len(found["matches"]) == 100 and found["truncated"] is True


def test_matches_stop_at_a_quarter_of_the_budget(desk):
    desk.put("a", "x\n" * 100)
    found = desk.search("x", inline_bytes=8192)
    assert found["truncated"] is True and len(json.dumps(found["matches"], separators=(",", ":"))) <= 2048


def test_the_quarter_is_exact_to_the_byte(desk):
    for name in ("a", "b", "c"):
        desk.put(name, "x")
    rows = desk.run("list").rows
    size = len(json.dumps(rows, separators=(",", ":")))
    whole = json.loads(desk.run("list", inline_bytes=4 * size).text)
    cut = json.loads(desk.run("list", inline_bytes=4 * size - 1).text)
    assert (len(whole["entries"]), whole["truncated"], len(cut["entries"]), cut["truncated"]) == (3, False, 2, True)
    assert json.loads(desk.run("list", inline_bytes=1).text) == {"entries": [], "truncated": True}


def test_five_hundred_files_are_opened_and_more_make_it_partial(desk):
    for number in range(500):
        desk.put(f"{number:03}", "x" if number == 499 else "")
    found = desk.search("x")
    assert len(found["matches"]) == 1 and found["filesSearched"] == 500 and "partial" not in found
    desk.put("zzz", "x")
    found = desk.search("x")
    assert len(found["matches"]) == 1 and found["partial"] is True


def test_what_lies_deeper_than_eight_names_makes_it_partial(desk):
    desk.put(desk.deep(8) + "/a", "x")
    assert len(desk.search("x")["matches"]) == 1 and "partial" not in desk.search("x")
    desk.put(desk.deep(9) + "/b", "x")
    found = desk.search("x")
    assert len(found["matches"]) == 1 and found["partial"] is True


@pytest.mark.parametrize("query", ["", "x" * 201, "a\nb"])
def test_a_query_of_another_form_has_failed_and_says_why(desk, query):
    outcome = desk.run("search", query=query)
    assert isinstance(outcome, Failed) and "1 to 200 characters" in outcome.reason
    assert desk.search("x" * 200)["matches"] == []


def test_a_long_line_is_shown_around_its_match_in_three_hundred_characters(desk):
    desk.put("a", "a" * 1000 + "needle" + "b" * 1000)
    (match,) = desk.search("needle")["matches"]
    assert match["column"] == 1001 and len(match["text"]) == 300 and match["text"].index("needle") == 100


def test_no_row_reads_as_a_variable_on_a_board(desk):
    desk.put("?a", "?needle")
    (match,) = desk.search("needle")["matches"]
    assert (match["path"], match["text"]) == ("./?a", " ?needle")
    assert desk.row("list")["path"] == "./?a"


def test_a_folder_that_may_not_be_entered_makes_it_partial(desk, monkeypatch):
    desk.put("closed/a", "x")
    desk.put("open/b", "x")
    real = os.open

    def denied(name, *arguments, **settings):
        if name == "closed":
            raise PermissionError(13, "no")
        return real(name, *arguments, **settings)

    monkeypatch.setattr(beneath.os, "open", denied)
    found = desk.search("x")
    assert [match["path"] for match in found["matches"]] == ["open/b"] and found["partial"] is True
    assert "closed" in desk.run("count", recursive=True).reason, "a count is never partial"


@pytest.mark.parametrize("limit, value", [("FOLDERS_MAX", 3), ("NAMES_MAX", 2)])
def test_a_search_enters_so_many_folders_and_looks_at_so_many_names(desk, monkeypatch, limit, value):
    monkeypatch.setattr(workspace_walks, limit, value)
    for number in range(5):
        desk.put(f"d{number}/a", "x")
    found = desk.search("x")
    assert 0 < len(found["matches"]) < 5 if limit == "FOLDERS_MAX" else found["matches"] == []
    assert found["partial"] is True


def test_a_disk_that_does_not_answer_is_not_waited_for(desk, monkeypatch):
    """Read: failed. Write: unknown, for it may yet be written."""
    answers = threading.Event()
    monkeypatch.setattr(workspace, "LOOK_TIMEOUT_S", 0.05)
    monkeypatch.setattr(workspace, "_OPERATIONS", {name: lambda place: answers.wait(20) for name in workspace.BUILT})
    source = Source("docs", "file", str(desk.root))

    async def both():
        told = []
        for operation, arguments in (("read_text", {"path": "a"}), ("write_text", {"path": "a", "text": "x"})):
            told.append(await desk.hands.compile(Call("inv", "key", BUILTINS[f"rulith.workspace.{operation}@1"], arguments, source)).run())
        answers.set()
        return told

    read, written = asyncio.run(both())
    assert isinstance(read, Failed) and "not answered" in read.reason and written == Withheld("workspace_disk_unanswered")


# --- hash


@pytest.mark.parametrize("content", [b"", b"\0\xff", b"x" * 3_000_000])
def test_a_hash_is_of_the_bytes_whatever_they_are(desk, content):
    desk.put("a.bin", content)
    assert desk.row("hash", path="a.bin") == {"source": "docs", "path": "a.bin", "sha256": hashlib.sha256(content).hexdigest(), "size": len(content)}


def test_sixteen_mebibytes_are_hashed_and_one_byte_more_is_refused(desk):
    for extra in (0, 1):
        with open(desk.root / "a.bin", "wb") as file:
            file.truncate(16 * 2**20 + extra)
        outcome = desk.run("hash", path="a.bin")
        assert isinstance(outcome, Failed) == bool(extra)
    assert "larger than 16777216" in outcome.reason


def test_a_row_repeats_the_path_as_the_call_gave_it(desk):
    """The Board takes a column named like an argument only as it was asked."""
    desk.put("sub/a.json", "{}")
    for operation in ("read_text", "read_json", "hash"):
        assert desk.row(operation, path="./sub//a.json")["path"] == "./sub//a.json"
    assert [row["path"] for row in desk.run("list", path="./sub/").rows] == ["sub/a.json"]
