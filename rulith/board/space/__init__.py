"""The reasoning board as a product of its own: a Space of nodes over one rule Program.

    space.py        Space: nodes, reads, `apply(operations, options, at=, mint=)`, `change`, `trial`
    nodes.py        what lies on a board, who sends a batch, how ids read
    reads.py        facts and their marks, goals, verdicts, proofs
    change.py       the hands of one staged change: add, remove, archive, close, settle
    reading.py      operations as hosts send them; operations.py runs them
    gates.py        attested predicates, committed baselines, findings, evidence
    aggregates.py   totals that pin what they saw
    disputes.py     what stands in a conflict, and what rests on one
    tiers.py        what a fact stands on, where a policy asks for more
    hints.py        what an open goal lacks; critique.py: what looks wrong
    vocabulary.py   argument names per predicate
    context.py      the board as data and as text; outcome.py: in the corpus format

Law: no clock, no randomness, no IO. The authority's Board (rulith.board.board) is another
face of the same rules and shares nothing with this one but them.
"""
