"""Packages of npm that hold a server, from a registry on loopback: what is installed, what is refused, what is left.

Source  the workbench surface, "npm" (§15)
"""

import asyncio
import json
import os
import shutil

import pytest

from rulith.base.errors import Refused
from rulith.workbench.tools_npm import FILESYSTEM, REGISTRY, Npm, Package, _checked

from tests.workbench.scripted_bench import Stage
from tests.workbench.scripted_registry import ScriptedRegistry, entry, integrity

needs_npm = pytest.mark.skipif(not (shutil.which("npm") and shutil.which("node")), reason="no npm here; .ci/run installs it")
NAME, MCP = "@example/echo", "io.example/echo"
ENVIRON = {name: value for name, value in os.environ.items() if name in ("PATH", "HOME", "TMPDIR")}


def laid(tmp_path, about=None, lock=None, program="index.js"):
    about = {"name": NAME, "version": "1.0.0", "bin": {"echo": "index.js"}, "mcpName": MCP, **(about or {})}
    folder = tmp_path / "node_modules" / NAME
    folder.mkdir(parents=True)
    (folder / "package.json").write_text(json.dumps(about))
    (folder / program).write_text("")
    row = {"version": "1.0.0", "integrity": "sha512-x", **(lock or {})}
    (tmp_path / "package-lock.json").write_text(json.dumps({"packages": {f"node_modules/{NAME}": row}}))
    return tmp_path


ASKED = Package(NAME, "1.0.0", "sha512-x", MCP)


def test_a_package_that_is_what_was_asked_for_gives_its_one_program(tmp_path):
    assert _checked(laid(tmp_path), ASKED) == f"node_modules/{NAME}/index.js"
    assert FILESYSTEM.integrity.startswith("sha512-") and REGISTRY == "https://registry.npmjs.org/"


@pytest.mark.parametrize(("about", "lock"), [
    ({"name": "other"}, {}), ({"version": "1.0.1"}, {}), ({"mcpName": "io.other/echo"}, {}), ({"mcpName": None}, {}), ({"bin": {"a": "index.js", "b": "index.js"}}, {}),
    ({"bin": {}}, {}), ({"bin": None}, {}), ({"bin": "../../../x.js"}, {}), ({"bin": "/etc/passwd"}, {}), ({"bin": "none.js"}, {}), ({"bin": "package.json"}, {}),
    ({}, {"integrity": "sha512-y"}), ({}, {"integrity": "sha1-x"}), ({}, {"integrity": None}), ({}, {"version": "2.0.0"}),
])
def test_a_package_that_is_another_one_is_refused(tmp_path, about, lock):
    with pytest.raises(Refused) as caught:
        _checked(laid(tmp_path, about, lock), ASKED)
    assert caught.value.code == "mcp_package_differs"


def test_without_npm_it_is_said_and_nothing_is_made(tmp_path):
    npm = Npm({"PATH": str(tmp_path)})
    with pytest.raises(Refused) as caught:
        asyncio.run(npm.install(tmp_path / "mcp", FILESYSTEM))
    row = npm.row()
    assert caught.value.code == "npm_missing" and row["available"] is False and "Node.js" in row["problem"] and not (tmp_path / "mcp").exists()


@needs_npm
@pytest.mark.timeout(240)
def test_the_registrys_package_is_installed_without_its_scripts_started_and_served(tmp_path):
    """From the search to a probe of the real program, with npm itself; the other packages are refused and leave nothing."""
    async def script():
        async with ScriptedRegistry() as there:
            content = there.publish(NAME, mcpName=MCP, scripts={"install": f"touch {tmp_path / 'ran'}", "postinstall": f"touch {tmp_path / 'ran'}"})
            there.entries = [entry(MCP, packages=[{"registryType": "npm", "identifier": NAME, "version": "1.0.0", "transport": {"type": "stdio"},
                                                   "environmentVariables": [{"name": "KEY", "isSecret": True}]}])]
            stage = Stage(tmp_path)
            stage.environ = {**ENVIRON, **there.environ}
            async with stage:
                await stage.up()
                ask = lambda path, body: stage.page.post(stage.at(f"mcp-services/{path}"), body)  # noqa: E731
                (row,) = (await stage.page.get(stage.at("mcp-services/search?search=echo")))["servers"]
                seen = await stage.page.get(stage.at(f"mcp-services/detail?name={row['name']}&version={row['version']}"))
                form = {"serverName": MCP, "version": "1.0.0", "optionId": "package.0", "reviewToken": seen["reviewToken"], "values": {"env:KEY": "a secret"}}
                status, prepared = await ask("prepare", form)
                assert status == 200, prepared
                looking = asyncio.ensure_future(ask("probe", {"name": "echo", "isNew": True, "mode": "registry", "preparationId": prepared["preparationId"]}))
                look = await stage.spawn.wait_for("worker", 2)
                look.child.tell({"type": "probe-tool", "tool": {"name": "echo", "description": "", "inputSchema": {"type": "object"}}})
                look.child.tell({"type": "probed", "truncated": False})
                probed = (await looking)[1]
                kept = (await ask("apply", {"probeId": probed["probeId"], "tools": [{"name": "echo", "kind": "read"}]}))[1]
                npm = Npm(stage.environ, stage.environ["RULITH_NPM_REGISTRY"])
                mcp = stage.profile.directory / "mcp"
                refusals = []
                (mcp / "packages" / "new-cut-short").mkdir()
                there.publish("@example/odd", bin={"a": "index.js", "b": "index.js"})
                for package in (Package("@example/odd", "1.0.0"), Package(NAME, "1.0.0", integrity(content + b"x")), Package("@example/none", "1.0.0")):
                    if package.name == NAME:
                        shutil.rmtree(mcp / "packages" / package.folder)
                    with pytest.raises(Refused) as caught:
                        await npm.install(mcp, package)
                    refusals.append(caught.value.code)
                return look.args[1], kept, refusals, sorted(path.name for path in (mcp / "packages").iterdir())
    question, kept, refusals, left = asyncio.run(asyncio.wait_for(script(), 200))
    source = json.loads(question)["source"]
    assert source["command"] == "node" and source["args"][0].endswith("node_modules/@example/echo/index.js") and source["env"] == {"KEY": "a secret"}
    assert "args" not in kept["service"] and "a secret" not in json.dumps(kept) and kept["service"]["registry"]["serverName"] == MCP
    assert not (tmp_path / "ran").exists(), "a script of the package was run"
    assert refusals == ["mcp_package_differs", "mcp_package_differs", "npm_failed"] and left == []
