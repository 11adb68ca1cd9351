"""When the gate opens (jvm/Gate.scala), by a clock of the test's own; see live/test_live_gate.py for streams."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from pyspark.sql import SparkSession

from millstream.spark import jvm

NOW = 1_000_000
FIRST, MORE, STUCK = 20_000, 5_000, 60_000


class Table:
    """A table of a gate's, whose topic is `t`."""

    def __init__(self, gate: Any, place: int, begins: Mapping[int, int]) -> None:
        for partition, at in begins.items():
            gate.begin(place, "t", partition, at)
        self._lane = gate.lane(place)

    def read(self, partition: int, offset: int, sent: bool = True) -> None:
        """A record is read, goes to the fold or is left out, and the next one is asked for."""
        self._lane.part(partition).gave()
        if sent:
            self._lane.send(partition, offset)
        self.ask(partition, offset + 1)

    def ask(self, partition: int, offset: int, now: int = NOW) -> None:
        self._lane.part(partition).ask(now, offset)

    def arrive(self, partition: int, offset: int) -> None:
        self._lane.arrive(partition, offset)


@pytest.fixture
def shut(spark: SparkSession) -> Iterator[Any]:
    """Shuts the gate of a query over tables whose topic ends as given by partition."""

    def make(tables: int, ends: Mapping[int, int]) -> Any:
        waited = {f"t/{partition}": str(end) for partition, end in ends.items()}
        return gates.shut("Q", tables, jvm.java_map(spark, waited))

    gates = jvm.module(spark, "Gates")
    yield make
    gates.end("Q")


def test_it_opens_when_every_row_before_the_ends_is_in_its_fold(shut: Any) -> None:
    gate = shut(1, {0: 2, 1: 11})
    assert not gate.ready(NOW), "nobody has begun to read"
    table = Table(gate, 1, {0: 0, 1: 10})
    table.read(0, 0)
    table.read(0, 1, sent=False)
    table.read(1, 10)
    table.arrive(0, 0)
    assert not gate.ready(NOW)
    # Rows after the ends are not waited for, nor do they stand for others.
    table.read(1, 11)
    table.arrive(1, 11)
    assert not gate.ready(NOW)
    table.arrive(1, 10)
    assert gate.ready(NOW)


def test_empty_partitions_and_such_as_are_read_already_are_not_waited_for(shut: Any) -> None:
    gate = shut(1, {0: 0, 1: 7})
    Table(gate, 1, {0: 0, 1: 7})
    assert gate.ready(NOW)


def test_all_tables_are_waited_for(shut: Any) -> None:
    gate = shut(2, {0: 1})
    Table(gate, 1, {0: 1})
    assert not gate.ready(NOW)
    second = Table(gate, 2, {0: 0})
    assert not gate.ready(NOW)
    second.read(0, 0, sent=False)
    assert gate.ready(NOW)


def test_offsets_without_records_are_waited_for_no_longer_than_kafka_may_take(shut: Any) -> None:
    gate = shut(1, {0: 3, 1: 3})
    table = Table(gate, 1, {0: 0, 1: 0})
    table.read(0, 1)
    table.arrive(0, 1)
    assert not gate.ready(NOW + MORE + 1), "of partition 1 nothing is known yet"
    table.ask(1, 0)
    assert not gate.ready(NOW + FIRST)
    assert gate.ready(NOW + FIRST + 1)


def test_a_new_batch_goes_on_where_the_last_one_was(shut: Any) -> None:
    gate = shut(1, {0: 3})
    table = Table(gate, 1, {0: 0})
    table.ask(0, 0)
    table = Table(gate, 1, {0: 0})
    table.ask(0, 0, NOW + FIRST)
    assert gate.ready(NOW + FIRST + 1), "both batches have waited in vain"


def test_a_row_that_never_arrives_is_waited_for_a_minute(shut: Any) -> None:
    gate = shut(1, {0: 1})
    table = Table(gate, 1, {0: 0})
    table.read(0, 0)
    assert not gate.ready(NOW)
    assert not gate.ready(NOW + STUCK)
    assert gate.ready(NOW + STUCK + 1)
