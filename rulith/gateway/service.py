"""The gateway as one service: opens the ledger, wires its rooms, serves one port.

Promises: everything is folded before the port answers; at the end what is staged is
committed and the ledger let go. Decides nothing.

Source  the design's plan of parts (§1, §10).
"""

from __future__ import annotations

import asyncio
import ssl
import sys
from collections.abc import Mapping
from pathlib import Path

from rulith import VERSION
from rulith.base.clock import Clock
from rulith.base.errors import Refused
from rulith.base.log import Log, read_log_form
from rulith.base.ids import mint_setup_code
from rulith.disk.home import Home
from rulith.disk.ledger_place import keep_place
from rulith.gateway import console_api, local_api, mcp, metrics, worker_line
from rulith.gateway.access_api import METHODS as ACCESS_PATHS, AccessApi
from rulith.gateway.access_devices import PREFIX as DEVICES, Devices
from rulith.gateway.administration import Administration
from rulith.gateway.artifacts import ArtifactDesk
from rulith.gateway.authority import Authority
from rulith.gateway.calls import ToolCalls
from rulith.gateway.case_acts import CaseActs
from rulith.gateway.console_admin import ConsoleAdmin
from rulith.gateway.console_api import Console
from rulith.gateway.console_cases import ConsoleCases
from rulith.gateway.dropbox import DropBox, boxes_of
from rulith.gateway.files import seed_files
from rulith.gateway.front import Front
from rulith.gateway.first_start import check_ledger_file, check_own, gateway_secrets
from rulith.gateway.local_api import LocalApi
from rulith.gateway.mcp import McpSurface
from rulith.gateway.metrics import Metrics
from rulith.gateway.people import People
from rulith.gateway.receipts import TerminalReceipts
from rulith.gateway.seed import seed, signing_seed
from rulith.gateway.settings import Settings, read_settings
from rulith.gateway.signing import Signer
from rulith.gateway.worker_line import WorkerLine
from rulith.gateway.worker_materials import MaterialRoutes
from rulith.gateway.worker_work import WorkerWork
from rulith.net.messages import Request, Response, StreamResponse, json_response
from rulith.net.server import Server, serve
from rulith.store.ledger import Ledger
from rulith.wire.contract import check_arguments, mcp_contract

SERVER_INFO = {"name": "rulith-gateway", "version": VERSION}


class Rested:
    """A room that looks at whole Boards: each request waits until no long command runs on any of them."""

    def __init__(self, authority: Authority, room) -> None:
        self._authority, self._room, self.head_check = authority, room, room.head_check

    async def handle(self, request: Request) -> Response | StreamResponse:
        try:
            await self._authority.rested()
        except Refused as refusal:
            return json_response(503, {"ok": False, "errorCode": refusal.code, "teaching": refusal.teaching}, [("retry-after", "1")])
        return await self._room.handle(request)


