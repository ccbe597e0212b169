"""`rulith explain FILE [--json]`: the proof trees of a Terminal Receipt, as text.

Prints what the document says and judges nothing; `rulith verify` does that.

Exit  0 printed, 1 the file cannot be read or is no receipt, 2 wrong options.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence

from rulith.base.errors import Refused
from rulith.base.json_text import read_json
from rulith.base.limits import RECEIPT_BYTES_MAX, RECEIPT_DEPTH_MAX
from rulith.base.plain_text import plain
from rulith.base.proof_text import proof_lines
from rulith.disk.atomic import read_bounded
from rulith.wire.terminal_receipt import FORMAT

EXIT_OK, EXIT_UNREADABLE, EXIT_USAGE = 0, 1, 2


def main(argv: Sequence[str]) -> int:
    files = [word for word in argv if word != "--json"]
    wrong = next((word for word in files if word.startswith("-") and word != "-"), None)
    if wrong is not None or len(files) != 1:
        refusal = Refused("option_unknown", verb="explain", option=wrong[:60]) if wrong is not None else \
            Refused("option_usage", verb="explain", problem=f"it takes one FILE, not {len(files)}")
        sys.stderr.write(refusal.teaching + "\n")
        return EXIT_USAGE
    try:
        document = read_json(read_bounded(files[0], RECEIPT_BYTES_MAX), files[0], depth_max=RECEIPT_DEPTH_MAX)
        if not isinstance(document, Mapping) or document.get("format") != FORMAT:
            raise Refused("no_receipt_file", path=files[0], format=FORMAT)
        lines = [plain(line) for line in _lines(document)]
    except Refused as refusal:
        sys.stderr.write(plain(refusal.teaching) + "\n")
        return EXIT_UNREADABLE
    except (KeyError, TypeError, AttributeError) as problem:
        sys.stderr.write(Refused("no_receipt_file", path=files[0], format=f"{FORMAT} ({problem})").teaching + "\n")
        return EXIT_UNREADABLE
    if "--json" in argv:
        print(json.dumps({name: document[name] for name in ("case", "conclusions")}, ensure_ascii=False))
    else:
        print("\n".join(lines))
    return EXIT_OK


def _lines(document: Mapping) -> Iterator[str]:
    case, release = document["case"], document["release"]
    by = f" by {case['closedBy']}" if case.get("closedBy") else ""
    yield f"Case {case['caseId']} ({case['caseType']}), closed as {case['disposition']}{by}{', certified' if case['certified'] else ''}"
    for name, value in (case.get("businessKey") or {}).items():
        yield f"  {name} {value}"
    if case.get("reason"):
        yield f"  reason: {case['reason']}"
    if release is not None:
        yield f"  rules of {release['id']} {release['version']} ({release['digest']})"
    shown: set[str] = set()
    for conclusion in document["conclusions"]:
        yield ""
        yield from proof_lines(conclusion, without=f"{release['id']}." if release else "", shown=shown)
    yield ""
    yield "As the document states it. `rulith verify` checks chain, digests and signature."
