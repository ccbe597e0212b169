"""Orders on the line: a person asks a Source to verify a fact or to tell what it holds, a Worker answers, law judges.

Promises: an operator asks, nobody's token; only a locked read Tool of the Source's own
Connection is asked; an answer lands only what that Tool returns and that Source may attest,
and one that is refused lands nothing and ends its order as an error. No order is ever in
doubt, for it is a read: one whose Worker left is asked of the next.

Units   *_s seconds of the monotonic clock
Source  the Worker hop, §§4, 5.3, 16, 17; the design's rule on what a Worker may say (§5)
"""

from __future__ import annotations

from collections.abc import Mapping

from rulith.base.canonical import digest
from rulith.base.errors import Refused
from rulith.base.json_text import compact_json, read_json
from rulith.base.limits import CASES_LISTED_MAX, INLINE_BYTES_MAX
from rulith.board.cases import find_case
from rulith.board.orders import ANSWERED, CLAIMED, ERROR, EVIDENCE, OPEN, SATISFIED, VERIFICATION, WITHDRAWN, Order
from rulith.board.registry import judge_authority
from rulith.board.state import CLOSED
from rulith.board.views import case_title
from rulith.gateway.authority import Authority
from rulith.gateway.worker_work import Holder
from rulith.wire.contract import validate
from rulith.wire.lease import Fence

AGAIN_S = 10.0                   # until a row that its holder left, or never got, is offered to it once more
MATERIAL_CHARS_MAX = 200
# route of the Console -> its body's members
BODIES = {"order-verification": ("agentId", "caseId", "source", "toolId", "claim", "reason?"),
          "order-evidence": ("agentId", "caseId", "source", "toolId", "material", "reason?"), "order-withdraw": ("agentId", "orderId", "reason")}


