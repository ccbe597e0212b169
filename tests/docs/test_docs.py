"""The documentation says what the code does: links, options, variables, exit codes, tables, examples."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from rulith.adapters.workspace import BUILT
from rulith.base import limits
from rulith.base.codes import CODES
from rulith.board.batch import AGGREGATE_MEMBERS_MAX, MEMBERS
from rulith.board.capability_check import check_capability
from rulith.board.operations import TABLE
from rulith.board.proofs import DEPTH_MAX, NODES_MAX
from rulith.board.shapes import TIERS
from rulith.board.words import IMPORTABLE
from rulith.gateway import settings as gateway_settings
from rulith.gateway.local_api import LocalApi
from rulith.rules.builtins import BUILTINS
from rulith.rules.safety import check_rule
from rulith.rules.terms import read_rule
from rulith.runtime import outcome
from rulith.runtime.options import _SWITCHES, _VALUES
from rulith.wire.contract import mcp_contract
from rulith.wire.manifest import BUILTINS as BUILTIN_TOOLS
from rulith.wire.manifest import read_manifest

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([ROOT / "README.md", ROOT / "SECURITY.md", ROOT / "CHANGELOG.md", ROOT / "protocol" / "README.md",
                ROOT / "examples" / "verified-calculation" / "README.md", ROOT / "examples" / "adapters" / "README.md",
                ROOT / "examples" / "council" / "README.md", *(ROOT / "docs").glob("*.md")])
SOURCES = [path for path in (ROOT / "rulith").rglob("*.py") if "__pycache__" not in path.parts]
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
VARIABLE = re.compile(r"\bRULITH_[A-Z][A-Z_]*[A-Z]\b")
FLAG = re.compile(r"(?<![\w-])--[a-z][a-z-]*[a-z]\b")
FOREIGN_FLAGS = {"--transport", "--header", "--url", "--bearer-token-env-var", "--dangerously-load-development-channels", "--cli", "--method", "--tool-name", "--long", "--ignore-scripts"}  # of the MCP hosts that are shown, npm, and of the proofs that take long
LENT_FLAGS = {"--dangerously", "--yolo", "--afk", "--auto", "--print", "--force", "--full-auto", "--allow-all", "--trust", "--settings", "--add-dir", "--permission-mode",
              "--approval-mode"}                      # of programs that an agent may be, which its launch profile may not hold
BUILD_VARIABLES = {"RULITH_CONTRACT_REPO"}


def text_of(page: str) -> str:
    return (ROOT / page).read_text("utf-8")


def section(page: str, heading: str) -> str:
    """What stands under one heading, down to the next of its rank."""
    text = text_of(page)
    start = re.search(rf"^(#+) {re.escape(heading)}$", text, re.MULTILINE)
    assert start, f"{page} has no heading {heading!r}"
    end = re.search(rf"^#{{1,{len(start[1])}}} ", text[start.end():], re.MULTILINE)
    return text[start.end():start.end() + end.start()] if end else text[start.end():]


def rows(text: str) -> list[list[str]]:
    """The cells of every table row in a piece of Markdown, heads and rulers left out."""
    found = []
    lines = text.splitlines()
    for number, line in enumerate(lines):
        is_head = number + 1 < len(lines) and re.match(r"\|[\s:|-]+\|$", lines[number + 1])
        if line.startswith("|") and not is_head and not re.match(r"\|[\s:|-]+\|$", line):
            found.append([cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]])
    return found


def named(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def blocks(page: str, language: str, heading: str | None = None) -> list[str]:
    """The contents of every fenced block of that language, in the page or under one heading."""
    found: list[tuple[str, list[str]]] = []
    is_open = False
    for line in (text_of(page) if heading is None else section(page, heading)).splitlines(keepends=True):
        if line.startswith("```"):
            is_open = not is_open
            if is_open:
                found.append((line[3:].strip(), []))
        elif is_open:
            found[-1][1].append(line)
    return ["".join(lines) for name, lines in found if name == language]


def anchors(path: Path) -> set[str]:
    heads = re.findall(r"^#+ (.+)$", path.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", head.lower()).strip().replace(" ", "-") for head in heads}


def literals() -> set[str]:
    """Every text constant of the product's code, docstrings included."""
    found: set[str] = set()
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.add(node.value)
    return found


# --- links -----------------------------------------------------------------------------


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_every_link_leads_somewhere(page: Path) -> None:
    wrong = []
    for target in LINK.findall(page.read_text("utf-8")):
        if target.startswith(("http://", "https://", "mailto:")):
            continue
        place, _, anchor = target.partition("#")
        found = (page.parent / place).resolve() if place else page
        if not found.exists():
            wrong.append(target)
        elif anchor and anchor not in anchors(found):
            wrong.append(target)
    assert not wrong, wrong


