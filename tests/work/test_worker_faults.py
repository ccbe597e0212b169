"""The core under a link that drops, delays, repeats and lies, with a clock that jumps. Every seed is printed when it fails.

Duties: a call runs at most once; a claim leaves only under a live lease; a receipt is sent only
byte for byte and only for a call that ran; every stop ends.
"""

import json
import random

import pytest

from rulith.adapters.outcomes import Executed, Failed, Withheld
from rulith.adapters.sources import Sources
from rulith.base.clock import ManualClock, stamp
from rulith.base.json_text import compact_json
from rulith.wire.digests import request_digest_of_row
from rulith.wire.grant import expected_grant, sign_grant
from rulith.wire.lease import Moment
from rulith.wire.manifest import read_manifest
from rulith.work.core import Worker
from rulith.work.replies import Accepted, Denied, Rejected, Silent
from rulith.work.signals import (
    Abandon,
    Began,
    ClaimCame,
    Exit,
    FetchSources,
    Kill,
    ParentGone,
    Phase,
    PollCame,
    ReleaseCame,
    RenewCame,
    ReportCame,
    Run,
    RunEnded,
    Send,
    SourcesCame,
    StopAsked,
)

ME, CONNECTION, KEY = "wkr_faults_1", "conn_1", "rlt_key_faults"
TOOLS = read_manifest(json.dumps({"format": "rulith-worker-tools/1", "tools": {
    "test.do@1": {"adapter": "run", "sourceTypes": [], "entry": "do.py", "kind": "write", "params": {}},
}}))
TOOL = TOOLS["test.do@1"]
POLICY = {"inlineBytes": 400, "readBytes": 1, "objectBytes": 1, "totalBytes": 1, "temporaryRetentionMs": 1}
CODES = ["worker_lease_held", "worker_lease_lost", "worker_lease_expired", "worker_fenced", "ingest_rejected", "already_claimed", "not_claimer"]


