#!/usr/bin/env python3
"""Builds dist/rulith.pyz, the one file, from this checkout and pinned pure wheels.

Standard library only. The same inputs give the same bytes: entries are sorted, times and
modes fixed, wheels checked by hash and by their own RECORD. Compiled files are refused.

  python3 build_pyz.py                 build
  python3 build_pyz.py --start [...]   build, then `rulith start ...`
  python3 build_pyz.py --test [...]    virtual environment, test extra, `pytest ...`
  python3 build_pyz.py --generate      rewrite what protocol/ generates
  python3 build_pyz.py --check         fail on drift between protocol/ and what is checked in
  python3 build_pyz.py --pin           record in the bundles the commit that holds protocol/
  python3 build_pyz.py --list [FILE]   every file in the archive: SHA-256, bytes, group, path
  python3 build_pyz.py --unpack DIR [FILE]   the same files as a folder

Options: --wheels DIR reads the wheels there and never the network; --out FILE.
"""

from __future__ import annotations

import argparse
import ast
import base64
import bz2
import csv
import hashlib
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import tokenize
import types
import venv
import zipfile
import zlib
from pathlib import Path

if sys.version_info < (3, 10):
    sys.exit("rulith needs Python 3.10 or newer; this is %d.%d." % sys.version_info[:2])

sys.dont_write_bytecode = True

from protocol import generate  # noqa: E402  (after the version test)
from protocol.pins import check_pins, pin  # noqa: E402

ROOT = Path(__file__).resolve().parent
REQUIREMENTS = ROOT / "requirements-bundle.txt"
BUILD_ONLY = {"fastjsonschema"}
NAMESPACES = ("jaraco", "backports")   # PEP 420 packages import from a zip only as regular ones
# What keyring's parts import, the first two before Python 3.12. Nothing here unpacks an archive, and keyring
# asks for entry points only, which the standard library of 3.10 tells; the backports are 29 kB. Of the third,
# which is 17 kB, jaraco.functools uses one function.
STAND_INS = {
    "backports/tarfile.py": b"import tarfile\nfrom tarfile import *\ndata_filter = getattr(tarfile, 'data_filter', None)\n",
    "importlib_metadata/__init__.py": b"from importlib.metadata import *\n",
    "more_itertools.py": b"import collections\ndef consume(iterator): collections.deque(iterator, 0)\n",
}
SIZE_BYTES_MAX = 1_000_000             # a promise of the README
ZIP_TIME = (1980, 1, 1, 0, 0, 0)       # the format's first instant; no clock in the bytes

# Files that resemble each other and are read together lie in one stream: a third less than
# one by one, and what starts fast inflates little. A room that is not named is a group.
GROUPS = {
    "start": "base commands",
    "law": "board council rules",
    "roles": "adapters forum gateway runtime store watching work",
    "ground": "dialects disk local net procs workbench",
}
LIBRARIES = {"http": "h11 wsproto", "roots": "certifi", "signing": "ecdsa six.py"}
OTHER_LIBRARIES = "secrets"            # keyring, jeepney and what they stand on
PLAIN = re.compile(r"LICENSE|__main__\.py|rulith/base/(importer|bunzip)\.py|rulith/examples/.+")  # what runs first, and what people copy
QUICK = ("start", "http")              # read by every start, so packed by what unpacks fastest

SHIPPED_SUFFIXES = {".py", ".json", ".html", ".css", ".js", ".svg", ".png", ".ico", ".txt", ".md", ".webmanifest", ".sh", ".service", ".timer", ".xml"}
SHIPPED_PROTOCOL = (*generate.BUNDLES, "codes.json", "board-words.json", "capability.schema.json",
                    "constitution.schema.json", "examples")
_SKIPPED_IN_WHEELS = re.compile(r"(^|/)tests?/|/test_[^/]*\.py$|\.pyi$|/py\.typed$|\.dist-info/(RECORD|WHEEL|top_level\.txt)$")
# Command lines, plug-ins of other programs and ways to wait that the product does not use.
_UNUSED_IN_WHEELS = re.compile(r"keyring/(__main__|cli|completion|devpi_client|backend_complete|testing/)|jeepney/(bindgen|io/(asyncio|threading|trio))\b|certifi/__main__")
_COMPILED = re.compile(r"\.(so|pyd|dll|dylib)$|\.data/")
_PIN = re.compile(r"([A-Za-z0-9._-]+)==(\S+) --hash=sha256:([0-9a-f]{64})")


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


