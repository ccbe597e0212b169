"""The gateway's few settings: how long leases last and calls are held, who may ask how often under which names.

Read from `gateway/settings.json` in the home, where it exists; a file that says something
else is refused by name, never half used.

Units   members end in Ms, milliseconds; fields end in _s or _ms. requestsPerSecond is for each
        credential, twice as many at once; hosts are values of the Host field, with the port;
        dropboxes are folders by Connection id; reviews says whether Workers are offered calls to review
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from rulith.base.errors import Refused
from rulith.base.limits import ACTIVE_LEASE_MS, DROPBOX_WINDOW_MS, DROPBOX_WINDOW_MS_MAX, HEARTBEAT_MS, HOLD_BOUND_S, POLL_HOLD_S
from rulith.disk.atomic import read_json
from rulith.wire.lease import LeasePolicy

SPANS = ("leaseMs", "heartbeatMs", "holdMs", "pollHoldMs")
MEMBERS = (*SPANS, "requestsPerSecond", "hosts", "dropboxes", "dropboxWindowMs", "reviews")
MS_MAX = 3_600_000
REQUESTS_PER_S, REQUESTS_PER_S_MAX = 1_000, 1_000_000
HOSTS_MAX = 64


@dataclass(frozen=True)
class Settings:
    lease: LeasePolicy = LeasePolicy()
    hold_s: float = HOLD_BOUND_S
    poll_hold_s: float = POLL_HOLD_S
    requests_per_s: int = REQUESTS_PER_S
    hosts: frozenset[str] = frozenset()
    dropboxes: tuple[tuple[str, str], ...] = ()
    dropbox_window_s: float = DROPBOX_WINDOW_MS / 1000
    reviews: bool = False


def read_settings(path: Path) -> Settings:
    """The settings of the file at `path`; the defaults where there is none. Raises Refused settings_malformed."""
    if not path.exists():
        return Settings()

    def refuse(problem: str) -> Refused:
        return Refused("settings_malformed", path=str(path), problem=problem)

    found = read_json(path)
    if not isinstance(found, dict):
        raise refuse("it is no object")
    for name, value in found.items():
        if name not in MEMBERS:
            raise refuse(f"{name!r} is not one of {', '.join(MEMBERS)}")
        if name in SPANS and not _is_count(value, MS_MAX):
            raise refuse(f"{name} is a whole number of milliseconds from 1 to {MS_MAX}")
    per_s, hosts = found.get("requestsPerSecond", REQUESTS_PER_S), found.get("hosts", [])
    if not _is_count(per_s, REQUESTS_PER_S_MAX):
        raise refuse(f"requestsPerSecond is a whole number from 1 to {REQUESTS_PER_S_MAX}")
    if not isinstance(hosts, list) or len(hosts) > HOSTS_MAX or not all(isinstance(host, str) and host for host in hosts):
        raise refuse(f"hosts is a list of at most {HOSTS_MAX} names")
    boxes, window_ms = found.get("dropboxes", {}), found.get("dropboxWindowMs", DROPBOX_WINDOW_MS)
    if not isinstance(boxes, dict) or not all(isinstance(folder, str) and os.path.isabs(folder) for folder in boxes.values()):
        raise refuse("dropboxes names a whole path of a folder for each Connection")
    if not _is_count(window_ms, DROPBOX_WINDOW_MS_MAX):
        raise refuse(f"dropboxWindowMs is a whole number of milliseconds from 1 to {DROPBOX_WINDOW_MS_MAX}")
    reviews = found.get("reviews", False)
    if not isinstance(reviews, bool):
        raise refuse("reviews is true or false")
    lease_ms, heartbeat_ms = found.get("leaseMs", ACTIVE_LEASE_MS), found.get("heartbeatMs")
    if heartbeat_ms is None:
        heartbeat_ms = min(HEARTBEAT_MS, max(1, lease_ms // 4))
    if heartbeat_ms >= lease_ms:
        raise refuse("heartbeatMs is shorter than leaseMs")
    poll_hold_s = found["pollHoldMs"] / 1000 if "pollHoldMs" in found else min(POLL_HOLD_S, lease_ms / 3000)
    return Settings(LeasePolicy(lease_ms, heartbeat_ms), found.get("holdMs", HOLD_BOUND_S * 1000) / 1000, poll_hold_s,
                    per_s, frozenset(host.lower() for host in hosts), tuple(boxes.items()), window_ms / 1000, reviews)


def _is_count(value: object, most: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= most
