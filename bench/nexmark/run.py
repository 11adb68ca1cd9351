"""Runs Nexmark's queries on millstream and on Flink, in turns over the same topics, and compares their results."""

import argparse
import dataclasses
import json
import re
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from rich.console import Console
from rich.table import Table

from bench.engines import EngineError, EngineRun, Millstream
from bench.flink import Flink
from bench.nexmark import generator
from bench.nexmark.generator import AUCTION, BID, PERSON, NexmarkEvent
from bench.nexmark.results import Rows, difference, digest, read, rows
from bench.nexmark.statements import NUMBERS, NexmarkQuery, NexmarkTopics, query
from bench.topics import (
    APPEND_TIME,
    PARTITIONS,
    BenchTopics,
    appends,
    bulk_producer,
    create,
    new_broker,
    wait_for_records,
)

# Records are older than any retention; those that are past it would be deleted during the run.
KEEP = {"retention.ms": "-1"}
SIDE_ROWS = 10_000
# Seconds: until the first row; without a row until the result is read, without one to compare it with and with one; and
# until it is given up as wrong (a batch ends once a minute, and may write).
FIRST, QUIET, PAUSE, LAST = 240.0, 10.0, 3.0, 80.0
SINK = "{run}-out"
# For the producer: the partition is chosen by the key's hash.
BY_KEY = -1


@dataclass(frozen=True, slots=True)
class NexmarkPass:
    """One engine over all events of one query: records written, rows of the result with their hash, and seconds.

    `seconds` are between the broker's first and last append to the result's topic, and `in_all` from the first
    statement to the last append. `wrong` says how the result differs from the first pass's, or how the engine failed;
    it is empty if all is well.
    """

    query: int
    engine: str
    events: int
    written: int
    result: int
    hash: str
    seconds: float
    in_all: float
    wrong: str

    @property
    def per_second(self) -> int:
        """Events per second; none where the answer is one record."""
        return round(self.events / self.seconds) if self.seconds else 0


@dataclass(frozen=True, slots=True)
class QueryRun:
    """A running query: its engine, the engine's log, and the time of the request in epoch s; 0 if the log has it."""

    engine: EngineRun
    log: Path
    requested_at: float

    def log_text(self) -> str:
        """What the engine has printed."""
        return self.log.read_text(encoding="utf-8", errors="replace")

    def started(self) -> float:
        """When the query was requested, in epoch s."""
        return self.requested_at or int(re.findall(r"^REQUESTED (\d+)", self.log_text(), re.MULTILINE)[0]) / 1000


def main(arguments: list[str]) -> None:
    """Run the queries of the command line; ends with 1 if results differ."""
    options = _options(arguments)
    passes: list[NexmarkPass] = []
    with tempfile.TemporaryDirectory(prefix="nexmark-") as folder, new_broker(Path(folder)) as broker:
        topics = fill(broker.bootstrap, options.events, options.seed)
        for number in options.queries:
            passes += measure(query(number), topics, options.events, options.rounds, Path(folder))
    Console(width=200).print(table([query(number) for number in options.queries], passes))
    raise SystemExit(any(result.wrong for result in passes))


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench nexmark", description=__doc__)
    every = ",".join(map(str, NUMBERS))
    parser.add_argument("--queries", type=_numbers, default=NUMBERS, help=f"numbers; default {every}")
    parser.add_argument("--events", type=int, default=1_000_000, help="persons, auctions and bids (default 1,000,000)")
    parser.add_argument("--rounds", type=int, default=3, help="passes of each engine over them (default 3)")
    parser.add_argument("--seed", type=int, default=generator.SEED, help=f"of the events (default {generator.SEED})")
    return parser.parse_args(arguments)


def _numbers(text: str) -> tuple[int, ...]:
    numbers = tuple(map(int, text.split(",")))
    if unknown := sorted(set(numbers) - set(NUMBERS)):
        raise argparse.ArgumentTypeError(f"there is no query {unknown[0]} here")
    return numbers


def fill(bootstrap: str, events: int, seed: int) -> NexmarkTopics:
    """Topics with the events in them, and of the side input; each partition ends with a row that closes all windows."""
    tag = uuid.uuid4().hex[:8]
    topics = NexmarkTopics(bootstrap, f"{PERSON}-{tag}", f"{AUCTION}-{tag}", f"{BID}-{tag}", f"side-{tag}")
    create(bootstrap, [topics.person, topics.auction, topics.bid, topics.side], config=KEEP)
    names = {PERSON: topics.person, AUCTION: topics.auction, BID: topics.bid}
    producer = bulk_producer(bootstrap)

    def put(event: NexmarkEvent, partition: int = BY_KEY) -> None:
        value = json.dumps(event.row, separators=(",", ":"))
        producer.produce(names[event.kind], key=str(event.key), value=value, timestamp=event.at, partition=partition)
        producer.poll(0)

    for number in range(SIDE_ROWS):
        at = generator.BEGINNING - 1000
        producer.produce(topics.side, key=str(number), value=json.dumps({"name": f"name {number}"}), timestamp=at)
    for event in generator.events(events, seed):
        put(event)
    producer.flush()
    for partition, event in generator.last_rows(events, PARTITIONS):
        put(event, partition=partition)
    producer.flush()
    return topics


