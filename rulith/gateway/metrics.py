"""`GET /metrics`: the gateway in numbers, in the text form that Prometheus reads.

Read with the token of `gateway/metrics-token` in the home (a file of the owner's, for
`credentials_file`) or with the device grant. Names no Case, no person and no argument.
Counters begin with the process; gauges are what holds now.

Source  Prometheus text exposition format 0.0.4
"""

from __future__ import annotations

import hmac
import os
import sys
from collections import Counter
from collections.abc import Iterator

from rulith import VERSION
from rulith.base.clock import Clock
from rulith.base.errors import Refused
from rulith.base.ids import mint_token
from rulith.disk.atomic import write_whole
from rulith.disk.home import Home
from rulith.gateway.authority import Authority, token_hash
from rulith.gateway.mcp import bearer
from rulith.gateway.worker_line import WorkerLine
from rulith.net.messages import Request, Response, json_response

PATH = "/metrics"
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
FILE = "metrics-token"


class Metrics:
    """Counts what passes and tells it."""

    def __init__(self, authority: Authority, line: WorkerLine, clock: Clock, home: Home) -> None:
        self._authority = authority
        self._line = line
        self._clock = clock
        self._started_s = clock.wall_s()
        self._requests: Counter[tuple[str, int]] = Counter()
        self._refused: Counter[str] = Counter()
        self._bugs = 0
        self._token_hash = token_hash(_own_token(home))

    # --- counting ----------------------------------------------------------------------

    def answered(self, room: str, status: int) -> None:
        self._requests[room, status] += 1

    def slowed(self, kind: str) -> None:
        self._refused[kind] += 1

    def failed_inside(self) -> None:
        self._bugs += 1

    # --- telling -----------------------------------------------------------------------

    def head_check(self, request: Request) -> Response | None:
        given = bearer(request)
        hashed = token_hash(given) if given else ""
        grant = self._authority.registry.device_grant_hash
        if not (hmac.compare_digest(hashed, self._token_hash) or (grant and hmac.compare_digest(hashed, grant))):
            refusal = Refused("metrics_token_required")
            return json_response(401, {"ok": False, "errorCode": refusal.code, "teaching": refusal.teaching},
                                 [("www-authenticate", "Bearer")])
        if request.method != "GET":
            return json_response(405, {"ok": False, "errorCode": "bad_command", "teaching": "This address is read with GET."}, [("allow", "GET")])
        return None

    async def handle(self, request: Request) -> Response:
        return Response(200, [("content-type", CONTENT_TYPE), ("cache-control", "no-store")], self.text().encode())

    def text(self) -> str:
        lines: list[str] = []
        for name, kind, about, samples in self._families():
            lines += [f"# HELP {name} {about}", f"# TYPE {name} {kind}"]
            lines += [f"{name}{_labels(labels)} {_number(value)}" for labels, value in samples]
        return "\n".join(lines) + "\n"

    def _families(self) -> Iterator[tuple[str, str, str, list[tuple[dict[str, str], float]]]]:
        authority = self._authority
        registry, agents, turns = authority.registry, authority.agents, authority.turns
        yield "rulith_info", "gauge", "The version of the gateway.", [({"version": VERSION}, 1)]
        yield "rulith_uptime_seconds", "gauge", "Seconds since the gateway opened its ledger.", [({}, self._clock.wall_s() - self._started_s)]
        yield ("rulith_http_requests_total", "counter", "Requests that were answered.",
               [({"room": room, "status": str(status)}, count) for (room, status), count in sorted(self._requests.items())])
        yield ("rulith_http_slowed_total", "counter", "Requests that were answered 429.",
               [({"because": kind}, count) for kind, count in sorted(self._refused.items())])
        yield "rulith_bugs_total", "counter", "Requests that failed inside; each has a traceback in the log.", [({}, self._bugs)]
        yield "rulith_agents", "gauge", "Agents of this gateway.", [({}, len(agents))]
        yield ("rulith_operations_total", "counter", "Operations admitted since the ledger began.",
               [({}, sum(state.operations.last_ordinal for state in agents.values()))])
        unsettled = Counter(found.state for state in agents.values() if (found := state.operations.unresolved()) is not None)
        yield "rulith_operations_unsettled", "gauge", "Operations that are not settled, by state.", [({"state": name}, n) for name, n in sorted(unsettled.items())]
        cases = Counter(case.status for state in agents.values() for case in state.board.state.cases.values())
        yield "rulith_cases", "gauge", "Cases on the Boards in memory, by status.", [({"status": name}, n) for name, n in sorted(cases.items())]
        yield ("rulith_board_facts", "gauge", "Facts on the Boards, stated and derived.",
               [({"kind": "stated"}, sum(state.board.state.program.base_count for state in agents.values())),
                ({"kind": "derived"}, sum(state.board.state.program.derived_count for state in agents.values()))])
        yield ("rulith_workers_online", "gauge", "Connections whose line a Worker holds.",
               [({}, sum(self._line.line(each)["state"] == "online" for each in registry.connections))])
        yield "rulith_ledger_rows", "gauge", "Rows in the ledger.", [({}, sum(authority.ledger.head(name)[0] for name in authority.ledger.chains()))]
        yield "rulith_commits_failing", "gauge", "1 while commits fail and no change is accepted.", [({}, int(turns.is_sick))]
        resident = _resident_bytes()
        if resident is not None:
            yield "process_resident_memory_bytes", "gauge", "Resident memory.", [({}, resident)]
        spent = os.times()
        yield "process_cpu_seconds_total", "counter", "User and system time.", [({}, spent.user + spent.system)]


def _labels(labels: dict[str, str]) -> str:
    def escaped(value: str) -> str:
        return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")

    return "{" + ",".join(f'{name}="{escaped(value)}"' for name, value in labels.items()) + "}" if labels else ""


def _number(value: float) -> str:
    return str(value) if isinstance(value, int) else f"{value:.3f}"


def _resident_bytes() -> int | None:
    """Resident memory now; None where the system does not say."""
    if not sys.platform.startswith("linux"):
        return None
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return None


def _own_token(home: Home) -> str:
    """The token of this home's metrics, minted at the first start into a file that only its owner reads."""
    path = home.gateway / FILE
    try:
        found = path.read_text("ascii").strip()
        if found:
            return found
    except FileNotFoundError:
        pass
    except (OSError, ValueError) as problem:
        raise Refused("file_unreadable", path=str(path), problem=getattr(problem, "strerror", None) or "it is not text") from None
    token = mint_token("rlt_met_")
    write_whole(path, (token + "\n").encode(), 0o600)
    return token
