"""What `--help` prints: one paragraph per verb, and what to do instead of a verb not built."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.util import find_spec

START = """rulith start [--home DIR] [--port N] [--no-browser]

Opens the workbench in the browser: starts the gateway and the Worker of each profile,
and an Agent by its button. Plain `rulith` and `rulith setup` do the same.

  --home DIR      where everything is kept (RULITH_HOME, else ~/.rulith)
  --port N        workbench port on loopback (default 7780)
  --gateway URL   sign in at a gateway elsewhere and use it instead of one of this home
  --insecure-http allow that gateway over plain http beyond this machine
  --no-browser    print the address only
"""

VERBS: dict[str, tuple[str, str]] = {
    "start": ("open the workbench", START),
    "setup": ("the same as start", START),
    "agent": ("drive one Case, with a model or by rule alone", """rulith agent [options] [task words]

Opens or focuses a Case and works on it; without task words a chat on the terminal. Without
a model the board driver applies ready Actions by rule alone. Address and token come from
RULITH_URL and RULITH_TOKEN, else from a profile of the home.

  --driver model|board     who chooses the next step
  --profile NAME           whose credentials and settings (default: the only profile)
  --case-type ID           pin the Case Type
  --business-key JSON      the Case's key, e.g. '{"job_id":"calc-001"}'
  --case ID                add an existing Case to the focus
  --home DIR               where the profiles are (RULITH_HOME, else ~/.rulith)
  --insecure-http          allow a gateway over plain http beyond this machine
  --json                   print one result object on stdout
  --quiet                  no progress on stderr
  --budget LIMITS          what the model may use, e.g. rounds=40,tokens=200000,money=1.50,per=day
  --shadow                 have a second model name what an unfinished Case lacks
  --serve                  take tasks over HTTP on 127.0.0.1, port 7799

Exit: 0 completed, 1 error, 2 usage, 3 credential rejected, 4 replaced, 5 history,
10 nothing to do, 11 waiting for a person, 12 stuck, 13 refused, 14 unreachable,
15 overlapping run.
"""),
    "worker": ("run approved Tools on this machine", """rulith worker [--dropbox DIR [--once]]

