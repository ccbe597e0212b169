"""A home with many Agents for benchmarks/gateway.py: each with the demo Capability, a Connection, a Source and Tool locks.

    python benchmarks/gateway_home.py HOME COUNT

Prints one JSON line with the secrets of each Agent. The rows are written by the product's
own authority, as genesis writes them.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from rulith.base.canonical import digest  # noqa: E402
from rulith.base.clock import SystemClock  # noqa: E402
from rulith.base.ids import mint, mint_token  # noqa: E402
from rulith.base.resources import shipped_text  # noqa: E402
from rulith.disk.example import FOLDER, capability_text  # noqa: E402
from rulith.disk.home import Home  # noqa: E402
from rulith.gateway.authority import Authority, token_hash  # noqa: E402
from rulith.store.ledger import Ledger  # noqa: E402
from rulith.wire.manifest import read_manifest  # noqa: E402


async def fill(home: Home, count: int) -> list[dict]:
    home.prepare()
    authority = Authority(Ledger.open(home.ledger, SystemClock()), SystemClock())
    capability = json.loads(capability_text())
    release = digest(capability)
    tools = read_manifest(shipped_text("examples", FOLDER, "worker-tools.json"))
    attests = sorted({row["predicate"] for tool in tools.values() for row in tool.returns})
    agents, commands = [], []
    for number in range(count):
        agent = {"id": mint("agent_", 24), "token": mint_token("rlt_agt_"), "connection": mint("conn_", 24),
                 "key": mint_token("rlt_key_"), "source": f"files-{number}", "job": f"job-{number}",
                 "tools": [tool.descriptor() for tool in tools.values()]}
        agents.append(agent)
        commands += [
            {"kind": "add_agent", "id": agent["id"], "name": f"Agent {number}", "tokenHash": token_hash(agent["token"])},
            {"kind": "add_connection", "id": agent["connection"], "name": f"Worker {number}", "agentId": agent["id"],
             "keyHash": token_hash(agent["key"])},
            {"kind": "add_source", "name": agent["source"], "type": "file", "access": str(home.path / f"files-{number}"),
             "connectionId": agent["connection"], "tier": "attested", "attests": attests},
            *({"kind": "lock_tool", "connectionId": agent["connection"], "toolId": tool.id, "digest": tool.digest,
               "descriptor": tool.descriptor()} for tool in tools.values())]
    commands.append({"kind": "install_release", "id": capability["id"], "version": capability["version"], "digest": release,
                     "title": capability["title"]})
    authority.command_registry({"kind": "genesis", "commands": commands})
    for agent in agents:
        authority.command_board(agent["id"], {"kind": "install_capability", "capability": capability, "digest": release})
    authority.close()
    return agents


if __name__ == "__main__":
    print(json.dumps(asyncio.run(fill(Home(Path(sys.argv[1])), int(sys.argv[2])))))
