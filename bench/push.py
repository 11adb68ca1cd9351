"""Push queries for many: subscribers to one table, each of which gets every change, over HTTP/1.1."""

import asyncio
import json
import re
import resource
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import httpx
from confluent_kafka import Producer

from bench.engines import Millstream
from bench.lookups import MeasuredServer
from bench.topics import create

TOPIC, WIDE = "push", "x" * 1000
TABLE = (
    "CREATE TABLE P (K STRING PRIMARY KEY, N BIGINT, B STRING, SENT BIGINT) "
    f"WITH (kafka_topic='{TOPIC}', value_format='JSON');"
)
NARROW_SELECT = "SELECT K, N, SENT FROM P EMIT CHANGES;"
WIDE_SELECT = "SELECT K, N, B, SENT FROM P EMIT CHANGES;"
SETTINGS = (("ksql.max.push.queries", "3000"), ("millstream.connections.max", "3000"))
KEYS, SLOW, BURST, REOPENED, FIRST_ROWS = 1000, 5, 60_000, 200, 20
# How many subscribers take down the time and the number of each row; the others count rows.
SAMPLED, AT_ONCE, PATIENCE = 10, 50, 120.0
FILES = 10_000
ROW = re.compile(rb",(\d+),(\d+)\]\n")
REQUEST = (
    b"POST /query-stream HTTP/1.1\r\nHost: localhost\r\nAccept: application/vnd.ksqlapi.delimited.v1\r\n"
    b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"
)


@dataclass(frozen=True, slots=True)
class PushFanOut:
    """`complete` of the subscribers got all `rows`; times in ms from produce to delivery, CPU in percent of a core.

    `open_s`: until all were open. `first_row_ms`: of a new query, alone. Memory in MB of the server's Python: before
    200 queries were opened and closed, and after. `slow_ended`: of 5 clients that read nothing, how many got a reason.
    """

    subscribers: int
    rate: int
    rows: int
    complete: int
    per_second: int
    p50: float
    p99: float
    worst: float
    python_cpu: int
    jvm_cpu: int
    client_cpu: int
    threads: int
    open_s: float
    first_row_ms: float
    memory_before: int
    memory_after: int
    slow_ended: int


class Subscriber(asyncio.Protocol):
    """One push query: counts its rows; `sampled`: keeps the number and the delivery time of each."""

    def __init__(self, select: str, sampled: bool = False) -> None:
        self._select, self._sampled, self._unparsed = select, sampled, b""
        self.rows, self.last, self.tail = 0, 0.0, b""
        self.numbers, self.delays = list[int](), list[float]()
        self.opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Send the query."""
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        properties = {"auto.offset.reset": "latest"}
        body = json.dumps({"sql": self._select, "properties": properties}).encode()
        transport.write(REQUEST % (len(body), body))

    def data_received(self, data: bytes) -> None:
        """Count the rows; the header is the first line."""
        if not self.opened.done():
            if b"columnTypes" not in data and b"error_code" in data:
                self.opened.set_exception(RuntimeError(data.decode(errors="replace")))
                return
            if b"columnTypes" not in data:
                return
            self.opened.set_result(None)
        self.last = time.time()
        joined = self.tail + data
        self.rows += joined.count(b"]\n")
        self.tail = joined[-1:] if joined.endswith(b"]") else b""
        if self._sampled:
            self._sample(data)
        elif b"error_code" in data:
            self._unparsed = data

    def connection_lost(self, error: Exception | None) -> None:
        """A connection that was never opened fails."""
        if not self.opened.done():
            self.opened.set_exception(error or ConnectionResetError("the server closed the connection"))

    @property
    def reason(self) -> str:
        """The message with which the server ended the query."""
        return self._unparsed.decode(errors="replace")

    def close(self) -> None:
        """Close the connection."""
        if self.transport is not None:
            self.transport.abort()

    def _sample(self, data: bytes) -> None:
        text, now = self._unparsed + data, time.time() * 1000
        end = 0
        for match in ROW.finditer(text):
            self.numbers.append(int(match[1]))
            self.delays.append(now - int(match[2]))
            end = match.end()
        self._unparsed = text[end:]


async def opened(url: str, count: int, select: str, sampled: int = 0) -> list[Subscriber]:
    """So many subscribers whose queries run; the first ones are sampled."""
    address, loop, places = httpx.URL(url), asyncio.get_running_loop(), asyncio.Semaphore(AT_ONCE)

    async def one(number: int) -> Subscriber:
        async with places:
            _, subscriber = await loop.create_connection(
                lambda: Subscriber(select, number < sampled), address.host, address.port or 80
            )
            await asyncio.wait_for(subscriber.opened, PATIENCE)
            return subscriber

    return list(await asyncio.gather(*(one(number) for number in range(count))))


class ChangeProducer:
    """Writes changes of the table, `rate` a second, or as fast as possible."""

    def __init__(self, bootstrap: str) -> None:
        self._producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 2, "log_level": 3})
        self.number = 0

    def write(self, count: int, rate: int = 0, wide: bool = False) -> None:
        """Write so many changes, numbered on from the last."""
        begin = time.perf_counter()
        for i in range(count):
            if rate and (rest := begin + i / rate - time.perf_counter()) > 0:
                time.sleep(rest)
            value = {"N": self.number, "B": WIDE if wide else "", "SENT": int(time.time() * 1000)}
            self._producer.produce(TOPIC, key=f"k{self.number % KEYS}", value=json.dumps(value))
            self._producer.poll(0)
            self.number += 1
        self._producer.flush()


async def _until_all(subscribers: Sequence[Subscriber], rows: int) -> None:
    """Wait until each has so many rows, or nothing has come for a while."""
    while any(s.rows < rows for s in subscribers) and time.time() - max(s.last for s in subscribers) < 15:
        await asyncio.sleep(0.1)


async def _first_row(url: str, producer: ChangeProducer) -> float:
    """The median of the time in ms from a request to the first row, which is in the table already."""
    times = []
    for _ in range(FIRST_ROWS):
        begin = time.perf_counter()
        (subscriber,) = await opened(url, 1, NARROW_SELECT)
        while not subscriber.rows:
            await asyncio.sleep(0.001)
        times.append((time.perf_counter() - begin) * 1000)
        subscriber.close()
    return round(sorted(times)[len(times) // 2], 1)


async def _reopened_memory(server: MeasuredServer) -> tuple[int, int]:
    """The memory of the server's Python before queries were opened and closed, and after."""
    memory = []
    # The first round loads code and fills caches.
    for _ in range(2):
        memory.append(_resident(server.pid))
        for subscriber in await opened(server.url, REOPENED, NARROW_SELECT):
            subscriber.close()
        await asyncio.sleep(3)
    return memory[1], _resident(server.pid)


