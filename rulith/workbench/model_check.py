"""One question to a model service on a person's press: what it answered, and which models it names.

Asks as the Agent would, whole instead of streamed, and follows what a refusal says it wants.
Nothing of it is kept, and the key is in nothing that comes back.

Units   *_s seconds, *_ms milliseconds
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from rulith.base.clock import Clock
from rulith.base.errors import Refused
from rulith.base.limits import MODELS_LISTED_MAX, MODEL_TEST_BYTES_MAX
from rulith.dialects import anthropic, openai, quirks
from rulith.dialects.endpoint import ANTHROPIC, Endpoint, endpoint_of
from rulith.dialects.replies import error_words, parse
from rulith.dialects.transcript import CallIds, Reply, UserEntry
from rulith.net.client import ClientResponse, HttpClient, NetFailed
from rulith.wire.sse import EventStream

ANSWER_S, LIST_S = 60.0, 15.0        # a local server may load the model first
TRIES_MAX = 4
SAID_CHARS_MAX = 300
OUTPUT_TOKENS = 256                  # enough for one that thinks a little first
STREAM_FIELDS = (b"data", b"event", b"id", b"retry", b":")
SYSTEM, QUESTION = "Answer in one short sentence.", "Say that you are ready."


async def try_model(client: HttpClient, clock: Clock, model: Mapping[str, str]) -> dict[str, object]:
    """What the service at `model` answered: {status, said, problem, ms, models, isListed, wants}; status 0: no answer."""
    endpoint, key = endpoint_of(model["url"]), model.get("key", "")
    began_s = clock.monotonic_s()
    found = await _ask(client, endpoint, model, key)
    ms = round((clock.monotonic_s() - began_s) * 1000)
    models = await _models(client, endpoint, key) if found["status"] else None
    told = {**found, "ms": ms, "models": models, "isListed": None if models is None else model["name"] in models}
    return json.loads(json.dumps(told, ensure_ascii=False).replace(json.dumps(key)[1:-1], "…")) if key else told


async def _ask(client: HttpClient, endpoint: Endpoint, model: Mapping[str, str], key: str) -> dict[str, object]:
    wire = anthropic if endpoint.wire == ANTHROPIC else openai
    wants: frozenset[str] = frozenset((quirks.WHOLE_REPLIES, quirks.TOOLS_AS_TEXT))
    learned: list[str] = []
    for _ in range(TRIES_MAX):
        body = wire.request_body(model=model["name"], max_tokens=OUTPUT_TOKENS, system=SYSTEM, entries=[UserEntry(QUESTION)], tools=[],
                                 thinking=model.get("thinking") or None, wants=wants)
        try:
            answer = await client.request("POST", endpoint.url, endpoint.headers(key), json.dumps(body).encode(), timeout_s=ANSWER_S,
                                          body_bytes_max=MODEL_TEST_BYTES_MAX)
        except NetFailed as failed:
            return {"status": 0, "said": "", "problem": failed.detail[:SAID_CHARS_MAX], "wants": learned}
        said, problem = _read(wire, answer)
        wish = quirks.learned_from(answer.status, problem, wants) if problem else None
        if wish is None:
            break
        wants = quirks.with_quirk(wants, wish)
        learned.append(quirks.WISHES[wish])
    return {"status": answer.status, "said": said[:SAID_CHARS_MAX], "problem": problem[:SAID_CHARS_MAX], "wants": learned}


def _read(wire, answer: ClientResponse) -> tuple[str, str]:
    """(what the model said, what is wrong)."""
    if not 200 <= answer.status < 300:
        try:
            document = parse(answer.body)
        except ValueError:
            return "", " ".join(answer.text().split())[:2000] or "It gave no reason."
        return "", error_words(document.get("error", document) if isinstance(document, dict) else document)
    try:
        is_stream = answer.body.lstrip()[:8].startswith(STREAM_FIELDS)
        reply = _streamed(wire, answer.body) if is_stream else wire.read_reply(answer.body, CallIds(), max_tokens=OUTPUT_TOKENS)
    except Refused as refusal:
        return "", refusal.happened
    return " ".join(reply.text.split()), ""


def _streamed(wire, body: bytes) -> Reply:
    """Some services stream whatever is asked. Raises Refused model_reply_unreadable, model_broke_off."""
    events, reply = EventStream(event_bytes_max=MODEL_TEST_BYTES_MAX), wire.stream()
    for event in (*events.receive(body), *events.finish()):
        reply.take(event.data, event.event)
    if reply.failure or not reply.is_ended:
        raise Refused("model_broke_off", said=" ".join((reply.failure or "the stream ended before the reply was complete").split())[:SAID_CHARS_MAX])
    document, digits = reply.document()
    return wire.read_document(document, CallIds(), digits, max_tokens=OUTPUT_TOKENS, is_whole=reply.is_whole)


async def _models(client: HttpClient, endpoint: Endpoint, key: str) -> list[str] | None:
    """The names that the service lists beside this address; None where it lists none."""
    tail = "/messages" if endpoint.wire == ANTHROPIC else "/chat/completions"
    try:
        answer = await client.request("GET", endpoint.url.removesuffix(tail) + "/models", endpoint.headers(key), timeout_s=LIST_S,
                                      body_bytes_max=MODEL_TEST_BYTES_MAX)
        document = parse(answer.body) if answer.status == 200 else None
    except (NetFailed, ValueError):
        return None
    rows = document.get("data") if isinstance(document, dict) else None
    if not isinstance(rows, list):
        return None
    return [row["id"][:200] for row in rows if isinstance(row, dict) and isinstance(row.get("id"), str)][:MODELS_LISTED_MAX]
