"""The home: the one folder this program writes to, and where each thing lies in it.

`--home` beats RULITH_HOME (RULITH_MANAGER_HOME is its older name), which beats ~/.rulith.
Every folder is made 0700. Knows nothing of what the files say.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from rulith.base.errors import Refused
from rulith.disk.atomic import IS_POSIX, make_folder, read_json

KEPT_PLACE = "rulith-store/1"

@dataclass(frozen=True)
class Home:
    """A home at an absolute path, and its ledger. Naming a place makes nothing; `prepare` makes the folders."""

    path: Path
    store: Path | None = None        # the ledger's file, where the command line names one

    @property
    def workbench(self) -> Path:
        return self.path / "workbench"

    @property
    def instances(self) -> Path:
        return self.workbench / "instances"

    @property
    def registry(self) -> Path:
        """The list of profiles."""
        return self.workbench / "registry.json"

    @property
    def device_secrets(self) -> Path:
        return self.workbench / "device.secrets.json"

    @property
    def gateway(self) -> Path:
        return self.path / "gateway"

    @property
    def own_ledger(self) -> Path:
        """Where the ledger is unless it was put elsewhere."""
        return self.gateway / "ledger.db"

    @property
    def kept_store(self) -> Path:
        """Says where the ledger was put."""
        return self.gateway / "store.json"

    @property
    def ledger(self) -> Path:
        """The ledger's file. Raises Refused store_place_unreadable."""
        return self.store or self._kept_place() or self.own_ledger

    def _kept_place(self) -> Path | None:
        if not os.path.lexists(self.kept_store):
            return None
        try:
            found = read_json(self.kept_store)
        except Refused:
            found = None
        store = found.get("store") if isinstance(found, dict) and found.get("format") == KEPT_PLACE else None
        scheme, _, name = store.partition(":") if isinstance(store, str) else ("", "", "")
        if scheme != "sqlite" or not os.path.isabs(name):
            raise Refused("store_place_unreadable", path=str(self.kept_store))
        return Path(name)

    @property
    def genesis_mark(self) -> Path:
        """Says how far the first start of this home came."""
        return self.gateway / "genesis.json"

    @property
    def secrets(self) -> Path:
        """The folder of the gateway's own secret files."""
        return self.gateway / "secrets"

    @property
    def gateway_settings(self) -> Path:
        return self.gateway / "settings.json"

    @property
    def bin(self) -> Path:
        return self.path / "bin"

    @property
    def drivers(self) -> Path:
        return self.path / "drivers"

    @property
    def run(self) -> Path:
        return self.path / "run"

    @property
    def gateway_json(self) -> Path:
        """Where the live gateway says its address."""
        return self.run / "gateway.json"

    @property
    def gateway_starting_json(self) -> Path:
        """Where a gateway says who it is until it answers: opening folds the whole ledger."""
        return self.run / "gateway-starting.json"

    @property
    def council(self) -> Path:
        """The council's folder, made when one is served."""
        return self.path / "council"

    @property
    def council_json(self) -> Path:
        """Where the live council says its address, and the key of its person's API."""
        return self.run / "council.json"

    @property
    def logs(self) -> Path:
        return self.path / "logs"

    def prepare(self) -> Home:
        """Make the home and its folders. Raises Refused home_unusable when others could change what is in it."""
        try:
            str(self.path).encode("utf-8")
        except UnicodeEncodeError:
            raise Refused("home_unusable", path=ascii(str(self.path)), problem="its name is not UTF-8, so no file could name it") from None
        make_folder(self.path)
        try:
            found = os.stat(self.path)
        except OSError as problem:
            raise Refused("home_unusable", path=str(self.path), problem=problem.strerror or problem) from None
        if not stat.S_ISDIR(found.st_mode):
            raise Refused("home_unusable", path=str(self.path), problem="it is no folder")
        if IS_POSIX:
            if found.st_uid != os.geteuid():
                raise Refused("home_unusable", path=str(self.path), problem=f"it belongs to user {found.st_uid}")
            if found.st_mode & 0o022:
                raise Refused("home_unusable", path=str(self.path),
                              problem=f"others can write to it (mode {stat.S_IMODE(found.st_mode):04o})")
        for folder in (self.workbench, self.instances, self.gateway, self.secrets, self.bin, self.run, self.logs):
            make_folder(folder)
        return self


def find_home(option: str | None, environ: Mapping[str, str]) -> Home:
    """The home named by `--home`, the environment, or the user's folder; not made yet."""
    named = option or environ.get("RULITH_HOME") or environ.get("RULITH_MANAGER_HOME")
    if named:
        return Home(Path(os.path.abspath(os.path.expanduser(named))))
    try:
        return Home(Path.home() / ".rulith")
    except RuntimeError:
        raise Refused("home_unusable", path="~/.rulith", problem="this user has no home folder") from None
