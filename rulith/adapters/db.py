"""The database adapters: one fixed statement, its values beside it, in one transaction.

The statement is the Tool's entry and nothing else; an Action supplies values, never text. A
query runs where nothing can be written; a write is committed once, and where the commit's
own answer is lost, or a rollback's, the outcome is unknown. The process environment is never
asked for an address.

Source  protocol/worker-contract.json, "database"
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from rulith.adapters.db_postgres import Address, PostgresWork, load_driver, read_address
from rulith.adapters.db_sqlite import SqliteWork
from rulith.adapters.db_work import CommitUnknown, Done, RollbackUnconfirmed, StatementFailed, Work
from rulith.adapters.outbound import Outbound
from rulith.adapters.outcomes import Call, Executed, Failed, Outcome, Withheld
from rulith.adapters.places import VAULT, check_members, unusable
from rulith.adapters.sources import Source
from rulith.adapters.territory import Territory
from rulith.base.errors import Refused
from rulith.base.json_text import compact_json
from rulith.wire.manifest import VERBS
from rulith.wire.sql import read_statement

ROWS_SHOWN, TEXT_CHARS_MAX = 50, 2_000
END_S = 5.0                      # for a statement that was taken back to be gone
COMMIT, ROLLBACK = "database_commit_unknown", "database_rollback_unconfirmed"
SQLITE, POSTGRES = "sqlite:", ("postgresql://", "postgres://")


@dataclass(frozen=True)
class DbCall:
    """One compiled statement, ready to be run once."""

    call: Call
    work: Work = field(repr=False)

    async def run(self) -> Outcome:
        """Run it in a thread; cancelling interrupts it and sees it end."""
        task = asyncio.ensure_future(asyncio.to_thread(self.work.run))
        try:
            done = await asyncio.shield(task)
        except asyncio.CancelledError:
            self.work.interrupt()
            await asyncio.wait([task], timeout=END_S)
            if task.done() and not task.cancelled():
                task.exception()             # nobody else will look at it
            raise
        except StatementFailed as failed:
            return Failed(str(failed))
        except CommitUnknown as unknown:
            return Withheld(COMMIT, str(unknown))
        except RollbackUnconfirmed as unknown:
            return Withheld(ROLLBACK, str(unknown))
        return _told_query(done) if self.call.tool.adapter == "db-query" else _told_write(done)


def _told_query(done: Done) -> Executed:
    count = len(done.rows)
    shown = f" (showing first {ROWS_SHOWN})" if count > ROWS_SHOWN else ""
    return Executed(f"rows={count}{shown} {compact_json(done.rows[:ROWS_SHOWN])}", tuple(done.rows), f"rows={count}")


def _told_write(done: Done) -> Executed:
    text = f"sql:constructive {done.verb} ok rows={done.count} {done.verb.upper()}"
    return Executed(text[:TEXT_CHARS_MAX], tuple(done.rows))


def compile_statement(call: Call, territory: Territory, outbound: Outbound) -> DbCall:
    """Judge the Source, the statement and its values before anything is claimed; connects to nothing.

    Raises Refused: source_unusable, source_root_refused, argument_refused, driver_missing, driver_untrusted, ca_file_unreadable.
    """
    source, tool = call.source, call.tool
    assert source is not None, "adapters/hands.py judges this first"
    if source.type != "db":
        raise unusable(source, f"it is of type {source.type}, and the {tool.adapter} adapter needs db")
    statement = read_statement(tool.entry, tool.params, VERBS[tool.adapter])
    values = [_value(name, call.arguments) for name in statement.names]
    where, reads = database_of(source, territory), tool.adapter == "db-query"
    if isinstance(where, str):
        return DbCall(call, SqliteWork(where, statement, values, reads=reads, object_bytes=call.object_bytes, clock=outbound.clock))
    trusted = outbound.trusted("https:") if where.sslmode == "verify-full" else None
    driver = load_driver(os.path.join(territory.home, "drivers"))
    return DbCall(call, PostgresWork(driver, where, trusted, statement, values, reads=reads, object_bytes=call.object_bytes))


def database_of(source: Source, territory: Territory) -> str | Address:
    """Where the Source's database is: the path of a file, or a server. Raises Refused source_unusable, source_root_refused."""
    check_members(source, ("type", "access", "dsn"))
    dsn = source.access.strip()
    if dsn.startswith(SQLITE):
        return _file_of(source, territory)
    if dsn.startswith(POSTGRES):
        return read_address(source, dsn)
    if dsn in ("", VAULT):
        raise unusable(source, "no dsn is known for it on this machine; give it one in the Source vault")
    raise unusable(source, "its dsn begins with none of sqlite: postgresql://")


def _value(name: str, arguments: Mapping[str, object]) -> str | int | float | bool:
    value = arguments.get(name)
    if not isinstance(value, (str, int, float, bool)):
        raise Refused("argument_refused", name=name, problem="is missing")
    if isinstance(value, str) and ("\0" in value or any("\ud800" <= letter <= "\udfff" for letter in value)):
        raise Refused("argument_refused", name=name, problem="holds a character that no database text has")
    return value


def _file_of(source: Source, territory: Territory) -> str:
    """The database file of a `sqlite:` address, which exists and is no file of ours."""
    name = source.access.strip()[len(SQLITE) :]
    name = name[2:] if name.startswith("///") else name
    if not name or name.startswith(("//", ":")) or "?" in name or "\0" in name:
        raise unusable(source, "its dsn names no file; write sqlite:PATH")
    # Workspace Tools that may write reach into file Sources alone, so a database may lie beside the Worker's programs.
    path = replace(territory, writes=False).folder_of(replace(source, access=name))
    if not os.path.isfile(path):
        raise unusable(source, "its database file does not exist")
    return path
