"""The Console's administration: routes, the shapes of their bodies, and what the page shows.

Knows which act a route names and what its body must hold; the Console has checked the
sign-in before anything here runs. A secret appears in exactly one answer, the one to the
act that made it.

Source  the design's rules on the Console (§5).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from rulith import VERSION
from rulith.base.canonical import digest
from rulith.base.errors import Refused
from rulith.base.json_text import read_json
from rulith.board.actions import setup_problem
from rulith.board.cases import open_cases
from rulith.board.differences import constitution_changes, descriptor_changes
from rulith.board.direct import direct_actions, name_of, unfit
from rulith.board.profiles import MEMBERS, record_of
from rulith.board.release import ActionSpec
from rulith.board.shapes import TIERS, Source, ToolLock
from rulith.board.state import CLOSED, EXPLORATION
from rulith.gateway.administration import Administration
from rulith.gateway.authority import AgentState
from rulith.gateway.source_checks import TYPES, known_predicates
from rulith.gateway.worker_line import WorkerLine
from rulith.procs.archive import archive_sha256

TEXT, TEXTS, YES_NO, OBJECT = "text", "a list of texts", "true or false", "an object"
SOURCE_MEMBERS = {"connectionId": TEXT, "name": TEXT, "type": TEXT, "access": TEXT, "tier": TEXT, "attests": TEXTS}
# route -> the members of its body, all of them required
BODIES: dict[str, dict[str, str]] = {
    "capability-check": {"text": TEXT},
    "capability-install": {"text": TEXT, "digest": TEXT, "replaces": TEXT},
    "constitution-check": {"text": TEXT},
    "constitution-install": {"text": TEXT, "digest": TEXT, "replaces": TEXT},
    "source-add": SOURCE_MEMBERS,
    "source-edit": {**SOURCE_MEMBERS, "replaces": TEXT},
    "source-remove": {"name": TEXT, "replaces": TEXT},
    "tool-lock": {"connectionId": TEXT, "toolId": TEXT, "digest": TEXT, "replaces": TEXT},
    "tool-unlock": {"connectionId": TEXT, "toolId": TEXT, "digest": TEXT},
    "tool-waive": {"connectionId": TEXT, "toolId": TEXT, "digest": TEXT, "waived": YES_NO},
    "source-delivery": {"agentId": TEXT, "source": TEXT, "localRead": YES_NO, "offMachine": YES_NO},
    "agent-create": {"name": TEXT},
    "agent-profile": {"id": TEXT, "profile": OBJECT, "replaces": TEXT},
    "agent-rotate": {"id": TEXT},
    "agent-revoke": {"id": TEXT},
    "connection-create": {"name": TEXT, "agentId": TEXT},
    "connection-rotate": {"id": TEXT},
}
CHECKS = ("capability-check", "constitution-check")     # what precedes an act, and changes nothing
UPLOADS = (*CHECKS, "capability-install", "constitution-install")     # routes whose body may be as large as a Capability file


_IS: dict[str, Callable[[object], bool]] = {
    TEXT: lambda value: isinstance(value, str), YES_NO: lambda value: isinstance(value, bool), OBJECT: lambda value: isinstance(value, dict),
    TEXTS: lambda value: isinstance(value, list) and all(isinstance(each, str) for each in value)}


def read_body(route: str, body: bytes) -> dict:
    """The body's members. Raises Refused: bad_json, bad_command naming the member."""
    found = read_json(body or b"{}", "the body")
    members = BODIES[route]
    if not isinstance(found, dict):
        raise Refused("bad_command", problem="The body is one JSON object.")
    for name in found:
        if name not in members:
            raise Refused("bad_command", problem=f"The member {name[:80]!r} is not one of {', '.join(members)}.")
    for name, kind in members.items():
        value = found.get(name)
        if not _IS[kind](value):
            raise Refused("bad_command", problem=f"{name} must be {kind}.")
    return found


