"""Budgets: nothing is asked of a model that could pass a cap, and a restart forgets nothing.

Source  the design, "budgets"
"""

from __future__ import annotations

import asyncio
import json
from decimal import Decimal

import pytest

from rulith.base.clock import ManualClock, SystemClock
from rulith.base.errors import Refused
from rulith.dialects.endpoint import endpoint_of
from rulith.dialects.transcript import CallIds, Usage, UserEntry
from rulith.net.client import HttpClient
from rulith.runtime.budget import Budget, Caps, read_caps
from rulith.runtime.model import ModelClient
from rulith.runtime.prices import read_prices
from rulith.runtime.settings import ModelSettings
from tests.runtime.scripted_model import ScriptedModel, Whole

HERE = "http://127.0.0.1/v1"


@pytest.fixture
def table(tmp_path):
    def write(*rows, **more):
        path = tmp_path / "prices.json"
        path.write_text(json.dumps({"format": "rulith-prices/1", "currency": "EUR", "models": list(rows), **more}))
        return read_prices(path)
    return write


def budget(caps, path=None, prices=None, clock=None):
    return Budget(caps, prices, path, clock=clock or ManualClock())


@pytest.mark.parametrize("text, caps", [
    ("rounds=3", Caps(rounds=3)), ("tokens=10, per=month", Caps(tokens=10, per="month")),
    ("money=1.50,rounds=2,per=run", Caps(rounds=2, money=Decimal("1.50"), per="run")), ("", None), (" , ", None),
])
def test_a_budget_is_read_from_one_line(text, caps):
    assert read_caps(text, "RULITH_BUDGET") == caps


@pytest.mark.parametrize("text", ["rounds=-1", "rounds=1.5", "money=x", "money=nan", "money=Infinity", "money=-1", "per=year", "per=day",
                                  "tokens", "rounds=1,rounds=2", "euros=3", "rounds=" + "9" * 40, "tokens=٣"])
def test_a_budget_that_means_nothing_is_refused(text):
    with pytest.raises(Refused) as refused:
        read_caps(text, "RULITH_BUDGET")
    assert refused.value.code == "setting_refused"


def test_a_call_is_charged_the_most_before_and_what_it_used_after(tmp_path):
    meter = budget(Caps(tokens=1000), tmp_path / "b.json")
    held = meter.reserve("m", HERE, 500, 100)
    assert meter.used.tokens == 600
    meter.settle(held, Usage(120, 30))
    assert (meter.used.rounds, meter.used.tokens) == (1, 150)


@pytest.mark.parametrize("usage", [None, Usage(), Usage(input_tokens=5)])
def test_what_is_not_told_stays_reserved(tmp_path, usage):
    meter = budget(Caps(tokens=1000), tmp_path / "b.json")
    meter.settle(meter.reserve("m", HERE, 500, 100), usage)
    assert meter.used.tokens == 600


def test_no_cap_is_ever_passed(tmp_path):
    meter = budget(Caps(tokens=1000), tmp_path / "b.json")
    meter.reserve("m", HERE, 500, 100)
    with pytest.raises(Refused) as refused:
        meter.reserve("m", HERE, 401, 0)
    assert refused.value.code == "budget_spent" and "600 used, and it may need 401" in str(refused.value)
    meter.reserve("m", HERE, 400, 0)
    assert meter.used.tokens == 1000


def test_a_restart_goes_on_with_what_was_used_and_a_killed_call_counts_whole(tmp_path):
    clock = ManualClock()
    budget(Caps(rounds=2), tmp_path / "b.json", clock=clock).reserve("m", HERE, 1, 1)      # and dies here
    again = budget(Caps(rounds=2), tmp_path / "b.json", clock=clock)
    again.reserve("m", HERE, 1, 1)
    with pytest.raises(Refused):
        again.reserve("m", HERE, 1, 1)


def test_two_runs_share_one_file(tmp_path):
    first, second = (budget(Caps(rounds=3), tmp_path / "b.json") for _ in range(2))
    held = first.reserve("m", HERE, 9, 9)
    second.reserve("m", HERE, 1, 1)
    first.settle(held, Usage(1, 1))
    assert (second.used.rounds, second.used.tokens) == (2, 4)


def test_a_new_day_begins_anew_and_leaves_yesterdays_reservation_where_it_was(tmp_path):
    clock = ManualClock()
    meter = budget(Caps(rounds=1), tmp_path / "b.json", clock=clock)
    held = meter.reserve("m", HERE, 1, 1)
    clock.advance(86_400)
    other = meter.reserve("m", HERE, 5, 5)
    meter.settle(held, Usage(1, 1))
    assert meter.used.tokens == 10
    meter.release(other)
    assert meter.used.rounds == 0


def test_a_released_call_costs_nothing(tmp_path):
    meter = budget(Caps(rounds=1), tmp_path / "b.json")
    for _ in range(3):
        meter.release(meter.reserve("m", HERE, 7, 7))
    assert meter.used.rounds == 0


