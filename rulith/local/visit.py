"""A visit to the gateway of a home from a terminal: read something, sign in, act, leave.

Uses the live gateway, or starts it for as long as the visit takes. The passphrase is read
without echo, goes to the gateway over loopback, and is kept nowhere.
"""

from __future__ import annotations

import asyncio
import getpass
import json
import sys
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, TypeVar

from rulith.base.errors import Refused
from rulith.disk.archive import kept_archive
from rulith.disk.home import Home
from rulith.local.console import ConsoleSession, accepted
from rulith.local.gateway import LocalGateway, find_or_start_gateway
from rulith.net.client import HttpClient, NetFailed

GUESSES = 3
T = TypeVar("T")


class GatewayVisit:
    """The home's gateway, and a loop that runs only while something is asked of it.

    In between the terminal has this thread, so that Ctrl-C at a prompt ends the program.
    """

    def __init__(self, home: Home) -> None:
        if not home.ledger.exists():
            raise Refused("home_without_ledger", home=home.path)
        self.home = home
        self._loop = asyncio.new_event_loop()

    def __enter__(self) -> GatewayVisit:
        try:
            self._client: HttpClient = self._call(HttpClient)
            self.gateway: LocalGateway = self.run(find_or_start_gateway(self.home, archive=kept_archive(self.home)))
        except BaseException:
            self._loop.close()
            raise
        return self

    def __exit__(self, *problem: object) -> None:
        try:
            self.run(self._client.close())
            self.run(self.gateway.stop())
        finally:
            self._loop.close()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self._loop.run_until_complete(work)

    def _call(self, make: Callable[[], T]) -> T:
        async def made() -> T:
            return make()

        return self.run(made())

    def state(self) -> dict:
        return self.read("state")

    def read(self, path: str, query: Mapping[str, str] | None = None) -> dict:
        """The object at `/local/<path>`. Raises Refused as the gateway does."""
        return self.run(self.gateway.read(self._client, path, query))

    def document(self, path: str, absent: str) -> dict | None:
        """What `/local/<path>` tells, or None where it answers with the code `absent`. Raises Refused as the gateway does."""
        async def asked() -> dict | None:
            headers = {"authorization": f"Bearer {self.gateway.grant}"}
            try:
                answer = await self._client.request("GET", f"{self.gateway.url}/local/{path}", headers, timeout_s=30.0)
            except NetFailed as problem:
                raise Refused("gateway_not_ready", problem=problem.detail) from None
            if answer.status == 404 and absent.encode() in answer.body:
                return None
            if answer.status != 200:
                raise Refused("gateway_answer", path=f"/local/{path.partition('?')[0]}", problem=f"status {answer.status}")
            return json.loads(answer.body)

        return self.run(asked())

    def signed_in(self, work: Callable[[ConsoleSession], int]) -> int:
        """`work` with a session that a person has signed in on this terminal; it is signed out afterwards."""
        state = self.state()
        if not state["passphraseSet"]:
            raise Refused("passphrase_not_chosen", console=f"{self.gateway.url}/console/", how=self._how_to_choose())
        console = ConsoleSession(self._client, self.gateway.url)
        try:
            self._sign_in(console, name_needed=state["nameNeeded"])
            return work(console)
        finally:
            self.run(console.sign_out())

    def asked(self, console: ConsoleSession, route: str, body: dict) -> dict:
        """The answer of one act. Raises Refused as the gateway does."""
        return accepted(self.run(console.post(route, body)))

    def _sign_in(self, console: ConsoleSession, *, name_needed: bool) -> None:
        """Ask for the passphrase until it is right, at most three times; first for the name where several people sign in there."""
        name = input("Your name on this gateway: ").strip() if name_needed else ""
        for _ in range(GUESSES):
            answer = self.run(console.sign_in(getpass.getpass("Approval passphrase: "), name))
            if answer["ok"]:
                return
            if answer.get("errorCode") != "passphrase_wrong":
                break
            sys.stderr.write(f"{answer.get('teaching')}\n")
        accepted(answer)

    def _how_to_choose(self) -> str:
        if self.gateway.process is None:
            return (f"Open {self.gateway.url}/console/ and enter the setup code there; the page that `rulith start` opened shows it, and "
                    "`rulith gateway` prints it on its terminal")
        return (f"Run `rulith gateway --home {self.home.path}` in another terminal: it prints a setup code and the Console's address; "
                "choose the passphrase there (or run `rulith start`, whose page shows the code)")
