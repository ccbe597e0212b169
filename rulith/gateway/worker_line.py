"""The Worker line: POST /work and GET /work/sources, one live Worker per Connection.

Promises, in this order: the Connection key is checked before anything else is read, then
the header pair, then admission; the fence is committed before the lease is answered; the
Tool list is parsed only for an admitted Poll. A claimed call whose claimer is superseded
needs a person in that same commit. What a dispatched call may report is judged in
gateway/worker_work.py.

Units   *_s seconds of the monotonic clock, *_ms as on the wire.
Source  protocol/worker-contract.json; the Worker hop, §§2-4 and 17.
"""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from rulith.base.errors import Refused, Unknown
from rulith.base.json_text import read_json
from rulith.board.orders import EVIDENCE
from rulith.gateway.authority import Authority, token_hash
from rulith.gateway.orders import WorkOrders
from rulith.gateway.reviews import REVIEW, WorkReviews
from rulith.gateway.worker_work import Holder, WorkerWork
from rulith.net.messages import Request, Response, json_response
from rulith.wire import worker_hop
from rulith.wire.artifacts import CLAIM_PATH, DELIVERY_PATH, REGISTER_PATH, RESULT_PATH
from rulith.wire.lease import Fence, LeasePolicy, admit_holder, admit_poll, release_fence
from rulith.wire.manifest import read_descriptors

PATH, SOURCES_PATH = "/work", "/work/sources"
MATERIAL_PATHS = (REGISTER_PATH, DELIVERY_PATH, RESULT_PATH, CLAIM_PATH)
GATEWAY = {"kind": "gateway"}
ACTION = "action"


CORE_VERBS = ("FenceWorker", "ReconcileUnknownExecution")      # the gateway's own; no Connection moves a fence or settles a call


class NeedsSource(Exception):
    """A report of evidence that names no Source: a refusal of its own, whatever else is wrong with it."""


class Malformed(Exception):
    """The body or the header pair is no Worker operation; answered with 400 and bad_command."""


@dataclass
class Held:
    """The live hold of one Connection's line; in memory, renewed by the clock."""

    fence: Fence
    until_s: float
    tools: dict[str, str]       # Tool id -> digest advertised by the last Poll
    descriptors: list[dict]
    polled: bool = False        # False for a hold that only the last run's fence speaks for

    def is_under(self, fence: dict) -> bool:
        """Whether the Registry's fence record still names this hold's instance and generation."""
        return fence["generation"] == self.fence.generation and fence["workerId"] == self.fence.worker_id


@dataclass(frozen=True)
class Carried:
    """What the line asks of a drop box: whether an instance came through it, and how long the calls that are out may still be started."""

    is_holder: Callable[[str | None], bool]
    isolable_in_s: Callable[[], float]


