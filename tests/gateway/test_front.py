"""What every request passes before a room sees it: address, host, pace; and what is told of it."""

from __future__ import annotations

import asyncio
import io
import json
import re
import shutil
import ssl
import stat
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rulith.base.clock import ManualClock
from rulith.base.log import MASK, Log, SecretRegistry
from rulith.gateway.rates import CALLERS_MAX, Buckets
from rulith.net.tls import server_context
from tests.gateway.test_access import Person
from tests.gateway.test_access_devices import Computer

FOREIGN = {"host": "rebound.example:7781"}


def test_a_bucket_lets_its_burst_pass_and_then_its_pace() -> None:
    buckets = Buckets(per_s=2.0, burst=3.0)
    assert [buckets.take("a", 10.0) for _ in range(4)] == [0.0, 0.0, 0.0, 0.5]
    assert buckets.take("b", 10.0) == 0.0                       # another caller is not slowed
    assert buckets.take("a", 10.5) == 0.0 and buckets.take("a", 10.5) == 0.5
    assert [buckets.take("a", 99.0) for _ in range(4)][:3] == [0.0] * 3


@given(st.lists(st.tuples(st.integers(0, 5), st.floats(0, 3)), max_size=60))
def test_no_caller_gets_more_than_burst_and_pace_allow(asks: list[tuple[int, float]]) -> None:
    buckets, now, passed, began = Buckets(per_s=1.5, burst=4.0), 0.0, {}, {}
    for who, later in asks:
        now += later
        began.setdefault(who, now)
        passed[who] = passed.get(who, 0) + (buckets.take(str(who), now) == 0.0)
        assert passed[who] <= 4.0 + 1.5 * (now - began[who]) + 1e-6


def test_callers_beyond_the_bound_are_forgotten_and_memory_stays() -> None:
    buckets = Buckets(per_s=0.001, burst=5.0)
    for number in range(CALLERS_MAX + 2_000):
        buckets.take(str(number), float(number))
    assert len(buckets._level) <= CALLERS_MAX


def test_a_log_holds_no_secret_in_any_spelling() -> None:
    out = io.StringIO()
    log = Log(lambda: out, ManualClock(), role="gateway", form="json")
    log.secrets.add("rlt_key_a/b+c d\"é", "short")
    log.info("started", 'with rlt_key_a/b+c d"é and short', key='rlt_key_a/b+c d"é', url="x?k=rlt_key_a%2Fb%2Bc%20d%22%C3%A9")
    try:
        raise ValueError('rlt_key_a/b+c d"é')
    except ValueError as problem:
        log.bug(problem)
    lines = [json.loads(line) for line in out.getvalue().splitlines()]
    assert lines[0]["text"] == f"with {MASK} and short" and lines[0]["key"] == MASK and lines[0]["url"] == f"x?k={MASK}"
    assert lines[1]["level"] == "error" and "Traceback" in lines[1]["trace"]
    assert "rlt_key" not in out.getvalue()


def test_a_line_for_a_terminal_cannot_forge_another_one() -> None:
    out = io.StringIO()
    log = Log(lambda: out, ManualClock(), role="gateway", secrets=SecretRegistry())
    log.warn("refused", "name \x1b[2K\rgone")
    assert out.getvalue().count("\n") == 1 and "\x1b" not in out.getvalue() and "\r" not in out.getvalue()
    log = Log(lambda: open("/dev/full", "w"), ManualClock(), role="gateway")
    log.info("lost", "a full disk loses the line, not the caller")


@pytest.fixture
def ask(kit):
    """Send one request without a body."""
    return lambda world, path, headers, method="GET": kit.http(world.port, method, path, headers, b"" if method == "POST" else None)


def test_a_name_that_is_not_this_machine_is_refused_before_any_room(play, ask) -> None:
    async def story(world) -> None:
        for path in ("/mcp", "/work", "/console/", "/metrics"):
            answer = await ask(world, path, {**FOREIGN, "authorization": f"Bearer {world.token}"}, "POST")
            assert answer.status == 403 and answer.json()["errorCode"] == "host_foreign", (path, answer.body)
    play(story)


def test_names_of_a_proxy_in_front_are_served_where_settings_list_them(play, ask) -> None:

    async def story(world) -> None:
        assert (await ask(world, "/metrics", {"host": "rulith.example"})).status == 401
        assert (await ask(world, "/metrics", {"host": "other.example"})).status == 403
    play(story, hosts=["Rulith.Example"])


