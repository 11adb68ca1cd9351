"""Bounded runs: the same plans over a list of records, without a broker or a Spark job."""

import threading
from binascii import b2a_base64
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import orjson
from pyspark.sql import SparkSession

from millstream.analysis.typed_expressions import Constant, TypedExpression
from millstream.catalog.catalog import RelationKind, Source
from millstream.model.schema import Column
from millstream.model.types import BIGINT, BOOLEAN, BYTES, HEADERS_TYPE, INTEGER, STRING, SqlType
from millstream.plan.nodes import ClientOutput
from millstream.plan.steps import InsertRow, StartQuery
from millstream.spark import pipeline
from millstream.spark.codec import record_codec
from millstream.spark.evaluate import Evaluator, evaluate, failures, leaf
from millstream.spark.lazy_frame import LazyFrame
from millstream.spark.lower import to_sql
from millstream.spark.types import json_reader

# The name of a pull query on a table in the processing log, and how many prepared plans are cached.
PULL = "PULL"
PREPARED = 200
_TYPES: tuple[SqlType, ...] = (BYTES, BYTES, BIGINT, HEADERS_TYPE, INTEGER, BIGINT)
_PLAIN: dict[SqlType, type] = {BOOLEAN: bool, INTEGER: int, BIGINT: int, STRING: str}
# The values of a row of an answer in wire form (types.wire_writer), and at its end whether it is a tombstone.
AnswerRow = list[Any]
# Returns the rows of each record, which the leaf with the index beside it reads. Raises EvaluationFailed.
Changes = Callable[[Sequence["Record"], Sequence[int]], Sequence[Sequence[AnswerRow]]]
# A side of a record by its columns; None for null.
Row = dict[str, Any] | None
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


class BoundedQuery:
    """A query that processes records when it is called, and keeps its state between calls. It is thread-safe."""

    def __init__(self, evaluator: Evaluator) -> None:
        self.evaluator = evaluator

    def __call__(self, records: Sequence[tuple[int, Record]]) -> list[list[Record]]:
        """The output records of each input record; an input is (index of the plan's leaf that reads it, record).

        Raises EvaluationFailed if the query fails.
        """
        outputs = self.evaluator([_wire(record) for _, record in records], [leaf for leaf, _ in records])
        return [[_record(values) for values in group] for group in outputs]


class Bounded:
    """Runs plans in one Spark session; thread-safe. `compiled`: see Evaluator."""

    def __init__(self, session: SparkSession, compiled: bool = True) -> None:
        self._session, self._compiled = session, compiled
        self._answering: dict[ClientOutput, Answering] = {}
        self._lock = threading.Lock()

    def run(self, step: StartQuery, records: Sequence[tuple[int, Record]]) -> Iterator[tuple[int, Record]]:
        """The output records of a query for records in order of arrival, each with the index of its input record.

        Each input record has the index of the plan's leaf that reads it.
        """
        outputs = self.start(step)(records)
        return ((index, record) for index, group in enumerate(outputs) for record in group)

    def start(self, step: StartQuery, before: "BoundedQuery | None" = None) -> "BoundedQuery":
        """Start a query; one that replaces `before` keeps its state. Raises EvaluationFailed."""
        frame = pipeline.written(step.plan, lambda read: record_frame(self._session), step.query.id).frame()
        earlier = None if before is None else before.evaluator
        return BoundedQuery(Evaluator(frame, _TYPES, _TYPES, self._compiled, earlier))

    def answering(self, plan: ClientOutput) -> Callable[[Sequence[Record]], list[list[Any]]]:
        """A function from records of a table to the rows of an answer, in wire form (types.wire_writer).

        Records that cannot be read are written to the processing log of PULL. A prepared plan is cached.
        """
        answering = self._answering.get(plan) or self._prepared(plan)
        return lambda records: [row[:-1] for rows in answering(records) for row in rows]

    def _prepared(self, plan: ClientOutput) -> "Answering":
        answered = pipeline.answered(plan, lambda read: record_frame(self._session), PULL).where("not tombstone")
        prepared = Answering(pipeline.in_columns(answered, plan), plan)
        with self._lock:
            while len(self._answering) >= PREPARED:
                del self._answering[next(iter(self._answering))]
            self._answering[plan] = prepared
        return prepared

    def changes(self, plan: ClientOutput, query: str, only_changes: bool) -> Changes:
        """A function from records to the rows of each, of a push query; it keeps the plan's state, and is thread-safe.

        `only_changes`: a filter over a table drops changes that do not pass, and keeps no state.
        Its processing log is that of `query`. Expressions are interpreted: compiling them would delay the first row.
        Both raise EvaluationFailed.
        """
        with failures():
            answered = pipeline.answered(
                plan, lambda read: record_frame(self._session), query, emits_changes=True, only_changes=only_changes
            )
            return Answering(pipeline.in_columns(answered, plan), plan, compiled=False)

    def values(self, expressions: Sequence[TypedExpression]) -> tuple[Any, ...]:
        """The values of expressions without columns. Raises EvaluationFailed."""
        computed = [expression for expression in expressions if not _is_plain(expression)]
        types = [expression.type or STRING for expression in computed]
        results = iter(evaluate(self._session, [to_sql(m) for m in computed], types) if computed else ())
        return tuple(m.value if isinstance(m, Constant) and _is_plain(m) else next(results) for m in expressions)

    def constant(self, row: InsertRow, now: int) -> Record:
        """The record of an INSERT VALUES, with the time `now` (epoch ms) if it has none or NULL. Raises ValueError.

        It has no key if the only key column of a table is NULL, whatever the format writes for that.
        """
        keys, values, sink = row.sink.schema.key, row.sink.schema.value, row.sink
        columns = [*row.keys, *row.values, *([row.rowtime] if row.rowtime else [])]
        computed = self.values([column.expression for column in columns])
        no_key = sink.kind is RelationKind.TABLE and len(keys) == 1 and computed[0] is None
        codec = record_codec(pipeline.side_spec(sink.key, keys, "K"), keys)
        key = None if no_key else codec.encode(_row(keys, computed))
        value = record_codec(pipeline.side_spec(sink.value, values, "V"), values).encode(
            _row(values, computed[len(keys) :])
        )
        rowtime = computed[-1] if row.rowtime else None
        return Record(key, value, now if rowtime is None else rowtime)

    def decoded(self, source: Source, record: Record) -> tuple[Row, Row]:
        """Key and value of a record without a window, by columns, None for null. Raises UnreadableRecord."""
        keys, values = source.schema.key, source.schema.value
        key = record_codec(pipeline.side_spec(source.key, keys, "K"), keys).decode(record.key)
        return key, record_codec(pipeline.side_spec(source.value, values, "V"), values).decode(record.value)


