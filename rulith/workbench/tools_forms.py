"""The forms of a Worker's Tools as the page draws them: fields and words, none of the values that are secret.

A field is `{id, label, note?, value?, type?, rows?, options?, class?}`, as the page's own forms take it; what is
written one a line is text here and read by the server.
"""

from __future__ import annotations

from collections.abc import Mapping

NO_FACTS = {"adapter": "run", "sourceTypes": ["file"], "entry": "adapters/my_tool.py", "kind": "read", "params": {}, "returns": []}
# Beginnings of a definition, to be written on.
PRESETS = (
    {"id": "run", "title": "Your own program", "definition": {**NO_FACTS, "returns": [{"predicate": "my.tool.found", "args": {"value": "$value"}}], "env": {"pass": []}}},
    {"id": "http", "title": "A web address", "definition": {"adapter": "http", "sourceTypes": ["http"], "entry": "items/{id}", "kind": "read", "params": {"id": "string"}, "returns": [], "fence": {"method": "GET"}}},
    {"id": "db-query", "title": "A database question", "definition": {"adapter": "db-query", "sourceTypes": ["db"], "entry": "SELECT id, name FROM items WHERE id = {id}", "params": {"id": "string"},
                                                                     "returns": [{"predicate": "my.items.row", "args": {"id": "$id", "name": "$name"}}]}},
)
MODES = (("off", "off"), ("read", "may read"), ("read-write", "may read and write"))


def _options(*values: str) -> list[list[str]]:
    return [[value, value] for value in values]


# How the members of a definition are written: `as` says in which form.
MEMBERS = (
    {"id": "adapter", "label": "Adapter", "as": "text", "options": _options("run", "http", "db-query", "db-exec-fenced", "mcp", "workspace")},
    {"id": "kind", "label": "Kind", "as": "text", "options": _options("read", "write", "run")},
    {"id": "entry", "label": "Entry", "as": "text", "rows": 2, "note": "The program's file, the path, the statement or the server's tool."},
    {"id": "sourceTypes", "label": "Source types", "as": "list"},
    {"id": "params", "label": "Parameters, one a line", "as": "pairs", "rows": 3, "note": "name: string, number, boolean or json; with ? where it may be left out"},
    {"id": "returns", "label": "Facts it states", "as": "json", "rows": 5},
)
NAME = {"id": "name", "label": "Name", "note": "Small letters, digits, - and _. It becomes the Source's name and is not changed later."}
CLEAR = {"id": "clearSecrets", "label": "What is saved", "options": [["", "keep it for this program or address"], ["yes", "clear it"]]}
STARTED = "The program runs with your rights, not in a sandbox. No tool is called."


def service_forms(npm: Mapping[str, object], package: str, *, is_installed: bool) -> list[dict[str, object]]:
    """One form for each way to connect a service; without a title it is for looking again alone."""
    files: dict[str, object] = {"mode": "filesystem", "title": "Files of a folder", "button": "Look at the folder", "fields": [
        {**NAME, "value": "files"}, {"id": "directory", "label": "Folder", "class": "mono", "note": "A whole path. The home of this installation and what contains it are refused."}]}
    if not is_installed:
        files |= {"install": f"Install {package}", "note": "For Agents to read or change the files of one folder. It comes from npm, once."} if npm["available"] else {"problem": npm["problem"]}
    return [
        files,
        {"mode": "stdio", "title": "Connect a program", "button": "Look at the server", "note": STARTED, "fields": [
            NAME, {"id": "command", "label": "Command", "class": "mono"}, {"id": "args", "label": "Arguments, one a line", "class": "mono", "rows": 3},
            {"id": "cwd", "label": "Folder it starts in", "class": "mono", "note": "Empty takes the Worker's own."}, {"id": "env", "label": "Variables, one NAME=value a line", "class": "mono", "rows": 2}, CLEAR]},
        {"mode": "streamable-http", "title": "Connect an address", "button": "Look at the address", "note": "No tool is called.", "fields": [
            NAME, {"id": "url", "label": "Address", "type": "url"}, {"id": "token", "label": "Token", "type": "password"}, CLEAR]},
        {"mode": "registry", "button": "Look at the server", "fields": []},
    ]


def option_form(option: Mapping) -> dict[str, object]:
    """What an entry of the registry asks for."""
    fields: list[dict[str, object]] = [NAME]
    for each in option["fields"]:
        if "fixed" not in each:
            label = each["label"] if each["required"] else f"{each['label']}, if wanted"
            fields.append({"id": each["id"], "label": label, "note": each["description"], "value": each.get("default", ""), "type": "password" if each["secret"] else "text",
                           **({"rows": 2} if each["repeated"] else {}), **({"options": [["", "choose"], *_options(*each["choices"])]} if "choices" in each else {})})
    return {"fields": fields, "button": "Install and look" if option["npmPackage"] else "Look at the address", "note": STARTED if option["npmPackage"] else ""}


def steps_of(name: str, words: list[str]) -> list[str]:
    """How a service is authorized, by a person."""
    return ["In the Console, lock the Tools that you want.",
            f"Add the Source {name} of the type mcp to this Worker, with the address vault; it attests {', '.join(words) or 'nothing'}.",
            "A locked read is an Action by itself in explorations. For names, decisions and Cases of their own, begin with the Capability below."]


def lines_of(text: str) -> list[str]:
    """What is written one a line."""
    return [line for line in map(str.strip, text.split("\n")) if line]
