"""Backup and restore: a copy of the ledger at one moment, and a home brought back to such a copy.

Promises: a copy holds what was committed at one moment, and no secret in clear. A restore
never overwrites: the ledger that stood there is kept under another name. What happened
after the copy was taken is not in it, so nothing of it may be done again by itself: calls
that a Worker could have run meanwhile need a person, every Connection gets a new key and
a generation that no lost run can have reached, and a Worker of before can do nothing.

Source  the design's rules on ledgers and secrets (D5, D9, §5).
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from rulith.base.clock import Clock, stamp
from rulith.base.errors import Refused
from rulith.base.ids import mint, mint_token
from rulith.board.operations import RESTORABLE
from rulith.board.registry import Registry
from rulith.disk.atomic import sync_folder, write_refusal
from rulith.disk.home import Home
from rulith.disk.ledger_place import keep_place
from rulith.disk.locks import KernelLock
from rulith.disk.profiles import Profile, agent_secrets, device_secrets, list_profiles, worker_secrets
from rulith.disk.runfile import read_live
from rulith.gateway.authority import GATEWAY_CHAIN, REGISTRY, Authority, token_hash
from rulith.gateway.first_start import finish, gateway_secrets
from rulith.store.checks import check_file, file_digest
from rulith.store.ledger import Ledger

GENERATION_LEAP = 1_000_000      # more Workers than one line can have had between a backup and its restore
GATEWAY = {"kind": "gateway"}
REASON = ("This ledger was restored from a backup. The call was under way when the backup was taken; "
          "whether it took effect since then is not known.")
LEFT_S = 3_600.0
_PIECE = 1 << 20
_ENDS = ("", "-wal", "-shm")


# --- backup ----------------------------------------------------------------------------


async def back_up(authority: Authority, folder: Path) -> dict:
    """Copy the ledger of a running gateway to a new file in `folder`, a piece a turn; {file, digest, bytes, rows}.

    Whoever asked moves the file to where it shall be.
    """
    path = folder / f"backup-{mint('', 16)}.db"
    for left in folder.glob("backup-*.db*"):
        if left.stat().st_mtime < authority.clock.wall_s() - LEFT_S:
            left.unlink(missing_ok=True)            # whoever asked for it did not live to take it away
    rows = sum(authority.ledger.head(name)[0] for name in authority.ledger.chains())
    for _ in authority.ledger.backup_in_steps(path):
        await asyncio.sleep(0)
    found = hashlib.sha256()
    with open(path, "rb") as file:
        while piece := file.read(_PIECE):
            found.update(piece)
            await asyncio.sleep(0)
    return {"file": str(path), "digest": f"sha256:{found.hexdigest()}", "bytes": path.stat().st_size, "rows": rows}


def back_up_closed(home: Home, target: Path, clock: Clock) -> dict:
    """Copy the ledger of a home in which no gateway runs. Raises Refused: ledger_in_use, ledger_damaged, write_failed."""
    ledger = Ledger.open(home.ledger, clock)
    try:
        rows = sum(ledger.head(name)[0] for name in ledger.chains())
        ledger.backup_to(target)
    finally:
        ledger.close()
    return {"file": str(target), "digest": f"sha256:{file_digest(target)}", "bytes": target.stat().st_size, "rows": rows}


# --- restore ---------------------------------------------------------------------------


async def restore(home: Home, backup: Path, clock: Clock) -> dict:
    """Put the ledger of `backup` in place of the home's own.

    Returns {digest, rows, until, kept, connections, profiles, calls}: `kept` is the name of the ledger
    that stood there, `calls` those that now need a person.
    Raises Refused: gateway_running, ledger_in_use, file_unusable, backup_unusable.
    """
    running = read_live(home.gateway_json)
    if running is not None:
        raise Refused("gateway_running", home=home.path, pid=running["pid"], url=running.get("url", "unknown address"))
    home.prepare()
    present = _generations(home, clock)
    staging = home.ledger.parent / f"restore-{mint('', 16)}"
    lock = KernelLock(home.ledger.with_name(home.ledger.name + ".lock"))
    if not lock.take():
        raise Refused("ledger_in_use", path=str(home.ledger), pid=lock.holder_pid() or "unknown")
    try:
        staging.mkdir(0o700)
        digest = _stage(backup, staging / "ledger.db")
        secrets = _Secrets(home)
        told = _renew(Ledger.open(staging / "ledger.db", clock), clock, present, secrets, digest)
        kept = _swap(staging / "ledger.db", home.ledger, stamp(clock.wall_s()))
        keep_place(home)
        secrets.keep()
        finish(home)
    except OSError as problem:
        raise write_refusal(home.ledger, problem) from None
    finally:
        shutil.rmtree(staging, ignore_errors=True)
        lock.release()
    return {"digest": digest, "kept": kept, "profiles": secrets.told, **told}


def _generations(home: Home, clock: Clock) -> dict[str, int]:
    """The fence generations of the ledger that is about to be replaced, as far as it can be read."""
    if not home.ledger.exists():
        return {}
    registry = Registry()
    try:
        ledger = Ledger.open(home.ledger, clock, put_aside=False)
    except Refused as refusal:
        if refusal.code == "ledger_in_use":
            raise
        return {}
    try:
        for row in ledger.rows(GATEWAY_CHAIN):
            if row.kind == REGISTRY:
                registry.replay(row.body)
    except (Refused, AssertionError):
        pass                        # what was read until then counts
    finally:
        ledger.close()
    return {each["id"]: each["fence"]["generation"] for each in registry.connections.values()}


def _stage(backup: Path, place: Path) -> str:
    """Copy the backup to `place`, whole and sound, and give its digest."""
    if not backup.is_file() or not backup.stat().st_size:
        raise Refused("file_unusable", path=str(backup), problem="it is no file, or an empty one")
    shutil.copyfile(backup, place)
    log = backup.with_name(backup.name + "-wal")
    if log.exists():
        shutil.copyfile(log, place.with_name(place.name + "-wal"))      # a ledger copied by hand
    for each in place.parent.iterdir():
        os.chmod(each, 0o600)
    try:
        check_file(place, put_aside=False)
    except Refused as refusal:
        problem = refusal.facts.get("problem", refusal.happened)
        raise Refused("backup_unusable", path=str(backup), problem=str(problem).rstrip(".")) from None
    return f"sha256:{file_digest(backup)}"


class _Secrets:
    """New keys for every Connection, and the tokens of this home's own roles; written once the ledger stands that knows them."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._keys: dict[str, str] = {}
        self._device = ""
        self._profiles = list_profiles(home)
        self.told: list[str] = []

    def new_key(self, connection_id: str) -> str:
        self._keys[connection_id] = mint_token("rlt_key_")
        return token_hash(self._keys[connection_id])

    def device_hash(self) -> str:
        self._device = device_secrets(self._home).load().get("token") or mint_token("rlt_dev_")
        return token_hash(self._device)

    def agent_hashes(self, known: Mapping[str, Mapping]) -> dict[str, str]:
        """What this home's own Agents hold, where the restored ledger knows another token of theirs."""
        found = {}
        for profile in self._profiles:
            token = agent_secrets(profile).load().get("RULITH_TOKEN")
            if token and profile.agent_id in known and known[profile.agent_id]["tokenHash"] != token_hash(token):
                found[profile.agent_id] = token_hash(token)
        return found

    def keep(self) -> None:
        gateway_secrets(self._home).update(self._keys)
        device_secrets(self._home).update({"token": self._device})
        for profile in self._profiles:
            if profile.connection_id in self._keys:
                self._hand_over(profile)

    def _hand_over(self, profile: Profile) -> None:
        worker_secrets(profile).update({"RULITH_CONNECTION_KEY": self._keys[profile.connection_id]})
        self.told.append(profile.name)


