"""The jail of a project's folder: what may hold a secret, or lies outside, is never read. Duty: the council surface, "Files, git, search"."""

from __future__ import annotations

import os
import sys

import pytest

from rulith.base.errors import Refused
from rulith.forum import files
from rulith.forum.files import EXTENSIONS, FOLDERS, NAMES, READ_BYTES_MAX, ProjectFolder
from tests.conftest import ROOT

links = pytest.mark.skipif(sys.platform == "win32", reason="links need a right there")


@pytest.fixture
def place(tmp_path):
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.txt").write_text("outside")
    (tmp_path / "project").mkdir()
    (tmp_path / "project-b").mkdir()
    (tmp_path / "project-b" / "near.txt").write_text("near")
    root = tmp_path / "project"
    (root / "src").mkdir()
    (root / "src" / "a.py").write_text("one\ntwo\nthree\n")
    return root


def refused(folder: ProjectFolder, path: str) -> str:
    with pytest.raises(Refused) as caught:
        folder.read(path)
    assert "outside\n" not in str(caught.value)
    return caught.value.code


def put(root, path: str, content: str = "SECRET") -> None:
    place = root / path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(content)


@pytest.mark.parametrize("path", [f"{folder}/x.txt" for folder in FOLDERS] + [f"deep/{folder.upper()}/in/x.txt" for folder in FOLDERS]
                         + list(NAMES) + [f"a/{name.upper()}" for name in NAMES] + [f"a/b.{each}" for each in EXTENSIONS] + [f"c.{each.upper()}" for each in EXTENSIONS]
                         + [".env", ".env.local", ".ENVRC", "a/.Env.production", ".key"])
def test_every_refused_name_is_refused_in_any_case_and_left_out_of_lists(place, path):
    put(place, path)
    folder = ProjectFolder(str(place))
    assert refused(folder, path) == "council_path"
    told, more = folder.list("", 6)
    assert path not in told and not more and not any(part.rstrip("/").casefold() in {each.casefold() for each in FOLDERS} for row in told for part in row.split("/"))


@pytest.mark.parametrize("path", [".git", "GIT~1/config", ".git./config", ".git /config", ".g\u200cit/config", ".env ", ".env.", ".env::$DATA", "id_rsa:x",
                                  "\uff0eenv", "a.pem.", "b.\uff4bey"])
def test_a_name_that_some_disk_takes_for_a_refused_one_is_refused(place, path):
    assert refused(ProjectFolder(str(place)), f"x/../{path}" if path.endswith(" ") else path) == "council_path"


@pytest.mark.parametrize("name", ["environment.py", "keys.py", "key", "gpg", "credentials.py", "build.py", "targets", "my.envoy", "rebuild", "a:b.txt", "dist.txt"])
def test_names_that_are_only_alike_are_read(place, name):
    if sys.platform == "win32" and ":" in name:
        pytest.skip("no name there")
    put(place, name, "read me")
    assert ProjectFolder(str(place)).read(name).text == "read me"


@pytest.mark.parametrize("path", ["../outside/secret.txt", "src/../../outside/secret.txt", "../project-b/near.txt", "..", "/", "/etc/passwd", "nowhere/../../outside/secret.txt",
                                  "src/a.py\0", "\0", "src/\0/../a.py"])
def test_what_lies_outside_is_refused_whether_or_not_it_is_there(place, path):
    assert refused(ProjectFolder(str(place)), path) == "council_path"


def test_a_path_that_is_no_text_for_a_disk_or_too_long_is_refused(place):
    folder = ProjectFolder(str(place))
    assert refused(folder, "a/" * 4_000) == "council_invalid"
    assert refused(folder, "a/" * 1_500) == "council_path"
    assert refused(folder, "x" * 300) == refused(folder, "nowhere.txt") == "council_invalid"
    assert refused(folder, "\udcff\ud800") == "council_path"


def test_whole_paths_and_blanks_and_detours_lead_to_the_same_file(place):
    folder = ProjectFolder(str(place))
    for path in (str(place / "src" / "a.py"), "  src/a.py ", "./src//a.py", "src/../src/a.py"):
        assert folder.excerpt(path, 2, 2) == ("src/a.py", "two")


@links
def test_links_are_judged_by_where_they_lead_and_by_their_own_names(place):
    put(place, ".env"), put(place, "plain.txt", "plain")
    for name, target in (("out.txt", "../outside/secret.txt"), ("up", ".."), ("hidden.txt", ".env"), ("round", "round"), ("abs.txt", str(place.parent / "outside" / "secret.txt")),
                         ("x.pem", "plain.txt"), ("dist", "src"), ("ok.txt", "plain.txt"), ("way", "src")):
        (place / name).symlink_to(target)
    folder = ProjectFolder(str(place))
    for path in ("out.txt", "up/outside/secret.txt", "hidden.txt", "abs.txt", "x.pem", "dist/a.py"):
        assert refused(folder, path) == "council_path", path
    assert refused(folder, "round") in ("council_path", "council_invalid")
    assert folder.excerpt("ok.txt", None, None) == ("plain.txt", "plain")
    assert folder.excerpt("way/a.py", 1, 1) == ("src/a.py", "one")
    told, _ = folder.list("", 6)
    assert "way" in told and not any(row.startswith(("way/", "up/")) for row in told)


