"""The Console's Cases: what its pages show, and the routes of what a person does there.

Reads what the workbench reads too, and what only a person needs: what was tried, who holds
a Case and why, and what stands in the way of ending it. The Console has checked the sign-in
before anything here runs.

Source  the design's rules on the Console (§5).
"""

from __future__ import annotations

from collections.abc import Mapping

from rulith.base.errors import Refused
from rulith.base.limits import CASES_LISTED_MAX
from rulith.gateway.case_acts import NEXT, CaseActs
from rulith.gateway.local_api import LocalApi, operation_row

LIVE, CLOSED = "live", "closed"
# route -> its body's members
BODIES = {"close-case": ("agentId", "caseId", "disposition", "reason"), "hold-case": ("agentId", "caseId", "reason"),
          "lift-hold": ("agentId", "caseId", "hold", "reason"), "withdraw-call": ("agentId", "ordinal", "reason")}
READS = ("cases", "case", "receipt")


class ConsoleCases:
    def __init__(self, acts: CaseActs, local: LocalApi) -> None:
        self.authority = acts.authority
        self._acts = acts
        self._local = local

    def run(self, route: str, given: Mapping, by: Mapping) -> dict:
        """The result of one act. Raises Refused with nothing changed."""
        agent_id, reason = given["agentId"], given["reason"]
        if route == "close-case":
            return self._acts.close(agent_id, given["caseId"], given["disposition"], reason, by)
        if route == "hold-case":
            return self._acts.hold(agent_id, given["caseId"], reason, by)
        if route == "lift-hold":
            return self._acts.lift(agent_id, given["caseId"], given["hold"], reason, by)
        return self._acts.withdraw(agent_id, given["ordinal"], reason, by)

    async def read(self, route: str, query: Mapping[str, str]) -> dict:
        if route == "receipt":
            return await self._local.receipt(dict(query))
        return {"caseList": self._list(query)} if route == "cases" else {"caseDetail": await self._one(query)}

    def _list(self, query: Mapping[str, str]) -> dict:
        """{show, counts, rows, total}: the Cases of every Agent that are live, or those that are closed, the newest first."""
        show = query.get("show", LIVE)
        if show not in (LIVE, CLOSED):
            raise Refused("bad_command", problem=f"show is {LIVE} or {CLOSED}, not {show[:40]!r}")
        limit = min(_whole(query.get("limit", ""), 50), CASES_LISTED_MAX)
        rows: list[dict] = []
        counts = {LIVE: 0, CLOSED: 0}
        for agent_id, state in self.authority.agents.items():
            live, closed = state.board.count_cases()
            counts = {LIVE: counts[LIVE] + live, CLOSED: counts[CLOSED] + closed}
            for row in state.board.cases(limit, live=show == LIVE):
                waits = self._acts.open_call(agent_id, row["caseId"]) if show == LIVE else None
                rows.append({"agentId": agent_id, **row, **({"waits": waits.public_state} if waits is not None else {})})
        rows.sort(key=lambda row: row["openedAt"], reverse=True)
        return {"show": show, "counts": counts, "rows": rows[:limit], "total": counts[show], "most": CASES_LISTED_MAX}

    async def _one(self, query: Mapping[str, str]) -> dict:
        """One Case as the workbench sees it, with what was tried, and the call that ending it waits for."""
        agent_id = query.get("agent", "")
        self.authority.registry.agent(agent_id)
        detail = await self._local.case(dict(query))
        case_id = detail["case"]["caseId"]
        waits = self._acts.open_call(agent_id, case_id)
        found = {name: detail[name] for name in ("case", "tree", "gaps", "operations", "receipt")}
        return {**found, "agentId": agent_id, "tried": self.authority.agents[agent_id].board.attempts(case_id)[::-1],
                "waits": {**operation_row(agent_id, waits), "next": NEXT.get(waits.state, "wait")} if waits is not None else None}


def _whole(text: str, default: int) -> int:
    return max(1, int(text)) if text.isascii() and text.isdigit() and len(text) < 8 else default
