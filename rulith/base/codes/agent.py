"""Refusal codes of the agent."""

CODES: dict[str, tuple[str, str]] = {}
