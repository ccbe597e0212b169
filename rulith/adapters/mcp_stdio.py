"""An MCP server as a child of this Worker: JSON lines on its stdin and stdout.

A line that is no message is noise: passed over, and shown when something goes wrong, as the
end of its error output is. It is ended in steps: its stdin is closed, then its group is asked,
then everything below it is killed. It sees the basics of the environment and what its Source
says, and nothing of ours.

Units   *_s seconds
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from rulith.adapters.mcp_link import Budget, Cut
from rulith.base.errors import Refused
from rulith.procs.orphans import reap_group, reap_strays
from rulith.procs.spawned import STDOUT, Spawned
from rulith.procs.trees import kill_group, kill_tree, terminate_group
from rulith.wire import jsonrpc
from rulith.wire.jsonrpc import Message, Request, RequestId, Response
from rulith.wire.mcp_outbound import STATELESS, reply_to, said, sort_out, stated_dates

CLOSE_S, TERMINATE_S, KILL_S = 2.0, 2.0, 5.0     # the three steps of an end
TAIL_BYTES = 4_096
IDLE_BYTES_MAX = 1_048_576                       # what a server may write while nobody asked


@dataclass(frozen=True)
class Launch:
    """How a server is started."""

    argv: tuple[str, ...]
    cwd: str
    environment: Mapping[str, str] = field(repr=False)


class StdioLink:
    """One child. Belongs to one event loop; one exchange at a time."""

    survives_silence = True

    def __init__(self, launch: Launch) -> None:
        self.date: str | None = None
        self._launch = launch
        self._child: Spawned | None = None
        self._line = bytearray()
        self._messages: list[Message] = []
        self._noise = self._errors = b""
        self._problem = ""
        self._arrived = asyncio.Event()
        self._budget: Budget | None = None
        self._idle = 0

    @property
    def is_open(self) -> bool:
        return self._child is not None and not self._child.exited.done() and not self._problem

    async def open(self) -> None:
        self._problem, self._noise, self._errors = "", b"", b""
        self._line.clear()
        try:
            self._child = await Spawned.start(self._launch.argv, on_output=self._take, has_stdin=True,
                                              cwd=self._launch.cwd, env=self._launch.environment)
        except (OSError, ValueError) as problem:
            raise Cut(f"{self._launch.argv[0]} was not started: {getattr(problem, 'strerror', None) or problem}", sent=False) from None
        self._child.exited.add_done_callback(lambda _: self._arrived.set())
        self._child.closed.add_done_callback(lambda _: self._arrived.set())

    async def exchange(self, message: Mapping[str, object], budget: Budget, mirrored: Mapping[str, str] = {},
                       late: RequestId | None = None) -> Response:
        if not self.is_open:
            raise Cut(self._ending(), sent=False)
        budget.check()
        self._budget, self._idle = budget, 0
        try:
            self._write(message)
            return await budget.within(self._answer(message["id"], late))
        finally:
            self._budget = None
            reap_strays()                        # helpers that it let go of, where this Worker takes orphans over

    async def notify(self, message: Mapping[str, object], budget: Budget) -> None:
        self._write(message)

    def _write(self, message: Mapping[str, object]) -> None:
        assert self._child is not None
        self._child.write(jsonrpc.encode(message) + b"\n")

    async def _answer(self, awaited: RequestId, late: RequestId | None) -> Response:
        assert self._child is not None
        while True:
            found, _ = sort_out(self._messages, awaited)
            if late is not None:
                slow, _ = sort_out(self._messages, late)
                found = slow if slow is not None and STATELESS in stated_dates(slow) else found
            self._messages.clear()
            if found is not None:
                return found
            if self._problem:
                raise Cut(self._problem)
            if self._child.closed.done():
                raise Cut(self._ending())
            if self._child.exited.done():
                # Its last words may still be on their way, unless somebody else holds its pipe.
                await asyncio.wait([self._child.closed], timeout=1.0)
                if not self._messages:
                    raise Cut(self._ending())
                continue
            await self._arrived.wait()
            self._arrived.clear()

    def _take(self, fd: int, data: bytes) -> None:
        if fd != STDOUT:
            self._errors = (self._errors + data)[-TAIL_BYTES:]
            return
        if self._problem:
            return                               # it is on its way out; nothing of it is kept
        try:
            if self._budget is not None:
                self._budget.take(len(data))
            else:
                self._idle += len(data)
                if self._idle > IDLE_BYTES_MAX:
                    raise Cut("it writes without being asked")
            *lines, rest = (bytes(self._line) + data if b"\n" in data else data).split(b"\n")
            if b"\n" in data:
                self._line = bytearray(rest)
            else:
                self._line += rest
            for line in lines:
                self._take_line(line.strip())
        except Cut as cut:
            self._problem = cut.detail
            self._line.clear()
            if self._budget is None:
                self.kill()                      # nobody would come to end it
        self._arrived.set()

    def _take_line(self, line: bytes) -> None:
        if not line:
            return
        try:
            messages, _ = jsonrpc.read_messages(line, "a line of the server")
        except Refused as refused:
            if line.startswith(b"{") and b'"jsonrpc"' in line:
                raise Cut(f"it sent a message that cannot be read: {refused.happened}") from None
            self._noise = (self._noise + line + b"\n")[-TAIL_BYTES:]
            return
        for message in messages:
            if isinstance(message, Request):
                self._write(reply_to(message))   # at once, also while nobody waits for it
            elif isinstance(message, Response):
                self._messages.append(message)

    def _ending(self) -> str:
        status = self._child.status if self._child is not None else None
        if self._problem:
            return self._problem
        return "it closed its output" if status is None else f"it ended by signal {-status}" if status < 0 else f"it ended with status {status}"

    def last_words(self) -> str:
        parts = []
        for what, raw in (("on stderr", self._errors), ("beside the protocol", self._noise)):
            if text := said(raw.decode("utf-8", "replace")[-500:]):
                parts.append(f"it said {what}: {text}")
        return "; ".join(parts)

    async def close(self) -> None:
        """See the child and its group to their end; bounded, and safe to call twice."""
        child, self._child = self._child, None
        if child is None:
            return
        self._problem = self._problem or "it was ended"
        child.close_stdin()
        if not await _ended(child, CLOSE_S):
            terminate_group(child.pid)
            if not await _ended(child, TERMINATE_S):
                kill_tree(child.pid)
                await _ended(child, KILL_S)
        kill_group(child.pid)                    # what it left behind in its group
        if child.exited.done():
            await reap_group(child.pid)
        reap_strays()
        child.close()

    def kill(self) -> None:
        """At once, for a caller that cannot wait."""
        if self._child is not None and not self._child.exited.done():
            kill_tree(self._child.pid)


async def _ended(child: Spawned, within_s: float) -> bool:
    await asyncio.wait([child.exited], timeout=within_s)
    return child.exited.done()


def unsafe_for_shim(arguments: Sequence[str]) -> int | None:
    """The number of the first argument that a Windows command file would read as more than text."""
    return next((number for number, each in enumerate(arguments, 1) if any(letter in each for letter in '"&|<>^%!()\r\n')), None)


def command_of(command: str, arguments: Sequence[str], which, *, is_windows: bool) -> tuple[str, ...]:
    """The words to start: on Windows the command's own file is found first, since `npx` is `npx.cmd` there.

    which  the path of a program by its name, or None, as shutil.which
    Raises ValueError where a command file would not get the arguments as they stand.
    """
    if not is_windows:
        return (command, *arguments)
    found = which(command) or command
    if found.lower().endswith((".cmd", ".bat")):
        unsafe = unsafe_for_shim(arguments)
        if unsafe is not None:
            raise ValueError(f"{command} is a command file, and argument number {unsafe} holds a character that it would act on")
    return (found, *arguments)
