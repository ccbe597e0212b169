"""The archive is read by a Python that was built without bzip2, too. Duty: design §1, "Python, nothing else"."""

from __future__ import annotations

import bz2
import random
import subprocess
import sys
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

import build_pyz
from rulith.base.bunzip import decompress


@given(st.one_of(st.binary(max_size=3_000), st.text("ab", max_size=3_000).map(str.encode),
                 st.lists(st.tuples(st.binary(min_size=1, max_size=2), st.integers(1, 700)), max_size=20).map(lambda runs: b"".join(part * n for part, n in runs))),
       st.integers(1, 9))
def test_what_bzip2_wrote_is_read_back(content: bytes, level: int) -> None:
    assert decompress(bz2.compress(content, level)) == content


@pytest.mark.parametrize("size", [99_979, 99_980, 99_981, 100_000, 250_000])
def test_runs_at_the_end_of_a_block_stay_in_it(size: int) -> None:
    for content in (b"a" * (size * 60), random.Random(size).randbytes(size) + b"aaaaaaa"):
        assert decompress(bz2.compress(content, 1)) == content


def test_a_cut_or_changed_stream_is_no_content() -> None:
    whole = bz2.compress(random.Random(3).randbytes(2_000))
    for bad in (b"", b"BZ", b"BZh9", whole[:-8], whole[:60], b"BZh9" + bytes(40), whole[:4] + whole[6:]):
        with pytest.raises((ValueError, IndexError)):
            decompress(bad)


def test_a_python_without_bzip2_starts_the_same_file(pyz) -> None:
    code = ("import runpy, sys\nsys.modules['_bz2'] = None\nsys.argv = sys.argv[1:]\nsys.path.insert(0, sys.argv[0])\n"
            "runpy.run_path(sys.argv[0], run_name='loaded')\nimport rulith.rules.engine, rulith.wire.contract, keyring.backend\n"
            "assert sys.modules['_bz2'] is None\nprint(len(rulith.wire.contract.mcp_contract().tools))\n")
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code, str(pyz)], capture_output=True, text=True, timeout=120)
    assert done.stdout == "6\n", done.stderr


def test_only_what_may_be_slow_is_a_bzip2_stream(pyz) -> None:
    with zipfile.ZipFile(pyz) as archive:
        streams = {name.removeprefix("packed/") for name in archive.namelist() if build_pyz.is_stream(name, archive.read(name))}
    assert {"law", "roles", "wire"} <= streams and not streams & {*build_pyz.QUICK, "index"}
