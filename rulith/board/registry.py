"""Registry: who exists on this gateway, what they may touch, and what people decided.

People and their roles (people.py), Agents by token hash, Connections with their fence,
Sources, Tool locks, Releases, the device grant and decisions. Every command names its
authority and AUTHORITY says which one it needs; the gateway states the facts of a sign-in,
this judges them.

Refuses to know: tokens and passphrases themselves (only hashes enter), leases, clocks.
Units   ages and spans `_s` in seconds, moments as RFC 3339 stamps; expiry is judged when read.
Source  the Worker hop, "Fence"; the MCP surface, "waiting_for_decision".
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace

from rulith.base.canonical import canonical_text
from rulith.base.clock import seconds_of, stamp
from rulith.base.errors import Refused
from rulith.board.constitution import read_constitution
from rulith.board.devices import DEVICE_AUTHORITY, DEVICE_COMMANDS, DeviceLaw
from rulith.board.machine import Machine, members
from rulith.board.people import (FIRST_NAME, GATEWAY, INVITATION, ONESELF, OPERATOR, OWNER, PEOPLE_AUTHORITY, PEOPLE_COMMANDS, ROLES,
                                 SETUP_CODE, PeopleLaw, judge_person)
from rulith.board.profiles import Profile
from rulith.board.shapes import TIERS, Mint, Policy, Source, ToolLock

DECISIONS_KEPT = 128              # of closed Cases
DECISION_EXPIRES_S = 7 * 86_400   # when a Capability names no span
SOURCE_TYPES = ("db", "file", "http", "mcp", "sensor", "compute", "human")

# command -> who may give it: a role and every stronger one, or what no person is
AUTHORITY = {
    "add_agent": OWNER, "replace_agent_token": OWNER, "revoke_agent_token": OWNER, "remove_agent": OWNER,
    "add_connection": OWNER, "replace_connection_key": OWNER, "isolate": OPERATOR,
    "add_source": OWNER, "remove_source": OWNER, "lock_tool": OWNER, "unlock_tool": OWNER, "waive_decision": OWNER, "set_profile": OWNER,
    "set_delivery": OWNER,
    "install_release": OWNER, "install_constitution": OWNER, "set_device_grant": GATEWAY,
    "restored": GATEWAY, "fence": GATEWAY, "case_closed": GATEWAY, "seed_files": GATEWAY, "request_decision": GATEWAY, "expire_decision": GATEWAY, "withdraw_decision": GATEWAY, "record_review": GATEWAY,
    "decide": OPERATOR, "reconcile": OPERATOR, "close_case": OPERATOR, "pause_case": OPERATOR, "lift_hold": OPERATOR,
    "withdraw_call": OPERATOR, "ask_source": OPERATOR, **PEOPLE_AUTHORITY, **DEVICE_AUTHORITY,
}


def judge_authority(act: str, authority: object, people: Mapping[str, Mapping]) -> str:
    """The name of the person (or "gateway") on whose word `act` happens. Raises Refused where that word is not enough.

    authority  {"kind": "person", "by", "signInAgeS"} | {"kind": "setup_code", "by"} | {"kind": "invitation", "by"} | {"kind": "gateway"}
    people     the Registry's, by name; a role is what it is now, not what it was at the sign-in
    """
    needs = AUTHORITY[act]
    given = authority if isinstance(authority, Mapping) else {}
    kind = given.get("kind")
    if needs == GATEWAY and kind == GATEWAY:
        return GATEWAY
    if needs == SETUP_CODE and kind == SETUP_CODE:
        if people:
            raise Refused("passphrase_already_set")
        return str(given.get("by") or FIRST_NAME)
    if needs == INVITATION and kind == INVITATION:
        return str(given.get("by"))
    if needs in (*ROLES, ONESELF):
        return judge_person(act, needs, given, people)
    raise Refused("not_authorized", act=act, needs=f"the authority of the {needs}",
                  instead="No token of an Agent, a Worker or this device stands in for it.")


class Registry(Machine, PeopleLaw, DeviceLaw):
    """Gateway-wide state.

    Commands (each but `genesis` with `authority`):
        genesis {commands}                    the first row of a ledger, and only that; no authority needed inside
        add_agent {id, name, tokenHash}       replace_agent_token {id, tokenHash}        remove_agent {id}
        revoke_agent_token {id}               the Agent, its Board and its receipts stay; nobody speaks for it any more
        add_connection {id, name, agentId, keyHash}      replace_connection_key {id, keyHash}
        add_source {name, type, access, connectionId, tier, attests}                     remove_source {name}
        lock_tool {connectionId, toolId, digest, descriptor}     unlock_tool {connectionId, toolId}
        waive_decision {connectionId, toolId, digest, waived}     whether the Tool of this lock acts directly without a decision
        set_delivery {agentId, source, localRead, offMachine}    how content of the Source may reach this Agent (see `delivery`)
        seed_files {connectionId, source, access, toolId, digest, descriptor} -> {source}
                                              the files that a person adds become readable, once: a Source, a lock, a delivery
        set_profile {id, profile}             what the Agent may see (profiles.py); {} for everything
        install_release {id, version, digest, title?, agents?}
        install_constitution {constitution, digest} -> {version, digest}      in place of the one in force
        set_device_grant {hash}
        set_passphrase {record}               the first person, an owner, by the setup code
        change_passphrase {record}            one's own
        invite_person {name, role, codeHash, expiresS} -> {name, role, expiresAt}       change_role {name, role}
        accept_invitation {name, codeHash, record} -> {name, role}
        reset_person {name, codeHash, expiresS} -> {name, role, expiresAt}              remove_person {name}
        add_device {id, name, hash}           see_device {id}                           end_device {id}, leave_device {id} -> {connections, agents}
        pair_device {id, agentId, connectionId, name, pairing, keyHash, tokenHash, replaces} -> {agentId, connectionId}
        fence {connectionId, workerId|null, generation} -> {connectionId, fence, replay}
        isolate {connectionId} -> {connectionId, fence}
        restored {digest, connections: {id: {keyHash, generation}}, agents: {id: tokenHash}, deviceGrant}
                                              this ledger was a backup: every line gets a new key and a later fence
        request_decision {agentId, ordinal, decisionKind, action, argumentDigest, argsText, target, premises,
                          people, expiresS, caseIds?} -> {id, expiresAt}
        decide {id, verdict: approve|reject, argumentDigest, reason?} -> {id, state, approvals, people}
        expire_decision {id}    withdraw_decision {id}    record_review {id, review}
        case_closed {agentId, caseId}         its decisions are told by its Terminal Receipt; only the latest stay here
    """

    COMMANDS = {
        "genesis": ("_genesis", *members("commands")),
        "add_agent": ("_add_agent", *members("id name tokenHash authority")),
        "replace_agent_token": ("_replace_agent_token", *members("id tokenHash authority")),
        "revoke_agent_token": ("_revoke_agent_token", *members("id authority")),
        "remove_agent": ("_remove_agent", *members("id authority")),
        "add_connection": ("_add_connection", *members("id name agentId keyHash authority")),
        "replace_connection_key": ("_replace_connection_key", *members("id keyHash authority")),
        "add_source": ("_add_source", *members("name type access connectionId tier attests authority")),
        "remove_source": ("_remove_source", *members("name authority")),
        "lock_tool": ("_lock_tool", *members("connectionId toolId digest descriptor authority")),
        "unlock_tool": ("_unlock_tool", *members("connectionId toolId authority")),
        "waive_decision": ("_waive_decision", *members("connectionId toolId digest waived authority")),
        "set_delivery": ("_set_delivery", *members("agentId source localRead offMachine authority")),
        "seed_files": ("_seed_files", *members("connectionId source access toolId digest descriptor authority")),
        "set_profile": ("_set_profile", *members("id profile authority")),
        "install_release": ("_install_release", *members("id version digest authority", "title agents")),
        "install_constitution": ("_install_constitution", *members("constitution digest authority")),
        "set_device_grant": ("_set_device_grant", *members("hash authority")),
        **PEOPLE_COMMANDS, **DEVICE_COMMANDS,
        "fence": ("_fence", *members("connectionId workerId generation authority")),
        "restored": ("_restored", *members("connections agents deviceGrant digest authority")),
        "isolate": ("_isolate", *members("connectionId authority")),
        "request_decision": ("_request_decision", *members(
            "agentId ordinal decisionKind action argumentDigest argsText target premises people expiresS authority",
            "caseIds")),
        "decide": ("_decide", *members("id verdict argumentDigest authority", "reason")),
        "expire_decision": ("_expire_decision", *members("id authority")),
        "record_review": ("_record_review", *members("id review authority")),
        "withdraw_decision": ("_withdraw_decision", *members("id authority")),
        "case_closed": ("_case_closed", *members("agentId caseId authority")),
    }

    def __init__(self) -> None:
        super().__init__()
        self.agents: dict[str, dict] = {}
        self.connections: dict[str, dict] = {}     # id -> {id, name, agentId, keyHash, fence: {workerId, generation}}
        self.sources: dict[str, Source] = {}
        self.locks: dict[tuple[str, str], ToolLock] = {}
        self.deliveries: dict[str, dict] = {}      # "<agent>/<source>" -> {localRead, offMachine}; without a row nothing is delivered
        self.files: dict[str, str] = {}            # Connection -> the Source of its added files; "" where people had set up their own way
        self.profiles: dict[str, Profile] = {}     # by Agent; without one it sees its whole Board
        self.releases: dict[str, dict] = {}        # Capability id -> its current Release {id, version, digest, ...}
        self.constitution: dict | None = None      # the one in force {version, title, digest, document, by, at}
        self.decisions: dict[str, dict] = {}
        self.of_closed: tuple[str, ...] = ()       # decisions whose Case has closed, oldest first
        self.device_grant_hash = ""
        self.people = {}
        self.former = {}
        self.devices = {}
        self.rows = 0                              # accepted commands so far; genesis needs none
        self.policy_version = 0
        self._in_genesis = False
        self._by_token: dict[str, str] = {}
        self._policies: dict[str, Policy] = {}     # the last one given out, by Agent

    # --- doors -------------------------------------------------------------------------

    def _run(self, command: dict, at: str, draw: Mint) -> dict:
        kind = command.get("kind") if isinstance(command, dict) else None
        if self._in_genesis and isinstance(command, dict) and kind != "genesis" and "authority" not in command:
            command = {**command, "authority": None}
        result = super()._run(command, at, draw)
        self.journal.set(self, "rows", self.rows + 1)
        return result

    def _genesis(self, command: Mapping, at: str, draw: Mint) -> dict:
        if self.rows or self._in_genesis:
            raise Refused("genesis_over")
        self._in_genesis = True
        try:
            return {"results": [self._run(each, at, draw) for each in command["commands"]]}
        finally:
            self._in_genesis = False

    def _authority(self, act: str, command: Mapping) -> str:
        if self._in_genesis:
            return "genesis"
        return judge_authority(act, command["authority"], self.people)

    def _policy_changed(self) -> None:
        self.journal.set(self, "policy_version", self.policy_version + 1)

    # --- Agents and Connections --------------------------------------------------------

    def _add_agent(self, command: Mapping, at: str, draw: Mint) -> dict:
        self._authority("add_agent", command)
        agent_id = command["id"]
        if agent_id in self.agents:
            raise Refused("registry_name_taken", what="Agent", name=agent_id)
        self._claim_token(command["tokenHash"], agent_id)
        self.journal.put(self.agents, agent_id, {"id": agent_id, "name": command["name"],
                                                 "tokenHash": command["tokenHash"], "addedAt": at})
        return {"id": agent_id}

    def _replace_agent_token(self, command: Mapping, at: str, draw: Mint) -> dict:
        self._authority("replace_agent_token", command)
        self._give_token(self.agent(command["id"]), command["tokenHash"])
        return {"id": command["id"]}

    def _revoke_agent_token(self, command: Mapping, at: str, draw: Mint) -> dict:
        self._authority("revoke_agent_token", command)
        agent = self.agent(command["id"])
        if not agent["tokenHash"]:
            raise Refused("agent_revoked_already", agent=agent["name"])
        self._give_token(agent, "")
        return {"id": agent["id"]}

    def _give_token(self, agent: Mapping, token_hash: str) -> None:
        """Another token in place of the one it has; "" for none."""
        if token_hash:
            self._claim_token(token_hash, agent["id"])
        self._void_token(agent)
        self.journal.put(self.agents, agent["id"], {**agent, "tokenHash": token_hash})

    def _void_token(self, agent: Mapping) -> None:
        if agent["tokenHash"]:
            self.journal.drop(self._by_token, agent["tokenHash"])

    def _remove_agent(self, command: Mapping, at: str, draw: Mint) -> dict:
        self._authority("remove_agent", command)
        agent = self.agent(command["id"])
        self._void_token(agent)
        self.journal.drop(self.agents, agent["id"])
        if agent["id"] in self.profiles:
            self.journal.drop(self.profiles, agent["id"])
        self._end_deliveries(lambda key: key.startswith(f"{agent['id']}/"))
        return {"id": agent["id"]}

    def _claim_token(self, token_hash: str, agent_id: str) -> None:
        if token_hash in self._by_token:
            raise Refused("registry_name_taken", what="A token of", name=self._by_token[token_hash])
        self.journal.put(self._by_token, token_hash, agent_id)

    def _add_connection(self, command: Mapping, at: str, draw: Mint) -> dict:
        self._authority("add_connection", command)
        connection_id = command["id"]
        if connection_id in self.connections:
            raise Refused("registry_name_taken", what="Connection", name=connection_id)
        self.agent(command["agentId"])
        self.journal.put(self.connections, connection_id, {
            "id": connection_id, "name": command["name"], "agentId": command["agentId"],
            "keyHash": command["keyHash"], "fence": {"workerId": None, "generation": 0}, "addedAt": at})
        self._policy_changed()
        return {"id": connection_id}

    def _replace_connection_key(self, command: Mapping, at: str, draw: Mint) -> dict:
        self._authority("replace_connection_key", command)
        connection = self.connection(command["id"])
        self.journal.put(self.connections, connection["id"], {**connection, "keyHash": command["keyHash"]})
        return {"id": connection["id"]}

    # --- fence -------------------------------------------------------------------------

    def _fence(self, command: Mapping, at: str, draw: Mint) -> dict:
        self._authority("fence", command)
        connection, generation = self.connection(command["connectionId"]), command["generation"]
        current, wanted = connection["fence"], {"workerId": command["workerId"], "generation": generation}
        if isinstance(generation, bool) or not isinstance(generation, int) or generation < 1:
            raise Refused("bad_command", problem="A fence generation is a whole number from 1")
        replay = wanted == current
        if not replay:
            if generation <= current["generation"]:
                raise Refused("fence_generation_stale", generation=generation, connection=connection["id"],
                              current=current["generation"])
            self.journal.put(self.connections, connection["id"], {**connection, "fence": wanted})
        return {"connectionId": connection["id"], "fence": wanted, "replay": replay}

    def _isolate(self, command: Mapping, at: str, draw: Mint) -> dict:
        self._authority("isolate", command)
        connection = self.connection(command["connectionId"])
        fence = {"workerId": None, "generation": connection["fence"]["generation"] + 1}
        self.journal.put(self.connections, connection["id"], {**connection, "fence": fence})
        return {"connectionId": connection["id"], "fence": fence}

    def _restored(self, command: Mapping, at: str, draw: Mint) -> dict:
        self._authority("restored", command)
        for connection_id, renewed in command["connections"].items():
            connection, generation = self.connection(connection_id), renewed["generation"]
            if generation <= connection["fence"]["generation"]:
                raise Refused("fence_generation_stale", generation=generation, connection=connection_id,
                              current=connection["fence"]["generation"])
            self.journal.put(self.connections, connection_id, {**connection, "keyHash": renewed["keyHash"],
                                                               "fence": {"workerId": None, "generation": generation}})
        for agent_id, token_hash in command["agents"].items():
            self._give_token(self.agent(agent_id), token_hash)
        for device_id in list(self.devices):         # whether it was ended in the lost time, nobody knows
            self.journal.drop(self.devices, device_id)
        self.journal.set(self, "device_grant_hash", command["deviceGrant"])
        return {"connections": list(command["connections"]), "agents": list(command["agents"])}

    # --- Sources, Tools, Releases, secrets' hashes -------------------------------------

    def _add_source(self, command: Mapping, at: str, draw: Mint) -> dict:
        self._authority("add_source", command)
        source = Source.of(command)
        if source.name in self.sources:
            raise Refused("registry_name_taken", what="Source", name=source.name)
        self.connection(source.connection_id)
        if source.type not in SOURCE_TYPES:
            raise Refused("bad_command", problem=f"A Source has one of the types {', '.join(SOURCE_TYPES)}, not {source.type!r}")
        if source.tier not in TIERS:
            raise Refused("bad_command", problem=f"A Source has one of the tiers {', '.join(TIERS)}, not {source.tier!r}")
        self.journal.put(self.sources, source.name, source)
        self._policy_changed()
        return {"name": source.name}

    def _remove_source(self, command: Mapping, at: str, draw: Mint) -> dict:
        self._authority("remove_source", command)
        if command["name"] not in self.sources:
            raise Refused("unknown_source", source=command["name"])
        self.journal.drop(self.sources, command["name"])
        self._end_deliveries(lambda key: key.endswith(f"/{command['name']}"))       # another Source of that name is asked about anew
        self._policy_changed()
        return {"name": command["name"]}

    def _end_deliveries(self, ends: Callable[[str], bool]) -> None:
        for key in [each for each in self.deliveries if ends(each)]:
            self.journal.drop(self.deliveries, key)

    def _set_delivery(self, command: Mapping, at: str, draw: Mint) -> dict:
        by = self._authority("set_delivery", command)
        self.agent(command["agentId"])
        if command["source"] not in self.sources:
            raise Refused("unknown_source", source=command["source"])
        if not isinstance(command["localRead"], bool) or not isinstance(command["offMachine"], bool):
            raise Refused("bad_command", problem="localRead and offMachine are true or false")
        row = {"localRead": command["localRead"], "offMachine": command["offMachine"], "by": by, "at": at}
        self.journal.put(self.deliveries, f"{command['agentId']}/{command['source']}", row)
        return {"agentId": command["agentId"], "source": command["source"]}

    def _seed_files(self, command: Mapping, at: str, draw: Mint) -> dict:
        """Once for each Connection, so that nothing that people change or take away comes back."""
        by = self._authority("seed_files", command)
        connection, name = self.connection(command["connectionId"]), command["source"]
        if connection["id"] in self.files:
            raise Refused("bad_command", problem="The added files of this Connection were seeded before")
        if name in self.sources:
            raise Refused("registry_name_taken", what="Source", name=name)
        lock = ToolLock(connection["id"], command["toolId"], command["digest"], dict(command["descriptor"]))
        is_own_way = (lock.connection_id, lock.tool_id) in self.locks
        self.journal.put(self.files, connection["id"], "" if is_own_way else name)
        if not is_own_way:
            self.journal.put(self.sources, name, Source(name, "file", command["access"], connection["id"], "attested", ()))
            self.journal.put(self.locks, (lock.connection_id, lock.tool_id), lock)
            self.journal.put(self.deliveries, f"{connection['agentId']}/{name}", {"localRead": True, "offMachine": True, "by": by, "at": at})
            self._policy_changed()
        return {"source": self.files[connection["id"]]}

    def _lock_tool(self, command: Mapping, at: str, draw: Mint) -> dict:
        self._authority("lock_tool", command)
        self.connection(command["connectionId"])
        lock = ToolLock(command["connectionId"], command["toolId"], command["digest"], dict(command["descriptor"]))
        self.journal.put(self.locks, (lock.connection_id, lock.tool_id), lock)
        self._policy_changed()
        return {"connectionId": lock.connection_id, "toolId": lock.tool_id, "digest": lock.digest}

    def _unlock_tool(self, command: Mapping, at: str, draw: Mint) -> dict:
        self._authority("unlock_tool", command)
        key = (command["connectionId"], command["toolId"])
        if key not in self.locks:
            raise Refused("not_found", what="Tool lock", name=command["toolId"])
        self.journal.drop(self.locks, key)
        self._policy_changed()
        return {"connectionId": key[0], "toolId": key[1]}

    def _waive_decision(self, command: Mapping, at: str, draw: Mint) -> dict:
        self._authority("waive_decision", command)
        key, waived = (command["connectionId"], command["toolId"]), command["waived"]
        lock = self.locks.get(key)
        if lock is None or lock.digest != command["digest"]:
            raise Refused("tool_lock_not_as_shown", tool=str(command["toolId"])[:120])
        if not isinstance(waived, bool):
            raise Refused("bad_command", problem="waived is true or false")
        self.journal.put(self.locks, key, replace(lock, waived=waived))
        self._policy_changed()
        return {"connectionId": key[0], "toolId": key[1], "waived": waived}

    def _set_profile(self, command: Mapping, at: str, draw: Mint) -> dict:
        self._authority("set_profile", command)
        agent, profile = self.agent(command["id"]), Profile.of(command["profile"])
        if profile is not None:
            self.journal.put(self.profiles, agent["id"], profile)
        elif agent["id"] in self.profiles:
            self.journal.drop(self.profiles, agent["id"])
        self._policy_changed()
        return {"id": agent["id"]}

    def _install_release(self, command: Mapping, at: str, draw: Mint) -> dict:
        by = self._authority("install_release", command)
        release = {name: command[name] for name in ("id", "version", "digest", "title", "agents") if name in command}
        self.journal.put(self.releases, release["id"], {**release, "by": by, "at": at})
        return {"id": release["id"], "version": release["version"], "digest": release["digest"]}

    def _install_constitution(self, command: Mapping, at: str, draw: Mint) -> dict:
        by = self._authority("install_constitution", command)
        found = read_constitution(json.loads(canonical_text(command["constitution"])))
        if found.digest != command["digest"]:
            raise Refused("constitution_not_as_shown")
        self.journal.set(self, "constitution", {"version": found.version, "title": found.title, "digest": found.digest,
                                                "document": found.document, "by": by, "at": at})
        return {"version": found.version, "digest": found.digest}

    def _set_device_grant(self, command: Mapping, at: str, draw: Mint) -> dict:
        self._authority("set_device_grant", command)
        self.journal.set(self, "device_grant_hash", command["hash"])
        return {}

    # --- decisions ---------------------------------------------------------------------

    def _request_decision(self, command: Mapping, at: str, draw: Mint) -> dict:
        self._authority("request_decision", command)
        people, expires_s = command["people"], command["expiresS"] or DECISION_EXPIRES_S
        if isinstance(people, bool) or not isinstance(people, int) or people < 1:
            raise Refused("bad_command", problem="A decision needs one person or more")
        decision_id = draw("dec_")
        expires_at = stamp(seconds_of(at) + expires_s + 0.0005)
        self.journal.put(self.decisions, decision_id, {
            "id": decision_id, "agentId": command["agentId"], "ordinal": command["ordinal"],
            "kind": command["decisionKind"], "action": command["action"], "argumentDigest": command["argumentDigest"],
            "argsText": command["argsText"], "target": command["target"], "premises": list(command["premises"]),
            "people": people, "caseIds": list(command.get("caseIds", ())), "requestedAt": at, "expiresAt": expires_at,
            "state": "pending", "by": []})
        return {"id": decision_id, "expiresAt": expires_at}

    def _decide(self, command: Mapping, at: str, draw: Mint) -> dict:
        by = self._authority("decide", command)
        decision, verdict = self.decision(command["id"]), command["verdict"]
        self._check_open(decision, at)
        if command["argumentDigest"] != decision["argumentDigest"]:
            raise Refused("decision_digest_mismatch", decision=decision["id"])
        if verdict not in ("approve", "reject"):
            raise Refused("bad_command", problem=f"A verdict is approve or reject, not {verdict!r}")
        if verdict == "reject" and not command.get("reason"):
            raise Refused("reason_required")
        if any(each["by"] == by for each in decision["by"]) and verdict == "approve":
            raise Refused("decision_same_person", by=by, decision=decision["id"], people=decision["people"])
        said = {"by": by, "verdict": verdict, "at": at}
        if command.get("reason"):
            said["reason"] = command["reason"]
        voices = [*decision["by"], said]
        approvals = len(self.approvers(voices))
        state = "rejected" if verdict == "reject" else "approved" if approvals >= decision["people"] else "pending"
        self.journal.put(self.decisions, decision["id"], {**decision, "state": state, "by": voices})
        return {"id": decision["id"], "state": state, "approvals": approvals, "people": decision["people"]}

    def approvers(self, voices: list) -> set[str]:
        """Who approved and may still decide: the word of a person who was removed, or may only read now, no longer counts."""
        able = ROLES[ROLES.index(OPERATOR):]
        return {each["by"] for each in voices if each["verdict"] == "approve" and self.people.get(each["by"], {}).get("role") in able}

    def _expire_decision(self, command: Mapping, at: str, draw: Mint) -> dict:
        self._authority("expire_decision", command)
        decision = self.decision(command["id"])
        if self.decision_state(decision["id"], at) != "expired":
            raise Refused("decision_closed", decision=decision["id"], state=decision["state"])
        self.journal.put(self.decisions, decision["id"], {**decision, "state": "expired"})
        return {"id": decision["id"], "state": "expired"}

    def _case_closed(self, command: Mapping, at: str, draw: Mint) -> dict:
        self._authority("case_closed", command)
        known = set(self.of_closed)
        closed = [*self.of_closed, *(each["id"] for each in self.decisions.values() if each["state"] != "pending" and each["id"] not in known
                                     and each["agentId"] == command["agentId"] and command["caseId"] in each["caseIds"])]
        for decision_id in closed[:-DECISIONS_KEPT]:
            self.journal.drop(self.decisions, decision_id)
        self.journal.set(self, "of_closed", tuple(closed[-DECISIONS_KEPT:]))
        return {"caseId": command["caseId"]}

    def _record_review(self, command: Mapping, at: str, draw: Mint) -> dict:
        """What a reviewer said of the call; it stands beside the decision and moves nothing."""
        self._authority("record_review", command)
        decision = self.decision(command["id"])
        self._check_open(decision, at)
        self.journal.put(self.decisions, decision["id"], {**decision, "reviews": [*decision.get("reviews", ()), {**command["review"], "at": at}]})
        return {"id": decision["id"]}

    def _withdraw_decision(self, command: Mapping, at: str, draw: Mint) -> dict:
        self._authority("withdraw_decision", command)
        decision = self.decision(command["id"])
        self._check_open(decision, at)
        self.journal.put(self.decisions, decision["id"], {**decision, "state": "withdrawn"})
        return {"id": decision["id"], "state": "withdrawn"}

    def _check_open(self, decision: Mapping, at: str) -> None:
        state = self.decision_state(decision["id"], at)
        if state == "expired":
            raise Refused("decision_expired", decision=decision["id"], expires_at=decision["expiresAt"])
        if state != "pending":
            raise Refused("decision_closed", decision=decision["id"], state=state)

    # --- reads -------------------------------------------------------------------------

    def agent_ids(self) -> list[str]:
        return list(self.agents)

    def agent(self, agent_id: str) -> dict:
        if agent_id not in self.agents:
            raise Refused("unknown_agent", agent=agent_id)
        return self.agents[agent_id]

    def profile(self, agent_id: str) -> Profile | None:
        return self.profiles.get(agent_id)

    def agent_by_token_hash(self, token_hash: str) -> str | None:
        return self._by_token.get(token_hash)

    def delivery(self, agent_id: str, source: str) -> dict | None:
        """How content of a Source may reach an Agent: {localRead, offMachine}, or None where no owner has said.

        localRead   on the Worker's own machine, to a model there
        offMachine  through this gateway, and to a model anywhere
        """
        return self.deliveries.get(f"{agent_id}/{source}") if source in self.sources else None

    def connection(self, connection_id: str) -> dict:
        if connection_id not in self.connections:
            raise Refused("unknown_connection", connection=connection_id)
        return self.connections[connection_id]

    def sources_of(self, connection_id: str) -> list[Source]:
        return [source for source in self.sources.values() if source.connection_id == connection_id]

    def locks_of(self, connection_id: str) -> list[ToolLock]:
        return [lock for lock in self.locks.values() if lock.connection_id == connection_id]

    def decision(self, decision_id: str) -> dict:
        if decision_id not in self.decisions:
            raise Refused("unknown_decision", decision=decision_id)
        return self.decisions[decision_id]

    def decision_state(self, decision_id: str, at: str) -> str:
        """pending, approved, rejected, withdrawn or expired, as of `at`."""
        decision = self.decision(decision_id)
        if decision["state"] == "pending" and seconds_of(at) >= seconds_of(decision["expiresAt"]):
            return "expired"
        return decision["state"]

    def is_isolated(self, connection_id: str, generation: int) -> bool:
        """Whether the holder of `generation` can no longer report: the fence stands above it."""
        return self.connection(connection_id)["fence"]["generation"] > generation

    def policy(self, agent_id: str, *, live: Mapping[str, Mapping[str, str]], live_version: object = None) -> Policy:
        """What this Agent's Board may know of Sources, locks and lines.

        live          connection id -> {tool id: digest advertised}; only Connections whose lease is live
        live_version  any value that differs when `live` does; None compares `live` itself
        """
        if live_version is not None:
            known = self._policies.get(agent_id)
            if known is not None and known.version == (self.policy_version, live_version):
                return known
        own = {each["id"] for each in self.connections.values() if each["agentId"] == agent_id}
        profile = self.profiles.get(agent_id)
        shown = None if profile is None else profile.sources
        sources = tuple(source for source in self.sources.values() if source.connection_id in own and (shown is None or source.name in shown))
        locks = {key: lock for key, lock in self.locks.items() if lock.connection_id in own}
        seen = {connection: tools for connection, tools in live.items() if connection in own}
        version = live_version if live_version is not None else {name: dict(tools) for name, tools in seen.items()}
        policy = Policy(sources, locks, seen, (self.policy_version, version), profile)
        if live_version is not None:
            self._policies[agent_id] = policy
        return policy
