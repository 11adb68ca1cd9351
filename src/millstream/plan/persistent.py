"""Statements that start a persistent query: CREATE … AS and INSERT INTO … SELECT (docs/reference/statements.md)."""

import re
from dataclasses import replace

from millstream.analysis import properties, schemas, serdes, sources
from millstream.analysis.coercion import widened_to_decimal
from millstream.analysis.properties import Properties
from millstream.analysis.replace import check_same_sort
from millstream.analysis.targets import inherited, sink_topic
from millstream.analysis.wrapping import Wrapping
from millstream.catalog.catalog import Catalog, PersistentQuery, QueryKind, RelationKind, Source, Windowed
from millstream.catalog.facts import TopicFacts
from millstream.model.errors import Span, StatementError
from millstream.model.names import identifier
from millstream.model.schema import Column, Schema
from millstream.model.settings import is_on
from millstream.model.types import Decimal
from millstream.plan import queries
from millstream.plan.functions import functions_called
from millstream.plan.joins import repartition_streams
from millstream.plan.nodes import NamedExpression, Select, Write, joins, leaves, reads, retention, windowed
from millstream.plan.planning import (
    PlanningContext,
    check_replacing,
    existing,
    exists,
    plain,
    registrations,
    topic_config,
)
from millstream.plan.rebuilding import check_no_rebuild, check_rebuild, rebuild_message, rebuild_name
from millstream.plan.replacement import Replacement
from millstream.plan.replacing import changed_settings, continued_groups, replacement
from millstream.plan.state_ttl import with_state_ttl
from millstream.plan.steps import CreateTopic, Outcome, PauseQuery, StartQuery, Step
from millstream.plan.views import views_read
from millstream.syntax import tree

EQUAL_PARTITIONS = "millstream.join.equal.partitions"
QUERY_LIMIT = "ksql.query.persistent.active.limit"
CHANGES_AS_STREAM = (
    "a table's changes are a stream: CREATE STREAM name (columns) WITH (KAFKA_TOPIC='the table's topic', …)"
)


# ---------------------------------------------------------------- CREATE … AS


def create_as(statement: tree.CreateAs, context: PlanningContext) -> Outcome:
    """The outcome of CREATE [OR REPLACE] … AS. Raises StatementError."""
    old = context.catalog.sources.get(statement.name)
    if old is not None and not statement.or_replace:
        return exists(statement, old, context)
    p = properties.read(statement.properties, properties.CREATE_AS, statement.span)
    plan = _write(statement, p, old, context)
    remark = ""
    if old is not None:
        check_no_rebuild(old.name, statement.span, context.catalog)
        effect = _replacement(statement, old, plan, context)
        if not effect.in_place and p.flag("REBUILD"):
            return _rebuild(statement, old, p, context)
        if not effect.in_place:
            raise effect.refusal(statement.span)
        remark = continued_groups(plan) if effect.query else ""
    outcome = _start_query(statement, plan, p, old, context)
    return replace(outcome, message=f"{outcome.message}; {remark}") if remark else outcome


def _rebuild(statement: tree.CreateAs, old: Source, p: Properties, context: PlanningContext) -> Outcome:
    """The outcome of a rebuild of `old` alongside its query. Raises StatementError."""
    renamed = replace(statement, name=rebuild_name(statement.name, context.catalog))
    plan = _write(renamed, p, None, context, _query_id(statement, context.catalog))
    sink = replace(plan.sink, rebuilds=old.name)
    check_rebuild(old, sink, statement.span, context.catalog)
    outcome = _start_query(renamed, replace(plan, sink=sink), p, None, context)
    return replace(outcome, message=f"{outcome.message}; {rebuild_message(old, sink)}")


def is_rebuild_allowed(statement: tree.CreateAs) -> bool:
    """True if the statement may rebuild what it cannot replace in place. Raises StatementError."""
    p = properties.read(statement.properties, properties.CREATE_AS, statement.span)
    return bool(p.flag("REBUILD"))


def explained_replacement(statement: tree.CreateAs, context: PlanningContext) -> tuple[Replacement, Write] | None:
    """What CREATE OR REPLACE … AS would do to the source of its name, and the new plan; None if there is none.

    Raises StatementError for a statement that is wrong in another way than that it is not possible in place.
    """
    old = context.catalog.sources.get(statement.name)
    if old is None or not statement.or_replace:
        return None
    p = properties.read(statement.properties, properties.CREATE_AS, statement.span)
    plan = _write(statement, p, old, context)
    return _replacement(statement, old, plan, context), plan


def _write(
    statement: tree.CreateAs, p: Properties, old: Source | None, context: PlanningContext, id: str = ""
) -> Write:
    """The plan of the query, which replaces that of `old`, or has the id `id`, else a new one."""
    plan = with_state_ttl(_planned(statement.query, statement.name, statement.span, context), p)
    _check_kind(statement, plan)
    id = (old and old.created_by) or id or _query_id(statement, context.catalog)
    topic = sink_topic(statement.name, p, context.settings, old)
    return Write(plan, _sink(statement, plan, p, (id, topic), context))


def _replacement(statement: tree.CreateAs, old: Source, plan: Write, context: PlanningContext) -> Replacement:
    """What the statement does to `old`. Raises StatementError if `old` may not be replaced by any query."""
    at = statement.span
    check_replacing(old, at, context.settings)
    check_same_sort(old, plan.sink, at)
    others = [q for q in context.catalog.writers(old.name) if q != old.created_by]
    if others:
        raise StatementError(
            f"Cannot replace {identifier(old.name)}: other queries write to it: {', '.join(others)}",
            at,
            "TERMINATE them first",
        )
    partitions = {name: topic.partitions for name, topic in context.facts.topics.items()}
    query = context.catalog.queries.get(str(old.created_by))
    effect = replacement(old, query, plan, context.catalog, partitions)
    settings = changed_settings(query, context.settings) if query else ()
    return replace(effect, changes=(*effect.changes, *settings))


