"""A job done over a drop box by the built file: a gateway, a Worker with no way to it, and somebody who carries a stick."""

from __future__ import annotations

import json
import os
import random
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

from tests.product.every_gap import lay_out
from tests.product.kept_home import KeptHome

JOB_S = 90.0


@dataclass
class Carrier:
    """Copies the newest files across, and with a seed also torn, old and renamed ones, in any order."""

    near: Path
    far: Path
    dice: random.Random | None = None
    kept: list[tuple[Path, str, bytes]] = field(default_factory=list)

    def carry(self) -> None:
        for source, target, direction in ((self.near, self.far, "to-worker"), (self.far, self.near, "to-gateway")):
            for place in sorted(source.glob(f"*/{direction}/*")):
                if place.suffix == ".tmp":
                    continue
                try:
                    content = place.read_bytes()
                except FileNotFoundError:
                    continue
                there = target / place.relative_to(source)
                there.parent.mkdir(parents=True, exist_ok=True)
                self.kept.append((there, place.name, content))
                if self.dice is not None and self.dice.random() < 0.3:
                    continue                                             # lost on the way
                if self.dice is not None and self.dice.random() < 0.2:
                    content = content[: self.dice.randrange(len(content))]      # torn
                there.write_bytes(content)
        if self.dice is not None and self.kept:
            there, name, content = self.dice.choice(self.kept)           # an old one comes back, or under a high number
            head, _, tail = name.rpartition(".")
            stem = head.rpartition(".")[0]
            fresh = f"{stem + '.' if stem else ''}{self.dice.randrange(10**6):016d}.{tail}"
            (there.parent / self.dice.choice([name, fresh])).write_bytes(content)


class AirGapped:
    """`rulith worker --dropbox` of the built file on "another machine": its own home, folder and stick."""

    def __init__(self, product, home: KeptHome, scratch: Path) -> None:
        self.product, self.home, self.folder, self.stick = product, home, scratch / "far", scratch / "far-stick"
        lay_out(self.folder)
        self.stick.mkdir()
        vault = self.folder / "worker-secrets.json"
        vault.write_text(json.dumps({"verified-calculation-local": {"type": "file", "root": str(self.folder / "runtime")}}), "utf-8")
        vault.chmod(0o600)

    def start(self, *words: str, pyz: Path | None = None) -> subprocess.Popen:
        command = self.product.command("worker", "--dropbox", str(self.stick), *words)
        if pyz is not None:
            command[command.index(str(self.product.pyz))] = str(pyz)
        process = subprocess.Popen(command, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=open(self.folder / "worker.log", "ab"),
                                   stderr=subprocess.STDOUT,
                                   env={"PATH": os.environ["PATH"], "HOME": str(self.folder), "RULITH_HOME": str(self.folder / "home"),
                                        **self.home.secrets("worker")})
        self.home.workers.append(process)
        return process

    def log(self) -> str:
        return (self.folder / "worker.log").read_text("utf-8")

    def writes(self) -> int:
        place = self.folder / "writes.log"
        return len(place.read_text("utf-8")) if place.exists() else 0


def start_agent(product, home: KeptHome, scratch: Path) -> subprocess.Popen:
    """The board driver on the verified calculation."""
    with open(scratch / "agent.log", "ab") as log:
        return subprocess.Popen(
            product.command("agent", "--home", str(home.path), "--case-type", "verified_calculation", "--business-key", '{"job_id":"calc-001"}', "go"),
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=scratch, env={"PATH": os.environ["PATH"]})


def carry_until_done(agent: subprocess.Popen, carrier: Carrier, scratch: Path, each=lambda: None) -> int:
    """Carry the stick back and forth until the Agent has ended; its exit status."""
    until = time.monotonic() + JOB_S
    while agent.poll() is None:
        assert time.monotonic() < until, (scratch / "agent.log").read_text("utf-8")
        carrier.carry()
        each()
        time.sleep(0.2)
    return agent.returncode
