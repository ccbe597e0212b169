"""The fast lane: requests so plain that nothing has to be decided about them.

Most requests arrive in one piece: HTTP/1.1, printable header fields, a body of announced
length already there. Those are taken apart here at the speed of `re`; everything else,
and everything doubtful, is left to h11. The lane accepts a strict subset of what h11
accepts and reads it the same way; a test compares the two.

Pure: bytes in, values out.

Source  RFC 9112
"""

from __future__ import annotations

import re
from typing import NamedTuple

from rulith.net.messages import Headers, reason_of

_TOKEN = rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"
# One blank or none after the colon, no blank at the end, only printable ASCII: other forms are legal and go to h11.
_HEAD = re.compile(rb"([A-Z]{3,10}) (/[!-~]*) HTTP/1\.1\r\n((?:" + _TOKEN + rb": ?[!-~](?:[ -~]*[!-~])?\r\n)+)\r\n")
_FIELD = re.compile(rb"(" + _TOKEN + rb"): ?([^\r]*)\r\n")
_NAME = re.compile(_TOKEN)

# Fields that change how a message is framed or what happens to the connection.
_DECIDING = frozenset((b"transfer-encoding", b"expect", b"upgrade", b"te", b"trailer"))
_LENGTH_DIGITS_MAX = 12
_known_names: set[bytes] = set()         # of answers; found legal once, so few that no bound is needed
_NAMES_MAX = 1_000


class WholeRequest(NamedTuple):
    """A request with its body, and where in the data it ends."""

    method: str
    target: str
    headers: Headers
    body_start: int
    end: int


def whole_request(data: bytes, header_bytes_max: int) -> WholeRequest | None:
    """The request that `data` begins with, if it is plain and whole; else None."""
    match = _HEAD.match(data)
    if match is None or match.end() > header_bytes_max:
        return None
    rows = [(name.lower(), value) for name, value in _FIELD.findall(match[3])]
    length = hosts = 0
    lengths = 0
    for name, value in rows:
        if name == b"host":
            hosts += 1
        elif name == b"content-length":
            if not value.isdigit() or len(value) > _LENGTH_DIGITS_MAX:
                return None
            lengths += 1
            length = int(value)
        elif name == b"connection":
            if value.lower() != b"keep-alive":
                return None
        elif name in _DECIDING:
            return None
    method = match[1]
    if hosts != 1 or lengths > 1 or method in (b"HEAD", b"CONNECT"):
        return None
    start = match.end()
    end = start + length
    if end > len(data):
        return None
    return WholeRequest(method.decode("ascii"), match[2].decode("ascii"), Headers(rows), start, end)


def answer_head(status: int, rows: list[tuple[bytes, bytes]]) -> bytes:
    """Status line and fields of an answer. Raises ValueError where a field is illegal."""
    lines = [b"HTTP/1.1 %d %s" % (status, reason_of(status))]
    for name, value in rows:
        if name not in _known_names:
            if not _NAME.fullmatch(name):
                raise ValueError(f"{name!r} is no field name")
            if len(_known_names) < _NAMES_MAX:
                _known_names.add(name)
        lines.append(name + b": " + value)
    head = b"\r\n".join(lines)
    ends = len(rows)
    if head.count(b"\r") != ends or head.count(b"\n") != ends or b"\0" in head:
        raise ValueError("a field's value holds a line end")
    return head + b"\r\n\r\n"
