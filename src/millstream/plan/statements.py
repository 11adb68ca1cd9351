"""Statements that change the catalog: the catalog after each, and the steps to it (docs/reference/statements.md).

Pure functions of tree, catalog, facts and settings; the result is an Outcome. Every error is a StatementError.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import singledispatch

from millstream.analysis import properties, reserved_topics, schemas, serdes, sources
from millstream.analysis import replace as replacing
from millstream.analysis.coercion import widened_to_decimal
from millstream.analysis.properties import Properties
from millstream.analysis.targets import inherited, sink_topic
from millstream.analysis.wrapping import Wrapping
from millstream.catalog.catalog import Catalog, PersistentQuery, QueryKind, QueryState, RelationKind, Source, Windowed
from millstream.catalog.facts import Facts, TopicFacts
from millstream.model.errors import NotSupported, Span, StatementError
from millstream.model.names import did_you_mean, identifier
from millstream.model.schema import Schema
from millstream.model.settings import is_on
from millstream.plan import queries
from millstream.plan.functions import create_function, drop_function, functions_called
from millstream.plan.joins import repartition_streams
from millstream.plan.nodes import Select, Write, joins, leaves, reads, retention, windowed
from millstream.plan.replacing import state_kept
from millstream.plan.steps import (
    CreateTopic,
    DeleteSubjects,
    DeleteTopic,
    Outcome,
    PauseQuery,
    RegisterSchema,
    ResumeQuery,
    SetTasks,
    StartQuery,
    Step,
    StopQuery,
)
from millstream.syntax import tree

REPLACE_ENABLED = "ksql.create.or.replace.enabled"
EQUAL_PARTITIONS = "millstream.join.equal.partitions"
MATERIALIZED = "ksql.source.table.materialization.enabled"
QUERY_LIMIT = "ksql.query.persistent.active.limit"


class PlanningContext:
    """The input of planning a statement: its text, the catalog before it, the facts and the settings."""

    __slots__ = ("catalog", "facts", "settings", "text")

    def __init__(self, text: str, catalog: Catalog, facts: Facts, settings: Mapping[str, str]) -> None:
        self.text, self.catalog, self.facts, self.settings = text, catalog, facts, settings


def outcome(
    statement: tree.Statement, text: str, catalog: Catalog, facts: Facts, settings: Mapping[str, str]
) -> Outcome:
    """The outcome of a statement. `text` is its source text. Raises StatementError."""
    result = _outcome(statement, PlanningContext(text, catalog, facts, settings))
    _check_topics(result, statement.span, catalog, settings)
    return replace(result, catalog=_with_topics(result))


def _check_topics(result: Outcome, at: Span, before: Catalog, settings: Mapping[str, str]) -> None:
    """Raises StatementError if the statement would read, write or delete a topic that is not allowed."""
    for step in result.steps:
        match step:
            case CreateTopic(topic):
                reserved_topics.check_writable(topic, at, settings)
            case StartQuery(plan=plan):
                reserved_topics.check_writable(plan.sink.topic, at, settings)
            case DeleteTopic(topic):
                reserved_topics.check_deletable(topic, at, before, settings)
    for name, source in result.catalog.sources.items():
        if before.sources.get(name) != source:
            reserved_topics.check_readable(source.topic, at, settings)


def _with_topics(result: Outcome) -> Catalog:
    """The catalog after a statement, including the topics that it creates and without those that it deletes."""
    created = {step.name for step in result.steps if isinstance(step, CreateTopic)}
    deleted = {step.name for step in result.steps if isinstance(step, DeleteTopic)}
    return replace(result.catalog, topics=(result.catalog.topics | created) - deleted)


@singledispatch
def _outcome(statement: tree.Statement, context: PlanningContext) -> Outcome:
    if isinstance(statement, tree.RunScript):
        raise StatementError("unknown statement RUN SCRIPT: it is the shell's, not the server's", statement.span)
    raise NotSupported(f"{title(statement)} is not supported yet", statement.span)


def title(statement: tree.Statement) -> str:
    """The statement's kind in the language's own words, for messages."""
    words = re.findall(r"[A-Z][a-z]+", type(statement).__name__)
    return " ".join(words).upper()


# ---------------------------------------------------------------- declared sources


@_outcome.register
def _(statement: tree.CreateSource, context: PlanningContext) -> Outcome:
    what = statement.kind.value.lower()
    if statement.read_only and statement.or_replace:
        raise StatementError(
            f"Cannot add {what} '{statement.name}': CREATE OR REPLACE is not supported on source {what}s.",
            statement.span,
        )
    old = context.catalog.sources.get(statement.name)
    if old is not None and not statement.or_replace:
        return _exists(statement, old, context)
    return _declared(statement, old, context)


def _declared(statement: tree.CreateSource, old: Source | None, context: PlanningContext) -> Outcome:
    source, p = sources.declare(statement, context.text, context.catalog.types, context.facts, context.settings)
    if old is not None:
        _check_replaceable(old, source, statement.span, context)
    topic = _declared_topic(source, p, context)
    # A subject that has a schema keeps it: another application may have registered it for the topic's records.
    new = [s for s in _registrations(source) if s.physical.subject not in context.facts.latest]
    steps: tuple[Step, ...] = (*((topic,) if topic else ()), *new)
    if source.read_only and source.kind is RelationKind.TABLE and is_on(context.settings, MATERIALIZED):
        return _materialized(source, steps, context)
    path = f"{statement.kind.value.lower()}/`{source.name}`/create"
    verb = "replaced" if old else "created"
    return Outcome(context.catalog.with_source(source), steps, f"{source.kind.value.capitalize()} {verb}", path)


def _materialized(source: Source, steps: tuple[Step, ...], context: PlanningContext) -> Outcome:
    """A SOURCE table has a query that cannot be terminated: servers materialise its topic for pull queries."""
    id = f"{QueryKind.CREATE_SOURCE_TABLE.value}_{_plain(source.name)}_{context.catalog.next_query}"
    materialized = replace(source, created_by=id)
    settings = tuple(sorted(context.settings.items()))
    query = PersistentQuery(id, QueryKind.CREATE_SOURCE_TABLE, (source.name,), source.name, context.text, settings)
    catalog = context.catalog.with_source(materialized).with_new_query(query)
    path = f"table/`{source.name}`/create"
    return Outcome(catalog, steps, f"Created query with ID {id}", path, query_id=id)


def _registrations(source: Source) -> list[RegisterSchema]:
    """The schemas of a source to register; a schema that is named by its id is registered already."""
    written = [s.schema for s in (source.key, source.value) if s.schema is not None and s.format != "PROTOBUF_NOSR"]
    return [RegisterSchema(physical) for physical in written]


def _declared_topic(source: Source, p: Properties, context: PlanningContext) -> CreateTopic | None:
    if source.topic in context.facts.topics:
        return None
    return CreateTopic(source.topic, p.number("PARTITIONS") or 1, p.number("REPLICAS") or 1, _topic_config(source, p))


def _topic_config(source: Source, p: Properties, kept_ms: int | None = None) -> dict[str, str]:
    retention_ms = p.number("RETENTION_MS")
    if kept_ms is not None:
        return {"cleanup.policy": "compact,delete", "retention.ms": str(max(kept_ms, retention_ms or 0))}
    if source.kind is RelationKind.TABLE:
        if retention_ms is not None:
            raise StatementError(
                "RETENTION_MS cannot be set for a table: its topic is compacted", p.place("RETENTION_MS")
            )
        return {"cleanup.policy": "compact"}
    return {"cleanup.policy": "delete"} | ({"retention.ms": str(retention_ms)} if retention_ms is not None else {})


def _exists(statement: tree.CreateSource | tree.CreateAs, old: Source, context: PlanningContext) -> Outcome:
    kind = statement.kind.value.lower()
    fact = f"Cannot add {kind} '{old.name}': A {old.kind.value.lower()} with the same name already exists"
    if not statement.if_not_exists:
        raise StatementError(fact, statement.span, "use CREATE OR REPLACE, or DROP it first")
    return Outcome(context.catalog, (), fact + ".", f"{kind}/`{old.name}`/create", warning=True)


def _check_replaceable(old: Source, new: Source, at: Span, context: PlanningContext) -> None:
    if not is_on(context.settings, REPLACE_ENABLED):
        raise StatementError(f"CREATE OR REPLACE is switched off by {REPLACE_ENABLED}", at)
    if old.read_only:
        what = old.kind.value.lower()
        raise StatementError(
            f"Cannot add {what} '{old.name}': CREATE OR REPLACE is not supported on source {what}s.", at
        )
    replacing.check_replaceable(old, new, at)


@_outcome.register
def _(statement: tree.AlterSource, context: PlanningContext) -> Outcome:
    source = _existing(statement.name, statement.kind, statement.span, context.catalog)
    new = sources.altered(source, statement, context.catalog.types, context.text)
    path = f"{statement.kind.value.lower()}/`{source.name}`/alter"
    return Outcome(context.catalog.with_source(new), (), f"Altered {identifier(source.name)}", path)


def _existing(name: str, kind: tree.SourceKind | None, at: Span, catalog: Catalog) -> Source:
    source = catalog.sources.get(name)
    if source is None:
        what = kind.value.capitalize() if kind else "Source"
        raise StatementError(f"{what} {identifier(name)} does not exist.", at, did_you_mean(name, catalog.sources))
    if kind is not None and source.kind.name != kind.name:
        raise StatementError(
            f"Incompatible data source type is {source.kind.value}, but statement was for a {kind.value}",
            at,
            f"{identifier(name)} is a {source.kind.value.lower()}",
        )
    return source


# ---------------------------------------------------------------- CREATE … AS


@_outcome.register
def _(statement: tree.CreateAs, context: PlanningContext) -> Outcome:
    old = context.catalog.sources.get(statement.name)
    if old is not None and not statement.or_replace:
        return _exists(statement, old, context)
    plan = _planned(statement.query, statement.name, statement.span, context)
    _check_kind(statement, plan)
    p = properties.read(statement.properties, properties.CREATE_AS, statement.span)
    id = (old and old.created_by) or _query_id(statement, context.catalog)
    sink = _sink(statement, plan, p, id, context)
    kept = ""
    if old is not None:
        _check_query_replaceable(old, sink, statement.span, context)
        replaced = context.catalog.queries.get(id)
        kept = state_kept(replaced, plan, context.catalog, statement.span) if replaced else ""
    outcome = _start_query(statement, Write(plan, sink), p, old, context)
    return replace(outcome, message=f"{outcome.message}; {kept}") if kept else outcome


def _check_kind(statement: tree.CreateAs, plan: Select) -> None:
    if plan.kind.name != statement.kind.name:
        raise StatementError(
            f"Invalid result type. Your SELECT query produces a {plan.kind.value}. "
            f"Please use CREATE {plan.kind.value} AS SELECT statement instead.",
            statement.span,
        )


def _planned(query: tree.SelectQuery, sink: str, at: Span, context: PlanningContext) -> Select:
    """The plan of a persistent query into `sink`, with repartitioning if the topics of joined streams require it."""
    plan = queries.plan_persistent(query, sink, context.catalog, context.settings)
    _check_partitions(plan, at, context)
    result = repartition_streams(plan, {name: topic.partitions for name, topic in context.facts.topics.items()})
    assert isinstance(result, Select)
    return result


def _check_partitions(plan: Select, at: Span, context: PlanningContext) -> None:
    """A stream must have as many partitions as the table it looks up, as in ksqlDB, unless it is repartitioned.

    This restricts statements only: every join sends its rows to the task of their key anyway. EQUAL_PARTITIONS switches
    it off. Streams with streams, and tables with tables, join whatever partitions they have.
    """
    for join in joins(plan) if is_on(context.settings, EQUAL_PARTITIONS) else ():
        if join.kind is RelationKind.TABLE or join.right.kind is RelationKind.STREAM or any(join.repartitions):
            continue
        one, other = leaves(join.left)[0].origin, leaves(join.right)[0].origin
        topics = [context.facts.topics.get(s.topic) for s in (one, other)]
        counts = [t.partitions for t in topics if t is not None]
        if len(set(counts)) > 1:
            names = [identifier(s.name) for s in (one, other)]
            raise StatementError(
                f"Can't join {names[0]} with {names[1]} since the number of partitions don't match. "
                f"{names[0]} partitions = {counts[0]}; {names[1]} partitions = {counts[1]}.",
                at,
                f"make either one anew so that the number of partitions match, or SET '{EQUAL_PARTITIONS}'='false'",
            )


def _query_id(statement: tree.CreateAs, catalog: Catalog) -> str:
    kind = QueryKind.CREATE_STREAM_AS if statement.kind is tree.SourceKind.STREAM else QueryKind.CREATE_TABLE_AS
    return f"{kind.value}_{_plain(statement.name)}_{catalog.next_query}"


def _plain(name: str) -> str:
    """A name as part of a query's id."""
    return re.sub("[^A-Za-z0-9_]", "_", name)


