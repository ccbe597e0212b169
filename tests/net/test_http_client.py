"""The HTTP client: what was sent, what may have been, and who answers for it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from rulith.base.clock import ManualClock
from rulith.base.errors import Refused
from rulith.net.client import HttpClient, NetFailed
from rulith.net.link import Link, within
from rulith.net.server import HttpLimits, Request, Response, StreamResponse, serve, text_response

BOUND_S = 60.0


def run(scenario: Callable[[], Awaitable[None]]) -> None:
    asyncio.run(asyncio.wait_for(scenario(), BOUND_S))


async def scripted(*answers: bytes | None):
    """A peer that answers each request it reads with the next of `answers`; it closes after any but OK (None: at once).

    Returns its base URL, the list of request heads it read, and how to stop it.
    """
    heads: list[bytes] = []
    left = list(answers)

    async def serve_one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while left:
                head = await reader.readuntil(b"\r\n\r\n")
                heads.append(head)
                for line in head.lower().split(b"\r\n"):
                    if line.startswith(b"content-length:"):
                        await reader.readexactly(int(line.split(b":")[1]))
                answer = left.pop(0)
                if answer is None:
                    return
                writer.write(answer)
                await writer.drain()
                if answer is not OK:
                    return
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    listener = await asyncio.start_server(serve_one, "127.0.0.1", 0)
    port = listener.sockets[0].getsockname()[1]
    return f"http://127.0.0.1:{port}", heads, listener.close


def failure(**expected: object):
    class Expect:
        def __enter__(self):
            return self

        def __exit__(self, kind, problem, trace):
            assert kind is NetFailed, problem
            assert {key: getattr(problem, key) for key in expected} == expected, problem
            return True
    return Expect()


OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


def test_a_connection_is_kept_and_used_again() -> None:
    peers = set()

    async def handler(request: Request) -> Response:
        peers.add(id(request._gone))
        return text_response(200, request.body.decode() or "none")

    async def scenario() -> None:
        server, client = await serve(handler), HttpClient(environ={})
        for n in range(20):
            answer = await client.request("POST", f"http://127.0.0.1:{server.port}/x?y=1", {"x-n": str(n)}, b"%d" % n)
            assert (answer.status, answer.text()) == (200, str(n))
        assert len(peers) == 1
        answers = await asyncio.gather(*[client.request("GET", f"http://127.0.0.1:{server.port}/") for _ in range(10)])
        assert {answer.text() for answer in answers} == {"none"}
        await client.close()
        await server.close()
        assert server.connections == set()
    run(scenario)


def test_nothing_was_sent_when_nobody_listens() -> None:
    async def scenario() -> None:
        client = HttpClient(environ={})
        with failure(sent=False, cause="connect"):
            await client.request("POST", "http://127.0.0.1:1/", {}, b"pay")
        with failure(sent=False, cause="resolve"):
            await client.request("POST", "http://no-such-host.invalid/", {}, b"pay")
        url, heads, stop = await scripted(OK)
        with failure(sent=False, cause="header"):
            await client.request("POST", url, {"authorization": "Bearer a\nb"}, b"pay")
        assert heads == []
        await client.close()
        stop()
    run(scenario)


@pytest.mark.parametrize(("answer", "cause"), [
    (None, "closed"), (b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhalf", "closed"), (b"HTTP/1.1 200 OK\r\nConte", "closed"),
    (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab", "closed"),
    (b"SSH-2.0-OpenSSH\r\n\r\n", "not_http"), (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "not_http"),
    (b"HTTP/1.1 200 OK\r\nX: " + b"a" * 100_000, "not_http"),
])
def test_a_lost_answer_may_have_been_received_and_is_not_asked_again(answer: bytes | None, cause: str) -> None:
    async def scenario() -> None:
        url, heads, stop = await scripted(answer, OK, OK)
        client = HttpClient(environ={})
        with failure(sent=True, cause=cause):
            await client.request("POST", url, {}, b"pay")
        assert len(heads) == 1
        await client.close()
        stop()
    run(scenario)


def test_a_silent_peer_ends_at_the_timeout() -> None:
    async def scenario() -> None:
        async def never(request: Request) -> Response:
            await request.wait_client_gone()
            return text_response(200, "late")

        server, client = await serve(never), HttpClient(environ={})
        with failure(sent=True, cause="timeout"):
            await client.request("GET", f"http://127.0.0.1:{server.port}/", timeout_s=0.05)
        await client.close()
        await server.close()
    run(scenario)


def test_a_stale_kept_connection_is_asked_again_only_where_that_is_harmless() -> None:
    async def scenario() -> None:
        for method, asked in (("GET", 3), ("POST", 2)):
            url, heads, stop = await scripted(OK, None, OK)
            client = HttpClient(environ={})
            assert (await client.request(method, url, {}, b"")).body == b"ok"
            if method == "GET":
                assert (await client.request(method, url)).body == b"ok"
            else:
                with failure(sent=True, cause="closed"):
                    await client.request(method, url, {}, b"pay")
            assert len(heads) == asked
            await client.close()
            stop()
    run(scenario)


def test_a_connection_the_peer_closed_in_between_costs_nothing() -> None:
    async def scenario() -> None:
        async def handler(request: Request) -> Response:
            return text_response(200, "ok")

        server, client = await serve(handler, limits=HttpLimits(idle_s=0.02)), HttpClient(environ={})
        url = f"http://127.0.0.1:{server.port}/"
        await client.request("POST", url, {}, b"1")
        while server.connections:
            await asyncio.sleep(0.005)
        await asyncio.sleep(0.01)
        assert (await client.request("POST", url, {}, b"2")).status == 200
        await client.close()
        await server.close()
    run(scenario)


def test_an_old_kept_connection_is_not_trusted() -> None:
    async def scenario() -> None:
        peers = set()

        async def handler(request: Request) -> Response:
            peers.add(request._gone)
            return text_response(200, "ok")

        clock = ManualClock()
        server, client = await serve(handler), HttpClient(clock, environ={})
        url = f"http://127.0.0.1:{server.port}/"
        await client.request("GET", url)
        clock.advance(56)
        await client.request("GET", url)
        assert len(peers) == 2
        await client.close()
        await server.close()
    run(scenario)


@pytest.mark.parametrize("announced", [True, False])
def test_an_answer_over_the_bound_is_cut(announced: bool) -> None:
    async def scenario() -> None:
        async def handler(request: Request) -> Response | StreamResponse:
            async def chunks():
                while True:
                    yield b"x" * 1000
            return text_response(200, "x" * 100_000) if announced else StreamResponse(200, {}, chunks())

        server, client = await serve(handler), HttpClient(environ={})
        with failure(sent=True, cause="too_large"):
            await client.request("GET", f"http://127.0.0.1:{server.port}/", body_bytes_max=99_999)
        await client.close()
        await server.close()
    run(scenario)


def test_redirects_are_answers_and_are_not_followed() -> None:
    async def scenario() -> None:
        url, heads, stop = await scripted(b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n")
        client = HttpClient(environ={})
        answer = await client.request("GET", url)
        assert answer.status == 302 and answer.headers.get("Location") == "http://127.0.0.1:1/" and len(heads) == 1
        await client.close()
        stop()
    run(scenario)


def test_interim_answers_are_skipped() -> None:
    async def scenario() -> None:
        url, _, stop = await scripted(b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + OK)
        client = HttpClient(environ={})
        assert (await client.request("GET", url)).body == b"ok"
        await client.close()
        stop()
    run(scenario)


def test_a_stream_gives_its_pieces_and_leaving_it_early_closes_the_link() -> None:
    async def scenario() -> None:
        closed = asyncio.Event()

        async def handler(request: Request) -> StreamResponse:
            async def chunks():
                try:
                    yield b"one"
                    if request.path == "/whole":
                        yield b"two"
                        return
                    await asyncio.get_running_loop().create_future()
                finally:
                    closed.set()
            return StreamResponse(200, {"x-kind": "stream"}, chunks())

        server, client = await serve(handler), HttpClient(environ={})
        base = f"http://127.0.0.1:{server.port}"
        async with client.stream("GET", base + "/whole") as stream:
            assert (stream.status, stream.headers.get("x-kind")) == (200, "stream")
            assert b"".join([piece async for piece in stream]) == b"onetwo"
        closed.clear()
        async with client.stream("GET", base + "/endless") as stream:
            async for piece in stream:
                assert piece == b"one"
                break
        await closed.wait()
        with failure(sent=True, cause="timeout"):
            async with client.stream("GET", base + "/endless", idle_s=0.05) as stream:
                async for piece in stream:
                    assert piece == b"one"
        await client.close()
        await server.close()
    run(scenario)


def test_a_cancelled_request_leaves_no_connection_behind() -> None:
    async def scenario() -> None:
        async def never(request: Request) -> Response:
            await request.wait_client_gone()
            return text_response(200, "late")

        server, client = await serve(never), HttpClient(environ={})
        asking = asyncio.ensure_future(client.request("POST", f"http://127.0.0.1:{server.port}/", {}, b"x"))
        while not any(each.busy for each in server.connections):
            await asyncio.sleep(0)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        while server.connections:
            await asyncio.sleep(0)
        await client.close()
        await server.close()
    run(scenario)


@pytest.mark.parametrize("url", [
    "ftp://127.0.0.1/", "127.0.0.1:80", "http://", "http://user:s3cret@127.0.0.1/", "http://127.0.0.1:99999/",
    "http://[::1/", "http://127.0.0.1/a b", "http://127.0.0.1/a\r\nX: y", "http://127.0.0.1/é",
])
def test_an_unusable_address_is_refused_without_its_credential(url: str) -> None:
    async def scenario() -> None:
        client = HttpClient(environ={})
        with pytest.raises(Refused) as refusal:
            await client.request("GET", url)
        assert refusal.value.code == "url_unusable" and "s3cret" not in str(refusal.value)
    run(scenario)


def test_an_address_check_is_asked_for_what_is_connected_to() -> None:
    async def scenario() -> None:
        asked: list[str] = []

        async def handler(request: Request) -> Response:
            return text_response(200, "ok")

        server = await serve(handler)
        url = f"http://localhost:{server.port}/"
        refusing = HttpClient(environ={"HTTP_PROXY": "http://127.0.0.1:1"},
                              allow_address=lambda address: bool(asked.append(address)))
        with failure(sent=False, cause="address"):
            await refusing.request("GET", url)
        assert "127.0.0.1" in asked
        allowing = HttpClient(environ={}, allow_address=lambda address: address == "127.0.0.1")
        assert (await allowing.request("GET", url)).status == 200
        await allowing.close()
        await server.close()
    run(scenario)


@pytest.mark.parametrize("turns", range(6))
def test_a_wait_is_ended_though_its_result_comes_in_the_same_moment(turns):
    """Past bug: before Python 3.12 `asyncio.wait_for` forgot such a cancellation."""
    async def scenario() -> None:
        comes = asyncio.get_running_loop().create_future()

        async def work() -> int:
            return await comes

        async def whole() -> None:
            await within(5.0, work())
            await asyncio.Event().wait()

        waiting = asyncio.ensure_future(whole())
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        comes.set_result(1)
        for _ in range(turns):
            await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(waiting, 15)

    run(scenario)


def test_a_link_that_opens_when_nobody_waits_any_more_is_closed():
    async def scenario() -> None:
        opened = asyncio.get_running_loop().create_future()
        aborted = asyncio.Event()

        class Late(Link):
            def abort(self) -> None:
                aborted.set()

        async def opening() -> Link:
            return await asyncio.shield(opened)

        with pytest.raises(asyncio.TimeoutError):
            await within(0.0, opening())
        waiting = asyncio.ensure_future(within(5.0, opening()))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        opened.set_result(Late())
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        waiting.cancel()
        try:
            await waiting
        except asyncio.CancelledError:
            await asyncio.wait_for(aborted.wait(), 15)

    run(scenario)