def test_money_is_counted_exactly_and_the_message_names_the_currency(tmp_path, table):
    prices = table({"model": "m", "input": "0.15", "output": 0.6, "cachedInput": "0.01"})
    meter = budget(Caps(money=Decimal("0.001")), tmp_path / "b.json", prices)
    meter.settle(meter.reserve("m", HERE, 2000, 1000), Usage(1000, 500, 400))
    assert meter.used.money == (600 * Decimal("0.15") + 400 * Decimal("0.01") + 500 * Decimal("0.6")) / 1_000_000
    with pytest.raises(Refused) as refused:
        meter.reserve("m", HERE, 2000, 1000)
    assert refused.value.code == "budget_spent" and "0.001 EUR money per day" in str(refused.value)


def test_a_price_for_one_address_wins_over_one_for_any(table):
    prices = table({"model": "m", "input": 1, "output": 1}, {"model": "m", "address": HERE, "input": 0, "output": 0})
    assert prices.price_of("m", HERE).most(10, 10) == 0
    assert prices.price_of("m", "https://elsewhere/v1").most(10, 10) > 0
    assert prices.price_of("other", HERE) is None


def test_an_unknown_price_refuses_under_a_money_cap_only(tmp_path, table):
    for prices in (None, table({"model": "other", "input": 1, "output": 1})):
        with pytest.raises(Refused) as refused:
            budget(Caps(money=Decimal(1)), tmp_path / "b.json", prices).reserve("m", HERE, 1, 1)
        assert refused.value.code == "price_unknown"
    assert budget(Caps(rounds=1), tmp_path / "c.json").reserve("m", HERE, 1, 1)


@pytest.mark.parametrize("rows, more", [
    ([{"model": "m", "input": -1, "output": 1}], {}), ([{"model": "m", "input": 1}], {}), ([{"model": 3, "input": 1, "output": 1}], {}),
    ([{"model": "m", "input": True, "output": 1}], {}), ([{"model": "m", "input": "NaN", "output": 1}], {}), (["m"], {}),
    ([{"model": "m", "input": 1, "output": 1}] * 2, {}), ([{"model": "m", "input": 1, "output": 1, "thinking": 1}], {}),
    ([], {"format": "prices"}), ([], {"currency": ""}), ([], {"other": 1}), ([], {"models": {}}),
])
def test_a_price_table_that_cannot_be_read_is_refused_by_row(table, rows, more):
    with pytest.raises(Refused) as refused:
        table(*rows, **more)
    assert refused.value.code == "prices_refused"


@pytest.mark.parametrize("content", ['{"format": "rulith-budget/1"}', '{"format": "other", "used": {}}', "[]",
                                     '{"format": "rulith-budget/1", "period": "2026-09-21", "used": {"rounds": -1, "tokens": 0, "money": "0"}}'])
def test_a_damaged_budget_file_is_no_empty_one(tmp_path, content):
    (tmp_path / "b.json").write_text(content)
    with pytest.raises(Refused) as refused:
        budget(Caps(rounds=9), tmp_path / "b.json").reserve("m", HERE, 1, 1)
    assert refused.value.code == "budget_unusable"
    assert (tmp_path / "b.json").read_text() == content


def ask(in_loop, replies, meter):
    async def whole():
        async with ScriptedModel(replies) as model:
            http = HttpClient(SystemClock(), environ={})
            settings = ModelSettings(endpoint_of(model.url), "m", "k", 600)
            client = ModelClient(http, settings, clock=SystemClock(), emit=lambda *_, **__: None, meter=meter,
                                 sleep=lambda seconds: asyncio.sleep(0))
            try:
                await client.ask("s", [UserEntry("hello")], [], CallIds())
            except Refused as refusal:
                return refusal.code, model.requests
            finally:
                await http.close()
            return "", model.requests
    return in_loop(whole())


def test_a_model_call_is_reserved_before_it_is_sent(in_loop, tmp_path):
    code, requests = ask(in_loop, ["hi"], budget(Caps(tokens=100), tmp_path / "b.json"))
    assert (code, requests) == ("budget_spent", [])


def test_a_model_call_is_settled_by_what_the_service_reports(in_loop, tmp_path):
    meter = budget(Caps(tokens=10_000), tmp_path / "b.json")
    assert ask(in_loop, ["hi"], meter)[0] == ""
    assert (meter.used.rounds, meter.used.tokens) == (1, 5)


@pytest.mark.parametrize("status, rounds", [(429, 0), (400, 0), (500, 1)])
def test_a_refused_request_is_given_back_and_a_broken_answer_is_not(in_loop, tmp_path, status, rounds):
    meter = budget(Caps(rounds=10), tmp_path / "b.json")
    assert ask(in_loop, [Whole(status, {"error": {"message": "the quota is used up"}})], meter)[0] == "model_refused"
    assert meter.used.rounds == rounds


def test_a_service_that_was_too_busy_is_charged_once_it_answers(in_loop, tmp_path):
    meter = budget(Caps(rounds=1), tmp_path / "b.json")
    busy = Whole(529, {"error": {"type": "overloaded_error", "message": "Overloaded"}})
    code, requests = ask(in_loop, [busy, busy, "hi"], meter)
    assert (code, len(requests), meter.used.rounds, meter.used.tokens) == ("", 3, 1, 5)
