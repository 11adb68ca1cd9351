"""What a statement comes to: the catalog after it, and the steps that Kafka, the registry and Spark need for it.

A plan is data with several readers: a dry run looks at it, EXPLAIN prints it, the engine carries it out.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from millstream.catalog.catalog import Catalog, PersistentQuery, Source
from millstream.catalog.schemas import PhysicalSchema
from millstream.plan.nodes import ClientOutput, NamedExpression, Write


@dataclass(frozen=True, slots=True)
class CreateTopic:
    """A topic to create where it does not exist; `config` are Kafka's topic settings."""

    name: str
    partitions: int
    replicas: int = 1
    config: Mapping[str, str] = field(default_factory=dict)

    @property
    def sentence(self) -> str:
        """What the step does, in words."""
        return f"create topic {self.name} with {self.partitions} partition(s)"


@dataclass(frozen=True, slots=True)
class DeleteTopic:
    """A topic to delete where it exists."""

    name: str

    @property
    def sentence(self) -> str:
        """What the step does, in words."""
        return f"delete topic {self.name}"


@dataclass(frozen=True, slots=True)
class RegisterSchema:
    """A schema to register under its subject."""

    physical: PhysicalSchema

    @property
    def sentence(self) -> str:
        """What the step does, in words."""
        return f"register a schema for {self.physical.subject}"


@dataclass(frozen=True, slots=True)
class DeleteSubjects:
    """Subjects to delete from the registry, together with the topic that they describe."""

    names: tuple[str, ...]

    @property
    def sentence(self) -> str:
        """What the step does, in words."""
        return f"delete the schemas of {', '.join(self.names)}"


@dataclass(frozen=True, slots=True)
class StartQuery:
    """A persistent query to start: its plan, from Read to Write.

    `tasks` is how many tasks are to share its groups, None where its statement does not say.
    """

    query: PersistentQuery
    plan: Write
    tasks: int | None = None

    @property
    def sentence(self) -> str:
        """What the step does, in words."""
        return f"start query {self.query.id}"


@dataclass(frozen=True, slots=True)
class SetTasks:
    """A persistent query to stop, and to start again with its state shared by another number of tasks."""

    id: str
    tasks: int

    @property
    def sentence(self) -> str:
        """What the step does, in words."""
        return f"share the state of query {self.id} among {self.tasks} task(s)"


@dataclass(frozen=True, slots=True)
class QueryStep:
    """A step that is done to the persistent query of that id; a subclass says what."""

    id: str
    verb: ClassVar[str]

    @property
    def sentence(self) -> str:
        """What the step does, in words."""
        return f"{self.verb} query {self.id}"


class StopQuery(QueryStep):
    """A persistent query to stop for good: its checkpoint is deleted too."""

    __slots__ = ()
    verb = "stop"


class PauseQuery(QueryStep):
    """A persistent query to halt, keeping its checkpoint."""

    __slots__ = ()
    verb = "pause"


class ResumeQuery(QueryStep):
    """A paused query to start again from its checkpoint."""

    __slots__ = ()
    verb = "resume"


QueryChange = StartQuery | StopQuery | PauseQuery | ResumeQuery | SetTasks
Step = CreateTopic | DeleteTopic | RegisterSchema | DeleteSubjects | QueryChange


@dataclass(frozen=True, slots=True)
class Outcome:
    """A catalog statement, understood: the catalog after it, the steps in order, the message for the user.

    `warning` marks a statement that changed nothing (IF NOT EXISTS of what exists). `path` is the command's id,
    e.g. stream/`S`/create. `query_id` is the persistent query it started, if any.
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


@dataclass(frozen=True, slots=True)
class InsertRow:
    """INSERT VALUES, understood: constant expressions for the sink's key and value columns in schema order.

    `rowtime` None means now. The expressions refer to no column.
    """

    sink: Source
    keys: tuple[NamedExpression, ...]
    values: tuple[NamedExpression, ...]
    rowtime: NamedExpression | None = None
