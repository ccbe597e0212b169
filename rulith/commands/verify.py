"""`rulith verify FILE [--key HEX] [--connection-key FILE] [--json]`: a Terminal Receipt checked offline, by anyone.

Needs no gateway, no ledger, no network. Recomputes chain, digests and bindings, derives every
conclusion again, and says on whom each premise rests. Says whose signature it is, and that it
is not pinned where no key was given.

Exit  0 everything fits, 1 something was altered or cannot be read, 2 wrong options.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass

from rulith.base.errors import Refused
from rulith.base.json_text import read_json
from rulith.base.limits import RECEIPT_BYTES_MAX, RECEIPT_DEPTH_MAX
from rulith.base.plain_text import counted, plain
from rulith.base.proof_text import decision_texts
from rulith.disk.atomic import read_bounded
from rulith.wire.signatures import KEY
from rulith.wire.terminal_receipt import check_document
from rulith.wire.verdict import Verdict

EXIT_OK, EXIT_ALTERED, EXIT_USAGE = 0, 1, 2
KEY_FILE_BYTES_MAX = 65_536
PREMISES_SHOWN = 12          # of one speaker; --json lists them all


@dataclass(frozen=True)
class Options:
    file: str
    key: str | None
    connection_key: str | None
    as_json: bool


def read_options(argv: Sequence[str]) -> Options:
    """Raises Refused: option_unknown, option_value, option_usage."""
    words, files, key, key_file, as_json = list(argv), [], None, None, False
    while words:
        name, joined, value = words.pop(0).partition("=")
        if name == "--json" and not joined:
            as_json = True
        elif name in ("--key", "--connection-key"):
            if not joined and not words:
                raise Refused("option_value", verb="verify", option=name)
            given = value if joined else words.pop(0)
            if name == "--connection-key":
                key_file = given
                continue
            key = given.lower()
            if not KEY.fullmatch(key):
                raise Refused("option_usage", verb="verify", problem="--key takes a public key of 64 hex digits")
        elif name.startswith("-") and len(name) > 1:
            raise Refused("option_unknown", verb="verify", option=name[:60])
        else:
            files.append(name + joined + value)
    if len(files) != 1:
        raise Refused("option_usage", verb="verify", problem=f"it takes one FILE, not {len(files)}")
    return Options(files[0], key, key_file, as_json)


def connection_key(path: str) -> str:
    """The key in a file that holds it alone, or as RULITH_CONNECTION_KEY among other settings. Raises Refused."""
    text = read_bounded(path, KEY_FILE_BYTES_MAX).decode("utf-8", "replace").strip()
    if text.startswith("{"):
        found = read_json(text, path)
        return str(found.get("RULITH_CONNECTION_KEY", "")) if isinstance(found, dict) else ""
    named = [line.partition("=")[2].strip() for line in text.splitlines() if line.removeprefix("export ").startswith("RULITH_CONNECTION_KEY=")]
    return named[0] if named else text


def main(argv: Sequence[str]) -> int:
    try:
        options = read_options(argv)
    except Refused as refusal:
        sys.stderr.write(refusal.teaching + "\n")
        return EXIT_USAGE
    try:
        document = read_json(read_bounded(options.file, RECEIPT_BYTES_MAX), options.file, depth_max=RECEIPT_DEPTH_MAX)
        key = connection_key(options.connection_key) if options.connection_key is not None else None
    except Refused as refusal:
        return _unreadable(options, refusal)
    verdict = check_document(document, key)
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
            "checked": verdict.counts, "rests": {who: list(premises) for who, premises in verdict.rests.items()}, "unproved": list(verdict.notes),
            "grants": "by key" if options.connection_key is not None else "by fields",
            "signature": {"key": verdict.key, "pinned": options.key is not None and options.key == verdict.key}}


def _lines(options: Options, document: object, verdict: Verdict) -> list[str]:
    if verdict.problems:
        first, *more = verdict.problems
        found = [f"{options.file}: does NOT hold together", f"  first   {first.place}: {first.text}."]
        return found + [f"  also    {each.place}: {each.text}." for each in more] + _signature(options, verdict)
    assert isinstance(document, Mapping)
    counts, release = verdict.counts, document["release"]
    named = f"Capability {release['id']} {release['version']}, " if release else ""
    if document.get("constitution"):
        named += f"Constitution {document['constitution']['version']}, "
    return [
        f"{options.file}: holds together",
        f"  Case       {_case(document['case'])}",
        f"  Chain      {counted(counts.get('rows', 0), 'row')} in full and {counts.get('rows by digest', 0)} by their digest, of {document['agentId']}",
        f"  Digests    {named}{counted(counts.get('requests', 0), 'request')} with {'its grant' if counts.get('requests') == 1 else 'their grants'}, {counted(counts.get('decisions', 0), 'decision')}",
        *(f"  Decision   {text}" for text in decision_texts(document)),
        f"  Grants     {'signed with the Connection key that was given' if options.connection_key is not None else 'every field; their signature only with --connection-key'}",
        f"  Proofs     {counted(counts.get('conclusions', 0), 'conclusion')} derived again from {counted(counts.get('premises', 0), 'premise')}",
        *_rests(verdict),
        *(f"  Not shown  {note}" for note in verdict.notes),
        *_signature(options, verdict),
    ]


def _case(case: Mapping) -> str:
    key = ", ".join(f"{name} {value}" for name, value in (case.get("businessKey") or {}).items())
    by = f" by {case['closedBy']}" if case.get("closedBy") else ""
    if case.get("exploratory"):
        return f"{case['caseId']}, exploratory: it holds to no contract and certifies nothing beyond its own goals; closed as {case['disposition']}{by} at {case['closedAt']}"
    return (f"{case['caseId']}, {case['caseType']}{' ' + key if key else ''}, closed as {case['disposition']}{by}"
            f"{', certified' if case['certified'] else ', not certified'} at {case['closedAt']}")


def _rests(verdict: Verdict) -> Iterator[str]:
    for who, premises in verdict.rests.items():
        yield f"    {who}"
        shown = list(premises)
        yield from (f"      {premise}" for premise in shown[:PREMISES_SHOWN])
        if len(shown) > PREMISES_SHOWN:
            yield f"      … and {len(shown) - PREMISES_SHOWN} more"


def _signature(options: Options, verdict: Verdict) -> list[str]:
    pinned = ("the key that was given" if options.key == verdict.key else "NOT the key that was given") if options.key is not None else (
        "not pinned: it shows that nothing changed since that key signed, not whose key it is. Compare it with `rulith doctor` on the gateway, or pass --key.")
    return [f"  Signature  Ed25519, key {verdict.key[:64] or 'none'}", f"             {pinned}"]
