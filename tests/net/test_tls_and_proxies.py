"""TLS to and from us, and proxies in between. Certificates are made by the openssl program where there is one."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from rulith.base.errors import Refused
from rulith.net.client import HttpClient, NetFailed
from rulith.net.proxies import is_loopback, proxy_for
from rulith.net.server import Request, Response, serve, text_response
from rulith.net.tls import client_context, server_context
from rulith.net.websocket import WebSocket, accept, connect

needs_openssl = pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl program")


def run(scenario: Callable[[], Awaitable[None]]) -> None:
    asyncio.run(asyncio.wait_for(scenario(), 20))


@pytest.fixture(scope="module")
def certificate(tmp_path_factory) -> tuple[str, str]:
    folder = tmp_path_factory.mktemp("tls")
    cert, key = folder / "cert.pem", folder / "key.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "30", "-subj", "/CN=localhost",
                    "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", str(key), "-out", str(cert)],
                   check=True, capture_output=True)
    return str(cert), str(key)


async def hello(request: Request) -> Response:
    return text_response(200, f"hello {request.path}" + "x" * 100_000)


@needs_openssl
@pytest.mark.parametrize("setting", ["SSL_CERT_FILE", "RULITH_CA_FILE"])
def test_a_trusted_certificate_is_accepted_and_the_link_is_kept(certificate, setting: str) -> None:
    cert, key = certificate

    async def scenario() -> None:
        server = await serve(hello, tls=server_context(cert, key))
        client = HttpClient(environ={setting: cert})
        for _ in range(3):
            answer = await client.request("POST", f"https://localhost:{server.port}/x", {}, b"y" * 300_000)
            assert answer.body.startswith(b"hello /x")
        assert len(server.connections) == 1
        await client.close()
        await server.close()
        assert server.connections == set()
    run(scenario)


@needs_openssl
def test_an_untrusted_or_misnamed_certificate_sends_nothing(certificate) -> None:
    cert, key = certificate
    asked = []

    async def handler(request: Request) -> Response:
        asked.append(request)
        return text_response(200, "")

    async def scenario() -> None:
        server = await serve(handler, tls=server_context(cert, key))
        for environ, host in (({}, "localhost"), ({"RULITH_CA_FILE": cert}, "127.0.0.2")):
            client = HttpClient(environ=environ)
            with pytest.raises(NetFailed) as failure:
                await client.request("POST", f"https://{host}:{server.port}/", {}, b"secret")
            assert failure.value.cause in ("tls", "connect") and not failure.value.sent
            await client.close()
        await server.close()
    run(scenario)
    assert asked == []


@needs_openssl
def test_plain_http_on_a_tls_port_and_the_other_way_round_fail_unsent_or_unread(certificate) -> None:
    cert, key = certificate

    async def scenario() -> None:
        tls_server, plain_server = await serve(hello, tls=server_context(cert, key)), await serve(hello)
        client = HttpClient(environ={"RULITH_CA_FILE": cert})
        with pytest.raises(NetFailed):
            await client.request("GET", f"http://localhost:{tls_server.port}/")
        with pytest.raises(NetFailed) as failure:
            await client.request("GET", f"https://localhost:{plain_server.port}/")
        assert failure.value.cause == "tls" and not failure.value.sent
        await client.close()
        await tls_server.close()
        await plain_server.close()
    run(scenario)


def test_an_unreadable_ca_file_is_named(tmp_path: Path) -> None:
    junk = tmp_path / "junk.pem"
    junk.write_text("not a certificate")
    for setting in ("SSL_CERT_FILE", "RULITH_CA_FILE"):
        for path in (junk, tmp_path / "absent.pem"):
            with pytest.raises(Refused) as refusal:
                client_context({setting: str(path)})
            assert refusal.value.code == "ca_file_unreadable" and refusal.value.facts["setting"] == setting
    with pytest.raises(Refused) as refusal:
        server_context(str(junk), str(junk))
    assert refusal.value.code == "tls_files_unusable"


def test_the_default_context_verifies_and_knows_public_roots() -> None:
    context = client_context({})
    assert context.check_hostname and len(context.get_ca_certs()) > 50


async def connect_proxy(answer: bytes = b"HTTP/1.1 200 Connection established\r\n\r\n"):
    """A CONNECT proxy that pipes to whatever is asked for; returns its address and the heads it read."""
    heads: list[bytes] = []

    async def pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65_536):
            writer.write(data)
            await writer.drain()
        writer.close()

    async def serve_one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            heads.append(head)
            writer.write(answer)
            await writer.drain()
            if b" 200 " in answer and head.startswith(b"CONNECT "):
                # The name in the request need not resolve here: every tunnel ends on this machine.
                port = int(head.split(b" ")[1].rpartition(b":")[2])
                inner_reader, inner_writer = await asyncio.open_connection("127.0.0.1", port)
                await asyncio.gather(pipe(reader, inner_writer), pipe(inner_reader, writer), return_exceptions=True)
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    listener = await asyncio.start_server(serve_one, "127.0.0.1", 0)
    return f"127.0.0.1:{listener.sockets[0].getsockname()[1]}", heads, listener.close


@needs_openssl
def test_https_goes_through_the_proxys_tunnel_with_its_credential(certificate) -> None:
    cert, key = certificate

    async def scenario() -> None:
        server = await serve(hello, tls=server_context(cert, key))
        proxy, heads, stop = await connect_proxy()
        client = HttpClient(environ={"HTTPS_PROXY": f"http://us%40er:p@{proxy}", "RULITH_CA_FILE": cert})
        # Not a loopback name, so that the proxy is used; the certificate does not fit, which proves TLS went through.
        with pytest.raises(NetFailed) as failure:
            await client.request("POST", f"https://elsewhere.test:{server.port}/", {}, b"secret")
        assert failure.value.cause == "tls" and "certificate" in failure.value.detail and not failure.value.sent
        assert heads[0].startswith(b"CONNECT elsewhere.test:%d HTTP/1.1\r\n" % server.port)
        assert b"proxy-authorization: Basic dXNAZXI6cA==" in heads[0].lower().replace(b"basic dxnazxi6ca==", b"Basic dXNAZXI6cA==")
        await client.close()
        await server.close()
        stop()
    run(scenario)


@needs_openssl
def test_a_request_through_the_tunnel_is_answered_by_the_origin(certificate) -> None:
    cert, key = certificate

    async def scenario() -> None:
        server = await serve(hello, tls=server_context(cert, key))
        proxy, heads, stop = await connect_proxy()
        context = client_context({"SSL_CERT_FILE": cert})
        context.check_hostname = False
        client = HttpClient(environ={"https_proxy": proxy}, tls=context)
        for _ in range(2):
            answer = await client.request("GET", f"https://elsewhere.test:{server.port}/in")
            assert answer.status == 200 and answer.body.startswith(b"hello /in")
        assert len(heads) == 1
        await client.close()
        await server.close()
        stop()
    run(scenario)


def test_a_refusing_proxy_means_that_nothing_was_sent() -> None:
    async def scenario() -> None:
        for answer in (b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n", b"SSH-2.0-x\r\n\r\n", b""):
            proxy, _, stop = await connect_proxy(answer)
            client = HttpClient(environ={"HTTPS_PROXY": f"http://{proxy}"})
            with pytest.raises(NetFailed) as failure:
                await client.request("POST", "https://elsewhere.test/", {}, b"secret")
            assert failure.value.cause == "proxy" and not failure.value.sent
            await client.close()
            stop()
    run(scenario)


def test_plain_http_is_asked_of_the_proxy_by_its_whole_address() -> None:
    async def scenario() -> None:
        proxy, heads, stop = await connect_proxy(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        client = HttpClient(environ={"HTTP_PROXY": f"http://u:p@{proxy}"})
        assert (await client.request("GET", "http://elsewhere.test:8080/a?b=c")).body == b"ok"
        assert heads[0].startswith(b"GET http://elsewhere.test:8080/a?b=c HTTP/1.1\r\n")
        assert b"proxy-authorization: basic dtpw" in heads[0].lower()
        await client.close()
        stop()
    run(scenario)


@pytest.mark.parametrize(("environ", "host", "port", "proxied"), [
    ({"HTTPS_PROXY": "http://p:3128"}, "a.test", 443, True),
    ({"https_proxy": "p:3128"}, "a.test", 443, True),
    ({"HTTP_PROXY": "http://p:3128"}, "a.test", 443, False),
    ({}, "a.test", 443, False),
    ({"HTTPS_PROXY": ""}, "a.test", 443, False),
    ({"HTTPS_PROXY": "http://p:3128"}, "localhost", 443, False),
    ({"HTTPS_PROXY": "http://p:3128"}, "127.0.0.9", 443, False),
    ({"HTTPS_PROXY": "http://p:3128"}, "::1", 443, False),
    ({"HTTPS_PROXY": "http://p:3128", "NO_PROXY": "*"}, "a.test", 443, False),
    ({"HTTPS_PROXY": "http://p:3128", "NO_PROXY": "b.test, a.test"}, "a.test", 443, False),
    ({"HTTPS_PROXY": "http://p:3128", "NO_PROXY": "a.test"}, "x.a.test", 443, False),
    ({"HTTPS_PROXY": "http://p:3128", "NO_PROXY": ".a.test"}, "X.A.test", 443, False),
    ({"HTTPS_PROXY": "http://p:3128", "NO_PROXY": "a.test"}, "xa.test", 443, True),
    ({"HTTPS_PROXY": "http://p:3128", "NO_PROXY": "a.test:8443"}, "a.test", 443, True),
    ({"HTTPS_PROXY": "http://p:3128", "NO_PROXY": "a.test:443"}, "a.test", 443, False),
    ({"HTTPS_PROXY": "http://p:3128", "NO_PROXY": "10.0.0.0/8"}, "10.1.2.3", 443, False),
    ({"HTTPS_PROXY": "http://p:3128", "NO_PROXY": "10.0.0.0/8"}, "11.1.2.3", 443, True),
    ({"HTTPS_PROXY": "http://p:3128", "NO_PROXY": "fd00::/8"}, "fd12::1", 443, False),
    ({"HTTPS_PROXY": "http://p:3128", "NO_PROXY": ","}, "a.test", 443, True),
])
def test_the_environment_says_which_way_a_request_goes(environ: dict, host: str, port: int, proxied: bool) -> None:
    assert (proxy_for(environ, "https", host, port) is not None) == proxied


@pytest.mark.parametrize("value", ["socks5://p:1", "https://user:s3cret@p:1", "http://user:s3cret@p:99999", "http://:80"])
def test_a_proxy_we_do_not_speak_is_refused_without_its_credential(value: str) -> None:
    with pytest.raises(Refused) as refusal:
        proxy_for({"HTTPS_PROXY": value}, "https", "a.test", 443)
    assert refusal.value.code == "proxy_unusable" and "s3cret" not in str(refusal.value)


def test_loopback_has_many_names() -> None:
    assert all(map(is_loopback, ("localhost", "LOCALHOST", "a.localhost", "127.0.0.1", "127.9.9.9", "::1")))
    assert not any(map(is_loopback, ("localhost.test", "128.0.0.1", "0.0.0.0", "::2", "")))


@needs_openssl
def test_a_websocket_runs_over_tls_too(certificate) -> None:
    cert, key = certificate

    async def echo(socket: WebSocket) -> None:
        while (text := await socket.receive()) is not None:
            socket.send(text.upper())

    async def handler(request: Request) -> Response:
        return accept(request, echo, lambda: WebSocket(is_client=False))

    async def scenario() -> None:
        server = await serve(handler, tls=server_context(cert, key))
        client = HttpClient(environ={"RULITH_CA_FILE": cert})
        socket = await connect(client, f"wss://localhost:{server.port}/ws")
        for text in ("a", "x" * 60_000):
            assert socket.send(text) and await socket.receive() == text.upper()
        await server.close(drain_s=0.0)                         # says its end inside TLS, and the connection goes
        assert await socket.receive() is None and socket.ended is not None and socket.ended.code == 1001
        await socket.wait_lost()
        await client.close()
        assert server.connections == set()
    run(scenario)
