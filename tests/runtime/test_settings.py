"""Command line and environment of the Agent: read whole, wrong words refused before anything is touched."""

from __future__ import annotations

import pytest

from rulith.base.errors import Refused
from rulith.dialects.endpoint import ANTHROPIC, OPENAI
from rulith.runtime.options import Options, parse
from rulith.runtime.run import choose_driver
from rulith.runtime.settings import gateway_url, read_model, read_settings

URL = "http://127.0.0.1:7781"
BASE = {"RULITH_TOKEN": "t"}


def settings_of(env=None, options=Options(), warnings=None):
    return read_settings({**BASE, **(env or {})}, options, default_url=URL, warn=(warnings if warnings is not None else []).append)


def refusal_of(do) -> Refused:
    with pytest.raises(Refused) as refused:
        do()
    return refused.value


@pytest.mark.parametrize("argv, words", [
    (["--nope"], "--nope"), (["-x"], "-x"), (["--case"], "--case needs a value"), (["--case-type", ""], None),
    (["--driver", "auto"], "auto"), (["--case-type", "Bad Type"], "Bad Type"), (["--case-type", "9x"], "9x"),
    (["--business-key", "{"], "--business-key"), (["--business-key", "{}"], "at least one"), (["--business-key", "[1]"], "object"),
    (["--business-key", '{"a": null}'], "'a'"), (["--business-key", '{"a": 9007199254740993}'], "9007199254740993"),
    (["--business-key", '{"a": {}}'], "'a'"), (["--case", " "], "--case"), (["--json=1"], "--json=1"), (["--home", ""], "--home")])
def test_a_wrong_word_is_refused_by_name(argv, words):
    if words is None:
        assert parse(argv).case_type == ""
        return
    refusal = refusal_of(lambda: parse(argv))
    assert refusal.code == "usage" and words in str(refusal)


def test_options_and_task_words_are_read_in_any_order():
    options = parse(["do", "--case-type=verified_calculation", "the", "--business-key", '{"job_id": "x", "n": 1, "b": true}', "--json", "job"])
    assert options == Options("do the job", case_type="verified_calculation", business_key={"job_id": "x", "n": 1, "b": True}, as_json=True)


def test_after_two_dashes_everything_is_task():
    assert parse(["--quiet", "--", "--json", "please"]) == Options("--json please", quiet=True)


def test_a_missing_token_is_named():
    assert refusal_of(lambda: read_settings({}, Options(), default_url=URL, warn=print)).code == "token_missing"


@pytest.mark.parametrize("url", ["http://127.0.0.1:1/", "http://localhost:1", "http://[::1]:1", "https://gateway.example"])
def test_a_gateway_on_loopback_or_over_tls_is_fine(url):
    assert gateway_url(url, insecure=False) == url.rstrip("/")


@pytest.mark.parametrize("url, code", [
    ("http://gateway.example", "plain_http_refused"), ("http://127.0.0.1.evil.example", "plain_http_refused"), ("x", "setting_refused"),
    ("ftp://127.0.0.1", "setting_refused"), ("http://u:p@127.0.0.1", "setting_refused"), ("http://127.0.0.1?x=1", "setting_refused"),
    ("http://127.0.0.1:abc", "setting_refused")])
def test_another_gateway_address_is_refused(url, code):
    refusal = refusal_of(lambda: gateway_url(url, insecure=False))
    assert refusal.code == code and "p@" not in str(refusal)


def test_plain_http_beyond_this_machine_needs_the_word():
    assert gateway_url("http://gateway.example", insecure=True)


@pytest.mark.parametrize("name, text, attribute, default", [
    ("RULITH_MAX_ROUNDS", "0", "max_rounds", 12), ("RULITH_MAX_ROUNDS", "many", "max_rounds", 12), ("RULITH_MAX_ROUNDS", "1001", "max_rounds", 12),
    ("RULITH_KEEP_MESSAGES", "1", "keep_messages", 24), ("RULITH_MCP_TIMEOUT_MS", "99", "call_timeout_s", 75.0),
    ("RULITH_HOST_WAIT_MS", "-1", "wait_s", 600.0), ("RULITH_HOST_POLL_MS", "٣٠٠", "poll_s", 2.0)])
def test_a_number_that_makes_no_sense_warns_and_the_default_stands(name, text, attribute, default):
    warnings: list[str] = []
    assert getattr(settings_of({name: text}, warnings=warnings), attribute) == default
    assert name in warnings[0] and text in warnings[0]


def test_numbers_inside_their_bounds_are_taken():
    settings = settings_of({"RULITH_MAX_ROUNDS": "3", "RULITH_MCP_TIMEOUT_MS": "100", "RULITH_HOST_WAIT_MS": "0", "RULITH_HOST_POLL_MS": "50"})
    assert (settings.max_rounds, settings.call_timeout_s, settings.wait_s, settings.poll_s) == (3, 0.1, 0.0, 0.05)