class Gateway:
    """All of it, over one authority.

    genesis      whether this run seeded a fresh ledger
    setup_code   the code of this run while no passphrase exists, else None
    """

    def __init__(self, authority: Authority, signer: Signer, settings: Settings, home: Home, *, genesis: bool = False,
                 log: Log | None = None, dropboxes: Mapping[str, str] | None = None) -> None:
        self.authority = authority
        self.genesis = genesis
        self._code = mint_setup_code()
        contract = mcp_contract()
        receipts = TerminalReceipts(authority, signer)
        desk = ArtifactDesk(authority)
        self.calls = ToolCalls(authority, receipts, desk, names=contract.tool_names, check_input=check_arguments,
                               hold_s=settings.hold_s)
        self.surface = McpSurface(authority, self.calls, tools=[tool.listing() for tool in contract.tools],
                                  server_info=SERVER_INFO,
                                  required_client={"package": "rulith", "version": VERSION,
                                                   "install": f"rulith.pyz {VERSION}"})
        work = WorkerWork(authority, settled=self.calls.note_affected, permits=desk.permissions)
        self.line = WorkerLine(authority, work,
                               lease=settings.lease, poll_hold_s=settings.poll_hold_s)
        self.line.asks_reviews = settings.reviews
        self.line.came = lambda connection_id, offered: seed_files(authority, home, connection_id, offered)
        self.line.materials = MaterialRoutes(desk, work, check_holder=self.line.check_holder, fence=self.line.fence)
        people = People(authority, self.calls, self.line)
        self.local = LocalApi(authority, self.calls, self.line, home.gateway)
        administration = Administration(authority, self.line, home, gateway_secrets(home), end_sessions=self.surface.end_sessions)
        devices = Devices(administration, signer.derived(b"devices"))
        access = AccessApi(administration, devices, authority.clock, signer.derived(b"access clients"))
        cases = ConsoleCases(CaseActs(authority, self.calls, receipts), self.local)
        self.console = Console(authority, people, self.local, ConsoleAdmin(administration, self.line), cases, access, self.line.orders,
                               setup_code=lambda: self.setup_code)
        self.log = log or Log(lambda: sys.stderr, authority.clock, role="gateway")
        self.log.secrets.add(*gateway_secrets(home).load().values())
        rooms = {mcp.PATH: ("mcp", self.surface, True), worker_line.PATH: ("work", self.line, True),
                 worker_line.PATH + "/": ("work", self.line, True), console_api.PREFIX: ("console", self.console, True),
                 local_api.PREFIX: ("local", self.local, True), DEVICES: ("devices", devices, True)}
        self.metrics = Metrics(authority, self.line, authority.clock, home)
        rooms |= {path: ("access", access, True) for path in ACCESS_PATHS}
        rooms[metrics.PATH] = ("metrics", self.metrics, False)
        rooms = {path: (name, room if name in ("mcp", "work") else Rested(authority, room), anywhere)
                 for path, (name, room, anywhere) in rooms.items()}
        self._front = Front(rooms, self.metrics, authority.clock, hosts=settings.hosts, per_s=settings.requests_per_s,
                            home_page=console_api.PREFIX, failed=lambda: authority.turns.abandon("a request failed inside"))
        self._servers: list[Server] = []
        folders = boxes_of({**dict(settings.dropboxes), **(dropboxes or {})}, authority.registry.connections)
        self.boxes = [DropBox(authority, self.line, work, connection_id=connection_id, folder=folder, window_s=settings.dropbox_window_s,
                              key=lambda name=connection_id: gateway_secrets(home).load().get(name),
                              memory=home.gateway / "dropbox" / f"{connection_id}.json", log=self.log)
                      for connection_id, folder in folders.items()]
        self._carrying: list[asyncio.Task] = []

    @property
    def setup_code(self) -> str | None:
        return None if self.authority.registry.is_set_up() else self._code

    async def listen(self, host: str, port: int, *, tls: ssl.SSLContext | None = None) -> Server:
        """Serve at one more address: plain on loopback, over `tls` anywhere. Raises Refused: port_in_use, address_unusable."""
        address = self._front.at(loopback=tls is None)
        server = await serve(address.handle, host, port, head_check=address.head_check, tls=tls, on_bug=self.log.bug)
        self._servers.append(server)
        if not self._carrying:
            self._carrying = [asyncio.ensure_future(box.run()) for box in self.boxes]
        return server

    async def close(self) -> None:
        """Stop answering, commit what is staged, let the ledger go."""
        self.line.close()
        self.line.materials.desk.close()
        self.authority.wake_all()           # held calls and polls look up, see the end and answer
        for carrying in self._carrying:
            carrying.cancel()
        if self._carrying:
            await asyncio.wait(self._carrying, timeout=1.0)
        for server in self._servers:
            await server.close(drain_s=0.5)
        try:
            await self.authority.rested()   # a command beside the loop ends by itself, and soon
        except Refused:
            pass
        self.authority.close()


def open_gateway(home: Home, clock: Clock, environ: Mapping[str, str], dropboxes: Mapping[str, str] | None = None) -> Gateway:
    """Open the home's ledger, note its place if that was named, seed it if it is fresh, and fold it. Needs a running loop.

    dropboxes  folders by Connection id, beside those of the settings
    Raises Refused: ledger_in_use, ledger_missing, ledger_unreadable, settings_malformed, dropbox_connection, vault_…
    """
    home.prepare()
    check_ledger_file(home)
    settings = read_settings(home.gateway_settings)
    signer = Signer(signing_seed(home))
    ledger = Ledger.open(home.ledger, clock)
    try:
        if ledger.chains():
            check_own(home)
        keep_place(home)
        authority = Authority(ledger, clock)
        genesis = seed(home, authority, environ)
        log = Log(lambda: sys.stderr, clock, role="gateway", form=read_log_form(environ))
        return Gateway(authority, signer, settings, home, genesis=genesis, log=log, dropboxes=dropboxes)
    except BaseException:
        ledger.close()
        raise
