"""Worker tools · manage, in a browser: a folder's server from its look to a read through the Worker; a Tool declared; the registry.

The server is npm's own filesystem server, put where the workbench would install it; the person authorizes
by the Console's API. The registry is one on loopback.

Source  the workbench surface, "Worker tools and MCP services" (§15); the design's rules on the person's authority
"""

from __future__ import annotations

import asyncio
import json
import threading
import urllib.request
from pathlib import Path

import pytest

from rulith.base.canonical import digest
from rulith.workbench.tools_npm import FILESYSTEM

from tests.browser.axe import violations
from tests.browser.real_bench import ROOT, Bench, Watched, expect
from tests.product.kept_home import Console
from tests.workbench.scripted_registry import ScriptedRegistry, entry

pytestmark = pytest.mark.timeout(240)
SERVER = ROOT / ".conformance" / "node_modules" / FILESYSTEM.name
NPM = {"registryType": "npm", "identifier": "@example/echo", "version": "1.0.0", "transport": {"type": "stdio"}, "environmentVariables": [{"name": "ECHO_KEY", "isSecret": True, "isRequired": True}]}


@pytest.fixture(scope="module")
def registry():
    """A registry in a loop and thread of its own: the browser's driver has this thread's."""
    made, loop = ScriptedRegistry(), asyncio.new_event_loop()
    made.entries = [entry("io.example/echo", packages=[NPM, {**NPM, "registryType": "pypi"}], title="<b>Echo</b>")]
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    asyncio.run_coroutine_threadsafe(made.__aenter__(), loop).result(30)
    yield made
    asyncio.run_coroutine_threadsafe(made.__aexit__(), loop).result(30)
    loop.call_soon_threadsafe(loop.stop)
    thread.join(30)
    loop.close()


@pytest.fixture(scope="module")
def bench(tmp_path_factory, registry):
    made = Bench(tmp_path_factory.mktemp("browser") / "home", **registry.environ)
    yield made
    assert made.end() == 0


