"""One Agent run from settings to exit status: who drives, over which line, told to whom.

Source  the design, "Agent Runtime"; the MCP surface, "Agent process"
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from rulith.base.clock import Clock
from rulith.base.errors import Mismatch, Refused
from rulith.disk.home import find_home
from rulith.disk.locks import HeldLock
from rulith.disk.runfile import read_live
from rulith.net.client import HttpClient
from rulith.runtime.calls import CallServer, Pins
from rulith.runtime.conversation import Conversation
from rulith.runtime.driver import BoardDriver
from rulith.runtime.events import Sink
from rulith.runtime.line import BoardLine
from rulith.runtime.local_home import LocalHome, agent_environment, skip_words, take_agent_lock
from rulith.runtime.model import ModelClient
from rulith.runtime.opening import CaseWanted
from rulith.runtime.options import Options
from rulith.runtime.outcome import (
    COMPLETED, ERROR, NOTHING_TO_DO, STUCK, TERMINATED, WAITING, RunResult, failed,
)
from rulith.runtime.session import Reach
from rulith.runtime.settings import DEFAULT_GATEWAY, EXPLORATION, ModelSettings, Settings, read_model, read_settings
from rulith.runtime.turns import Policy, TurnResult, Turns
from rulith.runtime.unread import UnreadOutcomes

BOARD, MODEL = "board", "model"

# outcome of a one-shot turn: exit status and what to say when the turn itself says nothing
_TURN_ENDS = {
    "completed": (COMPLETED, "The Case is closed as completed."),
    "void": (STUCK, "The Case is closed, and not as completed."),
    "waiting": (WAITING, "The Case waits for a person."),
    "no-case": (ERROR, "The model opened no Case."),
    "stopped": (STUCK, "The run ended with its Case still open."),
    "model-error": (ERROR, "The model gave no usable reply."),
    "blocked": (ERROR, "The gateway changed its contract."),
    "user-stopped": (TERMINATED, "The run was stopped."),
}


@dataclass(frozen=True)
class Told:
    """Where a run's news goes."""

    emit: Sink
    log: Callable[[str], None]


def check_built(options: Options, environ: Mapping[str, str]) -> None:
    """Raises Refused not_built for what this release does not have."""
    if options.serve or environ.get("RULITH_SERVE", "").strip() == "on":
        raise Refused("not_built", what="`rulith agent --serve`",
                      instead="Give the task on the command line, or chat on the terminal without one.")
    if options.shadow:
        raise Refused("not_built", what="the shadow review", instead="Run without --shadow.")


def choose_driver(options: Options, settings: Settings) -> str:
    """Who chooses the next step. Raises Refused usage, model_not_configured."""
    return _driver_of(options, settings.case_type, settings.case_id, has_model=settings.model is not None)


def _driver_of(options: Options, case_type: str, case_id: str, *, has_model: bool) -> str:
    names_work = bool(case_type and case_type != EXPLORATION)
    if options.driver == BOARD:
        if not (case_id or names_work):
            raise Refused("usage", problem="--driver board needs a Case Type with its key, or --case")
        return BOARD
    if has_model:
        return MODEL
    if options.driver != MODEL and options.task and names_work:
        return BOARD
    raise Refused("model_not_configured")


def is_chat(options: Options) -> bool:
    return not options.task and options.driver != BOARD


