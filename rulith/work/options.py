"""What the command line of a Worker says: the line, or a folder in its place."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, replace
from pathlib import Path

from rulith.base.errors import Refused
from rulith.work.settings import Settings

_CONNECTION_ID = re.compile(r"[A-Za-z0-9_-]{1,128}", re.ASCII)


@dataclass(frozen=True)
class Options:
    """`dropbox` is the folder that stands for the line; `once`: look into it, do what is there, end."""

    dropbox: Path | None = None
    once: bool = False


def read_options(argv: list[str]) -> Options:
    """Raises Refused option_usage."""
    words, dropbox, once = list(argv), None, False
    while words:
        name, equals, value = (word := words.pop(0)).partition("=")
        if name == "--dropbox" and (value or (not equals and words)):
            dropbox = Path(os.path.abspath(os.path.expanduser(value or words.pop(0))))
        elif word == "--once":
            once = True
        else:
            raise Refused("option_usage", verb="worker", problem=f"there is no argument {word!r}")
    if once and dropbox is None:
        raise Refused("option_usage", verb="worker", problem="--once goes with --dropbox DIR")
    return Options(dropbox, once)


def with_box(settings: Settings, options: Options) -> Settings:
    """The settings with the drop box kept from every Source. Raises Refused: dropbox_missing, worker_setting_invalid."""
    if options.dropbox is None:
        return settings
    if not options.dropbox.is_dir():
        raise Refused("dropbox_missing", folder=str(options.dropbox))
    if not _CONNECTION_ID.fullmatch(settings.connection_id):      # it names a folder
        raise Refused("worker_setting_invalid", name="RULITH_CONNECTION", value=settings.connection_id[:40], wanted="the id of a Connection")
    return replace(settings, guarded=(*settings.guarded, ("the drop box", str(options.dropbox))))
