"""An attached document, from the area of materials to a proof: a real Worker process, the gateway, any MCP host.

Duty: the Worker hop, §15: content reaches the model through a governed read Action, then ReadArtifact; reading attests nothing, and what the Action
brought about rests on its Source.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys

from rulith.disk.profiles import worker_secrets
from rulith.procs.roles import RoleProcess
from rulith.wire.terminal_receipt import check_document
from tests.conftest import ROOT
from tests.gateway.documents import ACTION, CAPABILITY, SOURCE, TYPE, Owner, area_of, attach, belonging

MINUTES = "Protokoll: die Lieferung von 7 Stück zu 12.99 wird angenommen. ✓\n" * 3_000
WAIT_S = 40.0


def settings_of(world, **more) -> dict[str, str]:
    """What `start` would hand to the profile's Worker, its store of materials included."""
    secrets, belongs = worker_secrets(world.profile).load(), belonging(world)
    return {"RULITH_CONNECTION": secrets["RULITH_CONNECTION"], "RULITH_CONNECTION_KEY": secrets["RULITH_CONNECTION_KEY"],
            "RULITH_WORK_URL": f"http://127.0.0.1:{world.port}/work", "RULITH_HOME": str(world.home.path), "RULITH_MATERIALS_ROOT": str(area_of(world)),
            "RULITH_MATERIALS_PROFILE": belongs.profile, "RULITH_MATERIALS_OWNER": belongs.owner, "RULITH_MATERIALS_AGENT_FINGERPRINT": belongs.agent, **more}


