"""What a command under a warden may leave in the log of whoever started it. Duty: our decision that nobody's program fills a disk."""

from __future__ import annotations

import asyncio
import os
import sys

from rulith.procs.warden import run_warded

STORY_S = 60.0
CHATTY = "import sys\nfor _ in range(100):\n    print('o' * 1000)\nprint('e' * 1000, file=sys.stderr)\nsys.exit(7)"


def over(code: str, output_bytes_max: int | None):
    return asyncio.run(asyncio.wait_for(run_warded("watch", [sys.executable, "-c", code], env=dict(os.environ), timeout_s=STORY_S, output_bytes_max=output_bytes_max), STORY_S))


def test_only_the_beginning_of_what_a_command_prints_is_kept_and_the_command_goes_on(capfd):
    assert over(CHATTY, 5_000).status == 7
    said = capfd.readouterr()
    assert said.out == "" and said.err.count("o") >= 4_900 and len(said.err) < 5_200 and "not kept" in said.err
    assert over("print('short')", 5_000).status == 0
    said = capfd.readouterr()
    assert said.out == "" and said.err.strip() == "short"


def test_without_a_bound_it_writes_where_we_write(capfd):
    assert over(CHATTY, None).status == 7
    said = capfd.readouterr()
    assert said.out.count("o") == 100_000 and said.err.count("e") == 1_000