class WorkOrders:
    def __init__(self, authority: Authority) -> None:
        self.authority = authority
        self._offered: dict[tuple[str, str, int], float] = {}      # (order, instance, generation) -> when

    # --- asking ------------------------------------------------------------------------

    def run(self, route: str, given: Mapping, by: Mapping) -> dict:
        """One act of the Console. Raises Refused with nothing changed."""
        name = judge_authority("ask_source", by, self.authority.registry.people)
        agent_id = given["agentId"]
        self.authority.registry.agent(agent_id)
        if route == "order-withdraw":
            if not given["reason"].strip():
                raise Refused("reason_required")
            command = {"kind": "end", "id": given["orderId"], "state": WITHDRAWN, "reason": given["reason"].strip(), "by": name}
            return self.authority.command_order(agent_id, command).result
        kind = VERIFICATION if route == "order-verification" else EVIDENCE
        case = find_case(self.authority.agents[agent_id].board.state, given["caseId"])
        if case.status == CLOSED:
            raise Refused("case_closed", case=case.case_id, disposition=case.disposition)
        asked = {"claim": _claim(given["claim"])} if kind == VERIFICATION else {"material": _material(given["material"])}
        connection_id, lock = self._tool(agent_id, given["source"], given["toolId"], asked.get("claim"))
        return self.authority.command_order(agent_id, {
            "kind": "ask", "orderKind": kind, "caseId": case.case_id, "connectionId": connection_id, "source": given["source"], "tool": lock.tool_id,
            "toolDigest": lock.digest, "returns": [dict(row) for row in lock.descriptor["returns"]], "by": name, **asked}).result

    def _tool(self, agent_id: str, source: str, tool_id: str, claim: Mapping | None):
        """The Connection and the lock that this is asked of."""
        registry = self.authority.registry
        found = registry.sources.get(source)
        if found is None or registry.connection(found.connection_id)["agentId"] != agent_id:
            raise Refused("unknown_source", source=source[:80])
        lock = registry.locks.get((found.connection_id, tool_id))
        if lock is None:
            raise Refused("not_found", what="Tool lock", name=tool_id[:120])
        descriptor = lock.descriptor
        problem = None
        if descriptor.get("kind") != "read":
            problem = "it is no read"
        elif found.type not in descriptor.get("sourceTypes", ()):
            problem = f"it accepts no Source of type {found.type}"
        elif not descriptor.get("returns"):
            problem = "it returns no facts"
        elif claim is not None and not any(row["predicate"] == claim["predicate"] and set(row["args"]) == set(claim["args"]) for row in descriptor["returns"]):
            problem = f"it returns no {claim['predicate'][:80]} with these arguments"
        elif claim is not None and not found.may_attest(claim["predicate"]):
            problem = f"the Source {source!r} may not attest {claim['predicate'][:80]}"
        if problem is not None:
            raise Refused("order_unanswerable", tool=tool_id, problem=problem)
        return found.connection_id, lock

    def page(self, agent_id: str) -> dict:
        """{orders, asking}: the orders of an Agent, the only one's where none is named, and what may be asked about which of its Cases."""
        registry = self.authority.registry
        agent_id = agent_id or next(iter(registry.agents), "")
        found = self.listed(agent_id)
        board, ways = self.authority.agents[agent_id].names, []
        for source in registry.sources.values():
            for lock in registry.locks_of(source.connection_id) if registry.connection(source.connection_id)["agentId"] == agent_id else ():
                descriptor = lock.descriptor
                if descriptor.get("kind") == "read" and source.type in descriptor.get("sourceTypes", ()) and descriptor.get("returns"):
                    ways.append({"source": source.name, "toolId": lock.tool_id, "returns": [
                        {"predicate": row["predicate"], "args": sorted(row["args"]), "may": source.may_attest(row["predicate"])} for row in descriptor["returns"]]})
        cases = [{"caseId": row["caseId"], "key": " ".join(map(str, row.get("businessKey", {}).values())) or row["caseId"],
                  "title": case_title(board.state, board.case(row["caseId"])).get("title", row["caseType"])} for row in reversed(board.cases(CASES_LISTED_MAX, live=True))]
        return {"orders": found, "asking": {"agentId": agent_id, "ways": ways, "cases": cases}}

    def listed(self, agent_id: str) -> list[dict]:
        """The orders of an Agent, the newest first."""
        self.authority.registry.agent(agent_id)
        return [each.row() for each in reversed(self.authority.agents[agent_id].orders.orders.values())]

    # --- on the line -------------------------------------------------------------------

    def rows(self, holder: Holder, tools: Mapping[str, str]) -> list[dict]:
        """The order rows this holder may work on now; each is offered once, and again after a while."""
        agent_id = self.authority.registry.connection(holder.connection_id)["agentId"]
        state, now_s, found = self.authority.agents.get(agent_id), self.authority.clock.monotonic_s(), []
        for order in state.orders.open(holder.connection_id) if state is not None else ():
            key = (order.id, holder.worker_id, holder.generation)
            lock = self.authority.registry.locks.get((order.connection_id, order.tool))
            fits = lock is not None and lock.digest == order.tool_digest == tools.get(order.tool) and order.source in self.authority.registry.sources
            if order.state == OPEN and fits and now_s - self._offered.get(key, -AGAIN_S) >= AGAIN_S:
                self._offered[key] = now_s
                found.append(_row(agent_id, order))
        if len(self._offered) > 4_096:
            self._offered.clear()
        return found

    def supersede(self, connection_id: str, generation: int) -> None:
        """An older generation's claims are void: a read is asked again."""
        for agent_id, state in self.authority.agents.items():
            for order in state.orders.open(connection_id):
                if order.state == CLAIMED and order.claimer["generation"] < generation:
                    self.authority.command_order(agent_id, {"kind": "release", "id": order.id})

    def _find(self, holder: Holder, order_id: str) -> tuple[str, Order]:
        agent_id = self.authority.registry.connection(holder.connection_id)["agentId"]
        order = self.authority.agents[agent_id].orders.order(order_id)
        if order.connection_id != holder.connection_id or order.kind != VERIFICATION:
            raise Refused("no_work", work=order_id[:80])
        return agent_id, order

    async def claim(self, holder: Holder, request: Mapping) -> dict:
        agent_id, order = self._find(holder, request["id"])
        if order.state not in (OPEN, CLAIMED):
            raise Refused("not_dispatchable", work=order.id)
        self.authority.command_order(agent_id, {"kind": "claim", "id": order.id, "connectionId": holder.connection_id, "workerId": holder.worker_id,
                                                "generation": holder.generation})
        await self.authority.settled()
        return {"accepted": True}

    async def report(self, holder: Holder, request: Mapping, fence: Fence) -> dict:
        """Take an answer. Raises Refused: no_work, not_claimer, worker_fenced, already_reported, ingest_rejected, report_evidence.source_mismatch."""
        if request["workType"] == EVIDENCE:
            return await self._gathered(holder, request, fence)
        agent_id, order = self._find(holder, request["id"])
        said = digest({name: value for name, value in request.items() if name not in ("workerId", "workerGeneration")})
        if order.state not in (OPEN, CLAIMED):
            if order.digest == said:
                await self.authority.settled()
                return {"accepted": True}
            raise Refused("already_reported")
        if order.state != CLAIMED or order.claimer != {"connectionId": holder.connection_id, "workerId": holder.worker_id, "generation": holder.generation}:
            raise Refused("worker_fenced" if fence.generation > holder.generation else "not_claimer")
        facts, outcome = [*request.get("facts", ())], request["outcome"]
        if outcome == SATISFIED:
            facts = [dict(order.claim), *(fact for fact in facts if fact != order.claim)]
        elif facts:
            await self._refused(agent_id, order, Refused("ingest_rejected", problem=f"an outcome of {outcome} states no facts"), said)
        await self._land(agent_id, order, holder, facts, request.get("tier", "attested"), said, outcome, request.get("reason", ""))
        return {"accepted": True}

    async def _gathered(self, holder: Holder, request: Mapping, fence: Fence) -> dict:
        if fence != Fence(holder.worker_id, holder.generation):
            raise Refused("worker_fenced" if fence.generation > holder.generation else "worker_lease_lost")
        agent_id = self.authority.registry.connection(holder.connection_id)["agentId"]
        asked = [each for each in self.authority.agents[agent_id].orders.orders.values()
                 if each.kind == EVIDENCE and each.connection_id == holder.connection_id and each.material == request["material"]]
        if not asked:
            raise Refused("no_work", work=request["material"][:80])
        order = next((each for each in reversed(asked) if each.source == request["source"]), None)
        if order is None:
            raise Refused("report_evidence.source_mismatch", material=request["material"][:80], source=request["source"][:80])
        said = digest({name: value for name, value in request.items() if name not in ("workerId", "workerGeneration")})
        if order.state != OPEN:
            if order.digest == said:
                await self.authority.settled()
                return {"accepted": True}
            raise Refused("already_reported")
        exhibit = request.get("exhibit")
        if exhibit is not None and exhibit["target"] != f"tool:{order.tool}":
            await self._refused(agent_id, order, Refused("ingest_rejected", problem=f"it comes from {exhibit['target']}, and {order.tool} was asked"), said)
        await self._land(agent_id, order, holder, list(request["facts"]), "attested", said, ANSWERED, "")
        return {"accepted": True}

    async def _land(self, agent_id: str, order: Order, holder: Holder, facts: list, tier: str, said: str, outcome: str, reason: str) -> None:
        """Board first: what it refuses lands nothing and ends the order as an error."""
        source = self.authority.registry.sources.get(order.source)
        if source is None or source.connection_id != order.connection_id:
            await self._refused(agent_id, order, Refused("ingest_rejected", problem=f"Source {order.source!r} is no longer bound to this Connection"), said)
        size = len(compact_json(facts).encode("utf-8"))
        if size > INLINE_BYTES_MAX:
            await self._refused(agent_id, order, Refused("ingest_rejected", problem=f"its facts take {size} bytes, over the inline budget of {INLINE_BYTES_MAX}"), said)
        if facts:
            told = {"operation": f"{order.kind} {order.id}", "tool": order.tool, "source": order.source, "connection": order.connection_id,
                    "worker": holder.worker_id, "generation": holder.generation, "order": order.id, "askedBy": order.by}
            try:
                self.authority.command_board(agent_id, {
                    "kind": "record_report", "order": order.id, "caseId": order.case_id, "facts": facts, "returns": [dict(row) for row in order.returns],
                    "args": dict(order.claim["args"]) if order.claim is not None else {}, "source": source.record(), "tier": tier, "told": told})
            except Refused as refusal:
                if refusal.code != "ingest_rejected":
                    refusal = Refused("ingest_rejected", problem=refusal.happened.rstrip("."))
                await self._refused(agent_id, order, refusal, "")
        self.authority.command_order(agent_id, {"kind": "end", "id": order.id, "state": outcome, "reason": _one_line(reason), "digest": said})
        await self.authority.settled()

    async def _refused(self, agent_id: str, order: Order, refusal: Refused, said: str) -> None:
        reason = f"The answer was refused ({refusal.facts.get('problem', refusal.happened)})."
        self.authority.command_order(agent_id, {"kind": "end", "id": order.id, "state": ERROR, "reason": _one_line(reason)})
        await self.authority.settled()
        raise refusal


def _row(agent_id: str, order: Order) -> dict:
    if order.kind == VERIFICATION:
        return {"workType": VERIFICATION, "work": order.id, "boardId": agent_id, "channel": order.connection_id, "source": order.source, "claim": dict(order.claim)}
    return {"workType": EVIDENCE, "work": order.id, "material": order.material, "source": order.source, "tool": order.tool}


def _claim(text: str) -> dict:
    """The fact that is asked about, from its JSON text."""
    claim = read_json(text, "the claim")
    validate("fact", claim)
    return claim


def _material(text: str) -> str:
    if not text.strip() or len(text) > MATERIAL_CHARS_MAX or not text.isprintable():
        raise Refused("bad_command", problem=f"material is a name of 1 to {MATERIAL_CHARS_MAX} characters")
    return text.strip()


def _one_line(text: str) -> str:
    return "".join(letter if letter.isprintable() else " " for letter in text)[:500]
