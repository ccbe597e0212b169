"""Kill one role in one gap of the verified calculation, restart, finish, and judge what is left.

A trial is one folder: the job is run by the halting archive, a role dies in the planned
gap, and the same job is run again until it ends. What must hold afterwards is judged on
files and on the ledger alone, with the product's own reader of neither.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from tests.product.halting import log_of, make_halting

ROOT = Path(__file__).resolve().parents[2]
ROLES = ("gateway", "agent", "host", "worker")
EDGES = ("right after", "before the next")
AT_ONCE = 4                                                        # a trial mostly waits: for a lease to lapse, for a retry
LEASE_MS = 1500
RUN_S = 60.0
RERUNS_MAX = 4
COUNTED = '        os.replace(partial, os.path.join(folder, name))\n'
COUNTING = '        open(os.path.join(folder, "..", "writes.log"), "a").write("w")\n'


@dataclass
class Trial:
    role: str
    gap: int
    edge: str
    hit: bool = False
    statuses: list[int] = field(default_factory=list)
    writes: int = 0
    outcome: str = ""
    problems: list[str] = field(default_factory=list)
    said: str = ""

    def __str__(self) -> str:
        return f"{self.role} killed {self.edge} {self.gap}: exits {self.statuses}, {self.writes} writes, {self.outcome or 'open'}"


def lay_out(folder: Path) -> None:
    """The example with a writer that counts its effects, and a short lease so that a dead Worker's line frees soon."""
    source = ROOT / "examples" / "verified-calculation"
    (folder / "adapters").mkdir(parents=True)
    shutil.copy(source / "worker-tools.json", folder)
    for each in (source / "adapters").glob("*.py"):
        shutil.copy(each, folder / "adapters")
    writer = folder / "adapters" / "write_output.py"
    text = writer.read_text("utf-8")
    assert COUNTED in text, "the writer of the example has changed its last step"
    writer.write_text(text.replace(COUNTED, COUNTING + COUNTED), "utf-8")
    (folder / "runtime").mkdir()
    (folder / "runtime" / "input.json").write_text(
        json.dumps({"job_id": "calc-001", "unit_price_cents": 1299, "quantity": 7, "shipping_cents": 500}), "utf-8")
    settings = folder / ".rulith" / "gateway"
    settings.mkdir(parents=True, mode=0o700)
    (folder / ".rulith").chmod(0o700)
    (settings / "settings.json").write_text(json.dumps({"leaseMs": LEASE_MS, "heartbeatMs": 300, "pollHoldMs": 400}), "utf-8")


def run_job(pyz: Path, folder: Path) -> tuple[int, str]:
    command = [sys.executable, "-I", "-S", "-X", "utf8", str(pyz), "demo", "verified-calculation", str(folder)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=RUN_S, stdin=subprocess.DEVNULL, cwd=folder)
    except subprocess.TimeoutExpired as late:
        return -99, f"no end in {RUN_S:g} s\n{late.stdout}\n{late.stderr}"
    return done.returncode, done.stdout + done.stderr


@dataclass(frozen=True)
class Job:
    """What one undisturbed job is made of: in which gaps each role lives, and how many Worker steps there are."""

    commits: int
    worker_steps: int
    alive: dict[str, list[tuple[int, str]]]      # role -> (gap, edge), in order

    def gaps(self, role: str) -> list[int]:
        return sorted({gap for gap, _ in self.alive[role]})


def lay_out_halting(pyz: Path, folder: Path) -> Path:
    """The example, and the halting archive that its roles start from, too."""
    lay_out(folder)
    halting = make_halting(pyz, folder / "halt")
    (folder / ".rulith" / "bin").symlink_to(halting.resolve().parent)
    return halting


def measure(pyz: Path, scratch: Path) -> Job:
    """Run the job once with nothing killed and see who lives in which gap."""
    folder = scratch / "undisturbed"
    status, said = run_job(lay_out_halting(pyz, folder), folder)
    assert status == 0, said
    rows = log_of(folder / "halt")
    commits = max(row.get("commit", 0) for row in rows)
    edges = [row for row in rows if "gap" in row and 1 <= row["gap"] < commits]
    alive = {role: [(row["gap"], row["edge"]) for row in edges if role in row["alive"]] for role in ROLES}
    return Job(commits, max(row.get("step", 0) for row in rows), alive)