def _check_query_replaceable(old: Source, new: Source, at: Span, context: PlanningContext) -> None:
    _check_replaceable(old, new, at, context)
    others = [q for q in context.catalog.writers(old.name) if q != old.created_by]
    if others:
        raise StatementError(
            f"Cannot replace {identifier(old.name)}: other queries write to it: {', '.join(others)}",
            at,
            "TERMINATE them first",
        )


def _sink(statement: tree.CreateAs, plan: Select, p: Properties, id: str, context: PlanningContext) -> Source:
    origins, schema = reads(plan), plan.schema
    topic = sink_topic(statement.name, p, context.settings)
    sources.check_topic_name(topic, p.place("KAFKA_TOPIC"))
    key = serdes.choose(
        "KEY", p, schema.key, context.settings, inherited("KEY", origins), _key_wrapping(statement.query)
    )
    value = serdes.choose("VALUE", p, schema.value, context.settings, inherited("VALUE", origins))
    keys, values = (schemas.SchemaSide(side, topic, p, context.facts, context.settings) for side in ("KEY", "VALUE"))
    key_serde = schemas.with_schema(keys, key, schema.key, statement.name)
    value_serde = schemas.with_schema(values, value, schema.value, statement.name)
    schemas.check_required(keys, key, schema.key)
    schemas.check_required(values, value, schema.value)
    return Source(
        statement.name,
        plan.kind,
        schema,
        topic,
        key_serde,
        value_serde,
        statement=context.text,
        timestamp=sources.timestamp(p, schema),
        windowed=windowed(plan),
        created_by=id,
    )


