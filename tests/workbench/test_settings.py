"""The page's settings through HTTP: limits, logs without credentials, the check, a backup, the gateway anew; and what is refused.

Source  the workbench surface, "settings"; the design, "budgets"
"""

import asyncio
import json
import os

import pytest

from rulith.base.errors import Refused
from rulith.disk.home_settings import SETTINGS_FILE
from rulith.disk.model_settings import agent_env
from rulith.disk.profiles import role_env
from rulith.workbench.settings import Settings, hidden, limits_of

from tests.workbench.test_page_http import play

LIMITS = {"profile": None, "rounds": "40", "tokens": "200000", "money": "", "per": "day", "maxRounds": "20"}
PRICES = {"format": "rulith-prices/1", "currency": "USD", "models": [{"model": "m", "input": 1, "output": 2}]}


def asked(stage, path, body):
    return play(stage, lambda stage: stage.page.post(f"/api/settings/{path}", body))


def test_an_agent_without_limits_of_its_own_gets_those_of_the_home(stage):
    """And its own win, member by member."""
    async def script(stage):
        first = await stage.page.post("/api/settings/budget", LIMITS)
        shared = agent_env(stage.profile)
        second = await stage.page.post("/api/settings/budget", {**LIMITS, "profile": stage.profile.id, "tokens": "5", "rounds": "", "maxRounds": ""})
        return first, shared, second, agent_env(stage.profile), await stage.page.get("/api/settings")
    first, shared, second, own, told = play(stage, script)
    assert first[0] == second[0] == 200
    assert shared["RULITH_BUDGET"] == "rounds=40,tokens=200000,per=day" and shared["RULITH_MAX_ROUNDS"] == "20"
    assert own["RULITH_BUDGET"] == "tokens=5,per=day" and own["RULITH_MAX_ROUNDS"] == "20"
    assert told["budget"]["tokens"] == "200000" and told["budgets"][stage.profile.id] == {"rounds": "", "tokens": "5", "money": "", "per": "day", "maxRounds": ""}


def test_limits_written_by_hand_are_shown_as_they_count():
    assert limits_of({"RULITH_BUDGET": " tokens = 5 , per=run,", "RULITH_MAX_ROUNDS": "3"}) == {"rounds": "", "tokens": "5", "money": "", "per": "run", "maxRounds": "3"}
    assert limits_of({}) == {"rounds": "", "tokens": "", "money": "", "per": "day", "maxRounds": ""}


def test_an_agent_does_not_start_without_limits_that_cannot_be_read(stage):
    """A damaged file must not mean that nothing is limited."""
    (stage.home.workbench / SETTINGS_FILE).write_text("{")
    with pytest.raises(Refused) as refused:
        agent_env(stage.profile)
    assert refused.value.code == "home_settings_unreadable"


def test_empty_limits_are_no_limits(stage):
    async def script(stage):
        await stage.page.post("/api/settings/budget", LIMITS)
        return await stage.page.post("/api/settings/budget", {**LIMITS, "rounds": "", "tokens": "", "maxRounds": ""})
    assert play(stage, script)[0] == 200
    assert "RULITH_BUDGET" not in agent_env(stage.profile) and "RULITH_BUDGET" not in role_env(stage.profile, "agent")


@pytest.mark.parametrize("change, code", [
    ({"rounds": "-1"}, "budget_field"), ({"tokens": "1e9"}, "budget_field"), ({"tokens": 7}, "budget_field"), ({"money": "free"}, "budget_field"),
    ({"per": "year"}, "budget_field"), ({"maxRounds": "0"}, "budget_field"), ({"maxRounds": "1001"}, "budget_field"), ({"money": "1.50"}, "budget_prices"),
    ({"profile": "inst-none"}, "instance_unknown"), ({"tokens": "٣"}, "budget_field"), ({"rounds": "1,tokens=9"}, "budget_field")])
def test_a_limit_that_is_none_is_refused_and_nothing_is_kept(stage, change, code):
    status, answer = asked(stage, "budget", {**LIMITS, **change})
    assert answer["errorCode"] == code and status in (400, 404)
    assert not (stage.home.workbench / SETTINGS_FILE).exists()