def started(world, folder, **more) -> subprocess.Popen:
    """`rulith worker` as a process of its own."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("RULITH_")} | {"PYTHONPATH": str(ROOT), **settings_of(world, **more)}
    folder.mkdir(exist_ok=True)
    return subprocess.Popen([sys.executable, "-m", "rulith", "worker"], cwd=folder, env=env, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)


async def until(what) -> None:
    """Wait, within bounds, until something holds of the gateway."""
    for _ in range(int(WAIT_S * 20)):
        if what():
            return
        await asyncio.sleep(0.05)
    raise AssertionError("it never came to hold")


def test_an_attached_document_is_read_by_reference_and_the_proof_names_its_source(play, kit, tmp_path):
    async def story(world):
        owner, host = await Owner(world, kit).set_up(), world.host()
        record = attach(world, "minutes.txt", "text/plain", MINUTES.encode())
        unattached = attach(world, "other.txt", "text/plain", b"never attached")
        (area_of(world) / "objects" / unattached.id / "submission.json").unlink()
        process = started(world, tmp_path / "worker")
        try:
            connection = world.profile.connection_id
            await until(lambda: any(row["id"] == "rulith.materials.read@1" for row in world.gateway.line.advertised(connection)))
            await owner.documents(area_of(world))
            await owner.permit(local=False, off=True)
            await host.initialize()
            opened = (await host.call("OpenCase", {"caseType": TYPE, "businessKey": {"material": record.selector}}))["result"]
            body = await host.call("ApplyAction", {"action": ACTION, "args": {"source": SOURCE}, "target": opened["root"]})
            assert body["result"]["status"] == "confirmed", body
            (artifact,) = body["result"]["artifacts"]
            assert artifact["digest"] == record.digest and artifact["totalBytes"] == len(MINUTES.encode())
            told, offset = "", 0
            while offset is not None:
                window = (await host.call("ReadArtifact", {"ref": artifact["ref"], "offset": offset}))["result"]
                told, offset = told + window["data"], window["nextOffset"]
            assert told == MINUTES
            await world.gateway.authority.settled()
            closed = await host.call("CloseCase", {"root": opened["root"]})
            assert closed["accepted"], closed
            document = world.gateway.authority.receipt_document(world.profile.agent_id, opened["caseId"])
            (node,) = [fact for fact in document["facts"] if fact["predicate"] == "acme.docs.fetched"]
            assert node["args"] == {"material": record.selector} and node["tier"] == "attested" and node["by"]["restsOn"] == [[SOURCE, "attested"]]
            assert check_document(json.loads(json.dumps(document))).problems == []
            assert document["operations"][1]["sourceRecordId"] == SOURCE
            assert "Protokoll" not in json.dumps(document)
            # one that nobody attached can be named by a model, and is not read
            other = (await host.call("OpenCase", {"caseType": TYPE, "businessKey": {"material": unattached.selector}}))["result"]
            body = await host.call("ApplyAction", {"action": ACTION, "args": {"source": SOURCE}, "target": other["root"]})
            assert body["result"]["status"] == "failed" and "artifacts" not in body["result"]
        finally:
            process.terminate()
            _, said = await asyncio.to_thread(process.communicate, timeout=WAIT_S)
        assert process.returncode == 0 and b"Traceback" not in said, said

    play(story, pollHoldMs=500, holdMs=40_000)


HERE = "http://127.0.0.1:9/v1"
DUMP = {"acme.dump@1": {"adapter": "run", "entry": "dump.py", "kind": "read", "sourceTypes": ["file"], "params": {}, "returns": [], "env": {"pass": []}}}
DUMPING = json.loads(json.dumps(CAPABILITY))
DUMPING["actions"].append({"id": "dump", "description": "Print a lot.", "tool": "acme.dump@1", "kind": "read", "source_types": ["file"], "params": {},
                           "preconditions": [{"predicate": "case_context", "args": {"root": "?root", "case_type": TYPE}}], "effects": [], "returns": []})


def test_a_result_too_large_for_a_receipt_is_read_by_ticket_on_the_workers_own_machine(play, kit, tmp_path):
    """§9 and §15: kept, registered, told by reference; then a ticket, claimed by the Worker for its parent. No byte crosses the gateway."""
    async def story(world):
        owner, host, connection = await Owner(world, kit).set_up(), world.host(), world.profile.connection_id
        record = attach(world, "a.txt", "text/plain", b"a")
        (tmp_path / "dump.py").write_text("print('Zürich ' * 20000)")
        (tmp_path / "worker-tools.json").write_text(json.dumps({"format": "rulith-worker-tools/1", "tools": DUMP}))
        (tmp_path / "data").mkdir()
        role = await RoleProcess.spawn("worker", env=settings_of(world), cwd=tmp_path)
        try:
            await until(lambda: any(row["id"] == "acme.dump@1" for row in world.gateway.line.advertised(connection)))
            await owner.documents(area_of(world), DUMPING)
            tool = next(row for row in world.gateway.line.advertised(connection) if row["id"] == "acme.dump@1")
            await owner.act("tool-lock", connectionId=connection, toolId=tool["id"], digest=tool["digest"], replaces="")
            await owner.act("source-add", connectionId=connection, name="data", type="file", access=str(tmp_path / "data"), tier="attested", attests=[])
            await host.initialize()
            root = (await host.call("OpenCase", {"caseType": TYPE, "businessKey": {"material": record.selector}}))["result"]["root"]
            dump = {"action": "acme.docs.dump", "args": {"source": "data"}, "target": root}
            assert (await host.call("ApplyAction", dump))["result"]["status"] == "failed"       # nobody allowed its content to be read
            await owner.act("source-delivery", agentId=world.profile.agent_id, source="data", localRead=True, offMachine=False)
            (artifact,) = (await host.call("ApplyAction", dump))["result"]["artifacts"]
            assert artifact["totalBytes"] == len(("Zürich " * 20000).strip().encode())
            answer = await host.post(host.asking("ReadArtifact", {"ref": artifact["ref"], "offset": 16, "maxBytes": 18}, id="t", progress=None),
                                     **{"x-rulith-local-delivery": "rulith-local-delivery/1", "x-rulith-local-custodian": connection})
            ticket = answer.json()["result"]["_meta"]["rulith/local-delivery/v1"]["ticket"]
            role.read_material(id="1", ticket=ticket, modelDestination="https://model.example/v1")
            assert (await role.wait_for_event("material-read", WAIT_S))["errorCode"] == "material_local_only"
            role.latest.pop("material-read")
            again = await host.post(host.asking("ReadArtifact", {"ref": artifact["ref"], "offset": 16, "maxBytes": 18}, id="u", progress=None),
                                    **{"x-rulith-local-delivery": "rulith-local-delivery/1", "x-rulith-local-custodian": connection})
            role.read_material(id="2", ticket=again.json()["result"]["_meta"]["rulith/local-delivery/v1"]["ticket"], modelDestination=HERE)
            event = await role.wait_for_event("material-read", WAIT_S)
            assert event["result"]["data"] == "Zürich Zürich Z" and event["result"]["nextOffset"] == 33
        finally:
            await role.stop()
        assert all("Zürich" not in json.dumps(row.body, ensure_ascii=False) for row in world.gateway.authority.ledger.rows())

    play(story, pollHoldMs=500, holdMs=40_000)