# -- wheels --------------------------------------------------------------------------------


def pins() -> dict[str, tuple[str, str]]:
    """Name -> (version, sha256 of the wheel) of requirements-bundle.txt."""
    found = {}
    for line in REQUIREMENTS.read_text("utf-8").splitlines():
        if not line or line.startswith("#"):
            continue
        match = _PIN.fullmatch(line)
        if not match:
            raise SystemExit(f"{REQUIREMENTS.name}: not a pin: {line!r}")
        found[_normal(match[1])] = (match[2], match[3])
    return found


def wheel_of(folder: Path, name: str, version: str, sha256: str) -> Path | None:
    """The wheel of one pin in `folder`; None when it is not there; SystemExit when its bytes differ."""
    for path in sorted(folder.glob("*.whl")):
        parts = path.name.split("-")
        if _normal(parts[0]) == name and parts[1] == version:
            if hashlib.sha256(path.read_bytes()).hexdigest() != sha256:
                raise SystemExit(f"{path}: its SHA-256 is not the pinned one; remove the file and build again")
            return path
    return None


def wheels(folder: Path | None) -> dict[str, Path]:
    """Name -> wheel of every pin; fetched into wheels/ when no folder is given and one is missing."""
    where = folder or ROOT / "wheels"
    found = {name: wheel_of(where, name, *row) for name, row in pins().items()}
    if None in found.values() and folder is None:
        fetch(where)
        found = {name: wheel_of(where, name, *row) for name, row in pins().items()}
    missing = sorted(name for name, path in found.items() if path is None)
    if missing:
        raise SystemExit(f"{where} lacks the pinned wheels of {', '.join(missing)}")
    return found


def fetch(where: Path) -> None:
    """Download the pinned wheels with pip, which checks each hash; only pure wheels pass."""
    with tempfile.TemporaryDirectory() as spare:
        command = [
            *pip(Path(spare)), "download", "--quiet", "--require-hashes", "--no-deps", "--only-binary=:all:",
            "--python-version", "3.10", "--implementation", "py", "--abi", "none", "--platform", "any",
            "--dest", str(where), "--requirement", str(REQUIREMENTS),
        ]
        print(f"fetching {len(pins())} wheels into {where}", flush=True)
        if subprocess.run(command).returncode:
            raise SystemExit("pip could not fetch the wheels. With no network, build with --wheels DIR.")


def pip(spare: Path) -> list[str]:
    """A command that runs pip: this interpreter's, the checkout's, or that of a fresh environment in `spare`."""
    for python in (Path(sys.executable), environment_python(ROOT / ".venv")):
        if python.exists() and subprocess.run([python, "-m", "pip", "--version"], capture_output=True).returncode == 0:
            return [str(python), "-m", "pip"]
    make_environment(spare / "env")
    return [str(environment_python(spare / "env")), "-m", "pip"]


def environment_python(folder: Path) -> Path:
    return folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def make_environment(folder: Path) -> None:
    try:
        venv.create(folder, with_pip=True)
    except (subprocess.CalledProcessError, OSError) as problem:
        raise SystemExit(
            f"This Python cannot make a virtual environment ({problem}). Install its venv package, "
            "or use a Python that has pip."
        ) from None


def read_wheel(path: Path) -> dict[str, bytes]:
    """The files of one wheel that the archive carries, each checked against RECORD."""
    files = {}
    with zipfile.ZipFile(path) as wheel:
        names = [name for name in wheel.namelist() if not name.endswith("/")]
        record = next(name for name in names if name.endswith(".dist-info/RECORD"))
        sums = {row[0]: row[1] for row in csv.reader(io.StringIO(wheel.read(record).decode("utf-8"))) if row}
        for name in names:
            if _COMPILED.search(name):
                raise SystemExit(f"{path.name}: {name} is not pure Python")
            data = wheel.read(name)
            if name != record:
                kind, _, stated = sums[name].partition("=")
                counted = base64.urlsafe_b64encode(hashlib.new(kind, data).digest()).rstrip(b"=").decode()
                if counted != stated:
                    raise SystemExit(f"{path.name}: {name} is not what RECORD says")
            if _SKIPPED_IN_WHEELS.search(name) or _UNUSED_IN_WHEELS.match(name):
                continue
            if name.endswith(".dist-info/METADATA"):
                data = data.partition(b"\n\n")[0] + b"\n"  # the headers; the rest is the project's README
            files[name] = slim(data, f"{path.name}: {name}") if name.endswith(".py") else data
    return files


