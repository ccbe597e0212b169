"""What a person sets up on this gateway: Capabilities, Sources, Tool locks, Agents, Connections.

Promises: an act is checked whole before its first row is staged, so nothing is ever half
applied; it is bound to what the person was shown (a digest), and refused where that is no
longer so; a token or key is told once, to the person, and kept only as its hash (a
Connection key also in the gateway's own vault). Whether the person may act is the
Registry's judgement of `by`, the statement of a sign-in.

Source  the design's rules on the person's authority and Capabilities (§5).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping

from rulith.base.canonical import digest
from rulith.base.errors import Refused
from rulith.base.ids import mint, mint_token
from rulith.base.json_places import Places
from rulith.base.json_text import read_json
from rulith.base.limits import AGENTS_MAX, CAPABILITY_BYTES_MAX, RELEASES_MAX, SOURCES_MAX, WORKER_LINES_MAX
from rulith.board.capability_check import check_capability
from rulith.board.constitution import check_constitution
from rulith.board.differences import capability_changes, constitution_changes
from rulith.board.names import is_plain_name
from rulith.board.profiles import record_of
from rulith.board.shapes import Source
from rulith.disk.home import Home
from rulith.disk.profiles import Profile, agent_secrets, list_profiles, worker_secrets
from rulith.disk.vault import Vault
from rulith.gateway.authority import Authority, token_hash
from rulith.gateway.inspection import installed_document
from rulith.gateway.source_checks import check_source
from rulith.gateway.worker_line import WorkerLine
from rulith.wire.lease import Fence

NAME_CHARS_MAX = 64


def _read_file(text: str, what: str = "Capability") -> object:
    """The parsed file. Raises Refused: resource_limit, bad_json, number_out_of_range."""
    if len(text) > CAPABILITY_BYTES_MAX:
        raise Refused("resource_limit", what=f"the length of the {what} file", value=len(text), limit=CAPABILITY_BYTES_MAX)
    return read_json(text, f"the {what} file")


def _check_room(what: str, held: Mapping, limit: int) -> None:
    """Raises Refused resource_limit when one more would be too many."""
    if len(held) >= limit:
        raise Refused("resource_limit", what=what, value=len(held) + 1, limit=limit)


class Administration:
    """Runs the acts. `end_sessions(agent_id)` ends what speaks under a token that is no longer valid."""

    def __init__(self, authority: Authority, line: WorkerLine, home: Home, vault: Vault, *,
                 end_sessions: Callable[[str], None]) -> None:
        self.authority = authority
        self._line = line
        self._home = home
        self._vault = vault
        self._end_sessions = end_sessions

    # --- Capabilities ------------------------------------------------------------------

    def check_capability(self, text: str) -> dict:
        """What is wrong with a Capability file, or what installing it would change. No row, nothing kept.

        {problems: [{place, problem, line}]}, or {problems: [], release, installed, changes, conflicts, waits}
        """
        try:
            document = _read_file(text)
        except Refused as refusal:
            return {"problems": [{"place": "the file", "problem": refusal.happened, "line": refusal.facts.get("line", 1)}]}
        release, problems = check_capability(document)
        if release is None:
            places = Places(text)
            return {"problems": [{"place": each.place, "problem": each.problem, "line": places.line_of(each.place)} for each in problems]}
        known = self.authority.registry.releases.get(release.id)
        before = installed_document(self.authority, release.id)
        installed = {name: known[name] for name in ("version", "digest", "at", "by")} if known else None
        conflicts, waits = self._tried(document)
        return {"problems": [], "installed": installed, "conflicts": conflicts, "waits": waits,
                "release": {"id": release.id, "version": release.version, "title": release.title, "digest": release.digest},
                "changes": [each.json() for each in capability_changes(before, document)]}

    def _tried(self, document: Mapping) -> tuple[list[str], list[str]]:
        """Why Boards would not take this Capability now, one line for each; and the open Cases that it would wait for."""
        conflicts, waits = [], []
        for state in self.authority.agents.values():
            try:
                waits += state.board.try_install(document).get("waits", ())
            except Refused as refusal:
                conflicts.append(refusal.teaching)
        return conflicts, waits

    async def install_capability(self, text: str, shown: str, replaces: str, by: dict) -> dict:
        """Install the file whose digest was shown, in place of the Release that it was compared with, on every Agent's Board."""
        document = _read_file(text)
        if not isinstance(document, dict) or digest(document) != shown:
            raise Refused("capability_not_as_shown")
        known = self.authority.registry.releases.get(str(document.get("id")), {"digest": "", "version": "none"})
        if known["digest"] != replaces:
            raise Refused("release_moved", capability=document.get("id"), version=known["version"])
        if replaces == shown:
            raise Refused("release_installed_already", capability=document.get("id"), version=known["version"])
        if not known["digest"]:
            _check_room("the number of Capabilities", self.authority.registry.releases, RELEASES_MAX)
        for state in self.authority.agents.values():
            state.board.try_install(document)
        if known["version"] == document["version"]:       # a version names one Release; other bytes need another
            raise Refused("release_version_taken", capability=document["id"], version=document["version"])
        result = self.authority.command_registry({
            "kind": "install_release", "id": document["id"], "version": document["version"], "digest": shown,
            "title": document["title"], "authority": by}).result
        for agent_id in self.authority.agents:
            self._install_on(agent_id, document, shown)
        await self.authority.settled()
        return result

    def _install_on(self, agent_id: str, document: Mapping, release: str) -> None:
        try:
            self.authority.command_board(agent_id, {"kind": "install_capability", "capability": document, "digest": release})
        except Refused as refusal:      # it was tried in this very turn; the whole turn is dropped
            raise AssertionError(f"the Board of {agent_id} refuses what it took in the trial: {refusal}") from refusal

    # --- the Constitution --------------------------------------------------------------

    def check_constitution(self, text: str) -> dict:
        """What is wrong with a Constitution file, or what installing it would change. No row, nothing kept.

        {problems: [{place, problem, line}]}, or {problems: [], constitution, installed, changes}
        """
        try:
            document = _read_file(text, "Constitution")
        except Refused as refusal:
            return {"problems": [{"place": "the file", "problem": refusal.happened, "line": refusal.facts.get("line", 1)}]}
        found, problems = check_constitution(document)
        if found is None:
            places = Places(text)
            return {"problems": [{"place": each.place, "problem": each.problem, "line": places.line_of(each.place)} for each in problems]}
        known = self.authority.registry.constitution
        return {"problems": [], "constitution": {"version": found.version, "title": found.title, "digest": found.digest},
                "installed": {name: known[name] for name in ("version", "digest", "at", "by")} if known else None,
                "changes": [each.json() for each in constitution_changes(known["document"] if known else None, document)]}

    async def install_constitution(self, text: str, shown: str, replaces: str, by: dict) -> dict:
        """Put the file whose digest was shown in force on every Board, in place of the one that it was compared with."""
        document = _read_file(text, "Constitution")
        if not isinstance(document, dict) or digest(document) != shown:
            raise Refused("constitution_not_as_shown")
        known = self.authority.registry.constitution or {"digest": "", "version": "none"}
        if known["digest"] != replaces:
            raise Refused("constitution_moved", version=known["version"])
        if replaces == shown:
            raise Refused("constitution_installed_already", version=known["version"])
        if known["version"] == document.get("version"):
            raise Refused("constitution_version_taken", version=known["version"])
        result = self.authority.command_registry({"kind": "install_constitution", "constitution": document, "digest": shown, "authority": by}).result
        for agent_id in self.authority.agents:
            self._govern(agent_id)
        await self.authority.settled()
        return result

    def _govern(self, agent_id: str) -> None:
        """The Constitution in force holds on this Board too."""
        known = self.authority.registry.constitution
        if known is not None:
            self.authority.command_board(agent_id, {"kind": "install_constitution", "constitution": known["document"], "digest": known["digest"]})

    # --- Sources -----------------------------------------------------------------------

    async def add_source(self, record: Mapping, by: dict) -> dict:
        """Bind a new Source. The result's `warning` names what a person should look at."""
        _check_room("the number of Sources", self.authority.registry.sources, SOURCES_MAX)
        warning = check_source(self.authority, self._profile_of(record["connectionId"]), self._home, record)
        result = self.authority.command_registry({"kind": "add_source", **record, "authority": by}).result
        self.authority.touched(record["connectionId"])
        return {**result, **({"warning": warning} if warning else {})}

    async def edit_source(self, record: Mapping, replaces: str, by: dict) -> dict:
        """Give the Source of that name other members, in place of those with the digest `replaces`."""
        before = self._shown_source(record["name"], replaces)
        warning = check_source(self.authority, self._profile_of(record["connectionId"]), self._home, record)
        self._refuse_while_used(before)
        self.authority.command_registry({"kind": "several", "commands": [
            {"kind": "remove_source", "name": record["name"], "authority": by},
            {"kind": "add_source", **record, "authority": by}]})
        self.authority.touched(record["connectionId"])
        return {"name": record["name"], **({"warning": warning} if warning else {})}

    async def remove_source(self, name: str, replaces: str, by: dict) -> dict:
        before = self._shown_source(name, replaces)
        self._refuse_while_used(before)
        return self.authority.command_registry({"kind": "remove_source", "name": name, "authority": by}).result

    async def set_delivery(self, agent_id: str, source: str, local_read: bool, off_machine: bool, by: dict) -> dict:
        """Say how content of a Source may reach an Agent; takes effect on the next read, and on those that wait."""
        return self.authority.command_registry({"kind": "set_delivery", "agentId": agent_id, "source": source, "localRead": local_read,
                                                "offMachine": off_machine, "authority": by}).result

    def _shown_source(self, name: str, shown: str) -> Source:
        found = self.authority.registry.sources.get(name)
        if found is None:
            raise Refused("unknown_source", source=name[:80])
        if digest(found.record()) != shown:
            raise Refused("source_not_as_shown", source=name)
        return found

    def _refuse_while_used(self, source: Source) -> None:
        """A call that was dispatched against a Source is judged against that Source."""
        for state in self.authority.agents.values():
            waiting = state.operations.unresolved()
            if waiting is not None and waiting.plan is not None and waiting.plan["sourceRecordId"] == source.name:
                raise Refused("source_in_use", source=source.name, label=waiting.label, state=waiting.public_state)

    def _profile_of(self, connection_id: str) -> Profile | None:
        """The profile of this home whose Worker serves the Connection, if it is one of ours."""
        return next((each for each in list_profiles(self._home) if each.connection_id == connection_id), None)

    # --- Tool locks --------------------------------------------------------------------

    async def lock_tool(self, connection_id: str, tool_id: str, shown: str, replaces: str, by: dict) -> dict:
        """Lock the definition that the Worker on the line advertises, if it is the one that was shown."""
        self.authority.registry.connection(connection_id)
        row = next((each for each in self._line.advertised(connection_id) if each["id"] == tool_id), None)
        if row is None:
            raise Refused("tool_not_advertised", tool=tool_id[:120])
        if row["digest"] != shown:
            raise Refused("tool_not_as_shown", tool=tool_id)
        self._check_lock(connection_id, tool_id, replaces)
        result = self.authority.command_registry({
            "kind": "lock_tool", "connectionId": connection_id, "toolId": tool_id, "digest": row["digest"],
            "descriptor": json.loads(json.dumps(row)), "authority": by}).result
        self.authority.touched(connection_id)
        return result

    async def unlock_tool(self, connection_id: str, tool_id: str, shown: str, by: dict) -> dict:
        self.authority.registry.connection(connection_id)
        self._check_lock(connection_id, tool_id, shown)
        result = self.authority.command_registry({"kind": "unlock_tool", "connectionId": connection_id, "toolId": tool_id,
                                                  "authority": by}).result
        self.authority.touched(connection_id)
        return result

    def _check_lock(self, connection_id: str, tool_id: str, shown: str) -> None:
        lock = self.authority.registry.locks.get((connection_id, tool_id))
        if (lock.digest if lock is not None else "") != shown:
            raise Refused("tool_lock_not_as_shown", tool=tool_id[:120])

    async def waive_decision(self, connection_id: str, tool_id: str, shown: str, waived: bool, by: dict) -> dict:
        """Let the Tool of this very lock act directly without a decision, or ask a person first again."""
        self.authority.registry.connection(connection_id)
        result = self.authority.command_registry({"kind": "waive_decision", "connectionId": connection_id, "toolId": tool_id, "digest": shown,
                                                  "waived": waived, "authority": by}).result
        self.authority.touched(connection_id)
        return result

    # --- Agents ------------------------------------------------------------------------

    async def set_profile(self, agent_id: str, profile: Mapping, replaces: str, by: dict) -> dict:
        """Let the Agent see what `profile` lists, in place of the Profile with the digest `replaces`; {} shows everything."""
        self.authority.registry.agent(agent_id)
        if digest(record_of(self.authority.registry.profile(agent_id))) != replaces:
            raise Refused("profile_not_as_shown")
        result = self.authority.command_registry({"kind": "set_profile", "id": agent_id, "profile": dict(profile), "authority": by}).result
        self.authority.touched(agent_id)
        return result

    async def create_agent(self, name: str, by: dict) -> dict:
        """A new Agent with an empty Board under every installed Capability; its token is told here and never again."""
        self._check_name("Agent", name, self.authority.registry.agents.values())
        _check_room("the number of Agents", self.authority.registry.agents, AGENTS_MAX)
        documents = [(release["digest"], installed_document(self.authority, release["id"]))
                     for release in self.authority.registry.releases.values()]
        agent_id, token = mint("agent_", 24), mint_token("rlt_agt_")
        self.authority.command_registry({"kind": "add_agent", "id": agent_id, "name": name, "tokenHash": token_hash(token),
                                         "authority": by})
        for release, document in documents:
            if document is not None:
                self._install_on(agent_id, document, release)
        self._govern(agent_id)
        await self.authority.settled()
        return {"id": agent_id, "name": name, "token": token}

    async def rotate_agent(self, agent_id: str, by: dict) -> dict:
        """A new token for an Agent; the old one and what speaks under it end with the same commit."""
        agent, token = self.authority.registry.agent(agent_id), mint_token("rlt_agt_")
        self.authority.command_registry({"kind": "replace_agent_token", "id": agent_id, "tokenHash": token_hash(token), "authority": by})
        await self.authority.settled()
        self._end_sessions(agent_id)
        kept = self._keep(lambda profile: agent_secrets(profile).update({"RULITH_TOKEN": token}),
                          lambda profile: profile.agent_id == agent_id)
        return {"id": agent_id, "name": agent["name"], "token": token, **kept}

    async def revoke_agent(self, agent_id: str, by: dict) -> dict:
        """Nobody speaks for this Agent any more; its Board, Cases and receipts stay."""
        self.authority.command_registry({"kind": "revoke_agent_token", "id": agent_id, "authority": by})
        await self.authority.settled()
        self._end_sessions(agent_id)
        return {"id": agent_id}

    # --- Connections -------------------------------------------------------------------

    async def create_connection(self, name: str, agent_id: str, by: dict) -> dict:
        """A new line for a Worker of that Agent; its key is told here and never again."""
        self._check_name("Connection", name, self.authority.registry.connections.values())
        _check_room("the number of Connections", self.authority.registry.connections, WORKER_LINES_MAX)
        connection_id, key = mint("conn_", 24), mint_token("rlt_key_")
        self.authority.command_registry({"kind": "add_connection", "id": connection_id, "name": name, "agentId": agent_id,
                                         "keyHash": token_hash(key), "authority": by})
        await self.authority.settled()
        self._vault.update({connection_id: key})
        return {"id": connection_id, "name": name, "key": key}

    async def rotate_connection(self, connection_id: str, by: dict) -> dict:
        """A new key for a Connection. Its Worker is off the line at once: what it had claimed, a person settles."""
        connection, key = self.authority.registry.connection(connection_id), mint_token("rlt_key_")
        self.authority.command_registry({"kind": "replace_connection_key", "id": connection_id, "keyHash": token_hash(key),
                                         "authority": by})
        self._line.end_line(connection_id, Fence(None, connection["fence"]["generation"] + 1), "a person replaced its Connection's key")
        await self.authority.settled()
        self._vault.update({connection_id: key})
        kept = self._keep(lambda profile: worker_secrets(profile).update({"RULITH_CONNECTION_KEY": key}),
                          lambda profile: profile.connection_id == connection_id)
        return {"id": connection_id, "name": connection["name"], "key": key, **kept}

    # --- what devices paired -----------------------------------------------------------

    def keep_key(self, connection_id: str, key: str | None) -> None:
        """Keep a Connection's key where grants are signed with it; None forgets it."""
        if self._vault.load().get(connection_id) != key:
            self._vault.update({connection_id: key})

    async def let_go(self, connection_ids: Iterable[str], agent_ids: Iterable[str], why: str) -> None:
        """Credentials of these were replaced or ended in this turn: what spoke under them ends with the same commit."""
        for connection_id in connection_ids:
            generation = self.authority.registry.connection(connection_id)["fence"]["generation"]
            self._line.end_line(connection_id, Fence(None, generation + 1), why)
        await self.authority.settled()
        for agent_id in agent_ids:
            self._end_sessions(agent_id)

    # --- shared ------------------------------------------------------------------------

    def _check_name(self, what: str, name: str, others) -> None:
        if not is_plain_name(name, NAME_CHARS_MAX):
            raise Refused("name_unusable", what=what, limit=NAME_CHARS_MAX)
        if any(each["name"].casefold() == name.casefold() for each in others):
            raise Refused("registry_name_taken", what=what, name=name)

    def _keep(self, update: Callable[[Profile], object], is_ours: Callable[[Profile], bool]) -> dict:
        """Hand a new secret to the profile of this home that uses it, so that its next start works."""
        for profile in list_profiles(self._home):
            if is_ours(profile):
                try:
                    update(profile)
                except Refused as refusal:      # the row stands; the person has the secret and can place it
                    return {"warning": f"The profile {profile.name!r} could not be given it: {refusal.teaching}"}
                return {"profile": profile.name}
        return {}
