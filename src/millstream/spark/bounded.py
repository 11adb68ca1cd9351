"""Bounded runs: the same plans over a list of records, without a broker or a Spark job."""

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

# The name of a pull query on a table in the processing log, and how many prepared plans are cached.
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
        """The same record at another partition and offset."""
        return replace(self, partition=partition, offset=offset)


class Bounded:
    """Runs plans in one Spark session; thread-safe. `compiled`: see Evaluator."""

    def __init__(self, session: SparkSession, compiled: bool = True) -> None:
        self._session, self._compiled = session, compiled
        self._answering: dict[ClientOutput, Evaluator] = {}
        self._lock = threading.Lock()

    def run(self, step: StartQuery, records: Sequence[tuple[int, Record]]) -> Iterator[tuple[int, Record]]:
        """The output records of a query for records in order of arrival, each with the index of its input record.

        Each input record has the index of the plan's leaf that reads it.
        """
        frame = pipeline.written(step.plan, lambda read: self._records(), step.query.id)
        evaluator = Evaluator(frame, _TYPES, _TYPES, self._compiled)
        outputs = evaluator([_wire(record) for _, record in records], [leaf for leaf, _ in records])
        for index, group in enumerate(outputs):
            for key, value, rowtime, headers, partition, offset in group:
                named = tuple((h["KEY"], h["VALUE"]) for h in headers or ())
                yield index, Record(key, value, rowtime, named, partition, offset)

    def answering(self, plan: ClientOutput) -> Callable[[Sequence[Record]], list[bytes]]:
        """A function from records of a table to the rows of an answer, as pipeline.as_records writes them.

        Records that cannot be read are written to the processing log of PULL. A prepared plan is cached.
        """
        evaluator = self._answering.get(plan) or self._prepared(plan)
        return lambda records: [row[0] for rows in evaluator([_wire(r) for r in records]) for row in rows]

    def _prepared(self, plan: ClientOutput) -> Evaluator:
        answered = pipeline.answered(plan, lambda read: self._records(), PULL).where("not tombstone")
        prepared = Evaluator(pipeline.as_records(answered, plan).select("value"), _TYPES, (BYTES,))
        with self._lock:
            while len(self._answering) >= PREPARED:
                del self._answering[next(iter(self._answering))]
            self._answering[plan] = prepared
        return prepared

    def values(self, meanings: Sequence[TypedExpression]) -> tuple[Any, ...]:
        """The values of expressions without columns. Raises EvaluationFailed."""
        return evaluate(self._session, [to_sql(m) for m in meanings], [m.type or STRING for m in meanings])

    def constant(self, row: InsertRow, now: int) -> Record:
        """The record of an INSERT VALUES, with the time `now` (epoch ms) if it has none. Raises ValueError."""
        keys, values, sink = row.sink.schema.key, row.sink.schema.value, row.sink
        columns = [*row.keys, *row.values, *([row.rowtime] if row.rowtime else [])]
        types = [*(c.type for c in (*keys, *values)), BIGINT][: len(columns)]
        computed = evaluate(self._session, [to_sql(n.expression) for n in columns], types)
        key = one_record(pipeline.side_spec(sink.key, keys, "K"), keys).encode(_row(keys, computed))
        value = one_record(pipeline.side_spec(sink.value, values, "V"), values).encode(
            _row(values, computed[len(keys) :])
        )
        return Record(key, value, computed[-1] if row.rowtime else now)

    def _records(self) -> DataFrame:
        frame = leaf(self._session, list(zip(pipeline.RECORD, _TYPES, strict=True)))
        return frame.selectExpr("key", "value", "rowtime", _NAMED_HEADERS, "partition", "offset")


def _row(columns: Sequence[Column], values: Sequence[Any]) -> dict[str, Any]:
    """The first values, by the names of the columns."""
    return {c.name: value for c, value in zip(columns, values, strict=False)}


def _wire(record: Record) -> tuple[object, ...]:
    headers = [{"KEY": name, "VALUE": data} for name, data in record.headers]
    return record.key, record.value, record.rowtime, headers, record.partition, record.offset