def _program(code: types.CodeType) -> tuple:
    """What a code object does and on which lines its blocks begin; columns are left out."""
    constants = tuple(_program(c) if isinstance(c, types.CodeType) else (type(c), c) for c in code.co_consts)
    return (code.co_code, constants, code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars, code.co_flags,
            code.co_firstlineno, code.co_name)


_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def _nodes(tree: ast.AST) -> list[tuple[ast.AST, bool]]:
    """Every node, and whether it is a function or lies in one."""
    found, left = [], [(tree, False)]
    while left:
        node, within = left.pop()
        within = within or isinstance(node, _FUNCTIONS)
        found.append((node, within))
        left += [(child, within) for child in ast.iter_child_nodes(node)]
    return found


def _untype(nodes: list[tuple[ast.AST, bool]], lines: list[bytes]) -> set[tuple[int, int, int, bytes]]:
    """Take the types of parameters, results and local variables out of the tree; the same cuts for `lines`.

    Nothing reads them at run time. Fields of classes keep theirs: dataclasses are made of
    them. A type that spans lines stays where it is.
    """
    cuts = set()
    for function in [node for node, _ in nodes if isinstance(node, _FUNCTIONS)]:
        given = function.args
        for each in (*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg):
            if each is not None and each.annotation is not None and each.lineno == each.end_lineno:
                cuts.add((each.lineno - 1, each.col_offset + len(each.arg.encode()), each.end_col_offset, b""))
                each.annotation = None
        found = function.returns
        if found is not None and found.lineno == found.end_lineno:
            line = lines[found.lineno - 1]
            arrow = line.rfind(b"->", 0, found.col_offset)
            if arrow >= 0 and not line[arrow + 2:found.col_offset].strip():
                cuts.add((found.lineno - 1, len(line[:arrow].rstrip()), found.end_col_offset, b""))
                function.returns = None
    for body in [node.body for node, within in nodes if within and isinstance(getattr(node, "body", None), list) and not isinstance(node, ast.ClassDef)]:
        for number, node in enumerate(body):
            if isinstance(node, ast.AnnAssign) and node.value is not None and node.target.lineno == node.annotation.end_lineno:
                cuts.add((node.lineno - 1, node.target.end_col_offset, node.annotation.end_col_offset, b""))
                body[number] = ast.copy_location(ast.Assign([node.target], node.value), node)
    return cuts


def _unprose(nodes: list[tuple[ast.AST, bool]], lines: list[bytes]) -> set[tuple[int, int, int, bytes]]:
    """Empty the docstrings of the tree; the same cuts for `lines`."""
    cuts = set()
    for holder, _ in nodes:
        first = holder.body[0] if isinstance(holder, (ast.Module, ast.ClassDef, *_FUNCTIONS)) and holder.body else None
        node = first.value if isinstance(first, ast.Expr) else None
        if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
            continue
        row, last = node.lineno - 1, node.end_lineno - 1
        if row == last:
            cuts.add((row, node.col_offset, node.end_col_offset, b'""'))
        else:
            cuts.add((row, node.col_offset, len(lines[row]), b'""' + lines[last][node.end_col_offset:]))
            cuts |= {(between, 0, len(lines[between]), b"") for between in range(row + 1, last + 1)}
        node.value, node.kind = "", None
    return cuts


def _tightened(nodes: list[tuple[ast.AST, bool]], lines: list[str]) -> list[str]:
    """The lines without comments, with one blank for each level and one more where a statement goes on."""
    within_text = {row for node, _ in nodes if isinstance(node, (ast.Constant, ast.JoinedStr)) for row in range(node.lineno + 1, node.end_lineno + 1)}
    kept, level, begins, levels = list(lines), 0, True, {}
    for token in tokenize.generate_tokens(io.StringIO("\n".join(lines)).readline):
        row, column = token.start
        if token.type == tokenize.COMMENT:
            if row > 2:  # the first two lines may name a shell or a coding
                kept[row - 1] = kept[row - 1][:column].rstrip()
        elif token.type in (tokenize.INDENT, tokenize.DEDENT):
            level += 1 if token.type == tokenize.INDENT else -1
        elif token.type == tokenize.NEWLINE:
            begins = True
        elif token.type not in (tokenize.NL, tokenize.ENDMARKER):
            levels.setdefault(row, level if begins else level + 1)
            begins = False
    for row in levels.keys() - within_text:
        kept[row - 1] = " " * levels[row] + kept[row - 1].lstrip(" \t\f")
    return kept


