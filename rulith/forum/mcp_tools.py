"""The tools as their callers hear them: each runs one act of the forum and tells it in text, and in rows where a program reads it.

Promises: every failure is a result that says why, so that a model can stop or mend it; where
a result has a structured form, that says all that the text says, as some hosts show their
model nothing else.

Source  the council surface, "Tools", "Errors"
"""

from __future__ import annotations

import json
import sys
import traceback
from collections.abc import Awaitable, Callable, Mapping

from rulith.base.errors import Refused
from rulith.council.kinds import words_of
from rulith.council.shapes import Actor
from rulith.council.tools import NAMES
from rulith.council.transcript import transcript
from rulith.forum.arguments import only
from rulith.forum.forum import Forum
from rulith.forum.staying import Staying
from rulith.forum.waiting import Subscription

WAIT = "wait_for_updates"
ROWS = ("list_threads", "list_agents", "search")


class CouncilTools:
    def __init__(self, forum: Forum, staying: Staying) -> None:
        self.forum, self._staying = forum, staying
        self._tell: dict[str, Callable[[Actor, Mapping], Awaitable[dict]]] = {
            "whoami": self._whoami, "get_thread": self._thread, "claim_thread": self._claim, "reply": self._reply, "edit_reply": self._edit,
            "read_file": self._file, "list_files": self._files, "git_diff": self._diff, "create_thread": self._create, "update_thread": self._topic,
            "resolve_thread": self._resolve, "set_thread_status": self._status}
        assert {*self._tell, *ROWS, WAIT} == set(NAMES)

    async def call(self, actor: Actor, name: str, arguments: object, subscription: Subscription) -> dict:
        """The result of a tool. `subscription` ends a wait before its time."""
        try:
            if arguments is not None and not isinstance(arguments, Mapping):
                raise Refused("council_invalid", problem="arguments is no object")
            return await self._run(actor, name, arguments or {}, subscription)
        except Refused as refusal:
            return refused(refusal)
        except Exception as bug:            # one call's bug ends that call; its change was taken back
            traceback.print_exception(type(bug), bug, bug.__traceback__, file=sys.stderr)
            return {"content": [{"type": "text", "text": "The council failed to answer; nothing was changed. Tell its person."}], "isError": True}

    async def _run(self, actor: Actor, name: str, arguments: Mapping, subscription: Subscription) -> dict:
        if name == WAIT:
            found = await self.forum.waiting.wait_for_updates(actor, arguments, subscription=subscription)
            return _json(found, found)
        if name in ROWS:
            rows = await self.forum.act(actor, name, arguments)
            return _json(rows, {"rows": rows})
        tell = self._tell.get(name)
        if tell is None:
            raise Refused("council_not_found", what="tool", name=repr(name[:60]))
        return await tell(actor, arguments)

    # --- reading -------------------------------------------------------------------------

    async def _whoami(self, actor: Actor, arguments: Mapping) -> dict:
        only(arguments)
        in_touch, actor = await self._staying.in_touch(), self.forum.present(actor)
        project, rooms = self.forum.project(actor.project_id), [self.forum.room_row(room_id) for room_id in self.forum.rooms_of(actor.agent_id)]
        told = {"agent_id": actor.agent_id, "name": actor.name, "project": project["name"], "project_folder": project["folder_path"],
                "rooms": [{"room_id": row["id"], "name": row["name"], "purpose": row["purpose"], "paused": bool(row["paused"])} for row in rooms],
                "tags": [{name: value for name, value in row.items() if name != "color"} for row in self.forum.run(actor, "list_tags", {})],
                "staying_in_touch": in_touch}
        return _json(told, told)

    async def _thread(self, actor: Actor, arguments: Mapping) -> dict:
        detail = await self.forum.act(actor, "get_thread", arguments)
        text = transcript(detail, self.forum.tag(detail["tag"]))
        return _text(text, {**self.forum.run(actor, "thread_rows", arguments), "text": text})

    async def _file(self, actor: Actor, arguments: Mapping) -> dict:
        found = await self.forum.act(actor, "read_file", arguments)
        return _text(f"{found['path']} (lines {found['start_line']}-{found['end_line']} of {found['total_lines']})\n\n{found['text']}")

    async def _files(self, actor: Actor, arguments: Mapping) -> dict:
        found = await self.forum.act(actor, "list_files", arguments)
        more = ["There is more than is told: name a folder in `path`."] if found["more"] else []
        return _text("\n".join([*found["paths"], *more]) or "There is nothing in this folder.")

    async def _diff(self, actor: Actor, arguments: Mapping) -> dict:
        return _text((await self.forum.act(actor, "git_diff", arguments))["diff"] or "There are no changes.")

    # --- acting --------------------------------------------------------------------------

    async def _create(self, actor: Actor, arguments: Mapping) -> dict:
        done = await self.forum.act(actor, "create_thread", arguments)
        asked = f"It asks {', '.join(done['asked'])}." if done["asked"] else "It asks nobody: name somebody with @ in its topic or in a reply."
        opened = "is open" if done["opened"] else "was there already, by its client_ref"
        return self._after(actor, done, f"Thread {done['thread_id']} {opened}. {asked}")

    async def _reply(self, actor: Actor, arguments: Mapping) -> dict:
        done = await self.forum.act(actor, "reply", arguments)
        return self._after(actor, done, f"Message {done['message_id']} stands in thread {done['thread_id']}.{_called(done)}")

    async def _edit(self, actor: Actor, arguments: Mapping) -> dict:
        done = await self.forum.act(actor, "edit_message", arguments)
        return self._after(actor, done, f"Message {done['message_id']} was replaced.{_called(done)}{_record(done)}")

    async def _topic(self, actor: Actor, arguments: Mapping) -> dict:
        done = await self.forum.act(actor, "update_thread", arguments)
        return self._after(actor, done, f"The topic of thread {done['thread_id']} was replaced.{_called(done)}{_record(done)}")

    async def _claim(self, actor: Actor, arguments: Mapping) -> dict:
        done = await self.forum.act(actor, "claim_thread", arguments)
        return self._after(actor, done, f"Others see that you are working on thread {done['thread_id']}.")

    async def _status(self, actor: Actor, arguments: Mapping) -> dict:
        done = await self.forum.act(actor, "set_thread_status", arguments)
        return self._after(actor, done, f"Thread {done['thread_id']} is {done['status']} now.")

    async def _resolve(self, actor: Actor, arguments: Mapping) -> dict:
        done = await self.forum.act(actor, "resolve_thread", arguments)
        return self._after(actor, done, f"Thread {done['thread_id']} is {done['status']} now.{_record(done)}")

    def _after(self, actor: Actor, done: Mapping, words: str) -> dict:
        """Prose for the model; what came of the act, and the thread's rows, for a program that called without one."""
        return _text(words, {"text": words, **self.forum.run(actor, "thread_rows", {"thread_id": done["thread_id"]}), **done})


def refused(refusal: Refused) -> dict:
    words = words_of(refusal)
    return {"content": [{"type": "text", "text": words}], "isError": True, "structuredContent": {"errorCode": refusal.code, "text": words}}


def _text(text: str, structured: dict | None = None) -> dict:
    result: dict = {"content": [{"type": "text", "text": text}], "isError": False}
    return result if structured is None else {**result, "structuredContent": structured}


def _json(value: object, structured: dict) -> dict:
    return _text(json.dumps(value, ensure_ascii=False, separators=(",", ":")), structured)


def _called(done: Mapping) -> str:
    return f" It asks {', '.join(done['called'])} now." if done.get("called") else ""


def _record(done: Mapping) -> str:
    if "record_problem" in done:
        return f" {done['record_problem']}"
    return f" Its decision record is {done['export_path']}." if done.get("export_path") else ""
