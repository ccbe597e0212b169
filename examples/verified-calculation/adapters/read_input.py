"""Read the order of one job from the Source: `input.json` in the folder that was granted.

One argument, a JSON object `{job_id}`; one row on stdout. Anything wrong with the file
is said on stderr, naming the field, with exit 1: nothing is guessed or defaulted.
"""

import json
import os
import sys

FIELDS = {"job_id": str, "unit_price_cents": int, "quantity": int, "shipping_cents": int}
EXACT_MAX = 2**53 - 1
FILE_BYTES_MAX = 65_536


def refuse(message):
    sys.exit(f"input.json: {message}")


def unique(pairs):
    row = dict(pairs)
    if len(row) != len(pairs):
        refuse("a field is given twice; give each field once.")
    return row


def read_order(path):
    try:
        with open(path, "rb") as file:
            raw = file.read(FILE_BYTES_MAX + 1)
    except FileNotFoundError:
        refuse(f"there is no such file in {os.path.dirname(path)}; write one with the fields {', '.join(FIELDS)}.")
    except OSError as error:
        refuse(f"it cannot be read ({error.strerror}).")
    if len(raw) > FILE_BYTES_MAX:
        refuse(f"it is larger than {FILE_BYTES_MAX} bytes.")
    if not raw.strip():
        refuse(f"it is empty; it needs the fields {', '.join(FIELDS)}.")
    try:
        order = json.loads(raw.decode("utf-8-sig"), object_pairs_hook=unique)
    except (ValueError, RecursionError) as error:
        refuse(f"it is not JSON in UTF-8 ({error}).")
    if not isinstance(order, dict):
        refuse("it must hold one JSON object.")
    return order


def check(order, job_id):
    for name, kind in FIELDS.items():
        if name not in order:
            refuse(f"the field {name} is missing.")
        value = order[name]
        if type(value) is not kind:
            wanted = "text" if kind is str else "a whole number without quotes"
            refuse(f"the field {name} must be {wanted}, and is {json.dumps(value)[:60]}.")
        if kind is int and not 0 <= value <= EXACT_MAX:
            refuse(f"the field {name} must be between 0 and {EXACT_MAX}, and is {str(value)[:40]}.")
    if not order["job_id"].strip():
        refuse("the field job_id must not be blank.")
    unknown = sorted(set(order) - set(FIELDS))
    if unknown:
        refuse(f"the field {unknown[0][:60]} is not one of {', '.join(FIELDS)}.")
    if order["job_id"] != job_id:
        refuse(f"the field job_id is {order['job_id']!r}, and this Case is about {job_id!r}.")


def main():
    arguments = json.loads(sys.argv[1])
    folder = os.environ.get("RULITH_SOURCE_ACCESS")
    if not folder or os.environ.get("RULITH_SOURCE_TYPE") != "file":
        sys.exit("no file Source was granted to this run.")
    order = read_order(os.path.join(folder, "input.json"))
    check(order, arguments["job_id"])
    print(json.dumps({"rows": [{name: order[name] for name in FIELDS}]}))


main()
