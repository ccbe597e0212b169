"""A home somebody has written into: each file that was touched is named, and nothing is believed or overwritten."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
from pathlib import Path

import pytest

from rulith.base.clock import ManualClock
from rulith.base.errors import Refused
from rulith.disk.home import Home
from rulith.local.gateway import find_gateway
from rulith.store.ledger import Ledger


@pytest.fixture
def ledger_path(tmp_path: Path) -> Path:
    path = tmp_path / "ledger.db"
    ledger = Ledger.open(path, ManualClock())
    for number in range(5):
        ledger.append("agent_1", "board", {"n": number, "text": "ünïcode"}, f"2026-11-30T20:00:0{number}.000Z")
    ledger.commit()
    ledger.close()
    return path


def tamper(path: Path, statement: str) -> None:
    db = sqlite3.connect(path)
    for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
        db.execute(f"DROP TRIGGER {name}")
    assert db.execute(statement).rowcount == 1
    db.commit()
    db.close()


@pytest.mark.parametrize("column", ["body = replace(body, '2', '3')", "at = '2026-01-01T00:00:00.000Z'", "kind = 'audit'"])
def test_a_changed_row_is_named_when_it_is_read(ledger_path: Path, column: str) -> None:
    tamper(ledger_path, f"UPDATE row SET {column} WHERE seq = 3")
    ledger = Ledger.open(ledger_path, ManualClock(), check=False)
    try:
        with pytest.raises(Refused, match="row 3 of chain 'agent_1' does not match its hash") as refusal:
            list(ledger.rows("agent_1"))
        assert refusal.value.code == "ledger_broken"
    finally:
        ledger.close()


def test_a_damaged_text_is_told_without_its_bytes(ledger_path: Path) -> None:
    tamper(ledger_path, "UPDATE row SET body = CAST(x'7b22ff1b5b33316d' AS TEXT) WHERE seq = 5")
    with pytest.raises(Refused) as refusal:
        Ledger.open(ledger_path, ManualClock())
    assert "the text of a row is damaged" in str(refusal.value) and "\x1b" not in str(refusal.value)


def test_a_gateway_with_a_changed_ledger_names_the_row_and_not_a_root(product, tmp_path: Path) -> None:
    assert product.run("demo", "verified-calculation", "job", cwd=tmp_path).status == 0
    path = tmp_path / "job" / ".rulith" / "gateway" / "ledger.db"
    tamper(path, "UPDATE row SET body = replace(body, '1', '2') WHERE position = (SELECT max(position) FROM row WHERE kind = 'board')")
    before = path.read_bytes()
    run = product.run("demo", "verified-calculation", "job", cwd=tmp_path)
    assert run.status == 1 and "does not match its hash" in run.err and "Traceback" not in run.err, run
    assert path.read_bytes() == before
    assert [each.read_bytes() for each in path.parent.glob("ledger.db.damaged-*")] == [before]


@pytest.mark.parametrize("url", ["http://192.0.2.1:80", "http://example.invalid", "http://127.0.0.1.example.invalid:7781", "https://[2001:db8::1]"])
def test_a_run_file_that_names_another_machine_gets_no_grant(tmp_path: Path, url: str) -> None:
    home = Home(tmp_path / "home").prepare()
    home.gateway_json.write_text(json.dumps({"pid": os.getpid(), "url": url}), "utf-8")
    with pytest.raises(Refused, match="not on this machine"):
        find_gateway(home)


@pytest.mark.skipif(not Path("/dev/full").exists() or os.geteuid() != 0, reason="needs root for a small tmpfs")
def test_a_full_disk_under_the_ledger_is_called_full_and_no_backup_is_asked_for(tmp_path: Path) -> None:
    place = tmp_path / "small"
    place.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8k", "tmpfs", str(place)], capture_output=True).returncode != 0:
        pytest.skip("this machine mounts no tmpfs")
    try:
        with pytest.raises(Refused) as refusal:
            Ledger.open(place / "ledger.db", ManualClock())
        assert refusal.value.code == "disk_full" and "backup" not in str(refusal.value)
    finally:
        subprocess.run(["umount", str(place)], check=True)
