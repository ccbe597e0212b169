"""A model's tool arguments: text in, one JSON object or a refusal out.

The look at numbers happens on the text, before a parser can round. Strict besides: one
object, no name twice, no NaN, no lone surrogate, bounded depth. A call runs as it was
shown or not at all.
"""

from __future__ import annotations

from rulith.base.errors import Refused
from rulith.base.json_text import read_json


def read_object(text: str, tool: str) -> dict:
    """`text` as one JSON object; an empty text counts as `{}`.

    Raises Refused bad_tool_arguments (it is no such object) or number_out_of_range.
    """
    if not text.strip():
        return {}
    try:
        value = read_json(text, f"the arguments of {tool}")
    except Refused as refusal:
        if refusal.code != "bad_json":
            raise
        raise Refused("bad_tool_arguments", tool=tool, problem=str(refusal.facts["problem"])) from None
    if not isinstance(value, dict):
        raise Refused("bad_tool_arguments", tool=tool, problem=f"they are {_kind(value)}, not an object")
    return value


def _kind(value: object) -> str:
    if value is None:
        return "null"
    return {bool: "a boolean", str: "a text", list: "an array"}.get(type(value), "a number")
