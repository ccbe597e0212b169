"""The checks of every act, in their order; the first that fails is the answer.

The person is exempt from being asked, from pause, caps and closed threads, never from
membership or from "your own message". A refusal says why, so that a program stops instead
of trying again.

Source  the council surface, "Rules"
"""

from __future__ import annotations

import re
import unicodedata

from rulith.base.errors import Refused
from rulith.council.mentions import EVERYONE
from rulith.council.seeds import Tag
from rulith.council.shapes import RESOLVED, SEVERITIES, STATUSES, WONTFIX, BLOCKED, Actor, Reply, Room, Standing, Thread

OLD_WORDS = {"REFUTED": "CLEARED"}
BODY_CHARS_MAX, TITLE_CHARS_MAX, NAME_CHARS_MAX = 64_000, 300, 80
_UNSEEN = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\uffa0]")      # printable, and nothing to see
# Cyrillic, Greek and Latin letters that look like those of a to z
_LOOKS = str.maketrans("\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0458\u0455\u04bb\u0501\u051b\u051d\u03b1\u03b9\u03bd\u03bf\u03c1\u03c5\u0131\u0251\u0261", "aeopcyxijshdqwaivopuiag")
COST_USD_MAX, TOKENS_MAX = 1_000_000.0, 10**12


def check_member(standing: Standing, room: Room) -> None:
    if not standing.is_member:
        raise Refused("council_not_member", room=room.name)


def check_open(actor: Actor, room: Room, standing: Standing, title: str, tag: Tag | None, tag_key: str, *, folder_readable: bool) -> None:
    check_member(standing, room)
    _check_running(actor, room)
    check_words(title, "title", TITLE_CHARS_MAX)
    if not folder_readable:
        raise Refused("council_folder_unreadable")
    if tag is None:
        raise Refused("council_not_found", what="tag", name=repr(tag_key[:60]))


def read_reply(actor: Actor, room: Room, thread: Thread, standing: Standing, tag: Tag | None, *, body: str, verdict: object, severity: object) -> Reply:
    check_words(body, "body", BODY_CHARS_MAX)
    check_member(standing, room)
    if not actor.is_person:
        if not standing.is_asked:
            raise Refused("council_not_asked", thread=thread.id)
        _check_running(actor, room)
        _check_not_terminal(actor, thread)
        if standing.own_messages >= room.max_replies_per_agent:
            raise Refused("council_reply_cap", count=standing.own_messages, cap=room.max_replies_per_agent)
        if standing.all_messages >= room.max_thread_messages:
            raise Refused("council_thread_cap", count=standing.all_messages, cap=room.max_thread_messages)
        if is_spent(room, standing.spent_usd):
            raise Refused("council_cost_cap", spent=f"{standing.spent_usd:.2f}", cap=f"{room.cost_cap_usd:.2f}")
    return Reply(body, read_verdict(tag, verdict), read_severity(severity))


def read_edit(actor: Actor, room: Room, thread: Thread, standing: Standing, tag: Tag | None, *, author_id: int, body: str, verdict: object,
              severity: object) -> Reply:
    check_words(body, "body", BODY_CHARS_MAX)
    if author_id != actor.agent_id:
        raise Refused("council_not_yours")
    check_member(standing, room)
    _check_running(actor, room)
    _check_not_terminal(actor, thread)
    return Reply(body, read_verdict(tag, verdict), read_severity(severity))


def check_edit_topic(actor: Actor, room: Room, thread: Thread, standing: Standing, opener: str, body: str) -> None:
    check_words(body, "body", BODY_CHARS_MAX)
    check_opener(actor, thread, opener)
    check_member(standing, room)
    _check_running(actor, room)
    _check_not_terminal(actor, thread)


def check_claim(actor: Actor, room: Room, thread: Thread, standing: Standing) -> None:
    check_member(standing, room)
    if thread.is_terminal:
        raise Refused("council_closed", thread=thread.id, status=thread.status)


def check_status(actor: Actor, room: Room, thread: Thread, standing: Standing, opener: str, status: object) -> str:
    wanted = str(status).upper()
    if wanted not in STATUSES:
        raise Refused("council_invalid", problem=f"{str(status)[:40]!r} is no status; it is one of {', '.join(each for each in STATUSES if each != RESOLVED)}")
    if wanted == RESOLVED:
        raise Refused("council_invalid", problem="a thread is resolved with resolve_thread, which asks for the summary")
    check_member(standing, room)
    check_opener(actor, thread, opener)
    return wanted


def check_resolve(actor: Actor, room: Room, thread: Thread, standing: Standing, opener: str, status: object, summary: str) -> str:
    check_opener(actor, thread, opener)
    check_member(standing, room)
    wanted = str(status or RESOLVED).upper()
    if wanted not in (RESOLVED, WONTFIX, BLOCKED):
        raise Refused("council_invalid", problem=f"a thread ends as RESOLVED, WONTFIX or BLOCKED, not as {str(status)[:40]!r}")
    check_words(summary, "summary", BODY_CHARS_MAX)
    return wanted