class World:
    """A gateway with a fence and a book of calls, behind a bad link."""

    def __init__(self, seed):
        self.dice = random.Random(seed)
        self.clock = ManualClock()
        self.core = Worker(worker_id=ME, connection_id=CONNECTION, key=KEY, tools=TOOLS, advertised=[TOOL.descriptor()],
                           sources=Sources({}), compile=lambda call: call)
        self.generation = 0
        self.calls = 0
        self.flying = {}             # answer type -> deed
        self.running = None
        self.ran, self.claimed, self.reports = [], set(), {}
        self.exit = None
        self.stopping = False

    def now(self):
        return Moment(self.clock.monotonic_s(), self.clock.wall_s())

    def play(self, steps):
        self.carry(self.core.receive(Began(), self.now()))
        for _ in range(steps):
            if self.exit is not None:
                return
            self.turn()
        self.stopping = True
        self.carry(self.core.receive(StopAsked(), self.now()))
        for _ in range(400):
            if self.exit is not None:
                return
            self.turn()
        raise AssertionError(f"a stop never ended; it was {self.core.phase}")

    def turn(self):
        choices = [*self.flying]
        if self.running is not None:
            choices.append(RunEnded)
        pick = self.dice.choice([*choices, "time", "time"])
        if pick == "time" or not choices:
            due = self.core.due_s(self.now())
            self.clock.advance(self.dice.choice([0.05, 1, 7, due or 1, (due or 1) + 0.001, 100 if self.dice.random() < 0.05 else 0.5]))
            self.carry(self.core.tick(self.now()))
        elif pick is RunEnded:
            self.running = None
            outcome = self.dice.choice([Executed("done"), Executed("x" * 1000), Failed("no"), Withheld("lost_it")])
            self.carry(self.core.receive(RunEnded(outcome), self.now()))
        else:
            deed = self.flying.pop(pick)
            self.carry(self.core.receive(self.answer(pick, deed), self.now()))

    def answer(self, kind, deed):
        if kind is SourcesCame:
            return SourcesCame(self.dice.choice([[], None]))
        luck = self.dice.random()
        if luck < 0.15:
            return kind(Silent("cut"))
        if luck < 0.25:
            return kind(Denied(self.dice.choice([*CODES, None]), self.dice.choice([200, 409])))
        if luck < 0.252:
            return kind(Rejected())
        operation = json.loads(deed.body)["operation"]
        if kind is PollCame:
            stated = operation.get("workerGeneration")
            if stated is None and self.dice.random() < 0.5 or self.generation == 0:
                self.generation += 1
            generation = self.dice.choice([self.generation] * 9 + [max(1, self.generation - 1)])
            rows = [self.row(generation) for _ in range(self.dice.randrange(4))]
            return PollCame(Accepted({"lease": self.lease(generation), "payload": {"work": rows}}))
        if kind is RenewCame:
            return RenewCame(Accepted({"lease": self.lease(operation["workerGeneration"])}))
        return kind(Accepted({"accepted": True}))

    def lease(self, generation):
        at = self.clock.wall_s() - self.dice.choice([0, 0, 0, 3])
        window = self.dice.choice([4, 20, 60])
        return {"workerId": ME, "workerGeneration": generation, "serverTime": stamp(at), "expiresAt": stamp(at + window), "heartbeatAfterMs": 1000}

    def row(self, generation):
        if self.dice.random() < 0.7 or not self.calls:
            self.calls += 1
        invocation = f"inv_{self.dice.randint(max(1, self.calls - 3), self.calls)}"
        spec = {"kind": "write", "impl": "worker-tool", "params": {}, "exec": TOOL.id, "sourceTypes": [], "returns": []}
        row = {"workType": "action", "work": invocation, "tool": "do", "boardId": "agent", "toolContractId": TOOL.id, "sourceRecordId": "",
               "connectionId": CONNECTION, "toolDigest": TOOL.digest, "args": "{}", "target": "", "toolSpec": compact_json(spec),
               "sourceUpload": {"sourceRecordId": "", "permission": "absent", "upload": False}, "artifactPolicy": dict(POLICY)}
        expect = expected_grant(row, connection_id=CONNECTION, worker_id=ME, worker_generation=generation, request_digest=request_digest_of_row(row))
        row["executionGrant"] = sign_grant(expect, KEY)
        if self.dice.random() < 0.1:
            row["caseId"] = "case_1"
        return row

    def carry(self, deeds):
        for deed in deeds:
            assert self.exit is None, f"{deed} after the exit"
            if isinstance(deed, Send):
                self.check_send(deed)
                assert deed.answer not in self.flying, f"two {deed.answer.__name__} at once"
                self.flying[deed.answer] = deed
            elif isinstance(deed, FetchSources):
                assert SourcesCame not in self.flying
                self.flying[SourcesCame] = deed
            elif isinstance(deed, Run):
                assert self.running is None and deed.runnable.invocation in self.claimed
                self.ran.append(deed.runnable.invocation)
                self.running = deed.runnable
            elif isinstance(deed, Abandon):
                self.flying.pop(deed.answer, None)
            elif isinstance(deed, Kill):
                self.running = None
            elif isinstance(deed, Exit):
                self.exit = deed.code

    def check_send(self, deed):
        operation = json.loads(deed.body)["operation"]
        assert operation.get("workerGeneration") == deed.generation
        if deed.answer is ClaimCame:
            assert self.core.keeper.is_live(self.now(), deed.generation), "a claim without a live lease"
            assert not self.stopping or self.core.phase is Phase.CLAIMING
            assert operation["id"] not in self.ran, "a call claimed after it ran"
            self.claimed.add(operation["id"])
        elif deed.answer is ReportCame:
            was_run = b"claim_too_late" not in deed.body
            assert (operation["id"] in self.ran) == was_run and operation["id"] in self.claimed and self.running is None
            bodies = self.reports.setdefault(operation["id"], [])
            if deed.body not in bodies:
                assert len(bodies) == 0 or (len(bodies) == 1 and b"result_not_recorded" in deed.body), "another receipt for the same call"
                bodies.append(deed.body)
        elif deed.answer is ReleaseCame:
            assert self.running is None


@pytest.mark.parametrize("block", range(4))
def test_no_call_runs_twice_and_every_stop_ends(block):
    ran = exits = 0
    for seed in range(block * 60, block * 60 + 60):
        world = World(seed)
        try:
            world.play(150)
            assert len(world.ran) == len(set(world.ran)), "a call ran twice"
        except BaseException:
            print(f"seed {seed}")
            raise
        ran += len(world.ran)
        exits += world.exit == 0
    assert ran > 120 and exits > 30          # the script reaches what it is about


@pytest.mark.parametrize("seed", range(40))
def test_a_parent_that_vanishes_at_any_moment_ends_it_soon(seed):
    world = World(seed)
    world.carry(world.core.receive(Began(), world.now()))
    for _ in range(seed * 3):
        if world.exit is None:
            world.turn()
    if world.exit is None:
        world.carry(world.core.receive(ParentGone(), world.now()))
        assert world.running is None
    for _ in range(60):
        if world.exit is None:
            world.turn()
    assert world.exit in (0, 3)