def test_every_page_of_the_readme_is_there_and_every_page_is_in_the_readme() -> None:
    listed = {target.partition("#")[0] for target in LINK.findall(text_of("README.md")) if target.startswith("docs/") and ".md" in target}
    assert listed == {f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md")}


def test_files_named_in_backticks_exist() -> None:
    wrong = []
    for page in PAGES:
        for name in re.findall(r"`((?:docs|tests|protocol|examples|benchmarks|rulith)/[\w./-]+\.\w+)`", page.read_text("utf-8")):
            if not (ROOT / name).exists():
                wrong.append(f"{page.name}: {name}")
    assert not wrong, wrong


# --- variables, options, exit codes ----------------------------------------------------


def test_every_variable_is_documented_and_every_documented_one_is_read() -> None:
    code = {name for text in literals() for name in VARIABLE.findall(text)}
    pages = {name for page in PAGES for name in VARIABLE.findall(page.read_text("utf-8"))} - BUILD_VARIABLES
    assert code - pages == set(), "in the code and in no page"
    assert pages - code == set(), "in a page and not in the code"


def test_the_agents_and_workers_tables_hold_what_each_of_them_reads() -> None:
    for page, heading, modules in (("docs/agent.md", "Environment", ("agent.py", "runtime/settings.py", "runtime/run.py")),
                                   ("docs/worker.md", "Settings", ("worker.py", "work/settings.py"))):
        told = set(VARIABLE.findall(section(page, heading)))
        read = {name for module in modules for name in VARIABLE.findall((ROOT / "rulith" / module).read_text("utf-8"))}
        assert read - told == set(), page


def test_every_flag_is_documented_and_every_documented_one_exists() -> None:
    code: set[str] = set()
    for path in SOURCES:
        if path.parent.name in ("commands", "runtime", "watching", "work") or path.parent == ROOT / "rulith":
            for node in ast.walk(ast.parse(path.read_text("utf-8"))):
                if isinstance(node, ast.Constant) and isinstance(node.value, str) and FLAG.fullmatch(node.value):
                    code.add(node.value)
    code |= {word for word in (*_VALUES, *_SWITCHES) if word.startswith("--")}
    build = {flag for path in (ROOT / "build_pyz.py", *(ROOT / "benchmarks").glob("*.py")) for flag in FLAG.findall(path.read_text("utf-8"))}
    pages = {word for page in PAGES for word in FLAG.findall(page.read_text("utf-8"))}
    assert code - pages - {"--version"} == set(), "in the code and in no page"
    assert pages - code - build - FOREIGN_FLAGS - LENT_FLAGS == set(), "in a page and not in the code"


def test_every_option_of_the_agent_stands_in_its_table() -> None:
    told = {word for row in rows(section("docs/agent.md", "Options")) for word in re.findall(r"--?[a-z][a-z-]*|--", row[0])}
    assert {*_VALUES, *_SWITCHES, "--"} == told


def exit_codes(text: str) -> set[int]:
    return {int(number) for row in rows(text) for number in re.findall(r"\d+", row[0]) if re.fullmatch(r"[\d, ]+", row[0])}


def test_the_agents_exit_codes_are_the_ones_of_the_code() -> None:
    code = {getattr(outcome, name) for name in dir(outcome) if name.isupper() and isinstance(getattr(outcome, name), int)}
    assert exit_codes(section("docs/agent.md", "Exit codes")) == code


def door_exits(*modules: str) -> set[int]:
    """The numbers a door names as EXIT_…, and those it gives its signals."""
    found: set[int] = set()
    for module in modules:
        for node in ast.walk(ast.parse((ROOT / "rulith" / module).read_text("utf-8"))):
            if isinstance(node, ast.Assign):
                names = node.targets[0].elts if isinstance(node.targets[0], ast.Tuple) else node.targets
                values = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
                for name, value in zip(names, values):
                    if isinstance(name, ast.Name) and name.id.startswith("EXIT_") and isinstance(value, ast.Constant):
                        found.add(value.value)
    return found


@pytest.mark.parametrize(("page", "heading", "modules", "more"), [
    ("docs/workbench.md", "The workbench", ("host.py",), {0}),
    ("docs/worker.md", "Settings", ("worker.py", "work/core.py"), {1}),
    ("docs/gateway.md", "The gateway", ("commands/gateway.py",), {0, 130, 143}),
    ("docs/watch.md", "How it ends", ("commands/watch.py", "watching/watcher.py", "watching/core.py"), {130, 143}),
    ("docs/council.md", "The bridge", ("commands/bridge.py", "net/stdio.py"), set()),
])
def test_the_other_doors_exit_codes_are_the_ones_of_the_code(page: str, heading: str, modules: tuple[str, ...], more: set[int]) -> None:
    text = section(page, heading)
    head = text[:text.index("\n## ")] if "\n## " in text else text
    assert exit_codes(head) == door_exits(*modules) | more


# --- tables ----------------------------------------------------------------------------


def test_the_operation_table_is_the_one_that_decides() -> None:
    told = {(named(row[0])[0], named(row[1])[0]): named(row[2])[0]
            for row in rows(section("docs/architecture.md", "The life of an operation")) if len(row) == 3}
    assert told == TABLE
    drawing = blocks("docs/architecture.md", "")
    life = next(block for block in drawing if "needs_person" in block)
    for state, event in TABLE:
        assert event in life and state in life, (state, event)


def test_every_room_of_the_house_stands_in_its_plan() -> None:
    told = {name.removesuffix("/").removesuffix(".py") for row in rows(section("docs/architecture.md", "Floors and rooms")) for name in named(row[1])}
    house = {path.name for path in (ROOT / "rulith").iterdir() if path.is_dir() and (path / "__init__.py").exists()}
    doors = {"__main__", "agent", "worker", "host"}
    assert told == house | doors


def test_the_builtins_table_lists_every_builtin() -> None:
    told = {name for row in rows(section("docs/board.md", "Builtins")) for name in named(row[0])}
    assert told == BUILTINS


def test_tiers_stand_in_their_order() -> None:
    line = re.search(r"strongest first: (.*?)\.", section("docs/board.md", "How strong a fact is"), re.DOTALL)
    assert tuple(named(line[1])) == TIERS


def test_batch_operations_and_board_words_are_all_listed() -> None:
    told = {named(row[0])[0] for row in rows(section("docs/board.md", "What an Agent may write"))} \
        | set(re.findall(r"`(revise_fact)", section("docs/board.md", "What an Agent may write")))
    assert told == set(MEMBERS)
    words = {word for row in rows(section("docs/capability.md", "Vocabulary")) for word in re.findall(r"`([\w.]+)\(", row[0])}
    assert words == set(IMPORTABLE)


def test_limits_are_the_ones_in_force() -> None:
    text = section("docs/board.md", "Limits")
    for value in (limits.FACTS_MAX, limits.DERIVED_MAX, limits.RULES_MAX, limits.RULE_BODY_MAX, limits.JOIN_BINDINGS_MAX,
                  limits.CLOSURE_ROUNDS_MAX, limits.CLOSURE_STEPS_MAX, limits.ARGUMENTS_MAX, limits.BATCH_OPERATIONS_MAX):
        assert f"{value:,}" in text, value
    board = text_of("docs/board.md")
    for value in (AGGREGATE_MEMBERS_MAX, NODES_MAX, limits.STRING_BYTES_MAX):
        assert f"{value:,}" in board, value
    assert f"{DEPTH_MAX} deep" in board


def test_settings_of_the_gateway_are_the_ones_it_reads(tmp_path: Path) -> None:
    text = section("docs/gateway.md", "Files and backup")
    told = {named(row[0])[0] for row in rows(text.partition("| Setting |")[2].partition("\n\n")[0]) if named(row[0])}
    assert told == set(gateway_settings.MEMBERS)
    (tmp_path / "settings.json").write_text(blocks("docs/gateway.md", "json")[-1], "utf-8")
    assert gateway_settings.read_settings(tmp_path / "settings.json") == gateway_settings.Settings()


def test_the_local_api_lists_every_route() -> None:
    class Line:
        pass

    told = {re.match(r"`/local/([\w-]+)", row[0])[1] for row in rows(section("docs/gateway.md", "The local API"))}
    assert told == set(LocalApi(None, None, Line(), ROOT)._routes)


def test_the_six_tools_and_the_states_are_those_of_the_contract() -> None:
    contract = mcp_contract()
    assert [named(row[0])[0] for row in rows(section("docs/gateway.md", "The six tools"))] == list(contract.tool_names)
    states = {name for row in rows(section("docs/gateway.md", "Operations, gate, holds")) for name in named(row[0])}
    assert states == set(contract.surface["operationStates"])


def test_every_error_code_in_the_table_exists() -> None:
    known = set(CODES) | set(mcp_contract().labels.values()) | set(mcp_contract().codes) | set(mcp_contract().http)
    text = "\n".join((ROOT / "rulith" / module).read_text("utf-8") for module in ("wire/mcp_server.py", "gateway/mcp.py"))
    wrong = [code for row in rows(section("docs/gateway.md", "Error codes and what to do")) for code in named(row[0])
             if code not in known and f'"{code}"' not in text]
    assert not wrong, wrong


def test_built_in_tools_are_told_apart_as_built_or_not() -> None:
    text = section("docs/worker.md", "Built-in Tools")
    told = {named(row[0])[0].split("@")[0].rpartition(".")[2] for row in rows(text)}
    assert told == set(BUILT)
    for tool in BUILTIN_TOOLS.values():
        assert tool.entry in text, tool.id


# --- examples --------------------------------------------------------------------------


def test_the_capability_that_is_shown_is_sound() -> None:
    release, problems = check_capability(json.loads(blocks("docs/capability.md", "json")[0]))
    assert not problems and release.id == "acme.stock"


def test_the_errors_that_are_shown_are_the_ones_a_check_prints(tmp_path: Path) -> None:
    shown = blocks("docs/capability.md", "json")[0]
    wrong = shown.replace('"naf": true', '"nafs": true').replace('"right": 100}', '"right": "?limit"}', 1)
    (tmp_path / "wrong.json").write_text(wrong.replace('"floor": "attested"', '"floor": "firm"'), "utf-8")
    ran = run("capability", "check", "wrong.json", cwd=tmp_path)
    assert ran.returncode == 1
    assert ran.stdout in blocks("docs/capability.md", "")


def test_the_manifest_that_is_shown_fits_that_capability() -> None:
    tools = read_manifest(blocks("docs/worker.md", "json")[0])
    action = json.loads(blocks("docs/capability.md", "json")[0])["actions"][0]
    tool = tools[action["tool"]]
    assert (tool.kind, dict(tool.params)) == (action["kind"], action["params"])


def test_the_program_that_is_shown_reports_a_row(tmp_path: Path) -> None:
    (tmp_path / "count.py").write_text(blocks("docs/capability.md", "python")[0], "utf-8")
    (tmp_path / "stock.json").write_text('{"bolt-8": 340}', "utf-8")
    ran = subprocess.run([sys.executable, "-I", tmp_path / "count.py", '{"sku":"bolt-8"}'], capture_output=True, text=True,
                         env={**os.environ, "RULITH_SOURCE_ACCESS": str(tmp_path)}, timeout=60)
    assert json.loads(ran.stdout) == {"rows": [{"sku": "bolt-8", "units": 340}]}, ran.stderr


def test_the_rules_that_are_shown_are_safe_and_all_json_is_json() -> None:
    for page in PAGES:
        for block in blocks(page.relative_to(ROOT).as_posix(), "json"):
            json.loads(block)
    check_rule(read_rule({"id": "shown", **json.loads(blocks("docs/board.md", "json", "Rules")[0])}))


def test_no_page_holds_an_unfinished_place() -> None:
    for page in PAGES:
        found = re.search(r"\bTODO\b|\bFIXME\b|@@", page.read_text("utf-8"))
        assert not found, f"{page.name}: {found[0]}"


# --- commands --------------------------------------------------------------------------


def run(*words: str, cwd: Path, **env: str) -> subprocess.CompletedProcess[str]:
    """One command of the product, from this checkout, in a clean environment."""
    clean = {"PATH": os.environ.get("PATH", ""), "HOME": str(cwd), "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1", **env}
    return subprocess.run([sys.executable, "-X", "utf8", "-m", "rulith", *words], cwd=cwd, env=clean, capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, timeout=60)


def test_help_names_every_option_that_is_documented(tmp_path: Path) -> None:
    told = {word for row in rows(section("docs/agent.md", "Options")) for word in FLAG.findall(row[0])} - {"--shadow", "--help"}
    shown = run("agent", "--help", cwd=tmp_path)
    assert shown.returncode == 0
    assert told - set(FLAG.findall(shown.stdout)) == set()
    assert list(tmp_path.iterdir()) == [], "help touches no file"


@pytest.mark.parametrize(("words", "status"), [
    (("version", "--json"), 0),
    (("stop",), 0),
    (("start", "--gateway", "http://gateway.example"), 2), (("start", "--gateway", "nothing"), 2),
    (("agent", "--serve"), 2),
    (("agent", "--driver", "board"), 2),
    (("worker",), 2),
    (("gateway", "--listen", "0.0.0.0:80"), 2),
    (("gateway", "--tls-cert", "x"), 2),
    (("demo",), 2),
    (("council",), 2),
    (("verify",), 2),
    (("explain",), 2),
    (("capability", "draft", "a"), 1),
], ids=lambda value: " ".join(value) if isinstance(value, tuple) else str(value))
def test_documented_refusals_end_as_documented(tmp_path: Path, words: tuple[str, ...], status: int) -> None:
    ran = run(*words, cwd=tmp_path)
    assert ran.returncode == status, ran.stderr
    assert "Traceback" not in ran.stderr
