"""Where this board's advice differs from the recorded kernel's, scenario by scenario, and why.

Duty: the board corpus, level *advisory*: "*advisory* differences are listed with reasons". A
difference that is not listed, or a listed one that is gone, fails.
"""

from __future__ import annotations

from rulith.board.space.calls import Calls
from tests.space.comparing import advisory
from tests.space.corpus import AT, Player, scenarios

WITHDRAWN = "a total whose source facts changed is withdrawn, and the batch says so"
EXACT = "an overflow is never silent: a warning, or a hint naming rule and operands"
OTHER_SUPPORT = ("which derived facts a retraction passes through depends on the stored derivation, and on whether a fact that a later "
                 "retraction of the batch takes away had appeared in between")
ONCE = "a predicate that nothing supplies is named once per rule, not once per literal"
STALE = "the recorded kernel kept the stale total until the aggregate was run again"

REASONS = {
    ("agg-retract-member", "warnings"): WITHDRAWN,
    ("rev-aggregate-total", "warnings"): WITHDRAWN,
    ("rnd-org-11", "warnings"): WITHDRAWN,
    ("agg-overflow", "warnings"): EXACT,
    ("bi-overflow-silent-absence", "goals.needsVia"): EXACT,
    ("solve-numeric", "warnings"): ONCE,
    ("solve-custom-names", "warnings"): ONCE,
    ("solve-queens", "warnings"): ONCE,
    ("rnd-access-41", "retracted"): OTHER_SUPPORT,
    ("rnd-access-43", "retracted"): OTHER_SUPPORT,
    ("rnd-graph-21", "retracted"): OTHER_SUPPORT,
    ("rnd-org-13", "retracted"): OTHER_SUPPORT,
    ("rnd-synth-76", "retracted"): OTHER_SUPPORT,
    ("rnd-org-11", "retracted"): f"{OTHER_SUPPORT}; {STALE}",
}


def test_advice_differs_only_where_and_why_it_is_listed():
    found = {}
    for _, scenario in scenarios():
        player = Player(scenario)
        calls = Calls(player.space, at=AT, mint=player.mint)
        for batch, wanted in zip(scenario["batches"], scenario["expect"]["steps"]):
            step = player.batch(batch) if "operations" in batch else calls.outcome(batch["call"], batch.get("args"))
            for what, *difference in advisory(step, player.state(), wanted, wanted.get("state")):
                found.setdefault((scenario["id"], what), difference)
    assert {key: difference for key, difference in found.items() if key not in REASONS} == {}
    assert set(REASONS) == set(found)
