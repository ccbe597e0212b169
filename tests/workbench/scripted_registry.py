"""An MCP Registry, npm's download counts and npm's own registry on loopback, scripted: no test asks the real ones."""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import json
import tarfile
from urllib.parse import unquote

from rulith.net.messages import Request, Response, json_response
from rulith.net.server import serve

OFFICIAL = "io.modelcontextprotocol.registry/official"
SERVER = """
const lines = require("node:readline").createInterface({input: process.stdin});
const tool = {name: "echo", description: "Says it again.", inputSchema: {type: "object", properties: {text: {type: "string"}}, required: ["text"]}};
lines.on("line", (line) => {
  const {id, method, params} = JSON.parse(line);
  if (id === undefined) return;
  const answer = {initialize: () => ({protocolVersion: params.protocolVersion, capabilities: {tools: {}}, serverInfo: {name: "echo", version: "1"}}),
    "tools/list": () => ({tools: [tool]}), "tools/call": () => ({content: [{type: "text", text: params.arguments.text}]}), ping: () => ({})}[method];
  console.log(JSON.stringify({jsonrpc: "2.0", id, ...(answer ? {result: answer()} : {error: {code: -32601, message: "no such method"}})}));
});
"""


def entry(name="io.example/echo", version="1.0.0", status="active", **server):
    return {"server": {"name": name, "version": version, "description": "Says it again.", **server}, "_meta": {OFFICIAL: {"status": status}}}


def tarball(about: dict, files: dict[str, str]) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for path, text in {"package.json": json.dumps(about), **files}.items():
            info = tarfile.TarInfo(f"package/{path}")
            info.size = len(text.encode())
            tar.addfile(info, io.BytesIO(text.encode()))
    return gzip.compress(packed.getvalue(), mtime=0)


def integrity(content: bytes) -> str:
    return "sha512-" + base64.b64encode(hashlib.sha512(content).digest()).decode()


class ScriptedRegistry:
    """`entries` are what the MCP Registry holds, `packages` what npm's does: {name: (package.json, files)}."""

    def __init__(self) -> None:
        self.entries: list[dict] = []
        self.packages: dict[str, tuple[dict, dict[str, str]]] = {}
        self.answers: dict[str, Response] = {}       # by the first part of a path: in the place of what would be said
        self.asked: list[Request] = []
        self.server = None

    async def __aenter__(self) -> ScriptedRegistry:
        self.server = await serve(self.handle)
        self.url = f"http://127.0.0.1:{self.server.port}"
        return self

    async def __aexit__(self, *problem: object) -> None:
        await self.server.close(0)

    @property
    def environ(self) -> dict[str, str]:
        return {"RULITH_MCP_REGISTRY": self.url, "RULITH_NPM_REGISTRY": f"{self.url}/npm/", "RULITH_NPM_DOWNLOADS": f"{self.url}/downloads/"}

    def publish(self, name: str, version: str = "1.0.0", *, files: dict[str, str] | None = None, **about: object) -> bytes:
        """Put a package up; its tarball."""
        self.packages[name] = ({"name": name, "version": version, "bin": {"echo": "index.js"}, **about}, {"index.js": SERVER} if files is None else files)
        return tarball(*self.packages[name])

    async def handle(self, request: Request) -> Response:
        self.asked.append(request)
        first, _, rest = request.path.strip("/").partition("/")
        if first in self.answers:
            return self.answers[first]
        if first == "npm":
            return self._npm(unquote(rest))
        if first == "downloads":
            return json_response(200, {"downloads": 12345, "package": unquote(rest)})
        if rest == "servers":
            found = [each for each in self.entries if request.query.get("search", "") in each["server"]["name"]]
            begin = int(request.query.get("cursor") or 0)
            end = begin + int(request.query["limit"])
            return json_response(200, {"servers": found[begin:end], "metadata": {"nextCursor": str(end)} if end < len(found) else {}})
        name, _, version = unquote(rest.removeprefix("servers/")).partition("/versions/")
        for each in self.entries:
            if (each["server"]["name"], each["server"]["version"]) == (name, version):
                return json_response(200, each)
        return json_response(404, {"detail": "not found"})

    def _npm(self, path: str) -> Response:
        if path.endswith(".tgz"):
            return Response(200, [("content-type", "application/octet-stream")], tarball(*self.packages[path.removesuffix(".tgz")]))
        if path not in self.packages:
            return json_response(404, {"error": "not found"})
        about, files = self.packages[path]
        content = tarball(about, files)
        version = {**about, "dist": {"tarball": f"{self.url}/npm/{path}.tgz", "integrity": integrity(content), "shasum": hashlib.sha1(content).hexdigest()}}
        return json_response(200, {"name": path, "dist-tags": {"latest": about["version"]}, "versions": {about["version"]: version}})
