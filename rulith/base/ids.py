"""Randomness, in the one room that may draw it: ids, tokens and keys."""

from __future__ import annotations

import base64
import secrets
import uuid


def mint(prefix: str, digits: int = 32) -> str:
    """`prefix` and `digits` random lower-case hex digits, e.g. mint("wkr_") or mint("inst-", 12)."""
    return prefix + secrets.token_hex((digits + 1) // 2)[:digits]


def mint_token(prefix: str) -> str:
    """`prefix` and 43 base64url characters: 256 random bits, for bearer tokens and keys."""
    return prefix + base64.urlsafe_b64encode(secrets.token_bytes(32)).rstrip(b"=").decode()


def mint_uuid() -> str:
    return str(uuid.uuid4())


def random_bytes(count: int) -> bytes:
    return secrets.token_bytes(count)


READ_OUT = "ABCDEFGHJKMNPQRSTUVWXYZ23456789"        # no 0/O, 1/I/L


def mint_setup_code() -> str:
    """Eight characters a person can read out."""
    return "".join(secrets.choice(READ_OUT) for _ in range(8))


def mint_invitation() -> str:
    """Four groups of four such characters: 79 random bits, so that its plain hash may be kept."""
    return "-".join("".join(secrets.choice(READ_OUT) for _ in range(4)) for _ in range(4))