def _key_wrapping(query: tree.SelectQuery) -> Wrapping | None:
    """PARTITION BY STRUCT<…> and GROUP BY STRUCT<…> put a single key column in a record; None for other queries."""
    clause = "PARTITION BY" if query.partition_by is not None else "GROUP BY"
    return Wrapping(True, f"{clause} STRUCT<…>") if query.structured else None


def _sink_topic_step(plan: Write, p: Properties, context: PlanningContext) -> CreateTopic:
    sink = plan.sink
    source_topic = context.facts.topics.get(reads(plan)[0].topic, TopicFacts(1))
    sources.check_topic_shape(sink.topic, p, context.facts)
    config = _topic_config(sink, p, retention(plan))
    if sink.kind is RelationKind.STREAM and "retention.ms" not in config and source_topic.retention_ms is not None:
        config["retention.ms"] = str(source_topic.retention_ms)
    return CreateTopic(
        sink.topic,
        p.number("PARTITIONS") or source_topic.partitions,
        p.number("REPLICAS") or source_topic.replicas,
        config,
    )


def _start_query(
    statement: tree.CreateAs, plan: Write, p: Properties, old: Source | None, context: PlanningContext
) -> Outcome:
    topic, id = _sink_topic_step(plan, p, context), str(plan.sink.created_by)
    kind = QueryKind.CREATE_STREAM_AS if plan.kind is RelationKind.STREAM else QueryKind.CREATE_TABLE_AS
    query = _query(statement, id, kind, plan, context)
    _check_limit(statement.span, context)
    catalog = context.catalog.with_source(plan.sink).with_new_query(query)
    stop: tuple[Step, ...] = (PauseQuery(id),) if old else ()
    create: tuple[Step, ...] = () if topic.name in context.facts.topics else (topic,)
    path = f"{statement.kind.value.lower()}/`{plan.sink.name}`/create"
    message = f"Created query with ID {id}"
    steps = (*stop, *create, *_registrations(plan.sink), StartQuery(query, plan, p.number("TASKS")))
    return Outcome(catalog, steps, message, path, query_id=id)


