"""Names that a room keeps for itself are the contract's. Duty: design D12, no second list.

Law may not import the wire, so it writes its names down; this is where the two meet.
"""

from __future__ import annotations

from rulith.board import operations, shapes
from rulith.gateway import calls
from rulith.wire import lease, manifest, mcp_client, mcp_server
from rulith.wire.contract import load_bundle, mcp_contract, worker_surface

SURFACE = mcp_contract().surface


def test_tools():
    assert list(operations.WRITES) == list(calls.BOARD_TOOLS) == SURFACE["writeTools"]
    assert list(operations.TOOLS) == SURFACE["operationTools"]
    assert {calls.ARTIFACT_TOOL, calls.READ_TOOL, *calls.BOARD_TOOLS} == set(mcp_contract().tool_names)


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
