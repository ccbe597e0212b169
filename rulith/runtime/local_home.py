"""A run without a token of its own: what the home provides, and what it starts for this run.

The profile's token and settings come from the home; the live gateway is used, or one is
started for this run; the profile's Worker is started when its line is free. The profile's
lock is held from before the first connection. What this run started ends with it, the
Worker first, so that it can still report.

Source  the design, "Cron"
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

from rulith.base.errors import Refused
from rulith.disk.archive import kept_archive
from rulith.disk.home import Home
from rulith.disk.locks import HeldLock, take_lock
from rulith.disk.profiles import Profile, agent_secrets, device_secrets, find_profile, list_profiles, role_env, worker_secrets
from rulith.disk.runfile import read_live
from rulith.net.client import HttpClient, NetFailed
from rulith.procs.roles import RoleProcess

GATEWAY_START_S = 30.0
WORKER_START_S = 20.0
STATE_TIMEOUT_S = 15.0
# The model's key belongs to the service it was saved for.
_MODEL_KEYS = ("RULITH_MODEL_KEY", "ANTHROPIC_API_KEY")


def take_agent_lock(path) -> HeldLock:
    """The lock of whoever works as this Agent. Raises Refused agent_overlaps."""
    try:
        return take_lock(path, "agent")
    except Refused as refusal:
        if refusal.code not in ("lock_held", "lock_elsewhere"):
            raise
        holder = f" (process {refusal.facts['pid']})"
        raise Refused("agent_overlaps", path=str(path), holder=holder) from None


def agent_environment(profile: Profile, environ: Mapping[str, str], url: str) -> dict[str, str]:
    """The Agent's settings: the profile's, then what this environment says differently, then the gateway found."""
    secrets = agent_secrets(profile).load()
    named = {name: value for name, value in environ.items() if name.startswith("RULITH_") and value}
    if "RULITH_MODEL_URL" in named:
        secrets = {name: value for name, value in secrets.items() if name not in _MODEL_KEYS}
    own_key = {name: environ[name] for name in ("ANTHROPIC_API_KEY",) if environ.get(name)}
    return {**role_env(profile, "agent"), **secrets, **own_key, **named, "RULITH_URL": url,
            "RULITH_TOKEN": secrets.get("RULITH_TOKEN", "")}


class LocalHome:
    """The home during one run. `prepare()` once, `end()` always."""

    def __init__(self, home: Home, http: HttpClient, *, log: Callable[[str], None]) -> None:
        self._home = home
        self._http = http
        self._log = log
        self._lock: HeldLock | None = None
        self._gateway: RoleProcess | None = None
        self._worker: RoleProcess | None = None

    def profile_now(self, name: str | None) -> Profile | None:
        """The profile, when the home has any yet. Raises Refused profile_unknown, profile_ambiguous."""
        if not self._home.registry.exists() or not list_profiles(self._home):
            return None
        return find_profile(self._home, name)

    async def prepare(self, name: str | None, environ: Mapping[str, str]) -> dict[str, str]:
        """The Agent's settings, with everything they point at running.

        Raises Refused: profile_unknown, profile_ambiguous, agent_overlaps, child_failed, home_incomplete, and the disk's.
        """
        self._home.prepare()
        profile = self.profile_now(name)
        if profile is not None:
            self._lock = take_agent_lock(profile.agent_lock)
        url = await self._reach_gateway()
        if profile is None:
            profile = find_profile(self._home, name)
            self._lock = take_agent_lock(profile.agent_lock)
        if not agent_secrets(profile).load().get("RULITH_TOKEN"):
            raise Refused("home_incomplete", home=str(self._home.path), what=f"an Agent token for the profile {profile.name!r}")
        await self._reach_worker(profile, url)
        return agent_environment(profile, environ, url)

    async def end(self) -> None:
        """Stop what this run started and let the profile go."""
        for role in (self._worker, self._gateway):
            if role is not None:
                await role.stop()
        self._worker = self._gateway = None
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    async def _reach_gateway(self) -> str:
        record = read_live(self._home.gateway_json)
        if record is not None and isinstance(record.get("url"), str):
            return record["url"]
        self._log("no gateway is running for this home; one is started for this run")
        log_path = self._home.logs / "gateway.log"
        self._gateway = await RoleProcess.spawn(
            "gateway", env={"RULITH_HOME": str(self._home.path)}, args=["--home", str(self._home.path)],
            archive=kept_archive(self._home), log_path=log_path)
        try:
            event = await self._gateway.wait_for_event("listening", GATEWAY_START_S)
        except Refused as refusal:
            raise Refused("child_failed", role="gateway", said=f" ({refusal.happened})", log=str(log_path)) from None
        return str(event["url"])

    async def _reach_worker(self, profile: Profile, url: str) -> None:
        if await self._is_line_held(profile, url):
            return
        secrets = worker_secrets(profile).load()
        if not secrets.get("RULITH_CONNECTION"):
            self._log(f"the profile {profile.name!r} has no Connection, so no Worker is started")
            return
        self._log("the profile's Worker is started for this run")
        env = {**role_env(profile, "worker"), **secrets, "RULITH_WORK_URL": f"{url}/work"}
        self._worker = await RoleProcess.spawn(
            "worker", env=env, archive=kept_archive(self._home), log_path=self._home.logs / "worker.log")
        try:
            await self._worker.wait_for_event("up", WORKER_START_S)
        except Refused as refusal:
            if refusal.code == "role_ended":
                raise Refused("child_failed", role="worker", said=f" ({refusal.happened})",
                              log=str(self._home.logs / "worker.log")) from None
            self._log(f"the Worker has not answered yet: {refusal.happened}")

    async def _is_line_held(self, profile: Profile, url: str) -> bool:
        """Whether a Worker already serves this profile's Connection."""
        token = device_secrets(self._home).load().get("token", "")
        if not token:
            raise Refused("home_incomplete", home=str(self._home.path), what="its device grant")
        try:
            answer = await self._http.request("GET", f"{url}/local/state", {"authorization": f"Bearer {token}"},
                                              timeout_s=STATE_TIMEOUT_S)
            state = json.loads(answer.body) if answer.status == 200 else {}
        except NetFailed as failed:
            raise Refused("gateway_unreachable", url=url, problem=failed.detail) from None
        except ValueError:
            state = {}
        if answer.status != 200 or not isinstance(state, dict):
            raise Refused("surface_answer", url=url, step="/local/state", problem=f"HTTP {answer.status}")
        for row in state.get("connections") or []:
            if isinstance(row, dict) and row.get("id") == profile.connection_id:
                line = row.get("line")
                return isinstance(line, dict) and line.get("state") == "online"
        return False
