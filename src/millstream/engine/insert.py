"""Rows written by clients: INSERT INTO … VALUES, DELETE FROM, and the rows of /inserts-stream."""

import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby, repeat
from typing import Any

from confluent_kafka import KafkaException

from millstream.analysis.reserved_topics import check_writable
from millstream.catalog.catalog import Source
from millstream.engine.api import RequestFailed
from millstream.engine.context import EngineContext, StatementContext
from millstream.engine.kafka_writer import Bytes
from millstream.engine.rows import ValueMismatch, converter
from millstream.engine.session import RequestSession
from millstream.engine.spark_runtime import Pair
from millstream.engine.topic_access import write_failure
from millstream.formats.client import AWAY
from millstream.model.errors import Span, StatementError
from millstream.model.names import identifier
from millstream.model.settings import is_on
from millstream.model.types import BIGINT
from millstream.plan import deletes, inserts
from millstream.services.kafka_errors import hint, reason
from millstream.spark.codec import RegistryUnavailable, UnreadableRecord
from millstream.syntax import tree
from millstream.tables.answer import ConstantFailed

BAD_REQUEST, BAD_STATEMENT, SERVER_ERROR = 40000, 40001, 50000
TIMESTAMP_COLUMN = "ROWTIME"


def values(context: StatementContext, engine: EngineContext) -> None:
    """Execute an INSERT VALUES: its row is in Kafka when this returns.

    Raises StatementError, AccessDenied, KafkaException.
    """
    assert isinstance(context.statement, tree.InsertValues)
    row = inserts.row(context.statement, engine.state.catalog, context.settings)
    check_writable(row.sink.topic, context.statement.span, engine.server)
    try:
        record = engine.spark.constant(row)
    except ValueError as failure:
        hint_of_registry = AWAY if isinstance(failure, RegistryUnavailable) else ""
        fact = f"the row cannot be written: {failure}"
        raise StatementError(fact, context.statement.span, hint_of_registry) from failure
    inserts.check_time(record.rowtime, context.statement.span)
    inserts.check_record_key(row.sink, record.key, context.statement.span)
    try:
        if record.rowtime == 0:
            engine.spark.write_at_zero(row.sink.topic, record.key, record.value)
        else:
            engine.kafka.writer.write_for(row.sink, row.sink.topic)
            engine.kafka.writer.write(row.sink.topic, record.key, record.value, record.rowtime)
    except KafkaException as failure:
        raise write_failure(row.sink.topic, failure) from failure


def delete(context: StatementContext, engine: EngineContext) -> None:
    """Execute a DELETE FROM: a record without a value is in Kafka for each of its keys when this returns.

    Raises StatementError, AccessDenied, KafkaException; if Kafka does not take one of the records, others are written.
    """
    assert isinstance(context.statement, tree.DeleteFrom)
    deleted = deletes.deleted_keys(context.statement, engine.state.catalog, context.settings)
    topic = deleted.sink.topic
    check_writable(topic, context.statement.span, engine.server)
    try:
        keys = engine.spark.keys_of(deleted)
    except ConstantFailed as failure:
        raise StatementError(str(failure), context.statement.where.span) from failure
    now = int(time.time() * 1000)
    try:
        engine.kafka.writer.write_for(deleted.sink, topic)
        outcomes = engine.kafka.writer.write_all(topic, [(key, None, now) for key in keys])
        if refused := next(filter(None, outcomes), None):
            raise refused
    except KafkaException as failure:
        raise write_failure(topic, failure) from failure


def writable(target: str, engine: EngineContext) -> Source:
    """The source to write rows to: by its exact name, else in upper case. Raises RequestFailed."""
    name = target if target in engine.state.catalog.sources else _bare(target)
    try:
        source = inserts.writable(name, Span(1, 1), engine.state.catalog)
        check_writable(source.topic, None, engine.server)
    except StatementError as error:
        raise RequestFailed(BAD_STATEMENT, error.fact + (f"\n  hint: {error.hint}" if error.hint else "")) from error
    return source


def _bare(name: str) -> str:
    """A name as the parser resolves it: without quotes if it has some, else in upper case."""
    if len(name) > 1 and name[0] == name[-1] == "`":
        return name[1:-1].replace("``", "`")
    return name.upper()


