"""Relative paths, judged as text before any file is touched.

A path is slash-separated names below a root that somebody else opens. What one operating
system would read differently is refused on all of them: a device name, an alternate
stream, a trailing dot or blank, a drive, a backslash, letters that some systems compose or
pass over.
"""

from __future__ import annotations

import re
import unicodedata

from rulith.base.errors import Refused

PATH_BYTES_MAX = 4_096           # what one system call takes on every platform we run on
NAME_BYTES_MAX = 255             # one component, likewise
NAMES_MAX = 128                  # folders below one another; each is a handle while it is walked

_DRIVE = re.compile(r"[A-Za-z]:")
_DEVICE = re.compile(r"(?:CON|PRN|AUX|NUL|CONIN\$|CONOUT\$|CLOCK\$|(?:COM|LPT)[0-9¹²³])", re.IGNORECASE)
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_FOREIGN = re.compile(r'[<>"|?*]')
# Letters that do not show; HFS+ compares names without most of them, so a name may pass for another one.
_UNSEEN = re.compile("[\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u206f\ufeff]")
_JOINERS = re.compile("[\u200c\u200d]")    # these belong to words of some scripts: the name is judged without them too


def problem_of_name(name: str) -> str | None:
    """Why one component cannot be a file's name everywhere, or None when it can."""
    if name == "..":
        return "it climbs out with `..`"
    if _CONTROL.search(name):
        return "it holds a control character"
    if _UNSEEN.search(name):
        return "it holds a letter that does not show"
    if ":" in name:
        return "it names an alternate stream or a drive"
    if _FOREIGN.search(name):
        return "it holds a character that not every system allows in a name"
    if name[-1:] in (".", " "):
        return "it ends a name with a dot or a blank"
    if _DEVICE.fullmatch(name.partition(".")[0].rstrip()):
        return f"{name[:40]} is a device name"
    try:
        if len(name.encode("utf-8")) > NAME_BYTES_MAX:
            return f"one name is longer than {NAME_BYTES_MAX} bytes"
    except UnicodeEncodeError:
        return "it is not Unicode text"
    if not unicodedata.is_normalized("NFC", name):
        return "it spells a letter in parts that some systems join; write it composed (NFC)"
    bare = _JOINERS.sub("", name)
    if bare != name:
        return problem_of_name(bare) if bare.strip(".") else "it shows no letter"
    return None


def relative_components(path: str, *, where: str) -> tuple[str, ...]:
    """The names of `path` from its root down; `.` and repeated slashes vanish, so the root is ().

    Raises Refused path_refused naming `where` for an absolute, drive-letter or UNC path,
    one that climbs, and one whose names mean something else on another system.
    """
    problem = None
    if path.startswith(("/", "\\")):
        problem = "it is absolute"
    elif _DRIVE.match(path):
        problem = "it names a drive"
    elif "\\" in path:
        problem = "it holds a backslash"
    elif len(path.encode("utf-8", "surrogatepass")) > PATH_BYTES_MAX:
        problem = f"it is longer than {PATH_BYTES_MAX} bytes"
    names = tuple(name for name in path.split("/") if name not in ("", "."))
    if len(names) > NAMES_MAX:
        problem = problem or f"it names more than {NAMES_MAX} folders below one another"
    if problem is None:
        problem = next((found for found in map(problem_of_name, names) if found), None)
    if problem is not None:
        raise Refused("path_refused", where=where, path=path[:120], problem=problem)
    return names
