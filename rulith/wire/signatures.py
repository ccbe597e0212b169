"""Ed25519 signatures of documents: over the canonical bytes of every member but `signature`.

Checks what a document carries; whose key it is, only a key known from elsewhere can say.
Making signatures needs the private key and is the gateway's.

Source  RFC 8032, RFC 8785.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from ecdsa import BadSignatureError, Ed25519, VerifyingKey
from ecdsa.errors import MalformedPointError

from rulith.base.canonical import canonical_bytes

ALGORITHM = "Ed25519"
KEY = re.compile(r"[0-9a-f]{64}", re.ASCII)
VALUE = re.compile(r"[0-9a-f]{128}", re.ASCII)


def signed_bytes(document: Mapping) -> bytes:
    """The exact bytes that a document's signature covers."""
    return canonical_bytes({name: value for name, value in document.items() if name != "signature"})


def signature_problem(document: Mapping) -> str | None:
    """Why the signature that the document carries is not its own key's over all of the rest; None where it is."""
    signature = document.get("signature")
    if not isinstance(signature, Mapping) or set(signature) != {"alg", "key", "value"}:
        return "it carries no signature {alg, key, value}"
    if signature["alg"] != ALGORITHM:
        return f"its algorithm is not {ALGORITHM}"
    for name, pattern in (("key", KEY), ("value", VALUE)):
        if not isinstance(signature[name], str) or not pattern.fullmatch(signature[name]):
            return f"its {name} is not lower-case hex of the right length"
    try:
        key = VerifyingKey.from_string(bytes.fromhex(signature["key"]), curve=Ed25519)
        key.verify(bytes.fromhex(signature["value"]), signed_bytes(document))
    except (BadSignatureError, MalformedPointError, ValueError, AssertionError):
        return "it does not fit what the document says"
    return None
