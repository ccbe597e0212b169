"""Refusal codes of the net."""

CODES: dict[str, tuple[str, str]] = {}
