"""The result of the command log: the catalog, the desired queries, each command's status. Pure functions.

    offset  command                                   desired afterwards                   status of the path
    0       CREATE STREAM s …                         none                                 stream/`S`/create SUCCESS
    1       CREATE STREAM big AS SELECT … FROM s …    CSAS_BIG_1, running                  stream/`BIG`/create SUCCESS
    2       CREATE STREAM x AS SELECT … FROM y …      CSAS_BIG_1, running                  stream/`X`/create ERROR: no y
    3       PAUSE CSAS_BIG_1                          CSAS_BIG_1, paused                   …

`applied` is one line of this table. Every server computes the same, at its start and while it runs (follower.py); the
leader has its supervisor run what is desired.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from millstream.catalog.catalog import Catalog, PersistentQuery, QueryState, RelationKind, Source, TableIndex
from millstream.catalog.facts import TopicFacts
from millstream.engine.commands import Command
from millstream.model.errors import StatementError
from millstream.plan.append_time import AppendTime, append_time
from millstream.plan.indexes import has_columns
from millstream.plan.nodes import (
    STATEFUL,
    PlanNode,
    Write,
    leaves,
    reads,
    retention,
    stateful_filters,
)
from millstream.plan.statements import outcome
from millstream.plan.steps import (
    CreateTopic,
    DeleteTopic,
    Outcome,
    PauseQuery,
    RenameSink,
    ResumeQuery,
    SetTasks,
    StartQuery,
    Step,
    StopQuery,
)
from millstream.syntax.parser import parse_one
from millstream.tables.followed_topic import MaterializedTable

TASKS = "millstream.tasks"
# The fewest cores to plan tasks for; also the number assumed for commands that do not record it.
FEWEST_CORES = 2


@dataclass(frozen=True, slots=True)
class DesiredQuery:
    """A persistent query that should exist.

    `birth` is the id of the command that created it: its checkpoint is kept under that id, so that a query of the same
    name that is created later starts anew. `starts`: see Command. `slots` is how many task slots it takes, `topic` the
    sink's, if it was created for the query and may be created again. `tasks` is how many tasks share its groups: at its
    next start, the state in its checkpoint is repartitioned to that number. `append_time`: where its latency begins.
    """

    query: PersistentQuery
    plan: Write
    birth: str
    starts: Mapping[str, Mapping[int, int]] = field(default_factory=dict)
    slots: int = 1
    topic: CreateTopic | None = None
    tasks: int = 1
    append_time: AppendTime = AppendTime.ROWTIME

    @property
    def running(self) -> bool:
        """True if it should run now; False if it is paused."""
        return self.query.state is QueryState.RUNNING

    @property
    def settings(self) -> dict[str, str]:
        """The settings that it was created under."""
        return dict(self.query.settings)

    @property
    def sharing_tasks(self) -> int | None:
        """How many tasks share its state; None for a query without state."""
        return self.tasks if shuffles(self.plan) else None


@dataclass(frozen=True, slots=True)
class CommandStatus:
    """The outcome of a command: `state` is SUCCESS or ERROR; of one that is not executed yet: see QUEUED."""

    state: str
    message: str
    query_id: str | None = None


# So many statuses are kept. Paths have the names of sources and the ids of queries, of which a catalog that changes
# each day has ever more, and each command copies the statuses.
STATUSES = 1000
# Of a command that is logged and not yet executed, in the words of ksqlDB.
QUEUED = CommandStatus("QUEUED", "Statement written to command topic")


@dataclass(frozen=True, slots=True)
class EngineState:
    """The state after the record before `position`. `statuses` are those of the latest commands, by path."""

    catalog: Catalog = field(default_factory=Catalog)
    desired: Mapping[str, DesiredQuery] = field(default_factory=dict)
    statuses: Mapping[str, CommandStatus] = field(default_factory=dict)
    position: int = 0

    @property
    def stateful(self) -> frozenset[str]:
        """The ids of the queries that keep state."""
        return frozenset(id for id, desired in self.desired.items() if desired.sharing_tasks)

    @property
    def slots(self) -> int:
        """How many task slots the running queries take."""
        return sum(w.slots for w in self.desired.values() if w.running)


@dataclass(frozen=True, slots=True)
class AppliedCommand:
    """The state after a command, with the command's outcome, or its error."""

    state: EngineState
    outcome: Outcome | None
    failure: StatementError | None = None

    @property
    def topics(self) -> tuple[CreateTopic | DeleteTopic, ...]:
        """The steps that create or delete topics."""
        return tuple(s for s in self.outcome.steps if isinstance(s, CreateTopic | DeleteTopic)) if self.outcome else ()


