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

PASSED_MAX = 12                  # the state is kept at every look; the calls are over by then
AT_ONCE = 4                      # a trial mostly waits for the next look


@dataclass
class Kills:
    steps: int = 0               # trials: a place in the code, and which time it is passed
    hits: int = 0
    not_reached: int = 0
    places: Counter = field(default_factory=Counter)      # by what the Worker was about to do, or had done
    ends: Counter = field(default_factory=Counter)
    failures: list[dict] = field(default_factory=list)


@dataclass
class BoxTrial:
    """`name` and `nth` say where the Worker was to die; `passed` how often each place was passed."""

    name: str
    nth: int
    status: int
    passed: Counter
    hit: bool
    writes: int

    def problems(self) -> list[str]:
        found = [] if self.writes <= 1 else [f"{self.writes} writes took place"]
        if self.status not in (0, 11):
            found.append(f"the job ended {self.status}")
        if self.status == 0 and self.writes != 1:
            found.append(f"completed with {self.writes} writes")
        if self.is_reached and self.name and not self.hit:
            found.append("nothing was killed")
        return found

    @property
    def is_reached(self) -> bool:
        """Whether the place was passed so often this time: how many looks a trip takes is up to the machine."""
        return self.passed[self.name] >= self.nth


def run_trial(product, scratch: Path, name: str = "", nth: int = 0) -> BoxTrial:
    """One job whose Worker dies where `name` is passed the `nth` time; without a name nothing is disturbed."""
    near = scratch / "near"
    near.mkdir(parents=True)
    with running_home(product, scratch, worker=False, words=("--dropbox", str(near))) as home:
        air = AirGapped(product, home, scratch)
        halt = scratch / "halt"
        halting = make_halting(product.pyz, halt)
        if name:
            (halt / "plan.json").write_text(json.dumps({"role": "worker-step", "name": name, "gap": nth, "edge": ""}), "utf-8")
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
    passed = Counter(row["name"] for row in rows if "step" in row)
    return BoxTrial(name, nth, status, passed, any("killed" in row for row in rows), air.writes())


def kill_at_each_step(product, scratch: Path) -> Kills:
    quiet = run_trial(product, scratch / "quiet")
    plans = [(name, nth) for name, count in sorted(quiet.passed.items()) for nth in range(1, min(count, PASSED_MAX) + 1)]
    found = Kills(steps=len(plans))
    found.failures += [{"step": "undisturbed", "problem": problem} for problem in quiet.problems()]

    def trial(plan: tuple[str, int]) -> BoxTrial:
        folder = scratch / f"{plan[0].replace(' ', '-')}-{plan[1]}"
        done = run_trial(product, folder, *plan)
        if not done.problems():
            shutil.rmtree(folder, ignore_errors=True)
        return done

    with ThreadPoolExecutor(AT_ONCE) as pool:
        for done in pool.map(trial, plans):
            found.hits += done.hit
            found.not_reached += not done.is_reached
            if done.hit:
                found.places[done.name] += 1
            found.ends["completed" if done.status == 0 else "needs a person" if done.status == 11 else "other"] += 1
            found.failures += [{"step": f"{done.name} {done.nth}", "problem": problem} for problem in done.problems()]
    return found
