"""The page's routes for conversations: lists, pages, search, drafts, putting away.

A draft belongs to one conversation of one Agent and is kept by this workbench, so every tab
and the next day see the same one; the feed tells that one moved, never what it says.

Source  the workbench surface, §12, §17 (drafts); the design, §8
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping

from rulith.base.errors import Refused
from rulith.base.limits import ATTACHMENTS_MAX, DRAFT_CHARS_MAX, RELOAD_WAIT_S
from rulith.disk.drafts import Drafts
from rulith.net.link import within
from rulith.net.messages import Request, Response
from rulith.workbench import materials
from rulith.workbench.feed import Feed
from rulith.workbench.instances import Instance
from rulith.workbench.talk_reads import number_of

Route = Callable[[Request, Instance], Awaitable[object]]
MEMBER_CHARS_MAX = 400
TARGET = ("caseId", "caseType", "businessKey")
ARCHIVED = {"": None, "true": True, "false": False}


def gets(feed: Feed) -> dict[str, Route]:
    """GET routes under an instance, by path."""
    async def conversations(request: Request, instance: Instance) -> object:
        archived = request.query.get("archived", "")
        if archived not in ARCHIVED:
            raise Refused("talk_query", problem="archived is neither true nor false")
        return await instance.talker.conversations(ARCHIVED[archived], number_of(request.query.get("offset", ""), "offset") or 0)

    async def conversation(request: Request, instance: Instance) -> object:
        return await instance.talker.conversation(request.query.get("session", ""), number_of(request.query.get("before", ""), "before"))

    async def search(request: Request, instance: Instance) -> object:
        return await instance.talker.search(request.query.get("text", ""))

    async def drafts(request: Request, instance: Instance) -> object:
        sequence = feed.sequence
        return {"drafts": await asyncio.to_thread(_store(instance).all), "sequence": sequence}

    async def draft(request: Request, instance: Instance) -> object:
        sequence = feed.sequence
        return {"draft": await asyncio.to_thread(_store(instance).one, request.query.get("session", "")), "sequence": sequence}

    return {"conversations": conversations, "conversation": conversation, "conversations/search": search, "drafts": drafts, "draft": draft}


def posts(feed: Feed) -> dict[str, Route]:
    """POST routes under an instance, by path."""
    async def draft(request: Request, instance: Instance) -> object:
        given = materials.members(request, ("sessionKey", "text"), ("requestId", "files", "target", "tab"))
        (key, kept), tab = _draft_of(given), _text(given, "tab")
        await _keep(instance, key, kept)
        return {"sequence": feed.put("draft", instance=instance.id, session=key, tab=tab)["sequence"]}

    async def archive(request: Request, instance: Instance) -> object:
        return await instance.talker.archive(materials.members(request, ("sessionKey", "archived")))

    return {"draft": draft, "conversation/archive": archive}


async def task(feed: Feed, instance: Instance, body: dict) -> Response:
    """A message, as the Agent's service takes it; the draft that it was is gone with its acceptance.

    It waits while the Agent reloads. One that the Agent said not to take (503) goes once more to the process that comes
    after, if that is the same Agent's; one whose answer was lost never does, since it may have been taken.
    Raises Refused: agent_not_ready, material_owner_changed, what its files refuse.
    """
    key, talker, whose = str(body.get("sessionKey") or "new"), instance.talker, _whose(instance)
    if talker.role.is_coming:
        await _reloaded(instance, talker.served, whose)
    talker.check_ready()
    served, message = talker.served, await materials.task_of(instance, body)
    answer = await talker.ask("/task", *message)
    if answer.status == 503:
        await _reloaded(instance, served, whose)
        answer = await talker.ask("/task", *message)
    if answer.status == 202:
        kept = await asyncio.to_thread(_store(instance).one, key)
        if kept is not None and kept.get("requestId") == body.get("requestId"):
            await _keep(instance, key, None)
            feed.put("draft", instance=instance.id, session=key, tab="")
    return answer


async def _reloaded(instance: Instance, served: int, whose: tuple[str, ...]) -> None:
    try:
        await within(RELOAD_WAIT_S, instance.talker.serving_after(served))
    except asyncio.TimeoutError:
        raise Refused("agent_not_ready", name=instance.name, problem=f"it did not come back within {RELOAD_WAIT_S:g} s",
                      todo="Send it again; your message is kept.") from None
    if _whose(instance) != whose:
        raise Refused("material_owner_changed", name=instance.name)


def _whose(instance: Instance) -> tuple[str, ...]:
    profile = instance.profile
    return profile.origin, profile.account_id, profile.agent_id, profile.connection_id


def _store(instance: Instance) -> Drafts:
    return Drafts(instance.profile.directory / "drafts")


async def _keep(instance: Instance, key: str, kept: Mapping[str, object] | None) -> None:
    store = _store(instance)
    async with instance.talker.drafting:
        await asyncio.to_thread(lambda: store.drop(key) if kept is None else store.keep(key, kept))


def _draft_of(given: Mapping[str, object]) -> tuple[str, dict[str, object] | None]:
    """The conversation and what of its draft is kept; None for an empty one. Raises Refused draft_field."""
    key, text = _text(given, "sessionKey"), _text(given, "text", DRAFT_CHARS_MAX)
    if not key:
        raise Refused("draft_field", field="sessionKey", problem="is empty")
    files, target = given.get("files", []), given.get("target", {})
    if not isinstance(files, list) or len(files) > ATTACHMENTS_MAX or not all(isinstance(each, dict) for each in files):
        raise Refused("draft_field", field="files", problem=f"is no list of at most {ATTACHMENTS_MAX} files")
    if not isinstance(target, dict) or not set(target) <= set(TARGET):
        raise Refused("draft_field", field="target", problem=f"has other members than {', '.join(TARGET)}")
    kept = {"text": text, "requestId": _text(given, "requestId"), "files": [{"id": _text(each, "id"), "name": _text(each, "name")} for each in files],
            "target": {name: _text(target, name) for name in target}}
    return key, kept if text or files or target else None


def _text(given: Mapping[str, object], name: str, chars_max: int = MEMBER_CHARS_MAX) -> str:
    value = given.get(name, "")
    if not isinstance(value, str) or len(value) > chars_max:
        raise Refused("draft_field", field=name, problem=f"is no text of at most {chars_max} characters")
    return value
