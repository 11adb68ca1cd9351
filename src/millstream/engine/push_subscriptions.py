"""The push queries of a server that share consumers: one fan-out for each topic, opened and closed as they come and go.

docs/reference/queries.md#push-queries has the rules, engine/topic_fanout.py what happens to a record.
"""

import threading
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from itertools import count

from millstream.analysis.typed_expressions import TypedCall, TypedExpression
from millstream.engine.topic_fanout import Positions, PushAccess, PushSubscription, SharedEvaluation, TopicFanout
from millstream.functions.python import CATEGORY as PYTHON
from millstream.plan.nodes import ClientOutput, Filter, Flatten, PlanNode, Read, leaves
from millstream.services.loop import Loops

STATELESS = (ClientOutput, Filter, Flatten, Read)


def can_share(plan: ClientOutput) -> bool:
    """True if a plan has no state and calls no Python: filter, table functions and projection over one source.

    A function in Python may take its time, and would delay the rows of others.
    """
    nodes = tuple(plan.walk())
    stateful = any(isinstance(node, Filter) and node.remembers for node in nodes)
    return all(isinstance(node, STATELESS) for node in nodes) and not stateful and not _calls_python(nodes)


def _calls_python(nodes: tuple[PlanNode, ...]) -> bool:
    parts = (part for node in nodes for expression in _expressions(node) for part in expression.walk())
    return any(isinstance(part, TypedCall) and part.resolved.function.category == PYTHON for part in parts)


def _expressions(node: PlanNode) -> tuple[TypedExpression, ...]:
    match node:
        case ClientOutput(columns=named) | Flatten(functions=named):
            return tuple(one.expression for one in named)
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
        self._fanouts: dict[tuple[str, str], TopicFanout] = {}
        self._evaluations: dict[PushSubscription, SharedEvaluation] = {}
        self._numbers = count(1)

    @property
    def consumers(self) -> int:
        """The number of topics that are followed, each with one consumer."""
        return len(self._fanouts)

    def subscribe(
        self, plan: ClientOutput, isolation: str, capacity: int, on_end: Callable[[], object]
    ) -> PushSubscription:
        """A subscription to the rows of what is written to the plan's topic from now on; `leave` ends it.

        `isolation` is the consumer's isolation level; `capacity` and `on_end`: see PushSubscription. The plan's LIMIT
        is not applied here. Raises CannotRun if Spark cannot evaluate the plan, KafkaException.
        """
        topic, plan = leaves(plan)[0].origin.topic, replace(plan, limit=None)
        subscription = PushSubscription(capacity, on_end)
        with ExitStack() as on_failure:
            on_failure.callback(self.leave, subscription)
            evaluation = self._registered(subscription, plan, (topic, isolation))
            # The fan-out is not behind the end that Kafka has after the registration: nothing is lost in between.
            subscription.begin(self._access.ends(topic))
            evaluation.prepare()
            on_failure.pop_all()
        return subscription

    def leave(self, subscription: PushSubscription) -> None:
        """End a subscription. The last one of a plan frees its evaluation, the last one of a topic its consumer.

        May be called by any thread, and more than once.
        """
        subscription.close()
        with self._lock:
            evaluation = self._evaluations.pop(subscription, None)
            if evaluation is None:
                return
            evaluation.subscriptions.discard(subscription)
            unused = not evaluation.subscriptions
            fanout = self._without(evaluation) if unused else None
        if unused:
            self._access.release(evaluation.id)
        if fanout is not None:
            fanout.loop.stop()
            self._loops.remove(fanout.loop)
        subscription.on_end()

    def _registered(
        self, subscription: PushSubscription, plan: ClientOutput, place: tuple[str, str]
    ) -> SharedEvaluation:
        """Add a subscription to the evaluation of its plan, in the fan-out of its topic; each is created if missing."""
        with self._lock:
            fanout = self._fanouts.get(place)
            if fanout is not None:
                return self._joined(subscription, plan, fanout)
        positions = self._access.ends(place[0])
        with self._lock:
            fanout = self._fanouts.get(place) or self._opened(place, positions)
            return self._joined(subscription, plan, fanout)

    def _opened(self, place: tuple[str, str], positions: Positions) -> TopicFanout:
        topic, isolation = place
        name = f"push-{next(self._numbers)}"
        fanout = TopicFanout(name, topic, isolation, positions, self._access, self._lock, self.leave)
        self._fanouts[place] = fanout
        self._loops.add(fanout.loop)
        fanout.loop.start()
        return fanout

    def _joined(self, subscription: PushSubscription, plan: ClientOutput, fanout: TopicFanout) -> SharedEvaluation:
        evaluation = fanout.evaluations.get(plan)
        if evaluation is None:
            id = f"push_{leaves(plan)[0].origin.name}_{next(self._numbers)}"
            evaluation = fanout.evaluations[plan] = SharedEvaluation(plan, id, self._access)
        fanout.subscribe(evaluation, subscription)
        self._evaluations[subscription] = evaluation
        return evaluation

    def _without(self, evaluation: SharedEvaluation) -> TopicFanout | None:
        """Remove an evaluation; returns its fan-out if it was the last one, removed too."""
        place = next(place for place, f in self._fanouts.items() if f.evaluations.get(evaluation.plan) is evaluation)
        del self._fanouts[place].evaluations[evaluation.plan]
        return None if self._fanouts[place].evaluations else self._fanouts.pop(place)
