"""The kinds of bad news, never merged.

Refused   the answer is no and nothing ran
Unknown   no answer came; the act may have run, and is never repeated
Mismatch  the two sides speak different contracts
A bug is an `assert`, loud and untranslated.
"""

from __future__ import annotations

from rulith.base.codes import CODES


class Refused(Exception):
    """The answer is no and nothing ran.

    code    stable; callers branch on it and on nothing else
    facts   the values named in the message; no secret belongs here
    """

    def __init__(self, code: str, **facts: object) -> None:
        happened, todo = CODES[code]
        self.code = code
        self.facts = facts
        self.happened = happened.format(**facts)
        self.next_step = todo.format(**facts)
        stop = "." if self.next_step and "\n" not in self.happened and self.happened[-1:] not in ".!?…" else ""
        super().__init__(f"{self.happened}{stop} {self.next_step}".strip())

    @property
    def teaching(self) -> str:
        return str(self)


class Unknown(Exception):
    """No answer came; the act may have run. `cause` says how the answer was lost."""

    def __init__(self, cause: str, detail: str = "") -> None:
        super().__init__(f"{cause}: {detail}" if detail else cause)
        self.cause = cause
        self.detail = detail


class Mismatch(Exception):
    """The peer speaks another contract; upgrading or downgrading one side helps, retrying does not."""
