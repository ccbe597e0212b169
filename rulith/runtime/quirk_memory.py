"""What is known of each model service, kept from run to run for a while.

It saves the refusals that taught it and holds nothing that could not be learned again, so
a damaged file is begun anew. After some days a service is tried as its dialect says: it
may have been mended.

Source  the design, "per-endpoint memory of quirks"
"""

from __future__ import annotations

from pathlib import Path

from rulith.base.clock import Clock
from rulith.base.errors import Refused
from rulith.base.limits import MODEL_HABITS_DAYS, MODEL_SERVICES_MAX
from rulith.dialects.quirks import WORDS, with_quirk
from rulith.disk.atomic import read_json, write_json

FORMAT = "rulith-model-quirks/1"
_DAY_S = 86_400


class QuirkMemory:
    """Quirks by address and model; in a file where a path is given, else for this process."""

    def __init__(self, path: Path | None, *, clock: Clock) -> None:
        self._path = path
        self._clock = clock
        self._rows: dict[tuple[str, str], dict[str, int]] = {}
        self._seen: tuple[int, int, int] | None = None       # of the file as it was read, and the day

    def known(self, address: str, model: str) -> frozenset[str]:
        self._read()
        return frozenset(self._rows.get((address, model), {}))

    def learn(self, address: str, model: str, quirk: str) -> None:
        self._read()
        row = self._rows.pop((address, model), {})
        kept = with_quirk(row, quirk)
        today = int(self._clock.wall_s() // _DAY_S)
        self._rows[address, model] = {name: row.get(name, today) for name in sorted(kept)}
        while len(self._rows) > MODEL_SERVICES_MAX:
            del self._rows[next(iter(self._rows))]
        self._write()

    def _read(self) -> None:
        """What the file says now: other runs learn too."""
        today = int(self._clock.wall_s() // _DAY_S)
        try:
            now = self._path.stat() if self._path is not None else None
        except OSError:
            now = None
        if now is None or self._seen == (now.st_mtime_ns, now.st_size, today):
            return
        self._seen = (now.st_mtime_ns, now.st_size, today)
        try:
            value = read_json(self._path)
        except Refused:
            return
        rows = value.get("services") if isinstance(value, dict) and value.get("format") == FORMAT else None
        if not isinstance(rows, list):
            return
        oldest = today - MODEL_HABITS_DAYS
        for row in rows[:MODEL_SERVICES_MAX]:
            days = row.get("days") if isinstance(row, dict) else None
            if isinstance(days, dict) and isinstance(row.get("address"), str) and isinstance(row.get("model"), str):
                self._rows[row["address"], row["model"]] = {
                    name: day for name, day in days.items() if name in WORDS and isinstance(day, int) and day >= oldest}

    def _write(self) -> None:
        if self._path is None or not self._path.parent.is_dir():
            return
        rows = [{"address": address, "model": model, "days": days} for (address, model), days in self._rows.items()]
        try:
            write_json(self._path, {"format": FORMAT, "services": rows})
        except Refused:
            return                       # a full disk ends no conversation
