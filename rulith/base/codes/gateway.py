"""Refusal codes of the gateway."""

CODES: dict[str, tuple[str, str]] = {
    # the store
    "store_unavailable": (
        "The ledger does not take commits at the moment ({cause}); nothing was changed.",
        "Free space or repair the disk under the home, then try again; a write is accepted once a probe commit works.",
    ),
    # a Case as it stood
    "unknown_moment": ("Row {seq} of the ledger did not move Case {case}.", "Take a row that the Case's own list of moments names."),
    "moment_too_far": ("That moment is row {rows} of this Agent's ledger; at most {most} rows are folded again for a look back.",
                       "Read the Case's Terminal Receipt, or the ledger in the Console; both tell of every moment."),
    # access for programs elsewhere
    "access_unknown": ("Nobody asks for access under this code, or it was answered or is too old.", "Have the program ask again, and answer within ten minutes."),
    "device_unknown": ("No computer is signed in at this gateway with this token.", "Sign in again from its workbench."),
    "device_revoked": ("{name} was signed out at {at} by {by}.", "Sign in again from its workbench; an owner lets it in."),
    "device_expired": ("{name} was not seen for long, and its sign-in ran out at {at}.", "Sign in again from its workbench; an owner lets it in."),
    "agent_out_of_scope": ("There is no Agent {agent} that this computer may be paired with.", "Refresh the list of Agents and choose one of it."),
    "pairing_conflict": ("What this pairing gave for {agent} was replaced or ended since.", "Attach it again: that is a new pairing, with a new key."),
    "runtime_credential_exists": ("{agent} has a token that something may work with.", "Say that it may be replaced; whatever works as this Agent now is let go."),
    "credential_unknown": ("This token or key opens nothing here.", "Copy it whole; where it was replaced since, use the new one."),
    # the front
    "host_foreign": (
        "The request names the host {host!r}, which is not this gateway on loopback.",
        "Use the address it printed; behind a proxy, list the name under `hosts` in gateway/settings.json.",
    ),
    "too_many_requests": ("This caller asks too often.", "Wait {seconds} s, then go on at a slower pace; nothing was done."),
    "metrics_token_required": ("Metrics are read with a token of their own.", "Send the token in gateway/metrics-token of the home as a bearer token."),
    "tls_pair_needed": ("{given} was given without {lacking}.", "Give --tls-cert and --tls-key together, or neither."),
    # the person
    "passphrase_too_short": (
        "An approval passphrase has {least} to {most} characters.",
        "Choose a longer one; several words are easier to keep than symbols.",
    ),
    "passphrase_already_set": (
        "This gateway already has an approval passphrase.",
        "Sign in with it; the setup code works once, before the first one is chosen.",
    ),
    "passphrase_not_set": (
        "No approval passphrase has been chosen on this gateway yet.",
        "Open the Console and choose one with the setup code that the terminal or the start page shows.",
    ),
    "setup_code_wrong": (
        "That is not the setup code of this run.",
        "Read it again from the terminal of `rulith gateway` or the page that `rulith start` opened; a restart makes a new one.",
    ),
    "passphrase_wrong": ("This is not the passphrase of that person.", "Try again; each wrong try makes the next one wait longer."),
    "sign_in_name_needed": ("Several people sign in here, so a passphrase alone names nobody.", "Give the name with it."),
    "sign_in_paused": ("Too many wrong tries.", "Wait {seconds} s and try again."),
    "sign_in_required": (
        "This needs the person's sign-in, at most {minutes} minutes old, made in the Console.",
        "Sign in to the Console with the approval passphrase; no token of an Agent, a Worker or this device counts.",
    ),
    # what a person sets up
    "capability_not_as_shown": ("The Capability file is not the one whose differences were shown.", "Check it again and read what it changes; nothing was installed."),
    "release_moved": (
        "{capability} is at version {version} now, which is not what this file was compared with.",
        "Check it again and read what it changes; nothing was installed.",
    ),
    "release_installed_already": ("{capability} {version} is installed as it is in this file.", "There is nothing to do."),
    "release_version_taken": (
        "{capability} {version} is installed, and this file has other contents under the same version.",
        "Raise `version` in the file: a version names one Release for ever. Nothing was installed.",
    ),
    "capability_not_installed": ("No Capability {capability} is installed here; there is: {known}.", "Install it with `rulith capability install FILE`."),
    "source_name": ("A Source cannot be named {source!r}.", "Use letters, digits, dots, dashes and underscores, at most 64, the first one a letter or digit."),
    "source_tier": ("{tier!r} is no tier.", "Use one of {known}."),
    "source_access": ("The address of Source {source!r} is refused: {problem}.", "Give the whole path of a folder, an http or https address, sqlite:/PATH, postgresql://user@host/database, or the word vault; credentials belong in the Worker's vault."),
    "source_folder_missing": ("The folder {path} of Source {source!r} does not exist on this machine.", "Make it, or correct the path; nothing was bound."),
    "attests_unknown": (
        "A {type} Source such as {source!r} cannot attest {predicate}: no installed Action returns it from a Source of that type.",
        "Install the Capability first, or choose among: {known}.",
    ),
    "source_not_as_shown": ("The Source {source!r} is not as it was shown.", "Reload the page, read it again, then change it."),
    "source_in_use": ("The call {label} is {state} against the Source {source!r}.", "Let it end, or have it settled, then change the Source."),
    "tool_not_advertised": ("No Worker on this line offers the Tool {tool!r} now.", "Start the Worker whose Tool Manifest defines it, then lock it."),
    "tool_not_as_shown": ("The Worker offers another definition of {tool} now than the one that was shown.", "Reload the page, read the definition again, then lock it."),
    "tool_lock_not_as_shown": ("The lock of {tool} is not the one that was shown.", "Reload the page and look again; nothing was changed."),
    "name_unusable": ("This name of the {what} cannot be used.", "Use 1 to {limit} letters, digits and punctuation marks that show, without < > = + and other symbols, and no blank at either end."),
    # decisions and reconciliation
    "unknown_decision": ("There is no decision {decision}.", "Reload the Console and choose one of the list."),
    "decision_digest_mismatch": (
        "The values shown for decision {decision} are not the ones it is bound to.",
        "Reload the Console, read the values again, and decide on what it shows then.",
    ),
    "call_digest_mismatch": ("The call {label} is not the one that was shown.", "Reload the page, read what was sent, and say then what became of it."),
    "reason_required": ("This act is recorded with its reason, which the Agent may read, and none was given.", "Say in a sentence why."),
    "not_needs_person": (
        "Operation {ordinal} of this Agent is {state}, not waiting to be reconciled.",
        "Reload the Console; only an operation marked needs_person is settled by a person.",
    ),
    "not_withdrawable": (
        "Operation {ordinal} of this Agent is {state}, and only a call that no Worker has taken is withdrawn.",
        "Reload the page and look again: a decision is rejected, a claimed call ends by itself or is settled by a person.",
    ),
    "worker_not_isolated": (
        "The lease of Connection {connection} is still live, so its Worker may still be running a claimed call.",
        "Stop that Worker, or wait {seconds} s until its lease has lapsed, then isolate it.",
    ),
    "profile_not_as_shown": ("The Profile of this Agent is not the one that you were shown.", "Reload the page, look at it again, and change what you then see."),
    # the surface
    "operation_running": (
        "An earlier operation of this Agent ({label}) is {state}.",
        "Wait for its outcome and read it with QueryBoard; what waits for a person is settled in the Console. Do not send the call again meanwhile.",
    ),
    "previous_result_undelivered": (
        "The result of an earlier write ({label}) had not reached this session; it is delivered with this answer.",
        "Read it in `operations`, then decide whether the call is still wanted and send it once more.",
    ),
    "result_unavailable": (
        "The answer of this call is not available any more: {why}. The call is not run again.",
        "Read what came of it in `operations` and on the Board; a new call needs an id of its own.",
    ),
    "artifact_unavailable": (
        "There is no artifact {ref} that this Agent may read.",
        "Use a reference given by an earlier result; this gateway keeps results inline and has issued none.",
    ),
    "unauthenticated": ("The bearer token is missing or not known to this gateway.", "Send `Authorization: Bearer` with this Agent's token."),
    "device_grant_required": (
        "This address answers only to the device grant of this home.",
        "Send `Authorization: Bearer` with the token of workbench/device.secrets.json.",
    ),
    "unknown_agent": ("There is no Agent {agent} on this gateway.", "Use an id listed by /local/state."),
    "unknown_connection": ("There is no Connection {connection} on this gateway.", "Use an id listed by /local/state."),
    "no_receipt": ("Case {case} has no Terminal Receipt.", "A receipt is written when the Case closes; see its status first."),
    # the Worker line
    "worker_credential_rejected": (
        "The Connection id and key do not belong together on this gateway.",
        "Use the id and key of one Connection together: a profile's own, or those that the Console showed.",
    ),
    "worker_lease_held": ("Another Worker holds this Connection.", "Stop it, or wait until its lease has lapsed; then poll again."),
    "worker_lease_superseded": (
        "This Worker's generation is not the one the line has now.",
        "Drop the lease and poll again without a generation.",
    ),
    "worker_lease_expired": ("The lease of this generation has lapsed.", "Drop the lease and poll again without a generation."),
    "worker_lease_lost": ("This instance and generation do not hold the line.", "Drop the lease and poll again without a generation."),
    "not_claimer": ("This call was not claimed by that Worker and generation.", "Nothing was recorded; leave the call to its claimer."),
    "already_claimed": ("This call has been claimed already.", "Run nothing; its claimer reports it."),
    "already_reported": ("This call is settled; the receipt differs from the one that settled it.", "Nothing was recorded."),
    "worker_fenced": (
        "A newer generation of this Connection exists, so the receipt came too late.",
        "It is kept for audit; a person reconciles the call in the Console.",
    ),
    "no_work": ("There is no call {work} on this Connection.", "Poll again and work on the rows it answers with."),
    "not_dispatchable": ("The call {work} is not to be claimed now: it is settled, or was never dispatched.", "Poll again and work on the rows it answers with."),
    "fence_control_requires_no_connection": ("No Connection may send {verb}.", "A person isolates a Worker and settles its calls in the Console."),
    "ingest_rejected": (
        "The receipt was not recorded: {problem}.",
        "Report exactly the rows of the Tool's `returns`, from the Source the call was dispatched against.",
    ),
    "artifact_reference_repeated": ("The receipt names artifact {ref} twice.", "Name each artifact once."),
    "report_evidence.source_required": ("The evidence names no Source.", "Report it with the Source of the order."),
    "report_evidence.source_mismatch": ("Nobody asked the Source {source!r} for {material}.", "Report it with the Source of the order."),
    "orders_open": ("{count} orders of this Agent wait for an answer.", "Wait for some, or withdraw them."),
    "order_asked_already": ("The Source {source!r} is being asked just this.", "Wait for its answer, or withdraw the order."),
    "order_unanswerable": ("{tool} cannot answer this: {problem}.", "Choose a locked read Tool whose returns hold it, and a Source that may attest it."),
    "review_not_asked": ("The review speaks of another {member} than was asked.", "Review the row that the next Poll answers with."),
    # the door
    "listen_needs_tls": (
        "{host} is not a loopback address, and credentials would cross the network in plain text.",
        "Give --tls-cert and --tls-key, or listen on 127.0.0.1.",
    ),
    "listen_malformed": ("{listen!r} is not HOST:PORT.", "Write for example --listen 127.0.0.1:7781."),
    "backup_unusable": ("{path} is no backup of a ledger: {problem}.", "Take another one; nothing was changed."),
    "backup_not_made": ("The gateway that runs (process {pid}, {url}) made no backup: {problem}.", "Mend that, or end it with `rulith stop`, and try again."),
    "board_at_work": ("A long command runs on the Board of the Agent {agent}.", "Ask again in a moment; nothing was changed."),
    "gateway_running": (
        "A gateway of this home is running already (process {pid}, {url}).",
        "Use it, or end it with `rulith stop --home {home}` first.",
    ),
    "settings_malformed": ("{path} is not a gateway settings file: {problem}.", "Correct or remove the file."),
}
