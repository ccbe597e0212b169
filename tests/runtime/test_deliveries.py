"""Local delivery at the Agent: the ticket is fetched from the custodian, and nothing stands in for it. Duty: the MCP surface, §4.6."""

from __future__ import annotations

import asyncio
import json

import pytest

from rulith.base.clock import SystemClock
from rulith.base.errors import Refused
from rulith.net.client import HttpClient
from rulith.net.server import Response, serve
from rulith.runtime.answers import Answer, Kind
from rulith.runtime.deliveries import Custodian, delivered
from rulith.runtime.options import Options
from rulith.runtime.settings import read_settings

REF, TICKET = "art_" + "1" * 32, "mlt_" + "a" * 43
OFFER = {"protocol": "rulith-local-delivery/1", "ticket": TICKET, "ref": REF, "claimPath": "/work/artifact/claim"}
WINDOW = {"ref": REF, "mediaType": "text/plain", "encoding": "utf8", "data": "x", "offset": 0, "nextOffset": None, "totalBytes": 1, "complete": True, "truncated": False}
ANSWER = Answer("ReadArtifact", Kind.ACCEPTED, {"accepted": True, "result": {"ref": REF}, "operations": []})
META = "rulith/local-delivery/v1"


def fetched(offer, status=200, said=None, *, custodian=True):
    """(the answer, what the custodian was asked)"""
    async def main():
        asked = []

        async def answer(request):
            asked.append((json.loads(request.body), dict(request.headers.items())))
            return Response(status, {"content-type": "application/json"}, json.dumps(said).encode() if said is not None else b"no json")

        server, http = await serve(answer, "127.0.0.1", 0), HttpClient(SystemClock())
        it = Custodian(f"http://127.0.0.1:{server.port}/deliver", "the-key", "conn_1", "http://127.0.0.1:8080/v1") if custodian else None
        try:
            return await delivered(http, it, {"_meta": {META: offer}} if offer is not None else {}, ANSWER), asked
        finally:
            await http.close()
            await server.close()

    return asyncio.run(asyncio.wait_for(main(), 30))


def test_the_window_of_the_custodian_takes_the_place_of_the_reference():
    answer, ((asked, headers),) = fetched(OFFER, said={"ok": True, "result": WINDOW})
    assert answer.kind is Kind.ACCEPTED and answer.body == {"accepted": True, "result": WINDOW, "operations": []}
    assert asked == {"ticket": TICKET, "ref": REF, "modelDestination": "http://127.0.0.1:8080/v1"} and headers["x-rulith-material"] == "the-key"


def test_an_answer_without_a_ticket_stays_as_it_is():
    assert fetched(None) == (ANSWER, [])


@pytest.mark.parametrize("offer, status, said, code", [
    ("x", 200, None, "local_delivery_malformed"), ({**OFFER, "protocol": "rulith-local-delivery/2"}, 200, None, "local_delivery_protocol_unknown"),
    ({**OFFER, "ticket": "mlt_x"}, 200, None, "local_delivery_malformed"), ({**OFFER, "ref": "art_" + "2" * 32}, 200, None, "local_delivery_malformed"),
    ({**OFFER, "claimPath": "/elsewhere"}, 200, None, "local_delivery_malformed"), (OFFER, 200, None, "material_delivery_unavailable"),
    (OFFER, 503, {"ok": False, "errorCode": "material_custodian_offline", "teaching": "off"}, "material_custodian_offline"),
    (OFFER, 400, {"ok": False, "errorCode": "material_local_only", "teaching": "Only here."}, "material_delivery_refused"),
    (OFFER, 200, {"ok": True, "result": {**WINDOW, "ref": "art_" + "2" * 32}}, "local_delivery_malformed"), (OFFER, 200, {"ok": True, "result": {}}, "local_delivery_malformed"),
])
def test_a_read_that_does_not_come_is_refused_and_shows_neither_ticket_nor_key(offer, status, said, code):
    answer, _ = fetched(offer, status, said)
    assert answer.kind is Kind.REFUSED and answer.code == code and answer.body["operations"] == [] and "result" not in answer.body
    assert TICKET not in answer.text and "the-key" not in answer.text


def test_without_a_custodian_a_ticket_is_of_no_use():
    answer, asked = fetched(OFFER, custodian=False)
    assert answer.code == "material_delivery_unavailable" and asked == []


@pytest.mark.parametrize("url, known", [("http://127.0.0.1:7780/i/x/materials/deliver", True), ("", False), ("https://elsewhere.example/deliver", None)])
def test_a_custodian_takes_all_three_settings_and_is_on_this_machine(url, known):
    env = {"RULITH_TOKEN": "t", "RULITH_MATERIALS_DELIVER_URL": url, "RULITH_MATERIALS_DELIVER_KEY": "k" * 16, "RULITH_MATERIALS_DELIVER_CONNECTION": "conn_1"}
    if known is None:
        with pytest.raises(Refused) as caught:
            read_settings(env, Options(), default_url="http://127.0.0.1:7781", warn=print)
        assert caught.value.code == "setting_refused"
        return
    custodian = read_settings(env, Options(), default_url="http://127.0.0.1:7781", warn=print).custodian
    assert (custodian is not None) is known and "k" * 16 not in repr(custodian)
    assert not known or custodian.headers() == {"x-rulith-local-delivery": "rulith-local-delivery/1", "x-rulith-local-custodian": "conn_1"}
