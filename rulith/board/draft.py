"""A Capability proposed from Cases that took the same path.

Takes Terminal Receipts. What the Cases have in common becomes law: the Actions that were
done, the rules that their proofs used (and those that an absence or an Action needs), the
goals and their tests. What differs between them must be their business key: a value that
stands for the key in every Case becomes a variable. The Cases themselves become the examples.

An exploration is drafted too: what its Agent added becomes the file's rules, aggregates and
Board Actions; its goals become the acceptance.

Refuses to know: whether a receipt is genuine, who may install the result.
Source  protocol/capability.schema.json; format rulith-terminal-receipt/1.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest

from rulith.base.canonical import canonical_text
from rulith.base.errors import Refused
from rulith.base.proof_text import proof_nodes
from rulith.board.capability import type_of
from rulith.board.words import BUILTINS, CASE_CONTEXT, CASE_KEY, IMPORTABLE, is_board_word

VERSION = "0.1.0"
ROOT = "?root"
SUBJECT = "subject"          # the business key of an exploration whose goals name nothing
EXAMPLES_MAX = 20


@dataclass
class Path:
    """One Case as it went: full predicates, its key's values replaced by variables."""

    case_id: str
    case_type: str
    key: dict[str, object]
    rules: list[dict] = field(default_factory=list)
    aggregates: list[dict] = field(default_factory=list)
    actions: list[dict] = field(default_factory=list)
    goals: list[dict] = field(default_factory=list)          # {node, goal, when}
    given: list[dict] = field(default_factory=list)
    follows: list[dict] = field(default_factory=list)

    def steps(self) -> Iterator[str]:
        """What must be the same in all Cases, in words."""
        yield f"the Case Type {self.case_type}"
        for action in self.actions:
            yield f"the Action {action['id']} ({canonical_text(action)})"
        for goal in self.goals:
            yield f"the goal {goal['goal']} ({canonical_text(goal['when'])})"
        for rule in sorted((*self.rules, *self.aggregates), key=canonical_text):
            yield f"the rule {rule.get('label') or rule['id']} ({canonical_text({name: value for name, value in rule.items() if name != 'label'})})"


def draft(documents: Sequence[Mapping], capability_id: str) -> dict:
    """A Capability file. Raises Refused: draft_case_unusable, draft_paths_differ."""
    paths = [_path(document) for document in documents]
    for other in paths[1:]:
        for number, (left, right) in enumerate(zip_longest(paths[0].steps(), other.steps(), fillvalue="nothing more"), 1):
            if left != right:
                raise Refused("draft_paths_differ", first=paths[0].case_id, second=other.case_id, number=number, left=left[:300], right=right[:300])
    return _File(paths, documents, capability_id).document()


# --- one Case --------------------------------------------------------------------------


def _path(document: Mapping) -> Path:
    case = document["case"]
    if not case["certified"] or case["disposition"] != "completed":
        raise Refused("draft_case_unusable", case=case["caseId"], problem="it did not close as completed and certified, so it shows no path to follow")
    explored = document["release"] is None
    path = Path(case["caseId"], case["caseType"], dict(case.get("businessKey") or {}))
    operations = [each for row in document["rows"] if row["kind"] == "board" for each in _operations(row["body"]["command"])]
    if explored:
        path.key = _explored_key(operations)
        _explored(path, document, operations)
    else:
        _contracted(path, document, operations)
    path.actions += _direct(path, operations)
    replaced = {canonical_text(value): f"?{name}" for name, value in path.key.items() if not isinstance(value, bool)}
    for rows in (path.rules, path.actions, path.goals) if explored else ():
        rows[:] = [_generalised(row, replaced) for row in rows]
    _replay(path, document)
    return path


def _operations(command: Mapping) -> Iterator[Mapping]:
    """Everything one row asked of the Board, in order: batches operation by operation."""
    if command["kind"] == "several":
        for each in command["commands"]:
            yield from _operations(each)
    elif command["kind"] == "apply_batch":
        yield from command["operations"]
    else:
        yield {"op": command["kind"], **command}


