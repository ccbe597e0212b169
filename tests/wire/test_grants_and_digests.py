"""Execution identity. Duty: protocol/worker/vectors.json, every row of it."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rulith.base.errors import Refused
from rulith.wire import digests
from rulith.wire.contract import WORKER_BUNDLE, load_bundle, validate, worker_surface
from rulith.wire.grant import Grant, expected_grant, read_grant, sign_grant, verify_grant

VECTORS = json.loads(load_bundle(WORKER_BUNDLE).files["protocol/worker/vectors.json"])
KEY = VECTORS["grants"][0]["key"]
TOKEN = VECTORS["grants"][0]["token"]
GRANT = Grant(**VECTORS["grants"][0]["payload"])


@pytest.mark.parametrize("row", VECTORS["requests"], ids=lambda row: row["name"])
def test_request_digests_are_the_contract_s(row):
    assert digests.request_digest(
        board_id=row["boardId"], invocation_id=row["invocationId"], action_id=row["actionId"],
        tool_contract_id=row["toolContractId"], source_record_id=row["sourceRecordId"],
        args=row["args"], target=row["target"], tool_spec=row["toolSpec"],
    ) == row["digest"]


def test_a_changed_blank_in_the_arguments_changes_the_digest():
    row = VECTORS["requests"][2]
    served = {"boardId": row["boardId"], "work": row["invocationId"], "tool": row["actionId"],
              "toolContractId": row["toolContractId"], "sourceRecordId": row["sourceRecordId"],
              "args": row["args"], "target": row["target"], "toolSpec": row["toolSpec"]}
    assert digests.request_digest_of_row(served) == row["digest"]
    assert digests.request_digest_of_row(served | {"args": row["args"].strip()}) != row["digest"]


@pytest.mark.parametrize("row", VECTORS["results"], ids=range(len(VECTORS["results"])))
def test_result_digests_are_the_contract_s(row):
    assert digests.result_digest(
        ok=row["ok"], result=row.get("result"), reason=row.get("reason"), facts=row.get("facts", ()),
        artifacts=row.get("artifacts", ()),
    ) == row["digest"]


@pytest.mark.parametrize("row", VECTORS["toolDigests"], ids=lambda row: row["definition"]["entry"])
def test_tool_pins_are_the_contract_s(row):
    assert digests.tool_digest(row["definition"]) == row["digest"]
    assert digests.adapter_digest(row["digest"]) == "sha256:" + row["digest"]


def test_fingerprints_and_execution_keys_are_the_contract_s():
    for row in VECTORS["fingerprints"]:
        assert digests.tool_fingerprint(
            exec=row["exec"], kind=row["kind"], source_types=row["sourceTypes"], params=row["params"], returns=row["returns"]
        ) == row["digest"]
        assert digests.tool_fingerprint(
            exec=row["exec"], kind=row["kind"], source_types=row["sourceTypes"], params=row["params"],
            returns=row["returns"], fence={"method": "PUT"},
        ) != row["digest"]
    for row in VECTORS["executionKeys"]:
        assert digests.execution_key(row["boardId"], row["invocationId"]) == row["key"]


@pytest.mark.parametrize("row", VECTORS["grants"], ids=["note", "order"])
def test_grants_are_signed_as_the_contract_s(row):
    grant = Grant(**row["payload"])
    token = sign_grant(grant, row["key"])
    assert token == row["token"] if "token" in row else token.endswith("." + row["signature"])
    assert read_grant(token, row["key"]) == grant
    assert verify_grant(token, key=row["key"], expect=grant) == grant
    validate("grantPayload", grant.payload())
    assert list(grant.payload()) == worker_surface()["grantMembers"]


def signed(payload: object, key: str = KEY) -> str:
    """A token over any payload, with a good signature."""
    part = base64.urlsafe_b64encode(json.dumps(payload).encode()).rstrip(b"=").decode()
    mac = hmac.new(key.encode(), part.encode(), hashlib.sha256).digest()
    return part + "." + base64.urlsafe_b64encode(mac).rstrip(b"=").decode()


def test_key_order_of_the_signer_does_not_matter():
    assert read_grant(signed(dict(reversed(GRANT.payload().items()))), KEY) == GRANT


P, S = TOKEN.split(".")
UNREADABLE = {
    "one part": P,
    "three parts": TOKEN + "." + S,
    "empty payload": "." + S,
    "empty signature": P + ".",
    "padding": TOKEN + "=",
    "not base64url": P + "." + S[:-1] + "+",
    "spare bits set": P + "." + S[:-1] + chr(ord(S[-1]) + 1),
    "impossible length": P + "." + S + "AA",
    "not ASCII": TOKEN + "é",
    "too long": "A" * 9_000 + "." + S,
    "nothing": "",
    "payload is a list": signed([]),
    "version 1": signed(GRANT.payload() | {"version": 1}),
    "version true": signed(GRANT.payload() | {"version": True}),
    "version 2 as text": signed(GRANT.payload() | {"version": "2"}),
    "extra member": signed(GRANT.payload() | {"caseId": "case_1"}),
    "missing member": signed({k: v for k, v in GRANT.payload().items() if k != "boardId"}),
    "generation as text": signed(GRANT.payload() | {"workerGeneration": "7"}),
    "generation true": signed(GRANT.payload() | {"workerGeneration": True}),
    "generation 0": signed(GRANT.payload() | {"workerGeneration": 0}),
    "generation 7.0": signed(GRANT.payload() | {"workerGeneration": 7.0}),
    "empty board": signed(GRANT.payload() | {"boardId": ""}),
    "bare digest": signed(GRANT.payload() | {"adapterDigest": "b" * 64}),
    "version 3 without what it adds": signed(GRANT.payload() | {"version": 3}),
    "version 4 with what 3 adds": signed(GRANT.payload() | {"version": 4, "materialBindingDigest": "sha256:" + "a" * 64}),
    "version 2 with what 3 adds": signed(GRANT.payload() | {"materialBindingDigest": "sha256:" + "a" * 64}),
    "version 5": signed(GRANT.payload() | {"version": 5}),
    "version as a list": signed(GRANT.payload() | {"version": [2]}),
    "an empty binding": signed(GRANT.payload() | {"version": 3, "materialBindingDigest": ""}),
    "upper-case digest": signed(GRANT.payload() | {"requestDigest": "sha256:" + "A" * 64}),
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_a_grant_of_another_form_is_unreadable(name):
    with pytest.raises(Refused) as refused:
        read_grant(UNREADABLE[name], KEY)
    assert refused.value.code in ("grant_unreadable", "grant_signature")
    if name not in ("three parts", "spare bits set"):
        assert refused.value.code == "grant_unreadable" or name == "padding"


@pytest.mark.parametrize("version", (3, 4))
def test_a_later_version_adds_exactly_what_it_binds(version):
    name = worker_surface()["grantExtras"][str(version)]
    grant = replace(GRANT, **{name: "sha256:" + "d" * 64})
    assert grant.version == version and list(grant.payload()) == [*worker_surface()["grantMembers"], name]
    validate("grantPayload", grant.payload())
    token = sign_grant(grant, KEY)
    assert verify_grant(token, key=KEY, expect=grant) == grant
    for expect in (GRANT, replace(GRANT, **{name: "sha256:" + "e" * 64})):
        with pytest.raises(Refused) as refused:
            verify_grant(token, key=KEY, expect=expect)
        assert refused.value.code == "grant_not_ours"


@given(st.integers(0, len(TOKEN) - 1), st.sampled_from("ABCxyz019-_"))
def test_a_changed_letter_never_verifies(place, letter):
    changed = TOKEN[:place] + letter + TOKEN[place + 1:]
    if changed != TOKEN:
        with pytest.raises(Refused):
            read_grant(changed, KEY)


def test_another_key_does_not_verify_and_no_secret_is_named():
    with pytest.raises(Refused) as refused:
        read_grant(TOKEN, KEY + "x")
    assert refused.value.code == "grant_signature" and KEY not in refused.value.teaching


@pytest.mark.parametrize("field", [name for name in GRANT.payload() if name != "version"])
def test_a_grant_for_another_execution_is_not_ours(field):
    other = 8 if field == "workerGeneration" else "sha256:" + "0" * 64 if field.endswith("Digest") else "another_thing"
    with pytest.raises(Refused) as refused:
        verify_grant(TOKEN, key=KEY, expect=replace(GRANT, **{field: other}))
    assert refused.value.code == "grant_not_ours" and refused.value.facts == {"field": field}


def test_expectations_come_from_the_row_and_from_the_process():
    row = {"boardId": "board-action-row", "work": "inv_read_note", "tool": "read_note",
           "toolContractId": "rulith.workspace.read_text@1", "sourceRecordId": "docs-a", "toolDigest": "b" * 64}
    assert expected_grant(
        row, connection_id="connection-action-row", worker_id="wkr_action_row_fixture", worker_generation=7,
        request_digest=VECTORS["requests"][2]["digest"],
    ) == GRANT
