"""The plan of the house as a test: floors, forbidden powers, no cycles, no hidden imports.

Sources are read as text; nothing here imports the rooms.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
HOUSE = ROOT / "rulith"

FLOORS = [
    {"__main__"},
    {"agent", "worker", "host", "commands"},
    {"runtime", "work", "workbench", "gateway", "forum", "watching"},
    {"adapters", "store", "local"},
    {"board", "council", "net", "disk"},
    {"rules", "wire", "dialects", "procs"},
    {"base"},
]
LEVEL = {room: level for level, rooms in enumerate(FLOORS) for room in rooms}

PURE = {"board", "council", "rules", "wire", "dialects"}
IMPURE_MODULES = {"asyncio", "socket", "sqlite3", "subprocess", "time", "random", "secrets", "logging", "threading", "os"}
# room -> rooms it may never import although they lie lower
NEVER = {
    "runtime": {"board", "council", "rules", "store", "adapters"},
    "work": {"board", "council", "rules", "store", "dialects"},
    "adapters": {"board", "council", "rules", "store"},
    "workbench": {"runtime", "work"},
    "watching": {"board", "council", "rules", "store"},
    "board": {"wire"},
    "wire": {"board"},
}
# power -> the rooms that may use it
POWERS = {
    "h11": {"net"},
    "sqlite3": {"store", "adapters"},       # of the adapters, the one for databases
    "subprocess": {"procs"},
    "multiprocessing": {"procs"},
    "time": {"base"},
    "random": {"base"},
    "secrets": {"base"},
    "uuid": {"base"},
}
CLOCK_CALLS = {("datetime", "now"), ("datetime", "utcnow"), ("date", "today"), ("os", "urandom"), ("os", "fork"),
               ("os", "system"), ("os", "popen"), ("asyncio", "create_subprocess_exec"),
               ("asyncio", "create_subprocess_shell")}
CLOCK_ROOMS = {"base", "procs"}
GENERATED = {"contract_validators.py", "result_validators.py", "file_validators.py"}


def modules() -> list[Path]:
    return sorted(path for path in HOUSE.rglob("*.py") if "__pycache__" not in path.parts and "ui_static" not in path.parts)


def room_of(path: Path) -> str:
    first = path.relative_to(HOUSE).parts[0]
    return first.removesuffix(".py")


@cache
def parsed(path: Path) -> ast.Module:
    """The module, without what only a type checker imports."""
    tree = ast.parse(path.read_text("utf-8"), str(path))
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            node.body = [ast.Pass()]
    return tree


def imports(tree: ast.AST) -> Iterator[tuple[str, int, ast.AST]]:
    """(dotted name, relative level, node) of every import under `tree`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, 0, node
        elif isinstance(node, ast.ImportFrom):
            yield node.module or "", node.level, node
            if node.module == "rulith":
                for alias in node.names:
                    yield f"rulith.{alias.name}", node.level, node


def own_imports(path: Path) -> set[str]:
    """Rooms and doors of the house that `path` imports."""
    found = set()
    for name, _, _ in imports(parsed(path)):
        parts = name.split(".")
        if parts[0] == "rulith" and len(parts) > 1 and parts[1] in LEVEL:
            found.add(parts[1])
    return found


def shown(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def test_every_room_stands_on_a_floor():
    """A new room or door is given its place here before it is used."""
    rooms = {room_of(path) for path in modules()} - {"__init__"}
    assert rooms <= set(LEVEL), f"no floor for {sorted(rooms - set(LEVEL))}"


def test_arrows_point_down_and_never_sideways():
    wrong = []
    for path in modules():
        room = room_of(path)
        for target in own_imports(path) if room in LEVEL else ():
            if target != room and LEVEL[target] <= LEVEL[room]:
                wrong.append(f"{shown(path)} imports {target}")
    assert not wrong, "\n".join(wrong)


def test_doors_do_not_import_each_other():
    """agent, worker, host and each command stand alone; what two of them need lies lower."""
    wrong = []
    for path in modules():
        if room_of(path) != "commands" or path.name in ("__init__.py", "usage.py"):
            continue
        for name, _, _ in imports(parsed(path)):
            if name.startswith("rulith.commands.") and not name.startswith(f"rulith.commands.{path.stem}"):
                wrong.append(f"{shown(path)} imports {name}")
    assert not wrong, "\n".join(wrong)


def test_forbidden_neighbours_are_not_imported():
    wrong = [
        f"{shown(path)} imports {target}"
        for path in modules()
        for target in own_imports(path) & NEVER.get(room_of(path), set())
    ]
    assert not wrong, "\n".join(wrong)


def test_pure_rooms_import_no_power():
    """Law and protocol replay the same from the same inputs."""
    wrong = [
        f"{shown(path)} imports {name}"
        for path in modules()
        if room_of(path) in PURE
        for name, _, _ in imports(parsed(path))
        if name.split(".")[0] in IMPURE_MODULES
    ]
    assert not wrong, "\n".join(wrong)


def test_each_power_has_one_room():
    wrong = [
        f"{shown(path)} imports {name}"
        for path in modules()
        for name, _, _ in imports(parsed(path))
        if room_of(path) not in POWERS.get(name.split(".")[0], {room_of(path)})
    ]
    assert not wrong, "\n".join(wrong)


def test_clock_randomness_and_processes_are_called_in_their_rooms():
    wrong = []
    for path in modules():
        if room_of(path) in CLOCK_ROOMS:
            continue
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.Attribute) and isinstance(node.value, (ast.Name, ast.Attribute)):
                owner = node.value.id if isinstance(node.value, ast.Name) else node.value.attr
                if (owner, node.attr) in CLOCK_CALLS:
                    wrong.append(f"{shown(path)}:{node.lineno} uses {owner}.{node.attr}")
    assert not wrong, "\n".join(wrong)


