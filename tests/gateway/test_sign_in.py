"""The person's sign-in: passphrases, freshness, guessing; and the gateway's signature."""

from __future__ import annotations

import pytest

from rulith.base.clock import ManualClock
from rulith.base.errors import Refused
from rulith.base.limits import GUESSES_FREE, SIGN_IN_READ_S, SIGN_INS_MAX
from rulith.gateway.passphrase import FREE_TRIES, Guesses, SignIns, hash_passphrase, matches
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


def test_an_unknown_person_costs_the_same_derivation_and_matches_nothing(monkeypatch):
    """Who is asked about must not show in the time it takes."""
    derived = []
    from rulith.gateway import passphrase
    real = passphrase._derive
    monkeypatch.setattr(passphrase, "_derive", lambda text, salt, parameters: derived.append(parameters) or real(text, salt, parameters))
    assert matches("anything at all", None) is False
    record = hash_passphrase("correct horse battery")
    matches("wrong", record)
    assert derived[0] == {name: derived[2][name] for name in ("n", "r", "p")}


def test_a_sign_in_acts_for_fifteen_minutes_and_needs_both_halves():
    clock = ManualClock()
    signs = SignIns(clock)
    sign_in = signs.open("ann")
    assert signs.check(sign_in.cookie, sign_in.token) is sign_in
    for cookie, token in ((sign_in.cookie, None), (sign_in.cookie, "x"), (sign_in.cookie, "\ud800"), (None, sign_in.token), ("x", sign_in.token)):
        assert code_of(lambda: signs.check(cookie, token)) == "sign_in_required"
    clock.advance(900)
    assert signs.check(sign_in.cookie, sign_in.token) is sign_in
    clock.advance(1)
    assert code_of(lambda: signs.check(sign_in.cookie, sign_in.token)) == "sign_in_required" and signs.fresh_for_s(sign_in) == 0


def test_a_sign_in_reads_for_a_working_day():
    clock = ManualClock()
    signs = SignIns(clock)
    sign_in = signs.open("ann")
    clock.advance(SIGN_IN_READ_S)
    assert signs.find(sign_in.cookie) is sign_in
    clock.advance(1)
    assert signs.find(sign_in.cookie) is None


def test_sign_ins_are_bounded_and_end_with_their_person():
    signs = SignIns(ManualClock())
    first = signs.open("ann")
    others = [signs.open("bob") for _ in range(SIGN_INS_MAX)]
    assert signs.find(first.cookie) is None and signs.find(others[0].cookie)
    signs.close_of("bob", but=others[1].cookie)
    assert [each.cookie for each in others if signs.find(each.cookie)] == [others[1].cookie]


def test_wrong_passphrases_make_the_next_try_wait_longer_and_a_right_one_ends_it():
    clock = ManualClock()
    guesses = Guesses(clock)
    for _ in range(FREE_TRIES):
        guesses.check_may_try("ann")
        guesses.failed("ann")
    for spelling in ("ann", "ANN"):
        assert code_of(lambda: guesses.check_may_try(spelling)) == "sign_in_paused"
    guesses.check_may_try("bob")                        # nobody waits for another's mistakes
    clock.advance(1)
    guesses.check_may_try("ann")
    guesses.failed("ann")
    clock.advance(1)
    assert code_of(lambda: guesses.check_may_try("ann")) == "sign_in_paused"
    guesses.succeeded("ann")
    guesses.check_may_try("ann")


def test_tries_at_many_names_share_a_bound():
    clock = ManualClock()
    guesses = Guesses(clock)
    for number in range(GUESSES_FREE):
        guesses.check_may_try(f"name {number}")
        guesses.failed(f"name {number}")
    assert code_of(lambda: guesses.check_may_try("yet another")) == "sign_in_paused"
    clock.advance(4)
    guesses.check_may_try("yet another")
    for number in range(2000):
        guesses.failed(f"name {number}")
    assert len(guesses._by_name) <= 1024


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
