"""Refusal codes of the worker."""

CODES: dict[str, tuple[str, str]] = {}
