"""Registry: who may do what, the fence, and decisions bound to exact arguments."""

import itertools
import json

import pytest

from rulith.base.errors import Refused
from rulith.board.registry import AUTHORITY, Registry

PERSON = {"kind": "person", "by": "owner", "signInAgeS": 10}
GATEWAY = {"kind": "gateway"}
DIGEST = "sha256:" + "d" * 64


class Reg:
    def __init__(self, *, passphrase=True):
        self.law, self.rows = Registry(), []
        self._ids = itertools.count(1)
        self.now = "2026-10-03T08:00:00.000Z"
        self.run("genesis", commands=[
            {"kind": "add_agent", "id": "agt_1", "name": "First", "tokenHash": "h1"},
            {"kind": "add_connection", "id": "conn_1", "name": "Here", "agentId": "agt_1", "keyHash": "k1"},
            {"kind": "add_source", "name": "files", "type": "file", "access": "/w", "connectionId": "conn_1", "tier": "attested", "attests": ["*"]},
            {"kind": "lock_tool", "connectionId": "conn_1", "toolId": "demo.read@1", "digest": "a" * 64, "descriptor": {"kind": "read"}},
            {"kind": "set_device_grant", "hash": "g1"}])
        if passphrase:
            self.run("set_passphrase", record={"hash": "p"}, authority={"kind": "setup_code", "by": "owner"})
            for name in ("ann", "bob"):
                self.person(name, "operator")

    def run(self, kind, **members):
        outcome = self.law.execute({"kind": kind, **members}, at=self.now, mint=lambda prefix: f"{prefix}{next(self._ids):024x}")
        self.rows.append(json.loads(json.dumps(outcome.row)))
        return outcome.result

    def person(self, name, role):
        self.run("invite_person", name=name, role=role, codeHash=f"c-{name}", expiresS=60, authority=PERSON)
        self.run("accept_invitation", name=name, codeHash=f"c-{name}", record={"hash": name}, authority={"kind": "invitation", "by": name})

    def decision(self, **changes):
        members = {"agentId": "agt_1", "ordinal": 3, "decisionKind": "approve", "action": "demo.write", "argumentDigest": DIGEST,
                   "argsText": "{}", "target": "root_1", "premises": [], "people": 1, "expiresS": 3600, "authority": GATEWAY}
        return self.run("request_decision", **{**members, **changes})["id"]

    def decide(self, decision, verdict="approve", by="owner", digest=DIGEST, **more):
        return self.run("decide", id=decision, verdict=verdict, argumentDigest=digest,
                        authority={**PERSON, "by": by}, **more)


@pytest.fixture
def reg():
    return Reg()


def code(call, *args, **kwargs):
    with pytest.raises(Refused) as refused:
        call(*args, **kwargs)
    return refused.value.code


def test_a_ledger_is_seeded_once_and_only_while_empty(reg):
    assert code(reg.run, "genesis", commands=[]) == "genesis_over"
    fresh = Registry()
    fresh.execute({"kind": "genesis", "commands": []}, at=reg.now, mint=str)
    with pytest.raises(Refused):
        fresh.execute({"kind": "genesis", "commands": []}, at=reg.now, mint=str)


def test_genesis_with_one_bad_command_seeds_nothing():
    fresh = Registry()
    with pytest.raises(Refused):
        fresh.execute({"kind": "genesis", "commands": [{"kind": "add_agent", "id": "a", "name": "a", "tokenHash": "h"},
                                                      {"kind": "add_connection", "id": "c", "name": "c", "agentId": "b", "keyHash": "k"}]},
                      at="2026-10-03T08:00:00.000Z", mint=str)
    assert fresh.agents == {} and fresh.rows == 0 and fresh._in_genesis is False


COMMANDS = {
    "add_agent": {"id": "agt_2", "name": "x", "tokenHash": "h2"}, "replace_agent_token": {"id": "agt_1", "tokenHash": "h3"},
    "revoke_agent_token": {"id": "agt_1"}, "remove_agent": {"id": "agt_1"}, "add_connection": {"id": "conn_2", "name": "x", "agentId": "agt_1", "keyHash": "k"},
    "replace_connection_key": {"id": "conn_1", "keyHash": "k"}, "isolate": {"connectionId": "conn_1"},
    "add_source": {"name": "s", "type": "file", "access": "/x", "connectionId": "conn_1", "tier": "attested", "attests": []},
    "remove_source": {"name": "files"}, "lock_tool": {"connectionId": "conn_1", "toolId": "t@1", "digest": "b" * 64, "descriptor": {}},
    "unlock_tool": {"connectionId": "conn_1", "toolId": "demo.read@1"},
    "install_release": {"id": "demo", "version": "1.0.0", "digest": DIGEST},
    "set_profile": {"id": "agt_1", "profile": {"sources": []}},
    "waive_decision": {"connectionId": "conn_1", "toolId": "demo.read@1", "digest": "a" * 64, "waived": True},
}


