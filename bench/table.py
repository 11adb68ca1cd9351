"""The table of throughput: each workload on all engines in turns, and millstream's ratio to the better peer.

Workload("count", 1000, short=1_000_000, long=3_000_000), three rounds
passes    Kafka Streams, Flink, millstream, Kafka Streams, Flink, millstream, …
row       count, 1,000 keys | 3,000,000 | 147,000 | 356,000 | 467,000 | 1.31
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from rich.table import Table

from bench.backlog import Rate, WrongAnswers, in_turns, middle, one_pass
from bench.engines import Engine

OURS = "millstream"


@dataclass(frozen=True, slots=True)
class Workload:
    """A row of the table: what is done, with how many keys, and the records of the backlog, short and long."""

    name: str
    keys: int
    short: int
    long: int

    @property
    def title(self) -> str:
        """As the table names it."""
        return f"{self.name}, {self.keys:,} keys"


WORKLOADS = (
    *(
        Workload(name, 1_000, 1_000_000, 3_000_000)
        for name in ("filter", "count", "window", "table-join", "stream-join")
    ),
    Workload("count", 1_000_000, 1_000_000, 5_000_000),
    *(Workload(name, 1_000_000, 1_000_000, 3_000_000) for name in ("table-join", "stream-join")),
)


@dataclass(frozen=True, slots=True)
class Result:
    """The median rates of a workload, in records a second, by engine; an engine whose answers were wrong has none."""

    title: str
    records: int
    rates: dict[str, int]

    @property
    def ratio(self) -> float | None:
        """millstream's rate over that of the better peer; None if either has none."""
        peers = [rate for engine, rate in self.rates.items() if engine != OURS]
        return round(self.rates[OURS] / max(peers), 2) if peers and OURS in self.rates else None


def results(
    bootstrap: str,
    workloads: Iterable[Workload],
    long: bool,
    rounds: int,
    engines: Sequence[Engine],
    report: Callable[[dict[str, object]], None],
) -> list[Result]:
    """Measure each workload; `report` gets each pass as soon as it is over. A pass with wrong answers has no rate."""
    return [_result(bootstrap, one, one.long if long else one.short, rounds, engines, report) for one in workloads]


def _result(
    bootstrap: str,
    workload: Workload,
    records: int,
    rounds: int,
    engines: Sequence[Engine],
    report: Callable[[dict[str, object]], None],
) -> Result:
    rates = list[Rate]()
    for engine in in_turns(engines, rounds):
        try:
            rate = one_pass(engine, bootstrap, workload.name, records, workload.keys)
        except WrongAnswers as failure:
            report({"engine": engine.name, "workload": workload.title, "failure": str(failure)})
        else:
            rates.append(rate)
            report(
                {"engine": engine.name, "workload": workload.title, "records": records, "per_second": rate.per_second}
            )
    answered = {rate.engine for rate in rates}
    return Result(workload.title, records, {name: middle(rates, name) for name in answered})


def drawn(results: Sequence[Result], names: Sequence[str]) -> Table:
    """The table, with a column for each engine, in the order of `names`."""
    table = Table("workload", "records", *names, "ratio to the better peer")
    for one in results:
        rates = [f"{one.rates[name]:,}" if name in one.rates else "no answer" for name in names]
        table.add_row(one.title, f"{one.records:,}", *rates, "" if one.ratio is None else f"{one.ratio:.2f}")
    return table
