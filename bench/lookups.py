"""Look-ups by key in a large table, over HTTP: `python -m bench.lookups --rows 1000000`.

Several servers, each of another checkout of the code, can be measured in turns: `--against FOLDER`.
"""

import argparse
import asyncio
import json
import os
import random
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import httpx

from bench.engines import Millstream
from bench.topics import bulk_producer, create, new_broker

TABLE = (
    "CREATE SOURCE TABLE T (K STRING PRIMARY KEY, A BIGINT, B STRING, C DOUBLE) "
    "WITH (kafka_topic='{topic}', value_format='JSON');"
)
QUERIES: Mapping[str, str] = {
    "row": "SELECT * FROM T WHERE K = 'k{key}';",
    "columns": "SELECT B, A FROM T WHERE K = 'k{key}' LIMIT 1;",
    "calls": "SELECT UCASE(B) AS B, A * 2 AS A2 FROM T WHERE K = 'k{key}';",
}
TOPIC, PATIENCE = "lookups", 600.0
REQUEST = (
    b"POST /query-stream HTTP/1.1\r\nHost: localhost\r\nAccept: application/vnd.ksqlapi.delimited.v1\r\n"
    b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"
)
LAST_CHUNK, LENGTH = b"0\r\n\r\n", b"content-length:"


@dataclass(frozen=True, slots=True)
class LookupRate:
    """One pass: look-ups a second, their times in ms, and the processor time that each took in ms, by process."""

    server: str
    query: str
    connections: int
    per_second: int
    p50: float
    p99: float
    server_cpu: float
    spark_cpu: float
    client_cpu: float


class LookupConnection(asyncio.Protocol):
    """One HTTP/1.1 connection that sends the next look-up when the one before it is answered, until `deadline`."""

    def __init__(self, query: str, rows: int, deadline: float, seconds: list[float]) -> None:
        self._query, self._rows, self._deadline, self._seconds = query, rows, deadline, seconds
        self.ended = asyncio.get_running_loop().create_future()
        self._answer, self._key, self._begin = b"", 0, 0.0
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Send the first look-up."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._send()

    def data_received(self, data: bytes) -> None:
        """Send the next look-up if the answer is complete and right."""
        self._answer += data
        if not _is_complete(self._answer):
            return
        self._seconds.append(time.perf_counter() - self._begin)
        if b"abcdefgh%d" % self._key not in self._answer.lower():
            self._end(RuntimeError(f"the row of k{self._key} is missing: {self._answer!r}"))
        elif time.perf_counter() < self._deadline:
            self._send()
        else:
            self._end(None)

    def connection_lost(self, error: Exception | None) -> None:
        """End with an error, if the server closed the connection."""
        self._end(error or ConnectionResetError("the server closed the connection"))

    def _send(self) -> None:
        self._answer, self._key = b"", random.randrange(self._rows)
        body = json.dumps({"sql": self._query.format(key=self._key)}).encode()
        self._begin = time.perf_counter()
        assert self._transport is not None
        self._transport.write(REQUEST % (len(body), body))

    def _end(self, error: Exception | None) -> None:
        if not self.ended.done():
            self.ended.set_exception(error) if error else self.ended.set_result(None)
        if self._transport is not None:
            self._transport.close()


def _is_complete(answer: bytes) -> bool:
    head, separator, body = answer.partition(b"\r\n\r\n")
    lower = head.lower()
    if not separator:
        return False
    if LENGTH in lower:
        return len(body) >= int(lower.partition(LENGTH)[2].partition(b"\r\n")[0])
    return body.endswith(LAST_CHUNK)


async def look_up(url: str, query: str, rows: int, connections: int, seconds: float) -> list[float]:
    """Look up random keys over so many connections; returns the seconds of each look-up, in ascending order."""
    address, times = httpx.URL(url), list[float]()
    deadline, loop = time.perf_counter() + seconds, asyncio.get_running_loop()
    opened = [
        await loop.create_connection(
            lambda: LookupConnection(query, rows, deadline, times), address.host, address.port or 80
        )
        for _ in range(connections)
    ]
    await asyncio.gather(*(connection.ended for _, connection in opened))
    return sorted(times)


