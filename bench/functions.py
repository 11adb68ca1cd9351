"""A filter and a projection with ten function calls against one of ten columns: `python -m bench.functions`."""

import argparse
import json
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import median

from bench.backlog import PATIENCE
from bench.engines import Millstream, StatementClient
from bench.topics import KEYS, BenchTopics, appended_between, bulk_producer, new_broker, new_topics, wait_for_records

COLUMNS = "A BIGINT, B STRING, C DOUBLE, D STRING, T TIMESTAMP"
SOURCE = f"CREATE STREAM S (K STRING KEY, {COLUMNS}) WITH (kafka_topic='{{source}}', value_format='JSON');"
SINK = "CREATE STREAM O WITH (kafka_topic='{sink}') AS SELECT K, {projected} FROM S WHERE A > 0;"
CLEAR = "TERMINATE ALL; DROP STREAM O;"
CALLS = (
    "UCASE(B)",
    "SUBSTRING(B, 2, 4)",
    "REPLACE(B, 'abc', 'x')",
    "CONCAT(B, '-', B)",
    "ROUND(C, 1)",
    "ABS(A)",
    "REGEXP_EXTRACT('[0-9]+', B)",
    "EXTRACTJSONFIELD(D, '$.x.y')",
    "FORMAT_TIMESTAMP(T, 'yyyy-MM-dd HH:mm:ss')",
    "SPLIT(B, 'd')",
)
PLAIN = ("B", "B", "B", "B", "C", "A", "B", "B", "T", "D")


def projected(expressions: tuple[str, ...]) -> str:
    """The expressions as columns C0, C1 …"""
    return ", ".join(f"{e} AS C{i}" for i, e in enumerate(expressions))


WORKLOADS: Mapping[str, str] = {"ten columns": projected(PLAIN), "ten calls": projected(CALLS)}


def main() -> None:
    """Print one JSON line for each pass, and the ratio of the medians."""
    parser = argparse.ArgumentParser(prog="python -m bench.functions", description=__doc__)
    parser.add_argument("--records", type=int, default=500_000, help="the backlog (default 500,000)")
    parser.add_argument("--rounds", type=int, default=3, help="passes of each over it (default 3)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-") as folder, new_broker(Path(folder)) as broker:
        topics = new_topics(broker.bootstrap)
        fill(topics, options.records)
        with Millstream(Path(folder)).server(broker.bootstrap) as (running, execute):
            execute(SOURCE.format(source=topics.source))
            rates = {name: [measured_pass(name, topics, options.records, running.alive, execute)] for name in WORKLOADS}
            for _ in range(options.rounds):  # the first passes above warm the engine up
                for name in WORKLOADS:
                    rates[name].append(measured_pass(name, topics, options.records, running.alive, execute))
    plain, calls = (median(rates[name][1:]) for name in WORKLOADS)
    print(json.dumps({"ratio": round(calls / plain, 2)}))


def fill(topics: BenchTopics, records: int) -> None:
    """Records with a number, a text, a fraction, JSON text and a time."""
    producer = bulk_producer(topics.bootstrap)
    for i in range(records):
        value = {"A": i + 1, "B": f"abcdefgh{i}", "C": i / 8, "D": f'{{"x": {{"y": {i}}}}}', "T": 1_600_000_000_000 + i}
        producer.produce(topics.source, key=f"k{i % KEYS}", value=json.dumps(value))
        if i % 10_000 == 0:
            producer.poll(0)
    producer.flush()


def measured_pass(
    name: str, topics: BenchTopics, records: int, alive: Callable[[], bool], execute: StatementClient
) -> float:
    """Records a second of one query over the whole backlog; RuntimeError where answers are missing."""
    into = topics.with_new_sink()
    execute(SINK.format(sink=into.sink, projected=WORKLOADS[name]))
    written = wait_for_records(into, records, PATIENCE, alive)
    execute(CLEAR)
    if written < records:
        raise RuntimeError(f"{written} of {records} answers of {name}")
    rate = records / appended_between(into)
    print(json.dumps({"workload": name, "records": records, "per_second": round(rate)}), flush=True)
    return rate


if __name__ == "__main__":
    main()
