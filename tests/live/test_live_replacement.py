"""EXPLAIN CREATE OR REPLACE says what the statement then does."""

from typing import Any

import pytest

from millstream.engine.api import RequestFailed
from support.engine_process import EngineProcess
from support.kafka import BrokerClient, wait_for

pytestmark = pytest.mark.live
# Seconds; a machine may have other things to do.
PATIENCE = 300
DECLARED = "CREATE STREAM {0} (id STRING KEY, v INT) WITH (kafka_topic='{0}', format='JSON');"
COUNT = "TABLE {0}_N AS SELECT id, COUNT(*) AS n FROM {0} GROUP BY id EMIT CHANGES;"
LARGE = "TABLE {0}_N AS SELECT id, COUNT(*) AS n, COUNT(*) * 2 AS twice FROM {0} WHERE v > 4 GROUP BY id EMIT CHANGES;"
SUM = "TABLE {0}_N AS SELECT id, COUNT(*) AS n, SUM(v) AS total FROM {0} GROUP BY id EMIT CHANGES;"


@pytest.fixture
def name(server: EngineProcess, kafka: BrokerClient) -> str:
    """A stream over a topic of two partitions, with a count by key over ten rows of two keys."""
    name = kafka.create_topic(kafka.source_name("replaced"), partitions=2)
    server.execute(DECLARED.format(name) + f"CREATE {COUNT.format(name)}")
    write(kafka, name, range(5))
    wait_for(lambda: len(rows(kafka, f"{name}_N")) == 10, "the counts", PATIENCE)
    return name


def test_explain_says_what_stays_and_the_statement_keeps_it(
    server: EngineProcess, kafka: BrokerClient, name: str
) -> None:
    id = query_of(server, f"{name}_N")
    # The size of the state is known at a batch's end.
    server.execute(f"PAUSE {id}; RESUME {id};")
    write(kafka, name, range(5))
    wait_for(lambda: len(rows(kafka, f"{name}_N")) == 20, "the counts", PATIENCE)
    wait_for(lambda: explained(server, LARGE.format(name))["state"]["rows"] == 2, "the size of the state", PATIENCE)
    effect = explained(server, LARGE.format(name))
    assert (effect["source"], effect["query"], effect["inPlace"], effect["rebuilds"]) == (f"{name}_N", id, True, [])
    assert {"part": "WHERE", "before": "none", "after": "V > 4"} in effect["changes"]
    assert {"part": "columns added", "before": "none", "after": "TWICE BIGINT"} in effect["changes"]
    assert {"part": "topic", "value": f"{name}_N"} in effect["stays"]
    assert effect["state"]["held"] == "COUNT(*) by ID"
    assert effect["state"]["bytes"] > 0
    assert sum(at["position"] for at in effect["positions"]) == 20
    assert [at["lag"] for at in effect["positions"]] == [0, 0]
    # Nothing was done.
    statement = server.execute(f"DESCRIBE {name}_N;")[0]["sourceDescription"]["statement"]
    assert "TWICE" not in statement.upper()
    write(kafka, name, range(1))
    wait_for(lambda: len(rows(kafka, f"{name}_N")) == 22, "a count by the old query", PATIENCE)

    server.execute(f"CREATE OR REPLACE {LARGE.format(name)}")
    write(kafka, name, range(6))
    wait_for(lambda: len(rows(kafka, f"{name}_N")) == 24, "the counts of the new query", PATIENCE)
    assert [row["TWICE"] for row in rows(kafka, f"{name}_N") if "TWICE" in row] == [24, 24]


def test_what_needs_a_rebuild_is_refused_with_the_steps_that_work(
    server: EngineProcess, kafka: BrokerClient, name: str
) -> None:
    effect = explained(server, SUM.format(name))
    assert effect["inPlace"] is False
    assert [part["part"] for part in effect["rebuilds"]] == ["aggregates"]
    assert effect["records"] == 10
    with pytest.raises(RequestFailed, match="its aggregates cannot change"):
        server.execute(f"CREATE OR REPLACE {SUM.format(name)}")
    server.execute(f"DROP TABLE {name}_N DELETE TOPIC;")
    wait_for(lambda: f"{name}_N" not in kafka.topics(), "the topic to be deleted", PATIENCE)
    server.execute(f"CREATE {SUM.format(name)}")
    wait_for(lambda: [r["TOTAL"] for r in rows(kafka, f"{name}_N")].count(10) == 2, "the sums", PATIENCE)


JOIN = "STREAM {0}_J AS SELECT s.id AS id, s.v, t.name{1} FROM {0} s JOIN {0}_T t ON s.id = t.id{2} EMIT CHANGES;"


def test_a_join_goes_on_with_the_rows_that_it_stores(server: EngineProcess, kafka: BrokerClient) -> None:
    """Of a stream's side more columns may be selected, since the join stores none; of the table's no further ones."""
    name = kafka.create_topic(kafka.source_name("joined"))
    kafka.create_topic(f"{name}_T")
    kafka.produce(f"{name}_T", '"a"', {"name": "Ann", "town": "Oslo"})
    server.execute(
        f"CREATE STREAM {name} (id STRING KEY, v INT, w INT) WITH (kafka_topic='{name}', format='JSON');"
        f"CREATE TABLE {name}_T (id STRING PRIMARY KEY, name STRING, town STRING)"
        f"  WITH (kafka_topic='{name}_T', format='JSON'); CREATE {JOIN.format(name, '', '')}"
    )
    kafka.produce(name, '"a"', {"v": 1, "w": 10})
    wait_for(lambda: len(rows(kafka, f"{name}_J")) == 1, "a joined row", PATIENCE)
    with pytest.raises(RequestFailed, match="the columns that its join stores cannot change"):
        server.execute(f"CREATE OR REPLACE {JOIN.format(name, ', t.town', '')}")
    assert explained(server, JOIN.format(name, ", s.w", " WHERE s.v > 1"))["inPlace"]
    server.execute(f"CREATE OR REPLACE {JOIN.format(name, ', s.w', ' WHERE s.v > 1')}")
    kafka.produce(name, '"a"', {"v": 1, "w": 10})
    kafka.produce(name, '"a"', {"v": 2, "w": 20})
    wait_for(lambda: len(rows(kafka, f"{name}_J")) == 2, "a joined row", PATIENCE)
    assert rows(kafka, f"{name}_J") == [{"V": 1, "NAME": "Ann"}, {"V": 2, "NAME": "Ann", "W": 20}]


def explained(server: EngineProcess, query: str) -> dict[str, Any]:
    """The member `replacement` of EXPLAIN CREATE OR REPLACE."""
    (entity,) = server.execute(f"EXPLAIN CREATE OR REPLACE {query}")
    description: dict[str, Any] = entity["queryDescription"]
    first = description["executionPlan"].splitlines()[0]
    assert first.endswith("in place") is description["replacement"]["inPlace"]
    return dict(description["replacement"])


def query_of(server: EngineProcess, sink: str) -> str:
    (id,) = [q["id"] for q in server.execute("SHOW QUERIES;")[0]["queries"] if sink in q["sinks"]]
    return str(id)


def write(kafka: BrokerClient, topic: str, values: range) -> None:
    """A row of each of two keys for each value."""
    for v in values:
        for key in ('"a"', '"b"'):
            kafka.send(topic, key, {"v": v})
    kafka.flush()


def rows(kafka: BrokerClient, topic: str) -> list[dict[str, Any]]:
    """The values of a topic so far."""
    if topic not in kafka.topics():
        return []
    return [dict(r.json) for r in kafka.consume_all(topic, kafka.ends(topic))]  # type: ignore[call-overload]
