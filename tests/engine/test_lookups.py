"""A look-up that is planned from its shape has the plan that the planner makes; what has no shape is planned."""

import random
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from millstream.catalog.catalog import Catalog
from millstream.catalog.facts import Facts, TopicFacts
from millstream.engine import execute
from millstream.engine.api import Request
from millstream.engine.context import EngineContext
from millstream.engine.engine import MillstreamEngine
from millstream.engine.lookups import PlannedLookup, PlannedLookups, shape_of
from millstream.engine.state import EngineState
from millstream.engine.transient import planned_pull
from millstream.model.errors import StatementError
from millstream.plan.pull_queries import KeyLookup
from support.statements import catalog_of

WITH = "WITH (kafka_topic='a', value_format='JSON', key_format='{}')"
CATALOG = "".join(
    (
        *(
            f"CREATE SOURCE TABLE {name} ({keys}, V INT, S STRING) {WITH.format(format)};"
            for name, keys, format in (
                ("TI", "K INT PRIMARY KEY", "KAFKA"),
                ("TL", "K BIGINT PRIMARY KEY", "KAFKA"),
                ("TD", "K DOUBLE PRIMARY KEY", "KAFKA"),
                ("TS", "K STRING PRIMARY KEY", "KAFKA"),
            )
        ),
        "CREATE STREAM e (id INT KEY, s STRING) WITH (kafka_topic='a', value_format='JSON', key_format='KAFKA');",
        f"CREATE STREAM f (K DECIMAL(9, 2), L STRING, S STRING) {WITH.format('JSON')};",
        f"CREATE STREAM g (K BIGINT, L STRING, S STRING) {WITH.format('JSON')};",
        "CREATE TABLE tm AS SELECT K, COUNT(*) AS V, MAX(S) AS S FROM f GROUP BY K;",
        "CREATE TABLE t2 AS SELECT K, L, COUNT(*) AS V FROM g GROUP BY K, L;",
        "CREATE TABLE win AS SELECT id, COUNT(*) AS n FROM e WINDOW TUMBLING (SIZE 1 SECOND) GROUP BY id;",
    )
)


class Planning:
    """An engine that only plans."""

    def __init__(self) -> None:
        reader = SimpleNamespace(table_reader=lambda source, plan: (source, plan))
        self.engine = cast(EngineContext, SimpleNamespace(state=EngineState(catalog()), server={}, spark=reader))
        self.lookups = PlannedLookups(self.engine)

    def learn(self, text: str, **properties: Any) -> None:
        request = Request(text, properties)
        self.lookups.learn(request, lambda text: execute.parsed(text, request, self.engine))

    def find(self, text: str, **properties: Any) -> PlannedLookup | None:
        return self.lookups.find(Request(text, properties))

    def same(self, text: str) -> bool:
        """False if a look-up has no template. Otherwise its plan must be the planner's."""
        lookup = self.find(text)
        if lookup is None:
            return False
        query, plan = planned_pull(execute.parsed(text, Request(text), self.engine), self.engine)
        assert plan is not None
        assert lookup.accesses == plan.accesses
        assert cast(object, lookup.query.reader) == (plan.source, plan.plan)
        assert lookup.query.table.source == plan.source
        assert list(lookup.query.columns.names) == [column.name for column in query.plan.schema]
        return True


def catalog() -> Catalog:
    return catalog_of(CATALOG, Facts({"a": TopicFacts(2)}))


@pytest.fixture
def planning() -> Planning:
    return Planning()


