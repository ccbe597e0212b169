"""Which adapter takes a call, and what is said of the ones this release lacks."""

import pytest

from rulith.adapters.hands import Hands, is_built
from rulith.adapters.outcomes import Call
from rulith.adapters.sources import Source
from rulith.adapters.territory import Territory
from rulith.base.errors import Refused
from rulith.wire.manifest import BUILTINS, read_tool

NOT_BUILT = [
    (read_tool("acme.rows@1", {"adapter": "db-query", "sourceTypes": ["db"], "entry": "SELECT 1"}), Source("s", "db", "dsn")),
    (read_tool("acme.put@1", {"adapter": "db-exec-fenced", "sourceTypes": ["db"], "entry": "INSERT INTO t DEFAULT VALUES"}), Source("s", "db", "dsn")),
]


@pytest.fixture
def hands(tmp_path):
    return Hands(Territory(str(tmp_path), str(tmp_path / "home")), {})


@pytest.mark.parametrize("tool, source", NOT_BUILT)
def test_an_adapter_this_release_lacks_is_refused_by_name_and_not_offered(hands, tool, source):
    assert not is_built(tool)
    with pytest.raises(Refused) as caught:
        hands.compile(Call("inv", "key", tool, {}, source))
    assert caught.value.code == "not_built" and tool.adapter in caught.value.teaching


@pytest.mark.parametrize("tool, source", NOT_BUILT)
def test_without_a_source_they_are_refused_for_that_first(hands, tool, source):
    with pytest.raises(Refused) as caught:
        hands.compile(Call("inv", "key", tool, {}))
    assert caught.value.code == "source_free_refused"


def test_what_is_offered_is_run_and_every_workspace_tool():
    assert all(is_built(tool) for tool in BUILTINS.values() if tool.adapter == "workspace")
    assert is_built(read_tool("acme.run@1", {"adapter": "run", "sourceTypes": [], "entry": "a.py"}))


def test_a_source_is_inspected_by_itself(hands, tmp_path):
    (tmp_path / "home").mkdir()
    assert hands.inspect(Source("s", "file", str(tmp_path / "home"))).code == "source_root_refused"
    assert hands.inspect(Source("s", "file", str(tmp_path / "data"))) is None
    assert hands.inspect(Source("s", "http", "https://h")) is None
