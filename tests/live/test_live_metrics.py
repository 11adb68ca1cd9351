"""/metrics of a real server: what it says of records, failures, lateness, lag, latency and state is so."""

import json
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from millstream.services.broker import BrokerProcess
from support.kafka import BrokerClient, wait_for
from support.patience import PATIENCE
from support.server_process import ServerProcess

pytestmark = pytest.mark.live
GOOD, BAD, LATE = 40, 3, 2
STATEMENTS = """
CREATE STREAM ticks (id STRING KEY, v INT) WITH (kafka_topic='{topic}', value_format='JSON');
CREATE STREAM big AS SELECT * FROM ticks WHERE v >= 0 EMIT CHANGES;
CREATE TABLE counted AS SELECT id, COUNT(*) AS n FROM ticks
  WINDOW TUMBLING (SIZE 10 SECONDS, GRACE PERIOD 0 SECONDS) GROUP BY id EMIT CHANGES;
SET 'processing.guarantee'='exactly_once_v2';
CREATE STREAM again AS SELECT * FROM ticks WHERE v >= 0 EMIT CHANGES;
CREATE STREAM third AS SELECT * FROM again EMIT CHANGES;
"""


# 2013-01-01, when the rows say that they were; they are written now.
THEN = 1_356_998_400_000
TIMED = """
CREATE STREAM flights (id STRING KEY, ms BIGINT, v INT)
  WITH (kafka_topic='{flights}', value_format='JSON', timestamp='ms');
CREATE STREAM others (id STRING KEY, ms BIGINT, v INT)
  WITH (kafka_topic='{flights}', value_format='JSON', timestamp='ms');
CREATE STREAM gates (id STRING KEY, v INT) WITH (kafka_topic='{gates}', value_format='JSON');
CREATE TABLE names (id STRING PRIMARY KEY, name STRING) WITH (kafka_topic='{names}', value_format='JSON');
CREATE STREAM {own}_big AS SELECT * FROM flights WHERE v >= 0 EMIT CHANGES;
CREATE TABLE {own}_counted AS SELECT id, COUNT(*) AS n FROM flights WINDOW TUMBLING (SIZE 10 SECONDS) GROUP BY id
  EMIT CHANGES;
CREATE STREAM {own}_named AS SELECT flights.id AS id, v, name FROM flights LEFT JOIN names ON flights.id = names.id
  EMIT CHANGES;
CREATE STREAM {own}_paired AS SELECT a.id AS id, a.v AS v, b.v AS w
  FROM flights a JOIN others b WITHIN 1 HOUR ON a.id = b.id EMIT CHANGES;
CREATE STREAM {own}_keyed AS SELECT * FROM flights PARTITION BY v EMIT CHANGES;
CREATE STREAM {own}_moved WITH (timestamp='ms') AS SELECT id, v, CAST({then} AS BIGINT) AS ms FROM gates EMIT CHANGES;
CREATE STREAM {own}_further AS SELECT * FROM {own}_big EMIT CHANGES;
"""


@pytest.fixture
def server(broker: BrokerProcess, kafka: BrokerClient, tmp_path: Path) -> Iterator[ServerProcess]:
    settings = {
        "ksql.service.id": kafka.unique("metrics"),
        "millstream.batch.duration": "2 seconds",
        "millstream.log.format": "json",
    }
    with ServerProcess(broker.bootstrap, tmp_path, **settings) as process:
        yield process


def start(server: ServerProcess, topic: str) -> list[str]:
    """Carry out the statements; the ids of their queries."""
    answers = server.ksql(STATEMENTS.format(topic=topic))
    return [str(answer["commandStatus"]["queryId"]) for answer in answers[1:]]


def scraped(server: ServerProcess) -> dict[str, float]:
    """The samples of queries: `name query`, or `name query bucket`."""
    families = text_string_to_metric_families(httpx.get(f"{server.url}/metrics", timeout=PATIENCE).text)
    samples = (sample for family in families for sample in family.samples)
    parts = (
        (s, [s.labels[label] for label in ("query", "le", "partition", "state") if label in s.labels]) for s in samples
    )
    return {" ".join([s.name.removeprefix("millstream_"), *values]): s.value for s, values in parts}


