"""Looking into a running gateway: the Capability and the Constitution in force, and the whole ledger checked.

Reads only. The ledger is checked a page of rows at a time, with the loop free in between,
so that leases are renewed and calls answered meanwhile.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from rulith.base.errors import Refused
from rulith.gateway.authority import Authority

PROBLEMS_MAX = 50       # a broken chain breaks in every later row; more says nothing new


def installed_document(authority: Authority, capability_id: str) -> Mapping | None:
    """The Capability file in force under this id, or None."""
    known = authority.registry.releases.get(capability_id)
    for state in authority.agents.values() if known is not None else ():
        held = state.board.state
        for release in (held.releases.get(capability_id), held.next.get(capability_id)):
            if release is not None and release.digest == known["digest"]:
                return release.document
    return None


def show_capability(authority: Authority, capability_id: str) -> dict:
    """{id, version, digest, document}. Raises Refused capability_not_installed."""
    document = installed_document(authority, capability_id)
    if document is None:
        known = ", ".join(authority.registry.releases) or "none"
        raise Refused("capability_not_installed", capability=capability_id[:120], known=known)
    known_release = authority.registry.releases[capability_id]
    return {"id": capability_id, "version": known_release["version"], "digest": known_release["digest"], "document": dict(document)}


def show_constitution(authority: Authority) -> dict:
    """{version, digest, document} of the one in force. Raises Refused constitution_not_installed."""
    known = authority.registry.constitution
    if known is None:
        raise Refused("constitution_not_installed")
    return {name: known[name] for name in ("version", "digest", "document")}


async def check_ledger(authority: Authority) -> dict:
    """{chains: {name: rows}, problems: [sentence]}: every hash of every chain, computed again."""
    problems: list[str] = []
    for problem in authority.ledger.verify_in_steps():
        if problem is None:
            await asyncio.sleep(0)
        elif len(problems) < PROBLEMS_MAX:
            problems.append(problem)
    return {"chains": {name: authority.ledger.head(name)[0] for name in authority.ledger.chains()}, "problems": problems}
