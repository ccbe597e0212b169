"""`rulith capability from-document FILE [--profile NAME] [--home DIR] [--rounds N] [--json]`: a model drafts, our checker checks.

Prints the Capability file once it is sound and nothing is open. Otherwise says what is wrong or
open, and prints nothing. With --keep FOLDER, as the workbench starts it, each draft is kept there
with its check, and its questions are answered by the folder's job.

Exit  0 printed (or, with --keep, sound); 1 refused, unfinished, or with open questions; 2 wrong words.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rulith.base.clock import SystemClock, stamp
from rulith.base.errors import Refused
from rulith.base.limits import DOCUMENT_BYTES_MAX, DRAFT_CHECK_S, DRAFT_ROUNDS_DEFAULT, DRAFT_ROUNDS_MAX
from rulith.base.plain_text import plain
from rulith.board.authoring import Checked, SourceDocument, check_draft
from rulith.disk.atomic import read_bounded
from rulith.disk.authoring import DraftFolder
from rulith.disk.home import find_home
from rulith.disk.profiles import find_profile
from rulith.net.client import HttpClient
from rulith.net.link import within
from rulith.procs.child import Settings, emit, watch_parent
from rulith.runtime.authoring import QUESTIONS, READY, Material, author
from rulith.runtime.budget import Budget, Meter, Unlimited
from rulith.runtime.local_home import agent_environment
from rulith.runtime.model import ModelClient
from rulith.runtime.options import Options as AgentOptions
from rulith.runtime.prices import read_prices
from rulith.runtime.quirk_memory import QuirkMemory
from rulith.runtime.settings import ModelSettings, read_budget, read_model

EXIT_OK, EXIT_ERRORS, EXIT_USAGE = 0, 1, 2
VALUED = ("--home", "--profile", "--rounds", "--keep")


@dataclass(frozen=True)
class Options:
    file: str
    home: str | None = None
    profile: str | None = None
    rounds: int = DRAFT_ROUNDS_DEFAULT
    keep: str | None = None
    as_json: bool = False


def from_document_door(argv: Sequence[str], settings: Settings) -> int:
    try:
        options = read_options([*argv])
    except Refused as refusal:
        sys.stderr.write(refusal.teaching + "\n")
        return EXIT_USAGE
    try:
        return asyncio.run(_run(options, settings))
    except Refused as refusal:
        emit("end", state="failed", errorCode=refusal.code, teaching=refusal.teaching)
        if options.as_json:
            print(json.dumps({"file": options.file, "state": "failed", "errorCode": refusal.code, "teaching": refusal.teaching}, ensure_ascii=False))
        else:
            sys.stderr.write(plain(refusal.teaching) + "\n")
        return EXIT_ERRORS


def read_options(words: list[str]) -> Options:
    """Raises Refused: option_unknown, option_value, option_usage."""
    given: dict[str, object] = {}
    files = []
    while words:
        name, joined, value = words.pop(0).partition("=")
        if name in VALUED:
            if not joined and not words:
                raise Refused("option_value", verb="capability", option=name)
            given[name[2:]] = value if joined else words.pop(0)
        elif name == "--json" and not joined:
            given["as_json"] = True
        elif name.startswith("-") and len(name) > 1:
            raise Refused("option_unknown", verb="capability", option=name[:60])
        else:
            files.append(name + joined + value)
    if len(files) != 1:
        raise Refused("option_usage", verb="capability", problem=f"from-document takes one FILE, not {len(files)}")
    rounds = str(given.get("rounds", DRAFT_ROUNDS_DEFAULT))
    if not (rounds.isascii() and rounds.isdigit() and 1 <= int(rounds[:4]) <= DRAFT_ROUNDS_MAX):
        raise Refused("option_usage", verb="capability", problem=f"--rounds takes 1 to {DRAFT_ROUNDS_MAX}, not {rounds[:20]!r}")
    return Options(files[0], **{**given, "rounds": int(rounds)})  # type: ignore[arg-type]


async def _run(options: Options, settings: Settings) -> int:
    """Raises Refused: document_…, authoring_…, and what the model client refuses."""
    folder = DraftFolder(Path(options.keep)) if options.keep else None
    job = folder.job() if folder else {}
    document = SourceDocument(job.get("name") or os.path.basename(options.file), read_bounded(options.file, DOCUMENT_BYTES_MAX))
    model, meter, quirks = _model(options, settings)
    material = Material(document.name, document.numbered(), folder.before() if folder else None, str(job.get("answers", "")))
    clock, last = SystemClock(), {}
    http = HttpClient(clock, environ=settings)

    def heard(number: int, draft: dict, checked: Checked) -> None:
        last.update(draft=draft, checked=checked, round=number)
        if folder:
            folder.keep_result(draft, checked.report, stamp(clock.wall_s()))
        emit("authoring-checked", round=number, sound=checked.is_sound)
        if not settings.attached and not options.as_json:
            sys.stderr.write(f"Draft {number}: {_in_words(checked.report)}\n")

    async def check(draft: dict) -> Checked:
        return await _beside(draft, document)

    client = ModelClient(http, model, clock=clock, emit=emit, meter=meter, memory=QuirkMemory(quirks, clock=clock))
    work = asyncio.ensure_future(author(client, material, check, rounds=options.rounds, heard=heard, began=lambda number: emit("authoring-round", round=number)))
    parent = asyncio.ensure_future(_heed_parent(work))
    try:
        state = await work
    except asyncio.CancelledError:
        emit("end", state="stopped")
        return EXIT_ERRORS
    finally:
        parent.cancel()
        await http.close()
    emit("end", state=state)
    return EXIT_OK if folder and state == READY else _tell(options, state, last) if not folder else EXIT_ERRORS


async def _heed_parent(work: asyncio.Future) -> None:
    async for operation in watch_parent():
        if operation in ("stop", "eof"):
            work.cancel()
            return


def _model(options: Options, settings: Settings) -> tuple[ModelSettings, Meter, Path | None]:
    """Whom to ask, within which budget. Raises Refused: authoring_no_model, profile_…, and what the settings refuse."""
    environ: Mapping[str, str] = settings
    if not settings.attached:
        home = find_home(options.home, settings)
        has_own = any(settings.get(name, "").strip() for name in ("RULITH_MODEL", "RULITH_MODEL_URL"))
        if options.profile is not None or home.registry.exists() and not has_own:
            profile = find_profile(home, options.profile)
            environ = {**agent_environment(profile, settings, ""), "RULITH_AGENT_LOCK": str(profile.agent_lock)}
    model = read_model(environ)
    if model is None:
        raise Refused("authoring_no_model")
    found = read_budget(environ, AgentOptions())
    meter: Meter = Unlimited()
    if found is not None:
        meter = Budget(found.caps, read_prices(found.prices_path) if found.prices_path else None, found.path or None, clock=SystemClock())
        meter.check_price(model.model, model.endpoint.shown)
    lock = environ.get("RULITH_AGENT_LOCK", "")
    return model, meter, Path(lock).with_name("model-quirks.json") if lock else None


async def _beside(draft: dict, document: SourceDocument) -> Checked:
    """The check in a thread of its own, which nothing waits for at the end. Raises Refused authoring_check_slow."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[Checked] = loop.create_future()

    def settle(set_: str, value: object) -> None:
        if not done.done():
            getattr(done, set_)(value)

    def work() -> None:
        try:
            outcome = ("set_result", check_draft(draft, document))
        except Exception as problem:         # top of a thread: whoever waits raises it
            outcome = ("set_exception", problem)
        try:
            loop.call_soon_threadsafe(settle, *outcome)
        except RuntimeError:
            return                           # the loop is over; nobody waits any more

    threading.Thread(target=work, name="check", daemon=True).start()
    try:
        return await within(DRAFT_CHECK_S, done)
    except asyncio.TimeoutError:
        raise Refused("authoring_check_slow", seconds=int(DRAFT_CHECK_S)) from None


