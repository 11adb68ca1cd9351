"""The outcome of a statement: the catalog after it, and the steps in Kafka, the registry and Spark that it needs.

A plan is data: a dry run checks it, EXPLAIN prints it, the engine executes it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from millstream.catalog.catalog import Catalog, PersistentQuery, RelationKind, Source
from millstream.catalog.schemas import PhysicalSchema
from millstream.plan.nodes import ClientOutput, NamedExpression, Write


@dataclass(frozen=True, slots=True)
class CreateTopic:
    """Create a topic if it does not exist; `config` are Kafka's topic settings."""

    name: str
    partitions: int
    replicas: int = 1
    config: Mapping[str, str] = field(default_factory=dict)

    @property
    def sentence(self) -> str:
        """The step in words, for EXPLAIN."""
        return f"create topic {self.name} with {self.partitions} partition(s)"


@dataclass(frozen=True, slots=True)
class DeleteTopic:
    """Delete a topic if it exists."""

    name: str

    @property
    def sentence(self) -> str:
        """The step in words, for EXPLAIN."""
        return f"delete topic {self.name}"


@dataclass(frozen=True, slots=True)
class RegisterSchema:
    """Register a schema under its subject."""

    physical: PhysicalSchema

    @property
    def sentence(self) -> str:
        """The step in words, for EXPLAIN."""
        return f"register a schema for {self.physical.subject}"


@dataclass(frozen=True, slots=True)
class DeleteSubjects:
    """Delete subjects from the registry, together with the topic that they describe."""

    names: tuple[str, ...]

    @property
    def sentence(self) -> str:
        """The step in words, for EXPLAIN."""
        return f"delete the schemas of {', '.join(self.names)}"


@dataclass(frozen=True, slots=True)
class StartQuery:
    """Start a persistent query; `plan` is its plan, from Read to Write.

    `tasks` is how many tasks share its groups; None if its statement does not say.
    """

    query: PersistentQuery
    plan: Write
    tasks: int | None = None

    @property
    def sentence(self) -> str:
        """The step in words, for EXPLAIN."""
        return f"start query {self.query.id}"


@dataclass(frozen=True, slots=True)
class SetTasks:
    """Stop a persistent query, repartition its state to another number of tasks, and start it again."""

    id: str
    tasks: int

    @property
    def sentence(self) -> str:
        """The step in words, for EXPLAIN."""
        return f"share the state of query {self.id} among {self.tasks} task(s)"


@dataclass(frozen=True, slots=True)
class RenameSink:
    """Let a persistent query go on under another name of its sink, with its state, positions and topic."""

    id: str
    sink: Source

    @property
    def sentence(self) -> str:
        """The step in words, for EXPLAIN."""
        return f"query {self.id} writes {self.sink.name}"


@dataclass(frozen=True, slots=True)
class QueryStep:
    """A step for the persistent query of that id; subclasses define which."""

    id: str
    verb: ClassVar[str]

    @property
    def sentence(self) -> str:
        """The step in words, for EXPLAIN."""
        return f"{self.verb} query {self.id}"


class StopQuery(QueryStep):
    """Stop a persistent query for good: its checkpoint is deleted too."""

    __slots__ = ()
    verb = "stop"


class PauseQuery(QueryStep):
    """Stop a persistent query, but keep its checkpoint."""

    __slots__ = ()
    verb = "pause"


class ResumeQuery(QueryStep):
    """Start a paused query again from its checkpoint."""

    __slots__ = ()
    verb = "resume"


QueryChange = StartQuery | StopQuery | PauseQuery | ResumeQuery | SetTasks | RenameSink
Step = CreateTopic | DeleteTopic | RegisterSchema | DeleteSubjects | QueryChange


@dataclass(frozen=True, slots=True)
class Outcome:
    """A planned catalog statement: the catalog after it, the steps in order, the message for the user.

    `warning` marks a statement that is not logged, since it changes nothing (CREATE STREAM IF NOT EXISTS of one that
    exists). `path` is the command's id, e.g. stream/`S`/create. `query_id` is the persistent query it started, if any.
    """

    catalog: Catalog
    steps: tuple[Step, ...]
    message: str
    path: str
    warning: bool = False
    query_id: str | None = None


@dataclass(frozen=True, slots=True)
class TransientQuery:
    """A SELECT that a client reads: its plan, whether it is a push query, and the sources it reads."""

    plan: ClientOutput
    push: bool
    sources: tuple[Source, ...]

    @property
    def pulled_table(self) -> Source | None:
        """The first table that a pull query on tables reads; None for a push query and for one on a stream."""
        return self.sources[0] if not self.push and self.sources[0].kind is RelationKind.TABLE else None


@dataclass(frozen=True, slots=True)
class InsertRow:
    """A planned INSERT VALUES: constant expressions for the sink's key and value columns in schema order.

    `rowtime` None means now. The expressions do not refer to columns.
    """

    sink: Source
    keys: tuple[NamedExpression, ...]
    values: tuple[NamedExpression, ...]
    rowtime: NamedExpression | None = None
