"""Receipts: what is told about a call that ran, and what is withheld.

Turns an adapter's outcome into the one ReportWork it deserves. A tool that says it failed
is *failed*; an outcome that cannot be told is *undeliverable* and goes to a person; neither
is ever taken for the other. A Tool that may act and whose result cannot be read or recorded
has not failed: what it did is unknown. No bytes leave this machine except inside the receipt.

Units   sizes are UTF-8 bytes
Source  protocol/worker-contract.json, "receipt".
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rulith.adapters.outcomes import REASON_BYTES_MAX, Executed, Failed, Outcome, Referred, Withheld, cut_text
from rulith.base.errors import Refused
from rulith.base.json_text import compact_json, read_json
from rulith.base.limits import KEPT_BYTES_MAX
from rulith.wire.artifacts import Held
from rulith.wire.worker_hop import check_upload, report_action, report_undeliverable
from rulith.work.checks import Cleared
from rulith.work.signals import KeptCame, ToKeep

_CODE = re.compile(r"[a-z][a-z0-9_]{0,63}", re.ASCII)
_HTTP_PREFIX = re.compile(r"HTTP [0-9]{3}: ", re.ASCII)
FACTS_TOO_LARGE = "required_facts_exceed_inline_budget"
UNREADABLE, NOT_RECORDED = "result_unreadable", "result_not_recorded"


@dataclass(frozen=True)
class Receipt:
    """One ReportWork, whole. `landed_as` is executed, failed or undeliverable; `why` stays on this machine."""

    operation: Mapping[str, object]
    landed_as: str
    generation: int
    why: str = ""


class Unmapped(Exception):
    """The output does not yield the facts that the contract returns; says why."""


def rows_of(text: str) -> list[object]:
    """The rows of an adapter's output `{rows:[…]}`, an HTTP status line dropped first."""
    try:
        value = read_json(text[prefix.end() :] if (prefix := _HTTP_PREFIX.match(text)) else text, "the output")
    except Refused as refused:
        raise Unmapped(refused.happened.rstrip(".")) from None
    rows = value.get("rows") if isinstance(value, dict) else None
    if not isinstance(rows, list):
        raise Unmapped("the output is not {rows: [...]}")
    return rows


def facts_of(returns: Sequence[Mapping[str, object]], rows: Sequence[object]) -> list[dict[str, object]]:
    """Each returns row times each result row gives one fact. Raises Unmapped naming the column."""
    facts = []
    for row in rows:
        if not isinstance(row, Mapping):
            raise Unmapped("a row of the output is not an object")
        for wanted in returns:
            args: dict[str, object] = {}
            columns = wanted["args"]
            assert isinstance(columns, dict)
            for name, column in columns.items():
                value = row.get(column[1:])
                if not isinstance(value, (str, bool, int, float)):
                    lack = "is missing" if column[1:] not in row else "is not a text, number or boolean"
                    raise Unmapped(f"the column {column[1:]} of the output {lack}")
                args[name] = value
            facts.append({"predicate": wanted["predicate"], "args": args})
    return facts


def upload_refusal(record: str, upload: Mapping[str, object]) -> str | None:
    """The code why an object of this row may not leave the machine; None when it may."""
    try:
        check_upload(record, upload)
    except Refused as refused:
        return str(refused.facts.get("reason", refused.code))
    return None


def _size(result: str, reason: str, facts: Sequence[object]) -> int:
    return len(compact_json({"result": result, "reason": reason, "facts": list(facts)}).encode("utf-8", "surrogatepass"))


def _code(code: str) -> str:
    return code if _CODE.fullmatch(code) else "result_delivery_unavailable"


