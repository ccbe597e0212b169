"""A proof tree as lines of text: conclusion on top, premises below, who said each leaf.

Takes the proof nodes of the authority's API and of Terminal Receipts; adds nothing and
judges nothing. One line per node, two columns of indentation per level.

Source  protocol/, "proof node".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rulith.base.canonical import number_text
from rulith.base.plain_text import counted

OPERATORS = {"add": "+", "sub": "−", "mul": "×", "div": "÷", "idiv": "÷", "mod": "mod", "imod": "mod", "pow": "^"}


def fact_text(row: Mapping) -> str:
    """How a fact {predicate, negated?, args} is written for people."""
    shown = (f"{name}={str(value).lower() if isinstance(value, bool) else value if isinstance(value, str) else number_text(value)}"
             for name, value in sorted(row["args"].items()))
    return f"{'not ' if row.get('negated') else ''}{row['predicate']}({', '.join(shown)})"


def computation_text(row: dict) -> str:
    """`1299 × 7 = 9093`, or `name(left, right) = result` where no sign is usual."""
    op, left, result = row["op"], row.get("left"), row.get("result")
    if "members" in row:
        return f"{op} of {row['members']} = {result}"
    if op in OPERATORS and "right" in row:
        return f"{left} {OPERATORS[op]} {row['right']} = {result}"
    operands = ", ".join(str(row[side]) for side in ("left", "right") if side in row)
    return f"{op}({operands}) = {result}"


def said_by(node: dict) -> str:
    """Where a conclusion comes from, in words: its rule, its receipt, a person, the law or an Agent."""
    by = node.get("by", {})
    kind = by.get("kind")
    if kind == "rule":
        whose = "" if by.get("law") else ", an Agent's rule"
        return f"by the rule “{by.get('label') or by.get('id')}”{whose}"
    if kind == "receipt":
        where = f" from the Source {by['source']}" if by.get("source") else ""
        return f"reported by {by.get('tool')}{where}, receipt of {by.get('at')}"
    if kind == "action":
        said = f", which {by['reconciledBy']} says happened" if by.get("reconciledBy") else ""
        sources = sorted({source for source, _ in by.get("restsOn", ())})
        return f"effect of {by.get('action')}{said}" + (f", resting on the {'Source' if len(sources) == 1 else 'Sources'} {', '.join(sources)}" if sources else "")
    if kind == "law":
        return f"set by the gateway ({by.get('what')})" if by.get("what") else "set by the gateway"
    return "asserted by the Agent"


def decision_texts(document: Mapping) -> Iterator[str]:
    """Each decision of a Terminal Receipt, and what everybody who was asked said."""
    for each in document["decisions"]:
        voices = ", ".join(f"{voice['by']} {'approved' if voice['verdict'] == 'approve' else 'rejected'}" for voice in each["by"]) or "nobody"
        yield f"{each['action']}: {each['kind']} ({counted(each['people'], 'person', 'people')}): {voices}"


def proof_nodes(tree: Mapping) -> Iterator[Mapping]:
    """Every node of a proof tree, conclusion first, in reading order."""
    waiting = [tree]
    while waiting:
        yield (node := waiting.pop())
        waiting.extend(reversed(node["premises"]))


def proof_lines(node: dict, depth: int = 0, *, without: str = "", shown: set[str] | None = None, depth_max: int = 64) -> Iterator[str]:
    """The lines of `node`'s tree. The weakest premise is marked, a cut is said.

    without   a prefix of predicate names that every reader here knows, left out
    shown     ids of derived conclusions whose premises stand above already; they are not repeated
    depth_max what lies deeper is cut, and said to be
    """
    shown = set() if shown is None else shown
    mark = "  ← weakest premise" if node.get("witness") and depth and not node.get("premises") else ""
    text = node["text"].removeprefix(without)
    premises, computed = node.get("premises", ()), node.get("computed", ())
    repeated = bool(premises) and node.get("id") in shown
    yield f"{'  ' * depth}{text}  [{node.get('tier', '?')}] {said_by(node)}{', as shown above' if repeated else ''}{mark}"
    if repeated:
        return
    shown.add(str(node.get("id")))
    for row in computed:
        yield f"{'  ' * (depth + 1)}{computation_text(row)}, {'rounded' if row.get('rounded') else 'exactly'}"
    if node.get("cut"):
        yield f"{'  ' * (depth + 1)}… more below, not shown"
    elif premises and depth >= depth_max:
        yield f"{'  ' * (depth + 1)}… {len(premises)} premise{'' if len(premises) == 1 else 's'} below, not shown"
    else:
        for premise in premises:
            yield from proof_lines(premise, depth + 1, without=without, shown=shown, depth_max=depth_max)
