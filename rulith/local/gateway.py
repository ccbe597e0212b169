"""The gateway of one home: the live one, or one started for as long as we run; and what it tells.

Reads go with the workbench's device grant, which decides nothing. Two starters at the same
moment end up at one gateway: the ledger's lock makes the later child refuse, and its
starter takes the earlier one.

Units   *_s seconds
Source  the design's rules on cron and roles (§6, D8, D11); the gateway's local API
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode, urlsplit

from rulith.base.errors import Refused
from rulith.disk.device import LINKED, DeviceFile
from rulith.disk.home import Home
from rulith.disk.profiles import Profile, device_secrets
from rulith.disk.runfile import read_live
from rulith.net.client import HttpClient, NetFailed
from rulith.procs.roles import Event, RoleProcess

START_S = 30.0               # opening folds the whole ledger
APPEAR_TRIES = 40            # a gateway that another process is starting
APPEAR_PAUSE_S = 0.25
READ_TIMEOUT_S = 15.0
LOOPBACK = ("127.0.0.1", "::1", "localhost")     # the device grant goes nowhere else
LOST_THE_RACE = ("gateway_running", "ledger_in_use")


@dataclass
class LocalGateway:
    """Where this home's gateway answers. `process` is ours to stop, or None when it was running before."""

    url: str
    grant: str
    process: RoleProcess | None = None

    async def stop(self) -> None:
        if self.process is not None:
            await self.process.stop()

    async def read(self, client: HttpClient, path: str, query: Mapping[str, str] | None = None,
                   *, timeout_s: float = READ_TIMEOUT_S, method: str = "GET") -> dict:
        """The object at `/local/<path>`. Raises Refused: gateway_not_ready, gateway_refused, gateway_answer."""
        target = f"{self.url}/local/{path}" + (f"?{urlencode(query)}" if query else "")
        try:
            answer = await client.request(method, target, {"authorization": f"Bearer {self.grant}"}, timeout_s=timeout_s)
        except NetFailed as problem:
            raise Refused("gateway_not_ready", problem=problem.detail) from None
        return read_answer(path, answer.status, answer.body)


def read_answer(path: str, status: int, body: bytes) -> dict:
    """The object of a local API's answer; its refusal in the gateway's own words."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError) as problem:
        raise Refused("gateway_answer", path=path, problem=f"status {status}, {problem}") from None
    if not isinstance(value, dict):
        raise Refused("gateway_answer", path=path, problem=f"status {status}, no object")
    if status == 200:
        return value
    words = next((value[key] for key in ("happened", "teaching", "error", "message") if isinstance(value.get(key), str)),
                 f"The gateway answered {status}.")
    todo = value["next"] if isinstance(value.get("next"), str) else ""
    raise Refused("gateway_refused", happened=words, todo=todo)


def find_gateway(home: Home) -> LocalGateway | None:
    """The live gateway of the home, or None."""
    live = read_live(home.gateway_json)
    if live is None or not isinstance(live.get("url"), str):
        return None
    if urlsplit(live["url"]).hostname not in LOOPBACK:
        raise Refused("gateway_not_started", problem=f"{home.gateway_json} names {live['url'][:100]!r}, which is not on this machine")
    return LocalGateway(str(live["url"]), _grant(home))


def gateway_elsewhere(home: Home, profile: Profile) -> LocalGateway | None:
    """The gateway that the profile's Agent is of, by this home's sign-in there; None where it is the home's own. Raises Refused account_needed."""
    if not profile.origin:
        return None
    file = DeviceFile(home)
    if file.state != LINKED or (file.origin, file.account_id) != (profile.origin, profile.account_id):
        raise Refused("account_needed", name=profile.name, origin=profile.origin)
    return LocalGateway(profile.origin, str(file.row["token"]))


async def find_or_start_gateway(home: Home, *, env: Mapping[str, str] | None = None, archive: Path | None = None,
                                on_event: Callable[[Event], None] | None = None) -> LocalGateway:
    """The home's gateway, started from `archive` where none is live.

    env   further settings of a gateway that is started, e.g. RULITH_SEED_WORKSPACE
    Raises Refused: role_not_started, gateway_not_started, and what the vault refuses.
    """
    home.prepare()
    found = find_gateway(home)
    if found is not None:
        return found
    process = await RoleProcess.spawn("gateway", env={"RULITH_HOME": str(home.path), **(env or {})}, archive=archive,
                                      log_path=home.logs / "gateway.log", on_event=on_event)
    try:
        listening = await process.wait_for_event("listening", START_S)
    except Refused as refusal:
        await process.stop()
        if process.latest.get("error", {}).get("code") in LOST_THE_RACE:
            return await _appearing(home)
        said = process.latest.get("error", {}).get("teaching")
        raise Refused("gateway_not_started", problem=str(said or refusal.happened).rstrip(".")) from None
    return LocalGateway(str(listening["url"]), _grant(home), process)


async def _appearing(home: Home) -> LocalGateway:
    """The gateway that another process is starting just now."""
    for _ in range(APPEAR_TRIES):
        found = find_gateway(home)
        if found is not None:
            return found
        await asyncio.sleep(APPEAR_PAUSE_S)
    raise Refused("gateway_not_started", problem="another process holds its ledger and does not answer")


def _grant(home: Home) -> str:
    return str(device_secrets(home).load().get("token", ""))