def _query(
    statement: tree.CreateAs | tree.InsertInto, id: str, kind: QueryKind, plan: Write, context: PlanningContext
) -> PersistentQuery:
    names = tuple(s.name for s in reads(plan))
    settings = tuple(sorted(context.settings.items()))
    functions = functions_called(statement, context.catalog)
    return PersistentQuery(id, kind, names, plan.sink.name, context.text, settings, functions=functions)


def _check_limit(at: Span, context: PlanningContext) -> None:
    limit = int(context.settings.get(QUERY_LIMIT) or 2**31 - 1)
    if len(context.catalog.queries) >= limit:
        raise StatementError(
            f"Not executing statement(s) as it would cause the number of active, persistent queries to exceed "
            f"the configured limit of {limit}",
            at,
            f"TERMINATE a query, or raise {QUERY_LIMIT}",
        )


# ---------------------------------------------------------------- INSERT INTO … SELECT


@_outcome.register
def _(statement: tree.InsertInto, context: PlanningContext) -> Outcome:
    sink = _existing(statement.target, None, statement.span, context.catalog)
    if sink.kind is RelationKind.TABLE:
        raise StatementError(
            f"INSERT INTO can only be used to insert into a stream. {identifier(sink.name)} is a table.", statement.span
        )
    if sink.read_only:
        raise StatementError(f"Cannot insert into read-only stream: {identifier(sink.name)}", statement.span)
    if sink.schema.headers:
        raise StatementError(
            f"Cannot insert into {identifier(sink.name)} because it has header columns", statement.span
        )
    plan = _widened(_planned(statement.query, sink.name, statement.span, context), sink, statement.span)
    _check_same(plan, sink, statement.span)
    p = properties.read(statement.properties, properties.INSERTED, statement.span)
    id = _insert_id(p, context.catalog)
    _check_limit(statement.span, context)
    query = _query(statement, id, QueryKind.INSERT, Write(plan, sink), context)
    catalog = context.catalog.with_new_query(query)
    path = f"query/`{id}`/create"
    start = StartQuery(query, Write(plan, sink), p.number("TASKS"))
    return Outcome(catalog, (start,), f"Created query with ID {id}", path, query_id=id)


