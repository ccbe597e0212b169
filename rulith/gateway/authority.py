"""The authority: one ledger, and the machines of law that are its fold.

Opens the ledger, folds every row into Registry, Boards and Operations, and turns accepted
commands into rows. Promises: a change exists in memory only together with its staged row;
after a failed commit the touched machines are what the ledger holds; stamps of one chain
only ascend. Decides nothing that law decides; knows no HTTP.

Units   `at` is an RFC 3339 stamp with milliseconds, UTC.
Source  the design's rules on ledgers and folds (D5, D7).
"""

from __future__ import annotations

import asyncio
import gc
import json
import sys
from array import array
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import ThreadPoolExecutor

from rulith.base.canonical import Spelled, canonical_text, sha256_hex
from rulith.base.clock import Clock, just_after, stamp
from rulith.base.errors import Refused, Unknown
from rulith.base.ids import mint
from rulith.base.limits import LOOP_STEPS_MAX, SWITCH_S
from rulith.board.artifacts import Artifacts
from rulith.board.board import Board
from rulith.board.machine import Machine
from rulith.board.operations import Operations
from rulith.board.orders import Orders
from rulith.board.profiles import Profile
from rulith.board.registry import Registry
from rulith.board.shapes import Outcome, Policy
from rulith.gateway.turns import Turns
from rulith.net.link import within
from rulith.rules.engine import Postponed

GATEWAY_CHAIN = "gateway"
RESTED_S = 20.0                                       # one command beside the loop takes a few seconds; many in a row never end
ANYTHING = "*"                                        # the topic of those who watch every chain
REGISTRY, BOARD, OPERATION, RECEIPT = "registry", "board", "operation", "receipt"
ARTIFACT, ORDER = "artifact", "order"                 # what a Worker registered; what a person asked a Source
AUDIT = "audit"                                       # kept to be read by people; folds skip it


def token_hash(token: str) -> str:
    """What the Registry keeps instead of a token or key; these are 256 random bits, so a plain hash is enough."""
    return sha256_hex(token.encode("utf-8", "surrogatepass"))


def draw(prefix: str) -> str:
    """A fresh id for law, which cannot draw one itself."""
    return mint(prefix, 24)


def _as_stored(command: dict) -> dict:
    """As the ledger will give it back, members in canonical order: law must not see an order that a replay does not have."""
    text = canonical_text(command)
    stored = Spelled(json.loads(text))
    stored.text = text
    return stored


def _quickly_switched(work: Callable[[], Outcome]) -> Outcome:
    """Run `work` in a thread that gives way to the loop often; the cycle collector, which gives way to nobody, rests meanwhile."""
    before, collecting = sys.getswitchinterval(), gc.isenabled()
    sys.setswitchinterval(SWITCH_S)
    gc.disable()
    try:
        return work()
    finally:
        sys.setswitchinterval(before)
        if collecting:
            if gc.get_freeze_count() == 0:
                gc.freeze()         # the pair makes everything old at once, unwalked
                gc.unfreeze()
            gc.enable()


def _end(state: AgentState) -> None:
    busy, state.busy = state.busy, None
    if busy is not None and not busy.done():
        busy.set_result(None)


class CaseRows:
    """Which rows of one chain belong to which open Case, as stretches of even steps.

    An Agent at work on one Case alternates rows of its Board with rows of its calls, so such work costs three numbers.
    """

    def __init__(self) -> None:
        self._stretches: dict[str, array[int]] = {}    # first and last sequence number of each, and the step between; ascending

    def note(self, seq: int, case_id: str) -> None:
        """A row was added; rows come in order, and one may be told of twice."""
        known = self._stretches.setdefault(case_id, array("Q"))
        if not known:
            known.extend((seq, seq, 1))
            return
        first, last, step = known[-3:]
        if seq <= last:
            return
        if first == last:
            known[-2], known[-1] = seq, seq - last      # the second one says the step
        elif seq == last + step:
            known[-2] = seq
        else:
            known.extend((seq, seq, 1))

    def get(self, case_id: str, default: Collection[int] = ()) -> Collection[int]:
        """The sequence numbers of the rows of an open Case."""
        known = self._stretches.get(case_id)
        return default if known is None else {seq for first, last, step in zip(known[::3], known[1::3], known[2::3]) for seq in range(first, last + 1, step)}

    def __getitem__(self, case_id: str) -> Collection[int]:
        return self.get(case_id, set())

    def drop(self, case_id: str) -> None:
        self._stretches.pop(case_id, None)