def run_trial(pyz: Path, scratch: Path, role: str, gap: int, edge: str) -> Trial:
    trial = Trial(role, gap, edge)
    folder = scratch / f"{role}-{gap}-{edge.replace(' ', '-')}"
    halting, halt = lay_out_halting(pyz, folder), folder / "halt"
    (halt / "plan.json").write_text(json.dumps({"role": role, "gap": gap, "edge": edge}), "utf-8")
    status, trial.said = run_job(halting, folder)
    trial.statuses.append(status)
    trial.hit = any("killed" in row for row in log_of(halt))
    (halt / "plan.json").unlink()
    for _ in range(RERUNS_MAX):
        if status == 0 or (status == 11 and needs_person(folder)):
            break
        status, said = run_job(halting, folder)
        trial.said += said
        trial.statuses.append(status)
    judge(trial, folder, status)
    if not trial.problems:
        shutil.rmtree(folder, ignore_errors=True)
    return trial


def run_trials(pyz: Path, scratch: Path, plans: list[tuple[str, int, str]]) -> list[Trial]:
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(lambda plan: run_trial(pyz, scratch, *plan), plans))


def ledger_rows(folder: Path) -> list[tuple]:
    db = sqlite3.connect(folder / ".rulith" / "gateway" / "ledger.db")
    try:
        assert db.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
        return db.execute("SELECT chain, seq, at, kind, body, prev, hash FROM row ORDER BY position").fetchall()
    finally:
        db.close()


def commands(folder: Path) -> list[dict]:
    """Every operation and board command of the ledger, in order, those written together taken apart."""
    found = []
    for _, _, _, kind, body, _, _ in ledger_rows(folder):
        command = json.loads(body).get("command", {})
        found += command["commands"] if command.get("kind") == "several" else [command]
    return found


def needs_person(folder: Path) -> bool:
    return any(each.get("kind") == "needs_person" for each in commands(folder))


def judge(trial: Trial, folder: Path, status: int) -> None:
    """The invariants; each broken one becomes a problem."""
    counter = folder / "writes.log"
    trial.writes = len(counter.read_text("utf-8")) if counter.exists() else 0
    if trial.writes > 1:
        trial.problems.append(f"{trial.writes} writes took place")
    try:
        rows = ledger_rows(folder)
        done = commands(folder)
    except (sqlite3.Error, AssertionError) as problem:
        trial.problems.append(f"the ledger does not open clean: {problem}")
        return
    trial.problems += chain_problems(rows)
    closed = any(each.get("kind") == "close_case" and each.get("disposition") == "completed" for each in done)
    read_back = any(each.get("kind") == "record_receipt" and each.get("ok") and "verify_output" in json.dumps(each["plan"]) for each in done)
    if closed and not read_back:
        trial.problems.append("the Case closed as completed without its read-back")
    if status == 0:
        trial.outcome = "completed"
        output = folder / "runtime" / "output.json"
        if trial.writes != 1 or not closed:
            trial.problems.append(f"completed with {trial.writes} writes, closed: {closed}")
        elif json.loads(output.read_text("utf-8")) != {"job_id": "calc-001", "subtotal_cents": 9093, "total_cents": 9593}:
            trial.problems.append("the output is another one")
    elif status == 11 and needs_person(folder):
        trial.outcome = "needs a person"
        if closed:
            trial.problems.append("a Case closed as completed while an operation needs a person")
    else:
        trial.problems.append(f"the job never ended: exits {trial.statuses}")


def chain_problems(rows: list[tuple]) -> list[str]:
    """Each chain counts from 1 and every row names the hash before it and its own content."""
    heads: dict[str, tuple[int, str]] = {}
    problems = []
    for chain, seq, at, kind, body, prev, hash_ in rows:
        before = heads.get(chain, (0, ""))
        if seq != before[0] + 1 or (before[1] and prev != before[1]):
            problems.append(f"row {seq} of {chain} does not follow")
        named = json.dumps([chain, seq, at, kind, hashlib.sha256(body.encode()).hexdigest(), prev], separators=(",", ":"), ensure_ascii=False)
        if hashlib.sha256(named.encode()).hexdigest() != hash_:
            problems.append(f"row {seq} of {chain} does not match its hash")
        heads[chain] = (seq, hash_)
    return problems


def histogram(trials: list[Trial]) -> str:
    """One line per role: how often each gap was hit, gap 1 first."""
    lines = []
    for role in dict.fromkeys(trial.role for trial in trials):
        hits: dict[int, int] = {}
        for trial in trials:
            if trial.role == role:
                hits[trial.gap] = hits.get(trial.gap, 0) + trial.hit
        lines.append(f"{role:12} " + " ".join(f"{gap}:{count}" for gap, count in sorted(hits.items())))
    return "\n".join(lines)
