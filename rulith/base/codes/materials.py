"""Refusal codes of materials: the store on this machine, artifacts, and how their bytes are delivered."""

_AGAIN = "Add the file again under another name."
_STORE = "Nothing in it was touched; look at it by hand before it is used again."
_DAMAGED = "The stored copy is damaged; add the file again."

CODES: dict[str, tuple[str, str]] = {
    # the store
    "materials_store_absent": ("There is no store of materials at {path}.", "Add a file in the workbench; that makes it."),
    "materials_store_unreadable": ("The store of materials at {path} cannot be read: {problem}.", _STORE),
    "materials_store_migration_required": ("The store of materials at {path} is of the version {version!r}.", "Use the release that made it, or move it away."),
    "materials_store_profile_mismatch": ("The store of materials at {path} belongs to another profile.", _STORE),
    "materials_store_owner_mismatch": ("The store of materials at {path} belongs to another gateway or Connection.", _STORE),
    "materials_store_agent_mismatch": ("The store of materials at {path} belongs to another Agent.", _STORE),
    "materials_store_reparse": ("{path} of the store of materials is a link or no plain folder.", _STORE),
    "materials_store_full": ("The store of materials holds {limit} objects.", "Move old ones away by hand; rulith deletes none."),
    "materials_owner_unidentified": ("This profile has no Agent and Connection yet, so nothing can be kept for it.", "Link it with a gateway first."),
    # adding
    "material_name_invalid": ("A file cannot be named {name!r}: {problem}.", _AGAIN),
    "material_name_path": ("The name {name!r} holds a slash, a backslash or a drive.", "Give the file's name alone."),
    "material_name_control": ("The name {name!r} holds a control character.", _AGAIN),
    "material_name_traversal": ("The name {name!r} climbs out of its folder.", "Give the file's name alone."),
    "material_name_reserved": ("The name {name!r} means a device on some systems.", _AGAIN),
    "material_media_type_invalid": ("{mediaType!r} is no media type.", "Give one such as text/plain or application/pdf."),
    "material_bytes_invalid": ("The bytes of the file are not base64.", "Send them as standard base64 with padding."),
    "material_bytes_not_canonical": ("The bytes of the file are base64 in another than the usual writing.", "Send them as standard base64 with padding and no line breaks."),
    "material_empty": ("The file {name!r} is empty.", "Add a file that holds something."),
    "material_too_large": ("The file {name!r} has {size} bytes, over the limit of {limit}.", "Add a smaller file, or a part of it."),
    "artifact_too_large": ("The result has {size} bytes, over the limit of {limit}.", "Have the Tool return less."),
    "material_destination_changed": ("The model of this profile is another now ({now!r}) than the one this file was to be for.", "Look at the model's settings, then add the file again."),
    # submitting
    "attachments_invalid": ("The attachments are not a list of the ids of added files.", "Send the ids that adding the files answered with."),
    "attachments_too_many": ("{count} files are attached, over the limit of {limit}.", "Send them with several messages."),
    "attachments_repeated": ("The file {id} is attached twice.", "Attach each file once."),
    "material_id_invalid": ("{id!r} is no id of a file.", "Use an id that adding a file answered with."),
    "material_submission_invalid": ("The submission is refused: {problem}.", "Send requestId, sessionKey and attachments as documented."),
    "material_submission_mismatch": ("Request {requestId} was used for other files or another conversation.", "Use a fresh request id."),
    "material_submission_busy": ("Another submission of this profile has been under way for {seconds} s.", "Try again; if nothing runs, remove the lock folder {path} by hand."),
    # reading
    "material_not_found": ("There is no submitted file {id} here.", "Use an id that a person attached to a message."),
    "material_bytes_unavailable": ("The bytes of {id} cannot be read: {problem}.", _DAMAGED),
    "material_chunk_corrupt": ("Piece {index} of {id} is not as it was stored.", _DAMAGED),
    "material_digest_mismatch": ("{id} is not the object that was registered.", "Read the material anew; its reference speaks of other bytes."),
    "material_disclosure_refused": ("{id} was added for the model at {recorded!r}, and this one is at {destination!r}.", "Add the file again while this model is set up."),
    "material_local_only": ("{id} may be read on this machine only.", "Use a model that runs on this machine, or have an owner allow delivery off it in the Console."),
    "material_permission_withdrawn": ("The content of the Source {source!r} may no longer be delivered this way.", "An owner allows it in the Console under Sources."),
    # windows
    "material_offset_split_code_point": ("The offset {offset} lies inside a character.", "Go on at the nextOffset of the window before."),
    "material_window_empty": ("No whole character fits into {size} bytes at offset {offset}.", "Ask for more bytes."),
    "material_encoding_unverifiable": ("The bytes at offset {offset} are not the UTF-8 text that they were registered as.", "Read the material anew."),
    "material_integrity_failed": ("The bytes that came for {ref} are not those that were registered.", "Read once more; if it stays so, the Worker's copy is damaged."),
    # artifacts and deliveries
    "artifact_offset": ("The offset {offset} lies beyond the {total} bytes of {ref}.", "Read from an offset below its end."),
    "artifact_budget": ("{wanted} bytes are asked for, over the budget of {limit}.", "Ask for fewer, and go on at nextOffset."),
    "artifact_digest_mismatch": ("The object {custody} was registered with other bytes before.", "Register each object once, as it is stored."),
    "artifact_registration_invalid": ("The object cannot be registered: {problem}.", "Register it as it is stored: 64 KiB chunks, each with its digest."),
    "source_material_absent": ("Nobody has said yet whether content of the Source {source!r} may be read by this Agent.", "An owner allows it in the Console under Sources."),
    "source_material_denied": ("Content of the Source {source!r} may not be read by this Agent this way.", "An owner allows it in the Console under Sources."),
    "material_custodian_offline": ("The Worker that keeps {ref} did not deliver it within {seconds} s.", "Start that Worker, then read again."),
    "material_unavailable": ("The Worker that keeps {ref} cannot deliver it: {reason}.", "Apply the Action again where the file is still there."),
    "material_delivery_unavailable": ("The custodian of this content could not be reached: {problem}.", "Make sure that `rulith start` and the Worker run, then read again."),
    "material_delivery_refused": ("The custodian of this content refused: {problem}.", "Read what it says; nothing was shown."),
    "material_identity_unconfirmed": ("Whose materials these are is not settled on this machine.", "Start the Worker of this profile and read again."),
    "material_destination_unstated": ("The request does not say where the model is.", "State modelDestination."),
    "material_destination_mismatch": ("The model is at {destination!r}, and this profile's is at {known!r}.", "Read with the model that this profile is set up for."),
    "local_ticket_missing": ("The request carries no ticket.", "Take the ticket of the ReadArtifact answer."),
    "local_ticket_invalid": ("The ticket was used, is too old, or was never given.", "Call ReadArtifact again for a fresh one."),
    "local_claim_malformed": ("What the gateway answered to the ticket cannot be used: {problem}.", "Read again; if it stays so, compare the releases of both."),
    "local_claim_disclosure_unstated": ("The gateway did not say whether content may reach a remote model.", "Read with a model on this machine, or compare the releases of both."),
    "local_delivery_malformed": ("The local delivery of this answer cannot be used: {problem}.", "Read again; nothing was shown."),
    "local_delivery_protocol_unknown": ("The gateway offers the local delivery {protocol!r}, which this release does not speak.", "Use a release that does."),
    "delivery_malformed": ("The delivery is refused: {problem}.", "Deliver exactly the chunks that were asked for."),
    "delivery_unknown": ("No read waits for the delivery {request}.", "Nothing was taken; poll again."),
}
