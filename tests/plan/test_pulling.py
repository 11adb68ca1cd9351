"""Data file: how pull queries on tables reach their rows, with table scans and without, and which are refused."""

from dataclasses import replace
from pathlib import Path

import pytest

from millstream.analysis.typed_expressions import Constant, TypedExpression
from millstream.catalog.catalog import Catalog
from millstream.catalog.facts import Facts, TopicFacts
from millstream.model.errors import StatementError
from millstream.plan.explain import explain_pull
from millstream.plan.index_lookups import IndexAccess
from millstream.plan.nodes import Filter
from millstream.plan.pull_queries import TABLE_SCAN, Access, IndexLookup, KeyBound, KeyLookup, KeyRange
from millstream.plan.queries import plan_transient
from millstream.syntax import parser, tree
from support import golden
from support.statements import SETTINGS, catalog_of, pull_plan

FACTS = Facts({name: TopicFacts(2) for name in ("a", "t", "j")})
SOURCES = """
CREATE STREAM a (id INT KEY, s STRING, v INT) WITH (kafka_topic='a', format='JSON');
CREATE TABLE declared (id INT PRIMARY KEY, v INT) WITH (kafka_topic='t', value_format='JSON');
CREATE SOURCE TABLE src (id BIGINT PRIMARY KEY, v INT) WITH (kafka_topic='t', value_format='JSON');
CREATE SOURCE TABLE srcjson (id BIGINT PRIMARY KEY, v INT) WITH (kafka_topic='j', format='JSON');
CREATE SOURCE TABLE money (price DECIMAL(4, 2) PRIMARY KEY, v INT) WITH (kafka_topic='j', format='JSON');
CREATE SOURCE TABLE real (d DOUBLE PRIMARY KEY, v INT) WITH (kafka_topic='t', value_format='JSON');
CREATE TABLE one WITH (key_format='KAFKA') AS SELECT id, COUNT(*) AS n FROM a GROUP BY id;
CREATE TABLE txt WITH (key_format='KAFKA') AS SELECT s, COUNT(*) AS n FROM a GROUP BY s;
CREATE TABLE two AS SELECT id, s, COUNT(*) AS n FROM a GROUP BY id, s;
CREATE TABLE win AS SELECT id, COUNT(*) AS n FROM a WINDOW TUMBLING (SIZE 1 HOUR) GROUP BY id;
CREATE TABLE wtxt AS SELECT s, COUNT(*) AS n FROM a WINDOW TUMBLING (SIZE 1 HOUR) GROUP BY s;
CREATE SOURCE TABLE many (id INT PRIMARY KEY, i INT, l BIGINT, d DOUBLE, e DECIMAL(6, 2), t STRING, w TIMESTAMP,
  arr ARRAY<INT>) WITH (kafka_topic='t', value_format='JSON');
CREATE INDEX by_i ON many (i);
CREATE INDEX by_l ON many (l);
CREATE INDEX by_d ON many (d);
CREATE INDEX by_e ON many (e);
CREATE INDEX by_t ON many (t);
CREATE INDEX by_w ON many (w);
CREATE INDEX by_arr ON many (arr);
CREATE INDEX by_i_t ON many (i, t);
CREATE TABLE grouped AS SELECT id, v, COUNT(*) AS n FROM a GROUP BY id, v;
CREATE INDEX by_v ON grouped (v);
CREATE TABLE windowed AS SELECT id, COUNT(*) AS n FROM a WINDOW TUMBLING (SIZE 1 HOUR) GROUP BY id;
CREATE INDEX by_n ON windowed (n);
"""


@pytest.fixture(scope="module")
def known() -> Catalog:
    return catalog_of(SOURCES, FACTS)


def test_pull_queries(known: Catalog) -> None:
    def described(text: str) -> str:
        without = _accesses(text, known, replaced := {**SETTINGS, TABLE_SCAN: "false"})
        assert replaced != SETTINGS
        return f"{_accesses(text, known, SETTINGS)}\nwithout scans: {without}"

    golden.check(Path(__file__).parent / "texts" / "pulls.sql", described)


def _accesses(text: str, known: Catalog, settings: dict[str, str]) -> str:
    try:
        plan = pull_plan(text, known, settings)
    except StatementError as error:
        return str(error)
    rest = ", each row asked" if isinstance(plan.plan.source, Filter) else ""
    return "; ".join(map(_access, plan.accesses)) + rest


def test_relational_pull_queries(known: Catalog) -> None:
    """Data file: the algebra that pull queries beyond a look-up become, and which are refused."""

    def described(text: str) -> str:
        without = _algebra(text, known, {**SETTINGS, TABLE_SCAN: "false"})
        allowed = _algebra(text, known, SETTINGS)
        return allowed if without == allowed else f"{allowed}\nwithout scans: {without}"

    golden.check(Path(__file__).parent / "texts" / "relational.sql", described)


def _algebra(text: str, known: Catalog, settings: dict[str, str]) -> str:
    (parsed,) = parser.split(text)
    assert isinstance(parsed.statement, tree.QueryStatement)
    try:
        query = plan_transient(parsed.statement, known, settings)
        columns = ", ".join(f"{c.name} {c.type}" for c in query.plan.schema)
        return f"({columns})\n{explain_pull(query, known, settings, parsed.statement.span)}"
    except StatementError as error:
        return str(error)


def _access(access: Access) -> str:
    windows = "".join(f" {_limit(li)}" for li in access.windows)
    match access:
        case KeyLookup(keys):
            return "keys " + " x ".join("(" + ", ".join(map(_text, some)) + ")" for some in keys) + windows
        case KeyRange(limits):
            return "range" + "".join(f" {_limit(li)}" for li in limits) + windows
        case IndexLookup(index, by_key):
            return _index(index) + windows + " in the order of a range" * by_key
    return "whole table" + windows


