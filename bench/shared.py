"""Shared scans: many queries over one topic at a rate, each with a consumer of its own, and with one for all.

queries   INSERT INTO O SELECT K, A FROM S WHERE A % 20 = 0, … = 1, … = 19: each record is the answer of one
read      processor seconds of the server while records come, and the delay of the last answers
"""

import time
from dataclasses import dataclass
from pathlib import Path

from bench.engines import SOURCE, Millstream, StatementClient
from bench.idle import cpu_seconds
from bench.topics import BenchTopics, appends, bulk_producer, new_topics, wait_for_records

SINK = "CREATE STREAM O (K STRING KEY, A BIGINT) WITH (kafka_topic='{sink}', value_format='JSON');"
QUERY = "INSERT INTO O SELECT K, A FROM S WHERE A % {queries} = {i};"
SETTING = "millstream.scans.shared"
# Seconds of records before the measurement, in which the JVM compiles.
WARM_UP = 10
PATIENCE = 60.0


@dataclass(frozen=True, slots=True)
class SharedScan:
    """`queries` over a topic at `rate` records/s: percent of a core, and seconds from the last record to its answer."""

    shared: bool
    queries: int
    rate: int
    cpu_percent: float
    behind_s: float
    answers: int


def shared_scans(bootstrap: str, folder: Path, queries: int, rate: int, seconds: int) -> list[SharedScan]:
    """Both ways, each on a server of its own with its files in `folder`. RuntimeError if answers are missing."""
    return [
        _measured(bootstrap, Millstream(folder, settings=((SETTING, value),)), value == "true", queries, rate, seconds)
        for value in ("false", "true")
    ]


def _measured(bootstrap: str, engine: Millstream, shared: bool, queries: int, rate: int, seconds: int) -> SharedScan:
    topics = new_topics(bootstrap)
    with engine.server(bootstrap) as (running, execute):
        _start(execute, topics, queries)
        _send(topics, 0, rate, WARM_UP)
        wait_for_records(topics, WARM_UP * rate, PATIENCE, running.alive)
        before = cpu_seconds(running.process.pid)
        _send(topics, WARM_UP * rate, rate, seconds)
        ended, expected = time.time(), (WARM_UP + seconds) * rate
        percent = (cpu_seconds(running.process.pid) - before) / seconds * 100
        answers = wait_for_records(topics, expected, PATIENCE, running.alive)
        if answers < expected:
            raise RuntimeError(f"{queries} queries gave {answers} of {expected} answers")
        behind = max(0.0, appends(topics)[1] - ended)
        execute("TERMINATE ALL;")
        for statement in ("DROP STREAM O;", "DROP STREAM S;"):
            execute(statement)
    return SharedScan(shared, queries, rate, round(percent, 1), round(behind, 2), answers)


def _start(execute: StatementClient, topics: BenchTopics, queries: int) -> None:
    execute(SOURCE.format(source=topics.source) + SINK.format(sink=topics.sink))
    for i in range(queries):
        execute(QUERY.format(queries=queries, i=i))


def _send(topics: BenchTopics, first: int, rate: int, seconds: int) -> None:
    """`rate` records a second from the number `first` on, a hundredth of them each 10 ms."""
    producer, start = bulk_producer(topics.bootstrap), time.monotonic()
    for interval in range(seconds * 100):
        time.sleep(max(0.0, start + interval / 100 - time.monotonic()))
        for i in range(interval * rate // 100, (interval + 1) * rate // 100):
            number = first + i
            producer.produce(topics.source, key=f"k{number % 1000}", value=f'{{"A":{number},"B":"abcdefgh{number}"}}')
        producer.poll(0)
    producer.flush()