def _contracted(path: Path, document: Mapping, operations: Sequence[Mapping]) -> None:
    capability = document["release"]["capability"]
    case_type = capability["case_types"][path.case_type]
    full = _aliases(capability)
    actions = {f"{capability['id']}.{row['id']}": row for row in capability.get("actions", ())}
    done = [_done(each) for each in operations]
    for name in dict.fromkeys(name for name in done if name in actions):
        path.actions.append(_spelled(actions[name], full))
    acceptance = {row["id"]: row for row in capability.get("acceptance", ())}
    path.goals = [{"node": task["node"], "goal": task["goal"], "when": [_full(each, full) for each in acceptance[task["acceptance"]]["when"]]}
                  for task in case_type["task"]]
    used = {node["by"]["id"].rpartition("/")[2] for tree in document["conclusions"] for node in proof_nodes(tree) if node["by"]["kind"] == "rule"}
    known = [_spelled(row, full) for row in capability.get("rules", ()) if not _names_other_type(_spelled(row, full), path.case_type)]
    totals = [_spelled({"id": row["into"]["predicate"], **row}, full) for row in capability.get("aggregates", ())]
    path.rules, path.aggregates = _needed(path, [row for row in known if row["id"] in used], [row for row in totals if row["id"] in used], known, totals)


def _done(operation: Mapping) -> str | None:
    """The full name of the Action that this brought about, or None."""
    if operation["op"] == "apply_action":
        return operation["action"]
    happened = (operation["op"] == "record_receipt" and operation["ok"]) or (operation["op"] == "record_reconciliation" and operation["outcome"] == "happened")
    return operation["plan"]["action"] if happened else None


def _direct(path: Path, operations: Sequence[Mapping]) -> list[dict]:
    """The locked Tools that were used without a Capability: an Action of the file each, bound to the Case where it was given the key."""
    found: dict[str, dict] = {}
    for plan in (each["plan"] for each in operations if each["op"] == "record_receipt" and _done(each) and not each["plan"]["release"]):
        spec, decision = json.loads(plan["toolSpecText"]), plan.get("decision")
        same = {name: key for name, value in plan["args"].items() for key, held in path.key.items() if held == value and name in spec["params"]}
        found.setdefault(plan["action"], {
            "id": _alias(plan["action"]), "description": f"{spec['kind']} by the Tool {spec['exec']}", "tool": spec["exec"], "kind": spec["kind"],
            "source_types": list(spec["sourceTypes"]), "params": dict(spec["params"]),
            **({"decision": {"kind": decision["kind"], "people": decision["people"]}} if decision else {}),
            "preconditions": [{"predicate": CASE_KEY, "args": {"root": ROOT, "name": key, "value": f"?{name}"}} for name, key in same.items()],
            "effects": [], "returns": [{"predicate": row["predicate"], "args": dict(row["args"])} for row in spec["returns"]]})
    return list(found.values())


def _needed(path: Path, used: list[dict], summed: list[dict], known: list[dict], totals: list[dict]) -> tuple[list[dict], list[dict]]:
    """The rules that were used, those that conclude what an absence asks for, and those an Action's preconditions need."""
    while True:
        concluded = {head["predicate"] for row in used for head in row["then"]} | {row["into"]["predicate"] for row in summed}
        bodies = [*(each for row in used for each in row["when"]), *(each for row in path.actions for each in row.get("preconditions", ())),
                  *(each for goal in path.goals for each in goal["when"])]
        wanted = {each["predicate"] for each in bodies if each.get("naf") or each["predicate"] not in concluded} | {row["source"]["predicate"] for row in summed}
        more = [row for row in known if row not in used and any(head["predicate"] in wanted for head in row["then"])]
        sums = [row for row in totals if row not in summed and row["into"]["predicate"] in wanted]
        if not more and not sums:
            return [row for row in known if row in used], [row for row in totals if row in summed]
        used, summed = [*used, *more], [*summed, *sums]