@links
def test_a_link_planted_after_the_judgement_is_not_followed(place, monkeypatch):
    folder = ProjectFolder(str(place))
    judged = folder.inside("src/a.py")
    (place / "src" / "a.py").unlink()
    (place / "src" / "a.py").symlink_to(place.parent / "outside" / "secret.txt")
    monkeypatch.setattr(folder, "inside", lambda path: judged)
    assert refused(folder, "src/a.py") == "council_invalid"
    os.rename(place / "src", place / "old")
    (place / "src").symlink_to("../outside")
    monkeypatch.setattr(folder, "inside", lambda path: ("src", "secret.txt"))
    assert refused(folder, "src/secret.txt") == "council_invalid"
    put(place, ".git/secret.txt")
    (place / "src").unlink()
    (place / "src").symlink_to(".git")               # one that stays inside is not followed either
    assert refused(folder, "src/secret.txt") == "council_invalid"


@links
def test_pipes_and_folders_are_no_files_and_hold_nobody_up(place):
    os.mkfifo(place / "pipe")
    folder = ProjectFolder(str(place))
    assert {refused(folder, path) for path in ("pipe", "src", "", ".", str(place))} == {"council_invalid"}
    assert "pipe" in folder.list()[0]


def test_a_file_that_is_binary_or_too_long_is_refused_and_odd_letters_are_kept_legible(place):
    folder = ProjectFolder(str(place))
    (place / "b.bin").write_bytes(b"ab\0cd")
    (place / "odd.txt").write_bytes(b"caf\xe9\r\nnext\r\n")
    (place / "full.txt").write_bytes(b"x" * READ_BYTES_MAX)
    (place / "long.txt").write_bytes(b"x" * (READ_BYTES_MAX + 1))
    assert refused(folder, "b.bin") == "council_invalid" and refused(folder, "long.txt") == "council_too_large"
    assert folder.read("odd.txt").text == "caf\ufffd\nnext" and len(folder.read("full.txt").text) == READ_BYTES_MAX


@pytest.mark.parametrize(("start", "end", "told"), [(None, None, (1, 3, "one\ntwo\nthree")), (2, None, (2, 3, "two\nthree")), (None, 1, (1, 1, "one")), (2, 99, (2, 3, "two\nthree")),
                                                    (9, 12, (3, 3, "three")), (3, 1, (3, 3, "three")), (1, 2, (1, 2, "one\ntwo"))])
def test_lines_count_from_one_and_are_clamped(place, start, end, told):
    found = ProjectFolder(str(place)).read("src/a.py", start, end)
    assert (found.start, found.end, found.text) == told and found.total == 3 and found.path == "src/a.py"


def test_an_empty_file_has_no_line(place):
    put(place, "empty", "")
    found = ProjectFolder(str(place)).read("empty", 1, 5)
    assert (found.total, found.text) == (0, "")


def test_lines_of_a_long_file_are_read_in_a_stream_and_an_answer_stays_bounded(place, monkeypatch):
    (place / "log.txt").write_text("".join(f"line {number}\n" for number in range(1, 120_001)))
    (place / "wide.txt").write_bytes(b"a\n" + b"x" * (3 * READ_BYTES_MAX) + b"\nb\n")
    folder = ProjectFolder(str(place))
    found = folder.read("log.txt", 99_999, 100_001)
    assert (found.text, found.total) == ("line 99999\nline 100000\nline 100001", 120_000)
    assert folder.read("wide.txt", 3, 3).text == "b" and folder.read("wide.txt", 1, 1).total == 3
    with pytest.raises(Refused) as caught:
        folder.read("wide.txt", 2, 2)
    assert caught.value.code == "council_too_large"
    with pytest.raises(Refused) as caught:
        folder.read("log.txt", 1, 100_000)
    assert caught.value.code == "council_too_large"
    monkeypatch.setattr(files, "SCANNED_BYTES_MAX", 1_000_000)
    with pytest.raises(Refused) as caught:
        folder.read("log.txt", 1, 2)
    assert caught.value.code == "council_too_large"


