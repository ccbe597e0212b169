"""The page's routes for the account: sign in and out, and Agents of its list set up on this computer.

A pairing's id is written into the profile's row before it is asked for, and asking again with
it has the same answer; then the Agent, the credentials, and last the id is taken out. A
profile with a pairing under way starts nothing.

Source  the workbench surface, "Account sign-in", "Attaching a profile"
"""

from __future__ import annotations

import asyncio
import re

from rulith.base.clock import stamp
from rulith.base.errors import Refused
from rulith.base.ids import mint
from rulith.disk.example import lay_out
from rulith.disk.profiles import MODES, NAME, Profile, agent_secrets, create_profile, device_secrets, role_env, update_profile, worker_secrets, write_role_env
from rulith.net.messages import Request
from rulith.workbench.account_calls import Said, Silent
from rulith.workbench.bench import Workbench
from rulith.workbench.instances import Instance
from rulith.workbench.materials import members
from rulith.workbench.supervision import Is

PREFIX = "/api/account/"
STATUS = {"account_signed_in": 409, "account_ended": 409, "account_none": 409, "account_needed": 409, "account_silent": 503, "pairing_held": 409,
          "pairing_refused": 409, "pairing_silent": 503, "pairing_collect": 409, "agent_not_listed": 409, "profile_other_gateway": 409,
          "profile_other_account": 409, "profile_pairing": 409}
CLIENT_MODES = {"local_agent": "local_agent", "existing_client": "existing_agent"}
ROLE_END_S = 10.0


