"""The door of the Agent: command line and settings in, one run, exit status out.

On a terminal progress goes to stderr and the result to stdout; with a parent (stdio mode)
events go to it and stdout carries nothing else. Ctrl-C and SIGTERM end a run cleanly.

Exit  see rulith.runtime.outcome
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import Sequence
from typing import TextIO

from rulith.base.clock import SystemClock
from rulith.base.errors import Mismatch, Refused
from rulith.disk.home import find_home
from rulith.procs.child import Settings, emit, read_settings, watch_parent
from rulith.runtime.chat import LoopThread, chat
from rulith.runtime.options import USAGE, Options, parse
from rulith.runtime.outcome import COMPLETED, INTERRUPTED, TERMINATED, RunResult, failed
from rulith.runtime.run import AgentRun, Told, is_chat, run_to_end, serve_to_end, serves
from rulith.runtime.summary import OF_A_JOB, summary
from rulith.runtime.terminal import ProgressLine, TerminalView, showable


def main(argv: Sequence[str]) -> int:
    """Run one Agent; the exit status."""
    try:
        parse(list(argv))
        settings = read_settings()
        options = parse([*argv, *settings.args])
        if options.help:
            sys.stdout.write(USAGE)
            return 0
        if is_chat(options, settings):
            return _chat(options, settings)
    except Refused as refusal:
        return _tell(failed(refusal), Options())
    return _tell(asyncio.run(_serve(options, settings) if serves(options, settings) else _one_shot(options, settings)), options)


def _told(options: Options, settings: Settings) -> Told:
    if settings.attached:
        return Told(emit, nobody_log if options.quiet else _print_line)
    view = _view(options, None)
    return Told(view, nobody_log if options.quiet else view.log)


def _print_line(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _view(options: Options, words: TextIO | None) -> TerminalView:
    """What this run shows on its terminal."""
    moves = not options.quiet and sys.stderr is not None and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
    return TerminalView(None if options.quiet else _print_line, ProgressLine(sys.stderr, SystemClock()) if moves else None, words)


def nobody_log(text: str) -> None:
    """The log of a quiet run."""


def _tell(result: RunResult, options: Options) -> int:
    """The end of a run: to the parent, to a script, to a person."""
    document = result.document()
    emit("end", **document)
    if options.as_json:
        print(json.dumps(document, ensure_ascii=False), flush=True)
    elif result.exit in OF_A_JOB and result.outcome != "error":
        print(showable(summary(result)), flush=True)
        return result.exit
    elif result.facts.get("text"):
        print(showable(str(result.facts["text"]).strip()), flush=True)       # a model's words are an answer, whatever became of the job
    if result.exit != 0 or options.as_json and not options.quiet:
        print(result.message, file=sys.stderr, flush=True)
    return result.exit


async def _one_shot(options: Options, settings: Settings) -> RunResult:
    told = _told(options, settings)
    run = AgentRun(options, settings, told, clock=SystemClock())
    work = asyncio.ensure_future(run_to_end(run))
    ended_by: list[int] = []

    def end(status: int) -> None:
        ended_by.append(status)
        work.cancel()

    _on_signals(end)
    parent = asyncio.ensure_future(_heed_parent(lambda: end(TERMINATED)))
    try:
        result = await work
    except asyncio.CancelledError:
        result = run.cut_off()
    finally:
        parent.cancel()
        if not settings.attached:
            told.emit("end")                 # the line that moves is given back before the summary
    if ended_by:
        result.exit = ended_by[0]
    for label in run.unread_labels():
        print(f"Outcome not read: {label}", file=sys.stderr)
    return result


async def _serve(options: Options, settings: Settings) -> RunResult:
    """Take tasks until a signal, or until the parent says so or is gone."""
    run = AgentRun(options, settings, _told(options, settings), clock=SystemClock())
    ended_by: list[int] = []
    work = asyncio.ensure_future(serve_to_end(run, _tell_address if settings.attached else _show_address))

    def end(status: int) -> None:
        ended_by.append(status)
        if not run.stop_serving():
            work.cancel()                # it was still starting

    _on_signals(end)
    parent = asyncio.ensure_future(_heed_parent(lambda: end(COMPLETED)))
    try:
        result = await work
    except asyncio.CancelledError:
        result = RunResult("stopped", TERMINATED, "The service was stopped before it took tasks.")
    finally:
        parent.cancel()
    if ended_by and result.outcome == "stopped":
        result.exit = ended_by[0]
    for label in run.unread_labels():
        print(f"Outcome not read: {label}", file=sys.stderr)
    return result


def _show_address(address: str) -> None:
    print(f"Serving: {address}", file=sys.stderr, flush=True)


def _tell_address(address: str) -> None:
    """A parent chose the address and its key; it hears that tasks are taken now."""
    emit("serving", url=address.partition("?")[0])


def _on_signals(end) -> None:
    loop = asyncio.get_running_loop()
    for number, status in ((signal.SIGINT, INTERRUPTED), (signal.SIGTERM, TERMINATED)):
        try:
            loop.add_signal_handler(number, end, status)
        except NotImplementedError:      # Windows: KeyboardInterrupt and the parent's word remain
            return


async def _heed_parent(end) -> None:
    async for operation in watch_parent():
        if operation in ("stop", "eof"):
            end()
            return


def _chat(options: Options, settings: Settings) -> int:
    """A chat on this terminal; its exit status."""
    if settings.attached:
        raise Refused("usage", problem="a chat needs a terminal; give a task")
    streams = sys.stdout is not None and sys.stdout.isatty()
    view = _view(options, sys.stdout if streams else None)
    run = AgentRun(options, settings, Told(view, nobody_log if options.quiet else view.log), clock=SystemClock())
    home = find_home(options.home, settings)
    with LoopThread() as thread:
        try:
            signal.signal(signal.SIGTERM, _raise_terminated)
            thread.ask(run.prepare())
            chat(run.turn, thread, rest=view.rest, history=home.path / "chat-history" if home.path.is_dir() else None)
            return 0
        except (Refused, Mismatch) as problem:
            return _tell(failed(problem), options)
        except KeyboardInterrupt:
            return INTERRUPTED               # before the first prompt: in the chat it stops a turn
        except SystemExit:
            return TERMINATED
        finally:
            thread.ask(run.end())
            for label in run.unread_labels():
                print(f"Outcome not read: {label}", file=sys.stderr)


def _raise_terminated(number: int, frame: object) -> None:
    raise SystemExit(TERMINATED)
