"""Transient queries: push queries, which run until they are closed, and pull queries, which return current data."""

import secrets
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any

from confluent_kafka import KafkaException, TopicPartition

from millstream.analysis.typed_expressions import ColumnPlace, ColumnReference
from millstream.catalog.catalog import Catalog, RelationKind, Source
from millstream.engine.api import RequestFailed, RowBatch
from millstream.engine.catch_up import BacklogStart
from millstream.engine.context import ClosableQuery, EngineContext, StatementContext
from millstream.engine.continuation import ContinuationRefused, ContinuationToken, decoded
from millstream.engine.facts import look_up
from millstream.engine.kafka import KafkaClient, Offsets
from millstream.engine.push_subscriptions import can_share
from millstream.engine.rows import RowReader, shown_row
from millstream.engine.session import TOKEN_PROPERTY
from millstream.engine.slots import check_slots
from millstream.engine.state import from_beginning, materialized_tables, push_tasks, slots
from millstream.engine.supervisor import CannotRun, RunningQuery
from millstream.engine.topic_fanout import BUFFER, INTERVAL, PushSubscription
from millstream.model.names import quoted
from millstream.model.settings import is_on
from millstream.model.types import SqlType
from millstream.plan.nodes import Aggregate, Join, NamedExpression, Rekey
from millstream.plan.pull_queries import Access, KeyLookup, PullPlan, check_enabled, plan_pull
from millstream.plan.queries import plan_transient
from millstream.plan.relational import scanned
from millstream.plan.relational_nodes import RelationalNode, tables_of
from millstream.plan.steps import TransientQuery
from millstream.spark.evaluate import EvaluationFailed
from millstream.syntax import tree
from millstream.tables.answer import TableReader, with_complete_indexes
from millstream.tables.images import MB, TableRead, TableTooLarge
from millstream.tables.materializer import MaterializedTable, TableNotReady
from millstream.tables.store import Store, StoreRemoved

PULSE = 0.25
BATCH = 500
# The number of rows above which a table that is scanned is kept decoded in memory (an image).
LARGE = 20_000
LIMIT_REACHED, COMPLETED = "Limit Reached", "Query Completed"
# Rows that no client has read are deleted after an hour.
TOPIC_CONFIG = {"cleanup.policy": "delete", "retention.ms": "3600000"}
PUSH_V2 = "ksql.query.push.v2.enabled"
PUSH_TOKENS = "ksql.query.push.v2.continuation.tokens.enabled"
# A client that asks for tokens gets one at least every so many seconds while records are read, with or without rows.
TOKEN_SECONDS = 5.0
NO_CONTINUATION = "the push query cannot go on after the continuation token"
PUSH_LIMIT = "ksql.max.push.queries"
PUSH_SHARED = "millstream.push.shared"
# A subscription wakes its reader when rows arrive and when it is closed.
SHARED_PULSE = 2.0


def start(
    context: StatementContext, engine: EngineContext, continuation: str = ""
) -> "PushQuery | SharedPushQuery | PullQuery":
    """Start a SELECT; iterating the result yields its rows. `continuation`: see api.Request; it concerns push queries.

    Raises StatementError if the query is not valid, RequestFailed if it is refused or a table is not ready,
    KafkaException if Kafka does not answer, CannotRun if Spark cannot start it.
    """
    query, plan = planned_pull(context, engine)
    if query.push:
        return _push(query, context, engine, continuation)
    try:
        if isinstance(query.plan.source, RelationalNode):
            return RelationalPullQuery(query, query.plan.source, engine)
        if plan is not None:
            return _pull_table(query, plan, engine)
    except TableTooLarge as failure:
        raise RequestFailed(50000, str(failure)) from failure
    except StoreRemoved as failure:
        raise RequestFailed(40001, str(failure)) from failure
    return StreamPullQuery(query, context.settings, engine)


