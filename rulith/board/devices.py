"""Devices: computers elsewhere whose workbench an owner let in, and the roles that they paired.

A device reads what the local API tells and pairs roles with Agents; it decides nothing. It
ends when an owner or the computer itself ends it, or when it was not seen for long. With
it end the token and the key that its pairings gave, so that a lost computer is one press.

Refuses to know: tokens, keys and pairing ids themselves (only hashes enter), clocks, the web.
Units   expiry is judged when looked at, against the row's own stamp.
Source  the workbench surface, "Account sign-in", "Attaching a profile".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rulith.base.clock import seconds_of, stamp
from rulith.base.errors import Refused
from rulith.base.limits import DEVICE_IDLE_S, DEVICES_MAX
from rulith.board.machine import members
from rulith.board.people import GATEWAY, OWNER
from rulith.board.shapes import Mint

ITSELF = "itself"
DEVICE_AUTHORITY = {"add_device": OWNER, "end_device": OWNER, "leave_device": GATEWAY, "see_device": GATEWAY, "pair_device": GATEWAY}
DEVICE_COMMANDS = {
    "add_device": ("_add_device", *members("id name hash authority")),
    "end_device": ("_end_device", *members("id authority")),
    "leave_device": ("_leave_device", *members("id authority")),
    "see_device": ("_see_device", *members("id authority")),
    "pair_device": ("_pair_device", *members("id agentId connectionId name pairing keyHash tokenHash replaces authority")),
}


class DeviceLaw:
    """The commands about devices; the Registry is one of these. `devices` is its state, `_authority` its judge."""

    journal: Any
    agents: dict[str, dict]
    connections: dict[str, dict]
    devices: dict[str, dict]       # id -> {id, name, hash, by, at, expiresAt, endedAt?, endedBy?}; ended ones are kept while there is room

    def device_of(self, token_hash: str, at: str) -> dict:
        """The device whose token this is. Raises Refused: device_unknown, device_revoked, device_expired."""
        found = next((each for each in self.devices.values() if each["hash"] == token_hash), None)
        if found is None:
            raise Refused("device_unknown")
        if "endedAt" in found:
            raise Refused("device_revoked", name=found["name"], at=found["endedAt"], by=found["endedBy"])
        if seconds_of(at) >= seconds_of(found["expiresAt"]):
            raise Refused("device_expired", name=found["name"], at=found["expiresAt"])
        return found

    def device(self, device_id: str) -> dict:
        if device_id not in self.devices:
            raise Refused("device_unknown")
        return self.devices[device_id]

    # --- commands ----------------------------------------------------------------------

    def _add_device(self, command: Mapping, at: str, draw: Mint) -> dict:
        by = self._authority("add_device", command)
        if len(self.devices) >= DEVICES_MAX:
            gone = next((each["id"] for each in self.devices.values() if "endedAt" in each or seconds_of(at) >= seconds_of(each["expiresAt"])), None)
            if gone is None:
                raise Refused("resource_limit", what="the number of signed-in computers", value=DEVICES_MAX + 1, limit=DEVICES_MAX)
            self.journal.drop(self.devices, gone)
        self.journal.put(self.devices, command["id"], {"id": command["id"], "name": command["name"], "hash": command["hash"], "by": by, "at": at,
                                                       "expiresAt": stamp(seconds_of(at) + DEVICE_IDLE_S)})
        return {"id": command["id"]}

    def _see_device(self, command: Mapping, at: str, draw: Mint) -> dict:
        """It is in use: its time begins anew."""
        self._authority("see_device", command)
        device = self.device(command["id"])
        self.journal.put(self.devices, device["id"], {**device, "expiresAt": stamp(seconds_of(at) + DEVICE_IDLE_S)})
        return {"id": device["id"]}

    def _end_device(self, command: Mapping, at: str, draw: Mint) -> dict:
        return self._ended(command["id"], at, self._authority("end_device", command))

    def _leave_device(self, command: Mapping, at: str, draw: Mint) -> dict:
        self._authority("leave_device", command)
        return self._ended(command["id"], at, ITSELF)

    def _ended(self, device_id: str, at: str, by: str) -> dict:
        device = self.device(device_id)
        if "endedAt" in device:
            raise Refused("device_revoked", name=device["name"], at=device["endedAt"], by=device["endedBy"])
        self.journal.put(self.devices, device_id, {**device, "endedAt": at, "endedBy": by})
        connections, agents = [], []
        for connection in [each for each in self.connections.values() if each.get("device") == device_id]:
            if connection["keyHash"] == connection["gave"]["keyHash"]:
                self.journal.put(self.connections, connection["id"], {**connection, "keyHash": ""})
                connections.append(connection["id"])
            agent = self.agents.get(connection["agentId"])
            if agent is not None and agent["tokenHash"] and agent["tokenHash"] == connection["gave"]["tokenHash"]:
                self._give_token(agent, "")
                agents.append(agent["id"])
        return {"id": device_id, "connections": connections, "agents": agents}

    def _pair_device(self, command: Mapping, at: str, draw: Mint) -> dict:
        """A Connection of this device for the Agent, and with a tokenHash the Agent's token; both replace what an earlier pairing gave."""
        self._authority("pair_device", command)
        agent, connection_id, gave = self.agent(command["agentId"]), command["connectionId"], {name: command[name] for name in ("keyHash", "tokenHash")}
        known = self.connections.get(connection_id)
        if known is not None and known["pairing"] == command["pairing"]:
            raise Refused("pairing_conflict", agent=agent["name"])
        if gave["tokenHash"] and agent["tokenHash"] and not command["replaces"]:
            raise Refused("runtime_credential_exists", agent=agent["name"])
        row = known or {"id": connection_id, "name": command["name"], "agentId": agent["id"], "fence": {"workerId": None, "generation": 0}, "turn": 0, "addedAt": at}
        self.journal.put(self.connections, connection_id, {**row, "device": command["id"], "pairing": command["pairing"], "turn": row["turn"] + 1, "gave": gave,
                                                           "keyHash": gave["keyHash"]})
        if gave["tokenHash"]:
            self._give_token(agent, gave["tokenHash"])
        self._policy_changed()
        return {"agentId": agent["id"], "connectionId": connection_id}
