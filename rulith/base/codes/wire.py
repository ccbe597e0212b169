"""Refusal codes of the protocol cores."""

CODES: dict[str, tuple[str, str]] = {
    "bad_json": ("{where} is not one well-formed JSON value: {problem}.", "Send strict JSON in UTF-8, each key once."),
    "not_json_rpc": ("The message is not JSON-RPC 2.0: {problem}.", "Send one request, notification or response object."),
    "stream_event_too_large": (
        "One event of the stream passed {limit} bytes without an end.",
        "Close the stream; the sender does not follow the contract.",
    ),
    "contract_missing": (
        "This build of rulith lacks its contract bundle {file}.",
        "Build it again with build_pyz.py; no default list of tools exists.",
    ),
    "contract_damaged": (
        "The contract bundle {file} does not hold what it says: {problem}.",
        "Build it again with build_pyz.py from a clean checkout.",
    ),
    # the signed grant
    "grant_unreadable": ("The execution grant cannot be read: {problem}.", "Leave the row; the gateway offers it again."),
    "grant_signature": (
        "The execution grant was not signed with this Connection's key.",
        "Leave the row; check that the Worker and the gateway hold the same Connection key.",
    ),
    "grant_not_ours": (
        "The execution grant names another {field} than this Worker knows by itself.",
        "Leave the row unclaimed; nothing was run.",
    ),
    # the lease
    "lease_malformed": ("The lease in the answer is unusable: {problem}.", "Hold nothing, wait, and poll afresh."),
    "fence_generation_stale": (
        "Generation {generation} is stale; the fence stands at {current}.",
        "Read the current fence and move it forward.",
    ),
    # the Worker's upload rule
    "source_off_machine_denied": (
        "The owner of Source {source!r} lets nothing of it leave this machine.",
        "Ask for less than the inline budget, or have the owner grant the upload.",
    ),
    "source_permission_required": (
        "No permission to send bytes of Source {source!r} off this machine was stated.",
        "Ask for less than the inline budget, or have the owner grant the upload.",
    ),
    "upload_refused": ("The gateway refuses the upload: {reason}.", "Ask for less than the inline budget."),
}
