"""Council keys: `rvd_<key id>_<secret>` for an agent, `rvdlive_<secret>` for one run that the council started.

Only a digest and a preview of a key are kept. Randomness comes in as bytes.

Source  the council surface, "Keys and credentials"
"""

from __future__ import annotations

import base64
import re

from rulith.base.canonical import sha256_hex

KEY_ID_CHARS, SECRET_BYTES = 12, 32
ALPHABET = "abcdefghijkmnpqrstuvwxyz23456789"        # no l, o, 0 and 1
LIVE = "rvdlive_"
_KEY = re.compile(rf"rvd_([{ALPHABET}]{{{KEY_ID_CHARS}}})_[A-Za-z0-9_-]{{43}}", re.ASCII)


def key_from(id_bytes: bytes, secret: bytes) -> tuple[str, str]:
    """(key id, key) of twelve random bytes for the id, which is no secret, and 32 for the secret."""
    assert len(id_bytes) == KEY_ID_CHARS and len(secret) == SECRET_BYTES
    key_id = "".join(ALPHABET[byte % len(ALPHABET)] for byte in id_bytes)       # 32 letters: no bias
    return key_id, f"rvd_{key_id}_{_text(secret)}"


def live_key_from(secret: bytes) -> str:
    assert len(secret) == SECRET_BYTES
    return LIVE + _text(secret)


def key_id_of(key: str) -> str | None:
    """The id within an agent's key; None where it is no key at all."""
    match = _KEY.fullmatch(key)
    return match[1] if match else None


def bearer(header: str | None) -> str:
    """The key of an Authorization header, with or without its scheme."""
    text = (header or "").strip()
    scheme, blank, rest = text.partition(" ")
    return rest.strip() if blank and scheme.lower() == "bearer" else text


def key_hash(key: str) -> str:
    """Hex SHA-256 of the whole key: 256 random bits need no slow hash."""
    return sha256_hex(key.encode("utf-8", "surrogatepass"))


def preview(key: str) -> str:
    """What tells one key from another and opens nothing."""
    return f"rvd_{key_id_of(key)}_…{key[-4:]}"


def _text(secret: bytes) -> str:
    return base64.urlsafe_b64encode(secret).rstrip(b"=").decode()
