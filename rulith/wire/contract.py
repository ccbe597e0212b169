"""The two contracts this build speaks, read from their bundles, and validation by name.

The bundles are the only list of tools, states and codes; a build without them refuses to
speak at all. Every file in a bundle is checked against its digests when it is read.

Source  protocol/mcp-contract.json, protocol/worker-contract.json.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from rulith.base.errors import Refused
from rulith.base.resources import shipped_bytes
from rulith.wire import contract_validators, validation

MCP_BUNDLE = "mcp-contract.json"
WORKER_BUNDLE = "worker-contract.json"
_SCHEMAS = {
    MCP_BUNDLE: "rulith-mcp-contract-bundle/v1",
    WORKER_BUNDLE: "rulith-worker-contract-bundle/v1",
}


@dataclass(frozen=True)
class Bundle:
    """One contract: the exact text of its files by path, and the digest of the whole."""

    file: str
    source_commit: str | None
    files: Mapping[str, str]
    digest: str

    def json(self, path: str) -> dict:
        """The parsed file at `path`, e.g. "protocol/mcp/tools.json"; a fresh object each time."""
        try:
            return json.loads(self.files[path])
        except KeyError:
            raise Refused("contract_damaged", file=self.file, problem=f"it lacks {path}") from None


def read_bundle(file: str, content: bytes) -> Bundle:
    """The bundle in `content`. Raises Refused contract_damaged when it is not what it says."""
    def damaged(problem: str) -> Refused:
        return Refused("contract_damaged", file=file, problem=problem)

    try:
        document = json.loads(content)
        schema, commit, rows = document["schema"], document["sourceCommit"], document["files"]
        files = {row["path"]: (row["content"], row["sha256"], row["gitBlobOid"]) for row in rows}
    except (ValueError, KeyError, TypeError):
        raise damaged("it is not a bundle") from None
    if schema != _SCHEMAS[file]:
        raise damaged(f"its schema is not {_SCHEMAS[file]}")
    if len(files) != len(rows):
        raise damaged("a path appears twice")
    for path, (text, sha256, oid) in files.items():
        data = text.encode("utf-8")
        if hashlib.sha256(data).hexdigest() != sha256 or git_blob_oid(data) != oid:
            raise damaged(f"{path} does not have the digests stated for it")
    texts = {path: text for path, (text, _, _) in files.items()}
    return Bundle(file, commit, texts, "sha256:" + hashlib.sha256(content).hexdigest())


def git_blob_oid(content: bytes) -> str:
    """The id that Git gives these bytes as a blob."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


@cache
def load_bundle(file: str) -> Bundle:
    """The bundle shipped with this build. Raises Refused: contract_missing, contract_damaged."""
    try:
        content = shipped_bytes("protocol", file)
    except FileNotFoundError:
        raise Refused("contract_missing", file=file) from None
    return read_bundle(file, content)


@dataclass(frozen=True)
class ToolContract:
    """One tool of the Agent surface; `target` is core or artifact."""

    name: str
    title: str
    description: str
    target: str
    input_schema: Mapping[str, object]

    def listing(self) -> dict[str, object]:
        """Its row of tools/list."""
        return {
            "name": self.name, "title": self.title, "description": self.description,
            "inputSchema": json.loads(json.dumps(self.input_schema)),
        }


@dataclass(frozen=True)
class McpContract:
    """The Agent surface: tools in order, names, states and bounds of the surface, code table.

    surface   protocol/mcp/surface.json: states, retired names, host-owned names, bounds
    labels    engine label -> wire code
    http      reason -> HTTP status, for reasons that end a request
    """

    tools: tuple[ToolContract, ...]
    namespace: str
    surface: Mapping[str, object]
    labels: Mapping[str, str]
    codes: frozenset[str]
    http: Mapping[str, int]
    board_words: Mapping[str, object]
    digest: str

    @property
    def tool_names(self) -> tuple[str, ...]:
        return tuple(tool.name for tool in self.tools)


@cache
def mcp_contract() -> McpContract:
    """The Agent surface of this build. Raises Refused: contract_missing, contract_damaged."""
    bundle = load_bundle(MCP_BUNDLE)
    tools = bundle.json("protocol/mcp/tools.json")
    codes = bundle.json("protocol/codes.json")
    return McpContract(
        tools=tuple(
            ToolContract(row["name"], row["title"], row["description"], row["target"], row["inputSchema"])
            for row in tools["tools"]
        ),
        namespace=tools["namespace"],
        surface=bundle.json("protocol/mcp/surface.json"),
        labels=codes["labels"],
        codes=frozenset(codes["codes"]),
        http=codes["http"],
        board_words=bundle.json("protocol/board-words.json"),
        digest=bundle.digest,
    )


@cache
def worker_surface() -> Mapping[str, object]:
    """Verbs, header names, codes and bounds of the Worker hop."""
    return load_bundle(WORKER_BUNDLE).json("protocol/worker/surface.json")


def wire_code(label: str) -> str:
    """The code an Agent sees for a refusal of ours: engine labels are mapped, other codes are themselves."""
    return mcp_contract().labels.get(label, label)


def validate(name: str, value: object) -> None:
    """Check `value` against the schema called `name`: a tool of the surface, or a Worker-hop shape.

    Raises Refused bad_command naming the place (JSON Pointer, also in facts["place"]) and the problem.
    """
    validation.run(contract_validators.VALIDATORS[name], name, value)


def check_arguments(tool: str, arguments: object) -> None:
    """Check the arguments of one tool call: the schema, then what a schema cannot say.

    Raises Refused bad_command. Source: the MCP surface, "QueryBoard".
    """
    validate(tool, arguments)
    if tool == "QueryBoard":
        _check_query(arguments)


def _check_query(query: dict) -> None:
    def no(place: str, problem: str) -> Refused:
        return Refused("bad_command", problem=f"QueryBoard at {place} {problem}.", place=place)

    include = query.get("include", [])
    roots = query.get("selector", {}).get("roots")
    history = "caseHistory" in include
    if history:
        if set(include) != {"caseHistory"}:
            raise no("/include", "must not join caseHistory with other views")
        if roots is None or len(roots) != 1:
            raise no("/selector/roots", "must name exactly one root for caseHistory")
        if query.get("limit") == 0:
            raise no("/limit", "must be at least 1 for caseHistory")
        if query.get("historyOffset", 0) >= 1 and "historyVersion" not in query:
            raise no("/historyVersion", "must repeat the first page's value when historyOffset is 1 or more")
        return
    for name in ("historyOffset", "historyVersion"):
        if name in query:
            raise no(f"/{name}", 'is only for include ["caseHistory"]')
    if roots is None:
        for name in ("nodes", "gaps", "taskStatus"):
            if name in include:
                raise no("/selector/roots", f"must be given when include has {name}")
