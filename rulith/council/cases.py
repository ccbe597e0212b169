"""What the council says of a Board: a thread's rows for a Worker, the note on a Case, the thread on an operation.

The council is where a Case is discussed, and no second ledger: a verdict is an opinion, a
resolution approves nothing, and what a thread says of a Case is its opener's word. By itself
it tells ids and states, which every member of a room may see; never arguments, facts or
results, which the gateway may keep from some of them.

Source  the council surface, "Fit with the Board"
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rulith.base.errors import Refused

WORD_CHARS_MAX, GAPS_MAX = 200, 20
WAITING, NEEDS_PERSON = "waiting_for_decision", "needs_person"
WAITS = (WAITING, NEEDS_PERSON)
ENDED = ("done", "failed", "refused", "unknown")
SHOWN = ("type", "status", "gaps", "revision")     # what of a Case a note may hold beside its names
VOICES = {"approve": "approved", "reject": "rejected"}
DECISION_TAG = "HELP_REQUEST"                      # its words (answered, needs info) pass for no approval


def thread_rows(thread: Mapping, verdicts: Sequence[tuple[str, str]]) -> list[dict]:
    """One row for each verdict, by whom, or one without any: what a Worker may make facts of. What is absent is an empty text.

    verdicts   (agent's name, its word), the newest of each
    """
    told = {"thread_id": thread["id"], "status": thread["status"], "record_digest": thread["record_digest"] or "", "client_ref": thread["client_ref"] or ""}
    return [{**told, "verdict_by": name, "verdict": word} for name, word in verdicts or (("", ""),)]


def case_note(case_id: str, root: str | None, operation: str | None, case: object) -> str:
    """The note that is pinned to a thread about a Case.

    case   {type?, status?, gaps?: [text], revision?} as its opener saw it; None for the names alone
    Raises Refused council_invalid.
    """
    told = {} if case is None else case
    if not isinstance(told, Mapping) or set(told) - set(SHOWN):
        raise Refused("council_invalid", problem=f"case is no object of {', '.join(SHOWN)}")
    gaps = told.get("gaps") or []
    if not isinstance(gaps, list) or len(gaps) > GAPS_MAX:
        raise Refused("council_invalid", problem=f"the gaps of a case are no list of at most {GAPS_MAX}")
    rows = [("Case", case_id), ("Root", root), ("Operation", operation), ("Type", told.get("type")), ("Status", told.get("status")),
            *(("Open", each) for each in gaps), ("Revision", told.get("revision"))]
    return "\n".join(f"{name}: {_word(name, value)}" for name, value in rows if value not in (None, ""))


def _word(name: str, value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, (str, int)) or len(str(value)) > WORD_CHARS_MAX:
        raise Refused("council_invalid", problem=f"{name.lower()} of a case is no text of at most {WORD_CHARS_MAX} characters")
    return " ".join(str(value).split())


def operation_key(operation: Mapping) -> str:
    """One operation of one ledger's history: after a restore the same number may come again, at another moment."""
    return f"{operation['agentId']}/{operation['ordinal']}@{operation['at']}"


def question(operation: Mapping, agent: str, console: str) -> tuple[str, str]:
    """(title, body) of the thread on an operation that waits for a person."""
    number, cases = operation["ordinal"], ", ".join(operation["caseIds"]) or "no Case"
    if operation["state"] == WAITING:
        return (f"Operation {number} of {agent} waits for a decision",
                f"Operation {number} of {agent} ({cases}) waits for a person's decision since {operation['since']}.\n\n"
                f"It is read and decided in the Console alone: {console}#decisions\n\n"
                "Say here what speaks for it and against it. Nothing that is said or resolved here answers it.")
    return (f"Operation {number} of {agent} needs a person", in_doubt(operation, agent, console))


def in_doubt(operation: Mapping, agent: str, console: str) -> str:
    """What is said of an operation whose effect nobody knows."""
    number = operation["ordinal"]
    return (f"Nobody knows whether operation {number} of {agent} ({', '.join(operation['caseIds']) or 'no Case'}) had its effect; it needs a person since {operation['since']}.\n\n"
            f"Look at what it acts on, and say what happened in the Console alone: {console}#unknown/{operation['agentId']}/{number}\n\n"
            "Nothing that is said or resolved here settles it.")


def outcome(operation: Mapping, decision: Mapping | None) -> str:
    """How the operation ended, in the gateway's words: what is posted, and what the thread is resolved with."""
    by = [f"{VOICES.get(each['verdict'], each['verdict'])} by {each['by']}" for each in (decision or {}).get("by", ())]
    said = f" ({'; '.join(by)})" if by else ""
    reason = f" It says: {operation['reason']}" if operation["state"] == "refused" and operation.get("reason") else ""
    return f"The gateway: operation {operation['ordinal']} is {operation['state']} since {operation['since']}{said}.{reason}"
