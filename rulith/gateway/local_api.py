"""What a workbench may read: state, Cases, proofs and receipts, by the home's grant or a device's token.

Promises: reads only; nothing here decides, lifts, locks, installs or reconciles, and no
secret is in an answer. A wait returns as soon as something became durable.

Units   timeoutMs is milliseconds.
Source  the design's rules on the device grant (§5).
"""

from __future__ import annotations

import asyncio
import hmac
from itertools import islice
from pathlib import Path

from rulith.base.errors import Refused, Unknown
from rulith.base.json_text import read_json
from rulith.base.limits import CASES_LISTED_MAX, LOCAL_WAIT_S_MAX, OPERATIONS_LISTED_MAX
from rulith.board.operations import Operation
from rulith.board.profiles import Profile
from rulith.board.state import CLOSED, Case
from rulith.board.views import case_about, case_title
from rulith.gateway.authority import ANYTHING, AgentState, Authority, token_hash
from rulith.gateway.calls import ToolCalls
from rulith.gateway.case_reads import CaseReads
from rulith.gateway.copies import back_up
from rulith.gateway.files import files_row
from rulith.gateway.inspection import check_ledger, show_capability, show_constitution
from rulith.gateway.mcp import bearer, is_foreign_host, is_foreign_page
from rulith.gateway.worker_line import WorkerLine
from rulith.net.messages import Request, Response, json_response

PREFIX, BACKUP = "/local/", "backup"
GATHER_S = 0.02
TOLD = ("ordinal", "tool", "label", "at", "summary", "reason", "action", "argsText")     # of a call, by a receipt
STATUSES = {"device_grant_required": 401, "unknown_agent": 404, "unknown_case": 404, "not_found": 404, "no_receipt": 404,
            "unknown_decision": 404, "unknown_connection": 404, "unknown_moment": 404, "credential_unknown": 404,
            "capability_not_installed": 404, "constitution_not_installed": 404}


