"""Statements that change the catalog: the catalog after each, and the steps to it (docs/reference/statements.md).

Pure functions of tree, catalog, facts and settings; the result is an Outcome. Every error is a StatementError.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import singledispatch

from millstream.analysis import replace as replacing
from millstream.analysis import reserved_topics, sources
from millstream.analysis.properties import BROKERS_DEFAULT, Properties
from millstream.catalog.catalog import Catalog, PersistentQuery, QueryKind, QueryState, RelationKind, Source
from millstream.catalog.facts import Facts
from millstream.catalog.schemas import PhysicalSchema, RegisteredSchema
from millstream.model.errors import NotSupported, Span, StatementError
from millstream.model.names import did_you_mean, identifier
from millstream.model.settings import SettingRefused, check_system, is_on
from millstream.plan.functions import create_function, drop_function
from millstream.plan.indexes import create_index, drop_index, with_valid_indexes
from millstream.plan.persistent import create_as, insert_into
from millstream.plan.planning import (
    PlanningContext,
    altered_source,
    check_replacing,
    dropped_source,
    exists,
    plain,
    registrations,
    topic_config,
)
from millstream.plan.rebuilding import check_no_rebuild, cut_over
from millstream.plan.steps import (
    CreateTopic,
    DeleteSubjects,
    DeleteTopic,
    Outcome,
    PauseQuery,
    ResumeQuery,
    SetTasks,
    StartQuery,
    Step,
    StopQuery,
)
from millstream.plan.view_statements import create_view, drop_view
from millstream.plan.views import views_over, with_view_queries
from millstream.syntax import tree

MATERIALIZED = "ksql.source.table.materialization.enabled"


def outcome(
    statement: tree.Statement, text: str, catalog: Catalog, facts: Facts, settings: Mapping[str, str]
) -> Outcome:
    """The outcome of a statement. `text` is its source text. Raises StatementError."""
    context = PlanningContext(text, catalog, facts, settings)
    if isinstance(statement, tree.CreateSource | tree.CreateAs) and statement.name in catalog.views:
        return exists(statement, catalog.views[statement.name], context)
    result = _outcome(with_view_queries(statement, catalog), context)
    _check_topics(result, statement.span, catalog, settings)
    return replace(result, catalog=with_valid_indexes(_with_topics(result)))


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
    raise unknown(statement)


_PLAYED = (
    "a test has CREATE, ALTER, DROP, INSERT INTO, SET, UNSET, DEFINE, UNDEFINE, and in SQL files RUN SCRIPT and ASSERT"
)


def unknown(statement: tree.Statement) -> StatementError:
    """The error for a statement that the server does not execute."""
    match statement:
        case tree.RunScript():
            return StatementError("unknown statement RUN SCRIPT: it is the shell's, not the server's", statement.span)
        case tree.AssertValues() | tree.AssertNullValues() | tree.AssertSource():
            kind = f"ASSERT {statement.kind.value}" if isinstance(statement, tree.AssertSource) else title(statement)
            return StatementError(f"{kind} is only for test files", statement.span, "`millstream test FILE` plays them")
    name = "SELECT" if isinstance(statement, tree.QueryStatement) else title(statement)
    return NotSupported(f"{name} is for a server: a test does not execute it", statement.span, _PLAYED)


def title(statement: tree.Statement) -> str:
    """The statement's kind in the language's own words, for messages."""
    words = re.findall(r"[A-Z][a-z]+", type(statement).__name__)
    return " ".join(words).upper()


# ---------------------------------------------------------------- declared sources


@_outcome.register
def _(statement: tree.CreateSource, context: PlanningContext) -> Outcome:
    kind = statement.kind.value.lower()
    if statement.read_only and statement.or_replace:
        raise StatementError(
            f"Cannot add {kind} '{statement.name}': CREATE OR REPLACE is not supported on source {kind}s.",
            statement.span,
        )
    old = context.catalog.sources.get(statement.name)
    if old is not None and not statement.or_replace:
        return exists(statement, old, context)
    return _declared(statement, old, context)


def _declared(statement: tree.CreateSource, old: Source | None, context: PlanningContext) -> Outcome:
    source, p = sources.declare(statement, context.text, context.catalog.types, context.facts, context.settings)
    if old is not None:
        check_replacing(old, statement.span, context.settings)
        replacing.check_replaceable(old, source, statement.span)
    topic = _declared_topic(source, p, context)
    latest = context.facts.latest
    new = [s for s in registrations(source) if _is_registered(s.physical, latest.get(s.physical.subject))]
    steps: tuple[Step, ...] = (*((topic,) if topic else ()), *new)
    if source.read_only and source.kind is RelationKind.TABLE and is_on(context.settings, MATERIALIZED):
        return _materialized(source, steps, context)
    path = f"{statement.kind.value.lower()}/`{source.name}`/create"
    verb = "replaced" if old else "created"
    return Outcome(context.catalog.with_source(source), steps, f"{source.kind.value.capitalize()} {verb}", path)


def _is_registered(physical: PhysicalSchema, latest: RegisteredSchema | None) -> bool:
    """True if CREATE registers a schema under a subject with that latest one.

    A subject that has a schema keeps it, as another application may have registered it for the topic's records. The
    schema of the WITH clause's id is registered there all the same: the registry checks its compatibility (KLIP-56).
    """
    return latest is None or physical.id not in (None, latest.id)


def _materialized(source: Source, steps: tuple[Step, ...], context: PlanningContext) -> Outcome:
    """The outcome of CREATE SOURCE TABLE: the table with a query that cannot be terminated.

    No query runs for it in Spark: servers materialise the topic, so that pull queries can read it.
    """
    id = f"{QueryKind.CREATE_SOURCE_TABLE.value}_{plain(source.name)}_{context.catalog.next_query}"
    materialized = replace(source, created_by=id)
    settings = tuple(sorted(context.settings.items()))
    query = PersistentQuery(id, QueryKind.CREATE_SOURCE_TABLE, (source.name,), source.name, context.text, settings)
    catalog = context.catalog.with_source(materialized).with_new_query(query)
    path = f"table/`{source.name}`/create"
    return Outcome(catalog, steps, f"Created query with ID {id}", path, query_id=id)


def _declared_topic(source: Source, p: Properties, context: PlanningContext) -> CreateTopic | None:
    if source.topic in context.facts.topics:
        return None
    replicas = p.number("REPLICAS") or BROKERS_DEFAULT
    return CreateTopic(source.topic, p.number("PARTITIONS") or 1, replicas, topic_config(source, p))


@_outcome.register
def _(statement: tree.AlterSource, context: PlanningContext) -> Outcome:
    source = altered_source(statement, context.catalog)
    new = sources.altered(source, statement, context.catalog.types, context.text)
    path = f"{statement.kind.value.lower()}/`{source.name}`/alter"
    message = f"{statement.kind.value.capitalize()} {source.name} altered."
    return Outcome(context.catalog.with_source(new), (), message, path)


@_outcome.register
def _(statement: tree.CutOver, context: PlanningContext) -> Outcome:
    return cut_over(statement, context)


# ---------------------------------------------------------------- persistent queries


@_outcome.register
def _(statement: tree.CreateAs, context: PlanningContext) -> Outcome:
    return create_as(statement, context)


@_outcome.register
def _(statement: tree.InsertInto, context: PlanningContext) -> Outcome:
    return insert_into(statement, context)


# ---------------------------------------------------------------- DROP


@_outcome.register
def _(statement: tree.Drop, context: PlanningContext) -> Outcome:
    path = f"{statement.kind.value.lower()}/`{statement.name}`/drop"
    if statement.name not in context.catalog.sources and statement.if_exists:
        return Outcome(context.catalog, (), f"Source {identifier(statement.name)} does not exist.", path)
    source = dropped_source(statement, context.catalog)
    if source.rebuilds is None:
        check_no_rebuild(source.name, statement.span, context.catalog)
    if source.read_only and statement.delete_topic:
        raise StatementError(f"Cannot delete topic for read-only source: {identifier(source.name)}", statement.span)
    dropped_queries = {source.created_by} if source.created_by else set()
    _check_unused(source, dropped_queries, statement.span, context.catalog)
    catalog = context.catalog.without_source(source.name)
    for id in dropped_queries:
        catalog = catalog.without_query(id)
    steps: list[Step] = [StopQuery(id) for id in dropped_queries if id in context.catalog.queries]
    if statement.delete_topic:
        steps.append(DeleteTopic(source.topic))
        subjects = tuple(s.physical.subject for s in registrations(source))
        steps += [DeleteSubjects(subjects)] if subjects else []
    topic = f" Topic {source.topic} was marked for deletion." if statement.delete_topic else ""
    message = f"Source {identifier(source.name)} (topic: {source.topic}) was dropped.{topic}"
    return Outcome(catalog, tuple(steps), message, path)


def _check_unused(source: Source, dropped_queries: set[str], at: Span, catalog: Catalog) -> None:
    readers = [q for q in catalog.readers(source.name) if q not in dropped_queries]
    writers = [q for q in catalog.writers(source.name) if q not in dropped_queries]
    if readers or writers:
        raise StatementError(
            f"Cannot drop {source.name}.\nThe following queries read from this source: [{', '.join(readers)}].\n"
            f"The following queries write into this source: [{', '.join(writers)}].",
            at,
            "You need to terminate them before dropping it.",
        )


def check_drop(statement: tree.Statement, catalog: Catalog) -> None:
    """Raises StatementError for a DROP of a source from which others were made, also if their queries have ended.

    Also for DELETE TOPIC while there are other sources over the topic. It is for new statements: a DROP that a command
    log has stays in force.
    """
    source = catalog.sources.get(statement.name) if isinstance(statement, tree.Drop) else None
    if not isinstance(statement, tree.Drop) or source is None or source.kind.name != statement.kind.name:
        return
    others = sorted(s.name for s in catalog.sources.values() if s.topic == source.topic and s.name != source.name)
    if statement.delete_topic and others and not source.read_only:
        raise StatementError(
            f"Refusing to delete topic. Found other data sources ({', '.join(others)}) using topic {source.topic}",
            statement.span,
            "drop them first, or leave DELETE TOPIC out",
        )
    if views := [view.name for view in views_over(statement.name, catalog)]:
        raise StatementError(
            f"Cannot drop {statement.name}.\nThe following views read from this source: [{', '.join(views)}].",
            statement.span,
            "DROP VIEW them first",
        )
    if derived := catalog.derived(statement.name):
        raise StatementError(
            f"Cannot drop {statement.name}.\n"
            f"The following streams and/or tables read from this source: [{', '.join(derived)}].",
            statement.span,
            f"You need to drop them before dropping {statement.name}.",
        )


def check_key_schema(statement: tree.Statement, before: Catalog, after: Catalog) -> None:
    """Raises StatementError for a CREATE OR REPLACE after which keys are written by the schema of another id.

    It is for new statements: one that a command log has stays in force.
    """
    if not isinstance(statement, tree.CreateSource | tree.CreateAs):
        return
    old, new = (catalog.sources.get(statement.name) for catalog in (before, after))
    if old is not None and new is not None:
        replacing.check_key_schema(old, new, statement.span)


# ---------------------------------------------------------------- types, functions, indexes, views and queries


@_outcome.register
def _(statement: tree.CreateType, context: PlanningContext) -> Outcome:
    name = statement.name
    path = f"type/`{name}`/create"
    if name in context.catalog.types:
        registered = context.catalog.types[name]
        fact = f"Cannot register custom type '{name}' since it is already registered with type: {registered}"
        if not statement.if_not_exists:
            raise StatementError(fact, statement.span, "DROP TYPE it first")
        return Outcome(context.catalog, (), f"{name} is already registered with type {registered}", path)
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
        if not statement.if_exists:
            hint = did_you_mean(statement.name, context.catalog.types)
            raise StatementError(f"Type {statement.name} does not exist.", statement.span, hint)
        return Outcome(context.catalog, (), f"Type '{statement.name}' does not exist", path)
    return Outcome(context.catalog.without_type(statement.name), (), f"Dropped type '{statement.name}'", path)


@_outcome.register
def _(statement: tree.CreateFunction, context: PlanningContext) -> Outcome:
    return create_function(statement, context.text, context.catalog, context.settings)


@_outcome.register
def _(statement: tree.DropFunction, context: PlanningContext) -> Outcome:
    return drop_function(statement, context.catalog)


@_outcome.register
def _(statement: tree.CreateIndex, context: PlanningContext) -> Outcome:
    return create_index(statement, context.text, context.catalog)


@_outcome.register
def _(statement: tree.DropIndex, context: PlanningContext) -> Outcome:
    return drop_index(statement, context.catalog)


@_outcome.register
def _(statement: tree.CreateView, context: PlanningContext) -> Outcome:
    return create_view(statement, context.text, context.catalog, context.settings)


@_outcome.register
def _(statement: tree.DropView, context: PlanningContext) -> Outcome:
    return drop_view(statement, context.catalog)


@_outcome.register
def _(statement: tree.ControlQuery, context: PlanningContext) -> Outcome:
    ids = _controlled(statement, context.catalog)
    verb = statement.verb
    catalog = context.catalog
    steps: list[Step] = []
    for id in ids:
        catalog, step = _control(verb, catalog, id)
        steps.append(step)
    ended = {"TERMINATE": "terminated", "PAUSE": "paused", "RESUME": "resumed"}[verb.value]
    path = f"{verb.value.lower()}/{statement.query or 'ALL'}/execute"
    return Outcome(catalog, tuple(steps), f"Query {ended}." if statement.query else f"All queries {ended}.", path)


def _controlled(statement: tree.ControlQuery, catalog: Catalog) -> tuple[str, ...]:
    if statement.query is None:
        return tuple(q for q, query in catalog.queries.items() if query.kind is not QueryKind.CREATE_SOURCE_TABLE)
    return (running_query(statement.query, statement.verb.value.lower(), statement.span, catalog),)


def running_query(id: str, verb: str, at: Span, catalog: Catalog) -> str:
    """The query's id as spelled in the catalog. Raises StatementError if there is no such running query."""
    query = next((q for q in catalog.queries if q.upper() == id.upper()), None)
    if query is None:
        hint = did_you_mean(id, catalog.queries) or "SHOW QUERIES lists the ids"
        raise StatementError(f"Unknown queryId: {id}", at, hint)
    if catalog.queries[query].kind is QueryKind.CREATE_SOURCE_TABLE:
        raise StatementError(f"Cannot {verb} query '{query}' as it is linked to a source table.", at)
    return query


