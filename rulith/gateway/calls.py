"""The six tools: shape, gate, execution, holding, delivery, and the answer that tells of it.

Promises: a call that is not executed says so and takes no ordinal; an admitted one has a
row before a byte of it leaves; a held one is answered by its outcome, by a person's turn,
or at the hold bound, never twice and never silently. Decides nothing that law decides:
Board and Operations judge, this room carries.

Units   *_s are seconds of the loop's clock.
Source  protocol/mcp-contract.json; the MCP surface, §§3, 4 and 6.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from rulith.base.clock import seconds_of
from rulith.base.errors import Refused, Unknown
from rulith.base.json_text import escaped
from rulith.base.limits import VIEW_BYTES_WRITE_MAX, VIEW_NODES_QUERY_MAX, VIEW_NODES_WRITE_MAX
from rulith.board.operations import DONE, NEEDS_PERSON, REFUSED, WAITING, Operation, call_label
from rulith.board.profiles import Profile
from rulith.board.shapes import BoardPlan, ExternalPlan
from rulith.board.views import View
from rulith.gateway.artifacts import ArtifactDesk
from rulith.gateway.authority import AgentState, Authority
from rulith.gateway.receipts import TerminalReceipts
from rulith.gateway.tool_paths import check_path
from rulith.wire.contract import wire_code
from rulith.wire.jsonrpc import Written, encode_text
from rulith.wire.mcp_server import SURFACE, Call, Session

ARTIFACT_TOOL, READ_TOOL = "ReadArtifact", "QueryBoard"
DISCLOSURE_CODES = ("result_unavailable", "not_authorized", "audience_profile_required", "audience_profile_denied")
IS_ERROR = ',"isError":true'
GATEWAY = {"kind": "gateway"}    # on whose word a decision is asked for or runs out


class ToolCalls:
    """Runs tools/call.

    check_input(tool, arguments)   the contract's own validator; raises Refused bad_command
    hold_s                         how long a call is held before it is answered as running
    """

    def __init__(self, authority: Authority, receipts: TerminalReceipts, artifacts: ArtifactDesk, *, names: tuple[str, ...],
                 check_input: Callable[[str, object], None], hold_s: float) -> None:
        self.authority = authority
        self.names = names
        self._receipts = receipts
        self._artifacts = artifacts
        self._check_input = check_input
        self._hold_s = hold_s
        self._affected: dict[tuple[str, int], list[str]] = {}     # of outcomes not yet answered

    # --- doors -------------------------------------------------------------------------

    async def run(self, session: Session, call: Call, tool: str, arguments: object,
                  admitted: Callable[[int], None]) -> dict | None:
        """The result member of this call; None when its session was replaced while it was held.

        admitted(ordinal)  called once the operation is durable, before any outcome
        Raises Unknown when the store failed under it.
        """
        call.running, call.tool = True, tool
        try:
            answer = await self._run(session, call, tool, arguments, admitted)
        except BaseException as problem:
            if not isinstance(problem, (Unknown, asyncio.CancelledError)):
                self.authority.turns.abandon("a tool call failed inside")     # a bug: loud, and nothing half done
            call.ordinal = None               # what did not become durable leaves its number to another
            call.problem = problem if isinstance(problem, Unknown) else Unknown("interrupted")
            raise
        else:
            call.answer = answer
            return answer
        finally:
            call.running = False
            if call.waiter is not None:
                _release(call)

    async def again(self, session: Session, call: Call) -> dict | None:
        """The answer of a call that came before under the same id; it is never executed a second time."""
        if call.problem is not None:
            raise call.problem
        if not call.running:
            return call.answer
        if call.waiter is None:
            call.waiter = asyncio.get_running_loop().create_future()
        return await asyncio.shield(call.waiter)

    def acknowledge(self, session: Session) -> None:
        """A request of this session arrived: what was delivered to it is acknowledged, by a row that rides along."""
        operations = self._state(session).operations
        if operations.needs_acknowledgement(session.id) and self.authority.takes_rows(session.agent_id):
            self.authority.command_operation(session.agent_id, {"kind": "acknowledge", "session": session.id}, lazily=True)

    def cancelled(self, session: Session, request_id: object) -> None:
        """The client gave a call up: its delivery is void, the operation goes on."""
        call = session.known(request_id) if isinstance(request_id, (str, int)) else None
        if call is None or call.ordinal is None:
            return                      # a read or a refusal; nothing was delivered that counts
        call.cancelled = True
        self._void(session, [call.ordinal] if call.answer is not None else [])

    def lost(self, session: Session, call: Call) -> None:
        """The answer found nobody to read it: nothing it carries was delivered."""
        self._void(session, call.delivers)

    def _void(self, session: Session, ordinals: Sequence[int]) -> None:
        for ordinal in ordinals if self.authority.takes_rows(session.agent_id) else ():
            self.authority.command_operation(
                session.agent_id, {"kind": "void_delivery", "ordinal": ordinal, "session": session.id}, lazily=True)

    def written_again(self, session: Session, call: Call) -> None:
        """The same answer goes out once more: what it carries is delivered now, if it was not."""
        operations = self._state(session).operations
        for ordinal in call.delivers if not call.cancelled else ():
            known = operations.operations.get(ordinal)
            if known is not None and not known.acknowledged_at and session.id not in known.delivered:
                self._command_delivery(session, ordinal)

    def state_form(self, session: Session) -> list[dict]:
        self.expire_decision(session.agent_id)
        at = self.authority.now()
        return self._state(session).operations.state_form(at=at, withheld=self._withheld(session, at))

    # --- what the Agent may see --------------------------------------------------------

    def _profile(self, session: Session) -> Profile | None:
        return self.authority.profile(session.agent_id)

    def _withheld(self, session: Session, at: str = "") -> frozenset[int]:
        """The ordinals of this moment's strip whose outcome the Agent's Profile withholds."""
        profile, state = self._profile(session), self._state(session)
        if profile is None:
            return frozenset()
        return state.names.withheld(profile, state.operations.listed(at or self.authority.now()))

    def _focus(self, session: Session) -> list[str]:
        """The focused Cases that the Agent may see."""
        profile, focus = self._profile(session), list(session.focus.values())
        return focus if profile is None else self._state(session).names.visible_cases(profile, focus)

    def focused_roots(self, session: Session) -> list[dict]:
        shown = set(self._focus(session))
        return [row for row in session.focused_roots() if row["caseId"] in shown]

    def disclosed(self, session: Session, call: Call, answer: dict | None) -> dict | None:
        """An answer as it may go out now: written anew where the Agent's Profile is another than when it was written."""
        profile = self._profile(session)
        if answer is None or (answer is call.answer and call.profile == profile):
            return answer
        operations = self._state(session).operations
        operation = operations.operations.get(call.ordinal) if call.ordinal is not None and call.tool != ARTIFACT_TOOL else None
        if operation is None:
            gone = Refused("result_unavailable", why="what this Agent may see was changed since")
            body = {"accepted": False, "requestExecuted": False, "tool": call.tool, "errorCode": wire_code(gone.code), "teaching": gone.teaching}
            if call.tool == READ_TOOL:
                del body["tool"]
            call.answer = self._answer(session, call, body, is_error=True)
            return call.answer
        body, is_error = self._held_body(session, operation)
        call.answer = self._answer(session, call, body, own=operation.ordinal, is_error=is_error)
        if operation.is_settled:
            self._deliver(session, call, operation.ordinal)
        return call.answer

    def _held_body(self, session: Session, operation: Operation) -> tuple[dict, bool]:
        """(the body that tells of an operation as it stands, whether it is an error), under what the Agent may see now."""
        profile, board = self._profile(session), self._state(session).board
        withheld = bool(board.withheld(profile, [operation]))
        if operation.is_settled and operation.result is not None and not withheld:
            body = {**operation.result, "view": self._view(session)}
            if isinstance(body.get("result"), dict):
                body["result"] = board.shown_result(profile, body["result"])
            return body, not operation.result["accepted"]
        if operation.is_settled:
            return {"state": operation.public_state, "contentWithheld": True, "view": self._view(session)}, False
        teaching, trouble = _HELD[operation.public_state], self.authority.turns.trouble
        if operation.state == NEEDS_PERSON and operation.reason and not withheld:
            teaching = f"{operation.reason} {teaching}"
        if trouble:
            teaching = f"{teaching} The gateway cannot commit at the moment: {trouble}"
        return {"state": operation.public_state, "teaching": teaching, "view": self._view(session)}, False

    async def refuse_unexecuted(self, session: Session, call: Call, tool: str, refusal: Refused) -> dict:
        """The answer of a call that was not executed: no operation, no ordinal, the same again if repeated."""
        body: dict = {"accepted": False, "requestExecuted": False, "tool": tool,
                      "errorCode": wire_code(refusal.code), "teaching": refusal.teaching}
        if tool == READ_TOOL:
            del body["tool"]
        if tool != ARTIFACT_TOOL and refusal.code not in DISCLOSURE_CODES:
            body["view"] = self._view(session)
        call.tool = tool
        answer = self._answer(session, call, body, is_error=True)
        await self.authority.settled()
        call.answer = answer
        return answer

    def expire_decision(self, agent_id: str) -> None:
        """Judge the expiry of a waiting decision; it is judged when looked at, never by a sweep."""
        state = self.authority.agents[agent_id]
        waiting = state.operations.unresolved()
        if waiting is None or waiting.state != WAITING or not self.authority.takes_rows(agent_id):
            return
        expires = waiting.decision.get("expiresAt")
        if expires and self.authority.clock.wall_s() >= seconds_of(expires):
            self.authority.command_registry({"kind": "expire_decision", "id": waiting.decision["id"], "authority": GATEWAY})
            self.authority.command_operation(agent_id, {"kind": "decide", "ordinal": waiting.ordinal, "verdict": "expire"})
            self.record_refusal(agent_id, waiting.ordinal)

    def record_refusal(self, agent_id: str, ordinal: int) -> None:
        """Let the Board remember that no person allowed this call, so that no rule asks for the very same again."""
        refused = self.authority.agents[agent_id].operations.operation(ordinal)
        self.authority.command_board(agent_id, {"kind": "record_refusal", "ordinal": ordinal, "plan": dict(refused.plan),
                                                "reason": refused.reason})

    # --- one call ----------------------------------------------------------------------

    async def _run(self, session: Session, call: Call, tool: str, arguments: object,
                   admitted: Callable[[int], None]) -> dict | None:
        await self.authority.free(session.agent_id)
        if session.replaced:
            return None
        try:
            self._check_input(tool, arguments)
            if tool == READ_TOOL:
                self.acknowledge(session)
                return await self._query(session, call, arguments)
            self.authority.check_writable()
            self.expire_decision(session.agent_id)
            refusal = self._state(session).operations.gate(session.id, tool, self._withheld(session))
            if refusal is not None:
                raise refusal
            if tool == ARTIFACT_TOOL:
                self.acknowledge(session)
                return await self._read_artifact(session, call, arguments, admitted)
        except Refused as refusal:
            self.acknowledge(session)
            return await self.refuse_unexecuted(session, call, tool, refusal)
        if tool == "ApplyAction":
            return await self._apply_action(session, call, arguments, admitted)
        command = self._board_command(session, tool, arguments)
        return await self._settle_at_once(session, call, tool, arguments, command, admitted)

    async def _read_artifact(self, session: Session, call: Call, arguments: dict, admitted: Callable[[int], None]) -> dict | None:
        """Content by reference. The bytes come first and the row says only that they were read: nothing of them is kept."""
        shown, local, case_ids = await self._artifacts.read(session.agent_id, arguments, call.custodian)
        await self.authority.free(session.agent_id)
        if session.replaced:
            return None
        self.authority.check_writable()
        ordinal = self._state(session).operations.last_ordinal + 1
        settled = {"state": DONE, "result": {"accepted": True, "result": {"ref": shown["ref"]}}, "summary": "The content was read."}
        self.authority.command_operation(session.agent_id, {"kind": "several", "commands": [
            {"kind": "admit", "tool": ARTIFACT_TOOL, "label": call_label(ARTIFACT_TOOL, arguments), "session": session.id, "caseIds": list(case_ids),
             "settled": settled, **_seen_under(self._profile(session))},
            {"kind": "deliver", "ordinal": ordinal, "session": session.id}]})
        call.ordinal = ordinal
        answer = self._answer(session, call, {"accepted": True, "result": shown}, own=ordinal, beside=local)
        await self.authority.settled()
        admitted(ordinal)
        return answer

    def _board_command(self, session: Session, tool: str, arguments: dict) -> dict:
        if tool == "OpenCase":
            if "caseId" in arguments:
                return {"kind": "focus_case", "caseId": arguments["caseId"]}
            return {"kind": "open_case", **{name: arguments[name] for name in ("caseType", "businessKey") if name in arguments}}
        if tool == "ApplyBatch":
            return {"kind": "apply_batch", "operations": arguments["operations"], "focus": self._focus(session)}
        return {"kind": "close_case", "obligations": [], **arguments}

    async def _settle_at_once(self, session: Session, call: Call, tool: str, arguments: dict, command: dict | None,
                              admitted: Callable[[int], None], *, refusal: Refused | None = None) -> dict:
        """A call that the Board alone settles: admitted, settled and delivered in one commit."""
        state, affected, changed = self._state(session), [], ()
        focus_before = dict(session.focus)
        result: dict = {}
        if refusal is None:
            try:
                profile = self._profile(session)
                state.board.check_sight(profile, command)
                outcome = await self.authority.run_board(session.agent_id, command)
                affected, changed, result = outcome.affected_cases, outcome.changed, outcome.result
                self._move_focus(session, tool, result)
            except Refused as refused:
                refusal = refused if command is None else state.board.shielded(self._profile(session), refused, self.authority.policy(session.agent_id))
        profile = self._profile(session)
        if refusal is None:
            public: dict = {"accepted": True, "result": state.board.shown_result(profile, result)}
            settled: dict = {"state": DONE, "result": public, "summary": _summary(tool, result)}
        else:
            public = {"accepted": False, "errorCode": wire_code(refusal.code), "teaching": refusal.teaching}
            settled = {"state": REFUSED, "result": public, "summary": refusal.teaching[:500], "reason": refusal.teaching[:500]}
        ordinal = state.operations.last_ordinal + 1
        case_ids = affected or state.board.visible_cases(profile, self._case_ids(state, tool, arguments))
        admit = {"kind": "admit", "tool": tool, "label": call_label(tool, arguments), "session": session.id,
                 "caseIds": case_ids, "settled": settled, **_seen_under(profile)}
        if state.operations.needs_acknowledgement(session.id):
            admit["acknowledges"] = True            # the arrival of this very call; one row says all of it
        if not session.replaced:
            admit["delivers"] = True
        self.authority.command_operation(session.agent_id, admit)
        call.ordinal = ordinal
        if refusal is None and tool == "CloseCase":
            self._receipts.write(session.agent_id, result["caseId"])
        body = {**public, "view": self._view(session, changed)}
        answer = self._answer(session, call, body, own=ordinal, is_error=refusal is not None,
                              affected=affected if refusal is None else None)
        call.delivers = (*call.delivers, ordinal)
        try:
            await self.authority.settled()
        except Unknown:
            session.focus = focus_before
            raise
        admitted(ordinal)
        return answer

    def _move_focus(self, session: Session, tool: str, result: dict) -> None:
        if tool == "OpenCase":
            session.focus[result["root"]] = result["caseId"]
        elif tool == "CloseCase":
            session.focus.pop(result["root"], None)

    def _case_ids(self, state: AgentState, tool: str, arguments: dict) -> list[str]:
        """The Cases a refused call was about, as far as its own input names one that exists."""
        named = arguments.get("caseId")
        root = arguments.get("root") or arguments.get("target")
        if named is None and root:
            named = state.board.case_of_root(root)
        return [named] if state.board.has_case(named) else []

    # --- Actions -----------------------------------------------------------------------

    async def _apply_action(self, session: Session, call: Call, arguments: dict,
                            admitted: Callable[[int], None]) -> dict | None:
        state, focus = self._state(session), self._focus(session)
        action, args, target = arguments["action"], arguments.get("args", {}), arguments.get("target")
        try:
            plan = state.board.plan_action(action, args, target, self.authority.policy(session.agent_id), focus=focus,
                                           at=self.authority.at(session.agent_id))
            if isinstance(plan, ExternalPlan):
                check_path(plan)
        except Refused as refusal:
            return await self._settle_at_once(session, call, "ApplyAction", arguments, None, admitted, refusal=refusal)
        if isinstance(plan, BoardPlan):
            command = {"kind": "apply_action", "action": action, "args": args, "focus": focus}
            if target is not None:
                command["target"] = target
            return await self._settle_at_once(session, call, "ApplyAction", arguments, command, admitted)
        self.acknowledge(session)
        call.ordinal = self._admit(session, arguments, plan)
        await self.authority.settled()
        admitted(call.ordinal)
        return await self._hold(session, call)

    def _admit(self, session: Session, arguments: dict, plan: ExternalPlan) -> int:
        """Admit an Action for a Worker; where a person decides first, the decision is bound to its exact bytes."""
        agent_id = session.agent_id
        admit: dict = {"kind": "admit", "tool": "ApplyAction", "label": call_label("ApplyAction", arguments),
                       "session": session.id, "caseIds": list(plan.case_ids), "plan": plan.record(), **_seen_under(self._profile(session))}
        if plan.decision is None:
            return self.authority.command_operation(agent_id, admit).result["ordinal"]
        ordinal = self.authority.agents[agent_id].operations.last_ordinal + 1
        opened = self.authority.command_registry({
            "kind": "request_decision", "authority": GATEWAY, "agentId": agent_id, "ordinal": ordinal,
            "decisionKind": plan.decision["kind"], "people": plan.decision["people"], "expiresS": plan.decision["expiresS"],
            "action": plan.action, "argsText": plan.args_text, "target": plan.target,
            "argumentDigest": plan.argument_digest, "premises": list(plan.premises), "caseIds": list(plan.case_ids)}).result
        admit["decision"] = {"id": opened["id"], "kind": plan.decision["kind"], "expiresAt": opened["expiresAt"]}
        self.authority.command_operation(agent_id, admit)
        return ordinal

    async def _hold(self, session: Session, call: Call) -> dict | None:
        """Wait for the outcome, for a person's turn, or for the bound; then answer."""
        loop, agent_id = asyncio.get_running_loop(), session.agent_id
        deadline = loop.time() + self._hold_s
        while True:
            self.expire_decision(agent_id)
            await self.authority.settled()
            await self.authority.free(agent_id)
            if session.replaced:
                return None
            operation = self.authority.agents[agent_id].operations.operation(call.ordinal)
            left = deadline - loop.time()
            is_over = left <= 0 or self.authority.closing or self.authority.turns.is_sick
            if operation.is_settled or operation.state in (WAITING, NEEDS_PERSON) or is_over:
                return await self._held_answer(session, call, operation)
            await self.authority.wait_change((agent_id,), left)

    async def _held_answer(self, session: Session, call: Call, operation: Operation) -> dict:
        affected = self._affected.pop((session.agent_id, operation.ordinal), None) if operation.is_settled else None
        body, is_error = self._held_body(session, operation)
        answer = self._answer(session, call, body, own=operation.ordinal, affected=affected, is_error=is_error)
        if operation.is_settled:
            self._deliver(session, call, operation.ordinal)
        await self.authority.settled()
        return answer

    def _deliver(self, session: Session, call: Call, ordinal: int) -> None:
        call.delivers = (*call.delivers, ordinal)
        if not call.cancelled:
            self._command_delivery(session, ordinal)

    def _command_delivery(self, session: Session, ordinal: int) -> None:
        if self.authority.takes_rows(session.agent_id):
            self.authority.command_operation(session.agent_id, {"kind": "deliver", "ordinal": ordinal, "session": session.id},
                                             lazily=True)

    def note_affected(self, agent_id: str, ordinal: int, case_ids: list[str]) -> None:
        """An outcome moved these Cases; the held call that is waiting for it will say so."""
        self._affected[agent_id, ordinal] = case_ids
        while len(self._affected) > 256:          # callers that never came back
            del self._affected[next(iter(self._affected))]

    # --- reading -----------------------------------------------------------------------

    async def _query(self, session: Session, call: Call, arguments: dict) -> dict:
        self.expire_decision(session.agent_id)
        board = self._state(session).board
        view = board.query(self._profile(session), self._focus(session), self.authority.policy(session.agent_id), arguments,
                           nodes_max=min(arguments.get("limit", VIEW_NODES_QUERY_MAX), VIEW_NODES_QUERY_MAX), at=self.authority.now())
        body = {"accepted": True, "view": view, "observation": {"consistency": "committed"}}
        answer = self._answer(session, call, body)
        await self.authority.settled()
        return answer

    def _view(self, session: Session, changed: tuple | list = ()) -> dict:
        return self._state(session).board.view(self._profile(session), self._focus(session), self.authority.policy(session.agent_id),
                                               nodes_max=VIEW_NODES_WRITE_MAX, bytes_max=VIEW_BYTES_WRITE_MAX, first=changed, at=self.authority.now())

    def _answer(self, session: Session, call: Call, body: dict, *, own: int | None = None, is_error: bool = False,
                affected: list[str] | None = None, beside: dict | None = None) -> dict:
        """The result member: one JSON text with the strip, host metadata beside it, and `beside` that.

        A strip that carries an earlier outcome in full delivers it to this session.
        """
        operations = self._state(session).operations
        at, call.profile = self.authority.now(), self._profile(session)
        if call.profile is None:
            strip = operations.strip_text(at=at, own=own, view=body.get("view"), encode=encode_text)
        else:
            board = self._state(session).board
            strip = encode_text(operations.strip(at=at, own=own, view=body.get("view"), encode=encode_text, withheld=self._withheld(session, at),
                                                 show=lambda result: board.shown_result(call.profile, result)))
        text, quoted = _texts_of(body, strip)
        shown = operations.delivers(own=own)
        call.delivers = () if shown is None else (shown,)
        if shown is not None and session.id not in operations.operation(shown).delivered:
            self._command_delivery(session, shown)
        meta: dict = {"agentId": session.agent_id, "focusedRoots": self.focused_roots(session)}
        if affected is not None:
            meta["affectedCases"] = self._state(session).board.visible_cases(call.profile, affected)
        result = Written(content=[{"type": "text", "text": text}])
        if is_error:
            result["isError"] = True
        result["_meta"] = {SURFACE: meta, **(beside or {})}
        result.text = (f'{{"content":[{{"type":"text","text":"{quoted}"}}]{IS_ERROR if is_error else ""},'
                       f'"_meta":{encode_text(result["_meta"])}}}')
        return result

    def _state(self, session: Session) -> AgentState:
        return self.authority.agents[session.agent_id]


