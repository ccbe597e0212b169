"""The brief for agents says what the council does: its tools, arguments and words. Duty: docs/agent-instructions.md is pasted into programs that act on it."""

from __future__ import annotations

import json
import re

import pytest

from rulith.base.errors import Refused
from rulith.council.tools import TOOLS
from tests.conftest import ROOT

PAGE = (ROOT / "docs" / "agent-instructions.md").read_text("utf-8")
BRIEF = PAGE.split("```text\n")[1].split("```")[0]
BY_NAME = {tool["name"]: tool["inputSchema"]["properties"] for tool in TOOLS}
BYTES_MAX = 5_000            # every model pays for it in every turn
# words with an underscore that are not tools: members of answers and arguments
MEMBERS = {"staying_in_touch", "next_cursor", "needs_you"} | {name for properties in BY_NAME.values() for name in properties}


def test_the_brief_is_short_and_names_what_is_there():
    named = set(re.findall(r"\b[a-z]+(?:_[a-z]+)+\b", BRIEF))
    assert named <= set(BY_NAME) | MEMBERS and len(BRIEF.encode()) < BYTES_MAX
    assert set(BY_NAME) - named - {"whoami", "reply", "search", "update_thread", "set_thread_status"} == set()
    assert "did not ask you" in BRIEF and "RESOLVED" in BRIEF


def test_the_example_of_a_citation_is_taken_as_it_stands(council):
    ann = council.agent("ann")
    thread = council.opens()
    refs = json.loads("{" + re.search(r'"refs": \[.*\]', BRIEF)[0] + "}")["refs"]
    told = council.does(ann, "reply", thread_id=thread, body="Twice, on a timeout.", refs=refs, verdict="CONFIRMED", severity="HIGH", tokens_in=10, tokens_out=2, cost_usd=0.01)
    shown = council.does(ann, "get_thread", thread_id=thread)["messages"][0]
    assert shown["id"] == told["message_id"] and shown["refs"] == refs


def test_what_the_brief_says_of_being_asked_is_what_a_refusal_says(council):
    council.agent("ann")
    ben = council.agent("ben")
    thread = council.opens()
    with pytest.raises(Refused) as refused:
        council.does(ben, "reply", thread_id=thread, body="me too")
    assert "did not ask you" in refused.value.happened