class AgentState:
    """One Agent's machines, and which of its rows belong to which Case."""

    def __init__(self, agent_id: str, recall: Callable[[str], dict | None]) -> None:
        self.agent_id = agent_id
        self._board = Board(agent_id, recall)
        self.busy: asyncio.Future | None = None        # while a command runs beside the loop; done when it has ended
        self.operations = Operations(agent_id)
        self.artifacts, self.orders = Artifacts(), Orders()
        self.case_rows = CaseRows()                    # until the Case's receipt lists them
        self.receipts: dict[str, int] = {}             # caseId -> sequence number of its Terminal Receipt

    @property
    def board(self) -> Board:
        """Raises Refused board_at_work while a long command runs on it beside the loop: nobody may look at it half done."""
        if self.busy is not None:
            raise Refused("board_at_work", agent=self.agent_id)
        return self._board

    @property
    def names(self) -> Board:
        """The Board, for whoever looks only at Cases and Releases that are there: no command beside the loop moves those half way."""
        return self._board

    def note(self, seq: int, case_ids: list[str]) -> None:
        for case_id in case_ids:
            self.case_rows.note(seq, case_id)

    def note_receipt(self, seq: int, case_id: str) -> None:
        self.receipts[case_id] = seq
        self.case_rows.drop(case_id)


