"""Refusal codes of the law: Board, Operations, Registry and Capability files."""

CODES: dict[str, tuple[str, str]] = {
    # The rule language and its engine
    "ATOM_INVALID": (
        "{where} is no atom: {problem}.",
        "Write {{\"predicate\": \"p\", \"args\": {{\"name\": value}}}} with text, numbers or booleans as values; "
        "nothing was changed.",
    ),
    "BUILTIN_RESERVED": (
        "{predicate} is a builtin and cannot be {use}.",
        "Use it in a rule body or a precondition, and another predicate here; nothing was changed.",
    ),
    "RULE_UNSAFE": (
        "Rule {rule} is not safe: {problems}.",
        "Bind every variable in a positive or `negated` body literal, or as the `result` of an arithmetic literal; "
        "nothing was changed.",
    ),
    "ACTION_UNSAFE": (
        "Action {rule} is not safe: {problems}.",
        "Bind every variable in a positive or `negated` precondition, or as the `result` of an arithmetic one; "
        "nothing was changed.",
    ),
    "NOT_STRATIFIABLE": (
        "{predicate} depends on its own absence: {cycle}.",
        "Break the cycle: let `naf` test a predicate that does not depend on the rule's head; nothing was changed.",
    ),
    "JOIN_EXPLOSION": (
        "Rule {rule} matches {literal} more than {limit} times in one round.",
        "Bind more of its variables in earlier literals, or split the rule; nothing was changed.",
    ),
    "CLOSURE_DIVERGED": (
        "The rules concluding {predicates} still produce new facts after {limit} rounds.",
        "Bound the recursion with a comparison, such as lt(left=?n, right=100); nothing was changed.",
    ),
    "CONCAT_OPERAND": (
        "concat was given {operand}, which is neither text nor a whole number.",
        "Join texts and whole numbers only; nothing was changed.",
    ),
    "ATOM_ABSENT": (
        "{atom} does not hold, so nothing explains it.",
        "Ask why it does not hold, or name an atom that the Board lists.",
    ),
    "RULE_ID_TAKEN": (
        "A rule {rule} exists already.",
        "Choose another id, or remove that rule first; nothing was changed.",
    ),
    "RULE_NOT_FOUND": ("There is no rule {rule}.", "Name a rule that the Board lists; nothing was changed."),

    # Cases
    "unknown_case": ("There is no Case {case} on this Board.", "Read the directory with QueryBoard and use one of its Cases."),
    "unknown_case_type": ("No installed Capability has the Case Type {case_type!r}.", "Use one of: {known}."),
    "bad_business_key": ("The business key of {case_type} is not as its contract says: {problem}.", "Give exactly {expected}."),
    "case_closed": (
        "Case {case} is closed as {disposition}.",
        "Read its outcome and receipt; work that is new needs a key of its own.",
    ),
    "case_paused": ("Case {case} is held by {holds}.", "A person lifts the hold in the Console (section Cases); nothing is written to the Case until then."),
    "case_hold_stands": ("Case {case} is held by {hold} already.", "Lift that hold first to set it with another reason; nothing was changed."),
    "case_not_held": ("Case {case} is not held by {hold}.", "Reload the page and look again; nothing was changed."),
    "case_not_certified": ("{root} may not close as completed: {problem}.", "Close what is open first, or close with another disposition and a reason."),
    "case_busy": ("{case} still waits for {obligations}.", "Let it settle, or have a person settle or withdraw it in the Console, then close."),
    "case_admission_refused": ("No new Case of {case_type} is accepted: {problem}.", "Ask the owner of this gateway."),
    "no_acceptance_root": (
        "The write has no running Case in focus to belong to.",
        "Open a Case with OpenCase, or focus a running one, and send the write again.",
    ),
    # the last look before a completed close; whatever fails was written past the law
    **dict.fromkeys((
        "bad_case_closure", "case_opening_missing", "case_opening_not_trusted", "case_business_key_ambiguous",
        "case_acceptance_key_mismatch", "case_acceptance_missing", "case_acceptance_not_derived", "case_acceptance_floor_too_weak",
        "case_evidence_not_local", "case_terminal_disposition_mismatch",
    ), ("{root} may not close as completed: {problem}.", "Nothing was closed. Tell the owner of this gateway to have its ledger checked.")),
    # what an Agent may write
    "attested_predicate": (
        "{where} would write {predicate}, which {owner}.",
        "Read it in rules and preconditions; it comes to hold by {how}, never by a claim.",
    ),
    "not_permitted": ("{what} is not permitted here: {why}.", "{instead}"),
    "goalpost_moved": ("{node} belongs to {owner} and is not the Agent's to take back.", "Only nodes this Agent asserted itself are retracted or revised."),
    "not_found": ("There is no usable {what} {name!r} on this Board.", "Use an id that a view shows."),
    "name_taken": ("The id {name!r} is in use.", "Leave the id out, or choose another."),
    "placeholder_value": ("{where} has the value {value!r}, which stands for a value and is none.", "Give the real value, or a variable such as ?x where a pattern is meant."),
    "variable_in_fact": ("{where} has the value {value!r}, and a fact holds no variables.", "State the value; variables belong in rules, goals and preconditions."),
    "aggregate_refused": ("The aggregate cannot be made: {problem}.", "Correct the named member; nothing of the batch was applied."),
    # Actions
    "unknown_action": ("There is no Action {action!r}.", "Use one of: {known}."),
    "ambiguous_action": ("{action} can be bound in {count} ways here.", "Give its arguments, or the target root, so that one way is left."),
    "invalid_params": ("The arguments of {action} are not as it takes them: {problem}.", "It takes {expected}."),
    "precondition_not_met": ("{action} is not applicable: {problem}.", "Bring about what is missing, then apply it."),
    "needs_setup": ("{action} cannot run yet: {problem}.", "Its owner binds the Source and locks the Tool in the Console."),
    "source_needed": ("{action} needs its Source named in `source`.", "Use one of: {sources}."),
    "source_wrong_type": ("{action} accepts Sources of type {accepts}, and {source!r} is {got}.", "Choose one of: {sources}."),
    "board_action": ("{action} is {is_kind}.", "{instead}"),
    # operations
    "unknown_operation": ("There is no operation {ordinal} of this Agent.", "Use an ordinal that a state list shows."),
    "operation_state": ("Operation {ordinal} is {state}; {event} is not legal then.", "Legal now: {legal}."),
    # Capability files and Releases
    "capability_invalid": ("The Capability file has {count} error(s):\n{listing}", "Correct them all and check again."),
    "constitution_invalid": ("The Constitution file has {count} error(s):\n{listing}", "Correct them all and check again."),
    "constitution_not_as_shown": ("The Constitution is not the one whose changes you were shown.", "Check the file again, and install what you then see."),
    "constitution_not_installed": ("No Constitution is in force on this gateway.", "Install one with `rulith constitution install FILE` or in the Console."),
    "constitution_moved": (
        "The Constitution in force is {version} now, not the one that this file was compared with.",
        "Check the file again; its changes are shown against what is in force.",
    ),
    "constitution_version_taken": (
        "Version {version} is in force with other contents.",
        "Give the changed file a version of its own; a version names one text.",
    ),
    "constitution_installed_already": ("This very Constitution {version} is in force.", "There is nothing to install."),
    "governance_rejected": (
        "{action} is forbidden by this gateway's Constitution: {reason} (rule {rule}).",
        "Nothing ran. Reach the goal in a way that it allows, or ask an owner of the gateway.",
    ),
    "board_draining": ("{problem}.", "{instead}"),
    "release_conflict": ("{capability} cannot be installed: {problem}.", "Rename what clashes, or remove the other Capability."),
    "stale_revision": ("{what} is not the one that was asked for.", "Start again at the first page."),
    # Registry
    "genesis_over": ("This ledger has rows already; only an empty one is seeded.", "Use the Console to add what is missing."),
    "not_authorized": ("{act} needs {needs}.", "{instead}"),
    "role_too_low": (
        "{by} is {role} on this gateway, and the act ‘{act}’ needs the role {needs}.",
        "Ask an owner to do it, or to give {by} another role in the Console under People.",
    ),
    "unknown_person": ("There is no person {name!r} on this gateway.", "Use a name that the Console lists under People."),
    "person_name_taken": (
        "{name!r} cannot name a new person: {taken!r} is or was a person of this gateway.",
        "Choose another name; one name speaks of one person in every row and receipt, for ever. Where it is the same person, reset them instead.",
    ),
    "last_owner": ("{name} is the last owner who can sign in.", "Make another person an owner first, and let them choose their passphrase."),
    "invitation_wrong": ("This is no code that waits for that name.", "Type both as the owner gave them; a code works once. An owner can make a new one under People."),
    "invitation_expired": ("This code ran out at {expires_at}.", "An owner can make a new one in the Console under People."),
    "registry_name_taken": ("{what} {name!r} exists already.", "Use another name, or change the existing one."),
    "agent_revoked_already": ("The Agent {agent} has no token that could be revoked.", "Rotate it to give the Agent a new one."),
    "unknown_source": ("There is no Source {source!r} on this gateway.", "Use a name that the Console lists."),
    "decision_closed": ("Decision {decision} is {state} and takes no more verdicts.", "Apply the Action again where a new decision is wanted."),
    "decision_expired": ("Decision {decision} expired at {expires_at}.", "Apply the Action again; the values are then judged afresh."),
    "decision_same_person": ("{by} has already approved decision {decision}, which needs {people} people.", "Another person signs in and approves."),
}