class WorkerLine:
    """Serves /work. `lease` is the window policy; `poll_hold_s` how long an empty Poll is held."""

    def __init__(self, authority: Authority, work: WorkerWork, *, lease: LeasePolicy, poll_hold_s: float) -> None:
        self.authority = authority
        self._work = work
        self._policy = lease
        self._poll_hold_s = poll_hold_s
        self._held: dict[str, Held] = {}
        self._version = 0
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._carried: dict[str, Carried] = {}
        self.orders, self.reviews = WorkOrders(authority), WorkReviews(authority)
        self.asks_reviews = False            # set by the service
        self.came: Callable[[str, list[dict]], None] = lambda connection_id, offered: None      # set by the service: a new holder, and what it offers
        self.materials = None                # the routes of content that stays at a Worker; set by the service
        authority.live_tools = self.live_tools
        authority.on_refold.append(self._refolded)
        # What leases were out when the last run ended is not known, so each last holder is
        # given one whole window to come back before another instance may take its line.
        for connection_id in authority.registry.connections:
            fence = self.fence(connection_id)
            if fence.worker_id is not None:
                self._hold(connection_id, fence)

    # --- reading the line --------------------------------------------------------------

    def live_tools(self) -> tuple[dict[str, dict[str, str]], object]:
        """Connection id -> {Tool id: digest} of the lines that are live now, and a value that changes with it."""
        now_s, connections = self.authority.clock.monotonic_s(), self.authority.registry.connections
        live = {each: held.tools for each, held in self._held.items()
                if held.polled and held.until_s > now_s and held.is_under(connections[each]["fence"])}
        return live, (self._version, tuple(live))

    def line(self, connection_id: str) -> dict:
        """`{state, workerId?, expiresAt?}` for pages; a line nobody polled in this run is offline."""
        held = self._held.get(connection_id)
        if held is None or not held.polled or not self._is_live(connection_id):
            return {"state": "offline"}
        left_s = held.until_s - self.authority.clock.monotonic_s()
        lease = self._policy.lease(held.fence, now_s=self.authority.clock.wall_s() + left_s - self._policy.lease_ms / 1000)
        return {"state": "online", "workerId": held.fence.worker_id, "expiresAt": lease.expires_at}

    def advertised(self, connection_id: str) -> list[dict]:
        held = self._held.get(connection_id)
        return held.descriptors if held is not None and self._is_live(connection_id) else []

    def lease_left_s(self, connection_id: str) -> float:
        """Seconds until the line may be isolated; 0 when it is certainly free."""
        carried = self._carried.get(connection_id)
        if carried is not None and carried.is_holder(self.fence(connection_id).worker_id):
            return carried.isolable_in_s()
        return self._left_s(connection_id)

    def _left_s(self, connection_id: str) -> float:
        held = self._held.get(connection_id)
        return max(0.0, held.until_s - self.authority.clock.monotonic_s()) if held is not None else 0.0

    def _is_live(self, connection_id: str) -> bool:
        held = self._held.get(connection_id)
        return held is not None and held.fence == self.fence(connection_id) and self._left_s(connection_id) > 0

    def fence(self, connection_id: str) -> Fence:
        record = self.authority.registry.connection(connection_id)["fence"]
        return Fence(record["workerId"], record["generation"])

    # --- one request -------------------------------------------------------------------

    def head_check(self, request: Request) -> Response | None:
        """401 before the body is read when the Connection's id and key do not belong together."""
        found = self._connection(request)
        if found is None:
            refusal = Refused("worker_credential_rejected")
            return json_response(401, {"accepted": False, "errorCode": "unauthenticated", "reason": refusal.code,
                                       "teaching": refusal.teaching})
        request.found = found[0]
        return None

    def _connection(self, request: Request) -> tuple[str, str] | None:
        ids, keys = request.headers.getall("x-rulith-connection"), request.headers.getall("x-rulith-connection-key")
        if len(ids) != 1 or len(keys) != 1:
            return None
        known = self.authority.registry.connections.get(ids[0])
        if known is None or not hmac.compare_digest(known["keyHash"], token_hash(keys[0])):
            return None
        return ids[0], keys[0]

    async def handle(self, request: Request) -> Response:
        found = self._connection(request)
        if found is None:
            return self.head_check(request) or Response(401)
        connection_id, key = found
        if request.path == SOURCES_PATH:
            return self._sources(connection_id) if request.method == "GET" else _method_not_allowed("GET")
        if request.path in MATERIAL_PATHS and self.materials is not None:
            return await self._answered(request, lambda: self._material(connection_id, key, request))
        if request.path != PATH:
            return json_response(404, {"accepted": False, "errorCode": "unimplemented",
                                       "teaching": "This path of the Worker hop is not part of this release."})
        return await self._answered(request, lambda: self._asked(connection_id, key, request))

    async def _asked(self, connection_id: str, key: str, request: Request) -> dict:
        operation = _operation(request)
        _check_header_identity(request, operation)
        return await self._operate(connection_id, key, operation, request)

    async def _material(self, connection_id: str, key: str, request: Request) -> dict:
        try:
            return await self.materials.answer(connection_id, key, request)
        except Refused as refusal:
            if refusal.code in ("bad_command", "bad_json", "number_out_of_range"):
                raise Malformed(refusal.teaching) from None
            raise

    async def _answered(self, request: Request, run: Callable[[], Awaitable[dict]]) -> Response:
        if request.method != "POST":
            return _method_not_allowed("POST")
        try:
            answer = await run()
        except Malformed as problem:
            return json_response(400, {"accepted": False, "errorCode": "bad_command", "teaching": str(problem)})
        except Refused as refusal:
            status = 503 if refusal.code == "store_unavailable" else 200
            return json_response(status, {"accepted": False, "errorCode": refusal.code, "teaching": refusal.teaching})
        except Unknown as unknown:
            teaching = f"The outcome could not be made durable; send the same bytes again. {unknown.detail}"
            return json_response(503, {"accepted": False, "errorCode": "store_unavailable", "teaching": teaching})
        return json_response(200, answer)

    def _sources(self, connection_id: str) -> Response:
        rows = [{"name": source.name, "type": source.type, "access": source.access}
                for source in self.authority.registry.sources_of(connection_id)]
        return json_response(200, {"sources": rows, "toolIds": []})

    async def _operate(self, connection_id: str, key: str, operation: dict, request: Request) -> dict:
        kind = operation["kind"]
        if kind != "RenewLease":        # a lease does not wait for a Board
            await self.authority.free(self.authority.registry.connection(connection_id)["agentId"])
        self.authority.check_writable()
        if kind == "Poll":
            return await self._poll(connection_id, key, operation, request)
        if kind == "RenewLease":
            self.check_holder(connection_id, operation)
            return {"accepted": True, "lease": self._extend(connection_id)}
        if kind == "ReleaseLease":
            return await self._release(connection_id, operation)
        work_type = operation["workType"]
        holder = Holder(connection_id, key, operation["workerId"], operation["workerGeneration"])
        if kind == "ClaimWork":
            self.check_holder(connection_id, operation)
            return await (self._work if work_type == ACTION else self.orders).claim(holder, operation)
        if work_type == REVIEW:
            self.check_holder(connection_id, operation)
            return await self.reviews.report(holder, operation)
        return await (self._work if work_type == ACTION else self.orders).report(holder, operation, self.fence(connection_id))

    # --- lease -------------------------------------------------------------------------

    async def _poll(self, connection_id: str, key: str, operation: dict, request: Request) -> dict:
        worker_id = operation["workerId"]
        fence = self.fence(connection_id)
        if connection_id in self._carried and fence.worker_id != worker_id:
            raise Refused("worker_lease_held")          # this line is served through its drop box
        admission = admit_poll(fence, live=self._is_live(connection_id), worker_id=worker_id,
                               stated=operation.get("workerGeneration"))
        if admission.is_new:
            self._move_fence(connection_id, admission.fence, "its Worker was superseded by a new Poll")
            await self.authority.settled()
        self._hold(connection_id, admission.fence)
        descriptors = read_descriptors(operation["tools"])
        self._advertise(connection_id, descriptors)
        if admission.is_new:
            self.came(connection_id, descriptors)
        holder = Holder(connection_id, key, worker_id, admission.fence.generation)
        loop = asyncio.get_running_loop()
        # A Poll that states no generation is answered at once: until then its sender holds nothing it could
        # renew, or release when it is told to stop.
        deadline = loop.time() + (self._poll_hold_s if "workerGeneration" in operation else 0)
        while True:
            if self.fence(connection_id) != admission.fence:
                raise Refused("worker_lease_superseded")
            rows = self._work.dispatch(holder, self._held[connection_id].tools)
            rows += [*(self.reviews.rows(holder) if self.asks_reviews else ()), *self.orders.rows(holder, self._held[connection_id].tools)]
            left = deadline - loop.time()
            if rows or left <= 0 or request.is_client_gone() or self.authority.closing:
                await self.authority.settled()
                return {"accepted": True, "lease": self._extend(connection_id), "payload": {"work": rows}}
            # No await between looking and waiting: a call admitted in between would be heard of by nobody.
            agent_id = self.authority.registry.connection(connection_id)["agentId"]
            await self.authority.wait_change((agent_id, connection_id), left)

    # --- a line that comes by drop box -------------------------------------------------

    def carry(self, connection_id: str, is_holder: Callable[[str | None], bool], isolable_in_s: Callable[[], float]) -> None:
        """From now on a drop box serves this Connection, and its instances hold the line until they are isolated.

        A Worker on the network that holds it already may go on until it leaves; no other gets it.
        """
        self._carried[connection_id] = Carried(is_holder, isolable_in_s)

    def admit_carried(self, connection_id: str, worker_id: str, stated: int | None) -> Fence | None:
        """The fence that an instance of the drop box holds now; None for one whose generation has passed. Raises Refused worker_lease_held."""
        fence = self.fence(connection_id)
        if stated is not None:
            return fence if fence == Fence(worker_id, stated) else None
        if fence.worker_id == worker_id:
            return fence                    # it asked before, and the file that says so had not reached it
        live = self._is_live(connection_id) or self._carried[connection_id].is_holder(fence.worker_id)
        admission = admit_poll(fence, live=live, worker_id=worker_id, stated=None)
        self._move_fence(connection_id, admission.fence, "its line passed to a drop box")
        return admission.fence

    def hold_carried(self, connection_id: str, fence: Fence, descriptors: list[dict]) -> None:
        """Keep the line live for the holder of a drop box, with the Tools of its newest file."""
        self._hold(connection_id, fence)
        self._advertise(connection_id, descriptors)

    async def _release(self, connection_id: str, operation: dict) -> dict:
        fence = self.fence(connection_id)
        if fence == Fence(None, operation["workerGeneration"] + 1):
            return {"accepted": True}           # released before; the answer was lost
        admit_holder(fence, live=True, worker_id=operation["workerId"], generation=operation["workerGeneration"])
        self.end_line(connection_id, release_fence(fence), "its Worker left the line before it reported")
        await self.authority.settled()
        return {"accepted": True}

    def end_line(self, connection_id: str, fence: Fence, why: str) -> None:
        """Withdraw the hold: the fence moves, claimed calls need a person, nobody is on the line."""
        self._move_fence(connection_id, fence, why)
        self.drop(connection_id)

    def supersede(self, connection_id: str, why: str) -> None:
        """Mark the calls that an older generation claimed; whether they took effect is not known."""
        generation = self.fence(connection_id).generation
        self.orders.supersede(connection_id, generation)
        for agent_id, state in self.authority.agents.items():
            for operation in state.operations.superseded(connection_id, generation):
                reason = f"The call was claimed, and {why}; whether it took effect is not known."
                self.authority.command_operation(agent_id, {"kind": "needs_person", "ordinal": operation.ordinal, "reason": reason})

    def _move_fence(self, connection_id: str, fence: Fence, why: str) -> None:
        self.authority.command_registry({"kind": "fence", "connectionId": connection_id, "workerId": fence.worker_id,
                                         "generation": fence.generation, "authority": GATEWAY})
        self.supersede(connection_id, why)

    def check_holder(self, connection_id: str, operation: dict) -> None:
        admit_holder(self.fence(connection_id), live=self._is_live(connection_id), worker_id=operation["workerId"],
                     generation=operation["workerGeneration"])

    def _hold(self, connection_id: str, fence: Fence) -> None:
        held = self._held.get(connection_id)
        until_s = self.authority.clock.monotonic_s() + self._policy.lease_ms / 1000
        if held is None or held.fence != fence:
            self._held[connection_id] = Held(fence, until_s, {}, [])
            self._version += 1
        else:
            held.until_s = until_s

    def _extend(self, connection_id: str) -> dict:
        """Start the window anew and return the lease record that says so."""
        fence = self.fence(connection_id)
        self._hold(connection_id, fence)
        self._watch(connection_id)
        return self._policy.lease(fence, now_s=self.authority.clock.wall_s()).wire()

    def _advertise(self, connection_id: str, descriptors: list[dict]) -> None:
        held = self._held[connection_id]
        tools = {row["id"]: row["digest"] for row in descriptors}
        held.descriptors = descriptors
        if held.tools != tools or not held.polled:
            held.tools, held.polled = tools, True
            self._version += 1
            self.authority.touched(connection_id)
        self._watch(connection_id)

    def _watch(self, connection_id: str) -> None:
        """Tell waiting pages when the lease lapses; the lapse itself is judged by whoever asks."""
        before = self._timers.pop(connection_id, None)
        if before is not None:
            before.cancel()
        left_s = self._left_s(connection_id) + 0.05
        loop = asyncio.get_running_loop()
        self._timers[connection_id] = loop.call_later(left_s, self.authority.touched, connection_id)

    def drop(self, connection_id: str) -> None:
        """Nobody is on this line any more; its fence has moved."""
        self._held.pop(connection_id, None)
        self._version += 1
        timer = self._timers.pop(connection_id, None)
        if timer is not None:
            timer.cancel()
        self.authority.touched(connection_id)

    def _refolded(self, chains: set[str]) -> None:
        """A fence that never became durable took its hold with it."""
        for connection_id in list(self._held):
            known = self.authority.registry.connections.get(connection_id)
            if known is None or self._held[connection_id].fence != self.fence(connection_id):
                self.drop(connection_id)

    def close(self) -> None:
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()


