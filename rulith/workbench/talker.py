"""The Agent of one profile that people talk to: a role in serve mode, its turns, its saved conversations.

The service's key is made here for each process and never told to a page: what a page asks
passes through here. Turns that are under way are folded from events; older ones are read
from the disk, whoever wrote them.

Units   *_s seconds
Source  the workbench surface, "Conversations", "Agent task endpoint"
"""

from __future__ import annotations

import asyncio
import json
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping

from rulith.base.clock import Clock, stamp
from rulith.base.errors import Refused
from rulith.base.ids import mint
from rulith.base.limits import SHOWN_TITLE_CHARS_MAX, TALK_TURNS_KEPT
from rulith.disk.conversations import Conversations
from rulith.disk.profiles import Profile
from rulith.disk.saved_talk import SavedTalk
from rulith.net.client import HttpClient, NetFailed
from rulith.net.messages import Response, json_response
from rulith.net.server import serve
from rulith.workbench.feed import Feed
from rulith.workbench.models import model_row
from rulith.workbench.roles import Child, Event, Role
from rulith.workbench.runs import text_of
from rulith.workbench.supervision import Is
from rulith.workbench.talk_reads import TalkReads, Under
from rulith.workbench.turns import CUT_SHORT, Turn, files_of

REFUSED = (2, 3, 4, 5, 15)       # settings, token, taken over, its conversations, another run: a new try meets the same
KEY_HEADER = "x-rulith-serve"
ASK_S = 15.0
SESSION_KEY_CHARS_MAX = 128
_LIFE = ("spawn", "exit", "restart-wait", "restart-failed")
Launch = Callable[[Callable[[Event], None], Mapping[str, str]], Awaitable[Child]]


