"""The built file alone, on another machine with the network off. Duty: done-when 6."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys

import pytest

from rulith.gateway.signing import Signer
from tests.receipts.office import KEY, SEED, paid_order


def offline() -> list[str]:
    """A namespace without any network where this system gives one, else nothing before the command."""
    tool = shutil.which("unshare")
    for words in ([tool, "-n"], [tool, "-r", "-n"]) if tool else ():
        if subprocess.run([*words, "true"], capture_output=True).returncode == 0:
            return words
    return []


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two files, and nothing else of the gateway."""
    found = tmp_path_factory.mktemp("elsewhere")
    (found / "receipt.json").write_text(json.dumps(paid_order()[1], indent=1))
    return found


def run(product, folder, *words: str) -> subprocess.CompletedProcess:
    shutil.copy(product.pyz, folder / "rulith.pyz")
    return subprocess.run([*offline(), sys.executable, "-I", "-S", "rulith.pyz", *words], cwd=folder, env={}, stdin=subprocess.DEVNULL,
                          capture_output=True, encoding="utf-8", timeout=60)


def test_the_one_file_verifies_a_receipt_with_no_network_no_home_and_no_environment(product, folder):
    done = run(product, folder, "verify", "receipt.json", "--key", Signer(SEED).public_hex)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "holds together" in done.stdout and "the key that was given" in done.stdout and "not pinned" not in done.stdout
    assert sorted(os.listdir(folder)) == ["receipt.json", "rulith.pyz"]


def test_an_altered_one_is_named_there_too(product, folder, tmp_path):
    document = json.loads((folder / "receipt.json").read_text())
    document["conclusions"][0]["premises"][-1]["args"]["order"] = "A-2"
    (tmp_path / "receipt.json").write_text(json.dumps(document))
    (tmp_path / "connection.key").write_text(KEY)
    done = run(product, tmp_path, "verify", "receipt.json", "--connection-key", "connection.key", "--json")
    told = json.loads(done.stdout)
    assert done.returncode == 1 and told["problems"][0]["place"].startswith("proof of "), told


def test_it_explains_there_too(product, folder):
    done = run(product, folder, "explain", "receipt.json", "--depth", "1")
    assert done.returncode == 0 and "What it rests on:" in done.stdout and "not shown" in done.stdout
