"""The database adapters on SQLite: what a query cannot do, what a write may, and how each can end (the Worker contract, "database")."""

import asyncio
import sqlite3
import sys
from dataclasses import replace
from decimal import Decimal

import pytest

from rulith.adapters.db_sqlite import SqliteWork
from rulith.adapters.db_work import CommitUnknown, RollbackUnconfirmed, StatementFailed, scalar
from rulith.adapters.outcomes import Executed, Failed, Withheld
from rulith.adapters.sources import Source
from rulith.base.clock import SystemClock
from rulith.base.errors import Refused
from rulith.wire.sql import CONSTRUCTIVE, read_statement
from tests.adapters.db_desk import DbDesk

SCHEMA = """BEGIN;
CREATE TABLE orders (id TEXT PRIMARY KEY, cents INTEGER, note TEXT, paid BOOLEAN);
INSERT INTO orders VALUES ('o1', 1299, 'first', 1), ('o2', 500, NULL, 0);
CREATE TABLE log (line TEXT);
CREATE TABLE gone (id TEXT);
CREATE TRIGGER tidy AFTER INSERT ON log BEGIN DELETE FROM gone; END;
CREATE VIEW cheap AS SELECT id FROM orders WHERE cents < 1000;
COMMIT;
"""


UP_TO = "SELECT n FROM (WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < {most}) SELECT n FROM c)"
ENDLESS = "SELECT count(*) AS n FROM (WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT n FROM c)"


class SqliteDesk(DbDesk):
    def __init__(self, folder):
        super().__init__(folder, "sqlite:orders.db")
        self.file = self.root / "orders.db"
        with sqlite3.connect(self.file) as connection:
            connection.executescript(SCHEMA)

    def all(self, statement):
        with sqlite3.connect(self.file) as connection:
            return connection.execute(statement).fetchall()


@pytest.fixture
def desk(tmp_path):
    return SqliteDesk(tmp_path)


# -- queries ---------------------------------------------------------------------------


def test_a_query_answers_with_its_rows(desk):
    outcome = desk.run("SELECT id, cents, note FROM orders WHERE cents >= {least} ORDER BY id", {"least": 100}, least="number")
    rows = ({"id": "o1", "cents": 1299, "note": "first"}, {"id": "o2", "cents": 500, "note": None})
    assert outcome == Executed('rows=2 [{"id":"o1","cents":1299,"note":"first"},{"id":"o2","cents":500,"note":null}]', rows, "rows=2")
    assert desk.run("SELECT sum(value) AS n FROM json_each('[1,2]')").rows == ({"n": 3},)
    assert desk.run("SELECT 1 AS one WHERE 0") == Executed("rows=0 []", (), "rows=0")


def test_more_than_fifty_rows_are_counted_and_the_first_shown(desk):
    outcome = desk.run(UP_TO, {"most": 60}, most="number")
    assert outcome.text.startswith("rows=60 (showing first 50) [") and outcome.text.count('"n"') == 50 and len(outcome.rows) == 60


def test_a_value_never_becomes_text_of_the_statement(desk):
    for hostile in ("o1' OR '1'='1", "o1'; DROP TABLE orders; --", "{id}", "?1", "$1", "\\", '"'):
        assert desk.run("SELECT id FROM orders WHERE id = {id}", {"id": hostile}, id="string").rows == ()
    assert len(desk.all("SELECT * FROM orders")) == 2


@pytest.mark.parametrize("entry", [
    "SELECT * FROM pragma_journal_mode", "SELECT load_extension('x')", "SELECT * FROM nothing", "SELECT 1 AS a, 2 AS a", "SELECT",
    "SELECT * FROM orders WHERE id = ?7",
])
def test_what_a_query_may_not_do_has_failed(desk, entry):
    assert isinstance(desk.run(entry), Failed)


def test_a_query_cannot_write_even_through_the_driver(desk):
    """Three bars: the file is open read-only, `query_only` is set, and the authorizer knows no writing."""
    statement = read_statement("INSERT INTO log VALUES ('x')", {}, CONSTRUCTIVE)
    with pytest.raises(StatementFailed):
        SqliteWork(str(desk.file), statement, [], reads=True, object_bytes=2**20, clock=SystemClock()).run()
    assert desk.all("SELECT * FROM log") == []


def test_an_answer_beyond_the_bounds_has_failed(desk):
    assert len(desk.run(UP_TO, {"most": 10_000}, most="number").rows) == 10_000
    assert "more than 10000 rows" in desk.run(UP_TO, {"most": 10_001}, most="number").reason
    assert "larger than a result" in desk.run("SELECT hex(zeroblob(600000)) AS big").reason


