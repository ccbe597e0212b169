"""Every answer that a gateway or something in its place may give, read whole, byte by byte, and with bytes behind it.

One table: what arrives, and what it means for the one call that waits. Source  the MCP surface,
"Transport and identity", "Takeover" and "Client view of each failure".
"""

from __future__ import annotations

import json
import random

import pytest

from rulith.wire.jsonrpc import error, result
from rulith.wire.mcp_client import (
    Answer, CredentialRejected, Failed, Lost, NotExecuted, Progress, Replaced, ReplyReader, RequiredClient, VersionRefused,
)

ID, TOKEN = "u-1", "progress_u-1"
JSON = {"content-type": "application/json", "mcp-session-id": "s-1"}
STREAM = {"content-type": "text/event-stream; charset=utf-8", "mcp-session-id": "s-1"}
TEXT = {"content-type": "text/html", "mcp-session-id": "s-1"}
FOREIGN = {"content-type": "application/json", "mcp-session-id": "s-9"}
BARE = {"content-type": "application/json"}
OK = {"content": [{"type": "text", "text": "Größe ✓ 😀"}]}
REPLACED = {"reason": "connection_replaced"}
VERSION = {"reason": "incompatible_client", "requiredClient": {"package": "rulith", "version": "1.2.3"}}
FINAL = {"reason": "material_proof_unavailable", "requestExecuted": False, "teaching": "no"}


def frame(message: object, end: str = "\n", id: str = "") -> bytes:
    head = f"id: {id}{end}" if id else ""
    return f"{head}data: {json.dumps(message, ensure_ascii=False)}{end}{end}".encode()


def progress(token: str = TOKEN, **meta: object) -> dict:
    return {"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": token, "progress": 1, "_meta": {"rulith/v3": meta}}}


def body(message: object) -> bytes:
    return json.dumps(message, ensure_ascii=False).encode()


def lost(code: str):
    return lambda verdict: isinstance(verdict, Lost) and verdict.code == code


def equals(wanted: object):
    return lambda verdict: verdict == wanted


ANSWERED = equals(Answer(OK, "s-1"))
SPLIT = json.dumps(result(ID, OK), indent=1)

