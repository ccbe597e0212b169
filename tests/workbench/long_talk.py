"""A conversation of any length as the Agent would have saved it, written at once."""

from __future__ import annotations

import hashlib
import json

from rulith.disk.conversations import FORMAT, owner_digest

HOSTILE_WORDS = '<script>alert(1)</script> [x](javascript:alert(1)) ![p](http://127.0.0.1:9/p.png) **bold'


def write_talk(folder, owner, number, session="long", *, say=lambda n: f"Answer {n}: " + "some words. " * (n % 40), day="2026-10-03"):
    """`number` turns of `session` in the store below `folder`."""
    place = folder / f"{owner_digest(owner)}.json.d"
    place.mkdir(parents=True, exist_ok=True)
    (place / "_complete.json").write_text(json.dumps({"format": FORMAT, "owner": owner, "sourceSha256": "", "migratedTurns": 0}))
    for n in range(number):
        at = f"{day}T{n // 3600:02}:{n // 60 % 60:02}:{n % 60:02}.000Z"
        turn = {"id": f"turn_{session}_{n:06}", "sessionKey": session, "text": f"Question {n}", "attachments": [], "at": at, "state": "finished",
                "replies": [{"text": say(n), "at": at}], "requestId": f"request-{session}-{n:08}", "fingerprint": "f", "receipt": {}, "modelService": "",
                "note": say(n), "outcome": "conversation", "startedAt": at, "endedAt": at, "caseIds": [], "usage": {}}
        (place / (hashlib.sha256(turn["id"].encode()).hexdigest() + ".turn.json")).write_text(json.dumps(turn, ensure_ascii=True))
    return place
