"""Read `output.json` of the granted folder back, by itself: it shares no code with the writer.

One argument, a JSON object `{job_id}`; one row on stdout with what the file holds now.
Whether those totals are the right ones is for the Board to say, not for this program.
"""

import hashlib
import json
import os
import sys


def main():
    wanted = json.loads(sys.argv[1])["job_id"]
    folder = os.environ.get("RULITH_SOURCE_ACCESS")
    if not folder or os.environ.get("RULITH_SOURCE_TYPE") != "file":
        sys.exit("no file Source was granted to this run.")
    try:
        with open(os.path.join(folder, "output.json"), "rb") as file:
            raw = file.read(65_537)
        found = json.loads(raw.decode("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        sys.exit(f"output.json: it cannot be read back ({error}).")
    if not isinstance(found, dict) or set(found) != {"job_id", "subtotal_cents", "total_cents"}:
        sys.exit("output.json: it must hold exactly job_id, subtotal_cents and total_cents.")
    for name in ("subtotal_cents", "total_cents"):
        if type(found[name]) is not int:
            sys.exit(f"output.json: the field {name} is not a whole number.")
    if found["job_id"] != wanted:
        sys.exit(f"output.json: the field job_id is {found['job_id']!r}, and this Case is about {wanted!r}.")
    print(json.dumps({"rows": [{**found, "sha256": hashlib.sha256(raw).hexdigest()}]}))


main()
