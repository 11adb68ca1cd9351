"""The push queries that a server evaluates: a fan-out of a topic for those without state, a reader for each other one.

docs/reference/queries.md#push-queries has the rules, engine/topic_fanout.py and engine/stateful_push.py what happens to
a record.
"""

import threading
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from itertools import count

from millstream.analysis.typed_expressions import TypedCall, TypedExpression
from millstream.catalog.catalog import RelationKind
from millstream.engine.catch_up import BacklogStart, CatchUp, CatchUpAccess
from millstream.engine.kafka_offsets import Bounds, Positions
from millstream.engine.push_evaluation import PushAccess, PushEvaluation
from millstream.engine.stateful_push import StatefulPush, StatefulStart
from millstream.engine.topic_fanout import PushSubscription, SharedEvaluation, TopicFanout
from millstream.functions.python import CATEGORY as PYTHON
from millstream.plan.nodes import (
    STATEFUL,
    Aggregate,
    ClientOutput,
    Filter,
    Flatten,
    Join,
    PlanNode,
    Read,
    Rekey,
    Select,
    UnionAll,
    leaves,
    lookup_tables,
)
from millstream.plan.partitions import mixes_partitions
from millstream.services.loop import Loops

# A topic, and the isolation level of the consumer that reads it.
FanoutKey = tuple[str, str]

STATELESS = (ClientOutput, Filter, Flatten, Read, Select)
IN_SERVER = (*STATELESS, *STATEFUL, Rekey, UnionAll)


def can_share(plan: ClientOutput, only_changes: bool = False) -> bool:
    """True if a plan has no state and calls no Python: filter, table functions and projection over one source.

    A function in Python may take its time, and would delay the rows of others. `only_changes`: of a table the client
    gets the changes that pass the filter, and no tombstone for a row that no longer does, which would need a state.
    """
    nodes = tuple(plan.walk())
    stateful = not only_changes and any(isinstance(node, Filter) and node.is_stateful for node in nodes)
    return all(isinstance(node, STATELESS) for node in nodes) and not stateful and not _calls_python(nodes)


def can_evaluate(plan: ClientOutput) -> bool:
    """True if the server can evaluate a plan with state over its topics, with a consumer of its own.

    Not a stream-stream join, as its stream time is limited while the topics are read at different speeds
    (jvm/StreamTimeLimit.scala); nor functions in Python, nor a stream whose topic is that of a table it looks up.
    """
    nodes, tables = tuple(plan.walk()), {table.topic for table in lookup_tables(plan)}
    sources = [leaf.origin for leaf in leaves(plan)]
    shares_topic = any(source.kind is RelationKind.STREAM and source.topic in tables for source in sources)
    joins_streams = any(isinstance(node, Join) and node.window for node in nodes)
    known = all(isinstance(node, IN_SERVER) for node in nodes)
    return known and not (shares_topic or joins_streams or _calls_python(nodes))


def shares_stream_time(plan: ClientOutput) -> bool:
    """True if rows of one partition, or of one stream of a union, may close windows for those of another."""
    return any(isinstance(node, Aggregate) and node.window and mixes_partitions(node) for node in plan.walk())


def _calls_python(nodes: Sequence[PlanNode]) -> bool:
    parts = (part for node in nodes for expression in _expressions(node) for part in expression.walk())
    categories = {part.resolved.function.category for part in parts if isinstance(part, TypedCall)}
    aggregations = (call for node in nodes if isinstance(node, Aggregate) for call in node.aggregations)
    return PYTHON in categories.union(call.category for call in aggregations)


def _expressions(node: PlanNode) -> tuple[TypedExpression, ...]:
    """The expressions that a plan node computes itself; those of its sources are not among them."""
    match node:
        case ClientOutput(columns=items) | Flatten(functions=items) | Rekey(keys=items):
            return tuple(item.expression for item in items)
        case Select(keys=keys, columns=columns):
            return tuple(item.expression for item in (*keys, *columns))
        case Aggregate(keys=keys, aggregations=calls):
            return (
                *(key.expression for key in keys),
                *(expression for call in calls for expression in call.row_expressions),
            )
        case Join(left_keys=left, right_keys=right):
            return (*left, *right)
        case Filter(condition=condition):
            return (condition,)
        case _:
            return ()


