"""Push queries, which run until they are closed: in Spark, or in the server with a consumer of their topics.

    SELECT … FROM s WHERE v > 5 EMIT CHANGES              no state: ServerPushQuery, on the fan-out of the topic of s
    the same from the beginning, or after a token         the same, after a catch-up (catch_up.py)
    SELECT k, COUNT(*) FROM s GROUP BY k EMIT CHANGES     state: ServerPushQuery, with its own reader (stateful_push.py)
    the same over more than LONGEST_BACKLOG records,      SparkPushQuery: Spark writes the rows to a topic of the query,
    a stream-stream join, functions in Python             which is read here and deleted at the end

docs/reference/queries.md#push-queries has the rules.
"""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from typing import Any

from confluent_kafka import TopicPartition

from millstream.catalog.catalog import Catalog, RelationKind
from millstream.engine import topic_access
from millstream.engine.api import RequestFailed, RowBatch
from millstream.engine.catch_up import BacklogStart
from millstream.engine.client_query import LIMIT_REACHED, ClientQuery, answer_columns, new_id
from millstream.engine.context import ClosableQuery, EngineContext, StatementContext
from millstream.engine.continuation import ContinuationRefused, ContinuationToken, decoded
from millstream.engine.facts import look_up, topics_used
from millstream.engine.kafka import KafkaClient
from millstream.engine.push_subscriptions import can_evaluate, can_share, shares_stream_time
from millstream.engine.query_start import at_end, from_beginning, push_starts
from millstream.engine.rows import RowReader
from millstream.engine.session import TOKEN_PROPERTY
from millstream.engine.slots import check_slots
from millstream.engine.state import push_tasks, slots
from millstream.engine.stateful_push import StatefulStart
from millstream.engine.supervisor import RunningQuery
from millstream.engine.topic_fanout import BUFFER, INTERVAL, PushSubscription
from millstream.model.setting_table import IDLE_CLOCK
from millstream.model.settings import is_on
from millstream.plan.nodes import Aggregate, Join, Rekey, lookup_tables
from millstream.plan.steps import TransientQuery

# The longest wait for a record, in seconds, and the most records that are taken together.
PULSE = 0.25
BATCH = 500
# Rows that no client has read are deleted after an hour.
TOPIC_CONFIG = {"cleanup.policy": "delete", "retention.ms": "3600000"}
PUSH_V2 = "ksql.query.push.v2.enabled"
PUSH_TOKENS = "ksql.query.push.v2.continuation.tokens.enabled"
# The seconds after which a client that asks for tokens gets one while records are read, with or without rows.
TOKEN_SECONDS = 5.0
NO_CONTINUATION = "the push query cannot go on after the continuation token"
PUSH_LIMIT = "ksql.max.push.queries"
PUSH_SHARED = "millstream.push.shared"
# The longest backlog, in records, of a query with state that the server evaluates itself. Over a longer one Spark
# catches up sooner, although it starts later (docs/design/014-start.md).
LONGEST_BACKLOG = 50_000
# A subscription wakes its reader when rows arrive and when it is closed.
SHARED_PULSE = 2.0


def topic_prefix(service: str, server: str) -> str:
    """The common prefix of the names of a server's push query topics; `service` is the service id."""
    return f"_millstream-{service}-transient-{server}-"


def _named_shared(query: TransientQuery, context: StatementContext, catalog: Catalog) -> bool:
    """True if ksqlDB would answer a push query from the persistent query that writes its source (push v2)."""
    plain = not any(isinstance(n, Aggregate | Join | Rekey) for n in query.plan.walk())
    derived = bool(catalog.writers(query.sources[0].name))
    return is_on(context.settings, PUSH_V2) and at_end(context.settings) and plain and derived


def _topics(query: TransientQuery) -> Mapping[str, str]:
    return {source.name: source.topic for source in query.sources}


