"""Every refusal code has a test that provokes it and asserts it by name.

Reads the tests: a code counts where a text of a test module is that code. Codes of the contract that this authority has no
reason to send are reserved in protocol/codes.json, each with why; there are few, and none of
gates, leases, grants or certification.
"""

from __future__ import annotations

import ast
import json

from rulith.base.codes import CODES
from rulith.wire.contract import mcp_contract, worker_surface
from tests.conftest import ROOT

TABLE = json.loads((ROOT / "protocol" / "codes.json").read_text(encoding="utf-8"))
RESERVED_MAX = 15
NO_PROOF = ("test_every_code.py", "test_codes_on_the_wire.py")     # these name codes without provoking them
GUARDED = ("lease", "grant", "not_certified", "acceptance", "opening", "operation_running", "undelivered")


def asserted() -> set[str]:
    """Every text of a test module that is exactly one word: what a test compares with, or is run with."""
    found: set[str] = set()
    for path in (ROOT / "tests").rglob("test_*.py"):
        if path.name not in NO_PROOF:
            tree = ast.parse(path.read_text(encoding="utf-8"))
            found |= {each.value for each in ast.walk(tree) if isinstance(each, ast.Constant) and isinstance(each.value, str)}
    return found


def contract_codes() -> set[str]:
    hop = worker_surface()
    return {*mcp_contract().codes, *TABLE["own"], *hop["leaseCodes"], *hop["reportCodes"]}


def test_every_code_is_provoked_by_a_test_that_asserts_it():
    known = asserted()
    silent = sorted(code for code in {*CODES, *contract_codes()} - set(TABLE["reserved"]) if code not in known)
    assert not silent


def test_reserved_codes_are_few_have_their_reason_and_guard_nothing():
    reserved = TABLE["reserved"]
    assert len(reserved) <= RESERVED_MAX and set(reserved) <= contract_codes()
    assert all(len(why) > 20 for why in reserved.values())
    assert not [code for code in reserved if any(word in code for word in GUARDED)]


def test_no_reserved_code_and_none_of_another_service_is_ever_raised():
    assert not (set(TABLE["reserved"]) | set(TABLE["elsewhere"])) & set(CODES)
    assert not set(TABLE["elsewhere"]) & contract_codes()