def _names_other_type(row: Mapping, case_type: str) -> bool:
    named = [each.get("args", {}).get("case_type") for each in row["when"] if each["predicate"] == CASE_CONTEXT]
    return any(isinstance(name, str) and not name.startswith("?") and name != case_type for name in named)


def _explored_key(operations: Sequence[Mapping]) -> dict[str, object]:
    """What the exploration was about: the values that its goals name outright."""
    desired = [literal for each in operations if each["op"] == "declare_goal" for literal in each["desired"]]
    found = {name: value for literal in desired for name, value in sorted(literal.get("args", {}).items())
             if isinstance(value, str) and not value.startswith("?") and re.fullmatch(r"[a-z][a-z0-9_]{0,63}", name)}
    return found or {SUBJECT: ""}


def _explored(path: Path, document: Mapping, operations: Sequence[Mapping]) -> None:
    tied = [{"predicate": CASE_KEY, "args": {"root": ROOT, "name": name, "value": f"?{name}"}} for name in path.key]
    goals = [each for each in operations if each["op"] == "declare_goal"]
    path.goals = [{"node": f"goal_{number}", "goal": each.get("label") or f"goal {number} is met", "when": [*tied, *map(_plain, each["desired"])]}
                  for number, each in enumerate(goals, 1)]
    for number, rule in enumerate((rule for rule in document["rules"] if "aggregate" not in rule), 1):
        label = {"label": rule["label"]} if rule["label"] != rule["id"] else {}
        path.rules.append({"id": f"rule_{number}", **label, "when": [*map(_plain, rule["when"])], "then": [*map(_plain, rule["then"])]})
    seen: dict[str, dict] = {}
    for rule in document["rules"]:
        if "aggregate" in rule and rule["aggregate"]["id"] not in seen:
            seen[rule["aggregate"]["id"]] = {"id": f"total_{len(seen) + 1}", "kind": "sum", **{name: rule["aggregate"][name] for name in (
                "kind", "source", "into", "where", "group_by") if name in rule["aggregate"]}}
    path.aggregates = list(seen.values())
    applied = [each["action"] for each in operations if each["op"] == "apply_action"]
    for each in operations:
        if each["op"] == "define_action" and each["action"] in applied:
            path.actions.append({"id": _alias(each["action"]), "description": each.get("label") or each["action"], "params": {},
                                 "preconditions": [*map(_plain, each.get("preconditions", ()))], "effects": [*map(_plain, each["effects"])]})


def _replay(path: Path, document: Mapping) -> None:
    """What the Case had, and what followed by its rules: an example of the file."""
    heads = {head["predicate"] for row in path.rules for head in row["then"]} | {row["into"]["predicate"] for row in path.aggregates}
    seen: dict[str, None] = {}
    known = {fact["id"]: fact for fact in (*document["facts"], *document["world"]["facts"])}
    for node in (*known.values(), *(node for tree in document["conclusions"] for node in proof_nodes(tree))):
        row = _plain(node)
        concluded = node["by"]["kind"] == "rule" and node["predicate"] in heads
        if is_board_word(node["predicate"]) or (node["by"]["kind"] == "rule" and not concluded) or canonical_text(row) in seen:
            continue
        seen[canonical_text(row)] = None
        (path.follows if concluded else path.given).append(row)


# --- literals --------------------------------------------------------------------------


def _plain(row: Mapping) -> dict:
    found = {"predicate": row["predicate"], "args": dict(row.get("args") or {})}
    return {**found, **{flag: True for flag in ("negated", "naf") if row.get(flag)}}


def _aliases(capability: Mapping) -> dict[str, str]:
    return {row["as"]: row["id"] for part in ("defines", "imports") for row in capability["vocabulary"].get(part, ())}


