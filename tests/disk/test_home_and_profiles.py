"""The home's layout, its profiles, run files and the running file's copy."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest

from rulith.base.clock import ManualClock
from rulith.base.errors import Refused
from rulith.disk import archive as archive_room
from rulith.disk.archive import kept_archive
from rulith.disk.home import Home, find_home
from rulith.disk.profiles import (
    agent_secrets,
    create_profile,
    find_profile,
    list_profiles,
    read_settings,
    remove_profile,
    role_env,
    update_profile,
    worker_secrets,
    write_role_env,
)
from rulith.disk.runfile import read_live, remove_runfile, write_runfile

posix = pytest.mark.skipif(os.name != "posix", reason="modes are POSIX")


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home").prepare()


def refusal_of(call, *args, **named) -> Refused:
    with pytest.raises(Refused) as refusal:
        call(*args, **named)
    return refusal.value


@posix
def test_every_folder_of_the_home_is_its_owners_alone(home: Home) -> None:
    folders = [home.path, *(path for path in home.path.rglob("*") if path.is_dir())]
    assert len(folders) >= 8
    assert {stat.S_IMODE(path.stat().st_mode) for path in folders} == {0o700}


@posix
def test_a_home_others_can_write_is_refused(tmp_path: Path) -> None:
    (tmp_path / "h").mkdir()
    (tmp_path / "h").chmod(0o777)
    assert refusal_of(Home(tmp_path / "h").prepare).code == "home_unusable"


def test_a_home_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "h").write_text("")
    assert refusal_of(Home(tmp_path / "h").prepare).code in ("home_unusable", "write_failed")


def test_the_option_beats_the_environment_which_beats_the_users_folder(tmp_path: Path) -> None:
    env = {"RULITH_HOME": str(tmp_path / "a"), "RULITH_MANAGER_HOME": str(tmp_path / "b")}
    assert find_home(str(tmp_path / "o"), env).path == tmp_path / "o"
    assert find_home(None, env).path == tmp_path / "a"
    assert find_home(None, {"RULITH_MANAGER_HOME": str(tmp_path / "b")}).path == tmp_path / "b"
    assert find_home(None, {}).path == Path.home() / ".rulith"
    assert find_home("relative", {}).path == Path.cwd() / "relative"


def test_a_created_profile_is_found_by_name_by_id_and_alone(home: Home) -> None:
    assert refusal_of(find_profile, home).code == "profile_none"
    made = create_profile(home, "Local Agent", agent_id="agt_1", connection_id="conn_1", clock=ManualClock())
    assert made.id.startswith("inst-") and len(made.id) == 17
    assert find_profile(home) == find_profile(home, "Local Agent") == find_profile(home, made.id) == made
    assert made.workspace.is_dir() and made.directory.parent == home.instances
    second = create_profile(home, "Zweite Ägäis", workspace=home.path / "elsewhere")
    assert second.workspace == home.path / "elsewhere"
    assert [profile.name for profile in list_profiles(home)] == ["Local Agent", "Zweite Ägäis"]
    refusal = refusal_of(find_profile, home)
    assert refusal.code == "profile_ambiguous" and "Zweite" in str(refusal)
    assert refusal_of(find_profile, home, "nobody").code == "profile_unknown"


@pytest.mark.parametrize("name", ["", " ", "-x", "a/b", "a\nb", "x" * 65, "..", "a\x00"])
def test_a_bad_name_makes_nothing(home: Home, name: str) -> None:
    assert refusal_of(create_profile, home, name).code == "profile_name"
    assert list_profiles(home) == [] and list(home.instances.iterdir()) == []


def test_names_differ_by_more_than_case(home: Home) -> None:
    create_profile(home, "Local")
    assert refusal_of(create_profile, home, "LOCAL").code == "profile_exists"


def test_unknown_members_of_the_registry_are_kept(home: Home) -> None:
    made = create_profile(home, "Local")
    registry = json.loads(home.registry.read_bytes())
    registry["instances"][0]["later"] = {"x": 1}
    registry["future"] = True
    home.registry.write_text(json.dumps(registry))
    assert update_profile(home, made.id, agentId="agt_9").agent_id == "agt_9"
    again = json.loads(home.registry.read_bytes())
    assert again["future"] is True and again["instances"][0]["later"] == {"x": 1}
    remove_profile(home, made.id)
    assert list_profiles(home) == [] and made.directory.is_dir()
    assert refusal_of(remove_profile, home, made.id).code == "profile_gone"


@pytest.mark.parametrize("content", [
    "", "{", "[]", '{"format":"other","instances":[]}', '{"format":"rulith-local-manager/1"}',
    '{"format":"rulith-local-manager/1","instances":[1]}',
    '{"format":"rulith-local-manager/1","instances":[{"id":"x","name":"n","mode":"local_agent","directory":"/d"}]}',
    '{"format":"rulith-local-manager/1","instances":[{"id":"inst-0123456789ab","name":"n","mode":"strange","directory":"/d"}]}',
    '{"format":"rulith-local-manager/1","instances":[{"id":"inst-0123456789ab","name":"n","mode":"local_agent"}]}',
    '{"format":"rulith-local-manager/1","instances":[{"id":"inst-0123456789ab","name":"n","mode":"local_agent","directory":"/d"},'
    '{"id":"inst-0123456789ac","name":"m","mode":"local_agent","directory":"/D"}]}',
])
def test_a_registry_that_cannot_be_read_is_refused_and_left_alone(home: Home, content: str) -> None:
    home.registry.write_text(content)
    refusal = refusal_of(list_profiles, home)
    assert refusal.code == "profiles_unreadable" and str(home.registry) in str(refusal)
    assert refusal_of(create_profile, home, "New").code == "profiles_unreadable"
    assert home.registry.read_text() == content


def test_settings_keep_unknown_keys_and_drop_empty_values_from_the_environment(home: Home) -> None:
    made = create_profile(home, "Local")
    assert role_env(made, "agent") == {}
    made.settings_path.write_text(json.dumps({"roles": ["agent"], "agent": {"args": ["x"], "env": {"A": ""}}}))
    write_role_env(made, "agent", {"RULITH_URL": "http://127.0.0.1:7781", "GONE": None})
    assert role_env(made, "agent") == {"RULITH_URL": "http://127.0.0.1:7781"}
    assert read_settings(made)["agent"]["args"] == ["x"] and read_settings(made)["roles"] == ["agent"]
    made.settings_path.write_text('{"agent": {"env": {"A": 1}}}')
    assert refusal_of(role_env, made, "agent").code == "file_not_json"


def test_each_role_has_its_own_vault(home: Home) -> None:
    made = create_profile(home, "Local")
    agent_secrets(made).save({"RULITH_TOKEN": "t"})
    worker_secrets(made).save({"RULITH_CONNECTION_KEY": "k"})
    assert agent_secrets(made).load() == {"RULITH_TOKEN": "t"}
    assert agent_secrets(made).path != worker_secrets(made).path


def test_a_run_file_means_nothing_once_its_process_is_gone(home: Home) -> None:
    assert read_live(home.gateway_json) is None
    write_runfile(home.gateway_json, url="http://127.0.0.1:1", port=1)
    assert read_live(home.gateway_json)["url"] == "http://127.0.0.1:1"
    record = json.loads(home.gateway_json.read_bytes())
    home.gateway_json.write_text(json.dumps({**record, "session": "earlier"}))
    assert read_live(home.gateway_json) is None
    home.gateway_json.write_text("{")
    assert read_live(home.gateway_json) is None
    home.gateway_json.write_text(json.dumps({**record, "pid": 1}))
    remove_runfile(home.gateway_json)
    assert home.gateway_json.exists(), "another process's run file stays"
    write_runfile(home.gateway_json, port=2)
    remove_runfile(home.gateway_json)
    assert not home.gateway_json.exists()
    remove_runfile(home.gateway_json)


def test_the_running_file_is_kept_under_its_hash(home: Home, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(archive_room, "running_archive", lambda: None)
    assert kept_archive(home) is None
    running = tmp_path / "rulith.pyz"
    running.write_bytes(b"PK first")
    monkeypatch.setattr(archive_room, "running_archive", lambda: running)
    first = kept_archive(home)
    assert first.parent == home.bin and first.read_bytes() == b"PK first" and len(first.stem) == 64
    first.write_bytes(b"damaged")
    assert kept_archive(home).read_bytes() == b"PK first"
    running.write_bytes(b"PK second")
    assert kept_archive(home) != first and first.read_bytes() == b"PK first"
    running.unlink()
    assert refusal_of(kept_archive, home).code == "archive_unreadable"
