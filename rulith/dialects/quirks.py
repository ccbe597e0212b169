"""What one model service was found to want or to do, apart from what its dialect says.

A wish is learned from a refusal whose words name it, and changes how the next request is
written. A habit is seen in replies; it changes nothing but is shown, so that whoever runs
the service knows why something was not run. A refusal that names none of these teaches
nothing: it is an error.

Source  the design, "Agent Runtime"; the surface, "Model transports"; public issue threads of services and clients
"""

from __future__ import annotations

import re
from collections.abc import Collection

from rulith.dialects import emulated

TOOLS_AS_TEXT, WHOLE_REPLIES, NO_STREAM_OPTIONS = "tools_as_text", "whole_replies", "no_stream_options"
COMPLETION_TOKENS, NO_EMPTY_CONTENT, NO_SYSTEM_ROLE = "max_completion_tokens", "no_empty_content", "no_system_role"
REASONING_REQUIRED, REASONING_REFUSED, PLAIN_SCHEMAS = "reasoning_required", "reasoning_refused", "plain_schemas"

WISHES = {
    TOOLS_AS_TEXT: "takes no tools: they stand in the prompt and are called in text",
    WHOLE_REPLIES: "streams no replies, or not its calls: each reply is asked for whole",
    NO_STREAM_OPTIONS: "does not take stream_options: usage of streamed replies may be missing",
    COMPLETION_TOKENS: "wants the output limit as max_completion_tokens",
    NO_EMPTY_CONTENT: "refuses calls without text beside them: a placeholder stands there",
    NO_SYSTEM_ROLE: "takes no system message: its text stands before the first message",
    REASONING_REQUIRED: "wants its reasoning back with every message of its own",
    REASONING_REFUSED: "refuses its own reasoning: it is not sent back",
    PLAIN_SCHEMAS: "takes simple schemas only: conditions are left to the Board",
}
HABITS = {
    "calls_on_one_index": "streams several calls under one index: they were told apart by id and name",
    "calls_without_ids": "gives calls no id",
    "ids_repeated": "gives different calls the same id",
    "calls_doubled": "sends a call twice over: the repetition is not run",
    "calls_cut": "breaks calls off and says that they are complete: such a call is not run",
    "arguments_as_object": "sends arguments as an object instead of text",
    "null_content": "sends null where text is expected",
    "reasoning": "sends reasoning, which goes back to it unread",
    "reasoning_in_text": "writes its reasoning into the text: that part is not shown",
    "error_in_success": "reports errors inside answers with status 200",
    "no_end_mark": "ends streams without saying why",
    "calls_as_words": "writes calls into its text, where they are not run: tools as text (RULITH_MODEL_TOOLS=emulated) may help",
    "busy": "was too busy and was asked again",
}
WORDS = {**WISHES, **HABITS}
_OPPOSITES = {REASONING_REQUIRED: REASONING_REFUSED, REASONING_REFUSED: REASONING_REQUIRED}

_DENIED = (r"(not (yet |currently )?(be )?(supported?|allowed|permitted|accepted|available|valid)|(does|do)(n['’]?t| not) support|unsupported"
           r"|unrecogni[sz]ed|unknown|unexpected|extra (inputs?|fields?)|invalid|must (not be|be false))")


def _both(subject: str, said: str = _DENIED) -> re.Pattern[str]:
    """`subject` and `said` in one text, in either order."""
    return re.compile(rf"(?=.*(?:{subject}))(?=.*(?:{said}))", re.I | re.S)


# In the order in which they are asked: the narrower word first.
_REFUSALS: tuple[tuple[str, re.Pattern[str]], ...] = (
    (NO_STREAM_OPTIONS, _both(r"(stream_options|include_usage)")),
    (COMPLETION_TOKENS, _both(r"max_completion_tokens", r"max_tokens")),
    (WHOLE_REPLIES, _both(r"(\bstream\b|\bstreaming\b)")),
    (REASONING_REQUIRED, _both(r"(reasoning|thinking)", r"(must be (passed|sent|returned) back|(is|are) missing|is required|must be preserved)")),
    (REASONING_REFUSED, _both(r"(reasoning(_content|_details)?\b|extra_content)")),
    (NO_SYSTEM_ROLE, _both(r"\bsystem\b.{0,20}\b(role|message|prompt|instruction)|\brole\b.{0,20}\bsystem\b")),
    (NO_EMPTY_CONTENT, _both(r"\bcontent\b", r"(\bnull\b|\bnone\b|nonetype|\bempty\b|non-?empty|\bblank\b|required|missing|must be a (valid )?string|valid string)")),
    (PLAIN_SCHEMAS, _both(r"(schema|additionalProperties|\$ref|oneOf|anyOf)")),
)
_STATUSES = (400, 422)
_BROKEN_INSIDE = (500, 501)            # some servers stumble over what others refuse
_STUMBLES = (NO_EMPTY_CONTENT, NO_SYSTEM_ROLE)


def learned_from(status: int, said: str, known: Collection[str]) -> str | None:
    """The wish that a refusal names and that is not followed yet, or None."""
    if status not in _STATUSES + _BROKEN_INSIDE:
        return None
    if TOOLS_AS_TEXT not in known and emulated.says_tools_unsupported(status, said):
        return TOOLS_AS_TEXT
    for quirk, words in _REFUSALS:
        if quirk not in known and (status in _STATUSES or quirk in _STUMBLES) and words.match(said[:4000]):
            return quirk
    return None


def with_quirk(known: Collection[str], quirk: str) -> frozenset[str]:
    return frozenset(known) - {_OPPOSITES.get(quirk, "")} | {quirk}


_AS_WORDS = re.compile(r"<tool_call>|<function=|<\|tool_call|^\s*(```json\s*)?\{\s*\"(tool|name|function|tool_calls)\"\s*:")


def says_call_in_words(text: str) -> bool:
    """Whether a reply without calls looks like one that was meant as a call."""
    return bool(_AS_WORDS.search(text[:4000]))


_TOO_LONG = re.compile(r"context[ _](length|window|size|limit)|maximum (prompt|context|input)|prompt is too long|too many (input )?tokens"
                       r"|input is too long|exceeds? the (available )?context|reduce the length|request (entity )?too large", re.I)


def says_too_long(status: int, said: str) -> bool:
    """Whether a refusal means: this conversation is longer than the model can take."""
    return status == 413 or (status in (400, 422, 500) and bool(_TOO_LONG.search(said[:4000])))


_NO_MONEY = re.compile(r"quota|billing|credit|balance|payment", re.I)


def says_busy(status: int, said: str) -> bool:
    """Whether asking again a little later may help. An empty account is not busy."""
    return status in (429, 503, 529) and not _NO_MONEY.search(said[:4000])


_BUSY_WORDS = re.compile(r"overloaded|rate.?limit|too many requests|temporarily|try again", re.I)


def is_busy_error(said: str) -> bool:
    """The same for an error inside an answer with status 200."""
    return bool(_BUSY_WORDS.search(said[:4000])) and not _NO_MONEY.search(said[:4000])
