"""Refusal codes of the worker."""

_MANIFEST = "Correct that entry of the Tool Manifest and start the Worker again."
_LEFT = "The row stays with the gateway; nothing ran."

CODES: dict[str, tuple[str, str]] = {
    # The Tool Manifest and its descriptors
    "tool_manifest_unreadable": ("The Tool Manifest {file} cannot be used: {problem}.", "Correct the file and start the Worker again."),
    "tool_manifest_missing": ("RULITH_TOOLS_FILE names {file}, and there is no such file.",
                              "Correct the setting and start the Worker again; without it and without ./worker-tools.json, only built-in Tools run."),
    "tool_manifest_invalid": ("Tool Manifest, {where}: {problem}.", _MANIFEST),
    "tool_manifest_builtin": ("Tool Manifest, Tool {tool!r}: this id belongs to a built-in Tool.", "Give your Tool an id of its own."),
    "tool_manifest_repeats_id": ("The Tool list names {tool!r} twice.", "List each Tool once."),
    "tool_descriptor_invalid": ("Tool descriptor {where}: {problem}.", "Send the descriptor that the Tool Manifest yields."),
    "too_many_tools": ("The Tool list holds {count} Tools, over the limit of {limit}.", "Serve fewer Tools from one Worker."),
    # Starting a Worker
    "worker_setting_missing": ("{name} is not set.", "Set it to the value that the Connection was given, and start the Worker again."),
    "worker_setting_invalid": ("{name} is {value!r}, which is not {wanted}.", "Correct the setting and start the Worker again."),
    "worker_root_missing": ("The Worker root {root} is not a folder.", "Set RULITH_WORKER_ROOT to the folder that holds the adapters."),
    "vault_entry_invalid": ("{vault}, entry {source!r}: {problem}.", "Correct that entry of the vault file."),
    # Before a claim
    "row_malformed": ("The row does not have the contract's shape. {problem}", _LEFT),
    "row_retired_member": ("The row carries {field!r}, which is retired.", _LEFT),
    "row_shadow_member": ("The row carries {field!r}, a second name for a value that it already states.", _LEFT),
    "row_other_connection": ("The row was served for another Connection.", _LEFT),
    "tool_spec_malformed": ("The row's toolSpec does not have the contract's shape. {problem}", _LEFT),
    "tool_not_installed": ("Tool {tool!r} is not installed here.", "Add it to the Tool Manifest, or lock a Tool that this Worker serves."),
    "tool_pin_mismatch": ("Tool {tool!r} is not defined here as it was locked.", "Lock the definition that this Worker advertises now."),
    "source_free_has_source": ("Tool {tool!r} takes no Source, and the row names one.", "Apply the Action without a source argument."),
    "source_selection_required": ("Tool {tool!r} needs one Source, and the row does not name it consistently.", "Choose the Source in the Action's source argument."),
    "source_type_mismatch": ("Tool {tool!r} accepts Sources of type {accepts}, and {source!r} is {found}.", "Bind a Source of an accepted type to this Connection, or choose another Tool."),
    "source_free_refused": ("The {adapter} adapter needs a Source, and the row names none.", _LEFT),
    "argument_reserved": ("The parameter {name!r} may not be stated for the {adapter} adapter.", _LEFT),
    "argument_refused": ("The argument {name!r} {problem}.", "Apply the Action with the arguments that the Tool declares."),
    "adapter_refused": ("Tool {tool!r} cannot run: {problem}.", "Correct the Tool or the Source on the Worker's machine."),
    "already_run_here": ("This process has already claimed {invocation}.", "Its outcome is reported once; a person reconciles it if that report was lost."),
    "material_not_kept": ("The row selects the material {selector}, and no materials are kept here.", _LEFT),
    "claim_too_late": (
        "The lease passed before the answer to the claim came, so the call was not started.",
        "Nothing ran. Apply the Action again if it is still wanted.",
    ),
    "order_not_handled": ("No Tool here handles {kind} of {name!r}.", "Name it under `handles` of a Tool in the Tool Manifest, and lock that Tool."),
    "reviewer_absent": ("No reviewer is set up here.", "Set RULITH_REVIEWER_URL and RULITH_REVIEWER_MODEL, or leave reviews to another Worker."),
    "reviewed_already": ("This operation was reviewed under {norm} already.", "Its verdict stands until the gateway asks again."),
    "review_too_soon": ("The reviewer was asked less than {seconds} s ago.", "The row is offered again."),
    "work_not_built": ("Rows of {kind} work are not part of this release.", "The row stays with the gateway."),
    # Paths and Sources
    "path_refused": ("The path {path!r} of {where} is refused: {problem}.", "Name a file below the Source's folder with plain names and slashes."),
    "source_root_refused": ("The folder of Source {source!r} is refused: {problem}.", "Bind a folder that holds only what the Agent may see."),
    "source_unusable": ("Source {source!r} cannot be used: {problem}.", "Correct its entry in the Source vault of the Worker's machine, or its address in the Console."),
    # Drop boxes, both ends
    "dropbox_missing": ("The drop box {folder} is not there, or is no folder.", "Bring the stick or share back under that name, or name another folder."),
    "dropbox_folder_refused": ("The folder {folder} cannot be used as a drop box: {problem}.", "Empty it, or name another folder; nothing in it was believed."),
    "dropbox_file_unreadable": ("It is no drop-box file: {problem}.", "Copy it again; an older one is used meanwhile."),
    "dropbox_file_signature": ("Its signature is not made with this Connection's key.", "Copy it again, or set the Connection's current key on both sides."),
    "dropbox_file_passed_over": ("The file {name} in the drop box is passed over. {problem}", "Copy it again; the newest good one is used meanwhile."),
    "dropbox_file_old": ("The newest file in the drop box is number {sequence}, and number {seen} was here before.", "Bring the newer files; an old one changes nothing."),
    "dropbox_too_late": ("The call was to be started before {moment}, and here it is {now}.", "Nothing ran. Apply the Action again if it is still wanted, and look at the clocks if that moment has not come."),
    "dropbox_journal_held": ("The journal {folder} is in use by another Worker (pid {pid}).", "Stop that one; one Worker at a time serves a Connection."),
    "dropbox_journal_unreadable": ("The journal file {file} does not say what this Worker has run.", "Look at what was under way, then move the journal's folder away: the Worker starts as another instance."),
    "dropbox_journal_moved": (
        "The journal {folder} is a copy or was restored, so it cannot say what has run since. This Worker is another instance now.",
        "Isolate the Connection in the Console and settle what was under way; then this one takes the line.",
    ),
    "dropbox_key_missing": ("The gateway's secrets hold no key of Connection {connection}.", "Replace the Connection's key in the Console."),
    "dropbox_connection": ("{name} is no Connection that a drop box could serve. There is: {known}.", "Say --dropbox CONNECTION=DIR with one of them, or correct `dropboxes` in gateway/settings.json."),
    "driver_missing": ("The {database} driver {driver} is not in {folder}: {problem}.", "Put its wheels there: python3 -m pip download --only-binary=:all: --dest {folder} {driver}, and start the Worker again."),
    "driver_untrusted": ("{path} holds a driver and belongs to, or can be written by, somebody else.", "Make it yours alone: chmod go-w on the drivers folder and its wheels, owned by you or root."),
    # Running
    "workspace_refused": ("{problem}.", "Choose another path below the Source's folder."),
}
