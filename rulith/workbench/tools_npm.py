"""Packages of npm that hold an MCP server: installed with no script of theirs run, checked before anything starts.

A package is built beside its place and takes it by one rename. What npm says of it, and what
lies there, must be exactly what was asked for: name, version, digest, the registry's name for
the server, and one program for Node.

Units   *_s seconds
Source  the workbench surface, "Worker tools and MCP services", npm
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from rulith.adapters.environment import child_environment
from rulith.adapters.mcp_stdio import command_of
from rulith.base.canonical import sha256_hex
from rulith.base.errors import Refused
from rulith.base.ids import mint
from rulith.disk.atomic import make_folder, read_json, write_json, write_whole
from rulith.disk.mcp_services import is_plain
from rulith.procs.short import answer_of

REGISTRY = "https://registry.npmjs.org/"
INSTALL_S = 180.0
OUTPUT_BYTES_MAX = 65_536
PACKAGE = re.compile(r"(@[a-z0-9~-][a-z0-9._~-]{0,99}/)?[a-z0-9~-][a-z0-9._~-]{0,120}", re.ASCII)
VERSION = re.compile(r"\d{1,9}\.\d{1,9}\.\d{1,9}(-[0-9A-Za-z.-]{1,60})?", re.ASCII)
LOCK_BYTES_MAX = 4 * 2**20
# Passed on to npm: how it reaches the network. Nothing else of npm's own configuration counts.
NETWORK = ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS")


@dataclass(frozen=True)
class Package:
    """What is asked for. `integrity` and `mcp_name` are empty where nobody has said."""

    name: str
    version: str
    integrity: str = ""
    mcp_name: str = ""

    def __str__(self) -> str:
        return f"{self.name}@{self.version}"

    @property
    def folder(self) -> str:
        """Its folder's name: readable, and one for each name and version on every disk."""
        return f"{re.sub(r'[^a-z0-9-]+', '-', self.name).strip('-')[:40]}-{self.version}-{sha256_hex(str(self).encode())[:8]}"


FILESYSTEM = Package("@modelcontextprotocol/server-filesystem", "2026.8.31",
                     "sha512-kKaFkyAh6oipvc9+EAbJ552JafnMnOq5nzmzWkp1jJdBhTAAGpmIpWihUG1+rfNhmEFM98gUZDdCHCDD4v6a7Q==",
                     "io.github.modelcontextprotocol/server-filesystem")


class Npm:
    """npm of this computer. `registry` is where packages come from, and nowhere else."""

    def __init__(self, environ: Mapping[str, str], registry: str = REGISTRY) -> None:
        self._environ = environ
        self.registry = registry

    def find(self, program: str) -> str | None:
        return shutil.which(program, path=self._environ.get("PATH"))

    def row(self) -> dict[str, object]:
        """As the page reads it."""
        if self.find("npm") and self.find("node"):
            return {"available": True, "problem": ""}
        return {"available": False, "problem": Refused("npm_missing").teaching}

    def installed(self, mcp: Path, package: Package) -> str | None:
        """The entry of an installed package, from the folder of packages; None where it is not installed."""
        place = mcp / "packages" / package.folder / "rulith-package.json"
        entry = read_json(place) if place.exists() else {}
        found = entry.get("entry") if isinstance(entry, dict) else None
        return found if isinstance(found, str) and is_plain(found) and (mcp / "packages" / found).is_file() else None

    async def install(self, mcp: Path, package: Package) -> str:
        """Its entry, installed where it is not yet. Raises Refused: npm_missing, npm_failed, mcp_package_differs."""
        found = self.installed(mcp, package)
        return found or await asyncio.to_thread(self._install, mcp, package)

    def _install(self, mcp: Path, package: Package) -> str:
        npm = self.find("npm")
        if npm is None or self.find("node") is None:
            raise Refused("npm_missing")
        assert PACKAGE.fullmatch(package.name) and VERSION.fullmatch(package.version)
        packages = make_folder(mcp / "packages")
        for left in packages.glob("new-*"):              # of an installation that was cut short; one runs at a time
            shutil.rmtree(left, ignore_errors=True)
        stage = make_folder(packages / f"new-{mint('', 12)}")
        try:
            self._run(npm, mcp, stage, package)
            entry = _checked(stage, package)
            write_json(stage / "rulith-package.json", {"entry": f"{package.folder}/{entry}", "name": package.name, "version": package.version})
            place = packages / package.folder
            shutil.rmtree(place, ignore_errors=True)     # what was there is no installed package
            os.replace(stage, place)
        except OSError as problem:
            raise Refused("npm_failed", package=str(package), problem=problem.strerror or "the disk refused it") from None
        finally:
            shutil.rmtree(stage, ignore_errors=True)
        return f"{package.folder}/{entry}"

    def _run(self, npm: str, mcp: Path, stage: Path, package: Package) -> None:
        settings = mcp / "npmrc"
        write_whole(settings, f"registry={self.registry}\n".encode())
        write_json(stage / "package.json", {"name": "rulith-mcp", "private": True})
        words = ["install", "--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier", "--omit=dev", "--save-exact", "--loglevel=error",
                 f"--registry={self.registry}", f"--userconfig={settings}", f"--globalconfig={mcp / 'no-npmrc'}", f"--cache={mcp / 'npm-cache'}", str(package)]
        argv = command_of(npm, words, lambda name: name, is_windows=sys.platform == "win32")
        answer = answer_of(argv, cwd=str(stage), env=child_environment(self._environ, passed=NETWORK, added={}), timeout_s=INSTALL_S,
                           stdout_bytes_max=OUTPUT_BYTES_MAX)
        if answer.timed_out:
            raise Refused("npm_failed", package=str(package), problem=f"npm did not end within {INSTALL_S:g} s")
        if answer.status != 0:
            raise Refused("npm_failed", package=str(package), problem=f"npm ended with status {answer.status}")


def _checked(stage: Path, package: Package) -> str:
    """The program of the package below `stage`. Raises Refused mcp_package_differs."""

    def differs(problem: str) -> Refused:
        return Refused("mcp_package_differs", package=str(package), problem=problem)

    try:
        lock = read_json(stage / "package-lock.json", LOCK_BYTES_MAX)
        about = read_json(stage / "node_modules" / package.name / "package.json")
    except Refused as refused:
        raise differs(f"npm left no usable record of it ({refused.code})") from None
    packages = lock.get("packages") if isinstance(lock, dict) else None
    row = packages.get(f"node_modules/{package.name}") if isinstance(packages, dict) else None
    if not isinstance(row, dict) or not isinstance(about, dict):
        raise differs("npm left no usable record of it")
    if row.get("version") != package.version or (about.get("name"), about.get("version")) != (package.name, package.version):
        raise differs("its name or version is another one")
    if not str(row.get("integrity", "")).startswith("sha512-") or (package.integrity and row["integrity"] != package.integrity):
        raise differs("its digest is another one, or none")
    if package.mcp_name and about.get("mcpName") != package.mcp_name:
        raise differs(f"it does not say that it is the server {package.mcp_name}")
    programs = about.get("bin")
    programs = [programs] if isinstance(programs, str) else list(programs.values()) if isinstance(programs, dict) else []
    if len(programs) != 1 or not isinstance(programs[0], str):
        raise differs("it does not have exactly one program")
    program = os.path.normpath(programs[0])
    entry = Path("node_modules", package.name, program)
    if not is_plain(programs[0].removeprefix("./")) or not (stage / entry).is_file() or not program.endswith((".js", ".mjs", ".cjs")):
        raise differs("its program is no file for Node inside of it")
    return entry.as_posix()
