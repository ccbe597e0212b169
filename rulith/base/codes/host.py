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
