"""The Agent's command line: read completely before any file or connection is touched."""

from __future__ import annotations

from dataclasses import dataclass

from rulith.base.errors import Refused
from rulith.base.json_text import read_json

USAGE = """rulith agent [options] [task words]

Without task words a chat on the terminal; with them one run that ends by itself.
Without a model, a run with a named Case Type is driven by rule alone.

  --driver model|board     who chooses the next step
  --case-type ID           pin the Case Type
  --business-key JSON      the Case's key, e.g. '{"job_id":"calc-001"}'
  --case ID                add an existing Case to the focus
  --profile NAME           whose credentials and settings (default: the only profile)
  --home DIR               where the profiles are (RULITH_HOME, else ~/.rulith)
  --json                   print one result object on stdout
  --quiet                  no progress on stderr
  --budget LIMITS          what the model may use, e.g. rounds=40,tokens=200000,money=1.50,per=day
  --shadow                 let a second look at an unfinished Case note its doubts (needs a model)
  --serve                  take tasks over HTTP on 127.0.0.1, port 7799 (needs a model)
  --insecure-http          allow a gateway over plain http beyond this machine

RULITH_URL and RULITH_TOKEN replace the profile. RULITH_MODEL_URL, RULITH_MODEL and
RULITH_MODEL_KEY configure a model.

Exit: 0 completed, 1 error, 2 usage, 3 credential rejected, 4 replaced, 5 saved conversations
unusable, 10 nothing to do, 11 waiting for a person, 12 stuck or still open, 13 refused,
14 unreachable, 15 overlapping run.
"""

_VALUES = ("--driver", "--case-type", "--business-key", "--case", "--profile", "--home", "--budget")
_SWITCHES = ("--json", "--quiet", "--serve", "--shadow", "--insecure-http", "-h", "--help")
_CASE_TYPE_CHARS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789_-")


@dataclass(frozen=True)
class Options:
    task: str = ""
    driver: str = ""             # "", model, board
    case_type: str = ""
    business_key: dict | None = None
    case_id: str = ""
    profile: str | None = None
    home: str | None = None
    budget: str = ""
    as_json: bool = False
    quiet: bool = False
    serve: bool = False
    shadow: bool = False
    insecure_http: bool = False
    help: bool = False


def parse(argv: list[str]) -> Options:
    """Raises Refused usage naming the word that is wrong."""
    values: dict[str, str] = {}
    switches: set[str] = set()
    words: list[str] = []
    rest = list(argv)
    while rest:
        word = rest.pop(0)
        if word == "--":
            words.extend(rest)
            break
        name, equals, given = word.partition("=")
        if name in _VALUES:
            if not equals and not rest:
                raise _wrong(f"{name} needs a value")
            values[name] = given if equals else rest.pop(0)
        elif word in _SWITCHES:
            switches.add(word)
        elif word.startswith("-") and word != "-":
            raise _wrong(f"{word[:60]!r} is not an option")
        else:
            words.append(word)
    if values.get("--driver", "model") not in ("model", "board"):
        raise _wrong(f"--driver is {values['--driver'][:40]!r}, and only model and board exist")
    return Options(
        " ".join(words).strip(), values.get("--driver", ""), check_case_type(values.get("--case-type", ""), "--case-type"),
        read_business_key(values["--business-key"], "--business-key") if "--business-key" in values else None,
        _not_empty(values, "--case"), _not_empty(values, "--profile") or None, _not_empty(values, "--home") or None,
        _not_empty(values, "--budget"),
        "--json" in switches, "--quiet" in switches, "--serve" in switches, "--shadow" in switches,
        "--insecure-http" in switches, bool(switches & {"-h", "--help"}))


def _wrong(problem: str) -> Refused:
    return Refused("usage", problem=problem)


def _not_empty(values: dict[str, str], name: str) -> str:
    if name in values and not values[name].strip():
        raise _wrong(f"{name} needs a value")
    return values.get(name, "").strip()


def check_case_type(text: str, where: str) -> str:
    """A Case Type's name, or "" for none."""
    wrong = text and (not 2 <= len(text) <= 64 or not text[0].isalpha() or set(text) - _CASE_TYPE_CHARS)
    if wrong:
        raise _wrong(f"{where} is {text[:60]!r}, and a Case Type is named by 2 to 64 of a-z 0-9 _ -, beginning with a letter")
    return text


def read_business_key(text: str, where: str) -> dict:
    """A business key: a non-empty object of texts, booleans and exact numbers."""
    try:
        value = read_json(text, where)
    except Refused as refusal:
        raise _wrong(refusal.happened.rstrip(".")) from None
    return check_business_key(value, where)


def check_business_key(value: object, where: str) -> dict:
    if not isinstance(value, dict) or not value:
        raise _wrong(f"{where} is not a JSON object with at least one member")
    for name, part in value.items():
        if not isinstance(part, (str, bool, int, float)):
            raise _wrong(f"{where} holds {name[:60]!r}, which is neither text nor boolean nor number")
    return value
