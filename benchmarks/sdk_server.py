"""The peer of benchmarks/gateway.py: the official SDK's server in JSON mode, with a tool that stores nothing.

    PYTHON-WITH-MCP benchmarks/sdk_server.py [--stateless]

Prints the port it listens on. Runs in an environment of its own (`pip install mcp==2.3.0`);
nothing of ours is imported.
"""

import socket
import sys

import uvicorn
from mcp.server.mcpserver import MCPServer

server = MCPServer("peer", log_level="ERROR")


@server.tool()
def note(sensor: str, reading: int, value: float) -> str:
    """Say that a reading was noted, and store nothing."""
    return f"noted {reading}"


def main() -> None:
    app = server.streamable_http_app(json_response=True, stateless_http="--stateless" in sys.argv)
    # The protocol is named so that asyncio turns Nagle's delay off, as it does for sockets it opens itself.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.bind(("127.0.0.1", 0))
    print(listener.getsockname()[1], flush=True)
    uvicorn.Server(uvicorn.Config(app, log_level="error", access_log=False)).run(sockets=[listener])


main()
