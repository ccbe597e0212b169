"""Which kind of refusal each code is: its words' beginning and its number on the wire.

Source  the council surface, "Errors"
"""

from __future__ import annotations

from rulith.base.errors import Refused

NOT_FOUND, FORBIDDEN, INVALID, LIMIT, INTERNAL = -32004, -32003, -32602, -32005, -32603
PREFIXES = {NOT_FOUND: "not found: ", FORBIDDEN: "forbidden: ", INVALID: "invalid request: ", LIMIT: "limit reached: ", INTERNAL: ""}

_KINDS = {
    "council_not_found": NOT_FOUND,
    "council_not_member": FORBIDDEN, "council_not_asked": FORBIDDEN, "council_paused": FORBIDDEN, "council_closed": FORBIDDEN,
    "council_not_yours": FORBIDDEN, "council_not_opener": FORBIDDEN, "council_revoked": FORBIDDEN, "council_person": FORBIDDEN,
    "council_wrote": FORBIDDEN, "council_path": FORBIDDEN, "council_watcher": FORBIDDEN,
    "council_awake_cap": LIMIT, "council_reply_cap": LIMIT, "council_thread_cap": LIMIT, "council_cost_cap": LIMIT, "council_holds": LIMIT, "council_too_large": LIMIT, "council_busy": LIMIT,
    "council_verdict": INVALID, "council_invalid": INVALID, "council_folder_unreadable": INVALID, "council_name_taken": INVALID,
    "council_folder_taken": INVALID, "council_no_git": INVALID, "council_launch": INVALID, "council_no_profile": INVALID, "council_grants": INVALID, "council_no_program": INVALID,
}


def number_of(refusal: Refused) -> int:
    return _KINDS.get(refusal.code, INTERNAL)


def words_of(refusal: Refused) -> str:
    """What a tool's failure says."""
    return PREFIXES[number_of(refusal)] + refusal.teaching
