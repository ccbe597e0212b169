"""count, list, search and hash against a plain walk of the same generated folder: another way to the same answer."""

import hashlib
import os
import random

import pytest

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
