"""Keep awake: what may be started for an agent, how often, and what its watcher's end means.

A watcher waits without a model and starts the agent's program when a thread needs it. Decides
over launch profiles and over ends; starts nothing. A program is started with the permissions
that it has by itself: arguments that lend it more are refused, as far as their names are known.
What a script of the person's own does is the person's.

Units   *_s seconds of the wall clock, `lived_s` a span
Source  the council surface, "Supervisor"
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from rulith.base.errors import Refused

CEILING, HOUR_S = 40, 3_600.0            # starts of one agent in any hour
RUN_LIMIT_S, POLL_S = 1_200, 900         # one run of the program; one quiet wait
QUICK_S, QUICK_MAX, AGAIN_S = 20.0, 3, 2.0
CEILING_EXIT = 3                         # a watcher's exit when the next start would be one too many
ARGUMENTS_MAX, ARGUMENT_CHARS_MAX = 64, 4_096
BY_HAND = "external"
LOOPS = f"{CEILING} starts in an hour, something loops"
EXTRA_PATHS = ("/opt/homebrew/bin", "/usr/local/bin")

OURS = ("mcp_config", "cwd", "mcp_url", "agent_name")
WATCHERS = ("prompt", "threads", "list")
_PLACE = re.compile(r"\{([a-z_]+)\}")
_SHELLS = frozenset("sh bash dash zsh ksh fish cmd powershell pwsh".split())
_SHELL_TEXT = re.compile(r"-[a-z]*c[a-z]*|/[ck]|-(command|c|encodedcommand|e|ec)", re.I)

# Flags without their dashes and case, as parsers of command lines read them.
_GRANTS = ("dangerously", "allowdangerously", "allowall", "trust", "yolo", "fullauto", "autoapprove", "yesalways", "bypass", "settings", "adddir",
           "includedirectories", "permissionprompttool", "nosandbox", "disablesandbox")
_GRANTS_WHOLE = frozenset(("y", "yes", "f", "force", "afk", "auto"))
_RUNS_UNASKED = {"kimi": frozenset(("print", "quiet"))}      # program -> its ways of running in which it takes every tool without a question
_VALUES = {                              # flag -> the values that lend nothing
    "permissionmode": frozenset(("default", "plan")), "approvalmode": frozenset(("default", "plan")),
    "askforapproval": frozenset(("untrusted", "on-request", "on-failure")),
}
_WRITABLE = frozenset(("workspace-write", "danger-full-access"))
_TOOLS = frozenset(("allowedtools", "tools", "allowtool"))
_READS = frozenset(("Read", "Glob", "Grep", "LS", "rivendell"))
_COUNCIL_TOOLS = ("mcp__rivendell", "rivendell(")
_CONFIG = frozenset(("c", "config"))
_CONFIG_GRANTS = ("sandbox", "approval", "permission", "profile", "trust")


@dataclass(frozen=True)
class Launch:
    """A program and its arguments, the places for `{…}` still in them."""

    label: str
    command: str
    arguments: tuple[str, ...]
    needs_config: bool

    def filled(self, values: Mapping[str, str]) -> list[str]:
        """The command line for a watcher; its own places stay. Each place is filled once, whatever the values hold. Raises Refused council_grants."""
        filled = [_PLACE.sub(lambda place: values[place[1]] if place[1] in OURS else place[0], each) for each in self.arguments]
        _check_grants(self.label, filled, self.command)
        return [self.command, *filled]


def read_launch(profile: Mapping | None) -> Launch:
    """What a launch profile starts. Raises Refused: council_no_profile, council_launch, council_grants."""
    if profile is None:
        raise Refused("council_no_profile")
    label, command = profile["label"], profile["launch_cmd"].strip()
    if not command or profile["key"] == BY_HAND:
        raise Refused("council_launch", profile=label, problem="it names no program")
    arguments = tuple("default" if each == "acceptEdits" else each.replace("=acceptEdits", "=default") for each in json.loads(profile["launch_args"]))
    if len(arguments) > ARGUMENTS_MAX or any(len(each) > ARGUMENT_CHARS_MAX or "\0" in each for each in (command, *arguments)):
        raise Refused("council_launch", profile=label, problem="it has too many arguments, or one that is too long or holds a NUL")
    _check_places(label, command, arguments)
    _check_grants(label, arguments, command)
    return Launch(label, command, arguments, profile["mcp_install_mode"] == "config_file_flag" or any("{mcp_config}" in each for each in arguments))


def _check_places(label: str, command: str, arguments: Sequence[str]) -> None:
    if _PLACE.search(command):
        raise Refused("council_launch", profile=label, problem="its program is a place to be filled")
    for each in arguments:
        for name in _PLACE.findall(each):
            if name == "api_key":
                raise Refused("council_launch", profile=label, problem="{api_key} would stand in the list of processes; the key is in RIVENDELL_KEY and in {mcp_config}")
            if name not in OURS + WATCHERS:
                raise Refused("council_launch", profile=label, problem=f"nothing fills {{{name}}}")
    if _is_shell(command) and all(each.startswith("-") for each in arguments):
        raise Refused("council_launch", profile=label, problem="it starts a shell without a script")
    words = [command, *arguments]
    shells = [at for at, each in enumerate(words) if _is_shell(each)]              # `env sh -c …` is one too
    if shells:
        texts = [later for at, each in enumerate(words) if at > shells[0] and _SHELL_TEXT.fullmatch(each) for later in words[at + 1:]]
        if any(_PLACE.search(each) for each in texts):
            raise Refused("council_launch", profile=label, problem="a shell would run what is filled in as its own text; name a script, which finds it in its environment")


def _check_grants(label: str, arguments: Sequence[str], command: str) -> None:
    for argument in granting(arguments, command):
        raise Refused("council_grants", profile=label, argument=argument[:80])


def _program(word: str) -> str:
    return word.replace("\\", "/").rpartition("/")[2].lower().removesuffix(".exe")


def _is_shell(word: str) -> bool:
    return _program(word) in _SHELLS


def granting(arguments: Sequence[str], command: str = "") -> list[str]:
    """The arguments that lend a program writing, or skip its questions; those within one text too."""
    words = [word for each in arguments for word in each.split()]
    unasked = {flag for word in (command, *words) for flag in _RUNS_UNASKED.get(_program(word), ())}
    found = []
    for at, word in enumerate(words):
        if not word.startswith("-"):
            continue
        flag, has_value, value = word.partition("=")
        flag = flag.lstrip("-").replace("-", "").replace("_", "").lower()
        following = [value] if has_value else _until_flag(words[at + 1:])
        if flag in unasked or _grants(flag, [each.strip("'\"") for each in following]):
            found.append(word if has_value or not following or flag in _GRANTS_WHOLE else f"{word} {following[0]}")
    return found


def _until_flag(words: Sequence[str]) -> list[str]:
    kept = []
    for word in words:
        if word.startswith("-"):
            break
        kept.append(word)
    return kept


def _grants(flag: str, values: Sequence[str]) -> bool:
    if flag in _GRANTS_WHOLE or flag.startswith(_GRANTS):
        return True
    first = values[0] if values else ""
    if flag in _VALUES:
        return first not in _VALUES[flag]
    if flag in ("s", "sandbox", "sandboxmode", "a"):
        return first in _WRITABLE or (flag == "a" and first == "never")
    if flag in _TOOLS:
        return not all(each.startswith(_COUNCIL_TOOLS) or each in _READS for value in values for each in value.split(",") if each)
    return flag in _CONFIG and any(word in first.lower() for word in _CONFIG_GRANTS)


def config_text(mcp_url: str, key: str) -> str:
    """The file that tells a program where the council is and as whom it speaks."""
    about = {"type": "http", "url": mcp_url, "headers": {"Authorization": f"Bearer {key}"}}
    return json.dumps({"mcpServers": {"rivendell": about}}, indent=1) + "\n"


def joined_path(separator: str, *lists: str) -> str:
    """Several PATHs as one, each folder once and in its first place. Relative ones are left out: they would mean the project's folder."""
    folders = dict.fromkeys(folder for each in lists for folder in each.split(separator) if folder.startswith("/") or folder[1:3] in (":\\", ":/"))
    return separator.join(folders)


def in_last_hour(starts: Iterable[float], now_s: float) -> list[float]:
    """Those of these moments that count; one from the future, left by a clock that was set back, counts as now."""
    return sorted(min(each, now_s) for each in starts if now_s - each < HOUR_S)[-CEILING - 1:]


class End(Enum):
    """What follows a watcher's end that nobody asked for."""

    AGAIN = "start it again after a pause"
    LOOPS = "off: too many starts in an hour"
    BROKEN = "off: it ends as soon as it is started"


def after_end(code: int, lived_s: float, quick: int) -> tuple[End, int]:
    """What follows, and how many quick ends there were in a row."""
    if code == CEILING_EXIT:
        return End.LOOPS, 0
    quick = quick + 1 if lived_s < QUICK_S else 0
    return (End.BROKEN, 0) if quick >= QUICK_MAX else (End.AGAIN, quick)
