"""Where this program runs from: the archive, or a checkout.

Inside an archive only the loader knows the path; `sys.argv[0]` may be relative and a
file name of a module names nothing on disk.
"""

from __future__ import annotations

import hashlib
import os
import sys
from importlib import resources
from pathlib import Path

from rulith.base.errors import Refused


def running_archive() -> Path | None:
    """The absolute path of the .pyz this code was loaded from; None in a checkout."""
    for name in ("rulith", "__main__"):
        spec = getattr(sys.modules.get(name), "__spec__", None)
        archive = getattr(getattr(spec, "loader", None), "archive", None)
        if archive:
            return Path(os.path.abspath(archive))
    return None


def archive_sha256() -> str | None:
    """The hex SHA-256 of the running file; None in a checkout, or where it cannot be read any more."""
    archive = running_archive()
    try:
        return hashlib.sha256(archive.read_bytes()).hexdigest() if archive else None
    except OSError:
        return None


def checkout_root() -> Path:
    """The folder that holds the package `rulith`, for children of a checkout."""
    return Path(str(resources.files("rulith"))).resolve().parent


def interpreter() -> str:
    """The Python that runs this, as a program to be started. Raises Refused python_unknown."""
    if not sys.executable:
        raise Refused("python_unknown")
    return sys.executable


def role_command(role: str, archive: Path | None) -> list[str]:
    """The command line that runs `role` from `archive`, or from the checkout. No argument is a secret."""
    options = ["-X", "utf8", "-u"]
    if archive is not None:
        # -I -S: no foreign .pth file, no PYTHON* variable and no user site-packages has a say.
        return [interpreter(), "-I", "-S", *options, str(archive), role]
    return [interpreter(), *options, "-m", "rulith", role]
