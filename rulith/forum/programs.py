"""Where programs are found: the PATH of this process, of the person's login shell, and of the usual places.

A council that was started by a desktop has a shorter PATH than a terminal. The login shell is
asked once, when first needed, and what else it prints is not read.

Units   *_s seconds
Source  the council surface, "Supervisor", "Spawn"
"""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Mapping

from rulith.base.errors import Refused
from rulith.base.ids import mint
from rulith.council.awake import EXTRA_PATHS, joined_path
from rulith.procs.children import run_command
from rulith.procs.roles import inherited_environment

SHELL_S, SHELL_BYTES_MAX = 5.0, 65_536


class Programs:
    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        self._asked: asyncio.Task[None] | None = None
        self._shell_path: str | None = None          # not asked yet

    def path(self) -> str:
        extra = os.pathsep.join(EXTRA_PATHS) if os.name == "posix" else ""
        return joined_path(os.pathsep, self._environ.get("PATH", os.defpath), self._shell_path or "", extra)

    def find(self, command: str, place: str) -> str:
        """The program's whole path, or its name as long as the login shell has not been asked. Raises Refused council_no_program.

        place   a name with a folder in it is meant from here
        """
        has_folder = bool(os.path.dirname(command))
        looked = place if has_folder else self.path()
        found = shutil.which(os.path.join(place, command)) if has_folder else shutil.which(command, path=looked)
        if found is None and (has_folder or self._shell_path is not None):
            raise Refused("council_no_program", program=command, places=looked or "any place")
        return found or command

    def ask_shell(self) -> asyncio.Task[None]:
        """Over once the login shell has told its PATH, or has not."""
        if self._asked is None:
            self._asked = asyncio.get_running_loop().create_task(self._ask(), name="login shell")
        return self._asked

    async def close(self) -> None:
        if self._asked is not None:
            self._asked.cancel()
            await asyncio.wait([self._asked])

    async def _ask(self) -> None:
        self._shell_path = await self._login_path()

    async def _login_path(self) -> str:
        shell, sign = self._environ.get("SHELL", ""), mint("path", 16)
        if os.name != "posix" or not os.path.isabs(shell):
            return ""
        try:
            said = await run_command([shell, "-lc", f'printf "\\n%s=%s\\n" {sign} "$PATH"'], env=inherited_environment(self._environ), timeout_s=SHELL_S,
                                     stdout_bytes_max=SHELL_BYTES_MAX)
        except Refused:
            return ""
        lines = said.stdout.decode("utf-8", "surrogateescape").splitlines()
        return next((line.partition("=")[2] for line in reversed(lines) if line.startswith(f"{sign}=")), "")
