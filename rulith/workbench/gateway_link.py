"""The workbench's line to its gateway: reads with the device grant, and the wait for changes.

The grant reads and starts; it decides nothing. An answer that is no, is relayed in the
gateway's own words; no answer is `gateway_not_ready`.

Units   *_s seconds
Source  the gateway's local API (`/local`)
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from urllib.parse import urlencode

from rulith.base.clock import Clock, stamp
from rulith.base.errors import Refused
from rulith.net.client import HttpClient, NetFailed

READ_TIMEOUT_S = 15.0
WAIT_MS = 20_000             # under the gateway's own limit
WAIT_TIMEOUT_S = 30.0
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

    def point_at(self, url: str, grant: str) -> None:
        """Read from here on; a gateway that was replaced counts its versions anew."""
        self.url, self.grant = url.rstrip("/"), grant
        self.state = None
        self._ready.set()

    def lose(self, problem: str) -> None:
        """There is no gateway for now, and why."""
        self.problem = problem
        self._ready.clear()

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
        return _read(path, answer.status, answer.body)

    async def watch(self, on_state: Callable[[dict], None], on_silence: Callable[[str], None]) -> None:
        """Tell each new state of the gateway, and each silence, until cancelled."""
        failures = 0
        while True:
            await self._ready.wait()
            asked_of = self.url
            try:
                if self.state is None:
                    state = await self.get("state")
                else:
                    query = {"after": str(self.state["version"]), "timeoutMs": str(WAIT_MS)}
                    state = await self.get("wait", query, timeout_s=WAIT_TIMEOUT_S)
            except Refused as problem:
                on_silence(problem.happened)
                await asyncio.sleep(RETRY_S[min(failures, len(RETRY_S) - 1)])
                failures += 1
                continue
            failures = 0
            if asked_of != self.url:
                continue                                 # an answer of the gateway before this one
            if self.state is None or state.get("version") != self.state["version"]:
                if "agents" not in state:
                    self.state = None                    # only its version came: read the whole
                    continue
                self.state = state
                on_state(state)


def _read(path: str, status: int, body: bytes) -> dict:
    try:
        value = json.loads(body)
    except (ValueError, RecursionError) as problem:
        raise Refused("gateway_answer", path=path, problem=f"status {status}, {problem}") from None
    if not isinstance(value, dict):
        raise Refused("gateway_answer", path=path, problem=f"status {status}, no object")
    if status == 200:
        return value
    happened = next((value[key] for key in ("happened", "teaching", "error", "message") if isinstance(value.get(key), str)),
                    f"The gateway answered {status}.")
    todo = value["next"] if isinstance(value.get("next"), str) else ""
    raise Refused("gateway_refused", happened=happened, todo=todo)
