"""The model in effect: an Agent's own, or the home's default; where each key lies and where it never goes."""

from __future__ import annotations

import json
import os
import stat

import pytest

from rulith.base.errors import Refused
from rulith.disk.home import Home
from rulith.disk.model_settings import agent_credentials, agent_env, model_of, model_source, read_default, write_default
from rulith.disk.profiles import agent_secrets, create_profile, find_profile, update_profile, write_role_env

MODEL = {"url": "https://models.example/v1", "name": "one", "thinking": "disabled", "tools": "", "maxOutputTokens": "800", "key": "sk-default"}


@pytest.fixture
def home(tmp_path) -> Home:
    return Home(tmp_path / "home").prepare()


@pytest.fixture
def profile(home):
    return create_profile(home, "One", agent_id="agent_1")


def test_a_profile_without_a_model_of_its_own_follows_the_default(home, profile):
    agent_secrets(profile).update({"RULITH_TOKEN": "rlt_agt_x"})
    assert (model_source(profile), agent_env(profile)) == ("default", {})
    write_default(profile.defaults_file, MODEL)
    assert agent_env(profile) == {"RULITH_MODEL_URL": MODEL["url"], "RULITH_MODEL": "one", "RULITH_MODEL_THINKING": "disabled",
                                  "RULITH_MODEL_MAX_OUTPUT_TOKENS": "800"}
    assert agent_credentials(profile) == {"RULITH_TOKEN": "rlt_agt_x", "RULITH_MODEL_KEY": "sk-default"}
    assert not profile.settings_path.exists() and "sk-default" not in agent_secrets(profile).path.read_text()


def test_a_model_of_its_own_hides_every_member_of_the_default(home, profile):
    write_default(profile.defaults_file, MODEL)
    write_role_env(profile, "agent", {"RULITH_MODEL_URL": "http://127.0.0.1:1/v1", "RULITH_MODEL": "two", "RULITH_LOG": "debug"})
    assert model_source(profile) == "custom"
    assert agent_env(profile) == {"RULITH_MODEL_URL": "http://127.0.0.1:1/v1", "RULITH_MODEL": "two", "RULITH_LOG": "debug"}
    assert "RULITH_MODEL_KEY" not in agent_credentials(profile)
    update_profile(home, profile.id, modelSource="default")
    again = find_profile(home)
    assert agent_env(again) == {"RULITH_MODEL_URL": MODEL["url"], "RULITH_MODEL": "one", "RULITH_MODEL_THINKING": "disabled",
                                "RULITH_MODEL_MAX_OUTPUT_TOKENS": "800", "RULITH_LOG": "debug"}


def test_a_program_elsewhere_is_given_no_model(home):
    profile = create_profile(home, "Elsewhere", mode="existing_client")
    write_default(profile.defaults_file, MODEL)
    assert (model_source(profile), model_of(profile), agent_env(profile)) == ("external", {}, {})


def test_the_default_is_its_owners_alone_and_those_of_other_accounts_stay(home, profile):
    path = profile.defaults_file
    write_default(path, MODEL)
    value = json.loads(path.read_bytes())
    value["defaults"].append({"origin": "https://elsewhere.example", "accountId": "a", "url": "https://x.example/v1", "name": "x", "key": "sk-other"})
    path.write_text(json.dumps(value))
    if os.name == "posix":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    write_default(path, {**MODEL, "name": "three"})
    assert read_default(path)["name"] == "three"
    write_default(path, {})
    assert read_default(path) == {} and [row["key"] for row in json.loads(path.read_bytes())["defaults"]] == ["sk-other"]


@pytest.mark.parametrize("content", ["{", "[]", '{"version":2,"defaults":[]}', '{"version":1,"defaults":[1]}', '{"version":1,"defaults":{}}',
                                     '{"version":1,"defaults":[{"origin":"home","accountId":"","url":5}]}', '{"version":1,"version":1}', '{"version":1e999}', "\x00"])
def test_defaults_that_cannot_be_read_are_named_and_left_alone(home, profile, content):
    path = profile.defaults_file
    path.write_text(content)
    path.chmod(0o600)
    for act in (lambda: read_default(path), lambda: write_default(path, MODEL), lambda: agent_credentials(profile)):
        with pytest.raises(Refused) as refusal:
            act()
        assert refusal.value.code == "defaults_unreadable" and str(path) in str(refusal.value)
    assert path.read_text() == content


@pytest.mark.skipif(os.name != "posix", reason="modes are POSIX")
def test_a_default_that_others_could_read_is_refused(home, profile):
    write_default(profile.defaults_file, MODEL)
    profile.defaults_file.chmod(0o644)
    with pytest.raises(Refused) as refusal:
        agent_credentials(profile)
    assert refusal.value.code == "vault_readable"


def test_an_agent_has_one_profile_of_a_home(home, profile):
    with pytest.raises(Refused) as refusal:
        create_profile(home, "Two", agent_id="agent_1")
    assert refusal.value.code == "profile_agent_taken"
    other = create_profile(home, "Two")
    with pytest.raises(Refused) as refusal:
        update_profile(home, other.id, agentId="agent_1")
    assert refusal.value.code == "profile_agent_taken"
    assert update_profile(home, profile.id, agentId="agent_1").agent_id == "agent_1"


def test_a_new_name_is_judged_like_a_first_one(home, profile):
    create_profile(home, "Two")
    for name, code in (("TWO", "profile_exists"), ("../x", "profile_name"), ("", "profile_name"), (5, "profile_name")):
        with pytest.raises(Refused) as refusal:
            update_profile(home, profile.id, name=name)
        assert refusal.value.code == code
    assert update_profile(home, profile.id, name="ONE").name == "ONE" and find_profile(home, "ONE").id == profile.id
