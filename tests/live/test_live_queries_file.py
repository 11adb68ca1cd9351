"""A server that runs the statements of a file: what each start does after the file has changed."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from millstream.cli.client import RestClient
from millstream.cli.export import exported
from millstream.engine.api import RequestFailed
from support.engine_process import EngineProcess
from support.kafka import BrokerClient, wait_for

Begin = Callable[..., EngineProcess]

pytestmark = pytest.mark.live
ORDERS = """
DEFINE topic = '{0}-orders';
-- What comes in.
CREATE STREAM orders (id STRING KEY, item STRING, n INT)
  WITH (kafka_topic='${{topic}}', partitions=1, value_format='JSON');
"""
POSITIVE = "CREATE VIEW positive AS SELECT id, n FROM orders WHERE n > {0};"
LARGE = "CREATE STREAM large WITH (kafka_topic='{0}-large') AS SELECT id, n FROM positive WHERE n > {1} EMIT CHANGES;"
PER_ITEM = """
CREATE TYPE total AS STRUCT<n BIGINT>;
CREATE TABLE per_item WITH (kafka_topic='{0}-items') AS
  SELECT item, COUNT(*) AS orders, CAST(STRUCT(n := SUM(n)) AS total) AS s FROM orders GROUP BY item EMIT CHANGES;
