"""The environment vault: shared credentials go only where they were made for.

Duty: the Worker hop, "Source vault", environment vault.
"""

import pytest

from rulith.adapters.hands import Hands
from rulith.adapters.outcomes import Call
from rulith.adapters.shared_vault import unread_members
from rulith.adapters.sources import Source, Sources
from rulith.adapters.territory import Territory
from rulith.base.errors import Refused
from rulith.wire.manifest import read_tool

URL, DSN = "https://shop.example/api", "postgresql://db.example/orders"
HTTP = {"type": "http", "url": URL, "token": "s3cret"}


def found(entry, kind="http", access=URL, vault=None):
    sources = Sources(vault or {}, {"shop": entry})
    sources.grant([{"name": "shop", "type": kind, "access": access}])
    return sources.find("shop")


def test_an_entry_made_for_what_was_granted_lends_its_credentials():
    assert found({**HTTP, "headers": {"x-a": "b"}}) == Source("shop", "http", URL, {"token": "s3cret", "headers": {"x-a": "b"}})
    assert found({"type": "mcp", "access": URL, "token": "t"}, kind="mcp").secrets == {"token": "t"}


@pytest.mark.parametrize("dsn, granted", [
    ("postgresql://u:pw@db.example/orders", DSN), ("postgres://u:pw@DB.example:5432/orders?sslmode=require", DSN),
    ("postgresql://u:pw@db.example/orders", "postgres://db.example:5432/orders"), ("postgresql://u:pw@h:6543/x", "postgresql://h:6543/x"),
])
def test_a_dsn_of_the_same_database_is_taken_whole(dsn, granted):
    source = found({"type": "db", "dsn": dsn}, "db", granted)
    assert (source.access, source.secrets, source.mismatch) == (dsn, {"dsn": dsn}, "")


@pytest.mark.parametrize("entry, kind, access, mismatch", [
    (HTTP, "mcp", URL, "type"), ({**HTTP, "type": "mcp"}, "http", URL, "type"), ({"url": URL, "token": "t"}, "http", URL, "type"),
    (HTTP, "http", "https://evil.example/api", "address"), (HTTP, "http", URL + "/", "address"), (HTTP, "http", "", "address"),
    ({"type": "http", "token": "t"}, "http", URL, "address"), ({**HTTP, "access": "https://other"}, "http", URL, "address"), ({**HTTP, "url": 7}, "http", URL, "address"),
    ({**HTTP, "command": "sh"}, "http", URL, "launch"), ({"type": "mcp", "url": URL, "args": []}, "mcp", URL, "launch"), ({**HTTP, "cwd": "/"}, "http", URL, "launch"),
    *[({"type": "db", "dsn": dsn}, "db", DSN, "address") for dsn in (
        "mysql://u:pw@db.example/orders", "postgresql://u:pw@db.example:5433/orders", "postgresql://u:pw@evil.example/orders", "postgresql://u:pw@db.example/other",
        *(f"postgresql://u:pw@db.example/orders?{name}=x" for name in ("host", "hostaddr", "port", "dbname", "database", "service", "servicefile", "HOST")),
        "postgresql://u:pw@db.example/orders?sslmode=require&host=", "postgresql://u:pw@db.example/orders#x", "postgresql://u:pw@db.example:99999/orders", "orders", "")],
    ({"type": "db", "dsn": "postgresql://u:pw@db.example/orders"}, "db", DSN + "?host=evil", "address"),
    ({"type": "db", "dsn": "postgresql://u:pw@db.example/orders", "url": "other"}, "db", DSN, "address"),
])
def test_an_entry_made_for_something_else_lends_nothing_and_the_source_is_unusable(entry, kind, access, mismatch):
    source = found(entry, kind, access)
    assert (source.mismatch, dict(source.secrets), source.access) == (mismatch, {}, access)


def test_the_workers_own_entry_wins_and_is_not_mixed_with_the_shared_one():
    assert found(HTTP, vault={"shop": {"type": "http", "url": "https://own.example"}}) == Source("shop", "http", "https://own.example", {"type": "http", "url": "https://own.example"})


def test_without_a_grant_a_shared_entry_is_nothing():
    sources = Sources({}, {"shop": HTTP})
    assert sources.find("shop") is None and sources.names() == []
    sources.grant([])
    assert sources.find("shop") is None


def test_a_source_whose_shared_entry_does_not_fit_is_refused_by_name_and_shows_no_value(tmp_path):
    hands = Hands(Territory(str(tmp_path), str(tmp_path / "home")), {})
    source = found(HTTP, access="https://evil.example")
    tool = read_tool("acme.web@1", {"adapter": "http", "sourceTypes": ["http"], "entry": "orders", "kind": "read", "fence": {"method": "GET"}})
    with pytest.raises(Refused) as caught:
        hands.compile(Call("inv", "key", tool, {}, source))
    for refused in (caught.value, hands.inspect(source)):
        assert refused.code == "source_unusable" and "(address)" in refused.teaching and "s3cret" not in refused.teaching


def test_members_that_nobody_reads_are_named():
    assert unread_members({**HTTP, "timeoutMs": 5, "root": "/", "command": "x", "dsn": "d", "headers": {}}) == ["root", "timeoutMs"]
