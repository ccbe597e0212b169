"""The person's authority: passphrases, kept only as their scrypt hash, and fresh sign-ins.

Decides who signed in, and for how long that counts. Never stores a passphrase, never lets
a sign-in act after 15 minutes or read after a working day, never accepts a token of an
Agent, a Worker or the device instead. Guessing is slowed by a pause that grows with each
wrong try at one name and that a right one ends; tries at many names share a bound. A name
that nobody has costs the same time and gets the same answer.

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
from rulith.base.limits import (GUESS_FORGOTTEN_S, GUESSED_NAMES_MAX, GUESSES_FREE, PASSPHRASE_CHARS_MAX, PASSPHRASE_CHARS_MIN,
                                SIGN_IN_FRESH_S, SIGN_IN_PAUSE_S_MAX, SIGN_IN_READ_S, SIGN_INS_MAX)

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


NOBODY = {"alg": "scrypt", **SCRYPT, "salt": "00" * 16, "hash": "00" * 32}     # no passphrase that can be found has it


def matches(passphrase: str, record: dict | None) -> bool:
    """Whether `passphrase` is the one `record` was made of; without a record as slow, and False. Call it off the loop."""
    against = record or NOBODY
    parameters = {name: against[name] for name in ("n", "r", "p")}
    found = _derive(passphrase, bytes.fromhex(against["salt"]), parameters)
    return hmac.compare_digest(found, bytes.fromhex(against["hash"])) and record is not None


def _derive(passphrase: str, salt: bytes, parameters: dict) -> bytes:
    return hashlib.scrypt(passphrase.encode("utf-8", "surrogatepass"), salt=salt, dklen=32,
                          maxmem=_SCRYPT_MEMORY_BYTES, **parameters)


class Guesses:
    """Wrong tries: how long the next one has to wait."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._by_name: dict[str, tuple[int, float]] = {}     # typed name -> wrong tries, not before; the latest last
        self._all, self._all_at_s = 0.0, clock.monotonic_s()

    def check_may_try(self, name: str) -> None:
        """Raise Refused sign_in_paused while a pause runs."""
        now_s = self._clock.monotonic_s()
        _, not_before_s = self._by_name.get(_typed(name), (0, 0.0))
        self._all = max(0.0, self._all - (now_s - self._all_at_s) / GUESS_FORGOTTEN_S)
        self._all_at_s = now_s
        left = max(not_before_s - now_s, (self._all - GUESSES_FREE + 1) * GUESS_FORGOTTEN_S)
        if left > 0:
            raise Refused("sign_in_paused", seconds=int(left) + 1)

    def failed(self, name: str) -> None:
        tries, _ = self._by_name.pop(_typed(name), (0, 0.0))
        tries += 1
        pause = min(2.0 ** (tries - FREE_TRIES), SIGN_IN_PAUSE_S_MAX) if tries >= FREE_TRIES else 0.0
        self._by_name[_typed(name)] = (tries, self._clock.monotonic_s() + pause)
        self._all += 1
        while len(self._by_name) > GUESSED_NAMES_MAX:
            del self._by_name[next(iter(self._by_name))]

    def succeeded(self, name: str) -> None:
        self._by_name.pop(_typed(name), None)


def _typed(name: str) -> str:
    return name[:64].casefold()


@dataclass
class SignIn:
    cookie: str
    token: str
    name: str
    at_s: float


class SignIns:
    """Console sessions in memory; a restart ends them all."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._open: dict[str, SignIn] = {}

    def open(self, name: str) -> SignIn:
        while len(self._open) >= SIGN_INS_MAX:
            del self._open[next(iter(self._open))]
        sign_in = SignIn(mint_token("rlt_con_"), mint_token("rlt_csrf_"), name, self._clock.monotonic_s())
        self._open[sign_in.cookie] = sign_in
        return sign_in

    def find(self, cookie: str | None) -> SignIn | None:
        """The sign-in of a cookie, to read under, or None; one that is too old is forgotten here."""
        sign_in = self._open.get(cookie) if cookie else None
        if sign_in is not None and self.age_s(sign_in) > SIGN_IN_READ_S:
            del self._open[sign_in.cookie]
            return None
        return sign_in

    def check(self, cookie: str | None, token: str | None) -> SignIn:
        """The fresh sign-in both halves name, to act under. Raises Refused sign_in_required."""
        sign_in = self.find(cookie)
        is_whole = sign_in is not None and token is not None and hmac.compare_digest(sign_in.token.encode(), token.encode("utf-8", "replace"))
        if sign_in is None or not is_whole or self.age_s(sign_in) > SIGN_IN_FRESH_S:
            raise Refused("sign_in_required", minutes=int(SIGN_IN_FRESH_S // 60))
        return sign_in

    def age_s(self, sign_in: SignIn) -> float:
        return self._clock.monotonic_s() - sign_in.at_s

    def fresh_for_s(self, sign_in: SignIn) -> float:
        return max(0.0, SIGN_IN_FRESH_S - self.age_s(sign_in))

    def close(self, cookie: str | None) -> None:
        self._open.pop(cookie or "", None)

    def close_of(self, name: str, *, but: str = "") -> None:
        """End every sign-in of a person, except the one of the cookie `but`."""
        for cookie in [each.cookie for each in self._open.values() if each.name == name and each.cookie != but]:
            del self._open[cookie]
