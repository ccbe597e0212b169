"""The end of a run in a few lines: the first one fit for a mail's subject, the rest for its reader."""

from __future__ import annotations

import json

from rulith.runtime.outcome import COMPLETED, NOTHING_TO_DO, REFUSED, STUCK, WAITING, RunResult
from rulith.runtime.surface import flat

# How a job stands goes to stdout; why a run could not work goes to stderr.
OF_A_JOB = (COMPLETED, NOTHING_TO_DO, WAITING, STUCK, REFUSED)
STEPS_SHOWN_MAX = 20


def summary(result: RunResult) -> str:
    """What the run came to, without a word about how it went on the way."""
    facts = result.facts
    first = f"{result.outcome.replace('_', ' ')}: {result.message}"
    lines = [first]
    if facts.get("caseType"):
        key = f" {json.dumps(facts['businessKey'], ensure_ascii=False)}" if facts.get("businessKey") else ""
        lines.append(f"  job    {facts['caseType']}{key}")
    if result.case_id:
        lines.append(f"  case   {result.case_id}")
    for number, step in enumerate(result.steps[:STEPS_SHOWN_MAX]):
        lines.append(f"  {'steps ' if not number else '      '} {_step_words(step)}")
    if len(result.steps) > STEPS_SHOWN_MAX:
        lines.append(f"         and {len(result.steps) - STEPS_SHOWN_MAX} more")
    shadow = facts.get("shadow")
    for number, finding in enumerate(shadow["findings"] if isinstance(shadow, dict) else []):
        lines.append(f"  {'review' if not number else '      '} {finding}")
    text = facts.get("text")
    return "\n".join([*([str(text), ""] if text else []), *lines])


def _step_words(step: dict) -> str:
    short = str(step.get("action", "")).rpartition(".")[2]
    said = f": {flat(step['summary'], 160)}" if step.get("summary") and step.get("state") != "done" else ""
    return f"{short} {step.get('state', '')}{said}"
