"""`rulith capability draft CASE… | FILE… [--id ID] [--home DIR]`: a Capability file proposed from Cases that took one path.

A word that names a file is read as a Terminal Receipt; any other is a Case id, whose receipt
the home's gateway gives. Each receipt is verified first, and the draft is checked as
`capability check` does before it is printed on stdout.

Exit  0 printed, 1 refused, 2 wrong words.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Sequence

from rulith.base.errors import Refused
from rulith.base.json_text import read_json
from rulith.base.limits import RECEIPT_BYTES_MAX, RECEIPT_DEPTH_MAX
from rulith.base.plain_text import plain
from rulith.board.capability import ID
from rulith.board.capability_check import read_release
from rulith.board.draft import draft
from rulith.disk.atomic import read_bounded
from rulith.disk.home import find_home
from rulith.local.visit import GatewayVisit
from rulith.wire.terminal_receipt import FORMAT, check_document

EXIT_OK, EXIT_ERRORS, EXIT_USAGE = 0, 1, 2
CASE_ID = re.compile(r"case_[0-9a-f]{8,64}", re.ASCII)
CASES_MAX = 50


def draft_door(argv: Sequence[str]) -> int:
    try:
        words, home, capability_id = read_options(argv)
    except Refused as refusal:
        sys.stderr.write(refusal.teaching + "\n")
        return EXIT_USAGE
    try:
        found = proposed(words, home, capability_id)
    except Refused as refusal:
        sys.stderr.write(plain(refusal.teaching) + "\n")
        return EXIT_ERRORS
    print(json.dumps(found, indent=2, ensure_ascii=False))
    if sys.stderr.isatty():
        sys.stderr.write("A draft: read its names, types and tests, then `rulith capability check` and `install`.\n")
    return EXIT_OK


def read_options(argv: Sequence[str]) -> tuple[list[str], str | None, str | None]:
    """(Cases and files, home, id). Raises Refused: option_unknown, option_value, option_usage."""
    words, plain_words, given = list(argv), [], {"--home": None, "--id": None}
    while words:
        name, joined, value = words.pop(0).partition("=")
        if name in given:
            if not joined and not words:
                raise Refused("option_value", verb="capability", option=name)
            given[name] = value if joined else words.pop(0)
        elif name.startswith("-") and len(name) > 1:
            raise Refused("option_unknown", verb="capability", option=name[:60])
        else:
            plain_words.append(name + joined + value)
    if not 1 <= len(plain_words) <= CASES_MAX:
        raise Refused("option_usage", verb="capability", problem=f"draft takes 1 to {CASES_MAX} Cases or receipt files, not {len(plain_words)}")
    if given["--id"] is not None and not ID.fullmatch(given["--id"]):
        raise Refused("option_usage", verb="capability", problem=f"--id takes a dotted name such as acme.orders, not {given['--id'][:60]!r}")
    return plain_words, given["--home"], given["--id"]


def proposed(words: Sequence[str], home: str | None, capability_id: str | None) -> dict:
    """The draft, sound. Raises Refused."""
    documents = _receipts(words, home)
    for word, document in zip(words, documents):
        problems = check_document(document).problems
        if problems:
            raise Refused("draft_receipt_altered", name=word, place=problems[0].place, problem=problems[0].text)
    found = draft(documents, capability_id or f"draft.{re.sub(r'[^a-z0-9_]', '_', documents[0]['case']['caseType'].lower())}")
    read_release(found)              # what is proposed is sound, or it is not printed
    return found


def _receipts(words: Sequence[str], home: str | None) -> list[dict]:
    asked = [word for word in words if not os.path.exists(word) and CASE_ID.fullmatch(word)]
    told: dict[str, dict] = {}
    if asked:
        with GatewayVisit(find_home(home, os.environ)) as visit:
            told = {word: visit.read("receipt", {"case": word}) for word in dict.fromkeys(asked)}
    return [told[word] if word in told else _file(word) for word in words]


def _file(path: str) -> dict:
    if not os.path.exists(path) and os.sep not in path:
        raise Refused("draft_word_unknown", name=path[:200])
    document = read_json(read_bounded(path, RECEIPT_BYTES_MAX), path, depth_max=RECEIPT_DEPTH_MAX)
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise Refused("no_receipt_file", path=path, format=FORMAT)
    return document
