"""`rulith doctor [--home DIR] [--json] [--repair]`: what this machine and this home look like, one line for each thing.

Looks and changes nothing: no folder is made, no secret shown; `--repair` does what
doctor_repair.py lists, and nothing else. Where a gateway runs, it is
asked to check its ledger; where none does, the ledger is opened for as long as that takes.

Exit  0 nothing is wrong, 1 something is, 2 wrong options.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import socket
import stat
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from urllib.parse import urlsplit

from rulith import VERSION
from rulith.base.clock import SystemClock, seconds_of, stamp
from rulith.base.errors import Refused
from rulith.base.plain_text import plain
from rulith.commands.doctor_council import look_at_council
from rulith.commands.doctor_repair import leftovers, take_away
from rulith.disk.device import ENDED, NONE, UNREADABLE, DeviceFile
from rulith.disk.home import Home, find_home
from rulith.disk.locks import holder_of
from rulith.disk.mcp_services import file_of, read_services, tools_of
from rulith.disk.model_settings import agent_credentials, agent_env
from rulith.disk.profiles import Profile, agent_secrets, check_folder, device_secrets, list_profiles, worker_secrets
from rulith.disk.runfile import read_live
from rulith.disk.vault import Vault
from rulith.gateway.first_start import HAS_NO_ROWS, SIGNING_KEY, check_ledger_file, check_unused, gateway_secrets
from rulith.gateway.signing import Signer
from rulith.local.gateway import LocalGateway, find_gateway
from rulith.net.client import HttpClient
from rulith.net.tls import client_context
from rulith.procs.archive import interpreter, running_archive
from rulith.store.ledger import Ledger, engine_version

OK, NOTE, WRONG = "ok", "note", "wrong"
EXIT_OK, EXIT_WRONG, EXIT_USAGE = 0, 1, 2
PORTS = {7780: "workbench", 7781: "gateway", 8787: "council"}
SQLITE_NEEDED, SQLITE_MENDED = (3, 37, 0), (3, 51, 3)     # STRICT tables; the write-ahead log with several connections
FREE_BYTES_MIN = 100 * 2**20
LEDGER_CHECK_S = 600.0
REMOTE = ("nfs", "cifs", "smb", "fuse.sshfs", "9p", "afs", "ceph", "glusterfs", "fuse.glusterfs")
CLOCK_MARGIN_S = 2.0
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


@dataclass(frozen=True)
class Finding:
    name: str
    state: str
    text: str


def read_options(argv: Sequence[str]) -> tuple[str | None, bool, bool]:
    """(--home, --json, --repair). Raises Refused: option_unknown, option_value."""
    words, home, as_json, repair = list(argv), None, False, False
    while words:
        name, joined, value = words.pop(0).partition("=")
        if name == "--json" and not joined:
            as_json = True
        elif name == "--repair" and not joined:
            repair = True
        elif name == "--home":
            if not joined and not words:
                raise Refused("option_value", verb="doctor", option=name)
            home = value if joined else words.pop(0)
        else:
            raise Refused("option_unknown", verb="doctor", option=name[:60])
    return home, as_json, repair


def main(argv: Sequence[str]) -> int:
    try:
        option, as_json, repair = read_options(argv)
    except Refused as refusal:
        sys.stderr.write(refusal.teaching + "\n")
        return EXIT_USAGE
    home = find_home(option, os.environ)
    findings = list(examine(home, os.environ, repair=repair))
    is_well = all(each.state != WRONG for each in findings)
    if as_json:
        print(json.dumps({"home": str(home.path), "ok": is_well, "checks": [asdict(each) for each in findings]}, ensure_ascii=False))
    else:
        for each in findings:
            print(plain(f"{each.state:<6} {each.name:<12} {each.text}"))
    return EXIT_OK if is_well else EXIT_WRONG


def examine(home: Home, environ: Mapping[str, str], *, repair: bool = False) -> Iterator[Finding]:
    """Everything that is looked at, in the order of a reader's questions."""
    yield from _machine()
    yield _finding("certificates", lambda: _certificates(environ))
    yield from _home(home)
    if not home.path.is_dir():
        return
    for path, what in leftovers(home, SystemClock()):
        done = take_away(path) if repair else "`rulith doctor --repair` removes it"
        yield Finding("leftover", NOTE, f"{path} {what}; {done}")
    yield from _secrets(home)
    yield from _profiles(home, environ)
    yield from _running(home)
    yield from (Finding(*told) for told in look_at_council(home))
    yield from _ports(home)


