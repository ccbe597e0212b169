"""Which adapter takes a call."""

import pytest

from rulith.adapters import hands as hands_module, workspace
from rulith.adapters.hands import Hands
from rulith.adapters.outcomes import Call
from rulith.adapters.sources import Source
from rulith.adapters.territory import Territory
from rulith.base.errors import Refused
from rulith.wire.manifest import BUILTINS, DECLARED_ADAPTERS, read_tool

REACHING = [
    read_tool("acme.web@1", {"adapter": "http", "sourceTypes": ["http"], "entry": "orders"}),
    read_tool("acme.rows@1", {"adapter": "db-query", "sourceTypes": ["db"], "entry": "SELECT 1"}),
    read_tool("acme.put@1", {"adapter": "db-exec-fenced", "sourceTypes": ["db"], "entry": "INSERT INTO t DEFAULT VALUES"}),
    read_tool("acme.far@1", {"adapter": "mcp", "sourceTypes": ["mcp"], "entry": "search"}),
    *BUILTINS.values(),
]


@pytest.fixture
def hands(tmp_path):
    return Hands(Territory(str(tmp_path), str(tmp_path / "home")), {})


@pytest.mark.parametrize("tool", REACHING, ids=lambda tool: tool.id)
def test_whatever_reaches_out_is_refused_without_a_source(hands, tool):
    """Check 8 of a row: db, http, mcp and workspace never run Source-free."""
    with pytest.raises(Refused) as caught:
        hands.compile(Call("inv", "key", tool, {}))
    assert caught.value.code == "source_free_refused"


def test_whatever_a_manifest_may_name_or_is_built_in_has_its_adapter():
    assert set(hands_module._COMPILERS) == {*DECLARED_ADAPTERS, *(tool.adapter for tool in BUILTINS.values())}
    assert {tool.entry for tool in BUILTINS.values() if tool.adapter == "workspace"} == set(workspace.BUILT)


def test_a_source_is_inspected_by_itself(hands, tmp_path):
    (tmp_path / "home").mkdir()
    assert hands.inspect(Source("s", "file", str(tmp_path / "home"))).code == "source_root_refused"
    assert hands.inspect(Source("s", "file", str(tmp_path / "data"))) is None
    assert hands.inspect(Source("s", "http", "https://h")) is None
    (tmp_path / "a.db").write_bytes(b"")
    assert hands.inspect(Source("s", "db", "sqlite:a.db")) is None and hands.inspect(Source("s", "db", "vault")).code == "source_unusable"
    assert hands.inspect(Source("s", "db", f"sqlite:{tmp_path / 'home' / 'x.db'}")).code == "source_root_refused"
    launch = {"type": "mcp", "transport": "stdio", "command": "server", "args": []}
    assert hands.inspect(Source("s", "mcp", "vault", launch)) is None and hands.inspect(Source("s", "mcp", "vault")) is None
    assert hands.inspect(Source("s", "mcp", "vault", {**launch, "args": [str(tmp_path / "home")]})).code == "source_root_refused"