def _method_not_allowed(allowed: str) -> Response:
    return json_response(405, {"accepted": False, "errorCode": "bad_command", "teaching": f"Use {allowed} here."}, [("allow", allowed)])


def _operation(request: Request) -> dict:
    """The one operation of a body, in its closed shape. Raises Malformed naming what is wrong, Refused for a verb of no Connection."""
    try:
        body = read_json(request.body, "the body")
        asked = body.get("operation") if isinstance(body, dict) else None
        if isinstance(asked, dict) and (asked.get("kind"), asked.get("workType")) == ("ReportWork", EVIDENCE) and not asked.get("source"):
            raise NeedsSource
        if not isinstance(asked, dict) or asked.get("kind") not in CORE_VERBS:
            return worker_hop.read_operation(body)
    except NeedsSource:
        raise Refused("report_evidence.source_required") from None
    except Refused as refusal:
        raise Malformed(refusal.teaching) from None
    raise Refused("fence_control_requires_no_connection", verb=asked["kind"])


def _check_header_identity(request: Request, operation: dict) -> None:
    """The header pair must say exactly what the body says; neither is trusted alone."""
    try:
        worker_hop.check_identity(worker_hop.read_identity(request.headers.getall), operation)
    except Refused as refusal:
        raise Malformed(refusal.teaching) from None
