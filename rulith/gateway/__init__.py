"""The authority on the wire: Agents, Workers, the person's Console, one ledger beneath them."""
