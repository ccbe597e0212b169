"""docs/worker.md, "A Worker that reaches out", followed to the letter with the built file.

A database read, an HTTP write that a person approves and a tool of an MCP server carry one
Case to its close; and the same with a server that the official SDK serves in place of the
page's own, whose word then stands attested in the Case's proof.
"""

from __future__ import annotations

import json
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.test_docs import section
from tests.interop.peers import sdk_python
from tests.product.kept_home import end, running_home, wait

HEADING = "A Worker that reaches out"
JOB = ("agent", "--driver", "board", "--case-type", "reorder", "--business-key")
pytestmark = [pytest.mark.skipif(sys.platform == "win32", reason="the page's commands are a POSIX shell's"), pytest.mark.timeout(240)]

SDK_PRICES = """
import sys
from mcp.server.mcpserver import MCPServer
server = MCPServer("prices")

@server.tool()
def price(sku: str) -> dict:
    return {"rows": [{"sku": sku, "cents": 12}]}

server.run("stdio")
"""


def blocks() -> dict[str, str]:
    """The page's fenced blocks by the file they make, or by their first words."""
    found = {}
    for language, body in re.findall(r"^[ ]*```(\w+)\n(.*?)^[ ]*```", section("docs/worker.md", HEADING), re.MULTILINE | re.DOTALL):
        if language == "python":
            found["depot.py" if "class Depot" in body else "prices.py"] = body
        elif language == "json":
            found["reorder.json" if '"acme.reorder"' in body else "worker-tools.json"] = body
        else:
            found[" ".join(body.split()[:3])] = body
    return found


def lay_out(folder: Path, port: int) -> None:
    """The files of the page, in a folder as it says."""
    folder.mkdir()
    page = blocks()
    for name in ("depot.py", "prices.py", "worker-tools.json", "reorder.json"):
        (folder / name).write_text(page.pop(name).replace("8765", str(port)), "utf-8")
    shell = [body for start, body in page.items() if not start.startswith("python3 rulith.pyz")]
    assert len(shell) == 2, list(page)
    for body in shell:
        done = subprocess.run(["sh", "-euc", body.replace("8765", str(port))], cwd=folder, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
    assert (folder / "shelf.db").exists() and (folder / "worker-secrets.json").stat().st_mode & 0o777 == 0o600


def job(product, home, sku: str, folder: Path):
    """The page's own command, for one article."""
    (command,) = [body for body in blocks().values() if "agent --driver board" in body]
    words = command.split("python3 rulith.pyz ")[1]
    assert words.startswith(" ".join(JOB)) and "bolt-8" in words
    return product.run(*JOB, json.dumps({"sku": sku}), "keep the shelf full", cwd=folder, env={"RULITH_HOME": str(home.path)})


def set_up(console, home, folder: Path):
    """What the page has a person do in the Console; the Worker that its lines start."""
    text = (folder / "reorder.json").read_text("utf-8")
    checked = console.ask("capability-check", {"text": text})["result"]
    assert checked["problems"] == [], checked
    console.ask("capability-install", {"text": text, "digest": checked["release"]["digest"], "replaces": ""})
    agent = console.ask("admin")["admin"]["agents"][0]["id"]
    line = console.ask("connection-create", {"name": "reorder", "agentId": agent})["result"]
    worker = home.start_worker(folder, RULITH_CONNECTION=line["id"], RULITH_CONNECTION_KEY=line["key"])
    offered = wait(lambda: {row["id"]: row for row in next(
        each for each in console.ask("admin")["admin"]["connections"] if each["id"] == line["id"])["tools"] if row["id"].startswith("acme.reorder.")}, "its Tools")
    for name, kind, predicate in (("shelf", "db", "on_shelf"), ("prices", "mcp", "priced"), ("depot", "http", "ordered")):
        console.ask("source-add", {"connectionId": line["id"], "name": name, "type": kind, "access": "vault", "tier": "attested",
                                   "attests": [f"acme.reorder.{predicate}"]})
    for tool, row in offered.items():
        console.ask("tool-lock", {"connectionId": line["id"], "toolId": tool, "digest": row["offered"] if "offered" in row else row["digest"], "replaces": ""})
    assert len(offered) == 3
    return worker


@pytest.fixture
def port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


@pytest.mark.parametrize("prices", ["the page's", "the official SDK's"])
def test_the_page_carries_a_case_from_three_far_places_to_its_proof(product, tmp_path, port, prices):
    folder = tmp_path / "reorder"
    lay_out(folder, port)
    if prices != "the page's":
        (folder / "prices.py").write_text(SDK_PRICES, "utf-8")
        vault = json.loads((folder / "worker-secrets.json").read_text())
        vault["prices"]["command"] = sdk_python(2)
        (folder / "worker-secrets.json").write_text(json.dumps(vault))
    depot = subprocess.Popen([sys.executable, "depot.py"], cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        with running_home(product, tmp_path, worker=False) as home:
            console = home.console(tmp_path)
            set_up(console, home, folder)
            waiting = job(product, home, "bolt-8", folder)
            assert waiting.status == 11, waiting
            (row,) = [row for row in console.ask("state")["decisions"] if row["state"] == "pending"]
            assert json.loads(row["argsText"]) == {"sku": "bolt-8", "units": 7, "cents": 84, "source": "depot"}
            assert console.ask("decide", {"id": row["id"], "verdict": "approve", "argumentDigest": row["argumentDigest"]})["ok"]
            done = job(product, home, "bolt-8", folder)
            assert done.status == 0, f"{done}\n{(folder / 'worker.log').read_text()}"
            (case,) = [row for row in home.state()["cases"] if row["caseType"] == "reorder"]
            receipt = home.local(f"receipt?case={case['caseId']}")
            enough = job(product, home, "nut-8", folder)
            assert enough.status == 0, enough
    finally:
        end(depot)
    said = json.dumps(receipt)
    for predicate, source in (("on_shelf", "shelf"), ("priced", "prices"), ("ordered", "depot")):
        assert f"acme.reorder.{predicate}" in said and f'"{source}"' in said
    assert receipt["case"]["certified"] is True and "depot-secret" not in said
    (tmp_path / "receipt.json").write_text(said, "utf-8")
    verified = product.run("verify", str(tmp_path / "receipt.json"), cwd=tmp_path)
    assert verified.status == 0, verified
    log = (folder / "worker.log").read_text("utf-8")
    assert "depot-secret" not in log
