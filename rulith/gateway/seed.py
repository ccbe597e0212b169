"""Genesis: what a fresh ledger is given, once, so that a first run has something to do.

One Agent, one Connection, the verified-calculation Capability, its Source and its three
Tool locks. Files come first and are found again after a crash; the rows that make them
valid are one commit. A ledger that has a row is never seeded, and neither is one that
has none in a home that was used.

Source  the design's rule on genesis rows (§5); examples/verified-calculation.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from rulith.base.canonical import digest
from rulith.base.ids import mint, mint_token, random_bytes
from rulith.base.resources import shipped_text
from rulith.disk.example import FOLDER, capability_text, lay_out
from rulith.disk.home import Home
from rulith.disk.profiles import (Profile, agent_secrets, create_profile, device_secrets, list_profiles, update_profile,
                                  worker_secrets, write_role_env)
from rulith.disk.vault import Vault
from rulith.gateway.authority import Authority, token_hash
from rulith.gateway.first_start import SIGNING_KEY, begin, finish, gateway_secrets
from rulith.gateway.signing import SEED_BYTES
from rulith.wire.manifest import read_manifest

PROFILE_NAME = "Assistant"
SOURCE_NAME = "verified-calculation-local"


def signing_seed(home: Home) -> str:
    """The hex seed of this gateway's signing key; minted once."""
    vault = gateway_secrets(home)
    seed = vault.load().get(SIGNING_KEY)
    if seed is None:
        seed = random_bytes(SEED_BYTES).hex()
        vault.update({SIGNING_KEY: seed})
    return seed


def _named(vault: Vault, name: str, prefix: str) -> str:
    """The secret of that name; minted and kept where there is none."""
    found = vault.load().get(name)
    if not found:
        found = mint_token(prefix)
        vault.update({name: found})
    return found


def _profile(home: Home, environ: Mapping[str, str]) -> Profile:
    """The profile genesis belongs to: the one an interrupted first run left, or a new one."""
    workspace = environ.get("RULITH_SEED_WORKSPACE")
    profiles = list_profiles(home)
    known = next((each for each in profiles if each.name == PROFILE_NAME and not (each.origin or each.target)), None)
    taken = {each.name.casefold() for each in profiles}            # Agents of another gateway may be here already
    name = next(each for each in (PROFILE_NAME, *(f"{PROFILE_NAME} {number}" for number in range(2, len(taken) + 3))) if known or each.casefold() not in taken)
    profile = known or create_profile(home, name, Path(workspace).absolute() if workspace else None, agent_name=PROFILE_NAME)
    if not profile.agent_id or not profile.connection_id:
        profile = update_profile(home, profile.id, agentId=profile.agent_id or mint("agent_", 24),
                                 agentName=PROFILE_NAME, connectionId=profile.connection_id or mint("conn_", 24))
    return profile


def seed(home: Home, authority: Authority, environ: Mapping[str, str]) -> bool:
    """Seed a ledger that has no row yet. Returns whether this was a genesis. Raises Refused ledger_missing."""
    if authority.ledger.chains():
        finish(home)
        return False
    begin(home)
    profile = _profile(home, environ)
    lay_out(profile.workspace)
    token = _named(agent_secrets(profile), "RULITH_TOKEN", "rlt_agt_")
    key = _named(worker_secrets(profile), "RULITH_CONNECTION_KEY", "rlt_key_")
    worker_secrets(profile).update({"RULITH_CONNECTION": profile.connection_id})
    grant = _named(device_secrets(home), "token", "rlt_dev_")
    gateway_secrets(home).update({profile.connection_id: key})
    write_role_env(profile, "worker", {"RULITH_TOOLS_FILE": str(profile.workspace / "worker-tools.json"),
                                       "RULITH_WORKER_ROOT": str(profile.workspace)})
    _commit_rows(authority, profile, token=token, key=key, grant=grant)
    finish(home)
    return True


def _commit_rows(authority: Authority, profile: Profile, *, token: str, key: str, grant: str) -> None:
    capability = json.loads(capability_text())
    release = digest(capability)
    tools = read_manifest(shipped_text("examples", FOLDER, "worker-tools.json"))
    attests = sorted({row["predicate"] for tool in tools.values() for row in tool.returns})
    locks = [{"kind": "lock_tool", "connectionId": profile.connection_id, "toolId": tool.id, "digest": tool.digest,
              "descriptor": tool.descriptor()} for tool in tools.values()]
    authority.command_registry({"kind": "genesis", "commands": [
        {"kind": "set_device_grant", "hash": token_hash(grant)},
        {"kind": "add_agent", "id": profile.agent_id, "name": profile.agent_name, "tokenHash": token_hash(token)},
        {"kind": "add_connection", "id": profile.connection_id, "name": f"{profile.agent_name}'s Worker",
         "agentId": profile.agent_id, "keyHash": token_hash(key)},
        {"kind": "add_source", "name": SOURCE_NAME, "type": "file", "access": str(profile.workspace / "runtime"),
         "connectionId": profile.connection_id, "tier": "attested", "attests": attests},
        *locks,
        {"kind": "install_release", "id": capability["id"], "version": capability["version"], "digest": release,
         "title": capability["title"]},
    ]})
    authority.command_board(profile.agent_id, {"kind": "install_capability", "capability": capability, "digest": release})
    authority.turns.flush()


