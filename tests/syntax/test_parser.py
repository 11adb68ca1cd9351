"""Splitting scripts, places, and what the data files cannot say."""

import time
from collections.abc import Callable

import pytest

from millstream.model.errors import Span
from millstream.model.types import CustomType
from millstream.syntax import parser, tree
from millstream.syntax.errors import SqlSyntaxError
from millstream.syntax.expression_text import expression_text
from millstream.syntax.printer import to_sql

SCRIPT = """-- set up
SET 'a' = 'b';  /* ; */
;
select ';' -- no end;
  from x; DROP STREAM x;
"""


def test_each_statement_keeps_its_own_text() -> None:
    texts = [parsed.text for parsed in parser.split(SCRIPT)]
    assert texts == ["SET 'a' = 'b';", "select ';' -- no end;\n  from x;", "DROP STREAM x;"]


def test_places_are_those_of_the_file() -> None:
    spans = [parsed.statement.span for parsed in parser.split(SCRIPT, "a.sql")]
    assert spans == [Span(2, 1, "a.sql"), Span(4, 1, "a.sql"), Span(5, 11, "a.sql")]
    with pytest.raises(SqlSyntaxError, match=r"^a\.sql:2:7: unexpected FROM"):
        parser.parse("SELECT 1,\n      FROM x;", "a.sql")


def test_a_statement_is_parsed_when_the_iterator_reaches_it() -> None:
    statements = parser.split("SHOW TOPICS; SHOW 'unclosed;")
    assert next(statements).statement == tree.Show(tree.Listing.TOPICS)
    with pytest.raises(SqlSyntaxError, match="no closing quote"):
        next(statements)


def test_one_statement_may_lack_its_semicolon() -> None:
    assert parser.parse_one("show topics") == parser.parse_one("show topics;") == parser.parse("show topics;")[0]
    with pytest.raises(SqlSyntaxError, match="a statement ends with ';'"):
        parser.parse("show topics")
    with pytest.raises(SqlSyntaxError, match="unexpected show"):
        parser.parse_one("show topics; show topics;")


def test_nothing_is_no_statement() -> None:
    assert parser.parse(" -- only a comment\n;;") == []


def test_columns_and_types() -> None:
    key, value = parser.parse_columns("ID STRING KEY, `v` STRUCT<A MYTYPE>")
    assert (key.mark, value.name) == (tree.ColumnMark.KEY, "v")
    assert parser.parse_columns("  ") == ()
    assert parser.parse_type("mytype") == CustomType("MYTYPE")


@pytest.mark.parametrize(
    ("levels", "fact"),
    [
        (lambda n: "(" * n + "1" + ")" * n, "line 1:72: this nests more than 64 levels deep"),
        (lambda n: "ABS(" * n + "1" + ")" * n, "line 1:264: this nests more than 64 levels deep"),
        (lambda n: "- " * n + "a", "this nests more than 64 levels deep"),
        (lambda n: "CAST(1 AS " + "ARRAY<" * n + "INT" + ">" * n + ")", "this nests more than 64 levels deep"),
        (lambda n: "CAST(1 AS INT" + " ARRAY" * n + ")", "this nests more than 64 levels deep"),
        (lambda n: "CASE WHEN TRUE THEN " * n + "1" + " END" * n, "this nests more than 64 levels deep"),
    ],
)
# The last is ten times what Python itself bears.
@pytest.mark.parametrize("count", [65, 10_000])
def test_deep_nesting_is_an_error_of_the_author(levels: Callable[[int], str], fact: str, count: int) -> None:
    assert parser.parse(f"SELECT {levels(50)} FROM x;")
    with pytest.raises(SqlSyntaxError, match=fact):
        parser.parse(f"SELECT {levels(count)} FROM x;")


@pytest.mark.parametrize("operator", [" + ", " OR ", " AND ", " || ", "[1] + "])
def test_a_chain_of_operators_that_is_too_long_is_refused(operator: str) -> None:
    assert parser.parse(f"SELECT {operator.join(['a'] * 150)} FROM x;")
    with pytest.raises(SqlSyntaxError, match=r"line 1:\d+: the statement has more than 200 levels of operators"):
        parser.parse(f"SELECT {operator.join(['a'] * 1000)} FROM x;")


@pytest.mark.parametrize("chain", ["NOT " * 10_000 + "TRUE", "a" + "->b" * 1000, "a" + "[1]" * 1000])
def test_a_chain_of_one_operand_that_is_too_long_is_refused(chain: str) -> None:
    with pytest.raises(SqlSyntaxError, match="the statement has more than 200 levels of operators"):
        parser.parse(f"SELECT * FROM x WHERE {chain};")


@pytest.mark.parametrize(
    "text",
    [
        "SELECT {} FROM s;",
        "SELECT -{} FROM s;",
        "SELECT a FROM s LIMIT {};",
        "CREATE STREAM s (a INT) WITH (partitions={});",
        "CREATE TABLE t AS SELECT a, COUNT(*) FROM s WINDOW TUMBLING (SIZE {} DAYS) GROUP BY a;",
        "CREATE STREAM s (a DECIMAL(4, {}));",
    ],
)
def test_an_integer_of_any_length_is_an_error_of_the_author(text: str) -> None:
    """Python refuses to read more than 4,300 digits."""
    with pytest.raises(SqlSyntaxError, match=r"too large|exceeds its precision"):
        parser.parse_one(text.format("1" * 5000))
    assert parser.parse_one(text.format("0" * 5000 + "3")) == parser.parse_one(text.format("3"))


def test_a_long_chain_is_not_deep() -> None:
    text = " OR ".join(f"A = {n}" for n in range(5000))
    assert expression_text(parser.parse_expression(text)) == text


def test_a_statement_takes_about_a_millisecond() -> None:
    text = "SELECT A.ID, UCASE(B.NAME) || '-' || CAST(A.N + 1 AS STRING) AS X FROM A JOIN B ON A.ID = B.ID;" * 200
    begin = time.process_time()
    parser.parse(text)
    assert time.process_time() - begin < 200 * 0.01  # ten times what it takes: a guard against quadratic reading


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("STRUCT<f0, f1>", "STRUCT<F0, F1>"),
        ("STRUCT<f0, f1> AS bar", "STRUCT<STRUCT(F0 := F0, F1 := F1) AS BAR>"),
        ("STRUCT<bar STRUCT<f0, f1>>", "STRUCT<STRUCT(F0 := F0, F1 := F1) AS BAR>"),
        ("STRUCT(a := f0) AS bar", "STRUCT<STRUCT(A := F0) AS BAR>"),
        ("STRUCT<a> AS bar, f1", "STRUCT(A := A) AS BAR, F1"),
        ("STRUCT<a->b, ABS(c) AS d>", "STRUCT<A->B, ABS(C) AS D>"),
        ("rowkey.k, s.rowkey.k, s.rowkey->k", "ROWKEY.K, S.ROWKEY.K, S.ROWKEY->K"),
    ],
)
def test_keys_of_the_rfc(written: str, shown: str) -> None:
    for clause in ("PARTITION BY", "GROUP BY"):
        (query,) = parser.parse(f"SELECT a FROM b {clause} {written};")
        text = to_sql(query)
        assert text == f"SELECT A FROM B {clause} {shown}"
        assert parser.parse(text + ";") == [query]
