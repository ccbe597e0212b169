"""The statement of a database Tool: one, of an allowed class, with its values beside it (the Worker contract, "database")."""

import pytest

from rulith.wire.sql import CONSTRUCTIVE, READS, BadStatement, read_statement

PARAMS = {"id": "string", "n": "number", "on": "boolean", "maybe": "string?", "tree": "json"}


def read(text, verbs=CONSTRUCTIVE):
    return read_statement(text, PARAMS, verbs)


@pytest.mark.parametrize("text, written, names", [
    ("SELECT 1", "SELECT 1", ()),
    ("SELECT a FROM t WHERE id = {id}", "SELECT a FROM t WHERE id = $1", ("id",)),
    ("SELECT {n}, {id}, {n}", "SELECT $1, $2, $1", ("n", "id")),
    ("  -- why\n/* and\nhow */ select {on}::boolean", "  -- why\n/* and\nhow */ select $1::boolean", ("on",)),
    ("SELECT '{}', '{a}'::text[], \"{b}\", $${c}$$, $q$;$q$, {id}", "SELECT '{}', '{a}'::text[], \"{b}\", $${c}$$, $q$;$q$, $1", ("id",)),
    ("SELECT 'it''s; {x}', {id} -- {id} ; no\n;", "SELECT 'it''s; {x}', $1 -- {id} ; no\n;", ("id",)),
    ("SELECT E'\\'; {x}', {id};  \n -- bye", "SELECT E'\\'; {x}', $1;  \n -- bye", ("id",)),
    ("SELECT a[1:2], b->>'k' FROM t WHERE c = {id}", "SELECT a[1:2], b->>'k' FROM t WHERE c = $1", ("id",)),
    ("SELECT a$b$c, d$b$ FROM t", "SELECT a$b$c, d$b$ FROM t", ()),
])
def test_a_placeholder_becomes_a_number_and_nothing_else_changes(text, written, names):
    statement = read(text, READS)
    assert statement.written("$") == written and statement.names == names and statement.verb == "select"


@pytest.mark.parametrize("text, problem", [
    ("SELECT 1; DROP TABLE t", "more than one statement"),
    ("SELECT 1;;", "more than one statement"),
    ("SELECT 1; ''", "more than one statement"),
    ("SELECT $tag$;$tag; DROP TABLE t; --$", "more than one statement"),
    ("SELECT '{id}'", "inside quotes"),
    ("SELECT $x$ {n} $x$", "inside quotes"),
    ("SELECT {unknown}", "{unknown} is not a declared parameter"),
    ("SELECT {maybe}", "declared string?"),
    ("SELECT {tree}", "declared json"),
    ("SELECT {1}", "brace outside quotes"),
    ("SELECT {id", "brace outside quotes"),
    ("SELECT {id}}", "brace outside quotes"),
    ("SELECT 'open", "' begins or ends"),
    ("SELECT \"open", "begins or ends"),
    ("SELECT 1 /* open", "/* begins or ends"),
    ("SELECT 1 /* a /* b */ ; DROP TABLE t */", "comment inside a comment"),
    ("SELECT 1 */ 2", "*/ begins or ends"),
    ("SELECT 1\0", "NUL"),
    ("-- only a comment", "does not begin with a word"),
    ("(SELECT 1)", "does not begin with a word"),
    ("", "does not begin with a word"),
])
def test_what_is_not_one_readable_statement_is_refused(text, problem):
    with pytest.raises(BadStatement) as caught:
        read(text)
    assert problem in str(caught.value)


@pytest.mark.parametrize("verb", ["drop", "truncate", "delete", "alter", "replace", "with", "explain", "copy", "call", "do", "set",
                                  "grant", "vacuum", "attach", "pragma", "merge", "begin", "commit", "lock", "selects", "select_"])
def test_every_verb_that_is_not_constructive_needs_a_clearance_that_no_worker_gives(verb):
    with pytest.raises(BadStatement) as caught:
        read(f"{verb} things")
    assert "sql:destructive" in str(caught.value)


@pytest.mark.parametrize("verb", ["Create", "INSERT", "update", "SELECT"])
def test_the_constructive_verbs_pass_and_a_query_selects_only(verb):
    assert read(f"{verb} x").verb == verb.lower()
    if verb != "SELECT":
        with pytest.raises(BadStatement) as caught:
            read(f"{verb} x", READS)
        assert "db-query begins with SELECT" in str(caught.value)


def test_a_long_hostile_statement_is_read_in_linear_time():
    for piece in ("'", "$$", "/*", "{", '"', "$a$", "e'\\", ";"):
        with pytest.raises(BadStatement):
            read("SELECT " + piece * 20_001 + " {nobody} ;;")
