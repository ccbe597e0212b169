"""The workbench of one home: its gateway, its council, its Agents' Workers, the runs asked for on the page.

Starts roles and reads the gateway; decides nothing. Everything a page sees of it comes
from `snapshot` and from the feed; no secret is in either, save the setup code, which the
snapshot alone carries and only until a passphrase exists.

Units   *_s seconds
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Protocol

from rulith import VERSION
from rulith.base.clock import Clock, stamp
from rulith.base.errors import Refused
from rulith.base.ids import mint
from rulith.disk.home import Home
from rulith.disk.materials import model_destination, prepare_store, worker_materials
from rulith.disk.mcp_services import worker_services
from rulith.disk.model_settings import agent_credentials, agent_env
from rulith.disk.profiles import DEFAULTS, Profile, check_folder, check_paths, device_secrets, list_profiles, remove_profile, role_env, worker_secrets
from rulith.disk.runfile import read_live, write_runfile
from rulith.net.client import HttpClient
from rulith.procs.identity import process_stamp
from rulith.workbench.account import Account
from rulith.workbench.council import CouncilRole
from rulith.workbench.feed import Feed
from rulith.workbench.gateway_link import GatewayLink
from rulith.workbench.instances import Instance, board_of
from rulith.workbench.models import default_row
from rulith.workbench.orphans import LOOK_S, Orphans
from rulith.workbench.roles import Child, Event, Role
from rulith.workbench.supervision import Is
from rulith.workbench.talker import Talker

WORKER_REFUSED = (2, 3)      # configuration, credential: a new try meets the same
WORKER_CLOSE_S = 10.0
GATEWAY_CLOSE_S = 10.0
RECORD_AGAIN_S = 30.0
SETTINGS_EXIT = (2,)         # the gateway's own: wrong options
HIDDEN = ("protocol", "sequence", "src", "instanceId", "t", "type")


async def _nobody() -> list[str]:
    return []


class Spawn(Protocol):
    """Makes a role's process; `host.py` gives the real one."""

    async def __call__(self, role: str, *, env: Mapping[str, str], args: list[str], log_path: Path,
                       on_event: Callable[[Event], None]) -> Child: ...


