"""`rulith demo verified-calculation [DIR]`: one whole job, no model, every step printed, the proof saved.

Prepares DIR, finds or starts that home's gateway and Worker, lets an Agent with the board
driver do the job, and prints why the total is right. It derives nothing itself: the
numbers it prints are the Board's, out of the signed Terminal Receipt.

Exit  0 closed as completed (now or before, with the same numbers), 11 waiting for a
      person, 12 stuck, 13 the job id was closed with other numbers; else as the Agent.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rulith.base.canonical import sha256_hex
from rulith.base.errors import Refused
from rulith.base.proof_text import proof_lines
from rulith.disk.archive import kept_archive
from rulith.disk.atomic import make_folder, write_whole
from rulith.disk.example import lay_out, read_order
from rulith.disk.home import Home
from rulith.disk.locks import KernelLock
from rulith.disk.profiles import Profile, list_profiles
from rulith.local.gateway import LocalGateway, find_or_start_gateway
from rulith.local.roles import KeptWorker, line_is_free, start_agent
from rulith.net.client import HttpClient
from rulith.procs.archive import running_archive
from rulith.procs.roles import Event

EXIT_OK, EXIT_ERROR, EXIT_USAGE, EXIT_NOTHING, EXIT_WAITING, EXIT_REFUSED = 0, 1, 2, 10, 11, 13
JOB = "verified-calculation"
CASE_TYPE, CASE_TYPE_WITH_DECISION = "verified_calculation", "approved_calculation"
PREFIX = "rulith.verified_calculation."
TURN_TRIES, TURN_PAUSE_S = 480, 0.25      # two minutes: longer than a whole demo behind a dead Worker's lease
WORKER_READY_S = 90.0         # a line whose last Worker was killed frees when its lease lapses (60 s)
ORDER_FACT = PREFIX + "input"
DEVICE_NAMES = {"CON", "PRN", "AUX", "NUL", *(f"{port}{number}" for port in ("COM", "LPT") for number in range(10))}    # Windows
NAME_BYTES_MAX = 200          # file systems take 255, the ending and the spare name of a write included


@dataclass(frozen=True)
class Options:
    folder: Path
    with_decision: bool

    @property
    def case_type(self) -> str:
        return CASE_TYPE_WITH_DECISION if self.with_decision else CASE_TYPE


def read_options(argv: Sequence[str]) -> Options | None:
    """The options, or None after saying on stderr what is wrong with them."""
    words = [word for word in argv if not word.startswith("-")]
    flags = [word for word in argv if word.startswith("-")]
    wrong = next((flag for flag in flags if flag != "--with-decision"), None)
    if wrong is not None:
        problem = f"does not know {wrong!r}"
    elif not words or words[0] != JOB:
        problem = f"has one job, {JOB}" + (f", not {words[0]!r}" if words else "")
    elif len(words) > 2:
        problem = f"takes one folder, not {len(words) - 1}"
    elif words[1:] == [""]:
        problem = "got an empty folder name"
    else:
        return Options(Path(os.path.abspath(words[1] if len(words) > 1 else "rulith-demo")), "--with-decision" in flags)
    print(f"`rulith demo` {problem}. See `rulith demo --help`; no file was touched.", file=sys.stderr)
    return None


def main(argv: Sequence[str]) -> int:
    options = read_options(argv)
    if options is None:
        return EXIT_USAGE
    return asyncio.run(_run(options))


async def _run(options: Options) -> int:
    home = _prepare(options.folder)
    turn = await _turn(home)
    try:
        return await _job(options, home)
    finally:
        turn.release()


async def _turn(home: Home) -> KernelLock:
    """This folder's demo lock: whoever ends first ends the gateway, so two never share one. Raises Refused demo_under_way."""
    lock = KernelLock(home.run / "demo.lock")
    for waited in range(TURN_TRIES):
        if lock.take():
            return lock
        if not waited:
            say(f"Waiting for the demo that process {lock.holder_pid() or 'unknown'} runs in this folder")
        await asyncio.sleep(TURN_PAUSE_S)
    raise Refused("demo_under_way", path=str(home.path.parent), pid=lock.holder_pid() or "unknown")


