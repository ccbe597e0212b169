"""What a Worker is told before it starts: its Connection, its files, its bounds.

Reads a mapping of settings (the environment, or the first line of stdin in a role child)
and refuses by name what it cannot use. Never shows a credential. Touches no network.

Source  the Worker hop, "configuration"
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from rulith.adapters.run import TIMEOUT_DEFAULT_S
from rulith.adapters.territory import Territory
from rulith.base.errors import Refused
from rulith.disk.home import Home, find_home
from rulith.disk.materials import Belonging
from rulith.disk.mcp_services import SETTING as SERVICES_SETTING
from rulith.disk.runfile import read_live
from rulith.wire.manifest import WORKSPACE_MODES
from rulith.work.reviewer import Reviewer

EMBEDDED_URL = "http://127.0.0.1:7781"
RUN_TIMEOUT_MAX_S = 604_800      # a week: longer is a service, not a Tool
_LOOPBACK = re.compile(r"localhost|127(?:\.[0-9]{1,3}){3}|::1")


@dataclass(frozen=True)
class MaterialsAt:
    """The store of materials of this Worker's profile, and where that profile's model is ("" where it has none)."""

    root: Path
    belongs: Belonging
    destination: str


@dataclass(frozen=True)
class Settings:
    connection_id: str
    key: str = field(repr=False)
    work_url: str
    tools_file: Path
    root: Path
    vault_file: Path
    workspace_mode: str
    run_timeout_s: float
    home: Home
    guarded: tuple[tuple[str, str], ...]
    jsonl: bool
    materials: MaterialsAt | None = None
    reviewer: Reviewer | None = None
    shared_vault_file: Path | None = None
    is_tools_file_named: bool = False
    services_file: Path | None = None

    def territory(self, executables: tuple[str, ...] = (), lent: Mapping[str, tuple[str, ...]] = {}) -> Territory:
        """The folders around this Worker, with the profile's own workspace when it lies in the home; `lent` as MCP services have it."""
        own = _own_workspace(self.home, self.root)
        return Territory(
            str(self.root), str(self.home.path), own, self.guarded, executables, self.workspace_mode == "read-write", lent
        )


def _own_workspace(home: Home, root: Path) -> tuple[str, ...]:
    """`<home>/workbench/instances/<profile>/workspace` when the Worker root lies there, else nothing."""
    try:
        below = Path(os.path.realpath(root)).relative_to(os.path.realpath(home.instances))
    except ValueError:
        return ()
    if len(below.parts) < 2 or below.parts[1] != "workspace":
        return ()
    return (str(home.instances / below.parts[0] / "workspace"),)


def _need(env: Mapping[str, str], name: str) -> str:
    value = env.get(name, "").strip()
    if not value:
        raise Refused("worker_setting_missing", name=name)
    if not value.isascii() or not value.isprintable() or " " in value:
        raise Refused("worker_setting_invalid", name=name, value="(not shown)", wanted="printable text without blanks")
    return value


def work_url(env: Mapping[str, str], home: Home) -> str:
    """The gateway's work address: named outright, below RULITH_URL, or that of the live embedded gateway.

    Raises Refused worker_setting_invalid: the Connection key crosses loopback or TLS only, unless a person said otherwise.
    """
    named = env.get("RULITH_WORK_URL", "").strip()
    if not named:
        base = env.get("RULITH_URL", "").strip()
        if not base:
            live = read_live(home.gateway_json) or {}
            base = str(live.get("url") or EMBEDDED_URL)
        named = base.rstrip("/") + "/work"
    named = named.rstrip("/")
    try:
        parts = urlsplit(named)
        host = parts.hostname or ""
    except ValueError:
        raise Refused("worker_setting_invalid", name="RULITH_WORK_URL", value=named[:120], wanted="an address") from None
    if parts.scheme not in ("http", "https") or not host or parts.username is not None or parts.query or parts.fragment:
        raise Refused("worker_setting_invalid", name="RULITH_WORK_URL", value=named.rpartition("@")[2][:120], wanted="a plain http or https address")
    if parts.scheme == "http" and not _LOOPBACK.fullmatch(host.lower()) and env.get("RULITH_INSECURE_HTTP") != "1":
        raise Refused("worker_setting_invalid", name="RULITH_WORK_URL", value=named[:120], wanted="https: a Connection key crosses loopback or TLS only")
    return named


def _run_timeout_s(env: Mapping[str, str]) -> float:
    text = env.get("RULITH_WORKER_RUN_TIMEOUT_SECONDS", "").strip()
    if not text:
        return TIMEOUT_DEFAULT_S
    if not re.fullmatch(r"[1-9][0-9]{0,5}", text, re.ASCII) or int(text) > RUN_TIMEOUT_MAX_S:
        raise Refused("worker_setting_invalid", name="RULITH_WORKER_RUN_TIMEOUT_SECONDS", value=text[:40], wanted=f"whole seconds from 1 to {RUN_TIMEOUT_MAX_S}")
    return float(text)


