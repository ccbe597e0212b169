"""Budgets: how many calls, tokens and how much money a model may use, reserved before each call.

A call is charged the most it can cost before it is sent, on the disk where the budget is
for longer than one run; what it really used replaces that afterwards. A call whose answer
was lost, a service that reports no usage, a process that was killed: the reservation stays
spent. So a cap is reached early rather than passed; only a service that uses more than it was
allowed can pass it, and what it says it used is what counts. One budget serves everything
that asks a model in this run.

Units   tokens as the service counts them; a request of n bytes has at most n of them
Source  the design, "budgets"
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Protocol

from rulith.base.clock import Clock, stamp
from rulith.base.errors import Refused
from rulith.base.limits import BUDGET_LOCK_WAIT_S
from rulith.dialects.transcript import Usage
from rulith.disk.atomic import make_folder, read_json, write_json
from rulith.disk.locks import take_lock
from rulith.runtime.prices import Price, PriceTable

FORMAT = "rulith-budget/1"
PERIODS = {"run": 0, "day": 10, "month": 7}      # how much of a stamp names the period
_COUNTS = ("rounds", "tokens")


@dataclass(frozen=True)
class Caps:
    """What may be used in one period; None is without end."""

    rounds: int | None = None
    tokens: int | None = None
    money: Decimal | None = None
    per: str = "day"


def read_caps(text: str, where: str) -> Caps | None:
    """`rounds=40,tokens=200000,money=1.50,per=day`, any of them; None for an empty text. Raises Refused setting_refused."""
    found: dict[str, object] = {}
    for part in (piece.strip() for piece in text.split(",")):
        if not part:
            continue
        name, _, value = (piece.strip() for piece in part.partition("="))
        if name in found:
            raise _refuse(where, text, f"{name[:40]} is given twice")
        if name in _COUNTS and value.isascii() and value.isdigit() and len(value) <= 15:
            found[name] = int(value)
        elif name == "per" and value in PERIODS:
            found[name] = value
        elif name == "money" and (amount := _money(value)) is not None:
            found[name] = amount
        else:
            raise _refuse(where, text, f"{part[:60]!r} is none of rounds=N, tokens=N, money=AMOUNT, per={'|'.join(PERIODS)}")
    if not set(found) - {"per"}:
        if found:
            raise _refuse(where, text, "it limits nothing")
        return None
    return Caps(**found)      # type: ignore[arg-type]


def _refuse(where: str, text: str, problem: str) -> Refused:
    return Refused("setting_refused", name=where, value=text[:200], problem=problem)


def _money(text: str) -> Decimal | None:
    try:
        amount = Decimal(text)
    except InvalidOperation:
        return None
    return amount if amount.is_finite() and 0 <= amount <= 10 ** 9 else None


@dataclass(frozen=True)
class Amounts:
    rounds: int = 0
    tokens: int = 0
    money: Decimal = Decimal(0)

    def plus(self, more: Amounts, sign: int = 1) -> Amounts:
        return Amounts(max(self.rounds + sign * more.rounds, 0), max(self.tokens + sign * more.tokens, 0),
                       max(self.money + sign * more.money, Decimal(0)))


@dataclass(frozen=True)
class Hold:
    """One call's reservation."""

    amounts: Amounts
    period: str = ""
    price: Price | None = None


class Meter(Protocol):
    """Asked before and told after each request to a model."""

    def reserve(self, model: str, address: str, request_bytes: int, max_output_tokens: int) -> Hold: ...
    def settle(self, hold: Hold, usage: Usage | None) -> None: ...
    def release(self, hold: Hold) -> None: ...


class Unlimited:
    """The meter of a run without a budget."""

    def reserve(self, model: str, address: str, request_bytes: int, max_output_tokens: int) -> Hold:
        return Hold(Amounts())

    def settle(self, hold: Hold, usage: Usage | None) -> None:
        """Nothing is counted."""

    def release(self, hold: Hold) -> None:
        """Nothing was held."""


