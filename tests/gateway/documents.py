"""A Capability that reads submitted documents, a store of materials, and an owner who sets both up."""

from __future__ import annotations

import json
import re

from rulith.base.canonical import digest
from rulith.disk.materials import Belonging, Materials
from rulith.disk.submissions import submit
from rulith.wire.artifacts import encoding_of
from rulith.wire.manifest import BUILTINS

READER = BUILTINS["rulith.materials.read@1"]
SOURCE, TYPE, ACTION = "attached", "document_review", "acme.docs.read"
AT = "2026-12-01T00:00:00.000Z"
CAPABILITY = {
    "format": "rulith-capability/1", "id": "acme.docs", "version": "1.0.0", "title": "Documents", "summary": "Fetches one attached document.",
    "vocabulary": {"defines": [{"id": "acme.docs.fetched", "as": "fetched", "args": {"material": "string"}}],
                   "imports": [{"id": name, "as": name} for name in ("root", "case_context", "case_key")]},
    "pins": [], "rules": [],
    "acceptance": [{"id": "fetched", "label": "the attached document was fetched from where it is kept", "when": [
        {"predicate": "case_key", "args": {"root": "?root", "name": "material", "value": "?material"}}, {"predicate": "fetched", "args": {"material": "?material"}}]}],
    "actions": [{"id": "read", "description": "Fetch an attached document.", "tool": READER.id, "kind": "read", "source_types": ["file"], "params": {"material": "string"},
                 "preconditions": [{"predicate": "case_key", "args": {"root": "?root", "name": "material", "value": "?material"}}],
                 "effects": [{"predicate": "fetched", "args": {"material": "?material"}}], "returns": []}],
    "case_types": {TYPE: {"title": "A document is read", "business_key": {"material": "string"}, "floor": "attested", "agent_rules": "rules_and_actions",
                          "task": [{"node": "fetched", "goal": "the document is fetched", "acceptance": "fetched"}], "drive": ["read"]}},
    "aggregates": [], "terms": "Free.", "examples": [],
}
PASSPHRASE = "correct horse battery"


class Owner:
    """The signed-in owner of a fresh gateway."""

    def __init__(self, world, kit) -> None:
        self.world, self.kit = world, kit

    async def _post(self, route: str, body: dict, headers: dict):
        return await self.kit.http(self.world.port, "POST", f"/console/api/{route}", {"content-type": "application/json", **headers}, json.dumps(body).encode())

    async def set_up(self) -> Owner:
        answer = await self._post("setup", {"code": self.world.gateway.setup_code, "passphrase": PASSPHRASE}, {})
        cookie = re.match(r"rulith_console=([^;]*)", answer.headers["set-cookie"]).group(1)
        self.headers = {"cookie": f"rulith_console={cookie}", "x-rulith-console": answer.json()["token"]}
        return self

    async def act(self, route: str, **body) -> dict:
        answer = (await self._post(route, body, self.headers)).json()
        assert answer["ok"], answer
        return answer

    async def permit(self, *, local: bool, off: bool) -> None:
        await self.act("source-delivery", agentId=self.world.profile.agent_id, source=SOURCE, localRead=local, offMachine=off)

    async def documents(self, area, capability: dict = CAPABILITY) -> None:
        """The Capability, the reader's lock and the Source over `area`; some Worker must offer the reader now."""
        connection = self.world.profile.connection_id
        area.mkdir(exist_ok=True)
        text = json.dumps(capability)
        await self.act("capability-install", text=text, digest=digest(capability), replaces="")
        if (connection, READER.id) not in self.world.gateway.authority.registry.locks:       # else its Worker came with it
            await self.act("tool-lock", connectionId=connection, toolId=READER.id, digest=READER.digest, replaces="")
        await self.act("source-add", connectionId=connection, name=SOURCE, type="file", access=str(area), tier="attested", attests=[])


def belonging(world) -> Belonging:
    profile = world.profile
    return Belonging.of(str(profile.settings_path), "gateway", profile.connection_id, profile.agent_id)


def area_of(world):
    return world.profile.directory / "materials"


def attach(world, name: str, media_type: str, data: bytes, destination: str = ""):
    """Add a file and attach it to a message; its record."""
    store = Materials.create(area_of(world), belonging(world), AT)
    record = store.add(name, media_type, data, encoding_of(media_type, data), destination=destination, local_only=False, at=AT)
    submit(store, world.profile.agent_id, request_id="request-" + record.id[4:], session_key="s", handles=[record.handle], destination=destination)
    return record
