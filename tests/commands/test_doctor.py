"""`rulith doctor`: what it says of a home that is well, and of one that is not."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sqlite3
import threading
from contextlib import contextmanager

import pytest

from rulith.base.clock import SystemClock
from rulith.commands import doctor
from rulith.disk.atomic import write_whole
from rulith.disk.home import Home
from rulith.disk.mcp_services import FORMAT, file_of
from rulith.disk.profiles import agent_secrets, list_profiles, write_role_env
from rulith.disk.runfile import write_runfile
from rulith.gateway.service import open_gateway
from rulith.store.ledger import Ledger

posix = pytest.mark.skipif(os.name != "posix", reason="modes are of POSIX systems")


@pytest.fixture(scope="module")
def seeded(tmp_path_factory) -> Home:
    """A home as the first start of a gateway leaves it."""
    home = Home(tmp_path_factory.mktemp("seeded") / "home")

    async def seed():
        await open_gateway(home, SystemClock(), {}).close()

    asyncio.run(seed())
    return home


@pytest.fixture
def home(seeded, tmp_path) -> Home:
    copy = tmp_path / "home"
    shutil.copytree(seeded.path, copy)
    registry = json.loads((copy / "workbench" / "registry.json").read_text())
    for row in registry["instances"]:
        for name in ("directory", "workspace"):
            row[name] = row[name].replace(str(seeded.path), str(copy))
    (copy / "workbench" / "registry.json").write_text(json.dumps(registry))
    return Home(copy)


def examine(home: Home, capsys) -> tuple[int, dict[str, list[tuple[str, str]]]]:
    status = doctor.main(["--home", str(home.path), "--json"])
    told = json.loads(capsys.readouterr().out)
    assert told["ok"] == (status == 0) and told["home"] == str(home.path)
    found: dict[str, list[tuple[str, str]]] = {}
    for row in told["checks"]:
        found.setdefault(row["name"], []).append((row["state"], row["text"]))
    return status, found


@contextmanager
def running(home: Home):
    """A live gateway of this home in a thread of its own, as its run file says."""
    started, ended = threading.Event(), []

    def serve():
        async def story():
            gateway = open_gateway(home, SystemClock(), {})
            server = await gateway.listen("127.0.0.1", 0)
            write_runfile(home.gateway_json, url=f"http://127.0.0.1:{server.port}", port=server.port)
            stop = asyncio.Event()
            ended.append((asyncio.get_running_loop(), stop))
            started.set()
            await stop.wait()
            await gateway.close()

        asyncio.run(story())

    thread = threading.Thread(target=serve)
    thread.start()
    assert started.wait(30)
    try:
        yield
    finally:
        loop, stop = ended[0]
        loop.call_soon_threadsafe(stop.set)
        thread.join(30)
        home.gateway_json.unlink(missing_ok=True)


def test_a_home_that_is_well_says_so_and_shows_no_secret(home, capsys):
    status, found = examine(home, capsys)
    assert status == 0
    assert found["ledger"] == [("ok", "2 rows in 2 chains, every hash computed again")]
    assert "file vault" in found["secrets"][0][1] and len(found["vault"]) == 4
    assert "no model is configured" in found["profile"][0][1]
    assert len(found["signing key"][0][1].split()[0]) == 64
    text = json.dumps(found)
    for profile in list_profiles(home):
        for secret in agent_secrets(profile).load().values():
            assert secret not in text
    assert json.loads((home.secrets / "gateway.json").read_text())["RECEIPT_SIGNING_SEED"] not in text


def test_the_sign_in_elsewhere_is_told_without_its_token(home, capsys):
    row = {"format": "rulith-local-device/1", "state": "revoked", "origin": "https://far.example", "token": "rlt_dev_secret"}
    place = home.workbench / "device.json"
    write_whole(place, json.dumps(row).encode())
    status, found = examine(home, capsys)
    assert (status, found["sign-in"]) == (0, [("note", "revoked at https://far.example")])
    write_whole(place, b"{")
    status, found = examine(home, capsys)
    assert status == 1 and found["sign-in"][0][0] == "wrong" and str(place) in found["sign-in"][0][1]


def test_a_home_that_is_not_there_is_not_made(tmp_path, capsys):
    status, found = examine(Home(tmp_path / "none"), capsys)
    assert status == 0 and found["home"][0][0] == "note" and not (tmp_path / "none").exists()
    assert set(found) == {"rulith", "python", "sqlite", "certificates", "home"}


def test_an_empty_home_has_nothing_wrong_with_it(tmp_path, capsys):
    status, found = examine(Home(tmp_path), capsys)
    assert status == 0 and found["ledger"][0] == ("note", "none yet; the first start of the gateway makes it")
    assert list(tmp_path.iterdir()) == []


def test_the_running_gateway_checks_its_own_ledger(home, capsys):
    with running(home):
        status, found = examine(home, capsys)
    assert status == 0, found
    assert str(os.getpid()) in found["gateway"][0][1] and found["ledger"][0][0] == "ok"
    assert found["passphrase"][0][0] == "note" and "/console/" in found["passphrase"][0][1]
    assert "nobody is on the line" in found["worker"][0][1]


def test_a_gateway_that_does_not_answer_is_wrong(home, capsys):
    write_runfile(home.gateway_json, url="http://127.0.0.1:9", port=9)
    status, found = examine(home, capsys)
    assert status == 1 and found["gateway"][0][0] == "wrong" and "ledger" not in found


def test_a_ledger_that_another_process_holds_names_it(home, capsys):
    async def hold():
        gateway = open_gateway(home, SystemClock(), {})
        try:
            return examine(home, capsys)
        finally:
            await gateway.close()

    status, found = asyncio.run(hold())
    assert status == 1 and found["ledger"][0][0] == "wrong" and str(os.getpid()) in found["ledger"][0][1]


def alter_first_row(home: Home) -> None:
    """Change the genesis row behind the back of every program, one row having come after it."""
    db = sqlite3.connect(home.ledger)
    names = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'")]
    db.executescript("".join(f"DROP TRIGGER {name};" for name in names))
    with db:
        assert db.execute("UPDATE row SET body = replace(body, 'attested', 'verified') WHERE chain = 'gateway' AND seq = 1").rowcount == 1
    db.close()


def add_a_row(home: Home) -> None:
    ledger = Ledger.open(home.ledger, SystemClock())
    ledger.append("gateway", "probe", {}, "2030-01-01T00:00:00.000Z")
    ledger.commit()
    ledger.close()


def test_a_row_that_was_altered_is_found_in_a_closed_ledger(home, capsys):
    add_a_row(home)
    alter_first_row(home)
    status, found = examine(home, capsys)
    assert status == 1 and found["ledger"][0][0] == "wrong" and "row 1 of chain 'gateway' does not match its hash" in found["ledger"][0][1]


def test_a_row_that_was_altered_is_found_by_the_gateway_that_has_it_open(home, capsys):
    add_a_row(home)
    with running(home):
        alter_first_row(home)
        status, found = examine(home, capsys)
    assert status == 1 and "row 1 of chain 'gateway' does not match its hash" in found["ledger"][0][1]
    assert found["gateway"][0][0] == "ok"


@posix
@pytest.mark.parametrize(("where", "mode", "name"), [("", 0o777, "home"), ("gateway/secrets/gateway.json", 0o644, "vault"),
                                                     ("workbench/device.secrets.json", 0o604, "vault"), ("gateway/secrets", 0o777, "vault")])
def test_what_others_could_read_or_replace_is_wrong(home, capsys, where, mode, name):
    os.chmod(home.path / where, mode)
    status, found = examine(home, capsys)
    assert status == 1 and "wrong" in [state for state, _ in found[name]], found[name]


def test_a_configured_model_is_named_and_its_key_is_not(home, capsys):
    profile = list_profiles(home)[0]
    write_role_env(profile, "agent", {"RULITH_MODEL_URL": "https://models.example/v1", "RULITH_MODEL": "small"})
    _, found = examine(home, capsys)
    assert found["profile"][0][0] == "note" and "no key is saved" in found["profile"][0][1]
    agent_secrets(profile).update({"RULITH_MODEL_KEY": "sk-secret"})
    status, found = examine(home, capsys)
    assert status == 0 and "model small at models.example, key saved" in found["profile"][0][1] and "sk-secret" not in str(found)
    write_role_env(profile, "agent", {"RULITH_MODEL_URL": "http://127.0.0.1:1234/v1"})
    agent_secrets(profile).update({"RULITH_MODEL_KEY": None})
    assert examine(home, capsys)[1]["profile"][0][0] == "ok"


def test_the_mcp_services_of_a_profile_are_counted_and_a_file_that_cannot_be_used_is_wrong(home, capsys):
    profile = list_profiles(home)[0]
    assert "services" not in examine(home, capsys)[1]
    service = {"name": "maps", "mode": "stdio", "source": {"type": "mcp", "env": {"TOKEN": "tok-secret"}}, "tools": {}, "discovered": [], "definition": {}}
    file = file_of(profile)
    file.parent.mkdir(mode=0o700)
    write_whole(file, json.dumps({"format": FORMAT, "services": {"maps": service}}).encode(), 0o600)
    status, found = examine(home, capsys)
    assert status == 0 and found["services"][0][0] == "ok" and "1 MCP service" in found["services"][0][1] and "tok-secret" not in str(found)
    for content in (b"{", b'{"format": "rulith-local-mcp/1", "services": {"maps": "tok-secret"}}'):
        write_whole(file, content, 0o600)
        status, found = examine(home, capsys)
        assert status == 1 and found["services"][0][0] == "wrong" and str(file) in found["services"][0][1] and "tok-secret" not in str(found)
    if os.name == "posix":
        write_whole(file, json.dumps({"format": FORMAT, "services": {}}).encode(), 0o600)
        file.chmod(0o644)
        assert examine(home, capsys)[1]["services"][0][0] == "wrong"


def test_a_profile_whose_folder_is_away_is_wrong(home, capsys):
    profile = list_profiles(home)[0]
    profile.directory.rename(home.path / "away")
    status, found = examine(home, capsys)
    assert (status, found["profile"][0][0]) == (1, "wrong") and str(profile.directory) in found["profile"][0][1] and not profile.directory.exists()


def test_an_unreadable_list_of_profiles_is_wrong(home, capsys):
    home.registry.write_text("{")
    status, found = examine(home, capsys)
    assert status == 1 and found["profiles"][0][0] == "wrong"


@pytest.mark.parametrize("words", [["--yaml"], ["--home"], ["now"]])
def test_wrong_words_end_2(words, capsys):
    assert doctor.main(words) == 2 and "--help" in capsys.readouterr().err


def test_a_person_gets_one_line_for_each_thing(home, capsys):
    assert doctor.main([f"--home={home.path}"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert all(line.split()[0] in ("ok", "note", "wrong") for line in lines) and len(lines) > 10


def test_a_clock_behind_the_ledgers_newest_row_is_wrong(home, capsys) -> None:
    ledger = Ledger.open(home.ledger, SystemClock())
    ledger.append("gateway", "probe", {"recovered": True}, "2999-01-01T00:00:00.000Z")
    ledger.commit()
    ledger.close()
    status, found = examine(home, capsys)
    assert status == 1 and found["clock"][0][0] == "wrong" and "2999-01-01" in found["clock"][0][1]


def test_a_home_on_a_network_disk_is_wrong(home, capsys, monkeypatch) -> None:
    monkeypatch.setattr(doctor, "_remote_file_system", lambda path: "nfs4")
    status, found = examine(home, capsys)
    assert status == 1 and any("network file system (nfs4)" in text for _, text in found["disk"])
    monkeypatch.undo()
    assert doctor._remote_file_system(home.path) == ""


def test_leftovers_are_told_and_removed_on_request_only(home, capsys) -> None:
    gone = home.run / "gateway.json"
    write_runfile(gone, url="http://127.0.0.1:1", port=1)
    record = json.loads(gone.read_text())
    gone.write_text(json.dumps({**record, "pid": 2**22 - 3}))
    spare, fresh, theirs = home.gateway / ("settings.json." + "a" * 16 + ".tmp"), home.gateway / ("x." + "b" * 16 + ".tmp"), home.gateway / "mine.tmp"
    for path in (spare, fresh, theirs):
        path.write_text("half")
    os.utime(spare, (1, 1))
    os.utime(theirs, (1, 1))
    _, found = examine(home, capsys)
    assert len(found["leftover"]) == 2 and gone.exists() and spare.exists()
    assert doctor.main(["--home", str(home.path), "--repair"]) == 0 and "removed" in capsys.readouterr().out
    assert not gone.exists() and not spare.exists() and fresh.exists() and theirs.exists()
    _, found = examine(home, capsys)
    assert "leftover" not in found
