"""Refusal codes of the workbench's profiles: what they are attached to, what may start, what was shown."""

CODES: dict[str, tuple[str, str]] = {
    "profile_mode": ("A profile cannot be made as {mode!r}.", "Send local_agent or existing_client."),
    "profile_moved": ("{name} was changed since this page read it.", "Look at what it is now, then decide again; nothing was changed."),
    "profile_folder": ("The folder of {name}, {path}, {problem}.",
                       "Put it back (a disk that is not mounted, a folder that was moved), or remove the profile from the page; nothing was changed."),
    "default_moved": ("The default model was changed since this page read it.", "Look at what it is now, then decide again; nothing was changed."),
    "profile_unattached": ("{name} is not attached to an Agent of the gateway.", "Attach it on the page of Agents first."),
    "profile_orphaned": ("The {role} of {name} that an earlier workbench started still runs, as process {pid}.",
                         "Wait: it may be finishing a Tool. It starts anew once that process is gone; `rulith stop` ends it."),
    "profile_busy": ("{name} is at work.", "Stop it first, then try again; nothing was changed."),
    "profile_whole": ("Remove the profile by its name: {given!r} is not {name!r}.", "Send the name as it stands; nothing was changed."),
    "agent_elsewhere": ("{name} is a program elsewhere; this computer only runs its Worker.", "Give it its task there."),
    "credential_elsewhere": ("This {what} belongs to {found}, and {name} works for {wanted}.", "Use one of that Agent, or make another profile; nothing was changed."),
    "credential_kind": ("What was given as the {what} is none.", "A token begins with rlt_agt_, a Connection key with rlt_key_; nothing was changed."),
    "model_external": ("{name} is a program elsewhere that brings its own model.", "Choose an Agent whose model is set on this page."),
    "model_source": ("A model's source cannot be {source!r}.", "Send default or custom."),
}