class ConsoleAdmin:
    """Runs the routes of BODIES, and draws the state that their sections show."""

    def __init__(self, administration: Administration, line: WorkerLine) -> None:
        self.authority = administration.authority
        self._release = {"version": VERSION, "sha256": archive_sha256()}      # the one that fits this gateway: its own
        self._line = line
        do = administration
        self._acts: dict[str, Callable[[dict, dict], Awaitable[dict]]] = {
            "capability-install": lambda given, by: do.install_capability(given["text"], given["digest"], given["replaces"], by),
            "constitution-install": lambda given, by: do.install_constitution(given["text"], given["digest"], given["replaces"], by),
            "source-add": lambda given, by: do.add_source(given, by),
            "source-edit": lambda given, by: do.edit_source({name: given[name] for name in SOURCE_MEMBERS}, given["replaces"], by),
            "source-remove": lambda given, by: do.remove_source(given["name"], given["replaces"], by),
            "tool-lock": lambda given, by: do.lock_tool(given["connectionId"], given["toolId"], given["digest"], given["replaces"], by),
            "tool-unlock": lambda given, by: do.unlock_tool(given["connectionId"], given["toolId"], given["digest"], by),
            "tool-waive": lambda given, by: do.waive_decision(given["connectionId"], given["toolId"], given["digest"], given["waived"], by),
            "agent-profile": lambda given, by: do.set_profile(given["id"], given["profile"], given["replaces"], by),
            "source-delivery": lambda given, by: do.set_delivery(given["agentId"], given["source"], given["localRead"], given["offMachine"], by),
            "agent-create": lambda given, by: do.create_agent(given["name"], by),
            "agent-rotate": lambda given, by: do.rotate_agent(given["id"], by),
            "agent-revoke": lambda given, by: do.revoke_agent(given["id"], by),
            "connection-create": lambda given, by: do.create_connection(given["name"], given["agentId"], by),
            "connection-rotate": lambda given, by: do.rotate_connection(given["id"], by),
        }
        self._checks = {"capability-check": do.check_capability, "constitution-check": do.check_constitution}

    async def run(self, route: str, body: bytes, by: dict) -> dict:
        """The result of one act, or of the check that precedes one. Raises Refused with nothing changed."""
        given = read_body(route, body)
        if route in self._checks:
            return self._checks[route](given["text"])
        return await self._acts[route](given, by)

    # --- what the page shows -----------------------------------------------------------

    def overview(self, gateway_url: str) -> dict:
        """Everything the administration sections draw. No secret, no hash of one."""
        registry = self.authority.registry
        return {
            "gatewayUrl": gateway_url, "release": self._release,
            "capabilities": [self._capability(each) for each in registry.releases.values()],
            "constitution": self._constitution(),
            "agents": [self._agent(each) for each in registry.agents.values()],
            "connections": [self._connection(each) for each in registry.connections.values()],
            "sources": [{**each.record(), "digest": digest(each.record()), "delivery": self._delivery(each)} for each in registry.sources.values()],
            "sourceTypes": list(TYPES), "tiers": list(TIERS), "predicates": known_predicates(self.authority),
        }

    def _delivery(self, source: Source) -> list[dict]:
        """How content of a Source may reach the Agent that its Connection serves: {agentId, said, localRead, offMachine}."""
        agent_id = self.authority.registry.connection(source.connection_id)["agentId"]
        row = self.authority.registry.delivery(agent_id, source.name)
        return [{"agentId": agent_id, "said": row is not None, **{name: bool(row and row[name]) for name in ("localRead", "offMachine")}}]

    def _agent(self, agent: Mapping) -> dict:
        """An Agent, its Profile, and the names that one may list: those that are known here, and those that it lists already."""
        registry, board = self.authority.registry, self.authority.agents[agent["id"]].board.state
        profile = record_of(registry.profile(agent["id"]))
        own = {each["id"] for each in registry.connections.values() if each["agentId"] == agent["id"]}
        releases = board.releases.values()
        known: dict[str, set[str]] = {
            "capabilities": {each.id for each in releases}, "case_types": {*board.case_types, EXPLORATION},
            "predicates": {*(name for each in releases for name in each.predicates), *(row["predicate"] for key, lock in registry.locks.items() if key[0] in own
                                                                                         for row in lock.descriptor.get("returns", ()))},
            "sources": {each.name for each in registry.sources.values() if each.connection_id in own}, "tiers": set(TIERS)}
        return {"id": agent["id"], "name": agent["name"], "addedAt": agent["addedAt"], "revoked": not agent["tokenHash"],
                "profile": profile, "profileDigest": digest(profile),
                "choices": {name: sorted(known[name] | set(profile.get(name, ())), key=TIERS.index if name == "tiers" else None) for name in MEMBERS}}

    def _capability(self, release: Mapping) -> dict:
        states = [state for state in self.authority.agents.values() if release["id"] in state.board.state.releases]
        found = {name: release[name] for name in ("id", "version", "digest", "title", "by", "at") if name in release}
        if states:
            held = states[0].board.state.releases[release["id"]]
            found["summary"] = held.summary
            found["waits"] = [case_id for state in states if release["id"] in state.board.state.next for case_id in open_cases(state.board.state, release["id"])]
            found["caseTypes"] = [{"id": each.id, "title": each.title, "businessKey": dict(each.business_key),
                                   "open": sum(self._open_cases(state, each.id) for state in states)} for each in held.case_types.values()]
            found["actions"] = [self._action(each, states) for each in held.actions.values()]
        return found

    def _constitution(self) -> dict | None:
        """The one in force, each of its rules as lines to read."""
        known = self.authority.registry.constitution
        if known is None:
            return None
        rules = [each for each in constitution_changes(None, known["document"]) if each.part == "rule"]
        return {**{name: known[name] for name in ("version", "title", "digest", "by", "at")}, "summary": known["document"].get("summary", ""),
                "rules": [{"id": each.name, "label": each.lines[0][1].removeprefix("label "), "lines": [line for _, line in each.lines[1:]]} for each in rules]}

    def _open_cases(self, state: AgentState, case_type: str) -> int:
        return sum(case.type == case_type and case.status != CLOSED for case in state.board.state.cases.values())

    def _action(self, spec: ActionSpec, states: list[AgentState]) -> dict:
        """One Action, and per Agent what still keeps it from running."""
        row: dict = {"id": spec.id, "description": spec.description}
        if spec.is_external:
            row.update(tool=spec.tool, kind=spec.kind, decision=spec.decision["kind"] if spec.decision else "")
            problems = {state.agent_id: setup_problem(spec, self.authority.policy(state.agent_id)) for state in states}
            row["lacks"] = [{"agentId": agent_id, "problem": problem} for agent_id, problem in problems.items() if problem]
        return row

    def _connection(self, connection: Mapping) -> dict:
        connection_id = connection["id"]
        advertised = {row["id"]: row for row in self._line.advertised(connection_id)}
        locks = {lock.tool_id: lock for lock in self.authority.registry.locks_of(connection_id)}
        return {"id": connection_id, "name": connection["name"], "agentId": connection["agentId"], "addedAt": connection["addedAt"],
                "line": self._line.line(connection_id),
                "tools": [{**_tool(each, advertised.get(each), locks.get(each)), **self._direct(connection["agentId"], locks.get(each))}
                          for each in sorted({*advertised, *locks})]}

    def _direct(self, agent_id: str, lock: ToolLock | None) -> dict:
        """What a locked Tool is as a direct Action of its Agent: its name and what it waits for, or why it is none."""
        state = self.authority.agents.get(agent_id)
        if lock is None or state is None:
            return {}
        problem = unfit(state.board.state, lock)
        if problem is not None:
            return {"direct": {"problem": problem}}
        policy = self.authority.policy(agent_id)
        found = direct_actions(state.board.state, policy)[name_of(lock.tool_id)]
        lacks = found.problem or setup_problem(found.spec, policy) or ""
        return {"direct": {"action": found.spec.id, "lacks": lacks, "kind": found.spec.kind, "waived": lock.waived, "decision": found.spec.decision is not None}}


def _tool(tool_id: str, advertised: Mapping | None, lock) -> dict:
    """A Tool of one Connection: what the Worker offers, what is locked, and how the two differ."""
    shown = advertised or lock.descriptor
    locked = lock.digest if lock is not None else ""
    offered = advertised["digest"] if advertised is not None else ""
    state = "offered" if not locked else "not_offered" if not offered else "locked" if locked == offered else "changed"
    return {"id": tool_id, "state": state, "digest": offered, "lockedDigest": locked, "kind": shown.get("kind"),
            "sourceTypes": list(shown.get("sourceTypes", ())),
            "lines": [list(line) for line in descriptor_changes(lock.descriptor if state == "changed" else shown, shown)]}
