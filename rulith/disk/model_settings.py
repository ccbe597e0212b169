"""Which model a profile's Agent uses: its own, or the home's default; read here by whoever starts or shows an Agent.

The default lies in one file of the workbench with its key, and is never copied into a
profile: a profile that follows it reads it anew at each start. A program elsewhere that is
the Agent brings its own model.

Source  the workbench surface, "files", "model settings"
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from rulith.base.errors import Refused
from rulith.base.json_text import read_json
from rulith.disk.atomic import make_folder, write_json
from rulith.disk.home_settings import SETTINGS_FILE, budget_env
from rulith.disk.locks import REGISTRY_WAIT_S, take_lock
from rulith.disk.profiles import Profile, agent_secrets, role_env
from rulith.disk.vault import Vault

KEY_NAME = "RULITH_MODEL_KEY"
# A default's member and the setting that an Agent is given for it.
SETTINGS = {"url": "RULITH_MODEL_URL", "name": "RULITH_MODEL", "thinking": "RULITH_MODEL_THINKING", "tools": "RULITH_MODEL_TOOLS",
            "maxOutputTokens": "RULITH_MODEL_MAX_OUTPUT_TOKENS"}
HOME_ACCOUNT = {"origin": "home", "accountId": ""}      # whose default it is: this home's own gateway has one account
DEFAULT, CUSTOM, EXTERNAL = "default", "custom", "external"


def _rows(path: Path | None) -> list[dict[str, str]]:
    """Every default in the file. Raises Refused: defaults_unreadable, and what a vault refuses."""
    content = None if path is None or not path.parent.exists() else Vault(path).read()
    if content is None:
        return []
    try:
        value = read_json(content, "the file")
    except Refused as problem:
        raise Refused("defaults_unreadable", path=str(path), problem=problem.facts.get("problem", "it holds an odd number")) from None
    rows = value.get("defaults") if isinstance(value, dict) and value.get("version") == 1 else None
    texts = ("origin", "accountId", "key", *SETTINGS)
    if not isinstance(rows, list) or not all(isinstance(row, dict) and all(isinstance(row.get(name, ""), str) for name in texts) for row in rows):
        raise Refused("defaults_unreadable", path=str(path), problem="it is no list of defaults of version 1")
    return rows


def _is_ours(row: Mapping[str, str]) -> bool:
    return all(row.get(name) == value for name, value in HOME_ACCOUNT.items())


def read_default(path: Path | None) -> dict[str, str]:
    """The default's members, its key among them; empty where there is none. Raises Refused defaults_unreadable."""
    return next((dict(row) for row in _rows(path) if _is_ours(row)), {})


def write_default(path: Path, members: Mapping[str, str]) -> None:
    """Replace this account's default; nothing but empty members removes it. Those of other accounts stay."""
    make_folder(path.parent)
    with take_lock(path.with_name(path.name + ".lock"), "model defaults", wait_s=REGISTRY_WAIT_S):
        rows = [row for row in _rows(path) if not _is_ours(row)]
        kept = {name: value for name, value in members.items() if value}
        write_json(path, {"version": 1, "defaults": [*rows, *([{**HOME_ACCOUNT, **kept}] if kept else [])]})


def model_source(profile: Profile) -> str:
    """default, custom or external."""
    if profile.mode == "existing_client":
        return EXTERNAL
    return profile.model_source or (CUSTOM if role_env(profile, "agent").get(SETTINGS["url"]) else DEFAULT)


def own_model(profile: Profile) -> dict[str, str]:
    """The members of the profile's own model, its key among them."""
    env, key = role_env(profile, "agent"), agent_secrets(profile).load().get(KEY_NAME, "")
    found = {member: env[setting] for member, setting in SETTINGS.items() if setting in env}
    return {**found, **({"key": key} if key else {})}


def model_of(profile: Profile) -> dict[str, str]:
    """The members of the model in effect; empty where there is none."""
    source = model_source(profile)
    return {} if source == EXTERNAL else own_model(profile) if source == CUSTOM else read_default(profile.defaults_file)


def agent_env(profile: Profile) -> dict[str, str]:
    """The Agent's settings with the model in effect and the home's budget where it has none, and no key."""
    others = {name: value for name, value in role_env(profile, "agent").items() if name not in SETTINGS.values()}
    model, shared = model_of(profile), budget_env(profile.defaults_file.with_name(SETTINGS_FILE)) if profile.defaults_file else {}
    return {**shared, **others, **{setting: model[member] for member, setting in SETTINGS.items() if model.get(member)}}


def agent_credentials(profile: Profile) -> dict[str, str]:
    """The Agent's token, and the key of the model in effect."""
    others = {name: value for name, value in agent_secrets(profile).load().items() if name != KEY_NAME}
    key = model_of(profile).get("key")
    return {**others, **({KEY_NAME: key} if key else {})}
