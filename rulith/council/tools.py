"""The sixteen tools of the council, as tools/list tells them. Everyone gets the same ones.

Descriptions are short: each is read by a model that pays for it.

Source  the council surface, "Tools"
"""

from __future__ import annotations

from rulith.council.seeds import TAGS
from rulith.council.shapes import SEVERITIES

_ID = {"type": ["integer", "string"]}
_TEXT = {"type": "string"}
_LINE = {"type": "integer", "minimum": 1}
_REFS = {"type": "array", "items": {"type": "object", "properties": {"path": _TEXT, "line": _LINE, "note": _TEXT}, "required": ["path"], "additionalProperties": False}}
_ROOM = {"type": ["string", "integer"], "description": "Name or id; needed only in several rooms."}
_WORDS = {"verdict": {"type": "string", "description": "A word of the thread's tag; may be left out."}, "severity": {"type": "string", "enum": list(SEVERITIES)}}
_CONTEXT = {"type": "array", "items": {
    "type": "object", "properties": {"kind": {"enum": ["file", "diff", "note"]}, "path": _TEXT, "start_line": _LINE, "end_line": _LINE, "content": _TEXT},
    "required": ["kind"], "additionalProperties": False}}


def _tool(name: str, description: str, properties: dict, required: tuple[str, ...] = (), *, reads: bool = False) -> dict:
    return {"name": name, "description": description,
            "inputSchema": {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False},
            "annotations": {"readOnlyHint": reads, "openWorldHint": False}}


TOOLS = (
    _tool("whoami", "Who you are here, your rooms, the tags, and how to be reached while you do something else.", {}, reads=True),
    _tool("list_threads", "Threads that asked you or that you opened.",
          {"room": _ROOM, "client_ref": {"type": "string", "description": "The one that you opened under it, if there is one."},
           "status": {"type": "string", "description": "open (default), blocked, resolved, all"}, "tag": {"enum": [tag.key for tag in TAGS]},
           "mentions_me": {"type": "boolean", "description": "false: every thread of your rooms"}, "sort": {"enum": ["last_reply", "created", "activity"]},
           "limit": {"type": "integer", "minimum": 1, "maximum": 200}}, reads=True),
    _tool("get_thread", "One thread in full, with what its tag expects of an answer.", {"thread_id": _ID}, ("thread_id",), reads=True),
    _tool("claim_thread", "Say that you are working on an answer. Reserves nothing.", {"thread_id": _ID, "note": _TEXT}, ("thread_id",)),
    _tool("reply", "Answer a thread that asked you. @name brings another in.",
          {"thread_id": _ID, "body": _TEXT, **_WORDS, "refs": _REFS, "tokens_in": {"type": "integer", "minimum": 0}, "tokens_out": {"type": "integer", "minimum": 0},
           "cost_usd": {"type": "number", "minimum": 0}}, ("thread_id", "body")),
    _tool("edit_reply", "Replace a message of your own, whole: what you leave out is cleared.", {"message_id": _ID, "body": _TEXT, **_WORDS, "refs": _REFS}, ("message_id", "body")),
    _tool("wait_for_updates", "Wait until something moves in your rooms. An empty answer is normal; call again with next_cursor.",
          {"cursor": {"type": "integer", "minimum": 0}, "timeout_s": {"type": "integer", "minimum": 1, "maximum": 3_600, "description": "45 unless you must"}}, reads=True),
    _tool("read_file", "A file of the project, or some of its lines. Logged.", {"path": _TEXT, "start_line": _LINE, "end_line": _LINE}, ("path",), reads=True),
    _tool("list_files", "What lies in a folder of the project.", {"path": _TEXT, "depth": {"type": "integer", "minimum": 1, "maximum": 6}}, reads=True),
    _tool("git_diff", "Changes of the working tree, or against `base`.", {"base": _TEXT, "path": _TEXT}, reads=True),
    _tool("list_agents", "Who is in your rooms.", {"room": _ROOM}, reads=True),
    _tool("search", "Threads and messages of your rooms that hold every word.", {"query": _TEXT, "limit": {"type": "integer", "minimum": 1, "maximum": 100}, "room": _ROOM},
          ("query",), reads=True),
    _tool("create_thread", "Put a question to named agents: `mentions` ids, or @name in the body.",
          {"title": _TEXT, "body": _TEXT, "tag": {"enum": [tag.key for tag in TAGS]}, "room": _ROOM, "mentions": {"type": "array", "items": _ID},
           "include_diff": {"type": "boolean"}, "context": _CONTEXT, "blind": {"type": "boolean", "description": "Those asked answer before they see each other."},
           "client_ref": {"type": "string", "description": "Yours; the same one again finds the thread instead of opening another."},
           "case_id": {"type": "string", "description": "The Case of a Board that it is about, with root and operation where known."}, "root": _TEXT, "operation": _TEXT},
          ("title", "body", "tag")),
    _tool("update_thread", "Replace the topic of a thread that you opened.", {"thread_id": _ID, "body": _TEXT}, ("thread_id", "body")),
    _tool("resolve_thread", "End a thread that you opened, with what was decided. RESOLVED writes the decision record.",
          {"thread_id": _ID, "summary": _TEXT, "status": {"enum": ["RESOLVED", "WONTFIX", "BLOCKED"]},
           "verdict": {"type": "string", "description": "What the question came to, in a word of its tag."}}, ("thread_id", "summary")),
    _tool("set_thread_status", "Open a thread of yours again, block it, or close it without a record.", {"thread_id": _ID, "status": {"enum": ["OPEN", "BLOCKED", "WONTFIX"]}},
          ("thread_id", "status")),
)
NAMES = tuple(tool["name"] for tool in TOOLS)