def _widened(plan: Select, sink: Source, at: Span) -> Select:
    """The plan with its numbers cast to the sink's DECIMALs, if they fit."""
    targets = sink.schema.value
    if len(targets) != len(plan.columns):
        return plan
    pairs = zip(plan.columns, targets, strict=True)
    columns = (replace(c, expression=widened_to_decimal(c.expression, t.type, at)) for c, t in pairs)
    return replace(plan, columns=tuple(columns))


def _check_same(plan: Select, sink: Source, at: Span) -> None:
    if plan.kind is not sink.kind:
        raise StatementError("Incompatible data sink types: the query makes a table, the sink is a stream", at)
    if plan.schema != sink.schema:
        raise StatementError(
            f"Incompatible schema between results and sink. Result schema is {_schema_text(plan.schema)}, "
            f"but the sink schema is {_schema_text(sink.schema)}.",
            at,
            "names, types and order of key and value columns must be the sink's",
        )
    windows, expected = windowed(plan), sink.windowed
    if (windows is None, windows and windows.size_ms) != (expected is None, expected and expected.size_ms):
        raise StatementError(
            f"Incompatible windows between results and sink: {_windows_text(windows)} and {_windows_text(expected)}",
            at,
            "the window is part of a record's key",
        )


def _windows_text(windows: Windowed | None) -> str:
    if windows is None:
        return "no window"
    return f"{windows.type} windows" + (f" of {windows.size_ms} ms" if windows.size_ms else "")


