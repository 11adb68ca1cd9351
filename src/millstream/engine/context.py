"""The components of an engine, and the context in which a statement is executed."""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from millstream.engine.connect import ConnectClient
from millstream.engine.follower import Follower
from millstream.engine.kafka import KafkaClient
from millstream.engine.lease import Lease
from millstream.engine.log import CommandLog
from millstream.engine.push_subscriptions import PushSubscriptions
from millstream.engine.schemas import RegistryAccess
from millstream.engine.session import RequestSession
from millstream.engine.spark_runtime import SparkRuntime
from millstream.engine.state import QUEUED, CommandStatus, EngineState
from millstream.engine.supervisor import Supervisor
from millstream.plan.steps import TransientQuery
from millstream.services.loop import Loops
from millstream.syntax import tree
from millstream.tables.images import TableImages
from millstream.tables.materializer import Materializer


class ClosableQuery:
    """A push query that a client reads, as other components see it. `topics`: those that it reads, by source."""

    statement: str
    planned: TransientQuery
    slots: int
    topics: Mapping[str, str]

    def close(self) -> None:
        """End the query as its client does: it gets no error."""

    def end(self, reason: str) -> None:
        """End the query with an error, which its client gets."""


@dataclass(frozen=True, slots=True)
class EngineContext:
    """The components of a running engine, with its loops; `close` ends them all.

    `at_start` are the settings that the server has started with, `configuration` the names of those in its
    configuration, `name` its own name, `host` its address (host:port), `url` that with its scheme, `log_topic` the
    topic of the processing log, `queued` the offsets of commands by path whose statements were answered before they
    were executed, `confinement` what Python functions may not do on this machine. `connect` is None
    if no Kafka Connect is configured.
    """

    at_start: Mapping[str, str]
    configuration: frozenset[str]
    name: str
    host: str
    url: str
    log_topic: str
    confinement: str
    kafka: KafkaClient
    log: CommandLog
    lease: Lease
    follower: Follower
    supervisor: Supervisor
    spark: SparkRuntime
    schemas: RegistryAccess
    connect: ConnectClient | None
    tables: Materializer
    images: TableImages
    loops: Loops
    subscriptions: PushSubscriptions
    close: Callable[[], None]
    push: dict[str, "ClosableQuery"] = field(default_factory=dict)
    queued: dict[str, int] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def state(self) -> EngineState:
        """The state that the command log results in so far."""
        return self.follower.state

    @property
    def statuses(self) -> Mapping[str, CommandStatus]:
        """The status of the latest command of each path, as far as it is still known."""
        state = self.state
        self._forget_executed(state.position)
        return {**state.statuses, **dict.fromkeys(list(self.queued), QUEUED)}

    def queue(self, path: str, offset: int) -> None:
        """The status of a path is QUEUED until the command at `offset` is executed."""
        self._forget_executed(self.state.position)
        self.queued[path] = offset

    def _forget_executed(self, position: int) -> None:
        for path, offset in list(self.queued.items()):
            if offset < position:
                self.queued.pop(path, None)

    @property
    def server(self) -> Mapping[str, str]:
        """The server's settings in effect: those it has started with, and over them what ALTER SYSTEM has set since."""
        return in_effect(self.at_start, self.state)

    @property
    def configured(self) -> frozenset[str]:
        """The names of the settings that the configuration or ALTER SYSTEM has set."""
        return self.configuration.union(self.state.catalog.system)

    def query_state(self, id: str) -> str:
        """A persistent query's state: from its supervisor if it runs here, else the requested state."""
        health = self.supervisor.health(id)
        return health.state if health else self.state.catalog.queries[id].state.value


def in_effect(at_start: Mapping[str, str], state: EngineState) -> Mapping[str, str]:
    """The settings that a server has started with, and over them those that ALTER SYSTEM has set."""
    return {**at_start, **state.catalog.system}


@dataclass(frozen=True, slots=True)
class StatementContext:
    """A statement in its session: `text` is its own, `session` the session after the statements before it."""

    statement: tree.Statement
    text: str
    session: RequestSession

    @property
    def settings(self) -> dict[str, str]:
        """Every setting in effect for the statement."""
        return self.session.settings