class PushSubscriptions:
    """The subscriptions of a server, by topic and plan. It is thread-safe."""

    def __init__(self, access: PushAccess, loops: Loops) -> None:
        """`loops` watches the loops of the fan-outs."""
        self._access, self._loops = access, loops
        # Guards the fan-outs, their evaluations and the evaluations' subscriptions.
        self._lock = threading.Lock()
        self._fanouts: dict[FanoutKey, TopicFanout] = {}
        self._evaluations: dict[PushSubscription, SharedEvaluation] = {}
        self._readers: dict[PushSubscription, CatchUp | StatefulPush] = {}
        self._numbers = count(1)

    @property
    def consumers(self) -> int:
        """The number of consumers: one for each topic that is followed, and for each query that reads on its own."""
        return len(self._fanouts) + len(self._readers)

    def bounds(self, topic: str) -> Bounds:
        """The first offset and the end of each partition. Raises KafkaException."""
        return self._access.bounds(topic)

    def subscribe(
        self, plan: ClientOutput, isolation: str, subscription: PushSubscription, start: BacklogStart | None = None
    ) -> None:
        """Begin a subscription to the rows of what is written to the plan's topic from now on, or from a start on.

        `isolation` is the consumer's isolation level; `unsubscribe` ends it. The plan's LIMIT is not applied here.
        Raises CannotRun if Spark cannot evaluate the plan, KafkaException.
        """
        key, plan = (leaves(plan)[0].origin.topic, isolation), replace(plan, limit=None)
        with ExitStack() as on_failure:
            on_failure.callback(self.unsubscribe, subscription)
            if start is not None:
                self._catch_up(subscription, plan, key, start)
            else:
                evaluation, _ = self._registered(subscription, plan, key)
                # The fan-out is not behind the end that Kafka has after the registration: nothing is lost in between.
                subscription.begin(self._access.ends(key[0]))
                evaluation.prepare()
            on_failure.pop_all()

    def subscribe_alone(
        self, plan: ClientOutput, id: str, isolation: str, subscription: PushSubscription, start: StatefulStart
    ) -> None:
        """Begin a subscription to the rows of a plan with state; otherwise as `subscribe`. `id` is the query's."""
        evaluation = PushEvaluation(replace(plan, limit=None), id, self._access, only_changes=False)
        name = f"push-{next(self._numbers)}-stateful"
        fail = partial(self._fail, subscription)
        push = StatefulPush(name, start, isolation, subscription, evaluation, self._access, fail)
        with ExitStack() as on_failure:
            on_failure.callback(self.unsubscribe, subscription)
            self._start_reader(subscription, push)
            on_failure.pop_all()

    def unsubscribe(self, subscription: PushSubscription) -> None:
        """End a subscription. The last one of a plan frees its evaluation, the last one of a topic its consumer.

        May be called by any thread, and more than once.
        """
        subscription.close()
        with self._lock:
            # Both are removed under one lock, so that one thread stops both loops: two threads, each waiting for a
            # loop that the other one stops, would be a deadlock.
            unshared = self._readers.pop(subscription, None)
            evaluation = self._evaluations.pop(subscription, None)
            unused = evaluation if evaluation is not None and self._removed_last(subscription, evaluation) else None
            fanout = self._without(unused) if unused is not None else None
        if unshared is not None:
            self._end(unshared)
        if unused is not None:
            unused.release()
        if fanout is not None:
            fanout.loop.stop()
            self._loops.remove(fanout.loop)
        if unshared is not None or evaluation is not None:
            subscription.on_end()

    def _removed_last(self, subscription: PushSubscription, evaluation: SharedEvaluation) -> bool:
        evaluation.subscriptions.discard(subscription)
        return not evaluation.subscriptions

    def _catch_up(
        self, subscription: PushSubscription, plan: ClientOutput, key: FanoutKey, start: BacklogStart
    ) -> None:
        """Read the topic from a start for one subscription, until it can be handed over to the fan-out."""
        name = f"push-{next(self._numbers)}-catch-up"
        backlog_evaluation = SharedEvaluation(plan, self._evaluation_id(plan), self._access)
        access = CatchUpAccess(
            self._access,
            lambda: self._join_fanout(subscription, plan, key),
            lambda: self._caught_up(subscription),
            lambda error: self._fail(subscription, error),
        )
        self._start_reader(subscription, CatchUp(name, *key, start, subscription, backlog_evaluation, access))

    def _start_reader(self, subscription: PushSubscription, reader: CatchUp | StatefulPush) -> None:
        """Prepare a reader of its own, and start it unless it has caught up or its client has left meanwhile."""
        with self._lock:
            self._readers[subscription] = reader
        reader.prepare()
        with self._lock:
            if subscription in self._readers:
                self._loops.add(reader.loop)
                reader.loop.start()

    def _join_fanout(
        self, subscription: PushSubscription, plan: ClientOutput, key: FanoutKey
    ) -> tuple[SharedEvaluation, Positions]:
        """Add a subscription that has caught up to the fan-out."""
        joined = self._registered(subscription, plan, key)
        if not subscription.is_open:
            # Its client left at the same moment, before there was anything to remove.
            self.unsubscribe(subscription)
        return joined

    def _caught_up(self, subscription: PushSubscription) -> None:
        """The fan-out has all further records of a subscription: its reader ends."""
        with self._lock:
            catch_up = self._readers.pop(subscription, None)
        if catch_up is not None:
            self._end(catch_up)

    def _end(self, reader: CatchUp | StatefulPush) -> None:
        reader.end()
        self._loops.remove(reader.loop)

    def _fail(self, subscription: PushSubscription, error: str) -> None:
        subscription.end(error)
        self.unsubscribe(subscription)

    def _registered(
        self, subscription: PushSubscription, plan: ClientOutput, key: FanoutKey
    ) -> tuple[SharedEvaluation, Positions]:
        """Add a subscription to the evaluation of its plan, in the fan-out of its topic; each is created if missing.

        Also returns the fan-out's frontier.
        """
        with self._lock:
            fanout = self._fanouts.get(key)
            if fanout is not None:
                return self._joined(subscription, plan, fanout)
        positions = self._access.ends(key[0])
        with self._lock:
            fanout = self._fanouts.get(key) or self._opened(key, positions)
            return self._joined(subscription, plan, fanout)

    def _opened(self, key: FanoutKey, positions: Positions) -> TopicFanout:
        topic, isolation = key
        name = f"push-{next(self._numbers)}"
        fanout = TopicFanout(name, topic, isolation, positions, self._access, self._lock, self.unsubscribe)
        self._fanouts[key] = fanout
        self._loops.add(fanout.loop)
        fanout.loop.start()
        return fanout

    def _evaluation_id(self, plan: ClientOutput) -> str:
        return f"push_{leaves(plan)[0].origin.name}_{next(self._numbers)}"

    def _joined(
        self, subscription: PushSubscription, plan: ClientOutput, fanout: TopicFanout
    ) -> tuple[SharedEvaluation, Positions]:
        evaluation = fanout.evaluations.get(plan)
        if evaluation is None:
            evaluation = SharedEvaluation(plan, self._evaluation_id(plan), self._access)
            fanout.evaluations[plan] = evaluation
        fanout.subscribe(evaluation, subscription)
        self._evaluations[subscription] = evaluation
        return evaluation, fanout.frontier

    def _without(self, evaluation: SharedEvaluation) -> TopicFanout | None:
        """Remove an evaluation; returns its fan-out if it was the last one, removed too."""
        key = next(key for key, f in self._fanouts.items() if f.evaluations.get(evaluation.plan) is evaluation)
        del self._fanouts[key].evaluations[evaluation.plan]
        return None if self._fanouts[key].evaluations else self._fanouts.pop(key)
