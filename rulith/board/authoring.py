"""A draft of a Capability that a model wrote from a document, judged: compiled, its examples run, its citations found.

A draft is the Capability in parts, with what the document says for each of them. A citation
names a part, a line and the exact words; it is verified where these words begin on that line.
Every rule and aggregate needs one. What a draft says of itself counts for nothing here.

Units   lines count from 1; starts and ends are characters of the text with its line ends as "\\n"
Source  the workbench surface, "Document assistant"
"""

from __future__ import annotations

import hashlib
import json
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass

from rulith.base.errors import Refused
from rulith.base.limits import CITATIONS_MAX, DOCUMENT_BYTES_MAX, DRAFT_TEXT_CHARS_MAX, DRAFT_TEXTS_MAX
from rulith.board.capability_check import check_capability
from rulith.board.file_shapes import PROBLEMS_SHOWN, Problem

FORMAT = "rulith-authoring-check/1"
MEMBERS = ("program", "caseContracts", "citations", "examples", "questions", "notes")
DIGESTED = MEMBERS[:4]
QUOTE_LETTERS_MIN = 3            # shorter words stand anywhere and prove nothing
CITED = {"rules": "id", "aggregates": "id", "acceptance": "id", "actions": "id"}


def digest_of(content: bytes) -> str:
    return "sha256:" + hashlib.sha256(content).hexdigest()