def test_lists_are_sorted_as_deep_as_asked_bounded_and_one_path_a_line(place, monkeypatch):
    put(place, "src/deep/er/x.py"), put(place, "zz.md")
    folder = ProjectFolder(str(place))
    assert folder.list("", 1) == (["src/", "zz.md"], False)
    assert folder.list() == (["src/", "src/a.py", "src/deep/", "zz.md"], False)
    assert folder.list("src", 6) == (["src/a.py", "src/deep/", "src/deep/er/", "src/deep/er/x.py"], False)
    if sys.platform != "win32":
        put(place, "src/forged\nline\x1b[31m.py")
        assert "src/forged\\nline\\x1b[31m.py" in folder.list("src")[0]
        (place / "src" / os.fsdecode(b"caf\xe9")).write_text("")
        assert all(row.encode("utf-8") for row in folder.list("src")[0])
    monkeypatch.setattr(files, "LISTED_MAX", 3)
    told, more = folder.list("", 6)
    assert len(told) == 3 and more and "src/" in told and "zz.md" in told
    for path in ("nowhere", "zz.md", "../outside"):
        with pytest.raises(Refused):
            folder.list(path)


@links
def test_a_project_that_is_itself_a_link_or_is_moved_away(place, tmp_path):
    (tmp_path / "alias").symlink_to("project")
    folder = ProjectFolder(str(tmp_path / "alias"))
    assert folder.path == str(place) and folder.read("src/a.py", 1, 1).text == "one" and folder.is_readable()
    place.rename(tmp_path / "gone")
    assert not folder.is_readable() and refused(folder, "src/a.py") == "council_invalid"
    (tmp_path / "project").symlink_to("outside")
    assert refused(folder, "secret.txt") in ("council_invalid", "council_path")
    for path in ("relative/place", "", "a\0b"):
        with pytest.raises(Refused, match="no whole path"):
            ProjectFolder(path)


# --- decision records --------------------------------------------------------------------


def test_a_record_is_written_whole_and_again_in_its_place(place):
    folder = ProjectFolder(str(place))
    assert folder.write_record("0001-a-question.md", "first\n") == ".rivendell/threads/0001-a-question.md"
    assert folder.write_record("0001-a-question.md", "sec\u00f6nd\n") == ".rivendell/threads/0001-a-question.md"
    kept = place / ".rivendell" / "threads"
    assert [each.name for each in kept.iterdir()] == ["0001-a-question.md"] and (kept / "0001-a-question.md").read_bytes() == "sec\u00f6nd\n".encode()
    assert folder.read(".rivendell/threads/0001-a-question.md").text == "sec\u00f6nd"


@pytest.mark.parametrize("name", ["../x.md", "0001-a/../../x.md", "0001-.md\0", "0001-A.md", ".env", "0001-a.md\n", "1-a.md", "0001-" + "a" * 61 + ".md", "/etc/0001-a.md"])
def test_a_record_has_the_name_of_one(place, name):
    with pytest.raises(Refused) as caught:
        ProjectFolder(str(place)).write_record(name, "x")
    assert caught.value.code == "council_invalid" and not (place / ".rivendell").exists()


@links
@pytest.mark.parametrize("link", [".rivendell", ".rivendell/threads", ".rivendell/threads/0001-a.md"])
def test_a_record_is_never_written_through_a_link(place, link):
    (place / link).parent.mkdir(parents=True, exist_ok=True)
    target = place.parent / "outside" / ("secret.txt" if link.endswith(".md") else "")
    (place / link).symlink_to(target)
    with pytest.raises(Refused):
        ProjectFolder(str(place)).write_record("0001-a.md", "x")
    assert (place.parent / "outside" / "secret.txt").read_text() == "outside" and len(list((place.parent / "outside").iterdir())) == 1


@pytest.mark.skipif(sys.platform == "win32" or not hasattr(os, "geteuid") or os.geteuid() == 0, reason="needs a user that rights hold for")
def test_a_record_that_cannot_be_written_leaves_the_old_one(place):
    folder = ProjectFolder(str(place))
    folder.write_record("0001-a.md", "old")
    (place / ".rivendell" / "threads").chmod(0o555)
    try:
        with pytest.raises(Refused):
            folder.write_record("0001-a.md", "new")
    finally:
        (place / ".rivendell" / "threads").chmod(0o755)
    assert folder.read(".rivendell/threads/0001-a.md").text == "old"


def test_a_failing_disk_leaves_the_old_record_and_no_half_one(place, monkeypatch):
    folder = ProjectFolder(str(place))
    folder.write_record("0001-a.md", "old")

    def full(handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(Refused) as caught:
        folder.write_record("0001-a.md", "new" * 1_000)
    monkeypatch.undo()
    assert "disk is full" in str(caught.value)
    assert [each.name for each in (place / ".rivendell" / "threads").iterdir()] == ["0001-a.md"] and folder.read(".rivendell/threads/0001-a.md").text == "old"


def test_this_product_itself_can_be_read_but_not_its_git():
    folder = ProjectFolder(str(ROOT))
    assert folder.read("README.md", 1, 1).start == 1
    assert refused(folder, ".git/HEAD") == "council_path"
