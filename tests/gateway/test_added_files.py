"""The files that a person adds can be read out of the box, and what people take away stays away.

Duty: the Worker hop, §15; our decision that a Worker which comes with its own store is given what reading it needs, once (docs/gateway.md).
"""

from __future__ import annotations

import asyncio

from rulith.disk.profiles import create_profile, update_profile
from rulith.gateway.files import NAME
from tests.gateway.documents import READER, Owner, area_of, attach
from tests.gateway.test_document_journey import WAIT_S, started, until

READ = "rulith.materials.read"
BINARY = bytes(range(256)) * 32 * 1024                # 8 MiB, no text


def reader_of(world):
    """The profile's Worker, as one that keeps a store of added files."""
    worker = world.worker()
    worker.tools = [*(each for each in worker.tools if each["id"] != READER.id), READER.descriptor()]
    return worker


async def files_of(world) -> dict:
    return (await world.local("state")).json()["connections"][0]["files"]


def test_an_added_file_is_read_by_a_direct_action_that_nobody_set_up(play, kit, tmp_path):
    async def story(world):
        host = world.host()
        text = attach(world, "minutes.txt", "text/plain", "Sieben Stück ✓".encode())
        process = started(world, tmp_path / "worker")
        try:
            await until(lambda: world.profile.connection_id in world.gateway.authority.registry.files)
            assert await files_of(world) == {"read": False, "problem": ""}
            await host.initialize()
            opened = (await host.call("OpenCase", {"caseType": "exploration"}))
            (row,) = [each for each in opened["view"]["actions"] if each["action"] == READ]
            assert (row["status"], row["params"], row["sources"]) == ("ready", {"material": "string"}, [NAME])      # the order's folder is no store of files
            for record in (text, attach(world, "big.bin", "application/octet-stream", BINARY)):
                done = await host.call("ApplyAction", {"action": READ, "args": {"material": record.selector, "source": NAME}})
                (artifact,) = done["result"]["artifacts"]
                assert artifact["digest"] == record.digest and record.digest in done["operations"][0]["summary"]
                window = (await host.call("ReadArtifact", {"ref": artifact["ref"], "offset": max(0, record.total_bytes - 1024)}))["result"]
                assert (window["encoding"], window["nextOffset"]) == (record.encoding, None) and window["data"]
            assert await files_of(world) == {"read": True, "problem": ""}
            elsewhere = await host.call("ApplyAction", {"action": READ, "args": {"material": text.selector, "source": "verified-calculation-local"}})
            assert elsewhere["errorCode"] == "source_wrong_type"
            unknown = await host.call("ApplyAction", {"action": READ, "args": {"material": "mat_" + "0" * 32, "source": NAME}})
            assert unknown["result"]["status"] == "failed" and "no submitted file" in unknown["operations"][0]["summary"]
        finally:
            process.terminate()
            await asyncio.to_thread(process.communicate, timeout=WAIT_S)

    play(story, pollHoldMs=500, holdMs=40_000)


def test_what_people_take_away_is_not_seeded_again_and_the_page_says_why(play, kit):
    async def story(world):
        owner, registry, connection = await Owner(world, kit).set_up(), world.gateway.authority.registry, world.profile.connection_id
        worker = reader_of(world)
        assert "has not offered" in (await files_of(world))["problem"]
        await worker.poll()
        assert registry.sources[NAME].access == str(area_of(world)) and (await files_of(world))["problem"] == ""
        await owner.act("source-delivery", agentId=world.profile.agent_id, source=NAME, localRead=False, offMachine=False)
        assert "does not let" in (await files_of(world))["problem"]
        shown = (await kit.http(world.port, "GET", "/console/api/admin", owner.headers)).json()["admin"]["sources"]
        await owner.act("source-remove", name=NAME, replaces=next(each["digest"] for each in shown if each["name"] == NAME))
        assert "No Source of type file" in (await files_of(world))["problem"]
        await owner.act("tool-unlock", connectionId=connection, toolId=READER.id, digest=READER.digest)
        assert "is not locked" in (await files_of(world))["problem"]
        await worker.release()
        await reader_of(world).poll()
        assert NAME not in registry.sources and (connection, READER.id) not in registry.locks
        rows = [row.body["command"]["kind"] for row in world.gateway.authority.rows("gateway")]
        assert rows.count("seed_files") == 1
        host = world.host()
        await host.initialize()
        await host.call("OpenCase", {"caseType": "exploration"})
        assert (await host.call("ApplyAction", {"action": READ, "args": {"material": "mat_" + "0" * 32, "source": NAME}}))["errorCode"] == "unknown_action"

    play(story)


def test_what_people_had_set_up_their_own_way_stays_as_it_is(play, kit):
    async def story(world):
        owner, registry, connection = await Owner(world, kit).set_up(), world.gateway.authority.registry, world.profile.connection_id
        worker = reader_of(world)
        reader, worker.tools = worker.tools[-1], worker.tools[:-1]
        await worker.poll()
        worker.tools.append(reader)
        await worker.poll()                            # the same instance: nothing is seeded for one that did not come anew
        await owner.act("tool-lock", connectionId=connection, toolId=READER.id, digest=READER.digest, replaces="")
        await worker.release()
        await reader_of(world).poll()
        assert registry.files == {connection: ""} and NAME not in registry.sources and registry.deliveries == {}

    play(story, pollHoldMs=50)


def test_a_second_agents_files_get_a_source_of_their_own_and_a_programs_none(play, kit):
    async def story(world):
        owner, registry = await Owner(world, kit).set_up(), world.gateway.authority.registry
        worker = reader_of(world)
        await worker.poll()
        for name, mode in (("Night", "local_agent"), ("Editor", "existing_client")):
            agent = (await owner.act("agent-create", name=name))["result"]
            made = (await owner.act("connection-create", name=f"{name}'s", agentId=agent["id"]))["result"]
            profile = update_profile(world.home, create_profile(world.home, name, mode=mode).id, agentId=agent["id"], connectionId=made["id"])
            worker.connection, worker.key, worker.generation = made["id"], made["key"], None
            assert (await worker.poll())["accepted"]
            if mode == "local_agent":
                source = registry.sources[f"{NAME}-2"]
                assert (source.connection_id, source.access) == (made["id"], str(profile.directory / "materials"))
            else:
                assert made["id"] not in registry.files

    play(story)
