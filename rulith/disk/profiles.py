"""Profiles: one Agent with its Worker on this machine, as the workbench keeps them.

`registry.json` lists them and holds no secret; each has a folder with its settings and its
two vaults, one per role, so that no role is handed the other's credentials. What cannot be
read is refused by path: nothing is dropped or repaired.

Source  the workbench surface, "files"
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rulith.base.clock import Clock, SystemClock, stamp
from rulith.base.errors import Refused
from rulith.base.ids import mint
from rulith.base.limits import PROFILES_MAX
from rulith.disk.atomic import make_folder, read_json, write_json
from rulith.disk.home import Home
from rulith.disk.locks import REGISTRY_WAIT_S, take_lock
from rulith.disk.vault import Vault

FORMAT = "rulith-local-manager/1"
MODES = ("local_agent", "existing_client")
ROLES = ("agent", "worker")
PLACES = {"worker": ("RULITH_WORKER_ROOT", "RULITH_TOOLS_FILE", "RULITH_SECRETS_FILE"), "agent": ("RULITH_SESSION_FILE",)}
DEFAULTS = "model-defaults.json"
NAME = re.compile(r"[^\W_][\w .-]{0,63}", re.UNICODE)


@dataclass(frozen=True)
class Profile:
    """One row of the registry, as it was when read."""

    id: str
    name: str
    mode: str
    directory: Path
    agent_id: str
    agent_name: str
    connection_id: str
    workspace: Path
    serve_port: int | None
    created_at: str
    model_source: str = ""           # default, custom, or "": whichever its settings say
    defaults_file: Path | None = None    # the home's model for every profile that has none of its own
    origin: str = ""                 # the gateway elsewhere that its Agent is of; "" for the home's own
    account_id: str = ""             # and the account there
    pairing: Mapping[str, Any] | None = None     # an attaching that is under way
    target: Mapping[str, Any] | None = None      # {origin, accountId, agentId} it was set up for

    @property
    def owner(self) -> dict[str, str]:
        """Whose its conversations are, but for the Agent."""
        return {"origin": self.origin or "home", "accountId": self.account_id, "agentId": ""}

    @property
    def is_attached(self) -> bool:
        """Whether it speaks for an Agent and has a line to its gateway."""
        return bool(self.agent_id and self.connection_id)

    @property
    def settings_path(self) -> Path:
        return self.directory / "local.json"

    @property
    def agent_lock(self) -> Path:
        """Held by whoever has this profile's MCP session."""
        return self.directory / "agent.lock"

    @property
    def agent_files(self) -> dict[str, str]:
        """Where an Agent of this profile keeps what outlives a run, as its settings name it."""
        kept = {"RULITH_SESSION_FILE": "agent-sessions.json", "RULITH_MODEL_QUIRKS_FILE": "model-quirks.json",
                "RULITH_BUDGET_FILE": "agent-budget.json", "RULITH_CONVERSATION_DIR": "conversations"}
        return {name: str(self.directory / file) for name, file in kept.items()}


def _row_of(profile: Profile) -> dict[str, object]:
    return {
        "id": profile.id, "name": profile.name, "mode": profile.mode, "directory": str(profile.directory),
        "agentId": profile.agent_id, "agentName": profile.agent_name, "connectionId": profile.connection_id,
        "workspace": str(profile.workspace), "servePort": profile.serve_port, "createdAt": profile.created_at,
        **({"modelSource": profile.model_source} if profile.model_source else {}),
        **({"pairing": dict(profile.pairing), "setupTarget": dict(profile.target or {})} if profile.pairing else {}),
    }


def _read_registry(home: Home) -> dict[str, object]:
    """The registry's whole object, checked. Raises Refused profiles_unreadable."""
    path = home.registry
    if not path.exists():
        return {"format": FORMAT, "instances": [], "device": {"state": "none"}}

    def refuse(problem: object) -> Refused:
        return Refused("profiles_unreadable", path=str(path), problem=problem)

    try:
        value = read_json(path)
    except Refused as problem:
        raise refuse(problem.happened) from None
    if not isinstance(value, dict) or value.get("format") != FORMAT or not isinstance(value.get("instances"), list):
        raise refuse(f"its format is not {FORMAT}")
    ids: set[str] = set()
    folders: set[str] = set()
    for number, row in enumerate(value["instances"], 1):
        if not isinstance(row, dict):
            raise refuse(f"row {number} is no object")
        if not isinstance(row.get("id"), str) or not re.fullmatch(r"inst-[0-9a-f]{12}", row["id"], re.ASCII):
            raise refuse(f"row {number} has no well-formed id")
        if not isinstance(row.get("directory"), str) or not row["directory"]:
            raise refuse(f"row {number} has no directory")
        if row["id"] in ids or row["directory"].casefold() in folders:
            raise refuse(f"row {number} repeats the id or directory of an earlier one")
        if row.get("mode") not in MODES:
            raise refuse(f"row {number} has the unknown mode {row.get('mode')!r}")
        if not isinstance(row.get("name"), str):
            raise refuse(f"row {number} has no name")
        ids.add(row["id"])
        folders.add(row["directory"].casefold())
    return value


