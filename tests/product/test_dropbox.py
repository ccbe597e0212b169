"""The whole job over a stick, by the built file: no network between the Worker and its gateway."""

from __future__ import annotations

import json
import os
import random
import signal
from pathlib import Path

import pytest

from tests.product.carried import AirGapped, Carrier, carry_until_done, start_agent
from tests.product.kept_home import end, running_home, wait

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the tests' own processes")


def test_the_verified_calculation_is_done_over_a_stick_that_loses_tears_and_repeats(product, tmp_path: Path) -> None:
    near = tmp_path / "near-stick"
    near.mkdir()
    with running_home(product, tmp_path, worker=False, words=("--dropbox", str(near))) as home:
        air = AirGapped(product, home, tmp_path)
        worker = air.start()
        carrier = Carrier(near, air.stick, random.Random(6))
        agent = start_agent(product, home, tmp_path)
        try:
            status = carry_until_done(agent, carrier, tmp_path)
        finally:
            end(agent)
        assert status == 0, (tmp_path / "agent.log").read_text("utf-8") + air.log()
        assert air.writes() == 1 and home.writes() == 0
        assert json.loads((air.folder / "runtime" / "output.json").read_text("utf-8"))["total_cents"] == 9593
        assert end(worker) == 0
        assert "claimed" in air.log() and home.secrets("worker")["RULITH_CONNECTION_KEY"] not in air.log()


def test_a_second_worker_on_the_stick_and_single_looks_run_nothing_twice(product, tmp_path: Path) -> None:
    """Cron style: each look is a process of its own; one of them is killed while its program runs."""
    near = tmp_path / "near-stick"
    near.mkdir()
    with running_home(product, tmp_path, worker=False, words=("--dropbox", str(near))) as home:
        (tmp_path / "one").mkdir()
        (tmp_path / "two").mkdir()
        first, second = AirGapped(product, home, tmp_path / "one"), AirGapped(product, home, tmp_path / "two")
        assert first.start("--once").wait(30) == 0
        carriers = [Carrier(near, first.stick), Carrier(near, second.stick)]
        carriers[0].carry()
        home.wait_line("online")
        agent = start_agent(product, home, tmp_path)

        def look():
            for air, carrier in zip((second, first), (carriers[1], carriers[0])):
                carrier.carry()
                assert air.start("--once").wait(30) == 0, air.log()
                carrier.carry()

        try:
            status = carry_until_done(agent, carriers[0], tmp_path, look)
        finally:
            end(agent)
        assert status == 0, (tmp_path / "agent.log").read_text("utf-8")
        assert (first.writes(), second.writes()) == (1, 0)
        assert "worker_lease_held" in second.log()


def test_a_worker_killed_while_its_program_runs_leaves_the_call_to_a_person(product, tmp_path: Path) -> None:
    near = tmp_path / "near-stick"
    near.mkdir()
    with running_home(product, tmp_path, worker=False, words=("--dropbox", str(near))) as home:
        air = AirGapped(product, home, tmp_path)
        slow = air.folder / "adapters" / "read_input.py"
        slow.write_text("import os, time\nopen('started', 'w').close()\nwhile not os.path.exists('go'): time.sleep(0.05)\n" + slow.read_text("utf-8"), "utf-8")
        worker = air.start()
        agent = start_agent(product, home, tmp_path)
        carrier = Carrier(near, air.stick)
        try:
            wait(lambda: carrier.carry() or (air.folder / "started").exists(), "the program to start")
            os.kill(worker.pid, signal.SIGKILL)
            worker.wait()
            (air.folder / "started").unlink()
            (air.folder / "go").touch()
            air.start()
            assert carry_until_done(agent, carrier, tmp_path) == 11
        finally:
            end(agent)
        assert not (air.folder / "started").exists()         # nothing started it again
        assert [row["state"] for row in home.state()["operations"]].count("needs_person") == 1
