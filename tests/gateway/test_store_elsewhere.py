"""`rulith gateway --store sqlite:PATH`: a ledger outside its home, found by every command, never left behind by an option.

Duty: the design's commands (§10); D5 (one process opens a ledger).
"""

from __future__ import annotations

import asyncio
import os
import shutil
from pathlib import Path

import pytest

from rulith.base.clock import SystemClock
from rulith.base.errors import Refused
from rulith.commands import doctor
from rulith.commands import gateway as door
from rulith.disk.home import Home
from rulith.disk.ledger_place import named_home
from rulith.gateway.service import open_gateway
from rulith.store.ledger import Ledger


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home")


@pytest.fixture
def disk(tmp_path: Path) -> Path:
    """Another disk, as it were."""
    found = tmp_path / "disk"
    found.mkdir(mode=0o700)
    return found


def opened(home: Home, store: Path | None = None) -> bool:
    """Start the gateway of a home and end it; whether it made a new ledger."""
    async def run() -> bool:
        gateway = open_gateway(home if store is None else named_home(home, f"sqlite:{store}"), SystemClock(), {})
        await gateway.close()
        return gateway.genesis
    return asyncio.run(run())


def rows(path: Path) -> int:
    ledger = Ledger.open(path, SystemClock())
    try:
        assert ledger.verify() == []
        return sum(ledger.head(name)[0] for name in ledger.chains())
    finally:
        ledger.close()


def told(home: Home, capsys, *words: str) -> tuple[int, str]:
    capsys.readouterr()
    status = door.main([*words, "--home", str(home.path)])
    found = capsys.readouterr()
    return status, found.out + found.err


def test_a_named_ledger_is_made_there_and_found_without_being_named_again(home, disk, capsys):
    place = disk / "ledger of acme.db"
    assert opened(home, place)
    assert place.exists() and not home.own_ledger.exists() and home.ledger == place
    before = rows(place)
    assert before and not opened(home) and not opened(home, place) and rows(place) == before
    assert doctor.main(["--home", str(home.path)]) in (0, 1)
    said = capsys.readouterr().out
    assert f"the ledger is {place}" in said and f"ok     ledger       {before} rows" in said


def test_a_name_with_dots_and_links_is_the_same_place(home, disk, tmp_path):
    opened(home, disk / "l.db")
    (tmp_path / "link").symlink_to(disk)
    assert not opened(home, tmp_path / "link" / ".." / "disk" / "l.db") and home.ledger == disk / "l.db"


def test_the_ledger_that_is_in_the_home_stays_there_where_nothing_is_named(home):
    assert opened(home) and home.ledger == home.own_ledger and not home.kept_store.exists()
    assert not opened(home, home.own_ledger) and not home.kept_store.exists()


def test_an_option_leads_no_home_away_from_its_ledger(home, disk, capsys):
    opened(home)
    before = rows(home.own_ledger)
    for words in ((), ("backup", str(disk / "copy.db")), ("restore", str(disk / "copy.db"))):
        status, said = told(home, capsys, *words, "--store", f"sqlite:{disk / 'l.db'}")
        assert status == 1 and str(home.own_ledger) in said and "move the file" in said
    assert os.listdir(disk) == [] and rows(home.own_ledger) == before and not home.kept_store.exists()
    with pytest.raises(Refused) as refusal:
        named_home(home, f"sqlite:{disk / 'l.db'}")
    assert refusal.value.code == "store_differs"


def test_a_moved_file_is_followed_by_naming_its_new_place(home, disk):
    opened(home)
    before = rows(home.own_ledger)
    shutil.move(home.own_ledger, disk / "l.db")
    with pytest.raises(Refused) as refusal:
        opened(home)
    assert refusal.value.code == "ledger_missing" and "--store" in refusal.value.teaching
    assert not opened(home, disk / "l.db") and rows(disk / "l.db") == before
    shutil.move(disk / "l.db", home.own_ledger)
    assert not opened(home, home.own_ledger) and home.ledger == home.own_ledger and not opened(home)


def test_a_disk_that_is_not_there_is_no_new_home(home, disk, capsys):
    """An unmounted disk: nothing is begun anew, in its place or in the home."""
    place = disk / "l.db"
    opened(home, place)
    place.rename(disk / "kept")
    assert told(home, capsys)[0] == 4
    shutil.rmtree(disk)
    status, said = told(home, capsys)
    assert status == 4 and str(place) in said and not home.own_ledger.exists()
    assert doctor.main(["--home", str(home.path)]) == 1 and "its folder is gone" in capsys.readouterr().out


