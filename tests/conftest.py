"""The built file, and small ways to run it as a person would: from an empty folder, with nothing but Python."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest
from xdist.scheduler import LoadScopeScheduling

from rulith.disk.locks import KernelLock

ROOT = Path(__file__).resolve().parents[1]
RUN_S = 110.0


MEMORY = Path("/dev/shm")
MEMORY_FREE_BYTES = 2 * 2**30
LONG = ROOT / "tests" / "long"
#  They start workbenches and gateways at the product's own ports, so one process runs them all, one after another.
OWN_PORTS = ("browser", "hostile", "product", "workbench")


class Scheduling(LoadScopeScheduling):
    """Two processes share the files; a file is never split, because of what its tests share."""

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        return "own ports" if file.split("/")[1] in OWN_PORTS else file


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> Scheduling:
    return Scheduling(config, log)


def pytest_configure(config: pytest.Config) -> None:
    """A shell that starts the suite with `&` has SIGINT ignored, and every child would inherit that.

    The tests' folders lie in memory where there is plenty: a third of the run was waiting for fsync. Kills and cuts of power
    are played above the disk and lose nothing by it; the long proofs write to the disk all the same.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    is_long = any(Path(word.partition("::")[0]).absolute().is_relative_to(LONG) for word in config.args)
    if not is_long and config.option.basetemp is None and "PYTEST_DEBUG_TEMPROOT" not in os.environ and _has_memory():
        os.environ["PYTEST_DEBUG_TEMPROOT"] = str(MEMORY)


def _has_memory() -> bool:
    """Whether there is a folder in memory with room, in which programs may be started."""
    try:
        place = os.statvfs(MEMORY)
        available = next(int(row.split()[1]) * 1024 for row in Path("/proc/meminfo").read_text().splitlines() if row.startswith("MemAvailable"))
    except (OSError, ValueError, AttributeError, StopIteration):
        return False
    return os.access(MEMORY, os.W_OK) and not place.f_flag & os.ST_NOEXEC and min(place.f_bavail * place.f_frsize, available / 2) >= MEMORY_FREE_BYTES


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--every-gap", action="store_true", help="the long form of the kill test, all gaps of all roles")
    parser.addoption("--gap-seed", type=int, default=20261130, help="order of the trials of --every-gap")
    parser.addoption("--kills", type=int, default=0, metavar="N", help="the long form of the crash test, N deaths under load")
    parser.addoption("--kill-seed", type=int, default=20261130, help="loads, moments and faults of --kills")
    parser.addoption("--agents", action="store_true", help="coding agents from npm against a gateway; writes their record")
    parser.addoption("--programs", type=int, metavar="N", help="generated programs against the slow model; writes its record")
    parser.addoption("--inputs", type=int, metavar="N", help="odd inputs of each family for every reader; writes their record")
    parser.addoption("--fuzz-seed", type=int, default=20261130, help="which inputs --inputs makes")
    parser.addoption("--fuzz-families", default="", metavar="A,B", help="only these families")
    parser.addoption("--swaps", type=int, metavar="N", help="the long race of links and folders below a Source; writes its record")
    parser.addoption("--swap-seed", type=int, default=20261201, help="which swaps --swaps plays")
    parser.addoption("--hop-pairs", type=int, metavar="N", help="every fault of the Worker hop, and N pairs of them; writes their record")
    parser.addoption("--hop-seed", type=int, default=20261201, help="which pairs --hop-pairs plays")
    parser.addoption("--turns", type=int, metavar="N", help="fuzzed turns with odd model services; writes their record")
    parser.addoption("--turn-seed", type=int, default=20261201, help="which turns --turns holds")
    parser.addoption("--connections", type=int, metavar="N", help="N seeds of the one-connection simulator; writes their record")
    parser.addoption("--connection-seed", type=int, default=1_000, help="the first seed of --connections")
    parser.addoption("--waiting", type=float, metavar="SECONDS", help="fifty agents wait so long for a council; writes their record")
    parser.addoption("--small-model", default="", metavar="DIR", help="where a small model and its server were installed; writes their record")
    parser.addoption("--program-seed", type=int, default=20261130, help="which programs --programs generates")


