"""What a model's tokens cost, from a table file of this machine; nothing is looked up anywhere.

A model that the table does not name has no known price, and nothing guesses one: under a
money cap it is not asked. A local model that costs nothing has a row of zeros.

Units   prices per million tokens, in the table's own currency
Source  the design, "budgets"
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path

from rulith.base.errors import Refused
from rulith.base.limits import PRICE_ROWS_MAX, SETTINGS_BYTES_MAX
from rulith.disk.atomic import read_json

FORMAT = "rulith-prices/1"
MILLION = Decimal(1_000_000)
_MEMBERS = {"model", "address", "input", "output", "cachedInput"}


@dataclass(frozen=True)
class Price:
    """`cached_input` is what input costs that the service had seen before; never more is reserved than for fresh input."""

    input: Decimal
    output: Decimal
    cached_input: Decimal

    def cost(self, input_tokens: int, output_tokens: int, cached_tokens: int = 0) -> Decimal:
        fresh = max(input_tokens - cached_tokens, 0)
        return (fresh * self.input + cached_tokens * self.cached_input + output_tokens * self.output) / MILLION

    def most(self, input_tokens: int, output_tokens: int) -> Decimal:
        """What it can cost at most, whatever was cached."""
        return (input_tokens * max(self.input, self.cached_input) + output_tokens * self.output) / MILLION


@dataclass(frozen=True)
class PriceTable:
    path: str
    currency: str
    rows: tuple[tuple[str, str, Price], ...]      # model, address or "", price

    def price_of(self, model: str, address: str) -> Price | None:
        """The row of this model at this address, else of this model anywhere."""
        named = [(where, price) for name, where, price in self.rows if name == model and where in ("", address)]
        return max(named, key=lambda row: len(row[0]))[1] if named else None


def read_prices(path: Path | str) -> PriceTable:
    """Raises Refused: prices_refused, and what reading a settings file refuses."""
    value = read_json(path, SETTINGS_BYTES_MAX)

    def refuse(problem: str) -> Refused:
        return Refused("prices_refused", path=str(path), problem=problem)

    if not isinstance(value, dict) or value.get("format") != FORMAT:
        raise refuse(f"its format is not {FORMAT}")
    unknown = sorted(set(value) - {"format", "currency", "models"})
    if unknown:
        raise refuse(f"there is no member {unknown[0][:60]!r}")
    currency, rows = value.get("currency"), value.get("models")
    if not isinstance(currency, str) or not 1 <= len(currency) <= 16:
        raise refuse("currency is not a short text")
    if not isinstance(rows, list) or len(rows) > PRICE_ROWS_MAX:
        raise refuse(f"models is not a list of at most {PRICE_ROWS_MAX} rows")
    found: list[tuple[str, str, Price]] = []
    for number, row in enumerate(rows, 1):
        if not isinstance(row, dict) or set(row) - _MEMBERS or not isinstance(row.get("model"), str) \
                or not isinstance(row.get("address", ""), str):
            raise refuse(f"row {number} has other members than model, address, input, output, cachedInput")
        prices = {name: _amount(row.get(name)) for name in ("input", "output", "cachedInput") if name in row}
        if {"input", "output"} - set(prices) or None in prices.values():
            raise refuse(f"row {number} needs input and output, each zero or more per million tokens")
        if any(each[:2] == (row["model"], row.get("address", "")) for each in found):
            raise refuse(f"row {number} repeats the model {row['model'][:60]!r}")
        found.append((row["model"], row.get("address", ""),
                      Price(prices["input"], prices["output"], prices.get("cachedInput", prices["input"]))))
    return PriceTable(str(path), currency, tuple(found))


def _amount(value: object) -> Decimal | None:
    """A price: a number or its text, finite and not negative."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        amount = Decimal(str(value))
    except InvalidOperation:
        return None
    return amount if amount.is_finite() and 0 <= amount <= MILLION else None
