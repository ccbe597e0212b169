"""A profile as one document that can be carried to another computer: its settings and Tools, without its secrets.

What belongs to this computer stays: folders, ports, credentials, conversations. A member
that holds one of the profile's own secrets is left out and named. What is read back is
held to a fixed list of settings, so that a document of somebody else's can name no folder
and no program's address; Tools that it brings are offered, and run only once an owner locks them.

Source  the workbench surface, "Screens" (export and import without secrets)
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from rulith.base.errors import Refused
from rulith.base.limits import PROFILES_MAX, SETTINGS_BYTES_MAX
from rulith.disk.atomic import read_bounded, write_json
from rulith.disk.home import Home
from rulith.disk.model_settings import CUSTOM, SETTINGS, model_source, own_model
from rulith.disk.profiles import (MODES, Profile, agent_secrets, check_name, create_profile, list_profiles, role_env, worker_secrets,
                                  write_role_env)
from rulith.disk.vault import Vault
from rulith.wire.manifest import read_manifest

FORMAT = "rulith-profile/1"
CARRIED = {"agent": ("RULITH_BUDGET", "RULITH_KEEP_MESSAGES", "RULITH_MAX_ROUNDS", "RULITH_MCP_TIMEOUT_MS"),
           "worker": ("RULITH_WORKSPACE_TOOLS", "RULITH_WORKER_RUN_TIMEOUT_SECONDS")}
MEMBERS = ("format", "name", "mode", "model", "settings", "tools", "secretsToEnter", "leftOut")
VALUE_CHARS_MAX = 4096
SECRET_CHARS_MIN = 6         # shorter texts stand in any document by chance


def export_profile(profile: Profile) -> dict[str, object]:
    """The document. Raises Refused where a file of the profile cannot be read."""
    agent, worker = agent_secrets(profile).load(), worker_secrets(profile).load()
    source_secrets = Vault(role_env(profile, "worker").get("RULITH_SECRETS_FILE") or profile.directory / "worker-secrets.json").read()
    hidden = [each for each in (*agent.values(), *worker.values(), *_texts(source_secrets)) if len(each) >= SECRET_CHARS_MIN]
    left_out: list[str] = []

    def kept(name: str, value: object) -> object:
        if value and any(secret in json.dumps(value, ensure_ascii=False) for secret in hidden):
            left_out.append(name)
            return None
        return value

    model = {name: value for name, value in own_model(profile).items() if name != "key"} if model_source(profile) == CUSTOM else None
    settings = {role: {name: value for name, value in role_env(profile, role).items() if name in CARRIED[role] and kept(name, value)} for role in CARRIED}
    needed = [*(["the model's API key"] if agent.get("RULITH_MODEL_KEY") and model else []), *(["the Sources' credentials"] if source_secrets else [])]
    return {"format": FORMAT, "name": profile.name, "mode": profile.mode, "model": kept("the model", model), "settings": settings,
            "tools": kept("the Tools", _manifest(profile)), "secretsToEnter": needed, "leftOut": left_out}


def _texts(content: bytes | None) -> list[str]:
    """Every text in a vault's values, however deep."""
    try:
        waiting: list[object] = [json.loads(content)] if content else []
    except (ValueError, RecursionError):
        return []
    found: list[str] = []
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            found.append(item)
        elif isinstance(item, (dict, list)):
            waiting.extend(item.values() if isinstance(item, dict) else item)
    return found


def _manifest(profile: Profile) -> object:
    path = Path(role_env(profile, "worker").get("RULITH_TOOLS_FILE") or profile.directory / "worker-tools.json")
    if not path.exists():
        return None
    content = read_bounded(path, SETTINGS_BYTES_MAX)
    read_manifest(content, path.name)
    return json.loads(content)


def import_profile(home: Home, document: object, name: object = None) -> tuple[Profile, list[str]]:
    """A new profile with the document's settings, attached to nothing; and what is to be done by hand.

    Raises Refused: profile_document, profile_name, profile_exists, resource_limit, and what the Manifest's reader refuses.
    """
    given = _checked(document)
    tools = given["tools"]
    if tools is not None:
        read_manifest(json.dumps(tools), "the Tools of the document")
    wanted = str(given["name"]) if name is None else name
    check_name(wanted)
    profile = create_profile(home, _free(home, str(wanted)) if name is None else str(wanted), mode=str(given["mode"]))
    model: Mapping[str, str] = given["model"] or {}
    write_role_env(profile, "agent", {**given["settings"]["agent"], **{SETTINGS[member]: value for member, value in model.items() if value}})
    write_role_env(profile, "worker", {**given["settings"]["worker"], "RULITH_WORKER_ROOT": str(profile.workspace)})
    notes = [f"Enter {each} again." for each in given["secretsToEnter"]] + [f"Not in the document: {each}." for each in given["leftOut"]]
    if tools is not None:
        path = profile.workspace / "worker-tools.json"
        write_json(path, tools)
        write_role_env(profile, "worker", {"RULITH_TOOLS_FILE": str(path)})
        notes.append(f"Put the programs that its Tools run under {profile.workspace}; each Tool has to be locked before it is used.")
    return profile, notes


def _free(home: Home, name: str) -> str:
    taken = {each.name.casefold() for each in list_profiles(home)}
    names = [name, *(f"{name[:60]} {number}" for number in range(2, PROFILES_MAX + 2))]
    return next(each for each in names if each.casefold() not in taken)


def _checked(document: object) -> dict:
    """The document, closed to what this release writes. Raises Refused profile_document."""
    def refuse(problem: str) -> Refused:
        return Refused("profile_document", problem=problem)

    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise refuse(f"its format is not {FORMAT}")
    if odd := sorted(set(document) ^ set(MEMBERS)):
        raise refuse(f"the member {odd[0][:60]!r} is {'unknown' if odd[0] in document else 'missing'}")
    if document["mode"] not in MODES:
        raise refuse("its mode is unknown")
    settings, model = document["settings"], document["model"]
    if not isinstance(settings, dict) or set(settings) != set(CARRIED):
        raise refuse("its settings are not those of an Agent and a Worker")
    for role, names in CARRIED.items():
        if not _is_texts(settings[role], names):
            raise refuse(f"the {role}'s settings hold something else than {', '.join(names)}")
    if model is not None and not _is_texts(model, tuple(SETTINGS)):
        raise refuse("its model is not one")
    for name in ("secretsToEnter", "leftOut"):
        if not isinstance(document[name], list) or not all(isinstance(each, str) and len(each) <= 200 for each in document[name]):
            raise refuse(f"{name} is no list of short texts")
    return document


def _is_texts(value: object, names: tuple[str, ...]) -> bool:
    return isinstance(value, dict) and set(value) <= set(names) and all(isinstance(each, str) and len(each) <= VALUE_CHARS_MAX and each.isprintable() for each in value.values())