@pytest.mark.skipif(sys.version_info < (3, 11), reason="the module has no limits before")
def test_one_value_does_not_fill_the_memory(desk):
    outcome = desk.run("SELECT zeroblob({n}) AS big", {"n": 900_000_000}, n="number")
    assert isinstance(outcome, Failed) and "too big" in outcome.reason


def test_a_statement_without_end_is_ended(desk, monkeypatch):
    monkeypatch.setattr("rulith.adapters.db_sqlite.CONNECT_S", 0.1)
    monkeypatch.setattr("rulith.adapters.db_sqlite.STATEMENT_S", 0.2)
    assert desk.run(ENDLESS) == Failed("The statement was ended after 0.2 s.")


def test_a_statement_that_is_taken_back_is_interrupted(desk):

    async def story():
        task = asyncio.ensure_future(desk.compile(ENDLESS).run())
        await asyncio.sleep(0.1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(asyncio.wait_for(story(), 15))


# -- writes ----------------------------------------------------------------------------


@pytest.mark.parametrize("entry, arguments, params, text, rows", [
    ("INSERT INTO orders (id, cents) VALUES ({id}, {cents})", {"id": "o3", "cents": 7}, {"id": "string", "cents": "number"}, "insert ok rows=1 INSERT", ()),
    ("UPDATE orders SET paid = {paid}", {"paid": True}, {"paid": "boolean"}, "update ok rows=2 UPDATE", ()),
    ("UPDATE orders SET cents = cents + 1 WHERE id = {id} RETURNING id, cents", {"id": "o1"}, {"id": "string"}, "update ok rows=1 UPDATE", ({"id": "o1", "cents": 1300},)),
    ("CREATE TABLE fresh (a TEXT)", {}, {}, "create ok rows=0 CREATE", ()),
    ("CREATE INDEX by_cents ON orders (cents)", {}, {}, "create ok rows=0 CREATE", ()),
    ("CREATE VIEW dear AS SELECT id FROM orders WHERE cents > 1000", {}, {}, "create ok rows=0 CREATE", ()),
    ("SELECT id FROM cheap", {}, {}, "select ok rows=1 SELECT", ({"id": "o2"},)),
    ("INSERT INTO log VALUES ('a line')", {}, {}, "insert ok rows=1 INSERT", ()),
])
def test_a_constructive_write_is_committed_once(desk, entry, arguments, params, text, rows):
    assert desk.run(entry, arguments, writes=True, **params) == Executed(f"sql:constructive {text}", rows)


def test_a_trigger_of_the_database_keeps_its_own_rule(desk):
    with sqlite3.connect(desk.file) as connection:
        connection.execute("INSERT INTO gone VALUES ('x')")
    assert isinstance(desk.run("INSERT INTO log VALUES ('x')", writes=True), Executed)
    assert desk.all("SELECT * FROM gone") == []


@pytest.mark.parametrize("entry", [
    "INSERT INTO orders VALUES ('o1', 1, '', 0)", "INSERT INTO nothing VALUES (1)", "UPDATE orders SET id = 'same'",
    "CREATE TABLE x AS SELECT load_extension('x')", "CREATE VIRTUAL TABLE v USING fts5(a)", "CREATE TEMP TABLE t (a)", "UPDATE sqlite_master SET name = 'x'",
])
def test_a_write_that_the_database_refuses_leaves_nothing(desk, entry):
    before = desk.all("SELECT * FROM orders"), desk.all("SELECT name FROM sqlite_master")
    assert isinstance(desk.run(entry, writes=True), Failed)
    assert before == (desk.all("SELECT * FROM orders"), desk.all("SELECT name FROM sqlite_master"))


def test_a_locked_file_is_a_failure_and_nothing_ran(desk, monkeypatch):
    monkeypatch.setattr("rulith.adapters.db_sqlite.CONNECT_S", 0.1)
    holder = sqlite3.connect(desk.file, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    try:
        assert "locked" in desk.run("INSERT INTO log VALUES ('x')", writes=True).reason
    finally:
        holder.close()


def test_a_reader_that_keeps_the_commit_waiting_makes_it_a_failure(desk, monkeypatch):
    """The commit said no, the rollback was confirmed: nothing stands, and that is known."""
    monkeypatch.setattr("rulith.adapters.db_sqlite.CONNECT_S", 0.1)
    reader = sqlite3.connect(desk.file, isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT * FROM orders").fetchall()
    try:
        assert isinstance(desk.run("INSERT INTO log VALUES ('x')", writes=True), Failed)
    finally:
        reader.close()
    assert desk.all("SELECT * FROM log") == []


def test_a_write_that_was_taken_back_before_its_commit_leaves_nothing(desk):
    work = desk.compile("INSERT INTO log VALUES ('x')", writes=True).work
    work.interrupt()
    with pytest.raises(StatementFailed):
        work.run()
    assert desk.all("SELECT * FROM log") == []


def test_a_database_may_lie_beside_the_workers_programs_where_workspace_tools_write(desk):
    hands = replace(desk.hands, territory=replace(desk.hands.territory, writes=True))
    assert hands.inspect(desk.source) is None


class FakeConnection:
    """A connection whose disk fails at one word."""

    def __init__(self, fails, in_transaction):
        self.in_transaction, self._fails = in_transaction, fails

    def set_progress_handler(self, *_):
        pass

    def execute(self, text):
        if text in self._fails:
            raise sqlite3.OperationalError("disk I/O error")


@pytest.mark.parametrize("fails, in_transaction, kind", [
    (("COMMIT",), False, CommitUnknown), (("COMMIT", "ROLLBACK"), True, RollbackUnconfirmed), (("COMMIT",), True, StatementFailed)])
def test_a_commit_that_may_have_happened_is_unknown(desk, fails, in_transaction, kind):
    work = desk.compile("INSERT INTO log VALUES ('x')", writes=True).work
    with pytest.raises(kind):
        work._commit(FakeConnection(fails, in_transaction))


@pytest.mark.parametrize("problem, code", [(CommitUnknown("cut"), "database_commit_unknown"), (RollbackUnconfirmed("cut"), "database_rollback_unconfirmed")])
def test_an_unknown_end_is_withheld_under_its_code(desk, problem, code):
    call = desk.compile("INSERT INTO log VALUES ('x')", writes=True)

    def run():
        raise problem

    call.work.run = run
    assert asyncio.run(call.run()) == Withheld(code, "cut")


# -- values and Sources ----------------------------------------------------------------


def test_a_value_is_exact_or_its_own_text():
    assert [scalar(each) for each in (7, 2**53, 1.5, float("inf"), 1e300, b"\x01\xff", True, None, "é")] == [
        7, "9007199254740992", 1.5, "inf", "1e+300", "\\x01ff", True, None, "é"]
    assert [scalar(Decimal(each)) for each in ("12.50", "3.00", "0.1", "12345678901234567.89", "NaN", "9007199254740993")] == [
        12.5, 3, 0.1, "12345678901234567.89", "NaN", "9007199254740993"]


@pytest.mark.parametrize("dsn, problem", [
    ("", "no dsn"), ("vault", "no dsn"), ("mysql://u@h/d", "begins with none of"), ("sqlite:", "names no file"), ("sqlite::memory:", "names no file"),
    ("sqlite://host/x", "names no file"), ("sqlite:x.db?mode=rwc", "names no file"), ("sqlite:absent.db", "does not exist"), ("sqlite:.", "does not exist"),
])
def test_a_source_without_a_database_is_refused(tmp_path, dsn, problem):
    with pytest.raises(Refused) as caught:
        DbDesk(tmp_path, dsn).compile("SELECT 1")
    assert caught.value.code in ("source_unusable", "source_root_refused") and (problem in caught.value.facts["problem"] or dsn == "sqlite:.")


def test_a_database_of_the_home_and_the_vault_itself_are_refused(desk):
    (desk.home / "ledger.db").write_bytes(b"")
    (desk.root / "worker-secrets.json").write_text("{}")
    (desk.root / "link.db").symlink_to(desk.home / "ledger.db")
    for dsn in (f"sqlite:{desk.home / 'ledger.db'}", f"sqlite://{desk.home / 'ledger.db'}", "sqlite:link.db", "sqlite:worker-secrets.json"):
        with pytest.raises(Refused) as caught:
            desk.compile("SELECT 1", source=Source("s", "db", dsn))
        assert caught.value.code == "source_root_refused"


def test_another_type_of_source_and_unreadable_values_are_refused(desk):
    with pytest.raises(Refused) as caught:
        desk.compile("SELECT 1", source=Source("s", "file", "sqlite:orders.db"))
    assert caught.value.code == "source_unusable"
    with pytest.raises(Refused) as caught:
        desk.compile("SELECT 1", source=Source("s", "db", "sqlite:orders.db", {"dsn": "sqlite:orders.db", "url": "x"}))
    assert caught.value.code == "source_unusable"
    for value in ("a\0b", "\ud800", None, [1]):
        with pytest.raises(Refused) as caught:
            desk.compile("SELECT {id}", {"id": value}, id="string")
        assert caught.value.code == "argument_refused"


def test_a_file_that_is_no_database_is_a_failure(desk):
    (desk.root / "notes.txt").write_text("not a database, but a text that is long enough to be looked at as one " * 20)
    outcome = asyncio.run(desk.compile("SELECT 1 AS a FROM sqlite_master", source=Source("s", "db", "sqlite:notes.txt")).run())
    assert isinstance(outcome, Failed)
