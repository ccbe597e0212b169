"""A used home whose ledger is gone: nothing may be taken as never done."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
from pathlib import Path

import pytest

from rulith.base.clock import SystemClock
from rulith.base.errors import Refused
from rulith.commands.doctor import examine
from rulith.disk.home import Home
from rulith.disk.profiles import agent_secrets, find_profile
from rulith.gateway import seed as seeding
from rulith.gateway.first_start import BEGUN
from rulith.gateway.service import open_gateway
from rulith.store.ledger import Ledger

LEDGER = ("ledger.db", "ledger.db-wal", "ledger.db-shm")
DEMO = ("demo", "verified-calculation", "job")


def lose(home: Home, how: str) -> None:
    for name in LEDGER:
        home.gateway.joinpath(name).unlink(missing_ok=True)
    if how == "emptied":
        home.ledger.write_bytes(b"")
    elif how == "without rows":
        Ledger.open(home.ledger, SystemClock()).close()
    elif how == "with its whole folder":
        shutil.rmtree(home.gateway)


def opened(home: Home) -> bool:
    """Open the gateway of `home` and let it go again; whether that was a genesis."""
    async def story() -> bool:
        gateway = open_gateway(home, SystemClock(), {})
        await gateway.close()
        return gateway.genesis

    return asyncio.run(story())


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path / "home").prepare()
    assert opened(home)
    return home


def files_of(home: Home) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in home.path.rglob("*") if path.is_file() and path.suffix != ".lock"}


@pytest.mark.parametrize("how", ["removed", "emptied", "without rows", "with its whole folder"])
def test_a_used_home_without_its_rows_is_refused_and_nothing_in_it_changes(home: Home, how: str) -> None:
    lose(home, how)
    before = files_of(home)
    with pytest.raises(Refused) as refusal:
        opened(home)
    assert refusal.value.code == "ledger_missing"
    said = str(refusal.value)
    assert str(home.path) in said and "'Assistant'" in said and "backup" in said and "away" in said
    after = files_of(home)
    assert {path: after[path] for path in before if "ledger.db" not in path} == {
        path: content for path, content in before.items() if "ledger.db" not in path}


@pytest.mark.parametrize("kept", ["workbench/registry.json", "workbench/device.secrets.json", "gateway/secrets/gateway.json",
                                  "gateway/genesis.json"])
def test_one_kept_file_is_enough_to_know_that_a_home_was_used(home: Home, tmp_path: Path, kept: str) -> None:
    place = tmp_path / "other" / kept
    place.parent.mkdir(parents=True, mode=0o700)
    shutil.copy2(home.path / kept, place)
    other = Home(tmp_path / "other")
    os.chmod(other.path, 0o700)
    with pytest.raises(Refused, match=str(other.path)) as refusal:
        opened(other)
    assert refusal.value.code == "ledger_missing"


def test_a_first_start_that_died_before_its_rows_is_taken_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def die(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    home = Home(tmp_path / "home").prepare()
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(seeding, "_commit_rows", die)
        opened(home)
    token = agent_secrets(find_profile(home)).load()["RULITH_TOKEN"]
    assert opened(home) and agent_secrets(find_profile(home)).load()["RULITH_TOKEN"] == token
    assert not opened(home)


def test_a_first_start_that_died_after_its_rows_is_over(home: Home) -> None:
    """Between the commit and the mark that says so: the next start sees the rows and says so itself."""
    home.genesis_mark.write_bytes(BEGUN)
    assert not opened(home)
    lose(home, "removed")
    with pytest.raises(Refused, match="ledger") as refusal:
        opened(home)
    assert refusal.value.code == "ledger_missing"


def test_doctor_names_the_lost_ledger_and_makes_none(home: Home) -> None:
    lose(home, "removed")
    found = [each for each in examine(home, {}) if each.name == "ledger"]
    assert [each.state for each in found] == ["wrong"] and "backup" in found[0].text
    assert not home.ledger.exists()


def test_a_finished_job_does_not_run_again_without_its_ledger(product, tmp_path: Path) -> None:
    first = product.run(*DEMO, cwd=tmp_path)
    assert first.status == 0, first
    output = tmp_path / "job" / "runtime" / "output.json"
    output.write_text(json.dumps({"mine": True}), "utf-8")
    lose(Home(tmp_path / "job" / ".rulith"), "removed")
    again = product.run(*DEMO, cwd=tmp_path)
    assert again.status == 1 and "Restore it from a backup" in again.err and "Traceback" not in again.err, again
    assert json.loads(output.read_text("utf-8")) == {"mine": True}
