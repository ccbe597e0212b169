"""Orders of one Agent: what a person asked a Source about one of its Cases, and what came of it.

A verification asks whether one fact is so; evidence asks what a Source tells of a kind of
material. Both are reads: one whose Worker left is asked of the next, and nothing is ever in
doubt. What an answer puts on the Board, law decides (reports.py); here only its state is kept.

Refuses to know: who may ask (gateway/orders.py), leases, clocks.
Source  the Worker hop, §§4, 5.3, 16
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from rulith.base.errors import Refused
from rulith.board.machine import Machine, members
from rulith.board.shapes import Mint

VERIFICATION, EVIDENCE = "verification", "evidence"
OPEN, CLAIMED = "open", "claimed"
SATISFIED, NOT_SATISFIED, ERROR, ANSWERED, WITHDRAWN = "satisfied", "not_satisfied", "error", "answered", "withdrawn"
ENDED = (SATISFIED, NOT_SATISFIED, ERROR, ANSWERED, WITHDRAWN)

#  kind and state          what happened   next
TABLE = {
    (VERIFICATION, OPEN, "claim"): CLAIMED,
    (VERIFICATION, CLAIMED, "claim"): CLAIMED,       # only its own claimer, asking again
    (VERIFICATION, CLAIMED, "release"): OPEN,        # its claimer is superseded: a read is asked again
    (VERIFICATION, OPEN, "release"): OPEN,
    (VERIFICATION, CLAIMED, SATISFIED): SATISFIED,
    (VERIFICATION, CLAIMED, NOT_SATISFIED): NOT_SATISFIED,
    (VERIFICATION, CLAIMED, ERROR): ERROR,
    (VERIFICATION, OPEN, WITHDRAWN): WITHDRAWN,
    (VERIFICATION, CLAIMED, WITHDRAWN): WITHDRAWN,
    (EVIDENCE, OPEN, ANSWERED): ANSWERED,
    (EVIDENCE, OPEN, ERROR): ERROR,
    (EVIDENCE, OPEN, WITHDRAWN): WITHDRAWN,
}
OPEN_MAX = 32                    # of one Agent at a time
KEPT = 128                       # ended ones that are remembered
REASON_CHARS_MAX = 500


@dataclass(frozen=True)
class Order:
    id: str
    kind: str
    case_id: str
    connection_id: str
    source: str
    tool: str
    tool_digest: str
    returns: tuple[Mapping, ...]
    claim: Mapping | None        # of a verification: {predicate, args}
    material: str                # of evidence
    by: str
    at: str
    state: str = OPEN
    since: str = ""
    claimer: Mapping | None = None       # {connectionId, workerId, generation}
    digest: str = ""             # of the report that ended it
    reason: str = ""

    def row(self) -> dict:
        """As pages show it."""
        asked = {"claim": dict(self.claim)} if self.claim is not None else {"material": self.material}
        return {"id": self.id, "kind": self.kind, "caseId": self.case_id, "connectionId": self.connection_id, "source": self.source, "tool": self.tool,
                **asked, "by": self.by, "at": self.at, "state": self.state, "since": self.since, "reason": self.reason}


class Orders(Machine):
    """Commands:
        ask {orderKind, caseId, connectionId, source, tool, toolDigest, returns, by, claim? | material?} -> {id}
        claim {id, connectionId, workerId, generation}     release {id}
        end {id, state, reason, digest?, by?}
    """

    COMMANDS = {
        "ask": ("_ask", *members("orderKind caseId connectionId source tool toolDigest returns by", "claim material")),
        "claim": ("_claim", *members("id connectionId workerId generation")),
        "release": ("_release", *members("id")),
        "end": ("_end", *members("id state reason", "digest by")),
    }

    def __init__(self) -> None:
        super().__init__()
        self.orders: dict[str, Order] = {}

    def _ask(self, command: Mapping, at: str, draw: Mint) -> dict:
        kind, waiting = command["orderKind"], self.open()
        if kind not in (VERIFICATION, EVIDENCE) or (kind == VERIFICATION) != ("claim" in command) or (kind == EVIDENCE) != ("material" in command):
            raise Refused("bad_command", problem="A verification has a claim, evidence a material, and neither the other's")
        if len(waiting) >= OPEN_MAX:
            raise Refused("orders_open", count=len(waiting))
        asked = (command["source"], command.get("claim"), command.get("material", ""))
        if any((each.source, each.claim, each.material) == asked for each in waiting):
            raise Refused("order_asked_already", source=command["source"])
        order = Order(draw("ord_"), kind, command["caseId"], command["connectionId"], command["source"], command["tool"], command["toolDigest"],
                      tuple(command["returns"]), command.get("claim"), command.get("material", ""), command["by"], at, since=at)
        self.journal.put(self.orders, order.id, order)
        ended = [each.id for each in self.orders.values() if each.state in ENDED]
        for order_id in ended[:-KEPT]:
            self.journal.drop(self.orders, order_id)
        return {"id": order.id}

    def _move(self, order: Order, event: str, at: str, **changes: object) -> dict:
        state = TABLE.get((order.kind, order.state, event))
        if state is None:
            raise Refused("already_reported" if order.state in ENDED else "not_claimer")
        self.journal.put(self.orders, order.id, replace(order, state=state, since=at, **changes))
        return {"id": order.id, "state": state}

    def _claim(self, command: Mapping, at: str, draw: Mint) -> dict:
        order, holder = self.order(command["id"]), {name: command[name] for name in ("connectionId", "workerId", "generation")}
        if order.state == CLAIMED and order.claimer != holder:
            raise Refused("already_claimed")
        return self._move(order, "claim", at, claimer=holder)

    def _release(self, command: Mapping, at: str, draw: Mint) -> dict:
        return self._move(self.order(command["id"]), "release", at, claimer=None)

    def _end(self, command: Mapping, at: str, draw: Mint) -> dict:
        return self._move(self.order(command["id"]), command["state"], at, digest=command.get("digest", ""), reason=command["reason"][:REASON_CHARS_MAX])

    # --- reads -------------------------------------------------------------------------

    def order(self, order_id: str) -> Order:
        found = self.orders.get(order_id)
        if found is None:
            raise Refused("no_work", work=str(order_id)[:80])
        return found

    def open(self, connection_id: str | None = None) -> list[Order]:
        """Those that wait for an answer, of one Connection or of all, oldest first."""
        return [each for each in self.orders.values() if each.state in (OPEN, CLAIMED) and connection_id in (None, each.connection_id)]
