"""Refusal codes that more than one room uses."""

CODES: dict[str, tuple[str, str]] = {
    "bad_command": ("{problem}", "Correct the named field and send the command again."),
    "not_built": ("{what} is not part of this release.", "{instead}"),
    "log_form": ("RULITH_LOG is {form!r}.", "Set it to text or json, or leave it out."),
    "grant_mismatch": (
        "The execution grant does not fit the call: {problem}.",
        "Run nothing; the gateway offers the call again under a fresh grant.",
    ),
    "number_out_of_range": (
        "{where} holds {literal}, which is outside the exact range of ±9007199254740991 or not finite.",
        "Send identifiers as text, and amounts as whole numbers inside the range.",
    ),
    "not_canonical": (
        "{where} has no canonical form: {problem}.",
        "Use text without lone surrogates, finite numbers, and string keys.",
    ),
    "gateway_not_started": (
        "The gateway of this home could not be started: {problem}.",
        "Look at logs/gateway.log in the home, then try again; nothing was done.",
    ),
    "demo_folder": ("The folder {path} cannot be used for the demo: {problem}.", "Name another folder, or move that one away."),
    "demo_under_way": ("Another demo works in {path}, as process {pid}.", "Wait until it ends, or end it; then run this again."),
    "output_lost": (
        "What this command prints could not be written: {problem}.",
        "Run it again with its output to a place that can take it; what was committed stays.",
    ),
    "order_refused": (
        "The order is refused: {field} {problem}.",
        "Correct input.json and run the job again; nothing was read, derived or written.",
    ),
    "option_usage": ("`rulith {verb}`: {problem}.", "See `rulith {verb} --help`; no file was touched."),
    "no_receipt_file": ("{path} is no Terminal Receipt ({format}).", "Save one from the page of a closed Case, or take it from the demo's `proof` folder."),
    "draft_case_unusable": ("Nothing can be drafted from the Case {case}: {problem}.", "Name Cases that were completed and certified."),
    "draft_word_unknown": ("{name} is neither a file here nor a Case id.", "Case ids look like case_ and 8 or more of 0-9 a-f; the Console lists them under Cases. A file is a saved Terminal Receipt."),
    "draft_paths_differ": ("The Cases {first} and {second} took different paths. The first difference is step {number}: {left}; and there: {right}.",
                           "Draft from Cases of one path; two paths are two Case Types."),
    "draft_receipt_altered": ("The receipt of {name} does not hold together: {place}: {problem}.", "Take the receipt from its gateway; `rulith verify` tells more."),
    "terminal_needed": ("`rulith {verb}` asks a person for the approval passphrase, and this is no terminal.", "Run it on a terminal yourself; nothing was changed."),
    "home_without_ledger": ("The home {home} has no gateway yet.", "Run `rulith start --home {home}` once, or name the right home with --home."),
    "passphrase_not_chosen": ("Nobody has chosen the approval passphrase of this gateway yet, so nothing can be installed.", "{how}. Then run this again."),
    "act_unanswered": ("The gateway did not answer {route}; whether it was done is not known.", "Look in the Console before you try again."),
    "resource_limit": (
        "{what} is {value}, over the limit of {limit}.",
        "Split the work into smaller pieces; nothing was changed.",
    ),
}
