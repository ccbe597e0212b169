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

from rulith.commands import verify
from rulith.disk.profiles import worker_secrets
from rulith.wire.terminal_receipt import check_document
from tests.conftest import ROOT
from tests.gateway.documents import ACTION, SOURCE, TYPE, Owner, area_of, attach, belonging

MINUTES = "Protokoll: die Lieferung von 7 Stück zu 12.99 wird angenommen. ✓\n" * 3_000
WAIT_S = 40.0


def started(world, folder, **more) -> subprocess.Popen:
    """`rulith worker` of this profile, with its store of materials, as `start` would run it."""
    secrets, belongs = worker_secrets(world.profile).load(), belonging(world)
    env = {name: value for name, value in os.environ.items() if not name.startswith("RULITH_")}
    env |= {"PYTHONPATH": str(ROOT), "RULITH_CONNECTION": secrets["RULITH_CONNECTION"], "RULITH_CONNECTION_KEY": secrets["RULITH_CONNECTION_KEY"],
            "RULITH_WORK_URL": f"http://127.0.0.1:{world.port}/work", "RULITH_HOME": str(world.home.path), "RULITH_MATERIALS_ROOT": str(area_of(world)),
            "RULITH_MATERIALS_PROFILE": belongs.profile, "RULITH_MATERIALS_OWNER": belongs.owner, "RULITH_MATERIALS_AGENT_FINGERPRINT": belongs.agent, **more}
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

    play(story, pollHoldMs=500)