async def _job(options: Options, home: Home) -> int:
    _lay_out(options.folder)
    order = read_order(options.folder / "runtime" / "input.json")
    say(f"Order   {order['job_id']}: {order['quantity']} × {order['unit_price_cents']} cents, shipping {order['shipping_cents']} cents")
    say(f"        read from {options.folder / 'runtime' / 'input.json'} to name the job; the Worker reads it by itself")
    archive = kept_archive(home)
    client = HttpClient()
    kept: KeptWorker | None = None
    gateway = await find_or_start_gateway(home, env={"RULITH_SEED_WORKSPACE": str(options.folder)}, archive=archive)
    try:
        say(f"Gateway {gateway.url}, ledger {home.ledger}")
        profile = _profile_of(home, options.folder)
        kept = KeptWorker(home, profile, gateway.url, archive, on_event=print_trouble)
        await _worker(profile, gateway, client, kept)
        return await _work(options, order, home, profile, gateway, client, archive)
    finally:
        if kept is not None:
            await kept.stop()
        await gateway.stop()
        await client.close()


def _prepare(folder: Path) -> Home:
    """The home of the demo's folder, made. Raises Refused: home_unusable, write_failed, demo_folder."""
    home = Home(folder / ".rulith")
    if folder.exists() and not folder.is_dir():
        raise Refused("demo_folder", path=str(folder), problem="it is no folder")
    return home.prepare()


def _lay_out(folder: Path) -> None:
    """The example's files, where they are not there yet. Raises Refused: demo_folder, disk_full, write_failed."""
    try:
        for path in lay_out(folder):
            say(f"Wrote   {path}")
    except OSError as problem:
        place = f"{problem.filename}: " if problem.filename else ""
        raise Refused("demo_folder", path=str(folder), problem=place + (problem.strerror or str(problem))) from None


def _profile_of(home: Home, folder: Path) -> Profile:
    """The profile that works in this folder; a home may have been given others since."""
    for profile in list_profiles(home):
        if profile.workspace == folder:
            return profile
    raise Refused("demo_folder", path=str(folder), problem="its home belongs to another folder")


async def _worker(profile: Profile, gateway: LocalGateway, client: HttpClient, kept: KeptWorker) -> None:
    """Start the profile's Worker and wait for its lease; stand by where another Worker holds the line."""
    free = line_is_free(await gateway.read(client, "state"), profile.connection_id)
    worker = await kept.start()
    if free:
        await worker.wait_for_event("lease", WORKER_READY_S)
        say("Worker  online: it holds the Connection's lease")
    else:
        say("Worker  another one holds the Connection's line; ours stands by (a killed Worker's lease lapses within a minute)")


async def _work(options: Options, order: dict, home: Home, profile: Profile, gateway: LocalGateway, client: HttpClient,
                archive: Path | None) -> int:
    """Run the Agent on the order's Case and print what came of it."""
    say("Agent   board driver: it takes the steps that the rules make ready, no model is asked\n")
    args = ["--driver", "board", "--case-type", options.case_type, "--business-key", json.dumps({"job_id": order["job_id"]}),
            "--json", "--quiet", f"Calculate and verify {order['job_id']}."]
    agent = await start_agent(home, profile, gateway.url, args, archive=archive, on_event=print_step)
    status = await agent.wait()
    end = agent.latest.get("end", {})
    say("")
    if status in (EXIT_OK, EXIT_NOTHING) and end.get("caseId"):
        return await _show_proof(options, order, profile, gateway, client, str(end["caseId"]), done_before=status == EXIT_NOTHING)
    say(str(end.get("message") or agent.last_words() or f"The Agent ended with status {status}."))
    if status == EXIT_WAITING:
        say(f"\nTo decide, open the page of this home and look under Now:\n\n    {start_command(home)}\n\n"
            f"Then run this demo again; the same Case goes on.")
    return status if status > 0 else EXIT_ERROR


