"""The demo as a stranger runs it: the built file, an empty folder, their own numbers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

DEMO = ("demo", "verified-calculation", "job")


def test_the_demo_writes_the_exact_totals_and_proves_them(product, output, tmp_path: Path) -> None:
    """Point 2 of the first whole path: exit 0, exact output, each step and the proof printed, the proof saved."""
    run = product.run(*DEMO, cwd=tmp_path)
    assert run.status == 0, run
    assert output(tmp_path / "job") == {"job_id": "calc-001", "subtotal_cents": 9093, "total_cents": 9593}
    for words in ("1299 × 7 = 9093", "9093 + 500 = 9593", "read_input", "write_output", "verify_output", "certified"):
        assert words in run.out, f"{words!r} is not said\n{run}"
    proof = json.loads((tmp_path / "job" / "proof" / "calc-001.json").read_text("utf-8"))
    assert proof["case"]["disposition"] == "completed" and proof["signature"]["alg"] == "Ed25519"


def test_run_again_unchanged_it_prints_the_proof_and_writes_nothing(product, tmp_path: Path) -> None:
    assert product.run(*DEMO, cwd=tmp_path).status == 0
    place = tmp_path / "job" / "runtime" / "output.json"
    before = place.stat().st_mtime_ns
    again = product.run(*DEMO, cwd=tmp_path)
    assert again.status == 0 and "1299 × 7 = 9093" in again.out, again
    assert place.stat().st_mtime_ns == before


def test_the_same_job_with_other_values_names_the_closed_case(product, order, output, tmp_path: Path) -> None:
    assert product.run(*DEMO, cwd=tmp_path).status == 0
    case = json.loads((tmp_path / "job" / "proof" / "calc-001.json").read_text("utf-8"))["case"]["caseId"]
    order(tmp_path / "job", quantity=8)
    run = product.run(*DEMO, cwd=tmp_path)
    assert run.status == 13 and case in run.out and "quantity was 7 and is 8 now" in run.out, run
    assert output(tmp_path / "job")["total_cents"] == 9593


def test_a_second_job_in_the_same_folder_gets_its_own_case(product, order, output, tmp_path: Path) -> None:
    assert product.run(*DEMO, cwd=tmp_path).status == 0
    order(tmp_path / "job", job_id="calc-002", quantity=3)
    run = product.run(*DEMO, cwd=tmp_path)
    assert run.status == 0, run
    assert output(tmp_path / "job") == {"job_id": "calc-002", "subtotal_cents": 3897, "total_cents": 4397}


def test_prices_beyond_the_exact_range_are_refused_and_never_rounded(product, order, output, tmp_path: Path) -> None:
    """Exit 12; the message names the rule and its operands; no output file."""
    order(tmp_path / "job", job_id="calc-big", unit_price_cents=9007199254740991, quantity=3)
    run = product.run(*DEMO, cwd=tmp_path)
    assert run.status == 12, run
    for words in ("subtotal = unit price × quantity", "9007199254740991", "3"):
        assert words in run.out, f"{words!r} is not said\n{run}"
    assert output(tmp_path / "job") is None


def test_the_largest_exact_total_is_computed(product, order, output, tmp_path: Path) -> None:
    order(tmp_path / "job", job_id="edge", unit_price_cents=9007199254740990, quantity=1, shipping_cents=1)
    run = product.run(*DEMO, cwd=tmp_path)
    assert run.status == 0, run
    assert output(tmp_path / "job")["total_cents"] == 9007199254740991


BAD_ORDERS = {
    "missing file": (None, "input.json"),
    "empty": ("", "input.json"),
    "cut": ('{"job_id": "calc-001", "unit', "input.json"),
    "no object": ("[1, 2]", "JSON object"),
    "missing field": ('{"job_id": "a", "unit_price_cents": 1, "quantity": 2}', "shipping_cents"),
    "text for a number": ('{"job_id": "a", "unit_price_cents": "1", "quantity": 2, "shipping_cents": 0}', "unit_price_cents"),
    "fraction": ('{"job_id": "a", "unit_price_cents": 1.5, "quantity": 2, "shipping_cents": 0}', "unit_price_cents"),
    "boolean": ('{"job_id": "a", "unit_price_cents": 1, "quantity": true, "shipping_cents": 0}', "quantity"),
    "negative": ('{"job_id": "a", "unit_price_cents": 1, "quantity": -2, "shipping_cents": 0}', "quantity"),
    "beyond 2^53": ('{"job_id": "a", "unit_price_cents": 9007199254740992, "quantity": 1, "shipping_cents": 0}', "unit_price_cents"),
    "number for text": ('{"job_id": 7, "unit_price_cents": 1, "quantity": 2, "shipping_cents": 0}', "job_id"),
    "blank id": ('{"job_id": "  ", "unit_price_cents": 1, "quantity": 2, "shipping_cents": 0}', "job_id"),
    "twice": ('{"job_id": "a", "job_id": "b", "unit_price_cents": 1, "quantity": 2, "shipping_cents": 0}', "job_id"),
    "unknown field": ('{"job_id": "a", "unit_price_cents": 1, "quantity": 2, "shipping_cents": 0, "tax": 1}', "tax"),
    "not UTF-8": (b'{"job_id": "\xff"}', "input.json"),
}


@pytest.mark.parametrize("name", BAD_ORDERS)
def test_a_bad_order_writes_nothing_and_names_the_field(product, output, tmp_path: Path, name: str) -> None:
    content, field = BAD_ORDERS[name]
    runtime = tmp_path / "job" / "runtime"
    runtime.mkdir(parents=True)
    if content is not None:
        (runtime / "input.json").write_bytes(content if isinstance(content, bytes) else content.encode())
    run = product.run(*DEMO, cwd=tmp_path)
    assert run.status not in (0, 10) and field in run.err + run.out, run
    assert "Traceback" not in run.err + run.out
    assert output(tmp_path / "job") is None
    assert content is None or (runtime / "input.json").read_bytes() == (content if isinstance(content, bytes) else content.encode())


def test_a_job_id_that_looks_like_a_number_stays_the_same_job(product, order, output, tmp_path: Path) -> None:
    order(tmp_path / "job", job_id="0042")
    assert product.run(*DEMO, cwd=tmp_path).status == 0
    assert output(tmp_path / "job")["job_id"] == "0042"
    order(tmp_path / "job", job_id="42")
    run = product.run(*DEMO, cwd=tmp_path)
    assert run.status == 0, run
    assert output(tmp_path / "job")["job_id"] == "42"


def test_wrong_words_are_refused_before_any_file_is_touched(product, tmp_path: Path) -> None:
    for words in (("demo",), ("demo", "something"), ("demo", "verified-calculation", "a", "b"), ("demo", "verified-calculation", "--now")):
        run = product.run(*words, cwd=tmp_path)
        assert run.status == 2 and run.err, run
    assert list(tmp_path.iterdir()) == []


def test_a_folder_with_blanks_and_foreign_letters_works(product, tmp_path: Path) -> None:
    run = product.run("demo", "verified-calculation", "mein Büro 計算", cwd=tmp_path)
    assert run.status == 0, run


def test_a_file_in_the_folders_place_is_refused(product, tmp_path: Path) -> None:
    (tmp_path / "job").write_text("mine", "utf-8")
    run = product.run(*DEMO, cwd=tmp_path)
    assert run.status == 1 and "Traceback" not in run.err, run
    assert (tmp_path / "job").read_text("utf-8") == "mine"
