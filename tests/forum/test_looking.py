"""Every look into a project's folder is written down where the person sees it. Duty: the council surface, "Files, git, search"."""

from __future__ import annotations

import pytest

from rulith.base.errors import Refused
from rulith.forum.files import ProjectFolder


@pytest.fixture
def seen(council):
    """The council over real folders."""
    council.forum.folder = ProjectFolder
    (council.folder / "a.py").write_text("one\ntwo\n")
    (council.folder / ".env").write_text("KEY=SECRET\n")
    return council


def log(council) -> list[tuple]:
    return [(row["name"], row["act"], row["path"], row["allowed"]) for row in reversed(council.act("file_access"))]


def test_an_agent_reads_lists_and_compares_in_its_own_project_and_all_is_logged(seen):
    ann = seen.agent("ann")
    assert seen.does(ann, "read_file", path="a.py", start_line=2) == {"path": "a.py", "start_line": 2, "end_line": 2, "total_lines": 2, "text": "two"}
    assert seen.does(ann, "list_files") == {"paths": ["a.py"], "more": False}
    for act, arguments in (("read_file", {"path": ".env"}), ("read_file", {"path": "../x"}), ("git_diff", {}), ("git_diff", {"base": "-p"}), ("git_diff", {"path": ".env"}), ("list_files", {"path": "/"})):
        with pytest.raises(Refused) as caught:
            seen.does(ann, act, **arguments)
        assert caught.value.code in ("council_path", "council_no_git")
    assert log(seen) == [("ann", "read", "a.py", True), ("ann", "list", "", True), ("ann", "read", ".env", False), ("ann", "read", "../x", False), ("ann", "diff", "", False),
                         ("ann", "diff", "", False), ("ann", "diff", ".env", False), ("ann", "list", "/", False)]


@pytest.mark.parametrize(("act", "arguments"), [("read_file", {}), ("read_file", {"path": 7}), ("read_file", {"path": "a\ud800"}), ("read_file", {"path": "a.py", "start_line": 0}),
                                                ("read_file", {"path": "a.py", "project_id": 1}), ("list_files", {"depth": 7}), ("list_files", {"depth": True}), ("git_diff", {"base": []}),
                                                ("read_file", {"path": "a\0"}), ("read_file", {"path": "x" * 5_000})])
def test_arguments_of_another_kind_are_refused(seen, act, arguments):
    with pytest.raises(Refused) as caught:
        seen.does(seen.agent("ann"), act, **arguments)
    assert caught.value.code == "council_invalid"


def test_the_person_looks_into_any_project_and_agents_have_no_such_acts(seen, tmp_path):
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "b.txt").write_text("other\n")
    other = seen.act("create_project", name="Other", folder=str(tmp_path / "other"))["id"]
    assert seen.act("file_preview", project_id=other, path="b.txt")["text"] == "other" and seen.act("list_project_files", project_id=other)["paths"] == ["b.txt"]
    assert seen.act("git_status", project_id=other) == {"is_repo": False, "branch": None, "head": None, "dirty": False}
    assert [row[1:] for row in log(seen)] == [("preview", "b.txt", True), ("list", "", True)]
    ann = seen.agent("ann")
    for act in ("file_preview", "list_project_files", "git_status"):
        with pytest.raises(Refused) as caught:
            seen.does(ann, act, project_id=other, **({"path": "b.txt"} if act == "file_preview" else {}))
        assert caught.value.code == "council_not_found"


def test_what_is_pinned_is_read_through_the_jail_and_logged(seen):
    ann = seen.agent("ann")
    thread = seen.opens(ann, body="see", include_diff=True, context=[{"kind": "file", "path": "a.py", "start_line": 1, "end_line": 1}, {"kind": "file", "path": ".env"},
                                                                     {"kind": "file", "path": "../outside"}])
    pinned = seen.act("get_thread", thread_id=thread)["context"]
    assert [row["content"] for row in pinned][0] == "one" and all(row["content"].startswith("[not pinned: ") for row in pinned[1:]) and "SECRET" not in str(pinned)
    assert [row[1:] for row in log(seen)] == [("pin", "a.py", True), ("pin", ".env", False), ("pin", "../outside", False), ("pin", "", False)]
