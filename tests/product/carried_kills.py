"""A Worker of the built file over a drop box, killed by kill -9 between every two of its durable steps.

The archive counts steps as tests/product/halting.py lets it: before each record of the journal
and each file put into the box, before and after each adapter. A trial is one home and one Worker that
dies at one step; a second one goes on where it died.
"""

from __future__ import annotations

import json
import shutil
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from tests.product.carried import AirGapped, Carrier, carry_until_done, start_agent
from tests.product.halting import log_of, make_halting
from tests.product.kept_home import end, running_home

AT_ONCE = 4                      # a trial mostly waits for the next look


@dataclass
class Kills:
    steps: int = 0
    hits: int = 0
    not_reached: int = 0
    places: Counter = field(default_factory=Counter)      # by what the Worker was about to do, or had done
    ends: Counter = field(default_factory=Counter)
    failures: list[dict] = field(default_factory=list)


@dataclass
class BoxTrial:
    step: int
    status: int
    steps: int
    hit: bool
    writes: int
    place: str

    def problems(self) -> list[str]:
        found = [] if self.writes <= 1 else [f"{self.writes} writes took place"]
        if self.status not in (0, 11):
            found.append(f"the job ended {self.status}")
        if self.status == 0 and self.writes != 1:
            found.append(f"completed with {self.writes} writes")
        if self.is_reached and self.step and not self.hit:
            found.append("nothing was killed")
        return found

    @property
    def is_reached(self) -> bool:
        """Whether the job had so many steps this time: how many looks a trip takes is up to the machine."""
        return self.steps >= self.step


def run_trial(product, scratch: Path, step: int) -> BoxTrial:
    """One job whose Worker dies at `step`; 0 disturbs nothing."""
    near = scratch / "near"
    near.mkdir(parents=True)
    with running_home(product, scratch, worker=False, words=("--dropbox", str(near))) as home:
        air = AirGapped(product, home, scratch)
        halt = scratch / "halt"
        halting = make_halting(product.pyz, halt)
        if step:
            (halt / "plan.json").write_text(json.dumps({"role": "worker-step", "gap": step, "edge": ""}), "utf-8")
        first = air.start(pyz=halting)
        later = []

        def go_on() -> None:
            if first.poll() is not None and not later:
                later.append(air.start())

        agent = start_agent(product, home, scratch)
        try:
            status = carry_until_done(agent, Carrier(near, air.stick), scratch, go_on)
        finally:
            end(agent)
        rows = log_of(halt)
    last = max((row for row in rows if "step" in row), key=lambda row: row["step"], default={"step": 0, "name": ""})
    return BoxTrial(step, status, last["step"], any("killed" in row for row in rows), air.writes(), last["name"])


def kill_at_each_step(product, scratch: Path) -> Kills:
    quiet = run_trial(product, scratch / "quiet", 0)
    found = Kills(steps=quiet.steps)
    found.failures += [{"step": 0, "problem": problem} for problem in quiet.problems()]

    def trial(step: int) -> BoxTrial:
        folder = scratch / f"step-{step}"
        done = run_trial(product, folder, step)
        if not done.problems():
            shutil.rmtree(folder, ignore_errors=True)
        return done

    with ThreadPoolExecutor(AT_ONCE) as pool:
        for done in pool.map(trial, range(1, quiet.steps + 1)):
            found.hits += done.hit
            found.not_reached += not done.is_reached
            if done.hit:
                found.places[done.place] += 1
            found.ends["completed" if done.status == 0 else "needs a person" if done.status == 11 else "other"] += 1
            found.failures += [{"step": done.step, "problem": problem} for problem in done.problems()]
    return found