def start(
    query: TransientQuery, context: StatementContext, engine: EngineContext, continuation: str
) -> "SparkPushQuery | ServerPushQuery":
    """Start a push query: in the server if it can evaluate the plan, else in Spark.

    For the parameters and exceptions see engine.transient.start. Also raises RequestFailed 40001 for a continuation
    token if the query cannot go on after one, 40003 if too many queries run.
    """
    topic_access.check(context.statement, engine.state.catalog, context.settings, engine.kafka)
    shared = _is_shared(query, context, engine.state.catalog)
    if continuation and not shared:
        raise RequestFailed(40001, f"{NO_CONTINUATION}: it has state, or does not share a consumer", context.text)
    stateful_start = None if shared else _stateful_start(query, context.settings, engine)
    if shared or stateful_start is not None:
        push = ServerPushQuery(query, context, engine, stateful_start, continuation)
        admit(push, context, engine)
        push.start()
        return push
    catalog, settings = engine.state.catalog, context.settings
    used = topics_used(context.statement, catalog, settings)
    facts = look_up(context.statement, used, catalog, settings, engine.kafka, engine.schemas)
    tasks = push_tasks(query.plan, facts.topics)
    spark_push = SparkPushQuery(query, context, engine, slots(query.plan, facts.topics, tasks))
    admit(spark_push, context, engine)
    spark_push.start(query, context, tasks)
    return spark_push


def _is_shared(query: TransientQuery, context: StatementContext, catalog: Catalog) -> bool:
    """True if a push query follows its topic together with others; it gives the rows that Spark would.

    But of a table that ksqlDB would share it gives the changes only that pass its WHERE, as ksqlDB does.
    """
    only_changes = _named_shared(query, context, catalog)
    return is_on(context.settings, PUSH_SHARED) and can_share(query.plan, only_changes)


def _stateful_start(query: TransientQuery, settings: Mapping[str, str], engine: EngineContext) -> StatefulStart | None:
    """The start of a push query with state in each of its topics if the server evaluates it; None if Spark does.

    Spark begins later, but is faster over many records. So it evaluates queries over long backlogs; queries over
    backlogs of several partitions that share stream time, since the server would read one partition after the other;
    and queries whose stream time advances by the clock while no records arrive. Raises KafkaException.
    """
    if not (is_on(settings, PUSH_SHARED) and can_evaluate(query.plan)) or int(settings[IDLE_CLOCK]):
        return None
    bounds = {source.topic: engine.subscriptions.bounds(source.topic) for source in query.sources}
    from_first = {source.topic for source in query.sources if from_beginning(source, settings)}
    # A query that begins at the end needs no other request than that for the bounds.
    starts = {} if at_end(settings) else push_starts(query, settings, engine.kafka)
    positions = {
        topic: starts.get(topic)
        or {p: first_and_end[topic not in from_first] for p, first_and_end in partitions.items()}
        for topic, partitions in bounds.items()
    }
    ends = {topic: {p: end for p, (_, end) in partitions.items()} for topic, partitions in bounds.items()}
    backlog = sum(
        max(0, end - positions[topic][p]) for topic, partitions in ends.items() for p, end in partitions.items()
    )
    streams = {source.topic for source in query.sources if source.kind is RelationKind.STREAM}
    has_several = sum(len(bounds[topic]) for topic in streams) > 1
    if backlog > LONGEST_BACKLOG or (backlog and has_several and shares_stream_time(query.plan)):
        return None
    return StatefulStart(positions, {table.topic: ends[table.topic] for table in lookup_tables(query.plan)})


def _begins_at_end(query: TransientQuery, context: StatementContext, catalog: Catalog) -> bool:
    """True if a push query begins with the next record: over a table only if ksqlDB would share it."""
    is_stream = query.sources[0].kind is RelationKind.STREAM
    return _named_shared(query, context, catalog) or (is_stream and at_end(context.settings))


def admit(push: "SparkPushQuery | ServerPushQuery", context: StatementContext, engine: EngineContext) -> None:
    """Register a push query as running, under the lock that checks how many there may be.

    Raises RequestFailed 40003, or what check_slots raises.
    """
    with engine.lock:
        limit = int(engine.server.get(PUSH_LIMIT) or 100)
        if len(engine.push) >= limit:
            raise RequestFailed(40003, f"there are {limit} push queries already, the most that {PUSH_LIMIT} allows")
        check_slots(engine.state, sum(p.slots for p in engine.push.values()), push.slots, context.settings)
        engine.push[push.query_id] = push


class SparkPushQuery(ClientQuery, ClosableQuery):
    """A push query: Spark writes its rows to a topic of its own, which is read here."""

    push = True

    def __init__(self, query: TransientQuery, context: StatementContext, engine: EngineContext, slots: int) -> None:
        named_shared = _named_shared(query, context, engine.state.catalog)
        super().__init__(answer_columns(query), new_id(query.sources[0], named_shared))
        self.statement, self.planned, self.slots = context.text, query, slots
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
            starts = push_starts(query, settings, kafka)
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
                self.ending = LIMIT_REACHED
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
                        self.ending = LIMIT_REACHED
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


