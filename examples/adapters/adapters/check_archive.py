"""Count the entries of a tar archive in the Source's folder by a compiled program: `tar`.

How to call one: a list of words and no shell, so that no letter of an argument is a command;
the file opened here and handed over as its input, so that no name can be read as an option;
an environment of its own; its output counted, never kept whole; its exit status believed.
"""

import hashlib
import json
import os
import re
import subprocess
import sys

ENTRIES_MAX = 100_000
PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,100}")


def open_below(folder, name):
    if not PLAIN.fullmatch(name):
        sys.exit("archive: it must be a plain file name, such as backup-2026.tar.")
    path = os.path.join(folder, name)
    if os.path.islink(path) or not os.path.isfile(path):
        sys.exit(f"archive: there is no file {name} in the Source's folder.")
    return open(path, "rb")


def count_entries(file):
    command = ["tar", "--list", "--file", "-"]
    environment = {name: os.environ[name] for name in ("PATH", "SYSTEMROOT") if name in os.environ}
    try:
        tar = subprocess.Popen(command, stdin=file, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment)
    except FileNotFoundError:
        sys.exit("tar: this machine does not have it.")
    entries = 0
    while chunk := tar.stdout.read(65_536):
        entries += chunk.count(b"\n")
        if entries > ENTRIES_MAX:
            tar.kill()
            sys.exit(f"archive: it holds more than {ENTRIES_MAX} entries.")
    if tar.wait() != 0:
        sys.exit("archive: tar cannot read it.")
    return entries


def main():
    name = json.loads(sys.argv[1])["archive"]
    folder = os.environ.get("RULITH_SOURCE_ACCESS")
    if not folder or os.environ.get("RULITH_SOURCE_TYPE") != "file":
        sys.exit("no file Source was granted to this run.")
    with open_below(folder, name) as file:
        state = hashlib.sha256()
        while chunk := file.read(65_536):
            state.update(chunk)
        file.seek(0)
        entries = count_entries(file)
    print(json.dumps({"rows": [{"archive": name, "entries": entries, "sha256": state.hexdigest()}]}))


main()