def test_figures_are_those_of_what_went_through(server: ServerProcess, kafka: BrokerClient) -> None:
    topic = kafka.create_topic()
    big, counted, _, third = start(server, topic)
    now = int(time.time() * 1000)
    for n in range(GOOD):
        kafka.send(topic, f"k{n % 4}", {"v": n}, now)
    for _ in range(BAD):
        kafka.send(topic, "k0", "{no json", now)
    for _ in range(LATE):
        kafka.send(topic, "k0", {"v": 1}, now - 60_000)
    kafka.flush()
    wait_for(lambda: scraped(server).get(f"query_records_written_total {big}") == GOOD + LATE, "rows", PATIENCE)
    wait_for(lambda: scraped(server).get(f"query_records_late_total {counted}") == LATE, "late rows", PATIENCE)
    wait_for(lambda: scraped(server).get(f"query_state_rows {counted}", 0) >= 4, "a batch's end", PATIENCE)
    wait_for(lambda: scraped(server).get(f"query_records_written_total {third}") == GOOD + LATE, "commits", PATIENCE)
    # The marker of the transaction that wrote them comes after them, and is not a record.
    wait_for(lambda: scraped(server).get(f"query_lag_records {third} 0") == 0, "the marker to be passed", PATIENCE)
    metrics = scraped(server)
    for query in (big, counted):
        assert metrics[f"query_records_read_total {query}"] == GOOD + BAD + LATE
        assert metrics[f"query_records_failed_total {query}"] == BAD
        assert metrics[f"query_lag_records {query} 0"] == 0
        assert metrics[f"query_state {query} RUNNING"] == 1
        assert metrics[f"query_restarts_total {query}"] == 0
        assert metrics[f"query_checkpoint_age_seconds {query}"] >= 0
    assert metrics[f"query_records_late_total {big}"] == 0
    assert metrics[f"query_state_bytes {counted}"] > 0
    assert metrics[f"query_latency_seconds_count {big}"] == GOOD + LATE
    # The late ones are a minute old when they come.
    assert (
        metrics[f"query_latency_seconds_bucket {big} 60.0"]
        <= GOOD
        < metrics[f"query_latency_seconds_bucket {big} +Inf"]
    )
    assert metrics[f"query_latency_seconds_sum {big}"] >= 60 * LATE
    assert metrics["lease_held"] == 1


def test_latency_begins_when_the_record_was_written_whatever_its_timestamp_column(
    server: ServerProcess, kafka: BrokerClient
) -> None:
    flights, gates, names = (kafka.create_topic() for _ in range(3))
    own = kafka.source_name("timed")
    text = TIMED.format(flights=flights, gates=gates, names=names, then=THEN, own=own)
    queries = [a["commandStatus"]["queryId"] for a in server.ksql(text) if "queryId" in a.get("commandStatus", {})]
    *timed, further = [str(id) for id in queries if id]
    for n in range(GOOD):
        kafka.send(flights, f"k{n}", {"ms": THEN + n, "v": n}, headers=[("trace", b"x")])
        kafka.send(gates, f"k{n}", {"v": n})
    kafka.flush()
    for query in (*timed, further):
        wait_for(
            lambda query=query: scraped(server).get(f"query_records_written_total {query}") == GOOD, query, PATIENCE
        )
    metrics = scraped(server)
    for query in timed:
        assert metrics[f"query_latency_seconds_bucket {query} 600.0"] == GOOD, query
    # Its topic has the times of 2013 and no others: that is not a latency.
    assert metrics[f"query_latency_seconds_count {further}"] == 0
    records = kafka.consume_all(f"{own}_BIG", GOOD)
    assert {(record.timestamp // 1000, record.headers) for record in records} == {(THEN // 1000, (("trace", b"x"),))}


def test_a_query_is_paused_and_its_series_go_with_it(server: ServerProcess, kafka: BrokerClient) -> None:
    topic = kafka.create_topic()
    big, counted, *_ = start(server, topic)
    kafka.send(topic, "k1", {"v": 1})
    kafka.flush()
    wait_for(lambda: scraped(server).get(f"query_records_written_total {big}") == 1, "a row", PATIENCE)
    server.ksql(f"PAUSE {big};")
    wait_for(lambda: scraped(server)[f"query_state {big} PAUSED"] == 1, "the pause", PATIENCE)
    server.ksql(f"TERMINATE {big};")
    wait_for(lambda: not any(big in name for name in scraped(server)), "the end of its series", PATIENCE)
    assert any(counted in name for name in scraped(server))


def test_the_log_is_lines_of_json_that_name_a_query(server: ServerProcess, kafka: BrokerClient) -> None:
    topic = kafka.create_topic()
    big, *_ = start(server, topic)
    kafka.send(topic, "k1", {"v": 1})
    kafka.flush()
    wait_for(lambda: scraped(server).get(f"query_records_written_total {big}") == 1, "a row", PATIENCE)
    kafka.delete_topic(topic)
    wait_for(lambda: scraped(server)[f"query_state {big} ERROR"] == 1, "the failure", PATIENCE)
    lines = server.log.read_text().splitlines()
    # What Java says before anything of ours runs is its own.
    entries = [json.loads(line) for line in lines if not line.startswith(("NOTE: ", "WARNING: "))]
    assert any(entry.get("query") == big and entry["level"] == "WARNING" for entry in entries)