class Host:
    """The Agent's side of the gateway: one MCP session, by bare requests."""

    def __init__(self, url: str, token: str) -> None:
        self.url, self.headers = f"{url}/mcp", {"authorization": f"Bearer {token}", "content-type": "application/json", "accept": "application/json, text/event-stream"}
        self.asked = 0
        self.send("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}})

    def send(self, method: str, params: dict) -> dict:
        self.asked += 1
        request = urllib.request.Request(self.url, json.dumps({"jsonrpc": "2.0", "id": self.asked, "method": method, "params": params}).encode(), self.headers)
        with urllib.request.urlopen(request, timeout=60) as answer:
            self.headers.setdefault("mcp-session-id", answer.headers.get("mcp-session-id") or "")
            text = answer.read().decode()
        rows = [line[5:] for line in text.splitlines() if line.startswith("data:") and line[5:].strip()] or [text]
        return next(row["result"] for row in map(json.loads, rows) if row.get("id") == self.asked)

    def call(self, name: str, arguments: dict) -> dict:
        return json.loads(self.send("tools/call", {"name": name, "arguments": arguments})["content"][0]["text"])


def put_server(bench) -> Path:
    """npm's server where an installation would have put it."""
    if not SERVER.is_dir():
        pytest.skip("no filesystem server in .conformance; .ci/run installs it")
    profile = next((bench.home / "workbench" / "instances").iterdir())
    place = profile / "mcp" / "packages" / FILESYSTEM.folder
    place.mkdir(parents=True)
    (place / "node_modules").symlink_to(SERVER.parents[1])
    (place / "rulith-package.json").write_text(json.dumps({"entry": f"{FILESYSTEM.folder}/node_modules/{FILESYSTEM.name}/dist/index.js"}))
    return profile


def authorize(bench, profile: Path) -> tuple[str, dict]:
    """What the owner does in the Console: the Source, the locks, the Capability that was offered. The gateway's address and the Tools."""
    url = json.loads((bench.home / "run" / "gateway.json").read_text())["url"]
    token = json.loads((bench.home / "workbench" / "device.secrets.json").read_text())["token"]
    connection = json.loads((bench.home / "workbench" / "registry.json").read_text())["instances"][0]["connectionId"]
    owner = Console(url)
    bench_state = workbench_state(bench)
    owner.ask("setup", {"code": bench_state["console"]["setupCode"], "passphrase": Console.PASSPHRASE})
    request = urllib.request.Request(f"{url}/local/tools", headers={"authorization": f"Bearer {token}"})
    with urllib.request.urlopen(request, timeout=30) as answer:
        offered = json.load(answer)["connections"][0]["offered"]
    mine = {row["id"]: row for row in offered if row["id"].startswith("local.mcp.files.")}
    acts = [("tool-lock", {"connectionId": connection, "toolId": row["id"], "digest": row["digest"], "replaces": ""}) for row in mine.values()]
    (service,) = ask(bench, f"/i/{profile.name}/mcp-services/state")["services"]
    text = json.dumps(service["capability"])
    acts.append(("capability-install", {"text": text, "digest": digest(service["capability"]), "replaces": ""}))
    attests = service["definition"]["words"]
    acts.append(("source-add", {"connectionId": connection, "name": "files", "type": "mcp", "access": "vault", "tier": "attested", "attests": attests}))
    for act, body in acts:
        answer = owner.ask(act, body)
        assert answer["ok"], answer
    return url, mine


def ask(bench, path: str, body: dict | None = None) -> dict:
    headers = {"x-rulith-manager": bench.url.partition("k=")[2], "content-type": "application/json"}
    if path != "/api/token":
        headers["x-rulith-manager"] = ask(bench, "/api/token", {})["token"]
    with urllib.request.urlopen(urllib.request.Request(bench.origin + path, None if body is None else json.dumps(body).encode(), headers), timeout=60) as answer:
        return json.load(answer)


def workbench_state(bench) -> dict:
    return ask(bench, "/api/state")


def test_a_folder_is_looked_at_its_tools_chosen_authorized_and_read_through_the_worker(browser, bench, tmp_path):
    shelf = tmp_path / "shelf"
    shelf.mkdir()
    (shelf / "note.txt").write_text("seven units\n")
    with Watched(browser, bench) as page:
        page.get_by_role("link", name="Worker", exact=True).first.click()
        page.get_by_role("link", name="Manage Tools and MCP services").click()
        expect(page.get_by_role("heading", name="Tools of Assistant")).to_be_visible()
        profile = put_server(bench)
        page.reload()
        expect(page.get_by_role("heading", name="Add tools")).to_be_visible()
        page.get_by_label("Folder", exact=True).fill(str(shelf))
        page.get_by_label("Folder", exact=True).press("Enter")
        expect(page.get_by_role("heading", name="Tools of files")).to_be_visible(timeout=60_000)
        assert violations(page) == []
        page.get_by_label("read_text_file", exact=True).select_option("read")
        page.get_by_label("list_directory", exact=True).select_option("read")
        page.get_by_role("button", name="Keep 2 tools").press("Enter")
        expect(page.get_by_role("heading", name="Authorize it")).to_be_visible()
        row = page.locator(".pane-detail .case-row", has_text="read_text_file")
        expect(row).to_contain_text("not locked")
        with page.expect_download() as saving:
            page.get_by_role("link", name="Save the Source definition").click()
        saved = json.loads(Path(saving.value.path()).read_text())
        assert saved["name"] == "files" and len(saved["accessModes"]) == 2 and str(shelf) not in json.dumps(saved)
        assert violations(page) == []
        for _ in range(600):                                    # until the Worker, started anew, offers them
            state = ask(bench, f"/i/{profile.name}/state")
            if sum(each["id"].startswith("local.mcp.") and each["advertised"] for each in state["connection"]["tools"]) == 2:
                break
            page.wait_for_timeout(100)
        url, tools = authorize(bench, profile)
        expect(row).to_contain_text("locked, offered")
    host = Host(url, json.loads((profile / "agent.secrets.json").read_text())["RULITH_TOKEN"])
    assert host.call("OpenCase", {"caseType": "use_files", "businessKey": {"about": "how many"}})["accepted"]
    for path, told in ((shelf / "note.txt", "seven units"), (profile / "local.json", "outside allowed directories")):
        body = host.call("ApplyAction", {"action": "local.files.read_text_file", "args": {"source": "files", "path": str(path)}})
        assert told in json.dumps(body), body
    assert len(tools) == 2


def test_what_is_refused_stands_in_its_form_and_a_tool_is_declared_changed_and_removed(browser, bench):
    with Watched(browser, bench, quiet=False, width=390, height=844) as page:     # a browser says each 4xx on its console
        profile = next((bench.home / "workbench" / "instances").iterdir())
        manifest = profile / "workspace" / "worker-tools.json"
        page.route("**/worker-tools/state", lambda route: route.fulfill(status=502, json={"ok": False, "teaching": "Nobody answers."}))
        page.goto(f"{bench.origin}/#/tools/{profile.name}")
        expect(page.get_by_role("alert")).to_contain_text("The Tools could not be read")
        expect(page.get_by_role("button", name="Agents and rooms")).to_be_visible()         # the way out stands there as well
        page.unroute("**/worker-tools/state")
        page.goto(f"{bench.origin}/#/tools/{profile.name}/add")
        page.reload()
        page.get_by_label("Name", exact=True).nth(1).fill("home")
        page.get_by_label("Command").fill("cat")
        page.get_by_label("Arguments, one a line").fill(str(bench.home))
        page.get_by_role("button", name="Look at the server").press("Enter")
        expect(page.get_by_role("alert")).to_contain_text("mcp_probe_failed", timeout=60_000)
        expect(page.get_by_role("alert")).to_contain_text("it contains the Tool Manifest")
        expect(page.get_by_label("Command")).to_have_value("cat")
        assert violations(page) == []
        page.get_by_role("link", name="Your own program").click()
        page.get_by_label("Id").fill("acme.stock.count@1")
        page.get_by_label("Parameters, one a line").fill("sku: text")
        page.get_by_role("button", name="Save the Tool").click()
        expect(page.get_by_role("alert")).to_contain_text("'sku' must be string, number, boolean or json")
        page.get_by_label("Parameters, one a line").fill("sku: string\ndeep: boolean?")
        page.get_by_role("button", name="Save the Tool").click()
        expect(page.get_by_role("heading", name="acme.stock.count@1")).to_be_visible()
        assert json.loads(manifest.read_text())["tools"]["acme.stock.count@1"]["params"] == {"sku": "string", "deep": "boolean?"}
        page.get_by_text("As it is written").click()
        page.get_by_label("Definition").fill(json.dumps({**json.loads(manifest.read_text())["tools"]["acme.stock.count@1"], "tier": "perceived"}))
        page.get_by_role("button", name="Save the Tool").click()
        for _ in range(300):
            if "perceived" in manifest.read_text():
                break
            page.wait_for_timeout(100)
        assert violations(page) == []
        page.locator("summary", has_text="Remove this Tool").click()
        page.get_by_label("Type acme.stock.count@1 to go on").fill("acme.stock.count@1")
        page.get_by_label("Type acme.stock.count@1 to go on").press("Enter")
        expect(page.get_by_role("heading", name="Tools of Assistant")).to_be_visible()
        expect(page.get_by_text("acme.stock.count@1")).to_have_count(0)
        assert "acme.stock.count@1" not in manifest.read_text()


def test_the_registry_is_asked_on_a_press_alone_and_its_words_stay_words(browser, bench, registry):
    with Watched(browser, bench) as page:
        profile = next((bench.home / "workbench" / "instances").iterdir())
        page.goto(f"{bench.origin}/#/tools/{profile.name}/add")
        expect(page.get_by_role("heading", name="MCP Registry")).to_be_visible()
        assert [request.path for request in registry.asked if request.path.startswith("/v0.1")] == []
        page.get_by_label("Words of a server's name").fill("echo")
        page.get_by_label("Words of a server's name").press("Enter")
        page.get_by_role("link", name="<b>Echo</b>").click()
        expect(page.get_by_role("heading", name="<b>Echo</b>")).to_be_visible()
        expect(page.get_by_text("12,345 downloads last month")).to_be_visible()
        expect(page.get_by_text("Only npm packages that speak over stdio are installed from here.")).to_be_visible()
        assert page.get_by_label("ECHO_KEY").get_attribute("type") == "password"
        assert violations(page) == []