def test_no_wait_forgets_a_cancellation():
    """Past bug: `asyncio.wait_for` before Python 3.12 drops one that comes together with the result; `net.link.within` keeps it."""
    wrong = [
        f"{shown(path)}:{node.lineno} uses asyncio.wait_for"
        for path in modules()
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.Attribute) and node.attr == "wait_for" and isinstance(node.value, ast.Name) and node.value.id == "asyncio"
    ]
    assert not wrong, "\n".join(wrong)


def test_imports_are_absolute_and_at_the_top():
    """A late import breaks when the archive is replaced under a running role; only the verbs are lazy."""
    wrong = []
    for path in modules():
        tree = parsed(path)
        wrong += [f"{shown(path)}:{node.lineno} is relative" for _, level, node in imports(tree) if level]
        if room_of(path) == "__main__":
            continue
        for function in ast.walk(tree):
            if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
                for name, _, node in imports(function):
                    if name.split(".")[0] == "rulith":
                        wrong.append(f"{shown(path)}:{node.lineno} imports {name} inside {function.name}")
    assert not wrong, "\n".join(wrong)


def test_modules_form_no_import_cycle():
    graph: dict[str, set[str]] = {}
    names = {path: ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__") for path in modules()}
    known = set(names.values())
    for path, name in names.items():
        targets = set()
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.Import):
                targets |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                inner = {f"{node.module}.{alias.name}" for alias in node.names}
                targets |= (inner & known) or {node.module}
        graph[name] = (targets & known) - {name}
    done: set[str] = set()

    def walk(name: str, trail: list[str]) -> None:
        assert name not in trail, " -> ".join([*trail[trail.index(name):], name])
        if name not in done:
            for target in sorted(graph[name]):
                walk(target, [*trail, name])
            done.add(name)

    for name in sorted(graph):
        walk(name, [])


def test_no_file_is_found_by_dunder_file():
    """Inside the archive only importlib.resources finds anything."""
    wrong = [
        f"{shown(path)}:{node.lineno}"
        for path in modules()
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.Name) and node.id == "__file__"
    ]
    assert not wrong, "\n".join(wrong)


def test_no_handler_swallows_everything():
    """No bare except, and nothing left to be written later."""
    wrong = []
    for path in modules():
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.ExceptHandler) and node.type is None:
                wrong.append(f"{shown(path)}:{node.lineno} bare except")
            if isinstance(node, ast.Raise) and "NotImplementedError" in ast.dump(node):
                wrong.append(f"{shown(path)}:{node.lineno} raises NotImplementedError")
    assert not wrong, "\n".join(wrong)


def test_every_module_opens_with_its_promise():
    wrong = [shown(path) for path in modules() if not ast.get_docstring(parsed(path))]
    assert not wrong, "\n".join(wrong)


def test_doors_are_small():
    """Deciding happens below; a door reads settings, runs, and turns the outcome into an exit code."""
    wrong = []
    for name in ("agent.py", "worker.py", "host.py", "__main__.py"):
        path = HOUSE / name
        lines = len(path.read_text("utf-8").splitlines()) if path.exists() else 0
        if lines > 200:
            wrong.append(f"{name}: {lines} lines")
    assert not wrong, "\n".join(wrong)


def test_sizes_are_within_reason(capsys: pytest.CaptureFixture[str]):
    """Budgets, not laws: the longest modules are printed; only a module twice the budget fails."""
    sizes = sorted(
        ((len(path.read_text("utf-8").splitlines()), shown(path)) for path in modules() if path.name not in GENERATED),
        reverse=True,
    )
    with capsys.disabled():
        over = [f"{lines:5} {name}" for lines, name in sizes if lines > 600]
        if over:
            print("\nmodules over 600 lines:\n" + "\n".join(over))
    assert sizes[0][0] <= 1200, f"{sizes[0][1]} has {sizes[0][0]} lines"
