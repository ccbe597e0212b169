"""WebSockets, both ends: the core by bytes and moments, then over real sockets. Duty: RFC 6455; the council surface, "Wake socket"; pings and watchdogs are our decision."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import struct
from itertools import cycle

import pytest
from hypothesis import example, given, settings, strategies as st

from rulith.base.limits import SOCKET_MESSAGE_BYTES_MAX, SOCKET_TEXTS_MAX
from rulith.net.client import HttpClient, NetFailed, UpgradeRefused
from rulith.net.messages import Response, text_response
from rulith.net.server import serve
from rulith.net.websocket import Frames, Pace, WebSocket, accept, connect

STORY_S, WAIT_S = 60.0, 30.0
TEXT, BINARY, CLOSE, PING, PONG, MORE = 1, 2, 8, 9, 10, 0
KEY = "dGhlIHNhbXBsZSBub25jZQ=="                # the RFC's own example
ASK = f"GET /ws HTTP/1.1\r\nhost: 127.0.0.1\r\nupgrade: websocket\r\nconnection: keep-alive, Upgrade\r\nsec-websocket-key: {KEY}\r\nsec-websocket-version: 13\r\n\r\n"


def frame(kind: int, payload: bytes = b"", *, fin: bool = True, mask: bytes | None = b"\x01\x02\x03\x04", reserved: int = 0) -> bytes:
    """A frame as another program writes it: no line shared with the product."""
    size = len(payload)
    flag = 0x80 if mask is not None else 0
    head = bytes([fin << 7 | reserved << 4 | kind])
    head += bytes([flag | size]) if size < 126 else bytes([flag | 126]) + struct.pack("!H", size) if size < 65_536 else bytes([flag | 127]) + struct.pack("!Q", size)
    if mask is None:
        return head + payload
    return head + mask + bytes(byte ^ mask[at % 4] for at, byte in enumerate(payload))


def frames_of(data: bytes) -> list[tuple[int, bytes]]:
    """The whole frames in these bytes, unmasked."""
    found, at = [], 0
    while at < len(data):
        kind, size, at = data[at] & 15, data[at + 1] & 127, at + 2
        masked = data[at - 1] & 128
        if size == 126:
            (size,), at = struct.unpack("!H", data[at:at + 2]), at + 2
        mask, at = (data[at:at + 4], at + 4) if masked else (b"\0" * 4, at)
        found.append((kind, bytes(byte ^ mask[place % 4] for place, byte in enumerate(data[at:at + size]))))
        at += size
    return found


def end_of(pace: Pace = Pace(), **options) -> Frames:
    return Frames(is_client=False, now_s=0.0, pace=pace, **options)


def code_of(out: bytes) -> int:
    (kind, payload), = frames_of(out)
    assert kind == CLOSE
    return struct.unpack("!H", payload[:2])[0]


# --- the core -----------------------------------------------------------------------------


def ways(data: bytes) -> dict[str, list[bytes]]:
    return {"whole": [data], "one byte at a time": [data[at:at + 1] for at in range(len(data))], "in threes": [data[at:at + 3] for at in range(0, len(data), 3)]}


#  what a client sends, the texts it makes, what goes back: a close code, frames, or nothing
ROWS = {
    "a text": (frame(TEXT, b"hello"), ["hello"], []),
    "an empty text": (frame(TEXT), [""], []),
    "letters cut between frames": (frame(TEXT, "ä€".encode()[:1], fin=False) + frame(MORE, "ä€".encode()[1:4], fin=False) + frame(MORE, "ä€".encode()[4:]), ["ä€"], []),
    "a ping between fragments": (frame(TEXT, b"a", fin=False) + frame(PING, b"p") + frame(MORE, b"b"), ["ab"], [(PONG, b"p")]),
    "a pong for nothing": (frame(PONG, b"x") + frame(TEXT, b"a"), ["a"], []),
    "a close with a code": (frame(CLOSE, struct.pack("!H", 1000) + b"bye"), [], [(CLOSE, struct.pack("!H", 1000) + b"bye")]),
    "a close without one": (frame(CLOSE), [], [(CLOSE, b"")]),
    "a text behind a close": (frame(CLOSE, struct.pack("!H", 4001)) + frame(TEXT, b"late"), [], [(CLOSE, struct.pack("!H", 4001))]),
    "no mask": (frame(TEXT, b"a", mask=None), [], 1002),
    "a reserved bit": (frame(TEXT, b"a", reserved=4), [], 1002),
    "an unknown kind": (frame(3, b"a"), [], 1002),
    "a ping in pieces": (frame(PING, b"a", fin=False), [], 1002),
    "a ping too long": (frame(PING, b"a" * 126), [], 1002),
    "a continuation of nothing": (frame(MORE, b"a"), [], 1002),
    "two texts in each other": (frame(TEXT, b"a", fin=False) + frame(TEXT, b"b"), [], 1002),
    "a length told too long": (bytes([0x81, 0x80 | 126, 0, 5]) + b"\0\0\0\0hello", [], 1002),
    "a length with a sign": (bytes([0x81, 0x80 | 127]) + b"\xff" * 8 + b"\0\0\0\0", [], 1002),
    "a close of one byte": (frame(CLOSE, b"\x03"), [], 1002),
    "a close code that is nobody's": (frame(CLOSE, struct.pack("!H", 1006)), [], 1002),
    "no letters": (frame(TEXT, b"\xff\xfe"), [], 1007),
    "half a letter at the end": (frame(TEXT, "ä".encode()[:1]), [], 1007),
    "a reason that is no letters": (frame(CLOSE, struct.pack("!H", 1000) + b"\xff"), [], 1007),
    "bytes": (frame(BINARY, b"\0"), [], 1003),
    "a message too large": (frame(TEXT, b"a" * (SOCKET_MESSAGE_BYTES_MAX + 1)), [], 1009),
    "a message too large in pieces": (frame(TEXT, b"a" * SOCKET_MESSAGE_BYTES_MAX, fin=False) + frame(MORE, b"a", fin=False), [], 1009),
    "a message that only says it is large": (bytes([0x81, 0x80 | 127]) + struct.pack("!Q", 2**62) + b"\0\0\0\0" + b"a" * (SOCKET_MESSAGE_BYTES_MAX + 1), [], 1009),
}


@pytest.mark.parametrize("name", ROWS)
def test_every_row_of_frames_is_read_the_same_however_it_is_cut(name):
    data, texts, answer = ROWS[name]
    for way, pieces in ways(data).items():
        if len(pieces) > 1_000 and way != "whole":
            pieces = [data[:20], data[20:1_000], data[1_000:]]
        end, got, out = end_of(), [], b""
        for piece in pieces:
            some, back = end.receive(piece, 1.0)
            got, out = got + some, out + back
        assert got == texts, way
        if isinstance(answer, int):
            assert code_of(out) == answer and end.ended.code == answer and end.ended.reason, way
            assert end.receive(frame(TEXT, b"more"), 2.0) == ([], b"") and end.send("x") == b"" and end.close(1000) == b""
        else:
            assert frames_of(out) == answer, way


def test_a_close_of_ours_waits_for_the_peers_and_hears_no_text_any_more():
    end = end_of()
    assert code_of(end.close(1008, "revoked")) == 1008 and end.close(1000) == b"" and not end.is_quits
    assert end.receive(frame(TEXT, b"late") + frame(PING, b"p"), 1.0) == ([], b"")
    assert end.receive(frame(CLOSE, struct.pack("!H", 1008)), 1.0) == ([], b"") and end.is_quits and end.ended.code == 1008


def test_pings_go_out_every_30_s_and_two_unanswered_end_it():
    end, pings = end_of(), []
    for now_s in range(0, 91):
        out = end.tick(float(now_s))
        pings += [(now_s, payload) for kind, payload in frames_of(out) if kind == PING]
        if now_s == 70:
            end.receive(frame(TEXT, b"I talk and answer no ping"), 70.0)       # so it is not the silence that ends it
    assert pings == [(30, b"1"), (60, b"2")] and end.ended.code == 1006 and "ping" in end.ended.reason and end.tick(500.0) == b""


def test_a_peer_that_answers_lives_and_one_that_says_nothing_for_90_s_does_not():
    end, silent = end_of(), end_of(Pace(ping_s=1_000.0))
    for now_s in range(0, 1_000, 10):
        for kind, payload in frames_of(end.tick(float(now_s))):
            end.receive(frame(PONG, payload), float(now_s) + 5.0)
    assert end.ended is None
    assert silent.tick(89.9) == b"" and silent.ended is None and silent.due_s == 90.0
    assert silent.tick(90.0) == b"" and silent.ended.code == 1006 and "nothing was heard" in silent.ended.reason


def test_an_answer_to_another_ping_is_none():
    end = end_of()
    assert frames_of(end.tick(30.0)) == [(PING, b"1")]
    end.receive(frame(PONG, b"9"), 31.0)
    end.tick(60.0)
    end.receive(frame(PONG, b"x"), 61.0)
    end.tick(90.0)
    assert end.ended is not None


def test_a_late_answer_to_an_earlier_ping_counts():
    end = end_of()
    end.tick(30.0)
    end.tick(60.0)
    end.receive(frame(PONG, b"1"), 61.0)
    assert frames_of(end.tick(90.0)) == [(PING, b"3")] and end.ended is None


def test_silence_of_ours_is_not_the_peers():
    end = end_of()
    end.tick(30.0)
    end.hush(80.0)
    end.tick(80.0)
    assert end.ended is None and end.tick(110.0) and end.ended is None


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text(max_size=300), max_size=6), st.lists(st.integers(1, 40), max_size=30), st.booleans())
def test_the_two_ends_understand_each_other_however_the_bytes_are_cut(texts, cuts, from_client):
    sender, reader = Frames(is_client=from_client, now_s=0.0), Frames(is_client=not from_client, now_s=0.0)
    texts = [text.encode("utf-8", "ignore").decode() for text in texts]
    data, got = b"".join(sender.send(text) for text in texts) + sender.close(1000, "done"), []
    for size in [*cuts, len(data)]:
        some, back = reader.receive(data[:size], 1.0)
        got, data = got + some, data[size:]
        sender.receive(back, 1.0)
    assert got == texts and reader.ended.code == 1000 == sender.ended.code and sender.is_quits and reader.is_quits


@settings(max_examples=150, deadline=None)
@given(st.lists(st.binary(max_size=60), max_size=8), st.booleans())
def test_no_bytes_break_an_end(pieces, is_client):
    end = Frames(is_client=is_client, now_s=0.0)
    for piece in pieces:
        texts, out = end.receive(piece, 1.0)
        assert all(isinstance(text, str) for text in texts) and isinstance(bytes(out), bytes)
        end.tick(31.0)
    assert end.ended is None or end.send("x") == b""


@settings(max_examples=150, deadline=None)
@example([(TEXT, b"\0\x80", False)], [7, 1])                    # its reason once named the place in the piece
@given(st.lists(st.tuples(st.sampled_from([TEXT, MORE, BINARY, CLOSE, PING, PONG, 5]), st.binary(max_size=140), st.booleans()), max_size=8), st.lists(st.integers(1, 9), min_size=1, max_size=40))
def test_no_row_of_frames_is_read_in_two_ways(rows, sizes):
    sent = b"".join(frame(kind, payload, fin=fin) for kind, payload, fin in rows)
    whole, cut = end_of(), end_of()
    first = whole.receive(sent, 1.0)
    at, texts, out, turns = 0, [], b"", cycle(sizes)
    while at < len(sent):
        size = next(turns)
        some, back = cut.receive(sent[at:at + size], 1.0)
        at, texts, out = at + size, texts + some, out + back
    assert (texts, out) == (first[0], bytes(first[1])) and whole.ended == cut.ended


def test_nothing_is_kept_of_what_comes_behind_bytes_that_made_no_sense():
    end = end_of()
    assert code_of(end.receive(frame(3, b"a"), 1.0)[1]) == 1002
    end._wire = None                                             # whoever touched it now would fail
    assert end.receive(b"x" * 100_000, 2.0) == ([], b"") and end.tick(200.0) == b""


# --- over real sockets --------------------------------------------------------------------


class Place:
    """A server with one address where a WebSocket is opened."""

    def __init__(self, run, **options) -> None:
        self.sockets: list[WebSocket] = []
        self.bugs: list[BaseException] = []
        self._run, self._options = run, options

    def _open(self) -> WebSocket:
        self.sockets.append(WebSocket(is_client=False, **self._options))
        return self.sockets[-1]

    async def _answer(self, request) -> Response:
        if request.path == "/plain":
            return text_response(401, "no key")
        return accept(request, self._run, self._open)

    async def __aenter__(self) -> Place:
        self.server = await serve(self._answer, on_bug=self.bugs.append)
        self.client = HttpClient(environ={})
        self.url = f"ws://127.0.0.1:{self.server.port}/ws"
        return self

    async def __aexit__(self, *problem: object) -> None:
        await self.client.close()
        await self.server.close(drain_s=0.0)
        assert not self.bugs and not self.server.connections

    async def raw(self, ask: bytes = ASK.encode(), *, drip: bool = False):
        reader, writer = await asyncio.open_connection("127.0.0.1", self.server.port)
        for piece in ([ask[at:at + 1] for at in range(len(ask))] if drip else [ask]):
            writer.write(piece)
            await asyncio.sleep(0)
        return reader, writer


async def echo(socket: WebSocket) -> None:
    while (text := await socket.receive()) is not None:
        socket.send(text.upper())


def play(story) -> None:
    asyncio.run(asyncio.wait_for(story(), STORY_S))


async def head_of(reader) -> str:
    return (await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), WAIT_S)).decode()


@pytest.mark.parametrize("drip", [False, True])
def test_a_handshake_and_what_follows_it_may_come_in_one_write_or_byte_by_byte(drip):
    async def story():
        async with Place(echo) as place:
            reader, writer = await place.raw(ASK.encode() + frame(TEXT, b"first") + frame(TEXT, b"second"), drip=drip)
            head = await head_of(reader)
            assert head.startswith("HTTP/1.1 101 Switching Protocols\r\n") and "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=" in head      # the RFC's own answer
            assert await asyncio.wait_for(reader.readexactly(15), WAIT_S) == frame(TEXT, b"FIRST", mask=None) + frame(TEXT, b"SECOND", mask=None)
            writer.write(frame(CLOSE, struct.pack("!H", 1000)))
            assert frames_of(await asyncio.wait_for(reader.read(), WAIT_S)) == [(CLOSE, struct.pack("!H", 1000))]
            writer.close()
            assert place.sockets[0].ended.code == 1000
    play(story)


def test_frames_that_come_while_the_answer_is_thought_about_are_not_lost():
    async def story():
        asked, go = asyncio.Event(), asyncio.Event()

        class Slow(Place):
            async def _answer(self, request) -> Response:
                asked.set()
                await go.wait()
                return await super()._answer(request)
        async with Slow(echo) as place:
            reader, writer = await place.raw()
            await asked.wait()
            writer.write(frame(TEXT, b"early"))
            while not next(iter(place.server.connections)).waiting:
                await asyncio.sleep(0.01)
            go.set()
            await head_of(reader)
            assert await asyncio.wait_for(reader.readexactly(7), WAIT_S) == frame(TEXT, b"EARLY", mask=None)
            writer.close()
    play(story)


@pytest.mark.parametrize("change, status", [
    (("upgrade: websocket", "upgrade: h2c"), 426), (("connection: keep-alive, Upgrade", "connection: keep-alive"), 426), (("version: 13", "version: 8"), 426),
    ((KEY, "short"), 400), ((KEY, base64.b64encode(b"a" * 15).decode()), 400), (("GET", "POST"), 400), (("HTTP/1.1", "HTTP/1.0"), 426),
    (("upgrade: websocket\r\n", ""), 426), (("host: 127.0.0.1\r\n", "host: 127.0.0.1\r\ncontent-length: 2\r\n"), 400)])
def test_what_asks_wrongly_is_answered_in_http_and_the_connection_goes_on(change, status):
    async def story():
        async with Place(echo) as place:
            reader, writer = await place.raw(ASK.replace(*change).encode() + (b"{}" if "content-length" in change[1] else b""))
            head = await head_of(reader)
            assert head.startswith(f"HTTP/1.1 {status} ") and not place.sockets
            assert status != 426 or "sec-websocket-version: 13" in head or "1.0" in change[1]
            writer.close()
    play(story)


def test_our_two_ends_talk_and_a_long_text_passes():
    async def story():
        async with Place(echo) as place:
            socket = await connect(place.client, place.url)
            for text in ("a", "ß" * 1_000, "x" * SOCKET_MESSAGE_BYTES_MAX, ""):
                assert socket.send(text) and await socket.receive() == text.upper()
            socket.send("y" * (SOCKET_MESSAGE_BYTES_MAX + 1))
            assert await socket.receive() is None and socket.ended.code == 1009 and not socket.send("z")
            await asyncio.wait_for(socket.wait_lost(), WAIT_S)
    play(story)


def test_a_server_that_declines_is_told_apart_from_one_that_is_not_there():
    async def story():
        async with Place(echo) as place:
            with pytest.raises(UpgradeRefused) as refused:
                await connect(place.client, place.url.replace("/ws", "/plain"))
            assert (refused.value.answer.status, refused.value.answer.body) == (401, b"no key")
            gone = place.url
        client = HttpClient(environ={})
        with pytest.raises(NetFailed) as failed:
            await connect(client, gone)
        assert not failed.value.sent
    play(story)


@pytest.mark.parametrize("answer", [b"HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\nsec-websocket-accept: wrong\r\n\r\n",
                                    b"HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\n\r\n", b"SSH-2.0-x\r\n\r\n", b"", b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"])
def test_a_server_that_is_no_websocket_is_no_connection(answer):
    async def story():
        async def talk(reader, writer):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(answer)
            writer.close()
        server = await asyncio.start_server(talk, "127.0.0.1", 0)
        client = HttpClient(environ={})
        with pytest.raises((NetFailed, UpgradeRefused)):
            await connect(client, f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}/ws", timeout_s=WAIT_S)
        await client.close()
        server.close()
    play(story)


def test_texts_that_come_with_the_answer_are_not_lost():
    async def story():
        async def greet(socket: WebSocket) -> None:
            for text in ("one", "two"):
                socket.send(text)
            await socket.receive()
        async with Place(greet) as place:
            socket = await connect(place.client, place.url)
            assert [await socket.receive(), await socket.receive()] == ["one", "two"]
            socket.close()
            await asyncio.wait_for(socket.wait_lost(), WAIT_S)
    play(story)


def test_both_ends_ping_and_a_quiet_connection_lives():
    async def story():
        pace = Pace(ping_s=0.1, silence_s=600.0)
        async with Place(echo, pace=pace) as place:
            socket = await connect(place.client, place.url, pace=pace)
            while min(socket._frames._pings, place.sockets[0]._frames._pings) < 4:       # two would have ended it, were they not answered
                await asyncio.sleep(0.01)
            assert socket.ended is None and socket.send("a") and await socket.receive() == "A"
            socket.close()
            await socket.wait_lost()
    play(story)


@pytest.mark.parametrize("pace, said", [(Pace(ping_s=0.05, silence_s=600.0), "pings"), (Pace(ping_s=600.0, silence_s=0.1), "nothing was heard")])
def test_a_peer_that_is_gone_without_a_word_is_dropped_by_either_end(pace, said):
    async def story():
        async with Place(echo, pace=pace) as place:
            reader, writer = await place.raw()
            await head_of(reader)
            while not place.sockets[0].ended:
                await asyncio.sleep(0.01)
            assert place.sockets[0].ended.code == 1006 and said in place.sockets[0].ended.reason
            writer.close()

        async def hang(reader, writer):
            head = await reader.readuntil(b"\r\n\r\n")
            key = next(line.split(b": ")[1] for line in head.split(b"\r\n") if line.lower().startswith(b"sec-websocket-key"))
            token = base64.b64encode(hashlib.sha1(key + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest())
            writer.write(b"HTTP/1.1 101 x\r\nupgrade: websocket\r\nconnection: upgrade\r\nsec-websocket-accept: " + token + b"\r\n\r\n")
            await reader.read()
            writer.close()
        server = await asyncio.start_server(hang, "127.0.0.1", 0)
        client = HttpClient(environ={})
        socket = await connect(client, f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/ws", pace=pace)
        assert await socket.receive() is None and socket.ended.code == 1006 and said in socket.ended.reason
        server.close()
    play(story)


def test_a_connection_cut_midway_ends_both_sides():
    async def story():
        async with Place(echo) as place:
            reader, writer = await place.raw(ASK.encode() + frame(TEXT, b"half of it")[:7])
            await head_of(reader)
            writer.transport.abort()
            while not (place.sockets and place.sockets[0].ended):
                await asyncio.sleep(0.01)
            assert place.sockets[0].ended.code == 1006
            socket = await connect(place.client, place.url)
            place.sockets[1]._transport.abort()
            assert await socket.receive() is None and socket.ended.code == 1006
    play(story)


def test_a_server_that_ends_says_1001_and_leaves_no_connection():
    async def story():
        async with Place(echo) as place:
            sockets = [await connect(place.client, place.url) for _ in range(5)]
        for socket in sockets:
            assert await socket.receive() is None and socket.ended.code == 1001
    play(story)


def test_a_peer_that_reads_nothing_is_known_to_be_clogged_and_goes_at_a_close():
    async def story():
        told = asyncio.Event()

        async def flood(socket: WebSocket) -> None:
            while not socket.is_clogged:
                socket.send("x" * 60_000)
            told.set()
            socket.close(1008, "revoked")
            await socket.wait_lost()
        async with Place(flood) as place:
            reader, writer = await place.raw()
            writer.transport.pause_reading()
            await asyncio.wait_for(told.wait(), WAIT_S)
            await asyncio.wait_for(place.sockets[0].wait_lost(), WAIT_S)
            writer.transport.abort()
    play(story)


def test_texts_nobody_takes_make_the_peer_wait_and_are_all_there_later():
    async def story():
        async def flood(socket: WebSocket) -> None:
            for number in range(3 * SOCKET_TEXTS_MAX):
                socket.send(f"{number} " + "x" * 50_000)
            await socket.receive()
        async with Place(flood) as place:
            socket = await connect(place.client, place.url)
            while not socket._is_deaf:
                await asyncio.sleep(0.01)
            socket._frames._heard_s -= 1_000.0                   # longer than a peer may say nothing, but here it is we who do not listen
            socket._tick()
            assert socket.ended is None
            got = [(await socket.receive()).split()[0] for _ in range(3 * SOCKET_TEXTS_MAX)]
            assert got == [str(number) for number in range(3 * SOCKET_TEXTS_MAX)]
            socket.close()
            await socket.wait_lost()
    play(story)


def test_a_plain_request_behind_a_declined_one_is_answered():
    async def story():
        async with Place(echo) as place:
            reader, writer = await place.raw(ASK.replace("version: 13", "version: 7").encode() + b"GET /plain HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n")
            got = await asyncio.wait_for(reader.read(), WAIT_S)
            assert got.startswith(b"HTTP/1.1 426") and b"HTTP/1.1 401" in got
            writer.close()
    play(story)


def test_masks_are_fresh_for_every_frame():
    sender = Frames(is_client=True, now_s=0.0)
    assert len({bytes(sender.send("same")) for _ in range(20)}) == 20
