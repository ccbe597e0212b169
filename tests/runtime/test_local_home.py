"""A run from cron: profile, gateway and Worker out of the home, and nothing left behind.

Source  the design, "Cron" and "Which model".
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from rulith.disk.home import Home
from rulith.disk.locks import take_lock
from rulith.disk.profiles import agent_secrets, create_profile, list_profiles, write_role_env
from rulith.disk.runfile import read_live
from rulith.runtime.local_home import agent_environment

REPOSITORY = Path(__file__).resolve().parents[2]
KEY = '{"job_id": "calc-001"}'


def cron(home: Path, *argv: str, **environ: str) -> subprocess.CompletedProcess:
    """The Agent as cron starts it: a bare environment, no stdin, no terminal."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    return subprocess.run([sys.executable, "-X", "utf8", "-m", "rulith", "agent", "--home", str(home), *argv], cwd=home.parent,
                          stdin=subprocess.DEVNULL, text=True, capture_output=True, timeout=90,
                          env={**kept, "PYTHONPATH": str(REPOSITORY), **environ})


def job(home: Path, key: str = KEY, **environ: str) -> tuple[subprocess.CompletedProcess, dict]:
    done = cron(home, "--case-type", "verified_calculation", "--business-key", key, "--json", "--quiet", "Calculate and verify.", **environ)
    assert done.stdout, done.stderr
    return done, json.loads(done.stdout)


@pytest.mark.parametrize("words", [("summarise the orders",), ("--driver", "model", "--case-type", "verified_calculation", "go"), ("--case-type", "exploration", "go"), ()])
def test_a_run_that_nobody_could_drive_starts_nothing(tmp_path, words):
    """No model and no Case Type: said at once, before a gateway, a Worker or even a home is made."""
    done = cron(tmp_path / "home", *words, ANTHROPIC_API_KEY="sk-ant-ambient")
    assert done.returncode == 2 and "No model is configured" in done.stderr
    assert not (tmp_path / "home").exists()


def test_a_profile_s_own_model_is_asked_before_anything_is_started(tmp_path):
    home = Home(tmp_path / "home")
    home.prepare()
    made = create_profile(home, "night")
    assert cron(home.path, "go").returncode == 2 and not home.ledger.exists()
    write_role_env(made, "agent", {"RULITH_MODEL_URL": "http://127.0.0.1:9/v1"})
    done = cron(home.path, "go")                      # goes on to what this profile lacks besides
    assert done.returncode != 2 and "No model is configured" not in done.stderr


@pytest.fixture(scope="module")
def worked_home(tmp_path_factory) -> Path:
    """A home in which the first run of a fresh machine has already completed its job."""
    home = tmp_path_factory.mktemp("cron") / "home"
    done, document = job(home)
    assert (done.returncode, document["outcome"]) == (0, "completed"), done.stderr
    return home


def test_a_bare_home_carries_the_job_to_its_end(worked_home):
    (profile,) = list_profiles(Home(worked_home))
    output = json.loads((profile.workspace / "runtime" / "output.json").read_text())
    assert output == {"job_id": "calc-001", "subtotal_cents": 9093, "total_cents": 9593}


def test_a_second_run_has_nothing_to_do_and_names_the_case(worked_home):
    done, document = job(worked_home)
    assert (done.returncode, document["outcome"]) == (10, "nothing_to_do")
    assert document["caseId"].startswith("case_")


def test_what_a_run_started_ends_with_it(worked_home):
    job(worked_home)
    assert read_live(Home(worked_home).gateway_json) is None
    (profile,) = list_profiles(Home(worked_home))
    take_lock(profile.agent_lock, "test").release()


def test_an_overlapping_run_ends_15_before_it_starts_anything(worked_home):
    (profile,) = list_profiles(Home(worked_home))
    log = Home(worked_home).logs / "gateway.log"
    before = log.stat().st_mtime_ns
    with take_lock(profile.agent_lock, "agent"):
        done, document = job(worked_home)
    assert (done.returncode, document["errorCode"]) == (15, "agent_overlaps")
    assert log.stat().st_mtime_ns == before


def test_an_ambient_model_key_changes_nothing(worked_home):
    done, _ = job(worked_home, ANTHROPIC_API_KEY="sk-ambient")
    assert done.returncode == 10


def test_no_secret_is_printed(worked_home):
    (profile,) = list_profiles(Home(worked_home))
    done, _ = job(worked_home)
    for secret in agent_secrets(profile).load().values():
        assert secret not in done.stdout + done.stderr


def test_several_profiles_need_a_name(tmp_path):
    home = Home(tmp_path / "home").prepare()
    create_profile(home, "first")
    create_profile(home, "second")
    done, document = job(home.path)
    assert (done.returncode, document["errorCode"]) == (2, "profile_ambiguous")
    assert "first" in document["message"] and "second" in document["message"]
    assert cron(home.path, "--profile", "third", "--case-type", "verified_calculation", "go").returncode == 2


@pytest.fixture
def profile(tmp_path):
    made = create_profile(Home(tmp_path / "home").prepare(), "one")
    agent_secrets(made).save({"RULITH_TOKEN": "rlt_agt_x", "RULITH_MODEL_KEY": "sk-saved"})
    write_role_env(made, "agent", {"RULITH_MODEL_URL": "https://models.example/v1", "RULITH_MODEL": "saved", "RULITH_MAX_ROUNDS": ""})
    return made


def test_the_profile_s_settings_and_secrets_are_the_agent_s(profile):
    found = agent_environment(profile, {}, "http://127.0.0.1:1")
    assert (found["RULITH_URL"], found["RULITH_TOKEN"], found["RULITH_MODEL"], found["RULITH_MODEL_KEY"]) == (
        "http://127.0.0.1:1", "rlt_agt_x", "saved", "sk-saved")
    assert "RULITH_MAX_ROUNDS" not in found


def test_the_environment_wins_and_a_saved_key_stays_with_its_service(profile):
    found = agent_environment(profile, {"RULITH_MODEL_URL": "https://elsewhere.example/v1", "PATH": "/bin"}, "http://127.0.0.1:1")
    assert found["RULITH_MODEL_URL"] == "https://elsewhere.example/v1"
    assert "RULITH_MODEL_KEY" not in found and "PATH" not in found
    named = agent_environment(profile, {"RULITH_MODEL_URL": "https://elsewhere.example/v1", "RULITH_MODEL_KEY": "sk-own"}, "u")
    assert named["RULITH_MODEL_KEY"] == "sk-own"


def test_a_profile_without_a_token_is_named(worked_home):
    home = Home(worked_home)
    create_profile(home, "empty")
    try:
        done = cron(worked_home, "--profile", "empty", "--case-type", "verified_calculation", "--json", "--quiet", "go")
    finally:
        registry = json.loads(home.registry.read_text())
        registry["instances"] = [row for row in registry["instances"] if row["name"] != "empty"]
        home.registry.write_text(json.dumps(registry))
    document = json.loads(done.stdout)
    assert (done.returncode, document["errorCode"]) == (1, "home_incomplete")
    assert "'empty'" in document["message"]
    assert read_live(home.gateway_json) is None
