"""Validation of what the Agent surface answers: strip, view, result forms, host metadata.

Source  protocol/mcp/results.json.
"""

from __future__ import annotations

from rulith.wire import result_validators, validation


def validate_result(name: str, value: object) -> None:
    """Check `value` against one result shape: strip, stripEntry, stateForm, hostMetadata, view, actionRow,
    acceptedResult, refusedResult, preExecutionRefusal, heldCallResult, queryBoardResult, actionOutcome,
    artifactWindow, artifactResult, artifactTicketResult, toolResult, progressMeta.

    Raises Refused bad_command naming the place and the problem.
    """
    validation.run(result_validators.VALIDATORS[name], name, value)
