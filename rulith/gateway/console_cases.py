"""The Console's Cases: what its pages show, and the routes of what a person does there.

Reads what the workbench reads too, and what only a person needs: what was tried, who holds
a Case and why, and what stands in the way of ending it. The Console has checked the sign-in
before anything here runs.

Source  the design's rules on the Console (§5).
"""

from __future__ import annotations

from collections.abc import Mapping

from rulith.base.errors import Refused
from rulith.board.state import CLOSED as CASE_CLOSED, Case
from rulith.board.views import case_about, case_title
from rulith.gateway.authority import AgentState
from rulith.gateway.case_acts import NEXT, CaseActs
from rulith.gateway.local_api import LocalApi, operation_row

LIVE, HELD, CLOSED = "live", "held", "closed"
# route -> its body's members
BODIES = {"close-case": ("agentId", "caseId", "disposition", "reason"), "hold-case": ("agentId", "caseId", "reason"),
          "lift-hold": ("agentId", "caseId", "hold", "reason"), "withdraw-call": ("agentId", "ordinal", "reason")}
READS = ("cases", "case", "receipt", "proof", "why-not")
PAGE_MAX = 200


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
        if route in ("proof", "why-not"):
            told = self._local.proof if route == "proof" else self._local.why_not
            return {"proof" if route == "proof" else "whyNot": await told(dict(query))}
        return {"caseList": self._list(query)} if route == "cases" else {"caseDetail": await self._one(query)}

    def _list(self, query: Mapping[str, str]) -> dict:
        """{show, text, counts, rows, next}: a page of every Agent's Cases below the place `before`, the newest first.

        show  live, held (live, with a hold) or closed;  text  must stand in the key, the type, the id or the Agent's name
        next  the place where the next page begins, or None
        """
        show, text = query.get("show", LIVE), query.get("text", "").casefold()
        if show not in (LIVE, HELD, CLOSED):
            raise Refused("bad_command", problem=f"show is {LIVE}, {HELD} or {CLOSED}, not {show[:40]!r}")
        limit, before = min(_whole(query.get("limit", ""), 50), PAGE_MAX), query.get("before", "")
        counts = dict.fromkeys((LIVE, HELD, CLOSED), 0)
        found: list[tuple[str, AgentState, Case]] = []
        for agent_id, state in self.authority.agents.items():
            name = self.authority.registry.agents[agent_id]["name"]
            mine = []
            for case in reversed(state.board.state.cases.values()):
                kinds = (CLOSED,) if case.status == CASE_CLOSED else (LIVE, HELD) if case.holds else (LIVE,)
                for kind in kinds:
                    counts[kind] += 1
                if show in kinds and len(mine) <= limit and (not before or _place(case) < before) and (not text or text in _words(state, case, name)):
                    mine.append((agent_id, state, case))
            found += mine
        found.sort(key=lambda row: _place(row[2]), reverse=True)
        rows = [self._row(agent_id, state, case) for agent_id, state, case in found[:limit]]
        return {"show": show, "text": query.get("text", ""), "counts": counts, "rows": rows, "next": _place(found[limit - 1][2]) if len(found) > limit else None}

    def _row(self, agent_id: str, state: AgentState, case: Case) -> dict:
        waits = self._acts.open_call(agent_id, case.case_id) if case.status != CASE_CLOSED else None
        return {"agentId": agent_id, **case_about(case), **case_title(state.board.state, case), "receipt": case.case_id in state.receipts,
                **({"waits": waits.public_state} if waits is not None else {})}

    async def _one(self, query: Mapping[str, str]) -> dict:
        """One Case as the workbench sees it, with what was tried, and the call that ending it waits for."""
        agent_id = query.get("agent", "")
        self.authority.registry.agent(agent_id)
        detail = await self._local.case(dict(query))
        case_id = detail["case"]["caseId"]
        waits = self._acts.open_call(agent_id, case_id)
        found = {name: detail[name] for name in ("case", "tree", "gaps", "facts", "operations", "receipt")}
        return {**found, "agentId": agent_id, "tried": self.authority.agents[agent_id].board.attempts(case_id)[::-1],
                "waits": {**operation_row(agent_id, waits), "next": NEXT.get(waits.state, "wait")} if waits is not None else None}


def _place(case: Case) -> str:
    """Where a Case stands in the order of pages."""
    return f"{case.opened_at} {case.case_id}"


def _words(state: AgentState, case: Case, agent: str) -> str:
    title = case_title(state.board.state, case).values()
    return " ".join([*map(str, (case.business_key or {}).values()), case.type, *title, case.case_id, agent]).casefold()


def _whole(text: str, default: int) -> int:
    return max(1, int(text)) if text.isascii() and text.isdigit() and len(text) < 8 else default
