"""All families by name, and how many inputs of each the normal run plays: a few seconds of CPU together."""

from __future__ import annotations

from tests.fuzz.council import Acts, Mentions, Records
from tests.fuzz.council_mcp import Mcp
from tests.fuzz.readers import Capability, Constitution, Grants, JsonRpc, Manifest, Receipts, Sse
from tests.fuzz.served import Console, Forms, Http, Sockets, Tools, WorkerLine

FAMILIES = {each.name: each for each in (JsonRpc, Sse, Manifest, Grants, Constitution, Capability, Receipts, Forms, Console, Http, Sockets, Tools, WorkerLine, Records, Mentions, Acts, Mcp)}
SHORT = {"jsonrpc": 1_200, "sse": 800, "manifest": 700, "grants": 1_500, "constitution": 250, "capability": 70, "receipts": 100, "forms": 300, "console": 150, "http": 300, "sockets": 30, "tools": 250, "worker": 150, "records": 500, "mentions": 1_000, "council": 600, "council_mcp": 500}
SAMPLED = {"sockets": 20}       # one of so many, where the same bytes already go through another family
