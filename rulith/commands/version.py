"""`rulith version`: version, the running file's size and SHA-256, digests of both contracts.

`--json` prints the very object that the build writes to dist/artifact-manifest.json. A
checkout is no file, so size and sha256 are null there.
"""

from __future__ import annotations

import hashlib
import json
import sys

from rulith import VERSION
from rulith.base.resources import shipped_bytes
from rulith.procs.archive import archive_sha256, running_archive

CONTRACTS = {"mcp": "mcp-contract.json", "worker": "worker-contract.json"}


def identity() -> dict[str, object]:
    """What names this build: {name, version, size, sha256, contracts:{mcp, worker}}."""
    archive = running_archive()
    return {
        "name": "rulith",
        "version": VERSION,
        "size": archive.stat().st_size if archive else None,
        "sha256": archive_sha256(),
        "contracts": {
            name: "sha256:" + hashlib.sha256(shipped_bytes("protocol", file)).hexdigest()
            for name, file in CONTRACTS.items()
        },
    }


def main(argv: list[str]) -> int:
    wrong = [word for word in argv if word != "--json"]
    if wrong:
        print(f"rulith version takes only --json, not {wrong[0]!r}.", file=sys.stderr)
        return 2
    known = identity()
    if argv:
        print(json.dumps(known, indent=2))
        return 0
    print(f"rulith {known['version']}")
    print(f"file      {known['sha256'] or 'a checkout, not a built file'}")
    for name, value in known["contracts"].items():
        print(f"{name:<9} {value}")
    return 0
