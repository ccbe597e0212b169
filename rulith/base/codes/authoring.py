"""Refusal codes of Capabilities drafted from a document."""

_OTHER = "Choose a .txt or .md file of at most 256 KiB."

CODES: dict[str, tuple[str, str]] = {
    "document_name": ("{name!r} is no name of a .txt or .md file.", _OTHER),
    "document_too_large": ("{name} has {size} bytes, over the limit of {limit}.", "Draft from a part of it."),
    "document_empty": ("{name} holds no text.", _OTHER),
    "document_not_text": ("{name} is no plain UTF-8 text: {problem}.", "Save it as plain text in UTF-8, then choose it again."),
    "authoring_model": ("No draft can be made for {name}: {problem}.", "Configure a model for this Agent first."),
    "authoring_no_model": ("No model is configured.", "Configure one for the profile in the workbench, or set RULITH_MODEL_URL and RULITH_MODEL."),
    "authoring_no_draft": ("The model answered {count} times without a draft that could be read{said}.", "Use a model that can write longer JSON; small ones often cannot."),
    "authoring_reply_cut": ("The model's reply was {stop} and holds no whole draft.", "Raise the output tokens in the model settings, or draft from a part of the document."),
    "authoring_check_slow": ("Checking a draft took longer than {seconds} s and was given up.", "Draft again; rules that join everything with everything do not come to an end."),
    "authoring_busy": ("A draft is being written for {name}.", "Let it finish or stop it first."),
    "authoring_full": ("{limit} drafts are kept for this Agent.", "Remove one that is not needed any more."),
    "authoring_unknown": ("There is no draft {id} here.", "Open the list of drafts again."),
    "authoring_not_running": ("The draft {id} is not being written.", "Look at what it came to."),
    "authoring_request": ("The request is refused: {problem}.", "Send the members as documented."),
    "authoring_changed": ("{what} of the draft {id} is not as it was checked.", "Draft again from the document; nothing of this one is used."),
    "authoring_stale": ("The draft that you looked at is not the one that is kept now.", "Look at it again, then save."),
    "authoring_not_ready": ("The draft cannot be saved: {problem}.", "Draft again; answer its questions if it has any."),
}
