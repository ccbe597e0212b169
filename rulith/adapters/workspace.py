"""The workspace Tools: look into the folder of a file Source, within exact limits.

Built in this release: list, read_text, read_json. The others are known by name and pin and
answer `not_built`. Nothing here writes, deletes or starts anything.

Units   sizes are bytes
Source  protocol/worker-contract.json, "workspace".
"""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass

from rulith.adapters.beneath import HAS_HANDLES, open_beneath, read_whole, refuse
from rulith.adapters.outcomes import Call, Executed, Failed, Outcome
from rulith.adapters.territory import Territory
from rulith.base.canonical import sha256_hex
from rulith.base.errors import Refused
from rulith.base.json_text import compact_json, read_json
from rulith.base.paths import relative_components

BUILT = ("list", "read_text", "read_json")
ENTRIES_MAX = 500                # rows of one listing
TEXT_BYTES_MAX = 262_144         # one text file


@dataclass(frozen=True)
class Look:
    """One compiled workspace call: which operation, in which folder, at which names."""

    call: Call
    folder: str
    names: tuple[str, ...]

    async def run(self) -> Outcome:
        """Do it off the loop's thread: a slow disk must not hold a lease renewal."""
        try:
            return await asyncio.to_thread(_OPERATIONS[self.call.tool.entry], self)
        except Refused as refused:
            return Failed(refused.happened)


def compile_look(call: Call, territory: Territory) -> Look:
    """Judge Source, folder and path before anything is claimed.

    Raises Refused: source_root_refused, path_refused.
    """
    assert call.source is not None and call.tool.entry in BUILT, "adapters/hands.py judges this first"
    folder = territory.folder_of(call.source)
    if not os.path.isdir(folder):
        raise Refused("source_root_refused", source=call.source.name, problem="it does not exist or is not a folder")
    path = call.arguments.get("path", "")
    assert isinstance(path, str)
    names = relative_components(path, where=f"Source {call.source.name!r}")
    if call.tool.entry != "list" and not names:
        raise Refused("path_refused", where=f"Source {call.source.name!r}", path=path[:120], problem="it names no file")
    return Look(call, folder, names)


def _kind_of(mode: int) -> str:
    if stat.S_ISLNK(mode):
        return "symlink"
    if stat.S_ISDIR(mode):
        return "directory"
    return "file" if stat.S_ISREG(mode) else "other"


def _entry(look: Look, name: str, info: os.stat_result) -> dict[str, object]:
    assert look.call.source is not None
    kind = _kind_of(info.st_mode)
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:      # a name that is no text can be seen but not asked for
        name, kind = os.fsencode(name).decode("utf-8", "backslashreplace"), "other"
    row: dict[str, object] = {"source": look.call.source.name, "path": "/".join((*look.names, name)), "entry_type": kind}
    if kind == "file":
        row["size"] = info.st_size
    return row


def _scan(look: Look) -> list[tuple[str, os.stat_result]]:
    if not HAS_HANDLES:
        raise Refused("not_built", what="Listing a folder on this system", instead="Use read_text with a known path.")
    with open_beneath(look.folder, look.names, folder=True) as handle:
        names = sorted(os.listdir(handle))
        found = []
        for name in names[: ENTRIES_MAX + 1]:
            try:
                found.append((name, os.stat(name, dir_fd=handle, follow_symlinks=False)))
            except FileNotFoundError:
                continue            # it went away between the listing and the look
    return found


def _list(look: Look) -> Outcome:
    """Entries in name order until 500, or until their JSON would pass a quarter of the inline budget."""
    rows: list[Mapping[str, object]] = []
    budget = look.call.inline_bytes // 4
    used = 2
    found = _scan(look)
    for name, info in found[:ENTRIES_MAX]:
        row = _entry(look, name, info)
        used += len(compact_json(row).encode()) + 1
        if used > budget:
            break
        rows.append(row)
    return Executed(compact_json({"entries": rows, "truncated": len(rows) < len(found)}), tuple(rows))


def _read(look: Look) -> tuple[str, str]:
    where = "/".join(look.names)
    with open_beneath(look.folder, look.names, folder=False) as handle:
        raw = read_whole(handle, TEXT_BYTES_MAX, look.names)
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        raise refuse(f"{where} is not UTF-8 text") from None
    if "\0" in text:
        raise refuse(f"{where} holds a NUL byte")
    return text, sha256_hex(raw)


def _shown(look: Look, content: str, text: str, digest: str) -> Outcome:
    assert look.call.source is not None
    known = {"source": look.call.source.name, "path": "/".join(look.names), "digest": digest}
    row = {**known, content: text}
    return Executed(compact_json(row), (row,), compact_json(known))


def _read_text(look: Look) -> Outcome:
    return _shown(look, "text", *_read(look))


def _read_json(look: Look) -> Outcome:
    text, digest = _read(look)
    try:
        read_json(text, "/".join(look.names))
    except Refused as refused:
        return Failed(refused.happened)
    return _shown(look, "json", text, digest)


_OPERATIONS = {"list": _list, "read_text": _read_text, "read_json": _read_json}