@pytest.mark.parametrize("kind", sorted(COMMANDS))
def test_a_persons_act_needs_a_fresh_sign_in(reg, kind):
    for authority in (None, {}, GATEWAY, {"kind": "setup_code"}, {**PERSON, "signInAgeS": 901}, {**PERSON, "signInAgeS": -1},
                      {**PERSON, "signInAgeS": True}, {**PERSON, "signInAgeS": "1"}, {"kind": "person"},
                      {**PERSON, "by": "nobody"}, {**PERSON, "by": None}, {**PERSON, "by": ["owner"]}):
        assert code(reg.run, kind, **COMMANDS[kind], authority=authority) == "sign_in_required"
    reg.run(kind, **COMMANDS[kind], authority=PERSON)


def test_without_a_passphrase_no_sign_in_counts():
    reg = Reg(passphrase=False)
    assert code(reg.run, "remove_source", name="files", authority=PERSON) == "sign_in_required"


def test_the_setup_code_chooses_the_first_passphrase_and_no_other(reg):
    assert code(reg.run, "set_passphrase", record={"hash": "q"}, authority={"kind": "setup_code"}) == "passphrase_already_set"
    assert code(reg.run, "set_passphrase", record={"hash": "q"}, authority=PERSON) == "not_authorized"
    assert reg.law.people["owner"]["record"] == {"hash": "p"}


def test_what_only_the_gateway_does_no_person_does(reg):
    assert code(reg.run, "fence", connectionId="conn_1", workerId="w", generation=1, authority=PERSON) == "not_authorized"
    assert code(reg.run, "set_device_grant", hash="x", authority=PERSON) == "not_authorized"


def test_names_are_unique_and_refusals_change_nothing(reg):
    before = json.dumps(reg.law.agents)
    assert code(reg.run, "add_agent", id="agt_1", name="x", tokenHash="h9", authority=PERSON) == "registry_name_taken"
    assert code(reg.run, "add_agent", id="agt_9", name="x", tokenHash="h1", authority=PERSON) == "registry_name_taken"
    assert json.dumps(reg.law.agents) == before and reg.law.agent_by_token_hash("h9") is None


def test_a_replaced_token_no_longer_names_its_agent(reg):
    reg.run("replace_agent_token", id="agt_1", tokenHash="h2", authority=PERSON)
    assert reg.law.agent_by_token_hash("h1") is None and reg.law.agent_by_token_hash("h2") == "agt_1"


@pytest.mark.parametrize("source", [{"type": "disk"}, {"tier": "gold"}, {"connectionId": "conn_9"}, {"name": "files"}])
def test_a_source_has_a_known_type_tier_and_connection(reg, source):
    members = {**COMMANDS["add_source"], **source}
    assert code(reg.run, "add_source", **members, authority=PERSON) in ("bad_command", "unknown_connection", "registry_name_taken")


# --- fence: the transitions of the Worker hop from (w1, 7) -----------------------------


@pytest.mark.parametrize("worker, generation, result", [("w1", 7, "replay"), (None, 7, "refused"), ("w2", 6, "refused"), ("w2", 7, "refused"),
                                                        (None, 8, "accepted"), ("w2", 9, "accepted")])
def test_the_fence_only_rises(reg, worker, generation, result):
    reg.run("fence", connectionId="conn_1", workerId="w1", generation=7, authority=GATEWAY)
    if result == "refused":
        assert code(reg.run, "fence", connectionId="conn_1", workerId=worker, generation=generation, authority=GATEWAY) == "fence_generation_stale"
        assert reg.law.connection("conn_1")["fence"] == {"workerId": "w1", "generation": 7}
    else:
        answer = reg.run("fence", connectionId="conn_1", workerId=worker, generation=generation, authority=GATEWAY)
        assert answer["replay"] is (result == "replay")
        again = reg.run("fence", connectionId="conn_1", workerId=worker, generation=generation, authority=GATEWAY)
        assert again["replay"] is True


@pytest.mark.parametrize("generation", [0, -1, True, 1.0, "7"])
def test_a_generation_is_a_whole_number_from_one(reg, generation):
    assert code(reg.run, "fence", connectionId="conn_1", workerId="w1", generation=generation, authority=GATEWAY) == "bad_command"


def test_isolation_puts_the_fence_above_the_holder(reg):
    reg.run("fence", connectionId="conn_1", workerId="w1", generation=7, authority=GATEWAY)
    assert not reg.law.is_isolated("conn_1", 7)
    reg.run("isolate", connectionId="conn_1", authority=PERSON)
    assert reg.law.is_isolated("conn_1", 7) and reg.law.connection("conn_1")["fence"] == {"workerId": None, "generation": 8}


