"""Where the material of a Source may go: each Action that could carry it, and what the Constitution says of that.

Asks the Constitution in force what it would say of each outside Action of the same Agent,
resting on nothing but facts of this Source, against each Source that the Action accepts.
Promises: what it shows as forbidden is forbidden for every call that rests on the Source;
a rule that also looks at arguments, at a Case or at other premises speaks only when the
call is made, and the answer says that there is such a moment.

Source  the design's rules on information flow (§5).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rulith.base.errors import Refused
from rulith.board.constitution import Constitution, Proposal, Rest, judge
from rulith.board.direct import direct_actions
from rulith.board.release import ActionSpec
from rulith.board.shapes import Source
from rulith.gateway.authority import AgentState, Authority

WAYS_MAX = 200            # an Action against one Source; more are counted, not asked


def source_flow(authority: Authority, name: str) -> dict:
    """{source, ways: [{action, kind, source, verdict, reason}], more, governed}. Raises Refused unknown_source."""
    source = authority.registry.sources.get(name)
    if source is None:
        raise Refused("unknown_source", source=name[:80])
    agent_id = authority.registry.connection(source.connection_id)["agentId"]
    constitution = authority.agents[agent_id].board.state.constitution
    ways = list(_ways(authority, authority.agents[agent_id]))
    rows = [_asked(constitution, source, agent_id, action, target) for action, target in ways[:WAYS_MAX]]
    return {"source": name, "agentId": agent_id, "ways": rows, "more": max(0, len(ways) - WAYS_MAX), "governed": constitution is not None}


def _ways(authority: Authority, state: AgentState) -> Iterator[tuple[ActionSpec, Source | None]]:
    own = {each["id"] for each in authority.registry.connections.values() if each["agentId"] == state.agent_id}
    sources = [each for each in authority.registry.sources.values() if each.connection_id in own]
    direct = [each.spec for each in direct_actions(state.board.state, authority.policy(state.agent_id)).values() if not each.problem]
    for action in (*(each for release in state.board.state.releases.values() for each in release.actions.values() if each.is_external), *direct):
        fitting = [each for each in sources if each.type in action.source_types]
        yield from ((action, each) for each in fitting or ([] if action.source_types else [None]))


def _asked(constitution: Constitution | None, source: Source, agent_id: str, action: ActionSpec, target: Source | None) -> Mapping:
    row = {"action": action.id, "kind": action.kind, "source": target.name if target is not None else "", "verdict": "allowed", "reason": ""}
    if action.decision:
        row["verdict"], row["reason"] = "decided", str(action.decision["kind"])
    if constitution is None:
        return row
    rests = tuple(Rest(predicate, source.name, source.tier) for predicate in source.attests or ("*",))
    proposal = Proposal("ApplyAction", action.id, action.tool, action.kind, {}, row["source"], rests, "", "", agent_id)
    try:
        kinds = judge(constitution, proposal)
    except Refused as refusal:
        return {**row, "verdict": "forbidden", "reason": str(refusal.facts.get("reason", refusal.happened))}
    return {**row, "verdict": "decided", "reason": ", ".join(filter(None, [row["reason"], *kinds]))} if kinds else row
