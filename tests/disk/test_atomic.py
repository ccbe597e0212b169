"""Whole files: old or new, never a piece."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest

from rulith.base.errors import Refused
from rulith.disk import atomic
from rulith.disk.atomic import make_folder, read_bounded, read_json, write_json, write_whole


def refused(code: str, call, *args) -> Refused:
    with pytest.raises(Refused) as refusal:
        call(*args)
    assert refusal.value.code == code
    return refusal.value


def test_a_file_is_replaced_whole_with_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(b"a much longer text than the new one")
    path.chmod(0o644)
    write_whole(path, b"new")
    assert path.read_bytes() == b"new" and stat.S_IMODE(path.stat().st_mode) == 0o600
    assert os.listdir(tmp_path) == ["a.json"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipe has a name there")
def test_what_is_no_file_is_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    os.mkfifo(path)
    assert "pipe" in refused("write_failed", write_whole, path, b"new").teaching
    assert stat.S_ISFIFO(path.stat().st_mode) and os.listdir(tmp_path) == ["a.json"]


@pytest.mark.parametrize("failing", ["write", "fsync", "replace"])
def test_a_full_disk_leaves_the_old_file(tmp_path: Path, monkeypatch, failing: str) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(b"old")

    def full(*_args):
        raise OSError(errno.ENOSPC, "No space left on device")

    if failing == "write":
        class Full:
            def __init__(self, file):
                self.file = file

            def __enter__(self):
                return self

            def __exit__(self, *problem):
                self.file.close()

            def write(self, content):
                full()

        real = os.fdopen
        monkeypatch.setattr(atomic.os, "fdopen", lambda handle, mode: Full(real(handle, mode)))
    else:
        monkeypatch.setattr(atomic.os, failing, full)
    refused("disk_full", write_whole, path, b"new")
    monkeypatch.undo()
    assert path.read_bytes() == b"old" and os.listdir(tmp_path) == ["a.json"]


def test_the_bytes_and_the_name_are_flushed_in_that_order(tmp_path: Path, monkeypatch) -> None:
    order = []
    real_fsync, real_replace = os.fsync, os.replace

    def fsync(handle):
        order.append("folder" if stat.S_ISDIR(os.fstat(handle).st_mode) else "file")
        real_fsync(handle)

    def replace(source, target):
        order.append("rename")
        real_replace(source, target)

    monkeypatch.setattr(atomic.os, "fsync", fsync)
    monkeypatch.setattr(atomic.os, "replace", replace)
    write_whole(tmp_path / "a", b"x")
    assert order == ["file", "rename", "folder"]


def test_a_folder_that_cannot_be_written_is_a_refusal(tmp_path: Path) -> None:
    refused("write_failed", write_whole, tmp_path / "absent" / "a", b"")
    (tmp_path / "file").write_bytes(b"")
    refused("write_failed", make_folder, tmp_path / "file" / "below")


def test_reading_is_bounded_and_wants_a_plain_file(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"12345")
    assert read_bounded(path, 5) == b"12345"
    assert refused("file_too_large", read_bounded, path, 4).facts["limit"] == 4
    refused("file_unusable", read_bounded, tmp_path, 5)
    refused("file_unusable", read_bounded, tmp_path / "absent", 5)
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        refused("file_unusable", read_bounded, tmp_path / "pipe", 5)


def test_settings_are_json_with_or_without_a_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    write_json(path, {"é": [1, None]})
    assert read_json(path) == {"é": [1, None]}
    path.write_bytes(b"\xef\xbb\xbf{}")
    assert read_json(path) == {}
    for content in (b"", b"{", b"\xff\xfe", b"[" * 100_000):
        path.write_bytes(content)
        refused("file_not_json", read_json, path)
