"""The example programs, run as the Worker runs them; one of them calls a compiled program without a shell."""

import asyncio
import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile

import pytest

from rulith.adapters.outcomes import Call, Failed
from rulith.adapters.run import compile_program
from rulith.adapters.sources import Source
from rulith.adapters.territory import Territory
from rulith.wire.manifest import read_manifest
from tests.conftest import ROOT

EXAMPLE = ROOT / "examples" / "adapters"
TAR = pytest.mark.skipif(shutil.which("tar") is None, reason="the compiled program that the example calls")


class Desk:
    def __init__(self, folder):
        self.root, self.data = folder / "root", folder / "data"
        shutil.copytree(EXAMPLE, self.root)
        self.data.mkdir()
        self.tools = read_manifest((self.root / "worker-tools.json").read_bytes())
        self.territory = Territory(str(self.root), str(folder / "home"))

    def run(self, tool, key="rulith-execution/1:a", **arguments):
        tool = self.tools[tool]
        source = Source("data", "file", str(self.data)) if tool.source_types else None
        return asyncio.run(compile_program(Call("inv", key, tool, arguments, source), self.territory, os.environ).run())

    def row(self, tool, **arguments):
        (row,) = json.loads(self.run(tool, **arguments).text)["rows"]
        (returned,) = self.tools[tool].returns
        assert set(row) == {column[1:] for column in returned["args"].values()}, "the row holds what the Manifest promises"
        return row

    def archive(self, name, count):
        with tarfile.open(self.data / name, "w") as archive:
            for number in range(count):
                archive.addfile(tarfile.TarInfo(f"-name {number}; $(touch pwned)\n"), io.BytesIO())
        return hashlib.sha256((self.data / name).read_bytes()).hexdigest()


@pytest.fixture
def desk(tmp_path):
    return Desk(tmp_path)


@TAR
def test_a_compiled_program_counts_an_archive(desk):
    digest = desk.archive("backup.tar", 0)
    assert desk.row("acme.archive.check@1", archive="backup.tar") == {"archive": "backup.tar", "entries": 0, "sha256": digest}
    with tarfile.open(desk.data / "two.tar", "w") as archive:
        archive.add(EXAMPLE / "README.md", "a")
        archive.add(EXAMPLE / "README.md", "b")
    assert desk.row("acme.archive.check@1", archive="two.tar")["entries"] == 2


@TAR
@pytest.mark.parametrize("name", ["../x.tar", "/etc/passwd", "--checkpoint-action=exec=touch pwned", "-", "none.tar", "a b", "$(touch pwned)", "host:file", "", "a\nb"])
def test_no_name_is_a_command_an_option_or_a_way_out(desk, name):
    desk.archive("backup.tar", 1)
    outcome = desk.run("acme.archive.check@1", archive=name)
    assert isinstance(outcome, Failed) and outcome.reason.startswith("archive:")
    assert not list(desk.root.rglob("pwned")) and not list(desk.data.rglob("pwned"))


@TAR
def test_what_tar_cannot_read_has_failed(desk):
    (desk.data / "broken.tar").write_bytes(b"not an archive" * 1000)
    assert "cannot read it" in desk.run("acme.archive.check@1", archive="broken.tar").reason


def test_an_entry_is_appended_once_for_each_call(desk):
    first = desk.row("acme.journal.append@1", entry="one")
    assert first == {"entry": "one", "line": 1} == desk.row("acme.journal.append@1", entry="one"), "the same call made again finds its line"
    assert desk.row("acme.journal.append@1", key="rulith-execution/1:b", entry="one") == {"entry": "one", "line": 2}
    assert [json.loads(line)["key"] for line in (desk.data / "journal.jsonl").read_text().splitlines()] == ["rulith-execution/1:a", "rulith-execution/1:b"]


@pytest.mark.parametrize("content", ['{"key": "x"', "not json\n", "[1]\n"])
def test_a_journal_that_was_cut_short_is_not_written_to(desk, content):
    (desk.data / "journal.jsonl").write_text(content)
    assert isinstance(desk.run("acme.journal.append@1", entry="one"), Failed)
    assert (desk.data / "journal.jsonl").read_text() == content


def test_a_tool_without_a_source_tells_of_its_machine(desk):
    row = desk.row("acme.machine.room@1")
    assert 0 < row["free_bytes"] <= row["total_bytes"]


@TAR
@pytest.mark.skipif(os.name == "nt", reason="the README's shell is POSIX's")
def test_the_readmes_own_command_works(desk):
    commands = (EXAMPLE / "README.md").read_text("utf-8").split("```")[1].replace("python3", sys.executable)
    done = subprocess.run(["sh", "-ec", commands], cwd=desk.root, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and json.loads(done.stdout)["rows"][0]["entries"] == 1, done
