"""MCP services of a profile: look at a server, choose its tools, keep them all or none.

A look (probe) is made by a process of its own (`work/prober.py`), calls no tool and is good for
ten minutes, while nothing else about the services changes. What is kept locks and grants nothing: the owner
adds the Source and locks the Tools in the Console.

Units   *_s seconds on the monotonic clock
Source  the workbench surface, "Worker tools and MCP services"
"""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from rulith.adapters.mcp import ANSWER, SCHEMA_CHARS_MAX
from rulith.base.canonical import digest
from rulith.base.errors import Refused
from rulith.base.ids import mint
from rulith.base.json_text import compact_json
from rulith.base.limits import SETTINGS_BYTES_MAX
from rulith.disk.atomic import make_folder, write_json
from rulith.disk.mcp_services import FORMAT, NAME, OWNED, SERVICES_MAX, Service, file_of, folder_of, lent_of
from rulith.net.link import within
from rulith.wire.manifest import KINDS
from rulith.workbench.bench import Workbench
from rulith.workbench.instances import Instance
from rulith.workbench.tools import Desk, changed
from rulith.workbench.tools_forms import lines_of, steps_of
from rulith.workbench.tools_npm import FILESYSTEM, Npm

GOOD_S = 600.0               # of a look, and of what was prepared from the registry
LOOK_S = 60.0                # a process, its server, its list, its end
LOOKS_KEPT = 16
CHOSEN_MAX = 32
TEXT_CHARS_MAX, WORDS_MAX = 4_096, 64
_LOWER = re.compile(r"[a-z][a-z0-9_]{0,63}", re.ASCII)
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}", re.ASCII)
_SIMPLE = {"string": "string", "number": "number", "integer": "number", "boolean": "boolean"}
_COMPOSED = ("anyOf", "oneOf", "allOf", "not", "if", "$ref", "patternProperties", "dependentSchemas", "unevaluatedProperties")


@dataclass(frozen=True)
class Look:
    """What one look found, and what it was of. `record` may hold secrets and leaves this process only into the file."""

    instance_id: str
    name: str
    record: dict = field(repr=False)
    tools: dict[str, dict]
    revision: str
    until_s: float


# -- a server's tool as a Tool -------------------------------------------------------------


def params_of(schema: object) -> dict[str, str]:
    """The parameters of an input schema. Raises ValueError, saying what cannot be stated."""
    if not isinstance(schema, dict):
        raise ValueError("its input schema is too large, or none")
    if schema.get("type", "object") != "object" or any(word in schema for word in _COMPOSED):
        raise ValueError("its input is no plain object")
    if schema.get("additionalProperties", False) not in (False, {}) or not isinstance(schema.get("properties", {}), dict):
        raise ValueError("its input is open: any member may be given")
    required = schema.get("required", [])
    if not isinstance(required, list) or not all(isinstance(name, str) for name in required):
        raise ValueError("its schema does not say plainly what is required")
    params = {}
    for name, row in schema.get("properties", {}).items():
        if not _LOWER.fullmatch(name) or name == "source":
            raise ValueError(f"its parameter {name[:40]!r} cannot be declared: lower case, digits and _ only, and not 'source'")
        stated = row.get("type") if isinstance(row, dict) else None
        kind = _SIMPLE.get(stated, "json") if isinstance(stated, str) else "json"
        params[name] = kind if name in required else kind + "?"
    if missing := [name for name in required if name not in params]:
        raise ValueError(f"it requires {str(missing[0])[:40]!r} and does not say what that is")
    return params


def judged(tool: Mapping[str, object]) -> dict[str, object]:
    """A tool as the page lists it: its parameters, or why it cannot be used."""
    row: dict[str, object] = {"name": tool["name"], "description": tool["description"], "inputSchema": tool["inputSchema"]}
    try:
        if tool["name"] == "discover":
            raise ValueError("its name stands for the Worker's own look at a server")
        row["params"] = params_of(tool["inputSchema"])
    except ValueError as problem:
        return {**row, "unsupported": str(problem)}
    if "json" in row["params"].values():  # type: ignore[attr-defined]
        row["groundedWriteProblem"] = "It requires a json value, which nobody could approve word by word: read only."
    return row


