"""What a Source must be before it is bound: its name, what it may attest, and where it may point.

A folder is judged with its links resolved, by the same rules that the Worker applies when
it starts and before each claim; refusing it here only says so earlier. What the Worker's
machine holds cannot be seen from here where it is another one.

Source  the design's rules on Source roots (§7) and on what a Worker may say (§5).
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

from rulith.adapters.places import VAULT
from rulith.adapters.sources import Source as GrantedSource
from rulith.adapters.territory import Territory
from rulith.base.errors import Refused
from rulith.board.shapes import TIERS
from rulith.disk.home import Home
from rulith.disk.profiles import Profile, role_env
from rulith.gateway.authority import Authority

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", re.ASCII)
TYPES = ("file", "http", "db", "mcp")    # the others have no adapter of their own
ACCESS_CHARS_MAX = 4_096
ANYTHING = "*"


def known_predicates(authority: Authority) -> dict[str, dict]:
    """Predicate -> {types, capability}: what the Tool of some Action or a locked Tool returns, and which Source types may say it."""
    found: dict[str, dict] = {}
    for state in authority.agents.values():
        for release in state.board.state.releases.values():
            for action in release.actions.values():
                for row in action.returns:
                    known = found.setdefault(row["predicate"], {"types": set(), "capability": release.id})
                    declared = set(release.predicates[row["predicate"]].sources)
                    known["types"] |= set(action.source_types) & (declared or set(action.source_types))
    for lock in authority.registry.locks.values():           # what a direct Action would return
        for row in lock.descriptor.get("returns", ()):
            if not found.get(row["predicate"], {"capability": ""})["capability"]:
                found.setdefault(row["predicate"], {"types": set(), "capability": ""})["types"] |= set(lock.descriptor.get("sourceTypes", ()))
    return {name: {**known, "types": sorted(known["types"])} for name, known in sorted(found.items())}


def check_source(authority: Authority, profile: Profile | None, home: Home, record: Mapping) -> str:
    """Refuse a Source that could never work or must not be; what only deserves a look is returned as a sentence.

    profile   the profile of this home whose Worker would open it, or None
    Raises Refused: source_name, not_built, source_tier, attests_unknown, source_access, source_root_refused, source_folder_missing.
    """
    authority.registry.connection(record["connectionId"])
    if not NAME.fullmatch(record["name"]):
        raise Refused("source_name", source=record["name"][:80])
    if record["type"] not in TYPES:
        raise Refused("not_built", what=f"A Source of type {record['type'][:40]!r}", instead=f"Use one of {', '.join(TYPES)}.")
    if record["tier"] not in TIERS:
        raise Refused("source_tier", tier=record["tier"][:40], known=", ".join(TIERS))
    _check_attests(authority, record)
    if len(record["access"]) > ACCESS_CHARS_MAX or not record["access"].isprintable() or not record["access"].strip():
        raise Refused("source_access", source=record["name"], problem="it is blank, too long, or holds a control character")
    if record["type"] == "file":
        return _check_folder(profile, home, record)
    if record["access"] == VAULT:
        return f"Only the Source vault of the Worker's machine says where {record['name']} is; without an entry there it cannot be used."
    if record["type"] == "db":
        return _check_database(profile, home, record)
    _check_address(record, ("http", "https"), "it is no http or https address without a user name in it")
    return ""


def _check_attests(authority: Authority, record: Mapping) -> None:
    known = known_predicates(authority)
    for predicate in record["attests"]:
        if predicate != ANYTHING and record["type"] not in known.get(predicate, {"types": ()})["types"]:
            may = [name for name, row in known.items() if record["type"] in row["types"]]
            raise Refused("attests_unknown", source=record["name"], type=record["type"], predicate=predicate[:120],
                          known=", ".join(may) or "nothing yet")


def _check_address(record: Mapping, schemes: tuple[str, ...], problem: str, *, may_name_user: bool = False) -> None:
    """An address without a credential: those belong in the Worker's own vault."""
    try:
        parts = urlsplit(record["access"])
        good = parts.scheme in schemes and (parts.hostname or may_name_user) and parts.password is None and (may_name_user or parts.username is None)
        parts.port  # noqa: B018  raises ValueError when it is no number
    except ValueError:
        good = False
    if not good:
        raise Refused("source_access", source=record["name"], problem=problem)


def _check_database(profile: Profile | None, home: Home, record: Mapping) -> str:
    """A file by its whole path, or a server by its name; a password belongs in the Worker's own vault."""
    access = record["access"]
    if not access.startswith("sqlite:"):
        _check_address(record, ("postgresql", "postgres"), "it is neither sqlite:/PATH nor postgresql://user@host/database without a password", may_name_user=True)
        return ""
    path = access.removeprefix("sqlite:")
    path = path[2:] if path.startswith("///") else path
    if not os.path.isabs(path):
        raise Refused("source_access", source=record["name"], problem="its file is not named by a whole path from the root of the disk")
    replace(territory_of(profile, home), writes=False).folder_of(GrantedSource(record["name"], "db", path))
    return "" if os.path.isfile(path) else f"This machine has no file {path}; that is right only where the Worker runs on another one."


def _check_folder(profile: Profile | None, home: Home, record: Mapping) -> str:
    access = record["access"]
    if not os.path.isabs(access):
        raise Refused("source_access", source=record["name"], problem="it is not a whole path from the root of the disk")
    territory_of(profile, home).folder_of(GrantedSource(record["name"], "file", access))
    if os.path.isdir(access):
        return ""
    if profile is not None:
        raise Refused("source_folder_missing", source=record["name"], path=access)
    return f"This machine has no folder {access}; that is right only where the Worker runs on another one."


def territory_of(profile: Profile | None, home: Home) -> Territory:
    """The folders around the Worker of this profile; around any Worker of this machine where it is none of ours."""
    if profile is None:
        return Territory(os.sep, str(home.path))
    env = role_env(profile, "worker")
    manifest = env.get("RULITH_TOOLS_FILE") or str(profile.workspace / "worker-tools.json")
    root = env.get("RULITH_WORKER_ROOT") or str(Path(manifest).parent)
    vault = env.get("RULITH_SECRETS_FILE") or str(profile.workspace / "worker-secrets.json")
    own = (str(profile.workspace), str(profile.directory / "materials"))
    return Territory(root, str(home.path), own, (("the Tool Manifest", manifest), ("the Source vault", vault)),
                     writes=env.get("RULITH_WORKSPACE_TOOLS") == "read-write")
