"""Bounded runs: the same plans over records that are given, with no broker and mostly without a job (DESIGN.md §8)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from pyspark.sql import DataFrame, SparkSession

from millstream.plan.nodes import Read
from millstream.plan.steps import Row, StartQuery
from millstream.spark import pipeline
from millstream.spark.constants import record_of


@dataclass(frozen=True, slots=True)
class Record:
    """A record of a topic: bytes (None = null), time in epoch ms, headers, partition and offset."""

    key: bytes | None
    value: bytes | None
    rowtime: int
    headers: tuple[tuple[str, bytes | None], ...] = ()
    partition: int = 0
    offset: int = 0

    def at(self, partition: int, offset: int) -> "Record":
        """The same record at another place of a topic."""
        return replace(self, partition=partition, offset=offset)


class Bounded:
    """Runs plans in one Spark session."""

    def __init__(self, session: SparkSession) -> None:
        self._session = session

    def run(
        self, step: StartQuery, records: Sequence[Record], settings: Mapping[str, str]
    ) -> Iterator[tuple[int, Record]]:
        """What the query writes for `records` (all of one topic), each with the offset of the record it comes from."""
        if not records:
            return
        frame = pipeline.written(step.plan, lambda read: self._frame(read, records), settings, step.query.id)
        for row in frame.collect():
            headers = tuple((h["key"], _bytes(h["value"])) for h in row["headers"] or ())
            yield row["offset"], Record(_bytes(row["key"]), _bytes(row["value"]), row["rowtime"], headers)

    def constant(self, row: Row, now: int) -> Record:
        """The record of an INSERT VALUES at time `now` where it gives none."""
        key, value, rowtime = record_of(self._session, row, now)
        return Record(key, value, rowtime)

    def _frame(self, read: Read, records: Sequence[Record]) -> DataFrame:
        rows = ", ".join(map(_row_text, records))
        return self._session.sql(f"select * from values {rows} as t(key, value, rowtime, headers, partition, offset)")


def _bytes(data: bytearray | None) -> bytes | None:
    return None if data is None else bytes(data)


def _row_text(record: Record) -> str:
    headers = ", ".join(
        f"named_struct('key', {pipeline.to_sql_text(name)}, 'value', {_binary(data)})" for name, data in record.headers
    )
    array = f"cast(array({headers}) as array<struct<key: string, value: binary>>)"
    return (
        f"({_binary(record.key)}, {_binary(record.value)}, {record.rowtime}L, {array}, "
        f"{record.partition}, {record.offset}L)"
    )


def _binary(data: bytes | None) -> str:
    return "cast(null as binary)" if data is None else f"X'{data.hex()}'"
