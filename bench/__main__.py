"""Runs the measurements on a broker of their own, one JSON line each, then a table with the ratios."""

import argparse
import dataclasses
import json
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bench.backlog import Rate, middle, throughput
from bench.begin import Begin, begin
from bench.engines import ONCE, OVER_WORKLOADS, STATEMENTS, Engine, Millstream, Peer
from bench.flink import Flink
from bench.idle import KINDS, Idle, idle
from bench.latency import Latency, latency
from bench.nexmark import run as nexmark
from bench.page import PageCost, page_cost
from bench.push import PushFanOut, push
from bench.restart import Restart, restart
from bench.shared import SharedScan, shared_scans
from bench.table import WORKLOADS, Result, drawn, results
from bench.topics import KEYS, new_broker

MEASURES = ("table", "latency", "idle", "restart")
# The same, with the long backlogs of the table.
ALL = "all"
# Only by its option; throughput is one row of the table.
FURTHER = ("throughput", "shared", "push", "page", "begin")
# Beside exactly once: what that costs.
AT_LEAST_ONCE = "millstream, at least once"
# Beside a cluster.
LOCAL = "millstream, local mode"
# Beside Flink with its state in the heap.
ROCKSDB = "flink, rocksdb"


def main() -> None:
    """Run the measurements of the command line; `nexmark` has options of its own."""
    if sys.argv[1:2] == ["nexmark"]:
        nexmark.main(sys.argv[2:])
    options = arguments()
    with tempfile.TemporaryDirectory(prefix="bench-") as folder, new_broker(Path(folder)) as broker:
        measured = engines(options, Path(folder))
        of_table = throughput_table(options, broker.bootstrap, measured)
        rows = measure(options, broker.bootstrap, measured, Path(folder))
    if of_table:
        Console().print(drawn(of_table, [engine.name for engine in measured]))
    if rows:
        Console().print(table(rows))


def engines(options: argparse.Namespace, folder: Path) -> list[Engine]:
    """The engines that the command line names."""
    once = options.guarantee == ONCE
    if options.cluster:
        every: list[Engine] = [Millstream(folder, once=once, cluster=True), Millstream(folder, LOCAL, once)]
    else:
        shared = {"once": once, "coalesced": options.coalesced}
        every = [Peer(folder, **shared), Flink(folder, **shared), Millstream(folder, **shared)]
        every += [Flink(folder, name=ROCKSDB, once=once, rocksdb=True)] if options.rocksdb else []
        every += [Millstream(folder, AT_LEAST_ONCE)] if once else []
    if options.workload in OVER_WORKLOADS:
        every = [engine for engine in every if not isinstance(engine, Peer)]
    names = ("flink", ROCKSDB) if options.engine == "flink" else (options.engine,)
    return [engine for engine in every if options.engine == "all" or engine.name in names]


