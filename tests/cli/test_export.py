"""`millstream export` of a server that answers as ksqlDB does."""

from collections.abc import Mapping
from typing import Any

from millstream.cli.client import ServerRefused
from millstream.cli.export import LISTINGS, exported

INT = {"type": "INTEGER", "fields": None, "memberSchema": None}
ORDERS = "CREATE STREAM ORDERS (ID STRING KEY, N INTEGER) WITH (KAFKA_TOPIC='orders', VALUE_FORMAT='JSON');"
LATER = "CREATE TABLE A_LATER AS SELECT * FROM Z_FIRST EMIT CHANGES;"
FIRST = "CREATE TABLE Z_FIRST AS SELECT ID, COUNT(*) N FROM ORDERS GROUP BY ID EMIT CHANGES;"
MORE = "INSERT INTO MORE SELECT * FROM ORDERS EMIT CHANGES;"
# Query id → sources, sink, statement and settings.
QUERIES: Mapping[str, tuple[str, str, str, dict[str, Any]]] = {
    "CTAS_A_LATER_9": ("Z_FIRST", "A_LATER", LATER, {"ksql.streams.auto.offset.reset": "earliest"}),
    "CTAS_Z_FIRST_5": (
        "ORDERS",
        "Z_FIRST",
        FIRST,
        {"auto.offset.reset": "earliest", "ksql.streams.num.stream.threads": 2, "no.such.setting": "x"},
    ),
    "INSERTQUERY_7": ("ORDERS", "MORE", MORE, {"millstream.savepoint": "monday"}),
}


class KsqlDb:
    """Answers the statements of an export; it has these views, None if it knows none."""

    def __init__(
        self,
        views: list[dict[str, Any]] | None = None,
        read: Mapping[str, list[dict[str, str]]] = {},
        queries: Mapping[str, tuple[str, str, str, dict[str, Any]]] = QUERIES,
    ) -> None:
        self.views, self.read, self.queries = views, read, queries

    def execute(self, text: str, context: object, patience: float | None = None) -> list[dict[str, Any]]:
        if text == "SHOW VIEWS;":
            if self.views is None:
                raise ServerRefused({"error_code": 40001, "message": "line 1:6: mismatched input 'VIEWS'"})
            return [{"views": self.views}]
        if text == "SHOW PROPERTIES;":
            return [{"properties": [{"name": "ksql.service.id", "value": "shop_"}]}]
        if text == LISTINGS:
            return [
                {"functions": [{"name": "UCASE", "type": "SCALAR", "category": "STRING"}]},
                {"types": {"PLACE": {"type": "STRUCT", "fields": [{"name": "my x", "schema": INT}]}}},
                {"sourceDescriptions": [_source("ORDERS", ORDERS), _source("MORE", ORDERS.replace("ORDERS", "MORE"))]},
                {"sourceDescriptions": [_source("A_LATER", LATER), _source("Z_FIRST", FIRST)]},
                {"queries": [{"id": id, "queryType": "PERSISTENT"} for id in self.queries] + [{"queryType": "PUSH"}]},
            ]
        source, sink, statement, settings = self.queries[text.removeprefix("EXPLAIN ").removesuffix(";")]
        body = {"sources": [source], "sinks": [sink], "statementText": statement, "overriddenProperties": settings}
        group = "the group of INSERTQUERY_7" if statement == MORE else ""
        return [{"queryDescription": {**body, "views": self.read.get(sink, []), "consumerGroupId": group}}]


def _source(name: str, statement: str) -> dict[str, str]:
    return {"name": name, "statement": statement}


def test_views_are_exported_after_what_they_read_and_before_what_reads_them() -> None:
    first, later = "CREATE VIEW Y AS SELECT * FROM Z_FIRST;", "CREATE VIEW B AS SELECT * FROM Y WHERE N > 2;"
    former = {"name": "B", "statement": "CREATE VIEW B AS SELECT * FROM Y WHERE N > 1;"}
    server = KsqlDb(
        [
            {"name": "B", "sources": ["Z_FIRST"], "views": ["Y"], "statement": later},
            {"name": "Y", "sources": ["Z_FIRST"], "views": [], "statement": first},
        ],
        {"A_LATER": [former, {"name": "Y", "statement": first}]},
    )
    statements = [text for text in exported(server) if not text.startswith(("SET", "UNSET", "-- CTAS_Z"))]
    assert statements[3:-2] == [
        FIRST,
        first,
        later,
        f"-- CTAS_A_LATER_9 was created when this view was\n-- {former['statement']}",
        LATER,
    ]


def test_an_export() -> None:
    assert list(exported(KsqlDb())) == [
        "CREATE TYPE PLACE AS STRUCT<`my x` INTEGER>;",
        ORDERS.replace("ORDERS", "MORE"),
        ORDERS,
        "-- CTAS_Z_FIRST_5 has a setting that millstream does not take: no.such.setting=x (Not recognizable as ksql, "
        "streams, consumer, or producer property: 'no.such.setting')",
        "SET 'auto.offset.reset' = 'earliest';\nSET 'num.stream.threads' = '2';",
        FIRST,
        "UNSET 'num.stream.threads';",
        LATER,
        "-- INSERTQUERY_7 began with the savepoint monday",
        "UNSET 'auto.offset.reset';",
        MORE,
    ]


def test_a_switch_over_builds_tables_anew_and_goes_on_with_streams() -> None:
    """The group is the one that EXPLAIN names, else that of ksqlDB's names."""
    placed = "CREATE STREAM PLACED AS SELECT * FROM ORDERS EMIT CHANGES;"
    queries = {**QUERIES, "CSAS_PLACED_3": ("ORDERS", "PLACED", placed, {"auto.offset.reset": "earliest"})}
    statements = list(exported(KsqlDb(queries=queries), switch_over=True))
    assert statements[3:] == [
        "-- CTAS_Z_FIRST_5 has a setting that millstream does not take: no.such.setting=x (Not recognizable as ksql, "
        "streams, consumer, or producer property: 'no.such.setting')",
        "SET 'num.stream.threads' = '2';\nSET 'auto.offset.reset' = 'earliest';",
        FIRST,
        "UNSET 'num.stream.threads';\nSET 'millstream.start' = 'group:_confluent-ksql-shop_query_CSAS_PLACED_3';",
        placed,
        "UNSET 'millstream.start';",
        LATER,
        "-- INSERTQUERY_7 began with the savepoint monday",
        "UNSET 'auto.offset.reset';\nSET 'millstream.start' = 'group:the group of INSERTQUERY_7';",
        MORE,
    ]
