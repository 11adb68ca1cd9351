"""The page's cost: a real Chromium shows a server with many queries, and rows as they arrive.

closed   no page                       what the server takes by itself
flow     the graph of all queries      one of its edges has all the rows
editor   SELECT … EMIT CHANGES         all rows are pushed to the page
"""

import dataclasses
import json
import os
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from confluent_kafka import Producer
from playwright.sync_api import Page, expect, sync_playwright

from bench.engines import Millstream, StatementClient
from bench.idle import cpu_seconds, family
from bench.lookups import MeasuredServer
from bench.topics import create

CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
ROWS, SPREAD = "page-rows", 20
SETTINGS = (("millstream.slots", "1000"), ("auto.offset.reset", "latest"))
SELECT = "SELECT * FROM S0 EMIT CHANGES;"
# Seconds: until the queries and the page have settled; until a query runs.
SETTLE, PATIENCE = 15.0, 600.0


@dataclass(frozen=True, slots=True)
class PageCost:
    """CPU in percent of a core while `view` is shown: of Chromium's processes, the server's Python, and its JVM.

    `rows_per_second`: how fast the editor's newest row advanced; 0 in other views.
    """

    view: str
    queries: int
    rate: int
    browser_cpu: float
    python_cpu: float
    jvm_cpu: float
    rows_per_second: int


class SteadyRows:
    """Writes `rate` rows a second to the topic ROWS while the block runs."""

    def __init__(self, bootstrap: str, rate: int) -> None:
        self._producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 5, "log_level": 3})
        self._rate, self._closing = rate, threading.Event()
        self._thread = threading.Thread(target=self._write)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._closing.set()
        self._thread.join()
        self._producer.flush()

    def _write(self) -> None:
        begin, number = time.perf_counter(), 0
        while not self._closing.wait(0.01):
            due = int((time.perf_counter() - begin) * self._rate)
            for n in range(number, due):
                self._producer.produce(ROWS, key=f"k{n % 100}", value=json.dumps({"A": n, "B": f"row {n}"}))
            number = due
            self._producer.poll(0)


def page_cost(bootstrap: str, folder: Path, queries: int, rate: int, seconds: int) -> list[PageCost]:
    """Start a server with so many queries, and measure it and Chromium for so many seconds a view.

    Raises RuntimeError if there is no Chromium in PATH.
    """
    others = [f"page-{n}" for n in range(1, SPREAD)]
    create(bootstrap, [ROWS, *others], partitions=1)
    engine = Millstream(folder / "page", settings=SETTINGS)
    with engine.server(bootstrap) as (running, execute), SteadyRows(bootstrap, rate):
        _start_queries(execute, [ROWS, *others], queries)
        server = MeasuredServer("this", execute.url, running.process.pid)
        time.sleep(SETTLE)
        costs = [_measured("closed", server, None, queries, rate, seconds)]
        with _chromium() as (page, browser):
            page.goto(execute.url)
            expect(page.locator(".node.query")).to_have_count(queries, timeout=PATIENCE * 1000)
            time.sleep(SETTLE)
            costs.append(_measured("flow", server, browser, queries, rate, seconds))
            page.locator("#tab-editor").click()
            page.locator("#sql").fill(SELECT)
            page.locator("#run").click()
            expect(page.locator(".answer tbody tr")).to_have_count(100, timeout=PATIENCE * 1000)
            time.sleep(SETTLE)
            before, begin = _rows(page), time.perf_counter()
            editor = _measured("editor", server, browser, queries, rate, seconds)
            shown = round((_rows(page) - before) / (time.perf_counter() - begin))
        return [*costs, dataclasses.replace(editor, rows_per_second=shown)]


def _start_queries(execute: StatementClient, topics: list[str], queries: int) -> None:
    """The first query alone reads the topic that has rows."""
    for n, topic in enumerate(topics):
        execute(
            f"CREATE STREAM S{n} (K STRING KEY, A BIGINT, B STRING) WITH (kafka_topic='{topic}', value_format='JSON');"
        )
    for n in range(queries):
        source = 1 + n % (len(topics) - 1) if n else 0
        execute(f"CREATE STREAM O{n} AS SELECT K, A FROM S{source} WHERE A > 0;")


@contextmanager
def _chromium() -> Iterator[tuple[Page, int]]:
    """A page, and Chromium's first process."""
    path = next(filter(None, map(shutil.which, CHROMIUM)), None)
    if path is None:
        raise RuntimeError(f"there is no Chromium in PATH: {', '.join(CHROMIUM)}")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        process = next(n for n in family(os.getpid()) if Path(f"/proc/{n}/comm").read_text().startswith("chrom"))
        yield browser.new_page(viewport={"width": 1440, "height": 900}), process
        browser.close()


def _measured(
    view: str, server: MeasuredServer, browser: int | None, queries: int, rate: int, seconds: int
) -> PageCost:
    def used() -> tuple[float, float, float]:
        return (cpu_seconds(browser) if browser else 0.0, *server.cpu())

    before, begin = used(), time.perf_counter()
    time.sleep(seconds)
    after, elapsed = used(), time.perf_counter() - begin
    browser_cpu, python_cpu, jvm_cpu = (round((b - a) / elapsed * 100, 1) for a, b in zip(before, after, strict=True))
    return PageCost(view, queries, rate, browser_cpu, python_cpu, jvm_cpu, rows_per_second=0)


def _rows(page: Page) -> int:
    """The number of the newest row in the editor's table: its column A counts the rows written."""
    return int(page.locator(".answer tbody tr").first.locator("td").nth(1).inner_text())
