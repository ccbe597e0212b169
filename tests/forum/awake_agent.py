"""An agent's program as `rulith watch` starts it: plain Python that speaks MCP over HTTP. Answers each thread with a verdict and ends.

    awake_agent.py FOLDER THREADS     FOLDER takes run-<pid>.json, what it was given and saw

A thread whose title holds STAY keeps it there, deaf to SIGTERM, with a process that left its group and its parents.
"""

import json
import os
import signal
import subprocess
import sys
import time
import urllib.request

HERE, THREADS = sys.argv[1], sys.argv[2].split(",")


def rpc(method, **params):
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
    request = urllib.request.Request(os.environ["RIVENDELL_URL"], body, {
        "Authorization": "Bearer " + os.environ["RIVENDELL_KEY"], "Content-Type": "application/json", "Accept": "application/json, text/event-stream"})
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=60) as answer:
        return json.load(answer)["result"]


def call(name, **arguments):
    result = rpc("tools/call", name=name, arguments=arguments)
    assert not result.get("isError"), result
    return result["content"][0]["text"]


def leave_behind():
    """A process in a session of its own whose parent has ended."""
    loner = "import time; time.sleep(1000)"
    parent = "import subprocess, sys; print(subprocess.Popen([sys.executable, '-c', %r], start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).pid)" % loner
    return int(subprocess.run([sys.executable, "-c", parent], stdout=subprocess.PIPE, check=True).stdout)


def main():
    first = rpc("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo={"name": "small", "version": "1"})
    me = json.loads(call("whoami"))
    told = {"pid": os.getpid(), "threads": THREADS, "named": os.environ["RIVENDELL_THREADS"], "key": os.environ["RIVENDELL_KEY"], "me": me["name"],
            "server": first["serverInfo"]["name"], "cwd": os.getcwd(), "ours": sorted(name for name in os.environ if name.startswith(("RULITH", "RIVENDELL")))}
    texts = {thread: call("get_thread", thread_id=thread) for thread in THREADS}
    stays = any("STAY" in text for text in texts.values())
    if stays:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        told["loner"] = leave_behind()
    else:
        for thread in THREADS:
            call("claim_thread", thread_id=thread, note="reading")
            call("reply", thread_id=thread, body="It holds against an empty cart.", verdict="CLEARED", severity="LOW")
    place = os.path.join(HERE, "run-%d.json" % os.getpid())
    with open(place + ".new", "w") as file:
        json.dump(told, file)
    os.replace(place + ".new", place)
    if stays:
        time.sleep(1000)


main()
