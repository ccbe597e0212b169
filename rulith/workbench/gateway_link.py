"""The workbench's line to its gateway: reads with the device grant, and the wait for changes.

The grant reads and starts; it decides nothing. An answer that is no, is relayed in the
gateway's own words; no answer is `gateway_not_ready`.

Units   *_s seconds
Source  the gateway's local API (`/local`)
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from urllib.parse import urlencode

from rulith.base.clock import Clock, stamp
from rulith.base.errors import Refused
from rulith.local.gateway import read_answer
from rulith.net.client import HttpClient, NetFailed

READ_TIMEOUT_S = 15.0
WAIT_MS = 20_000             # under the gateway's own limit
WAIT_TIMEOUT_S = 30.0
LISTS = ("agents", "connections", "cases", "operations", "decisions")
PAUSE_S = 0.1                # after an answer that came at once and told nothing new
RETRY_S = (0.1, 0.25, 0.5, 1.0, 2.0)


class GatewayLink:
    """Reads from one gateway address; `url` and `grant` may change while it lives."""

    def __init__(self, client: HttpClient, clock: Clock) -> None:
        self.url = ""
        self.grant = ""
        self.state: dict[str, object] | None = None     # the latest /local/state
        self.heard_at: str | None = None
        self.problem = "it has not been started"
        self._client = client
        self._clock = clock
        self._ready = asyncio.Event()
        self._moved = asyncio.Event()            # what is being asked is asked of a gateway of before

    def point_at(self, url: str, grant: str) -> None:
        """Read from here on; a gateway that was replaced counts its versions anew."""
        self.url, self.grant = url.rstrip("/"), grant
        self.state = None
        self._ready.set()
        self._moved.set()

    def lose(self, problem: str) -> None:
        """There is no gateway for now, and why."""
        self.problem = problem
        self._ready.clear()
        self._moved.set()

    async def get(self, path: str, query: dict[str, str] | None = None, *, timeout_s: float = READ_TIMEOUT_S) -> dict:
        """The object at `/local/<path>`. Raises Refused: gateway_not_ready, gateway_refused, gateway_answer."""
        if not self._ready.is_set():
            raise Refused("gateway_not_ready", problem=self.problem)
        target = f"{self.url}/local/{path}" + (f"?{urlencode(query)}" if query else "")
        try:
            answer = await self._client.request("GET", target, {"authorization": f"Bearer {self.grant}"}, timeout_s=timeout_s)
        except NetFailed as problem:
            raise Refused("gateway_not_ready", problem=problem.detail) from None
        self.heard_at = stamp(self._clock.wall_s())
        return read_answer(path, answer.status, answer.body)

    async def watch(self, on_state: Callable[[dict], None], on_silence: Callable[[str], None]) -> None:
        """Tell each new state of the gateway, and each silence, until cancelled."""
        failures = 0
        while True:
            await self._ready.wait()
            self._moved.clear()
            try:
                state = await self._next_state()
            except Refused as problem:
                self.state = None                        # who answers next may count anew
                on_silence(problem.happened)
                await asyncio.sleep(RETRY_S[min(failures, len(RETRY_S) - 1)])
                failures += 1
                continue
            failures = 0
            if state is None or self._moved.is_set():
                continue                                 # an answer of the gateway before this one
            if self.state is not None and state["version"] == self.state["version"]:
                await asyncio.sleep(PAUSE_S)
            elif "agents" not in state:
                self.state = None                        # only its version came: read the whole
            else:
                if self.state is not None and "casesOf" in state:       # the other Agents' Cases stand as they were
                    state["cases"] += [row for row in self.state["cases"] if row.get("agentId") not in state["casesOf"]]
                self.state = state
                on_state(state)

    async def _read_state(self, path: str, query: dict[str, str] | None = None, *, timeout_s: float = READ_TIMEOUT_S) -> dict:
        """Raises Refused as `get`; gateway_answer also for what is no state."""
        state = await self.get(path, query, timeout_s=timeout_s)
        lists = [state[name] for name in LISTS if name in state]
        totals, of = state.get("casesTotal", {}), state.get("casesOf", [])
        if not (isinstance(state.get("version"), int) and isinstance(totals, dict) and isinstance(of, list)
                and all(isinstance(rows, list) and all(isinstance(row, dict) for row in rows) for rows in lists)
                and (len(lists) == len(LISTS) or ("agents" not in state and path != "state"))):
            raise Refused("gateway_answer", path=path, problem="status 200, no state")
        return state

    async def _next_state(self) -> dict | None:
        """The state, or the next one after what is known; None once another gateway is the one to ask."""
        if self.state is None:
            asking = asyncio.ensure_future(self._read_state("state"))
        else:
            query = {"after": str(self.state["version"]), "timeoutMs": str(WAIT_MS), "cases": "moved"}
            asking = asyncio.ensure_future(self._read_state("wait", query, timeout_s=WAIT_TIMEOUT_S))
        moving = asyncio.ensure_future(self._moved.wait())
        try:
            await asyncio.wait((asking, moving), return_when=asyncio.FIRST_COMPLETED)
            return asking.result() if asking.done() else None
        finally:
            asking.cancel()
            moving.cancel()