def arguments() -> argparse.Namespace:
    """The command line, read."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument(
        "measure",
        nargs="*",
        default=MEASURES,
        help=f"of {', '.join(MEASURES + FURTHER)}; default the first four; {ALL}: these, with long backlogs; "
        "or nexmark, alone",
    )
    parser.add_argument(
        "--workload", choices=STATEMENTS, default="filter", help="of throughput and latency (default filter)"
    )
    parser.add_argument("--engine", choices=("all", "millstream", "kafka streams", "flink"), default="all")
    parser.add_argument("--rocksdb", action="store_true", help="Flink with its state in RocksDB too")
    parser.add_argument("--guarantee", choices=("at_least_once", ONCE), default="at_least_once")
    parser.add_argument(
        "--coalesced", type=int, default=0, help="ms for which changes are coalesced, of throughput of count and window"
    )
    parser.add_argument("--cluster", action="store_true", help="on a Spark cluster of two workers, beside local mode")
    parser.add_argument("--records", type=int, default=1_000_000, help="throughput's backlog (default 1,000,000)")
    parser.add_argument("--keys", type=int, default=KEYS, help="of that backlog (default 1,000)")
    parser.add_argument("--rounds", type=int, default=3, help="passes of each engine over a backlog (default 3)")
    parser.add_argument(
        "--rate", type=int, default=200, help="records a second for latency, push and page (default 200)"
    )
    parser.add_argument("--subscribers", type=int, default=1000, help="of push (default 1,000)")
    parser.add_argument(
        "--seconds",
        type=int,
        default=60,
        help="of latency, of idleness, of push and of each view of the page (default 60)",
    )
    parser.add_argument("--queries", type=int, default=50, help="that idle, or that the page shows (default 50)")
    parser.add_argument("--scanning", type=int, default=20, help="queries over one topic, of shared (default 20)")
    parser.add_argument("--restarted", type=int, default=15, help="queries of begin's restart (default 15)")
    parser.add_argument(
        "--pause", type=float, default=0, help="seconds until begin asks a new server for the first time (default 0)"
    )
    parser.add_argument("--kind", choices=KINDS, default="stateless", help="of idle queries; mixed: half of each")
    options = parser.parse_args()
    if unknown := set(options.measure) - {*MEASURES, *FURTHER, ALL}:
        parser.error(f"no measure {', '.join(unknown)}; there are {', '.join((*MEASURES, *FURTHER, ALL))}")
    options.long = ALL in options.measure
    options.measure = [*options.measure, *(MEASURES if options.long else ())]
    return options


Row = tuple[str, str, str]


def throughput_table(options: argparse.Namespace, bootstrap: str, engines: list[Engine]) -> list[Result]:
    """The rows of the table of throughput, if the command line asks for it."""
    return (
        results(bootstrap, WORKLOADS, options.long, options.rounds, engines, report)
        if "table" in options.measure
        else []
    )


def measure(options: argparse.Namespace, bootstrap: str, engines: list[Engine], folder: Path) -> list[Row]:
    """Run each measure and give its rows of the table: what, engine, figures."""
    rows: list[Row] = []
    if "throughput" in options.measure:
        rates = throughput(bootstrap, options.workload, options.records, options.keys, options.rounds, engines)
        rows += rate_rows(rates, [engine.name for engine in engines])
    if "latency" in options.measure:
        prompt = [dataclasses.replace(e, linger=0) if isinstance(e, Peer | Flink) else e for e in engines]
        latencies = [latency(bootstrap, options.workload, options.rate, options.seconds, engine) for engine in prompt]
        rows += latency_rows(latencies)
    if "idle" in options.measure and options.engine in ("all", "millstream"):
        rows += idle_rows(idle(bootstrap, Millstream(folder), options.queries, options.seconds, options.kind))
    if "restart" in options.measure and options.engine in ("all", "millstream"):
        # The idle queries' sources are still in the command topic of the other service.
        rows += restart_rows(restart(bootstrap, Millstream(folder, service="restart"), options.queries))
    if "begin" in options.measure:
        rows += begin_rows(
            begin(bootstrap, lambda id: Millstream(folder, service=id), options.restarted, folder, options.pause)
        )
    if "shared" in options.measure:
        rows += shared_rows(shared_scans(bootstrap, folder, options.scanning, options.rate, options.seconds))
    if "push" in options.measure:
        rows += push_rows(push(bootstrap, folder, options.subscribers, options.rate, options.seconds))
    if "page" in options.measure:
        rows += page_rows(page_cost(bootstrap, folder, options.queries, options.rate, options.seconds))
    return rows


def rate_rows(rates: list[Rate], names: list[str]) -> list[Row]:
    """The median of each engine, and millstream's ratio to the others."""
    for rate in rates:
        report({**dataclasses.asdict(rate), "per_second": rate.per_second})
    middles = {name: middle(rates, name) for name in names}
    rows = [
        (f"throughput, {rates[0].workload}, {rates[0].keys:,} keys", name, f"{value:,} records/s")
        for name, value in middles.items()
    ]
    for other in [name for name in names if "millstream" in names and name != "millstream"]:
        ratio = round(middles["millstream"] / middles[other], 2)
        report({"workload": rates[0].workload, "other": other, "ratio": ratio})
        rows.append(("", "ratio", f"{ratio} × {other}"))
    return rows


