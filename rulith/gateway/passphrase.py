"""The person's authority: one passphrase, kept only as its scrypt hash, and fresh sign-ins.

Decides who may act for the person and for how long. Never stores a passphrase, never lets
a sign-in outlive 15 minutes, never accepts a token of an Agent, a Worker or the device
instead. Guessing is slowed by a growing pause that a right answer ends.

Units   *_s are seconds on the monotonic clock.
Source  RFC 7914 (scrypt).
"""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass

from rulith.base.clock import Clock
from rulith.base.errors import Refused
from rulith.base.ids import mint_token, random_bytes
from rulith.base.limits import (PASSPHRASE_CHARS_MAX, PASSPHRASE_CHARS_MIN, SIGN_IN_FRESH_S, SIGN_IN_PAUSE_S_MAX,
                                SIGN_INS_MAX)

# 2^15 x 8 x 128 bytes = 32 MiB and about 80 ms: one guess costs that, a person never notices.
SCRYPT = {"n": 2**15, "r": 8, "p": 1}
_SCRYPT_MEMORY_BYTES = 64 * 2**20
FREE_TRIES = 3


def hash_passphrase(passphrase: str) -> dict:
    """The record to keep: `{alg, n, r, p, salt, hash}`. Slow on purpose: call it off the loop."""
    if not PASSPHRASE_CHARS_MIN <= len(passphrase) <= PASSPHRASE_CHARS_MAX:
        raise Refused("passphrase_too_short", least=PASSPHRASE_CHARS_MIN, most=PASSPHRASE_CHARS_MAX)
    salt = random_bytes(16)
    return {"alg": "scrypt", **SCRYPT, "salt": salt.hex(), "hash": _derive(passphrase, salt, SCRYPT).hex()}


def matches(passphrase: str, record: dict) -> bool:
    """Whether `passphrase` is the one `record` was made of. Slow on purpose: call it off the loop."""
    parameters = {name: record[name] for name in ("n", "r", "p")}
    found = _derive(passphrase, bytes.fromhex(record["salt"]), parameters)
    return hmac.compare_digest(found, bytes.fromhex(record["hash"]))


def _derive(passphrase: str, salt: bytes, parameters: dict) -> bytes:
    return hashlib.scrypt(passphrase.encode("utf-8", "surrogatepass"), salt=salt, dklen=32,
                          maxmem=_SCRYPT_MEMORY_BYTES, **parameters)


@dataclass
class SignIn:
    cookie: str
    token: str
    at_s: float


class SignIns:
    """Console sessions in memory; a restart ends them all."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._open: dict[str, SignIn] = {}
        self._failed = 0
        self._not_before_s = 0.0

    def check_may_try(self) -> None:
        """Raise Refused sign_in_paused while the pause after wrong passphrases runs."""
        left = self._not_before_s - self._clock.monotonic_s()
        if left > 0:
            raise Refused("sign_in_paused", seconds=int(left) + 1)

    def failed(self) -> None:
        self._failed += 1
        if self._failed >= FREE_TRIES:
            pause = min(2.0 ** (self._failed - FREE_TRIES), SIGN_IN_PAUSE_S_MAX)
            self._not_before_s = self._clock.monotonic_s() + pause

    def open(self) -> SignIn:
        self._failed, self._not_before_s = 0, 0.0
        while len(self._open) >= SIGN_INS_MAX:
            del self._open[next(iter(self._open))]
        sign_in = SignIn(mint_token("rlt_con_"), mint_token("rlt_csrf_"), self._clock.monotonic_s())
        self._open[sign_in.cookie] = sign_in
        return sign_in

    def find(self, cookie: str | None) -> SignIn | None:
        """The fresh sign-in of a cookie, or None; a stale one is forgotten here."""
        sign_in = self._open.get(cookie) if cookie else None
        if sign_in is None:
            return None
        if self._clock.monotonic_s() - sign_in.at_s > SIGN_IN_FRESH_S:
            del self._open[sign_in.cookie]
            return None
        return sign_in

    def check(self, cookie: str | None, token: str | None) -> SignIn:
        """The fresh sign-in both halves name. Raises Refused sign_in_required."""
        sign_in = self.find(cookie)
        if sign_in is None or token is None or not hmac.compare_digest(sign_in.token, token):
            raise Refused("sign_in_required", minutes=int(SIGN_IN_FRESH_S // 60))
        return sign_in

    def fresh_for_s(self, sign_in: SignIn) -> float:
        return max(0.0, SIGN_IN_FRESH_S - (self._clock.monotonic_s() - sign_in.at_s))

    def close(self, cookie: str | None) -> None:
        self._open.pop(cookie or "", None)