def _place(source: Mapping[str, object]) -> dict[str, object]:
    """Where a service is, without what is secret."""
    return {name: source[name] for name in ("transport", "command", "args", "cwd", "url") if name in source}


def tool_of(name: str, source: Mapping[str, object], tool: Mapping[str, object], kind: str) -> tuple[str, dict]:
    """The Tool's id, which changes with the server, the schema and the kind, and its Manifest entry."""
    print_ = digest({"source": _place(source), "name": tool["name"], "schema": tool["inputSchema"], "kind": kind}).removeprefix("sha256:")[:12]
    definition = {"adapter": "mcp", "sourceTypes": ["mcp"], "entry": tool["name"], "kind": kind, "params": tool["params"]}
    if kind == "read" and "answer" not in tool["params"]:  # type: ignore[operator]
        definition["returns"] = [_answered(name, tool, print_)]
    return f"{OWNED}{name.replace('_', '-')}.{print_}@1", definition


def _answered(name: str, tool: Mapping[str, object], print_: str) -> dict[str, object]:
    """What a read tells: all that the server said, beside the arguments that it was asked with."""
    plain = _plain(str(tool["name"]))
    asked = {param: f"${param}" for param, kind in tool["params"].items() if kind in ("string", "number", "boolean")}  # type: ignore[attr-defined]
    return {"predicate": f"local.{name.replace('-', '_')}.{plain or 'tool_' + print_}", "args": {**asked, "source": "$source", "answer": ANSWER}}


def _plain(entry: str) -> str:
    """A tool's name as ours are written; empty where it has none."""
    plain = re.sub(r"[^a-z0-9]+", "_", entry.lower()).strip("_")[:40]
    return plain if _LOWER.fullmatch(plain) else ""


def definition_of(name: str, tools: Mapping[str, Mapping]) -> dict[str, object]:
    """The Source as its owner authorizes it: no address, no credential, the facts it is to attest, one access mode for each Tool."""
    modes = []
    for tool, members in tools.items():
        print_ = tool.rpartition(".")[2].partition("@")[0]
        modes.append({"id": f"tool_{print_}", "action": f"mcp_{name.replace('-', '_')}_{print_}", "title": members["entry"], "operation": members["kind"],
                      "tool": tool, "params": members["params"], "returns": members.get("returns", [])})
    words = sorted({row["predicate"] for members in tools.values() for row in members.get("returns", [])})
    return {"name": name, "type": "mcp", "words": words, "accessModes": modes}


