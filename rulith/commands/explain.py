"""`rulith explain FILE [--depth N] [--json]`: the proof trees of a Terminal Receipt, and on whom each premise rests.

Prints what the document says and judges nothing; `rulith verify` does that. What is too deep
or too long is cut, and every cut is shown.

Exit  0 printed, 1 the file cannot be read or is no receipt, 2 wrong options.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from rulith.base.errors import Refused
from rulith.base.json_text import read_json
from rulith.base.limits import RECEIPT_BYTES_MAX, RECEIPT_DEPTH_MAX
from rulith.base.plain_text import plain
from rulith.base.proof_text import decision_texts, proof_lines, proof_nodes, said_by
from rulith.disk.atomic import read_bounded
from rulith.wire.terminal_receipt import FORMAT

EXIT_OK, EXIT_UNREADABLE, EXIT_USAGE = 0, 1, 2
DEPTH, DEPTH_MAX = 16, 64            # levels of a tree that are printed
LINES_MAX, SPEAKER_LINES_MAX = 400, 40


def read_options(argv: Sequence[str]) -> tuple[str, int, bool]:
    """(file, depth, as JSON). Raises Refused: option_unknown, option_value, option_usage."""
    words, files, depth, as_json = list(argv), [], DEPTH, False
    while words:
        name, joined, value = words.pop(0).partition("=")
        if name == "--json" and not joined:
            as_json = True
        elif name == "--depth":
            if not joined and not words:
                raise Refused("option_value", verb="explain", option=name)
            given = value if joined else words.pop(0)
            if not given.isascii() or not given.isdigit() or not 1 <= int(given) <= DEPTH_MAX:
                raise Refused("option_usage", verb="explain", problem=f"--depth takes a whole number from 1 to {DEPTH_MAX}")
            depth = int(given)
        elif name.startswith("-") and len(name) > 1:
            raise Refused("option_unknown", verb="explain", option=name[:60])
        else:
            files.append(name + joined + value)
    if len(files) != 1:
        raise Refused("option_usage", verb="explain", problem=f"it takes one FILE, not {len(files)}")
    return files[0], depth, as_json


def main(argv: Sequence[str]) -> int:
    try:
        file, depth, as_json = read_options(argv)
    except Refused as refusal:
        sys.stderr.write(refusal.teaching + "\n")
        return EXIT_USAGE
    try:
        document = read_json(read_bounded(file, RECEIPT_BYTES_MAX), file, depth_max=RECEIPT_DEPTH_MAX)
        if not isinstance(document, Mapping) or document.get("format") != FORMAT:
            raise Refused("no_receipt_file", path=file, format=FORMAT)
        lines = [plain(line) for line in _lines(document, depth)]
    except Refused as refusal:
        sys.stderr.write(plain(refusal.teaching) + "\n")
        return EXIT_UNREADABLE
    except (KeyError, TypeError, AttributeError) as problem:
        sys.stderr.write(Refused("no_receipt_file", path=file, format=f"{FORMAT} ({problem})").teaching + "\n")
        return EXIT_UNREADABLE
    if as_json:
        print(json.dumps({name: document[name] for name in ("case", "conclusions", "leaves", "facts")}, ensure_ascii=False))
    else:
        print("\n".join(lines))
    return EXIT_OK


def _lines(document: Mapping, depth: int) -> Iterator[str]:
    case, release = document["case"], document["release"]
    by = f" by {case['closedBy']}" if case.get("closedBy") else ""
    yield f"Case {case['caseId']} ({case['caseType']}), {'exploratory, ' if case.get('exploratory') else ''}closed as {case['disposition']}{by}{', certified' if case['certified'] else ''}"
    for name, value in (case.get("businessKey") or {}).items():
        yield f"  {name} {value}"
    if case.get("reason"):
        yield f"  reason: {case['reason']}"
    if release is not None:
        yield f"  rules of {release['id']} {release['version']} ({release['digest']})"
    if document.get("constitution"):
        yield f"  Constitution {document['constitution']['version']} ({document['constitution']['digest']})"
    for operation in document["operations"]:
        if operation.get("decision"):
            yield f"  {operation['action']} waited for: {operation['decision']['kind']} ({operation['decision']['people']})"
    yield from (f"  decided {text}" for text in decision_texts(document))
    for leaf in document["leaves"]:
        if not leaf["met"]:
            yield f"  not met: {leaf['goal']}" + (f" ({leaf['lacks']})" if leaf.get("lacks") else "")
    shown: set[str] = set()
    for conclusion in document["conclusions"]:
        yield ""
        yield from _bounded(proof_lines(conclusion, without=f"{release['id']}." if release else "", shown=shown, depth_max=depth))
    yield from _speakers(document)
    yield ""
    yield "As the document states it. `rulith verify` derives it again and checks chain, digests and signature."


def _bounded(lines: Iterator[str]) -> Iterator[str]:
    """The first LINES_MAX lines of one tree, and how many more there are."""
    yield from islice(lines, LINES_MAX)
    more = sum(1 for _ in lines)
    if more:
        yield f"  … {more} more lines of this proof, not shown; --json holds all of it"


def _speakers(document: Mapping) -> Iterator[str]:
    """Each premise under whoever said it."""
    said: dict[str, dict[str, None]] = {}
    for tree in document["conclusions"]:
        for node in proof_nodes(tree):
            if node["by"]["kind"] not in ("rule", "law"):
                said.setdefault(said_by(node), {})[f"{node['text']} [{node['tier']}]"] = None
    if said:
        yield ""
        yield "What it rests on:"
    for who, premises in said.items():
        yield f"  {who}"
        yield from (f"    {premise}" for premise in islice(premises, SPEAKER_LINES_MAX))
        if len(premises) > SPEAKER_LINES_MAX:
            yield f"    … {len(premises) - SPEAKER_LINES_MAX} more, not shown"