@pytest.mark.parametrize(
    ("first", "others"),
    [
        (
            "SELECT * FROM TI WHERE K = 5;",
            ["SELECT * FROM TI WHERE K = 0;", "\nSELECT * FROM TI WHERE K = 2147483647 ;\n"],
        ),
        ("SELECT V FROM TI WHERE K = -5;", ["SELECT V FROM TI WHERE K = -2147483647;"]),
        ("SELECT V FROM TI WHERE 5 = K;", ["SELECT V FROM TI WHERE 0 = K;"]),
        ("SELECT V FROM TI WHERE K IN (1, -2, 3);", ["SELECT V FROM TI WHERE K IN (3, -3, 3);"]),
        ("SELECT V FROM TI WHERE K = 1 OR K = 2 LIMIT 1;", ["SELECT V FROM TI WHERE K = 8 OR K = 8 LIMIT 1;"]),
        ("SELECT V FROM TL WHERE K = 5000000000;", ["SELECT V FROM TL WHERE K = 999999999999999999;"]),
        ("SELECT V FROM TL WHERE K = 5;", ["SELECT V FROM TL WHERE K = 6;"]),
        ("SELECT V FROM TD WHERE K = 5;", ["SELECT V FROM TD WHERE K = 0;"]),
        (
            "SELECT V FROM TS WHERE K = 'a';",
            ["SELECT V FROM TS WHERE K = 'it''s; -- /* ☃';", "SELECT V FROM TS WHERE K = '';"],
        ),
        ("SELECT V FROM T2 WHERE L = 'a' AND K = 1;", ["SELECT V FROM T2 WHERE L = '1' AND K = 0;"]),
        (
            "SELECT * FROM win WHERE id = 1 AND WINDOWSTART >= 5 AND WINDOWEND < 5000000000;",
            ["SELECT * FROM win WHERE id = 0 AND WINDOWSTART >= 0 AND WINDOWEND < 6000000000;"],
        ),
    ],
)
def test_a_shape_is_planned_once(first: str, others: list[str], planning: Planning) -> None:
    assert planning.find(first) is None
    planning.learn(first)
    assert all(map(planning.same, [first, *others]))


@pytest.mark.parametrize(
    ("first", "other"),
    [
        ("SELECT V FROM TI WHERE K = 1 LIMIT 1;", "SELECT V FROM TI WHERE K = 1 LIMIT 2;"),
        ("SELECT V FROM TI WHERE K = 2;", "SELECT V FROM TI WHERE K = 5000000000;"),
        ("SELECT V FROM TI WHERE K = -2;", "SELECT V FROM TI WHERE K = -2147483648;"),
        ("SELECT V FROM TI WHERE K = 2;", "SELECT V FROM TI WHERE K = 2.5;"),
        ("SELECT V FROM TS WHERE K = 'b';", 'SELECT V FROM TS WHERE K = "b";'),
        ("SELECT V FROM TS WHERE K = 'c';", "SELECT V FROM TS WHERE K = 'c' -- '\n;"),
        ("SELECT V FROM TS WHERE K = 'd';", "SELECT V FROM TS WHERE K = '${d}';"),
    ],
)
def test_other_shapes(first: str, other: str, planning: Planning) -> None:
    planning.learn(first)
    assert planning.same(first)
    if "${" in other:
        assert planning.lookups.find(Request(other, {}, {"D": "x"})) is None
    else:
        assert planning.find(other) is None


@pytest.mark.parametrize(
    "text",
    [
        "SELECT V + 1 AS x FROM TI WHERE K = 1;",
        "SELECT V FROM TM WHERE K = 5;",
        "SELECT V, 'a' AS x FROM TI WHERE K = 1;",
        "SELECT V FROM TI WHERE K = 1 AND V = 2;",
        "SELECT V FROM TI WHERE K = 1 AND K = 2;",
        "SELECT V FROM TI WHERE K > 1;",
        "SELECT V FROM TI WHERE V = 1;",
        "SELECT V FROM TI WHERE K = 1 EMIT CHANGES;",
        "SELECT V FROM TI WHERE K = 'a';",
        "SELECT V FROM nowhere WHERE K = 1;",
        "SELECT COUNT(*) FROM TI WHERE K = 1;",
        "SELECT * FROM win WHERE id = 1 AND WINDOWSTART > '2020-01-01';",
        "SELECT V FROM TI;",
    ],
)
def test_shapes_without_a_template(text: str, planning: Planning) -> None:
    planning.learn(text)
    assert planning.find(text) is None


