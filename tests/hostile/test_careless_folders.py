"""The demo in folders nobody prepared for it: odd names, odd files, two at once, nowhere to print."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from rulith.base.errors import Refused
from rulith.commands.demo import file_name
from rulith.disk.example import read_order
from rulith.disk.home import Home
from tests.conftest import Run

DEMO = ("demo", "verified-calculation")
posix = pytest.mark.skipif(os.name != "posix", reason="POSIX files")
linux = pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")


def said(run) -> str:
    assert "Traceback" not in run.out + run.err, run
    return run.out + run.err


def refusal_of(path: Path, raw: bytes) -> str:
    path.write_bytes(raw)
    with pytest.raises(Refused) as refusal:
        read_order(path)
    assert refusal.value.code == "order_refused"
    return str(refusal.value)


def test_different_jobs_never_share_a_proof_file() -> None:
    names = [file_name(job) for job in ("a/b", "a_b", "a b", "..", "_", ".a", "a", "😀", "😁", "CON", "con.x", "漢" * 100, "漢" * 99)]
    assert len(set(names)) == len(names)
    assert file_name("calc-001") == "calc-001" and file_name("مرحبا") == "مرحبا"
    for name in names:
        assert len(os.fsencode(name + ".json.0123456789abcdef.tmp")) <= 255
        assert not name.startswith(".") and "/" not in name and name.upper() != "CON"


def test_an_order_saved_with_a_byte_order_mark_is_read(tmp_path: Path) -> None:
    order = {"job_id": "a", "unit_price_cents": 1, "quantity": 2, "shipping_cents": 3}
    (tmp_path / "input.json").write_bytes(b"\xef\xbb\xbf" + json.dumps(order).encode())
    assert read_order(tmp_path / "input.json") == order


@posix
@pytest.mark.timeout(10)
def test_an_order_that_is_a_pipe_is_refused_and_never_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "input.json")
    with pytest.raises(Refused, match="input.json cannot be read"):
        read_order(tmp_path / "input.json")


@pytest.mark.parametrize(("raw", "words"), [
    (b"[" * 60_000, "nested too deeply"), (b'{"job_id":' + b"9" * 5000 + b"}", "too many digits"),
    (b'{"job_id":"\xe9"}', "belongs to no letter"), (b"{", "line 1 column 2"),
])
def test_a_broken_order_is_refused_in_the_words_of_its_writer(tmp_path: Path, raw: bytes, words: str) -> None:
    told = refusal_of(tmp_path / "input.json", raw)
    assert words in told and "sys." not in told and "recursion" not in told


def test_a_job_id_with_invisible_letters_is_shown_with_them(tmp_path: Path) -> None:
    order = {"job_id": "a\u202eb", "unit_price_cents": 1, "quantity": 2, "shipping_cents": 3}
    assert "a\\u202eb" in refusal_of(tmp_path / "input.json", json.dumps(order).encode())


@posix
def test_a_home_whose_name_is_not_utf8_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    place = Path(os.fsdecode(os.fsencode(tmp_path) + b"/a\xffb"))
    with pytest.raises(Refused, match="not UTF-8"):
        Home(place / ".rulith").prepare()
    assert list(tmp_path.iterdir()) == []


def test_an_empty_folder_name_is_a_usage_error(product, tmp_path: Path) -> None:
    run = product.run(*DEMO, "", cwd=tmp_path)
    assert run.status == 2 and "empty folder name" in said(run) and list(tmp_path.iterdir()) == []


@linux
def test_a_full_device_under_stdout_is_one_sentence(product, tmp_path: Path) -> None:
    for words in ((*DEMO, "job"), ("version",), ("--help",)):
        with open("/dev/full", "w") as full:
            done = subprocess.run(product.command(*words), cwd=tmp_path, stdin=subprocess.DEVNULL, stdout=full,
                                  stderr=subprocess.PIPE, text=True, timeout=60, env={"PATH": os.environ["PATH"]})
        assert done.returncode == 1 and "No space left" in done.stderr, done
        assert "Traceback" not in done.stderr and "Exception ignored" not in done.stderr, done.stderr


def test_a_file_where_the_proof_folder_belongs_is_named(product, order, tmp_path: Path) -> None:
    order(tmp_path / "job")
    (tmp_path / "job" / "proof").write_text("mine")
    run = product.run(*DEMO, "job", cwd=tmp_path)
    assert run.status == 1 and str(tmp_path / "job" / "proof") in said(run), run


def test_two_demos_in_one_folder_take_turns_and_both_end_well(product, output, tmp_path: Path) -> None:
    """The first to end ends the gateway it started; the others must not be left without one."""
    runs = [product.start(*DEMO, "job", cwd=tmp_path) for _ in range(3)]
    told = [run.communicate(timeout=110)[0] for run in runs]
    assert [run.returncode for run in runs] == [0, 0, 0], "\n\n".join(told)
    assert sum("write_output" in text.split("Why:")[0] for text in told) == 1
    assert output(tmp_path / "job")["total_cents"] == 9593


def test_the_overview_says_which_verbs_this_release_lacks(product, tmp_path: Path) -> None:
    run = product.run("--help", cwd=tmp_path)
    built, _, later = run.out.partition("Not part of this release")
    for line in built.splitlines() + later.splitlines()[1:]:
        verb = line.split()[0] if line.startswith("  ") and not line.startswith("  rulith") else None
        if verb in ("board", "council", "watch", "bridge", "capability", "constitution", "explain", "verify", "doctor"):
            told = product.run(verb, "x", cwd=tmp_path)
            assert ("is not part of this release" in told.err) == (line in later), told


@posix
def test_a_python_that_does_not_know_its_own_path_is_named(product, tmp_path: Path) -> None:
    """Started under a name that no PATH leads to: sys.executable is empty, and no role could be started."""
    for words, status in ((DEMO, 1), (("start", "--no-browser"), 1), (("agent", "--case-type", "verified_calculation", "work"), 1), (("doctor",), 1)):
        run = subprocess.run(["python-nowhere", *product.command(*words)[1:]], executable=sys.executable, cwd=tmp_path, env={"HOME": str(tmp_path)},
                             capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)
        assert run.returncode == status and "sys.executable is empty" in said(Run(run.returncode, run.stdout, run.stderr)), (words, run)
