"""The example's program attests what a record's front matter says, and nothing that merely stands in a file. Duty: the council surface, "Fit with the Board", 3; issue "The Council", done when 5."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from rulith.base.canonical import sha256_hex
from rulith.forum.files import ProjectFolder
from tests.conftest import ROOT

PROGRAM = ROOT / "examples" / "council" / "adapters" / "read_record.py"
GOOD = '---\nthread: 7\ntitle: "x"\nstatus: RESOLVED\nresolved_by: "you"\nresolved_by_kind: person\nverdicts: [{"by": "sam", "kind": "agent", "verdict": "CLEARED"}]\n---\n\n# x\n'


def read(folder, thread_id: object = 7) -> tuple[int, object, str]:
    """(exit status, what it printed, what it said)."""
    ended = subprocess.run([sys.executable, "-I", str(PROGRAM), json.dumps({"thread_id": thread_id})], capture_output=True, text=True, timeout=60,
                           env={"RULITH_SOURCE_ACCESS": str(folder), "RULITH_SOURCE_TYPE": "file", "SYSTEMROOT": "C:\\Windows"})
    assert "Traceback" not in ended.stderr
    return ended.returncode, json.loads(ended.stdout) if ended.returncode == 0 else None, ended.stderr


def test_what_the_council_wrote_is_read_verdict_by_verdict(council):
    council.forum._folder = ProjectFolder
    ann, bob = council.agent("ann"), council.agent("bob \"q\" <b>")
    thread = council.opens(ann, body="@bob @you")
    council.act("reply", thread_id=thread, body="I say", verdict="UNCERTAIN")
    council.act("edit_message", message_id=1, body="I say", verdict="CONFIRMED")
    council.act("reply", thread_id=council.opens(ann, body="@you"), body="elsewhere", verdict="CLEARED")
    council.forum.db.put("thread_mention", thread_id=thread, agent_id=bob.agent_id)
    council.does(bob, "reply", thread_id=thread, body="---\nresolved_by: \"eve\"\n---\n", verdict="CLEARED")
    ended = council.act("resolve_thread", thread_id=thread, summary="---\nstatus: WONTFIX\n---")
    status, told, _ = read(council.folder / ".rivendell" / "threads", thread)
    row = {"thread_id": thread, "resolved_by": "you", "resolved_by_kind": "person", "record_digest": ended["record_digest"]}
    assert status == 0 and told["rows"] == [{**row, "verdict_by": "you", "verdict_by_kind": "person", "verdict": "CONFIRMED"},
                                            {**row, "verdict_by": "bob \"q\" <b>", "verdict_by_kind": "agent", "verdict": "CLEARED"}]


def test_a_record_without_a_verdict_is_one_row_of_empty_texts(tmp_path):
    text = GOOD.replace("verdicts: ", "more: ")
    (tmp_path / "0007-x.md").write_text(text, "utf-8")
    status, told, _ = read(tmp_path)
    assert status == 0 and told["rows"] == [{"thread_id": 7, "resolved_by": "you", "resolved_by_kind": "person", "record_digest": "sha256:" + sha256_hex(text.encode()), "verdict_by": "", "verdict_by_kind": "", "verdict": ""}]


@pytest.mark.parametrize("text", ["", "# x\n" + GOOD, "\n" + GOOD, GOOD.replace("thread: 7", "thread: 8"), GOOD.replace("RESOLVED", "OPEN"), GOOD.replace("RESOLVED", "WONTFIX"), GOOD.replace("---\n\n", "\n"), GOOD.replace('title: "x"', "title"),
                                  GOOD.replace('"you"', '"you'), GOOD.replace("status:", "thread: 7\nstatus:"), GOOD.replace("resolved_by: ", "resolved-by: "), GOOD.replace('"by": "sam", ', ""), GOOD.replace("[{", "[" * 5_000 + "[{"),
                                  GOOD.replace('[{"by"', '["x", {"by"')])
def test_a_file_that_is_no_record_of_a_resolved_thread_attests_nothing(tmp_path, text):
    (tmp_path / "0007-x.md").write_text(text, "utf-8")
    status, _, said = read(tmp_path)
    assert status == 1 and said.strip()


def test_bytes_that_are_no_text_two_records_a_link_or_none_attest_nothing(tmp_path):
    assert read(tmp_path)[0] == 1 and "was not resolved" in read(tmp_path)[2]
    place = tmp_path / "0007-x.md"
    place.write_bytes(GOOD.encode() + b"\xff\xfe")
    assert read(tmp_path)[0] == 1
    place.write_text(GOOD, "utf-8")
    (tmp_path / "0007-y.md").write_text(GOOD, "utf-8")
    assert read(tmp_path)[0] == 1 and "several records" in read(tmp_path)[2]
    (tmp_path / "0007-y.md").unlink()
    assert read(tmp_path)[0] == 0
    if sys.platform != "win32":
        place.rename(tmp_path / "other.md")
        place.symlink_to("other.md")
        assert read(tmp_path)[0] == 1


@pytest.mark.parametrize("thread_id", ["7", 0, -7, 7.0, True, None, 2**53, [7], "../7"])
def test_what_is_no_number_of_a_thread_is_refused(tmp_path, thread_id):
    (tmp_path / "0007-x.md").write_text(GOOD, "utf-8")
    assert read(tmp_path, thread_id)[0] == 1
