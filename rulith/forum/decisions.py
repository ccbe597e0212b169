"""The observer: one thread in a #decisions room for each operation of the gateway that waits for a person.

Reads the gateway of this home with the workbench's grant, which decides nothing, and only while
there is a room of that name. A thread asks the person and whoever else is in the room, and leads
to the Console. Once the operation has ended the observer posts how, in the gateway's words, and
resolves the thread. Nothing here, and nothing that is said or resolved in a thread, ever answers
an operation: the one thing it sends the gateway is GET.

Units   *_s seconds
Source  the council surface, "Fit with the Board"
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Protocol

from rulith.base.errors import Refused
from rulith.council.cases import DECISION_TAG, ENDED, NEEDS_PERSON, WAITS, in_doubt, operation_key, outcome, question
from rulith.council.checks import folded
from rulith.council.seeds import DECISIONS, OBSERVER_MARK
from rulith.council.shapes import AGENT_ROLE, PERSON, Actor
from rulith.disk.home import Home
from rulith.local.gateway import LocalGateway, find_gateway
from rulith.net.client import HttpClient

NAME = "observer"
NOTE = "Opens a thread for each operation that waits for a person. No program; nobody has its key."
PAUSE_S, WAIT_MS, WAIT_TIMEOUT_S = 1.0, 20_000, 30.0
RETRY_S = (1.0, 2.0, 5.0, 15.0, 30.0)
FETCHED_MAX = 20                             # Cases looked up for operations that the state no longer lists


class Gateway(Protocol):
    console: str
    async def state(self, known: int | None) -> dict: ...
    async def operations_of(self, agent_id: str, case_id: str) -> list[dict]: ...


class HomeGateway:
    """The gateway of a home, found anew whenever it does not answer. Each method raises Refused."""

    def __init__(self, home: Home) -> None:
        self._home, self._client = home, HttpClient(environ={})
        self._found: LocalGateway | None = None
        self.console = ""

    async def state(self, known: int | None) -> dict:
        """All that it shows; with a version that is known, once there is another, or the bare version after a while."""
        if known is None:
            return await self._read("state", {})
        return await self._read("wait", {"after": str(known), "timeoutMs": str(WAIT_MS)})

    async def operations_of(self, agent_id: str, case_id: str) -> list[dict]:
        return (await self._read("case", {"agent": agent_id, "case": case_id}))["operations"]

    async def _read(self, path: str, query: Mapping[str, str]) -> dict:
        if self._found is None:
            self._found = find_gateway(self._home)
            if self._found is None:
                raise Refused("gateway_not_ready", problem="it is not running")
            self.console = f"{self._found.url}/console/"
        try:
            return await self._found.read(self._client, path, query, timeout_s=WAIT_TIMEOUT_S)
        except Refused:
            self._found = None
            raise

    async def close(self) -> None:
        await self._client.close()


class Observer:
    """say   told once of each thing that keeps it from its work"""

    def __init__(self, forum, gateway: Gateway, say: Callable[[str], None] = lambda words: None) -> None:
        self.forum, self.db, self.gateway, self._say = forum, forum.db, gateway, say
        self._behind, self._said = False, ""

    async def run(self) -> None:
        """Observe until cancelled."""
        failures, state = 0, None            # state: the latest whole picture
        with self.forum.bus.subscribe(PERSON.agent_id) as moved:
            while True:
                if self.room() is None:
                    state = None
                    await moved.changed()
                    continue
                try:
                    told = await self._next(moved, state["version"] if state is not None else None)
                    if told is not None and "operations" not in told:
                        state = state if state is not None and told["version"] == state["version"] else None
                        continue                     # only its version came: nothing moved, or another gateway counts anew
                    state = told or state
                    await self.take(state)
                    failures = 0
                except Refused as refusal:
                    self._tell(refusal)
                    state = None
                    await asyncio.sleep(RETRY_S[min(failures, len(RETRY_S) - 1)])
                    failures += 1
                    continue
                await asyncio.sleep(PAUSE_S)         # one picture tells of many commits

    async def _next(self, moved, known: int | None) -> dict | None:
        """The gateway's next state; None where something moved here that a thread waited for."""
        asking = asyncio.ensure_future(self.gateway.state(known))
        here = asyncio.ensure_future(moved.changed()) if self._behind else None
        try:
            await asyncio.wait({asking} | ({here} if here is not None else set()), return_when=asyncio.FIRST_COMPLETED)
            return asking.result() if asking.done() else None
        finally:
            for each in (asking, here):
                if each is not None:
                    each.cancel()

    # --- one picture ---------------------------------------------------------------------

    async def take(self, state: Mapping) -> None:
        """Open and end threads as this state of the gateway asks for."""
        room = self.room()
        if room is None:
            return
        observer, self._behind = self.participant(room), False
        if observer is None:
            return
        rows = await self._whole(observer, state)
        names = {each["id"]: each["name"] for each in state["agents"]}
        decisions = {each["id"]: each for each in state["decisions"]}
        for row in sorted(rows.values(), key=lambda each: each["at"]):
            name = names.get(row["agentId"], row["agentId"])
            try:
                thread = self._thread(observer, row)
                if thread is None and row["state"] in WAITS:
                    await self._open(observer, room, row, name)
                elif thread is not None and thread["status"] in ("OPEN", "BLOCKED"):
                    await self._go_on(observer, thread, row, name, decisions.get(row.get("decisionId")))
            except Refused as refusal:
                self._behind = True
                self._tell(refusal)

    async def _whole(self, observer: Actor, state: Mapping) -> dict[str, dict]:
        """Key -> operation: those of the state, and those that a thread or a decision waits for and the state has no room for."""
        rows = {operation_key(each): each for each in state["operations"]}
        there = {(each["agentId"], each["ordinal"]) for each in rows.values()}
        lacking = {(each["agentId"], each["caseIds"][0]) for each in state["decisions"]
                   if each["state"] == "pending" and each["caseIds"] and (each["agentId"], each["ordinal"]) not in there}
        for thread in self.db.all("SELECT client_ref, case_id FROM thread WHERE author_agent_id = ? AND status IN ('OPEN', 'BLOCKED')", observer.agent_id):
            if thread["client_ref"] and thread["client_ref"] not in rows and thread["case_id"]:
                lacking.add((thread["client_ref"].partition("/")[0], thread["case_id"]))
        for agent_id, case_id in sorted(lacking)[:FETCHED_MAX]:
            try:
                rows.update({operation_key(each): each for each in await self.gateway.operations_of(agent_id, case_id)})
            except Refused as refusal:
                self._tell(refusal)              # of an Agent or a Case that is no longer there: its thread stays for people
        return rows

    def _thread(self, observer: Actor, row: Mapping) -> dict | None:
        return self.db.one("SELECT * FROM thread WHERE author_agent_id = ? AND client_ref = ?", observer.agent_id, operation_key(row))

    async def _open(self, observer: Actor, room: Mapping, row: Mapping, name: str) -> None:
        title, body = question(row, name, self.gateway.console)
        asked = [agent_id for agent_id in self.forum.members(room["id"]) if agent_id != observer.agent_id]
        await self.forum.act(observer, "create_thread", {
            "room": room["id"], "title": title, "body": body, "tag": DECISION_TAG, "mentions": asked, "client_ref": operation_key(row),
            "case_id": row["caseIds"][0] if row["caseIds"] else None, "operation": f"{row['agentId']}/{row['ordinal']}"})

    async def _go_on(self, observer: Actor, thread: Mapping, row: Mapping, name: str, decision: Mapping | None) -> None:
        if row["state"] in ENDED:
            words = outcome(row, decision)
            await self._post(observer, thread, words)
            await self.forum.act(observer, "resolve_thread", {"thread_id": thread["id"], "summary": words})
        elif row["state"] == NEEDS_PERSON:
            words = in_doubt(row, name, self.gateway.console)
            if thread["body"] != words:
                await self._post(observer, thread, words)

    async def _post(self, observer: Actor, thread: Mapping, words: str) -> None:
        """Post it, once. A cap is no reason to leave a thread open."""
        if self.db.value("SELECT 1 FROM message WHERE thread_id = ? AND agent_id = ? AND body = ?", thread["id"], observer.agent_id, words) is not None:
            return
        try:
            await self.forum.act(observer, "reply", {"thread_id": thread["id"], "body": words})
        except Refused as refusal:
            if refusal.code not in ("council_reply_cap", "council_thread_cap", "council_cost_cap"):
                raise

    # --- its place -----------------------------------------------------------------------

    def room(self) -> dict | None:
        """Where threads are opened: the oldest room of the name."""
        return self.db.one("SELECT * FROM room WHERE name = ? ORDER BY id LIMIT 1", DECISIONS)

    def participant(self, room: Mapping) -> Actor | None:
        """Who opens them: a participant without a key, made on first use. None once the person has revoked it."""
        row = self.db.one("SELECT * FROM agent WHERE key_id = ?", f"{OBSERVER_MARK}{room['project_id']}")
        at = self.forum.at()
        with self.db.change():
            if row is None:
                agent_id = self.db.insert("agent", project_id=room["project_id"], name=self._free_name(room["project_id"]), role=AGENT_ROLE, key_hash="",
                                          key_id=f"{OBSERVER_MARK}{room['project_id']}", key_preview="no key", system_note=NOTE, created_at=at)
                self.db.event("agent.created", at, id=agent_id, name=NAME, role=AGENT_ROLE)
                row = self.forum.agent(agent_id)
            if self.db.put("room_member", room_id=room["id"], agent_id=row["id"]):
                self.db.event("agent.joined", at, room=room["id"], actor=row["id"])
        return None if self.forum.is_revoked(row) else self.forum.actor(row)

    def _free_name(self, project_id: int) -> str:
        taken = {folded(each["name"]) for each in self.db.all("SELECT name FROM agent WHERE project_id = ?", project_id)}
        return next(name for name in (NAME, *(f"{NAME}-{number}" for number in range(2, len(taken) + 3))) if name not in taken)

    def _tell(self, refusal: Refused) -> None:
        if refusal.teaching != self._said:
            self._said = refusal.teaching
            self._say(f"The observer of decisions: {refusal.teaching}")