def measure(spec: NexmarkQuery, topics: NexmarkTopics, events: int, rounds: int, folder: Path) -> list[NexmarkPass]:
    """Run the query on both engines in turns, as JSON lines too; Flink's first result is the expected one."""
    passes: list[NexmarkPass] = []
    expected = Rows()
    for _ in range(rounds if spec.millstream else 0):
        for engine in ENGINES:
            measured, result = one_pass(engine, spec, topics, events, expected, folder)
            expected = expected or result
            passes.append(measured)
            print(json.dumps({**dataclasses.asdict(measured), "per_second": measured.per_second}), flush=True)
    return passes


@contextmanager
def on_flink(spec: NexmarkQuery, topics: NexmarkTopics, folder: Path) -> Iterator[QueryRun]:
    """The query on Flink, while the block runs."""
    with Flink(folder, coalesced=spec.coalesced).script(topics.named(spec.flink)) as running:
        yield QueryRun(running, folder / "flink.log", 0.0)


@contextmanager
def on_millstream(spec: NexmarkQuery, topics: NexmarkTopics, folder: Path) -> Iterator[QueryRun]:
    """The query on a millstream server of its own, while the block runs."""
    server = Millstream(folder, service=topics.run, coalesced=spec.coalesced)
    with server.server(topics.bootstrap) as (running, execute):
        requested_at = time.time()
        execute(topics.named(spec.millstream))
        yield QueryRun(running, folder / "server.log", requested_at)


ENGINES = {"flink": on_flink, "millstream": on_millstream}


def one_pass(
    engine: str, spec: NexmarkQuery, topics: NexmarkTopics, events: int, expected: Rows, folder: Path
) -> tuple[NexmarkPass, Rows]:
    """Run one engine over the events into topics of its own; the figures, and the result."""
    topics = dataclasses.replace(topics, run=f"run_{uuid.uuid4().hex[:8]}")
    sink = BenchTopics(topics.bootstrap, "", topics.named(SINK), "")
    for name in spec.topics:
        create(topics.bootstrap, [topics.named(name)], config={**KEEP, **(APPEND_TIME if name == SINK else {})})
    try:
        with ENGINES[engine](spec, topics, folder) as running:
            written, result = settled(sink, spec, expected, generator.end(events), running.engine)
            if not (written and running.engine.alive()):
                raise EngineError(f"{engine} ended, or wrote nothing; its log ends:\n{running.log_text()[-4000:]}")
            started = running.started()
    except EngineError as failure:
        return NexmarkPass(spec.number, engine, events, 0, 0, "", 0.0, 0.0, str(failure)), Rows()
    first, last = appends(sink)
    wrong, times = difference(expected, result) if expected else "", (round(last - first, 3), round(last - started, 3))
    return NexmarkPass(spec.number, engine, events, written, result.total(), digest(result), *times, wrong), result


def settled(sink: BenchTopics, spec: NexmarkQuery, expected: Rows, end: int, running: EngineRun) -> tuple[int, Rows]:
    """How many records the topic has when none has come for a while, and the result that they are.

    A result that is not the expected one is read again when more records come, as long as they do. Rows of times from
    `end` on, in ms, are left out.
    """
    quiet = PAUSE if expected else QUIET
    written, result, patience = wait_for_records(sink, 1, FIRST, running.alive), Rows(), quiet
    while written and running.alive():
        more = wait_for_records(sink, written + 1, patience, running.alive)
        if more == written and patience == LAST:
            break
        if more == written:
            result, patience = rows(read(sink.bootstrap, sink.sink), spec.each, end, spec.is_table), LAST
            if not expected or result == expected:
                break
        else:
            written, patience = more, quiet
    return written, result


def table(queries: list[NexmarkQuery], passes: list[NexmarkPass]) -> Table:
    """The medians of each query, their ratio, seconds in all, and the hash of the result that both have."""
    rates, times = ([f"{engine}, {unit}" for engine in ENGINES] for unit in ("events/s", "s in all"))
    drawn = Table("query", *rates, "ratio", *times, "rows", "result", "remarks")
    for spec in queries:
        measured = [each for each in passes if each.query == spec.number]
        figures = _figures(measured) if measured else ["", "", "", "", "", "", "not run"]
        drawn.add_row(f"{spec.number} {spec.title}", *figures, _remarks(spec))
    return drawn


def _figures(query_passes: list[NexmarkPass]) -> list[str]:
    by_engine = [[measured for measured in query_passes if measured.engine == engine] for engine in ENGINES]
    rates = [round(median(measured.per_second for measured in passes)) for passes in by_engine]
    times = [median(measured.in_all for measured in passes) for passes in by_engine]
    result = "WRONG" if any(measured.wrong for measured in query_passes) else query_passes[0].hash
    ratio = f"{rates[1] / rates[0]:.2f}" if rates[0] else ""
    count = f"{query_passes[0].result:,}"
    return [*[f"{rate:,}" for rate in rates], ratio, *[f"{s:.1f}" for s in times], count, result]


def _remarks(spec: NexmarkQuery) -> str:
    coalesced = f"for {spec.coalesced} ms" if spec.coalesced else ""
    remarks = {"missing": spec.missing, "rewritten": spec.rewritten, "changes coalesced": coalesced}
    return "; ".join(f"{kind}: {text}" for kind, text in remarks.items() if text)
