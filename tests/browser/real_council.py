"""A council behind the real workbench: the person's acts through the page's own API, agents' acts over MCP with their keys."""

from __future__ import annotations

import json
import subprocess
import urllib.request
from pathlib import Path

GIT = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@example.org", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@example.org", "PATH": "/usr/bin:/bin"}


def repository(folder: Path) -> Path:
    """A small repository with one commit and a change that is not in it."""
    folder.mkdir(parents=True)
    (folder / "pay.py").write_text("def pay(cents):\n    return cents\n")
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "first"]):
        subprocess.run(["git", *words], cwd=folder, env={**GIT, "HOME": str(folder.parent)}, check=True)
    (folder / "pay.py").write_text("def pay(cents):\n    return cents + 1\n")
    return folder


class RealCouncil:
    def __init__(self, bench) -> None:
        self.bench, self.keys = bench, {}
        key = bench.url.partition("?k=")[2]
        self._token = self._post("/api/token", {}, key)["token"]

    def _post(self, path: str, body: dict, token: str) -> dict:
        request = urllib.request.Request(self.bench.origin + path, json.dumps(body).encode(), {"content-type": "application/json", "x-rulith-manager": token})
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)

    def does(self, name: str, /, **arguments):
        """One act of the person."""
        return self._post(f"/council/api/{name}", arguments, self._token)["result"]

    def agent(self, name: str, project_id: int, rooms: list[int], **about) -> int:
        made = self.does("create_agent", project_id=project_id, name=name, rooms=rooms, **about)
        self.keys[name] = made["api_key"]
        return made["agent_id"]

    def says(self, name: str, tool: str, /, **arguments) -> dict:
        """One tool call of an agent, over the council's own port."""
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
        headers = {"content-type": "application/json", "accept": "application/json, text/event-stream", "authorization": f"Bearer {self.keys[name]}"}
        request = urllib.request.Request(self.does("server_info")["mcp_url"], json.dumps(call).encode(), headers)
        with urllib.request.urlopen(request, timeout=60) as answer:
            told = json.load(answer)
        assert "result" in told and not told["result"].get("isError"), told
        return told["result"]

    def project(self, folder: Path, name: str = "Shop") -> tuple[int, int]:
        """(project, its first room)."""
        made = self.does("create_project", folder=str(folder), name=name)
        return made["id"], next(row["id"] for row in self.does("list_rooms") if row["project_id"] == made["id"])
