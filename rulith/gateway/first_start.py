"""How far a home's first start came, and whether a home was used that has no ledger now.

`gateway/genesis.json` says `begun` before any other file of a genesis is written, and
`done` once its rows are in the ledger. Promises: a ledger without rows is taken as fresh
only in a home where nothing was ever set up, or whose first start was cut short; in any
other it is a lost one, and is refused before anything is changed: a fresh one would know
of no finished job, and would do each of them again.

Source  the design's rules on ledgers and genesis rows (§5, D5).
"""

from __future__ import annotations

from collections.abc import Iterator

from rulith.base.errors import Refused
from rulith.disk.atomic import write_whole
from rulith.disk.home import Home
from rulith.disk.profiles import list_profiles
from rulith.disk.vault import Vault

SIGNING_KEY = "RECEIPT_SIGNING_SEED"
CREDENTIALS = ("RULITH_TOKEN", "RULITH_CONNECTION_KEY")
BEGUN = b'{"format": "rulith-genesis/1", "state": "begun"}\n'
DONE = b'{"format": "rulith-genesis/1", "state": "done"}\n'
IS_GONE, IS_EMPTY, HAS_NO_ROWS = "is gone", "is empty", "holds no row"


def gateway_secrets(home: Home) -> Vault:
    """The gateway's own secrets: the seed of its signing key, and Connection keys by Connection id."""
    return Vault(home.secrets / "gateway.json")


def _mark(home: Home) -> bytes | None:
    """What the mark says; None where there is none. One that says anything else counts as done."""
    try:
        return home.genesis_mark.read_bytes()[:1024]
    except FileNotFoundError:
        return None
    except OSError:
        return b""


def begin(home: Home) -> None:
    """Mark that a genesis has begun, in a home that may have one. Raises Refused ledger_missing, disk_full, write_failed."""
    check_unused(home, HAS_NO_ROWS)
    if _mark(home) != BEGUN:
        write_whole(home.genesis_mark, BEGUN)


def finish(home: Home) -> None:
    """Mark that the ledger has rows; from now on one without is a lost one."""
    if _mark(home) != DONE:
        write_whole(home.genesis_mark, DONE)


def check_ledger_file(home: Home) -> None:
    """Raises Refused ledger_missing where the file is gone or empty and the home was used; opens and changes nothing."""
    try:
        state = None if home.ledger.stat().st_size else IS_EMPTY
    except FileNotFoundError:
        state = IS_GONE
    except OSError:
        return                          # whoever opens it tells why it cannot be
    if state is not None:
        check_unused(home, state)


def check_unused(home: Home, state: str) -> None:
    """Raises Refused ledger_missing unless this home may have its genesis. `state` says what became of the ledger."""
    mark = _mark(home)
    if mark == BEGUN:
        return
    found = list(_traces(home))
    if mark is not None:
        found.append("its first start was completed")
    if found:
        raise Refused("ledger_missing", home=str(home.path), ledger=str(home.ledger), found="; ".join(found), state=state)


def check_own(home: Home) -> None:
    """Raises Refused store_foreign where a ledger with rows was named in a home that never had one: it is another home's."""
    if home.store is not None and _mark(home) is None and not any(_traces(home)):
        raise Refused("store_foreign", ledger=str(home.ledger), home=str(home.path))


def _holds(vault: Vault, *names: str) -> bool:
    """Whether one of these is in it; one that cannot be read may hold them."""
    try:
        return not vault.load().keys().isdisjoint(names)
    except Refused:
        return True


def _traces(home: Home) -> Iterator[str]:
    """What only a genesis or a later act leaves in a home; what belongs to a gateway elsewhere says nothing of this one."""
    elsewhere: set[str] = set()
    try:
        for profile in list_profiles(home):
            if profile.origin or profile.target:
                elsewhere.add(profile.directory.name)
            elif profile.agent_id or profile.connection_id:
                yield f"the profile {profile.name!r} names an Agent and a Connection"
    except Refused:
        yield f"{home.registry.name} cannot be read"
    if _holds(Vault(home.device_secrets), "token"):
        yield f"the device's grant is in {home.device_secrets.name}"
    secrets = [path for path in home.instances.glob("*/*.secrets.json") if path.parent.name not in elsewhere and _holds(Vault(path), *CREDENTIALS)]
    if secrets:
        yield f"there are secrets of its Agents and Workers ({len(secrets)} files)"
    try:
        keys = set(gateway_secrets(home).load()) - {SIGNING_KEY}
    except Refused:
        keys = {"unreadable"}
    if keys:
        yield "the gateway's secrets hold Connection keys"
