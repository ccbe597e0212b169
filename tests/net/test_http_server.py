"""The HTTP server against raw bytes: every answer has a reason, every wait an end."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Awaitable, Callable

import pytest

from rulith.base.errors import Refused
from rulith.net.server import (
    HttpLimits,
    Request,
    Response,
    Server,
    StreamResponse,
    json_response,
    serve,
    text_response,
)

BOUND_S = 60.0


def run(scenario: Callable[[], Awaitable[None]]) -> None:
    asyncio.run(asyncio.wait_for(scenario(), BOUND_S))


async def echo(request: Request) -> Response:
    return json_response(200, {"method": request.method, "path": request.path, "query": request.query,
                               "body": request.body.decode("latin-1")})


async def all_of(server: Server, data: bytes, *, close: bool = False, one_by_one: bool = False) -> bytes:
    """Everything the server answers to `data` until it closes; `close` half-closes after sending."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if one_by_one:
        for at in range(len(data)):
            writer.write(data[at:at + 1])
            await writer.drain()
    else:
        writer.write(data)
    if close:
        writer.write_eof()
    try:
        return await reader.read()
    except ConnectionResetError:
        return b"<reset>"
    finally:
        writer.close()


def statuses(answer: bytes) -> list[int]:
    """The status of each response in `answer`, found by its status line."""
    return [int(line.split(b" ")[1]) for line in answer.split(b"\r\n") if line.startswith(b"HTTP/1.1 ")] + [
        int(part.split(b" ")[1]) for part in answer.split(b"}")[1:] if part.startswith(b"HTTP/1.1 ")]


GET = b"GET /a%20b?x=1&y=&x=2 HTTP/1.1\r\nHost: a\r\n\r\n"
LAST = b"GET /last HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
POST = b"POST /p HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello"
CHUNKED = b"POST /c HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3;x=y\r\nllo\r\n0\r\nT: v\r\n\r\n"


@pytest.mark.parametrize("one_by_one", [False, True])
@pytest.mark.parametrize(("sent", "found"), [
    (GET, b'{"method":"GET","path":"/a b","query":{"x":"1","y":""},"body":""}'),
    (POST, b'{"method":"POST","path":"/p","query":{},"body":"hello"}'),
    (CHUNKED, b'{"method":"POST","path":"/c","query":{},"body":"hello"}'),
])
def test_a_request_arrives_whole_however_it_was_cut(sent: bytes, found: bytes, one_by_one: bool) -> None:
    async def scenario() -> None:
        server = await serve(echo)
        answer = await all_of(server, sent + LAST, one_by_one=one_by_one)
        assert found in answer and b'"path":"/last"' in answer
        assert answer.count(b"HTTP/1.1 200 OK\r\n") == 2
        await server.close()
    run(scenario)


def test_pipelined_requests_are_answered_one_after_the_other() -> None:
    running = []

    async def handler(request: Request) -> Response:
        running.append(request.path)
        assert len(running) == 1, "two requests of one connection ran together"
        await asyncio.sleep(0)
        running.remove(request.path)
        return text_response(200, request.path)

    async def scenario() -> None:
        server = await serve(handler)
        sent = b"".join(b"GET /%d HTTP/1.1\r\nHost: a\r\n\r\n" % n for n in range(200)) + LAST
        answer = await all_of(server, sent)
        order = [part.rpartition(b"\r\n\r\n")[2] for part in answer.split(b"HTTP/1.1 200 OK\r\n")[1:]]
        assert order == [b"/%d" % n for n in range(200)] + [b"/last"]
        await server.close()
    run(scenario)


