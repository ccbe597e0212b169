"""Roles that outlived a workbench that was killed: written down, watched until they are gone, never ended by pid.

While one lives, nothing is started beside it: a Worker may be finishing a Tool whose
report only it can give.

Units   *_s seconds
Source  the workbench surface, "Supervision" (orphans)
"""

from __future__ import annotations

from rulith.base.errors import Refused
from rulith.disk.atomic import read_json
from rulith.disk.home import Home
from rulith.procs.identity import is_proven_gone

LOOK_S = 1.0
ROLES = ("agent", "worker")          # the gateway and the council are found by their own run files


class Orphans:
    """Read once, before the run file is written anew. `rows` goes into the new one, so that a second kill loses none."""

    def __init__(self, home: Home) -> None:
        try:
            record = read_json(home.run / "workbench.json")
        except Refused:
            record = None
        rows = record.get("children") if isinstance(record, dict) else None
        self.rows = [row for row in rows if isinstance(row, dict) and row.get("role") in ROLES and isinstance(row.get("pid"), int)] if isinstance(rows, list) else []
        self.look()

    def look(self) -> bool:
        """Forget those that are gone; whether there were any."""
        before = len(self.rows)
        self.rows = [row for row in self.rows if not is_proven_gone(row["pid"], row)]
        return len(self.rows) < before

    def of(self, instance_id: str) -> list[dict]:
        """Those of one profile; one that was written down without its profile may be anybody's."""
        return [row for row in self.rows if row.get("instanceId") in (None, instance_id)]