def _count(number: int, what: str) -> str:
    return f"{number} {what}" + ("" if number == 1 else "s")


def _finding(name: str, look: Callable[[], Finding]) -> Finding:
    """What `look` finds; a refusal is a finding too."""
    try:
        return look()
    except Refused as refusal:
        return Finding(name, WRONG, refusal.teaching)


# --- the machine and the home ----------------------------------------------------------


def _machine() -> Iterator[Finding]:
    archive = running_archive()
    yield Finding("rulith", OK, f"{VERSION}, {archive if archive else 'a checkout, not a built file'}")
    yield _finding("python", lambda: Finding("python", OK, f"{'.'.join(map(str, sys.version_info[:3]))}, {interpreter()}"))
    version = tuple(int(part) for part in engine_version().split("."))
    if version < SQLITE_NEEDED:
        yield Finding("sqlite", WRONG, f"{engine_version()}; the ledger needs {'.'.join(map(str, SQLITE_NEEDED))} or newer. Use a newer Python.")
    elif version < SQLITE_MENDED:
        yield Finding("sqlite", OK, f"{engine_version()}; before 3.51.3 several connections could damage a write-ahead log, and the ledger has exactly one")
    else:
        yield Finding("sqlite", OK, engine_version())


def _certificates(environ: Mapping[str, str]) -> Finding:
    """Whom this machine's clients trust, as they would find it."""
    count = len(client_context(environ).get_ca_certs())
    named = [name for name in ("SSL_CERT_FILE", "RULITH_CA_FILE") if environ.get(name)]
    return Finding("certificates", OK, f"{_count(count, 'root')} trusted" + (f", with {' and '.join(named)}" if named else ""))


def _remote_file_system(path: Path) -> str:
    """The kind of the network file system that `path` stands on; empty for a local one, or where the system does not say."""
    try:
        mounts = Path("/proc/mounts").read_text("utf-8", "replace").splitlines()
    except OSError:
        return ""
    place, best, kind = os.path.realpath(path), "", ""
    for row in mounts:
        fields = row.split(" ")
        point = fields[1].encode("latin-1", "replace").decode("unicode_escape") if len(fields) > 2 else ""
        if point and (place == point or place.startswith(point.rstrip("/") + "/")) and len(point) >= len(best):
            best, kind = point, fields[2]
    return kind if kind.startswith(REMOTE) else ""


def _clock(ledger: Ledger) -> Finding:
    """The machine's clock beside the newest row: stamps only ascend, so a clock set back makes them stand still."""
    now_s = SystemClock().wall_s()
    newest = max((row.at for name in ledger.chains() for row in ledger.rows(name, ledger.head(name)[0] - 1)), default="")
    if newest and seconds_of(newest) > now_s + CLOCK_MARGIN_S:
        return Finding("clock", WRONG, f"{stamp(now_s)} here, and the ledger's newest row is of {newest}; set the clock before anything expires by it")
    return Finding("clock", OK, f"{stamp(now_s)}" + (f", the ledger's newest row is of {newest}" if newest else ""))


def _home(home: Home) -> Iterator[Finding]:
    path = home.path
    if not path.exists():
        yield Finding("home", NOTE, f"{path} does not exist yet; the first `rulith start` makes it")
        return
    found = os.stat(path)
    mode = f"{stat.S_IMODE(found.st_mode):04o}"
    if not stat.S_ISDIR(found.st_mode):
        yield Finding("home", WRONG, f"{path} is no folder")
        return
    if os.name == "posix" and found.st_uid != os.geteuid():
        yield Finding("home", WRONG, f"{path} belongs to user {found.st_uid}, not to you")
    elif os.name == "posix" and found.st_mode & 0o022:
        yield Finding("home", WRONG, f"{path} can be written to by others (mode {mode}); chmod go-w it")
    else:
        open_to = "" if os.name != "posix" or not found.st_mode & 0o055 else "; others can list it, which its secret files do not rest on"
        yield Finding("home", OK, f"{path}, mode {mode}{open_to}")
    yield from _disk(path, "", "move the home to a local disk (--home, RULITH_HOME)")
    yield from _elsewhere(home)


