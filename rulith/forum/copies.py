"""A copy of the council's file, made by the council that has it open. Whoever asked moves it to where it shall be.

Source  the design's rules on files (D5)
"""

from __future__ import annotations

from collections.abc import Mapping

from rulith.base.errors import Refused
from rulith.base.ids import mint
from rulith.council.shapes import Actor
from rulith.forum.arguments import only
from rulith.store.council_file import told_of

LEFT_S = 3_600.0                 # whoever asked for it did not live to take it away


class Copies:
    ACTS = ("backup",)

    def __init__(self, forum) -> None:
        self.forum = forum

    def backup(self, actor: Actor, arguments: Mapping) -> dict:
        """{file, digest, bytes, events}: a whole copy of this moment beside the council's file."""
        if not actor.is_person:
            raise Refused("council_not_found", what="operation", name="for agents")
        only(arguments)
        db, folder = self.forum.db, self.forum.db.path.parent
        for left in folder.glob("backup-*.db"):
            if left.stat().st_mtime < self.forum.clock.wall_s() - LEFT_S:
                left.unlink(missing_ok=True)
        copy = folder / f"backup-{mint('', 16)}.db"
        db.copy_to(copy)
        return {**told_of(copy), "events": db.value("SELECT count(*) FROM event")}