def test_backup_and_restore_find_it_and_work_where_it_lies(home, disk, tmp_path, capsys):
    place, copy = disk / "l.db", tmp_path / "copy.db"
    opened(home, place)
    before = rows(place)
    assert told(home, capsys, "backup", str(copy))[0] == 0 and rows(copy) == before
    status, said = told(home, capsys, "restore", str(copy))
    assert status == 0 and f"Restored {place}" in said and rows(place) > before and not home.own_ledger.exists()
    (kept,) = [path for path in disk.glob("l.db.replaced-*") if path.suffix not in (".lock",)]
    assert str(kept) in said and not list(disk.glob("restore-*")) and not opened(home)


def test_a_restore_may_put_a_lost_ledger_elsewhere(home, disk, tmp_path, capsys):
    copy = tmp_path / "copy.db"
    opened(home)
    told(home, capsys, "backup", str(copy))
    for path in home.gateway.glob("ledger.db*"):
        path.unlink()
    assert told(home, capsys, "restore", str(copy), "--store", f"sqlite:{disk / 'l.db'}")[0] == 0
    assert home.ledger == disk / "l.db" and not opened(home)


@pytest.mark.parametrize("store", ["postgresql://rulith:hunter22@db/rulith", "ledger.db", "sqlite:", "sqlite: ", "SQLITE:/data/l.db", "", "file:/data/l.db"])
def test_another_kind_of_store_is_refused_in_words_without_its_secret(home, capsys, store):
    status, said = told(home, capsys, "--store", store)
    assert status == 2 and "sqlite:PATH" in said and "hunter22" not in said
    assert not home.path.exists()
    with pytest.raises(Refused) as refusal:
        named_home(home, store)
    assert refusal.value.code == "store_scheme"


def test_a_place_that_cannot_hold_a_ledger_is_refused_by_name(home, disk, tmp_path, capsys):
    """Refused `store_unusable`, and nothing is made."""
    (disk / "folder").mkdir()
    (tmp_path / "open").mkdir()
    os.chmod(tmp_path / "open", 0o777)
    wrong = [disk / "absent" / "l.db", disk / "folder", disk, home.path / "l.db", home.secrets / "gateway.json", Path("/dev/null/l.db")]
    for place in (*wrong, *([tmp_path / "open" / "l.db"] if os.name == "posix" else [])):
        with pytest.raises(Refused) as refusal:
            named_home(home.prepare(), f"sqlite:{place}")
        assert refusal.value.code == "store_unusable", place
    assert os.listdir(disk) == ["folder"] and os.listdir(tmp_path / "open") == []


@pytest.mark.parametrize("content", ["", "{", "[]", '{"store": "sqlite:/x"}', '{"format": "rulith-store/1", "store": "sqlite:x"}',
                                     '{"format": "rulith-store/1", "store": 7}'])
def test_a_note_that_says_nothing_is_refused_until_the_place_is_named(home, disk, capsys, content):
    opened(home, disk / "l.db")
    home.kept_store.write_text(content)
    status, said = told(home, capsys)
    with pytest.raises(Refused) as refusal:
        home.ledger
    assert status == 1 and str(home.kept_store) in said and refusal.value.code == "store_place_unreadable"
    assert doctor.main(["--home", str(home.path)]) == 1 and str(home.kept_store) in capsys.readouterr().out
    assert not opened(home, disk / "l.db") and home.ledger == disk / "l.db"


def test_a_ledger_of_another_home_is_not_taken_over(home, disk, tmp_path):
    opened(home, disk / "l.db")
    with pytest.raises(Refused) as refusal:
        opened(Home(tmp_path / "other"), disk / "l.db")
    assert refusal.value.code == "store_foreign" and not Home(tmp_path / "other").kept_store.exists() and not opened(home)


def test_two_homes_cannot_open_one_ledger(home, disk, tmp_path):
    async def both() -> str:
        first = open_gateway(named_home(home, f"sqlite:{disk / 'l.db'}"), SystemClock(), {})
        try:
            open_gateway(named_home(Home(tmp_path / "other"), f"sqlite:{disk / 'l.db'}"), SystemClock(), {})
        except Refused as refusal:
            return refusal.code
        finally:
            await first.close()
        return "both"
    assert asyncio.run(both()) == "ledger_in_use"
