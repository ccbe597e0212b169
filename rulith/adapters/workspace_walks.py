"""count and search: a walk through the folders below one, breadth first, in name order, passing no link.

count is exact or refused, never partial. search is bounded in files, depth and matches, and
says which bound cut it.

Source  protocol/worker-contract.json, "workspace".
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from rulith.adapters.beneath import Folder, open_folder, read_whole
from rulith.adapters.entries import Entry, refuse, shown
from rulith.adapters.outcomes import Executed
from rulith.adapters.workspace_place import Place, Rows, is_text, path_of
from rulith.adapters.workspace_reads import TEXT_BYTES_MAX
from rulith.base.canonical import sha256_hex
from rulith.base.errors import Refused
from rulith.base.json_text import compact_json

COUNTED_MAX = 10_000             # entries of one count
DEPTH_MAX = 8                    # names below the folder that was asked for
QUERY_CHARS_MAX = 200
MATCHES_MAX = 100
FILES_MAX = 500                  # files that one search opens
FOLDERS_MAX = 10_000             # folders that one search enters
NAMES_MAX = 1_000_000            # names that it looks at in them
TEXT_CHARS_MAX = 300             # shown of the line around a match
_BEFORE_CHARS = 100              # of those, before the match where the line is longer


def count_entries(place: Place) -> Executed:
    """Files and folders, and one digest over their sorted names: `f:<path>` and `d:<path>` from the counted folder."""
    recursive = place.call.arguments.get("recursive", False)
    lines: list[str] = []
    files, seen = 0, 0
    with open_folder(place.root, place.names) as start:
        waiting = deque([()])
        while waiting:
            below: tuple[str, ...] = waiting.popleft()
            with start.folder(below) as folder:
                found = folder.entries(most=COUNTED_MAX)
            seen += len(found)
            if seen > COUNTED_MAX:
                raise refuse(f"{shown(place.names)} holds more than {COUNTED_MAX} entries")
            for entry in found:
                names = (*below, entry.name)
                if len(names) > DEPTH_MAX:
                    raise refuse(f"{shown(names)} lies more than {DEPTH_MAX} names deep, and a count is never partial")
                if entry.kind not in ("file", "directory"):
                    continue
                if not is_text(names):
                    raise refuse(f"{shown(names)} has a name that is not Unicode text")
                files += entry.kind == "file"
                lines.append(f"{entry.kind[0]}:{'/'.join(names)}")
                if recursive and entry.kind == "directory":
                    waiting.append(names)
    digest = sha256_hex("\n".join(sorted(lines, key=_utf16)).encode("utf-8"))
    return place.told(place.row(recursive=recursive, file_count=files, directory_count=len(lines) - files, digest=digest))


def _utf16(line: str) -> bytes:
    """The order of canonical JSON's keys."""
    return line.encode("utf-16-be")


class _Search:
    """One search on its way: what it found, and what it had to leave out."""

    def __init__(self, place: Place, query: str) -> None:
        self.place, self.query = place, query
        self.told = Rows(place.call.inline_bytes)
        self.truncated = self.partial = False
        self.opened = self.searched = 0

    def run(self) -> None:
        with open_folder(self.place.root, self.place.names) as start:
            for folder, below, entries in self._folders(start):
                for entry in entries:
                    if entry.kind == "file" and not self._look(folder, (*below, entry.name), entry):
                        return

    def _folders(self, start: Folder) -> Iterator[tuple[Folder, tuple[str, ...], list[Entry]]]:
        waiting: deque[tuple[str, ...]] = deque([()])
        entered = names = 0
        while waiting:
            below = waiting.popleft()
            entered += 1
            if entered > FOLDERS_MAX or names > NAMES_MAX:
                self.partial = True
                return
            try:
                with start.folder(below) as folder:
                    entries = folder.entries()
                    names += len(entries)
                    yield folder, below, entries
            except Refused:
                if not below:
                    raise
                self.partial = True              # it went away, or may not be entered
                continue
            inside = [(*below, entry.name) for entry in entries if entry.kind == "directory"]
            if inside and (len(below) >= DEPTH_MAX or not all(map(is_text, inside))):
                self.partial = True
            if len(below) < DEPTH_MAX:
                waiting.extend(filter(is_text, inside))

    def _look(self, folder: Folder, below: tuple[str, ...], entry: Entry) -> bool:
        """Search one file; whether the search goes on."""
        if entry.size > TEXT_BYTES_MAX or not is_text(below):
            return True
        if self.opened >= FILES_MAX:
            self.partial = True
            return False
        self.opened += 1
        try:
            with folder.file(entry.name) as handle:
                text = read_whole(handle, TEXT_BYTES_MAX, below).decode("utf-8")
        except (Refused, UnicodeDecodeError):
            return True                          # no text, or no longer a file of that size
        if "\0" in text:
            return True
        self.searched += 1
        return self.query not in text or self._matches(text, path_of((*self.place.names, *below)))

    def _matches(self, text: str, path: str) -> bool:
        """Tell each line of `text` that holds the query; whether the search goes on."""
        for number, line in enumerate(text.split("\n"), 1):
            column = line.find(self.query)
            if column < 0:
                continue
            row = {"source": self.place.source, "path": path, "line": number, "column": column + 1, "text": _around(line, column)}
            if len(self.told.rows) >= MATCHES_MAX or not self.told.add(row):
                self.truncated = True
                return False
        return True


def _around(line: str, column: int) -> str:
    line = line.rstrip("\r")
    begin = max(0, column - _BEFORE_CHARS) if len(line) > TEXT_CHARS_MAX else 0
    text = line[begin : begin + TEXT_CHARS_MAX]
    return f" {text[: TEXT_CHARS_MAX - 1]}" if text.startswith("?") else text     # the Board would read a variable


def search_text(place: Place) -> Executed:
    """The lines that hold the query, letter for letter, each with the place where it first does."""
    query = place.call.arguments["query"]
    assert isinstance(query, str)
    if not 1 <= len(query) <= QUERY_CHARS_MAX or "\n" in query:
        raise refuse(f"The query must be one line of 1 to {QUERY_CHARS_MAX} characters")
    search = _Search(place, query)
    search.run()
    result = {"matches": search.told.rows, "truncated": search.truncated, "filesSearched": search.searched}
    return Executed(compact_json({**result, "partial": True} if search.partial else result), tuple(search.told.rows))
