"""Bounded runs: the same plans over records that are given, with no broker and no job (DESIGN.md §8)."""

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from millstream.analysis.typed_expressions import TypedExpression
from millstream.model.schema import Column
from millstream.model.types import BIGINT, BYTES, HEADERS_TYPE, INTEGER, STRING, SqlType
from millstream.plan.nodes import ClientOutput
from millstream.plan.steps import InsertRow, StartQuery
from millstream.spark import pipeline
from millstream.spark.codec import one_record
from millstream.spark.evaluate import Evaluator, evaluate, leaf
from millstream.spark.lower import to_sql

# What a pull query on a table is called in the processing log, and how many plans stay prepared.
PULL = "PULL"
PREPARED = 200
_TYPES: tuple[SqlType, ...] = (BYTES, BYTES, BIGINT, HEADERS_TYPE, INTEGER, BIGINT)
_NAMED_HEADERS = "transform(headers, h -> named_struct('key', h.F0, 'value', h.F1)) as headers"


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
    """Runs plans in one Spark session; any thread may use it."""

    def __init__(self, session: SparkSession) -> None:
        self._session = session
        self._answering: dict[ClientOutput, Evaluator] = {}
        self._lock = threading.Lock()

    def run(self, step: StartQuery, given: Sequence[tuple[int, Record]]) -> Iterator[tuple[int, Record]]:
        """What the query writes for records in order of arrival, each with the index of the record it comes from.

        A record is given with the place, among the plan's leaves, where it is read.
        """
        frame = pipeline.written(step.plan, lambda read: self._records(), step.query.id)
        evaluator = Evaluator(frame, _TYPES, _TYPES)
        made = evaluator([_wire(record) for _, record in given], [index for index, _ in given])
        for index, group in enumerate(made):
            for key, value, rowtime, headers, partition, offset in group:
                named = tuple((h["KEY"], h["VALUE"]) for h in headers or ())
                yield index, Record(key, value, rowtime, named, partition, offset)

    def answering(self, plan: ClientOutput) -> Callable[[Sequence[Record]], list[bytes]]:
        """What turns records of a table into the rows of an answer, as pipeline.as_records writes them.

        Records that cannot be read are told to the processing log of PULL. The same plan is prepared once.
        """
        evaluator = self._answering.get(plan) or self._prepared(plan)
        return lambda given: [row[0] for made in evaluator([_wire(r) for r in given]) for row in made]

    def _prepared(self, plan: ClientOutput) -> Evaluator:
        answered = pipeline.answered(plan, lambda read: self._records(), PULL).where("not tombstone")
        made = Evaluator(pipeline.as_records(answered, plan).select("value"), _TYPES, (BYTES,))
        with self._lock:
            while len(self._answering) >= PREPARED:
                del self._answering[next(iter(self._answering))]
            self._answering[plan] = made
        return made

    def values(self, meanings: Sequence[TypedExpression]) -> tuple[Any, ...]:
        """What expressions without columns come to. Raises EvaluationFailed."""
        return evaluate(self._session, [to_sql(m) for m in meanings], [m.type or STRING for m in meanings])

    def constant(self, row: InsertRow, now: int) -> Record:
        """The record of an INSERT VALUES, at time `now` (epoch ms) where it gives none. Raises ValueError."""
        keys, values, sink = row.sink.schema.key, row.sink.schema.value, row.sink
        given = [*row.keys, *row.values, *([row.rowtime] if row.rowtime else [])]
        types = [*(c.type for c in (*keys, *values)), BIGINT][: len(given)]
        held = evaluate(self._session, [to_sql(n.meaning) for n in given], types)
        key = one_record(pipeline.side_spec(sink.key, keys, "K"), keys).encode(_row(keys, held))
        value = one_record(pipeline.side_spec(sink.value, values, "V"), values).encode(_row(values, held[len(keys) :]))
        return Record(key, value, held[-1] if row.rowtime else now)

    def _records(self) -> DataFrame:
        frame = leaf(self._session, list(zip(pipeline.RECORD, _TYPES, strict=True)))
        return frame.selectExpr("key", "value", "rowtime", _NAMED_HEADERS, "partition", "offset")


def _row(columns: Sequence[Column], held: Sequence[Any]) -> dict[str, Any]:
    """The first values as those of the columns."""
    return {c.name: value for c, value in zip(columns, held, strict=False)}


def _wire(record: Record) -> tuple[object, ...]:
    headers = [{"KEY": name, "VALUE": data} for name, data in record.headers]
    return record.key, record.value, record.rowtime, headers, record.partition, record.offset
