"""Every exit code of the Agent, provoked in a process of its own, and what it says where.

How a job stands is told on stdout, its first line fit for a mail's subject; why a run could
not work is told on stderr, and stdout stays empty.

Source  the design, exit codes of the Agent; process_rows.json lists which test holds which row of the surface, "Agent process".
"""

from __future__ import annotations

import ast
import json
import re
from functools import cache
from pathlib import Path

import pytest

from rulith.disk.conversations import owner_digest
from rulith.disk.locks import take_lock
from rulith.runtime import outcome
from tests.conftest import ROOT
from tests.runtime.calculation_board import CalculationBoard
from tests.runtime.scripted_gateway import AGENT, TOKEN, Raw, connection_replaced
from tests.runtime.test_run import ARGUMENTS, door, gateway_in_thread, model_in_thread
from tests.runtime.test_serve import free_port

TABLE = ROOT / "tests" / "runtime" / "process_rows.json"


def _replaced(board):
    return lambda call: Raw(409, connection_replaced(call.id)) if call.tool == "ApplyAction" else board(call)


def _damaged(tmp_path: Path) -> dict[str, str]:
    folder = tmp_path / "c" / f"{owner_digest({'origin': 'o', 'accountId': '', 'agentId': AGENT})}.json.d"
    folder.mkdir(parents=True)
    (folder / "_complete.json").write_text("{", encoding="utf-8")
    return {"RULITH_CONVERSATION_DIR": str(tmp_path / "c"), "RULITH_CONVERSATION_OWNER": json.dumps({"origin": "o", "accountId": "", "agentId": AGENT})}


# status: what the Board does, more settings, more words, how the first line on stdout begins ("" for none), a word on stderr
ENDS = {
    0: (CalculationBoard(), {}, ARGUMENTS, "completed: The Case case_", ""),
    1: (CalculationBoard(), {"RULITH_TOKEN": "", "RULITH_URL": "http://127.0.0.1:9"}, ARGUMENTS, "", "RULITH_TOKEN"),
    2: (CalculationBoard(), {}, (*ARGUMENTS, "--nope"), "", "--nope"),
    3: (CalculationBoard(), {"RULITH_TOKEN": "wrong"}, ARGUMENTS, "", "does not accept this Agent token"),
    4: (_replaced(CalculationBoard()), {}, ARGUMENTS, "", "took over"),
    5: (CalculationBoard(), _damaged, ("--serve",), "", "Nothing was changed"),
    10: (CalculationBoard(closed_before=True), {}, ARGUMENTS, "nothing to do: There is nothing to do.", ""),
    11: (CalculationBoard(outcomes={"read_input": ("waiting_for_decision", "approve")}), {}, ARGUMENTS, "waiting: ApplyAction", ""),
    12: (CalculationBoard(outcomes={"read_input": ("failed", "no such file")}), {}, ARGUMENTS, "failed: rulith.verified_calculation.read_input failed", ""),
    13: (CalculationBoard(outcomes={"read_input": ("refused", "not by law")}), {}, ARGUMENTS, "refused: rulith.verified_calculation.read_input was refused", ""),
    14: (CalculationBoard(), {"RULITH_URL": "http://127.0.0.1:9"}, ARGUMENTS, "", "cannot be reached"),
    15: (CalculationBoard(), lambda tmp_path: {"RULITH_AGENT_LOCK": str(tmp_path / "agent.lock")}, ARGUMENTS, "", "Another run of this Agent"),
}

@pytest.mark.parametrize("status", ENDS)
def test_each_exit_code_is_what_a_process_ends_with(tmp_path, status):
    board, more, words, first, problem = ENDS[status]
    environ = more(tmp_path) if callable(more) else more
    lock = take_lock(environ["RULITH_AGENT_LOCK"], "agent") if "RULITH_AGENT_LOCK" in environ else None
    with gateway_in_thread(board) as gateway, model_in_thread([]) as model:
        settings = {"RULITH_URL": gateway.url, "RULITH_TOKEN": TOKEN, "RULITH_HOST_WAIT_MS": "0", **environ}
        if "--serve" in words:
            settings |= {"RULITH_MODEL_URL": model.url, "RULITH_SERVE_PORT": str(free_port())}
        done = door("--quiet", *words, "go", tmp_path=tmp_path, **settings)
    if lock is not None:
        lock.release()
    assert done.returncode == status, done.stdout + done.stderr
    assert done.stdout.startswith(first) and bool(done.stdout) is bool(first)
    assert (problem in done.stderr if problem else done.stderr == "") and "Traceback" not in done.stderr
    assert TOKEN not in done.stdout + done.stderr


def test_no_exit_code_is_left_out():
    """130 and 143 are signals, and have their own test."""
    codes = {getattr(outcome, name) for name in dir(outcome) if name.isupper() and isinstance(getattr(outcome, name), int)}
    assert set(ENDS) | {outcome.INTERRUPTED, outcome.TERMINATED} == codes


@cache
def names_in(path: str) -> set[str]:
    tree = ast.parse((ROOT / "tests" / path).read_text("utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")}


def test_every_row_of_the_process_has_its_test():
    rows = json.loads(TABLE.read_text("utf-8"))["rows"]
    absent = {row: test for row, test in rows.items() if test.split("::")[1] not in names_in(test.split("::")[0])}
    assert not absent
    assert {re.match(r"13\.\d", row)[0] for row in rows} == {f"13.{number}" for number in range(1, 7)}