def test_flags_win_over_the_environment():
    env = {"RULITH_CASE_TYPE": "aa", "RULITH_BUSINESS_KEY_JSON": '{"a": 1}', "RULITH_RESUME_CASE": "c1"}
    assert settings_of(env).case_type == "aa" and settings_of(env).business_key == {"a": 1} and settings_of(env).case_id == "c1"
    chosen = settings_of(env, Options(case_type="bb", business_key={"b": 2}, case_id="c2"))
    assert (chosen.case_type, chosen.business_key, chosen.case_id) == ("bb", {"b": 2}, "c2")


# which model

def test_an_ambient_key_configures_nothing():
    assert read_model({"ANTHROPIC_API_KEY": "sk"}) is None
    assert read_model({"RULITH_MODEL_KEY": "sk"}) is None


def test_a_model_name_alone_uses_the_default_service():
    model = read_model({"RULITH_MODEL": "some-model", "ANTHROPIC_API_KEY": "sk"})
    assert (model.model, model.endpoint.wire, model.key) == ("some-model", ANTHROPIC, "sk")


def test_a_named_key_comes_first_and_an_ambient_one_stays_on_its_own_wire():
    assert read_model({"RULITH_MODEL": "m", "RULITH_MODEL_KEY": "a", "ANTHROPIC_API_KEY": "b"}).key == "a"
    local = read_model({"RULITH_MODEL_URL": "http://localhost:11434", "ANTHROPIC_API_KEY": "b"})
    assert (local.key, local.endpoint.wire) == (None, OPENAI)


@pytest.mark.parametrize("env, code", [
    ({"RULITH_MODEL_URL": "https://api.example.com/v1", "ANTHROPIC_API_KEY": "x"}, "model_key_missing"),
    ({"RULITH_MODEL": "m"}, "model_key_missing"), ({"RULITH_MODEL_URL": "https://x/api"}, "model_address"),
    ({"RULITH_MODEL_URL": "http://localhost/v1", "RULITH_MODEL_MAX_OUTPUT_TOKENS": "255"}, "setting_refused"),
    ({"RULITH_MODEL_URL": "http://localhost/v1", "RULITH_MODEL_MAX_OUTPUT_TOKENS": "x"}, "setting_refused"),
    ({"RULITH_MODEL_URL": "http://localhost/v1", "RULITH_MODEL_TOOLS": "native"}, "setting_refused"),
    ({"RULITH_MODEL_URL": "http://localhost/v1/messages", "RULITH_MODEL_THINKING": "enabled"}, "setting_refused")])
def test_a_model_that_cannot_be_used_is_refused_before_any_connection(env, code):
    assert refusal_of(lambda: read_model(env)).code == code


def test_no_secret_is_in_a_printed_setting():
    settings = settings_of({"RULITH_TOKEN": "rlt_secret", "RULITH_MODEL_URL": "http://localhost/v1", "RULITH_MODEL_KEY": "sk_secret"})
    assert "secret" not in repr(settings)


# who drives

MODEL = {"RULITH_MODEL_URL": "http://localhost:1"}


@pytest.mark.parametrize("options, env, driver", [
    (Options("go", case_type="verified_calculation"), {}, "board"),
    (Options("go", case_type="verified_calculation"), MODEL, "model"),
    (Options("go", case_type="verified_calculation", driver="board"), MODEL, "board"),
    (Options(case_id="case_1", driver="board"), {}, "board"),
    (Options(), MODEL, "model"), (Options("go"), MODEL, "model")])
def test_the_driver_follows_from_what_is_known(options, env, driver):
    assert choose_driver(options, settings_of(env, options)) == driver


@pytest.mark.parametrize("options, code", [
    (Options(), "model_not_configured"), (Options("go"), "model_not_configured"), (Options(case_type="verified_calculation"), "model_not_configured"),
    (Options("go", case_type="exploration"), "model_not_configured"), (Options("go", driver="board"), "usage"),
    (Options("go", driver="board", case_type="exploration"), "usage"),
    (Options("go", driver="model", case_type="verified_calculation"), "model_not_configured")])
def test_without_a_model_only_a_named_contract_is_driven(options, code):
    assert refusal_of(lambda: choose_driver(options, settings_of({}, options))).code == code


# budgets, the service, the review