class ServerPushQuery(ClientQuery, ClosableQuery):
    """A push query that is evaluated in the server: from a fan-out of its topic (engine/topic_fanout.py), or, if it has
    state, by a reader of its own (engine/stateful_push.py)."""

    push = True

    def __init__(
        self,
        query: TransientQuery,
        context: StatementContext,
        engine: EngineContext,
        stateful_start: StatefulStart | None = None,
        continuation: str = "",
    ) -> None:
        named_shared = _named_shared(query, context, engine.state.catalog)
        super().__init__(answer_columns(query), new_id(query.sources[0], named_shared))
        self.statement, self.planned, self.slots = context.text, query, 0
        self.topics = _topics(query)
        self._left = query.plan.limit
        self._plan, self._settings, self._context = query.plan, context.settings, engine
        self._topic, self._continuation = query.sources[0].topic, continuation
        self._stateful_start = stateful_start
        self._begins_at_end = _begins_at_end(query, context, engine.state.catalog)
        self._has_tokens = is_on(context.settings, PUSH_TOKENS) and stateful_start is None
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
            self.ending = LIMIT_REACHED
            return
        progress = TOKEN_SECONDS if self._has_tokens else None
        subscription = PushSubscription(int(self._context.server[BUFFER]), self._forget, progress, self._interval)
        with ExitStack() as on_failure:
            on_failure.callback(self.close)
            topic_id = self._context.kafka.identity(self._topic) if self._has_tokens or self._continuation else ""
            if self._has_tokens:
                self.token = lambda positions: ContinuationToken(positions, self._topic, topic_id).encoded()
            subscriptions, isolation = self._context.subscriptions, self._settings["isolation.level"]
            if self._stateful_start is not None:
                id, start = self.query_id, self._stateful_start
                subscriptions.subscribe_alone(self._plan, id, isolation, subscription, start)
            else:
                subscriptions.subscribe(self._plan, isolation, subscription, self._backlog_start(topic_id))
            on_failure.pop_all()
        with self._closing:
            self._subscription = subscription
        if self._closed:
            self._context.subscriptions.unsubscribe(subscription)

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
        """The batches of rows since the last call; waits up to `seconds` if there are none. Raises RequestFailed."""
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
            if not self._left:
                self.ending = LIMIT_REACHED

    def listen(self, on_arrival: Callable[[], object]) -> None:
        """Call a function after rows have arrived and after the end, and now, since some may have arrived already."""
        if self._subscription is not None:
            self._subscription.on_arrival = on_arrival
        on_arrival()

    def _backlog_start(self, topic_id: str) -> BacklogStart | None:
        """Where it begins, unless that is the topic's end. Raises RequestFailed."""
        if self._begins_at_end and not self._continuation:
            return None
        bounds = self._context.subscriptions.bounds(self._topic)
        if not self._continuation:
            firsts = {partition: first for partition, (first, _) in bounds.items()}
            begins = push_starts(self.planned, self._settings, self._context.kafka)
            return BacklogStart(begins.get(self._topic, firsts), exact=False)
        try:
            starts = decoded(self._continuation).starts(self._topic, topic_id, bounds)
        except ContinuationRefused as refused:
            message = f"{NO_CONTINUATION}: {refused}\n  hint: start from the beginning, without {TOKEN_PROPERTY}"
            raise RequestFailed(40001, message, self.statement) from refused
        return BacklogStart(starts, exact=True)

    def close(self) -> None:
        """End the query; may be called by any thread, and more than once."""
        with self._closing:
            self._closed = True
            subscription = self._subscription
        self._forget()
        if subscription is not None:
            self._context.subscriptions.unsubscribe(subscription)

    def end(self, reason: str) -> None:
        """End it with an error, which the client gets instead of the rows that it has not read."""
        with self._closing:
            subscription = self._subscription
        if subscription is not None:
            subscription.end(reason)

    def _forget(self) -> None:
        self._context.push.pop(self.query_id, None)


def remove_leftovers(kafka: KafkaClient, service: str, server: str, forget: Callable[[str], None]) -> None:
    """Delete the topics of push queries that an earlier process of this server has left, and their files.

    `forget` removes the files of a query; it comes first, since the queries are known by their topics only.
    """
    prefix = topic_prefix(service, server)
    left = [name for name in kafka.topics() if name.startswith(prefix)]
    for name in left:
        forget(name.removeprefix(prefix))
    kafka.delete(*left)