class Talker:
    """`role` is started and stopped by whoever has checked that it may."""

    def __init__(self, profile: Profile, launch: Launch, client: HttpClient, clock: Clock, feed: Feed, *,
                 on_change: Callable[[], None], on_life: Callable[[], None]) -> None:
        self.profile = profile
        self._launch = launch
        self._client = client
        self._clock = clock
        self._feed = feed
        self._on_life = on_life
        self._on_change = on_change
        self._url = self._key = ""
        self._turns: OrderedDict[str, Turn] = OrderedDict()
        self._owner = {**profile.owner, "agentId": profile.agent_id}
        self._saved = SavedTalk(profile.directory / "conversations", self._owner)
        self._searching = asyncio.Lock()
        self.drafting = asyncio.Lock()           # drafts of one Agent are written in the order in which they came
        self._reload = False
        self.served = 0                          # how many of its processes have served so far
        self._waiting: list[asyncio.Future[None]] = []      # for its role to move
        self.role = Role(f"agent {profile.name}", self._start, clock, ready_on=("serving",), on_event=self._heard, on_change=self._moved, refused=REFUSED)

    @property
    def is_wanted(self) -> bool:
        return self.role.state not in (Is.STOPPED, Is.NEEDS_SETUP, Is.FAILED)

    def row(self) -> dict[str, object]:
        """As the page reads it."""
        return {**self.role.row(), "turns": sum(turn.state != "ended" for turn in self._turns.values())}

    # its process

    async def _start(self, on_event: Callable[[Event], None]) -> Child:
        asking = await serve(_nobody, "127.0.0.1", 0)        # the system names a free port; the Agent listens there next
        port = asking.port
        await asking.close(0)
        self._key = mint("", 32)
        return await self._launch(on_event, {"RULITH_SERVE": "on", "RULITH_SERVE_PORT": str(port), "RULITH_SERVE_KEY": self._key})

    def reload(self) -> None:
        """Its settings changed: take them up, after the turns under way."""
        if not model_row(self.profile)["ready"]:
            self.role.stop()
        elif self.role.state in (Is.STARTING, Is.ONLINE):
            self._reload = any(turn.state != "ended" for turn in self._turns.values())
            if not self._reload:
                self.role.restart()

    def _moved(self) -> None:
        waiting, self._waiting = self._waiting, []
        for each in waiting:
            if not each.done():
                each.set_result(None)
        self._on_change()

    def _heard(self, event: Event) -> None:
        kind, at = event.get("type"), stamp(self._clock.wall_s())
        if kind == "serving":
            self._url = text_of(event.get("url"))
            self.served += 1
        if kind == "task-queued":
            self._add(Turn(text_of(event.get("task")), text_of(event.get("session")), text_of(event.get("text")), at, attachments=files_of(event.get("attachments"))))
        elif (turn := self._turns.get(text_of(event.get("task")))) is not None:
            self._show(turn, turn.take(event, at))
            if kind == "task-done":
                self._done()
        if kind == "conversation-archived":
            self._feed.put("archived", src="agent", instance=self.profile.id, session=text_of(event.get("session")), archived=event.get("archived") is True)
        if kind in _LIFE:
            if kind == "exit":
                self._url = self._key = ""
                self._reload = False                 # the next process reads the settings anew
                for turn in self._turns.values():
                    if turn.state != "ended":
                        self._show(turn, turn.end("interrupted", CUT_SHORT, at))
            self._feed.put(str(kind), src="agent", instance=self.profile.id, **{name: event[name] for name in ("code", "delayMs", "failures") if name in event})
            self._on_life()

    def _add(self, turn: Turn) -> None:
        self._turns[turn.id] = turn
        for old in [each.id for each in self._turns.values() if each.state == "ended"][:max(0, len(self._turns) - TALK_TURNS_KEPT)]:
            del self._turns[old]
        self._show(turn, [{"turn": turn.head()}])
        self._on_change()

    def _done(self) -> None:
        self._on_change()
        if self._reload and not any(turn.state != "ended" for turn in self._turns.values()):
            self._reload = False
            self.role.restart()

    def _show(self, turn: Turn, rows: list[dict[str, object]]) -> None:
        for row in rows:
            self._feed.put("turn", src="agent", instance=self.profile.id, session=turn.session_key, id=turn.id, **row)

    # what the page asks

    def check_ready(self) -> None:
        """Raises Refused agent_not_ready."""
        if self.role.state is not Is.ONLINE or not self._url:
            raise Refused("agent_not_ready", name=self.profile.name, problem=f"it is {self.role.state.value.replace('_', ' ')}",
                          todo="Press Start Agent; your message is kept.")

    async def serving_after(self, served: int) -> None:
        """Return once a process serves that came after that many. Raises Refused agent_not_ready where none will by itself."""
        while self.served <= served or self.role.state is not Is.ONLINE:
            if not self.role.is_coming and self.role.state not in (Is.ONLINE, Is.RESTARTING):
                self.check_ready()
            self._waiting.append(asyncio.get_running_loop().create_future())
            await self._waiting[-1]

    async def ask(self, path: str, body: Mapping[str, object], more: Mapping[str, str] | None = None) -> Response:
        """What the Agent answers to `POST path`, its refusals in the page's form. Raises Refused agent_not_ready."""
        self.check_ready()
        headers = {KEY_HEADER: self._key, "content-type": "application/json", **(more or {})}
        try:
            answer = await self._client.request("POST", self._url + path, headers, json.dumps(body, ensure_ascii=False).encode("utf-8", "backslashreplace"), timeout_s=ASK_S)
            said = json.loads(answer.body)
        except (NetFailed, ValueError):
            raise Refused("agent_not_ready", name=self.profile.name, problem="it does not answer",
                          todo="Send it again: the same message is run once.") from None
        if answer.status >= 400:
            facts = {name: said[name] for name in ("state", "modelService") if name in said}
            said = {**said, "happened": said.get("teaching", ""), "next": "", "facts": facts}
        return json_response(answer.status, said, [("cache-control", "no-store")])

    async def conversations(self, archived: bool | None = None, offset: int = 0) -> dict[str, object]:
        """Every conversation, the one with the newest turn first."""
        return await self._read(lambda reads: reads.conversations(archived, offset))

    async def conversation(self, session_key: str, before: int | None = None) -> dict[str, object]:
        """Some turns of one conversation, oldest first; `sequence` is the feed's row they are true at."""
        sequence = self._feed.sequence
        return {**await self._read(lambda reads: reads.conversation(session_key, before)), "sequence": sequence}

    async def search(self, words: str) -> dict[str, object]:
        """Where these words stand; one search at a time. Raises Refused talk_query."""
        async with self._searching:
            return await self._read(lambda reads: reads.search(words))

    async def archive(self, given: Mapping[str, object]) -> Response:
        """Put a conversation away or take it back. The Agent does it while it runs; while none does, it is done here.

        Raises Refused task_refused, history_unusable, agent_not_ready.
        """
        if self.role.state is not Is.STOPPED and self.role.state not in (Is.NEEDS_SETUP, Is.FAILED):
            return await self.ask("/conversation/archive", given)
        key, archived = given["sessionKey"], given["archived"]
        if not isinstance(key, str) or not 0 < len(key) <= SESSION_KEY_CHARS_MAX or not isinstance(archived, bool):
            raise Refused("task_refused", problem="it names no conversation, or archived is neither true nor false")

        def change() -> None:
            store = Conversations.open(self.profile.directory / "conversations", self._owner, clock=self._clock)
            try:
                store.archive(key, archived)
            finally:
                store.close()

        await asyncio.to_thread(change)
        self._feed.put("archived", instance=self.profile.id, session=key, archived=archived)
        state = "archived" if archived else "active"
        return json_response(200, {"ok": True, "sessionKey": key, "archived": archived, "state": state}, [("cache-control", "no-store")])

    async def _read(self, look: Callable[[TalkReads], dict[str, object]]) -> dict[str, object]:
        live = [Under(turn.id, turn.session_key, turn.at, turn.text[:SHOWN_TITLE_CHARS_MAX], turn.row()) for turn in self._turns.values()]
        return await asyncio.to_thread(lambda: look(TalkReads(self._saved, live)))


async def _nobody(request: object) -> Response:
    return Response(404, [])
