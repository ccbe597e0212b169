"""`rulith verify FILE [--key HEX] [--json]`: a Terminal Receipt checked offline, by anyone.

Needs no gateway, no ledger, no network. Says whose signature it is, and that it is not
pinned where no key was given. It recomputes chain, digests and signature; it does not
derive the conclusions again, and says so.

Exit  0 everything fits, 1 something was altered or cannot be read, 2 wrong options.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from rulith.base.errors import Refused
from rulith.base.json_text import read_json
from rulith.base.limits import RECEIPT_BYTES_MAX, RECEIPT_DEPTH_MAX
from rulith.base.plain_text import plain
from rulith.disk.atomic import read_bounded
from rulith.wire.signatures import KEY
from rulith.wire.terminal_receipt import Verdict, check_document

EXIT_OK, EXIT_ALTERED, EXIT_USAGE = 0, 1, 2
NOT_DERIVED = "That the conclusions follow from their premises by the rules is not derived again; a later release does that."


@dataclass(frozen=True)
class Options:
    file: str
    key: str | None
    as_json: bool


def read_options(argv: Sequence[str]) -> Options:
    """Raises Refused: option_unknown, option_value, option_usage."""
    words, files, key, as_json = list(argv), [], None, False
    while words:
        name, joined, value = words.pop(0).partition("=")
        if name == "--json" and not joined:
            as_json = True
        elif name == "--key":
            if not joined and not words:
                raise Refused("option_value", verb="verify", option=name)
            key = (value if joined else words.pop(0)).lower()
            if not KEY.fullmatch(key):
                raise Refused("option_usage", verb="verify", problem="--key takes a public key of 64 hex digits")
        elif name.startswith("-") and len(name) > 1:
            raise Refused("option_unknown", verb="verify", option=name[:60])
        else:
            files.append(name + joined + value)
    if len(files) != 1:
        raise Refused("option_usage", verb="verify", problem=f"it takes one FILE, not {len(files)}")
    return Options(files[0], key, as_json)


def main(argv: Sequence[str]) -> int:
    try:
        options = read_options(argv)
    except Refused as refusal:
        sys.stderr.write(refusal.teaching + "\n")
        return EXIT_USAGE
    try:
        document = read_json(read_bounded(options.file, RECEIPT_BYTES_MAX), options.file, depth_max=RECEIPT_DEPTH_MAX)
    except Refused as refusal:
        return _unreadable(options, refusal)
    verdict = check_document(document)
    if options.key is not None and verdict.key != options.key:
        verdict.bad("signature", f"it is of the key {verdict.key[:64] or 'none'}, not of the one that was given")
    print(json.dumps(_as_json(options, verdict), ensure_ascii=False) if options.as_json else "\n".join(map(plain, _lines(options, document, verdict))))
    return EXIT_ALTERED if verdict.problems else EXIT_OK


def _unreadable(options: Options, refusal: Refused) -> int:
    if options.as_json:
        print(json.dumps({"file": options.file, "sound": False, "problems": [{"place": "the file", "text": refusal.happened}]}))
    else:
        sys.stderr.write(plain(refusal.happened) + "\n")
    return EXIT_ALTERED


def _as_json(options: Options, verdict: Verdict) -> dict:
    return {"file": options.file, "sound": not verdict.problems, "problems": [asdict(each) for each in verdict.problems],
            "checked": verdict.counts, "rederived": False,
            "signature": {"key": verdict.key, "pinned": options.key is not None and options.key == verdict.key}}


def _lines(options: Options, document: object, verdict: Verdict) -> list[str]:
    if verdict.problems:
        first, *more = verdict.problems
        found = [f"{options.file}: does NOT hold together", f"  first   {first.place}: {first.text}."]
        return found + [f"  also    {each.place}: {each.text}." for each in more]
    assert isinstance(document, Mapping)
    case, counts = document["case"], verdict.counts
    release = document["release"]
    key = ", ".join(f"{name} {value}" for name, value in (case.get("businessKey") or {}).items())
    by = f" by {case['closedBy']}" if case.get("closedBy") else ""
    return [
        f"{options.file}: holds together",
        f"  Case       {case['caseId']}, {case['caseType']}{' ' + key if key else ''}, closed as {case['disposition']}{by}"
        f"{', certified' if case['certified'] else ', not certified'} at {case['closedAt']}",
        f"  Chain      {counts.get('rows', 0)} rows in full and {counts.get('rows by hash', 0)} by their hash, of {document['agentId']}",
        f"  Digests    {'Capability ' + release['id'] + ' ' + release['version'] + ', ' if release else ''}"
        f"{counts.get('requests', 0)} requests, {counts.get('results', 0)} results, {counts.get('decisions', 0)} decisions",
        f"  Proofs     {counts.get('conclusions', 0)} conclusions, {counts.get('premises', 0)} premises; what a Worker reported stands in these rows. {NOT_DERIVED}",
        f"  Signature  Ed25519, key {verdict.key}",
        "             " + ("the key that was given" if options.key is not None else
                            "not pinned: it shows that nothing changed since that key signed, not whose key it is. Compare it with "
                            "`rulith doctor` on the gateway, or pass --key."),
    ]