class _Writer:
    def __init__(self, cleared: Cleared) -> None:
        self.cleared = cleared

        self._identity = {
            "worker_id": cleared.worker_id, "generation": cleared.generation, "grant": cleared.grant,
        }  # fmt: skip

    def executed(self, result: str, facts: list[dict[str, object]], confirmed: bool = False) -> Receipt:
        report = report_action(self.cleared.invocation, ok=True, result=result, facts=facts, **self._identity)
        if confirmed:
            report["completionStage"] = "terminal"
        return Receipt(report, "executed", self.cleared.generation)

    def failed(self, reason: str) -> Receipt:
        reason = cut_text(reason, REASON_BYTES_MAX)
        if _size("", reason, ()) > self.cleared.inline_bytes:
            reason = f"failure_detail_not_delivered: {self._withheld_because()}"
        report = report_action(self.cleared.invocation, ok=False, reason=reason, **self._identity)
        return Receipt(report, "failed", self.cleared.generation)

    def undeliverable(self, code: str, why: str = "") -> Receipt:
        report = report_undeliverable(self.cleared.invocation, code=_code(code), **self._identity)
        return Receipt(report, "undeliverable", self.cleared.generation, why)

    def _withheld_because(self) -> str:
        refusal = upload_refusal(self.cleared.source_record, self.cleared.upload)
        return _code(refusal or "materials_not_configured")

    def not_delivered(self, code: str, size: int) -> Receipt:
        """The tool worked and its result cannot be told: a read may say so, an effect goes to a person."""
        if not self.cleared.is_read:
            return self.undeliverable(code)
        if code == FACTS_TOO_LARGE:
            return self.failed(f"result_too_large: {code} ({size} bytes, {self.cleared.inline_bytes} allowed)")
        return self.failed(f"result_not_delivered: {code}")

    def told(self, outcome: Executed) -> Receipt | ToKeep:
        cleared = self.cleared
        if outcome.text.startswith("error:") and not outcome.literal:
            return self.failed(outcome.text)
        facts: list[dict[str, object]] = []
        if cleared.returns:
            try:
                facts = facts_of(cleared.returns, rows_of(outcome.text) if outcome.rows is None else outcome.rows)
            except Unmapped as problem:
                if outcome.unreadable or not cleared.is_read:
                    return self.undeliverable(outcome.unreadable or UNREADABLE, str(problem))
                return self.failed(f"The Tool ran and its result cannot be read: {problem}.")
        for text in (outcome.text, outcome.brief if facts else None):
            if text is not None and _size(text, "", facts) <= cleared.inline_bytes:
                return self.executed(text, facts, outcome.confirmed)
        alone = _size("", "", facts)
        if alone > cleared.inline_bytes:
            return self.not_delivered(FACTS_TOO_LARGE, alone)
        return self._by_reference(ToKeep(outcome.text, None, tuple(facts), outcome.confirmed), len(outcome.text.encode("utf-8", "surrogatepass")))

    def referred(self, held: Held) -> Receipt | ToKeep:
        return self._by_reference(ToKeep("", held, ()), held.total_bytes)

    def _by_reference(self, kept: ToKeep, size: int) -> Receipt | ToKeep:
        """Permission is judged before size, and both before anything is kept."""
        cleared = self.cleared
        refusal = upload_refusal(cleared.source_record, cleared.upload) or (None if cleared.keeps else "materials_not_configured")
        if refusal is None and size > min(cleared.object_bytes, KEPT_BYTES_MAX):
            refusal = "artifact_object_limit"
        return kept if refusal is None else self.not_delivered(_code(refusal), size)

    def kept(self, kept: ToKeep, came: KeptCame) -> Receipt:
        if not came.ref:
            return self.not_delivered(_code(came.code), _size("", "", kept.facts))
        receipt = self.executed("", list(kept.facts), kept.confirmed)
        return Receipt({**receipt.operation, "artifacts": [{"ref": came.ref}]}, receipt.landed_as, receipt.generation)


def write_kept(cleared: Cleared, kept: ToKeep, came: KeptCame) -> Receipt:
    """The one report of a call whose result is an object of this machine: its reference, or why it has none."""
    return _Writer(cleared).kept(kept, came)


def write_receipt(cleared: Cleared, outcome: Outcome) -> Receipt | ToKeep:
    """The one report of this call, under the identity it was dispatched under; or what is kept first, and told by reference."""
    writer = _Writer(cleared)
    if isinstance(outcome, Withheld):
        return writer.undeliverable(outcome.code, outcome.why)
    if isinstance(outcome, Failed):
        return writer.failed(outcome.reason)
    if isinstance(outcome, Referred):
        return writer.referred(outcome.held)
    return writer.told(outcome)


def write_not_recorded(cleared: Cleared, said: str) -> Receipt:
    """The one receipt after the gateway certainly refused to ingest a success; `said` are its words."""
    writer = _Writer(cleared)
    if not cleared.is_read:
        return writer.undeliverable(NOT_RECORDED, said)
    return writer.failed(f"{NOT_RECORDED}: ingest_rejected; the Board took none of its facts. {said}".rstrip())
