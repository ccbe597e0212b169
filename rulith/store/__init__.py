"""SQLite: the append-only, hash-chained ledger, its schema, migrations and transactions."""
