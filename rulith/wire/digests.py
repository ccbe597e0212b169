"""Execution digests: what a grant and a receipt bind, byte for byte.

Every digest is over canonical JSON. `args`, `target` and `toolSpec` enter as the strings
that were served; they are never parsed and written again, so a changed blank changes the
digest.

Source  protocol/worker/vectors.json; algorithm `rulith-execution-canonical-json/1`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rulith.base.canonical import canonical_bytes, canonical_text, digest, sha256_hex

REQUEST_VERSION = "rulith-execution-request/2"
RESULT_VERSION = "rulith-execution-result/2"
EXECUTION_KEY_PREFIX = "rulith-execution/1:"

Fact = Mapping[str, object]
ArtifactRecord = Mapping[str, object]


def request_digest(
    *, board_id: str, invocation_id: str, action_id: str, tool_contract_id: str, source_record_id: str,
    args: str, target: str, tool_spec: str,
) -> str:
    """`sha256:` digest of one dispatched request. Source-free means an empty `source_record_id`."""
    return digest({
        "version": REQUEST_VERSION,
        "boardId": board_id,
        "invocationId": invocation_id,
        "actionId": action_id,
        "toolContractId": tool_contract_id,
        "sourceRecordId": source_record_id,
        "args": args,
        "target": target,
        "toolSpec": tool_spec,
    })


def request_digest_of_row(row: Mapping[str, str]) -> str:
    """The request digest of an action row as served."""
    return request_digest(
        board_id=row["boardId"], invocation_id=row["work"], action_id=row["tool"],
        tool_contract_id=row["toolContractId"], source_record_id=row["sourceRecordId"],
        args=row["args"], target=row["target"], tool_spec=row["toolSpec"],
    )


def result_digest(
    *, ok: bool, result: str | None = None, reason: str | None = None,
    facts: Sequence[Fact] = (), artifacts: Sequence[ArtifactRecord] = (),
) -> str:
    """`sha256:` digest of one receipt; `artifacts` are resolved records, not the wire's bare refs."""
    return digest({
        "version": RESULT_VERSION,
        "ok": ok,
        "result": result or "",
        "reason": reason or "",
        "facts": list(facts),
        "artifacts": list(artifacts),
    })


def tool_digest(definition: Mapping[str, object]) -> str:
    """The pin of a Tool: bare hex over the definition as its Manifest writes it, every member."""
    return sha256_hex(canonical_bytes(definition))


def adapter_digest(pin: str) -> str:
    return "sha256:" + pin


def tool_fingerprint(
    *, exec: str, kind: str, source_types: Sequence[str], params: Mapping[str, object],
    returns: Sequence[object], fence: Mapping[str, object] | None = None,
) -> str:
    """`sha256:` digest of what a Tool takes and gives, without how it does it."""
    contract: dict[str, object] = {
        "exec": exec, "kind": kind, "sourceTypes": list(source_types),
        "params": dict(params), "returns": list(returns),
    }
    if fence is not None:
        contract["fence"] = dict(fence)
    return digest(contract)


def execution_key(board_id: str, invocation_id: str) -> str:
    """A name for one execution that an outside system can use to recognise a repeat."""
    text = canonical_text([board_id, invocation_id])
    return EXECUTION_KEY_PREFIX + sha256_hex(text.encode("utf-8"))
