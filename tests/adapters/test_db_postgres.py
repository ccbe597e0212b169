"""The database adapters on a real PostgreSQL, through the optional driver (the Worker contract, "database")."""

import asyncio
import os
import shutil
import sys
from urllib.parse import quote

import pytest

from rulith.adapters.db_postgres import load_driver, read_address
from rulith.adapters.db_work import StatementFailed
from rulith.adapters.outcomes import Executed, Failed, Withheld
from rulith.adapters.sources import Source
from rulith.base.errors import Refused
from tests.adapters.db_desk import DbDesk
from tests.adapters.postgres_cluster import PASSWORD, cluster, wheels

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the cluster is started as on Debian")

SCHEMA = """
CREATE TABLE orders (id text PRIMARY KEY, cents bigint NOT NULL, price numeric(12,2), paid boolean, at timestamptz, more jsonb, raw bytea, tags text[]);
INSERT INTO orders VALUES ('o1', 1299, 12.50, true, '2026-03-01T10:00:00Z', '{"k": [1, 2.5]}', '\\x01ff', '{a,b}'), ('o2', 500, NULL, false, NULL, NULL, NULL, NULL);
CREATE TABLE late (id text PRIMARY KEY, other text REFERENCES orders DEFERRABLE INITIALLY DEFERRED);
GRANT ALL ON ALL TABLES IN SCHEMA public TO worker;
"""


@pytest.fixture(scope="module")
def shop():
    wheels()
    with cluster() as found:
        found.sql(SCHEMA)
        yield found


def dsn(shop, password=PASSWORD, database="shop", options=""):
    return f"postgresql://worker:{quote(password, safe='')}@127.0.0.1:{shop.port}/{database}{options}"


class PostgresDesk(DbDesk):
    def __init__(self, folder, address):
        super().__init__(folder, address)
        shutil.copytree(wheels(), self.home / "drivers")


@pytest.fixture
def desk(shop, tmp_path):
    return PostgresDesk(tmp_path, dsn(shop))


def test_a_query_answers_with_exact_values(desk):
    outcome = desk.run("SELECT id, cents, price, paid, at AT TIME ZONE 'UTC' AS at, more, raw, tags::text AS tags FROM orders WHERE cents >= {n} ORDER BY id",
                       {"n": 100}, n="number")
    assert outcome.rows == (
        {"id": "o1", "cents": 1299, "price": 12.5, "paid": True, "at": "2026-03-01 10:00:00", "more": {"k": [1, 2.5]}, "raw": "\\x01ff", "tags": "{a,b}"},
        {"id": "o2", "cents": 500, "price": None, "paid": False, "at": None, "more": None, "raw": None, "tags": None},
    )
    assert outcome.text.startswith('rows=2 [{"id":"o1","cents":1299')
    exact = desk.run("SELECT 9007199254740993::bigint AS far, 0.1::numeric AS tenth, 12345678901234567.89::numeric AS long, 'NaN'::float8 AS none")
    assert exact.rows == ({"far": "9007199254740993", "tenth": 0.1, "long": "12345678901234567.89", "none": "nan"},)


def test_a_value_never_becomes_text_of_the_statement(desk, shop):
    for hostile in ("o1' OR '1'='1", "o1'; DROP TABLE orders; --", "$1", "{id}", "\\'", "é"):
        assert desk.run("SELECT id FROM orders WHERE id = {id}", {"id": hostile}, id="string").rows == ()
    assert desk.run("SELECT {id} || '$1 {nobody}' AS a, 'x'::text AS b, {id}::text AS c", {"id": "o1"}, id="string").rows == (
        {"a": "o1$1 {nobody}", "b": "x", "c": "o1"},)
    assert shop.sql("SELECT count(*) FROM orders") == "2"


@pytest.mark.parametrize("entry", [
    "SELECT nextval('counter')", "SELECT * INTO copied FROM orders", "SELECT make_order()", "SELECT 1 AS a, 2 AS a", "SELECT nothing FROM orders",
    "SELECT id FROM orders FOR UPDATE",
])
def test_a_query_runs_where_nothing_can_be_written(desk, shop, entry):
    shop.sql("CREATE SEQUENCE IF NOT EXISTS counter", "GRANT ALL ON counter TO worker",
             "CREATE OR REPLACE FUNCTION make_order() RETURNS int LANGUAGE sql AS $$ INSERT INTO orders (id, cents) VALUES ('sly', 1); SELECT 1 $$")
    outcome = desk.run(entry)
    assert isinstance(outcome, Failed) and PASSWORD not in outcome.reason
    assert shop.sql("SELECT count(*) FROM orders WHERE id = 'sly'") == "0"