class Budget:
    """A meter with caps. Several runs may share its file; each change is made under its lock."""

    def __init__(self, caps: Caps, prices: PriceTable | None, path: Path | str | None, *, clock: Clock) -> None:
        """`path` keeps what was used across runs; None only with `per=run`."""
        assert path is not None or caps.per == "run"
        self._caps = caps
        self._prices = prices
        self._path = Path(path) if path is not None and caps.per != "run" else None
        self._clock = clock
        self._here = Amounts()

    def check_price(self, model: str, address: str) -> None:
        """Raises Refused price_unknown where a money cap cannot be kept."""
        self._price(model, address)

    def reserve(self, model: str, address: str, request_bytes: int, max_output_tokens: int) -> Hold:
        """Charge the most that the call can use. Raises Refused budget_spent, price_unknown, budget_unusable."""
        price = self._price(model, address)
        money = Decimal(0) if price is None else price.most(request_bytes, max_output_tokens)
        wanted = Amounts(1, request_bytes + max_output_tokens, money)
        return replace(self._change(wanted, None), price=price)

    def settle(self, hold: Hold, usage: Usage | None) -> None:
        """Put what the call really used in place of its reservation; what is not told stays reserved."""
        if usage is None or usage.input_tokens is None or usage.output_tokens is None:
            return
        money = Decimal(0) if hold.price is None else hold.price.cost(
            usage.input_tokens, usage.output_tokens, usage.cached_input_tokens or 0)
        self._change(Amounts(1, usage.input_tokens + usage.output_tokens, money), hold)

    def release(self, hold: Hold) -> None:
        """Give a reservation back: nothing was sent, or the service refused it whole."""
        self._change(Amounts(), hold)

    @property
    def used(self) -> Amounts:
        return self._read(self._period())

    def _price(self, model: str, address: str) -> Price | None:
        if self._caps.money is None:
            return None
        price = None if self._prices is None else self._prices.price_of(model, address)
        if price is None:
            table = "no price table is given" if self._prices is None else f"{self._prices.path} does not name it"
            raise Refused("price_unknown", model=model, problem=table)
        return price

    def _period(self) -> str:
        return stamp(self._clock.wall_s())[:PERIODS[self._caps.per]]

    def _change(self, now: Amounts, instead_of: Hold | None) -> Hold:
        """Add `now`, in place of a reservation where one is given. A reservation of a period that is over is left to it."""
        if self._path is None:
            return self._changed(now, instead_of, "")
        make_folder(self._path.parent)
        with take_lock(f"{self._path}.lock", "budget", wait_s=BUDGET_LOCK_WAIT_S):
            return self._changed(now, instead_of, self._period())

    def _changed(self, now: Amounts, instead_of: Hold | None, period: str) -> Hold:
        used = self._read(period)
        if instead_of is None:
            self._check(used, now, period)
        elif instead_of.period != period:
            return instead_of
        else:
            used = used.plus(instead_of.amounts, -1)
        self._write(period, used.plus(now))
        return Hold(now, period)

    def _check(self, used: Amounts, wanted: Amounts, period: str) -> None:
        for name in ("rounds", "tokens", "money"):
            cap, so_far, more = getattr(self._caps, name), getattr(used, name), getattr(wanted, name)
            if cap is not None and so_far + more > cap:
                unit = f" {self._prices.currency}" if name == "money" and self._prices is not None else ""
                raise Refused("budget_spent", what=name, cap=f"{cap}{unit}", used=f"{_short(so_far)}{unit}", need=f"{_short(more)}{unit}",
                              per=self._caps.per)

    def _read(self, period: str) -> Amounts:
        if self._path is None:
            return self._here
        if not self._path.exists():
            return Amounts()
        value = read_json(self._path)
        row = value.get("used") if isinstance(value, Mapping) and value.get("format") == FORMAT else None
        if not isinstance(row, Mapping):
            raise Refused("budget_unusable", path=str(self._path), problem=f"its format is not {FORMAT}")
        if value.get("period") != period:
            return Amounts()
        counts = [row.get(name) for name in _COUNTS]
        money = _money(str(row.get("money")))
        if money is None or any(not isinstance(each, int) or isinstance(each, bool) or each < 0 for each in counts):
            raise Refused("budget_unusable", path=str(self._path), problem="its amounts cannot be read")
        return Amounts(*counts, money)      # type: ignore[arg-type]

    def _write(self, period: str, used: Amounts) -> None:
        self._here = used
        if self._path is not None:
            write_json(self._path, {"format": FORMAT, "period": period, "used": {
                "rounds": used.rounds, "tokens": used.tokens, "money": str(used.money)}})


def _short(amount: int | Decimal) -> str:
    return str(amount) if isinstance(amount, int) else f"{amount:.6f}".rstrip("0").rstrip(".")
