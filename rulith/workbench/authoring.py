"""Document to Capability, on the page: a document comes, a model drafts in a process of its own, a person reviews and keeps.

The process gets the model of the profile and nothing else: no token, no Connection key, no
Tool. Saving keeps a file on this computer; installing it is the Console's, with the person's
passphrase. One draft of an Agent is written at a time.

Units   *_s seconds
Source  the workbench surface, "Document assistant"
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from rulith.base.canonical import canonical_text, sha256_hex
from rulith.base.clock import stamp
from rulith.base.errors import Refused
from rulith.base.limits import CAPABILITY_BYTES_MAX, DOCUMENT_BYTES_MAX, DRAFT_ANSWERS_BYTES_MAX, DRAFT_JOB_S
from rulith.board.authoring import SourceDocument, capability_of, digest_of, is_ready, is_sound, places_of, proposal_digest
from rulith.disk.atomic import read_bounded
from rulith.disk.authoring import DOCUMENT, DraftFolder, folder_of, folders, new_folder, node_of, save_capability
from rulith.disk.materials import model_destination
from rulith.disk.model_settings import agent_credentials, agent_env
from rulith.disk.profiles import Profile
from rulith.net.link import within
from rulith.net.messages import Request
from rulith.wire.artifacts import base64_bytes
from rulith.workbench.bench import Workbench
from rulith.workbench.instances import Instance
from rulith.workbench.materials import members
from rulith.workbench.models import model_row
from rulith.workbench.roles import Child, Event, last_line

Route = Callable[[Request, Instance], Awaitable[object]]
BODY = "/authoring"              # the one request here that is larger than a form
STATUS = {"authoring_busy": 409, "authoring_not_running": 409, "authoring_changed": 409, "authoring_stale": 409, "authoring_not_ready": 409,
          "authoring_model": 409, "authoring_unknown": 404}
LENT = re.compile(r"RULITH_(MODEL|BUDGET)(_.*)?|ANTHROPIC_API_KEY")       # of an Agent's settings
REQUEST_ID = re.compile(r"[A-Za-z0-9_-]{16,100}", re.ASCII)
STOP_GRACE_S = 5.0
WRITING, STOPPED, FAILED, INTERRUPTED = "writing", "stopped", "failed", "interrupted"


@dataclass
class Job:
    """A draft that is being written now."""

    folder: DraftFolder
    child: Child | None = None
    round: int = 0
    is_stopped: bool = False
    end: Mapping[str, object] | None = None


class Authoring:
    """Made once by the API."""

    def __init__(self, bench: Workbench) -> None:
        self.bench = bench
        self._jobs: dict[str, Job] = {}              # by instance
        self.gets: dict[str, Route] = {"authoring": self._list, "authoring/review": self._review}
        self.posts: dict[str, Route] = {"authoring": self._start, "authoring/again": self._again, "authoring/stop": self._stop,
                                        "authoring/save": self._save, "authoring/remove": self._remove}

    # reading

    async def _list(self, request: Request, instance: Instance) -> dict:
        rows = await asyncio.to_thread(lambda: [self._row(instance, each) for each in folders(instance.profile)])
        model = model_row(instance.profile)
        return {"drafts": sorted(rows, key=lambda row: row["startedAt"], reverse=True), "modelDestination": model_destination(instance.profile),
                "model": {name: model.get(name, "") for name in ("name", "ready", "reason", "source")}}

    def _row(self, instance: Instance, folder: DraftFolder) -> dict:
        """One draft as the list shows it; a damaged one says so."""
        job = self._jobs.get(instance.id)
        mine = job if job is not None and job.folder.id == folder.id else None
        try:
            kept = folder.job()
            results = folder.results()
        except Refused as problem:
            return {"id": folder.id, "name": folder.id, "state": "damaged", "problem": problem.happened, "startedAt": "", "round": 0, "results": 0, "saved": None}
        state = WRITING if mine else INTERRUPTED if kept["state"] == WRITING else kept["state"]
        return {"id": folder.id, "name": kept["name"], "state": state, "problem": kept.get("problem", ""), "startedAt": kept.get("startedAt", ""),
                "round": mine.round if mine else 0, "results": len(results), "saved": kept.get("saved")}

    async def _review(self, request: Request, instance: Instance) -> dict:
        folder = folder_of(instance.profile, request.query.get("id"))
        found = await asyncio.to_thread(_reviewed, folder, request.query.get("result"))
        newer = await asyncio.to_thread(_has_newer, instance.profile, folder)
        return {**self._row(instance, folder), **found, **await asyncio.to_thread(_saved, folder), "documentChanged": newer}

    # writing

    async def _start(self, request: Request, instance: Instance) -> dict:
        given = members(request, ("requestId", "name", "bytes", "modelDestination"))
        data = base64_bytes(given["bytes"], DOCUMENT_BYTES_MAX)
        if data is None:
            size = len(given["bytes"]) * 3 // 4 if isinstance(given["bytes"], str) else 0
            if size > DOCUMENT_BYTES_MAX:
                raise Refused("document_too_large", name=str(given["name"])[:80], size=size, limit=DOCUMENT_BYTES_MAX)
            raise Refused("authoring_request", problem="bytes is not base64")
        return await self._begin(instance, given, given["name"], data)

    async def _again(self, request: Request, instance: Instance) -> dict:
        given = members(request, ("requestId", "id", "resultId", "answers", "modelDestination"))
        answers = given["answers"]
        if not isinstance(answers, str) or len(answers.encode("utf-8", "replace")) > DRAFT_ANSWERS_BYTES_MAX:
            raise Refused("authoring_request", problem=f"answers is not a text of at most {DRAFT_ANSWERS_BYTES_MAX} bytes")
        folder = folder_of(instance.profile, given["id"])
        before = (await asyncio.to_thread(_reviewed, folder, given["resultId"]))["draft"] if given["resultId"] else None
        return await self._begin(instance, given, folder.job()["name"], folder.document(), before, answers)

    async def _begin(self, instance: Instance, given: Mapping, name: object, data: bytes, before: Mapping | None = None, answers: str = "") -> dict:
        """Keep the document and start the process. The same request again is answered with what it began."""
        profile, material_id = instance.profile, given["requestId"]
        if not isinstance(material_id, str) or not REQUEST_ID.fullmatch(material_id):
            raise Refused("authoring_request", problem="requestId is not 16 to 100 of A-Z a-z 0-9 _ -")
        document = SourceDocument(name, data)
        folder = new_folder(profile, material_id, document.digest)
        if folder.exists:
            return {"draft": self._row(instance, folder)}
        model, destination = model_row(profile), model_destination(profile)
        if model["source"] == "external" or not model["ready"]:
            problem = "a program elsewhere is this Agent" if model["source"] == "external" else str(model["reason"] or "no model is configured").rstrip(".")
            raise Refused("authoring_model", name=instance.name, problem=problem)
        if given["modelDestination"] != destination:
            raise Refused("material_destination_changed", now=destination)
        if instance.id in self._jobs:
            raise Refused("authoring_busy", name=instance.name)
        job = self._jobs[instance.id] = Job(folder)
        try:
            kept = {"format": "rulith-authoring-job/1", "id": folder.id, "materialId": material_id, "name": document.name, "documentDigest": document.digest,
                    "agentId": profile.agent_id, "answers": answers, "state": WRITING, "startedAt": stamp(self.bench.clock.wall_s())}
            await asyncio.to_thread(folder.begin, kept, data, before)
            job.child = await self.bench.spawn("capability", env=self._env(profile), args=["from-document", str(folder.path / DOCUMENT), "--keep", str(folder.path)],
                                               log_path=self.bench.home.logs / f"authoring-{instance.id}.log", on_event=lambda event: self._heard(instance, job, event))
        except BaseException:
            del self._jobs[instance.id]
            folder.remove()
            raise
        self.bench.spawn_task(self._live(instance, job), f"draft {folder.id}")
        self._tell(instance)
        return {"draft": self._row(instance, folder)}

    def _env(self, profile: Profile) -> dict[str, str]:
        """The model, its key and its budget: nothing with which anything could be done."""
        prices = self.bench.home.path / "prices.json"
        lent = {name: value for name, value in {**agent_env(profile), **agent_credentials(profile)}.items() if LENT.fullmatch(name)}
        return {**({"RULITH_PRICES": str(prices)} if prices.exists() else {}), **lent, "RULITH_HOME": str(self.bench.home.path), "RULITH_AGENT_LOCK": str(profile.agent_lock)}

    def _heard(self, instance: Instance, job: Job, event: Event) -> None:
        kind = event.get("type")
        if instance.id not in self.bench.instances and job.child is not None and not job.is_stopped:
            job.is_stopped = True            # its profile was removed meanwhile
            self.bench.spawn_task(_ended(job.child), f"stop {job.folder.id}")
        if kind == "authoring-round" and type(event.get("round")) is int:
            job.round = event["round"]  # type: ignore[assignment]
        elif kind == "end":
            job.end = event
        elif kind != "authoring-checked":
            return
        self._tell(instance)

    async def _live(self, instance: Instance, job: Job) -> None:
        """Until the process is gone; what it came to is kept."""
        assert job.child is not None
        slow = False
        try:
            code = await within(DRAFT_JOB_S, job.child.wait())
        except asyncio.TimeoutError:
            slow, code = True, await job.child.stop(STOP_GRACE_S)
        except asyncio.CancelledError:       # the workbench ends; the draft is shown as interrupted from then on
            await job.child.stop(STOP_GRACE_S)
            raise
        end = job.end or {}
        state, problem = str(end.get("state") or FAILED), str(end.get("teaching") or "")
        if slow or job.is_stopped or state == STOPPED:
            state, problem = STOPPED, f"It took longer than {DRAFT_JOB_S / 60:.0f} minutes." if slow else ""
        elif not end:
            state, problem = INTERRUPTED, f"The process that wrote it ended with {code}. {last_line(job.child.last_words())}".strip()
        del self._jobs[instance.id]
        if job.folder.exists:
            try:
                await asyncio.to_thread(job.folder.note, state=state, problem=problem)
            except Refused:
                pass                     # the list says of it that it was interrupted
        self._tell(instance)

    async def _stop(self, request: Request, instance: Instance) -> dict:
        node = members(request, ("id",))["id"]
        job = self._jobs.get(instance.id)
        if job is None or job.child is None or job.folder.id != node:
            raise Refused("authoring_not_running", id=str(node)[:60])
        if not job.is_stopped:
            job.is_stopped = True
            self.bench.spawn_task(_ended(job.child), f"stop {node}")
        return {}

    # keeping

    async def _save(self, request: Request, instance: Instance) -> dict:
        """Keep the reviewed draft as a file; the same again is answered with the same file."""
        given = members(request, ("id", "resultId", "proposalDigest"))
        profile, folder = instance.profile, folder_of(instance.profile, given["id"])
        found = await asyncio.to_thread(_reviewed, folder, given["resultId"])
        if found["proposalDigest"] != given["proposalDigest"]:
            raise Refused("authoring_stale")
        if not found["ready"]:
            raise Refused("authoring_not_ready", problem=found["lacking"])
        job = folder.job()
        request_id = "local-save:" + sha256_hex(canonical_text(["home", profile.agent_id, "", job["materialId"], job["documentDigest"], found["proposalDigest"]]).encode())
        pack_id = "pack_" + sha256_hex(request_id.encode())[:24]
        program = found["draft"]["program"]
        path = await asyncio.to_thread(save_capability, profile, f"{program['id']}-{program['version']}-{pack_id[5:13]}.json", capability_of(found["draft"]))
        saved = {"packId": pack_id, "requestId": request_id, "file": path.name, "path": str(path), "resultId": found["resultId"], "proposalDigest": found["proposalDigest"],
                 "fileDigest": digest_of(path.read_bytes())}
        await asyncio.to_thread(folder.note, saved=saved)
        self._tell(instance)
        return {"saved": saved}

    async def _remove(self, request: Request, instance: Instance) -> dict:
        """Drop a draft with its document; a file that was saved from it stays."""
        folder = folder_of(instance.profile, members(request, ("id",))["id"])
        job = self._jobs.get(instance.id)
        if job is not None and job.folder.id == folder.id:
            raise Refused("authoring_busy", name=instance.name)
        await asyncio.to_thread(folder.remove)
        self._tell(instance)
        return {}

    def _tell(self, instance: Instance) -> None:
        self.bench.feed.put("authoring", instance=instance.id)


async def _ended(child: Child) -> None:
    await child.stop(STOP_GRACE_S)


def _reviewed(folder: DraftFolder, result_id: object) -> dict:
    """A result with its document, every digest verified. Raises Refused authoring_changed, authoring_unknown."""
    job, content, rows = folder.job(), folder.document(), folder.results()
    if digest_of(content) != job["documentDigest"] or node_of(job["materialId"], job["documentDigest"]) != folder.id:
        raise Refused("authoring_changed", what="The document", id=folder.id)
    document = SourceDocument(job["name"], content)
    about = {"document": {"name": document.name, "text": document.text, "digest": document.digest}, "availableResults": rows[::-1]}
    row = next((each for each in rows if each["resultId"] == result_id), None) if result_id else rows[-1] if rows else None
    if row is None:
        if result_id:
            raise Refused("authoring_unknown", id=str(result_id)[:60])
        return {**about, "resultId": "", "draft": None, "report": None, "places": [], "ready": False, "lacking": "nothing was drafted yet", "proposalDigest": ""}
    result = folder.result(row)
    draft, report = result["draft"], result["report"]
    if not proposal_digest(draft) == report["proposalDigest"] == row["proposalDigest"] or report["documentDigest"] != document.digest:
        raise Refused("authoring_changed", what="A result", id=folder.id)
    return {**about, "resultId": row["resultId"], "proposalDigest": row["proposalDigest"], "draft": draft, "report": report, "places": places_of(draft, document),
            "ready": is_ready(draft, report), "lacking": _lacking(draft, report)}


def _lacking(draft: Mapping, report: Mapping) -> str:
    """Why it cannot be saved; empty where it can."""
    if draft.get("questions"):
        return "questions are open"
    if is_sound(report):
        return ""
    if not report["compiled"]:
        return "it does not compile"
    examples, citations = report["examples"], report["citations"]
    return f"{examples['passed']} of {examples['total']} examples hold, {citations['verified']} of {citations['total']} citations are found"


def _has_newer(profile: Profile, folder: DraftFolder) -> bool:
    """Whether another text under the same name was brought later: this draft speaks of the earlier one."""
    mine = folder.job()
    for other in folders(profile):
        try:
            job = other.job()
        except Refused:
            continue                         # the list says of it that it is damaged
        if job["name"] == mine["name"] and job["documentDigest"] != mine["documentDigest"] and str(job.get("startedAt")) >= str(mine.get("startedAt")):
            return True
    return False


def _saved(folder: DraftFolder) -> dict:
    """The text of the saved file while it is as it was saved; whether it is, None without one."""
    saved = folder.job().get("saved")
    if not isinstance(saved, dict):
        return {"savedEntryCurrent": None, "savedText": ""}
    try:
        content = read_bounded(str(saved.get("path")), CAPABILITY_BYTES_MAX)
    except Refused:
        content = b""
    current = digest_of(content) == saved.get("fileDigest")
    return {"savedEntryCurrent": current, "savedText": content.decode("utf-8", "replace") if current else ""}