def _index(access: IndexAccess) -> str:
    values = (" x ".join("(" + ", ".join(map(_text, some)) + ")" for some in one) for one in access.values)
    limits = " ".join(f"{limit.operator} {_text(limit.constant)}" for limit in access.limits)
    return f"index {access.index.name} {' or '.join(values) or limits}"


def _limit(limit: KeyBound) -> str:
    return f"{limit.where.value} {limit.operator} {_text(limit.constant)}"


def _text(meaning: TypedExpression) -> str:
    return repr(meaning.value) if isinstance(meaning, Constant) else type(meaning).__name__


def test_too_many_combinations_of_keys_are_not_looked_up(known: Catalog) -> None:
    """Two lists of a thousand values name a million keys; a list for one column names as many as it has values."""
    ids, texts = ", ".join(map(str, range(101))), ", ".join(f"'{n}'" for n in range(100))
    text = f"SELECT * FROM two WHERE id IN ({ids}) AND s IN ({texts});"
    assert _accesses(text, known, SETTINGS) == "whole table, each row asked"
    refused = _accesses(text, known, {**SETTINGS, TABLE_SCAN: "false"})
    assert refused.startswith("line 1:1: The WHERE clause names more than 10000 combinations of keys.")
    assert _accesses(text.replace("(0, ", "("), known, SETTINGS).startswith("keys (1, 2, 3")
    many = ", ".join(map(str, range(20_000)))
    assert _accesses(f"SELECT * FROM one WHERE id IN ({many});", known, SETTINGS).startswith("keys (0, 1, 2")


def test_the_plan_of_a_lookup_does_not_depend_on_its_key(known: Catalog) -> None:
    """The driver prepares a plan once; a lookup by another key must not need another."""
    plans = [pull_plan(f"SELECT n FROM one WHERE id = {key};", known).plan for key in (1, 2)]
    assert plans[0] == replace(plans[1])
    assert hash(plans[0]) == hash(plans[1])


@pytest.mark.parametrize(
    ("text", "last"),
    [
        ("SELECT * FROM one;", "Pull from the rows of TABLE ONE: read the whole table"),
        ("SELECT * FROM one WHERE id IN (1, 2);", "Pull from the rows of TABLE ONE: look up ID of 1, 2"),
        (
            "SELECT * FROM two WHERE id = 1 AND s = 'a';",
            "Pull from the rows of TABLE TWO: look up ID of 1 and S of 'a'",
        ),
        ("SELECT * FROM txt WHERE s > 'a';", "Pull from the rows of TABLE TXT: read the keys with S > 'a'"),
        (
            "SELECT * FROM win WHERE id = 1 AND WINDOWSTART >= 0 OR id = 1 + 1;",
            "Pull from the rows of TABLE WIN: look up ID of 1, windows with WINDOWSTART >= 0; "
            "look up ID of a computed value",
        ),
        ("SELECT * FROM many WHERE i IN (1, 2);", "Pull from the rows of TABLE MANY: index BY_I with I of 1, 2"),
        (
            "SELECT * FROM many WHERE i = 1 AND t = 'a' OR t = 'b' AND i = 2;",
            "Pull from the rows of TABLE MANY: index BY_I_T with I of 1 and T of 'a' or I of 2 and T of 'b'",
        ),
        (
            "SELECT * FROM windowed WHERE n > 1 AND n <= 1 + 1 AND WINDOWEND < 5;",
            "Pull from the rows of TABLE WINDOWED: index BY_N with N > 1 and N <= a computed value, "
            "windows with WINDOWEND < 5",
        ),
        ("SELECT * FROM a WHERE v = 1;", "Pull from topic a: from its beginning to its present end"),
        ("SELECT * FROM a WHERE ROWTIME < 5 AND v = 1;", "Pull from topic a: from its beginning to its present end"),
        ("SELECT * FROM a WHERE ROWTIME > 5 OR v = 1;", "Pull from topic a: from its beginning to its present end"),
        (
            "SELECT * FROM a WHERE v = 1 AND ROWTIME >= '2026-11-01T00:00:00';",
            "Pull from topic a: from the first record with a ROWTIME of 1793491200000 or later to its present end",
        ),
        (
            "SELECT * FROM a WHERE 5 < ROWTIME AND ROWTIME > 7 AND ROWTIME < 20;",
            "Pull from topic a: from the first record with a ROWTIME of 8 or later to its present end",
        ),
        (
            "SELECT * FROM a WHERE ROWTIME BETWEEN 7 AND 9;",
            "Pull from topic a: from the first record with a ROWTIME of 7 or later to its present end",
        ),
    ],
)
def test_explain_says_how_a_pull_query_reaches_its_rows(text: str, last: str, known: Catalog) -> None:
    (parsed,) = parser.split(text)
    assert isinstance(parsed.statement, tree.QueryStatement)
    query = plan_transient(parsed.statement, known, SETTINGS)
    assert explain_pull(query, known, SETTINGS, parsed.statement.span).splitlines()[-1] == last


def test_explain_refuses_what_a_pull_query_may_not_do(known: Catalog) -> None:
    (parsed,) = parser.split("SELECT * FROM one;")
    assert isinstance(parsed.statement, tree.QueryStatement)
    query = plan_transient(parsed.statement, known, SETTINGS)
    for switched_off in (TABLE_SCAN, "ksql.pull.queries.enable"):
        with pytest.raises(StatementError):
            explain_pull(query, known, {**SETTINGS, switched_off: "false"}, parsed.statement.span)
