"""Add files: what a person hands to one Agent, kept on this machine; and reads of it for a model here.

The page sends a file's bytes and gets its name, size and an id back, never a byte. Attaching
files to a message makes them readable by the one Tool for that; it lets nothing leave.
A local read goes to the Worker of the profile, under a key that only this home's Agents
have, and its content passes through here without being told to any page.

Units   *_s seconds
Source  the workbench surface, §14
"""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import Mapping

from rulith.base.canonical import sha256_hex
from rulith.base.clock import stamp
from rulith.base.errors import Refused
from rulith.base.ids import mint
from rulith.base.json_text import read_json
from rulith.base.limits import MATERIAL_BYTES_MAX
from rulith.disk.materials import Materials, area_of, belonging_of, is_on_this_machine, model_destination
from rulith.disk.submissions import submit, task_proof
from rulith.net.link import within
from rulith.net.messages import Request
from rulith.wire.artifacts import base64_bytes, encoding_of
from rulith.workbench.bench import Workbench
from rulith.workbench.instances import Instance
from rulith.workbench.supervision import Is

KEY_HEADER = "x-rulith-material"
PROOF_HEADER = "x-rulith-material-task-proof"
READ_S = 20.0
READS_MAX = 16                   # of one Worker at once


def members(request: Request, required: tuple[str, ...], optional: tuple[str, ...] = ()) -> dict:
    """The body's members. Raises Refused body_not_object, body_field."""
    body = read_json(request.body or b"{}", "the body")
    wanted = ", ".join((*required, *optional))
    if not isinstance(body, dict):
        raise Refused("body_not_object", path=request.path, problem=f"it is {type(body).__name__}")
    if unknown := sorted(set(body) - {*required, *optional}):
        raise Refused("body_field", path=request.path, problem=f"an unexpected field {unknown[0][:60]!r}", fields=wanted)
    if missing := [name for name in required if name not in body]:
        raise Refused("body_field", path=request.path, problem=f"no field {missing[0]!r}", fields=wanted)
    return body


async def listed(bench: Workbench, instance: Instance) -> dict:
    """The added files, the latest first."""
    profile = instance.profile
    if not (area_of(profile) / "store.json").exists():
        return {"materials": []}
    store = await asyncio.to_thread(Materials.open, area_of(profile), belonging_of(profile))
    return {"materials": [each.public() for each in await asyncio.to_thread(store.added)]}


async def add(bench: Workbench, instance: Instance, given: Mapping[str, object]) -> dict:
    """Keep one file. Raises Refused material_…, materials_…"""
    profile, destination = instance.profile, model_destination(instance.profile)
    stated = given.get("modelDestination", destination)
    if stated != destination:
        raise Refused("material_destination_changed", now=destination)
    data = base64_bytes(given["bytes"], MATERIAL_BYTES_MAX)
    if data is None:
        _refuse_bytes(given)
    media_type = given["mediaType"]
    encoding = encoding_of(media_type, data) if isinstance(media_type, str) else "base64"

    def keep():
        store = Materials.create(area_of(profile), belonging_of(profile), at)
        return store.add(given["name"], media_type, data, encoding, destination=destination,
                         local_only=bool(destination) and is_on_this_machine(destination), at=at)

    is_first, at = not (area_of(profile) / "store.json").exists(), stamp(bench.clock.wall_s())
    record = await asyncio.to_thread(keep)
    if is_first:                         # it could not be made before, and both learn of it when they start
        bench.reload_worker(instance)
        instance.talker.reload()
    bench.feed.put("changed", instance=instance.id, what="materials")
    return {"material": record.public()}


