"""Model settings: what is kept, what is refused by its field, and where a key may stay."""

import pytest

from rulith.base.errors import Refused
from rulith.disk.profiles import agent_secrets, role_env
from rulith.workbench.models import model_row, save_model

GOOD = {"url": "https://models.example/v1/chat/completions", "name": "some-model", "key": "sk-1", "clearKey": False,
        "thinking": "standard", "toolsAsText": False, "maxOutputTokens": 6000}


@pytest.fixture
def profile(stage):
    return stage.profile


def refused_field(profile, **change):
    with pytest.raises(Refused) as refusal:
        save_model(profile, {**GOOD, **change})
    assert refusal.value.code == "model_field"
    return refusal.value.facts["field"]


def key_of(profile):
    return agent_secrets(profile).load().get("RULITH_MODEL_KEY")


def test_a_fresh_profile_has_no_model(profile):
    row = model_row(profile)
    assert (row["configured"], row["ready"], row["maxOutputTokens"]) == (False, False, 6000)


def test_what_is_saved_is_shown_without_the_key(profile):
    save_model(profile, GOOD)
    row = model_row(profile)
    assert (row["url"], row["name"], row["keyConfigured"], row["ready"]) == (GOOD["url"], "some-model", True, True)
    assert "sk-1" not in str(row)
    assert "RULITH_MODEL_KEY" not in role_env(profile, "agent") and key_of(profile) == "sk-1"


@pytest.mark.parametrize("url", ["http://models.example/v1/messages", "https://u:p@models.example/v1", "https://models.example/v1?k=1",
                                 "https://models.example/v1#x", "ftp://models.example", "https://", "models.example", "https://models.example/other",
                                 "https://models.example:99999/v1", "https://models.example/v1 ", "https://modèle.example/v1"])
def test_an_address_that_would_leak_or_mislead_is_refused(profile, url):
    assert refused_field(profile, url=url) == "url"


@pytest.mark.parametrize("url", ["https://models.example", "https://models.example/v1", "http://127.0.0.1:8080/v1/chat/completions", "http://localhost/v1/messages", "http://[::1]:1/v1"])
def test_https_anywhere_and_http_on_this_computer_are_taken(profile, url):
    save_model(profile, {**GOOD, "url": url})
    assert model_row(profile)["url"] == url


@pytest.mark.parametrize(("change", "field"), [
    ({"name": ""}, "name"), ({"name": "x" * 257}, "name"), ({"key": "a b"}, "key"), ({"key": "k" * 4097}, "key"), ({"clearKey": True}, "key"),
    ({"key": ""}, "key"), ({"thinking": "maybe"}, "thinking"), ({"maxOutputTokens": 255}, "maxOutputTokens"),
    ({"maxOutputTokens": "6000"}, "maxOutputTokens"), ({"maxOutputTokens": True}, "maxOutputTokens"), ({"url": 5}, "url"),
    ({"toolsAsText": "emulated"}, "toolsAsText"), ({"toolsAsText": None}, "toolsAsText"),
    ({"url": "https://models.example/v1/messages", "thinking": "enabled"}, "thinking"),
])
def test_each_field_is_refused_by_its_own_name_and_nothing_is_kept(profile, change, field):
    assert refused_field(profile, **change) == field
    assert model_row(profile)["configured"] is False and key_of(profile) is None


def test_an_empty_key_keeps_the_saved_one_for_the_same_place(profile):
    save_model(profile, GOOD)
    save_model(profile, {**GOOD, "key": "", "url": "https://models.example:443/v1/messages"})
    assert key_of(profile) == "sk-1"


def test_a_saved_key_never_follows_to_another_host(profile):
    save_model(profile, GOOD)
    assert refused_field(profile, key="", url="https://elsewhere.example/v1") == "key"
    assert refused_field(profile, key="", url="https://models.example:8443/v1") == "key"
    save_model(profile, {**GOOD, "key": "", "url": "http://127.0.0.1:9/v1"})
    assert key_of(profile) is None


def test_a_key_is_removed_on_request(profile):
    save_model(profile, {**GOOD, "url": "http://127.0.0.1:9/v1"})
    save_model(profile, {**GOOD, "url": "http://127.0.0.1:9/v1", "key": "", "clearKey": True})
    assert key_of(profile) is None and model_row(profile)["ready"]


def test_empty_address_and_name_take_the_model_away(profile):
    save_model(profile, GOOD)
    save_model(profile, {**GOOD, "url": "", "name": "", "key": ""})
    assert model_row(profile)["configured"] is False and key_of(profile) is None


def test_tools_as_text_is_kept_for_the_agent_until_it_is_taken_back(profile):
    for wanted, setting in ((True, "emulated"), (False, None), (True, "emulated")):
        save_model(profile, {**GOOD, "toolsAsText": wanted})
        assert (model_row(profile)["toolsAsText"], role_env(profile, "agent").get("RULITH_MODEL_TOOLS")) == (wanted, setting)
    save_model(profile, {**GOOD, "url": "", "name": "", "key": ""})
    assert model_row(profile)["toolsAsText"] is False and "RULITH_MODEL_TOOLS" not in role_env(profile, "agent")


def test_other_settings_of_the_profile_stay(profile):
    save_model(profile, {**GOOD, "thinking": "disabled", "maxOutputTokens": 800})
    assert role_env(profile, "worker")["RULITH_TOOLS_FILE"]
    assert (model_row(profile)["thinking"], model_row(profile)["maxOutputTokens"]) == ("disabled", 800)