def _renew(ledger: Ledger, clock: Clock, present: Mapping[str, int], secrets: _Secrets, digest: str) -> dict:
    """Write into the restored ledger what keeps the lost time from acting in it. Closes `ledger`."""
    try:
        authority = Authority(ledger, clock)
        registry = authority.registry
        if not ledger.chains():
            raise Refused("backup_unusable", path="the backup", problem="it holds no row")
        rows = sum(ledger.head(name)[0] for name in ledger.chains())
        until = max(row.at for name in ledger.chains() for row in ledger.rows(name, ledger.head(name)[0] - 1))
        connections = {each["id"]: {"keyHash": secrets.new_key(each["id"]),
                                    "generation": max(each["fence"]["generation"], present.get(each["id"], 0)) + GENERATION_LEAP}
                       for each in registry.connections.values()}
        authority.command_registry({"kind": "restored", "authority": GATEWAY, "digest": digest, "connections": connections,
                                    "agents": secrets.agent_hashes(registry.agents), "deviceGrant": secrets.device_hash()})
        calls = _doubt(authority)
        authority.turns.flush()
    finally:
        ledger.close()
    return {"rows": rows, "until": until, "connections": len(connections), "calls": calls}


def _doubt(authority: Authority) -> list[str]:
    """Every call that may have run since the backup needs a person; decisions on them are withdrawn."""
    told = []
    for agent_id, state in authority.agents.items():
        operation = state.operations.unresolved()
        if operation is None or operation.state not in RESTORABLE:
            continue
        if operation.decision and authority.registry.decision_state(operation.decision["id"], authority.now()) == "pending":
            authority.command_registry({"kind": "withdraw_decision", "id": operation.decision["id"], "authority": GATEWAY})
        authority.command_operation(agent_id, {"kind": "restored", "ordinal": operation.ordinal, "reason": REASON})
        told.append(operation.label)
    return told


def _swap(fresh: Path, place: Path, at: str) -> str | None:
    """Put `fresh` at `place`; what stood there stays beside it. Returns its name, if there was one."""
    kept = place.with_name(f"{place.name}.replaced-{at.replace(':', '').replace('.', '')}")
    is_there = place.exists()
    for end in _ENDS:
        old = place.with_name(place.name + end)
        if old.exists():
            os.rename(old, kept.with_name(kept.name + end))
    os.rename(fresh, place)
    with open(place, "rb+") as file:
        os.fsync(file.fileno())
    sync_folder(place.parent)
    return kept.name if is_there else None