@dataclass(frozen=True, slots=True)
class MeasuredServer:
    """A running server: its name in the results, its address and its process."""

    name: str
    url: str
    pid: int

    def cpu(self) -> tuple[float, float]:
        """Processor seconds of the server's own process, and of those that it started (Spark's JVM)."""
        own = _cpu(self.pid)
        return own, sum(_cpu(child) for child in _descendants(self.pid))

    def measured(self, title: str, rows: int, connections: int, seconds: float) -> LookupRate:
        """One pass of the query named `title`."""
        before, begin = (*self.cpu(), time.process_time()), time.perf_counter()
        times = asyncio.run(look_up(self.url, QUERIES[title], rows, connections, seconds))
        elapsed, count = time.perf_counter() - begin, len(times)
        after = (*self.cpu(), time.process_time())
        each = [round((b - a) / count * 1000, 3) for a, b in zip(before, after, strict=True)]
        p50, p99 = (round(times[int(count * share)] * 1000, 2) for share in (0.5, 0.99))
        return LookupRate(self.name, title, connections, round(count / elapsed), p50, p99, *each)


def _cpu(pid: int) -> float:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except FileNotFoundError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _descendants(pid: int) -> Iterator[int]:
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in map(int, task.read_text().split()):
            yield child
            yield from _descendants(child)


@contextmanager
def serving(bootstrap: str, folder: Path, code: Path | None) -> Iterator[MeasuredServer]:
    """A server whose table has been read; `code` is a checkout to run instead of this one."""
    name = "this" if code is None else f"{code.name}_against"
    with ExitStack() as stack:
        before = os.environ.get("PYTHONPATH")
        if code is not None:
            os.environ["PYTHONPATH"] = str(code / "src")
        try:
            running, execute = stack.enter_context(
                Millstream(folder / name, service=f"bench_{name}_").server(bootstrap)
            )
        finally:
            _restore(before)
        execute(TABLE.format(topic=TOPIC))
        server = MeasuredServer(name, execute.url, running.process.pid)
        _wait_until_read(server.url)
        yield server


def _restore(path: str | None) -> None:
    if path is None:
        os.environ.pop("PYTHONPATH", None)
    else:
        os.environ["PYTHONPATH"] = path


def _wait_until_read(url: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while True:
        answer = httpx.post(f"{url}/query", json={"ksql": QUERIES["row"].format(key=0)}, timeout=120)
        if answer.is_success:
            return
        if time.monotonic() > deadline:
            raise RuntimeError(f"the table is not read after {PATIENCE:g} s: {answer.text}")
        time.sleep(1)


def fill(bootstrap: str, rows: int) -> None:
    """Put the table's rows into its topic."""
    create(bootstrap, [TOPIC])
    producer = bulk_producer(bootstrap)
    for i in range(rows):
        producer.produce(TOPIC, key=f"k{i}", value=f'{{"A":{i},"B":"abcdefgh{i}","C":{i / 8}}}')
        if i % 10_000 == 0:
            producer.poll(0)
    producer.flush()


def main() -> None:
    """Print one JSON line for each pass."""
    parser = argparse.ArgumentParser(prog="python -m bench.lookups", description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000, help="of the table (default 1,000,000)")
    parser.add_argument("--queries", nargs="*", choices=QUERIES, default=["row"], help="default: row")
    parser.add_argument("--connections", type=int, nargs="*", default=[1, 32], help="default: 1 and 32")
    parser.add_argument("--seconds", type=float, default=10, help="of each pass (default 10)")
    parser.add_argument("--rounds", type=int, default=3, help="passes of each (default 3), after one to warm up")
    parser.add_argument(
        "--against", type=Path, help="another checkout, whose server is measured in turns with this one's"
    )
    options = parser.parse_args()
    codes = [None, *([options.against] if options.against else [])]
    with (
        tempfile.TemporaryDirectory(prefix="bench-") as folder,
        new_broker(Path(folder)) as broker,
        ExitStack() as stack,
    ):
        fill(broker.bootstrap, options.rows)
        servers = [stack.enter_context(serving(broker.bootstrap, Path(folder), code)) for code in codes]
        for turn in range(options.rounds + 1):
            for title in options.queries:
                for connections in options.connections:
                    for server in servers:
                        rate = server.measured(title, options.rows, connections, options.seconds)
                        if turn:
                            print(json.dumps(asdict(rate)), flush=True)


if __name__ == "__main__":
    main()
