"""Operations of one Agent: ordinals, states, the write gate, delivery and acknowledgement.

One operation is unresolved at a time. It moves only along TABLE; what is absent there is
refused. Delivery is counted beside it: a settled write stays in the way of the next write
until its result was delivered to the session that asks.

Refuses to know: what an operation does (board.py), how an answer is written (gateway/).
Units   `at` and `since` are RFC 3339 stamps; an ordinal is an int from 1, never reused.
Source  the MCP surface, "Operations"; the Worker hop, "Gateway duties".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from itertools import islice

from rulith.base.clock import just_after, seconds_of
from rulith.base.errors import Refused
from rulith.base.limits import STRIP_ROWS_MAX
from rulith.board.machine import Machine, members
from rulith.board.shapes import Mint

WRITES = ("OpenCase", "ApplyBatch", "ApplyAction", "CloseCase")
TOOLS = (*WRITES, "ReadArtifact")

ADMITTED, WAITING, READY, DISPATCHED, CLAIMED = "admitted", "waiting_for_decision", "ready", "dispatched", "claimed"
NEEDS_PERSON, DONE, FAILED, REFUSED, UNKNOWN = "needs_person", "done", "failed", "refused", "unknown"
STATES = (ADMITTED, WAITING, READY, DISPATCHED, CLAIMED, NEEDS_PERSON, DONE, FAILED, REFUSED, UNKNOWN)
SETTLED = (DONE, FAILED, REFUSED, UNKNOWN)

#  state        what happened           next
TABLE = {
    (ADMITTED, "settle_done"): DONE,
    (ADMITTED, "settle_failed"): FAILED,
    (ADMITTED, "settle_refused"): REFUSED,
    (WAITING, "decide_approve"): READY,
    (WAITING, "decide_reject"): REFUSED,
    (WAITING, "decide_expire"): REFUSED,
    (READY, "dispatch"): DISPATCHED,
    (READY, "settle_refused"): REFUSED,            # no longer allowed when its turn came; nothing ran
    (DISPATCHED, "dispatch"): DISPATCHED,          # unclaimed: offered again, also to the next instance
    (DISPATCHED, "claim"): CLAIMED,
    (DISPATCHED, "settle_refused"): REFUSED,       # unclaimed, so nothing ran
    (CLAIMED, "claim"): CLAIMED,                   # only its own claimer, asking again
    (CLAIMED, "settle_done"): DONE,
    (CLAIMED, "settle_failed"): FAILED,
    (CLAIMED, "needs_person"): NEEDS_PERSON,       # the claimer is superseded: the effect is unknown
    (WAITING, "restored"): NEEDS_PERSON,           # a ledger that was restored cannot tell what ran since its backup
    (READY, "restored"): NEEDS_PERSON,
    (DISPATCHED, "restored"): NEEDS_PERSON,
    (CLAIMED, "restored"): NEEDS_PERSON,
    (NEEDS_PERSON, "reconcile_happened"): DONE,
    (NEEDS_PERSON, "reconcile_did_not"): FAILED,
    (NEEDS_PERSON, "reconcile_cannot_tell"): UNKNOWN,
}
EVENTS = tuple(dict.fromkeys(event for _, event in TABLE))
RESTORABLE = tuple(state for state, event in TABLE if event == "restored")

PUBLIC = {ADMITTED: ("running", "not_dispatched"), READY: ("running", "not_dispatched"),
          DISPATCHED: ("running", "not_dispatched"), CLAIMED: ("running", "at_worker")}

_MOVES = ("decide", "dispatch", "claim", "settle", "needs_person", "restored", "reconcile")

LATEST_ROWS = 5                    # the newest operations a strip always shows
KEEP_ACKNOWLEDGED_S = 24 * 3600.0  # the latest settled write stays listed this long after its acknowledgement
PLAIN_KEPT_MAX = 128               # Board-only operations remembered; older ones live in the ledger only
PLAIN_KEPT_MIN = 64
PLANNED_KEPT = 128                 # of closed Cases: kept for pages and for a receipt that is sent again; older ones are in receipts
LABEL_MAX, SUMMARY_MAX, DECISION_MAX = 200, 500, 200
TEXTS_KEPT_MAX = 32                # strip rows kept as text; a strip shows seven


@dataclass(frozen=True)
class Operation:
    """One admitted call. `plan` is ExternalPlan.record() for work that leaves the Board, else None."""

    ordinal: int
    tool: str
    label: str
    session: str
    case_ids: tuple[str, ...]
    at: str
    since: str
    state: str
    plan: Mapping | None = None
    decision: Mapping | None = None        # {"id", "kind", "expiresAt"?}
    invocation: str = ""
    dispatch: Mapping | None = None        # {"connectionId", "workerId", "generation", "requestDigest", "grant"?, "at"}
    claim: Mapping | None = None           # {"connectionId", "workerId", "generation", "at"}
    result: Mapping | None = None          # the public result without its view; kept while it may still be shown
    summary: str = ""
    reason: str = ""
    identity: Mapping | None = None        # execution identity of the accepted receipt
    delivered: tuple[str, ...] = ()
    acknowledged_at: str = ""
    steps: tuple[tuple[str, str], ...] = ()
    profile: Mapping | None = None         # what its Agent could see when it was admitted; None: everything

    @property
    def is_settled(self) -> bool:
        return self.state in SETTLED

    @property
    def is_write(self) -> bool:
        return self.tool in WRITES

    @property
    def public_state(self) -> str:
        return PUBLIC.get(self.state, (self.state,))[0]

    @property
    def stage(self) -> str | None:
        return PUBLIC[self.state][1] if self.state in PUBLIC else None


_BLANK = Operation(0, "", "", "", (), "", "", ADMITTED)
_FIELDS = frozenset(field.name for field in fields(Operation))


def _with(operation: Operation, **changes: object) -> Operation:
    """A copy with some fields changed, as `dataclasses.replace` makes it, without running the constructor: every call makes several."""
    assert changes.keys() <= _FIELDS, changes.keys()
    fresh = object.__new__(Operation)
    fresh.__dict__.update(operation.__dict__)
    fresh.__dict__.update(changes)
    return fresh


def step(state: str, event: str, ordinal: int) -> str:
    """The one reader of TABLE. Raises Refused: already_reported for a settled operation, else operation_state."""
    try:
        return TABLE[state, event]
    except KeyError:
        if state in SETTLED and event.startswith("settle"):
            raise Refused("already_reported") from None
        legal = [known for source, known in TABLE if source == state]
        raise Refused("operation_state", ordinal=ordinal, state=state, event=event,
                      legal=", ".join(legal) or "nothing") from None


def recalled(agent_id: str, rows: Iterable[Mapping]) -> dict[int, Operation]:
    """The calls with a plan that these rows of a chain (`kind`, `at`, `body`, ascending) tell of, as they stood after the last of them.

    One call at a time is under way, so the ordinal that the rows after its admission name is its own.
    """
    scratch, waiting = Operations(agent_id), None
    scratch._prune = lambda: None       # all of them are wanted
    for row in rows:
        commands = [row["body"]["command"]]
        for command in commands:
            if command["kind"] == "several":
                commands += command["commands"]
            elif command["kind"] == "admit":
                waiting = (command, row) if "plan" in command else None
            elif command["kind"] in _MOVES:
                ordinal = command["ordinal"]
                if waiting is not None:
                    scratch.last_ordinal, scratch.unresolved_ordinal, scratch.settled_write = ordinal - 1, 0, 0
                    admit, admitted = waiting
                    scratch.execute(admit, at=admitted["at"], mint=lambda prefix, row=admitted: row["body"]["minted"][0])
                    waiting = None
                if ordinal in scratch.operations:
                    scratch.execute(command, at=row["at"], mint=lambda prefix: prefix)
    return scratch.operations


def call_label(tool: str, arguments: Mapping) -> str:
    """A label from the call's own input only: tool, then what it names, then its public target."""
    words = [tool]
    if tool == "OpenCase":
        words += [arguments.get("caseType") or arguments.get("caseId")]
    elif tool == "ApplyAction":
        words += [arguments.get("action"), arguments.get("target")]
    elif tool == "CloseCase":
        words += [arguments.get("root")]
    elif tool == "ReadArtifact":
        words += [arguments.get("ref")]
    return " ".join(word for word in words if isinstance(word, str) and word)[:LABEL_MAX]