def slim(source: bytes, where: str, *, untyped: bool = False) -> bytes:
    """Source without comments, docstrings and deep indentation, every line where it was.

    Two fifths of what Python code weighs is prose and types, and both are read in the
    checkout. Licences stay beside the wheels' code; the examples, which people copy, stay
    as they are. SystemExit when the result is not the same program.
    """
    text = source.decode("utf-8").replace("\r\n", "\n")
    tree = ast.parse(text)
    lines, nodes = [line.encode("utf-8") for line in text.split("\n")], _nodes(tree)
    cuts = _unprose(nodes, lines) | (_untype(nodes, lines) if untyped else set())
    for line, first, last, instead in sorted(cuts, reverse=True):
        lines[line] = lines[line][:first] + instead + lines[line][last:]
    small = "\n".join(_tightened(nodes, [line.decode("utf-8") for line in lines]))
    if _program(compile(small, where, "exec", dont_inherit=True)) != _program(compile(tree, where, "exec", dont_inherit=True)):
        raise SystemExit(f"{where}: cannot be slimmed without changing it")
    return small.encode("utf-8")


_SCRIPT = re.compile(
    rb"""(?P<kept>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`|(?<=[(,=:\[!&|?{};>])[ ]*/(?![/*])(?:[^/\\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+/)"""
    rb"""|[ \t]*(?://[^\n]*|/\*.*?\*/)""", re.DOTALL)
_STYLE = re.compile(rb"""(?P<kept>"[^"\n]*")|[ \t]*/\*.*?\*/""", re.DOTALL)


def bare(source: bytes, name: str) -> bytes:
    """A script or style sheet without its comments, every line where it was; any other file as it is.

    The pattern knows texts, templates and patterns well enough for how the page is written; a
    test reads every script before and after with a parser, and each has the same tokens.
    """
    pattern = {".js": _SCRIPT, ".css": _STYLE}.get(Path(name).suffix)
    return source if pattern is None else pattern.sub(lambda found: found["kept"] or b"\n" * found[0].count(b"\n"), source)


# -- the archive ---------------------------------------------------------------------------


def tree(folder: Path, inside: str) -> dict[str, bytes]:
    """Every file under `folder`, named below `inside`; caches are left out, unknown kinds refused."""
    files = {}
    for path in sorted(folder.rglob("*")):
        if not path.is_file() or "__pycache__" in path.parts or path.name.startswith("."):
            continue
        if path.suffix not in SHIPPED_SUFFIXES:
            raise SystemExit(f"{path.relative_to(ROOT)}: files of this kind are not shipped; move or remove it")
        files[f"{inside}/{path.relative_to(folder).as_posix()}"] = path.read_bytes()
    return files


def archive_files(found: dict[str, Path]) -> dict[str, bytes]:
    """Everything in the archive by name."""
    files: dict[str, bytes] = {}
    for name in sorted(found):
        if name not in BUILD_ONLY:
            for inside, data in read_wheel(found[name]).items():
                if inside in files:
                    raise SystemExit(f"two wheels carry {inside}")
                files[inside] = data
    for package in NAMESPACES:
        files.setdefault(f"{package}/__init__.py", b"")
    files |= STAND_INS
    for name, data in tree(ROOT / "rulith", "rulith").items():
        files[name] = slim(data, name, untyped=True) if name.endswith(".py") else bare(data, name)
    for name in SHIPPED_PROTOCOL:
        path = ROOT / "protocol" / name
        files |= tree(path, f"rulith/protocol/{name}") if path.is_dir() else {f"rulith/protocol/{name}": path.read_bytes()}
    files |= tree(ROOT / "examples", "rulith/examples")
    files["LICENSE"] = (ROOT / "LICENSE").read_bytes()
    files["__main__.py"] = files.pop("rulith/__main__.py")
    files["certifi/cacert.pem"] = der(files["certifi/cacert.pem"])
    return files