class AgentRun:
    """`prepare()`, then `one_shot()` or any number of `turn()`s, then `end()`."""

    def __init__(self, options: Options, environ: Mapping[str, str], told: Told, *, clock: Clock,
                 sleep=asyncio.sleep) -> None:
        self._options = options
        self._environ = environ
        self._told = told
        self._clock = clock
        self._sleep = sleep
        self._http = HttpClient(clock, environ=environ)
        self._local: LocalHome | None = None
        self._lock: HeldLock | None = None
        self._line: BoardLine | None = None
        self._settings: Settings | None = None
        self._turns: Turns | None = None
        self._server: CallServer | None = None
        self._driver: BoardDriver | None = None
        self.unread = UnreadOutcomes()

    async def prepare(self) -> None:
        """Settle who drives, reach the gateway, shake hands. Raises Refused, Mismatch."""
        settings = await self._read_settings()
        self._settings = settings
        driver = choose_driver(self._options, settings)
        if settings.lock_path:
            self._lock = take_agent_lock(settings.lock_path)
        reach = Reach(settings.url, settings.token, settings.call_timeout_s, settings.wait_s,
                      settings.resume_attempts, settings.resume_backoff_s)
        self._line = BoardLine(self._http, reach, clock=self._clock, emit=self._told.emit, log=self._told.log,
                               poll_s=settings.poll_s, sleep=self._sleep)
        await self._line.open()
        if driver == MODEL:
            assert settings.model is not None
            self._turns = self._model_turns(settings, settings.model)

    async def _read_settings(self) -> Settings:
        environ = self._environ
        home = find_home(self._options.home, environ)
        if environ.get("RULITH_TOKEN", "").strip() or environ.get("RULITH_URL", "").strip():
            live = read_live(home.gateway_json) if not environ.get("RULITH_URL") else None
            url = str(live["url"]) if live and isinstance(live.get("url"), str) else DEFAULT_GATEWAY
            return read_settings(environ, self._options, default_url=url, warn=self._told.log)
        local = LocalHome(home, self._http, log=self._told.log)
        self._check_early(environ, local)
        self._local = local
        found = await self._local.prepare(self._options.profile, environ)
        return read_settings(found, self._options, default_url=found["RULITH_URL"], warn=self._told.log)

    def _check_early(self, environ: Mapping[str, str], local: LocalHome) -> None:
        """Refuse a run that nobody could drive before a process is started for it. A home without profiles gets one without a model."""
        profile = local.profile_now(self._options.profile)
        given = agent_environment(profile, environ, "") if profile is not None else environ
        _driver_of(self._options, self._options.case_type or given.get("RULITH_CASE_TYPE", "").strip(),
                   self._options.case_id or given.get("RULITH_RESUME_CASE", "").strip(), has_model=read_model(given) is not None)

    def _model_turns(self, settings: Settings, model: ModelSettings) -> Turns:
        assert self._line is not None
        emit = self._told.emit
        client = ModelClient(self._http, model, clock=self._clock, emit=emit)
        self._server = CallServer(self._line, Pins(settings.case_type, settings.business_key), self.unread, emit=emit)
        return Turns(self._line, client, self._server, self.unread, Conversation(settings.keep_messages), emit=emit,
                     max_rounds=settings.max_rounds)

    async def one_shot(self) -> RunResult:
        """The whole run. Raises Refused, Mismatch."""
        result = await self._one_shot()
        skips = [] if self._local is None else self._local.skips
        if skips and result.exit not in (COMPLETED, NOTHING_TO_DO):
            result.message += f" {skip_words(skips[-1])}"
            result.facts["workerSkips"] = list(skips)
        return result

    async def _one_shot(self) -> RunResult:
        assert self._line is not None and self._settings is not None
        settings = self._settings
        if self._turns is None:
            self._driver = BoardDriver(self._line, emit=self._told.emit)
            wanted = CaseWanted(settings.case_type, settings.business_key, settings.case_id)
            return _with_job(await self._driver.run(wanted), settings)
        if settings.case_id:
            await self._turns.focus(settings.case_id)
        turn = await self._turns.run(self._options.task, Policy.CONTINUE)
        return _with_job(self._result_of(turn), settings)

    def _result_of(self, turn: TurnResult) -> RunResult:
        assert self._line is not None
        status, words = _TURN_ENDS[turn.outcome]
        if turn.outcome == "no-case" and "case_closed" in turn.codes:
            status, words = NOTHING_TO_DO, "There is nothing to do: the Case of this key is closed."
        text = {"text": turn.text}
        outcome = "nothing_to_do" if status == NOTHING_TO_DO else turn.outcome.replace("-", "_")
        case_id, root = self._case(turn.closed)
        return RunResult(outcome, status, turn.message or words, case_id, root, self._steps(), turn.closed, text)

    def _case(self, closed: list[dict]) -> tuple[str, str]:
        """The Case of this run: the one in focus, else the last one closed."""
        if self._line is not None and self._line.book.focused:
            case = self._line.book.focused[0]
            return case.case_id, case.root
        return (closed[-1]["caseId"], closed[-1]["root"]) if closed else ("", "")

    def _steps(self) -> list[dict]:
        source = self._driver or self._server
        return [] if source is None else source.steps

    def broken_off(self, problem: Refused | Mismatch) -> RunResult:
        """The result of a run that `problem` ended, with what it had come to."""
        result = failed(problem)
        closed = [] if self._line is None else self._line.book.closed
        result.case_id, result.root = self._case(closed)
        result.steps, result.closed_cases = self._steps(), closed
        return result

    async def turn(self, words: str) -> str:
        """One turn of a chat: the text to show. Raises only what ends the program."""
        assert self._turns is not None and self._settings is not None
        if self._settings.case_id:
            await self._turns.focus(self._settings.case_id)
            self._settings = _without_case(self._settings)       # the first turn only
        try:
            result = await self._turns.run(words, Policy.RETURN)
        except Refused as refusal:
            if refusal.code in ("model_refused", "model_reply_unreadable", "model_unreachable"):
                return f"! {refusal}"
            raise
        shown = [result.text] if result.text else []
        if result.message:
            shown.append(f"! {result.message}")
        return "\n".join(shown) or "(no words)"

    async def end(self) -> None:
        """Say goodbye, stop what this run started, give the locks back."""
        if self._line is not None:
            await self._line.close()
        if self._local is not None:
            await self._local.end()
        if self._lock is not None:
            self._lock.release()
            self._lock = None
        await self._http.close()


def _without_case(settings: Settings) -> Settings:
    return Settings(**{**settings.__dict__, "case_id": ""})


def _with_job(result: RunResult, settings: Settings) -> RunResult:
    result.facts.setdefault("caseType", settings.case_type or None)
    result.facts.setdefault("businessKey", settings.business_key)
    return result


async def run_to_end(run: AgentRun) -> RunResult:
    """A one-shot with its preparation and its end; bad news of every kind becomes a result."""
    try:
        await run.prepare()
        return await run.one_shot()
    except (Refused, Mismatch) as problem:
        return run.broken_off(problem)
    finally:
        await asyncio.shield(run.end())