def proposal_digest(draft: Mapping) -> str:
    """Of what would be installed and what it rests on; questions and notes are not part of it."""
    proposed = {name: draft.get(name) for name in DIGESTED}
    return digest_of(json.dumps(proposed, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass"))


class SourceDocument:
    """A text that drafts are made from. Raises Refused: document_name, document_too_large, document_empty, document_not_text."""

    def __init__(self, name: object, content: bytes) -> None:
        if not isinstance(name, str) or not 1 <= len(name) <= 200 or not name.isprintable() or "/" in name or "\\" in name or not name.lower().endswith((".txt", ".md")):
            raise Refused("document_name", name=str(name)[:80])
        if len(content) > DOCUMENT_BYTES_MAX:
            raise Refused("document_too_large", name=name, size=len(content), limit=DOCUMENT_BYTES_MAX)
        try:
            text = content.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
        except UnicodeDecodeError as problem:
            raise Refused("document_not_text", name=name, problem=f"byte {problem.start} is no UTF-8") from None
        if not text.strip():
            raise Refused("document_empty", name=name)
        odd = next((index for index, letter in enumerate(text) if letter < " " and letter not in "\n\t" or letter == "\x7f"), None)
        if odd is not None:
            raise Refused("document_not_text", name=name, problem=f"line {text.count(chr(10), 0, odd) + 1} holds a control character")
        self.name, self.text, self.digest = name, text, digest_of(content)
        self._starts = [0, *(index + 1 for index, letter in enumerate(text) if letter == "\n")]

    def line_of(self, start: int) -> int:
        return bisect_right(self._starts, start)

    def numbered(self) -> str:
        """The text as a model reads it; a line of it cannot pass for anything else than its line."""
        return "\n".join(f"{number}| {line}" for number, line in enumerate(self.text.split("\n"), 1))

    def place(self, quote: object, line: object) -> dict | str:
        """Where `quote` begins on `line`, or where it stands at all without one; else what is wrong."""
        if not isinstance(quote, str) or len(quote) > DRAFT_TEXT_CHARS_MAX or sum(map(str.isalnum, quote)) < QUOTE_LETTERS_MIN:
            return f"its quote is not the exact words of the document, {QUOTE_LETTERS_MIN} letters or more"
        if line is not None and (type(line) is not int or not 1 <= line <= len(self._starts)):
            return f"its line is none of 1 to {len(self._starts)}"
        first = self.text.find(quote)
        if first < 0:
            return "these words are not in the document"
        if line is None:
            start = first
            if self.text.find(quote, first + 1) >= 0:
                return "these words stand in several places; say which line"
        else:                                # it begins on that line, wherever it ends: nothing beyond is looked through
            ends = self._starts[line] if line < len(self._starts) else len(self.text)
            start = self.text.find(quote, self._starts[line - 1], ends - 1 + len(quote))
            if start < 0:
                return f"these words begin on line {self.line_of(first)}, not on line {line}"
        return {"start": start, "end": start + len(quote), "line": self.line_of(start)}


@dataclass(frozen=True)
class Checked:
    """`capability` is the file that would be installed, None where it is not sound. `places` go with the citations, one each."""

    report: dict
    capability: dict | None
    places: tuple[dict | None, ...]

    @property
    def is_sound(self) -> bool:
        return is_sound(self.report)


def is_sound(report: Mapping) -> bool:
    """Whether everything about it was found right; questions may still be open."""
    examples, citations = report["examples"], report["citations"]
    return bool(report["compiled"] and 0 < examples["total"] == examples["passed"] and 0 < citations["total"] == citations["verified"])


def is_ready(draft: Mapping, report: Mapping) -> bool:
    """Whether it may be saved."""
    return is_sound(report) and not draft.get("questions")


def capability_of(draft: Mapping) -> dict:
    """The Capability file that the parts make."""
    program = draft.get("program")
    head = {"format": "rulith-capability/1", **(program if isinstance(program, Mapping) else {})}
    return {**head, "case_types": draft.get("caseContracts"), "examples": draft.get("examples")}


def check_draft(draft: object, document: SourceDocument) -> Checked:
    """Everything that is wrong with a draft, each with its place in it."""
    whole: Mapping = draft if isinstance(draft, Mapping) else {}
    shape = _shape_problems(draft)
    capability = capability_of(whole)
    release, found = check_capability(capability)
    compile_errors = [*shape, *(_moved(each) for each in found if not _is_example(each))]
    failed = [_moved(each) for each in found if _is_example(each)]
    examples = whole.get("examples") if isinstance(whole.get("examples"), list) else []
    silent = [Problem(f"examples[{index}]", "it says neither what follows nor what never does")
              for index, row in enumerate(examples) if not isinstance(row, Mapping) or not (row.get("follows") or row.get("never"))]
    failing = {each.place.partition("]")[0] for each in [*failed, *silent]}
    compiled = not compile_errors and isinstance(draft, Mapping)
    places, unfound = _citations(whole, document)
    uncited = _uncited(whole)
    report = {
        "format": FORMAT, "compiled": compiled,
        "examples": {"total": len(examples), "passed": len(examples) - len(failing) if compiled else 0, "problems": _rows([*failed, *silent])},
        "citations": {"total": len(places) + len(uncited), "verified": sum(each is not None for each in places), "problems": _rows([*unfound, *uncited])},
        "externalActions": [{"action": each.id, "tool": each.tool, "kind": each.kind} for each in release.actions.values() if each.tool] if release else [],
        "compileErrors": _rows(compile_errors), "proposalDigest": proposal_digest(whole), "documentDigest": document.digest}
    return Checked(report, capability if release is not None and compiled else None, places)


def places_of(draft: Mapping, document: SourceDocument) -> list[dict | None]:
    """Where each citation of a stored draft stands."""
    return list(_citations(draft, document)[0])


def _rows(problems: list[Problem]) -> list[dict]:
    return [{"place": each.place, "problem": each.problem} for each in problems[:PROBLEMS_SHOWN]]


def _is_example(problem: Problem) -> bool:
    return problem.place.startswith("examples[") and " (" in problem.place


def _moved(problem: Problem) -> Problem:
    """The place in the draft of a place in the Capability file."""
    place = problem.place.partition(" (")[0] if _is_example(problem) else problem.place
    if place.startswith("case_types"):
        return Problem("caseContracts" + place.removeprefix("case_types"), problem.problem)
    return Problem(place if place.startswith("examples") or place == "the file" else f"program.{place}", problem.problem)


def _shape_problems(draft: object) -> list[Problem]:
    if not isinstance(draft, Mapping):
        return [Problem("the draft", "it is not an object")]
    found = [Problem(name[:80], f"this member is unknown; a draft has {', '.join(MEMBERS)}") for name in sorted(set(draft) - set(MEMBERS))]
    program = draft.get("program")
    if isinstance(program, Mapping):
        found += [Problem(f"program.{name}", f"this belongs under {part}") for name, part in (("case_types", "caseContracts"), ("examples", "examples")) if name in program]
    for name in ("questions", "notes"):
        rows = draft.get(name, [])
        if not isinstance(rows, list) or len(rows) > DRAFT_TEXTS_MAX or not all(isinstance(each, str) and len(each) <= DRAFT_TEXT_CHARS_MAX for each in rows):
            found.append(Problem(name, f"it is not a list of up to {DRAFT_TEXTS_MAX} texts"))
    return found


def _citations(draft: Mapping, document: SourceDocument) -> tuple[tuple[dict | None, ...], list[Problem]]:
    rows = draft.get("citations")
    if not isinstance(rows, list) or len(rows) > CITATIONS_MAX:
        return (), [Problem("citations", f"it is not a list of up to {CITATIONS_MAX} citations")]
    parts = _parts(draft)
    places: list[dict | None] = []
    problems = []
    for index, row in enumerate(rows):
        if not isinstance(row, Mapping) or set(row) - {"of", "line", "quote"}:
            problem: dict | str = "it is not {of, line, quote}"
        elif not isinstance(row.get("of"), str) or row["of"] not in parts:
            problem = f"{str(row.get('of'))[:80]!r} is no part of this draft; there is {', '.join(sorted(parts)[:12]) or 'none'}"
        else:
            problem = document.place(row.get("quote"), row.get("line"))
        places.append(problem if isinstance(problem, dict) else None)
        if not isinstance(problem, dict):
            problems.append(Problem(f"citations[{index}]", problem))
    return tuple(places), problems


def _parts(draft: Mapping) -> set[str]:
    """What of a draft may be cited for: rules/<id>, …, predicates/<alias>, case_types/<name>."""
    program = draft.get("program") if isinstance(draft.get("program"), Mapping) else {}
    found = {f"{list_}/{row[name]}" for list_, name in CITED.items() for row in _objects(program.get(list_)) if isinstance(row.get(name), str)}
    vocabulary = program.get("vocabulary") if isinstance(program.get("vocabulary"), Mapping) else {}
    found |= {f"predicates/{row['as']}" for row in _objects(vocabulary.get("defines")) if isinstance(row.get("as"), str)}
    contracts = draft.get("caseContracts")
    return found | {f"case_types/{name}" for name in (contracts if isinstance(contracts, Mapping) else ())}


def _uncited(draft: Mapping) -> list[Problem]:
    """Rules and aggregates for which no citation is given: the document has to say them."""
    rows = draft.get("citations")
    named = {row.get("of") for row in _objects(rows) if isinstance(row.get("of"), str)}
    return [Problem(f"program.{part}", "no citation says where the document states it") for part in sorted(_parts(draft))
            if part.startswith(("rules/", "aggregates/")) and part not in named]


def _objects(rows: object) -> list[Mapping]:
    return [row for row in rows if isinstance(row, Mapping)] if isinstance(rows, list) else []
