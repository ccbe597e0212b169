"""What the Console reads of the ledger and of a call nobody knows the end of: whole, by pages, without a secret."""

from __future__ import annotations

import asyncio
import json
import re
from urllib.parse import urlencode

from rulith.base.canonical import digest
from rulith.gateway import console_reads

WORDS = "correct horse battery"


class Reader:
    def __init__(self, world, kit) -> None:
        self.world, self.kit, self.cookie = world, kit, ""

    async def set_up(self):
        answer = await self.kit.http(self.world.port, "POST", "/console/api/setup", {"content-type": "application/json"},
                                     json.dumps({"code": self.world.gateway.setup_code, "passphrase": WORDS}).encode())
        self.cookie = re.match(r"rulith_console=([^;]*)", answer.headers["set-cookie"])[1]
        return self

    async def read(self, route: str, **query) -> dict:
        answer = await self.kit.http(self.world.port, "GET", f"/console/api/{route}?{urlencode(query)}", {"cookie": f"rulith_console={self.cookie}"})
        return answer.json()


def test_pages_of_the_ledger_join_without_a_gap_and_a_search_goes_on_below(play, kit):
    async def story(world):
        page = await Reader(world, kit).set_up()
        for number in range(5_300):
            world.gateway.authority.audit("gateway", {"what": "a needle" if number == 0 else "hay", "number": number})
        await world.gateway.authority.settled()
        total = world.gateway.authority.ledger.head("gateway")[0]
        seen, before = [], ""
        for _ in range(4):
            found = (await page.read("ledger", chain="gateway", limit=100, before=before))["ledger"]
            assert found["total"] == total and found["chains"][0]["name"] == "gateway"
            seen += [row["seq"] for row in found["rows"]]
            before = found["next"]
        assert seen == list(range(total, total - 400, -1))
        found = (await page.read("ledger", chain="gateway", text="NEEDLE"))["ledger"]
        assert found["rows"] == [] and found["next"] == total + 1 - console_reads.SCANNED_MAX      # it says how far it looked
        found = (await page.read("ledger", chain="gateway", text="NEEDLE", before=found["next"]))["ledger"]
        assert [row["kind"] for row in found["rows"]] == ["audit"] and found["next"] is None
        row = found["rows"][0]
        assert (await page.read("ledger", chain="gateway", text=row["hash"], before=row["seq"] + 1))["ledger"]["rows"] == [row]
        assert (await page.read("ledger", chain="gateway", kind="registry"))["ledger"]["rows"] == []
        for odd in ({"before": "-1"}, {"before": "x" * 40}, {"limit": "0"}, {"limit": "99999999"}, {"before": "0"}):
            assert len((await page.read("ledger", chain="gateway", **odd))["ledger"]["rows"]) <= console_reads.ROWS_MAX
        assert (await page.read("ledger", chain="nowhere"))["errorCode"] == "not_found"

    play(story)


def test_no_hash_that_could_be_guessed_at_is_shown(play, kit):
    async def story(world):
        page = await Reader(world, kit).set_up()
        text = json.dumps((await page.read("ledger", chain="gateway"))["ledger"]["rows"])
        registry = world.gateway.authority.registry
        for kept in (registry.device_grant_hash, next(iter(registry.agents.values()))["tokenHash"], next(iter(registry.connections.values()))["keyHash"],
                     registry.people["owner"]["record"]["hash"], registry.people["owner"]["record"]["salt"]):
            assert kept and kept not in text
        assert "(withheld)" in text
        found = (await page.read("ledger", chain="gateway", text=registry.people["owner"]["record"]["hash"]))["ledger"]
        assert found["rows"] == []                                    # nor can it be found by asking

    play(story)


def test_a_ledger_that_does_not_hold_says_where(play, kit, monkeypatch):
    async def story(world):
        page = await Reader(world, kit).set_up()
        assert (await page.read("ledger-check"))["check"]["problems"] == []
        running = 0

        async def slow(authority):
            nonlocal running
            running += 1
            assert running == 1                                       # one at a time, whoever asks
            await asyncio.sleep(0)
            running -= 1
            return {"chains": {"gateway": 3}, "problems": ["row 2 of chain 'gateway' does not match its hash"]}

        monkeypatch.setattr(console_reads, "check_ledger", slow)
        answers = await asyncio.gather(*(page.read("ledger-check") for _ in range(3)))
        assert all("row 2" in each["check"]["problems"][0] for each in answers)

    play(story)


def test_what_does_not_exist_is_refused_by_name(play, kit):
    async def story(world):
        page = await Reader(world, kit).set_up()
        for asked in ({}, {"agent": "agent_none", "ordinal": "1"}, {"agent": "", "ordinal": "x"}):
            assert (await page.read("unknown", **asked))["errorCode"] == "unknown_agent"
        here = {"agent": world.profile.agent_id}
        assert (await page.read("unknown", **here, ordinal=7))["errorCode"] == "unknown_operation"
        host = world.host()
        await host.initialize()
        await world.open_case(host)
        assert (await page.read("unknown", **here, ordinal=1))["errorCode"] == "not_needs_person"
        assert (await page.read("receipt-check", **here, case="case_none"))["errorCode"] == "no_receipt"
        assert (await page.read("source-flow", name="nowhere"))["errorCode"] == "unknown_source"

    play(story)


LAW = {"format": "rulith-constitution/1", "version": "1.0.0", "title": "Nothing leaves", "rules": [
    {"id": "stays", "label": "what the Source says stays out of writes",
     "when": [{"predicate": "proposed", "args": {"action": "?action", "kind": "write"}}, {"predicate": "rests_on", "args": {"source": "verified-calculation-local"}}],
     "then": [{"predicate": "forbidden", "args": {"action": "?action", "reason": "it stays"}}]}]}


def test_what_the_constitution_forbids_of_a_sources_material_is_shown(play, kit):
    async def story(world):
        page = await Reader(world, kit).set_up()
        verdicts = {way["action"]: way["verdict"] for way in (await page.read("source-flow", name="verified-calculation-local"))["flow"]["ways"]}
        assert verdicts[kit.PREFIX + "write_output"] == "allowed" and verdicts[kit.PREFIX + "write_approved_output"] == "decided"
        authority = world.gateway.authority
        authority.command_registry({"kind": "install_constitution", "constitution": LAW, "digest": digest(LAW), "authority": {"kind": "person", "by": "owner", "signInAgeS": 1}})
        authority.command_board(world.profile.agent_id, {"kind": "install_constitution", "constitution": LAW, "digest": digest(LAW)})
        flow = (await page.read("source-flow", name="verified-calculation-local"))["flow"]
        ways = {way["action"].removeprefix(kit.PREFIX): (way["verdict"], way["reason"]) for way in flow["ways"]}
        assert flow["governed"] and ways["write_output"] == ("forbidden", "it stays") and ways["read_input"] == ("allowed", "")

    play(story)
