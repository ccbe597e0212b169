"""The smallest MCP host: starts a server, calls its tools in turn, prints what a model would read.

    python3 host.py CALLS COMMAND...

CALLS is a JSON list of [tool, arguments]; COMMAND starts the server, which speaks on stdin
and stdout, one message a line. Ends 0 when all of it was answered.
"""

import json
import subprocess
import sys

DATE = "2025-11-25"


def main(calls_path, command):
    with open(calls_path, encoding="utf-8") as file:
        calls = json.load(file)
    sys.stdout.reconfigure(encoding="utf-8")
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:

        def send(**message):
            server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
            server.stdin.flush()

        def ask(number, method, **params):
            send(id=number, method=method, params=params)
            for line in server.stdout:
                answer = json.loads(line)
                if answer.get("id") == number:      # others are notifications, which a host may skip
                    return answer["result"]
            raise SystemExit("the server ended")

        ask(0, "initialize", protocolVersion=DATE, capabilities={}, clientInfo={"name": "smallest-host", "version": "1"})
        send(method="notifications/initialized")
        for number, (tool, arguments) in enumerate(calls, 1):
            print(f"--- {number} {tool}")
            print(ask(number, "tools/call", name=tool, arguments=arguments)["content"][0]["text"])
        server.stdin.close()
    return server.returncode


if __name__ == "__main__":
    if len(sys.argv) < 3:
        raise SystemExit(__doc__)
    raise SystemExit(main(sys.argv[1], sys.argv[2:]))
