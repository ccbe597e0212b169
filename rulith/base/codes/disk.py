"""Refusal codes of the disk and the store: files, locks, secrets, profiles, the ledger."""

CODES: dict[str, tuple[str, str]] = {
    # files
    "file_unusable": ("{path} cannot be used: {problem}.", "Check that it exists, is a plain file, and that you may use it."),
    "file_too_large": ("{path} is over {limit} bytes.", "Use a smaller file; nothing of it was read into work."),
    "file_not_json": ("{path} is not JSON: {problem}.", "Repair or remove it; nothing was changed."),
    "disk_full": ("The disk holding {path} is full.", "Free some space and try again; what was there before is untouched."),
    "write_failed": ("{path} could not be written: {problem}.", "What was there before is untouched; check the folder's rights and the disk."),
    "home_unusable": ("The home {path} cannot be used: {problem}.", "Choose another with --home, or correct it."),
    # locks
    "lock_held": ("{path} is held by process {pid} ({purpose}).", "Wait until it ends, or end that process."),
    "lock_unreadable": (
        "{path} is a lock whose holder cannot be told: {problem}.",
        "Make sure that nothing uses its folder, then delete the file by hand.",
    ),
    "lock_elsewhere": (
        "{path} is held by process {pid} on the machine {host}.",
        "End it there; this machine cannot see whether it still runs.",
    ),
    # secrets
    "vault_readable": (
        "{path} can be read by others (mode {mode}).",
        "Treat its secrets as known to others: replace them, then chmod 600 the file.",
    ),
    "vault_foreign": ("{path} belongs to user {owner}, not to you.", "Use a file that you own."),
    "vault_linked": ("{path} is a link, or has other names ({links}).", "Put a plain file of its own there."),
    "vault_not_plain": ("{path} is not a plain file.", "Put a plain file there."),
    "vault_folder": ("The folder {path} lets others replace what is in it ({problem}).", "chmod go-w it, or use another folder."),
    "vault_unreadable": ("{path} does not hold named secrets: {problem}.", "Restore it, or remove it and enter the secrets again."),
    # profiles
    "profile_unknown": ("There is no profile named {name!r}; there are: {known}.", "Name one of these with --profile."),
    "profile_ambiguous": ("Several profiles exist: {known}.", "Choose one with --profile NAME."),
    "profile_none": ("This home has no profile yet.", "Run `rulith start` once; it makes the first one."),
    "profile_name": ("A profile cannot be named {name!r}: {problem}.", "Use letters, digits, blanks, dots and dashes, at most 64."),
    "profile_exists": ("A profile named {name!r} exists already.", "Choose another name."),
    "profiles_unreadable": ("{path} is not a list of profiles this release can read: {problem}.",
                            "Nothing was dropped or repaired; correct the file, or move it away."),
    "profile_gone": ("There is no profile with the id {id!r}.", "It may have been removed; look at the list again."),
    "profile_agent_taken": ("The profile {name!r} works for that Agent already.", "Use it, or remove it first; an Agent has one profile on a computer."),
    "defaults_unreadable": ("{path} is not the model settings that this release keeps for all Agents: {problem}.",
                            "Correct or remove it and set the default model again; nothing was changed."),
    "profile_path": ("{setting} of {name} is {path}: in the home, and outside this profile's own folder.",
                     "Correct it in {file}; the Worker and the Agent start once it is right."),
    "profile_document": ("This is no profile that can be taken in: {problem}.", "Use a file that a workbench of this release saved with *Save without secrets*."),
    # the ledger
    "store_scheme": ("--store takes sqlite:PATH, and this names {scheme}.", "Give the whole path of a file: `--store sqlite:/data/ledger.db`."),
    "store_unusable": ("{path} cannot be the ledger's file: {problem}.", "Name a file in a folder of your own that only you can write to."),
    "store_differs": (
        "The ledger of this home is {ledger}, and --store names {store}.",
        "To move it, end the gateway, move the file (with its -wal file, if there is one) there, and start with the same --store.",
    ),
    "store_foreign": (
        "The ledger {ledger} has rows, and the home {home} never had a ledger: it is another home's.",
        "Name that home with --home, or bring the ledger here with `rulith gateway backup FILE` there and `restore FILE` here.",
    ),
    "store_place_unreadable": ("{path} does not say where this home's ledger is.", "Correct it, or name the place with `rulith gateway --store sqlite:PATH`."),
    "ledger_in_use": ("The ledger {path} is open in process {pid}.", "Ask that process, or end it first; one process opens a ledger."),
    "ledger_unreadable": ("{path} is not a ledger this release can open: {problem}.", "Restore it from a backup."),
    "ledger_missing": (
        "The home {home} has been used ({found}), and its ledger {ledger} {state}; what was done already cannot be told.",
        "Restore it from a backup, or name where it was moved to with `rulith gateway --store sqlite:PATH`; "
        "to start anew, where a finished job would run again, move {home} away.",
    ),
    "ledger_newer": ("The ledger {path} has schema {found}, this release knows {known}.", "Run the newer release."),
    "ledger_damaged": (
        "The ledger {path} is damaged: {problem}; {whole}; {aside}.",
        "Restore a backup with `rulith gateway restore FILE`; nothing was changed in it, and no new ledger was begun.",
    ),
    "ledger_unfoldable": (
        "Row {seq} of chain {chain} of the ledger {path} gives another result with this release ({problem}).",
        "Run the release that wrote it, or restore a backup with `rulith gateway restore FILE`; nothing was changed.",
    ),
    "ledger_broken": ("The ledger {path} does not hold together: {problem}.", "Keep the file as it is and restore a backup; nothing was changed."),
    "store_full": ("{file} could not be written: the disk is full.", "Free some space; nothing of this was kept."),
    "store_io": ("{file} could not be written or read: {problem}.", "Check the disk; nothing of this was kept."),
    "store_busy": ("{file} is held by another program: {problem}.", "End what reads or copies it, then try again."),
    "store_corrupt": ("{file} is damaged: {problem}.", "Keep it as it is and restore a backup."),
    "store_closed": ("The ledger is closed.", "Open it again."),
    # processes
    "command_not_started": ("{program} could not be started: {problem}.", "Check that it exists and may be executed."),
    "python_unknown": ("This Python does not know where it is (sys.executable is empty), so nothing can be started with it.",
                       "Start rulith with Python's full path, for example /usr/bin/python3 rulith.pyz."),
    "role_not_started": ("The {role} could not be started: {problem}.", "Check that this program's file is still in its place."),
    "role_ended": ("The {role} ended with status {status}: {words}", "Its log says more."),
    "role_silent": ("The {role} did not say {type!r} within {seconds} s.", "Its log may say why; stop it and start it again."),
    "settings_unreadable": ("This role was started by a parent that sent no usable settings: {problem}.",
                            "Start it with `rulith start`, or without RULITH_LOCAL_EVENTS."),
    # the running file
    "archive_unreadable": ("The running file {path} cannot be copied: {problem}.", "Start it again from a place where it can be read."),
}
