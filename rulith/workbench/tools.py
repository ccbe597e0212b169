"""A Worker's Tools on the page: what there is and how it is locked, its Manifest changed one Tool at a time.

A change is judged by the Worker's own rules over the whole merged set, then written whole;
nothing is executed, locked or granted by it. Whoever changes says which revision was seen.

Source  the workbench surface, "Worker tools and MCP services"
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from rulith.adapters.sources import read_vault
from rulith.base.canonical import sha256_hex
from rulith.base.errors import Refused
from rulith.base.json_text import read_json
from rulith.base.limits import SETTINGS_BYTES_MAX
from rulith.disk.atomic import read_bounded, write_json
from rulith.disk.materials import worker_materials
from rulith.disk.mcp_services import OWNED, Service, entries_of, file_of, joined, read_services, whole_set
from rulith.disk.profiles import Profile, role_env, write_role_env
from rulith.disk.vault import Vault
from rulith.wire.manifest import BUILTINS, FORMAT, WORKSPACE_MODES, Tool
from rulith.workbench.bench import Workbench
from rulith.workbench.instances import Instance

OFFERED = ""                     # no Tool's id
COMPARED = ("kind", "sourceTypes", "params", "returns")


class Desk:
    """The files behind one profile's Tools, as they are now."""

    def __init__(self, profile: Profile) -> None:
        env = role_env(profile, "worker")
        self.profile = profile
        self.is_named = "RULITH_TOOLS_FILE" in env
        self.manifest_file = Path(env.get("RULITH_TOOLS_FILE") or profile.directory / "worker-tools.json")
        self.vault_file = Path(env.get("RULITH_SECRETS_FILE") or profile.directory / "worker-secrets.json")
        self.mode = env.get("RULITH_WORKSPACE_TOOLS") or "read"
        self.manifest = read_bounded(self.manifest_file, SETTINGS_BYTES_MAX) if self.manifest_file.exists() else None
        services = Vault(file_of(profile)).read()
        self.revision = sha256_hex("\n".join([self.mode, _digest(self.manifest), _digest(services)]).encode())[:32]

    def check_revision(self, revision: object) -> None:
        """Raises Refused tools_changed_since."""
        if revision != self.revision:
            raise Refused("tools_changed_since", name=self.profile.name)

    def services(self) -> dict[str, Service]:
        """Raises Refused: mcp_services_unreadable, vault_…"""
        return read_services(file_of(self.profile))

    def document(self) -> dict:
        """The Manifest to be changed; a new one where there is none. Raises Refused tool_manifest_unreadable, bad_json."""
        if self.manifest is None:
            return {"format": FORMAT, "tools": {}}
        value = read_json(self.manifest, str(self.manifest_file))
        if not isinstance(value, dict) or not isinstance(value.get("tools"), dict):
            raise Refused("tool_manifest_unreadable", file=str(self.manifest_file), problem="it holds no object of Tools")
        return value

    def whole(self, *, document: Mapping | None = None, services: Mapping[str, Service] | None = None, mode: str | None = None) -> dict[str, Tool]:
        """The merged set that the Worker would serve, with these parts in the place of what is saved. Raises as the Worker would."""
        content = self.manifest if document is None else json.dumps(document).encode()
        return whole_set(mode or self.mode, content, str(self.manifest_file), self.services() if services is None else services,
                         materials=bool(worker_materials(self.profile)))

    def sources(self) -> dict[str, dict[str, object]]:
        """What this machine's vault says, by name. Raises Refused vault_…"""
        content = Vault(self.vault_file).read()
        return read_vault(content) if content else {}

    def check_sources(self, services: Mapping[str, Service]) -> None:
        """Raises Refused mcp_service_clash."""
        joined("Source", self.sources(), entries_of(services))

    def write(self, document: Mapping) -> None:
        self.whole(document=document)
        self.manifest_file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_json(self.manifest_file, document)
        if not self.is_named:
            write_role_env(self.profile, "worker", {"RULITH_TOOLS_FILE": str(self.manifest_file), "RULITH_WORKER_ROOT": str(self.manifest_file.parent)})


def _digest(content: bytes | None) -> str:
    return "none" if content is None else sha256_hex(content)


def changed(bench: Workbench, instance: Instance) -> None:
    """Files of the Worker were written: it reads them anew, and pages too."""
    bench.reload_worker(instance)
    bench.feed.put("tools", instance=instance.id)
    bench.changed()


# -- what there is -----------------------------------------------------------------------