class AccountRoutes:
    """Made once by the API."""

    def __init__(self, bench: Workbench) -> None:
        self.bench = bench
        self.account = bench.account
        self._pairing = asyncio.Lock()
        bench.end_account_roles = self._end_roles
        self.posts = {"start": self._start, "refresh": self._refresh, "signout": self._sign_out, "forget": self._forget, "attach": self._attach, "cancel": self._cancel}

    async def answer(self, request: Request) -> dict:
        """`POST /api/account/…`."""
        return {**await self.posts[request.path.removeprefix(PREFIX)](request), "account": self.account.row()}

    # --- the sign-in

    async def _start(self, request: Request) -> dict:
        await self.account.start(members(request, ("name",))["name"])
        return {}

    async def _refresh(self, request: Request) -> dict:
        members(request, ())
        before = {each["id"] for each in self.account.file.row.get("agents", [])}
        await self.account.poll()
        after = {each["id"] for each in self.account.file.row.get("agents", [])}
        return {"addedAgents": sorted(after - before), "removedAgents": sorted(before - after)}

    async def _sign_out(self, request: Request) -> dict:
        members(request, ())
        told = await self.account.sign_out(self._end_roles, self._clear)
        self._left(told["state"] == "signed_out")
        return told

    async def _forget(self, request: Request) -> dict:
        members(request, ())
        told = await self.account.forget(self._end_roles, self._clear)
        self._left(True)
        return told

    def _left(self, is_over: bool) -> None:
        if is_over and self.account.origin:
            self.bench.link.lose("nobody is signed in there")

    def _mine(self) -> list[Instance]:
        """Those of the account that is written down; of one that cannot be read, all that are of another gateway."""
        origin = self.account.file.origin
        return [each for each in self.bench.instances.values() if each.profile.origin and origin in ("", each.profile.origin)]

    async def _end_roles(self) -> list[str]:
        """End every role of the account's Agents, each whatever becomes of the others: what still runs."""
        running: list[str] = []

        async def end(instance: Instance) -> None:
            instance.worker_wanted = False
            if instance.agent is not None:
                await instance.agent.stop(ROLE_END_S)
            await asyncio.gather(instance.talker.role.close(ROLE_END_S), instance.worker.close(ROLE_END_S))
            running.extend(f"the {words} of {instance.name}" for words, role in (("Agent", instance.talker.role), ("Worker", instance.worker)) if role.child is not None)
            running.extend(f"the {row['role']} of {instance.name} (process {row['pid']})" for row in self.bench.orphans.of(instance.id))

        for problem in await asyncio.gather(*map(end, self._mine()), return_exceptions=True):
            if isinstance(problem, Refused):
                running.append(problem.teaching)
            elif problem is not None:
                raise problem
        self.account.stop_warning = f"Still running: {', '.join(running)}." if running else ""
        return running

    async def _clear(self) -> list[str]:
        """Take credentials and identity from the account's profiles; models, Tools, workspaces, files and conversations stay."""
        names = []
        for instance in self._mine():
            def forget(profile: Profile = instance.profile) -> Profile:
                agent_secrets(profile).update({"RULITH_TOKEN": None})
                worker_secrets(profile).update({"RULITH_CONNECTION": None, "RULITH_CONNECTION_KEY": None})
                return update_profile(self.bench.home, profile.id, agentId="", connectionId="", origin="", accountId="", pairing=None, signedOutAt=stamp(self.bench.clock.wall_s()))
            self.bench.take(await asyncio.to_thread(forget))
            names.append(instance.name)
        return names

    # --- an Agent set up here

    async def _attach(self, request: Request) -> dict:
        """Make or go on with the profile for an Agent of the list. Raises Refused: account_needed, agent_not_listed, pairing_held, pairing_refused, pairing_silent."""
        given = members(request, ("agentId", "mode", "replaceAgentToken"), ("instanceId",))
        agent_id, mode, replace = given["agentId"], given["mode"], given["replaceAgentToken"] is True
        if mode not in MODES:
            raise Refused("profile_mode", mode=str(mode)[:40])
        async with self._pairing:
            agent = self.account.check_agent(str(agent_id))
            named = self.bench.instance(str(given["instanceId"])) if "instanceId" in given else None
            profile = await asyncio.to_thread(self._reserved, agent, mode, replace, named.profile if named else None)
            self.bench.take(profile)
            if profile.pairing:
                profile = await self._paired(profile)
        instance = self.bench.instances[profile.id]
        if instance.worker.state is Is.STOPPED:
            instance.worker_wanted = True
            self.bench.start_worker(instance)
        else:
            self.bench.reload_worker(instance)
        return {"instanceId": profile.id, "agentId": profile.agent_id, "agentName": profile.agent_name}

    def _reserved(self, agent: dict, mode: str, replace: bool, named: Profile | None) -> Profile:
        """The profile for this Agent, with its pairing written down; a pairing that is under way keeps its id."""
        home, target = self.bench.home, {"origin": self.account.origin, "accountId": self.account.file.account_id, "agentId": agent["id"]}
        profiles = [each.profile for each in self.bench.instances.values()]
        holder = next((each for each in profiles if each.agent_id == agent["id"]), None)
        holder = holder or next((each for each in profiles if (each.pairing or {}).get("agentId") == agent["id"]), None)
        holder = holder or named or next((each for each in profiles if each.target == target and not each.is_attached), None)
        if holder is not None and (holder.mode != mode or (named and holder.id != named.id) or (holder.pairing or target)["agentId"] != agent["id"]
                                   or holder.agent_id not in ("", agent["id"])):
            raise Refused("pairing_held", agent=agent["name"], name=holder.name)
        if holder is not None and holder.is_attached and not holder.pairing:
            return holder                     # the answer to the press that did it was lost
        kept = dict(holder.pairing) if holder is not None and holder.pairing else {}
        fresh = not kept or (kept.get("lastError") or {}).get("code") == "pairing_conflict"
        pairing = {**kept, "agentId": agent["id"], "agentName": agent["name"], "origin": target["origin"], "accountId": target["accountId"], "replaceAgentToken": replace,
                   **({"pairingId": mint("", 64), "reservedAt": stamp(self.bench.clock.wall_s())} if fresh else {})}
        pairing.pop("lastError", None)
        if holder is not None:
            profile = update_profile(home, holder.id, pairing=pairing, setupTarget=target)
        else:
            profile = create_profile(home, self._free_name(agent["name"]), mode=mode, clock=self.bench.clock, pairing=pairing, target=target)
        if "RULITH_WORKER_ROOT" not in role_env(profile, "worker"):          # made here, and perhaps cut short
            lay_out(profile.workspace)
            write_role_env(profile, "worker", {"RULITH_WORKER_ROOT": str(profile.workspace), "RULITH_TOOLS_FILE": str(profile.workspace / "worker-tools.json")})
        return profile

    def _free_name(self, wanted: str) -> str:
        taken = {each.name.casefold() for each in self.bench.instances.values()}
        plain = re.sub(r"[^\w .-]+", " ", wanted).strip(" .-_")[:56]
        plain = plain if NAME.fullmatch(plain) else "Agent"
        return next(each for each in (plain, *(f"{plain} {number}" for number in range(2, 10_000))) if each.casefold() not in taken)

    async def _paired(self, profile: Profile) -> Profile:
        """Ask for the credentials, then write down the Agent, the credentials, and that it is done."""
        pairing, home = profile.pairing, self.bench.home
        try:
            found = await self.account.calls.pair(self.account.file.row["token"], await asyncio.to_thread(self._computer), pairing["pairingId"], pairing["agentId"], CLIENT_MODES[profile.mode], pairing["replaceAgentToken"])
        except Silent as silence:
            raise await self._failed(profile, "", Refused("pairing_silent", name=profile.name, problem=str(silence).rstrip("."))) from None
        except Said as said:
            self.account.look()
            raise await self._failed(profile, said.code, Refused("pairing_refused", name=profile.name, problem=said.words)) from None

        def keep() -> Profile:
            after = update_profile(home, profile.id, agentId=pairing["agentId"], agentName=found["agentName"], connectionId=found["connectionId"],
                                   origin=pairing["origin"], accountId=pairing["accountId"])
            worker_secrets(after).update({"RULITH_CONNECTION": found["connectionId"], "RULITH_CONNECTION_KEY": found["key"]})
            if "token" in found:
                agent_secrets(after).update({"RULITH_TOKEN": found["token"]})
            return update_profile(home, profile.id, pairing=None)
        profile = await asyncio.to_thread(keep)
        self.bench.take(profile)
        return profile

    def _computer(self) -> str:
        """What proves to a gateway that it is this home again; it stays over sign-outs."""
        vault = device_secrets(self.bench.home)
        return vault.load().get("computer") or vault.update({"computer": mint("", 64)})["computer"]

    async def _failed(self, profile: Profile, code: str, refusal: Refused) -> Refused:
        """The pairing stays written down, with what was said."""
        told = {**profile.pairing, "lastError": {"code": code[:100], "teaching": refusal.teaching[:2000]}}
        self.bench.take(await asyncio.to_thread(lambda: update_profile(self.bench.home, profile.id, pairing=told)))
        return refusal

    async def _cancel(self, request: Request) -> dict:
        """Give up a pairing that was not collected. Raises Refused pairing_collect once its Agent is written down."""
        instance = self.bench.instance(str(members(request, ("instanceId",))["instanceId"]))
        async with self._pairing:
            if instance.profile.pairing and instance.profile.agent_id:
                raise Refused("pairing_collect", name=instance.name)
            self.bench.take(await asyncio.to_thread(lambda: update_profile(self.bench.home, instance.id, pairing=None, setupTarget=None)))
        return {"instanceId": instance.id}