def test_money_is_limited_once_prices_are_known(stage):
    (stage.home.path / "prices.json").write_text(json.dumps(PRICES))
    assert asked(stage, "budget", {**LIMITS, "money": "1.50", "per": "month"})[0] == 200
    assert agent_env(stage.profile)["RULITH_BUDGET"] == "rounds=40,tokens=200000,money=1.50,per=month"


@pytest.mark.parametrize("content", ["{", "[]", '{"version": 1, "settings": {"RULITH_BUDGET": 5}}'])
def test_damaged_settings_are_said_and_not_written_over(stage, content):
    path = stage.home.workbench / SETTINGS_FILE
    path.write_text(content)

    async def script(stage):
        return await stage.page.get("/api/settings"), await stage.page.post("/api/settings/budget", LIMITS)
    told, (status, answer) = play(stage, script)
    assert str(path) in told["problem"]
    assert status == 400 and answer["errorCode"] == "home_settings_unreadable" and path.read_text() == content


def test_a_log_is_shown_from_its_end_without_what_opens_anything(stage):
    secret, model = "rlt_key_scripted", "a-model-key-of-another-shape"
    stage.home.logs.mkdir(exist_ok=True)
    (stage.home.logs / "gateway.log").write_text(f"{'x' * 99_000} {secret}\nfirst whole line\nkey {secret} Bearer abc.def sk-abcdefghijk /?k=secretpage {model}\n")
    (stage.home.logs / "private.txt").write_text("no log")

    async def script(stage):
        await stage.page.post("/api/profiles/default-model", {"url": "https://models.example/v1", "name": "m", "key": model, "clearKey": False})
        found = await stage.page.get("/api/settings")
        return found["logs"], await stage.page.get("/api/settings/log?name=gateway.log")
    logs, told = play(stage, script)
    assert [row["name"] for row in logs] == ["gateway.log"] and logs[0]["words"] == "Gateway"
    assert told["text"] == "first whole line\nkey [hidden] Bearer [hidden] [hidden] /?k=[hidden] [hidden]\n"
    assert told["bytes"] > 99_000 > told["shown"]


@pytest.mark.parametrize("name", ["", "private.txt", "..%2fworkbench%2fregistry.json", "worker-x.log", "gateway.log%00", "linked.log", "agent-linked.log"])
def test_nothing_but_a_log_of_this_home_is_shown(stage, name):
    stage.home.logs.mkdir(exist_ok=True)
    (stage.home.logs / "private.txt").write_text("no log")
    (stage.home.logs / "agent-linked.log").symlink_to(stage.home.workbench / "registry.json")
    assert play(stage, lambda stage: stage.page.get(f"/api/settings/log?name={name}"))["errorCode"] == "log_unknown"


def test_a_longer_secret_is_hidden_before_a_shorter_one_in_it():
    assert hidden("abcdef-ghijkl and abcdef", iter(["abcdef", "abcdef-ghijkl", "an", ""])) == "[hidden] and [hidden]"


def test_the_check_and_a_backup_are_those_of_the_command_line(stage):
    """The doctor looks at this home; of a ledger that was lost there is no backup, and the verb's own words say so."""
    async def script(stage):
        found = await stage.page.post("/api/settings/doctor", {"repair": False})
        return found, await stage.page.post("/api/settings/backup", {"name": "ledger-1.db"})
    (status, found), (refused, answer) = play(stage, script)
    assert status == 200 and {"python", "home", "profile", "ledger"} <= {row["name"] for row in found["checks"]}
    assert "rlt_" not in json.dumps(found)
    assert refused == 502 and answer["errorCode"] == "verb_unanswered" and f"The home {stage.home.path}" in answer["teaching"]


def test_a_repair_takes_away_what_the_doctor_offers_and_nothing_else(stage):
    spare = stage.home.workbench / "registry.json.0123456789abcdef.tmp"
    spare.write_text("half")
    os.utime(spare, (1, 1))

    async def script(stage):
        looked = await stage.page.post("/api/settings/doctor", {})
        assert spare.exists()
        return looked, await stage.page.post("/api/settings/doctor", {"repair": True}), await stage.page.post("/api/settings/doctor", {"repair": "yes"})
    looked, repaired, wrong = play(stage, script)
    assert any("--repair" in row["text"] for row in looked[1]["checks"] if row["name"] == "leftover")
    assert repaired[0] == 200 and not spare.exists() and stage.home.registry.exists()
    assert wrong[1]["errorCode"] == "settings_operation"


