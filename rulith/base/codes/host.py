"""Refusal codes of the host."""

CODES: dict[str, tuple[str, str]] = {}
