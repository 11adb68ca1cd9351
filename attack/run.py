"""An attack: the table and N random requests against one server under light load, and what was wrong."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from attack.hostile_requests import HostileRequest, HostileRequests
from attack.table import TABLE

AT_ONCE, PATIENCE = 4, 30.0
MOST_MB = 200
SETUP = (
    "CREATE STREAM IF NOT EXISTS orders (id INT KEY, name STRING, v DOUBLE, tags ARRAY<STRING>, s STRUCT<x INT>)"
    " WITH (kafka_topic='attack_orders', value_format='JSON', partitions=1);"
    "CREATE TABLE IF NOT EXISTS people (id INT PRIMARY KEY, name STRING)"
    " WITH (kafka_topic='attack_people', value_format='JSON', partitions=1);"
)


@dataclass
class Report:
    """The results of an attack: `findings` are faults of the server, the rest is information."""

    findings: list[str] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)
    slowest: dict[str, float] = field(default_factory=dict)
    grown_mb: float = 0.0

    def lines(self) -> list[str]:
        """The report as text."""
        slow = ", ".join(f"{name} {seconds:.2f} s" for name, seconds in self.slowest.items())
        statuses = ", ".join(f"{status}: {count}" for status, count in sorted(self.statuses.items()))
        facts = [f"answers  {statuses}", f"slowest answer to others  {slow}", f"memory  {self.grown_mb:+.0f} MB"]
        return [*facts, *(f"FINDING  {finding}" for finding in self.findings)]


def attack(
    url: str, pid: int, count: int, seed: int, table: Sequence[Callable[[str], Iterator[str]]] = TABLE
) -> Report:
    """Attack the server at a URL, whose process is `pid`, with the table and `count` requests of a seed."""
    report = Report()
    httpx.post(f"{url}/ksql", json={"ksql": SETUP}, timeout=PATIENCE).raise_for_status()
    _random_requests(url, count // 10, seed, Report())  # what is allocated once does not count as growth
    before = memory_mb(pid)
    with _light_load(url, report):
        for tried in table:
            report.findings += tried(url)
        _random_requests(url, count, seed + 1, report)
    report.grown_mb = memory_mb(pid) - before
    if report.grown_mb > MOST_MB:
        report.findings.append(f"the process has {report.grown_mb:.0f} MB more than before")
    return report


def catalog(url: str) -> Any:
    """What a server has declared: the names of its streams, tables, types and functions."""
    shown = httpx.post(f"{url}/ksql", json={"ksql": "SHOW STREAMS; SHOW TABLES; SHOW TYPES;"}, timeout=PATIENCE).json()
    return [sorted(map(str, entity.get("streams", entity.get("tables", entity.get("types"))))) for entity in shown]


def memory_mb(pid: int) -> float:
    """The resident memory of a process, its JVM not counted."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024


def _random_requests(url: str, count: int, seed: int, report: Report) -> None:
    source = HostileRequests(seed)
    requests = [source.next() for _ in range(count)]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for status, finding in pool.map(lambda request: _one(url, request), requests):
            report.statuses[status] += 1
            report.findings += [finding] if finding else []


def _one(url: str, request: HostileRequest) -> tuple[int, str]:
    """The status of an answer (0 = none), and what is wrong with it."""
    headers = [(name.encode(), value.encode("latin-1")) for name, value in request.headers]
    described = f"{request.method} {request.path} {request.headers} {request.body[:300]!r}"
    try:
        with httpx.stream(
            request.method, url + request.path, headers=headers, content=request.body, timeout=PATIENCE
        ) as answer:
            if answer.status_code == 500:
                return 500, f"500: {described}: {answer.read()[:300]!r}"
            return answer.status_code, ""
    except httpx.TimeoutException:
        return 0, f"no answer in {PATIENCE:g} s: {described}"
    except httpx.TransportError as error:
        return 0, f"{type(error).__name__} {error}: {described}"


@contextmanager
def _light_load(url: str, report: Report) -> Iterator[None]:
    """Others ask while the block runs; the slowest answer to each question is noted."""
    ended = threading.Event()
    questions = {"/info": ("GET", None), "/healthcheck": ("GET", None), "/ksql": ("POST", {"ksql": "SHOW STREAMS;"})}

    def send(path: str) -> None:
        method, body = questions[path]
        while not ended.wait(0.1):
            begin = time.monotonic()
            try:
                status = httpx.request(method, url + path, json=body, timeout=PATIENCE).status_code
            except httpx.TransportError as error:
                report.findings.append(f"{path} was not answered under load: {error!r}")
                continue
            if status != 200:
                report.findings.append(f"{path} was answered {status} under load")
            report.slowest[path] = max(report.slowest.get(path, 0.0), time.monotonic() - begin)

    threads = [threading.Thread(target=send, args=[path], daemon=True) for path in questions]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        ended.set()
        for thread in threads:
            thread.join(PATIENCE)