def _profile_of(home: Home, row: dict[str, object]) -> Profile:
    def text(key: str) -> str:
        value = row.get(key)
        return value if isinstance(value, str) else ""

    directory = Path(text("directory"))
    port = row.get("servePort")
    return Profile(
        id=text("id"), name=text("name"), mode=text("mode"), directory=directory, agent_id=text("agentId"),
        agent_name=text("agentName"), connection_id=text("connectionId"),
        workspace=Path(text("workspace")) if text("workspace") else directory / "workspace",
        serve_port=port if isinstance(port, int) and not isinstance(port, bool) else None,
        created_at=text("createdAt"), model_source=text("modelSource"), defaults_file=home.workbench / DEFAULTS, origin=text("origin"), account_id=text("accountId"),
        pairing=_row_in(row, "pairing", "pairingId"), target=_row_in(row, "setupTarget", "agentId"),
    )


def _row_in(row: dict[str, object], name: str, needs: str) -> Mapping[str, Any] | None:
    found = row.get(name)
    return found if isinstance(found, dict) and isinstance(found.get(needs), str) else None


def list_profiles(home: Home) -> list[Profile]:
    """All profiles, in the order they were made. Raises Refused profiles_unreadable."""
    return [_profile_of(home, row) for row in _read_registry(home)["instances"]]


def find_profile(home: Home, name: str | None = None) -> Profile:
    """The profile with that name or id, or the only one.

    Raises Refused: profile_unknown, profile_ambiguous, profile_none, profiles_unreadable.
    """
    profiles = list_profiles(home)
    known = ", ".join(repr(each.name) for each in profiles) or "none"
    if name is None:
        if len(profiles) == 1:
            return profiles[0]
        raise Refused("profile_ambiguous", known=known) if profiles else Refused("profile_none")
    for profile in profiles:
        if name in (profile.name, profile.id):
            return profile
    raise Refused("profile_unknown", name=name, known=known)


def create_profile(home: Home, name: str, workspace: Path | None = None, *, agent_id: str = "", agent_name: str = "",
                   connection_id: str = "", mode: str = "local_agent", serve_port: int | None = None,
                   clock: Clock | None = None, pairing: Mapping[str, Any] | None = None, target: Mapping[str, Any] | None = None) -> Profile:
    """Make a profile with its folder and add it to the registry.

    Raises Refused: profile_name, profile_exists, profiles_unreadable, lock_held, write_failed.
    """
    assert mode in MODES, mode
    check_name(name)
    clock = clock or SystemClock()
    profile_id = mint("inst-", 12)
    directory = home.instances / profile_id
    profile = Profile(profile_id, name, mode, directory, agent_id, agent_name, connection_id,
                      workspace if workspace is not None else directory / "workspace",
                      serve_port, stamp(clock.wall_s()), defaults_file=home.workbench / DEFAULTS, pairing=pairing, target=target)
    make_folder(home.workbench)
    with take_lock(home.workbench / "registry.lock", "registry", wait_s=REGISTRY_WAIT_S):
        registry = _read_registry(home)
        _check_free(registry, name)
        _check_one_profile(registry, profile_id, agent_id)
        if len(registry["instances"]) >= PROFILES_MAX:
            raise Refused("resource_limit", what="the number of profiles", value=PROFILES_MAX + 1, limit=PROFILES_MAX)
        make_folder(directory)
        make_folder(profile.workspace)
        registry["instances"].append(_row_of(profile))
        write_json(home.registry, registry)
    return profile


def check_name(name: object) -> None:
    """Raises Refused profile_name."""
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise Refused("profile_name", name=str(name)[:80], problem="it is empty, too long, or holds other characters")


def _check_free(registry: dict, name: str, but: str = "") -> None:
    if any(row["name"].casefold() == name.casefold() for row in registry["instances"] if row["id"] != but):
        raise Refused("profile_exists", name=name)


def _check_one_profile(registry: dict, profile_id: str, agent_id: object) -> None:
    """An Agent has one profile of a home at most: two would share its history and its line."""
    for row in registry["instances"]:
        if agent_id and row["id"] != profile_id and row.get("agentId") == agent_id:
            raise Refused("profile_agent_taken", name=row["name"])


