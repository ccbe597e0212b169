"""What a person sets for the whole home on the page: the budget of every profile that has none, the first steps put away.

One small file beside the profiles; no secret is in it. A home without it limits nothing.

Source  the workbench surface, "settings"; the design, "budgets"
"""

from __future__ import annotations

from pathlib import Path

from rulith.base.errors import Refused
from rulith.disk.atomic import make_folder, read_json, write_json
from rulith.disk.locks import REGISTRY_WAIT_S, take_lock

SETTINGS_FILE = "settings.json"
BUDGET, ROUNDS = "RULITH_BUDGET", "RULITH_MAX_ROUNDS"        # what an Agent is given of it
STEPS_AWAY = "stepsAway"


def read_home_settings(path: Path) -> dict[str, str]:
    """The members that are set. Raises Refused home_settings_unreadable."""
    if not path.exists():
        return {}
    try:
        value = read_json(path)
    except Refused as problem:
        raise Refused("home_settings_unreadable", path=str(path), problem=problem.happened.rstrip(".")) from None
    found = value.get("settings") if isinstance(value, dict) and value.get("version") == 1 else None
    if not isinstance(found, dict) or not all(isinstance(each, str) for each in found.values()):
        raise Refused("home_settings_unreadable", path=str(path), problem="it is no object of settings of version 1")
    return found


def change_home_settings(path: Path, changes: dict[str, str | None]) -> None:
    """Set members, drop those given as None; members of a later edition stay. Raises Refused: home_settings_unreadable, what the disk refuses."""
    make_folder(path.parent)
    with take_lock(path.with_name(path.name + ".lock"), "settings of the home", wait_s=REGISTRY_WAIT_S):
        kept = {**read_home_settings(path), **changes}
        write_json(path, {"version": 1, "settings": {name: value for name, value in kept.items() if value}})


def budget_env(path: Path) -> dict[str, str]:
    """The part of it that an Agent without a budget of its own is given."""
    found = read_home_settings(path)
    return {name: found[name] for name in (BUDGET, ROUNDS) if found.get(name)}