@_outcome.register
def _(statement: tree.AlterQuery, context: PlanningContext) -> Outcome:
    id = running_query(statement.query, "alter", statement.span, context.catalog)
    if statement.tasks < 1:
        raise StatementError(f"query {id} cannot have {statement.tasks} tasks", statement.span, "it needs at least one")
    message = f"Query {id}: its state is shared by {statement.tasks} task{'s' * (statement.tasks != 1)}."
    return Outcome(context.catalog, (SetTasks(id, statement.tasks),), message, f"query/`{id}`/alter")


@_outcome.register
def _(statement: tree.AlterSystem, context: PlanningContext) -> Outcome:
    try:
        setting = check_system(statement.name, statement.value)
    except SettingRefused as refused:
        fact, hint = refused.fact_and_hint
        raise StatementError(fact, statement.span, hint) from refused
    value = setting.stored(statement.value) or ""
    message = f"System property {setting.name} was set to {value}."
    return Outcome(context.catalog.with_system(setting.name, value), (), message, f"cluster/{setting.name}/alter")


def _control(verb: tree.QueryVerb, catalog: Catalog, id: str) -> tuple[Catalog, Step]:
    query = catalog.queries[id]
    if verb is tree.QueryVerb.TERMINATE:
        sink = catalog.sources.get(query.sink)
        # A rebuild without its query would never be cut over to: it is given up.
        remaining = catalog.without_source(sink.name) if sink is not None and sink.rebuilds else catalog
        return remaining.without_query(id), StopQuery(id)
    if verb is tree.QueryVerb.PAUSE:
        return catalog.with_query(replace(query, state=QueryState.PAUSED)), PauseQuery(id)
    return catalog.with_query(replace(query, state=QueryState.RUNNING)), ResumeQuery(id)
