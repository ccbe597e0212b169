"""count, list, search and hash against a plain walk of the same generated folder: another way to the same answer."""

import hashlib
import json
import os
import random

import pytest

from rulith.adapters.outcomes import Executed, Failed
from rulith.base.errors import Refused
from tests.adapters.test_workspace_walks import Desk

NAMES = ["a", "B", "é", "z z", ".hidden", "ü.txt", "\u30d5", "\U0001f600", "10", "9", "x-y", "_"]


def grow(folder, rng, depth=0):
    for name in rng.sample(NAMES, rng.randrange(len(NAMES))):
        place = folder / name
        kind = rng.random()
        if kind < 0.3 and depth < 6:
            place.mkdir()
            grow(place, rng, depth + 1)
        elif kind < 0.4 and os.name == "posix":
            place.symlink_to(rng.choice(["..", "a", "/etc", "nowhere"]))
        else:
            place.write_bytes(rng.choice([b"", b"needle\nneedle", b"one\ntwo needle\n", b"\0needle", b"\xffneedle", "é needle".encode()]))


def plain(top):
    """(relative path, is a folder, content) of everything that is no link, sorted as canonical JSON sorts."""
    found = []
    for here, folders, files in os.walk(top):
        folders[:] = [name for name in folders if not os.path.islink(os.path.join(here, name))]
        for name in folders:
            found.append((os.path.relpath(os.path.join(here, name), top).replace(os.sep, "/"), True, b""))
        for name in files:
            path = os.path.join(here, name)
            if not os.path.islink(path):
                with open(path, "rb") as file:
                    found.append((os.path.relpath(path, top).replace(os.sep, "/"), False, file.read()))
    return found


def lines_that_hold(found, query):
    rows = set()
    for path, is_folder, content in found:
        try:
            text = content.decode()
        except UnicodeDecodeError:
            continue
        if not is_folder and "\0" not in text:
            rows |= {(path, number, line.index(query) + 1, line) for number, line in enumerate(text.split("\n"), 1) if query in line}
    return rows


@pytest.mark.parametrize("seed", range(12))
def test_a_generated_folder_is_told_as_a_plain_walk_finds_it(tmp_path, seed):
    desk = Desk(tmp_path)
    grow(desk.root, random.Random(seed))
    found = plain(desk.root)
    row = desk.row("count", recursive=True)
    lines = sorted((f"{'d' if is_folder else 'f'}:{path}" for path, is_folder, _ in found), key=lambda line: line.encode("utf-16-be"))
    assert row["digest"] == hashlib.sha256("\n".join(lines).encode()).hexdigest()
    assert (row["directory_count"], row["file_count"]) == (sum(each[1] for each in found), sum(not each[1] for each in found))
    told = desk.search("needle", inline_bytes=10**6)
    rows = {(match["path"], match["line"], match["column"], match["text"]) for match in told["matches"]}
    expected = lines_that_hold(found, "needle")
    assert rows == expected if not told["truncated"] else rows < expected
    assert not told.get("partial")
    assert {each["path"] for each in desk.run("list").rows} == set(os.listdir(desk.root))
    for path, is_folder, content in found[:10]:
        if not is_folder:
            assert desk.row("hash", path=path)["sha256"] == hashlib.sha256(content).hexdigest()


ODD = [b"\n", b"a\tb", b"\xff\xfe", b"con", b"..a", b"x" * 255, b"a:b", b" ", b"\xe2\x80\xae", b"?v", b"*", "e\u0301".encode(), b"a\\b", b"-rf", b"'\"", b"\xed\xa0\x80"]


@pytest.mark.skipif(os.name == "nt", reason="names that only POSIX takes")
def test_a_folder_of_odd_names_breaks_no_tool(tmp_path):
    """Each is told as text, or owned up to; what can be asked for is read, what cannot is refused before a claim."""
    desk = Desk(tmp_path)
    for number, name in enumerate(ODD):
        place = os.path.join(os.fsencode(desk.root), name)
        if number % 3:
            with open(place, "wb") as file:
                file.write(b"needle " + name)
        else:
            os.mkdir(place)
            with open(os.path.join(place, name), "wb") as file:
                file.write(b"needle")
    listed = desk.run("list", inline_bytes=10**6)
    assert len(listed.rows) == len(ODD) and listed.text.encode("utf-8")
    found = desk.run("search", query="needle", inline_bytes=10**6)
    assert found.text.encode("utf-8") and json.loads(found.text)["matches"]
    counted = desk.run("count", recursive=True)
    assert isinstance(counted, Failed) and "not Unicode text" in counted.reason and counted.reason.encode("utf-8")
    read = 0
    for row in listed.rows:
        if row["entry_type"] == "file":
            try:
                read += isinstance(desk.run("read_text", path=row["path"]), Executed)
            except Refused as refused:
                assert refused.code == "path_refused" and refused.teaching.encode("utf-8")
    assert read >= 2