@pytest.mark.parametrize("name", ["", "../x.db", "a/b", ".hidden", "x" * 81, 7, None, "é.db", "a\n"])
def test_a_backup_stays_in_its_folder(stage, name):
    assert asked(stage, "backup", {"name": name})[1]["errorCode"] == "backup_name"


def test_a_gateway_of_ours_starts_anew_and_another_one_is_left_alone(stage):
    async def script(stage):
        ours = stage.bench.gateway_row()["owned"]
        answer = await stage.page.post("/api/settings/gateway", {"operation": "restart"})
        again = await stage.spawn.wait_for("gateway", 2) if ours else None
        wrong = await stage.page.post("/api/settings/gateway", {"operation": "stop"})
        stage.bench._owned = False
        return ours, answer, again, wrong, await stage.page.post("/api/settings/gateway", {"operation": "restart"})
    ours, (status, _), again, wrong, elsewhere = play(stage, script)
    assert ours and status == 200 and again.args[-2:] == ["--listen", stage.gateway_url.partition("//")[2]]      # where Workers and Agents look
    assert wrong[1]["errorCode"] == "settings_operation"
    assert elsewhere[0] == 409 and elsewhere[1]["errorCode"] == "gateway_elsewhere"


def test_first_steps_are_put_away_in_the_home_itself(stage):
    async def script(stage):
        before = await stage.page.get("/api/settings")
        await stage.page.post("/api/settings/steps", {"away": True})
        assert (await stage.page.get("/api/state"))["stepsAway"] and Settings(stage.bench) and stage.bench.steps_away        # after a restart too
        return before["stepsAway"], (await stage.page.get("/api/settings"))["stepsAway"], await stage.page.post("/api/settings/steps", {"away": "yes"})
    before, after, wrong = play(stage, script)
    assert (before, after) == (False, True) and wrong[1]["errorCode"] == "settings_operation"


def test_no_other_route_is_there_and_none_opens_without_the_token(stage):
    async def script(stage):
        unknown = [await stage.page.ask(*each) for each in (("GET", "/api/settings/doctor"), ("POST", "/api/settings/log", {}), ("GET", "/api/settingsx"))]
        stage.page.token = ""
        closed = [await stage.page.ask("GET", "/api/settings"), await stage.page.ask("POST", "/api/settings/doctor", {})]
        return [each.status for each in unknown], [each.status for each in closed]
    assert play(stage, script) == ([404, 404, 404], [401, 401])


def test_limits_that_were_changed_since_they_were_read_are_not_saved_over(stage):
    """Two tabs: the second one is told what is stored now, and saves once it has seen that. Of one Agent as of all."""
    async def script(stage):
        shown, answers = await stage.page.get("/api/settings"), []
        for profile, read in ((None, shown["budget"]), (stage.profile.id, shown["budgets"][stage.profile.id])):
            first = {**LIMITS, "profile": profile, "expected": read}
            answers += [await stage.page.post("/api/settings/budget", first), await stage.page.post("/api/settings/budget", {**first, "tokens": "7"}),
                        await stage.page.post("/api/settings/budget", {**first, "tokens": "7", "expected": {"tokens": []}})]
            now = answers[-2][1]["facts"]["now"]
            answers.append(await stage.page.post("/api/settings/budget", {**first, "tokens": "7", "expected": now}))
        both = await asyncio.gather(*(stage.page.post("/api/settings/budget", {**first, "tokens": each, "expected": {**now, "tokens": "7"}}) for each in ("8", "9")))
        return answers, sorted(status for status, _ in both)
    answers, both = play(stage, script)
    assert [status for status, _ in answers] == [200, 409, 409, 200] * 2 and both == [200, 409]
    assert answers[1][1]["errorCode"] == "budget_moved" and "200000 tokens" in answers[1][1]["teaching"]
    assert answers[1][1]["facts"]["now"] == {name: LIMITS[name] for name in ("rounds", "tokens", "money", "per", "maxRounds")}


def test_a_change_of_the_settings_is_told_to_every_tab(stage):
    async def script(stage):
        before = stage.bench.feed.sequence
        await stage.page.post("/api/settings/budget", LIMITS)
        await stage.page.post("/api/settings/steps", {"away": True})
        return [row["type"] for row in stage.bench.feed.rows() if row["sequence"] > before]
    assert play(stage, script).count("settings") == 2