#   what arrives                         status headers  bytes                                                  what it means
TABLE = [
    ("an answer as JSON", 200, JSON, body(result(ID, OK)), ANSWERED),
    ("an answer in a batch", 200, JSON, body([result("u-2", {}), result(ID, OK)]), ANSWERED),
    ("an answer without a session header", 200, BARE, body(result(ID, OK)), ANSWERED),
    ("an answer as a stream", 200, STREAM, frame(result(ID, OK)), ANSWERED),
    ("a stream with CRLF", 200, STREAM, frame(result(ID, OK), "\r\n", "4.1"), ANSWERED),
    ("a stream with CR", 200, STREAM, frame(result(ID, OK), "\r", "4.1"), ANSWERED),
    ("a stream whose last event has no blank line", 200, STREAM, b"data: " + body(result(ID, OK)), ANSWERED),
    ("data over several lines", 200, STREAM, "".join(f"data: {line}\n" for line in SPLIT.split("\n")).encode() + b"\n", ANSWERED),
    ("comments, priming and others' messages first", 200, STREAM,
     b": warm\n\nretry: 5\nid: 3.1\ndata:\n\n" + frame(result("u-2", {})) + frame(progress("someone")) + frame(result(ID, OK)), ANSWERED),
    ("a batch as an event", 200, STREAM, frame([progress("someone"), result(ID, OK)]), ANSWERED),
    ("an answer twice", 200, STREAM, frame(result(ID, OK)) + frame(result(ID, {"content": []})), ANSWERED),
    ("an error of the call", 200, JSON, body(error(ID, -32602, "bad", {"reason": "x"})), equals(Failed(-32602, "bad", {"reason": "x"}))),
    ("an error of the call, streamed", 200, STREAM, frame(error(ID, -32602, "bad")), equals(Failed(-32602, "bad", {}))),

    ("a takeover", 409, JSON, body(error(ID, -32000, "", {**REPLACED, "requestExecuted": False})), equals(Replaced(None, True))),
    ("a takeover of an admitted call", 409, JSON, body(error(ID, -32000, "", {**REPLACED, "ordinal": 7})), equals(Replaced(7, False))),
    ("a takeover while held", 200, STREAM, frame(error(ID, -32000, "", {**REPLACED, "ordinal": 7})), equals(Replaced(7, False))),
    ("a takeover without the code", 409, JSON, body(error(ID, -32001, "", REPLACED)), lost("upstream_unavailable")),
    ("a takeover without the reason", 409, JSON, body(error(ID, -32000, "", {"reason": "Connection_Replaced"})), lost("upstream_unavailable")),
    ("another conflict", 409, JSON, b"busy", lost("upstream_unavailable")),
    ("the one final conflict", 409, JSON, body(error(ID, -32000, "", FINAL)), equals(NotExecuted("material_proof_unavailable", "no"))),
    ("that conflict for another call", 409, JSON, body(error("u-2", -32000, "", FINAL)), lost("upstream_unavailable")),
    ("that conflict of another session", 409, FOREIGN, body(error(ID, -32000, "", FINAL)), lost("upstream_unavailable")),
    ("that conflict, perhaps executed", 409, JSON, body(error(ID, -32000, "", {**FINAL, "requestExecuted": None})), lost("upstream_unavailable")),
    ("a rejected credential", 401, JSON, body({"jsonrpc": "2.0", "id": None, "teaching": "no such token", "error": {"code": -32000, "message": "",
     "data": {"reason": "unauthenticated"}}}), equals(CredentialRejected("no such token", "unauthenticated", None))),
    ("a rejected credential by something else", 401, TEXT, b"<h1>Who are you?</h1>", equals(CredentialRejected("", "", None))),
    ("a version refusal that is none here", 400, JSON, body(error(ID, -32000, "", VERSION)), lost("upstream_unavailable")),
    ("a ledger that takes no commits", 503, JSON, body(error(ID, -32603, "no", {"reason": "store_unavailable", "teaching": "disk full"})),
     lambda found: lost("upstream_unavailable")(found) and found.store == "disk full"),

    ("an ended session", 404, JSON, body(error(None, -32001, "gone")), lost("session_expired")),
    ("a forbidden page", 403, TEXT, b"no", lost("upstream_unavailable")),
    ("a misdirected request", 421, TEXT, b"", lost("upstream_unavailable")),
    ("too many requests", 429, {**JSON, "retry-after": "5"}, body(error(None, -32000, "slow")), lost("upstream_unavailable")),
    ("a server error", 500, TEXT, b"oops", lost("upstream_unavailable")),
    ("a bad gateway", 502, TEXT, b"<html>", lost("upstream_unavailable")),
    ("unavailable", 503, TEXT, b"later", lost("upstream_unavailable")),
    ("a gateway timeout", 504, {}, b"", lost("upstream_unavailable")),
    ("a redirect", 307, {"location": "http://elsewhere/mcp"}, b"", lost("upstream_unavailable")),
    ("no content", 204, {}, b"", lost("upstream_unavailable")),
    ("a hotel's page", 200, TEXT, b"<html>Sign in</html>", lost("upstream_unavailable")),
    ("an answer to another call", 200, JSON, body(result("u-2", OK)), lost("response_not_correlated")),
    ("an id of another type", 200, JSON, body(result(1, OK)), lost("response_not_correlated")),
    ("another protocol", 200, JSON, body({**result(ID, OK), "jsonrpc": "1.0"}), lost("response_not_correlated")),
    ("an answer of another session", 200, FOREIGN, body(result(ID, OK)), lost("response_not_correlated")),
    ("a stream of another session", 200, {**STREAM, "mcp-session-id": "s-9"}, frame(result(ID, OK)), lost("response_not_correlated")),
    ("half an answer", 200, JSON, body(result(ID, OK))[:-5], lost("upstream_unavailable")),
    ("an answer that is no JSON", 200, JSON, b"\xff\xfe", lost("upstream_unavailable")),
    ("an answer with a rounded number", 200, JSON, body(result(ID, {"n": 2**53 + 1})), lost("upstream_unavailable")),
    ("nothing", 200, JSON, b"", lost("upstream_unavailable")),
    ("a stream that ends", 200, STREAM, b": warm\n\n", lost("response_lost")),
    ("a stream that ends inside an event", 200, STREAM, frame(result(ID, OK))[:40], lost("response_lost")),
    ("a stream of garbage", 200, STREAM, b"data: {\n\n", lost("response_not_correlated")),
    ("a stream of something else", 200, STREAM, b"<html>Sign in</html>", lost("response_lost")),
    ("an announced size over the limit", 200, {**JSON, "content-length": str(2**40)}, b"", lost("response_too_large")),
    ("more bytes than the limit", 200, JSON, b" " * 3_000, lost("response_too_large")),
    ("an event over the limit", 200, STREAM, b"data: " + b"x" * 3_000, lost("response_too_large")),
]
BEHIND = {"application/json": b" \r\n\t", "text/event-stream": b": late\n\n" + frame({"jsonrpc": "2.0", "method": "x"}) + b"data: {\"jsonrpc\""}
WAYS = ["whole", "byte by byte", "with bytes behind it"]


def read(status: int, headers: dict, data: bytes, way: str, **more: object) -> list:
    """All events of one reply; a verdict ends it."""
    reader = ReplyReader(ID, "s-1", progress_token=TOKEN, body_bytes_max=2_000, **more)
    if way == "with bytes behind it":
        data += BEHIND.get(headers.get("content-type", "").partition(";")[0], b"")
    events = reader.start(status, headers)
    for piece in [data[at:at + 1] for at in range(len(data))] if way == "byte by byte" else [data]:
        events += reader.receive(piece)
    return events + reader.finish()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("status, headers, data, means", [row[1:] for row in TABLE], ids=[row[0] for row in TABLE])