def test_metrics_want_their_token_and_read_as_prometheus_text(play, ask) -> None:
    async def story(world) -> None:
        assert (await ask(world, "/metrics", {})).json()["errorCode"] == "metrics_token_required"
        assert (await ask(world, "/metrics", {"authorization": f"Bearer {world.token}"})).status == 401
        path = world.home.gateway / "metrics-token"
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        key = {"authorization": f"Bearer {path.read_text().strip()}"}
        assert (await ask(world, "/metrics", key, "POST")).status == 405
        host = world.host()
        await host.initialize()
        await world.open_case(host)
        text = (await ask(world, "/metrics", key)).body.decode()
        assert re.search(r'^rulith_http_requests_total\{room="mcp",status="200"\} [2-9]$', text, re.M)
        assert re.search(r"^rulith_operations_total 1$", text, re.M)
        assert re.search(r'^rulith_cases\{status="running"\} 1$', text, re.M)
        families = re.findall(r"^# TYPE (\S+) (counter|gauge)$", text, re.M)
        assert len(families) == len(set(families)) >= 14
        for line in text.splitlines():
            assert line.startswith("# ") or re.fullmatch(r'[a-z_]+(\{[a-z]+="[^"]*"(,[a-z]+="[^"]*")*\})? [0-9.]+', line), line
    play(story)


def test_a_stranger_who_guesses_is_slowed_and_a_known_caller_is_not(play, ask) -> None:
    async def story(world) -> None:
        host = world.host()
        await host.initialize()
        seen = [await ask(world, "/mcp", {"authorization": f"Bearer rlt_agt_{number}"}, "POST") for number in range(70)]
        statuses = [answer.status for answer in seen]
        assert statuses[:50] == [401] * 50 and statuses[-1] == 429
        assert int(seen[-1].headers["retry-after"]) >= 1 and seen[-1].json()["errorCode"] == "too_many_requests"
        assert (await host.rpc("ping")).status == 200
    play(story)


def test_one_credential_beyond_its_pace_waits_and_others_go_on(play) -> None:

    async def story(world) -> None:
        host = world.host()
        await host.initialize()
        statuses = [(await host.rpc("ping")).status for _ in range(5)]
        assert 429 in statuses
        assert (await world.local("state")).status == 200
    play(story, requestsPerSecond=1)


def test_a_stranger_who_names_a_connection_is_counted_by_address_and_never_slows_its_worker(play, kit, ask) -> None:
    async def story(world) -> None:
        worker = world.worker()
        rows = {"content-type": "application/x-www-form-urlencoded"}
        named = [await ask(world, "/token", {**rows, "x-rulith-connection": name}, "POST") for name in [worker.connection] * 5 + [f"conn_{number}" for number in range(20)]]
        assert named[-1].status == 429
        assert (await ask(world, "/work/sources", {"x-rulith-connection": worker.connection, "x-rulith-connection-key": worker.key})).status == 200
    play(story, requestsPerSecond=1)


@pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl program")
def test_off_loopback_serves_over_tls_what_is_for_others_and_nothing_else(play, kit, tmp_path) -> None:
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "30", "-subj", "/CN=localhost",
                    "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", str(key), "-out", str(cert)],
                   check=True, capture_output=True)

    async def story(world) -> None:
        server = await world.gateway.listen("127.0.0.1", 0, tls=server_context(str(cert), str(key)))
        trusted = ssl.create_default_context(cafile=str(cert))

        async def get(path: str, **headers: str) -> int:
            reader, writer = await asyncio.open_connection("localhost", server.port, ssl=trusted)
            rows = {"host": f"localhost:{server.port}", "connection": "close", **headers}
            writer.write((f"GET {path} HTTP/1.1\r\n" + "".join(f"{name}: {value}\r\n" for name, value in rows.items()) + "\r\n").encode())
            status = int((await reader.read()).split(b" ")[1])
            writer.close()
            return status

        assert await get("/console/") == 200
        assert await get("/mcp") == 401
        laptop = await Computer(kit, world).sign_in(await Person(kit, world).sign_in())
        assert await get("/local/state", authorization=f"Bearer {world.device}") == 401        # the home's own grant is of this computer
        assert await get("/local/state", authorization=f"Bearer {laptop.token}") == 200
        assert await get("/local-devices/context", authorization=f"Bearer {laptop.token}") == 200
        assert await get("/metrics", authorization=f"Bearer {world.device}") == 404
        assert await get("/console/", origin="https://evil.example") == 403
        assert await get("/console/", origin=f"https://localhost:{server.port}") == 200
        assert await get("/console/", host="gateway.example", origin="https://gateway.example") == 200
    play(story)