def _full(row: Mapping, names: Mapping[str, str]) -> dict:
    return {**_plain(row), "predicate": row["predicate"] if row["predicate"] in BUILTINS else names[row["predicate"]]}


def _spelled(row: Mapping, names: Mapping[str, str]) -> dict:
    """A rule, Action or aggregate with every literal in the names given."""
    found = json.loads(json.dumps(row))
    for part in ("when", "then", "preconditions", "effects"):
        if part in found:
            found[part] = [_full(each, names) for each in found[part]]
    for part in ("source", "into"):
        if isinstance(found.get(part), dict):
            found[part]["predicate"] = names[found[part]["predicate"]]
    for each in found.get("returns", ()):
        each["predicate"] = names[each["predicate"]]
    return found


def _generalised(row: Mapping, replaced: Mapping[str, str]) -> dict:
    """The row with the key's own values as variables, where a joined literal of its body then binds them."""
    body = row.get("when", row.get("preconditions", ()))
    bound = {canonical_text(value) for each in body if not each.get("naf") and each["predicate"] not in BUILTINS for value in each["args"].values()}
    bound |= {key for key, variable in replaced.items() if any(variable in each["args"].values() for each in body)}

    def under(each: Mapping) -> dict:
        return {**each, "args": {name: replaced[canonical_text(value)] if canonical_text(value) in replaced and canonical_text(value) in bound
                                 and (each["predicate"] != CASE_KEY or name == "value") else value for name, value in each["args"].items()}}

    return {name: [under(each) for each in value] if name in ("when", "then", "preconditions", "effects") else value for name, value in row.items()}


def _alias(name: str) -> str:
    found = re.sub(r"[^a-z0-9_]+", "_", name.rpartition(".")[2].lower() or name.lower()).strip("_") or "word"
    return found if found[0].isalpha() and found not in BUILTINS else f"w_{found}"


# --- the file --------------------------------------------------------------------------