class Answering:
    """From records to the answer rows of each, of a plan; thread-safe. Constructor and calls raise EvaluationFailed."""

    def __init__(self, rows: LazyFrame, plan: ClientOutput, compiled: bool = True) -> None:
        """`rows`: pipeline.in_columns of the plan over a `record_frame`; `compiled`: see Evaluator."""
        types = [column.type for column in plan.schema]
        self._evaluator = Evaluator(rows.frame(), _TYPES, (*types, BOOLEAN), compiled)
        self._read = json_reader(types)

    def __call__(self, records: Sequence[Record], leaves: Sequence[int] = ()) -> list[list[AnswerRow]]:
        """The rows of each record; `leaves` has the index of the plan's leaf that reads it, 0 where there is none."""
        rows = self._evaluator.in_json(_records_in_json(records), bytes(leaves))
        answers: list[list[AnswerRow]] = self._read(rows)
        return answers


def _records_in_json(records: Sequence[Record]) -> bytes:
    """Rows of _TYPES, as an Evaluator converts them, at a tenth of the time."""
    return orjson.dumps([_record_in_json(record) for record in records])


def _record_in_json(record: Record) -> list[Any]:
    key, value = _base64(record.key), _base64(record.value)
    headers = record.headers and [{"KEY": name, "VALUE": _base64(data)} for name, data in record.headers]
    return [key, value, record.rowtime, headers, record.partition, record.offset]


def _base64(data: bytes | None) -> str | None:
    return None if data is None else b2a_base64(data, newline=False).decode()


def record_frame(session: SparkSession) -> LazyFrame:
    """A leaf frame of records: the columns of pipeline.RECORD, into which rows of _TYPES can be fed."""
    frame = _record_leaf(session).another()
    return frame.select("key", "value", "rowtime", _NAMED_HEADERS, "partition", "offset")


@cache
def _record_leaf(session: SparkSession) -> LazyFrame:
    return LazyFrame.of(leaf(session, list(zip(pipeline.RECORD, _TYPES, strict=True))))


def _is_plain(expression: TypedExpression) -> bool:
    """True for a constant whose Python value needs no evaluation by Spark, which would take milliseconds."""
    if not isinstance(expression, Constant):
        return False
    kind = _PLAIN.get(expression.type) if expression.type is not None else None
    return expression.value is None or (kind is not None and type(expression.value) is kind)


def _row(columns: Sequence[Column], values: Sequence[Any]) -> dict[str, Any]:
    """The leading values, by column name."""
    return {c.name: value for c, value in zip(columns, values, strict=False)}


def _record(values: Sequence[Any]) -> Record:
    key, value, rowtime, headers, partition, offset = values
    named = tuple((header["KEY"], header["VALUE"]) for header in headers or ())
    return Record(key, value, rowtime, named, partition, offset)


def _wire(record: Record) -> tuple[object, ...]:
    headers = [{"KEY": name, "VALUE": data} for name, data in record.headers]
    return record.key, record.value, record.rowtime, headers, record.partition, record.offset
