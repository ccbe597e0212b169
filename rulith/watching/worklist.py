"""Which threads an answer of the council names, and how a command is told of them. Pure.

What a council answers is not ours to trust: only whole numbers become thread ids, and only
those reach a command.

Source  the council surface, "Watcher", "Run"
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from rulith.base.limits import INTEGER_MAX, WATCH_KINDS_MAX, WATCH_PENDING_MAX
from rulith.watching.core import Moved

WAKING_KINDS = frozenset({"thread.created", "thread.mentioned", "message.created", "message.edited", "thread.status"})
_PLACE = re.compile(r"\{(prompt|threads|list)\}")
_KIND = re.compile(r"[a-z]{1,40}(?:\.[a-z_]{1,40})?")


def is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= INTEGER_MAX


def moved(answer: Mapping[str, object], own_id: object) -> Moved:
    """The work list of an answer or a frame: `needs_you` where it has one, else the threads that others moved."""
    rows = answer.get("events")
    events = [row for row in rows if isinstance(row, dict) and is_number(row.get("thread_id"))] if isinstance(rows, list) else []
    needs = answer.get("needs_you")
    if not isinstance(needs, list):
        needs = [row["thread_id"] for row in events if row.get("kind") in WAKING_KINDS and not _is_own(row.get("actor_agent_id"), own_id)]
    threads = tuple(dict.fromkeys(each for each in needs if is_number(each)))[:WATCH_PENDING_MAX]
    kinds = {(row["thread_id"], row["kind"]): None for row in events if row["thread_id"] in threads and _is_kind(row.get("kind"))}
    return Moved(threads, tuple(kinds)[:WATCH_KINDS_MAX])


def _is_own(actor: object, own_id: object) -> bool:
    return is_number(actor) and actor == own_id


def _is_kind(value: object) -> bool:
    return isinstance(value, str) and _KIND.fullmatch(value) is not None


# --- telling a command --------------------------------------------------------------------


def ids(threads: Sequence[int]) -> str:
    return ",".join(map(str, threads))


def listed(threads: Sequence[int]) -> str:
    return ", ".join(f"#{each}" for each in threads)


def prompt(threads: Sequence[int]) -> str:
    return (f"Something moved in the council: activity on {listed(threads)}. Read each with get_thread, act where it needs you, "
            "then stop; you are started again when more happens.")


def filled(command: Sequence[str], threads: Sequence[int]) -> list[str]:
    """The command with its places filled in; each argument stays one argument."""
    words = {"prompt": prompt(threads), "threads": ids(threads), "list": listed(threads)}
    return [_PLACE.sub(lambda found: words[found[1]], argument) for argument in command]


def environment(given: Mapping[str, str], *, url: str, key: str, threads: Sequence[int]) -> dict[str, str]:
    """What the command finds: all that we were given, with the key that is meant for it and not ours."""
    kept = {name: value for name, value in given.items() if name.upper() not in ("RIVENDELL_RUN_KEY", "RULITH_LOCAL_EVENTS")}
    return {**kept, "RIVENDELL_URL": url, "RIVENDELL_KEY": key, "RIVENDELL_THREADS": ids(threads)}


def happened(threads: Sequence[int], kinds: Sequence[tuple[int, str]]) -> str:
    """What is printed where there is no command."""
    lines = [f"Threads needing you: {listed(threads)}"]
    for thread in threads:
        known = [kind for each, kind in kinds if each == thread]
        lines.append(f"  #{thread}  {', '.join(known) or 'waiting'}")
    return "\n".join([*lines, "Read each with get_thread and act where it needs you; then start this command again."])
