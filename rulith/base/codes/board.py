"""Refusal codes of the board."""

CODES: dict[str, tuple[str, str]] = {}