def test_a_write_is_committed_and_tells_what_it_touched(desk, shop):
    made = desk.run("INSERT INTO orders (id, cents, paid) VALUES ({id}, {cents}, {paid})", {"id": "o3", "cents": 7, "paid": True}, writes=True,
                    id="string", cents="number", paid="boolean")
    assert made == Executed("sql:constructive insert ok rows=1 INSERT", ())
    changed = desk.run("UPDATE orders SET cents = cents + {more} WHERE id = {id} RETURNING id, cents", {"id": "o3", "more": 1}, writes=True, id="string", more="number")
    assert changed == Executed("sql:constructive update ok rows=1 UPDATE", ({"id": "o3", "cents": 8},))
    assert desk.run("CREATE TABLE fresh (a text)", writes=True).text == "sql:constructive create ok rows=0 CREATE"
    assert shop.sql("SELECT cents, paid FROM orders WHERE id = 'o3'", "DELETE FROM orders WHERE id = 'o3'", "DROP TABLE fresh").startswith("8|t")


@pytest.mark.parametrize("entry, code", [
    ("INSERT INTO orders (id, cents) VALUES ('o1', 1)", "23505"), ("INSERT INTO nothing VALUES (1)", "42P01"),
    ("INSERT INTO late VALUES ('x', 'no such order')", "23503"), ("UPDATE orders SET cents = NULL", "23502"),
])
def test_a_write_that_the_database_refuses_has_failed_and_left_nothing(desk, shop, entry, code):
    """The third is refused by the commit itself: a deferred rule."""
    outcome = desk.run(entry, writes=True)
    assert isinstance(outcome, Failed) and code in outcome.reason
    assert shop.sql("SELECT count(*) FROM orders", "SELECT count(*) FROM late") == "2\n0"


def test_a_statement_that_takes_too_long_is_ended_by_the_server(desk, monkeypatch):
    monkeypatch.setattr("rulith.adapters.db_postgres.STATEMENT_S", 0.3)
    for writes in (False, True):
        outcome = desk.run("SELECT pg_sleep(60)", writes=writes)
        assert isinstance(outcome, Failed) and "57014" in outcome.reason


def test_an_answer_beyond_the_bounds_is_cut_while_it_comes(desk):
    assert "more than 10000 rows" in desk.run("SELECT generate_series(1, 3000000) AS n").reason
    assert len(desk.run("SELECT generate_series(1, 10000) AS n").rows) == 10_000
    assert isinstance(desk.run("SELECT repeat('x', 3000000) AS big"), Failed)
    unknown = desk.run("SELECT generate_series(1, 3000000) AS n", writes=True)
    assert isinstance(unknown, Withheld) and unknown.code == "database_rollback_unconfirmed"


def test_one_value_does_not_fill_the_memory(desk):
    outcome = desk.run("SELECT repeat('x', {n}::int) AS big", {"n": 100_000_000}, n="number")
    assert isinstance(outcome, Failed) and "larger than a result" in outcome.reason


def backends(shop):
    return int(shop.sql("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'rulith-worker'"))


def test_a_write_whose_connection_breaks_before_the_commit_is_not_confirmed_undone(desk, shop):
    outcome = desk.run("SELECT pg_terminate_backend(pg_backend_pid())", writes=True)
    assert isinstance(outcome, Withheld) and outcome.code == "database_rollback_unconfirmed"
    assert isinstance(desk.run("SELECT pg_terminate_backend(pg_backend_pid())"), Failed)


def test_a_commit_whose_answer_is_lost_is_unknown(desk, shop):
    """The link dies after the statement's own answer, before the commit's."""
    call = desk.compile("INSERT INTO late VALUES ('lost', NULL)", writes=True)
    work, connect = call.work, call.work._connect

    def connecting():
        connection = connect()
        simple = connection.execute_simple

        def cut(statement):
            if statement == "COMMIT":
                work.interrupt()
            return simple(statement)

        connection.execute_simple = cut
        return connection

    work._connect = connecting
    outcome = asyncio.run(call.run())
    assert isinstance(outcome, Withheld) and outcome.code == "database_commit_unknown"