def test_a_budget_needs_a_place_to_be_remembered_unless_it_is_for_one_run(tmp_path):
    assert refusal_of(lambda: settings_of({"RULITH_BUDGET": "rounds=3"})).code == "setting_refused"
    assert settings_of({"RULITH_BUDGET": "rounds=3,per=run"}).budget.path == ""
    assert settings_of({"RULITH_BUDGET": "rounds=3", "RULITH_AGENT_LOCK": str(tmp_path / "agent.lock")}).budget.path == str(tmp_path / "agent-budget.json")
    assert settings_of({"RULITH_BUDGET": "rounds=3", "RULITH_BUDGET_FILE": "b"}).budget.path == "b"
    assert settings_of({"RULITH_BUDGET": "rounds=3,per=run"}, Options(budget="rounds=1,per=run")).budget.caps.rounds == 1
    assert settings_of().budget is None


def test_a_wrong_budget_is_named_by_where_it_stands():
    assert "--budget" in str(refusal_of(lambda: settings_of(options=Options(budget="x=1"))))
    assert "RULITH_BUDGET" in str(refusal_of(lambda: settings_of({"RULITH_BUDGET": "x=1"})))


@pytest.mark.parametrize("env, serves", [({}, False), ({"RULITH_SERVE": "on"}, True), ({"RULITH_SERVE": "off"}, False)])
def test_the_environment_may_ask_for_the_service(env, serves):
    assert (settings_of(env).serve is not None) is serves


def test_the_service_has_its_defaults_and_bounds():
    warned: list[str] = []
    found = settings_of({"RULITH_SERVE_PORT": "0", "RULITH_SERVE_RUNS": "x", "RULITH_SERVE_SLOTS_MAX": "10001"}, Options(serve=True), warned).serve
    assert (found.port, found.key, found.runs_max, found.slots_max) == (7799, "", 200, 64) and len(warned) == 3
    assert "secret" not in repr(settings_of({"RULITH_SERVE_KEY": "secret-secret-secret"}, Options(serve=True)))


@pytest.mark.parametrize("key", ["short", "with blank in the key", "ü" * 20, "x" * 129])
def test_a_weak_service_key_is_refused_and_not_shown(key):
    refusal = refusal_of(lambda: settings_of({"RULITH_SERVE_KEY": key}, Options(serve=True)))
    assert refusal.code == "setting_refused" and key not in str(refusal)


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"origin": "o", "accountId": "", "agentId": 3}', '{"origin": "o", "accountId": "", "agentId": "", "x": ""}'])
def test_a_history_of_nobody_is_refused(text):
    refusal = refusal_of(lambda: settings_of({"RULITH_CONVERSATION_DIR": "c", "RULITH_CONVERSATION_OWNER": text}, Options(serve=True)))
    assert refusal.code == "setting_refused" and "RULITH_CONVERSATION_OWNER" in str(refusal)
    assert settings_of({"RULITH_CONVERSATION_DIR": "c", "RULITH_CONVERSATION_OWNER": text}).history is None


MAIN = {"RULITH_MODEL_URL": "https://models.example/v1", "RULITH_MODEL": "main", "RULITH_MODEL_KEY": "k1", "RULITH_MODEL_MAX_OUTPUT_TOKENS": "9000"}


@pytest.mark.parametrize("env, url, model, key", [
    ({}, "https://models.example/v1/chat/completions", "main", "k1"), ({"RULITH_SHADOW_MODEL": "second"}, "https://models.example/v1/chat/completions", "second", "k1"),
    ({"RULITH_SHADOW_URL": "https://other.example/v1", "RULITH_SHADOW_KEY": "k2"}, "https://other.example/v1/chat/completions", "main", "k2"),
    ({"RULITH_SHADOW_URL": "http://127.0.0.1:1/v1"}, "http://127.0.0.1:1/v1/chat/completions", "main", None),
])
def test_a_reviewer_is_the_main_model_but_for_what_is_said_differently(env, url, model, key):
    found = settings_of({**MAIN, **env}, Options(shadow=True)).shadow
    assert (found.endpoint.url, found.model, found.key, found.max_tokens, found.thinking) == (url, model, key, 6000, None)


def test_a_key_is_never_sent_to_another_service_than_its_own():
    assert refusal_of(lambda: settings_of({**MAIN, "RULITH_SHADOW_URL": "https://other.example/v1"}, Options(shadow=True))).code == "model_key_missing"
    assert settings_of({**MAIN, "RULITH_SHADOW_URL": "https://other.example/v1"}).shadow is None


@pytest.mark.parametrize("options", [Options(shadow=True), Options("x", shadow=True, serve=True), Options("x", shadow=True, driver="board", case_type="abc")])
def test_a_second_look_is_for_a_run_with_a_task_and_a_model(options):
    assert refusal_of(lambda: choose_driver(options, settings_of({**MAIN, "RULITH_CASE_TYPE": "abc"}, options))).code == "usage"
