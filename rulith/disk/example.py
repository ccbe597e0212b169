"""The verified calculation on disk: its folder laid out, its order read and checked.

The order is `runtime/input.json`, `{job_id, unit_price_cents, quantity, shipping_cents}`;
the answer is `runtime/output.json`. Nothing here computes a total, and no file that
exists is ever overwritten by laying the folder out.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from rulith.base.errors import Refused
from rulith.base.limits import INTEGER_MAX
from rulith.base.resources import shipped, shipped_bytes
from rulith.disk.atomic import read_bounded, sync_folder, write_whole

FOLDER = "verified-calculation"
ADAPTERS = ("read_input.py", "write_output.py", "verify_output.py")
FIELDS: dict[str, type] = {"job_id": str, "unit_price_cents": int, "quantity": int, "shipping_cents": int}
FIRST_ORDER = {"job_id": "calc-001", "unit_price_cents": 1299, "quantity": 7, "shipping_cents": 500}
ORDER_BYTES_MAX = 65_536
JOB_ID_CHARS_MAX = 100


def capability_text() -> str:
    return shipped("examples", FOLDER, "capability.json").read_text(encoding="utf-8")


def lay_out(workspace: Path) -> list[Path]:
    """Put the Tool Manifest, the adapters and, in a new folder, a first order into `workspace`.

    Returns the files written. A first order is written only where `runtime` did not
    exist: a folder whose order was removed is a folder without an order.
    """
    written = []
    (workspace / "adapters").mkdir(parents=True, exist_ok=True)
    for name in ("worker-tools.json", *(f"adapters/{adapter}" for adapter in ADAPTERS)):
        place = workspace / name
        if not place.exists():
            write_whole(place, shipped_bytes("examples", FOLDER, *name.split("/")), mode=0o644)
            written.append(place)
    if _first_order(workspace):
        written.append(workspace / "runtime" / "input.json")
    return written


def _first_order(workspace: Path) -> bool:
    """Make `runtime` with its order in it, both at once; False where it stands already."""
    runtime, fresh = workspace / "runtime", workspace / "runtime.new"
    if not runtime.exists():
        # Under another name until the order is in it: a stop in between would leave a folder
        # that looks as if somebody had taken its order away. What such a stop left is used again.
        fresh.mkdir(exist_ok=True)
        write_whole(fresh / "input.json", order_bytes(FIRST_ORDER), mode=0o644)
        try:
            fresh.rename(runtime)
        except OSError:
            if not runtime.exists():
                raise
        else:
            sync_folder(workspace)
            return True
    shutil.rmtree(fresh, ignore_errors=True)
    return False


def order_bytes(order: dict) -> bytes:
    return (json.dumps(order, indent=2, ensure_ascii=False) + "\n").encode("utf-8")


def _refuse(field: str, problem: str) -> Refused:
    return Refused("order_refused", field=field, problem=problem)


def _unique(pairs: list[tuple[str, object]]) -> dict:
    for name, _ in pairs:
        if sum(1 for other, _ in pairs if other == name) > 1:
            raise _refuse(name, "is given twice")
    return dict(pairs)


def check_order(order: object) -> dict:
    """The order itself if it is one; Refused order_refused naming the first wrong field otherwise."""
    if not isinstance(order, dict):
        raise _refuse("the order", "must be one JSON object")
    for name, kind in FIELDS.items():
        if name not in order:
            raise _refuse(name, "is missing")
        value = order[name]
        if type(value) is not kind:
            wanted = "text" if kind is str else "a whole number without quotes"
            raise _refuse(name, f"must be {wanted}, and is {json.dumps(value)[:60]}")
        if kind is int and not 0 <= value <= INTEGER_MAX:
            raise _refuse(name, f"must lie between 0 and {INTEGER_MAX}, and is {str(value)[:40]}")
    job_id = order["job_id"]
    if not job_id.strip() or job_id != job_id.strip() or len(job_id) > JOB_ID_CHARS_MAX or not job_id.isprintable():
        raise _refuse("job_id", f"must be 1 to {JOB_ID_CHARS_MAX} printable characters with no blank at either end, "
                      f"and is {ascii(job_id[:40])}{' and so on' if len(job_id) > 40 else ''}")
    if unknown := sorted(set(order) - set(FIELDS)):
        raise _refuse(unknown[0][:60], f"is not a field of an order ({', '.join(FIELDS)})")
    return order


def read_order(path: Path) -> dict:
    """The checked order in the file at `path`. Raises Refused order_refused; reads no more than it may hold."""
    if not path.exists():
        raise _refuse("input.json", f"is missing from {path.parent}; it needs {', '.join(FIELDS)}")
    try:
        raw = read_bounded(path, ORDER_BYTES_MAX)
    except Refused as refusal:
        raise _refuse("input.json", _unread(refusal)) from None
    if not raw.strip():
        raise _refuse("input.json", f"is empty; it needs {', '.join(FIELDS)}")
    try:
        return check_order(json.loads(raw.decode("utf-8-sig"), object_pairs_hook=_unique))
    except (ValueError, RecursionError) as error:
        raise _refuse("input.json", f"is not JSON in UTF-8 ({_fault(error)})") from None


def _unread(refusal: Refused) -> str:
    if refusal.code == "file_too_large":
        return f"is larger than {ORDER_BYTES_MAX} bytes"
    return f"cannot be read ({refusal.facts['problem']})"


def _fault(error: Exception) -> str:
    """What is wrong with the text, without the interpreter's own vocabulary."""
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg}, line {error.lineno} column {error.colno}"
    if isinstance(error, UnicodeDecodeError):
        return f"byte {error.start + 1} belongs to no letter"
    return "it is nested too deeply" if isinstance(error, RecursionError) else "a number has too many digits"