Serves one Connection: polls the gateway, runs the Tools of the Manifest, reports receipts.

  --dropbox DIR         no network: take work from this folder and put receipts into it
  --once                do what is there, then end

  RULITH_CONNECTION, RULITH_CONNECTION_KEY   identity (required)
  RULITH_WORK_URL       the gateway's work address
  RULITH_TOOLS_FILE     the Tool Manifest (default ./worker-tools.json)
  RULITH_WORKER_ROOT    root of `run` entries (default: the Manifest's folder)
  RULITH_SECRETS_FILE   Source vault (default ./worker-secrets.json)

Exit: 0 normal stop, 2 configuration, 3 credential rejected, 1 error.
"""),
    "gateway": ("run the authority by itself", """rulith gateway [--home DIR] [--listen HOST:PORT] [--tls-cert FILE --tls-key FILE]
               [--dropbox [CONNECTION=]DIR]... [--store sqlite:PATH] [backup FILE | restore FILE]

Serves the Agent surface at /mcp, the Worker line at /work and the Console at /console/.
`start` runs one by itself; this is for a gateway that stands alone.

  --listen HOST:PORT   the loopback address; with a certificate, the one served over TLS
                       beside it, for Agents, Workers and browsers elsewhere
  --tls-cert FILE, --tls-key FILE   PEM, needed off loopback
  --store sqlite:PATH  where the ledger is, if not in the home; the home remembers it
  --dropbox [CONNECTION=]DIR   serve that Connection's Worker over a folder too

  backup FILE    copy the ledger to the new FILE, whether a gateway runs or not
  restore FILE   put the ledger of FILE in place of the home's; the one that stood there is kept

RULITH_LOG=json writes the log, which is its stderr, one JSON object a line.

Exit: 0 stopped or done, 1 refused, 2 usage, 4 the ledger or the backup is damaged or lost.
"""),
    "board": ("the reasoning board for any MCP host", """rulith board [--db FILE] [--http PORT] | run FILE... [--json]

Without a word it serves MCP on stdin and stdout, until the host closes stdin.

  --db FILE     keep the Boards in FILE (RULITH_DB); without it they end with the process
  --http PORT   serve Streamable HTTP at http://127.0.0.1:PORT/mcp instead; 0 takes a free port

  run FILE...   run program files on an empty Board each and print, batch by batch, what
                came of them; --json prints the programs with that as their `expect`

RULITH_MAX_JOIN_BINDINGS, RULITH_MAX_CLOSURE_ITERATIONS, RULITH_MAX_CLOSURE_STEPS,
RULITH_MAX_FACTS, RULITH_MAX_DERIVED_FACTS, RULITH_MAX_RULES and RULITH_MAX_RULE_BODY
set limits.

Exit: serving 0 the host left, 1 refused (such as a FILE in use), 2 usage;
run 0 as expected or nothing expected, 1 otherwise, 2 a bad file or usage.
"""),
    "council": ("threads put to named agents and people", """rulith council serve [--home DIR] [--port N]
rulith council backup FILE | restore FILE [--home DIR]

serve     threads that somebody opens, argues and resolves, on loopback: /mcp for agents, /ws to
          be woken, and the person's API with the key that stands in run/council.json of the
          home. `rulith start` serves it too, with its pages.
backup    a copy of everything to the new FILE, also while it runs
restore   puts such a copy in its place; the file that stood there is kept

  --home DIR   where everything is kept (RULITH_HOME, else ~/.rulith)
  --port N     this port; without it the first free one of 8787 to 8791, else any

Exit: 0 stopped or done, 1 refused, 2 usage, 4 the council's file is damaged or of a later release.
"""),
    "watch": ("run a command when the council calls", """rulith watch [options] [-- COMMAND ARGUMENT...]

Waits for the council without a model and runs COMMAND when threads need the agent: one run
at a time, one for a burst. {prompt}, {threads} (1,2) and {list} (#1, #2) in an argument are
filled in. Without COMMAND it prints which threads need you and ends.

  --key KEY        the agent's key (better: RIVENDELL_KEY)
  --url URL        the council's /mcp address (RIVENDELL_URL, else http://127.0.0.1:8787/mcp)
  --ws             hold the wake socket instead of polling
  --once           end after one wake-up
  --wait S         seconds of one poll (900)
  --settle S       pause after a run, and the longest that a burst is gathered (2)
  --limit S        seconds before a run is ended with all that it started (1200)
  --ceiling N      starts in a rolling hour (40; 0: no limit)
  --starts FILE    keep those starts over restarts
  --report         JSON lines on stdout: waiting, running, ceiling
  --capabilities   print what this watcher can do

Exit: 0 done, 1 refused, 2 usage or no key, 3 over the ceiling, 4 the key is not known.
"""),
    "bridge": ("the council for a program that speaks MCP over stdio", """rulith bridge

Carries MCP between a host on stdin and stdout and the council's address. What moves in the
council is pushed to hosts that know channels.

  RIVENDELL_URL   the council's address, such as http://127.0.0.1:8787/mcp (required)
  RIVENDELL_KEY   the agent's key (required); give it to this program alone

Exit: 0 the host left, 2 usage, or an address or key that cannot be used.
"""),
    "demo": ("one whole job, no model, with its proof", """rulith demo verified-calculation [DIR] [--with-decision]

Reads DIR/runtime/input.json, derives the totals, writes DIR/runtime/output.json once, reads it
back, closes the Case, prints each step and the proof. DIR defaults to ./rulith-demo.

  --with-decision   the write waits for a person: exit 11, then run it again after approving
"""),
    "capability": ("check, test, compare, install a Capability", """rulith capability check|test|diff|install FILE
rulith capability draft CASE… | RECEIPT… [--id ID] [--home DIR]
rulith capability from-document FILE [--profile NAME] [--rounds N] [--home DIR] [--json]

  check     every error of the file at once, each with its line and place; runs the examples
  test      the file's own examples, one by one
  diff      what installing it would change, item by item
  install   asks for the approval passphrase on this terminal (never as an argument), shows
            what changes, and installs after a typed yes, for every Agent of the gateway
  draft     prints a file proposed from completed Cases that took the same path, by Case id
            or receipt file, with their replay as its examples; refuses with the first
            difference where they did not
  from-document
            has the model of a profile (or of RULITH_MODEL_URL) draft a file from a .txt or .md
            document, checks each draft, and prints the file once it is sound: it compiles, its
            examples hold, its citations stand in the document, no question is open

  --profile NAME   whose model; needed where the home has several
  --rounds N   how often the model may correct its draft, 1 to 12; 6 unless you say otherwise
  --home DIR   whose gateway diff and install talk to; started for the run where none is live
  --json       one result object on stdout (not with install)

  --id ID      what a draft is called, e.g. acme.orders

check, test and draft of files need no gateway. Where no passphrase has been chosen yet, install says how.

Exit: 0 sound, shown or installed; 1 errors, refused, or no; 2 usage.
"""),
    "constitution": ("check, compare, install a Constitution", """rulith constitution check|diff|install FILE

  check     every error of the file at once, each with its line and place; runs the examples
  diff      what installing it would change, rule by rule
  install   asks for the approval passphrase on this terminal (never as an argument), shows
            what changes, and puts it in force after a typed yes, for every Agent

  --home DIR   whose gateway diff and install talk to; started for the run where none is live
  --json       one result object on stdout (not with install)

check needs no gateway.

Exit: 0 sound, shown or in force; 1 errors, refused, or no; 2 usage.
"""),
    "explain": ("print the proof in a receipt", """rulith explain FILE [--depth N] [--json]

Prints the proof tree of each conclusion in a Terminal Receipt, offline: conclusion on top,
premises below, who said each, exact arithmetic; then each premise under whoever said it.
What is cut says so. It judges nothing; `rulith verify` does.

  --depth N   levels of a tree that are printed, 1 to 64 (16)
  --json      the trees whole, as they stand in the document

Exit: 0 printed, 1 unreadable, 2 usage.
"""),
    "verify": ("check a receipt offline", """rulith verify FILE [--key HEX] [--connection-key FILE] [--json]

With no gateway, no ledger and no network: recomputes the hash chain and every digest of a
Terminal Receipt, compares grants, receipts and decisions with what they are bound to, derives
every conclusion again from its premises by the rules, and checks the Ed25519 signature. Names
the first thing that was altered, or says on whom each premise rests.

  --key HEX              the gateway's public key (`rulith doctor` there prints it); without it
                         the signature shows that nothing changed since, not whose it is
  --connection-key FILE  the Worker's Connection key: the grants' signatures are checked too
  --json                 one result object on stdout

Exit: 0 everything fits, 1 something was altered or is unreadable, 2 usage.
"""),
    "doctor": ("say what this machine and home look like", """rulith doctor [--home DIR] [--json] [--repair]

Looks at Python, SQLite, trusted certificates, the home, its disk and who may write to it, the
secret files, the signing key of receipts, profiles and their models, what runs, the ports,
the clock, and checks every hash of the ledger: the running gateway checks it, or the file is
opened where none runs. Changes nothing.

  --repair   also remove run files of processes that are gone and what cut writes left behind

Exit: 0 nothing is wrong, 1 something is, 2 usage.
"""),
    "version": ("version, build and contract digests", """rulith version [--json]
"""),
    "stop": ("end everything that this home started", """rulith stop [--home DIR]
"""),
}

INSTEAD = {
    "": "`rulith --help` lists what this release can do.",
    "capability": "A gateway checks a Capability whenever it is installed; the demo's is installed by itself.",
    "explain": "`rulith demo` prints the proof, and the workbench shows it for every conclusion.",
    "verify": "The receipt is plain JSON: it holds its own digests, chain rows and Ed25519 signature; keep it as it is.",
    "doctor": "`rulith version` names this build; `rulith start` and `rulith demo` say what is missing.",
    "bridge": "Connect an MCP host to the gateway's /mcp address instead.",
}


def overview() -> str:
    rows = {verb: f"  {verb:<13} {line}\n" for verb, (line, _) in VERBS.items() if verb != "setup"}
    later = [verb for verb in rows if verb in INSTEAD and find_spec(f"rulith.commands.{verb}") is None]
    return (
        "rulith: a local multi-agent working environment in one file\n\n"
        "  rulith [start]          open the workbench\n"
        "  rulith VERB --help      what a verb does and takes\n\n"
        + "".join(row for verb, row in rows.items() if verb not in later)
        + ("\nNot part of this release; each says what to do instead:\n\n" if later else "")
        + "".join(rows[verb] for verb in later)
    )


def of_verb(verb: str) -> str:
    return VERBS[verb][1]


def wrong_word(word: str, known: Iterable[str]) -> str:
    shown = word if word.isprintable() and len(word) <= 60 else ascii(word)[:60]
    return f"rulith has no verb {shown!r}. It has: {', '.join(known)}. `rulith --help` says what each does."
