"""One Agent run from settings to exit status: who drives, over which line, told to whom.

Source  the design, "Agent Runtime"; the MCP surface, "Agent process"
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from rulith.base.clock import Clock
from rulith.base.errors import Mismatch, Refused
from rulith.base.ids import mint
from rulith.disk.conversations import Conversations
from rulith.disk.home import find_home
from rulith.disk.locks import HeldLock
from rulith.disk.runfile import read_live
from rulith.net.client import HttpClient
from rulith.runtime.budget import Budget, Meter, Unlimited
from rulith.runtime.calls import CallServer, Pins
from rulith.runtime.conversation import Conversation
from rulith.runtime.driver import BoardDriver
from rulith.runtime.events import Sink
from rulith.runtime.legacy import name_once
from rulith.runtime.line import BoardLine
from rulith.runtime.local_home import LocalHome, agent_environment, skip_words, take_agent_lock
from rulith.runtime.model import ModelClient
from rulith.runtime.opening import CaseWanted
from rulith.runtime.options import Options
from rulith.runtime.outcome import (
    COMPLETED, ERROR, NOTHING_TO_DO, STUCK, TERMINATED, WAITING, RunResult, failed,
)
from rulith.runtime.prices import read_prices
from rulith.runtime.quirk_memory import QuirkMemory
from rulith.runtime.serve import Door
from rulith.runtime.service import TURN_FAILURES, Service, ServiceLimits, Talk
from rulith.runtime.session import Reach
from rulith.runtime.settings import DEFAULT_GATEWAY, EXPLORATION, ModelSettings, Settings, read_model, read_settings
from rulith.runtime.shadow import Shadow, TurnWatch
from rulith.runtime.tasks import Task
from rulith.runtime.turns import Policy, TurnResult, Turns
from rulith.runtime.unread import OutcomeBook, UnreadOutcomes

BOARD, MODEL = "board", "model"

# outcome of a one-shot turn: exit status and what to say when the turn itself says nothing
_TURN_ENDS = {
    "completed": (COMPLETED, "The Case is closed as completed."),
    "void": (STUCK, "The Case is closed, and not as completed."),
    "waiting": (WAITING, "The Case waits for a person."),
    "no-case": (ERROR, "The model opened no Case, and a task is work on one. To talk, begin a chat: leave the task out."),
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


def choose_driver(options: Options, settings: Settings) -> str:
    """Who chooses the next step. Raises Refused usage, model_not_configured."""
    return _driver_of(options, settings.case_type, settings.case_id, has_model=settings.model is not None, serves=settings.serve is not None)


def _driver_of(options: Options, case_type: str, case_id: str, *, has_model: bool, serves: bool) -> str:
    names_work = bool(case_type and case_type != EXPLORATION)
    if options.shadow and (serves or not options.task):
        raise Refused("usage", problem="--shadow looks at what a run with a task left open; a chat and --serve have none")
    if options.driver == BOARD:
        if serves or options.shadow:
            raise Refused("usage", problem=f"{'--serve' if serves else '--shadow'} needs a model, and --driver board asks none")
        if not (case_id or names_work):
            raise Refused("usage", problem="--driver board needs a Case Type with its key, or --case")
        return BOARD
    if has_model:
        return MODEL
    if options.driver != MODEL and options.task and names_work and not (serves or options.shadow):
        return BOARD
    raise Refused("model_not_configured")


def serves(options: Options, environ: Mapping[str, str]) -> bool:
    return options.serve or environ.get("RULITH_SERVE", "").strip() == "on"


def is_chat(options: Options, environ: Mapping[str, str]) -> bool:
    return not options.task and options.driver != BOARD and not serves(options, environ)


class AgentRun:
    """`prepare()`, then `one_shot()`, `serve()` or any number of `turn()`s, then `end()`."""

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
        self._meter: Meter = Unlimited()
        self._service: Service | None = None
        self._watch: TurnWatch | None = None
        self.unread = UnreadOutcomes(OutcomeBook(told.log))

    async def prepare(self) -> None:
        """Settle who drives, reach the gateway, shake hands. Raises Refused, Mismatch."""
        settings = await self._read_settings()
        self._settings = settings
        driver = choose_driver(self._options, settings)
        if settings.lock_path:
            self._lock = take_agent_lock(settings.lock_path)
        if settings.legacy_path:
            name_once(Path(settings.legacy_path), settings.url, settings.token, self._told.log)
        reach = Reach(settings.url, settings.token, settings.call_timeout_s, settings.wait_s,
                      settings.resume_attempts, settings.resume_backoff_s, settings.custodian)
        self._line = BoardLine(self._http, reach, clock=self._clock, emit=self._emit, log=self._told.log,
                               poll_s=settings.poll_s, sleep=self._sleep)
        if driver == MODEL:
            assert settings.model is not None
            self._meter = self._budget(settings, settings.model)
            self._quirks = QuirkMemory(Path(settings.quirks_path) if settings.quirks_path else None, clock=self._clock)
            self._client = ModelClient(self._http, settings.model, clock=self._clock, emit=self._emit, meter=self._meter, memory=self._quirks)
        if settings.serve is not None:
            return                           # the session is opened once the service's address is there
        await self._line.open()
        if driver == MODEL:
            talk = self._new_talk(self.unread)
            self._turns, self._server = talk.turns, talk.server

    def _emit(self, type_: str, **fields: object) -> None:
        """Everything that happens is told through here, by the service where there is one."""
        if self._watch is not None:
            self._watch(type_, **fields)
        (self._told.emit if self._service is None else self._service.emit)(type_, **fields)

    def _budget(self, settings: Settings, model: ModelSettings) -> Meter:
        """Raises Refused price_unknown before anything is asked, prices_refused."""
        if settings.budget is None:
            return Unlimited()
        found = settings.budget
        budget = Budget(found.caps, read_prices(found.prices_path) if found.prices_path else None, found.path or None, clock=self._clock)
        for each in (model, settings.shadow):
            if each is not None:
                budget.check_price(each.model, each.endpoint.shown)
        return budget

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
                   self._options.case_id or given.get("RULITH_RESUME_CASE", "").strip(), has_model=read_model(given) is not None,
                   serves=serves(self._options, environ))

    def _new_talk(self, unread: UnreadOutcomes) -> Talk:
        """One conversation over this run's line, with this run's model."""
        assert self._line is not None and self._settings is not None
        settings = self._settings
        server = CallServer(self._line, Pins(settings.case_type, settings.business_key), unread, emit=self._emit)
        turns = Turns(self._line, self._client, server, unread, Conversation(settings.keep_messages), emit=self._emit,
                      max_rounds=settings.max_rounds)
        return Talk(turns, server, unread)

    async def serve(self, announce: Callable[[str], None]) -> RunResult:
        """Take tasks until told to end. `announce` is given the address with its key, once tasks are taken. Raises Refused, Mismatch."""
        assert self._line is not None and self._settings is not None and self._settings.serve is not None and self._settings.model is not None
        settings, how = self._settings, self._settings.serve
        service = Service(self._line, self._new_talk, OutcomeBook(self._told.log), Pins(settings.case_type, settings.business_key),
                          clock=self._clock, emit=self._told.emit, model_service=settings.model.endpoint.shown,
                          console=f"{settings.url}/console/", first_case=settings.case_id, limits=ServiceLimits(how.runs_max, how.slots_max))
        key = how.key or mint("", 32)
        door = Door(service, key)
        await door.listen(how.port)
        self._service = service
        try:
            await self._line.open()
            service.keep_in(self._open_history(settings))
            if self._options.task:
                service.submit(Task(self._options.task))
            announce(door.url if how.key else f"{door.url}/runs?k={key}")
            await service.run()
        finally:
            await door.close()
            service.close()
        if service.problem is not None:
            raise service.problem
        return RunResult("stopped", COMPLETED, "The service ended.")

    def _open_history(self, settings: Settings) -> Conversations | None:
        """The saved conversations of this Agent, and of no other. Raises Refused history_unusable."""
        assert self._line is not None
        if settings.history is None:
            return None
        agent_id, owner = self._line.session.agent_id, dict(settings.history.owner)
        if owner["agentId"] not in ("", agent_id):
            raise Refused("history_unusable", path=settings.history.folder, problem=f"it is kept for the Agent {owner['agentId']}, and this is {agent_id}")
        return Conversations.open(settings.history.folder, {**owner, "origin": owner["origin"] or settings.url, "agentId": agent_id}, clock=self._clock)

    def stop_serving(self) -> bool:
        """End the service, a turn under way with it; False while it does not serve yet."""
        if self._service is None or not self._service.is_taking:
            return False
        self._service.end()
        return True

    def unread_labels(self) -> list[str]:
        """Outcomes that no model has read, for the person."""
        return self.unread.left() if self._service is None else self._service.unread_labels()

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
            self._driver = BoardDriver(self._line, emit=self._emit)
            wanted = CaseWanted(settings.case_type, settings.business_key, settings.case_id)
            return _with_job(await self._driver.run(wanted), settings)
        self._watch = TurnWatch()
        if settings.case_id:
            await self._turns.focus(settings.case_id)
        turn = await self._turns.run(self._options.task, Policy.CONTINUE)
        result = self._result_of(turn)
        if settings.shadow is not None:
            result.facts["shadow"] = (await self._shadow(settings.shadow).review(self._options.task, turn.outcome)).document()
        return _with_job(result, settings)

    def _shadow(self, model: ModelSettings) -> Shadow:
        assert self._line is not None and self._watch is not None

        def tell(type_: str, **fields: object) -> None:
            if type_ != "model-delta":           # what the reviewer says is no answer to anybody
                self._emit(type_, **fields)

        client = ModelClient(self._http, model, clock=self._clock, emit=tell, meter=self._meter, memory=self._quirks)
        return Shadow(self._line, client, self._watch, self._clock, self._emit)

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
        if isinstance(problem, Refused) and problem.code == "budget_spent":
            result.outcome = "stuck"             # how a job stands, and no fault
        return self._as_far(result)

    def cut_off(self) -> RunResult:
        """The result of a run that was told to end in the middle."""
        return self._as_far(RunResult("stopped", TERMINATED, "The run was stopped."))

    def _as_far(self, result: RunResult) -> RunResult:
        """`result` with what the run had come to."""
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
            if refusal.code in TURN_FAILURES:
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


async def serve_to_end(run: AgentRun, announce: Callable[[str], None]) -> RunResult:
    """A service with its preparation and its end; bad news of every kind becomes a result."""
    try:
        await run.prepare()
        return await run.serve(announce)
    except (Refused, Mismatch) as problem:
        return run.broken_off(problem)
    finally:
        await asyncio.shield(run.end())


async def run_to_end(run: AgentRun) -> RunResult:
    """A one-shot with its preparation and its end; bad news of every kind becomes a result."""
    try:
        await run.prepare()
        return await run.one_shot()
    except (Refused, Mismatch) as problem:
        return run.broken_off(problem)
    finally:
        await asyncio.shield(run.end())
