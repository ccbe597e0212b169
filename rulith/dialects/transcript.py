"""The conversation as this product keeps it, before any provider's spelling.

A transcript is a list of entries: what the user said, what the model answered, what
its calls returned. Entries are built so that every provider accepts their replay: call
ids are ours and unique, names are safe, arguments are the text of one JSON object,
texts hold no lone surrogate. What a model really wrote survives only in `name` and in
the refusal that its call was answered with.

Knows nothing of HTTP, of tools that exist, or of the Board.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from rulith.base.errors import Refused

# Nine letters and digits satisfy every provider met so far; one of them accepts nothing else.
_CALL_ID = "c{:08d}"
_UNSAFE_IN_NAME = re.compile(r"[^a-zA-Z0-9_-]")
NAME_CHARS_MAX = 64


def clean_text(text: str) -> str:
    """`text` with lone surrogates and NUL replaced by U+FFFD, so that it has UTF-8 bytes everywhere."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").replace("\x00", "\ufffd")


def safe_name(name: str) -> str:
    """`name` as a provider accepts it in a replayed call."""
    return _UNSAFE_IN_NAME.sub("_", name)[:NAME_CHARS_MAX] or "unnamed"


class CallIds:
    """Mints the conversation's call ids: c00000001, c00000002, …"""

    def __init__(self) -> None:
        self._count = 0

    def mint(self) -> str:
        self._count += 1
        return _CALL_ID.format(self._count)


@dataclass(frozen=True)
class ProposedCall:
    """One tool call of a model, complete and judged.

    arguments   the object, when it is one and inside the number domain
    problem     else why not; the call is answered with it and never sent
    replayed    the text of one JSON object, whatever the model wrote
    extra       the provider's own continuation of this call, returned unread
    """

    id: str
    name: str
    arguments: dict | None
    problem: Refused | None = None
    replayed: str = "{}"
    extra: object = None

    def __post_init__(self) -> None:
        assert (self.arguments is None) != (self.problem is None), "a call is either judged good or refused"


@dataclass(frozen=True)
class UserEntry:
    text: str


@dataclass(frozen=True)
class ModelEntry:
    """`carry` is the provider's own continuation (reasoning), returned unread on later requests."""

    text: str
    calls: tuple[ProposedCall, ...] = ()
    carry: object = None


@dataclass(frozen=True)
class CallResult:
    call_id: str
    tool: str
    text: str
    is_error: bool = False


@dataclass(frozen=True)
class ResultsEntry:
    results: tuple[CallResult, ...]


Entry = UserEntry | ModelEntry | ResultsEntry


@dataclass(frozen=True)
class Usage:
    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_input_tokens: int | None = None
    uncached_input_tokens: int | None = None


@dataclass(frozen=True)
class Reply:
    """One reply of a model.

    stop     `said`: take text and calls; `truncated`, `empty`, `declined`: take nothing,
             execute nothing
    habits   what was odd about it, in the words of `quirks`
    """

    text: str
    calls: tuple[ProposedCall, ...] = ()
    carry: object = None
    stop: str = "said"
    usage: Usage = field(default_factory=Usage)
    habits: frozenset[str] = frozenset()

    def entry(self) -> ModelEntry:
        return ModelEntry(self.text, self.calls, self.carry)


def assert_replayable(entries: Iterable[Entry]) -> None:
    """Every call is answered once, by the entry right after it; a bug otherwise."""
    open_ids: list[str] = []
    for entry in entries:
        if isinstance(entry, ResultsEntry):
            assert [result.call_id for result in entry.results] == open_ids, "results do not answer the calls"
            open_ids = []
            continue
        assert not open_ids, f"calls {open_ids} have no result"
        if isinstance(entry, ModelEntry):
            open_ids = [call.id for call in entry.calls]
    assert not open_ids, f"calls {open_ids} have no result"