def capability_of(name: str, tools: Mapping[str, Mapping]) -> dict[str, object]:
    """A Capability to begin with: one Action for each Tool, and a Case Type in which an Agent uses them and says what it found.

    What is no read waits for a person. An answer is the Agent's word, and stays marked so.
    """
    actions, defines = [], {}
    for tool, members in tools.items():
        print_ = tool.rpartition(".")[2].partition("@")[0]
        action = _plain(str(members["entry"]))
        action = f"tool_{print_}" if not action or action in {row["id"] for row in actions} or action == "answer" else action
        returns = []
        for row in members.get("returns", []):
            defines[row["predicate"]] = {"id": row["predicate"], "as": f"{action}_told", "sources": ["mcp"],
                                         "args": {arg: members["params"].get(arg, "string") for arg in row["args"]}}
            returns.append({**row, "predicate": f"{action}_told"})
        actions.append({"id": action, "description": f"{members['entry']} of the MCP service {name}", "tool": tool, "kind": members["kind"], "source_types": ["mcp"],
                        "params": members["params"], "preconditions": [{"predicate": "root", "args": {"node": "?root"}}], "effects": [], "returns": returns,
                        **({} if members["kind"] == "read" else {"decision": {"kind": "mcp_" + str(members["kind"])}})})
    plain_name = name.replace("-", "_")
    own, about = f"local.{plain_name}", {"predicate": "answer", "args": {"about": "?about", "text": "?text"}}
    key = {"predicate": "case_key", "args": {"root": "?root", "name": "about", "value": "?about"}}
    return {"format": "rulith-capability/1", "id": own, "version": "1.0.0", "title": f"Tools of {name}",
            "vocabulary": {"defines": [{"id": f"{own}.case_answer", "as": "answer", "args": {"about": "string", "text": "string"}}, *defines.values()],
                           "imports": [{"id": "root", "as": "root"}, {"id": "case_key", "as": "case_key"}]},
            "acceptance": [{"id": "answered", "label": "it is answered", "when": [key, about]}], "actions": actions,
            "case_types": {f"use_{plain_name}": {"title": f"Use {name}", "business_key": {"about": "string"}, "floor": "asserted", "agent_rules": "rules_and_actions",
                                                 "task": [{"node": "answered", "goal": "what was asked is answered", "acceptance": "answered"}]}}}


# -- what a form says ----------------------------------------------------------------------


def _field(name: str, problem: str) -> Refused:
    return Refused("mcp_service_field", field=name, problem=problem)


def _text(given: Mapping[str, object], name: str, *, empty: bool = False) -> str:
    value = given.get(name, "")
    if not isinstance(value, str) or len(value) > TEXT_CHARS_MAX or "\0" in value or not (value.strip() or empty):
        raise _field(name, f"must be text of up to {TEXT_CHARS_MAX} characters")
    return value.strip()


def _folder(path: str, name: str) -> str:
    if not os.path.isabs(path) or not os.path.isdir(path):
        raise _field(name, "must be a folder that exists, as a whole path from the root of the disk")
    return path


def _stdio(given: Mapping[str, object], saved: Mapping[str, object] | None, name: str) -> dict[str, object]:
    args, env = given.get("args", []), given.get("env") or {}
    args = lines_of(args) if isinstance(args, str) else args
    env = _variables(env) if isinstance(env, str) else env
    if not isinstance(args, list) or len(args) > WORDS_MAX or not all(isinstance(each, str) and len(each) <= TEXT_CHARS_MAX and "\0" not in each for each in args):
        raise _field("args", f"must be a list of up to {WORDS_MAX} texts")
    source: dict[str, object] = {"type": "mcp", "transport": "stdio", "command": _text(given, "command"), "args": args}
    if cwd := _text(given, "cwd", empty=True):
        source["cwd"] = _folder(cwd, "cwd")
    if not isinstance(env, dict) or len(env) > WORDS_MAX:
        raise _field("env", "must be an object of variable to text")
    for variable, value in env.items():
        if not _VARIABLE.fullmatch(variable) or variable.upper().startswith(("RULITH_", "RIVENDELL_")):
            raise _field("env", f"holds {variable[:60]!r}, which is no name for a variable of a server")
        if not isinstance(value, str) or len(value) > TEXT_CHARS_MAX or "\0" in value:
            raise _field("env", f"holds no usable text for {variable}")
    kept = (saved or {}).get("env")
    if not env and kept and not _clears(given):
        if _place(saved or {}) != _place(source):
            raise Refused("mcp_secrets_elsewhere", name=name)
        env = kept
    return {**source, "env": env} if env else source


def _variables(text: str) -> dict[str, str]:
    """What is written as NAME=value, one a line."""
    rows = [line.partition("=") for line in lines_of(text)]
    if any(not mark for _, mark, _ in rows):
        raise _field("env", "must be written as NAME=value, one a line")
    return {name.strip(): value for name, _, value in rows}