def label_of(each: Operation, withheld: bool) -> str:
    """A label names what its call was about; where that is withheld, only the tool."""
    return each.tool if withheld else each.label


def _strip_row(each: Operation, in_full: bool, withheld: bool, view: Mapping | None, encode: Callable[[object], str],
               shown: Callable[[dict], dict] = dict) -> dict:
    """One row of the model-visible list; with `in_full` a settled write's recorded result joined to `view`."""
    row: dict = {"tool": each.tool, "label": label_of(each, withheld), "state": each.public_state}
    if each.stage:
        row["stage"] = each.stage
    if each.state == WAITING:
        row["decision"] = "withheld" if withheld else str(each.decision["kind"])[:DECISION_MAX]
    if each.state == NEEDS_PERSON and each.reason and not withheld:
        row["reason"] = each.reason
    row["at"], row["since"] = each.at, each.since
    if each.is_settled and withheld:
        row["contentWithheld"] = True
    elif each.is_settled:
        if each.state == REFUSED:
            row["reason"] = each.reason
        if in_full and each.result is not None and each.is_write:
            body = dict(each.result)
            if isinstance(body.get("result"), dict):
                body["result"] = shown(body["result"])
            if view is not None:
                body["view"] = view
            row["result"] = {"content": [{"type": "text", "text": encode(body)}], "isError": not each.result.get("accepted", False)}
        else:
            row["summary"] = each.summary
    return row


