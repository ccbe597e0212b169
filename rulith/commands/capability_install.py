"""The part of `rulith capability` that talks with a gateway and with the person at the terminal.

Uses the live gateway of the home, or starts it for as long as this takes. The passphrase is
read without echo, goes to the gateway over loopback, and is kept nowhere; the yes is bound
to the digest of the file that was shown and of the Release that it replaces.
"""

from __future__ import annotations

import asyncio
import getpass
import json
import sys
from collections.abc import Callable, Coroutine, Iterable, Mapping
from typing import Any, TypeVar

from rulith.base.errors import Refused
from rulith.base.plain_text import plain
from rulith.board.differences import capability_changes, changes_text
from rulith.disk.archive import kept_archive
from rulith.disk.home import Home
from rulith.local.console import ConsoleSession, accepted
from rulith.local.gateway import LocalGateway, find_or_start_gateway
from rulith.net.client import HttpClient, NetFailed

EXIT_OK, EXIT_ERRORS = 0, 1
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
        return self.run(self.gateway.read(self._client, "state"))

    def installed(self, capability_id: str) -> dict | None:
        """{version, digest, document} of the Release in force, or None. Raises Refused as the gateway does."""
        async def asked() -> dict | None:
            headers = {"authorization": f"Bearer {self.gateway.grant}"}
            try:
                answer = await self._client.request("GET", f"{self.gateway.url}/local/capability?id={capability_id}", headers, timeout_s=30.0)
            except NetFailed as problem:
                raise Refused("gateway_not_ready", problem=problem.detail) from None
            if answer.status == 404 and b"capability_not_installed" in answer.body:
                return None
            if answer.status != 200:
                raise Refused("gateway_answer", path="/local/capability", problem=f"status {answer.status}")
            return json.loads(answer.body)

        return self.run(asked())

    def console(self) -> ConsoleSession:
        return ConsoleSession(self._client, self.gateway.url)


def show_difference(home: Home, document: Mapping, release: Mapping, *, as_json: bool) -> int:
    """Print what installing `document` would change."""
    with GatewayVisit(home) as visit:
        before = visit.installed(release["id"])
    changes = capability_changes(before["document"] if before else None, document)
    if as_json:
        print(json.dumps({"release": dict(release), "installed": {name: before[name] for name in ("version", "digest")} if before else None,
                          "changes": [each.json() for each in changes]}, ensure_ascii=False))
        return EXIT_OK
    _tell([_heading(release, before), *_difference(release, before, changes_text(changes))])
    return EXIT_OK


def _heading(release: Mapping, before: Mapping | None) -> str:
    if before is None:
        return f"{release['id']} {release['version']}, not installed yet"
    moved = f"{before['version']} → " if before["digest"] != release["digest"] else ""
    return f"{release['id']} {moved}{release['version']}"


def _difference(release: Mapping, before: Mapping | None, lines: Iterable[str]) -> list[str]:
    if before and before["digest"] == release["digest"]:
        return ["This very Release is installed; nothing differs."]
    return list(lines) or ["Only how the file is written differs."]


def install(home: Home, text: str, release: Mapping) -> int:
    """Sign in, show, ask, install; say what is still to be set up. The caller has seen that this is a terminal."""
    with GatewayVisit(home) as visit:
        state = visit.state()
        if not state["passphraseSet"]:
            raise Refused("passphrase_not_chosen", console=f"{visit.gateway.url}/console/", how=_how_to_choose(visit))
        console = visit.console()
        try:
            _sign_in(visit, console, name_needed=state["nameNeeded"])
            return _show_and_install(visit, console, text, release)
        finally:
            visit.run(console.sign_out())


def _how_to_choose(visit: GatewayVisit) -> str:
    if visit.gateway.process is None:
        return (f"Open {visit.gateway.url}/console/ and enter the setup code there; the page that `rulith start` opened shows it, and "
                "`rulith gateway` prints it on its terminal")
    return (f"Run `rulith gateway --home {visit.home.path}` in another terminal: it prints a setup code and the Console's address; "
            "choose the passphrase there (or run `rulith start`, whose page shows the code)")


def _sign_in(visit: GatewayVisit, console: ConsoleSession, *, name_needed: bool) -> None:
    """Ask for the passphrase until it is right, at most three times; first for the name where several people sign in there."""
    name = input("Your name on this gateway: ").strip() if name_needed else ""
    for _ in range(GUESSES):
        answer = visit.run(console.sign_in(getpass.getpass("Approval passphrase: "), name))
        if answer["ok"]:
            return
        if answer.get("errorCode") != "passphrase_wrong":
            break
        sys.stderr.write(f"{answer.get('teaching')}\n")
    accepted(answer)


def _show_and_install(visit: GatewayVisit, console: ConsoleSession, text: str, release: Mapping) -> int:
    found = accepted(visit.run(console.post("capability-check", {"text": text})))["result"]
    before, conflicts = found.get("installed"), found.get("conflicts", ())
    if found["problems"]:
        raise Refused("capability_invalid", count=len(found["problems"]), listing="\n".join(f"{each['place']}: {each['problem']}" for each in found["problems"]))
    _tell([_heading(release, before), *_difference(release, before, _shown_changes(found["changes"]))])
    if before and before["digest"] == release["digest"]:
        return EXIT_OK
    if conflicts:
        _tell(["", "It cannot be installed now:", *conflicts])
        return EXIT_ERRORS
    if input(f"\nInstall {release['id']} {release['version']} for every Agent of this gateway? Type yes: ").strip().lower() != "yes":
        _tell(["Nothing was installed."])
        return EXIT_ERRORS
    body = {"text": text, "digest": release["digest"], "replaces": before["digest"] if before else ""}
    answer = accepted(visit.run(console.post("capability-install", body)))
    _tell([f"Installed {release['id']} {release['version']}.", *_still_lacking(answer["admin"], release, visit.gateway.url)])
    return EXIT_OK


def _shown_changes(changes: list[dict]) -> Iterable[str]:
    for change in changes:
        yield f"{change['part']} {change['name']}: {change['change']}" if change["name"] else f"{change['part']}: {change['change']}"
        yield from (f"  {sign} {line}" for sign, line in change["lines"])


def _still_lacking(admin: Mapping, release: Mapping, url: str) -> list[str]:
    """What keeps its Actions from running, one line each, and where a person sets that up."""
    held = next((each for each in admin["capabilities"] if each["id"] == release["id"]), {"actions": []})
    names = {each["id"]: each["name"] for each in admin["agents"]}
    lines = [f"  {action['id'].removeprefix(release['id'] + '.')} (for {names.get(lack['agentId'], lack['agentId'])}): {lack['problem']}"
             for action in held.get("actions", ()) for lack in action.get("lacks", ())]
    if not lines:
        return ["All of its Actions can run."]
    return ["Before its Actions can run:", *lines, f"Bind Sources and lock Tools in the Console: {url}/console/#sources and {url}/console/#tools"]


def _tell(lines: Iterable[str]) -> None:
    for line in lines:
        for part in line.split("\n"):
            print(plain(part), flush=True)