def _refuse_bytes(given: Mapping[str, object]) -> None:
    """Why these bytes are none: too many, not base64, or written in another way."""
    text = given["bytes"]
    if isinstance(text, str) and len(text) > -(-MATERIAL_BYTES_MAX // 3) * 4:
        raise Refused("material_too_large", name=str(given.get("name"))[:80], size=len(text) * 3 // 4, limit=MATERIAL_BYTES_MAX)
    kept = isinstance(text, str) and base64_bytes("".join(text.split()), MATERIAL_BYTES_MAX) is not None
    raise Refused("material_bytes_not_canonical" if kept else "material_bytes_invalid")


async def attach(instance: Instance, given: Mapping[str, object]) -> dict:
    """Attach added files to one message; its receipt names the ids that the Tool reads by."""
    profile = instance.profile
    store = await asyncio.to_thread(Materials.open, area_of(profile), belonging_of(profile))
    receipt = await asyncio.to_thread(lambda: submit(store, profile.agent_id, request_id=given["requestId"], session_key=given["sessionKey"],
                                                     handles=given["attachments"], destination=model_destination(profile)))
    return {"submissionReceipt": receipt}


async def task_of(instance: Instance, body: dict) -> tuple[dict, dict[str, str]]:
    """A message as the Agent's service takes it, and the header that goes with its files. The files are attached here, once for each request."""
    handles, body = body.get("attachments") or [], {name: value for name, value in body.items() if name != "attachments"}
    if handles == []:
        return body, {}
    if "sessionKey" not in body:
        body["sessionKey"] = f"ctx-{sha256_hex(str(body['requestId']).encode())[:32]}"      # as the service names the conversation of a request
    given = {"requestId": body["requestId"], "sessionKey": body["sessionKey"], "attachments": handles}
    receipt = (await attach(instance, given))["submissionReceipt"]
    store = await asyncio.to_thread(Materials.open, area_of(instance.profile), belonging_of(instance.profile))
    proof = await asyncio.to_thread(task_proof, store, instance.profile.agent_id, str(body["requestId"]))
    if isinstance(body["text"], str) and not body["text"].strip():
        body["text"] = _about(receipt["attachments"])
    return {**body, "attachments": receipt["attachments"]}, {PROOF_HEADER: proof}


def _about(files: list[dict]) -> str:
    """What is asked where files come without words; nothing of their content."""
    named = "; ".join(f"{each['name']} ({each['mediaType']}, {each['totalBytes']} bytes, {each['id']})" for each in files)
    return f"I added {'a file' if len(files) == 1 else f'{len(files)} files'} and wrote nothing: {named}. Look at what it is, and ask me what to do with it."


class Deliveries:
    """Local reads under way. `key` is this run's; Agents that this workbench starts are told it."""

    def __init__(self, key: str) -> None:
        self.key = key
        self._waiting: dict[str, asyncio.Future] = {}

    def check_key(self, request: Request) -> None:
        """Raises Refused token_unknown: the page's own key opens nothing here."""
        if not hmac.compare_digest((request.headers.get(KEY_HEADER) or "").encode(), self.key.encode()):
            raise Refused("token_unknown")

    def heard(self, event: Mapping[str, object]) -> bool:
        """Take a Worker's answer to a read; whether it was one. It is told to nobody else."""
        if event.get("type") != "material-read":
            return False
        waiting = self._waiting.get(str(event.get("id")))
        if waiting is not None and not waiting.done():
            waiting.set_result(event)
        return True

    async def deliver(self, instance: Instance, given: Mapping[str, object]) -> dict:
        """The window behind a ticket. Raises Refused: material_…, local_…"""
        child = instance.worker.child
        if child is None or instance.worker.state is not Is.ONLINE or len(self._waiting) >= READS_MAX:
            raise Refused("material_custodian_offline", ref=str(given["ref"])[:80], seconds=0)
        read_id = mint("read_", 16)
        waiting = self._waiting[read_id] = asyncio.get_running_loop().create_future()
        try:
            child.read_material(id=read_id, ticket=given["ticket"], modelDestination=given["modelDestination"])
            event = await within(READ_S, waiting)
        except asyncio.TimeoutError:
            raise Refused("material_custodian_offline", ref=str(given["ref"])[:80], seconds=int(READ_S)) from None
        finally:
            del self._waiting[read_id]
        if event.get("ok") is not True:
            raise Refused("material_delivery_refused", problem=str(event.get("teaching") or event.get("errorCode"))[:400].rstrip("."))
        return {"result": event["result"]}
