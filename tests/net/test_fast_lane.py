"""The fast lane reads a request exactly as h11 does, or leaves it alone."""

from __future__ import annotations

import h11
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rulith.net.fast_lane import answer_head, whole_request

MAX = 32_768


def read_by_h11(data: bytes):
    """(method, target, rows, body, rest) of the first request, or None when h11 does not find one whole."""
    http = h11.Connection(h11.SERVER)
    http.receive_data(data)
    try:
        request, body = http.next_event(), b""
        if type(request) is not h11.Request:
            return None
        while type(event := http.next_event()) is h11.Data:
            body += bytes(event.data)
        if type(event) is not h11.EndOfMessage:
            return None
    except h11.RemoteProtocolError:
        return None
    return request.method.decode(), request.target.decode(), list(request.headers), body, http.trailing_data[0]


def read_by_lane(data: bytes):
    whole = whole_request(data, MAX)
    if whole is None:
        return None
    return whole.method, whole.target, whole.headers.rows, data[whole.body_start:whole.end], data[whole.end:]


PLAIN = b"POST /mcp?x=1 HTTP/1.1\r\nHost: 127.0.0.1:7781\r\nContent-Length: 5\r\nAuthorization: Bearer x\r\n\r\nhello"


def test_a_plain_request_takes_the_lane() -> None:
    assert read_by_lane(PLAIN + b"GET /next") == read_by_h11(PLAIN + b"GET /next") is not None
    get = b"GET / HTTP/1.1\r\nhost:a\r\nConnection: Keep-Alive\r\n\r\n"
    assert read_by_lane(get) == read_by_h11(get) is not None


@pytest.mark.parametrize("data", [
    PLAIN[:-1],                                                                    # the body is not all there
    PLAIN[:40],
    b"GET / HTTP/1.0\r\nHost: a\r\n\r\n",
    b"HEAD / HTTP/1.1\r\nHost: a\r\n\r\n",
    b"CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n",
    b"GET / HTTP/1.1\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: a\r\nConnection: keep-alive, upgrade\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 0\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
    b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +1\r\n\r\na",
    b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1, 1\r\n\r\na",
    b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length : 1\r\n\r\na",
    b"POST / HTTP/1.1\r\nHost: a\r\nX:\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: a\r\nX: a\r\n folded\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: a\r\nX: a \r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: a\r\nX: \xe9\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: a\r\nX: a\x00b\r\n\r\n",
    b"POST / HTTP/1.1\nHost: a\n\n",
    b"POST / HTTP/1.1\r\nHost: a\rX: b\r\n\r\n",
    b"POST http://a/ HTTP/1.1\r\nHost: a\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"a" * MAX + b"\r\n\r\n",
    b"",
])
def test_whatever_is_not_plain_is_left_to_h11(data: bytes) -> None:
    assert whole_request(data, MAX) is None


PIECES = st.sampled_from([
    b"GET", b"POST", b"HEAD", b"X", b" ", b"/", b"/a?b=c", b" HTTP/1.1", b" HTTP/1.0", b"\r\n", b"\r", b"\n", b"Host: a", b"host:a",
    b"Content-Length: 3", b"content-length:0", b"Content-Length: 03", b"Transfer-Encoding: chunked", b"Connection: keep-alive",
    b"Connection: close", b"X: y", b"X:  y", b"X: y\t", b"Expect: 100-continue", b"abc", b"0", b"\t", b":", b"\x80", b"\x00", b"te: x",
])
SHAPED = st.tuples(
    st.sampled_from([b"GET / HTTP/1.1\r\n", b"POST /a HTTP/1.1\r\n", b"PUT /%20 HTTP/1.1\r\n"]),
    st.lists(PIECES.map(lambda piece: piece + b"\r\n"), max_size=5), st.just(b"Host: h\r\n"), st.lists(PIECES, max_size=4),
).map(lambda parts: parts[0] + b"".join(parts[1]) + parts[2] + b"\r\n" + b"".join(parts[3]))


@settings(max_examples=600, deadline=None)
@given(st.one_of(SHAPED, st.lists(PIECES, max_size=14).map(b"".join)))
def test_what_takes_the_lane_is_read_as_h11_reads_it(data: bytes) -> None:
    found = read_by_lane(data)
    if found is not None:
        assert found == read_by_h11(data)


@settings(max_examples=300, deadline=None)
@given(st.integers(0, len(PLAIN) - 1), st.binary(min_size=1, max_size=2))
def test_one_changed_byte_never_makes_the_two_differ(at: int, change: bytes) -> None:
    data = PLAIN[:at] + change + PLAIN[at + 1:]
    found = read_by_lane(data)
    if found is not None:
        assert found == read_by_h11(data)


def test_an_answer_reads_back_and_an_illegal_field_is_refused() -> None:
    http = h11.Connection(h11.CLIENT)
    http.send(h11.Request(method="GET", target="/", headers=[("host", "a")]))
    http.send(h11.EndOfMessage())
    http.receive_data(answer_head(200, [(b"content-type", b"text/plain"), (b"content-length", b"0")]))
    response = http.next_event()
    assert (response.status_code, response.reason) == (200, b"OK")
    for row in ((b"x", b"a\r\nb: c"), (b"x", b"a\nb"), (b"x", b"a\0"), (b"x y", b"a"), (b"x:", b"a"), (b"", b"a"), (b"x\r\n", b"")):
        with pytest.raises(ValueError):
            answer_head(200, [row])
