"""What an answer to an order puts on the Board: only what its Tool returns and its Source may attest.

The same gate as for receipts. A claim that is satisfied lands as that very fact; nothing
that is not satisfied lands. No fact is stronger than the report says, than its Source may
be, nor than *attested*.

Source  the design's rule on what a Worker may say (§5)
"""

from __future__ import annotations

from collections.abc import Mapping

from rulith.base.errors import Refused
from rulith.board.cases import find_case
from rulith.board.gates import reported_facts
from rulith.board.shapes import TIERS, Mint, Source, weaker
from rulith.board.state import ATTESTED, CLOSED, BoardState, Fact


def land_report(state: BoardState, command: Mapping, at: str, draw: Mint) -> dict:
    """The facts of one answer, all or none.

    command   {order, caseId, facts, returns, args, source, tier, told}: `told` is who answered, as proofs name it
    Raises Refused ingest_rejected, unknown_case.
    """
    case = find_case(state, command["caseId"])
    if case.status == CLOSED:
        raise Refused("ingest_rejected", problem="its Case is closed")
    if command["tier"] not in TIERS:
        raise Refused("ingest_rejected", problem=f"{str(command['tier'])[:40]!r} is no tier")
    source = Source.of(command["source"]) if command["source"] else None
    told = {"kind": "receipt", **command["told"], "at": at}
    if (source.name if source else "") != told["source"]:
        raise Refused("ingest_rejected", problem="it is judged against another Source than was asked")
    for fact in command["facts"]:
        held = state.protected.get(fact.get("predicate")) if isinstance(fact, Mapping) and isinstance(fact.get("predicate"), str) else None
        if held is not None and held[0] != "source":
            raise Refused("ingest_rejected", problem=f"{fact['predicate'][:80]} is not for a Source of {held[1]} to tell")
    plan = {"returns": command["returns"], "tool": told["tool"], "sourceRecordId": told["source"], "args": command["args"], "release": command["order"]}
    made = []
    for atom, tier in reported_facts(state, plan, command["facts"], source):
        fact = Fact(draw("f_"), atom, ATTESTED, weaker(tier, command["tier"]), case.case_id, False, told, at)
        state.add_fact(fact)
        made.append(fact.id)
    return {"order": command["order"], "nodeIds": made}
