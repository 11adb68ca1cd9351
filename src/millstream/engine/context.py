"""What an engine is made of, and what a statement is carried out with."""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from millstream.engine.follower import Follower
from millstream.engine.kafka import KafkaClient
from millstream.engine.lease import Lease
from millstream.engine.log import CommandLog
from millstream.engine.schemas import RegistryAccess
from millstream.engine.session import RequestSession
from millstream.engine.spark_runtime import SparkRuntime
from millstream.engine.state import EngineState
from millstream.engine.supervisor import Supervisor
from millstream.services.loop import Loops
from millstream.syntax import tree
from millstream.tables.images import TableImages
from millstream.tables.materializer import Materializer


class ClosableQuery:
    """A push query that a client reads, as others see it."""

    statement: str
    slots: int

    def close(self) -> None:
        """End it."""


@dataclass(frozen=True, slots=True)
class EngineContext:
    """The parts of a running engine, and the loops among them; `close` ends them all.

    `server` are the server's settings as they are in effect, `configured` the names of those that its owner gave,
    `name` its own name, `host` its address, `log_topic` that of the processing log, `confinement` says what Python
    functions may not do on this machine.
    """

    server: Mapping[str, str]
    configured: frozenset[str]
    name: str
    host: str
    log_topic: str
    confinement: str
    kafka: KafkaClient
    log: CommandLog
    lease: Lease
    follower: Follower
    supervisor: Supervisor
    spark: SparkRuntime
    schemas: RegistryAccess
    tables: Materializer
    images: TableImages
    loops: Loops
    close: Callable[[], None]
    push: dict[str, "ClosableQuery"] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def state(self) -> EngineState:
        """What the command log says so far."""
        return self.follower.state

    def query_state(self, id: str) -> str:
        """How a persistent query is, by its supervisor if that is ours, else by what was asked of it."""
        health = self.supervisor.health(id)
        return health.state if health else self.state.catalog.queries[id].state.value


@dataclass(frozen=True, slots=True)
class StatementContext:
    """A statement in its session: `text` is its own, `session` what was said before it."""

    statement: tree.Statement
    text: str
    session: RequestSession

    @property
    def settings(self) -> dict[str, str]:
        """Every setting that the statement is said under."""
        return self.session.settings