def planned_pull(context: StatementContext, engine: EngineContext) -> tuple[TransientQuery, PullPlan | None]:
    """The plan of a SELECT, and how it reads the rows of its table if it is a plain pull query on one.

    Raises StatementError if the query is not valid, or the settings forbid it.
    """
    assert isinstance(context.statement, tree.QueryStatement)
    settings, at = context.settings, context.statement.span
    query = plan_transient(context.statement, engine.state.catalog, settings)
    if query.push:
        return query, None
    check_enabled(query, settings, at)
    relational = isinstance(query.plan.source, RelationalNode) or query.sources[0].kind is not RelationKind.TABLE
    if relational:
        return query, None
    return query, plan_pull(query, settings, at, engine.state.catalog.indexes_of(query.sources[0].name))


def _pull_table(query: TransientQuery, plan: PullPlan, engine: EngineContext) -> "TablePullQuery | RelationalPullQuery":
    """A pull query on one table: from the store, or, for a filter over a large table, from its image if that fits."""
    planned = table_query(query, plan, engine)
    answer = TablePullQuery(planned, plan.accesses, store_of(planned.table, engine))
    node = scanned(replace(plan, accesses=with_complete_indexes(plan.accesses, answer.store)))
    if node is not None and answer.store.has_more_than(LARGE):
        try:
            return RelationalPullQuery(query, node, engine, instead=answer)
        except TableTooLarge:
            return answer
    return answer


def topic_prefix(service: str, server: str) -> str:
    """The common prefix of the names of a server's push query topics; `service` is the service id."""
    return f"_millstream-{service}-transient-{server}-"


# ---------------------------------------------------------------- both


class ClientQuery:
    """The common part of transient queries: id, column names and types, and the header in ksqlDB's form (`schema`).

    `ending` is the final message that the client gets; subclasses implement the iteration and `close` (api.Rows).
    """

    push: bool
    short = False
    ending: str

    def __init__(self, answer: "AnswerColumns", id: str) -> None:
        self.query_id = id
        self.names, self.types, self.schema = answer.names, answer.types, answer.schema
        self.ending = COMPLETED


@dataclass(frozen=True, slots=True)
class AnswerColumns:
    """The columns of a query's answer: names, types, and the header in ksqlDB's form."""

    names: Sequence[str]
    types: Sequence[SqlType]
    schema: str


def answer_columns(query: TransientQuery) -> AnswerColumns:
    """The columns of a query's answer."""
    columns = tuple(query.plan.schema)
    header = ", ".join(_column(c, query) for c in query.plan.columns)
    return AnswerColumns([c.name for c in columns], [c.type for c in columns], header)


def _column(column: NamedExpression, query: TransientQuery) -> str:
    """A column in the form of ksqlDB's header: name and type, and KEY for key columns of pull queries on tables."""
    ref = column.expression
    key = isinstance(ref, ColumnReference) and ref.where in (
        ColumnPlace.KEY,
        ColumnPlace.WINDOWSTART,
        ColumnPlace.WINDOWEND,
    )
    pulled_table = not query.push and query.sources[0].kind is RelationKind.TABLE
    return f"{quoted(column.name)} {ref.type}{' KEY' if key and pulled_table else ''}"


def _id(source: Source, shared: bool = False) -> str:
    return f"{'SCALABLE_PUSH_QUERY' if shared else 'transient'}_{source.name}_{secrets.randbits(62)}"


def _named_shared(query: TransientQuery, context: StatementContext, catalog: Catalog) -> bool:
    """True if ksqlDB would answer a push query from the persistent query that writes its source (push v2)."""
    plain = not any(isinstance(n, Aggregate | Join | Rekey) for n in query.plan.walk())
    derived = bool(catalog.writers(query.sources[0].name))
    return is_on(context.settings, PUSH_V2) and context.settings["auto.offset.reset"] == "latest" and plain and derived


# ---------------------------------------------------------------- push


def _topics(query: TransientQuery) -> Mapping[str, str]:
    return {source.name: source.topic for source in query.sources}


