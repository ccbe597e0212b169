"""Looking into a project's folder: every look is written down, allowed or not, where the person sees it.

Source  the council surface, "Files, git, search"
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from rulith.base.errors import Refused
from rulith.council.shapes import Actor
from rulith.forum.arguments import given, only, optional, text, whole

PATH_CHARS_MAX = 4_096
DEPTH, DEPTH_MAX, PERSON_DEPTH = 2, 6, 3
_Found = TypeVar("_Found")


class Looking:
    """The acts of agents in their project, and of the person, who names one."""

    ACTS = ("read_file", "list_files", "git_diff", "file_preview", "list_project_files", "git_status")

    def __init__(self, forum) -> None:
        self.forum = forum

    def read_file(self, actor: Actor, arguments: Mapping) -> dict:
        """{path, start_line, end_line, total_lines, text}: lines of a file of the actor's project."""
        only(arguments, "path", "start_line", "end_line", *_named(actor))
        return self._read(actor, arguments, "read")

    def file_preview(self, actor: Actor, arguments: Mapping) -> dict:
        only(arguments, "project_id", "path", "start_line", "end_line")
        self._person(actor)
        return self._read(actor, arguments, "preview")

    def _read(self, actor: Actor, arguments: Mapping, act: str) -> dict:
        path = text(arguments, "path", chars_max=PATH_CHARS_MAX)
        start, end = (whole(arguments[name], name) if arguments.get(name) is not None else None for name in ("start_line", "end_line"))
        found = self._seen(actor, arguments, act, path, lambda folder: folder.read(path, start, end))
        return {"path": found.path, "start_line": found.start, "end_line": found.end, "total_lines": found.total, "text": found.text}

    def list_files(self, actor: Actor, arguments: Mapping) -> dict:
        """{paths, more}: what lies in a folder, the paths of folders ending in `/`; whether there is more than is told."""
        only(arguments, "path", "depth", *_named(actor))
        return self._list(actor, arguments, DEPTH)

    def list_project_files(self, actor: Actor, arguments: Mapping) -> dict:
        only(arguments, "project_id", "path", "depth")
        self._person(actor)
        return self._list(actor, arguments, PERSON_DEPTH)

    def _list(self, actor: Actor, arguments: Mapping, depth: int) -> dict:
        path = optional(arguments, "path", chars_max=PATH_CHARS_MAX) or ""
        depth = whole(arguments["depth"], "depth", 1, DEPTH_MAX) if arguments.get("depth") is not None else depth
        paths, more = self._seen(actor, arguments, "list", path, lambda folder: folder.list(path, depth))
        return {"paths": paths, "more": more}

    def git_diff(self, actor: Actor, arguments: Mapping) -> dict:
        """{diff}: what changed in the working tree, or since `base`; empty where nothing did."""
        only(arguments, "base", "path", *_named(actor))
        base, path = optional(arguments, "base", chars_max=PATH_CHARS_MAX), optional(arguments, "path", chars_max=PATH_CHARS_MAX)
        return {"diff": self._seen(actor, arguments, "diff", path or "", lambda folder: folder.diff(base, path))}

    def git_status(self, actor: Actor, arguments: Mapping) -> dict:
        """{is_repo, branch, head, dirty} of a project."""
        only(arguments, "project_id")
        self._person(actor)
        return self._folder(actor, arguments)[1].status()

    # --- shared --------------------------------------------------------------------------

    def _seen(self, actor: Actor, arguments: Mapping, act: str, path: str, look: Callable[..., _Found]) -> _Found:
        actor, folder = self._folder(actor, arguments)
        try:
            found = look(folder)
        except Refused as refusal:
            self.forum.note_access(actor, None, act, path, False, refusal.happened)
            raise
        self.forum.note_access(actor, None, act, path, True, "")
        return found

    def _folder(self, actor: Actor, arguments: Mapping):
        """(who looks, the folder): an agent's own project; the person names one, and looks as its participant."""
        project = self.forum.project(given(arguments, "project_id") if actor.is_person else actor.project_id)
        return (self.forum.person_of(project["id"]) if actor.is_person else actor), self.forum.folder(project["folder_path"])

    def _person(self, actor: Actor) -> None:
        if not actor.is_person:
            raise Refused("council_not_found", what="operation", name="for agents")


def _named(actor: Actor) -> tuple[str, ...]:
    return ("project_id",) if actor.is_person else ()
