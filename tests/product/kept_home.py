"""A home with the example laid out and a gateway and Worker of the built file running, for as long as a test needs them."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.product.every_gap import lay_out

WAIT_S = 60.0


class Console:
    """The Console's API by bare requests: a cookie, and the token that the page would hold."""

    PASSPHRASE = "correct horse battery"

    def __init__(self, url: str) -> None:
        self.url, self.cookie, self.token = url, "", ""

    def raw(self, route: str) -> bytes:
        request = urllib.request.Request(f"{self.url}/console/api/{route}", headers={"cookie": self.cookie})
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.read()

    def ask(self, route: str, body: dict | None = None) -> dict:
        request = urllib.request.Request(f"{self.url}/console/api/{route}", None if body is None else json.dumps(body).encode(), {
            "content-type": "application/json", "cookie": self.cookie, "x-rulith-console": self.token})
        with urllib.request.urlopen(request, timeout=30) as answer:
            found = json.loads(answer.read())
            self.cookie = (answer.headers.get("set-cookie") or self.cookie).partition(";")[0]
        self.token = found.get("token", self.token)
        return found


@dataclass
class KeptHome:
    product: object
    folder: Path
    gateway: subprocess.Popen
    url: str
    workers: list[subprocess.Popen] = field(default_factory=list)
    log_from: int = 0            # where this run's part of the gateway's log begins

    @property
    def path(self) -> Path:
        return self.folder / ".rulith"

    @property
    def instance(self) -> Path:
        return next((self.path / "workbench" / "instances").iterdir())

    def secrets(self, role: str) -> dict[str, str]:
        return json.loads((self.instance / f"{role}.secrets.json").read_text("utf-8"))

    def writes(self) -> int:
        place = self.folder / "writes.log"
        return len(place.read_text("utf-8")) if place.exists() else 0

    def local(self, path: str) -> dict:
        token = json.loads((self.path / "workbench" / "device.secrets.json").read_text("utf-8"))["token"]
        request = urllib.request.Request(f"{self.url}/local/{path}", headers={"authorization": f"Bearer {token}"})
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.loads(answer.read())

    def state(self) -> dict:
        return self.local("state")

    def console(self, scratch: Path) -> Console:
        """A person, signed in; the passphrase is chosen with the code of this run where there is none yet."""
        found = Console(self.url)
        if found.ask("state")["passphraseSet"]:
            found.ask("sign-in", {"passphrase": Console.PASSPHRASE})
            return found
        log = scratch / "gateway.log"
        code = wait(lambda: re.search(rb"Setup code .*: (\w+)\n", log.read_bytes()[self.log_from:]), "the setup code")
        found.ask("setup", {"code": code.group(1).decode(), "passphrase": Console.PASSPHRASE})
        return found

    def start_worker(self, folder: Path | None = None, **env: str) -> subprocess.Popen:
        """A Worker from its environment alone, in `folder`."""
        folder = folder or self.folder
        worker = subprocess.Popen(
            self.product.command("worker"), cwd=folder, stdin=subprocess.DEVNULL,
            stdout=open(folder / "worker.log", "ab"), stderr=subprocess.STDOUT,
            env={"PATH": os.environ["PATH"], "RULITH_WORK_URL": f"{self.url}/work", **self.secrets("worker"), **env})
        self.workers.append(worker)
        return worker

    def wait_line(self, state: str) -> dict:
        return wait(lambda: next((row for row in self.state()["connections"] if row["line"]["state"] == state), None),
                    f"the line to be {state}")


def wait(ask, what: str):
    """Ask until there is an answer; bounded."""
    until = time.monotonic() + WAIT_S
    while time.monotonic() < until:
        found = ask()
        if found:
            return found
        time.sleep(0.05)
    raise AssertionError(f"waited {WAIT_S:g} s for {what}")


def end(process: subprocess.Popen) -> int:
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
    try:
        return process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        raise


@contextmanager
def running_home(product, scratch: Path, *, worker: bool = True, words: tuple[str, ...] = ()) -> Iterator[KeptHome]:
    folder = scratch / "job"
    if not folder.exists():
        lay_out(folder)
    log = open(scratch / "gateway.log", "ab")
    log_from = log.tell()
    gateway = subprocess.Popen(
        product.command("gateway", "--home", str(folder / ".rulith"), "--listen", "127.0.0.1:0", *words), cwd=scratch,
        stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
        env={"PATH": os.environ["PATH"], "RULITH_SEED_WORKSPACE": str(folder)})
    home = None
    try:
        run_file = folder / ".rulith" / "run" / "gateway.json"
        assert gateway.poll() is None
        wait(run_file.exists, f"the gateway to listen ({(scratch / 'gateway.log').read_text('utf-8')})")
        home = KeptHome(product, folder, gateway, json.loads(run_file.read_text("utf-8"))["url"], log_from=log_from)
        if worker:
            home.start_worker()
            home.wait_line("online")
        yield home
    finally:
        for each in home.workers if home else ():
            end(each)
        end(gateway)
        shutil.copy(scratch / "gateway.log", folder / "gateway.log")