def _push(
    query: TransientQuery, context: StatementContext, engine: EngineContext, continuation: str
) -> "PushQuery | SharedPushQuery":
    if _is_shared(query, context, engine.state.catalog):
        shared = SharedPushQuery(query, context, engine, continuation)
        admit(shared, context, engine)
        shared.start()
        return shared
    if continuation:
        raise RequestFailed(40001, f"{NO_CONTINUATION}: it has state, or does not share a consumer", context.text)
    facts = look_up(context.statement, engine.state.catalog, context.settings, engine.kafka, engine.schemas)
    tasks = push_tasks(query.plan, facts.topics)
    push = PushQuery(query, context, engine, slots(query.plan, facts.topics, tasks))
    admit(push, context, engine)
    push.start(query, context, tasks)
    return push


def _is_shared(query: TransientQuery, context: StatementContext, catalog: Catalog) -> bool:
    """True if a push query follows its topic together with others; it gives the rows that Spark would.

    But of a table that ksqlDB would share it gives the changes only that pass its WHERE, as ksqlDB does.
    """
    only_changes = _named_shared(query, context, catalog)
    return is_on(context.settings, PUSH_SHARED) and can_share(query.plan, only_changes)


def _begins_late(query: TransientQuery, context: StatementContext, catalog: Catalog) -> bool:
    """True if a push query begins with the next record: over a table only if ksqlDB would share it."""
    return _named_shared(query, context, catalog) or not from_beginning(query.sources[0], context.settings)


def admit(push: "PushQuery | SharedPushQuery", context: StatementContext, engine: EngineContext) -> None:
    """Register a push query as running, under the lock that checks how many there may be.

    Raises RequestFailed 40003, or what check_slots raises.
    """
    with engine.lock:
        limit = int(engine.server.get(PUSH_LIMIT) or 100)
        if len(engine.push) >= limit:
            raise RequestFailed(40003, f"there are {limit} push queries already, the most that {PUSH_LIMIT} allows")
        check_slots(engine.state, sum(p.slots for p in engine.push.values()), push.slots, context.settings)
        engine.push[push.query_id] = push


class PushQuery(ClientQuery, ClosableQuery):
    """A push query: Spark writes its rows to a topic of its own, which is read here."""

    push = True

    def __init__(self, query: TransientQuery, context: StatementContext, engine: EngineContext, slots: int) -> None:
        named_shared = _named_shared(query, context, engine.state.catalog)
        super().__init__(answer_columns(query), _id(query.sources[0], named_shared))
        self.statement, self.slots, self.ending = context.text, slots, LIMIT_REACHED
        self.topics, self._reason = _topics(query), ""
        self._limit, self._context = query.plan.limit, engine
        self._closed = threading.Event()
        self._topic = topic_prefix(engine.server["ksql.service.id"], engine.name) + self.query_id
        self._running: RunningQuery | None = None
        self._closing = threading.Lock()

    def start(self, query: TransientQuery, context: StatementContext, tasks: int) -> None:
        """Start it: rows that are written after this belong to the answer, even if Spark begins slightly later.

        `tasks` share its groups. Raises CannotRun, KafkaException; then the query is closed.
        """
        if self._limit == 0:
            return
        settings, kafka = context.settings, self._context.kafka
        with ExitStack() as on_failure:
            on_failure.callback(self.close)
            starts = {s.topic: kafka.ends(s.topic) for s in query.sources if not from_beginning(s, settings)}
            kafka.create(self._topic, 1, 1, TOPIC_CONFIG)
            self._running = self._context.spark.push(query.plan, self.query_id, self._topic, settings, starts, tasks)
            on_failure.pop_all()
        if self._closed.is_set():
            self._running.abort()

    def __iter__(self) -> Iterator[list[Any] | None]:
        """Yield the rows as JSON values, at times None while none arrives, until LIMIT or `close`."""
        left, read = self._limit, RowReader(self.types)
        with ExitStack() as stack:
            stack.callback(self.close)
            if left == 0:
                return
            consumer = stack.enter_context(self._context.kafka.reader())
            consumer.assign([TopicPartition(self._topic, 0, 0)])
            while not self._closed.is_set():
                first = consumer.poll(PULSE)
                records = [] if first is None else [first, *consumer.consume(BATCH, 0)]
                for record in records:
                    if record.error() is not None:
                        continue
                    yield read(record.value() or b"{}", record.key() is not None)
                    left = None if left is None else left - 1
                    if left == 0:
                        return
                if not records:
                    self._check()
                    yield None

    def _check(self) -> None:
        if self._closed.is_set():
            return
        reason = self._reason or (self._running.failure() if self._running else None)
        if reason:
            raise RequestFailed(50000, f"the query failed: {reason}", self.statement)

    def end(self, reason: str) -> None:
        """End it with an error after the rows that are in its topic."""
        self._reason = reason

    def close(self) -> None:
        """End the query and delete its topic; may be called by any thread, and more than once."""
        with self._closing:
            if self._closed.is_set():
                return
            self._closed.set()
            self._context.push.pop(self.query_id, None)
            if self._running is not None:
                self._running.abort()
            if self._limit != 0:
                self._context.spark.forget_push(self.query_id)
                self._context.kafka.delete(self._topic)


