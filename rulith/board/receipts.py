"""Terminal Receipts: what the Board states of a Case that has just closed.

The law's part only. The closing row carries the digest of it (`proofs`), so that a replay of
the ledger proves it again. Who checks a receipt without a ledger shares no code with this.

Refuses to know: signatures, rows, grants; the gateway adds them.
Source  format `rulith-terminal-receipt/1`.
"""

from __future__ import annotations

from rulith.base.canonical import digest
from rulith.base.errors import Refused
from rulith.board.state import CLOSED, BoardState, Case
from rulith.board.views import case_about

CLOSING = ("leaves", "conclusions", "facts", "rules", "world")     # members of a receipt that the closing row vouches for


def closing_digest(case: Case) -> str:
    """What the closing row says of the proofs, as its receipt will carry them."""
    return digest({name: case.closing[name] for name in CLOSING})


def receipt_facts(state: BoardState, case: Case) -> dict:
    """{case, release, leaves, conclusions, facts, rules, world, releases?, constitution?, closure} of a Case that has just closed.

    Raises Refused not_found of any other.
    """
    if case.status != CLOSED or case.closing is None:
        raise Refused("not_found", what="closed Case", name=case.case_id)
    about = case_about(case)
    about.pop("holds")
    about.pop("release")
    if case.is_exploration:
        about["exploratory"] = True
    else:
        about.update(contract=case.contract, keyDigest=case.key_digest)
    own = [each for each in case.closing["releases"] if case.release is not None and each["digest"] == case.release["digest"]]
    others = [each for each in case.closing["releases"] if each not in own]
    found = {"case": about, "release": own[0] if own else None, **{name: case.closing[name] for name in CLOSING}, "closure": state.program.closure_digest()}
    if others:
        found["releases"] = others
    if state.constitution is not None:
        found["constitution"] = {"version": state.constitution.version, "digest": state.constitution.digest, "document": state.constitution.document}
    return {**found, "truncated": True} if case.closing["truncated"] else found