def _schema_text(schema: Schema) -> str:
    ordered = Schema((*schema.key, *schema.value))
    return f"[{ordered}]"


def _insert_id(p: Properties, catalog: Catalog) -> str:
    id = p.text("QUERY_ID")
    if id is None:
        return f"{QueryKind.INSERT.value}_{catalog.next_query}"
    at = p.place("QUERY_ID")
    if not re.fullmatch(r"[A-Za-z0-9_]+", id):
        raise StatementError(f"Query IDs may contain only alphanumeric characters and '_'. Got: '{id}'", at)
    id = id.upper()
    if any(id.startswith(k.value + "_") for k in QueryKind):
        raise StatementError(f"Query IDs must not start with a reserved prefix, as {id} does", at)
    if id in catalog.queries:
        raise StatementError(f"Query ID '{id}' already exists.", at)
    return id


# ---------------------------------------------------------------- DROP


@_outcome.register
def _(statement: tree.Drop, context: PlanningContext) -> Outcome:
    path = f"{statement.kind.value.lower()}/`{statement.name}`/drop"
    if statement.name not in context.catalog.sources and statement.if_exists:
        return Outcome(context.catalog, (), f"Source {identifier(statement.name)} does not exist.", path, warning=True)
    source = _existing(statement.name, statement.kind, statement.span, context.catalog)
    if source.read_only and statement.delete_topic:
        raise StatementError(f"Cannot delete topic for read-only source: {identifier(source.name)}", statement.span)
    own = {source.created_by} if source.created_by else set()
    _check_unused(source, own, statement.span, context.catalog)
    catalog = context.catalog.without_source(source.name)
    for id in own:
        catalog = catalog.without_query(id)
    steps: list[Step] = [StopQuery(id) for id in own if id in context.catalog.queries]
    if statement.delete_topic:
        steps.append(DeleteTopic(source.topic))
        subjects = tuple(s.physical.subject for s in _registrations(source))
        steps += [DeleteSubjects(subjects)] if subjects else []
    topic = f" Topic {source.topic} was marked for deletion." if statement.delete_topic else ""
    message = f"Source {identifier(source.name)} (topic: {source.topic}) was dropped.{topic}"
    return Outcome(catalog, tuple(steps), message, path)


def _check_unused(source: Source, own: set[str], at: Span, catalog: Catalog) -> None:
    readers = [q for q in catalog.readers(source.name) if q not in own]
    writers = [q for q in catalog.writers(source.name) if q not in own]
    if readers or writers:
        raise StatementError(
            f"Cannot drop {source.name}.\nThe following queries read from this source: [{', '.join(readers)}].\n"
            f"The following queries write into this source: [{', '.join(writers)}].",
            at,
            "You need to terminate them before dropping it.",
        )


# ---------------------------------------------------------------- types and queries


