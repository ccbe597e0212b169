"""The sign-in of this home at a gateway elsewhere, as `workbench/device.json` keeps it. It holds the token, and is read like a vault.

    none < pending < approved < linked < revoked, expired, unusable

A state never goes down: only `clear` leads back to none, by a person's act or when a code
was refused. What cannot be read is said to be unreadable, and only `clear` removes it.

Source  the workbench surface, "Account sign-in"
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from rulith.base.clock import seconds_of
from rulith.base.errors import Refused
from rulith.disk.atomic import write_whole
from rulith.disk.home import Home
from rulith.disk.vault import Vault

FORMAT = "rulith-local-device/1"
NONE, PENDING, APPROVED, LINKED, UNREADABLE = "none", "pending", "approved", "linked", "unreadable"
ENDED = ("revoked", "expired", "unusable")
RANK = {NONE: 0, PENDING: 1, APPROVED: 2, LINKED: 3, **dict.fromkeys(ENDED, 4)}
PROOF = ("clientId", "deviceCode", "code", "codeExpiresAt", "consoleUrl", "intervalS")     # gone once it is linked
TEXTS = ("origin", "name", "token", *PROOF[:5], "deviceId", "revokeRequestId", "expiresAt", "approvedAt", "linkedAt", "endedAt", "endedWhy")
INTERVAL_S_MAX = 86_400
# what a state cannot be without
NEEDS = {PENDING: (*PROOF[:4], "name"), APPROVED: ("token",), LINKED: ("token", "deviceId", "account", "agents", "expiresAt"), **dict.fromkeys(ENDED, ("token",))}


class DeviceFile:
    """Read once at its making; `row` is what it says."""

    def __init__(self, home: Home) -> None:
        self.path = home.workbench / "device.json"
        self.problem = ""
        try:
            self.row = self._read()
        except Refused as refusal:
            self.row, self.problem = {"state": UNREADABLE}, refusal.teaching

    @property
    def state(self) -> str:
        return str(self.row["state"])

    @property
    def origin(self) -> str:
        return str(self.row.get("origin", ""))

    @property
    def account_id(self) -> str:
        account = self.row.get("account")
        return str(account["id"]) if isinstance(account, dict) else ""

    def _read(self) -> dict:
        content = Vault(self.path).read()
        if content is None:
            return {"state": NONE}

        def refuse(problem: str) -> Refused:
            return Refused("device_unreadable", path=str(self.path), problem=problem)

        try:
            row = json.loads(content)
        except (ValueError, RecursionError):
            raise refuse("it is not JSON") from None
        if not isinstance(row, dict) or row.get("format") != FORMAT or row.get("state") not in RANK or row["state"] == NONE:
            raise refuse(f"it is no {FORMAT}")
        if not row.get("origin") or any(not row.get(name) and row.get(name) != [] for name in NEEDS[row["state"]]):
            raise refuse(f"it lacks something of the state {row['state']}")
        if not _is_sound(row):
            raise refuse("a member of it is none")
        return row

    def keep(self, state: str, changes: Mapping[str, object]) -> None:
        """Go to `state` with these members set, those given as None dropped. Raises Refused: device_unreadable, what the disk refuses."""
        if self.state == UNREADABLE:
            raise Refused("device_unreadable", path=str(self.path), problem="its state is not known")
        assert RANK[state] >= RANK[self.state], f"{self.state} does not become {state}"
        row = {"format": FORMAT, **self.row, **changes, "state": state}
        if RANK[state] >= RANK[LINKED]:
            row = {name: value for name, value in row.items() if name not in PROOF}
        row = {name: value for name, value in row.items() if value is not None}
        write_whole(self.path, json.dumps(row, indent=2).encode() + b"\n", 0o600)
        self.row = row

    def clear(self) -> None:
        """Forget the sign-in, whatever the file says. Raises Refused write_failed."""
        try:
            self.path.unlink(missing_ok=True)
        except OSError as problem:
            raise Refused("write_failed", path=str(self.path), problem=problem.strerror or problem) from None
        self.row, self.problem = {"state": NONE}, ""


def _is_sound(row: dict) -> bool:
    """Whether each member is of its kind."""
    interval_s, agents = row.get("intervalS", 5), row.get("agents", [])
    try:
        for name in {"codeExpiresAt", "expiresAt"} & row.keys():
            seconds_of(row[name])
    except (ValueError, AttributeError):
        return False
    named = [row["account"]] if "account" in row else []
    return (all(isinstance(row.get(name, ""), str) for name in TEXTS) and type(interval_s) is int and 0 <= interval_s <= INTERVAL_S_MAX
            and isinstance(agents, list) and isinstance(row.get("signOut", {}), dict)
            and all(isinstance(each, dict) and isinstance(each.get("id"), str) and isinstance(each.get("name"), str) for each in (*named, *agents)))
