"""The home and the host of benchmarks/workbench.py.

    python benchmarks/workbench_home.py fill HOME AGENTS CASES     beside the first Agent, so many; Cases spread over all
    python benchmarks/workbench_home.py host HOME                  `start`, whose Workers tell as many events as each line of stdin says

Agents, Connections and Cases are written by the product's own authority while no gateway
runs. The host is the product's own; only the events come from no Worker.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from rulith import host  # noqa: E402
from rulith.__main__ import main  # noqa: E402
from rulith.base.canonical import digest  # noqa: E402
from rulith.base.clock import SystemClock  # noqa: E402
from rulith.base.ids import mint, mint_token  # noqa: E402
from rulith.disk.example import capability_text  # noqa: E402
from rulith.disk.home import Home  # noqa: E402
from rulith.disk.profiles import agent_secrets, create_profile, list_profiles, worker_secrets, write_role_env  # noqa: E402
from rulith.gateway.authority import Authority, token_hash  # noqa: E402
from rulith.gateway.passphrase import hash_passphrase  # noqa: E402
from rulith.store.ledger import Ledger  # noqa: E402
from rulith.workbench.bench import Workbench  # noqa: E402

SLICE = 100                      # events of one turn of the loop, as pipes deliver them
OWNER = {"kind": "person", "by": "owner", "signInAgeS": 0}
TYPES = ("claimed", "ran", "reported", "poll")


async def fill(home: Home, agents: int, cases: int) -> None:
    authority = Authority(Ledger.open(home.ledger, SystemClock()), SystemClock())
    capability = json.loads(capability_text())
    authority.command_registry({"kind": "set_passphrase", "record": hash_passphrase("several words of a benchmark"), "authority": {"kind": "setup_code", "by": "owner"}})
    for number in range(1, agents):
        agent, token, connection, key = mint("agent_", 24), mint_token("rlt_agt_"), mint("conn_", 24), mint_token("rlt_key_")
        name = f"Agent {number}"
        for command in ({"kind": "add_agent", "id": agent, "name": name, "tokenHash": token_hash(token), "authority": OWNER},
                        {"kind": "add_connection", "id": connection, "name": f"Worker {number}", "agentId": agent, "keyHash": token_hash(key), "authority": OWNER}):
            authority.command_registry(command)
        authority.command_board(agent, {"kind": "install_capability", "capability": capability, "digest": digest(capability)})
        profile = create_profile(home, name, agent_id=agent, agent_name=name, connection_id=connection)
        agent_secrets(profile).update({"RULITH_TOKEN": token})
        worker_secrets(profile).update({"RULITH_CONNECTION": connection, "RULITH_CONNECTION_KEY": key})
        write_role_env(profile, "worker", {"RULITH_WORKER_ROOT": str(profile.workspace)})
    known = [profile.agent_id for profile in list_profiles(home)]
    for number in range(cases - 1):          # the first Agent has run the one Case whose proof is opened
        authority.command_board(known[number % len(known)], {"kind": "open_case", "caseType": "verified_calculation",
                                                             "businessKey": {"job_id": f"job-{number:05}"}})
        await asyncio.sleep(0)
    authority.close()


class Told(Workbench):
    """A workbench that is told events from stdin."""

    def begin(self, url: str) -> None:
        super().begin(url)
        self.spawn_task(self._listen(), "events")

    async def _listen(self) -> None:
        reader = asyncio.StreamReader()
        await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        while line := await reader.readline():
            ids = list(self.instances)
            for number in range(int(line)):
                self.tell("worker", ids[number % len(ids)], {"type": TYPES[number % len(TYPES)], "tool": "acme.read@1", "run": f"run_{number:024}"})
                if number % SLICE == 0:
                    await asyncio.sleep(0)
            print("told", self.feed.sequence, flush=True)


if __name__ == "__main__":
    verb, where, *counts = sys.argv[1:]
    if verb == "fill":
        asyncio.run(fill(Home(Path(where)), *map(int, counts)))
    else:
        host.Workbench = Told
        sys.exit(main(["start", "--no-browser", "--home", where]))