def der(pem: bytes) -> bytes:
    """The certificates of a PEM file, end to end; the importer tells them as PEM again."""
    found = re.findall(rb"-----BEGIN CERTIFICATE-----(.+?)-----END CERTIFICATE-----", pem, re.DOTALL)
    return b"".join(base64.b64decode(text) for text in found)


def group_of(name: str) -> str:
    """The group whose stream holds the file; "." for an entry of its own."""
    if PLAIN.fullmatch(name):
        return "."
    top, *rest = name.split("/")
    if top == "rulith":
        room = rest[0] if len(rest) > 1 else "base"
        return next((group for group, rooms in GROUPS.items() if room in rooms.split()), room)
    if top.endswith(".dist-info"):
        return "about"
    return next((group for group, tops in LIBRARIES.items() if top in tops.split()), OTHER_LIBRARIES)


def packed(files: dict[str, bytes]) -> dict[str, bytes]:
    """The entries of the zip: what stays by itself, one stream for each group, and the index of all."""
    entries, streams, index = {}, {}, {}
    for name in sorted(files):
        group = group_of(name)
        index.setdefault(group, []).append(f"{len(files[name])} {name}\n")
        if group == ".":
            entries[name] = files[name]
        else:
            streams.setdefault(group, []).append(files[name])
    entries |= {f"packed/{group}": smallest(group, b"".join(parts)) for group, parts in streams.items()}
    entries["packed/index"] = "".join(f"{group}\n{''.join(rows)}" for group, rows in sorted(index.items())).encode()
    return entries


def smallest(group: str, content: bytes) -> bytes:
    """The content of a group as its entry holds it: a bzip2 stream where that is the smaller one and may be slow."""
    stream = bz2.compress(content, 9)
    return stream if group not in QUICK and len(stream) < len(zlib.compress(content, 9)) else content


def is_stream(name: str, content: bytes) -> bool:
    return name.startswith("packed/") and content.startswith(b"BZh")


def contents(archive_path: Path) -> list[tuple[str, str, bytes]]:
    """(group, path, bytes) of every file in a built archive, as its importer tells them.

    SystemExit when the archive and its index differ.
    """
    from rulith.base.packed import pem_text

    found, left = [], {}
    with zipfile.ZipFile(archive_path) as pyz:
        for info in pyz.infolist():
            data = pyz.read(info)
            left[info.filename] = bz2.decompress(data) if is_stream(info.filename, data) else data
    group = ""
    for line in left.pop("packed/index").decode("utf-8").splitlines():
        size, blank, name = line.partition(" ")
        if not blank:
            group = line
            continue
        place = name if group == "." else f"packed/{group}"
        data, left[place] = left[place][:int(size)], left[place][int(size):]
        if len(data) != int(size):
            raise SystemExit(f"{archive_path}: {name} has {len(data)} bytes, its index says {size}")
        found.append((group, name, pem_text(data) if name.endswith(".pem") else data))
        if not left[place] and group == ".":
            del left[place]
    beside = sorted(place for place, data in left.items() if data or not place.startswith("packed/"))
    if beside:
        raise SystemExit(f"{archive_path}: not in its index: {', '.join(beside)}")
    return found


def listing(archive_path: Path) -> int:
    rows = contents(archive_path)
    for group, name, data in sorted(rows, key=lambda row: row[1]):
        print(f"{hashlib.sha256(data).hexdigest()} {len(data):>8} {group:<10} {name}")
    return 0


def unpack(archive_path: Path, folder: Path) -> int:
    """Write every file of the archive below `folder`, which must be new or empty."""
    if folder.exists() and any(folder.iterdir()):
        raise SystemExit(f"{folder} is not empty")
    for _, name, data in contents(archive_path):
        place = folder / name
        if folder.resolve() not in place.resolve().parents:
            raise SystemExit(f"{archive_path}: {name} would lie outside {folder}")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)
    return 0


