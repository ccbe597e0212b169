"""The vault refuses every file that others could have read or could swap."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest

from rulith.base.errors import Refused
from rulith.disk.vault import Vault

posix = pytest.mark.skipif(os.name != "posix", reason="modes and owners are POSIX")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    tmp_path.chmod(0o700)
    return tmp_path / "agent.secrets.json"


def refusal_of(call) -> str:
    with pytest.raises(Refused) as refusal:
        call()
    assert "s3cret" not in str(refusal.value)
    return refusal.value.code


def test_secrets_come_back_as_they_were_saved(path: Path) -> None:
    vault = Vault(path)
    assert vault.load() == {}
    vault.save({"RULITH_TOKEN": "s3cret"})
    assert vault.update({"B": "b", "RULITH_TOKEN": None}) == {"B": "b"}
    assert Vault(path).load() == {"B": "b"}
    assert "s3cret" not in repr(vault)


@posix
def test_the_file_is_its_owners_whatever_the_umask(path: Path) -> None:
    before = os.umask(0)
    try:
        Vault(path).save({"a": "b"})
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_vault_in_an_absent_folder_is_empty_and_can_be_saved(tmp_path: Path) -> None:
    vault = Vault(tmp_path / "new" / "v.json")
    assert vault.load() == {}
    vault.save({"a": "b"})
    assert vault.load() == {"a": "b"}
    if os.name == "posix":
        assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o700


@posix
@pytest.mark.parametrize("mode", [0o604, 0o640, 0o660, 0o602, 0o610, 0o777])
def test_a_mode_that_lets_others_in_is_refused_by_load_and_save(path: Path, mode: int) -> None:
    Vault(path).save({"a": "s3cret"})
    path.chmod(mode)
    assert refusal_of(Vault(path).load) == "vault_readable"
    assert refusal_of(lambda: Vault(path).save({"a": "new"})) == "vault_readable"
    assert json.loads(path.read_bytes()) == {"a": "s3cret"}


@posix
def test_links_are_refused(path: Path) -> None:
    real = path.with_name("real.json")
    Vault(real).save({"a": "s3cret"})
    path.symlink_to(real)
    assert refusal_of(Vault(path).load) == "vault_linked"
    assert refusal_of(lambda: Vault(path).save({})) == "vault_linked"
    path.unlink()
    os.link(real, path)
    assert refusal_of(Vault(path).load) == "vault_linked"


@posix
def test_what_is_no_plain_file_is_refused(path: Path) -> None:
    path.mkdir()
    assert refusal_of(Vault(path).load) == "vault_not_plain"
    path.rmdir()
    os.mkfifo(path, 0o600)
    assert refusal_of(Vault(path).load) == "vault_not_plain"


@posix
@pytest.mark.skipif(os.name == "posix" and os.geteuid() != 0, reason="only root can give a file away")
def test_another_owners_file_or_folder_is_refused(path: Path) -> None:
    Vault(path).save({"a": "s3cret"})
    os.chown(path, 12345, -1)
    assert refusal_of(Vault(path).load) == "vault_foreign"
    os.chown(path.parent, 12345, -1)
    assert refusal_of(Vault(path).load) == "vault_folder"


@posix
def test_a_folder_others_can_write_is_refused_unless_it_is_sticky(path: Path) -> None:
    Vault(path).save({"a": "b"})
    path.parent.chmod(0o770)
    assert refusal_of(Vault(path).load) == "vault_folder"
    path.parent.chmod(0o1777)
    assert Vault(path).load() == {"a": "b"}


@posix
def test_a_folder_that_is_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir(0o700)
    Vault(tmp_path / "real" / "v.json").save({"a": "b"})
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert refusal_of(Vault(tmp_path / "link" / "v.json").load) == "vault_folder"


@pytest.mark.parametrize("content", [b"{", b"[]", b'{"a": 1}', b'{"a": null}', b'"s3cret', b"\xff"])
def test_content_that_is_no_object_of_texts_is_refused_unquoted(path: Path, content: bytes) -> None:
    Vault(path).save({})
    path.write_bytes(content)
    assert refusal_of(Vault(path).load) == "vault_unreadable"
    assert path.read_bytes() == content
