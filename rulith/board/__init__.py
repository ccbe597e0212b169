"""Law: what an Agent's Board holds and why, which operations ran, who may do what.

Three deterministic state machines. None reads a clock, draws a random number or waits:
`at` (an RFC 3339 stamp with milliseconds) and `mint` are arguments.

    Board(agent_id)        board.py       facts, rules, Cases, Actions, certification, proofs
    Operations(agent_id)   operations.py  ordinals, states, write gate, delivery, strip
    Registry()             registry.py    Agents, Connections, fences, Sources, locks, Releases, decisions

Each has

    execute(command, *, at, mint) -> Outcome     state changed, or Refused and state as before
    replay(row) -> Outcome                       re-executes Outcome.row with its ids; `bug` if the digest differs

`Outcome.row` is the one ledger row of an accepted command; folding the rows in order into
an empty machine rebuilds identical state. `Outcome.result` is what the caller is told.
Commands are dictionaries with a `kind`; unknown kinds and unknown members are refused.
`{"kind": "several", "commands": [...]}` runs several as one row, all or none
(`result` is then `{"results": [...]}`).

Shapes that cross the room's edge are in shapes.py.

Board commands
    install_capability  {capability, digest}
        -> {id, version, digest, opens: [caseType], waits?: [caseId]}     with `waits` it is in force once these are closed
    install_constitution {constitution, digest}         -> {version, digest}     every Action is judged by it from now on
    open_case           {caseType, businessKey?}
        -> {caseId, root, status, caseType, deadline?, businessKey?, taskNodes: [{node, goal}], vocabulary: [str],
            vocabularyTruncated?, drive: [action id], opened: true}
        a live Case of the same type and key -> {caseId, root, status, drive, opened: false}
    focus_case          {caseId}                        -> {caseId, root, status, drive, opened: false}
    pause_case          {caseId, hold: operator|policy, by?, reason?} -> {caseId, status}
    lift_hold           {caseId, hold, by?, reason?}                  -> {caseId, status}
    apply_batch         {operations, focus: [caseId]}   -> {nodeIds, warnings?}
    apply_action        {action, args, target?, focus}  (Board Actions)  -> {action, done, status, ok, nodeIds}
    record_receipt      {ordinal, plan: ExternalPlan.record(), ok, result?, reason?, facts: [{predicate, args, source?}],
                         resultDigest, requestDigest, workerId, workerGeneration, source: Source.record()}
        -> {action, done, status: confirmed|failed, ok, nodeIds}
    record_refusal      {ordinal, plan, reason}         (a person rejected it, or its decision expired)
        -> {action, done, status: refused, ok: false}
    record_reconciliation {ordinal, plan: ExternalPlan.record(), outcome: happened|did_not|cannot_tell, by, reason}
        -> {action, done, status: confirmed|failed|unknown, ok?, nodeIds}
    close_case          {root, disposition?, reason?, obligations: [label], by?: the person who closes it}
        -> {caseId, root, disposition, certified}

Board reads (no row): plan_action, view, query, proof, why_not, case_detail, case_history, cases, case, case_of_root,
is_certified, drive, releases, receipt_facts, closure_digest; for an Agent under a Profile (profiles.py)
check_sight before a command, shielded and shown_result after it, withheld, visible_cases. Views share parts with later views: read, never change.

Operations commands
    admit         {tool, label, session, caseIds, plan?: ExternalPlan.record(), decision?: {id, kind},
                   settled?: {state, result, summary, reason?}, profile?: what the Agent could see, acknowledges?, delivers?}
        -> {ordinal, at, state, stage?, invocationId?}     with `settled`, admitted and settled in one row; the session has read
                                                           what it was told, or reads this one, where that is said
    decide        {ordinal, verdict: approve|reject|expire, reason?}        -> {ordinal, state}
    dispatch      {ordinal, connectionId, workerId, generation, requestDigest, grant?}   (again for another instance)
    claim         {ordinal, connectionId, workerId, generation}             (the same again is a replay)
    settle        {ordinal, state: done|failed|refused, result, summary, reason?, identity?}
    needs_person  {ordinal, reason}
    reconcile     {ordinal, outcome: happened|did_not|cannot_tell, result, summary, by, reason}
    deliver       {ordinal, session}  ;  acknowledge {session}  ;  void_delivery {ordinal, session}
    case_closed   {caseId}                after its Terminal Receipt: old calls of closed Cases are forgotten
Operations reads: gate, strip, state_form, delivers, needs_acknowledgement, operation, by_invocation, unresolved,
awaiting_worker, superseded; `call_label` names a call from its own input.

Registry commands: see registry.py; each names its `authority`, which Registry judges.
"""
