"""The account: this computer's sign-in at a gateway elsewhere, from the code that a person carries there to its end.

Promises: what was reached is written down before the next step, so a workbench that was
killed goes on from there; no answer changes nothing; a sign-in that ended is not tried
again; nothing of another account, and no Agent that its list lacks, is started.

Units   *_s seconds
Source  the workbench surface, "Account sign-in"; docs/architecture.md, "Signing in elsewhere"
"""

from __future__ import annotations

import asyncio
import platform
import re
from collections.abc import Awaitable, Callable
from urllib.parse import urlsplit

from rulith.base.clock import Clock, seconds_of, stamp
from rulith.base.errors import Refused
from rulith.base.ids import mint
from rulith.disk.device import APPROVED, ENDED, LINKED, NONE, PENDING, UNREADABLE, DeviceFile
from rulith.disk.home import Home
from rulith.disk.profiles import Profile
from rulith.net.client import HttpClient
from rulith.net.link import within
from rulith.workbench.account_calls import LOOPBACK, AccountCalls, Said, Silent, text_of

SYNC_S = 30.0
STALE_AFTER = 3                  # intervals without an answer
PAUSE_S_MIN, PAUSE_S_MAX, SLOWER_S = 0.1, 60.0, 5.0
NAME_CHARS_MAX = 64
CODE, CODE_S_MAX = r"[A-Za-z0-9-]{1,64}", 86_400
PAGE = r"[!-;=?-~]{1,500}"         # an address that needs no escape
CODE_ENDS = {"access_denied": "An owner of the gateway said no.", "expired_token": "The code ran out before an owner let this computer in."}
ENDS = {"device_revoked": "revoked", "device_expired": "expired", "device_unknown": "unusable", "device_not_found": "unusable", "device_unauthorized": "unusable"}