class Authority:
    """The machines over one open ledger.

    live_tools  set by the Worker line: () -> (connection id -> {tool id: digest advertised now}, version)
    """

    def __init__(self, ledger, clock: Clock) -> None:
        self.ledger = ledger
        self.clock = clock
        self.live_tools: Callable[[], tuple[dict[str, dict[str, str]], object]] = lambda: ({}, ())
        self.on_refold: list[Callable[[set[str]], None]] = []
        self.registry = Registry()
        self.agents: dict[str, AgentState] = {}
        self.closing = False                           # set once: held calls and polls answer with what is so now
        self.version = 1                               # grows with every durable change; page long-polls wait on it
        self.moved: dict[str, int] = {}                # Agent -> the version of its last change
        self._last_at: dict[str, str] = {}
        self._staged: list = []
        self._watchers: dict[str, set[asyncio.Future]] = {}
        self._beside_loop = ThreadPoolExecutor(1, "long-command")      # starts its thread when it is first needed
        self.turns = Turns(ledger, refold=self._refold, committed=self._after_commit)
        self._fold_all()

    # --- folding -----------------------------------------------------------------------

    def _fold_all(self) -> None:
        self._fold_gateway()
        for agent_id in self.registry.agent_ids():
            self._fold_agent(agent_id)

    def _fold_gateway(self) -> None:
        self.registry = Registry()
        self._last_at.pop(GATEWAY_CHAIN, None)
        for row in self.ledger.rows(GATEWAY_CHAIN):
            self._last_at[GATEWAY_CHAIN] = row.at
            if row.kind == REGISTRY:
                self._replayed(self.registry, row)

    def _fold_agent(self, agent_id: str) -> None:
        state = self.agents[agent_id] = self._new_state(agent_id)
        self._last_at.pop(agent_id, None)
        for row in self.ledger.rows(agent_id):
            self._last_at[agent_id] = row.at
            if row.kind == BOARD:
                state.note(row.seq, self._replayed(state.board, row).affected_cases)
            elif row.kind == OPERATION:
                self._note_operation(state, row, self._replayed(state.operations, row))
            elif row.kind in (ARTIFACT, ORDER):
                self._replayed(state.artifacts if row.kind == ARTIFACT else state.orders, row)
            elif row.kind == RECEIPT:
                state.note_receipt(row.seq, row.body["case"]["caseId"])

    def _replayed(self, machine: Machine, row) -> Outcome:
        """One row folded again. Raises Refused ledger_unfoldable where it no longer gives what it gave."""
        try:
            return machine.replay(row.body)
        except Exception as problem:       # a refusal, another result, or a row this release cannot read: none may be passed over
            said = str(problem) or type(problem).__name__
            raise Refused("ledger_unfoldable", seq=row.seq, chain=row.chain, path=str(getattr(self.ledger, "path", "in memory")),
                          problem=said[:200]) from problem

    def _new_state(self, agent_id: str) -> AgentState:
        return AgentState(agent_id, lambda case_id: self.receipt_document(agent_id, case_id))

    def _refold(self, chains: set[str]) -> None:
        self._staged.clear()
        if GATEWAY_CHAIN in chains:
            self._fold_gateway()
        known = set(self.registry.agent_ids())
        for agent_id in [each for each in self.agents if each not in known]:
            del self.agents[agent_id]
        for agent_id in known:
            if agent_id in chains or agent_id not in self.agents:
                self._fold_agent(agent_id)
        for hear in self.on_refold:
            hear(chains)
        self._wake({*chains, *self._watchers})      # whoever waits for a commit looks up and sees that they fail

    # --- commands ----------------------------------------------------------------------

    def now(self) -> str:
        return stamp(self.clock.wall_s())

    def at(self, chain: str) -> str:
        """The stamp of the next row of `chain`: now, or just after the last one when the clock stood still or went back."""
        fresh, last = self.now(), self._last_at.get(chain)
        return fresh if last is None or fresh > last else just_after(last)

    def check_writable(self) -> None:
        self.turns.check_writable(self.at(GATEWAY_CHAIN))

    def command_registry(self, command: dict) -> Outcome:
        """Run one Registry command; its row is staged. Raises Refused with nothing changed."""
        at = self.at(GATEWAY_CHAIN)
        outcome = self._executed(self.registry, GATEWAY_CHAIN, command, at)
        self._stage(GATEWAY_CHAIN, REGISTRY, outcome.row, at)
        for agent_id in self.registry.agent_ids():
            if agent_id not in self.agents:
                self.agents[agent_id] = self._new_state(agent_id)
        return outcome

    def command_board(self, agent_id: str, command: dict) -> Outcome:
        """Run one Board command of this Agent; its row is staged. Raises Refused with nothing changed."""
        state, at = self.agents[agent_id], self.at(agent_id)
        return self._recorded(state, self._executed(state.board, agent_id, _as_stored(command), at), at)

    def _recorded(self, state: AgentState, outcome: Outcome, at: str) -> Outcome:
        row = self._stage(state.agent_id, BOARD, outcome.row, at)
        state.note(row.seq, outcome.affected_cases)
        return outcome

    async def run_board(self, agent_id: str, command: dict) -> Outcome:
        """As `command_board`; a command of many steps runs beside the loop, where it keeps nobody but its own Agent waiting.

        Raises Refused with nothing changed, and Unknown where the Agent was folded again meanwhile.
        """
        await self.free(agent_id)
        state, at, command = self.agents[agent_id], self.at(agent_id), _as_stored(command)
        program = state.board.state.program
        program.pause_after = LOOP_STEPS_MAX
        try:
            return self._recorded(state, self._executed(state.board, agent_id, command, at), at)
        except Postponed:
            pass                                       # taken back whole, the numbering of values included
        finally:
            program.pause_after = None
        outcome = await self._beside(state, command, at)
        if self.agents.get(agent_id) is not state:
            raise Unknown("turn_abandoned", "its Board was folded again while it ran")
        return self._recorded(state, outcome, at)

    async def _beside(self, state: AgentState, command: dict, at: str) -> Outcome:
        """Execute on the Board in the one thread for this; whoever wants that Board waits in `free`."""
        loop = asyncio.get_running_loop()
        board, state.busy = state.board, loop.create_future()
        work = loop.run_in_executor(self._beside_loop, _quickly_switched, lambda: board.execute(command, at=at, mint=draw))
        given_up = False
        try:
            return await asyncio.shield(work)
        except asyncio.CancelledError:
            given_up = True
            work.add_done_callback(lambda done: self._let_go(state, done))
            raise
        except Refused:
            raise
        except Exception:
            self.turns.abandon("a command failed inside", doubted=state.agent_id)
            raise
        finally:
            if not given_up:
                _end(state)

    def _let_go(self, state: AgentState, work: asyncio.Future) -> None:
        """Whoever asked went away before the end: what its command moved was told to nobody, and is folded away."""
        _end(state)
        if not work.cancelled() and work.exception() is None and self.agents.get(state.agent_id) is state and not self.closing:
            self.turns.abandon("its caller was gone", doubted=state.agent_id)

    async def free(self, agent_id: str) -> None:
        """Return once no command runs on this Agent's Board beside the loop."""
        while (state := self.agents.get(agent_id)) is not None and state.busy is not None:
            await asyncio.wait([state.busy])

    async def rested(self) -> None:
        """Return once no command runs beside the loop on any Board, for whoever looks at all of them. Raises Refused board_at_work."""
        loop = asyncio.get_running_loop()
        until = loop.time() + RESTED_S
        while at_work := next((state for state in self.agents.values() if state.busy is not None), None):
            if loop.time() >= until:
                raise Refused("board_at_work", agent=at_work.agent_id)
            await asyncio.wait([at_work.busy], timeout=until - loop.time())

    def takes_rows(self, agent_id: str) -> bool:
        """Whether a row that no answer depends on may be staged for this Agent now."""
        return not self.turns.is_sick and self.agents[agent_id].busy is None

    def command_operation(self, agent_id: str, command: dict, *, lazily: bool = False) -> Outcome:
        """Run one Operations command of this Agent; its row is staged.

        lazily  no answer depends on it, so it rides the next commit instead of causing one
        """
        state, at = self.agents[agent_id], self.at(agent_id)
        if state.busy is not None:
            raise Refused("board_at_work", agent=agent_id)        # its row would come before one with an earlier stamp
        outcome = self._executed(state.operations, agent_id, command, at)
        row = self._stage(agent_id, OPERATION, outcome.row, at, lazily=lazily)
        self._note_operation(state, row, outcome)
        return outcome

    def command_artifact(self, agent_id: str, command: dict) -> Outcome:
        """Run one command of this Agent's Artifacts; its row is staged."""
        return self._commanded(agent_id, self.agents[agent_id].artifacts, ARTIFACT, command)

    def command_order(self, agent_id: str, command: dict) -> Outcome:
        """Run one command of this Agent's Orders; its row is staged."""
        return self._commanded(agent_id, self.agents[agent_id].orders, ORDER, _as_stored(command))

    def _commanded(self, agent_id: str, machine: Machine, kind: str, command: dict) -> Outcome:
        at = self.at(agent_id)
        if self.agents[agent_id].busy is not None:
            raise Refused("board_at_work", agent=agent_id)
        outcome = self._executed(machine, agent_id, command, at)
        self._stage(agent_id, kind, outcome.row, at)
        return outcome

    def audit(self, chain: str, body: dict) -> None:
        """Stage a row that moves nothing and is kept for people to read."""
        self._stage(chain, AUDIT, body, self.at(chain))

    def record_receipt_document(self, agent_id: str, document: dict) -> None:
        """Stage a Case's signed Terminal Receipt."""
        row = self._stage(agent_id, RECEIPT, document, self.at(agent_id))
        self.agents[agent_id].note_receipt(row.seq, document["case"]["caseId"])

    def _executed(self, machine: Machine, chain: str, command: dict, at: str) -> Outcome:
        try:
            return machine.execute(command, at=at, mint=draw)
        except (Refused, Postponed):
            raise
        except Exception:
            # It may have moved before the bug struck, and then it would go on holding what no row says.
            self.turns.abandon("a command failed inside", doubted=chain)
            raise

    def _note_operation(self, state: AgentState, row, outcome: Outcome) -> None:
        state.note(row.seq, list(outcome.affected_cases))

    def _stage(self, chain: str, kind: str, body: dict, at: str, *, lazily: bool = False):
        stage = self.turns.stage_lazily if lazily else self.turns.stage
        row = stage(chain, kind, body, at)
        self._last_at[chain] = at
        self._staged.append(row)
        return row

    # --- reading -----------------------------------------------------------------------

    def policy(self, agent_id: str) -> Policy:
        """What this Agent's Board may know of the world around it now."""
        live, version = self.live_tools()
        return self.registry.policy(agent_id, live=live, live_version=version)

    def profile(self, agent_id: str) -> Profile | None:
        """What this Agent may see of its Board; None for everything."""
        return self.registry.profile(agent_id)

    def agent_of_token(self, token: str) -> str | None:
        return self.agent_of_token_hash(token_hash(token))

    def agent_of_token_hash(self, hashed: str) -> str | None:
        return self.registry.agent_by_token_hash(hashed)

    def rows(self, chain: str, after: int = 0) -> Iterator:
        """Rows of a chain, the staged ones of this turn included."""
        last = after
        for row in self.ledger.rows(chain, after):
            last = row.seq
            yield row
        for row in self._staged:
            if row.chain == chain and row.seq > last:
                yield row

    def receipt_document(self, agent_id: str, case_id: str) -> dict | None:
        """The Terminal Receipt of a Case as it was signed, or None."""
        seq = self.agents[agent_id].receipts.get(case_id)
        if seq is None:
            return None
        return next(row.body for row in self.rows(agent_id, seq - 1))

    # --- waiting -----------------------------------------------------------------------

    def _after_commit(self, chains: set[str]) -> None:
        self._staged.clear()
        self._wake(chains)

    def _wake(self, topics: set[str]) -> None:
        self.version += 1
        self.moved.update((topic, self.version) for topic in topics if topic in self.agents)
        for topic in (*topics, ANYTHING):
            for watcher in self._watchers.pop(topic, ()):
                if not watcher.done():
                    watcher.set_result(None)

    def touched(self, topic: str) -> None:
        """Something that is no row changed (a line went on or off); let those who wait on `topic` look again."""
        self._wake({topic})

    def wake_all(self) -> None:
        """Let everyone who waits look again; the gateway is about to end."""
        self.closing = True
        self._wake(set(self._watchers))

    async def wait_change(self, topics: tuple[str, ...], timeout_s: float) -> bool:
        """Wait until a commit touched one of `topics` (chains, or ANYTHING); False when `timeout_s` passed first."""
        watcher = asyncio.get_running_loop().create_future()
        for topic in topics:
            self._watchers.setdefault(topic, set()).add(watcher)
        try:
            await within(timeout_s, watcher)
        except asyncio.TimeoutError:
            return False
        finally:
            for topic in topics:
                self._watchers.get(topic, set()).discard(watcher)
        return True

    async def settled(self) -> None:
        """Return once all that was staged so far is durable. Raises Unknown when it could not be made so."""
        await self.turns.settled()

    def close(self) -> None:
        """Commit what is staged and let the ledger go."""
        try:
            self.turns.flush()
        except Unknown:
            pass    # whoever waited has been told; the ledger holds what it holds
        self.ledger.close()
