"""The person's acts: projects, rooms, agents and their keys.

Source  the council surface, "Data model", "Keys and credentials", "The person's side"
"""

from __future__ import annotations

from collections.abc import Mapping

from rulith.base.errors import Refused
from rulith.base.ids import random_bytes
from rulith.council import keys
from rulith.council.checks import ROOM_NUMBERS, agent_name, check_words, folded, room_name, room_number
from rulith.council.seeds import OBSERVER_MARK, PERSON_COLOR, PERSON_NAME, ROOM
from rulith.council.shapes import AGENT_ROLE, PERSON_ROLE, Actor
from rulith.forum.arguments import flag, given, json_list, only, optional, text, whole
from rulith.store.failures import StoreFailed

NAME_CHARS_MAX, NOTE_CHARS_MAX, COLOR_CHARS_MAX, ROOMS_MAX = 80, 2_000, 40, 500


class House:
    ACTS = ("list_projects", "create_project", "update_project", "delete_project", "project_stats", "list_rooms", "create_room", "update_room",
            "delete_room", "list_profiles", "upsert_profile", "agents_of", "create_agent", "update_agent", "rotate_agent_key", "set_agent_revoked",
            "delete_agent", "join_room", "leave_room", "set_awake")

    def __init__(self, forum) -> None:
        self.forum, self.db = forum, forum.db

    def _person(self, actor: Actor) -> None:
        if not actor.is_person:
            raise Refused("council_not_found", what="operation", name="for agents")

    # --- projects ------------------------------------------------------------------------

    def list_projects(self, actor: Actor, arguments: Mapping) -> list[dict]:
        self._person(actor)
        only(arguments)
        return self.db.all("SELECT * FROM project ORDER BY name, id")

    def create_project(self, actor: Actor, arguments: Mapping) -> dict:
        self._person(actor)
        only(arguments, "name", "folder")
        path = self._folder(text(arguments, "folder", chars_max=4_096))
        name = optional(arguments, "name", chars_max=NAME_CHARS_MAX)
        name = name.strip() if name and name.strip() else path.replace("\\", "/").rstrip("/").rpartition("/")[2] or path
        at = self.forum.at()
        with self.db.change():
            project_id = self.db.insert("project", id=self.db.fresh_id("project"), name=name, folder_path=path, git_remote=self.forum.folder(path).remote(), created_at=at)
            self.db.event("project.created", at, id=project_id)
            self._make_room(project_id, ROOM, at)
        self.forum.changed()
        return self.forum.project(project_id)

    def update_project(self, actor: Actor, arguments: Mapping) -> dict:
        self._person(actor)
        only(arguments, "id", "name", "color", "folder_path")
        row, patch = self.forum.project(given(arguments, "id")), {}
        if "name" in arguments:
            check_words(arguments["name"], "name", NAME_CHARS_MAX)
            patch["name"] = arguments["name"].strip()
        if "color" in arguments:
            patch["color"] = text(arguments, "color", chars_max=COLOR_CHARS_MAX)
        if "folder_path" in arguments:
            patch["folder_path"] = self._folder(text(arguments, "folder_path", chars_max=4_096), but=row["id"])
        self._patch("project", row["id"], patch, "project.updated")
        if patch.get("folder_path", row["folder_path"]) != row["folder_path"]:
            self._restart("project_id", row["id"])
        return self.forum.project(row["id"])

    def delete_project(self, actor: Actor, arguments: Mapping) -> dict:
        self._person(actor)
        only(arguments, "id")
        row = self.forum.project(given(arguments, "id"))
        at, agents = self.forum.at(), [each["id"] for each in self.db.all("SELECT id FROM agent WHERE project_id = ?", row["id"])]
        with self.db.change():
            self.db.unindex([room["id"] for room in self.db.all("SELECT id FROM room WHERE project_id = ?", row["id"])])
            self.db.delete("project", id=row["id"])
            self.db.event("project.deleted", at, id=row["id"])
        for agent_id in agents:
            self._ended(agent_id)
        self.forum.changed()
        return {"deleted": row["id"]}

    def project_stats(self, actor: Actor, arguments: Mapping) -> dict:
        self._person(actor)
        only(arguments, "id")
        project_id = self.forum.project(given(arguments, "id"))["id"]
        threads = "thread t JOIN room r ON r.id = t.room_id WHERE r.project_id = ?1"
        return self.db.one(
            f"SELECT (SELECT count(*) FROM room WHERE project_id = ?1) AS rooms, (SELECT count(*) FROM {threads}) AS threads, "
            f"(SELECT count(*) FROM message m JOIN thread t ON t.id = m.thread_id JOIN room r ON r.id = t.room_id WHERE r.project_id = ?1) AS messages, "
            f"(SELECT count(*) FROM agent WHERE project_id = ?1 AND role != 'HUMAN') AS agents, "
            f"(SELECT count(*) FROM {threads} AND t.export_path IS NOT NULL) AS exported_records", project_id) or {}

    def _folder(self, given_path: str, but: int = 0) -> str:
        folder = self.forum.folder(given_path)
        if not folder.is_readable():
            raise Refused("council_folder_unreadable")
        path = folder.path
        taken = self.db.one("SELECT name FROM project WHERE folder_path = ? AND id != ?", path, but)
        if taken is not None:
            raise Refused("council_folder_taken", path=path, project=taken["name"])
        return path

    # --- rooms ---------------------------------------------------------------------------

    def list_rooms(self, actor: Actor, arguments: Mapping) -> list[dict]:
        self._person(actor)
        only(arguments)
        rows = self.db.all("SELECT r.*, p.name AS project_name, p.folder_path, (SELECT count(*) FROM thread t WHERE t.room_id = r.id AND t.status = 'OPEN') "
                           "AS open_threads "
                           "FROM room r JOIN project p ON p.id = r.project_id ORDER BY p.name, r.name")
        return [{**row, "paused": bool(row["paused"])} for row in rows]

    def create_room(self, actor: Actor, arguments: Mapping) -> dict:
        self._person(actor)
        only(arguments, "project_id", "name", "purpose")
        project, name = self.forum.project(given(arguments, "project_id")), room_name(given(arguments, "name"))
        if self.db.value("SELECT 1 FROM room WHERE project_id = ? AND name = ?", project["id"], name):
            raise Refused("council_name_taken", name=f"#{name}")
        purpose = optional(arguments, "purpose", chars_max=NOTE_CHARS_MAX) or ""
        with self.db.change():
            room_id = self._make_room(project["id"], name, self.forum.at(), purpose)
        self.forum.changed()
        return {**self.forum.room_row(room_id), "paused": False}

    def update_room(self, actor: Actor, arguments: Mapping) -> dict:
        self._person(actor)
        only(arguments, "id", "purpose", "paused", *ROOM_NUMBERS)
        row, patch = self.forum.room_row(given(arguments, "id")), {}
        if "purpose" in arguments:
            patch["purpose"] = text(arguments, "purpose", chars_max=NOTE_CHARS_MAX)
        if "paused" in arguments:
            patch["paused"] = flag(arguments, "paused", False)
        patch.update({name: room_number(name, arguments[name]) for name in ROOM_NUMBERS if name in arguments})
        self._patch("room", row["id"], patch, "room.updated", room=row["id"])
        row = self.forum.room_row(row["id"])
        return {**row, "paused": bool(row["paused"])}

    def delete_room(self, actor: Actor, arguments: Mapping) -> dict:
        self._person(actor)
        only(arguments, "id")
        row = self.forum.room_row(given(arguments, "id"))
        with self.db.change():
            self.db.unindex([row["id"]])
            self.db.delete("room", id=row["id"])
            self.db.event("room.deleted", self.forum.at(), room=row["id"], id=row["id"])
        self.forum.changed()
        return {"deleted": row["id"]}

    def _make_room(self, project_id: int, name: str, at: str, purpose: str = "") -> int:
        room_id = self.db.insert("room", id=self.db.fresh_id("room"), project_id=project_id, name=name, purpose=purpose, created_at=at)
        self.db.event("room.created", at, room=room_id, id=room_id)
        self.db.put("room_member", room_id=room_id, agent_id=self._make_person(project_id, at))
        return room_id

    def _make_person(self, project_id: int, at: str) -> int:
        known = self.db.value("SELECT id FROM agent WHERE project_id = ? AND role = ?", project_id, PERSON_ROLE)
        if known is not None:
            return known
        key_id, key = keys.key_from(random_bytes(keys.KEY_ID_CHARS), random_bytes(keys.SECRET_BYTES))      # told to nobody: the person has no key
        agent_id = self.db.insert("agent", project_id=project_id, name=PERSON_NAME, role=PERSON_ROLE, key_id=key_id, key_hash=keys.key_hash(key),
                                  key_preview="", color=PERSON_COLOR, created_at=at)
        self.db.event("agent.created", at, id=agent_id, name=PERSON_NAME, role=PERSON_ROLE)
        return agent_id

    def repair(self) -> None:
        """Every room has its person, whoever wrote the file."""
        with self.db.change():
            for row in self.db.all("SELECT r.id, r.project_id FROM room r"):
                self.db.put("room_member", room_id=row["id"], agent_id=self._make_person(row["project_id"], self.forum.at()))

    # --- agents --------------------------------------------------------------------------

    def list_profiles(self, actor: Actor, arguments: Mapping) -> list[dict]:
        self._person(actor)
        only(arguments)
        return self.db.all("SELECT * FROM profile ORDER BY builtin DESC, label")

    def upsert_profile(self, actor: Actor, arguments: Mapping) -> dict:
        self._person(actor)
        only(arguments, "key", "label", "icon", "launch_cmd", "launch_args", "mcp_install_mode", "notes")
        key = room_name(given(arguments, "key"))
        args, mode = arguments.get("launch_args", []), arguments.get("mcp_install_mode", "env")
        if not isinstance(args, list) or not all(isinstance(each, str) for each in args):
            raise Refused("council_invalid", problem="launch_args is no list of texts")
        if mode not in ("config_file_flag", "env", "none"):
            raise Refused("council_invalid", problem="mcp_install_mode is config_file_flag, env or none")
        values = {"label": optional(arguments, "label", chars_max=NAME_CHARS_MAX) or key, "icon": optional(arguments, "icon", chars_max=NAME_CHARS_MAX) or "",
                  "launch_cmd": optional(arguments, "launch_cmd", chars_max=4_096) or "", "launch_args": json_list(args), "mcp_install_mode": mode,
                  "notes": optional(arguments, "notes", chars_max=NOTE_CHARS_MAX) or ""}
        with self.db.change():
            if not self.db.put("profile", key=key, **values):
                self.db.update("profile", key, by="key", **values)
        row = self.db.one("SELECT * FROM profile WHERE key = ?", key)
        self._restart("profile_id", row["id"])
        return row

    def agents_of(self, actor: Actor, arguments: Mapping) -> list[dict]:
        """Every agent with the rooms it is in, or those of one room."""
        self._person(actor)
        only(arguments, "room")
        room = arguments.get("room")
        where, values = ("WHERE a.id IN (SELECT agent_id FROM room_member WHERE room_id = ?)", (whole(room, "room"),)) if room is not None else ("", ())
        rows = self.db.all(f"SELECT a.*, p.label AS profile_label, p.icon FROM agent a LEFT JOIN profile p ON p.id = a.profile_id {where} ORDER BY a.role = 'HUMAN' DESC, a.name", *values)
        rooms: dict[int, list[int]] = {}
        for row in self.db.all("SELECT agent_id, room_id FROM room_member ORDER BY room_id"):
            rooms.setdefault(row["agent_id"], []).append(row["room_id"])
        return [{**_about(row), "rooms": rooms.get(row["id"], [])} for row in rows]

    def create_agent(self, actor: Actor, arguments: Mapping) -> dict:
        self._person(actor)
        only(arguments, "project_id", "name", "profile_id", "system_note", "color", "rooms")
        project, name = self.forum.project(given(arguments, "project_id")), agent_name(given(arguments, "name"))
        self._check_free(project["id"], name)
        rooms = arguments.get("rooms") or []
        if not isinstance(rooms, list) or len(rooms) > ROOMS_MAX:
            raise Refused("council_invalid", problem=f"rooms is no list of at most {ROOMS_MAX} ids of rooms")
        profile_id = self._profile(arguments.get("profile_id"))
        at, (key_id, key) = self.forum.at(), keys.key_from(random_bytes(keys.KEY_ID_CHARS), random_bytes(keys.SECRET_BYTES))
        with self.db.change():
            agent_id = self.db.insert(
                "agent", project_id=project["id"], name=name, role=AGENT_ROLE, profile_id=profile_id, key_id=key_id, key_hash=keys.key_hash(key),
                key_preview=keys.preview(key), system_note=optional(arguments, "system_note", chars_max=NOTE_CHARS_MAX) or "",
                color=optional(arguments, "color", chars_max=COLOR_CHARS_MAX) or "", created_at=at)
            self.db.event("agent.created", at, id=agent_id, name=name, role=AGENT_ROLE)
            for room in rooms:
                self._join(agent_id, room, at)
        self.forum.changed()
        return {"agent_id": agent_id, "api_key": key}

    def update_agent(self, actor: Actor, arguments: Mapping) -> dict:
        self._person(actor)
        only(arguments, "id", "name", "system_note", "color", "profile_id")
        row, patch = self.forum.agent(given(arguments, "id")), {}
        if "name" in arguments:
            patch["name"] = agent_name(arguments["name"])
            self._check_free(row["project_id"], patch["name"], but=row["id"])
        for name, most in (("system_note", NOTE_CHARS_MAX), ("color", COLOR_CHARS_MAX)):
            if name in arguments:
                patch[name] = text(arguments, name, chars_max=most)
        if "profile_id" in arguments:
            patch["profile_id"] = self._profile(arguments["profile_id"])
        self._patch("agent", row["id"], patch, "agent.updated", actor=row["id"])
        if patch.get("profile_id", row["profile_id"]) != row["profile_id"]:
            self.forum.agent_changed(row["id"])
        return _about(self.forum.agent(row["id"]))

    def rotate_agent_key(self, actor: Actor, arguments: Mapping) -> dict:
        only(arguments, "id")
        row = self._program(actor, arguments)
        if row["key_id"].startswith(OBSERVER_MARK):
            raise Refused("council_invalid", problem=f"{row['name']} is no program, so nobody is given its key")
        key_id, key = keys.key_from(random_bytes(keys.KEY_ID_CHARS), random_bytes(keys.SECRET_BYTES))
        with self.db.change():
            self.db.update("agent", row["id"], key_id=key_id, key_hash=keys.key_hash(key), key_preview=keys.preview(key), revoked_at=None)
        self.forum.shut.discard(row["id"])
        self._ended(row["id"])
        return {"agent_id": row["id"], "api_key": key}

    def set_agent_revoked(self, actor: Actor, arguments: Mapping) -> dict:
        """Whatever becomes of the file, a revoked agent is cut off at once. Raises Refused council_revoked_for_now where that is not kept."""
        only(arguments, "id", "revoked")
        row = self._program(actor, arguments)
        revoked = flag(arguments, "revoked", True)
        try:
            with self.db.change():
                self.db.update("agent", row["id"], revoked_at=self.forum.at() if revoked else None, **({"awake": 0} if revoked else {}))
        except StoreFailed as failed:
            if not revoked:
                raise
            self.forum.shut.add(row["id"])
            self._ended(row["id"])
            raise Refused("council_revoked_for_now", name=row["name"], problem=failed.happened) from failed
        self.forum.shut.discard(row["id"])
        self._ended(row["id"])
        return _about(self.forum.agent(row["id"]))

    def delete_agent(self, actor: Actor, arguments: Mapping) -> dict:
        only(arguments, "id")
        row = self._program(actor, arguments)
        wrote = self.db.value("SELECT count(DISTINCT id) FROM (SELECT id FROM thread WHERE author_agent_id = ?1 OR resolved_by = ?1 "
                              "UNION SELECT thread_id FROM message WHERE agent_id = ?1)", row["id"])
        if wrote:
            raise Refused("council_wrote", name=row["name"], count=wrote)
        with self.db.change():
            self.db.delete("agent", id=row["id"])
        self._ended(row["id"])
        return {"deleted": row["id"]}

    def set_awake(self, actor: Actor, arguments: Mapping) -> dict:
        """What is kept of the switch; the supervisor does the rest."""
        only(arguments, "id", "awake")
        row = self._program(actor, arguments)
        with self.db.change():
            self.db.update("agent", row["id"], awake=int(flag(arguments, "awake", True)))
        return _about(self.forum.agent(row["id"]))

    def join_room(self, actor: Actor, arguments: Mapping) -> dict:
        self._person(actor)
        only(arguments, "agent_id", "room_id")
        row = self.forum.agent(given(arguments, "agent_id"))
        with self.db.change():
            self._join(row["id"], given(arguments, "room_id"), self.forum.at())
        self.forum.changed()
        return {"rooms": self.forum.rooms_of(row["id"])}

    def leave_room(self, actor: Actor, arguments: Mapping) -> dict:
        only(arguments, "agent_id", "room_id")
        row = self._program(actor, arguments, "agent_id")
        room = self.forum.room_row(given(arguments, "room_id"))
        with self.db.change():
            if self.db.delete("room_member", room_id=room["id"], agent_id=row["id"]):
                self.db.event("agent.left", self.forum.at(), room=room["id"], actor=row["id"])
        self.forum.changed()
        return {"rooms": self.forum.rooms_of(row["id"])}

    def _join(self, agent_id: int, room_id: object, at: str) -> None:
        room, agent = self.forum.room_row(room_id), self.forum.agent(agent_id)
        if room["project_id"] != agent["project_id"]:
            raise Refused("council_not_member", room=room["name"])
        if self.db.put("room_member", room_id=room["id"], agent_id=agent_id):
            self.db.event("agent.joined", at, room=room["id"], actor=agent_id)

    def _program(self, actor: Actor, arguments: Mapping, name: str = "id") -> dict:
        """The agent that is named, which is not the person."""
        self._person(actor)
        row = self.forum.agent(given(arguments, name))
        if row["role"] == PERSON_ROLE:
            raise Refused("council_person")
        return row

    def _profile(self, profile_id: object) -> int | None:
        return None if profile_id is None else self.forum._found("profile", profile_id)["id"]

    def _check_free(self, project_id: int, name: str, but: int = 0) -> None:
        """Names are told apart without regard to case, as mentions read them."""
        for row in self.db.all("SELECT id, name FROM agent WHERE project_id = ?", project_id):
            if row["id"] != but and folded(row["name"]) == folded(name):
                raise Refused("council_name_taken", name=name)

    def _patch(self, table: str, key: int, patch: dict, kind: str, *, room: int | None = None, actor: int | None = None) -> None:
        if patch:
            with self.db.change():
                self.db.update(table, key, **{name: int(value) if isinstance(value, bool) else value for name, value in patch.items()})
                self.db.event(kind, self.forum.at(), room=room, actor=actor, **patch)
            self.forum.changed()

    def _restart(self, column: str, value: int) -> None:
        """Agents that are kept awake are started as they are now."""
        for row in self.db.all(f"SELECT id FROM agent WHERE {column} = ? AND awake = 1", value):
            self.forum.agent_changed(row["id"])

    def _ended(self, agent_id: int) -> None:
        """What the agent's credentials had opened ends now: polls, streams and sockets together."""
        self.forum.live.drop_agent(agent_id)
        self.forum.bus.end(agent_id)
        self.forum.agent_changed(agent_id)
        self.forum.changed()


def _about(row: Mapping) -> dict:
    """An agent as it is told: nothing of its key but the preview."""
    hidden = ("key_hash", "key_id")
    return {**{name: value for name, value in row.items() if name not in hidden}, "awake": bool(row["awake"])}

