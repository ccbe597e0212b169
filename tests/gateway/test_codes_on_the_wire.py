"""Every refusal the authority can send is in the one code table: the Board's enumeration, or our own with its meaning.

Reads the sources, so that a code added tomorrow is missed today.
"""

from __future__ import annotations

import ast
import json
from pathlib import Path

from rulith.base.codes import CODES
from rulith.wire.contract import load_bundle, mcp_contract, wire_code, worker_surface

ROOT = Path(__file__).parents[2] / "rulith"
TABLE = json.loads((ROOT.parent / "protocol" / "codes.json").read_text(encoding="utf-8"))
# Raised where no peer hears them: while the process starts, or on the Worker's and the client's side of a shared module.
NEVER_SENT = {"contract_missing", "contract_damaged", "settings_malformed", "ledger_missing", "lease_malformed", "stream_event_too_large",
              "draft_case_unusable", "draft_paths_differ", "draft_receipt_altered", "log_form", "ledger_unfoldable", "gateway_running", "ledger_in_use", "file_unusable", "file_unreadable", "backup_unusable",
              # of a draft from a document, which the workbench and the command make
              "document_empty", "document_name", "document_not_text", "document_too_large",
              "tool_manifest_builtin", "tool_manifest_invalid", "tool_manifest_unreadable", "store_foreign", "path_refused",
              "ledger_damaged", "ledger_newer",
              # told in the gateway's own log: a folder has no peer that would hear an answer
              "dropbox_connection", "dropbox_file_signature", "dropbox_file_unreadable", "dropbox_key_missing"}


def sources() -> list[Path]:
    """The law, the engine, the gateway (its face for third-party hosts aside), what of wire/ and base/ the gateway imports, and the checks of copies."""
    own = [*ROOT.glob("board/*.py"), *ROOT.glob("rules/*.py"),
           *(path for path in ROOT.glob("gateway/*.py") if not path.name.startswith("board_"))]
    shared = set()
    for path in own:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith(("rulith.wire.", "rulith.base.", "rulith.store.checks")):
                shared.add(ROOT.parent / (node.module.replace(".", "/") + ".py"))
    return sorted([*own, *(path for path in shared if path.exists() and path.name != "worker_hop.py")])


def sent() -> dict[str, str]:
    """Code -> a file that raises or writes it."""
    found: dict[str, str] = {}
    for path in sources():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Refused" and node.args:
                code = node.args[0]
                for each in (code.body, code.orelse) if isinstance(code, ast.IfExp) else (code,):
                    if isinstance(each, ast.Attribute) and each.attr == "code":
                        continue                # of a refusal that was raised somewhere else
                    assert isinstance(each, ast.Constant), f"{path.name}:{node.lineno}: a code that no reader can see"
                    found.setdefault(each.value, path.name)
            if isinstance(node, ast.Dict):
                for key, value in zip(node.keys, node.values):
                    if isinstance(key, ast.Constant) and key.value == "errorCode" and isinstance(value, ast.Constant):
                        found.setdefault(value.value, path.name)
    return found


def test_every_code_that_can_be_sent_is_in_the_table():
    table, hop = mcp_contract(), worker_surface()
    known = {*table.codes, *table.labels, *table.http, *TABLE["own"], *hop["leaseCodes"], *hop["reportCodes"], *NEVER_SENT}
    assert {code: place for code, place in sent().items() if code not in known} == {}


def test_no_code_of_ours_is_listed_twice_or_for_nothing():
    table, own = mcp_contract(), TABLE["own"]
    assert not set(own) & {*table.codes, *table.labels}
    assert set(own) - set(sent()) == set()
    assert all(meaning.strip() and len(meaning) < 160 for meaning in own.values())


def test_what_a_label_maps_to_is_in_the_enumeration():
    table = mcp_contract()
    assert set(table.labels.values()) <= table.codes
    for code in sent():
        assert wire_code(code) == code or wire_code(code) in table.codes


def test_every_code_of_ours_has_words():
    assert {code for code in TABLE["own"] if code not in CODES} == set()


def test_the_bundle_carries_this_table():
    assert load_bundle("mcp-contract.json").json("protocol/codes.json") == TABLE