def _disk(path: Path, where: str, remedy: str) -> Iterator[Finding]:
    remote = _remote_file_system(path)
    if remote:
        yield Finding("disk", WRONG, f"{path} is on a network file system ({remote}), where a write-ahead log is not safe; {remedy}")
    free = shutil.disk_usage(path).free
    state = OK if free >= FREE_BYTES_MIN else WRONG
    yield Finding("disk", state, f"{free // 2**20} MiB free{where}" + ("" if state == OK else "; commits fail when it is full"))


def _elsewhere(home: Home) -> Iterator[Finding]:
    """The ledger's own place, where it does not lie in the home."""
    try:
        place = home.ledger
    except Refused as refusal:
        yield Finding("store", WRONG, refusal.teaching)
        return
    if place == home.own_ledger:
        return
    if not place.parent.is_dir():
        yield Finding("store", WRONG, f"the ledger is to be {place}, and its folder is gone; bring its disk back, or see docs/gateway.md, \"The ledger elsewhere\"")
        return
    yield Finding("store", OK, f"the ledger is {place}")
    yield from _disk(place.parent, " where the ledger is", "move its file to a local disk (`rulith gateway --store`)")


# --- secrets and profiles --------------------------------------------------------------


def _secrets(home: Home) -> Iterator[Finding]:
    yield Finding("secrets", OK, "file vault (0600 files in the home); the operating system's keyring is not part of this release")
    vaults: list[tuple[str, Vault]] = [("of the gateway", gateway_secrets(home)), ("of this device", device_secrets(home))]
    try:
        for profile in list_profiles(home):
            vaults += [(f"of {profile.name}'s Agent", agent_secrets(profile)), (f"of {profile.name}'s Worker", worker_secrets(profile))]
    except Refused:
        pass                             # told among the profiles
    for whose, vault in vaults:
        if vault.path.exists():
            yield _finding("vault", lambda whose=whose, vault=vault: Finding("vault", OK, f"{whose}: {_count(len(vault.load()), 'secret')}, {vault.path}"))
    device = DeviceFile(home)
    if device.state == UNREADABLE:
        yield Finding("sign-in", WRONG, device.problem)
    elif device.state != NONE:
        yield Finding("sign-in", NOTE if device.state in ENDED else OK, f"{device.state} at {device.origin}")
    yield _finding("signing key", lambda: _signing_key(home))


def _signing_key(home: Home) -> Finding:
    seed = gateway_secrets(home).load().get(SIGNING_KEY)
    if not seed:
        return Finding("signing key", NOTE, "none yet; the first start of the gateway mints it")
    return Finding("signing key", OK, f"{Signer(seed).public_hex} (public; `rulith verify FILE --key` takes it)")


def _profiles(home: Home, environ: Mapping[str, str]) -> Iterator[Finding]:
    try:
        profiles = list_profiles(home)
    except Refused as refusal:
        yield Finding("profiles", WRONG, refusal.teaching)
        return
    if not profiles:
        yield Finding("profiles", NOTE, "none yet; the first start makes one")
    for profile in profiles:
        yield _finding("profile", lambda profile=profile: _profile(profile, environ))
        if os.path.lexists(file_of(profile)):
            yield _finding("services", lambda profile=profile: _services(profile))
        held = holder_of(profile.agent_lock)
        if held is not None:
            yield Finding("lock", NOTE if held.code == "lock_held" else WRONG, f"the Agent {profile.name} is at work: {held.happened}")


def _profile(profile: Profile, environ: Mapping[str, str]) -> Finding:
    check_folder(profile)
    env = agent_env(profile)
    url = environ.get("RULITH_MODEL_URL") or env.get("RULITH_MODEL_URL", "")
    if not url:
        return Finding("profile", OK, f"{profile.name}: no model is configured, so its Agent works by rule alone; workspace {profile.workspace}")
    has_key = bool(environ.get("RULITH_MODEL_KEY") or agent_credentials(profile).get("RULITH_MODEL_KEY"))
    name = environ.get("RULITH_MODEL") or env.get("RULITH_MODEL") or ""
    host = url.partition("://")[2].partition("/")[0].rpartition("@")[2]
    is_here = host.rpartition(":")[0] in LOOPBACK or host in LOOPBACK
    lacks = "it has no name" if not name else "" if has_key or is_here else "its service is not on this computer and no key is saved"
    said = f"{profile.name}: model {name or '(unnamed)'} at {host}, key {'saved' if has_key else 'none'}"
    return Finding("profile", NOTE if lacks else OK, said + (f"; {lacks}" if lacks else ""))


