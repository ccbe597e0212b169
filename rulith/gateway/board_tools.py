"""The tools of `rulith board`: what a model reads about each, and the check of what it sends.

One table serves both, so that a shape that is shown is the shape that is checked. Short on
purpose: a host pays for every word of it in every turn.

Units   none
Source  the published tool surface; the reasoning board, "MCP tools".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rulith.base.errors import Refused

LOCALE = "en"
LEGACY_LOCALE = "zh"        # still taken from older hosts; the answer is English all the same
FORMATS = ("text", "json")
MODES = ("why", "why_not", "what_if")

TEXT = {"type": "string"}
TEXTS = {"type": "array", "items": TEXT}
SCALAR = {"anyOf": [TEXT, {"type": "number"}, {"type": "boolean"}]}
COUNT = {"type": "integer", "minimum": 1}
ATOM = {"type": "object", "properties": {"predicate": TEXT, "args": {"type": "object"}, "negated": {"type": "boolean"}},
        "required": ["predicate"]}
BODY = {"type": "array", "items": {"type": "object", "properties": {**ATOM["properties"], "naf": {"type": "boolean"}},
                                   "required": ["predicate"]}}
HEADS = {"type": "array", "items": ATOM}

OPERATION = {
    "type": "object",
    "properties": {
        "op": {"type": "string", "enum": [
            "declare_goal", "assert_fact", "declare_hypothesis", "add_axiom", "derive_aggregate", "define_action",
            "record_result", "record_conflict", "retract_node", "revise_fact"]},
        "id": TEXT, "label": TEXT, "summary": TEXT,
        "predicate": TEXT, "args": {"type": "object"}, "negated": {"type": "boolean"}, "evidenceRefs": TEXTS,
        "desired": HEADS, "when": BODY, "then": HEADS,
        "kind": {"type": "string", "enum": ["sum", "count", "min", "max", "avg"]},
        "source": {"type": "object", "properties": {"predicate": TEXT, "valueArg": TEXT}},
        "into": {"type": "object", "properties": {"predicate": TEXT, "valueArg": TEXT}},
        "where": {"type": "object", "properties": {"arg": TEXT, "equals": SCALAR}}, "group_by": TEXT,
        "action": TEXT, "preconditions": BODY, "effects": HEADS,
        "nodeId": TEXT, "reason": TEXT,
    },
    "required": ["op"],
}
#  what a batch checks by itself, with sharper words than a schema has: here only the list is judged
OPERATIONS = {"type": "array", "items": OPERATION}

#  one correct example of every operation, shown when one is refused
EXAMPLES = {
    "assert_fact": {"op": "assert_fact", "id": "L1", "predicate": "line", "args": {"item": "a", "unit": 1299, "qty": 7}},
    "declare_goal": {"op": "declare_goal", "label": "total known", "desired": [{"predicate": "grand", "args": {"value": "?v"}}]},
    "declare_hypothesis": {"op": "declare_hypothesis", "predicate": "cheap", "args": {"item": "a"}},
    "add_axiom": {"op": "add_axiom", "id": "R1", "label": "cost", "when": [
        {"predicate": "line", "args": {"item": "?i", "unit": "?u", "qty": "?q"}},
        {"predicate": "mul", "args": {"left": "?u", "right": "?q", "result": "?t"}}],
        "then": [{"predicate": "cost", "args": {"item": "?i", "total": "?t"}}]},
    "derive_aggregate": {"op": "derive_aggregate", "id": "T", "kind": "sum", "source": {"predicate": "cost", "valueArg": "total"},
                         "into": {"predicate": "grand", "valueArg": "value"}},
    "define_action": {"op": "define_action", "action": "ship", "preconditions": [{"predicate": "paid", "args": {"order": "?o"}}],
                      "effects": [{"predicate": "shipped", "args": {"order": "?o"}}]},
    "record_result": {"op": "record_result", "label": "the total is 9093", "evidenceRefs": ["derived:grand|value:9093"]},
    "record_conflict": {"op": "record_conflict", "label": "two prices for a", "evidenceRefs": ["L1", "L2"]},
    "retract_node": {"op": "retract_node", "nodeId": "L1", "reason": "read twice"},
    "revise_fact": {"op": "revise_fact", "nodeId": "L1", "predicate": "line", "args": {"item": "a", "unit": 1250, "qty": 7}},
}


@dataclass(frozen=True)
class Tool:
    """A tool as it is listed and checked. `example` is a correct call, shown when one is refused."""

    name: str
    description: str
    properties: Mapping[str, Any] = field(default_factory=dict)
    required: Sequence[str] = ()
    example: Mapping[str, Any] = field(default_factory=dict)
    reads_only: bool = False
    on_space: bool = True       # takes `spaceId`

    @property
    def schema(self) -> dict[str, Any]:
        space = {"spaceId": TEXT} if self.on_space else {}
        found: dict[str, Any] = {"type": "object", "properties": {
            **space, **self.properties, "format": {"type": "string", "enum": list(FORMATS)}, "locale": {"type": "string", "enum": [LOCALE]}}}
        return {**found, "required": list(self.required)} if self.required else found

    def listing(self) -> dict[str, Any]:
        row = {"name": self.name, "description": self.description, "inputSchema": self.schema}
        return {**row, "annotations": {"readOnlyHint": True}} if self.reads_only else row


_STEPS = {"actionNodeIds": TEXTS}
_ONE = {"actionNodeId": TEXT}

TOOLS = (
    Tool("update_working_memory",
         "Apply a batch of operations to a Board, all or none; rules then derive what follows. Answers with facts marked "
         "[derived], [effect] or [asserted], goals met or what they need, verdicts, warnings.\n"
         "declare_goal{label,desired} assert_fact{predicate,args} declare_hypothesis{predicate,args} add_axiom{label,when,then} "
         "derive_aggregate{kind,source,into,where,group_by} define_action{action,preconditions,effects} "
         "record_result{label,evidenceRefs} record_conflict{label,evidenceRefs} retract_node{nodeId} revise_fact{nodeId,predicate,args}.\n"
         "Values are text, numbers, true, false; in rules \"?x\" is a variable. In `when`, naf:true asks that no fact matches; "
         "negated:true means the stated opposite, and in `effects` takes the fact away. Builtins for `when`: eq neq lt lte gt gte "
         "contains(left,right), between(value,low,high), add sub mul div idiv imod mod pow min max neg abs sign sqrt ln exp "
         "concat(left,right,result). Arithmetic is exact or the rule does not fire. A finding must be derived before a result is recorded.",
         {"operations": OPERATIONS}, ("operations",), {"operations": [EXAMPLES["assert_fact"]]}),
    Tool("get_logic_context",
         "Read a Board: goals, facts, hypotheses, findings, rules, actions, results, conflicts, vocabulary, critique, next steps. "
         "On a large Board the most relevant facts are shown; raise maxFacts or name pinPredicates for others.",
         {"maxFacts": COUNT, "pinPredicates": TEXTS}, (), {}, True),
    Tool("explain_fact",
         "why: the proof of a fact, down to its asserted and effect leaves. why_not: the nearest rules that would conclude it, what "
         "each lacks, and actions that would bring it. what_if: whether it would hold after `operations`, which are tried and taken "
         "back; without them, what would change it. Name the fact by factNodeId, or by `fact`, an atom that may hold variables.",
         {"factNodeId": TEXT, "fact": ATOM, "mode": {"type": "string", "enum": list(MODES)}, "operations": {"type": "array", "items": {"type": "object"}}},
         (), {"factNodeId": "derived:grand|value:9093", "mode": "why"}, True),
    Tool("request_action",
         "Apply one declared action by its name. `args` gives variables their values where more than one binding is possible.",
         {"action": TEXT, "args": {"type": "object"}}, ("action",), {"action": "ship", "args": {"order": "A-1"}}),
    Tool("declare_task",
         "Declare a task: a root and leaves, each with an acceptance test (an atom, a list of literals, or a predicate name). "
         "It is committed: nobody changes the tests afterwards.",
         {"root": TEXT, "leaves": {"type": "array", "minItems": 1, "items": {
             "type": "object", "properties": {"node": TEXT, "acceptance": {"anyOf": [ATOM, BODY, TEXT]}}, "required": ["node", "acceptance"]}}},
         ("root", "leaves"),
         {"root": "invoice", "leaves": [{"node": "total", "acceptance": {"predicate": "grand", "args": {"value": "?v"}}}]}),
    Tool("complete_task",
         "Close a task. Succeeds only when every acceptance holds by rule or action, undisputed, and a recorded result cites its "
         "evidence; otherwise names each gate that is shut.",
         {"root": TEXT}, ("root",), {"root": "invoice"}),
    Tool("create_space", "Make a Board. seedFromSpaceId plants the rules of another one.",
         {"id": TEXT, "title": TEXT, "scopes": TEXTS, "seedFromSpaceId": TEXT}, ("title",), {"id": "invoices", "title": "Invoices"},
         on_space=False),
    Tool("list_spaces", "List the Boards.", reads_only=True, on_space=False),
    Tool("distill_space", "The reusable part of a Board as a capsule: rules, results, vocabulary.", reads_only=True),
    Tool("board_critique", "What looks wrong on a Board: claimed findings, rules that prove nothing, goals nothing leads to, contradictions.",
         reads_only=True),
    Tool("simulate_action", "What applying an action would change, and the revision to pin. Nothing is written.",
         _ONE, ("actionNodeId",), {"actionNodeId": "A1"}, True),
    Tool("apply_action", "Apply an action by its node id, with the first binding of its preconditions. expectedRevision refuses it when the Board has moved.",
         {**_ONE, "expectedRevision": TEXT}, ("actionNodeId",), {"actionNodeId": "A1"}),
    Tool("validate_plan", "Try actions in order on a copy: does each apply, and do all goals hold at the end?",
         _STEPS, ("actionNodeIds",), {"actionNodeIds": ["A1", "A2"]}, True),
    Tool("apply_plan", "Validate a plan, then apply it step by step; nothing when a step fails or, with requireGoals, a goal stays open.",
         {**_STEPS, "requireGoals": {"type": "boolean"}}, ("actionNodeIds",), {"actionNodeIds": ["A1", "A2"], "requireGoals": True}),
    Tool("suggest_plan_repairs", "Actions to insert so that a failing plan gets past its failing step.",
         {**_STEPS, "maxDepth": COUNT, "maxActions": COUNT}, ("actionNodeIds",), {"actionNodeIds": ["A1", "A2"]}, True),
    Tool("plan_to_goal", "Search for a sequence of actions after which every goal holds.",
         {"maxDepth": COUNT, "maxBeam": COUNT}, (), {}, True),
    Tool("solve",
         "Choose a value for each variable so that no rule derives conflictPredicate (default conflict); writes the choice as "
         "assignPredicate(var,value) (default assignment).",
         {"variables": {"type": "array", "minItems": 1, "items": {
             "type": "object", "properties": {"name": TEXT, "domain": {"type": "array", "minItems": 1, "items": SCALAR}}, "required": ["name", "domain"]}},
          "conflictPredicate": TEXT, "assignPredicate": TEXT, "maxNodes": COUNT, "commit": {"type": "boolean"}},
         ("variables",), {"variables": [{"name": "x", "domain": [1, 2, 3]}]}),
)
BY_NAME = {tool.name: tool for tool in TOOLS}

INSTRUCTIONS = (
    "A reasoning Board: state facts and rules with update_working_memory, read what follows, and ask explain_fact for proofs. "
    "spaceId may be left out while there is one Board. A refusal has a stable errorCode and shows the correct shape: mend that and "
    "send it again, never the same call unchanged. Answers are in English (locale en)."
)


def listing() -> list[dict[str, Any]]:
    return [tool.listing() for tool in TOOLS]


# --- checking ----------------------------------------------------------------------------


def check_arguments(tool: Tool, arguments: object) -> dict[str, Any]:
    """The arguments a tool knows, checked against what it shows; others are dropped.

    Raises Refused ARGUMENTS_INVALID, LOCALE_UNSUPPORTED. Operations are judged by the Board.
    """
    if not isinstance(arguments, Mapping):
        raise Refused("ARGUMENTS_INVALID", where="`arguments`", problem="is no object")
    locale = arguments.get("locale")
    if locale is not None and locale not in (LOCALE, LEGACY_LOCALE):
        raise Refused("LOCALE_UNSUPPORTED", locale=str(locale)[:40])
    properties = tool.schema["properties"]
    found = {name: value for name, value in arguments.items() if name in properties and name != "locale" and value is not None}
    for name in tool.required:
        if name not in found:
            raise Refused("ARGUMENTS_INVALID", where=f"`{name}`", problem=_missing(name, arguments))
    for name, value in found.items():
        _check(properties[name], value, f"`{name}`")
    return found


def _missing(name: str, arguments: Mapping[str, Any]) -> str:
    given = ", ".join(sorted(arguments)[:8])
    return f"is missing{f' (given: {given})' if given else ''}"


_KINDS: Mapping[str, tuple[Any, str]] = {
    "string": (str, "a text"), "object": (Mapping, "an object"), "array": (list, "a list"), "boolean": (bool, "true or false"),
    "integer": (int, "a whole number"), "number": ((int, float), "a number"),
}


def _is_a(value: object, kind: str) -> bool:
    return isinstance(value, _KINDS[kind][0]) and (kind == "boolean" or not isinstance(value, bool))


def _check(schema: Mapping[str, Any], value: object, where: str) -> None:
    """The part of JSON Schema that the table above uses. An operation's inside is not looked at."""
    if "anyOf" in schema:
        kinds = [branch["type"] for branch in schema["anyOf"]]
        if not any(_is_a(value, kind) for kind in kinds):
            raise Refused("ARGUMENTS_INVALID", where=where, problem=f"is not {' or '.join(_KINDS[kind][1] for kind in kinds)}")
        return          # what is inside is judged by the Board, in better words
    kind = schema["type"]
    if not _is_a(value, kind):
        raise Refused("ARGUMENTS_INVALID", where=where, problem=f"is not {_KINDS[kind][1]}")
    if "enum" in schema and value not in schema["enum"]:
        raise Refused("ARGUMENTS_INVALID", where=where, problem=f"is none of {', '.join(schema['enum'])}")
    if kind == "integer" and value < schema.get("minimum", value):  # type: ignore[operator]
        raise Refused("ARGUMENTS_INVALID", where=where, problem=f"is less than {schema['minimum']}")
    if isinstance(value, list):
        if len(value) < schema.get("minItems", 0):
            raise Refused("ARGUMENTS_INVALID", where=where, problem="is empty")
        if schema.get("items") and schema["items"] is not OPERATION:
            for index, item in enumerate(value):
                _check(schema["items"], item, f"{where[:-1]}[{index}]`")
    if isinstance(value, Mapping):
        for name in schema.get("required", ()):
            if name not in value:
                raise Refused("ARGUMENTS_INVALID", where=where, problem=f"lacks `{name}`")
