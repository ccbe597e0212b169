"""Conversations that are saved nowhere: what a service without a folder remembers while it runs.

The same face as `disk.conversations`: a request made twice is still one task and an
archived conversation still takes none, until this process ends.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping

from rulith.base.limits import ARCHIVED_KEYS_MAX
from rulith.disk.conversations import TurnRow

_REMEMBERED = ("id", "state", "fingerprint", "receipt")


class Unsaved:
    """`turns_max` requests are remembered; the oldest are forgotten first."""

    def __init__(self, turns_max: int) -> None:
        self.unread: dict[str, list[dict]] = {}
        self._turns_max = turns_max
        self._requests: OrderedDict[str, dict] = OrderedDict()
        self._by_id: dict[str, str] = {}
        self._archived: OrderedDict[str, None] = OrderedDict()

    def accept(self, turn: Mapping[str, object]) -> None:
        request_id = str(turn["requestId"])
        if not request_id:
            return
        self._requests[request_id] = {name: turn[name] for name in _REMEMBERED}
        self._by_id[str(turn["id"])] = request_id
        while len(self._requests) > self._turns_max:
            _, forgotten = self._requests.popitem(last=False)
            del self._by_id[forgotten["id"]]

    def change(self, turn_id: str, **members: object) -> None:
        request_id = self._by_id.get(turn_id)
        if request_id is not None:
            self._requests[request_id].update({name: value for name, value in members.items() if name in _REMEMBERED})

    def of_request(self, request_id: str) -> dict | None:
        return self._requests.get(request_id)

    def rows_of(self, session_key: str) -> list[TurnRow]:
        """None: nothing of an earlier process is here, and what this one said stands in its transcripts."""
        return []

    def turn(self, turn_id: str) -> dict:
        raise AssertionError("no row named it")

    def archive(self, session_key: str, archived: bool) -> None:
        self._archived.pop(session_key, None)
        if archived:
            self._archived[session_key] = None
            while len(self._archived) > ARCHIVED_KEYS_MAX:
                self._archived.popitem(last=False)

    def is_archived(self, session_key: str) -> bool:
        return session_key in self._archived

    def keep_unread(self, by_session: Mapping[str, Iterable[Mapping[str, object]]]) -> None:
        """They are told at the end."""

    def close(self) -> None:
        """There is nothing to let go of."""
