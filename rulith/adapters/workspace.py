"""The workspace Tools: what is done in the folder of a file Source, within exact limits.

Judges the call before its claim and runs it beside the loop. Nothing here deletes or starts
anything, and only the two write Tools change anything.

Units   sizes are bytes
Source  protocol/worker-contract.json, "workspace".
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from rulith.adapters.outcomes import Call, Failed, Outcome, Withheld
from rulith.adapters.territory import Territory
from rulith.adapters.workspace_place import Place
from rulith.adapters.workspace_reads import hash_file, list_entries, read_json_text, read_text
from rulith.adapters.workspace_walks import count_entries, search_text
from rulith.adapters.workspace_writes import write_json, write_text
from rulith.base.errors import Refused
from rulith.base.paths import relative_components

_OPERATIONS: Mapping[str, Callable[[Place], Outcome]] = {
    "list": list_entries,
    "count": count_entries,
    "search": search_text,
    "read_text": read_text,
    "read_json": read_json_text,
    "hash": hash_file,
    "write_text": write_text,
    "write_json": write_json,
}
BUILT = tuple(_OPERATIONS)
LOOK_TIMEOUT_S = 120.0           # a disk that has not answered by then is not waited for; the thread stays with it
UNANSWERED = "workspace_disk_unanswered"
_OF_FOLDERS = ("list", "count", "search")        # these may be asked of the Source's folder itself


@dataclass(frozen=True)
class Look:
    """One compiled workspace call."""

    place: Place

    async def run(self) -> Outcome:
        """Do it off the loop's thread: a slow disk must not hold a lease renewal."""
        tool = self.place.call.tool
        looking = asyncio.get_running_loop().run_in_executor(None, _OPERATIONS[tool.entry], self.place)
        looking.add_done_callback(_seen)
        await asyncio.wait([looking], timeout=LOOK_TIMEOUT_S)
        if not looking.done():
            if tool.kind != "read":
                return Withheld(UNANSWERED)      # it may yet be written
            return Failed(f"The disk of the Source's folder has not answered for {LOOK_TIMEOUT_S:g} s.")
        try:
            return looking.result()
        except Refused as refused:
            return Failed(refused.happened)


def _seen(looking: asyncio.Future[Outcome]) -> None:
    """Nobody waits any more for a look that ends after its time."""
    if not looking.cancelled():
        looking.exception()


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
    if call.tool.entry not in _OF_FOLDERS and not names:
        raise Refused("path_refused", where=f"Source {call.source.name!r}", path=path[:120], problem="it names no file")
    return Look(Place(call, folder, names))
