"""Queries that begin at a time, at given offsets or where a consumer group stopped (docs/language.md)."""

import pytest

from millstream.engine.api import RequestFailed
from support.engine_process import EngineProcess
from support.kafka import BrokerClient
from support.sources import declare

pytestmark = pytest.mark.live
COLUMNS, FORMATS = "id STRING KEY, v INT", "value_format='JSON'"
BEGIN = 1_793_491_200_000  # 2026-11-01T00:00:00Z


@pytest.fixture
def numbered(server: EngineProcess, kafka: BrokerClient) -> tuple[str, str]:
    """A stream of two partitions, and its topic: partition 0 has the even numbers up to 19, a second apart."""
    name, topic = declare(server.execute, kafka, COLUMNS, 2, formats=FORMATS)
    for v in range(20):
        kafka.produce(topic, "x", {"V": v}, BEGIN + v * 1000, partition=v % 2)
    return name, topic


@pytest.mark.parametrize(
    ("start", "expected"),
    [
        ("timestamp:2026-11-01T00:00:15Z", [15, 16, 17, 18, 19, 20]),
        ("offsets:0=8,1=10", [16, 18, 20]),
    ],
)
def test_a_persistent_query(
    server: EngineProcess, kafka: BrokerClient, numbered: tuple[str, str], start: str, expected: list[int]
) -> None:
    name, topic = numbered
    server.execute(f"CREATE STREAM {name}_O AS SELECT * FROM {name};", **{"millstream.start": start})
    kafka.produce(topic, "x", {"V": 20}, BEGIN, partition=0)
    assert sorted(r.json["V"] for r in kafka.consume_all(f"{name}_O", len(expected))) == expected


def test_a_query_goes_on_where_another_systems_group_stopped(
    server: EngineProcess, kafka: BrokerClient, numbered: tuple[str, str]
) -> None:
    """No record is missing and none is read twice, also after the query was stopped; a joined table is read whole."""
    name, topic = numbered
    columns = "k STRING PRIMARY KEY, label STRING"
    table, rows = declare(server.execute, kafka, columns, 2, "TABLE", FORMATS)
    kafka.produce(rows, "x", {"LABEL": "an x"})
    group = f"_confluent-ksql-shop_query_CSAS_{name}_7"
    kafka.commit(group, topic, {0: 4, 1: 9})
    join = f"CREATE STREAM {name}_O AS SELECT id, v, label FROM {name} JOIN {table} ON id = k;"
    (answer,) = server.execute(join, **{"millstream.start": f"group:{group}"})
    expected = [8, 10, 12, 14, 16, 18, 19]
    assert sorted(r.json["V"] for r in kafka.consume_all(f"{name}_O", 7)) == expected
    id = answer["commandStatus"]["queryId"]
    server.execute(f"PAUSE {id};")
    kafka.produce(topic, "x", {"V": 20}, BEGIN, partition=0)
    server.execute(f"RESUME {id};")
    read = [r.json for r in kafka.consume_all(f"{name}_O", 8)]
    assert sorted(row["V"] for row in read) == [*expected, 20]
    assert {row["LABEL"] for row in read} == {"an x"}


def test_a_query_that_is_replaced_goes_on_though_the_group_is_gone(
    server: EngineProcess, kafka: BrokerClient, numbered: tuple[str, str]
) -> None:
    """As by a file of statements that is executed again, with a changed query."""
    name, topic = numbered
    kafka.commit("gone", topic, {0: 9, 1: 10})
    set_start = "SET 'millstream.start' = 'group:gone';"
    server.execute(f"{set_start} CREATE STREAM {name}_O AS SELECT id, v FROM {name};")
    kafka.consume_all(f"{name}_O", 1)
    kafka.admin.delete_consumer_groups(["gone"])["gone"].result()
    server.execute(f"{set_start} CREATE OR REPLACE STREAM {name}_O AS SELECT id, v, v + 1 AS w FROM {name};")
    kafka.produce(topic, "x", {"V": 20}, BEGIN, partition=0)
    assert [r.json for r in kafka.consume_all(f"{name}_O", 2)] == [{"V": 18}, {"V": 20, "W": 21}]


def test_a_group_without_positions_is_refused_before_anything_is_created(
    server: EngineProcess, kafka: BrokerClient, numbered: tuple[str, str]
) -> None:
    name, topic = numbered
    with pytest.raises(RequestFailed, match=f"consumer group nobody has committed no offsets of topic {topic}"):
        server.execute(f"CREATE STREAM {name}_O AS SELECT * FROM {name};", **{"millstream.start": "group:nobody"})
    assert f"{name}_O" not in kafka.topics()


def test_push_queries_and_print(server: EngineProcess, kafka: BrokerClient, numbered: tuple[str, str]) -> None:
    """Without state, with state in the server, and PRINT."""
    name, topic = numbered
    since = {"millstream.start": "timestamp:2026-11-01T00:00:17Z"}
    rows = server.rows(f"SELECT v FROM {name} EMIT CHANGES LIMIT 3;", 3, **since)
    assert sorted(rows) == [[17], [18], [19]]
    total = server.rows(f"SELECT id, SUM(v) AS total FROM {name} GROUP BY id EMIT CHANGES LIMIT 3;", 3, **since)
    assert total[-1] == ["x", 17 + 18 + 19]
    printed = server.lines(f"SET 'millstream.start' = 'offsets:0=9,1=10'; PRINT '{topic}' LIMIT 1;")[-1]
    assert '{"V": 18}' in printed
    hour = {"auto.offset.reset": "by_duration:PT1H"}
    kafka.produce(topic, "x", {"V": 21})
    assert server.rows(f"SELECT v FROM {name} EMIT CHANGES LIMIT 1;", 1, **hour) == [[21]]


def test_where_says_from_which_time_on_a_stream_is_read(server: EngineProcess, kafka: BrokerClient) -> None:
    """Times go back and forth; a time in a column is not one by which Kafka finds records."""
    name, topic = declare(server.execute, kafka, "id STRING KEY, v INT, since BIGINT", 2, formats=FORMATS)
    columns = (
        f"id STRING KEY, v INT, since BIGINT) WITH (kafka_topic='{topic}', value_format='JSON', timestamp='since')"
    )
    server.execute(f"CREATE STREAM {name}_AT ({columns};")
    for v, time in enumerate([5000, 1000, 9000, 3000, 7000, 2000]):
        kafka.produce(topic, "x", {"V": v, "SINCE": 10_000 - time}, time, partition=v % 2)
    for where, expected in {
        "ROWTIME >= 5000": [0, 2, 4],
        "ROWTIME > 5000 AND ROWTIME < 9000": [4],
        "ROWTIME = 3000": [3],
        "ROWTIME > 9000": [],
    }.items():
        assert sorted(server.rows(f"SELECT v FROM {name} WHERE {where};", 3)) == [[v] for v in expected], where
    assert sorted(server.rows(f"SELECT v FROM {name}_AT WHERE ROWTIME >= 8000;", 3)) == [[1], [5]]
    pushed = f"SELECT v FROM {name} WHERE ROWTIME >= 5000 EMIT CHANGES LIMIT 3;"
    assert sorted(server.rows(pushed, 3)) == [[0], [2], [4]]
    total = f"SELECT id, SUM(v) AS total FROM {name} WHERE ROWTIME >= 5000 GROUP BY id EMIT CHANGES LIMIT 3;"
    assert server.rows(total, 3)[-1] == ["x", 6]