def _clears(given: Mapping[str, object]) -> bool:
    return given.get("clearSecrets") in (True, "yes")


def _http(given: Mapping[str, object], saved: Mapping[str, object] | None, name: str) -> dict[str, object]:
    url, token = _text(given, "url"), _text(given, "token", empty=True)
    try:
        parts = urlsplit(url)
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.username is None and "?" not in url and "#" not in url
    except ValueError:
        good = False
    if not good:
        raise _field("url", "must begin with http:// or https:// and hold no user name, query or fragment")
    kept = (saved or {}).get("token")
    if not token and kept and not _clears(given):
        if (saved or {}).get("url") != url:
            raise Refused("mcp_secrets_elsewhere", name=name)
        token = str(kept)
    return {"type": "mcp", "transport": "streamable-http", "url": url, **({"token": token} if token else {})}


class Services:
    """The steps of all profiles. `prepared` is what the registry's entries came to, by preparation id."""

    def __init__(self, bench: Workbench, npm: Npm) -> None:
        self.bench, self.npm = bench, npm
        self.prepared: OrderedDict[str, tuple[float, dict]] = OrderedDict()
        self._looks: OrderedDict[str, Look] = OrderedDict()
        self._busy: set[str] = set()

    # reading

    def rows(self, desk: Desk) -> list[dict]:
        """What the page lists: never a variable's value, a header, a token, or an argument that the registry's form was given."""
        try:
            services = desk.services()
        except Refused:
            return []                        # the state says why
        return [self._row(name, service) for name, service in services.items()]

    def _row(self, name: str, service: Service) -> dict[str, object]:
        source, tools = dict(service["source"]), dict(service["tools"])  # type: ignore[call-overload]
        hidden = ("args",) if service["mode"] == "registry" else ()
        return {"name": name, "mode": service["mode"], **{key: value for key, value in _place(source).items() if key not in hidden},
                **{key: service[key] for key in ("directory", "registry") if key in service},
                "hasSecrets": any(source.get(key) for key in ("env", "token", "headers")), "variables": sorted(source.get("env", {})),
                "tools": [{"id": tool, "name": row["entry"], "kind": row["kind"]} for tool, row in tools.items()],
                "values": {**{key: source.get(key, "") for key in ("command", "cwd", "url")}, "args": "\n".join(source.get("args", [])) * (not hidden),
                           "directory": service.get("directory", "")},
                "discovered": service["discovered"], "definition": service["definition"], "capability": capability_of(name, tools),
                "steps": steps_of(name, dict(service["definition"])["words"])}  # type: ignore[call-overload]

    # stepping

    async def once(self, instance: Instance, work):
        """One slow step of a profile at a time. Raises Refused tools_busy."""
        if instance.id in self._busy:
            work.close()
            raise Refused("tools_busy", name=instance.name)
        self._busy.add(instance.id)
        try:
            return await work
        finally:
            self._busy.discard(instance.id)

    async def install(self, instance: Instance) -> dict:
        await self.npm.install(folder_of(instance.profile), FILESYSTEM)
        return {"package": str(FILESYSTEM)}

    def prepare(self, record: dict) -> str:
        """Keep what a form of the registry came to, for ten minutes."""
        made = mint("prep_", 24)
        _keep(self.prepared, made, (self.bench.clock.monotonic_s() + GOOD_S, record))
        return made

    def candidate(self, desk: Desk, given: Mapping[str, object]) -> tuple[str, dict]:
        """The service that the form describes, before anybody looked at it. Raises Refused mcp_…"""
        name, mode, services = given["name"], given["mode"], desk.services()
        if not isinstance(name, str) or not NAME.fullmatch(name):
            raise _field("name", "must be 1 to 40 of a-z 0-9 _ - and begin with a letter")
        saved = services.get(name)
        if given["isNew"] is True and saved is not None:
            raise Refused("mcp_service_exists", name=name)
        if given["isNew"] is not True and saved is None:
            raise Refused("mcp_service_gone", name=name)
        if saved is None and len(services) >= SERVICES_MAX:
            raise _field("number", f"is over {SERVICES_MAX}")
        record: dict[str, object] = {"name": name, "mode": mode}
        kept = dict(saved["source"]) if saved is not None and saved["mode"] == mode else None  # type: ignore[call-overload]
        if mode == "filesystem":
            folder = _folder(_text(given, "directory"), "directory")
            entry = self.npm.installed(folder_of(desk.profile), FILESYSTEM)
            if entry is None:
                raise Refused("mcp_package_missing", package=str(FILESYSTEM))
            record.update(directory=folder, package={"entry": entry}, source=started(desk.profile.directory / "mcp", entry, [folder], {}))
        elif mode == "stdio":
            record["source"] = _stdio(given, kept, name)
        elif mode == "streamable-http":
            record["source"] = _http(given, kept, name)
        elif mode == "registry":
            record.update(self._prepared(given, saved))
        else:
            raise _field("mode", "is none of filesystem, stdio, streamable-http, registry")
        return name, record

    def _prepared(self, given: Mapping[str, object], saved: Service | None) -> dict:
        if "preparationId" not in given and saved is not None and saved["mode"] == "registry":
            return {key: saved[key] for key in ("source", "registry", "package") if key in saved}
        until_s, record = self.prepared.get(str(given.get("preparationId")), (0.0, {}))
        if self.bench.clock.monotonic_s() >= until_s:
            raise Refused("mcp_preparation_gone")
        return record

    async def probe(self, instance: Instance, given: Mapping[str, object]) -> dict:
        """Look at the server. Raises Refused: mcp_service_…, mcp_probe_failed, mcp_secrets_elsewhere."""
        desk = Desk(instance.profile)
        name, record = self.candidate(desk, given)
        desk.check_sources({name: record})
        make_folder(folder_of(instance.profile) / "workspaces" / name)
        tools, truncated = await self._look(instance, name, record)
        rows = {str(tool["name"]): judged(tool) for tool in tools}
        saved = desk.services().get(name)
        look = Look(instance.id, name, record, rows, Desk(instance.profile).revision, self.bench.clock.monotonic_s() + GOOD_S)
        made = mint("probe_", 24)
        _keep(self._looks, made, look)
        selected = [{"name": row["entry"], "kind": row["kind"]} for row in saved["tools"].values() if row["entry"] in rows] if saved else []  # type: ignore[attr-defined]
        return {"probeId": made, "tools": list(rows.values()), "selected": selected, "truncated": truncated}

    async def _look(self, instance: Instance, name: str, record: Mapping) -> tuple[list[dict], bool]:
        found: list[dict] = []
        ended: asyncio.Future[dict] = asyncio.get_running_loop().create_future()

        def heard(event: Mapping) -> None:
            if event.get("type") == "probe-tool":
                found.append(dict(event["tool"]))
            elif event.get("type") in ("probed", "probe-failed") and not ended.done():
                ended.set_result(dict(event))

        lent = lent_of({name: record}, file_of(instance.profile))[name]
        env = {**self.bench.worker_files(instance.profile), "RULITH_HOME": str(self.bench.home.path)}
        question = json.dumps({"name": name, "source": record["source"], "lent": lent})
        log = self.bench.home.logs / f"probe-{instance.id}.log"
        child = await self.bench.spawn("worker", env=env, args=["probe", question], log_path=log, on_event=heard)
        exited = asyncio.ensure_future(child.wait())
        try:
            await within(LOOK_S, asyncio.wait((ended, exited), return_when=asyncio.FIRST_COMPLETED))
        except asyncio.TimeoutError:
            pass
        finally:
            await child.stop(5.0)
            exited.cancel()
        event = ended.result() if ended.done() else {"problem": f"it was not done within {LOOK_S:g} s"}
        if event.get("type") != "probed":
            raise Refused("mcp_probe_failed", name=name, problem=event["problem"])
        return found, event.get("truncated") is True

    def apply(self, instance: Instance, given: Mapping[str, object]) -> dict:
        """Keep the chosen tools of a look, all of them or none. Raises Refused: mcp_probe_gone, mcp_tools_chosen, what the Worker refuses."""
        look, desk = self._looks.get(str(given["probeId"])), Desk(instance.profile)
        if look is None or look.instance_id != instance.id or self.bench.clock.monotonic_s() >= look.until_s or look.revision != desk.revision:
            raise Refused("mcp_probe_gone")
        tools = dict(tool_of(look.name, look.record["source"], tool, kind) for tool, kind in _chosen(given["tools"], look.tools))
        shown = [{"name": row["name"], "description": row["description"], "inputSchema": row["inputSchema"] if _is_small(row["inputSchema"]) else None}
                 for row in look.tools.values()]
        service = {**look.record, "tools": tools, "discovered": shown, "definition": definition_of(look.name, tools)}
        self._write(desk, {**desk.services(), look.name: service})
        changed(self.bench, instance)
        return {"service": self._row(look.name, service)}

    def remove(self, instance: Instance, given: Mapping[str, object]) -> None:
        """Raises Refused: tools_changed_since, mcp_service_gone."""
        desk = Desk(instance.profile)
        desk.check_revision(given["revision"])
        services = desk.services()
        gone = str(given["name"])
        if gone not in services:
            raise Refused("mcp_service_gone", name=gone[:40])
        self._write(desk, {name: row for name, row in services.items() if name != gone})
        changed(self.bench, instance)

    def _write(self, desk: Desk, services: Mapping[str, Service]) -> None:
        desk.whole(services=services)
        desk.check_sources(services)
        document = {"format": FORMAT, "services": services}
        if len(json.dumps(document, indent=2, ensure_ascii=False).encode()) >= SETTINGS_BYTES_MAX:
            raise _field("list of tools", f"makes the file of services larger than {SETTINGS_BYTES_MAX} bytes")
        make_folder(folder_of(desk.profile))
        write_json(file_of(desk.profile), document)


