"""A built file that dies where a plan says: the product's own bytes, with a few lines before its main.

The archive reads a plan at start. In the gateway it counts ledger commits; in the gap after
commit N (right after it, or just before the next one) it kills the role that the plan
names, itself included. In the Worker it counts steps (claim, run, report, before and after; over a drop box
each record and file, before it) and kills itself at step N, or at the Nth of one name. What it saw is appended to `gaps.log`. Nothing of the
product is changed, and without a plan the archive behaves like the original.

All trials of a run share one archive, under its digest, and what was compiled from it: half of a role's start. Each trial
has links to it, and a process takes its plan from where the link lies that it was started by.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import zipfile
from pathlib import Path

from rulith.base.importer import code_folder

ARMING = " import halting\n halting.arm()\n"     # the build leaves one blank for each level

MODULE = '''
import json, os, signal, sys, time

PLACE = os.path.dirname(os.path.abspath(sys.argv[0]))
FOLDER = os.path.join(os.path.dirname(os.path.dirname(PLACE)), "halt") if os.path.basename(PLACE) == "bin" else PLACE


def note(**row):
    with open(os.path.join(FOLDER, "gaps.log"), "a") as log:
        log.write(json.dumps(row) + "\\n")


def is_alive(pid):
    try:
        with open("/proc/%s/stat" % pid) as stat:
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def roles_alive():
    named = [name.partition("-") for name in os.listdir(os.path.join(FOLDER, "pids"))]
    return sorted({role for role, _, pid in named if is_alive(pid)})


def kill_role(role):
    me = os.getpid()
    if role == ROLE:
        note(killed=role, pid=me)
        os.kill(me, signal.SIGKILL)
    folder = os.path.join(FOLDER, "pids")
    for name in sorted(os.listdir(folder)):
        kind, _, pid = name.partition("-")
        if kind == role and is_alive(pid):
            note(killed=role, pid=int(pid))     # said first: a host's end is seen before our next line runs
            try:
                os.kill(int(pid), signal.SIGKILL)
            except ProcessLookupError:
                continue
            for _ in range(500):
                if not is_alive(pid):
                    return
                time.sleep(0.002)


def watch_commits(plan):
    from rulith.store.ledger import Ledger
    real = Ledger.commit
    seen = {"commits": 0, "done": False}

    def strike(edge):
        if plan is None:
            note(gap=seen["commits"], edge=edge, alive=roles_alive())
        if plan and not seen["done"] and plan["role"] != "worker-step" and plan["edge"] == edge and plan["gap"] == seen["commits"]:
            seen["done"] = True
            kill_role(plan["role"])

    def commit(self):
        if not self._staged:
            return real(self)
        strike("before the next")
        real(self)
        seen["commits"] += 1
        note(commit=seen["commits"])
        strike("right after")

    Ledger.commit = commit


def watch_worker(plan):
    from rulith.work import driver
    from rulith.adapters import run
    seen = {"steps": 0}

    def step(name):
        seen["steps"] += 1
        seen[name] = seen.get(name, 0) + 1
        note(step=seen["steps"], name=name, nth=seen[name])
        if plan and plan["role"] == "worker-step" and plan.get("name", name) == name and plan["gap"] == seen[plan.get("name", "steps")]:
            kill_role("worker")

    real_post, real_run = driver.Line.post, run.Program.run

    async def post(self, send):
        kind = json.loads(send.body)["operation"]["kind"]
        if kind not in ("ClaimWork", "ReportWork"):
            return await real_post(self, send)
        step("before " + kind)
        answer = await real_post(self, send)
        step("after " + kind)
        return answer

    async def run_it(self):
        step("before the adapter")
        outcome = await real_run(self)
        step("after the adapter")
        return outcome

    driver.Line.post = post
    run.Program.run = run_it
    from rulith.disk.dropfolder import DropFolder
    from rulith.work.box_journal import Journal

    def around(owner, name):
        real = getattr(owner, name)

        def wrapped(self, *args):
            step("before " + name)       # and so after whatever came before it
            return real(self, *args)

        setattr(owner, name, wrapped)

    for owner, name in ((Journal, "keep"), (Journal, "keep_state"), (DropFolder, "write")):     # of a Worker over a drop box
        around(owner, name)


def arm():
    global ROLE
    word = sys.argv[1] if len(sys.argv) > 1 else ""
    ROLE = {"demo": "host", "start": "host"}.get(word, word)
    os.makedirs(os.path.join(FOLDER, "pids"), exist_ok=True)
    if ROLE:
        open(os.path.join(FOLDER, "pids", "%s-%d" % (ROLE, os.getpid())), "w").close()
    try:
        with open(os.path.join(FOLDER, "plan.json")) as file:
            plan = json.load(file)
    except FileNotFoundError:
        plan = None
    if ROLE == "gateway":
        watch_commits(plan)
    elif ROLE == "worker":
        watch_worker(plan)
'''


def make_halting(pyz: Path, folder: Path) -> Path:
    """A link in `folder` to a copy of `pyz` that obeys `folder`/plan.json; `folder` is a trial's own `halt`."""
    folder.mkdir(parents=True, exist_ok=True)
    shared = folder.parent.parent / "halting"
    if not shared.exists():
        _make_shared(pyz, shared)
    for place in shared.iterdir():
        (folder / place.name).symlink_to(place)
    return next(folder.glob("*.pyz"))


def _make_shared(pyz: Path, shared: Path) -> None:
    shared.mkdir()
    out = shared / "rulith.pyz"
    with zipfile.ZipFile(pyz) as whole, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as copy:
        for name in whole.namelist():
            data = whole.read(name)
            if name == "__main__.py":
                text = data.decode("utf-8")
                at = text.index('if __name__ == "__main__":\n') + len('if __name__ == "__main__":\n')
                data = (text[:at] + ARMING + text[at:]).encode("utf-8")
            copy.writestr(name, data)
        copy.writestr("halting.py", MODULE)
    named = out.rename(shared / f"{hashlib.sha256(out.read_bytes()).hexdigest()}.pyz")
    os.mkdir(code_folder(str(named)))


def log_of(folder: Path) -> list[dict]:
    place = folder / "gaps.log"
    return [json.loads(line) for line in place.read_text("utf-8").splitlines()] if place.exists() else []


if __name__ == "__main__":
    print(make_halting(Path(sys.argv[1]), Path(sys.argv[2])))
