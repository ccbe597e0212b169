"""Refusal codes of the agent."""

CODES: dict[str, tuple[str, str]] = {
    # What a model's call is answered with, without being sent
    "tool_not_carried": (
        "There is no tool named {tool!r} here; nothing ran.",
        "The six tools are OpenCase, ApplyBatch, ApplyAction, CloseCase, QueryBoard and ReadArtifact.",
    ),
    "bad_tool_arguments": (
        "The arguments of {tool} cannot be used: {problem}; nothing ran.",
        "Send one JSON object with each name once.",
    ),
    "host_owned_field": (
        "The argument {field!r} of {tool} is set by the program, not by you; nothing ran.",
        "Send the call without it.",
    ),
    "retired_wire_field": (
        "The argument {field!r} of {tool} is no longer part of any call; nothing ran.",
        "Send the call without it; writes are judged against the present state.",
    ),
    "call_doubled": (
        "This call of {tool} stands twice in the same answer, so it is not certain that two were meant; the second did not run.",
        "If it is meant twice, call it again after reading the first result.",
    ),
    "call_queue_suspended": (
        "This call was not sent, because of what an earlier call of the same answer returned.",
        "Read that result first, then decide what to call.",
    ),
    "call_repeated": (
        "This call was not sent: it was refused {times} times for the same reason ({why}), and nothing changed since.",
        "Say what is missing, or do something else first.",
    ),
    "turn_stopped": (
        "This call was not sent: the person stopped the turn.",
        "Wait for what they say next.",
    ),
    # Settings
    "usage": ("{problem}.", "`rulith agent --help` lists what it takes."),
    "setting_refused": ("{name} is {value!r}: {problem}.", "Correct it or leave it out."),
    "model_address": ("The model address {address!r} cannot be used: {problem}.",
                      "Give one that ends in /v1, /chat/completions or /messages."),
    "model_not_configured": (
        "No model is configured, and a chat, or a task that names no Case Type, needs one.",
        "Set RULITH_MODEL_URL and RULITH_MODEL (with RULITH_MODEL_KEY where the service wants a key), "
        "configure one for this profile in the workbench, or name a Case Type and its key to run by rule alone: "
        "--case-type TYPE --business-key JSON --driver board.",
    ),
    "model_key_missing": (
        "The model service at {address} needs a key.",
        "Set RULITH_MODEL_KEY; only a service on this machine is used without one.",
    ),
    # The model service
    "model_reply_unreadable": ("The model service's reply cannot be read: {problem}.",
                               "Check that the address and the dialect of the service fit."),
    "model_refused": ("The model service at {address} answered HTTP {status}: {said}.",
                      "Check the model's name, its key and its limits."),
    "model_broke_off": ("The model service did not finish its reply: {said}. No call of it was made.",
                        "Say it again; if it goes on, look at the service."),
    "model_too_long": ("The conversation is longer than the model service takes: {said}. It cannot be made shorter.",
                       "Begin a new conversation, ask for less at a time (RULITH_MODEL_MAX_OUTPUT_TOKENS), or use a model with a larger context."),
    "model_unreachable": ("The model service at {address} cannot be reached: {problem}.",
                          "Check the address and the network, then run again."),
    # The service, `agent --serve`
    "task_refused": ("The request cannot be used: {problem}.", "Correct it; docs/agent.md lists what it takes."),
    "serve_gate": ("The request is not let in: {problem}.", "Send it from this machine, with the key that --serve printed or was given."),
    "serve_body": ("The body is not taken: {problem}.", "Send one JSON object of at most 64 KiB as application/json."),
    "serve_route": ("There is no {route} here.", "The routes are POST /task, GET /runs, POST /conversation/archive and POST /turn/stop."),
    "request_conflict": ("The request id {id} was used for another task.", "Use a new one for a new task."),
    "request_interrupted": ("The task of the request id {id} was interrupted, and it is not run again.",
                            "Look at what it came to, then send a new message."),
    "conversation_archived": ("The conversation {key!r} is archived.", "Take it back from the archive, or begin another."),
    "model_confirmation": ("Earlier turns of this conversation went to another model service than {service}.",
                           "Send historyModelDestination with that address to let the earlier turns go there."),
    "slots_busy": ("All {slots} conversations have work waiting.", "Wait for one to end, or use one of them."),
    "queue_full": ("{tasks} tasks are waiting already.", "Send it again once some have ended."),
    "serve_draining": ("No task is taken now: {why}.", "Send it again once the Agent is back."),
    # Saved conversations
    "history_unusable": ("The saved conversations cannot be used: {path}: {problem}.",
                         "Nothing was changed. Put the file right from a copy, or move the folder away to begin without it."),
    "history_full": ("No more can be saved: the limits are {turns} turns and {megabytes} MiB of conversations that are not archived.",
                     "Archive conversations that are over; nothing is deleted by that."),
    # Budgets
    "budget_spent": ("The budget of {cap} {what} per {per} does not allow another call to the model: {used} used, and it may need {need}.",
                     "Raise the budget, or wait for the next {per}."),
    "price_unknown": ("The price of the model {model!r} is not known: {problem}.",
                      "Give prices.json of the home, or the file that RULITH_PRICES names, its row (zeros for a model that costs nothing), or set no money cap."),
    "prices_refused": ("The price table {path} cannot be used: {problem}.", "Correct it; docs/agent.md shows one."),
    "budget_unusable": ("What was used of the budget cannot be read from {path}: {problem}.",
                        "Correct it; removing the file begins the period anew."),
    # The gateway
    "token_missing": ("No Agent token: RULITH_TOKEN is not set.", "Set it, or run with a profile of this home."),
    "plain_http_refused": (
        "{url} would carry the Agent token without encryption beyond this machine.",
        "Use https, or a gateway on loopback.",
    ),
    "gateway_unreachable": ("The gateway at {url} cannot be reached: {problem}.",
                            "Start it, or correct RULITH_URL."),
    "gateway_cannot_commit": ("The gateway at {url} cannot commit: {said}.",
                              "What is under way goes on there; free space or repair the disk under its home, then run again."),
    "surface_answer": ("The gateway at {url} answered {step} with something else than expected: {problem}.",
                       "Check that RULITH_URL names a rulith gateway."),
    "credential_rejected": ("The gateway at {url} does not accept this Agent token{said}.",
                            "Take a current token from the Console; nothing else was tried."),
    "connection_replaced": ("Another program connected as this Agent and took over.",
                            "Only one may work at a time; this one does not connect again."),
    # A run
    "agent_overlaps": ("Another run of this Agent holds {path}{holder}.", "Let it finish, then run again."),
    "home_incomplete": ("The home {home} lacks {what}.", "Open `rulith start` once with this home."),
    "child_failed": ("The {role} that this run started ended before it was ready{said}.", "Its log lies in {log}."),
}