def _services(profile: Profile) -> Finding:
    """What the profile's Worker would read at its start."""
    services = read_services(file_of(profile))
    return Finding("services", OK, f"{profile.name}: {_count(len(services), 'MCP service')} with {_count(len(tools_of(services)), 'Tool')}, {file_of(profile)}")


# --- what runs, and the ledger ---------------------------------------------------------


def _running(home: Home) -> Iterator[Finding]:
    bench = read_live(home.run / "workbench.json")
    yield Finding("workbench", OK, f"process {bench['pid']}, {bench.get('url')}" if bench else "not running")
    held = holder_of(home.workbench / "workbench.lock")
    if held is not None and (bench is None or held.facts.get("pid") != bench["pid"]):
        yield Finding("lock", WRONG, held.teaching)
    live = read_live(home.gateway_json)
    gateway = find_gateway(home) if live is not None else None
    if gateway is None:
        yield Finding("gateway", OK, "not running")
        try:
            yield from _closed_ledger(home)
        except Refused as refusal:
            yield Finding("ledger", WRONG, refusal.teaching)
        return
    yield from asyncio.run(_ask(gateway, live))


def _closed_ledger(home: Home) -> list[Finding]:
    check_ledger_file(home)
    if not home.ledger.exists():
        return [Finding("ledger", NOTE, "none yet; the first start of the gateway makes it")]
    ledger = Ledger.open(home.ledger, SystemClock(), put_aside=False)
    try:
        chains = {name: ledger.head(name)[0] for name in ledger.chains()}
        if not chains:
            check_unused(home, HAS_NO_ROWS)
        return [_ledger(chains, ledger.verify()), _clock(ledger)]
    finally:
        ledger.close()


def _ledger(chains: Mapping[str, int], problems: Sequence[str]) -> Finding:
    if problems:
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        return Finding("ledger", WRONG, f"{problems[0]}{more}; keep the file as it is and restore a backup")
    return Finding("ledger", OK, f"{_count(sum(chains.values()), 'row')} in {_count(len(chains), 'chain')}, every hash computed again")


async def _ask(gateway: LocalGateway, live: Mapping) -> list[Finding]:
    """What the running gateway says of itself and of its ledger."""
    client = HttpClient()
    try:
        state = await gateway.read(client, "state")
        checked = await gateway.read(client, "ledger", timeout_s=LEDGER_CHECK_S)
    except Refused as refusal:
        return [Finding("gateway", WRONG, f"process {live['pid']}, {live.get('url')}: {refusal.teaching}")]
    finally:
        await client.close()
    found = [Finding("gateway", OK, f"process {live['pid']}, {live.get('url')}"), _ledger(checked["chains"], checked["problems"])]
    if not state["store"]["ok"]:
        found.append(Finding("commits", WRONG, f"they fail, and no change is accepted until one works: {state['store']['problem']}"))
    found.append(Finding("passphrase", OK, "chosen") if state["passphraseSet"] else
                 Finding("passphrase", NOTE, f"none chosen yet; choose one at {live.get('url')}/console/ with the setup code"))
    for connection in state["connections"]:
        line = connection["line"]["state"]
        found.append(Finding("worker", OK, f"{connection['name']}: {'on the line' if line == 'online' else 'nobody is on the line'}"))
    waiting = [row for row in state["operations"] if row["state"] == "needs_person"]
    if waiting:
        found.append(Finding("calls", NOTE, f"{len(waiting)} whose effect is not known; a person settles them in the Console"))
    return found


def _ports(home: Home) -> Iterator[Finding]:
    runs = {"workbench": read_live(home.run / "workbench.json"), "gateway": read_live(home.gateway_json), "council": read_live(home.council_json)}
    ours = {urlsplit(str(record.get("url", ""))).port: role for role, record in runs.items() if record}
    for port, role in PORTS.items():
        if port in ours:
            yield Finding("port", OK, f"{port}: this home's {ours[port]}")
        elif _is_taken(port):
            yield Finding("port", NOTE, f"{port} ({role}) is taken by another program; the next free one is used")
        else:
            yield Finding("port", OK, f"{port} ({role}) is free")


def _is_taken(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1 if os.name == "posix" else 0)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return True
    return False
