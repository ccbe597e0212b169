"""Write the derived totals of one job to `output.json` in the granted folder, atomically.

One argument, a JSON object `{job_id, subtotal_cents, total_cents}`; one row on stdout
with the digest of the bytes written. The file appears whole or not at all.
"""

import hashlib
import json
import os
import sys
import tempfile


def write_whole(folder, name, data):
    handle, partial = tempfile.mkstemp(dir=folder, prefix=".output-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, os.path.join(folder, name))
    except BaseException:
        os.unlink(partial)
        raise
    if os.name == "posix":
        directory = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)


def main():
    arguments = json.loads(sys.argv[1])
    folder = os.environ.get("RULITH_SOURCE_ACCESS")
    if not folder or os.environ.get("RULITH_SOURCE_TYPE") != "file":
        sys.exit("no file Source was granted to this run.")
    totals = {name: arguments[name] for name in ("job_id", "subtotal_cents", "total_cents")}
    data = (json.dumps(totals, indent=2, ensure_ascii=False) + "\n").encode("utf-8")
    try:
        write_whole(folder, "output.json", data)
    except OSError as error:
        sys.exit(f"output.json: it cannot be written ({error.strerror}).")
    print(json.dumps({"rows": [{**totals, "sha256": hashlib.sha256(data).hexdigest()}]}))


main()