@pytest.mark.parametrize(
    "text",
    [
        *("", ";", "SELECT 1", "PRINT x;", "SET 'a'='b'; SELECT V FROM TI WHERE K = 1;", "SELECT 'a;", "SELECT 'a';'"),
        *("SELECT /* ' */ V FROM TI WHERE K = 1;", "SELECT `a'b` FROM c WHERE `d'e` = 1;", "SELECT V\0 FROM T;"),
        *("SELECT V -- '\n FROM TI WHERE K = 'x';", "SELECTED V;", "SELECT " + "V, " * 1000 + "V FROM TI;"),
    ],
)
def test_statements_without_a_shape(text: str) -> None:
    assert shape_of(text) is None


def test_numbers_that_are_part_of_something_else() -> None:
    shape = shape_of("SELECT T1.a2, 1.5, .5, 1e5, 5., 12x, 2147483648, 7 FROM t LIMIT 3;")
    assert shape is not None
    assert shape.keys == (7,)


def test_a_template_is_for_its_properties_and_its_state() -> None:
    planning, text = Planning(), "SELECT V FROM TI WHERE K = 1;"
    planning.learn(text, **{"ksql.query.pull.table.scan.enabled": "false"})
    assert planning.find(text) is None
    assert planning.find(text, **{"ksql.query.pull.table.scan.enabled": "false"}) is not None
    planning.engine.state = EngineState(catalog())  # type: ignore[misc]
    assert planning.find(text, **{"ksql.query.pull.table.scan.enabled": "false"}) is None


def test_which_lookups_are_known() -> None:
    planning, engine = Planning(), object.__new__(MillstreamEngine)
    engine._context, engine._lookups = planning.engine, planning.lookups
    reader = SimpleNamespace(is_plain=True)
    planning.engine.spark.table_reader = lambda source, plan: reader  # type: ignore[method-assign,assignment,misc,return-value]
    request = Request("SELECT V FROM TI WHERE K = 5;")
    assert engine.prepared_lookup(request) is None
    planning.learn(request.text)
    lookup = engine.prepared_lookup(Request("SELECT V FROM TI WHERE K = 6;"))
    assert lookup is not None
    assert lookup.table == "TI"
    assert engine.prepared_lookup(replace(request, sequence=3)) is None
    assert engine.prepared_lookup(replace(request, missing_right=lambda statement, catalog: "no")) is None
    reader.is_plain = False
    assert engine.prepared_lookup(request) is None


def test_generated_lookups() -> None:
    """Statements of few shapes and many keys: each has its template's plan, or none."""
    planning, chance, matched = Planning(), random.Random(1), 0
    for _ in range(1000):
        text = generated(chance)
        try:
            execute.parsed(text, Request(text), planning.engine)
        except StatementError:
            continue
        matched += planning.same(text)
        planning.learn(text)
    assert matched > 50


def generated(chance: random.Random) -> str:
    numbers = ["0", "1", "-1", "7", "2147483647", "-2147483648", "2147483648", "4000000000", "1.5", "1e3", "(1 + 1)"]
    texts = ["'a'", "''", "'7'", "'it''s'", "'☃'"]

    def key(table: str) -> str:
        constant = chance.choice(texts if table == "TS" else numbers)
        several = [chance.choice(texts if table == "TS" else numbers) for _ in range(chance.randrange(1, 3))]
        return chance.choice([f"K = {constant}", f"{constant} = K", f"K IN ({', '.join(several)})"])

    table = chance.choice(["TI", "TL", "TD", "TS", "TM"])
    where = " OR ".join(key(table) for _ in range(chance.randrange(1, 3)))
    rest = chance.choice(["", "", " AND V = 1", " LIMIT 2", " AND S = 'x'"])
    return f"SELECT {chance.choice(['*', 'V', 'V AS x, K'])} FROM {table} WHERE {where}{rest};"


def test_accesses_are_lookups(planning: Planning) -> None:
    planning.learn("SELECT S FROM TS WHERE K IN ('a', 'b');")
    lookup = planning.find("SELECT S FROM TS WHERE K IN ('x', 'y');")
    assert lookup is not None
    (access,) = lookup.accesses
    assert isinstance(access, KeyLookup)
