"""The page's routes for profiles: made, attached, renamed, given a model or a key, carried, removed.

Attaching is by what the person's sign-in in the Console made: a token and a key come here
once, are held against the gateway's own word on whose they are, and lie in the vaults of
that profile alone. Nothing here makes an Agent or a Connection, and nothing grants.

Source  the workbench surface, "Manager HTTP", "Attaching a profile", "Model settings"
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable

from rulith.base.canonical import digest, sha256_hex
from rulith.base.errors import Refused
from rulith.disk.model_settings import DEFAULT, model_source, own_model, read_default
from rulith.disk.portable_profile import export_profile, import_profile
from rulith.disk.profiles import DEFAULTS, MODES, Profile, agent_secrets, check_folder, check_name, create_profile, update_profile, worker_secrets, write_role_env
from rulith.net.messages import Request
from rulith.workbench.bench import Workbench
from rulith.workbench.instances import Instance
from rulith.workbench.materials import members
from rulith.workbench.model_check import try_model
from rulith.workbench.models import CUSTOM, KEPT_WHERE_LEFT_OUT, NEEDED, checked, copy_model, default_row, follow_default, save_default, save_model
from rulith.workbench.supervision import Is

Route = Callable[[Request, Instance], Awaitable[object]]
PREFIX = "/api/profiles/"
STATUS = {"profile_moved": 409, "profile_orphaned": 409, "profile_busy": 409, "profile_unattached": 409, "agent_elsewhere": 409,
          "credential_elsewhere": 409, "profile_agent_taken": 409, "profile_folder": 409, "default_moved": 409}
TOKEN, KEY = "rlt_agt_", "rlt_key_"
REQUEST_ID = re.compile(r"[A-Za-z0-9_-]{16,100}", re.ASCII)


class Profiles:
    """Made once by the API. `home_posts` are the routes of no one profile."""

    def __init__(self, bench: Workbench) -> None:
        self.bench = bench
        self.gets: dict[str, Route] = {"profile/export": self._export}
        self._changing = asyncio.Lock()              # what was shown holds until it is changed
        self._made: dict[str, tuple[str, dict]] = {}     # by request: the instance it made, and what was told beside it
        changes: dict[str, Route] = {"model": self._model, "model/copy": self._copy_model, "profile/attach": self._attach, "profile/key": self._key,
                                     "profile/rename": self._rename, "profile/forget": self._forget}
        self.posts: dict[str, Route] = {**{path: self._alone(route) for path, route in changes.items()}, "model/test": self._test_own}
        self.home_posts = {"create": self._create, "import": self._import, "default-model": self._default_model, "test-model": self._test_default}

    async def answer(self, request: Request) -> object:
        """`POST /api/profiles/…`."""
        route = self.home_posts.get(request.path.removeprefix(PREFIX))
        if route is None or request.method != "POST":
            raise Refused("route_unknown", method=request.method[:12], path=request.path[:100])
        return await route(request)

    def _alone(self, route: Route) -> Route:
        async def alone(request: Request, instance: Instance) -> object:
            async with self._changing:
                return await route(request, self.bench.instance(instance.id))
        return alone

    # --- made and removed

    async def _once(self, given: dict, make: Callable[[], tuple[Profile, dict]]) -> dict:
        """A profile that is made; the same request again, whose answer may have been lost, makes none. Raises Refused profile_request."""
        request_id = given.get("requestId")
        if request_id is not None and not (isinstance(request_id, str) and REQUEST_ID.fullmatch(request_id)):
            raise Refused("profile_request")
        async with self._changing:
            made, told = self._made.get(digest(given), ("", {}))
            if request_id is None or made not in self.bench.instances:
                profile, told = await asyncio.to_thread(make)
                made = self.bench.take(profile).id
                if request_id is not None:
                    self._made = {key: row for key, row in self._made.items() if row[0] in self.bench.instances} | {digest(given): (made, told)}
        return {"instance": self.bench.instance(made).row(), **told}

    async def _create(self, request: Request) -> dict:
        given = members(request, ("name", "mode"), ("requestId",))
        if given["mode"] not in MODES:
            raise Refused("profile_mode", mode=str(given["mode"])[:40])
        check_name(given["name"])

        def make():
            profile = create_profile(self.bench.home, given["name"], mode=given["mode"], clock=self.bench.clock)
            write_role_env(profile, "worker", {"RULITH_WORKER_ROOT": str(profile.workspace)})
            return profile, {}
        return await self._once(given, make)

    async def _import(self, request: Request) -> dict:
        given = members(request, ("document",), ("name", "requestId"))

        def make():
            profile, notes = import_profile(self.bench.home, given["document"], given.get("name"))
            return profile, {"notes": notes}
        return await self._once(given, make)

    async def _export(self, request: Request, instance: Instance) -> dict:
        check_folder(instance.profile)
        return {"document": await asyncio.to_thread(export_profile, instance.profile)}

    async def _forget(self, request: Request, instance: Instance) -> dict:
        """Ask for its name: what is lost is this profile's place on the page, and its roles end."""
        given = members(request, ("name",))
        if given["name"] != instance.name:
            raise Refused("profile_whole", given=str(given["name"])[:64], name=instance.name)
        self._check_no_orphan(instance)
        if instance.busy:
            raise Refused("profile_busy", name=instance.name)
        await self.bench.forget(instance)
        return {"directory": str(instance.profile.directory)}

    async def _rename(self, request: Request, instance: Instance) -> dict:
        given = members(request, ("name", "expected"))
        self._check_shown(instance, given["expected"])
        self.bench.take(await asyncio.to_thread(lambda: update_profile(self.bench.home, instance.id, name=given["name"])))
        return {"name": instance.name}

    # --- attached

    async def _attach(self, request: Request, instance: Instance) -> dict:
        """A Connection's key, and for a local Agent its token; both of one Agent, which an attached profile keeps."""
        given = members(request, ("key", "expected"), ("token",))
        self._check_shown(instance, given["expected"])
        self._check_no_orphan(instance)
        profile, is_local = instance.profile, instance.profile.mode == "local_agent"
        if instance.busy:
            raise Refused("profile_busy", name=profile.name)
        line = await self._whose(given["key"], KEY, "Connection key")
        agent = await self._whose(given.get("token"), TOKEN, "token") if is_local else line
        self._check_agent(instance, "Connection key", line, agent["agentId"], agent["agentName"])
        if profile.agent_id:
            self._check_agent(instance, "token" if is_local else "Connection key", agent, profile.agent_id, profile.agent_name)

        def keep():
            after = update_profile(self.bench.home, profile.id, agentId=agent["agentId"], agentName=agent["agentName"], connectionId=line["connectionId"],
                                   **self.bench.account.whose())
            worker_secrets(after).update({"RULITH_CONNECTION": line["connectionId"], "RULITH_CONNECTION_KEY": given["key"]})
            if is_local:
                agent_secrets(after).update({"RULITH_TOKEN": given["token"]})
            return after
        self.bench.take(await asyncio.to_thread(keep))
        if instance.talker.role.state in (Is.STARTING, Is.ONLINE):
            instance.talker.role.restart()
        self._start_anew(instance)
        return {"agentId": agent["agentId"], "agentName": agent["agentName"], "connectionId": line["connectionId"]}

    async def _key(self, request: Request, instance: Instance) -> dict:
        """Another key of the same Connection; its Worker takes it up once what it runs has ended."""
        given = members(request, ("key", "expectedAgentId", "expectedConnectionId"))
        profile = instance.profile
        if (given["expectedAgentId"], given["expectedConnectionId"]) != (profile.agent_id, profile.connection_id):
            raise Refused("profile_moved", name=profile.name)
        line = await self._whose(given["key"], KEY, "Connection key")
        if line["connectionId"] != profile.connection_id:
            raise Refused("credential_elsewhere", what="Connection key", found=line["connectionName"], name=profile.name, wanted=profile.connection_id or "none")
        await asyncio.to_thread(worker_secrets(profile).update, {"RULITH_CONNECTION": profile.connection_id, "RULITH_CONNECTION_KEY": given["key"]})
        if instance.worker.state is not Is.STOPPED:          # one that a person stopped stays so
            self._start_anew(instance)
        return {"keyConfigured": True}

    def _start_anew(self, instance: Instance) -> None:
        if instance.worker.state is Is.STOPPED:
            instance.worker_wanted = True
            if self.bench.link.url and not self.bench.blocked(instance):
                instance.worker.start()
        else:
            self.bench.reload_worker(instance)
        self.bench.changed()

    async def _whose(self, secret: object, begins: str, what: str) -> dict:
        """The gateway's word on whose it is. Raises Refused: credential_kind, credential_unknown, gateway_not_ready."""
        if not isinstance(secret, str) or not secret.startswith(begins) or not secret.isascii() or len(secret) > 200:
            raise Refused("credential_kind", what=what)
        return await self.bench.link.get("whose", {"hash": sha256_hex(secret.encode())})

    def _check_agent(self, instance: Instance, what: str, found: dict, agent_id: str, agent_name: str) -> None:
        if found["agentId"] != agent_id:
            raise Refused("credential_elsewhere", what=what, found=found["agentName"], name=instance.name, wanted=agent_name)

    def _check_shown(self, instance: Instance, expected: object) -> None:
        if expected != instance.row()["revision"]:
            raise Refused("profile_moved", name=instance.name)

    def _check_no_orphan(self, instance: Instance) -> None:
        if left := self.bench.orphans.of(instance.id):
            raise Refused("profile_orphaned", name=instance.name, role=left[0]["role"], pid=left[0]["pid"])

    # --- models

    async def _model(self, request: Request, instance: Instance) -> dict:
        """The profile's own model, or with `source` default nothing but that."""
        given = members(request, (), ("source", "expected", *NEEDED, *KEPT_WHERE_LEFT_OUT))
        source = given.get("source", CUSTOM if given.get("url") else "")
        if source not in ("", DEFAULT, CUSTOM):
            raise Refused("model_source", source=str(source)[:40])
        members(request, () if source == DEFAULT else NEEDED, ("source", "expected", *(() if source == DEFAULT else KEPT_WHERE_LEFT_OUT)))
        if "expected" in given:
            self._check_shown(instance, given["expected"])
        if instance.profile.mode == "existing_client":
            raise Refused("model_external", name=instance.name)

        def keep():
            if source == DEFAULT:
                follow_default(instance.profile)
            else:
                save_model(instance.profile, given)
            return update_profile(self.bench.home, instance.id, modelSource=source)
        self.bench.take(await asyncio.to_thread(keep))
        self.bench.model_changed(instance)
        return {}

    async def _copy_model(self, request: Request, instance: Instance) -> dict:
        given = members(request, ("from", "expected"))
        self._check_shown(instance, given["expected"])
        other = self.bench.instance(str(given["from"]))

        def keep():
            told = copy_model(instance.profile, other.profile)
            return told, update_profile(self.bench.home, instance.id, modelSource=CUSTOM)
        told, profile = await asyncio.to_thread(keep)
        self.bench.take(profile)
        self.bench.model_changed(instance)
        return told

    async def _default_model(self, request: Request) -> dict:
        given = members(request, NEEDED, ("expected", *KEPT_WHERE_LEFT_OUT))
        path = self.bench.home.workbench / DEFAULTS
        async with self._changing:
            if given.get("expected", shown := default_row(path)["revision"]) != shown:
                raise Refused("default_moved")
            await asyncio.to_thread(save_default, path, given)
        for instance in self.bench.instances.values():
            if model_source(instance.profile) == DEFAULT:
                self.bench.model_changed(instance)
        self.bench.changed()
        return {}

    async def _test_own(self, request: Request, instance: Instance) -> dict:
        return await self._test(request, own_model(instance.profile))

    async def _test_default(self, request: Request) -> dict:
        return await self._test(request, read_default(self.bench.home.workbench / DEFAULTS))

    async def _test(self, request: Request, before: dict[str, str]) -> dict:
        """Ask the service once, with what the form holds now and the key that a save would keep; nothing is saved."""
        model = checked(members(request, NEEDED, KEPT_WHERE_LEFT_OUT), before)
        if not model:
            raise Refused("model_field", field="url", problem="is empty")
        return {"answer": await try_model(self.bench.abroad, self.bench.clock, model)}
