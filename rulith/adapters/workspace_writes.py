"""write_text and write_json: a whole file in place of what was there, or nothing.

Parents are made; no link is passed; the target is absent or a regular file. The bytes are
on the disk before the file takes its name, so a cut leaves the old file or the new one. What
cannot be told after that is withheld: the write may stand.

Source  protocol/worker-contract.json, "workspace".
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from rulith.adapters.beneath import open_folder
from rulith.adapters.entries import refuse
from rulith.adapters.outcomes import Outcome, Withheld
from rulith.adapters.workspace_place import Place
from rulith.adapters.workspace_reads import TEXT_BYTES_MAX
from rulith.base.canonical import number_text, sha256_hex

MOVED, NOT_FLUSHED = "workspace_folder_moved", "workspace_write_not_flushed"


def write_text(place: Place) -> Outcome:
    text = place.call.arguments["text"]
    assert isinstance(text, str)
    if "\0" in text:
        raise refuse("The text holds a NUL byte, which read_text would not read back")
    return _write(place, text)


def write_json(place: Place) -> Outcome:
    return _write(place, "".join(_indented(place.call.arguments["value"], "\n")) + "\n")


def _write(place: Place, text: str) -> Outcome:
    content = text.encode("utf-8")
    if len(content) > TEXT_BYTES_MAX:
        raise refuse(f"The content is larger than {TEXT_BYTES_MAX} bytes")
    with open_folder(place.root, place.names[:-1], follow=False, make=True) as folder:
        try:
            folder.replace(place.names[-1], content)
        except OSError:
            return Withheld(NOT_FLUSHED)
        if not folder.is_at(place.root):
            return Withheld(MOVED)
    return place.told(place.row(digest=sha256_hex(content)))


def _indented(value: object, line: str) -> Iterator[str]:
    """`value` as JSON with an indent of two blanks, numbers as canonical JSON prints them."""
    if isinstance(value, dict) and value:
        yield "{"
        for number, (key, member) in enumerate(value.items()):
            yield f"{',' if number else ''}{line}  {json.dumps(key, ensure_ascii=False)}: "
            yield from _indented(member, line + "  ")
        yield line + "}"
    elif isinstance(value, list) and value:
        yield "["
        for number, member in enumerate(value):
            yield f"{',' if number else ''}{line}  "
            yield from _indented(member, line + "  ")
        yield line + "]"
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield number_text(value)
    else:
        yield json.dumps(value, ensure_ascii=False)
