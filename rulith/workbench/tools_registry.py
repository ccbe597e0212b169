"""The MCP Registry as this workbench uses it: search, one entry, and what its form comes to.

What it says is another's word: read by shape, never trusted to name a program. Only two ways of running a server
are taken from it: an npm package over stdio at one exact version, and a fixed https address.

Units   *_s seconds on the monotonic clock
Source  the workbench surface, "Registry"; the registry's API v0.1 and its server.json
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Mapping
from urllib.parse import quote, urlencode, urlsplit

from rulith.adapters.places import FRAMING
from rulith.base.canonical import digest
from rulith.base.clock import Clock
from rulith.base.errors import Refused
from rulith.base.json_text import read_json
from rulith.net.client import HttpClient, NetFailed
from rulith.workbench.tools_forms import lines_of, option_form
from rulith.workbench.tools_npm import PACKAGE, VERSION, Package

BASE = "https://registry.modelcontextprotocol.io"
DOWNLOADS = "https://api.npmjs.org/downloads/point/last-month/"
PAGE, QUERY_CHARS_MAX, CURSOR_CHARS_MAX = 4, 150, 1_000
ASK_S, COUNT_S, GOOD_S = 25.0, 5.0, 300.0
ANSWER_BYTES_MAX, CACHED_MAX = 2 * 2**20, 64
FIELDS_MAX, TEXT_CHARS_MAX, VALUE_CHARS_MAX = 64, 2_000, 4_096
OFFICIAL = "io.modelcontextprotocol.registry/official"
_NAME = re.compile(r"[A-Za-z0-9.-]{1,150}/[A-Za-z0-9._-]{1,150}", re.ASCII)
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}", re.ASCII)
_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}", re.ASCII)
RESERVED_VARIABLES = re.compile(r"RULITH_.*|RIVENDELL_.*|NODE_OPTIONS|NODE_PATH|LD_.*|DYLD_.*|PATH", re.I)
RESERVED_HEADERS = re.compile(r"host|cookie|origin|mcp-.*|" + "|".join(FRAMING), re.I)


class Registry:
    """One registry. `base` and `downloads` are other addresses in tests and for whoever sets them."""

    def __init__(self, client: HttpClient, clock: Clock, base: str = BASE, downloads: str = DOWNLOADS) -> None:
        self._client, self._clock = client, clock
        self.base, self._downloads = base.rstrip("/"), downloads
        self._cache: OrderedDict[str, tuple[float, object]] = OrderedDict()

    async def search(self, text: str, cursor: str = "") -> dict:
        """One page of the newest versions. Raises Refused: mcp_registry_query, mcp_registry_offline, mcp_registry_answer."""
        if len(text) > QUERY_CHARS_MAX or len(cursor) > CURSOR_CHARS_MAX:
            raise Refused("mcp_registry_query", problem="it is too long")
        query = {"version": "latest", "limit": str(PAGE), "search": text, **({"cursor": cursor} if cursor else {})}
        answer = await self._get("/v0.1/servers?" + urlencode(query))
        rows, about = answer.get("servers"), answer.get("metadata") or {}
        if not isinstance(rows, list) or not isinstance(about, dict):
            raise Refused("mcp_registry_answer", problem="it holds no list of servers")
        following = about.get("nextCursor")
        return {"provider": self.base, "servers": [summary(row) for row in rows if is_entry(row)],
                "nextCursor": following if isinstance(following, str) and following and len(following) <= CURSOR_CHARS_MAX else None}

    async def detail(self, name: str, version: str, *, fresh: bool = False) -> dict:
        """One entry with its options, and the token that stands for exactly this text."""
        if not _NAME.fullmatch(name) or not 1 <= len(version) <= 100:
            raise Refused("mcp_registry_query", problem="that is no name and version of a server")
        entry = await self._get(f"/v0.1/servers/{quote(name, safe='')}/versions/{quote(version, safe='')}", fresh=fresh)
        if not is_entry(entry) or entry["server"]["name"] != name or entry["server"]["version"] != version:
            raise Refused("mcp_registry_answer", problem="it is about another server")
        return {**summary(entry), "reviewToken": digest(entry), "options": options(entry["server"])}

    async def prepare(self, given: Mapping[str, object]) -> tuple[dict, Package | None, dict]:
        """What the form comes to, from the entry read anew: the option, the package to install, and the values by place.

        Raises Refused: mcp_registry_changed, mcp_service_field, and as detail.
        """
        name = str(given["serverName"])
        entry = await self.detail(name, str(given["version"]), fresh=True)
        if entry["status"] != "active":
            raise Refused("mcp_registry_changed", server=name, problem=f"it is {entry['status']} now")
        if entry["reviewToken"] != given["reviewToken"]:
            raise Refused("mcp_registry_changed", server=name, problem="its text changed since")
        option = next((row for row in entry["options"] if row["id"] == given["optionId"]), None)
        if option is None or option.get("unsupported"):
            raise Refused("mcp_registry_changed", server=name, problem="it does not offer that, or offers it in a way that is not used here")
        package = Package(option["npmPackage"], option["npmVersion"], "", name) if option["npmPackage"] else None
        return option, package, filled(option, given["values"])

    async def downloads(self, package: str) -> dict:
        """How often npm says that a package was fetched last month; that nobody knows is an answer too."""
        if PACKAGE.fullmatch(package):
            try:
                answer = await self._client.request("GET", self._downloads + quote(package, safe="@/"), timeout_s=COUNT_S, body_bytes_max=65_536)
                told = read_json(answer.body, "the count") if answer.status == 200 else None
                count = told.get("downloads") if isinstance(told, dict) else None
                if type(count) is int and count >= 0:
                    return {"available": True, "monthly": count}
            except (NetFailed, Refused):
                pass
        return {"available": False}

    async def _get(self, path: str, *, fresh: bool = False) -> dict:
        now_s = self._clock.monotonic_s()
        until_s, kept = self._cache.get(path, (0.0, None))
        if not fresh and isinstance(kept, dict) and now_s < until_s:
            return kept
        try:
            answer = await self._client.request("GET", self.base + path, {"accept": "application/json"}, timeout_s=ASK_S, body_bytes_max=ANSWER_BYTES_MAX)
        except NetFailed as failed:
            raise Refused("mcp_registry_offline", registry=self.base, problem=failed.detail.rstrip(".")) from None
        if answer.status != 200:
            raise Refused("mcp_registry_answer", problem=f"it is HTTP {answer.status}")
        try:
            value = read_json(answer.body, "its answer")
        except Refused:
            value = None                     # no JSON, or one that two readers would read differently
        if not isinstance(value, dict):
            raise Refused("mcp_registry_answer", problem="it is no JSON object")
        self._cache[path] = (now_s + GOOD_S, value)
        self._cache.move_to_end(path)
        while len(self._cache) > CACHED_MAX:
            self._cache.popitem(last=False)
        return value


# -- reading an entry ----------------------------------------------------------------------


def _text(value: object, most: int = TEXT_CHARS_MAX) -> str:
    return " ".join(value.split())[:most] if isinstance(value, str) else ""


def _rows(value: object) -> list[dict]:
    return [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []


def is_entry(row: object) -> bool:
    server = row.get("server") if isinstance(row, dict) else None
    return isinstance(server, dict) and isinstance(server.get("name"), str) and bool(_NAME.fullmatch(server["name"])) and isinstance(server.get("version"), str)


def summary(entry: Mapping) -> dict[str, object]:
    """A row of the list: words only, addresses only where they are https."""
    server, about = entry["server"], entry.get("_meta")
    official = about.get(OFFICIAL) if isinstance(about, dict) else None
    repository = server.get("repository")
    links = {"repository": repository.get("url") if isinstance(repository, dict) else None, "website": server.get("websiteUrl")}
    formats = [f"{_text(row.get('registryType'), 20)} {_text((row.get('transport') or {}).get('type') if isinstance(row.get('transport'), dict) else '', 20)}"
               for row in _rows(server.get("packages"))] + [_text(row.get("type"), 20) for row in _rows(server.get("remotes"))]
    return {"name": server["name"], "version": server["version"][:100], "title": _text(server.get("title"), 200) or server["name"],
            "description": _text(server.get("description")), "status": _text(official.get("status"), 20) if isinstance(official, dict) else "unknown",
            "formats": sorted(set(filter(None, formats))),
            **{key: value for key, value in links.items() if isinstance(value, str) and value.startswith("https://") and len(value) <= 500 and value.isprintable()}}


def options(server: Mapping) -> list[dict]:
    """The ways to run it, each with its fields, or with the reason why it is not used here."""
    found = [_option(f"package.{number}", row, _package) for number, row in enumerate(_rows(server.get("packages")))]
    return found + [_option(f"remote.{number}", row, _remote) for number, row in enumerate(_rows(server.get("remotes")))]


class _Unsupported(Exception):
    """Why an option is not used here."""


def _option(option_id: str, row: Mapping, read) -> dict:
    found: dict[str, object] = {"id": option_id, "label": _text(row.get("url") or f"{row.get('registryType')} {row.get('identifier')} {row.get('version')}", 300), "fields": [], "npmPackage": None}
    try:
        found.update(read(row))
        fields = found["fields"]
        if len(fields) > FIELDS_MAX:  # type: ignore[arg-type]
            raise _Unsupported(f"It asks for more than {FIELDS_MAX} values.")
        if len({field["id"] for field in fields}) < len(fields):  # type: ignore[attr-defined, arg-type]
            raise _Unsupported("It asks for one value twice.")
    except _Unsupported as problem:
        found.update(unsupported=str(problem), fields=[])
    else:
        found["form"] = option_form(found)
    return found


def _package(row: Mapping) -> dict:
    transport = row.get("transport")
    if row.get("registryType") != "npm" or not isinstance(transport, dict) or transport.get("type") != "stdio":
        raise _Unsupported("Only npm packages that speak over stdio are installed from here.")
    name, version = row.get("identifier"), row.get("version")
    if not isinstance(name, str) or not PACKAGE.fullmatch(name) or not isinstance(version, str) or not VERSION.fullmatch(version):
        raise _Unsupported("It names no package at one exact version.")
    if row.get("runtimeHint") not in (None, "", "npx", "node") or row.get("registryBaseUrl") not in (None, "", "https://registry.npmjs.org", "https://registry.npmjs.org/"):
        raise _Unsupported("It wants another runtime, or comes from another place than npm's own registry.")
    if [each for each in _rows(row.get("runtimeArguments")) if each.get("value") not in ("-y", "--yes") and each.get("name") not in ("-y", "--yes")]:
        raise _Unsupported("It wants arguments for its runtime.")
    fields = [_field(f"env:{each.get('name')}", each, "variable") for each in _rows(row.get("environmentVariables"))]
    for number, each in enumerate(_rows(row.get("packageArguments"))):
        fields.append(_field(f"arg:{number}", each, "argument"))
    return {"npmPackage": name, "npmVersion": version, "fields": [field for field in fields if field]}


def _remote(row: Mapping) -> dict:
    url = row.get("url")
    try:
        parts = urlsplit(url) if isinstance(url, str) and url.isprintable() and url.isascii() else None
        fixed = parts is not None and parts.scheme == "https" and bool(parts.hostname) and parts.username is None and not parts.query and not parts.fragment
    except ValueError:
        fixed = False
    if row.get("type") != "streamable-http" or not fixed or "{" in str(url):
        raise _Unsupported("Only a fixed https address of the type streamable-http is used from here.")
    fields = [_field(f"header:{each.get('name')}", each, "header") for each in _rows(row.get("headers"))]
    return {"url": url, "fields": [field for field in fields if field]}


def _field(field_id: str, row: Mapping, what: str) -> dict:
    """One value that is asked for, or fixed. Raises _Unsupported."""
    name = row.get("name")
    if what == "variable" and not (isinstance(name, str) and _VARIABLE.fullmatch(name) and not RESERVED_VARIABLES.fullmatch(name)):
        raise _Unsupported(f"It wants the variable {_text(name, 60)!r}, which is not a server's to set.")
    if what == "header" and not (isinstance(name, str) and _HEADER.fullmatch(name) and not RESERVED_HEADERS.fullmatch(name)):
        raise _Unsupported(f"It wants the header {_text(name, 60)!r}, which is not a server's to set.")
    if what == "argument" and (row.get("type") not in ("named", "positional") or (row.get("type") == "named" and not (isinstance(name, str) and re.fullmatch(r"--?[A-Za-z0-9][\w.-]{0,100}", name)))):
        raise _Unsupported("It wants an argument of a kind that is not used here.")
    value, choices = row.get("value"), row.get("choices")
    if row.get("variables") or (isinstance(value, str) and "{" in value):
        raise _Unsupported("It puts values together from pieces, which is not done here.")
    default = row.get("default")
    return {"id": field_id, "label": _text(row.get("valueHint") or name, 200), "description": _text(row.get("description"), 500), "flag": name if what == "argument" and row.get("type") == "named" else "",
            "required": row.get("isRequired") is True or (what == "argument" and row.get("type") == "positional" and row.get("isRequired") is not False and value is None),
            "secret": row.get("isSecret") is True, "format": _text(row.get("format"), 20) or "string", "repeated": row.get("isRepeated") is True,
            **({"fixed": value} if isinstance(value, str) else {}), **({"default": default} if isinstance(default, str) else {}),
            **({"choices": [str(each)[:200] for each in choices[:FIELDS_MAX]]} if isinstance(choices, list) and choices else {})}


# -- what a form comes to ------------------------------------------------------------------


def filled(option: Mapping, values: object) -> dict:
    """The form's values by place, `{env, headers, args}`, each taken literally. Raises Refused mcp_service_field."""
    if not isinstance(values, dict):
        raise Refused("mcp_service_field", field="values", problem="must be an object")
    if unknown := sorted(set(values) - {field["id"] for field in option["fields"]}):
        raise Refused("mcp_service_field", field=str(unknown[0])[:80], problem="is not asked for")
    env: dict[str, str] = {}
    headers: dict[str, str] = {}
    args: list[str] = []
    for field in option["fields"]:
        place, _, name = field["id"].partition(":")
        for value in _values(field, values.get(field["id"])):
            if place == "env":
                env[name] = value
            elif place == "header":
                headers[name] = value
            elif field["format"] == "boolean" and field["flag"]:
                args += [field["flag"]] if value == "true" else []
            else:
                args += [field["flag"], value] if field["flag"] else [value]
    return {"env": env, "headers": headers, "args": args}


