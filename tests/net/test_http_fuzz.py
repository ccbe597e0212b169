"""Random bytes, cut at random places, never reach a bug; what was whole is answered."""

from __future__ import annotations

import asyncio
import os
import random

from rulith.net.server import HttpLimits, Request, Response, StreamResponse, serve, text_response

SEED = int(os.environ.get("RULITH_TEST_SEED", "11"))
PIECES = [
    b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", b"POST /p HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nabcd",
    b"POST /p HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nabcd\r\n0\r\n\r\n",
    b"GET /stream HTTP/1.1\r\nHost: a\r\n\r\n", b"HEAD /stream HTTP/1.1\r\nHost: a\r\n\r\n", b"GET /stream HTTP/1.0\r\n\r\n",
    b"POST /refused HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n123456789", b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
    b"POST /p HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\nok", b"\r\n", b"\x00\xff", b"X" * 5000,
]


async def handler(request: Request) -> Response | StreamResponse:
    if request.path != "/stream":
        await asyncio.sleep(0)
        return text_response(200, request.path)

    async def chunks():
        for _ in range(3):
            yield b"piece"
            await asyncio.sleep(0)
    return StreamResponse(200, {}, chunks())


def message(chance: random.Random) -> bytes:
    data = bytearray(b"".join(chance.choices(PIECES, k=chance.randint(1, 4))))
    for _ in range(chance.choice((0, 0, 1, 3))):
        data[chance.randrange(len(data))] = chance.randrange(256)
    return bytes(data[:chance.choice((len(data), chance.randint(0, len(data))))])


async def talk(port: int, chance: random.Random) -> None:
    data = message(chance)
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        while data:
            size = chance.choice((1, 7, 100, len(data)))
            writer.write(data[:size])
            data = data[size:]
            await writer.drain()
            await asyncio.sleep(0)
        ending = chance.choice(("half-close", "abort", "read"))
        if ending == "half-close":
            writer.write_eof()
        if ending != "abort":
            answer = await reader.read()
            assert answer == b"" or answer.startswith(b"HTTP/1.1 "), answer[:80]
            assert b"Traceback" not in answer
    except (ConnectionError, BrokenPipeError):
        pass                                  # the server cut a hopeless connection: its right
    finally:
        writer.transport.abort()


def test_random_bytes_reach_no_bug_and_leave_no_connection() -> None:
    problems: list[object] = []

    async def scenario() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: problems.append(context))
        limits = HttpLimits(header_bytes_max=4096, body_bytes_max=1000, header_timeout_s=0.2, body_timeout_s=0.2,
                            idle_s=0.2, linger_s=0.1)
        server = await serve(handler, limits=limits, on_bug=problems.append,
                             head_check=lambda request: text_response(403, "no") if request.path == "/refused" else None)
        chance = random.Random(SEED)
        for _ in range(12):
            await asyncio.gather(*[talk(server.port, random.Random(chance.random())) for _ in range(25)])
        while server.connections:
            await asyncio.sleep(0.01)
        await server.close()

    asyncio.run(asyncio.wait_for(scenario(), 60))
    assert problems == [], f"seed {SEED}"
