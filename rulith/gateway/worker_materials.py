"""The material routes of the Worker line: register, deliver, claim a local read. The desk is gateway/artifacts.py.

The Connection was authenticated before anything here runs. Who registers is bound by the
grant of the call; who delivers or claims holds the line now.

Source  the Worker hop, §§2 and 15
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from rulith.base.errors import Refused
from rulith.base.json_text import read_json
from rulith.gateway.artifacts import ArtifactDesk
from rulith.gateway.worker_work import Holder, WorkerWork
from rulith.net.messages import Request
from rulith.wire import worker_hop
from rulith.wire.artifacts import CLAIM_PATH, DELIVERY_PATH, REGISTER_PATH, RESULT_PATH
from rulith.wire.contract import validate

SHAPES = {REGISTER_PATH: "materialRegister", DELIVERY_PATH: "materialPoll", RESULT_PATH: "materialResult", CLAIM_PATH: "materialClaim"}
WAIT_S_MAX = 25.0


class MaterialRoutes:
    """check_holder(connection, body)   raises Refused where that instance and generation do not hold the line
    fence(connection)                   its fence now
    """

    def __init__(self, desk: ArtifactDesk, work: WorkerWork, *, check_holder: Callable[[str, Mapping], None], fence: Callable) -> None:
        self.desk = desk
        self._work = work
        self._check_holder = check_holder
        self._fence = fence

    async def answer(self, connection_id: str, key: str, request: Request) -> dict:
        """Raises Refused; bad_command and bad_json are the caller's own fault."""
        body = read_json(request.body, "the body")
        validate(SHAPES[request.path], body)
        stated = worker_hop.read_identity(request.headers.getall)
        authority = self.desk.authority
        if request.path == REGISTER_PATH:
            if stated.worker_id is None or stated.generation is None:
                raise Refused("bad_command", problem="The headers name no instance and generation")
            await authority.free(authority.registry.connection(connection_id)["agentId"])
            authority.check_writable()
            return await self._register(Holder(connection_id, key, stated.worker_id, stated.generation), body)
        worker_hop.check_identity(stated, body)
        self._check_holder(connection_id, body)
        if request.path == CLAIM_PATH:
            return {"accepted": True, **self.desk.claim(connection_id, body["ticket"])}
        if request.path == RESULT_PATH:
            self.desk.brought(connection_id, body)
            return {"accepted": True}

        def is_gone() -> bool:
            return request.is_client_gone() or self._fence(connection_id).generation != body["workerGeneration"]

        wait_s = min(body.get("waitMillis", 0) / 1000, WAIT_S_MAX)
        delivery = await self.desk.next_delivery(connection_id, wait_s, is_gone)
        return {"accepted": True, "delivery": delivery}

    async def _register(self, holder: Holder, body: Mapping) -> dict:
        operation = self._work.granted(holder, body["executionGrant"])
        artifact = self.desk.register(holder, operation, self._fence(holder.connection_id).generation, body)
        await self.desk.authority.settled()
        return {"accepted": True, **artifact.registered()}
