"""How fast the one file starts, how large it is, and what its roles weigh.

    python benchmarks/start.py [--quick] [--json FILE] [--archive FILE]

`--help` is compared with `python -I -S -c pass` in pairs, one after the other; the median
of the differences counts. `start --no-browser` is timed from its spawn until the page, opened with
the printed key, shows the first Agent's Board as the gateway tells it: on a home that is
made by this very run, and on one that exists. Resident memory is read once it stands still, with nobody
asking for anything. FILE is the built archive (default: dist/rulith.pyz).
"""

from __future__ import annotations

import http.client
import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from common import ROOT, Role, machine, median, options, report, role_env, role_order, row, settled_mb

HELP_BAR_MS, START_BAR_S, SIZE_BAR_BYTES, RESIDENT_BAR_MB = 40, 0.6, 1_000_000, 40
GIVE_UP_S = 60.0


def spawn_ms(order: list[str]) -> float:
    started = time.perf_counter()
    subprocess.run(order, env=role_env(), stdout=subprocess.DEVNULL, check=True)
    return (time.perf_counter() - started) * 1000


def help_over_bare(archive: Path, times: int) -> tuple[float, float]:
    """(median of how much longer `--help` takes, median of the bare interpreter), in milliseconds."""
    bare_order, order = [sys.executable, "-I", "-S", "-c", "pass"], [sys.executable, "-I", "-S", str(archive), "--help"]
    spawn_ms(order)
    pairs = []
    for _ in range(times):
        bare = spawn_ms(bare_order)
        pairs.append((spawn_ms(order) - bare, bare))
    return median([more for more, _ in pairs]), median([bare for _, bare in pairs])


class Page:
    """A browser's part of opening the workbench: the shell by its key, a token, then data."""

    def __init__(self, url: str) -> None:
        found = re.fullmatch(r"http://([^:]+):(\d+)/\?k=(\S+)", url)
        self.key, self.token = found[3], ""
        self.connection = http.client.HTTPConnection(found[1], int(found[2]), timeout=10)
        status, _ = self.ask("GET", f"/?k={self.key}")
        if status != 200:
            raise RuntimeError(f"the page answered {status}")
        self.token = self.ask("POST", "/api/token", self.key)[1]["token"]

    def ask(self, method: str, path: str, proof: str = "") -> tuple[int, dict]:
        self.connection.request(method, path, headers={"x-rulith-manager": proof or self.token} if proof or self.token else {})
        answer = self.connection.getresponse()
        body = answer.read()
        return answer.status, json.loads(body) if body[:1] == b"{" else {}

    def wait(self, is_there, what: str) -> None:
        deadline = time.monotonic() + GIVE_UP_S
        while not is_there():
            if time.monotonic() > deadline:
                raise RuntimeError(f"{what} did not come within {GIVE_UP_S:g} s")
            time.sleep(0.005)

    def first_agent(self) -> str | None:
        rows = self.ask("GET", "/api/state")[1].get("instances", [])
        return rows[0]["id"] if rows else None

    def shows_board(self) -> bool:
        agent = self.first_agent()
        return agent is not None and self.ask("GET", f"/i/{agent}/state")[0] == 200

    def worker_is_online(self) -> bool:
        rows = self.ask("GET", "/api/state")[1].get("instances", [])
        return bool(rows) and rows[0]["worker"]["state"] == "online"


class Started:
    """One `start`: how long until the page answered, showed the Board, and had its Worker online."""

    def __init__(self, archive: Path, home: Path) -> None:
        begun = time.perf_counter()
        order = [*role_order(archive, "start"), "--no-browser", "--home", str(home)]
        self.role = Role(order, role_env(PYTHONUNBUFFERED="1"), log=home.parent / "start.log")
        try:
            line = self.role.line()
            while "?k=" not in line:
                line = self.role.line()
            page = Page(line.split()[-1])
            self.page_s = time.perf_counter() - begun
            page.wait(page.shows_board, "the Board")
            self.board_s = time.perf_counter() - begun
            page.wait(page.worker_is_online, "the Worker")
            self.worker_s = time.perf_counter() - begun
            page.connection.close()
        except BaseException:
            self.role.stop()
            raise


def children_of(pid: int) -> dict[str, int]:
    """Role -> pid of the processes that `pid` started; empty where the system does not say."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            words = (folder / "cmdline").read_bytes().split(b"\0")
        except (OSError, ValueError):
            continue
        if parent == pid:
            found.update({role: int(folder.name) for role in ("gateway", "worker") if role.encode() in words})
    return found


def measure_start(archive: Path, times: int) -> tuple[list[dict], list[str]]:
    fresh, known, weights, missing = [], [], {}, []
    for number in range(times):
        base = Path(tempfile.mkdtemp(prefix="bench-"))
        try:
            for runs in (fresh, known):
                run = Started(archive, base / "home")
                try:
                    runs.append(run)
                    if number == times - 1 and runs is known:
                        weights = {"workbench": settled_mb(run.role.pid)}
                        weights |= {role: settled_mb(pid) for role, pid in sorted(children_of(run.role.pid).items())}
                finally:
                    run.role.stop()
        finally:
            shutil.rmtree(base, ignore_errors=True)
    rows = []
    for name, runs in (("a home that is new", fresh), ("a home that exists", known)):
        for what, member in (("page answers", "page_s"), ("page shows the Board", "board_s"), ("Worker online", "worker_s")):
            value = median([getattr(run, member) for run in runs])
            judged = {"bar": f"<= {START_BAR_S:g} s", "ok": value <= START_BAR_S} if member == "board_s" else {}
            rows.append(row(f"start, {name}: {what}", value, "s", **judged))
    for role in ("workbench", "gateway", "worker"):
        weight = weights.get(role)
        if weight is None:
            missing.append(f"resident memory of the idle {role}: this system does not tell")
        else:
            rows.append(row(f"resident memory, idle {role}", weight, "MB", bar=f"<= {RESIDENT_BAR_MB} MB", ok=weight <= RESIDENT_BAR_MB))
    return rows, missing


def main() -> int:
    parser = options(__doc__)
    parser.add_argument("--archive", metavar="FILE", type=Path, default=ROOT / "dist" / "rulith.pyz", help="the built archive")
    chosen = parser.parse_args()
    archive = chosen.archive.absolute()
    if not archive.exists():
        print(f"{archive.name} is not built; run  python3 build_pyz.py  first", file=sys.stderr)
        return 2
    about = machine()
    more, bare = help_over_bare(archive, 15 if chosen.quick else 60)
    size = archive.stat().st_size
    rows = [row("--help over the bare interpreter", more, "ms", bar=f"<= {HELP_BAR_MS} ms", ok=more <= HELP_BAR_MS),
            row("the bare interpreter", bare, "ms")]
    found, missing = measure_start(archive, 2 if chosen.quick else 7)
    rows += found
    rows.append(row("size of the file", size, "bytes", bar=f"<= {SIZE_BAR_BYTES:,}", ok=size <= SIZE_BAR_BYTES))
    return report(rows, [*missing, "an idle Agent (it ends with its work)"], chosen.json, about)


if __name__ == "__main__":
    sys.exit(main())