class _File:
    """The draft, put together from Cases of one path."""

    def __init__(self, paths: Sequence[Path], documents: Sequence[Mapping], capability_id: str) -> None:
        self.paths, self.path, self.id = paths, paths[0], capability_id
        release = documents[0]["release"]
        self.origin: Mapping = release["capability"] if release else {}
        self.defined = {row["id"]: row for row in self.origin.get("vocabulary", {}).get("defines", ())}
        self.names: dict[str, str] = {}        # full predicate of the Cases -> alias of the file
        self.case_type = f"{self.path.case_type}_draft"[:64]

    def document(self) -> dict:
        path = self.path
        literals = [each for row in (*path.rules, *path.actions, *path.goals) for part in ("when", "then", "preconditions", "effects") for each in row.get(part, ())]
        said = [*literals, *(each for row in path.aggregates for each in (row["source"], row["into"])), *(each for row in path.actions for each in row.get("returns", ()))]
        shown = [each for one in self.paths for each in (*one.given, *one.follows)]
        for predicate in dict.fromkeys(each["predicate"] for each in (*said, *shown)):
            if predicate not in BUILTINS:
                self._name(predicate)
        defines = [self._define(name, [*literals, *shown], path.aggregates) for name in self.names if name not in IMPORTABLE]
        rules = [self._named(row) for row in path.rules]
        heads = {head["predicate"] for row in rules for head in row["then"]}
        written = {each["predicate"] for one in self.paths for each in one.given} | {each["predicate"] for row in path.actions for each in row.get("effects", ())}
        origin_type = self.origin.get("case_types", {}).get(path.case_type, {})
        actions = [self._named(row) for row in path.actions]
        return {
            "format": "rulith-capability/1", "id": self.id, "version": VERSION,
            "title": f"Draft of {origin_type.get('title', 'an exploration')}",
            "summary": f"Proposed from {len(self.paths)} Case{'' if len(self.paths) == 1 else 's'} of one path: {', '.join(each.case_id for each in self.paths[:5])}",
            "vocabulary": {"defines": defines, "imports": [{"id": name, "as": alias} for name, alias in self.names.items() if name in IMPORTABLE]},
            "pins": sorted(heads - {self.names[name] for name in written}),
            "rules": rules,
            "aggregates": [self._named(row) for row in path.aggregates],
            "acceptance": [{"id": goal["node"], "label": goal["goal"], "when": [self._literal(each) for each in goal["when"]]} for goal in path.goals],
            "actions": actions,
            "case_types": {self.case_type: {
                "title": origin_type.get("title", "Explored"), "business_key": dict(origin_type.get("business_key", {})) or dict.fromkeys(path.key, "string"),
                "floor": origin_type.get("floor", "asserted"), "agent_rules": "none",
                "task": [{"node": goal["node"], "goal": goal["goal"], "acceptance": goal["node"]} for goal in path.goals],
                "drive": [row["id"] for row in actions]}},
            "examples": [{"title": f"replay of {each.case_id}", "given": [self._literal(row) for row in each.given],
                          "follows": [self._literal(row) for row in each.follows], "never": []} for each in self.paths[:EXAMPLES_MAX]],
        }

    def _name(self, predicate: str) -> None:
        known = self.defined.get(predicate, {}).get("as")
        alias, number = known or _alias(predicate), 2
        while alias in self.names.values():
            alias, number = f"{_alias(predicate)}_{number}", number + 1
        self.names[predicate] = alias

    def _define(self, predicate: str, rows: Iterable[Mapping], aggregates: Iterable[Mapping]) -> dict:
        alias, known = self.names[predicate], self.defined.get(predicate)
        if known is not None:
            return {**{name: value for name, value in known.items() if name in ("args", "sources")}, "id": f"{self.id}.{alias}", "as": alias}
        values: dict[str, set[str]] = {}
        read = [row for row in self.path.actions if any(each["predicate"] == predicate for each in row.get("returns", ()))]
        sources = sorted({kind for row in read for kind in row.get("source_types", ())})
        for row in rows:
            for name, value in row["args"].items() if row["predicate"] == predicate else ():
                kind = values.setdefault(name, set())
                if not (isinstance(value, str) and value.startswith("?")):
                    kind.add("integer" if type_of(value) == "number" and value == int(value) else type_of(value))
        for row in aggregates:
            for side in (row["source"], row["into"]):
                if side["predicate"] == predicate:
                    values.setdefault(side["valueArg"], set()).add("number") if side.get("valueArg") else None
                    values.setdefault(row["group_by"], set()) if row.get("group_by") else None
        for each in (each for row in read for each in row["returns"] if each["predicate"] == predicate):
            for name in each["args"]:
                values.setdefault(name, set())
        return {"id": f"{self.id}.{alias}", "as": alias, "args": {name: _one_type(kinds) for name, kinds in sorted(values.items())},
                **({"sources": sources} if sources else {})}

    def _literal(self, row: Mapping) -> dict:
        found = {**row, "predicate": self.names.get(row["predicate"], row["predicate"])}
        if row["predicate"] == CASE_CONTEXT and row["args"].get("case_type") == self.path.case_type:
            found["args"] = {**row["args"], "case_type": self.case_type}
        return found

    def _named(self, row: Mapping) -> dict:
        found = dict(row)
        for part in ("when", "then", "preconditions", "effects"):
            if part in found:
                found[part] = [self._literal(each) for each in found[part]]
        for part in ("source", "into"):
            if isinstance(found.get(part), dict):
                found[part] = {**found[part], "predicate": self.names[found[part]["predicate"]]}
        if "returns" in found:
            found["returns"] = [{**each, "predicate": self.names[each["predicate"]]} for each in found["returns"]]
        return found


def _one_type(kinds: set[str]) -> str:
    if len(kinds) == 1:
        return next(iter(kinds))
    return "number" if kinds and kinds <= {"integer", "number"} else "string"