def rows_of(desk: Desk, locks: Mapping[str, Mapping] | None) -> tuple[list[dict], dict | None]:
    """Each Tool as the page draws it, and why the Worker cannot serve them, if so. `locks` is None while the gateway is silent."""
    problem, declared, services = None, {}, {}
    try:
        services = desk.services()
        tools = desk.whole(services=services)
        declared = desk.document()["tools"]
    except Refused as refused:
        problem = {"code": refused.code, "message": refused.teaching}
        tools = whole_set(desk.mode, None, "", {}, materials=bool(worker_materials(desk.profile)))
    owners = {tool: name for name, service in services.items() for tool in service["tools"]}  # type: ignore[attr-defined]
    shown = {**{tool.id: tool for tool in BUILTINS.values()}, **tools}
    rows = [_row(tool, tool.id in tools, declared.get(tool.id), owners.get(tool.id), None if locks is None else locks.get(tool.id, {})) for tool in shown.values()]
    for row in rows:
        row["offered"] = None if locks is None else locks[OFFERED].get(row["id"]) == row["digest"]
    for tool_id in sorted(set(locks or ()) - set(shown) - {OFFERED}):
        rows.append({"id": tool_id, "origin": "gone", "configured": False, "kind": locks[tool_id]["descriptor"].get("kind"), "locked": True, "offered": False, "changes": []})  # type: ignore[index]
    return rows, problem


def _row(tool: Tool, configured: bool, definition: object, service: str | None, lock: Mapping | None) -> dict:
    descriptor = tool.descriptor()
    row: dict[str, object] = {"id": tool.id, "digest": tool.digest, "kind": tool.kind, "params": descriptor["params"], "returns": descriptor["returns"],
                              "sourceTypes": descriptor["sourceTypes"], "adapter": tool.adapter, "configured": configured,
                              "origin": "builtin" if tool.builtin else "mcp" if service else "manifest",
                              "locked": None if lock is None else bool(lock), "changes": changes(lock, descriptor) if lock else []}
    if service:
        row["service"], row["entry"] = service, tool.entry
    elif definition is not None:
        row["definition"] = definition
    if problem := automatic_problem(tool):
        row["automaticActionProblem"] = problem
    return row


def automatic_problem(tool: Tool) -> str | None:
    """Why this Tool, once locked, is no Action by itself and wants one in a Capability."""
    if not tool.returns:
        return "It states no fact (returns), so only a Capability's Action uses it."
    if any(kind.startswith("json") for kind in tool.params.values()):
        return "It takes a json value, which no Action by itself can state."
    return None


def changes(lock: Mapping, now: Mapping[str, object]) -> list[dict]:
    """What differs between the definition that was locked and the one of now; empty where the pin is the same."""
    if lock["digest"] == now["digest"]:
        return []
    before = lock["descriptor"]
    found = [{"member": name, "locked": before.get(name), "now": now.get(name)} for name in COMPARED if before.get(name) != now.get(name)]
    return found or [{"member": "definition", "locked": lock["digest"], "now": now["digest"]}]


async def locks_of(bench: Workbench, instance: Instance) -> dict[str, Mapping] | None:
    """The locks of this profile's Connection, by Tool, and under OFFERED the digest of each Tool that its Worker offers now; None while nobody can say."""
    try:
        answer = await bench.link.get("tools", {"agent": instance.profile.agent_id})
    except Refused:
        return None
    for row in answer.get("connections", ()):
        if row.get("id") == instance.profile.connection_id:
            return {OFFERED: {each["id"]: each["digest"] for each in row["offered"]}, **{each["id"]: each for each in row["locked"]}}
    return {OFFERED: {}}


# -- changing it -------------------------------------------------------------------------


def save(desk: Desk, given: Mapping[str, object]) -> None:
    """Declare a Tool, or change the one of `originalId`. Raises Refused: tool_…, tools_changed_since, what the Worker refuses."""
    desk.check_revision(given["revision"])
    tool, original = str(given["id"]), given.get("originalId") or None
    check_own(tool)
    if original is not None and original != tool:
        raise Refused("tool_kept_id", tool=str(original)[:120])
    document = desk.document()
    if original is None and tool in document["tools"]:
        raise Refused("tool_exists", tool=tool[:120])
    if original is not None and tool not in document["tools"]:
        raise Refused("tool_gone", tool=tool[:120])
    document["tools"][tool] = given["definition"]
    desk.write(document)


def remove(desk: Desk, given: Mapping[str, object]) -> None:
    """Raises Refused: tool_gone, tool_of_service, tool_of_rulith, tools_changed_since."""
    desk.check_revision(given["revision"])
    tool = str(given["id"])
    if tool in BUILTINS:
        raise Refused("tool_of_rulith", tool=tool)
    check_own(tool)
    document = desk.document()
    if document["tools"].pop(tool, None) is None:
        raise Refused("tool_gone", tool=tool[:120])
    desk.write(document)


def check_own(tool: str) -> None:
    if tool.startswith(OWNED):
        raise Refused("tool_of_service", tool=tool[:120])


def set_mode(desk: Desk, given: Mapping[str, object]) -> None:
    """Which workspace Tools the Worker serves. Raises Refused: tools_mode, tools_changed_since, what the Worker refuses."""
    desk.check_revision(given["revision"])
    mode = given["mode"]
    if mode not in WORKSPACE_MODES:
        raise Refused("tools_mode", mode=str(mode)[:40])
    desk.whole(mode=str(mode))
    write_role_env(desk.profile, "worker", {"RULITH_WORKSPACE_TOOLS": str(mode)})
