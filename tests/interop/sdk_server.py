"""A server built with the official SDK, run by an interpreter that has it, of either major version.

    python sdk_server.py stdio
    python sdk_server.py http PORT json|sse
"""

import sys

try:
    from mcp.server.mcpserver import MCPServer

    IS_NEW = True
except ImportError:
    from mcp.server.fastmcp import FastMCP as MCPServer

    IS_NEW = False

TRANSPORT = sys.argv[1]
HTTP = {"host": "127.0.0.1", "port": int(sys.argv[2]), "json_response": sys.argv[3] == "json"} if TRANSPORT == "http" else {}
server = MCPServer("orders", **({} if IS_NEW else HTTP))
taken = []


@server.tool()
def stock(sku: str) -> dict:
    """How many units of an article are on the shelf."""
    return {"rows": [{"sku": sku, "units": 7 - len(taken)}]}


@server.tool()
def take(sku: str) -> dict:
    """Take one unit off the shelf."""
    taken.append(sku)
    return {"rows": [{"sku": sku, "taken": len(taken)}]}


@server.tool()
def broken(sku: str) -> str:
    """Never works."""
    raise ValueError(f"no article {sku}")


if TRANSPORT == "stdio":
    server.run("stdio")
else:
    server.run("streamable-http", **(HTTP if IS_NEW else {}))