def clean_environment(**more: str) -> dict[str, str]:
    """What cron would give: a path, a home, a language. No setting of ours, no key."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR", "SYSTEMROOT") if name in os.environ}
    return {**kept, "HOME": "/nonexistent", **more}


@dataclass
class Run:
    status: int
    out: str
    err: str

    def __str__(self) -> str:
        return f"exit {self.status}\n--- stdout\n{self.out}\n--- stderr\n{self.err}"


@dataclass
class Product:
    """The built archive at `pyz`."""

    pyz: Path

    def command(self, *words: str) -> list[str]:
        return [sys.executable, "-I", "-S", "-X", "utf8", str(self.pyz), *words]

    def run(self, *words: str, cwd: Path, timeout_s: float = RUN_S, env: dict[str, str] | None = None) -> Run:
        done = subprocess.run(self.command(*words), cwd=cwd, env=clean_environment(**(env or {})), capture_output=True,
                              text=True, encoding="utf-8", timeout=timeout_s, stdin=subprocess.DEVNULL)
        return Run(done.returncode, done.stdout, done.stderr)

    def start(self, *words: str, cwd: Path, env: dict[str, str] | None = None) -> subprocess.Popen:
        return subprocess.Popen(self.command(*words), cwd=cwd, env=clean_environment(**(env or {})), stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, encoding="utf-8")


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what a build reads and `rulith.pyz`, made once for all processes of this run.

    The sources are copied first: an edit made during the run must not look like a difference. The file lies there a second
    time under its digest, and what starts from that name keeps its compiled modules, as the roles of a home do.
    """
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "built"
    folder.mkdir(exist_ok=True)
    lock, out = KernelLock(folder / "building"), folder / "rulith.pyz"
    while not lock.take():
        time.sleep(0.1)
    try:
        if not out.exists():
            sources = folder / "sources"
            for name in ("rulith", "protocol", "examples"):
                shutil.copytree(ROOT / name, sources / name, ignore=shutil.ignore_patterns("__pycache__"), dirs_exist_ok=True)
            for name in ("build_pyz.py", "requirements-bundle.txt", "pyproject.toml", "LICENSE"):
                shutil.copy(ROOT / name, sources)
            fetch = "import sys; sys.path.insert(0, '.'); import build_pyz; build_pyz.wheels(None)"
            for words, cwd in ((["-c", fetch], ROOT), (["build_pyz.py", "--wheels", str(ROOT / "wheels"), "--out", str(out)], sources)):
                done = subprocess.run([sys.executable, *words], cwd=cwd, capture_output=True, text=True)
                assert done.returncode == 0, done.stdout + done.stderr
            shutil.copy(out, folder / f"{hashlib.sha256(out.read_bytes()).hexdigest()}.pyz")
    finally:
        lock.release()
    return folder


@pytest.fixture(scope="session")
def product(built: Path) -> Product:
    """The archive of this checkout."""
    return Product(next(path for path in built.glob("*.pyz") if path.stem != "rulith"))


def write_order(folder: Path, **fields: object) -> None:
    """An order in `folder`, as a person would write it; the example's one with `fields` changed."""
    order = {"job_id": "calc-001", "unit_price_cents": 1299, "quantity": 7, "shipping_cents": 500, **fields}
    (folder / "runtime").mkdir(parents=True, exist_ok=True)
    (folder / "runtime" / "input.json").write_text(json.dumps(order), encoding="utf-8")


def output_of(folder: Path) -> dict | None:
    place = folder / "runtime" / "output.json"
    return json.loads(place.read_text("utf-8")) if place.exists() else None


@pytest.fixture
def order():
    return write_order


@pytest.fixture
def output():
    return output_of
