"""Append one entry to `journal.jsonl` in the Source's folder, once for each call.

The execution key is the same whenever the same call is made. It is kept with the entry, so
that a call whose answer was lost, and which a person has made again, finds its own line and
adds no second one. The row is printed last: once the line is on the disk.
"""

import json
import os
import sys

LINES_MAX = 100_000
ENTRY_CHARS_MAX = 2_000


def line_of(path, key):
    """(the number of the line that holds this key or None, how many lines there are)"""
    count = 0
    try:
        with open(path, encoding="utf-8") as file:
            for count, line in enumerate(file, 1):
                if not line.endswith("\n"):
                    sys.exit("journal.jsonl: its last line was cut short; mend the file first.")
                if json.loads(line).get("key") == key:
                    return count, count
    except FileNotFoundError:
        pass
    except (ValueError, AttributeError):
        sys.exit(f"journal.jsonl: line {count + 1} is no JSON object; mend the file first.")
    return None, count


def main():
    entry = json.loads(sys.argv[1])["entry"]
    folder, key = os.environ.get("RULITH_SOURCE_ACCESS"), os.environ["RULITH_EXECUTION_KEY"]
    if not folder or os.environ.get("RULITH_SOURCE_TYPE") != "file":
        sys.exit("no file Source was granted to this run.")
    if not entry.strip() or len(entry) > ENTRY_CHARS_MAX:
        sys.exit(f"entry: it must be 1 to {ENTRY_CHARS_MAX} characters.")
    path = os.path.join(folder, "journal.jsonl")
    if os.path.islink(path):
        sys.exit("journal.jsonl: it is a link.")
    line, count = line_of(path, key)
    if line is None:
        if count >= LINES_MAX:
            sys.exit(f"journal.jsonl: it holds {LINES_MAX} lines; begin a new one.")
        with open(path, "a", encoding="utf-8", newline="\n") as file:
            file.write(json.dumps({"key": key, "entry": entry}, ensure_ascii=False) + "\n")
            file.flush()
            os.fsync(file.fileno())
        line = count + 1
    print(json.dumps({"rows": [{"entry": entry, "line": line}]}))


main()