class SharedPushQuery(ClientQuery, ClosableQuery):
    """A push query whose rows come from a fan-out of its topic (engine/topic_fanout.py)."""

    push = True

    def __init__(
        self, query: TransientQuery, context: StatementContext, engine: EngineContext, continuation: str = ""
    ) -> None:
        named_shared = _named_shared(query, context, engine.state.catalog)
        super().__init__(answer_columns(query), _id(query.sources[0], named_shared))
        self.statement, self.slots, self.ending = context.text, 0, LIMIT_REACHED
        self.topics = _topics(query)
        self._left = query.plan.limit
        self._plan, self._isolation, self._context = query.plan, context.settings["isolation.level"], engine
        self._topic, self._continuation = query.sources[0].topic, continuation
        self._begins_late = _begins_late(query, context, engine.state.catalog)
        self._has_tokens = is_on(context.settings, PUSH_TOKENS)
        self._interval = int(context.settings[INTERVAL]) / 1000
        self.token: Callable[[Mapping[int, int]], str] | None = None
        self._subscription: PushSubscription | None = None
        self._closing = threading.Lock()
        self._closed = False

    def start(self) -> None:
        """Subscribe: rows that are written after this belong to the answer.

        Raises RequestFailed if it cannot go on after its token, CannotRun, KafkaException.
        """
        if self._plan.limit == 0:
            return
        progress = TOKEN_SECONDS if self._has_tokens else None
        subscription = PushSubscription(int(self._context.server[BUFFER]), self._forget, progress, self._interval)
        with ExitStack() as on_failure:
            on_failure.callback(self.close)
            topic_id = self._context.kafka.identity(self._topic) if self._has_tokens or self._continuation else ""
            if self._has_tokens:
                self.token = lambda positions: ContinuationToken(positions, self._topic, topic_id).encoded()
            start = self._backlog_start(topic_id)
            self._context.subscriptions.subscribe(self._plan, self._isolation, subscription, start)
            on_failure.pop_all()
        with self._closing:
            self._subscription = subscription
        if self._closed:
            self._context.subscriptions.leave(subscription)

    def __iter__(self) -> Iterator[list[Any] | None]:
        """Yield the rows as JSON values, at times None while none arrives, until LIMIT or `close`.

        Raises RequestFailed if a row cannot be computed, or if too many rows wait to be read.
        """
        try:
            while not self.ended:
                yield from (row for rows in self.arrived(SHARED_PULSE) for row in rows)
                yield None
        finally:
            self.close()

    @property
    def ended(self) -> bool:
        """True once its LIMIT is reached or it is closed."""
        return self._subscription is None or self._closed or self._left == 0

    def arrived(self, seconds: float = 0.0) -> list[Sequence[list[Any]]]:
        """The batches of rows since the last call; waits so many seconds if there are none. Raises RequestFailed."""
        if self._subscription is None or self._left == 0:
            return []
        try:
            batches = self._subscription.take(seconds)
        except RequestFailed as failure:
            raise RequestFailed(failure.code, failure.message, self.statement) from failure
        return [*batches] if self._left is None else [*self._limited(batches)]

    def _limited(self, batches: Sequence[RowBatch]) -> Iterator[Sequence[list[Any]]]:
        for rows in batches:
            if not self._left:
                return
            yield rows if len(rows) < self._left else rows[: self._left]
            self._left = max(0, self._left - len(rows))

    def listen(self, on_arrival: Callable[[], object]) -> None:
        """Call a function after rows have arrived and after the end, and now, since some may have arrived already."""
        if self._subscription is not None:
            self._subscription.on_arrival = on_arrival
        on_arrival()

    def _backlog_start(self, topic_id: str) -> BacklogStart | None:
        """Where it begins, unless that is the topic's end. Raises RequestFailed."""
        if self._begins_late and not self._continuation:
            return None
        bounds = self._context.subscriptions.bounds(self._topic)
        if not self._continuation:
            return BacklogStart({partition: first for partition, (first, _) in bounds.items()}, exact=False)
        try:
            starts = decoded(self._continuation).starts(self._topic, topic_id, bounds)
        except ContinuationRefused as refused:
            message = f"{NO_CONTINUATION}: {refused}\n  hint: begin anew, without {TOKEN_PROPERTY}"
            raise RequestFailed(40001, message, self.statement) from refused
        return BacklogStart(starts, exact=True)

    def close(self) -> None:
        """End the query; may be called by any thread, and more than once."""
        with self._closing:
            self._closed = True
            subscription = self._subscription
        self._forget()
        if subscription is not None:
            self._context.subscriptions.leave(subscription)

    def end(self, reason: str) -> None:
        """End it with an error, which the client gets instead of the rows that it has not read."""
        with self._closing:
            subscription = self._subscription
        if subscription is not None:
            subscription.end(reason)

    def _forget(self) -> None:
        self._context.push.pop(self.query_id, None)