def _values(field: Mapping, given: object) -> list[str]:
    """What this field says: the fixed value, what was given, or its default."""
    if "fixed" in field:
        return [field["fixed"]]
    rows = given if isinstance(given, list) else lines_of(given) if field["repeated"] and isinstance(given, str) else [given]
    rows = [row for row in rows if row not in (None, "")] or ([field["default"]] if "default" in field else [])

    def wrong(problem: str) -> Refused:
        return Refused("mcp_service_field", field=field["label"] or field["id"], problem=problem)

    if field["required"] and not rows:
        raise wrong("is needed")
    if len(rows) > 1 and (not field["repeated"] or len(rows) > FIELDS_MAX):
        raise wrong("is given more than once")
    for row in rows:
        if not isinstance(row, str) or len(row) > VALUE_CHARS_MAX or "\0" in row or (field["id"].startswith("header:") and not (row.isascii() and row.isprintable())):
            raise wrong("is no usable text")
        if "choices" in field and row not in field["choices"]:
            raise wrong(f"is one of {', '.join(field['choices'])}")
        if field["format"] == "number" and not re.fullmatch(r"-?\d{1,15}(\.\d{1,15})?", row, re.ASCII):
            raise wrong("is a number")
        if field["format"] == "boolean" and row not in ("true", "false"):
            raise wrong("is true or false")
    return rows
