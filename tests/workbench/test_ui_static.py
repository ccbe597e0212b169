"""The page's files, walked without a browser: nothing missing, nothing foreign, nothing inline, in budget."""

import re
from html.parser import HTMLParser
from pathlib import Path, PurePosixPath

import pytest

import rulith
from rulith.workbench.pages import Pages

ROOT = Path(rulith.__path__[0]) / "ui_static"
OURS = [path for path in ROOT.rglob("*") if path.is_file() and "console" not in path.relative_to(ROOT).parts]
SCRIPTS = [path for path in OURS if path.suffix == ".js"]
VISIT_BYTES_MAX = 250_000        # uncompressed: what the first view loads, and with it any one screen
FIRST_BYTES_MAX = 190_000
TOTAL_BYTES_MAX = 385_000        # on the archive's account, which holds a third of it
LINES_MAX = 400
SVG_NAMESPACE = "http://www.w3.org/2000/svg"
IMPORT = re.compile(r'^\s*(?:import|export)\b[^;]*?from\s+"([^"]+)"|\bimport\("([^"]+)"\)', re.MULTILINE)


def name(path):
    return str(path.relative_to(ROOT))


def without_comments(text):
    return re.sub(r"/\*.*?\*/|(?m:^\s*//[^\n]*$)", "", text, flags=re.DOTALL)


class Elements(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.found = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))


def test_the_walk_finds_the_page():
    assert {"index.html", "app.js", "api.js", "store.js", "theme.css"} <= {name(path) for path in OURS}


@pytest.mark.parametrize("path", SCRIPTS, ids=name)
def test_every_import_resolves_to_a_file_that_exports_what_is_asked(path):
    text = path.read_text()
    for match in re.finditer(r'import\s+(?:\{([^}]*)\}|[\w*\s,]+)\s+from\s+"([^"]+)"|import\("([^"]+)"\)', text):
        target = match[2] or match[3]
        assert target.startswith("."), f"{target} is not a relative path"
        found = (path.parent / target).resolve()
        assert found.is_file() and ROOT in found.parents, f"{target} leads nowhere"
        exported = found.read_text()
        for wanted in filter(None, (part.split(" as ")[0].strip() for part in (match[1] or "").split(","))):
            assert re.search(rf"export (?:async )?(?:const|let|function\*?|class) {re.escape(wanted)}\b", exported), f"{target} has no {wanted}"


@pytest.mark.parametrize("path", SCRIPTS, ids=name)
def test_every_imported_name_is_used(path):
    text = path.read_text()
    body = re.sub(r'^import .*?;\s*$', "", text, flags=re.MULTILINE | re.DOTALL)
    for names in re.findall(r'^import\s+\{([^}]*)\}', text, re.MULTILINE):
        for wanted in filter(None, (part.split(" as ")[-1].strip() for part in names.split(","))):
            assert re.search(rf"\b{re.escape(wanted)}\b", body), f"{wanted} is imported and not used"


def test_every_script_is_reached_from_the_page():
    reached, waiting = set(), [ROOT / "app.js"]
    while waiting:
        path = waiting.pop()
        if path not in reached:
            reached.add(path)
            waiting += [(path.parent / target).resolve() for target in map("".join, IMPORT.findall(path.read_text()))]
    assert {name(path) for path in SCRIPTS} == {name(path) for path in reached}


@pytest.mark.parametrize("path", OURS, ids=name)
def test_no_address_beyond_this_origin(path):
    text = path.read_text().replace(SVG_NAMESPACE, "")
    assert not re.findall(r"//[a-z0-9.-]+\.[a-z]{2,}|@import|\burl\(", without_comments(text))


@pytest.mark.parametrize("path", SCRIPTS, ids=name)
def test_scripts_make_no_markup_from_text_and_ask_nothing_but_through_the_api(path):
    text = without_comments(path.read_text())
    for banned in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", ".cssText", "XMLHttpRequest", "WebSocket", "EventSource", "sendBeacon", "sessionStorage"):
        assert banned not in text
    assert ("fetch(" in text) == (name(path) == "api.js")
    assert "localStorage" not in text or name(path) == "store.js"
    assert not re.search(r"\bstyle:", text), "an inline style attribute is against the policy"


def test_the_shell_has_no_inline_script_style_or_handler():
    text = (ROOT / "index.html").read_text()
    for tag, attrs in Elements(text).found:
        assert not any(attr.startswith("on") or attr == "style" for attr in attrs), f"<{tag}>"
        assert tag != "style"
        if tag == "script":
            assert attrs.get("src") and attrs.get("type") == "module"
    assert re.search(r"<script[^>]*></script>", text)


def test_the_files_the_shell_names_are_there():
    for tag, attrs in Elements((ROOT / "index.html").read_text()).found:
        for address in filter(None, (attrs.get("src"), attrs.get("href"))):
            if not address.startswith("#"):
                assert address.startswith("/ui/") and (ROOT / PurePosixPath(address[4:])).is_file(), address


