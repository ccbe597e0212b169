"""The authority on the wire: /mcp, the Worker line, Console, write gate, strip."""
