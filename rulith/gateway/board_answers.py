"""What a tool answers: text for a model, data on request, refusals as both.

Promises: no answer is longer than its bound, and where something was cut it says so; a
refusal has its errorCode, what happened, what to do, and the shape that would have been right.

Source  the published error contract; MCP, "Tool result".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from rulith.base.errors import Refused
from rulith.base.json_text import compact_json
from rulith.base.limits import BOARD_TEXT_BYTES_MAX
from rulith.board.space.outcome import atom_json
from rulith.board.space.nodes import Proof
from rulith.board.space.tasks import NotComplete
from rulith.gateway.board_tools import EXAMPLES, Tool

DATA_BYTES_MAX = 16 * BOARD_TEXT_BYTES_MAX      # of an answer asked for as JSON: a program reads it, not a model
_CUT = "\n... cut here: the answer is longer than {limit} bytes{hint}"
_OPERATION = re.compile(r"^operations\[\d+\]\s*(\w+)?")
#  a refusal that names no operation, and the one it is about
_ABOUT = {
    "RULE_UNSAFE": "add_axiom", "NOT_STRATIFIABLE": "add_axiom", "CLOSURE_DIVERGED": "add_axiom", "JOIN_EXPLOSION": "add_axiom",
    "CONCAT_OPERAND": "add_axiom", "ACTION_UNSAFE": "define_action", "NODE_ID_REQUIRED": "retract_node", "NODE_NOT_FOUND": "retract_node",
    "FINDING_NOT_DERIVED": "record_result", "EVIDENCE_UNRESOLVED": "record_result", "GOAL_EMPTY": "declare_goal",
    "BUILTIN_RESERVED": "assert_fact", "AGGREGATE_SHAPE": "derive_aggregate",
}


def told(text: str, data: Mapping[str, Any], args: Mapping[str, Any], hint: str = "") -> dict[str, Any]:
    """A success: the text; with `format: "json"` the data, and its JSON as text.

    Data that would be too much is left out with a word about it: what was done is done, and no refusal.
    """
    shown = compact_json(data) if args.get("format") == "json" else None
    if shown is not None and len(shown.encode("utf-8")) > DATA_BYTES_MAX:
        text, shown = f"(as JSON this answer is longer than {DATA_BYTES_MAX} bytes; ask for less)\n{text}", None
    if shown is None:
        return {"content": [{"type": "text", "text": bounded(text, hint)}], "isError": False}
    return {"content": [{"type": "text", "text": shown}], "structuredContent": dict(data), "isError": False}


def bounded(text: str, hint: str = "") -> str:
    """The text, or as many whole lines of it as fit."""
    if len(text.encode("utf-8")) <= BOARD_TEXT_BYTES_MAX:
        return text
    note = _CUT.format(limit=BOARD_TEXT_BYTES_MAX, hint=f"; {hint}" if hint else "")
    kept = text.encode("utf-8")[:BOARD_TEXT_BYTES_MAX - len(note)].decode("utf-8", "ignore")
    return kept[:kept.rfind("\n")] + note if "\n" in kept else kept + note


# --- refusals ----------------------------------------------------------------------------


def refused(tool: Tool, refusal: Refused, arguments: object) -> dict[str, Any]:
    """A refusal, for a program (`errorCode`) and for a model (the text)."""
    correct = correct_shape(tool, refusal, arguments)
    data: dict[str, Any] = {"errorCode": refusal.code, "happened": refusal.happened, "teaching": refusal.teaching, "correct": correct}
    if isinstance(refusal, NotComplete):
        data["gates"] = [gate.json() for gate in refusal.gates]
    text = f"error {refusal.code}: {refusal.teaching}\ncorrect shape of {tool.name}: {compact_json(correct)}"
    return {"content": [{"type": "text", "text": bounded(text)}], "structuredContent": data, "isError": True}


def correct_shape(tool: Tool, refusal: Refused, arguments: object) -> dict[str, Any]:
    """A call that would be read, about the operation that was refused where one was."""
    if tool.name != "update_working_memory":
        return dict(tool.example)
    found = _OPERATION.match(str(refusal.facts.get("where", "")))
    op = found[1] if found is not None else _ABOUT.get(refusal.code)
    return {"operations": [EXAMPLES.get(op or "", EXAMPLES["assert_fact"])]}


def failed(tool: Tool) -> dict[str, Any]:
    """A fault of ours; the details went to stderr."""
    teaching = (f"{tool.name} failed inside rulith; details are in the server's log. "
                "Read the Board with get_logic_context before you send it again.")
    return {"content": [{"type": "text", "text": f"error internal: {teaching}"}],
            "structuredContent": {"errorCode": "internal", "teaching": teaching, "correct": dict(tool.example)}, "isError": True}


# --- proofs ------------------------------------------------------------------------------


def proof_lines(proof: Proof, depth: int = 0) -> Iterator[str]:
    """One line per step, two blanks per level."""
    by = f' [{proof.marker} by {proof.via} "{proof.via_label}"]' if proof.via is not None else f" [{proof.marker}]"
    rounded = f" (rounded: {proof.rounded})" if proof.rounded else ""
    yield f"{'  ' * depth}{proof.atom.text()} ({proof.node_id}){by}{rounded}"
    for child in proof.children:
        yield from proof_lines(child, depth + 1)
    if proof.cut:
        yield f"{'  ' * (depth + 1)}... more premises, cut here"


def proof_data(proof: Proof) -> dict[str, Any]:
    found: dict[str, Any] = {"nodeId": proof.node_id, "atom": atom_json(proof.atom), "marker": proof.marker}
    if proof.via is not None:
        found.update(ruleId=proof.via, ruleLabel=proof.via_label)
    if proof.rounded:
        found["rounded"] = proof.rounded
    if proof.cut:
        found["cut"] = True
    return {**found, "parents": [proof_data(child) for child in proof.children]}