class LocalApi:
    """Serves /local/*. Copies of the ledger are made in `folder`."""

    def __init__(self, authority: Authority, calls: ToolCalls, line: WorkerLine, folder: Path) -> None:
        self.authority = authority
        self._folder = folder
        self._calls = calls
        self._line = line
        self._case_rows: dict[str, dict[str, tuple[Case, dict]]] = {}     # of each Agent, as last listed
        self._reads = CaseReads(authority, self._agent)
        self._routes = {"state": self._state, "wait": self._wait, "case": self.case, "proof": self.proof,
                        "why-not": self.why_not, "receipt": self.receipt, "capability": self._capability,
                        "constitution": self._constitution, "tools": self._tools, "whose": self._whose,
                        "ledger": self._ledger, BACKUP: self._backup, **self._reads.routes}

    def head_check(self, request: Request) -> Response | None:
        """401 without the home's grant, which opens nothing over TLS, or the token of a device that an owner let in."""
        if is_foreign_page(request) or is_foreign_host(request):
            return refused(Refused("device_grant_required"))
        if (stranger := self._stranger(request)) is not None:
            return stranger
        allowed = "POST" if request.path == PREFIX + BACKUP else "GET"
        if request.method != allowed:
            teaching = f"This address is asked with {allowed}."
            return json_response(405, {"ok": False, "errorCode": "bad_command", "teaching": teaching}, [("allow", allowed)])
        return None

    def _stranger(self, request: Request) -> Response | None:
        """401 to whoever may not read, or may no longer."""
        try:
            self._check_reader(token_hash(bearer(request) or ""), request)
        except Refused as refusal:
            answer = refused(refusal)
            answer.status = 401
            return answer
        return None

    def _check_reader(self, shown: str, request: Request) -> None:
        """Raises Refused: device_grant_required, device_revoked, device_expired."""
        registry = self.authority.registry
        if not request.secure and registry.device_grant_hash and hmac.compare_digest(shown, registry.device_grant_hash):
            return
        if request.path == PREFIX + BACKUP:
            raise Refused("device_grant_required")          # it leaves a file on this computer
        try:
            registry.device_of(shown, self.authority.now())
        except Refused as refusal:
            if refusal.code != "device_unknown":
                raise
            raise Refused("device_grant_required") from None

    async def handle(self, request: Request) -> Response:
        route = self._routes.get(request.path[len(PREFIX):])
        if route is None:
            return json_response(404, {"ok": False, "errorCode": "not_found", "teaching": "There is no such address here."})
        try:
            answer = json_response(200, await route(request.query), [("cache-control", "no-store")])
        except Refused as refusal:
            answer = refused(refusal)
        try:
            await self.authority.settled()
        except Unknown as unknown:
            return json_response(503, {"ok": False, "errorCode": "store_unavailable", "teaching": str(unknown)})
        return self._stranger(request) or answer         # a wait may outlive the sign-in it came with

    # --- state -------------------------------------------------------------------------

    async def _state(self, query: dict[str, str]) -> dict:
        return self.snapshot()

    def snapshot(self, after: int | None = None) -> dict:
        """Everything the workbench draws at a glance, newest first where order is time.

        after  only the Cases of Agents that moved since this version; `casesOf` names those
        """
        registry, agents = self.authority.registry, self.authority.agents
        listed = [agent_id for agent_id in agents if after is None or self.authority.moved.get(agent_id, 0) > after]
        self.expire_decisions()
        return {
            "version": self.authority.version,
            "agents": [{"id": each["id"], "name": each["name"]} for each in registry.agents.values()],
            "connections": [self.connection(each) for each in registry.connections.values()],
            "cases": [row for agent_id in listed for row in self._cases(agent_id, agents[agent_id])],
            "casesTotal": {agent_id: len(state.board.state.cases) for agent_id, state in agents.items()}, **({} if after is None else {"casesOf": listed}),
            "operations": self.operations(),
            "decisions": self.decisions(),
            "passphraseSet": registry.is_set_up(), "nameNeeded": registry.is_name_needed(),
            "store": {"ok": False, "problem": self.authority.turns.trouble} if self.authority.turns.is_sick else {"ok": True},
        }

    def _cases(self, agent_id: str, state: AgentState) -> list[dict]:
        """Rows of an Agent's newest Cases, newest first; the row of a Case that did not move is not made again."""
        known, made = self._case_rows.get(agent_id, {}), {}
        for case in islice(reversed(state.board.state.cases.values()), CASES_LISTED_MAX):
            has_receipt, title = case.case_id in state.receipts, case_title(state.board.state, case)
            held = known.get(case.case_id)
            if held is None or held[0] is not case or (held[1]["receipt"], held[1].get("title")) != (has_receipt, title.get("title")):
                held = case, {"agentId": agent_id, **case_about(case), **title, "receipt": has_receipt}
            made[case.case_id] = held
        self._case_rows[agent_id] = made
        return [row for _, row in made.values()]

    def expire_decisions(self) -> None:
        for agent_id in self.authority.agents:
            self._calls.expire_decision(agent_id)

    def connection(self, connection: dict) -> dict:
        connection_id, registry = connection["id"], self.authority.registry
        advertised = {row["id"]: row for row in self._line.advertised(connection_id)}
        locks = {lock.tool_id: lock for lock in registry.locks_of(connection_id)}
        tools = []
        for tool_id in sorted({*advertised, *locks}):
            row, lock = advertised.get(tool_id), locks.get(tool_id)
            tools.append({"id": tool_id, "kind": row["kind"] if row else lock.descriptor["kind"], "advertised": row is not None,
                          "locked": lock is not None and (row is None or row["digest"] == lock.digest)})
        return {"id": connection_id, "name": connection["name"], "agentId": connection["agentId"],
                "line": self._line.line(connection_id), "tools": tools, "files": files_row(self.authority, connection),
                "sources": [{"name": each.name, "type": each.type, "access": each.access}
                            for each in registry.sources_of(connection_id)]}

    async def _tools(self, query: dict[str, str]) -> dict:
        """The Tools of an Agent's Connections as they are locked and as they are offered now, whole."""
        agent_id, registry = self._agent(query)[0], self.authority.registry
        found = [each for each in registry.connections.values() if each["agentId"] == agent_id]
        return {"connections": [{"id": each["id"], "offered": list(self._line.advertised(each["id"])),
                                 "locked": [{"id": lock.tool_id, "digest": lock.digest, "descriptor": lock.descriptor} for lock in registry.locks_of(each["id"])]}
                                for each in found]}

    async def _whose(self, query: dict[str, str]) -> dict:
        """Which Agent a token, or which Connection a key, opens; asked by its hash, so that no secret comes here."""
        registry, wanted = self.authority.registry, query.get("hash", "")
        connection = next((each for each in registry.connections.values() if wanted and each["keyHash"] == wanted), None)
        agent = registry.agents.get(connection["agentId"]) if connection else next((each for each in registry.agents.values() if wanted and each["tokenHash"] == wanted), None)
        if agent is None:
            raise Refused("credential_unknown")
        found = {"connectionId": connection["id"], "connectionName": connection["name"]} if connection else {}
        return {"agentId": agent["id"], "agentName": agent["name"], **found}

    def operations(self, agent_id: str | None = None, case_id: str | None = None) -> list[dict]:
        """Operation rows, newest first; of one Agent or one Case where named."""
        rows = []
        for each_id, state in self.authority.agents.items():
            if agent_id in (None, each_id):
                found = (operation for operation in reversed(state.operations.operations.values())
                         if case_id is None or case_id in operation.case_ids)
                rows += [operation_row(each_id, operation) for operation in islice(found, OPERATIONS_LISTED_MAX)]
        rows.sort(key=lambda row: row["at"], reverse=True)
        return rows[:OPERATIONS_LISTED_MAX]

    def decisions(self) -> list[dict]:
        """All decisions that wait, then the newest of the others."""
        at = self.authority.now()
        registry = self.authority.registry
        rows = [{**each, "state": registry.decision_state(each["id"], at), "approved": sorted(registry.approvers(each["by"])), "units": self._units(each["agentId"], each["action"])}
                for each in registry.decisions.values()]
        rows.sort(key=lambda row: row["requestedAt"], reverse=True)
        waiting = [row for row in rows if row["state"] == "pending"]
        return waiting + [row for row in rows if row["state"] != "pending"][:OPERATIONS_LISTED_MAX]

    def _units(self, agent_id: str, action: str) -> dict[str, str]:
        agent = self.authority.agents.get(agent_id)
        return agent.board.state.argument_units(action) if agent is not None else {}

    async def _wait(self, query: dict[str, str]) -> dict:
        """The state once its version passed `after`, or the bare version when the time ran out; with `cases=moved`, Cases of Agents that moved alone."""
        after, wait_ms = _whole(query, "after", 0), _whole(query, "timeoutMs", 25_000)
        loop = asyncio.get_running_loop()
        deadline = loop.time() + min(wait_ms / 1000, LOCAL_WAIT_S_MAX)
        while self.authority.version <= after:
            left = deadline - loop.time()
            if left <= 0 or self.authority.closing or not await self.authority.wait_change((ANYTHING,), left):
                return {"version": self.authority.version}
            await asyncio.sleep(min(GATHER_S, max(0.0, left)))    # under load one picture tells of many commits
        await self.authority.rested()
        return self.snapshot(after if query.get("cases") == "moved" else None)

    # --- one Case, one fact ------------------------------------------------------------

    def _agent(self, query: dict[str, str]) -> tuple[str, AgentState]:
        """The Agent named by `agent`, else the one of the Case named by `case`, else the only one."""
        agents, case_id = self.authority.agents, query.get("case", "")
        holders = [each for each, state in agents.items() if case_id in state.receipts or case_id in state.names.state.cases]
        agent_id = query.get("agent") or next(iter(holders), "") or (next(iter(agents)) if len(agents) == 1 else "")
        if not agent_id and case_id:
            raise Refused("unknown_case", case=case_id[:80])
        self.authority.registry.agent(agent_id or "without an id")
        return agent_id, agents[agent_id]

    async def case(self, query: dict[str, str]) -> dict:
        agent_id, state = self._agent(query)
        case_id = query.get("case", "")
        detail = state.board.case_detail(case_id, self.authority.policy(agent_id), self._eyes(agent_id, query))
        about = {**detail["case"], **case_title(state.board.state, state.board.case(case_id))}
        if about["status"] != CLOSED and self._eyes(agent_id, query) is None:
            detail["facts"] = self._reads.grounded(state, case_id, detail["facts"])
        return {**detail, "case": about, "operations": self._operations_of(agent_id, case_id), "receipt": case_id in state.receipts}

    def _operations_of(self, agent_id: str, case_id: str) -> list[dict]:
        """The calls of a Case, newest first; those that memory has let go, as its receipt tells of them."""
        rows = self.operations(agent_id, case_id)
        document = self.authority.receipt_document(agent_id, case_id)
        held = {row["ordinal"] for row in rows}
        for told in document["operations"] if document is not None else ():
            own = told.get("target") in (None, document["case"]["root"])      # it may cite calls of earlier Cases
            if own and told["ordinal"] not in held:
                rows.append({"agentId": agent_id, "state": told["outcome"], "since": told["at"], "caseIds": [case_id], "steps": [],
                             **{name: told[name] for name in TOLD if name in told}})
        return sorted(rows, key=lambda row: row["ordinal"], reverse=True)[:OPERATIONS_LISTED_MAX]

    async def proof(self, query: dict[str, str]) -> dict:
        agent_id, state = self._agent(query)
        node = read_json(query["atom"], "atom") if "atom" in query else query.get("id", "")
        return state.board.proof(node, query.get("case"), self._eyes(agent_id, query))

    def _eyes(self, agent_id: str, query: dict[str, str]) -> Profile | None:
        """With `as=agent`, what the Agent itself may see; a person sees everything."""
        return self.authority.profile(agent_id) if query.get("as") == "agent" else None

    async def why_not(self, query: dict[str, str]) -> dict:
        agent_id, state = self._agent(query)
        return state.board.why_not(read_json(query.get("atom", ""), "atom"), self.authority.policy(agent_id))

    async def _capability(self, query: dict[str, str]) -> dict:
        return show_capability(self.authority, query.get("id", ""))

    async def _constitution(self, query: dict[str, str]) -> dict:
        return show_constitution(self.authority)

    async def _ledger(self, query: dict[str, str]) -> dict:
        return await check_ledger(self.authority)

    async def _backup(self, query: dict[str, str]) -> dict:
        """A copy of the ledger as of now, in the gateway's own folder; whoever asked takes it from there."""
        return await back_up(self.authority, self._folder)

    async def receipt(self, query: dict[str, str]) -> dict:
        agent_id, _ = self._agent(query)
        document = self.authority.receipt_document(agent_id, query.get("case", ""))
        if document is None:
            raise Refused("no_receipt", case=query.get("case", "")[:80])
        return document