def archive(files: dict[str, bytes]) -> bytes:
    """The .pyz: a line for the shell, then a zip with sorted entries, one time and one mode."""
    out = io.BytesIO()
    out.write(b"#!/usr/bin/env python3\n")
    with zipfile.ZipFile(out, "w") as pyz:
        for name in sorted(files):
            entry = zipfile.ZipInfo(name, ZIP_TIME)
            entry.create_system = 3
            entry.external_attr = 0o100644 << 16
            entry.compress_type = zipfile.ZIP_STORED if is_stream(name, files[name]) else zipfile.ZIP_DEFLATED
            pyz.writestr(entry, files[name], compresslevel=9)
    return out.getvalue()


def replace(path: Path, data: bytes, mode: int) -> None:
    """Write `path` whole or not at all; a running copy keeps the old file."""
    if path.exists() and not path.is_file():
        sys.exit(f"{path} is no plain file; it stays as it is.")
    path.parent.mkdir(parents=True, exist_ok=True)
    spare = path.with_name(path.name + f".{os.getpid()}.tmp")
    spare.write_bytes(data)
    os.chmod(spare, mode)
    os.replace(spare, path)


def version() -> str:
    match = re.search(r'^VERSION = "([^"]+)"$', (ROOT / "rulith/__init__.py").read_text("utf-8"), re.MULTILINE)
    if not match:
        raise SystemExit("rulith/__init__.py states no VERSION")
    return match[1]


def build(out: Path, folder: Path | None) -> Path:
    """Build `out` and artifact-manifest.json beside it."""
    stale = [name for name in generate.BUNDLES if not bundle_is_fresh(name)]
    if stale:
        raise SystemExit(f"{', '.join(stale)}: protocol/ has changed since; run build_pyz.py --generate")
    data = archive(packed(archive_files(wheels(folder))))
    if len(data) > SIZE_BYTES_MAX:
        raise SystemExit(f"the archive has {len(data)} bytes, over the limit of {SIZE_BYTES_MAX}")
    identity = {
        "name": "rulith",
        "version": version(),
        "size": len(data),
        "sha256": hashlib.sha256(data).hexdigest(),
        "contracts": {
            name.partition("-")[0]: "sha256:" + hashlib.sha256((ROOT / "protocol" / name).read_bytes()).hexdigest()
            for name in generate.BUNDLES
        },
    }
    replace(out, data, 0o755)
    replace(out.with_name("artifact-manifest.json"), (json.dumps(identity, indent=2) + "\n").encode(), 0o644)
    print(f"{out}  {len(data)} bytes  sha256 {identity['sha256']}", flush=True)
    return out


# -- what protocol/ generates --------------------------------------------------------------


def schema_compiler(folder: Path | None):
    """The schema compiler, imported from its pinned wheel and from nowhere else."""
    name, (version_, sha256) = "fastjsonschema", pins()["fastjsonschema"]
    path = wheels(folder)[name]
    assert hashlib.sha256(path.read_bytes()).hexdigest() == sha256, version_
    sys.path.insert(0, str(path))
    import fastjsonschema
    import fastjsonschema.draft07
    import fastjsonschema.ref_resolver

    if str(path) not in fastjsonschema.__file__:
        raise SystemExit(f"fastjsonschema came from {fastjsonschema.__file__}, not from its pinned wheel")
    return fastjsonschema


def stored_commit(name: str) -> str | None:
    path = ROOT / "protocol" / name
    return json.loads(path.read_bytes())["sourceCommit"] if path.exists() else None


def bundle_is_fresh(name: str) -> bool:
    path = ROOT / "protocol" / name
    return path.exists() and path.read_bytes() == generate.bundle(ROOT / "protocol", name, stored_commit(name))


def generated(folder: Path | None) -> dict[Path, bytes]:
    """Every generated file as protocol/ is now; a bundle whose files changed is no longer pinned."""
    files = {}
    for name in generate.BUNDLES:
        commit = stored_commit(name) if bundle_is_fresh(name) else None
        files[ROOT / "protocol" / name] = generate.bundle(ROOT / "protocol", name, commit)
    library = schema_compiler(folder)
    for module, units in generate.MODULES.items():
        files[ROOT / module] = generate.validators(ROOT / "protocol", library, units)
    return files


