"""Refusal codes of the disk."""

CODES: dict[str, tuple[str, str]] = {}