def _millis(env: Mapping[str, str], name: str, default: int) -> float:
    text = env.get(name, "").strip() or str(default)
    if not re.fullmatch(r"[0-9]{1,7}", text, re.ASCII):
        raise Refused("worker_setting_invalid", name=name, value=text[:40], wanted="whole milliseconds, at most 9999999")
    return int(text) / 1000


def _reviewer(env: Mapping[str, str]) -> Reviewer | None:
    """The model that reviews; an address and a model make one. Raises Refused worker_setting_invalid."""
    url, model = env.get("RULITH_REVIEWER_URL", "").strip(), env.get("RULITH_REVIEWER_MODEL", "").strip()
    if not url or not model:
        return None
    try:
        parts = urlsplit(url)
        good = parts.scheme == "https" or (parts.scheme == "http" and bool(_LOOPBACK.fullmatch((parts.hostname or "").lower())))
    except ValueError:
        good = False
    if not good or parts.username is not None:
        raise Refused("worker_setting_invalid", name="RULITH_REVIEWER_URL", value=url.rpartition("@")[2][:120], wanted="an https address, or http on this machine")
    return Reviewer(url, model, env.get("RULITH_REVIEWER_KEY", "").strip(), _millis(env, "RULITH_REVIEWER_TIMEOUT_MS", 120_000),
                    _millis(env, "RULITH_REVIEW_MIN_INTERVAL_MS", 20_000))


def _materials(env: Mapping[str, str], file_at: Callable[[str, str], Path]) -> MaterialsAt | None:
    """The four settings of a store belong together; without a root there is none."""
    if not env.get("RULITH_MATERIALS_ROOT", "").strip():
        return None
    prints = []
    for name in ("RULITH_MATERIALS_PROFILE", "RULITH_MATERIALS_OWNER", "RULITH_MATERIALS_AGENT_FINGERPRINT"):
        prints.append(env.get(name, "").strip())
        if not re.fullmatch(r"[a-f0-9]{64}", prints[-1], re.ASCII):
            raise Refused("worker_setting_invalid", name=name, value=prints[-1][:80], wanted="the fingerprint that goes with RULITH_MATERIALS_ROOT")
    return MaterialsAt(file_at("RULITH_MATERIALS_ROOT", ""), Belonging(*prints), env.get("RULITH_MATERIALS_MODEL_DESTINATION", "").strip())


def read_settings(env: Mapping[str, str], folder: Path) -> Settings:
    """The settings of a Worker started in `folder`.

    Raises Refused: worker_setting_missing, worker_setting_invalid, worker_root_missing, home_unusable.
    """
    connection_id, key = _need(env, "RULITH_CONNECTION"), _need(env, "RULITH_CONNECTION_KEY")
    home = find_home(None, env)
    mode = env.get("RULITH_WORKSPACE_TOOLS", "").strip() or "read"
    if mode not in WORKSPACE_MODES:
        raise Refused("worker_setting_invalid", name="RULITH_WORKSPACE_TOOLS", value=mode[:40], wanted=" or ".join(WORKSPACE_MODES))

    def file_at(name: str, default: str) -> Path:
        return Path(os.path.abspath(folder / os.path.expanduser(env.get(name, "").strip() or default)))

    tools_file = file_at("RULITH_TOOLS_FILE", "worker-tools.json")
    vault_file = file_at("RULITH_SECRETS_FILE", "worker-secrets.json")
    stated_root = env.get("RULITH_WORKER_ROOT", "").strip()
    root = file_at("RULITH_WORKER_ROOT", "") if stated_root else tools_file.parent
    if not root.is_dir():
        raise Refused("worker_root_missing", root=str(root))
    guarded = [("the Tool Manifest", str(tools_file)), ("the Source vault", str(vault_file))]
    for name, what in (("RULITH_ENVIRONMENT_SECRETS_FILE", "the environment vault"), ("RULITH_LOCAL_CONFIG", "the local configuration"),
                       (SERVICES_SETTING, "the MCP services")):
        if env.get(name, "").strip():
            guarded.append((what, str(file_at(name, ""))))
    return Settings(
        connection_id, key, work_url(env, home), tools_file, root, vault_file, mode, _run_timeout_s(env), home,
        tuple(guarded), env.get("RULITH_WORKER_EVENTS", "").strip() == "jsonl", _materials(env, file_at), _reviewer(env),
        file_at("RULITH_ENVIRONMENT_SECRETS_FILE", "") if env.get("RULITH_ENVIRONMENT_SECRETS_FILE", "").strip() else None,
        bool(env.get("RULITH_TOOLS_FILE", "").strip()),
        file_at(SERVICES_SETTING, "") if env.get(SERVICES_SETTING, "").strip() else None,
    )  # fmt: skip