@_outcome.register
def _(statement: tree.CreateType, context: PlanningContext) -> Outcome:
    name = statement.name
    path = f"type/`{name}`/create"
    if name in context.catalog.types:
        fact = f"Cannot register custom type '{name}' since it is already registered"
        if not statement.if_not_exists:
            raise StatementError(fact, statement.span, "DROP TYPE it first")
        return Outcome(
            context.catalog, (), f"{name} is already registered with type {context.catalog.types[name]}", path, True
        )
    type = sources.expand(statement.type, context.catalog.types, statement.span)
    return Outcome(
        context.catalog.with_type(name, type),
        (),
        f"Registered custom type with name '{name}' and SQL type {type}",
        path,
    )


@_outcome.register
def _(statement: tree.DropType, context: PlanningContext) -> Outcome:
    path = f"type/`{statement.name}`/drop"
    if statement.name not in context.catalog.types:
        fact = f"Type {statement.name} does not exist"
        if not statement.if_exists:
            raise StatementError(fact, statement.span, did_you_mean(statement.name, context.catalog.types))
        return Outcome(context.catalog, (), fact, path, warning=True)
    return Outcome(context.catalog.without_type(statement.name), (), f"Dropped type '{statement.name}'", path)


@_outcome.register
def _(statement: tree.CreateFunction, context: PlanningContext) -> Outcome:
    return create_function(statement, context.text, context.catalog, context.settings)


@_outcome.register
def _(statement: tree.DropFunction, context: PlanningContext) -> Outcome:
    return drop_function(statement, context.catalog)


@_outcome.register
def _(statement: tree.ControlQuery, context: PlanningContext) -> Outcome:
    ids = _controlled(statement, context.catalog)
    verb = statement.verb
    catalog = context.catalog
    steps: list[Step] = []
    for id in ids:
        catalog, step = _control(verb, catalog, id)
        steps.append(step)
    done = {"TERMINATE": "terminated", "PAUSE": "paused", "RESUME": "resumed"}[verb.value]
    path = f"{verb.value.lower()}/{statement.query or 'ALL'}/execute"
    return Outcome(catalog, tuple(steps), f"Query {done}." if statement.query else f"All queries {done}.", path)


def _controlled(statement: tree.ControlQuery, catalog: Catalog) -> tuple[str, ...]:
    if statement.query is None:
        return tuple(q for q, query in catalog.queries.items() if query.kind is not QueryKind.CREATE_SOURCE_TABLE)
    return (running_query(statement.query, statement.verb.value.lower(), statement.span, catalog),)


def running_query(id: str, verb: str, at: Span, catalog: Catalog) -> str:
    """The query's id as spelled in the catalog. Raises StatementError if there is no such running query."""
    known = next((q for q in catalog.queries if q.upper() == id.upper()), None)
    if known is None:
        raise StatementError(f"Unknown queryId: {id}", at, did_you_mean(id, catalog.queries))
    if catalog.queries[known].kind is QueryKind.CREATE_SOURCE_TABLE:
        raise StatementError(f"Cannot {verb} query '{known}' as it is linked to a source table.", at)
    return known


@_outcome.register
def _(statement: tree.AlterQuery, context: PlanningContext) -> Outcome:
    id = running_query(statement.query, "alter", statement.span, context.catalog)
    if statement.tasks < 1:
        raise StatementError(f"query {id} cannot have {statement.tasks} tasks", statement.span, "it needs at least one")
    message = f"Query {id}: its state is shared by {statement.tasks} task{'s' * (statement.tasks != 1)}."
    return Outcome(context.catalog, (SetTasks(id, statement.tasks),), message, f"query/`{id}`/alter")


def _control(verb: tree.QueryVerb, catalog: Catalog, id: str) -> tuple[Catalog, Step]:
    query = catalog.queries[id]
    if verb is tree.QueryVerb.TERMINATE:
        return catalog.without_query(id), StopQuery(id)
    if verb is tree.QueryVerb.PAUSE:
        return catalog.with_query(replace(query, state=QueryState.PAUSED)), PauseQuery(id)
    return catalog.with_query(replace(query, state=QueryState.RUNNING)), ResumeQuery(id)
