"""Sans-IO protocol cores: contract, JSON-RPC, SSE, MCP, lease, grant, receipt."""
