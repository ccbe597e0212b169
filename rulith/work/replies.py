"""What one answer of the gateway means to a Worker, whatever the operation.

Four meanings and no fifth: accepted, denied (certain), silent (nothing certain was said),
rejected (the credential). Pure: takes a status and a body, or None for no answer.

Source  protocol/worker-contract.json, "answers".
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from rulith.base.errors import Refused
from rulith.base.json_text import read_json

_TEACHING_CHARS_MAX = 400        # a peer's prose is quoted, never trusted to be short
_VERSION = re.compile(r"(?:0|[1-9][0-9]{0,8})(?:\.(?:0|[1-9][0-9]{0,8})){2}", re.ASCII)


@dataclass(frozen=True)
class Accepted:
    body: Mapping[str, object] = field(repr=False)


@dataclass(frozen=True)
class Denied:
    """A certain no. `code` is None where a 4xx status says no without naming one."""

    code: str | None
    status: int
    teaching: str = ""


@dataclass(frozen=True)
class Silent:
    """No certain answer: a transport error, 429, 5xx, or a body that cannot be read."""

    why: str


@dataclass(frozen=True)
class Rejected:
    """401: this process's credential is not accepted.

    wanted  the release the gateway asks for, when it is a valid version
    """

    reason: str = ""
    teaching: str = ""
    wanted: str | None = None


Reply = Accepted | Denied | Silent | Rejected


def flat(text: object, chars_max: int = _TEACHING_CHARS_MAX) -> str:
    """A peer's text on one line, without control or format characters, cut."""
    if not isinstance(text, str):
        return ""
    return "".join(letter if letter.isprintable() else " " for letter in text[: chars_max * 2])[:chars_max].strip()


def _code_of(body: Mapping[str, object]) -> str | None:
    code = body.get("errorCode")
    if isinstance(code, str) and code:
        return flat(code, 80)
    errors = body.get("errors")
    if isinstance(errors, list) and errors:
        first = errors[0]
        named = first.get("errorCode", first.get("code")) if isinstance(first, dict) else first
        if isinstance(named, str) and named:
            return flat(named, 80)
    return None


def _rejected(body: Mapping[str, object]) -> Rejected:
    client = body.get("requiredClient")
    wanted = None
    if isinstance(client, dict) and client.get("package") == "rulith":
        version = client.get("version")
        if isinstance(version, str) and _VERSION.fullmatch(version):
            wanted = version
    return Rejected(flat(body.get("reason"), 80), flat(body.get("teaching")), wanted)


def judge_reply(status: int, raw: bytes) -> Reply:
    """The meaning of one HTTP answer to an operation."""
    try:
        body = read_json(raw, "the answer")
    except Refused as refused:
        body, problem = None, refused.happened
    else:
        problem = "The answer is not a JSON object."
    if not isinstance(body, dict):
        body = None
    if status == 401:
        return _rejected(body or {})
    if status == 429 or status >= 500:
        words = flat((body or {}).get("teaching"))
        return Silent(f"the gateway answered {status}" + (f": {words}" if words else ""))
    if 200 <= status < 300:
        if body is None:
            return Silent(problem)
        if body.get("accepted") is True:
            return Accepted(body)
        code = _code_of(body)
        if body.get("accepted") is False and code:
            return Denied(code, status, flat(body.get("teaching")))
        return Silent("the answer neither accepts nor names a code")
    if status >= 400:
        return Denied(_code_of(body or {}), status, flat((body or {}).get("teaching")))
    return Silent(f"the gateway answered {status}")   # a redirect is never followed


def is_newer(wanted: str, running: str) -> bool:
    """Whether `wanted` is a later x.y.z than `running`; False where either is no version."""
    if not (_VERSION.fullmatch(wanted) and _VERSION.fullmatch(running)):
        return False
    return [int(part) for part in wanted.split(".")] > [int(part) for part in running.split(".")]
