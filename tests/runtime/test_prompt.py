"""What a model is told before it begins. Source  the MCP surface, "Model transports", topics of the prompt."""

from __future__ import annotations

import pytest

from rulith.runtime.prompt import SYSTEM
from rulith.wire.contract import mcp_contract

TOPICS = ("greetings", "only from tool results", "You propose, the Board decides", "do not stop half-way", "assert_fact", "add_axiom", "declare_goal",
          "retract_node", "revise_fact", "gives no permission", "acceptance_met", "test_result", "rulith.exploration.completed",
          "QueryBoard gives a current one", "close it as completed", "operations", "running", "unknown", "earlier result", "changes", "9007199254740991")


@pytest.mark.parametrize("topic", TOPICS)
def test_the_prompt_speaks_of_what_a_model_has_to_know(topic):
    assert topic in SYSTEM


def test_the_prompt_is_short_constant_text_without_a_wire_form():
    assert len(SYSTEM) < 3_200 and not set("{}[]<>`") & set(SYSTEM)
    assert SYSTEM.isprintable() or set(SYSTEM) - {"\n"} == {letter for letter in SYSTEM if letter.isprintable()}


def test_the_prompt_repeats_no_schema():
    """Which arguments a tool takes, the wire says."""
    names = {name for tool in mcp_contract().tools for name in tool.listing()["inputSchema"].get("properties", {})}
    assert not [name for name in names if f"{name}:" in SYSTEM or f'"{name}"' in SYSTEM]