class Workbench:
    """Open it with `begin`, end it with `close`."""

    def __init__(self, home: Home, clock: Clock, spawn: Spawn, *, environ: Mapping[str, str], gateway: str = "") -> None:
        self.home = home
        self.clock = clock
        self.feed = Feed(clock)
        self.client = HttpClient(clock, environ={})        # loopback only: no proxy has a say
        self.abroad = HttpClient(clock, environ=environ)   # the MCP Registry, on a person's press
        self.link = GatewayLink(self.abroad if gateway else self.client, clock)
        self.account = Account(home, gateway, self.abroad, clock, on_change=self.changed, on_link=self._gateway_at, on_end=self._account_ended,
                               on_agents=self._agents_changed)
        self.end_account_roles: Callable[[], Awaitable[list[str]]] = _nobody     # set by the API
        self.instances: dict[str, Instance] = {}
        self.setup_code: str | None = None
        self.started_at = stamp(clock.wall_s())
        self.url = ""
        self.materials_key = mint("", 64)        # opens reads of kept material to the Agents of this run
        self.takes_read: Callable[[Event], bool] = lambda event: False      # set by the API: answers to reads of kept material
        self.spawn = spawn
        self.environ = environ
        self.trust = {name: environ[name] for name in ("RULITH_CA_FILE",) if environ.get(name)}     # what this workbench trusts, its roles do
        self._owned = False
        self._silent_since: str | None = stamp(clock.wall_s())
        self._silence = ""
        self._told = False
        self._closing = False
        self._record_due: asyncio.TimerHandle | None = None
        self.orphans = Orphans(home)
        self.profiles_problem = ""
        self.steps_away = False                  # the first steps on the page; kept by its settings
        self._tasks: set[asyncio.Task[None]] = set()
        self.gateway = Role("gateway", self._launch_gateway, clock, ready_on=("listening",), on_event=self._gateway_event,
                            on_change=self.changed, refused=SETTINGS_EXIT, patient=True)
        self.council = CouncilRole(home, self.client, clock, spawn, self.feed, on_change=self.changed, tell=self._council_event)

    # --- its life

    def begin(self, url: str) -> None:
        """Find or start the gateway; everything else follows from its answers."""
        self.url = url
        self._write_children()
        self._load_profiles()
        self.spawn_task(self.link.watch(self._gateway_state, self._gateway_silent), "gateway state")
        self.spawn_task(self.council.watch(), "council events")
        if self.orphans.rows:
            self.spawn_task(self._watch_orphans(), "orphans")
        self.council.begin()
        self.spawn_task(self.account.run(), "account")
        if self.account.origin:
            self.link.lose("nobody is signed in there")
            return
        live = read_live(self.home.gateway_json)
        if live is not None and isinstance(live.get("url"), str):
            self._gateway_found(live["url"])
        else:
            self._own_gateway()

    async def close(self) -> None:
        """End what this workbench started: Agents and the council first, then Workers, then the gateway."""
        self._closing = True
        agents = [each.agent.stop(WORKER_CLOSE_S) for each in self.instances.values() if each.agent is not None]
        await asyncio.gather(*agents, *(each.talker.role.close(WORKER_CLOSE_S) for each in self.instances.values()), self.council.close(WORKER_CLOSE_S))
        await asyncio.gather(*(each.worker.close(WORKER_CLOSE_S) for each in self.instances.values()))
        await self.gateway.close(GATEWAY_CLOSE_S)
        self.feed.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.client.close()
        await self.abroad.close()

    def spawn_task(self, work, name: str) -> None:
        """Run `work` beside everything else; a bug in it is loud."""
        task = asyncio.get_running_loop().create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._task_done)

    def _task_done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            asyncio.get_running_loop().call_exception_handler(
                {"message": f"{task.get_name()} failed", "exception": task.exception(), "task": task})

    # --- the gateway

    def _own_gateway(self) -> None:
        self._owned = True
        self.gateway.start()

    async def _launch_gateway(self, on_event: Callable[[Event], None]) -> Child:
        self.setup_code = None
        env = {"RULITH_HOME": str(self.home.path)}
        if self.environ.get("RULITH_SEED_WORKSPACE"):
            env["RULITH_SEED_WORKSPACE"] = self.environ["RULITH_SEED_WORKSPACE"]
        args = ["--home", str(self.home.path)]
        if self.link.url and self.gateway.failures <= 1:             # asked for, or its first end by itself
            args += ["--listen", self.link.url.partition("//")[2]]     # where Workers and Agents already look
        return await self.spawn("gateway", env=env, args=args, log_path=self.home.logs / "gateway.log", on_event=on_event)

    def _gateway_event(self, event: Event) -> None:
        kind = event.get("type")
        if kind == "setup-code":
            self.setup_code = str(event.get("code"))
            self.changed()
            return                                     # it goes to no log and no feed
        if kind == "listening":
            self._gateway_found(str(event["url"]))
        elif kind == "exit":
            self.link.lose("it has ended")
            self._silent("It ended by itself.")
            self._give_way()
        if kind in ("spawn", "exit"):
            self.record_children()
        self.tell("gateway", None, event)

    def _give_way(self) -> None:
        """Ours ended; where somebody else's gateway of this home answers by now, use that one."""
        live = read_live(self.home.gateway_json)
        if live is not None and isinstance(live.get("url"), str) and not self._closing:
            self._owned = False
            self.gateway.stop()
            self._gateway_found(live["url"])

    def _gateway_found(self, url: str) -> None:
        """The home's gateway answers at `url`: read from it, and let every Worker know."""
        try:
            grant = device_secrets(self.home).load().get("token", "")
        except Refused as problem:
            self._silent(problem.happened)
            return
        self._gateway_at(url, grant)

    def _gateway_at(self, url: str, grant: str) -> None:
        """Read from this gateway from now on."""
        moved = self.link.url not in ("", url)
        self.link.point_at(url, grant)
        self._load_profiles()
        for instance in self.instances.values():
            if moved and instance.talker.role.state in (Is.STARTING, Is.ONLINE):
                instance.talker.role.restart()
            if moved and instance.worker.state in (Is.STARTING, Is.ONLINE):
                instance.worker.restart()
            elif moved and instance.worker_wanted and instance.worker.state is Is.NEEDS_SETUP and not self.blocked(instance):
                instance.worker.start()        # who refused it may have been another home's gateway, at the address that ours had
            else:
                self.start_worker(instance)

    # --- a gateway elsewhere

    async def _account_ended(self, words: str) -> None:
        """The sign-in is over: nothing of its Agents goes on here."""
        self.link.lose(words.rstrip("."))
        self._silent(words)
        await self.end_account_roles()

    async def _agents_changed(self) -> None:
        """The account lists other Agents: the roles of one that left end, the Worker of one that is back starts."""
        for instance in self.instances.values():
            if not instance.profile.origin or not self.blocked(instance):
                self.start_worker(instance)
                continue
            if instance.agent is not None:
                self.spawn_task(instance.agent.stop(WORKER_CLOSE_S), "end of a run")
            instance.talker.role.stop()
            instance.worker.stop()

    def _gateway_state(self, state: dict) -> None:
        was_silent = self._silent_since is not None
        self._silent_since = None
        if state.get("passphraseSet"):
            self.setup_code = None
        for instance in self.instances.values():
            board = board_of(state, instance.profile)
            if board != instance.board:
                instance.board = board
                self.feed.put("changed", instance=instance.id, what="board", version=state["version"])
        if was_silent:
            self.changed()

    def _gateway_silent(self, problem: str) -> None:
        if self.account.origin:
            self.account.look()                        # it may be the sign-in that is refused
        elif not self._owned and not self._closing:
            live = read_live(self.home.gateway_json)
            if live is None:
                self._own_gateway()                    # the one we had found is gone: run our own
            elif live.get("url") != self.link.url:
                self._gateway_found(str(live["url"]))
        self._silent(problem)

    def _silent(self, problem: str) -> None:
        fresh = self._silent_since is None
        self._silence = problem
        if fresh:
            self._silent_since = stamp(self.clock.wall_s())
            self.changed()

    def gateway_row(self) -> dict[str, object]:
        """The gateway as the page reads it."""
        role = self.gateway.row() if self._owned else None
        if self.account.origin and not self.account.is_linked:
            state, since = "signed_out", self.started_at
        elif self._silent_since is None:
            state, since = "online", role["since"] if role else self.started_at
        elif role is None:
            state, since = "unreachable", self._silent_since
        elif self.gateway.state in (Is.STARTING, Is.ONLINE):
            restarted = self.gateway.failures > 0
            state, since = "restarting" if restarted else "starting", self._silent_since
        else:
            state = "restarting" if self.gateway.state is Is.RESTARTING else "unreachable"
            since = self._silent_since
        detail = (role or {}).get("detail") or (self._silence if state == "unreachable" else "")
        return {"state": state, "since": since, "owned": self._owned, "elsewhere": bool(self.account.origin), "url": self.account.origin or self.link.url, "detail": detail,
                "heardAt": self.link.heard_at, "failures": role["failures"] if role else 0,
                "retryAt": role["retryAt"] if role else None, "pid": role["pid"] if role else None}

    # --- Workers

    def _load_profiles(self) -> None:
        """Raises Refused only while nothing is known yet: a list that is damaged later is said on the page, and those known work on."""
        try:
            profiles = list_profiles(self.home)
        except Refused as problem:
            if not self.instances:
                raise
            self.profiles_problem = problem.teaching
        else:
            self.profiles_problem = ""
            for profile in profiles:
                self.take(profile)
        self.changed()

    def take(self, profile: Profile) -> Instance:
        """A profile as it is now, new or changed."""
        known = self.instances.get(profile.id)
        if known is None:
            known = self.instances[profile.id] = Instance(profile, self._worker(profile), self._talker(profile))
        else:
            if known.profile.agent_id != profile.agent_id:
                known.talker, known.board = self._talker(profile), None       # a conversation belongs to one Agent
            known.profile = known.talker.profile = profile
        if isinstance(self.link.state, dict) and known.board is None:
            known.board = board_of(self.link.state, profile)
        self.changed()
        return known

    def check_may_start(self, instance: Instance, role: str) -> None:
        """Raises Refused: profile_unattached, profile_orphaned, agent_elsewhere, profile_path, and what its settings refuse."""
        profile = instance.profile
        if profile.pairing:
            raise Refused("profile_pairing", name=profile.name)
        if not profile.is_attached:
            raise Refused("profile_unattached", name=profile.name)
        self.account.check_profile(profile)
        if left := self.orphans.of(profile.id):
            raise Refused("profile_orphaned", name=profile.name, role=left[0]["role"], pid=left[0]["pid"])
        if role == "agent" and profile.mode == "existing_client":
            raise Refused("agent_elsewhere", name=profile.name)
        check_paths(self.home, profile)

    def blocked(self, instance: Instance) -> str:
        """Why its Worker may not start, or nothing."""
        try:
            self.check_may_start(instance, "worker")
        except Refused as refusal:
            return refusal.teaching
        return ""

    def start_worker(self, instance: Instance) -> None:
        """Where it is wanted, stopped, and may."""
        if self.link.url and instance.worker_wanted and instance.worker.state is Is.STOPPED and not self.blocked(instance):
            instance.worker.start()

    async def _watch_orphans(self) -> None:
        """Until each is gone; what they kept from starting starts then."""
        while self.orphans.rows:
            await asyncio.sleep(LOOK_S)
            if self.orphans.look():
                self.record_children()
                self.changed()
                for instance in self.instances.values():
                    self.start_worker(instance)

    async def forget(self, instance: Instance) -> None:
        """End its roles and take its profile off the list; its folder stays. Raises what the list refuses."""
        instance.worker_wanted = False
        if instance.agent is not None:
            await instance.agent.stop(WORKER_CLOSE_S)
        await asyncio.gather(instance.talker.role.close(WORKER_CLOSE_S), instance.worker.close(WORKER_CLOSE_S))
        await asyncio.to_thread(remove_profile, self.home, instance.id)
        self.instances.pop(instance.id, None)
        self.record_children()
        self.changed()

    def _worker(self, profile: Profile) -> Role:
        return Role(f"worker {profile.name}", lambda on_event: self._launch_worker(self.instances[profile.id].profile, on_event), self.clock, ready_on=("up",),
                    on_event=lambda event: self._worker_event(profile.id, event), on_change=self.changed, refused=WORKER_REFUSED)

    def worker_files(self, profile: Profile) -> dict[str, str]:
        """Where the profile's Worker finds what it may do; no credential."""
        return {"RULITH_SECRETS_FILE": str(profile.directory / "worker-secrets.json"), **role_env(profile, "worker"), **worker_materials(profile),
                **worker_services(profile)}

    async def _launch_worker(self, profile: Profile, on_event: Callable[[Event], None]) -> Child:
        check_folder(profile)
        secrets = worker_secrets(profile).load()
        await asyncio.to_thread(prepare_store, profile, stamp(self.clock.wall_s()))
        self.instances[profile.id].destination = model_destination(profile)
        env = {**self.worker_files(profile), "RULITH_HOME": str(self.home.path), "RULITH_WORK_URL": f"{self.link.url}/work", **({"RULITH_INSECURE_HTTP": "1"} if self.account.is_plain else {}), **self.trust,
               **{name: secrets[name] for name in ("RULITH_CONNECTION", "RULITH_CONNECTION_KEY") if name in secrets}}
        return await self.spawn("worker", env=env, args=[], log_path=self.home.logs / f"worker-{profile.id}.log", on_event=on_event)

    def _talker(self, profile: Profile) -> Talker:
        profile_id = profile.id

        async def launch(on_event: Callable[[Event], None], serving: Mapping[str, str]) -> Child:
            profile = self.instances[profile_id].profile         # as it is now
            check_folder(profile)
            prices = self.home.path / "prices.json"
            env = {**profile.agent_files, **({"RULITH_PRICES": str(prices)} if prices.exists() else {}), **agent_env(profile),
                   **agent_credentials(profile), "RULITH_HOME": str(self.home.path), "RULITH_URL": self.link.url,
                   "RULITH_AGENT_LOCK": str(profile.agent_lock), "RULITH_CONVERSATION_OWNER": json.dumps(profile.owner),
                   **self.materials_env(profile), **self.trust, **serving}
            return await self.spawn("agent", env=env, args=self.plain_args, log_path=self.home.logs / f"agent-{profile.id}.log", on_event=on_event)

        return Talker(profile, launch, self.client, self.clock, self.feed, on_change=self.changed, on_life=self.record_children)

    @property
    def plain_args(self) -> list[str]:
        """What an Agent is told of the way to its gateway."""
        return ["--insecure-http"] if self.account.is_plain else []

    def materials_env(self, profile: Profile) -> dict[str, str]:
        """How an Agent of this profile reads what its Worker keeps on this machine; nothing before there is a store."""
        if not worker_materials(profile):
            return {}
        return {"RULITH_MATERIALS_DELIVER_URL": f"{self.url}/i/{profile.id}/materials/deliver", "RULITH_MATERIALS_DELIVER_KEY": self.materials_key,
                "RULITH_MATERIALS_DELIVER_CONNECTION": profile.connection_id}

    def _worker_event(self, instance_id: str, event: Event) -> None:
        if self.takes_read(event):
            return                    # content for one reader; no page hears of it
        if instance_id not in self.instances:
            return                    # its profile was removed
        self.instances[instance_id].reload.heard(str(event.get("type")))
        if event.get("type") in ("spawn", "exit"):
            self.instances[instance_id].line_held = False
            self.record_children()
        elif event.get("type") == "availability":
            self.instances[instance_id].line_held = event.get("code") == "worker_lease_held"
            self.changed()
        self.tell("worker", instance_id, event)

    def reload_worker(self, instance: Instance) -> None:
        """Have its Worker read its files anew, once what it runs has ended."""
        def again() -> None:
            role = instance.worker
            if role.state in (Is.STARTING, Is.ONLINE):
                role.restart()
            elif role.state in (Is.NEEDS_SETUP, Is.FAILED, Is.RESTARTING) and instance.worker_wanted and self.link.url:
                role.start()
        instance.reload.ask(again)

    def model_changed(self, instance: Instance) -> None:
        """Its Agent takes another model up, and its Worker lets files go there, once each is free."""
        instance.talker.reload()
        if instance.destination and instance.destination != model_destination(instance.profile):
            self.reload_worker(instance)

    # --- the council

    def _council_event(self, event: Event) -> None:
        if event.get("type") in ("spawn", "exit"):
            self.record_children()
        self.tell("council", None, event)

    # --- what pages see

    def instance(self, instance_id: str) -> Instance:
        """Raises Refused instance_unknown."""
        found = self.instances.get(instance_id)
        if found is None:
            raise Refused("instance_unknown", instance=instance_id[:60])
        return found

    def tell(self, src: str, instance_id: str | None, event: Event) -> None:
        """One event of a role as a row of the feed."""
        fields = {name: value for name, value in event.items() if isinstance(name, str) and name not in HIDDEN}
        self.feed.put(str(event.get("type")), src=src, instance=instance_id, **fields)

    def changed(self) -> None:
        """Say once per turn of the loop that the snapshot differs."""
        if self._told:
            return
        self._told = True
        asyncio.get_running_loop().call_soon(self._tell_changed)

    def _tell_changed(self) -> None:
        self._told = False
        self.feed.put("changed", what="workbench")

    def snapshot(self) -> dict[str, object]:
        """Everything at a glance; `sequence` is the feed's row it is true at."""
        return {"serverId": self.feed.server_id, "sequence": self.feed.sequence, "version": VERSION, "home": str(self.home.path),
                "startedAt": self.started_at, "gateway": self.gateway_row(), "console": {"setupCode": self.setup_code}, "council": self.council.row(),
                "modelDefault": default_row(self.home.workbench / DEFAULTS), "profilesProblem": self.profiles_problem, "stepsAway": self.steps_away, "account": self.account.row(),
                "instances": [{**each.row(), "blocked": self.blocked(each), "orphaned": [{"role": row["role"], "pid": row["pid"]} for row in self.orphans.of(each.id)]} for each in self.instances.values()]}

    def record_children(self) -> None:
        """Write down which processes are ours, for `rulith stop` and the next start; on a full disk later, since a role lives and ends without it."""
        try:
            self._write_children()
        except Refused as problem:
            if self._record_due is None:
                print(problem, file=sys.stderr)
                self._record_due = asyncio.get_running_loop().call_later(RECORD_AGAIN_S, self._record_again)

    def _record_again(self) -> None:
        self._record_due = None
        if not self._closing:
            self.record_children()

    def _write_children(self) -> None:
        """Raises Refused: disk_full, write_failed."""
        children = [*self.orphans.rows, *({"role": name, "pid": child.pid, "instanceId": instance_id, **process_stamp(child.pid)}
                                          for name, instance_id, child in self._children())]
        write_runfile(self.home.run / "workbench.json", url=self.url, children=children)

    def _children(self) -> list[tuple[str, str | None, Child]]:
        found: list[tuple[str, str | None, Child | None]] = [("gateway", None, self.gateway.child), ("council", None, self.council.role.child)]
        for instance in self.instances.values():
            found += [("worker", instance.id, instance.worker.child), ("agent", instance.id, instance.agent), ("agent", instance.id, instance.talker.role.child)]
        return [(name, instance_id, child) for name, instance_id, child in found if child is not None]
