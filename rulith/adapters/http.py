"""The http adapter: one request to the place that a Source names, and what its answer means.

The path is the Tool's own with the call's arguments percent-encoded into it; origin, headers
and token are the Source's. No redirect is followed, no request is sent twice, and every call
has a connection of its own, so that a request never meets one that is about to close. What a
write left behind is known only from an answer: without one it is unknown, never failed.

Source  protocol/worker-contract.json, "http"
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import quote

from rulith.adapters.outbound import Outbound
from rulith.adapters.outcomes import Call, Executed, Failed, Outcome, Withheld
from rulith.adapters.places import check_members, place_of, unusable
from rulith.base.errors import Refused
from rulith.base.json_text import compact_json, read_json
from rulith.net.client import ClientResponse, NetFailed

TIMEOUT_MS, RESPONSE_BYTES = 30_000, 16_384      # where the Tool's fence says nothing
TEXT_BYTES_MAX = 16_384                          # of one textWrite
MEMBERS = ("type", "access", "url", "headers", "token", "allowHosts")
TRANSPORT, UNCONFIRMED, NO_FACTS = "http_write_transport_unknown", "http_write_terminal_unconfirmed", "http_write_facts_unavailable"
# Statuses of a write that say that it was taken, or that someone between lost the answer: no word on whether it is done.
NO_WORD = (202, 303, 502, 504)
_NAMED = re.compile(r"\{([^{}]*)\}")
_SEGMENT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._~-]{0,127}", re.ASCII)
_LITERAL = "/?:@!$&'()*+,;=%-._~"                # what the Tool's own path may hold as it stands


@dataclass(frozen=True)
class HttpCall:
    """One compiled request, ready to be sent once."""

    call: Call
    outbound: Outbound = field(repr=False)
    method: str
    url: str
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(repr=False)

    async def run(self) -> Outcome:
        fence = self.call.tool.fence
        limit = _number(fence.get("maxResponseBytes"), RESPONSE_BYTES)
        client = self.outbound.client(self.url)
        try:
            answer = await client.request(
                self.method, self.url, self.headers, self.body,
                timeout_s=_number(fence.get("timeoutMs"), TIMEOUT_MS) / 1000, body_bytes_max=limit,
            )  # fmt: skip
        except NetFailed as failed:
            if failed.sent and self.call.tool.kind != "read":
                return Withheld(TRANSPORT, failed.detail)
            return Failed(str(failed))
        except Refused as refused:               # a proxy, a certificate file: nothing was sent
            return Failed(refused.happened)
        finally:
            await client.close()
        return judge_answer(self.call, answer)


def judge_answer(call: Call, answer: ClientResponse) -> Outcome:
    """What this answer says of the call."""
    tool, status = call.tool, answer.status
    text = f"HTTP {status}: {answer.text()}"
    if tool.kind == "read":
        return Executed(text) if 200 <= status < 300 else Failed(f"HTTP {status}")
    completion = tool.fence.get("completion")
    if isinstance(completion, Mapping):
        missing = _unconfirmed(completion, answer)
        return Withheld(UNCONFIRMED, missing) if missing else Executed(text, unreadable=NO_FACTS, confirmed=True)
    if status in NO_WORD:
        return Withheld(UNCONFIRMED, f"the answer was HTTP {status}")
    return Executed(text, unreadable=NO_FACTS) if 200 <= status < 300 else Failed(f"HTTP {status}")


def _unconfirmed(completion: Mapping[str, object], answer: ClientResponse) -> str:
    """Why this answer does not confirm the write; empty when it does."""
    statuses, marker = completion["statuses"], completion["json"]
    assert isinstance(statuses, list) and isinstance(marker, Mapping)
    if answer.status not in statuses:
        return f"the answer was HTTP {answer.status}"
    try:
        value = read_json(answer.body, "the answer")
    except Refused as refused:
        return refused.happened
    found = value.get(marker["field"]) if isinstance(value, dict) else None
    wanted = marker["equals"]
    same = found == wanted and isinstance(found, bool) == isinstance(wanted, bool)
    return "" if same else f"its member {marker['field']} does not say so"


def _number(value: object, default: int) -> int:
    return value if isinstance(value, int) else default


def _argument(name: str, problem: str) -> Refused:
    return Refused("argument_refused", name=name, problem=problem)


def _scalar(value: object) -> str:
    return value if isinstance(value, str) else compact_json(value)


def _path(call: Call, entry: str) -> tuple[str, set[str]]:
    """The Tool's path with this call's arguments in it, and which went there."""
    used: set[str] = set()

    def put(found: re.Match[str]) -> str:
        name = found[1]
        used.add(name)
        text = _scalar(call.arguments[name])
        if not text:
            raise _argument(name, "is empty, and a part of the path")
        if any(part in (".", "..") for part in re.split(r"[/\\]", text)):
            raise _argument(name, "would lead to another path")
        try:
            return quote(text, safe="")
        except UnicodeEncodeError:
            raise _argument(name, "is no Unicode text") from None

    pieces, last = [], 0
    for found in _NAMED.finditer(entry):
        pieces += [quote(entry[last : found.start()], safe=_LITERAL), put(found)]
        last = found.end()
    path = "".join(pieces) + quote(entry[last:], safe=_LITERAL)
    if any(part in (".", "..") for part in path.partition("?")[0].split("/")):
        raise Refused("adapter_refused", tool=call.tool.id, problem="its path climbs with dots")
    return path, used


def compile_request(call: Call, outbound: Outbound) -> HttpCall:
    """Judge the Source, the path and the arguments before anything is claimed.

    Raises Refused: source_unusable, argument_refused, adapter_refused, resource_limit, ca_file_unreadable.
    """
    source, tool = call.source, call.tool
    assert source is not None, "adapters/hands.py judges this first"
    check_members(source, MEMBERS)
    place = place_of(source)
    allowed = source.secrets.get("allowHosts", [place.host])
    if not isinstance(allowed, list) or not all(isinstance(host, str) for host in allowed):
        raise unusable(source, "allowHosts must be a list of host names")
    if place.host not in [host.lower() for host in allowed]:
        raise unusable(source, f"its host {place.host} is not in its allowHosts")
    path, used = _path(call, tool.entry)
    url = place.origin + path if path.startswith("/") else f"{place.url.rstrip('/')}/{path}"
    left = {name: value for name, value in call.arguments.items() if name not in used}
    text_write = tool.fence.get("textWrite")
    method = str(tool.fence.get("method") or ("PUT" if text_write else "GET" if tool.kind == "read" else "POST"))
    headers, body = dict(place.headers), b""
    headers.setdefault("accept", "application/json, */*;q=0.5")
    if isinstance(text_write, Mapping):
        body = _text_body(call, text_write)
        headers["content-type"] = "text/plain; charset=utf-8"
    elif method in ("GET", "HEAD"):
        query = "&".join(f"{quote(name, safe='')}={quote(_scalar(value), safe='')}" for name, value in left.items())
        url += (("&" if "?" in url else "?") + query) if query else ""
    elif left or method != "DELETE":
        body = compact_json(left).encode("utf-8", "backslashreplace")
        headers["content-type"] = "application/json"
    if len(url) > outbound.url_chars_max:
        raise Refused("resource_limit", what=f"the address of Tool {tool.id!r}", value=len(url), limit=outbound.url_chars_max)
    outbound.trusted(url)
    return HttpCall(call, outbound, method, url, headers, body)


def _text_body(call: Call, text_write: Mapping[str, object]) -> bytes:
    target, text = str(text_write["target"]), str(text_write["text"])
    if not _SEGMENT.fullmatch(str(call.arguments[target])):
        raise _argument(target, "is no plain name of at most 128 letters, digits and . _ ~ -")
    try:
        body = str(call.arguments[text]).encode("utf-8")
    except UnicodeEncodeError:
        raise _argument(text, "is no Unicode text") from None
    if len(body) > TEXT_BYTES_MAX:
        raise _argument(text, f"is longer than {TEXT_BYTES_MAX} bytes")
    return body