def _seen_under(profile: Profile | None) -> dict:
    """The member of `admit` that says what the Agent could see."""
    return {"profile": profile.record()} if profile is not None else {}


def _release(call: Call) -> None:
    """Let the retransmissions that wait for this call hear its end."""
    waiter, call.waiter = call.waiter, None
    if call.problem is None:
        waiter.set_result(call.answer)
    else:
        waiter.set_exception(call.problem)
        waiter.exception()          # all who waited may have gone; that is no second error


def _texts_of(body: dict, strip: str) -> tuple[str, str]:
    """The answer's one JSON text, and the same as the inside of a JSON string; a view is not written again where it knows its own."""
    texts, quoted = [], []
    for name, value in body.items():
        if isinstance(value, View):
            texts.append(f'"{name}":{value.text}')
            quoted.append(f'\\"{name}\\":{value.escaped}')
        else:
            text = f'"{name}":{"true" if value is True else encode_text(value)}'
            texts.append(text)
            quoted.append(escaped(text))
    texts.append(f'"operations":{strip}')
    quoted.append(escaped(texts[-1]))
    return f"{{{','.join(texts)}}}", f"{{{','.join(quoted)}}}"


_HELD = {
    "running": "The operation goes on. Its outcome will show in `operations`; do not send it again.",
    "waiting_for_decision": "A person must decide before anything runs. Its outcome will show in `operations`.",
    "needs_person": "Whether the effect took place is not known; a person settles it in the Console. Do not repeat it.",
}


def _summary(tool: str, result: dict) -> str:
    """One line of what a settled call did, for strips that no longer carry its result."""
    if tool == "OpenCase":
        return "The Case was opened." if result.get("opened") else "The Case is in focus."
    if tool == "CloseCase":
        return f"The Case was closed as {result.get('disposition', 'completed')}."
    if tool == "ApplyBatch":
        return f"The batch was applied; {len(result.get('nodeIds', []))} nodes were written."
    return "The Action was applied."
