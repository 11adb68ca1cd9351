"""The cost of many idle queries, and the time in which each then writes the output of a record."""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from confluent_kafka import Consumer, Producer, TopicPartition

from bench.engines import Millstream
from bench.topics import create, reader

TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")
SETTLE = 60.0
SOURCE = (
    "CREATE STREAM S{i} (K STRING KEY, A BIGINT, B STRING) WITH (kafka_topic='{name}-in-{i}', value_format='JSON');"
)
SINK = "WITH (kafka_topic='{name}-out-{i}') AS SELECT"
STATELESS = ("CREATE STREAM O{i} " + SINK + " K, A*2 AS A2, UCASE(B) AS B FROM S{i} WHERE A > 0;",)
# Each answers one record with a record at least.
STATEFUL = (
    "CREATE TABLE O{i} " + SINK + " K, COUNT(*) AS N, SUM(A) AS T FROM S{i} GROUP BY K;",
    "CREATE TABLE O{i} " + SINK + " K, COUNT(*) AS N FROM S{i} WINDOW TUMBLING (SIZE 1 HOUR) GROUP BY K;",
    SOURCE.replace("STREAM S", "STREAM R")
    + "CREATE STREAM O{i} "
    + SINK
    + " L.K, L.A, R.B FROM S{i} L JOIN R{i} R WITHIN 1 HOUR ON L.K = R.K;",
    "CREATE TABLE O{i} " + SINK + " K, COUNT(*) AS N FROM S{i} WINDOW SESSION (1 HOUR) GROUP BY K;",
)
# What the queries are, in turn.
KINDS = {
    "stateless": STATELESS,
    "stateful": STATEFUL,
    "mixed": tuple(kind for stateful in STATEFUL for kind in (*STATELESS, stateful)),
}


@dataclass(frozen=True, slots=True)
class Idle:
    """What `queries` idle queries cost: percent of one core, resident MB, and milliseconds to answer a record."""

    queries: int
    cpu_percent: float
    resident_mb: int
    answer_median_ms: float
    answer_worst_ms: float


@dataclass(frozen=True, slots=True)
class ManyQueries:
    """`count` queries, of a kind of KINDS: each reads a topic of its own, `<name>-in-0`, and writes `<name>-out-0`."""

    bootstrap: str
    name: str
    count: int
    kind: str = "mixed"

    def start(self, execute: Callable[[str], object]) -> None:
        """Create the topics and the queries, and wait until each has answered a record."""
        names = [f"{self.name}-{direction}-{i}" for i in range(self.count) for direction in ("in", "out")]
        create(self.bootstrap, names, partitions=1)
        kinds = KINDS[self.kind]
        for i in range(self.count):
            execute((SOURCE + kinds[i % len(kinds)]).format(i=i, name=self.name))
        self.answers(patience=600)

    def send(self, producer: Producer, query: int) -> None:
        """A record for one of them, which has an answer."""
        producer.produce(f"{self.name}-in-{query}", key="k", value='{"A":1,"B":"x"}')

    def reader(self) -> Consumer:
        """A consumer for their answers, which gets each as soon as it is written."""
        return reader(self.bootstrap, **{"fetch.wait.max.ms": 10, "fetch.min.bytes": 1})

    def end(self, consumer: Consumer, query: int) -> TopicPartition:
        """The offset after the last answer of one of them."""
        sink = TopicPartition(f"{self.name}-out-{query}", 0)
        sink.offset = consumer.get_watermark_offsets(sink)[1]
        return sink

    def answers(self, patience: float) -> list[float]:
        """One record to each query in turn; the milliseconds until each answered.

        RuntimeError where one does not answer within `patience` seconds.
        """
        producer, consumer = Producer({"bootstrap.servers": self.bootstrap, "linger.ms": 0}), self.reader()
        try:
            return [self._answer(producer, consumer, i, patience) for i in range(self.count)]
        finally:
            consumer.close()

    def _answer(self, producer: Producer, consumer: Consumer, query: int, patience: float) -> float:
        consumer.assign([self.end(consumer, query)])
        consumer.poll(0.3)  # past the fetch that still waits for the last query's topic
        begun = time.time()
        self.send(producer, query)
        producer.flush()
        message = consumer.poll(patience)
        if message is None or message.error():
            raise RuntimeError(f"query {query} did not answer in {patience} s")
        return round((time.time() - begun) * 1000, 1)


def idle(bootstrap: str, engine: Millstream, queries: int, seconds: int, kind: str = "stateless") -> Idle:
    """Start the queries, of a kind of KINDS, let them settle, and measure.

    RuntimeError when one does not answer.
    """
    many = ManyQueries(bootstrap, "idle", queries, kind)
    with engine.server(bootstrap) as (running, execute):
        many.start(execute)
        time.sleep(SETTLE)
        before = cpu_seconds(running.process.pid)
        time.sleep(seconds)
        percent = (cpu_seconds(running.process.pid) - before) / seconds * 100
        resident = sum(_resident(number) for number in family(running.process.pid))
        latencies = sorted(many.answers(patience=10))
        execute("TERMINATE ALL;")
    return Idle(queries, round(percent, 1), resident >> 20, latencies[len(latencies) // 2], latencies[-1])


def family(process: int) -> list[int]:
    """A process and all that descend from it."""
    parents = {int(path.name): _stat(path)[1] for path in Path("/proc").iterdir() if path.name.isdigit()}
    members = [process]
    for member in members:
        members += [number for number, parent in parents.items() if parent == str(member)]
    return members


def cpu_seconds(process: int) -> float:
    """The processor time of a process and of all that descend from it."""
    stats = [_stat(Path(f"/proc/{number}")) for number in family(process)]
    return sum(int(stat[11]) + int(stat[12]) for stat in stats) / TICKS_PER_SECOND


def _resident(process: int) -> int:
    return int(_stat(Path(f"/proc/{process}"))[21]) * PAGE


def _stat(folder: Path) -> list[str]:
    """The fields of /proc/N/stat after the name: state, parent, …; zeros for a process that has ended."""
    try:
        return (folder / "stat").read_text().rpartition(")")[2].split()
    except FileNotFoundError:
        return ["0"] * 50
