"""Throughput: how fast an engine works off a backlog."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from bench.engines import OVER_WORKLOADS, Engine, EngineRun
from bench.topics import (
    TIED,
    BenchTopics,
    appends,
    delete,
    fill,
    name_keys,
    new_topics,
    sample,
    wait_for_committed,
    wait_for_records,
    wait_for_total,
)

# Seconds without an answer: a table join has no output before its table is read.
PATIENCE = 240.0
SAMPLE = 20_000


@dataclass(frozen=True, slots=True)
class Rate:
    """One pass over a backlog: records in, records out, and seconds.

    They begin when the engine can read the records, and end with the broker's last append of an answer; with
    exactly_once_v2 when all answers are seen to be committed.
    """

    engine: str
    workload: str
    keys: int
    records: int
    answers: int
    seconds: float

    @property
    def per_second(self) -> int:
        """Records of the backlog per second."""
        return round(self.records / self.seconds)


class WrongAnswers(RuntimeError):
    """Answers of an engine that are missing, or not what was put in."""


def throughput(
    bootstrap: str, workload: str, records: int, keys: int, rounds: int, engines: list[Engine]
) -> list[Rate]:
    """Each engine over such a backlog, in turns, each time in new processes; WrongAnswers at the first failure."""
    return [one_pass(engine, bootstrap, workload, records, keys) for engine in in_turns(engines, rounds)]


def in_turns(engines: Sequence[Engine], rounds: int) -> list[Engine]:
    """The engines of all passes: each round has each engine once."""
    return [engine for _ in range(rounds) for engine in engines]


def one_pass(engine: Engine, bootstrap: str, workload: str, records: int, keys: int) -> Rate:
    """Run the engine over a backlog in new topics; WrongAnswers when answers are missing or wrong.

    The clock begins when the engine has answered the first records, and the others are let through. So it has begun to
    read, and has read a join's table. Were it to begin with the first answer, an engine that keeps rows back would have
    read on before: Flink does while it waits for the table's end, and a producer with a linger does.
    """
    topics, both = new_topics(bootstrap), workload == "stream-join"
    if workload == "table-join":
        name_keys(topics, keys)
    tied = workload not in OVER_WORKLOADS
    # Flink's OVER keeps the rows back that are younger than the last one of another partition.
    waiting = 0 if tied else TIED // 2
    let_through = fill(topics, records, keys, both, tied)
    with engine.running(workload, topics) as running:
        _await_answers(engine, workload, topics, TIED - waiting, running)
        began = let_through()
        expected = records // 2 if both else records
        answers, ended = _await_answers(engine, workload, topics, expected - waiting, running)
    check(engine, workload, sample(topics, SAMPLE), keys)
    delete(topics)
    what = f"{workload}, coalesced for {engine.coalesced} ms" if engine.coalesced else workload
    return Rate(engine.name, what, keys, records, answers, ended - began)


def _await_answers(
    engine: Engine, workload: str, topics: BenchTopics, expected: int, running: EngineRun
) -> tuple[int, float]:
    """Wait until so many answers are there, and committed if `engine.once`; returns their number, and when that was. Of
    an engine that coalesces, until so many records are counted.

    It is the time of the broker's last append, or when all are seen to be committed, in epoch s. Raises WrongAnswers.
    """
    if engine.once and not engine.coalesced:
        answers, ended = wait_for_committed(topics, expected, PATIENCE, running.alive)
    else:
        wait = wait_for_total if engine.coalesced else wait_for_records
        answers = wait(topics, expected, PATIENCE, running.alive)
        ended = appends(topics)[1] if answers else 0.0
    if answers < expected:
        raise WrongAnswers(f"{engine.name} gave {answers} of {expected} answers to {workload}")
    return answers, ended


def check(engine: Engine, workload: str, answers: list[tuple[bytes, dict[str, Any]]], keys: int) -> None:
    """Compare answers with what was put in; WrongAnswers at the first wrong one. Coalesced ones count."""
    seen: Counter[bytes] = Counter()
    for key, value in answers:
        seen[key] = value["N"] if engine.coalesced else seen[key] + 1
        if not RIGHT[workload](key, value, seen[key], keys):
            raise WrongAnswers(f"{engine.name} answered {key!r} {value}")


def _filtered(key: bytes, value: dict[str, Any], _: int, keys: int) -> bool:
    number = int(value["B"].removeprefix("ABCDEFGH"))
    return (key, value["A2"]) == (b"k%d" % (number % keys), 2 * (number + 1))


def _counted(key: bytes, value: dict[str, Any], nth: int, keys: int) -> bool:
    """The nth change of a key is its nth record: numbers that are `keys` apart."""
    return bool((value["N"], value["S"]) == (nth, nth * (int(key[1:]) + 1) + keys * nth * (nth - 1) // 2))


def _in_window(_: bytes, value: dict[str, Any], nth: int, keys: int) -> bool:
    """The key has the window in it."""
    return bool(value["N"] == nth <= -(-60_000 // keys))


def _named(key: bytes, value: dict[str, Any], _: int, keys: int) -> bool:
    """Names are older than the records, and there before either engine starts: every record finds its own."""
    return bool((value["A"] - 1) % keys == int(key[1:]) and value["NAME"] == f"name{key[1:].decode()}")


def _paired(key: bytes, value: dict[str, Any], _: int, keys: int) -> bool:
    return bool(value["C"] == value["A"] - 1 and value["C"] % keys == int(key[1:]))


def _of_ten_seconds(key: bytes, value: dict[str, Any], _: int, keys: int) -> bool:
    """Records are a millisecond apart: ten seconds are 10,000 numbers."""
    number = value["A"] - 1
    frame = range(number, max(number - 10_000, 0) - 1, -keys)
    return bool((value["N"], value["S"]) == (len(frame), sum(frame) + len(frame)) and number % keys == int(key[1:]))


RIGHT = {
    "filter": _filtered,
    "count": _counted,
    "window": _in_window,
    "table-join": _named,
    "stream-join": _paired,
    "range": _of_ten_seconds,
}


def middle(rates: list[Rate], engine: str) -> int:
    """The median rate of one engine."""
    return round(median(rate.per_second for rate in rates if rate.engine == engine))
