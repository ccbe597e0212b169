"""Local delivery: content that the gateway gives as a ticket, fetched on this machine instead.

The gateway's answer to ReadArtifact then holds no bytes; whoever keeps them does, here. The
ticket and the key of that custodian are never shown to a model, and a custodian that does not
answer is never replaced by another way: the read fails and says why.

Units   *_s seconds
Source  the MCP surface, §4.6, "Local delivery"
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from rulith.base.errors import Refused
from rulith.base.json_text import compact_json, read_json
from rulith.net.client import HttpClient, NetFailed
from rulith.runtime.answers import Answer, Kind
from rulith.wire.artifacts import CLAIM_PATH, CUSTODIAN_HEADER, LOCAL_HEADER, LOCAL_META, LOCAL_PROTOCOL

TIMEOUT_S = 25.0
_TICKET = re.compile(r"mlt_[A-Za-z0-9_-]{43}", re.ASCII)
_WINDOW = frozenset(("ref", "mediaType", "encoding", "data", "offset", "nextOffset", "totalBytes", "complete", "truncated"))


@dataclass(frozen=True)
class Custodian:
    """Who keeps content on this machine: its address, its key, its Connection; and where this Agent's model is."""

    url: str
    key: str = field(repr=False)
    connection: str
    destination: str

    def headers(self) -> dict[str, str]:
        return {LOCAL_HEADER: LOCAL_PROTOCOL, CUSTODIAN_HEADER: self.connection}


async def delivered(http: HttpClient, custodian: Custodian | None, result: Mapping[str, object], answer: Answer) -> Answer:
    """`answer` as it is where its result offers no ticket, else with the window, or refused in its place."""
    meta = result.get("_meta")
    offer = meta.get(LOCAL_META) if isinstance(meta, Mapping) else None
    if offer is None or answer.kind is not Kind.ACCEPTED:
        return answer
    try:
        body = {**answer.body, "result": await _fetched(http, custodian, offer, answer)}
        return replace(answer, body=body)
    except Refused as refused:
        body = {"accepted": False, "errorCode": refused.code, "teaching": refused.teaching, **{name: answer.body[name] for name in ("operations",) if name in answer.body}}
        return replace(answer, kind=Kind.REFUSED, body=body)


async def _fetched(http: HttpClient, custodian: Custodian | None, offer: object, answer: Answer) -> dict:
    ref = answer.result.get("ref")
    if not isinstance(offer, Mapping):
        raise Refused("local_delivery_malformed", problem="it is no object")
    if offer.get("protocol") != LOCAL_PROTOCOL:
        raise Refused("local_delivery_protocol_unknown", protocol=str(offer.get("protocol"))[:80])
    ticket = offer.get("ticket")
    if not isinstance(ticket, str) or not _TICKET.fullmatch(ticket) or offer.get("ref") != ref or offer.get("claimPath", CLAIM_PATH) != CLAIM_PATH:
        raise Refused("local_delivery_malformed", problem="its ticket, reference or path is not as the contract says")
    if custodian is None:
        raise Refused("material_delivery_unavailable", problem="none is set up for this Agent")
    headers = {"content-type": "application/json", "x-rulith-material": custodian.key}
    asked = compact_json({"ticket": ticket, "ref": ref, "modelDestination": custodian.destination})
    try:
        got = await http.request("POST", custodian.url, headers, asked.encode("utf-8"), timeout_s=TIMEOUT_S)
        said = read_json(got.body, "its answer")
    except (NetFailed, Refused):
        raise Refused("material_delivery_unavailable", problem="it did not answer in a way that can be read") from None
    if not isinstance(said, dict) or said.get("ok") is not True:
        told = said if isinstance(said, dict) else {}
        if told.get("errorCode") == "material_custodian_offline":
            raise Refused("material_custodian_offline", ref=str(ref), seconds=int(TIMEOUT_S))
        raise Refused("material_delivery_refused", problem=str(told.get("teaching") or f"it answered {got.status}")[:400].rstrip("."))
    window = said.get("result")
    if not isinstance(window, dict) or set(window) != _WINDOW or window["ref"] != ref or not isinstance(window["data"], str):
        raise Refused("local_delivery_malformed", problem="its window is not one of this content")
    return window
