"""The gateway's own signature: Ed25519 over the canonical bytes of a document.

The private key is minted at genesis and never leaves the gateway's secret file. Decides
nothing about what a document may say; anyone can check the signature with no ledger.

Source  RFC 8032, RFC 8785.
"""

from __future__ import annotations

import hashlib
import hmac

from ecdsa import Ed25519, SigningKey

from rulith.base.canonical import canonical_bytes
from rulith.wire.signatures import ALGORITHM, signature_problem

SEED_BYTES = 32


class Signer:
    """Signs with the key whose 32-byte seed is given as hex."""

    def __init__(self, seed_hex: str) -> None:
        self._seed = bytes.fromhex(seed_hex)
        self._key = SigningKey.from_string(bytes.fromhex(seed_hex), curve=Ed25519)
        self.public_hex = self._key.get_verifying_key().to_string().hex()

    def derived(self, purpose: bytes) -> bytes:
        """A secret of this gateway for another purpose; tells nothing of the key."""
        return hmac.new(self._seed, purpose, hashlib.sha256).digest()

    def sign_document(self, document: dict) -> dict:
        """`document` with `signature {alg, key, value}` over the canonical bytes of everything else."""
        value = self._key.sign(canonical_bytes(document)).hex()
        return {**document, "signature": {"alg": ALGORITHM, "key": self.public_hex, "value": value}}


def is_signed(document: dict) -> bool:
    """Whether the signature a document carries is its own key's over all of its other members."""
    return signature_problem(document) is None
