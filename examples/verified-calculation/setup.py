"""Lay the verified calculation out in a folder of your own: `python setup.py DIR`.

Copies the Tool Manifest and the three adapters, and writes a first order to
`runtime/input.json`. A file that exists is never overwritten; what was kept is said.
"""

import pathlib
import shutil
import sys

HERE = pathlib.Path(sys.argv[0]).resolve().parent
FIRST_ORDER = """{
  "job_id": "calc-001",
  "unit_price_cents": 1299,
  "quantity": 7,
  "shipping_cents": 500
}
"""


def lay_out(target):
    copies = ["worker-tools.json", "capability.json", *(f"adapters/{name}.py" for name in ("read_input", "write_output", "verify_output"))]
    for name in copies:
        place = target / name
        place.parent.mkdir(parents=True, exist_ok=True)
        if place.exists():
            print(f"kept     {place}")
        else:
            shutil.copyfile(HERE / name, place)
            print(f"wrote    {place}")
    order = target / "runtime" / "input.json"
    order.parent.mkdir(parents=True, exist_ok=True)
    if order.exists():
        print(f"kept     {order}")
    else:
        order.write_text(FIRST_ORDER, encoding="utf-8")
        print(f"wrote    {order}")


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit("usage: python setup.py DIR")
    target = pathlib.Path(sys.argv[1])
    try:
        lay_out(target)
    except OSError as error:
        sys.exit(f"{error.filename}: {error.strerror}.")
    print(f"\nNow run:  python3 rulith.pyz demo verified-calculation {target}")


main()
