"""The vault merged with what was granted."""

import json

import pytest

from rulith.adapters.sources import Source, Sources, read_vault
from rulith.base.errors import Refused

VAULT = {
    "docs": {"type": "file", "access": "/local/docs"}, "old": {"root": "/local/old"}, "base": {"type": "db", "dsn": "postgres://u:pw@h/d"},
    "shop": {"url": "https://local.example", "token": "t0p-secret"},
}


def test_only_what_was_granted_can_be_used():
    sources = Sources(VAULT)
    sources.grant([{"name": "docs", "type": "file", "access": "/cloud/docs"}])
    assert sources.find("docs").access == "/local/docs" and sources.find("base") is None and sources.find("nothing") is None


def test_a_granted_row_fills_in_what_the_vault_does_not_say():
    sources = Sources(VAULT)
    sources.grant([{"name": "notes", "type": "file", "access": "/cloud/notes"}, {"name": "shop", "type": "http", "access": "https://cloud.example"}])
    assert sources.find("notes") == Source("notes", "file", "/cloud/notes")
    shop = sources.find("shop")
    assert (shop.type, shop.access, shop.secrets["token"]) == ("http", "https://local.example", "t0p-secret")


def test_before_any_list_came_the_vault_stands_alone():
    sources = Sources(VAULT)
    assert sources.find("docs").access == "/local/docs" and sources.find("old").type == "file" and sources.find("shop") is None


def test_a_new_list_replaces_the_old_one():
    sources = Sources({})
    sources.grant([{"name": "a", "type": "file", "access": "/a"}])
    sources.grant([{"name": "b", "type": "file", "access": "/b"}])
    assert sources.names() == ["b"] and not sources.is_known("a")


@pytest.mark.parametrize("row", ["docs", {"name": 7, "type": "file"}, {"name": "docs"}, {"name": "docs", "type": "disk"}, {"name": "docs", "type": "file", "access": 7}, None])
def test_a_row_that_is_no_source_is_passed_over(row):
    sources = Sources({})
    sources.grant([row, {"name": "good", "type": "compute"}])
    assert sources.names() == ["good"]


@pytest.mark.parametrize("document, source", [
    ([], "(document)"), ({"docs": "s3cret-value"}, "docs"), ({"docs": {"access": 7}}, "docs"), ({"docs": {"type": "disk"}}, "docs"), ({"docs": {"token": ["s3cret-value"]}}, "docs"),
])
def test_a_vault_that_reads_wrong_names_the_entry_and_shows_no_value(document, source):
    with pytest.raises(Refused) as caught:
        read_vault(json.dumps(document))
    assert caught.value.code == "vault_entry_invalid" and caught.value.facts["source"] == source
    assert "s3cret-value" not in caught.value.teaching


def test_no_secret_shows_in_what_is_printed():
    sources = Sources(VAULT)
    sources.grant([{"name": "base", "type": "db"}, {"name": "shop", "type": "http"}])
    shown = repr(sources.find("base")) + repr(sources.find("shop"))
    assert "pw" not in shown and "t0p-secret" not in shown
