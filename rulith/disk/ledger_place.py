"""Where a home's ledger lies: in the home, or where `rulith gateway --store sqlite:PATH` has put it.

The place is kept in `gateway/store.json`, so that every command of the home finds the same
ledger. Promises: an option alone never leads a home away from a ledger that is there.
Moving one is done by moving its file, while nothing runs, and naming the new place.

Source  the design's commands (§10).
"""

from __future__ import annotations

import os
import stat
from dataclasses import replace
from pathlib import Path

from rulith.base.errors import Refused
from rulith.disk.atomic import IS_POSIX, read_json, write_json
from rulith.disk.home import KEPT_PLACE, Home

SCHEME = "sqlite"


def named_home(home: Home, store: str) -> Home:
    """The home with its ledger at the place that `store` names. Raises Refused: store_scheme, store_unusable, store_differs."""
    place = _place(home, store)
    now = _kept(home) or place
    if place != _whole(now) and now.is_file() and now.stat().st_size:
        raise Refused("store_differs", ledger=str(now), store=str(place))
    return replace(home, store=place)


def keep_place(home: Home) -> None:
    """Write down where the ledger of `home` is, if that was named."""
    if home.store is not None and _kept(home) != home.store:
        write_json(home.kept_store, {"format": KEPT_PLACE, "store": f"{SCHEME}:{home.store}"})


def _kept(home: Home) -> Path | None:
    """Where the ledger is without any option; None where what was kept does not say it."""
    try:
        return replace(home, store=None).ledger
    except Refused:
        return None


def _place(home: Home, store: str) -> Path:
    scheme, found, name = store.partition(":")
    if not found or scheme != SCHEME or not name.strip():
        raise Refused("store_scheme", scheme=repr(scheme[:20]) if found else "no scheme")        # what follows may be a password
    try:
        place = _whole(Path(os.path.expanduser(name)))
        inside = place.is_relative_to(_whole(home.path))
        folder = os.stat(place.parent)
        is_folder = place.is_dir()
    except (OSError, ValueError) as problem:
        raise Refused("store_unusable", path=name[:200], problem=getattr(problem, "strerror", None) or "its folder cannot be read") from None
    if inside and place != _whole(home.own_ledger):
        problem = f"inside the home the ledger is {home.own_ledger}"
    elif is_folder or not stat.S_ISDIR(folder.st_mode):
        problem = "it is a folder, or what it should lie in is none"
    elif IS_POSIX and folder.st_uid != os.geteuid():
        problem = f"its folder belongs to user {folder.st_uid}"
    elif IS_POSIX and folder.st_mode & 0o022:
        problem = f"others can write to its folder (mode {stat.S_IMODE(folder.st_mode):04o})"
    else:
        return place
    raise Refused("store_unusable", path=str(place), problem=problem)


def _whole(path: Path) -> Path:
    return Path(os.path.realpath(path))
