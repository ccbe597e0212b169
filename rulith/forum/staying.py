"""How an agent is woken while it does something else: the watcher's command, once the watcher said that it can.

Source  the council surface, "Tools" (`staying_in_touch`)
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence

from rulith.base.errors import Refused
from rulith.base.json_text import read_json
from rulith.council import advice
from rulith.procs.archive import checkout_root, interpreter, role_command, running_archive
from rulith.procs.roles import inherited_environment
from rulith.procs.short import answer_of, shell_line

ANSWER_S, ANSWER_BYTES_MAX = 20.0, 4_096
_CHECKOUT = "import runpy, sys; sys.path.insert(0, {root!r}); runpy.run_module('rulith', run_name='__main__', alter_sys=True)"


class Staying:
    """argv   the watcher, without its flags; asked once, when somebody first wants to know"""

    def __init__(self, argv: Sequence[str] | None) -> None:
        self._argv = argv
        self._told: asyncio.Future[dict] | None = None

    async def in_touch(self) -> dict:
        """What whoami says of it."""
        if self._told is None:
            self._told = asyncio.ensure_future(self._ask())
        return await asyncio.shield(self._told)

    async def _ask(self) -> dict:
        if self._argv is None:
            return advice.in_touch(None)
        able = await asyncio.get_running_loop().run_in_executor(None, can_wait, self._argv)
        return advice.in_touch(shell_line([*self._argv, "--ws", "--once"]) if able else None)


def own_argv(verb: str) -> list[str] | None:
    """A verb of this same program, by absolute paths, from any folder; None where no Python is known that runs it."""
    try:
        archive = running_archive()
        if archive is not None:
            return role_command(verb, archive)
        return [interpreter(), "-c", _CHECKOUT.format(root=str(checkout_root())), verb]
    except Refused:
        return None


def watcher_argv() -> list[str] | None:
    return own_argv("watch")


def can_wait(argv: Sequence[str]) -> bool:
    """Whether this watcher knows the socket and one wake-up."""
    try:
        told = answer_of([*argv, "--capabilities"], cwd=os.getcwd(), env=inherited_environment(os.environ), timeout_s=ANSWER_S,
                         stdout_bytes_max=ANSWER_BYTES_MAX)
        able = read_json(told.stdout, "the watcher's answer")
    except (Refused, OSError):
        return False
    return told.status == 0 and isinstance(able, dict) and able.get("ws") is True and able.get("once") is True