async def _slow_ended(url: str, producer: ChangeProducer) -> int:
    """Of clients that read nothing while others read a burst, how many were ended with a reason."""
    slow, readers = await opened(url, SLOW, WIDE_SELECT), await opened(url, 2, WIDE_SELECT)
    await _until_all([*slow, *readers], producer.number)
    for subscriber in slow:
        assert subscriber.transport is not None
        subscriber.transport.pause_reading()
    await asyncio.to_thread(producer.write, BURST, 0, True)
    await _until_all(readers, producer.number)
    for subscriber in slow:
        assert subscriber.transport is not None
        subscriber.transport.resume_reading()
    deadline = time.time() + PATIENCE
    while time.time() < deadline and not all("buffer.rows" in s.reason for s in slow):
        await asyncio.sleep(0.1)
    for subscriber in (*slow, *readers):
        subscriber.close()
    return sum("buffer.rows" in s.reason for s in slow)


async def _measured(bootstrap: str, server: MeasuredServer, subscribers: int, rate: int, seconds: int) -> PushFanOut:
    producer = ChangeProducer(bootstrap)
    producer.write(1)
    first_row = await _first_row(server.url, producer)
    memory = await _reopened_memory(server)
    begin = time.perf_counter()
    clients = await opened(server.url, subscribers, NARROW_SELECT, SAMPLED)
    open_s = time.perf_counter() - begin
    await _until_all(clients, producer.number)
    already = producer.number
    for client in clients[:SAMPLED]:
        client.numbers.clear()
        client.delays.clear()
    cpu, own, begin = server.cpu(), time.process_time(), time.perf_counter()
    writer = threading.Thread(target=producer.write, args=(rate * seconds, rate))
    writer.start()
    await asyncio.sleep(seconds)
    elapsed = time.perf_counter() - begin
    used = zip((*cpu, own), (*server.cpu(), time.process_time()), strict=True)
    python_cpu, jvm_cpu, client_cpu = (round((after - before) / elapsed * 100) for before, after in used)
    threads, delivered = _threads(server.pid), sum(client.rows for client in clients) - already * subscribers
    await asyncio.to_thread(writer.join)
    await _until_all(clients, producer.number)
    sampled, expected = clients[:SAMPLED], list(range(already, producer.number))
    complete = sum(c.rows == producer.number for c in clients[SAMPLED:]) + sum(c.numbers == expected for c in sampled)
    delays = sorted(delay for client in sampled for delay in client.delays)
    p50, p99, worst = (round(delays[int((len(delays) - 1) * share)], 1) for share in (0.5, 0.99, 1.0))
    for client in clients:
        client.close()
    await asyncio.sleep(2)
    slow = await _slow_ended(server.url, producer)
    return PushFanOut(
        subscribers=subscribers,
        rate=rate,
        rows=len(expected),
        complete=complete,
        per_second=round(delivered / elapsed),
        p50=p50,
        p99=p99,
        worst=worst,
        python_cpu=python_cpu,
        jvm_cpu=jvm_cpu,
        client_cpu=client_cpu,
        threads=threads,
        open_s=round(open_s, 1),
        first_row_ms=first_row,
        memory_before=memory[0],
        memory_after=memory[1],
        slow_ended=slow,
    )


def push(bootstrap: str, folder: Path, subscribers: int, rate: int, seconds: int) -> PushFanOut:
    """Start a server, and measure it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, FILES)), hard))
    create(bootstrap, [TOPIC], partitions=1)
    engine = Millstream(folder / "push", settings=SETTINGS)
    with engine.server(bootstrap) as (running, execute):
        execute(TABLE)
        server = MeasuredServer("this", execute.url, running.process.pid)
        return asyncio.run(_measured(bootstrap, server, subscribers, rate, seconds))


def _status(pid: int, name: str) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{name}:"))


def _resident(pid: int) -> int:
    return _status(pid, "VmRSS") // 1024


def _threads(pid: int) -> int:
    return _status(pid, "Threads")
