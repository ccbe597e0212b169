"""Which folders a Source may open."""

import os
from pathlib import Path

import pytest

from rulith.adapters.sources import Source
from rulith.adapters.territory import Territory
from rulith.base.errors import Refused


@pytest.fixture
def land(tmp_path):
    for name in ("work/adapters", "work/runtime", "home/workbench/instances/inst-1/workspace/runtime", "home/gateway", "free", "homely"):
        (tmp_path / name).mkdir(parents=True)
    return tmp_path


def territory(land, **settings):
    settings = {"guarded": (("the Tool Manifest", str(land / "work/worker-tools.json")), ("the Source vault", str(land / "free2/vault.json"))), **settings}
    return Territory(str(land / "work"), str(land / "home"), **settings)


def folder(land, access, **settings):
    return territory(land, **settings).folder_of(Source("docs", "file", str(access)))


def refusal(land, access, **settings):
    with pytest.raises(Refused) as caught:
        folder(land, access, **settings)
    assert caught.value.code == "source_root_refused" and "'docs'" in caught.value.teaching
    return caught.value.facts["problem"]


@pytest.mark.parametrize("name", ["free", "work/runtime", "homely", "work/adapters"])
def test_a_folder_beside_what_is_guarded_is_open(land, name):
    assert folder(land, land / name) == os.path.realpath(land / name)


def test_a_relative_access_starts_at_the_worker_root(land):
    assert folder(land, "runtime") == os.path.realpath(land / "work/runtime")


@pytest.mark.parametrize("name, what", [
    ("work", "contains the Tool Manifest"), (".", "contains the Tool Manifest"), ("free2", "contains the Source vault"),
    ("home", "contains the home"), ("home/gateway", "lies in the home"), ("home/workbench/instances/inst-1/workspace/runtime", "lies in the home"),
])
def test_what_decides_over_tools_is_never_a_source(land, name, what):
    assert what in refusal(land, land / name)


def test_a_folder_above_the_home_contains_it(land):
    assert "contains the home" in refusal(land, land, guarded=())
    assert "contains the home" in refusal(land, "/", guarded=())


def test_the_profiles_own_workspace_is_open_though_it_lies_in_the_home(land):
    own = str(land / "home/workbench/instances/inst-1/workspace")
    assert folder(land, own + "/runtime", own=(own,)).endswith("runtime")
    assert "lies in the home" in refusal(land, land / "home/workbench/instances/inst-1", own=(own,))
    assert "lies in the home" in refusal(land, land / "home/workbench/instances/inst-2/workspace", own=(own,))


@pytest.mark.skipif(os.name == "nt", reason="links need a right on Windows")
def test_links_are_resolved_before_anything_is_judged(land):
    (land / "alias").symlink_to(land / "home/gateway")
    (land / "work/inside").symlink_to(land)
    assert "lies in the home" in refusal(land, land / "alias")
    assert "contains" in refusal(land, "inside")
    (land / "real").mkdir()
    (land / "manifest-link.json").symlink_to(land / "real" / "worker-tools.json")
    assert "contains the Tool Manifest" in refusal(land, land / "real", guarded=(("the Tool Manifest", str(land / "manifest-link.json")),))


def test_climbing_accesses_are_judged_where_they_lead(land):
    assert "contains the home" in refusal(land, "runtime/../..", guarded=())


def test_where_tools_may_write_the_worker_root_and_its_programs_are_closed(land):
    assert "overlaps the Worker root" in refusal(land, land / "work/runtime", writes=True)
    outside = land / "free"
    assert "contains an adapter" in refusal(land, outside, writes=True, executables=(str(outside / "tool.py"),))
    assert folder(land, outside, writes=True, executables=(str(land / "work/adapters/a.py"),)) == os.path.realpath(outside)


def test_a_name_that_only_begins_alike_is_another_folder(land):
    assert Path(folder(land, land / "homely")).name == "homely"


@pytest.mark.skipif(os.name == "nt", reason="uses POSIX folder identities")
@pytest.mark.parametrize("access, what", [("HOME/gateway", "lies in the home"), ("HOME", "contains the home"), ("FREE2", "contains the Source vault")])
def test_another_spelling_of_a_folder_is_that_folder(land, monkeypatch, access, what):
    """On a disk without upper and lower case `HOME` opens `home`, and no name resolution says so. Played by folded names."""
    (land / "free2").mkdir()
    (land / "free2" / "vault.json").touch()
    real = os.stat

    def folded(path, *arguments, **settings):
        text = os.fspath(path) if not isinstance(path, int) else path
        if isinstance(text, str) and text.startswith(str(land)):
            text = str(land) + text[len(str(land)):].lower()
        return real(text, *arguments, **settings)

    monkeypatch.setattr(os, "stat", folded)
    assert what in refusal(land, land / access)
