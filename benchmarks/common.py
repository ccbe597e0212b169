"""What all benchmarks share: rows, the table, the options, percentiles, and processes measured from outside.

A row says what was measured, its peer in the same run, the bar, and whether the bar was
met; `bar` is "-" where a value is only told. Units are named in each row.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
TICKS_S = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100


def row(name: str, value: float, unit: str, *, bar: str = "-", ok: bool = True, peer: str = "",
        peer_value: float | None = None) -> dict:
    """`ratio` is ours by the peer's, whichever of the two is better when larger."""
    ratio = round(value / peer_value, 3) if peer_value else None
    return {"name": name, "value": round(value, 3), "unit": unit, "peer": peer,
            "peer_value": None if peer_value is None else round(peer_value, 3), "ratio": ratio, "bar": bar, "ok": ok}


def percentile(values: Sequence[float], share: float) -> float:
    """The value that `share` of them do not exceed (nearest rank)."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def median(values: Sequence[float]) -> float:
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def options(doc: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer repetitions, under 45 s")
    parser.add_argument("--json", metavar="FILE", help="write the rows there as JSON")
    return parser


def machine() -> str:
    """The machine in one line; nothing that names it."""
    load = f", load {os.getloadavg()[0]:.1f} at the start" if hasattr(os, "getloadavg") else ""
    return f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, {platform.python_implementation()} " \
           f"{platform.python_version()}{load}"


def report(rows: list[dict], not_measured: Sequence[str], json_file: str | None, about: str) -> int:
    """Print the table, write the JSON, and give the exit status: 1 when a bar was missed."""
    print(about)
    name_width = max(len(one["name"]) for one in rows) + 2
    for one in rows:
        peer = f"{one['peer']} {one['peer_value']:,.2f}, ratio {one['ratio']}" if one["peer"] else ""
        verdict = "" if one["bar"] == "-" else "ok" if one["ok"] else "MISSED"
        value = f"{one['value']:,.2f} {one['unit']}"
        print(f"{one['name']:<{name_width}}{value:>20}  {one['bar']:<22}{verdict:<8}{peer}".rstrip())
    for each in not_measured:
        print(f"not measured: {each}")
    if json_file:
        Path(json_file).write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    return 0 if all(one["ok"] for one in rows) else 1


# --- processes -------------------------------------------------------------------------


class Role:
    """A long-lived child of the benchmark, measured from outside and ended by its own pid."""

    def __init__(self, order: Sequence[str], env: dict[str, str] | None = None, *, stdin: bytes = b"",
                 log: Path | None = None) -> None:
        self._log = open(log, "ab") if log else None
        self.process = subprocess.Popen(order, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=self._log or subprocess.DEVNULL)
        if stdin:
            self.process.stdin.write(stdin)
            self.process.stdin.flush()

    @property
    def pid(self) -> int:
        return self.process.pid

    def line(self) -> str:
        """The next line it prints. Raises RuntimeError when it ended instead."""
        text = self.process.stdout.readline().decode()
        if not text:
            raise RuntimeError(f"the process ended with status {self.process.wait()}")
        return text

    def stop(self) -> None:
        """SIGTERM, and SIGKILL where that is not heard."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout, self._log):
            if pipe is not None:
                try:
                    pipe.close()
                except OSError:
                    pass                      # it ended before it read its input


def role_order(archive: Path | None, verb: str) -> list[str]:
    """How this build starts a role: from the archive as `start` does, or from the checkout."""
    if archive is not None:
        return [sys.executable, "-I", "-S", "-X", "utf8", str(archive), verb]
    return [sys.executable, "-X", "utf8", "-m", "rulith", verb]


def role_env(**more: str) -> dict[str, str]:
    """The environment without any setting of ours, so that nobody's own home is measured or touched."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("RULITH_")}
    return {**kept, "PYTHONPATH": str(ROOT), **more}


def cpu_s(pid: int) -> float | None:
    """User and system time of a process so far; None where the system does not say."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS_S
    except OSError:
        return None


def resident_mb(pid: int) -> float | None:
    """Resident memory, with what it shares with others counted by its share where the system tells."""
    try:
        for text in Path(f"/proc/{pid}/status").read_text().splitlines():
            if text.startswith("VmRSS:"):
                return int(text.split()[1]) / 1024
    except OSError:
        pass
    return None


def settled_mb(pid: int, still_s: float = 1.0) -> float | None:
    """Resident memory once it has stopped moving for `still_s`."""
    before = resident_mb(pid)
    for _ in range(20):
        time.sleep(still_s / 2)
        now = resident_mb(pid)
        if now is None or before is None or abs(now - before) < 0.1:
            return now
        before = now
    return before
