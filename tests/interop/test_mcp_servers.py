"""The Worker's MCP client against servers that we did not write: npm's, PyPI's, and the official SDK's in each date."""

import json
import os
import subprocess

import pytest

from rulith.adapters.outcomes import Executed, Failed
from tests.interop.peers import NPM, listening, npm, pypi, sdk_http, sdk_stdio, visit

DATES = {1: ("2025-06-18", "2025-11-25"), 2: ("2025-06-18", "2025-11-25", "2026-07-28")}
EVERY = [pytest.param(major, date, id=f"sdk{major}-{date}") for major, dates in DATES.items() for date in dates]
EVERYTHING = (("discover", {}), ("echo", {"message": "grüße"}), ("get-sum", {"a": 2, "b": 40}), ("get-structured-content", {"location": "New York"}),
              ("echo", {}), ("get-tiny-image", {}), ("no-such-tool", {}))


def check_everything(seen):
    listed, echoed, summed, structured, wrong, image, absent = seen.outcomes
    assert seen.date == "2025-11-25"
    assert {"echo", "get-sum"} <= {row["tool_name"] for row in listed.rows} and json.loads(listed.brief)["truncated"] is False
    assert echoed.text == "Echo: grüße" and summed.text == "The sum of 2 and 40 is 42."
    assert set(json.loads(structured.text)) == {"temperature", "conditions", "humidity"}
    assert isinstance(wrong, Failed) and "message" in wrong.reason
    assert "[image: image/png]" in image.text
    assert isinstance(absent, Failed) and "offers no tool" in absent.reason


def test_npms_everything_over_stdio():
    check_everything(visit(npm("server-everything"), *EVERYTHING))


@pytest.mark.timeout(180)
def test_npms_everything_over_http():
    """Event streams with ids: the server answers every POST with a stream."""
    launch = npm("server-everything")
    with listening([launch["command"], *launch["args"], "streamableHttp"], PORT="{port}") as url:
        check_everything(visit({"type": "mcp", "transport": "streamable-http", "url": url}, *EVERYTHING))


def test_npms_filesystem_keeps_to_its_folder(tmp_path):
    shelf = tmp_path / "shelf"
    shelf.mkdir()
    (shelf / "note.txt").write_text("seven units\n")
    seen = visit(npm("server-filesystem", str(shelf)), ("read_text_file", {"path": str(shelf / "note.txt")}),
                 ("write_file", {"path": str(shelf / "out.txt"), "content": "done"}), ("read_text_file", {"path": "/etc/passwd"}))
    read, wrote, refused = seen.outcomes
    assert json.loads(read.text) == {"content": "seven units\n"} and isinstance(wrote, Executed)
    assert (shelf / "out.txt").read_text() == "done"
    assert isinstance(refused, Failed) and "outside allowed directories" in refused.reason


def test_pypis_time_server():
    seen = visit(pypi("time"), ("discover", {}), ("convert_time", {"source_timezone": "Europe/Berlin", "time": "12:00", "target_timezone": "Asia/Tokyo"}),
                 ("convert_time", {"source_timezone": "Nowhere/Land", "time": "12:00", "target_timezone": "Asia/Tokyo"}))
    listed, converted, refused = seen.outcomes
    assert {row["tool_name"] for row in listed.rows} == {"get_current_time", "convert_time"}
    assert json.loads(converted.text)["target"]["timezone"] == "Asia/Tokyo" and isinstance(refused, Failed)


def test_pypis_git_server(tmp_path):
    repository = tmp_path / "repository"
    subprocess.run(["git", "init", "-q", str(repository)], check=True)
    (repository / "order.txt").write_text("7")
    seen = visit(pypi("git", "--repository", str(repository)), ("git_status", {"repo_path": str(repository)}),
                 ("git_add", {"repo_path": str(repository), "files": ["order.txt"]}), ("git_status", {"repo_path": str(tmp_path)}))
    untracked, added, refused = seen.outcomes
    assert "order.txt" in untracked.text and isinstance(added, Executed) and isinstance(refused, Failed)
    staged = subprocess.run(["git", "-C", str(repository), "diff", "--cached", "--name-only"], capture_output=True, text=True, check=True)
    assert staged.stdout.strip() == "order.txt"


CALLS = (("discover", {}), ("stock", {"sku": "a-1"}), ("take", {"sku": "a-1"}), ("stock", {"sku": "a-1"}), ("broken", {"sku": "x"}), ("stock", {}))


def check_sdk(seen, date):
    listed, first, taken, after, broken, wrong = seen.outcomes
    assert seen.date == date and {row["tool_name"] for row in listed.rows} == {"stock", "take", "broken"}
    before, took, left = (json.loads(each.text)["rows"][0] for each in (first, taken, after))
    assert before["units"] - left["units"] == 1 and took == {"sku": "a-1", "taken": 7 - left["units"]}
    assert isinstance(broken, Failed) and isinstance(wrong, Failed)


@pytest.mark.parametrize(("major", "date"), EVERY)
def test_the_official_sdk_over_stdio(major, date):
    check_sdk(visit(sdk_stdio(major), *CALLS, protocol=date), date)


@pytest.mark.timeout(180)
@pytest.mark.parametrize("kind", ["json", "sse"])
@pytest.mark.parametrize("major", [1, 2])
def test_the_official_sdk_over_http(major, kind):
    with sdk_http(major, kind) as vault:
        for date in DATES[major]:
            check_sdk(visit(vault, *CALLS, protocol=date), date)


@pytest.mark.parametrize(("major", "newest"), [(1, "2025-11-25"), (2, "2026-07-28")])
def test_the_newest_date_of_both_is_found_without_being_told(major, newest):
    check_sdk(visit(sdk_stdio(major), *CALLS), newest)


def test_the_servers_are_where_ci_puts_them():
    """A green run without them would prove nothing: CI installs all of them before the tests."""
    if os.environ.get("CI"):
        assert (NPM / "@modelcontextprotocol" / "server-everything").exists() and (NPM / "@modelcontextprotocol" / "server-filesystem").exists()
        pypi("time"), pypi("git"), sdk_stdio(2)
