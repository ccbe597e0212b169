"""Messages that a person began and did not send, one for each conversation of one Agent.

One small file for each, replaced whole; an empty draft has none. A file that cannot be read is
as if it were not there: a draft is a convenience, and whoever writes the next one replaces it.

Source  the design, §8 (drafts are kept for each conversation by the host)
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

from rulith.base.errors import Refused
from rulith.base.limits import DRAFT_BYTES_MAX, DRAFTS_MAX
from rulith.disk.atomic import make_folder, read_bounded, write_whole

SUFFIX = ".draft.json"


class Drafts:
    """Those in `folder`, which is made with the first one."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def all(self) -> list[dict]:
        """Every draft that can be read, in no order that means anything."""
        found = (self._read(path) for path in sorted(self._folder.glob(f"*{SUFFIX}"))[:DRAFTS_MAX]) if self._folder.is_dir() else ()
        return [draft for draft in found if draft is not None]

    def one(self, session_key: str) -> dict | None:
        return self._read(self._path(session_key))

    def keep(self, session_key: str, members: Mapping[str, object]) -> None:
        """Replace the draft of this conversation. Raises Refused drafts_full, disk_full, write_failed."""
        path = self._path(session_key)
        if not path.exists() and self._folder.is_dir() and sum(1 for _ in self._folder.glob(f"*{SUFFIX}")) >= DRAFTS_MAX:
            raise Refused("drafts_full", drafts=DRAFTS_MAX)
        make_folder(self._folder)
        write_whole(path, json.dumps({"sessionKey": session_key, **members}).encode())

    def drop(self, session_key: str) -> None:
        self._path(session_key).unlink(missing_ok=True)

    def _path(self, session_key: str) -> Path:
        return self._folder / (hashlib.sha256(session_key.encode("utf-8", "surrogatepass")).hexdigest() + SUFFIX)

    def _read(self, path: Path) -> dict | None:
        try:
            value = json.loads(read_bounded(path, DRAFT_BYTES_MAX))
        except (Refused, ValueError, RecursionError):
            return None
        is_ours = isinstance(value, dict) and isinstance(value.get("sessionKey"), str) and path == self._path(value["sessionKey"])
        return value if is_ours and isinstance(value.get("text"), str) else None
