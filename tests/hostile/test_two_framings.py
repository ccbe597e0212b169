"""One request framed in two ways is refused and its connection closed, so that nothing rides behind it."""

from __future__ import annotations

import asyncio

import pytest

from rulith.net.server import json_response, serve

LENGTH, CHUNKED = b"content-length: 6\r\n", b"transfer-encoding: chunked\r\n"


@pytest.mark.parametrize("head", [b"POST / HTTP/1.1\r\nhost: x\r\n" + LENGTH + CHUNKED, b"POST / HTTP/1.1\r\nhost: x\r\n" + CHUNKED + LENGTH,
                                  b"POST / HTTP/1.0\r\nhost: x\r\n" + CHUNKED])
def test_length_and_chunks_together_are_refused_and_nothing_behind_is_read(head: bytes) -> None:
    seen = []

    async def handler(request):
        seen.append(request.path)
        return json_response(200, {})

    async def scenario() -> bytes:
        server = await serve(handler, "127.0.0.1", 0)
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(head + b"\r\n0\r\n\r\nGET /smuggled HTTP/1.1\r\nhost: x\r\n\r\n")
        answer = await reader.read()
        writer.close()
        await server.close()
        return answer

    answer = asyncio.run(asyncio.wait_for(scenario(), 20))
    assert answer.startswith(b"HTTP/1.1 400 ") and answer.count(b"HTTP/1.1 4") == 1, answer
    assert b"framed in two ways" in answer and seen == []