def update_profile(home: Home, profile_id: str, **changes: object) -> Profile:
    """Change some of a row's fields (the registry's own names, e.g. agentId=...); unknown ones in it are kept.

    Raises Refused: profile_gone, profile_name, profile_exists, profile_agent_taken, profiles_unreadable, lock_held, write_failed.
    """
    if "name" in changes:
        check_name(changes["name"])
    with take_lock(home.workbench / "registry.lock", "registry", wait_s=REGISTRY_WAIT_S):
        registry = _read_registry(home)
        for row in registry["instances"]:
            if row["id"] == profile_id:
                _check_free(registry, str(changes.get("name", row["name"])), but=profile_id)
                _check_one_profile(registry, profile_id, changes.get("agentId"))
                row.update(changes)
                write_json(home.registry, registry)
                return _profile_of(home, row)
    raise Refused("profile_gone", id=profile_id)


def remove_profile(home: Home, profile_id: str) -> None:
    """Take the profile off the list; its folder stays for the person to look at."""
    with take_lock(home.workbench / "registry.lock", "registry", wait_s=REGISTRY_WAIT_S):
        registry = _read_registry(home)
        kept = [row for row in registry["instances"] if row["id"] != profile_id]
        if len(kept) == len(registry["instances"]):
            raise Refused("profile_gone", id=profile_id)
        registry["instances"] = kept
        write_json(home.registry, registry)


# settings and secrets of one profile

def agent_secrets(profile: Profile) -> Vault:
    """RULITH_TOKEN, and RULITH_MODEL_KEY where a model is configured."""
    return Vault(profile.directory / "agent.secrets.json")


def worker_secrets(profile: Profile) -> Vault:
    """RULITH_CONNECTION and RULITH_CONNECTION_KEY."""
    return Vault(profile.directory / "worker.secrets.json")


def device_secrets(home: Home) -> Vault:
    """The workbench's own grant: token."""
    return Vault(home.device_secrets)


def read_settings(profile: Profile) -> dict[str, object]:
    """The profile's non-secret settings; every role has an `env` of texts. Unknown keys are kept."""
    value = read_json(profile.settings_path) if profile.settings_path.exists() else {}
    if not isinstance(value, dict):
        raise Refused("file_not_json", path=str(profile.settings_path), problem="it is no object")
    for role in ROLES:
        part = value.setdefault(role, {})
        env = part.setdefault("env", {}) if isinstance(part, dict) else None
        if not isinstance(env, dict) or not all(isinstance(each, str) for each in env.values()):
            raise Refused("file_not_json", path=str(profile.settings_path), problem=f"{role}.env is no object of texts")
    return value


def role_env(profile: Profile, role: str) -> dict[str, str]:
    """The non-secret environment of one role, without the keys left empty."""
    return {key: value for key, value in read_settings(profile)[role]["env"].items() if value != ""}


def check_folder(profile: Profile) -> None:
    """The profile's folder itself is there: writing would make an empty one in its place. Raises Refused profile_folder."""
    try:
        is_folder = stat.S_ISDIR(os.lstat(profile.directory).st_mode)
    except OSError as problem:
        raise Refused("profile_folder", name=profile.name, path=str(profile.directory), problem=f"cannot be used: {problem.strerror or problem}") from None
    if not is_folder:
        raise Refused("profile_folder", name=profile.name, path=str(profile.directory), problem="is a link or a file")


def check_paths(home: Home, profile: Profile) -> None:
    """What a role works in is its profile's own, or lies outside the home. Raises Refused: profile_folder, profile_path, and what the settings refuse."""
    check_folder(profile)
    inside, own = os.path.realpath(home.path), os.path.realpath(profile.directory)
    for role, names in PLACES.items():
        env = role_env(profile, role)
        for name in names:
            path = os.path.realpath(env[name]) if name in env else own
            if is_below(path, inside) and not is_below(path, own):
                raise Refused("profile_path", name=profile.name, setting=name, path=env[name], file=str(profile.settings_path))


def is_below(path: str, folder: str) -> bool:
    """Whether one real path is another or lies in it."""
    named, above = os.path.normcase(path), os.path.normcase(folder)
    return named == above or named.startswith(above.rstrip(os.sep) + os.sep)


def write_role_env(profile: Profile, role: str, changes: Mapping[str, str | None]) -> dict[str, str]:
    """Set some of a role's settings, drop those given as None; returns what is there afterwards."""
    assert role in ROLES, role
    with take_lock(profile.directory / "local.lock", "settings", wait_s=REGISTRY_WAIT_S):
        settings = read_settings(profile)
        env = settings[role]["env"]
        for key, value in changes.items():
            if value is None:
                env.pop(key, None)
            else:
                env[key] = value
        write_json(profile.settings_path, settings)
    return env
