"""The Tool Manifest: what one Worker can do, and the pin each promise is locked by.

Reads `rulith-worker-tools/1` and refuses by entry and member; knows the built-in Tools;
renders the descriptors that a Poll carries and reads them back on the other side. Never
opens a file and never runs anything.

Source  protocol/worker-contract.json, "manifest" and "descriptor"; vectors in tests/work/.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from rulith.base.canonical import canonical_bytes, sha256_hex
from rulith.base.errors import Refused
from rulith.base.json_text import read_json
from rulith.base.limits import TOOLS_MAX
from rulith.base.paths import relative_components
from rulith.wire.sql import CONSTRUCTIVE, READS, BadStatement, read_statement

FORMAT = "rulith-worker-tools/1"
ADAPTERS = ("http", "run", "db-query", "db-exec-fenced", "mcp", "workspace")
DECLARED_ADAPTERS = (*ADAPTERS, "material")     # what a Poll may name
SOURCE_TYPES = ("compute", "db", "file", "http", "human", "mcp", "sensor")
KINDS = ("read", "write", "run")
TIERS = ("verified", "attested", "approximate", "inductive", "uncertain", "perceived", "asserted")
VERBS = {"db-query": READS, "db-exec-fenced": CONSTRUCTIVE}
_ONLY_KIND = {"db-query": "read", "db-exec-fenced": "write"}
RETURNS_MAX = 32                 # more rows than this is a data set, not a result

MEMBERS = frozenset(
    ("adapter", "sourceTypes", "entry", "kind", "params", "returns", "fence", "env", "handles", "tier")
)
_TOOL_ID = re.compile(r"[a-z][a-z0-9_.-]{1,95}@[1-9][0-9]*", re.ASCII)
_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}", re.ASCII)
_PREDICATE = re.compile(r"[a-z][a-z0-9_]*(?:\.[a-z][a-z0-9_]*)+", re.ASCII)
_COLUMN = re.compile(r"\$[A-Za-z0-9_]+", re.ASCII)
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_PIN = re.compile(r"[a-f0-9]{64}", re.ASCII)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:", re.ASCII)
_FIELD = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}", re.ASCII)
_PARAM_TYPES = frozenset(t + mark for t in ("string", "number", "boolean", "json") for mark in ("", "?"))


@dataclass(frozen=True)
class Tool:
    """One Tool as this Worker defines it. `digest` is the pin: bare hex over `definition` as written."""

    id: str
    adapter: str
    entry: str
    source_types: tuple[str, ...]
    kind: str
    params: Mapping[str, str]
    returns: tuple[Mapping[str, object], ...]
    definition: Mapping[str, object] = field(repr=False)
    digest: str = ""
    builtin: bool = False
    fence: Mapping[str, object] = field(default_factory=dict)
    env_pass: tuple[str, ...] | None = None
    handles: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    tier: str = "attested"

    def descriptor(self) -> dict[str, object]:
        """What a Poll says about this Tool."""
        more: dict[str, object] = {"adapter": self.adapter} if self.adapter in VERBS else {}
        if "textWrite" in self.fence:
            more = {"adapter": self.adapter, "entry": self.entry, "fence": dict(self.fence)}
        return {
            "id": self.id,
            "digest": self.digest,
            "sourceTypes": sorted(self.source_types),
            "kind": self.kind,
            "params": dict(self.params),
            "returns": [dict(row) for row in self.returns],
            **more,
        }


def pin_of(definition: Mapping[str, object]) -> str:
    """The Tool digest: SHA-256 over every member of the definition as written, keys sorted, no blanks."""
    return sha256_hex(canonical_bytes(definition))


# -- the built-in Tools ----------------------------------------------------------------


@dataclass(frozen=True)
class _Builtin:
    id: str
    adapter: str
    entry: str
    kind: str
    params: Mapping[str, str]
    predicate: str
    columns: tuple[str, ...]

    def tool(self) -> Tool:
        source_type = "mcp" if self.adapter == "mcp" else "file"
        definition = {"adapter": self.adapter, "entry": self.entry, "sourceTypes": [source_type]}
        rows = ({"predicate": self.predicate, "args": {name: "$" + name for name in self.columns}},) if self.predicate else ()
        return Tool(
            id=self.id, adapter=self.adapter, entry=self.entry, source_types=(source_type,), kind=self.kind,
            params=self.params, returns=rows, definition=definition, digest=pin_of(definition), builtin=True,
        )  # fmt: skip


def _workspace(operation: str, kind: str, params: str, predicate: str, columns: str) -> _Builtin:
    pairs = dict(pair.split(":") for pair in params.split())
    return _Builtin(
        f"rulith.workspace.{operation}@1", "workspace", operation, kind, pairs,
        "rulith.worker." + predicate, tuple(columns.split()),
    )  # fmt: skip


_ROWS = (
    _workspace("list", "read", "path:string?", "dir_entry", "source path entry_type"),
    _workspace("count", "read", "path:string? recursive:boolean?", "file_count",
               "source path recursive file_count directory_count digest"),
    _workspace("search", "read", "query:string path:string?", "text_match", "source path line column text"),
    _workspace("read_text", "read", "path:string", "text_file", "source path text digest"),
    _workspace("read_json", "read", "path:string", "json_file", "source path json digest"),
    _workspace("hash", "read", "path:string", "file_hash", "source path sha256 size"),
    _workspace("write_text", "write", "path:string text:string", "file_written", "source path digest"),
    _workspace("write_json", "write", "path:string value:json", "file_written", "source path digest"),
    _Builtin("rulith.mcp.discover@1", "mcp", "discover", "read", {}, "rulith.worker.mcp_tool",
             ("source", "tool_name", "description", "input_schema_json")),
    _Builtin("rulith.materials.read@1", "material", "read", "read", {"material": "string"}, "", ()),
)  # fmt: skip

BUILTINS: Mapping[str, Tool] = {row.id: row.tool() for row in _ROWS}
_OPERATIONS: Mapping[str, Tool] = {tool.entry: tool for tool in BUILTINS.values() if tool.adapter == "workspace"}
_DISCOVER = BUILTINS["rulith.mcp.discover@1"]
WORKSPACE_MODES = ("read", "read-write", "off")


def builtin_tools(workspace_mode: str, *, materials: bool = False) -> list[Tool]:
    """The built-in Tools that RULITH_WORKSPACE_TOOLS leaves in place (other values never get here), and where materials are kept, their reader."""
    assert workspace_mode in WORKSPACE_MODES
    return [
        tool
        for tool in BUILTINS.values()
        if (tool.adapter != "workspace" and (tool.adapter != "material" or materials))
        or (tool.adapter == "workspace" and workspace_mode == "read-write")
        or (tool.adapter == "workspace" and workspace_mode == "read" and tool.kind == "read")
    ]


# -- reading a Manifest ----------------------------------------------------------------


def _refuse(where: str, problem: str) -> Refused:
    return Refused("tool_manifest_invalid", where=where, problem=problem)


class _Entry:
    """One entry of the Manifest while it is read; every check names the Tool and the member."""

    def __init__(self, tool: str, members: Mapping[str, object]) -> None:
        self.tool = tool
        self.members = members

    def refuse(self, member: str, problem: str) -> Refused:
        return _refuse(f"Tool {self.tool!r}, member {member!r}", problem)

    def need(self, ok: bool, member: str, problem: str) -> None:
        if not ok:
            raise self.refuse(member, problem)

    def closed(self, member: str, value: object, allowed: tuple[str, ...]) -> Mapping[str, object]:
        """`value` as an object without members beyond `allowed`."""
        if not isinstance(value, dict):
            raise self.refuse(member, "must be an object")
        for key in value:
            self.need(key in allowed, member, f"{key!r} is not one of {', '.join(allowed) or 'no members'}")
        return value


def _source_types(entry: _Entry, adapter: str) -> tuple[str, ...]:
    value = entry.members.get("sourceTypes")
    entry.need(isinstance(value, list), "sourceTypes", "must be a list of Source types ([] for a Source-free Tool)")
    assert isinstance(value, list)
    for name in value:
        entry.need(name in SOURCE_TYPES, "sourceTypes", f"{name!r} is not one of {', '.join(SOURCE_TYPES)}")
        entry.need(
            name != "db" or adapter in ("db-query", "db-exec-fenced"),
            "sourceTypes", "a db Source belongs to the adapters db-query and db-exec-fenced",
        )  # fmt: skip
    entry.need(len(set(value)) == len(value), "sourceTypes", "names a type twice")
    return tuple(value)


def _entry_text(entry: _Entry, adapter: str, params: Mapping[str, str]) -> str:
    text = entry.members.get("entry")
    if not isinstance(text, str) or not text.strip():
        raise entry.refuse("entry", "must be text that is not blank")
    if adapter == "http":
        entry.need(
            not _SCHEME.match(text) and not text.startswith("//") and "\\" not in text and text.isprintable(),
            "entry", "must be a path relative to the Source's url: no scheme, no //, no backslash",
        )  # fmt: skip
        for name in re.findall(r"\{([^{}]*)\}", text):
            entry.need(name in params, "entry", f"{{{name}}} is not a declared parameter")
            entry.need(params.get(name) in ("string", "number", "boolean"), "entry", f"{{{name}}} must be declared string, number or boolean")
    elif adapter == "run":
        try:
            names = relative_components(text, where="entry")
        except Refused as refused:
            raise entry.refuse("entry", f"must be a file inside the Worker root; {refused.facts['problem']}") from None
        entry.need(bool(names), "entry", "must name a file inside the Worker root")
    elif adapter in VERBS:
        try:
            read_statement(text, params, VERBS[adapter])
        except BadStatement as bad:
            raise entry.refuse("entry", f"is no statement for {adapter}: {bad}") from None
    elif adapter == "workspace":
        entry.need(text in _OPERATIONS, "entry", f"{text[:60]!r} is not one of {', '.join(_OPERATIONS)}")
    return text


def _default_kind(adapter: str, fence: Mapping[str, object]) -> str:
    if adapter == "http":
        return "read" if fence.get("method") in ("GET", "HEAD") else "write"
    return {"run": "run", "db-query": "read", "mcp": "read"}.get(adapter, "write")


def _kind(entry: _Entry, adapter: str, fence: Mapping[str, object]) -> str:
    stated = entry.members.get("kind")
    kind = _default_kind(adapter, fence) if "kind" not in entry.members else stated
    entry.need(kind in KINDS, "kind", f"must be one of {', '.join(KINDS)}")
    only = _ONLY_KIND.get(adapter)
    entry.need(only is None or kind == only, "kind", f"must be {only} for the adapter {adapter}")
    if adapter == "http" and kind == "read":
        entry.need(fence.get("method", "GET") in ("GET", "HEAD"), "fence", "a read sends GET or HEAD")
        entry.need("completion" not in fence, "fence", "a read has no completion")
        entry.need("textWrite" not in fence, "fence", "a read writes no text")
    return str(kind)


def read_params(value: object, refuse: Callable[[str, str], Refused], *, sql_reserved: bool = False) -> dict[str, str]:
    """Parameter rows `{name: type}`; `refuse(member, problem)` makes the refusal."""
    if not isinstance(value, dict):
        raise refuse("params", "must be an object of name to type")
    for name, kind in value.items():
        if not _NAME.fullmatch(name):
            raise refuse("params", f"{name[:80]!r} is not a lower-case name")
        if name == "source":
            raise refuse("params", "'source' is the Source's own argument and cannot be declared")
        if sql_reserved and name.lower() == "sql":
            raise refuse("params", "'sql' cannot be a parameter: the statement is the Tool's entry alone")
        if not isinstance(kind, str) or kind not in _PARAM_TYPES:
            raise refuse("params", f"{name!r} must be string, number, boolean or json, optionally with ?")
    return dict(value)


def read_returns(value: object, refuse: Callable[[str, str], Refused]) -> tuple[dict[str, object], ...]:
    """Result rows `[{predicate, args}]`; `refuse(member, problem)` makes the refusal."""
    if not isinstance(value, list) or len(value) > RETURNS_MAX:
        raise refuse("returns", f"must be a list of at most {RETURNS_MAX} rows")
    for row in value:
        if not isinstance(row, dict) or set(row) != {"predicate", "args"}:
            raise refuse("returns", "each row holds exactly predicate and args")
        predicate, args = row["predicate"], row["args"]
        if not isinstance(predicate, str) or not _PREDICATE.fullmatch(predicate):
            raise refuse("returns", f"{str(predicate)[:80]!r} is not a dotted predicate name")
        if not isinstance(args, dict):
            raise refuse("returns", f"the args of {predicate} must be an object")
        for name, column in args.items():
            if not _NAME.fullmatch(name):
                raise refuse("returns", f"{name[:80]!r} of {predicate} is not a lower-case name")
            if not isinstance(column, str) or not _COLUMN.fullmatch(column):
                raise refuse("returns", f"{name!r} of {predicate} must name a column, as in $column")
    return tuple(value)


def _whole(value: object, low: int, high: int) -> bool:
    return type(value) is int and low <= value <= high


def _completion(entry: _Entry, value: object) -> None:
    row = entry.closed("fence", value, ("stage", "statuses", "json"))
    statuses, marker = row.get("statuses"), row.get("json")
    entry.need(row.get("stage") == "terminal", "fence", "completion.stage must be terminal")
    entry.need(
        isinstance(statuses, list) and 1 <= len(statuses) <= 2 and len(set(map(str, statuses))) == len(statuses)
        and all(type(status) is int and status in (200, 201) for status in statuses),
        "fence", "completion.statuses must hold 200, 201 or both",
    )  # fmt: skip
    entry.need(isinstance(marker, dict) and set(marker) == {"field", "equals"}, "fence", "completion.json holds exactly field and equals")
    assert isinstance(marker, dict)
    name, equals = marker["field"], marker["equals"]
    entry.need(isinstance(name, str) and bool(_FIELD.fullmatch(name)), "fence", "completion.json.field must be a plain name")
    short = isinstance(equals, str) and 1 <= len(equals) <= 128
    entry.need(short or isinstance(equals, (bool, int, float)), "fence", "completion.json.equals must be a short text, a boolean or a number")


def _fence(entry: _Entry, adapter: str) -> Mapping[str, object]:
    if "fence" not in entry.members:
        return {}
    allowed = {
        "http": ("method", "timeoutMs", "maxResponseBytes", "completion", "textWrite"),
        "mcp": ("timeoutMs", "maxResponseBytes"),
    }.get(adapter, ())
    fence = entry.closed("fence", entry.members["fence"], allowed)
    if "method" in fence:
        methods = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")
        entry.need(fence["method"] in methods, "fence", f"method must be one of {', '.join(methods)}")
    low, high = (100, 300_000) if adapter == "http" else (1, 30_000)
    if "timeoutMs" in fence:
        entry.need(_whole(fence["timeoutMs"], low, high), "fence", f"timeoutMs must be a whole number from {low} to {high}")
    if "maxResponseBytes" in fence:
        entry.need(_whole(fence["maxResponseBytes"], 1, 1_048_576), "fence", "maxResponseBytes must be a whole number from 1 to 1048576")
    if "completion" in fence:
        _completion(entry, fence["completion"])
    if "textWrite" in fence:
        _text_write(entry, fence)
    return fence


def _text_write(entry: _Entry, fence: Mapping[str, object]) -> None:
    """`textWrite {target, text}`: which parameter is the last segment of the path, and which the whole body."""
    row = entry.closed("fence", fence["textWrite"], ("target", "text"))
    params = entry.members.get("params")
    for member in ("target", "text"):
        declared = params.get(row.get(member)) if isinstance(params, dict) and isinstance(row.get(member), str) else None
        entry.need(declared == "string", "fence", f"textWrite.{member} must name a parameter of type string")
    entry.need(row["target"] != row["text"], "fence", "textWrite.target and textWrite.text must be two parameters")
    entry.need(fence.get("method", "PUT") == "PUT", "fence", "a textWrite sends PUT")
    entry.need("completion" not in fence, "fence", "a textWrite has no completion")
    text = entry.members.get("entry")
    entry.need(
        isinstance(text, str) and text.rpartition("/")[2] == f"{{{row['target']}}}" and f"{{{row['text']}}}" not in text,
        "entry", "must end with /{target} of its textWrite, and not name its text",
    )  # fmt: skip


def _env_pass(entry: _Entry, adapter: str) -> tuple[str, ...] | None:
    if "env" not in entry.members:
        return None
    entry.need(adapter == "run", "env", "belongs to the run adapter alone")
    env = entry.closed("env", entry.members["env"], ("pass",))
    names = env.get("pass")
    entry.need(isinstance(names, list), "env", "must hold pass, a list of variable names")
    assert isinstance(names, list)
    for name in names:
        entry.need(isinstance(name, str) and bool(_VARIABLE.fullmatch(name)), "env", f"{str(name)[:80]!r} is not a variable name")
    return tuple(names)


def _handles(entry: _Entry) -> dict[str, tuple[str, ...]]:
    if "handles" not in entry.members:
        return {}
    handles = entry.closed("handles", entry.members["handles"], ("verification", "evidence"))
    for work, names in handles.items():
        entry.need(
            isinstance(names, list) and bool(names) and all(isinstance(name, str) and name for name in names),
            "handles", f"{work} must be a list of names that is not empty",
        )  # fmt: skip
    return {work: tuple(names) for work, names in handles.items()}  # type: ignore[arg-type]


def read_tool(tool: str, members: object) -> Tool:
    """One Manifest entry as a Tool. Raises Refused tool_manifest_invalid naming the Tool and the member."""
    if not _TOOL_ID.fullmatch(tool):
        raise _refuse(f"Tool {tool[:120]!r}", "the id must read like vendor.name@1, in lower case")
    if tool in BUILTINS:
        raise Refused("tool_manifest_builtin", tool=tool)
    if not isinstance(members, dict):
        raise _refuse(f"Tool {tool!r}", "the entry must be an object")
    entry = _Entry(tool, members)
    entry.need("source" not in members, "source", "is retired: the Source is chosen when the Action is applied")
    for member in members:
        entry.need(member in MEMBERS, member, "is not a member of a Tool entry")
    adapter = members.get("adapter")
    if not isinstance(adapter, str) or adapter not in ADAPTERS:
        raise entry.refuse("adapter", f"must be one of {', '.join(ADAPTERS)}")
    model = None
    if adapter == "workspace":
        model = _OPERATIONS.get(str(members.get("entry")))
    elif adapter == "mcp" and members.get("entry") == "discover":
        model = _DISCOVER
    for member in ("kind", "params", "returns"):
        entry.need(model is None or member not in members, member, "is fixed by the built-in implementation and cannot be restated")
    source_types = _source_types(entry, adapter)
    fence = _fence(entry, adapter)
    params = read_params(members.get("params", {}), entry.refuse, sql_reserved=adapter.startswith("db-"))
    tier = members.get("tier", "attested")
    entry.need(isinstance(tier, str) and tier in TIERS, "tier", f"must be one of {', '.join(TIERS)}")
    return Tool(
        id=tool, adapter=adapter, entry=_entry_text(entry, adapter, params), source_types=source_types,
        kind=model.kind if model else _kind(entry, adapter, fence),
        params=model.params if model else params,
        returns=model.returns if model else read_returns(members.get("returns", []), entry.refuse),
        definition=members, digest=pin_of(members), fence=fence, env_pass=_env_pass(entry, adapter),
        handles=_handles(entry), tier=tier,
    )  # fmt: skip


def read_manifest(text: str | bytes, file: str = "worker-tools.json") -> dict[str, Tool]:
    """The Tools that a Manifest declares, in its order.

    Raises Refused tool_manifest_unreadable (the document), tool_manifest_invalid (an
    entry, naming its member) or tool_manifest_builtin.
    """

    def unusable(problem: str) -> Refused:
        return Refused("tool_manifest_unreadable", file=file, problem=problem)

    try:
        document = read_json(text, file)
    except Refused as refused:
        raise unusable(refused.happened.rstrip(".")) from None
    if not isinstance(document, dict):
        raise unusable("it must hold one JSON object")
    if document.get("format") != FORMAT:
        raise unusable(f'its format must be "{FORMAT}"')
    for member in document:
        if member not in ("format", "tools"):
            raise unusable(f"{member[:80]!r} is not a member of a Tool Manifest")
    rows = document.get("tools")
    if not isinstance(rows, dict):
        raise unusable("its member 'tools' must be an object of Tool id to entry")
    tools = {tool: read_tool(tool, members) for tool, members in rows.items()}
    handled: dict[tuple[str, str], str] = {}
    for tool in tools.values():
        for work, names in tool.handles.items():
            for name in names:
                other = handled.setdefault((work, name), tool.id)
                if other != tool.id or names.count(name) > 1:
                    raise _refuse(f"Tool {tool.id!r}, member 'handles'", f"{work} of {name!r} is already handled by {other!r}")
    return tools


# -- descriptors, read on the gateway's side -------------------------------------------


def read_descriptors(rows: object) -> list[dict[str, object]]:
    """The Tool list of a Poll, checked and with the empty parts filled in.

    Raises Refused tool_manifest_repeats_id, too_many_tools or tool_descriptor_invalid.
    """
    if not isinstance(rows, list):
        raise Refused("tool_descriptor_invalid", where="tools", problem="must be a list")
    if len(rows) > TOOLS_MAX:
        raise Refused("too_many_tools", count=len(rows), limit=TOOLS_MAX)
    read: dict[str, dict[str, object]] = {}
    for number, row in enumerate(rows):
        if not isinstance(row, dict):
            raise Refused("tool_descriptor_invalid", where=f"number {number}", problem="must be an object")
        tool, digest, kind = row.get("id"), row.get("digest"), row.get("kind")
        where = f"{str(tool)[:100]!r}"

        def refuse(member: str, problem: str, where: str = where) -> Refused:
            return Refused("tool_descriptor_invalid", where=f"{where}, {member}", problem=problem)

        if not isinstance(tool, str) or not _TOOL_ID.fullmatch(tool):
            raise refuse("id", "is not a Tool id")
        if tool in read:
            raise Refused("tool_manifest_repeats_id", tool=tool)
        if not isinstance(digest, str) or not _PIN.fullmatch(digest):
            raise refuse("digest", "must be 64 lower-case hex digits")
        if kind not in KINDS:
            raise refuse("kind", f"must be one of {', '.join(KINDS)}")
        types = row.get("sourceTypes", [])
        if not isinstance(types, list) or not all(name in SOURCE_TYPES for name in types) or len(set(types)) != len(types):
            raise refuse("sourceTypes", f"must be a list of {', '.join(SOURCE_TYPES)}")
        adapter = row.get("adapter")
        if "adapter" in row and adapter not in DECLARED_ADAPTERS:
            raise refuse("adapter", f"must be one of {', '.join(DECLARED_ADAPTERS)}")
        if "db" in types and (adapter not in VERBS or kind != _ONLY_KIND[str(adapter)]):
            raise refuse("adapter", "a Tool on a db Source is db-query and a read, or db-exec-fenced and a write")
        returns = row.get("returns", [])
        if isinstance(returns, list):
            returns = [{"args": {}, **entry} if isinstance(entry, dict) else entry for entry in returns]
        read[tool] = {
            **row,
            "sourceTypes": sorted(types),
            "params": read_params(row.get("params", {}), refuse),
            "returns": list(read_returns(returns, refuse)),
        }
    return list(read.values())
