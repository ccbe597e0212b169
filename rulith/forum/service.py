"""The council as one service on loopback: opens its file, knows its addresses, serves one port.

    /health     `ok`, for anyone of this machine
    /api/       the person's acts, behind the key of this run
    /mcp        the agents' tools, behind each agent's own key
    /ws         a socket that says when an agent is needed, behind the same key

What was sent to another name, or by a page of another origin, gets 403; an address that is
not here gets 404, so that no client looks for a way to sign in.

Source  the council surface, "Parts and surfaces", "HTTP and MCP transport"
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from rulith.base.clock import Clock
from rulith.base.errors import Refused
from rulith.disk.atomic import make_folder
from rulith.disk.home import Home
from rulith.forum import api, mcp, socket
from rulith.forum.api import PersonApi
from rulith.forum.files import ProjectFolder
from rulith.forum.forum import Folder, Forum
from rulith.forum.mcp_tools import CouncilTools
from rulith.forum.staying import Staying
from rulith.forum.supervisor import Supervisor
from rulith.net.loopback import is_foreign_host, is_foreign_page
from rulith.net.messages import Request, Response, StreamResponse, text_response
from rulith.net.server import Server, serve
from rulith.store.council_db import CouncilDb

HOST, PORTS = "127.0.0.1", (8787, 8788, 8789, 8790, 8791, 0)


class Surface(Protocol):
    def head_check(self, request: Request) -> Response | None: ...
    async def handle(self, request: Request) -> Response | StreamResponse: ...


class Health:
    """Whether it answers at all."""

    def head_check(self, request: Request) -> Response | None:
        return None if request.method in ("GET", "HEAD") else text_response(405, "ask with GET", [("allow", "GET, HEAD")])

    async def handle(self, request: Request) -> Response:
        return text_response(200, "ok")


class Council:
    """All of it, over one forum.

    surfaces   path -> what answers there; a path with a final / answers for everything below it
    watcher    its command line, which agents are told; None where there is none
    supervisor what keeps agents awake once it listens
    """

    def __init__(self, forum: Forum, key: str, watcher: Sequence[str] | None = None, supervisor: Supervisor | None = None) -> None:
        self.forum, self.key, self.supervisor = forum, key, supervisor
        self.api = PersonApi(forum, key)
        self.mcp = mcp.CouncilMcp(forum, CouncilTools(forum, Staying(watcher)))
        self.surfaces: dict[str, Surface] = {"/health": Health(), api.PREFIX: self.api, mcp.PATH: self.mcp, socket.PATH: socket.WakeSocket(forum)}
        self._server: Server | None = None

    async def listen(self, ports: tuple[int, ...] = PORTS) -> str:
        """Serve at the first of these ports that is free; the address. Raises Refused: port_in_use, address_unusable."""
        for port in ports:
            try:
                self._server = await serve(self.handle, HOST, port, head_check=self.head_check)
                break
            except Refused as refusal:
                if refusal.code != "port_in_use" or port == ports[-1]:
                    raise
        assert self._server is not None, "no port was named"
        self.api.url = f"http://{HOST}:{self.port}"
        if self.supervisor is not None:
            await self.supervisor.begin(f"{self.api.url}{mcp.PATH}")
        return self.api.url

    @property
    def port(self) -> int:
        return self._server.port if self._server is not None else 0

    def head_check(self, request: Request) -> Response | None:
        if is_foreign_host(request) or is_foreign_page(request):
            host, origin = (request.headers.get("host") or "no name")[:80], (request.headers.get("origin") or "a program")[:80]
            return api.refused(Refused("council_foreign", host=host, origin=origin))
        surface = self._surface(request.path)
        if surface is None:
            return api.refused(Refused("council_not_found", what="address", name=repr(request.path[:80])))
        return surface.head_check(request)

    async def handle(self, request: Request) -> Response | StreamResponse:
        surface = self._surface(request.path)
        assert surface is not None, "the head check let an unknown address pass"
        return await surface.handle(request)

    def _surface(self, path: str) -> Surface | None:
        found = self.surfaces.get(path) if not path.endswith("/") else None
        return found or next((each for prefix, each in self.surfaces.items() if prefix.endswith("/") and path.startswith(prefix)), None)

    async def close(self) -> None:
        """Let the agents go that are kept awake, stop answering, end what is held open, let the file go. What was answered is kept already."""
        if self.supervisor is not None:
            await self.supervisor.close()
        if self._server is not None:
            await self._server.close(drain_s=0.5)
        self.forum.db.close()


def open_council(home: Home, clock: Clock, key: str, *, folder: Callable[[str], Folder] = ProjectFolder,
                 watcher: Sequence[str] | None = None) -> Council:
    """Open the home's council, made where there is none. Raises Refused: home_unusable, council_in_use, council_damaged, council_newer, store_…"""
    home.prepare()
    make_folder(home.council)
    db = CouncilDb.open(home.council / "council.db", clock)
    try:
        forum = Forum(db, clock, folder=lambda path: _apart(folder(path), home.path))
        return Council(forum, key, watcher, Supervisor(forum, home.council / "awake", home.logs, clock))
    except BaseException:
        db.close()
        raise


def _apart(folder: Folder, home: Path) -> Folder:
    """The folder, if no look into it shows the home, whose keys are the person's. Raises Refused council_invalid."""
    if _holds(folder.path, home) or _holds(home, folder.path):
        raise Refused("council_invalid", problem=f"the folder {folder.path} and {home}, where this program keeps its keys, lie in each other")
    return folder


def _holds(outer: Path | str, inner: Path | str) -> bool:
    """Whether `inner` is `outer` or lies below it, whatever names lead there."""
    try:
        place = Path(os.path.realpath(inner))
        return any(os.path.samefile(outer, each) for each in (place, *place.parents))
    except OSError:
        return False                          # one of them is not there, so it shows nothing
