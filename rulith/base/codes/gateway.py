"""Refusal codes of the gateway."""

CODES: dict[str, tuple[str, str]] = {}