def applied(state: EngineState, offset: int, command: Command) -> AppliedCommand:
    """The state after the command at `offset`; a command that cannot be planned only changes its status."""
    before = replace(state, position=offset + 1)
    try:
        result = planned(command, state.catalog)
    except StatementError as failure:
        return AppliedCommand(with_status(before, command.path, CommandStatus("ERROR", str(failure))), None, failure)
    desired = dict(state.desired)
    for step in result.steps:
        _set_desired(step, desired, command, result)
    status = CommandStatus("SUCCESS", result.message, result.query_id)
    after = replace(before, catalog=result.catalog, desired=desired)
    return AppliedCommand(with_status(after, result.path, status), result)


def planned(command: Command, catalog: Catalog) -> Outcome:
    """Plan the command on `catalog`. Raises StatementError."""
    return outcome(parse_one(command.text), command.text, catalog, command.facts, command.effective)


def with_status(state: EngineState, path: str, status: CommandStatus) -> EngineState:
    """The state with a command's status, the newest of all; the oldest goes if there are more than STATUSES."""
    others = [item for item in state.statuses.items() if item[0] != path]
    return replace(state, statuses=dict([*others[1 - STATUSES :], (path, status)]))


def _set_desired(step: Step, desired: dict[str, DesiredQuery], command: Command, result: Outcome) -> None:
    """Apply a step to the desired queries; steps about topics change nothing here."""
    match step:
        case StartQuery(query, plan, tasks):
            old = desired.get(query.id)
            birth, starts = (old.birth, old.starts) if old else (command.id, command.starts)
            topic = old.topic if old else _created_topic(plan.sink.topic, result)
            shared = _configured_tasks(tasks, command) or (old.tasks if old else _default_tasks(plan, command))
            slot_count = slots(plan, command.facts.topics, shared)
            began = append_time(plan, _timed_by_columns(desired))
            desired[query.id] = DesiredQuery(query, plan, birth, starts, slot_count, topic, shared, began)
        case SetTasks(id, tasks) if id in desired:
            more = (tasks - desired[id].tasks) * shuffles(desired[id].plan)
            desired[id] = replace(desired[id], tasks=tasks, slots=desired[id].slots + more)
        case RenameSink(id, sink) if id in desired:
            old = desired[id]
            query, plan = replace(old.query, sink=sink.name), replace(old.plan, sink=sink)
            desired[id] = replace(old, query=query, plan=plan)
        case StopQuery(id):
            desired.pop(id, None)
        case PauseQuery(id) if id in desired:
            desired[id] = _with_query_state(desired[id], QueryState.PAUSED)
        case ResumeQuery(id) if id in desired:
            desired[id] = _with_query_state(desired[id], QueryState.RUNNING)


def _timed_by_columns(desired: Mapping[str, DesiredQuery]) -> frozenset[str]:
    """The topics to which queries write records with the times of columns."""
    return frozenset(d.plan.sink.topic for d in desired.values() if d.append_time is not AppendTime.ROWTIME)


def _created_topic(topic: str, result: Outcome) -> CreateTopic | None:
    return next((s for s in result.steps if isinstance(s, CreateTopic) and s.name == topic), None)