def _check_kind(statement: tree.CreateAs, plan: Select) -> None:
    if plan.kind.name != statement.kind.name:
        raise StatementError(
            f"Invalid result type. Your SELECT query produces a {plan.kind.value}. "
            f"Please use CREATE {plan.kind.value} AS SELECT statement instead.",
            statement.span,
            CHANGES_AS_STREAM if plan.kind is RelationKind.TABLE else "",
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
        left, right = leaves(join.left)[0].origin, leaves(join.right)[0].origin
        topics = [context.facts.topics.get(s.topic) for s in (left, right)]
        counts = [t.partitions for t in topics if t is not None]
        if len(set(counts)) > 1:
            names = [identifier(s.name) for s in (left, right)]
            raise StatementError(
                f"Can't join {names[0]} with {names[1]} since the number of partitions don't match. "
                f"{names[0]} partitions = {counts[0]}; {names[1]} partitions = {counts[1]}.",
                at,
                f"recreate either one so that the numbers of partitions match, or SET '{EQUAL_PARTITIONS}'='false'",
            )


def _query_id(statement: tree.CreateAs, catalog: Catalog) -> str:
    kind = QueryKind.CREATE_STREAM_AS if statement.kind is tree.SourceKind.STREAM else QueryKind.CREATE_TABLE_AS
    return f"{kind.value}_{plain(statement.name)}_{catalog.next_query}"


def _sink(
    statement: tree.CreateAs, plan: Select, p: Properties, written: tuple[str, str], context: PlanningContext
) -> Source:
    """The source that a query writes; `written` is the query's id and the topic."""
    origins, schema, (id, topic) = reads(plan), plan.schema, written
    sources.check_topic_name(topic, p.place("KAFKA_TOPIC"))
    if statement.query.partition_by is not None and not schema.key:
        serdes.check_without_key(p)
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
        derived_from=tuple(dict.fromkeys(origin.name for origin in origins)),
    )


def _key_wrapping(query: tree.SelectQuery) -> Wrapping | None:
    """PARTITION BY STRUCT<…> and GROUP BY STRUCT<…> put a single key column in a record; None for other queries."""
    clause = "PARTITION BY" if query.partition_by is not None else "GROUP BY"
    return Wrapping(True, f"{clause} STRUCT<…>") if query.structured else None


def _sink_topic_step(plan: Write, p: Properties, context: PlanningContext) -> CreateTopic:
    sink = plan.sink
    source_topic = context.facts.topics.get(reads(plan)[0].topic, TopicFacts(1))
    sources.check_topic_shape(sink.topic, sink.kind, p, context.facts)
    config = topic_config(sink, p, retention(plan), source_topic.retention_ms)
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
    steps = (*stop, *create, *registrations(plan.sink), StartQuery(query, plan, p.number("TASKS")))
    return Outcome(catalog, steps, message, path, query_id=id)


def _query(
    statement: tree.CreateAs | tree.InsertInto, id: str, kind: QueryKind, plan: Write, context: PlanningContext
) -> PersistentQuery:
    names = tuple(s.name for s in reads(plan))
    for name in names:
        check_no_rebuild(name, statement.span, context.catalog)
    settings = tuple(sorted(context.settings.items()))
    functions = functions_called(statement, context.catalog)
    return PersistentQuery(
        id,
        kind,
        names,
        plan.sink.name,
        context.text,
        settings,
        functions=functions,
        definitions=reads(plan),
        views=tuple(view for name in views_read(statement) if (view := context.catalog.views.get(name))),
    )


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


def insert_into(statement: tree.InsertInto, context: PlanningContext) -> Outcome:
    """The outcome of INSERT INTO … SELECT. Raises StatementError."""
    sink = existing(statement.target, statement.span, context.catalog)
    check_no_rebuild(sink.name, statement.span, context.catalog)
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
    path = f"stream/`{sink.name}`/create"
    start = StartQuery(query, Write(plan, sink), p.number("TASKS"))
    return Outcome(catalog, (start,), f"Created query with ID {id}", path, query_id=id)


def _widened(plan: Select, sink: Source, at: Span) -> Select:
    """The plan with its numbers, and the DECIMALs of its key, cast to the sink's DECIMALs, if they fit."""
    keys, columns = sink.schema.key, sink.schema.value
    if (len(keys), len(columns)) != (len(plan.keys), len(plan.columns)):
        return plan
    of_key = (
        _as_decimal(k, t, at) if isinstance(k.expression.type, Decimal) else k
        for k, t in zip(plan.keys, keys, strict=True)
    )
    of_value = (_as_decimal(c, t, at) for c, t in zip(plan.columns, columns, strict=True))
    return replace(plan, keys=tuple(of_key), columns=tuple(of_value))


def _as_decimal(column: NamedExpression, target: Column, at: Span) -> NamedExpression:
    return replace(column, expression=widened_to_decimal(column.expression, target.type, at))


def _check_same(plan: Select, sink: Source, at: Span) -> None:
    """Raises StatementError unless a query's rows have the kind, the columns and the windows of an existing sink."""
    if plan.kind is not sink.kind:
        raise StatementError("Incompatible data sink types: the query makes a table, the sink is a stream", at)
    # Key and value are separate records, so the position of a key column among the value columns has no meaning.
    if (plan.schema.key, plan.schema.value) != (sink.schema.key, sink.schema.value):
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
