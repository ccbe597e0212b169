"""What the tests of every database share: a Worker's hands and one Source."""

from __future__ import annotations

import asyncio

from rulith.adapters.hands import Hands
from rulith.adapters.outbound import Outbound
from rulith.adapters.outcomes import Call
from rulith.adapters.sources import Source
from rulith.adapters.territory import Territory
from rulith.wire.manifest import read_tool

BOUND_S = 100


class DbDesk:
    def __init__(self, folder, dsn="", **vault):
        self.root, self.home = folder / "root", folder / "home"
        for place in (self.root, self.home):
            place.mkdir(exist_ok=True)
        guarded = (("the Source vault", str(self.root / "worker-secrets.json")),)
        self.outbound = Outbound({})
        self.hands = Hands(Territory(str(self.root), str(self.home), guarded=guarded), {}, outbound=self.outbound)
        self.source = Source("orders", "db", dsn, {"type": "db", "dsn": dsn, **vault})

    def compile(self, entry, arguments=None, *, writes=False, source=None, object_bytes=2**20, **params):
        made = read_tool("acme.rows@1", {"adapter": "db-exec-fenced" if writes else "db-query", "sourceTypes": ["db"], "entry": entry, "params": params})
        return self.hands.compile(Call("inv_1", "key", made, arguments or {}, source or self.source, object_bytes=object_bytes))

    def run(self, entry, arguments=None, **more):
        return asyncio.run(asyncio.wait_for(self.compile(entry, arguments, **more).run(), BOUND_S))