async def _show_proof(options: Options, order: dict, profile: Profile, gateway: LocalGateway, client: HttpClient, case_id: str,
                      *, done_before: bool) -> int:
    receipt = await gateway.read(client, "receipt", {"agent": profile.agent_id, "case": case_id})
    different = differences(order, receipt)
    if different and not done_before:
        say(f"The order was changed while the job ran: the Worker read another one than this run had begun with ({different}).\n"
            f"The Case {case_id} is closed for what the Worker read, and output.json holds its totals.")
        return EXIT_REFUSED
    if different:
        say(f"The job {order['job_id']!r} is closed already, as Case {case_id}, for another order: {different}.\n"
            f"Use a new job_id for new numbers: a closed Case keeps its proof. Nothing was written.")
        return EXIT_REFUSED
    place = options.folder / "proof" / f"{file_name(order['job_id'])}.json"
    make_folder(place.parent, mode=0o755)
    write_whole(place, (json.dumps(receipt, ensure_ascii=False, indent=1) + "\n").encode("utf-8"), mode=0o644)
    say(f"Case    {case_id} {'was' if done_before else 'is'} closed as {receipt['case']['disposition']}, certified\n\nWhy:\n")
    shown: set[str] = set()
    for conclusion in receipt["conclusions"]:
        for line in proof_lines(conclusion, 1, without=PREFIX, shown=shown):
            say(line)
        say("")
    say(f"Output  {options.folder / 'runtime' / 'output.json'}\nProof   {place}, signed by this gateway")
    return EXIT_OK


# what is printed

STATES = {"done": "done", "failed": "FAILED", "refused": "REFUSED", "unknown": "UNKNOWN: it may have happened",
          "waiting_for_decision": "waiting for a person", "needs_person": "a person has to settle it"}


def say(line: str) -> None:
    try:
        print(line, flush=True)
    except BrokenPipeError:
        raise
    except OSError as problem:
        raise Refused("output_lost", problem=problem.strerror or problem) from None


def print_step(event: Event) -> None:
    """One line for each step of the Agent that a person would follow."""
    kind = event.get("type")
    if kind == "case-open":
        say(f"  Case    {event.get('caseId')} opened" if event.get("opened", True) else f"  Case    {event.get('caseId')} taken up again")
    elif kind == "action-outcome":
        values = ", ".join(f"{name}={value}" for name, value in dict(event.get("args") or {}).items())
        state = str(event.get("state"))
        say(f"  Action  {str(event.get('action')).removeprefix(PREFIX)}({values}): {STATES.get(state, state)}"
            + (f" ({event['summary']})" if state != "done" and event.get("summary") else ""))
    elif kind == "case-closed":
        say(f"  Close   {event.get('disposition')}")


def print_trouble(event: Event) -> None:
    """Why the Worker leaves a call alone: without this line the Agent only waits."""
    if event.get("type") == "skip":
        say(f"  Worker  does not run it: {event.get('reason')} (Ctrl-C ends the waiting; the same Case goes on next time.)")


def premises_named(node: dict, predicate: str) -> list[dict]:
    """The arguments of every fact of that predicate in a proof tree."""
    found = [node["args"]] if node.get("predicate") == predicate else []
    for premise in node.get("premises", ()):
        found += premises_named(premise, predicate)
    return found


def differences(order: dict, receipt: dict) -> str:
    """How the order differs from the one the receipt rests on, in words; empty where it does not."""
    for conclusion in receipt["conclusions"]:
        for read in premises_named(conclusion, ORDER_FACT):
            rows = [f"{name} was {read.get(name)} and is {order[name]} now" for name in order
                    if name != "job_id" and read.get(name) != order[name]]
            return ", ".join(rows)
    return "its receipt names no order"


def file_name(job_id: str) -> str:
    """The job id as a file name that no system reads as anything else; its own for each job id."""
    if _names_a_file(job_id):
        return job_id
    name = "".join(letter if letter.isascii() and letter.isalnum() or letter in "-_." else "_" for letter in job_id).lstrip(".")
    return f"{name[:40] or '_'}-{sha256_hex(job_id.encode('utf-8'))[:12]}"


def _names_a_file(job_id: str) -> bool:
    if job_id.startswith(".") or not all(letter.isalnum() or letter in "-_." for letter in job_id):
        return False
    try:
        size = len(os.fsencode(job_id))
    except UnicodeEncodeError:
        return False                         # a locale that has no such letters
    return size <= NAME_BYTES_MAX and job_id.partition(".")[0].upper() not in DEVICE_NAMES


def start_command(home: Home) -> str:
    """What a person types to open the page of this home, from where this program was started."""
    python = "py" if sys.platform == "win32" else "python3"
    program = _quoted(sys.argv[0]) if running_archive() is not None else "-m rulith"
    return f"{python} {program} start --home {_quoted(str(home.path))}"


def _quoted(word: str) -> str:
    return f'"{word}"' if any(letter.isspace() for letter in word) else word
