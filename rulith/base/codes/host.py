"""Refusal codes of the host: the page's gate, the workbench's own routes, its children."""

CODES: dict[str, tuple[str, str]] = {
    # the gate
    "host_not_loopback": (
        "The workbench answers on this computer's loopback address only, not for the host {host!r}.",
        "Open it as http://127.0.0.1:PORT/ (a tunnel must keep that name).",
    ),
    "origin_foreign": (
        "A page of {origin!r} asked; the workbench serves its own page only.",
        "Open the address that `rulith start` printed.",
    ),
    "page_locked": (
        "This page was not opened by the workbench that runs now.",
        "Open the address that `rulith start` printed; after a restart the old page no longer counts.",
    ),
    "token_unknown": (
        "The request carries no token of this run.",
        "The page renews its token by POST /api/token; another program sends the printed key there first.",
    ),
    "route_unknown": ("The workbench has no {method} {path}.", "Read the page's own addresses; nothing was changed."),
    "request_too_large": ("The body of {path} is over {limit} bytes.", "Send less at once; nothing of it was read."),
    "body_not_object": ("The body of {path} is not a JSON object ({problem}).", "Send one JSON object in UTF-8."),
    "body_field": ("The body of {path} has {problem}.", "Send exactly the fields {fields}."),
    "workbench_key": (
        "RULITH_MANAGER_KEY is not a key.",
        "Use 16 to 128 letters, digits, dashes or underscores, or unset it to get a fresh one per run.",
    ),
    # starting
    "port_not_a_number": ("{where} is {value!r}.", "Give a port from 1 to 65535."),
    "option_unknown": ("`rulith {verb}` does not know {option!r}.", "See `rulith {verb} --help`; no file was touched."),
    "option_value": ("`rulith {verb}` needs a value after {option}.", "See `rulith {verb} --help`; no file was touched."),
    "workbench_running": (
        "A workbench of the home {home} runs already, as process {pid}{where}.",
        "Use it, or end it with `rulith stop --home {home}` first.",
    ),
    "nothing_running": ("Nothing of the home {home} is running.", "Start it with `rulith start --home {home}`."),
    "stop_unfinished": (
        "Still running after {seconds} s: {left}.",
        "It may be finishing a Tool; run `rulith stop` again in a moment.",
    ),
    # a gateway elsewhere
    "gateway_address": ("--gateway {address!r} is no address of a gateway.", "Give its origin alone, for example https://gateway.example:8443; no file was touched."),
    "gateway_plain_http": ("{origin} would carry credentials over a network in plain text.", "Use its https address, or add --insecure-http where something else protects the way; no file was touched."),
    "device_unreadable": ("The sign-in in {path} cannot be read: {problem}.", "Forget it on the page's Account screen and sign in again; nothing of it was changed."),
    "account_local": ("This workbench uses the gateway of its own home.", "Start it with `rulith start --gateway URL` to sign in at another one."),
    "account_name": ("A computer's name has 1 to {limit} printable characters.", "Give it another one."),
    "account_signed_in": ("This computer is signed in at {origin}.", "Sign out there first; nothing was changed."),
    "account_ended": ("The sign-in of this computer is {state}.", "Forget it first, then sign in again."),
    "account_none": ("This computer is not signed in anywhere.", "There is nothing to sign out of."),
    "account_silent": ("{origin} gives no usable answer: {problem}.", "Look whether its address is right and it runs, then try again; nothing was changed."),
    "account_refused": ("{origin} refuses: {problem}.", "Ask an owner of that gateway; nothing was changed."),
    "account_needed": ("{name} needs this computer to be signed in at {origin}.", "Sign in on the Account screen."),
    "console_elsewhere": ("The Console is the one of {origin}.", "Open it there."),
    # what the page asks for
    "instance_unknown": ("There is no Agent {instance!r} in this home.", "Reload the page; the list of Agents may have changed."),
    "gateway_not_ready": ("The gateway does not answer yet: {problem}.", "Wait until the page shows it online; nothing was done."),
    "gateway_refused": ("{happened}", "{todo}"),
    "gateway_answer": ("The gateway's answer to {path} could not be read: {problem}.", "Look at the gateway's log in the home."),
    "run_under_way": ("The Agent {name} is at work since {since}.", "Wait until it ends, or stop it; one run at a time."),
    "run_not_running": ("The Agent {name} is not at work.", "There is nothing to stop."),
    "agent_not_ready": ("The Agent {name} takes no message: {problem}.", "{todo}"),
    "agent_started": ("The Agent {name} is started for conversations.", "Stop the Agent first: one program at a time works as it."),
    "agent_operation": ("The Agent takes no operation {operation!r}.", "Send start or stop."),
    "worker_not_online": ("The Worker of {name} is {state}.", "Start it in the Worker tab; without it no Tool runs."),
    "worker_operation": ("The Worker takes no operation {operation!r}.", "Send start or stop."),
    "council_not_ready": ("The council does not answer: {problem}.", "Look at its state on the page, and at logs/council.log in the home; nothing was done."),
    "council_unanswered": ("The council did not answer {act}; whether it was done is not known.", "Look at the thread or the list before you try again."),
    "council_not_ours": ("The council was not started by this page.", "End it where it was started, or with `rulith stop`."),
    "council_operation": ("The council takes no operation {operation!r}.", "Send start or stop."),
    "input_changed": (
        "The input file changed since this page read it.",
        "Look at what it holds now, then decide again; nothing was overwritten.",
    ),
    "job_closed_otherwise": (
        "The job {job_id} is closed already, in Case {case_id}, for other numbers ({differences}).",
        "Use a new job id for new numbers: a closed Case keeps its proof.",
    ),
    "job_not_in_input": (
        "The input file now holds {held}, not the job {job_id}.",
        "Write the numbers of {job_id} again to go on with its Case.",
    ),
    "case_type_unknown": ("There is no calculation of the kind {case_type!r}.", "Choose one of {known}."),
    "model_field": ("The model setting {field} {problem}.", "Correct it; the saved settings are as they were."),
}
