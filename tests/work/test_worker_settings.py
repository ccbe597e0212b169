"""Where a Worker's settings come from, and what follows from them."""

import pytest

from rulith.adapters.sources import Source
from rulith.base.errors import Refused
from rulith.disk.home import Home
from rulith.disk.runfile import write_runfile
from rulith.work.settings import read_settings, work_url

MUST = {"RULITH_CONNECTION": "conn_1", "RULITH_CONNECTION_KEY": "rlt_key_settings"}


@pytest.fixture
def home(tmp_path):
    return Home(tmp_path / "home").prepare()


def settings(folder, home, **env):
    return read_settings({**MUST, "RULITH_HOME": str(home.path), **env}, folder)


def test_three_values_are_enough_and_the_rest_follows_from_the_folder(tmp_path, home):
    found = settings(tmp_path, home, RULITH_WORK_URL="http://127.0.0.1:7781/work/")
    assert (found.work_url, found.tools_file, found.root) == ("http://127.0.0.1:7781/work", tmp_path / "worker-tools.json", tmp_path)
    assert (found.vault_file, found.workspace_mode, found.run_timeout_s) == (tmp_path / "worker-secrets.json", "read", 60.0)


def test_retired_settings_have_no_effect(tmp_path, home):
    """The hop's §18: an instance is never configured, and no ambient database or Case is this Worker's."""
    retired = {"RULITH_WORKER_ID": "wkr_configured_1", "RULITH_CASE_ID": "case_1", "DATABASE_URL": "postgres://ambient", "DEMO_DB_URL": "x"}
    assert settings(tmp_path, home, **retired) == settings(tmp_path, home)


def test_the_worker_root_is_the_manifests_folder_unless_it_is_named(tmp_path, home):
    (tmp_path / "tools").mkdir()
    assert settings(tmp_path, home, RULITH_TOOLS_FILE="tools/mine.json").root == tmp_path / "tools"
    assert settings(tmp_path, home, RULITH_TOOLS_FILE="tools/mine.json", RULITH_WORKER_ROOT=".").root == tmp_path


def test_the_address_is_named_or_below_the_base_or_the_live_gateways(home):
    assert work_url({"RULITH_WORK_URL": "https://work.example/w"}, home) == "https://work.example/w"
    assert work_url({"RULITH_URL": "https://gate.example/"}, home) == "https://gate.example/work"
    assert work_url({}, home) == "http://127.0.0.1:7781/work"
    write_runfile(home.gateway_json, url="http://127.0.0.1:7799", port=7799)
    assert work_url({}, home) == "http://127.0.0.1:7799/work"


@pytest.mark.parametrize("url", ["http://localhost:1/work", "http://127.9.9.9/work", "http://[::1]:7781/work", "https://anywhere.example/work"])
def test_a_key_may_cross_loopback_and_tls(home, url):
    assert work_url({"RULITH_WORK_URL": url}, home) == url


@pytest.mark.parametrize("url", [
    "http://10.0.0.1/work", "http://localhost.evil.example/work", "http://127.0.0.1.evil.example/work", "file:///work", "work",
    "https://user:pw@anywhere.example/work", "https://anywhere.example/work?x=1", "http://[::1", "https:///work",
])
def test_any_other_address_is_refused_without_showing_a_credential(home, url):
    with pytest.raises(Refused) as caught:
        work_url({"RULITH_WORK_URL": url}, home)
    assert caught.value.code == "worker_setting_invalid" and "pw" not in caught.value.teaching


def test_a_key_shows_neither_in_a_repr_nor_in_a_refusal(tmp_path, home):
    assert MUST["RULITH_CONNECTION_KEY"] not in repr(settings(tmp_path, home))
    with pytest.raises(Refused) as caught:
        settings(tmp_path, home, RULITH_CONNECTION_KEY="rlt_key_with\nbreak")
    assert "rlt_key_with" not in caught.value.teaching


def test_a_profiles_workspace_in_the_home_is_its_own_and_nobody_elses(tmp_path, home):
    mine = home.instances / "inst-0123456789ab" / "workspace"
    (mine / "runtime").mkdir(parents=True)
    other = home.instances / "inst-ba9876543210" / "workspace"
    other.mkdir(parents=True)
    territory = settings(tmp_path, home, RULITH_TOOLS_FILE=str(mine / "worker-tools.json"), RULITH_WORKER_ROOT=str(mine)).territory()
    assert territory.folder_of(Source("demo", "file", str(mine / "runtime"))).endswith("runtime")
    for access in (mine, mine.parent, other, home.gateway, home.path, tmp_path):
        with pytest.raises(Refused):
            territory.folder_of(Source("demo", "file", str(access)))


@pytest.mark.parametrize("root", ["gateway", "workbench", "workbench/instances", "workbench/instances/inst-0123456789ab", "."])
def test_a_worker_root_elsewhere_in_the_home_opens_nothing_of_it(tmp_path, home, root):
    folder = home.path / root
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "data").mkdir(exist_ok=True)
    territory = settings(tmp_path, home, RULITH_WORKER_ROOT=str(folder)).territory()
    with pytest.raises(Refused) as caught:
        territory.folder_of(Source("demo", "file", "data"))
    assert "home of this installation" in caught.value.teaching


def test_every_file_that_decides_over_tools_is_guarded(tmp_path, home):
    for name in ("tools", "vault", "env", "config"):
        (tmp_path / name).mkdir()
    found = settings(tmp_path, home, RULITH_TOOLS_FILE="tools/t.json", RULITH_SECRETS_FILE="vault/v.json",
                     RULITH_ENVIRONMENT_SECRETS_FILE="env/e.json", RULITH_LOCAL_CONFIG="config/c.json")
    for name in ("tools", "vault", "env", "config"):
        with pytest.raises(Refused) as caught:
            found.territory().folder_of(Source("demo", "file", str(tmp_path / name)))
        assert caught.value.code == "source_root_refused"
