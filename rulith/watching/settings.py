"""Flags and environment of `rulith watch`.

Source  the council surface, "Watcher"
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from rulith.base.errors import Refused
from rulith.base.limits import WATCH_CEILING_MAX, WATCH_LIMIT_S_MAX, WATCH_WAIT_S_MAX
from rulith.net.proxies import is_loopback
from rulith.wire.council_client import DEFAULT_URL

VERB = "watch"
CAPABILITIES = ("ws", "once", "report", "ceiling", "limit", "catch_up")
_WITH_VALUE = ("--key", "--url", "--wait", "--settle", "--limit", "--ceiling", "--starts")
_PLAIN = ("--report", "--ws", "--once", "--capabilities")
_KEY = re.compile(r"[\x21-\x7e]{1,512}")
_NUMBER = re.compile(r"[0-9]{1,6}(?:\.[0-9]{1,3})?", re.ASCII)


@dataclass(frozen=True)
class WatchSettings:
    """key       whom the watcher speaks as
    run_key   what the command is given: the same, or a credential of its own
    wait_s    of one poll; limit_s of one run; settle_s after it
    ceiling   starts in a rolling hour; 0 is no limit
    starts    where they are kept over restarts
    """

    url: str
    key: str = field(repr=False)
    run_key: str = field(repr=False)
    command: tuple[str, ...] = ()
    wait_s: int = 900
    settle_s: float = 2.0
    limit_s: float = 1_200.0
    ceiling: int = 40
    starts: Path | None = None
    report: bool = False
    ws: bool = False
    once: bool = False


def split_flags(argv: Sequence[str]) -> tuple[dict[str, str], set[str], tuple[str, ...]]:
    """(flags with a value, plain flags, command). Raises Refused: option_unknown, option_value, option_usage."""
    words, given, plain = list(argv), {}, set()
    while words:
        word = words.pop(0)
        if word == "--":
            if not words:
                raise Refused("option_usage", verb=VERB, problem="there is no command after `--`")
            return given, plain, tuple(words)
        name, joined, value = word.partition("=")
        if not word.startswith("--"):
            raise Refused("option_usage", verb=VERB, problem="the command stands after `--`")
        if name in _WITH_VALUE:
            if not joined:
                if not words or words[0] == "--":
                    raise Refused("option_value", verb=VERB, option=name)
                value = words.pop(0)
            given[name] = value
        elif name in _PLAIN and not joined:
            plain.add(name)
        else:
            raise Refused("option_unknown", verb=VERB, option=name[:60])     # its value could be a key
    return given, plain, ()


def read_settings(argv: Sequence[str], env: Mapping[str, str]) -> WatchSettings | None:
    """The settings; None where only the capabilities are asked for.

    Raises Refused: option_…, watch_key_missing, watch_key_form, watch_url.
    """
    given, plain, command = split_flags(argv)
    if "--capabilities" in plain:
        return None
    key = _key("--key", given["--key"]) if given.get("--key") else _key("RIVENDELL_KEY", env.get("RIVENDELL_KEY", ""))
    if not key:
        raise Refused("watch_key_missing")
    if command and not command[0].strip():
        raise Refused("option_usage", verb=VERB, problem="the command has no name")
    return WatchSettings(
        url=_url(given.get("--url") or env.get("RIVENDELL_URL", "").strip() or DEFAULT_URL),
        key=key, run_key=_key("RIVENDELL_RUN_KEY", env.get("RIVENDELL_RUN_KEY", "")) or key, command=command,
        wait_s=int(_number(given, "--wait", 900, 1, WATCH_WAIT_S_MAX, whole=True)),
        settle_s=_number(given, "--settle", 2.0, 0, WATCH_WAIT_S_MAX),
        limit_s=_number(given, "--limit", 1_200.0, 0.1, WATCH_LIMIT_S_MAX),
        ceiling=int(_number(given, "--ceiling", 40, 0, WATCH_CEILING_MAX, whole=True)),
        starts=Path(given["--starts"]) if given.get("--starts") else None,
        report="--report" in plain, ws="--ws" in plain, once="--once" in plain,
    )


def _key(name: str, text: str) -> str:
    text = text.strip()
    if text and not _KEY.fullmatch(text):
        raise Refused("watch_key_form", name=name)
    return text


def _url(text: str) -> str:
    text = text.strip()
    shown = text.rpartition("@")[2][:200]
    try:
        parts = urlsplit(text)
        parts.port                                     # noqa: B018  # raises ValueError for one that is no number
    except ValueError as problem:
        raise Refused("watch_url", url=shown, problem=problem) from None
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username is not None or parts.query or parts.fragment:
        raise Refused("watch_url", url=shown, problem="it is no plain http or https address")
    if parts.scheme == "http" and not is_loopback(parts.hostname):
        raise Refused("watch_url", url=shown, problem="the key would leave this machine in plain text; use https")
    return text


def _number(given: Mapping[str, str], name: str, default: float, least: float, most: float, *, whole: bool = False) -> float:
    text = given.get(name)
    if text is None:
        return default
    value = float(text) if _NUMBER.fullmatch(text) and not (whole and "." in text) else math.nan
    if not least <= value <= most:
        raise Refused("option_usage", verb=VERB, problem=f"{name} takes a {'whole ' if whole else ''}number from {least:g} to {most:g}, not {text[:40]!r}")
    return value