def _with_query_state(desired: DesiredQuery, state: QueryState) -> DesiredQuery:
    return replace(desired, query=replace(desired.query, state=state))


def materialized_tables(state: EngineState) -> list[MaterializedTable]:
    """The tables that can be read by key: those that a query writes, and SOURCE tables, also ones not declared yet."""
    tables = (s for s in state.catalog.sources.values() if s.kind is RelationKind.TABLE and s.created_by is not None)
    retentions = {id: retention(desired.plan) for id, desired in state.desired.items()}
    return [
        MaterializedTable(s, _is_eager(s), retentions.get(str(s.created_by)), _indexes(s, state.catalog))
        for s in tables
    ]


def _indexes(source: Source, catalog: Catalog) -> tuple[TableIndex, ...]:
    """The indexes of a table; a rebuild has those of the table whose name it will have."""
    indexes = catalog.indexes_of(source.rebuilds or source.name)
    return tuple(index for index in indexes if has_columns(source, index))


def _is_eager(source: Source) -> bool:
    """True if a table is stored before its first query. A rebuild is, so that its store is complete at the cut-over."""
    return source.read_only or source.rebuilds is not None


def slots(plan: PlanNode, topics: Mapping[str, TopicFacts], tasks: int) -> int:
    """The task slots that a plan takes while it runs: one for each partition read, and `tasks` for each grouping."""
    read = {source.name: partitions(source, topics) for source in reads(plan)}
    return sum(read[leaf.origin.name] for leaf in leaves(plan)) + tasks * shuffles(plan)


def push_tasks(plan: PlanNode, topics: Mapping[str, TopicFacts]) -> int:
    """How many tasks share the groups of a push query: two; or one if each topic has a single partition, so that its
    rows keep the order of the records."""
    return min(FEWEST_CORES, max(partitions(source, topics) for source in reads(plan)))


def shuffles(plan: PlanNode) -> int:
    """The number of stateful operators in a plan, which is the number of times rows are grouped."""
    shuffling = (node for node in plan.walk() if isinstance(node, STATEFUL))
    return sum(node.shuffles for node in shuffling) + len(stateful_filters(plan))


def _configured_tasks(tasks: int | None, command: Command) -> int:
    """The number of tasks from the WITH clause, else from the setting; 0 if neither has one."""
    return tasks or int(command.effective[TASKS] or 0)


def _default_tasks(plan: PlanNode, command: Command) -> int:
    """The default number of tasks of a new query; it is recorded in the command and never changes."""
    return command.tasks or earlier_default_tasks(_partitions_read(plan, command), command.cores)


def with_default_tasks(command: Command, result: Outcome) -> Command:
    """The command with the number of tasks of the query that it starts, if it starts one."""
    plan = next((step.plan for step in result.steps if isinstance(step, StartQuery)), None)
    return replace(command, tasks=default_tasks(_partitions_read(plan, command), command.cores)) if plan else command


def _partitions_read(plan: PlanNode, command: Command) -> list[int]:
    return [partitions(source, command.facts.topics) for source in reads(plan)]


def default_tasks(partitions: Iterable[int], cores: int) -> int:
    """The default number of tasks that share the groups of a new query, given the partitions of the topics it reads.

    As many as the topic with the most partitions has, but at least two and at most the number of cores.
    """
    return min(max(FEWEST_CORES, cores), max(FEWEST_CORES, *partitions))


def earlier_default_tasks(partitions: Iterable[int], cores: int) -> int:
    """The default for commands logged before they recorded the number: one task for a single partition."""
    return max(1, min(max(FEWEST_CORES, cores), max(partitions, default=1)))


def partitions(source: Source, topics: Mapping[str, TopicFacts]) -> int:
    """The number of partitions of a source's topic; one if it is not known."""
    return topics[source.topic].partitions if source.topic in topics else 1