def test_the_shell_names_its_language_and_lets_people_zoom():
    found = Elements((ROOT / "index.html").read_text()).found
    assert ("html", {"lang": "en"}) in found
    viewport = next(attrs["content"] for tag, attrs in found if tag == "meta" and attrs.get("name") == "viewport")
    assert "user-scalable" not in viewport and "maximum-scale" not in viewport


@pytest.mark.parametrize("path", SCRIPTS, ids=name)
def test_every_control_has_a_label(path):
    """A control is labelled by an element around it, by `for`, or by its own aria-label; an icon alone is none."""
    text = without_comments(path.read_text())
    for match in re.finditer(r'h\("(input|select|textarea)",\s*\{', text):
        before, after = text[max(0, match.start() - 400):match.start()], text[match.end():match.end() + 300]
        assert 'h("label"' in before or "aria-label" in after, f"{match[1]} at {match.start()}"
    for match in re.finditer(r'h\("button",\s*\{(.*?)\},?\s*icon\("\w+"\)\)', text, re.DOTALL):
        assert "aria-label" in match[1], match[0][:120]


@pytest.mark.parametrize("path", SCRIPTS, ids=name)
def test_every_module_opens_with_what_it_is_and_stays_short(path):
    text = path.read_text()
    assert text.startswith("/**")
    assert len(text.splitlines()) <= LINES_MAX


def loads(start):
    """What importing the script `start` brings with it: itself and what it imports at its top, all the way down."""
    found, ahead = set(), [start]
    while ahead:
        path = ahead.pop()
        if path not in found:
            found.add(path)
            ahead += [(path.parent / static).resolve() for static, _ in IMPORT.findall(without_comments(path.read_text())) if static]
    return found


def weight(paths):
    return sum(path.stat().st_size for path in paths)


FIRST = loads(ROOT / "app.js") | {path for path in OURS if path.suffix != ".js" and path.parent == ROOT}
LAZY = sorted({(path.parent / lazy).resolve() for path in SCRIPTS for _, lazy in IMPORT.findall(without_comments(path.read_text())) if lazy})


def test_every_file_is_loaded_by_somebody():
    styles = {path for path in OURS if path.suffix == ".css"}
    assert set(OURS) == FIRST.union(styles, *(loads(path) for path in LAZY))


def test_the_shell_names_every_script_of_the_first_view():
    """So that none is asked for only after another has been read."""
    named = [attrs["href"] for tag, attrs in Elements(Pages().shell().body.decode()).found if attrs.get("rel") == "modulepreload"]
    assert sorted(named) == sorted(f"/ui/{path.relative_to(ROOT).as_posix()}" for path in FIRST if path.suffix == ".js")


def test_the_first_view_is_in_its_budget():
    assert weight(FIRST) <= FIRST_BYTES_MAX
    assert weight(OURS) <= TOTAL_BYTES_MAX


@pytest.mark.parametrize("path", LAZY, ids=name)
def test_a_visit_to_one_screen_is_in_its_budget(path):
    """The weight of a page is what opening it loads; a screen's style lies in its folder or bears its name."""
    styles = {each for each in OURS if each.suffix == ".css" and each not in FIRST
              and (each.stem == path.stem or each.parent == path.parent != ROOT / "screens")}
    assert FIRST.isdisjoint({path}) and weight(FIRST | loads(path) | styles) <= VISIT_BYTES_MAX


def luminance(colour):
    channels = [int(colour[i:i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def themes():
    tokens = dict(re.findall(r"--([a-z-]+): light-dark\((#[0-9a-f]{6}, #[0-9a-f]{6})\)", (ROOT / "theme.css").read_text()))
    return [{key: pair.split(", ")[side] for key, pair in tokens.items()} for side in (0, 1)]


@pytest.mark.parametrize("theme", themes(), ids=("light", "dark"))
def test_text_stands_out_in_both_themes(theme):
    """7:1 for body text, 4.5:1 for everything else that is read (WCAG 2.2, 1.4.6 and 1.4.3)."""
    for ground in ("canvas", "rail", "raised", "sunk", "tint", "waiting-tint", "bad-tint"):
        assert contrast(theme["ink"], theme[ground]) >= 7, ground
    for ground in ("canvas", "raised", "rail", "tint", "sunk"):
        for word in ("quiet", "accent", "running", "waiting", "done", "bad", "unknown"):
            assert contrast(theme[word], theme[ground]) >= 4.5, (word, ground)
    assert contrast(theme["on-accent"], theme["accent"]) >= 4.5
    assert contrast(theme["waiting"], theme["waiting-tint"]) >= 4.5 and contrast(theme["bad"], theme["bad-tint"]) >= 4.5
    assert contrast(theme["edge"], theme["canvas"]) >= 3