def check_opener(actor: Actor, thread: Thread, opener: str) -> None:
    if not actor.is_person and actor.agent_id != thread.author_id:
        raise Refused("council_not_opener", thread=thread.id, opener=opener)


def is_spent(room: Room, spent_usd: float) -> bool:
    """Whether the room's cap on money is used up; 0 caps nothing."""
    return room.cost_cap_usd > 0 and spent_usd >= room.cost_cap_usd


def read_verdict(tag: Tag | None, verdict: object) -> str | None:
    """The verdict in the tag's own word, or None where none was given."""
    if verdict is None or verdict == "":
        return None
    words = tag.verdicts if tag is not None else ()
    word = str(verdict).strip().upper()
    word = OLD_WORDS.get(word, word)
    if word not in words:
        raise Refused("council_verdict", verdict=str(verdict)[:60], tag=tag.key if tag is not None else "none",
                      words=" or ".join(words) if words else "none at all")
    return word


def read_severity(severity: object) -> str | None:
    if severity is None or severity == "":
        return None
    word = str(severity).strip().upper()
    if word not in SEVERITIES:
        raise Refused("council_invalid", problem=f"{str(severity)[:60]!r} is no severity; it is one of {', '.join(SEVERITIES)}")
    return word


def check_words(text: object, what: str, chars_max: int) -> None:
    if not isinstance(text, str) or not text.strip():
        raise Refused("council_invalid", problem=f"the {what} is blank")
    if len(text) > chars_max:
        raise Refused("council_invalid", problem=f"the {what} has {len(text)} characters, more than {chars_max}")


def check_cost(tokens_in: object, tokens_out: object, cost_usd: object) -> tuple[int, int, float]:
    """What a reply says it cost. Raises Refused council_invalid for what is no amount."""
    amounts = []
    for what, value, most in (("tokens_in", tokens_in, TOKENS_MAX), ("tokens_out", tokens_out, TOKENS_MAX), ("cost_usd", cost_usd, COST_USD_MAX)):
        value = 0 if value is None else value
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= most or (what != "cost_usd" and value != int(value)):
            raise Refused("council_invalid", problem=f"{what} is no amount from 0 to {most:,.0f}")
        amounts.append(value)
    return int(amounts[0]), int(amounts[1]), float(amounts[2])


def room_name(given: object) -> str:
    """The form a room's name is kept in: lower case letters, digits, `-` and `_`."""
    kept = "".join(letter if letter.isalnum() or letter in "-_" else "-" for letter in str(given).strip().lstrip("#").lower()).strip("-")
    if not kept or len(kept) > NAME_CHARS_MAX:
        raise Refused("council_invalid", problem=f"{str(given)[:60]!r} leaves no name for a room")
    return kept


def folded(name: str) -> str:
    """What of a name tells it from others: no case, no other form of the same letters, no letter of another alphabet that looks like one of ours."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold()).translate(_LOOKS)


def one_title(given: str) -> str:
    """A title on one line, with the letters that show."""
    return " ".join("".join(letter if letter.isprintable() else " " for letter in given).split())


def agent_name(given: object) -> str:
    """A name that stays on its line and shows all of its letters, so that it passes for no other."""
    name = " ".join(given.split()) if isinstance(given, str) else ""
    if not name or len(name) > NAME_CHARS_MAX or not name.isprintable() or _UNSEEN.search(name):
        raise Refused("council_invalid", problem="an agent's name is blank, too long, or holds letters that do not show")
    if folded(name) == EVERYONE:
        raise Refused("council_invalid", problem=f"@{EVERYONE} calls all members, so no agent is named so")
    return name


#  what of a room may be changed     kind    least
ROOM_NUMBERS = {"max_replies_per_agent": (int, 0), "max_thread_messages": (int, 0), "cost_cap_usd": (float, 0), "response_timeout_secs": (int, 1),
                "claim_window_secs": (int, 1)}


def room_number(name: str, value: object) -> int | float:
    kind, least = ROOM_NUMBERS[name]
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not least <= value <= 1_000_000 or (kind is int and value != int(value)):
        raise Refused("council_invalid", problem=f"{name} is no number from {least} on")
    return kind(value)


def _check_running(actor: Actor, room: Room) -> None:
    if room.paused and not actor.is_person:
        raise Refused("council_paused", room=room.name)


def _check_not_terminal(actor: Actor, thread: Thread) -> None:
    if thread.is_terminal and not actor.is_person:
        raise Refused("council_closed", thread=thread.id, status=thread.status)
