"""The example laid out: a first order appears together with its folder, whenever the program was stopped in between."""

from __future__ import annotations

from pathlib import Path

import pytest

from rulith.base.errors import Refused
from rulith.disk import example
from rulith.disk.example import FIRST_ORDER, lay_out, read_order

STEPS = ("mkdir", "write_whole", "rename")


class Stopped(BaseException):
    """Stands for SIGKILL: no handler of ours runs."""


def stop_at(monkeypatch: pytest.MonkeyPatch, step: str, *, after: bool) -> None:
    """Stop the program before or after the step that touches the folder of the order."""
    owner = example if step == "write_whole" else Path
    act = getattr(owner, step)

    def stopping(*args: object, **kinds: object) -> object:
        if not any("runtime" in str(arg) for arg in args):
            return act(*args, **kinds)
        if after:
            act(*args, **kinds)
        raise Stopped

    monkeypatch.setattr(owner, step, stopping)


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("step", STEPS)
def test_a_stop_at_any_step_leaves_no_folder_without_its_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, after: bool) -> None:
    with monkeypatch.context() as patched, pytest.raises(Stopped):
        stop_at(patched, step, after=after)
        lay_out(tmp_path)
    runtime = tmp_path / "runtime"
    assert not runtime.exists() or read_order(runtime / "input.json") == FIRST_ORDER
    lay_out(tmp_path)
    assert read_order(runtime / "input.json") == FIRST_ORDER
    assert sorted(path.name for path in tmp_path.iterdir()) == ["adapters", "runtime", "worker-tools.json"]


def test_a_folder_whose_order_was_removed_stays_without_one(tmp_path: Path) -> None:
    lay_out(tmp_path)
    (tmp_path / "runtime" / "input.json").unlink()
    assert lay_out(tmp_path) == []
    with pytest.raises(Refused, match="is missing"):
        read_order(tmp_path / "runtime" / "input.json")


def test_a_folder_that_somebody_made_meanwhile_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def made_by_another(self: Path, target: object) -> Path:
        (tmp_path / "runtime").mkdir()
        (tmp_path / "runtime" / "input.json").write_text("theirs", "utf-8")
        raise FileExistsError(39, "Directory not empty", str(target))

    monkeypatch.setattr(Path, "rename", made_by_another)
    assert tmp_path / "runtime" / "input.json" not in lay_out(tmp_path)
    assert (tmp_path / "runtime" / "input.json").read_text("utf-8") == "theirs"
    assert not (tmp_path / "runtime.new").exists()
