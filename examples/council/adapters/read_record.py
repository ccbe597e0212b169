"""Read the decision record of one thread from the Source: a file of `.rivendell/threads`.

One argument, a JSON object `{thread_id}`; one row for each verdict on stdout, or one with empty
texts where nobody gave one. Only the front matter is read: what stands below it are people's and
programs' own words. The digest is of the whole file, so that a later edit shows.
"""

import hashlib
import json
import os
import re
import sys

FILE_BYTES_MAX = 16 * 2**20
NAMES_MAX = 100_000
LINE = re.compile(r"([a-z_]+): (.*)")


def without_links(path, flags):
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0))


def record_of(folder, thread_id):
    """(name, bytes) of the one record of this thread."""
    found = []
    try:
        with os.scandir(folder) as entries:
            for number, entry in enumerate(entries):
                if number == NAMES_MAX:
                    sys.exit(f"there are more than {NAMES_MAX} names in the folder of records.")
                if re.fullmatch(rf"0*{thread_id}-[a-z0-9-]+\.md", entry.name) and entry.is_file(follow_symlinks=False):
                    found.append(entry.name)
        if not found:
            sys.exit(f"thread {thread_id} has no record: it was not resolved.")
        if len(found) > 1:
            sys.exit(f"thread {thread_id} has several records: {', '.join(sorted(found))[:300]}.")
        with open(os.path.join(folder, found[0]), "rb", opener=without_links) as file:
            raw = file.read(FILE_BYTES_MAX + 1)
    except OSError as error:
        sys.exit(f"the record of thread {thread_id} cannot be read ({error.strerror}).")
    if len(raw) > FILE_BYTES_MAX:
        sys.exit(f"{found[0]} is larger than {FILE_BYTES_MAX} bytes.")
    return found[0], raw


def front_matter(name, raw):
    """The values between the first two lines `---`, each name once."""
    lines = raw.decode("utf-8").split("\n")
    if lines[0] != "---" or "---" not in lines[1:]:
        sys.exit(f"{name} has no front matter.")
    values = {}
    for line in lines[1:lines.index("---", 1)]:
        match = LINE.fullmatch(line)
        if match is None or match[1] in values:
            sys.exit(f"the front matter of {name} is not one of a decision record.")
        values[match[1]] = json.loads(match[2]) if match[2][:1] in ('"', "[") else match[2]
    return values


def main():
    thread_id = json.loads(sys.argv[1])["thread_id"]
    folder = os.environ.get("RULITH_SOURCE_ACCESS")
    if not folder or os.environ.get("RULITH_SOURCE_TYPE") != "file":
        sys.exit("no file Source was granted to this run.")
    if type(thread_id) is not int or not 0 < thread_id < 2**53:
        sys.exit("thread_id is no number of a thread.")
    name, raw = record_of(folder, thread_id)
    try:
        told = front_matter(name, raw)
        verdicts = [(each["by"], each["kind"], each["verdict"]) for each in told.get("verdicts", [])]
        row = {"thread_id": thread_id, "resolved_by": told["resolved_by"], "resolved_by_kind": told["resolved_by_kind"],
               "record_digest": "sha256:" + hashlib.sha256(raw).hexdigest()}
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        sys.exit(f"the front matter of {name} cannot be read ({type(error).__name__}: {str(error)[:100]}).")
    if told.get("thread") != str(thread_id) or told.get("status") != "RESOLVED":
        sys.exit(f"{name} says that it is of thread {str(told.get('thread'))[:20]}, {str(told.get('status'))[:20]}.")
    rows = [{**row, "verdict_by": by, "verdict_by_kind": kind, "verdict": word} for by, kind, word in verdicts or [("", "", "")]]
    print(json.dumps({"rows": rows}))


main()