CREATE INDEX by_orders ON per_item (orders);
CREATE VIEW busy AS SELECT item FROM per_item WHERE orders > 2;
"""
COPY = """
CREATE STREAM copies (id STRING KEY, n INT) WITH (kafka_topic='{0}-copies', partitions=1, value_format='JSON');
INSERT INTO copies SELECT id, n FROM orders WHERE n > {1};
"""
EXPORTED = [
    *(("CREATE", name) for name in ("TOTAL", "copies", "orders", "positive", "per_item", "busy", "large")),
    ("INSERT", "copies"),
    ("CREATE", "by_orders"),
]


def test_a_file(begin: Begin, kafka: BrokerClient, tmp_path: Path) -> None:
    name, file = kafka.unique("file"), tmp_path / "shop.sql"

    def write(*parts: str) -> None:
        file.write_text("".join(parts), encoding="utf-8")

    sources = (ORDERS.format(name), POSITIVE.format(0))
    write(*sources, LARGE.format(name, 5), PER_ITEM.format(name), COPY.format(name, 0))
    engine = begin(**{"ksql.queries.file": str(file)})
    assert engine.carry_out_file() == "statements of the file: 9 executed, 0 already in effect"
    # What the server exports is this file again, each after what it reads, and the INSERT at the end.
    written = "\n\n".join(exported(RestClient(engine.rest())))
    assert re.findall(r"^(CREATE|INSERT) \w+ (\w+)", written, re.MULTILINE) == EXPORTED
    write(written)
    assert engine.carry_out_file() == "statements of the file: 0 executed, 9 already in effect"
    order(engine, "('a', 'tea', 7)")
    wait_for(lambda: rows(kafka, f"{name}-copies") == ["a"], "the rows of copies")

    # Comments and spelling are not a change; another condition is, and OR REPLACE is added to the statement.
    changed = LARGE.format(name, 8).lower().replace("as select", "as /* more */ select")
    write(*sources, changed, PER_ITEM.format(name), COPY.format(name, 0))
    assert engine.carry_out_file() == "statements of the file: 1 executed, 8 already in effect"
    order(engine, "('b', 'tea', 7)", "('c', 'tea', 9)")
    wait_for(lambda: rows(kafka, f"{name}-large") == ["a", "c"], "the rows of large")

    # A view that changes is replaced, and so is the query that reads it.
    sources = (ORDERS.format(name), POSITIVE.format(10))
    write(*sources, changed, PER_ITEM.format(name), COPY.format(name, 0))
    assert engine.carry_out_file() == "statements of the file: 2 executed, 7 already in effect"
    order(engine, "('not', 'tea', 10)")

    # A terminated query is started again; its source was left.
    engine.execute(f"TERMINATE {query_of(engine, 'PER_ITEM')};")
    assert engine.carry_out_file() == "statements of the file: 1 executed, 8 already in effect"

    write(*sources, changed, COPY.format(name, 3))
    left_out = r"has sources or queries that are not in the file: INSERTQUERY_\d+, BUSY, PER_ITEM\n  hint: --set"
    with pytest.raises(RequestFailed, match=left_out):
        engine.carry_out_file()
    assert query_of(engine, "PER_ITEM")
    for text in ("DROP STREAM large;", "CREATE STREAM x AS SELECT * FROM orders;", "CREATE TYPE t AS INT;"):
        with pytest.raises(RequestFailed, match=r"this server runs the statements of shop\.sql") as refused:
            engine.execute(text)
        assert refused.value.code == 40300

    engine.close()
    engine = begin(**{"ksql.queries.file": str(file), "millstream.queries.file.others": "drop"})
    outcome = engine.carry_out_file()
    assert outcome.startswith("statements of the file: 1 executed, 4 already in effect; dropped: INSERTQUERY_")
    assert outcome.endswith(", BUSY, PER_ITEM")
    order(engine, "('d', 'tea', 2)", "('e', 'tea', 12)")
    # The changed INSERT INTO is another query, which reads from the earliest record.
    wait_for(lambda: rows(kafka, f"{name}-copies") == [*"abc", "not", *"abc", "not", "e"], "the rows of copies")
    # The query of `large` has continued: no row is repeated.
    wait_for(lambda: rows(kafka, f"{name}-large") == ["a", "c", "e"], "the rows of large")


@pytest.fixture(scope="module")
def checked(begin: Begin, tmp_path_factory: pytest.TempPathFactory) -> tuple[EngineProcess, Path]:
    file = tmp_path_factory.mktemp("files") / "wrong.sql"
    return begin("checked", **{"ksql.queries.file": str(file), "ksql.service.id": "checked_"}), file


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "the file cannot be read: .*No such file"),
        ("-- nothing yet\n", "the file has no statement that defines anything"),
        ("SET 'auto.offset.reset'='earliest';", "the file has no statement that defines anything"),
        ("CREATE TYPE t AS INT;\nDROP TYPE t;", "line 2:1: this statement cannot be in the file of a server"),
        ("CREATE TYPE t AS INT;\nSELECT * FROM t;", "line 2:1: this statement cannot be in the file of a server"),
        ("CREATE TYPE t AS INT;\nCREATE STREAM", "line 2:14: unexpected end"),
        (
            "CREATE STREAM s (a INT) WITH (kafka_topic='s', value_format='JSON');\nCREATE STREAM s AS SELECT * FROM t;",
            "line 2:1: the file creates S twice",
        ),
    ],
)
def test_files_that_change_nothing(checked: tuple[EngineProcess, Path], text: str | None, message: str) -> None:
    engine, file = checked
    file.unlink(missing_ok=True)
    if text is not None:
        file.write_text(text, encoding="utf-8")
    with pytest.raises(RequestFailed, match=message):
        engine.carry_out_file()
    assert engine.execute("SHOW TYPES;")[0]["types"] == {}


def order(engine: EngineProcess, *rows: str) -> None:
    engine.execute("".join(f"INSERT INTO orders (id, item, n) VALUES {row};" for row in rows))


def rows(kafka: BrokerClient, topic: str) -> list[str]:
    """The keys of a topic's records, in order."""
    return [(record.key or b"").decode() for record in kafka.committed(topic)]


def query_of(engine: EngineProcess, sink: str) -> str:
    """The id of the query that writes a source; "" if there is none."""
    queries = engine.execute("SHOW QUERIES;")[0]["queries"]
    return next((query["id"] for query in queries if sink in query["sinks"]), "")