class RowWriter:
    """Writes JSON rows to one source (api.Inserter)."""

    def __init__(self, target: str, session: RequestSession, engine: EngineContext) -> None:
        """Raises RequestFailed if the source does not exist or cannot be written to."""
        if not is_on(session.settings, inserts.ENABLED):
            raise RequestFailed(BAD_REQUEST, f"inserting rows is switched off by {inserts.ENABLED}")
        self.source, self._context = writable(target, engine), engine
        self._types = {c.name: c.type for c in self.source.schema}
        # Of streams too: a key column's name that is misspelt is left out like any field, and the key would be NULL.
        self._required = [c.name for c in self.source.schema.key]
        types = {TIMESTAMP_COLUMN: BIGINT, **self._types}
        self._columns = {name: (name, converter(type)) for name, type in types.items()}
        # The names that most clients use: in lower case, and as they are. Others are resolved for each value.
        self._usual_names = {n.lower(): c for n, c in self._columns.items() if n.isupper()} | self._columns
        if len(self._types) < len(self.source.schema.columns):
            hint = "INSERT INTO … (ROWKEY.name, ROWVALUE.name) VALUES … distinguishes them"
            raise RequestFailed(
                BAD_REQUEST,
                f"{self.source.name} has a name in the key and in the value: rows are ambiguous\n  hint: {hint}",
            )
        try:
            engine.kafka.writer.write_for(self.source, self.source.topic)
        except KafkaException as failure:
            raise RequestFailed(SERVER_ERROR, self._reason(failure)) from failure

    def insert(self, row: Mapping[str, Any]) -> None:
        """Write a row (column name → JSON value) and wait for the acknowledgement. Raises RequestFailed."""
        failure = self.insert_all([row])[0]
        if failure is not None:
            raise failure

    def insert_all(self, rows: Sequence[Mapping[str, Any]]) -> Sequence[RequestFailed | None]:
        """Write rows in order, up to the first that has no record, and wait for the acknowledgements; for each row
        None, and at last why one was refused."""
        records = self._records(rows)
        refused = next((i for i, record in enumerate(records) if isinstance(record, RequestFailed)), len(records))
        outcomes = self._written([r for r in records[:refused] if not isinstance(r, RequestFailed)])
        refusals = [r for r in records[refused : refused + 1] if isinstance(r, RequestFailed)]
        return [*map(self._failed, outcomes), *refusals]

    def _written(self, records: Sequence[tuple[Bytes, Bytes, int]]) -> Iterator[KafkaException | None]:
        """Write records (key, value, time) in order; yields None for each, or the error of one that was refused."""
        try:
            self._context.kafka.writer.write_for(self.source, self.source.topic)
        except KafkaException as failure:
            yield from repeat(failure, len(records))
            return
        for at_zero, run in groupby(records, key=lambda record: record[2] == 0):
            if at_zero:
                yield from (self._written_at_zero(key, value) for key, value, _ in run)
            else:
                yield from self._context.kafka.writer.write_all(self.source.topic, list(run))

    def _written_at_zero(self, key: Bytes, value: Bytes) -> KafkaException | None:
        try:
            self._context.spark.write_at_zero(self.source.topic, key, value)
        except KafkaException as failure:
            return failure
        return None

    def close(self) -> None:
        """No effect: the engine's producer stays open."""

    def _records(self, rows: Sequence[Mapping[str, Any]]) -> list[tuple[Bytes, Bytes, int] | RequestFailed]:
        """The record of each row, or why it cannot be encoded; all valid rows are encoded in one call."""
        checked_rows = [self._checked(row) for row in rows]
        valid = [row for row in checked_rows if not isinstance(row, RequestFailed)]
        encoded = iter(self._context.spark.records(self.source, valid))
        now = int(time.time() * 1000)
        return [n if isinstance(n, RequestFailed) else _record(next(encoded), n, now) for n in checked_rows]

    def _checked(self, row: Mapping[str, Any]) -> dict[str, Any] | RequestFailed:
        try:
            return self._named(row)
        except ValueError as failure:
            return RequestFailed(BAD_REQUEST, str(failure))

    def _named(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """The row by the source's column names, each value converted to its column's type. Raises ValueError.

        A field that is not a column is left out, as in ksqlDB.
        """
        values = {}
        for name, value in row.items():
            column_and_converter = self._usual_names.get(name) or self._columns.get(_bare(name))
            if column_and_converter is None:
                continue
            column, convert = column_and_converter
            try:
                values[column] = convert(value)
            except ValueMismatch as failure:
                raise ValueMismatch(f"column {identifier(column)}: {failure}") from failure
        self._check_key(values)
        return values

    def _failed(self, failure: KafkaException | None) -> RequestFailed | None:
        return None if failure is None else RequestFailed(SERVER_ERROR, self._reason(failure))

    def _reason(self, failure: KafkaException) -> str:
        return f"Kafka did not accept the row: {reason(write_failure(self.source.topic, failure))}{hint(failure)}"

    def _check_key(self, row: Mapping[str, Any]) -> None:
        missing = [name for name in self._required if row.get(name) is None]
        if missing:
            raise ValueMismatch(f"Key field must be specified: {', '.join(map(identifier, missing))}")


def _record(
    pair: Pair | UnreadableRecord, row: Mapping[str, Any], now: int
) -> tuple[Bytes, Bytes, int] | RequestFailed:
    if isinstance(pair, UnreadableRecord):
        return RequestFailed(BAD_REQUEST, str(pair))
    at = row.get(TIMESTAMP_COLUMN)
    if at is not None and at < 0:
        return RequestFailed(BAD_REQUEST, f"ROWTIME is negative: {at}")
    return (*pair, now if at is None else at)
