"""The person's sign-in: passphrases, freshness, guessing; and the gateway's signature."""

from __future__ import annotations

import pytest

from rulith.base.clock import ManualClock
from rulith.base.errors import Refused
from rulith.gateway.passphrase import FREE_TRIES, SignIns, hash_passphrase, matches
from rulith.gateway.settings import read_settings
from rulith.gateway.signing import Signer, is_signed


def code_of(call) -> str:
    with pytest.raises(Refused) as refused:
        call()
    return refused.value.code


def test_only_the_hash_of_a_passphrase_is_kept_and_only_it_matches():
    record = hash_passphrase("correct horse battery")
    assert "correct" not in str(record) and record["alg"] == "scrypt"
    assert matches("correct horse battery", record)
    assert not matches("correct horse batterz", record)
    assert hash_passphrase("correct horse battery")["salt"] != record["salt"]


@pytest.mark.parametrize("bad", ["", "short", "x" * 2000])
def test_a_passphrase_has_a_length(bad):
    assert code_of(lambda: hash_passphrase(bad)) == "passphrase_too_short"


def test_a_sign_in_is_fresh_for_fifteen_minutes_and_needs_both_halves():
    clock = ManualClock()
    signs = SignIns(clock)
    sign_in = signs.open()
    assert signs.check(sign_in.cookie, sign_in.token) is sign_in
    for cookie, token in ((sign_in.cookie, None), (sign_in.cookie, "x"), (None, sign_in.token), ("x", sign_in.token)):
        assert code_of(lambda: signs.check(cookie, token)) == "sign_in_required"
    clock.advance(900)
    assert signs.find(sign_in.cookie) is sign_in
    clock.advance(1)
    assert signs.find(sign_in.cookie) is None


def test_wrong_passphrases_make_the_next_try_wait_longer_and_a_right_one_ends_it():
    clock = ManualClock()
    signs = SignIns(clock)
    for _ in range(FREE_TRIES):
        signs.check_may_try()
        signs.failed()
    assert code_of(signs.check_may_try) == "sign_in_paused"
    clock.advance(1)
    signs.check_may_try()
    signs.failed()
    clock.advance(1)
    assert code_of(signs.check_may_try) == "sign_in_paused"
    signs.open()
    signs.check_may_try()


def test_a_signature_covers_every_byte_of_the_document():
    """RFC 8032 over RFC 8785 bytes; member order does not matter, any value does."""
    signer = Signer("07" * 32)
    document = signer.sign_document({"b": 1, "a": {"x": [1, 2.5, "é"]}})
    assert is_signed(document) and is_signed(dict(reversed(list(document.items()))))
    assert not is_signed({**document, "b": 2})
    assert not is_signed({**document, "extra": None})
    assert not is_signed({name: value for name, value in document.items() if name != "signature"})
    other = Signer("08" * 32)
    assert not is_signed({**document, "signature": {**document["signature"], "key": other.public_hex}})


def test_settings_are_read_whole_or_refused(tmp_path):
    path = tmp_path / "settings.json"
    assert read_settings(path).hold_s == 50
    path.write_text('{"leaseMs": 3000, "holdMs": 250}')
    found = read_settings(path)
    assert found.lease.lease_ms == 3000 and found.lease.heartbeat_ms < 3000 and found.hold_s == 0.25
    assert found.poll_hold_s <= 1.0
    for bad in ('[]', '{"leaseMs": "3000"}', '{"leaseMs": true}', '{"other": 1}', '{"leaseMs": 10, "heartbeatMs": 10}'):
        path.write_text(bad)
        assert code_of(lambda: read_settings(path)) == "settings_malformed"