def remove_leftovers(kafka: KafkaClient, service: str, server: str) -> None:
    """Delete the topics of push queries that an earlier process of this server has left."""
    prefix = topic_prefix(service, server)
    kafka.delete(*(name for name in kafka.topics() if name.startswith(prefix)))


# ---------------------------------------------------------------- pull


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
        super().__init__(query.columns, _id(query.table.source))
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
        except StoreRemoved as failure:
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
        super().__init__(answer_columns(query), _id(query.sources[0]))
        self.ending, self._instead = "", instead
        self._node, self._context = node, engine
        self._closed = threading.Event()
        kept_tables = {k.source.name: k for k in materialized_tables(engine.state)}
        reads = [TableRead(kept_tables[rows.source.name], rows.accesses) for rows in tables_of(node)]
        try:
            self._snapshots = engine.images.snapshots(reads)
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
    """A pull query over a stream: the records in its topic when it starts."""

    push = False

    def __init__(self, query: TransientQuery, settings: dict[str, str], engine: EngineContext) -> None:
        super().__init__(answer_columns(query), _id(query.sources[0]))
        self._query, self._settings, self._context = query, settings, engine
        self._ends: dict[str, Offsets] = {s.topic: engine.kafka.ends(s.topic) for s in query.sources}
        self._closed = threading.Event()

    def __iter__(self) -> Iterator[list[Any] | None]:
        """Yield the rows as JSON values, at times None while none arrives, up to LIMIT."""
        limit, emitted = self._query.plan.limit, 0
        if limit == 0:
            self.ending = LIMIT_REACHED
        if limit == 0 or not any(sum(ends.values()) for ends in self._ends.values()):
            return
        try:
            records = self._context.spark.pull(self._query.plan, self.query_id, self._settings, self._ends)
            read = RowReader(self.types)
            for record in records:
                if self._closed.is_set():
                    return
                emitted += 1
                self.ending = LIMIT_REACHED if emitted == limit else COMPLETED
                yield read(record)
        except (CannotRun, KafkaException) as failure:
            raise RequestFailed(50000, f"the query failed: {failure}") from failure

    def close(self) -> None:
        """End the query; may be called by any thread, and more than once."""
        self._closed.set()


PullQuery = TablePullQuery | RelationalPullQuery | StreamPullQuery
