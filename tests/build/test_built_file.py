"""The artefact itself. Duty: design D3, D8, §11; what the README promises of the one file."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import build_pyz

BARE = {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C"}


def run(pyz: Path, *words: str, cwd: Path, flags: tuple[str, ...] = ("-I", "-S"), env: dict | None = None):
    return subprocess.run(
        [sys.executable, *flags, str(pyz), *words], cwd=cwd, env=env or BARE, capture_output=True, encoding="utf-8", timeout=60
    )


def identity(pyz: Path, cwd: Path, **more) -> dict:
    done = run(pyz, "version", "--json", cwd=cwd, **more)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_manifest_and_the_file_itself_say_the_same(pyz, sources, tmp_path):
    manifest = json.loads(pyz.with_name("artifact-manifest.json").read_text("utf-8"))
    assert identity(pyz, tmp_path) == manifest
    data = pyz.read_bytes()
    assert manifest["size"] == len(data) <= 1_000_000
    assert manifest["sha256"] == hashlib.sha256(data).hexdigest()
    for name, digest in manifest["contracts"].items():
        content = (sources / "protocol" / f"{name}-contract.json").read_bytes()
        assert digest == "sha256:" + hashlib.sha256(content).hexdigest()


def test_one_build_equals_another(pyz, sources, wheels, tmp_path):
    """Another folder, umask, time zone, hash seed and offline wheels: the same bytes."""
    copy, elsewhere = tmp_path / "wheels elsewhere", tmp_path / "another folder"
    shutil.copytree(wheels, copy)
    shutil.copytree(sources, elsewhere)
    out = tmp_path / "again" / "rulith.pyz"
    done = subprocess.run(
        [sys.executable, "-c", "import os, runpy, sys; os.umask(0o077); sys.argv[1:] = sys.argv[1:]; "
         "runpy.run_path('build_pyz.py', run_name='__main__')", "--wheels", str(copy), "--out", str(out)],
        cwd=elsewhere, env={**os.environ, "TZ": "Asia/Kathmandu", "PYTHONHASHSEED": "7", "http_proxy": "http://127.0.0.1:9"},
        capture_output=True, text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    ours, theirs = zipfile.ZipFile(pyz), zipfile.ZipFile(out)
    assert ours.namelist() == theirs.namelist() == sorted(ours.namelist())
    different = [name for name in ours.namelist() if ours.read(name) != theirs.read(name)]
    assert not different, f"changed between the two builds: {different}"
    assert pyz.read_bytes() == out.read_bytes()


def test_it_runs_from_an_empty_directory_and_leaves_it_empty(pyz, tmp_path):
    empty = tmp_path / "empty"
    empty.mkdir()
    assert identity(pyz, empty)["version"]
    assert run(pyz, "--help", cwd=empty).returncode == 0
    assert list(empty.iterdir()) == []


def test_it_runs_from_a_path_with_blanks_and_letters_of_any_script(pyz, tmp_path):
    folder = tmp_path / "Ablage für Fälle 案件 ü"
    folder.mkdir()
    copy = shutil.copy(pyz, folder / "rulith kopie.pyz")
    assert identity(copy, folder) == identity(pyz, tmp_path)
    assert identity(Path("rulith kopie.pyz"), folder) == identity(pyz, tmp_path)


def test_it_runs_from_a_read_only_directory(pyz, tmp_path):
    folder = tmp_path / "fixed"
    folder.mkdir()
    copy = Path(shutil.copy(pyz, folder))
    copy.chmod(0o444)
    folder.chmod(0o555)
    try:
        assert identity(copy, folder)["sha256"]
        assert sorted(entry.name for entry in folder.iterdir()) == ["rulith.pyz"]
    finally:
        folder.chmod(0o755)


@pytest.mark.parametrize("flags", [(), ("-I",), ("-S",), ("-I", "-S"), ("-X", "utf8", "-W", "error")])
def test_it_runs_under_every_kind_of_interpreter_start(pyz, tmp_path, flags):
    assert identity(pyz, tmp_path, flags=flags)["name"] == "rulith"


def test_it_runs_as_a_program_and_through_a_link(pyz, tmp_path):
    if os.name == "nt":
        pytest.skip("no shebang there")
    link = tmp_path / "rulith"
    link.symlink_to(pyz)
    done = subprocess.run([str(link), "version", "--json"], cwd=tmp_path, capture_output=True, text=True,
                          env=BARE | {"PATH": f"{Path(sys.executable).parent}:{BARE['PATH']}"})
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["sha256"] == hashlib.sha256(pyz.read_bytes()).hexdigest()


def test_every_room_and_every_bundled_package_imports_from_inside(pyz, tmp_path):
    """A missing file, a namespace package or a site-packages twin would show here."""
    names = [name[:-3].replace("/", ".").removesuffix(".__init__") for _, name, _ in build_pyz.contents(pyz)
             if name.startswith("rulith/") and name.endswith(".py") and "/examples/" not in name]
    code = (
        "import importlib, runpy, sys\n"
        "pyz, *names = sys.argv[1:]; runpy.run_path(pyz, run_name='loaded')\n"
        "for name in names + ['h11', 'wsproto', 'certifi', 'ecdsa', 'six', 'keyring', 'jeepney', 'keyring.backends.macOS',\n"
        "                     'jaraco.functools', 'jaraco.context', 'jeepney.io.blocking']:\n"
        "    module = importlib.import_module(name)\n"
        "    assert module.__file__.startswith(pyz), module.__file__\n"
        "from rulith.base.resources import shipped\n"
        "for parts in (('protocol', 'mcp-contract.json'), ('protocol', 'worker-contract.json'), ('protocol', 'codes.json'),\n"
        "              ('protocol', 'capability.schema.json'), ('examples', 'verified-calculation', 'capability.json'),\n"
        "              ('ui_static', 'index.html')):\n"
        "    assert shipped(*parts).read_bytes(), parts\n"
        "import certifi, importlib.resources\n"
        "assert 'BEGIN CERTIFICATE' in importlib.resources.files('certifi').joinpath('cacert.pem').read_text('ascii')\n"
        "print(len(names))\n"
    )
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code, str(pyz), *names], cwd=tmp_path, env=BARE, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 50
    assert list(tmp_path.iterdir()) == []


def test_nothing_foreign_is_inside(pyz):
    names = [name for _, name, _ in build_pyz.contents(pyz)]
    assert not [name for name in names if re.search(r"\.(so|pyd|pyc|whl|db)$|__pycache__|(^|/)tests?/|protocol/(generate|pins)", name)]
    assert not [name for name in names if name.startswith("fastjsonschema")]
    licences = {name.split("/")[0] for name in names if re.search(r"licen[cs]e|copying", name, re.IGNORECASE)}
    for package in {name.split("/")[0] for name in names if ".dist-info/" in name}:
        assert package in licences, f"{package} ships without its licence"
    assert "LICENSE" in names


def test_a_message_fits_a_console_of_another_letter_set(pyz, tmp_path):
    done = run(pyz, "förgot", cwd=tmp_path, flags=("-S",), env=BARE | {"PYTHONIOENCODING": "ascii"})
    assert done.returncode == 2 and "has no verb" in done.stderr


def test_replacing_the_file_harms_no_process_that_started_from_it(pyz, tmp_path):
    """The build writes beside and renames; whoever runs keeps the old bytes."""
    running = Path(shutil.copy(pyz, tmp_path / "rulith.pyz"))
    code = (
        "import runpy, sys; runpy.run_path(sys.argv[1], run_name='loaded')\n"
        "import rulith.commands.version as version\n"
        "print('ready', flush=True); sys.stdin.readline(); print(version.VERSION)\n"
    )
    with subprocess.Popen([sys.executable, "-I", "-S", "-c", code, str(running)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True) as process:
        assert process.stdout.readline() == "ready\n"
        other = tmp_path / "other.pyz"
        other.write_bytes(b"#!/usr/bin/env python3\nnot a zip any more")
        os.replace(other, running)
        out, _ = process.communicate("\n", timeout=30)
    assert process.returncode == 0 and out.strip()


def addressed(pyz: Path, folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return Path(shutil.copy(pyz, folder / f"{hashlib.sha256(pyz.read_bytes()).hexdigest()}.pyz"))


def test_a_content_addressed_copy_keeps_its_compiled_modules(pyz, tmp_path):
    """Roles start from such a copy; compiling everything again each time would double their start."""
    copy = addressed(pyz, tmp_path / "bin")
    assert identity(copy, tmp_path) == identity(pyz, tmp_path)
    folder = copy.with_name(f"{copy.stem}.{sys.implementation.cache_tag}")
    kept = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert "rulith.commands.version.pyc" in kept and not [name for name in kept if not name.endswith(".pyc")]
    for name, damage in zip(sorted(kept), (b"", b"\0" * 500, kept[min(kept)][:20], b"x" * 2000)):
        (folder / name).write_bytes(damage)
    assert identity(copy, tmp_path)["name"] == "rulith"
    assert identity(copy, tmp_path, flags=("-I", "-S", "-O"))["name"] == "rulith"


def test_a_copy_that_cannot_keep_anything_runs_all_the_same(pyz, tmp_path):
    copy = addressed(pyz, tmp_path / "bin")
    copy.with_name(f"{copy.stem}.{sys.implementation.cache_tag}").write_text("in the way", "utf-8")
    assert identity(copy, tmp_path)["name"] == "rulith"
    other = addressed(pyz, tmp_path / "other")
    assert identity(other, tmp_path, flags=("-I", "-S", "-B"))["name"] == "rulith"
    assert sorted(path.name for path in other.parent.iterdir()) == [other.name]


def test_a_file_that_only_looks_content_addressed_is_compiled_afresh(pyz, tmp_path):
    copy = Path(shutil.copy(pyz, tmp_path / f"{'g' * 64}.pyz"))
    assert identity(copy, tmp_path)["name"] == "rulith"
    assert [path.name for path in tmp_path.iterdir()] == [copy.name]
