"""The Worker and the Agent of one profile as children, each handed its own credentials only.

Source  the design's rules on roles (D8, D11); the workbench surface, "supervision"
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from rulith.disk.home import Home
from rulith.disk.profiles import Profile, agent_secrets, role_env, worker_secrets
from rulith.procs.roles import Event, RoleProcess

Listener = Callable[[Event], None]


def worker_settings(home: Home, profile: Profile, gateway_url: str) -> dict[str, str]:
    """All that the profile's Worker needs: its settings, its Connection key, no one else's secret."""
    return {
        "RULITH_HOME": str(home.path),
        "RULITH_WORK_URL": gateway_url + "/work",
        **role_env(profile, "worker"),
        **{name: str(value) for name, value in worker_secrets(profile).load().items()},
    }


def agent_settings(home: Home, profile: Profile, gateway_url: str) -> dict[str, str]:
    """All that the profile's Agent needs: its settings, its token, its model key."""
    return {
        "RULITH_HOME": str(home.path),
        "RULITH_URL": gateway_url,
        "RULITH_AGENT_LOCK": str(profile.agent_lock),
        **role_env(profile, "agent"),
        **{name: str(value) for name, value in agent_secrets(profile).load().items()},
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