def _in_words(report: Mapping) -> str:
    examples, citations = report["examples"], report["citations"]
    errors = len(report["compileErrors"])
    return (f"{'compiled' if report['compiled'] else f'{errors} errors'}, {examples['passed']} of {examples['total']} examples hold, "
            f"{citations['verified']} of {citations['total']} citations found")


def _tell(options: Options, state: str, last: Mapping) -> int:
    """What came of it, for a person or a script."""
    draft, checked = last.get("draft", {}), last.get("checked")
    if options.as_json:
        print(json.dumps({"file": options.file, "state": state, "draft": draft or None, "report": checked.report if checked else None,
                          "capability": checked.capability if checked and state == READY else None}, ensure_ascii=False))
        return EXIT_OK if state == READY else EXIT_ERRORS
    if state == READY:
        print(json.dumps(checked.capability, indent=2, ensure_ascii=False))
        return EXIT_OK
    if state == QUESTIONS:
        lines = ["The document leaves open:", *(f"  {each}" for each in draft["questions"]), "Answer in the document, then draft again."]
    else:
        report = checked.report if checked else {}
        rows = [row for part in (report.get("compileErrors", []), *(report[name]["problems"] for name in ("examples", "citations") if name in report)) for row in part]
        lines = [f"After {options.rounds} rounds the draft is not sound:", *(f"  {row['place']}: {row['problem']}" for row in rows)]
    sys.stderr.write("".join(plain(line) + "\n" for line in lines))
    return EXIT_ERRORS
