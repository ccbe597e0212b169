"""A real PostgreSQL of its own for a test run: a cluster in a temporary folder, on loopback, never as root.

The programs come from the Debian package that .ci/run installs, the driver's wheels from
.drivers, which it fills; where one is absent it is fetched once, and where it cannot be, the
tests say so.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
WHEELS = ROOT / ".drivers"
START_S = 60
PASSWORD = "p@ss:word/ü"


@dataclass
class Cluster:
    folder: Path
    port: int
    bin: Path
    account: str | None
    process: subprocess.Popen | None = None

    def sql(self, *statements: str) -> str:
        """What psql prints, unaligned."""
        done = subprocess.run([str(self.bin / "psql"), "-h", str(self.folder), "-p", str(self.port), "-U", "keeper", "-d", "shop", "-AtX",
                               "-v", "ON_ERROR_STOP=1", *(word for each in statements for word in ("-c", each))],
                              capture_output=True, text=True, timeout=START_S, env={"PATH": os.environ["PATH"]}, **self.run_as())
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def run_as(self) -> dict:
        return {"user": self.account, "group": self.account, "extra_groups": []} if self.account else {}

    def stop(self, *, crash: bool = False) -> None:
        if self.process is not None:
            (self.process.kill if crash else self.process.terminate)()
            self.process.wait(START_S)
            self.process = None


def _bin() -> Path:
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: float(path.parts[-3])) or [
        Path(path) for path in [shutil.which("initdb")] if path]
    if not found:
        pytest.skip("PostgreSQL is not installed: apt-get install postgresql")
    return found[-1].parent


def wheels() -> Path:
    """The folder with the driver's wheels."""
    if not list(WHEELS.glob("pg8000-*.whl")):
        fetched = subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--only-binary=:all:", "--dest", str(WHEELS), "pg8000"],
                                 capture_output=True, text=True, timeout=300)
        if fetched.returncode:
            pytest.skip(f"the wheels of pg8000 are not in {WHEELS.name} and could not be fetched: {fetched.stderr[-300:]}")
    return WHEELS


@contextmanager
def cluster(account: str = "postgres") -> Iterator[Cluster]:
    """A running cluster with one database, `shop`, and two accounts: keeper owns it, worker may use it."""
    programs = _bin()
    is_root = hasattr(os, "geteuid") and os.geteuid() == 0
    folder = Path(tempfile.mkdtemp(prefix="rulith-pg-"))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    found = Cluster(folder, port, programs, account if is_root else None)
    try:
        if is_root:
            shutil.chown(folder, account, account)
        env = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "TZ": "UTC"}
        made = subprocess.run([str(programs / "initdb"), "-D", str(folder / "data"), "-U", "keeper", "--auth-local=trust", "--auth-host=scram-sha-256",
                               "-E", "UTF8", "--no-sync", "-N"], capture_output=True, text=True, timeout=START_S, cwd=folder, env=env, **found.run_as())
        assert made.returncode == 0, made.stderr
        with open(folder / "log", "wb") as log:
            found.process = subprocess.Popen(
                [str(programs / "postgres"), "-D", str(folder / "data"), "-p", str(port), "-h", "127.0.0.1", "-k", str(folder), "-F",
                 "-c", "shared_buffers=16MB", "-c", "max_connections=20", "-c", "autovacuum=off"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=folder, env=env, **found.run_as())
        _wait_ready(found)
        base = [str(programs / "psql"), "-h", str(folder), "-p", str(port), "-U", "keeper", "-X", "-q", "-d", "postgres"]
        done = subprocess.run([*base, "-c", "CREATE DATABASE shop"], capture_output=True, text=True, timeout=START_S, env=env, **found.run_as())
        assert done.returncode == 0, done.stderr
        found.sql(f"CREATE ROLE worker LOGIN PASSWORD '{PASSWORD}'", "GRANT ALL ON SCHEMA public TO worker")
        yield found
    finally:
        found.stop()
        shutil.rmtree(folder, ignore_errors=True)


def _wait_ready(found: Cluster) -> None:
    for _ in range(START_S * 10):
        assert found.process is not None and found.process.poll() is None, (found.folder / "log").read_text("utf-8", "replace")[-2_000:]
        ready = subprocess.run([str(found.bin / "pg_isready"), "-q", "-h", str(found.folder), "-p", str(found.port)], timeout=START_S)
        if ready.returncode == 0:
            return
        try:
            found.process.wait(0.1)
        except subprocess.TimeoutExpired:
            continue
    raise AssertionError("PostgreSQL did not come up")
