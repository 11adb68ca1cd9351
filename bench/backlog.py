"""Throughput: how fast an engine works off a backlog, by the broker's append times of its output."""

from dataclasses import dataclass
from statistics import median

from bench.engines import Millstream, Peer
from bench.topics import Topics, appended_between, fill, new_topics, sample, wait_for_records

PATIENCE = 90.0


@dataclass(frozen=True, slots=True)
class Rate:
    """One pass over the backlog: records in, records out, and seconds from first to last append."""

    engine: str
    workload: str
    records: int
    answers: int
    seconds: float

    @property
    def per_second(self) -> int:
        """Records of the backlog per second."""
        return round(self.records / self.seconds)


def throughput(
    bootstrap: str, workload: str, records: int, rounds: int, engines: list[Peer | Millstream]
) -> list[Rate]:
    """Each engine over the same backlog, in turns, each time in new processes."""
    topics = new_topics(bootstrap)
    fill(topics, records)
    return [one_pass(engine, workload, topics.with_new_sink(), records) for _ in range(rounds) for engine in engines]


def one_pass(engine: Peer | Millstream, workload: str, topics: Topics, records: int) -> Rate:
    """Run the engine over the backlog once; RuntimeError when answers are missing or wrong."""
    with engine.running(workload, topics) as running:
        found = wait_for_records(topics, records, PATIENCE, running.alive)
    if found < records:
        raise RuntimeError(f"{engine.name} gave {found} of {records} answers to {workload}")
    if workload == "filter":
        check(engine.name, sample(topics, 1000))
    return Rate(engine.name, workload, records, found, appended_between(topics))


def check(engine: str, answers: list[tuple[str, dict[str, object]]]) -> None:
    """Compare answers of the filter workload with what was put in; RuntimeError at the first wrong one."""
    for key, value in answers:
        number = int(str(value["B"]).removeprefix("ABCDEFGH"))
        if (key, value["A2"]) != (f"k{number % 1000}", 2 * (number + 1)):
            raise RuntimeError(f"{engine} answered {key} {value}")


def middle(rates: list[Rate], engine: str) -> int:
    """The median rate of one engine."""
    return round(median(rate.per_second for rate in rates if rate.engine == engine))