# --- decisions -------------------------------------------------------------------------


def test_one_person_approves(reg):
    decision = reg.decision()
    assert reg.decide(decision) == {"id": decision, "state": "approved", "approvals": 1, "people": 1}
    assert code(reg.decide, decision) == "decision_closed"


def test_two_people_are_two_people(reg):
    decision = reg.decision(people=2)
    assert reg.decide(decision, by="ann")["state"] == "pending"
    assert code(reg.decide, decision, by="ann") == "decision_same_person"
    assert reg.decide(decision, by="bob") == {"id": decision, "state": "approved", "approvals": 2, "people": 2}


def test_one_rejection_ends_it_and_says_why(reg):
    decision = reg.decision(people=2)
    reg.decide(decision, by="ann")
    assert code(reg.decide, decision, "reject", by="bob") == "reason_required"
    assert reg.decide(decision, "reject", by="bob", reason="too much")["state"] == "rejected"
    assert reg.law.decision(decision)["by"][-1]["reason"] == "too much"


def test_a_decision_is_bound_to_the_exact_arguments(reg):
    decision = reg.decision()
    assert code(reg.decide, decision, digest="sha256:" + "e" * 64) == "decision_digest_mismatch"
    assert reg.law.decision(decision)["state"] == "pending"


def test_expiry_is_judged_when_read(reg):
    decision = reg.decision(expiresS=60)
    assert reg.law.decision(decision)["expiresAt"] == "2026-10-03T08:01:00.000Z"
    assert reg.law.decision_state(decision, "2026-10-03T08:00:59.999Z") == "pending"
    assert reg.law.decision_state(decision, "2026-10-03T08:01:00.000Z") == "expired"
    assert code(reg.run, "expire_decision", id=decision, authority=GATEWAY) == "decision_closed"
    reg.now = "2026-10-03T08:01:00.000Z"
    assert code(reg.decide, decision) == "decision_expired"
    reg.run("expire_decision", id=decision, authority=GATEWAY)
    assert reg.law.decision(decision)["state"] == "expired"


@pytest.mark.parametrize("changes", [{"verdict": "maybe"}, {"verdict": None}])
def test_a_verdict_is_approve_or_reject(reg, changes):
    assert code(reg.decide, reg.decision(), **changes) == "bad_command"


@pytest.mark.parametrize("authority", [GATEWAY, {"kind": "agent", "by": "agt_1"}, {**PERSON, "signInAgeS": 1000}])
def test_nobody_but_a_freshly_signed_in_person_decides(reg, authority):
    decision = reg.decision()
    with pytest.raises(Refused) as refused:
        reg.run("decide", id=decision, verdict="approve", argumentDigest=DIGEST, authority=authority)
    assert refused.value.code == "sign_in_required"


# --- policy and replay -----------------------------------------------------------------


def test_policy_shows_an_agent_its_own_connections_only(reg):
    reg.run("add_agent", id="agt_2", name="x", tokenHash="h2", authority=PERSON)
    reg.run("add_connection", id="conn_2", name="y", agentId="agt_2", keyHash="k2", authority=PERSON)
    live = {"conn_1": {"demo.read@1": "a" * 64}, "conn_2": {"demo.read@1": "a" * 64}}
    policy = reg.law.policy("agt_1", live=live)
    assert [source.name for source in policy.sources] == ["files"] and set(policy.live) == {"conn_1"}
    assert reg.law.policy("agt_2", live=live).sources == ()
    assert policy.version == reg.law.policy("agt_1", live=live).version
    reg.run("remove_source", name="files", authority=PERSON)
    assert policy.version != reg.law.policy("agt_1", live=live).version


def test_rows_rebuild_the_same_registry(reg):
    reg.decide(reg.decision(people=2), by="ann")
    reg.run("isolate", connectionId="conn_1", authority=PERSON)
    again = Registry()
    for row in reg.rows:
        again.replay(row)
    for name in ("agents", "connections", "sources", "locks", "decisions", "device_grant_hash", "people", "former", "rows", "policy_version"):
        assert getattr(again, name) == getattr(reg.law, name)


def test_a_revoked_agent_stays_and_nobody_speaks_for_it(reg):
    """Its Board and receipts are history; only its token is void, until a new one is given."""
    reg.run("revoke_agent_token", id="agt_1", authority=PERSON)
    assert reg.law.agent_by_token_hash("h1") is None and reg.law.agent_by_token_hash("") is None
    assert reg.law.agent_ids() == ["agt_1"] and reg.law.connection("conn_1")["agentId"] == "agt_1"
    assert code(reg.run, "revoke_agent_token", id="agt_1", authority=PERSON) == "agent_revoked_already"
    reg.run("replace_agent_token", id="agt_1", tokenHash="h2", authority=PERSON)
    assert reg.law.agent_by_token_hash("h2") == "agt_1" and reg.law.agent_by_token_hash("h1") is None
    reg.run("revoke_agent_token", id="agt_1", authority=PERSON)
    reg.run("remove_agent", id="agt_1", authority=PERSON)
    assert reg.law.agent_ids() == []