def _is_small(schema: object) -> bool:
    return len(compact_json(schema)) <= SCHEMA_CHARS_MAX


def _chosen(rows: object, offered: Mapping[str, dict]) -> list[tuple[dict, str]]:
    if not isinstance(rows, list) or not 1 <= len(rows) <= CHOSEN_MAX:
        raise Refused("mcp_tools_chosen", problem=f"must be a list of 1 to {CHOSEN_MAX}")
    found: dict[str, tuple[dict, str]] = {}
    for row in rows:
        name, kind = (row.get("name"), row.get("kind")) if isinstance(row, dict) else (None, None)
        tool = offered.get(name) if isinstance(name, str) else None
        if tool is None or name in found or "unsupported" in tool:
            raise Refused("mcp_tools_chosen", problem=f"holds {str(name)[:80]!r}, which was not offered, cannot be used, or stands there twice")
        if kind not in KINDS or (kind != "read" and "groundedWriteProblem" in tool):
            raise Refused("mcp_tools_chosen", problem=f"makes {str(name)[:80]!r} a {str(kind)[:20]}, which it cannot be")
        found[str(name)] = (tool, str(kind))
    return list(found.values())


def started(mcp: Path, entry: str, args: list[str], env: Mapping[str, str]) -> dict[str, object]:
    """The Source of a server that is an installed package."""
    source = {"type": "mcp", "transport": "stdio", "command": "node", "args": [str(mcp / "packages" / entry), *args]}
    return {**source, "env": dict(env)} if env else source


def _keep(table: OrderedDict, key: str, value: object) -> None:
    table[key] = value
    while len(table) > LOOKS_KEPT:
        table.popitem(last=False)
