"""What lies packed in the one file is found, read and shown as if it lay there plainly. Duty: design D3, §11."""

from __future__ import annotations

import bz2
import hashlib
import json
import os
import re
import shutil
import ssl
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import build_pyz
from rulith.base.packed import PackedPath, PackedReader, pem_text

ROOT = Path(__file__).resolve().parents[2]
BARE = {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C"}


def inside(pyz: Path, code: str, *words: str, flags: tuple[str, ...] = ("-I", "-S")) -> str:
    """What `code` prints with the archive's importer in place, as `pyz` has it when it runs."""
    start = "import runpy, sys\npyz = sys.argv[1]\nsys.path.insert(0, pyz)\nrunpy.run_path(pyz, run_name='loaded')\nsys.path.insert(0, pyz)\n"
    done = subprocess.run([sys.executable, *flags, "-c", start + code, str(pyz), *words], env=BARE, capture_output=True, encoding="utf-8", timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_file_is_in_the_group_of_its_kind(pyz, sources):
    groups = {name: group for group, name, _ in build_pyz.contents(pyz)}
    for path in (sources / "rulith").rglob("*.py"):
        name = f"rulith/{path.relative_to(sources / 'rulith').as_posix()}"
        assert name == "rulith/__main__.py" or groups[name] == build_pyz.group_of(name)
    assert groups["rulith/board/board.py"] == groups["rulith/rules/engine.py"] == "law" and groups["h11/__init__.py"] == "http"
    assert groups["jeepney/__init__.py"] == "secrets" and groups["rulith/__init__.py"] == "start" and groups["LICENSE"] == "."


def test_what_people_copy_and_the_licence_lie_there_plainly(pyz):
    names = zipfile.ZipFile(pyz).namelist()
    assert {"LICENSE", "__main__.py", "rulith/examples/verified-calculation/capability.json"} <= set(names)
    assert all(name.startswith("packed/") or build_pyz.PLAIN.fullmatch(name) for name in names)


def test_the_list_shows_every_file_with_its_digest(pyz, tmp_path, capsys):
    assert build_pyz.listing(pyz) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert [row[3] for row in rows] == sorted(row[3] for row in rows)
    assert build_pyz.unpack(pyz, tmp_path / "out") == 0
    for digest, size, _, name in rows:
        data = (tmp_path / "out" / name).read_bytes()
        assert (hashlib.sha256(data).hexdigest(), len(data)) == (digest, int(size))
    with pytest.raises(SystemExit, match="not empty"):
        build_pyz.unpack(pyz, tmp_path / "out")


def test_the_command_lists_a_named_file(pyz, sources):
    done = subprocess.run([sys.executable, "build_pyz.py", "--list", str(pyz)], cwd=sources, capture_output=True, text=True)
    assert done.returncode == 0 and re.search(r"^[0-9a-f]{64} +\d+ start +rulith/base/errors\.py$", done.stdout, re.MULTILINE)


@pytest.mark.parametrize("change", ["longer", "shorter", "stray entry"])
def test_an_archive_that_differs_from_its_index_is_named(pyz, tmp_path, change):
    bad = tmp_path / "bad.pyz"
    with zipfile.ZipFile(pyz) as whole, zipfile.ZipFile(bad, "w") as copy:
        for name in whole.namelist():
            data = whole.read(name)
            if name == "packed/law":
                data = bz2.decompress(data)
                data = {"longer": data + b"import os\n", "shorter": data[:-1]}.get(change, data)
            copy.writestr(name, data)
        if change == "stray entry":
            copy.writestr("sitecustomize.py", "")
    with pytest.raises(SystemExit, match="index|sitecustomize"):
        build_pyz.contents(bad)


def test_an_unpacked_path_never_leaves_its_folder(pyz, tmp_path):
    bad = tmp_path / "bad.pyz"
    with zipfile.ZipFile(bad, "w") as copy:
        copy.writestr("packed/index", "law\n1 ../outside\n")
        copy.writestr("packed/law", "x")
    with pytest.raises(SystemExit, match="outside"):
        build_pyz.unpack(bad, tmp_path / "out")
    assert not (tmp_path / "outside").exists()


def test_data_is_what_the_checkout_holds_but_for_comments_of_the_page(pyz, sources):
    for _, name, data in build_pyz.contents(pyz):
        place = next((sources / path for path in (name, name.removeprefix("rulith/")) if (sources / path).is_file()), None)
        if name.startswith("rulith/") and not name.endswith(".py"):
            assert place is not None and data == build_pyz.bare(place.read_bytes(), name), name


def test_resources_are_found_read_and_walked(pyz):
    told = json.loads(inside(pyz, """
import json, pkgutil
from importlib import resources
top = resources.files("rulith")
page = top / "ui_static" / "index.html"
def walk(at): return [str(at)] if at.is_file() else [found for entry in at.iterdir() for found in walk(entry)]
absent = top.joinpath("ui_static", "none.js")
said = []
for wrong in (absent.read_bytes, (top / "ui_static").read_bytes, lambda: list(page.iterdir()), lambda: page.open("w")):
    try: wrong()
    except Exception as problem: said.append(type(problem).__name__)
with resources.as_file(page) as place: copy = place.read_bytes() == page.read_bytes()
print(json.dumps({"name": page.name, "same": page.read_text() == page.open(encoding="utf-8").read() == page.read_bytes().decode() ==
    pkgutil.get_data("rulith", "ui_static/index.html").decode(), "is": [page.is_file(), page.is_dir(), absent.is_file(), absent.is_dir(),
    (top / "ui_static").is_dir(), top.joinpath("..", "certifi").is_dir(), top.joinpath("..", "..", "x").is_file()],
    "count": len(walk(top / "ui_static")), "below": all(path.startswith(pyz) for path in walk(top)), "said": said, "copy": copy,
    "example": (top / "examples" / "invoice" / "host.py").is_file()}))
"""))
    count = sum(1 for path in (ROOT / "rulith" / "ui_static").rglob("*") if path.is_file() and not path.name.startswith("."))
    assert told == {"name": "index.html", "same": True, "is": [True, False, False, False, True, True, False], "count": count, "below": True,
                    "said": ["FileNotFoundError", "IsADirectoryError", "NotADirectoryError", "ValueError"], "copy": True, "example": True}


def test_every_bundled_project_tells_its_version_and_keyring_its_backends(pyz):
    told = json.loads(inside(pyz, """
import json
from importlib import metadata
backends = {point.name: point.load().__name__ for point in metadata.entry_points(group="keyring.backends") if point.name in ("macOS", "KWallet", "Windows")}
try: metadata.version("rulith-absent"); absent = "found"
except metadata.PackageNotFoundError: absent = "absent"
print(json.dumps({"all": {dist.metadata["Name"]: dist.version for dist in metadata.distributions()}, "one": metadata.version("Jaraco_Context"),
    "backends": backends, "absent": absent, "elsewhere": len(list(metadata.distributions(path=["/nowhere"]))),
    "licence": len(metadata.distribution("keyring").locate_file("keyring/__init__.py").read_bytes()) > 0}))
"""))
    pins = {name: version for name, (version, _) in build_pyz.pins().items() if name not in build_pyz.BUILD_ONLY}
    assert {build_pyz._normal(name): version for name, version in told["all"].items()} == pins
    assert told["one"] == pins["jaraco-context"] and told["absent"] == "absent" and told["elsewhere"] == 0 and told["licence"]
    assert told["backends"].keys() == {"macOS", "KWallet", "Windows"}


def test_keyring_finds_its_backends_by_itself(pyz):
    """It reads entry points through importlib.metadata, or its own copy of it before Python 3.12."""
    told = inside(pyz, "import keyring.backend\nprint(sorted(kind.__module__ for kind in keyring.backend.KeyringBackend._classes))\n"
                       "keyring.backend._load_plugins()\nprint(sorted(kind.__module__ for kind in keyring.backend.KeyringBackend._classes))\n")
    assert "keyring.backends.macOS" in told.splitlines()[-1] and "keyring.backends.SecretService" in told.splitlines()[-1]


def test_a_traceback_shows_the_line(pyz):
    told = inside(pyz, """
import inspect, linecache, traceback
from rulith.base import errors, packed
try: packed.pem_text(b"no")
except ValueError: said = traceback.format_exc()
print(said)
print(inspect.getsource(packed.PackedReader).splitlines()[0], linecache.getline(errors.__file__, 1, vars(errors)) != "", errors.__loader__.get_source("rulith.base.errors") != "")
""")
    line = next(number for number, text in enumerate((ROOT / "rulith/base/packed.py").read_text("utf-8").splitlines(), 1) if "no certificate begins" in text)
    place = os.path.join("rulith", "base", "packed.py")
    assert f'{place}", line {line}, in pem_text' in told and 'raise ValueError(f"no certificate begins at byte {at}")' in told
    assert "exec_module" not in told and "class PackedReader: True True" in told


def test_the_loader_answers_for_modules_it_has_and_refuses_others(pyz):
    told = inside(pyz, """
import importlib.util, rulith, rulith.base.errors, os
loader = rulith.__spec__.loader
print(loader.is_package("rulith"), loader.is_package("rulith.base.errors"), rulith.__path__ == [os.path.join(pyz, "rulith")],
      rulith.base.errors.__file__ == os.path.join(pyz, "rulith", "base", "errors.py") == loader.get_filename("rulith.base.errors"))
print([importlib.util.find_spec(name) for name in ("rulith.absent", "rulithabsent", "rulith.base.absent")])
for ask in (lambda: loader.get_code("rulith.absent"), lambda: loader.get_data(os.path.join(pyz, "absent")), lambda: loader.get_data("/etc/absent")):
    try: ask()
    except (ImportError, OSError) as problem: print(type(problem).__name__)
importlib.invalidate_caches()
""")
    assert told.splitlines() == ["True False True True", "[None, None, None]", "ImportError", "FileNotFoundError", "FileNotFoundError"]


def test_a_package_of_the_same_name_elsewhere_keeps_its_modules(pyz, tmp_path):
    twin = tmp_path / "h11"
    twin.mkdir()
    (twin / "__init__.py").write_text("")
    told = inside(pyz, "import importlib.util as u, sys\nspec = u.spec_from_file_location('h11', sys.argv[2], submodule_search_locations=[sys.argv[3]])\n"
                       "sys.modules['h11'] = u.module_from_spec(spec)\nprint(u.find_spec('h11._util'))\n", str(twin / "__init__.py"), str(twin))
    assert told.strip() == "None"


def test_roots_are_told_as_text_and_are_those_of_the_wheel(pyz, wheels):
    told = inside(pyz, "import certifi, ssl\nassert certifi.contents() == open(certifi.where()).read()\n"
                       "context = ssl.create_default_context(cafile=certifi.where())\nprint(certifi.contents(), end='')")
    wheel = build_pyz.wheels(wheels)["certifi"]
    ours, theirs = told, zipfile.ZipFile(wheel).read("certifi/cacert.pem").decode("ascii")
    certificates = [re.findall(r"-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----", text, re.DOTALL) for text in (ours, theirs)]
    assert certificates[0] == certificates[1] and len(certificates[0]) > 100
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(cadata=ours)
    assert len(context.get_ca_certs()) == len(certificates[0])


PYTHONS = [path for minor in ("3.10", "3.12", "3.13") for path in sorted(Path.home().glob(f".pyenv/versions/{minor}.*/bin/python"))[:1]]


@pytest.mark.parametrize("python", PYTHONS or [Path(sys.executable)], ids=lambda path: path.parts[-3])
def test_it_starts_and_keyring_imports_on_other_pythons(pyz, tmp_path, python):
    done = subprocess.run([python, "-I", "-S", "-W", "error", str(pyz), "version", "--json"], env=BARE, capture_output=True, text=True)
    assert done.returncode == 0 and json.loads(done.stdout)["sha256"] == hashlib.sha256(pyz.read_bytes()).hexdigest(), done.stderr
    code = ("import runpy, sys; runpy.run_path(sys.argv[1], run_name='loaded')\n"
            "import keyring.backend, keyring.backends.macOS, keyring.backends.Windows, jeepney.io.blocking, ecdsa, certifi\n"
            "from importlib import resources; print(len(resources.files('certifi').joinpath('cacert.pem').read_text()) > 100_000, len(certifi.contents()) > 100_000)\n"
            "keyring.backend._load_plugins(); print({kind.__module__ for kind in keyring.backend.KeyringBackend._classes} >= {'keyring.backends.macOS'})\n")
    done = subprocess.run([python, "-I", "-S", "-c", code, str(pyz)], env=BARE, capture_output=True, text=True)
    assert done.stdout.split() == ["True", "True", "True"] and not done.stderr, done.stderr


@pytest.mark.parametrize("content", [b"x", b"\x30\x82", b"\x30\x82\x00\x05abc", b"\x30\x05abcde"])
def test_a_cut_list_of_roots_is_refused(content):
    with pytest.raises((ValueError, IndexError)):
        pem_text(content)


class Source:
    archive, index = "a.pyz", {"p/q.txt": (), "p/r/s.txt": (), "top.txt": ()}

    def read(self, path: str) -> bytes:
        return path.encode()


def test_paths_of_packed_files():
    top = PackedPath(Source(), "")
    assert [entry.name for entry in top.iterdir()] == ["p", "top.txt"] and top.is_dir() and not top.is_file()
    assert str(top / "p" / "q.txt") == "a.pyz/p/q.txt" and repr(top / "p") == "PackedPath('a.pyz/p')"
    assert (top / "p" / ".." / "top.txt").read_text() == "top.txt" and str(top.joinpath("p", "..")) == "a.pyz/"
    assert not (top / "p" / "r" / "s.txt" / "t").is_file() and not (top / "p" / "q").is_dir()
    reader = PackedReader(Source(), "p")
    assert sorted(reader.contents()) == ["q.txt", "r"] and reader.is_resource("q.txt") and not reader.is_resource("r")
    assert reader.open_resource("q.txt").read() == b"p/q.txt"
    with pytest.raises(FileNotFoundError):
        reader.resource_path("q.txt")


def test_short_commands_inflate_only_their_own_group(pyz):
    told = inside(pyz, "import sys\npacked = next(each for each in sys.meta_path if hasattr(each, 'forget_texts'))\n"
                       "from rulith.commands import usage\nusage.overview()\nprint(packed.inflated())\n"
                       "packed.forget_texts()\nprint(len(packed.inflated()))\nimport h11, six\nprint(len(packed.inflated()))\n")
    assert told.splitlines() == ["['start']", "0", "1"]


def test_a_zip_made_some_other_way_still_starts(pyz, tmp_path):
    """Unpacked and zipped again, as a distributor may: the stock importer reads it."""
    build_pyz.unpack(pyz, tmp_path / "flat")
    shutil.make_archive(str(tmp_path / "again"), "zip", tmp_path / "flat")
    done = subprocess.run([sys.executable, "-I", "-S", str(tmp_path / "again.zip"), "version", "--json"], env=BARE, capture_output=True, text=True)
    assert done.returncode == 0 and json.loads(done.stdout)["name"] == "rulith", done.stderr


def test_what_is_no_file_is_not_replaced(tmp_path):
    place = tmp_path / "pipe"
    os.mkfifo(place)
    with pytest.raises(SystemExit, match="no plain file"):
        build_pyz.replace(place, b"x", 0o644)
    assert place.is_fifo() and os.listdir(tmp_path) == ["pipe"]
