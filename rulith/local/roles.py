"""The Worker and the Agent of one profile as children, each handed its own credentials only.

Source  the design's rules on roles (D8, D11); the workbench surface, "supervision"
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

from rulith.base.errors import Refused
from rulith.disk.home import Home
from rulith.disk.materials import worker_materials
from rulith.disk.mcp_services import worker_services
from rulith.disk.model_settings import agent_credentials, agent_env
from rulith.disk.profiles import Profile, check_folder, role_env, worker_secrets
from rulith.procs.roles import Event, RoleProcess

Listener = Callable[[Event], None]
RESTART_PAUSES_S = (0.25, 1.0, 4.0)
CREDENTIAL_REJECTED, CONFIGURATION = 3, 2          # exits of a Worker that a new try cannot mend


def worker_settings(home: Home, profile: Profile, gateway_url: str) -> dict[str, str]:
    """All that the profile's Worker needs: its settings, its Connection key, no one else's secret."""
    check_folder(profile)
    return {
        "RULITH_HOME": str(home.path),
        "RULITH_WORK_URL": gateway_url + "/work",
        **role_env(profile, "worker"),
        **worker_materials(profile),
        **worker_services(profile),
        **{name: str(value) for name, value in worker_secrets(profile).load().items()},
    }


def agent_settings(home: Home, profile: Profile, gateway_url: str) -> dict[str, str]:
    """All that the profile's Agent needs: its settings, its token, its model key."""
    check_folder(profile)
    return {
        "RULITH_HOME": str(home.path),
        "RULITH_URL": gateway_url,
        "RULITH_AGENT_LOCK": str(profile.agent_lock),
        **agent_env(profile),
        **agent_credentials(profile),
    }


async def start_worker(home: Home, profile: Profile, gateway_url: str, *, archive: Path | None = None,
                       on_event: Listener | None = None) -> RoleProcess:
    """Raises Refused role_not_started, and what the vault refuses."""
    return await RoleProcess.spawn("worker", env=worker_settings(home, profile, gateway_url), archive=archive,
                                   log_path=home.logs / f"worker-{profile.id}.log", cwd=profile.workspace, on_event=on_event)


async def start_agent(home: Home, profile: Profile, gateway_url: str, args: Sequence[str], *, archive: Path | None = None,
                      on_event: Listener | None = None) -> RoleProcess:
    """Raises Refused role_not_started, and what the vault refuses."""
    return await RoleProcess.spawn("agent", env=agent_settings(home, profile, gateway_url), args=args, archive=archive,
                                   log_path=home.logs / f"agent-{profile.id}.log", on_event=on_event)


def line_is_free(state: dict, connection_id: str) -> bool:
    """Whether no Worker holds the Connection's line, by the gateway's own state answer."""
    return not any(row.get("id") == connection_id and row.get("line", {}).get("state") == "online"
                   for row in state.get("connections", ()))


class KeptWorker:
    """A profile's Worker for as long as one run needs it: started again when it ends by itself.

    A restart repeats no work: what the dead one had claimed is settled by a person, and
    the new one is another instance. Gives up after three restarts, and at once where a new
    try cannot help.
    """

    def __init__(self, home: Home, profile: Profile, gateway_url: str, archive: Path | None, *,
                 on_event: Listener | None = None) -> None:
        self._start = lambda: start_worker(home, profile, gateway_url, archive=archive, on_event=on_event)
        self._role: RoleProcess | None = None
        self._keeping: asyncio.Task[None] | None = None

    async def start(self) -> RoleProcess:
        """Start the first one. Raises Refused role_not_started."""
        self._role = await self._start()
        self._keeping = asyncio.create_task(self._keep(), name="keep the Worker")
        return self._role

    async def _keep(self) -> None:
        for pause_s in RESTART_PAUSES_S:
            assert self._role is not None
            if await self._role.wait() in (0, CREDENTIAL_REJECTED, CONFIGURATION):
                return
            await asyncio.sleep(pause_s)
            try:
                self._role = await self._start()
            except Refused:
                return                       # the run that needs it will find nobody at work and say so

    async def stop(self) -> None:
        if self._keeping is not None:
            self._keeping.cancel()
            await asyncio.wait([self._keeping])
        if self._role is not None:
            await self._role.stop()
