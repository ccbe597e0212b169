"""`--check`, `--generate` and `--pin` on a copy of the checkout. Duty: design D12."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
GIT = {"GIT_AUTHOR_NAME": "t", "GIT_AUTHOR_EMAIL": "t@example.org", "GIT_COMMITTER_NAME": "t",
       "GIT_COMMITTER_EMAIL": "t@example.org", "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}


def git(folder: Path, *words: str) -> str:
    done = subprocess.run(["git", "-C", str(folder), *words], capture_output=True, text=True, env={**os.environ, **GIT})
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def commit(folder: Path, subject: str) -> str:
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", subject)
    return git(folder, "rev-parse", "HEAD")


def build(folder: Path, wheels: Path, *words: str, repository: Path | str | None = None):
    env = {name: value for name, value in os.environ.items() if name != "RULITH_CONTRACT_REPO"}
    if repository is not None:
        env["RULITH_CONTRACT_REPO"] = str(repository)
    return subprocess.run(
        [sys.executable, "build_pyz.py", "--wheels", str(wheels), *words], cwd=folder, env=env, capture_output=True, text=True
    )


def commit_of(folder: Path, name: str = "mcp-contract.json") -> str | None:
    return json.loads((folder / "protocol" / name).read_bytes())["sourceCommit"]


@pytest.fixture
def checkout(tmp_path: Path, wheels: Path) -> Path:
    """The parts that generation touches, unpinned, outside any repository."""
    folder = tmp_path / "checkout"
    folder.mkdir()
    for name in ("build_pyz.py", "requirements-bundle.txt", "pyproject.toml"):
        shutil.copy(ROOT / name, folder)
    shutil.copytree(ROOT / "protocol", folder / "protocol", ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "rulith").mkdir()
    shutil.copytree(ROOT / "rulith" / "wire", folder / "rulith" / "wire", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("mcp-contract.json", "worker-contract.json"):
        path = folder / "protocol" / name
        bundle = json.loads(path.read_bytes())
        path.write_text(json.dumps(bundle | {"sourceCommit": None}, ensure_ascii=False, indent=1) + "\n", "utf-8")
    return folder


@pytest.fixture
def repository(checkout: Path, wheels: Path) -> Path:
    """The same as a repository whose second commit pins its first."""
    git(checkout, "init", "-q")
    commit(checkout, "Add the contracts")
    assert build(checkout, wheels, "--pin").returncode == 0
    commit(checkout, "Pin the contracts")
    return checkout


def test_this_checkout_has_not_drifted(wheels):
    done = build(ROOT, wheels, "--check")
    assert done.returncode == 0, done.stdout + done.stderr


def test_an_unpinned_bundle_passes_and_says_so(checkout, wheels):
    done = build(checkout, wheels, "--check")
    assert done.returncode == 0 and "mcp-contract.json: unpinned" in done.stdout
    assert build(checkout, wheels, "--check", "--require-pin").returncode == 1


def test_a_changed_source_is_drift_until_it_is_generated(repository, wheels):
    source = repository / "protocol" / "mcp" / "tools.json"
    source.write_text(source.read_text("utf-8").replace("Open or focus a Case", "Open a Case or focus it"), "utf-8")
    done = build(repository, wheels, "--check")
    assert done.returncode == 1 and "mcp-contract.json has drifted" in done.stderr
    assert build(repository, wheels, "--generate").returncode == 0
    assert commit_of(repository) is None, "a changed bundle is pinned by no commit"
    assert commit_of(repository, "worker-contract.json") is not None
    assert build(repository, wheels, "--check").returncode == 0


def test_an_edited_validator_is_drift(checkout, wheels):
    path = checkout / "rulith" / "wire" / "contract_validators.py"
    path.write_bytes(path.read_bytes().replace(b"is_integer", b"bool", 1))
    done = build(checkout, wheels, "--check")
    assert done.returncode == 1 and "contract_validators.py has drifted" in done.stderr
    assert build(checkout, wheels, "--generate").stdout.strip() == "wrote rulith/wire/contract_validators.py"


def test_generated_files_do_not_depend_on_the_hash_seed(checkout, wheels):
    before = {path: path.read_bytes() for path in (checkout / "rulith" / "wire").glob("*_validators.py")}
    for seed in ("0", "1", "4242"):
        env = os.environ | {"PYTHONHASHSEED": seed}
        done = subprocess.run([sys.executable, "build_pyz.py", "--wheels", str(wheels), "--generate"], cwd=checkout, env=env)
        assert done.returncode == 0
        assert {path: path.read_bytes() for path in before} == before


def test_pins_name_the_commit_that_holds_the_files(repository, wheels):
    first = git(repository, "rev-list", "--max-parents=0", "HEAD")
    assert commit_of(repository) == commit_of(repository, "worker-contract.json") == first
    done = build(repository, wheels, "--check", "--require-pin")
    assert done.returncode == 0, done.stderr
    assert f"mcp-contract.json: pinned to {first}" in done.stdout


def test_uncommitted_contracts_are_not_pinned(checkout, wheels):
    assert build(checkout, wheels, "--pin").returncode == 1      # no repository at all
    git(checkout, "init", "-q")
    commit(checkout, "Add the contracts")
    source = checkout / "protocol" / "mcp" / "surface.json"
    source.write_text(source.read_text("utf-8").replace("16384", "8192"), "utf-8")
    assert build(checkout, wheels, "--generate").returncode == 0
    assert build(checkout, wheels, "--pin").returncode == 1
    assert commit_of(checkout) is None


def damage_commit(folder: Path, value: object) -> None:
    path = folder / "protocol" / "mcp-contract.json"
    bundle = json.loads(path.read_bytes())
    path.write_text(json.dumps(bundle | {"sourceCommit": value}, ensure_ascii=False, indent=1) + "\n", "utf-8")


@pytest.mark.parametrize("value", ["0" * 40, "HEAD", "abc", 7, "", "A" * 40])
def test_a_full_clone_that_cannot_resolve_the_pin_fails(repository, wheels, value):
    damage_commit(repository, value)
    assert build(repository, wheels, "--check").returncode == 1


def test_a_pin_that_holds_other_bytes_or_is_no_ancestor_fails(repository, wheels):
    source = repository / "protocol" / "codes.json"
    source.write_text(source.read_text("utf-8").replace('"stale_revision": 400', "").replace("rulith-codes/1", "rulith-codes/1 "), "utf-8")
    assert build(repository, wheels, "--generate").returncode == 0
    first = git(repository, "rev-list", "--max-parents=0", "HEAD")
    damage_commit(repository, first)
    done = build(repository, wheels, "--check")
    assert done.returncode == 1 and "codes.json" in done.stderr

    git(repository, "checkout", "-q", "-f", "HEAD")
    git(repository, "checkout", "-q", "-b", "aside")
    (repository / "note").write_text("x")
    aside = commit(repository, "Aside")
    git(repository, "checkout", "-q", "-")
    damage_commit(repository, aside)
    done = build(repository, wheels, "--check")
    assert done.returncode == 1 and "no ancestor" in done.stderr


def test_a_shallow_clone_that_lacks_the_pin_skips_with_a_line(repository, wheels, tmp_path):
    shallow = tmp_path / "shallow"
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{repository}", str(shallow))
    done = build(shallow, wheels, "--check", "--require-pin")
    assert done.returncode == 0, done.stderr
    assert "this shallow clone lacks; not compared" in done.stdout


def test_no_repository_skips_with_a_line(repository, wheels, tmp_path):
    plain = tmp_path / "plain"
    shutil.copytree(repository, plain, ignore=shutil.ignore_patterns(".git"))
    done = build(plain, wheels, "--check", "--require-pin")
    assert done.returncode == 0 and "is no repository, so not compared" in done.stdout
    for path in (tmp_path / "nowhere", plain / "protocol"):
        done = build(repository, wheels, "--check", repository=path)
        assert done.returncode == 0 and "is no repository" in done.stdout


def test_another_repository_around_is_not_ours(repository, wheels, tmp_path):
    outer = tmp_path / "outer"
    inner = outer / "vendor" / "rulith"
    shutil.copytree(repository, inner, ignore=shutil.ignore_patterns(".git"))
    git(outer, "init", "-q")
    commit(outer, "Vendor it")
    done = build(inner, wheels, "--check")
    assert done.returncode == 0 and "inside another repository" in done.stdout


def test_the_named_repository_is_the_one_compared_with(repository, wheels, tmp_path):
    plain = tmp_path / "plain"
    shutil.copytree(repository, plain, ignore=shutil.ignore_patterns(".git"))
    done = build(plain, wheels, "--check", repository=repository)
    assert done.returncode == 0 and "pinned to" in done.stdout and "not compared" not in done.stdout
    empty = tmp_path / "empty"
    empty.mkdir()
    git(empty, "init", "-q")
    (empty / "x").write_text("x")
    commit(empty, "Something else")
    done = build(plain, wheels, "--check", repository=empty)
    assert done.returncode == 1 and "cannot resolve" in done.stderr


def test_a_wheel_with_other_bytes_stops_the_build(checkout, wheels, tmp_path):
    bad = tmp_path / "wheels"
    shutil.copytree(wheels, bad)
    victim = next(bad.glob("h11-*.whl"))
    victim.write_bytes(victim.read_bytes() + b"\0")
    done = build(ROOT, bad, "--out", str(tmp_path / "x.pyz"))
    assert done.returncode != 0 and "SHA-256" in done.stderr and not (tmp_path / "x.pyz").exists()
    victim.unlink()
    done = build(ROOT, bad, "--out", str(tmp_path / "x.pyz"))
    assert done.returncode != 0 and "lacks the pinned wheels of h11" in done.stderr


def test_pins_of_the_project_and_of_the_bundle_are_the_same(checkout, wheels):
    path = checkout / "pyproject.toml"
    path.write_text(path.read_text("utf-8").replace("h11==0.16.0", "h11==0.15.0"), "utf-8")
    done = build(checkout, wheels, "--check")
    assert done.returncode == 1 and "pins h11 0.15.0" in done.stderr