def test_what_arrives_means_the_same_however_it_is_cut(status, headers, data, means, way):
    if way == "with bytes behind it" and b"data:" in data and not data.endswith((b"\n", b"\r")):
        pytest.skip("what follows an unfinished event is part of it")
    (verdict,) = read(status, headers, data, way)
    assert means(verdict), verdict


@pytest.mark.parametrize("way", WAYS)
def test_progress_is_heard_before_the_answer_however_it_is_cut(way):
    data = frame(progress(ordinal=7), id="4.1") + frame(progress(), "\r\n", "4.2") + frame(result(ID, OK), "\r")
    assert read(200, STREAM, data, way) == [Progress(1, 7), Progress(1, None), Answer(OK, "s-1")]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("code, reason, means", [
    (-32000, "incompatible_client", VersionRefused("incompatible_client", "no", RequiredClient("rulith", "1.2.3"))),
    (-32000, "unsupported_protocol", VersionRefused("unsupported_protocol", "no", RequiredClient("rulith", "1.2.3"))),
    (-32001, "incompatible_client", None), (-32000, "some_reason", None)])
def test_a_version_refusal_is_one_on_initialize_only(code, reason, means, way):
    data = body(error(ID, code, "no", {**VERSION, "reason": reason}))
    (verdict,) = read(400, JSON, data, way, is_initialize=True)
    assert verdict == means if means else lost("upstream_unavailable")(verdict)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("status, headers, data, code", [
    (405, JSON, b"", "response_lost"), (200, JSON, body(result(ID, OK)), "response_lost"), (404, JSON, b"", "session_expired"),
    (500, TEXT, b"oops", "response_lost"), (200, STREAM, b": warm\n\n", "response_lost")])
def test_what_cannot_be_gone_on_with_is_lost_however_it_is_cut(status, headers, data, code, way):
    (verdict,) = read(status, headers, data, way, resumes=True)
    assert lost(code)(verdict), verdict


@pytest.mark.parametrize("way", WAYS)
def test_a_cut_stream_that_goes_on_brings_the_answer(way):
    assert read(200, STREAM, frame(progress(ordinal=3)) + frame(result(ID, OK)), way, resumes=True) == [Progress(1, 3), Answer(OK, "s-1")]


@pytest.mark.parametrize("way", WAYS[:2])
def test_a_stream_is_not_gone_on_with_after_an_event_that_was_cut(way):
    """Past bug: the id of the torn event became the cursor, and the answer would have been skipped."""
    reader = ReplyReader(ID, "s-1", progress_token=TOKEN)
    reader.start(200, STREAM)
    data = frame(progress(ordinal=3), id="4.1") + frame(result(ID, OK), id="4.2")[:-30]
    for piece in [data[at:at + 1] for at in range(len(data))] if way == "byte by byte" else [data]:
        reader.receive(piece)
    (verdict,) = reader.finish()
    assert lost("response_lost")(verdict) and reader.can_resume and reader.cursor == "4.1"


@pytest.mark.parametrize("seed", range(20))
def test_whatever_bytes_come_there_is_one_verdict_and_it_does_not_hang_on_how_they_were_cut(seed):
    """Answers with bytes changed, dropped, doubled and mixed: read whole and in pieces, with one and the same end."""
    rng = random.Random(seed)
    for _ in range(100):
        _, status, headers, data, _ = rng.choice(TABLE)
        data = bytearray(data[:2_500])
        for _ in range(rng.randrange(4)):
            at = rng.randrange(len(data) + 1)
            act = rng.randrange(4)
            if act == 0:
                data[at:at] = rng.randbytes(rng.randrange(4))
            elif act == 1:
                del data[at:at + rng.randrange(20)]
            elif act == 2:
                data[at:at] = data[:rng.randrange(60)]
            else:
                data[at:at + 1] = rng.choice((b"\n", b"\r", b"\x00", b"\xff", b'"', b"\\", b"}", b"data: "))
        headers = dict(headers, **rng.choice(({}, {"content-length": "9" * rng.randrange(1, 30)}, {"mcp-session-id": "\x00"}, {"content-type": ""})))
        ends = []
        for cuts in (0, rng.randrange(1, 8)):
            edges = [0, *sorted(rng.randrange(len(data) + 1) for _ in range(cuts)), len(data)]
            reader = ReplyReader(ID, "s-1", progress_token=TOKEN, body_bytes_max=2_000)
            events = reader.start(status, headers)
            for start, end in zip(edges, edges[1:]):
                events += reader.receive(bytes(data[start:end]))
            events += reader.finish()
            assert len([event for event in events if not isinstance(event, Progress)]) == 1 and not isinstance(events[-1], Progress)
            ends.append([type(event).__name__ + getattr(event, "code", "") if isinstance(event, Lost) else event for event in events])
        assert ends[0] == ends[1], (status, headers, bytes(data))
