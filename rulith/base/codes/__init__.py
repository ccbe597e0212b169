"""One table of every refusal code: what happened, and what to do about it.

Each room that refuses keeps its rows in a module of this package; this file joins
them and fails on a code that two rooms give different words. Rows are
`code: (happened, next_step)`; both are format strings over the refusal's facts.
"""

from importlib import import_module

ROOMS = ("common", "wire", "board", "space", "space_calls", "board_server", "gateway", "worker", "worker_tools", "agent", "host", "profiles", "settings", "disk", "net", "materials", "council", "council_files", "watch", "bridge", "talk", "authoring")

CODES: dict[str, tuple[str, str]] = {}
for _room in ROOMS:
    for _code, _row in import_module(f"{__name__}.{_room}").CODES.items():
        assert CODES.get(_code, _row) == _row, f"two wordings for {_code}"
        CODES[_code] = _row
