"""A log of lines that hold no secret: every value that was named one is written as [secret].

Two forms of the same line: text for a person at a terminal, JSON (one object a line) for a
collector. What is redacted is the value wherever it stands, in a field, in a sentence or in
a traceback, also as JSON and percent-encoded text would spell it; a log that only knows
field names lets it pass in a sentence. A value is kept as long as the process lives.

Writing never fails: a full disk or a closed stream loses the line, not the caller.

Units   `at` is an RFC 3339 stamp, UTC
"""

from __future__ import annotations

import json
import re
import traceback
from collections.abc import Callable, Mapping
from typing import TextIO
from urllib.parse import quote

from rulith.base.clock import Clock, stamp
from rulith.base.errors import Refused
from rulith.base.plain_text import plain

MASK = "[secret]"
SECRET_CHARS_MIN = 8         # shorter values would blot out ordinary words
LINE_CHARS_MAX = 8_000
FORMS = ("text", "json")


def read_log_form(environ: Mapping[str, str]) -> str:
    """RULITH_LOG: text (the default) or json. Raises Refused log_form."""
    form = environ.get("RULITH_LOG") or FORMS[0]
    if form not in FORMS:
        raise Refused("log_form", form=form[:40])
    return form


class SecretRegistry:
    """The values that no line may hold."""

    def __init__(self) -> None:
        self._values: set[str] = set()
        self._pattern: re.Pattern[str] | None = None

    def add(self, *values: str | None) -> None:
        """Never write these again. Empty and very short ones are left alone."""
        for value in values:
            if value and len(value) >= SECRET_CHARS_MIN:
                spelled = {json.dumps(value, ensure_ascii=pure)[1:-1] for pure in (True, False)}
                self._values |= {value, quote(value, safe=""), *spelled}
                self._pattern = None

    def clean(self, text: str) -> str:
        if not self._values:
            return text
        if self._pattern is None:       # the longest first, so that no part of one is left standing
            self._pattern = re.compile("|".join(map(re.escape, sorted(self._values, key=lambda each: (-len(each), each)))))
        return self._pattern.sub(MASK, text)


class Log:
    """Lines about one process. `secrets` may be shared by several logs."""

    def __init__(self, stream: Callable[[], TextIO], clock: Clock, *, role: str, form: str = "text",
                 secrets: SecretRegistry | None = None) -> None:
        self.secrets = secrets or SecretRegistry()
        self._stream = stream
        self._clock = clock
        self._role = role
        self._form = form

    def info(self, event: str, text: str, **facts: object) -> None:
        self._write("info", event, text, facts)

    def warn(self, event: str, text: str, **facts: object) -> None:
        self._write("warning", event, text, facts)

    def bug(self, problem: BaseException) -> None:
        """An exception that nobody foresaw, with its traceback: for us, never for a client."""
        trace = "".join(traceback.format_exception(type(problem), problem, problem.__traceback__))
        self._write("error", "bug", trace if self._form == "text" else f"{type(problem).__name__}: {problem}", {"trace": trace})

    def _write(self, level: str, event: str, text: str, facts: dict[str, object]) -> None:
        at = stamp(self._clock.wall_s())
        if self._form == "json":
            row = {"at": at, "level": level, "role": self._role, "event": event, "text": text[:LINE_CHARS_MAX],
                   **{name: value if isinstance(value, (int, float, bool)) or value is None else str(value)[:LINE_CHARS_MAX]
                      for name, value in facts.items()}}
            line = self.secrets.clean(json.dumps(row, ensure_ascii=False))
        else:
            cleaned = self.secrets.clean(text[:LINE_CHARS_MAX]).rstrip("\n")
            line = f"{at} {level} {event}: " + "\n".join(map(plain, cleaned.split("\n")))
        try:
            out = self._stream()
            out.write(line + "\n")
            out.flush()
        except (OSError, ValueError):
            pass
