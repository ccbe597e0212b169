"""Fuzzed conversations with the lab: the real turn loop, a Board that counts what ran, and what must hold after each turn.

A conversation has one service with its wishes and some turns; a turn some rounds with a
fault each, drawn from the seed; some turns are stopped by the person. After each turn the
person says one plain thing: the conversation lives when that is answered.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random

from rulith.base.clock import ManualClock, SystemClock
from rulith.base.errors import Refused
from rulith.dialects.endpoint import endpoint_of
from rulith.net.client import HttpClient
from rulith.runtime.calls import CallServer, Pins
from rulith.runtime.conversation import Conversation
from rulith.runtime.line import BoardLine
from rulith.runtime.model import ModelClient, Patience
from rulith.runtime.session import Reach
from rulith.runtime.settings import ModelSettings
from rulith.runtime.turns import Policy, Turns
from rulith.runtime.unread import UnreadOutcomes
from tests.quirks.drafts import ANTHROPIC, OPENAI
from tests.quirks.faults import ALL, AS_TEXT_FAULTS, BUT_LAST, ERROR, FAULTS, LIMIT, ON, TEXT, fits, meant
from tests.quirks.lab import Lab, Round, Wishes
from tests.runtime.scripted_gateway import CUT, TOKEN, Arrived, Say, ScriptedGateway, strip_row

ACTION = "fuzz.act"
TURNS_EACH = 12                    # in one conversation
TURNS_NARROW = 4                   # where faults or wishes are named: many services soon
SILENCE_S = 3.0                    # long enough for a busy machine, and waited for in full only where a service falls silent
_HTTP_FAILURES = {"model_refused", "model_broke_off", "model_unreachable", "model_reply_unreadable", "model_too_long"}


class CountingBoard:
    """Applies each effect it is asked for and counts it; `lost` are those whose answer never arrives."""

    def __init__(self, effects: dict[str, int], pad: int) -> None:
        self.effects = effects
        self.lost: set[str] = set()
        self.refused: set[str] = set()
        self.on_call: Callable[[], None] | None = None
        self.was_left = False                # a call was answered and nobody waited
        self._pad = "x" * pad
        self._strip: list[dict] = []
        self._count = 0

    def __call__(self, call: Arrived) -> object:
        if call.tool == "QueryBoard":
            return self._say({"accepted": True, "view": self._view(), "observation": {"consistency": "committed"}})
        if self.on_call is not None:
            self.was_left = True
            self.on_call()
        self._count += 1
        at = f"2026-10-03T{8 + self._count // 3600:02d}:{self._count // 60 % 60:02d}:{self._count % 60:02d}.000Z"
        effect = str(call.arguments.get("args", {}).get("effect"))
        if effect in self.refused:
            self._strip.insert(0, strip_row("ApplyAction", "refused", label=f"ApplyAction {ACTION}", at=at, reason="not now"))
            return self._say({"accepted": False, "errorCode": "precondition_not_met", "teaching": "Not now.", "view": self._view()}, is_error=True)
        self.effects[effect] = self.effects.get(effect, 0) + 1
        self._strip.insert(0, strip_row("ApplyAction", "done", label=f"ApplyAction {ACTION}", at=at, summary="confirmed"))
        if effect in self.lost:
            return CUT
        return self._say({"accepted": True, "view": self._view(),
                          "result": {"action": ACTION, "done": True, "status": "confirmed", "ok": True}})

    def _say(self, body: dict, *, is_error: bool = False) -> Say:
        return Say({**body, "operations": self._strip[:5]}, is_error=is_error)

    def _view(self) -> dict:
        return {"position": {"writes": "open", "newCases": "open", "rules": "rules_and_actions"}, "roots": [], "gaps": [], "nodes": [],
                "cases": {"directory": [], "total": 0}, "actions": [], "total": 0, "taskStatus": {}, "note": self._pad}


@dataclass
class Told:
    """What a run came to."""

    turns: int = 0
    faults: Counter = field(default_factory=Counter)
    outcomes: Counter = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    requests: int = 0
    learned: Counter = field(default_factory=Counter)
    effects: int = 0

    def add(self, other: Told) -> None:
        self.turns += other.turns
        self.requests += other.requests
        self.effects += other.effects
        self.faults.update(other.faults)
        self.outcomes.update(other.outcomes)
        self.learned.update(other.learned)
        self.failures.extend(other.failures)


@dataclass(frozen=True)
class Service:
    """One conversation's circumstances."""

    wire: str
    wishes: Wishes
    in_text: bool
    keep: int
    board_fails: bool
    pad: int = 0