def check(folder: Path | None, require_pin: bool) -> int:
    """Compare what is checked in with protocol/ and the pins with Git; 0 when nothing drifted."""
    problems = []
    for path, data in generated(folder).items():
        if not path.exists() or path.read_bytes() != data:
            problems.append(f"{path.relative_to(ROOT)} has drifted from protocol/; run build_pyz.py --generate")
    stated = dict(re.findall(r'^  "([A-Za-z0-9._-]+)==([^";]+)', (ROOT / "pyproject.toml").read_text("utf-8"), re.MULTILINE))
    for name, (version_, _) in pins().items():
        if stated.get(name, version_) != version_:
            problems.append(f"pyproject.toml pins {name} {stated[name]}, requirements-bundle.txt {version_}")
    lines, pin_problems, unpinned = check_pins(ROOT)
    for line in lines:
        print(line)
    problems += pin_problems
    if unpinned and require_pin:
        problems.append(f"unpinned: {', '.join(unpinned)}; commit protocol/, then run build_pyz.py --pin and commit")
    for problem in problems:
        print(f"FAILED {problem}", file=sys.stderr)
    print("check: " + (f"{len(problems)} problem(s)" if problems else "nothing has drifted"))
    return 1 if problems else 0


# -- start and test ------------------------------------------------------------------------


def start(pyz: Path, words: list[str]) -> int:
    command = [sys.executable, "-I", "-S", "-X", "utf8", str(pyz), "start", *words]
    if os.name == "nt":
        return subprocess.run(command).returncode
    sys.stdout.flush()
    os.execv(sys.executable, command)


def test_requirements() -> list[str]:
    """The dependencies and the test extra of pyproject.toml, as pip takes them."""
    text = (ROOT / "pyproject.toml").read_text("utf-8")
    lists = re.findall(r"^(?:dependencies|test) = \[\n(.*?)^\]", text, re.MULTILINE | re.DOTALL)
    found = [line for block in lists for line in re.findall(r'^  "([^"]+)",(?: *#.*)?$', block, re.MULTILINE)]
    assert len(lists) == 2 and found, "pyproject.toml is not laid out as this expects"
    return found


def test(words: list[str]) -> int:
    """Make .venv, install the test extra, run pytest with `words`; without any, every test, in two processes (tests/conftest.py)."""
    folder = ROOT / ".venv"
    python = environment_python(folder)
    if not python.exists():
        print(f"making {folder}", flush=True)
        make_environment(folder)
    wanted = test_requirements()
    stamp = folder / "rulith-test-extra.txt"
    if not stamp.exists() or stamp.read_text("utf-8") != "\n".join(wanted):
        print("installing the test extra", flush=True)
        if subprocess.run([python, "-m", "pip", "install", "--quiet", *wanted]).returncode:
            return 1
        stamp.write_text("\n".join(wanted), "utf-8")
    return subprocess.run([python, "-m", "pytest", *(words or ["-n", "2"])], cwd=ROOT).returncode


def main() -> int:
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--wheels", type=Path, metavar="DIR", help="read the wheels here; never use the network")
    ask.add_argument("--out", type=Path, default=ROOT / "dist" / "rulith.pyz", metavar="FILE")
    ask.add_argument("--require-pin", action="store_true", help="with --check: an unpinned bundle fails")
    act = ask.add_mutually_exclusive_group()
    act.add_argument("--check", action="store_true")
    act.add_argument("--generate", action="store_true")
    act.add_argument("--pin", action="store_true")
    act.add_argument("--list", nargs="?", type=Path, const=True, metavar="FILE")
    act.add_argument("--unpack", nargs="+", type=Path, metavar=("DIR", "FILE"))
    act.add_argument("--start", nargs=argparse.REMAINDER, metavar="...")
    act.add_argument("--test", nargs=argparse.REMAINDER, metavar="...")
    given = ask.parse_args()
    if given.test is not None:
        return test(given.test)
    if given.check:
        return check(given.wheels, given.require_pin)
    if given.generate:
        for path, data in generated(given.wheels).items():
            if not path.exists() or path.read_bytes() != data:
                path.write_bytes(data)
                print(f"wrote {path.relative_to(ROOT)}")
        return 0
    if given.pin:
        return pin(ROOT)
    if given.list is not None:
        return listing(given.out if given.list is True else given.list)
    if given.unpack is not None:
        return unpack(given.unpack[1] if given.unpack[1:] else given.out, given.unpack[0])
    pyz = build(given.out, given.wheels)
    return start(pyz, given.start) if given.start is not None else 0


if __name__ == "__main__":
    sys.exit(main())
