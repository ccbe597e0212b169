"""Names that a room keeps for itself are the contract's. Duty: design D12, no second list.

Law may not import the wire, so it writes its names down; this is where the two meet.
"""

from __future__ import annotations

import pytest

from rulith.base import limits
from rulith.base.errors import Refused
from rulith.board import actions, operations, shapes, views
from rulith.board.registry import Registry
from rulith.gateway import calls
from rulith.wire import lease, manifest, mcp_client, mcp_server, mcp_streams
from rulith.wire.contract import load_bundle, mcp_contract, worker_surface

SURFACE = mcp_contract().surface


def test_tools():
    assert list(operations.WRITES) == SURFACE["writeTools"]
    assert list(operations.TOOLS) == SURFACE["operationTools"]
    assert {calls.ARTIFACT_TOOL, calls.READ_TOOL, *operations.WRITES} == set(mcp_contract().tool_names)


def test_what_the_gateway_chose_stands_in_the_contract():
    chosen = SURFACE["chosen"]
    assert (limits.PROGRESS_EVERY_S, limits.RETRY_MS) == (chosen["progressEverySeconds"], chosen["retryMs"])
    assert (mcp_streams.STREAMS_KEPT_MAX, mcp_server.CALLS_KEPT_MAX, mcp_server.CALLS_REMEMBERED_MAX) == (
        chosen["streamsKept"], chosen["answersKept"], chosen["idsRemembered"])
    assert (views.DIRECTORY_ROWS_MAX, actions.CANDIDATES_SHOWN) == (chosen["directoryRows"], chosen["candidatesShown"])


def test_states_tiers_and_codes():
    assert list(operations.SETTLED) == SURFACE["settledStates"]
    assert {operations.WAITING, operations.NEEDS_PERSON, *operations.SETTLED} < set(SURFACE["operationStates"])
    assert list(shapes.TIERS) == list(manifest.TIERS) == SURFACE["tiers"]
    assert list(calls.DISCLOSURE_CODES) == SURFACE["disclosureCodes"]


def test_dates_and_declaration():
    assert mcp_server.SURFACE == mcp_client.NAMESPACE == SURFACE["namespace"]
    assert list(mcp_server.SERVED) == SURFACE["protocolDates"]
    assert mcp_client.PROTOCOL_DATE == mcp_server.CURRENT == SURFACE["declaredProtocolDate"]
    assert mcp_client.DECLARATION == {SURFACE["namespace"]: SURFACE["declaration"]}
    assert mcp_server.DECLARATION == SURFACE["declaration"]


def test_the_worker_hop():
    schema = load_bundle("worker-contract.json").json("protocol/worker/schema.json")["definitions"]
    assert sorted(manifest.SOURCE_TYPES) == sorted(schema["sourceType"]["enum"])
    assert list(manifest.KINDS) == schema["toolKind"]["enum"]
    assert "^" + lease.WORKER_ID.pattern + "$" == schema["workerId"]["pattern"]
    assert worker_surface()["grantMembers"] == schema["grantPayload"]["required"]


AT = "2026-11-30T12:00:00.000Z"
GATEWAY = {"kind": "gateway"}


def fenced_at(worker_id: str | None, generation: int) -> Registry:
    """A Registry whose one Connection stands at this fence."""
    registry = Registry()
    registry.execute({"kind": "genesis", "commands": [
        {"kind": "add_agent", "id": "agent_1", "name": "a", "tokenHash": "0" * 64},
        {"kind": "add_connection", "id": "conn_1", "name": "c", "agentId": "agent_1", "keyHash": "0" * 64},
    ]}, at=AT, mint=lambda prefix: prefix + "0" * 24)
    move(registry, worker_id, generation)
    return registry


def move(registry: Registry, worker_id: str | None, generation: int) -> dict:
    command = {"kind": "fence", "connectionId": "conn_1", "workerId": worker_id, "generation": generation, "authority": GATEWAY}
    return registry.execute(command, at=AT, mint=lambda prefix: prefix + "0" * 24).result


@pytest.mark.parametrize("row", load_bundle("worker-contract.json").json("protocol/worker/vectors.json")["fences"])
def test_the_law_moves_the_fence_as_the_contract_s(row):
    registry, (worker_id, generation) = fenced_at(*row["from"]), row["move"]
    current = lease.Fence(*row["from"])
    if "refused" in row:
        with pytest.raises(Refused) as by_law:
            move(registry, worker_id, generation)
        with pytest.raises(Refused) as by_wire:
            lease.move_fence(current, worker_id=worker_id, generation=generation)
        assert by_law.value.code == row["refused"] and by_law.value.teaching == by_wire.value.teaching
        return
    fence, replay = lease.move_fence(current, worker_id=worker_id, generation=generation)
    assert move(registry, worker_id, generation) == {
        "connectionId": "conn_1", "fence": {"workerId": fence.worker_id, "generation": fence.generation}, "replay": replay}