def test_a_source_is_edited_in_one_row_or_not_at_all(reg):
    edited = {"name": "files", "type": "file", "access": "/elsewhere", "connectionId": "conn_1", "tier": "perceived", "attests": []}
    reg.run("several", commands=[{"kind": "remove_source", "name": "files", "authority": PERSON},
                                 {"kind": "add_source", **edited, "authority": PERSON}])
    assert reg.law.sources["files"].access == "/elsewhere"
    assert code(reg.run, "several", commands=[{"kind": "remove_source", "name": "files", "authority": PERSON},
                                              {"kind": "add_source", **edited, "tier": "best", "authority": PERSON}]) == "bad_command"
    assert reg.law.sources["files"].access == "/elsewhere"


def test_a_profile_hides_sources_moves_the_policy_and_folds_again(reg):
    live = {"conn_1": {}}
    before = reg.law.policy("agt_1", live=live, live_version=1)
    reg.run("set_profile", id="agt_1", profile={"sources": [], "tiers": ["attested"]}, authority=PERSON)
    narrow = reg.law.policy("agt_1", live=live, live_version=1)
    assert [each.name for each in before.sources] == ["files"] and narrow.sources == () and narrow.profile.record() == {"sources": [], "tiers": ["attested"]}
    assert code(reg.run, "set_profile", id="agt_1", profile={"tiers": ["gold"]}, authority=PERSON) == "bad_command"
    assert code(reg.run, "set_profile", id="agt_2", profile={}, authority=PERSON) == "unknown_agent"
    assert code(reg.run, "set_profile", id="agt_1", profile={}, authority={**PERSON, "by": "ann"}) == "role_too_low"
    again = Registry()
    for row in reg.rows:
        again.replay(row)
    assert again.profiles == reg.law.profiles
    reg.run("set_profile", id="agt_1", profile={}, authority=PERSON)
    assert reg.law.profile("agt_1") is None and reg.law.policy("agt_1", live=live, live_version=1).sources == before.sources


def test_a_waiver_is_of_one_lock_and_a_new_lock_waives_nothing(reg):
    lock = {"connectionId": "conn_1", "toolId": "demo.read@1", "digest": "a" * 64}
    assert code(reg.run, "waive_decision", **{**lock, "digest": "b" * 64}, waived=True, authority=PERSON) == "tool_lock_not_as_shown"
    assert code(reg.run, "waive_decision", **{**lock, "toolId": "other@1"}, waived=True, authority=PERSON) == "tool_lock_not_as_shown"
    assert code(reg.run, "waive_decision", **lock, waived="yes", authority=PERSON) == "bad_command"
    assert code(reg.run, "waive_decision", **lock, waived=True, authority={**PERSON, "by": "ann"}) == "role_too_low"
    reg.run("waive_decision", **lock, waived=True, authority=PERSON)
    assert reg.law.locks["conn_1", "demo.read@1"].waived
    again = Registry()
    for row in reg.rows:
        again.replay(row)
    assert again.locks == reg.law.locks
    reg.run("lock_tool", **lock, descriptor={"kind": "read"}, authority=PERSON)
    assert not reg.law.locks["conn_1", "demo.read@1"].waived


FILES = {"connectionId": "conn_1", "source": "added-files", "access": "/m", "toolId": "rulith.materials.read@1", "digest": "c" * 64, "descriptor": {"kind": "read"}, "authority": GATEWAY}


def test_added_files_are_seeded_once_whole_and_by_the_gateway_alone(reg):
    assert code(reg.run, "seed_files", **{**FILES, "authority": PERSON}) == "not_authorized"
    assert code(reg.run, "seed_files", **{**FILES, "source": "files"}) == "registry_name_taken"
    assert reg.law.files == {} and ("conn_1", FILES["toolId"]) not in reg.law.locks
    assert reg.run("seed_files", **FILES) == {"source": "added-files"}
    source = reg.law.sources["added-files"]
    assert (source.type, source.access, source.attests, source.connection_id) == ("file", "/m", (), "conn_1")
    assert reg.law.locks["conn_1", FILES["toolId"]].digest == "c" * 64
    row = reg.law.delivery("agt_1", "added-files")
    assert (row["localRead"], row["offMachine"], row["by"]) == (True, True, "gateway")
    reg.run("remove_source", name="added-files", authority=PERSON)
    assert code(reg.run, "seed_files", **FILES) == "bad_command" and "added-files" not in reg.law.sources
