"""list, read_text, read_json and hash: one look at one folder or file.

Source  protocol/worker-contract.json, "workspace".
"""

from __future__ import annotations

import hashlib
import os

from rulith.adapters.beneath import open_file, open_folder, read_whole
from rulith.adapters.entries import Entry, refuse, shown
from rulith.adapters.outcomes import Executed
from rulith.adapters.workspace_place import Place, Rows, is_text, path_of
from rulith.base.canonical import sha256_hex
from rulith.base.json_text import compact_json, read_json

ENTRIES_MAX = 500                # rows of one listing
TEXT_BYTES_MAX = 262_144         # one text file
HASH_BYTES_MAX = 16 * 2**20      # one file to be hashed
_CHUNK_BYTES = 2**20


def _entry_row(place: Place, entry: Entry) -> dict[str, object]:
    name, kind = entry.name, entry.kind
    if not is_text([name]):
        name, kind = os.fsencode(name).decode("utf-8", "backslashreplace"), "other"
    row: dict[str, object] = {"source": place.source, "path": path_of((*place.names, name)), "entry_type": kind}
    if kind == "file":
        row["size"] = entry.size
    return row


def list_entries(place: Place) -> Executed:
    """Entries in name order until 500, or until there is no room for more."""
    with open_folder(place.root, place.names) as folder:
        found = folder.entries(first=ENTRIES_MAX + 1)
    told = Rows(place.call.inline_bytes)
    for entry in found[:ENTRIES_MAX]:
        if not told.add(_entry_row(place, entry)):
            break
    truncated = len(told.rows) < len(found)
    return Executed(compact_json({"entries": told.rows, "truncated": truncated}), tuple(told.rows))


def _text_of(place: Place) -> tuple[str, str]:
    with open_file(place.root, place.names) as handle:
        raw = read_whole(handle, TEXT_BYTES_MAX, place.names)
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        raise refuse(f"{shown(place.names)} is not UTF-8 text") from None
    if "\0" in text:
        raise refuse(f"{shown(place.names)} holds a NUL byte")
    return text, sha256_hex(raw)


def _content(place: Place, column: str, text: str, digest: str) -> Executed:
    known = place.row(digest=digest)
    row = {**known, column: text}
    return Executed(compact_json(row), (row,), compact_json(known))


def read_text(place: Place) -> Executed:
    return _content(place, "text", *_text_of(place))


def read_json_text(place: Place) -> Executed:
    text, digest = _text_of(place)
    read_json(text, shown(place.names))
    return _content(place, "json", text, digest)


def hash_file(place: Place) -> Executed:
    """The SHA-256 and the size of the bytes that were read, which is all of the file."""
    state, size = hashlib.sha256(), 0
    with open_file(place.root, place.names) as handle:
        while chunk := os.read(handle, _CHUNK_BYTES):
            size += len(chunk)
            if size > HASH_BYTES_MAX:
                raise refuse(f"{shown(place.names)} is larger than {HASH_BYTES_MAX} bytes")
            state.update(chunk)
    return place.told(place.row(sha256=state.hexdigest(), size=size))
