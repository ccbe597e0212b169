"""A small MCP server over stdio whose manners a test chooses; standard library only.

    python far_mcp.py '{"dates": [...], "manners": {...}}'

It writes each message it gets as a line to the file `log`, when one is named.
"""

import json
import os
import signal
import subprocess
import sys
import time

SETTINGS = json.loads(sys.argv[1]) if len(sys.argv) > 1 else {}
DATES = SETTINGS.get("dates", ["2025-11-25"])
LOG = SETTINGS.get("log")
TOOLS = [{"name": name, "description": "d" * 1_200, "inputSchema": {"type": "object"}} for name in SETTINGS.get(
    "tools", ["rows", "text", "fails", "sleeps", "dies", "floods", "asks", "noise", "garbled", "huge", "error", "pings", "env", "nothing"])]
PAGE = SETTINGS.get("page", 1_000)


def say(message):
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def text(words, **more):
    return {"content": [{"type": "text", "text": words}], **more}


def call(request, name, arguments):
    answer = {"jsonrpc": "2.0", "id": request["id"]}
    if name == "rows":
        rows = {"rows": [arguments]}
        say({**answer, "result": text(json.dumps(rows), structuredContent=rows)})
    elif name == "text":
        say({**answer, "result": {"content": [{"type": "text", "text": "error: not mine to judge"}, {"type": "image", "mimeType": "image/png", "data": "x"},
                                              {"type": "resource", "resource": {"uri": "a:b", "text": "held"}}]}})
    elif name == "fails":
        say({**answer, "result": text("no such order", isError=True)})
    elif name == "sleeps":
        time.sleep(600)
    elif name == "dies":
        sys.stderr.write("cannot reach the depot\n")
        sys.stderr.flush()
        os._exit(7)
    elif name == "floods":
        while True:
            say({"jsonrpc": "2.0", "method": "notifications/message", "params": {"data": "x" * 1_000}})
    elif name == "asks":
        say({**answer, "result": {"resultType": "input_required", "inputRequests": {}}})
    elif name == "task":
        say({**answer, "result": {"resultType": "task"}})
    elif name == "noise":
        print("Loading model…", flush=True)
        print('{"looks": "like json"}', flush=True)
        print("", flush=True)
        say({**answer, "result": text("after the noise")})
    elif name == "garbled":
        print('{"jsonrpc":"2.0","id":%d,"result":{"content":[],"structuredContent":{"rows":[{"n":1e999}]}}}' % request["id"], flush=True)
    elif name == "huge":
        say({**answer, "result": text("x" * 1_100_000)})
    elif name == "error":
        say({**answer, "error": {"code": -32000, "message": "the depot\nis closed"}})
    elif name == "pings":
        say({"jsonrpc": "2.0", "id": "s1", "method": "ping"})
        say({"jsonrpc": "2.0", "id": "s2", "method": "sampling/createMessage", "params": {}})
        pong, refusal = json.loads(sys.stdin.readline()), json.loads(sys.stdin.readline())
        say({**answer, "result": text(json.dumps([pong, refusal]))})
    elif name == "env":
        say({**answer, "result": text(json.dumps({"env": dict(os.environ), "cwd": os.getcwd()}))})
    elif name == "chatters":
        say({**answer, "result": text("done")})
        while True:
            print("still here " * 400, flush=True)
    else:
        say({**answer, "result": {"content": [], "isError": SETTINGS.get("wrong", False)}})


GREETED = []


def serve(request):
    method, params = request.get("method"), request.get("params", {})
    answer = {"jsonrpc": "2.0", "id": request.get("id")}
    modern = "io.modelcontextprotocol/protocolVersion" in params.get("_meta", {})
    if method in SETTINGS.get("silent", []):
        return
    if method in SETTINGS.get("deadly", []):
        os._exit(1)
    if method == "server/discover" and "2026-07-28" in DATES:
        say({**answer, "result": {"supportedVersions": ["2026-07-28"], "capabilities": {}, "resultType": "complete"}})
    elif method == "initialize" and DATES != ["2026-07-28"]:
        asked = params["protocolVersion"]
        GREETED.append(asked)
        if SETTINGS.get("strict") and asked not in DATES:
            say({**answer, "error": {"code": -32602, "message": "Unsupported protocol version"}})
        else:
            say({**answer, "result": {"protocolVersion": asked if asked in DATES else DATES[0], "capabilities": {}, "serverInfo": {"name": "far", "version": "1"}}})
    elif method == "tools/list":
        at = int(params.get("cursor", 0))
        found = {"tools": TOOLS[at : at + PAGE]}
        if at + PAGE < len(TOOLS):
            found["nextCursor"] = str(0 if SETTINGS.get("circles") else at + PAGE)
        say({**answer, "result": SETTINGS.get("list", found)})
    elif method == "tools/call":
        assert modern != bool(GREETED), params
        call(request, params["name"], params.get("arguments", {}))
    elif method == "ping":
        say({**answer, "result": {}})
    elif "id" in request:
        say({**answer, "error": {"code": -32601, "message": "Method not found"}})


time.sleep(SETTINGS.get("slow", 0))
if SETTINGS.get("stubborn"):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
if SETTINGS.get("pids"):
    with open(SETTINGS["pids"], "w", encoding="utf-8") as file:
        file.write(str(os.getpid()))
if SETTINGS.get("child"):
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    with open(SETTINGS["child"], "w", encoding="utf-8") as file:
        file.write(f"{os.getpid()} {child.pid}")
if SETTINGS.get("daemons"):                      # what leaves its group and its parents, as `git gc` does, and ends
    code = "import os, sys; os.fork() and os._exit(0); os.setsid(); open(sys.argv[1], 'w').write(str(os.getpid()))"
    subprocess.run([sys.executable, "-c", code, SETTINGS["daemons"]], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
for line in sys.stdin:
    if LOG:
        with open(LOG, "a", encoding="utf-8") as file:
            file.write(line)
    serve(json.loads(line))
if SETTINGS.get("stubborn"):
    time.sleep(600)