def draw_service(rng: Random, wire: str, only: Sequence[str] = (), in_text: bool = False) -> Service:
    names = ["tools", "stream", "schemas", "history"]
    if wire == OPENAI:
        names += ["stream_options", "limit_name", "empty_content", "system", rng.choice(["reasoning_refused", "reasoning_required"])]
    wanted = {name: "yes" for name in names if (rng.random() < 0.15 if not only else name in only)}
    short = rng.random() < 0.15 or "bytes_max" in only
    return Service(wire, Wishes(**wanted, bytes_max=14_000 if short else 0), in_text=rng.random() < 0.15 or in_text, keep=rng.choice([4, 10, 24]),
                   board_fails=rng.random() < 0.2, pad=1_500 if short else 0)


class Conversing:
    """One conversation of the fuzz. `only`: the faults it may draw; `steps`: rounds with calls per turn."""

    def __init__(self, service: Service, rng: Random, label: str, only: Sequence[str] = ()) -> None:
        self.service = service
        self.told = Told()
        self._rng = rng
        self._label = label
        self._only = only
        self._count = rng.randrange(10_000, 90_000)
        self._clock = ManualClock(1_800_000_000.0, 0.0)

    async def run(self, turns: int) -> Told:
        rng, service = self._rng, self.service
        async with Lab(service.wire, service.wishes, rng) as lab:
            board = CountingBoard(lab.effects, service.pad)
            async with ScriptedGateway(board) as gateway:
                await self._converse(lab, board, gateway, turns)
            self.told.requests = lab.requests
            self.told.effects = sum(lab.effects.values())
            self._fail_if(lab.untrue, "told otherwise than it was")
            self._fail_if([effect for effect, ran in lab.effects.items() if ran > 1], "ran twice")
        return self.told

    async def _converse(self, lab: Lab, board: CountingBoard, gateway: ScriptedGateway, turns: int) -> None:
        http = HttpClient(SystemClock(), environ={})
        line = BoardLine(http, Reach(gateway.url, TOKEN, 5.0, 0.0), clock=SystemClock(), emit=self._heard, log=lambda text: None)
        settings = ModelSettings(endpoint_of(lab.url), "m", "k", LIMIT, self.service.in_text)
        model = ModelClient(http, settings, clock=SystemClock(), emit=self._heard, patience=Patience(20.0, SILENCE_S, 60.0), sleep=self._no_sleep)
        unread = UnreadOutcomes()
        talk = Turns(line, model, CallServer(line, Pins(), unread, emit=self._heard), unread, Conversation(self.service.keep), emit=self._heard,
                     max_rounds=self._rng.choice([3, 6]))
        try:
            await line.open()
            for _ in range(turns):
                await self._turn(lab, board, talk)
                if self.told.failures:
                    return
        finally:
            await line.close()
            await http.close()

    async def _no_sleep(self, seconds: float) -> None:
        self._clock.advance(seconds)

    def _heard(self, type_: str, **fields: object) -> None:
        if type_ == "model-card" and "new" in fields:
            self.told.learned[fields["new"]["id"]] += 1

    # one turn

    async def _turn(self, lab: Lab, board: CountingBoard, talk: Turns) -> None:
        self.told.turns += 1
        plan = [self._round(with_calls=True) for _ in range(self._rng.randrange(0, 3))] + [self._round(with_calls=False)]
        if self.service.board_fails and len(plan) > 1 and self._rng.random() < 0.3:
            effects = [given["args"]["effect"] for planned in plan for name, given in planned.calls if name == "ApplyAction"]
            (board.lost if self._rng.random() < 0.5 else board.refused).update(effects[:1])
        lab.plan = list(plan)
        is_stopped = self._rng.random() < 0.08 and not self._only
        outcome = await (self._stopped(lab, board, talk) if is_stopped else self._say(talk, "Please go on."))
        self.told.outcomes[outcome] += 1
        if not is_stopped:
            self._check(lab, board, plan, outcome)
        elif outcome.startswith("a bug"):
            self._fail(plan, f"stopped: ended as {outcome}")
        mark = self._mark("m")
        lab.plan = [Round(f"{mark} here I am", [], FAULTS["plain"])]
        again = await self._say(talk, "Are you there?")
        if again != "conversation" or mark not in self._text:
            self._fail(plan, f"dead: a plain message came to {again}")
        self._fail_if(lab.violations, "a strict provider refuses it", plan)

    async def _stopped(self, lab: Lab, board: CountingBoard, talk: Turns) -> str:
        """A turn that the person stops: at a request to the model, or while a call is with the Board."""
        turn = asyncio.ensure_future(self._say(talk, "Please go on."))
        left = self._rng.randrange(0, 3)

        def stop() -> None:
            nonlocal left
            left -= 1
            if left < 0:
                turn.cancel()

        with_model = self._rng.random() < 0.5
        lab.on_request, board.on_call = (stop, None) if with_model else (None, stop)
        try:
            return await turn
        except asyncio.CancelledError:
            return "a bug: the turn did not take its stop"
        finally:
            lab.on_request = board.on_call = None

    async def _say(self, talk: Turns, words: str) -> str:
        self._text = ""
        try:
            result = await talk.run(words, Policy.RETURN)
        except Refused as refusal:
            return refusal.code
        except Exception as problem:     # a bug ends the conversation, and is told with the others
            return f"a bug: {problem!r}"
        self._text = result.text
        return result.outcome

    def _round(self, *, with_calls: bool) -> Round:
        rng = self._rng
        calls: list[tuple[str, dict]] = []
        if with_calls:
            for _ in range(rng.randrange(1, 4)):
                if rng.random() < 0.15:
                    calls.append(("QueryBoard", {}))
                calls.append(("ApplyAction", {"action": ACTION, "args": {"effect": self._mark("e")}}))
        text = f"{self._mark('m')} {rng.choice(['ok', 'Größe → fine', 'so it is'])}" if rng.random() < 0.8 or not with_calls else ""
        return Round(text, calls, self._fault(with_calls))

    def _fault(self, with_calls: bool):
        rng = self._rng
        pool = [fault for fault in [*FAULTS.values(), *AS_TEXT_FAULTS.values()]
                if (not fault.calls or (fault.calls == "some") == with_calls) and (not self._only or fault.name in self._only)
                and self.service.wire in fault.wires and (fault.name not in AS_TEXT_FAULTS or self.service.in_text)]
        if not pool or (not self._only and rng.random() < 0.25):
            return FAULTS["plain"]
        fault = rng.choices(pool, [3 if fault.form == "whole" or fault.name in AS_TEXT_FAULTS else 1 for fault in pool])[0]      # the rarer ones
        return FAULTS["plain"] if fault.name == "silence" and rng.random() < 0.8 and not self._only else fault

    def _mark(self, letter: str) -> str:
        self._count += 1
        return f"{letter}{self._count}"

    # what must hold

    def _check(self, lab: Lab, board: CountingBoard, plan: Sequence[Round], outcome: str) -> None:
        """Every round that was served ran what it had to and nothing else, and the turn ended as its fault says."""
        board_failed = bool(board.lost or board.refused or board.was_left)
        for place, planned in enumerate(plan):
            if not planned.is_done:
                break
            self.told.faults.update(planned.met)
            runs, ends = meant(planned.fault, lab.wire, planned.in_text)
            self._check_effects(lab, plan, planned, runs, strict=not board_failed)
            if ends != ON or not planned.calls or planned.served == 0:
                wanted = "conversation" if ends in (ON, TEXT) else ERROR if ends == ERROR else ends
                if outcome != wanted:
                    self._fail(plan[:place + 1], f"{planned.fault.name}: ended as {outcome}, meant {wanted}")
                return
        if outcome not in ("conversation", "stopped", "waiting"):
            self._fail(plan, f"ended as {outcome}")

    def _check_effects(self, lab: Lab, plan: Sequence[Round], planned: Round, runs: str, *, strict: bool) -> None:
        served = planned.calls[:planned.served] if planned.served <= len(planned.calls) else planned.calls
        must = served if runs == ALL else served[:-1] if runs == BUT_LAST else []
        for call in planned.calls:
            if call[0] != "ApplyAction":
                continue
            ran = lab.effects.get(call[1]["args"]["effect"], 0)
            is_meant = call in must
            if ran and not is_meant:
                self._fail(plan, f"{planned.fault.name}: ran what must not run")
            if strict and is_meant and not ran:
                self._fail(plan, f"{planned.fault.name}: did not run")

    def _fail(self, plan: Sequence[Round], problem: str) -> None:
        rounds = [f"{planned.fault.name.strip()} ({len(planned.calls)} calls, {'stream' if planned.is_stream else 'whole'}"
                  f"{', in text' if planned.in_text else ''})" for planned in plan]
        wishes = {name: value for name, value in vars(self.service.wishes).items() if value}
        self.told.failures.append(f"{self._label} {self.service.wire} {wishes} [{'; '.join(rounds)}] {problem}")

    def _fail_if(self, found: Sequence[str], problem: str, plan: Sequence[Round] = ()) -> None:
        if found:
            self._fail(plan, f"{problem}: {list(found)[:2]}")


async def play(seed: int, turns: int, *, first: int = 0, only: Sequence[str] = (), wishes: Sequence[str] = (), in_text: bool = False,
               stop: bool = False) -> Told:
    """Fuzzed conversations until `turns` turns were held. Conversation n of a seed is always the same."""
    told, number, each = Told(), first, TURNS_NARROW if only or wishes or in_text else TURNS_EACH
    while told.turns < turns:
        rng = Random(f"{seed}/{number}")
        held = Conversing(draw_service(rng, (OPENAI, ANTHROPIC)[number % 2], wishes, in_text), rng, f"seed {seed}/{number}", only)
        told.add(await held.run(min(each, turns - told.turns)))
        number += 1
        if stop and told.failures:
            break
    return told