def latency_rows(latencies: list[Latency]) -> list[Row]:
    """One row an engine."""
    for one in latencies:
        report(dataclasses.asdict(one))
    label = f"latency, {latencies[0].workload}, {latencies[0].rate}/s"
    return [(label, one.engine, f"p50 {one.p50} ms, p99 {one.p99} ms, worst {one.worst} ms") for one in latencies]


def idle_rows(one: Idle) -> list[Row]:
    """What the idle queries cost, and how they answered."""
    report(dataclasses.asdict(one))
    cost = f"{one.cpu_percent} % of a core, {one.resident_mb} MB"
    answer = f"median {one.answer_median_ms} ms, worst {one.answer_worst_ms} ms"
    return [(f"{one.queries} idle queries", "millstream", cost), ("their answers", "millstream", answer)]


def restart_rows(one: Restart) -> list[Row]:
    """When the queries write again."""
    report(dataclasses.asdict(one))
    times = f"serves after {one.serves} s, half write after {one.half} s, all after {one.all} s"
    figures = f"{times}, {one.cpu} s of processor time"
    return [(f"restart with {one.queries} queries", "millstream", figures)]


def begin_rows(beginnings: list[Begin]) -> list[Row]:
    """When the first row of each kind of statement is there."""
    for one in beginnings:
        report(dataclasses.asdict(one))
    figures = "first row after {0.first} s, later {0.later} s; processor {0.cpu} s, later {0.cpu_later} s"
    return [(one.description, "millstream", figures.format(one)) for one in beginnings]


def shared_rows(scans: list[SharedScan]) -> list[Row]:
    """What the queries over one topic cost with consumers of their own, and with one for all."""
    for one in scans:
        report(dataclasses.asdict(one))
    label = f"{scans[0].queries} queries over one topic, {scans[0].rate:,}/s"
    return [
        (label, "one consumer" if one.shared else "one each", f"{one.cpu_percent} % of a core, {one.behind_s} s behind")
        for one in scans
    ]


def push_rows(one: PushFanOut) -> list[Row]:
    """What the subscribers got and when, and what that cost."""
    report(dataclasses.asdict(one))
    label = f"push to {one.subscribers}, {one.rate}/s"
    delivered = f"{one.per_second:,} rows/s, {one.complete} got all {one.rows:,}, {one.slow_ended} slow ones ended"
    times = f"p50 {one.p50} ms, p99 {one.p99} ms, worst {one.worst} ms; first row after {one.first_row_ms} ms"
    cost = (
        f"Python {one.python_cpu} %, JVM {one.jvm_cpu} %, clients {one.client_cpu} % of a core, {one.threads} threads"
    )
    memory = f"{one.memory_before} MB, {one.memory_after} MB after 200 queries; all open in {one.open_s} s"
    return [(label, "millstream", delivered), ("", "", times), ("", "", cost), ("", "", memory)]


def page_rows(costs: list[PageCost]) -> list[Row]:
    """What Chromium and the server take in each view."""
    for one in costs:
        report(dataclasses.asdict(one))
    label = f"page, {costs[0].queries} queries, {costs[0].rate} rows/s"
    figures = "Chromium {0} %, Python {1} %, JVM {2} % of a core"
    return [(label, one.view, figures.format(one.browser_cpu, one.python_cpu, one.jvm_cpu)) for one in costs]


def report(result: dict[str, object]) -> None:
    """One JSON line."""
    print(json.dumps(result), flush=True)


def table(rows: list[Row]) -> Table:
    """The rows as a table to be read."""
    drawn = Table("measure", "engine", "figures")
    for row in rows:
        drawn.add_row(*row)
    return drawn


if __name__ == "__main__":
    main()