def test_a_write_that_was_taken_back_while_it_connected_is_not_sent(desk, shop):
    work = desk.compile("INSERT INTO late VALUES ('never', NULL)", writes=True).work
    work.interrupt()
    with pytest.raises(StatementFailed):
        work.run()
    assert shop.sql("SELECT count(*) FROM late WHERE id = 'never'") == "0"


def test_a_call_that_is_taken_back_leaves_no_statement_behind(desk, shop):
    async def story():
        task = asyncio.ensure_future(desk.compile("SELECT pg_sleep(60)").run())
        while not await asyncio.to_thread(backends, shop):
            await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        shop.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'SELECT pg_sleep%' AND pid <> pg_backend_pid()")

    asyncio.run(asyncio.wait_for(story(), 60))


@pytest.mark.parametrize("change", [{"password": "wrong"}, {"database": "absent"}, {"options": "?sslmode=require"}, {"options": "?sslmode=verify-full"}])
def test_a_database_that_does_not_let_us_in_is_a_failure_without_the_password(shop, tmp_path, change):
    outcome = PostgresDesk(tmp_path, dsn(shop, **change)).run("SELECT 1 AS one")
    assert isinstance(outcome, Failed) and "cannot be reached" in outcome.reason
    assert PASSWORD not in outcome.reason and "wrong" not in outcome.reason and quote(PASSWORD, safe="") not in outcome.reason


def test_a_local_socket_is_reached_by_its_folder(shop, tmp_path):
    address = f"postgres://worker@/shop?host={quote(str(shop.folder))}".replace("@/", f"@:{shop.port}/")
    assert PostgresDesk(tmp_path, address).run("SELECT current_user AS me").rows == ({"me": "worker"},)


def test_nobody_listens_there(tmp_path):
    outcome = PostgresDesk(tmp_path, "postgresql://u:p@127.0.0.1:1/shop").run("SELECT 1 AS one")
    assert isinstance(outcome, Failed)


# -- before the claim ------------------------------------------------------------------


@pytest.mark.parametrize("address, problem", [
    ("postgresql://h/d", "a user"), ("postgresql://u@h", "a user"), ("postgresql://u@/d", "a user"), ("postgresql://u@h:x/d", "cannot be read"),
    ("postgresql://u@h/d?service=x", "'service'"), ("postgresql://u@h/d?sslmode=prefer", "sslmode"), ("postgresql://u@h/d?host=/run", "either a host"),
    ("postgresql://u@/d?host=run", "either a host"), ("postgresql://u@h/d?x", "cannot be read"), ("postgresql://u:secret@h/d#x", "a user"),
])
def test_an_address_that_cannot_be_used_is_refused_and_never_quoted(address, problem):
    with pytest.raises(Refused) as caught:
        read_address(Source("s", "db", address), address)
    assert caught.value.code == "source_unusable" and problem in caught.value.teaching and "secret" not in caught.value.teaching


def test_a_far_database_is_reached_over_tls_unless_its_owner_says_otherwise():
    def mode(address):
        return read_address(Source("s", "db", address), address).sslmode

    assert mode("postgresql://u@db.example/d") == "verify-full" and mode("postgresql://u@127.0.0.1/d") == "disable"
    assert mode("postgresql://u@db.example/d?sslmode=disable") == "disable" and mode("postgresql://u@/d?host=/run") == "disable"


def test_a_driver_that_is_absent_is_named_with_where_it_belongs(tmp_path, monkeypatch):
    for name in [name for name in sys.modules if name.partition(".")[0] == "pg8000"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "path", [path for path in sys.path if "site-packages" not in path and not path.endswith(".whl")])
    with pytest.raises(Refused) as caught:
        DbDesk(tmp_path, "postgresql://u:p@127.0.0.1:1/shop").compile("SELECT 1")
    assert caught.value.code == "driver_missing"
    assert "pg8000" in caught.value.teaching and str(tmp_path / "home" / "drivers") in caught.value.teaching


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="POSIX modes")
def test_a_driver_that_others_can_replace_is_not_loaded(tmp_path):
    folder = tmp_path / "drivers"
    shutil.copytree(wheels(), folder)
    load_driver(str(folder))
    next(folder.glob("pg8000-*.whl")).chmod(0o666)
    with pytest.raises(Refused) as caught:
        load_driver(str(folder))
    assert caught.value.code == "driver_untrusted"
