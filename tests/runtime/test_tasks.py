"""Bodies of `POST /task` that nobody would write: each is a task or a refusal, and never anything else.

Source  the MCP surface, "HTTP service"
"""

from __future__ import annotations

import json
import random

import pytest

from rulith.base.errors import Refused
from rulith.runtime.tasks import Task, read_task

SEED = 20261201
NAMES = ["text", "sessionKey", "caseType", "businessKey", "caseId", "requestId", "attachments", "historyModelDestination", "other", ""]
FILE = {"id": "mat_" + "0" * 32, "name": "n", "mediaType": "text/plain", "totalBytes": 1}
VALUES = [None, True, False, 0, -1, 1.5, "", " ", "x", "a" * 129, "a" * 16, "ü" * 20, "\x00", [], {}, [[]], {"a": {}}, {"a": 1}, {"a": None}, "verified_calculation",
          [FILE], [FILE, FILE], [{**FILE, "totalBytes": 10 ** 30}], [{**FILE, "id": 1}], [{**FILE, "name": "n" * 256}], 10 ** 400, "mat_" + "0" * 32]


def test_any_body_is_a_task_or_a_refusal():
    draw = random.Random(SEED)
    taken = 0
    for number in range(20_000):
        body = {draw.choice(NAMES): draw.choice(VALUES) for _ in range(draw.randrange(5))}
        if draw.random() < 0.5:
            body["text"] = "do it"
        headers = {"x-rulith-material-task-proof": draw.choice([None, "0" * 64, "x", ""]), "x-rulith-material-selection-key": draw.choice([None, "f" * 64, "F" * 64])}
        try:
            task = read_task(body, headers)
        except Refused as refusal:
            assert refusal.code == "task_refused", (SEED, number, body)
            continue
        taken += 1
        assert isinstance(task, Task) and task.text.strip() and len(task.session_key) <= 128, (SEED, number, body)
        assert len(task.fingerprint("k", "")) == 64 and "0" * 64 not in json.dumps([task.proofs, task.words()])
    assert taken > 100


@pytest.mark.parametrize("change", [
    {"text": "other"}, {"case_type": "exploration"}, {"business_key": {"a": 1}}, {"business_key": {"a": "1"}}, {"business_key": {"a": True}}, {"case_id": "c"},
    {"attachments": (FILE,)}, {"proofs": ("p",)},
])
def test_what_makes_two_requests_the_same_one(change):
    same = Task("words", "k").fingerprint("k", "")
    assert Task("words", request_id="r" * 16, model_destination="m").fingerprint("k", "") == same
    assert Task(**{"text": "words", **change}).fingerprint("k", "") != same
    assert Task("words").fingerprint("other", "") != same and Task("words").fingerprint("k", "pinned_type") != same
