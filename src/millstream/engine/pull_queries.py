"""Pull queries, which return current data: of a table's store, of snapshots of tables, or of a stream's topic.

    SELECT name FROM t WHERE id = 7          TablePullQuery: the row of one key, read from the store of t
    SELECT k, SUM(n) FROM t GROUP BY k       RelationalPullQuery: Spark's operators over a snapshot of t, without a job
    SELECT * FROM s WHERE v > 5              StreamPullQuery: Spark reads the topic of s up to its present end

The first two wait until the store has everything that was in the table's topic when the query came.
"""

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from confluent_kafka import KafkaException

from millstream.engine.api import RequestFailed
from millstream.engine.client_query import COMPLETED, LIMIT_REACHED, AnswerColumns, ClientQuery, answer_columns, new_id
from millstream.engine.context import EngineContext
from millstream.engine.kafka_offsets import Offsets
from millstream.engine.query_start import where_starts
from millstream.engine.rows import RowReader, shown_row
from millstream.engine.state import materialized_tables
from millstream.engine.supervisor import CannotRun
from millstream.plan.pull_queries import Access, KeyLookup, PullPlan
from millstream.plan.relational_nodes import RelationalNode, tables_of
from millstream.plan.steps import TransientQuery
from millstream.services.kafka_errors import message
from millstream.spark.evaluate import EvaluationFailed
from millstream.tables.answer import ConstantFailed, TableReader
from millstream.tables.followed_topic import MaterializedTable
from millstream.tables.images import MB, TableRead
from millstream.tables.materializer import TableNotReady
from millstream.tables.store import Store, StoreRemoved


@dataclass(frozen=True, slots=True)
class TableQuery:
    """A planned pull query on a table, without the keys that it reads: the same for many queries."""

    table: MaterializedTable
    columns: AnswerColumns
    reader: TableReader


def table_query(query: TransientQuery, plan: PullPlan, engine: EngineContext) -> TableQuery:
    """The parts of a pull query that do not depend on its keys."""
    table = next(k for k in materialized_tables(engine.state) if k.source.name == plan.source.name)
    return TableQuery(table, answer_columns(query), engine.spark.table_reader(plan.source, plan.plan))


def store_of(table: MaterializedTable, engine: EngineContext) -> Store:
    """A table's store with everything that is in its topic now; blocks. Raises RequestFailed if that takes too long."""
    try:
        return engine.tables.store(table)
    except TableNotReady as failure:
        raise RequestFailed(50000, str(failure)) from failure


class TablePullQuery(ClientQuery):
    """A pull query on a table: its rows by key, including everything in the table's topic when it starts."""

    push = False

    def __init__(self, query: TableQuery, accesses: Sequence[Access], store: Store) -> None:
        super().__init__(query.columns, new_id(query.table.source))
        self.ending = ""
        self._reader, self._accesses, self.store = query.reader, accesses, store
        self.short = all(isinstance(access, KeyLookup) for access in accesses)
        self._closed = False

    def __iter__(self) -> Iterator[list[Any] | None]:
        """Yield the rows as JSON values, up to LIMIT."""
        try:
            for values in self._reader.rows(self._accesses, self.store):
                if self._closed:
                    return
                yield shown_row(values, self.types)
        except (StoreRemoved, ConstantFailed) as failure:
            raise RequestFailed(40001, str(failure)) from failure
        except EvaluationFailed as failure:
            raise RequestFailed(50000, f"the query failed: {failure}") from failure

    def close(self) -> None:
        """Stop reading rows; may be called by any thread, and more than once."""
        self._closed = True


class RelationalPullQuery(ClientQuery):
    """A relational pull query (joins, GROUP BY, UNION and so on) over a consistent snapshot of its tables."""

    push = False

    def __init__(
        self,
        query: TransientQuery,
        node: RelationalNode,
        engine: EngineContext,
        instead: "TablePullQuery | None" = None,
    ) -> None:
        """Take the snapshots. `instead` is a fallback that runs if this query fails before its first row.

        Raises RequestFailed if a table's store has not caught up with its topic, TableTooLarge if the rows do not fit
        into the memory for images.
        """
        super().__init__(answer_columns(query), new_id(query.sources[0]))
        self.ending, self._instead = "", instead
        self._node, self._context = node, engine
        self._closed = threading.Event()
        materialized = {k.source.name: k for k in materialized_tables(engine.state)}
        reads = [TableRead(materialized[rows.source.name], rows.accesses) for rows in tables_of(node)]
        try:
            self._snapshots = engine.images.snapshots(reads)
        except ConstantFailed as failure:
            raise RequestFailed(40001, str(failure)) from failure
        except (TableNotReady, EvaluationFailed) as failure:
            raise RequestFailed(50000, str(failure)) from failure

    def __iter__(self) -> Iterator[list[Any] | None]:
        """Yield the rows as JSON values. Raises RequestFailed if the query fails, or exceeds its time or memory."""
        server = self._context.server
        timeout, memory = int(server["millstream.pull.timeout.ms"]), int(server["millstream.pull.memory.mb"]) * MB
        emitted = 0
        try:
            read = RowReader(self.types)
            for record in self._context.spark.relational_rows(self._node, self._snapshots, timeout, memory):
                if self._closed.is_set():
                    return
                emitted += 1
                yield read(record)
        except CannotRun as failure:
            if self._instead is None or emitted:
                raise RequestFailed(50000, f"the query failed: {failure}") from failure
            yield from self._instead

    def close(self) -> None:
        """Stop reading rows; may be called by any thread, and more than once."""
        self._closed.set()
        if self._instead is not None:
            self._instead.close()


class StreamPullQuery(ClientQuery):
    """A pull query over a stream: the records in its topic when it starts, from the time on that its WHERE requires."""

    push = False

    def __init__(self, query: TransientQuery, settings: dict[str, str], engine: EngineContext) -> None:
        super().__init__(answer_columns(query), new_id(query.sources[0]))
        self._query, self._settings, self._context = query, settings, engine
        self._ends: dict[str, Offsets] = {s.topic: engine.kafka.ends(s.topic) for s in query.sources}
        self._starts = self._first_offsets()
        self._closed = threading.Event()

    def _first_offsets(self) -> dict[str, Offsets]:
        """Where reading begins: before it no record has the time that WHERE requires; nothing for the beginning."""
        starts = where_starts(self._query, self._context.kafka)
        return {
            topic: {partition: min(start.get(partition, 0), end) for partition, end in self._ends[topic].items()}
            for topic, start in starts.items()
        }

    def __iter__(self) -> Iterator[list[Any] | None]:
        """Yield the rows as JSON values, at times None while none arrives, up to LIMIT."""
        limit, emitted = self._query.plan.limit, 0
        if limit == 0:
            self.ending = LIMIT_REACHED
        if limit == 0 or not any(sum(ends.values()) for ends in self._ends.values()) or self._ends == self._starts:
            return
        try:
            records = self._context.spark.pull(
                self._query.plan, self.query_id, self._settings, self._starts, self._ends
            )
            read = RowReader(self.types)
            for record in records:
                if self._closed.is_set():
                    return
                emitted += 1
                self.ending = LIMIT_REACHED if emitted == limit else COMPLETED
                yield read(record)
        except CannotRun as failure:
            raise RequestFailed(50000, f"the query failed: {failure}") from failure
        except KafkaException as failure:
            raise RequestFailed(50000, message(failure)) from failure

    def close(self) -> None:
        """End the query; may be called by any thread, and more than once."""
        self._closed.set()


PullQuery = TablePullQuery | RelationalPullQuery | StreamPullQuery