class Operations(Machine):
    """The operations of one Agent; see the package docstring for the commands."""

    COMMANDS = {
        "admit": ("_admit", *members("tool label session caseIds", "plan decision settled profile acknowledges delivers")),
        "decide": ("_decide", *members("ordinal verdict", "reason result summary")),
        "dispatch": ("_dispatch", *members("ordinal connectionId workerId generation requestDigest", "grant")),
        "claim": ("_claim", *members("ordinal connectionId workerId generation")),
        "settle": ("_settle", *members("ordinal state result summary", "reason identity")),
        "needs_person": ("_needs_person", *members("ordinal reason")),
        "restored": ("_restored", *members("ordinal reason")),
        "reconcile": ("_reconcile", *members("ordinal outcome result summary by reason")),
        "deliver": ("_deliver", *members("ordinal session")),
        "acknowledge": ("_acknowledge", *members("session")),
        "void_delivery": ("_void_delivery", *members("ordinal session")),
        "case_closed": ("_case_closed", *members("caseId")),
    }

    def __init__(self, agent_id: str) -> None:
        super().__init__()
        self.agent_id = agent_id
        self.operations: dict[int, Operation] = {}
        self.last_ordinal = 0
        self.last_at = ""
        self.unresolved_ordinal = 0       # 0: none
        self.settled_write = 0            # ordinal of the latest settled write; 0: none
        self._texts: dict[int, tuple[Operation, str]] = {}      # strip rows as last written
        self.of_closed: tuple[int, ...] = ()    # ordinals with a plan whose Case has closed, oldest first

    # --- commands ----------------------------------------------------------------------

    def _admit(self, command: Mapping, at: str, draw: Mint) -> dict:
        """One more call. `acknowledges`: what its session was told is thereby read. `settled`: the Board alone settled it,
        and with `delivers` this row is its delivery too."""
        tool, session = command["tool"], command["session"]
        if tool not in TOOLS:
            raise Refused("bad_command", problem=f"{tool!r} is not an operation tool")
        if command.get("acknowledges"):
            self._acknowledge(command, at, draw)
        refusal = self.gate(session, tool)
        if refusal is not None:
            raise refusal
        plan, decision, settled = command.get("plan"), command.get("decision"), command.get("settled")
        if settled is not None and plan is not None:
            raise Refused("bad_command", problem="A call with a Worker plan cannot be admitted as settled")
        delivered = (session,) if command.get("delivers") else ()
        if delivered and settled is None:
            raise Refused("bad_command", problem="A call that is not settled cannot be admitted as delivered")
        at = at if at > self.last_at else just_after(self.last_at)      # the clock has not moved since the last one
        set_ = self.journal.set
        set_(self, "last_at", at)
        set_(self, "last_ordinal", self.last_ordinal + 1)
        ordinal = self.last_ordinal
        state = ADMITTED if plan is None else WAITING if decision is not None else READY
        operation = _with(_BLANK, ordinal=ordinal, tool=tool, label=command["label"][:LABEL_MAX], session=session,
                          case_ids=tuple(command["caseIds"]), at=at, since=at, state=state, plan=plan, decision=decision,
                          invocation=draw("inv_") if plan is not None else "", steps=((state, at),), profile=command.get("profile"))
        if settled is None:
            set_(self, "unresolved_ordinal", ordinal)
            self._put(operation)
        else:
            self._finish(operation, settled["state"], settled["result"], settled["summary"],
                         settled.get("reason", ""), at, delivered=delivered)
        self._prune()
        operation = self.operations[ordinal]
        answer = {"ordinal": ordinal, "at": at, "state": operation.public_state}
        if operation.stage:
            answer["stage"] = operation.stage
        if operation.invocation:
            answer["invocationId"] = operation.invocation
        return answer

    def _decide(self, command: Mapping, at: str, draw: Mint) -> dict:
        operation, verdict = self.operation(command["ordinal"]), command["verdict"]
        state = step(operation.state, f"decide_{verdict}", operation.ordinal)
        if state == REFUSED:
            reason = command.get("reason") or ("The decision expired." if verdict == "expire" else "A person refused it.")
            result = command.get("result") or {"accepted": True, "result": {
                "action": operation.plan["action"], "done": True, "status": "refused", "ok": False}}
            self._finish(operation, REFUSED, result, command.get("summary") or reason, reason, at)
        else:
            self._move(operation, state, at)
        return {"ordinal": operation.ordinal, "state": self.operations[operation.ordinal].public_state}

    def _dispatch(self, command: Mapping, at: str, draw: Mint) -> dict:
        operation = self.operation(command["ordinal"])
        state = step(operation.state, "dispatch", operation.ordinal)
        if command["connectionId"] != operation.plan["connectionId"]:
            raise Refused("not_dispatchable", work=operation.invocation)
        record = {name: command[name] for name in ("connectionId", "workerId", "generation", "requestDigest", "grant")
                  if name in command}
        self._move(operation, state, at, dispatch={**record, "at": at})
        return {"ordinal": operation.ordinal, "invocationId": operation.invocation}

    def _claim(self, command: Mapping, at: str, draw: Mint) -> dict:
        operation = self.operation(command["ordinal"])
        state = step(operation.state, "claim", operation.ordinal)
        holder = {name: command[name] for name in ("connectionId", "workerId", "generation")}
        expected = {name: operation.dispatch[name] for name in holder}
        if holder != expected:
            raise Refused("not_claimer")
        replay = operation.state == CLAIMED
        if not replay:
            self._move(operation, state, at, claim={**holder, "at": at})
        return {"ordinal": operation.ordinal, "invocationId": operation.invocation, "replay": replay}

    def _settle(self, command: Mapping, at: str, draw: Mint) -> dict:
        operation = self.operation(command["ordinal"])
        if command["state"] not in (DONE, FAILED, REFUSED):
            raise Refused("bad_command", problem=f"An operation does not settle as {command['state']!r}")
        self._finish(operation, command["state"], command["result"], command["summary"],
                     command.get("reason", ""), at, identity=command.get("identity"))
        return {"ordinal": operation.ordinal, "state": command["state"]}

    def _restored(self, command: Mapping, at: str, draw: Mint) -> dict:
        return self._needs_person(command, at, draw, event="restored")

    def _needs_person(self, command: Mapping, at: str, draw: Mint, event: str = "needs_person") -> dict:
        operation = self.operation(command["ordinal"])
        self._move(operation, step(operation.state, event, operation.ordinal), at,
                   reason=command["reason"][:SUMMARY_MAX])
        return {"ordinal": operation.ordinal, "state": NEEDS_PERSON}

    def _reconcile(self, command: Mapping, at: str, draw: Mint) -> dict:
        operation = self.operation(command["ordinal"])
        outcome = command["outcome"]
        if outcome not in ("happened", "did_not", "cannot_tell"):
            raise Refused("bad_command", problem=f"{outcome!r} is not an outcome a person can state")
        state = step(operation.state, f"reconcile_{outcome}", operation.ordinal)
        self._finish(operation, state, command["result"], command["summary"], "", at, event=f"reconcile_{outcome}",
                     identity={"reconciledBy": command["by"], "outcome": outcome, "reason": command["reason"], "at": at})
        return {"ordinal": operation.ordinal, "state": state}

    def _deliver(self, command: Mapping, at: str, draw: Mint) -> dict:
        if self._is_forgotten(command["ordinal"]):
            return {"ordinal": command["ordinal"]}
        operation, session = self.operation(command["ordinal"]), command["session"]
        if not operation.is_settled:
            raise Refused("operation_state", ordinal=operation.ordinal, state=operation.state, event="deliver",
                          legal="nothing before it settles")
        if session not in operation.delivered:
            delivered = (*operation.delivered, session)
            # a second session that read it proves the outcome is known to the Agent
            acknowledged = operation.acknowledged_at or (at if len(delivered) > 1 else "")
            self._put(_with(operation, delivered=delivered, acknowledged_at=acknowledged))
        return {"ordinal": operation.ordinal}

    def _acknowledge(self, command: Mapping, at: str, draw: Mint) -> dict:
        ordinals = self._awaiting_acknowledgement(command["session"])
        for ordinal in ordinals:
            self._put(_with(self.operations[ordinal], acknowledged_at=at))
        return {"ordinals": ordinals}

    def _void_delivery(self, command: Mapping, at: str, draw: Mint) -> dict:
        if self._is_forgotten(command["ordinal"]):
            return {"ordinal": command["ordinal"]}
        operation = self.operation(command["ordinal"])
        if not operation.acknowledged_at and command["session"] in operation.delivered:
            left = tuple(session for session in operation.delivered if session != command["session"])
            self._put(_with(operation, delivered=left))
        return {"ordinal": operation.ordinal}

    def _case_closed(self, command: Mapping, at: str, draw: Mint) -> dict:
        """The Case has its Terminal Receipt, which tells of its calls; here only the latest ones stay."""
        known = set(self.of_closed)
        closed = [*self.of_closed, *(each.ordinal for each in self.operations.values() if each.plan is not None
                                     and command["caseId"] in each.case_ids and each.ordinal not in known)]
        kept = []
        for place, ordinal in enumerate(closed):
            if place >= len(closed) - PLANNED_KEPT or not self.operations[ordinal].is_settled or ordinal == self.settled_write:
                kept.append(ordinal)
            else:
                self.journal.drop(self.operations, ordinal)
        self.journal.set(self, "of_closed", tuple(kept))
        return {"caseId": command["caseId"], "forgotten": len(closed) - len(kept)}

    def _is_forgotten(self, ordinal: int) -> bool:
        return 0 < ordinal <= self.last_ordinal and ordinal not in self.operations

    # --- how a record moves ------------------------------------------------------------

    def _put(self, operation: Operation) -> None:
        self.journal.put(self.operations, operation.ordinal, operation)

    def _move(self, operation: Operation, state: str, at: str, **changes: object) -> None:
        since = max(operation.since, at)
        self._put(_with(operation, state=state, since=since, steps=(*operation.steps, (state, since)), **changes))

    def _finish(self, operation: Operation, state: str, result: Mapping, summary: str, reason: str, at: str, *,
                event: str = "", identity: Mapping | None = None, delivered: tuple[str, ...] = ()) -> None:
        if operation.state != WAITING:
            step(operation.state, event or f"settle_{state}", operation.ordinal)
        if state == REFUSED and not reason:
            raise Refused("bad_command", problem="A refused operation states its reason")
        if operation.is_write:
            previous = self.operations.get(self.settled_write)
            if previous is not None and previous.result is not None:
                self._put(_with(previous, result=None))     # only the newest settled write is shown in full
            self.journal.set(self, "settled_write", operation.ordinal)
        self._move(operation, state, at, result=dict(result), summary=(summary or state)[:SUMMARY_MAX],
                   reason=reason[:SUMMARY_MAX], identity=identity, delivered=delivered or operation.delivered)
        if self.unresolved_ordinal:
            self.journal.set(self, "unresolved_ordinal", 0)

    def _prune(self) -> None:
        """Forget old settled operations in blocks, so that memory does not grow with the ledger; `recalled` reads them back."""
        if len(self.operations) % PLAIN_KEPT_MIN:
            return
        of_closed = set(self.of_closed)
        settled = [each for each in self.operations.values() if each.is_settled]
        plain = [each.ordinal for each in settled if each.plan is None]
        planned = [each.ordinal for each in settled if each.plan is not None and each.ordinal not in of_closed]
        for ordinals, most, least in ((plain, PLAIN_KEPT_MAX, PLAIN_KEPT_MIN), (planned, PLANNED_KEPT + PLAIN_KEPT_MIN, PLANNED_KEPT)):
            for ordinal in ordinals[:-least] if len(ordinals) > most else ():
                if ordinal != self.settled_write:
                    self.journal.drop(self.operations, ordinal)

    # --- reads -------------------------------------------------------------------------

    def operation(self, ordinal: int) -> Operation:
        found = self.operations.get(ordinal)
        if found is None:
            raise Refused("unknown_operation", ordinal=ordinal)
        return found

    def unresolved(self) -> Operation | None:
        return self.operations.get(self.unresolved_ordinal)

    def by_invocation(self, invocation: str) -> Operation | None:
        return next((each for each in reversed(self.operations.values()) if each.invocation == invocation), None)

    def awaiting_worker(self, connection_id: str) -> list[Operation]:
        """Operations whose work may be offered to this Connection now, oldest first."""
        found = self.unresolved()
        wanted = found is not None and found.state in (READY, DISPATCHED) and found.plan["connectionId"] == connection_id
        return [found] if wanted else []

    def superseded(self, connection_id: str, generation: int) -> list[Operation]:
        """Claimed operations whose claimer's generation on this Connection is older than `generation`."""
        found = self.unresolved()
        wanted = (found is not None and found.state == CLAIMED and found.claim["connectionId"] == connection_id
                  and found.claim["generation"] < generation)
        return [found] if wanted else []

    def gate(self, session: str, tool: str, withheld: frozenset[int] = frozenset()) -> Refused | None:
        """The refusal that stands in the way of this call, or None. QueryBoard is never asked here."""
        running = self.unresolved()
        if running is not None:
            return Refused("operation_running", label=label_of(running, running.ordinal in withheld), state=running.public_state)
        settled = self.operations.get(self.settled_write)
        if tool in WRITES and settled is not None and not settled.acknowledged_at and session not in settled.delivered:
            return Refused("previous_result_undelivered", label=label_of(settled, settled.ordinal in withheld))
        return None

    def needs_acknowledgement(self, session: str) -> bool:
        """Whether a request on this session acknowledges anything, so that an idle ping costs no row."""
        return bool(self._awaiting_acknowledgement(session))

    def _awaiting_acknowledgement(self, session: str) -> list[int]:
        recent = self._newest(STRIP_ROWS_MAX)
        settled = self.operations.get(self.settled_write)
        if settled is not None and settled.ordinal < recent[-1].ordinal:
            recent.append(settled)
        return [each.ordinal for each in reversed(recent) if not each.acknowledged_at and session in each.delivered]

    def _newest(self, count: int) -> list[Operation]:
        """The newest operations, newest first; ordinals only ascend, so the last ones put are the newest."""
        return list(islice(reversed(self.operations.values()), count))

    def delivers(self, *, own: int | None = None) -> int | None:
        """The ordinal whose full outcome a strip written now carries, beside the call's own."""
        settled = self.operations.get(self.settled_write)
        shown = settled is not None and not settled.acknowledged_at and settled.ordinal != own
        return settled.ordinal if shown else None

    def listed(self, at: str) -> list[Operation]:
        """The operations that a strip written at this moment tells of, newest first."""
        listed = self._newest(LATEST_ROWS)
        oldest = listed[-1].ordinal if listed else 0
        settled = self.operations.get(self.settled_write)
        extras = []
        for extra in (settled, self.unresolved()):
            if extra is None or extra.ordinal >= oldest or any(extra is each for each in extras):
                continue
            if (extra is settled and settled.acknowledged_at and at
                    and seconds_of(at) - seconds_of(settled.acknowledged_at) > KEEP_ACKNOWLEDGED_S):
                continue
            extras.append(extra)
        return (listed + sorted(extras, key=lambda each: -each.ordinal))[:STRIP_ROWS_MAX]

    def strip(self, *, at: str, own: int | None = None, view: Mapping | None = None,
              withheld: frozenset[int] = frozenset(), encode=None, show: Callable[[dict], dict] = dict) -> list[dict]:
        """The model-visible list, newest first.

        own       the call being answered: its entry says `summary`, never `result`
        view      joined to the recorded result that is shown in full
        withheld  ordinals whose content the Agent's Profile hides now
        encode    object -> JSON text for the recorded result's content
        show      what of a recorded result is shown
        """
        shown = self.delivers(own=own)
        return [_strip_row(each, each.ordinal == shown, each.ordinal in withheld, view, encode, show) for each in self.listed(at)]

    def strip_text(self, *, at: str, encode: Callable[[object], str], own: int | None = None, view: Mapping | None = None) -> str:
        """`strip` as JSON text; the row of an operation that did not move is not written again."""
        shown, texts, known = self.delivers(own=own), [], self._texts
        if len(known) > TEXTS_KEPT_MAX:
            known.clear()
        for each in self.listed(at):
            if each.ordinal == shown:
                texts.append(encode(_strip_row(each, True, False, view, encode)))
                continue
            found = known.get(each.ordinal)
            if found is None or found[0].steps is not each.steps:       # who read it moves it, and shows in no row
                found = known[each.ordinal] = (each, encode(_strip_row(each, False, False, None, encode)))
            texts.append(found[1])
        return f"[{','.join(texts)}]"

    def state_form(self, *, at: str, withheld: frozenset[int] = frozenset()) -> list[dict]:
        """The host-only list with ordinals; states only, no content."""
        rows = []
        for each in self.listed(at):
            row = {"ordinal": each.ordinal, "tool": each.tool, "label": label_of(each, each.ordinal in withheld), "state": each.public_state}
            if each.stage:
                row["stage"] = each.stage
            rows.append({**row, "at": each.at, "since": each.since})
        return rows
