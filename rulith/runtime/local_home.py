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
from pathlib import Path

from rulith.base.errors import Refused
from rulith.disk.archive import kept_archive
from rulith.disk.home import Home
from rulith.disk.locks import HeldLock, take_lock
from rulith.disk.model_settings import agent_credentials, agent_env
from rulith.disk.profiles import Profile, agent_secrets, find_profile, list_profiles, worker_secrets
from rulith.local.gateway import LocalGateway, find_or_start_gateway, gateway_elsewhere
from rulith.local.roles import KeptWorker, line_is_free
from rulith.net.client import HttpClient
from rulith.procs.roles import Event
from rulith.runtime.surface import flat

WORKER_READY_S = 20.0
# The model's key belongs to the service it was saved for.
_MODEL_KEYS = ("RULITH_MODEL_KEY", "ANTHROPIC_API_KEY")


def take_agent_lock(path: Path | str) -> HeldLock:
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
    secrets = agent_credentials(profile)
    named = {name: value for name, value in environ.items() if name.startswith("RULITH_") and value}
    if "RULITH_MODEL_URL" in named:
        secrets = {name: value for name, value in secrets.items() if name not in _MODEL_KEYS}
    own_key = {name: environ[name] for name in ("ANTHROPIC_API_KEY",) if environ.get(name)}
    kept = {**profile.agent_files,
            "RULITH_CONVERSATION_OWNER": json.dumps(profile.owner)}
    if profile.serve_port is not None:
        kept["RULITH_SERVE_PORT"] = str(profile.serve_port)
    return {**kept, **agent_env(profile), **secrets, **own_key, **named, "RULITH_URL": url,
            "RULITH_TOKEN": secrets.get("RULITH_TOKEN", "")}


class LocalHome:
    """The home during one run. `prepare()` once, `end()` always.

    skips   calls that the Worker of this run would not run, each with its code and reason
    """

    def __init__(self, home: Home, http: HttpClient, *, log: Callable[[str], None]) -> None:
        self._home = home
        self._http = http
        self._log = log
        self._lock: HeldLock | None = None
        self._gateway: LocalGateway | None = None
        self._worker: KeptWorker | None = None
        self.skips: list[dict[str, str]] = []

    def profile_now(self, name: str | None) -> Profile | None:
        """The profile, when the home has any yet. Raises Refused profile_unknown, profile_ambiguous."""
        if not self._home.registry.exists() or not list_profiles(self._home):
            return None
        return find_profile(self._home, name)

    async def prepare(self, name: str | None, environ: Mapping[str, str]) -> dict[str, str]:
        """The Agent's settings, with everything they point at running.

        Raises Refused: profile_unknown, profile_ambiguous, agent_overlaps, account_needed, gateway_not_started, child_failed,
        home_incomplete, and what the disk refuses.
        """
        self._home.prepare()
        profile = self.profile_now(name)
        if profile is not None:
            self._lock = take_agent_lock(profile.agent_lock)
        archive = kept_archive(self._home)
        self._gateway = (gateway_elsewhere(self._home, profile) if profile is not None else None) or await find_or_start_gateway(self._home, archive=archive)
        if self._gateway.process is not None:
            self._log("no gateway was running for this home; one is started for this run")
        if profile is None:
            profile = find_profile(self._home, name)
            self._lock = take_agent_lock(profile.agent_lock)
        if not agent_secrets(profile).load().get("RULITH_TOKEN"):
            raise Refused("home_incomplete", home=str(self._home.path), what=f"an Agent token for the profile {profile.name!r}")
        await self._reach_worker(profile, self._gateway, archive)
        found = agent_environment(profile, environ, self._gateway.url)
        prices = self._home.path / "prices.json"
        return {**({"RULITH_PRICES": str(prices)} if prices.exists() else {}), **found}

    async def end(self) -> None:
        """Stop what this run started and let the profile go."""
        if self._worker is not None:
            await self._worker.stop()
        if self._gateway is not None:
            await self._gateway.stop()
        self._worker = self._gateway = None
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    async def _reach_worker(self, profile: Profile, gateway: LocalGateway, archive: Path | None) -> None:
        if not line_is_free(await gateway.read(self._http, "state"), profile.connection_id):
            return
        if not worker_secrets(profile).load().get("RULITH_CONNECTION"):
            self._log(f"the profile {profile.name!r} has no Connection, so no Worker is started")
            return
        self._log("the profile's Worker is started for this run")
        self._worker = KeptWorker(self._home, profile, gateway.url, archive, on_event=self._hear_worker)
        first = await self._worker.start()
        try:
            await first.wait_for_event("lease", WORKER_READY_S)
        except Refused as refusal:
            if refusal.code == "role_ended":
                raise Refused("child_failed", role="Worker", said=f" ({refusal.happened})", log=str(self._home.logs)) from None
            self._log(f"the Worker has no lease yet; its calls wait for it ({refusal.happened})")

    def _hear_worker(self, event: Event) -> None:
        """Why the Worker leaves a call alone: without this the Agent only waits."""
        if event.get("type") == "skip":
            skip = {"code": flat(event.get("code", ""), 80), "reason": flat(event.get("reason", ""), 600)}
            self.skips.append(skip)
            self._log(f"  ! {skip_words(skip)}")


def skip_words(skip: Mapping[str, str]) -> str:
    return f"The Worker does not run it ({skip['code']}): {skip['reason']}"
