"""Pull queries over whole tables, through an index, and over what was just produced: `python -m bench.scans`."""

import argparse
import json
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import httpx
from confluent_kafka import Producer

from bench.engines import Millstream, StatementClient
from bench.lookups import MeasuredServer
from bench.lookups import fill as fill_large
from bench.topics import bulk_producer, create, new_broker

LARGE = (
    "CREATE SOURCE TABLE T (K STRING PRIMARY KEY, A BIGINT, B STRING, C DOUBLE) "
    "WITH (kafka_topic='lookups', value_format='JSON');"
)
JOINED = (
    "CREATE SOURCE TABLE L (K STRING PRIMARY KEY, R STRING, A BIGINT) WITH (kafka_topic='left', value_format='JSON');"
    "CREATE SOURCE TABLE R (K STRING PRIMARY KEY, G STRING) WITH (kafka_topic='right', value_format='JSON');"
)
INDEX = "CREATE INDEX BY_A ON T (A);"
QUERIES: Mapping[str, str] = {
    "filter": "SELECT K, A FROM T WHERE A % 1000 = 7;",
    "filter, sorted": "SELECT K, A FROM T WHERE C > 1000 AND B LIKE '%77' ORDER BY A DESC LIMIT 100;",
    "group": "SELECT A % 100 AS G, COUNT(*) AS N, MAX(C) AS M FROM T GROUP BY A % 100;",
    "join": "SELECT R.G AS G, COUNT(*) AS N, SUM(L.A) AS S FROM L JOIN R ON L.R = R.K GROUP BY R.G;",
}
INDEXED: Mapping[str, str] = {
    "by value": "SELECT * FROM T WHERE A = 4711;",
    "by range": "SELECT * FROM T WHERE A >= 4711 AND A < 4811;",
}
GROUPS, PATIENCE = 100, 900.0


@dataclass(frozen=True, slots=True)
class QueryTimes:
    """The seconds of one query, run by run, and the number of its rows: `first` is the first run, the others follow.

    `cpu` is the processor time of a later run in the server and Spark's JVM, in seconds, on average.
    """

    query: str
    rows: int
    first: float
    later: tuple[float, ...]
    cpu: float


@dataclass(frozen=True, slots=True)
class Freshness:
    """Milliseconds from the call that produces a record to the answer of a pull query that has it."""

    records: int
    p50: float
    p95: float
    worst: float


class TimedClient:
    """One connection to a server, over which queries are timed."""

    def __init__(self, server: MeasuredServer) -> None:
        self._client, self._server = httpx.Client(base_url=server.url, timeout=PATIENCE), server

    def lines(self, sql: str) -> list[str]:
        """The lines of an answer: a header, then the rows. Raises RuntimeError if it is an error."""
        answer = self._client.post(
            "/query-stream", json={"sql": sql}, headers={"Accept": "application/vnd.ksqlapi.delimited.v1"}
        )
        if not answer.is_success:
            raise RuntimeError(f"{sql}: {answer.text}")
        return answer.text.splitlines()

    def timed(self, name: str, sql: str, runs: int) -> QueryTimes:
        """Run a query so many times."""
        times, rows, cpu = list[float](), 0, 0.0
        for run in range(runs):
            if run == 1:
                cpu = sum(self._server.cpu())
            begin = time.perf_counter()
            rows = len(self.lines(sql)) - 1
            times.append(round(time.perf_counter() - begin, 3))
        cpu = (sum(self._server.cpu()) - cpu) / (runs - 1)
        return QueryTimes(name, rows, times[0], tuple(times[1:]), round(cpu, 3))

    def wait(self, sql: str) -> None:
        """Wait until the tables of a query are read."""
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                self.lines(sql)
                return
            except RuntimeError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(1)


def fill_joined(bootstrap: str, rows: int) -> None:
    """Put rows into the two topics of the join; each row of one side is joined with one of the other."""
    create(bootstrap, ["left", "right"])
    producer = bulk_producer(bootstrap)
    for i in range(rows):
        producer.produce("left", key=f"l{i}", value=f'{{"R":"r{i * 7 % rows}","A":{i}}}')
        producer.produce("right", key=f"r{i}", value=f'{{"G":"g{i % GROUPS}"}}')
        if i % 10_000 == 0:
            producer.poll(0)
    producer.flush()


def fresh(bootstrap: str, client: TimedClient, records: int) -> Freshness:
    """Produce records one by one, and query each until the answer has it."""
    producer, times = Producer({"bootstrap.servers": bootstrap, "linger.ms": 0}), list[float]()
    for i in range(records):
        mark = f"fresh{i}"
        begin = time.perf_counter()
        producer.produce("lookups", key="k1", value=f'{{"A":1,"B":"{mark}","C":0.5}}')
        producer.flush()
        while mark not in client.lines("SELECT B FROM T WHERE K = 'k1';")[-1]:
            pass
        times.append((time.perf_counter() - begin) * 1000)
    times.sort()
    p50, p95 = (round(times[int(records * share)], 1) for share in (0.5, 0.95))
    return Freshness(records, p50, p95, round(times[-1], 1))


def built(execute: StatementClient) -> float:
    """Create the index; returns the seconds until it is used."""
    begin = time.perf_counter()
    execute(INDEX)
    while not _ready(execute):
        time.sleep(0.2)
    return round(time.perf_counter() - begin, 1)


def _ready(execute: StatementClient) -> bool:
    answer = execute("SHOW INDEXES;")
    assert isinstance(answer, list)
    return all(index["ready"] for index in answer[0]["indexes"])


def measured(bootstrap: str, server: MeasuredServer, runs: int, records: int) -> Iterator[Mapping[str, object]]:
    """The results of all measures, as they are ready."""
    client, execute = TimedClient(server), StatementClient(server.url)
    execute(LARGE + JOINED)
    for sql in ("SELECT * FROM T WHERE K = 'k0';", "SELECT * FROM L WHERE K = '';", "SELECT * FROM R WHERE K = '';"):
        client.wait(sql)
    for name, sql in QUERIES.items():
        yield asdict(client.timed(name, sql, runs))
    yield {"index built after seconds": built(execute)}
    for name, sql in INDEXED.items():
        yield asdict(client.timed(name, sql, runs))
    yield asdict(fresh(bootstrap, client, records))


def main() -> None:
    """Print one JSON line for each measure."""
    parser = argparse.ArgumentParser(prog="python -m bench.scans", description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000, help="of the table that is scanned (default 1,000,000)")
    parser.add_argument("--joined", type=int, default=100_000, help="rows of each side of the join (default 100,000)")
    parser.add_argument("--runs", type=int, default=6, help="of each query, at least 2 (default 6)")
    parser.add_argument("--records", type=int, default=200, help="that are produced and read at once (default 200)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-") as folder, new_broker(Path(folder)) as broker:
        fill_large(broker.bootstrap, options.rows)
        fill_joined(broker.bootstrap, options.joined)
        with Millstream(Path(folder)).server(broker.bootstrap) as (running, execute):
            server = MeasuredServer("this", execute.url, running.process.pid)
            for result in measured(broker.bootstrap, server, options.runs, options.records):
                print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
