"""What the Console's pages read beside Cases and administration: unknown effects, the ledger, receipts.

Reads only, for the cookie of a sign-in. Promises: a call whose effect is not known is shown
as it was sent, byte for byte, with what a person can look at; rows of the ledger come by
pages with their hashes, the newest first, and no hash of a passphrase, token or code in
them; a receipt's check is the one that `rulith verify` makes.

Source  the design's rules on unknown effects and the Console (§5).
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import asdict

from rulith.adapters.places import VAULT
from rulith.base.canonical import canonical_text
from rulith.base.errors import Refused
from rulith.board.operations import NEEDS_PERSON, Operation
from rulith.board.release import ActionSpec
from rulith.gateway.authority import GATEWAY_CHAIN, REGISTRY, Authority
from rulith.gateway.inspection import check_ledger
from rulith.gateway.local_api import operation_row
from rulith.gateway.source_flow import source_flow
from rulith.wire.terminal_receipt import check_document

READS = ("unknown", "ledger", "ledger-check", "receipt-check", "source-flow")
ROWS_MAX, STEP_ROWS = 100, 500
SCANNED_MAX = 5_000                  # rows one search reads; the next one goes on below
BODY_CHARS_MAX = 16_384              # of one row as it is shown
WITHHELD = "(withheld)"
LOOK = {"file": "Open the folder {access} on the machine of the Worker of “{connection}”, and look for what the values name.",
        "http": "Ask the service at {access} whether it has this request on record: by the values, and by the time it was claimed.",
        "db": "Look in the database {access} for what the values name, and when it was written.",
        "mcp": "Ask the MCP service {access} whether it carried out this call: by the values, and by the time it was claimed.",
        "sensor": "Look at the device {access} itself.", "human": "Ask the person behind {access}.",
        "compute": "This is a computation at {access}; look at whatever it was to leave behind."}


class ConsoleReads:
    def __init__(self, authority: Authority) -> None:
        self.authority = authority
        self._one_check = asyncio.Lock()      # the whole ledger is read once at a time, whoever asks

    async def read(self, route: str, query: Mapping[str, str]) -> dict:
        if route == "unknown":
            return {"unknown": self._unknown(query.get("agent", ""), _whole(query.get("ordinal", ""), 0))}
        if route == "ledger":
            return {"ledger": await self._ledger(query)}
        if route == "ledger-check":
            async with self._one_check:
                return {"check": await check_ledger(self.authority)}
        if route == "source-flow":
            return {"flow": source_flow(self.authority, query.get("name", ""))}
        return {"check": await self._receipt_check(query)}

    # --- unknown effects ---------------------------------------------------------------

    def waiting(self) -> list[dict]:
        """Every call whose effect is not known, of every Agent."""
        found = ((agent_id, state.operations.unresolved()) for agent_id, state in self.authority.agents.items())
        return [operation_row(agent_id, each) for agent_id, each in found if each is not None and each.state == NEEDS_PERSON]

    def _unknown(self, agent_id: str, ordinal: int) -> dict:
        """All that helps a person to find out what became of one call. Raises Refused: unknown_agent, unknown_operation, not_needs_person."""
        self.authority.registry.agent(agent_id)
        state = self.authority.agents[agent_id]
        operation = state.operations.operation(ordinal)
        if operation.state != NEEDS_PERSON or operation.plan is None:
            raise Refused("not_needs_person", ordinal=ordinal, state=operation.public_state)
        plan = operation.plan
        spec = next((release.actions[plan["action"]] for release in state.board.state.releases.values() if plan["action"] in release.actions), None)
        source = self.authority.registry.sources.get(plan["sourceRecordId"])
        connection = self.authority.registry.connections.get(plan["connectionId"], {"name": plan["connectionId"]})
        row: dict = {**operation_row(agent_id, operation), "tool": plan["tool"], "kind": plan["kind"], "target": plan["target"],
                     "toolDigest": plan["toolDigest"], "requestDigest": (operation.dispatch or {}).get("requestDigest", ""),
                     "source": source.record() if source is not None else {"name": plan["sourceRecordId"]},
                     "connection": {"id": plan["connectionId"], "name": connection["name"]},
                     "description": spec.description if spec is not None else "", "effects": [_effect(each) for each in plan["effects"]]}
        for name in ("dispatch", "claim"):
            held = getattr(operation, name)
            if held:
                row[name] = {each: held[each] for each in ("workerId", "generation", "at") if each in held}
        row["look"] = self._where_to_look(operation, row, spec)
        return row

    def _where_to_look(self, operation: Operation, row: Mapping, spec: ActionSpec | None) -> list[str]:
        """Sentences in the order in which a person would try them."""
        found, source, at = [], row["source"], (operation.claim or {}).get("at", operation.since)
        if source.get("type") in LOOK:
            access = f"“{source['name']}” (the Worker's own vault says where it is)" if source["access"] == VAULT else source["access"]
            found.append(LOOK[source["type"]].format(access=access, connection=row["connection"]["name"]))
        elif source["name"]:
            found.append(f"The Source {source['name']} is no longer bound here; look at what it named.")
        if operation.claim:
            found.append(f"Read the log of the Worker of “{row['connection']['name']}” around {at}; its instance was {operation.claim['workerId']}.")
        else:
            found.append(f"No Worker is known to have taken it; where the ledger was restored, the Worker of “{row['connection']['name']}” may have, so read its log since {at}.")
        readers = sorted(each.id for release in self.authority.agents[row["agentId"]].board.state.releases.values() for each in release.actions.values()
                         if each.kind == "read" and source.get("type") in each.source_types and (spec is None or each.release == spec.release))
        if readers:
            found.append(f"Once this is settled, the Agent can look by itself with {' or '.join(readers[:3])}.")
        return found

    # --- the ledger --------------------------------------------------------------------

    async def _ledger(self, query: Mapping[str, str]) -> dict:
        """{chains, chain, rows, next, total}: rows below `before`, the newest first, that fit `kind` and hold `text`."""
        ledger, names = self.authority.ledger, {each["id"]: each["name"] for each in self.authority.registry.agents.values()}
        chains = [{"name": name, "words": "gateway" if name == GATEWAY_CHAIN else names.get(name, name), "rows": ledger.head(name)[0]} for name in ledger.chains()]
        chains.sort(key=lambda each: each["name"] != GATEWAY_CHAIN)
        chain = query.get("chain") or GATEWAY_CHAIN
        total = ledger.head(chain)[0]
        if all(each["name"] != chain for each in chains):
            raise Refused("not_found", what="chain", name=chain[:80])
        limit = min(_whole(query.get("limit", ""), 50), ROWS_MAX)
        kind, text = query.get("kind", ""), query.get("text", "").casefold()
        before = min(_whole(query.get("before", ""), total + 1), total + 1)
        rows: list[dict] = []
        lowest = max(1, before - SCANNED_MAX)
        while before > lowest and len(rows) < limit:
            start = max(lowest, before - STEP_ROWS)
            for row in reversed(self._between(chain, start, before)):
                before = row.seq
                if kind and row.kind != kind:
                    continue
                shown = _shown(row)
                if not text or text in f"{shown['hash']} {shown['what']} {shown['body']}".casefold():
                    rows.append(shown)
                if len(rows) == limit:
                    break
            else:
                before = start
                await asyncio.sleep(0)        # calls are answered between two pieces of a search
        return {"chains": chains, "chain": chain, "total": total, "rows": rows, "next": before if before > 1 else None}

    def _between(self, chain: str, start: int, end: int) -> list:
        found = []
        for row in self.authority.rows(chain, start - 1):
            if row.seq >= end:
                break
            found.append(row)
        return found

    # --- receipts ----------------------------------------------------------------------

    async def _receipt_check(self, query: Mapping[str, str]) -> dict:
        """{sound, problems, checked, key, ours}: what `rulith verify` says of this Case's receipt, and whether the key is this gateway's."""
        agent_id, case_id = query.get("agent", ""), query.get("case", "")
        self.authority.registry.agent(agent_id)
        document = self.authority.receipt_document(agent_id, case_id)
        if document is None:
            raise Refused("no_receipt", case=case_id[:80])
        verdict = await asyncio.to_thread(check_document, document)
        return {"agentId": agent_id, "caseId": case_id, "sound": not verdict.problems, "problems": [asdict(each) for each in verdict.problems],
                "checked": verdict.counts, "key": verdict.key}


def _effect(effect: Mapping) -> str:
    given = ", ".join(f"{name}={value}" for name, value in effect.get("args", {}).items())
    return f"{'not ' if effect.get('negated') else ''}{effect['predicate']}({given})"


def _without_hashes(value: object) -> object:
    """The same without what could be guessed at: no record of a passphrase, no hash of a token or code."""
    if isinstance(value, Mapping):
        return {name: WITHHELD if name in ("record", "hash") or name.endswith("Hash") else _without_hashes(each) for name, each in value.items()}
    return [_without_hashes(each) for each in value] if isinstance(value, list) else value


def _shown(row) -> dict:
    body = _without_hashes(row.body) if row.kind == REGISTRY else row.body
    command = row.body.get("command") if isinstance(row.body, Mapping) else None
    shown = {"seq": row.seq, "at": row.at, "kind": row.kind, "hash": row.hash, "prev": row.prev, "what": "", "by": ""}
    if isinstance(command, Mapping):
        parts = command.get("commands", ()) if command.get("kind") in ("several", "genesis") else ()
        told = ", ".join(dict.fromkeys(str(each.get("kind")) for each in parts))
        shown["what"] = f"genesis: {told}" if command.get("kind") == "genesis" else told or str(command.get("kind"))
        said = command.get("by") or (command.get("authority") or {}).get("by") or next((each["authority"].get("by") for each in parts if each.get("authority")), "")
        shown["by"] = str(said or "")
    text = canonical_text(body)
    shown["body"], shown["cut"] = text[:BODY_CHARS_MAX], len(text) > BODY_CHARS_MAX
    return shown


def _whole(text: str, default: int) -> int:
    return max(1, int(text)) if text.isascii() and text.isdigit() and len(text) < 16 else default