def test_much_pipelined_data_waits_outside_while_one_request_runs() -> None:
    async def scenario() -> None:
        release = asyncio.Event()

        async def handler(request: Request) -> Response:
            await release.wait()
            return text_response(200, "x")

        server = await serve(handler)
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(GET)
        body = b"y" * 600_000
        writer.write(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % len(body) + body + LAST)
        while not any(len(each.waiting) > 65_536 for each in server.connections):
            await asyncio.sleep(0)
        connection = next(iter(server.connections))
        assert not connection.transport.is_reading()
        release.set()
        answer = await reader.read()
        assert answer.count(b"HTTP/1.1 200 OK") == 3
        writer.close()
        await server.close()
    run(scenario)


@pytest.mark.parametrize(("sent", "status"), [
    (b"rubbish\r\n\r\n", 400),
    (b"GET / HTTP/1.1\r\n\r\n", 400),                                                    # no Host
    (b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400),
    (b"GET / HTTP/1.1\r\nHost: a\r\nbad header\r\n\r\n", 400),
    (b"GET / HTTP/1.1\r\nHost: a\r\nX : y\r\n\r\n", 400),
    (b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400),
    (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n", 400),
    (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1x\r\n\r\n", 400),
    (b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", 501),
    (b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400),
    (b"GET / HTTP/2.0\r\nHost: a\r\n\r\n", 505),
    (b"\x16\x03\x01\x02\x00\x01\x00", 400),                                              # a TLS greeting
    (b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"a" * 40_000 + b"\r\n\r\n", 431),
    (b"GET /" + b"a" * 40_000 + b" HTTP/1.1\r\nHost: a\r\n\r\n", 431),
    (b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"a" * 70_000, 431),                         # never ends
    (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999\r\n\r\n", 413),
    (b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" + b"20000\r\n" + b"x" * 0x20000 + b"\r\n", 413),
    (b"GE", 400),                                                                         # and then the end
])
def test_what_is_no_acceptable_request_is_answered_and_ends(sent: bytes, status: int) -> None:
    bugs: list[BaseException] = []

    async def scenario() -> None:
        server = await serve(echo, limits=HttpLimits(body_bytes_max=100_000, linger_s=0.2), on_bug=bugs.append)
        answer = await all_of(server, sent, close=sent == b"GE")
        head, _, body = answer.partition(b"\r\n\r\n")
        first = head.split(b"\r\n")[0].split(b" ", 2)
        assert first[0] == b"HTTP/1.1" and int(first[1]) == status and first[2] and body
        assert b"Traceback" not in answer and b"connection: close" in head.lower()
        assert (await all_of(server, LAST)).startswith(b"HTTP/1.1 200"), "the server lives on"
        await server.close()
        assert server.connections == set()
    run(scenario)
    assert bugs == []


def test_a_refusing_head_check_answers_before_the_body_is_read() -> None:
    handled = []

    async def handler(request: Request) -> Response:
        handled.append(request.path)
        return text_response(200, "ok")

    def check(request: Request) -> Response | None:
        assert request.body == b""
        return None if request.headers.get("authorization") == "Bearer good" else text_response(401, "who are you?")

    async def scenario() -> None:
        server = await serve(handler, head_check=check)
        # A body that never comes, however short: the answer does not wait for it, and its bytes are no next request.
        for framed in (b"Content-Length: 500000", b"Content-Length: 5", b"Transfer-Encoding: chunked"):
            head = b"POST /x HTTP/1.1\r\nHost: a\r\n" + framed + b"\r\n\r\n"
            for sent in (head, head + b"abc"):
                answer = await all_of(server, sent)
                assert answer.startswith(b"HTTP/1.1 401 Unauthorized\r\n") and answer.endswith(b"who are you?")
                assert b"\r\nconnection: close\r\n" in answer and answer.count(b"HTTP/1.1") == 1
            cut = await all_of(server, head + b"5\r\nhello\r\n0\r\n\r\n", one_by_one=True)
            assert cut.count(b"HTTP/1.1") == 1 or cut == b"<reset>"
        # One that came with its head costs no wait, and the connection goes on.
        refused = b"POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello"
        good = b"POST /good HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer good\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi"
        answer = await all_of(server, refused + good)
        assert answer.count(b"HTTP/1.1 401") == 1 and answer.count(b"HTTP/1.1 200 OK") == 1
        # So does one without a body.
        answer = await all_of(server, b"GET /x HTTP/1.1\r\nHost: a\r\nAccept:  */*\r\n\r\n" + good)
        assert answer.count(b"HTTP/1.1 401") == 1 and answer.count(b"HTTP/1.1 200 OK") == 1
        assert handled == ["/good", "/good"]
        await server.close()
    run(scenario)


def test_a_head_check_may_allow_a_larger_body_for_its_route() -> None:
    def check(request: Request) -> None:
        if request.path == "/large":
            request.body_bytes_max = 1000

    async def scenario() -> None:
        server = await serve(echo, limits=HttpLimits(body_bytes_max=10), head_check=check)
        post = b"POST /%s HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 500\r\n\r\n" + b"x" * 500
        assert (await all_of(server, post.replace(b"%s", b"large"))).startswith(b"HTTP/1.1 200 OK")
        assert (await all_of(server, post.replace(b"%s", b"small"))).startswith(b"HTTP/1.1 413 ")
        await server.close()
    run(scenario)


def test_a_client_that_waits_for_100_is_told_to_go_on_or_not_to() -> None:
    def check(request: Request) -> Response | None:
        return text_response(403, "no") if request.path == "/no" else None

    async def scenario() -> None:
        server = await serve(echo, head_check=check)
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(b"POST /yes HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\nConnection: close\r\n\r\n")
        assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        writer.write(b"hi")
        assert b'"body":"hi"' in await reader.read()
        writer.close()
        answer = await all_of(server, b"POST /no HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n")
        assert answer.startswith(b"HTTP/1.1 403 Forbidden\r\n")
        await server.close()
    run(scenario)


def test_head_and_bodiless_statuses_send_no_body() -> None:
    async def handler(request: Request) -> Response:
        return Response(204) if request.path == "/none" else text_response(200, "12345")

    async def scenario() -> None:
        server = await serve(handler)
        answer = await all_of(server, b"HEAD / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        assert b"content-length: 5" in answer and answer.endswith(b"\r\n\r\n")
        answer = await all_of(server, b"GET /none HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        assert answer.startswith(b"HTTP/1.1 204 No Content\r\n") and answer.endswith(b"\r\n\r\n")
        answer = await all_of(server, b"GET / HTTP/1.0\r\n\r\n")
        assert answer.endswith(b"12345")
        await server.close()
    run(scenario)


def test_a_refused_head_request_gets_no_body_either() -> None:
    bugs: list[BaseException] = []

    async def scenario() -> None:
        server = await serve(echo, on_bug=bugs.append, limits=HttpLimits(linger_s=0.1))
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: bugs.append(context))
        for sent in (b"HEAD / HTTP/3.0\r\nHost: a\r\n\r\n", b"HEAD / HTTP/1.1\r\nHost: a\r\nX: " + b"a" * 32_760 + b"\r\n\r\n",
                     b"HEAD / HTTP/1.1\r\nHost: a\r\nContent-Length: 9999999\r\n\r\n"):
            answer = await all_of(server, sent)
            assert answer.startswith(b"HTTP/1.1 ") and answer.endswith(b"\r\n\r\n"), answer
        await server.close()
    run(scenario)
    assert bugs == []


def test_a_handlers_bug_is_500_without_its_text_and_the_connection_goes_on() -> None:
    bugs: list[BaseException] = []

    async def handler(request: Request) -> Response:
        if request.path == "/last":
            return text_response(200, "fine")
        raise ValueError("the secret is 42")

    async def scenario() -> None:
        server = await serve(handler, on_bug=bugs.append)
        answer = await all_of(server, GET + LAST)
        assert answer.startswith(b"HTTP/1.1 500 Internal Server Error\r\n") and answer.endswith(b"fine")
        assert b"42" not in answer
        await server.close()
    run(scenario)
    assert [str(bug) for bug in bugs] == ["the secret is 42"]


def test_an_illegal_answer_is_a_bug_of_the_handler_and_never_reaches_the_wire() -> None:
    bugs: list[BaseException] = []

    async def handler(request: Request) -> Response:
        return text_response(200, "x", {"x-note": "a\r\nset-cookie: stolen"})

    async def scenario() -> None:
        server = await serve(handler, on_bug=bugs.append)
        assert b"stolen" not in await all_of(server, GET)
        await server.close()
    run(scenario)
    assert len(bugs) == 1


@pytest.mark.parametrize(("sent", "answered"), [
    (b"", b""),                                                     # connected and silent
    (b"GET / HT", b"HTTP/1.1 408 Request Timeout\r\n"),             # a head that stops
    (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nabc", b"HTTP/1.1 408 Request Timeout\r\n"),
])
def test_what_does_not_come_in_time_is_ended(sent: bytes, answered: bytes) -> None:
    async def scenario() -> None:
        limits = HttpLimits(header_timeout_s=0.05, body_timeout_s=0.05, idle_s=0.05, linger_s=0.05)
        server = await serve(echo, limits=limits)
        assert (await all_of(server, sent)).startswith(answered)
        await server.close()
    run(scenario)


def test_an_idle_kept_connection_is_closed_quietly() -> None:
    async def scenario() -> None:
        server = await serve(echo, limits=HttpLimits(idle_s=0.05))
        answer = await all_of(server, POST)
        assert answer.startswith(b"HTTP/1.1 200 OK") and b"408" not in answer
        await server.close()
    run(scenario)


def test_a_stream_arrives_in_pieces_and_ends_cleanly() -> None:
    async def handler(request: Request) -> StreamResponse:
        async def chunks():
            for text in (b"data: 1\n\n", b"", b"data: 2\n\n"):
                yield text
        return StreamResponse(200, {"content-type": "text/event-stream"}, chunks())

    async def scenario() -> None:
        server = await serve(handler)
        answer = await all_of(server, GET + LAST)
        head, _, body = answer.partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200 OK\r\n")
        assert body.startswith(b"9\r\ndata: 1\n\n\r\n9\r\ndata: 2\n\n\r\n0\r\n\r\nHTTP/1.1 200 OK")
        assert b"data: 2" in await all_of(server, b"GET / HTTP/1.0\r\n\r\n")
        await server.close()
    run(scenario)


@pytest.mark.parametrize("abrupt", [False, True])
def test_a_stream_is_closed_when_its_client_leaves(abrupt: bool) -> None:
    async def scenario() -> None:
        closed = asyncio.Event()

        async def handler(request: Request) -> StreamResponse:
            async def chunks():
                try:
                    yield b"first"
                    await asyncio.get_running_loop().create_future()     # nothing more to say
                finally:
                    closed.set()
            return StreamResponse(200, {}, chunks())

        server = await serve(handler)
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(GET)
        await reader.readuntil(b"first")
        if abrupt:
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            writer.transport.abort()
        else:
            writer.close()
        await closed.wait()
        while server.connections:
            await asyncio.sleep(0)
        await server.close()
    run(scenario)


def test_a_stream_that_fails_is_cut_so_that_nobody_takes_it_for_whole() -> None:
    bugs: list[BaseException] = []

    async def handler(request: Request) -> StreamResponse:
        async def chunks():
            yield b"first"
            raise RuntimeError("half way")
        return StreamResponse(200, {}, chunks())

    async def scenario() -> None:
        server = await serve(handler, on_bug=bugs.append)
        answer = await all_of(server, GET)
        assert b"\r\n0\r\n\r\n" not in answer
        await server.close()
    run(scenario)
    assert len(bugs) == 1


def test_a_client_that_reads_nothing_is_cut_off() -> None:
    async def handler(request: Request) -> StreamResponse:
        async def chunks():
            while True:
                yield b"x" * 65_536
        return StreamResponse(200, {}, chunks())

    async def scenario() -> None:
        server = await serve(handler, limits=HttpLimits(send_timeout_s=0.05))
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port, limit=1024)
        writer.transport.pause_reading()
        writer.write(GET)
        await asyncio.sleep(0)
        while not server.connections:
            await asyncio.sleep(0)
        while server.connections:
            await asyncio.sleep(0.005)
        writer.transport.abort()
        await server.close()
    run(scenario)


def test_a_handler_can_tell_that_its_client_has_gone() -> None:
    async def scenario() -> None:
        told: asyncio.Future[bool] = asyncio.get_running_loop().create_future()

        async def handler(request: Request) -> Response:
            before = request.is_client_gone()
            await request.wait_client_gone()
            told.set_result((before, request.is_client_gone()))
            return text_response(200, "nobody reads this")

        server = await serve(handler)
        _, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(GET)
        while not any(each.busy for each in server.connections):
            await asyncio.sleep(0)
        writer.close()
        assert await told == (False, True)
        await server.close()
    run(scenario)


def test_a_half_closed_client_still_gets_its_answer() -> None:
    async def scenario() -> None:
        release = asyncio.Event()

        async def handler(request: Request) -> Response:
            await request.wait_client_gone()
            return text_response(200, "still here")

        server = await serve(handler)
        assert (await all_of(server, GET, close=True)).endswith(b"still here")
        release.set()
        await server.close()
    run(scenario)


def test_closing_lets_running_requests_finish_and_cancels_the_rest() -> None:
    async def scenario() -> None:
        entered, release = asyncio.Event(), asyncio.Event()

        async def handler(request: Request) -> Response:
            entered.set()
            await (release.wait() if request.path == "/last" else asyncio.get_running_loop().create_future())
            return text_response(200, "done")

        server = await serve(handler)
        finishing = asyncio.ensure_future(all_of(server, LAST.replace(b"Connection: close\r\n", b"")))
        await entered.wait()
        idle = asyncio.ensure_future(all_of(server, b""))
        entered.clear()
        hanging = asyncio.ensure_future(all_of(server, GET))
        await entered.wait()
        asyncio.get_running_loop().call_soon(release.set)
        await server.close(drain_s=0.1)
        answer = await finishing
        assert answer.endswith(b"done") and b"connection: close" in answer
        assert await idle == b"" and await hanging in (b"", b"<reset>")
        assert server.connections == set()
        with pytest.raises(OSError):
            await asyncio.open_connection("127.0.0.1", server.port)
        await server.close()
    run(scenario)


def test_a_taken_port_is_a_refusal_that_names_it() -> None:
    async def scenario() -> None:
        server = await serve(echo)
        with pytest.raises(Refused) as refusal:
            await serve(echo, port=server.port)
        assert refusal.value.code == "port_in_use" and str(server.port) in str(refusal.value)
        with pytest.raises(Refused) as refusal:
            await serve(echo, host="192.0.2.1")
        assert refusal.value.code == "address_unusable"
        await server.close()
    run(scenario)


def test_connections_over_the_limit_are_told_and_closed() -> None:
    async def scenario() -> None:
        server = await serve(echo, limits=HttpLimits(connections_max=2, linger_s=0.1))
        kept = [await asyncio.open_connection("127.0.0.1", server.port) for _ in range(2)]
        while len(server.connections) < 2:
            await asyncio.sleep(0)
        assert (await all_of(server, b"")).startswith(b"HTTP/1.1 503 Service Unavailable\r\n")
        kept.pop()[1].close()
        while len(server.connections) > 1:
            await asyncio.sleep(0)
        assert (await all_of(server, LAST)).startswith(b"HTTP/1.1 200 OK\r\n")
        kept.pop()[1].close()
        await server.close()
    run(scenario)
