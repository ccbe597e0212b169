"""People: roles, invitations, and what the last owner can and cannot do to themselves."""

import itertools
import json

import pytest

from rulith.base.errors import Refused
from rulith.board.people import ROLES, person_state
from rulith.board.registry import AUTHORITY, Registry

GATEWAY = {"kind": "gateway"}
DIGEST = "sha256:" + "d" * 64
EMPTY = {"id": "a", "name": "a", "tokenHash": "h", "keyHash": "h", "agentId": "a", "connectionId": "c", "toolId": "t@1", "digest": "d",
         "descriptor": {}, "type": "file", "access": "/w", "tier": "attested", "attests": [], "version": "1.0.0", "role": "viewer",
         "codeHash": "c", "expiresS": 60, "verdict": "approve", "argumentDigest": DIGEST}


class Law:
    def __init__(self):
        self.registry, self.rows, self._ids = Registry(), [], itertools.count(1)
        self.now = "2026-10-03T08:00:00.000Z"
        self.run("set_passphrase", record={"hash": "root"}, authority={"kind": "setup_code", "by": "root"})

    def run(self, kind, by="root", **members):
        authority = {"kind": "person", "by": by, "signInAgeS": 3} if isinstance(by, str) else by
        command = {"kind": kind, "authority": authority, **members}
        outcome = self.registry.execute(command, at=self.now, mint=lambda prefix: f"{prefix}{next(self._ids):024x}")
        self.rows.append(json.loads(json.dumps(outcome.row)))
        return outcome.result

    def invite(self, name, role="operator", by="root", code="c1"):
        return self.run("invite_person", by, name=name, role=role, codeHash=code, expiresS=3600)

    def accept(self, name, code="c1"):
        return self.run("accept_invitation", {"kind": "invitation", "by": name}, name=name, codeHash=code, record={"hash": name})

    def add(self, name, role="operator"):
        self.invite(name, role)
        self.accept(name)

    def decision(self, people):
        return self.run("request_decision", GATEWAY, agentId="agt", ordinal=1, decisionKind="approve", action="demo.write", argumentDigest=DIGEST,
                        argsText="{}", target="root_1", premises=[], people=people, expiresS=3600)["id"]

    def decide(self, decision, by, verdict="approve", **more):
        return self.run("decide", by, id=decision, verdict=verdict, argumentDigest=DIGEST, **more)


@pytest.fixture
def law():
    return Law()


def code(call, *args, **kwargs):
    with pytest.raises(Refused) as refused:
        call(*args, **kwargs)
    return refused.value.code


def test_the_first_person_is_an_owner_under_the_name_they_chose(law):
    assert law.registry.people["root"]["role"] == "owner" and law.registry.is_set_up()
    assert code(law.run, "set_passphrase", {"kind": "setup_code", "by": "second"}, record={"hash": "x"}) == "passphrase_already_set"


def test_an_invited_person_comes_in_by_their_code_once(law):
    assert law.invite("ann", "viewer") == {"name": "ann", "role": "viewer", "expiresAt": "2026-10-03T09:00:00.000Z"}
    assert person_state(law.registry.people["ann"], law.now) == "invited"
    assert code(law.run, "change_passphrase", "ann", record={"hash": "x"}) == "sign_in_required"       # not before they have one
    assert code(law.accept, "ann", "c2") == "invitation_wrong"
    assert code(law.accept, "nobody") == "unknown_person"
    assert law.accept("ann") == {"name": "ann", "role": "viewer"}
    assert code(law.accept, "ann") == "invitation_wrong"
    assert "codeHash" not in json.dumps(law.registry.people["ann"])


def test_an_invitation_runs_out_and_a_new_code_voids_the_old_one(law):
    law.invite("ann")
    law.now = "2026-10-03T09:00:00.000Z"
    assert person_state(law.registry.people["ann"], law.now) == "expired"
    assert code(law.accept, "ann") == "invitation_expired"
    law.run("reset_person", name="ann", codeHash="c2", expiresS=60)
    assert code(law.accept, "ann") == "invitation_wrong"
    law.accept("ann", "c2")


@pytest.mark.parametrize("expires_s", [0, -1, True, "60", None])
def test_an_invitation_has_a_span(law, expires_s):
    assert code(law.run, "invite_person", name="ann", role="viewer", codeHash="c", expiresS=expires_s) == "bad_command"


def test_a_reset_ends_the_passphrase_and_keeps_role_and_name(law):
    law.add("ann", "operator")
    law.run("reset_person", name="ann", codeHash="c2", expiresS=60)
    assert code(law.run, "isolate", "ann", connectionId="c") == "sign_in_required"
    assert law.accept("ann", "c2") == {"name": "ann", "role": "operator"}


def test_one_changes_ones_own_passphrase_and_nobody_elses(law):
    law.add("ann", "viewer")
    law.run("change_passphrase", "ann", record={"hash": "new"})
    assert law.registry.people["ann"]["record"] == {"hash": "new"} and law.registry.people["root"]["record"] == {"hash": "root"}
    assert code(law.run, "change_passphrase", "ann", record={"hash": "new"}, name="root") == "bad_command"


