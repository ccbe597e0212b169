"""The page's own files, read once at start and served under a strict policy.

Read at start, because the running archive may be replaced while the workbench runs. The
shell names every script of the first view, so that a browser asks for all of them at once
and not for each once it has read who imports it. The
policy lets the page load, ask and frame nothing but this origin; no inline script or style.
"""

from __future__ import annotations

import re
from posixpath import dirname, join, normpath
from typing import TYPE_CHECKING

from rulith.base.canonical import sha256_hex
from rulith.base.resources import shipped
from rulith.net.messages import Request, Response

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable     # Python 3.10 keeps it elsewhere

TYPES = {"html": "text/html; charset=utf-8", "js": "text/javascript; charset=utf-8",
         "css": "text/css; charset=utf-8", "svg": "image/svg+xml"}
IMPORT = re.compile(rb'^import\b[^;]*? from "([^"]+)"', re.MULTILINE)
NOT_OURS = ("console",)          # served by the gateway, on its own address

POLICY = ("default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
          "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'")
PROTECT = [("content-security-policy", POLICY), ("x-content-type-options", "nosniff"), ("referrer-policy", "no-referrer"),
           ("cross-origin-opener-policy", "same-origin"), ("cross-origin-resource-policy", "same-origin"),
           ("permissions-policy", "camera=(), microphone=(), geolocation=()")]


class Pages:
    """`/ui/…` by name, and the shell."""

    def __init__(self) -> None:
        self._files: dict[str, tuple[str, bytes, str]] = {}
        self._read(shipped("ui_static"), "")
        scripts: dict[str, None] = {}
        self._bring("app.js", scripts)
        links = "".join(f'<link rel="modulepreload" href="/ui/{name}">\n' for name in scripts)
        self._shell = self._files["index.html"][1].replace(b"</head>", links.encode() + b"</head>")

    def _read(self, folder: Traversable, prefix: str) -> None:
        for entry in folder.iterdir():
            name = prefix + entry.name
            if entry.is_dir():
                if name not in NOT_OURS:
                    self._read(entry, f"{name}/")
            elif (kind := entry.name.rpartition(".")[2]) in TYPES:
                content = entry.read_bytes()
                self._files[name] = (TYPES[kind], content, f'"{sha256_hex(content)[:32]}"')

    def _bring(self, name: str, found: dict[str, None]) -> None:
        """A script and all that its imports bring with it."""
        if name not in found:
            found[name] = None
            for target in IMPORT.findall(self._files[name][1]):
                self._bring(normpath(join(dirname(name), target.decode())), found)

    def shell(self) -> Response:
        """The empty shell: no data, no key, nothing about this home."""
        return Response(200, [("content-type", TYPES["html"]), ("cache-control", "no-store"), *PROTECT], self._shell)

    def file(self, request: Request) -> Response | None:
        """A file of the page; None when there is none of that name."""
        found = self._files.get(request.path[len("/ui/"):])
        if found is None:
            return None
        kind, content, tag = found
        # a browser looks at the icon anew at every place of the page
        keep = "max-age=3600" if kind == TYPES["svg"] else "no-cache"
        headers = [("content-type", kind), ("cache-control", keep), ("etag", tag), *PROTECT]
        return Response(304, headers) if request.headers.get("if-none-match") == tag else Response(200, headers, content)


def locked_page(happened: str, todo: str) -> Response:
    """What a browser shows that came without key, ticket or cookie; the words are ours and hold no markup."""
    text = (f"<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Rulith: locked</title>"
            f"<h1>This page is locked</h1><p>{happened}</p><p>{todo}</p></html>")
    return Response(401, [("content-type", TYPES["html"]), ("cache-control", "no-store"), *PROTECT], text.encode())
