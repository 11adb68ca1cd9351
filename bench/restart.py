"""Benchmark of restarts: the time from a server's start until each of its queries writes output again."""

import time
from dataclasses import dataclass

from confluent_kafka import Consumer, Producer

from bench.engines import Millstream
from bench.idle import ManyQueries, cpu_seconds


@dataclass(frozen=True, slots=True)
class Restart:
    """Seconds from the server's start until it answers requests, and until half and all of `queries` have written.

    `cpu`: the processor seconds that the server took for it.
    """

    queries: int
    serves: float
    half: float
    all: float
    cpu: float


def restart(bootstrap: str, engine: Millstream, queries: int) -> Restart:
    """Create `queries` queries, half of them stateful, stop the server, write an input record for each, and restart it.

    Raises RuntimeError if a query does not write within ten minutes.
    """
    many = ManyQueries(bootstrap, "restart", queries)
    with engine.server(bootstrap) as (_, execute):
        many.start(execute)
    consumer = many.reader()
    consumer.assign([many.end(consumer, i) for i in range(queries)])
    producer = Producer({"bootstrap.servers": bootstrap})
    for i in range(queries):
        many.send(producer, i)
    producer.flush()
    begun = time.monotonic()
    with engine.server(bootstrap) as (running, execute):
        serves = time.monotonic() - begun
        moments = _first_rows(consumer, queries, begun)
        cpu = cpu_seconds(running.process.pid)
        execute("TERMINATE ALL;")
    consumer.close()
    return Restart(queries, round(serves, 1), round(moments[queries // 2], 1), round(moments[-1], 1), round(cpu, 1))


def _first_rows(consumer: Consumer, queries: int, begun: float) -> list[float]:
    """The seconds from `begun` (monotonic) to the first record of each output topic, in ascending order."""
    moments: dict[str, float] = {}
    while len(moments) < queries:
        if time.monotonic() - begun > 600:
            raise RuntimeError(f"{queries - len(moments)} of {queries} queries did not write in ten minutes")
        message = consumer.poll(1)
        if message is not None and not message.error():
            moments.setdefault(str(message.topic()), time.monotonic() - begun)
    return sorted(moments.values())
