"""Added files: what makes them readable, seeded once for each Worker that keeps some, and whether they can be read now.

A profile's Worker that comes on the line with the reader of its own store is given what the
reader needs: a Source over that store and nothing around it, the lock of the built-in
definition, and the word that its content may be delivered. Each file still goes to no other
model than the one it was added for. What people then change or take away stays so.

Source  the Worker hop, §15; the workbench surface, §14
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count

from rulith.base.errors import Refused
from rulith.board.actions import setup_problem
from rulith.board.direct import READER, direct_actions, name_of, unfit
from rulith.disk.home import Home
from rulith.disk.materials import area_of
from rulith.disk.profiles import list_profiles
from rulith.gateway.authority import Authority
from rulith.wire.manifest import BUILTINS

NAME = "added-files"
LOOK = "An owner sees to it in the Console, under Tools and Sources."


def seed_files(authority: Authority, home: Home, connection_id: str, offered: Sequence[dict]) -> None:
    """Make the files of the profile that has this Connection readable, where its Worker offers to read them. Staged, not yet durable."""
    registry, reader = authority.registry, BUILTINS[READER]
    if connection_id in registry.files or not any((row["id"], row["digest"]) == (reader.id, reader.digest) for row in offered):
        return
    try:
        profile = next((each for each in list_profiles(home) if each.connection_id == connection_id and each.mode == "local_agent"), None)
    except Refused:
        return                           # the page says that the list cannot be read; its Worker works on
    if profile is not None:
        names = (NAME if number == 1 else f"{NAME}-{number}" for number in count(1))
        authority.command_registry({
            "kind": "seed_files", "connectionId": connection_id, "source": next(name for name in names if name not in registry.sources),
            "access": str(area_of(profile)), "toolId": reader.id, "digest": reader.digest, "descriptor": reader.descriptor(), "authority": {"kind": "gateway"}})


def files_row(authority: Authority, connection: dict) -> dict[str, object]:
    """{read, problem}: whether a file of this Connection was ever read, and why none can be now, or ""."""
    agent_id = connection["agentId"]
    kept = authority.agents[agent_id].artifacts.artifacts.values()
    read = any(each.told and each.connection_id == connection["id"] and each.custody_id.startswith("mat_") for each in kept)
    return {"read": read, "problem": _problem(authority, connection["id"], agent_id)}


def _problem(authority: Authority, connection_id: str, agent_id: str) -> str:
    registry, state = authority.registry, authority.agents[agent_id].names.state
    lock = registry.locks.get((connection_id, READER))
    if lock is None and connection_id not in registry.files:
        return f"The Worker has not offered {READER} yet. Start it anew; its log says what is wrong with its store of files."
    if lock is None:
        return f"The Tool {READER} is not locked. {LOOK}"
    if unfit(state, lock) is not None:
        return ""                        # a Capability reads them by an Action of its own
    policy = authority.policy(agent_id)
    found = direct_actions(state, policy)[name_of(READER)]
    problem = found.problem or setup_problem(found.spec, policy)
    if problem:
        return f"{problem[0].upper()}{problem[1:]}. {LOOK}"
    sources = [each for each in policy.sources if each.connection_id == connection_id and each.type == "file" and not each.attests]
    if not any((row := registry.delivery(agent_id, each.name)) and row["localRead"] for each in sources):
        return f"The Console does not let their content be read. {LOOK}"
    return ""
