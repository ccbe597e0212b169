"""The reasoning board as a product of its own: a Space of nodes over one rule Program.

    Space           space.py       nodes, reads, `apply(operations, options, at=, mint=)`
    Change          change.py      the hands of one staged change: add, remove, archive, close
    Node, ...       nodes.py       what lies on the board
    BatchOptions    nodes.py       who sends a batch

Law: no clock, no randomness, no IO. The authority's Board (rulith.board.board) is another
face of the same rules and shares nothing with this one but them.
"""