class Account:
    """`origin` is what `--gateway` named; "" while the home's own gateway is used.

    on_link      told once it is linked: (origin, token)
    on_end       awaited when a sign-in has ended: the roles of its Agents end
    on_agents    told when the list of Agents changed
    """

    def __init__(self, home: Home, origin: str, client: HttpClient, clock: Clock, *, on_change: Callable[[], None], on_link: Callable[[str, str], None],
                 on_end: Callable[[str], Awaitable[None]], on_agents: Callable[[], Awaitable[None]]) -> None:
        self.origin = origin
        self.file = DeviceFile(home)
        self.is_leaving = False          # nothing new begins while it signs out
        self.stop_warning = ""
        self._client, self._clock = client, clock
        self._on_change, self._on_link, self._on_end, self._on_agents = on_change, on_link, on_end, on_agents
        self._teaching = self.file.problem
        self._checked_at: str | None = None
        self._checked_s = clock.monotonic_s()
        self._error = ""
        self._one = asyncio.Lock()       # one step of it at a time
        self._woken = asyncio.Event()
        self._slower_s = 0.0             # what the gateway asked for beyond its first word

    # --- its life

    async def run(self) -> None:
        """Go on from what is written down; then ask again each while, until cancelled."""
        if self.is_linked:
            self._linked()
        while True:
            self._woken.clear()
            try:
                await self._step()
            except Refused as refusal:              # a full disk: what is reached is reached again
                self._error = refusal.teaching
                self._on_change()
            try:
                await within(self._pause_s(), self._woken.wait())
            except asyncio.TimeoutError:
                pass

    def _pause_s(self) -> float:
        if self.file.state not in (PENDING, APPROVED):
            return SYNC_S
        return min(max(self.file.row.get("intervalS", 5) + self._slower_s, PAUSE_S_MIN), PAUSE_S_MAX)

    async def _step(self) -> None:
        if self.is_here and self.file.state in (PENDING, APPROVED, LINKED):
            await self.poll()

    def look(self) -> None:
        """Something was refused: ask at once whether the sign-in still stands."""
        self._woken.set()

    @property
    def is_here(self) -> bool:
        """Whether the sign-in that is written down is one at the gateway in use."""
        return bool(self.origin) and self.file.origin == self.origin

    @property
    def is_linked(self) -> bool:
        return self.is_here and self.file.state == LINKED

    @property
    def is_plain(self) -> bool:
        """Whether a person agreed to plain http beyond this computer (`--insecure-http`)."""
        parts = urlsplit(self.origin)
        return parts.scheme == "http" and parts.hostname not in LOOPBACK

    @property
    def calls(self) -> AccountCalls:
        return AccountCalls(self._client, self.file.origin or self.origin)

    # --- signing in

    async def start(self, name: object) -> None:
        """Ask for a code; one that still counts is shown again. Raises Refused: account_local, account_name, account_signed_in, account_ended, account_silent, account_refused."""
        if not self.origin:
            raise Refused("account_local")
        if not isinstance(name, str) or not name.strip() or len(name) > NAME_CHARS_MAX or not name.isprintable():
            raise Refused("account_name", limit=NAME_CHARS_MAX)
        async with self._one:
            row, state = self.file.row, self.file.state
            if state in (APPROVED, LINKED):
                raise Refused("account_signed_in", origin=self.file.origin)
            if state in (*ENDED, UNREADABLE):
                raise Refused("account_ended", state=state)
            if state == PENDING and self.is_here and row.get("name") == name.strip() and seconds_of(row["codeExpiresAt"]) > self._clock.wall_s():
                return
            calls = AccountCalls(self._client, self.origin)
            try:
                client_id = await calls.register(name.strip())
                asked = await calls.ask_code(client_id)
                proof = self._proof(asked)
            except Silent as silence:
                raise Refused("account_silent", origin=self.origin, problem=str(silence)) from None
            except Said as said:
                words = "it has no sign-in for workbenches" if said.status == 404 else said.words
                raise Refused("account_refused", origin=self.origin, problem=words.rstrip(".")) from None
            if state == PENDING:
                self.file.clear()
            self.file.keep(PENDING, {"origin": self.origin, "name": name.strip(), "clientId": client_id, **proof})
            self._teaching, self._slower_s = "", 0.0
        self._changed()
        self._woken.set()

    def _proof(self, asked: dict) -> dict:
        """What is written down of the code. Raises Silent where the answer is none."""
        code, left_s, interval_s = text_of(asked, "user_code", CODE), asked.get("expires_in"), asked.get("interval", 5)
        if type(left_s) is not int or type(interval_s) is not int:
            raise Silent("the gateway's answer has no times")
        page = asked.get("verification_uri_complete")
        is_own = isinstance(page, str) and page.startswith(f"{self.origin}/") and re.fullmatch(PAGE, page)
        return {"deviceCode": text_of(asked, "device_code"), "code": code, "codeExpiresAt": stamp(self._clock.wall_s() + min(max(left_s, 0), CODE_S_MAX)),
                "intervalS": min(max(interval_s, 0), int(PAUSE_S_MAX)), "consoleUrl": page if is_own else f"{self.origin}/console/#access/{code}"}

    async def poll(self) -> None:
        """One step on: fetch the token, take it up, or read the list of Agents anew. No answer changes nothing."""
        async with self._one:
            try:
                if self.file.state == PENDING:
                    await self._fetch()
                if self.file.state in (APPROVED, LINKED):
                    await self._read()
                self._error = ""
            except Silent as silence:
                self._error = str(silence)
            finally:
                self._on_change()

    async def _fetch(self) -> None:
        row = self.file.row
        try:
            token = await self.calls.fetch_token(row["clientId"], row["deviceCode"])
        except Said as said:
            if said.code == "slow_down":
                self._slower_s += SLOWER_S
            elif said.code != "authorization_pending":
                self.file.clear()
                self._teaching = CODE_ENDS.get(said.code, said.words)
                self._changed()
            return
        self.file.keep(APPROVED, {"token": token, "approvedAt": self._now()})

    async def _read(self) -> None:
        """Who it is there, and which Agents there are. A sign-in that ended, or another one's answer, ends it here."""
        row, was = self.file.row, self.file.state
        try:
            found = await self.calls.context(row["token"])
        except Said as said:
            if said.status in (401, 403) or said.code in ENDS:
                await self._ended(ENDS.get(said.code, "unusable"), said.words)
                return
            raise Silent(said.words) from None
        if was == LINKED and (found["deviceId"], found["account"]["id"]) != (row["deviceId"], row["account"]["id"]):
            await self._ended("unusable", "The gateway answers as another account or for another computer.")
            return
        self._checked_at, self._checked_s = self._now(), self._clock.monotonic_s()
        if was == LINKED and all(row[name] == found[name] for name in found):
            return
        before = {each["id"] for each in row.get("agents", [])}
        self.file.keep(LINKED, {**found, **({"linkedAt": self._now()} if was != LINKED else {})})
        self._changed()
        if was != LINKED:
            self._linked()
        elif before != {each["id"] for each in found["agents"]}:
            await self._on_agents()

    def _linked(self) -> None:
        self._on_link(self.origin, self.file.row["token"])

    async def _ended(self, state: str, words: str) -> None:
        self.file.keep(state, {"endedAt": self._now(), "endedWhy": words})
        self._changed()
        await self._on_end(words)

    # --- leaving

    async def sign_out(self, end_roles: Callable[[], Awaitable[list[str]]], forget: Callable[[], Awaitable[list[str]]]) -> dict:
        """End what runs, end the grant, forget the credentials, then the sign-in; where a step does not succeed, say which.

        end_roles   ends every role of its Agents: what still runs
        forget      takes the credentials of its Agents away: their names
        """
        if self.file.state not in (APPROVED, LINKED, *ENDED):
            raise Refused("account_none")
        async with self._one:
            self.is_leaving = True
            try:
                return await self._leave(end_roles, forget)
            finally:
                self.is_leaving = False
                self._changed()

    async def _leave(self, end_roles: Callable[[], Awaitable[list[str]]], forget: Callable[[], Awaitable[list[str]]]) -> dict:
        if running := await end_roles():
            return self._incomplete("stop", f"Still running: {', '.join(running)}.", running)
        try:
            already = await self._revoke()
        except Silent as silence:
            return self._incomplete("revoke", f"{self.file.origin} does not answer: {silence}.")
        except Said as said:
            return self._incomplete("revoke", said.words)
        cleared = await forget()
        self.file.clear()
        self._teaching = ""
        return {"state": "signed_out", "revokeState": "already_revoked" if already else "confirmed", "alreadyRevoked": already, "cleared": cleared}

    async def _revoke(self) -> bool:
        request_id = self.file.row.get("revokeRequestId") or mint("rev_")
        if "revokeRequestId" not in self.file.row:
            self.file.keep(self.file.state, {"revokeRequestId": request_id})
        return await self.calls.revoke(self.file.row["token"], request_id)

    def _incomplete(self, step: str, teaching: str, running: list[str] | None = None) -> dict:
        told = {"step": step, "at": self._now(), "teaching": teaching, **({"running": running} if running else {})}
        self.file.keep(self.file.state, {"signOut": told})
        return {"state": "incomplete", **told}

    async def forget(self, end_roles: Callable[[], Awaitable[list[str]]], forget: Callable[[], Awaitable[list[str]]]) -> dict:
        """Take away a sign-in that is no use: one that waits, has ended, cannot be read, or whose gateway could not be told. Raises Refused account_signed_in."""
        state, revoke, cleared = self.file.state, "not_issued", []
        untold = (self.file.row.get("signOut") or {}).get("step") == "revoke"
        if state in (APPROVED, LINKED) and not untold:
            raise Refused("account_signed_in", origin=self.file.origin)
        async with self._one:
            self.is_leaving = True
            try:
                if state not in (NONE, PENDING):
                    await end_roles()
                    revoke = UNREADABLE if state == UNREADABLE else await self._tried_revoke()
                    cleared = await forget()
                self.file.clear()
                self._teaching = ""
            finally:
                self.is_leaving = False
                self._changed()
        return {"state": NONE, "cleared": cleared, "revoke": revoke}

    async def _tried_revoke(self) -> str:
        try:
            return "already_revoked" if await self._revoke() else "confirmed"
        except (Silent, Said):
            return "unconfirmed"

    # --- what rests on it

    def check_profile(self, profile: Profile) -> None:
        """Raises Refused where the profile is of another gateway or account than the one in use, or its Agent is not in the list."""
        if profile.origin != self.origin:
            raise Refused("profile_other_gateway", name=profile.name, whose=profile.origin or "this computer's own",
                          start=f"rulith start --gateway {profile.origin}" if profile.origin else "rulith start")
        if not self.origin:
            return
        if self.is_leaving or not self.is_linked:
            raise Refused("account_needed", name=profile.name, origin=self.origin)
        if profile.account_id != self.file.account_id:
            raise Refused("profile_other_account", name=profile.name, origin=self.origin)
        if all(each["id"] != profile.agent_id for each in self.file.row["agents"]):
            raise Refused("agent_not_listed", name=profile.name, agent=profile.agent_name)

    def whose(self) -> dict[str, object]:
        """What the row of a profile says that is attached at the gateway in use."""
        return {"origin": self.origin, "accountId": self.file.account_id} if self.origin else {"origin": "", "accountId": "", "setupTarget": None}

    def check_agent(self, agent_id: str) -> dict:
        """The Agent of the list. Raises Refused: account_needed, agent_not_listed."""
        if self.is_leaving or not self.is_linked:
            raise Refused("account_needed", name="Attaching an Agent", origin=self.origin or "another gateway")
        found = next((each for each in self.file.row["agents"] if each["id"] == agent_id), None)
        if found is None:
            raise Refused("agent_not_listed", name="This Agent", agent=agent_id[:80])
        return found

    def row(self) -> dict:
        """As the page reads it; no secret is in it."""
        row, state = self.file.row, self.file.state
        told = {name: row[name] for name in ("origin", "name", "account", "agents", "expiresAt", "signOut", "linkedAt", "endedAt", *(("code", "codeExpiresAt", "consoleUrl") if state == PENDING else ())) if name in row}
        silent_s = self._clock.monotonic_s() - self._checked_s
        return {"gateway": self.origin, "state": state, "isHere": self.is_here, "name": platform.node()[:NAME_CHARS_MAX] or "A computer", **told, "checkedAt": self._checked_at,
                "error": self._error, "stale": state == LINKED and bool(self._error) and silent_s > STALE_AFTER * SYNC_S, "teaching": str(row.get("endedWhy") or self._teaching),
                "isLeaving": self.is_leaving, "stopWarning": self.stop_warning}

    def _now(self) -> str:
        return stamp(self._clock.wall_s())

    def _changed(self) -> None:
        self._on_change()