@pytest.mark.parametrize("kind", sorted(kind for kind, needs in AUTHORITY.items() if needs in ROLES and kind in Registry.COMMANDS))
def test_each_act_needs_its_role_and_no_weaker_one_does(law, kind):
    needs = AUTHORITY[kind]
    members = {name: EMPTY.get(name, {}) for name in Registry.COMMANDS[kind][1] - {"authority"}}
    for role in ROLES:
        law.add(role, role)
        if ROLES.index(role) < ROLES.index(needs):
            assert code(law.run, kind, role, **members) == "role_too_low"
        else:
            try:
                law.run(kind, role, **members)
            except Refused as refused:
                assert refused.code not in ("role_too_low", "sign_in_required", "not_authorized")


def test_only_an_owner_has_a_say_over_people(law):
    law.add("ann", "operator")
    for kind, members in (("invite_person", {"name": "eve", "role": "owner", "codeHash": "c", "expiresS": 60}), ("change_role", {"name": "ann", "role": "owner"}),
                          ("remove_person", {"name": "root"}), ("reset_person", {"name": "root", "codeHash": "c", "expiresS": 60})):
        assert code(law.run, kind, "ann", **members) == "role_too_low"
        for nobody in (GATEWAY, {"kind": "setup_code", "by": "root"}, {"kind": "invitation", "by": "root"}, {"kind": "agent", "by": "root"}, None):
            assert code(law.run, kind, nobody, **members) == "sign_in_required"


def test_the_last_owner_who_can_sign_in_stays(law):
    law.invite("second", "owner")                       # invited is not yet somebody
    for kind, members in (("remove_person", {}), ("change_role", {"role": "viewer"}), ("reset_person", {"codeHash": "c", "expiresS": 60})):
        assert code(law.run, kind, name="root", **members) == "last_owner"
    law.accept("second")
    law.run("remove_person", "second", name="root")
    assert code(law.run, "remove_person", "second", name="second") == "last_owner"
    law.run("change_role", "second", name="second", role="owner")
    assert code(law.run, "isolate", "root", connectionId="c") == "sign_in_required"


@pytest.mark.parametrize("name", ["", " ann", "ann ", "a\nb", "a\x00b", "a\u202eb", "a\u200bb", "a\u00a0b", "<img src=x>", "a=b", "\ud800", "x" * 65, 7, None, ["ann"]])
def test_a_name_can_be_read_and_typed(law, name):
    assert code(law.invite, name) == "name_unusable"


def test_a_name_speaks_of_one_person_for_ever(law):
    law.add("Ann", "operator")
    assert code(law.invite, "ann") == "person_name_taken"
    law.run("remove_person", name="Ann")
    assert code(law.invite, "Ann") == "person_name_taken" and code(law.invite, "ANN") == "person_name_taken"
    assert code(law.run, "invite_person", name="bob", role="king", codeHash="c", expiresS=60) == "bad_command"
    law.invite("bob")                                   # the refusal took nothing


def test_people_have_a_bound(law):
    for number in range(199):
        law.invite(f"p{number}")
    assert code(law.invite, "one too many") == "resource_limit"


# --- two people ------------------------------------------------------------------------


def test_one_person_under_every_spelling_is_one_person(law):
    law.add("ann")
    decision = law.decision(2)
    assert law.decide(decision, "ann")["state"] == "pending"
    for who in ("ann", "Ann", "ann ", "ANN"):
        assert code(law.decide, decision, who) in ("decision_same_person", "sign_in_required")
    assert law.decide(decision, "root")["state"] == "approved"


@pytest.mark.parametrize("loss", ["removed", "viewer"])
def test_the_word_of_a_person_who_may_no_longer_decide_does_not_count(law, loss):
    for name in ("ann", "bob"):
        law.add(name)
    decision = law.decision(2)
    law.decide(decision, "ann")
    law.run(*(("remove_person",) if loss == "removed" else ("change_role",)), name="ann", **({} if loss == "removed" else {"role": "viewer"}))
    answer = law.decide(decision, "bob")
    assert (answer["state"], answer["approvals"]) == ("pending", 1)
    assert law.decide(decision, "root")["state"] == "approved"


def test_a_viewer_does_not_decide(law):
    law.add("eve", "viewer")
    decision = law.decision(1)
    assert code(law.decide, decision, "eve") == "role_too_low"
    assert code(law.decide, decision, "eve", "reject", reason="no") == "role_too_low"
    assert law.registry.decision(decision)["state"] == "pending"


def test_one_who_approved_may_still_reject(law):
    law.add("ann")
    decision = law.decision(2)
    law.decide(decision, "ann")
    assert law.decide(decision, "ann", "reject", reason="seen again, no")["state"] == "rejected"


def test_rows_rebuild_the_same_people(law):
    law.add("ann")
    law.invite("bob", "viewer", code="c9")
    law.run("change_role", name="ann", role="owner")
    law.run("change_passphrase", "ann", record={"hash": "z"})
    law.run("remove_person", "ann", name="bob")
    law.run("reset_person", "ann", name="root", codeHash="c3", expiresS=5)
    again = Registry()
    for row in law.rows:
        again.replay(row)
    assert again.people == law.registry.people and again.former == law.registry.former
    assert all(row["command"]["authority"]["by"] for row in law.rows)
