"""What docs/board-hosts.md shows is so: its program runs, its tables are those of the code."""

from __future__ import annotations

import json
import re
from dataclasses import asdict

from rulith.board.space import tasks
from rulith.commands.board import LIMIT_VARIABLES
from rulith.gateway.board_programs import run_files
from rulith.gateway.board_tools import BY_NAME
from rulith.rules.program import Limits
from tests.board_server.conftest import ROOT

PAGE = (ROOT / "docs" / "board-hosts.md").read_text(encoding="utf-8")


def test_the_program_that_is_shown_comes_out_as_it_expects(tmp_path, capsys):
    program = next(block for block in re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL) if '"batches"' in block)
    path = tmp_path / "invoice.json"
    path.write_text(program, encoding="utf-8")
    assert run_files([str(path)], Limits(), as_json=False) == 0
    assert capsys.readouterr().out.endswith("  as expected\n")


def test_every_configuration_that_is_shown_is_json():
    for block in re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL):
        json.loads(block)


def test_every_tool_is_named_and_no_other():
    table = PAGE.split("## The tools")[1].split("\n## ")[0]
    named = set(re.findall(r"`([a-z_]+)`", "\n".join(line.split("|")[1] for line in table.splitlines() if line.startswith("| `"))))
    assert named == set(BY_NAME)


def test_the_limits_are_the_ones_in_force():
    defaults = asdict(Limits())
    for variable, name in LIMIT_VARIABLES.items():
        row = next(line for line in PAGE.splitlines() if line.startswith(f"| `{variable}`"))
        assert row.rstrip(" |").endswith(f"{defaults[name]:,}"), variable


def test_every_gate_is_listed():
    source = (ROOT / "rulith" / "board" / "space" / "tasks.py").read_text(encoding="utf-8")
    gates = set(re.findall(r'Gate\("([a-z_]+)"', source)) | set(tasks.critique.BLOCKING)
    assert all(f"`{gate}`" in PAGE for gate in gates)