def operation_row(agent_id: str, operation: Operation) -> dict:
    """One operation as pages show it, with the moments of its states."""
    row: dict = {"agentId": agent_id, "ordinal": operation.ordinal, "tool": operation.tool, "label": operation.label,
                 "state": operation.public_state, "at": operation.at, "since": operation.since,
                 "caseIds": list(operation.case_ids), "steps": [{"state": state, "at": at} for state, at in operation.steps]}
    if operation.stage:
        row["stage"] = operation.stage
    if operation.decision:
        row["decision"], row["decisionId"] = operation.decision["kind"], operation.decision["id"]
    for name in ("summary", "reason"):
        if getattr(operation, name):
            row[name] = getattr(operation, name)
    if operation.plan:
        row["action"], row["argsText"] = operation.plan["action"], operation.plan["argsText"]
        row["connectionId"], row["argumentDigest"] = operation.plan["connectionId"], operation.plan["argumentDigest"]
    return row


def refused(refusal: Refused) -> Response:
    return json_response(STATUSES.get(refusal.code, 400), {"ok": False, "errorCode": refusal.code, "teaching": refusal.teaching},
                         [("cache-control", "no-store")])


def _whole(query: dict[str, str], name: str, default: int) -> int:
    text = query.get(name, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 16 else default
